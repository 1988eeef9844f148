/* Host functions: called by a worker, after the stream's earlier work and before its later.
 *
 * Those of one context are called one after another (sim.set.serial; not under every schedule), in the order in which they became ready: nothing orders host functions
 * of independent streams, and a real driver has one thread for all of them.  One has its turn from the moment when nothing else holds it up, so
 * what it may still wait for lies in its own code, where the device sees nothing: no circle of edges leads through a turn. */
#include "sim/sim_core.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

CUresult cji_sim_cuLaunchHostFunc(CUstream h, CUhostFn fn, void *user)
{
    sim_stream *s;
    if (!fn) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_stream_for_work(h, &s);
    if (!r) {
        sim_work *w = cji_sim_work_new(SIM_HOST, s->ctx, 0);
        if (!w) r = CUDA_ERROR_OUT_OF_MEMORY;
        if (w) {
            w->host.fn = fn;
            w->host.user = user;
            r = cji_sim_stream_submit(s, w);
        }
    }
    sim_unlock();
    return r;
}

/* Called after a context's fault too, with the fault; cannot be captured. */
CUresult cji_sim_cuStreamAddCallback(CUstream h, CUstreamCallback fn, void *user, unsigned flags)
{
    sim_stream *s;
    if (!fn || flags) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_stream_to_capture(h, &s);
    if (!r && s->capture) r = cji_sim_capture_refuses(s);
    if (!r) {
        sim_work *w = cji_sim_work_new(SIM_CALLBACK, s->ctx, 0);
        if (!w) r = CUDA_ERROR_OUT_OF_MEMORY;
        if (w) {
            w->callback.fn = fn;
            w->callback.stream = h;
            w->callback.user = user;
            r = cji_sim_stream_submit(s, w);
        }
    }
    sim_unlock();
    return r;
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

static bool sim_is_host(const sim_op *op) { return op->work && (op->work->verb == SIM_HOST || op->work->verb == SIM_CALLBACK); }

static void sim_serial_queue(sim_op *op)
{
    sim_ctx *c = op->ctx;
    op->queued = true;
    op->when = cji_now();
    op->next_ready = NULL;
    op->prev_ready = c->host_last;
    if (c->host_last) c->host_last->next_ready = op;
    else c->host_first = op;
    c->host_last = op;
}

void cji_sim_serial_unqueue(sim_op *op)
{
    sim_ctx *c = op->ctx;
    if (op->prev_ready) op->prev_ready->next_ready = op->next_ready;
    else c->host_first = op->next_ready;
    if (op->next_ready) op->next_ready->prev_ready = op->prev_ready;
    else c->host_last = op->prev_ready;
    op->next_ready = op->prev_ready = NULL;
    op->queued = false;
}

/* The eager schedule gives the turn to the first that is ready, the others to the one that they choose. */
bool cji_sim_serial_queues(sim_op *op)
{
    if (!sim.set.serial || !sim_is_host(op)) return false;
    if (op->ctx->host) {
        sim_serial_queue(op);
        return true;
    }
    if (sim.set.schedule == SIM_EAGER) op->ctx->host = op;
    return false;
}

/* It has been chosen: the others of its context are no choice until it has returned. */
static void sim_serial_take(sim_op *op)
{
    op->ctx->host = op;
    for (int i = 0; i < SIM_PRIORITIES; i++)
        for (sim_op *o = sim.ready_first[i], *next; o; o = next) {
            next = o->next_ready;
            if (o == op || o->ctx != op->ctx || !sim_is_host(o)) continue;
            cji_sim_queue_remove(o);
            sim_serial_queue(o);
        }
}

void cji_sim_serial_begin(sim_op *op)
{
    if (sim.set.serial && op->ctx->host != op) sim_serial_take(op);
    sim.in_host++;
    op->long_reported = false;
    op->when = cji_now();
    cji_sim_watch(op);
}

void cji_sim_serial_end(sim_op *op)
{
    sim_ctx *c = op->ctx;
    sim.in_host--;
    cji_sim_unwatch(op);
    if (c->host != op) return;
    c->host = NULL;
    while (c->host_first && !c->host) {
        sim_op *o = c->host_first;
        cji_sim_serial_unqueue(o);
        cji_sim_queue_ready(o);
    }
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

void cji_sim_host_run(sim_op *op, const sim_work *w)
{
    cji_sim_host_section(true);
    if (w->verb == SIM_HOST) w->host.fn(w->host.user);
    else w->callback.fn(w->callback.stream, __atomic_load_n(&op->ctx->fault, __ATOMIC_RELAXED), w->callback.user);
    cji_sim_host_section(false);
}
