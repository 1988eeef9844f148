/* Which kernels an object of cj_gemm has, and which of them a launch takes.  Both follow from options, sizes, layouts
 * and addresses alone. */
#include <math.h>
#include <stdio.h>

#include "kernels/gemm_core.h"

/* -- What a path can do -------------------------------------------------------------------------------------------- */

static bool mma_type_of(const cjk_gemm *g, int i, cj_mma_type *out)
{
    if (g->o.elements == CJ_GEMM_ELEMENTS_TF32) return *out = CJ_MMA_TF32, true;
    if (g->o.elements == CJ_GEMM_ELEMENTS_E4M3) return *out = CJ_MMA_E4M3, true;
    switch (g->type[i]) {
    case CJ_F16: return *out = CJ_MMA_F16, true;
    case CJ_BF16: return *out = CJ_MMA_BF16, true;
    case CJ_S8: return *out = CJ_MMA_S8, true;
    case CJ_U8: return *out = CJ_MMA_U8, true;
    default: return false;
    }
}

static bool of_integers(cj_mma_type t) { return t == CJ_MMA_S8 || t == CJ_MMA_U8; }

const char *cjk_gemm_types_fail(cjk_gemm *g)
{
    bool both = mma_type_of(g, CJK_GEMM_A, &g->mma[CJK_GEMM_A]) && mma_type_of(g, CJK_GEMM_B, &g->mma[CJK_GEMM_B]);
    if (!both) return "tensor cores multiply f16, bf16, tf32, e4m3 and 8-bit integers";
    bool whole = of_integers(g->mma[CJK_GEMM_A]);
    if (whole != of_integers(g->mma[CJK_GEMM_B]) || (!whole && g->mma[CJK_GEMM_A] != g->mma[CJK_GEMM_B]))
        return "tensor cores multiply elements of one type";
    if (whole ? g->wide != CJ_S32 && g->wide != CJ_U32 : g->wide != CJ_F32)
        return "tensor cores sum in f32, and 8-bit integers in s32 or u32";
    return NULL;
}

/* -- Making the list ----------------------------------------------------------------------------------------------- */

static void add_variant(cjk_gemm *g, cjk_gemm_variant v)
{
    if (v.path == CJ_GEMM_MMA) cjk_gemm_mma_sizes(&v);
    else if (v.path == CJ_GEMM_WGMMA) cjk_gemm_wgmma_sizes(&v);
    else if (cjk_gemm_maps_tiles(&v)) cjk_gemm_fma_sizes(&v);
    else if (v.path == CJ_GEMM_SCALAR) v.threads = CJK_THREADS, v.shared = 0;
    if (g->variants < CJK_KERNELS) g->v[g->variants++] = v;
}

/* Whether launches may have an operand of that order.  Rows of A, and columns of B, are along k. */
static bool order_allows(const cjk_gemm *g, int i, cjk_next next)
{
    int32_t order = i == CJK_GEMM_A ? g->o.a_order : g->o.b_order;
    bool along_k = (order == CJ_GEMM_ORDER_ROWS) == (i == CJK_GEMM_A);
    return order == CJ_GEMM_ORDER_ANY || along_k == (next == CJK_K_NEXT);
}

/* The same, for tensor cores: ldmatrix and wgmma transpose 16-bit elements. */
static bool may_come(const cjk_gemm *g, int i, cjk_next next)
{
    return (next == CJK_K_NEXT || cjk_size(g->type[i]) == 2) && order_allows(g, i, next);
}

/* Large tiles if they are as many as the device has multiprocessors, and do not lie outside for more than a half. */
static uint32_t mma_side(const cjk_gemm *g, uint64_t m, uint64_t n, uint64_t batches)
{
    uint64_t tiles = cjk_pieces(m, CJK_MMA_LARGE) * cjk_pieces(n, CJK_MMA_LARGE);
    if (m <= CJK_MMA_SMALL || n <= CJK_MMA_SMALL) return CJK_MMA_SMALL;
    return tiles * batches >= g->multiprocessors ? CJK_MMA_LARGE : CJK_MMA_SMALL;
}

/* Both tiles, unless the sizes rule one out.  More batches make more tiles, which are larger then.  `only_any`: beside
 * path wgmma, which takes the layouts that have a kernel of their own. */
static void add_mma(cjk_gemm *g, bool only_any)
{
    bool few = (g->o.m && g->o.m <= CJK_MMA_SMALL) || (g->o.n && g->o.n <= CJK_MMA_SMALL);
    bool many = g->o.m && g->o.n && mma_side(g, g->o.m, g->o.n, 1) == CJK_MMA_LARGE;
    uint32_t least = many ? CJK_MMA_LARGE : CJK_MMA_SMALL;
    for (uint32_t side = few ? CJK_MMA_SMALL : CJK_MMA_LARGE; side >= least; side /= 2) {
        cjk_gemm_variant v = { .path = CJ_GEMM_MMA, .rows = side, .columns = side };
        for (cjk_next a = CJK_K_NEXT; a <= CJK_OUTER_NEXT && !only_any; a++)
            for (cjk_next b = CJK_K_NEXT; b <= CJK_OUTER_NEXT; b++) {
                if (!may_come(g, CJK_GEMM_A, a) || !may_come(g, CJK_GEMM_B, b)) continue;
                v.next[CJK_GEMM_A] = a, v.next[CJK_GEMM_B] = b;
                add_variant(g, v);
            }
        v.next[CJK_GEMM_A] = v.next[CJK_GEMM_B] = CJK_ANY_NEXT;
        add_variant(g, v);
    }
}

/* The widths of tiles of path wgmma, and how fast each is, in percent. */
static const struct { uint32_t columns; double speed; } widths[] = {
    { 256, 100 }, { 240, 99 }, { 224, 99 }, { 192, 100 }, { 128, 93 }, { 64, 55 },
};
enum { WIDTHS = sizeof widths / sizeof *widths };

/* How long a tile takes for 128 bytes of k, in columns of full speed.  64 rows take as long as 128 in twice as many
 * columns: they are for products that have no more rows, or too few tiles. */
static double cost_of_tile(const cjk_gemm_variant *v)
{
    if (v->split) return v->columns == 64 ? 66 : 115;
    for (uint32_t i = 0; i < WIDTHS; i++)
        if (widths[i].columns == v->columns) return v->columns * 100 / widths[i].speed;
    return v->columns;
}

/* What it costs to start clusters of 1, 2, 4 and 8 blocks that wait for one another, in the same unit (one to eight
 * microseconds), and to start blocks where others have ended. */
static const double split_costs[CJK_SPLIT_SIZES] = { 0, 425, 1300, 3400 };
enum { NEXT_BLOCKS = 425, GRID_MOST = 65535 /* blocks in y and z */ };

typedef struct product { uint64_t m, n, k, batches; } product;

/* How long a product takes: the tiles that the busiest multiprocessor has, and the time of each.  *blocks: of a
 * cluster, so many that it takes the least. */
static double cost_of(const cjk_gemm *g, const cjk_gemm_variant *v, const product *p, uint32_t *blocks)
{
    if (v->split && (cjk_pieces(p->m, v->rows) > GRID_MOST || p->batches > GRID_MOST)) return *blocks = 1, HUGE_VAL;
    uint64_t rounds = cjk_pieces(p->k * cjk_size(g->type[CJK_GEMM_A]), 128);
    uint64_t tiles = cjk_pieces(p->m, v->rows) * cjk_pieces(p->n, v->columns) * p->batches;
    double best = (double)(cjk_pieces(tiles, g->multiprocessors) * rounds) * cost_of_tile(v);
    *blocks = 1;
    if (!v->split) return best;
    best += (double)(cjk_pieces(tiles, g->multiprocessors) - 1) * NEXT_BLOCKS;
    for (uint32_t i = 1; i < CJK_SPLIT_SIZES && UINT64_C(1) << i <= rounds; i++) {
        if (!g->clusters[i]) continue;
        double turns = (double)cjk_pieces(tiles, g->clusters[i]), steps = (double)cjk_pieces(rounds, UINT64_C(1) << i);
        double cost = turns * steps * cost_of_tile(v) + split_costs[i] + (turns - 1) * NEXT_BLOCKS;
        if (cost < best) best = cost, *blocks = 1u << i;
    }
    return best;
}

/* Whether path wgmma has a variant: columns that are contiguous come in boxes of 64; with promote a thread has two sets
 * of accumulators, so there are no registers for more than 192 columns; few rows of A are copied as rows. */
static bool has_variant(const cjk_gemm *g, const cjk_gemm_variant *v)
{
    if (v->next[CJK_GEMM_B] == CJK_OUTER_NEXT && v->columns % 64) return false;
    if (g->o.promote && v->columns > 192) return false;
    return !v->split || v->next[CJK_GEMM_A] == CJK_K_NEXT;
}

/* The variants for one order of A and B; if the sizes are known, the fastest one.  A split one has a substitute, for
 * more batches than a grid has blocks in z. */
static void add_wgmma_of(cjk_gemm *g, cjk_next a, cjk_next b)
{
    const product p = { g->o.m, g->o.n, g->o.k ? g->o.k : 4096, 1 };
    cjk_gemm_variant best = { .columns = 0 };
    double cost = 0;
    for (uint32_t i = 0; i <= WIDTHS; i++) {
        bool split = i == WIDTHS;
        cjk_gemm_variant v = { .path = CJ_GEMM_WGMMA, .rows = split ? CJK_SPLIT_ROWS : CJK_WGMMA_ROWS,
                               .columns = split ? b == CJK_K_NEXT ? 64 : 128 : widths[i].columns, .next = { a, b },
                               .split = split };
        uint32_t blocks;
        if (!has_variant(g, &v)) continue;
        if (!p.m || !p.n) {
            add_variant(g, v);
            continue;
        }
        double c = cost_of(g, &v, &p, &blocks);
        if (!best.columns || c < cost) best = v, cost = c;
    }
    if (!best.columns) return;
    add_variant(g, best);
    if (best.split) add_variant(g, (cjk_gemm_variant){ .path = CJ_GEMM_WGMMA, .rows = CJK_WGMMA_ROWS, .columns = 64,
                                                       .next = { a, b } });
}

static void add_wgmma(cjk_gemm *g)
{
    for (cjk_next a = CJK_K_NEXT; a <= CJK_OUTER_NEXT; a++)
        for (cjk_next b = CJK_K_NEXT; b <= CJK_OUTER_NEXT; b++)
            if (may_come(g, CJK_GEMM_A, a) && may_come(g, CJK_GEMM_B, b)) add_wgmma_of(g, a, b);
}

/* The tiles of f32 by tensor maps, and how fast each is, in percent. */
static const struct fma_tile_speed { uint32_t rows, columns, speed; } fma_tiles[] = {
    { 128, 256, 100 }, { 96, 96, 85 }, { 64, 64, 65 },
};
enum { FMA_TILES = sizeof fma_tiles / sizeof *fma_tiles };

static uint64_t fma_cost(const cjk_gemm *g, const struct fma_tile_speed *t, uint64_t m, uint64_t n, uint64_t batches)
{
    uint64_t tiles = cjk_pieces(m, t->rows) * cjk_pieces(n, t->columns) * batches;
    return cjk_pieces(tiles, g->multiprocessors) * t->rows * t->columns * 100 / t->speed;
}

static const struct fma_tile_speed *best_fma(const cjk_gemm *g, uint64_t m, uint64_t n, uint64_t batches)
{
    const struct fma_tile_speed *best = fma_tiles;
    for (uint32_t i = 1; i < FMA_TILES; i++)
        if (fma_cost(g, &fma_tiles[i], m, n, batches) < fma_cost(g, best, m, n, batches)) best = &fma_tiles[i];
    return best;
}

static void add_fma(cjk_gemm *g)
{
    const struct fma_tile_speed *best = g->o.m && g->o.n ? best_fma(g, g->o.m, g->o.n, 1) : NULL;
    for (uint32_t i = 0; i < FMA_TILES; i++) {
        cjk_gemm_variant v = { .path = CJ_GEMM_SCALAR, .rows = fma_tiles[i].rows, .columns = fma_tiles[i].columns };
        for (cjk_next a = CJK_K_NEXT; a <= CJK_OUTER_NEXT; a++)
            for (cjk_next b = CJK_K_NEXT; b <= CJK_OUTER_NEXT; b++) {
                if (best && best != &fma_tiles[i]) continue;
                if (!order_allows(g, CJK_GEMM_A, a) || !order_allows(g, CJK_GEMM_B, b)) continue;
                v.next[CJK_GEMM_A] = a, v.next[CJK_GEMM_B] = b;
                add_variant(g, v);
            }
    }
}

static void add_scalar(cjk_gemm *g)
{
    if (cjk_size(g->wide) == 4 && g->o.path != CJ_GEMM_WGMMA)
        add_variant(g, (cjk_gemm_variant){ .path = CJ_GEMM_SCALAR, .rows = CJK_SCALAR_LARGE,
                                           .columns = CJK_SCALAR_LARGE, .next = { CJK_ANY_NEXT, CJK_ANY_NEXT } });
    add_variant(g, (cjk_gemm_variant){ .path = CJ_GEMM_SCALAR, .rows = CJK_SCALAR_TILE, .columns = CJK_SCALAR_TILE,
                                       .next = { CJK_ANY_NEXT, CJK_ANY_NEXT } });
}

/* Launches that wgmma cannot serve take mma; if wgmma is forced, only products over no k at all are left to others. */
void cjk_gemm_list(cjk_gemm *g, int path)
{
    g->variants = 0;
    if (path == CJK_GEMM_FMA) add_fma(g);
    if (path == CJ_GEMM_WGMMA) add_wgmma(g);
    if (path == CJ_GEMM_MMA || (path == CJ_GEMM_WGMMA && g->o.path == CJ_GEMM_AUTO)) add_mma(g, path != CJ_GEMM_MMA);
    else add_scalar(g);
}

void cjk_gemm_name(const cjk_gemm_variant *v, char name[CJK_GEMM_NAME])
{
    static const char *const orders[] = { [CJK_K_NEXT] = "k", [CJK_OUTER_NEXT] = "t" };
    const char *path = v->split ? "split" : v->path == CJ_GEMM_WGMMA ? "wgmma" : "mma";
    bool any = v->next[CJK_GEMM_A] == CJK_ANY_NEXT;
    if (v->path == CJ_GEMM_SCALAR && any)
        snprintf(name, CJK_GEMM_NAME, v->rows == CJK_SCALAR_LARGE ? "cj_gemm_scalar_large" : "cj_gemm_scalar");
    else if (v->path == CJ_GEMM_SCALAR)
        snprintf(name, CJK_GEMM_NAME, "cj_gemm_fma_%ux%u_%s%s", v->rows, v->columns, orders[v->next[CJK_GEMM_A]],
                 orders[v->next[CJK_GEMM_B]]);
    else if (any) snprintf(name, CJK_GEMM_NAME, "cj_gemm_mma_%u_any", v->columns);
    else snprintf(name, CJK_GEMM_NAME, "cj_gemm_%s_%u_%s%s", path, v->columns, orders[v->next[CJK_GEMM_A]],
                  orders[v->next[CJK_GEMM_B]]);
}

/* -- Choosing ------------------------------------------------------------------------------------------------------ */

static bool in_units(int64_t elements, size_t size) { return (uint64_t)elements * size % 16 == 0; }

/* How an operand lies: CJK_ANY_NEXT unless units of 16 bytes can be copied. */
static cjk_next next_of(const cjk_gemm_operand *x, size_t size)
{
    if (x->data.addr % 16 || !in_units(x->by_batch, size)) return CJK_ANY_NEXT;
    if ((x->by_k == 1 || x->k <= 1) && (in_units(x->by_outer, size) || x->outer <= 1)) return CJK_K_NEXT;
    if ((x->by_outer == 1 || x->outer <= 1) && (in_units(x->by_k, size) || x->k <= 1)) return CJK_OUTER_NEXT;
    return CJK_ANY_NEXT;
}

/* The variant of a path, for tiles of `columns` columns: that of the layouts, else the one for any. */
static uint32_t find_variant(const cjk_gemm *g, cj_gemm_path path, uint32_t columns, const cjk_next next[2])
{
    uint32_t any = CJK_KERNELS;
    for (uint32_t i = 0; i < g->variants; i++) {
        const cjk_gemm_variant *v = &g->v[i];
        if (v->path != path || v->columns != columns) continue;
        if (v->next[CJK_GEMM_A] == next[CJK_GEMM_A] && v->next[CJK_GEMM_B] == next[CJK_GEMM_B]) return i;
        if (v->next[CJK_GEMM_A] == CJK_ANY_NEXT) any = i;
    }
    return any;
}

/* Whether a tensor map can be made: distances are positive and below 2^40 bytes. */
static bool map_fits(const cjk_gemm_operand *x, cjk_next next, size_t size)
{
    int64_t most = ((int64_t)1 << 40) / (int64_t)size, by = next == CJK_K_NEXT ? x->by_outer : x->by_k;
    bool one = (next == CJK_K_NEXT ? x->outer : x->k) <= 1;
    return next != CJK_ANY_NEXT && (one || (by > 0 && by < most)) && x->by_batch >= 0 && x->by_batch < most;
}

/* Whether path wgmma stores the result by a tensor map.  The hardware writes whole units of 16 bytes, also at the end
 * of a row, so rows are made of such units. */
static bool map_stores(const cjk_gemm *g, const cjk_gemm_operand *out, cjk_next next)
{
    size_t size = cjk_size(g->type[CJK_GEMM_OUT]);
    return g->by_map && next == CJK_K_NEXT && map_fits(out, CJK_K_NEXT, size) && in_units((int64_t)out->k, size);
}

static cjk_gemm_choice choose_wgmma(const cjk_gemm *g, const cjk_gemm_operand x[3], uint64_t batches,
                                    const cjk_next next[3], const char **why)
{
    const product p = { x[CJK_GEMM_A].outer, x[CJK_GEMM_B].outer, x[CJK_GEMM_A].k, batches };
    cjk_gemm_choice best = { .variant = CJK_KERNELS, .blocks = 1 };
    double cost = 0;
    for (int i = 0; i < 2; i++)
        if (!map_fits(&x[i], next[i], cjk_size(g->type[i]))) return best;
    for (uint32_t i = 0; i < g->variants; i++) {
        const cjk_gemm_variant *v = &g->v[i];
        uint32_t blocks;
        if (v->path != CJ_GEMM_WGMMA || v->next[CJK_GEMM_A] != next[CJK_GEMM_A] ||
            v->next[CJK_GEMM_B] != next[CJK_GEMM_B]) continue;
        double c = cost_of(g, v, &p, &blocks);
        if (best.variant == CJK_KERNELS || c < cost) best.variant = i, best.blocks = blocks, cost = c;
    }
    if (best.variant == CJK_KERNELS) return best;
    const cjk_gemm_variant *v = &g->v[best.variant];
    if (cjk_pieces(p.m, v->rows) * cjk_pieces(p.n, v->columns) * best.blocks > INT32_MAX / batches)
        *why = "the product has more tiles than path wgmma counts", best.variant = CJK_KERNELS;
    return best;
}

/* Of the kernels for anything, which are the last two: the one with large tiles if they are as many as the device has
 * multiprocessors. */
static uint32_t choose_any(const cjk_gemm *g, uint64_t m, uint64_t n, uint64_t k, uint64_t batches)
{
    uint32_t last = g->variants - 1;
    uint64_t tiles = cjk_pieces(m, CJK_SCALAR_LARGE) * cjk_pieces(n, CJK_SCALAR_LARGE);
    bool fills = tiles * batches >= g->multiprocessors && m > CJK_SCALAR_TILE && n > CJK_SCALAR_TILE;
    return last && cjk_gemm_is_large(&g->v[last - 1]) && fills && k ? last - 1 : last;
}

/* The kernel by tensor maps, where A and B allow them; else one for anything. */
static uint32_t choose_scalar(const cjk_gemm *g, const cjk_gemm_operand x[3], uint64_t batches)
{
    uint64_t m = x[CJK_GEMM_A].outer, n = x[CJK_GEMM_B].outer, k = x[CJK_GEMM_A].k;
    const struct fma_tile_speed *t = best_fma(g, m, n, g->o.m && g->o.n ? 1 : batches);
    uint32_t any = choose_any(g, m, n, k, batches);
    cjk_next next[2];
    if (!k || cjk_pieces(m, t->rows) * cjk_pieces(n, t->columns) > INT32_MAX / batches) return any;
    for (int i = 0; i < 2; i++) {
        next[i] = next_of(&x[i], cjk_size(g->type[i]));
        if (!map_fits(&x[i], next[i], cjk_size(g->type[i]))) return any;
    }
    for (uint32_t i = 0; i < g->variants; i++)
        if (g->v[i].rows == t->rows && g->v[i].columns == t->columns && g->v[i].next[CJK_GEMM_A] == next[CJK_GEMM_A] &&
            g->v[i].next[CJK_GEMM_B] == next[CJK_GEMM_B])
            return i;
    return any;
}

cjk_gemm_choice cjk_gemm_choose(const cjk_gemm *g, const cjk_gemm_operand x[3], uint64_t batches, const char **why)
{
    cjk_next next[3];
    cjk_gemm_choice c = { .variant = 0, .blocks = 1 };
    if (g->v[0].path == CJ_GEMM_SCALAR) return c.variant = choose_scalar(g, x, batches), c;
    for (int i = 0; i < 3; i++) next[i] = next_of(&x[i], cjk_size(g->type[i]));
    if (g->v[0].path == CJ_GEMM_WGMMA) {
        c.variant = CJK_KERNELS;
        if (x[CJK_GEMM_A].k) c = choose_wgmma(g, x, batches, next, why);
        c.by_map = map_stores(g, &x[CJK_GEMM_OUT], next[CJK_GEMM_OUT]);
        if (c.variant < CJK_KERNELS) return c;
        if (g->v[g->variants - 1].path == CJ_GEMM_SCALAR) {
            if (!x[CJK_GEMM_A].k) c.variant = g->variants - 1;
            return c;
        }
    }
    c.variant = find_variant(g, CJ_GEMM_MMA, mma_side(g, x[CJK_GEMM_A].outer, x[CJK_GEMM_B].outer, batches), next);
    return c;
}

/* -- What does not fit --------------------------------------------------------------------------------------------- */

/* What is wrong with the distance of rows, columns or batches, for map_fits; false: nothing. */
static bool distance_fault(const char *of, int64_t by, size_t size, char *what, size_t bytes, const char **more)
{
    const long long elements = by, most = ((long long)1 << 40) / (long long)size;
    *more = by <= 0 ? ", upwards" : by >= most ? ", below 2^40" : "";
    if (!by) snprintf(what, bytes, "all %s are in one place (CJ_ROWS_SAME)", of);
    else if (by < 0 || by >= most) snprintf(what, bytes, "%s are %lld elements apart", of, elements);
    else snprintf(what, bytes, "%s are %lld elements (%lld bytes) apart", of, elements, elements * (long long)size);
    return **more || !in_units(by, size);
}

/* What keeps a tensor map from being made of operand `i`; false: nothing. */
static bool place_misfit(const cjk_gemm *g, int i, const cjk_gemm_operand *x, char *text, size_t bytes)
{
    const bool of_a = i == CJK_GEMM_A;
    const size_t size = cjk_size(g->type[i]);
    const int64_t stride = of_a ? x->by_outer : x->by_k, step = of_a ? x->by_k : x->by_outer;
    const uint64_t rows = of_a ? x->outer : x->k, columns = of_a ? x->k : x->outer;
    const bool by_rows = step == 1 || columns <= 1, by_columns = stride == 1 || rows <= 1;
    const char *more = "";
    char what[100];
    if (map_fits(x, next_of(x, size), size)) return false;
    if (x->data.addr % 16)
        snprintf(what, sizeof what, "the address is %d bytes behind a multiple of 16", (int)(x->data.addr % 16));
    else if (!by_rows && !by_columns)
        more = ", and neighbours along a row or a column",
        snprintf(what, sizeof what, "columns are %lld elements apart and rows %lld", (long long)step,
                 (long long)stride);
    else if (!(by_rows && rows > 1 && distance_fault("rows", stride, size, what, sizeof what, &more)) &&
             !(!by_rows && columns > 1 && distance_fault("columns", step, size, what, sizeof what, &more)))
        distance_fault("batches", x->by_batch, size, what, sizeof what, &more);
    snprintf(text, bytes, "%s: %s; path wgmma wants an address and distances of multiples of 16 bytes%s; "
             "CJ_GEMM_AUTO serves it", of_a ? "a" : "b", what, more);
    return true;
}

const char *cjk_gemm_misfit(const cjk_gemm *g, const cjk_gemm_operand x[3], char *text, size_t bytes)
{
    for (int i = 0; i < 2; i++)
        if (place_misfit(g, i, &x[i], text, bytes)) return text;
    for (int i = 0; i < 2; i++) {
        const cjk_next next = next_of(&x[i], cjk_size(g->type[i]));
        const char *name = i == CJK_GEMM_A ? "a" : "b";
        const char *along = (next == CJK_K_NEXT) == (i == CJK_GEMM_A) ? "row" : "column";
        const char *other = *along == 'r' ? "column" : "row";
        if (may_come(g, i, next)) continue;
        if (order_allows(g, i, next))
            snprintf(text, bytes, "%s: neighbours are along a %s; path wgmma wants those of 8-bit and tf32 elements "
                     "along a %s; CJ_GEMM_AUTO serves it", name, along, other);
        else
            snprintf(text, bytes, "%s: neighbours are along a %s, and %s_order has them along a %s; "
                     "CJ_GEMM_ORDER_ANY is for both", name, along, name, other);
        return text;
    }
    return "path wgmma has no code for this order of a and b";
}
