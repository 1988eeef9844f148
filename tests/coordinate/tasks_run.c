/* Tasks run on streams in the order of what they need: with functions, in the pull form, around the caller's own work,
 * in groups, behind barriers; failures reach what depends on them, and nothing else. */
#include <string.h>

#include "tests/device_bench.h"

enum { N = 64 };
static cj_coord *c;

typedef struct job {
    cj_dptr d;
    uint32_t add;
    struct latch *hold;
    cj_status st;
    int runs;
} job;

/* x[i] += add for the N elements at job->d, behind the latch. */
static cj_status run_add(void *user, cj_stream *on)
{
    job *j = user;
    j->runs++;
    if (j->hold) bench_hold(on, j->hold);
    cj_launch(on, add, cj_threads(N, 32), j->d, N, j->add);
    return j->st;
}

/* x[i] *= 2: two additions of the memory to itself would race, so the host does it behind the copy. */
static cj_status run_clear(void *user, cj_stream *on)
{
    job *j = user;
    j->runs++;
    return cj_fill32(on, j->d, j->add, N);
}

static uint32_t first_of(cj_dptr at)
{
    uint32_t out[N] = { 0 };
    cj_copy_to_host(s, out, at, sizeof out);
    cj_stream_sync(s);
    for (int i = 1; i < N; i++)
        if (out[i] != out[0]) return UINT32_MAX;
    return out[0];
}

static cj_coord_counts counts(void)
{
    cj_coord_counts k;
    cj_coord_counts_defaults(&k);
    tap_is_int(cj_coord_get_counts(c, &k), CJ_OK, "counters");
    return k;
}

static cj_task_info info(cj_task task)
{
    cj_task_info k;
    cj_task_info_defaults(&k);
    tap_is_int(cj_coord_get_task(c, task, &k), CJ_OK, "a task's description");
    return k;
}

static cj_dptr row(int i) { return cj_offset(d, i * N * 4); }
#define ROW(i) \
    { \
        row(i), N * 4 \
    }

/* -- A diamond ----------------------------------------------------------------------------------------------------- */

static void diamond(void)
{
    struct latch l = LATCH_CLOSED;
    c = cj_coord_create(dev, NULL);
    job top = { row(0), 1, &l, CJ_OK, 0 }, left = { row(1), 10, NULL, CJ_OK, 0 },
        right = { row(2), 100, NULL, CJ_OK, 0 };
    job bottom = { row(0), 1000, NULL, CJ_OK, 0 };
    cj_fill32(s, d, 0, 4 * N);
    cj_stream_sync(s);
    const cj_task a =
        cj_coord_add(c, CJ_TASK(.what = "top", .run = run_add, .user = &top, .writes = CJ_RANGES(ROW(0))));
    const cj_task b = cj_coord_add(c, CJ_TASK(.what = "left", .run = run_add, .user = &left, .reads = CJ_RANGES(ROW(0)),
                                              .writes = CJ_RANGES(ROW(1))));
    const cj_task e = cj_coord_add(c, CJ_TASK(.what = "right", .run = run_add, .user = &right,
                                              .reads = CJ_RANGES(ROW(0)), .writes = CJ_RANGES(ROW(2))));
    const cj_task z = cj_coord_add(c, CJ_TASK(.what = "bottom", .kind = CJ_TASK_REDUCE, .run = run_add, .user = &bottom,
                                              .reads = CJ_RANGES(ROW(1), ROW(2)), .writes = CJ_RANGES(ROW(0))));
    tap_ok(a && b && e && z, "four tasks are added: %s", cj_error_of(c)->message);
    tap_is_int(cj_coord_poll(c), CJ_ENOTREADY, "they are enqueued at once");
    tap_ok(info(z).state == CJ_TASK_ENQUEUED && info(a).state == CJ_TASK_ENQUEUED,
           "all, while the first one still runs");
    tap_ok(info(b).stream != info(e).stream, "the two branches are on two streams");
    tap_is_int(cj_coord_run(c, 1), CJ_ETIMEOUT, "they do not end before the first");
    tap_has_str(cj_error_last()->message, "task 1 'top' is on its stream", "and the message names it");
    tap_is_int(cj_error_of(c)->status, CJ_OK, "a timeout is no failure");
    latch_open(&l);
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "then all have ended: %s", cj_error_of(c)->message);
    tap_ok(first_of(row(0)) == 1001 && first_of(row(1)) == 10 && first_of(row(2)) == 100, "with their results");
    const cj_coord_counts k = counts();
    tap_ok(k.done == 4 && k.added == 4 && k.ended == 4 && !k.blocked && !k.in_flight, "four are done");
    tap_ok(k.edges == 4 && k.edges_of_ranges == 4, "with four dependencies, all from ranges: %d", (int)k.edges);
    tap_ok(k.waits == 2 && k.implied == 2 && k.events <= 4, "two waits are enqueued, two are implied by the stream");
    const cj_task_info task_ = info(z);
    tap_ok(task_.number == 4 && task_.kind == CJ_TASK_REDUCE && task_.state == CJ_TASK_DONE &&
               task_.priority == CJ_PRIORITY_HIGH && task_.work == 2 && !strcmp(task_.what, "bottom") &&
               task_.added <= task_.begun && task_.begun <= task_.enqueued && task_.enqueued <= task_.ended &&
               task_.stream,
           "what is known of a task");
    tap_is_int(info(a).effective, CJ_PRIORITY_HIGH, "what it needs had its priority");
    cj_coord_free(c);
}

/* -- The device's order -------------------------------------------------------------------------------------------- */

/* Each task waits on the device for what it depends on, whichever of them is last. */
static void held_by_each(void)
{
    for (int last = 0; last < 3; last++) {
        struct latch l = LATCH_CLOSED;
        job j[4];
        cj_task task_[4] = { 0 };
        c = cj_coord_create(dev, NULL);
        cj_fill32(s, d, 0, N);
        cj_stream_sync(s);
        for (int i = 0; i < 3; i++) {
            j[i] = (job){ row(i + 1), 1, i == last ? &l : NULL, CJ_OK, 0 };
            task_[i] = cj_coord_add(c, CJ_TASK(.run = run_add, .user = &j[i]));
        }
        j[3] = (job){ row(0), 1, NULL, CJ_OK, 0 };
        task_[3] =
            cj_coord_add(c, CJ_TASK(.run = run_add, .user = &j[3], .after = CJ_TASKS(task_[0], task_[1], task_[2])));
        cj_coord_poll(c);
        cj_coord_poll(c);
        tap_ok(j[3].runs == 1 && info(task_[3]).state == CJ_TASK_ENQUEUED, "a task behind three is enqueued");
        for (int i = 0; i < 3; i++)
            if (i != last) tap_is_int(cj_coord_wait(c, task_[i], 20000), CJ_OK, "... those that can end do");
        tap_is_int(cj_coord_wait(c, task_[3], 1), CJ_ETIMEOUT, "... but it waits for number %d", last);
        latch_open(&l);
        tap_is_int(cj_coord_run(c, 20000), CJ_OK, "... and ends after it");
        cj_coord_free(c);
    }
}

/* What a stream has waited for through others needs no wait of its own. */
static void implied(void)
{
    struct latch l[2] = { LATCH_CLOSED, LATCH_CLOSED };
    c = cj_coord_create(dev, NULL);
    cj_stream *const u = cj_stream_create(dev, NULL);
    cj_stream *const on[4] = { s, t, u, u };
    job j[4];
    cj_task k[4];
    for (int i = 0; i < 4; i++) {
        j[i] = (job){ row(0), 1, NULL, CJ_OK, 0 };
        k[i] = cj_coord_add(c, CJ_TASK(.user = &j[i]));
    }
    cj_coord_depend(c, k[1], k[0]);
    cj_coord_depend(c, k[2], k[1]);
    cj_coord_depend(c, k[2], k[0]); /* t has waited for s, so u, which waits for t, need not */
    cj_coord_depend(c, k[3], k[0]); /* nor later */
    for (int i = 0; i < 4; i++) {
        tap_is_int(cj_coord_begin(c, k[i], on[i], NULL, 0), CJ_OK, "task %d begins on a stream of the caller's", i);
        if (!i) bench_hold(s, &l[0]);
        tap_is_int(cj_coord_complete(c, k[i], CJ_OK), CJ_OK, "... and is enqueued");
    }
    const cj_coord_counts n = counts();
    tap_ok(n.edges == 4 && n.waits == 2 && n.implied == 2, "four dependencies, two waits: %d", (int)n.waits);
    tap_is_int(cj_stream_query(u), CJ_ENOTREADY, "the last stream waits for the first");
    latch_open(&l[0]);
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "and goes on");

    /* a stream that has waited for an early point has not waited for a later one */
    cj_task m[3];
    for (int i = 0; i < 3; i++) m[i] = cj_coord_add(c, CJ_TASK(.what = "late"));
    cj_coord_depend(c, m[2], m[1]);
    cj_coord_depend(c, m[2], m[0]);
    for (int i = 0; i < 2; i++) {
        cj_coord_begin(c, m[i], s, NULL, 0);
        if (i) bench_hold(s, &l[1]);
        cj_coord_complete(c, m[i], CJ_OK);
    }
    tap_is_int(cj_coord_begin(c, m[2], u, NULL, 0), CJ_OK, "a task behind two of one stream");
    cj_coord_complete(c, m[2], CJ_OK);
    tap_is_int(cj_stream_query(u), CJ_ENOTREADY, "waits for the later one");
    latch_open(&l[1]);
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "until it has ended");
    cj_coord_free(c);
    cj_stream_free(u);
}

/* -- Without callbacks --------------------------------------------------------------------------------------------- */

static void pull(void)
{
    c = cj_coord_create(dev, CJ_COORD(.completions = 1));
    cj_task task, first = cj_coord_add(c, CJ_TASK(.what = "first", .priority = CJ_PRIORITY_CLEANUP));
    cj_task second = cj_coord_add(c, CJ_TASK(.what = "second"));
    cj_task third =
        cj_coord_add(c, CJ_TASK(.what = "third", .priority = CJ_PRIORITY_CLEANUP, .after = CJ_TASKS(first, second)));
    const cj_task want[3] = { second, first, third };
    cj_stream *on;
    cj_task_record r[8];
    cj_fill32(s, d, 0, N);
    cj_stream_sync(s);
    for (int i = 0; i < 3; i++) {
        tap_is_int(cj_coord_next(c, &task, &on, 20000), CJ_OK, "the next task");
        tap_ok(task == want[i], "... in the order of priority: %llx", (unsigned long long)task);
        tap_ok(info(task).state == CJ_TASK_BEGUN, "... has begun");
        cj_launch(on, add, cj_threads(N, 32), d, N, 1);
        tap_is_int(cj_coord_complete(c, task, CJ_OK), CJ_OK, "... and is completed");
        if (i == 0) tap_is_int(cj_coord_wait(c, task, 20000), CJ_OK, "... and waited for");
    }
    tap_is_int(cj_coord_next(c, &task, &on, 20000), CJ_ENOTFOUND, "then there is none");
    tap_ok(!task && !on, "and none is written");
    size_t n = 0;
    while (n < 3) {
        const size_t more = cj_coord_completions(c, r + n, 8 - n, 20000);
        if (!more) break;
        n += more;
    }
    tap_ok(n == 3 && r[0].task == second && r[0].state == CJ_TASK_DONE && r[2].task == third,
           "the three ends are reported in a batch, in their order: %d", (int)n);
    tap_is_uint(cj_coord_completions(c, r, 8, 0), 0, "once");
    tap_is_int(cj_coord_complete(c, third, CJ_OK), CJ_ESTATE, "a task cannot be completed again");
    tap_is_int(cj_coord_begin(c, third, NULL, NULL, 0), CJ_ESTATE, "nor begun");
    cj_coord_free(c);
}

/* -- Work of the host ---------------------------------------------------------------------------------------------- */

static uint32_t seen, host_row[N];
static cj_status run_read(void *user, cj_stream *on)
{
    (void)user, (void)on;
    seen = host_row[N - 1];
    return CJ_OK;
}
static cj_status run_download(void *user, cj_stream *on) { return cj_copy_to_host(on, user, d, N * 4); }

static void host_work(void)
{
    struct latch l = LATCH_CLOSED;
    c = cj_coord_create(dev, NULL);
    job j = { d, 5, &l, CJ_OK, 0 };
    cj_fill32(s, d, 0, N);
    cj_stream_sync(s);
    cj_coord_add(c, CJ_TASK(.run = run_add, .user = &j, .writes = CJ_RANGES(ROW(0))));
    const cj_range host = { { (uint64_t)(uintptr_t)host_row }, sizeof host_row };
    cj_coord_add(c, CJ_TASK(.kind = CJ_TASK_TRANSFER, .run = run_download, .user = host_row, .reads = CJ_RANGES(ROW(0)),
                            .writes = CJ_RANGES(host)));
    const cj_task read = cj_coord_add(c, CJ_TASK(.kind = CJ_TASK_SYNC, .run = run_read, .reads = CJ_RANGES(host)));
    tap_is_int(cj_coord_run(c, 1), CJ_ETIMEOUT, "host work behind a copy");
    tap_is_int(info(read).state, CJ_TASK_WAITING, "does not begin before the copy has completed");
    latch_open(&l);
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "but then");
    tap_is_uint(seen, 5, "and reads the result");
    cj_coord_free(c);
}

/* -- Failures ------------------------------------------------------------------------------------------------------ */

static int ends[CJ_TASK_CANCELLED + 1];
static void count_end(void *user, cj_task task, cj_task_state state)
{
    (void)user, (void)task;
    ends[state]++;
}

static void failures(void)
{
    cj_error e;
    c = cj_coord_create(dev, CJ_COORD(.completions = 1));
    memset(ends, 0, sizeof ends);
    job good = { row(3), 1, NULL, CJ_OK, 0 }, bad = { row(0), 1, NULL, CJ_ENOTFOUND, 0 }, after = good, beside = good;
    const cj_task a = cj_coord_add(
        c, CJ_TASK(.what = "scale", .run = run_add, .user = &bad, .done = count_end, .writes = CJ_RANGES(ROW(0))));
    const cj_task b = cj_coord_add(
        c, CJ_TASK(.what = "reduce", .run = run_add, .user = &after, .done = count_end, .reads = CJ_RANGES(ROW(0))));
    const cj_task last = cj_coord_add(
        c, CJ_TASK(.what = "store", .run = run_add, .user = &after, .done = count_end, .after = CJ_TASKS(b)));
    const cj_task over =
        cj_coord_add(c, CJ_TASK(.what = "overwrite", .run = run_clear, .user = &(job){ row(0), 7, NULL, CJ_OK, 0 },
                                .done = count_end, .writes = CJ_RANGES(ROW(0))));
    const cj_task d2 = cj_coord_add(c, CJ_TASK(.what = "beside", .run = run_add, .user = &beside, .done = count_end));
    tap_is_int(cj_coord_run(c, 20000), CJ_ENOTFOUND, "a function that fails");
    tap_has_str(cj_error_of(c)->message, "task 1 'scale'", "is named");
    tap_is_int(cj_coord_run(c, 0), CJ_OK, "its failure is returned once");
    tap_ok(ends[CJ_TASK_FAILED] == 1 && ends[CJ_TASK_POISONED] == 2 && ends[CJ_TASK_DONE] == 2, "each task ends once");
    tap_ok(info(a).state == CJ_TASK_FAILED && info(b).state == CJ_TASK_POISONED && info(last).state == CJ_TASK_POISONED,
           "those that need it are poisoned");
    tap_ok(info(d2).state == CJ_TASK_DONE && info(over).state == CJ_TASK_DONE,
           "others, and what overwrites it, are done");
    tap_ok(after.runs == 0 && beside.runs == 1, "poisoned tasks do not run");
    tap_ok(info(last).cause == a, "the cause is the first one");
    tap_is_int(cj_coord_get_error(c, last, &e), CJ_ENOTFOUND, "with its status");
    tap_has_str(e.message, "task 3 'store' does not run: task 1 'scale'", "and in words");
    tap_is_uint(first_of(row(0)), 7, "the memory was overwritten after the failed task");
    tap_is_int(cj_coord_wait(c, last, 0), CJ_ENOTFOUND, "waiting for a poisoned task returns the cause's status");
    const cj_task late = cj_coord_add(c, CJ_TASK(.run = run_add, .user = &after, .after = CJ_TASKS(b)));
    tap_is_int(cj_coord_wait(c, late, 20000), CJ_ENOTFOUND, "a task that is added behind is poisoned too");

    cj_task_record r[8];
    size_t n = cj_coord_completions(c, r, 8, 0);
    tap_ok(n == 6 && counts().poisoned == 3, "completions are reported for them, too: %d", (int)n);

    /* a launch that fails, whose status the function forgets */
    cj_dptr nowhere = { 0 };
    job wrong = { nowhere, 1, NULL, CJ_OK, 0 };
    const cj_task w = cj_coord_add(c, CJ_TASK(.what = "fill nothing", .run = run_clear, .user = &wrong));
    tap_ok(cj_coord_wait(c, w, 20000) != CJ_OK, "a call on the stream that fails");
    tap_is_int(info(w).state, CJ_TASK_FAILED, "fails the task");
    job fine = { row(3), 1, NULL, CJ_OK, 0 };
    const cj_task f = cj_coord_add(c, CJ_TASK(.run = run_add, .user = &fine));
    tap_is_int(cj_coord_wait(c, f, 20000), CJ_OK, "but not the next one on that stream");
    cj_coord_free(c);
}

static void cancelling(void)
{
    struct latch l = LATCH_CLOSED;
    cj_error e;
    c = cj_coord_create(dev, NULL);
    memset(ends, 0, sizeof ends);
    job first = { row(0), 1, &l, CJ_OK, 0 }, never = { row(1), 1, NULL, CJ_OK, 0 };
    const cj_task a = cj_coord_add(c, CJ_TASK(.run = run_add, .user = &first, .done = count_end));
    const cj_task b = cj_coord_add(c, CJ_TASK(.kind = CJ_TASK_SYNC, .what = "read", .run = run_add, .user = &never,
                                              .done = count_end, .after = CJ_TASKS(a)));
    const cj_task e2 =
        cj_coord_add(c, CJ_TASK(.run = run_add, .user = &never, .done = count_end, .after = CJ_TASKS(b)));
    cj_coord_poll(c);
    tap_is_int(cj_coord_cancel(c, a), CJ_ESTATE, "a task that has begun cannot be cancelled");
    tap_is_int(cj_coord_cancel(c, b), CJ_OK, "one that waits can");
    tap_is_int(cj_coord_cancel(c, b), CJ_ESTATE, "once");
    tap_is_int(cj_coord_depend(c, b, e2), CJ_ESTATE, "it takes no more dependencies");
    latch_open(&l);
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "a cancelled task is no failure");
    tap_ok(ends[CJ_TASK_DONE] == 1 && ends[CJ_TASK_CANCELLED] == 1 && ends[CJ_TASK_POISONED] == 1 && !never.runs,
           "all three have ended");
    tap_is_int(cj_coord_get_error(c, e2, &e), CJ_ESTATE, "what depends on it is poisoned");
    tap_has_str(e.message, "task 3 does not run: task 2 'read' was cancelled", "by it");
    cj_coord_free(c);
}

/* -- Groups and barriers ------------------------------------------------------------------------------------------- */

static void groups(void)
{
    struct latch l = LATCH_CLOSED;
    c = cj_coord_create(dev, NULL);
    job first = { row(0), 1, &l, CJ_OK, 0 }, member = { row(1), 1, NULL, CJ_OK, 0 },
        last = { row(2), 1, NULL, CJ_OK, 0 };
    cj_fill32(s, d, 0, 4 * N);
    cj_stream_sync(s);
    const cj_task a = cj_coord_add(c, CJ_TASK(.kind = CJ_TASK_SYNC, .run = run_add, .user = &first));
    const cj_task outer = cj_coord_add_group(c, CJ_TASK(.what = "outer", .after = CJ_TASKS(a)));
    const cj_task inner = cj_coord_add_group(c, CJ_TASK(.what = "inner", .group = outer));
    cj_task m[3];
    for (int i = 0; i < 3; i++)
        m[i] = cj_coord_add(c, CJ_TASK(.run = run_add, .user = &member, .group = inner, .writes = CJ_RANGES(ROW(1))));
    const cj_task z = cj_coord_add(c, CJ_TASK(.what = "last", .run = run_add, .user = &last, .after = CJ_TASKS(outer)));
    tap_ok(info(m[0]).group == inner && info(inner).group == outer && !info(outer).group, "tasks know their groups");
    tap_is_int(cj_coord_add(c, CJ_TASK(.group = a)), 0, "a task that is no group has no members");
    tap_is_int(cj_coord_depend(c, m[0], outer), CJ_ESTATE, "a member cannot wait for its group");
    tap_has_str(cj_error_of(c)->message, "a cycle", "as that is a cycle");
    tap_is_int(cj_coord_run(c, 1), CJ_ETIMEOUT, "the first task holds");
    tap_is_int(member.runs, 3, "the members, too, are enqueued behind it");
    latch_open(&l);
    tap_is_int(cj_coord_wait(c, m[2], 20000), CJ_OK, "all members end");
    tap_is_int(cj_coord_run(c, 1), CJ_ETIMEOUT, "the groups do not");
    tap_has_str(cj_error_last()->message, "is a group that is open", "before they are closed");
    tap_has_str(cj_coord_deadlocks(c), "'inner' is a group that is open", "which is listed");
    tap_is_int(last.runs, 0, "nor does what comes after them begin");
    tap_is_int(cj_coord_close_group(c, inner), CJ_OK, "one is closed");
    tap_is_int(cj_coord_add(c, CJ_TASK(.group = inner)), 0, "and takes no more members");
    tap_has_str(cj_error_of(c)->message, "is closed", "as the message has it");
    tap_is_int(cj_coord_close_group(c, outer), CJ_OK, "then the other");
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "and all ends: %s", cj_error_last()->message);
    tap_ok(info(z).state == CJ_TASK_DONE && first_of(row(1)) == 3, "the task behind the group has run after it");

    /* cancelling a group */
    struct latch hold = LATCH_CLOSED;
    job held = { row(0), 1, &hold, CJ_OK, 0 };
    const cj_task g = cj_coord_add_group(c, CJ_TASK(.what = "cancelled"));
    cj_coord_add(c, CJ_TASK(.run = run_add, .user = &held, .group = g));
    cj_coord_poll(c);
    const cj_task never = cj_coord_add(c, CJ_TASK(.kind = CJ_TASK_SYNC, .run = run_add, .user = &member, .group = g));
    const cj_task sub = cj_coord_add_group(c, CJ_TASK(.group = g));
    const cj_task deep = cj_coord_add(c, CJ_TASK(.run = run_add, .user = &member, .group = sub));
    tap_is_int(cj_coord_cancel(c, g), CJ_OK, "a group is cancelled with its members");
    latch_open(&hold);
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "those that run end");
    tap_ok(info(g).state == CJ_TASK_CANCELLED && info(deep).state == CJ_TASK_CANCELLED &&
               info(never).state == CJ_TASK_CANCELLED,
           "the others are cancelled");
    cj_coord_free(c);
}

static void barriers(void)
{
    struct latch l = LATCH_CLOSED;
    c = cj_coord_create(dev, NULL);
    job before[3], after = { row(3), 1, NULL, CJ_OK, 0 };
    for (int i = 0; i < 3; i++) {
        before[i] = (job){ row(i), 1, i == 1 ? &l : NULL, CJ_OK, 0 };
        cj_coord_add(c, CJ_TASK(.run = run_add, .user = &before[i]));
    }
    const cj_task b = cj_coord_add(c, CJ_TASK(.kind = CJ_TASK_BARRIER, .what = "all of them"));
    const cj_task z = cj_coord_add(c, CJ_TASK(.run = run_add, .user = &after));
    cj_coord_poll(c);
    tap_is_int(info(z).state, CJ_TASK_ENQUEUED, "what comes after a barrier is enqueued");
    tap_is_int(cj_coord_wait(c, z, 1), CJ_ETIMEOUT, "but waits for all before it");
    tap_is_int(info(b).state, CJ_TASK_ENQUEUED, "as the barrier does");
    latch_open(&l);
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "until they have ended");
    tap_is_uint(counts().edges, 4, "a barrier costs one dependency for each task");
    cj_coord_free(c);
}

/* -- Priorities, deadlines ----------------------------------------------------------------------------------------- */

static int ran[16], ran_count;
static cj_status run_note(void *user, cj_stream *on) { return (void)on, ran[ran_count++] = *(int *)user, CJ_OK; }

static void priorities(void)
{
    static int id[6] = { 0, 1, 2, 3, 4, 5 };
    static const int32_t priority[6] = { CJ_PRIORITY_LOW,  CJ_PRIORITY_CLEANUP,  CJ_PRIORITY_NORMAL,
                                         CJ_PRIORITY_HIGH, CJ_PRIORITY_CRITICAL, CJ_PRIORITY_LOW };
    static const int want[6] = { 4, 5, 3, 2, 0, 1 };
    cj_task task_[6];
    c = cj_coord_create(dev, NULL);
    ran_count = 0;
    for (int i = 0; i < 6; i++)
        task_[i] = cj_coord_add(c, CJ_TASK(.run = run_note, .user = &id[i], .priority = priority[i]));
    tap_is_int(cj_coord_set_priority(c, task_[5], CJ_PRIORITY_CRITICAL), CJ_OK, "a priority is raised later");
    tap_is_int(cj_coord_set_priority(c, task_[5], CJ_PRIORITY_RAW), CJ_EINVAL, "but not to a raw one");
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "tasks of all priorities run");
    tap_is_mem(ran, want, sizeof want, "the most urgent first");
    tap_is_int(cj_coord_set_priority(c, task_[0], CJ_PRIORITY_HIGH), CJ_ESTATE, "not after it has ended");

    /* what an urgent task needs is urgent */
    ran_count = 0;
    task_[0] = cj_coord_add(c, CJ_TASK(.run = run_note, .user = &id[0], .priority = CJ_PRIORITY_NORMAL));
    task_[1] = cj_coord_add(c, CJ_TASK(.run = run_note, .user = &id[1], .priority = CJ_PRIORITY_CLEANUP));
    task_[2] = cj_coord_add(
        c, CJ_TASK(.run = run_note, .user = &id[2], .priority = CJ_PRIORITY_CRITICAL, .after = CJ_TASKS(task_[1])));
    tap_ok(info(task_[1]).effective == CJ_PRIORITY_CRITICAL && info(task_[1]).priority == CJ_PRIORITY_CLEANUP,
           "a task is raised");
    tap_is_uint(counts().inversions, 1, "and counted");
    cj_coord_run(c, 20000);
    tap_ok(ran[0] == 1 && ran[1] == 2 && ran[2] == 0, "so that the urgent one need not wait for what is between");
    task_[0] = cj_coord_add(c, CJ_TASK(.run = run_note, .user = &id[0], .exact = 1, .kind = CJ_TASK_ALL_REDUCE));
    task_[1] = cj_coord_add(c, CJ_TASK(.run = run_note, .user = &id[1], .kind = CJ_TASK_ALL_REDUCE));
    tap_ok(info(task_[0]).priority == CJ_PRIORITY_NORMAL && info(task_[1]).priority == CJ_PRIORITY_CRITICAL,
           "a kind has its priority");
    cj_coord_run(c, 20000);
    cj_coord_free(c);
}

static void deadlines(void)
{
    struct latch l = LATCH_CLOSED;
    job j = { row(0), 1, &l, CJ_OK, 0 };
    static int id;
    c = cj_coord_create(dev, NULL);
    const cj_task late = cj_coord_add(c, CJ_TASK(.run = run_add, .user = &j, .deadline_ms = 1));
    const cj_task early = cj_coord_add(c, CJ_TASK(.run = run_note, .user = &id, .deadline_ms = 4000000));
    ran_count = 0;
    tap_is_int(cj_coord_run(c, 3), CJ_ETIMEOUT, "a task is held beyond its deadline");
    latch_open(&l);
    cj_coord_run(c, 20000);
    tap_ok(info(late).missed && info(late).state == CJ_TASK_DONE && !info(early).missed, "it is done, and late");
    tap_is_uint(counts().missed, 1, "which is counted");
    cj_coord_free(c);
}

/* -- A pool of the caller ---------------------------------------------------------------------------------------- */

static void caller_pool(void)
{
    job j[8];
    cj_stream_pool *pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 2, .strategy = CJ_POOL_DEPENDENCY));
    cj_stream_pool_stats stats = { .size = sizeof stats };
    c = cj_coord_create(dev, NULL);
    tap_is_int(cj_coord_use_pool(c, pool), CJ_OK, "a coordinator uses a pool of the caller's");
    cj_task before = 0;
    cj_fill32(s, d, 0, N);
    cj_stream_sync(s);
    for (int i = 0; i < 8; i++) {
        j[i] = (job){ row(0), 1, NULL, CJ_OK, 0 };
        before = cj_coord_add(c, CJ_TASK(.run = run_add, .user = &j[i], .after = { &before, i > 0 }));
    }
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "tasks run on its streams");
    tap_is_uint(first_of(row(0)), 8, "in their order");
    cj_stream_pool_get_stats(pool, &stats);
    tap_ok(stats.acquired == 8 && stats.leases == 0, "with a lease each, which has ended: %d", (int)stats.acquired);
    tap_is_uint(counts().waits, 0, "a chain stays on one stream");
    tap_is_int(cj_coord_use_pool(c, NULL), CJ_EHANDLE, "no pool");
    cj_error_clear(c);
    cj_coord_free(c);
    cj_stream_pool_free(pool);
}

/* -- Memory of ended tasks ----------------------------------------------------------------------------------------- */

static void history(void)
{
    static int id;
    cj_task_info k = { .size = sizeof k };
    c = cj_coord_create(dev, CJ_COORD(.history = 2));
    cj_task task_[4];
    for (int i = 0; i < 4; i++) {
        ran_count = 0;
        task_[i] = cj_coord_add(c, CJ_TASK(.run = run_note, .user = &id));
        cj_coord_run(c, 20000);
    }
    tap_is_int(cj_coord_get_task(c, task_[0], &k), CJ_EHANDLE, "an old task is forgotten");
    tap_has_str(cj_error_of(c)->message, "is forgotten; raise .history", "and the message says how to keep it");
    tap_is_int(cj_coord_get_task(c, task_[2], &k), CJ_OK, "the latest two are not");
    const cj_task after = cj_coord_add(c, CJ_TASK(.run = run_note, .user = &id, .after = CJ_TASKS(task_[0])));
    ran_count = 0;
    tap_ok(after && cj_coord_wait(c, after, 20000) == CJ_OK, "a dependency on a forgotten task is met");
    tap_is_int(cj_coord_forget(c), CJ_OK, "all that have ended are forgotten");
    tap_is_int(cj_coord_get_task(c, after, &k), CJ_EHANDLE, "all of them");
    tap_is_int(cj_coord_get_task(c, task_[0] + 77, &k), CJ_EHANDLE, "a handle that never was");
    tap_has_str(cj_error_of(c)->message, "is no task of this coordinator", "is something else");
    cj_error_clear(c);
    cj_coord_free(c);
}

int main(void)
{
    bench_open(4 * N * 4);
    cj_stream_use(t, d);
    diamond();
    held_by_each();
    implied();
    pull();
    host_work();
    failures();
    cancelling();
    groups();
    barriers();
    priorities();
    deadlines();
    caller_pool();
    history();
    return bench_close();
}
