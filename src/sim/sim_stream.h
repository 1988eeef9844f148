/* Streams and events, and how work comes into a stream. */
#ifndef CJI_SIM_SIM_STREAM_H
#define CJI_SIM_SIM_STREAM_H

#include "sim/sim_core.h"

struct sim_stream {
    sim_ctx *ctx;
    sim_stream *next, *prev;         /* ctx->streams */
    sim_stream *own_next;            /* sim_thread.own */
    unsigned refs;                  /* the handle, and each unfinished op */
    uint64_t id;
    unsigned flags;
    int priority;                   /* clamped: 0 .. -5 */
    bool legacy, per_thread;
    CUsynchronizationPolicy policy; /* -1 until it is set */
    CUaccessPolicyWindow window;
    CUlaunchMemSyncDomainMap domains;
    CUlaunchMemSyncDomain domain;
    sim_op *tail;                    /* NULL: nothing yet */
    /* While it captures: */
    sim_capture *capture;
    sim_node **dep; size_t ndep, dep_cap;   /* what the next node comes after */
};

struct sim_event {
    sim_ctx *ctx;
    unsigned flags, refs;
    bool recorded;
    sim_op *point;                   /* held */
    sim_ipc_event *ipc; uint64_t ipc_point;   /* held: between processes, else NULL; what `point` is there */
    /* Recorded in a capturing stream: */
    uint64_t capture;               /* its id, 0: none */
    sim_node **dep; size_t ndep, dep_cap;
};

sim_stream *cji_sim_stream_new(sim_ctx *c, unsigned flags, int priority);   /* under the lock; one reference; NULL without memory */
void cji_sim_stream_drop(sim_stream *s);
void cji_sim_stream_forget(sim_stream *s);                                /* no handle any more */
CUresult cji_sim_stream_sync(sim_stream *s);                               /* under the lock, given up while waiting */
/* The stream behind a handle (0, 1 and 2 too) of the current context; the context's fault is an error. */
CUresult cji_sim_stream_get(CUstream h, sim_stream **out);
/* The same for a call that puts work into it: an invalidated capture (901), or one that the legacy stream would join (906), is an error. */
CUresult cji_sim_stream_for_work(CUstream h, sim_stream **out);
/* The same for one about its capture or its attributes: an invalidated one is no error. */
CUresult cji_sim_stream_to_capture(CUstream h, sim_stream **out);
/* Under the lock: work other than a kernel's instruction has failed; the context has the fault. */
void cji_sim_op_fails(const sim_op *op, CUresult code, const char *sentence);
CUstream cji_sim_stream_handle(const sim_stream *s);   /* as the caller knows it: 1 and 2 for default streams; NULL: NULL */
void cji_sim_event_drop(sim_event *e);
CUresult cji_sim_event_get(CUevent h, sim_event **out);
CUresult cji_sim_event_set(sim_event *e, sim_op *point);
CUresult cji_sim_event_make(sim_ctx *c, unsigned flags, sim_ipc_event *shared, CUevent *out);   /* takes over `shared` */

/* ---- Submission: into the stream, or into the graph that it captures --------------------------------------------- */

/* Under the lock: takes over the caller's reference of `w`, in every case. */
CUresult cji_sim_stream_submit(sim_stream *s, sim_work *w);

/* ---- Copies (sim_copy.c) ----------------------------------------------------------------------------------------- */

CUresult cji_sim_copy_work(const CUDA_MEMCPY3D *p, sim_ctx *c, sim_work **out);      /* under the lock; checks it */
/* The same for a graph, which wants access to memory of another device's pool, as a call does not: seen on two H200. */
CUresult cji_sim_copy_node_work(const CUDA_MEMCPY3D *p, sim_ctx *c, sim_work **out);
CUresult cji_sim_fill_work(const CUDA_MEMSET_NODE_PARAMS *p, sim_ctx *c, sim_work **out);

#endif
