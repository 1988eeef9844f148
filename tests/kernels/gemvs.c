/* Products of a matrix and a vector: blocks of ggml in random bytes, elements; vectors of each type, quantised here or
 * before. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <string.h>

enum { MOST_ROWS = 37, MOST_COLUMNS = 2304 };

/* -- The formats, as ggml takes them apart ------------------------------------------------------------------------- */

static double half_at(const uint8_t *b) { return kb_f16_value((uint16_t)(b[0] | b[1] << 8)); }

static void q4_0(const uint8_t *b, double *y)
{
    for (int i = 0; i < 16; i++) {
        y[i] = half_at(b) * ((b[2 + i] & 15) - 8);
        y[i + 16] = half_at(b) * ((b[2 + i] >> 4) - 8);
    }
}

static void q8_0(const uint8_t *b, double *y)
{
    for (int i = 0; i < 32; i++) y[i] = half_at(b) * (int8_t)b[2 + i];
}

static void q4_k(const uint8_t *b, double *y)
{
    const uint8_t *q = b + 4, *qs = b + 16;
    for (int j = 0; j < 8; j++) {
        int scale = j < 4 ? q[j] & 63 : (q[j + 4] & 15) | (q[j - 4] >> 6) << 4;
        int least = j < 4 ? q[j + 4] & 63 : q[j + 4] >> 4 | (q[j] >> 6) << 4;
        for (int l = 0; l < 32; l++) {
            int byte = qs[j / 2 * 32 + l], n = j % 2 ? byte >> 4 : byte & 15;
            y[32 * j + l] = half_at(b) * scale * n - half_at(b + 2) * least;
        }
    }
}

static void q6_k(const uint8_t *b, double *y)
{
    const uint8_t *ql = b, *qh = b + 128;
    const int8_t *sc = (const int8_t *)b + 192;
    for (int n = 0; n < 2; n++, ql += 64, qh += 32, sc += 8, y += 128)
        for (int l = 0; l < 32; l++) {
            int is = l / 16;
            y[l] = half_at(b + 208) * sc[is] * (((ql[l] & 15) | (qh[l] & 3) << 4) - 32);
            y[l + 32] = half_at(b + 208) * sc[is + 2] * (((ql[l + 32] & 15) | (qh[l] >> 2 & 3) << 4) - 32);
            y[l + 64] = half_at(b + 208) * sc[is + 4] * ((ql[l] >> 4 | (qh[l] >> 4 & 3) << 4) - 32);
            y[l + 96] = half_at(b + 208) * sc[is + 6] * ((ql[l + 32] >> 4 | (qh[l] >> 6 & 3) << 4) - 32);
        }
}

static const struct {
    const char *name;
    cj_gemv_format format;
    int columns, bytes;
    void (*take)(const uint8_t *, double *);
} formats[] = {
    { "f16", CJ_GEMV_F16, 1, 2, NULL },       { "bf16", CJ_GEMV_BF16, 1, 2, NULL },
    { "Q4_0", CJ_GEMV_Q4_0, 32, 18, q4_0 },   { "Q8_0", CJ_GEMV_Q8_0, 32, 34, q8_0 },
    { "Q4_K", CJ_GEMV_Q4_K, 256, 144, q4_k }, { "Q6_K", CJ_GEMV_Q6_K, 256, 210, q6_k },
};

/* Random bytes, with scales that are numbers. */
static void random_matrix(int f, uint8_t *m, size_t blocks)
{
    static const int half_places[][2] = { { 0, -1 }, { -1, -1 }, { 0, -1 }, { 0, -1 }, { 0, 2 }, { 208, -1 } };
    for (size_t b = 0; b < blocks; b++, m += formats[f].bytes) {
        for (int i = 0; i < formats[f].bytes; i++) m[i] = (uint8_t)(kb_random() >> 9);
        if (f == 1) kb_set(m, CJ_BF16, kb_uniform());
        for (int i = 0; i < 2; i++)
            if (half_places[f][i] >= 0) kb_set(m + half_places[f][i], CJ_F16, kb_uniform() / 16);
    }
}

static void row_of(int f, const uint8_t *m, size_t columns, double *w)
{
    for (size_t c = 0; c < columns; c += (size_t)formats[f].columns, m += formats[f].bytes) {
        if (formats[f].take) formats[f].take(m, w + c);
        else w[c] = kb_value(m, f ? CJ_BF16 : CJ_F16);
    }
}

/* The vector as it is multiplied, quantised as kernels.h says. */
static void vector_of(const uint8_t *x, cj_type type, size_t columns, bool blocks, double *v, uint8_t *quantised)
{
    for (size_t i = 0; i < columns; i++) v[i] = kb_value(x + i * kb_size(type), type);
    for (size_t b = 0; blocks && b < columns; b += 32, quantised += 40) {
        float most = 0, factor;
        int32_t sum = 0;
        for (size_t i = b; i < b + 32; i++) most = fmaxf(most, (float)fabs(v[i]));
        float d = most / 127;
        factor = d == 0 ? 0 : 1 / d;
        for (size_t i = b; i < b + 32; i++) {
            int q = (int)nearbyintf((float)v[i] * factor);
            quantised[8 + i - b] = (uint8_t)(int8_t)q;
            sum += q;
            v[i] = (double)d * q;
        }
        memcpy(quantised, &d, 4);
        memcpy(quantised + 4, &sum, 4);
    }
}

static void each_format(void)
{
    static const struct { uint64_t rows, columns; cj_type x, out; bool before; uint64_t gap;
    } cases[] = {
        { 1, 256, CJ_F32, CJ_F32, false, 0 },   { 37, 768, CJ_F16, CJ_F32, false, 4 },
        { 9, 2304, CJ_BF16, CJ_F32, false, 0 }, { 8, 512, CJ_F32, CJ_F32, true, 8 },
        { 17, 1024, CJ_F32, CJ_BF16, true, 0 }, { 5, 0, CJ_F32, CJ_F32, false, 0 },
        { 33, 32, CJ_F32, CJ_F16, false, 0 },   { 3, 301, CJ_F16, CJ_F32, false, 2 },
    };
    static double w[MOST_COLUMNS], v[MOST_COLUMNS];
    static uint8_t quantised[MOST_COLUMNS / 32 * 40];
    kb_memory m = kb_take(MOST_ROWS * (MOST_COLUMNS * 2 + 16)), x = kb_take(MOST_COLUMNS * 4),
              out = kb_take(MOST_ROWS * 4);
    kb_memory q = kb_take(sizeof quantised), space = kb_take(sizeof quantised + 256);
    for (int f = 0; f < 6; f++) {
        double worst = 0, worst_small = 0;
        size_t wrong = 0;
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            uint64_t columns = cases[k].columns, rows = cases[k].rows;
            bool blocks = f >= 2, before = blocks && cases[k].before;
            if (columns % (uint64_t)formats[f].columns || (tap_is_slow() && k % 2)) continue;
            uint64_t row_bytes = columns / (uint64_t)formats[f].columns * (uint64_t)formats[f].bytes +
                                 (f == 4 ? cases[k].gap / 4 * 4 : cases[k].gap);
            cj_gemv *g = cj_gemv_create(kb_dev, CJ_GEMV(.format = formats[f].format, .x_type = cases[k].x,
                                                        .out_type = cases[k].out, .quantised = before));
            if (cj_error_of(g)->status) tap_diag("%s", cj_error_of(g)->message);
            for (uint64_t r = 0; r < rows; r++)
                random_matrix(f, (uint8_t *)m.host + r * row_bytes, columns / (uint64_t)formats[f].columns);
            for (uint64_t i = 0; i < columns; i++)
                kb_set((char *)x.host + i * kb_size(cases[k].x), cases[k].x, i / 32 == 3 ? 0 : kb_uniform());
            vector_of(x.host, cases[k].x, columns, blocks, v, quantised);
            memcpy(q.host, quantised, sizeof quantised);
            kb_put(&m), kb_put(&x), kb_put(&q), kb_blank(&out), kb_blank(&space);
            cj_gemv_args a = { .matrix = m.data,
                               .row_bytes = row_bytes,
                               .x = before ? q.data : x.data,
                               .out = out.data,
                               .rows = rows,
                               .columns = columns,
                               .workspace = { space.data, cj_gemv_workspace(g, columns) } };
            wrong += !kb_is_ok(kb_s[0], cj_gemv_launch(kb_s[0], g, &a), "gemv") || !kb_get(&out) || !kb_get(&space);
            if (blocks && !before) wrong += memcmp(space.host, quantised, columns / 32 * 40) != 0;
            for (uint64_t r = 0; r < rows; r++) {
                double want = 0, all = 0;
                row_of(f, (uint8_t *)m.host + r * row_bytes, columns, w);
                for (uint64_t i = 0; i < columns; i++) want += w[i] * v[i], all += fabs(w[i] * v[i]);
                double error =
                    fabs(kb_value((char *)out.host + r * kb_size(cases[k].out), cases[k].out) - want) / (all + 1e-30);
                if (cases[k].out == CJ_F32) worst = fmax(worst, error == error ? error : INFINITY);
                else worst_small = fmax(worst_small, error == error ? error : INFINITY);
            }
            for (size_t i = rows * kb_size(cases[k].out); i < out.bytes; i++) wrong += ((uint8_t *)out.host)[i] != 0xFF;
            cj_gemv_free(g);
        }
        tap_ok(worst < 1e-6 && worst_small < 0x1p-8, "%s: an error of %.2g of the sum of magnitudes on the same vector",
               formats[f].name, worst);
        tap_is_uint(wrong, 0, "%s: the vector is quantised as the header says, and nothing else is written",
                    formats[f].name);
    }
    kb_drop(&m), kb_drop(&x), kb_drop(&out), kb_drop(&q), kb_drop(&space);
}

static void quantised_once(void)
{
    kb_memory x = kb_take(64 * 4), q = kb_take(80);
    uint8_t want[80];
    double v[64];
    cj_gemv *g = cj_gemv_create(kb_dev, CJ_GEMV(.format = CJ_GEMV_Q8_0)),
            *e = cj_gemv_create(kb_dev, CJ_GEMV(.format = CJ_GEMV_F16));
    for (int i = 0; i < 64; i++) ((float *)x.host)[i] = (float)kb_uniform();
    vector_of(x.host, CJ_F32, 64, true, v, want);
    kb_put(&x), kb_blank(&q);
    kb_is_ok(kb_s[0], cj_gemv_quantise(kb_s[0], g, x.data, 64, q.data), "quantise");
    tap_ok(kb_get(&q) && !memcmp(q.host, want, 80), "a vector is quantised for several products");
    tap_is_uint(cj_gemv_quantised_bytes(64), 80, "its size");
    const struct { cj_status got; const char *says; } cases[] = {
        { cj_gemv_quantise(kb_s[0], e, x.data, 64, q.data), "made for elements" },
    };
    tap_has_str(cj_error_of(kb_s[0])->message, cases[0].says, "%s", cj_error_of(kb_s[0])->message);
    cj_error_clear(kb_s[0]);
    tap_is_int(
        cj_gemv_launch(kb_s[0], g,
                       &(cj_gemv_args){ .matrix = x.data, .x = x.data, .out = q.data, .rows = 1, .columns = 33 }),
        CJ_EINVAL, "33 columns");
    tap_has_str(cj_error_of(kb_s[0])->message, "33 columns; Q8_0 wants a multiple of 32", "%s",
                cj_error_of(kb_s[0])->message);
    cj_error_clear(kb_s[0]);
    tap_is_int(
        cj_gemv_launch(
            kb_s[0], g,
            &(cj_gemv_args){ .matrix = cj_offset(x.data, 1), .x = x.data, .out = q.data, .rows = 1, .columns = 32 }),
        CJ_EINVAL, "an odd address");
    tap_has_str(cj_error_of(kb_s[0])->message, "wants memory aligned to 2 bytes", "%s", cj_error_of(kb_s[0])->message);
    cj_error_clear(kb_s[0]);
    tap_is_int(
        cj_gemv_launch(
            kb_s[0], g,
            &(cj_gemv_args){ .matrix = x.data, .row_bytes = 20, .x = x.data, .out = q.data, .rows = 1, .columns = 32 }),
        CJ_EINVAL, "short rows");
    tap_has_str(cj_error_of(kb_s[0])->message, "rows of 20 bytes; 32 columns of Q8_0 have 34", "%s",
                cj_error_of(kb_s[0])->message);
    cj_error_clear(kb_s[0]);
    cj_gemv_free(g), cj_gemv_free(e);
    g = cj_gemv_create(kb_dev, CJ_GEMV(.format = CJ_GEMV_BF16, .quantised = 1));
    tap_is_int(cj_error_of(g)->status, CJ_ENOTSUP, "%s", cj_error_of(g)->message);
    cj_gemv_free(g);
    kb_drop(&x), kb_drop(&q);
}

int main(void)
{
    kb_open();
    each_format();
    quantised_once();
    return kb_close();
}
