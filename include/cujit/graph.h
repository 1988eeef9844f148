/* cujit/graph.h - graphs: work that is built or captured once and launched many times.
 *
 *     cj_graph ............. nodes and dependencies; from cj_graph_create or cj_capture_end
 *      +- cj_node .......... one operation; belongs to its graph
 *      |   +- cj_graph ..... a body of a conditional node; belongs to the node
 *     cj_graph_exec ........ an executable snapshot of a graph (graph_exec.h)
 *
 *     cj_graph *g = cj_graph_create(dev);
 *     cj_node *a = cj_graph_kernel(g, NULL, k, dims, d);
 *     cj_node *b = cj_graph_copy_to_host(g, CJ_NODES(a), h, d, bytes);
 *     cj_graph_exec *x = cj_graph_instantiate(g, NULL);
 *     cj_graph_launch(s, x);
 *
 * Building and capturing mix: a capture can add to a graph, and nodes can be added to a captured
 * graph.  A graph may be changed or freed after it was instantiated: the exec is a snapshot.
 *
 * Lifetime.  A graph keeps alive its kernels and events, the memory of its copies, fills and memory
 * operations, and the memory that cj_dptr arguments of its kernels point to.  cj_free and the free
 * calls of kernels and events take effect when the last graph and exec that use the object are gone
 * and their launches have completed.
 *
 * A graph does not see addresses that are stored in memory, or passed in cj_arg_bytes or as
 * integers.  In a capture cj_stream_use adds such memory to the graph.  For nodes that are added by
 * calls, free such memory only after the graph and its execs.  Host memory is the caller's: it must
 * stay valid until the last launch has completed.
 *
 * Threads.  Any thread.  Calls on one graph wait for each other.
 *
 * Errors.  A node that cannot be added is a failed object.  Its graph is then *incomplete*, also
 * while a capture adds to it: cj_graph_instantiate fails with the first such error.  One check
 * there is enough.  The same holds for dependencies, conditions and lists of nodes.
 */
#ifndef CUJIT_GRAPH_H
#define CUJIT_GRAPH_H

#include <cujit/copy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_graph cj_graph;
typedef struct cj_node cj_node;

/* Nodes of one graph: CJ_NODES(a, b).  As dependencies, NULL and an empty list mean none. */
typedef struct cj_nodes {
    cj_node *const *node;
    size_t count;
} cj_nodes;

/* ---- Graphs ---------------------------------------------------------------------------------- */

/* Creates an empty graph for work of one device.  Returns at once.
 * Never NULL.  Owned by the caller, free with cj_graph_free.
 * Errors, in the failed object that is returned:
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 *   the error of `dev`, if `dev` is a failed object
 * cuGraphCreate. */
CJ_API cj_graph *cj_graph_create(cj_device *dev);

/* Copies a graph.  The copy keeps alive what `g` keeps alive.  Returns at once.
 * Never NULL.  Owned by the caller, free with cj_graph_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `g` is a body
 *   CJ_ESTATE: a capture adds to `g`
 *   CJ_ENOTSUP: `g` has conditions or memory nodes
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 *   the error that made `g` incomplete
 * cuGraphClone. */
CJ_API cj_graph *cj_graph_clone(cj_graph *g);

/* Returns the copy of `n`, a node of the original graph.  Belongs to `clone`.  Returns at once.
 * Returns NULL on failure.  Errors, left in `clone`:
 *   CJ_ENOTFOUND: `clone` is not a copy of the node's graph, or `n` was added later
 *   CJ_EDRIVER: the driver rejects the call
 * cuGraphNodeFindInClone. */
CJ_API cj_node *cj_node_in_clone(cj_graph *clone, cj_node *n);

/* Registers release(user), which is called once, when the graph, its copies and all execs are gone
 * and their launches have completed: for data that host functions and copies use.  A graph may have
 * several.  A later call of cujit on the device calls `release`, on the thread of that call.  If no
 * such call follows, `release` is never called.  It must call neither CUDA nor cujit.
 * Returns at once.
 * Errors, left in `g`:
 *   CJ_EINVAL: `release` is NULL
 *   CJ_ENOMEM: host memory is exhausted; `release` is then never called */
CJ_API cj_status cj_graph_on_release(cj_graph *g, void (*release)(void *user), void *user);

/* The number of nodes.  0 for a failed graph, and while a capture adds to it (CJ_ESTATE, left in
 * `g`).  Returns at once. */
CJ_API size_t cj_graph_count(cj_graph *g);

/* nodes: all nodes, in the order in which they were added.
 * leaves: the nodes on which no node depends.
 * Each function has a list of its own.  Returns at once.
 * Borrowed until the graph is changed or freed, or any thread calls the same function for it again.
 * Returns NULL for a failed graph, and while a capture adds to the graph; on another failure the
 * list is empty.  A failure makes the graph incomplete.  Errors, left in `g`:
 *   CJ_ESTATE: a capture adds to `g`
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuGraphGetNodes, cuGraphGetEdges. */
CJ_API const cj_nodes *cj_graph_nodes(cj_graph *g);
CJ_API const cj_nodes *cj_graph_leaves(cj_graph *g);

/* What a graph consists of.  A child or a conditional node counts as one node, except in `all`. */
typedef struct cj_graph_info {
    size_t size;            /* sizeof(cj_graph_info) */
    size_t nodes, edges;    /* nodes; dependencies */
    size_t roots, leaves;   /* nodes without dependencies; nodes on which no node depends */
    size_t depth;           /* nodes of the longest chain */
    size_t all;             /* nodes with those of children and bodies */
    size_t kernels, copies, fills, host_funcs, empty, event_records, event_waits, children,
        conditionals, others;
    size_t mem_ops;         /* nodes of stream memory operations */
    size_t mem_allocs, mem_frees;
} cj_graph_info;

/* Sets info->size; everything else is 0.  `info`: May be NULL. */
CJ_API void cj_graph_info_defaults(cj_graph_info *info);

/* Fills *info up to info->size bytes.  Returns at once.
 * Errors, left in `g`:
 *   CJ_EINVAL: `info` is NULL, or its size is not set
 *   CJ_ESTATE: a capture adds to `g`
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_graph_get_info(cj_graph *g, cj_graph_info *info);

/* The graph as Graphviz text (`dot -Tsvg`): operations with their sizes, children and bodies as
 * clusters.  Borrowed until the next cj_graph_dot of the graph, or cj_graph_free.  Returns at once.
 * Returns "" on failure and leaves the error in `g`. */
CJ_API const char *cj_graph_dot(cj_graph *g);

/* The CUgraph.  Borrowed until cj_graph_free.  NULL for a failed graph. */
CJ_API void *cj_graph_raw(const cj_graph *g);

/* Frees the graph.  Returns at once.  Does nothing for a body.  May be NULL. */
CJ_API void cj_graph_free(cj_graph *g);

/* ---- Nodes ------------------------------------------------------------------------------------ *
 *
 * Each call adds a node to `g` that depends on the nodes `after`.  `after`: May be NULL.
 * Never NULL.  Belongs to `g`.  Returns at once.  If host memory is exhausted or `g` is not a
 * graph, the failed node belongs to the thread: Borrowed until the thread's next such failure.
 * Errors, left in the failed node that is returned and in `g`: those of the stream call of the same
 * name (cj_launch_n for kernels), and
 *   CJ_EINVAL: a node of `after` belongs to another graph, or there are 0 bytes or elements
 *   CJ_ESTATE: a capture adds to `g`
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 *   the error of a node of `after` that is a failed object */

/* Adds a launch of `k`.  Arguments as cj_launch_n; `args`: Copied.
 * cj_graph_kernel(g, after, k, dims, ...) at the end of this header is the short form.
 * cuGraphAddKernelNode, CUDA 12.0. */
CJ_API cj_node *cj_graph_kernel_n(cj_graph *g, const cj_nodes *after, cj_kernel *k,
                                  const cj_dims *dims, const cj_arg *args, size_t count);

/* Adds a copy of `bytes` > 0.  Host memory of any kind is read and written at each launch.
 * cuGraphAddMemcpyNode. */
CJ_API cj_node *cj_graph_copy_to_device(cj_graph *g, const cj_nodes *after, cj_dptr dst,
                                        const void *src, size_t bytes);
CJ_API cj_node *cj_graph_copy_to_host(cj_graph *g, const cj_nodes *after, void *dst, cj_dptr src,
                                      size_t bytes);
CJ_API cj_node *cj_graph_copy(cj_graph *g, const cj_nodes *after, cj_dptr dst, cj_dptr src,
                              size_t bytes);

/* Adds a 3D copy, or a copy between devices, of at least one byte.  An end may be memory of another
 * device: it is kept alive there, and the graph's device gets access to it, as by
 * cj_device_enable_peer.
 * Errors:
 *   CJ_ENOTSUP: the graph's device cannot access the other device */
CJ_API cj_node *cj_graph_copy_3d(cj_graph *g, const cj_nodes *after, const cj_copy_3d_params *params);
CJ_API cj_node *cj_graph_copy_peer(cj_graph *g, const cj_nodes *after, cj_device *dst_device,
                                   cj_dptr dst, cj_device *src_device, cj_dptr src, size_t bytes);

/* Adds a fill of `count` > 0 elements of 1, 2, 4 or 8 bytes.
 *
 * A fill of 8 bytes whose halves differ is two nodes.  The second one depends on the first, and is
 * returned.  cj_node_depend and cj_graph_exec_enable then change the second one only: pass all
 * dependencies in `after`.
 * cuGraphAddMemsetNode. */
CJ_API cj_node *cj_graph_fill8(cj_graph *g, const cj_nodes *after, cj_dptr d, uint8_t value,
                               size_t count);
CJ_API cj_node *cj_graph_fill16(cj_graph *g, const cj_nodes *after, cj_dptr d, uint16_t value,
                                size_t count);
CJ_API cj_node *cj_graph_fill32(cj_graph *g, const cj_nodes *after, cj_dptr d, uint32_t value,
                                size_t count);
CJ_API cj_node *cj_graph_fill64(cj_graph *g, const cj_nodes *after, cj_dptr d, uint64_t value,
                                size_t count);

/* Adds a fill of `height` > 0 rows of `width` > 0 elements.  As cj_fill_2d.
 * cuGraphAddMemsetNode. */
CJ_API cj_node *cj_graph_fill_2d(cj_graph *g, const cj_nodes *after, cj_dptr d, size_t pitch,
                                 size_t element_bytes, uint32_t value, size_t width,
                                 size_t height);

/* Adds a call of fn(user) at each launch.  As cj_host_func.  cuGraphAddHostNode. */
CJ_API cj_node *cj_graph_host_func(cj_graph *g, const cj_nodes *after, void (*fn)(void *user),
                                   void *user);

/* record: each launch records the event.
 * wait: each launch waits for the point that the event recorded last, in a stream or a graph,
 * before that launch.
 * cuGraphAddEventRecordNode, cuGraphAddEventWaitNode, CUDA 11.1. */
CJ_API cj_node *cj_graph_event_record(cj_graph *g, const cj_nodes *after, cj_event *e);
CJ_API cj_node *cj_graph_event_wait(cj_graph *g, const cj_nodes *after, cj_event *e);

/* Adds one node with `count` stream memory operations, which run in the order of `ops`.  `count` is
 * between 1 and CJ_MEM_OPS_MAX.  As cj_stream_mem_ops; `ops`: Copied.  Captured stream memory
 * operations become such nodes too.  Bodies cannot hold them.
 * cuGraphAddBatchMemOpNode, CUDA 11.7. */
CJ_API cj_node *cj_graph_mem_ops(cj_graph *g, const cj_nodes *after, const cj_mem_op *ops,
                                 size_t count);

/* Adds a copy of the graph `child`, as it is now, as one node.
 * Errors:
 *   CJ_EINVAL: the graphs belong to different devices
 *   CJ_ENOTSUP: `child` has conditions or memory nodes
 * cuGraphAddChildGraphNode. */
CJ_API cj_node *cj_graph_child(cj_graph *g, const cj_nodes *after, cj_graph *child);

/* Adds a node without an operation: a point where dependencies meet.  cuGraphAddEmptyNode. */
CJ_API cj_node *cj_graph_empty(cj_graph *g, const cj_nodes *after);

/* Adds dependencies to `n`.  Existing edges are ignored.  Cycles are reported by
 * cj_graph_instantiate.  A failure makes the graph incomplete.
 * Returns at once.
 * Errors, left in `n`:
 *   CJ_EINVAL: a node of `after` belongs to another graph, or is `n` itself
 *   CJ_ESTATE: a capture adds to the graph
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuGraphAddDependencies. */
CJ_API cj_status cj_node_depend(cj_node *n, const cj_nodes *after);

/* What a node does. */
typedef enum cj_node_kind {
    CJ_NODE_OTHER = 0, /* a kind that cujit cannot add (external semaphores), or a failed node */
    CJ_NODE_KERNEL,
    CJ_NODE_COPY,
    CJ_NODE_FILL,
    CJ_NODE_HOST_FUNC,
    CJ_NODE_CHILD,
    CJ_NODE_EMPTY,
    CJ_NODE_EVENT_WAIT,
    CJ_NODE_EVENT_RECORD,
    CJ_NODE_CONDITIONAL,
    CJ_NODE_MEM_OPS,
    CJ_NODE_MEM_ALLOC,
    CJ_NODE_MEM_FREE
} cj_node_kind;

/* The node's kind; CJ_NODE_OTHER for a failed node. */
CJ_API cj_node_kind cj_node_kind_of(const cj_node *n);

/* The node's graph.  Borrowed until the graph is freed.  NULL for a failed node. */
CJ_API cj_graph *cj_node_graph(const cj_node *n);

/* The CUgraphNode.  Borrowed until the graph is freed.  NULL for a failed node. */
CJ_API void *cj_node_raw(const cj_node *n);

/* ---- Memory of a graph ------------------------------------------------------------------------ *
 *
 *     cj_dptr d;
 *     cj_node *a = cj_graph_mem_alloc(g, NULL, 4096, &d);
 *     cj_node *f = cj_graph_fill8(g, CJ_NODES(a), d, 0, 4096);
 *     cj_graph_mem_free(g, CJ_NODES(f), d);
 *
 * Each launch allocates the memory.  A cj_graph_mem_free node of the graph frees it again.  The
 * address is fixed when the node is added and is the same in every launch.  Graphs whose memory is
 * not in use at the same time share physical memory.  Ranges are checked as those of cj_alloc.
 *
 * Memory that the graph does not free stays allocated after the launch, for other graphs and for
 * work that is enqueued later.  It is freed by the first of:
 *   cj_free                  in the order of the last launch's stream, after all other uses
 *   another graph's free     a launch of a graph with a cj_graph_mem_free node for it
 *   auto_free                the next launch of the exec, if it has that option
 *
 * Without auto_free a launch fails with CJ_ESTATE while the memory is still allocated.  cj_free
 * fails with CJ_ESTATE if no launch has allocated the memory, or if the graph frees it itself.
 *
 * The address stays valid until the graph, its execs, and all graphs that use the memory are gone.
 * Then the memory is released too.  cj_device_collect returns idle memory of graphs to the driver.
 *
 * A graph with memory nodes has one exec at a time: a second one fails with CJ_ESTATE until the
 * first was freed and its launches have completed.  It cannot be copied or become a child
 * (CJ_ENOTSUP). */

/* Adds an allocation of `bytes` > 0 and writes its address to *d; { 0 } for a failed node.
 * Errors:
 *   CJ_EINVAL: `bytes` is 0, or `d` is NULL
 *   CJ_ENOTSUP: `g` is a body, or the driver has no memory nodes
 * cuGraphAddMemAllocNode, CUDA 11.4. */
CJ_API cj_node *cj_graph_mem_alloc(cj_graph *g, const cj_nodes *after, size_t bytes, cj_dptr *d);

/* Adds a node that frees `d`, memory of cj_graph_mem_alloc.  Only one node may free an allocation.
 *   a node of the allocating graph   each launch frees what it allocated; add the node before the
 *                                    graph is instantiated
 *   a node of another graph          each launch of that graph frees what the last launch of the
 *                                    allocating graph left; launch that one first
 * `after` must put the node after the allocation, if `g` has it, and after all uses in `g`.
 * Errors:
 *   CJ_EINVAL: `d` is not the start of memory of a graph, a node frees it already, or its graph `g`
 *     was instantiated before
 *   CJ_ENOTSUP: `g` is a body, or the driver has no memory nodes
 * cuGraphAddMemFreeNode, CUDA 11.4. */
CJ_API cj_node *cj_graph_mem_free(cj_graph *g, const cj_nodes *after, cj_dptr d);

/* ---- Conditional nodes: a kernel decides what runs (CUDA 12.3; two bodies and switch 12.8) ---- *
 *
 *     uint64_t more = cj_graph_condition(g, 1);
 *     cj_graph *body;
 *     cj_node *loop = cj_graph_while(g, after, &body, more);
 *     cj_graph_kernel(body, NULL, step, dims, d, more);   its code: cj_set_condition(f, handle, v)
 *
 * A body is filled as any other graph, by nodes or by a capture into it.  It may hold kernels,
 * copies and fills of device memory and page-locked host memory, empty nodes, conditional nodes,
 * and children without conditional nodes.  A node of another kind makes cj_graph_instantiate fail
 * with CJ_EINVAL.  A body belongs to its node: cj_graph_free of a body does nothing.
 *
 * A graph with conditions or memory nodes has one exec at a time: a second one fails with CJ_ESTATE
 * until the first was freed and its launches have completed.  It cannot be copied or become a child
 * (CJ_ENOTSUP). */

/* Creates a condition: a number that kernels set and one conditional node of `g` tests.  `g` may be
 * a body.  Kernels of the graph, its children and all bodies may set it.
 *
 * Each cj_graph_launch first sets it to `initial`, also a condition of a body.  An iteration of an
 * outer loop does not.  A condition that no node tests makes cj_graph_instantiate fail with
 * CJ_EINVAL.  Returns at once.
 * Returns its handle; 0 on failure.  A failure makes `g` incomplete.
 * Errors, left in `g`:
 *   CJ_ESTATE: a capture adds to `g`
 *   CJ_ENOTSUP: the driver has no conditional nodes
 *   CJ_EDRIVER: the driver rejects the call
 * cuGraphConditionalHandleCreate, CUDA 12.3. */
CJ_API uint64_t cj_graph_condition(cj_graph *g, uint32_t initial);

/* if: runs *then if the condition is not 0, else *otherwise.  `otherwise`: May be NULL.
 * while: runs *body repeatedly while the condition is not 0, tested before each iteration.
 * switch: runs bodies[i] if the condition is i, nothing if it is `count` or more; `bodies` is an
 * array of `count` elements, 1 to 65536, which the call fills.
 * Each body: Belongs to the node.  The bodies of a failed node are NULL.
 * Errors:
 *   CJ_EINVAL: `condition` is not a condition of `g` or has a node already; no room for bodies
 *   CJ_ENOTSUP: the driver has no such node
 * cuGraphAddNode, CUDA 12.3. */
CJ_API cj_node *cj_graph_if(cj_graph *g, const cj_nodes *after, cj_graph **then,
                            cj_graph **otherwise, uint64_t condition);
CJ_API cj_node *cj_graph_while(cj_graph *g, const cj_nodes *after, cj_graph **body,
                               uint64_t condition);
CJ_API cj_node *cj_graph_switch(cj_graph *g, const cj_nodes *after, cj_graph **bodies, size_t count,
                                uint64_t condition);

/* In a kernel that is being built: emits a call that sets the condition whose handle is in the
 * 64-bit register `handle` to the 32-bit register `value`.  Each thread that reaches the call sets
 * the condition.  Emit it under a branch that one thread of the launch takes.
 * Declares cudaGraphSetConditional, a function that the driver provides.  Errors are the
 * builder's. */
CJ_API void cj_set_condition(cj_fn *f, cj_val handle, cj_val value);

#ifdef __cplusplus
}
#endif

/* ---- Literals and short forms: CJ_NODES(a, b), cj_graph_kernel; C11 and C++ ------------------ */

#ifndef __cplusplus
#define CJ_NODES(...) (&(const cj_nodes){ (cj_node *const[]){ __VA_ARGS__ }, \
    sizeof((cj_node *const[]){ __VA_ARGS__ }) / sizeof(cj_node *) })
#endif

#if defined __cplusplus

namespace cji {
/* Lives until the end of the call that it is an argument of. */
template<size_t N> struct node_list {
    cj_node *node[N];
    cj_nodes list;
    operator const cj_nodes *() { list.node = node; list.count = N; return &list; }
};
template<class... T> inline node_list<sizeof...(T)> nodes(T... n) { return { { n... }, { nullptr, 0 } }; }
}
#define CJ_NODES(...) (cji::nodes(__VA_ARGS__))

template<class... T>
inline cj_node *cj_graph_kernel(cj_graph *g, const cj_nodes *after, cj_kernel *k, const cj_dims &dims, T... args)
{
    const cj_arg list[sizeof...(args) + 1] = { cji_arg(args)... };
    return cj_graph_kernel_n(g, after, k, &dims, list, sizeof...(args));
}

#elif __STDC_VERSION__ >= 201112L

/* cj_graph_kernel(g, after, k, dims, ...): up to 32 arguments, checked and converted as by
 * cj_launch. */
#define cj_graph_kernel(g, after, k, ...) \
    CJI_CAT(CJI_KERNEL_WITH_, CJI_ANY(__VA_ARGS__))(g, after, k, __VA_ARGS__)
#define CJI_KERNEL_WITH_0(g, after, k, dims) cj_graph_kernel_n(g, after, k, (const cj_dims[]){ dims }, NULL, 0)
#define CJI_KERNEL_WITH_1(g, after, k, dims, ...) \
    cj_graph_kernel_n(g, after, k, (const cj_dims[]){ dims }, CJI_ARGS(__VA_ARGS__))

#endif

#endif
