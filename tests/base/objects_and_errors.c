/* Objects answer for themselves: wrong handles, failed objects, first failures, references, records. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/obj.h"
#include "tests/tap.h"

typedef struct thing { cji_obj obj; int x; } thing;

static thing *make(cji_tag tag, unsigned flags) { return cji_obj_new(sizeof(thing), tag, flags, "thing_create"); }

static void drop(thing *t)
{
    if (cji_obj_release(t)) cji_obj_delete(t, sizeof *t);
}

static const struct { cj_status status; const char *name;
} statuses[] = {
    { CJ_OK, "CJ_OK" },
    { CJ_ENOMEM, "CJ_ENOMEM" },
    { CJ_EINVAL, "CJ_EINVAL" },
    { CJ_EHANDLE, "CJ_EHANDLE" },
    { CJ_ESTATE, "CJ_ESTATE" },
    { CJ_EPTX, "CJ_EPTX" },
    { CJ_EUNKNOWN, "CJ_EUNKNOWN" },
    { CJ_ENOTSUP, "CJ_ENOTSUP" },
    { CJ_EDRIVER, "CJ_EDRIVER" },
    { CJ_EJIT, "CJ_EJIT" },
    { CJ_EBUSY, "CJ_EBUSY" },
    { CJ_ENODRIVER, "CJ_ENODRIVER" },
    { CJ_EFORKED, "CJ_EFORKED" },
    { CJ_ETIMEOUT, "CJ_ETIMEOUT" },
    { CJ_ECANCELLED, "CJ_ECANCELLED" },
    { CJ_ENODEVICE, "CJ_ENODEVICE" },
    { CJ_ENOTFOUND, "CJ_ENOTFOUND" },
    { CJ_ENOTREADY, "CJ_ENOTREADY" },
    { (cj_status)-99, "CJ_?" },
};

static void statuses_have_names(void)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        tap_is_str(cj_status_name(statuses[i].status), statuses[i].name, "name of status %d", (int)statuses[i].status);
        tap_ok(strlen(cj_status_text(statuses[i].status)) > 5, "text of status %d", (int)statuses[i].status);
    }
}

static void wrong_handles_are_recognised(void)
{
    thing *s = make(CJI_TAG_STREAM, 0);
    char foreign[512] = "not an object";
    tap_is_int(cji_check(NULL, CJI_TAG_STREAM, "cj_x"), CJ_EHANDLE, "NULL is no stream");
    tap_is_str(cj_error_last()->message, "cj_x: the handle is NULL, wants a cj_stream",
               "and the thread's record says so");
    tap_is_int(cji_check(s, CJI_TAG_EVENT, "cj_x"), CJ_EHANDLE, "a stream is no event");
    tap_is_str(cj_error_last()->message, "cj_x: the handle is a cj_stream, wants a cj_event",
               "and both types are named");
    tap_is_int(cji_check(foreign, CJI_TAG_EVENT, "cj_x"), CJ_EHANDLE, "other memory is no event");
    tap_is_int(cji_check(s, CJI_TAG_STREAM, "cj_x"), CJ_OK, "a stream is a stream");
    tap_is_int(cji_err_status(s), CJ_OK, "a wrong call leaves the innocent object alone");
    tap_is_int(cj_error_of(NULL)->status, CJ_EHANDLE, "the error of NULL is a record too");
    tap_is_int(cj_error_of(foreign)->status, CJ_EHANDLE, "and that of other memory");
    tap_ok(!cji_check_free(NULL, CJI_TAG_STREAM, "cj_stream_free"), "NULL is not released");
    tap_ok(!cji_check_free(s, CJI_TAG_EVENT, "cj_event_free"), "a stream is not released as an event");
    tap_ok(cji_check_free(s, CJI_TAG_STREAM, "cj_stream_free"), "but as a stream");
    drop(s);
}

static void failures_are_kept(void)
{
    thing *last = make(CJI_TAG_DEVICE, 0), *first = make(CJI_TAG_STREAM, CJI_OBJ_KEEPS_FIRST),
          *final = make(CJI_TAG_PTX, CJI_OBJ_STICKY);
    thing *all[] = { last, first, final };
    for (int i = 0; i < 3; i++) {
        tap_is_int(cji_fail(all[i], CJ_EINVAL, "a", "one %d", i), CJ_EINVAL, "a failure returns its status");
        cji_fail(all[i], CJ_ESTATE, "b", "two");
    }
    tap_is_str(cj_error_of(last)->message, "b: two", "an object keeps its latest failure");
    tap_is_str(cj_error_of(first)->message, "a: one 1", "one that keeps its first keeps the first");
    tap_is_str(cj_error_of(final)->call, "a", "with the call");
    tap_is_int(cj_error_clear(first), CJ_OK, "a stream may go on");
    tap_is_int(cj_error_of(first)->status, CJ_OK, "with a clean record");
    tap_is_int(cj_error_clear(final), CJ_ESTATE, "a builder may not");
    tap_is_int(cj_error_clear(NULL), CJ_EHANDLE, "NULL has no record to clear");
    thing *child = make(CJI_TAG_FN, 0);
    child->obj.err_in = &final->obj;
    tap_is_str(cj_error_of(child)->message, "a: one 2", "a function shows its module's failure");
    tap_is_int(cji_fail_from(last, first, "c"), CJ_OK, "passing on no failure is none");
    tap_is_int(cji_fail_from(last, final, "c"), CJ_EINVAL, "passing on gives the cause's status");
    tap_is_str(cj_error_of(last)->message, "a: one 2", "and its sentence");
    char longer[2000];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = 0;
    cji_fail(last, CJ_EINVAL, longer, "%s", longer);
    tap_is_int((int)strlen(cj_error_of(last)->message), (int)sizeof cj_error_of(last)->message - 1,
               "a sentence that is too long is cut");
    drop(child);
    for (int i = 0; i < 3; i++) drop(all[i]);
}

static void failed_objects_pass_their_cause_on(void)
{
    thing *dev = make(CJI_TAG_DEVICE, 0), *s = make(CJI_TAG_STREAM, CJI_OBJ_KEEPS_FIRST);
    cji_fail(dev, CJ_ENODEVICE, "cj_device_open", "no device 7");
    cji_obj_set_failed(dev);
    tap_is_int(cji_check(dev, CJI_TAG_DEVICE, "cj_stream_create"), CJ_ENODEVICE,
               "a call with a failed object fails with its status");
    tap_is_int(cji_check_arg(s, dev, CJI_TAG_DEVICE, "cj_x", "the device"), CJ_ENODEVICE, "as a later argument too");
    tap_is_str(cj_error_of(s)->message, "cj_device_open: no device 7", "and the first argument keeps the cause");
    tap_is_int(cji_check_arg(s, NULL, CJI_TAG_KERNEL, "cj_launch", "the kernel"), CJ_EHANDLE, "a missing argument");
    tap_is_str(cj_error_last()->message, "cj_launch: the kernel is NULL, wants a cj_kernel", "is named");
    tap_ok(cji_check_free(dev, CJI_TAG_DEVICE, "cj_device_close"), "a failed object is released like any other");
    drop(dev);
    drop(s);
}

static void references_are_counted(void)
{
    thing *t = make(CJI_TAG_IMAGE, 0);
    cji_obj_retain(t);
    tap_ok(!cji_obj_release(t), "the first of two releases keeps it");
    tap_ok(cji_obj_release(t), "the second gives it to the caller");
    cji_obj_delete(t, sizeof *t);
}

static void copies_stay_apart(void)
{
    thing *t[4];
    for (int i = 0; i < 4; i++) {
        t[i] = make(CJI_TAG_GRAPH, 0);
        cji_fail(t[i], CJ_EINVAL, "x", "number %d", i);
    }
    const cj_error *a = cj_error_of(t[0]), *b = cj_error_of(t[1]), *c = cj_error_of(t[2]), *d = cj_error_of(t[3]);
    tap_ok(!strcmp(a->message, "x: number 0") && !strcmp(b->message, "x: number 1") &&
               !strcmp(c->message, "x: number 2") && !strcmp(d->message, "x: number 3"),
           "four records can be looked at together");
    for (int i = 0; i < 4; i++) drop(t[i]);
}

static void *other_thread(void *arg)
{
    bool *ok = arg;
    *ok = cj_error_last()->status == CJ_OK;
    cji_fail(NULL, CJ_EBUSY, "y", "elsewhere");
    return NULL;
}

static void threads_have_their_own_latest_record(void)
{
    pthread_t th;
    bool fresh = false;
    cji_fail(NULL, CJ_EINVAL, "x", "here");
    pthread_create(&th, NULL, other_thread, &fresh);
    pthread_join(th, NULL);
    tap_ok(fresh, "a new thread has none");
    tap_is_str(cj_error_last()->message, "x: here", "and does not touch ours");
}

static void children_of_fork_are_told(void)
{
    thing *stream = make(CJI_TAG_STREAM, 0), *ptx = make(CJI_TAG_PTX, 0);
    int answer[2], bad = 255; /* through a pipe: Valgrind changes a child's exit status */
    if (pipe(answer)) tap_bail("no pipe");
    pid_t pid = fork();
    if (pid == 0) {
        bad = 0;
        if (cji_check(stream, CJI_TAG_STREAM, "x") != CJ_EFORKED) bad |= 1;
        if (cji_check_free(stream, CJI_TAG_STREAM, "x")) bad |= 2;
        if (cji_check(ptx, CJI_TAG_PTX, "x") != CJ_OK) bad |= 4;
        thing *fresh = make(CJI_TAG_STREAM, 0);
        if (cji_check(fresh, CJI_TAG_STREAM, "x") != CJ_OK) bad |= 8;
        pid_t grandchild = fork();
        if (grandchild == 0) {
            if (cji_check(fresh, CJI_TAG_STREAM, "x") != CJ_EFORKED) bad |= 16;
            _exit(write(answer[1], &bad, sizeof bad) < 0);
        }
        waitpid(grandchild, NULL, 0);
        drop(fresh);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    if (read(answer[0], &bad, sizeof bad) != sizeof bad) bad = 255;
    close(answer[0]);
    close(answer[1]);
    tap_ok(!(bad & 1), "a stream answers CJ_EFORKED in the child");
    tap_ok(!(bad & 2), "and is not released there");
    tap_ok(!(bad & 4), "a builder goes on");
    tap_ok(!(bad & 8), "the child makes streams of its own");
    tap_ok(!(bad & 16), "which its own child may not use");
    tap_is_int(cji_check(stream, CJI_TAG_STREAM, "x"), CJ_OK, "the parent goes on");
    drop(stream);
    drop(ptx);
}

int main(void)
{
    tap_plan(0);
    statuses_have_names();
    wrong_handles_are_recognised();
    failures_are_kept();
    failed_objects_pass_their_cause_on();
    references_are_counted();
    copies_stay_apart();
    threads_have_their_own_latest_record();
    children_of_fork_are_told();
    return tap_done();
}
