/* The room memory: device memory in stream order, copies, fills, staging, managed, IPC and peer memory, memory
 * operations. Prefixes: cji_mem, cji_copy, cji_fill, cji_staging, cji_stage, cji_peer.  Calls the room core, nothing
 * of the room graph.
 *
 *   alloc_table.c   the device's state and its table of memory
 *   mem_alloc.c     allocations; mem_free.c: their release; ipc_mem.c: between processes
 *   mem_use.c       uses: ranges checked, noted, retained by captures and graphs
 *   mem_info.c      what memory an address is in
 *   copy.c          the calls that copy; copy_batch.c: many at once
 *   copy_span.c     copies of one range: the usual ones
 *   copy_shape.c    a copy read from its description and measured
 *   copy_3d.c       a measured copy enqueued
 *   fill.c          fills
 *   staging.c       pageable host memory through pinned pieces
 *   managed.c       prefetch and advice
 *   peer.c          access to other devices, and uses by their streams
 *   mem_ops.c       memory operations of streams
 *
 * Locks: base/lock_order.def. */
#ifndef CJI_STREAM_MEMORY_H
#define CJI_STREAM_MEMORY_H

#include <cujit/copy.h>
#include <cujit/memory.h>

#include "stream/core/stream_core.h"

/* -- Allocations --------------------------------------------------------------------------------------------------- */

typedef struct cji_mem cji_mem;
typedef struct cji_mem_state cji_mem_state;

/* Where memory comes from, and how it is released. */
typedef struct cji_mem_type {
    cj_mem_kind kind;
    const char *name, *cu_call; /* in failures: the entry point that allocates */
    bool ordered; /* can be released in the order of a stream */
    bool foreign; /* somebody else allocates it, so that the table may have it already */
    /* `handle`: of what is imported. */
    CUresult (*alloc)(cj_stream *s, const cji_mem *m, const CUipcMemHandle *handle, CUdeviceptr *d);
    CUresult (*release)(const cji_mem *m);  /* at once, in a scope */
    /* Of a graph's memory alone, whose owner is what retains it: it stays in the table as long. */
    /* cj_free; the state's lock is held on entry and not on return */
    cj_status (*free)(cji_mem *m, cj_device *dev, const char *call);
    bool (*there)(const cji_mem *m);        /* whether there is something to release */
    void (*destroy)(cji_mem *m);            /* frees the cji_mem */
} cji_mem_type;

/* A piece of memory of a device's table. */
struct cji_mem {
    cji_deferred deferred;
    cji_mem_state *state;
    const cji_mem_type *type;
    uint64_t addr;
    size_t bytes;
    /* referenced; under the queue's lock, changed under the state's too.  Of a graph's: where it was launched last;
     * NULL before */
    cji_slot *home;
    atomic_uint_fast64_t used; /* slots other than home */
    uint32_t retained;         /* sets that retain it, and its device too; with what follows under the state's lock */
    bool freed;                /* by the user */
};

/* What cj_free took: nobody may use it until an allocation has the address again. */
/* pending: its release is deferred */
typedef struct cji_freed { uint64_t addr; size_t bytes; const cji_mem *pending; } cji_freed;
enum { CJI_FREED = 64 }; /* the latest ones of a device are remembered */

/* -- Staging (staging.c) ------------------------------------------------------------------------------------------- */

/* One piece of pinned memory that a part of a copy passes through. */
typedef struct cji_stage cji_stage;

typedef struct cji_staging {
    pthread_mutex_t lock;
    const cji_release_queue *queue;
    struct cji_slab *slabs;    /* the pinned blocks that pieces are cut from */
    cji_stage *idle[3], *busy; /* pieces by class; pieces whose copy may be under way */
} cji_staging;

void cji_staging_init(cji_staging *st, const cji_release_queue *queue);
void cji_staging_fini(cji_staging *st); /* in a scope */
void cji_staging_trim(cji_staging *st); /* releases large idle pieces; in a scope */

/* Rows between host and device: `to` or `from` is NULL, the device's end.  Pitches are bytes from row to row. */
typedef struct cji_rows {
    uint64_t dev;
    void *to;
    const void *from;
    size_t dev_pitch, host_pitch, width, rows;
} cji_rows;

/* A copy through staging memory, captured or not; the ranges were checked, nothing is empty. */
cj_status cji_staging_copy(cj_stream *s, cji_staging *st, const cji_rows *rows, const char *call);

/* Whether a host function is one of staging, not of the user. */
bool cji_stage_has(CUhostFn fn);

/* -- The device's state (alloc_table.c) ---------------------------------------------------------------------------- */

struct cji_mem_state {
    cji_device_state base;
    cji_release_queue *queue;
    cj_device *dev;       /* not retained: the state is the device's own */
    pthread_mutex_t lock; /* guards the table and what was freed */
    cji_mem **table;      /* by address */
    size_t count, cap;
    cji_freed freed[CJI_FREED];
    unsigned nfreed;      /* how often one was entered */
    cji_staging staging;
    pthread_mutex_t peer_lock;
    cji_slot *peer_slot; /* of the stream that waits for other devices' streams; made at first use, under its lock */
};

/* Made at first use; NULL without memory. */
cji_mem_state *cji_mem_state_make(cj_device *dev);
static inline cji_mem_state *cji_mem_state_of(cj_device *dev)
{
    cji_device_state *state = cji_release_queue_state(&dev->queue, CJI_STATE_MEMORY);
    return state ? (cji_mem_state *)state : cji_mem_state_make(dev);
}

/* The table; with the state's lock held. */
cji_mem *cji_mem_holder(const cji_mem_state *state, uint64_t addr);
/* whether an allocation has a byte of the range */
bool cji_mem_overlaps(const cji_mem_state *state, uint64_t addr, size_t bytes);
bool cji_mem_insert(cji_mem_state *state, cji_mem *m); /* false without memory */
void cji_mem_remove(cji_mem_state *state, const cji_mem *m);
size_t cji_mem_bytes(cj_device *dev, uint64_t addr); /* of the memory that begins there; 0: the table has none */
/* Whose memory an address leads to, retained: `home`, unless the table of another device of the driver has it. */
cj_device *cji_mem_owner(cj_device *home, uint64_t addr);

/* -- Making and releasing (mem_alloc.c, mem_free.c) ---------------------------------------------------------------- */

/* `at`: of a range that is wrapped; `handle`: of what is imported. */
cj_dptr cji_mem_alloc(cj_stream *s, size_t bytes, const cji_mem_type *type, uint64_t at, const CUipcMemHandle *handle,
                      const char *call);
extern const cji_mem_type cji_mem_imported; /* ipc_mem.c */

/* The user has taken or freed memory whose home the slot is. */
void cji_mem_held(cji_slot *home, int64_t change);
/* Released in the order of its home stream, if it is of the kind that can, and that stream is there and not captured;
 * queue's lock held, in a scope. */
CUresult cji_mem_free_ordered(const cji_mem *m); /* CUDA_ERROR_NOT_READY: it is not, and not now */
/* Out of the table or of a graph, and nothing retains it. */
void cji_mem_release(cji_mem *m);
/* A set retains it no more. */
void cji_mem_unretain(cji_mem *m);

/* -- Uses (mem_use.c) ---------------------------------------------------------------------------------------------- */

extern const cji_ref_type cji_ref_memory; /* a cji_mem, whose `retained` counts the reference */

/* Memory that a call is about to use; `what` names it in failures.  `bytes` 0: an argument of a kernel, which may be
 * anything. */
typedef struct cji_range { uint64_t addr; size_t bytes; const char *what; } cji_range;

/* By work of `s`: checked against the allocation of `dev` that holds its start, if one of the table does; noted as
 * used on the stream, or retained by its capture. A failure is left in the stream.  For memory of another device than
 * the stream's cji_mem_peer_use() follows, behind the work. */
cj_status cji_mem_use(cj_stream *s, cj_device *dev, const cji_range *range, const char *call);
/* What was enqueued so far on `s`, if it is of another device, becomes a use of the memory that holds `addr`; a
 * failure is left in `s`. */
cj_status cji_mem_peer_use(cj_stream *s, cj_device *dev, uint64_t addr, const char *call);
/* A pointer among the arguments of a captured kernel: retained by the capture where the table of a device of the
 * driver has it. */
cj_status cji_mem_use_argument(cj_stream *s, cji_capture *c, uint64_t addr, const char *call);

/* By a node of a graph: retained by `refset` where the table has it; checked as above.  A failure is recorded in
 * `into`. */
cj_status cji_mem_retain(cj_device *dev, cji_refset *refset, void *into, const cji_range *range, const char *call);
/* A pointer among the arguments of a kernel node of `home`. */
cj_status cji_mem_retain_argument(cj_device *home, cji_refset *refset, void *into, uint64_t addr, const char *call);

/* -- Peers (peer.c) ------------------------------------------------------------------------------------------------ */

/* Makes the state's stream for peers wait for what was enqueued so far on `s`, a stream of another device; *bit is
 * its slot's.  A failure is left in `s`. */
cj_status cji_peer_use(cji_mem_state *state, cj_stream *s, uint64_t *bit, const char *call);
/* A copy in a graph of `home` with memory of `other` at an end: the driver wants access, which cuMemcpyPeerAsync does
 * without.  A failure is left in `into`. */
cj_status cji_peer_in_graph(void *into, cj_device *home, cj_device *other, const char *call);
void cji_peer_free(cji_mem_state *state); /* in a scope */

/* -- Copies (copy_span.c, copy_shape.c, copy_3d.c) ----------------------------------------------------------------- */

typedef struct cji_copy_end {
    cj_device *dev; /* whose memory */
    uint64_t addr;  /* device memory, 0: host memory */
    void *host;
    size_t pitch, rows; /* 0: no gaps */
    size_t slice, reach; /* measured: bytes from slice to slice, and from the first byte to the end */
} cji_copy_end;

typedef enum cji_host_kind { CJI_HOST_PAGEABLE, CJI_HOST_PINNED, CJI_HOST_INVALID } cji_host_kind;

/* What a copy of `s` takes host memory for: pinned if the driver reports it for both ends of the range, and in a
 * capture that somebody else began, where nobody would retain a staging piece; context current.
 * CJI_HOST_INVALID: it is device memory, a failure that is left in `s`. */
cji_host_kind cji_host_kind_of(cj_stream *s, const void *p, size_t bytes, const char *which, const char *call);

/* One range on the stream's device, of which one end may be host memory: `to` in place of `dst`, `from` in place of
 * `src`. */
typedef struct cji_span {
    uint64_t dst, src;
    void *to;
    const void *from;
    size_t bytes;
    const char *which; /* as of a cji_copy */
} cji_span;

/* Enqueues such a copy, which was checked, and counts it; context current.  Failures are left in the stream. */
cj_status cji_copy_span(cj_stream *s, const cji_span *j, const char *call);
void cji_copy_count(cj_stream *s, bool to_host, bool from_host, size_t bytes);

/* A copy between any two ends: a plain one is one row. */
typedef struct cji_copy {
    size_t width, height, depth;
    cji_copy_end dst, src;
    const char *which; /* what failures begin with: "item 3: ", or "" */
    size_t bytes; /* measured: 0 is nothing to copy */
    bool peer;    /* measured: memory of another device than `home`, which copies */
} cji_copy;

/* One row of `bytes`; the ends' devices are `home`. */
cji_copy cji_copy_row(cj_device *home, cji_copy_end dst, cji_copy_end src, size_t bytes);
/* A copy as its description says it, for `home`, of its driver.  Failures are left in `into`. */
cj_status cji_copy_of_params(void *into, cj_device *home, const cj_copy_3d_params *params, cji_copy *b,
                             const char *call);
cj_status cji_copy_between(void *into, cj_device *home, cj_device *dst_device, cj_dptr dst, cj_device *src_device,
                           cj_dptr src, size_t bytes, cji_copy *b, const char *call);
/* Checks a copy and fills the fields that are measured; the ranges are not held against their allocations. */
cj_status cji_copy_measure(void *into, const cj_device *home, cji_copy *b, const char *call);
/* The driver's description of a measured copy. */
CUDA_MEMCPY3D cji_copy_params(const cji_copy *b);
/* Measures a copy of a stream, checks the ranges and notes the memory as used.  Failures are left in the stream. */
cj_status cji_copy_use(cj_stream *s, cji_copy *b, const char *call);
/* Enqueues such a copy, and counts it. */
cj_status cji_copy_run(cj_stream *s, const cji_copy *b, const char *call);

/* -- Fills (fill.c) ------------------------------------------------------------------------------------------------ */

/* `height` rows of `width` elements of `size` bytes, a row every `pitch` bytes. */
typedef struct cji_fill { uint64_t to, value; size_t size, pitch, width, height; } cji_fill;

/* Checks everything but the memory; *reach is the bytes from the first to the end.  Failures are left in `into`. */
cj_status cji_fill_measure(void *into, cji_fill *f, size_t *reach, const char *call);
/* The element of a fill of rows; the value fits into it. */
cj_status cji_fill_2d_check(void *into, size_t element_bytes, uint32_t value, const char *call);
/* The fill as fills of elements that the driver has, which are at most two; their number. */
unsigned cji_fill_split(const cji_fill *f, cji_fill part[2]);

/* -- Memory operations (mem_ops.c) --------------------------------------------------------------------------------- */

typedef struct cji_mem_op_job {
    uint64_t at, value;
    int how; /* a cj_compare, of a wait */
    bool wait, wide;
    char which[32], what[48]; /* what failures begin with: "op 3: "; and what its memory is called in them */
} cji_mem_op_job;

/* Their number; op `i`, checked but for its memory; its parameters for the driver.  Failures are recorded in `into`. */
cj_status cji_mem_ops_count(void *into, const cj_mem_op *ops, size_t count, const char *call);
cj_status cji_mem_op_take(void *into, const cj_mem_op *ops, size_t i, cji_mem_op_job *j, const char *call);
void cji_mem_op_params(const cji_mem_op_job *j, CUstreamBatchMemOpParams *p);

#endif
