/* Special registers. */
#include "ptx/isa_ids.h"
#include "sim/exec/ops_lane.h"

static uint64_t sreg_dim(const uint32_t *v, unsigned i) { return i < 3 ? v[i] : 0; }

/* Where a block is in its cluster, and how many of what there are; without clusters each block is
 * one. */
static uint64_t sreg_cluster(const cji_blk *b, unsigned id)
{
    uint32_t size[3], in[3], at[3], n[3];
    for (int i = 0; i < 3; i++) {
        size[i] = b->g->l.cluster[i] ? b->g->l.cluster[i] : 1;
        in[i] = b->id[i] % size[i];
        at[i] = b->id[i] / size[i];
        n[i] = b->g->l.grid[i] / size[i];
    }
    if (id >= CJI_SR_CLUSTERID_X && id <= CJI_SR_CLUSTERID_W) return sreg_dim(at, id - CJI_SR_CLUSTERID_X);
    if (id >= CJI_SR_NCLUSTERID_X && id <= CJI_SR_NCLUSTERID_W) return sreg_dim(n, id - CJI_SR_NCLUSTERID_X);
    if (id >= CJI_SR_CLUSTER_CTAID_X && id <= CJI_SR_CLUSTER_CTAID_W) return sreg_dim(in, id - CJI_SR_CLUSTER_CTAID_X);
    if (id >= CJI_SR_CLUSTER_NCTAID_X && id <= CJI_SR_CLUSTER_NCTAID_W)
        return sreg_dim(size, id - CJI_SR_CLUSTER_NCTAID_X);
    if (id == CJI_SR_CLUSTER_CTARANK) return in[0] + (uint64_t)size[0] * (in[1] + (uint64_t)size[1] * in[2]);
    return (uint64_t)size[0] * size[1] * size[2];
}

/* The value of all lanes; sreg_own() has the others. */
static uint64_t sreg_value(const cji_warp *w, unsigned id)
{
    const cji_blk *b = w->blk;
    const struct cji_exec_grid *g = b->g;
    const cji_exec_launch *l = &g->l;
    if (id >= CJI_SR_NTID_X && id <= CJI_SR_NTID_W) return sreg_dim(l->block, id - CJI_SR_NTID_X);
    if (id >= CJI_SR_CTAID_X && id <= CJI_SR_CTAID_W) return sreg_dim(b->id, id - CJI_SR_CTAID_X);
    if (id >= CJI_SR_NCTAID_X && id <= CJI_SR_NCTAID_W) return sreg_dim(l->grid, id - CJI_SR_NCTAID_X);
    if (id >= CJI_SR_CLUSTERID_X && id <= CJI_SR_CLUSTER_NCTARANK) return sreg_cluster(b, id);
    if (id >= CJI_SR_PM0 && id <= CJI_SR_PM7_64) return 0;
    if (id >= CJI_SR_ENVREG0 && id <= CJI_SR_ENVREG31) {
        if (id == CJI_SR_ENVREG1) return l->workspace >> 32;
        return id == CJI_SR_ENVREG2 ? l->workspace & UINT32_MAX : 0;
    }
    switch (id) {
    case CJI_SR_WARPID: return w->index;
    case CJI_SR_NWARPID: return 64;
    case CJI_SR_SMID: return l->sm_count ? b->index % l->sm_count : 0;
    case CJI_SR_NSMID: return l->sm_count ? l->sm_count : 1;
    case CJI_SR_GRIDID: return l->grid_id;
    case CJI_SR_CLOCK: case CJI_SR_CLOCK64: return cji_now() - g->start;
    case CJI_SR_CLOCK_HI: return (cji_now() - g->start) >> 32;
    case CJI_SR_GLOBALTIMER: case CJI_SR_GLOBALTIMER_LO: return cji_now();
    case CJI_SR_GLOBALTIMER_HI: return cji_now() >> 32;
    case CJI_SR_IS_EXPLICIT_CLUSTER: return l->cluster[0] > 0;
    case CJI_SR_CURRENT_GRAPH_EXEC: return 0;
    case CJI_SR_TOTAL_SMEM_SIZE: case CJI_SR_AGGR_SMEM_SIZE: return g->shared_bytes;
    case CJI_SR_DYNAMIC_SMEM_SIZE: return l->dynamic_shared;
    default: return 0;
    }
}

/* The registers whose value is each lane's own. */
static void sreg_own(const cji_warp *w, unsigned id, uint32_t one[CJI_LANES])
{
    uint32_t bit = 1;
    switch (id) {
    case CJI_SR_TID_X: case CJI_SR_TID_Y: case CJI_SR_TID_Z:
        memcpy(one, w->tid[id - CJI_SR_TID_X], sizeof w->tid[0]);
        return;
    case CJI_SR_TID_W: memset(one, 0, sizeof w->tid[0]); return;
    case CJI_SR_LANEID:
        for (uint32_t i = 0; i < CJI_LANES; i++) one[i] = i;
        return;
    default: break;
    }
    for (uint32_t i = 0; i < CJI_LANES; i++, bit <<= 1) one[i] = bit - 1;
    if (id == CJI_SR_LANEMASK_LT) return;
    for (uint32_t i = 0; i < CJI_LANES; i++) {
        uint32_t less = one[i], eq = UINT32_C(1) << i;
        one[i] = id == CJI_SR_LANEMASK_EQ   ? eq
                 : id == CJI_SR_LANEMASK_LE ? less | eq
                 : id == CJI_SR_LANEMASK_GE ? ~less
                                            : ~(less | eq);
    }
}

bool cji_sreg_known(unsigned id)
{
    static const struct { uint16_t first, last; } known[] = {
        { CJI_SR_TID_X, CJI_SR_TID_W },
        { CJI_SR_NTID_X, CJI_SR_NTID_W },
        { CJI_SR_CTAID_X, CJI_SR_CTAID_W },
        { CJI_SR_NCTAID_X, CJI_SR_NCTAID_W },
        { CJI_SR_LANEID, CJI_SR_GLOBALTIMER_HI },
        { CJI_SR_PM0, CJI_SR_PM7_64 },
        { CJI_SR_ENVREG0, CJI_SR_ENVREG31 },
        { CJI_SR_IS_EXPLICIT_CLUSTER, CJI_SR_IS_EXPLICIT_CLUSTER },
        { CJI_SR_CLUSTERID_X, CJI_SR_CLUSTERID_W },
        { CJI_SR_NCLUSTERID_X, CJI_SR_NCLUSTERID_W },
        { CJI_SR_CLUSTER_CTAID_X, CJI_SR_CLUSTER_CTAID_W },
        { CJI_SR_CLUSTER_NCTAID_X, CJI_SR_CLUSTER_NCTARANK },
        { CJI_SR_TOTAL_SMEM_SIZE, CJI_SR_CURRENT_GRAPH_EXEC },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (id >= known[i].first && id <= known[i].last) return true;
    return false;
}

void cji_h_sreg(cji_warp *w, const cji_rec *r)
{
    if (r->k >= CJI_SR_CLOCK && r->k <= CJI_SR_GLOBALTIMER_HI)
        w->slice -= CJI_FUEL_SPIN; /* somebody waits for the time to pass */
    bool own = (r->k >= CJI_SR_TID_X && r->k <= CJI_SR_TID_W) || r->k == CJI_SR_LANEID ||
               (r->k >= CJI_SR_LANEMASK_EQ && r->k <= CJI_SR_LANEMASK_GT);
    uint64_t all = own ? 0 : sreg_value(w, r->k);
    uint32_t one[CJI_LANES];
    if (own) sreg_own(w, r->k, one);
    if (w->mask == CJI_FULL && r->wd == CJI_W32) {
        uint32_t *d = (uint32_t *)(void *)(w->r + r->d);
        if (own) memcpy(d, one, sizeof one);
        else
            for (unsigned i = 0; i < CJI_LANES; i++) d[i] = (uint32_t)all;
    } else if (w->mask == CJI_FULL && r->wd == CJI_W16) {
        uint16_t *d = (uint16_t *)(void *)(w->r + r->d);
        for (unsigned i = 0; i < CJI_LANES; i++) d[i] = (uint16_t)(own ? one[i] : all);
    } else {
        CJI_EACH(i, w->mask) cji_put(w, r->wd, r->d, i, own ? one[i] : all);
    }
}
