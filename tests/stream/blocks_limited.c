/* The allocator's limits, what it returns to the driver, its report; a block whose work is not complete is never
 * returned. */
#include <string.h>

#include "tests/device_bench.h"

enum { MIB = 1 << 20, BLOCK = MIB - 4096 /* takes 1 MiB */, N = 1024 };

static cj_alloc_counts counts(void)
{
    cj_alloc_counts c;
    cj_alloc_counts_defaults(&c);
    cj_device_get_alloc_counts(dev, &c);
    return c;
}

static void total(void)
{
    cj_dptr m[5];
    cj_device_set_allocator(dev, CJ_ALLOCATOR(.chunk_bytes = 2 * MIB, .max_total = 4 * MIB));
    for (int i = 0; i < 4; i++) m[i] = cj_alloc(s, BLOCK);
    tap_ok(m[3].addr && counts().total_bytes == 4 * MIB, "the allocator may hold so much");
    m[4] = cj_alloc(s, 256);
    tap_ok(!m[4].addr, "and no more");
    tap_is_int(cj_stream_sync(s), CJ_ENOMEM, "which is an error of the stream");
    tap_has_str(cj_error_last()->message, "max_total", "that names the limit");
    cj_dptr large = cj_alloc(s, 2 * MIB);
    tap_ok(!large.addr && cj_stream_sync(s) == CJ_ENOMEM, "nor memory of the driver's own: %s",
           cj_error_last()->message);
    cj_free(dev, m[0]);
    cj_free(dev, m[1]);
    m[0] = cj_alloc(s, 256);
    tap_ok(m[0].addr, "what is freed makes room");
    cj_free(dev, m[0]);
    cj_stream_sync(s);
    large = cj_alloc(s, 2 * MIB);
    tap_ok(large.addr != 0, "a chunk that is not in use is released for it: %s", cj_error_of(s)->message);
    cj_free(dev, large);
    cj_free(dev, m[2]);
    cj_free(dev, m[3]);
    tap_is_uint(counts().total_bytes_most, 4 * MIB, "the most that it held");
    cj_stream_sync(s);
}

static void trimmed(void)
{
    struct latch l = LATCH_CLOSED;
    cj_device_set_allocator(dev, CJ_ALLOCATOR(.chunk_bytes = 2 * MIB));
    cj_device_trim(dev, 0);
    tap_is_uint(counts().total_bytes, 0, "all that is not in use is returned");
    cj_dptr a = cj_alloc(s, BLOCK), b = cj_alloc(s, BLOCK), c = cj_alloc(t, BLOCK);
    uint32_t got[2] = { 0, 0 };
    cj_fill32(s, a, 0, N);
    bench_hold(s, &l);
    cj_launch(s, add, cj_threads(N, 256), a, N, 9);
    cj_copy_to_host(s, got, a, sizeof got);
    cj_free(dev, a);
    cj_free(dev, b);
    cj_free(dev, c);
    cj_stream_sync(t);
    tap_is_uint(cj_device_trim(dev, 0), 2 * MIB, "the chunk whose work is complete is returned");
    tap_is_uint(counts().chunks, 1, "... the other one is not");
    latch_open(&l);
    tap_is_int(cj_stream_sync(s), CJ_OK, "its work is done: %s", cj_error_of(s)->message);
    tap_ok(got[0] == 9 && got[1] == 9, "... with its memory");
    tap_is_uint(cj_device_trim(dev, 2 * MIB), 0, "what may be kept is");
    tap_is_uint(cj_device_trim(dev, 0), 2 * MIB, "then it is returned too");
    tap_is_uint(counts().trimmed_bytes % (2 * MIB), 0, "chunks are returned whole");
}

static void cached(void)
{
    cj_dptr m[8];
    cj_device_set_allocator(dev, CJ_ALLOCATOR(.chunk_bytes = 2 * MIB, .max_cached = 4 * MIB));
    for (int i = 0; i < 8; i++) m[i] = cj_alloc(s, BLOCK);
    cj_stream_sync(s);
    for (int i = 0; i < 8; i++) {
        cj_free(dev, m[i]);
        cj_stream_sync(s);
    }
    const cj_alloc_counts c = counts();
    tap_ok(c.cached_bytes <= 6 * MIB && c.trimmed_bytes, "more than max_cached and a chunk is not cached: %llu bytes",
           (unsigned long long)c.cached_bytes);
}

static void reported(void)
{
    char text[1024], cut[40];
    cj_dptr a = cj_alloc(s, 1000);
    const size_t n = cj_device_alloc_report(dev, text, sizeof text);
    tap_ok(n == strlen(text) && n < sizeof text, "the report has its length");
    tap_has_str(text, "allocator: 1000 bytes in 1 allocations", "it has what is live");
    tap_has_str(text, "fragmentation", "... and the fragmentation");
    tap_has_str(text, "\nchunk 0x", "... and the chunks");
    tap_is_uint(cj_device_alloc_report(dev, cut, sizeof cut), n, "a small buffer gets the same length");
    tap_ok(strlen(cut) == sizeof cut - 1 && !strncmp(cut, text, sizeof cut - 1), "... and the beginning");
    tap_is_uint(cj_device_alloc_report(dev, NULL, 0), n, "no buffer too");
    cj_free(dev, a);
}

static void rejected(void)
{
    cj_alloc_counts small = { .size = 2 * sizeof(size_t) };
    static const struct { const char *name; cj_allocator_opts opts; } cases[] = {
        { "a source that there is not", { .size = sizeof(cj_allocator_opts), .source = 3 } },
        { "a chunk that is too large", { .size = sizeof(cj_allocator_opts), .chunk_bytes = UINT64_C(1) << 31 } },
        { "a struct without a size", { .size = 0 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tap_is_int(cj_device_set_allocator(dev, &cases[i].opts), CJ_EINVAL, "%s: %s", cases[i].name,
                   cj_error_last()->message);
    tap_is_int(cj_device_get_alloc_counts(dev, NULL), CJ_EINVAL, "no counts: %s", cj_error_last()->message);
    tap_is_int(cj_device_get_alloc_counts(dev, &small), CJ_OK, "a caller with a smaller struct gets its fields");
    tap_ok(small.live == 0 && small.size == 2 * sizeof(size_t), "... and no more");
    tap_is_int(cj_stream_get_alloc_counts(s, NULL), CJ_EINVAL, "nor of a stream: %s", cj_error_last()->message);
    cj_stream_sync(s);
}

static void of_the_driver(void)
{
    cj_device_trim(dev, 0);
    cj_device_set_allocator(dev, CJ_ALLOCATOR(.source = CJ_ALLOCATOR_DRIVER));
    const cj_alloc_counts before = counts();
    cj_dptr a = cj_alloc(s, 1000);
    cj_alloc_counts after = counts();
    tap_ok(after.misses == before.misses + 1 && after.chunks == before.chunks, "the driver's pool can be chosen");
    cj_device_set_allocator(dev, NULL);
    cj_dptr b = cj_alloc(s, 1000);
    tap_is_uint(counts().live, 2, "and cujit's again, while memory of both is there");
    cj_free(dev, a);
    cj_free(dev, b);
    cj_stream_sync(s);
    after = counts();
    tap_ok(after.live == 0 && after.live_bytes == 0 && after.room_bytes == 0, "each is freed as it was allocated");
}

int main(void)
{
    bench_open(0);
    total();
    trimmed();
    cached();
    reported();
    rejected();
    of_the_driver();
    return bench_close();
}
