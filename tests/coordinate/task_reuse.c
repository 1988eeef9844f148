/* What is used again is not taken for what it was: the slot of a task that is forgotten while a thread waits to begin
 * it, and the entry of a stream that has left events behind. */
#include <stdlib.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

enum { ENTRIES = 1024, MS = 20000 };
static cj_driver *drv;
static cj_device *dev[2];
static cj_coord *c;

/* Without memory new blocks are refused. */
static bool without_memory;
static void *refusing(void *user, void *p, size_t old, size_t size)
{
    (void)user, (void)old;
    if (size) return without_memory && !p ? NULL : realloc(p, size);
    free(p);
    return NULL;
}

static int state_of(cj_task task)
{
    cj_task_info k = { .size = sizeof k };
    return cj_coord_get_task(c, task, &k) == CJ_OK ? k.state : 0;
}

/* -- The slot of a forgotten task ---------------------------------------------------------------------------------- */

static cj_task held, next;
static cj_status run_fails(void *user, cj_stream *on) { return (void)user, (void)on, CJ_ENOTFOUND; }

/* The task behind the failed one has ended before this is called.  Nothing lets the next one begin. */
static void forget_and_add(void *user, cj_task task, cj_task_state state)
{
    (void)user, (void)task, (void)state;
    cj_coord_forget(c);
    next = cj_coord_add(c, CJ_TASK(.what = "next", .after = CJ_TASKS(held)));
}

static void forgotten_while_awaited(void)
{
    c = cj_coord_create(dev[0], NULL);
    held = cj_coord_add(c, CJ_TASK(.what = "held"));
    const cj_task first = cj_coord_add(c, CJ_TASK(.what = "first", .run = run_fails, .done = forget_and_add));
    const cj_task behind = cj_coord_add(c, CJ_TASK(.what = "behind", .after = CJ_TASKS(first)));
    tap_is_int(cj_coord_begin(c, behind, NULL, NULL, 2000), CJ_EHANDLE, "a task is forgotten while it is waited for");
    tap_has_str(cj_error_of(c)->message, "the task has ended and is forgotten", "as the message says");
    tap_is_uint((uint32_t)next, (uint32_t)behind, "its slot is that of another task");
    tap_is_int(state_of(next), CJ_TASK_WAITING, "which waits for its own");
    tap_is_int(cj_coord_begin(c, held, NULL, NULL, MS), CJ_OK, "that begins");
    tap_is_int(cj_coord_complete(c, held, CJ_OK), CJ_OK, "and is completed");
    tap_is_int(cj_coord_begin(c, next, NULL, NULL, MS), CJ_OK, "and then the other one begins");
    tap_is_int(cj_coord_complete(c, next, CJ_OK), CJ_OK, "and is completed");
    tap_is_int(cj_coord_run(c, MS), CJ_ENOTFOUND, "all end, and the failure is reported");
    cj_coord_free(c);
}

/* -- The entry of a stream ----------------------------------------------------------------------------------------- */

static cj_task enqueue(cj_stream *on, cj_device *of, cj_task *add)
{
    const cj_task task = *add ? *add : cj_coord_add(c, CJ_TASK(.device = of));
    if (cj_coord_begin(c, task, on, NULL, MS) != CJ_OK || cj_coord_complete(c, task, CJ_OK) != CJ_OK)
        tap_bail("%s", cj_error_of(c)->message);
    return *add = task;
}

/* Four tasks end on a stream, and leave the event of the third behind: there is no memory for one behind the fourth,
 * so the stream is asked, and has completed all of them. */
static void leave_an_event(cj_stream *on, cj_stream *other)
{
    cj_task task[4] = { 0 };
    for (int i = 0; i < 4; i++) task[i] = cj_coord_add(c, CJ_TASK(.device = dev[0]));
    cj_task last = cj_coord_add(c, CJ_TASK(.after = CJ_TASKS(task[0], task[1], task[2])));
    for (int i = 0; i < 4; i++) enqueue(on, dev[0], &task[i]);
    cj_stream_sync(on);
    without_memory = true;
    cj_coord_poll(c);
    without_memory = false;
    tap_is_int(state_of(task[3]), CJ_TASK_DONE, "without memory for an event the stream says what is complete");
    cj_error_clear(c);
    enqueue(other, dev[0], &last);
    cj_coord_run(c, MS);
}

static void entry_of_another_device(void)
{
    static cj_stream *s[ENTRIES];
    cj_task task = 0, more[2] = { 0 };
    c = cj_coord_create(dev[0], NULL);
    for (int i = 0; i < ENTRIES; i++) {
        s[i] = cj_stream_create(dev[0], NULL);
        task = 0, enqueue(s[i], dev[0], &task);
        if (cj_coord_run(c, MS) != CJ_OK) tap_bail("%s", cj_error_of(c)->message);
    }
    leave_an_event(s[ENTRIES - 1], s[0]);
    /* all entries are taken: this stream has that of the last one */
    cj_stream *const far = cj_stream_create(dev[1], NULL);
    task = 0, enqueue(far, dev[1], &task);
    tap_is_int(cj_coord_run(c, MS), CJ_OK, "a stream of another device has its entry: %s", cj_error_of(c)->message);
    /* two events at once: all that there are for this device */
    for (int i = 0; i < 2; i++) more[i] = cj_coord_add(c, CJ_TASK(.device = dev[1]));
    cj_task last = cj_coord_add(c, CJ_TASK(.device = dev[1], .after = CJ_TASKS(more[0], more[1])));
    for (int i = 0; i < 2; i++)
        tap_ok(cj_coord_begin(c, more[i], far, NULL, MS) == CJ_OK && cj_coord_complete(c, more[i], CJ_OK) == CJ_OK,
               "and records events of its own device: %s", cj_error_of(c)->message);
    if (!cj_error_of(c)->status) enqueue(far, dev[1], &last);
    cj_coord_run(c, MS);
    tap_is_int(state_of(last), CJ_TASK_DONE, "so that its tasks succeed");
    cj_coord_free(c);
    for (int i = 0; i < ENTRIES; i++) cj_stream_free(s[i]);
    cj_stream_free(far);
}

int main(void)
{
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    const cj_status set = cj_set_allocator(refusing, NULL); /* before the first object */
    tap_need_device(2);
    tap_plan(0);
    tap_is_int(set, CJ_OK, "memory can be refused");
    drv = cj_driver_open(NULL);
    for (int k = 0; k < 2; k++) dev[k] = cj_device_open(drv, k, NULL);
    forgotten_while_awaited();
    entry_of_another_device();
    for (int k = 0; k < 2; k++) cj_device_close(dev[k]);
    cj_driver_close(drv);
    return tap_done();
}
