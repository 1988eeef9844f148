/* cujit/graph_exec.h - graphs ready to launch. */
#ifndef CUJIT_GRAPH_EXEC_H
#define CUJIT_GRAPH_EXEC_H

#include <cujit/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_graph_exec cj_graph_exec;
typedef struct cj_graph_exec_cache cj_graph_exec_cache;

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

/* ---- Literals, and the handy form ---------------------------------------------------------------------------------- */

#ifndef __cplusplus
#define CJ_GRAPH_EXEC(...) (&(const cj_graph_exec_opts){ .size = sizeof(cj_graph_exec_opts), __VA_ARGS__ })
#define CJ_GRAPH_EXEC_CACHE(...) (&(const cj_graph_exec_cache_opts){ .size = sizeof(cj_graph_exec_cache_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_GRAPH_EXEC(...) cji::keep(cj_graph_exec_opts{ .size = sizeof(cj_graph_exec_opts), __VA_ARGS__ })
#define CJ_GRAPH_EXEC_CACHE(...) cji::keep(cj_graph_exec_cache_opts{ .size = sizeof(cj_graph_exec_cache_opts), __VA_ARGS__ })
#endif

#if defined __cplusplus

template<class... T> inline cj_status cj_graph_exec_set_args(cj_graph_exec *x, cj_node *n, T... args)
{
    const cj_arg list[sizeof...(args) + 1] = { cji_arg(args)... };
    return cj_graph_exec_set_kernel_n(x, n, nullptr, list, sizeof...(args));
}

#elif __STDC_VERSION__ >= 201112L

/* cj_graph_exec_set_args(x, n, ...): up to 32 arguments, checked and converted as those of cj_launch. */
#define cj_graph_exec_set_args(x, n, ...) \
    cj_graph_exec_set_kernel_n(x, n, NULL, (const cj_arg[]){ CJI_LAUNCH_ARGS(__VA_ARGS__) }, CJI_LAUNCH_COUNT(__VA_ARGS__))

#endif

#endif
