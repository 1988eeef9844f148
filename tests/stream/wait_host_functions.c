/* What a host function may call: the calls of cujit that reach no driver. They return what they return elsewhere, and
 * the driver, which rejects calls of host functions, hears of none. */
#include <poll.h>
#include <stdatomic.h>

#include "tests/device_bench.h"
#include "tests/stream/waits.h"

static atomic_int calls;     /* of the driver by the thread of the host function */
static _Thread_local bool in_host_function;

static int before(void *user, uint64_t number, const char *name)
{
    (void)user, (void)number;
    if (!in_host_function) return 0;
    atomic_fetch_add(&calls, 1);
    tap_diag("a host function calls %s", name);
    return 0;
}

typedef struct inside { cj_waiter *w; cj_wait pending, over; cj_event *e; int wrong; } inside;

static void call_all(void *user)
{
    inside *x = user;
    int32_t runs = 0;
    cj_wait_record r[4];
    cj_stream_counts counts;
    cj_stream_opts opts;
    in_host_function = true;
    cj_stream_counts_defaults(&counts);
    cj_stream_defaults(&opts);
    x->wrong += !cj_stream_id(s) + !cj_stream_raw(s) + (cj_stream_device(s) != dev);
    x->wrong += cj_stream_flags(s) != 1;
    x->wrong += cj_stream_priority(s) != cj_stream_priority(t);
    x->wrong += cj_stream_get_counts(s, &counts) != CJ_OK || !counts.operations;
    x->wrong += cj_stream_is_capturing(s) != 0;
    x->wrong += !cj_event_raw(x->e) + (cj_event_device(x->e) != dev);
    x->wrong += cj_waiter_fd(x->w) < 0;
    x->wrong += cj_waiter_poll(x->w, r, 4, 0) != 1 || r[0].wait != x->over || r[0].result != CJ_WAIT_DONE;
    x->wrong += cj_waiter_cancel(x->w, x->pending, &runs) != CJ_OK || runs != 1;
    x->wrong += cj_waiter_poll(x->w, r, 4, 0) != 1 || r[0].result != CJ_WAIT_CANCELLED;
    x->wrong += cj_waiter_cancel(x->w, x->over, &runs) != CJ_ENOTFOUND || runs != 0;
    x->wrong += cj_waiter_cancel(x->w, 0, NULL) != CJ_EHANDLE;
    x->wrong += cj_error_of(x->w)->status != CJ_EHANDLE || cj_error_last()->status != CJ_EHANDLE;
    in_host_function = false;
}

static void call_all_done(void *user, cj_status st)
{
    ((inside *)user)->wrong += st != CJ_OK;
    call_all(user);
}

static void try_one(const char *name, bool callback)
{
    cj_waiter *w = cj_waiter_create(dev, NULL);
    inside x = { .w = w, .e = cj_event_create(dev, NULL) };
    cj_event *mark = cj_event_create(dev, NULL);
    cj_event_record(mark, s);   /* an operation that is counted: the host function may run before its own is */
    gate_hold(0, t);
    x.pending = cj_waiter_add_stream(w, t, CJ_WAIT_FOREVER, NULL, NULL);
    x.over = cj_waiter_add(w, x.e, CJ_WAIT_FOREVER, NULL, NULL);
    struct pollfd fd = { .fd = cj_waiter_fd(w), .events = POLLIN };
    tap_is_int(poll(&fd, 1, 10000), 1, "an event without a record is reported");
    if (callback) cj_stream_callback(s, call_all_done, &x);
    else cj_host_func(s, call_all, &x);
    cj_stream_sync(s);
    tap_is_int(x.wrong, 0, "%s: each call returns what it returns elsewhere", name);
    tap_is_int(atomic_load(&calls), 0, "... and calls no driver");
    gate_open(0);
    cj_stream_sync(t);
    cj_waiter_free(w);
    cj_event_free(mark);
    cj_event_free(x.e);
}

int main(void)
{
    bench_open_over(CJ_INTERPOSER(.before = before), 0);
    gates_make(dev);
    try_one("a host function", false);
    try_one("a callback of a stream", true);
    gates_free();
    return bench_close();
}
