/* An object of cj_gemm with given sizes has the kernels that a launch of these sizes can take, and no other one: each
 * layout, alignment and number of batches finds a kernel, and tiles that sizes rule out are not compiled.  Path mma
 * takes large tiles where they fill the device. */
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm_core.h"
#include "tests/tap.h"

enum { MULTIPROCESSORS = 132 };

static const struct sizes {
    const char *name;
    uint64_t m, n, k;
    unsigned small, large; /* kernels of path mma with tiles of 64 and of 128; beside wgmma one of each is left */
} cases[] = {
    { "open sizes", 0, 0, 0, 5, 5 },
    { "4096 x 4096", 4096, 4096, 4096, 0, 5 },
    { "12 x 11 large tiles", 12 * 128, 11 * 128, 64, 0, 5 },
    { "fewer tiles than multiprocessors", 11 * 128, 11 * 128, 64, 5, 5 },
    { "many rows, columns open", 1 << 20, 0, 0, 5, 5 },
    { "few rows", 64, 4096, 4096, 5, 0 },
    { "few columns", 1 << 20, 17, 0, 5, 0 },
};

static unsigned with_columns(const cjk_gemm *g, uint32_t columns)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->variants; i++) n += g->v[i].path == CJ_GEMM_MMA && g->v[i].columns == columns;
    return n;
}

/* The kernel of a launch by the low bits of `i`: 0 and 1 are set where m is contiguous in A and n in B, 2 where
 * addresses are no multiples of 16.  Rows have `gap` elements between them, by k `k_gap`. */
static uint32_t chosen_by(const cjk_gemm *g, const struct sizes *c, int i, int gap, int k_gap, uint64_t batches)
{
    const int64_t a_ld = i & 1 ? (int64_t)c->m + gap : (int64_t)c->k + k_gap;
    const int64_t b_ld = i & 2 ? (int64_t)c->n + gap : (int64_t)c->k + k_gap;
    const cj_dptr at = { i & 4 ? 4098 : 4096 };
    const cjk_gemm_operand x[3] = {
        { at, c->m, c->k, i & 1 ? 1 : a_ld, i & 1 ? a_ld : 1, 1 << 24 },
        { at, c->n, c->k, i & 2 ? 1 : b_ld, i & 2 ? b_ld : 1, 1 << 24 },
        { at, c->m, c->n, (int64_t)c->n, 1, (int64_t)(c->m * c->n) },
    };
    const char *why = "";
    return cjk_gemm_choose(g, x, batches, &why).variant;
}

/* Launches of the sizes that find no kernel, by every order of A and B, aligned or not. */
static size_t without_kernel(const cjk_gemm *g, const struct sizes *c)
{
    const uint64_t m = c->m ? c->m : 200, n = c->n ? c->n : 300, k = c->k ? c->k : 96;
    static const uint64_t batches[] = { 1, 2, 7, 200 };
    size_t lost = 0;
    for (int i = 0; i < 4 * 2 * 4; i++) {
        const struct sizes z = { .m = m, .n = n, .k = k };
        lost += chosen_by(g, &z, i, 8, 8, batches[i / 8]) >= g->variants;
    }
    return lost;
}

/* The tiles of path mma: large ones if there are as many as multiprocessors, which batches count for. */
static const struct { uint64_t m, n, batches; uint32_t side; } chosen[] = {
    { 65, 65, MULTIPROCESSORS, 128 },     { 65, 65, MULTIPROCESSORS - 1, 64 }, { 64, 200, 1000, 64 },
    { 200, 64, 1000, 64 },                { 129, 128, MULTIPROCESSORS / 2, 128 },
    { 128, 128, MULTIPROCESSORS / 2, 64 }, { 12 * 128, 11 * 128, 1, 128 },     { 11 * 128, 11 * 128, 1, 64 },
};

/* Whether a launch, by every order of A and B, aligned or not, has tiles of that many columns. */
static bool has_side(const cjk_gemm *g, uint64_t m, uint64_t n, uint64_t batches, uint32_t side)
{
    const struct sizes z = { .m = m, .n = n, .k = 96 };
    for (int i = 0; i < 8; i++) {
        const uint32_t v = chosen_by(g, &z, i, 7, 0, batches);
        if (v >= g->variants || g->v[v].path != CJ_GEMM_MMA || g->v[v].columns != side) return false;
    }
    return true;
}

static void choices(const cjk_gemm *g)
{
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        tap_ok(has_side(g, chosen[i].m, chosen[i].n, chosen[i].batches, chosen[i].side),
               "%llu products of %llu x %llu have tiles of %u", (unsigned long long)chosen[i].batches,
               (unsigned long long)chosen[i].m, (unsigned long long)chosen[i].n, chosen[i].side);
}

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int path = CJ_GEMM_MMA; path <= CJ_GEMM_WGMMA; path++) {
            const struct sizes *c = &cases[i];
            cjk_gemm *g = calloc(1, sizeof *g);
            if (!g) tap_bail("no memory");
            g->o = (cj_gemm_opts){ .size = sizeof g->o, .m = c->m, .n = c->n, .k = c->k };
            g->type[CJK_GEMM_A] = g->type[CJK_GEMM_B] = g->type[CJK_GEMM_OUT] = CJ_BF16;
            g->wide = CJ_F32;
            g->multiprocessors = MULTIPROCESSORS;
            for (int s = 0; s < CJK_SPLIT_SIZES; s++) g->clusters[s] = MULTIPROCESSORS >> s;
            if (cjk_gemm_types_fail(g)) tap_bail("no types of tensor cores");
            cjk_gemm_list(g, path);
            const char *beside = path == CJ_GEMM_MMA ? "" : " beside wgmma";
            const unsigned small = path == CJ_GEMM_MMA ? c->small : c->small > 0;
            const unsigned large = path == CJ_GEMM_MMA ? c->large : c->large > 0;
            tap_is_uint(with_columns(g, 64), small, "%s: kernels with tiles of 64%s", c->name, beside);
            tap_is_uint(with_columns(g, 128), large, "%s: kernels with tiles of 128%s", c->name, beside);
            tap_is_uint(without_kernel(g, c), 0, "%s: each layout and number of batches has its kernel%s", c->name,
                        beside);
            if (path == CJ_GEMM_MMA && !c->m && !c->n) choices(g);
            free(g);
        }
    return tap_done();
}
