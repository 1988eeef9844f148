/* Nodes that fill.  A fill of 8 bytes whose halves differ is two nodes, the second one behind the first. */
#include "stream/graph/stream_graph.h"

/* Adds one fill that the driver has; the node's dependencies are a->dep. */
static CUresult fill_node_raw(cji_adding *a, const cji_fill *f)
{
    const CUDA_MEMSET_NODE_PARAMS p = { .dst = f->to,
                                        .pitch = f->height == 1 ? 0 : f->pitch,
                                        .value = (unsigned)f->value,
                                        .elementSize = (unsigned)f->size,
                                        .width = f->width,
                                        .height = f->height };
    return a->cu->cuGraphAddMemsetNode(&a->raw, a->g->raw, a->dep, a->ndep, &p, a->g->queue->ctx);
}

/* The first of two becomes what the second depends on. */
static CUresult fill_node_both(cji_adding *a, const cji_fill part[2])
{
    CUresult r = fill_node_raw(a, &part[0]);
    if (r != CUDA_SUCCESS) return r;
    CUgraphNode first = a->raw, *dep = a->dep;
    const size_t ndep = a->ndep;
    a->dep = &first;
    a->ndep = 1;
    r = fill_node_raw(a, &part[1]);
    a->dep = dep;
    a->ndep = ndep;
    if (r == CUDA_SUCCESS) return r;
    a->cu->cuGraphDestroyNode(first);
    a->raw = NULL;
    return r;
}

/* `rows`: of cj_graph_fill_2d. */
static cj_node *fill_node(cj_graph *g, const cj_nodes *after, cji_fill f, bool rows, const char *call)
{
    cji_adding a;
    cji_fill part[2];
    cji_range range = { f.to, 0, "the destination" };
    if (!cji_adding_begin(&a, g, after, call)) return cji_adding_end(&a);
    cj_status st = CJ_OK;
    if (!f.width || !f.height) st = cji_fail(a.node, CJ_EINVAL, call, "0 elements; a node fills at least one");
    if (st == CJ_OK && rows) st = cji_fill_2d_check(a.node, f.size, (uint32_t)f.value, call);
    if (st == CJ_OK) st = cji_fill_measure(a.node, &f, &range.bytes, call);
    if (st == CJ_OK) st = cji_adding_retain(&a, g->dev, &range);
    if (st != CJ_OK) return cji_adding_end(&a);
    CUresult r = cji_fill_split(&f, part) == 1 ? fill_node_raw(&a, &part[0]) : fill_node_both(&a, part);
    cji_adding_did(&a, r, CU_GRAPH_NODE_TYPE_MEMSET, "cuGraphAddMemsetNode");
    return cji_adding_end(&a);
}

static cj_node *fill_node_plain(cj_graph *g, const cj_nodes *after, cj_dptr d, uint64_t value, unsigned size,
                                size_t count, const char *call)
{
    return fill_node(g, after, (cji_fill){ .to = d.addr, .value = value, .size = size, .width = count, .height = 1 },
                     false, call);
}

cj_node *cj_graph_fill8(cj_graph *g, const cj_nodes *after, cj_dptr d, uint8_t value, size_t count)
{
    return fill_node_plain(g, after, d, value, 1, count, "cj_graph_fill8");
}

cj_node *cj_graph_fill16(cj_graph *g, const cj_nodes *after, cj_dptr d, uint16_t value, size_t count)
{
    return fill_node_plain(g, after, d, value, 2, count, "cj_graph_fill16");
}

cj_node *cj_graph_fill32(cj_graph *g, const cj_nodes *after, cj_dptr d, uint32_t value, size_t count)
{
    return fill_node_plain(g, after, d, value, 4, count, "cj_graph_fill32");
}

cj_node *cj_graph_fill64(cj_graph *g, const cj_nodes *after, cj_dptr d, uint64_t value, size_t count)
{
    return fill_node_plain(g, after, d, value, 8, count, "cj_graph_fill64");
}

cj_node *cj_graph_fill_2d(cj_graph *g, const cj_nodes *after, cj_dptr d, size_t pitch, size_t element_bytes,
                          uint32_t value, size_t width, size_t height)
{
    const cji_fill f = {
        .to = d.addr, .value = value, .size = element_bytes, .pitch = pitch, .width = width, .height = height
    };
    return fill_node(g, after, f, true, "cj_graph_fill_2d");
}
