/* Reductions, scans and broadcasts over the threads of a block, or of whole warps of it.
 *
 * Each warp joins its lanes and leaves its result in shared memory; behind a barrier each warp reads all of them and
 * joins them once more, all warps in the same order.  So every thread has the result after one barrier.  A second one
 * lets the memory be used again. */
#include <stdio.h>

#include "ptx/blocks/blocks.h"

enum { WARP_LANES = 32, BLOCK_THREADS = 1024, NAMED_BARRIERS = 16 };

/* A group as its instructions need it. */
typedef struct team {
    const cj_thread_group *g;
    unsigned warps;
    cj_val index, lane, warp, scratch;
    uint32_t bytes;              /* of a warp's value in scratch */
} team;

static bool good_size(uint32_t threads) { return threads && threads <= BLOCK_THREADS && threads % WARP_LANES == 0; }

size_t cj_thread_group_scratch(const cj_thread_group *g, size_t bytes)
{
    if (!g || !good_size(g->threads)) return 0;
    return (bytes + 7) / 8 * 8 * (g->threads / WARP_LANES);
}

static cj_val own_scratch(cj_fn *f, size_t bytes)
{
    char name[32];
    snprintf(name, sizeof name, "cj_scratch_%zu", f->m->nvar);
    return cj_shared(f, name, CJ_B64, bytes / 8);
}

/* The group's registers; `p` is a value that goes through its memory. */
static bool group_enter(cj_fn *f, const cj_thread_group *g, const cji_parts *p, team *r, const char *call)
{
    if (!g) return cji_block_fail(f, CJ_EINVAL, call, "the group is NULL"), false;
    if (!good_size(g->threads))
        return cji_block_fail(f, CJ_EINVAL, call, "the group has %u threads, wants a multiple of 32 up to 1024",
                              g->threads),
               false;
    *r = (team){ .g = g, .warps = g->threads / WARP_LANES, .bytes = (cji_parts_bytes(p) + 7) / 8 * 8 };
    r->index = g->index.bits ? g->index : cj_thread_id(f, CJ_X);
    if (!r->index.bits) return false;
    r->lane = cj_and(f, r->index, cji_imm_int(f, WARP_LANES - 1));
    r->warp = cj_shr(f, r->index, cji_imm_int(f, 5));
    cj_val s = g->scratch.bits ? g->scratch : own_scratch(f, cj_thread_group_scratch(g, r->bytes));
    r->scratch = cji_shared_address(f, s, call);
    return r->scratch.bits != 0;
}

static void group_barrier(cj_fn *f, const team *r)
{
    if (r->g->barrier.bits) cj_named_barrier_sync(f, r->g->barrier, cji_imm_int(f, r->g->threads));
    else cj_block_sync(f);
}

static void group_leave(cj_fn *f, const team *r)
{
    if (!r->g->once) group_barrier(f, r);
}

static cj_val slot(cj_fn *f, const team *r, cj_val warp)
{
    return cj_mad(f, warp, cji_imm_int(f, r->bytes), r->scratch);
}

/* The lane `from` of each warp leaves its value in the warp's slot. */
static void store_warp(cj_fn *f, const team *r, unsigned from, const cji_parts *p)
{
    cj_val at = slot(f, r, r->warp), one = cj_eq(f, r->lane, cji_imm_int(f, from));
    cji_parts_store(f, one, at, 0, p);
}

/* The values of all warps, that of warp i in lane i; the last one in the lanes behind it. */
static cji_parts load_warps(cj_fn *f, const team *r, const cji_parts *like)
{
    cj_val from = cj_min(f, r->lane, cji_imm_int(f, r->warps - 1));
    return cji_parts_load(f, slot(f, r, from), 0, like);
}

/* ---- Reduction --------------------------------------------------------------------------------------------------- */

/* The values of `n` warps in the first lanes, n no power of two: lane 0 joins them in order, then all get it. */
static void join_some(cj_fn *f, const cji_join *j, const team *r, cji_parts *p, const char *call)
{
    for (unsigned off = 1; off < r->warps; off *= 2) {
        cji_parts above = cji_parts_shuffle(f, CJI_LANES_DOWN, p, cji_imm_int(f, off), WARP_LANES, NULL, call);
        cj_val there = cj_lt(f, cj_add(f, r->lane, cji_imm_int(f, off)), cji_imm_int(f, r->warps));
        cji_join_into(f, j, there, p, p, &above, call);
    }
    *p = cji_parts_shuffle(f, CJI_LANES_IDX, p, cji_imm_int(f, 0), WARP_LANES, NULL, call);
}

static void block_reduce(cj_fn *f, const cji_join *j, cj_val v, const cj_thread_group *g, cj_val *total,
                         const char *call)
{
    cji_parts p;
    team r;
    if (total) *total = CJI_NULL;
    if (!cji_parts_of(f, v, &p, call) || !cji_join_check(f, j, &p, call) || !group_enter(f, g, &p, &r, call)) return;
    p = cji_parts_copy(f, &p);
    cji_warp_reduce(f, j, &p, WARP_LANES, call);
    if (r.warps > 1) {
        store_warp(f, &r, 0, &p);
        group_barrier(f, &r);
        if (r.warps & (r.warps - 1)) {
            p = load_warps(f, &r, &p);
            join_some(f, j, &r, &p, call);
        } else {
            p = cji_parts_load(f, slot(f, &r, cj_and(f, r.lane, cji_imm_int(f, r.warps - 1))), 0, &p);
            cji_warp_reduce(f, j, &p, r.warps, call);
        }
        group_leave(f, &r);
    }
    cji_parts_give(f, &p, total);
}

void cj_block_reduce(cj_fn *f, cj_combine_op op, cj_val v, const cj_thread_group *group, cj_val *total)
{
    block_reduce(f, &(cji_join){ .op = op }, v, group, total, __func__);
}

void cj_block_reduce_fn(cj_fn *f, cj_fn *op, cj_val v, const cj_thread_group *group, cj_val *total)
{
    if (cji_fn_callable(f, op, __func__)) block_reduce(f, &(cji_join){ .fn = op }, v, group, total, __func__);
}

/* ---- Scan -------------------------------------------------------------------------------------------------------- */

static void block_scan(cj_fn *f, const cji_join *j, cj_val v, cj_val identity, const cj_thread_group *g,
                       cj_val *inclusive, cj_val *exclusive, cj_val *total, const char *call)
{
    cji_parts in, ex = { .n = 0 }, none;
    team r;
    if (inclusive) *inclusive = CJI_NULL;
    if (exclusive) *exclusive = CJI_NULL;
    if (total) *total = CJI_NULL;
    if (!cji_parts_of(f, v, &in, call) || !cji_join_check(f, j, &in, call)) return;
    if (exclusive && !cji_identity_of(f, j, identity, &in, &none, call)) return;
    if (!group_enter(f, g, &in, &r, call)) return;
    in = cji_parts_copy(f, &in);
    cji_warp_scan(f, j, &in, WARP_LANES, call);
    if (exclusive) ex = cji_warp_exclusive(f, &in, &none, WARP_LANES, call);
    cji_parts sum = in;
    unsigned width = 1;
    while (width < r.warps) width *= 2;
    if (r.warps > 1) {
        store_warp(f, &r, WARP_LANES - 1, &in);
        group_barrier(f, &r);
        sum = load_warps(f, &r, &in);
        cji_warp_scan(f, j, &sum, width, call);
        group_leave(f, &r);
        /* what the warps below this one have */
        cj_val below = cj_sub(f, r.warp, cji_imm_int(f, 1)), some = cj_ne(f, r.warp, cji_imm_int(f, 0));
        cji_parts before = cji_parts_shuffle(f, CJI_LANES_IDX, &sum, below, WARP_LANES, NULL, call);
        cji_join_into(f, j, some, &in, &before, &in, call);
        if (exclusive) cji_join_into(f, j, some, &ex, &before, &ex, call);
    }
    if (total) {
        cji_parts all = cji_parts_shuffle(
            f, CJI_LANES_IDX, &sum, cji_imm_int(f, r.warps > 1 ? r.warps - 1 : WARP_LANES - 1), WARP_LANES, NULL, call);
        cji_parts_give(f, &all, total);
    }
    cji_parts_give(f, &in, inclusive);
    if (exclusive) cji_parts_give(f, &ex, exclusive);
}

void cj_block_scan(cj_fn *f, cj_combine_op op, cj_val v, const cj_thread_group *group, cj_val *inclusive,
                   cj_val *exclusive, cj_val *total)
{
    block_scan(f, &(cji_join){ .op = op }, v, CJI_NULL, group, inclusive, exclusive, total, __func__);
}

void cj_block_scan_fn(cj_fn *f, cj_fn *op, cj_val v, cj_val identity, const cj_thread_group *group, cj_val *inclusive,
                      cj_val *exclusive, cj_val *total)
{
    if (!cji_fn_callable(f, op, __func__)) return;
    block_scan(f, &(cji_join){ .fn = op }, v, identity, group, inclusive, exclusive, total, __func__);
}

/* ---- Broadcast --------------------------------------------------------------------------------------------------- */

/* Is the index of a lane or thread, if it is a number, below `end`? */
static bool good_index(cj_fn *f, cj_val index, uint32_t end, const char *what, const char *call)
{
    int64_t x;
    if (!cji_val_usable(f, index, call, what)) return false;
    if (!cji_number_is(f, index, &x) || (x >= 0 && x < end)) return true;
    return cji_block_fail(f, CJ_EINVAL, call, "%s is %lld, wants 0 to %u", what, (long long)x,
                          end - 1), false;
}

void cj_block_broadcast(cj_fn *f, cj_val v, cj_val from, const cj_thread_group *group, cj_val *result)
{
    cji_parts p;
    team r;
    if (result) *result = CJI_NULL;
    if (!cji_parts_of(f, v, &p, __func__) || !group_enter(f, group, &p, &r, __func__) ||
        !good_index(f, from, group->threads, "the thread", __func__))
        return;
    if (r.warps == 1) {
        p = cji_parts_shuffle(f, CJI_LANES_IDX, &p, from, WARP_LANES, NULL, __func__);
    } else {
        cji_parts_store(f, cj_eq(f, r.index, from), r.scratch, 0, &p);
        group_barrier(f, &r);
        p = cji_parts_load(f, r.scratch, 0, &p);
        group_leave(f, &r);
    }
    cji_parts_give(f, &p, result);
}

void cj_warp_broadcast(cj_fn *f, cj_val v, cj_val lane, cj_val *result)
{
    cji_parts p;
    if (result) *result = CJI_NULL;
    if (!cji_parts_of(f, v, &p, __func__) || !good_index(f, lane, WARP_LANES, "the lane", __func__)) return;
    p = cji_parts_shuffle(f, CJI_LANES_IDX, &p, lane, WARP_LANES, NULL, __func__);
    cji_parts_give(f, &p, result);
}
