/* The CPU device's driver: the CUDA driver ABI over stream queues of its own.  This is the map of the part, and what every file of it uses:
 * the state of the process and its lock, handles, the entry points.  Each subject has a header of its own.
 *
 *   sim_core.h      thread, process state, settings, entry and exit of calls      sim_state.c
 *                  exported entry points, cuGetProcAddress                       sim_entry.c (made from cuda/symbols.def, cuda/byvalue.def)
 *                  handles                                                       sim_handle.c
 *   sim_device.h   devices, their attributes, contexts                           sim_device.c, sim_attribute.c, sim_context.c
 *   sim_memory.h   address ranges, allocations, pinned memory, pools             sim_address.c, sim_memory.c, sim_pinned.c, sim_pool.c
 *   sim_queue.h    operations, their order, the workers, schedules               sim_queue.c, sim_worker.c, sim_schedule.c
 *                  what never ends, what takes long                              sim_deadlock.c, sim_watch.c
 *                  what they do: host functions, values                          sim_host_func.c, sim_mem_op.c
 *   sim_stream.h   streams, events, copies                                       sim_stream.c, sim_event.c, sim_copy.c
 *   sim_module.h   images, linker, modules, functions, launches                  sim_image.c, sim_link.c, sim_module.c, sim_function.c, sim_launch.c
 *   sim_capture.h  captures                                                      sim_capture.c
 *   sim_graph.h    graphs, nodes                                                 sim_graph.c, sim_node.c
 *   sim_graph_exec.h     executable graphs, their updates, conditional nodes           sim_graph_exec.c, sim_update.c, sim_cond.c
 *                  memory of graphs, user objects                                sim_graph_memory.c, sim_object.c
 *   sim_ipc.h   events and memory between processes                           sim_ipc.c, sim_ipc_event.c, sim_ipc_memory.c
 *
 * Invariants.
 *   One lock (sim.lock) guards everything here but the address table, which has its own and is the inner one.  No user code, no copy and
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
typedef struct sim_module sim_module;
typedef struct sim_func sim_func;
typedef struct sim_pool sim_pool;
typedef struct sim_capture sim_capture;
typedef struct sim_graph sim_graph;
typedef struct sim_node sim_node;
typedef struct sim_graph_exec sim_graph_exec;
typedef struct sim_object sim_object;
typedef struct sim_objects sim_objects;
typedef struct sim_cond sim_cond;
typedef struct sim_graph_mem sim_graph_mem;
typedef struct sim_ipc_event sim_ipc_event;

enum { SIM_DRIVER_VERSION = 13000, SIM_PTX_VERSION = 90, SIM_PRIORITIES = 6, SIM_MAX_WORKERS = 160, SIM_MAX_DEVICES = 16, SIM_LIMITS = 7, SIM_LIMITS_KNOWN = 10, SIM_JIT_OPTIONS = 35 };

/* ---- Process state (sim_state.c) --------------------------------------------------------------------------------- */

struct sim_thread {
    sim_thread *next, *prev;         /* sim.threads */
    sim_ctx **stack;                 /* current contexts, the last is current */
    size_t depth, cap;
    CUstreamCaptureMode mode;       /* cuThreadExchangeStreamCaptureMode */
    atomic_bool inside;             /* inside an entry point */
    sim_stream *own;                 /* per-thread default streams, one for each context, through sim_stream.own_next */
};

/* When ready operations begin, and which first.  Each is an order that the semantics allow: programs that rely on more break under one of them. */
typedef enum sim_schedule {
    SIM_EAGER,           /* at once, side by side */
    SIM_LAZY,            /* when a thread of the program waits, else SIM_PATIENCE later */
    SIM_RANDOM,          /* one after the other, by lot; now and then lazily */
    SIM_ADVERSARIAL      /* lazily, one after the other, the latest submitted first */
} sim_schedule;

typedef struct sim_settings {
    unsigned devices, threads, sm;  /* sm: 90 */
    char sm_suffix;                 /* 'a', 'f' or 0 */
    unsigned stall_ms;              /* 0: never */
    sim_schedule schedule;
    uint64_t seed;                  /* of SIM_RANDOM */
    bool serial;                    /* host functions of a context are called one after another */
} sim_settings;

typedef struct sim_state {
    pthread_mutex_t lock;
    pthread_cond_t work, done;      /* for idle workers; for threads that wait for an op */
    atomic_bool ready;              /* cuInit has succeeded */
    atomic_int exiting;             /* set by the destructor: kernels stop, calls answer DEINITIALIZED */
    uint32_t fork_gen;              /* at cuInit */
    sim_settings set;
    sim_thread *threads;
    sim_device *device[SIM_MAX_DEVICES];
    uint64_t next_id;               /* streams, contexts, captures, nodes: never repeated */
    uint64_t next_seq;              /* ops */
    /* Workers (sim_worker.c). */
    sim_op *ready_first[SIM_PRIORITIES], *ready_last[SIM_PRIORITIES];   /* index 0 is the highest priority */
    unsigned nready, nopen;         /* ops in those lists; open grids among them, which further workers may join */
    unsigned workers, made;         /* threads that run; those ever made */
    unsigned idle, wakes, starting;     /* asleep; woken but not awake yet; made but not running yet */
    unsigned in_host;               /* workers inside host functions */
    /* The watcher (sim_watch.c). */
    pthread_cond_t watch;
    pthread_t watcher;
    bool watcher_made, watcher_runs, watcher_idle;   /* watcher_idle: it sleeps without an end */
    unsigned waiting;               /* memory waits that it looks after */
    uint64_t ended;                 /* operations that are done */
    sim_object *destructors; unsigned ndestructors;   /* user objects whose destructors are to be called */
    pthread_t worker[SIM_MAX_WORKERS];
    /* Schedules but the eager one (sim_schedule.c). */
    unsigned demand;                /* threads of the program that wait */
    unsigned running, epoch;        /* operations that were begun in this epoch and run; an epoch ends when nothing has moved for a while */
    bool go;                        /* held operations may begin until none is ready */
    uint64_t moved, random;            /* when an operation last began, ended or became ready after none was; random state */
    sim_capture *captures;           /* open ones */
    sim_module *modules;             /* all that exist */
    sim_graph_mem *graph_mems;                 /* all that exist */
} sim_state;
extern sim_state sim;

static inline void sim_lock(void) { pthread_mutex_lock(&sim.lock); }
static inline void sim_unlock(void) { pthread_mutex_unlock(&sim.lock); }

sim_thread *cji_sim_thread(void);                /* the calling thread's; NULL without memory */
CUresult cji_sim_enter(bool needs_init);        /* first of an entry point; on success cji_sim_leave() must follow */
void cji_sim_leave(void);
void cji_sim_host_section(bool inside);         /* the calling thread runs a host function: it may make no CUDA call */

/* ---- Handles (sim_handle.c): every live handle, so that a stale or foreign one is refused; under the lock ------- */

typedef enum sim_kind {
    SIM_NOTHING, SIM_CTX, SIM_STREAM, SIM_EVENT, SIM_MODULE, SIM_FUNC, SIM_LINK, SIM_POOL, SIM_GRAPH, SIM_NODE, SIM_GRAPH_EXEC, SIM_OBJECT, SIM_CONDITION
} sim_kind;

bool cji_sim_handle_add(sim_kind kind, void *p);      /* false without memory */
void cji_sim_handle_drop(void *p);
bool cji_sim_handle_is(sim_kind kind, const void *p);
/* Any live handle of a kind that is wanted (all where `wanted` is NULL); NULL: none. */
void *cji_sim_handle_next(sim_kind kind, bool (*wanted)(const void *p, const void *user), const void *user);
void cji_sim_handle_table_free(void);
void cji_sim_handle_end(void);                       /* sim_context.c: releases what is behind every handle, and the table */

/* ---- The entry points themselves, one for each row that is done: cji_sim_cuInit ... ------------------------------- */
#define CU(name, export, version, need, count, list) CUresult cji_sim_##name(CJI_CU_DECL(count, list));
#include "cuda/symbols.def"

#endif
