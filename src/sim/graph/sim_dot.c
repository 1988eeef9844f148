/* A drawing of a graph in the language of Graphviz. */
#include "sim/graph/sim_graph.h"

#include <stdio.h>

CUresult cji_sim_cuGraphDebugDotPrint(CUgraph h, const char *path, unsigned flags)
{
    sim_graph *g;
    (void)flags;
    if (!path) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_graph_get(h, &g);
    FILE *f = r ? NULL : fopen(path, "w");
    if (!r && !f) r = CUDA_ERROR_OPERATING_SYSTEM;
    if (f) {
        fprintf(f, "digraph graph_%llu {\n", (unsigned long long)g->id);
        for (size_t i = 0; i < g->nnode; i++) {
            const sim_node *n = g->node[i];
            n->graph->node[i]->mark = i;
            const char *name = !n->work               ? "empty"
                               : n->work->kind->label ? n->work->kind->label(n->work)
                                                      : n->work->kind->name;
            fprintf(f, "  n%zu [shape=box, label=\"%zu\\n%s\"];\n", i, i, name);
        }
        for (size_t i = 0; i < g->nnode; i++)
            for (size_t b = 0; b < g->node[i]->nbefore; b++)
                fprintf(f, "  n%zu -> n%zu;\n", g->node[i]->before[b]->mark, i);
        fprintf(f, "}\n");
        bool bad = ferror(f) != 0;
        if (fclose(f) != 0 || bad) r = CUDA_ERROR_OPERATING_SYSTEM;
    }
    sim_unlock();
    return r;
}
