/* Tasks of one coordinator, added, run, pulled, completed, cancelled and raised by all threads.  Each task that adds to
 * a row of memory says so by its ranges only: if two of them ran at once, the row would miss an addition. */
#include <string.h>

#include "tests/stress/stress.h"

enum { ROWS = 16, WORDS = 64, RECENT = 64 };
static cj_coord *coord;
static cj_stream *home;
static cj_dptr rows;
static _Atomic cj_task recent[RECENT];
static atomic_uint recent_at;
static atomic_uint additions[ROWS];

/* What a task does: adds to a row, fails, or nothing. */
typedef enum work { NOTHING, ADDS, FAILS } work;

static cj_dptr row_at(uint32_t row) { return cj_offset(rows, (int64_t)row * WORDS * 4); }

static cj_status run_row(cj_stream *s, uint32_t row)
{
    const cj_status st = cj_launch(s, stress.add, cj_threads(WORDS, 64), row_at(row), WORDS, 1);
    if (st == CJ_OK) atomic_fetch_add(&additions[row], 1);
    return st;
}

static cj_status run_nothing(void *user, cj_stream *s) { return (void)user, (void)s, CJ_OK; }
static cj_status run_fails(void *user, cj_stream *s) { return (void)user, (void)s, CJ_ENOTFOUND; }
#define ROW(n) \
    static cj_status run_row##n(void *user, cj_stream *s) { return (void)user, run_row(s, n); }
ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7) ROW(8) ROW(9) ROW(10) ROW(11) ROW(12) ROW(13) ROW(14) ROW(15)
static cj_status (*const run_rows[ROWS])(void *, cj_stream *) = {
    run_row0, run_row1, run_row2,  run_row3,  run_row4,  run_row5,  run_row6,  run_row7,
    run_row8, run_row9, run_row10, run_row11, run_row12, run_row13, run_row14, run_row15,
};

static void task_ended(void *user, cj_task task, cj_task_state state)
{
    if (!task || state < CJ_TASK_DONE) stress_failed("a task", "it was reported before its end");
    stress_close(user);
}

static void tasks_begin(void)
{
    coord = cj_coord_create(stress.dev, CJ_COORD(.streams = 4, .in_flight = 256, .history = 1024));
    home = cj_stream_create(stress.dev, NULL);
    rows = cj_alloc(home, ROWS * WORDS * 4);
    stress_did(cj_fill32(home, rows, 0, ROWS * WORDS), "memory of tasks");
    stress_did(cj_stream_sync(home), "memory of tasks");
    stress_did(cj_error_of(coord)->status, "a coordinator is made");
}

static cj_task any_recent(stress_thread *t) { return atomic_load(&recent[stress_random(t, RECENT)]); }

static void add_some(stress_thread *t)
{
    static const int32_t priority[] = { CJ_PRIORITY_CRITICAL, CJ_PRIORITY_HIGH, CJ_PRIORITY_NORMAL, CJ_PRIORITY_LOW,
                                        CJ_PRIORITY_CLEANUP };
    stress_entry *e = stress_open();
    if (!e) return;
    const uint32_t r = stress_random(t, 100), row = stress_random(t, ROWS);
    const work w = r < 60 ? ADDS : r < 62 ? FAILS : NOTHING;
    const cj_range range = { row_at(row), WORDS * 4 };
    const cj_task after = any_recent(t);
    cj_task_opts o;
    cj_task_defaults(&o);
    o.kind = r % 10 == 9 && w == NOTHING ? CJ_TASK_SYNC : CJ_TASK_KERNEL;
    o.priority = priority[stress_random(t, 5)];
    o.run = w == ADDS ? run_rows[row] : w == FAILS ? run_fails : r < 70 ? NULL : run_nothing;
    o.done = task_ended;
    o.user = e;
    o.writes = (cj_ranges){ &range, w == ADDS }; /* order only: a failure elsewhere does not keep it from adding */
    o.after = (cj_tasks){ &after, after && w != ADDS && r % 3 == 0 };
    const cj_task task = cj_coord_add(coord, &o);
    if (task) {
        atomic_store(&recent[atomic_fetch_add(&recent_at, 1) % RECENT], task);
        return;
    }
    stress_revoke(e);
    stress_failed("a task is added", cj_error_of(coord)->message);
}

static void pull_some(void)
{
    cj_task task;
    cj_stream *s;
    if (cj_coord_next(coord, &task, &s, 0) == CJ_OK) stress_did(cj_coord_complete(coord, task, CJ_OK), "a pulled task");
}

static void tasks_step(stress_thread *t)
{
    switch (stress_random(t, 8)) {
    case 0: case 1: case 2: add_some(t); break;
    case 3: pull_some(); break;
    case 4: cj_coord_set_priority(coord, any_recent(t), CJ_PRIORITY_HIGH); break; /* it may have begun */
    case 5:
        if (stress_random(t, 10) == 0) cj_coord_cancel(coord, any_recent(t));
        break;
    default: cj_coord_poll(coord); break;
    }
}

static void tasks_end(void)
{
    static uint32_t host[ROWS][WORDS];
    cj_task task;
    cj_stream *s;
    cj_status st;
    while ((st = cj_coord_next(coord, &task, &s, 20000)) == CJ_OK)
        stress_did(cj_coord_complete(coord, task, CJ_OK), "a task at the end");
    if (st != CJ_ENOTFOUND) stress_failed("tasks at the end", cj_error_of(coord)->message);
    st = cj_coord_run(coord, 20000);
    if (st != CJ_OK && st != CJ_ENOTFOUND) stress_failed("the coordinator at the end", cj_error_of(coord)->message);
    cj_coord_free(coord);
    cj_copy_to_host(home, host, rows, sizeof host);
    stress_did(cj_stream_sync(home), "memory of tasks");
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < WORDS; i++)
            if (host[r][i] != atomic_load(&additions[r])) {
                stress_failed("a row", "an addition is missing: tasks of the same memory ran at once");
                break;
            }
    cj_free(stress.dev, rows);
    cj_stream_free(home);
}

const stress_part stress_tasks = { "tasks", tasks_begin, tasks_step, tasks_end };
