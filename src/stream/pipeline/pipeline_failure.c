/* Failures of a pipeline: which chunk and stage they name, and what still happens. */
#include "stream/pipeline/stream_pipeline.h"

static const char *const stage_names[] = {
    [CJ_PIPELINE_END] = "end",         [CJ_PIPELINE_FILL] = "fill",         [CJ_PIPELINE_UPLOAD] = "upload",
    [CJ_PIPELINE_LAUNCH] = "launch",   [CJ_PIPELINE_COMPUTE] = "compute",   [CJ_PIPELINE_DOWNLOAD] = "download",
    [CJ_PIPELINE_DRAIN] = "drain",
};

/* The thread's latest failure becomes the pipeline's, with the names of chunk and stage in front. */
static void pipeline_name_failure(cj_pipeline *p, const cji_blame *b)
{
    const cj_error *cause = cj_error_last();
    const unsigned long long first = b->first, last = b->last, all = p->count;
    const char *stage = stage_names[b->stage];
    cj_error e = *cause;
    cji_line l = { e.message, sizeof e.message, 0 };
    *e.message = 0;
    if (first == last || b->how == CJI_BLAME_FIRST) cji_say(&l, "chunk %llu of %llu, ", first, all);
    else cji_say(&l, "a chunk from %llu to %llu of %llu, ", first, last, all);
    if (b->how == CJI_BLAME_DEVICE) cji_say(&l, "or other work of the device: ");
    else if (b->how == CJI_BLAME_FIRST) cji_say(&l, "%s, the first one that is not known to be complete: ", stage);
    else cji_say(&l, "%s: ", stage);
    cji_say(&l, "%s", cause->message);
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

/* The failure of what `b` names; with `status` what a callback returned, else the thread's latest failure. */
static void pipeline_blamed(cj_pipeline *p, const cji_blame *b, cj_status status, bool stop, const char *call)
{
    if (stop) p->stopped = true;
    if (b->first < p->limit) p->limit = b->first;
    if (b->first >= p->failed_chunk) return; /* the first chunk's failure is reported */
    p->failed_chunk = b->first;
    if (status != CJ_OK) pipeline_returned(p, b->first, b->stage, status, call);
    else pipeline_name_failure(p, b);
    cji_kept_copy(&p->why, &cji_thread()->last);
}

cji_lane *cji_pipeline_lane_of(cj_pipeline *p, const cji_ring_slot *slot) { return p->lane[slot->chunk.device]; }

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
                          bool stop, const char *call)
{
    const cji_blame b = { .first = slot->chunk.index, .last = slot->chunk.index, .stage = stage };
    cji_lane *lane = cji_pipeline_lane_of(p, slot);
    if (lane_is_dead(lane)) cji_pipeline_dies(p, lane, call);
    else pipeline_blamed(p, &b, status, stop, call);
}

void cji_pipeline_dies(cj_pipeline *p, cji_lane *lane, const char *call)
{
    cji_blame b;
    if (lane_is_dead(lane)) p->dead = true;
    cji_pipeline_blame(p, lane, &b);
    pipeline_blamed(p, &b, CJ_OK, true, call);
}

cj_status cji_pipeline_failure(cj_pipeline *p)
{
    cji_kept why;
    if (cji_kept_status(&p->why) == CJ_OK) return CJ_OK;
    cji_kept_share(&p->why, &why);
    cji_fail_restore(&why);
    return cji_fail_also(p);
}
