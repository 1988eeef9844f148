/* Memory that grows in place is accessible by another device, now and after it has grown. */
#include <stdlib.h>

#include "tests/device_parts.h"
#include "tests/tap.h"

enum { N = 64 };

int main(void)
{
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    tap_need_device(2);
    tap_plan(0);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev[2] = { cj_device_open(drv, 0, NULL), cj_device_open(drv, 1, NULL) };
    cj_stream *s = cj_stream_create(dev[0], NULL), *t = cj_stream_create(dev[1], NULL);
    cj_ptx *m = bench_add_module();
    cj_kernel *add = cj_kernel_load(dev[1], m, "add", NULL);
    cj_vmem *v = cj_vmem_create(s, 32 << 20, CJ_VMEM(.bytes = 1));
    const cj_dptr at = cj_vmem_address(v), end = cj_offset(at, (int64_t)cj_vmem_bytes(v));
    uint32_t seen[2] = { 0 };
    cj_status st = cj_vmem_enable_peer(v, dev[1]);
    if (st == CJ_ENOTSUP) tap_skip(6, "the devices have no access to each other");
    else {
        tap_is_int(st, CJ_OK, "the other device gets access: %s", cj_error_of(v)->message);
        tap_is_int(cj_vmem_enable_peer(v, dev[1]), CJ_OK, "once more is fine");
        tap_is_int(cj_vmem_grow(v, 2 * cj_vmem_bytes(v)), CJ_OK, "it grows");
        cj_fill32(s, at, 1, N);
        cj_fill32(s, end, 2, N);
        cj_stream_join(t, s);
        cj_launch(t, add, cj_threads(N, 32), at, N, 10);
        cj_launch(t, add, cj_threads(N, 32), end, N, 20);
        tap_is_int(cj_stream_use(t, at), CJ_OK, "a use by the other device is noted");
        cj_vmem_shrink(v, 1);
        tap_is_int(cj_stream_sync(t), CJ_OK, "its kernels use both parts: %s", cj_error_of(t)->message);
        cj_vmem_grow(v, (size_t)(end.addr - at.addr) + 1);
        cj_copy_to_host(s, &seen[0], at, 4);
        cj_stream_sync(s);
        tap_is_uint(seen[0], 11, "and the result is there");
    }
    cj_vmem_free(v);
    cj_device_collect(dev[0]);
    cj_kernel_free(add);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_stream_free(t);
    cj_device_close(dev[0]);
    cj_device_close(dev[1]);
    cj_driver_close(drv);
    return tap_done();
}
