/* A kernel for one block, with the operands that it may want: for tests of what blocks write and reject. */
#ifndef CUJIT_TESTS_BLOCK_PARTS_H
#define CUJIT_TESTS_BLOCK_PARTS_H

#include <cujit/ptx.h>

/* Made in front of the block. */
typedef struct parts {
    cj_fn *f;
    cj_val v, w, shared, global, map, p, bars;
} parts;

/* `map`: with a tensor map, which wants sm_70 and 7.7 itself. */
static inline cj_ptx *begin(parts *x, bool map)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    *x = (parts){ .f = f };
    x->global = cj_param_ptr(f, "global", CJ_U32);
    if (map) x->map = cj_param_tensor_map(f, "map");
    x->v = cj_param(f, "v", CJ_F32);
    x->w = cj_param(f, "w", CJ_U32);
    x->p = cj_eq(f, x->w, 7);
    x->shared = cj_shared(f, "shared", CJ_B32, 4096);
    cj_var_align(f, x->shared, 1024);
    x->bars = cj_shared(f, "bars", CJ_B64, 16);
    return m;
}

#endif
