/* A driver call that fails once fails one task: the next one on that stream is judged by its own calls.  Without an
 * event behind its work a task has failed, whatever becomes of the coordinator's error. */
#include <string.h>

#include "tests/device_bench.h"

static const char *fails; /* the entry point whose next call fails; NULL: none */

static cj_coord *clears;  /* whose error is cleared at the next query of an event; NULL: none */

static int fail_once(void *user, uint64_t number, const char *name)
{
    (void)user, (void)number;
    if (clears && !strcmp(name, "cuEventQuery")) {
        cj_error_clear(clears);
        clears = NULL;
    }
    if (!fails || strcmp(name, fails)) return 0;
    fails = NULL;
    return 999; /* CUDA_ERROR_UNKNOWN */
}

static cj_status run_hold(void *user, cj_stream *on) { return bench_hold(on, user), CJ_OK; }
static cj_status run_nothing(void *user, cj_stream *on) { return (void)user, (void)on, CJ_OK; }

/* A call on the stream fails, and the function does not report it. */
static cj_status run_wrong(void *user, cj_stream *on)
{
    (void)user;
    cj_fill32(on, (cj_dptr){ 0 }, 1, 16);
    return CJ_OK;
}

static int state_of(cj_coord *c, cj_task task)
{
    cj_task_info k = { .size = sizeof k };
    return cj_coord_get_task(c, task, &k) == CJ_OK ? k.state : 0;
}

static const struct { const char *name, *entry; } cases[] = {
    { "a wait that the driver rejects", "cuStreamWaitEvent" },
    { "a record that the driver rejects", "cuEventRecord" },
};

static void once(size_t k)
{
    struct latch l[2] = { LATCH_CLOSED, LATCH_CLOSED };
    cj_task held[2], task, next;
    cj_coord *c = cj_coord_create(dev, CJ_COORD(.streams = 2));
    for (int i = 0; i < 2; i++) {
        held[i] = cj_coord_add(c, CJ_TASK(.run = run_hold, .user = &l[i]));
        cj_coord_poll(c);
    }
    /* on the stream of the second, behind both */
    task = cj_coord_add(c, CJ_TASK(.what = "hit", .run = run_nothing, .after = CJ_TASKS(held[0], held[1])));
    next = cj_coord_add(c, CJ_TASK(.what = "next", .run = run_wrong, .after = CJ_TASKS(held[1])));
    if (k == 1) cj_coord_add(c, CJ_TASK(.run = run_nothing, .after = CJ_TASKS(task)));
    fails = cases[k].entry;
    cj_coord_poll(c);
    tap_ok(!fails, "%s", cases[k].name);
    tap_ok(cj_coord_wait(c, task, 0) != CJ_OK || state_of(c, task) != CJ_TASK_DONE, "... fails its task");
    for (int i = 0; i < 2; i++) latch_open(&l[i]);
    cj_coord_run(c, 20000);
    tap_is_int(state_of(c, task), CJ_TASK_FAILED, "... and no other: %s", cj_error_of(c)->message);
    tap_ok(state_of(c, held[0]) == CJ_TASK_DONE && state_of(c, held[1]) == CJ_TASK_DONE,
           "... the tasks before it are done");
    tap_is_int(state_of(c, next), CJ_TASK_FAILED, "... the next one on that stream fails by its own call");
    cj_coord_run(c, 20000);
    cj_error_clear(c);
    const cj_task fine = cj_coord_add(c, CJ_TASK(.run = run_nothing));
    tap_is_int(cj_coord_wait(c, fine, 20000), CJ_OK, "... and then all is well");
    cj_coord_free(c);
}

/* The event behind the last work of a stream is recorded in the round that looks for what has ended. */
static void lost(void)
{
    struct latch l = LATCH_CLOSED;
    cj_coord *c = cj_coord_create(dev, CJ_COORD(.streams = 2));
    const cj_task first = cj_coord_add(c, CJ_TASK(.run = run_nothing));
    fails = "cuEventRecord";
    cj_coord_poll(c);
    tap_is_int(state_of(c, first), CJ_TASK_FAILED, "a stream loses its work");
    tap_ok(cj_coord_run(c, 20000) != CJ_OK, "... which is reported");
    cj_error_clear(c);
    for (int i = 0; i < 2; i++) {
        const cj_task again = cj_coord_add(c, CJ_TASK(.run = run_nothing));
        tap_is_int(cj_coord_wait(c, again, 20000), CJ_OK, "... but not its later work");
    }

    /* the first stream, whose event is queried, is before the one that loses its work */
    cj_coord_add(c, CJ_TASK(.run = run_hold, .user = &l));
    cj_coord_poll(c);
    const cj_task task = cj_coord_add(c, CJ_TASK(.run = run_nothing));
    fails = "cuEventRecord", clears = c;
    cj_coord_poll(c);
    tap_ok(!fails && !clears, "a stream loses its work, and the coordinator's error is cleared meanwhile");
    tap_is_int(state_of(c, task), CJ_TASK_FAILED, "... its task has failed all the same");
    tap_is_int(cj_coord_get_error(c, task, NULL), CJ_EDRIVER, "... with the driver");
    latch_open(&l);
    cj_coord_run(c, 20000);
    cj_error_clear(c);
    cj_coord_free(c);
}

int main(void)
{
    bench_open_over(CJ_INTERPOSER(.before = fail_once), 4096);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) once(k);
    lost();
    return bench_close();
}
