/* What becomes of tasks: begun, enqueued, ended, poisoned, cancelled; members of groups. */
#include "stream/coordinate/coord_tasks.h"

/* -- Groups -------------------------------------------------------------------------------------------------------- */

static cji_task_members *members_of(cji_tasks *g, uint32_t group)
{
    return group == CJI_NO_TASK ? &g->root : cji_task_at(g, group)->members;
}

void cji_task_join_group(cji_tasks *g, uint32_t i, uint32_t group)
{
    cji_task *t = cji_task_at(g, i);
    cji_task_members *m = members_of(g, group);
    t->group = group;
    t->member_prev = m->last;
    if (m->last == CJI_NO_TASK) m->first = i;
    else cji_task_at(g, m->last)->member_next = i;
    m->last = i;
}

void cji_task_leave_group(cji_tasks *g, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    cji_task_members *m = members_of(g, t->group);
    if (t->member_prev == CJI_NO_TASK) m->first = t->member_next;
    else cji_task_at(g, t->member_prev)->member_next = t->member_next;
    if (t->member_next == CJI_NO_TASK) m->last = t->member_prev;
    else cji_task_at(g, t->member_next)->member_prev = t->member_prev;
    t->member_prev = t->member_next = CJI_NO_TASK;
}

void cji_task_close_group(cji_tasks *g, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    if (!t->members->open) return;
    t->members->open = false;
    cji_task_admit(g, i);
}

/* -- Forward ------------------------------------------------------------------------------------------------------- */

/* One task less that those after `i` wait for. */
static void states_release_queued(cji_tasks *g, const cji_task *t)
{
    for (uint32_t e = t->out; e != CJI_NO_TASK; e = cji_task_edge_at(g, e)->next_out) {
        const uint32_t s = cji_task_edge_at(g, e)->succ;
        if (s == CJI_NO_TASK) continue;
        cji_task_at(g, s)->unqueued--;
        cji_task_check_ready(g, s);
    }
}

void cji_task_queued(cji_tasks *g, uint32_t i)
{
    cji_task_drop_in(g, i);
    cji_task_set_state(g, i, CJ_TASK_ENQUEUED);
    states_release_queued(g, cji_task_at(g, i));
}

void cji_task_end(cji_tasks *g, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    if (t->state != CJ_TASK_ENQUEUED) cji_task_queued(g, i);
    if (!t->result) t->result = CJ_TASK_DONE;
    cji_task_set_state(g, i, (cj_task_state)t->result);
    g->unended--;
    g->ended[t->result] += !t->hidden;
    for (uint32_t e = t->out, next; e != CJI_NO_TASK; e = next) {
        cji_task_edge *edge = cji_task_edge_at(g, e);
        const uint32_t s = edge->succ;
        next = edge->next_out;
        edge->pred = CJI_NO_TASK;
        if (s == CJI_NO_TASK) {
            cji_task_edge_free(g, e);
            continue;
        }
        cji_task_at(g, s)->unended--;
        cji_task_check_ready(g, s);
    }
    t->out = t->out_last = CJI_NO_TASK;
    cji_task_leave_group(g, i);
}

/* -- Failures ------------------------------------------------------------------------------------------------------ */

/* A task that has not begun will not run. */
static void states_skip(cji_tasks *g, uint32_t i, cj_task_state result, cj_task cause)
{
    cji_task *t = cji_task_at(g, i);
    if (t->state == CJ_TASK_READY) cji_task_unready(g, i);
    t->result = (uint8_t)result;
    cji_task_rare(t)->cause = cause;
    cji_task_check_ready(g, i);
}

/* Puts what comes after `i` and must not run on the list. */
static void states_push(cji_tasks *g, uint32_t i, uint32_t *work)
{
    for (uint32_t e = cji_task_at(g, i)->out; e != CJI_NO_TASK; e = cji_task_edge_at(g, e)->next_out) {
        const cji_task_edge *edge = cji_task_edge_at(g, e);
        if (edge->succ == CJI_NO_TASK || (edge->flags & CJI_EDGE_ORDER)) continue;
        cji_task *s = cji_task_at(g, edge->succ);
        if (s->listed || !cji_task_unbegun(s) || cji_task_is_skipped(s)) continue;
        s->listed = true;
        s->work_next = *work;
        *work = edge->succ;
    }
}

static void states_poison_after(cji_tasks *g, uint32_t i, cj_task cause)
{
    uint32_t work = CJI_NO_TASK;
    for (;;) {
        states_push(g, i, &work);
        if (work == CJI_NO_TASK) return;
        i = work;
        cji_task *t = cji_task_at(g, i);
        work = t->work_next;
        t->listed = false;
        states_skip(g, i, CJ_TASK_POISONED, cause);
    }
}

void cji_task_poison(cji_tasks *g, uint32_t i, cj_task cause)
{
    const cji_task *t = cji_task_at(g, i);
    if (!cji_task_unbegun(t) || cji_task_is_skipped(t)) return;
    states_skip(g, i, CJ_TASK_POISONED, cause);
    states_poison_after(g, i, cause);
}

void cji_task_fail(cji_tasks *g, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    t->result = CJ_TASK_FAILED;
    states_poison_after(g, i, cji_task_handle(g, i));
}

bool cji_task_cancel(cji_tasks *g, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    bool any = false;
    if (!cji_task_unbegun(t) || cji_task_is_skipped(t)) return false;
    if (t->members) { /* the members first: they are what runs; the group ends with the last of them */
        for (uint32_t m = t->members->first; m != CJI_NO_TASK; m = cji_task_at(g, m)->member_next)
            any |= cji_task_cancel(g, m);
        if (!any && t->members->first != CJI_NO_TASK) return false;
        cji_task_close_group(g, i);
    }
    if (cji_task_is_skipped(t)) { /* by a member */
        t->result = CJ_TASK_CANCELLED;
        t->cause = 0;
    } else states_skip(g, i, CJ_TASK_CANCELLED, 0);
    states_poison_after(g, i, cji_task_handle(g, i));
    return true;
}

uint32_t cji_task_next_skipped(cji_tasks *g)
{
    const uint32_t i = g->skipped;
    if (i != CJI_NO_TASK) g->skipped = cji_task_at(g, i)->next;
    return i;
}
