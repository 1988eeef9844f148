/* What is known of tasks, and the counters of a coordinator. */
#include <stdio.h>

#include "stream/coordinate/coord.h"

void cj_task_info_defaults(cj_task_info *info)
{
    if (info) *info = (cj_task_info){ .size = sizeof *info };
}

static void task_info_fill(cj_coord *c, uint32_t i, cj_task_info *now)
{
    const cji_task *t = cji_task_at(&c->tasks, i);
    const bool skipped = cji_task_unbegun(t) && cji_task_is_skipped(t);
    now->number = t->number;
    now->cause = t->result == CJ_TASK_POISONED ? t->cause : 0;
    now->added = t->added, now->begun = t->begun, now->enqueued = t->queued, now->ended = t->ended;
    now->kind = t->kind;
    now->state = skipped ? t->result : t->state;
    now->status = cji_coord_status(c, i);
    now->priority = cji_task_priority(t->own);
    now->effective = cji_task_priority(t->class);
    now->work = t->work;
    now->device = cj_device_ordinal(c->device[t->device]->dev);
    now->waits_for = t->unended - (t->members && t->members->open);
    now->stream = t->stream_id;
    now->group = t->group == CJI_NO_TASK ? 0 : cji_task_handle(&c->tasks, t->group);
    now->missed = t->missed;
    snprintf(now->what, sizeof now->what, "%s", t->what ? t->what : "");
}

cj_status cj_coord_get_task(cj_coord *c, cj_task task, cj_task_info *info)
{
    static const char call[] = "cj_coord_get_task";
    uint32_t i;
    cj_status st = cji_check(c, CJI_TAG_COORD, call);
    if (st != CJ_OK) return st;
    if (!info || info->size < sizeof info->size)
        return cji_fail(c, CJ_EINVAL, call, "info is NULL, or info->size is not sizeof(cj_task_info)");
    cj_task_info now = { .size = info->size };
    cji_coord_lock(c);
    st = cji_coord_find(c, task, &i, call);
    if (st == CJ_OK) task_info_fill(c, i, &now);
    cji_coord_unlock(c);
    if (st == CJ_OK) memcpy(info, &now, info->size < sizeof now ? info->size : sizeof now);
    return st;
}

cj_status cj_coord_get_error(cj_coord *c, cj_task task, cj_error *error)
{
    static const char call[] = "cj_coord_get_error";
    cj_error e = { .status = CJ_OK };
    uint32_t i;
    cj_status st = cji_check(c, CJI_TAG_COORD, call);
    if (st != CJ_OK) return st;
    cji_coord_lock(c);
    st = cji_coord_find(c, task, &i, call);
    if (st == CJ_OK) {
        cji_coord_error(c, i, &e);
        st = (cj_status)e.status;
        if (error) *error = e;
    }
    cji_coord_unlock(c);
    return st;
}

cj_status cj_coord_forget(cj_coord *c)
{
    cj_status st = cji_check(c, CJI_TAG_COORD, "cj_coord_forget");
    if (st != CJ_OK) return st;
    cji_coord_lock(c);
    cji_task_forget_all(&c->tasks);
    cji_coord_unlock(c);
    return CJ_OK;
}

/* -- Counters ------------------------------------------------------------------------------------------------------ */

void cj_coord_counts_defaults(cj_coord_counts *counts)
{
    if (counts) *counts = (cj_coord_counts){ .size = sizeof *counts };
}

static uint64_t counts_bytes(const cj_coord *c)
{
    uint64_t bytes = cji_tasks_bytes(&c->tasks) + c->record_cap * sizeof *c->record + c->stream_cap * sizeof *c->stream;
    for (size_t x = 0; x < c->streams; x++)
        bytes += c->stream[x].point_cap * sizeof(void *) + c->stream[x].width * sizeof(uint64_t);
    return bytes;
}

cj_status cj_coord_get_counts(cj_coord *c, cj_coord_counts *counts)
{
    static const char call[] = "cj_coord_get_counts";
    cj_status st = cji_check(c, CJI_TAG_COORD, call);
    if (st != CJ_OK) return st;
    if (!counts || counts->size < sizeof counts->size)
        return cji_fail(c, CJ_EINVAL, call, "counts is NULL, or counts->size is not sizeof(cj_coord_counts)");
    cji_coord_lock(c);
    const cji_tasks *g = &c->tasks;
    const uint64_t *ended = g->ended;
    const cj_coord_counts now = {
        .size = counts->size,
        .added = g->added,
        .ended = ended[CJ_TASK_DONE] + ended[CJ_TASK_FAILED] + ended[CJ_TASK_POISONED] + ended[CJ_TASK_CANCELLED],
        .done = ended[CJ_TASK_DONE],
        .failed = ended[CJ_TASK_FAILED],
        .poisoned = ended[CJ_TASK_POISONED],
        .cancelled = ended[CJ_TASK_CANCELLED],
        .blocked = g->in_state[CJ_TASK_WAITING],
        .ready = g->in_state[CJ_TASK_READY],
        .begun = g->in_state[CJ_TASK_BEGUN],
        .in_flight = g->in_state[CJ_TASK_ENQUEUED],
        .edges = g->edge_count,
        .edges_of_ranges = g->range_edges,
        .implied = c->implied,
        .waits = c->waits,
        .events = c->events,
        .wait_ns = c->wait_ns,
        .coordinate_ns = c->coordinate_ns,
        .cycles = g->cycles,
        .deadlocks = c->deadlocks,
        .inversions = g->inversions,
        .aged = g->aged,
        .missed = c->missed,
        .bytes = counts_bytes(c),
    };
    cji_coord_unlock(c);
    memcpy(counts, &now, counts->size < sizeof now ? counts->size : sizeof now);
    return CJ_OK;
}
