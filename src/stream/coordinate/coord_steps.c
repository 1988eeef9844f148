/* The steps of tasks: they begin, their functions enqueue, they are enqueued, they end, their ends are reported. */
#include <stdio.h>
#include <unistd.h>

#include "base/cancel.h"
#include "stream/coordinate/coord.h"

/* -- Failures ------------------------------------------------------------------------------------------------------ */

/* Keeps the record of a task's failure, with the task in front: the thread's latest one, if it has that status. */
static void steps_keep_error(cj_coord *c, uint32_t i, const cj_error *why, cj_status st)
{
    cji_task *t = cji_task_at(&c->tasks, i);
    if (t->error) return;
    cji_task_rare(t)->error = cji_alloc(sizeof *t->error);
    cj_error e = { .status = st };
    if (why && why->status == (int32_t)st) e = *why;
    char message[sizeof e.message] = "";
    cji_line l = { message, sizeof message, 0 };
    cji_say(&l, "task ");
    cji_task_say(&c->tasks, &l, i);
    cji_say(&l, ": %s", e.message[0] ? e.message : cj_status_text(st));
    memcpy(e.message, message, sizeof message);
    if (!e.call[0]) snprintf(e.call, sizeof e.call, "%s", "cj_coord_complete");
    if (t->error) *t->error = e;
    if (c->failure.status == CJ_OK) c->failure = e;
}

static void steps_fail(cj_coord *c, uint32_t i, const cj_error *why, cj_status st)
{
    steps_keep_error(c, i, why, st);
    cji_task_fail(&c->tasks, i);
}

cj_status cji_coord_status(cj_coord *c, uint32_t i)
{
    const cji_task *t = cji_task_at(&c->tasks, i);
    uint32_t cause;
    switch (t->result) {
    case CJ_TASK_FAILED: return t->error ? (cj_status)t->error->status : CJ_ENOMEM;
    case CJ_TASK_CANCELLED: return CJ_ESTATE;
    case CJ_TASK_POISONED:
        return cji_task_find(&c->tasks, t->cause, &cause) == CJI_TASK_IS_HERE ? cji_coord_status(c, cause) : CJ_ESTATE;
    default: return CJ_OK;
    }
}

void cji_coord_error(cj_coord *c, uint32_t i, cj_error *e)
{
    const cji_task *t = cji_task_at(&c->tasks, i);
    char message[sizeof e->message] = "";
    cji_line l = { message, sizeof message, 0 };
    uint32_t cause;
    *e = (cj_error){ .status = cji_coord_status(c, i) };
    if (e->status == CJ_OK) return;
    if (t->result == CJ_TASK_FAILED && t->error) {
        *e = *t->error;
        return;
    }
    cji_say(&l, "task ");
    cji_task_say(&c->tasks, &l, i);
    if (t->result == CJ_TASK_CANCELLED) cji_say(&l, " was cancelled");
    else if (t->result == CJ_TASK_FAILED) cji_say(&l, " failed; there was no memory for the reason");
    else if (cji_task_find(&c->tasks, t->cause, &cause) == CJI_TASK_IS_HERE) {
        cji_coord_error(c, cause, e);
        cji_say(&l, " does not run: %s", e->message);
    } else cji_say(&l, " does not run: a task that it depends on did not succeed, and is forgotten");
    memcpy(e->message, message, sizeof message);
}

/* -- Ends ---------------------------------------------------------------------------------------------------------- */

void cji_coord_show(cj_coord *c)
{
    CJI_NO_CANCEL;
    uint64_t count = 1;
    const bool some = c->records != 0;
    if (c->fd < 0 || some == c->readable) return;
    const ssize_t moved = some ? write(c->fd, &count, sizeof count) : read(c->fd, &count, sizeof count);
    if (moved == sizeof count) c->readable = some;
}

static void steps_record(cj_coord *c, uint32_t i)
{
    const cji_task *t = cji_task_at(&c->tasks, i);
    if (!c->opts.completions || t->hidden || c->records == c->record_cap) return;
    c->record[(c->record_first + c->records++) % c->record_cap] =
        (cj_task_record){ cji_task_handle(&c->tasks, i), t->user, t->state, cji_coord_status(c, i) };
    cji_coord_show(c);
}

static void steps_end(cj_coord *c, uint32_t i, uint64_t now)
{
    cji_task *t = cji_task_at(&c->tasks, i);
    t->ended = now;
    cji_coord_unlease(t);
    t->missed = t->rare && t->deadline && now > t->deadline;
    c->missed += t->missed;
    cji_task_end(&c->tasks, i);
    steps_record(c, i);
    if (!t->done) {
        cji_task_archive(&c->tasks, i);
        return;
    }
    t->next = CJI_NO_TASK;
    if (c->notify == CJI_NO_TASK) c->notify = i;
    else cji_task_at(&c->tasks, c->notify_last)->next = i;
    c->notify_last = i;
}

bool cji_coord_all_ended(const cj_coord *c)
{
    return !c->tasks.unended && c->notify == CJI_NO_TASK && !c->notifying;
}

/* Calls the `done` functions of ended tasks, without the lock. */
static bool steps_notify(cj_coord *c)
{
    bool any = false;
    while (c->notify != CJI_NO_TASK) {
        const uint32_t i = c->notify;
        const cji_task *t = cji_task_at(&c->tasks, i);
        c->notify = t->next;
        c->notifying++;
        void (*const done)(void *, cj_task, cj_task_state) = t->done;
        void *const user = t->user;
        const cj_task_state state = (cj_task_state)t->state;
        const cj_task task = cji_task_handle(&c->tasks, i);
        cji_coord_unlock(c);
        done(user, task, state);
        cji_coord_lock(c);
        cji_task_archive(&c->tasks, i);
        c->notifying--;
        any = true;
    }
    return any;
}

/* Tasks that will not run end when nothing holds them up any more. */
static bool steps_skip(cj_coord *c)
{
    bool any = false;
    for (uint32_t i; (i = cji_task_next_skipped(&c->tasks)) != CJI_NO_TASK; any = true) steps_end(c, i, cji_now());
    return any;
}

/* The first tasks of a stream have completed, or failed with `st`. */
static void steps_reap_stream(cj_coord *c, uint16_t x, size_t count, cj_status st, uint64_t now)
{
    *c->stream[x].load -= (uint32_t)count;
    c->stream[x].in_flight -= (uint32_t)count;
    for (; count; count--) {
        const uint32_t i = c->stream[x].first;
        cji_task *t = cji_task_at(&c->tasks, i);
        c->stream[x].first = t->next;
        if (t->next == CJI_NO_TASK) c->stream[x].last = CJI_NO_TASK;
        else cji_task_prefetch(&c->tasks, t->next, 3);
        if (st != CJ_OK && t->result <= CJ_TASK_DONE) {
            cj_error e;
            cji_err_get(c, &e);
            steps_fail(c, i, &e, st);
        }
        steps_end(c, i, now);
    }
}

/* Tasks whose work has completed.  The events are queried in relaxed capture mode, so that no capture is broken. */
static bool steps_reap(cj_coord *c)
{
    uint64_t now = 0;
    cji_scope scope;
    if (!c->tasks.in_state[CJ_TASK_ENQUEUED]) return false;
    cji_scope_relax(&scope, c->dev->queue.cu);
    for (size_t x = 0; x < c->streams; x++) {
        cj_status st;
        const size_t count = cji_coord_reached(c, (uint16_t)x, &st);
        if (!count) continue;
        if (!now) now = cji_now();
        steps_reap_stream(c, (uint16_t)x, count, st, now);
    }
    cji_scope_leave(&scope);
    return now != 0;
}

/* -- Beginning and completing -------------------------------------------------------------------------------------- */

cj_status cji_coord_begin(cj_coord *c, uint32_t i, uint16_t x, uint64_t now, const char *call)
{
    cji_task *t = cji_task_at(&c->tasks, i);
    cj_status st = CJ_OK;
    if (x == CJI_COORD_NO_STREAM) x = cji_coord_choose(c, i, call);
    st = x == CJI_COORD_NO_STREAM ? cji_err_latest() : cji_coord_order(c, i, x, call);
    if (st != CJ_OK) { /* it will not run, and ends when what it depends on has ended */
        const cj_error e = *cj_error_last();
        cji_coord_unlease(t);
        steps_fail(c, i, &e, st);
        cji_task_set_state(&c->tasks, i, CJ_TASK_WAITING);
        cji_task_check_ready(&c->tasks, i);
        return st;
    }
    t->stream = x;
    t->stream_id = c->stream[x].s->id;
    t->begun = now > t->added ? now : t->added;
    c->wait_ns += t->begun - t->added;
    c->stream[x].begun++;
    ++*c->stream[x].load;
    t->stream_bad = cji_err_status(c->stream[x].s) != CJ_OK;
    cji_task_begun(&c->tasks, i);
    return CJ_OK;
}

cj_status cji_coord_complete(cj_coord *c, uint32_t i, cj_status st, uint64_t now, const char *call)
{
    cji_task *t = cji_task_at(&c->tasks, i);
    cji_coord_stream *s = &c->stream[t->stream];
    s->begun--;
    if (st != CJ_OK) {
        const cj_error e = *cj_error_last();
        steps_fail(c, i, &e, st);
    }
    if (!t->stream_bad && cji_err_status(s->s) != CJ_OK) {
        cj_error e;
        cji_err_get(s->s, &e);
        if (t->result <= CJ_TASK_DONE) steps_fail(c, i, &e, (cj_status)e.status);
        if (!s->foreign) cji_err_reset(s->s); /* the next task on it has not failed */
    }
    t->queued = now;
    st = cji_coord_append(c, i, call);
    if (st != CJ_OK && t->result <= CJ_TASK_DONE) {
        const cj_error e = *cj_error_last();
        steps_fail(c, i, &e, st);
    }
    cji_task_queued(&c->tasks, i);
    return st;
}

/* A task without work: where all that it comes after has ended it has ended too; else it is a point of a stream. */
static void steps_join(cj_coord *c, uint32_t i, const char *call)
{
    if (!cji_task_at(&c->tasks, i)->unended) {
        cji_task *t = cji_task_at(&c->tasks, i);
        t->begun = t->queued = cji_now();
        c->wait_ns += t->begun - t->added;
        steps_end(c, i, t->queued);
    } else if (cji_coord_begin(c, i, CJI_COORD_NO_STREAM, cji_now(), call) == CJ_OK)
        cji_coord_complete(c, i, CJ_OK, cji_now(), call);
}

/* What a round knows of the time.  Reading the clock before each function would take as long as a good part of what is
 * measured: it is read behind each, and before those of some rounds only. */
typedef struct steps_times {
    uint64_t now;       /* read last */
    bool exact;         /* functions are measured */
    uint64_t functions; /* what they took */
} steps_times;

/* The next task with a function. */
static bool steps_dispatch(cj_coord *c, steps_times *times, const char *call)
{
    if (c->tasks.in_state[CJ_TASK_ENQUEUED] >= c->opts.in_flight) return false;
    const uint32_t i = cji_task_next(&c->tasks, false);
    if (i == CJI_NO_TASK) return false;
    cji_task *t = cji_task_at(&c->tasks, i);
    cji_task_prefetch_after(&c->tasks, t);
    if (!t->run) {
        steps_join(c, i, call);
        return true;
    }
    if (cji_coord_begin(c, i, CJI_COORD_NO_STREAM, times->now, call) != CJ_OK) return true;
    t->thread = t->any_thread ? 0 : cji_thread_id();
    cj_stream *const s = c->stream[t->stream].s;
    cj_status (*const run)(void *, cj_stream *) = t->run;
    void *const user = t->user;
    cji_coord_unlock(c);
    const uint64_t begun = times->exact ? cji_now() : 0;
    const cj_status st = run(user, s);
    times->now = cji_now();
    cji_coord_lock(c);
    if (times->exact) times->functions += times->now - begun;
    cji_coord_complete(c, i, st, times->now, call);
    return true;
}

bool cji_coord_step(cj_coord *c, const char *call)
{
    CJI_NO_CANCEL;
    enum { BATCH = 64, ALL_EXACT = 64, EXACT = 8 }; /* the first rounds, and then one of so many */
    const uint64_t entered = cji_now(), round = c->rounds++;
    steps_times times = { .now = entered, .exact = round < ALL_EXACT || round % EXACT == 0 };
    bool any = steps_skip(c);
    int n = 0;
    while (n < BATCH && steps_dispatch(c, &times, call)) n++, any = true;
    if (n < BATCH) cji_coord_flush(c);
    any |= steps_reap(c);
    any |= steps_skip(c);
    if (times.exact) c->coordinate_ns += (cji_now() - entered - times.functions) * (round < ALL_EXACT ? 1 : EXACT);
    any |= steps_notify(c);
    return any;
}
