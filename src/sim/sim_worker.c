/* The threads that do the work, and the threads that wait for it and help.
 *
 * Every ready operation gets a thread of its own, as the streams of a GPU run side by side: a kernel that spins on a flag cannot keep
 * another stream's kernel from setting it.  Threads are made when one is needed and none is idle, up to SD_MAX_WORKERS.  A grid
 * is spread over at most CUJIT_SIM_THREADS of them.
 * A thread that synchronizes takes the ready kernels and copies of its own stream itself, so that a short kernel does not cost two switches
 * of threads; host functions are always called on a worker. */
#include "sim/simcore.h"
#include "sim/sim_device.h"
#include "sim/sim_exec.h"
#include "sim/sim_queue.h"

#include <signal.h>

/* ---- The ready lists --------------------------------------------------------------------------------------------- */

static void sd_list(sd_op *op, bool front)
{
    if (!sd.nready && sd.set.schedule != SD_EAGER) sd.moved = cji_sd_now();
    sd_op **first = &sd.ready_first[op->level], **last = &sd.ready_last[op->level];
    op->listed = true;
    op->prev_ready = op->next_ready = NULL;
    if (!*first) {
        *first = *last = op;
    } else if (front) {
        op->next_ready = *first;
        (*first)->prev_ready = op;
        *first = op;
    } else {
        op->prev_ready = *last;
        (*last)->next_ready = op;
        *last = op;
    }
    sd.nready++;
    if (op->open) sd.nopen++;
}

static void sd_unlist(sd_op *op)
{
    if (op->prev_ready) op->prev_ready->next_ready = op->next_ready;
    else sd.ready_first[op->level] = op->next_ready;
    if (op->next_ready) op->next_ready->prev_ready = op->prev_ready;
    else sd.ready_last[op->level] = op->prev_ready;
    op->listed = false;
    op->prev_ready = op->next_ready = NULL;
    sd.nready--;
    if (op->open) sd.nopen--;
}

void cji_sd_ready(sd_op *op)
{
    if (!cji_sd_host_queues(op)) sd_list(op, false);
}

void cji_sd_unready(sd_op *op) { sd_unlist(op); }

static sd_op *sd_pick(void)
{
    if (sd.set.schedule != SD_EAGER) return cji_sd_schedule_starts() ? cji_sd_schedule_pick() : NULL;
    for (int i = 0; i < SD_PRIORITIES; i++)
        if (sd.ready_first[i]) return sd.ready_first[i];
    return NULL;
}

/* An operation that a waiting thread may do itself: of that stream, or of that context. */
static sd_op *sd_pick_for(const sd_stream *s, const sd_ctx *c)
{
    if (sd.set.schedule != SD_EAGER) return NULL;
    for (int i = 0; i < SD_PRIORITIES; i++)
        for (sd_op *op = sd.ready_first[i]; op; op = op->next_ready) {
            if (s ? op->stream != s : op->ctx != c) continue;
            sd_verb v = op->work->verb;
            if (v == SD_LAUNCH || v == SD_COPY || v == SD_FILL || v == SD_FREE) return op;
        }
    return NULL;
}

/* ---- Doing one operation ----------------------------------------------------------------------------------------- */

static void sd_leave_grid(sd_op *op)
{
    if (op->listed) sd_unlist(op);   /* no block is left to take */
    op->room = 0;
    if (--op->inside) return;
    op->open = false;
    cji_sd_grid_close(op);
    cji_sd_op_finish(op);
}

static void sd_join_grid(sd_op *op)
{
    op->inside++;
    if (--op->room == 0) sd_unlist(op);
    sd_unlock();
    cji_sim_grid_work(op->grid);
    sd_lock();
    sd_leave_grid(op);
}

static void sd_do_grid(sd_op *op)
{
    op->inside = 1;
    sd_unlock();
    cji_sim_grid *g = cji_sd_grid_open(op);
    uint32_t width = g ? cji_sim_grid_width(g) : 0;
    sd_lock();
    if (!g) {
        op->inside = 0;
        cji_sd_op_finish(op);
        return;
    }
    op->grid = g;
    if (width > sd.set.threads) width = sd.set.threads;
    if (sd.set.schedule != SD_EAGER) width = 1;
    if (width > 1) {
        op->room = width - 1;
        op->open = true;
        sd_list(op, true);
        cji_sd_balance(0);
    }
    sd_unlock();
    cji_sim_grid_work(g);
    sd_lock();
    sd_leave_grid(op);
}

/* Under the lock, which it gives up meanwhile. */
static void sd_do(sd_op *op)
{
    if (op->open) {
        sd_join_grid(op);
        return;
    }
    sd_unlist(op);
    if (op->work->verb == SD_BRANCH) {
        cji_sd_branch(op);
        return;
    }
    if (op->work->verb == SD_AGAIN) {
        cji_sd_branch_again(op);
        return;
    }
    if (op->work->verb == SD_LAUNCH && !op->ctx->fault && !atomic_load(&sd.exiting)) {
        sd_do_grid(op);
        return;
    }
    bool host = op->work->verb == SD_HOST || op->work->verb == SD_CALLBACK;
    if (host) cji_sd_host_begin(op);
    sd_unlock();
    cji_sd_run(op);
    sd_lock();
    if (host) cji_sd_host_end(op);
    cji_sd_op_finish(op);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static void *sd_worker_main(void *arg)
{
    (void)arg;
    sd_lock();
    sd.born--;
    for (;;) {
        if (atomic_load(&sd.exiting)) break;
        sd_op *op = sd_pick();
        if (op) {
            if (sd.set.schedule == SD_EAGER) sd_do(op);
            else cji_sd_schedule_do(op, sd_do);
            cji_sd_balance(1);
            continue;
        }
        if (sd.doomed) {
            cji_sd_objects_call();
            continue;
        }
        sd.idle++;
        if (sd.set.schedule == SD_EAGER) pthread_cond_wait(&sd.work, &sd.lock);
        else cji_sd_schedule_sleep();
        sd.idle--;
        if (sd.wakes) sd.wakes--;
    }
    sd.workers--;
    pthread_cond_broadcast(&sd.done);
    sd_unlock();
    return NULL;
}

bool cji_sd_thread_make(pthread_t *thread, void *(*run)(void *))
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return !failed;
}

static bool sd_worker_make(void)
{
    if (sd.made == SD_MAX_WORKERS || atomic_load(&sd.exiting) || !cji_sd_thread_make(&sd.worker[sd.made], sd_worker_main)) return false;
    sd.made++;
    sd.workers++;
    sd.born++;
    return true;
}

bool cji_sd_workers_start(void) { return sd.workers || sd_worker_make(); }

void cji_sd_workers_join(void)
{
    for (unsigned i = 0; i < sd.made; i++) pthread_join(sd.worker[i], NULL);
    sd.made = 0;
}

void cji_sd_balance(unsigned taken)
{
    unsigned coming = sd.wakes + sd.born + taken;
    unsigned need = sd.nready - sd.nopen + sd.ndoomed;
    if (sd.set.schedule != SD_EAGER && need > 1) need = 1;   /* who looks after the rest */
    need = need > coming ? need - coming : 0;
    for (; need; need--) {
        if (sd.idle > sd.wakes) {
            sd.wakes++;
            pthread_cond_signal(&sd.work);
        } else if (!sd_worker_make()) {
            break;
        }
    }
    if (!sd.nopen) return;
    unsigned room = 0;
    for (int i = 0; i < SD_PRIORITIES; i++)
        for (sd_op *op = sd.ready_first[i]; op && op->open; op = op->next_ready) room += op->room;
    coming = sd.wakes + sd.born;
    room = room > coming ? room - coming : 0;
    for (; room; room--) {
        if (sd.idle > sd.wakes) {
            sd.wakes++;
            pthread_cond_signal(&sd.work);
        } else if (sd.workers >= sd.set.threads || !sd_worker_make()) {
            break;
        }
    }
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

static void sd_sleep_until_done(void)
{
    if (sd.set.schedule == SD_EAGER) pthread_cond_wait(&sd.done, &sd.lock);
    else cji_sd_schedule_wait();
}

CUresult cji_sd_wait(sd_op *op)
{
    if (!op) return CUDA_SUCCESS;
    op->refs++;
    while (!op->done && !atomic_load(&sd.exiting)) {
        sd_op *own = op->stream ? sd_pick_for(op->stream, NULL) : NULL;
        if (own) {
            sd_do(own);
            cji_sd_balance(op->stream && sd_pick_for(op->stream, NULL) ? 1 : 0);
            continue;
        }
        op->waiters++;
        sd_sleep_until_done();
        op->waiters--;
    }
    CUresult r = op->done ? CUDA_SUCCESS : CUDA_ERROR_DEINITIALIZED;
    cji_sd_op_drop(op);
    return r;
}

void cji_sd_wait_ctx(sd_ctx *c)
{
    uint64_t last = sd.next_seq;
    while (c->first && c->first->seq <= last && !atomic_load(&sd.exiting)) {
        sd_op *own = sd_pick_for(NULL, c);
        if (own) {
            sd_do(own);
            cji_sd_balance(sd_pick_for(NULL, c) ? 1 : 0);
            continue;
        }
        c->sync_waiters++;
        sd_sleep_until_done();
        c->sync_waiters--;
    }
}
