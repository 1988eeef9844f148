/* Softmax, layer norm and RMS norm of rows: sizes, strides, types, known and open columns, vectors or not; rows of
 * infinities, masked rows, means far beyond the deviation. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOFTMAX, LAYER, RMS, KINDS };
enum { LONGEST = 9001, TALLEST = 3 };
static const char *const kind_names[] = { "softmax", "layer norm", "RMS norm" };

typedef struct row_object { int kind; bool weight, bias; void *x; } row_object;

static row_object row_make(int kind, cj_type type, cj_type out, uint64_t columns, bool weight, bool bias)
{
    row_object o = { kind, weight, bias && kind == LAYER, NULL };
    if (kind == SOFTMAX) o.x = cj_softmax_create(kb_dev, CJ_SOFTMAX(.type = type, .out_type = out, .columns = columns));
    if (kind == LAYER)
        o.x = cj_layer_norm_create(kb_dev, CJ_LAYER_NORM(.type = type, .out_type = out, .param_type = CJ_F32,
                                                         .weight = weight, .bias = bias, .columns = columns));
    if (kind == RMS)
        o.x = cj_rms_norm_create(kb_dev, CJ_RMS_NORM(.type = type, .out_type = out, .param_type = CJ_F32,
                                                     .weight = weight, .columns = columns));
    if (cj_error_of(o.x)->status) tap_diag("%s", cj_error_of(o.x)->message);
    return o;
}

static void row_free(row_object o)
{
    if (o.kind == SOFTMAX) cj_softmax_free(o.x);
    if (o.kind == LAYER) cj_layer_norm_free(o.x);
    if (o.kind == RMS) cj_rms_norm_free(o.x);
}

static bool row_launch(row_object o, cj_rows x, cj_rows out, uint64_t rows, uint64_t columns, cj_dptr w, cj_dptr b)
{
    if (o.kind == SOFTMAX)
        return kb_is_ok(kb_s[0], cj_softmax_launch(kb_s[0], o.x, &(cj_softmax_args){ x, out, rows, columns }),
                        "softmax");
    if (o.kind == LAYER)
        return kb_is_ok(kb_s[0],
                        cj_layer_norm_launch(kb_s[0], o.x, &(cj_layer_norm_args){ x, out, rows, columns, w, b }),
                        "layer norm");
    return kb_is_ok(kb_s[0], cj_rms_norm_launch(kb_s[0], o.x, &(cj_rms_norm_args){ x, out, rows, columns, w }),
                    "RMS norm");
}

/* A row in double. */
static void row_want(const row_object *o, const double *x, size_t n, const float *w, const float *b, double *out)
{
    double m = -INFINITY, sum = 0, mean = 0, square = 0;
    for (size_t i = 0; i < n; i++) m = fmax(m, x[i]), mean += x[i] / (double)n;
    if (o->kind == SOFTMAX) {
        for (size_t i = 0; i < n; i++) sum += out[i] = x[i] == m ? 1 : exp(x[i] - m);
        for (size_t i = 0; i < n; i++) out[i] = m == -INFINITY && sum == sum ? 0 : out[i] / sum;
        return;
    }
    if (o->kind == RMS) mean = 0;
    for (size_t i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean) / (double)n;
    for (size_t i = 0; i < n; i++) {
        out[i] = (x[i] - mean) / sqrt(square + 1e-5f);
        if (o->weight) out[i] *= w[i];
        if (o->bias) out[i] += b[i];
    }
}

static double unit_of(cj_type t) { return t == CJ_F32 ? 0x1p-24 : t == CJ_F16 ? 0x1p-11 : 0x1p-8; }

typedef struct row_case {
    int kind;
    cj_type type, out;
    uint64_t columns, known, rows;
    int64_t gap;   /* between rows, in elements */
    int64_t step;
    bool weight, bias;
} row_case;

/* The worst error of a launch, of the results' own size, 1 at least for norms. */
static double run_case(const row_case *c, kb_memory *x, kb_memory *out, kb_memory *w, kb_memory *b)
{
    static double want[LONGEST], in[LONGEST];
    row_object o = row_make(c->kind, c->type, c->out, c->known, c->weight, c->bias);
    size_t size = kb_size(c->type), out_size = kb_size(c->out);
    int64_t step = c->step ? c->step : 1, stride = (int64_t)c->columns * step + c->gap;
    double worst = 0;
    kb_put(x);
    kb_blank(out);
    if (!row_launch(o, (cj_rows){ x->data, stride, step }, (cj_rows){ out->data, (int64_t)c->columns + c->gap, 0 },
                    c->rows, c->columns, w->data, b->data) ||
        !kb_get(out))
        worst = INFINITY;
    for (uint64_t r = 0; r < c->rows; r++) {
        for (uint64_t i = 0; i < c->columns; i++)
            in[i] = kb_value((char *)x->host + (r * (uint64_t)stride + i * (uint64_t)step) * size, c->type);
        row_want(&o, in, c->columns, w->host, b->host, want);
        for (uint64_t i = 0; i < c->columns; i++) {
            double got = kb_value((char *)out->host + (r * (c->columns + (uint64_t)c->gap) + i) * out_size, c->out);
            double scale =
                c->kind == SOFTMAX ? fmax(want[i], c->out == CJ_F16 ? 0x1p-14 : 0x1p-20) : fmax(fabs(want[i]), 1);
            if (want[i] != want[i]) worst = got != got ? worst : INFINITY;
            else worst = fmax(worst, got == want[i] ? 0 : fabs(got - want[i]) / scale);
            if (got != got && want[i] == want[i]) worst = INFINITY;
        }
        for (int64_t i = 0; i < c->gap && r + 1 < c->rows; i++) /* nothing is written between the rows */
            for (size_t k = 0; k < out_size; k++) {
                uint64_t at = (r * (c->columns + (uint64_t)c->gap) + c->columns + (uint64_t)i) * out_size + k;
                if (((unsigned char *)out->host)[at] != 0xFF) worst = INFINITY;
            }
    }
    row_free(o);
    return worst;
}

static void each_size(void)
{
    static const uint64_t lengths[] = { 1,   2,   3,   7,   8,   31,   32,   33,   64,  100,
                                        127, 128, 257, 300, 512, 1021, 2048, 4099, 9001 };
    static const cj_type types[] = { CJ_F32, CJ_BF16, CJ_F16 };
    kb_memory x = kb_take(TALLEST * 2 * (LONGEST + 16) * 4), out = kb_take(TALLEST * (LONGEST + 16) * 4);
    kb_memory w = kb_take(LONGEST * 4), b = kb_take(LONGEST * 4);
    for (size_t i = 0; i < LONGEST; i++)
        ((float *)w.host)[i] = (float)(1 + kb_uniform() / 2), ((float *)b.host)[i] = (float)kb_uniform();
    kb_put(&w), kb_put(&b);
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t t = 0; t < 3; t++) {
            double worst[2] = { 0, 0 };
            for (size_t i = 0; i < x.bytes / kb_size(types[t]); i++)
                kb_set((char *)x.host + i * kb_size(types[t]), types[t], kb_uniform() * 8);
            size_t pick = (size_t)kind * 3 + t;
            for (size_t l = pick % 4; l < sizeof lengths / sizeof *lengths; l += tap_is_slow() ? 8 : 3) {
                uint64_t n = lengths[l];
                row_case c = { .kind = kind,
                               .type = types[t],
                               .out = (l + t) % 5 == 2 ? CJ_F32 : types[t],
                               .columns = n,
                               .known = n < 2100 && l % 4 != 3 ? n : 0,
                               .rows = n < 2000 ? 1 + l % TALLEST : 1,
                               .gap = l % 3 == 1   ? 8
                                      : l % 3 == 2 ? 3
                                                   : 0,
                               .step = l % 7 == 5 ? 2 : 0,
                               .weight = l % 2 == 0,
                               .bias = l % 3 != 1 };
                double e = run_case(&c, &x, &out, &w, &b) / (c.out == CJ_F32 ? 1 : unit_of(c.out));
                worst[c.out != CJ_F32] = fmax(worst[c.out != CJ_F32], e);
            }
            tap_ok(worst[0] < 1e-6, "%s of %s to f32 has an error of %.2g", kind_names[kind], kb_name(types[t]),
                   worst[0]);
            tap_ok(worst[1] <= 1.01, "%s of %s is rounded once: %.3g units", kind_names[kind], kb_name(types[t]),
                   worst[1]);
        }
    kb_drop(&x), kb_drop(&out), kb_drop(&w), kb_drop(&b);
}

/* Rows that plain formulas get wrong, with known columns, open ones, and in vectors. */
static void hard_rows(void)
{
    enum { N = 136, ROWS = 6 };
    static const uint64_t known[] = { 0, N };
    kb_memory x = kb_take(ROWS * N * 4), out = kb_take(ROWS * N * 4), w = kb_take(4), b = kb_take(4);
    float *v = x.host;
    for (int i = 0; i < ROWS * N; i++) v[i] = (float)kb_uniform();
    for (int i = 0; i < N; i++) v[i] = -INFINITY;                                 /* fully masked */
    for (int i = 0; i < N; i += 2) v[N + i] = -INFINITY;                          /* half masked */
    v[2 * N + 3] = v[2 * N + 70] = INFINITY;                                      /* two share the row */
    v[3 * N + 9] = NAN;
    for (int i = 0; i < N; i++) v[4 * N + i] = 3e38f;                             /* e^v overflows */
    for (int i = 0; i < N; i++) v[5 * N + i] *= 1e30f;
    for (int k = 0; k < 2; k++) {
        row_case c = { .kind = SOFTMAX, .type = CJ_F32, .out = CJ_F32, .columns = N, .known = known[k], .rows = ROWS };
        double e = run_case(&c, &x, &out, &w, &b);
        tap_ok(e < 1e-6, "softmax of masked rows, infinities, NaN and large numbers, %s columns: %.2g",
               k ? "known" : "open", e);
        const float *got = out.host;
        tap_ok(got[0] == 0 && got[N - 1] == 0 && got[2 * N + 3] == 0.5f && got[2 * N + 4] == 0 &&
                   got[3 * N] != got[3 * N],
               "a masked row is 0, infinities share their row, a NaN spreads");
    }
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < N; i++) v[r * N + i] = (float)(1e4 * (r + 1) + kb_uniform());
    for (int k = 0; k < 2; k++) {
        row_case c = { .kind = LAYER, .type = CJ_F32, .out = CJ_F32, .columns = N, .known = known[k], .rows = ROWS };
        double e = run_case(&c, &x, &out, &w, &b);
        tap_ok(e < 1e-6, "layer norm where the mean is 10^4 times the deviation, %s columns: %.2g",
               k ? "known" : "open", e);
    }
    v[0] = INFINITY, v[N] = NAN;
    for (int i = 0; i < N; i++) v[2 * N + i] = 7;
    for (int kind = LAYER; kind < KINDS; kind++) {
        row_object o = row_make(kind, CJ_F32, CJ_F32, N, false, false);
        kb_put(&x), kb_blank(&out);
        row_launch(o, (cj_rows){ x.data, 0, 0 }, (cj_rows){ out.data, 0, 0 }, 3, N, w.data, b.data);
        const float *got = out.host;
        bool held = kb_get(&out) && got[0] != got[0] && got[N] != got[N];
        tap_ok(held && (kind == LAYER ? got[2 * N] == 0 : fabsf(got[2 * N] - 1) < 1e-6f),
               "%s: an infinity and a NaN make theirs NaN, equal elements are fine", kind_names[kind]);
        row_free(o);
    }
    kb_drop(&x), kb_drop(&out), kb_drop(&w), kb_drop(&b);
}

static void in_place_and_errors(void)
{
    kb_memory x = kb_take(64 * 4);
    float *v = x.host;
    for (int i = 0; i < 64; i++) v[i] = 1;
    kb_put(&x);
    cj_softmax *o = cj_softmax_create(kb_dev, CJ_SOFTMAX(.type = CJ_F32, .columns = 32));
    cj_softmax_args a = { .x = { x.data, 0, 0 }, .out = { x.data, 0, 0 }, .rows = 2 };
    kb_is_ok(kb_s[0], cj_softmax_launch(kb_s[0], o, &a), "in place");
    tap_ok(kb_get(&x) && v[0] == 0x1p-5f && v[63] == 0x1p-5f, "softmax in place");
    a.columns = 33;
    tap_is_int(cj_softmax_launch(kb_s[0], o, &a), CJ_EINVAL, "other columns than those of the options");
    tap_has_str(cj_error_of(kb_s[0])->message, "have 33 columns, and the kernel is made for 32", "are named");
    cj_error_clear(kb_s[0]);
    cj_softmax_free(o);
    o = cj_softmax_create(kb_dev, CJ_SOFTMAX(.type = CJ_S32));
    tap_has_str(cj_error_of(o)->message, "type is s32; wants f32, f16 or bf16", "%s", cj_error_of(o)->message);
    cj_softmax_free(o);
    cj_layer_norm *n = cj_layer_norm_create(kb_dev, CJ_LAYER_NORM(.type = CJ_F32, .weight = 1));
    tap_is_int(cj_layer_norm_launch(kb_s[0], n,
                                    &(cj_layer_norm_args){ { x.data, 0, 0 }, { x.data, 0, 0 }, 1, 32, { 0 }, { 0 } }),
               CJ_EINVAL, "a weight that is missing");
    tap_has_str(cj_error_of(kb_s[0])->message, "weight is at 0x0", "%s", cj_error_of(kb_s[0])->message);
    cj_error_clear(kb_s[0]);
    cj_layer_norm_free(n);
    kb_drop(&x);
}

int main(void)
{
    kb_open();
    each_size();
    hard_rows();
    in_place_and_errors();
    return kb_close();
}
