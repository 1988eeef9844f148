#!/bin/sh
# A block that waits, communicates or writes is no operand: it returns nothing, so nesting does not compile.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"

compiles()   # EXPRESSION
{
    cat >"$tap_work/nested.c" <<END
#include <cujit/ptx.h>
void g(cj_fn *f, cj_val v, cj_val w, cj_ring *r);
void g(cj_fn *f, cj_val v, cj_val w, cj_ring *r)
{
    cj_val x = $1;
    (void)v; (void)w; (void)r; (void)x;
}
END
    # shellcheck disable=SC2086
    $CC -std=c11 -I"$top_srcdir/include" -fsyntax-only "$tap_work/nested.c" >"$tap_work/log" 2>&1
}

while IFS= read -r effect; do
    if compiles "cj_add(f, $effect, 1)"; then status=1; else status=0; fi
    result "$status" "no operand: $effect"
done <<'LIST'
cj_warp_reduce(f, CJ_COMBINE_ADD, v, 32, &w)
cj_warp_scan(f, CJ_COMBINE_ADD, v, 32, &w, &w)
cj_block_reduce(f, CJ_COMBINE_ADD, v, CJ_THREAD_GROUP(.threads = 64), &w)
cj_warp_broadcast(f, v, 0, &w)
cj_warp_id(f, &w)
cj_warp_elect(f, &w)
cj_grid_sync(f, v)
cj_cluster_sync(f)
cj_mbarrier_wait(f, v, 0)
cj_mbarrier_arrive(f, v)
cj_ring_wait_full(f, r)
cj_ring_next(f, r)
cj_async_copy(f, v, w, 16)
cj_tma_load(f, v, w, v, w)
cj_wgmma(f, 0, v, v, v, 1)
cj_wgmma_wait(f, 0)
cj_mma(f, 0, v, v, v, v)
cj_matrix_load(f, 4, 0, v, &w)
LIST

while IFS= read -r pure; do
    if compiles "cj_add(f, $pure, 1)"; then status=0; else status=1; fi
    result "$status" "an operand: $pure" "$tap_work/log"
done <<'LIST'
cj_cluster_rank(f)
cj_cluster_at(f, v, 1)
cj_ring_full(f, r)
cj_ring_stage(f, r, v, 64)
cj_slice(f, v, 0, 1)
cj_mma_a_at(f, v, 128, 0, CJ_SWIZZLE_128B)
LIST
finish
