/* Failures of a pipeline: which chunk and stage they name, and what still happens. */
#include "stream/pipeline/stream_pipeline.h"

#include <stdio.h>

static const char *const stage_names[] = {
    [CJ_PIPELINE_END] = "end",         [CJ_PIPELINE_FILL] = "fill",         [CJ_PIPELINE_UPLOAD] = "upload",
    [CJ_PIPELINE_LAUNCH] = "launch",   [CJ_PIPELINE_COMPUTE] = "compute",   [CJ_PIPELINE_DOWNLOAD] = "download",
    [CJ_PIPELINE_DRAIN] = "drain",
};

/* The thread's latest failure becomes the pipeline's, with the names of chunk and stage in front. */
static void pipeline_name_failure(cj_pipeline *p, uint64_t chunk, cj_pipeline_stage stage)
{
    const cj_error *cause = cj_error_last();
    cj_error e = *cause;
    const int n = snprintf(e.message, sizeof e.message, "chunk %llu of %llu, %s: ", (unsigned long long)chunk,
                           (unsigned long long)p->count, stage_names[stage]);
    snprintf(e.message + n, sizeof e.message - (size_t)n, "%s", cause->message);
    cji_fail_with(p, &e);
}

/* What a callback returned, or was reported. */
static void pipeline_returned(cj_pipeline *p, uint64_t chunk, cj_pipeline_stage stage, cj_status status,
                              const char *call)
{
    cji_fail(p, status, call, "chunk %llu of %llu, %s: the status %s (%d) was returned for it",
             (unsigned long long)chunk, (unsigned long long)p->count, stage_names[stage], cj_status_name(status),
             (int)status);
}

void cji_pipeline_fail(cj_pipeline *p, uint64_t chunk, cj_pipeline_stage stage, cj_status status, bool stop,
                       const char *call)
{
    if (stop) p->stopped = true;
    if (chunk < p->limit) p->limit = chunk;
    if (chunk >= p->failed_chunk) return; /* the first chunk's failure is reported */
    p->failed_chunk = chunk;
    if (status != CJ_OK) pipeline_returned(p, chunk, stage, status, call);
    else pipeline_name_failure(p, chunk, stage);
    cji_kept_copy(&p->why, &cji_thread()->last);
}

cji_lane *cji_pipeline_lane_of(cj_pipeline *p, const cji_ring_slot *slot) { return p->lane[slot->chunk.device]; }

/* The lane's chunk whose work did not complete: the one whose launch comes behind those that the device has counted.
 * Where all have completed, or the device cannot count, the first one under way. */
static const cji_ring_slot *lane_failed_slot(const cji_lane *lane, cj_pipeline_stage *stage)
{
    const cji_ring_slot *first = NULL;
    const uint32_t computed = lane->computed ? *lane->computed : UINT32_MAX;
    for (uint32_t i = 0; i < lane->slots; i++) {
        const cji_ring_slot *slot = &lane->slot[i];
        if (slot->state != CJI_RING_RUNNING && slot->state != CJI_RING_LAUNCHING) continue;
        *stage = CJ_PIPELINE_COMPUTE;
        if (slot->serial == computed) return slot;
        if (!first || slot->chunk.index < first->chunk.index) first = slot;
    }
    if (first && lane->computed) *stage = CJ_PIPELINE_DOWNLOAD;
    for (uint32_t i = 0; i < lane->slots && !first; i++)
        if (lane->slot[i].state != CJI_RING_FREE) first = &lane->slot[i], *stage = CJ_PIPELINE_UPLOAD;
    return first;
}

/* Whether the device has failed: then the thread's latest failure is the device's, which says more: the kernel, its
 * line. */
static bool lane_is_dead(cji_lane *lane)
{
    cji_kept before;
    cji_fail_save(&before);
    if (cji_lane_idle(lane) == CJ_EDRIVER) {
        cji_record_drop(before.record);
        return true;
    }
    cji_fail_restore(&before);
    return false;
}

void cji_pipeline_fail_in(cj_pipeline *p, const cji_ring_slot *slot, cj_pipeline_stage stage, cj_status status,
                          const char *call)
{
    cji_lane *lane = cji_pipeline_lane_of(p, slot);
    if (lane_is_dead(lane)) cji_pipeline_dies(p, lane, call);
    else cji_pipeline_fail(p, slot->chunk.index, stage, status, false, call);
}

void cji_pipeline_dies(cj_pipeline *p, cji_lane *lane, const char *call)
{
    cj_pipeline_stage stage = CJ_PIPELINE_COMPUTE;
    const cji_ring_slot *slot = NULL;
    if (lane_is_dead(lane)) p->dead = true;
    for (uint32_t l = 0; l < p->lanes; l++) { /* a device may have several rings */
        cj_pipeline_stage its = CJ_PIPELINE_COMPUTE;
        const cji_ring_slot *one = p->lane[l]->dev->ctx == lane->dev->ctx ? lane_failed_slot(p->lane[l], &its) : NULL;
        if (!one || (slot && stage == CJ_PIPELINE_COMPUTE && its != stage)) continue;
        if (slot && stage == its && slot->chunk.index < one->chunk.index) continue;
        slot = one;
        stage = its;
    }
    cji_pipeline_fail(p, slot ? slot->chunk.index : p->next_drain, stage, CJ_OK, true, call);
}

cj_status cji_pipeline_failure(cj_pipeline *p)
{
    cji_kept why;
    if (cji_kept_status(&p->why) == CJ_OK) return CJ_OK;
    cji_kept_share(&p->why, &why);
    cji_fail_restore(&why);
    return cji_fail_also(p);
}
