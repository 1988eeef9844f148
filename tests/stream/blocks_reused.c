/* Memory of cj_alloc is reused: by its own stream at once, by another stream when its uses are complete, or behind
 * them on the device where memory is short. */
#include "tests/device_bench.h"

enum { MIB = 1 << 20, BLOCK = MIB - 4096 /* takes 1 MiB */, N = 1024 };

static cj_alloc_counts counts(void)
{
    cj_alloc_counts c;
    cj_alloc_counts_defaults(&c);
    cj_device_get_alloc_counts(dev, &c);
    return c;
}

static cj_alloc_counts counts_of(cj_stream *of)
{
    cj_alloc_counts c;
    cj_alloc_counts_defaults(&c);
    cj_stream_get_alloc_counts(of, &c);
    return c;
}

static void by_its_own_stream(void)
{
    struct latch l = LATCH_CLOSED;
    cj_dptr a = cj_alloc(s, 1000);
    bench_hold(s, &l);
    cj_fill32(s, a, 1, 250);
    cj_free(dev, a);
    const cj_alloc_counts before = counts();
    cj_dptr b = cj_alloc(s, 900);
    const cj_alloc_counts after = counts();
    tap_is_uint(b.addr, a.addr, "the stream that freed a block gets it again, while its work is held");
    tap_is_uint(after.hits_own - before.hits_own, 1, "... from its own list");
    tap_is_uint(after.waits, before.waits, "... without a wait");
    cj_dptr c = cj_alloc(s, 900);
    tap_ok(c.addr != b.addr, "a block has one owner");
    latch_open(&l);
    cj_free(dev, b);
    cj_free(dev, c);
    tap_is_int(cj_stream_sync(s), CJ_OK, "the stream's work is right: %s", cj_error_of(s)->message);
}

static void of_sizes(void)
{
    const size_t guard = tap_on_gpu() ? 0 : 256; /* the CPU device checks bounds */
    static const size_t sizes[] = { 1, 255, 256, 257, 4096, 4097, 5000, 8191, 65537, 100000, 524289, 1000000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint64_t before = counts().room_bytes;
        cj_dptr a = cj_alloc(s, sizes[i]);
        const uint64_t room = counts().room_bytes - before;
        tap_ok(a.addr && a.addr % 256 == 0 && room >= sizes[i], "%zu bytes: %llu of room", sizes[i],
               (unsigned long long)room);
        const size_t need = sizes[i] + guard;
        tap_ok(need <= 4096 ? room < need + 256 : (room - need) * 8 <= need, "... and little more");
        cj_free(dev, a);
    }
    const cj_alloc_counts before = counts();
    cj_dptr large = cj_alloc(s, 3 * MIB);
    const cj_alloc_counts after = counts();
    tap_ok(large.addr && after.misses == before.misses + 1 && after.chunks == before.chunks &&
               after.total_bytes == before.total_bytes + 3 * MIB,
           "memory of more than half a chunk is the driver's own");
    cj_free(dev, large);
    tap_is_uint(counts().total_bytes, before.total_bytes, "... and is freed to it");
}

static void when_it_is_idle(void)
{
    cj_stream_sync(s);
    cj_device_trim(dev, 0); /* the next chunk has room for two such blocks */
    cj_dptr a = cj_alloc(s, 700000);
    cj_fill32(s, a, 3, N);
    cj_free(dev, a);
    cj_stream_sync(s);
    const cj_alloc_counts before = counts();
    cj_dptr b = cj_alloc(t, 700000), c = cj_alloc(t, 700000);
    const cj_alloc_counts after = counts();
    tap_ok(b.addr == a.addr || c.addr == a.addr, "another stream gets a block whose uses are complete");
    tap_is_uint(after.waits, before.waits, "... and waits for nothing");
    cj_free(dev, b);
    cj_free(dev, c);
}

/* A chunk has room for two blocks of this size, and there is one chunk. */
static void handed_on(void)
{
    struct latch l = LATCH_CLOSED;
    cj_stream *u = cj_stream_create(dev, NULL);
    uint32_t *h = cj_host_alloc(dev, 3 * sizeof *h * N, NULL);
    cj_stream *const streams[3] = { s, t, u };
    cj_stream_sync(s);
    cj_stream_sync(t);
    cj_device_trim(dev, 0);
    cj_device_set_allocator(dev, CJ_ALLOCATOR(.chunk_bytes = 2 * MIB, .max_total = 2 * MIB));
    cj_dptr other = cj_alloc(s, BLOCK), handed = { 0 };
    const uint64_t before = counts().waits;
    for (int i = 0; i < 3; i++) {
        cj_dptr m = cj_alloc(streams[i], BLOCK);
        if (i) tap_is_uint(m.addr, handed.addr, "stream %d gets what stream %d freed", i, i - 1);
        handed = m;
        if (!i) bench_hold(s, &l);
        cj_fill32(streams[i], m, 0, N);
        cj_launch(streams[i], add, cj_threads(N, 256), m, N, 7 + i);
        cj_copy_to_host(streams[i], h + N * i, m, sizeof *h * N);
        cj_free(dev, m);
    }
    tap_is_uint(counts().waits - before, 2, "each waits for the one before, on the device");
    tap_is_uint(counts_of(u).hits_waited, 1, "... and counts that");
    tap_is_int(cj_stream_query(t), CJ_ENOTREADY, "the second stream waits for the first");
    tap_is_int(cj_stream_query(u), CJ_ENOTREADY, "the third waits for the second");
    latch_open(&l);
    for (int i = 0; i < 3; i++) tap_is_int(cj_stream_sync(streams[i]), CJ_OK, "stream %d: done", i);
    bool right = true;
    for (int i = 0; i < 3 * N; i++) right &= h[i] == (uint32_t)(7 + i / N);
    tap_ok(right, "each stream had the memory for itself");
    cj_free(dev, other);
    cj_host_free(dev, h);
    cj_stream_free(u);
}

/* The stream's work comes to its end, and leaves its own words in the block. */
static void has_words(cj_stream *of, cj_dptr m, uint32_t word, const char *ends)
{
    uint32_t got[2] = { 0, 0 };
    cj_copy_to_host(of, got, m, sizeof got);
    tap_is_int(cj_stream_sync(of), CJ_OK, "%s", ends);
    tap_ok(got[0] == word && got[1] == word, "... and the block has the words of its latest owner");
}

/* A block that was freed after another stream had waited: the later event counts, not the one that is there. */
static void behind_the_latest_point(void)
{
    struct latch first = LATCH_CLOSED, second = LATCH_CLOSED;
    cj_stream *u = cj_stream_create(dev, NULL);
    cj_dptr a = cj_alloc(s, BLOCK), b = cj_alloc(s, BLOCK);
    bench_hold(s, &first);
    cj_fill32(s, a, 1, N);
    cj_free(dev, a);
    cj_dptr again = cj_alloc(t, BLOCK);
    tap_is_uint(again.addr, a.addr, "a stream waits for what was freed first");
    bench_hold(s, &second);
    cj_fill32(s, b, 2, N);
    cj_free(dev, b);
    cj_dptr late = cj_alloc(u, BLOCK);
    tap_is_uint(late.addr, b.addr, "another one for what was freed later");
    cj_fill32(u, late, 3, N);
    latch_open(&first);
    latch_entered(&second);
    tap_is_int(cj_stream_sync(t), CJ_OK, "the first can go on");
    tap_is_int(cj_stream_sync_for(u, 50), CJ_ETIMEOUT, "the second cannot");
    latch_open(&second);
    has_words(u, late, 3, "the second goes on when its block's last work is done");
    cj_free(dev, again);
    cj_free(dev, late);
    cj_stream_sync(s);
    cj_stream_sync(t);
    cj_stream_free(u);
}

/* The stream that freed is gone, and its last work is held. */
static void of_a_stream_that_is_gone(void)
{
    struct latch l = LATCH_CLOSED;
    cj_device_trim(dev, 0);
    cj_stream *u = cj_stream_create(dev, NULL);
    cj_dptr other = cj_alloc(t, BLOCK), m = cj_alloc(u, BLOCK), late = cj_alloc(u, 4096);
    tap_ok(!late.addr && cj_stream_sync(u) == CJ_ENOMEM, "no third block fits: %s", cj_error_last()->message);
    bench_hold(u, &l);
    cj_fill32(u, m, 5, N);
    cj_free(dev, m);
    cj_stream_free(u);
    cj_dptr again = cj_alloc(t, BLOCK);
    tap_is_uint(again.addr, m.addr, "the block of a stream that is gone is reused");
    cj_fill32(t, again, 6, N);
    tap_is_int(cj_stream_query(t), CJ_ENOTREADY, "... behind its last work");
    latch_open(&l);
    has_words(t, again, 6, "... which ends");
    cj_free(dev, other);
    cj_free(dev, again);
    cj_stream_sync(t);
}

/* Freed while another stream uses it. */
static void behind_other_uses(void)
{
    struct latch l = LATCH_CLOSED;
    cj_dptr a = cj_alloc(s, BLOCK), b = cj_alloc(s, BLOCK);
    cj_stream_fork(s, t);
    bench_hold(t, &l);
    cj_launch(t, add, cj_threads(N, 256), a, N, 1);
    cj_stream_use(t, a);
    cj_free(dev, a);
    tap_is_uint(counts().deferred_bytes, MIB, "what another stream uses is not free");
    cj_dptr c = cj_alloc(s, BLOCK);
    tap_ok(!c.addr, "... for its own stream neither");
    cj_stream_sync(s);
    cj_free(dev, b);
    c = cj_alloc(s, BLOCK);
    tap_is_uint(c.addr, b.addr, "what is free is");
    latch_open(&l);
    tap_is_int(cj_stream_sync(t), CJ_OK, "the use ends");
    tap_is_uint(cj_device_collect(dev), 0, "no release is deferred then");
    tap_is_uint(counts().deferred_bytes, 0, "... and the memory is free");
    cj_free(dev, c);
}

int main(void)
{
    bench_open(0);
    cj_device_set_allocator(dev, CJ_ALLOCATOR(.chunk_bytes = 2 * MIB));
    by_its_own_stream();
    of_sizes();
    when_it_is_idle();
    handed_on();
    behind_the_latest_point();
    of_a_stream_that_is_gone();
    behind_other_uses();
    tap_is_uint(counts().live, 0, "nothing is live: %llu allocations, %llu frees", (unsigned long long)counts().allocs,
                (unsigned long long)counts().frees);
    return bench_close();
}
