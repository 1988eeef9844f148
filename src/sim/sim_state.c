/* The process's state: settings, threads, the way into and out of an entry point, the hooks, fork, and the end of the process. */
#include "sim/simcore.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_exec.h"
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

sd_state sd = { .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER, .watch = PTHREAD_COND_INITIALIZER };

/* Keys, not _Thread_local variables: the block that the loader makes for those outlives a dlclose(). */
static pthread_key_t sd_thread_key;   /* the thread's sd_thread */
static pthread_key_t sd_host_key;     /* not NULL inside a host function */
static bool sd_have_keys;

uint64_t cji_sd_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static bool sd_forked(void) { return atomic_load(&sd.ready) && cji_fork_gen() != sd.fork_gen; }

/* Under the lock. */
static void sd_thread_free(sd_thread *t)
{
    if (t->prev) t->prev->next = t->next;
    else sd.threads = t->next;
    if (t->next) t->next->prev = t->prev;
    for (sd_capture *k = sd.captures; k; k = k->next)
        if (k->thread == t) k->thread = NULL;
    while (t->own) {
        sd_stream *s = t->own;
        t->own = s->own_next;
        cji_sd_stream_forget(s);
    }
    cji_free(t->stack, t->cap * sizeof *t->stack);
    cji_free(t, sizeof *t);
}

static void sd_thread_gone(void *p)
{
    sd_thread *t = p;
    if (sd_forked()) return;
    atomic_store(&t->inside, true);
    if (!atomic_load(&sd.exiting)) {
        sd_lock();
        sd_thread_free(t);
        sd_unlock();
    } else {
        atomic_store(&t->inside, false);
    }
}

sd_thread *cji_sd_thread(void)
{
    sd_thread *t = pthread_getspecific(sd_thread_key);
    if (t) return t;
    t = cji_zalloc(sizeof *t);
    if (!t) return NULL;
    if (pthread_setspecific(sd_thread_key, t) != 0) {
        cji_free(t, sizeof *t);
        return NULL;
    }
    sd_lock();
    t->next = sd.threads;
    if (t->next) t->next->prev = t;
    sd.threads = t;
    sd_unlock();
    return t;
}

/* ---- Entry points ------------------------------------------------------------------------------------------------ */

CUresult cji_sd_begin(bool needs_init)
{
    if (atomic_load(&sd.exiting)) return needs_init ? CUDA_ERROR_DEINITIALIZED : CUDA_SUCCESS;
    if (!needs_init) return CUDA_SUCCESS;
    if (!atomic_load(&sd.ready) || sd_forked()) return CUDA_ERROR_NOT_INITIALIZED;
    if (pthread_getspecific(sd_host_key)) {
        cji_log(CJ_LOG_ERROR, "a host function called the CUDA driver, which it must not do: the call answers CUDA_ERROR_NOT_PERMITTED");
        return CUDA_ERROR_NOT_PERMITTED;
    }
    sd_thread *t = cji_sd_thread();
    if (!t) return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_store(&t->inside, true);
    if (!atomic_load(&sd.exiting)) return CUDA_SUCCESS;
    atomic_store(&t->inside, false);
    return CUDA_ERROR_DEINITIALIZED;
}

void cji_sd_host_section(bool inside) { pthread_setspecific(sd_host_key, inside ? &sd : NULL); }

void cji_sd_end(void)
{
    sd_thread *t = pthread_getspecific(sd_thread_key);
    atomic_store_explicit(&t->inside, false, memory_order_release);
}

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static bool sd_setting(const char *name, unsigned least, unsigned most, unsigned *out)
{
    const char *s = getenv(name);
    if (!s || !*s) return true;
    char *end;
    errno = 0;
    unsigned long v = strtoul(s, &end, 10);
    if (*s < '0' || *s > '9' || *end || errno || v < least || v > most) {
        cji_log(CJ_LOG_ERROR, "%s=%s: wants a number from %u to %u", name, s, least, most);
        return false;
    }
    *out = (unsigned)v;
    return true;
}

static bool sd_setting_sm(sd_settings *set)
{
    const char *s = getenv("CUJIT_SIM_SM");
    if (!s || !*s) s = "90a";
    unsigned v = 0;
    const char *p = s;
    for (; *p >= '0' && *p <= '9' && v < 1000; p++) v = v * 10 + (unsigned)(*p - '0');
    char suffix = *p == 'a' || *p == 'f' ? *p++ : 0;
    if (*p || v < 50 || v > 129) {
        cji_log(CJ_LOG_ERROR, "CUJIT_SIM_SM=%s: wants a compute capability as in PTX: 80, 90a, 100a", s);
        return false;
    }
    set->sm = v;
    set->sm_suffix = suffix;
    return true;
}

static bool sd_read_settings(sd_settings *set)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    set->devices = 1;
    set->threads = cores < 1 ? 1 : cores > 64 ? 64 : (unsigned)cores;
    bool devices = sd_setting("CUJIT_SIM_DEVICES", 0, SD_MAX_DEVICES, &set->devices);
    bool threads = sd_setting("CUJIT_SIM_THREADS", 1, 64, &set->threads);
    set->stall_ms = 10000;
    bool stall = sd_setting("CUJIT_SIM_STALL_MS", 0, 86400000, &set->stall_ms);
    bool sm = sd_setting_sm(set);
    bool schedule = cji_sd_schedule_read(set);
    return devices && threads && sm && schedule && stall;    /* each that cannot be read has said so */
}

/* ---- Beginning --------------------------------------------------------------------------------------------------- */

static void sd_devices_free(void)
{
    for (size_t i = 0; i < SD_MAX_DEVICES; i++) {
        cji_free(sd.device[i], sizeof *sd.device[i]);
        sd.device[i] = NULL;
    }
}

static CUresult sd_start(void)
{
    if (!sd_read_settings(&sd.set)) return CUDA_ERROR_INVALID_VALUE;
    if (!sd_have_keys && pthread_key_create(&sd_thread_key, sd_thread_gone) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!sd_have_keys && pthread_key_create(&sd_host_key, NULL) != 0) {
        pthread_key_delete(sd_thread_key);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sd_have_keys = true;
    for (unsigned i = 0; i < sd.set.devices; i++) {
        sd_device *d = sd.device[i] = cji_zalloc(sizeof *d);
        if (!d) {
            sd_devices_free();
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        d->ordinal = (int)i;
        d->primary.dev = d;
        d->primary.primary = true;
    }
    cji_sd_schedule_begin();
    sd.fork_gen = cji_fork_gen();
    atomic_store(&sd.ready, true);
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuInit(unsigned flags)
{
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (atomic_load(&sd.exiting)) return CUDA_ERROR_DEINITIALIZED;
    if (sd_forked()) return CUDA_ERROR_NOT_INITIALIZED;
    if (atomic_load(&sd.ready) && pthread_getspecific(sd_host_key)) return CUDA_ERROR_NOT_PERMITTED;
    sd_lock();
    CUresult r = atomic_load(&sd.ready) ? CUDA_SUCCESS : sd_start();
    if (!r && !sd.set.devices) r = CUDA_ERROR_NO_DEVICE;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuDriverGetVersion(int *version)
{
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = SD_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuGetErrorName(CUresult error, const char **text)
{
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    *text = cji_cu_error_name((int)error);
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cji_sd_cuGetErrorString(CUresult error, const char **text)
{
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    *text = cji_cu_error_text((int)error);
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Setup ------------------------------------------------------------------------------------------------------- */

static char sd_complaint[1024];

static const char *sd_file_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname && *info.dli_fname ? info.dli_fname : "the program";
}

static cj_status sd_refuse(cj_status status, const char *sentence)
{
    if (sentence != sd_complaint) snprintf(sd_complaint, sizeof sd_complaint, "%s", sentence);
    return status;
}

cj_status cujit_sim_setup(uint32_t abi, const char *build_id, cj_realloc_fn allocator, void *alloc_user, cj_log_fn log, void *log_user)
{
    char own[64];
    cj_status status = CJ_OK;
    snprintf(own, sizeof own, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    pthread_mutex_lock(&sd.lock);
    if (abi != CUJIT_SIM_ABI || !build_id || strcmp(build_id, own) != 0) {
        snprintf(sd_complaint, sizeof sd_complaint, "%s (build %.64s, abi %u) and the CPU device %s (build %s, abi %u) are not of one build: install both from the same",
                 sd_file_of(__builtin_return_address(0)), build_id ? build_id : "unknown", (unsigned)abi, sd_file_of(&sd), own, CUJIT_SIM_ABI);
        status = CJ_ENOTSUP;
    } else {
        cj_realloc_fn fn;
        cj_log_fn log_fn;
        void *user, *lu;
        cji_get_hook(&fn, &user);
        cji_get_log_hook(&log_fn, &lu);
        bool same = fn == allocator && user == alloc_user && log_fn == log && lu == log_user;
        if (atomic_load(&sd.ready) && !same) {
            status = sd_refuse(CJ_EBUSY, "the CPU device is in use already with another allocator or log");
        } else if (!same) {
            cji_set_hook(allocator, alloc_user);
            cji_set_log_hook(log, log_user);
        }
    }
    pthread_mutex_unlock(&sd.lock);
    return status;
}

const char *cujit_sim_complaint(void) { return sd_complaint; }

/* ---- The end of the process -------------------------------------------------------------------------------------- */

/* Waits until no thread of ours runs but those inside host functions, at most two seconds. */
static void sd_stop_workers(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    pthread_cond_broadcast(&sd.work);
    pthread_cond_broadcast(&sd.done);
    pthread_cond_broadcast(&sd.watch);
    while (sd.workers > sd.in_host || sd.watcher_runs)
        if (pthread_cond_timedwait(&sd.done, &sd.lock, &until) != 0) break;
}

static bool sd_others_inside(void)
{
    for (sd_thread *t = sd.threads; t; t = t->next)
        if (atomic_load(&t->inside)) return true;
    return pthread_getspecific(sd_host_key) != NULL;
}

/* Under the lock: no thread but this one can use any of it. */
static void sd_release_all(void)
{
    cji_sd_handle_end();
    while (sd.threads) sd_thread_free(sd.threads);
    for (unsigned i = 0; i < sd.set.devices; i++) cji_sd_device_end(sd.device[i]);
    cji_sd_objects_end();
    cji_sd_space_end();
    cji_sd_handle_table_free();
    sd_devices_free();
}

/* A child of fork() has its parent's memory and none of its threads.  It is released where all of them were at rest at that moment. */
static void sd_end_forked(void)
{
    if (pthread_mutex_trylock(&sd.lock) != 0) return;
    bool rest = sd.workers == sd.idle && !sd.in_host;
    for (sd_thread *t = sd.threads; t && rest; t = t->next) rest = !atomic_load(&t->inside);
    if (rest) {
        atomic_store(&sd.exiting, 1);
        sd_release_all();
    }
    pthread_mutex_unlock(&sd.lock);
}

/* Everything stops, and what no thread can use any more is released.  Where a thread is still inside - a host function that blocks, an
 * exit() made from one - its memory stays. */
__attribute__((destructor)) static void sd_end(void)
{
    if (!atomic_load(&sd.ready)) return;
    if (sd_forked()) {
        sd_end_forked();
        return;
    }
    atomic_store(&sd.exiting, 1);
    sd_lock();
    for (unsigned i = 0; i < sd.set.devices; i++) {
        __atomic_store_n(&sd.device[i]->primary.cancel, 1, __ATOMIC_RELAXED);
        for (sd_ctx *c = sd.device[i]->contexts; c; c = c->next) __atomic_store_n(&c->cancel, 1, __ATOMIC_RELAXED);
    }
    sd_stop_workers();
    for (int i = 0; i < 20000 && sd_others_inside(); i++) {
        sd_unlock();
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
        sd_lock();
    }
    if (sd.workers || sd.watcher_runs || sd_others_inside()) {
        sd_unlock();
        return;
    }
    sd_unlock();
    cji_sd_workers_join();
    cji_sd_watcher_join();
    sd_lock();
    sd_release_all();
    sd_unlock();
    pthread_key_delete(sd_thread_key);
    pthread_key_delete(sd_host_key);
}
