/* Host functions: called by a worker, after the stream's earlier work and before its later. */
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
    CUresult r = cji_sd_stream_for_work(h, &s);
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

void cji_sd_run_host(sd_op *op, const sd_work *w)
{
    cji_sd_host_section(true);
    if (w->verb == SD_HOST) w->host.fn(w->host.user);
    else w->callback.fn(w->callback.stream, __atomic_load_n(&op->ctx->fault, __ATOMIC_RELAXED), w->callback.user);
    cji_sd_host_section(false);
}
