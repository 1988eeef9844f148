/* Workspace of launches: pieces of the object for streams in any order, memory of graphs that goes with them, objects
 * that are freed last. */
#include "tests/kernels/kernels_bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STREAMS = 4, COLUMNS = 40000, GEMV_COLUMNS = 3200, BLOCK_BYTES = 34, ROUNDS = 8, CAPTURES = 40 };

/* -- Objects ------------------------------------------------------------------------------------------------------- */

/* Launch `i` of an object has input `i` and result `i`. */
typedef struct bench {
    kb_memory x[MOST_STREAMS], matrix, scanned, result[MOST_STREAMS];
} bench;

typedef void *maker(cj_device *dev, cj_kernel_cache *cache, uint32_t in_flight);
typedef cj_status launcher(cj_stream *s, void *object, const bench *b, unsigned i);
typedef struct kind {
    const char *name;
    maker *make;
    launcher *launch;
    void (*end)(void *object);
    size_t bytes; /* of the result that is compared */
} kind;

static void *make_reduce(cj_device *dev, cj_kernel_cache *cache, uint32_t in_flight)
{
    return cj_reduce_create(dev, CJ_REDUCE(.type = CJ_F32, .in_flight = in_flight, .columns = COLUMNS, .cache = cache));
}
static cj_status launch_reduce(cj_stream *s, void *object, const bench *b, unsigned i)
{
    const cj_reduce_args a = { .x.data = b->x[i].data, .columns = COLUMNS, .out = b->result[i].data };
    return cj_reduce_launch(s, object, &a);
}
static void end_reduce(void *object) { cj_reduce_free(object); }

static void *make_argmax(cj_device *dev, cj_kernel_cache *cache, uint32_t in_flight)
{
    return cj_argmax_create(dev, CJ_ARGMAX(.type = CJ_F32, .in_flight = in_flight, .columns = COLUMNS, .cache = cache));
}
static cj_status launch_argmax(cj_stream *s, void *object, const bench *b, unsigned i)
{
    const cj_argmax_args a = { .x.data = b->x[i].data, .columns = COLUMNS, .out = b->result[i].data };
    return cj_argmax_launch(s, object, &a);
}
static void end_argmax(void *object) { cj_argmax_free(object); }

static void *make_scan(cj_device *dev, cj_kernel_cache *cache, uint32_t in_flight)
{
    return cj_scan_create(dev, CJ_SCAN(.type = CJ_F32, .in_flight = in_flight, .columns = COLUMNS, .cache = cache));
}
static cj_status launch_scan(cj_stream *s, void *object, const bench *b, unsigned i)
{
    const cj_scan_args a = { .x.data = b->x[i].data, .out.data = b->result[i].data, .columns = COLUMNS };
    return cj_scan_launch(s, object, &a);
}
static void end_scan(void *object) { cj_scan_free(object); }

/* The matrix is not at a multiple of 16 bytes, so the vector is quantised into workspace. */
static void *make_gemv(cj_device *dev, cj_kernel_cache *cache, uint32_t in_flight)
{
    return cj_gemv_create(dev, CJ_GEMV(.format = CJ_GEMV_Q8_0, .in_flight = in_flight, .columns = GEMV_COLUMNS,
                                       .cache = cache));
}
static cj_status launch_gemv(cj_stream *s, void *object, const bench *b, unsigned i)
{
    const cj_gemv_args a = { .matrix = cj_offset(b->matrix.data, 2), .x = b->x[i].data, .out = b->result[i].data,
                             .rows = 3, .columns = GEMV_COLUMNS };
    return cj_gemv_launch(s, object, &a);
}
static void end_gemv(void *object) { cj_gemv_free(object); }

static const kind kinds[] = {
    { "reduce", make_reduce, launch_reduce, end_reduce, 4 },
    { "argmax", make_argmax, launch_argmax, end_argmax, 8 },
    { "scan", make_scan, launch_scan, end_scan, COLUMNS * 4 },
    { "gemv", make_gemv, launch_gemv, end_gemv, 12 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Inputs that differ in their values and in where the greatest is. */
static bench bench_begin(void)
{
    bench b = { .matrix = kb_take(2 + 3 * GEMV_COLUMNS / 32 * BLOCK_BYTES) };
    uint8_t *matrix = b.matrix.host;
    const uint16_t one = kb_f16_of(1);
    for (size_t at = 2; at < b.matrix.bytes; at += BLOCK_BYTES) {
        memcpy(matrix + at, &one, sizeof one);
        for (int k = 2; k < BLOCK_BYTES; k++) matrix[at + (size_t)k] = (uint8_t)(kb_random() % 7);
    }
    kb_put(&b.matrix);
    for (unsigned i = 0; i < MOST_STREAMS; i++) {
        b.x[i] = kb_take(COLUMNS * sizeof(float));
        b.result[i] = kb_take(COLUMNS * sizeof(float));
        float *x = b.x[i].host;
        for (unsigned k = 0; k < COLUMNS; k++) x[k] = (float)(i + 1 + k % 3);
        x[1000 * i + 17] = 100;
        kb_put(&b.x[i]);
    }
    return b;
}

static void bench_end(bench *b)
{
    kb_drop(&b->matrix);
    for (unsigned i = 0; i < MOST_STREAMS; i++) kb_drop(&b->x[i]), kb_drop(&b->result[i]);
}

/* The results of launches that run alone, for free(). */
static void expected(const kind *k, bench *b, void *want[MOST_STREAMS])
{
    void *object = k->make(kb_dev, NULL, 1);
    for (unsigned i = 0; i < MOST_STREAMS; i++) {
        kb_is_ok(kb_s[0], k->launch(kb_s[0], object, b, i), "alone");
        cj_stream_sync(kb_s[0]);
        kb_get(&b->result[i]);
        want[i] = malloc(k->bytes);
        memcpy(want[i], b->result[i].host, k->bytes);
    }
    k->end(object);
}

static unsigned count_wrong(const kind *k, bench *b, void *const want[MOST_STREAMS])
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < MOST_STREAMS; i++)
        wrong += !kb_get(&b->result[i]) || memcmp(b->result[i].host, want[i], k->bytes) != 0;
    return wrong;
}

/* -- Streams ------------------------------------------------------------------------------------------------------- */

/* In the order of the string, launch i goes to the stream that its digit names. */
static const struct order { const char *streams; uint32_t in_flight; } orders[] = {
    { "0011", 2 }, { "0101", 2 }, { "0110", 1 }, { "0123", 2 }, { "0123", 3 }, { "0000", 3 }, { "0123", 4 },
};

static void streams_share(bench *b)
{
    for (size_t n = 0; n < KINDS; n++) {
        const kind *k = &kinds[n];
        void *want[MOST_STREAMS];
        expected(k, b, want);
        for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
            void *object = k->make(kb_dev, NULL, orders[o].in_flight);
            unsigned wrong = 0;
            for (int round = 0; round < (tap_is_slow() ? 2 : ROUNDS); round++) {
                for (unsigned i = 0; i < MOST_STREAMS; i++) {
                    cj_stream *s = kb_s[orders[o].streams[i] - '0'];
                    wrong += k->launch(s, object, b, i) != CJ_OK;
                }
                for (unsigned i = 0; i < KB_STREAMS; i++) wrong += cj_stream_sync(kb_s[i]) != CJ_OK;
                wrong += count_wrong(k, b, want);
            }
            tap_is_int(wrong, 0, "%s with %u in flight, launched on streams %s: the results of single launches",
                       k->name, orders[o].in_flight, orders[o].streams);
            k->end(object);
        }
        for (unsigned i = 0; i < MOST_STREAMS; i++) free(want[i]);
    }
}

typedef struct worker { const kind *k; void *object; const bench *b; unsigned i, failed; } worker;

static void *launch_many(void *data)
{
    worker *w = data;
    for (int n = 0; n < ROUNDS; n++) w->failed += w->k->launch(kb_s[w->i], w->object, w->b, w->i) != CJ_OK;
    w->failed += cj_stream_sync(kb_s[w->i]) != CJ_OK;
    return NULL;
}

static void threads_share(bench *b)
{
    for (size_t n = 0; n < KINDS; n++) {
        const kind *k = &kinds[n];
        void *want[MOST_STREAMS], *object = k->make(kb_dev, NULL, 2);
        worker w[MOST_STREAMS];
        pthread_t thread[MOST_STREAMS];
        unsigned failed = 0;
        expected(k, b, want);
        for (unsigned i = 0; i < MOST_STREAMS; i++) {
            w[i] = (worker){ k, object, b, i, 0 };
            if (pthread_create(&thread[i], NULL, launch_many, &w[i])) tap_bail("there is no thread");
        }
        for (unsigned i = 0; i < MOST_STREAMS; i++) pthread_join(thread[i], NULL), failed += w[i].failed;
        tap_is_int(failed + count_wrong(k, b, want), 0, "%s with 2 in flight, launched by 4 threads on 4 streams",
                   k->name);
        k->end(object);
        for (unsigned i = 0; i < MOST_STREAMS; i++) free(want[i]);
    }
}

/* -- Graphs -------------------------------------------------------------------------------------------------------- */

/* Of allocations, and of memory that graphs keep. */
static uint64_t bytes_in_use(void)
{
    cj_alloc_counts counts;
    cj_alloc_counts_defaults(&counts);
    cj_device_collect(kb_dev);
    cj_device_get_alloc_counts(kb_dev, &counts);
    return counts.live_bytes + counts.deferred_bytes;
}

static void graphs_take_theirs_along(bench *b)
{
    for (size_t n = 0; n < KINDS; n++) {
        const kind *k = &kinds[n];
        void *object = k->make(kb_dev, NULL, 0);
        const uint64_t before = bytes_in_use();
        uint64_t inside = 0;
        unsigned failed = 0;
        for (int i = 0; i < CAPTURES; i++) {
            failed += cj_capture_begin(kb_s[0], CJ_CAPTURE_THREAD) != CJ_OK;
            failed += k->launch(kb_s[0], object, b, 0) != CJ_OK;
            cj_graph *g = cj_capture_end(kb_s[0]);
            failed += cj_error_of(g)->status != CJ_OK;
            inside = bytes_in_use();
            cj_graph_free(g);
        }
        tap_is_int(failed, 0, "%s is captured %d times", k->name, CAPTURES);
        tap_ok(inside > before, "%s: a graph has its workspace", k->name);
        tap_is_uint(bytes_in_use(), before, "%s: which goes with the graph", k->name);
        k->end(object);
    }
}

/* The workspace of one launch of a graph is not that of another one: two executable graphs run at once, each with other
 * inputs under way. */
static void launches_of_a_graph(bench *b)
{
    for (size_t n = 0; n < KINDS; n++) {
        const kind *k = &kinds[n];
        void *want[MOST_STREAMS], *object = k->make(kb_dev, NULL, 2);
        unsigned failed = 0;
        expected(k, b, want);
        cj_capture_begin(kb_s[0], CJ_CAPTURE_THREAD);
        for (unsigned i = 0; i < MOST_STREAMS; i++) failed += k->launch(kb_s[0], object, b, i) != CJ_OK;
        cj_graph *g = cj_capture_end(kb_s[0]);
        cj_graph_exec *x[2] = { cj_graph_instantiate(g, NULL), cj_graph_instantiate(g, NULL) };
        cj_graph_free(g);
        k->end(object);
        for (int round = 0; round < 3; round++)
            for (int i = 0; i < 2; i++) failed += cj_graph_launch(kb_beside(i), x[i]) != CJ_OK;
        for (int i = 0; i < KB_STREAMS; i++) failed += cj_stream_sync(kb_s[i]) != CJ_OK;
        tap_is_int(failed + count_wrong(k, b, want), 0,
                   "%s: four launches of a graph that runs twice at once, after the object was freed", k->name);
        for (int i = 0; i < 2; i++) cj_graph_exec_free(x[i]);
        for (unsigned i = 0; i < MOST_STREAMS; i++) free(want[i]);
    }
}

/* -- Lifetime ------------------------------------------------------------------------------------------------------ */

static void freed_last(void)
{
    for (size_t n = 0; n < KINDS; n++) {
        const kind *k = &kinds[n];
        bench b = bench_begin();
        cj_driver *drv = cj_driver_open(NULL);
        cj_device *dev = cj_device_open(drv, 0, NULL);
        cj_stream *s = cj_stream_create(dev, NULL);
        cj_kernel_cache *cache = cj_kernel_cache_create(dev, NULL);
        void *object = k->make(dev, cache, 2);
        unsigned failed = k->launch(s, object, &b, 0) != CJ_OK;
        failed += cj_stream_sync(s) != CJ_OK;
        failed += cj_capture_begin(s, CJ_CAPTURE_THREAD) != CJ_OK;
        failed += k->launch(s, object, &b, 1) != CJ_OK;
        cj_graph_free(cj_capture_end(s));
        cj_kernel_cache_free(cache);
        cj_stream_free(s);
        cj_device_close(dev);
        cj_driver_close(drv);
        k->end(object);
        tap_is_int(failed, 0, "%s is freed behind its device", k->name);
        bench_end(&b);
    }
}

int main(void)
{
    kb_open();
    tap_timeout(60);
    bench b = bench_begin();
    streams_share(&b);
    threads_share(&b);
    graphs_take_theirs_along(&b);
    launches_of_a_graph(&b);
    bench_end(&b);
    freed_last();
    return kb_close();
}
