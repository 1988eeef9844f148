/* Blocks: their warps in turn, and their barriers. */
#include "sim/exec/ops_bulk.h"
#include "sim/exec/warp.h"

/* ---- Barriers ---- */

static uint32_t block_lanes_of(const cji_blk *b, uint32_t warp)
{
    uint32_t left = b->nthread - warp * CJI_LANES;
    return left >= CJI_LANES ? CJI_FULL : (UINT32_C(1) << left) - 1;
}

/* Exited lanes count as arrived; a warp that is there as a whole counts as 32 threads. */
static bool block_complete(const cji_blk *b, const cji_barrier *bar)
{
    uint32_t threads = 0;
    for (uint32_t i = 0; i < b->nwarp; i++) {
        uint32_t missing = b->warp[i].live & ~bar->lanes[i];
        if (!bar->expected) {
            if (missing) return false;
        } else if (bar->lanes[i]) threads += missing ? (uint32_t)__builtin_popcount(bar->lanes[i]) : CJI_LANES;
    }
    return !bar->expected || threads >= bar->expected;
}

static void block_release(cji_blk *b, unsigned id)
{
    cji_barrier *bar = &b->bar[id];
    for (uint32_t i = 0; i < b->nwarp; i++) {
        cji_warp *w = &b->warp[i];
        for (uint32_t j = 0; j < w->ngroup; j++) {
            cji_group *g = &w->group[j];
            if (g->state != CJI_G_BAR || g->bar != id) continue;
            const cji_rec *r = &w->p->code[g->pc];
            unsigned op = r->k & CJI_BAR_OP;
            uint64_t v = op == CJI_BAR_POPC ? bar->count : op == CJI_BAR_AND ? bar->all : bar->any;
            if (op >= CJI_BAR_POPC) {
                unsigned char *keep = w->r;
                w->r = w->stack + g->base;
                CJI_EACH(l, g->mask) cji_put(w, r->wd, r->d, l, v);
                w->r = keep;
            }
            g->pc++;
            g->state = CJI_G_READY;
            w->stop = true;
        }
        bar->lanes[i] = 0;
    }
    bar->arrived = bar->expected = bar->count = bar->any = 0;
    bar->all = 1;
}

void cji_block_exited(cji_blk *b)
{
    for (unsigned id = 0; id <= CJI_BARRIERS; id++)
        if (b->bar[id].arrived && block_complete(b, &b->bar[id])) block_release(b, id);
}

static void block_arrive(cji_warp *w, const cji_rec *r, uint32_t lanes, unsigned id)
{
    cji_blk *b = w->blk;
    cji_barrier *bar = &b->bar[id];
    unsigned op = r->k & CJI_BAR_OP, first = cji_first(lanes);
    uint32_t want = r->wb ? (uint32_t)cji_get(w, r->wb, r->b, first) : 0;
    if (r->wb && (want % CJI_LANES || !want || want > b->nwarp * CJI_LANES)) {
        cji_fault(w, r, first, CJI_EXEC_FAULT_BARRIER, 0,
                  "names %u threads at barrier %u: the number must be a multiple of 32 up to the block's %u", want, id,
                  b->nwarp * CJI_LANES);
        return;
    }
    if (bar->arrived && bar->expected != want) {
        cji_fault(w, r, first, CJI_EXEC_FAULT_BARRIER, 0, "names %u threads at barrier %u, where others wait for %u",
                  want, id, bar->expected);
        return;
    }
    if (bar->lanes[w->index] & lanes) {
        cji_fault(w, r, first, CJI_EXEC_FAULT_BARRIER, 0, "arrives at barrier %u again before it is complete", id);
        return;
    }
    w->slice -= CJI_SLICE_BARRIER;
    bar->expected = want;
    bar->arrived++;
    bar->lanes[w->index] |= lanes;
    if (op >= CJI_BAR_POPC) {
        uint32_t p = *cji_pred(w, r->c) & lanes;
        bar->count += (uint32_t)__builtin_popcount(p);
        bar->any |= p != 0;
        bar->all &= p == lanes;
    }
    if (op != CJI_BAR_ARRIVE) cji_warp_wait(w, lanes, CJI_G_BAR, id);
    if (block_complete(b, bar)) block_release(b, id);
}

/* barrier.cluster. A thread that has arrived and not waited yet is owed a wait. */
static void block_cluster(cji_warp *w, const cji_rec *r, uint32_t lanes)
{
    cji_blk *b = w->blk;
    cji_barrier *bar = &b->bar[CJI_BARRIERS];
    uint32_t *here = &bar->lanes[w->index], *owed = here + b->nwarp;
    if (!cji_cluster_is_one(w, r, cji_first(lanes))) return;
    if ((r->k & CJI_BAR_OP) == CJI_BAR_ARRIVE) {
        if (*here & lanes) {
            cji_fault(w, r, cji_first(*here & lanes), CJI_EXEC_FAULT_BARRIER, 0,
                      "arrives at the cluster's barrier again before it is complete");
            return;
        }
        w->slice -= CJI_SLICE_BARRIER;
        bar->arrived++;
        *here |= lanes;
        *owed |= lanes;
        if (block_complete(b, bar)) block_release(b, CJI_BARRIERS);
        return;
    }
    if (lanes & ~*owed) {
        cji_fault(w, r, cji_first(lanes & ~*owed), CJI_EXEC_FAULT_BARRIER, 0,
                  "waits at the cluster's barrier without having arrived");
        return;
    }
    *owed &= ~lanes;
    if (*here & lanes) cji_warp_wait(w, *here & lanes, CJI_G_BAR, CJI_BARRIERS);
}

void cji_h_barrier(cji_warp *w, const cji_rec *r)
{
    uint32_t m = w->mask;
    if (r->k & CJI_BAR_ALIGNED && m != w->live) {
        cji_warp_wait(w, m, CJI_G_SYNC, 0);
        return;
    }
    if (r->k & CJI_BAR_CLUSTER) {
        block_cluster(w, r, m);
        return;
    }
    while (m && !w->blk->failed) {
        unsigned first = cji_first(m);
        uint32_t id = (uint32_t)cji_get(w, r->wa, r->a, first), lanes = 0;
        CJI_EACH(i, m) lanes |= cji_get(w, r->wa, r->a, i) == id ? UINT32_C(1) << i : 0;
        if (id >= CJI_BARRIERS) {
            cji_fault(w, r, first, CJI_EXEC_FAULT_BARRIER, 0, "names barrier %u: there are 16", id);
            return;
        }
        if (r->k & CJI_BAR_ALIGNED && lanes != m) {
            cji_fault(w, r, first, CJI_EXEC_FAULT_BARRIER, 0, "names different barriers in one warp");
            return;
        }
        block_arrive(w, r, lanes, id);
        m &= ~lanes;
    }
}

/* ---- Running ---- */

/* Of each barrier, and whom the cluster's barrier owes a wait. */
static size_t block_lane_bytes(const cji_blk *b) { return sizeof(uint32_t) * b->nwarp * (CJI_BARRIERS + 2); }

bool cji_block_start(cji_blk *b, struct cji_exec_grid *g, uint64_t index)
{
    const cji_exec_launch *l = &g->l;
    b->g = g;
    b->index = index;
    b->id[0] = (uint32_t)(index % l->grid[0]);
    b->id[1] = (uint32_t)(index / l->grid[0] % l->grid[1]);
    b->id[2] = (uint32_t)(index / l->grid[0] / l->grid[1]);
    b->failed = false;
    b->nbulk = 0;
    if (!b->warp) {
        b->nthread = g->nthread;
        b->nwarp = g->nwarp;
        b->shared_bytes = l->coarse ? (g->shared_bytes + 127) / 128 * 128 : g->shared_bytes;
        b->warp = cji_zalloc(sizeof *b->warp * b->nwarp);
        b->bar_lanes = cji_zalloc(block_lane_bytes(b));
        b->shared = cji_alloc(b->shared_bytes + 16);
        if (!b->warp || !b->bar_lanes || !b->shared) return false;
        for (uint32_t i = 0; i < b->nwarp; i++) cji_warp_place(&b->warp[i], b, i);
    }
    const uint64_t *changes = l->memory.changes;
    uint64_t now = changes ? __atomic_load_n(changes, __ATOMIC_RELAXED) : 0;
    if (now != b->span_changes) memset(b->span, 0, sizeof b->span);
    b->span_changes = now;
    memset(b->shared, 0, b->shared_bytes + 16);
    memset(b->bar_lanes, 0, block_lane_bytes(b));
    if (b->commits) memset(b->commits, 0, b->nthread * sizeof *b->commits);
    for (unsigned i = 0; i <= CJI_BARRIERS; i++)
        b->bar[i] = (cji_barrier){ .all = 1, .lanes = b->bar_lanes + (size_t)i * b->nwarp };
    for (uint32_t i = 0; i < b->nwarp; i++) b->warp[i].live = block_lanes_of(b, i);
    for (uint32_t i = 0; i < b->nwarp; i++)
        if (!cji_warp_start(&b->warp[i])) return false;
    return true;
}

void cji_block_free(cji_blk *b)
{
    if (!b) return;
    for (uint32_t i = 0; b->warp && i < b->nwarp; i++) cji_warp_free(&b->warp[i]);
    cji_free(b->warp, sizeof *b->warp * b->nwarp);
    cji_free(b->bar_lanes, block_lane_bytes(b));
    cji_free(b->shared, b->shared_bytes + 16);
    cji_bulk_free(b);
    cji_free(b, sizeof *b);
}

/* No warp of the block can make progress. */
static void block_stuck(cji_blk *b)
{
    uint32_t waiting = 0;
    for (unsigned id = 0; id < CJI_BARRIERS; id++) waiting += b->bar[id].arrived != 0;
    for (uint32_t i = 0; i < b->nwarp; i++) {
        cji_warp *w = &b->warp[i];
        if (!w->ngroup) continue;
        const cji_group *g = &w->group[0];
        for (uint32_t j = 0; j < w->ngroup; j++)
            if (w->group[j].state == CJI_G_SYNC) g = &w->group[j];
        const cji_rec *r = &w->p->code[g->pc];
        w->pc = g->pc + 1;
        if (g->state == CJI_G_BAR && g->bar == CJI_BARRIERS)
            cji_fault(w, r, cji_first(g->mask), CJI_EXEC_FAULT_BARRIER, 0,
                      "waits at the cluster's barrier, which can never complete: other threads wait elsewhere");
        else if (g->state == CJI_G_BAR)
            cji_fault(
                w, r, cji_first(g->mask), CJI_EXEC_FAULT_BARRIER, 0,
                "waits at barrier %u, which can never complete: every other thread of the block waits elsewhere or "
                "has not as many to come%s",
                g->bar, waiting > 1 ? " (threads wait at several barriers)" : "");
        else
            cji_fault(w, r, cji_first(g->mask),
                      r->fn == cji_h_barrier ? CJI_EXEC_FAULT_BARRIER : CJI_EXEC_FAULT_SYNC, 0,
                      "waits for lanes of its warp that wait at a barrier: lanes 0x%08x are here", g->mask);
        return;
    }
}

/* A block goes on through its barriers until a warp has spent its slice: then it may be waiting for another block. */
cji_block_end cji_block_run(cji_blk *b)
{
    const int *cancel = b->g->l.cancel;
    for (uint32_t i = 0; i < b->nwarp; i++) b->warp[i].slice = CJI_SLICE;
    for (;;) {
        bool alive = false, moved = false, spent = false;
        for (uint32_t i = 0; i < b->nwarp; i++) {
            cji_warp *w = &b->warp[i];
            if (!w->ngroup && !w->active) continue;
            uint64_t before = w->steps;
            switch (cji_warp_run(w)) {
            case CJI_WARP_DONE: moved = true; break;
            case CJI_WARP_FAULT: return CJI_BLOCK_FAULT;
            case CJI_WARP_YIELD: moved = alive = spent = true; break;
            default:
                alive = true;
                moved |= w->steps != before;
                break;
            }
            if (__atomic_load_n(&b->g->stopped, __ATOMIC_RELAXED)) return CJI_BLOCK_FAULT;
            if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED)) {
                cji_fault(w, NULL, 0, CJI_EXEC_FAULT_CANCELLED, 0, "was cancelled");
                return CJI_BLOCK_FAULT;
            }
        }
        if (!alive) return cji_bulk_end(b) ? CJI_BLOCK_DONE : CJI_BLOCK_FAULT;
        if (!moved) {
            block_stuck(b);
            return CJI_BLOCK_FAULT;
        }
        if (spent) return CJI_BLOCK_YIELD;
    }
}
