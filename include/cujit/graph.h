/* cujit/graph.h - work captured or put together once, and launched many times.
 *
 *     cj_capture_begin(s, mode) ... work given to s ... cj_capture_end(s) -> cj_graph -> cj_graph_exec -> cj_graph_launch(s, x)
 *     cj_graph_create(dev), cj_graph_kernel(g, after, k, dims, ...) ...   -> cj_graph -> cj_graph_exec -> cj_graph_launch(s, x)
 *
 * Between begin and end nothing runs: what is given to the stream, and to streams drawn in by cj_stream_fork or by waiting on an event recorded
 * in the capture, becomes the graph's nodes.  Both ways mix: a capture can add to a graph, and nodes can be added to what was captured.
 * A cj_graph_exec is a snapshot of its graph, ready to launch; the graph may be changed or freed before it.
 *
 *     cj_graph
 *      +- cj_node ......... one operation; belongs to its graph
 *      |   +- cj_graph .... what a conditional node runs: its bodies; belong to it
 *     cj_graph_exec ............. a snapshot that can be launched
 *     cj_graph_exec_cache ....... execs found again by key, updated where the shape is the same
 *
 * Lifetime.  Graph and exec keep alive what their nodes use: kernels, events, and device memory that the capture could see or a node names
 * (cj_stream_use names the rest); cj_free, cj_kernel_free and cj_event_free on these take effect when the last of them is gone and its
 * launches are done.  Host memory is the caller's.
 *
 * A call that fails inside a capture leaves a graph that would lack a node, so cj_capture_end then fails with that call's error.  A node that cannot be
 * added is a failed object and leaves its graph with the same hole: cj_graph_instantiate then fails with the first such error.
 * Captures that others begin on a raw handle take what the stream is given, but nothing is kept alive for them; asking such a stream, or waiting for it, breaks
 * them, as the driver does.
 *
 * Threads and errors as in stream.h.
 */
#ifndef CUJIT_GRAPH_H
#define CUJIT_GRAPH_H

#include <cujit/copy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_graph cj_graph;
typedef struct cj_node cj_node;

/* Some nodes of one graph: CJ_NODES(a, b).  Where nodes come after others, NULL and no nodes mean: after none. */
typedef struct cj_nodes {
    cj_node *const *node;
    size_t count;
} cj_nodes;

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

/* An empty graph for work of one device.  Never NULL; owned by the caller, free with cj_graph_free. */
CJ_API cj_graph *cj_graph_create(cj_device *dev);

/* A copy of its own, which keeps alive what `g` does; cj_node_in_clone finds a node of `g` in it, NULL and CJ_ENOTFOUND in `clone` where it is none.
 * Never NULL; owned by the caller, free with cj_graph_free.  Errors: CJ_ENOTSUP for a graph with conditional or memory nodes; CJ_EINVAL for a body; CJ_EDRIVER. */
CJ_API cj_graph *cj_graph_clone(cj_graph *g);
CJ_API cj_node *cj_node_in_clone(cj_graph *clone, cj_node *n);

/* Calls release(user) once, when the graph, its clones and every exec of it are gone and their launches are done: for what host functions and copies use.
 * Called by whichever call of cujit finds that out; it may call neither CUDA nor cujit.  Errors: CJ_EINVAL for NULL; CJ_ENOMEM (it is not called then). */
CJ_API cj_status cj_graph_on_release(cj_graph *g, void (*release)(void *user), void *user);

/* How many nodes the graph has; 0 for a failed graph. */
CJ_API size_t cj_graph_count(cj_graph *g);

/* cj_graph_nodes: all nodes, in the order of their making.  cj_graph_leaves: those that no node comes after.  Borrowed until the graph is next changed, asked
 * this, or freed; NULL for a failed graph. */
CJ_API const cj_nodes *cj_graph_nodes(cj_graph *g);
CJ_API const cj_nodes *cj_graph_leaves(cj_graph *g);

/* What a graph consists of.  Children and bodies count as one node each, except in `all`. */
typedef struct cj_graph_info {
    size_t size;  /* sizeof(cj_graph_info), set by the caller */
    size_t nodes, edges;
    size_t roots, leaves; /* nodes that come after none, nodes that none comes after */
    size_t depth; /* nodes of the longest chain */
    size_t all;   /* nodes, with those of children and bodies */
    size_t kernels, copies, fills, host_funcs, empty, event_records, event_waits, children, conditionals, others;
    size_t mem_ops; /* stream memory operations */
    size_t mem_allocs, mem_frees;
} cj_graph_info;

/* Fills *info, up to the size that it states.  Errors: CJ_EINVAL for NULL or a size that is none; CJ_ENOMEM. */
CJ_API cj_status cj_graph_get_info(cj_graph *g, cj_graph_info *info);

/* The graph as text for Graphviz (`dot -Tsvg`): operations with their sizes, children and bodies as boxes.  Belongs to `g` until asked again; "" and the failure
 * in `g` on error. */
CJ_API const char *cj_graph_dot(cj_graph *g);

CJ_API void *cj_graph_raw(const cj_graph *g); /* its CUgraph, borrowed until cj_graph_free; NULL for a failed graph */
CJ_API void cj_graph_free(cj_graph *g);       /* NULL is fine; a body stays its node's */

/* ---- Nodes: each is added to `g` and comes after the nodes `after` --------------------------------------------------
 * A node belongs to its graph and is never NULL: one that could not be added is a failed object, which later nodes fail with (without memory, or where `g` is no graph,
 * one of the thread's own, good until the next such failure).
 * Errors, in node and graph: CJ_EINVAL for a node of another graph in `after`; CJ_ESTATE while the graph is being captured into; and as the call of
 * stream.h or launch.h does that does the same. */

/* A launch of `k`; as cj_launch_n.  cj_graph_kernel(g, after, k, dims, ...) is the handy form.  CUDA 12.0. */
CJ_API cj_node *cj_graph_kernel_n(cj_graph *g, const cj_nodes *after, cj_kernel *k, const cj_dims *dims, const cj_arg *args, size_t count);

/* A copy of `bytes` > 0.  Host memory of any kind is read and written at each launch; it is the caller's, and must be there until the last launch is done. */
CJ_API cj_node *cj_graph_copy_to_device(cj_graph *g, const cj_nodes *after, cj_dptr dst, const void *src, size_t bytes);
CJ_API cj_node *cj_graph_copy_to_host(cj_graph *g, const cj_nodes *after, void *dst, cj_dptr src, size_t bytes);
CJ_API cj_node *cj_graph_copy(cj_graph *g, const cj_nodes *after, cj_dptr dst, cj_dptr src, size_t bytes);

/* Rows and boxes as cj_copy_3d copies them, and between devices as cj_copy_peer; at least one byte.  An end may be memory of another device than the
 * graph's: it is kept alive there, and the graph's device is let reach it, as by cj_device_enable_peer (CJ_ENOTSUP where it cannot). */
CJ_API cj_node *cj_graph_copy_3d(cj_graph *g, const cj_nodes *after, const cj_copy_3d_params *box);
CJ_API cj_node *cj_graph_copy_peer(cj_graph *g, const cj_nodes *after, cj_device *dst_device, cj_dptr dst, cj_device *src_device, cj_dptr src, size_t bytes);

/* Fills `count` > 0 elements of 1, 2 or 4 bytes. */
CJ_API cj_node *cj_graph_fill8(cj_graph *g, const cj_nodes *after, cj_dptr d, uint8_t value, size_t count);
CJ_API cj_node *cj_graph_fill16(cj_graph *g, const cj_nodes *after, cj_dptr d, uint16_t value, size_t count);
CJ_API cj_node *cj_graph_fill32(cj_graph *g, const cj_nodes *after, cj_dptr d, uint32_t value, size_t count);

/* Runs at each launch; as cj_host_func. */
CJ_API cj_node *cj_graph_host_func(cj_graph *g, const cj_nodes *after, void (*fn)(void *user), void *user);

/* Each launch records the event, and each launch waits for what the event recorded last, in a stream or a graph, when it was launched (CUDA 11.1). */
CJ_API cj_node *cj_graph_event_record(cj_graph *g, const cj_nodes *after, cj_event *e);
CJ_API cj_node *cj_graph_event_wait(cj_graph *g, const cj_nodes *after, cj_event *e);

/* Waits for words and writes of words, 1 to CJ_MEM_OPS_MAX of them, in their order; as cj_stream_mem_ops.  Those that are captured become nodes of this kind too.
 * Not in bodies of conditions.  CUDA 11.7. */
CJ_API cj_node *cj_graph_mem_ops(cj_graph *g, const cj_nodes *after, const cj_mem_op *ops, size_t count);

/* Another graph as one node: copied as it is now.  Errors: CJ_ENOTSUP for one with conditional or memory nodes. */
CJ_API cj_node *cj_graph_child(cj_graph *g, const cj_nodes *after, cj_graph *child);

/* Nothing: a place where others meet. */
CJ_API cj_node *cj_graph_empty(cj_graph *g, const cj_nodes *after);

/* Makes `n` come after more nodes of its graph.  Those it follows already stay once.  A circle is refused when the graph is instantiated. */
CJ_API cj_status cj_node_depend(cj_node *n, const cj_nodes *after);

typedef enum cj_node_kind {
    CJ_NODE_OTHER = 0, /* nodes that others made */
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

CJ_API cj_node_kind cj_node_kind_of(const cj_node *n); /* CJ_NODE_OTHER for a failed node */
CJ_API cj_graph *cj_node_graph(const cj_node *n);      /* borrowed; NULL for a failed node */
CJ_API void *cj_node_raw(const cj_node *n);            /* its CUgraphNode, borrowed; NULL for a failed node */

/* ---- Memory of a graph: there while it runs, or from one launch to the next ---------------------------------------------
 *
 *     cj_dptr d;
 *     cj_node *a = cj_graph_mem_alloc(g, NULL, 4096, &d);
 *     cj_node *f = cj_graph_fill8(g, CJ_NODES(a), d, 0, 4096);
 *     cj_graph_mem_free(g, CJ_NODES(f), d);
 *
 * The address is fixed when the node is made and the same in every launch; graphs whose memory is there at different times share what lies behind it.  Ranges are checked as those of
 * cj_alloc.  Nodes between the two may use it.  Memory that the graph does not free lives on after its launch: for work given to streams behind it, for other graphs, until
 *   cj_free gives it back, at once, in the order of the stream that the exec was launched on last and behind the streams that it was used on;
 *   a graph with a free node for it is launched; or, where the exec has auto_free, it is launched again.
 * A launch while it is still there is CJ_ESTATE; so is cj_free of what no launch has allocated, or of what its graph frees itself.
 *
 * The address belongs to the graph and its execs: cj_graph_mem_alloc's memory is gone with the last of them and of what else keeps it, also where nobody freed it.  A graph with such nodes has one
 * exec at a time, a next one when that was freed and its launches are done (CJ_ESTATE); it cannot be cloned or become a child (CJ_ENOTSUP).  cj_device_collect
 * gives idle memory of graphs back to the device. */

/* Allocates `bytes` > 0 at each launch; *d is their address, { 0 } for a failed node.  cuGraphAddMemAllocNode, CUDA 11.4.
 * Errors: CJ_EINVAL; CJ_ENOTSUP in a body, and on drivers without it; CJ_ENOMEM. */
CJ_API cj_node *cj_graph_mem_alloc(cj_graph *g, const cj_nodes *after, size_t bytes, cj_dptr *d);

/* Frees memory that cj_graph_mem_alloc gave, of `g` or of another graph of the device, whose launch must come before.  One node frees it: of its own graph, added before that is
 * instantiated, or of others, then never of its own.  cuGraphAddMemFreeNode, CUDA 11.4.
 * Errors: CJ_EINVAL for memory that is none of a graph's, that a node frees already, or for which it is too late; CJ_ENOTSUP as above. */
CJ_API cj_node *cj_graph_mem_free(cj_graph *g, const cj_nodes *after, cj_dptr d);

/* ---- Conditions: parts of a graph that run or not, as a kernel decides (CUDA 12.3; two bodies and switch 12.8) -------
 *
 *     uint64_t more = cj_graph_condition(g, 1);
 *     cj_graph *body;
 *     cj_node *loop = cj_graph_while(g, after, &body, more);
 *     cj_graph_kernel(body, NULL, step, dims, d, more);   // its code: cj_set_condition(f, handle, value)
 *
 * A body is filled as any graph is, by nodes or by a capture into it; the driver allows kernels, copies and fills on the device, empty nodes, children of such
 * and conditional nodes in it.  It belongs to its node: cj_graph_free leaves it alone. */

/* A condition: a number that kernels set and that one conditional node of `g` looks at.  Each launch begins with the value `at_launch`.  Kernels of every graph that lies
 * in the same outermost one, bodies too, may set it.
 * Returns its handle; or 0 and leaves the failure in `g`, whose instantiation fails with it: CJ_ENOTSUP, CJ_EDRIVER. */
CJ_API uint64_t cj_graph_condition(cj_graph *g, uint32_t at_launch);

/* if: runs *then where the condition is not 0, else *otherwise (NULL: there is none).  while: runs *body again and again as long as it is not 0, which is looked at
 * before each turn.  switch: runs bodies[i] where it is i, nothing where it is `count` or more; `bodies` has room for `count`.
 * A body of a failed node is NULL. */
CJ_API cj_node *cj_graph_if(cj_graph *g, const cj_nodes *after, cj_graph **then, cj_graph **otherwise, uint64_t condition);
CJ_API cj_node *cj_graph_while(cj_graph *g, const cj_nodes *after, cj_graph **body, uint64_t condition);
CJ_API cj_node *cj_graph_switch(cj_graph *g, const cj_nodes *after, cj_graph **bodies, size_t count, uint64_t condition);

/* In a kernel that is being built: sets the condition whose handle is in the 64-bit register `handle` to the 32-bit `value`.  By one thread of a launch.
 * Declares cudaGraphSetConditional, which the driver provides. */
CJ_API void cj_set_condition(cj_fn *f, cj_val handle, cj_val value);

#ifdef __cplusplus
}
#endif

/* ---- Literals, and the handy forms ------------------------------------------------------------------------------- */

#ifndef __cplusplus
#define CJ_NODES(...) (&(const cj_nodes){ (cj_node *const[]){ __VA_ARGS__ }, sizeof((cj_node *const[]){ __VA_ARGS__ }) / sizeof(cj_node *) })
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

template<class... T> inline cj_node *cj_graph_kernel(cj_graph *g, const cj_nodes *after, cj_kernel *k, const cj_dims &dims, T... args)
{
    const cj_arg list[sizeof...(args) + 1] = { cji_arg(args)... };
    return cj_graph_kernel_n(g, after, k, &dims, list, sizeof...(args));
}

#elif __STDC_VERSION__ >= 201112L

/* cj_graph_kernel(g, after, k, dims, ...): up to 32 arguments, checked and converted as those of cj_launch. */
#define cj_graph_kernel(g, after, k, ...) CJI_LAUNCH_PASTE(CJI_KERNEL_WITH_, CJI_LAUNCH_ANY(__VA_ARGS__))(g, after, k, __VA_ARGS__)
#define CJI_KERNEL_WITH_0(g, after, k, dims) cj_graph_kernel_n(g, after, k, (const cj_dims[]){ dims }, NULL, 0)
#define CJI_KERNEL_WITH_1(g, after, k, dims, ...) \
    cj_graph_kernel_n(g, after, k, (const cj_dims[]){ dims }, (const cj_arg[]){ CJI_LAUNCH_ARGS(__VA_ARGS__) }, CJI_LAUNCH_COUNT(__VA_ARGS__))

#endif

#endif
