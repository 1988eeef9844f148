/* Deadlocks of threads: one waits for a task that another has begun and not completed, while that one waits, in turn,
 * for a task that needs one of the first.  All that a task depends on must be enqueued before it, so one such task is
 * enough. */
#include "stream/coordinate/coord.h"

bool cji_coord_wait_enter(cj_coord *c, uint32_t task)
{
    if (!cji_grow(&c->waiting, &c->waiting_cap, c->waitings + 1, sizeof *c->waiting)) return false;
    c->waiting[c->waitings++] = (cji_coord_waiting){ cji_thread_id(), task };
    return true;
}

void cji_coord_wait_leave(cj_coord *c)
{
    const uint64_t me = cji_thread_id();
    for (size_t k = c->waitings; k-- > 0;) {
        if (c->waiting[k].thread != me) continue;
        c->waitings--; /* the others keep their order: an outer wait of a thread is before its inner one */
        memmove(&c->waiting[k], &c->waiting[k + 1], (c->waitings - k) * sizeof *c->waiting);
        return;
    }
}

/* Tasks found so far: each because the one at `parent` waits for it. */
typedef struct deadlock_search {
    cj_coord *c;
    cji_task_found *found;
    size_t count, cap;
    bool failed; /* without memory nothing is reported */
} deadlock_search;

static void deadlock_add(deadlock_search *d, uint32_t i, size_t parent)
{
    cji_task *t = cji_task_at(&d->c->tasks, i);
    if (t->mark == d->c->tasks.search) return;
    cji_task_rare(t)->mark = d->c->tasks.search;
    if (cji_grow(&d->found, &d->cap, d->count + 1, sizeof *d->found))
        d->found[d->count++] = (cji_task_found){ i, (uint32_t)parent };
    else d->failed = true;
}

/* What a thread waits for: a task, or all. */
static void deadlock_add_target(deadlock_search *d, uint32_t task, size_t parent)
{
    const cji_tasks *g = &d->c->tasks;
    if (task != CJI_NO_TASK) {
        deadlock_add(d, task, parent);
        return;
    }
    for (size_t i = 0; g->in_state[CJ_TASK_BEGUN] && i < g->blocks * CJI_TASK_BLOCK; i++)
        if (cji_task_at(g, (uint32_t)i)->state == CJ_TASK_BEGUN) deadlock_add(d, (uint32_t)i, parent);
}

static void deadlock_expand(deadlock_search *d, size_t k)
{
    const cji_tasks *g = &d->c->tasks;
    const cji_task *t = cji_task_at(g, d->found[k].task);
    if (t->state == CJ_TASK_BEGUN) {
        for (size_t w = 0; t->thread && w < d->c->waitings; w++)
            if (d->c->waiting[w].thread == t->thread) deadlock_add_target(d, d->c->waiting[w].task, k);
    } else if (cji_task_unbegun(t)) {
        for (uint32_t e = t->in; e != CJI_NO_TASK; e = cji_task_edge_at(g, e)->next_in)
            if (cji_task_edge_at(g, e)->pred != CJI_NO_TASK) deadlock_add(d, cji_task_edge_at(g, e)->pred, k);
    }
}

/* "task 7 'b' waits for 3 'a', which a thread has begun that waits for 5 'c', which this thread has begun and not
 * completed" */
static void deadlock_say(const deadlock_search *d, size_t k, cji_line *l)
{
    enum { DEEP = 12 };
    uint32_t path[DEEP];
    size_t n = 0;
    for (uint32_t at = (uint32_t)k; at != CJI_NO_TASK && n < DEEP; at = d->found[at].parent)
        path[n++] = d->found[at].task;
    const cji_tasks *g = &d->c->tasks;
    cji_say(l, n > 1 || cji_task_at(g, path[n - 1])->state != CJ_TASK_BEGUN ? "task " : "this call waits for task ");
    for (size_t j = n; j-- > 0;) {
        cji_task_say(g, l, path[j]);
        if (!j) cji_say(l, ", which this thread has begun and not completed");
        else if (cji_task_at(g, path[j])->state == CJ_TASK_BEGUN)
            cji_say(l, ", which a thread has begun that waits for ");
        else cji_say(l, " waits for ");
    }
}

/* The place of a task that the thread has begun; count: none. */
static size_t deadlock_find(deadlock_search *d, uint64_t thread, uint32_t task)
{
    d->c->tasks.search++;
    deadlock_add_target(d, task, CJI_NO_TASK);
    for (size_t k = 0; k < d->count; k++) {
        const cji_task *t = cji_task_at(&d->c->tasks, d->found[k].task);
        if (t->state == CJ_TASK_BEGUN && t->thread == thread) return k;
        deadlock_expand(d, k);
    }
    return d->count;
}

bool cji_coord_deadlock(cj_coord *c, uint64_t thread, uint32_t task, char *why, size_t size)
{
    deadlock_search d = { .c = c };
    cji_line l = { why, size, 0 };
    if (!c->tasks.in_state[CJ_TASK_BEGUN]) return false;
    const size_t k = deadlock_find(&d, thread, task);
    const bool found = k < d.count && !d.failed;
    if (found) {
        deadlock_say(&d, k, &l);
        cji_line kept = { c->deadlock[c->deadlocks++ % CJI_TASK_CYCLES], sizeof *c->deadlock, 0 };
        cji_say(&kept, "%s: a deadlock", why);
    }
    cji_free(d.found, d.cap * sizeof *d.found);
    return found;
}
