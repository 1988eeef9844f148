/* Tasks with and without functions, groups, failures, collectives over two devices, streams as units. */
#include <stdlib.h>

#include "tests/whole/work.h"

enum { N = 64 };
static cj_device *dev[2];
static cj_stream *s[2];
static cj_dptr d[2];
static cj_coord *c;
static uint64_t sum;
static uint32_t out[N];

static cj_status fill(void *user, cj_stream *on) { return cj_fill32(on, d[0], *(uint32_t *)user, N); }
static cj_status fetch(void *user, cj_stream *on) { return (void)user, cj_copy_to_host(on, out, d[0], sizeof out); }
static cj_status look(void *user, cj_stream *on) { return (void)user, (void)on, sum += out[N - 1], CJ_OK; }
static cj_status index_of(void *user, uint32_t index, cj_stream *on)
{
    return (void)user, cj_fill32(on, cj_offset(d[0], 4 * index), index, 1);
}
static void ended(void *user, cj_task task, cj_task_state state) { *(int *)user += task && state == CJ_TASK_DONE; }

/* A task that was added, or the failure of that. */
static cj_task added(cj_task task)
{
    if (!task) work_made(c);
    return task;
}

/* Runs all; a failure of a task is one of the workload. */
static void run(void)
{
    if (!work_did(cj_coord_run(c, 20000))) /* what is left must not run behind the workload's back */
        for (int i = 0; i < 20 && cj_coord_run(c, 1000) != CJ_OK; i++) continue;
    for (int i = 0; i < 2; i++) cj_device_sync(dev[i]);
}

static void functions(void)
{
    static uint32_t three = 3, four = 4;
    static int ends;
    cj_coord_opts o;
    cj_task_opts t;
    cj_coord_defaults(&o);
    o.completions = o.picture = 1;
    c = cj_coord_create(dev[0], &o);
    if (!work_made(c)) {
        cj_coord_free(c);
        return;
    }
    cj_task_defaults(&t);
    const cj_range row = { d[0], 4 * N }, host = { { (uint64_t)(uintptr_t)out }, sizeof out };
    t.run = fill, t.user = &three, t.writes = (cj_ranges){ &row, 1 }, t.what = "fill";
    const cj_task first = added(cj_coord_add(c, &t));
    const cj_task group = added(cj_coord_add_group(c, CJ_TASK(.what = "group", .done = ended, .user = &ends)));
    added(cj_coord_add(c, CJ_TASK(.run = fetch, .group = group, .reads = CJ_RANGES(row), .writes = CJ_RANGES(host))));
    const cj_task last =
        added(cj_coord_add(c, CJ_TASK(.kind = CJ_TASK_SYNC, .run = look, .group = group, .reads = CJ_RANGES(host))));
    const cj_task over = added(cj_coord_add(c, CJ_TASK(.run = fill, .user = &four, .writes = CJ_RANGES(row))));
    if (group) work_did(cj_coord_close_group(c, group));
    if (over && last) work_did(cj_coord_depend(c, over, last));
    if (over) work_did(cj_coord_set_priority(c, over, CJ_PRIORITY_LOW));
    if (first && last && cj_coord_depend(c, first, last) != CJ_ESTATE) work_made(c);
    const cj_task never = added(cj_coord_add(c, CJ_TASK(.run = look, .after = CJ_TASKS(over))));
    if (never) work_did(cj_coord_cancel(c, never));
    const cj_status polled = cj_coord_poll(c);
    if (polled != CJ_ENOTREADY) work_did(polled);
    if (group) work_did(cj_coord_wait(c, group, 20000));
    run();
    cj_task_record r[16];
    if (cj_coord_fd(c) < 0) work_made(c);
    sum += cj_coord_completions(c, r, 16, 0) + (uint64_t)ends;
    cj_task_info info;
    cj_coord_counts counts;
    cj_error e;
    cj_task_info_defaults(&info);
    cj_coord_counts_defaults(&counts);
    if (first && work_did(cj_coord_get_task(c, first, &info))) sum += info.number;
    if (work_did(cj_coord_get_counts(c, &counts))) sum += counts.done + counts.cycles;
    if (first) work_did(cj_coord_get_error(c, first, &e));
    cj_error_clear(c); /* that of the cycle */
    sum += strlen(cj_coord_dot(c)) > 100;
    sum += strlen(cj_coord_cycles(c)) > 10;
    sum += !*cj_coord_deadlocks(c);
    work_made(c); /* a text without memory is "" */
    work_did(cj_coord_forget(c));
    cj_coord_free(c);
}

static void pulled(void)
{
    c = cj_coord_create(dev[0], NULL);
    if (!work_made(c)) {
        cj_coord_free(c);
        return;
    }
    cj_stream_pool *pool = cj_stream_pool_create(dev[0], NULL);
    if (work_made(pool)) work_did(cj_coord_use_pool(c, pool));
    cj_task task = added(cj_coord_add(c, CJ_TASK(.what = "pulled"))),
            own = added(cj_coord_add(c, CJ_TASK(.what = "own")));
    cj_stream *on = NULL;
    if (own && work_did(cj_coord_begin(c, own, s[0], &on, 20000))) {
        work_did(cj_fill32(on, d[0], 5, N));
        work_did(cj_coord_complete(c, own, CJ_OK));
    }
    if (own && !on) cj_coord_cancel(c, own);
    const cj_task pulled_one = task;
    cj_status st = cj_coord_next(c, &task, &on, 20000);
    if (st == CJ_OK) {
        const cj_status filled = cj_fill32(on, d[0], 6, N);
        work_did(filled);
        work_did(cj_coord_complete(c, task, filled));
    } else if (st != CJ_ENOTFOUND) {
        work_did(st);
        if (pulled_one) cj_coord_cancel(c, pulled_one);
    }
    run();
    cj_coord_free(c);
    cj_stream_pool_free(pool);
}

static void collectives(void)
{
    c = cj_coord_create(dev[0], NULL);
    if (!work_made(c)) {
        cj_coord_free(c);
        return;
    }
    cj_collective_opts o;
    cj_parallel_opts p;
    cj_collective_defaults(&o);
    cj_parallel_defaults(&p);
    const cj_part parts[] = { { dev[0], d[0] }, { dev[1], d[1] } };
    o.count = N, o.type = CJ_U32, o.parts = (cj_parts){ parts, 2 };
    for (int i = 0; i < 2; i++) work_did(cj_fill32(s[i], d[i], (uint32_t)i + 1, N));
    for (int i = 0; i < 2; i++) work_waited(s[i]);
    added(cj_coord_reduce(c, &o)); /* 3, 2 */
    o.root = 1;
    added(cj_coord_broadcast(c, &o));  /* 2, 2 */
    added(cj_coord_all_reduce(c, &o)); /* 4, 4 */
    run();
    work_did(cj_copy_to_host(s[0], out, d[0], sizeof out));
    if (work_waited(s[0])) sum += out[0] + out[N - 1];
    p.count = 3, p.run = index_of;
    added(cj_coord_parallel(c, &p));
    run();
    cj_coord_free(c);
}

static void units(void)
{
    cj_stream_barrier_time took;
    cj_stream_barrier_time_defaults(&took);
    c = cj_coord_create(dev[0], NULL);
    if (!work_made(c)) {
        cj_coord_free(c);
        return;
    }
    work_did(cj_coord_stream_depend(c, s[0], s[1]));
    work_did(cj_coord_stream_order(c, s[0]));
    if (work_did(cj_coord_barrier(c))) {
        work_did(cj_coord_barrier_wait(c, s[0]));
        work_waited(s[0]);
        if (work_did(cj_coord_barrier_elapsed(c, &took))) sum += took.streams;
    }
    const cj_status st = cj_coord_stream_forget(c, s[1]);
    if (st != CJ_ENOTFOUND) work_did(st);
    cj_coord_free(c);
}

int main(void)
{
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    cj_driver *drv = cj_driver_open(NULL);
    for (int i = 0; i < 2; i++) {
        dev[i] = cj_device_open(drv, i, NULL);
        s[i] = cj_stream_create(dev[i], NULL);
        d[i] = cj_alloc(s[i], 4 * N);
        if (!d[i].addr) work_made(s[i]);
    }
    if (d[0].addr && d[1].addr) functions(), pulled(), collectives(), units();
    for (int i = 0; i < 2; i++) work_did(cj_free(dev[i], d[i]));
    for (int i = 0; i < 2; i++) {
        cj_stream_free(s[i]);
        cj_device_collect(dev[i]);
    }
    for (int i = 0; i < 2; i++) cj_device_close(dev[i]);
    cj_driver_close(drv);
    return work_end("tasks", sum);
}
