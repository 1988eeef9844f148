/* Operations: what they do, their order, and the threads that run them. */
#ifndef CJI_SIM_SIM_QUEUE_H
#define CJI_SIM_SIM_QUEUE_H

#include "sim/simcore.h"

/* ---- Work and operations (sim_queue.c) --------------------------------------------------------------------------- */

typedef enum sd_verb {
    SD_MARK,         /* does nothing: a join, an event's point, an empty node */
    SD_LAUNCH, SD_COPY, SD_FILL, SD_HOST, SD_CALLBACK, SD_WAIT_VALUE, SD_WRITE_VALUE, SD_FREE,
    SD_BATCH,        /* several values in one node */
    SD_RECORD, SD_WAIT, SD_CHILD, SD_CONDITIONAL,             /* in graphs only: a launch makes other things of them */
    SD_GRAPH_ALLOC, SD_GRAPH_FREE, SD_BRANCH, SD_AGAIN, SD_BEGIN,  /* in launches of graphs */
    SD_FAR           /* waits for an event of another process; in streams and in launches of graphs */
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
            int priority; bool has_priority; CUlaunchMemSyncDomain domain;
            unsigned char params[]; /* kernel->param_bytes */
        } launch;
        struct { sd_side dst, src; size_t width, height, depth; void *staged; size_t staged_bytes; CUDA_MEMCPY3D raw; } copy;
        struct { uint64_t dst; size_t pitch, width, height; uint32_t value, element; } fill;   /* width in elements */
        struct { CUhostFn fn; void *user; } host;
        struct { CUstreamCallback fn; CUstream stream; void *user; } callback;
        struct { uint64_t at, value; unsigned flags; bool wide; CUstreamBatchMemOpParams raw; } value;
        struct { uint64_t at; } free;
        struct { size_t n; sd_work **item; CUstreamBatchMemOpParams *raw; } batch;
        struct { sd_gmem *mem; CUmemPoolProps props; } gmem;   /* SD_GRAPH_ALLOC, SD_GRAPH_FREE; held */
        struct { sd_cond *cond; CUgraphConditionalNodeType type; unsigned n; sd_graph **body; sd_exec **exec; } branch;   /* body: SD_CONDITIONAL, exec: SD_BRANCH */
        struct { sd_cond **cond; size_t n; } begin;            /* held */
        struct { sd_shared *shared; uint64_t point; } far;     /* held */
        sd_event *event;            /* held */
        sd_graph *child;            /* held */
    };
};

/* Why an operation comes behind one of another stream. */
typedef enum sd_behind { SD_BEHIND_LEGACY, SD_BEHIND_EVENT, SD_BEHIND_EXEC } sd_behind;

struct sd_op {
    unsigned refs;
    unsigned waits;                 /* unfinished predecessors, and 1 while it is being submitted */
    bool done, listed, open;        /* in a ready list; a grid that may be joined */
    bool queued;                    /* a host function that is ready and waits for its turn */
    bool begun;                     /* a host function, or a memory wait that the watcher looks after: runs since `when` */
    bool in_graph;                  /* of a graph's launch */
    bool told_circle, told_long;    /* the log has named it */
    sd_behind join;                 /* what orders it behind another stream's operation */
    const void *joined;             /* the event or executable graph; an address for the log */
    unsigned inside;                /* threads that work on it */
    unsigned room;                  /* how many more may join an open grid */
    unsigned waiters;               /* threads in cji_sd_wait for it */
    int level;                      /* of its ready list */
    sd_work *work;                  /* NULL: SD_MARK */
    sd_ctx *ctx;
    sd_stream *stream;              /* held until it is done */
    sd_exec *exec;                  /* held until it is done: the last op of a graph launch */
    sd_bag *bag;                    /* held until it is done: that launch's user objects */
    sd_shared *shared; uint64_t far;   /* held until it is done: the point of an event between processes that it is */
    sd_op *branch;                  /* SD_AGAIN: the branch whose body ends here; held */
    uint64_t seq, when;             /* when: done, in ns; before that: begun, or queued */
    unsigned item;                  /* of a batch: which value it is at; changed without the lock */
    unsigned mark; size_t stuck, write; sd_op *from, *writer;   /* sim_circle.c: scratch */
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
void cji_sd_schedule_begin(void);                          /* at cuInit */
bool cji_sd_schedule_starts(void);                         /* whether one more may begin now */
sd_op *cji_sd_schedule_pick(void);                         /* which */
void cji_sd_schedule_do(sd_op *op, void (*work)(sd_op *op));
void cji_sd_schedule_sleep(void);                          /* of a worker, until something moves, or nothing has for a while */
void cji_sd_schedule_wait(void);                           /* of a thread of the program, until an operation is done */
void cji_sd_unready(sd_op *op);                            /* one that nobody has taken */
bool cji_sd_thread_make(pthread_t *thread, void *(*run)(void *));   /* one that takes no signals */
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
bool cji_sd_values_alike(const sd_work *v, const sd_work *w);   /* as many of the same kinds in the same order */
void cji_sd_run_free(sd_op *op, const sd_work *w);
void cji_sd_run_host(sd_op *op, const sd_work *w);
cji_sim_grid *cji_sd_grid_open(sd_op *op);                 /* sim_launch.c; NULL: the context has been given the fault */
void cji_sd_grid_close(sd_op *op);

/* ---- Turns of host functions (sim_host.c), under the lock -------------------------------------------------------- */

bool cji_sd_host_queues(sd_op *op);                        /* a host function whose turn it is not: it is made ready later */
void cji_sd_host_unqueue(sd_op *op);
void cji_sd_host_begin(sd_op *op);
void cji_sd_host_end(sd_op *op);

/* ---- What never ends, what takes long (sim_circle.c, sim_watch.c), under the lock -------------------------------- */

void cji_sd_watch(sd_op *op);                              /* a host function or memory wait has begun, and may take long */
void cji_sd_unwatch(sd_op *op);
void cji_sd_watcher_join(void);                            /* without the lock */
void cji_sd_circles(cji_text *t);                          /* circles of waits that the log has not been told of: its lines */
sd_op *cji_sd_op_after_all(const sd_op *op);               /* every unfinished operation: those of a context as they were submitted */
const sd_work *cji_sd_wait_of(const sd_op *op, size_t *item);   /* the memory wait that holds it up, or will; NULL none */

#endif
