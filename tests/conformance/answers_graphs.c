/* Graphs (see answers.h): nodes of every kind with edges drawn, changed, cloned, instantiated, updated from a graph
 * that was built again with a difference, launched, and their words read.
 *
 * A recipe beside the graph says what each node is, so that a second graph of the same shape can be built from it.  A
 * node writes a word of its own and reads that of a node before it (`from`, kept as an edge as long as both live), so
 * the words do not depend on the order of what has none. */
#include "answers_graphs.h"

#include <sched.h>

enum { NODES = AN_NODES, OBJECTS = 3 };

an_graphs an_gr = { .site = { .tools = &an_gr.tools } };
static an_tools *const tools = &an_gr.tools;
static an_site *const site = &an_gr.site;
static an_recipe *const plan = an_gr.plan;
static CUgraphNode *const node = an_gr.node;
static CUgraph graph, twin;
static CUstream stream;
static CUuserObject object[OBJECTS];
static unsigned references[OBJECTS];
static int destroyed[OBJECTS];
static bool has_memory, disturbed /* edges have been changed: their order is not the recipe's */;

unsigned an_gr_node(void)
{
    for (unsigned tries = 0; an_gr.count && tries < 20; tries++) {
        unsigned i = an_below(an_gr.count);
        if (!plan[i].gone) return i;
    }
    return NODES;
}

static unsigned index_of(CUgraphNode it)
{
    for (unsigned i = 0; i < an_gr.count; i++)
        if (!plan[i].gone && node[i] == it) return i;
    return 99;
}

/* ---- Adding ------------------------------------------------------------------------------------------------------ */

static void op_add(void)
{
    static const an_kind kinds[] = { AN_STEP, AN_STEP,  AN_STEP,  AN_LEAP,  AN_FILL,  AN_FILL,
                                     AN_COPY, AN_COPY,  AN_HOST,  AN_EMPTY, AN_EMPTY, AN_RECORD,
                                     AN_WAIT, AN_CHILD, AN_BATCH, AN_IF,    AN_ALLOC, AN_FREE };
    CUgraphNode deps[5], made = NULL;
    size_t n = 0;
    if (an_gr.count == NODES) return;
    an_recipe *r = &plan[an_gr.count];
    *r = (an_recipe){ .kind = AN_PICK(kinds), .n = 1 + an_below(900), .from = AN_SPARE };
    if ((r->kind == AN_IF && !cu.cuGraphConditionalHandleCreate) ||
        (r->kind == AN_BATCH && !cu.cuGraphAddBatchMemOpNode))
        return;
    if (r->kind == AN_FREE) {
        unsigned a = an_gr_node();
        if (a == NODES || plan[a].kind != AN_ALLOC) return;
        r->given = plan[a].given;
        deps[n++] = node[a];
        r->after |= 1u << a;
    }
    for (unsigned want = an_below(4); n < want;) {
        unsigned d = an_gr_node();
        if (d == NODES || r->after >> d & 1) break;
        r->after |= 1u << d;
        if (r->from == AN_SPARE && plan[d].kind <= AN_COPY && !(plan[d].kind == AN_COPY && plan[d].n % 4 == 0))
            r->from = d;
        deps[n++] = node[d];
    }
    n = 0;   /* in the order of their making: an update compares that too */
    for (unsigned d = 0; d < an_gr.count; d++)
        if (r->after >> d & 1) deps[n++] = node[d];
    r->note = an_note(an_gr.count % AN_LISTS, r->n);
    an_line("node %u, %s %u of %u, after %x", an_gr.count, an_kind_names[r->kind], r->n, r->from, r->after);
    if (an_status(an_add_node(site, graph, r, an_gr.count, deps, n, &made))) return;
    has_memory |= r->kind == AN_ALLOC || r->kind == AN_FREE;
    node[an_gr.count++] = made;
}

static void op_add_wrong(void)
{
    const an_stranger *x = an_other_context();
    CUgraphNode made = NULL, deps[2] = { NULL, NULL };
    CUDA_KERNEL_NODE_PARAMS_v2 k;
    CUDA_MEMSET_NODE_PARAMS fill;
    CUDA_MEMCPY3D copy;
    CUDA_HOST_NODE_PARAMS host = { NULL, NULL };
    unsigned d = an_gr_node(), which = an_below(19);
    if (an_gr.count == NODES) return;
    plan[an_gr.count] = (an_recipe){ .kind = AN_STEP, .n = 1, .from = AN_SPARE, .gone = true };
    k = an_kernel_params(site, &plan[an_gr.count], an_gr.count);
    fill = an_fill_params(site, &plan[an_gr.count], an_gr.count);
    copy = an_copy_params(site, &plan[an_gr.count], an_gr.count);
    plan[an_gr.count].gone = false;
    if (d < NODES) deps[0] = deps[1] = node[d];
    an_line("wrong node %u: ", which);
    switch (which) {
    /* the same node twice, or none */
    case 0: an_status((int)cu.cuGraphAddKernelNode(&made, graph, deps, d < NODES ? 2 : 1, &k)); break;
    case 1: an_status((int)cu.cuGraphAddKernelNode(&made, NULL, NULL, 0, &k)); break;
    case 2: an_status((int)cu.cuGraphAddKernelNode(&made, graph, NULL, 0, NULL)); break;
    case 3: an_status((int)cu.cuGraphAddEmptyNode(NULL, graph, NULL, 0)); break;
    case 4: an_status((int)cu.cuGraphAddEmptyNode(&made, graph, NULL, 1)); break;
    case 5: k.gridDimX = 0; an_status((int)cu.cuGraphAddKernelNode(&made, graph, NULL, 0, &k)); break;
    case 6: k.blockDimX = 2000; an_status((int)cu.cuGraphAddKernelNode(&made, graph, NULL, 0, &k)); break;
    case 7: k.sharedMemBytes = 1 << 20; an_status((int)cu.cuGraphAddKernelNode(&made, graph, NULL, 0, &k)); break;
    case 8: fill.elementSize = 3; an_status((int)cu.cuGraphAddMemsetNode(&made, graph, NULL, 0, &fill, abi_ctx)); break;
    case 9: fill.width = 0; an_status((int)cu.cuGraphAddMemsetNode(&made, graph, NULL, 0, &fill, abi_ctx)); break;
    case 10: fill.height = 0; an_status((int)cu.cuGraphAddMemsetNode(&made, graph, NULL, 0, &fill, abi_ctx)); break;
    case 11: fill.dst = 0; an_status((int)cu.cuGraphAddMemsetNode(&made, graph, NULL, 0, &fill, abi_ctx)); break;
    case 12: fill.dst += 1; an_status((int)cu.cuGraphAddMemsetNode(&made, graph, NULL, 0, &fill, abi_ctx)); break;
    case 13:
        copy.WidthInBytes = 0;
        an_status((int)cu.cuGraphAddMemcpyNode(&made, graph, NULL, 0, &copy, abi_ctx));
        break;
    case 14:
        copy.srcMemoryType = (CUmemorytype)7;
        an_status((int)cu.cuGraphAddMemcpyNode(&made, graph, NULL, 0, &copy, abi_ctx));
        break;
    case 15: an_status((int)cu.cuGraphAddHostNode(&made, graph, NULL, 0, &host)); break;
    case 16: an_status((int)cu.cuGraphAddEventRecordNode(&made, graph, NULL, 0, NULL)); break;
    case 17: an_status((int)cu.cuGraphAddChildGraphNode(&made, graph, NULL, 0, NULL)); break;
    default: an_status((int)cu.cuGraphAddMemFreeNode(&made, graph, NULL, 0, x->p)); break;
    }
    if (made) {   /* it was taken: it is no part of the recipe */
        an_more(" taken");
        an_more(" %d", (int)cu.cuGraphDestroyNode(made));
    }
}

/* ---- Edges ------------------------------------------------------------------------------------------------------- */

static void op_edge(void)
{
    unsigned a = an_gr_node(), b = an_gr_node();
    CUgraphEdgeData data;
    memset(&data, 0, sizeof data);
    if (a == NODES) return;
    if (a > b && !an_chance(8)) {
        unsigned c = a;
        a = b;
        b = c;
    }
    if (an_chance(10) && cu.cuGraphAddDependencies_v2) {
        data.from_port = (unsigned char)an_below(4);
        /* no programmatic edges: a GPU has them */
        data.type = (unsigned char)(data.from_port == 3 ? an_below(3) : 2 * an_below(2));
        if (data.from_port == 2) data.type = 2;
        if (!AN(cuGraphAddDependencies_v2(graph, &node[a], &node[b], &data, 1), "edge %u to %u, port %u, type %u", a, b,
                data.from_port, data.type))
            disturbed = true;
        return;
    }
    if (!AN(cuGraphAddDependencies(graph, &node[a], &node[b], 1), "edge %u to %u", a, b)) disturbed = true;
}

static void op_remove_edge(void)
{
    unsigned a = an_gr_node(), b = an_gr_node();
    if (a == NODES || plan[b].from == a) return;
    if (!AN(cuGraphRemoveDependencies(graph, &node[a], &node[b], 1), "no edge %u to %u", a, b)) disturbed = true;
}

static void op_wrong_edges(void)
{
    unsigned a = an_gr_node(), b = an_gr_node();
    CUgraphNode none = NULL, foreign = NULL;
    size_t n = 1;
    if (a == NODES) return;
    cu.cuGraphGetNodes(site->small, &foreign, &n);
    switch (an_below(8)) {
    case 0: AN(cuGraphAddDependencies(NULL, &node[a], &node[b], 1), "edge in no graph"); break;
    case 1: AN(cuGraphAddDependencies(graph, NULL, &node[b], 1), "edge from nothing"); break;
    case 2: AN(cuGraphAddDependencies(graph, &none, &node[b], 1), "edge from no node"); break;
    case 3: AN(cuGraphAddDependencies(graph, &foreign, &node[b], 1), "edge from another graph's node"); break;
    case 4: AN(cuGraphAddDependencies(graph, &node[a], &node[a], 1), "edge to itself"); break;
    case 5: AN(cuGraphRemoveDependencies(graph, &node[a], &node[a], 1), "no edge to itself"); break;
    case 6: AN(cuGraphAddDependencies(graph, NULL, NULL, 0), "no edges"); break;
    default: AN(cuGraphRemoveDependencies(graph, &none, &node[b], 1), "no edge from no node");
    }
}

static void tell_neighbours(const CUgraphNode *list, size_t n)
{
    uint32_t set = 0;
    for (size_t i = 0; i < n && i < NODES; i++) set |= 1u << index_of(list[i]) % 32;
    an_more(" %zu: %x", n, set);
}

static void op_neighbours(void)
{
    CUgraphNode list[NODES];
    size_t n = NODES;
    unsigned a = an_gr_node();
    if (a == NODES) return;
    switch (an_below(5)) {
    case 0:
        if (!AN(cuGraphNodeGetDependencies(node[a], list, &n), "what %u comes after", a)) tell_neighbours(list, n);
        break;
    case 1:
        if (!AN(cuGraphNodeGetDependentNodes(node[a], list, &n), "what comes after %u", a)) tell_neighbours(list, n);
        break;
    case 2:
        n = 77;
        AN(cuGraphNodeGetDependencies(node[a], NULL, &n), "how many %u comes after", a);
        an_more(" %zu", n);
        break;
    case 3: AN(cuGraphNodeGetDependencies(NULL, NULL, &n), "how many nothing comes after"); break;
    default: {
        CUgraphNode two[6] = { NULL };
        size_t live = 0, filled = 0;
        for (unsigned i = 0; i < an_gr.count; i++) live += !plan[i].gone;
        n = 6;
        if (AN(cuGraphGetNodes(graph, two, &n), "nodes, as far as six")) break;
        for (int i = 0; i < 6; i++) filled += two[i] != NULL;
        an_more(" %zu %zu of %zu", n, filled, live);
    }
    }
}

static void op_destroy_node(void)
{
    unsigned a = an_gr_node();
    if (an_chance(10)) {
        AN(cuGraphDestroyNode(NULL), "no node is destroyed");
        return;
    }
    if (a == NODES || AN(cuGraphDestroyNode(node[a]), "node %u is destroyed", a)) return;
    plan[a].gone = true;
    disturbed = true;
    an_gr.in_exec &= ~(1u << a);
    for (unsigned i = 0; i < an_gr.count; i++) {
        plan[i].after &= ~(1u << a);
        /* for what is built again; the node itself still reads that word */
        if (plan[i].from == a) plan[i].from = AN_SPARE;
    }
}

/* ---- Executables ------------------------------------------------------------------------------------------------- */

static void run_exec(void)
{
    if (AN(cuGraphLaunch(an_gr.exec, stream), "launched")) return;
    AN(cuStreamSynchronize(stream), "done");
    an_tell_words(tools);
    an_tell_notes(true);
}

static void op_instantiate(void)
{
    static const unsigned flags[] = { 0, 0, 0, 1, 2, 8, 9, 16, 0x80 };
    unsigned f = AN_PICK(flags);
    CUgraphExec x = NULL;
    cuuint64_t told = 99;
    int st;
    if (an_gr.exec) {
        AN(cuGraphExecDestroy(an_gr.exec), "the executable is destroyed");
        an_gr.exec = NULL;
    }
    if (cu.cuGraphInstantiateWithParams && an_chance(40)) {
        CUDA_GRAPH_INSTANTIATE_PARAMS p = { .flags = f, .hUploadStream = f & 2 ? stream : NULL };
        st = AN(cuGraphInstantiateWithParams(&x, graph, &p), "instantiated %x, and told", f);
        an_more(" %d", (int)p.result_out);
        if (st && p.hErrNode_out) an_more(" a node");
    } else {
        st = AN(cuGraphInstantiateWithFlags(&x, graph, f), "instantiated %x", f);
    }
    if (st) return;
    an_gr.exec = x;
    an_gr.in_exec = 0;
    for (unsigned i = 0; i < an_gr.count; i++) an_gr.in_exec |= plan[i].gone ? 0 : 1u << i;
    if (cu.cuGraphExecGetFlags) {
        AN(cuGraphExecGetFlags(an_gr.exec, &told), "its flags");
        an_more(" %llx", (unsigned long long)told);
    }
    if (an_chance(50)) run_exec();
}

static void op_launch(void)
{
    if (!an_gr.exec) return;
    if (an_chance(10)) AN(cuGraphUpload(an_gr.exec, stream), "uploaded");
    run_exec();
}

/* The recipe's graph again, with `change` of node `at`. */
static void op_update(void)
{
    CUgraph again = NULL;
    CUgraphNode made[NODES], deps[NODES];
    unsigned at = an_gr_node(), change = an_below(10), total = an_gr.count;
    an_recipe saved;
    CUgraphExecUpdateResultInfo info;
    memset(&info, 0, sizeof info);
    if (!an_gr.exec || at == NODES || has_memory || disturbed) return;
    saved = plan[at];
    if (cu.cuGraphCreate(&again, 0)) return;
    switch (change) {
    /* other numbers, same kind */
    case 0:
    case 1:
    case 2:
    case 3:
        if (saved.kind != AN_IF) plan[at].n = saved.kind == AN_COPY ? saved.n + 4 : saved.n + 2;
        break;
    case 4: if (saved.kind <= AN_LEAP) plan[at].kind = saved.kind == AN_STEP ? AN_LEAP : AN_STEP; break;
    case 5:
        if (saved.kind == AN_FILL || saved.kind == AN_EMPTY) plan[at].kind = saved.kind == AN_FILL ? AN_EMPTY : AN_FILL;
        break;
    case 6: plan[at].gone = true; break;
    case 7: plan[at].after = 0; plan[at].from = AN_SPARE; break;
    default: break;
    }
    an_line("again, with change %u of node %u, %s:", change, at, an_kind_names[saved.kind]);
    int st = 0;
    uint32_t there = 0;
    for (unsigned i = 0; i < total && !st; i++) {
        size_t n = 0;
        made[i] = NULL;
        if (plan[i].gone) continue;
        for (unsigned d = 0; d < i; d++)
            if (plan[i].after >> d & 1 && there >> d & 1) deps[n++] = made[d];
        there |= 1u << i;
        st = an_add_node(site, again, &plan[i], i, deps, n, &made[i]);
    }
    for (unsigned i = 0; i < total && !st; i++)
        for (unsigned d = i; d < total && !st; d++)
            if (there >> i & 1 && there >> d & 1 && plan[i].after >> d & 1)
                st = (int)cu.cuGraphAddDependencies(again, &made[d], &made[i], 1);
    if (!an_status(st)) {
        if (cu.cuGraphExecUpdate_v2) {
            AN(cuGraphExecUpdate_v2(an_gr.exec, again, &info), "updated from it");
            unsigned who = 99, from = 99;
            for (unsigned i = 0; i < total; i++) {
                if (there >> i & 1 && made[i] == info.errorNode) who = i;
                if (there >> i & 1 && made[i] == info.errorFromNode) from = i;
            }
            an_more(" %d node %d from %d", (int)info.result, info.errorNode ? (int)who : -1,
                    info.errorFromNode ? (int)from : -1);
        }
        run_exec();
    }
    plan[at] = saved;
    AN(cuGraphDestroy(again), "and it goes");
}

static void op_update_self(void)
{
    CUgraphExecUpdateResultInfo info;
    memset(&info, 0, sizeof info);
    if (!an_gr.exec || !cu.cuGraphExecUpdate_v2) return;
    AN(cuGraphExecUpdate_v2(an_gr.exec, graph, &info), "updated from its own graph");
    unsigned who = info.errorNode ? index_of(info.errorNode) : 0;
    an_more(" %d node %d", (int)info.result, info.errorNode ? (int)who : -1);
}

/* ---- Others ------------------------------------------------------------------------------------------------------ */

static void op_clone(void)
{
    CUgraphNode found = NULL;
    unsigned a = an_gr_node();
    if (!twin) {
        if (AN(cuGraphClone(&twin, graph), "cloned")) twin = NULL;
        else if (a < NODES) {
            AN(cuGraphNodeFindInClone(&found, node[a], twin), "node %u in the clone", a);
            char text[160];
            an_node_text(tools, found, text, sizeof text);
            an_more(" %s", text);
        }
        return;
    }
    an_tell_graph(tools, twin);
    AN(cuGraphDestroy(twin), "the clone is destroyed");
    twin = NULL;
}

static void op_tell(void) { an_tell_graph(tools, graph); }

static void op_wrong_graph(void)
{
    CUgraph g = NULL;
    CUgraphNode found = NULL;
    CUgraphExec x = NULL;
    CUgraphNodeType type = (CUgraphNodeType)99;
    size_t n = 1;
    unsigned a = an_gr_node();
    switch (an_below(11)) {
    case 0: AN(cuGraphCreate(NULL, 0), "a graph into nothing"); break;
    case 1: if (!AN(cuGraphCreate(&g, 1), "a graph with a flag")) cu.cuGraphDestroy(g); break;
    case 2: AN(cuGraphDestroy(NULL), "no graph is destroyed"); break;
    case 3: AN(cuGraphInstantiateWithFlags(&x, NULL, 0), "no graph instantiated"); break;
    case 4: AN(cuGraphInstantiateWithFlags(NULL, graph, 0), "instantiated into nothing"); break;
    case 5: AN(cuGraphLaunch(NULL, stream), "no executable launched"); break;
    case 6: AN(cuGraphExecDestroy(NULL), "no executable destroyed"); break;
    case 7: AN(cuGraphClone(&g, NULL), "no graph cloned"); break;
    case 8: AN(cuGraphNodeGetType(NULL, &type), "type of nothing"); break;
    case 9: AN(cuGraphGetNodes(NULL, NULL, &n), "nodes of nothing"); break;
    default: if (a < NODES) AN(cuGraphNodeFindInClone(&found, node[a], site->small), "a node in no clone of its graph");
    }
}

static void destroy_object(void *user) { __atomic_add_fetch((int *)user, 1, __ATOMIC_SEQ_CST); }

static void op_object(void)
{
    unsigned k = an_below(OBJECTS), n = 1 + an_below(3);
    if (!cu.cuUserObjectCreate) return;
    if (!object[k]) {
        unsigned flags = an_chance(85), refs = an_chance(90) ? n : 0;
        destroyed[k] = 0;
        if (AN(cuUserObjectCreate(&object[k], &destroyed[k], destroy_object, refs, flags),
               "object %u, %u references, flags %u", k, refs, flags))
            object[k] = NULL;
        else references[k] = refs;
        return;
    }
    switch (an_below(5)) {
    case 0: if (!AN(cuUserObjectRetain(object[k], n), "object %u, %u more", k, n)) references[k] += n; break;
    case 1:
        if (references[k] <= 1) break;
        n = 1 + an_below(references[k] - 1);
        if (!AN(cuUserObjectRelease(object[k], n), "object %u, %u less", k, n)) references[k] -= n;
        break;
    case 2: AN(cuGraphRetainUserObject(graph, object[k], n, 0), "object %u, %u for the graph", k, n); break;
    case 3:
        if (references[k] < 2) break;
        if (!AN(cuGraphRetainUserObject(graph, object[k], 1, CU_GRAPH_USER_OBJECT_MOVE),
                "object %u, one moved into the graph", k))
            references[k]--;
        break;
    default:
        AN(cuGraphRetainUserObject(graph, object[k], an_chance(50) ? 0 : 1, 2), "object %u, wrongly for the graph", k);
    }
}

/* ---- A program --------------------------------------------------------------------------------------------------- */

static const an_op ops[] = {
    { "add", op_add, 40 },
    { "add wrong", op_add_wrong, 8 },
    { "edge", op_edge, 12 },
    { "remove edge", op_remove_edge, 6 },
    { "wrong edges", op_wrong_edges, 4 },
    { "neighbours", op_neighbours, 6 },
    { "destroy node", op_destroy_node, 4 },
    { "set params", an_gr_set_params, 10 },
    { "exec params", an_gr_exec_params, 16 },
    { "enabled", an_gr_enabled, 8 },
    { "kernel attribute", an_gr_kernel_attribute, 5 },
    { "instantiate", op_instantiate, 8 },
    { "launch", op_launch, 5 },
    { "update", op_update, 12 },
    { "update self", op_update_self, 4 },
    { "clone", op_clone, 4 },
    { "tell", op_tell, 4 },
    { "wrong graph", op_wrong_graph, 5 },
    { "object", op_object, 6 },
};

void an_program_graphs(void)
{
    an_attach(tools);
    an_gr_attach();
    memset(plan, 0, sizeof an_gr.plan);
    memset(object, 0, sizeof object);
    an_gr.count = 0;
    twin = NULL;
    an_gr.exec = NULL;
    an_gr.in_exec = 0;
    has_memory = disturbed = false;
    an_make_small(site);
    if (cu.cuGraphCreate(&graph, 0) || cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) ||
        cu.cuEventCreate(&site->event[0], 2) || cu.cuEventCreate(&site->event[1], 0))
        tap_bail("no graph");
    for (unsigned i = 0, n = 3 + an_below(6); i < n; i++) op_add();
    for (unsigned i = 0, n = 15 + an_below(40); i < n; i++) an_draw(ops, sizeof ops / sizeof *ops);
    op_tell();
    if (!an_gr.exec) op_instantiate();
    if (an_gr.exec) {
        run_exec();
        AN(cuGraphExecDestroy(an_gr.exec), "the executable is destroyed");
    }
    if (twin) AN(cuGraphDestroy(twin), "the clone is destroyed");
    for (unsigned k = 0; k < OBJECTS; k++)
        if (object[k]) an_line("object %u destroyed %d", k, __atomic_load_n(&destroyed[k], __ATOMIC_SEQ_CST));
    AN(cuGraphDestroy(graph), "the graph is destroyed");
    for (unsigned k = 0; k < OBJECTS; k++)
        if (object[k]) {
            AN(cuUserObjectRelease(object[k], references[k]), "object %u goes", k);
            /* nothing waits for a destructor */
            while (!__atomic_load_n(&destroyed[k], __ATOMIC_SEQ_CST)) sched_yield();
        }
    AN(cuGraphDestroy(site->small), "the small graph is destroyed");
    AN(cuStreamDestroy(stream), "the stream goes");
    AN(cuEventDestroy(site->event[0]), "the first event goes");
    AN(cuEventDestroy(site->event[1]), "the second event goes");
}
