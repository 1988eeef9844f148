/* The eventfd of a coordinator: readable while there are completions to be pulled. */
#include <poll.h>

#include "tests/device_bench.h"

static bool readable(int fd, int ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    return poll(&p, 1, ms) == 1 && (p.revents & POLLIN);
}

static cj_status hold(void *user, cj_stream *on)
{
    if (user) bench_hold(on, user);
    return CJ_OK;
}

static void records(void)
{
    struct latch l = LATCH_CLOSED;
    cj_task_record r[4];
    cj_coord *c = cj_coord_create(dev, CJ_COORD(.completions = 1));
    const int fd = cj_coord_fd(c);
    tap_ok(fd >= 0, "a coordinator has a descriptor");
    tap_is_int(cj_coord_fd(c), fd, "... one");
    tap_ok(!readable(fd, 0), "... which is not readable without completions");
    const cj_task a = cj_coord_add(c, CJ_TASK(.run = hold, .user = &l));
    cj_coord_poll(c);
    tap_ok(!readable(fd, 0), "... nor with a task on its stream");
    latch_open(&l);
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "the task ends");
    tap_ok(readable(fd, 0), "... and the descriptor is readable");
    tap_ok(cj_coord_completions(c, r, 4, 0) == 1 && r[0].task == a && r[0].state == CJ_TASK_DONE,
           "... for its completion");
    tap_ok(!readable(fd, 0), "... and is not readable behind that");
    for (int i = 0; i < 6; i++) cj_coord_add(c, CJ_TASK(.run = hold));
    cj_coord_run(c, 20000);
    size_t n = 0, parts = 0;
    for (; readable(fd, 0) && parts < 6; parts++) n += cj_coord_completions(c, r, 4, 0);
    tap_ok(n == 6 && parts == 2, "six completions are pulled in two parts: %d in %d", (int)n, (int)parts);
    cj_coord_free(c);
}

static void made_later(void)
{
    cj_task_record r;
    cj_coord *c = cj_coord_create(dev, CJ_COORD(.completions = 1));
    const cj_task a = cj_coord_add(c, CJ_TASK(.run = hold));
    cj_coord_cancel(c, a);
    cj_coord_run(c, 20000);
    tap_ok(readable(cj_coord_fd(c), 0), "a descriptor that is made when there are completions is readable");
    tap_ok(cj_coord_completions(c, &r, 1, 0) == 1 && r.state == CJ_TASK_CANCELLED, "... a cancelled task's too");
    tap_ok(!readable(cj_coord_fd(c), 0), "... until it is pulled");
    cj_coord_free(c);
    c = cj_coord_create(dev, NULL);
    tap_is_int(cj_coord_fd(c), -1, "a coordinator without completions has no descriptor");
    tap_is_int(cj_error_of(c)->status, CJ_ESTATE, "... and the failure names the option: %s", cj_error_of(c)->message);
    cj_error_clear(c);
    cj_coord_free(c);
}

int main(void)
{
    bench_open(4096);
    records();
    made_later();
    return bench_close();
}
