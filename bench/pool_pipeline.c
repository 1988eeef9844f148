/* A pipeline with empty fill, kernels and drain, beside bare copies of the same bytes in both directions at once: the
 * best of five of each.  The pipeline is made once, and its first run measures the depth; the time of making it is
 * reported too. */
#include <stdio.h>

#include "bench/pool_bench.h"

enum { PIPE_CHUNK = 32 << 20, PIPE_RUNS = 5 };

typedef struct pipe_bare { CUstream s[2]; void *host[2]; CUdeviceptr d[2]; } pipe_bare;

static cj_status pipe_nothing(void *user, cj_chunk *chunk)
{
    (void)user, (void)chunk;
    return CJ_OK;
}

/* Seconds of all chunks, each uploaded and downloaded; at least two are under way in each direction. */
static double bare_once(pool_bench *b, const pipe_bare *p, size_t chunk, uint64_t chunks)
{
    const double t0 = pool_now_ns();
    for (uint64_t i = 0; i < chunks && !b->failed; i++) {
        pool_need_raw(b, b->cu.cuMemcpyHtoDAsync(p->d[0], p->host[0], chunk, p->s[0]), "cuMemcpyHtoDAsync");
        pool_need_raw(b, b->cu.cuMemcpyDtoHAsync(p->host[1], p->d[1], chunk, p->s[1]), "cuMemcpyDtoHAsync");
    }
    for (int i = 0; i < 2; i++) pool_need_raw(b, b->cu.cuStreamSynchronize(p->s[i]), "cuStreamSynchronize");
    return (pool_now_ns() - t0) / 1e9;
}

static double bare_best(pool_bench *b, size_t chunk, uint64_t chunks)
{
    pipe_bare p = { { NULL, NULL }, { NULL, NULL }, { 0, 0 } };
    double best = 0;
    for (int i = 0; i < 2 && !b->failed; i++) {
        pool_need_raw(b, b->cu.cuStreamCreate(&p.s[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        pool_need_raw(b, b->cu.cuMemHostAlloc(&p.host[i], chunk, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
        pool_need_raw(b, b->cu.cuMemAlloc(&p.d[i], chunk), "cuMemAlloc");
        if (!b->failed) pool_need_raw(b, b->cu.cuMemsetD8Async(p.d[i], 1, chunk, p.s[i]), "cuMemsetD8Async");
    }
    for (int r = -1; r < PIPE_RUNS && !b->failed; r++) {
        const double seconds = bare_once(b, &p, chunk, chunks);
        if (r == 0 || (r > 0 && seconds < best)) best = seconds;
    }
    for (int i = 0; i < 2; i++) {
        if (p.d[i]) b->cu.cuMemFree(p.d[i]);
        if (p.host[i]) b->cu.cuMemFreeHost(p.host[i]);
        if (p.s[i]) b->cu.cuStreamDestroy(p.s[i]);
    }
    return best;
}

void pool_pipeline(pool_bench *b)
{
    const size_t chunk = b->gpu ? PIPE_CHUNK : 1 << 16;
    const uint64_t chunks = b->gpu ? 256 : 16, bytes = chunks * chunk;
    double best = 0;
    cj_pipeline_stats now;
    cj_pipeline_stats_defaults(&now);
    const double bare = bare_best(b, chunk, chunks), made = pool_now_ns();
    cj_pipeline *p = cj_pipeline_create(
        b->dev, CJ_PIPELINE(.bytes = bytes, .chunk = chunk, .in_place = 1, .runs = 100, .fill = pipe_nothing,
                            .launch = pipe_nothing, .drain = pipe_nothing));
    pool_need_object(b, p);
    if (!b->failed) pool_need(b, cj_pipeline_work(p));
    if (!b->failed) pool_need(b, cj_pipeline_get_stats(p, &now));
    pool_report(b, "pipeline.first_s", (pool_now_ns() - made) / 1e9, "s");
    pool_report(b, "pipeline.setup_s", now.setup, "s");
    for (int r = 0; r < PIPE_RUNS && !b->failed; r++) {
        pool_need(b, cj_pipeline_restart(p, bytes));
        const double t0 = pool_now_ns();
        if (!b->failed) pool_need(b, cj_pipeline_work(p));
        const double seconds = (pool_now_ns() - t0) / 1e9;
        if (r == 0 || seconds < best) best = seconds;
    }
    if (!b->failed) pool_need(b, cj_pipeline_get_stats(p, &now));
    pool_report(b, "pipeline.bare_gb_s", 2 * (double)bytes / bare / 1e9, "GB/s");
    pool_report(b, "pipeline.gb_s", 2 * (double)bytes / best / 1e9, "GB/s");
    pool_report(b, "pipeline.depth", now.depth, "buffers");
    pool_report(b, "pipeline.overlap", now.overlap, "yes");
    pool_report(b, "pipeline.efficiency", bare / best, "share");
    cj_pipeline_free(p);
}
