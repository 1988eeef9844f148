/* Barriers over streams.
 *
 * A barrier has a stream of its own, `meet`: each stream is joined into it, with an event of that stream's own, and
 * all of them wait for an event on it.  So no event stands for two streams, a barrier may begin while an earlier one
 * is under way, and devices wait for each other. */
#include <string.h>

#include <cujit/stream_barrier.h>

#include "base/cancel.h"
#include "stream/core/work_hooks.h"

struct cj_stream_barrier {
    cji_obj obj;
    cj_device *dev; /* retained */
    cj_stream *meet;
    cj_event *from, *to;           /* with timing, on meet: the latest barrier's beginning and end */
    pthread_mutex_t lock;          /* held while a barrier is given; guards what follows */
    cj_stream_barrier_clock clock; /* of the latest barrier */
    uint32_t count;
    bool captured, enqueued; /* the latest one on the devices; there was one */
    double host_ms;
};

/* -- Making and releasing ------------------------------------------------------------------------------------------ */

cj_stream_barrier *cj_stream_barrier_create(cj_device *dev)
{
    static const char call[] = "cj_stream_barrier_create";
    cj_stream_barrier *h = cji_obj_new(sizeof *h, CJI_TAG_STREAM_BARRIER, 0, call);
    if (cji_obj_failed(h)) return h;
    pthread_mutex_init(&h->lock, NULL);
    if (cji_check_arg(h, dev, CJI_TAG_DEVICE, call, "the device") != CJ_OK) {
        cji_obj_set_failed(h);
        return h;
    }
    h->dev = cji_obj_retain(dev);
    h->meet = cj_stream_create(dev, NULL);
    h->from = cj_event_create(dev, CJ_EVENT(.timing = 1));
    h->to = cj_event_create(dev, CJ_EVENT(.timing = 1));
    const void *parts[] = { h->meet, h->from, h->to };
    for (size_t i = 0; i < 3; i++) {
        if (!cji_obj_failed(parts[i])) continue;
        cji_fail_from(h, parts[i], call);
        cji_obj_set_failed(h);
        break;
    }
    return h;
}

void cj_stream_barrier_free(cj_stream_barrier *h)
{
    if (!cji_check_free(h, CJI_TAG_STREAM_BARRIER, "cj_stream_barrier_free") || !cji_obj_release(h)) return;
    cj_device *dev = h->dev;
    cj_event_free(h->from);
    cj_event_free(h->to);
    cj_stream_free(h->meet);
    pthread_mutex_destroy(&h->lock);
    cji_obj_delete(h, sizeof *h);
    if (dev) cji_device_drop(dev);
}

/* -- Barriers ------------------------------------------------------------------------------------------------------ */

static cj_status barrier_check(cj_stream_barrier *h, cj_stream *const *streams, size_t count, const char *call)
{
    cj_status st = cji_check(h, CJI_TAG_STREAM_BARRIER, call);
    if (st != CJ_OK) return st;
    if (!streams || !count || count > UINT32_MAX)
        return cji_fail(h, CJ_EINVAL, call, "%zu streams at %p", count, (const void *)streams);
    for (size_t i = 0; i < count && st == CJ_OK; i++) {
        st = cji_check_arg(h, streams[i], CJI_TAG_STREAM, call, "a stream of the list");
        if (st != CJ_OK || cji_device_meets(streams[i]->dev, h->meet->dev)) continue;
        if (streams[i]->dev->drv == h->meet->dev->drv)
            st = cji_cu_fail_apart(h, streams[i]->dev, h->meet->dev, call, "%s", "");
        else
            st = cji_fail(h, CJ_EINVAL, call,
                          "stream %zu is of another driver than the barrier, so they cannot wait for each other", i);
    }
    return st;
}

/* The thread's latest failure is left in every valid stream of the list: their work lacks the barrier, and so do the
 * graphs of their captures. */
static cj_status barrier_failed(cj_stream *const *streams, size_t count)
{
    const cj_error *why = cj_error_last();
    for (size_t i = 0; streams && count <= UINT32_MAX && i < count; i++)
        if (cji_check(streams[i], CJI_TAG_STREAM, why->call) == CJ_OK) cji_stream_fail_with(streams[i], why);
    return cji_fail_with(NULL, why);
}

static bool barrier_captures(cj_stream *const *streams, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (atomic_load(&streams[i]->capturing)) return true;
    return false;
}

static bool barrier_needs_context(cj_stream *const *streams, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (cji_stream_needs_context(streams[i])) return true;
    return false;
}

/* `to` waits for `from`; a failure is left in the barrier. */
static cj_status barrier_chain(cj_stream_barrier *h, cj_stream *from, cj_stream *to, const char *call)
{
    const char *cu_call;
    CUresult r = cji_stream_chain(from, to, &cu_call);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(h, h->dev, r, call, cu_call);
}

static cj_status barrier_mark(cj_stream_barrier *h, cj_event *e, const char *call)
{
    cj_status st = cj_event_record(e, h->meet);
    return st == CJ_OK ? CJ_OK : cji_fail_from(h, e, call);
}

static void barrier_count(cj_stream *s)
{
    cji_count(s, &s->counts.waits, 1);
    cji_count_one(s);
}

/* In captures: only streams that take part in one are joined, as an event from outside would break it. */
static cj_status barrier_enqueue_captured(cj_stream_barrier *h, cj_stream *const *streams, size_t count,
                                          const char *call)
{
    cj_status st = CJ_OK;
    for (size_t i = 0; i < count && st == CJ_OK; i++)
        if (atomic_load(&streams[i]->capturing)) st = barrier_chain(h, streams[i], h->meet, call);
    for (size_t i = 0; i < count && st == CJ_OK; i++) {
        st = barrier_chain(h, h->meet, streams[i], call);
        if (st == CJ_OK) barrier_count(streams[i]);
    }
    return st;
}

/* A stream waits for the meeting of all. */
static CUresult barrier_arrive(cj_stream_barrier *h, cj_stream *s)
{
    CJI_NO_CANCEL;
    return h->meet->cu->cuStreamWaitEvent(s->raw, h->to->raw, 0);
}

static CJI_COLD CUresult barrier_arrive_measured(cj_stream_barrier *h, cj_stream *s)
{
    cji_work w;
    cji_work_begin(&w, s);
    const CUresult r = barrier_arrive(h, s);
    cji_work_end(&w, s, r == CUDA_SUCCESS, &(cji_work_info){ .kind = CJ_PROFILE_WAIT, .name = "stream barrier" });
    return r;
}

/* The event that ends the barrier's time is what the streams wait for. */
static cj_status barrier_enqueue_plain(cj_stream_barrier *h, cj_stream *const *streams, size_t count, const char *call)
{
    cj_status st = barrier_mark(h, h->from, call);
    for (size_t i = 0; i < count && st == CJ_OK; i++) st = barrier_chain(h, streams[i], h->meet, call);
    if (st == CJ_OK) st = barrier_mark(h, h->to, call);
    for (size_t i = 0; i < count && st == CJ_OK; i++) {
        CUresult r = cji_work_measured() ? barrier_arrive_measured(h, streams[i]) : barrier_arrive(h, streams[i]);
        if (r != CUDA_SUCCESS) st = cji_rejected(h, h->dev, r, call, "cuStreamWaitEvent");
        else barrier_count(streams[i]);
    }
    return st;
}

/* With the barrier's lock held. */
static cj_status barrier_enqueue(cj_stream_barrier *h, cj_stream *const *streams, size_t count, const char *call)
{
    const bool captured = barrier_captures(streams, count);
    cji_scope scope = { .cu = NULL };
    cj_status st = barrier_needs_context(streams, count) ? cji_scope_begin(h, h->dev, &scope, call) : CJ_OK;
    if (st != CJ_OK) return st;
    st = captured ? barrier_enqueue_captured(h, streams, count, call) : barrier_enqueue_plain(h, streams, count, call);
    cji_scope_leave(&scope);
    if (st != CJ_OK) return st;
    h->clock = CJ_STREAM_BARRIER_CLOCK_DEVICE;
    h->captured = captured;
    h->enqueued = true;
    h->count = (uint32_t)count;
    return CJ_OK;
}

cj_status cj_stream_barrier_enqueue(cj_stream_barrier *h, cj_stream *const *streams, size_t count)
{
    static const char call[] = "cj_stream_barrier_enqueue";
    cj_status st = barrier_check(h, streams, count, call);
    if (st != CJ_OK) return barrier_failed(streams, count);
    cji_lock(&h->lock, CJI_LOCK_BARRIER);
    st = barrier_enqueue(h, streams, count, call);
    cji_unlock(&h->lock, CJI_LOCK_BARRIER);
    return st == CJ_OK ? CJ_OK : barrier_failed(streams, count);
}

/* With the barrier's lock held. */
static cj_status barrier_wait_for(cj_stream_barrier *h, cj_stream *s, const char *call)
{
    if (!cji_device_meets(s->dev, h->meet->dev))
        return cji_cu_fail_apart(h, s->dev, h->meet->dev, call, "the stream is of another driver than the barrier");
    if (!h->enqueued || h->captured)
        return cji_fail(h, CJ_ESTATE, call,
                        h->enqueued ? "the latest barrier was captured; a stream waits for it in the graph"
                                    : "there was no cj_stream_barrier_enqueue yet");
    if (atomic_load(&s->capturing))
        return cji_fail(h, CJ_ESTATE, call, "the stream is capturing, and the barrier was not captured");
    const cj_status st = cj_stream_wait(s, h->to);
    return st == CJ_OK ? CJ_OK : cji_fail_from(h, s, call);
}

cj_status cj_stream_barrier_wait(cj_stream_barrier *h, cj_stream *s)
{
    static const char call[] = "cj_stream_barrier_wait";
    cj_status st = cji_check(h, CJI_TAG_STREAM_BARRIER, call);
    if (st == CJ_OK) st = cji_check_arg(h, s, CJI_TAG_STREAM, call, "the stream");
    else return cji_check(s, CJI_TAG_STREAM, call) == CJ_OK ? barrier_failed(&s, 1) : st;
    if (st != CJ_OK) return st;
    cji_lock(&h->lock, CJI_LOCK_BARRIER);
    st = barrier_wait_for(h, s, call);
    cji_unlock(&h->lock, CJI_LOCK_BARRIER);
    return st == CJ_OK ? CJ_OK : barrier_failed(&s, 1);
}

/* One stream until the deadline; a failure is left in the barrier, a timeout in the thread. */
static cj_status barrier_wait(cj_stream_barrier *h, cj_stream *s, size_t place, uint32_t ms, uint64_t deadline,
                              const char *call)
{
    CUresult r = cji_wait_stream(s, deadline);
    if (r == CUDA_ERROR_NOT_READY)
        return cji_fail(NULL, CJ_ETIMEOUT, call, "stream %zu is not complete after %u ms; it goes on", place, ms);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(h, s->dev, r, call, "cuStreamQuery");
}

cj_status cj_stream_barrier_sync_for(cj_stream_barrier *h, cj_stream *const *streams, size_t count, uint32_t ms)
{
    static const char call[] = "cj_stream_barrier_sync_for";
    const uint64_t begun = cji_now(), deadline = cji_deadline(ms);
    cj_status st = barrier_check(h, streams, count, call);
    if (st != CJ_OK) return st;
    if (barrier_captures(streams, count))
        return cji_fail(h, CJ_ESTATE, call,
                        "a stream is being captured, so nothing of it runs yet; end the capture first");
    for (size_t i = 0; i < count && st == CJ_OK; i++) st = barrier_wait(h, streams[i], i, ms, deadline, call);
    cji_lock(&h->lock, CJI_LOCK_BARRIER);
    h->clock = CJ_STREAM_BARRIER_CLOCK_HOST;
    h->captured = false;
    h->count = (uint32_t)count;
    h->host_ms = (double)(cji_now() - begun) / 1e6;
    cji_unlock(&h->lock, CJI_LOCK_BARRIER);
    return st;
}

/* -- How long ------------------------------------------------------------------------------------------------------ */

void cj_stream_barrier_time_defaults(cj_stream_barrier_time *time)
{
    if (time) *time = (cj_stream_barrier_time){ .size = sizeof *time };
}

static cj_status barrier_elapsed(cj_stream_barrier *h, double *elapsed, const char *call)
{
    float ms = 0;
    cj_status st = cj_event_elapsed(h->from, h->to, &ms);
    *elapsed = ms;
    return st == CJ_OK || st == CJ_ENOTREADY ? st : cji_fail_from(h, h->from, call);
}

cj_status cj_stream_barrier_elapsed(cj_stream_barrier *h, cj_stream_barrier_time *time)
{
    static const char call[] = "cj_stream_barrier_elapsed";
    cj_status st = cji_check(h, CJI_TAG_STREAM_BARRIER, call);
    if (st != CJ_OK) return st;
    if (!time || time->size < sizeof time->size)
        return cji_fail(h, CJ_EINVAL, call, "time is NULL, or time->size is not sizeof(cj_stream_barrier_time)");
    cj_stream_barrier_time now = { .size = time->size };
    cji_lock(&h->lock, CJI_LOCK_BARRIER);
    now.clock = h->clock;
    now.streams = h->count;
    now.ms = h->host_ms;
    if (h->captured)
        st = cji_fail(h, CJ_ESTATE, call,
                      "the latest barrier was captured; it runs in the graph, whose time is to be measured");
    else if (h->clock == CJ_STREAM_BARRIER_CLOCK_NONE) now.ms = 0;
    else if (h->clock == CJ_STREAM_BARRIER_CLOCK_DEVICE) st = barrier_elapsed(h, &now.ms, call);
    cji_unlock(&h->lock, CJI_LOCK_BARRIER);
    if (st == CJ_OK) memcpy(time, &now, time->size < sizeof now ? time->size : sizeof now);
    return st;
}
