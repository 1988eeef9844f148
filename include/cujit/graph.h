/* cujit/graph.h - work captured once and launched many times.
 *
 *     cj_capture_begin(s, mode) ... work given to s ... cj_capture_end(s) -> cj_graph -> cj_exec -> cj_exec_launch(x, s)
 *
 * Between begin and end nothing runs: what is given to the stream, and to streams drawn in by cj_stream_fork or by waiting on an event recorded
 * in the capture, becomes the graph's nodes.  A cj_exec is a snapshot of its graph, ready to launch; the graph may be freed before it.
 *
 * Lifetime.  Graph and exec keep alive what their nodes use: kernels, and device memory that the capture could see (cj_used_on names the
 * rest); cj_free and cj_kernel_free on these take effect when the last of them is gone and its launches are done.  Host memory is the caller's.
 *
 * A call that fails inside a capture leaves a graph that would lack a node, so cj_capture_end then fails with that call's error.
 * Captures that others begin on a raw handle are respected, but nothing is kept alive for them.
 *
 * Threads and errors as in stream.h.
 */
#ifndef CUJIT_GRAPH_H
#define CUJIT_GRAPH_H

#include <cujit/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_graph cj_graph;
typedef struct cj_exec cj_exec;

/* ---- Capture ----------------------------------------------------------------------------------------------------- */

/* Which unsafe driver calls (allocation by others, synchronising, queries) break the capture while it is open. */
typedef enum cj_capture_mode {
    CJ_CAPTURE_GLOBAL = 0, /* those of any thread */
    CJ_CAPTURE_THREAD = 1, /* those of this thread */
    CJ_CAPTURE_RELAXED = 2 /* none; the capture may end on another thread */
} cj_capture_mode;

/* Begins a capture.  Errors: CJ_EINVAL for a mode that is none; CJ_ESTATE where the stream is being captured already, or is the legacy default stream; CJ_EDRIVER. */
CJ_API cj_status cj_capture_begin(cj_stream *s, cj_capture_mode mode);

/* Ends it, on the stream that began it, and on the same thread unless the mode is CJ_CAPTURE_RELAXED; the stream works normally again.
 * Never NULL; owned by the caller, free with cj_graph_free.
 * Errors (the graph is a failed object, and the stream keeps the failure): CJ_ESTATE where `s` did not begin a capture, where a fork was not joined, where
 * something forbidden broke the capture; the first failure of a call given to a captured stream. */
CJ_API cj_graph *cj_capture_end(cj_stream *s);

/* Whether what is given to `s` now becomes part of a graph. */
CJ_API bool cj_stream_is_capturing(const cj_stream *s);

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

/* How many nodes the graph has; 0 for a failed graph, and with a failure left in `g` where the driver does not tell. */
CJ_API size_t cj_graph_count(cj_graph *g);

CJ_API void *cj_graph_raw(const cj_graph *g); /* its CUgraph, borrowed until cj_graph_free; NULL for a failed graph */
CJ_API void cj_graph_free(cj_graph *g);       /* NULL is fine */

/* ---- Ready to launch --------------------------------------------------------------------------------------------- */

typedef struct cj_exec_opts {
    size_t size;             /* sizeof(cj_exec_opts) */
    int32_t node_priorities; /* 1: nodes keep the priority of the stream that they were captured from (CUDA 11.7) */
} cj_exec_opts;

/* Fills `opts` with its size and the defaults. */
CJ_API void cj_exec_defaults(cj_exec_opts *opts);

/* Makes a launchable snapshot; `opts` NULL for the defaults.  Never NULL; owned by the caller, free with cj_exec_free. */
CJ_API cj_exec *cj_graph_instantiate(cj_graph *g, const cj_exec_opts *opts);

/* Gives the whole graph to `s`: after its earlier work, before its later work.  Two launches of one exec never overlap, whatever their
 * streams.  Returns at once.  A failure is left in both.  Errors: CJ_EINVAL for a stream of another device; CJ_EDRIVER. */
CJ_API cj_status cj_exec_launch(cj_exec *x, cj_stream *s);

CJ_API void *cj_exec_raw(const cj_exec *x); /* its CUgraphExec, borrowed until cj_exec_free; NULL for a failed exec */

/* Releases it; returns at once, launches under way go on.  NULL is fine. */
CJ_API void cj_exec_free(cj_exec *x);

#ifdef __cplusplus
}
#endif

#ifndef __cplusplus
#define CJ_EXEC(...) (&(const cj_exec_opts){ .size = sizeof(cj_exec_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_EXEC(...) cji::keep(cj_exec_opts{ .size = sizeof(cj_exec_opts), __VA_ARGS__ })
#endif

#endif
