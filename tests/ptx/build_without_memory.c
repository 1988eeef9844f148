/* Memory runs out at each allocation in turn: the module says so, keeps its text to itself, and is freed whole. */
#include "../tap.h"

#include <cujit/ptx.h>

#include <stdlib.h>
#include <string.h>

static size_t allocations, fails_at, live;

static void *scarce(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    if (!size) {
        live -= old;
        free(p);
        return NULL;
    }
    if (++allocations == fails_at) return NULL;
    void *q = realloc(p, size);
    if (q) live += size - (p ? old : 0);
    return q;
}

/* A workload that uses every table of the builder. */
static cj_status work(const char **text)
{
    static const uint32_t ones[3] = { 1, 2, 3 };
    cj_ptx *m = cj_ptx_create();
    cj_val g = cj_ptx_global(m, "table", CJ_U32, 4, ones, 3);
    cj_fn *h = cj_ptx_func(m, "half");
    cj_return_value(h, cj_mul(h, cj_param(h, "v", CJ_F32), cj_imm(h, 0.5)));
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), n = cj_param(f, "n", CJ_U32);
    cj_val tile = cj_shared(f, "tile", CJ_F32, 32);
    cj_val i = cj_for(f, cj_global_id(f, CJ_X), n, cj_global_size(f, CJ_X));
        cj_if(f, cj_lt(f, cj_get(f, x, i), cj_imm(f, 1.0f)));
            cj_set(f, tile, i, cj_call(f, h, cj_get(f, x, i)));
        cj_else(f);
            cj_atomic_add(f, cj_at(f, g, cj_imm(f, 1)), cj_vote_ballot(f, cj_eq(f, i, n)));
        cj_end(f);
        cj_ins(f, "st.global.v4.f32", cj_mem(f, x, 16),
               cj_vec(f, 1, 2.0, 3, cj_shfl_down(f, cj_get(f, tile, i), cj_imm(f, 1))));
        for (int k = 0; k < 40; k++) cj_assign(f, i, cj_add(f, i, cj_imm(f, k)));
    cj_end(f);
    cj_ptx *copy = cj_ptx_clone(m);
    const char *mine = NULL;
    cj_status s = cj_ptx_print(copy, 0, &mine, NULL), status = s == CJ_OK ? CJ_OK : cj_ptx_status(copy);
    if (text && mine) *text = strdup(mine);
    if (s != CJ_OK)
        tap_ok(mine && !*mine && cj_error_of(copy)->status == CJ_ENOMEM, "allocation %zu: %s", fails_at,
               cj_error_of(copy)->message);
    cj_ptx_free(m);
    cj_ptx_free(copy);
    return status;
}

int main(void)
{
    const char *text = NULL, *later = NULL;
    tap_plan(0);
    tap_is_int(cj_set_allocator(scarce, NULL), CJ_OK, "an allocator of our own");
    tap_is_int(work(&text), CJ_OK, "with memory");
    size_t total = allocations;
    tap_is_uint(live, 0, "all of it is given back");
    for (fails_at = 1; fails_at <= total; fails_at++) {
        allocations = 0;
        tap_is_int(work(NULL), CJ_ENOMEM, "without memory at allocation %zu of %zu", fails_at, total);
        if (live) tap_bail("allocation %zu leaks %zu bytes", fails_at, live);
    }
    allocations = fails_at = 0;
    work(&later);
    tap_is_str(later, text, "and afterwards everything is as before");
    free((void *)(uintptr_t)text);
    free((void *)(uintptr_t)later);
    return tap_done();
}
