/* Error records come from a reserve: none is lost, nothing is allocated, and when it is empty a failure still has
 * status, call and text. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/obj.h"
#include "base/process.h"
#include "tests/tap.h"

enum { MANY = 3 * CJI_RECORDS, THREADS = 8, ROUNDS = 300 };
static atomic_size_t allocations;

static void *counting(void *user, void *p, size_t old, size_t size)
{
    (void)user, (void)old;
    if (size) allocations++;
    if (size) return realloc(p, size);
    free(p);
    return NULL;
}

static cji_obj *make(unsigned flags) { return cji_obj_new(sizeof(cji_obj), CJI_TAG_DEVICE, flags, "thing_create"); }

static void drop(cji_obj *o)
{
    if (cji_obj_release(o)) cji_obj_delete(o, sizeof *o);
}

/* How many records can be taken now. */
static size_t left(void)
{
    cji_record *taken[CJI_RECORDS];
    size_t n = 0;
    while (n < CJI_RECORDS && (taken[n] = cji_record_take())) n++;
    for (size_t i = 0; i < n; i++) cji_record_drop(taken[i]);
    return n;
}

static void emptied(void)
{
    static cji_obj *o[MANY];
    size_t begin = left(), whole = 0, bare = 0, wrong = 0, before;
    for (size_t i = 0; i < MANY; i++) o[i] = make(0);
    before = allocations;
    for (size_t i = 0; i < MANY; i++) {
        cj_error e;
        cji_fail(o[i], CJ_EINVAL, "cj_thing_do", "number %zu", i);
        char text[64];
        snprintf(text, sizeof text, "cj_thing_do: number %zu", i);
        wrong +=
            cj_error_copy(o[i], &e) != CJ_EINVAL || e.status != CJ_EINVAL || strcmp(e.call, "cj_thing_do") || e.line;
        wrong += strcmp(cj_error_of(o[i])->message, e.message) != 0 || strcmp(cj_error_last()->message, e.message) != 0;
        if (!strcmp(e.message, text)) whole++;
        else if (!strcmp(e.message, "cj_thing_do: an argument is out of range")) bare++;
    }
    tap_is_int((int)(allocations - before), 0, "failures allocate nothing");
    tap_is_int((int)wrong, 0, "each has its status and its call, from object and thread alike");
    tap_is_int((int)(whole + bare), MANY, "each has its text or that of its status");
    tap_ok(whole >= CJI_RECORDS - 16 && whole <= CJI_RECORDS, "%zu of %d have their text", whole, MANY);
    tap_is_int((int)left(), 0, "the reserve is empty");
    cji_fail_from(o[0], o[MANY - 1], "cj_other");
    tap_is_str(cj_error_of(o[0])->message, "cj_thing_do: an argument is out of range",
               "a failure without a record is passed on");
    cji_fail_with(o[1], cj_error_of(o[MANY - 2]));
    tap_is_int(cji_err_status(o[1]), CJ_EINVAL, "and when it is passed on as what was given out");
    for (size_t i = 0; i < MANY; i++) drop(o[i]);
    cji_fail(NULL, CJ_EBUSY, "cj_x", "afterwards");
    tap_is_str(cj_error_last()->message, "cj_x: afterwards", "there are records again");
    for (int i = 0; i < CJI_THREAD_COPIES; i++) cj_error_of(NULL);
    tap_ok(left() + 8 >= begin, "%zu of %zu came back", left(), begin);
}

static void shared(void)
{
    cji_obj *a = make(0), *b = make(0), *first = make(CJI_OBJ_KEEPS_FIRST);
    size_t begin = left();
    cji_fail(a, CJ_ENOMEM, "cj_a", "the cause");
    cji_fail_from(b, a, "cj_b");
    cji_fail_also(first);
    tap_is_int((int)(begin - left()), 1, "a failure that is passed on is one record");
    drop(a);
    tap_is_str(cj_error_of(b)->message, "cj_a: the cause", "which lives as long as one who keeps it");
    cji_fail(first, CJ_EBUSY, "cj_c", "the second");
    tap_is_str(cj_error_of(first)->message, "cj_a: the cause", "an object that keeps its first keeps it");
    cj_error e;
    cji_err_take(first, &e);
    tap_is_str(e.message, "cj_a: the cause", "it is taken");
    tap_is_str(cj_error_of(first)->message, "cj_a: the cause", "and readable still");
    cji_fail(first, CJ_EBUSY, "cj_c", "the third");
    tap_is_str(cj_error_of(first)->message, "cj_c: the third", "until the next failure");
    cji_err_take(first, &e);
    cji_err_take(first, &e);
    tap_is_int(e.status, CJ_OK, "taken once only");
    cj_error own = { .status = CJ_EDRIVER,
                     .driver_code = 700,
                     .driver_name = "CUDA_ERROR_ILLEGAL_ADDRESS",
                     .call = "cj_d",
                     .message = "by hand" };
    cji_fail_with(b, &own);
    own.message[0] = 0;
    tap_ok(cj_error_of(b)->driver_code == 700 && !strcmp(cj_error_of(b)->message, "by hand"),
           "a record that was filled by hand is copied");
    tap_is_int(cj_error_copy(b, NULL), CJ_EDRIVER, "the status alone");
    drop(b);
    drop(first);
}

static cji_obj *common;

static void *fail_much(void *arg)
{
    int id = *(int *)arg;
    size_t *wrong = calloc(1, sizeof *wrong);
    for (int i = 0; i < ROUNDS; i++) {
        cj_error e;
        cji_obj *o = make(0);
        cji_fail(o, CJ_EINVAL, "cj_t", "thread %d", id);
        cji_fail_also(common);
        cj_error_copy(common, &e);
        *wrong += strncmp(e.message, "cj_t: thread ", 13) != 0 || e.status != CJ_EINVAL;
        *wrong += cj_error_of(o)->message[13] != '0' + id || cj_error_last()->message[13] != '0' + id;
        drop(o);
    }
    return wrong;
}

static void by_threads(void)
{
    pthread_t thread[THREADS];
    int id[THREADS];
    size_t begin = left(), wrong = 0;
    for (int round = 0; round < 8; round++) { /* 64 threads in all, each of which keeps records until it ends */
        common = make(0);
        for (int i = 0; i < THREADS; i++) {
            id[i] = i;
            if (pthread_create(&thread[i], NULL, fail_much, &id[i])) tap_bail("no thread");
        }
        for (int i = 0; i < THREADS; i++) {
            void *result;
            pthread_join(thread[i], &result);
            wrong += *(size_t *)result;
            free(result);
        }
        drop(common);
    }
    tap_is_int((int)wrong, 0, "no thread sees another's text where it should not, and none is torn");
    tap_is_int((int)left(), (int)begin, "threads that ended keep no record");
}

int main(void)
{
    tap_plan(0);
    cj_set_allocator(counting, NULL);
    tap_ok(sizeof(cji_obj) <= 96, "an object's header has %zu bytes", sizeof(cji_obj));
    tap_ok(sizeof(cji_thread_state) <= 1024, "a thread keeps %zu bytes", sizeof(cji_thread_state));
    shared();
    emptied();
    by_threads();
    return tap_done();
}
