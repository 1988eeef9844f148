/* Waiters: events and streams, callbacks on each kind of thread, records, the descriptor, an event that is recorded
 * again while it is waited for. */
#include <poll.h>
#include <stdatomic.h>

#include "tests/whole/work.h"

static cj_device *dev;
static cj_stream *s, *t;
static uint64_t sum;

/* Of callbacks: how many there were with each result. */
static atomic_uint ended[5];
static void count_end(void *user, cj_wait_result result)
{
    (void)user;
    atomic_fetch_add(&ended[result], 1);
}

static bool work_waits(cj_waiter *w, cj_wait wait)
{
    if (!wait) work_made(w);
    return wait != 0;
}

/* Callbacks on the waiter's threads; what is pending at the end is shut down. */
static void called(int callbacks)
{
    cj_waiter_opts opts;
    cj_waiter_defaults(&opts);
    opts.callbacks = callbacks;
    opts.threads = 2;
    cj_waiter *w = cj_waiter_create(dev, &opts);
    cj_event *e = cj_event_create(dev, NULL);
    for (int i = 0; i < 5; i++) atomic_store(&ended[i], 0);
    unsigned added = 0;
    if (work_made(w) && work_made(e)) {
        work_did(cj_event_record(e, s));
        added += work_waits(w, cj_waiter_add(w, e, CJ_WAIT_FOREVER, count_end, NULL));
        work_did(cj_event_record(e, t)); /* the wait is for the point before */
        added += work_waits(w, cj_waiter_add(w, e, CJ_WAIT_FOREVER, count_end, NULL));
        const cj_wait last = cj_waiter_add_stream(w, t, 60000, count_end, NULL);
        added += work_waits(w, last);
        const cj_status st = last ? cj_waiter_cancel(w, last, NULL) : CJ_OK;
        if (st != CJ_ENOTFOUND) work_did(st);
        work_did(cj_waiter_shutdown(w));
        if (callbacks == CJ_WAITER_CALLER)
            while (cj_waiter_run(w, 10, 0) > 0) {}
        if (cj_error_of(w)->status != CJ_OK) work_made(w);
    }
    cj_waiter_free(w);
    cj_event_free(e);
    unsigned all = 0;
    for (int i = 0; i < 5; i++) all += atomic_load(&ended[i]);
    sum += all == added ? added : 1000;
}

/* Records, until each wait has one. */
static void polled(void)
{
    cj_waiter *w = cj_waiter_create(dev, CJ_WAITER(.spin_us = -1));
    cj_event *e = cj_event_create(dev, NULL);
    cj_wait_record record[4];
    int waits = 0;
    struct pollfd fd = { .fd = cj_waiter_fd(w), .events = POLLIN };
    if (work_made(w) && work_made(e)) {
        work_did(cj_event_record(e, s));
        waits += work_waits(w, cj_waiter_add(w, e, CJ_WAIT_FOREVER, NULL, &sum));
        waits += work_waits(w, cj_waiter_add_stream(w, t, CJ_WAIT_FOREVER, NULL, &sum));
        while (waits > 0 && poll(&fd, 1, 5000) > 0) {
            const int n = cj_waiter_poll(w, record, 4, 0);
            for (int i = 0; i < n; i++)
                if (record[i].result == CJ_WAIT_DONE) sum += 10;
                else work_made(w);
            waits -= n;
        }
    }
    cj_waiter_free(w);
    cj_event_free(e);
}

int main(void)
{
    cj_driver *drv = cj_driver_open(NULL);
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    t = cj_stream_create(dev, NULL);
    if (work_made(s) && work_made(t)) {
        called(CJ_WAITER_THREAD), called(CJ_WAITER_POOL), called(CJ_WAITER_CALLER), polled();
        work_waited(s), work_waited(t);
    }
    cj_stream_free(s);
    cj_stream_free(t);
    cj_device_collect(dev);
    cj_device_close(dev);
    cj_driver_close(drv);
    return work_end("waiter", sum);
}
