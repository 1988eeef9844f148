/* Waits are added and cancelled. */
#include "stream/coordinate/stream_coordinate.h"

/* Takes the point over; 0: the failure is left in the waiter. */
static cj_wait wait_add(cj_waiter *w, cji_event_point *point, uint32_t ms,
                        void (*fn)(void *user, cj_wait_result result), void *user, const char *call)
{
    cj_wait wait = 0;
    const uint64_t now = cji_now();
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    cji_waiting *a = w->closed ? NULL : cji_wait_take(w);
    const bool closed = w->closed; /* the lock was free meanwhile */
    if (a && closed) {
        cji_wait_return(w, a);
    } else if (a) {
        a->point = point;
        a->fn = fn;
        a->user = user;
        a->added = now;
        if (cji_wait_begin(w, a, ms == CJ_WAIT_FOREVER ? 0 : now + (uint64_t)ms * 1000000)) wait = cji_wait_handle(a);
        else a->point = NULL, cji_wait_return(w, a);
    }
    cji_unlock(&w->lock, CJI_LOCK_WAITER);
    if (wait) return wait;
    cji_event_point_drop(point);
    if (closed) cji_fail(w, CJ_ESTATE, call, "the waiter is shut down; create another one");
    else cji_fail(w, CJ_ENOMEM, call, "no memory to note the wait");
    return 0;
}

/* A failure that is the waiter's and the object's: the thread's latest one. */
static cj_wait add_failed(void *obj)
{
    cji_fail_also(obj);
    return 0;
}

static bool add_same_device(cj_waiter *w, const cji_release_queue *queue, const cj_device *dev, const char *what,
                            const char *call)
{
    if (cji_same_device(&w->dev->queue, queue)) return true;
    cji_cu_fail_apart(w, w->dev, dev, call,
                      "the waiter is of device %d, the %s of device %d; create a waiter for each device",
                      cj_device_ordinal(w->dev), what, cj_device_ordinal(dev));
    return false;
}

cj_wait cj_waiter_add(cj_waiter *w, cj_event *e, uint32_t ms, void (*fn)(void *user, cj_wait_result result),
                      void *user)
{
    static const char call[] = "cj_waiter_add";
    if (cji_check(w, CJI_TAG_WAITER, call) != CJ_OK) return 0;
    if (cji_check_arg(w, e, CJI_TAG_EVENT, call, "the event") != CJ_OK) return 0;
    if (!add_same_device(w, e->queue, e->dev, "event", call)) return add_failed(e);
    cji_event_point *point = cji_event_point_take(e, w, call);
    return point ? wait_add(w, point, ms, fn, user, call) : 0;
}

cj_wait cj_waiter_add_stream(cj_waiter *w, cj_stream *s, uint32_t ms, void (*fn)(void *user, cj_wait_result result),
                             void *user)
{
    static const char call[] = "cj_waiter_add_stream";
    if (cji_check(w, CJI_TAG_WAITER, call) != CJ_OK) return 0;
    if (cji_check_arg(w, s, CJI_TAG_STREAM, call, "the stream") != CJ_OK) return 0;
    if (!add_same_device(w, s->queue, s->dev, "stream", call)) return add_failed(s);
    if (cji_stream_is_captured(s)) {
        cji_fail(w, CJ_ESTATE, call,
                 "the stream is being captured, so nothing of it runs yet; wait for the stream that the graph is "
                 "launched on");
        return 0;
    }
    cji_event_point *point = cji_stream_point_take(s, w->pool, w, call);
    return point ? wait_add(w, point, ms, fn, user, call) : 0;
}

cj_status cj_waiter_cancel(cj_waiter *w, cj_wait wait, int32_t *runs)
{
    static const char call[] = "cj_waiter_cancel";
    bool known, pending = false;
    if (runs) *runs = 0;
    cj_status st = cji_check(w, CJI_TAG_WAITER, call);
    if (st != CJ_OK) return st;
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    cji_waiting *a = cji_wait_find(w, wait, &known);
    if (a) {
        pending = a->state == CJI_WAIT_PENDING;
        if (runs) *runs = 1;
        if (pending) cji_wait_complete(w, a, CJ_WAIT_CANCELLED, 0);
    }
    cji_unlock(&w->lock, CJI_LOCK_WAITER);
    if (!known) return cji_fail(w, CJ_EHANDLE, call, "%#llx is no wait of this waiter", (unsigned long long)wait);
    return pending ? CJ_OK : CJ_ENOTFOUND;
}
