/* The core of a coordinator, which knows no driver: tasks, dependencies, ready order, failures.  Prefix cji_task.
 *
 *   task_core.c      all of it made and released
 *   task_slots.c     tasks and edges in blocks that never move; handles; forgetting
 *   task_ready.c     ready tasks in the order of priority and age; a task has the priority of its dependants
 *   task_edges.c     dependencies; a topological order that is kept while edges are made; cycles
 *   task_states.c    enqueued, ended, poisoned, cancelled; groups
 *   task_ranges.c    which tasks wrote and read which memory
 *
 * One thread at a time: the coordinator's lock.
 *
 * Invariants.
 *   - `unqueued` and `unended` of a task that has not begun count its incoming edges whose pred is not enqueued, not
 *     ended; an open group counts one more in both.
 *   - A task is ready when `unqueued` is 0; a task that is skipped (poisoned, cancelled) or that needs the completion
 *     of others (CJ_TASK_SYNC) when `unended` is 0.  A task that is being made counts one more in both.
 *   - `order` of tasks that have not begun: pred before succ.  A new task has the greatest one, so an edge from an
 *     earlier task to a new one needs no search.
 *   - An edge is in the list of its pred until that has ended and in that of its succ until that has begun; the later
 *     of the two frees it.  An end that has left is CJI_NO_TASK.
 *   - A task that does not run still ends after all that it depends on: what is ordered after it by memory stays
 *     ordered after those. */
#ifndef CJI_COORD_TASKS_H
#define CJI_COORD_TASKS_H

#include <cujit/coordinate.h>
#include <cujit/pool.h>

#include "base/mem.h"
#include "base/obj.h"

enum {
    CJI_NO_TASK = 0x7fffffff,
    CJI_TASK_CLASSES = 5,
    CJI_TASK_STATES = CJ_TASK_CANCELLED + 1,
    CJI_TASK_BLOCK = 1024, /* tasks, edges */
    CJI_TASK_LINE = 64,
    CJI_TASK_AHEAD = 8,           /* tasks whose slots are fetched before they are forgotten */
    CJI_TASK_EDGES = 2,           /* in a slot */
    CJI_EDGE_MORE = 0x40000000,   /* numbers of the other edges */
    CJI_TASK_CYCLES = 16   /* messages that are kept */
};

/* An edge only keeps two tasks from touching memory at once: a failure of pred does not poison succ. */
enum { CJI_EDGE_ORDER = 1 };

/* The first edges into a task are in its slot, number i * CJI_TASK_EDGES + k, so that who follows an edge to a task has
 * read it already; the others are in blocks of their own, numbered from CJI_EDGE_MORE.  When a slot is freed its edges
 * leave the lists of those that have not ended. */
typedef struct cji_task_edge {
    uint32_t pred, succ;
    uint32_t next_out;     /* in the list of pred */
    uint32_t next_in : 31; /* in the list of succ */
    uint32_t flags : 1;
} cji_task_edge;

/* Of a group, and of the coordinator itself for the tasks without a group. */
typedef struct cji_task_members {
    uint32_t first, last; /* those that have not ended, as they were added */
    cj_task barrier;      /* the latest one; 0: none */
    cj_task start;        /* a hidden task that the members come after; 0: none */
    bool open;
} cji_task_members;

/* A slot is four lines of the cache, and is aligned to them: what a task needs before it is ready, what those need that
 * depend on it, what is reported of it, and what few tasks have.  That last line is zero, and is not read, while `rare`
 * is not set: cji_task_rare(). */
typedef struct cji_task {
    cji_task_edge edge[CJI_TASK_EDGES]; /* the first edges into it */
    union {
        uint32_t unqueued;
        uint32_t point;           /* enqueued: the number of the point that was recorded behind it, if one was */
    };
    uint32_t unended;
    union {
        uint32_t prev;            /* in the list of its class */
        uint32_t heap;            /* in_heap: its place there */
        uint32_t later;           /* done: one that is forgotten some tasks later; CJI_NO_TASK: not known yet */
    };
    uint32_t next;                /* in one list: ready, on its stream, skipped, ended, free */
    uint64_t ready_at;            /* the how many-th task that became ready; enqueued: that was enqueued */
    uint8_t state;                /* a cj_task_state; 0: free */
    uint8_t result;               /* the state that it will end with; 0: CJ_TASK_DONE */
    uint8_t kind, work;
    uint8_t own, class;           /* class of its own priority, of the effective one: 0 is the most urgent */
    uint8_t edges;                /* how many of `edge` were used since it was made */
    bool pull : 1;                /* it has no function and is not run here */
    bool needs_end : 1;           /* of all that it depends on */
    bool taken : 1;               /* ready, and held for a caller who begins it himself */
    bool in_heap : 1;
    bool rare : 1;                /* the last line is used */
    bool listed : 1;              /* in `work_next` */
    bool hidden : 1;              /* made by the library: the start of a group */
    bool stream_bad : 1;          /* its stream had failed when it began */
    /* 64 */
    uint64_t order;
    union {
        uint64_t seq;             /* enqueued: its place on its stream */
        uint32_t work_next;       /* not begun, listed: the next one that is still to be looked at */
    };
    cj_status (*run)(void *user, cj_stream *s);
    void *user;
    uint64_t thread : 61;         /* begun: by whom; 0: anybody may complete it */
    uint64_t any_thread : 1, pulled : 1, missed : 1;
    uint32_t generation;
    uint32_t out, out_last, in;   /* edges */
    uint32_t group;               /* CJI_NO_TASK: none */
    uint16_t device, stream;      /* of the coordinator's tables */
    /* 128 */
    uint64_t number;              /* from 1; a slot is used again, a number is not; hidden: the latest one */
    uint64_t added, begun, queued, ended;
    uint64_t stream_id;           /* cj_stream_id */
    uint32_t member_prev, member_next;
    void (*done)(void *user, cj_task task, cj_task_state state);
    /* 192: rare */
    uint64_t deadline;
    uint64_t mark;                /* of a search */
    union {
        cj_task cause;            /* poisoned: the task that did not succeed */
        cj_pooled_stream lease;   /* of `pool`; 0: none; not if poisoned */
    };
    cj_stream_pool *pool;
    cji_task_members *members;    /* of a group */
    void (*release)(void *user);  /* with the slot; for tasks of the library */
    char *what;
    cj_error *error;
} cji_task;

/* Tasks that are ready: a list for each class, in the order of ready_at, and a heap for those whose class has
 * changed. */
typedef struct cji_task_ready {
    uint32_t first[CJI_TASK_CLASSES], last[CJI_TASK_CLASSES];
    uint32_t classes; /* a bit for each list that is not empty */
    uint32_t *heap;
    size_t count, cap, listed;
} cji_task_ready;

typedef struct cji_task_found { uint32_t task, parent; } cji_task_found;

/* A picture's edge: numbers of tasks. */
typedef struct cji_task_line { uint64_t pred, succ; uint32_t flags; } cji_task_line;

typedef struct cji_task_ranges cji_task_ranges;

typedef struct cji_tasks {
    cji_task **block;      /* of CJI_TASK_BLOCK tasks, aligned to CJI_TASK_LINE */
    size_t blocks, block_cap;
    cji_task_edge **edges; /* of CJI_TASK_BLOCK edges */
    size_t edge_blocks, edge_cap;
    uint32_t free_task, free_edge;
    uint64_t number, next_order, next_ready, search;
    int32_t aging;         /* -1: none */
    size_t history;        /* tasks that are done and are kept */
    bool keep;             /* all tasks, and all edges as lines */
    cji_task_ready ready[2]; /* with a function, without one */
    uint32_t skipped, skipped_last; /* skipped tasks that may end */
    uint32_t old, old_last;         /* done: the oldest are forgotten first */
    size_t old_count;
    uint32_t latest[CJI_TASK_AHEAD]; /* a ring of those that were put there last; CJI_NO_TASK: none */
    uint32_t latest_at;
    uint32_t bad;          /* ended, and not done: kept until the caller forgets them */
    cji_task_members root;
    cji_task_found *found[2]; /* of a search: forward, backward */
    size_t found_cap[2], found_count[2];
    uint64_t *places;      /* of a search: numbers of the order to be given out anew */
    size_t places_cap;
    cji_task_line *line;
    size_t lines, line_cap;
    char (*cycle)[480];    /* a ring of the latest messages */
    cji_task_ranges *ranges;
    uint64_t in_state[CJI_TASK_STATES]; /* tasks now, hidden ones not */
    uint64_t unended;                   /* hidden ones too */
    uint64_t ended[CJI_TASK_STATES];    /* so far, hidden ones not */
    uint64_t added, edge_count, range_edges, cycles, inversions, aged;
} cji_tasks;

/* -- All of it (task_core.c) --------------------------------------------------------------------------------------- */

bool cji_tasks_open(cji_tasks *g, int32_t aging, size_t history, bool keep); /* false without memory */
void cji_tasks_close(cji_tasks *g);
uint64_t cji_tasks_bytes(const cji_tasks *g);

/* -- Slots (task_slots.c) ------------------------------------------------------------------------------------------ */

static inline cji_task *cji_task_at(const cji_tasks *g, uint32_t i)
{
    return &g->block[i / CJI_TASK_BLOCK][i % CJI_TASK_BLOCK];
}
static inline cji_task_edge *cji_task_edge_at(const cji_tasks *g, uint32_t e)
{
    if (e < CJI_EDGE_MORE) return &cji_task_at(g, e / CJI_TASK_EDGES)->edge[e % CJI_TASK_EDGES];
    e -= CJI_EDGE_MORE;
    return &g->edges[e / CJI_TASK_BLOCK][e % CJI_TASK_BLOCK];
}
/* Before a field of the last line is written. */
static inline cji_task *cji_task_rare(cji_task *t) { return t->rare = true, t; }
static inline cj_task cji_task_handle(const cji_tasks *g, uint32_t i)
{
    return i == CJI_NO_TASK ? 0 : (uint64_t)cji_task_at(g, i)->generation << 32 | (i + 1);
}

/* What a handle is.  *i is set for a task that is there. */
typedef enum cji_task_is { CJI_TASK_IS_NONE, CJI_TASK_IS_HERE, CJI_TASK_IS_FORGOTTEN } cji_task_is;
static inline cji_task_is cji_task_find(const cji_tasks *g, cj_task handle, uint32_t *i)
{
    const uint64_t index = (handle & 0xffffffff) - 1;
    if (!handle || index >= g->blocks * CJI_TASK_BLOCK) return CJI_TASK_IS_NONE;
    const cji_task *t = cji_task_at(g, (uint32_t)index);
    const uint32_t generation = (uint32_t)(handle >> 32);
    if (generation > t->generation || (generation == t->generation && !t->state)) return CJI_TASK_IS_NONE;
    if (generation < t->generation) return CJI_TASK_IS_FORGOTTEN;
    *i = (uint32_t)index;
    return CJI_TASK_IS_HERE;
}

uint32_t cji_task_new(cji_tasks *g, bool hidden);    /* being made; CJI_NO_TASK without memory */
void cji_task_slots_close(cji_tasks *g);             /* all of them, with what they own */
void cji_task_slot_clear(cji_task *t);               /* what it owns */
void cji_task_slot_free(cji_tasks *g, uint32_t i);   /* handles of it are forgotten */
uint32_t cji_task_edge_more(cji_tasks *g); /* one that is in no slot; CJI_NO_TASK without memory */
/* One into `t`, which is number `i`. */
static inline uint32_t cji_task_edge_new(cji_tasks *g, cji_task *t, uint32_t i)
{
    return t->edges < CJI_TASK_EDGES ? i * CJI_TASK_EDGES + t->edges++ : cji_task_edge_more(g);
}
/* One of a slot stays as it is until the slot is free. */
static inline void cji_task_edge_free(cji_tasks *g, uint32_t e)
{
    if (e < CJI_EDGE_MORE) return;
    cji_task_edge_at(g, e)->next_out = g->free_edge;
    g->free_edge = e;
}
static inline void cji_task_set_state(cji_tasks *g, uint32_t i, cj_task_state state)
{
    cji_task *t = cji_task_at(g, i);
    g->in_state[t->state] -= !t->hidden;
    t->state = (uint8_t)state;
    g->in_state[state] += !t->hidden;
}
void cji_task_archive(cji_tasks *g, uint32_t i);     /* an ended task, which nobody needs but the reader */
void cji_task_none_archived(cji_tasks *g);
void cji_task_forget_all(cji_tasks *g);
uint64_t cji_task_bytes(const cji_tasks *g);
/* "7 'reduce'", "7" */
void cji_task_say(const cji_tasks *g, cji_line *l, uint32_t i);

/* Fetches lines of a slot.  A function that does nothing but fetch has no effect for gcc, which drops calls of it: the
 * empty statement is one. */
static inline void cji_task_prefetch(const cji_tasks *g, uint32_t i, int lines)
{
    if (i == CJI_NO_TASK) return;
    const char *slot = (const char *)cji_task_at(g, i);
    __asm__ volatile("");
    __builtin_prefetch(slot, 1);
    __builtin_prefetch(slot + CJI_TASK_LINE, 1);
    if (lines > 2) __builtin_prefetch(slot + 2 * CJI_TASK_LINE, 1);
}
/* What comes after the task, which was not touched since it was added: while the task's own work is enqueued. */
static inline void cji_task_prefetch_after(const cji_tasks *g, const cji_task *t)
{
    enum { FEW = 4 };
    uint32_t e = t->out;
    __asm__ volatile("");
    for (int k = 0; k < FEW && e != CJI_NO_TASK; k++, e = cji_task_edge_at(g, e)->next_out)
        __builtin_prefetch(cji_task_edge_at(g, e), 1);
}

static inline bool cji_task_ended(const cji_task *t) { return t->state >= CJ_TASK_DONE; }
static inline bool cji_task_unbegun(const cji_task *t)
{
    return t->state == CJ_TASK_WAITING || t->state == CJ_TASK_READY;
}
/* Whether a task that has not begun will not run. */
static inline bool cji_task_is_skipped(const cji_task *t) { return t->result > CJ_TASK_DONE; }

/* -- Ready tasks (task_ready.c) ------------------------------------------------------------------------------------ */

int cji_task_class(int32_t priority);                /* 0 is the most urgent; -1: no priority of a task */
cj_priority cji_task_priority(int class);
/* Puts a waiting task among the ready ones, if nothing keeps it any more. */
void cji_task_check_ready(cji_tasks *g, uint32_t i);
void cji_task_admit(cji_tasks *g, uint32_t i);       /* it is made */
void cji_task_unready(cji_tasks *g, uint32_t i);     /* a ready one waits again */
/* The next one with a function, without one; CJI_NO_TASK: none.  It leaves the list and stays ready. */
uint32_t cji_task_next(cji_tasks *g, bool pull);
bool cji_task_any_ready(const cji_tasks *g, bool pull);
/* A ready task is held for a caller, or no more. */
void cji_task_take(cji_tasks *g, uint32_t i, bool taken);
/* Raises a task, and what it depends on, to a class at least as urgent. */
void cji_task_raise(cji_tasks *g, uint32_t i, int class);
/* Sets its own class and computes the effective ones anew. */
void cji_task_set_class(cji_tasks *g, uint32_t i, int class);

/* -- Dependencies (task_edges.c) ----------------------------------------------------------------------------------- */

/* `succ` comes after `pred`.  CJ_ESTATE: a cycle, which is left as text in `why`; CJ_ENOMEM.  Nothing has changed
 * then. */
cj_status cji_task_depend(cji_tasks *g, uint32_t succ, uint32_t pred, uint32_t flags, char *why, size_t size);
/* Its incoming edges are not needed any more: it has begun, or it is discarded. */
void cji_task_drop_in(cji_tasks *g, uint32_t i);
void cji_task_discard(cji_tasks *g, uint32_t i);     /* one that nothing depends on yet */

/* -- States (task_states.c) ---------------------------------------------------------------------------------------- */

/* The next task that is ready for the caller begins: its incoming edges are still there. */
static inline void cji_task_begun(cji_tasks *g, uint32_t i) { cji_task_set_state(g, i, CJ_TASK_BEGUN); }
/* Its work is on its stream; what it depends on is not needed any more. */
void cji_task_queued(cji_tasks *g, uint32_t i);
/* It has ended with t->result; those after it may run.  It stays until it is archived. */
void cji_task_end(cji_tasks *g, uint32_t i);
/* It will end as failed: what depends on it is poisoned. */
void cji_task_fail(cji_tasks *g, uint32_t i);
void cji_task_poison(cji_tasks *g, uint32_t i, cj_task cause);
bool cji_task_cancel(cji_tasks *g, uint32_t i); /* false: too late */
/* The next skipped task that may end; CJI_NO_TASK: none. */
uint32_t cji_task_next_skipped(cji_tasks *g);
void cji_task_join_group(cji_tasks *g, uint32_t i, uint32_t group);
void cji_task_leave_group(cji_tasks *g, uint32_t i);
void cji_task_close_group(cji_tasks *g, uint32_t i);

/* -- Memory that tasks touch (task_ranges.c) ----------------------------------------------------------------------- */

cji_task_ranges *cji_task_ranges_new(void);          /* NULL without memory */
void cji_task_ranges_free(cji_task_ranges *m);
/* The edges of a new task that touches these ranges, and then the task as their reader and writer.  On failure, which
 * is CJ_ENOMEM, the ranges are as before. */
cj_status cji_task_touch(cji_tasks *g, uint32_t i, const cj_ranges *reads, const cj_ranges *writes);
uint64_t cji_task_ranges_bytes(const cji_task_ranges *m);

#endif
