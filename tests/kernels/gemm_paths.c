/* The paths of cj_gemm against plain C: every path, type and layout over sizes at each edge of the tiles.  Sums of
 * small whole numbers are exact, so results are compared bit for bit; random numbers are compared with f64.  Outputs
 * lie between guards and are NaN before.  With CUJIT_TEST_ALL=1 every type meets every layout and size. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 320, BATCHES = 3, MOST = SIDE * (2 * SIDE + 32),
       FILLED = 96 * 1024 /* what the smaller sizes read */ };

/* -- Elements ------------------------------------------------------------------------------------------------------ */

typedef struct kind { const char *name; cj_type a, b, out; int32_t elements, promote; } kind;
static const kind kinds[] = {
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
};
enum { KINDS = sizeof kinds / sizeof *kinds, KIND_F16 = 0, KIND_BF16 = 1, KIND_TF32 = 2 };

static double e4m3_value(unsigned byte)
{
    int e = byte >> 3 & 15, m = byte & 7;
    double x = e ? ldexp(8 + m, e - 10) : ldexp(m, -9);
    return byte & 0x80 ? -x : x;
}

/* The nearest one; values rise with their bits, up to 448. */
static unsigned e4m3_of(double x)
{
    unsigned low = 0, high = 0x7e;
    while (high - low > 1) {
        unsigned mid = (low + high) / 2;
        if (e4m3_value(mid) <= fabs(x)) low = mid;
        else high = mid;
    }
    unsigned best = fabs(x) - e4m3_value(low) > e4m3_value(high) - fabs(x) ? high : low;
    return x < 0 ? best | 0x80 : best;
}

static double tf32_of(double x)
{
    float f = (float)x;
    uint32_t w;
    memcpy(&w, &f, 4);
    w = (w + 0x1000) & 0xffffe000u;
    memcpy(&f, &w, 4);
    return f;
}

static void set_element(const kind *t, cj_type type, void *at, double x)
{
    if (t->elements == CJ_GEMM_ELEMENTS_E4M3) *(unsigned char *)at = (unsigned char)e4m3_of(x);
    else kb_set(at, type, x);
}

/* What is multiplied. */
static double element_value(const kind *t, cj_type type, const void *at)
{
    if (t->elements == CJ_GEMM_ELEMENTS_E4M3) return e4m3_value(*(const unsigned char *)at);
    double x = kb_value(at, type);
    return t->elements == CJ_GEMM_ELEMENTS_TF32 ? tf32_of(x) : x;
}

/* -- Layouts ------------------------------------------------------------------------------------------------------- */

/* `to`: the distance of rows or columns is a multiple of so many elements; 0: odd.  `off`: elements in front. */
typedef struct layout { const char *name; int columns, to, off, step, back; } layout;
static const layout layouts[] = {
    { "rows", 0, 16, 0, 1, 0 },
    { "columns", 1, 16, 0, 1, 0 },
    { "rows of odd length", 0, 0, 0, 1, 0 },
    { "columns of odd length", 1, 0, 0, 1, 0 },
    { "rows from an odd place", 0, 16, 1, 1, 0 },
    { "columns from the last one", 1, 16, 0, 1, 1 },
    { "rows with gaps in them", 0, 16, 0, 2, 0 },
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts, ALIGNED_LAYOUTS = 2 };

static uint64_t distance_of(const layout *l, uint64_t rows, uint64_t columns)
{
    uint64_t inner = (l->columns ? rows : columns) * (uint64_t)l->step;
    return l->to ? (inner + (uint64_t)l->to - 1) / (uint64_t)l->to * (uint64_t)l->to : inner | 1;
}

static uint64_t place_in(const layout *l, uint64_t rows, uint64_t columns, uint64_t r, uint64_t c)
{
    uint64_t outer = l->columns ? c : r, inner = l->columns ? r : c, count = l->columns ? columns : rows;
    if (l->back) outer = count - 1 - outer;
    return (uint64_t)l->off + outer * distance_of(l, rows, columns) + inner * (uint64_t)l->step;
}

static uint64_t extent_in(const layout *l, uint64_t rows, uint64_t columns)
{
    return (uint64_t)l->off + (l->columns ? columns : rows) * distance_of(l, rows, columns) + 1;
}

static cj_rows rows_in(cj_dptr data, size_t size, const layout *l, uint64_t rows, uint64_t columns)
{
    int64_t by = (int64_t)distance_of(l, rows, columns), step = l->step;
    uint64_t first = rows && columns ? place_in(l, rows, columns, 0, 0) : 0;
    if (l->back) by = -by;
    return (cj_rows){ cj_offset(data, (int64_t)(first * size)), l->columns ? step : by, l->columns ? by : step };
}

/* -- One product --------------------------------------------------------------------------------------------------- */

typedef struct shape { uint64_t m, n, k; } shape;

static bool all;
static kb_memory a, b, out;
static double *left, *right, *sums, *magnitudes;

/* A number that tf32 does not lie half-way around: PTX does not say to which side a tensor map rounds a tie. */
static double drawn(void) { return (float)(floor(kb_uniform() * 0x1p21) * 0x1p-21 + 0x1p-23); }

static void fill(kb_memory *x, const kind *t, cj_type type, bool whole, uint64_t seed)
{
    bool positive = type == CJ_U8 && !t->elements;
    for (size_t i = 0; i < (all ? MOST : FILLED); i++) {
        int v = (int)(((i + seed) * 2654435761u >> 9) % 7) - 3;
        set_element(t, type, (char *)x->host + i * kb_size(type), !whole ? drawn() : positive ? abs(v) : v);
    }
    kb_put(x);
}

/* What plain C makes of it: sums and sums of magnitudes. */
static void reference(const kind *t, const layout *la, const layout *lb, const shape *s)
{
    size_t size_a = kb_size(t->a), size_b = kb_size(t->b);
    for (uint64_t r = 0; r < s->m; r++)
        for (uint64_t i = 0; i < s->k; i++)
            left[r * s->k + i] =
                element_value(t, t->a, (char *)a.host + place_in(la, s->m, s->k, r, i) * size_a);
    for (uint64_t i = 0; i < s->k; i++)
        for (uint64_t c = 0; c < s->n; c++)
            right[i * s->n + c] =
                element_value(t, t->b, (char *)b.host + place_in(lb, s->k, s->n, i, c) * size_b);
    memset(sums, 0, s->m * s->n * sizeof *sums);
    memset(magnitudes, 0, s->m * s->n * sizeof *sums);
    for (uint64_t r = 0; r < s->m; r++)
        for (uint64_t i = 0; i < s->k; i++) {
            double x = left[r * s->k + i];
            const double *y = right + i * s->n;
            for (uint64_t c = 0; c < s->n; c++) {
                sums[r * s->n + c] += x * y[c];
                magnitudes[r * s->n + c] += fabs(x * y[c]);
            }
        }
}

static cj_gemm_args arguments(const kind *t, const layout *la, const layout *lb, const layout *lo, const shape *s)
{
    return (cj_gemm_args){ .a = rows_in(a.data, kb_size(t->a), la, s->m, s->k),
                           .b = rows_in(b.data, kb_size(t->b), lb, s->k, s->n),
                           .out = rows_in(out.data, kb_size(t->out), lo, s->m, s->n),
                           .m = s->m, .n = s->n, .k = s->k };
}

/* The number of wrong elements of a product of whole numbers, and of bytes that were written beside them. */
static size_t exact(cj_gemm *g, const kind *t, const layout *la, const layout *lb, const layout *lo, const shape *s)
{
    cj_gemm_args x = arguments(t, la, lb, lo, s);
    size_t wrong = 0, size = kb_size(t->out), used = extent_in(lo, s->m, s->n);
    unsigned char *seen = calloc(used + 1, 1);
    if (!seen) tap_bail("no memory");
    reference(t, la, lb, s);
    kb_blank(&out);
    if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") || !kb_get(&out)) wrong++;
    for (uint64_t r = 0; r < s->m; r++)
        for (uint64_t c = 0; c < s->n; c++) {
            unsigned char want[8];
            uint64_t at = place_in(lo, s->m, s->n, r, c);
            kb_set(want, t->out, sums[r * s->n + c]);
            wrong += memcmp((char *)out.host + at * size, want, size) != 0;
            seen[at] = 1;
        }
    for (size_t i = 0; i < used * size; i++) wrong += !seen[i / size] && ((unsigned char *)out.host)[i] != 0xFF;
    free(seen);
    if (wrong)
        tap_diag("%s: %zu wrong, A by %s, B by %s, out by %s, %llu x %llu x %llu", t->name, wrong, la->name, lb->name,
                 lo->name, (unsigned long long)s->m, (unsigned long long)s->n, (unsigned long long)s->k);
    return wrong;
}

static cj_gemm *make(const kind *t, int32_t path)
{
    return cj_gemm_create(kb_dev, CJ_GEMM(.type = t->a, .b_type = t->b, .out_type = t->out, .path = path,
                                          .elements = t->elements, .promote = t->promote));
}

/* -- Paths --------------------------------------------------------------------------------------------------------- */

static const struct { const char *name; int32_t path; } paths[] = {
    { "mma", CJ_GEMM_MMA }, { "wgmma", CJ_GEMM_WGMMA }, { "scalar", CJ_GEMM_SCALAR }, { "auto", CJ_GEMM_AUTO },
};
enum { PATHS = sizeof paths / sizeof *paths };

/* A device without the instructions: the object says so, and the path is left out. */
static bool is_there(int p)
{
    cj_gemm *g = make(&kinds[KIND_BF16], paths[p].path);
    cj_error e = *cj_error_of(g);
    bool lacks = e.status == CJ_ENOTSUP || strstr(e.message, "not executed by the CPU device yet");
    if (e.status) tap_diag("path %s: %s", paths[p].name, e.message);
    if (e.status && !lacks) tap_fail("path %s can be made", paths[p].name);
    cj_gemm_free(g);
    return e.status == CJ_OK;
}

/* Elements of 8 bits and tf32 come with k contiguous on path wgmma, and all of them in multiples of 16 bytes. */
static bool serves(int p, const kind *t, int la, int lb)
{
    bool both = kb_size(t->a) == 2;
    if (paths[p].path != CJ_GEMM_WGMMA) return true;
    if (t->a != t->b) return false;
    return la < ALIGNED_LAYOUTS && lb < ALIGNED_LAYOUTS && (both || (!layouts[la].columns && layouts[lb].columns));
}

static const shape shapes[] = {
    { 1, 1, 1 },     { 127, 129, 65 }, { 128, 128, 64 }, { 65, 63, 31 },   { 130, 257, 33 }, { 1, 300, 17 },
    { 300, 1, 40 },  { 64, 64, 0 },    { 17, 97, 127 },  { 131, 67, 211 }, { 256, 256, 128 }, { 129, 65, 300 },
    { 40, 200, 96 }, { 2, 3, 299 },    { 191, 193, 32 }, { 63, 127, 1 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Which products are computed without CUJIT_TEST_ALL=1: another part of the sizes and layouts for each type. */
static bool is_chosen(int p, size_t t, size_t size, size_t layouts_of)
{
    bool pairs = paths[p].path == CJ_GEMM_WGMMA;  /* it has a few only */
    size_t of_shapes = tap_is_slow() ? 8 : 4, of_layouts = pairs ? (kb_size(kinds[t].a) == 2 ? 4 : 1) : 29;
    if (all) return true;
    if (tap_is_slow() && shapes[size].m * shapes[size].n > 10000) return false;
    if ((paths[p].path == CJ_GEMM_SCALAR || paths[p].path == CJ_GEMM_AUTO) && t % 5 != 0) return false;
    size_t turn = pairs ? layouts_of + size / 4 : layouts_of;
    return size % of_shapes == t % of_shapes && turn % of_layouts == (size + t) % of_layouts;
}

static void each_type(int p)
{
    for (size_t t = 0; t < KINDS; t++) {
        cj_gemm *g = NULL;
        size_t wrong = 0, did = 0;
        for (size_t i = 0; i < SHAPES; i++)
            for (int l = 0; l < LAYOUTS * LAYOUTS; l++) {
                int la = l % LAYOUTS, lb = l / LAYOUTS, lo = (int)(i + t + did) % (LAYOUTS - 1);
                if (!serves(p, &kinds[t], la, lb) || !is_chosen(p, t, i, (size_t)l)) continue;
                if (!g) {
                    g = make(&kinds[t], paths[p].path);
                    if (cj_error_of(g)->status) tap_diag("%s", cj_error_of(g)->message);
                    fill(&a, &kinds[t], kinds[t].a, true, 1), fill(&b, &kinds[t], kinds[t].b, true, 77777);
                }
                wrong += exact(g, &kinds[t], &layouts[la], &layouts[lb], &layouts[lo], &shapes[i]);
                did++;
            }
        if (g) tap_is_uint(wrong, 0, "path %s, %s: %zu products are exact", paths[p].name, kinds[t].name, did);
        cj_gemm_free(g);
    }
}

/* Every layout of A with every layout of B; what path wgmma does not serve is a sentence. */
static void each_layout(int p)
{
    static const shape s = { 70, 66, 50 };
    const kind *t = &kinds[KIND_F16];
    cj_gemm *g = make(t, paths[p].path);
    size_t wrong = 0, rejected = 0, unserved = 0;
    fill(&a, t, t->a, true, 5), fill(&b, t, t->b, true, 99);
    for (int la = 0; la < LAYOUTS; la++)
        for (int lb = 0; lb < LAYOUTS; lb++) {
            int lo = (la + lb) % (LAYOUTS - 1);
            if (tap_is_slow() && (la + 2 * lb) % 5 != 1) continue;
            if (serves(p, t, la, lb)) {
                wrong += exact(g, t, &layouts[la], &layouts[lb], &layouts[lo], &s);
                continue;
            }
            cj_gemm_args x = arguments(t, &layouts[la], &layouts[lb], &layouts[lo], &s);
            unserved++;
            rejected += cj_gemm_launch(kb_s[0], g, &x) == CJ_ENOTSUP &&
                        strstr(cj_error_of(kb_s[0])->message, "path wgmma wants an address and distances") != NULL;
            cj_error_clear(kb_s[0]);
        }
    tap_is_uint(wrong, 0, "path %s: every layout of A by every layout of B", paths[p].name);
    tap_is_uint(rejected, unserved, "path %s: others are rejected with a sentence", paths[p].name);
    cj_gemm_free(g);
}

/* So many steps of k that the stages are loaded three times: one that is released too early is overwritten. */
static void many_stages(int p)
{
    static const shape s = { 80, 40, 17 * 64 };
    const kind *t = &kinds[KIND_F16];
    cj_gemm *g = make(t, paths[p].path);
    size_t wrong = 0;
    fill(&a, t, t->a, true, 31), fill(&b, t, t->b, true, 32);
    for (int la = 0; la < ALIGNED_LAYOUTS; la++)
        wrong += exact(g, t, &layouts[la], &layouts[0], &layouts[0], &s);
    tap_is_uint(wrong, 0, "path %s: more of k than two rounds of stages", paths[p].name);
    cj_gemm_free(g);
}

/* Random numbers.  An f32 sum of k products is off by k 2^-23 of the sum of magnitudes; a 16-bit result by half a unit
 * more; e4m3 without promote by what its tensor cores lose. */
static void random_error(int p)
{
    static const shape s = { 130, 66, 99 };
    for (size_t i = 0; i < KINDS - 1; i++) {
        const kind *t = &kinds[i];
        if (!all && i % 4 != (size_t)p % 4 && (i != KIND_TF32 || tap_is_slow())) continue;
        if (t->a == CJ_S8 || (t->a == CJ_U8 && !t->elements)) continue;
        cj_gemm *g = make(t, paths[p].path);
        const layout *la = &layouts[0], *lb = &layouts[kb_size(t->a) == 2 ? 0 : 1];
        double worst = 0, half = t->out == CJ_F16 ? 0x1p-11 : t->out == CJ_BF16 ? 0x1p-8 : 0;
        double lost = t->elements != CJ_GEMM_ELEMENTS_E4M3 ? (double)s.k * 0x1p-23 : t->promote ? 1.8e-3 : 3e-3;
        cj_gemm_args x = arguments(t, la, lb, &layouts[0], &s);
        fill(&a, t, t->a, false, 0), fill(&b, t, t->b, false, 0);
        reference(t, la, lb, &s);
        kb_blank(&out);
        kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch");
        bool guarded = kb_get(&out);
        for (uint64_t r = 0; r < s.m; r++)
            for (uint64_t c = 0; c < s.n; c++) {
                size_t e = r * s.n + c, at = place_in(&layouts[0], s.m, s.n, r, c) * kb_size(t->out);
                double error = fabs(kb_value((char *)out.host + at, t->out) - sums[e]);
                double allowed = lost * magnitudes[e] + half * fabs(sums[e]) + (half > 0 ? 0x1p-24 : 0);
                kb_note_error(&worst, error == 0 ? 0 : error / allowed);
            }
        tap_ok(guarded && worst <= 1, "path %s, %s: %.2g of the error that is allowed", paths[p].name, t->name, worst);
        cj_gemm_free(g);
    }
}

/* -- The end ------------------------------------------------------------------------------------------------------- */

enum { M = 133, N = 72, K = 48, B_GAP = 16, OUT_GAP = 8 };

/* out = max(alpha A B + beta C + bias, 0 from row `from` on) + batch + step * column; B is the same in each batch. */
static cj_gemm *make_fused(int p, int32_t out_type)
{
    static const int32_t user_types[] = { CJ_F32, CJ_U32 };
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "finish");
    cj_val v = cj_param(f, "v", CJ_F32), row = cj_param(f, "row", CJ_U32), column = cj_param(f, "column", CJ_U32);
    cj_val batch = cj_param(f, "batch", CJ_U32), step = cj_param(f, "step", CJ_F32), from = cj_param(f, "from", CJ_U32);
    cj_val more = cj_fma(f, step, cj_cvt(f, CJ_F32, column), cj_cvt(f, CJ_F32, batch));
    cj_val kept = cj_select(f, cj_ge(f, row, from), cj_max(f, v, 0.0f), v);
    cj_result(f, "r", CJ_F32);
    cj_return_value(f, cj_add(f, kept, more));
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_BF16, .out_type = out_type, .path = paths[p].path,
                                                .scaled = 1, .bias = 1, .module = m, .function = "finish",
                                                .user_types = user_types, .user_count = 2, .m = M, .n = N,
                                                .a_order = CJ_GEMM_ORDER_ROWS, .b_order = CJ_GEMM_ORDER_ROWS));
    cj_ptx_free(m);
    return g;
}

static void everything(int p, bool with_c, bool shared_b)
{
    const kind t = { "bf16", CJ_BF16, CJ_BF16, CJ_F32, 0, 0 };
    const cj_arg user[] = { cj_arg_f32(0.5f), cj_arg_u(7) };
    const uint64_t a_by = M * K, b_by = shared_b ? 0 : K * N + B_GAP, out_by = M * N + OUT_GAP;
    cj_gemm *g = make_fused(p, CJ_F32);
    kb_memory c = kb_take((size_t)M * N * BATCHES * 4), bias = kb_take(N * 4);
    size_t wrong = 0;
    fill(&a, &t, t.a, true, 3), fill(&b, &t, t.b, true, 4);
    for (size_t i = 0; i < (size_t)M * N * BATCHES; i++)
        kb_set((char *)c.host + 4 * i, CJ_F32, with_c ? (double)(i % 9) - 4 : NAN);
    for (size_t i = 0; i < N; i++) kb_set((char *)bias.host + 4 * i, CJ_F32, (double)(i % 5) - 2);
    kb_put(&c), kb_put(&bias), kb_blank(&out);
    cj_gemm_args x = { .a = { a.data, 0, 0 }, .b = { b.data, 0, 0 }, .c = { c.data, 0, 0 }, .out = { out.data, 0, 0 },
                       .m = M, .n = N, .k = K, .batches = BATCHES, .a_batch = (int64_t)a_by, .b_batch = (int64_t)b_by,
                       .c_batch = M * N, .out_batch = (int64_t)out_by, .alpha = -2, .beta = with_c ? 0.5 : 0,
                       .bias = bias.data, .user = user, .user_count = 2 };
    if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") || !kb_get(&out)) wrong++;
    for (size_t z = 0; z < BATCHES; z++)
        for (size_t r = 0; r < M; r++)
            for (size_t col = 0; col < N; col++) {
                double sum = 0;
                for (size_t i = 0; i < K; i++)
                    sum += kb_value((char *)a.host + 2 * (z * a_by + r * K + i), t.a) *
                           kb_value((char *)b.host + 2 * (z * b_by + i * N + col), t.b);
                sum = -2 * sum + (with_c ? 0.5 * kb_value((char *)c.host + 4 * ((z * M + r) * N + col), CJ_F32) : 0) +
                      kb_value((char *)bias.host + 4 * col, CJ_F32);
                if (r >= 7 && sum < 0) sum = 0;
                sum += (double)z + 0.5 * (double)col;
                wrong += kb_value((char *)out.host + 4 * (z * out_by + r * N + col), CJ_F32) != sum;
            }
    tap_is_uint(wrong, 0, "path %s: alpha, %s, bias, a function and batches%s", paths[p].name,
                with_c ? "beta" : "beta 0 and a C of NaN", shared_b ? " with one B" : "");
    cj_gemm_free(g);
    kb_drop(&c), kb_drop(&bias);
}

/* Batches without anything fused: their results leave by tensor map on path wgmma. */
static void batches(int p)
{
    const kind *t = &kinds[KIND_BF16];
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = t->a, .out_type = t->out, .path = paths[p].path, .m = M, .n = N,
                                                .k = K));
    size_t wrong = 0;
    fill(&a, t, t->a, true, 11), fill(&b, t, t->b, true, 12);
    kb_blank(&out);
    cj_gemm_args x = { .a = { a.data, 0, 0 }, .b = { b.data, 0, 0 }, .out = { out.data, 0, 0 }, .m = M, .n = N, .k = K,
                       .batches = BATCHES, .a_batch = M * K, .b_batch = K * N, .out_batch = M * N + OUT_GAP };
    if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") || !kb_get(&out)) wrong++;
    for (size_t z = 0; z < BATCHES; z++)
        for (size_t r = 0; r < M; r++)
            for (size_t col = 0; col < N; col++) {
                double sum = 0;
                for (size_t i = 0; i < K; i++)
                    sum += kb_value((char *)a.host + 2 * (z * M * K + r * K + i), t->a) *
                           kb_value((char *)b.host + 2 * (z * K * N + i * N + col), t->b);
                wrong += kb_value((char *)out.host + 4 * (z * (M * N + OUT_GAP) + r * N + col), CJ_F32) != sum;
            }
    for (size_t i = 0; i < OUT_GAP * 4; i++) wrong += ((unsigned char *)out.host)[4 * M * N + i] != 0xFF;
    tap_is_uint(wrong, 0, "path %s: three products in one launch", paths[p].name);
    x.k = K - 1;
    tap_is_int(cj_gemm_launch(kb_s[0], g, &x), CJ_EINVAL, "path %s: a size that is not in the options", paths[p].name);
    tap_has_str(cj_error_of(kb_s[0])->message, "k is 47, the options have 48", "... is named");
    cj_error_clear(kb_s[0]);
    cj_gemm_free(g);
}

/* More tiles than there are multiprocessors: blocks of path wgmma compute several, one behind the other, unless there
 * are few rows, and A is stored by rows. */
static void many_tiles(int p, bool by_columns)
{
    enum { ROWS = 8, COLUMNS = 8, DEPTH = 16, PRODUCTS = 300 };
    const kind *t = &kinds[KIND_BF16];
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = t->a, .out_type = t->out, .path = paths[p].path, .m = ROWS,
                                                .n = COLUMNS, .k = DEPTH,
                                                .a_order = by_columns ? CJ_GEMM_ORDER_COLUMNS : CJ_GEMM_ORDER_ROWS,
                                                .b_order = CJ_GEMM_ORDER_ROWS));
    size_t wrong = 0;
    fill(&a, t, t->a, true, 21), fill(&b, t, t->b, true, 22);
    kb_blank(&out);
    cj_rows of_a = by_columns ? (cj_rows){ a.data, 1, ROWS } : (cj_rows){ a.data, 0, 0 };
    cj_gemm_args x = { .a = of_a, .b = { b.data, 0, 0 }, .out = { out.data, 0, 0 }, .m = ROWS,
                       .n = COLUMNS, .k = DEPTH, .batches = PRODUCTS, .a_batch = ROWS * DEPTH,
                       .b_batch = DEPTH * COLUMNS, .out_batch = ROWS * COLUMNS };
    if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") || !kb_get(&out)) wrong++;
    for (size_t z = 0; z < PRODUCTS * ROWS * COLUMNS; z++) {
        size_t batch = z / (ROWS * COLUMNS), r = z / COLUMNS, c = z % COLUMNS;
        double sum = 0;
        for (size_t i = 0; i < DEPTH; i++)
            sum += kb_value((char *)a.host + 2 * (by_columns ? (batch * DEPTH + i) * ROWS + r % ROWS : r * DEPTH + i),
                            t->a) *
                   kb_value((char *)b.host + 2 * ((batch * DEPTH + i) * COLUMNS + c), t->b);
        wrong += kb_value((char *)out.host + 4 * z, CJ_F32) != sum;
    }
    tap_is_uint(wrong, 0, "path %s: more tiles than multiprocessors%s", paths[p].name,
                by_columns ? ", A by columns" : "");
    cj_gemm_free(g);
}

/* -- At once ------------------------------------------------------------------------------------------------------- */

/* One object on all streams, each with a result of its own; a captured launch, many times, by two graphs at once. */
static void at_once(int p)
{
    static const shape s = { 150, 80, 100 };
    const kind *t = &kinds[KIND_F16];
    size_t bytes = (size_t)s.m * s.n * 2;
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = t->a, .path = paths[p].path, .a_order = CJ_GEMM_ORDER_ROWS,
                                                .b_order = CJ_GEMM_ORDER_ROWS));
    char *first = malloc(bytes);
    cj_gemm_args x = arguments(t, &layouts[0], &layouts[0], &layouts[0], &s);
    if (!first) tap_bail("no memory");
    fill(&a, t, t->a, false, 0), fill(&b, t, t->b, false, 0);
    kb_blank(&out);
    for (int i = 0; i < 2 * KB_STREAMS; i++) {
        x.out.data = cj_offset(out.data, (int64_t)(bytes * (size_t)(i % KB_STREAMS)));
        kb_is_ok(kb_s[i % KB_STREAMS], cj_gemm_launch(kb_s[i % KB_STREAMS], g, &x), "launch");
    }
    bool guarded = kb_get(&out), same = true;
    memcpy(first, out.host, bytes);
    for (size_t i = 1; i < KB_STREAMS; i++) same = same && memcmp((char *)out.host + bytes * i, first, bytes) == 0;
    tap_ok(guarded && same, "path %s: four streams have the same bits", paths[p].name);
    x.out.data = out.data;
    cj_capture_begin(kb_s[0], CJ_CAPTURE_THREAD);
    cj_gemm_launch(kb_s[0], g, &x);
    cj_graph *graph = cj_capture_end(kb_s[0]);
    cj_graph_exec *x1 = cj_graph_instantiate(graph, NULL), *x2 = cj_graph_instantiate(graph, NULL);
    cj_gemm_free(g);
    kb_blank(&out);
    for (int i = 0; i < (all ? 100 : 5); i++) cj_graph_launch(kb_beside(0), x1), cj_graph_launch(kb_beside(1), x2);
    guarded = kb_get(&out);
    tap_ok(guarded && memcmp(out.host, first, bytes) == 0, "path %s: graphs of one capture too", paths[p].name);
    cj_graph_exec_free(x1);
    cj_graph_exec_free(x2);
    cj_graph_free(graph);
    free(first);
}

/* -- Mistakes ------------------------------------------------------------------------------------------------------ */

static void mistakes(void)
{
    static const struct { cj_gemm_opts o; cj_status status; const char *part;
    } rows[] = {
        { { .type = CJ_F32, .path = CJ_GEMM_MMA }, CJ_ENOTSUP, "path mma has no product of f32 and f32 in f32" },
        { { .type = CJ_F16, .b_type = CJ_BF16, .path = CJ_GEMM_WGMMA }, CJ_ENOTSUP, "elements of one type" },
        { { .type = CJ_U8, .b_type = CJ_S8, .path = CJ_GEMM_WGMMA }, CJ_ENOTSUP, "wgmma multiplies elements of one" },
        { { .type = CJ_F16, .wide = CJ_F64, .path = CJ_GEMM_MMA }, CJ_ENOTSUP, "tensor cores sum in f32" },
        { { .type = CJ_F16, .promote = 1 }, CJ_EINVAL, "promote is for elements of e4m3" },
        { { .type = CJ_F16, .elements = CJ_GEMM_ELEMENTS_TF32 }, CJ_EINVAL, "type is f16; elements of tf32 are f32" },
        { { .type = CJ_S8, .elements = CJ_GEMM_ELEMENTS_E4M3 }, CJ_EINVAL, "elements of e4m3 are u8" },
        { { .wide = CJ_F64, .elements = CJ_GEMM_ELEMENTS_TF32 }, CJ_EINVAL, "tf32 and e4m3 are summed in f32" },
        { { .type = CJ_F16, .elements = 9 }, CJ_EINVAL, "there are no elements 9" },
        { { .type = CJ_F16, .a_order = 3 }, CJ_EINVAL, "there are no orders 3 and 0" },
        { { .type = CJ_F16, .path = 4 }, CJ_EINVAL, "there is no path 4" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_gemm_opts o = rows[i].o;
        o.size = sizeof o;
        cj_gemm *g = cj_gemm_create(kb_dev, &o);
        tap_is_int(cj_error_of(g)->status, rows[i].status, "it fails: %s", rows[i].part);
        tap_has_str(cj_error_of(g)->message, rows[i].part, "... and says why");
        cj_gemm_free(g);
    }
}

int main(void)
{
    kb_open();
    all = getenv("CUJIT_TEST_ALL") != NULL;
    tap_timeout(all ? 3600 : 100);
    a = kb_take(MOST * 4), b = kb_take(MOST * 4), out = kb_take(MOST * 4);
    double *numbers[4];
    for (int i = 0; i < 4; i++) numbers[i] = malloc((size_t)SIDE * SIDE * sizeof **numbers);
    left = numbers[0], right = numbers[1], sums = numbers[2], magnitudes = numbers[3];
    if (!left || !right || !sums || !magnitudes) tap_bail("no memory");
    mistakes();
    for (int p = 0; p < PATHS; p++) {
        if (!is_there(p)) {
            tap_skip(1, "this device has no path %s", paths[p].name);
            continue;
        }
        each_type(p);
        if (!all && (paths[p].path == CJ_GEMM_SCALAR || paths[p].path == CJ_GEMM_AUTO)) continue; /* gemms.c has them */
        each_layout(p);
        many_stages(p);
        random_error(p);
        everything(p, true, false);
        everything(p, false, true);
        batches(p);
        if (!tap_is_slow()) many_tiles(p, false);
        many_tiles(p, true);
        at_once(p);
    }
    for (int i = 0; i < 4; i++) free(numbers[i]);
    kb_drop(&a), kb_drop(&b), kb_drop(&out);
    return kb_close();
}
