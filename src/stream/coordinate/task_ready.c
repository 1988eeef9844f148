/* Ready tasks in the order of their priority and age, and priorities that tasks have from those that depend on them.
 *
 * A task's place is `ready_at`, the how many-th ready task it is, plus `aging` for each class below the most urgent: so
 * a task is overtaken by at most `aging` later ones for each class between them.  Time plays no role.
 *
 * A task keeps its ready_at when its class changes.  It then leaves the list of its class, which is sorted because
 * tasks are appended to it, for the heap. */
#include "stream/coordinate/coord_tasks.h"

static const int8_t classes[] = {
    [CJ_PRIORITY_NORMAL] = 2, [CJ_PRIORITY_HIGH] = 1,     [CJ_PRIORITY_LOW] = 3,
    [CJ_PRIORITY_RAW] = -1,   [CJ_PRIORITY_CRITICAL] = 0, [CJ_PRIORITY_CLEANUP] = 4,
};

int cji_task_class(int32_t priority)
{
    return priority < 0 || priority >= (int32_t)(sizeof classes / sizeof *classes) ? -1 : classes[priority];
}

cj_priority cji_task_priority(int class)
{
    static const cj_priority of[CJI_TASK_CLASSES] = { CJ_PRIORITY_CRITICAL, CJ_PRIORITY_HIGH, CJ_PRIORITY_NORMAL,
                                                      CJ_PRIORITY_LOW, CJ_PRIORITY_CLEANUP };
    return of[class];
}

/* Whether `a` is run before `b`. */
static bool ready_before(const cji_tasks *g, const cji_task *a, const cji_task *b)
{
    if (g->aging >= 0) {
        const uint64_t pa = a->ready_at + (uint64_t)a->class * (uint64_t)g->aging;
        const uint64_t pb = b->ready_at + (uint64_t)b->class * (uint64_t)g->aging;
        if (pa != pb) return pa < pb;
    }
    return a->class != b->class ? a->class < b->class : a->ready_at < b->ready_at;
}

/* -- The heap ------------------------------------------------------------------------------------------------------ */

static void heap_put(cji_tasks *g, cji_task_ready *r, size_t at, uint32_t i)
{
    r->heap[at] = i;
    cji_task_at(g, i)->heap = (uint32_t)at;
}

static void heap_up(cji_tasks *g, cji_task_ready *r, size_t at)
{
    const uint32_t i = r->heap[at];
    const cji_task *t = cji_task_at(g, i);
    for (; at; at = (at - 1) / 2) {
        const uint32_t above = r->heap[(at - 1) / 2];
        if (!ready_before(g, t, cji_task_at(g, above))) break;
        heap_put(g, r, at, above);
    }
    heap_put(g, r, at, i);
}

static void heap_down(cji_tasks *g, cji_task_ready *r, size_t at)
{
    const uint32_t i = r->heap[at];
    const cji_task *t = cji_task_at(g, i);
    for (size_t child; (child = 2 * at + 1) < r->count; at = child) {
        if (child + 1 < r->count &&
            ready_before(g, cji_task_at(g, r->heap[child + 1]), cji_task_at(g, r->heap[child])))
            child++;
        if (!ready_before(g, cji_task_at(g, r->heap[child]), t)) break;
        heap_put(g, r, at, r->heap[child]);
    }
    heap_put(g, r, at, i);
}

static void heap_remove(cji_tasks *g, cji_task_ready *r, uint32_t i)
{
    const size_t at = cji_task_at(g, i)->heap;
    cji_task_at(g, i)->in_heap = false;
    const uint32_t last = r->heap[--r->count];
    if (last == i) return;
    heap_put(g, r, at, last);
    heap_up(g, r, at);
    heap_down(g, r, cji_task_at(g, last)->heap);
}

/* -- Lists --------------------------------------------------------------------------------------------------------- */

static void list_remove(cji_tasks *g, cji_task_ready *r, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    if (t->prev == CJI_NO_TASK) r->first[t->class] = t->next;
    else cji_task_at(g, t->prev)->next = t->next;
    if (t->next == CJI_NO_TASK) r->last[t->class] = t->prev;
    else cji_task_at(g, t->next)->prev = t->prev;
    t->prev = t->next = CJI_NO_TASK;
    if (r->first[t->class] == CJI_NO_TASK) r->classes &= ~(1u << t->class);
}

/* Behind the last one that became ready before it: for a new one that is the end. */
static void list_insert(cji_tasks *g, cji_task_ready *r, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    uint32_t at = r->last[t->class];
    while (at != CJI_NO_TASK && cji_task_at(g, at)->ready_at > t->ready_at) at = cji_task_at(g, at)->prev;
    t->prev = at;
    t->next = at == CJI_NO_TASK ? r->first[t->class] : cji_task_at(g, at)->next;
    if (at == CJI_NO_TASK) r->first[t->class] = i;
    else cji_task_at(g, at)->next = i;
    if (t->next == CJI_NO_TASK) r->last[t->class] = i;
    else cji_task_at(g, t->next)->prev = i;
    r->classes |= 1u << t->class;
}

static void ready_remove(cji_tasks *g, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    cji_task_ready *r = &g->ready[t->pull];
    if (t->in_heap) heap_remove(g, r, i);
    else list_remove(g, r, i);
    r->listed--;
}

/* Without memory for the heap it is put into the list where it belongs, which takes longer. */
static void ready_insert(cji_tasks *g, uint32_t i, bool is_new)
{
    cji_task_ready *r = &g->ready[cji_task_at(g, i)->pull];
    r->listed++;
    if (is_new || !cji_grow(&r->heap, &r->cap, r->count + 1, sizeof *r->heap)) {
        list_insert(g, r, i);
        return;
    }
    cji_task_at(g, i)->in_heap = true;
    r->heap[r->count++] = i;
    heap_up(g, r, r->count - 1);
}

/* -- Ready and not ------------------------------------------------------------------------------------------------- */

/* A skipped task is not run: it ends when all that it depends on has ended. */
static void skipped_append(cji_tasks *g, uint32_t i)
{
    cji_task_at(g, i)->next = CJI_NO_TASK;
    if (g->skipped == CJI_NO_TASK) g->skipped = i;
    else cji_task_at(g, g->skipped_last)->next = i;
    g->skipped_last = i;
}

void cji_task_check_ready(cji_tasks *g, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    const bool skipped = cji_task_is_skipped(t);
    if (t->state != CJ_TASK_WAITING || (skipped || t->needs_end ? t->unended : t->unqueued)) return;
    cji_task_set_state(g, i, CJ_TASK_READY);
    t->ready_at = ++g->next_ready;
    if (skipped) skipped_append(g, i);
    else if (!t->taken) ready_insert(g, i, true);
}

void cji_task_admit(cji_tasks *g, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    t->unqueued--;
    t->unended--;
    cji_task_check_ready(g, i);
}

void cji_task_unready(cji_tasks *g, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    if (!t->taken) ready_remove(g, i);
    cji_task_set_state(g, i, CJ_TASK_WAITING);
}

void cji_task_take(cji_tasks *g, uint32_t i, bool taken)
{
    cji_task *t = cji_task_at(g, i);
    if (t->taken == taken) return;
    const bool listed = t->state == CJ_TASK_READY && !cji_task_is_skipped(t);
    if (listed && taken) ready_remove(g, i);
    t->taken = taken;
    if (listed && !taken) ready_insert(g, i, false);
}

bool cji_task_any_ready(const cji_tasks *g, bool pull) { return g->ready[pull].listed != 0; }

/* The one that is next of several lists and the heap. */
static uint32_t ready_choose(cji_tasks *g, const cji_task_ready *r)
{
    uint32_t best = r->count ? r->heap[0] : CJI_NO_TASK;
    int urgent = CJI_TASK_CLASSES; /* the most urgent class that has a task */
    if (best != CJI_NO_TASK) urgent = cji_task_at(g, best)->class;
    for (int c = 0; c < CJI_TASK_CLASSES; c++) {
        const uint32_t i = r->first[c];
        if (i == CJI_NO_TASK) continue;
        if (c < urgent) urgent = c;
        if (best == CJI_NO_TASK || ready_before(g, cji_task_at(g, i), cji_task_at(g, best))) best = i;
    }
    g->aged += cji_task_at(g, best)->class > urgent;
    return best;
}

/* What tasks read when their turn comes was written long ago.  The slot of the third one of a list is fetched, and of
 * the second one, whose slot is there by now, what it comes after and what comes after it. */
static void ready_prefetch(const cji_tasks *g, uint32_t first)
{
    const uint32_t second = first == CJI_NO_TASK ? first : cji_task_at(g, first)->next;
    if (second == CJI_NO_TASK) return;
    const cji_task *t = cji_task_at(g, second);
    __asm__ volatile(""); /* see cji_task_prefetch() */
    if (t->out != CJI_NO_TASK) {
        __builtin_prefetch(cji_task_edge_at(g, t->out), 1);
        __builtin_prefetch(cji_task_edge_at(g, t->out_last), 1);
    }
    for (uint32_t k = 0; k < t->edges; k++) cji_task_prefetch(g, t->edge[k].pred, 2);
    cji_task_prefetch(g, t->next, 3);
}

uint32_t cji_task_next(cji_tasks *g, bool pull)
{
    const cji_task_ready *r = &g->ready[pull];
    uint32_t best;
    if (!r->listed) return CJI_NO_TASK;
    if (!r->count && !(r->classes & (r->classes - 1))) best = r->first[__builtin_ctz(r->classes)];
    else best = ready_choose(g, r);
    const uint32_t after = cji_task_at(g, best)->next;
    const bool listed = !cji_task_at(g, best)->in_heap;
    ready_remove(g, best);
    if (listed) ready_prefetch(g, after);
    return best;
}

/* -- Priorities ---------------------------------------------------------------------------------------------------- */

static void class_change(cji_tasks *g, uint32_t i, int class)
{
    cji_task *t = cji_task_at(g, i);
    const bool listed = t->state == CJ_TASK_READY && !t->taken && !cji_task_is_skipped(t);
    if (listed) ready_remove(g, i);
    t->class = (uint8_t)class;
    if (listed) ready_insert(g, i, false);
}

/* Puts what `i` depends on and has not begun on the list of what is to be looked at. */
static void class_push(cji_tasks *g, uint32_t i, uint32_t *work)
{
    for (uint32_t e = cji_task_at(g, i)->in; e != CJI_NO_TASK; e = cji_task_edge_at(g, e)->next_in) {
        const uint32_t p = cji_task_edge_at(g, e)->pred;
        if (p == CJI_NO_TASK) continue;
        cji_task *t = cji_task_at(g, p);
        if (t->listed || !cji_task_unbegun(t)) continue;
        t->listed = true;
        t->work_next = *work;
        *work = p;
    }
}

static uint32_t class_pop(cji_tasks *g, uint32_t *work)
{
    const uint32_t i = *work;
    cji_task *t = cji_task_at(g, i);
    *work = t->work_next;
    t->listed = false;
    return i;
}

void cji_task_raise(cji_tasks *g, uint32_t i, int class)
{
    cji_task *t = cji_task_at(g, i);
    if (!cji_task_unbegun(t) || t->class <= class) return;
    uint32_t work = i;
    t->listed = true;
    t->work_next = CJI_NO_TASK;
    while (work != CJI_NO_TASK) {
        i = class_pop(g, &work);
        if (cji_task_at(g, i)->class <= class) continue;
        g->inversions++;
        class_change(g, i, class);
        class_push(g, i, &work);
    }
}

/* The most urgent of its own class and those of what depends on it. */
static int ready_class_of(const cji_tasks *g, const cji_task *t)
{
    int class = t->own;
    for (uint32_t e = t->out; e != CJI_NO_TASK; e = cji_task_edge_at(g, e)->next_out) {
        const uint32_t s = cji_task_edge_at(g, e)->succ;
        if (s != CJI_NO_TASK && cji_task_at(g, s)->class < class) class = cji_task_at(g, s)->class;
    }
    return class;
}

void cji_task_set_class(cji_tasks *g, uint32_t i, int class)
{
    cji_task *t = cji_task_at(g, i);
    uint32_t work = i;
    t->own = (uint8_t)class;
    t->listed = true;
    t->work_next = CJI_NO_TASK;
    while (work != CJI_NO_TASK) {
        i = class_pop(g, &work);
        t = cji_task_at(g, i);
        const int now = ready_class_of(g, t);
        if (now == t->class) continue;
        g->inversions += now < t->class && now < t->own;
        class_change(g, i, now);
        class_push(g, i, &work);
    }
}
