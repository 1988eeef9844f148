/* Several threads use one coordinator: twenty thousand tasks with random dependencies, run with functions and in the
 * pull form, each once and in order; threads that wait for each other's tasks get an error and go on.
 * CUJIT_TEST_ALL=1: a million tasks. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_bench.h"

enum { TASKS = 20000, TASKS_SLOW = 1000, TASKS_ALL = 1000000, THREADS = 3, MS = 20000, MS_ALL = 600000 };
static cj_coord *c;
static int tasks;
static uint32_t ms = MS;

/* -- Many tasks ---------------------------------------------------------------------------------------------------- */

static atomic_int begun_count, wrong, ended_count;
static int *begun_at;   /* when a task's work was enqueued, by its index */
static int (*needs)[2]; /* indices, -1: none */
static cj_dptr words;   /* one for each task: those that do not need each other write at once */
static atomic_int ended_state[9];

static void note(int i)
{
    begun_at[i] = atomic_fetch_add(&begun_count, 1) + 1;
    for (int k = 0; k < 2; k++)
        if (needs[i][k] >= 0 && !begun_at[needs[i][k]]) atomic_fetch_add(&wrong, 1);
}

static cj_status run_note(void *user, cj_stream *on)
{
    note((int)(intptr_t)user);
    return cj_fill32(on, cj_offset(words, 4 * (int64_t)(intptr_t)user), (uint32_t)(intptr_t)user, 1);
}

static void end_note(void *user, cj_task task, cj_task_state state)
{
    (void)user, (void)task;
    atomic_fetch_add(&ended_count, 1);
    atomic_fetch_add(&ended_state[state], 1);
}

static void *runner(void *arg) { return (void)arg, (void *)(intptr_t)cj_coord_run(c, ms); }

/* The pull form: the task's index is what it was added with. */
static void *puller(void *arg)
{
    cj_task *added = arg, task_;
    cj_stream *on;
    cj_status st;
    while ((st = cj_coord_next(c, &task_, &on, ms)) == CJ_OK) {
        cj_task_info k = { .size = sizeof k };
        cj_coord_get_task(c, task_, &k);
        note((int)k.number - 1);
        if (added[k.number - 1] != task_) atomic_fetch_add(&wrong, 1);
        cj_coord_complete(c, task_, CJ_OK);
    }
    return (void *)(intptr_t)(st == CJ_ENOTFOUND ? CJ_OK : st);
}

static void many(void)
{
    pthread_t th[THREADS];
    void *result;
    uint32_t state = 12345;
    cj_task *added = calloc((size_t)tasks, sizeof *added);
    begun_at = calloc((size_t)tasks, sizeof *begun_at);
    needs = calloc((size_t)tasks, sizeof *needs);
    words = cj_alloc(s, 4 * (size_t)tasks);
    cj_stream_sync(s);
    c = cj_coord_create(dev, CJ_COORD(.history = 100000));
    for (int i = 0; i < tasks; i++) {
        cj_task after[2];
        size_t n = 0;
        for (int k = 0; k < 2; k++) {
            state ^= state << 13, state ^= state >> 17, state ^= state << 5;
            needs[i][k] = i ? i - 1 - (int)(state % (uint32_t)(i < 100 ? i : 100)) : -1;
            if (needs[i][k] >= 0) after[n++] = added[needs[i][k]];
        }
        added[i] =
            cj_coord_add(c, CJ_TASK(.run = i % 3 ? run_note : NULL, .user = (void *)(intptr_t)i, .done = end_note,
                                    .priority = i % 7 == 0 ? CJ_PRIORITY_HIGH : 0, .after = { after, n }));
        if (!added[i]) tap_bail("%s", cj_error_of(c)->message);
    }
    for (int i = 0; i < THREADS; i++) pthread_create(&th[i], NULL, i ? puller : runner, added);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(th[i], &result);
        tap_is_int((intptr_t)result, CJ_OK, "thread %d ends with all tasks done", i);
    }
    tap_is_int(begun_count, tasks, "each task has run once");
    tap_is_int(wrong, 0, "behind those that it needs");
    tap_ok(ended_count == tasks && ended_state[CJ_TASK_DONE] == tasks, "and each end was reported once");
    cj_coord_counts k = { .size = sizeof k };
    cj_coord_get_counts(c, &k);
    tap_diag("%d bytes a task", (int)(k.bytes / (uint64_t)tasks));
    tap_ok(k.done == (uint64_t)tasks && k.events <= (uint64_t)tasks && k.waits <= k.edges,
           "at most one event a task and one wait a dependency: %d events, %d waits, %d dependencies", (int)k.events,
           (int)k.waits, (int)k.edges);
    tap_is_int(cj_coord_run(c, 0), CJ_OK, "nothing is left");
    cj_coord_free(c);
    cj_free(dev, words);
    free(added), free(begun_at), free(needs);
}

/* -- Deadlocks ----------------------------------------------------------------------------------------------------- */

static void alone(void)
{
    cj_task task_;
    cj_stream *on;
    c = cj_coord_create(dev, NULL);
    const cj_task a = cj_coord_add(c, CJ_TASK(.what = "a"));
    const cj_task b = cj_coord_add(c, CJ_TASK(.what = "b", .after = CJ_TASKS(a)));
    const cj_task e = cj_coord_add(c, CJ_TASK(.what = "e", .after = CJ_TASKS(b)));
    tap_is_int(cj_coord_begin(c, e, NULL, NULL, 0), CJ_ETIMEOUT, "a task that nobody has begun the first of can wait");
    tap_has_str(cj_error_last()->message, "task 3 'e' waits for 2 'b'", "and the message says for what");
    tap_is_int(cj_coord_begin(c, a, NULL, NULL, 0), CJ_OK, "the first begins");
    tap_is_int(cj_coord_begin(c, e, NULL, NULL, 20000), CJ_ESTATE, "a thread cannot wait for what it has begun itself");
    tap_has_str(cj_error_of(c)->message,
                "task 3 'e' waits for 2 'b' waits for 1 'a', which this thread has begun and not "
                "completed: a deadlock",
                "which is spelled out");
    tap_is_int(cj_coord_run(c, 20000), CJ_ESTATE, "nor wait for all");
    tap_is_int(cj_coord_wait(c, b, 20000), CJ_ESTATE, "nor for another");
    tap_is_int(cj_coord_next(c, &task_, &on, 20000), CJ_ESTATE, "nor for the next one");
    tap_has_str(cj_coord_deadlocks(c), "1 'a' has begun and is not completed", "it is listed");
    cj_coord_counts k = { .size = sizeof k };
    cj_coord_get_counts(c, &k);
    tap_is_uint(k.deadlocks, 4, "and counted");
    cj_error_clear(c);
    tap_is_int(cj_coord_complete(c, a, CJ_OK), CJ_OK, "the first is completed");
    for (int i = 0; i < 2; i++) {
        tap_is_int(cj_coord_next(c, &task_, &on, 20000), CJ_OK, "then the others follow");
        cj_coord_complete(c, task_, CJ_OK);
    }
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "to the end");

    /* a task that another thread may complete holds nobody */
    const cj_task x = cj_coord_add(c, CJ_TASK(.any_thread = 1)), y = cj_coord_add(c, CJ_TASK(.after = CJ_TASKS(x)));
    cj_coord_begin(c, x, NULL, NULL, 0);
    tap_is_int(cj_coord_begin(c, y, NULL, NULL, 1), CJ_ETIMEOUT, "another thread could complete it");
    cj_coord_complete(c, x, CJ_OK);
    cj_coord_cancel(c, y);
    cj_coord_run(c, 20000);
    cj_coord_free(c);
}

static cj_task first[2], second[2];
static cj_status answer[2];

/* Thread i begins its first task, and then waits for one that needs the other's. */
static pthread_barrier_t both;
static void *crosswise(void *arg)
{
    const int i = (int)(intptr_t)arg;
    cj_coord_begin(c, first[i], NULL, NULL, 20000);
    pthread_barrier_wait(&both);
    answer[i] = cj_coord_begin(c, second[i], NULL, NULL, 20000);
    cj_coord_complete(c, first[i], CJ_OK); /* the one that got the error goes on first */
    if (answer[i] == CJ_OK) cj_coord_complete(c, second[i], CJ_OK);
    return NULL;
}

static void threads(void)
{
    pthread_t th[2];
    c = cj_coord_create(dev, NULL);
    for (int i = 0; i < 2; i++) first[i] = cj_coord_add(c, CJ_TASK(.what = i ? "first of 1" : "first of 0"));
    for (int i = 0; i < 2; i++)
        second[i] =
            cj_coord_add(c, CJ_TASK(.what = i ? "second of 1" : "second of 0", .after = CJ_TASKS(first[1 - i])));
    pthread_barrier_init(&both, NULL, 2);
    for (intptr_t i = 0; i < 2; i++) pthread_create(&th[i], NULL, crosswise, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(th[i], NULL);
    pthread_barrier_destroy(&both);
    tap_ok((answer[0] == CJ_ESTATE) + (answer[1] == CJ_ESTATE) >= 1,
           "of two threads that wait crosswise one gets an error");
    tap_has_str(cj_coord_deadlocks(c), ", which a thread has begun that waits for ", "that names both");
    cj_task task_;
    cj_stream *on;
    while (cj_coord_next(c, &task_, &on, 20000) == CJ_OK) cj_coord_complete(c, task_, CJ_OK);
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "and all ends");
    cj_coord_free(c);
}

/* -- Functions that use the coordinator ---------------------------------------------------------------------------- */

static int added_by;
static cj_status run_adds(void *user, cj_stream *on)
{
    (void)on;
    if (added_by++ < 5) cj_coord_add(c, CJ_TASK(.run = run_adds, .user = user));
    return CJ_OK;
}
static void done_adds(void *user, cj_task task, cj_task_state state)
{
    (void)task, (void)state;
    cj_coord_add(c, CJ_TASK(.run = run_adds, .user = user));
}

static void inside(void)
{
    c = cj_coord_create(dev, NULL);
    cj_coord_add(c, CJ_TASK(.run = run_adds, .done = done_adds));
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "functions add tasks");
    tap_is_int(added_by, 7, "which run in the same call");
    cj_coord_free(c);
}

int main(void)
{
    bench_open(0);
    if (getenv("CUJIT_TEST_ALL")) tap_timeout(MS_ALL / 1000), ms = MS_ALL;
    tasks = ms == MS_ALL ? TASKS_ALL : tap_is_slow() || tap_on_gpu() ? TASKS_SLOW : TASKS;
    many();
    alone();
    threads();
    inside();
    return bench_close();
}
