/* See gemm_products.h. */
#include "tests/kernels/gemm_products.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- Elements ------------------------------------------------------------------------------------------------------ */

const gp_kind gp_kinds[GP_KINDS] = {
    { "f16", CJ_F16, CJ_F16, CJ_F16, 0, 0 },
    { "bf16 to f32", CJ_BF16, CJ_BF16, CJ_F32, 0, 0 },
    { "tf32", CJ_F32, CJ_F32, CJ_F32, CJ_GEMM_ELEMENTS_TF32, 0 },
    { "s8", CJ_S8, CJ_S8, CJ_S32, 0, 0 },
    { "e4m3", CJ_U8, CJ_U8, CJ_F32, CJ_GEMM_ELEMENTS_E4M3, 0 },
    { "e4m3 promoted, to bf16", CJ_U8, CJ_U8, CJ_BF16, CJ_GEMM_ELEMENTS_E4M3, 1 },
    { "f16 to f32", CJ_F16, CJ_F16, CJ_F32, 0, 0 },
    { "bf16", CJ_BF16, CJ_BF16, CJ_BF16, 0, 0 },
    { "u8 by s8", CJ_U8, CJ_S8, CJ_S32, 0, 0 },
    { "u8", CJ_U8, CJ_U8, CJ_U32, 0, 0 },
    { "s8 to f16", CJ_S8, CJ_S8, CJ_F16, 0, 0 },
    { "f32", CJ_F32, CJ_F32, CJ_F32, 0, 0 },
};

bool gp_of_integers(const gp_kind *t) { return !t->elements && kb_size(t->a) == 1; }

double gp_e4m3_value(unsigned byte)
{
    static double value[256];
    static bool made;
    for (int i = 0; i < 256 && !made; i++) {
        int e = i >> 3 & 15, m = i & 7;
        double x = (i & 0x7f) == 0x7f ? NAN : e ? ldexp(8 + m, e - 10) : ldexp(m, -9);
        value[i] = i & 0x80 ? -x : x;
    }
    made = true;
    return value[byte & 255];
}

/* The nearest one; values rise with their bits, up to 448. */
static unsigned e4m3_of(double x)
{
    unsigned low = 0, high = 0x7e;
    if (x != x) return 0x7f;
    while (high - low > 1) {
        unsigned mid = (low + high) / 2;
        if (gp_e4m3_value(mid) <= fabs(x)) low = mid;
        else high = mid;
    }
    unsigned best = fabs(x) - gp_e4m3_value(low) > gp_e4m3_value(high) - fabs(x) ? high : low;
    return x < 0 ? best | 0x80 : best;
}

static double tf32_of(double x)
{
    float f = (float)x;
    uint32_t w;
    if (!isfinite(f)) return f;
    memcpy(&w, &f, 4);
    w = (w + 0x1000) & 0xffffe000u;
    memcpy(&f, &w, 4);
    return f;
}

void gp_set(const gp_kind *t, cj_type type, void *at, double x)
{
    if (t->elements == CJ_GEMM_ELEMENTS_E4M3) *(unsigned char *)at = (unsigned char)e4m3_of(x);
    else kb_set(at, type, x);
}

double gp_value(const gp_kind *t, cj_type type, const void *at)
{
    if (t->elements == CJ_GEMM_ELEMENTS_E4M3) return gp_e4m3_value(*(const unsigned char *)at);
    double x = kb_value(at, type);
    return t->elements == CJ_GEMM_ELEMENTS_TF32 ? tf32_of(x) : x;
}

/* -- Layouts ------------------------------------------------------------------------------------------------------- */

const gp_layout gp_layouts[GP_LAYOUTS] = {
    { "rows", 0, 16, 0, 1, 0 },
    { "columns", 1, 16, 0, 1, 0 },
    { "rows of odd length", 0, 0, 0, 1, 0 },
    { "columns of odd length", 1, 0, 0, 1, 0 },
    { "rows from an odd place", 0, 16, 1, 1, 0 },
    { "columns from the last one", 1, 16, 0, 1, 1 },
    { "rows with gaps in them", 0, 16, 0, 2, 0 },
};

static uint64_t distance_of(const gp_layout *l, uint64_t rows, uint64_t columns)
{
    uint64_t inner = (l->columns ? rows : columns) * (uint64_t)l->step;
    return l->to ? (inner + (uint64_t)l->to - 1) / (uint64_t)l->to * (uint64_t)l->to : inner | 1;
}

uint64_t gp_place(const gp_layout *l, uint64_t rows, uint64_t columns, uint64_t r, uint64_t c)
{
    uint64_t outer = l->columns ? c : r, inner = l->columns ? r : c, count = l->columns ? columns : rows;
    if (l->back) outer = count - 1 - outer;
    return (uint64_t)l->off + outer * distance_of(l, rows, columns) + inner * (uint64_t)l->step;
}

static uint64_t extent_in(const gp_layout *l, uint64_t rows, uint64_t columns)
{
    return (uint64_t)l->off + (l->columns ? columns : rows) * distance_of(l, rows, columns) + 1;
}

cj_rows gp_rows(cj_dptr data, size_t size, const gp_layout *l, uint64_t rows, uint64_t columns)
{
    int64_t by = (int64_t)distance_of(l, rows, columns), step = l->step;
    uint64_t first = rows && columns ? gp_place(l, rows, columns, 0, 0) : 0;
    if (l->back) by = -by;
    return (cj_rows){ cj_offset(data, (int64_t)(first * size)), l->columns ? step : by, l->columns ? by : step };
}

int gp_class(const gp_kind *t, int la, int lb)
{
    const gp_layout *a = &gp_layouts[la], *b = &gp_layouts[lb];
    const bool a_outer = a->columns, b_outer = !b->columns; /* the side beside k is contiguous */
    bool units = a->to && !a->off && a->step == 1 && b->to && !b->off && b->step == 1;
    const bool plain = t->a == CJ_F32 && !t->elements;
    if (kb_size(t->a) != 2 && !plain && (a_outer || b_outer)) units = false;
    return (units ? 0 : GP_BY_ELEMENTS) + a_outer + 2 * b_outer;
}

/* -- One product --------------------------------------------------------------------------------------------------- */

kb_memory gp_a, gp_b, gp_out;
double *gp_sums, *gp_magnitudes;
static double *left, *right;
static size_t filled;

void gp_begin(size_t elements)
{
    double *numbers[4];
    filled = elements;
    gp_a = kb_take(GP_MOST * 4), gp_b = kb_take(GP_MOST * 4), gp_out = kb_take(GP_MOST * 4);
    for (int i = 0; i < 4; i++)
        if (!(numbers[i] = malloc((size_t)GP_SIDE * GP_SIDE * sizeof **numbers))) tap_bail("no memory");
    left = numbers[0], right = numbers[1], gp_sums = numbers[2], gp_magnitudes = numbers[3];
}

void gp_end(void)
{
    double *const numbers[] = { left, right, gp_sums, gp_magnitudes };
    for (int i = 0; i < 4; i++) free(numbers[i]);
    kb_drop(&gp_a), kb_drop(&gp_b), kb_drop(&gp_out);
}

/* A number that tf32 does not lie half-way around: PTX does not say to which side a tensor map rounds a tie. */
static double drawn(void) { return (float)(floor(kb_uniform() * 0x1p21) * 0x1p-21 + 0x1p-23); }

void gp_fill(kb_memory *x, const gp_kind *t, cj_type type, bool whole, uint64_t seed)
{
    bool positive = type == CJ_U8 && !t->elements;
    unsigned char each[7][8];
    for (int v = 0; v < 7; v++) gp_set(t, type, each[v], positive ? abs(v - 3) : v - 3);
    for (size_t i = 0; i < filled; i++) {
        char *at = (char *)x->host + i * kb_size(type);
        if (whole) memcpy(at, each[((i + seed) * 2654435761u >> 9) % 7], kb_size(type));
        else gp_set(t, type, at, drawn());
    }
    kb_put(x);
}

void gp_reference(const gp_case *x)
{
    const gp_kind *t = x->t;
    const gp_shape *s = &x->s;
    size_t size_a = kb_size(t->a), size_b = kb_size(t->b);
    for (uint64_t r = 0; r < s->m; r++)
        for (uint64_t i = 0; i < s->k; i++)
            left[r * s->k + i] = gp_value(t, t->a, (char *)gp_a.host + gp_place(x->la, s->m, s->k, r, i) * size_a);
    for (uint64_t i = 0; i < s->k; i++)
        for (uint64_t c = 0; c < s->n; c++)
            right[i * s->n + c] = gp_value(t, t->b, (char *)gp_b.host + gp_place(x->lb, s->k, s->n, i, c) * size_b);
    memset(gp_sums, 0, s->m * s->n * sizeof *gp_sums);
    memset(gp_magnitudes, 0, s->m * s->n * sizeof *gp_sums);
    for (uint64_t r = 0; r < s->m; r++)
        for (uint64_t i = 0; i < s->k; i++) {
            double v = left[r * s->k + i];
            const double *y = right + i * s->n;
            for (uint64_t c = 0; c < s->n; c++) {
                gp_sums[r * s->n + c] += v * y[c];
                gp_magnitudes[r * s->n + c] += fabs(v * y[c]);
            }
        }
}

cj_gemm_args gp_arguments(const gp_case *c)
{
    const gp_shape *s = &c->s;
    return (cj_gemm_args){ .a = gp_rows(gp_a.data, kb_size(c->t->a), c->la, s->m, s->k),
                           .b = gp_rows(gp_b.data, kb_size(c->t->b), c->lb, s->k, s->n),
                           .out = gp_rows(gp_out.data, kb_size(c->t->out), c->lo, s->m, s->n),
                           .m = s->m, .n = s->n, .k = s->k };
}

static bool is_blank(const void *at, size_t size)
{
    static const unsigned char blank[8] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };
    return memcmp(at, blank, size) == 0;
}

static size_t wrong_in(cj_gemm *g, const gp_case *x, bool nonfinite)
{
    const gp_kind *t = x->t;
    const gp_shape *s = &x->s;
    cj_gemm_args args = gp_arguments(x);
    size_t wrong = 0, size = kb_size(t->out), used = extent_in(x->lo, s->m, s->n);
    unsigned char *seen = calloc(used + 1, 1);
    if (!seen) tap_bail("no memory");
    gp_reference(x);
    kb_blank(&gp_out);
    if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &args), "launch") || !kb_get(&gp_out)) wrong++;
    for (uint64_t r = 0; r < s->m; r++)
        for (uint64_t c = 0; c < s->n; c++) {
            unsigned char want[8];
            uint64_t place = gp_place(x->lo, s->m, s->n, r, c);
            const char *at = (char *)gp_out.host + place * size;
            double sum = gp_sums[r * s->n + c], got = nonfinite ? kb_value(at, t->out) : 0;
            kb_set(want, t->out, sum);
            if (nonfinite && sum != sum) wrong += got == got || is_blank(at, size);
            else wrong += memcmp(at, want, size) != 0;
            seen[place] = 1;
        }
    for (size_t i = 0; i < used * size; i++) wrong += !seen[i / size] && ((unsigned char *)gp_out.host)[i] != 0xFF;
    free(seen);
    if (wrong)
        tap_diag("%s: %zu wrong, A by %s, B by %s, out by %s, %llu x %llu x %llu", t->name, wrong, x->la->name,
                 x->lb->name, x->lo->name, (unsigned long long)s->m, (unsigned long long)s->n,
                 (unsigned long long)s->k);
    return wrong;
}

size_t gp_exact(cj_gemm *g, const gp_case *c) { return wrong_in(g, c, false); }

size_t gp_nonfinite(cj_gemm *g, const gp_case *c) { return wrong_in(g, c, true); }
