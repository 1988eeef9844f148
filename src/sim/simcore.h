/* The CPU device's driver: the CUDA driver ABI over stream queues of its own.  This is the map of the part, and what every file of it uses:
 * the state of the process and its lock, handles, the entry points.  Each subject has a header of its own.
 *
 *   simcore.h      thread, process state, settings, entry and exit of calls      sim_state.c
 *                  exported entry points, cuGetProcAddress                       sim_entry.c (made from cuda/symbols.def, cuda/byvalue.def)
 *                  handles                                                       sim_handle.c
 *   sim_device.h   devices, their attributes, contexts                           sim_device.c, sim_attribute.c, sim_context.c
 *   sim_memory.h   address ranges, allocations, pinned memory, pools             sim_address.c, sim_memory.c, sim_pinned.c, sim_pool.c
 *   sim_queue.h    operations, their order, the workers, schedules               sim_queue.c, sim_worker.c, sim_schedule.c
 *                  what never ends, what takes long                              sim_circle.c, sim_watch.c
 *                  what they do: host functions, values                          sim_host.c, sim_value.c
 *   sim_stream.h   streams, events, copies                                       sim_stream.c, sim_event.c, sim_copy.c
 *   sim_module.h   images, linker, modules, functions, launches                  sim_image.c, sim_link.c, sim_module.c, sim_function.c, sim_launch.c
 *   sim_capture.h  captures                                                      sim_capture.c
 *   sim_graph.h    graphs, nodes                                                 sim_graph.c, sim_node.c
 *   sim_exec.h     executable graphs, their updates, conditional nodes           sim_exec.c, sim_update.c, sim_cond.c
 *                  memory of graphs, user objects                                sim_graphmem.c, sim_object.c
 *   sim_shared.h   events and memory between processes                           sim_shared.c, sim_shared_event.c, sim_shared_memory.c
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
typedef struct sd_shared sd_shared;

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
    bool serial;                    /* host functions of a context are called one after another */
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
    /* The watcher (sim_watch.c). */
    pthread_cond_t watch;
    pthread_t watcher;
    bool watcher_made, watcher_runs, dozing;   /* dozing: it sleeps without an end */
    unsigned waiting;               /* memory waits that it looks after */
    uint64_t ended;                 /* operations that are done */
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

/* ---- The entry points themselves, one for each row that is done: cji_sd_cuInit ... ------------------------------- */
#define CU(name, export, version, need, count, list) CUresult cji_sd_##name(CJI_CU_DECL(count, list));
#include "cuda/symbols.def"

#endif
