/* Clusters: addresses of another block's shared memory, and the barrier of all blocks (warp.h). A cluster has one
 * block: the address of what is in it is an address of the block. */
#include "sim/exec/warp.h"

uint32_t cji_cluster_blocks(const cji_blk *b)
{
    const uint32_t *n = b->g->l.cluster;
    return (n[0] ? n[0] : 1) * (n[1] ? n[1] : 1) * (n[2] ? n[2] : 1);
}

bool cji_cluster_is_one(cji_warp *w, const cji_rec *r, unsigned lane)
{
    uint32_t n = cji_cluster_blocks(w->blk);
    if (n == 1) return true;
    cji_fault(w, r, lane, CJI_EXEC_FAULT_SPACE, 0,
              "is executed in a cluster of %u blocks: the CPU device runs clusters of one block only", n);
    return false;
}

void cji_h_mapa(cji_warp *w, const cji_rec *r)
{
    if (!cji_cluster_is_one(w, r, cji_first(w->mask))) return;
    CJI_EACH(i, w->mask) {
        uint32_t rank = (uint32_t)cji_get(w, r->wb, r->b, i);
        if (rank) {
            cji_fault(w, r, i, CJI_EXEC_FAULT_SPACE, rank, "names block %u of a cluster, which has 1", rank);
            return;
        }
        cji_put(w, r->wd, r->d, i, cji_get(w, r->wa, r->a, i));
    }
}

void cji_h_ctarank(cji_warp *w, const cji_rec *r)
{
    if (!cji_cluster_is_one(w, r, cji_first(w->mask))) return;
    CJI_EACH(i, w->mask) cji_put(w, r->wd, r->d, i, 0);
}
