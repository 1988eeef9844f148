/* The beginning and the end of the process: cuInit, the hooks, and the destructor. */
#include "sim/entry/sim_entry.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/obj.h"
#include "sim/diagnose/sim_diagnose.h"
#include "sim/graph/sim_graph.h"

/* ---- Beginning --------------------------------------------------------------------------------------------------- */

static void sim_devices_free(void)
{
    for (size_t i = 0; i < SIM_MAX_DEVICES; i++) {
        cji_free(sim.device[i], sizeof *sim.device[i]);
        sim.device[i] = NULL;
    }
}

/* The rooms that have something to do at others' moments, the lowest first. */
static const sim_room *const sim_rooms[] = { &cji_sim_room_module,
                                             &cji_sim_room_queue,
                                             &cji_sim_room_stream,
                                             &cji_sim_room_memory,
                                             &cji_sim_room_graph,
                                             &cji_sim_room_diagnose };

/* The kinds of work that nodes are made with. */
static const sim_work_kind *const sim_kinds[] = { &cji_sim_kind_launch,
                                                  &cji_sim_kind_copy,
                                                  &cji_sim_kind_fill,
                                                  &cji_sim_kind_host_func,
                                                  &cji_sim_kind_mem_ops,
                                                  &cji_sim_kind_child.work,
                                                  &cji_sim_kind_record.work,
                                                  &cji_sim_kind_wait.work,
                                                  &cji_sim_kind_alloc.work,
                                                  &cji_sim_kind_free.work,
                                                  &cji_sim_kind_conditional.work,
                                                  NULL };

static char sim_complaint[1024];

static CUresult sim_start(void)
{
    cji_line why = { sim_complaint, sizeof sim_complaint, 0 };
    *sim_complaint = 0;
    if (!cji_sim_settings_read(&sim.set, &why)) return CUDA_ERROR_INVALID_VALUE;
    if (!cji_sim_keys_make()) return CUDA_ERROR_OUT_OF_MEMORY;
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
    sim.rooms = sim_rooms;
    sim.nrooms = sizeof sim_rooms / sizeof *sim_rooms;
    sim.kinds = sim_kinds;
    sim_graphs = &cji_sim_graph_hooks;
    cji_sim_schedule_begin();
    sim.fork_gen = cji_fork_gen();
    atomic_store(&sim.ready, true);
    return CUDA_SUCCESS;
}

/* The lock, for what is called before cuInit.  In a child of fork() it may be held by a thread that is not there: one
 * that was starting the CPU device, which the child starts anew. */
static void sim_lock_early(void)
{
    static atomic_uint seen_gen; /* cji_fork_gen() at the latest call; 0: nobody has called it */
    const unsigned gen = cji_fork_gen();
    unsigned seen = atomic_load(&seen_gen);
    if (seen != gen && atomic_compare_exchange_strong(&seen_gen, &seen, gen) && seen)
        pthread_mutex_init(&sim.lock, NULL);
    sim_lock();
}

CUresult cji_sim_cuInit(unsigned flags)
{
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (atomic_load(&sim.exiting)) return CUDA_ERROR_DEINITIALIZED;
    if (cji_sim_forked()) return CUDA_ERROR_NOT_INITIALIZED;
    if (atomic_load(&sim.ready) && cji_sim_in_host_section()) return CUDA_ERROR_NOT_PERMITTED;
    sim_lock_early();
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

cj_status cujit_sim_setup(uint32_t abi, const char *build_id, cj_realloc_fn allocator, void *alloc_user, cj_log_fn log,
                          void *log_user)
{
    char own[64];
    cj_status status = CJ_OK;
    snprintf(own, sizeof own, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    if (cji_sim_forked()) return CJ_OK; /* cuInit reports it; the lock may be held by a thread that is not there */
    sim_lock_early();
    if (abi != CUJIT_SIM_ABI || !build_id || strcmp(build_id, own) != 0) {
        snprintf(
            sim_complaint, sizeof sim_complaint,
            "%s (build %.64s, abi %u) and the CPU device %s (build %s, abi %u) are not of one build: "
            "install both from the same",
            sim_file_of(__builtin_return_address(0)), build_id ? build_id : "unknown", (unsigned)abi, sim_file_of(&sim),
            own, CUJIT_SIM_ABI);
        status = CJ_ENOTSUP;
    } else {
        cj_realloc_fn fn;
        void *user;
        cji_get_hook(&fn, &user);
        if (!atomic_load(&sim.ready)) {
            cji_set_hook(allocator, alloc_user);
            cji_set_log_hook(log, log_user);
        } else if (fn != allocator || user != alloc_user) {
            status = sim_setup_fails(CJ_EBUSY, "the CPU device is in use already with another allocator");
        }
    }
    sim_unlock();
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
    pthread_cond_broadcast(&sim_queue.work);
    pthread_cond_broadcast(&sim_queue.done);
    cji_sim_watcher_wake();
    while (sim_queue.workers > sim_queue.in_host || cji_sim_watcher_runs())
        if (pthread_cond_timedwait(&sim_queue.done, &sim.lock, &until) != 0) break;
}

static bool sim_others_inside(void)
{
    for (sim_thread *t = sim.threads; t; t = t->next)
        if (atomic_load(&t->inside)) return true;
    return cji_sim_in_host_section();
}

/* Under the lock: no thread but this one can use any of it. */
static void sim_release_all(void)
{
    cji_sim_rooms_process_end();
    cji_sim_threads_free();
    cji_sim_op_cut_all(); /* operations of one device may come after those of another, which end first */
    for (unsigned i = 0; i < sim.set.devices; i++) cji_sim_device_end_contexts(sim.device[i]);
    for (unsigned i = 0; i < sim.set.devices; i++) cji_sim_device_end(sim.device[i]);
    cji_sim_rooms_process_over();
    cji_sim_space_end();
    cji_sim_handle_table_free();
    sim_devices_free();
}

/* A child of fork() has its parent's memory and none of its threads. It is released where all of them were at rest
 * at that moment. */
static void sim_end_forked(void)
{
    if (pthread_mutex_trylock(&sim.lock) != 0) return;
    bool rest = sim_queue.workers == sim_queue.idle && !sim_queue.in_host;
    for (sim_thread *t = sim.threads; t && rest; t = t->next) rest = !atomic_load(&t->inside);
    if (rest) {
        atomic_store(&sim.exiting, 1);
        sim_release_all();
    }
    pthread_mutex_unlock(&sim.lock);
}

/* Everything stops, and what no thread can use any more is released. Where a thread is still inside - a host
 * function that blocks, an exit() made from one - its memory stays. */
__attribute__((destructor)) static void sim_end(void)
{
    if (!atomic_load(&sim.ready)) return;
    if (cji_sim_forked()) {
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
    if (sim_queue.workers || cji_sim_watcher_runs() || sim_others_inside()) {
        sim_unlock();
        return;
    }
    sim_unlock();
    cji_sim_queue_join();
    cji_sim_watcher_join();
    sim_lock();
    sim_release_all();
    sim_unlock();
    cji_sim_keys_free();
}
