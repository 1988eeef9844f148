/* The paths of cj_gemm against plain C: every path, type and class of code over sizes at each edge of the tiles, and
 * large primes.  Sums of small whole numbers are exact, so results are compared bit for bit; random numbers are
 * compared with f64.  With CUJIT_TEST_ALL=1 every type meets every layout and size. */
#include "tests/kernels/gemm_products.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 3, FILLED = 96 * 1024 /* what the smaller sizes read */ };

static bool all, cpu;

static cj_gemm *make(const gp_kind *t, int32_t path)
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
    cj_gemm *g = make(&gp_kinds[GP_BF16], paths[p].path);
    cj_error e = *cj_error_of(g);
    bool lacks = e.status == CJ_ENOTSUP || strstr(e.message, "not executed by the CPU device yet");
    if (e.status) tap_diag("path %s: %s", paths[p].name, e.message);
    if (e.status && !lacks) tap_fail("path %s can be made", paths[p].name);
    cj_gemm_free(g);
    return e.status == CJ_OK;
}

static bool has_kind(int p, const gp_kind *t)
{
    bool cores = paths[p].path == CJ_GEMM_WGMMA || paths[p].path == CJ_GEMM_MMA;
    return !cores || t != &gp_kinds[GP_F32];
}

/* Elements of 8 bits and tf32 come with k contiguous on path wgmma, and all of them in multiples of 16 bytes. */
static bool serves(int p, const gp_kind *t, int la, int lb)
{
    bool both = kb_size(t->a) == 2;
    if (paths[p].path != CJ_GEMM_WGMMA) return true;
    if (la >= GP_ALIGNED_LAYOUTS || lb >= GP_ALIGNED_LAYOUTS) return false;
    return both || (!gp_layouts[la].columns && gp_layouts[lb].columns);
}

static const gp_shape shapes[] = {
    { 1, 1, 1 },     { 127, 129, 65 }, { 128, 128, 64 }, { 65, 63, 31 },   { 130, 257, 33 }, { 1, 300, 17 },
    { 300, 1, 40 },  { 64, 64, 0 },    { 17, 97, 127 },  { 131, 67, 211 }, { 256, 256, 128 }, { 129, 65, 300 },
    { 40, 200, 96 }, { 2, 3, 299 },    { 191, 193, 32 }, { 63, 127, 1 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Which products are computed without CUJIT_TEST_ALL=1: another part of the sizes and layouts for each type. */
static bool is_chosen(int p, size_t t, size_t size, size_t layouts_of)
{
    bool pairs = paths[p].path == CJ_GEMM_WGMMA;  /* it has a few only */
    size_t of_shapes = tap_is_slow() ? 8 : 4, of_layouts = pairs ? (kb_size(gp_kinds[t].a) == 2 ? 4 : 1) : 29;
    if (all) return true;
    if (tap_is_slow() && shapes[size].m * shapes[size].n > 10000) return false;
    if ((paths[p].path == CJ_GEMM_SCALAR || paths[p].path == CJ_GEMM_AUTO) && t % 5 != 0) return false;
    size_t turn = pairs ? layouts_of + size / 4 : layouts_of;
    return size % of_shapes == t % of_shapes && turn % of_layouts == (size + t) % of_layouts;
}

static const gp_layout *layout_of_out(size_t turn) { return &gp_layouts[turn % (GP_LAYOUTS - 1)]; }

static size_t sample(int p, size_t t, cj_gemm *g, size_t *did)
{
    size_t wrong = 0, first = *did;
    for (size_t i = 0; i < SHAPES; i++)
        for (int l = 0; l < GP_LAYOUTS * GP_LAYOUTS; l++) {
            int la = l % GP_LAYOUTS, lb = l / GP_LAYOUTS;
            if (!serves(p, &gp_kinds[t], la, lb) || !is_chosen(p, t, i, (size_t)l)) continue;
            wrong += gp_exact(g, &(const gp_case){ &gp_kinds[t], &gp_layouts[la], &gp_layouts[lb],
                                                   layout_of_out(i + t + *did - first), shapes[i] });
            ++*did;
        }
    return wrong;
}

/* A product of each class of code: three stages of k and a part of one, more than path mma has room for, and tiles that
 * are cut.  Another pair of layouts of the class for each type; on a GPU all of them. */
static size_t each_class(int p, size_t t, cj_gemm *g, size_t *did)
{
    static const struct { uint64_t m, n; } sides[] = { { 65, 33 }, { 31, 62 }, { 63, 17 }, { 34, 65 }, { 7, 59 } };
    const bool scalar = paths[p].path == CJ_GEMM_SCALAR, automatic = paths[p].path == CJ_GEMM_AUTO;
    const uint64_t stage = paths[p].path == CJ_GEMM_MMA ? 64 : 128, stages = stage == 64 ? 5 : 3;
    const uint64_t k = scalar && t != GP_F32 ? 3 * 16 + 5 : stages * stage / kb_size(gp_kinds[t].a) + 3;
    size_t wrong = 0;
    for (size_t class = 0; class < GP_CLASSES; class++) {
        size_t pairs = 0, pair[GP_LAYOUTS * GP_LAYOUTS];
        for (int l = 0; l < GP_LAYOUTS * GP_LAYOUTS; l++) {
            int la = l % GP_LAYOUTS, lb = l / GP_LAYOUTS;
            if (serves(p, &gp_kinds[t], la, lb) && gp_class(&gp_kinds[t], la, lb) == (int)class)
                pair[pairs++] = (size_t)l;
        }
        if (tap_is_slow() && (class + t + (size_t)p) % 5) continue;
        if (scalar && t != GP_F32 && class < GP_BY_ELEMENTS && cpu) continue; /* one code for both */
        if (automatic && cpu && class >= GP_BY_ELEMENTS && (class + t) % 2) continue; /* the code of path mma */
        for (size_t i = 0; i < pairs; i++) {
            size_t turn = 5 * t + 3 * class + (size_t)p, side = (turn + i) % (sizeof sides / sizeof *sides);
            if (cpu && !all && i != turn % pairs) continue;
            wrong += gp_exact(g, &(const gp_case){ &gp_kinds[t], &gp_layouts[pair[i] % GP_LAYOUTS],
                                                   &gp_layouts[pair[i] / GP_LAYOUTS], layout_of_out(turn + i),
                                                   { sides[side].m, sides[side].n, k } });
            ++*did;
        }
    }
    return wrong;
}

/* Large primes: one for each type, on a GPU all of them. */
static size_t each_prime(int p, size_t t, cj_gemm *g, size_t *did)
{
    static const gp_shape primes[] = { { 257, 5, 67 },  { 3, 509, 37 },  { 1021, 2, 19 }, { 1, 1021, 37 },
                                       { 7, 11, 1021 }, { 2, 257, 131 }, { 509, 3, 1 } };
    enum { PRIMES = sizeof primes / sizeof *primes };
    size_t wrong = 0;
    for (size_t i = 0; i < PRIMES; i++) {
        size_t l = 11 * t + 5 * i + 3 * (size_t)p;
        if (cpu && !all && (i != (t + 3 * (size_t)p) % PRIMES || (tap_is_slow() && t % 5))) continue;
        while (!serves(p, &gp_kinds[t], (int)(l % GP_LAYOUTS), (int)(l / GP_LAYOUTS % GP_LAYOUTS))) l++;
        wrong += gp_exact(g, &(const gp_case){ &gp_kinds[t], &gp_layouts[l % GP_LAYOUTS],
                                               &gp_layouts[l / GP_LAYOUTS % GP_LAYOUTS], layout_of_out(l + i),
                                               primes[i] });
        ++*did;
    }
    return wrong;
}

/* Every layout of A with every layout of B; what path wgmma does not serve is a sentence. */
static void each_layout(int p)
{
    static const gp_shape s = { 70, 66, 50 };
    const gp_kind *t = &gp_kinds[GP_F16];
    cj_gemm *g = make(t, paths[p].path);
    size_t wrong = 0, rejected = 0, unserved = 0;
    gp_fill(&gp_a, t, t->a, true, 5), gp_fill(&gp_b, t, t->b, true, 99);
    for (int la = 0; la < GP_LAYOUTS; la++)
        for (int lb = 0; lb < GP_LAYOUTS; lb++) {
            const gp_case c = { t, &gp_layouts[la], &gp_layouts[lb], layout_of_out((size_t)(la + lb)), s };
            if (tap_is_slow() && (la + 2 * lb) % 5 != 1) continue;
            if (serves(p, t, la, lb)) {
                wrong += gp_exact(g, &c);
                continue;
            }
            cj_gemm_args x = gp_arguments(&c);
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
    static const gp_shape s = { 80, 40, 17 * 64 };
    const gp_kind *t = &gp_kinds[GP_F16];
    cj_gemm *g = make(t, paths[p].path);
    size_t wrong = 0;
    gp_fill(&gp_a, t, t->a, true, 31), gp_fill(&gp_b, t, t->b, true, 32);
    for (int la = 0; la < GP_ALIGNED_LAYOUTS; la++)
        wrong += gp_exact(g, &(const gp_case){ t, &gp_layouts[la], &gp_layouts[0], &gp_layouts[0], s });
    tap_is_uint(wrong, 0, "path %s: more of k than two rounds of stages", paths[p].name);
    cj_gemm_free(g);
}

/* Random numbers.  An f32 sum of k products is off by k 2^-23 of the sum of magnitudes; a 16-bit result by half a unit
 * more; e4m3 without promote by what its tensor cores lose.  Returns the greatest error, as a part of what is
 * allowed. */
static double random_error(const gp_kind *t, cj_gemm *g)
{
    const gp_case c = { t, &gp_layouts[0], &gp_layouts[kb_size(t->a) == 2 ? 0 : 1], &gp_layouts[0], { 130, 66, 99 } };
    double worst = 0, half = t->out == CJ_F16 ? 0x1p-11 : t->out == CJ_BF16 ? 0x1p-8 : 0;
    double lost = t->elements != CJ_GEMM_ELEMENTS_E4M3 ? (double)c.s.k * 0x1p-23 : t->promote ? 1.8e-3 : 3e-3;
    cj_gemm_args x = gp_arguments(&c);
    gp_fill(&gp_a, t, t->a, false, 0), gp_fill(&gp_b, t, t->b, false, 0);
    gp_reference(&c);
    kb_blank(&gp_out);
    if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") || !kb_get(&gp_out)) return NAN;
    for (uint64_t r = 0; r < c.s.m; r++)
        for (uint64_t col = 0; col < c.s.n; col++) {
            size_t e = r * c.s.n + col, at = gp_place(c.lo, c.s.m, c.s.n, r, col) * kb_size(t->out);
            double error = fabs(kb_value((char *)gp_out.host + at, t->out) - gp_sums[e]);
            double allowed = lost * gp_magnitudes[e] + half * fabs(gp_sums[e]) + (half > 0 ? 0x1p-24 : 0);
            kb_note_error(&worst, error == 0 ? 0 : error / allowed);
        }
    return worst;
}

static void each_type(int p)
{
    for (size_t t = 0; t < GP_KINDS; t++) {
        const gp_kind *kind = &gp_kinds[t];
        size_t sampled = 0, of_classes = 0, of_primes = 0;
        if (!has_kind(p, kind)) continue;
        cj_gemm *g = make(kind, paths[p].path);
        if (cj_error_of(g)->status) tap_diag("%s", cj_error_of(g)->message);
        gp_fill(&gp_a, kind, kind->a, true, 1), gp_fill(&gp_b, kind, kind->b, true, 77777);
        size_t wrong = sample(p, t, g, &sampled) + each_class(p, t, g, &of_classes) + each_prime(p, t, g, &of_primes);
        tap_is_uint(wrong, 0, "path %s, %s: %zu products of the sample, %zu of classes, %zu of primes", paths[p].name,
                    kind->name, sampled, of_classes, of_primes);
        if (!gp_of_integers(kind) && (!tap_is_slow() || (t + (size_t)p) % 4 == 0)) {
            double error = random_error(kind, g);
            tap_ok(error <= 1, "... random numbers have %.2g of the error that is allowed", error);
        }
        cj_gemm_free(g);
    }
}

/* -- The end ------------------------------------------------------------------------------------------------------- */

enum { M = 133, N = 72, K = 48, B_GAP = 16, OUT_GAP = 8 };

/* out = max(alpha A B + beta C + bias, 0 from row `from` on) + batch + step * column; B is the same in each batch. */
static cj_gemm *make_fused(int p, cj_type type, cj_type out_type)
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
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = type, .out_type = out_type, .path = paths[p].path,
                                                .scaled = 1, .bias = 1, .module = m, .function = "finish",
                                                .user_types = user_types, .user_count = 2, .m = M, .n = N,
                                                .a_order = CJ_GEMM_ORDER_ROWS, .b_order = CJ_GEMM_ORDER_ROWS));
    cj_ptx_free(m);
    return g;
}

/* What is fused: `type` is of A and B, `out` of the result, of C and of the bias. */
typedef struct fused_case { cj_type type, out; bool with_c, shared_b; } fused_case;
static const fused_case fused_cases[] = {
    { CJ_BF16, CJ_F32, true, false },  { CJ_BF16, CJ_F32, false, true }, { CJ_BF16, CJ_BF16, true, true },
    { CJ_BF16, CJ_BF16, false, false }, { CJ_F16, CJ_F16, true, false },
};

/* What plain C has at a row and a column of batch z. */
static double fused_sum(const gp_kind *t, const fused_case *x, uint64_t b_by, size_t z, size_t r, size_t col)
{
    double sum = 0;
    for (size_t i = 0; i < K; i++)
        sum += kb_value((char *)gp_a.host + 2 * (z * M * K + r * K + i), t->a) *
               kb_value((char *)gp_b.host + 2 * (z * b_by + i * N + col), t->b);
    sum = -2 * sum + (x->with_c ? 0.5 * ((double)(((z * M + r) * N + col) % 9) - 4) : 0) + (double)(col % 5) - 2;
    return (r >= 7 && sum < 0 ? 0 : sum) + (double)z + 0.5 * (double)col;
}

static void everything(int p, const fused_case *f)
{
    const gp_kind t = { "", f->type, f->type, f->out, 0, 0 };
    const cj_arg user[] = { cj_arg_f32(0.5f), cj_arg_u(7) };
    const uint64_t a_by = M * K, b_by = f->shared_b ? 0 : K * N + B_GAP, out_by = M * N + OUT_GAP;
    const size_t size = kb_size(f->out);
    cj_gemm *g = make_fused(p, f->type, f->out);
    kb_memory c = kb_take((size_t)M * N * BATCHES * size), bias = kb_take(N * size);
    size_t wrong = 0;
    gp_fill(&gp_a, &t, t.a, true, 3), gp_fill(&gp_b, &t, t.b, true, 4);
    for (size_t i = 0; i < (size_t)M * N * BATCHES; i++)
        kb_set((char *)c.host + size * i, f->out, f->with_c ? (double)(i % 9) - 4 : NAN);
    for (size_t i = 0; i < N; i++) kb_set((char *)bias.host + size * i, f->out, (double)(i % 5) - 2);
    kb_put(&c), kb_put(&bias), kb_blank(&gp_out);
    cj_gemm_args x = { .a = { gp_a.data, 0, 0 }, .b = { gp_b.data, 0, 0 }, .c = { c.data, 0, 0 },
                       .out = { gp_out.data, 0, 0 }, .m = M, .n = N, .k = K, .batches = BATCHES,
                       .a_batch = (int64_t)a_by, .b_batch = (int64_t)b_by, .c_batch = M * N,
                       .out_batch = (int64_t)out_by, .alpha = -2, .beta = f->with_c ? 0.5 : 0, .bias = bias.data,
                       .user = user, .user_count = 2 };
    if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") || !kb_get(&gp_out)) wrong++;
    for (size_t z = 0; z < BATCHES; z++)
        for (size_t r = 0; r < M; r++)
            for (size_t col = 0; col < N; col++) {
                unsigned char want[8];
                kb_set(want, f->out, fused_sum(&t, f, b_by, z, r, col));
                wrong += memcmp((char *)gp_out.host + size * (z * out_by + r * N + col), want, size) != 0;
            }
    tap_is_uint(wrong, 0, "path %s, %s to %s: alpha, %s, bias, a function and batches%s", paths[p].name,
                kb_name(f->type), kb_name(f->out), f->with_c ? "beta" : "beta 0 and a C of NaN",
                f->shared_b ? " with one B" : "");
    cj_gemm_free(g);
    kb_drop(&c), kb_drop(&bias);
}

/* Batches without anything fused: their results leave by tensor map on path wgmma. */
static void batches(int p)
{
    const gp_kind *t = &gp_kinds[GP_BF16];
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = t->a, .out_type = t->out, .path = paths[p].path, .m = M, .n = N,
                                                .k = K));
    size_t wrong = 0;
    gp_fill(&gp_a, t, t->a, true, 11), gp_fill(&gp_b, t, t->b, true, 12);
    kb_blank(&gp_out);
    cj_gemm_args x = { .a = { gp_a.data, 0, 0 }, .b = { gp_b.data, 0, 0 }, .out = { gp_out.data, 0, 0 },
                       .m = M, .n = N, .k = K,
                       .batches = BATCHES, .a_batch = M * K, .b_batch = K * N, .out_batch = M * N + OUT_GAP };
    if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") || !kb_get(&gp_out)) wrong++;
    for (size_t z = 0; z < BATCHES; z++)
        for (size_t r = 0; r < M; r++)
            for (size_t col = 0; col < N; col++) {
                double sum = 0;
                for (size_t i = 0; i < K; i++)
                    sum += kb_value((char *)gp_a.host + 2 * (z * M * K + r * K + i), t->a) *
                           kb_value((char *)gp_b.host + 2 * (z * K * N + i * N + col), t->b);
                wrong += kb_value((char *)gp_out.host + 4 * (z * (M * N + OUT_GAP) + r * N + col), CJ_F32) != sum;
            }
    for (size_t i = 0; i < OUT_GAP * 4; i++) wrong += ((unsigned char *)gp_out.host)[4 * M * N + i] != 0xFF;
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
    const gp_kind *t = &gp_kinds[GP_BF16];
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = t->a, .out_type = t->out, .path = paths[p].path, .m = ROWS,
                                                .n = COLUMNS, .k = DEPTH,
                                                .a_order = by_columns ? CJ_GEMM_ORDER_COLUMNS : CJ_GEMM_ORDER_ROWS,
                                                .b_order = CJ_GEMM_ORDER_ROWS));
    size_t wrong = 0;
    gp_fill(&gp_a, t, t->a, true, 21), gp_fill(&gp_b, t, t->b, true, 22);
    kb_blank(&gp_out);
    cj_rows of_a = by_columns ? (cj_rows){ gp_a.data, 1, ROWS } : (cj_rows){ gp_a.data, 0, 0 };
    cj_gemm_args x = { .a = of_a, .b = { gp_b.data, 0, 0 }, .out = { gp_out.data, 0, 0 }, .m = ROWS,
                       .n = COLUMNS, .k = DEPTH, .batches = PRODUCTS, .a_batch = ROWS * DEPTH,
                       .b_batch = DEPTH * COLUMNS, .out_batch = ROWS * COLUMNS };
    if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") || !kb_get(&gp_out)) wrong++;
    for (size_t z = 0; z < PRODUCTS * ROWS * COLUMNS; z++) {
        size_t batch = z / (ROWS * COLUMNS), r = z / COLUMNS, c = z % COLUMNS;
        double sum = 0;
        for (size_t i = 0; i < DEPTH; i++)
            sum += kb_value((char *)gp_a.host +
                                2 * (by_columns ? (batch * DEPTH + i) * ROWS + r % ROWS : r * DEPTH + i), t->a) *
                   kb_value((char *)gp_b.host + 2 * ((batch * DEPTH + i) * COLUMNS + c), t->b);
        wrong += kb_value((char *)gp_out.host + 4 * z, CJ_F32) != sum;
    }
    tap_is_uint(wrong, 0, "path %s: more tiles than multiprocessors%s", paths[p].name,
                by_columns ? ", A by columns" : "");
    cj_gemm_free(g);
}

/* -- At once ------------------------------------------------------------------------------------------------------- */

/* One object on all streams, each with a result of its own; a captured launch, many times, by two graphs at once. */
static void at_once(int p)
{
    static const gp_shape s = { 150, 80, 100 };
    const gp_kind *t = &gp_kinds[GP_F16];
    const gp_case c = { t, &gp_layouts[0], &gp_layouts[0], &gp_layouts[0], s };
    size_t bytes = (size_t)s.m * s.n * 2;
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = t->a, .path = paths[p].path, .a_order = CJ_GEMM_ORDER_ROWS,
                                                .b_order = CJ_GEMM_ORDER_ROWS));
    char *first = malloc(bytes);
    cj_gemm_args x = gp_arguments(&c);
    if (!first) tap_bail("no memory");
    gp_fill(&gp_a, t, t->a, false, 0), gp_fill(&gp_b, t, t->b, false, 0);
    kb_blank(&gp_out);
    for (int i = 0; i < 2 * KB_STREAMS; i++) {
        x.out.data = cj_offset(gp_out.data, (int64_t)(bytes * (size_t)(i % KB_STREAMS)));
        kb_is_ok(kb_s[i % KB_STREAMS], cj_gemm_launch(kb_s[i % KB_STREAMS], g, &x), "launch");
    }
    bool guarded = kb_get(&gp_out), same = true;
    memcpy(first, gp_out.host, bytes);
    for (size_t i = 1; i < KB_STREAMS; i++) same = same && memcmp((char *)gp_out.host + bytes * i, first, bytes) == 0;
    tap_ok(guarded && same, "path %s: four streams have the same bits", paths[p].name);
    x.out.data = gp_out.data;
    cj_capture_begin(kb_s[0], CJ_CAPTURE_THREAD);
    cj_gemm_launch(kb_s[0], g, &x);
    cj_graph *graph = cj_capture_end(kb_s[0]);
    cj_graph_exec *x1 = cj_graph_instantiate(graph, NULL), *x2 = cj_graph_instantiate(graph, NULL);
    cj_gemm_free(g);
    kb_blank(&gp_out);
    for (int i = 0; i < (all ? 100 : 5); i++) cj_graph_launch(kb_beside(0), x1), cj_graph_launch(kb_beside(1), x2);
    guarded = kb_get(&gp_out);
    tap_ok(guarded && memcmp(gp_out.host, first, bytes) == 0, "path %s: graphs of one capture too", paths[p].name);
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
        { { .type = CJ_U8, .b_type = CJ_F16, .wide = CJ_F32, .path = CJ_GEMM_WGMMA }, CJ_ENOTSUP,
          "cores multiply elements of one type" },
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
    all = getenv("CUJIT_TEST_ALL") != NULL, cpu = !strcmp(cj_driver_kind(kb_drv), "sim");
    tap_timeout(all ? 3600 : 100);
    gp_begin(all ? GP_MOST : FILLED);
    mistakes();
    for (int p = 0; p < PATHS; p++) {
        bool other = paths[p].path == CJ_GEMM_SCALAR || paths[p].path == CJ_GEMM_AUTO; /* gemms.c has more of them */
        if (!is_there(p)) {
            tap_skip(1, "this device has no path %s", paths[p].name);
            continue;
        }
        each_type(p);
        for (size_t i = 0; i < sizeof fused_cases / sizeof *fused_cases; i++)
            if (all || ((!other || fused_cases[i].out != CJ_F32) && (!tap_is_slow() || i < 2)))
                everything(p, &fused_cases[i]);
        if (!all && other) continue;
        each_layout(p);
        many_stages(p);
        batches(p);
        if (!tap_is_slow()) many_tiles(p, false);
        many_tiles(p, true);
        at_once(p);
    }
    gp_end();
    return kb_close();
}
