/* A device's part of a pipeline: its streams and its ring of buffers. */
#include "stream/pipeline/stream_pipeline.h"

#include "base/clock.h"
#include "base/mem.h"

/* -- Slots --------------------------------------------------------------------------------------------------------- */

static void ring_slot_free(cji_lane *lane, cji_ring_slot *slot)
{
    for (int i = 0; i < CJI_RING_STAGES; i++) {
        cj_event_free(slot->points[i].from);
        cj_event_free(slot->points[i].to);
        cj_event_free(slot->points[i].end);
    }
    if (slot->in.addr) cj_free(lane->dev, slot->in);
    if (slot->out.addr && slot->out.addr != slot->in.addr) cj_free(lane->dev, slot->out);
    cj_host_free(lane->dev, slot->in_host);
    if (slot->out_host != slot->in_host) cj_host_free(lane->dev, slot->out_host);
    *slot = (cji_ring_slot){ .state = CJI_RING_FREE };
}

/* The thread's latest failure is the pipeline's; the stream's record is not a failure of a chunk. */
static bool lane_failed(cj_pipeline *p, cji_lane *lane)
{
    cji_fail_also(p);
    if (lane->compute && !cji_obj_failed(lane->compute)) cji_err_reset(lane->compute);
    return false;
}

static bool ring_slot_buffers(cj_pipeline *p, cji_lane *lane, cji_ring_slot *slot)
{
    const cj_pipeline_opts *o = &p->o;
    const size_t both = o->in_place && o->out_chunk > o->chunk ? o->out_chunk : o->chunk;
    if (!o->no_input) {
        slot->in_host = cj_host_alloc(lane->dev, o->in_place && !o->no_output ? both : o->chunk, NULL);
        if (!slot->in_host) return lane_failed(p, lane);
        slot->in = cj_alloc(lane->compute, o->in_place ? both : o->chunk);
        if (!slot->in.addr) return lane_failed(p, lane);
        if (o->in_place) slot->out = slot->in;
    }
    if (!o->no_output) {
        slot->out_host = o->in_place ? slot->in_host : NULL;
        if (!slot->out_host) slot->out_host = cj_host_alloc(lane->dev, o->out_chunk, NULL);
        if (!slot->out_host) return lane_failed(p, lane);
        if (!slot->out.addr) slot->out = cj_alloc(lane->compute, o->out_chunk);
        if (!slot->out.addr) return lane_failed(p, lane);
    }
    return true;
}

static bool ring_event_make(cj_pipeline *p, cji_lane *lane, int timing, cj_event **event)
{
    *event = cj_event_create(lane->dev, CJ_EVENT(.timing = timing));
    if (!cji_obj_failed(*event)) return true;
    cji_fail_from(p, *event, "cj_pipeline");
    return false;
}

/* False: recorded in `p`, and nothing is left of it. */
static bool ring_slot_make(cj_pipeline *p, cji_lane *lane, cji_ring_slot *slot)
{
    bool good = ring_slot_buffers(p, lane, slot);
    for (int i = 0; i < CJI_RING_STAGES && good; i++) {
        cji_ring_points *at = &slot->points[i];
        good = ring_event_make(p, lane, 1, &at->from) && ring_event_make(p, lane, 1, &at->to) &&
               ring_event_make(p, lane, 0, &at->end);
    }
    if (good) return true;
    cji_kept why;
    cji_fail_save(&why);
    ring_slot_free(lane, slot);
    cji_fail_restore(&why);
    return false;
}

/* Streams for upload and download, behind what the buffers' home stream has. */
static bool lane_make_streams(cj_pipeline *p, cji_lane *lane, const char *call)
{
    cj_stream **side[] = { &lane->up, &lane->down };
    for (int i = 0; i < 2; i++) {
        if (*side[i]) continue;
        cj_stream *s = cj_stream_create(lane->dev, NULL);
        if (cji_obj_failed(s)) {
            cji_fail_from(p, s, call);
            cj_stream_free(s);
            return false;
        }
        cji_lock(&p->lock, CJI_LOCK_PIPELINE);
        *side[i] = s;
        cji_unlock(&p->lock, CJI_LOCK_PIPELINE);
    }
    return true;
}

/* What is enqueued on these streams from now on comes behind the allocation of the buffers. */
static bool lane_fork(cj_pipeline *p, cji_lane *lane)
{
    if (cj_stream_fork(lane->compute, lane->up) == CJ_OK && cj_stream_fork(lane->compute, lane->down) == CJ_OK)
        return true;
    cji_err_reset(lane->up);
    cji_err_reset(lane->down);
    return lane_failed(p, lane);
}

cj_status cji_lane_grow(cj_pipeline *p, cji_lane *lane, uint32_t slots, bool overlap, const char *call)
{
    const uint64_t begun = cji_now();
    const uint32_t before = lane->slots;
    bool good = !overlap || lane_make_streams(p, lane, call);
    uint32_t made = before;
    for (; good && made < slots; made++) good = ring_slot_make(p, lane, &lane->slot[made]);
    if (!good && made > before) made--;
    if (lane->up && lane->down && !lane_fork(p, lane)) good = false;
    const double seconds = cji_seconds(cji_now() - begun);
    cji_lock(&p->lock, CJI_LOCK_PIPELINE);
    p->setup += seconds;
    if (made > before) lane->slot_seconds = seconds / (made - before);
    lane->slots = made;
    cji_unlock(&p->lock, CJI_LOCK_PIPELINE);
    return good ? CJ_OK : cji_err_latest();
}

/* -- Lanes --------------------------------------------------------------------------------------------------------- */

cji_lane *cji_lane_make(cj_pipeline *p, cj_device *dev, const char *call)
{
    cji_lane *lane = cji_zalloc(sizeof *lane);
    if (!lane) {
        cji_fail(p, CJ_ENOMEM, call, "no memory for the ring of a pipeline");
        return NULL;
    }
    lane->dev = cji_obj_retain(dev);
    lane->compute = cj_stream_create(dev, NULL);
    if (cji_obj_failed(lane->compute)) {
        cji_fail_from(p, lane->compute, call);
        cji_lane_free(p, lane);
        return NULL;
    }
    uint32_t *word = cj_host_alloc(dev, sizeof *word, NULL);
    if (!word) {
        cji_fail_also(p);
        cji_lane_free(p, lane);
        return NULL;
    }
    *word = 0;
    lane->computed = word;
    lane->word = word;
    return lane;
}

void cji_lane_free(cj_pipeline *p, cji_lane *lane)
{
    cji_kept why;
    (void)p;
    cji_fail_save(&why);
    for (uint32_t i = 0; i < lane->slots; i++) ring_slot_free(lane, &lane->slot[i]);
    cj_host_free(lane->dev, lane->word);
    cj_stream_free(lane->up);
    cj_stream_free(lane->down);
    cj_stream_free(lane->compute);
    cji_device_drop(lane->dev);
    cji_free(lane, sizeof *lane);
    cji_fail_restore(&why);
}

/* -- Idle ---------------------------------------------------------------------------------------------------------- */

/* What failed for another reason than the device, and may have been enqueued all the same. */
static CUresult lane_wait(cj_stream *s)
{
    cji_scope scope;
    cji_scope_relax(&scope, s->cu);
    const CUresult r = s->cu->cuStreamSynchronize(s->raw);
    cji_scope_leave(&scope);
    return r;
}

static cj_status lane_stream_idle(cji_lane *lane, cj_stream *s)
{
    static const char call[] = "cj_pipeline_next";
    if (!s || cji_obj_failed(s) || atomic_load(&s->capturing)) return CJ_OK;
    CUresult r = cji_wait_stream(s, 0);
    if (r == CUDA_ERROR_NOT_READY) return CJ_ENOTREADY;
    if (r != CUDA_SUCCESS && !cji_breaks_context(r)) r = lane_wait(s);
    if (r == CUDA_SUCCESS || !cji_breaks_context(r)) return CJ_OK;
    return cji_rejected(lane->compute, lane->dev, r, call, "cuStreamQuery");
}

cj_status cji_lane_idle(cji_lane *lane)
{
    cj_stream *const all[] = { lane->compute, lane->up, lane->down };
    for (int i = 0; i < 3; i++) {
        const cj_status st = lane_stream_idle(lane, all[i]);
        if (st != CJ_OK) return st;
    }
    return CJ_OK;
}

void cji_lane_settle(cji_lane *lane)
{
    cj_stream *const all[] = { lane->up, lane->compute, lane->down };
    for (int i = 0; i < 3; i++)
        if (all[i] && !cji_obj_failed(all[i]) && !atomic_load(&all[i]->capturing) && lane_wait(all[i]) != CUDA_SUCCESS)
            lane_wait(all[i]);
}
