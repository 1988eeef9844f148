/* What streams cost over the bare driver: launches, prepared ones, graph replays, event records, copies and captures,
 * each done in blocks, alternately by the driver's own entry points and by ours, on the same stream, in one context
 * that is current for both.
 *
 * usage: stream [LIMITS]
 * A ratio is the median over the pairs of blocks, with the 95 % interval of that median (order statistics) in _low and
 * _high.  On a GPU a ratio named in the file of limits is judged: exit status 1 when its median is beyond the limit, or
 * when the interval does not decide. On the CPU device nothing is judged. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cujit/cujit.h>

#include "bench/judge.h"

enum { PAIRS = 301, PAIRS_SIM = 31, WARM = 16, BLOCK = 64, NODES = 8, COPY_BYTES = 4096 };

/* Both sides' handles.  Stream, memory and exec are the same ones (two execs of one graph differ on the device); kernel
 * and event are each side's own. */
typedef struct bench {
    cji_cu cu;
    cj_driver *drv;
    cj_device *dev;
    cj_stream *s;
    cj_kernel *k;
    cj_event *e;
    cj_prepared *p;
    cj_graph_exec *x;
    cj_dptr d;
    void *host; /* pinned */
    CUstream raw;
    CUmodule mod;
    CUfunction fn;
    CUevent event;
    bool failed; /* a call of either side failed, and was said */
} bench;

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry k(.param .u64 .ptr p, .param .u64 .ptr q, .param .f32 a, .param .u32 n)\n{\n ret;\n}\n";

/* -- Failures ------------------------------------------------------------------------------------------------------ */

static void need_raw(bench *b, CUresult r, const char *what)
{
    if (r == CUDA_SUCCESS || b->failed) return;
    fprintf(stderr, "stream: %s answered %d\n", what, (int)r);
    b->failed = true;
}

static void need(bench *b, cj_status st)
{
    if (st == CJ_OK || b->failed) return;
    fprintf(stderr, "stream: %s\n", cj_error_last()->message);
    b->failed = true;
}

/* -- One block of each kind, by the driver and by us --------------------------------------------------------------- */

static void raw_launch(bench *b, unsigned i)
{
    uint64_t p = b->d.addr, q = b->d.addr;
    float a = 2.0f;
    void *params[] = { &p, &q, &a, &i };
    need_raw(b, b->cu.cuLaunchKernel(b->fn, 1, 1, 1, 32, 1, 1, 0, b->raw, params, NULL), "cuLaunchKernel");
}
static void our_launch(bench *b, unsigned i) { need(b, cj_launch(b->s, b->k, cj_grid(1, 32), b->d, b->d, 2.0f, i)); }

/* The arguments lie ready. */
static void raw_prepared(bench *b, unsigned i)
{
    static uint64_t p;
    static float a = 2.0f;
    static unsigned n = 1;
    static void *params[] = { &p, &p, &a, &n };
    (void)i;
    p = b->d.addr;
    need_raw(b, b->cu.cuLaunchKernel(b->fn, 1, 1, 1, 32, 1, 1, 0, b->raw, params, NULL), "cuLaunchKernel");
}
static void our_prepared(bench *b, unsigned i) { (void)i, need(b, cj_launch_prepared(b->s, b->p)); }

static void raw_replay(bench *b, unsigned i)
{
    (void)i, need_raw(b, b->cu.cuGraphLaunch(cj_graph_exec_raw(b->x), b->raw), "cuGraphLaunch");
}
static void our_replay(bench *b, unsigned i) { (void)i, need(b, cj_graph_launch(b->s, b->x)); }

static void raw_record(bench *b, unsigned i)
{
    (void)i, need_raw(b, b->cu.cuEventRecord(b->event, b->raw), "cuEventRecord");
}
static void our_record(bench *b, unsigned i) { (void)i, need(b, cj_event_record(b->e, b->s)); }

static void raw_copy(bench *b, unsigned i)
{
    (void)i;
    need_raw(b, b->cu.cuMemcpyHtoDAsync(b->d.addr, b->host, COPY_BYTES, b->raw), "cuMemcpyHtoDAsync");
}
static void our_copy(bench *b, unsigned i) { (void)i, need(b, cj_copy_to_device(b->s, b->d, b->host, COPY_BYTES)); }

static void raw_block(bench *b, void (*one)(bench *, unsigned))
{
    for (unsigned i = 0; i < BLOCK; i++) one(b, i);
    need_raw(b, b->cu.cuStreamSynchronize(b->raw), "cuStreamSynchronize");
}
static void our_block(bench *b, void (*one)(bench *, unsigned))
{
    for (unsigned i = 0; i < BLOCK; i++) one(b, i);
    need(b, cj_stream_sync(b->s));
}

/* A block of launches, captured: what it takes to have the graph. */
static void raw_capture(bench *b, void (*one)(bench *, unsigned))
{
    CUgraph g = NULL;
    need_raw(b, b->cu.cuStreamBeginCapture(b->raw, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
    for (unsigned i = 0; i < BLOCK; i++) one(b, i);
    need_raw(b, b->cu.cuStreamEndCapture(b->raw, &g), "cuStreamEndCapture");
    if (g) need_raw(b, b->cu.cuGraphDestroy(g), "cuGraphDestroy");
}
static void our_capture(bench *b, void (*one)(bench *, unsigned))
{
    need(b, cj_capture_begin(b->s, CJ_CAPTURE_THREAD));
    for (unsigned i = 0; i < BLOCK; i++) one(b, i);
    cj_graph *g = cj_capture_end(b->s);
    need(b, cj_error_of(g)->status);
    cj_graph_free(g);
}

static const struct row {
    const char *name, *ratio;
    void (*raw)(bench *, void (*)(bench *, unsigned)), (*our)(bench *, void (*)(bench *, unsigned));
    void (*raw_one)(bench *, unsigned), (*our_one)(bench *, unsigned);
} rows[] = {
    { "launch", "launch.ratio", raw_block, our_block, raw_launch, our_launch },
    { "prepared", "prepared.ratio", raw_block, our_block, raw_prepared, our_prepared },
    { "graph.replay", "graph.replay_ratio", raw_block, our_block, raw_replay, our_replay },
    { "record", "record.ratio", raw_block, our_block, raw_record, our_record },
    { "copy", "copy.ratio", raw_block, our_block, raw_copy, our_copy },
    { "capture", "capture.ratio", raw_capture, our_capture, raw_launch, our_launch },
};

/* -- Making and releasing ------------------------------------------------------------------------------------------ */

static cj_graph_exec *our_exec(bench *b)
{
    need(b, cj_capture_begin(b->s, CJ_CAPTURE_THREAD));
    for (unsigned i = 0; i < NODES; i++) our_launch(b, i);
    cj_graph *g = cj_capture_end(b->s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    need(b, cj_error_of(x)->status);
    cj_graph_free(g);
    return x;
}

static void start(bench *b)
{
    CUcontext ctx = NULL;
    cj_module *mod;
    b->drv = cj_driver_open(NULL);
    b->dev = cj_device_open(b->drv, 0, NULL);
    need(b, cj_error_of(b->dev)->status);
    if (b->failed || !bench_load_driver("stream", cj_driver_path(b->drv), &b->cu)) {
        b->failed = true;
        return;
    }
    need_raw(b, b->cu.cuDevicePrimaryCtxRetain(&ctx, 0), "cuDevicePrimaryCtxRetain");
    need_raw(b, b->cu.cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
    b->s = cj_stream_create(b->dev, NULL);
    b->raw = cj_stream_raw(b->s);
    mod = cj_module_load_text(b->dev, text, NULL);
    b->k = cj_module_kernel(mod, "k");
    cj_module_free(mod);
    need(b, cj_error_of(b->k)->status);
    b->d = cj_alloc(b->s, COPY_BYTES);
    b->host = cj_host_alloc(b->dev, COPY_BYTES, NULL);
    b->e = cj_event_create(b->dev, NULL);
    need_raw(b, b->cu.cuModuleLoadData(&b->mod, text), "cuModuleLoadData");
    need_raw(b, b->cu.cuModuleGetFunction(&b->fn, b->mod, "k"), "cuModuleGetFunction");
    need_raw(b, b->cu.cuEventCreate(&b->event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    if (!b->d.addr || !b->host) need(b, cj_error_last()->status);
    if (b->failed) return;
    memset(b->host, 0, COPY_BYTES);
    b->p = cj_prepare(b->k, cj_grid(1, 32), b->d, b->d, 2.0f, 1u);
    need(b, cj_error_of(b->p)->status);
    need(b, cj_stream_sync(b->s)); /* the memory is there before a capture uses it */
    b->x = our_exec(b);
}

static void finish(bench *b)
{
    if (b->event) b->cu.cuEventDestroy(b->event);
    if (b->mod) b->cu.cuModuleUnload(b->mod);
    cj_graph_exec_free(b->x);
    cj_prepared_free(b->p);
    cj_event_free(b->e);
    cj_kernel_free(b->k);
    if (b->host) cj_host_free(b->dev, b->host);
    cj_free(b->dev, b->d);
    cj_stream_free(b->s);
    if (b->cu.cuCtxSetCurrent) {
        b->cu.cuCtxSetCurrent(NULL);
        b->cu.cuDevicePrimaryCtxRelease(0);
    }
    cj_device_close(b->dev);
    cj_driver_close(b->drv);
}

/* -- Measuring ----------------------------------------------------------------------------------------------------- */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef struct result { double raw_ns, our_ns, ratio, low, high; } result;

static result measure(bench *b, const struct row *row, int pairs)
{
    static double raw[PAIRS], our[PAIRS], ratio[PAIRS];
    for (int i = -WARM; i < pairs && !b->failed; i++) {
        double took[2];
        for (int half = 0; half < 2; half++) {
            bool ours = half ^ (i & 1); /* each side begins every other pair */
            double t0 = now_ns();
            if (ours) row->our(b, row->our_one);
            else row->raw(b, row->raw_one);
            took[ours] = now_ns() - t0;
        }
        if (i < 0) continue;
        raw[i] = took[0] / BLOCK;
        our[i] = took[1] / BLOCK;
        ratio[i] = took[1] / took[0];
    }
    bench_sort(raw, (size_t)pairs);
    bench_sort(our, (size_t)pairs);
    bench_sort(ratio, (size_t)pairs);
    /* The median's 95 % interval: how many of n values lie below the true median is binomial (n, 1/2). */
    int away = (int)ceil(0.98 * sqrt(pairs));
    return (result){ raw[pairs / 2], our[pairs / 2], ratio[pairs / 2], ratio[pairs / 2 - away],
                     ratio[pairs / 2 + away] };
}

static void report(const char *name, const char *tail, double value, const char *unit)
{
    printf("%s%s %.6g %s\n", name, tail, value, unit);
}

/* -- Judging ------------------------------------------------------------------------------------------------------- */

static bool judge(const char *file, const char *metric, const result *r)
{
    bench_limit limit;
    if (!bench_limit_find("stream", file, metric, &limit) || !bench_limit_holds("stream", metric, &limit, r->ratio))
        return false;
    if (!limit.known || r->high <= limit.value) return true;
    fprintf(stderr, "stream: %s is %.4f, but its 95 %% interval, %.4f to %.4f, does not decide about the limit %g\n",
            metric, r->ratio, r->low, r->high, limit.value);
    return false;
}

static void say_device(const bench *b)
{
    char build[100] = "";
    FILE *f = strcmp(cj_driver_kind(b->drv), "cuda") ? NULL : fopen("/sys/module/nvidia/version", "r");
    if (f && !fgets(build, sizeof build, f)) *build = 0;
    if (f) fclose(f);
    build[strcspn(build, "\n")] = 0;
    printf("device %s\n", cj_device_name(b->dev));
    printf("driver %s, CUDA %d.%d%s%s\n", cj_driver_kind(b->drv), cj_driver_version(b->drv) / 1000,
           cj_driver_version(b->drv) % 1000 / 10, *build ? ", build " : "", build);
}

int main(int argc, char **argv)
{
    const char *limits = argc > 1 ? argv[1] : BENCH_LIMITS;
    bench b = { .failed = false };
    bool good = true;
    start(&b);
    bool gpu = !strcmp(cj_driver_kind(b.drv), "cuda");
    if (!b.failed) say_device(&b);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !b.failed; i++) {
        result r = measure(&b, &rows[i], gpu ? PAIRS : PAIRS_SIM);
        if (b.failed) break;
        report(rows[i].name, ".raw_ns", r.raw_ns, "ns");
        report(rows[i].name, ".ns", r.our_ns, "ns");
        report(rows[i].ratio, "", r.ratio, "ratio");
        report(rows[i].ratio, "_low", r.low, "ratio");
        report(rows[i].ratio, "_high", r.high, "ratio");
        if (gpu) good &= judge(limits, rows[i].ratio, &r);
        fflush(stdout);
    }
    good &= !b.failed;
    finish(&b);
    return good ? 0 : 1;
}
