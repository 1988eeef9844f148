/* A thread that waits for a task, and in a function that this wait calls for another one, waits for the first again
 * when the second wait is over, whoever else has stopped waiting meanwhile: others that it holds up get the deadlock.
 */
#include <pthread.h>

#include "tests/device_bench.h"

enum { MS = 20000 };
static cj_coord *c;
static cj_task outer, inner, early, mine;
static struct latch early_holds = LATCH_CLOSED, inner_waits = LATCH_CLOSED, outer_holds = LATCH_CLOSED;

static cj_status run_latch(void *user, cj_stream *on) { return (void)on, latch_wait(user), CJ_OK; }
static cj_status run_open(void *user, cj_stream *on) { return (void)on, latch_open(user), CJ_OK; }

/* The wait inside calls the function that opens the latch: nobody else runs tasks then. */
static cj_status run_inside(void *user, cj_stream *on)
{
    (void)user, (void)on;
    cj_coord_add(c, CJ_TASK(.run = run_open, .user = &inner_waits));
    const cj_status st = cj_coord_wait(c, inner, MS);
    latch_wait(&outer_holds);
    return st;
}

static void *wait_early(void *arg) { return (void)arg, (void *)(intptr_t)cj_coord_wait(c, early, MS); }

static void *wait_twice(void *arg)
{
    (void)arg;
    cj_coord_begin(c, mine, NULL, NULL, MS);
    const cj_status st = cj_coord_wait(c, outer, MS);
    cj_coord_complete(c, mine, CJ_OK);
    return (void *)(intptr_t)st;
}

static void begin(cj_task task) { tap_is_int(cj_coord_begin(c, task, NULL, NULL, MS), CJ_OK, "a task begins"); }
static void complete(cj_task task) { tap_is_int(cj_coord_complete(c, task, CJ_OK), CJ_OK, "and is completed"); }

int main(void)
{
    pthread_t early_thread, twice;
    void *result;
    bench_open(4096);
    c = cj_coord_create(dev, NULL);
    early = cj_coord_add(c, CJ_TASK(.what = "early"));
    outer = cj_coord_add(c, CJ_TASK(.what = "outer"));
    inner = cj_coord_add(c, CJ_TASK(.what = "inner"));
    mine = cj_coord_add(c, CJ_TASK(.what = "mine"));
    const cj_task behind = cj_coord_add(c, CJ_TASK(.what = "behind", .after = CJ_TASKS(mine)));
    begin(early), begin(outer), begin(inner);

    /* one thread waits, is held in a function; another waits, and waits again in a function */
    cj_coord_add(c, CJ_TASK(.run = run_latch, .user = &early_holds));
    pthread_create(&early_thread, NULL, wait_early, NULL);
    latch_entered(&early_holds);
    cj_coord_add(c, CJ_TASK(.what = "inside", .run = run_inside));
    pthread_create(&twice, NULL, wait_twice, NULL);
    latch_wait(&inner_waits);

    /* the first one leaves, then the second leaves its inner wait */
    complete(early);
    latch_open(&early_holds);
    pthread_join(early_thread, &result);
    tap_is_int((intptr_t)result, CJ_OK, "the first thread has waited");
    complete(inner);
    latch_entered(&outer_holds);

    tap_is_int(cj_coord_wait(c, behind, 2000), CJ_ESTATE, "the second one still waits for what this thread has begun");
    tap_has_str(cj_error_of(c)->message,
                "task 5 'behind' waits for 4 'mine', which a thread has begun that waits for 2 'outer', which this "
                "thread has begun and not completed: a deadlock",
                "which is spelled out");
    cj_error_clear(c);
    complete(outer);
    latch_open(&outer_holds);
    pthread_join(twice, &result);
    tap_is_int((intptr_t)result, CJ_OK, "then that wait is over, too");
    begin(behind), complete(behind);
    tap_is_int(cj_coord_run(c, MS), CJ_OK, "and all ends");
    cj_coord_free(c);
    return bench_close();
}
