/* Completions without threads of the library: records are polled, callbacks called on the caller's thread, and a
 * descriptor shows that there are some. */
#include <sys/eventfd.h>
#include <time.h>

#include "base/cancel.h"
#include "stream/coordinate/stream_coordinate.h"

/* With the lock held: waits until the queue has something, the waiter is shut down, or the time has passed. */
static void poll_wait(cj_waiter *w, const cji_wait_queue *q, uint32_t ms)
{
    const uint64_t until = ms && ms != CJ_WAIT_FOREVER ? cji_deadline(ms) : 0;
    const struct timespec at = { (time_t)(until / 1000000000), (long)(until % 1000000000) };
    int passed = ms == 0;
    while (!q->count && !w->closed && !passed)
        passed = until ? pthread_cond_timedwait(&w->readers, &w->lock, &at) : pthread_cond_wait(&w->readers, &w->lock);
}

/* What is left after a shutdown was delivered by an earlier call: nothing comes any more.  The same where a callback
 * has freed the waiter, so that a loop around the call ends. */
static int poll_over(const cj_waiter *w, int n, const char *call)
{
    if (!w->freed && (n || !w->closed)) return n;
    return cji_fail(NULL, CJ_ESTATE, call, "the waiter is shut down, and all its completions are delivered");
}

int cj_waiter_poll(cj_waiter *w, cj_wait_record *records, size_t max, uint32_t ms)
{
    static const char call[] = "cj_waiter_poll";
    CJI_NO_CANCEL;
    int n = 0;
    const cj_status st = cji_check(w, CJI_TAG_WAITER, call);
    if (st != CJ_OK) return st;
    if (!records || !max) return cji_fail(w, CJ_EINVAL, call, "there is no room for a record");
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    w->inside++;
    poll_wait(w, &w->records, ms);
    while ((size_t)n < max && n < INT32_MAX && cji_wait_take_record(w, &records[n])) n++;
    cji_wait_show(w);
    if (!n) n = poll_over(w, n, call);
    w->inside--;
    cji_waiter_leave(w);
    return n;
}

int cj_waiter_run(cj_waiter *w, size_t max, uint32_t ms)
{
    static const char call[] = "cj_waiter_run";
    CJI_NO_CANCEL;
    int n = 0;
    const cj_status st = cji_check(w, CJI_TAG_WAITER, call);
    if (st != CJ_OK) return st;
    if (!max) return cji_fail(w, CJ_EINVAL, call, "`max` is 0: no callback may be called");
    if (w->callbacks != CJ_WAITER_CALLER)
        return cji_fail(w, CJ_EINVAL, call,
                        "threads of the waiter call its callbacks; create it with .callbacks = CJ_WAITER_CALLER");
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    w->inside++;
    poll_wait(w, &w->calls, ms);
    while ((((size_t)n < max && n < INT32_MAX) || w->orphan) && cji_wait_call_one(w)) n++;
    n = poll_over(w, n, call);
    w->inside--;
    cji_waiter_leave(w);
    return n;
}

int cj_waiter_fd(cj_waiter *w)
{
    static const char call[] = "cj_waiter_fd";
    if (cji_check(w, CJI_TAG_WAITER, call) != CJ_OK) return -1;
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    if (w->fd < 0) {
        w->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        cji_wait_show(w);
    }
    const int fd = w->fd;
    cji_unlock(&w->lock, CJI_LOCK_WAITER);
    if (fd < 0) cji_fail(w, CJ_ENOTSUP, call, "the system has no descriptor left");
    return fd;
}
