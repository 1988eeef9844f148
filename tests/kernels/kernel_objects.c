/* Objects of libcujit-kernels: one on four streams at once, captured and launched many times, two executable graphs at
 * once, workspace, what is shared, and what errors say. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 9001, LAUNCHES = 100 };

static cj_dptr mem(const kb_memory *m, size_t piece) { return cj_offset(m->data, (int64_t)(piece * COLUMNS * 4)); }

static void at_once(void)
{
    kb_memory x = kb_take(KB_STREAMS * COLUMNS * 4), out = kb_take(KB_STREAMS * COLUMNS * 4),
              single = kb_take(KB_STREAMS * COLUMNS * 4);
    kb_memory sums = kb_take(KB_STREAMS * 4), lone = kb_take(KB_STREAMS * 4);
    cj_scan *c = cj_scan_create(kb_dev, CJ_SCAN(.type = CJ_F32, .in_flight = KB_STREAMS, .columns = COLUMNS));
    cj_reduce *r = cj_reduce_create(kb_dev, CJ_REDUCE(.type = CJ_F32, .in_flight = KB_STREAMS, .columns = COLUMNS));
    for (size_t i = 0; i < KB_STREAMS * COLUMNS; i++) ((float *)x.host)[i] = (float)kb_uniform();
    kb_put(&x), kb_blank(&out), kb_blank(&single), kb_blank(&sums), kb_blank(&lone);
    for (int i = 0; i < KB_STREAMS; i++) {
        cj_scan_args a = { .x = { mem(&x, i), 0, 0 }, .out = { mem(&single, i), 0, 0 }, .columns = COLUMNS };
        cj_reduce_args b = { .x = { mem(&x, i), 0, 0 }, .columns = COLUMNS, .out = cj_offset(lone.data, 4 * i) };
        kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], c, &a), "scan"),
            kb_is_ok(kb_s[0], cj_reduce_launch(kb_s[0], r, &b), "reduce");
        cj_stream_sync(kb_s[0]);
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < KB_STREAMS; i++) {
            cj_scan_args a = { .x = { mem(&x, i), 0, 0 }, .out = { mem(&out, i), 0, 0 }, .columns = COLUMNS };
            cj_reduce_args b = { .x = { mem(&x, i), 0, 0 }, .columns = COLUMNS, .out = cj_offset(sums.data, 4 * i) };
            kb_is_ok(kb_s[i], cj_scan_launch(kb_s[i], c, &a), "scan");
            kb_is_ok(kb_s[i], cj_reduce_launch(kb_s[i], r, &b), "reduce");
        }
    tap_ok(kb_get(&single) && kb_get(&out) && !memcmp(single.host, out.host, out.bytes),
           "a scan on four streams at once has the bits of single launches");
    tap_ok(kb_get(&lone) && kb_get(&sums) && !memcmp(lone.host, sums.host, sums.bytes), "so has a reduction");

    /* captured: the first stream's data through both */
    kb_blank(&out), kb_blank(&sums);
    cj_capture_begin(kb_s[1], CJ_CAPTURE_THREAD);
    cj_scan_args a = { .x = { mem(&x, 0), 0, 0 }, .out = { mem(&out, 0), 0, 0 }, .columns = COLUMNS };
    cj_reduce_args b = { .x = { mem(&x, 0), 0, 0 }, .columns = COLUMNS, .out = sums.data };
    kb_is_ok(kb_s[1], cj_scan_launch(kb_s[1], c, &a), "captured scan");
    kb_is_ok(kb_s[1], cj_reduce_launch(kb_s[1], r, &b), "captured reduce");
    cj_graph *g = cj_capture_end(kb_s[1]);
    cj_graph_exec *e[2] = { cj_graph_instantiate(g, NULL), cj_graph_instantiate(g, NULL) };
    tap_is_int(cj_error_of(e[1])->status, CJ_OK, "a capture of both is instantiated twice: %s",
               cj_error_of(e[1])->message);
    size_t wrong = 0;
    for (int i = 0; i < (tap_is_slow() ? 5 : LAUNCHES); i++) wrong += cj_graph_launch(kb_s[0], e[0]) != CJ_OK;
    cj_stream_sync(kb_s[0]);
    wrong += !kb_get(&out) || memcmp(single.host, out.host, COLUMNS * 4) != 0;
    tap_is_uint(wrong, 0, "a captured scan has the same bits, launched many times");
    kb_blank(&out), kb_blank(&sums);
    for (int i = 0; i < (tap_is_slow() ? 4 : 20); i++) cj_graph_launch(kb_beside(2 + i % 2), e[i % 2]);
    tap_ok(kb_get(&out) && !memcmp(single.host, out.host, COLUMNS * 4), "so have two executable graphs at once");
    tap_ok(kb_get(&sums) && !memcmp(lone.host, sums.host, 4), "also of the reduction");
    cj_scan_free(c), cj_reduce_free(r);
    kb_blank(&out);
    cj_graph_launch(kb_s[3], e[0]);
    tap_ok(kb_get(&out) && !memcmp(single.host, out.host, COLUMNS * 4), "a graph runs after its objects were freed");
    cj_graph_exec_free(e[0]), cj_graph_exec_free(e[1]), cj_graph_free(g);
    kb_drop(&x), kb_drop(&out), kb_drop(&single), kb_drop(&sums), kb_drop(&lone);
}

static void shared(void)
{
    cj_kernel_cache *cache = cj_kernel_cache_create(kb_dev, NULL);
    cj_kernel_cache_stats st;
    cj_kernel_cache_stats_defaults(&st);
    cj_reduce *r[3];
    for (int i = 0; i < 3; i++)
        r[i] = cj_reduce_create(kb_dev, CJ_REDUCE(.type = i == 2 ? CJ_S32 : CJ_U16, .cache = cache));
    cj_kernel_cache_get_stats(cache, &st);
    tap_is_uint(st.builds, 10, "kernels of one shape are compiled once");
    tap_is_uint(st.hits, 5, "and found by the next object");
    const char *text = NULL;
    size_t bytes = 0;
    tap_is_int(cj_reduce_ptx(r[0], 0, &text, &bytes), CJ_OK, "the PTX is printed");
    tap_has_str(text, ".entry cj_reduce_pieces", "with the kernels' names");
    for (int i = 0; i < 3; i++) cj_reduce_free(r[i]);
    cj_kernel_cache_free(cache);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static void says(const void *object, cj_status status, const char *part)
{
    const cj_error *e = cj_error_of(object);
    tap_is_int(e->status, status, "%s", part);
    tap_has_str(e->message, part, "%s", e->message);
}

static void wrong_options(void)
{
    cj_reduce_opts defaults;
    cj_reduce_defaults(&defaults);
    const struct { const cj_reduce_opts *o; cj_status status; const char *says;
    } cases[] = {
        { NULL, CJ_EINVAL, "the options are NULL" },
        { &(const cj_reduce_opts){ .type = CJ_F32 }, CJ_EINVAL, "size is 0" },
        { &defaults, CJ_EINVAL, "type is not set; wants an integer of 8 to 64 bits, f16, bf16, f32 or f64" },
        { CJ_REDUCE(.type = CJ_F32, .op = CJ_COMBINE_XOR), CJ_EINVAL, "CJ_COMBINE_XOR does not join values of f32" },
        { CJ_REDUCE(.type = CJ_F32, .op = 99), CJ_EINVAL, "there is no op 99" },
        { CJ_REDUCE(.type = CJ_F32, .wide = CJ_F16), CJ_EINVAL, "wide is f16" },
        { CJ_REDUCE(.type = CJ_F32, .out_type = CJ_PRED), CJ_EINVAL, "out_type 1" },
        { CJ_REDUCE(.type = CJ_F32, .function = "f"), CJ_EINVAL, "module is NULL" },
        { CJ_REDUCE(.type = CJ_F32, .op = CJ_COMBINE_MAX, .atomic = 1), CJ_ENOTSUP,
          "no atomic operation for CJ_COMBINE_MAX of f32" },
        { CJ_REDUCE(.type = CJ_F16, .atomic = 1), CJ_EINVAL, "atomic wants out_type to be wide, f32; it is f16" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_reduce *r = cj_reduce_create(kb_dev, cases[i].o);
        says(r, cases[i].status, cases[i].says);
        cj_reduce_free(r);
    }
    cj_ptx *m = cj_ptx_create();
    cj_reduce *r = cj_reduce_create(kb_dev, CJ_REDUCE(.type = CJ_F32, .module = m, .function = "f"));
    says(r, CJ_ENOTFOUND, "f");
    cj_reduce_free(r);
    cj_fn *f = cj_ptx_func(m, "f");
    cj_val a = cj_param(f, "a", CJ_F32);
    cj_return_value(f, a);
    r = cj_reduce_create(kb_dev, CJ_REDUCE(.type = CJ_F32, .module = m, .function = "f"));
    says(r, CJ_EPTX, "cj_reduce_create: the function f does not fit (cj_call: f has 1 parameter, the call gives 2); "
                     "wants two parameters and a result of f32");
    cj_scan *c = cj_scan_create(kb_dev, CJ_SCAN(.type = CJ_F32, .module = m, .function = "f"));
    says(c, CJ_EPTX, "cj_scan_create: the function f does not fit");
    cj_scan_free(c);
    tap_is_int(cj_reduce_launch(kb_s[0], r, &(cj_reduce_args){ .columns = 1 }), CJ_EPTX,
               "a failed object fails with its failure");
    says(kb_s[0], CJ_EPTX, "f");
    cj_error_clear(kb_s[0]);
    cj_reduce_free(r);
    cj_return(cj_ptx_kernel(m, "k"));
    r = cj_reduce_create(kb_dev, CJ_REDUCE(.type = CJ_F32, .module = m, .function = "k"));
    says(r, CJ_EPTX, "the function k does not fit (cj_fn_inline: k is a kernel; kernels cannot be called)");
    cj_reduce_free(r);
    cj_ptx_free(m);
    r = cj_reduce_create(NULL, CJ_REDUCE(.type = CJ_F32));
    says(r, CJ_EHANDLE, "the device is NULL");
    cj_reduce_free(r);
}

static void wrong_arguments(void)
{
    kb_memory x = kb_take(COLUMNS * 4);
    cj_reduce *r = cj_reduce_create(kb_dev, CJ_REDUCE(.type = CJ_F32, .in_flight = 1, .columns = 100));
    const struct { cj_reduce_args a; const char *says;
    } cases[] = {
        { { .x = { { 0 }, 0, 0 }, .columns = 3, .out = x.data }, "x has no memory" },
        { { .x = { cj_offset(x.data, 2), 0, 0 }, .columns = 3, .out = x.data },
          "is not aligned to its elements of 4 bytes" },
        { { .x = { x.data, 0, 0 }, .columns = 3 }, "out has no memory" },
        { { .x = { x.data, 0, 0 }, .columns = COLUMNS, .out = x.data },
          "this launch needs a workspace of 256 bytes, and the object has pieces of 0" },
        { { .x = { x.data, 0, 0 }, .columns = COLUMNS, .out = x.data, .workspace = { x.data, 8 } },
          "the workspace has 8 bytes, this launch needs 256" },
        { { .x = { x.data, 0, 0 }, .columns = COLUMNS, .out = x.data, .workspace = { cj_offset(x.data, 4), 8 } },
          "is not aligned to 16 bytes" },
        { { .x = { x.data, INT64_MAX / 2, 0 }, .rows = 3, .columns = 3, .out = x.data }, "beyond any memory" },
        { { .x = { x.data, 0, 0 }, .rows = (uint64_t)1 << 33, .columns = 1, .out = x.data },
          "8589934592 rows are more than a grid has blocks" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tap_is_int(cj_reduce_launch(kb_s[0], r, &cases[i].a), CJ_EINVAL, "%s", cases[i].says);
        says(kb_s[0], CJ_EINVAL, cases[i].says);
        cj_error_clear(kb_s[0]);
    }
    tap_is_int(cj_reduce_launch(kb_s[0], r, NULL), CJ_EINVAL, "no arguments");
    cj_error_clear(kb_s[0]);
    tap_is_int(cj_reduce_launch(kb_s[0], (cj_reduce *)kb_s[1], &cases[0].a), CJ_EHANDLE, "a stream is no reduction");
    says(kb_s[0], CJ_EHANDLE, "the handle is a cj_stream, wants a cj_reduce");
    cj_error_clear(kb_s[0]);
    tap_is_int(cj_scan_launch(kb_s[0], (cj_scan *)r, &(cj_scan_args){ .columns = 1 }), CJ_EHANDLE,
               "a reduction is no scan");
    says(kb_s[0], CJ_EHANDLE, "the handle is a cj_reduce, wants a cj_scan");
    cj_error_clear(kb_s[0]);
    tap_is_int(cj_stream_wait((cj_stream *)r, NULL), CJ_EHANDLE, "other calls know it as an object of another type");
    tap_has_str(cj_error_last()->message, "is a cj_object, wants a cj_stream", "%s", cj_error_last()->message);
    /* a failed launch makes the graph incomplete */
    cj_capture_begin(kb_s[1], CJ_CAPTURE_THREAD);
    cj_reduce_launch(kb_s[1], r, &cases[0].a);
    cj_graph *g = cj_capture_end(kb_s[1]);
    says(g, CJ_EINVAL, "x has no memory");
    cj_graph_free(g);
    cj_error_clear(kb_s[1]);
    cj_reduce_free(r);
    cj_reduce_free(NULL);
    kb_drop(&x);
}

static void end_softmax(void *object) { cj_softmax_free(object); }
static void end_layer_norm(void *object) { cj_layer_norm_free(object); }
static void end_rope(void *object) { cj_rope_free(object); }
static void end_argmax(void *object) { cj_argmax_free(object); }
static void end_elementwise(void *object) { cj_elementwise_free(object); }

static void wrong_options_of_rows(void)
{
    const struct { void *object; void (*end)(void *object); const char *says;
    } cases[] = {
        { cj_softmax_create(kb_dev, CJ_SOFTMAX(.columns = 8)), end_softmax, "type is not set; wants f32, f16 or bf16" },
        { cj_softmax_create(kb_dev, CJ_SOFTMAX(.type = 99)), end_softmax, "type 99 is no type of elements" },
        { cj_softmax_create(kb_dev, CJ_SOFTMAX(.type = CJ_F32, .out_type = CJ_S8)), end_softmax, "out_type is s8" },
        { cj_layer_norm_create(kb_dev, CJ_LAYER_NORM(.type = CJ_F32, .param_type = CJ_F64)), end_layer_norm,
          "param_type is f64" },
        { cj_layer_norm_create(kb_dev, CJ_LAYER_NORM(.type = CJ_F32, .eps = -1)), end_layer_norm,
          "eps is -1; wants a number above 0, or 0 for 1e-5" },
        { cj_layer_norm_create(kb_dev, CJ_LAYER_NORM(.type = CJ_F32, .eps = NAN)), end_layer_norm, "eps is nan" },
        { cj_rope_create(kb_dev, CJ_ROPE(.dim = 8)), end_rope, "type is not set" },
        { cj_rope_create(kb_dev, CJ_ROPE(.type = CJ_F32, .dim = 3)), end_rope, "dim is 3" },
        { cj_argmax_create(kb_dev, CJ_ARGMAX(.least = 1)), end_argmax, "type is not set; wants an integer" },
        { cj_argmax_create(kb_dev, CJ_ARGMAX(.type = CJ_F32, .index_type = CJ_F32)), end_argmax,
          "index_type is f32; wants an integer of 32 or 64 bits" },
        { cj_elementwise_create(kb_dev, CJ_ELEMENTWISE(.inputs = 0)), end_elementwise,
          "0 inputs and 0 numbers; an activation has one or two inputs" },
        { cj_elementwise_create(kb_dev, CJ_ELEMENTWISE(.inputs = 2, .types = { CJ_F32 })), end_elementwise,
          "types[1] is not set" },
        { cj_elementwise_create(kb_dev, CJ_ELEMENTWISE(.inputs = 1, .types = { CJ_F32 }, .out_type = 99)),
          end_elementwise, "out_type 99 is no type of elements" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        says(cases[i].object, CJ_EINVAL, cases[i].says);
        cases[i].end(cases[i].object);
    }
}

/* A launch on the first stream has failed. */
static void launch_says(cj_status status, const char *part)
{
    tap_is_int(status, CJ_EINVAL, "%s", part);
    says(kb_s[0], CJ_EINVAL, part);
    cj_error_clear(kb_s[0]);
}

static void wrong_arguments_of_products(void)
{
    kb_memory m = kb_take(4096);
    const cj_rows x = { m.data, 0, 0 };
    cj_gemm *plain = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F32)),
            *both = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F32, .scaled = 1, .bias = 1));
    const struct { cj_gemm *gemm; cj_gemm_args a; const char *says;
    } products[] = {
        { plain, { .out = x, .alpha = 2 }, "alpha 2, beta 0 and no C, and the object was made without" },
        { plain, { .out = x, .alpha = 1, .beta = 1 }, "beta 1 and no C" },
        { plain, { .out = x, .c = x }, "beta 0 and a C" },
        { plain, { .out = x, .bias = m.data }, "there is memory for bias, which the object was made without" },
        { plain, { .out = { m.data, CJ_ROWS_SAME, 0 } }, "out: a stride of CJ_ROWS_SAME puts all rows in one place" },
        { plain, { .out = { m.data, 3, 0 } },
          "out: 4 rows of 4 elements with a stride of 3 and a step of 1 have several elements in one place" },
        { plain, { .out = { m.data, -4, 2 } }, "a stride of -4 and a step of 2 have several elements in one place" },
        { plain, { .out = x, .batches = 2, .out_batch = 1 }, "out: batches 1 elements apart have elements in one" },
        { plain, { .out = x, .batches = 5, .out_batch = -12 }, "out: batches -12 elements apart" },
        { plain, { .out = x, .batches = 3, .out_batch = 16, .a_batch = INT64_C(1) << 61 },
          "a: 3 batches 2305843009213693952 elements apart are beyond any memory" },
        { plain, { .out = x, .batches = 3, .out_batch = INT64_MIN }, "out: 3 batches -9223372036854775808 elements" },
        { both, { .out = x, .alpha = 2 }, "bias has no memory" },
        { both, { .out = x, .alpha = 1, .bias = cj_offset(m.data, 2) },
          "is not aligned to its elements of 4 bytes" },
    };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        cj_gemm_args a = products[i].a;
        a.a = a.b = x, a.m = a.n = a.k = 4;
        launch_says(cj_gemm_launch(kb_s[0], products[i].gemm, &a), products[i].says);
    }
    cj_gemm_free(plain), cj_gemm_free(both);

    cj_ptx *user = cj_ptx_create();
    cj_fn *f = cj_ptx_func(user, "halved");
    cj_return_value(f, cj_mul(f, cj_param(f, "v", CJ_F64), 0.5));
    cj_gemm *unfit = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F32, .module = user, .function = "halved"));
    says(unfit, CJ_EPTX, "wants the value in f32, row, column and batch in u32, and one result: an integer of 16");
    cj_gemm_free(unfit);
    cj_ptx_free(user);
    kb_drop(&m);
}

static void wrong_arguments_of_rows(void)
{
    kb_memory m = kb_take(4096);
    const cj_rows x = { m.data, 0, 0 }, odd = { cj_offset(m.data, 2), 0, 0 };
    cj_layer_norm *plain = cj_layer_norm_create(kb_dev, CJ_LAYER_NORM(.type = CJ_F32)),
                  *both = cj_layer_norm_create(kb_dev, CJ_LAYER_NORM(.type = CJ_F32, .weight = 1, .bias = 1));
    const struct { cj_layer_norm *norm; cj_layer_norm_args a; const char *says;
    } norms[] = {
        { plain, { .x = x, .out = { { 0 }, 0, 0 }, .columns = 8 }, "out has no memory" },
        { plain, { .x = x, .out = odd, .columns = 8 }, "is not aligned to its elements of 4 bytes" },
        { plain, { .x = x, .out = { m.data, CJ_ROWS_SAME, 0 }, .rows = 2, .columns = 8 },
          "out: a stride of CJ_ROWS_SAME puts all rows in one place" },
        { plain, { .x = x, .out = { m.data, 0, CJ_ROWS_SAME }, .columns = 8 },
          "out: a step of CJ_ROWS_SAME puts all columns in one place" },
        { plain, { .x = x, .out = { m.data, 7, 0 }, .rows = 2, .columns = 8 },
          "out: 2 rows of 8 elements with a stride of 7 and a step of 1 have several elements in one place" },
        { plain, { .x = x, .out = x, .columns = 8, .weight = m.data },
          "there is memory for weight, which the object was made without; set .weight = 1 in the options" },
        { plain, { .x = x, .out = x, .columns = 8, .bias = m.data }, "set .bias = 1 in the options" },
        { both, { .x = x, .out = x, .columns = 8, .bias = m.data }, "weight has no memory" },
        { both, { .x = x, .out = x, .columns = 8, .weight = m.data, .bias = odd.data },
          "is not aligned to its elements of 4 bytes" },
    };
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
        launch_says(cj_layer_norm_launch(kb_s[0], norms[i].norm, &norms[i].a), norms[i].says);
    cj_layer_norm_free(plain), cj_layer_norm_free(both);

    cj_rope *first = cj_rope_create(kb_dev, CJ_ROPE(.type = CJ_F32, .dim = 8)),
            *given = cj_rope_create(kb_dev, CJ_ROPE(.type = CJ_F32, .dim = 8, .positions = 1));
    cj_rope_args r = { .x = m.data, .out = m.data, .tokens = 1, .heads = 1, .cosines = m.data };
    launch_says(cj_rope_launch(kb_s[0], first, &r), "sines has no memory");
    r.sines = m.data;
    launch_says(cj_rope_launch(kb_s[0], given, &r), "positions has no memory");
    r.positions = m.data;
    launch_says(cj_rope_launch(kb_s[0], first, &r), "there is memory for positions");
    r.positions.addr = 0, r.tokens = 2, r.out_token_stride = 4;
    launch_says(cj_rope_launch(kb_s[0], first, &r), "out: tokens and heads of 8 elements, 4 and 8 elements apart");
    cj_rope_free(first), cj_rope_free(given);

    cj_argmax *g = cj_argmax_create(kb_dev, CJ_ARGMAX(.type = CJ_F32));
    launch_says(cj_argmax_launch(kb_s[0], g, &(cj_argmax_args){ .x = x, .out = cj_offset(m.data, 4), .columns = 8 }),
                "is not aligned to its elements of 8 bytes");
    cj_argmax_free(g);
    static const struct { int32_t index; uint64_t columns; const char *says; } counts[] = {
        { CJ_U32, (UINT64_C(1) << 32) + 1, "4294967297 columns are more than index_type u32 counts" },
        { CJ_S32, (UINT64_C(1) << 31) + 1, "2147483649 columns are more than index_type s32 counts" },
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        g = cj_argmax_create(kb_dev, CJ_ARGMAX(.type = CJ_U8, .index_type = counts[i].index));
        launch_says(cj_argmax_launch(kb_s[0], g, &(cj_argmax_args){ .x = { m.data, 0, CJ_ROWS_SAME }, .out = m.data,
                                                                    .columns = counts[i].columns }), counts[i].says);
        cj_argmax_free(g);
    }
    cj_gemv *v = cj_gemv_create(kb_dev, CJ_GEMV(.format = CJ_GEMV_F16));
    const cj_gemv_args far = { .matrix = m.data, .row_bytes = UINT64_C(1) << 40, .x = m.data, .out = m.data,
                               .rows = 1 << 30, .columns = 8 };
    launch_says(cj_gemv_launch(kb_s[0], v, &far), "1073741824 rows of 1099511627776 bytes are beyond any");
    cj_gemv_free(v);
    cj_scan *c = cj_scan_create(kb_dev, CJ_SCAN(.type = CJ_F32));
    launch_says(cj_scan_launch(kb_s[0], c, &(cj_scan_args){ .x = x, .out = { m.data, CJ_ROWS_SAME, 0 }, .rows = 2,
                                                            .columns = 8 }), "out: a stride of CJ_ROWS_SAME");
    cj_scan_free(c);
    cj_elementwise *e = cj_elementwise_create(kb_dev, CJ_ELEMENTWISE(.inputs = 1, .types = { CJ_F32 }));
    launch_says(cj_elementwise_launch(kb_s[0], e, &(cj_elementwise_args){ .in = { x }, .columns = 8 }),
                "out has no memory");
    tap_ok(kb_is_ok(kb_s[0], cj_elementwise_launch(kb_s[0], e, &(cj_elementwise_args){
                          .in = { x }, .out = { m.data, CJ_ROWS_SAME, CJ_ROWS_SAME }, .columns = 1 }),
             "one element"), "CJ_ROWS_SAME for one element");
    cj_elementwise_free(e);
    kb_drop(&m);
}

/* -- Cancelled threads --------------------------------------------------------------------------------------------- */

/* A thread that is cancelled already makes objects whose kernels several threads compile, and ends behind that. */
static void *make_cancelled(void *objects)
{
    void **made = objects;
    pthread_cancel(pthread_self());
    made[0] = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F32, .path = CJ_GEMM_SCALAR));
    made[1] = cj_scan_create(kb_dev, CJ_SCAN(.type = CJ_U32, .in_flight = 1, .columns = 10));
    pthread_testcancel();
    return NULL;
}

static void cancelled(void)
{
    void *made[2] = { NULL, NULL }, *end = NULL;
    pthread_t thread;
    if (pthread_create(&thread, NULL, make_cancelled, made)) tap_bail("no thread");
    pthread_join(thread, &end);
    tap_ok(end == PTHREAD_CANCELED, "a thread is cancelled");
    tap_ok(made[0] && cj_error_of(made[0])->status == CJ_OK, "but not before its product is made");
    tap_ok(made[1] && cj_error_of(made[1])->status == CJ_OK, "nor before its scan is");
    cj_gemm_free(made[0]);
    cj_scan_free(made[1]);
}

/* Functions of users are inlined, but not long ones, of which a kernel would have tens of copies. */
static void inlined(void)
{
    enum { N = 100 };
    static const int steps[] = { 3, 600 };
    kb_memory x = kb_take(N * 4), out = kb_take(N * 4);
    for (size_t i = 0; i < N; i++) ((float *)x.host)[i] = (float)i;
    kb_put(&x);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const char *text = "";
        size_t wrong = 0;
        cj_ptx *m = cj_ptx_create();
        cj_fn *f = cj_ptx_func(m, "steps");
        cj_val v = cj_param(f, "v", CJ_F32);
        for (int k = 0; k < steps[i]; k++) v = cj_add(f, v, 2.0f);
        cj_return_value(f, v);
        cj_elementwise *e = cj_elementwise_create(kb_dev, CJ_ELEMENTWISE(.inputs = 1, .types = { CJ_F32 }, .module = m,
                                                                         .function = "steps"));
        cj_ptx_free(m);
        cj_elementwise_args a = { .in = { { x.data, 0, 0 } }, .out = { out.data, 0, 0 }, .columns = N };
        kb_blank(&out);
        if (!kb_is_ok(kb_s[0], cj_elementwise_launch(kb_s[0], e, &a), "launch") || !kb_get(&out)) wrong++;
        for (size_t c = 0; c < N; c++) wrong += ((float *)out.host)[c] != (float)c + 2 * (float)steps[i];
        tap_is_uint(wrong, 0, "a function of %d steps", steps[i]);
        cj_elementwise_ptx(e, 0, &text, NULL);
        tap_is_int(strstr(text, "\tcall") != NULL, i, "... is %s", i ? "called" : "inlined");
        cj_elementwise_free(e);
    }
    kb_drop(&x), kb_drop(&out);
}

int main(void)
{
    kb_open();
    at_once();
    inlined();
    shared();
    wrong_options();
    wrong_arguments();
    wrong_options_of_rows();
    wrong_arguments_of_products();
    wrong_arguments_of_rows();
    cancelled();
    return kb_close();
}
