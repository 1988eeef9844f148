/* Rotary embedding, activations, and functions of elements that a user has written. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <string.h>

static double unit_of(cj_type t) { return t == CJ_F32 ? 0x1p-23 : t == CJ_F16 ? 0x1p-11 : 0x1p-8; }

typedef struct rope_case {
    cj_type type;
    uint32_t dim, heads, tokens;
    int interleaved, positions;
    int64_t gap, out_gap; /* elements behind each head, of x and of the results */
    bool place;
} rope_case;

enum { POSITIONS = 320, ROPE_BYTES = 1 << 16 };

typedef struct rope_memory { kb_memory x, out, cosines, sines, places; } rope_memory;

static bool run_rope(const rope_case *c, rope_memory *m, size_t head, size_t out_head)
{
    cj_rope *o = cj_rope_create(kb_dev, CJ_ROPE(.type = c->type, .dim = c->dim, .interleaved = c->interleaved,
                                                .positions = c->positions));
    if (cj_error_of(o)->status) tap_diag("%s", cj_error_of(o)->message);
    cj_rope_args a = { .x = c->place ? m->out.data : m->x.data,
                       .out = m->out.data,
                       .head_stride = (int64_t)head,
                       .out_head_stride = (int64_t)out_head,
                       .out_token_stride = (int64_t)(out_head * c->heads),
                       .tokens = c->tokens,
                       .heads = c->heads,
                       .cosines = m->cosines.data,
                       .sines = m->sines.data,
                       .positions = c->positions ? m->places.data : (cj_dptr){ 0 },
                       .first = 4 };
    bool good = kb_is_ok(kb_s[0], cj_rope_launch(kb_s[0], o, &a), "rope") && kb_get(&m->out);
    cj_rope_free(o);
    return good;
}

static void check_rope(const rope_case *c, rope_memory *m)
{
    cj_type type = c->type;
    size_t size = kb_size(type), head = c->dim + (size_t)c->gap, out_head = c->dim + (size_t)c->out_gap,
           half = c->dim / 2, touched = 0;
    double worst = 0;
    for (size_t i = 0; i < m->x.bytes / size; i++) kb_set((char *)m->x.host + i * size, type, kb_uniform());
    kb_put(&m->x), kb_blank(&m->out);
    if (c->place) cj_copy_to_device(kb_s[0], m->out.data, m->x.host, m->out.bytes);
    if (!run_rope(c, m, head, out_head)) worst = NAN;
    for (size_t t = 0; t < c->tokens; t++)
        for (size_t h = 0; h < c->heads; h++)
            for (size_t i = 0; i < half; i++) {
                size_t n = t * c->heads + h, l = c->interleaved ? 2 * i : i, r = c->interleaved ? l + 1 : l + half;
                size_t p = c->positions ? (size_t)((int32_t *)m->places.host)[t] : t + 4;
                double cosine = ((float *)m->cosines.host)[p * half + i], sine = ((float *)m->sines.host)[p * half + i];
                double u = kb_value((char *)m->x.host + (n * head + l) * size, type),
                       v = kb_value((char *)m->x.host + (n * head + r) * size, type);
                const char *out = (char *)m->out.host + n * out_head * size;
                kb_note_error(&worst, fabs(kb_value(out + l * size, type) - (u * cosine - v * sine)));
                kb_note_error(&worst, fabs(kb_value(out + r * size, type) - (v * cosine + u * sine)));
            }
    size_t end = (size_t)c->tokens * c->heads * out_head;
    for (size_t i = 0; i < m->out.bytes / size; i++) {
        static const unsigned char blank[4] = { 0xFF, 0xFF, 0xFF, 0xFF };
        const char *before = c->place ? (char *)m->x.host + i * size : (const char *)blank;
        if (i >= end || i % out_head >= c->dim) touched += memcmp((char *)m->out.host + i * size, before, size) != 0;
    }
    tap_ok(worst <= 1.5 * unit_of(type) && !touched,
           "rope of %u tokens of %u heads of %u elements of %s%s%s%s: %.2g, %zu others written", c->tokens, c->heads,
           c->dim, kb_name(type), c->interleaved ? ", interleaved" : "", c->positions ? ", positions given" : "",
           c->place ? ", in place" : "", worst, touched);
}

static void ropes(void)
{
    static const rope_case cases[] = {
        { CJ_F32, 64, 3, 5, 0, 0, 0, 0, false },    { CJ_F32, 6, 5, 5, 0, 1, 1, 1, false },
        { CJ_BF16, 128, 2, 5, 0, 0, 0, 0, true },   { CJ_BF16, 10, 3, 5, 1, 0, 3, 3, false },
        { CJ_F16, 64, 2, 5, 1, 1, 8, 8, false },    { CJ_F16, 2, 300, 5, 0, 0, 0, 0, true },
        { CJ_F32, 16, 33, 5, 1, 0, 4, 4, true },    { CJ_F32, 8, 2, 301, 0, 0, 0, 4, false },
        { CJ_F16, 16, 1, 300, 1, 1, 8, 0, false },  { CJ_BF16, 64, 9, 1, 0, 1, 5, 2, false },
        { CJ_BF16, 32, 4, 77, 0, 0, 16, 8, false },
    };
    enum { TABLE = POSITIONS * 64 * 4 };
    rope_memory m = { kb_take(ROPE_BYTES), kb_take(ROPE_BYTES), kb_take(TABLE), kb_take(TABLE),
                      kb_take(POSITIONS * 4) };
    for (size_t i = 0; i < POSITIONS * 64; i++)
        ((float *)m.cosines.host)[i] = (float)cos((double)i), ((float *)m.sines.host)[i] = (float)sin((double)i);
    for (int i = 0; i < POSITIONS; i++) ((int32_t *)m.places.host)[i] = (i * 7 + 3) % POSITIONS;
    kb_put(&m.cosines), kb_put(&m.sines), kb_put(&m.places);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) check_rope(&cases[k], &m);
    cj_rope *o = cj_rope_create(kb_dev, CJ_ROPE(.type = CJ_F32, .dim = 7));
    tap_has_str(cj_error_of(o)->message, "dim is 7; wants an even number from 2 to 4096", "%s",
                cj_error_of(o)->message);
    cj_rope_free(o);
    kb_drop(&m.x), kb_drop(&m.out), kb_drop(&m.cosines), kb_drop(&m.sines), kb_drop(&m.places);
}

static double activation_of(int a, double x)
{
    switch (a) {
    case CJ_ACTIVATION_RELU: return x < 0 ? 0 : x;
    case CJ_ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
    case CJ_ACTIVATION_TANH: return tanh(x);
    case CJ_ACTIVATION_SILU: return x / (1 + exp(-x));
    case CJ_ACTIVATION_GELU: return x * erfc(-x * sqrt(0.5)) / 2;
    case CJ_ACTIVATION_GELU_TANH: return x / 2 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case CJ_ACTIVATION_SOFTPLUS: return log1p(exp(x));
    default: return x;
    }
}

static void activations(void)
{
    enum { N = 1003 };
    static const cj_type types[] = { CJ_F32, CJ_F16, CJ_BF16 };
    kb_memory x = kb_take(N * 4), y = kb_take(N * 4), out = kb_take(N * 4);
    for (int a = CJ_ACTIVATION_NONE; a <= CJ_ACTIVATION_SOFTPLUS; a++) {
        cj_type type = types[a % 3];
        size_t size = kb_size(type);
        double worst = 0;
        bool gated = a % 2;
        cj_elementwise *o = cj_elementwise_create(
            kb_dev, CJ_ELEMENTWISE(.inputs = 1 + gated, .types = { type, type }, .activation = a));
        if (cj_error_of(o)->status) tap_diag("%s", cj_error_of(o)->message);
        for (size_t i = 0; i < N; i++)
            kb_set((char *)x.host + i * size, type, kb_uniform() * 8),
                kb_set((char *)y.host + i * size, type, kb_uniform());
        kb_put(&x), kb_put(&y), kb_blank(&out);
        cj_elementwise_args args = {
            .in = { { x.data, 0, 0 }, { y.data, 0, 0 } }, .out = { out.data, 0, 0 }, .rows = 17, .columns = 59
        };
        if (!kb_is_ok(kb_s[0], cj_elementwise_launch(kb_s[0], o, &args), "activation") || !kb_get(&out)) worst = NAN;
        for (size_t i = 0; i < N; i++) {
            double want = activation_of(a, kb_value((char *)x.host + i * size, type));
            if (gated) want *= kb_value((char *)y.host + i * size, type);
            kb_note_error(&worst, fabs(kb_value((char *)out.host + i * size, type) - want) / fmax(1, fabs(want)));
        }
        tap_ok(worst <= 2 * unit_of(type), "activation %d of %s%s: %.2g", a, kb_name(type),
               gated ? ", times another input" : "", worst);
        cj_elementwise_free(o);
    }
    kb_drop(&x), kb_drop(&y), kb_drop(&out);
}

/* Elements that no error can be measured of. */
static void special_elements(void)
{
    static const struct { cj_activation of; float x, want; } cases[] = {
        { CJ_ACTIVATION_NONE, NAN, NAN },           { CJ_ACTIVATION_NONE, -INFINITY, -INFINITY },
        { CJ_ACTIVATION_RELU, NAN, NAN },           { CJ_ACTIVATION_RELU, -INFINITY, 0 },
        { CJ_ACTIVATION_RELU, INFINITY, INFINITY }, { CJ_ACTIVATION_SIGMOID, -INFINITY, 0 },
        { CJ_ACTIVATION_SIGMOID, INFINITY, 1 },     { CJ_ACTIVATION_TANH, -INFINITY, -1 },
        { CJ_ACTIVATION_GELU, NAN, NAN },           { CJ_ACTIVATION_SOFTPLUS, INFINITY, INFINITY },
    };
    kb_memory x = kb_take(4), out = kb_take(4);
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_elementwise *o = cj_elementwise_create(
            kb_dev, CJ_ELEMENTWISE(.inputs = 1, .types[0] = CJ_F32, .activation = (int32_t)cases[i].of));
        cj_elementwise_args a = { .in[0] = { x.data, 0, 0 }, .out = { out.data, 0, 0 }, .columns = 1 };
        *(float *)x.host = cases[i].x;
        kb_put(&x);
        cj_fill8(kb_s[0], out.data, isnan(cases[i].want) ? 0 : 0xFF, 4);
        wrong += !kb_is_ok(kb_s[0], cj_elementwise_launch(kb_s[0], o, &a), "activation") || !kb_get(&out);
        float got = *(float *)out.host;
        if (isnan(cases[i].want) ? !isnan(got) : got != cases[i].want)
            wrong++, tap_diag("activation %d of %g is %g", cases[i].of, (double)cases[i].x, (double)got);
        cj_elementwise_free(o);
    }
    tap_is_uint(wrong, 0, "activations of infinities, and of NaN, which stays one");
    kb_drop(&x), kb_drop(&out);
}

/* Rows with gaps, which stay as they are. */
static void gaps(void)
{
    enum { ROWS = 5, COLUMNS = 33, STRIDE = 40 };
    kb_memory x = kb_take(ROWS * STRIDE * 4), out = kb_take(ROWS * STRIDE * 4);
    cj_elementwise *o = cj_elementwise_create(kb_dev, CJ_ELEMENTWISE(.inputs = 1, .types[0] = CJ_F32));
    size_t wrong = 0;
    for (int i = 0; i < ROWS * STRIDE; i++) ((float *)x.host)[i] = (float)i;
    kb_put(&x), kb_blank(&out);
    cj_elementwise_args a = {
        .in[0] = { x.data, STRIDE, 0 }, .out = { out.data, STRIDE, 0 }, .rows = ROWS, .columns = COLUMNS
    };
    wrong += !kb_is_ok(kb_s[0], cj_elementwise_launch(kb_s[0], o, &a), "copy") || !kb_get(&out);
    for (int i = 0; i < ROWS * STRIDE; i++) {
        float got = ((float *)out.host)[i];
        wrong += i % STRIDE < COLUMNS ? got != (float)i : got == got;
    }
    tap_is_uint(wrong, 0, "rows with gaps are copied, and the gaps are not");
    cj_elementwise_free(o);
    kb_drop(&x), kb_drop(&out);
}

/* out = (a + bias) * scale in f64 of s32, bf16 and a row of f32. */
static void expression(void)
{
    enum { ROWS = 7, COLUMNS = 131 };
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "affine");
    cj_val a = cj_param(f, "a", CJ_S32), b = cj_param(f, "b", CJ_F32), c = cj_param(f, "c", CJ_F32),
           k = cj_param(f, "k", CJ_F32);
    cj_val sum = cj_add(f, cj_cvt(f, CJ_F64, a), cj_cvt(f, CJ_F64, b));
    cj_return_value(f, cj_fma(f, sum, cj_cvt(f, CJ_F64, c), cj_cvt(f, CJ_F64, k)));
    cj_elementwise *o = cj_elementwise_create(kb_dev, CJ_ELEMENTWISE(.inputs = 3, .types = { CJ_S16, CJ_BF16, CJ_F32 },
                                                                     .out_type = CJ_F64, .module = m,
                                                                     .function = "affine", .numbers = 1));
    if (cj_error_of(o)->status) tap_diag("%s", cj_error_of(o)->message);
    kb_memory x = kb_take(ROWS * COLUMNS * 2), y = kb_take(ROWS * COLUMNS * 2), z = kb_take(COLUMNS * 4),
              out = kb_take(ROWS * COLUMNS * 8);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        kb_set((char *)x.host + 2 * i, CJ_S16, floor(kb_uniform() * 1000)),
            kb_set((char *)y.host + 2 * i, CJ_BF16, kb_uniform());
    for (size_t i = 0; i < COLUMNS; i++) kb_set((char *)z.host + 4 * i, CJ_F32, kb_uniform());
    kb_put(&x), kb_put(&y), kb_put(&z), kb_blank(&out);
    /* the second input is a matrix of columns */
    cj_elementwise_args args = { .in = { { x.data, 0, 0 }, { y.data, 1, ROWS }, { z.data, CJ_ROWS_SAME, 0 } },
                                 .out = { out.data, 0, 0 },
                                 .rows = ROWS,
                                 .columns = COLUMNS,
                                 .numbers = { 0.25f } };
    size_t wrong = !kb_is_ok(kb_s[0], cj_elementwise_launch(kb_s[0], o, &args), "expression") || !kb_get(&out);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t i = 0; i < COLUMNS; i++) {
            double u = kb_value((char *)x.host + 2 * (r * COLUMNS + i), CJ_S16),
                   v = kb_value((char *)y.host + 2 * (i * ROWS + r), CJ_BF16);
            wrong += ((double *)out.host)[r * COLUMNS + i] != fma(u + v, ((float *)z.host)[i], 0.25);
        }
    tap_is_uint(wrong, 0, "a user's function of three inputs and a number, with strides and a row that repeats");
    cj_elementwise_free(o);
    o = cj_elementwise_create(kb_dev, CJ_ELEMENTWISE(.inputs = 2, .types = { CJ_S16, CJ_BF16 }, .out_type = CJ_F64,
                                                     .module = m, .function = "affine"));
    tap_is_int(cj_error_of(o)->status, CJ_EPTX, "a function with other parameters: %s", cj_error_of(o)->message);
    tap_has_str(cj_error_of(o)->message, "wants parameters of s32, f32, and one result", "those that fit are named");
    cj_elementwise_free(o);
    o = cj_elementwise_create(kb_dev,
                              CJ_ELEMENTWISE(.inputs = 1, .types = { CJ_S32 }, .activation = CJ_ACTIVATION_RELU));
    tap_has_str(cj_error_of(o)->message, "types[0] is s32; wants f32, f16 or bf16 for an activation", "%s",
                cj_error_of(o)->message);
    cj_elementwise_free(o);
    cj_ptx_free(m);
    kb_drop(&x), kb_drop(&y), kb_drop(&z), kb_drop(&out);
}

int main(void)
{
    kb_open();
    ropes();
    activations();
    special_elements();
    gaps();
    expression();
    return kb_close();
}
