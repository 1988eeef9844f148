/* cujit/graph_exec.h - executable graphs: instantiated, launched, updated, cached.
 *
 *     cj_graph ............... graph.h
 *     cj_graph_exec .......... a snapshot of a graph that can be launched: an exec
 *     cj_graph_exec_cache .... execs found by a key, updated where a graph has the same shape
 *
 * Lifetime.  An exec keeps alive what its graph's nodes use, until its last launch has completed.
 * The graph may be changed or freed before the exec.
 *
 * Threads.  Any thread.  Launches of one exec wait for each other on the device.
 *
 * Errors.  A launch leaves its failure in the exec and in the stream.
 */
#ifndef CUJIT_GRAPH_EXEC_H
#define CUJIT_GRAPH_EXEC_H

#include <cujit/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_graph_exec cj_graph_exec;
typedef struct cj_graph_exec_cache cj_graph_exec_cache;

/* ---- Instantiate and launch ------------------------------------------------------------------ */

typedef struct cj_graph_exec_opts {
    size_t size;             /* sizeof(cj_graph_exec_opts) */
    int32_t node_priorities; /* 1: nodes have the priority of the captured stream (CUDA 11.7) */
    int32_t auto_free;       /* 1: a launch first frees memory that the last one left allocated */
} cj_graph_exec_opts;

/* Fills `opts` with its size and the defaults. */
CJ_API void cj_graph_exec_defaults(cj_graph_exec_opts *opts);

/* Makes an executable snapshot of `g`.  `opts`: May be NULL.  Blocks for the time of the
 * instantiation.
 * Never NULL.  Owned by the caller, free with cj_graph_exec_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `g` is a body, or its dependencies form a cycle
 *   CJ_ESTATE: a capture adds to `g`, or `g` has memory or conditional nodes and an exec already
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 *   the error that made `g` incomplete
 * cuGraphInstantiateWithFlags, CUDA 11.4. */
CJ_API cj_graph_exec *cj_graph_instantiate(cj_graph *g, const cj_graph_exec_opts *opts);

/* Enqueues the whole graph on `s`: after its earlier work, before its later work.  Two launches of
 * one exec never overlap, also on two streams.  Returns at once.
 * Errors, left in `s` and `x`:
 *   CJ_EINVAL: graph and stream are of two devices
 *   CJ_ESTATE: `s` is capturing (use cj_graph_child), or memory of the graph is still allocated
 *   CJ_EDRIVER: the driver rejects the call
 * cuGraphLaunch. */
CJ_API cj_status cj_graph_launch(cj_stream *s, cj_graph_exec *x);

/* Moves what a launch needs to the device, in the order of `s`, so that the first launch is as fast
 * as the others.  Returns at once.  Errors as cj_graph_launch.
 * cuGraphUpload, CUDA 11.1. */
CJ_API cj_status cj_graph_upload(cj_stream *s, cj_graph_exec *x);

/* The CUgraphExec.  Borrowed until cj_graph_exec_free.  NULL for a failed exec. */
CJ_API void *cj_graph_exec_raw(const cj_graph_exec *x);

/* Frees the exec.  Returns at once; enqueued launches still run.  May be NULL. */
CJ_API void cj_graph_exec_free(cj_graph_exec *x);

/* ---- Changes for later launches -------------------------------------------------------------- */

/* Makes the exec a snapshot of `g`, which is faster than a new exec.  Nodes are still identified by
 * the graph that the exec was instantiated from.
 * Errors, left in `x`:
 *   CJ_ENOTSUP: `g` differs in more than an update can change; the message has the difference, and
 *     the exec is unchanged
 *   CJ_ESTATE: a fill of the exec is disabled (cj_graph_exec_enable), or as cj_graph_instantiate
 *   CJ_EINVAL, CJ_ENOMEM, CJ_EDRIVER: as cj_graph_instantiate
 * cuGraphExecUpdate, CUDA 10.2. */
CJ_API cj_status cj_graph_exec_update(cj_graph_exec *x, cj_graph *g);

/* Changes the arguments and dimensions of one kernel.  `n` is a node of the graph that the exec was
 * instantiated from.  `dims`: May be NULL: unchanged.  `args`: Copied.  Device memory among the
 * arguments is kept alive too.  cj_graph_exec_set_args(x, n, ...) is the short form.
 * Errors, left in `x`:
 *   CJ_EINVAL: as cj_launch; a node of another graph, or not a kernel node
 *   CJ_ENOTFOUND: the kernel was not loaded by cujit
 *   CJ_ENOTSUP: the driver is older than CUDA 12.0
 *   CJ_EDRIVER: the driver rejects the call
 * cuGraphExecKernelNodeSetParams, CUDA 12.0. */
CJ_API cj_status cj_graph_exec_set_kernel_n(cj_graph_exec *x, cj_node *n, const cj_dims *dims,
                                            const cj_arg *args, size_t count);

/* Disables (0) or enables (1) a kernel, copy or fill.  Nodes that depend on a disabled node still
 * wait for the nodes that it depends on.
 * Errors, left in `x`:
 *   CJ_EINVAL: a node of another graph, or of another kind
 *   CJ_ESTATE: a capture adds to the graph
 *   CJ_ENOTSUP: a fill of an exec that cj_graph_exec_update has changed
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuGraphNodeSetEnabled, CUDA 11.6. */
CJ_API cj_status cj_graph_exec_enable(cj_graph_exec *x, cj_node *n, int enabled);

/* ---- Cache of execs --------------------------------------------------------------------------- *
 *
 *     if (cj_graph_exec_cache_launch(c, &key, sizeof key, s) == CJ_ENOTFOUND) {
 *         cj_graph *g = capture(s, &key);
 *         cj_graph_exec_cache_put(c, &key, sizeof key, g, s);      // launches it too
 *         cj_graph_free(g);
 *     }
 *
 * A key holds everything that determines the graph: sizes, addresses, options.
 *   the same key                            launches the exec of that key
 *   a new key, a graph of the same shape    updates the exec of that shape on this stream
 *   else                                    instantiates a new exec
 * When the cache is full, the least recently launched exec is evicted. */

typedef struct cj_graph_exec_cache_opts {
    size_t size;              /* sizeof(cj_graph_exec_cache_opts) */
    uint32_t execs;           /* most execs; 0: 64 */
    uint32_t execs_per_shape; /* most execs of one shape and stream: more update the oldest; 0: 1 */
    uint64_t nodes;           /* most nodes of all execs together, with those of children; 0: 65536.
                               * A larger graph is launched and not stored */
    const cj_graph_exec_opts *exec; /* for cj_graph_instantiate; NULL: the defaults; copied */
} cj_graph_exec_cache_opts;

/* Fills `opts` with its size and the defaults. */
CJ_API void cj_graph_exec_cache_defaults(cj_graph_exec_cache_opts *opts);

/* Creates a cache for a device.  `opts`: May be NULL.
 * Never NULL.  Owned by the caller, free with cj_graph_exec_cache_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: an option is out of range
 *   CJ_ENOMEM: host memory is exhausted
 *   the error of `dev`, if `dev` is a failed object */
CJ_API cj_graph_exec_cache *cj_graph_exec_cache_create(cj_device *dev,
                                                       const cj_graph_exec_cache_opts *opts);

/* Launches the exec of a key on `s`.  `key` has `bytes` > 0 bytes, compared as they are.  Returns
 * at once.
 *   CJ_ENOTFOUND: the cache has no exec for the key: an answer, not recorded
 * Errors, left in the cache and in `s`: as cj_graph_launch, and
 *   CJ_EINVAL: no key, or cache and stream are of two devices */
CJ_API cj_status cj_graph_exec_cache_launch(cj_graph_exec_cache *c, const void *key, size_t bytes,
                                            cj_stream *s);

/* As cj_graph_exec_cache_launch; if there is no exec for the key, first updates or instantiates one
 * from `g`.  `key`: Copied.
 * Errors, left in the cache and in `s`: as cj_graph_instantiate and cj_graph_launch. */
CJ_API cj_status cj_graph_exec_cache_put(cj_graph_exec_cache *c, const void *key, size_t bytes,
                                         cj_graph *g, cj_stream *s);

/* Counters of a cache. */
typedef struct cj_graph_exec_cache_info {
    size_t size;        /* sizeof(cj_graph_exec_cache_info) */
    uint64_t launches;  /* launches of an exec that was there */
    uint64_t updates;   /* execs that were updated for a new key */
    uint64_t builds;    /* execs that were instantiated */
    uint64_t evictions; /* execs that were evicted */
    uint64_t execs;     /* execs in the cache now */
    uint64_t nodes;     /* their nodes */
} cj_graph_exec_cache_info;

/* Sets info->size; everything else is 0.  `info`: May be NULL. */
CJ_API void cj_graph_exec_cache_info_defaults(cj_graph_exec_cache_info *info);

/* Fills *info up to info->size bytes.
 * Errors, left in the cache:
 *   CJ_EINVAL: `info` is NULL, or its size is not set */
CJ_API cj_status cj_graph_exec_cache_get_info(cj_graph_exec_cache *c,
                                              cj_graph_exec_cache_info *info);

/* Frees the cache and its execs.  Returns at once; enqueued launches still run.  May be NULL. */
CJ_API void cj_graph_exec_cache_free(cj_graph_exec_cache *c);

#ifdef __cplusplus
}
#endif

/* ---- Literals and the short form cj_graph_exec_set_args; C11 and C++ ------------------------- */

#ifndef __cplusplus
#define CJ_GRAPH_EXEC(...) (&(const cj_graph_exec_opts){ .size = sizeof(cj_graph_exec_opts), __VA_ARGS__ })
#define CJ_GRAPH_EXEC_CACHE(...) \
    (&(const cj_graph_exec_cache_opts){ .size = sizeof(cj_graph_exec_cache_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_GRAPH_EXEC(...) cji::keep(cj_graph_exec_opts{ .size = sizeof(cj_graph_exec_opts), __VA_ARGS__ })
#define CJ_GRAPH_EXEC_CACHE(...) \
    cji::keep(cj_graph_exec_cache_opts{ .size = sizeof(cj_graph_exec_cache_opts), __VA_ARGS__ })
#endif

#if defined __cplusplus

template<class... T> inline cj_status cj_graph_exec_set_args(cj_graph_exec *x, cj_node *n, T... args)
{
    const cj_arg list[sizeof...(args) + 1] = { cji_arg(args)... };
    return cj_graph_exec_set_kernel_n(x, n, nullptr, list, sizeof...(args));
}

#elif __STDC_VERSION__ >= 201112L

/* cj_graph_exec_set_args(x, n, ...): up to 32 arguments, checked and converted as by cj_launch. */
#define cj_graph_exec_set_args(x, n, ...) \
    cj_graph_exec_set_kernel_n(x, n, NULL, CJI_ARGS(__VA_ARGS__))

#endif

#endif
