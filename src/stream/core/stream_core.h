/* What the files of src/stream share: the objects, the device's side of them, and their small helpers.
 *
 * Locks, in the order in which they may be taken: hub object, event, capture, stream, side, hub (driver/deferred.h); no lock is held over a call of
 * the driver that may block, and none is taken by a host function. */
#ifndef CJI_STREAM_CORE_H
#define CJI_STREAM_CORE_H

#include <cujit/capture.h>
#include <cujit/graph_exec.h>

#include "base/clock.h"
#include "base/obj.h"
#include "base/opts.h"
#include "driver/driver.h"
#include "driver/deferred.h"

typedef struct cji_capture cji_capture;
typedef struct cji_refset cji_refset;
typedef struct cji_mem_state cji_mem_state;

/* -- Counters: of what runs on the stream itself, so not of what is captured; each counted once, when the driver has taken it --------- */

typedef struct cji_counts {
    atomic_uint_fast64_t launches, others; /* operations are the sum */
    atomic_uint_fast64_t to_device, to_host, on_device; /* bytes */
} cji_counts;

/* -- Objects --------------------------------------------------------------------------------------------------------- */

struct cj_stream {
    cji_obj obj;
    cj_device *dev; /* retained */
    cji_release_queue *queue;   /* the device's */
    const cji_cu *cu;
    CUstream raw;
    cji_slot *slot;
    uint64_t bit; /* the lane's */
    uint64_t id;
    int priority;
    unsigned flags;
    bool owned;            /* raw was made here */
    atomic_bool capturing; /* capture is not NULL: the launch looks at this one only */
    atomic_bool current;   /* the latest launch found the device's context current */
    pthread_mutex_t lock;  /* guards capture, order */
    cji_capture *capture;  /* retained */
    cji_counts counts;
    CUevent order;         /* for fork and join, made at the first of them; recorded and waited on, never queried */
    CUstream proxy;       /* of a per-thread default stream: follows it (follow.c), and is its lane's stream; NULL: there is none */
    CUevent proxy_event;          /* what it follows: recorded on raw after each piece of work */
    cji_deferred deferred;
};

struct cj_event {
    cji_obj obj;
    cj_device *dev; /* retained */
    cji_release_queue *queue;
    const cji_cu *cu;
    CUevent raw;
    bool timing, ipc;
    pthread_mutex_t lock; /* guards what follows; held over record and wait, so that the two agree about the capture */
    bool recorded;
    cji_capture *capture; /* that it was last recorded in, retained; may be over */
    cji_deferred deferred;
};

/* Memory that nodes of a graph allocate and free (graph_memory.c). */
typedef struct cji_mem cji_mem;
typedef struct cji_graph_mem { cji_mem *mem; bool alloc, free; } cji_graph_mem;

/* A fill node of an exec that was left out at some time (exec_fill.c). */
typedef struct cji_left_out {
    CUgraphNode raw;
    CUDA_MEMSET_NODE_PARAMS does; /* when it is done */
    CUdeviceptr location;             /* what it fills while it is left out */
    bool out;
} cji_left_out;

struct cj_graph_exec {
    cji_obj obj;
    cj_device *dev; /* retained */
    cji_release_queue *queue;
    CUgraphExec raw;
    uint64_t source;      /* the serial of the graph that it was instantiated from */
    bool auto_free;
    pthread_mutex_t lock; /* guards raw, keep, own, left, updated, memory */
    cji_left_out *left;
    size_t nleft, left_cap;
    bool updated;         /* from another graph */
    cji_refset *refset;       /* of the graph that it is a snapshot of */
    cji_refset *own;        /* of arguments changed in place; NULL without any */
    cji_graph_mem *memory; /* what its launches allocate and free; kept by `refset` */
    size_t nmemory;
    atomic_uint_fast64_t used; /* lanes it was launched on */
    cji_deferred deferred;
};

/* -- Events (event.c) ------------------------------------------------------------------------------------------------- */

/* Drops a reference; the last one lets the CUevent go. */
void cji_event_drop(cj_event *e);

/* -- Failures, options (refused.c) ----------------------------------------------------------------------------------- */

/* A call given to a stream has failed and its record is the thread's latest: a capture under way has a hole now.  Returns `st`. */
cj_status cji_stream_failed(cj_stream *s, cj_status st);

/* Records a refusal of the driver in `obj`: `cu_call` is the driver's entry point.  What a capture forbids is CJ_ESTATE. */
cj_status cji_rejected(void *obj, const cj_device *dev, CUresult r, const char *call, const char *cu_call);

/* The same for a call given to a stream. */
cj_status cji_stream_rejected(cj_stream *s, CUresult r, const char *call, const char *cu_call);

enum { CJI_DEFERRED_STEP = 8 }; /* waiting releases looked at by a call that may do some */

/* -- Shadows (follow.c) ----------------------------------------------------------------------------------------------- */

/* Makes the shadow of a stream whose handle is (void *)2; context current.  On failure there is none, *doing is the driver's entry point. */
CUresult cji_proxy_open(cj_stream *s, const char **cu_call);
void cji_proxy_close(cj_stream *s); /* calm */
/* Later work of the shadow waits for everything given to `s` so far, unless that is being captured.  Where there is no shadow, and on another thread than the
 * stream's, it does nothing. */
void cji_proxy_follow(cj_stream *s);

/* -- Counting -------------------------------------------------------------------------------------------------------- */

static inline void cji_count(cj_stream *s, atomic_uint_fast64_t *counter, uint64_t n)
{
    if (!atomic_load_explicit(&s->capturing, memory_order_relaxed)) atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}
/* One operation that is no launch. */
static inline void cji_count_one(cj_stream *s)
{
    cji_count(s, &s->counts.others, 1);
    if (s->proxy) cji_proxy_follow(s);
}

/* -- Trying without asking which context is current ------------------------------------------------------------------ */

/* Where the context was current last time, a launch is tried without asking again, which would cost a good part of what a launch does: the driver
 * refuses what is not for its current context, and that has done nothing; then the context is entered and the launch made again.  Not while
 * capturing, where a refusal would break the capture, and not for foreign streams, whose handles may mean another stream in another context. */
static inline bool cji_may_try(cj_stream *s)
{
    return s->owned && atomic_load_explicit(&s->current, memory_order_relaxed) && !atomic_load_explicit(&s->capturing, memory_order_relaxed);
}
static inline void cji_note_current(cj_stream *s, const cji_ctx *ctx) { atomic_store_explicit(&s->current, !ctx->pushed, memory_order_relaxed); }

/* -- Waiting with a deadline (await.c) ------------------------------------------------------------------------------- */

uint64_t cji_deadline(uint32_t ms);       /* from now */
/* Asks until the answer is another than NOT_READY or the deadline has passed; context current.  The thread's capture mode is relaxed meanwhile. */
CUresult cji_wait_stream(cj_stream *s, uint64_t deadline);
CUresult cji_wait_event(cj_event *e, uint64_t deadline);

/* -- Streams (stream.c) ---------------------------------------------------------------------------------------------- */

static inline bool cji_same_device(const cji_release_queue *a, const cji_release_queue *b) { return a == b || (a->cu == b->cu && a->ctx == b->ctx); }

/* CJ_ESTATE, left in the stream, while it is being captured: what would break its capture is refused before the driver hears of it. */
cj_status cji_stream_not_captured(cj_stream *s, const char *call);

/* A fresh event of a device without its CUevent, or a failed object; and whether an event may be asked about: CJ_ESTATE, left in it, while the capture
 * that it was recorded in is open. */
cj_event *cji_event_new(cj_device *dev, const char *call);
cj_status cji_event_may_query(cj_event *e, const char *call);
/* The driver's refusal of a call about an event, recorded in `obj`: after a capture an event has no point that a stream reaches. */
cj_status cji_event_rejected(void *obj, cj_event *e, CUresult r, const char *call, const char *cu_call);

/* Drops a reference; the last one lets the CUstream go. */
void cji_stream_drop(cj_stream *s);

/* -- What a graph keeps alive (keep.c) ------------------------------------------------------------------------------- */

typedef enum cji_ref_kind {
    CJI_REF_KERNEL,
    CJI_REF_MEMORY,
    CJI_REF_STAGE,
    CJI_REF_SET, /* what another graph or exec keeps; it does not grow any more, so that none keeps itself */
    CJI_REF_EVENT,
    CJI_REF_USER /* a cji_user */
} cji_ref_kind;

typedef struct cji_user { void (*release)(void *user); void *user; } cji_user; /* made with cji_alloc */

cji_refset *cji_refset_new(void); /* NULL without memory */
cji_refset *cji_refset_retain(cji_refset *k);
void cji_refset_drop(cji_refset *k); /* releases everything at the last one; NULL is fine */
/* Hands a reference over to the keep; false without memory, and then the reference stays the caller's.  *had: it was there already, and the
 * reference stays the caller's too. */
bool cji_refset_add(cji_refset *k, cji_ref_kind kind, void *what, bool *had);
/* Hands over what is kept so far, never to grow again, and goes on in a new keep that keeps it: *k is replaced.  The reference is the caller's; NULL without memory. */
cji_refset *cji_refset_snapshot(cji_refset **k);
/* The kernel with that function, borrowed while the keep lives; NULL if it keeps none. */
cj_kernel *cji_refset_kernel(cji_refset *k, CUfunction fn);

/* -- Captures (capture.c) -------------------------------------------------------------------------------------------- */

/* The stream's capture, retained; NULL when it has none. */
cji_capture *cji_capture_of(cj_stream *s);
cji_capture *cji_capture_retain(cji_capture *c);
void cji_capture_drop(cji_capture *c); /* NULL is fine */
bool cji_capture_open(const cji_capture *c);
/* As cji_refset_add, for what the capture's graph will keep; once the capture is closed the reference stays the caller's, as if it was there already. */
bool cji_capture_retains(cji_capture *c, cji_ref_kind kind, void *what, bool *had);
/* `s` has been drawn into the capture. */
void cji_capture_join(cji_capture *c, cj_stream *s);
/* Notes the thread's latest failure as the capture's first. */
void cji_capture_fail(cji_capture *c);
/* The user's handle of a stream goes: a capture that it began and that nobody can end any more is ended and dropped.  False: only another thread can end
 * it, which was said in the log, and the handle must stay. */
bool cji_capture_abandon(cj_stream *s);

/* -- Memory (allocation.c) ----------------------------------------------------------------------------------------------- */

/* The device's side: its table of memory and its staging memory; made at first use, NULL without memory. */
cji_mem_state *cji_mem_state_of(cj_device *dev);

/* A range about to be used by work given to `s`: checked against the allocation that holds its start, if one of the table does; noted as used
 * on the stream, and kept by its capture.  `what` names the argument in the failure. */
cj_status cji_mem_use(cj_stream *s, uint64_t addr, size_t bytes, const char *call, const char *what);
/* The same for memory of `dev`, which may be another device than the stream's: then cji_mem_peer_use() follows, when the work is given. */
cj_status cji_mem_use_at(cj_stream *s, cj_device *dev, uint64_t addr, size_t bytes, const char *call, const char *what);
/* What `s`, if it is of another device, was given so far becomes a use of the memory that holds `addr`; a failure is left in `into`. */
cj_status cji_mem_peer_use(cj_stream *s, cj_device *dev, uint64_t addr, void *into, const char *call);
/* The same for a pointer among a kernel's arguments, which may be anything: kept by the capture where the table of a device of the driver knows it. */
cj_status cji_mem_retain(cj_stream *s, uint64_t addr, const char *call);
void cji_mem_unretain(cji_mem *m);
size_t cji_mem_bytes(cj_device *dev, uint64_t addr); /* of the memory that begins there; 0: the table has none */

/* A range that a node of a graph uses, kept by `refset` where the table knows it; checked as above unless `bytes` is 0.  A failure is recorded in `into`. */
typedef struct cji_range { uint64_t addr; size_t bytes; const char *what; } cji_range;
cj_status cji_mem_retain_in(cj_device *dev, cji_refset *refset, void *into, const cji_range *range, const char *call);
/* The same for a pointer among the arguments of a kernel of `home`. */
cj_status cji_mem_retain_argument(cj_device *home, cji_refset *refset, void *into, uint64_t addr, const char *call);

/* -- Copies (box_shape.c, box.c) -------------------------------------------------------------------------------------------------- */

typedef struct cji_copy_end {
    cj_device *dev; /* whose memory */
    uint64_t addr;  /* device memory, 0: host memory */
    void *host;
    size_t pitch, rows; /* 0: no gaps */
    size_t slice, reach; /* measured: bytes from slice to slice, and from the first byte to the end */
} cji_copy_end;

typedef struct cji_copy_job {
    size_t width, height, depth;
    cji_copy_end dst, src;
    char which[32]; /* what failures begin with: "item 3: " */
    size_t bytes; /* measured: 0 is nothing to copy */
    bool peer;    /* measured: memory of another device than `home`, which copies */
} cji_copy_job;

/* A copy as its description says it, for `home`, of its driver.  Failures are left in `into`. */
cj_status cji_copy_of_params(void *into, cj_device *home, const cj_copy_3d_params *box, cji_copy_job *b, const char *call);
cj_status cji_copy_between(void *into, cj_device *home, cj_device *dst_device, cj_dptr dst, cj_device *src_device, cj_dptr src, size_t bytes, cji_copy_job *b, const char *call);
/* Checks a copy and fills the fields that are measured; the ranges are not held against their allocations. */
cj_status cji_copy_measure(void *into, const cj_device *home, cji_copy_job *b, const char *call);
/* Measures a copy of a stream, checks the ranges and notes the memory as used.  Failures are left in the stream. */
cj_status cji_copy_use(cj_stream *s, cji_copy_job *b, const char *call);
/* Gives such a copy to the stream, and counts it. */
cj_status cji_copy_run(cj_stream *s, const cji_copy_job *b, const char *call);

/* -- Guests (peer.c) ------------------------------------------------------------------------------------------------- */

/* Makes the side's stream for guests wait for what `s`, a stream of another device, was given so far; *bit is its lane's.  A failure is left in `into`. */
cj_status cji_peer_use(cji_mem_state *state, cj_stream *s, uint64_t *bit, void *into, const char *call);
/* A copy in a graph of `home` with memory of `other` at an end: the driver wants access, which cuMemcpyPeerAsync does without.  A failure is left in `into`. */
cj_status cji_peer_in_graph(void *into, cj_device *home, cj_device *other, const char *call);
void cji_peer_free(cji_mem_state *state); /* context current */
void cji_fill_locations_free(cji_mem_state *state, bool idle); /* exec_fill.c; not idle: they go with the context */

/* Makes `to` wait for what `from` was given so far (order.c); context of `from` current; *doing is the driver's entry point. */
CUresult cji_stream_order_raw(cj_stream *from, CUstream to, const char **cu_call);
/* The same for a stream of the library, which a capture of `from` draws in.  Both of one driver. */
CUresult cji_stream_chain(cj_stream *from, cj_stream *to, const char **cu_call);

/* The thread's capture mode relaxed, so that the call does not harm a capture of its own thread or of another one, and put back. */
static inline CUstreamCaptureMode cji_relax(const cji_release_queue *queue)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    return queue->cu->cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS ? mode : CU_STREAM_CAPTURE_MODE_GLOBAL;
}
static inline void cji_unrelax(const cji_release_queue *queue, CUstreamCaptureMode mode) { queue->cu->cuThreadExchangeStreamCaptureMode(&mode); }

/* -- Staging (staging.c) --------------------------------------------------------------------------------------------- */

/* One piece of pinned memory that a part of a copy passes through. */
typedef struct cji_stage cji_stage;

typedef struct cji_staging {
    pthread_mutex_t lock;
    const cji_release_queue *queue;
    struct cji_slab *slabs;    /* the pinned blocks that pieces are cut from */
    cji_stage *idle[3], *busy; /* pieces by class; pieces whose copy may be under way */
} cji_staging;

void cji_staging_init(cji_staging *st, const cji_release_queue *queue);
void cji_staging_fini(cji_staging *st);    /* context current */
void cji_staging_trim(cji_staging *st);    /* gives large idle pieces back; calm */
void cji_stage_release(cji_stage *piece);  /* a kept piece whose graph is gone */

/* Rows between host and device: `to` or `from` is NULL, the device's end.  Pitches are bytes from row to row. */
typedef struct cji_rows { uint64_t dev; void *to; const void *from; size_t dev_pitch, host_pitch, width, rows; } cji_rows;

/* A copy through staging memory, captured or not; the ranges were checked, nothing is empty. */
cj_status cji_staged_rows(cj_stream *s, cji_staging *st, const cji_rows *rows, const char *call);

/* Whether a host function is one of staging, not of the user. */
bool cji_stage_has(CUhostFn fn);

/* -- Host memory (copy.c) -------------------------------------------------------------------------------------------- */

typedef enum cji_host_kind { CJI_HOST_PAGEABLE, CJI_HOST_PINNED, CJI_HOST_DEVICE } cji_host_kind;

/* What a copy of `s` takes a host range for: pinned if the driver says so of both ends, and what a capture of others is given as it is; context current. */
cji_host_kind cji_host_kind_of(const cj_stream *s, const void *p, size_t bytes);

struct cji_mem_state {
    cji_release_queue *queue;
    cj_device *dev;       /* not retained: the side is the device's own */
    pthread_mutex_t lock; /* guards the table, and location */
    cji_mem **table;      /* by address */
    size_t count, cap;
    cji_staging staging;
    pthread_mutex_t peer_lock;
    cji_slot *peer_slot; /* of the stream that waits for foreign streams; made at first use, under its lock */
    CUdeviceptr *block, *location; /* graph_exec_fill.c: blocks, and 16-byte parts of them that are free; under the lock */
    size_t nblocks, block_cap, nlocations, location_cap;
    atomic_bool graph_memory; /* a graph has allocated some */
};

#endif
