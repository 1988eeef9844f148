/* Running tasks: all of them, one of them, in the pull form, around the caller's own work. */
#include <sys/eventfd.h>
#include <time.h>

#include "base/cancel.h"
#include "stream/coordinate/coord.h"

/* -- Waiting ------------------------------------------------------------------------------------------------------- */

enum { RUN_ROUNDS = 64, RUN_FIRST_NS = 5000, RUN_LONGEST_NS = 500000 };

typedef struct run_wait {
    uint64_t deadline, pause;
    unsigned round;
} run_wait;

static run_wait wait_begin(uint32_t ms) { return (run_wait){ .deadline = cji_deadline(ms), .pause = RUN_FIRST_NS }; }

/* One round without progress: looks again at once some times, then sleeps for ever longer.  With the lock held, which
 * it releases meanwhile.  False: the time has passed. */
static bool wait_pause(cj_coord *c, run_wait *w)
{
    const uint64_t now = cji_now();
    if (now >= w->deadline) return false;
    if (w->round++ < RUN_ROUNDS) {
        cji_coord_unlock(c);
        cji_coord_lock(c);
        return true;
    }
    const uint64_t left = w->deadline - now, ns = w->pause < left ? w->pause : left;
    cji_coord_unlock(c);
    nanosleep(&(struct timespec){ .tv_nsec = (int64_t)ns }, NULL);
    cji_coord_lock(c);
    if (w->pause < RUN_LONGEST_NS) w->pause *= 2;
    return true;
}

static void wait_progress(run_wait *w) { w->round = 0, w->pause = RUN_FIRST_NS; }

/* One step, or a pause.  CJ_OK: look again. */
static cj_status wait_step(cj_coord *c, run_wait *w, uint32_t task, const char *call)
{
    char why[480];
    if (cji_coord_step(c, call)) {
        wait_progress(w);
        return CJ_OK;
    }
    if (cji_coord_deadlock(c, cji_thread_id(), task, why, sizeof why))
        return cji_fail(c, CJ_ESTATE, call, "%s: a deadlock", why);
    return wait_pause(c, w) ? CJ_OK : CJ_ETIMEOUT;
}

/* What an unended task waits for, in words. */
static void wait_say(cj_coord *c, cji_line *l, uint32_t i)
{
    const cji_task *t = cji_task_at(&c->tasks, i);
    cji_say(l, "task ");
    cji_task_say(&c->tasks, l, i);
    if (t->state == CJ_TASK_ENQUEUED) cji_say(l, " is on its stream");
    else if (t->state == CJ_TASK_BEGUN) cji_say(l, " has begun and is not completed");
    else if (t->state == CJ_TASK_READY) cji_say(l, t->pull ? " is ready, for cj_coord_next" : " is ready");
    else if (t->members && t->members->open) cji_say(l, " is a group that is open; close it");
    else
        for (uint32_t e = t->in; e != CJI_NO_TASK; e = cji_task_edge_at(&c->tasks, e)->next_in) {
            const uint32_t p = cji_task_edge_at(&c->tasks, e)->pred;
            if (p == CJI_NO_TASK) continue;
            cji_say(l, " waits for ");
            cji_task_say(&c->tasks, l, p);
            break;
        }
}

static cj_status wait_timed_out(cj_coord *c, uint32_t ms, uint32_t i, const char *call)
{
    char what[300] = "";
    cji_line l = { what, sizeof what, 0 };
    if (i == CJI_NO_TASK) i = c->tasks.root.first;
    while (i != CJI_NO_TASK && cji_task_at(&c->tasks, i)->hidden) i = cji_task_at(&c->tasks, i)->member_next;
    if (i != CJI_NO_TASK) wait_say(c, &l, i);
    return cji_fail(NULL, CJ_ETIMEOUT, call, "%llu tasks have not ended after %u ms%s%s",
                    (unsigned long long)c->tasks.unended, ms, what[0] ? "; " : "", what);
}

/* -- All ----------------------------------------------------------------------------------------------------------- */

/* The first failure since it was returned last. */
static cj_status run_result(cj_coord *c)
{
    const cj_error e = c->failure;
    if (e.status == CJ_OK) return CJ_OK;
    c->failure = (cj_error){ .status = CJ_OK };
    return cji_fail_with(c, &e);
}

static cj_status run_locked(cj_coord *c, uint32_t ms, const char *call)
{
    run_wait w = wait_begin(ms);
    cj_status st = CJ_OK;
    if (!cji_coord_wait_enter(c, CJI_NO_TASK)) return cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
    while (st == CJ_OK && !cji_coord_all_ended(c)) st = wait_step(c, &w, CJI_NO_TASK, call);
    cji_coord_wait_leave(c);
    if (st == CJ_ETIMEOUT) return wait_timed_out(c, ms, CJI_NO_TASK, call);
    return st == CJ_OK ? run_result(c) : st;
}

cj_status cj_coord_run(cj_coord *c, uint32_t ms)
{
    static const char call[] = "cj_coord_run";
    CJI_NO_CANCEL;
    cj_status st = cji_check(c, CJI_TAG_COORD, call);
    if (st != CJ_OK) return st;
    cji_coord_lock(c);
    st = run_locked(c, ms, call);
    cji_coord_unlock(c);
    return st;
}

cj_status cj_coord_poll(cj_coord *c)
{
    static const char call[] = "cj_coord_poll";
    cj_status st = cji_check(c, CJI_TAG_COORD, call);
    if (st != CJ_OK) return st;
    cji_coord_lock(c);
    cji_coord_step(c, call);
    st = cji_coord_all_ended(c) ? CJ_OK : CJ_ENOTREADY;
    cji_coord_unlock(c);
    return st;
}

/* Whether the task that the handle means has ended and been reported. */
static bool run_has_ended(const cj_coord *c, cj_task task, uint32_t *i)
{
    if (cji_task_find(&c->tasks, task, i) != CJI_TASK_IS_HERE) return true;
    return cji_task_ended(cji_task_at(&c->tasks, *i));
}

static cj_status run_wait_for(cj_coord *c, cj_task task, uint32_t ms, const char *call)
{
    uint32_t i;
    run_wait w = wait_begin(ms);
    cj_status st = CJ_OK;
    const cji_task_is is = cji_task_find(&c->tasks, task, &i);
    if (is == CJI_TASK_IS_FORGOTTEN) return CJ_OK; /* only tasks that are done are forgotten before the caller asks */
    if (is == CJI_TASK_IS_NONE) return cji_coord_find(c, task, &i, call);
    if (!cji_coord_wait_enter(c, i)) return cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
    while (st == CJ_OK && !run_has_ended(c, task, &i)) st = wait_step(c, &w, i, call);
    cji_coord_wait_leave(c);
    if (st == CJ_ETIMEOUT) return wait_timed_out(c, ms, i, call);
    if (st != CJ_OK || cji_task_find(&c->tasks, task, &i) != CJI_TASK_IS_HERE) return st;
    cj_error e;
    cji_coord_error(c, i, &e);
    return e.status == CJ_OK ? CJ_OK : cji_fail_with(c, &e);
}

cj_status cj_coord_wait(cj_coord *c, cj_task task, uint32_t ms)
{
    static const char call[] = "cj_coord_wait";
    CJI_NO_CANCEL;
    cj_status st = cji_check(c, CJI_TAG_COORD, call);
    if (st != CJ_OK) return st;
    cji_coord_lock(c);
    st = run_wait_for(c, task, ms, call);
    cji_coord_unlock(c);
    return st;
}

/* -- The pull form ------------------------------------------------------------------------------------------------- */

/* Begins a task for the caller. */
static cj_status pull_begin(cj_coord *c, uint32_t i, uint16_t x, cj_task *task, cj_stream **stream, const char *call)
{
    cji_task *t = cji_task_at(&c->tasks, i);
    const cj_status st = cji_coord_begin(c, i, x, cji_now(), call);
    if (st != CJ_OK) return st;
    t->pulled = true;
    t->thread = t->any_thread ? 0 : cji_thread_id();
    if (task) *task = cji_task_handle(&c->tasks, i);
    if (stream) *stream = c->stream[t->stream].s;
    return CJ_OK;
}

/* Whether every task that is left waits for one that this thread has begun: nobody else can go on. */
static bool pull_is_stuck(const cj_coord *c)
{
    const cji_tasks *g = &c->tasks;
    const uint64_t me = cji_thread_id();
    bool mine = false;
    if (g->in_state[CJ_TASK_READY] || g->in_state[CJ_TASK_ENQUEUED]) return false;
    for (size_t i = 0; i < g->blocks * CJI_TASK_BLOCK; i++) {
        const cji_task *t = cji_task_at(g, (uint32_t)i);
        if (t->state == CJ_TASK_BEGUN && t->thread != me) return false;
        if (t->members && t->members->open && !cji_task_ended(t)) return false;
        mine |= t->state == CJ_TASK_BEGUN;
    }
    return mine;
}

static cj_status pull_next(cj_coord *c, cj_task *task, cj_stream **stream, uint32_t ms, const char *call)
{
    run_wait w = wait_begin(ms);
    for (;;) {
        const bool any = cji_coord_step(c, call);
        const uint32_t i = cji_task_next(&c->tasks, true);
        if (i != CJI_NO_TASK) return pull_begin(c, i, CJI_COORD_NO_STREAM, task, stream, call);
        if (cji_coord_all_ended(c)) return CJ_ENOTFOUND;
        if (any) wait_progress(&w);
        else if (pull_is_stuck(c)) {
            cji_fail(c, CJ_ESTATE, call, "every task that is left waits for one that this thread has begun and not "
                     "completed: a deadlock");
            memcpy(c->deadlock[c->deadlocks++ % CJI_TASK_CYCLES], cj_error_last()->message, sizeof *c->deadlock);
            return CJ_ESTATE;
        } else if (!wait_pause(c, &w)) return CJ_ENOTREADY;
    }
}

cj_status cj_coord_next(cj_coord *c, cj_task *task, cj_stream **stream, uint32_t ms)
{
    static const char call[] = "cj_coord_next";
    CJI_NO_CANCEL;
    cj_status st = cji_check(c, CJI_TAG_COORD, call);
    if (st != CJ_OK) return st;
    if (!task || !stream) return cji_fail(c, CJ_EINVAL, call, "there is no place for the task or its stream");
    *task = 0, *stream = NULL;
    cji_coord_lock(c);
    st = pull_next(c, task, stream, ms, call);
    cji_coord_unlock(c);
    return st;
}

/* -- Around the caller's own work ---------------------------------------------------------------------------------- */

static cj_status begin_check(cj_coord *c, uint32_t i, const char *call)
{
    const cji_task *t = cji_task_at(&c->tasks, i);
    if (t->members || t->hidden)
        return cji_fail(c, CJ_ESTATE, call, "task %llu is a group; its members run", (unsigned long long)t->number);
    if (cji_task_unbegun(t) && !cji_task_is_skipped(t) && !t->taken) return CJ_OK;
    if (cji_task_is_skipped(t) || cji_task_ended(t)) {
        cj_error e;
        cji_coord_error(c, i, &e);
        if (e.status != CJ_OK) return cji_fail(c, CJ_ESTATE, call, "%s", e.message);
        return cji_fail(c, CJ_ESTATE, call, "task %llu has ended", (unsigned long long)t->number);
    }
    return cji_fail(c, CJ_ESTATE, call, "task %llu '%s' has begun, or another thread begins it",
                    (unsigned long long)t->number, cji_short(t->what));
}

/* Whether a task that is to begin is there, and waits for another. */
static bool begin_waits(const cj_coord *c, cj_task task, uint32_t *i)
{
    if (cji_task_find(&c->tasks, task, i) != CJI_TASK_IS_HERE) return false;
    const cji_task *t = cji_task_at(&c->tasks, *i);
    return t->state == CJ_TASK_WAITING && !cji_task_is_skipped(t);
}

static cj_status begin_locked(cj_coord *c, cj_task task, cj_stream *on, cj_stream **stream, uint32_t ms,
                              const char *call)
{
    uint32_t i;
    run_wait w = wait_begin(ms);
    uint16_t x = CJI_COORD_NO_STREAM;
    cj_status st = cji_coord_find(c, task, &i, call);
    if (st == CJ_OK) st = begin_check(c, i, call);
    if (st == CJ_OK && on) {
        x = cji_coord_stream_of(c, on, call);
        if (x == CJI_COORD_NO_STREAM) st = cji_err_latest();
        else if (c->stream[x].device != cji_task_at(&c->tasks, i)->device)
            st = cji_fail(c, CJ_EINVAL, call, "the stream is of device %d, the task of device %d",
                          cj_device_ordinal(on->dev),
                          cj_device_ordinal(c->device[cji_task_at(&c->tasks, i)->device]->dev));
    }
    if (st != CJ_OK) return st;
    if (!cji_coord_wait_enter(c, i)) return cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
    if (on) c->stream[x].begun++; /* the entry stays */
    cji_task_take(&c->tasks, i, true);
    while (st == CJ_OK && begin_waits(c, task, &i)) st = wait_step(c, &w, i, call);
    /* one that is skipped may be forgotten meanwhile, and its slot be another task's */
    const cji_task *t = cji_task_find(&c->tasks, task, &i) == CJI_TASK_IS_HERE ? cji_task_at(&c->tasks, i) : NULL;
    if (!t && st == CJ_OK) st = cji_coord_find(c, task, &i, call);
    if (t && cji_task_unbegun(t)) {
        if (st == CJ_OK && !cji_task_is_skipped(t)) st = pull_begin(c, i, x, NULL, stream, call);
        if (cji_task_unbegun(t)) cji_task_take(&c->tasks, i, false);
    }
    if (st == CJ_OK && t->state != CJ_TASK_BEGUN) st = begin_check(c, i, call);
    if (on) c->stream[x].begun--;
    cji_coord_wait_leave(c);
    return st == CJ_ETIMEOUT ? wait_timed_out(c, ms, t ? i : CJI_NO_TASK, call) : st;
}

cj_status cj_coord_begin(cj_coord *c, cj_task task, cj_stream *on, cj_stream **stream, uint32_t ms)
{
    static const char call[] = "cj_coord_begin";
    cj_status st = cji_check(c, CJI_TAG_COORD, call);
    if (st != CJ_OK) return st;
    if (stream) *stream = NULL;
    if (on && (st = cji_check_arg(c, on, CJI_TAG_STREAM, call, "the stream")) != CJ_OK) return st;
    if (on && atomic_load(&on->capturing))
        return cji_fail(c, CJ_ESTATE, call, "the stream is capturing, so that nothing of it runs; end the capture");
    cji_coord_lock(c);
    st = begin_locked(c, task, on, stream, ms, call);
    cji_coord_unlock(c);
    return st;
}

cj_status cj_coord_complete(cj_coord *c, cj_task task, cj_status status)
{
    static const char call[] = "cj_coord_complete";
    uint32_t i;
    cj_status st = cji_check(c, CJI_TAG_COORD, call);
    if (st != CJ_OK) return st;
    cji_coord_lock(c);
    st = cji_coord_find(c, task, &i, call);
    if (st == CJ_OK && (cji_task_at(&c->tasks, i)->state != CJ_TASK_BEGUN || !cji_task_at(&c->tasks, i)->pulled))
        st = cji_fail(c, CJ_ESTATE, call, "task %llu has not been begun by cj_coord_next or cj_coord_begin",
                      (unsigned long long)cji_task_at(&c->tasks, i)->number);
    if (st == CJ_OK) st = cji_coord_complete(c, i, status, cji_now(), call);
    cji_coord_unlock(c);
    return st;
}

/* -- Completions --------------------------------------------------------------------------------------------------- */

static cj_status completions_check(cj_coord *c, const char *call)
{
    if (c->opts.completions) return CJ_OK;
    return cji_fail(c, CJ_ESTATE, call, "make the coordinator with CJ_COORD(.completions = 1)");
}

size_t cj_coord_completions(cj_coord *c, cj_task_record *records, size_t count, uint32_t ms)
{
    static const char call[] = "cj_coord_completions";
    CJI_NO_CANCEL;
    size_t n = 0;
    if (cji_check(c, CJI_TAG_COORD, call) != CJ_OK) return 0;
    if (!records && count) return cji_fail(c, CJ_EINVAL, call, "`records` is NULL"), 0;
    if (completions_check(c, call) != CJ_OK) return 0;
    cji_coord_lock(c);
    run_wait w = wait_begin(ms);
    cj_status st = CJ_OK;
    cji_coord_step(c, call);
    while (st == CJ_OK && count && !c->records && c->tasks.unended) st = wait_step(c, &w, CJI_NO_TASK, call);
    for (; n < count && c->records; n++) {
        records[n] = c->record[c->record_first];
        c->record_first = (c->record_first + 1) % c->record_cap;
        c->records--;
    }
    cji_coord_show(c);
    cji_coord_unlock(c);
    return n;
}

int cj_coord_fd(cj_coord *c)
{
    static const char call[] = "cj_coord_fd";
    if (cji_check(c, CJI_TAG_COORD, call) != CJ_OK) return -1;
    if (completions_check(c, call) != CJ_OK) return -1;
    cji_coord_lock(c);
    if (c->fd < 0) {
        c->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        cji_coord_show(c);
    }
    const int fd = c->fd;
    cji_coord_unlock(c);
    if (fd < 0) cji_fail(c, CJ_ENOTSUP, call, "the system has no descriptor left");
    return fd;
}
