/* The limit of the link: copies of a chunk's input and output at the same time, with no kernel between them. */
#include "stream/pipeline/stream_pipeline.h"

#include "base/clock.h"

enum { LINK_COPIES = 8, LINK_REPEATS = 5 };

/* A failure in one of the streams is the pipeline's. */
static cj_status link_failed(cj_pipeline *p, cj_stream *up, cj_stream *down, const char *call)
{
    cj_stream *const both[] = { up, down };
    for (int i = 0; i < 2; i++) {
        if (cji_err_status(both[i]) == CJ_OK) continue;
        const cj_status st = cji_fail_from(p, both[i], call);
        cji_err_reset(both[i]);
        return st;
    }
    return CJ_OK;
}

/* Seconds of LINK_COPIES chunks. */
static cj_status link_copies_once(cj_pipeline *p, cji_lane *lane, double *seconds, const char *call)
{
    cji_ring_slot *slot = &lane->slot[0];
    const uint64_t begun = cji_now();
    cj_stream *up = lane->up ? lane->up : lane->compute, *down = lane->down ? lane->down : lane->compute;
    for (int i = 0; i < LINK_COPIES; i++) {
        if (!p->o.no_input) cj_copy_to_device(up, slot->in, slot->in_host, p->o.chunk);
        if (!p->o.no_output) cj_copy_to_host(down, slot->out_host, slot->out, p->o.out_chunk);
    }
    cji_lane_settle(lane);
    *seconds = cji_seconds(cji_now() - begun);
    return link_failed(p, up, down, call);
}

cj_status cji_pipeline_measure(cj_pipeline *p, const char *call)
{
    double best = 0, seconds = 0;
    if (!p->count || (p->o.no_input && p->o.no_output)) return CJ_OK;
    cji_lane *lane = p->lane[0];
    cj_status st = cji_lane_grow(p, lane, lane->slots, true, call); /* its streams */
    for (int i = -1; i < LINK_REPEATS && st == CJ_OK; i++) {
        st = link_copies_once(p, lane, &seconds, call);
        if (i >= 0 && (i == 0 || seconds < best)) best = seconds;
    }
    if (st != CJ_OK) return st;
    const size_t in = p->o.no_input ? 0 : p->o.chunk, out = p->o.no_output ? 0 : p->o.out_chunk;
    p->link_per_byte = best / LINK_COPIES / (double)(in > out ? in : out) / p->lanes;
    return CJ_OK;
}
