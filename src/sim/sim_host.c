/* Host functions: called by a worker, after the stream's earlier work and before its later.
 *
 * Those of one context are called one after another (sd.set.serial; not under every schedule), in the order in which they became ready: nothing orders host functions
 * of independent streams, and a real driver has one thread for all of them.  One has its turn from the moment when nothing else holds it up, so
 * what it may still wait for lies in its own code, where the device sees nothing: no circle of edges leads through a turn. */
#include "sim/simcore.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

CUresult cji_sd_cuLaunchHostFunc(CUstream h, CUhostFn fn, void *user)
{
    sd_stream *s;
    if (!fn) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_stream_for_work(h, &s);
    if (!r) {
        sd_work *w = cji_sd_work_new(SD_HOST, s->ctx, 0);
        if (!w) r = CUDA_ERROR_OUT_OF_MEMORY;
        if (w) {
            w->host.fn = fn;
            w->host.user = user;
            r = cji_sd_submit(s, w);
        }
    }
    sd_unlock();
    return r;
}

/* Called after a context's fault too, with the fault; cannot be captured. */
CUresult cji_sd_cuStreamAddCallback(CUstream h, CUstreamCallback fn, void *user, unsigned flags)
{
    sd_stream *s;
    if (!fn || flags) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_stream_to_capture(h, &s);
    if (!r && s->capture) r = cji_sd_capture_refuses(s);
    if (!r) {
        sd_work *w = cji_sd_work_new(SD_CALLBACK, s->ctx, 0);
        if (!w) r = CUDA_ERROR_OUT_OF_MEMORY;
        if (w) {
            w->callback.fn = fn;
            w->callback.stream = h;
            w->callback.user = user;
            r = cji_sd_submit(s, w);
        }
    }
    sd_unlock();
    return r;
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

static bool sd_is_host(const sd_op *op) { return op->work && (op->work->verb == SD_HOST || op->work->verb == SD_CALLBACK); }

static void sd_host_queue(sd_op *op)
{
    sd_ctx *c = op->ctx;
    op->queued = true;
    op->when = cji_sd_now();
    op->next_ready = NULL;
    op->prev_ready = c->host_last;
    if (c->host_last) c->host_last->next_ready = op;
    else c->host_first = op;
    c->host_last = op;
}

void cji_sd_host_unqueue(sd_op *op)
{
    sd_ctx *c = op->ctx;
    if (op->prev_ready) op->prev_ready->next_ready = op->next_ready;
    else c->host_first = op->next_ready;
    if (op->next_ready) op->next_ready->prev_ready = op->prev_ready;
    else c->host_last = op->prev_ready;
    op->next_ready = op->prev_ready = NULL;
    op->queued = false;
}

/* The eager schedule gives the turn to the first that is ready, the others to the one that they choose. */
bool cji_sd_host_queues(sd_op *op)
{
    if (!sd.set.serial || !sd_is_host(op)) return false;
    if (op->ctx->host) {
        sd_host_queue(op);
        return true;
    }
    if (sd.set.schedule == SD_EAGER) op->ctx->host = op;
    return false;
}

/* It has been chosen: the others of its context are no choice until it has returned. */
static void sd_host_take(sd_op *op)
{
    op->ctx->host = op;
    for (int i = 0; i < SD_PRIORITIES; i++)
        for (sd_op *o = sd.ready_first[i], *next; o; o = next) {
            next = o->next_ready;
            if (o == op || o->ctx != op->ctx || !sd_is_host(o)) continue;
            cji_sd_unready(o);
            sd_host_queue(o);
        }
}

void cji_sd_host_begin(sd_op *op)
{
    if (sd.set.serial && op->ctx->host != op) sd_host_take(op);
    sd.in_host++;
    op->told_long = false;
    op->when = cji_sd_now();
    cji_sd_watch(op);
}

void cji_sd_host_end(sd_op *op)
{
    sd_ctx *c = op->ctx;
    sd.in_host--;
    cji_sd_unwatch(op);
    if (c->host != op) return;
    c->host = NULL;
    while (c->host_first && !c->host) {
        sd_op *o = c->host_first;
        cji_sd_host_unqueue(o);
        cji_sd_ready(o);
    }
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

void cji_sd_run_host(sd_op *op, const sd_work *w)
{
    cji_sd_host_section(true);
    if (w->verb == SD_HOST) w->host.fn(w->host.user);
    else w->callback.fn(w->callback.stream, __atomic_load_n(&op->ctx->fault, __ATOMIC_RELAXED), w->callback.user);
    cji_sd_host_section(false);
}
