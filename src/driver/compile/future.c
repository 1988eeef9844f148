/* cj_future: a request and what became of it. */
#include <cujit/compiler.h>

#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/lock.h"
#include "driver/compile/compile.h"

/* -- Waiting until a time ------------------------------------------------------------------------------------------ */

void cji_compile_deadline(struct timespec *until, int64_t timeout_ms)
{
    const int64_t longest = INT64_C(86400000) * 365;
    clock_gettime(CLOCK_MONOTONIC, until);
    if (timeout_ms <= 0) return;
    if (timeout_ms > longest) timeout_ms = longest;
    until->tv_sec += (time_t)(timeout_ms / 1000);
    until->tv_nsec += (timeout_ms % 1000) * 1000000;
    if (until->tv_nsec >= 1000000000) until->tv_sec++, until->tv_nsec -= 1000000000;
}

bool cji_compile_sleep(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until, int64_t timeout_ms)
{
    if (timeout_ms < 0) return pthread_cond_wait(cond, lock) == 0;
    return timeout_ms && pthread_cond_timedwait(cond, lock, until) != ETIMEDOUT;
}

/* -- Making and freeing -------------------------------------------------------------------------------------------- */

cj_future *cji_future_new(cj_compiler *c, const char *call, cj_status *status)
{
    pthread_condattr_t attr;
    cj_future *f = cji_obj_new(sizeof *f, CJI_TAG_FUTURE, 0, call);
    *status = CJ_ENOMEM;
    if (cji_obj_failed(f)) return f;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->ended, &attr);
    pthread_condattr_destroy(&attr);
    f->fd = -1;
    *status = cji_check_arg(f, c, CJI_TAG_COMPILER, call, "the compiler");
    if (*status == CJ_OK) f->c = cji_obj_retain(c);
    return f;
}

void cji_request_free(cji_request *q)
{
    if (q->m) cj_ptx_free(q->m);
    cji_strfree(q->text);
    cji_strfree(q->name);
    for (size_t i = 0; i < q->n; i++) cji_link_input_release(q->input[i]);
    cji_free(q->input, q->n * sizeof *q->input);
    if (q->staged) cji_kernel_drop(q->staged);
    *q = (cji_request){ .run = NULL };
}

static void future_free_result(cji_tag makes, void *result)
{
    switch (makes) {
    case CJI_TAG_IMAGE: cj_image_free(result); break;
    case CJI_TAG_MODULE: cj_module_free(result); break;
    default: cj_kernel_free(result); break;
    }
}

void cji_future_drop(cj_future *f)
{
    CJI_NO_CANCEL;
    if (!cji_obj_release(f)) return;
    if (f->result) future_free_result(f->q.makes, f->result);
    cji_request_free(&f->q);
    if (f->fd >= 0) close(f->fd);
    pthread_cond_destroy(&f->ended);
    if (f->c) cji_compiler_drop(f->c);
    cji_obj_delete(f, sizeof *f);
}

void cj_future_free(cj_future *f)
{
    if (cji_check_free(f, CJI_TAG_FUTURE, "cj_future_free")) cji_future_drop(f);
}

/* -- Its end ------------------------------------------------------------------------------------------------------- */

static void future_signal(int fd)
{
    const uint64_t one = 1;
    ssize_t did;
    do did = write(fd, &one, sizeof one);
    while (did < 0 && errno == EINTR);
}

void cji_future_end(cj_future *f, void *result, cji_future_state state, cj_future_fn *fn, void **user)
{
    CJI_NO_CANCEL;
    cj_compiler *c = f->c;
    f->result = result;
    f->state = state;
    f->next = NULL;
    c->done++;
    c->cancelled += state == CJI_FUTURE_CANCELLED;
    if (f->fd >= 0) future_signal(f->fd);
    *fn = f->fn;
    *user = f->user;
    pthread_cond_broadcast(&f->ended);
    if (!c->waiting && !c->running) pthread_cond_broadcast(&c->idle);
}

/* -- Asking -------------------------------------------------------------------------------------------------------- */

/* Whether it is done, at the latest after that time.  A callback that waits does the request itself: its thread, which
 * may be the only one, is not there for it. */
static bool future_ended(cj_future *f, int64_t timeout_ms)
{
    CJI_NO_CANCEL;
    struct timespec until;
    bool late = false;
    cji_compile_deadline(&until, timeout_ms);
    cji_lock(&f->c->lock, CJI_LOCK_COMPILER);
    if (timeout_ms && f->state == CJI_FUTURE_WAITING && cji_compiler_is_own_thread(f->c)) cji_compiler_run(f->c, f);
    while (!late && f->state < CJI_FUTURE_DONE) late = !cji_compile_sleep(&f->ended, &f->c->lock, &until, timeout_ms);
    bool ended = f->state >= CJI_FUTURE_DONE;
    cji_unlock(&f->c->lock, CJI_LOCK_COMPILER);
    return ended;
}

/* How a future that is done has ended; recorded in `into`. */
static cj_status future_outcome(cj_future *f, void *into, const char *call)
{
    if (!f->result) return cji_fail(into, CJ_ECANCELLED, call, "the request was cancelled");
    return cji_obj_failed(f->result) ? cji_fail_from(into, f->result, call) : CJ_OK;
}

cj_status cj_future_wait(cj_future *f, int64_t timeout_ms)
{
    cj_status status = cji_check(f, CJI_TAG_FUTURE, __func__);
    if (status != CJ_OK) return status;
    if (!future_ended(f, timeout_ms))
        return cji_fail(NULL, CJ_ETIMEOUT, __func__, "the request is not done after %lld ms", (long long)timeout_ms);
    return future_outcome(f, f, __func__);
}

cj_status cj_future_query(cj_future *f)
{
    cj_status status = cji_check(f, CJI_TAG_FUTURE, __func__);
    if (status != CJ_OK) return status;
    return future_ended(f, 0) ? future_outcome(f, f, __func__) : CJ_ENOTREADY;
}

cj_status cj_future_cancel(cj_future *f)
{
    cj_future_fn fn = NULL;
    void *user = NULL;
    cj_status status = cji_check(f, CJI_TAG_FUTURE, __func__);
    if (status != CJ_OK) return status;
    cj_compiler *c = f->c;
    cji_lock(&c->lock, CJI_LOCK_COMPILER);
    bool waits = f->state == CJI_FUTURE_WAITING, running = f->state == CJI_FUTURE_RUNNING;
    for (cj_future **at = &c->first; waits && *at; at = &(*at)->next) {
        if (*at != f) continue;
        *at = f->next;
        if (c->last == &f->next) c->last = at;
        c->waiting--;
        cji_future_end(f, NULL, CJI_FUTURE_CANCELLED, &fn, &user);
        pthread_cond_signal(&c->room);
        break;
    }
    cji_unlock(&c->lock, CJI_LOCK_COMPILER);
    if (!waits)
        return cji_fail(f, CJ_EBUSY, __func__, running ? "the request is being compiled" : "the request is done");
    if (fn) fn(user, f);
    cji_future_drop(f);   /* the queue's reference; the caller has another one */
    return CJ_OK;
}

cj_status cj_future_callback(cj_future *f, cj_future_fn fn, void *user)
{
    cj_status status = cji_check(f, CJI_TAG_FUTURE, __func__);
    if (status != CJ_OK) return status;
    if (!fn) return cji_fail(f, CJ_EINVAL, __func__, "the function is NULL");
    cji_lock(&f->c->lock, CJI_LOCK_COMPILER);
    bool taken = f->fn != NULL, ended = f->state >= CJI_FUTURE_DONE;
    if (!taken) f->fn = fn, f->user = user;
    cji_unlock(&f->c->lock, CJI_LOCK_COMPILER);
    if (taken) return cji_fail(f, CJ_EBUSY, __func__, "the future has a callback");
    if (ended) fn(user, f);
    return CJ_OK;
}

int cj_future_fd(cj_future *f)
{
    CJI_NO_CANCEL;
    if (cji_check(f, CJI_TAG_FUTURE, __func__) != CJ_OK) return -1;
    cji_lock(&f->c->lock, CJI_LOCK_COMPILER);
    if (f->fd < 0) {
        f->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (f->fd >= 0 && f->state >= CJI_FUTURE_DONE) future_signal(f->fd);
    }
    int fd = f->fd;
    cji_unlock(&f->c->lock, CJI_LOCK_COMPILER);
    if (fd < 0) cji_fail(f, CJ_ENOMEM, __func__, "no eventfd can be made: the process has too many open files");
    return fd;
}

/* -- Its result ---------------------------------------------------------------------------------------------------- */

/* The result, retained; else a failed object of that kind, of `bytes` bytes. */
static void *future_result(cj_future *f, cji_tag tag, size_t bytes, const char *call)
{
    cj_status status = cji_check(f, CJI_TAG_FUTURE, call);
    if (status == CJ_OK && f->q.makes == tag && future_ended(f, -1) && f->result) return cji_obj_retain(f->result);
    void *failed = cji_obj_new(bytes, tag, 0, call);
    if (cji_obj_failed(failed)) return failed;
    if (status != CJ_OK) cji_check_arg(failed, f, CJI_TAG_FUTURE, call, "the future");
    else if (f->q.makes != tag)
        cji_fail(failed, CJ_EHANDLE, call, "the request is for a %s, not for a %s", cji_tag_name(f->q.makes),
                 cji_tag_name(tag));
    else future_outcome(f, failed, call);
    cji_obj_set_failed(failed);
    return failed;
}

cj_image *cj_future_image(cj_future *f) { return future_result(f, CJI_TAG_IMAGE, sizeof(cj_image), __func__); }
cj_module *cj_future_module(cj_future *f) { return future_result(f, CJI_TAG_MODULE, sizeof(cj_module), __func__); }

cj_kernel *cj_future_kernel(cj_future *f)
{
    cj_kernel *k = future_result(f, CJI_TAG_KERNEL, sizeof *k, __func__);
    return k;
}
