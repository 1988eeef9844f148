/* Operations: their order, and the threads that run them. Prefixes: cji_sim_op_, _queue_, _ready_, _serial_,
 * _schedule_. All under the lock unless said otherwise. A stream is nothing but an address here. */
#ifndef CJI_SIM_QUEUE_H
#define CJI_SIM_QUEUE_H

#include "sim/core/sim_core.h"

enum { SIM_MAX_WORKERS = 160, SIM_OP_HELD = 3 };

/* Why an operation comes behind one of another stream. */
typedef enum sim_op_join { SIM_JOIN_LEGACY, SIM_JOIN_EVENT, SIM_JOIN_EXEC } sim_op_join;

struct sim_op {
    unsigned refs;
    unsigned waits;                 /* unfinished predecessors, and 1 while it is being submitted */
    bool done, listed, open;        /* listed: in a ready list; open: a grid that more threads may join */
    bool queued;                    /* a host function that is ready and waits for another to return */
    bool begun; /* a host function, or a memory wait that the watcher looks after: runs since `when` */
    bool in_graph;                  /* of a graph's launch */
    bool deadlock_reported, long_reported;   /* the log has named it */
    sim_op_join join;               /* what orders it behind another stream's operation */
    const void *joined;             /* the event or executable graph; an address for the log */
    unsigned inside;                /* threads that work on it */
    unsigned room;                  /* how many more may join an open grid */
    unsigned waiters;               /* threads in cji_sim_queue_wait for it */
    int level;                      /* of its ready list */
    sim_work *work;                 /* NULL: it does nothing: a join, an event's point, an empty node */
    sim_ctx *ctx;
    sim_stream *stream;
    sim_ref *held[SIM_OP_HELD];     /* until it is done; NULL: none */
    void (*reached)(sim_op *op);    /* called when it is done; NULL: nothing */
    void *reached_for;              /* for that call: an object and a number */
    uint64_t reached_point;
    uint64_t seq, when;             /* when: done, in ns; before that: begun, or queued */
    size_t mark;                    /* of a listing of all of them (diagnose/sim_list.c), and then: */
    const sim_op *before;           /* the earliest that it waits for */
    unsigned item;                  /* of several memory operations: which one it is at; changed without the lock */
    sim_op *next_ready, *prev_ready;
    sim_op *next, *prev;            /* ctx->first */
    sim_op **succ;
    size_t nsucc, cap;
    cji_exec_grid *grid;
    CUdeviceptr workspace;          /* of a cooperative grid */
};

/* A function that a worker is to call soon, outside of any stream: `run` gives up the lock while it does its work. */
typedef struct sim_call {
    struct sim_call *next;
    void (*run)(struct sim_call *call);
} sim_call;

typedef struct sim_queue_state {
    pthread_cond_t work, done;      /* for idle workers; for threads that wait for an op */
    uint64_t next_seq, ended;       /* ops submitted; ops done */
    sim_call *calls;
    unsigned ncalls;
    /* Ready lists; index 0 is the highest priority (sim_ready.c). */
    sim_op *ready_first[SIM_PRIORITIES], *ready_last[SIM_PRIORITIES];
    unsigned nready, nopen;         /* ops in them; open grids among them */
    /* Workers (sim_worker.c). */
    unsigned workers, made;         /* threads that run; those ever made */
    unsigned idle, wakes, starting; /* asleep; woken but not awake yet; made but not running yet */
    unsigned in_host;               /* inside host functions */
    pthread_t worker[SIM_MAX_WORKERS];
    /* Schedules but the eager one (sim_schedule.c). */
    unsigned demand;                /* threads of the program that wait */
    unsigned running,
        epoch; /* operations begun in this epoch that run; an epoch ends when nothing has moved for a while */
    bool go;                        /* held operations may begin until none is ready */
    uint64_t moved, random; /* when an operation last began, ended or became ready after none was; random state */
} sim_queue_state;
extern sim_queue_state sim_queue;
extern const sim_room cji_sim_room_queue;

/* ---- Operations (sim_op.c) --------------------------------------------------------------------------------------- */

/* An op is made (one reference, the caller's), gets its predecessors and is submitted. A finished or NULL
 * predecessor is ignored; CUDA_ERROR_OUT_OF_MEMORY leaves the op to be abandoned. */
sim_op *cji_sim_op_new(sim_ctx *c, sim_work *w, int level);
void cji_sim_op_hold(sim_op *op, sim_ref *r);         /* a reference of it until the op is done */
CUresult cji_sim_op_after(sim_op *op, sim_op *before);
void cji_sim_op_submit(sim_op *op);
void cji_sim_op_drop(sim_op *op);
void cji_sim_op_abandon(sim_op *op);                  /* was never submitted; has no successors */
void cji_sim_op_finish(sim_op *op);                   /* its work is done: whatever waited for it alone becomes ready */
void cji_sim_op_cut_all(void);                         /* at that moment: none is waited for any more */
void cji_sim_op_abort_all(sim_ctx *c);                /* the end of the process: they end without their work */
/* The next unfinished operation, those of a context as they were submitted; NULL: the first. */
sim_op *cji_sim_op_after_all(const sim_op *op);
#define SIM_EACH_OP(op) for (sim_op *op = cji_sim_op_after_all(NULL); op; op = cji_sim_op_after_all(op))

/* ---- Ready lists (sim_ready.c) ----------------------------------------------------------------------------------- */

void cji_sim_ready_add(sim_op *op, bool front);
void cji_sim_ready_remove(sim_op *op);

/* ---- Host functions that run one at a time (sim_serial.c) -------------------------------------------------------- */

void cji_sim_serial_ready(sim_op *op); /* any op: into the ready lists, or behind the host function that runs */
void cji_sim_serial_unqueue(sim_op *op);
void cji_sim_serial_begin(sim_op *op);                /* a host function has been chosen */
void cji_sim_serial_end(sim_op *op);

/* ---- Workers (sim_worker.c) -------------------------------------------------------------------------------------- */

bool cji_sim_queue_start(void);                       /* at least one thread; false if none can be made */
void cji_sim_queue_join(void);                        /* without the lock */
void cji_sim_queue_balance(unsigned taken); /* wakes or makes threads for what is ready, but `taken` ops of it */
CUresult cji_sim_queue_wait(sim_op *op);    /* the lock is given up while waiting; helps with ops of its stream */
void cji_sim_queue_wait_ctx(sim_ctx *c);              /* until everything that was submitted to it by now is done */
void cji_sim_queue_wait_all(void);                    /* the same of every context of the process */
void cji_sim_queue_call(sim_call *call);              /* keeps it until its run has begun */
sim_call *cji_sim_queue_take_call(void);              /* NULL: none */

/* ---- Schedules (sim_schedule.c) ---------------------------------------------------------------------------------- */

void cji_sim_schedule_begin(void);                    /* at cuInit */
bool cji_sim_schedule_starts(void);                   /* whether one more may begin now */
sim_op *cji_sim_schedule_pick(void);                  /* which */
void cji_sim_schedule_do(sim_op *op, void (*work)(sim_op *op));
void cji_sim_schedule_sleep(void); /* of a worker, until something moves, or nothing has for a while */
void cji_sim_schedule_wait(void);                     /* of a thread of the program, until an operation is done */

#endif
