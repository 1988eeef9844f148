/* A kernel, and streams held by latches: see device_parts.h. */
#include "tests/device_parts.h"

void bench_hold(cj_stream *on, struct latch *l)
{
    latch_close(l);
    cj_host_func(on, latch_wait, l);
}

cj_ptx *bench_add_module(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "add");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), n = cj_param(f, "n", CJ_U32), v = cj_param(f, "v", CJ_U32),
           i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_set(f, x, i, cj_add(f, cj_get(f, x, i), v));
    cj_end(f);
    return m;
}
