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
typedef struct cj_graph_exec cj_graph_exec;
typedef struct cj_graph_exec_cache cj_graph_exec_cache;

/* Some nodes of one graph: CJ_NODES(a, b).  Where nodes come after others, NULL and no nodes mean: after none. */
typedef struct cj_nodes {
    cj_node *const *node;
    size_t count;
} cj_nodes;

/* ---- Capture ----------------------------------------------------------------------------------------------------- */

/* Which unsafe calls of the driver (allocating, synchronising, asking) break the capture while it is open.  Those that cujit makes break none in any mode, from any
 * thread; cj_device_sync alone would, and is refused. */
typedef enum cj_capture_mode {
    CJ_CAPTURE_GLOBAL = 0, /* those of any thread */
    CJ_CAPTURE_THREAD = 1, /* those of this thread */
    CJ_CAPTURE_RELAXED = 2 /* none; the capture may end on another thread */
} cj_capture_mode;

typedef struct cj_capture_opts {
    size_t size;           /* sizeof(cj_capture_opts) */
    int32_t mode;          /* a cj_capture_mode */
    int32_t join;          /* 1: the end joins the streams that are still forked; 0: it fails with CJ_ESTATE then */
    cj_graph *into;        /* NULL: a new graph.  Else the nodes go to this one or to a body (CUDA 12.3), of which nothing else may be asked meanwhile */
    const cj_nodes *after; /* behind these nodes of `into` */
} cj_capture_opts;

/* Fills `opts` with its size and the defaults: CJ_CAPTURE_GLOBAL, no join, a new graph. */
CJ_API void cj_capture_defaults(cj_capture_opts *opts);

/* Begins a capture.  Errors: CJ_EINVAL for a mode that is none, a graph of another device, nodes of another graph; CJ_ESTATE where the stream is being captured already, or is
 * the legacy default stream, or where `into` is being captured into; CJ_ENOTSUP for `into` before CUDA 12.3, CJ_ENOMEM and CJ_EDRIVER, which leave
 * `into` with a hole. */
CJ_API cj_status cj_capture_begin(cj_stream *s, cj_capture_mode mode);
CJ_API cj_status cj_capture_begin_opts(cj_stream *s, const cj_capture_opts *opts); /* NULL: the defaults */

/* Ends it, on the stream that began it, and on the same thread unless the mode is CJ_CAPTURE_RELAXED; the stream works normally again.
 * Never NULL; owned by the caller, free with cj_graph_free.  A capture into a graph gives that graph again, to be freed once more (a body is not).
 * Errors (the graph is a failed object, and the stream keeps the failure): CJ_ESTATE where `s` did not begin a capture, where a fork was not joined, where
 * something forbidden broke the capture; the first failure of a call given to a captured stream. */
CJ_API cj_graph *cj_capture_end(cj_stream *s);

/* The same, and the graph remembers where the stream stood: cj_capture_resume goes on from there.  Meanwhile the stream works normally, and nodes may be added. */
CJ_API cj_graph *cj_capture_pause(cj_stream *s);

/* Goes on with a capture that was paused, in its mode, on any stream of its device; cj_capture_end or _pause then gives `g` again, to be freed once more.
 * cuStreamBeginCaptureToGraph, CUDA 12.3.  Errors, in `s`: CJ_ESTATE for a graph that is not paused, or as cj_capture_begin; CJ_ENOTSUP. */
CJ_API cj_status cj_capture_resume(cj_stream *s, cj_graph *g);

/* Whether what is given to `s` now becomes part of a graph. */
CJ_API bool cj_stream_is_capturing(const cj_stream *s);

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

/* ---- Ready to launch --------------------------------------------------------------------------------------------- */

typedef struct cj_graph_exec_opts {
    size_t size;             /* sizeof(cj_graph_exec_opts) */
    int32_t node_priorities; /* 1: nodes keep the priority of the stream that they were captured from (CUDA 11.7) */
    int32_t auto_free;       /* 1: memory that the graph itself allocates and does not free goes at its next launch, in the order of that launch's stream */
} cj_graph_exec_opts;

/* Fills `opts` with its size and the defaults. */
CJ_API void cj_graph_exec_defaults(cj_graph_exec_opts *opts);

/* Makes a launchable snapshot; `opts` NULL for the defaults.  Never NULL; owned by the caller, free with cj_graph_exec_free.
 * Errors: the failure of a node that could not be added; CJ_EINVAL for a body, and for nodes that come after each other in a circle; CJ_ESTATE while the graph is being
 * captured into, and for a second exec of a graph with memory or conditional nodes; CJ_EDRIVER. */
CJ_API cj_graph_exec *cj_graph_instantiate(cj_graph *g, const cj_graph_exec_opts *opts);

/* Gives the whole graph to `s`: after its earlier work, before its later work.  Two launches of one exec never overlap, whatever their
 * streams.  Returns at once.  A failure is left in both.  Errors: CJ_EINVAL for a stream of another device; CJ_ESTATE while `s` is being captured (cj_graph_child puts a graph
 * into another), and where memory of the graph is still there; CJ_EDRIVER. */
CJ_API cj_status cj_graph_launch(cj_stream *s, cj_graph_exec *x);

/* Brings what a launch needs to the device, in the stream's order, so that the first launch is as quick as the others.  Returns at once.  CUDA 11.1. */
CJ_API cj_status cj_graph_upload(cj_stream *s, cj_graph_exec *x);

/* Makes the exec a snapshot of `g`, for launches given from now on: quicker than a new one.  Its nodes are known by the nodes of the graph that it was instantiated from, as before.
 * Errors, in `x`: CJ_ESTATE while fills are left out of it; CJ_ENOTSUP where the shape of `g` differs in more than an update can change (the message says in what; the exec is as it was); those of
 * cj_graph_instantiate.  cuGraphExecUpdate. */
CJ_API cj_status cj_graph_exec_update(cj_graph_exec *x, cj_graph *g);

/* Changes the arguments of one kernel, and its dimensions (NULL: as they are), for launches given from now on; `n` is a node of the graph that the exec was instantiated from.
 * Memory in the arguments is kept alive too.  cj_graph_exec_set_args(x, n, ...) is the handy form.
 * Errors, in `x`: CJ_EINVAL as cj_launch, and for another graph's node or one that is no kernel; CJ_ENOTFOUND for a kernel that is not of cujit; CJ_ENOTSUP before CUDA 12.0. */
CJ_API cj_status cj_graph_exec_set_kernel_n(cj_graph_exec *x, cj_node *n, const cj_dims *dims, const cj_arg *args, size_t count);

/* Leaves a kernel, copy or fill out of launches given from now on (0), or does it again (1).  What comes after it still waits for what came before it.
 * Errors, in `x`: CJ_EINVAL for another graph's node and other kinds; CJ_ESTATE while the graph is being captured into; CJ_ENOTSUP for a fill of an exec that
 * cj_graph_exec_update has changed.  CUDA 11.6. */
CJ_API cj_status cj_graph_exec_enable(cj_graph_exec *x, cj_node *n, int enabled);

CJ_API void *cj_graph_exec_raw(const cj_graph_exec *x); /* its CUgraphExec, borrowed until cj_graph_exec_free; NULL for a failed exec */

/* Releases it; returns at once, launches under way go on.  NULL is fine. */
CJ_API void cj_graph_exec_free(cj_graph_exec *x);

/* ---- Execs found again ------------------------------------------------------------------------------------------------
 *
 *     if (cj_graph_exec_cache_launch(c, &key, sizeof key, s) == CJ_ENOTFOUND) {
 *         cj_graph *g = capture(s, &key);
 *         cj_graph_exec_cache_put(c, &key, sizeof key, g, s);      // and launches it
 *         cj_graph_free(g);
 *     }
 *
 * A key says all that makes a graph what it is: sizes, addresses, options.  The same key launches the exec that is there; a new key whose graph has the shape of one that
 * was launched on this stream updates that one, which then answers to the new key; else an exec is built.  The least recently launched go first. */

typedef struct cj_graph_exec_cache_opts {
    size_t size;              /* sizeof(cj_graph_exec_cache_opts) */
    uint32_t execs;           /* most execs; 0: 64 */
    uint32_t execs_per_shape; /* most execs of one shape and stream, beyond which the oldest of them is updated; 0: 1 */
    uint64_t nodes;           /* most nodes of all of them together, with those of children; a larger graph is launched and not kept; 0: 65536 */
    const cj_graph_exec_opts *exec; /* how they are instantiated; NULL for the defaults; copied */
} cj_graph_exec_cache_opts;

/* Fills `opts` with its size and the defaults. */
CJ_API void cj_graph_exec_cache_defaults(cj_graph_exec_cache_opts *opts);

/* Never NULL; owned by the caller, free with cj_graph_exec_cache_free. */
CJ_API cj_graph_exec_cache *cj_graph_exec_cache_create(cj_device *dev, const cj_graph_exec_cache_opts *opts);

/* Launches the exec of that key on `s`.  `key` is `bytes` > 0 bytes, compared as they are.  CJ_ENOTFOUND where there is none, which is an answer and not recorded. */
CJ_API cj_status cj_graph_exec_cache_launch(cj_graph_exec_cache *c, const void *key, size_t bytes, cj_stream *s);

/* The same; where there is none, updates or builds one from `g` for the key first.  A failure is left in `c` and `s`. */
CJ_API cj_status cj_graph_exec_cache_put(cj_graph_exec_cache *c, const void *key, size_t bytes, cj_graph *g, cj_stream *s);

typedef struct cj_graph_exec_cache_info {
    size_t size;                               /* sizeof(cj_graph_exec_cache_info), set by the caller */
    uint64_t launches;                         /* of execs that were there */
    uint64_t updates, builds, evictions;       /* evictions: execs let go for a bound */
    uint64_t execs, nodes;                     /* held now */
} cj_graph_exec_cache_info;

/* Fills *info, up to the size that it states.  Errors: CJ_EINVAL for NULL or a size that is none. */
CJ_API cj_status cj_graph_exec_cache_get_info(cj_graph_exec_cache *c, cj_graph_exec_cache_info *info);

CJ_API void cj_graph_exec_cache_free(cj_graph_exec_cache *c); /* NULL is fine; launches under way go on */

#ifdef __cplusplus
}
#endif

/* ---- Literals, and the handy forms ------------------------------------------------------------------------------- */

#ifndef __cplusplus
#define CJ_CAPTURE(...) (&(const cj_capture_opts){ .size = sizeof(cj_capture_opts), __VA_ARGS__ })
#define CJ_GRAPH_EXEC(...) (&(const cj_graph_exec_opts){ .size = sizeof(cj_graph_exec_opts), __VA_ARGS__ })
#define CJ_GRAPH_EXEC_CACHE(...) (&(const cj_graph_exec_cache_opts){ .size = sizeof(cj_graph_exec_cache_opts), __VA_ARGS__ })
#define CJ_NODES(...) (&(const cj_nodes){ (cj_node *const[]){ __VA_ARGS__ }, sizeof((cj_node *const[]){ __VA_ARGS__ }) / sizeof(cj_node *) })
#elif __cplusplus >= 202002L
#define CJ_CAPTURE(...) cji::keep(cj_capture_opts{ .size = sizeof(cj_capture_opts), __VA_ARGS__ })
#define CJ_GRAPH_EXEC(...) cji::keep(cj_graph_exec_opts{ .size = sizeof(cj_graph_exec_opts), __VA_ARGS__ })
#define CJ_GRAPH_EXEC_CACHE(...) cji::keep(cj_graph_exec_cache_opts{ .size = sizeof(cj_graph_exec_cache_opts), __VA_ARGS__ })
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
template<class... T> inline cj_status cj_graph_exec_set_args(cj_graph_exec *x, cj_node *n, T... args)
{
    const cj_arg list[sizeof...(args) + 1] = { cji_arg(args)... };
    return cj_graph_exec_set_kernel_n(x, n, nullptr, list, sizeof...(args));
}

#elif __STDC_VERSION__ >= 201112L

/* cj_graph_kernel(g, after, k, dims, ...) and cj_graph_exec_set_args(x, n, ...): up to 32 arguments, checked and converted as those of cj_launch. */
#define cj_graph_kernel(g, after, k, ...) CJI_LAUNCH_PASTE(CJI_KERNEL_WITH_, CJI_LAUNCH_ANY(__VA_ARGS__))(g, after, k, __VA_ARGS__)
#define CJI_KERNEL_WITH_0(g, after, k, dims) cj_graph_kernel_n(g, after, k, (const cj_dims[]){ dims }, NULL, 0)
#define CJI_KERNEL_WITH_1(g, after, k, dims, ...) \
    cj_graph_kernel_n(g, after, k, (const cj_dims[]){ dims }, (const cj_arg[]){ CJI_LAUNCH_ARGS(__VA_ARGS__) }, CJI_LAUNCH_COUNT(__VA_ARGS__))
#define cj_graph_exec_set_args(x, n, ...) \
    cj_graph_exec_set_kernel_n(x, n, NULL, (const cj_arg[]){ CJI_LAUNCH_ARGS(__VA_ARGS__) }, CJI_LAUNCH_COUNT(__VA_ARGS__))

#endif

#endif
