/* Memory of cj_alloc and cj_free beside cuMemAllocAsync and cuMemFreeAsync: sizes log-uniform from 64 bytes to 16 MB,
 * 512 blocks live, one stream; and blocks that one stream frees and another takes, each behind the other's work. */
#include <stdio.h>

#include "bench/pool_bench.h"

enum { ALLOC_LIVE = 512, ALLOC_STEPS = 8192, ALLOC_REPEATS = 15, ALLOC_WARM = 6, ALLOC_CROSS = 256,
       ALLOC_HALF = (1 << 20) - 4096 /* two fill a chunk of 2 MiB */ };

typedef struct alloc_step { uint16_t victim; uint32_t bytes; } alloc_step;

/* The same steps for both sides: a block is freed, and another one allocated in its place. */
typedef struct alloc_run {
    pool_bench *b;
    cj_stream *s[2];
    CUstream raw[2];
    alloc_step step[ALLOC_STEPS];
    uint64_t live[ALLOC_LIVE];
} alloc_run;

static uint64_t alloc_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* 64 bytes times 2^x, x uniform in 0 to 18. */
static uint32_t alloc_bytes(uint64_t *state)
{
    const uint32_t base = 64u << alloc_random(state) % 18;
    /* within the doubling: 2^f = 1 + f * (0.6565 + 0.3435 f), nearly */
    const double f = (double)(alloc_random(state) % 65536) / 65536.0;
    return base + (uint32_t)((double)base * f * (0.6565 + 0.3435 * f));
}

static void steps_make(alloc_run *r)
{
    uint64_t state = 12345;
    for (unsigned i = 0; i < ALLOC_STEPS; i++)
        r->step[i] = (alloc_step){ (uint16_t)(alloc_random(&state) % ALLOC_LIVE), alloc_bytes(&state) };
}

static void our_step(alloc_run *r, uint64_t *at, uint32_t bytes)
{
    if (*at) cj_free(r->b->dev, (cj_dptr){ *at });
    *at = cj_alloc(r->s[0], bytes).addr;
    if (!*at) pool_need(r->b, cj_error_last()->status);
}

static void raw_step(alloc_run *r, uint64_t *at, uint32_t bytes)
{
    CUdeviceptr d = 0;
    if (*at) pool_need_raw(r->b, r->b->cu.cuMemFreeAsync(*at, r->raw[0]), "cuMemFreeAsync");
    pool_need_raw(r->b, r->b->cu.cuMemAllocAsync(&d, bytes, r->raw[0]), "cuMemAllocAsync");
    *at = d;
}

/* Nanoseconds for a free and an allocation: the median of repeats. */
static double steps_measure(alloc_run *r, void (*one)(alloc_run *, uint64_t *, uint32_t))
{
    double ns[ALLOC_REPEATS];
    uint64_t state = 99;
    for (unsigned i = 0; i < ALLOC_LIVE; i++) r->live[i] = 0, one(r, &r->live[i], alloc_bytes(&state));
    for (int repeat = -ALLOC_WARM; repeat < ALLOC_REPEATS && !r->b->failed; repeat++) {
        const double t0 = pool_now_ns();
        for (unsigned i = 0; i < ALLOC_STEPS; i++) one(r, &r->live[r->step[i].victim], r->step[i].bytes);
        if (repeat >= 0) ns[repeat] = (pool_now_ns() - t0) / ALLOC_STEPS;
    }
    return r->b->failed ? 0 : bench_median(ns, ALLOC_REPEATS);
}

static void our_end(alloc_run *r)
{
    for (unsigned i = 0; i < ALLOC_LIVE; i++) cj_free(r->b->dev, (cj_dptr){ r->live[i] });
    pool_need(r->b, cj_stream_sync(r->s[0]));
}

static void raw_end(alloc_run *r)
{
    for (unsigned i = 0; i < ALLOC_LIVE; i++) r->b->cu.cuMemFreeAsync(r->live[i], r->raw[0]);
    pool_need_raw(r->b, r->b->cu.cuStreamSynchronize(r->raw[0]), "cuStreamSynchronize");
}

static void counts_report(pool_bench *b)
{
    cj_alloc_counts c;
    cj_alloc_counts_defaults(&c);
    pool_need(b, cj_device_get_alloc_counts(b->dev, &c));
    pool_report(b, "alloc_free.hits", 100.0 * (double)(c.hits_own + c.hits_idle) / (double)c.allocs, "%");
    pool_report(b, "alloc_free.hits_own", 100.0 * (double)c.hits_own / (double)c.allocs, "%");
    pool_report(b, "alloc_free.held_ratio", (double)c.total_bytes / (double)c.room_bytes, "ratio");
    pool_report(b, "alloc_free.rounding", 100.0 * (double)(c.room_bytes - c.live_bytes) / (double)c.live_bytes, "%");
    pool_report(b, "alloc_free.fragmentation", c.fragmentation, "ratio");
}

/* Two streams in turn take the only block of its size, each behind the other's work. */
static void cross_report(alloc_run *r)
{
    double ns[ALLOC_REPEATS], raw[ALLOC_REPEATS];
    cj_allocator_opts opts;
    pool_bench *b = r->b;
    cj_allocator_defaults(&opts);
    opts.chunk_bytes = opts.max_total = 2 << 20;
    cj_device_trim(b->dev, 0);
    pool_need(b, cj_device_set_allocator(b->dev, &opts));
    const cj_dptr other = cj_alloc(r->s[0], ALLOC_HALF);
    for (int repeat = -2; repeat < ALLOC_REPEATS && !b->failed; repeat++) {
        double t0 = pool_now_ns();
        for (unsigned i = 0; i < ALLOC_CROSS; i++) {
            const cj_dptr d = cj_alloc(r->s[i % 2], ALLOC_HALF);
            if (!d.addr) pool_need(b, cj_error_last()->status);
            cj_free(b->dev, d);
        }
        if (repeat >= 0) ns[repeat] = (pool_now_ns() - t0) / ALLOC_CROSS;
        pool_need(b, cj_stream_sync(r->s[0]));
        pool_need(b, cj_stream_sync(r->s[1]));
        t0 = pool_now_ns();
        for (unsigned i = 0; i < ALLOC_CROSS; i++) {
            CUdeviceptr d = 0;
            pool_need_raw(b, b->cu.cuMemAllocAsync(&d, ALLOC_HALF, r->raw[i % 2]), "cuMemAllocAsync");
            pool_need_raw(b, b->cu.cuMemFreeAsync(d, r->raw[i % 2]), "cuMemFreeAsync");
        }
        if (repeat >= 0) raw[repeat] = (pool_now_ns() - t0) / ALLOC_CROSS;
        pool_need_raw(b, b->cu.cuStreamSynchronize(r->raw[0]), "cuStreamSynchronize");
        pool_need_raw(b, b->cu.cuStreamSynchronize(r->raw[1]), "cuStreamSynchronize");
    }
    cj_free(b->dev, other);
    pool_need(b, cj_device_set_allocator(b->dev, NULL));
    if (b->failed) return;
    pool_report(b, "alloc_free.cross_ns", bench_median(ns, ALLOC_REPEATS), "ns");
    pool_report(b, "alloc_free.cross_raw_ns", bench_median(raw, ALLOC_REPEATS), "ns");
}

void pool_alloc(pool_bench *b)
{
    static alloc_run r;
    r = (alloc_run){ .b = b };
    for (int i = 0; i < 2; i++) {
        pool_need_object(b, r.s[i] = cj_stream_create(b->dev, NULL));
        pool_need_raw(b, b->cu.cuStreamCreateWithPriority(&r.raw[i], CU_STREAM_NON_BLOCKING, 0),
                      "cuStreamCreateWithPriority");
    }
    if (b->failed) return;
    steps_make(&r);
    pool_report(b, "alloc_free.ns", steps_measure(&r, our_step), "ns");
    counts_report(b);
    our_end(&r);
    cj_device_trim(b->dev, 0);
    pool_report(b, "alloc_free.raw_ns", steps_measure(&r, raw_step), "ns");
    raw_end(&r);
    if (!b->failed) cross_report(&r);
    for (int i = 0; i < 2; i++) {
        cj_stream_free(r.s[i]);
        b->cu.cuStreamDestroy(r.raw[i]);
    }
}
