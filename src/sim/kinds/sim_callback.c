/* Callbacks of cuStreamAddCallback: host functions that get the stream and its status. */
#include "sim/kinds/sim_kinds.h"

#include <string.h>

typedef struct sim_callback { sim_work work; CUstreamCallback fn; CUstream stream; void *user; } sim_callback;

static const sim_callback *sim_callback_of(const sim_work *w) { return (const sim_callback *)w; }

/* Called after a context's fault too, with the fault; cannot be captured. */
CUresult cji_sim_cuStreamAddCallback(CUstream h, CUstreamCallback fn, void *user, unsigned flags)
{
    sim_stream *s;
    if (!fn || flags) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_stream_to_capture(h, &s);
    if (!r && s->capture) r = cji_sim_capture_rejects(s);
    sim_callback *w = r ? NULL : (sim_callback *)cji_sim_work_new(&cji_sim_kind_callback, s->ctx, sizeof *w);
    if (!r && !w) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) {
        w->fn = fn;
        w->stream = h;
        w->user = user;
        r = cji_sim_stream_submit(s, &w->work);
    }
    sim_unlock();
    return r;
}

/* ---- The kind ---------------------------------------------------------------------------------------------------- */

static void sim_callback_run(sim_op *op)
{
    const sim_callback *w = sim_callback_of(op->work);
    cji_sim_host_section(true);
    w->fn(w->stream, __atomic_load_n(&op->ctx->fault, __ATOMIC_RELAXED), w->user);
    cji_sim_host_section(false);
}

static const void *sim_callback_code(const sim_work *w)
{
    const void *p = NULL;
    memcpy(&p, &sim_callback_of(w)->fn, sizeof p);
    return p;
}

const sim_work_kind cji_sim_kind_callback = { .name = "host",
                                              .node_type = CU_GRAPH_NODE_TYPE_HOST,
                                              .traits = SIM_WORK_HOST | SIM_WORK_AFTER_FAULT | SIM_WORK_WRITES_ANYTHING,
                                              .run = sim_callback_run,
                                              .code = sim_callback_code };
