/* The lowest room of the CPU device, and the map of all rooms: the CUDA driver ABI over stream queues of its own.
 *
 *   room        header           what it does                                       prefixes of its functions
 *   exec/       exec.h           the engine: runs PTX                               cji_exec_
 *   core/       sim_core.h       settings, handles, devices, contexts, addresses         cji_sim_ctx_ _device_ _space_
 *                                work, the rooms' hooks                             _work_ _handle_ _ipc_ _rooms_
 *   module/     sim_module.h     images, linker, modules, functions                 _image_ _link_ _module_ _func_
 *   queue/      sim_queue.h      operations, their order, workers, schedules        _op_ _queue_ _schedule_ _serial_
 *   stream/     sim_stream.h     streams, events, what a capture forbids            _stream_ _event_ _capture_ _deps_
 *   memory/     sim_memory.h     allocations, pools, host and managed memory, IPC   _pool_
 *   kinds/      sim_kinds.h      the kinds of work that streams and graphs have     _kind_ _launch_ _copy_ _mem_op_
 *   graph/      sim_graph.h      captures, graphs, executable graphs, their kinds   _graph_ _node_ _step_ _cond_
 *   diagnose/   sim_diagnose.h   deadlocks, stalls                                  _deadlocks _watcher_
 *   entry/      sim_entry.h      exported calls, start and end of the process
 *
 * A room calls rooms above it in this list only. What a lower room must start in a higher one it calls through a table
 * of functions: struct sim_room (moments in the life of contexts, threads, operations), struct sim_work_kind (what one
 * kind of work does) and struct sim_graph_hooks in sim_stream.h. The entry points cji_sim_cu... are defined in the room
 * of their subject.
 *
 * Invariants.
 *   One lock (sim.lock) guards everything but the address table, which has a lock of its own, the inner one. No code of
 *   the program, no copy and no kernel runs under it.
 *   An *op* is one operation in flight. Its edges are made when it is submitted and never later. A stream is only its
 *   last op; an event is a reference to an op, taken when the event was recorded, so a later record does not move the
 *   waits that came before it.
 *   A *work* is what an op does: immutable and counted, shared by graph nodes, executable graphs and ops in flight.
 *   An op counts its unfinished predecessors. At 0 it is ready, and a worker or a thread that waits for it takes it. */
#ifndef CJI_SIM_CORE_H
#define CJI_SIM_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <cujit/sim.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cuda/abi.h"
#include "cuda/table.h"
#include "sim/exec/exec.h"

typedef struct sim_thread sim_thread;
typedef struct sim_device sim_device;
typedef struct sim_ctx sim_ctx;
typedef struct sim_stream sim_stream;
typedef struct sim_event sim_event;
typedef struct sim_op sim_op;
typedef struct sim_work sim_work;
typedef struct sim_work_kind sim_work_kind;
typedef struct sim_module sim_module;
typedef struct sim_func sim_func;
typedef struct sim_pool sim_pool;
typedef struct sim_capture sim_capture;
typedef struct sim_graph sim_graph;
typedef struct sim_node sim_node;
typedef struct sim_graph_exec sim_graph_exec;
typedef struct sim_graph_mem sim_graph_mem;
typedef struct sim_chunk sim_chunk;
typedef struct sim_array sim_array;

enum {
    SIM_DRIVER_VERSION = 13000, SIM_PTX_VERSION = 90, SIM_PRIORITIES = 6, SIM_MAX_DEVICES = 16,
    SIM_LIMITS = 7, SIM_LIMITS_KNOWN = 10
};

/* ---- Process state (sim_process.c) ------------------------------------------------------------------------------- */

struct sim_thread {
    sim_thread *next, *prev;        /* sim.threads */
    sim_ctx **stack;                /* current contexts, the last is current */
    size_t depth, cap;
    CUstreamCaptureMode mode;       /* cuThreadExchangeStreamCaptureMode */
    atomic_bool inside;             /* inside an entry point ... */
    int cancel;                     /* ... where it is not cancelled; whether it could be before */
    char why[400];                  /* why the call in progress is rejected; "": nothing to say */
    bool own_default;               /* in a call named _ptsz or _ptds: stream 0 is the thread's own */
    sim_stream *own;                /* per-thread default streams, one for each context, through sim_stream.own_next */
};

/* When ready operations begin, and which first. The semantics allow each of these orders: a program that relies on
 * more breaks under one of them. */
typedef enum sim_schedule {
    SIM_EAGER,          /* at once, side by side */
    SIM_LAZY,           /* when a thread of the program waits, else SIM_PATIENCE later */
    SIM_RANDOM,         /* one at a time, in a random order; now and then lazily */
    SIM_ADVERSARIAL     /* lazily, one at a time, the latest submitted first */
} sim_schedule;

typedef struct sim_settings {
    unsigned devices, threads, sm;  /* sm: 90 */
    char sm_suffix;                 /* 'a', 'f' or 0 */
    unsigned stall_ms;              /* 0: never */
    sim_schedule schedule;
    uint64_t seed;                  /* of SIM_RANDOM */
    bool serial;                    /* host functions of a context run one at a time */
    bool coarse;                    /* kernels may access whole pages, as on a GPU */
} sim_settings;

typedef struct sim_room sim_room;

typedef struct sim_process {
    pthread_mutex_t lock;
    atomic_bool ready;              /* cuInit has succeeded */
    atomic_int exiting;             /* set at the end of the process: kernels stop, calls return DEINITIALIZED */
    uint32_t fork_gen;              /* at cuInit */
    sim_settings set;
    sim_thread *threads;
    sim_device *device[SIM_MAX_DEVICES];
    uint64_t next_id;               /* streams, contexts, captures, nodes: never repeated */
    const sim_room *const *rooms;   /* nrooms of them, the lowest first */
    size_t nrooms;
    const sim_work_kind *const *kinds;   /* those that nodes are made with, ends with NULL */
} sim_process;
extern sim_process sim;

static inline void sim_lock(void) { pthread_mutex_lock(&sim.lock); }
static inline void sim_unlock(void) { pthread_mutex_unlock(&sim.lock); }

/* From the environment; false: the log names all that cannot be read, *why the first. */
bool cji_sim_settings_read(sim_settings *set, cji_line *why);
bool cji_sim_keys_make(void);                   /* of the threads' own data; false: the system has no more */
void cji_sim_keys_free(void);
bool cji_sim_forked(void);                      /* in a child of fork() of a process that called cuInit */
sim_thread *cji_sim_thread(void);               /* the calling thread's; NULL without memory */
void cji_sim_threads_free(void);                /* under the lock */
bool cji_sim_thread_make(pthread_t *thread, void *(*run)(void *));   /* one that takes no signals */
CUresult cji_sim_enter(bool needs_init);        /* first of an entry point; after success cji_sim_leave */
void cji_sim_leave(const char *call, CUresult r);   /* writes into the log why it is rejected */
/* Returns `r`. The sentence (its first line) is in the log when the call returns `r`, written without the lock. */
CUresult cji_sim_reject(CUresult r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cji_sim_host_section(bool inside);         /* the calling thread runs a host function: it may make no CUDA call */
bool cji_sim_in_host_section(void);

/* ---- Rooms (sim_rooms.c) ----------------------------------------------------------------------------------------- */

/* What a room does at moments that another room brings about. Under the lock; NULL: nothing. At the beginning of
 * something the lowest room is called first, else the highest. */
struct sim_room {
    const char *name;
    CUresult (*ctx_begin)(sim_ctx *c);          /* comes to life */
    void (*ctx_wait)(sim_ctx *c);               /* its work is to be waited for; may give up the lock meanwhile */
    void (*ctx_abort)(sim_ctx *c);              /* the process ends: its work ends without being done */
    void (*ctx_end)(sim_ctx *c);                /* everything in it is to be freed */
    void (*module_loaded)(void);                /* variables of a module were written */
    void (*synchronised)(sim_device *d);        /* a thread has waited for work of the device */
    void (*op_watch)(sim_op *op);               /* has begun, and may take long */
    void (*op_unwatch)(sim_op *op);             /* has ended */
    void (*thread_end)(sim_thread *t);
    void (*device_end)(sim_device *d);
    void (*process_end)(void);                  /* before the devices */
    void (*process_over)(void);                 /* after them */
};

CUresult cji_sim_rooms_ctx_begin(sim_ctx *c);
void cji_sim_rooms_ctx_wait(sim_ctx *c);
void cji_sim_rooms_ctx_abort(sim_ctx *c);
void cji_sim_rooms_ctx_end(sim_ctx *c);
void cji_sim_rooms_module_loaded(void);
void cji_sim_rooms_synchronised(sim_device *d);
void cji_sim_rooms_op_watch(sim_op *op);
void cji_sim_rooms_op_unwatch(sim_op *op);
void cji_sim_rooms_thread_end(sim_thread *t);
void cji_sim_rooms_device_end(sim_device *d);
void cji_sim_rooms_process_end(void);
void cji_sim_rooms_process_over(void);

/* ---- Handles (sim_handle.c): every live handle, so that a stale or foreign one is rejected; under the lock ------- */

typedef enum sim_kind {
    SIM_NOTHING, SIM_CTX, SIM_STREAM, SIM_EVENT, SIM_MODULE, SIM_FUNC, SIM_LINK, SIM_POOL, SIM_GRAPH, SIM_NODE,
    SIM_GRAPH_EXEC, SIM_OBJECT, SIM_CONDITION, SIM_LIBRARY, SIM_KERNEL, SIM_CHUNK, SIM_ARRAY, SIM_MIPMAP, SIM_TEXTURE,
    SIM_SURFACE
} sim_kind;

bool cji_sim_handle_add(sim_kind kind, void *p);      /* false without memory */
void cji_sim_handle_drop(void *p);
bool cji_sim_handle_is(sim_kind kind, const void *p);
/* Any live handle of a kind that is wanted (all where `wanted` is NULL); NULL: none. *at is where the search begins, 0
 * at first, and where it ends: a caller that drops each handle that it gets passes it again, and no handle is looked at
 * once for each that is dropped. */
void *cji_sim_handle_next(sim_kind kind, bool (*wanted)(const void *p, const void *user), const void *user, size_t *at);
void cji_sim_handle_table_free(void);

/* ---- Counted objects --------------------------------------------------------------------------------------------- */

/* The first member of what several hold: `end` frees it when the last reference is dropped. */
typedef struct sim_ref {
    unsigned refs;
    void (*end)(struct sim_ref *r);
} sim_ref;

static inline void cji_sim_ref_drop(sim_ref *r)
{
    if (r && --r->refs == 0) r->end(r);
}

/* ---- Contexts (sim_context.c, sim_fault.c) ----------------------------------------------------------------------- */

struct sim_ctx {
    sim_device *dev;
    uint64_t id;
    bool alive, primary;
    bool ending;                    /* a thread is in cji_sim_ctx_stop, and gives up the lock there */
    unsigned flags, retained, attached;   /* attached: by cuCtxAttach, beyond the first use */
    CUfunc_cache cache;
    size_t limit[SIM_LIMITS];
    sim_ctx *next;                  /* dev->contexts */
    /* Its fault: */
    CUresult fault;                 /* sticky; CUDA_SUCCESS none */
    int cancel;                     /* its kernels stop at their next back edge */
    cujit_sim_fault_info fault_info;   /* of the first fault */
    /* Of the queue room: */
    sim_op *first, *last;           /* unfinished ops, oldest first */
    unsigned sync_waiters;
    sim_op *host;                   /* where host functions run one at a time: the one that runs */
    sim_op *host_first, *host_last; /* the others that are ready, through next_ready */
    /* Of the stream room: */
    sim_stream *streams;            /* all, destroyed ones with pending work too */
    sim_stream *legacy;
    sim_op *begin_after;            /* held: what the first operation of a new stream comes after, or NULL */
};

CUresult cji_sim_ctx_start(sim_ctx *c, sim_device *dev);     /* under the lock: makes it alive */
void cji_sim_ctx_stop(sim_ctx *c); /* under the lock, given up meanwhile: waits, frees everything in it */
void cji_sim_ctx_settle(sim_ctx *c); /* under the lock, given up meanwhile: until no thread stops it */
bool cji_sim_ctx_flags_ok(unsigned flags);
void cji_sim_ctx_end(sim_ctx *c);          /* the process ends: frees everything in it, without its work */
CUresult cji_sim_ctx_current(sim_ctx **c); /* under the lock: the current one; its sticky fault is an error */
CUresult cji_sim_ctx_current_any(sim_ctx **c);               /* the same, whatever its fault */
/* The same for what has a context itself (memory that is freed): that one, where none is current. May be NULL. */
CUresult cji_sim_ctx_current_or(sim_ctx *other, sim_ctx **c);
CUresult cji_sim_ctx_named(CUcontext h, sim_ctx **c);        /* alive, whatever its fault; NULL: the current one */
CUresult cji_sim_ctx_for(CUcontext h, sim_ctx **out);        /* alive and without a fault; NULL: the current one */
bool cji_sim_ctx_sees(const sim_ctx *c, const sim_device *dev);   /* its kernels and copies reach memory of `dev` */
/* Under the lock: records a fault; the first one stays. */
void cji_sim_ctx_poison(sim_ctx *c, const cujit_sim_fault_info *info);

/* ---- Devices (sim_device.c, sim_attribute.c) --------------------------------------------------------------------- */

/* A pool of stream-ordered memory, or of graphs: what it counts. The memory room makes and frees pools. */
struct sim_pool {
    sim_device *dev;
    sim_pool *next;
    bool destroyed;
    uint64_t max_bytes;             /* 0: none */
    uint64_t threshold;
    uint64_t used, used_high, reserved, reserved_high;
    int reuse[3];                   /* CU_MEMPOOL_ATTR_REUSE_*; kept, all reuse is legal here */
    unsigned access;                /* bit of each other device that may reach it; of the host's: of each that may */
    bool host;                      /* its memory is the host's; it is in the list of device 0 */
    bool shared, imported;          /* other processes may import it; it is one of another process (sim_pool_share.c) */
    int file;                       /* of one of these: what names it */
};

struct sim_device {
    int ordinal;
    sim_ctx primary;
    sim_ctx *contexts;              /* made by cuCtxCreate; kept until the end, so that a stale handle is recognised */
    unsigned peers;                 /* bit of each device whose memory it may reach */
    /* Of the memory room: */
    sim_pool *default_pool, *pool;  /* pool: the current one */
    sim_pool *pools;
    sim_pool graph_pool;            /* counts memory of graphs */
    /* Addresses (sim_address.c): lo .. lo+span-1 is PROT_NONE, its bytes lie at host. */
    uint64_t lo, span;
    unsigned char *host;
    uint64_t used, committed,
        hint; /* bytes allocated; offset up to which they are accessible; no gap lies below hint */
    bool has_file;                  /* its allocations lie in a file (sim_ipc_part.c) */
    int file, file_pid;             /* file_pid: the process that made it */
    uint64_t file_end;              /* used so far */
    uint32_t file_entries;            /* the same, of the table at its beginning */
};

sim_device *cji_sim_device(CUdevice d);                      /* NULL: no such device */
void cji_sim_device_end_contexts(sim_device *d);             /* the process ends: of all devices, ... */
void cji_sim_device_end(sim_device *d);                      /* ... and then the devices: objects of one use another */
CUresult cji_sim_device_attribute(int *value, int attribute, const sim_device *dev);
int cji_sim_limit(CUdevice_attribute a);                     /* an H100's, for checks of launches */

/* ---- Sizes (sim_extent.c): every sum and product of sizes that a call names is one of these ---------------------- */

bool cji_sim_sum(uint64_t *to, uint64_t a, uint64_t b);       /* false: it does not fit 64 bits */
bool cji_sim_product(uint64_t *to, uint64_t a, uint64_t b);

/* `depth` slices, `slice` bytes apart, of `height` rows, `pitch` bytes apart, of `width` bytes. */
typedef struct sim_extent { uint64_t pitch, slice, width, height, depth; } sim_extent;
bool cji_sim_extent_bytes(const sim_extent *e, uint64_t *bytes);   /* from the first byte to behind the last */
/* Where byte x of row y of slice z lies, of an area that begins at `base`; false too where the extent from there on
 * ends beyond 64 bits. */
bool cji_sim_extent_at(const sim_extent *e, uint64_t base, uint64_t x, uint64_t y, uint64_t z, uint64_t *at);

/* ---- Addresses (sim_address.c, sim_reach.c) ---------------------------------------------------------------------- */

typedef enum sim_place {
    SIM_DEVICE, SIM_PINNED, SIM_REGISTERED, SIM_MANAGED,
    SIM_MAPPED                      /* of cuMemMap: a part of a reservation (sim_reserve.c) */
} sim_place;

/* What cuMemAdvise and cuMemPrefetchAsync set last for an allocation. */
typedef struct sim_advice { bool read_mostly; CUdevice preferred, prefetched; unsigned accessed; } sim_advice;

/* The part of a file that an allocation lies in, so that other processes may map it (sim_ipc_part.c). */
typedef struct sim_ipc_part {
    bool mapped, exported;          /* it has one; there is a handle of it */
    unsigned opens;                 /* of a handle of another process, whose file it is; 0: of this process */
    uint64_t inode, device;         /* of that file */
    uint64_t at;                    /* in the file */
    uint32_t entry;                  /* exported: index in the file's table */
} sim_ipc_part;

/* What an allocator of the program hands out of an allocation (sim_parts.c): nothing else of it may be accessed. */
typedef struct sim_part { uint64_t lo, bytes; bool live; } sim_part;
typedef struct sim_parts {
    sim_part *part; size_t n, cap;   /* by address; none overlaps another */
    sim_part *coming; size_t ncoming, coming_cap;   /* a stream has not reached them yet: its work may name them */
    bool unknown;                    /* there was no memory to note one: nothing is checked */
} sim_parts;
typedef enum sim_part_change { SIM_PART_ENDS, SIM_PART_BEGINS, SIM_PART_COMES } sim_part_change;
void cji_sim_parts_set(sim_parts *p, uint64_t lo, uint64_t bytes, sim_part_change change);
bool cji_sim_parts_come(const sim_parts *p, uint64_t address, uint64_t bytes); /* in one that is coming */
/* the last that begins at or before it, or NULL */
const sim_part *cji_sim_parts_near(const sim_parts *p, uint64_t address);
void cji_sim_parts_free(sim_parts *p);                       /* NULL is fine */

/* One allocation. Found by any address in it; addresses of pinned, registered and managed memory are host
 * addresses. */
typedef struct sim_range {
    uint64_t lo, bytes;             /* as requested */
    uint64_t room;                  /* what it takes */
    sim_place place;
    sim_device *dev;                /* where it was made */
    sim_ctx *ctx;
    sim_pool *pool;                 /* stream-ordered memory, else NULL */
    unsigned flags; /* of cuMemHostAlloc, cuMemHostRegister; of a mapping: 1 if processes may share it */
    bool module;                    /* a module's variables: not for cuMemFree */
    bool freed;                     /* stays known for a while, so that a late use can be named */
    bool absent;                    /* a graph's memory, at present not allocated */
    bool leaving;                   /* cuMemFreeAsync was called, and its stream has not reached it */
    sim_graph_mem *graph;           /* memory of a graph's allocation node, else NULL */
    bool sync_memops;               /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */
    sim_advice advice;              /* of managed memory */
    sim_ipc_part part;
    sim_parts *parts;               /* NULL: all of it may be accessed */
    uint64_t id;
    void *block;                    /* of the allocator, freed with it; NULL: none */
    size_t block_bytes;
    /* Mapped memory: */
    unsigned char *host;            /* where the host sees its bytes */
    unsigned readers, writers;      /* bit of each device that may */
    sim_chunk *chunk;               /* held */
} sim_range;

static inline bool cji_sim_range_is_host(const sim_range *r)
{
    return r->place == SIM_PINNED || r->place == SIM_REGISTERED || r->place == SIM_MANAGED;
}

bool cji_sim_space_open(sim_device *dev);                    /* reserves its addresses; false without memory */
void cji_sim_space_close(sim_device *dev);
CUresult cji_sim_space_alloc(sim_device *dev, sim_ctx *c, uint64_t bytes, sim_pool *pool, bool module,
                             CUdeviceptr *out);
/* Of cuMemAlloc: in the device's file, if there can be one; or the part of the file `fd` (-1: the device's). */
CUresult cji_sim_space_alloc_part(sim_device *dev, sim_ctx *c, uint64_t bytes, int fd, const sim_ipc_part *part,
                                  CUdeviceptr *out);
/* Finds the part where the context has it open already, and opens it once more. */
bool cji_sim_space_find_part(const sim_ctx *c, const sim_ipc_part *part, uint64_t *lo);
CUresult cji_sim_space_add(const sim_range *r);              /* memory that lies elsewhere */
/* Frees the allocation that begins there; INVALID_VALUE: there is none. */
/* Memory of the host that kernels reach, at its host address: pinned or managed. */
CUresult cji_sim_space_host(sim_ctx *c, size_t bytes, sim_place place, unsigned flags, uint64_t *at);
/* The same, pinned, in the part of the file `fd` (-1: the device's) that other processes may map. */
CUresult cji_sim_space_host_part(sim_device *dev, sim_ctx *c, uint64_t bytes, unsigned flags, int fd,
                                 const sim_ipc_part *part, uint64_t *at);
/* For a module's variables; managed: the host reaches them too. */
CUresult cji_sim_space_module(sim_ctx *c, uint64_t bytes, bool managed, CUdeviceptr *out);
CUresult cji_sim_space_drop(uint64_t lo, sim_place place, sim_range *was);
/* Calls `change` for the live allocation that begins there. */
void cji_sim_space_change(uint64_t lo, void (*change)(sim_range *r, void *user), void *user);
/* A part of device memory may be accessed from now on, or may not, and with it the rest. INVALID_VALUE: no allocation
 * of a device holds it. */
CUresult cji_sim_space_part(uint64_t lo, uint64_t bytes, sim_part_change change);
bool cji_sim_space_find(uint64_t address, sim_range *out);   /* a live allocation that holds it */
/* Whether an allocation that was found is still there, read again: for calls that gave up the lock since then. */
bool cji_sim_space_still(sim_range *r);
/* Frees everything the context made; `gone` is called for each before. */
void cji_sim_space_drop_ctx(sim_ctx *c, void (*gone)(const sim_range *r));
/* `bytes` bytes at `address` as the host sees them; NULL when they do not lie in one live allocation that `c`
 * reaches. */
unsigned char *cji_sim_space_at(const sim_ctx *c, uint64_t address, uint64_t bytes);
bool cji_sim_space_is_host(uint64_t address);                /* pinned, registered or managed */
/* Whether it is an address of a device or a reserved one, with memory or without: the host cannot touch it. */
bool cji_sim_space_hides(uint64_t address);
/* Whether copies, fills and memory operations of `c` may read, or write, these bytes; true where no access flags and no
 * read-only registration speak against it. */
bool cji_sim_space_allows(const sim_ctx *c, uint64_t address, uint64_t bytes, bool write);
/* Whether the bytes are exactly some whole mappings; then calls `change` for each, if it is not NULL. */
bool cji_sim_space_mapped(uint64_t lo, uint64_t bytes, void (*change)(sim_range *r, void *user), void *user);
bool cji_sim_space_is_outside(uint64_t address);             /* the host, or another process, may write to it */
bool cji_sim_space_why(uint64_t address, char *why, size_t size);   /* end of a sentence that begins with the address */
bool cji_sim_memory_find(void *ctx, uint64_t address, cji_exec_span *span, char *why, size_t size); /* for the engine */
const uint64_t *cji_sim_memory_changes(void);                /* counts allocations that ended or changed */
bool cji_sim_space_any(uint64_t lo, uint64_t hi);            /* a range lies in these addresses, or partly */
void cji_sim_space_end(void);

/* Reserved addresses (sim_reserve.c): PROT_NONE as a device's own; mappings are ranges in them. */
CUresult cji_sim_reserve(uint64_t bytes, uint64_t alignment, uint64_t wish, uint64_t *lo);
CUresult cji_sim_reserve_free(uint64_t lo, uint64_t bytes);  /* one without mappings; INVALID_VALUE: there is none */
unsigned char *cji_sim_reserve_host(uint64_t lo, uint64_t bytes);   /* NULL: not within one reservation */
bool cji_sim_reserve_holds(uint64_t address);                /* any thread */
void cji_sim_reserve_end(void);

/* ---- Between processes (sim_ipc_file.c, sim_ipc_part.c) ---------------------------------------------------------- */

/* Processes share files that have no name (memfd), so that nothing is left behind when they are killed. A handle names
 * a process, a descriptor in it and the identity of the file behind that; another process opens it through /proc,
 * while the first still has it. */
enum { SIM_IPC_HANDLE_BYTES = 64 };
/* SIM_IPC_POOL_MEMORY has the number of its pool above it, from bit 4 on. */
typedef enum sim_ipc_kind { SIM_IPC_EVENT = 1, SIM_IPC_MEMORY = 2, SIM_IPC_POOL_MEMORY = 3 } sim_ipc_kind;

int cji_sim_ipc_file_make(const char *name, uint64_t bytes); /* all 0; cannot be cut; -1: the system has no more */
bool cji_sim_ipc_file_grow(int fd, uint64_t bytes);          /* to that size */
bool cji_sim_ipc_file_is_ours(int fd);                       /* made by the call above, in any process */

/* What a handle leads to: `bytes` at `at` of a file. */
typedef struct sim_ipc_way { int fd; uint32_t entry; uint64_t inode, device, at, bytes; } sim_ipc_way;
/* Fills the 64 bytes at `out` from fd, entry, at and bytes; false: the system does not describe the file. */
bool cji_sim_ipc_handle_fill(void *out, sim_ipc_kind kind, const sim_ipc_way *way);
/* Opens what the 64 bytes at `handle` lead to. INVALID_VALUE: they are no handle of that kind; INVALID_CONTEXT: of
 * this process; INVALID_HANDLE: there is nothing any more, or it may not be opened. */
CUresult cji_sim_ipc_handle_open(const void *handle, sim_ipc_kind kind, sim_ipc_way *way);

/* Under the address table's lock. The allocation gets its bytes from a file: the part of `fd`, or, where that is -1, a
 * new one of its device's. False: it has none. */
bool cji_sim_ipc_part_begin(sim_range *r, int fd, const sim_ipc_part *part);
void cji_sim_ipc_part_end(sim_range *r);                     /* it is freed */
void cji_sim_ipc_part_close(sim_device *dev);
/* For cji_sim_space_change: fills the sim_ipc_way at `way` for a handle; its fd stays -1 where there can be none. */
void cji_sim_ipc_part_export(sim_range *r, void *way);
bool cji_sim_ipc_part_lives(const sim_ipc_way *way); /* the allocation that a handle leads to has not been freed */

/* ---- Kinds of work (sim_work.c) ---------------------------------------------------------------------------------- */

/* A memory wait: until the 4 or 8 bytes at an address fit a value. */
typedef struct sim_mem_wait { uint64_t at, value; unsigned flags; bool wide; } sim_mem_wait;
/* A write whose value is known beforehand: `height` rows of `width` bytes that repeat an element of 1 to 8 bytes. */
typedef struct sim_mem_write { uint64_t at, pitch, width, height, value; unsigned element; } sim_mem_write;

enum {
    SIM_WORK_HELPS = 1,             /* a thread that waits for its stream may run it */
    SIM_WORK_HOST = 2,              /* calls a function of the program */
    SIM_WORK_AFTER_FAULT = 4,       /* is done in a context with a fault too */
    SIM_WORK_WRITES_ANYTHING = 8,   /* may change any memory, or unblock a thread that does */
    SIM_WORK_OF_GRAPHS = 16         /* its kind is a sim_graph_kind of the graph room */
};

/* What one kind of work does. One constant for each kind, in the file that is named after it; NULL: nothing, or the
 * ordinary thing. Works of a kind begin with a sim_work; the rest is known to its file. */
struct sim_work_kind {
    const char *name;               /* as cuGraphDebugDotPrint prints it */
    CUgraphNodeType node_type;      /* of a node with it */
    unsigned traits;                /* SIM_WORK_* */
    void (*drop)(sim_work *w);      /* the last reference is dropped: releases what it holds */
    /* In the queue: */
    void (*run)(sim_op *op);        /* without the lock */
    void (*begin)(sim_op *op);      /* instead of run: under the lock; it finishes the op, or others do */
    cji_exec_grid *(*open)(sim_op *op);   /* instead of run: a grid for several threads; NULL: it has failed */
    void (*close)(sim_op *op);      /* under the lock: no thread works on op->grid any more */
    int (*level)(const sim_work *w, int stream);   /* its priority; stream: the stream's */
    /* In nodes, under the lock: */
    /* Makes a work from parameters. g: where the node will be; NULL: a node that exists. */
    CUresult (*read_params)(CUgraphNodeParams *p, sim_graph *g, sim_work **out);
    void (*write_params)(const sim_work *w, CUgraphNodeParams *p);
    /* Both are of this kind: whether b may replace a in an update; NULL: in the same context. */
    CUgraphExecUpdateResult (*alike)(const sim_work *a, const sim_work *b);
    bool (*replaces)(const sim_work *old, const sim_work *w); /* in one node; NULL: always */
    bool fixed;                     /* nodes that exist keep their parameters: read_params wants a graph */
    void (*attach)(sim_work *w, sim_node *node);   /* the node owns it now; NULL: no node does any more */
    sim_work *(*copy)(sim_work *w); /* for a copy of its graph; NULL without memory */
    /* For reports: */
    const char *(*label)(const sim_work *w);       /* a kernel's name */
    const void *(*code)(const sim_work *w);        /* a host function's address */
    size_t (*items)(const sim_work *w);            /* memory operations in it; NULL: none */
    bool (*wait_at)(const sim_work *w, size_t i, sim_mem_wait *out);     /* its i-th is a wait */
    bool (*write_at)(const sim_work *w, size_t i, sim_mem_write *out);   /* ... a write of a known value */
};

struct sim_work {
    unsigned refs;
    const sim_work_kind *kind;
    size_t size;                    /* of this block */
    sim_ctx *ctx;
};

const sim_work_kind *cji_sim_work_kind(CUgraphNodeType type);   /* that makes such nodes; NULL: none */
/* All zero; one reference; NULL without memory. */
sim_work *cji_sim_work_new(const sim_work_kind *kind, sim_ctx *c, size_t size);
sim_work *cji_sim_work_hold(sim_work *w);
void cji_sim_work_drop(sim_work *w);
static inline bool cji_sim_work_has(const sim_work *w, unsigned trait) { return w && (w->kind->traits & trait); }

/* ---- The entry points themselves, one for each row: cji_sim_cuInit ... ------------------------------------------- */
#define CU(name, export, version, need, count, list) CUresult cji_sim_##name(CJI_CU_DECL(count, list));
#include "cuda/symbols.def"
/* What takes a handle by value. */
#define CU(name, export, version, count, list) CUresult cji_sim_##name(CJI_CU_DECL(count, list));
#include "cuda/byvalue.def"
/* What libcujit does not use. */
#define CU(name, export, version, count, list) CUresult cji_sim_##name(CJI_CU_DECL(count, list));
#include "cuda/exports.def"

#endif
