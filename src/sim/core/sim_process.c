/* The process's state: its threads, the way into and out of an entry point, fork. */
#include "sim/core/sim_core.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/obj.h"

sim_process sim = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Keys, not _Thread_local variables: the block that the loader makes for those outlives a dlclose(). */
static pthread_key_t sim_thread_key;   /* the thread's sim_thread */
static pthread_key_t sim_host_key;     /* not NULL inside a host function */
static bool sim_have_keys;

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

bool cji_sim_forked(void) { return atomic_load(&sim.ready) && cji_fork_gen() != sim.fork_gen; }

/* Under the lock. */
static void sim_thread_free(sim_thread *t)
{
    if (t->prev) t->prev->next = t->next;
    else sim.threads = t->next;
    if (t->next) t->next->prev = t->prev;
    cji_sim_rooms_thread_end(t);
    cji_free(t->stack, t->cap * sizeof *t->stack);
    cji_free(t, sizeof *t);
}

void cji_sim_threads_free(void)
{
    while (sim.threads) sim_thread_free(sim.threads);
}

static void sim_thread_gone(void *p)
{
    sim_thread *t = p;
    if (cji_sim_forked()) return;
    atomic_store(&t->inside, true);
    if (!atomic_load(&sim.exiting)) {
        sim_lock();
        sim_thread_free(t);
        sim_unlock();
    } else {
        atomic_store(&t->inside, false);
    }
}

bool cji_sim_keys_make(void)
{
    if (sim_have_keys) return true;
    if (pthread_key_create(&sim_thread_key, sim_thread_gone) != 0) return false;
    if (pthread_key_create(&sim_host_key, NULL) != 0) {
        pthread_key_delete(sim_thread_key);
        return false;
    }
    sim_have_keys = true;
    return true;
}

void cji_sim_keys_free(void)
{
    pthread_key_delete(sim_thread_key);
    pthread_key_delete(sim_host_key);
}

sim_thread *cji_sim_thread(void)
{
    sim_thread *t = pthread_getspecific(sim_thread_key);
    if (t) return t;
    t = cji_zalloc(sizeof *t);
    if (!t) return NULL;
    if (pthread_setspecific(sim_thread_key, t) != 0) {
        cji_free(t, sizeof *t);
        return NULL;
    }
    sim_lock();
    t->next = sim.threads;
    if (t->next) t->next->prev = t;
    sim.threads = t;
    sim_unlock();
    return t;
}

bool cji_sim_thread_make(pthread_t *thread, void *(*run)(void *))
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return !failed;
}

/* ---- Entry points ------------------------------------------------------------------------------------------------ */

CUresult cji_sim_enter(bool needs_init)
{
    if (atomic_load(&sim.exiting)) return needs_init ? CUDA_ERROR_DEINITIALIZED : CUDA_SUCCESS;
    if (!needs_init) return CUDA_SUCCESS;
    if (!atomic_load(&sim.ready) || cji_sim_forked()) return CUDA_ERROR_NOT_INITIALIZED;
    if (cji_sim_in_host_section()) {
        cji_log(
            CJ_LOG_ERROR,
            "a host function called the CUDA driver, which it must not do: the call returns CUDA_ERROR_NOT_PERMITTED");
        return CUDA_ERROR_NOT_PERMITTED;
    }
    sim_thread *t = cji_sim_thread();
    if (!t) return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_store(&t->inside, true);
    if (!atomic_load(&sim.exiting)) {
        t->cancel = cji_cancel_disable();
        return CUDA_SUCCESS;
    }
    atomic_store(&t->inside, false);
    return CUDA_ERROR_DEINITIALIZED;
}

CUresult cji_sim_reject(CUresult r, const char *fmt, ...)
{
    sim_thread *t = pthread_getspecific(sim_thread_key);
    va_list args;
    if (!t) return r;
    va_start(args, fmt);
    vsnprintf(t->why, sizeof t->why, fmt, args);
    va_end(args);
    t->why[strcspn(t->why, "\n")] = 0;
    return r;
}

void cji_sim_leave(const char *call, CUresult r)
{
    sim_thread *t = pthread_getspecific(sim_thread_key);
    const int cancel = t->cancel;
    if (t->why[0]) {
        const char *name = cji_cu_error_name((int)r);
        char why[sizeof t->why];
        memcpy(why, t->why, sizeof why);
        t->why[0] = 0;              /* the log's hook may call the driver */
        if (r) cji_log(CJ_LOG_ERROR, "%s returns %s: %s", call, name ? name : "an error", why);
    }
    atomic_store_explicit(&t->inside, false, memory_order_release);
    cji_cancel_restore(&cancel);
}

void cji_sim_host_section(bool inside) { pthread_setspecific(sim_host_key, inside ? &sim : NULL); }
bool cji_sim_in_host_section(void) { return pthread_getspecific(sim_host_key) != NULL; }
