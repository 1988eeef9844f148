/* The threads that do the work, and the threads that wait for it and help.
 *
 * Every ready operation gets a thread of its own, as the streams of a GPU run side by side: a kernel that spins on a
 * flag cannot keep another stream's kernel from setting it. Threads are made when one is needed and none is idle,
 * up to SIM_MAX_WORKERS. A grid is spread over at most CUJIT_SIM_THREADS of them. A thread that synchronizes takes
 * the ready kernels and copies of its own stream itself, so that a short kernel does not cost two switches of
 * threads; host functions are always called on a worker. */
#include "sim/queue/sim_queue.h"

/* ---- Which one -------------------------------------------------------------------------------------------------- */

static sim_op *sim_pick(void)
{
    if (sim.set.schedule != SIM_EAGER) return cji_sim_schedule_starts() ? cji_sim_schedule_pick() : NULL;
    for (int i = 0; i < SIM_PRIORITIES; i++)
        if (sim_queue.ready_first[i]) return sim_queue.ready_first[i];
    return NULL;
}

/* An operation that a waiting thread may do itself: of that stream, or of that context. */
static sim_op *sim_pick_for(const sim_stream *s, const sim_ctx *c)
{
    if (sim.set.schedule != SIM_EAGER) return NULL;
    for (int i = 0; i < SIM_PRIORITIES; i++)
        for (sim_op *op = sim_queue.ready_first[i]; op; op = op->next_ready) {
            if (s ? op->stream != s : op->ctx != c) continue;
            if (cji_sim_work_has(op->work, SIM_WORK_HELPS)) return op;
        }
    return NULL;
}

/* ---- Doing one operation ----------------------------------------------------------------------------------------- */

static void sim_leave_grid(sim_op *op)
{
    if (op->listed) cji_sim_ready_remove(op);   /* no block is left to take */
    op->room = 0;
    if (--op->inside) return;
    op->open = false;
    op->work->kind->close(op);
    cji_sim_op_finish(op);
}

static void sim_join_grid(sim_op *op)
{
    op->inside++;
    if (--op->room == 0) cji_sim_ready_remove(op);
    cji_sim_queue_balance(0);   /* this thread may have been woken for other work, which ends the kernel */
    sim_unlock();
    cji_exec_grid_work(op->grid);
    sim_lock();
    sim_leave_grid(op);
}

static void sim_do_grid(sim_op *op)
{
    op->inside = 1;
    sim_unlock();
    cji_exec_grid *g = op->work->kind->open(op);
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
        cji_sim_ready_add(op, true);
        cji_sim_queue_balance(0);
    }
    sim_unlock();
    cji_exec_grid_work(g);
    sim_lock();
    sim_leave_grid(op);
}

/* Without the lock. After a context's fault nothing runs in it any more, but callbacks and releases. */
static void sim_op_run(sim_op *op)
{
    const sim_work_kind *kind = op->work->kind;
    bool fault = __atomic_load_n(&op->ctx->fault, __ATOMIC_RELAXED) != CUDA_SUCCESS,
         exiting = atomic_load(&sim.exiting) != 0;
    if ((fault || exiting) && !(kind->traits & SIM_WORK_AFTER_FAULT)) return;
    if (exiting && kind->traits & SIM_WORK_HOST) return;
    if (!kind->run) return;
    bool writes = !(kind->traits & SIM_WORK_HOST);   /* a host function reaches no memory of the device */
    if (writes) cji_exec_write_begin();
    kind->run(op);
    if (writes) cji_exec_write_end();
}

/* Under the lock, which it gives up meanwhile. */
static void sim_do(sim_op *op)
{
    if (op->open) {
        sim_join_grid(op);
        return;
    }
    cji_sim_ready_remove(op);
    const sim_work_kind *kind = op->work->kind;
    if (kind->begin) {
        kind->begin(op);
        return;
    }
    if (kind->open && !op->ctx->fault && !atomic_load(&sim.exiting)) {
        sim_do_grid(op);
        return;
    }
    bool host = kind->traits & SIM_WORK_HOST;
    if (host) cji_sim_serial_begin(op);
    sim_unlock();
    sim_op_run(op);
    sim_lock();
    if (host) cji_sim_serial_end(op);
    cji_sim_op_finish(op);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static void *sim_worker_main(void *arg)
{
    (void)arg;
    sim_lock();
    sim_queue.starting--;
    for (;;) {
        if (atomic_load(&sim.exiting)) break;
        sim_op *op = sim_pick();
        if (op) {
            if (sim.set.schedule == SIM_EAGER) sim_do(op);
            else cji_sim_schedule_do(op, sim_do);
            cji_sim_queue_balance(1);
            continue;
        }
        sim_call *call = cji_sim_queue_take_call();
        if (call) {
            call->run(call);
            continue;
        }
        sim_queue.idle++;
        if (sim.set.schedule == SIM_EAGER) pthread_cond_wait(&sim_queue.work, &sim.lock);
        else cji_sim_schedule_sleep();
        sim_queue.idle--;
        if (sim_queue.wakes) sim_queue.wakes--;
    }
    sim_queue.workers--;
    pthread_cond_broadcast(&sim_queue.done);
    sim_unlock();
    return NULL;
}

static bool sim_worker_make(void)
{
    if (sim_queue.made == SIM_MAX_WORKERS || atomic_load(&sim.exiting) ||
        !cji_sim_thread_make(&sim_queue.worker[sim_queue.made], sim_worker_main))
        return false;
    sim_queue.made++;
    sim_queue.workers++;
    sim_queue.starting++;
    return true;
}

bool cji_sim_queue_start(void) { return sim_queue.workers || sim_worker_make(); }

void cji_sim_queue_join(void)
{
    for (unsigned i = 0; i < sim_queue.made; i++) pthread_join(sim_queue.worker[i], NULL);
    sim_queue.made = 0;
}

void cji_sim_queue_balance(unsigned taken)
{
    unsigned coming = sim_queue.wakes + sim_queue.starting + taken;
    unsigned need = sim_queue.nready - sim_queue.nopen + sim_queue.ncalls;
    if (sim.set.schedule != SIM_EAGER && need > 1) need = 1;   /* who looks after the rest */
    need = need > coming ? need - coming : 0;
    for (; need; need--) {
        if (sim_queue.idle > sim_queue.wakes) {
            sim_queue.wakes++;
            pthread_cond_signal(&sim_queue.work);
        } else if (!sim_worker_make()) {
            break;
        }
    }
    if (!sim_queue.nopen) return;
    unsigned room = 0;
    for (int i = 0; i < SIM_PRIORITIES; i++)
        for (sim_op *op = sim_queue.ready_first[i]; op && op->open; op = op->next_ready) room += op->room;
    coming = sim_queue.wakes + sim_queue.starting;
    room = room > coming ? room - coming : 0;
    for (; room; room--) {
        if (sim_queue.idle > sim_queue.wakes) {
            sim_queue.wakes++;
            pthread_cond_signal(&sim_queue.work);
        } else if (sim_queue.workers >= sim.set.threads || !sim_worker_make()) {
            break;
        }
    }
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

void cji_sim_queue_call(sim_call *call)
{
    call->next = sim_queue.calls;
    sim_queue.calls = call;
    sim_queue.ncalls++;
    if (!cji_sim_queue_start()) return;    /* without a thread now: the next one that is made finds it */
    cji_sim_queue_balance(0);
}

sim_call *cji_sim_queue_take_call(void)
{
    sim_call *call = sim_queue.calls;
    if (!call) return NULL;
    sim_queue.calls = call->next;
    sim_queue.ncalls--;
    return call;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

static void sim_sleep_until_done(void)
{
    if (sim.set.schedule == SIM_EAGER) pthread_cond_wait(&sim_queue.done, &sim.lock);
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
    uint64_t last = sim_queue.next_seq;
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

/* A context stays in its device's list when it is destroyed meanwhile. */
void cji_sim_queue_wait_all(void)
{
    for (unsigned d = 0; d < sim.set.devices; d++) {
        cji_sim_queue_wait_ctx(&sim.device[d]->primary);
        for (sim_ctx *c = sim.device[d]->contexts; c; c = c->next) cji_sim_queue_wait_ctx(c);
    }
}

/* ---- The room ---------------------------------------------------------------------------------------------------- */

static CUresult sim_queue_ctx_begin(sim_ctx *c)
{
    (void)c;
    return cji_sim_queue_start() ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

const sim_room cji_sim_room_queue = { .name = "queue",
                                      .ctx_begin = sim_queue_ctx_begin,
                                      .ctx_wait = cji_sim_queue_wait_ctx,
                                      .ctx_abort = cji_sim_op_abort_all };
