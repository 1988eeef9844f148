/* Pipelines: made, begun, cancelled, freed; what they did. */
#include "stream/pipeline/stream_pipeline.h"

#include <string.h>

#include "base/clock.h"

enum { PIPELINE_CHUNK = 16 << 20, PIPELINE_DEPTH_MAX = 8, PIPELINE_THREADS_MAX = 3 };

void cj_pipeline_defaults(cj_pipeline_opts *opts)
{
    if (opts) *opts = (cj_pipeline_opts){ .size = sizeof *opts };
}

/* -- Options ------------------------------------------------------------------------------------------------------- */

static bool pipeline_rejects(cj_pipeline *p, const char *call, const char *why)
{
    cji_fail(p, CJ_EINVAL, call, "%s", why);
    return false;
}

static bool set_sizes(cj_pipeline *p, const char *call)
{
    cj_pipeline_opts *o = &p->o;
    if (!o->chunk) o->chunk = PIPELINE_CHUNK;
    if (!o->out_chunk) o->out_chunk = o->chunk;
    if (!o->element) o->element = 1;
    if (o->chunk > UINT32_MAX || o->out_chunk > UINT32_MAX)
        return pipeline_rejects(p, call, ".chunk and .out_chunk are less than 4 GiB");
    if (o->chunk < o->element) {
        cji_fail(p, CJ_EINVAL, call, ".chunk is %zu, less than an element of %zu bytes", o->chunk, o->element);
        return false;
    }
    p->chunk_ratio = o->chunk;
    o->chunk -= o->chunk % o->element;
    return true;
}

static bool set_ring(cj_pipeline *p, const char *call)
{
    cj_pipeline_opts *o = &p->o;
    if ((unsigned)o->overlap > CJ_OVERLAP_NEVER) return pipeline_rejects(p, call, ".overlap is no cj_overlap");
    if (!o->depth_max) o->depth_max = PIPELINE_DEPTH_MAX;
    if (o->depth > CJI_RING_MAX || o->depth_max > CJI_RING_MAX)
        return pipeline_rejects(p, call, ".depth and .depth_max are at most 64");
    if (o->overlap == CJ_OVERLAP_ALWAYS && (o->depth == 1 || o->depth_max == 1))
        return pipeline_rejects(p, call, "CJ_OVERLAP_ALWAYS needs two buffers, and .depth or .depth_max is 1");
    if (o->overlap == CJ_OVERLAP_NEVER && o->depth > 1)
        return pipeline_rejects(p, call, "CJ_OVERLAP_NEVER has one buffer, and .depth is more");
    if (o->threads > PIPELINE_THREADS_MAX) return pipeline_rejects(p, call, ".threads is at most 3");
    if (!o->threads) o->threads = 1;
    return true;
}

static bool set_callbacks(cj_pipeline *p, const char *call)
{
    const cj_pipeline_opts *o = &p->o;
    p->callbacks = o->fill || o->launch || o->drain;
    if (!p->callbacks) return true;
    if (!o->launch) return pipeline_rejects(p, call, "there are callbacks, but no .launch");
    if (!o->fill && !o->no_input)
        return pipeline_rejects(p, call, "there is no .fill; set .no_input if there is no input");
    if (!o->drain && !o->no_output)
        return pipeline_rejects(p, call, "there is no .drain; set .no_output if there is no output");
    return true;
}

static bool set_bytes(cj_pipeline *p, uint64_t bytes, const char *call)
{
    if (bytes % p->o.element) {
        cji_fail(p, CJ_EINVAL, call, "%llu bytes of input are no multiple of an element of %zu bytes",
                 (unsigned long long)bytes, p->o.element);
        return false;
    }
    p->o.bytes = bytes;
    p->count = bytes / p->o.chunk + (bytes % p->o.chunk != 0);
    return true;
}

static bool add_lane(cj_pipeline *p, cj_device *dev, const char *call)
{
    if (cji_check_arg(p, dev, CJI_TAG_DEVICE, call, "a device") != CJ_OK) return false;
    if (p->lanes && dev->drv != p->lane[0]->dev->drv)
        return pipeline_rejects(p, call, "the devices of a pipeline are of one driver");
    cji_lane *lane = cji_lane_make(p, dev, call);
    if (lane) p->lane[p->lanes++] = lane;
    return lane != NULL;
}

static bool add_lanes(cj_pipeline *p, cj_device *dev, const char *call)
{
    cj_device *const *more = p->o.devices;
    const size_t count = p->o.device_count;
    p->o.devices = NULL;
    if (count && !more) return pipeline_rejects(p, call, ".devices is NULL, and .device_count is not 0");
    if (count >= CJI_LANES_MAX) return pipeline_rejects(p, call, ".device_count is at most 63");
    bool good = add_lane(p, dev, call);
    for (size_t i = 0; i < count && good; i++) good = add_lane(p, more[i], call);
    return good;
}

/* -- Beginning ----------------------------------------------------------------------------------------------------- */

/* No chunk is under way, and nobody else uses the pipeline.  A run of `p->count` chunks begins. */
static bool pipeline_begin(cj_pipeline *p, const char *call)
{
    p->next_fill = p->next_launch = p->next_drain = 0;
    p->limit = p->count;
    p->failed_chunk = UINT64_MAX;
    cji_kept_clear(&p->why);
    p->begun = p->finished = 0;
    p->setup = 0;
    p->bytes_in = p->bytes_out = 0;
    p->fill = p->launch = p->drain = 0;
    p->stopped = p->overlapped = p->ended = false;
    for (uint32_t l = 0; l < p->lanes; l++) {
        cji_lane *lane = p->lane[l];
        for (uint32_t i = 0; i < lane->slots; i++) lane->slot[i].state = CJI_RING_FREE;
        lane->under_way = 0;
        lane->dealt = lane->drained = lane->timed = 0;
        lane->sum = (cji_pipeline_times){ 0 };
        const uint32_t wanted = cji_depth_begin(p, lane);
        if (wanted > lane->slots && cji_lane_grow(p, lane, wanted, lane->overlap, call) != CJ_OK) return false;
    }
    return true;
}

cj_pipeline *cji_pipeline_make(cj_device *dev, const cj_pipeline_opts *opts, const char *call)
{
    cj_pipeline *p = cji_obj_new(sizeof *p, CJI_TAG_PIPELINE, 0, call);
    if (cji_obj_failed(p)) return p;
    pthread_mutex_init(&p->lock, NULL);
    cj_pipeline_defaults(&p->o);
    const bool good = cji_opts_take(&p->o, sizeof p->o, opts, p, call, "cj_pipeline") && set_sizes(p, call) &&
                      set_ring(p, call) && set_callbacks(p, call) && set_bytes(p, p->o.bytes, call) &&
                      add_lanes(p, dev, call) && pipeline_begin(p, call) &&
                      (!p->o.measure_link || cji_pipeline_measure(p, call) == CJ_OK);
    if (good) return p;
    for (uint32_t l = 0; l < p->lanes; l++) cji_lane_settle(p->lane[l]);
    while (p->lanes) cji_lane_free(p, p->lane[--p->lanes]);
    cji_obj_set_failed(p);
    return p;
}

cj_pipeline *cj_pipeline_create(cj_device *dev, const cj_pipeline_opts *opts)
{
    return cji_pipeline_make(dev, opts, "cj_pipeline_create");
}

cj_status cj_pipeline_restart(cj_pipeline *pipeline, uint64_t bytes)
{
    static const char call[] = "cj_pipeline_restart";
    cj_status st = cji_check(pipeline, CJI_TAG_PIPELINE, call);
    if (st != CJ_OK) return st;
    cji_lock(&pipeline->lock, CJI_LOCK_PIPELINE);
    const bool ended = pipeline->ended && !pipeline->dead;
    cji_unlock(&pipeline->lock, CJI_LOCK_PIPELINE);
    if (!ended)
        return cji_fail(pipeline, CJ_ESTATE, call,
                        "the pipeline has not ended, or its device has failed; it ends when cj_pipeline_work returns, "
                        "or cj_pipeline_next returns CJ_PIPELINE_END");
    if (!set_bytes(pipeline, bytes, call)) return CJ_EINVAL;
    if (pipeline_begin(pipeline, call)) return CJ_OK;
    pipeline->stopped = true; /* there is a run without chunks, which can be begun again */
    pipeline->ended = true;
    cji_kept_copy(&pipeline->why, &cji_thread()->last);
    return cji_err_latest();
}

/* -- Ending -------------------------------------------------------------------------------------------------------- */

cj_status cj_pipeline_cancel(cj_pipeline *pipeline)
{
    static const char call[] = "cj_pipeline_cancel";
    cj_status st = cji_check(pipeline, CJI_TAG_PIPELINE, call);
    if (st != CJ_OK) return st;
    cji_lock(&pipeline->lock, CJI_LOCK_PIPELINE);
    if (!pipeline->ended && !pipeline->stopped) {
        pipeline->stopped = true;
        if (pipeline->failed_chunk == UINT64_MAX) {
            cji_kept before;
            cji_fail_save(&before);
            cji_fail(NULL, CJ_ECANCELLED, call, "the pipeline was cancelled when %llu of %llu chunks were drained",
                     (unsigned long long)pipeline->next_drain, (unsigned long long)pipeline->count);
            cji_kept_copy(&pipeline->why, &cji_thread()->last);
            cji_fail_restore(&before);
        }
    }
    cji_unlock(&pipeline->lock, CJI_LOCK_PIPELINE);
    return CJ_OK;
}

void cj_pipeline_free(cj_pipeline *pipeline)
{
    cj_pipeline *p = pipeline;
    if (!cji_check_free(p, CJI_TAG_PIPELINE, "cj_pipeline_free") || !cji_obj_release(p)) return;
    for (uint32_t l = 0; l < p->lanes; l++) cji_lane_settle(p->lane[l]);
    while (p->lanes) cji_lane_free(p, p->lane[--p->lanes]);
    cji_kept_clear(&p->why);
    pthread_mutex_destroy(&p->lock);
    cji_obj_delete(p, sizeof *p);
}

/* -- Statistics ---------------------------------------------------------------------------------------------------- */

void cj_pipeline_stats_defaults(cj_pipeline_stats *stats)
{
    if (stats) *stats = (cj_pipeline_stats){ .size = sizeof *stats };
}

static double of_busiest(double a, double b) { return a > b ? a : b; }

static void stats_slowest(cj_pipeline_stats *now)
{
    const struct { cj_pipeline_stage stage; double seconds; } stages[] = {
        { CJ_PIPELINE_FILL, now->fill },         { CJ_PIPELINE_UPLOAD, now->upload },
        { CJ_PIPELINE_LAUNCH, now->launch },     { CJ_PIPELINE_COMPUTE, now->compute },
        { CJ_PIPELINE_DOWNLOAD, now->download }, { CJ_PIPELINE_DRAIN, now->drain },
    };
    double most = 0;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (stages[i].seconds > most) {
            most = stages[i].seconds;
            now->slowest = stages[i].stage;
        }
    now->efficiency = now->seconds > 0 ? most / now->seconds : 0;
}

void cji_pipeline_read(cj_pipeline *p, cj_pipeline_stats *now)
{
    cji_lock(&p->lock, CJI_LOCK_PIPELINE);
    const uint64_t end = p->ended || p->next_drain == p->count ? p->finished : cji_now();
    now->chunks = p->count;
    now->chunks_done = p->next_drain;
    now->bytes_in = p->bytes_in;
    now->bytes_out = p->bytes_out;
    now->seconds = p->begun && end > p->begun ? cji_seconds(end - p->begun) : 0;
    now->setup = p->setup;
    now->fill = p->fill, now->launch = p->launch, now->drain = p->drain;
    now->devices = p->lanes;
    now->overlap = p->overlapped;
    for (uint32_t l = 0; l < p->lanes; l++) {
        const cji_lane *lane = p->lane[l];
        const double share = lane->timed ? (double)lane->drained / (double)lane->timed : 0;
        now->upload = of_busiest(now->upload, share * lane->sum.upload);
        now->compute = of_busiest(now->compute, share * lane->sum.compute);
        now->download = of_busiest(now->download, share * lane->sum.download);
        if (lane->depth > now->depth) now->depth = lane->depth;
        now->buffers += lane->slots;
    }
    stats_slowest(now);
    const uint64_t bytes = p->bytes_in > p->bytes_out ? p->bytes_in : p->bytes_out;
    now->link = p->link_per_byte * (double)bytes;
    now->link_efficiency = now->seconds > 0 ? now->link / now->seconds : 0;
    cji_unlock(&p->lock, CJI_LOCK_PIPELINE);
}

cj_status cj_pipeline_get_stats(cj_pipeline *pipeline, cj_pipeline_stats *stats)
{
    static const char call[] = "cj_pipeline_get_stats";
    cj_status st = cji_check(pipeline, CJI_TAG_PIPELINE, call);
    if (st != CJ_OK) return st;
    if (!stats || stats->size < sizeof stats->size || stats->size > sizeof *stats)
        return cji_fail(pipeline, CJ_EINVAL, call,
                        "stats is NULL, or stats->size is not sizeof(cj_pipeline_stats)");
    cj_pipeline_stats now = { .size = stats->size };
    cji_pipeline_read(pipeline, &now);
    memcpy(stats, &now, stats->size);
    return CJ_OK;
}
