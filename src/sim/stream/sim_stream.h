/* Streams and events, how work comes into a stream, and what captures forbid. Prefixes: cji_sim_stream_, _event_,
 * _ipc_event_, _capture_, _deps_. All under the lock unless said otherwise. */
#ifndef CJI_SIM_STREAM_H
#define CJI_SIM_STREAM_H

#include "sim/queue/sim_queue.h"

typedef struct sim_ipc_event sim_ipc_event;

struct sim_stream {
    sim_ref ref;                    /* the handle, and each unfinished op */
    sim_ctx *ctx;
    sim_stream *next, *prev;        /* ctx->streams */
    sim_stream *own_next;           /* sim_thread.own */
    uint64_t id;
    unsigned flags;
    int priority;                   /* clamped: 0 .. -5 */
    bool legacy, per_thread;
    CUsynchronizationPolicy policy; /* -1 until it is set */
    CUaccessPolicyWindow window;
    CUlaunchMemSyncDomainMap domains;
    CUlaunchMemSyncDomain domain;
    sim_op *tail;                   /* what the next operation comes after; NULL: nothing yet */
    sim_op *last;                   /* its own last operation: `tail`, unless the context waits behind it */
    /* While it captures: */
    sim_capture *capture;
    sim_node **dep;                 /* what the next node comes after */
    size_t ndep, dep_cap;
};

struct sim_event {
    sim_ctx *ctx;
    unsigned flags, refs;
    bool recorded;
    sim_op *point;                  /* held */
    sim_ipc_event *ipc;             /* held: between processes, else NULL */
    uint64_t ipc_point;             /* what `point` is there */
    /* Recorded in a capturing stream: */
    uint64_t capture;               /* its id, 0: none */
    sim_node **dep;
    size_t ndep, dep_cap;
};

struct sim_capture {
    sim_capture *next;              /* sim_captures */
    uint64_t id;
    sim_stream *origin;
    sim_thread *thread;
    CUstreamCaptureMode mode;
    bool invalid;
    bool to_graph;                  /* the graph is the caller's */
    sim_graph *graph;               /* held */
    sim_node **left;                /* the last nodes of forked streams that were destroyed */
    size_t nleft, left_cap;
};

extern sim_capture *sim_captures;   /* open ones */
extern const sim_room cji_sim_room_stream;

/* What the graph room does for the rooms below it: nodes of streams that capture, memory of graphs, conditions. */
typedef struct sim_graph_hooks {
    CUresult (*add)(sim_stream *s, sim_work *w);                         /* takes over `w`: the next node */
    /* A node that records the event, or waits for it. */
    CUresult (*add_event)(sim_stream *s, sim_event *e, bool record);
    CUresult (*add_alloc)(sim_stream *s, uint64_t bytes, CUdeviceptr *out);
    CUresult (*add_free)(sim_stream *s, CUdeviceptr at);
    CUresult (*release)(sim_graph_mem *m, sim_stream *s); /* cuMemFreeAsync outside of a capture; s NULL: cuMemFree */
    void (*abandon)(sim_capture *k);                      /* its origin is being destroyed: ends it, without a graph */
    /* Without the lock, for the engine; false: no such handle. */
    bool (*set_condition)(void *ctx, uint64_t handle, uint32_t value);
} sim_graph_hooks;
extern const sim_graph_hooks *sim_graphs;   /* set at cuInit */

/* ---- Streams (sim_stream.c) -------------------------------------------------------------------------------------- */

/* One reference, no handle; NULL without memory. */
sim_stream *cji_sim_stream_new(sim_ctx *c, unsigned flags, int priority);
void cji_sim_stream_drop(sim_stream *s);
void cji_sim_stream_forget(sim_stream *s);                               /* no handle any more */
CUresult cji_sim_stream_sync(sim_stream *s);                             /* the lock is given up while waiting */
/* The stream behind a handle (0, 1 and 2 too) of the current context; the context's fault is an error. */
CUresult cji_sim_stream_get(CUstream h, sim_stream **out);
/* The same for a call that puts work into it: an invalidated capture (901), or one that the legacy stream would join
 * (906), is an error. */
CUresult cji_sim_stream_for_work(CUstream h, sim_stream **out);
/* The same for one about its capture or its attributes: an invalidated one is no error. */
CUresult cji_sim_stream_to_capture(CUstream h, sim_stream **out);
/* The same for reading its attributes, which a valid capture allows. */
CUresult cji_sim_stream_to_get(CUstream h, sim_stream **out);
void cji_sim_stream_prefer(sim_stream *s, int priority);                 /* clamped */

/* ---- Order in streams (sim_order.c) ------------------------------------------------------------------------------ */

sim_op *cji_sim_stream_op(sim_ctx *c, sim_stream *s, sim_work *w);       /* not submitted yet; NULL without memory */
CUresult cji_sim_stream_before(sim_op *op, sim_stream *s);               /* predecessors that the next op of `s` has */
void cji_sim_stream_set_tail(sim_stream *s, sim_op *op);
/* The next operation of `s` comes after `extra` too; until there is one, `s` is as done as it was. */
CUresult cji_sim_stream_hold_next(sim_stream *s, sim_op *extra);
/* Puts `w` behind everything that `s` orders before it (its own work, legacy stream rules) and `extra`. */
CUresult cji_sim_stream_enqueue(sim_stream *s, sim_work *w, sim_op *extra, sim_op **out);
/* Into the stream, or into the graph that it captures: takes over the caller's reference of `w`, in every case. */
CUresult cji_sim_stream_submit(sim_stream *s, sim_work *w);
CUresult cji_sim_stream_submit_and_wait(sim_stream *s, sim_work *w);
/* As the caller knows it: 1 and 2 for default streams; NULL: NULL. */
CUstream cji_sim_stream_handle(const sim_stream *s);
/* Work that is no kernel has failed: its context has the fault. */
void cji_sim_op_fails(const sim_op *op, CUresult code, const char *sentence);

/* ---- Events (sim_event.c) ---------------------------------------------------------------------------------------- */

void cji_sim_event_drop(sim_event *e);
CUresult cji_sim_event_get(CUevent h, sim_event **out);
CUresult cji_sim_event_set(sim_event *e, sim_op *point);
CUresult cji_sim_event_make(sim_ctx *c, unsigned flags, sim_ipc_event *ipc, CUevent *out);   /* takes over `ipc` */

/* ---- Points of events between processes (sim_ipc_event.c) -------------------------------------------------------- */

sim_ipc_event *cji_sim_ipc_event_new(void);                              /* NULL: no memory, or no file */
void cji_sim_ipc_event_drop(sim_ipc_event *h);
/* `point` is what the event stands for from now on, in every process; false: too many of its points are under way. */
bool cji_sim_ipc_event_record(sim_event *e, sim_op *point);
/* What the event stands for: *own an operation of this process, or *foreign a point of another; neither where that is
 * reached already. */
void cji_sim_event_now(const sim_event *e, sim_op **own, uint64_t *foreign);
/* What holds its point back was recorded by a process that is gone. */
bool cji_sim_ipc_event_orphaned(const sim_event *e);
CUresult cji_sim_ipc_event_work(const sim_event *e, uint64_t foreign, sim_ctx *c, sim_work **out);   /* waits for it */
CUresult cji_sim_ipc_event_sync(sim_event *e, uint64_t foreign);         /* the lock is given up while waiting */
bool cji_sim_event_recorded(const sim_event *e);                         /* ever, by any process */

/* ---- What captures forbid (sim_capture_rule.c) ------------------------------------------------------------------- */

/* A call that a capture may not see (cuMemAlloc, a query of an uncaptured stream ...): 900, and the captures that
 * forbid it are invalidated. */
CUresult cji_sim_capture_unsafe(void);
void cji_sim_capture_unsafe_load(void); /* a module is loaded: those of blocking streams are invalidated likewise */
CUresult cji_sim_capture_unsafe_ctx(sim_ctx *c); /* cuCtxSynchronize: none may be open in the context */
CUresult cji_sim_capture_rejects(sim_stream *s); /* a call that its captured stream rejects, valid or not: 900 */
void cji_sim_capture_leave(sim_stream *s);                               /* the stream is being destroyed */
void cji_sim_capture_uncapture(sim_stream *s);                           /* it captures no longer */
sim_capture *cji_sim_capture_by_id(uint64_t id);
/* Lists of nodes without repetition. */
bool cji_sim_deps_set(sim_node ***dep, size_t *n, size_t *cap, sim_node *const *from, size_t count);
bool cji_sim_deps_add(sim_node ***dep, size_t *n, size_t *cap, sim_node *node);
void cji_sim_deps_free(sim_node ***dep, size_t *n, size_t *cap);

#endif
