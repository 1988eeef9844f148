/* A graph as text for Graphviz: a rectangle for each node, coloured by its kind; children and bodies are clusters,
 * tied to their node by a dashed line. */
#include "stream/graph/stream_graph.h"

#include <stdio.h>
#include <string.h>

enum { DOT_DEPTH = 24 }; /* of graphs in graphs; deeper ones are left out */

typedef struct dot_job {
    cji_text *out;
    cj_device *dev;
    cji_refset *refset; /* knows the kernels */
    void *into;
    const char *call;
} dot_job;

/* -- Labels -------------------------------------------------------------------------------------------------------- */

static void dot_escaped(cji_text *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') cji_text_putc(out, '\\');
        cji_text_putc(out, *s);
    }
}

/* "64 KiB": exact, so that two sizes that differ look different. */
static void dot_bytes(cji_text *out, uint64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    size_t unit = 0;
    while (unit < 4 && bytes && bytes % 1024 == 0) bytes /= 1024, unit++;
    cji_text_printf(out, "%llu %s", (unsigned long long)bytes, units[unit]);
}

/* "16 x 4": without the dimensions that are 1 at the end. */
static void dot_extent(cji_text *out, unsigned x, unsigned y, unsigned z)
{
    cji_text_printf(out, "%u", x);
    if (y > 1 || z > 1) cji_text_printf(out, " x %u", y);
    if (z > 1) cji_text_printf(out, " x %u", z);
}

static void dot_kernel(const dot_job *j, CUgraphNode raw)
{
    CUDA_KERNEL_NODE_PARAMS_v2 p;
    const char *name = NULL;
    memset(&p, 0, sizeof p);
    if (j->dev->api.cuGraphKernelNodeGetParams(raw, &p) != CUDA_SUCCESS || !p.func) {
        cji_text_puts(j->out, "kernel");
        return;
    }
    const cj_kernel *k = cji_refset_kernel(j->refset, p.func);
    if (k) name = k->name;
    else if (j->dev->api.cuFuncGetName(&name, p.func) != CUDA_SUCCESS) name = NULL;
    dot_escaped(j->out, name ? name : "kernel");
    cji_text_puts(j->out, "\\n");
    dot_extent(j->out, p.gridDimX, p.gridDimY, p.gridDimZ);
    cji_text_puts(j->out, p.gridDimX * p.gridDimY * p.gridDimZ == 1 ? " block of " : " blocks of ");
    dot_extent(j->out, p.blockDimX, p.blockDimY, p.blockDimZ);
}

static void dot_copy(const dot_job *j, CUgraphNode raw)
{
    CUDA_MEMCPY3D p;
    memset(&p, 0, sizeof p);
    bool known = j->dev->api.cuGraphMemcpyNodeGetParams(raw, &p) == CUDA_SUCCESS && p.WidthInBytes;
    const char *where = p.dstMemoryType == CU_MEMORYTYPE_HOST   ? " to host"
                        : p.srcMemoryType == CU_MEMORYTYPE_HOST ? " to device"
                                                                : "";
    cji_text_printf(j->out, "copy%s", known ? where : "");
    if (!known) return;
    cji_text_puts(j->out, "\\n");
    dot_bytes(j->out, (uint64_t)p.WidthInBytes * (p.Height ? p.Height : 1) * (p.Depth ? p.Depth : 1));
}

static void dot_fill(const dot_job *j, CUgraphNode raw)
{
    CUDA_MEMSET_NODE_PARAMS p;
    memset(&p, 0, sizeof p);
    cji_text_puts(j->out, "fill");
    if (j->dev->api.cuGraphMemsetNodeGetParams(raw, &p) != CUDA_SUCCESS || !p.elementSize) return;
    cji_text_printf(j->out, " with %u\\n", p.value);
    dot_bytes(j->out, (uint64_t)p.elementSize * p.width * (p.height ? p.height : 1));
}

/* A host function of the user, or one that stages a copy of pageable memory. */
static void dot_host(const dot_job *j, CUgraphNode raw)
{
    CUDA_HOST_NODE_PARAMS p = { 0 };
    const bool known = j->dev->api.cuGraphHostNodeGetParams(raw, &p) == CUDA_SUCCESS;
    cji_text_puts(j->out, known && cji_stage_has(p.fn) ? "staging" : "host function");
}

/* "wait for 1 location", "write 2 locations", or both. */
static void dot_mem_ops(const dot_job *j, CUgraphNode raw)
{
    CUDA_BATCH_MEM_OP_NODE_PARAMS p;
    unsigned waits = 0, writes = 0;
    memset(&p, 0, sizeof p);
    if (j->dev->api.cuGraphBatchMemOpNodeGetParams(raw, &p) != CUDA_SUCCESS || !p.paramArray) p.count = 0;
    for (unsigned i = 0; i < p.count; i++) {
        const CUstreamBatchMemOpType what = p.paramArray[i].operation;
        waits += what == CU_STREAM_MEM_OP_WAIT_VALUE_32 || what == CU_STREAM_MEM_OP_WAIT_VALUE_64;
        writes += what == CU_STREAM_MEM_OP_WRITE_VALUE_32 || what == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    }
    if (waits) cji_text_printf(j->out, "wait for %u location%s", waits, waits == 1 ? "" : "s");
    if (writes) cji_text_printf(j->out, "%swrite %u location%s", waits ? "\\n" : "", writes, writes == 1 ? "" : "s");
    if (!waits && !writes) cji_text_puts(j->out, "memory operations");
}

/* With its size; of a free where the device's table knows it. */
static void dot_memory(const dot_job *j, CUgraphNode raw, bool alloc)
{
    CUDA_MEM_ALLOC_NODE_PARAMS p;
    CUdeviceptr at = 0;
    memset(&p, 0, sizeof p);
    cji_text_puts(j->out, alloc ? "allocate" : "free");
    if (alloc && j->dev->api.cuGraphMemAllocNodeGetParams(raw, &p) != CUDA_SUCCESS) p.bytesize = 0;
    if (!alloc && j->dev->api.cuGraphMemFreeNodeGetParams(raw, &at) == CUDA_SUCCESS)
        p.bytesize = cji_mem_bytes(j->dev, at);
    if (!p.bytesize) return;
    cji_text_puts(j->out, "\\n");
    dot_bytes(j->out, p.bytesize);
}

static const char *dot_colour(CUgraphNodeType type)
{
    switch (type) {
#define N(cu, kind, counter, colour, label) case CU_GRAPH_NODE_TYPE_##cu: return colour;
#include "stream/graph/node_kinds.def"
    default: return "#eeeeee";
    }
}

static const char *dot_name(CUgraphNodeType type)
{
    switch (type) {
#define N(cu, kind, counter, colour, label) case CU_GRAPH_NODE_TYPE_##cu: return label;
#include "stream/graph/node_kinds.def"
    default: return NULL;
    }
}

/* Where the driver tells more than the kind. */
static void dot_label(const dot_job *j, CUgraphNode raw, CUgraphNodeType type)
{
    switch (cji_node_kind(type)) {
    case CJ_NODE_KERNEL: dot_kernel(j, raw); break;
    case CJ_NODE_COPY: dot_copy(j, raw); break;
    case CJ_NODE_FILL: dot_fill(j, raw); break;
    case CJ_NODE_HOST_FUNC: dot_host(j, raw); break;
    case CJ_NODE_MEM_OPS: dot_mem_ops(j, raw); break;
    case CJ_NODE_MEM_ALLOC: dot_memory(j, raw, true); break;
    case CJ_NODE_MEM_FREE: dot_memory(j, raw, false); break;
    case CJ_NODE_OTHER: cji_text_printf(j->out, "node of kind %d", (int)type); break;
    default: cji_text_puts(j->out, dot_name(type)); break;
    }
}

/* -- Graphs -------------------------------------------------------------------------------------------------------- */

/* The place of a graph in the picture: the names of its nodes begin so. */
typedef struct dot_place {
    char prefix[200];
    unsigned depth;
} dot_place;

static cj_status dot_nodes(const dot_job *j, const cj_graph *g, CUgraph raw, const dot_place *at);

/* One child or body in its frame. */
static cj_status dot_frame(const dot_job *j, const cj_graph *g, CUgraph raw, const dot_place *at, size_t node,
                           size_t part, const char *title)
{
    dot_place in = { .depth = at->depth + 1 };
    snprintf(in.prefix, sizeof in.prefix, "%.160s%zu_%zu_", at->prefix, node, part);
    cji_text_printf(j->out, "%*ssubgraph \"cluster_%s\" {\n%*slabel=\"%s\";\n", (int)in.depth * 2, "", in.prefix,
                    (int)in.depth * 2 + 2, "", title);
    cj_status st = dot_nodes(j, g, raw, &in);
    cji_text_printf(j->out, "%*s}\n", (int)in.depth * 2, "");
    cji_text_printf(j->out, "%*s%s%zu -> %send [lhead=\"cluster_%s\", style=dashed, arrowhead=none];\n",
                    (int)in.depth * 2, "", at->prefix, node, in.prefix, in.prefix);
    return st;
}

/* What a conditional node does, as its own label. */
static void dot_conditional(const dot_job *j, const cj_graph *g, CUgraphNode raw)
{
    size_t first = 0, n = cji_bodies_of(g, raw, &first);
    static const char *const words[] = { "if", "while", "switch" };
    cji_text_puts(j->out, n && g->body_of[first]->condition < 3 ? words[g->body_of[first]->condition] : "condition");
}

static cj_status dot_inside(const dot_job *j, const cj_graph *g, CUgraphNode raw, CUgraphNodeType type,
                            const dot_place *at, size_t node)
{
    size_t first = 0, n = 0;
    cj_status st = CJ_OK;
    if (at->depth == DOT_DEPTH) return CJ_OK;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
        CUgraph child = NULL;
        CUresult r = j->dev->api.cuGraphChildGraphNodeGetGraph(raw, &child);
        if (r != CUDA_SUCCESS) return cji_rejected(j->into, j->dev, r, j->call, "cuGraphChildGraphNodeGetGraph");
        return dot_frame(j, NULL, child, at, node, 0, "child");
    }
    if (type != CU_GRAPH_NODE_TYPE_CONDITIONAL || !g) return CJ_OK;
    n = cji_bodies_of(g, raw, &first);
    for (size_t i = 0; st == CJ_OK && i < n; i++) {
        char title[32];
        unsigned kind = g->body_of[first + i]->condition;
        if (kind == CU_GRAPH_COND_TYPE_SWITCH) snprintf(title, sizeof title, "case %zu", i);
        else snprintf(title, sizeof title, "%s", kind == CU_GRAPH_COND_TYPE_WHILE ? "again" : i ? "else" : "then");
        st = dot_frame(j, g->body[first + i], g->body[first + i]->raw, at, node, i, title);
    }
    return st;
}

static cj_status dot_nodes(const dot_job *j, const cj_graph *g, CUgraph raw, const dot_place *at)
{
    cji_shape sh;
    int indent = (int)at->depth * 2 + 2;
    cj_status st = cji_shape_read(&sh, j->dev, raw, j->into, j->call);
    if (st != CJ_OK) return st;
    if (at->depth)
        cji_text_printf(j->out, "%*s%send [shape=point, style=invis, width=0, label=\"\"];\n", indent, "", at->prefix);
    for (size_t i = 0; i < sh.nodes; i++) {
        cji_text_printf(j->out, "%*s%s%zu [label=\"", indent, "", at->prefix, i);
        if (sh.type[i] == CU_GRAPH_NODE_TYPE_CONDITIONAL && g) dot_conditional(j, g, sh.node[i]);
        else dot_label(j, sh.node[i], sh.type[i]);
        cji_text_printf(j->out, "\", fillcolor=\"%s\"];\n", dot_colour(sh.type[i]));
    }
    for (size_t i = 0; i < sh.edges; i++)
        cji_text_printf(j->out, "%*s%s%u -> %s%u;\n", indent, "", at->prefix, sh.from[i], at->prefix, sh.to[i]);
    for (size_t i = 0; i < sh.nodes && st == CJ_OK; i++) st = dot_inside(j, g, sh.node[i], sh.type[i], at, i);
    cji_shape_free(&sh);
    return st;
}

/* With the lock held, context current. */
static cj_status dot_write(cj_graph *g, const char *call)
{
    const dot_job j = { &g->dot, g->dev, cji_graph_root(g)->refset, g, call };
    const dot_place top = { .prefix = "n" };
    g->dot.n = 0;
    g->dot.failed = false;
    cji_text_puts(
        &g->dot,
        "digraph cujit {\n"
        "  graph [fontname=\"Helvetica\", fontsize=11, compound=true, nodesep=0.3, ranksep=0.35, style=rounded, "
        "color=\"#888888\"];\n"
        "  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=\"rounded,filled\", color=\"#555555\", "
        "height=0.4];\n"
        "  edge [color=\"#555555\", arrowsize=0.7];\n");
    cj_status st = dot_nodes(&j, g, g->raw, &top);
    cji_text_puts(&g->dot, "}\n");
    if (st == CJ_OK && g->dot.failed) st = cji_fail(g, CJ_ENOMEM, call, "no memory for the text");
    return st;
}

const char *cj_graph_dot(cj_graph *g)
{
    static const char call[] = "cj_graph_dot";
    cji_scope scope;
    const char *text = "";
    if (cji_check(g, CJI_TAG_GRAPH, call) != CJ_OK || cji_graph_enter(g, g, call) != CJ_OK) return text;
    if (cji_scope_begin_relaxed(g, g->dev, &scope, call) == CJ_OK) {
        if (dot_write(g, call) == CJ_OK) text = cji_text_str(&g->dot);
        cji_scope_leave(&scope);
    }
    cji_graph_leave(g);
    return text;
}
