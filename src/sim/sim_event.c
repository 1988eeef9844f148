/* Events: versioned points.  A record takes a reference to an operation; a later record takes another and leaves the waits that
 * were made before with theirs. */
#include "sim/simcore.h"
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_queue.h"
#include "sim/sim_shared.h"
#include "sim/sim_stream.h"

void cji_sd_event_drop(sd_event *e)
{
    if (!e || --e->refs) return;
    cji_sd_op_drop(e->point);
    cji_sd_shared_drop(e->shared);
    cji_sd_deps_free(&e->dep, &e->ndep, &e->dep_cap);
    cji_free(e, sizeof *e);
}

CUresult cji_sd_event_get(CUevent h, sd_event **out)
{
    if (!cji_sd_handle_is(SD_EVENT, h)) return CUDA_ERROR_INVALID_HANDLE;
    *out = (sd_event *)h;
    return (*out)->ctx->fault;
}

/* Recorded anew: `point`, outside any capture. */
CUresult cji_sd_event_set(sd_event *e, sd_op *point)
{
    sd_op *old = e->point;
    if (e->shared && !cji_sd_shared_record(e, point)) return CUDA_ERROR_OUT_OF_MEMORY;
    point->refs++;
    e->point = point;
    e->recorded = true;
    e->capture = 0;
    e->ndep = 0;
    cji_sd_op_drop(old);
    return CUDA_SUCCESS;
}

CUresult cji_sd_event_make(sd_ctx *c, unsigned flags, sd_shared *shared, CUevent *out)
{
    sd_event *e = cji_zalloc(sizeof *e);
    if (!e || !cji_sd_handle_add(SD_EVENT, e)) {
        cji_free(e, sizeof *e);
        cji_sd_shared_drop(shared);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    e->ctx = c;
    e->flags = flags;
    e->refs = 1;
    e->shared = shared;
    *out = (CUevent)e;
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuEventCreate(CUevent *out, unsigned flags)
{
    sd_ctx *c;
    unsigned all = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!out || flags & ~all || (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_ctx(&c);
    sd_shared *shared = !r && flags & CU_EVENT_INTERPROCESS ? cji_sd_shared_new() : NULL;
    if (!r && flags & CU_EVENT_INTERPROCESS && !shared) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) r = cji_sd_event_make(c, flags, shared, out);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuEventDestroy(CUevent h)
{
    sd_lock();
    CUresult r = CUDA_ERROR_INVALID_HANDLE;
    if (cji_sd_handle_is(SD_EVENT, h)) {
        r = ((sd_event *)h)->ctx->fault;
        cji_sd_handle_drop(h);
        cji_sd_event_drop((sd_event *)h);
    }
    sd_unlock();
    return r;
}

/* ---- Record and wait --------------------------------------------------------------------------------------------- */

static CUresult sd_wait_near(sd_stream *s, const sd_event *e, sd_op *point)
{
    sd_op *op;
    CUresult r = cji_sd_enqueue(s, NULL, point, &op);
    if (r) return r;
    op->join = SD_BEHIND_EVENT;
    op->joined = e;
    cji_sd_op_drop(op);
    return CUDA_SUCCESS;
}

/* For the point that the event has now. */
static CUresult sd_wait_now(sd_stream *s, const sd_event *e)
{
    sd_op *near;
    uint64_t far;
    sd_work *w;
    cji_sd_event_now(e, &near, &far);
    if (near) return sd_wait_near(s, e, near);
    CUresult r = far ? cji_sd_far_work(e, far, s->ctx, &w) : CUDA_SUCCESS;
    return r || !far ? r : cji_sd_submit(s, w);
}

static CUresult sd_record(CUevent h, CUstream hs, unsigned flags)
{
    sd_event *e;
    sd_stream *s;
    CUresult r = cji_sd_event_get(h, &e);
    if (!r) r = cji_sd_stream_for_work(hs, &s);
    if (r) return r;
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if (e->ctx != s->ctx) return CUDA_ERROR_INVALID_HANDLE;
    if (s->capture && flags & CU_EVENT_RECORD_EXTERNAL) {
        sd_work *w = cji_sd_work_new(SD_RECORD, s->ctx, 0);
        if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
        w->event = e;
        e->refs++;
        return cji_sd_capture_add(s, w);
    }
    if (s->capture) return cji_sd_capture_record(s, e);
    if (flags & CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_ILLEGAL_STATE;
    sd_op *point;
    if (e->shared && !cji_sd_shared_orphaned(e)) r = sd_wait_now(s, e); /* such a record waits for the event's earlier point: seen on an H100 */
    if (!r) r = cji_sd_enqueue(s, NULL, NULL, &point);
    if (r) return r;
    r = cji_sd_event_set(e, point);
    cji_sd_op_drop(point);
    return r;
}

CUresult cji_sd_cuEventRecordWithFlags(CUevent h, CUstream hs, unsigned flags)
{
    sd_lock();
    CUresult r = sd_record(h, hs, flags);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuEventRecord(CUevent h, CUstream hs) { return cji_sd_cuEventRecordWithFlags(h, hs, CU_EVENT_RECORD_DEFAULT); }

static CUresult sd_wait_event(CUstream hs, CUevent h, unsigned flags)
{
    sd_event *e;
    sd_stream *s;
    CUresult r = cji_sd_stream_for_work(hs, &s);
    if (!r) r = cji_sd_event_get(h, &e);
    if (r) return r;
    if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if (s->capture && flags & CU_EVENT_WAIT_EXTERNAL) {
        sd_work *w = cji_sd_work_new(SD_WAIT, s->ctx, 0);
        if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
        w->event = e;
        e->refs++;
        return cji_sd_capture_add(s, w);
    }
    if (flags & CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_ILLEGAL_STATE;
    if (s->capture || e->capture) return cji_sd_capture_wait(s, e);
    return sd_wait_now(s, e);
}

CUresult cji_sd_cuStreamWaitEvent(CUstream hs, CUevent h, unsigned flags)
{
    sd_lock();
    CUresult r = sd_wait_event(hs, h, flags);
    sd_unlock();
    return r;
}

/* ---- Query, synchronization, time -------------------------------------------------------------------------------- */

/* An event that was recorded in a capturing stream has no moment: the question ends that capture.  One that is over or invalid left nothing to
 * ask for.  The time between such events is refused without harm. */
static CUresult sd_event_uncaptured(const sd_event *e, bool harms)
{
    if (!e->capture) return CUDA_SUCCESS;
    sd_capture *k = cji_sd_capture_by_id(e->capture);
    if (!k || k->invalid) return CUDA_ERROR_INVALID_VALUE;
    if (harms) cji_sd_capture_invalidate(k);
    return CUDA_ERROR_CAPTURED_EVENT;
}

static CUresult sd_event_to_ask(CUevent h, sd_event **out)
{
    CUresult r = cji_sd_event_get(h, out);
    if (r) return r;
    r = sd_event_uncaptured(*out, true);
    return r ? r : cji_sd_unsafe();
}

CUresult cji_sd_cuEventQuery(CUevent h)
{
    sd_event *e;
    sd_op *near;
    uint64_t far;
    sd_lock();
    CUresult r = sd_event_to_ask(h, &e);
    if (!r) cji_sd_event_now(e, &near, &far);
    if (!r && (near || far)) r = CUDA_ERROR_NOT_READY;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuEventSynchronize(CUevent h)
{
    sd_event *e;
    sd_op *near;
    uint64_t far;
    sd_lock();
    CUresult r = sd_event_to_ask(h, &e);
    if (!r || (r != CUDA_ERROR_INVALID_HANDLE && r == e->ctx->fault)) {   /* after a fault what is pending still comes to its end */
        e->refs++;
        cji_sd_event_now(e, &near, &far);
        r = far ? cji_sd_far_sync(e, far) : cji_sd_wait(near);
        if (!r) r = e->ctx->fault;
        cji_sd_event_drop(e);
    }
    sd_unlock();
    return r;
}

static CUresult sd_elapsed(float *ms, CUevent ha, CUevent hb)
{
    sd_event *a, *b;
    CUresult r = cji_sd_event_get(ha, &a);
    if (!r) r = cji_sd_event_get(hb, &b);
    if (r) return r;
    r = a->recorded ? sd_event_uncaptured(a, false) : CUDA_ERROR_INVALID_HANDLE;
    if (!r) r = b->recorded ? sd_event_uncaptured(b, false) : CUDA_ERROR_INVALID_HANDLE;
    if (r) return r;
    if ((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING || a->ctx->dev != b->ctx->dev)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!a->point->done || !b->point->done) return CUDA_ERROR_NOT_READY;
    *ms = (float)((double)(int64_t)(b->point->when - a->point->when) * 1e-6);
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuEventElapsedTime(float *ms, CUevent ha, CUevent hb)
{
    if (!ms) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_elapsed(ms, ha, hb);
    sd_unlock();
    return r;
}
