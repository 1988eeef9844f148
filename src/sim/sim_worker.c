/* The threads that do the work, and the threads that wait for it and help.
 *
 * Every ready operation gets a thread of its own, as the streams of a GPU run side by side: a kernel that spins on a flag cannot keep
 * another stream's kernel from setting it.  Threads are made when one is needed and none is idle, up to SIM_MAX_WORKERS.  A grid
 * is spread over at most CUJIT_SIM_THREADS of them.
 * A thread that synchronizes takes the ready kernels and copies of its own stream itself, so that a short kernel does not cost two switches
 * of threads; host functions are always called on a worker. */
#include "sim/sim_core.h"
#include "sim/sim_device.h"
#include "sim/sim_graph_exec.h"
#include "sim/sim_queue.h"

#include <signal.h>

/* ---- The ready lists --------------------------------------------------------------------------------------------- */

static void sim_list(sim_op *op, bool front)
{
    if (!sim.nready && sim.set.schedule != SIM_EAGER) sim.moved = cji_now();
    sim_op **first = &sim.ready_first[op->level], **last = &sim.ready_last[op->level];
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
    sim.nready++;
    if (op->open) sim.nopen++;
}

static void sim_unlist(sim_op *op)
{
    if (op->prev_ready) op->prev_ready->next_ready = op->next_ready;
    else sim.ready_first[op->level] = op->next_ready;
    if (op->next_ready) op->next_ready->prev_ready = op->prev_ready;
    else sim.ready_last[op->level] = op->prev_ready;
    op->listed = false;
    op->prev_ready = op->next_ready = NULL;
    sim.nready--;
    if (op->open) sim.nopen--;
}

void cji_sim_queue_ready(sim_op *op)
{
    if (!cji_sim_serial_queues(op)) sim_list(op, false);
}

void cji_sim_queue_remove(sim_op *op) { sim_unlist(op); }

static sim_op *sim_pick(void)
{
    if (sim.set.schedule != SIM_EAGER) return cji_sim_schedule_starts() ? cji_sim_schedule_pick() : NULL;
    for (int i = 0; i < SIM_PRIORITIES; i++)
        if (sim.ready_first[i]) return sim.ready_first[i];
    return NULL;
}

/* An operation that a waiting thread may do itself: of that stream, or of that context. */
static sim_op *sim_pick_for(const sim_stream *s, const sim_ctx *c)
{
    if (sim.set.schedule != SIM_EAGER) return NULL;
    for (int i = 0; i < SIM_PRIORITIES; i++)
        for (sim_op *op = sim.ready_first[i]; op; op = op->next_ready) {
            if (s ? op->stream != s : op->ctx != c) continue;
            sim_verb v = op->work->verb;
            if (v == SIM_LAUNCH || v == SIM_COPY || v == SIM_FILL || v == SIM_FREE) return op;
        }
    return NULL;
}

/* ---- Doing one operation ----------------------------------------------------------------------------------------- */

static void sim_leave_grid(sim_op *op)
{
    if (op->listed) sim_unlist(op);   /* no block is left to take */
    op->room = 0;
    if (--op->inside) return;
    op->open = false;
    cji_sim_launch_close(op);
    cji_sim_op_finish(op);
}

static void sim_join_grid(sim_op *op)
{
    op->inside++;
    if (--op->room == 0) sim_unlist(op);
    sim_unlock();
    cji_exec_grid_work(op->grid);
    sim_lock();
    sim_leave_grid(op);
}

static void sim_do_grid(sim_op *op)
{
    op->inside = 1;
    sim_unlock();
    cji_exec_grid *g = cji_sim_launch_open(op);
    uint32_t width = g ? cji_exec_grid_width(g) : 0;
    sim_lock();
    if (!g) {
        op->inside = 0;
        cji_sim_op_finish(op);
        return;
    }
    op->grid = g;
    if (width > sim.set.threads) width = sim.set.threads;
    if (sim.set.schedule != SIM_EAGER) width = 1;
    if (width > 1) {
        op->room = width - 1;
        op->open = true;
        sim_list(op, true);
        cji_sim_queue_balance(0);
    }
    sim_unlock();
    cji_exec_grid_work(g);
    sim_lock();
    sim_leave_grid(op);
}

/* Under the lock, which it gives up meanwhile. */
static void sim_do(sim_op *op)
{
    if (op->open) {
        sim_join_grid(op);
        return;
    }
    sim_unlist(op);
    if (op->work->verb == SIM_BRANCH) {
        cji_sim_branch_begin(op);
        return;
    }
    if (op->work->verb == SIM_AGAIN) {
        cji_sim_branch_again(op);
        return;
    }
    if (op->work->verb == SIM_LAUNCH && !op->ctx->fault && !atomic_load(&sim.exiting)) {
        sim_do_grid(op);
        return;
    }
    bool host = op->work->verb == SIM_HOST || op->work->verb == SIM_CALLBACK;
    if (host) cji_sim_serial_begin(op);
    sim_unlock();
    cji_sim_op_run(op);
    sim_lock();
    if (host) cji_sim_serial_end(op);
    cji_sim_op_finish(op);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static void *sim_worker_main(void *arg)
{
    (void)arg;
    sim_lock();
    sim.starting--;
    for (;;) {
        if (atomic_load(&sim.exiting)) break;
        sim_op *op = sim_pick();
        if (op) {
            if (sim.set.schedule == SIM_EAGER) sim_do(op);
            else cji_sim_schedule_do(op, sim_do);
            cji_sim_queue_balance(1);
            continue;
        }
        if (sim.destructors) {
            cji_sim_objects_call();
            continue;
        }
        sim.idle++;
        if (sim.set.schedule == SIM_EAGER) pthread_cond_wait(&sim.work, &sim.lock);
        else cji_sim_schedule_sleep();
        sim.idle--;
        if (sim.wakes) sim.wakes--;
    }
    sim.workers--;
    pthread_cond_broadcast(&sim.done);
    sim_unlock();
    return NULL;
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

static bool sim_worker_make(void)
{
    if (sim.made == SIM_MAX_WORKERS || atomic_load(&sim.exiting) || !cji_sim_thread_make(&sim.worker[sim.made], sim_worker_main)) return false;
    sim.made++;
    sim.workers++;
    sim.starting++;
    return true;
}

bool cji_sim_queue_start(void) { return sim.workers || sim_worker_make(); }

void cji_sim_queue_join(void)
{
    for (unsigned i = 0; i < sim.made; i++) pthread_join(sim.worker[i], NULL);
    sim.made = 0;
}

void cji_sim_queue_balance(unsigned taken)
{
    unsigned coming = sim.wakes + sim.starting + taken;
    unsigned need = sim.nready - sim.nopen + sim.ndestructors;
    if (sim.set.schedule != SIM_EAGER && need > 1) need = 1;   /* who looks after the rest */
    need = need > coming ? need - coming : 0;
    for (; need; need--) {
        if (sim.idle > sim.wakes) {
            sim.wakes++;
            pthread_cond_signal(&sim.work);
        } else if (!sim_worker_make()) {
            break;
        }
    }
    if (!sim.nopen) return;
    unsigned room = 0;
    for (int i = 0; i < SIM_PRIORITIES; i++)
        for (sim_op *op = sim.ready_first[i]; op && op->open; op = op->next_ready) room += op->room;
    coming = sim.wakes + sim.starting;
    room = room > coming ? room - coming : 0;
    for (; room; room--) {
        if (sim.idle > sim.wakes) {
            sim.wakes++;
            pthread_cond_signal(&sim.work);
        } else if (sim.workers >= sim.set.threads || !sim_worker_make()) {
            break;
        }
    }
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

static void sim_sleep_until_done(void)
{
    if (sim.set.schedule == SIM_EAGER) pthread_cond_wait(&sim.done, &sim.lock);
    else cji_sim_schedule_wait();
}

CUresult cji_sim_queue_wait(sim_op *op)
{
    if (!op) return CUDA_SUCCESS;
    op->refs++;
    while (!op->done && !atomic_load(&sim.exiting)) {
        sim_op *own = op->stream ? sim_pick_for(op->stream, NULL) : NULL;
        if (own) {
            sim_do(own);
            cji_sim_queue_balance(op->stream && sim_pick_for(op->stream, NULL) ? 1 : 0);
            continue;
        }
        op->waiters++;
        sim_sleep_until_done();
        op->waiters--;
    }
    CUresult r = op->done ? CUDA_SUCCESS : CUDA_ERROR_DEINITIALIZED;
    cji_sim_op_drop(op);
    return r;
}

void cji_sim_queue_wait_ctx(sim_ctx *c)
{
    uint64_t last = sim.next_seq;
    while (c->first && c->first->seq <= last && !atomic_load(&sim.exiting)) {
        sim_op *own = sim_pick_for(NULL, c);
        if (own) {
            sim_do(own);
            cji_sim_queue_balance(sim_pick_for(NULL, c) ? 1 : 0);
            continue;
        }
        c->sync_waiters++;
        sim_sleep_until_done();
        c->sync_waiters--;
    }
}
