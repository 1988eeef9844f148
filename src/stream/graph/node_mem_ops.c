/* Nodes of stream memory operations. */
#include "stream/graph/stream_graph.h"

/* `p` has room for all of them. */
static void mem_ops_node_add(cji_adding *a, const cj_mem_op *ops, CUstreamBatchMemOpParams *p, size_t count)
{
    cj_graph *g = a->g;
    const CUDA_BATCH_MEM_OP_NODE_PARAMS all = { .ctx = g->queue->ctx, .count = (unsigned)count, .paramArray = p };
    for (size_t i = 0; i < count; i++) {
        cji_mem_op_job j;
        if (cji_mem_op_take(a->node, ops, i, &j, a->call) != CJ_OK) return;
        const cji_range at = { j.at, j.wide ? 8 : 4, j.what };
        if (cji_adding_retain(a, g->dev, &at) != CJ_OK) return;
        cji_mem_op_params(&j, &p[i]);
    }
    cji_adding_did(a, a->cu->cuGraphAddBatchMemOpNode(&a->raw, g->raw, a->dep, a->ndep, &all),
                   CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, "cuGraphAddBatchMemOpNode");
}

cj_node *cj_graph_mem_ops(cj_graph *g, const cj_nodes *after, const cj_mem_op *ops, size_t count)
{
    static const char call[] = "cj_graph_mem_ops";
    cji_adding a;
    if (!cji_adding_begin(&a, g, after, call) || cji_mem_ops_count(a.node, ops, count, call) != CJ_OK)
        return cji_adding_end(&a);
    CUstreamBatchMemOpParams *p = count ? cji_zalloc(count * sizeof *p) : NULL;
    if (p) mem_ops_node_add(&a, ops, p, count);
    else if (count) cji_fail(a.node, CJ_ENOMEM, call, "no memory for %zu ops", count);
    else cji_fail(a.node, CJ_EINVAL, call, "0 ops; a node has at least one");
    cji_free(p, count * sizeof *p);
    return cji_adding_end(&a);
}
