/* mma.sync (ops_mma.h). Lane 4 g + t holds elements of rows g and g + 8 of A, C and D, and of column g of B. A register
 * of A or B has E neighbours in k from E t on; the next ones are 4 E further. */
#include "sim/exec/ops_mma.h"
#include "sim/exec/fp_soft.h"
#include "sim/exec/ops_matrix.h"

enum { MMA_FRACTION = 25, MMA_F32_KEPT = 23 };

unsigned cji_mma_bits(cji_mma_number type)
{
    switch (type) {
    case CJI_MMA_F16: case CJI_MMA_BF16: return 16;
    case CJI_MMA_E4M3: case CJI_MMA_E5M2: case CJI_MMA_S8: case CJI_MMA_U8: return 8;
    case CJI_MMA_F64: return 64;
    default: return 32;
    }
}

static const uint32_t *mma_lanes(const cji_warp *w, uint32_t offset)
{
    return (const uint32_t *)(const void *)(w->r + offset);
}

/* ---- C and D ---- */

void cji_mma_gather(const cji_warp *w, const uint32_t *r, cji_mma_number type, unsigned rows,
                    uint32_t c[CJI_MMA_ROWS][CJI_MMA_COLUMNS])
{
    for (unsigned i = 0; i < rows / 8; i++)
        for (unsigned lane = 0; lane < CJI_LANES; lane++) {
            uint32_t *at = &c[lane / 4 + 8 * i][lane % 4 * 2];
            if (type == CJI_MMA_F16) {
                uint32_t v = mma_lanes(w, r[i])[lane];
                at[0] = v & 0xffff;
                at[1] = v >> 16;
            } else {
                at[0] = mma_lanes(w, r[2 * i])[lane];
                at[1] = mma_lanes(w, r[2 * i + 1])[lane];
            }
        }
}

void cji_mma_scatter(cji_warp *w, const uint32_t *r, cji_mma_number type, unsigned rows,
                     uint32_t d[CJI_MMA_ROWS][CJI_MMA_COLUMNS])
{
    for (unsigned i = 0; i < rows / 8; i++)
        for (unsigned lane = 0; lane < CJI_LANES; lane++) {
            const uint32_t *at = &d[lane / 4 + 8 * i][lane % 4 * 2];
            if (type == CJI_MMA_F16) cji_put(w, CJI_W32, r[i], lane, at[0] | at[1] << 16);
            else {
                cji_put(w, CJI_W32, r[2 * i], lane, at[0]);
                cji_put(w, CJI_W32, r[2 * i + 1], lane, at[1]);
            }
        }
}

/* ---- A and B ---- */

/* Where element i of part `half` of a register of lane t of its group belongs. Bytes of floating-point numbers are two
 * products of half precision on an H100: the lower two of each register, then the upper two. */
static unsigned mma_k(bool bytes_as_halves, unsigned t, unsigned i, unsigned half, unsigned each)
{
    return bytes_as_halves ? i / 2 * 16 + half * 8 + t * 2 + i % 2 : (half * 4 + t) * each + i;
}

void cji_mma_fill_a(const cji_warp *w, const uint32_t *r, uint32_t n, cji_mma_number type, unsigned rows, bool halves,
                    cji_mma_rows *a)
{
    unsigned bits = cji_mma_bits(type), each = 32 / bits, two = rows / 8;
    for (uint32_t x = 0; x < n; x++)
        for (unsigned lane = 0; lane < CJI_LANES; lane++) {
            uint32_t v = mma_lanes(w, r[x])[lane];
            for (unsigned i = 0; i < each; i++, v = bits == 32 ? v : v >> bits) {
                unsigned k = mma_k(halves, lane % 4, i, x / two, each), row = lane / 4 + x % two * 8;
                if (halves) cji_mma_put_a(a, row, k, CJI_MMA_F16, cji_mma_half_of(type, v));
                else cji_mma_put_a(a, row, k, type, v);
            }
        }
}

static void mma_fill_b(const cji_warp *w, const uint32_t *r, uint32_t n, cji_mma_number type, bool halves,
                       cji_mma_columns *b)
{
    unsigned bits = cji_mma_bits(type), each = 32 / bits;
    for (uint32_t x = 0; x < n; x++)
        for (unsigned lane = 0; lane < CJI_LANES; lane++) {
            uint32_t v = mma_lanes(w, r[x])[lane];
            for (unsigned i = 0; i < each; i++, v = bits == 32 ? v : v >> bits) {
                unsigned k = mma_k(halves, lane % 4, i, x, each);
                if (halves) cji_mma_put_b(b, k, lane / 4, CJI_MMA_F16, cji_mma_half_of(type, v));
                else cji_mma_put_b(b, k, lane / 4, type, v);
            }
        }
}

/* ---- The instruction ---- */

/* C + (A's lower bytes * B's + A's upper bytes * B's): the last sum is an addition of its own. */
static void mma_bytes(cji_mma_step *s, const cji_mma_rows *a, const cji_mma_columns *b,
                      uint32_t c[CJI_MMA_ROWS][CJI_MMA_COLUMNS])
{
    uint32_t d[CJI_MMA_ROWS][CJI_MMA_COLUMNS] = { { 0 } };
    s->a = s->b = CJI_MMA_F16;
    for (s->k = 0; s->k < CJI_MMA_K; s->k += 16) {
        s->end = (uint8_t)(s->k + 16);
        cji_mma_tile(s, a, b, d);
    }
    for (unsigned i = 0; i < CJI_MMA_ROWS; i++)
        for (unsigned j = 0; j < CJI_MMA_COLUMNS; j++)
            c[i][j] = (uint32_t)cji_fp_add(CJI_FP_F32, c[i][j], d[i][j], CJI_FP_RN);
}

void cji_h_mma(cji_warp *w, const cji_rec *r)
{
    const uint32_t *n = w->p->ext + r->target, *rd = n + 4, *ra = rd + n[0], *rb = ra + n[1], *rc = rb + n[2];
    cji_mma_step s = {
        .a = CJI_MM_A(r->k), .b = CJI_MM_B(r->k), .d = CJI_MM_D(r->k), .rows = r->size, .end = r->count,
        .fraction = MMA_FRACTION, .kept = MMA_F32_KEPT, .saturate = r->k & CJI_MM_SATURATE
    };
    cji_mma_rows a;
    cji_mma_columns b;
    uint32_t c[CJI_MMA_ROWS][CJI_MMA_COLUMNS];
    bool halves = s.a == CJI_MMA_E4M3 || s.a == CJI_MMA_E5M2;
    if (!cji_matrix_whole(w, r)) return;
    a.special = b.special = 0;
    cji_mma_fill_a(w, ra, n[1], s.a, s.rows, halves, &a);
    mma_fill_b(w, rb, n[2], s.b, halves, &b);
    cji_mma_gather(w, rc, s.d, s.rows, c);
    if (halves) mma_bytes(&s, &a, &b, c);
    else cji_mma_tile(&s, &a, &b, c);
    cji_mma_scatter(w, rd, s.d, s.rows, c);
}

/* ---- f64: a chain of fma in the order of k ---- */

static uint64_t mma_wide(const cji_warp *w, uint32_t offset, unsigned lane)
{
    return ((const uint64_t *)(const void *)(w->r + offset))[lane];
}

static uint64_t mma_fma(uint64_t a, uint64_t b, uint64_t c, cji_fp_round round)
{
    double v = __builtin_fma(cji_f64_of(a), cji_f64_of(b), cji_f64_of(c));
    return round == CJI_FP_RN && v == v ? cji_f64_bits(v) : cji_fp_fma(CJI_FP_F64, a, b, c, round);
}

void cji_h_mma_f64(cji_warp *w, const cji_rec *r)
{
    const uint32_t *n = w->p->ext + r->target, *rd = n + 4, *ra = rd + n[0], *rb = ra + n[1], *rc = rb + n[2];
    unsigned two = r->size / 8;
    uint64_t d[4][CJI_LANES];
    if (!cji_matrix_whole(w, r)) return;
    for (unsigned x = 0; x < n[0]; x++)
        for (unsigned lane = 0; lane < CJI_LANES; lane++) {
            uint64_t v = mma_wide(w, rc[x], lane);
            unsigned column = lane % 4 * 2 + x % 2;
            for (unsigned k = 0; k < r->count; k++)
                v = mma_fma(mma_wide(w, ra[k / 4 * two + x / 2], lane / 4 * 4 + k % 4),
                            mma_wide(w, rb[k / 4], column * 4 + k % 4), v, CJI_MM_ROUND_OF(r->k));
            d[x][lane] = v;
        }
    for (unsigned x = 0; x < n[0]; x++)
        for (unsigned lane = 0; lane < CJI_LANES; lane++) cji_put(w, CJI_W64, rd[x], lane, d[x][lane]);
}
