/* Waiters: made, shut down, freed.
 *
 * Who frees: cj_waiter_free waits until no callback is left, ends the threads and joins them.  A callback cannot wait
 * for itself: there the threads are detached, and the last one deletes the waiter.  With CJ_WAITER_CALLER that is the
 * cj_waiter_run that called the callback. */
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/cancel.h"
#include "base/handover.h"
#include "stream/coordinate/stream_coordinate.h"

enum { WAITER_POOL = 4, WAITER_SPIN_US = 200, WAITER_STACK = 8 << 20 };

/* -- Making -------------------------------------------------------------------------------------------------------- */

void cj_waiter_defaults(cj_waiter_opts *opts)
{
    if (opts)
        *opts = (cj_waiter_opts){
            .size = sizeof *opts, .callbacks = CJ_WAITER_THREAD, .threads = WAITER_POOL, .spin_us = WAITER_SPIN_US
        };
}

static void waiter_delete(cj_waiter *w)
{
    cj_device *dev = w->dev;
    if (w->fd >= 0) close(w->fd);
    cji_wait_table_free(w);
    pthread_cond_destroy(&w->watch);
    pthread_cond_destroy(&w->work);
    pthread_cond_destroy(&w->readers);
    pthread_mutex_destroy(&w->lock);
    if (w->pool) cji_event_pool_drop(w->pool);
    cji_obj_delete(w, sizeof *w);
    cji_device_drop(dev);
}

/* A thread of the library: no capture is harmed by it, and sleeps are as short as they are said to be. */
static void waiter_enter(const cj_waiter *w)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    w->cu->cuThreadExchangeStreamCaptureMode(&mode);
    w->cu->cuCtxSetCurrent(w->dev->ctx);
#ifdef __linux__
    prctl(PR_SET_TIMERSLACK, 1);
#endif
}

void cji_waiter_leave(cj_waiter *w)
{
    const bool ends = w->orphan && !w->alive && !w->inside;
    if (ends) {
        for (cj_wait_record record; cji_wait_take_record(w, &record);) {}
        cji_wait_reclaim(w);
    } else if (w->closed) {
        pthread_cond_broadcast(&w->readers);
    }
    cji_unlock(&w->lock, CJI_LOCK_WAITER);
    if (ends) waiter_delete(w);
}

/* A thread of the waiter ends; with the lock held, which is released. */
static void waiter_thread_ends(cj_waiter *w)
{
    if (w->orphan) pthread_detach(pthread_self());
    w->alive--;
    cji_waiter_leave(w);
}

static void *waiter_watches(void *user)
{
    CJI_NO_CANCEL;
    cj_waiter *w = user;
    waiter_enter(w);
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    cji_wait_watch(w);
    waiter_thread_ends(w);
    return NULL;
}

static void *waiter_works(void *user)
{
    CJI_NO_CANCEL;
    cj_waiter *w = user;
    waiter_enter(w);
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    for (;;) {
        if (cji_wait_call_one(w)) continue;
        if (w->stop) break;
        pthread_cond_wait(&w->work, &w->lock);
    }
    waiter_thread_ends(w);
    return NULL;
}

static bool waiter_start(cj_waiter *w, void *(*run)(void *user))
{
    pthread_attr_t attr;
    sigset_t all, before;
    if (pthread_attr_init(&attr)) return false;
    pthread_attr_setstacksize(&attr, WAITER_STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the thread handles none of the program's signals */
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    const bool made = pthread_create(&w->thread[w->threads], &attr, run, w) == 0;
    if (made) w->threads++, w->alive++;
    cji_unlock(&w->lock, CJI_LOCK_WAITER);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return made;
}

/* Ends the threads, which have nothing left to do. */
static void waiter_join(cj_waiter *w)
{
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    w->stop = true;
    cji_wait_wake(w, 0);
    pthread_cond_broadcast(&w->work);
    cji_unlock(&w->lock, CJI_LOCK_WAITER);
    for (unsigned i = 0; i < w->threads; i++) pthread_join(w->thread[i], NULL);
}

static unsigned waiter_cores(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return (unsigned)CPU_COUNT(&set);
#endif
    const int64_t online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

/* The device's pool.  Without one the waits for streams make their events themselves. */
static cj_event_pool *waiter_pool(cj_device *dev)
{
    cji_kept latest;
    cji_fail_save(&latest);
    cj_event_pool *pool = cj_event_pool_for_device(dev);
    if (cji_obj_failed(pool)) cj_event_pool_free(pool), pool = NULL;
    cji_fail_restore(&latest);
    return pool;
}

static void waiter_init(cj_waiter *w)
{
    pthread_condattr_t attr;
    cji_handover_flag(&w->news, sizeof w->news);
    w->cores = waiter_cores();
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->watch, &attr);
    pthread_cond_init(&w->work, &attr);
    pthread_cond_init(&w->readers, &attr);
    pthread_condattr_destroy(&attr);
    w->calls.last = &w->calls.first;
    w->records.last = &w->records.first;
    w->fd = -1;
}

static bool waiter_options(cj_waiter *w, const cj_waiter_opts *opts, unsigned *threads, const char *call)
{
    cj_waiter_opts o;
    cj_waiter_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, opts, w, call, "cj_waiter")) return false;
    if (o.callbacks < CJ_WAITER_THREAD || o.callbacks > CJ_WAITER_CALLER)
        return cji_fail(w, CJ_EINVAL, call, "callbacks %d is none of CJ_WAITER_THREAD, _POOL, _CALLER", o.callbacks),
               false;
    if (o.threads < 0 || o.threads > CJI_WAITER_THREADS)
        return cji_fail(w, CJ_EINVAL, call, "%d threads; a waiter has 1 to %d", o.threads, CJI_WAITER_THREADS), false;
    if (o.spin_us < -1)
        return cji_fail(w, CJ_EINVAL, call, ".spin_us is %d; it is -1, or microseconds", o.spin_us), false;
    w->callbacks = o.callbacks;
    w->spin = o.spin_us < 0 ? 0 : (uint64_t)(o.spin_us ? o.spin_us : WAITER_SPIN_US) * 1000;
    *threads = o.callbacks != CJ_WAITER_POOL ? 0 : o.threads ? (unsigned)o.threads : WAITER_POOL;
    return true;
}

cj_waiter *cj_waiter_create(cj_device *dev, const cj_waiter_opts *opts)
{
    static const char call[] = "cj_waiter_create";
    unsigned threads = 0;
    cj_waiter *w = cji_obj_new(sizeof *w, CJI_TAG_WAITER, 0, call);
    if (cji_obj_failed(w)) return w;
    waiter_init(w);
    bool made = cji_check_arg(w, dev, CJI_TAG_DEVICE, call, "the device") == CJ_OK;
    if (made) {
        w->dev = cji_obj_retain(dev);
        w->cu = dev->queue.cu;
        made = waiter_options(w, opts, &threads, call);
    }
    if (made) {
        w->pool = waiter_pool(dev);
        cji_wait_watch_exit();
        made = waiter_start(w, waiter_watches);
        for (unsigned i = 0; i < threads && made; i++) made = waiter_start(w, waiter_works);
        if (!made) {
            waiter_join(w);
            cji_fail(w, CJ_ENOMEM, call, "the system makes no thread for the waiter");
        }
    }
    if (!made) cji_obj_set_failed(w);
    return w;
}

/* -- Ending -------------------------------------------------------------------------------------------------------- */

static void waiter_close(cj_waiter *w)
{
    if (w->closed) return;
    w->closed = true;
    cji_wait_complete_all(w, CJ_WAIT_SHUTDOWN, 0);
    pthread_cond_broadcast(&w->readers);
}

cj_status cj_waiter_shutdown(cj_waiter *w)
{
    cj_status st = cji_check(w, CJI_TAG_WAITER, "cj_waiter_shutdown");
    if (st != CJ_OK) return st;
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    waiter_close(w);
    cji_unlock(&w->lock, CJI_LOCK_WAITER);
    return CJ_OK;
}

/* With the lock held: nobody is in a callback or in a call any more, and none is left. */
static void waiter_settle(cj_waiter *w)
{
    if (w->callbacks == CJ_WAITER_CALLER)
        while (cji_wait_call_one(w)) {}
    while (w->calls.count || w->running || w->inside) pthread_cond_wait(&w->readers, &w->lock);
}

/* Freed by a callback, with the lock held, which is released. */
static void waiter_abandon(cj_waiter *w)
{
    w->orphan = w->stop = true;
    cji_wait_wake(w, 0);
    pthread_cond_broadcast(&w->work);
    cji_unlock(&w->lock, CJI_LOCK_WAITER);
}

void cj_waiter_free(cj_waiter *w)
{
    CJI_NO_CANCEL;
    if (!cji_check_free(w, CJI_TAG_WAITER, "cj_waiter_free")) return;
    if (cji_obj_failed(w)) {
        if (cji_obj_release(w)) waiter_delete(w);
        return;
    }
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    waiter_close(w);
    w->freed = true;
    if (cji_wait_in_callback(w)) {
        waiter_abandon(w);
        return;
    }
    waiter_settle(w);
    cji_unlock(&w->lock, CJI_LOCK_WAITER);
    waiter_join(w);
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    w->orphan = true;
    cji_waiter_leave(w);
}
