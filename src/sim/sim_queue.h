/* Operations: what they do, their order, and the threads that run them. */
#ifndef CJI_SIM_SIM_QUEUE_H
#define CJI_SIM_SIM_QUEUE_H

#include "sim/sim_core.h"

/* ---- Work and operations (sim_queue.c) --------------------------------------------------------------------------- */

typedef enum sim_verb {
    SIM_MARK,         /* does nothing: a join, an event's point, an empty node */
    SIM_LAUNCH, SIM_COPY, SIM_FILL, SIM_HOST, SIM_CALLBACK, SIM_MEM_WAIT, SIM_MEM_WRITE, SIM_FREE,
    SIM_MEM_OPS,        /* several values in one node */
    SIM_RECORD, SIM_WAIT, SIM_CHILD, SIM_CONDITIONAL,             /* in graphs only: a launch makes other things of them */
    SIM_GRAPH_ALLOC, SIM_GRAPH_FREE, SIM_BRANCH, SIM_AGAIN, SIM_BEGIN,  /* in launches of graphs */
    SIM_IPC_WAIT           /* waits for an event of another process; in streams and in launches of graphs */
} sim_verb;

typedef struct sim_copy_end { uint64_t at; size_t pitch, slice; bool host, pageable; } sim_copy_end;   /* host: used as it is, not looked up */

struct sim_work {
    unsigned refs;
    sim_verb verb;
    size_t size;                    /* of this block */
    sim_ctx *ctx;
    union {
        struct {
            sim_func *func;          /* its module is held */
            uint32_t grid[3], block[3], cluster[3], shared;
            bool cooperative;
            int priority; bool has_priority; CUlaunchMemSyncDomain domain;
            unsigned char params[]; /* kernel->param_bytes */
        } launch;
        struct { sim_copy_end dst, src; size_t width, height, depth; void *staged; size_t staged_bytes; CUDA_MEMCPY3D raw; } copy;
        struct { uint64_t dst; size_t pitch, width, height; uint32_t value, element; } fill;   /* width in elements */
        struct { CUhostFn fn; void *user; } host;
        struct { CUstreamCallback fn; CUstream stream; void *user; } callback;
        struct { uint64_t at, value; unsigned flags; bool wide; CUstreamBatchMemOpParams raw; } mem_op;
        struct { uint64_t at; } free;
        struct { size_t n; sim_work **item; CUstreamBatchMemOpParams *raw; } mem_ops;
        struct { sim_graph_mem *mem; CUmemPoolProps props; } graph_mem;   /* SIM_GRAPH_ALLOC, SIM_GRAPH_FREE; held */
        struct { sim_cond *cond; CUgraphConditionalNodeType type; unsigned n; sim_graph **body; sim_graph_exec **exec; } branch;   /* body: SIM_CONDITIONAL, exec: SIM_BRANCH */
        struct { sim_cond **cond; size_t n; } begin;            /* held */
        struct { sim_ipc_event *event; uint64_t point; } ipc;     /* held */
        sim_event *event;            /* held */
        sim_graph *child;            /* held */
    };
};

/* Why an operation comes behind one of another stream. */
typedef enum sim_op_join { SIM_JOIN_LEGACY, SIM_JOIN_EVENT, SIM_JOIN_EXEC } sim_op_join;

struct sim_op {
    unsigned refs;
    unsigned waits;                 /* unfinished predecessors, and 1 while it is being submitted */
    bool done, listed, open;        /* in a ready list; a grid that may be joined */
    bool queued;                    /* a host function that is ready and waits for its turn */
    bool begun;                     /* a host function, or a memory wait that the watcher looks after: runs since `when` */
    bool in_graph;                  /* of a graph's launch */
    bool deadlock_reported, long_reported;    /* the log has named it */
    sim_op_join join;                 /* what orders it behind another stream's operation */
    const void *joined;             /* the event or executable graph; an address for the log */
    unsigned inside;                /* threads that work on it */
    unsigned room;                  /* how many more may join an open grid */
    unsigned waiters;               /* threads in cji_sim_queue_wait for it */
    int level;                      /* of its ready list */
    sim_work *work;                  /* NULL: SIM_MARK */
    sim_ctx *ctx;
    sim_stream *stream;              /* held until it is done */
    sim_graph_exec *exec;                  /* held until it is done: the last op of a graph launch */
    sim_objects *objects;                    /* held until it is done: that launch's user objects */
    sim_ipc_event *ipc; uint64_t ipc_point;   /* held until it is done: the point of an event between processes that it is */
    sim_op *branch;                  /* SIM_AGAIN: the branch whose body ends here; held */
    uint64_t seq, when;             /* when: done, in ns; before that: begun, or queued */
    unsigned item;                  /* of a batch: which value it is at; changed without the lock */
    unsigned mark; size_t stuck, write; sim_op *from, *writer;   /* sim_deadlock.c: scratch */
    sim_op *next_ready, *prev_ready;
    sim_op *next, *prev;             /* ctx->first */
    sim_op **succ; size_t nsucc, cap;
    cji_exec_grid *grid;
    CUdeviceptr workspace;          /* of a cooperative grid */
};

sim_work *cji_sim_work_new(sim_verb verb, sim_ctx *c, size_t extra);   /* one reference; NULL without memory */
sim_work *cji_sim_work_hold(sim_work *w);
void cji_sim_work_drop(sim_work *w);

/* Under the lock.  An op is made (one reference, the caller's), is given its predecessors and is submitted.  Adding a finished or NULL
 * predecessor does nothing; CUDA_ERROR_OUT_OF_MEMORY leaves the op to be dropped. */
sim_op *cji_sim_op_new(sim_ctx *c, sim_stream *s, sim_work *w);
CUresult cji_sim_op_after(sim_op *op, sim_op *before);
void cji_sim_op_submit(sim_op *op);
void cji_sim_op_drop(sim_op *op);
void cji_sim_op_abandon(sim_op *op);            /* was never submitted; has no successors */
void cji_sim_op_finish(sim_op *op);             /* its work is done: whatever waited for it alone becomes ready */

/* Under the lock: puts `w` behind everything that stream `s` orders before it (its own work, legacy stream rules) and `extra`. */
CUresult cji_sim_stream_enqueue(sim_stream *s, sim_work *w, sim_op *extra, sim_op **out);
CUresult cji_sim_op_after_stream(sim_op *op, sim_stream *s);   /* predecessors that the next op of `s` has */
void cji_sim_stream_set_tail(sim_stream *s, sim_op *op);

/* ---- Workers (sim_worker.c) -------------------------------------------------------------------------------------- */

void cji_sim_queue_ready(sim_op *op);                              /* under the lock */
bool cji_sim_schedule_read(sim_settings *set);               /* sim_schedule.c: CUJIT_SIM_SCHEDULE */
void cji_sim_schedule_begin(void);                          /* at cuInit */
bool cji_sim_schedule_starts(void);                         /* whether one more may begin now */
sim_op *cji_sim_schedule_pick(void);                         /* which */
void cji_sim_schedule_do(sim_op *op, void (*work)(sim_op *op));
void cji_sim_schedule_sleep(void);                          /* of a worker, until something moves, or nothing has for a while */
void cji_sim_schedule_wait(void);                           /* of a thread of the program, until an operation is done */
void cji_sim_queue_remove(sim_op *op);                            /* one that nobody has taken */
bool cji_sim_thread_make(pthread_t *thread, void *(*run)(void *));   /* one that takes no signals */
bool cji_sim_mem_op_fits(const sim_work *w, uint64_t value);  /* sim_mem_op.c: whether the value ends the wait */
bool cji_sim_mem_op_holds(const sim_ctx *c, const sim_work *w);   /* whether it is there now */
void cji_sim_queue_join(void);
bool cji_sim_queue_start(void);                           /* under the lock: at least one thread; false if none can be made */
void cji_sim_queue_balance(unsigned taken);                       /* under the lock: wakes or makes threads for what is ready, but `taken` ops of it */
CUresult cji_sim_queue_wait(sim_op *op);                           /* under the lock, given up while waiting; helps with ops of its stream */
void cji_sim_queue_wait_ctx(sim_ctx *c);                           /* until everything that was submitted to it by now is done */
void cji_sim_op_run(sim_op *op);                                /* sim_queue.c: does the work; without the lock */
void cji_sim_copy_run(sim_op *op, const sim_work *w);
void cji_sim_fill_run(sim_op *op, const sim_work *w);
void cji_sim_mem_op_run(sim_op *op, const sim_work *w);   /* sim_mem_op.c; of a batch each in turn */
bool cji_sim_mem_ops_alike(const sim_work *v, const sim_work *w);   /* as many of the same kinds in the same order */
void cji_sim_free_run(sim_op *op, const sim_work *w);
void cji_sim_host_run(sim_op *op, const sim_work *w);
cji_exec_grid *cji_sim_launch_open(sim_op *op);                 /* sim_launch.c; NULL: the context has been given the fault */
void cji_sim_launch_close(sim_op *op);

/* ---- Turns of host functions (sim_host_func.c), under the lock -------------------------------------------------------- */

bool cji_sim_serial_queues(sim_op *op);                        /* a host function whose turn it is not: it is made ready later */
void cji_sim_serial_unqueue(sim_op *op);
void cji_sim_serial_begin(sim_op *op);
void cji_sim_serial_end(sim_op *op);

/* ---- What never ends, what takes long (sim_deadlock.c, sim_watch.c), under the lock -------------------------------- */

void cji_sim_watch(sim_op *op);                              /* a host function or memory wait has begun, and may take long */
void cji_sim_unwatch(sim_op *op);
void cji_sim_watcher_join(void);                            /* without the lock */
void cji_sim_deadlocks(cji_text *t);                          /* circles of waits that the log has not been told of: its lines */
sim_op *cji_sim_op_after_all(const sim_op *op);               /* every unfinished operation: those of a context as they were submitted */
const sim_work *cji_sim_op_waits_for(const sim_op *op, size_t *item);   /* the memory wait that holds it up, or will; NULL none */

#endif
