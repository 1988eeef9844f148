/* Graphs as text: each node by what it is, each edge by its ends, in an order that does not depend on the device's. */
#include "answers.h"

enum { NODES = 64, NODE_TEXT = 160, EDGES = 256 };

static void place_text(const an_tools *t, CUdeviceptr p, char *text, size_t size)
{
    CUdeviceptr host = (CUdeviceptr)(uintptr_t)t->host;
    if (p >= t->words && p < t->words + AN_WORDS * 4) snprintf(text, size, "w%u", (unsigned)(p - t->words) / 4);
    else if (p >= host && p < host + AN_WORDS * 4) snprintf(text, size, "h%u", (unsigned)(p - host) / 4);
    else snprintf(text, size, p ? "elsewhere" : "none");
}

static void kernel_text(const an_tools *t, CUgraphNode node, char *text, size_t size)
{
    CUDA_KERNEL_NODE_PARAMS_v2 k;
    const char *name = "?";
    memset(&k, 0, sizeof k);
    int st = (int)cu.cuGraphKernelNodeGetParams(node, &k);
    if (st) {
        snprintf(text, size, "kernel = %d", st);
        return;
    }
    if (k.func && cu.cuFuncGetName) cu.cuFuncGetName(&name, k.func);
    int n = snprintf(text, size, "%s<%u.%u.%u,%u.%u.%u,%u>", name, k.gridDimX, k.gridDimY, k.gridDimZ, k.blockDimX,
                     k.blockDimY, k.blockDimZ, k.sharedMemBytes);
    if (k.kernelParams && (!strcmp(name, "step") || !strcmp(name, "leap"))) {
        char to[16], from[16];
        place_text(t, *(CUdeviceptr *)k.kernelParams[0], to, sizeof to);
        place_text(t, *(CUdeviceptr *)k.kernelParams[1], from, sizeof from);
        snprintf(text + n, size - (size_t)n, "(%s %s %u)", to, from, *(unsigned *)k.kernelParams[2]);
    }
}

static void memcpy_text(const an_tools *t, CUgraphNode node, char *text, size_t size)
{
    CUDA_MEMCPY3D c;
    char from[16], to[16];
    memset(&c, 0, sizeof c);
    int st = (int)cu.cuGraphMemcpyNodeGetParams(node, &c);
    if (st) {
        snprintf(text, size, "memcpy = %d", st);
        return;
    }
    place_text(t, c.srcMemoryType == CU_MEMORYTYPE_HOST ? (CUdeviceptr)(uintptr_t)c.srcHost : c.srcDevice, from,
               sizeof from);
    place_text(t, c.dstMemoryType == CU_MEMORYTYPE_HOST ? (CUdeviceptr)(uintptr_t)c.dstHost : c.dstDevice, to,
               sizeof to);
    snprintf(text, size, "memcpy(%s %s %zu.%zu.%zu)", to, from, c.WidthInBytes, c.Height, c.Depth);
}

static void memset_text(const an_tools *t, CUgraphNode node, char *text, size_t size)
{
    CUDA_MEMSET_NODE_PARAMS f;
    char to[16];
    memset(&f, 0, sizeof f);
    int st = (int)cu.cuGraphMemsetNodeGetParams(node, &f);
    place_text(t, f.dst, to, sizeof to);
    if (st) snprintf(text, size, "memset = %d", st);
    else snprintf(text, size, "memset(%s %x.%u %zu.%zu)", to, f.value, f.elementSize, f.width, f.height);
}

void an_node_text(const an_tools *t, CUgraphNode node, char *text, size_t size)
{
    CUgraphNodeType type = (CUgraphNodeType)99;
    int st;
    if (!cu.cuInit) abi_load();
    if (!node) {
        snprintf(text, size, "none");
        return;
    }
    if ((st = (int)cu.cuGraphNodeGetType(node, &type))) {
        snprintf(text, size, "node = %d", st);
        return;
    }
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: kernel_text(t, node, text, size); break;
    case CU_GRAPH_NODE_TYPE_MEMCPY: memcpy_text(t, node, text, size); break;
    case CU_GRAPH_NODE_TYPE_MEMSET: memset_text(t, node, text, size); break;
    case CU_GRAPH_NODE_TYPE_HOST: {
        CUDA_HOST_NODE_PARAMS h = { 0 };
        st = (int)cu.cuGraphHostNodeGetParams(node, &h);
        snprintf(text, size, "host %d %u", st, an_note_number(h.userData));
        break;
    }
    case CU_GRAPH_NODE_TYPE_GRAPH: {
        CUgraph child = NULL;
        size_t n = 0;
        st = (int)cu.cuGraphChildGraphNodeGetGraph(node, &child);
        if (!st) cu.cuGraphGetNodes(child, NULL, &n);
        snprintf(text, size, "child %d of %zu", st, n);
        break;
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
        CUDA_MEM_ALLOC_NODE_PARAMS a;
        memset(&a, 0, sizeof a);
        st = (int)cu.cuGraphMemAllocNodeGetParams(node, &a);
        snprintf(text, size, "alloc %d %zu", st, a.bytesize);
        break;
    }
    default: snprintf(text, size, "type %d", (int)type);
    }
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

void an_tell_nodes(const an_tools *t, const CUgraphNode *nodes, size_t count)
{
    static char text[NODES][NODE_TEXT];
    if (count > NODES) count = NODES;
    for (size_t i = 0; i < count; i++) an_node_text(t, nodes[i], text[i], NODE_TEXT);
    qsort(text, count, NODE_TEXT, by_text);
    an_more(" [");
    for (size_t i = 0; i < count; i++) an_more("%s%s", i ? ", " : "", text[i]);
    an_more("]");
}

void an_tell_graph(const an_tools *t, CUgraph g)
{
    static CUgraphNode nodes[NODES], from[EDGES], to[EDGES];
    static CUgraphEdgeData data[EDGES];
    static char edge[EDGES][2 * NODE_TEXT + 32];
    size_t n = NODES, e = EDGES;
    if (!cu.cuInit) abi_load();
    an_line("nodes");
    if (an_status((int)cu.cuGraphGetNodes(g, nodes, &n))) return;
    an_more(" %zu", n);
    an_tell_nodes(t, nodes, n);
    n = NODES;
    an_line("roots");
    if (!an_status((int)cu.cuGraphGetRootNodes(g, nodes, &n))) an_tell_nodes(t, nodes, n);
    memset(data, 0, sizeof data);
    an_line("edges");
    if (an_status((int)(cu.cuGraphGetEdges_v2 ? cu.cuGraphGetEdges_v2(g, from, to, data, &e)
                                              : cu.cuGraphGetEdges(g, from, to, &e))))
        return;
    an_more(" %zu", e);
    for (size_t i = 0; i < e && i < EDGES; i++) {
        char a[NODE_TEXT], b[NODE_TEXT];
        an_node_text(t, from[i], a, sizeof a);
        an_node_text(t, to[i], b, sizeof b);
        snprintf(edge[i], sizeof edge[i], "%s -> %s (%u %u %u)", a, b, data[i].from_port, data[i].to_port,
                 data[i].type);
    }
    qsort(edge, e, sizeof *edge, by_text);
    for (size_t i = 0; i < e && i < EDGES; i++) an_line("  %s", edge[i]);
}
