/* The CPU device's driver: the CUDA driver ABI over stream queues of its own.  This is the map of the part.
 *
 *   thread, process state, settings, entry and exit of calls      sim_state.c
 *   exported entry points, cuGetProcAddress                       sim_entry.c (made from cuda/symbols.def)
 *   handles                                                       sim_handle.c
 *   devices, their attributes, contexts                           sim_device.c, sim_attribute.c, sim_context.c
 *   address ranges, allocations, pinned memory, pools             sim_address.c, sim_memory.c, sim_pinned.c, sim_pool.c
 *   operations, their order, the workers, schedules               sim_queue.c, sim_worker.c, sim_schedule.c, sim_stall.c
 *   streams, events, host functions, values, copies               sim_stream.c, sim_event.c, sim_host.c, sim_value.c, sim_copy.c
 *   images, linker, modules, functions, launches                  sim_image.c, sim_link.c, sim_module.c, sim_function.c, sim_launch.c
 *   capture, graphs, nodes                                        sim_capture.c, sim_graph.c, sim_node.c
 *   executable graphs, their updates, conditional nodes           sim_exec.c, sim_update.c, sim_cond.c
 *   memory of graphs, user objects                                sim_graphmem.c, sim_object.c
 *
 * Invariants.
 *   One lock (sd.lock) guards everything here but the address table, which has its own and is the inner one.  No user code, no copy and
 *   no kernel runs under it.
 *   An *op* is one operation in flight: a node of a graph of operations whose edges are made when it is submitted and never later.
 *   A stream is only its last op; an event is a reference to an op, taken when it was recorded (a versioned point), so a later
 *   record does not move the waits that came before it.
 *   A *work* is what an op does: immutable and counted, shared by graph nodes, executable graphs and ops in flight.
 *   An op counts its unfinished predecessors; at 0 it is ready, and a worker or a thread that waits for it takes it. */
#ifndef CJI_SIM_SIMCORE_H
#define CJI_SIM_SIMCORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/log.h"
#include "base/mem.h"
#include "cuda/abi.h"
#include "cuda/table.h"
#include "sim/exec/exec.h"

typedef struct sd_thread sd_thread;
typedef struct sd_device sd_device;
typedef struct sd_ctx sd_ctx;
typedef struct sd_stream sd_stream;
typedef struct sd_event sd_event;
typedef struct sd_op sd_op;
typedef struct sd_work sd_work;
typedef struct sd_module sd_module;
typedef struct sd_func sd_func;
typedef struct sd_pool sd_pool;
typedef struct sd_capture sd_capture;
typedef struct sd_graph sd_graph;
typedef struct sd_node sd_node;
typedef struct sd_exec sd_exec;
typedef struct sd_object sd_object;
typedef struct sd_bag sd_bag;
typedef struct sd_cond sd_cond;
typedef struct sd_gmem sd_gmem;

enum { SD_DRIVER_VERSION = 13000, SD_PTX_VERSION = 90, SD_PRIORITIES = 6, SD_MAX_WORKERS = 160, SD_MAX_DEVICES = 16, SD_LIMITS = 7, SD_LIMITS_KNOWN = 10, SD_JIT_OPTIONS = 35 };

/* ---- Process state (sim_state.c) --------------------------------------------------------------------------------- */

struct sd_thread {
    sd_thread *next, *prev;         /* sd.threads */
    sd_ctx **stack;                 /* current contexts, the last is current */
    size_t depth, cap;
    CUstreamCaptureMode mode;       /* cuThreadExchangeStreamCaptureMode */
    atomic_bool inside;             /* inside an entry point */
    sd_stream *own;                 /* per-thread default streams, one for each context, through sd_stream.own_next */
};

/* When ready operations begin, and which first.  Each is an order that the semantics allow: programs that rely on more break under one of them. */
typedef enum sd_schedule {
    SD_EAGER,           /* at once, side by side */
    SD_LAZY,            /* when a thread of the program waits, else SD_PATIENCE later */
    SD_RANDOM,          /* one after the other, by lot; now and then lazily */
    SD_ADVERSARIAL      /* lazily, one after the other, the latest submitted first */
} sd_schedule;

typedef struct sd_settings {
    unsigned devices, threads, sm;  /* sm: 90 */
    char sm_suffix;                 /* 'a', 'f' or 0 */
    unsigned stall_ms;              /* 0: never */
    sd_schedule schedule;
    uint64_t seed;                  /* of SD_RANDOM */
} sd_settings;

typedef struct sd_state {
    pthread_mutex_t lock;
    pthread_cond_t work, done;      /* for idle workers; for threads that wait for an op */
    atomic_bool ready;              /* cuInit has succeeded */
    atomic_int exiting;             /* set by the destructor: kernels stop, calls answer DEINITIALIZED */
    uint32_t fork_gen;              /* at cuInit */
    sd_settings set;
    sd_thread *threads;
    sd_device *device[SD_MAX_DEVICES];
    uint64_t next_id;               /* streams, contexts, captures, nodes: never repeated */
    uint64_t next_seq;              /* ops */
    /* Workers (sim_worker.c). */
    sd_op *ready_first[SD_PRIORITIES], *ready_last[SD_PRIORITIES];   /* index 0 is the highest priority */
    unsigned nready, nopen;         /* ops in those lists; open grids among them, which further workers may join */
    unsigned workers, made;         /* threads that run; those ever made */
    unsigned idle, wakes, born;     /* asleep; woken but not awake yet; made but not running yet */
    unsigned in_host;               /* workers inside host functions */
    sd_object *doomed; unsigned ndoomed;   /* user objects whose destructors are to be called */
    pthread_t worker[SD_MAX_WORKERS];
    /* Schedules but the eager one (sim_schedule.c). */
    unsigned demand;                /* threads of the program that wait */
    unsigned running, epoch;        /* operations that were begun in this epoch and run; an epoch ends when nothing has moved for a while */
    bool go;                        /* held operations may begin until none is ready */
    uint64_t moved, lot;            /* when an operation last began, ended or became ready after none was; random state */
    sd_capture *captures;           /* open ones */
    sd_module *modules;             /* all that exist */
    sd_gmem *gmems;                 /* all that exist */
} sd_state;
extern sd_state sd;

static inline void sd_lock(void) { pthread_mutex_lock(&sd.lock); }
static inline void sd_unlock(void) { pthread_mutex_unlock(&sd.lock); }

sd_thread *cji_sd_thread(void);                /* the calling thread's; NULL without memory */
CUresult cji_sd_begin(bool needs_init);        /* first of an entry point; on success cji_sd_end() must follow */
void cji_sd_end(void);
void cji_sd_host_section(bool inside);         /* the calling thread runs a host function: it may make no CUDA call */
uint64_t cji_sd_now(void);                     /* ns, monotone */

/* ---- Handles (sim_handle.c): every live handle, so that a stale or foreign one is refused; under the lock ------- */

typedef enum sd_kind {
    SD_NOTHING, SD_CTX, SD_STREAM, SD_EVENT, SD_MODULE, SD_FUNC, SD_LINK, SD_POOL, SD_GRAPH, SD_NODE, SD_EXEC, SD_OBJECT, SD_CONDITION
} sd_kind;

bool cji_sd_handle_add(sd_kind kind, void *p);      /* false without memory */
void cji_sd_handle_drop(void *p);
bool cji_sd_handle_is(sd_kind kind, const void *p);
/* Any live handle of a kind that is wanted (all where `wanted` is NULL); NULL: none. */
void *cji_sd_handle_next(sd_kind kind, bool (*wanted)(const void *p, const void *user), const void *user);
void cji_sd_handle_table_free(void);
void cji_sd_handle_end(void);                       /* sim_context.c: releases what is behind every handle, and the table */

/* ---- Pools (sim_pool.c) ------------------------------------------------------------------------------------------ */

struct sd_pool {
    sd_device *dev;
    sd_pool *next;
    bool is_default, destroyed;
    uint64_t max_bytes;             /* 0: none */
    uint64_t threshold;
    uint64_t used, used_high, reserved, reserved_high;
    int reuse[3];                   /* CU_MEMPOOL_ATTR_REUSE_*; kept, all reuse is legal here */
    unsigned access;                /* bit of each other device that may reach it */
};
sd_pool *cji_sd_pool_new(sd_device *dev);
void cji_sd_pool_take(sd_pool *p, uint64_t bytes);
void cji_sd_pool_give(sd_pool *p, uint64_t bytes);         /* a free has been reached in stream order */
void cji_sd_pool_trim(sd_pool *p, uint64_t keep);
void cji_sd_pool_settle(sd_device *dev);                   /* a synchronization: gives back what is above the threshold */
void cji_sd_pools_end(sd_device *dev);

/* ---- Devices and contexts (sim_device.c, sim_context.c) --------------------------------------------------------- */

struct sd_ctx {
    sd_device *dev;
    uint64_t id;
    bool alive, primary;
    unsigned flags, retained;
    int cancel;                     /* its kernels stop at their next back edge */
    CUresult fault;                 /* sticky; CUDA_SUCCESS none */
    sd_stream *streams;             /* all, destroyed ones with pending work too; the first is the legacy stream */
    sd_stream *legacy;
    sd_op *first, *last;            /* unfinished ops, oldest first */
    size_t limit[SD_LIMITS]          ;
    unsigned sync_waiters;
    sd_ctx *next;                   /* dev->contexts */
};

struct sd_device {
    int ordinal;
    sd_ctx primary;
    sd_ctx *contexts;               /* made by cuCtxCreate; kept until the end, so that a stale handle is recognised */
    sd_pool *default_pool, *pool;   /* pool: the current one */
    sd_pool *pools;
    unsigned peers;                 /* bit of each device whose memory it may reach */
    /* Addresses (sim_address.c): lo .. lo+span-1 is PROT_NONE, its bytes lie at host. */
    uint64_t lo, span;
    unsigned char *host;
    sd_pool graph_pool;             /* counts memory of graphs */
    uint64_t used, committed, hint; /* bytes allocated; offset up to which they are accessible; no gap lies below this address */
};

sd_device *cji_sd_device(CUdevice d);                      /* NULL: no such device */
void cji_sd_device_end(sd_device *d);
CUresult cji_sd_ctx_start(sd_ctx *c, sd_device *dev);      /* under the lock: makes it alive */
void cji_sd_ctx_stop(sd_ctx *c);                           /* under the lock, which it gives up while it waits: everything in it is destroyed */
bool cji_sd_ctx_flags_ok(unsigned flags);
void cji_sd_ctx_end(sd_ctx *c);                            /* at exit: everything in it, without its work */
CUresult cji_sd_ctx(sd_ctx **c);                           /* under the lock: the current one; its sticky fault is an error */
CUresult cji_sd_ctx_any(sd_ctx **c);                       /* the same, whatever its fault */
bool cji_sd_ctx_sees(const sd_ctx *c, const sd_device *dev);  /* whether its kernels and copies reach memory of `dev` */
void cji_sd_ctx_poison(sd_ctx *c, CUresult code, const char *sentence);
CUresult cji_sd_device_attribute(int *value, int attribute, const sd_device *dev);   /* sim_attribute.c */
int cji_sd_limit(CUdevice_attribute a);                    /* an H100's, for checks of launches */

/* ---- Addresses (sim_address.c) ----------------------------------------------------------------------------------- */

typedef enum sd_place { SD_DEVICE, SD_PINNED, SD_REGISTERED, SD_MANAGED } sd_place;

/* What cuMemAdvise and cuMemPrefetchAsync said last of an allocation. */
typedef struct sd_advice { bool read_mostly; CUdevice preferred, prefetched; unsigned accessed; } sd_advice;

/* One allocation.  Found by any address in it; addresses of pinned, registered and managed memory are host addresses. */
typedef struct sd_range {
    uint64_t lo, bytes;             /* what was asked for */
    uint64_t room;                  /* what it takes */
    sd_place place;
    sd_device *dev;                 /* where it was made */
    sd_ctx *ctx;
    sd_pool *pool;                  /* stream-ordered memory, else NULL */
    unsigned flags;                 /* of cuMemHostAlloc, cuMemHostRegister */
    bool module;                    /* a module's variables: not for cuMemFree */
    bool freed;                     /* stays known for a while, so that a late use can be named */
    bool absent;                    /* a graph's memory, at present not allocated */
    sd_gmem *graph;                 /* memory of a graph's allocation node, else NULL */
    sd_advice advice;               /* of managed memory */
    uint64_t id;
    void *block; size_t block_bytes;  /* of the allocator, to be freed with it; NULL none */
} sd_range;

bool cji_sd_space_open(sd_device *dev);                                   /* reserves its addresses; false without memory */
void cji_sd_space_close(sd_device *dev);
CUresult cji_sd_space_alloc(sd_device *dev, sd_ctx *c, uint64_t bytes, sd_pool *pool, bool module, CUdeviceptr *out);
CUresult cji_sd_space_add(const sd_range *r);                             /* memory that lies elsewhere */
CUresult cji_sd_space_drop(uint64_t lo, sd_place place, sd_range *was);   /* INVALID_VALUE: no allocation begins there */
void cji_sd_space_change(uint64_t lo, void (*change)(sd_range *r, void *user), void *user);   /* of the live allocation that begins there */
bool cji_sd_space_find(uint64_t address, sd_range *out);                  /* a live allocation that holds it */
void cji_sd_space_drop_ctx(sd_ctx *c);                                    /* everything it made */
/* `bytes` bytes at `address` as we see them; NULL when they do not lie in one live allocation that `c` reaches. */
unsigned char *cji_sd_space_at(const sd_ctx *c, uint64_t address, uint64_t bytes);
bool cji_sd_space_is_host(uint64_t address);                              /* pinned, registered or managed */
bool cji_sd_space_why(uint64_t address, char *why, size_t size);          /* end of a sentence that begins with the address; true: was freed */
bool cji_sd_exec_condition(void *ctx, uint64_t handle, uint32_t value);   /* sim_cond.c */
bool cji_sd_exec_find(void *ctx, uint64_t address, cji_sim_span *span, char *why, size_t size);   /* for the engine */
void cji_sd_exec_print(void *ctx, const char *text, size_t bytes);
void cji_sd_space_end(void);

/* ---- Work and operations (sim_queue.c) --------------------------------------------------------------------------- */

typedef enum sd_verb {
    SD_MARK,         /* does nothing: a join, an event's point, an empty node */
    SD_LAUNCH, SD_COPY, SD_FILL, SD_HOST, SD_CALLBACK, SD_WAIT_VALUE, SD_WRITE_VALUE, SD_FREE,
    SD_BATCH,        /* several values in one node */
    SD_RECORD, SD_WAIT, SD_CHILD, SD_CONDITIONAL,             /* in graphs only: a launch makes other things of them */
    SD_GRAPH_ALLOC, SD_GRAPH_FREE, SD_BRANCH, SD_AGAIN, SD_BEGIN   /* in launches of graphs */
} sd_verb;

typedef struct sd_side { uint64_t at; size_t pitch, slice; bool host, pageable; } sd_side;   /* host: used as it is, not looked up */

struct sd_work {
    unsigned refs;
    sd_verb verb;
    size_t size;                    /* of this block */
    sd_ctx *ctx;
    union {
        struct {
            sd_func *func;          /* its module is held */
            uint32_t grid[3], block[3], cluster[3], shared;
            bool cooperative;
            int priority; bool has_priority;
            unsigned char params[]; /* kernel->param_bytes */
        } launch;
        struct { sd_side dst, src; size_t width, height, depth; void *staged; size_t staged_bytes; CUDA_MEMCPY3D raw; } copy;
        struct { uint64_t dst; size_t pitch, width, height; uint32_t value, element; } fill;   /* width in elements */
        struct { CUhostFn fn; void *user; } host;
        struct { CUstreamCallback fn; CUstream stream; void *user; } callback;
        struct { uint64_t at, value; unsigned flags; bool wide; } value;
        struct { uint64_t at; } free;
        struct { size_t n; sd_work **item; } batch;
        struct { sd_gmem *mem; CUmemPoolProps props; } gmem;   /* SD_GRAPH_ALLOC, SD_GRAPH_FREE; held */
        struct { sd_cond *cond; CUgraphConditionalNodeType type; unsigned n; sd_graph **body; sd_exec **exec; } branch;   /* body: SD_CONDITIONAL, exec: SD_BRANCH */
        struct { sd_cond **cond; size_t n; } begin;            /* held */
        sd_event *event;            /* held */
        sd_graph *child;            /* held */
    };
};

struct sd_op {
    unsigned refs;
    unsigned waits;                 /* unfinished predecessors, and 1 while it is being submitted */
    bool done, listed, open;        /* in a ready list; a grid that may be joined */
    unsigned inside;                /* threads that work on it */
    unsigned room;                  /* how many more may join an open grid */
    unsigned waiters;               /* threads in cji_sd_wait for it */
    int level;                      /* of its ready list */
    sd_work *work;                  /* NULL: SD_MARK */
    sd_ctx *ctx;
    sd_stream *stream;              /* held until it is done */
    sd_exec *exec;                  /* held until it is done: the last op of a graph launch */
    sd_bag *bag;                    /* held until it is done: that launch's user objects */
    sd_op *branch;                  /* SD_AGAIN: the branch whose body ends here; held */
    uint64_t seq, when;             /* when: done, in ns; of a host function that runs: begun */
    unsigned mark; bool named;      /* sim_stall.c: scratch; has been told of */
    sd_op *next_ready, *prev_ready;
    sd_op *next, *prev;             /* ctx->first */
    sd_op **succ; size_t nsucc, cap;
    cji_sim_grid *grid;
    CUdeviceptr workspace;          /* of a cooperative grid */
};

sd_work *cji_sd_work_new(sd_verb verb, sd_ctx *c, size_t extra);   /* one reference; NULL without memory */
sd_work *cji_sd_work_hold(sd_work *w);
void cji_sd_work_drop(sd_work *w);

/* Under the lock.  An op is made (one reference, the caller's), is given its predecessors and is submitted.  Adding a finished or NULL
 * predecessor does nothing; CUDA_ERROR_OUT_OF_MEMORY leaves the op to be dropped. */
sd_op *cji_sd_op_new(sd_ctx *c, sd_stream *s, sd_work *w);
CUresult cji_sd_op_after(sd_op *op, sd_op *before);
void cji_sd_op_submit(sd_op *op);
void cji_sd_op_drop(sd_op *op);
void cji_sd_op_abandon(sd_op *op);            /* was never submitted; has no successors */
void cji_sd_op_finish(sd_op *op);             /* its work is done: whatever waited for it alone becomes ready */

/* Under the lock: puts `w` behind everything that stream `s` orders before it (its own work, legacy stream rules) and `extra`. */
CUresult cji_sd_enqueue(sd_stream *s, sd_work *w, sd_op *extra, sd_op **out);
CUresult cji_sd_after_stream(sd_op *op, sd_stream *s);   /* predecessors that the next op of `s` has */
void cji_sd_set_tail(sd_stream *s, sd_op *op);

/* ---- Workers (sim_worker.c) -------------------------------------------------------------------------------------- */

void cji_sd_ready(sd_op *op);                              /* under the lock */
bool cji_sd_schedule_read(sd_settings *set);               /* sim_schedule.c: CUJIT_SIM_SCHEDULE */
bool cji_sd_schedule_starts(void);                         /* whether one more may begin now */
sd_op *cji_sd_schedule_pick(void);                         /* which */
void cji_sd_schedule_do(sd_op *op, void (*work)(sd_op *op));
void cji_sd_schedule_sleep(void);                          /* of a worker, until something moves, or nothing has for a while */
void cji_sd_schedule_wait(void);                           /* of a thread of the program, until an operation is done */
void cji_sd_unready(sd_op *op);                            /* one that nobody has taken */
void cji_sd_circle_look(sd_op *op);                        /* sim_stall.c, under the lock: a memory wait that has taken a while: reports a circle that it is in */
void cji_sd_stall_look(void);                              /* under the lock: host functions that take long */
void cji_sd_value_stalls(const sd_op *op, const sd_work *w, uint64_t ns);
void cji_sd_sleep_watching(void);                          /* under the lock, given up meanwhile: until some operation is done, or for a while */
bool cji_sd_value_fits(const sd_work *w, uint64_t value);  /* sim_value.c: whether the value ends the wait */
bool cji_sd_value_holds(const sd_ctx *c, const sd_work *w);   /* whether it is there now */
void cji_sd_workers_join(void);
bool cji_sd_workers_start(void);                           /* under the lock: at least one thread; false if none can be made */
void cji_sd_balance(unsigned taken);                       /* under the lock: wakes or makes threads for what is ready, but `taken` ops of it */
CUresult cji_sd_wait(sd_op *op);                           /* under the lock, given up while waiting; helps with ops of its stream */
void cji_sd_wait_ctx(sd_ctx *c);                           /* until everything that was submitted to it by now is done */
void cji_sd_run(sd_op *op);                                /* sim_queue.c: does the work; without the lock */
void cji_sd_run_copy(sd_op *op, const sd_work *w);
void cji_sd_run_fill(sd_op *op, const sd_work *w);
void cji_sd_run_value(sd_op *op, const sd_work *w);   /* sim_value.c; of a batch each in turn */
void cji_sd_run_free(sd_op *op, const sd_work *w);
void cji_sd_run_host(sd_op *op, const sd_work *w);
cji_sim_grid *cji_sd_grid_open(sd_op *op);                 /* sim_launch.c; NULL: the context has been given the fault */
void cji_sd_grid_close(sd_op *op);

/* ---- Streams and events ------------------------------------------------------------------------------------------ */

struct sd_stream {
    sd_ctx *ctx;
    sd_stream *next, *prev;         /* ctx->streams */
    sd_stream *own_next;            /* sd_thread.own */
    unsigned refs;                  /* the handle, and each unfinished op */
    uint64_t id;
    unsigned flags;
    int priority;                   /* clamped: 0 .. -5 */
    bool legacy, per_thread;
    CUsynchronizationPolicy policy;
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
void cji_sd_event_drop(sd_event *e);
CUresult cji_sd_event_get(CUevent h, sd_event **out);
void cji_sd_event_set(sd_event *e, sd_op *point);

/* ---- Submission: into the stream, or into the graph that it captures --------------------------------------------- */

/* Under the lock: takes over the caller's reference of `w`, in every case. */
CUresult cji_sd_submit(sd_stream *s, sd_work *w);

/* ---- Copies (sim_copy.c) ----------------------------------------------------------------------------------------- */

CUresult cji_sd_copy_work(const CUDA_MEMCPY3D *p, sd_ctx *c, sd_work **out);      /* under the lock; checks it */
CUresult cji_sd_fill_work(const CUDA_MEMSET_NODE_PARAMS *p, sd_ctx *c, sd_work **out);

/* ---- Modules (sim_image.c, sim_link.c, sim_module.c, sim_function.c, sim_launch.c) ------------------------------- */

typedef struct sd_options {         /* JIT options, taken apart */
    char *info, *error;
    size_t info_cap, error_cap;
    void **info_size, **error_size; /* slots that get the sizes back */
    void **wall_time;
    unsigned target;                /* CU_JIT_TARGET: 90, 0 none */
} sd_options;

CUresult cji_sd_options(unsigned n, const CUjit_option *option, void **value, sd_options *out);
void cji_sd_options_finish(const sd_options *o, const char *info, const char *error);

/* An image is PTX text or a container of PTX texts, made by cuLinkComplete. */
typedef struct sd_image { cji_sim_text *text; size_t n; void *copy; size_t copy_bytes; } sd_image;
CUresult cji_sd_image_read(const void *image, size_t bytes, sd_image *out, cji_text *log);   /* bytes 0: unknown */
void cji_sd_image_free(sd_image *i);
void cji_sd_link_forget(void *link);
bool cji_sd_container_make(const cji_sim_text *text, size_t n, void **out, size_t *bytes);   /* freed with cji_free */
CUresult cji_sd_check_heads(const cji_sim_text *text, size_t n, cji_text *log);             /* .version and .target of each */
/* Reads, links and predecodes; what the driver's compiler would answer, with its log. */
CUresult cji_sd_build(const cji_sim_text *text, size_t n, cji_sim_program **out, cji_text *log);

struct sd_func {
    sd_module *module;
    const cji_sim_kernel *kernel;
    int max_dynamic, carveout, nonportable, policy, cluster[3];
    CUfunc_cache cache;
};

struct sd_module {
    sd_ctx *ctx;
    sd_module *next, *prev;         /* sd.modules */
    unsigned refs;                  /* the handle, and each work that launches one of its kernels */
    cji_sim_program *program;
    uint64_t ctx_id;                /* the context may have begun a new life */
    CUdeviceptr image;
    uint64_t image_bytes;
    sd_func *func; size_t nfunc;
};
void cji_sd_module_drop(sd_module *m);
void cji_sd_module_forget(sd_module *m);
CUresult cji_sd_func(CUfunction h, sd_func **out);
unsigned cji_sd_func_registers(const sd_func *f);
unsigned cji_sd_func_threads(const sd_func *f);            /* most threads of a block */
/* Checks a launch and makes the work; under the lock. */
typedef struct sd_shape { uint32_t grid[3], block[3], cluster[3], shared; bool cooperative, has_priority; int priority; } sd_shape;
CUresult cji_sd_launch_work(sd_func *f, const sd_shape *shape, void **params, void **extra, sd_work **out);
CUresult cji_sd_launch_attribute(CUlaunchAttributeID id, const CUlaunchAttributeValue *v, sd_shape *shape);
CUresult cji_sd_launch_check(const sd_func *f, const sd_shape *shape);
int cji_sd_blocks_per_sm(const sd_func *f, unsigned threads, size_t dynamic);

/* ---- Capture (sim_capture.c) ------------------------------------------------------------------------------------- */

struct sd_capture {
    sd_capture *next;               /* sd.captures */
    uint64_t id;
    sd_stream *origin;
    sd_thread *thread;
    CUstreamCaptureMode mode;
    bool invalid;
    bool to_graph;                  /* the graph is the caller's */
    sd_graph *graph;                /* held */
};

void cji_sd_capture_invalidate(sd_capture *c);
CUresult cji_sd_capture_add(sd_stream *s, sd_work *w);     /* takes over `w`: the next node */
/* A call that a capture may not see (cuMemAlloc, a query of an uncaptured stream ...): 900, and the captures that forbid it are invalidated. */
CUresult cji_sd_unsafe(void);
CUresult cji_sd_unsafe_ctx(sd_ctx *c);                     /* cuCtxSynchronize: none may be open in the context */
CUresult cji_sd_capture_refuses(sd_stream *s);             /* a call that its captured stream refuses: 900, or 901; success when it does not capture */
CUresult cji_sd_capture_wait(sd_stream *s, sd_event *e);   /* cuStreamWaitEvent where either side is captured */
CUresult cji_sd_capture_record(sd_stream *s, sd_event *e);
void cji_sd_capture_leave(sd_stream *s);                   /* the stream is being destroyed */
sd_capture *cji_sd_capture_by_id(uint64_t id);
bool cji_sd_deps_set(sd_node ***dep, size_t *n, size_t *cap, sd_node *const *from, size_t count);
bool cji_sd_deps_add(sd_node ***dep, size_t *n, size_t *cap, sd_node *node);
void cji_sd_deps_free(sd_node ***dep, size_t *n, size_t *cap);

/* ---- Graphs (sim_graph.c, sim_node.c, sim_exec.c) ---------------------------------------------------------------- */

struct sd_node {
    sd_graph *graph;
    uint64_t id;                    /* of this node; a clone's own differs */
    uint64_t origin;                /* the id of the node it was cloned from, 0 */
    sd_work *work;                  /* held; NULL: an empty node */
    CUgraphNodeType type;
    sd_node **before; size_t nbefore, before_cap;   /* in the order in which the edges were added */
    size_t mark;                    /* scratch for walks */
    void **param; size_t nparam;    /* what cuGraphKernelNodeGetParams handed out */
};

struct sd_graph {
    unsigned refs;                  /* the handle, an open capture, a child node */
    sd_node *parent;                /* the child node that owns it, else NULL */
    sd_node **node; size_t nnode, cap;              /* in the order of their making */
    uint64_t origin;                /* id of the graph it was cloned from, 0 */
    uint64_t id;
    bool once;                      /* has nodes of memory or conditional ones: not copied, instantiated once at a time */
    bool memory;                    /* has nodes of memory: keeps its nodes and edges */
    sd_bag *bag;                    /* user objects */
    sd_cond **cond; size_t ncond, cond_cap;         /* held: conditions that were made for it */
};

typedef struct sd_step {            /* of an executable graph; steps stand in an order that respects the edges */
    sd_work *work;                  /* held; NULL: a mark */
    uint64_t node, origin;          /* ids of the node that it was made from, and of the one that that was cloned from */
    CUgraphNodeType type;
    size_t *before; size_t nbefore;
    size_t first;                   /* the mark behind a child graph's steps: the mark before them */
    bool enabled, leaf;
} sd_step;

struct sd_exec {
    unsigned refs;                  /* the handle, and each launch in flight */
    sd_ctx *ctx;
    unsigned long long flags;
    sd_step *step; size_t nstep, room;
    sd_op **op;                     /* scratch of a launch, `room` of them */
    sd_op *last;                    /* held: the end of its latest launch */
    uint64_t graph;                 /* id of the graph that it was made from */
    bool once;                      /* of that graph */
    sd_bag *bag;                    /* user objects of that graph and its children */
    sd_work *begin;                 /* held: gives conditions their first values; NULL: there are none */
};

sd_graph *cji_sd_graph_new(void);                          /* one reference, no handle; NULL without memory */
void cji_sd_graph_drop(sd_graph *g);
void cji_sd_graph_forget(sd_graph *g);
sd_graph *cji_sd_graph_copy(const sd_graph *g);
sd_node *cji_sd_node_new(sd_graph *g, sd_work *w, CUgraphNodeType type, sd_node *const *before, size_t n);  /* takes over `w` when it succeeds */
void cji_sd_node_drop(sd_node *n);
CUresult cji_sd_nodes_of(const sd_graph *g, const CUgraphNode *node, size_t n);   /* INVALID_VALUE unless they are nodes of g, each once */
bool cji_sd_edges_plain(const CUgraphEdgeData *data, size_t n);                   /* only ordinary dependencies */
CUgraphNodeType cji_sd_verb_type(const sd_work *w);
CUresult cji_sd_graph_get(CUgraph h, sd_graph **out);
CUresult cji_sd_node_get(CUgraphNode h, sd_node **out);
/* Works from a node's parameters; under the lock. */
CUresult cji_sd_kernel_params(const CUDA_KERNEL_NODE_PARAMS_v2 *p, sd_work **out);
CUresult cji_sd_copy_params(const CUDA_MEMCPY3D *p, CUcontext h, sd_work **out);
CUresult cji_sd_fill_params(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext h, sd_work **out);
CUresult cji_sd_host_params(const CUDA_HOST_NODE_PARAMS *p, sd_work **out);
CUresult cji_sd_event_params(sd_verb verb, CUevent h, sd_work **out);
CUresult cji_sd_child_params(CUgraph h, sd_work **out);
CUresult cji_sd_batch_params(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, sd_work **out);   /* sim_value.c */
CUresult cji_sd_ctx_for(CUcontext h, sd_ctx **out);   /* NULL: the current one */
/* Order that respects the edges; false: a cycle.  order has g->nnode places. */
bool cji_sd_graph_order(sd_graph *g, sd_node **order);
/* Executable graphs (sim_exec.c). */
sd_exec *cji_sd_exec_make(sd_graph *g, CUresult *r);
void cji_sd_exec_drop(sd_exec *x);
CUresult cji_sd_exec_get(CUgraphExec h, sd_exec **out);
/* Submits its steps behind `begin` and puts `end` behind them; an end behind `begin` alone where there is no memory for the rest. */
CUresult cji_sd_exec_steps(sd_exec *x, sd_stream *s, sd_op *begin, sd_op *end);

/* Conditions (sim_cond.c). */
struct sd_cond {
    unsigned refs;
    sd_ctx *ctx;
    uint32_t value, start;
    bool starts, used;              /* each launch begins with `start`; a node depends on it */
};
void cji_sd_cond_drop(sd_cond *c);
CUresult cji_sd_cond_params(CUDA_CONDITIONAL_NODE_PARAMS *p, sd_work **out);
void cji_sd_cond_node(sd_work *w, sd_node *node);          /* its bodies belong to the node now; NULL: to none any more */
CUresult cji_sd_cond_branch(const sd_work *w, sd_work **out);   /* SD_CONDITIONAL to SD_BRANCH */
CUresult cji_sd_cond_begin(const sd_exec *x, sd_work **out);    /* NULL where it has no condition */
void cji_sd_cond_free(sd_work *w);
void cji_sd_run_begin(const sd_work *w);
void cji_sd_branch(sd_op *op);                             /* under the lock: begins it, or ends it */
void cji_sd_branch_again(sd_op *again);                    /* under the lock: a body has ended */

/* Memory of graphs (sim_graphmem.c). */
struct sd_gmem {
    sd_gmem *next;                  /* sd.gmems */
    unsigned refs;                  /* works */
    sd_ctx *ctx;                    /* NULL: is over, and the memory with it */
    uint64_t at, bytes;
    uint64_t graph;                 /* id of the graph whose node allocates it */
    bool held;                      /* allocated by what was submitted so far, not freed by it */
    bool present;                   /* the same by what has run */
    bool inside, outside;           /* a node of that graph frees it, one of another */
};
CUresult cji_sd_gmem_new(sd_graph *g, sd_ctx *c, uint64_t bytes, const CUmemPoolProps *props, sd_work **out);
CUresult cji_sd_gmem_free_work(sd_graph *g, uint64_t at, sd_work **out);
CUresult cji_sd_gmem_params(sd_graph *g, const CUDA_MEM_ALLOC_NODE_PARAMS *p, sd_work **out);
void cji_sd_gmem_drop(sd_gmem *m);
void cji_sd_gmem_forget_ctx(const sd_ctx *c);
CUresult cji_sd_gmem_launch(const sd_exec *x);             /* whether it may be launched; notes what it allocates and frees */
CUresult cji_sd_gmem_release(sd_gmem *m, sd_stream *s);    /* cuMemFreeAsync; s NULL: cuMemFree */
void cji_sd_run_gmem(const sd_work *w);

/* User objects (sim_object.c): counted by the caller, by graphs, executable graphs and launches in flight. */
typedef struct sd_hold { sd_object *object; unsigned count; } sd_hold;
struct sd_bag { unsigned refs; sd_hold *hold; size_t n, cap; };
sd_bag *cji_sd_bag_copy(sd_bag *into, const sd_bag *from, bool *failed);   /* into NULL: a new one where it is needed */
void cji_sd_bag_drop(sd_bag *b);
void cji_sd_objects_call(void);                            /* under the lock, given up meanwhile: one destructor */
void cji_sd_objects_end(void);

/* ---- The entry points themselves, one for each row that is done: cji_sd_cuInit ... ------------------------------- */
#define CU(name, export, version, need, count, list) CUresult cji_sd_##name(CJI_CU_DECL(count, list));
#include "cuda/symbols.def"

#endif
