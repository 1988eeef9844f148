/* A pipeline with empty fill, kernels and drain, beside bare copies of the same bytes in both directions at once: the
 * best of five of each.  The pipeline is made once, and its first run measures the depth; the time of making it is
 * reported too.
 *
 * The bare copies use one buffer in each direction.  They run once more with as many as the pipeline has, in turn:
 * memory that is used again at once may be in the processor's caches, which a large input is not. */
#include <stdio.h>

#include "bench/pool_bench.h"

enum { PIPE_CHUNK = 32 << 20, PIPE_RUNS = 5, PIPE_BUFFERS = 8 };

typedef struct pipe_bare { CUstream s[2]; void *host[2][PIPE_BUFFERS]; CUdeviceptr d[2][PIPE_BUFFERS]; } pipe_bare;

static cj_status pipe_nothing(void *user, cj_chunk *chunk)
{
    (void)user, (void)chunk;
    return CJ_OK;
}

/* Seconds of all chunks, each uploaded and downloaded; at least two are under way in each direction. */
static double bare_once(pool_bench *b, const pipe_bare *p, unsigned buffers, size_t chunk, uint64_t chunks)
{
    const double t0 = pool_now_ns();
    for (uint64_t i = 0; i < chunks && !b->failed; i++) {
        const uint64_t n = i % buffers;
        pool_need_raw(b, b->cu.cuMemcpyHtoDAsync(p->d[0][n], p->host[0][n], chunk, p->s[0]), "cuMemcpyHtoDAsync");
        pool_need_raw(b, b->cu.cuMemcpyDtoHAsync(p->host[1][n], p->d[1][n], chunk, p->s[1]), "cuMemcpyDtoHAsync");
    }
    for (int i = 0; i < 2; i++) pool_need_raw(b, b->cu.cuStreamSynchronize(p->s[i]), "cuStreamSynchronize");
    return (pool_now_ns() - t0) / 1e9;
}

static void bare_buffer(pool_bench *b, pipe_bare *p, int way, unsigned n, size_t chunk)
{
    pool_need_raw(b, b->cu.cuMemHostAlloc(&p->host[way][n], chunk, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
    if (!b->failed) pool_need_raw(b, b->cu.cuMemAlloc(&p->d[way][n], chunk), "cuMemAlloc");
    if (!b->failed) pool_need_raw(b, b->cu.cuMemsetD8Async(p->d[way][n], 1, chunk, p->s[way]), "cuMemsetD8Async");
}

static double bare_best(pool_bench *b, unsigned buffers, size_t chunk, uint64_t chunks)
{
    pipe_bare p = { .s = { NULL, NULL } };
    double best = 0;
    if (buffers > PIPE_BUFFERS) buffers = PIPE_BUFFERS;
    for (int i = 0; i < 2 && !b->failed; i++) {
        pool_need_raw(b, b->cu.cuStreamCreate(&p.s[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        for (unsigned n = 0; n < buffers && !b->failed; n++) bare_buffer(b, &p, i, n, chunk);
    }
    for (int r = -1; r < PIPE_RUNS && !b->failed; r++) {
        const double seconds = bare_once(b, &p, buffers, chunk, chunks);
        if (r == 0 || (r > 0 && seconds < best)) best = seconds;
    }
    for (int i = 0; i < 2; i++) {
        for (unsigned n = 0; n < buffers; n++) {
            if (p.d[i][n]) b->cu.cuMemFree(p.d[i][n]);
            if (p.host[i][n]) b->cu.cuMemFreeHost(p.host[i][n]);
        }
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
    const double bare = bare_best(b, 1, chunk, chunks), made = pool_now_ns();
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
    cj_pipeline_free(p);
    const double ring = b->failed ? 0 : bare_best(b, now.depth ? now.depth : 1, chunk, chunks);
    pool_report(b, "pipeline.bare_gb_s", 2 * (double)bytes / bare / 1e9, "GB/s");
    pool_report(b, "pipeline.gb_s", 2 * (double)bytes / best / 1e9, "GB/s");
    pool_report(b, "pipeline.depth", now.depth, "buffers");
    pool_report(b, "pipeline.overlap", now.overlap, "yes");
    pool_report(b, "pipeline.bare_ring_gb_s", 2 * (double)bytes / ring / 1e9, "GB/s");
    pool_report(b, "pipeline.ring_efficiency", ring / best, "share");
    pool_report(b, "pipeline.efficiency", bare / best, "share");
}
