/* What a pipeline's user does next: the pull form, on which the form with callbacks is built. */
#include "base/cancel.h"
#include "stream/pipeline/stream_pipeline.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"

/* -- Searching; with the lock held --------------------------------------------------------------------------------- */

cj_event *cji_ring_point(const cji_ring_slot *slot, cji_ring_stage stage)
{
    return slot->timed ? slot->points[stage].to : slot->points[stage].end;
}

cj_event *cji_ring_end(const cj_pipeline *p, const cji_ring_slot *slot)
{
    return cji_ring_point(slot, p->o.no_output ? CJI_RING_COMPUTE : CJI_RING_DOWNLOAD);
}

/* The slot in that state whose chunk has the lowest number. */
static cji_ring_slot *ring_first(const cj_pipeline *p, cji_ring_state state)
{
    cji_ring_slot *first = NULL;
    for (uint32_t l = 0; l < p->lanes; l++)
        for (uint32_t i = 0; i < p->lane[l]->slots; i++) {
            cji_ring_slot *slot = &p->lane[l]->slot[i];
            if (slot->state == state && (!first || slot->chunk.index < first->chunk.index)) first = slot;
        }
    return first;
}

static cji_ring_slot *find_launch(const cj_pipeline *p)
{
    if (p->launching || p->next_launch >= p->limit) return NULL;
    cji_ring_slot *slot = ring_first(p, CJI_RING_FILLED);
    return slot && slot->chunk.index == p->next_launch ? slot : NULL;
}

/* CJ_OK: its work has completed; CJ_ENOTREADY; a failure. */
static cj_status ring_completed(cj_pipeline *p, const cji_ring_slot *slot)
{
    return cj_event_query(cji_ring_end(p, slot));
}

/* With .any_order: any slot whose work has completed. */
static cj_status find_completed(cj_pipeline *p, cji_ring_slot **found)
{
    for (uint32_t l = 0; l < p->lanes; l++)
        for (uint32_t i = 0; i < p->lane[l]->slots; i++) {
            cji_ring_slot *slot = &p->lane[l]->slot[i];
            if (slot->state != CJI_RING_RUNNING) continue;
            const cj_status st = ring_completed(p, slot);
            if (st == CJ_ENOTREADY) continue;
            *found = slot;
            return st;
        }
    return CJ_ENOTREADY;
}

static cj_status find_drain(cj_pipeline *p, cji_ring_slot **found)
{
    if (p->draining) return CJ_ENOTREADY;
    if (p->o.any_order) return find_completed(p, found);
    cji_ring_slot *slot = ring_first(p, CJI_RING_RUNNING);
    if (!slot || slot->chunk.index != p->next_drain) return CJ_ENOTREADY;
    *found = slot;
    return ring_completed(p, slot);
}

/* The device with the fewest chunks under way whose ring has a free slot gets the next chunk. */
static cji_ring_slot *find_free(const cj_pipeline *p)
{
    cji_ring_slot *best = NULL;
    uint32_t least = UINT32_MAX;
    for (uint32_t l = 0; l < p->lanes; l++) {
        cji_lane *lane = p->lane[l];
        for (uint32_t i = 0; i < lane->depth && lane->under_way < least; i++)
            if (lane->slot[i].state == CJI_RING_FREE) {
                best = &lane->slot[i];
                best->chunk.device = l;
                least = lane->under_way;
                break;
            }
    }
    return best;
}

/* -- Handing out; with the lock held ------------------------------------------------------------------------------- */

/* The next chunk gets a slot. */
static void ring_deal(cj_pipeline *p, cji_ring_slot *slot)
{
    cji_lane *lane = cji_pipeline_lane_of(p, slot);
    const uint64_t offset = p->next_fill * p->o.chunk, left = p->o.bytes - offset;
    const size_t bytes = left < p->o.chunk ? (size_t)left : p->o.chunk;
    slot->chunk = (cj_chunk){
        .size = sizeof slot->chunk,
        .stage = CJ_PIPELINE_FILL,
        .device = slot->chunk.device,
        .index = p->next_fill++,
        .offset = offset,
        .in_bytes = bytes,
        .out_bytes = cji_pipeline_out_bytes(p, bytes),
        .in_host = slot->in_host,
        .out_host = slot->out_host,
        .in = slot->in,
        .out = slot->out,
        .stream = lane->compute,
    };
    slot->overlap = lane->overlap;
    slot->timed = !slot->overlap || lane->dealt % CJI_TIMED_EVERY == 0;
    slot->begun_launch = false;
    lane->dealt++;
    slot->fill = slot->launch = 0;
    slot->begun = cji_now();
    if (!p->begun) p->begun = slot->begun;
    lane->under_way++;
}

static cji_ring_slot *ring_hand_out(cji_ring_slot *slot, cji_ring_state state, cj_pipeline_stage stage, bool *right)
{
    *right = true;
    slot->state = state;
    slot->chunk.stage = stage;
    slot->reported = false;
    slot->since = cji_now();
    return slot;
}

/* Who launches is the only one to count launches. */
static cji_ring_slot *ring_launch(cj_pipeline *p, cji_ring_slot *slot)
{
    slot->serial = cji_pipeline_lane_of(p, slot)->launched;
    slot->begun_launch = true;
    return ring_hand_out(slot, CJI_RING_LAUNCHING, CJ_PIPELINE_LAUNCH, &p->launching);
}

/* A pipeline that does not drain any more has ended when all of its streams are idle. */
static cj_status find_end(cj_pipeline *p, const char *call)
{
    bool idle = true;
    if (p->filling || p->launching || p->draining) return CJ_ENOTREADY;
    for (uint32_t l = 0; l < p->lanes; l++) {
        const cj_status st = cji_lane_idle(p->lane[l]);
        if (st == CJ_EDRIVER && !p->dead) cji_pipeline_dies(p, p->lane[l], call);
        idle = idle && st != CJ_ENOTREADY;
    }
    if (!idle) return CJ_ENOTREADY;
    p->ended = true;
    if (!p->finished) p->finished = cji_now();
    return CJ_OK;
}

static cj_status find_locked(cj_pipeline *p, cji_ring_slot **found, bool take, const char *call)
{
    cji_ring_slot *slot = NULL;
    *found = NULL;
    if (p->ended) return CJ_OK;
    if (p->stopped || p->next_drain >= p->limit) return find_end(p, call);
    if ((slot = find_launch(p))) {
        *found = take ? ring_launch(p, slot) : slot;
        return CJ_OK;
    }
    const cj_status st = find_drain(p, &slot);
    if (st == CJ_OK) {
        *found = take ? ring_hand_out(slot, CJI_RING_DRAINING, CJ_PIPELINE_DRAIN, &p->draining) : slot;
        return CJ_OK;
    }
    if (st != CJ_ENOTREADY) {
        cji_pipeline_dies(p, cji_pipeline_lane_of(p, slot), call);
        return find_end(p, call);
    }
    if (p->filling || p->next_fill >= p->limit || !(slot = find_free(p))) return CJ_ENOTREADY;
    if (take) {
        ring_deal(p, slot);
        ring_hand_out(slot, CJI_RING_FILLING, CJ_PIPELINE_FILL, &p->filling);
    }
    *found = slot;
    return CJ_OK;
}

/* A chunk that is to be launched: its kernels wait for its upload.  False: that failed, and something else is to be
 * done. */
static bool launch_prepared(cj_pipeline *p, cji_ring_slot *slot, const char *call)
{
    if (cji_ring_begin(p, slot, call) == CJ_OK) return true;
    cji_lock(&p->lock, CJI_LOCK_PIPELINE);
    cji_pipeline_fail_in(p, slot, CJ_PIPELINE_LAUNCH, CJ_OK, false, call);
    slot->state = CJI_RING_DROPPED;
    p->launching = false;
    p->next_launch++;
    cji_unlock(&p->lock, CJI_LOCK_PIPELINE);
    return false;
}

cj_status cji_pipeline_find(cj_pipeline *p, cji_ring_slot **found, const char *call)
{
    for (;;) {
        cji_lock(&p->lock, CJI_LOCK_PIPELINE);
        const cj_status st = find_locked(p, found, true, call);
        cji_ring_slot *slot = st == CJ_OK ? *found : NULL;
        const bool skip = slot && slot->state == CJI_RING_FILLING && p->o.no_input;
        if (skip) { /* there is nothing to fill */
            slot->state = CJI_RING_FILLED;
            p->filling = false;
        }
        const bool launch = slot && slot->state == CJI_RING_LAUNCHING;
        cji_unlock(&p->lock, CJI_LOCK_PIPELINE);
        if (!skip && (!launch || launch_prepared(p, slot, call))) return st;
    }
}

/* -- Waiting ------------------------------------------------------------------------------------------------------- */

enum { NEXT_SPIN_NS = 20000, NEXT_PAUSE_NS = 500000 };

/* A pause is a sixteenth of the time waited so far, so that no chunk waits much longer than it must. */
static void next_pause(uint64_t waited, uint64_t left)
{
    if (waited < NEXT_SPIN_NS) return;
    uint64_t ns = waited / 16 < NEXT_PAUSE_NS ? waited / 16 : NEXT_PAUSE_NS;
    if (ns > left) ns = left;
    nanosleep(&(struct timespec){ .tv_nsec = (int64_t)ns }, NULL);
}

cj_status cji_pipeline_find_until(cj_pipeline *p, cji_ring_slot **found, uint64_t deadline, const char *call)
{
    const uint64_t begun = cji_now();
    cj_status st;
    while ((st = cji_pipeline_find(p, found, call)) == CJ_ENOTREADY) {
        const uint64_t now = cji_now();
        if (now >= deadline) return st;
        next_pause(now - begun, deadline - now);
    }
    return st;
}

/* -- The pull form ------------------------------------------------------------------------------------------------- */

void cj_chunk_defaults(cj_chunk *chunk)
{
    if (chunk) *chunk = (cj_chunk){ .size = sizeof *chunk };
}

static bool chunk_is_set(cj_pipeline *p, const cj_chunk *chunk, const char *call)
{
    if (chunk && chunk->size >= sizeof chunk->size && chunk->size <= sizeof *chunk) return true;
    cji_fail(p, CJ_EINVAL, call, "chunk is NULL, or chunk->size is not sizeof(cj_chunk)");
    return false;
}

cj_status cj_pipeline_next(cj_pipeline *pipeline, cj_chunk *chunk, uint32_t ms)
{
    static const char call[] = "cj_pipeline_next";
    CJI_NO_CANCEL;
    const uint64_t deadline = cji_deadline(ms);
    cji_ring_slot *slot;
    cj_status st = cji_check(pipeline, CJI_TAG_PIPELINE, call);
    if (st != CJ_OK) return st;
    if (!chunk_is_set(pipeline, chunk, call)) return CJ_EINVAL;
    st = cji_pipeline_find_until(pipeline, &slot, deadline, call);
    if (st == CJ_ENOTREADY)
        return cji_fail(NULL, CJ_ETIMEOUT, call, "no stage can begin after %u ms; the pipeline continues", ms);
    const cj_chunk none = { .stage = CJ_PIPELINE_END };
    const size_t size = chunk->size;
    memcpy(chunk, slot ? &slot->chunk : &none, size);
    chunk->size = size;
    return slot ? CJ_OK : cji_pipeline_failure(pipeline);
}

void cji_ring_changed(cji_ring_slot *slot, const cj_chunk *chunk)
{
    slot->chunk.in_bytes = chunk->in_bytes;
    slot->chunk.out_bytes = chunk->out_bytes;
    slot->chunk.in_host = chunk->in_host;
    slot->chunk.out_host = chunk->out_host;
}

/* The slot whose stage was handed out for that chunk; with the lock held. */
static cji_ring_slot *ring_handed_out(const cj_pipeline *p, const cj_chunk *chunk)
{
    static const cji_ring_state state[] = { [CJ_PIPELINE_FILL] = CJI_RING_FILLING,
                                            [CJ_PIPELINE_LAUNCH] = CJI_RING_LAUNCHING,
                                            [CJ_PIPELINE_DRAIN] = CJI_RING_DRAINING };
    const unsigned stage = (unsigned)chunk->stage;
    if (stage >= sizeof state / sizeof *state || !state[stage]) return NULL;
    cji_ring_slot *slot = ring_first(p, state[stage]); /* one at a time is handed out */
    return slot && slot->chunk.index == chunk->index && !slot->reported ? slot : NULL;
}

cj_status cj_pipeline_done(cj_pipeline *pipeline, const cj_chunk *chunk, cj_status status)
{
    static const char call[] = "cj_pipeline_done";
    CJI_NO_CANCEL;
    cj_chunk did = { .stage = CJ_PIPELINE_END };
    cj_status st = cji_check(pipeline, CJI_TAG_PIPELINE, call);
    if (st != CJ_OK) return st;
    if (!chunk_is_set(pipeline, chunk, call)) return CJ_EINVAL;
    memcpy(&did, chunk, chunk->size);
    cji_lock(&pipeline->lock, CJI_LOCK_PIPELINE);
    cji_ring_slot *slot = ring_handed_out(pipeline, &did);
    if (slot) {
        slot->reported = true;
        did = slot->chunk;
        memcpy(&did, chunk, chunk->size);
        cji_ring_changed(slot, &did);
    }
    cji_unlock(&pipeline->lock, CJI_LOCK_PIPELINE);
    if (!slot)
        return cji_fail(pipeline, CJ_ESTATE, call,
                        "chunk %llu is not in stage %d: report a stage once, with what cj_pipeline_next has written",
                        (unsigned long long)did.index, did.stage);
    cji_pipeline_did(pipeline, slot, status, call);
    return CJ_OK;
}

cj_event *cj_pipeline_pending(cj_pipeline *pipeline)
{
    static const char call[] = "cj_pipeline_pending";
    cji_ring_slot *slot = NULL;
    cj_event *event = NULL;
    if (cji_check(pipeline, CJI_TAG_PIPELINE, call) != CJ_OK) return NULL;
    cji_lock(&pipeline->lock, CJI_LOCK_PIPELINE);
    if (find_locked(pipeline, &slot, false, call) == CJ_ENOTREADY && !pipeline->stopped && !pipeline->draining) {
        slot = ring_first(pipeline, CJI_RING_RUNNING);
        if (slot && (pipeline->o.any_order || slot->chunk.index == pipeline->next_drain))
            event = cji_ring_end(pipeline, slot);
    }
    cji_unlock(&pipeline->lock, CJI_LOCK_PIPELINE);
    return event;
}
