/* Events: versioned points. A record takes a reference to an operation; a later record takes another and leaves the
 * waits that were made before with theirs. */
#include "sim/stream/sim_stream.h"

void cji_sim_event_drop(sim_event *e)
{
    if (!e || --e->refs) return;
    cji_sim_op_drop(e->point);
    cji_sim_ipc_event_drop(e->ipc);
    cji_sim_deps_free(&e->dep, &e->ndep, &e->dep_cap);
    cji_free(e, sizeof *e);
}

CUresult cji_sim_event_get(CUevent h, sim_event **out)
{
    if (!cji_sim_handle_is(SIM_EVENT, h)) return CUDA_ERROR_INVALID_HANDLE;
    *out = (sim_event *)h;
    return (*out)->ctx->fault;
}

/* Recorded anew: `point`, outside any capture. */
CUresult cji_sim_event_set(sim_event *e, sim_op *point)
{
    sim_op *old = e->point;
    if (e->ipc && !cji_sim_ipc_event_record(e, point)) return CUDA_ERROR_OUT_OF_MEMORY;
    point->refs++;
    e->point = point;
    e->recorded = true;
    e->capture = 0;
    e->ndep = 0;
    cji_sim_op_drop(old);
    return CUDA_SUCCESS;
}

CUresult cji_sim_event_make(sim_ctx *c, unsigned flags, sim_ipc_event *ipc, CUevent *out)
{
    sim_event *e = cji_zalloc(sizeof *e);
    if (!e || !cji_sim_handle_add(SIM_EVENT, e)) {
        cji_free(e, sizeof *e);
        cji_sim_ipc_event_drop(ipc);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    e->ctx = c;
    e->flags = flags;
    e->refs = 1;
    e->ipc = ipc;
    *out = (CUevent)e;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuEventCreate(CUevent *out, unsigned flags)
{
    sim_ctx *c;
    unsigned all = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!out || flags & ~all || (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING)))
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    sim_ipc_event *ipc = !r && flags & CU_EVENT_INTERPROCESS ? cji_sim_ipc_event_new() : NULL;
    if (!r && flags & CU_EVENT_INTERPROCESS && !ipc) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) r = cji_sim_event_make(c, flags, ipc, out);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuEventDestroy(CUevent h)
{
    sim_lock();
    CUresult r = CUDA_ERROR_INVALID_HANDLE;
    if (cji_sim_handle_is(SIM_EVENT, h)) {
        r = ((sim_event *)h)->ctx->fault;
        cji_sim_handle_drop(h);
        cji_sim_event_drop((sim_event *)h);
    }
    sim_unlock();
    return r;
}

/* ---- In captures: an event takes a copy of the nodes that the stream's next one comes after --------------------- */

static CUresult sim_capture_record(sim_stream *s, sim_event *e)
{
    if (!cji_sim_deps_set(&e->dep, &e->ndep, &e->dep_cap, s->dep, s->ndep)) return CUDA_ERROR_OUT_OF_MEMORY;
    cji_sim_op_drop(e->point);
    e->point = NULL;
    e->capture = s->capture->id;
    e->recorded = true;
    return CUDA_SUCCESS;
}

static CUresult sim_capture_wait(sim_stream *s, sim_event *e)
{
    if (!cji_sim_event_recorded(e)) return CUDA_SUCCESS;
    sim_capture *k = e->capture ? cji_sim_capture_by_id(e->capture) : NULL;
    if (!e->capture || !k || k->invalid) {   /* recorded outside, or in a capture that is over or invalid */
        if (s->capture) s->capture->invalid = true;
        return e->capture ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (s->capture && s->capture != k) {
        s->capture->invalid = k->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (s->legacy) {
        k->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    s->capture = k;
    for (size_t i = 0; i < e->ndep; i++)
        if (cji_sim_handle_is(SIM_NODE, e->dep[i]) && !cji_sim_deps_add(&s->dep, &s->ndep, &s->dep_cap, e->dep[i])) {
            k->invalid = true;
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    return CUDA_SUCCESS;
}

/* ---- Record and wait --------------------------------------------------------------------------------------------- */

static CUresult sim_wait_near(sim_stream *s, const sim_event *e, sim_op *point)
{
    sim_op *op;
    CUresult r = cji_sim_stream_enqueue(s, NULL, point, &op);
    if (r) return r;
    op->join = SIM_JOIN_EVENT;
    op->joined = e;
    cji_sim_op_drop(op);
    return CUDA_SUCCESS;
}

/* For the point that the event has now. */
static CUresult sim_wait_now(sim_stream *s, const sim_event *e)
{
    sim_op *own;
    uint64_t foreign;
    sim_work *w;
    cji_sim_event_now(e, &own, &foreign);
    if (own) return sim_wait_near(s, e, own);
    CUresult r = foreign ? cji_sim_ipc_event_work(e, foreign, s->ctx, &w) : CUDA_SUCCESS;
    return r || !foreign ? r : cji_sim_stream_submit(s, w);
}

static CUresult sim_record(CUevent h, CUstream hs, unsigned flags)
{
    sim_event *e;
    sim_stream *s;
    CUresult r = cji_sim_event_get(h, &e);
    if (!r) r = cji_sim_stream_for_work(hs, &s);
    if (r) return r;
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if (e->ctx != s->ctx) return CUDA_ERROR_INVALID_HANDLE;
    if (s->capture && flags & CU_EVENT_RECORD_EXTERNAL) return sim_graphs->add_event(s, e, true);
    if (s->capture) return sim_capture_record(s, e);
    if (flags & CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_ILLEGAL_STATE;
    sim_op *point;
    if (e->ipc && !cji_sim_ipc_event_orphaned(e))
        r = sim_wait_now(s, e); /* such a record waits for the event's earlier point: seen on an H100 */
    if (!r) r = cji_sim_stream_enqueue(s, NULL, NULL, &point);
    if (r) return r;
    r = cji_sim_event_set(e, point);
    cji_sim_op_drop(point);
    return r;
}

CUresult cji_sim_cuEventRecordWithFlags(CUevent h, CUstream hs, unsigned flags)
{
    sim_lock();
    CUresult r = sim_record(h, hs, flags);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuEventRecord(CUevent h, CUstream hs)
{
    return cji_sim_cuEventRecordWithFlags(h, hs, CU_EVENT_RECORD_DEFAULT);
}

static CUresult sim_wait_event(CUstream hs, CUevent h, unsigned flags)
{
    sim_event *e;
    sim_stream *s;
    CUresult r = cji_sim_stream_for_work(hs, &s);
    if (!r) r = cji_sim_event_get(h, &e);
    if (r) return r;
    if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if (s->capture && flags & CU_EVENT_WAIT_EXTERNAL) return sim_graphs->add_event(s, e, false);
    if (flags & CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_ILLEGAL_STATE;
    if (s->capture || e->capture) return sim_capture_wait(s, e);
    return sim_wait_now(s, e);
}

CUresult cji_sim_cuStreamWaitEvent(CUstream hs, CUevent h, unsigned flags)
{
    sim_lock();
    CUresult r = sim_wait_event(hs, h, flags);
    sim_unlock();
    return r;
}

/* ---- Query, synchronization, time -------------------------------------------------------------------------------- */

/* An event that was recorded in a capturing stream has no moment: the question ends that capture. One that is over
 * or invalid left nothing to ask for. The time between such events is rejected without harm. */
static CUresult sim_event_uncaptured(const sim_event *e, bool harms)
{
    if (!e->capture) return CUDA_SUCCESS;
    sim_capture *k = cji_sim_capture_by_id(e->capture);
    if (!k || k->invalid) return CUDA_ERROR_INVALID_VALUE;
    if (harms) k->invalid = true;
    return CUDA_ERROR_CAPTURED_EVENT;
}

static CUresult sim_event_to_query(CUevent h, sim_event **out)
{
    CUresult r = cji_sim_event_get(h, out);
    if (r) return r;
    r = sim_event_uncaptured(*out, true);
    return r ? r : cji_sim_capture_unsafe();
}

CUresult cji_sim_cuEventQuery(CUevent h)
{
    sim_event *e;
    sim_op *own;
    uint64_t foreign;
    sim_lock();
    CUresult r = sim_event_to_query(h, &e);
    if (!r) cji_sim_event_now(e, &own, &foreign);
    if (!r && (own || foreign)) r = CUDA_ERROR_NOT_READY;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuEventSynchronize(CUevent h)
{
    sim_event *e;
    sim_op *own;
    uint64_t foreign;
    sim_lock();
    CUresult r = sim_event_to_query(h, &e);
    if (!r || (r != CUDA_ERROR_INVALID_HANDLE &&
               r == e->ctx->fault)) { /* after a fault what is pending still comes to its end */
        e->refs++;
        cji_sim_event_now(e, &own, &foreign);
        r = foreign ? cji_sim_ipc_event_sync(e, foreign) : cji_sim_queue_wait(own);
        if (!r) r = e->ctx->fault;
        cji_sim_event_drop(e);
    }
    sim_unlock();
    return r;
}

static CUresult sim_elapsed(float *ms, CUevent ha, CUevent hb)
{
    sim_event *a, *b;
    CUresult r = cji_sim_event_get(ha, &a);
    if (!r) r = cji_sim_event_get(hb, &b);
    if (r) return r;
    r = a->recorded ? sim_event_uncaptured(a, false) : CUDA_ERROR_INVALID_HANDLE;
    if (!r) r = b->recorded ? sim_event_uncaptured(b, false) : CUDA_ERROR_INVALID_HANDLE;
    if (r) return r;
    if ((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING || a->ctx->dev != b->ctx->dev)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!a->point->done || !b->point->done) return CUDA_ERROR_NOT_READY;
    *ms = (float)((double)(int64_t)(b->point->when - a->point->when) * 1e-6);
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuEventElapsedTime(float *ms, CUevent ha, CUevent hb)
{
    if (!ms) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_elapsed(ms, ha, hb);
    sim_unlock();
    return r;
}
