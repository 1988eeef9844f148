/* The eventfd of a waiter: readable while there are records, or callbacks for the caller's thread. */
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tests/device_bench.h"
#include "tests/stream/waits.h"

static bool readable(int fd, int ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    return poll(&p, 1, ms) == 1 && (p.revents & POLLIN);
}

static void records(void)
{
    cj_wait_record r[4];
    cj_waiter *w = cj_waiter_create(dev, NULL);
    int mark;
    const int fd = cj_waiter_fd(w);
    tap_ok(fd >= 0, "a waiter has a descriptor");
    tap_is_int(cj_waiter_fd(w), fd, "... one");
    tap_ok(!readable(fd, 0), "... which is not readable without records");
    gate_hold(0, s);
    cj_wait a = cj_waiter_add_stream(w, s, CJ_WAIT_FOREVER, NULL, &mark);
    tap_ok(!readable(fd, 0), "... nor with a pending wait");
    gate_open(0);
    tap_ok(readable(fd, 10000), "... but with a record");
    tap_is_int(cj_waiter_poll(w, r, 4, 0), 1, "... which can be polled at once");
    tap_ok(r[0].wait == a && r[0].user == &mark && r[0].result == CJ_WAIT_DONE && r[0].waited_ns > 0,
           "... and has the wait, its user pointer, its result and its time");
    tap_ok(!readable(fd, 0), "... and is not readable behind that");
    for (int i = 0; i < 6; i++) cj_waiter_add_stream(w, s, 0, NULL, NULL);
    int n = 0;
    while (n < 6 && readable(fd, 10000)) n += cj_waiter_poll(w, r, 4, 0);
    tap_is_int(n, 6, "six records are polled in parts");
    tap_ok(!readable(fd, 0), "... and none is left");
    cj_waiter_free(w);
}

static void made_later(void)
{
    cj_wait_record r;
    cj_waiter *w = cj_waiter_create(dev, NULL);
    cj_waiter_add_stream(w, s, CJ_WAIT_FOREVER, NULL, NULL);
    cj_waiter_shutdown(w);
    tap_ok(readable(cj_waiter_fd(w), 0), "a descriptor that is made when there are records is readable");
    tap_is_int(cj_waiter_poll(w, &r, 1, 0), 1, "... they are polled after the shutdown");
    tap_is_int(cj_waiter_poll(w, &r, 1, CJ_WAIT_FOREVER), CJ_ESTATE, "... and the end is reported");
    tap_is_int(cj_error_of(w)->status, CJ_OK, "... which is no failure of the waiter");
    cj_waiter_free(w);
}

/* Two waiters in one loop of epoll; the callbacks of one run on this thread. */
static void in_a_loop(void)
{
    seen n = SEEN_NONE;
    cj_wait_record r;
    int records_seen = 0, rounds = 0;
    cj_waiter *calls = cj_waiter_create(dev, CJ_WAITER(.callbacks = CJ_WAITER_CALLER)),
              *polls = cj_waiter_create(dev, NULL);
    const int ep = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event on = { .events = EPOLLIN, .data.ptr = calls }, got;
    epoll_ctl(ep, EPOLL_CTL_ADD, cj_waiter_fd(calls), &on);
    on.data.ptr = polls;
    epoll_ctl(ep, EPOLL_CTL_ADD, cj_waiter_fd(polls), &on);
    for (int i = 0; i < 10; i++) {
        cj_waiter_add_stream(calls, s, CJ_WAIT_FOREVER, seen_call, &n);
        cj_waiter_add_stream(polls, t, CJ_WAIT_FOREVER, NULL, NULL);
    }
    while ((seen_calls(&n) < 10 || records_seen < 10) && rounds++ < 100 && epoll_wait(ep, &got, 1, 10000) == 1) {
        if (got.data.ptr == calls) cj_waiter_run(calls, 3, 0);
        else records_seen += cj_waiter_poll(polls, &r, 1, 0) == 1;
    }
    tap_is_int(seen_calls(&n), 10, "callbacks run in a loop of epoll");
    tap_is_int(records_seen, 10, "... beside records");
    tap_is_int(cj_waiter_run(polls, 1, 0), CJ_EINVAL, "a waiter with a thread for its callbacks runs none elsewhere");
    tap_is_int(cj_waiter_run(calls, 0, 0), CJ_EINVAL, "no callbacks are too few");
    tap_is_int(cj_waiter_poll(polls, NULL, 1, 0), CJ_EINVAL, "no place for records is rejected");
    tap_is_int(cj_waiter_poll(polls, &r, 0, 0), CJ_EINVAL, "... and no room");
    tap_is_int(cj_waiter_poll(polls, &r, 1, 1), 0, "without waits the time passes");
    tap_is_int(cj_waiter_run(calls, 1, 1), 0, "... for callbacks too");
    close(ep);
    cj_waiter_free(calls);
    cj_waiter_free(polls);
}

int main(void)
{
    bench_open(0);
    gates_make(dev);
    records();
    made_later();
    in_a_loop();
    gates_free();
    return bench_close();
}
