/* Which chunk the failure of a device is assigned to.
 *
 * The events of a device that has failed report nothing but the failure, also those of work that had completed.  What
 * is left is the number of launches whose work has completed, which the device writes to pinned memory, and what the
 * CPU device reports of the fault: its stream, and the address of the access.  Work of one stream runs in its order; so
 * a kernel that fails on a lane's stream is of the first launch that is not counted. */
#include "stream/pipeline/stream_pipeline.h"

#include <cujit/sim.h>

/* -- Chunks whose work may be under way ---------------------------------------------------------------------------- */

static bool blame_enqueued(const cji_ring_slot *slot)
{
    return slot->state == CJI_RING_FILLED || slot->state == CJI_RING_LAUNCHING || slot->state == CJI_RING_RUNNING ||
           slot->state == CJI_RING_DROPPED;
}

/* Launches of the lane whose work has completed. */
static uint32_t blame_computed(const cji_lane *lane) { return __atomic_load_n(lane->computed, __ATOMIC_ACQUIRE); }

/* The kernels of its chunk have completed. */
static bool blame_is_computed(const cji_lane *lane, const cji_ring_slot *slot)
{
    return lane->computed && slot->begun_launch && (int32_t)(blame_computed(lane) - slot->serial) > 0;
}

/* What the work of a chunk has come to, as far as it is known. */
static cj_pipeline_stage blame_stage(const cji_lane *lane, const cji_ring_slot *slot)
{
    return !slot->begun_launch ? CJ_PIPELINE_UPLOAD
           : blame_is_computed(lane, slot) ? CJ_PIPELINE_DOWNLOAD
                                           : CJ_PIPELINE_COMPUTE;
}

static void blame_add(cji_blame *b, const cji_ring_slot *slot)
{
    if (slot->chunk.index < b->first) b->first = slot->chunk.index;
    if (slot->chunk.index > b->last || b->last == UINT64_MAX) b->last = slot->chunk.index;
}

static void blame_one(cji_blame *b, const cji_ring_slot *slot, cj_pipeline_stage stage)
{
    b->first = b->last = slot->chunk.index;
    b->stage = stage;
}

/* -- A fault that the device describes ----------------------------------------------------------------------------- */

static bool blame_is_stream(const cj_stream *s, const void *raw) { return s && (const void *)s->raw == raw; }

static bool blame_lies_in(uint64_t address, cj_dptr d, size_t bytes)
{
    return d.addr && address >= d.addr && address - d.addr < bytes;
}

/* A kernel on the lane's own stream: of the first launch that is not counted. */
static void blame_launch(const cji_lane *lane, cji_blame *b)
{
    for (uint32_t i = 0; i < lane->slots && lane->computed; i++) {
        const cji_ring_slot *slot = &lane->slot[i];
        if (!blame_enqueued(slot) || !slot->begun_launch || slot->serial != blame_computed(lane)) continue;
        blame_one(b, slot, CJ_PIPELINE_COMPUTE);
    }
}

/* An access to the buffers of a slot: of the chunk that has them. */
static void blame_address(const cj_pipeline *p, const cji_lane *lane, uint64_t address, cji_blame *b)
{
    for (uint32_t i = 0; i < lane->slots; i++) {
        const cji_ring_slot *slot = &lane->slot[i];
        if (!blame_enqueued(slot)) continue;
        if (!blame_lies_in(address, slot->in, p->o.chunk) && !blame_lies_in(address, slot->out, p->o.out_chunk))
            continue;
        blame_one(b, slot, CJ_PIPELINE_COMPUTE);
    }
}

/* No kernel, on one of the lane's streams: a copy, or what launch enqueued. */
static void blame_work(const cji_lane *lane, const void *raw, cji_blame *b)
{
    const bool down = blame_is_stream(lane->down, raw), up = blame_is_stream(lane->up, raw);
    for (uint32_t i = 0; i < lane->slots; i++) {
        const cji_ring_slot *slot = &lane->slot[i];
        const bool computed = blame_is_computed(lane, slot);
        if (!blame_enqueued(slot) || (up && computed) || (down && lane->computed && !computed)) continue;
        b->stage = up ? CJ_PIPELINE_UPLOAD : down ? CJ_PIPELINE_DOWNLOAD : blame_stage(lane, slot);
        blame_add(b, slot);
    }
}

/* By the launch, by the address, by the stream: the surest first. */
static void blame_lane(const cj_pipeline *p, const cji_lane *lane, const cujit_sim_fault_info *info, int way,
                       cji_blame *b)
{
    const bool kernel = info->kind != CUJIT_SIM_FAULT_WORK;
    if (way == 0 && kernel && blame_is_stream(lane->compute, info->stream)) blame_launch(lane, b);
    if (way == 1 && kernel && info->bytes) blame_address(p, lane, info->address, b);
    if (way == 2 && !kernel && (blame_is_stream(lane->up, info->stream) || blame_is_stream(lane->down, info->stream) ||
                                blame_is_stream(lane->compute, info->stream)))
        blame_work(lane, info->stream, b);
}

/* The device of `lane` describes its fault; false: it does not. */
static bool blame_fault(const cj_pipeline *p, const cji_lane *lane, cji_blame *b)
{
    const cj_device *dev = lane->dev;
    cujit_sim_fault_info info = { .size = sizeof info };
    if (!dev->drv->fault || dev->drv->fault(dev->ctx, &info) != 1) return false;
    for (int way = 0; way < 3; way++)
        for (uint32_t l = 0; l < p->lanes && b->first == UINT64_MAX; l++)
            if (p->lane[l]->dev->ctx == dev->ctx) blame_lane(p, p->lane[l], &info, way, b);
    return true;
}

/* -- A failure that nothing is known of ---------------------------------------------------------------------------- */

/* All chunks of the device that are not known to be complete; from round 0 those whose kernels are not come first. */
static void blame_all(const cj_pipeline *p, const cji_lane *lane, int from, cji_blame *b)
{
    for (int round = from; round < 3 && b->first == UINT64_MAX; round++)
        for (uint32_t l = 0; l < p->lanes; l++) {
            const cji_lane *one = p->lane[l];
            for (uint32_t i = 0; i < one->slots && one->dev->ctx == lane->dev->ctx; i++) {
                const cji_ring_slot *slot = &one->slot[i];
                if (slot->state == CJI_RING_FREE || (round < 2 && !blame_enqueued(slot))) continue;
                if (!round && blame_stage(one, slot) != CJ_PIPELINE_COMPUTE) continue;
                if (slot->chunk.index < b->first) b->stage = blame_stage(one, slot);
                blame_add(b, slot);
            }
        }
}

void cji_pipeline_blame(const cj_pipeline *p, const cji_lane *lane, cji_blame *b)
{
    *b = (cji_blame){ .first = UINT64_MAX, .last = UINT64_MAX, .stage = CJ_PIPELINE_COMPUTE };
    const bool described = blame_fault(p, lane, b);
    b->how = !described ? CJI_BLAME_FIRST : b->first == UINT64_MAX ? CJI_BLAME_DEVICE : CJI_BLAME_CHUNKS;
    if (b->first == UINT64_MAX) blame_all(p, lane, described, b);
    if (b->first == UINT64_MAX) b->first = b->last = p->next_drain;
}
