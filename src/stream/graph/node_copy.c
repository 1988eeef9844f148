/* Nodes that copy rows and boxes, also between devices. */
#include "stream/graph/stream_graph.h"

/* The graph keeps the memory of an end; host memory is the caller's. */
static cj_status copy_node_retain(cji_adding *a, const cji_copy_end *e, const char *what)
{
    const cji_range at = { e->addr, e->reach, what };
    return e->host ? CJ_OK : cji_mem_retain_in(e->dev, cji_graph_root(a->g)->refset, a->node, &at, a->call);
}

/* Between devices the driver finds out whose memory it is. */
static CUmemorytype copy_node_type(const cji_copy_job *b, const cji_copy_end *e)
{
    return b->peer ? CU_MEMORYTYPE_UNIFIED : e->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static void copy_node_add(cji_adding *a, const cji_copy_job *b)
{
    const CUDA_MEMCPY3D p = {
        .srcMemoryType = copy_node_type(b, &b->src), .srcHost = b->src.host, .srcDevice = b->src.addr, .srcPitch = b->src.pitch, .srcHeight = b->src.rows,
        .dstMemoryType = copy_node_type(b, &b->dst), .dstHost = b->dst.host, .dstDevice = b->dst.addr, .dstPitch = b->dst.pitch, .dstHeight = b->dst.rows,
        .WidthInBytes = b->width, .Height = b->height, .Depth = b->depth,
    };
    if (cji_adding_did(a, a->cu->cuGraphAddMemcpyNode(&a->raw, a->g->raw, a->dep, a->ndep, &p, a->g->queue->ctx), "cuGraphAddMemcpyNode"))
        a->node->type = CU_GRAPH_NODE_TYPE_MEMCPY;
}

static void copy_node_3d(cji_adding *a, cji_copy_job *b)
{
    cj_status st = cji_copy_measure(a->node, a->g->dev, b, a->call);
    if (st == CJ_OK && !b->bytes) st = cji_fail(a->node, CJ_EINVAL, a->call, "0 bytes; a node copies at least one");
    if (st == CJ_OK && b->peer) st = cji_peer_in_graph(a->node, a->g->dev, b->dst.dev, a->call);
    if (st == CJ_OK && b->peer) st = cji_peer_in_graph(a->node, a->g->dev, b->src.dev, a->call);
    if (st == CJ_OK) st = copy_node_retain(a, &b->dst, "the destination");
    if (st == CJ_OK) st = copy_node_retain(a, &b->src, "the source");
    if (st == CJ_OK) copy_node_add(a, b);
}

cj_node *cj_graph_copy_3d(cj_graph *g, const cj_nodes *after, const cj_copy_3d_params *box)
{
    cji_adding a;
    cji_copy_job b;
    if (cji_adding_begin(&a, g, after, "cj_graph_copy_3d") && cji_copy_of_params(a.node, g->dev, box, &b, a.call) == CJ_OK) copy_node_3d(&a, &b);
    return cji_adding_end(&a);
}

cj_node *cj_graph_copy_peer(cj_graph *g, const cj_nodes *after, cj_device *dst_device, cj_dptr dst, cj_device *src_device, cj_dptr src, size_t bytes)
{
    cji_adding a;
    cji_copy_job b;
    if (cji_adding_begin(&a, g, after, "cj_graph_copy_peer") &&
        cji_copy_between(a.node, g->dev, dst_device, dst, src_device, src, bytes, &b, a.call) == CJ_OK) copy_node_3d(&a, &b);
    return cji_adding_end(&a);
}
