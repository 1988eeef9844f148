/* What a chunk's stages lead to: its upload, the end of its kernels, its download, and the end of the chunk. */
#include "stream/pipeline/stream_pipeline.h"

#include "base/cancel.h"
#include "base/clock.h"

size_t cji_pipeline_out_bytes(const cj_pipeline *p, size_t in_bytes)
{
    if (p->o.no_output) return 0;
    if (p->o.out_chunk == p->chunk_ratio) return in_bytes;
    /* both factors are less than 2^32 */
    const uint64_t out = ((uint64_t)in_bytes * p->o.out_chunk + p->chunk_ratio - 1) / p->chunk_ratio;
    return out < p->o.out_chunk ? (size_t)out : p->o.out_chunk;
}

/* -- Enqueueing; without the lock, by who has the right ------------------------------------------------------------ */

/* A call's failure in `from`, a stream or an event, becomes the thread's latest one; the object has none any more. */
static cj_status failed_in(void *from, const char *call)
{
    const cj_status st = cji_fail_from(NULL, from, call);
    cji_err_reset(from);
    return st;
}

static cj_status ring_mark(cj_event *event, cj_stream *s, const char *call)
{
    if (cj_event_record(event, s) == CJ_OK) return CJ_OK;
    cji_err_reset(s);
    return failed_in(event, call);
}

/* A stage begins on `s`, and ends. */
static cj_status ring_from(cji_ring_slot *slot, cji_ring_stage stage, cj_stream *s, const char *call)
{
    return slot->timed ? ring_mark(slot->points[stage].from, s, call) : CJ_OK;
}
static cj_status ring_to(cji_ring_slot *slot, cji_ring_stage stage, cj_stream *s, const char *call)
{
    return ring_mark(cji_ring_point(slot, stage), s, call);
}

/* What comes on `s` waits for a stage of the chunk, which another stream has. */
static cj_status ring_behind(cji_ring_slot *slot, cji_ring_stage stage, cj_stream *s, const char *call)
{
    cj_event *point = cji_ring_point(slot, stage);
    if (!slot->overlap || cj_stream_wait(s, point) == CJ_OK) return CJ_OK;
    cji_err_reset(point);
    return failed_in(s, call);
}

static cj_status ring_upload(cj_pipeline *p, cji_ring_slot *slot, const char *call)
{
    cji_lane *lane = cji_pipeline_lane_of(p, slot);
    cj_stream *s = slot->overlap ? lane->up : lane->compute;
    const cj_chunk *c = &slot->chunk;
    if (p->o.no_input) return CJ_OK;
    if (c->in_bytes > p->o.chunk)
        return cji_fail(NULL, CJ_EINVAL, call, "%zu bytes of input, and a chunk has at most %zu", c->in_bytes,
                        p->o.chunk);
    cj_status st = ring_from(slot, CJI_RING_UPLOAD, s, call);
    if (st == CJ_OK && cj_copy_to_device(s, c->in, c->in_host, c->in_bytes) != CJ_OK) st = failed_in(s, call);
    return st == CJ_OK ? ring_to(slot, CJI_RING_UPLOAD, s, call) : st;
}

cj_status cji_ring_begin(cj_pipeline *p, cji_ring_slot *slot, const char *call)
{
    cj_stream *s = slot->chunk.stream;
    const cj_status st = p->o.no_input ? CJ_OK : ring_behind(slot, CJI_RING_UPLOAD, s, call);
    return st == CJ_OK ? ring_from(slot, CJI_RING_COMPUTE, s, call) : st;
}

/* The device counts the launches whose work has completed, so that a fault can be assigned to its chunk.  False: it
 * cannot.  A device that has failed meanwhile has counted those before. */
static bool ring_count(cji_lane *lane)
{
    cji_scope scope;
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)lane->word;
    lane->launched++;
    if (!lane->computed || cji_scope_context(&scope, lane->compute->cu, lane->dev->ctx) != CUDA_SUCCESS) return true;
    const CUresult r = lane->compute->cu->cuStreamWriteValue32(lane->compute->raw, at, lane->launched, 0);
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS || cji_breaks_context(r);
}

static cj_status ring_download(cj_pipeline *p, cji_ring_slot *slot, const char *call)
{
    cji_lane *lane = cji_pipeline_lane_of(p, slot);
    cj_stream *s = slot->overlap ? lane->down : lane->compute;
    const cj_chunk *c = &slot->chunk;
    if (p->o.no_output) return CJ_OK;
    cj_status st = ring_behind(slot, CJI_RING_COMPUTE, s, call);
    if (st == CJ_OK) st = ring_from(slot, CJI_RING_DOWNLOAD, s, call);
    if (st == CJ_OK && cj_copy_to_host(s, c->out_host, c->out, c->out_bytes) != CJ_OK) st = failed_in(s, call);
    return st == CJ_OK ? ring_to(slot, CJI_RING_DOWNLOAD, s, call) : st;
}

/* What launch left. */
static cj_status ring_launched(cj_pipeline *p, cji_ring_slot *slot, const char *call)
{
    cj_stream *s = slot->chunk.stream;
    if (cji_err_status(s) != CJ_OK) return failed_in(s, call);
    if (atomic_load(&s->capturing))
        return cji_fail(NULL, CJ_ESTATE, call,
                        "a capture of the chunk's stream is open; end it before the stage is done");
    if (slot->chunk.out_bytes > p->o.out_chunk && !p->o.no_output)
        return cji_fail(NULL, CJ_EINVAL, call, "%zu bytes of output, and .out_chunk is %zu", slot->chunk.out_bytes,
                        p->o.out_chunk);
    return CJ_OK;
}

/* -- Fill and launch are done -------------------------------------------------------------------------------------- */

static void fill_did(cj_pipeline *p, cji_ring_slot *slot, cj_status status, const char *call)
{
    const bool filled = status == CJ_OK;
    slot->fill = cji_seconds(cji_now() - slot->since);
    slot->chunk.out_bytes = cji_pipeline_out_bytes(p, slot->chunk.in_bytes);
    cj_status st = filled ? ring_upload(p, slot, call) : status;
    cji_lock(&p->lock, CJI_LOCK_PIPELINE);
    if (st != CJ_OK) cji_pipeline_fail_in(p, slot, filled ? CJ_PIPELINE_UPLOAD : CJ_PIPELINE_FILL, status, false,
                                         call);
    slot->state = st == CJ_OK ? CJI_RING_FILLED : CJI_RING_DROPPED;
    p->filling = false;
    cji_unlock(&p->lock, CJI_LOCK_PIPELINE);
}

static void launch_did(cj_pipeline *p, cji_ring_slot *slot, cj_status status, const char *call)
{
    cj_pipeline_stage stage = CJ_PIPELINE_LAUNCH;
    cji_lane *lane = cji_pipeline_lane_of(p, slot);
    bool counts = true;
    slot->launch = cji_seconds(cji_now() - slot->since);
    cj_status st = ring_launched(p, slot, call);
    if (st == CJ_OK && status != CJ_OK) st = status;
    else status = CJ_OK; /* the stream's failure is the cause */
    if (st == CJ_OK) {
        counts = ring_count(lane); /* before the end is recorded: what has ended is counted */
        st = ring_to(slot, CJI_RING_COMPUTE, slot->chunk.stream, call);
    }
    if (st == CJ_OK) {
        stage = CJ_PIPELINE_DOWNLOAD;
        st = ring_download(p, slot, call);
    }
    cji_lock(&p->lock, CJI_LOCK_PIPELINE);
    if (!counts) lane->computed = NULL;
    if (st == CJ_OK) p->overlapped |= slot->overlap;
    else cji_pipeline_fail_in(p, slot, stage, status, false, call);
    slot->state = st == CJ_OK ? CJI_RING_RUNNING : CJI_RING_DROPPED;
    p->next_launch++;
    p->launching = false;
    cji_unlock(&p->lock, CJI_LOCK_PIPELINE);
}

/* -- Drain is done ------------------------------------------------------------------------------------------------- */

/* Seconds that a stage of the slot's chunk took, which has ended; 0: it was not timed. */
static double ring_elapsed(cji_ring_slot *slot, cji_ring_stage stage)
{
    float ms = 0;
    cji_kept before;
    if (!slot->timed) return 0;
    cji_fail_save(&before);
    if (cj_event_elapsed(slot->points[stage].from, slot->points[stage].to, &ms) != CJ_OK) ms = 0;
    cji_fail_restore(&before);
    return (double)ms / 1e3;
}

static cji_pipeline_times ring_times(cj_pipeline *p, cji_ring_slot *slot, uint64_t now)
{
    return (cji_pipeline_times){
        .fill = slot->fill,
        .launch = slot->launch,
        .drain = cji_seconds(now - slot->since),
        .upload = p->o.no_input ? 0 : ring_elapsed(slot, CJI_RING_UPLOAD),
        .compute = ring_elapsed(slot, CJI_RING_COMPUTE),
        .download = p->o.no_output ? 0 : ring_elapsed(slot, CJI_RING_DOWNLOAD),
        .whole = cji_seconds(now - slot->begun),
    };
}

/* With the lock held. */
static void drain_count(cj_pipeline *p, cji_lane *lane, const cji_ring_slot *slot, const cji_pipeline_times *t)
{
    p->next_drain++;
    if (!p->o.no_input) p->bytes_in += slot->chunk.in_bytes;
    if (!p->o.no_output) p->bytes_out += slot->chunk.out_bytes;
    lane->drained++;
    lane->timed += slot->timed;
    p->fill += t->fill, p->launch += t->launch, p->drain += t->drain;
    lane->sum.upload += t->upload, lane->sum.compute += t->compute, lane->sum.download += t->download;
}

/* A drain that is done frees the slot; the caller has the right to drain until it returns. */
static void drain_did(cj_pipeline *p, cji_ring_slot *slot, cj_status status, const char *call)
{
    const uint64_t now = cji_now();
    cji_lane *lane = cji_pipeline_lane_of(p, slot);
    const cji_pipeline_times t = ring_times(p, slot, now);
    uint32_t slots = 0;
    bool grow = false, cancelled = false;
    cji_lock(&p->lock, CJI_LOCK_PIPELINE);
    if (status == CJ_OK) {
        drain_count(p, lane, slot, &t);
        p->finished = now;
        grow = cji_depth_note(p, lane, slot, &t, &slots);
    } else {
        cji_pipeline_fail_in(p, slot, CJ_PIPELINE_DRAIN, status, true, call);
    }
    slot->state = CJI_RING_FREE;
    lane->under_way--;
    const uint64_t done = p->next_drain;
    cji_unlock(&p->lock, CJI_LOCK_PIPELINE);
    if (status == CJ_OK && p->o.progress) cancelled = p->o.progress(p->o.user, done, p->count) != 0;
    if (cancelled) cj_pipeline_cancel(p);
    cji_lock(&p->lock, CJI_LOCK_PIPELINE);
    p->draining = false;
    cji_unlock(&p->lock, CJI_LOCK_PIPELINE);
    if (!grow) return;
    cji_kept before;
    cji_fail_save(&before); /* without more buffers the pipeline continues with those that it has */
    cji_lane_grow(p, lane, slots, true, call);
    cji_fail_restore(&before);
    cji_depth_grown(p, lane, slots);
}

void cji_pipeline_did(cj_pipeline *p, cji_ring_slot *slot, cj_status status, const char *call)
{
    switch (slot->chunk.stage) {
    case CJ_PIPELINE_FILL: fill_did(p, slot, status, call); break;
    case CJ_PIPELINE_LAUNCH: launch_did(p, slot, status, call); break;
    default: drain_did(p, slot, status, call); break;
    }
}
