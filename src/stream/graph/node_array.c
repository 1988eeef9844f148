/* Nodes that copy from and to arrays of the graph's device. */
#include "stream/array/stream_array.h"
#include "stream/graph/stream_graph.h"

/* The graph retains the array or the memory of an end; host memory is the caller's. */
static cj_status array_node_retain(cji_adding *a, const cji_array_end *e, const char *what)
{
    if (e->host) return CJ_OK;
    if (!e->array) return cji_adding_retain(a, e->dev, &(cji_range){ e->addr, e->reach, what });
    return cji_array_retain(e->array, cji_graph_root(a->g)->refset)
               ? CJ_OK
               : cji_fail(a->node, CJ_ENOMEM, a->call, "no host memory to keep an array alive for the graph");
}

static void array_node_add(cji_adding *a, const cji_array_copy *c)
{
    if (c->peer) {
        cji_fail(a->node, CJ_ENOTSUP, a->call,
                 "an end is of another device than the graph, and a graph has no node that copies arrays between "
                 "devices; copy the array to device memory, and that with cj_graph_copy_peer");
        return;
    }
    if (array_node_retain(a, &c->dst, "the destination") != CJ_OK) return;
    if (array_node_retain(a, &c->src, "the source") != CJ_OK) return;
    const CUDA_MEMCPY3D p = cji_array_copy_params(c);
    cji_adding_did(a, a->cu->cuGraphAddMemcpyNode(&a->raw, a->g->raw, a->dep, a->ndep, &p, a->g->queue->ctx),
                   CU_GRAPH_NODE_TYPE_MEMCPY, "cuGraphAddMemcpyNode");
}

cj_node *cj_graph_copy_array(cj_graph *g, const cj_nodes *after, const cj_copy_array_params *params)
{
    cji_adding a;
    cji_array_copy c;
    if (cji_adding_begin(&a, g, after, "cj_graph_copy_array") &&
        cji_array_copy_of_params(a.node, g->dev, params, &c, a.call) == CJ_OK)
        array_node_add(&a, &c);
    return cji_adding_end(&a);
}
