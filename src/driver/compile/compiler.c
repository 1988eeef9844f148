/* cj_compiler: threads that take requests from a queue. */
#include <cujit/compiler.h>

#include <signal.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/lock.h"
#include "base/opts.h"
#include "driver/compile/compile.h"

enum { QUEUE_DEFAULT = 1024, THREADS_DEFAULT = 16, STACK_DEFAULT = 16 << 20, STACK_LEAST = 64 << 10 };

void cj_compiler_defaults(cj_compiler_opts *opts)
{
    if (opts) *opts = (cj_compiler_opts){ .size = sizeof *opts };
}

void cj_compiler_progress_defaults(cj_compiler_progress *progress)
{
    if (progress) *progress = (cj_compiler_progress){ .size = sizeof *progress };
}

/* -- Making -------------------------------------------------------------------------------------------------------- */

static int compiler_processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > THREADS_DEFAULT ? THREADS_DEFAULT : (int)n;
}

static cj_status compiler_options(cj_compiler *c, const cj_compiler_opts *opts, const char *call)
{
    cj_compiler_opts *o = &c->opts;
    cj_compiler_defaults(o);
    if (!cji_opts_take(o, sizeof *o, opts, c, call, "cj_compiler")) return CJ_EINVAL;
    if (o->threads < 0 || o->threads > CJI_COMPILER_THREADS)
        return cji_fail(c, CJ_EINVAL, call, "%d threads; a compiler has 1 to %d", o->threads, CJI_COMPILER_THREADS);
    if (o->full != CJ_COMPILER_WAIT && o->full != CJ_COMPILER_BUSY)
        return cji_fail(c, CJ_EINVAL, call, "full is %d; it is CJ_COMPILER_WAIT or CJ_COMPILER_BUSY", o->full);
    if (o->stack && o->stack < STACK_LEAST)
        return cji_fail(c, CJ_EINVAL, call, "a stack of %zu bytes; a thread has at least %d", o->stack, STACK_LEAST);
    if (!o->threads) o->threads = compiler_processors();
    if (!o->queue) o->queue = QUEUE_DEFAULT;
    if (!o->stack) o->stack = STACK_DEFAULT;
    return CJ_OK;
}

cj_compiler *cj_compiler_create(cj_device *dev, const cj_compiler_opts *opts)
{
    static const char call[] = "cj_compiler_create";
    pthread_condattr_t attr;
    cj_compiler *c = cji_obj_new(sizeof *c, CJI_TAG_COMPILER, 0, call);
    if (cji_obj_failed(c)) return c;
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->work, &attr);
    pthread_cond_init(&c->room, &attr);
    pthread_cond_init(&c->idle, &attr);
    pthread_condattr_destroy(&attr);
    c->last = &c->first;
    cj_status status = cji_check_arg(c, dev, CJI_TAG_DEVICE, call, "the device");
    if (status == CJ_OK) c->dev = cji_obj_retain(dev);
    if (status == CJ_OK) status = compiler_options(c, opts, call);
    if (status != CJ_OK) cji_obj_set_failed(c);
    return c;
}

void cji_compiler_drop(cj_compiler *c)
{
    if (!cji_obj_release(c)) return;
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->work);
    pthread_cond_destroy(&c->room);
    pthread_cond_destroy(&c->idle);
    if (c->dev) cji_device_drop(c->dev);
    cji_obj_delete(c, sizeof *c);
}

/* -- The threads --------------------------------------------------------------------------------------------------- */

/* With the lock held: takes `f` out of the queue. */
static void compiler_take(cj_compiler *c, cj_future *f)
{
    cj_future **at = &c->first;
    while (*at != f) at = &(*at)->next;
    *at = f->next;
    if (c->last == &f->next) c->last = at;
    f->next = NULL;
    f->state = CJI_FUTURE_RUNNING;
    c->waiting--;
    c->running++;
    pthread_cond_signal(&c->room);
}

/* Without the lock: makes the result, and calls who wants to know. */
static void compiler_work(cj_compiler *c, cj_future *f)
{
    cj_future_fn fn;
    void *user, *result = f->q.run(&f->q, c->dev);
    cji_lock(&c->lock, CJI_LOCK_COMPILER);
    c->failed += cji_obj_failed(result);
    cji_future_end(f, result, CJI_FUTURE_DONE, &fn, &user);
    const uint64_t done = c->done, requests = c->requests;
    cji_unlock(&c->lock, CJI_LOCK_COMPILER);
    if (fn) fn(user, f);
    if (c->opts.progress) c->opts.progress(c->opts.user, done, requests);
    cji_future_drop(f);
}

void cji_compiler_run(cj_compiler *c, cj_future *f)
{
    compiler_take(c, f);
    cji_unlock(&c->lock, CJI_LOCK_COMPILER);
    compiler_work(c, f);
    cji_lock(&c->lock, CJI_LOCK_COMPILER);
    if (!--c->running && !c->waiting) pthread_cond_broadcast(&c->idle);
}

static void *compiler_thread(void *arg)
{
    CJI_NO_CANCEL;
    cj_compiler *c = arg;
    cji_lock(&c->lock, CJI_LOCK_COMPILER);
    for (;;) {
        c->resting++;
        while (!c->first && !c->closing) pthread_cond_wait(&c->work, &c->lock);
        c->resting--;
        if (!c->first) break;
        cji_compiler_run(c, c->first);
    }
    cji_unlock(&c->lock, CJI_LOCK_COMPILER);
    cji_compiler_drop(c);
    return NULL;
}

/* With the lock held.  The program's signals are for its own threads. */
static bool compiler_start(cj_compiler *c)
{
    pthread_attr_t attr;
    sigset_t all, before;
    if (pthread_attr_init(&attr)) return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    cji_obj_retain(c);
    bool started = !pthread_attr_setstacksize(&attr, (c->opts.stack + 4095) / 4096 * 4096) &&
                   !pthread_create(&c->thread[c->threads], &attr, compiler_thread, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    c->threads += started;
    if (!started) cji_obj_release(c);   /* the caller has a reference */
    return started;
}

bool cji_compiler_is_own_thread(const cj_compiler *c)
{
    const pthread_t self = pthread_self();
    for (unsigned i = 0; i < c->threads; i++)
        if (pthread_equal(c->thread[i], self)) return true;
    return false;
}

/* -- Requests ------------------------------------------------------------------------------------------------------ */

/* With the lock held: waits for room in the queue. */
static cj_status compiler_room(cj_compiler *c, cj_future *f, const char *call)
{
    while (!c->closing && c->waiting >= c->opts.queue) {
        if (c->opts.full == CJ_COMPILER_BUSY || cji_compiler_is_own_thread(c))
            return cji_fail(f, CJ_EBUSY, call,
                            "the compiler's queue is full: %zu requests wait; wait for some of them, or make it with a "
                            "larger .queue", c->opts.queue);
        pthread_cond_wait(&c->room, &c->lock);
    }
    return c->closing ? cji_fail(f, CJ_ESTATE, call, "the compiler is being freed") : CJ_OK;
}

cj_status cji_compiler_submit(cj_compiler *c, cj_future *f, const char *call)
{
    CJI_NO_CANCEL;
    cji_lock(&c->lock, CJI_LOCK_COMPILER);
    cj_status status = compiler_room(c, f, call);
    if (status == CJ_OK && c->waiting >= c->resting && c->threads < (unsigned)c->opts.threads && !compiler_start(c) &&
        !c->threads)
        status = cji_fail(f, CJ_ENOMEM, call, "no thread can be started with a stack of %zu bytes", c->opts.stack);
    if (status == CJ_OK) {
        if (!c->waiting && !c->running) c->requests = c->done = c->failed = c->cancelled = 0;
        c->requests++;
        c->waiting++;
        *c->last = cji_obj_retain(f);
        c->last = &f->next;
        pthread_cond_signal(&c->work);
    }
    cji_unlock(&c->lock, CJI_LOCK_COMPILER);
    return status;
}

/* -- A batch ------------------------------------------------------------------------------------------------------- */

cj_status cj_compiler_get_progress(cj_compiler *c, cj_compiler_progress *progress)
{
    cj_status status = cji_check(c, CJI_TAG_COMPILER, __func__);
    if (status != CJ_OK) return status;
    if (!progress || progress->size < sizeof progress->size)
        return cji_fail(c, CJ_EINVAL, __func__, "progress is NULL, or progress->size is not set");
    cji_lock(&c->lock, CJI_LOCK_COMPILER);
    const cj_compiler_progress now = { .size = progress->size,
                                       .requests = c->requests,
                                       .done = c->done,
                                       .failed = c->failed,
                                       .cancelled = c->cancelled,
                                       .waiting = c->waiting,
                                       .running = c->running };
    cji_unlock(&c->lock, CJI_LOCK_COMPILER);
    memcpy(progress, &now, now.size < sizeof now ? now.size : sizeof now);
    return CJ_OK;
}

cj_status cj_compiler_wait(cj_compiler *c, int64_t timeout_ms)
{
    CJI_NO_CANCEL;
    cj_status status = cji_check(c, CJI_TAG_COMPILER, __func__);
    struct timespec until;
    if (status != CJ_OK) return status;
    cji_compile_deadline(&until, timeout_ms);
    cji_lock(&c->lock, CJI_LOCK_COMPILER);
    bool own = cji_compiler_is_own_thread(c), late = false;
    while (!own && !late && (c->waiting || c->running))
        late = !cji_compile_sleep(&c->idle, &c->lock, &until, timeout_ms);
    late = !own && (c->waiting || c->running);
    uint64_t waiting = c->waiting, running = c->running;
    cji_unlock(&c->lock, CJI_LOCK_COMPILER);
    if (own) return cji_fail(c, CJ_ESTATE, __func__, "a callback of the compiler cannot wait for the compiler");
    if (!late) return CJ_OK;
    return cji_fail(c, CJ_ETIMEOUT, __func__, "after %lld ms %llu requests wait and %llu are being compiled",
                    (long long)timeout_ms, (unsigned long long)waiting, (unsigned long long)running);
}

/* -- Freeing ------------------------------------------------------------------------------------------------------- */

/* Cancels one request of the queue; false: there is none. */
static bool compiler_cancel_first(cj_compiler *c)
{
    cj_future_fn fn = NULL;
    void *user = NULL;
    cji_lock(&c->lock, CJI_LOCK_COMPILER);
    cj_future *f = c->first;
    if (f) {
        c->first = f->next;
        if (!c->first) c->last = &c->first;
        c->waiting--;
        cji_future_end(f, NULL, CJI_FUTURE_CANCELLED, &fn, &user);
    }
    cji_unlock(&c->lock, CJI_LOCK_COMPILER);
    if (fn) fn(user, f);
    if (f) cji_future_drop(f);
    return f != NULL;
}

void cj_compiler_free(cj_compiler *c)
{
    CJI_NO_CANCEL;
    if (!cji_check_free(c, CJI_TAG_COMPILER, "cj_compiler_free")) return;
    if (cji_obj_failed(c)) {
        cji_compiler_drop(c);
        return;
    }
    cji_lock(&c->lock, CJI_LOCK_COMPILER);
    c->closing = true;
    bool own = cji_compiler_is_own_thread(c);
    unsigned threads = c->threads;   /* no more are started */
    pthread_cond_broadcast(&c->room);
    cji_unlock(&c->lock, CJI_LOCK_COMPILER);
    while (compiler_cancel_first(c)) { }
    cji_lock(&c->lock, CJI_LOCK_COMPILER);
    pthread_cond_broadcast(&c->work);
    pthread_cond_broadcast(&c->idle);
    cji_unlock(&c->lock, CJI_LOCK_COMPILER);
    for (unsigned i = 0; i < threads; i++) {
        if (own) pthread_detach(c->thread[i]);
        else pthread_join(c->thread[i], NULL);
    }
    cji_compiler_drop(c);
}
