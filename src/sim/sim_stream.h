/* Streams and events, and how work comes into a stream. */
#ifndef CJI_SIM_SIM_STREAM_H
#define CJI_SIM_SIM_STREAM_H

#include "sim/simcore.h"

struct sd_stream {
    sd_ctx *ctx;
    sd_stream *next, *prev;         /* ctx->streams */
    sd_stream *own_next;            /* sd_thread.own */
    unsigned refs;                  /* the handle, and each unfinished op */
    uint64_t id;
    unsigned flags;
    int priority;                   /* clamped: 0 .. -5 */
    bool legacy, per_thread;
    CUsynchronizationPolicy policy; /* -1 until it is set */
    CUaccessPolicyWindow window;
    CUlaunchMemSyncDomainMap domains;
    CUlaunchMemSyncDomain domain;
    sd_op *tail;                    /* NULL: nothing yet */
    /* While it captures: */
    sd_capture *capture;
    sd_node **dep; size_t ndep, dep_cap;   /* what the next node comes after */
};

struct sd_event {
    sd_ctx *ctx;
    unsigned flags, refs;
    bool recorded;
    sd_op *point;                   /* held */
    sd_shared *shared; uint64_t far;   /* held: between processes, else NULL; what `point` is there */
    /* Recorded in a capturing stream: */
    uint64_t capture;               /* its id, 0: none */
    sd_node **dep; size_t ndep, dep_cap;
};

sd_stream *cji_sd_stream_new(sd_ctx *c, unsigned flags, int priority);   /* under the lock; one reference; NULL without memory */
void cji_sd_stream_drop(sd_stream *s);
void cji_sd_stream_forget(sd_stream *s);                                /* no handle any more */
CUresult cji_sd_stream_sync(sd_stream *s);                               /* under the lock, given up while waiting */
/* The stream behind a handle (0, 1 and 2 too) of the current context; the context's fault is an error. */
CUresult cji_sd_stream(CUstream h, sd_stream **out);
/* The same for a call that puts work into it: an invalidated capture (901), or one that the legacy stream would join (906), is an error. */
CUresult cji_sd_stream_for_work(CUstream h, sd_stream **out);
/* The same for one about its capture or its attributes: an invalidated one is no error. */
CUresult cji_sd_stream_to_capture(CUstream h, sd_stream **out);
void cji_sd_event_drop(sd_event *e);
CUresult cji_sd_event_get(CUevent h, sd_event **out);
CUresult cji_sd_event_set(sd_event *e, sd_op *point);
CUresult cji_sd_event_make(sd_ctx *c, unsigned flags, sd_shared *shared, CUevent *out);   /* takes over `shared` */

/* ---- Submission: into the stream, or into the graph that it captures --------------------------------------------- */

/* Under the lock: takes over the caller's reference of `w`, in every case. */
CUresult cji_sd_submit(sd_stream *s, sd_work *w);

/* ---- Copies (sim_copy.c) ----------------------------------------------------------------------------------------- */

CUresult cji_sd_copy_work(const CUDA_MEMCPY3D *p, sd_ctx *c, sd_work **out);      /* under the lock; checks it */
/* The same for a graph, which wants access to memory of another device's pool, as a call does not: seen on two H200. */
CUresult cji_sd_copy_node_work(const CUDA_MEMCPY3D *p, sd_ctx *c, sd_work **out);
CUresult cji_sd_fill_work(const CUDA_MEMSET_NODE_PARAMS *p, sd_ctx *c, sd_work **out);

#endif
