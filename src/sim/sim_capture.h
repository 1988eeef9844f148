/* Captures of streams into graphs (sim_capture.c). */
#ifndef CJI_SIM_SIM_CAPTURE_H
#define CJI_SIM_SIM_CAPTURE_H

#include "sim/simcore.h"

struct sd_capture {
    sd_capture *next;               /* sd.captures */
    uint64_t id;
    sd_stream *origin;
    sd_thread *thread;
    CUstreamCaptureMode mode;
    bool invalid;
    bool to_graph;                  /* the graph is the caller's */
    sd_graph *graph;                /* held */
    sd_node **left; size_t nleft, left_cap;   /* the last nodes of forked streams that were destroyed */
};

void cji_sd_capture_invalidate(sd_capture *c);
CUresult cji_sd_capture_add(sd_stream *s, sd_work *w);     /* takes over `w`: the next node */
/* A call that a capture may not see (cuMemAlloc, a query of an uncaptured stream ...): 900, and the captures that forbid it are invalidated. */
CUresult cji_sd_unsafe(void);
void cji_sd_unsafe_load(void);                             /* a module is loaded: no error, but those of blocking streams are invalidated likewise */
CUresult cji_sd_unsafe_ctx(sd_ctx *c);                     /* cuCtxSynchronize: none may be open in the context */
CUresult cji_sd_capture_refuses(sd_stream *s);             /* a call that its captured stream refuses, valid or not: 900; success when it does not capture */
CUresult cji_sd_capture_wait(sd_stream *s, sd_event *e);   /* cuStreamWaitEvent where either side is captured */
CUresult cji_sd_capture_record(sd_stream *s, sd_event *e);
void cji_sd_capture_leave(sd_stream *s);                   /* the stream is being destroyed */
sd_capture *cji_sd_capture_by_id(uint64_t id);
bool cji_sd_deps_set(sd_node ***dep, size_t *n, size_t *cap, sd_node *const *from, size_t count);
bool cji_sd_deps_add(sd_node ***dep, size_t *n, size_t *cap, sd_node *node);
void cji_sd_deps_free(sd_node ***dep, size_t *n, size_t *cap);

#endif
