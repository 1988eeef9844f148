/* The room pipeline: input that passes devices in chunks.  Prefixes cji_pipeline, cji_lane, cji_ring.  Calls the rooms
 * core and memory.
 *
 *   pipeline.c          pipelines made, freed, cancelled, begun again; statistics
 *   pipeline_lane.c     a device's streams and its ring of buffers
 *   pipeline_next.c     what is to be done next: the pull form
 *   pipeline_done.c     what was done: work enqueued, chunks counted
 *   pipeline_failure.c  failures, as they are reported
 *   pipeline_blame.c    which chunk the failure of a device is assigned to
 *   pipeline_depth.c    overlap and the ring's size, from measured times
 *   pipeline_link.c     copies without kernels, timed
 *   pipeline_work.c     the form with callbacks
 *
 * Who completes, and when.  A chunk has a slot of one lane from its fill to its drain.  One thread at a time fills, one
 * launches, one drains: the flags `filling`, `launching`, `draining` are such rights.  Who has one enqueues work and
 * calls callbacks without the lock; a slot that is handed out belongs to who has the right.  A slot is used again only
 * when it was drained, and it is drained only when the event behind its last work is reached; so no work of the slot's
 * last chunk is under way then.  A pipeline has ended when nobody has a right, and it either drained what it should, or
 * has stopped and all its streams are idle: nothing uses the buffers any more.
 *
 * Locks: base/lock_order.def. */
#ifndef CJI_STREAM_PIPELINE_H
#define CJI_STREAM_PIPELINE_H

#include <cujit/copy.h>
#include <cujit/pipeline.h>

#include "stream/memory/stream_memory.h"

enum { CJI_LANES_MAX = 64, CJI_RING_MAX = 64 };

/* What a slot's chunk waits for, or is in. */
typedef enum cji_ring_state {
    CJI_RING_FREE,
    CJI_RING_FILLING,
    CJI_RING_FILLED,    /* its upload is enqueued */
    CJI_RING_LAUNCHING,
    CJI_RING_RUNNING,   /* all its work is enqueued */
    CJI_RING_DRAINING,
    CJI_RING_DROPPED    /* it failed, or the pipeline has stopped; its work may be under way */
} cji_ring_state;

/* Stages of a device that have points; a stage that is left out has none. */
typedef enum cji_ring_stage { CJI_RING_UPLOAD, CJI_RING_COMPUTE, CJI_RING_DOWNLOAD, CJI_RING_STAGES } cji_ring_stage;

/* Of chunks that overlap, one in so many is timed: an event that takes the time costs a copy engine some microseconds
 * between two copies. */
enum { CJI_TIMED_EVERY = 8 };

/* Where a stage of a chunk begins and ends. */
typedef struct cji_ring_points {
    cj_event *from, *to; /* with their times */
    cj_event *end;       /* of a chunk that is not timed */
} cji_ring_points;

typedef struct cji_ring_slot {
    cji_ring_state state;
    bool overlap;                /* its work is on three streams */
    bool timed;                  /* its stages are */
    bool reported;               /* the stage that was handed out is done */
    bool begun_launch;           /* its kernels may be enqueued, and `serial` is set */
    cj_chunk chunk;
    void *in_host, *out_host;    /* the slot's own buffers */
    cj_dptr in, out;
    cji_ring_points points[CJI_RING_STAGES];
    uint32_t serial;             /* of the lane's launches: the how many-th */
    uint64_t begun, since;       /* when the chunk was handed out first, and last; nanoseconds */
    double fill, launch;         /* seconds */
} cji_ring_slot;

/* Times of a chunk, in seconds: by stage, and of all of them when it runs alone. */
typedef struct cji_pipeline_times {
    double fill, upload, launch, compute, download, drain;
    double whole;
} cji_pipeline_times;

/* A device of a pipeline. */
typedef struct cji_lane {
    cj_device *dev;          /* retained */
    cj_stream *compute;
    cj_stream *up, *down;    /* NULL until stages overlap */
    cji_ring_slot slot[CJI_RING_MAX];
    uint32_t slots;          /* made */
    uint32_t depth;          /* in use: the first ones */
    uint32_t under_way;      /* that have a chunk */
    bool growing;            /* a thread makes slots */
    void *word;              /* pinned: what `computed` points to */
    const uint32_t *computed; /* launches whose work has completed, by the device; NULL: it cannot write it */
    uint32_t launched;       /* of `computed` */
    double slot_seconds;     /* that making a slot takes; 0: none was made */
    /* the times of chunks that ran alone, the shortest of each */
    cji_pipeline_times alone;
    uint32_t alone_count;
    bool decided;            /* depth and overlap are chosen */
    bool overlap;            /* chosen, or requested */
    uint32_t watched;        /* chunks drained since the stages overlap, and the time of the first of them */
    uint64_t watched_since;
    uint64_t dealt, drained, timed; /* chunks; timed: of those that are drained */
    cji_pipeline_times sum;  /* of the timed ones */
} cji_lane;

struct cj_pipeline {
    cji_obj obj;
    cj_pipeline_opts o;      /* with defaults filled in; .devices is NULL */
    uint64_t chunk_ratio;    /* .chunk as it was requested, of which .out_chunk is the output */
    uint64_t count;          /* of chunks */
    cji_lane *lane[CJI_LANES_MAX];
    uint32_t lanes;
    bool callbacks;
    pthread_mutex_t lock;    /* guards what follows, and the slots' states */
    uint64_t next_fill, next_launch, next_drain; /* numbers of chunks; drained ones are counted */
    bool filling, launching, draining;
    bool stopped;            /* nothing more is handed out */
    bool dead;               /* a device has failed */
    bool ended;
    uint64_t limit;          /* only chunks before it are launched and drained */
    uint64_t failed_chunk;   /* whose failure `why` is; UINT64_MAX: of none */
    cji_kept why;            /* the failure */
    uint64_t begun, finished; /* when the first chunk was handed out and the last was drained; 0: not yet */
    double setup;
    uint64_t bytes_in, bytes_out;
    double fill, launch, drain;
    bool overlapped;
    double link_per_byte;    /* seconds for a byte of input and its output; 0: not measured */
};

/* -- Lanes (pipeline_lane.c) --------------------------------------------------------------------------------------- */

/* NULL: recorded in `p`. */
cji_lane *cji_lane_make(cj_pipeline *p, cj_device *dev, const char *call);
/* All its work has completed. */
void cji_lane_free(cj_pipeline *p, cji_lane *lane);
/* Makes slots until there are `slots`; of more than one, and streams for overlap.  Without the pipeline's lock.  A
 * failure is recorded in `p`: there are those that were made. */
cj_status cji_lane_grow(cj_pipeline *p, cji_lane *lane, uint32_t slots, bool overlap, const char *call);
/* CJ_ENOTREADY while work of the lane's streams is under way.  CJ_EDRIVER: the device has failed, which is the thread's
 * latest failure. */
cj_status cji_lane_idle(cji_lane *lane);
/* Waits until the lane is idle; what it failed with is nobody's. */
void cji_lane_settle(cji_lane *lane);

/* -- Next (pipeline_next.c) ---------------------------------------------------------------------------------------- */

/* The point behind a slot's last work. */
cj_event *cji_ring_end(const cj_pipeline *p, const cji_ring_slot *slot);
/* The point behind a stage of its chunk. */
cj_event *cji_ring_point(const cji_ring_slot *slot, cji_ring_stage stage);
/* What is to be done next; NULL with CJ_OK: the pipeline has ended well; with CJ_ENOTREADY: nothing yet. */
cj_status cji_pipeline_find(cj_pipeline *p, cji_ring_slot **found, const char *call);
/* The same until the deadline. */
cj_status cji_pipeline_find_until(cj_pipeline *p, cji_ring_slot **found, uint64_t deadline, const char *call);
/* The fields that fill and launch may change are those of *chunk. */
void cji_ring_changed(cji_ring_slot *slot, const cj_chunk *chunk);

/* -- Done (pipeline_done.c) ---------------------------------------------------------------------------------------- */

/* The kernels of a slot's chunk, which the caller will enqueue, wait for its upload; without the lock.  A failure is
 * the thread's latest one. */
cj_status cji_ring_begin(cj_pipeline *p, cji_ring_slot *slot, const char *call);
/* The stage of a slot that was handed out is done. */
void cji_pipeline_did(cj_pipeline *p, cji_ring_slot *slot, cj_status status, const char *call);
/* The bytes of output that a chunk with so much input has. */
size_t cji_pipeline_out_bytes(const cj_pipeline *p, size_t in_bytes);

/* -- Failures (pipeline_failure.c) --------------------------------------------------------------------------------- */

/* The thread's latest failure, or with `status` what a callback returned, is that of a slot's chunk in a stage, unless
 * its device has failed: that may be another chunk's failure.  With the lock held.  Chunks before it pass all stages,
 * unless `stop`. */
void cji_pipeline_fail_in(cj_pipeline *p, const cji_ring_slot *slot, cj_pipeline_stage stage, cj_status status,
                          bool stop, const char *call);
/* A device has failed, which is the thread's latest failure; with the lock held. */
void cji_pipeline_dies(cj_pipeline *p, cji_lane *lane, const char *call);
/* The pipeline's failure becomes the thread's latest one; CJ_OK: it has none. */
cj_status cji_pipeline_failure(cj_pipeline *p);
cji_lane *cji_pipeline_lane_of(cj_pipeline *p, const cji_ring_slot *slot);

/* -- Blame (pipeline_blame.c) -------------------------------------------------------------------------------------- */

typedef struct cji_blame {
    uint64_t first, last;    /* chunks; equal: of this one */
    cj_pipeline_stage stage;
    enum {
        CJI_BLAME_CHUNKS,    /* of one of these chunks */
        CJI_BLAME_FIRST,     /* nothing is known: of `first`, which is not known to be complete, or of a later one */
        CJI_BLAME_DEVICE     /* the device describes a fault that is no chunk's by its stream or address */
    } how;
} cji_blame;

/* The chunks that the failure of a lane's device may be of; with the lock held. */
void cji_pipeline_blame(const cj_pipeline *p, const cji_lane *lane, cji_blame *b);

/* -- Depth (pipeline_depth.c) -------------------------------------------------------------------------------------- */

typedef struct cji_depth_question {
    cji_pipeline_times alone;
    int engines;         /* copy engines of the device: 0 copies do not overlap anything, 1 not each other */
    uint64_t chunks;     /* that are to pass */
    uint32_t have;       /* slots that are made */
    uint32_t least, most;
    double slot_seconds; /* to make one more */
    uint32_t runs;       /* that share this cost */
} cji_depth_question;

/* The number of slots with which the chunks pass in the shortest time; 1: without overlap. */
uint32_t cji_depth_best(const cji_depth_question *q);
/* The stage that limits the throughput when stages overlap, in seconds. */
double cji_depth_bound(const cji_pipeline_times *t, int engines);
/* A chunk of a lane is drained: its times are noted; with the lock held.  True: the lane's ring is to be grown to
 * *slots, which cji_depth_grown() ends. */
bool cji_depth_note(cj_pipeline *p, cji_lane *lane, const cji_ring_slot *slot, const cji_pipeline_times *t,
                    uint32_t *slots);
void cji_depth_grown(cj_pipeline *p, cji_lane *lane, uint32_t wanted);
/* What is known is applied to a run that begins: slots in use.  Returns how many are to be made. */
uint32_t cji_depth_begin(cj_pipeline *p, cji_lane *lane);

/* -- Link (pipeline_link.c) ---------------------------------------------------------------------------------------- */

cj_status cji_pipeline_measure(cj_pipeline *p, const char *call);

/* -- Work (pipeline.c, pipeline_work.c) ---------------------------------------------------------------------------- */

cj_pipeline *cji_pipeline_make(cj_device *dev, const cj_pipeline_opts *opts, const char *call);
cj_status cji_pipeline_work(cj_pipeline *p, const char *call);
void cji_pipeline_read(cj_pipeline *p, cj_pipeline_stats *now);

static inline double cji_seconds(uint64_t ns) { return (double)ns / 1e9; }

#endif
