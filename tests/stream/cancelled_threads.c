/* pthread_cancel() of a thread in a call that blocks: the call returns as if nothing had happened, the thread ends
 * behind it, and everything can be used afterwards. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/device_bench.h"

static cj_event *event;
static cj_waiter *waiter;
static atomic_int begun, result;

static cj_status sync_stream(void) { return cj_stream_sync(s); }
static cj_status sync_stream_for(void) { return cj_stream_sync_for(s, 100000); }
static cj_status sync_event(void) { return cj_event_sync(event); }
static cj_status sync_event_for(void) { return cj_event_sync_for(event, 100000); }
static cj_status sync_device(void) { return cj_device_sync(dev); }
static cj_status poll_waiter(void)
{
    cj_wait_record record;
    cj_waiter_add(waiter, event, CJ_WAIT_FOREVER, NULL, NULL);
    return cj_waiter_poll(waiter, &record, 1, 100000) == 1 ? CJ_OK : CJ_ETIMEOUT;
}

static const struct { const char *name; cj_status (*call)(void); } rows[] = {
    { "cj_stream_sync", sync_stream },     { "cj_stream_sync_for", sync_stream_for },
    { "cj_event_sync", sync_event },       { "cj_event_sync_for", sync_event_for },
    { "cj_device_sync", sync_device },     { "cj_waiter_poll", poll_waiter },
};

static void *block(void *row)
{
    atomic_store(&begun, 1);
    atomic_store(&result, (int)rows[(size_t)(uintptr_t)row].call());
    pthread_testcancel();
    return NULL;
}

static void cancel(size_t row)
{
    struct latch held = LATCH_CLOSED;
    pthread_t thread;
    void *end = NULL;
    atomic_store(&begun, 0);
    atomic_store(&result, 1);
    bench_hold(s, &held);
    cj_event_record(event, s);
    pthread_create(&thread, NULL, block, (void *)(uintptr_t)row);
    while (!atomic_load(&begun)) sched_yield();
    pthread_cancel(thread); /* before the call blocks, or while it does */
    latch_open(&held);
    pthread_join(thread, &end);
    tap_is_int(atomic_load(&result), CJ_OK, "%s returns", rows[row].name);
    tap_ok(end == PTHREAD_CANCELED, "%s: the thread ends behind the call", rows[row].name);
    cj_fill32(s, d, 1, 1);
    cj_launch(s, add, cj_grid(1, 32), d, 1u, 1u);
    cj_event_record(event, s);
    tap_is_int(cj_stream_sync(s), CJ_OK, "%s: the stream can be used: %s", rows[row].name, cj_error_of(s)->message);
    tap_is_int(cj_event_sync(event), CJ_OK, "%s: the event too", rows[row].name);
    cj_dptr more = cj_alloc(t, 64);
    tap_is_int(cj_free(dev, more), CJ_OK, "%s: and the device", rows[row].name);
}

int main(void)
{
    bench_open(64);
    event = cj_event_create(dev, NULL);
    waiter = cj_waiter_create(dev, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) cancel(i);
    cj_waiter_free(waiter);
    cj_event_free(event);
    return bench_close();
}
