/* The process's state: settings, threads, the way into and out of an entry point, the hooks, fork, and the end of the process. */
#include "base/environment.h"
#include "sim/sim_core.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_graph_exec.h"
#include "sim/sim_memory.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cujit/sim.h>

#include "base/obj.h"

sim_state sim = { .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER, .watch = PTHREAD_COND_INITIALIZER };

/* Keys, not _Thread_local variables: the block that the loader makes for those outlives a dlclose(). */
static pthread_key_t sim_thread_key;   /* the thread's sim_thread */
static pthread_key_t sim_host_key;     /* not NULL inside a host function */
static bool sim_have_keys;

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static bool sim_forked(void) { return atomic_load(&sim.ready) && cji_fork_gen() != sim.fork_gen; }

/* Under the lock. */
static void sim_thread_free(sim_thread *t)
{
    if (t->prev) t->prev->next = t->next;
    else sim.threads = t->next;
    if (t->next) t->next->prev = t->prev;
    for (sim_capture *k = sim.captures; k; k = k->next)
        if (k->thread == t) k->thread = NULL;
    while (t->own) {
        sim_stream *s = t->own;
        t->own = s->own_next;
        cji_sim_stream_forget(s);
    }
    cji_free(t->stack, t->cap * sizeof *t->stack);
    cji_free(t, sizeof *t);
}

static void sim_thread_gone(void *p)
{
    sim_thread *t = p;
    if (sim_forked()) return;
    atomic_store(&t->inside, true);
    if (!atomic_load(&sim.exiting)) {
        sim_lock();
        sim_thread_free(t);
        sim_unlock();
    } else {
        atomic_store(&t->inside, false);
    }
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

/* ---- Entry points ------------------------------------------------------------------------------------------------ */

CUresult cji_sim_enter(bool needs_init)
{
    if (atomic_load(&sim.exiting)) return needs_init ? CUDA_ERROR_DEINITIALIZED : CUDA_SUCCESS;
    if (!needs_init) return CUDA_SUCCESS;
    if (!atomic_load(&sim.ready) || sim_forked()) return CUDA_ERROR_NOT_INITIALIZED;
    if (pthread_getspecific(sim_host_key)) {
        cji_log(CJ_LOG_ERROR, "a host function called the CUDA driver, which it must not do: the call answers CUDA_ERROR_NOT_PERMITTED");
        return CUDA_ERROR_NOT_PERMITTED;
    }
    sim_thread *t = cji_sim_thread();
    if (!t) return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_store(&t->inside, true);
    if (!atomic_load(&sim.exiting)) return CUDA_SUCCESS;
    atomic_store(&t->inside, false);
    return CUDA_ERROR_DEINITIALIZED;
}

void cji_sim_host_section(bool inside) { pthread_setspecific(sim_host_key, inside ? &sim : NULL); }

void cji_sim_leave(void)
{
    sim_thread *t = pthread_getspecific(sim_thread_key);
    atomic_store_explicit(&t->inside, false, memory_order_release);
}

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static bool sim_setting(cji_env which, unsigned least, unsigned most, unsigned *out)
{
    const char *s = cji_env_get(which);
    if (!s) return true;
    char *end;
    errno = 0;
    unsigned long v = strtoul(s, &end, 10);
    if (*s < '0' || *s > '9' || *end || errno || v < least || v > most) {
        cji_log(CJ_LOG_ERROR, "%s=%s: wants a number from %u to %u", cji_env_name(which), s, least, most);
        return false;
    }
    *out = (unsigned)v;
    return true;
}

static bool sim_setting_sm(sim_settings *set)
{
    const char *s = cji_env_get(CJI_ENV_SIM_SM);
    if (!s) s = "90a";
    unsigned v = 0;
    const char *p = s;
    for (; *p >= '0' && *p <= '9' && v < 1000; p++) v = v * 10 + (unsigned)(*p - '0');
    char suffix = *p == 'a' || *p == 'f' ? *p++ : 0;
    if (*p || v < 50 || v > 129) {
        cji_log(CJ_LOG_ERROR, "%s=%s: wants a compute capability as in PTX: 80, 90a, 100a", cji_env_name(CJI_ENV_SIM_SM), s);
        return false;
    }
    set->sm = v;
    set->sm_suffix = suffix;
    return true;
}

static bool sim_read_settings(sim_settings *set)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    set->devices = 1;
    set->threads = cores < 1 ? 1 : cores > 64 ? 64 : (unsigned)cores;
    bool devices = sim_setting(CJI_ENV_SIM_DEVICES, 0, SIM_MAX_DEVICES, &set->devices);
    bool threads = sim_setting(CJI_ENV_SIM_THREADS, 1, 64, &set->threads);
    set->stall_ms = 10000;
    bool stall = sim_setting(CJI_ENV_SIM_STALL_MS, 0, 86400000, &set->stall_ms);
    bool sm = sim_setting_sm(set);
    bool schedule = cji_sim_schedule_read(set);
    return devices && threads && sm && schedule && stall;    /* each that cannot be read has said so */
}

/* ---- Beginning --------------------------------------------------------------------------------------------------- */

static void sim_devices_free(void)
{
    for (size_t i = 0; i < SIM_MAX_DEVICES; i++) {
        cji_free(sim.device[i], sizeof *sim.device[i]);
        sim.device[i] = NULL;
    }
}

static CUresult sim_start(void)
{
    if (!sim_read_settings(&sim.set)) return CUDA_ERROR_INVALID_VALUE;
    if (!sim_have_keys && pthread_key_create(&sim_thread_key, sim_thread_gone) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!sim_have_keys && pthread_key_create(&sim_host_key, NULL) != 0) {
        pthread_key_delete(sim_thread_key);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sim_have_keys = true;
    for (unsigned i = 0; i < sim.set.devices; i++) {
        sim_device *d = sim.device[i] = cji_zalloc(sizeof *d);
        if (!d) {
            sim_devices_free();
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        d->ordinal = (int)i;
        d->primary.dev = d;
        d->primary.primary = true;
    }
    cji_sim_schedule_begin();
    sim.fork_gen = cji_fork_gen();
    atomic_store(&sim.ready, true);
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuInit(unsigned flags)
{
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (atomic_load(&sim.exiting)) return CUDA_ERROR_DEINITIALIZED;
    if (sim_forked()) return CUDA_ERROR_NOT_INITIALIZED;
    if (atomic_load(&sim.ready) && pthread_getspecific(sim_host_key)) return CUDA_ERROR_NOT_PERMITTED;
    sim_lock();
    CUresult r = atomic_load(&sim.ready) ? CUDA_SUCCESS : sim_start();
    if (!r && !sim.set.devices) r = CUDA_ERROR_NO_DEVICE;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuDriverGetVersion(int *version)
{
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = SIM_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuGetErrorName(CUresult error, const char **text)
{
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    *text = cji_cu_error_name((int)error);
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cji_sim_cuGetErrorString(CUresult error, const char **text)
{
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    *text = cji_cu_error_text((int)error);
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Setup ------------------------------------------------------------------------------------------------------- */

static char sim_complaint[1024];

static const char *sim_file_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname && *info.dli_fname ? info.dli_fname : "the program";
}

static cj_status sim_setup_fails(cj_status status, const char *sentence)
{
    if (sentence != sim_complaint) snprintf(sim_complaint, sizeof sim_complaint, "%s", sentence);
    return status;
}

cj_status cujit_sim_setup(uint32_t abi, const char *build_id, cj_realloc_fn allocator, void *alloc_user, cj_log_fn log, void *log_user)
{
    char own[64];
    cj_status status = CJ_OK;
    snprintf(own, sizeof own, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    pthread_mutex_lock(&sim.lock);
    if (abi != CUJIT_SIM_ABI || !build_id || strcmp(build_id, own) != 0) {
        snprintf(sim_complaint, sizeof sim_complaint, "%s (build %.64s, abi %u) and the CPU device %s (build %s, abi %u) are not of one build: install both from the same",
                 sim_file_of(__builtin_return_address(0)), build_id ? build_id : "unknown", (unsigned)abi, sim_file_of(&sim), own, CUJIT_SIM_ABI);
        status = CJ_ENOTSUP;
    } else {
        cj_realloc_fn fn;
        cj_log_fn log_fn;
        void *user, *lu;
        cji_get_hook(&fn, &user);
        cji_get_log_hook(&log_fn, &lu);
        bool same = fn == allocator && user == alloc_user && log_fn == log && lu == log_user;
        if (atomic_load(&sim.ready) && !same) {
            status = sim_setup_fails(CJ_EBUSY, "the CPU device is in use already with another allocator or log");
        } else if (!same) {
            cji_set_hook(allocator, alloc_user);
            cji_set_log_hook(log, log_user);
        }
    }
    pthread_mutex_unlock(&sim.lock);
    return status;
}

const char *cujit_sim_complaint(void) { return sim_complaint; }

/* ---- The end of the process -------------------------------------------------------------------------------------- */

/* Waits until no thread of ours runs but those inside host functions, at most two seconds. */
static void sim_stop_workers(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    pthread_cond_broadcast(&sim.work);
    pthread_cond_broadcast(&sim.done);
    pthread_cond_broadcast(&sim.watch);
    while (sim.workers > sim.in_host || sim.watcher_runs)
        if (pthread_cond_timedwait(&sim.done, &sim.lock, &until) != 0) break;
}

static bool sim_others_inside(void)
{
    for (sim_thread *t = sim.threads; t; t = t->next)
        if (atomic_load(&t->inside)) return true;
    return pthread_getspecific(sim_host_key) != NULL;
}

/* Under the lock: no thread but this one can use any of it. */
static void sim_release_all(void)
{
    cji_sim_handle_end();
    while (sim.threads) sim_thread_free(sim.threads);
    for (unsigned i = 0; i < sim.set.devices; i++) cji_sim_device_end(sim.device[i]);
    cji_sim_objects_end();
    cji_sim_space_end();
    cji_sim_handle_table_free();
    sim_devices_free();
}

/* A child of fork() has its parent's memory and none of its threads.  It is released where all of them were at rest at that moment. */
static void sim_end_forked(void)
{
    if (pthread_mutex_trylock(&sim.lock) != 0) return;
    bool rest = sim.workers == sim.idle && !sim.in_host;
    for (sim_thread *t = sim.threads; t && rest; t = t->next) rest = !atomic_load(&t->inside);
    if (rest) {
        atomic_store(&sim.exiting, 1);
        sim_release_all();
    }
    pthread_mutex_unlock(&sim.lock);
}

/* Everything stops, and what no thread can use any more is released.  Where a thread is still inside - a host function that blocks, an
 * exit() made from one - its memory stays. */
__attribute__((destructor)) static void sim_end(void)
{
    if (!atomic_load(&sim.ready)) return;
    if (sim_forked()) {
        sim_end_forked();
        return;
    }
    atomic_store(&sim.exiting, 1);
    sim_lock();
    for (unsigned i = 0; i < sim.set.devices; i++) {
        __atomic_store_n(&sim.device[i]->primary.cancel, 1, __ATOMIC_RELAXED);
        for (sim_ctx *c = sim.device[i]->contexts; c; c = c->next) __atomic_store_n(&c->cancel, 1, __ATOMIC_RELAXED);
    }
    sim_stop_workers();
    for (int i = 0; i < 20000 && sim_others_inside(); i++) {
        sim_unlock();
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
        sim_lock();
    }
    if (sim.workers || sim.watcher_runs || sim_others_inside()) {
        sim_unlock();
        return;
    }
    sim_unlock();
    cji_sim_queue_join();
    cji_sim_watcher_join();
    sim_lock();
    sim_release_all();
    sim_unlock();
    pthread_key_delete(sim_thread_key);
    pthread_key_delete(sim_host_key);
}
