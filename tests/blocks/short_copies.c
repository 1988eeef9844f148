/* cp.async with less of a source than is copied: the rest is zero, and only the source's bytes are read, so that it may
 * lie at the end of an allocation. */
#include "tests/device_bench.h"

enum { UNIT = 16, LANES = 32 };

/* Lane i copies `source` bytes of the last 16 of p to its 16 bytes of shared memory, and stores these to q. */
static cj_ptx *copying(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "copies");
    cj_val p = cj_param_ptr(f, "p", CJ_U32), q = cj_param_ptr(f, "q", CJ_U32), source = cj_param(f, "source", CJ_U32);
    cj_val lane = cj_thread_id(f, CJ_X), room = cj_shared(f, "room", CJ_U32, LANES * UNIT / 4);
    cj_var_align(f, room, UNIT);
    cj_async_copy_zero(f, cj_at(f, room, cj_mul(f, lane, 4)), cj_at(f, p, 0), UNIT, source);
    cj_async_commit(f);
    cj_async_wait(f, 0);
    cj_block_sync(f);
    for (int i = 0; i < 4; i++) {
        cj_val at = cj_let(f, CJ_U32, cj_mad(f, lane, 4, i));
        cj_set(f, q, at, cj_get(f, room, at));
    }
    return m;
}

int main(void)
{
    uint8_t bytes[UNIT], got[LANES][UNIT];
    bench_open(0);
    cj_device_info info = { .size = sizeof info };
    if (cj_device_get_info(dev, &info) != CJ_OK || info.sm_major < 8)
        tap_skip_all("cp.async wants compute capability 8.0");
    cj_ptx *m = copying();
    cj_kernel *k = cj_kernel_load(dev, m, "copies", NULL);
    const cj_dptr q = cj_alloc(s, sizeof got);
    for (int i = 0; i < UNIT; i++) bytes[i] = (uint8_t)(i + 1);
    for (int n = 0; n <= UNIT; n += 4) {
        const cj_dptr p = cj_alloc(s, 256 + (size_t)n), end = cj_offset(p, 256);
        if (n) cj_copy_to_device(s, end, bytes, (size_t)n);
        cj_launch(s, k, cj_grid(1, LANES), n ? end : p, q, (uint32_t)n);
        cj_copy_to_host(s, got, q, sizeof got);
        tap_is_int(cj_stream_sync(s), CJ_OK, "%d bytes at the end of an allocation: %s", n, cj_error_of(s)->message);
        int wrong = 0;
        for (int i = 0; i < LANES * UNIT; i++) wrong += got[i / UNIT][i % UNIT] != (i % UNIT < n ? i % UNIT + 1 : 0);
        tap_is_int(wrong, 0, "%d bytes, and zeros behind them", n);
        cj_free(dev, p);
    }
    cj_free(dev, q);
    cj_kernel_free(k);
    cj_ptx_free(m);
    return bench_close();
}
