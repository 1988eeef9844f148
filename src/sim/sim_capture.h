/* Captures of streams into graphs (sim_capture.c). */
#ifndef CJI_SIM_SIM_CAPTURE_H
#define CJI_SIM_SIM_CAPTURE_H

#include "sim/sim_core.h"

struct sim_capture {
    sim_capture *next;               /* sim.captures */
    uint64_t id;
    sim_stream *origin;
    sim_thread *thread;
    CUstreamCaptureMode mode;
    bool invalid;
    bool to_graph;                  /* the graph is the caller's */
    sim_graph *graph;                /* held */
    sim_node **left; size_t nleft, left_cap;   /* the last nodes of forked streams that were destroyed */
};

void cji_sim_capture_invalidate(sim_capture *c);
CUresult cji_sim_capture_add(sim_stream *s, sim_work *w);     /* takes over `w`: the next node */
/* A call that a capture may not see (cuMemAlloc, a query of an uncaptured stream ...): 900, and the captures that forbid it are invalidated. */
CUresult cji_sim_capture_unsafe(void);
void cji_sim_capture_unsafe_load(void);                             /* a module is loaded: no error, but those of blocking streams are invalidated likewise */
CUresult cji_sim_capture_unsafe_ctx(sim_ctx *c);                     /* cuCtxSynchronize: none may be open in the context */
CUresult cji_sim_capture_refuses(sim_stream *s);             /* a call that its captured stream refuses, valid or not: 900; success when it does not capture */
CUresult cji_sim_capture_wait(sim_stream *s, sim_event *e);   /* cuStreamWaitEvent where either side is captured */
CUresult cji_sim_capture_record(sim_stream *s, sim_event *e);
void cji_sim_capture_leave(sim_stream *s);                   /* the stream is being destroyed */
sim_capture *cji_sim_capture_by_id(uint64_t id);
bool cji_sim_deps_set(sim_node ***dep, size_t *n, size_t *cap, sim_node *const *from, size_t count);
bool cji_sim_deps_add(sim_node ***dep, size_t *n, size_t *cap, sim_node *node);
void cji_sim_deps_free(sim_node ***dep, size_t *n, size_t *cap);

#endif
