/* Nodes that copy, also between devices: each is a copy of slices of rows, of which a plain one has one. */
#include "stream/graph/stream_graph.h"

/* The graph retains the memory of an end; host memory is the caller's. */
static cj_status copy_node_retain(cji_adding *a, const cji_copy_end *e, const char *what)
{
    return e->host ? CJ_OK : cji_adding_retain(a, e->dev, &(cji_range){ e->addr, e->reach, what });
}

static void copy_node_add(cji_adding *a, cji_copy *b)
{
    cj_status st = cji_copy_measure(a->node, a->g->dev, b, a->call);
    if (st == CJ_OK && !b->bytes) st = cji_fail(a->node, CJ_EINVAL, a->call, "0 bytes; a node copies at least one");
    if (st == CJ_OK && b->peer) st = cji_peer_in_graph(a->node, a->g->dev, b->dst.dev, a->call);
    if (st == CJ_OK && b->peer) st = cji_peer_in_graph(a->node, a->g->dev, b->src.dev, a->call);
    if (st == CJ_OK) st = copy_node_retain(a, &b->dst, "the destination");
    if (st == CJ_OK) st = copy_node_retain(a, &b->src, "the source");
    if (st != CJ_OK) return;
    const CUDA_MEMCPY3D p = cji_copy_params(b);
    cji_adding_did(a, a->cu->cuGraphAddMemcpyNode(&a->raw, a->g->raw, a->dep, a->ndep, &p, a->g->queue->ctx),
                   CU_GRAPH_NODE_TYPE_MEMCPY, "cuGraphAddMemcpyNode");
}

static cj_node *copy_node_row(cj_graph *g, const cj_nodes *after, cji_copy_end dst, cji_copy_end src, size_t bytes,
                              const char *call)
{
    cji_adding a;
    if (cji_adding_begin(&a, g, after, call)) {
        cji_copy b = cji_copy_row(g->dev, dst, src, bytes);
        copy_node_add(&a, &b);
    }
    return cji_adding_end(&a);
}

cj_node *cj_graph_copy_to_device(cj_graph *g, const cj_nodes *after, cj_dptr dst, const void *src, size_t bytes)
{
    return copy_node_row(g, after, (cji_copy_end){ .addr = dst.addr }, (cji_copy_end){ .host = (void *)(uintptr_t)src },
                         bytes, "cj_graph_copy_to_device");
}

cj_node *cj_graph_copy_to_host(cj_graph *g, const cj_nodes *after, void *dst, cj_dptr src, size_t bytes)
{
    return copy_node_row(g, after, (cji_copy_end){ .host = dst }, (cji_copy_end){ .addr = src.addr }, bytes,
                         "cj_graph_copy_to_host");
}

cj_node *cj_graph_copy(cj_graph *g, const cj_nodes *after, cj_dptr dst, cj_dptr src, size_t bytes)
{
    return copy_node_row(g, after, (cji_copy_end){ .addr = dst.addr }, (cji_copy_end){ .addr = src.addr }, bytes,
                         "cj_graph_copy");
}

cj_node *cj_graph_copy_3d(cj_graph *g, const cj_nodes *after, const cj_copy_3d_params *params)
{
    cji_adding a;
    cji_copy b;
    if (cji_adding_begin(&a, g, after, "cj_graph_copy_3d") &&
        cji_copy_of_params(a.node, g->dev, params, &b, a.call) == CJ_OK)
        copy_node_add(&a, &b);
    return cji_adding_end(&a);
}

cj_node *cj_graph_copy_peer(cj_graph *g, const cj_nodes *after, cj_device *dst_device, cj_dptr dst,
                            cj_device *src_device, cj_dptr src, size_t bytes)
{
    cji_adding a;
    cji_copy b;
    if (cji_adding_begin(&a, g, after, "cj_graph_copy_peer") &&
        cji_copy_between(a.node, g->dev, dst_device, dst, src_device, src, bytes, &b, a.call) == CJ_OK)
        copy_node_add(&a, &b);
    return cji_adding_end(&a);
}
