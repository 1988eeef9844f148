/* Works: what operations and nodes do. */
#include "sim/core/sim_core.h"

const sim_work_kind *cji_sim_work_kind(CUgraphNodeType type)
{
    for (const sim_work_kind *const *k = sim.kinds; *k; k++)
        if ((*k)->node_type == type) return *k;
    return NULL;
}

sim_work *cji_sim_work_new(const sim_work_kind *kind, sim_ctx *c, size_t size)
{
    sim_work *w = cji_zalloc(size);
    if (!w) return NULL;
    w->refs = 1;
    w->kind = kind;
    w->ctx = c;
    w->size = size;
    return w;
}

sim_work *cji_sim_work_hold(sim_work *w)
{
    if (w) w->refs++;
    return w;
}

void cji_sim_work_drop(sim_work *w)
{
    if (!w || --w->refs) return;
    if (w->kind->drop) w->kind->drop(w);
    cji_free(w, w->size);
}
