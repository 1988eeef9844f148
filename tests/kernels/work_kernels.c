/* Kernels of libcujit-kernels: made, launched, captured, freed. */
#include <cujit/kernels.h>

#include "tests/whole/work.h"

enum { N = 20000 };
static cj_device *dev;
static cj_stream *s;
static cj_dptr d;
static int64_t sum;

static void rows(void)
{
    static int32_t h[N], out[4];
    cj_reduce *r = cj_reduce_create(dev, CJ_REDUCE(.type = CJ_S32, .in_flight = 1, .columns = N));
    cj_scan *c = cj_scan_create(dev, CJ_SCAN(.type = CJ_S32));
    cj_argmax *a = cj_argmax_create(dev, CJ_ARGMAX(.type = CJ_S32, .index_type = CJ_S32));
    cj_dptr at = cj_offset(d, sizeof h), space = cj_offset(d, sizeof h + 32);
    bool made = work_made(r);
    made = work_made(c) && made;
    made = work_made(a) && made;
    for (int32_t i = 0; i < N; i++) h[i] = i % 7;
    h[100] = 9;
    work_did(cj_copy_to_device(s, d, h, sizeof h));
    if (made) {
        const cj_reduce_args ra = { .x = { d, 0, 0 }, .columns = N, .out = at };
        const cj_scan_args ca = { .x = { d, 0, 0 }, .out = { d, 0, 0 }, .columns = N, .workspace = { space, 4096 } };
        const cj_argmax_args aa = { .x = { d, 0, 0 }, .columns = 200, .out = cj_offset(at, 4) };
        work_did(cj_reduce_launch(s, r, &ra));
        work_did(cj_argmax_launch(s, a, &aa));
        if (work_did(cj_capture_begin(s, CJ_CAPTURE_THREAD))) {
            cj_scan_launch(s, c, &ca);
            cj_reduce_launch(s, r, &(cj_reduce_args){ .x = { d, 0, 0 }, .columns = N, .out = cj_offset(at, 8) });
            cj_graph *g = cj_capture_end(s);
            cj_graph_exec *x = cj_graph_instantiate(g, NULL);
            work_made(g);
            if (work_made(x)) work_did(cj_graph_launch(s, x));
            cj_graph_exec_free(x);
            cj_graph_free(g);
        }
    }
    work_did(cj_copy_to_host(s, out, at, sizeof out));
    if (work_waited(s)) sum = (int64_t)out[0] + out[1] + out[2];
    cj_reduce_free(r);
    cj_scan_free(c);
    cj_argmax_free(a);
}

/* 2 x 3 by 3 x 2, with a function at the end. */
static void products(void)
{
    static const float in[] = { 1, 2, 3, 4, 5, 6, 1, 0, 0, 1, 1, 1 };
    static float out[4];
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "twice");
    cj_val v = cj_param(f, "v", CJ_F32);
    cj_param(f, "row", CJ_U32), cj_param(f, "column", CJ_U32), cj_param(f, "batch", CJ_U32);
    cj_result(f, "r", CJ_F32);
    cj_return_value(f, cj_add(f, v, v));
    cj_gemm *g = cj_gemm_create(dev, CJ_GEMM(.type = CJ_F32, .module = m, .function = "twice"));
    cj_dptr b = cj_offset(d, 24), at = cj_offset(d, 64);
    work_did(cj_copy_to_device(s, d, in, sizeof in));
    if (work_made(g)) {
        const cj_gemm_args a = { .a = { d, 0, 0 }, .b = { b, 0, 0 }, .out = { at, 0, 0 }, .m = 2, .n = 2, .k = 3 };
        work_did(cj_gemm_launch(s, g, &a));
    }
    work_did(cj_copy_to_host(s, out, at, sizeof out));
    if (work_waited(s)) sum += (int64_t)(out[0] + 10 * out[1] + 100 * out[2] + 1000 * out[3]);
    cj_gemm_free(g);
    cj_ptx_free(m);
}

/* Two queries, three keys of two elements; the second query sees the first two. */
static void attention(void)
{
    static const float in[] = { 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 8, 16, 8, 16, 8, 16 };
    static float out[4];
    cj_attention *x = cj_attention_create(dev, CJ_ATTENTION(.type = CJ_F32, .dim = 2, .causal = 1));
    cj_dptr at = cj_offset(d, sizeof in);
    work_did(cj_copy_to_device(s, d, in, sizeof in));
    if (work_made(x)) {
        const cj_attention_args a = { .q = { .data = d }, .k = { .data = cj_offset(d, 16) },
                                      .v = { .data = cj_offset(d, 40) }, .out = { .data = at }, .queries = 2,
                                      .keys = 3, .heads = 1 };
        work_did(cj_attention_launch(s, x, &a));
    }
    work_did(cj_copy_to_host(s, out, at, sizeof out));
    if (work_waited(s)) sum += (int64_t)(out[0] + 0.5f) + (int64_t)(100 * out[3] + 0.5f);
    cj_attention_free(x);
}

int main(void)
{
    cj_driver *drv = cj_driver_open(NULL);
    if (work_made(drv)) {
        dev = cj_device_open(drv, 0, NULL);
        s = cj_stream_create(dev, NULL);
        if (work_made(s)) d = cj_alloc(s, 4 * N + 32 + 4096);
        if (work_made(s) && d.addr) rows(), products(), attention();
        if (d.addr) cj_free(dev, d);
        cj_stream_free(s);
        cj_device_collect(dev);
        cj_device_close(dev);
    }
    cj_driver_close(drv);
    return work_end("kernels", (uint64_t)sum);
}
