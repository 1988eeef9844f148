/* The large tiles of path mma of cj_gemm, 128 x 128: every type with every class of code, over sizes at the edges of
 * the tile and of its stages.  A launch takes them where they are as many as multiprocessors; here the test chooses,
 * behind the library's choice (the linker's --wrap), and one launch has as many.  Sums of small whole numbers are
 * exact; outputs lie between guards and are NaN before. */
#include "kernels/gemm_core.h"
#include "tests/kernels/gemm_products.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool cpu;

/* -- The choice ---------------------------------------------------------------------------------------------------- */

static bool takes_large;          /* of the kernels for this layout, the one with large tiles */
static size_t with_large, others; /* launches, after that */

cjk_gemm_choice __real_cjk_gemm_choose(const cjk_gemm *g, const cjk_gemm_operand x[3], uint64_t batches,
                                       const char **why);
cjk_gemm_choice __wrap_cjk_gemm_choose(const cjk_gemm *g, const cjk_gemm_operand x[3], uint64_t batches,
                                       const char **why);

cjk_gemm_choice __wrap_cjk_gemm_choose(const cjk_gemm *g, const cjk_gemm_operand x[3], uint64_t batches,
                                       const char **why)
{
    cjk_gemm_choice c = __real_cjk_gemm_choose(g, x, batches, why);
    const cjk_gemm_variant *v = &g->v[c.variant];
    for (uint32_t i = 0; i < g->variants && takes_large; i++)
        if (g->v[i].path == CJ_GEMM_MMA && g->v[i].columns == CJK_MMA_LARGE &&
            g->v[i].next[CJK_GEMM_A] == v->next[CJK_GEMM_A] && g->v[i].next[CJK_GEMM_B] == v->next[CJK_GEMM_B])
            c.variant = i;
    v = &g->v[c.variant];
    if (v->path == CJ_GEMM_MMA && v->rows == CJK_MMA_LARGE) with_large++;
    else others++;
    return c;
}

/* -- Products ------------------------------------------------------------------------------------------------------ */

/* Sizes beside a tile's.  There are four stages of k and a part of one, and room for four. */
static const struct { uint64_t m, n; } sides[] = { { 129, 65 }, { 127, 99 }, { 70, 128 }, { 113, 101 }, { 128, 17 } };
enum { SIDES = sizeof sides / sizeof *sides, STAGE_BYTES = 64 };

static void each_class(size_t t)
{
    const gp_kind *kind = &gp_kinds[t];
    size_t wrong = 0, did = 0;
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = kind->a, .b_type = kind->b, .out_type = kind->out,
                                                .path = CJ_GEMM_MMA, .elements = kind->elements,
                                                .promote = kind->promote));
    gp_fill(&gp_a, kind, kind->a, true, t), gp_fill(&gp_b, kind, kind->b, true, 977);
    with_large = others = 0;
    for (size_t class = 0; class < GP_CLASSES; class++) {
        size_t pairs = 0, pair[GP_LAYOUTS * GP_LAYOUTS];
        for (size_t l = 0; l < GP_LAYOUTS * GP_LAYOUTS; l++)
            if (gp_class(kind, (int)(l % GP_LAYOUTS), (int)(l / GP_LAYOUTS)) == (int)class) pair[pairs++] = l;
        for (size_t i = 0; i < pairs; i++) {
            const size_t turn = 5 * t + 3 * class, side = (turn + i) % SIDES;
            if ((cpu && i != turn % pairs) || (tap_is_slow() && (t + class) % 5)) continue;
            wrong += gp_exact(g, &(const gp_case){
                kind, &gp_layouts[pair[i] % GP_LAYOUTS], &gp_layouts[pair[i] / GP_LAYOUTS],
                &gp_layouts[(turn + i) % (GP_LAYOUTS - 1)],
                { sides[side].m, sides[side].n, (4 * STAGE_BYTES + STAGE_BYTES / 2) / kb_size(kind->a) + 1 } });
            did++;
        }
    }
    if (did) tap_is_uint(wrong, 0, "%s: %zu products of each class of code are exact", kind->name, did);
    if (did) tap_ok(with_large == did && !others, "... and all of them have large tiles");
    cj_gemm_free(g);
}

/* Random numbers: sums in f32 of k products, and the half of a unit of the result's type. */
static void random_error(void)
{
    static const int kinds[] = { GP_F16, GP_BF16, GP_TF32 };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !tap_is_slow(); i++) {
        const gp_kind *t = &gp_kinds[kinds[i]];
        const gp_case c = { t, &gp_layouts[0], &gp_layouts[1], &gp_layouts[2], { 97, 99, 77 } };
        cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = t->a, .out_type = t->out, .path = CJ_GEMM_MMA,
                                                    .elements = t->elements));
        cj_gemm_args x = gp_arguments(&c);
        double worst = 0;
        gp_fill(&gp_a, t, t->a, false, 0), gp_fill(&gp_b, t, t->b, false, 0);
        gp_reference(&c);
        kb_blank(&gp_out);
        bool ok = kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch");
        ok = kb_get(&gp_out) && ok;
        for (uint64_t r = 0; r < c.s.m; r++)
            for (uint64_t col = 0; col < c.s.n; col++) {
                size_t e = r * c.s.n + col, at = gp_place(c.lo, c.s.m, c.s.n, r, col) * kb_size(t->out);
                double half = t->out == CJ_F16 ? 0x1p-11 * fabs(gp_sums[e]) + 0x1p-24 : 0;
                double error = fabs(kb_value((char *)gp_out.host + at, t->out) - gp_sums[e]);
                kb_note_error(&worst, error / ((double)c.s.k * 0x1p-23 * gp_magnitudes[e] + half));
            }
        tap_ok(ok && worst <= 1, "%s: random numbers have %.2g of the error that is allowed", t->name, worst);
        cj_gemm_free(g);
    }
}

/* out = 2 A B - C + bias, C and bias of the result's type. */
static void fused(void)
{
    enum { M = 130, N = 140, K = 40 };
    static const gp_kind kinds[] = { { "bf16", CJ_BF16, CJ_BF16, CJ_BF16, 0, 0 },
                                     { "s8 to s32", CJ_S8, CJ_S8, CJ_S32, 0, 0 } };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const gp_kind *t = &kinds[i];
        const gp_case c = { t, &gp_layouts[0], &gp_layouts[i], &gp_layouts[1], { M, N, K } };
        const size_t size = kb_size(t->out);
        cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = t->a, .out_type = t->out, .path = CJ_GEMM_MMA,
                                                    .scaled = 1, .bias = 1));
        kb_memory add = kb_take(M * N * size), bias = kb_take(N * size);
        size_t wrong = 0;
        gp_fill(&gp_a, t, t->a, true, 5), gp_fill(&gp_b, t, t->b, true, 6);
        for (size_t e = 0; e < M * N; e++) kb_set((char *)add.host + e * size, t->out, (double)(e % 11) - 5);
        for (size_t col = 0; col < N; col++) kb_set((char *)bias.host + col * size, t->out, (double)(col % 5) - 2);
        kb_put(&add), kb_put(&bias), kb_blank(&gp_out);
        cj_gemm_args x = gp_arguments(&c);
        x.c = (cj_rows){ add.data, 0, 0 }, x.bias = bias.data, x.alpha = 2, x.beta = t->out == CJ_S32 ? 3 : -1;
        with_large = others = 0;
        gp_reference(&c);
        if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") || !kb_get(&gp_out)) wrong++;
        for (uint64_t r = 0; r < M; r++)
            for (uint64_t col = 0; col < N; col++) {
                unsigned char want[8];
                const double added = x.beta * ((double)((r * N + col) % 11) - 5) + (double)(col % 5) - 2;
                kb_set(want, t->out, 2 * gp_sums[r * N + col] + added);
                wrong += memcmp((char *)gp_out.host + gp_place(c.lo, M, N, r, col) * size, want, size) != 0;
            }
        tap_is_uint(wrong, 0, "%s: alpha, beta, C and a bias", t->name);
        tap_is_uint(with_large, 1, "... with large tiles");
        cj_gemm_free(g);
        kb_drop(&add), kb_drop(&bias);
    }
}

/* As many products as multiprocessors, of one large tile each: the library chooses them. */
static void fills_the_device(uint64_t products)
{
    enum { M = 113, N = 67, K = 9, A_BY = 16, B_BY = 80 };
    const gp_kind *t = &gp_kinds[GP_F16];
    const uint64_t a_batch = M * A_BY, b_batch = K * B_BY, out_batch = M * N + 5;
    kb_memory a = kb_take(products * a_batch * 2), b = kb_take(products * b_batch * 2);
    kb_memory out = kb_take(products * out_batch * 2);
    size_t wrong = 0;
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F16, .path = CJ_GEMM_MMA));
    for (size_t i = 0; i < products * a_batch; i++) gp_set(t, t->a, (uint16_t *)a.host + i, (double)(i * 5 % 7) - 3);
    for (size_t i = 0; i < products * b_batch; i++) gp_set(t, t->b, (uint16_t *)b.host + i, (double)(i * 3 % 11) - 5);
    kb_put(&a), kb_put(&b), kb_blank(&out);
    cj_gemm_args x = { .a = { a.data, A_BY, 1 }, .b = { b.data, B_BY, 1 }, .out = { out.data, 0, 0 }, .m = M, .n = N,
                       .k = K, .batches = products, .a_batch = (int64_t)a_batch, .b_batch = (int64_t)b_batch,
                       .out_batch = (int64_t)out_batch };
    with_large = others = 0;
    if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") || !kb_get(&out)) wrong++;
    for (size_t z = 0; z < products; z++)
        for (size_t r = 0; r < M; r++)
            for (size_t col = 0; col < N; col++) {
                int sum = 0;
                for (size_t i = 0; i < K; i++)
                    sum += ((int)((z * a_batch + r * A_BY + i) * 5 % 7) - 3) *
                           ((int)((z * b_batch + i * B_BY + col) * 3 % 11) - 5);
                wrong += kb_f16_value(((uint16_t *)out.host)[z * out_batch + r * N + col]) != (float)sum;
            }
    tap_is_uint(wrong, 0, "as many products as multiprocessors");
    tap_is_uint(with_large, 1, "... which the library computes with large tiles");
    cj_gemm_free(g);
    kb_drop(&a), kb_drop(&b), kb_drop(&out);
}

int main(void)
{
    cj_device_info d = { .size = sizeof d };
    kb_open();
    tap_timeout(100);
    if (cj_device_get_info(kb_dev, &d) != CJ_OK) tap_bail("no device");
    cpu = !strcmp(cj_driver_kind(kb_drv), "sim") && !getenv("CUJIT_TEST_ALL");
    if (d.sm_major * 10 + d.sm_minor < 89) return tap_skip(1, "the device has no path mma of all types"), kb_close();
    gp_begin(GP_MOST);
    takes_large = true;
    for (size_t t = 0; t < GP_KINDS; t++)
        if (t != GP_F32 && (!tap_is_slow() || t % 3 == 0)) each_class(t);
    random_error();
    fused();
    takes_large = false;
    if (!tap_is_slow()) fills_the_device((uint64_t)d.multiprocessors);
    gp_end();
    return kb_close();
}
