/* Whether a pipeline's stages overlap, and how many buffers its rings have: from measured times.
 *
 * The first chunks of a lane run alone.  With d slots, d chunks are under way at a time, so one ends every `whole` / d
 * at best, and never faster than the slowest of what works at the same time.  More slots cost the time to make them,
 * most of it for pinning their pages.  The number with the shortest expected time wins; 1 is no overlap: then chunks
 * continue one after the other, with one buffer and one stream.
 *
 * A lane that overlaps is watched: if its chunks come more slowly than they did alone, overlapping ends. */
#include "stream/pipeline/stream_pipeline.h"

#include "base/clock.h"

/* -- The model ----------------------------------------------------------------------------------------------------- */

static double larger(double a, double b) { return a > b ? a : b; }

double cji_depth_bound(const cji_pipeline_times *t, int engines)
{
    const double host = t->fill + t->launch + t->drain; /* one thread does all three */
    if (engines < 1) return larger(host, t->upload + t->compute + t->download);
    const double copies = engines > 1 ? larger(t->upload, t->download) : t->upload + t->download;
    return larger(larger(host, copies), t->compute);
}

/* The time of all chunks with so many slots: an eighth more than was measured, for what varies. */
static double depth_seconds(const cji_depth_question *q, uint32_t depth)
{
    const double bound = cji_depth_bound(&q->alone, q->engines), whole = q->alone.whole;
    const double each = depth == 1 ? whole : larger(bound, whole * 9 / 8 / depth);
    const double made = depth > q->have ? (depth - q->have) * q->slot_seconds / (q->runs ? q->runs : 1) : 0;
    return (double)q->chunks * each + made;
}

uint32_t cji_depth_best(const cji_depth_question *q)
{
    uint32_t best = q->least;
    for (uint32_t depth = q->least + 1; depth <= q->most && depth <= q->chunks; depth++)
        if (depth_seconds(q, depth) < depth_seconds(q, best)) best = depth;
    return best;
}

/* -- Decisions; with the lock held --------------------------------------------------------------------------------- */

static uint64_t lane_chunks(const cj_pipeline *p, uint64_t chunks) { return (chunks + p->lanes - 1) / p->lanes; }

static uint32_t lane_choose(const cj_pipeline *p, const cji_lane *lane, uint64_t chunks)
{
    const uint32_t most = p->o.depth ? p->o.depth : p->o.depth_max;
    const cji_depth_question q = {
        .alone = lane->alone,
        .engines = lane->dev->info.copy_engines,
        .chunks = lane_chunks(p, chunks),
        .have = lane->slots,
        .least = p->o.overlap == CJ_OVERLAP_ALWAYS ? 2 : 1,
        .most = most,
        .slot_seconds = lane->slot_seconds,
        .runs = p->o.runs + 1,
    };
    const uint32_t best = cji_depth_best(&q);
    return best > 1 && p->o.depth ? p->o.depth : best;
}

/* How many chunks run alone before the lane decides. */
static uint32_t lane_samples(const cj_pipeline *p)
{
    return p->o.overlap == CJ_OVERLAP_ALWAYS || lane_chunks(p, p->count) < 8 ? 1 : 2;
}

static double shorter(double a, double b, bool first) { return first || b < a ? b : a; }

static void note_alone(cji_lane *lane, const cji_pipeline_times *t)
{
    cji_pipeline_times *a = &lane->alone;
    const bool first = !lane->alone_count++;
    a->fill = shorter(a->fill, t->fill, first);
    a->upload = shorter(a->upload, t->upload, first);
    a->launch = shorter(a->launch, t->launch, first);
    a->compute = shorter(a->compute, t->compute, first);
    a->download = shorter(a->download, t->download, first);
    a->drain = shorter(a->drain, t->drain, first);
    a->whole = shorter(a->whole, t->whole, first);
}

/* Whether chunks that overlap come faster than they did alone; true until there are enough of them. */
static bool overlap_pays(cji_lane *lane)
{
    const uint64_t now = cji_now();
    const uint32_t wanted = 3 * lane->depth;
    if (!lane->watched++) lane->watched_since = now;
    if (lane->watched != wanted + 1) return true;
    return cji_seconds(now - lane->watched_since) / wanted < lane->alone.whole;
}

bool cji_depth_note(cj_pipeline *p, cji_lane *lane, const cji_ring_slot *slot, const cji_pipeline_times *t,
                    uint32_t *slots)
{
    if (p->o.overlap != CJ_OVERLAP_MEASURED && (p->o.depth || p->o.overlap == CJ_OVERLAP_NEVER)) return false;
    if (lane->decided) {
        if (slot->overlap && lane->alone_count && p->o.overlap == CJ_OVERLAP_MEASURED && !overlap_pays(lane)) {
            lane->overlap = false;
            lane->depth = 1;
        }
        return false;
    }
    if (!slot->timed) return false;
    note_alone(lane, t);
    if (lane->alone_count < lane_samples(p) || lane->growing) return false;
    lane->decided = true;
    *slots = lane_choose(p, lane, p->count - p->next_fill);
    if (*slots <= 1) return false;
    lane->growing = true;
    return true;
}

void cji_depth_grown(cj_pipeline *p, cji_lane *lane, uint32_t wanted)
{
    cji_lock(&p->lock, CJI_LOCK_PIPELINE);
    lane->growing = false;
    lane->watched = 0;
    if (lane->up && lane->down && lane->slots > 1) {
        lane->overlap = true;
        lane->depth = wanted < lane->slots ? wanted : lane->slots;
    }
    cji_unlock(&p->lock, CJI_LOCK_PIPELINE);
}

uint32_t cji_depth_begin(cj_pipeline *p, cji_lane *lane)
{
    const uint64_t chunks = lane_chunks(p, p->count);
    uint32_t slots = 1;
    lane->overlap = p->o.overlap == CJ_OVERLAP_ALWAYS;
    lane->watched = 0;
    if (p->o.overlap == CJ_OVERLAP_ALWAYS) slots = p->o.depth ? p->o.depth : 3;
    if (p->o.overlap == CJ_OVERLAP_ALWAYS && !p->o.depth && lane->decided) slots = lane_choose(p, lane, p->count);
    if (p->o.overlap == CJ_OVERLAP_MEASURED && lane->decided) {
        slots = lane_choose(p, lane, p->count);
        lane->overlap = slots > 1;
    }
    if (slots > chunks) slots = (uint32_t)chunks;
    lane->depth = slots;
    return slots;
}
