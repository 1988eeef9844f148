/* The kernels of path scalar of cj_gemm: those by tensor maps (f32 on sm_90), every tile with every layout of A
 * and B, and the one with large tiles for all types, over sizes at the edges of the tile and of its stages.  A
 * launch chooses tiles by the number of multiprocessors; here the test chooses, behind the library's choice (the
 * linker's --wrap).  Sums of small whole numbers are exact; outputs lie between guards and are NaN before. */
#include "kernels/gemm_core.h"
#include "tests/kernels/kernels_bench.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TILES = 8, MOST = 300 * 300, BATCHES = 3, USES_TILES = 3 };

/* -- The choice ---------------------------------------------------------------------------------------------------- */

static struct { uint32_t rows, columns; } wanted, tiles[MOST_TILES];
static uint32_t tile_count, by_tiles, by_others;
static bool takes_large;       /* the kernel for all layouts with large tiles */

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
        if (cjk_gemm_is_large(&g->v[i])) return by_others++, c.variant = i, c;
    if (!cjk_gemm_maps_tiles(v)) return by_others++, c;
    by_tiles++;
    for (uint32_t i = 0; i < g->variants; i++)
        if (g->v[i].rows == wanted.rows && g->v[i].columns == wanted.columns && cjk_gemm_maps_tiles(&g->v[i]) &&
            g->v[i].next[CJK_GEMM_A] == v->next[CJK_GEMM_A] && g->v[i].next[CJK_GEMM_B] == v->next[CJK_GEMM_B])
            return c.variant = i, c;
    tap_bail("there is no tile of %u x %u", wanted.rows, wanted.columns);
    return c;
}

/* The tiles that there are, in the order of the library's list. */
static void list_tiles(void)
{
    cjk_gemm *g = calloc(1, sizeof *g);
    if (!g) tap_bail("no memory");
    g->type[CJK_GEMM_A] = g->type[CJK_GEMM_B] = g->type[CJK_GEMM_OUT] = g->wide = CJ_F32;
    cjk_gemm_list(g, CJK_GEMM_FMA);
    for (uint32_t i = 0; i < g->variants; i++) {
        bool new = cjk_gemm_maps_tiles(&g->v[i]);
        for (uint32_t j = 0; j < tile_count; j++)
            new = new && (tiles[j].rows != g->v[i].rows || tiles[j].columns != g->v[i].columns);
        if (new && tile_count < MOST_TILES)
            tiles[tile_count].rows = g->v[i].rows, tiles[tile_count++].columns = g->v[i].columns;
    }
    free(g);
}

/* -- One product --------------------------------------------------------------------------------------------------- */

static kb_memory a, b, c, out, bias;

/* Rows or columns one behind the other, each at a multiple of `to` elements. */
typedef struct layout { const char *name; bool columns; uint64_t to; } layout;
static const layout layouts[] = { { "rows", false, 4 }, { "columns", true, 4 }, { "odd rows", false, 1 },
                                  { "odd columns", true, 1 } };
enum { ALIGNED_LAYOUTS = 2, LAYOUTS = 4 };

static uint64_t pitch_of(const layout *l, uint64_t rows, uint64_t columns)
{
    uint64_t inner = l->columns ? rows : columns;
    return l->to == 1 ? inner | 1 : (inner + l->to - 1) / l->to * l->to;
}

static size_t place_of(const layout *l, uint64_t rows, uint64_t columns, uint64_t r, uint64_t col)
{
    uint64_t pitch = pitch_of(l, rows, columns);
    return l->columns ? col * pitch + r : r * pitch + col;
}

static size_t extent_of(const layout *l, uint64_t rows, uint64_t columns)
{
    return pitch_of(l, rows, columns) * (l->columns ? columns : rows);
}

static cj_rows rows_of(const kb_memory *m, const layout *l, uint64_t rows, uint64_t columns)
{
    int64_t pitch = (int64_t)pitch_of(l, rows, columns);
    return (cj_rows){ m->data, l->columns ? 1 : pitch, l->columns ? pitch : 1 };
}

/* The elements are f32 in every test but those of the types. */
static cj_type type_a = CJ_F32, type_b = CJ_F32, type_out = CJ_F32;

static double a_at(size_t i) { return kb_value((const char *)a.host + i * kb_size(type_a), type_a); }
static double b_at(size_t i) { return kb_value((const char *)b.host + i * kb_size(type_b), type_b); }
static float f32_at(const kb_memory *m, size_t i) { return ((const float *)m->host)[i]; }

typedef struct product { uint64_t m, n, k, batches; } product;

static cj_gemm_args arguments_of(const product *s, const layout *la, const layout *lb, const layout *lo)
{
    bool more = s->batches > 1;
    return (cj_gemm_args){ .a = rows_of(&a, la, s->m, s->k), .b = rows_of(&b, lb, s->k, s->n),
                           .out = rows_of(&out, lo, s->m, s->n), .m = s->m, .n = s->n, .k = s->k,
                           .batches = s->batches, .a_batch = more ? (int64_t)extent_of(la, s->m, s->k) : 0,
                           .out_batch = more ? (int64_t)extent_of(lo, s->m, s->n) + 4 : 0 };
}

/* The number of wrong elements and of bytes written beside them.  All batches have one B. */
static size_t wrong_in(cj_gemm *g, const product *s, const layout *la, const layout *lb, const layout *lo, bool fused)
{
    cj_gemm_args x = arguments_of(s, la, lb, lo);
    size_t wrong = 0, each = extent_of(lo, s->m, s->n) + 4, used = each * s->batches, size = kb_size(type_out);
    unsigned char *seen = calloc(used, 1), want[8];
    if (!seen || used * size > out.bytes) tap_bail("no memory");
    if (fused) x.alpha = -2, x.beta = 0.5, x.c = (cj_rows){ c.data, 1, CJ_ROWS_SAME }, x.bias = bias.data;
    kb_blank(&out);
    if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") || !kb_get(&out)) wrong++;
    for (uint64_t z = 0; z < s->batches; z++)
        for (uint64_t r = 0; r < s->m; r++)
            for (uint64_t col = 0; col < s->n; col++) {
                double sum = 0;
                size_t at = z * each + place_of(lo, s->m, s->n, r, col);
                for (uint64_t i = 0; i < s->k; i++)
                    sum += a_at(z * (uint64_t)x.a_batch + place_of(la, s->m, s->k, r, i)) *
                           b_at(place_of(lb, s->k, s->n, i, col));
                if (fused) sum = -2 * sum + 0.5 * f32_at(&c, r) + f32_at(&bias, col);
                kb_set(want, type_out, sum);
                wrong += memcmp((char *)out.host + at * size, want, size) != 0;
                seen[at] = 1;
            }
    for (size_t i = 0; i < used * size; i++) wrong += !seen[i / size] && ((unsigned char *)out.host)[i] != 0xFF;
    free(seen);
    if (wrong)
        tap_diag("%zu wrong: A by %s, B by %s, out by %s, %llu x %llu x %llu", wrong, la->name, lb->name, lo->name,
                 (unsigned long long)s->m, (unsigned long long)s->n, (unsigned long long)s->k);
    return wrong;
}

/* -- Tiles and layouts --------------------------------------------------------------------------------------------- */

/* Sizes beside a tile's: rows, columns, k, batches. */
static const struct { int64_t rows, columns; uint64_t k, batches; } edges[] = {
    { 0, 0, 32, 1 }, { 1, -3, 4, 1 }, { -1, 1, 33, 1 }, { -31, -40, 100, 1 }, { -7, -16, 160, BATCHES },
    { -63, -63, 5, 1 },
};
enum { EDGES = sizeof edges / sizeof *edges };

static void each_tile(cj_gemm *g, bool fused)
{
    for (uint32_t t = 0; t < tile_count; t++) {
        size_t wrong = 0, did = 0;
        wanted.rows = tiles[t].rows, wanted.columns = tiles[t].columns;
        by_tiles = by_others = 0;
        for (int i = 0; i < EDGES * ALIGNED_LAYOUTS * ALIGNED_LAYOUTS; i++) {
            int e = i / 4, la = i & 1, lb = i >> 1 & 1, lo = (i + e + fused) % LAYOUTS;
            product s = { (uint64_t)((int64_t)wanted.rows + edges[e].rows),
                          (uint64_t)((int64_t)wanted.columns + edges[e].columns), edges[e].k, edges[e].batches };
            if (tap_is_slow() && i != 20 + (int)t + fused) continue;
            wrong += wrong_in(g, &s, &layouts[la], &layouts[lb], &layouts[lo], fused);
            did++;
        }
        tap_is_uint(wrong, 0, "tiles of %u x %u%s: %zu products are exact", wanted.rows, wanted.columns,
                    fused ? " with alpha, beta, C and bias" : "", did);
        tap_ok(by_tiles == did && !by_others, "... and all of them by tensor maps");
    }
}

/* Rows that do not begin at multiples of 16 bytes, no k: the kernels for all strides. */
static void others(void)
{
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F32));
    static const product s = { 70, 66, 33, 1 }, no_k = { 70, 66, 0, 1 };
    size_t wrong = 0;
    by_tiles = by_others = 0;
    for (int la = 0; la < LAYOUTS; la++)
        for (int lb = 0; lb < LAYOUTS; lb++)
            if ((la >= ALIGNED_LAYOUTS || lb >= ALIGNED_LAYOUTS) && (!tap_is_slow() || la + lb == 3))
                wrong += wrong_in(g, &s, &layouts[la], &layouts[lb], &layouts[la], false);
    wrong += wrong_in(g, &no_k, &layouts[0], &layouts[0], &layouts[0], false);
    tap_is_uint(wrong, 0, "other layouts are exact");
    tap_is_uint(by_tiles, 0, "... and not by tensor maps");
    cj_gemm_free(g);
}

static int whole(size_t i) { return (int)((i * 2654435761u >> 9) % 7) - 3; }

static void fill_whole(kb_memory *m, cj_type t, size_t seed)
{
    for (size_t i = 0; i < MOST; i++) {
        int v = whole(i + seed);
        kb_set((char *)m->host + i * kb_size(t), t, t == CJ_U8 || t == CJ_U32 ? abs(v) : v);
    }
    kb_put(m);
}

/* The kernel with large tiles: types of 32-bit sums, layouts, edges. */
static void large_tiles(void)
{
    static const struct { const char *name; cj_type a, b, out; } types[] = {
        { "f32", CJ_F32, CJ_F32, CJ_F32 }, { "s32", CJ_S32, CJ_S32, CJ_S32 }, { "u8 by u32", CJ_U8, CJ_U32, CJ_U32 },
        { "f16 by f32", CJ_F16, CJ_F32, CJ_F32 }, { "s8 to s16", CJ_S8, CJ_S8, CJ_S16 },
        { "bf16", CJ_BF16, CJ_BF16, CJ_BF16 },
    };
    static const product sizes[] = { { 128, 128, 8, 1 }, { 129, 257, 17, 1 }, { 1, 2, 3, 1 }, { 97, 161, 64, BATCHES },
                                     { 127, 31, 1, 1 }, { 255, 127, 9, 1 } };
    takes_large = true;
    for (size_t t = 0; t < sizeof types / sizeof *types; t += tap_is_slow() ? 3 : 1) {
        size_t wrong = 0, did = 0;
        type_a = types[t].a, type_b = types[t].b, type_out = types[t].out;
        fill_whole(&a, type_a, 0), fill_whole(&b, type_b, 977);
        cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = type_a, .b_type = type_b, .out_type = type_out,
                                                    .path = CJ_GEMM_SCALAR));
        by_others = did = 0;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size_t la = (i + t) % LAYOUTS, lb = (i / 2 + t) % LAYOUTS;
            if (tap_is_slow() && i < 4) continue;
            wrong += wrong_in(g, &sizes[i], &layouts[la], &layouts[lb], &layouts[(i + 2 * t) % LAYOUTS], false);
            did++;
        }
        tap_is_uint(wrong, 0, "large tiles, %s: %zu products are exact", types[t].name, did);
        tap_ok(by_others == did, "... and all of them have large tiles");
        cj_gemm_free(g);
    }
    takes_large = false;
    type_a = type_b = type_out = CJ_F32;
}

/* Sums in the order of k, by multiply-adds: the bits that plain C has. */
static void bits(cj_gemm *g)
{
    static const product s = { 65, 67, 77, 1 };
    size_t wrong = 0;
    for (size_t i = 0; i < MOST; i++)
        ((float *)a.host)[i] = (float)kb_uniform(), ((float *)b.host)[i] = (float)kb_uniform();
    kb_put(&a), kb_put(&b);
    for (uint32_t t = tap_is_slow() ? tile_count - 1 : 0; t < tile_count; t++) {
        cj_gemm_args x = arguments_of(&s, &layouts[0], &layouts[t & 1], &layouts[0]);
        wanted.rows = tiles[t].rows, wanted.columns = tiles[t].columns;
        if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") || !kb_get(&out)) wrong++;
        for (uint64_t r = 0; r < s.m; r++)
            for (uint64_t col = 0; col < s.n; col++) {
                float sum = 0;
                for (uint64_t i = 0; i < s.k; i++)
                    sum = __builtin_fmaf(f32_at(&a, place_of(&layouts[0], s.m, s.k, r, i)),
                                         f32_at(&b, place_of(&layouts[t & 1], s.k, s.n, i, col)), sum);
                wrong += f32_at(&out, place_of(&layouts[0], s.m, s.n, r, col)) != sum;
            }
    }
    tap_is_uint(wrong, 0, "random sums have the bits of multiply-adds in the order of k");
}

/* Kernels by tensor maps. */
static void by_maps(void)
{
    cj_gemm *plain = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F32));
    cj_gemm *fused = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F32, .scaled = 1, .bias = 1));
    list_tiles();
    tap_is_uint(tile_count, USES_TILES, "there are %d tiles", USES_TILES);
    each_tile(plain, false);
    each_tile(fused, true);
    bits(plain);
    cj_gemm_free(plain);
    cj_gemm_free(fused);
}

int main(void)
{
    cj_device_info d = { .size = sizeof d };
    kb_open();
    tap_timeout(300);
    if (cj_device_get_info(kb_dev, &d) != CJ_OK) tap_bail("no device");
    a = kb_take(MOST * 4), b = kb_take(MOST * 4), c = kb_take(4096), out = kb_take(3 * MOST * 4), bias = kb_take(4096);
    for (size_t i = 0; i < 1024; i++)
        kb_set((float *)c.host + i, CJ_F32, whole(i)), kb_set((float *)bias.host + i, CJ_F32, whole(i + 99));
    kb_put(&c), kb_put(&bias);
    large_tiles();
    fill_whole(&a, CJ_F32, 0), fill_whole(&b, CJ_F32, 977);
    others();
    if (d.sm_major * 10 + d.sm_minor == 90) by_maps();
    else tap_skip(1, "the device is no sm_90");
    kb_drop(&a), kb_drop(&b), kb_drop(&c), kb_drop(&out), kb_drop(&bias);
    return kb_close();
}
