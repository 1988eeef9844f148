/* cujit/capture.h - turns the work of streams into a graph.
 *
 *     cj_capture_begin(s, CJ_CAPTURE_THREAD);
 *         ... work enqueued on s and on forked streams ...
 *     cj_graph *g = cj_capture_end(s);
 *     cj_graph_exec *x = cj_graph_instantiate(g, NULL);       graph_exec.h
 *     cj_graph_launch(s, x);
 *
 * Between begin and end the stream runs nothing: each call adds a node to the graph.  A stream
 * joins the capture by cj_stream_fork, or by waiting for an event that was recorded in the capture.
 * The capture's dependencies (its frontier) are the nodes that the next node will depend on.
 * No call of cujit breaks a capture, whatever its mode, its thread, and who began it.  The one
 * exception is in the last paragraph.
 *
 * Lifetime.  The graph keeps alive what its nodes use: kernels, events, and device memory that the
 * capture sees as an argument.  cj_stream_use adds memory that it cannot see.  cj_free and the free
 * calls of kernels and events take effect when the last graph and cj_graph_exec that use the object
 * are freed and their launches have completed.  The caller frees host memory of copies and host
 * functions.
 *
 * Threads.  Any thread.  A capture ends on the thread that began it, unless it is relaxed.
 *
 * Errors.  If a call inside a capture fails, the graph would lack a node: cj_capture_end then fails
 * with that call's error.  A graph that lacks a node is *incomplete* (graph.h): it cannot be
 * instantiated.  A capture into an existing graph that fails leaves the graph incomplete, or the
 * driver destroys it.  Later calls on such a graph fail with the capture's error.  It must still be
 * freed with cj_graph_free.
 *
 * Captures by others.  A capture that other code begins on a raw handle works too, but keeps
 * nothing alive.  The exception: cj_stream_sync, cj_stream_sync_for, cj_stream_query or
 * cj_stream_get_fault of a stream that other code captures invalidates that capture.
 *
 * The last line of a comment names the driver functions of the call, and the CUDA version that
 * they need if not every supported driver has them.
 */
#ifndef CUJIT_CAPTURE_H
#define CUJIT_CAPTURE_H

#include <cujit/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which unsafe driver calls of other code (allocate, synchronise, query) invalidate the capture
 * while it is open.  Calls of cujit do not.  cj_device_sync, which would, fails with CJ_ESTATE. */
typedef enum cj_capture_mode {
    CJ_CAPTURE_GLOBAL = 0, /* those of any thread */
    CJ_CAPTURE_THREAD = 1, /* those of the capturing thread */
    CJ_CAPTURE_RELAXED = 2 /* none; the capture may end on another thread */
} cj_capture_mode;

typedef struct cj_capture_opts {
    size_t size;           /* sizeof(cj_capture_opts) */
    int32_t mode;          /* a cj_capture_mode */
    int32_t join;          /* 1: the end joins streams that are still forked; 0: it fails then */
    cj_graph *into;        /* the graph or body that gets the nodes (CUDA 12.3); NULL: a new graph.
                            * No other call may use it until the capture has ended */
    const cj_nodes *after; /* nodes of `into` that the first captured nodes depend on; NULL: on no
                            * node.  Not read if `into` is NULL */
} cj_capture_opts;

/* Fills `opts` with its size and the defaults, which NULL means too: CJ_CAPTURE_GLOBAL, no join, a
 * new graph.  `opts`: May be NULL. */
CJ_API void cj_capture_defaults(cj_capture_opts *opts);

/* Begins a capture on `s`.  `opts`: May be NULL.  Returns at once.
 * If it fails with CJ_ENOTSUP, CJ_ENOMEM or CJ_EDRIVER, `into` is incomplete.
 * Errors, left in `s`:
 *   CJ_EINVAL: a wrong mode, a graph of another device, or nodes of another graph
 *   CJ_EHANDLE: `into` is not a graph
 *   CJ_ESTATE: `s` is capturing or is the legacy default stream, or `into` is captured into
 *   CJ_ENOTSUP: `into` is set and the driver is older than CUDA 12.3
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuStreamBeginCapture, CUDA 10.1; cuStreamBeginCaptureToGraph, CUDA 12.3. */
CJ_API cj_status cj_capture_begin(cj_stream *s, cj_capture_mode mode);
CJ_API cj_status cj_capture_begin_opts(cj_stream *s, const cj_capture_opts *opts);

/* Ends the capture that was begun on `s` and returns its graph.  `s` and the streams that joined
 * run work again, also after a failure; only a call on a stream or thread that did not begin the
 * capture leaves it open.
 * Never NULL.  Owned by the caller, free with cj_graph_free.  A capture into a graph returns that
 * graph again, which then needs one more cj_graph_free; a body needs none.  Returns at once.
 * Errors, left in `s` and in the failed object that is returned:
 *   CJ_ESTATE: no capture was begun on `s`, a forked stream is not joined, another thread began it,
 *     or a forbidden call invalidated the capture
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 *   the first error of a call on a capturing stream
 * cuStreamEndCapture. */
CJ_API cj_graph *cj_capture_end(cj_stream *s);

/* As cj_capture_end, and the graph keeps the capture's dependencies, so that cj_capture_resume can
 * continue the capture (CUDA 12.3).  Meanwhile `s` runs work, and nodes may be added to the graph.
 * Never NULL.  Owned by the caller, free with cj_graph_free, whether the capture continues or not.
 * Errors, in the same places: those of cj_capture_end.
 * cuStreamGetCaptureInfo, cuStreamEndCapture. */
CJ_API cj_graph *cj_capture_pause(cj_stream *s);

/* Continues a paused capture, in its mode, on any stream of its device.  cj_capture_end or
 * cj_capture_pause then returns `g` again, which needs one more cj_graph_free.
 * If it fails with CJ_ENOTSUP, CJ_ENOMEM or CJ_EDRIVER, `g` is incomplete.  Returns at once.
 * Errors, left in `s`:
 *   CJ_EINVAL: `g` is of another device
 *   CJ_EHANDLE: `g` is not a graph
 *   CJ_ESTATE: `g` is not paused, or is captured into; or `s` is capturing or is the legacy default
 *     stream
 *   CJ_ENOTSUP: the driver is older than CUDA 12.3
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuStreamBeginCaptureToGraph, CUDA 12.3. */
CJ_API cj_status cj_capture_resume(cj_stream *s, cj_graph *g);

/* True while `s` is capturing. */
CJ_API int cj_stream_is_capturing(const cj_stream *s);

#ifdef __cplusplus
}
#endif

/* ---- Option literal: CJ_CAPTURE(.mode = CJ_CAPTURE_THREAD, .join = 1); C and C++20 ----------- */

#ifndef __cplusplus
#define CJ_CAPTURE(...) (&(const cj_capture_opts){ .size = sizeof(cj_capture_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_CAPTURE(...) cji::keep(cj_capture_opts{ .size = sizeof(cj_capture_opts), __VA_ARGS__ })
#endif

#endif
