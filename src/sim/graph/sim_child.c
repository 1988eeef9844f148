/* Child graphs: a node with a graph of its own, which is copied with it. */
#include "sim/graph/sim_graph.h"

static sim_child *sim_child_of(const sim_work *w) { return (sim_child *)(uintptr_t)w; }

/* With a copy of `from`; NULL without memory. */
static sim_work *sim_child_work(const sim_graph *from)
{
    sim_child *w = (sim_child *)cji_sim_work_new(&cji_sim_kind_child.work, NULL, sizeof *w);
    sim_graph *g = w ? cji_sim_graph_copy(from) : NULL;
    if (!g || !cji_sim_handle_add(SIM_GRAPH, g)) {
        cji_sim_graph_drop(g);
        if (w) cji_sim_work_drop(&w->work);
        return NULL;
    }
    w->graph = g;
    return &w->work;
}

/* ---- The kind ---------------------------------------------------------------------------------------------------- */

static void sim_child_drop(sim_work *w)
{
    cji_sim_handle_drop(sim_child_of(w)->graph);   /* without a node it has its handle still */
    cji_sim_graph_drop(sim_child_of(w)->graph);
}

static CUresult sim_child_read(CUgraphNodeParams *p, sim_graph *into, sim_work **out)
{
    sim_graph *g;
    (void)into;
    if (p->graph.ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE) return CUDA_ERROR_NOT_SUPPORTED;
    CUresult r = cji_sim_graph_get(p->graph.graph, &g);
    if (!r && g->once) r = CUDA_ERROR_NOT_SUPPORTED;
    if (r) return r;
    *out = sim_child_work(g);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void sim_child_write(const sim_work *w, CUgraphNodeParams *p)
{
    p->graph.graph = (CUgraph)sim_child_of(w)->graph;
}

static void sim_child_attach(sim_work *w, sim_node *node)
{
    sim_graph *g = sim_child_of(w)->graph;
    g->parent = node;
    if (!node) cji_sim_handle_drop(g);
}

static sim_work *sim_child_copy(sim_work *w) { return sim_child_work(sim_child_of(w)->graph); }

static size_t sim_child_steps(const sim_work *w) { return 2 + cji_sim_graph_count_steps(sim_child_of(w)->graph); }

/* An empty step before its roots, its steps, an empty one behind its leaves. */
static CUresult sim_child_flatten(sim_graph_exec *x, const sim_node *node, const size_t *before, size_t n)
{
    size_t first = x->nstep, nleaf = 0;
    if (!cji_sim_step_put(x, NULL, node, before, n)) return CUDA_ERROR_OUT_OF_MEMORY;
    x->step[first].node = 0;
    CUresult r = cji_sim_graph_flatten(x, sim_child_of(node->work)->graph, first);
    if (r) return r;
    size_t *leaf = cji_alloc((x->nstep - first) * sizeof *leaf), room = x->nstep - first;
    if (!leaf) return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = first; i < x->nstep; i++)
        if (x->step[i].leaf) leaf[nleaf++] = i;
    bool ok = cji_sim_step_put(x, NULL, node, leaf, nleaf);
    if (ok) x->step[x->nstep - 1].first = first;
    cji_free(leaf, room * sizeof *leaf);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

const sim_graph_kind cji_sim_kind_child = { .work = { .name = "graph",
                                                      .node_type = CU_GRAPH_NODE_TYPE_GRAPH,
                                                      .traits = SIM_WORK_OF_GRAPHS,
                                                      .fixed = true,
                                                      .drop = sim_child_drop,
                                                      .read_params = sim_child_read,
                                                      .write_params = sim_child_write,
                                                      .attach = sim_child_attach,
                                                      .copy = sim_child_copy },
                                            .steps = sim_child_steps,
                                            .flatten = sim_child_flatten };
