/* Beginning and end of a program about the library on a device: see device_bench.h. */
#include "tests/device_bench.h"

cj_driver *drv;
cj_device *dev;
cj_stream *s, *t;
cj_ptx *module;
cj_kernel *add;
cj_dptr d;

static cj_driver *below; /* the interposer */

void bench_open_over(const cj_interposer_opts *over, size_t bytes)
{
    tap_need_device(1);
    tap_plan(0);
    drv = cj_driver_open(NULL);
    if (over) {
        below = drv;
        drv = cj_driver_open_interposed(below, over);
    }
    module = bench_add_module();
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    t = cj_stream_create(dev, NULL);
    add = cj_kernel_load(dev, module, "add", NULL);
    if (cj_error_of(add)->status) tap_bail("%s", cj_error_of(add)->message);
    if (bytes) d = cj_alloc(s, bytes);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%s", cj_error_of(s)->message);
}

void bench_open(size_t bytes) { bench_open_over(NULL, bytes); }

int bench_close(void)
{
    tap_is_int(cj_stream_sync(t), CJ_OK, "nothing else failed on the second stream: %s", cj_error_of(t)->message);
    if (d.addr) cj_free(dev, d);
    cj_kernel_free(add);
    tap_is_int(cj_stream_sync(s), CJ_OK, "nothing else failed on the first stream: %s", cj_error_of(s)->message);
    tap_is_uint(cj_device_collect(dev), 0, "no release is pending");
    cj_ptx_free(module);
    cj_stream_free(t);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_driver_close(below);
    return tap_done();
}
