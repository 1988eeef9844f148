/* Softmax, layer norm and RMS norm of rows: sizes, strides, types, also of the parameters, known and open columns,
 * vectors or not; rows of infinities, masked rows, means far beyond the deviation. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOFTMAX, LAYER, RMS, KINDS };
enum { LONGEST = 9001, WIDEST = 131080, MILLION = 1000000, TALLEST = 3 };
static const char *const kind_names[] = { "softmax", "layer norm", "RMS norm" };

/* param: of weight and bias; 0: that of the elements */
typedef struct row_case {
    int kind;
    cj_type type, out, param;
    uint64_t columns, known, rows;
    int64_t gap;   /* between rows, in elements */
    int64_t step;
    bool weight, bias;
} row_case;

typedef struct row_object { int kind; cj_type param; bool weight, bias; void *x; } row_object;

static row_object row_make(const row_case *c)
{
    row_object o = { c->kind, c->param ? c->param : c->type, c->weight, c->bias && c->kind == LAYER, NULL };
    if (c->kind == SOFTMAX)
        o.x = cj_softmax_create(kb_dev, CJ_SOFTMAX(.type = c->type, .out_type = c->out, .columns = c->known));
    if (c->kind == LAYER)
        o.x = cj_layer_norm_create(kb_dev, CJ_LAYER_NORM(.type = c->type, .out_type = c->out, .param_type = c->param,
                                                         .weight = o.weight, .bias = o.bias, .columns = c->known));
    if (c->kind == RMS)
        o.x = cj_rms_norm_create(kb_dev, CJ_RMS_NORM(.type = c->type, .out_type = c->out, .param_type = c->param,
                                                     .weight = o.weight, .columns = c->known));
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
    if (!o.weight) w.addr = 0;
    if (!o.bias) b.addr = 0;
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
static void row_want(const row_object *o, const double *x, size_t n, const char *w, const char *b, double *out)
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
        if (o->weight) out[i] *= kb_value(w + i * kb_size(o->param), o->param);
        if (o->bias) out[i] += kb_value(b + i * kb_size(o->param), o->param);
    }
}

static double unit_of(cj_type t) { return t == CJ_F32 ? 0x1p-24 : t == CJ_F16 ? 0x1p-11 : 0x1p-8; }

/* The worst error of a launch, of the results' own size; for norms 1 at least, for softmax a part of the mean. */
static double run_case(const row_case *c, kb_memory *x, kb_memory *out, kb_memory *w, kb_memory *b)
{
    static double want[MILLION], in[MILLION];
    row_object o = row_make(c);
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
            double least = c->out == CJ_F16 ? 0x1p-14 : c->out == CJ_F32 ? 0x1p-10 / (double)c->columns : 0x1p-20;
            double scale = c->kind == SOFTMAX ? fmax(want[i], least) : fmax(fabs(want[i]), 1);
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

/* Weights and biases for `n` columns. */
static void fill_parameters(kb_memory *w, kb_memory *b, cj_type param, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        kb_set((char *)w->host + i * kb_size(param), param, 1 + kb_uniform() / 2);
        kb_set((char *)b->host + i * kb_size(param), param, kb_uniform());
    }
    kb_put(w), kb_put(b);
}

static void each_size(void)
{
    static const uint64_t lengths[] = { 1,   2,   3,   7,   8,   31,   32,   33,   64,  100,
                                        127, 128, 257, 300, 512, 1021, 2048, 4099, 9001 };
    static const cj_type types[] = { CJ_F32, CJ_BF16, CJ_F16 };
    kb_memory x = kb_take(TALLEST * 2 * (LONGEST + 16) * 4), out = kb_take(TALLEST * (LONGEST + 16) * 4);
    kb_memory w = kb_take(LONGEST * 4), b = kb_take(LONGEST * 4);
    fill_parameters(&w, &b, CJ_F32, LONGEST);
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
                               .param = CJ_F32,
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

/* Each type of weight and bias, and the default one, for each type of elements: known and open columns, whole vectors
 * or not, rows of one warp and of several. */
static void parameters(void)
{
    static const cj_type types[] = { CJ_F32, CJ_F16, CJ_BF16 }, params[] = { CJ_VOID, CJ_F32, CJ_F16, CJ_BF16 };
    enum { MOST = 1025, ROWS = 2 };
    static const struct { uint64_t columns, known; } sizes[] = {
        { 1024, 1024 }, { 1000, 0 }, { MOST, MOST }, { 8, 8 },
    };
    kb_memory x = kb_take(ROWS * MOST * 4), out = kb_take(ROWS * MOST * 4);
    kb_memory w = kb_take(MOST * 4), b = kb_take(MOST * 4);
    for (int kind = LAYER; kind < KINDS; kind++)
        for (unsigned i = 0; i < 3 * 4; i++) {
            const cj_type type = types[i % 3], given = params[i / 3];
            double worst = 0;
            for (size_t k = 0; k < (size_t)ROWS * MOST; k++)
                kb_set((char *)x.host + k * kb_size(type), type, kb_uniform() * 8);
            fill_parameters(&w, &b, given ? given : type, MOST);
            for (unsigned n = tap_is_slow() ? i % 4 : 0; n < 4; n += tap_is_slow() ? 4 : 1) {
                row_case c = { .kind = kind, .type = type, .param = given, .columns = sizes[n].columns,
                               .known = sizes[n].known, .rows = ROWS, .weight = n != 2 || kind == RMS, .bias = 1 };
                c.out = (i + n) % 2 ? CJ_F32 : type;
                worst = fmax(worst, run_case(&c, &x, &out, &w, &b) / (c.out == CJ_F32 ? 1e-6 : 1.01 * unit_of(c.out)));
            }
            tap_ok(worst <= 1, "%s of %s with parameters of %s: %.2g of the bound", kind_names[kind], kb_name(type),
                   given ? kb_name(given) : "the default type", worst);
        }
    kb_drop(&x), kb_drop(&out), kb_drop(&w), kb_drop(&b);
}

/* Rows that several warps, or a cluster of blocks, share: of odd lengths, of whole vectors, of both. */
static void wide_rows(void)
{
    static const row_case cases[] = {
        { .kind = SOFTMAX, .type = CJ_BF16, .out = CJ_BF16, .columns = 2568, .rows = 3, .gap = 8 }, /* three warps */
        { .kind = SOFTMAX, .type = CJ_F16, .out = CJ_F16, .columns = 2500, .rows = 2, .gap = 1 },
        { .kind = SOFTMAX, .type = CJ_BF16, .out = CJ_BF16, .columns = 20000, .rows = 3 },
        { .kind = SOFTMAX, .type = CJ_BF16, .out = CJ_BF16, .columns = 32768, .rows = 2 },
        { .kind = SOFTMAX, .type = CJ_BF16, .out = CJ_BF16, .columns = 131072, .rows = 2 },
        { .kind = SOFTMAX, .type = CJ_BF16, .out = CJ_BF16, .columns = 50257, .rows = 2, .gap = 3 },
        { .kind = SOFTMAX, .type = CJ_F16, .out = CJ_F16, .columns = 65544, .rows = 2, .gap = 8 },
        { .kind = SOFTMAX, .type = CJ_F16, .out = CJ_F16, .columns = 33001, .rows = 1, .step = 2 },
        { .kind = SOFTMAX, .type = CJ_BF16, .out = CJ_F32, .columns = 40008, .rows = 2, .gap = 8 },
        { .kind = SOFTMAX, .type = CJ_F32, .out = CJ_BF16, .columns = 33000, .rows = 2 },
        { .kind = SOFTMAX, .type = CJ_F32, .out = CJ_F32, .columns = 131072, .rows = 2 },
        { .kind = SOFTMAX, .type = CJ_F32, .out = CJ_F32, .columns = 70001, .rows = 2 },
        { .kind = LAYER, .type = CJ_F32, .out = CJ_F32, .columns = 49156, .rows = 2, .gap = 4, .weight = 1, .bias = 1 },
        { .kind = LAYER, .type = CJ_F32, .out = CJ_F32, .columns = 40001, .rows = 2, .gap = 1, .bias = 1 },
        { .kind = LAYER, .type = CJ_BF16, .out = CJ_BF16, .columns = 32768, .rows = 3, .weight = 1, .bias = 1 },
        { .kind = LAYER, .type = CJ_BF16, .out = CJ_F32, .param = CJ_BF16, .columns = 131072, .rows = 2,
          .weight = 1, .bias = 1 },
        { .kind = RMS, .type = CJ_F32, .out = CJ_F32, .columns = 33004, .rows = 2, .weight = 1 },
        { .kind = RMS, .type = CJ_F16, .out = CJ_F16, .param = CJ_F16, .columns = 131079, .rows = 1, .weight = 1 },
        { .kind = RMS, .type = CJ_BF16, .out = CJ_BF16, .columns = 100008, .rows = 2, .weight = 1 },
    };
    kb_memory x = kb_take(TALLEST * (WIDEST + 16) * 4), out = kb_take(TALLEST * (WIDEST + 16) * 4);
    kb_memory w = kb_take(WIDEST * 4), b = kb_take(WIDEST * 4);
    cj_type has = CJ_VOID; /* the type of the parameters in memory */
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        row_case c = cases[k];
        if (tap_is_slow() && k % 3) continue;
        c.known = c.columns;
        if (!c.param) c.param = CJ_F32;
        if (c.param != has) fill_parameters(&w, &b, has = c.param, WIDEST);
        for (size_t i = 0; i < x.bytes / kb_size(c.type); i++)
            kb_set((char *)x.host + i * kb_size(c.type), c.type, kb_uniform() * 8);
        double e = run_case(&c, &x, &out, &w, &b);
        tap_ok(c.out == CJ_F32 ? e < 1e-6 : e <= 1.01 * unit_of(c.out), "%s of %llu columns of %s to %s: error %.2g",
               kind_names[c.kind], (unsigned long long)c.columns, kb_name(c.type), kb_name(c.out), e);
    }
    kb_drop(&x), kb_drop(&out), kb_drop(&w), kb_drop(&b);
}

/* The error does not grow with the number of columns. */
static void a_million_columns(void)
{
    kb_memory x = kb_take(MILLION * 4), out = kb_take(MILLION * 4), none = kb_take(4);
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < MILLION; i++)
            ((float *)x.host)[i] = (float)(kind == SOFTMAX ? 8 * kb_uniform() : 1e4 + kb_uniform());
        const row_case c = { .kind = kind, .type = CJ_F32, .out = CJ_F32, .columns = MILLION, .rows = 1 };
        double e = run_case(&c, &x, &out, &none, &none);
        tap_ok(e < 1e-6, "%s of %d columns: error %.2g", kind_names[kind], MILLION, e);
    }
    kb_drop(&x), kb_drop(&out), kb_drop(&none);
}

/* Softmax of rows that plain formulas get wrong, in `n` columns. */
static void hard_softmax(cj_type type, cj_type out_type, uint64_t n, uint64_t known)
{
    enum { ROWS = 9 };
    size_t size = kb_size(type);
    kb_memory x = kb_take(ROWS * n * size), out = kb_take(ROWS * n * kb_size(out_type)), w = kb_take(4), b = kb_take(4);
    for (uint64_t r = 0; r < ROWS; r++)
        for (uint64_t i = 0; i < n; i++) {
            double v = kb_uniform();
            if (r == 0) v = -INFINITY;                        /* masked */
            if (r == 1 && i % 2 == 0) v = -INFINITY;          /* half masked */
            if (r == 2 && (i == 3 || i == n - 5)) v = INFINITY; /* two share the row */
            if (r == 3 && i == 9) v = NAN;
            if (r == 4) v = 3e38;                             /* e^v overflows */
            if (r == 5) v *= 1e30;
            if (r == 6) v = i < n / 2 + 7 ? -INFINITY : 3 * v; /* nothing for the first threads, or blocks */
            if (r == 7) v = 30000 + 40 * v;
            if (r == 8) v = -60000 + 40 * v;
            kb_set((char *)x.host + (r * n + i) * size, type, v);
        }
    row_case c = { .kind = SOFTMAX, .type = type, .out = out_type, .columns = n, .known = known, .rows = ROWS };
    double e = run_case(&c, &x, &out, &w, &b);
    tap_ok(out_type == CJ_F32 ? e < 1e-6 : e <= 1.01 * unit_of(out_type),
           "softmax of masked rows, infinities, NaN and large numbers, %llu %s columns of %s to %s: %.2g",
           (unsigned long long)n, known ? "known" : "open", kb_name(type), kb_name(out_type), e);
    double got[4] = { kb_value(out.host, out_type) };
    static const uint64_t places[][2] = { { 0, 0 }, { 2, 3 }, { 2, 4 }, { 3, 0 } };
    for (int i = 0; i < 4; i++)
        got[i] = kb_value((char *)out.host + (places[i][0] * n + places[i][1]) * kb_size(out_type), out_type);
    tap_ok(got[0] == 0 && got[1] == 0.5 && got[2] == 0 && got[3] != got[3],
           "a masked row is 0, infinities share their row, a NaN spreads");
    kb_drop(&x), kb_drop(&out), kb_drop(&w), kb_drop(&b);
}

/* Norms of rows that have an infinity, a NaN, or nothing but equal elements: as plain C computes them, so a layer norm
 * with an infinity is NaN, an RMS norm is 0 but for the infinity itself.  Rows beside them stay as they are. */
static void hard_norm(const row_case *hard)
{
    enum { FINITE, INFINITE, MINUS, BOTH, NOT_A_NUMBER, EQUAL, BESIDE, ROWS };
    const uint64_t n = hard->columns;
    const size_t size = kb_size(hard->type);
    kb_memory x = kb_take(ROWS * n * size), out = kb_take(ROWS * n * kb_size(hard->out)), w = kb_take(n * 4),
              b = kb_take(n * 4);
    for (uint64_t i = 0; i < ROWS * n; i++) {
        const uint64_t r = i / n, column = i % n;
        double v = kb_uniform();
        if (r == INFINITE && column == n / 2 + 1) v = INFINITY;
        if (r == MINUS && column == 0) v = -INFINITY;
        if (r == BOTH && column >= n - 2) v = column % 2 ? INFINITY : -INFINITY;
        if (r == NOT_A_NUMBER && column == n - 1) v = NAN;
        if (r == EQUAL) v = 7;
        kb_set((char *)x.host + i * size, hard->type, v);
    }
    fill_parameters(&w, &b, CJ_F32, n);
    row_case c = *hard;
    c.rows = ROWS, c.param = CJ_F32;
    const double e = run_case(&c, &x, &out, &w, &b);
    tap_ok(c.out == CJ_F32 ? e < 1e-6 : e <= 1.01 * unit_of(c.out),
           "%s of infinities, NaN and equal elements, %llu %s columns of %s to %s: %.2g", kind_names[c.kind],
           (unsigned long long)n, c.known ? "known" : "open", kb_name(c.type), kb_name(c.out), e);
    size_t wrong = 0;
    for (uint64_t i = 0; i < ROWS * n; i++) {
        const double is = kb_value((char *)out.host + i * kb_size(c.out), c.out);
        const uint64_t r = i / n, column = i % n;
        bool nan = r == NOT_A_NUMBER || (r >= INFINITE && r <= BOTH && c.kind == LAYER);
        if (c.kind == RMS && r == INFINITE) nan = column == n / 2 + 1;
        if (c.kind == RMS && r == MINUS) nan = column == 0;
        if (c.kind == RMS && r == BOTH) nan = column >= n - 2;
        wrong += nan ? is == is : is != is || (r >= INFINITE && r <= BOTH && is != 0);
    }
    tap_is_uint(wrong, 0, "... which are NaN, 0 or finite where they should be");
    kb_drop(&x), kb_drop(&out), kb_drop(&w), kb_drop(&b);
}

static void hard_norms(void)
{
    enum { N = 136, WIDE = 40008 };
    static const row_case cases[] = {
        { .type = CJ_F32, .out = CJ_F32, .columns = N, .known = N },
        { .type = CJ_F32, .out = CJ_F32, .columns = N, .weight = 1 },
        { .type = CJ_F16, .out = CJ_F16, .columns = N, .known = N, .weight = 1 },
        { .type = CJ_BF16, .out = CJ_BF16, .columns = N, .known = N },
        { .type = CJ_BF16, .out = CJ_F32, .columns = N + 1, .known = N + 1 },
        { .type = CJ_F16, .out = CJ_F32, .columns = N + 1 },
        { .type = CJ_BF16, .out = CJ_BF16, .columns = 5000, .known = 5000 },
        { .type = CJ_F32, .out = CJ_F32, .columns = 9999, .weight = 1 },
        { .type = CJ_F32, .out = CJ_F32, .columns = WIDE, .known = WIDE },
        { .type = CJ_F16, .out = CJ_F16, .columns = WIDE + 1, .known = WIDE + 1 },
    };
    for (int kind = LAYER; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases - (tap_is_slow() ? 3 : 0); i++) {
            row_case c = cases[i];
            c.kind = kind;
            hard_norm(&c);
        }
}

static void hard_rows(void)
{
    enum { N = 136, ROWS = 6, WIDE = 40008 };
    static const uint64_t known[] = { 0, N };
    hard_softmax(CJ_F32, CJ_F32, N, 0);
    hard_softmax(CJ_F32, CJ_F32, N, N);
    hard_softmax(CJ_F32, CJ_BF16, N, N);
    hard_softmax(CJ_BF16, CJ_BF16, N, N);
    hard_softmax(CJ_F16, CJ_F16, N + 1, N + 1);
    if (!tap_is_slow()) {
        hard_softmax(CJ_BF16, CJ_BF16, WIDE, WIDE);
        hard_softmax(CJ_F32, CJ_F32, WIDE, WIDE);
        hard_softmax(CJ_F16, CJ_F16, WIDE + 1, WIDE + 1);
    }
    kb_memory x = kb_take(ROWS * N * 4), out = kb_take(ROWS * N * 4), w = kb_take(4), b = kb_take(4);
    float *v = x.host;
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < N; i++) v[r * N + i] = (float)(1e4 * (r + 1) + kb_uniform());
    for (int k = 0; k < 2; k++) {
        row_case c = { .kind = LAYER, .type = CJ_F32, .out = CJ_F32, .columns = N, .known = known[k], .rows = ROWS };
        double e = run_case(&c, &x, &out, &w, &b);
        tap_ok(e < 1e-6, "layer norm where the mean is 10^4 times the deviation, %s columns: %.2g",
               k ? "known" : "open", e);
    }
    kb_memory wide = kb_take(4 * WIDE * 4), wide_out = kb_take(4 * WIDE * 4);
    static const int sizes[] = { WIDE, WIDE - 10000, 9999, 300 };
    for (size_t k = tap_is_slow() ? 2 : 0; k < sizeof sizes / sizeof *sizes; k++) {
        int n = sizes[k];
        for (int i = 0; i < 4 * n; i++) { /* other levels in some of a warp's columns, in some blocks */
            int r = i / n, column = i % n;
            float level = r < 2 ? 1e4f : r == 2 ? (column < 100 ? 1000 : 0) : column < n / 2 ? -500 : 500;
            ((float *)wide.host)[i] = level + (float)kb_uniform();
        }
        row_case c = { .kind = LAYER, .type = CJ_F32, .out = CJ_F32, .columns = n, .known = n, .rows = 4 };
        double e = run_case(&c, &wide, &wide_out, &w, &b);
        tap_ok(e < 1e-6, "layer norm of %d columns, of a mean far from 0 or of several levels: %.2g", n, e);
    }
    kb_drop(&wide), kb_drop(&wide_out);
    kb_drop(&x), kb_drop(&out), kb_drop(&w), kb_drop(&b);
}

/* Rows in place, whose elements are equal: one of infinities, too. */
static void wide_in_place(void)
{
    enum { N = 65536 };
    kb_memory x = kb_take(2 * N * 2);
    for (size_t i = 0; i < 2 * N; i++) kb_set((char *)x.host + 2 * i, CJ_BF16, i < N ? -3 : INFINITY);
    kb_put(&x);
    cj_softmax *o = cj_softmax_create(kb_dev, CJ_SOFTMAX(.type = CJ_BF16, .columns = N));
    kb_is_ok(kb_s[0], cj_softmax_launch(kb_s[0], o, &(cj_softmax_args){ .x = { x.data, 0, 0 }, .out = { x.data, 0, 0 },
                                                                        .rows = 2 }), "in place");
    size_t wrong = kb_get(&x) ? 0 : 1;
    for (size_t i = 0; i < 2 * N; i++) wrong += kb_value((char *)x.host + 2 * i, CJ_BF16) != 0x1p-16;
    tap_is_uint(wrong, 0, "softmax of wide rows in place");
    cj_softmax_free(o);
    kb_drop(&x);
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
    tap_has_str(cj_error_of(kb_s[0])->message, "weight has no memory", "%s", cj_error_of(kb_s[0])->message);
    cj_error_clear(kb_s[0]);
    cj_layer_norm_free(n);
    kb_drop(&x);
}

int main(void)
{
    kb_open();
    each_size();
    parameters();
    wide_rows();
    hard_rows();
    hard_norms();
    wide_in_place();
    if (!tap_is_slow()) a_million_columns();
    in_place_and_errors();
    return kb_close();
}
