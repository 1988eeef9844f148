/* cj_alloc on a stream that is being captured: the memory is the graph's, and nobody else's while the graph or an
 * executable graph is there. */
#include "tests/device_bench.h"

enum { MIB = 1 << 20, N = 1024 };

static uint64_t live(void)
{
    cj_alloc_counts c;
    cj_alloc_counts_defaults(&c);
    cj_device_get_alloc_counts(dev, &c);
    return c.live;
}

static uint64_t deferred(void)
{
    cj_alloc_counts c;
    cj_alloc_counts_defaults(&c);
    cj_device_get_alloc_counts(dev, &c);
    return c.deferred_bytes;
}

/* Whether an allocation of that size on either stream gets `m`. */
static bool is_given(cj_dptr m, size_t bytes)
{
    cj_dptr got[16];
    bool given = false;
    for (int i = 0; i < 16; i++) {
        got[i] = cj_alloc(i % 2 ? s : t, bytes);
        given |= got[i].addr == m.addr;
    }
    for (int i = 0; i < 16; i++) cj_free(dev, got[i]);
    cj_stream_sync(s);
    cj_stream_sync(t);
    return given;
}

static void of_the_graph(void)
{
    uint32_t *out = cj_host_alloc(dev, 2 * sizeof *out, NULL);
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_dptr a = cj_alloc(s, 300000);
    tap_ok(a.addr != 0, "a stream that is being captured allocates: %s", cj_error_of(s)->message);
    cj_fill32(s, a, 1, N);
    cj_launch(s, add, cj_threads(N, 256), a, N, 4);
    cj_copy_to_host(s, out, a, sizeof *out);
    tap_is_int(cj_free(dev, a), CJ_OK, "it is freed in the capture");
    cj_dptr b = cj_alloc(s, 300000);
    tap_is_uint(b.addr, a.addr, "and the capture takes it again");
    cj_fill32(s, b, 2, N);
    cj_copy_to_host(s, out + 1, b, sizeof *out);
    cj_free(dev, b);
    cj_graph *g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "there is a graph: %s", cj_error_of(g)->message);
    tap_is_uint(live(), 0, "the user has nothing of it");
    tap_ok(!is_given(a, 300000), "nobody else gets it while the graph is there");
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    tap_ok(!is_given(a, 300000), "... nor while the executable graph is");
    for (int i = 0; i < 2; i++) {
        out[0] = out[1] = 0;
        tap_is_int(cj_graph_launch(i ? t : s, x), CJ_OK, "it is launched: %s", cj_error_of(x)->message);
        tap_is_int(cj_stream_sync(i ? t : s), CJ_OK, "... and runs");
        tap_ok(out[0] == 5 && out[1] == 2, "... with the right bytes in turn");
    }
    cj_graph_exec_free(x);
    cj_stream_sync(s);
    cj_stream_sync(t);
    tap_is_uint(cj_device_collect(dev), 0, "the executable graph is gone");
    tap_is_uint(deferred(), 0, "and its memory is free");
    tap_ok(is_given(a, 300000), "... for everybody");
    cj_host_free(dev, out);
}

/* A block that the capture takes again for less: its earlier nodes still use all of it when the graph runs. */
static void taken_for_less(void)
{
    static const uint32_t words[] = { N, N / 2, N * 3 / 4 };
    uint32_t out[3] = { 0 };
    uint64_t at[3];
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    for (int i = 0; i < 3; i++) {
        const cj_dptr m = cj_alloc(s, words[i] * sizeof *out);
        at[i] = m.addr;
        cj_fill32(s, m, 10 * (i + 1), words[i]);
        cj_launch(s, add, cj_threads(words[i], 256), m, words[i], 1);
        cj_copy_to_host(s, out + i, cj_offset(m, (words[i] - 1) * sizeof *out), sizeof *out);
        cj_free(dev, m);
    }
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_ok(at[1] == at[0] && at[2] == at[0], "less, and then a little more, is taken from the same block");
    tap_is_int(cj_graph_launch(s, x), CJ_OK, "it is launched: %s", cj_error_of(x)->message);
    tap_is_int(cj_stream_sync(s), CJ_OK, "each kernel reaches its last word: %s", cj_error_of(s)->message);
    tap_ok(out[0] == 11 && out[1] == 21 && out[2] == 31, "... with the right bytes in turn");
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_stream_sync(s);
    cj_device_collect(dev);
}

static void used_by_two(void)
{
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_dptr a = cj_alloc(s, 70000);
    cj_fill32(s, a, 1, N);
    cj_stream_fork(s, t);
    cj_launch(t, add, cj_threads(N, 256), a, N, 1);
    cj_free(dev, a);
    cj_dptr b = cj_alloc(s, 70000);
    tap_ok(b.addr && b.addr != a.addr, "what another stream of the capture uses is not taken again in it");
    cj_fill32(s, b, 2, N);
    cj_stream_join(s, t);
    cj_graph *g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "there is a graph: %s", cj_error_of(g)->message);
    cj_graph_free(g);
    tap_is_uint(live(), 1, "what the user did not free outlives the graph");
    cj_free(dev, b);
}

static void of_two_captures(void)
{
    cj_dptr m[2];
    cj_graph *g[2];
    for (int i = 0; i < 2; i++) {
        cj_capture_begin(s, CJ_CAPTURE_THREAD);
        m[i] = cj_alloc(s, 50000);
        cj_fill32(s, m[i], 1, N);
        cj_free(dev, m[i]);
        g[i] = cj_capture_end(s);
    }
    tap_ok(m[0].addr && m[1].addr && m[0].addr != m[1].addr, "two graphs have memory of their own");
    cj_graph_free(g[0]);
    cj_graph_free(g[1]);
}

/* The memory that a capture takes may not be in use: an own stream's free block is, until its work is done. */
static void not_of_work_in_flight(void)
{
    struct latch l = LATCH_CLOSED;
    cj_dptr a = cj_alloc(s, 90000);
    bench_hold(s, &l);
    cj_fill32(s, a, 1, N);
    cj_free(dev, a);
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_dptr b = cj_alloc(s, 90000);
    tap_ok(b.addr && b.addr != a.addr, "a capture takes nothing that work in flight uses");
    cj_fill32(s, b, 1, N);
    cj_graph *g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "there is a graph: %s", cj_error_of(g)->message);
    latch_open(&l);
    cj_stream_sync(s);
    cj_graph_free(g);
    cj_free(dev, b);
}

static void memory_from_before(void)
{
    cj_dptr a = cj_alloc(s, 110000);
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_fill32(s, a, 1, N);
    cj_graph *g = cj_capture_end(s);
    cj_free(dev, a);
    tap_ok(!is_given(a, 110000), "memory that a graph uses is not reused, though it was freed");
    cj_graph_free(g);
    cj_stream_sync(s);
    tap_ok(is_given(a, 110000), "... until the graph is gone");
}

int main(void)
{
    bench_open(0);
    cj_device_set_allocator(dev, CJ_ALLOCATOR(.chunk_bytes = 2 * MIB));
    of_the_graph();
    taken_for_less();
    used_by_two();
    of_two_captures();
    not_of_work_in_flight();
    memory_from_before();
    tap_is_uint(live(), 0, "nothing is live");
    return bench_close();
}
