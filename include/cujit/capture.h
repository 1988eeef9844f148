/* cujit/capture.h - work of streams captured as a graph. */
#ifndef CUJIT_CAPTURE_H
#define CUJIT_CAPTURE_H

#include <cujit/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#ifndef __cplusplus
#define CJ_CAPTURE(...) (&(const cj_capture_opts){ .size = sizeof(cj_capture_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_CAPTURE(...) cji::keep(cj_capture_opts{ .size = sizeof(cj_capture_opts), __VA_ARGS__ })
#endif

#endif
