/* wgmma (ops_wgmma.h). A matrix in shared memory is read in units of 16 bytes: neighbours in k, or in m or n where
 * these are contiguous. PTX manual, "Shared Memory Matrix Layout". */
#include "sim/exec/ops_wgmma.h"
#include "sim/exec/ops_mem.h"
#include "sim/exec/ops_mma.h"

enum { WGMMA_UNIT = 16, WGMMA_WARPS = 4, WGMMA_K_BYTES = 32, WGMMA_REGISTERS_OF_A = 4, WGMMA_FRACTION = 25,
       WGMMA_F32_KEPT = 23, WGMMA_BYTES_FRACTION = 13 };

/* The value that all lanes have, of 64 bits. False: a fault. */
static bool wgmma_uniform(cji_warp *w, const cji_rec *r, uint32_t offset, const char *what, uint64_t *v)
{
    *v = cji_get(w, CJI_W64, offset, 0);
    for (unsigned i = 1; i < CJI_LANES; i++) {
        uint64_t other = cji_get(w, CJI_W64, offset, i);
        if (other == *v) continue;
        cji_fault(w, r, i, CJI_EXEC_FAULT_SYNC, 0, "has the descriptor 0x%llx of %s in lane %u, and 0x%llx in lane 0",
                  (unsigned long long)other, what, i, (unsigned long long)*v);
        return false;
    }
    return true;
}

static bool wgmma_describe(cji_warp *w, const cji_rec *r, uint32_t offset, const char *what, cji_mma_number type,
                           bool turned, cji_wgmma_matrix *m)
{
    static const uint8_t swizzle[] = { 1, 8, 4, 2 };
    uint64_t v;
    if (!wgmma_uniform(w, r, offset, what, &v)) return false;
    *m = (cji_wgmma_matrix){
        .start = (uint32_t)(v & 0x3fff) * WGMMA_UNIT, .leading = (uint32_t)(v >> 16 & 0x3fff) * WGMMA_UNIT,
        .stride = (uint32_t)(v >> 32 & 0x3fff) * WGMMA_UNIT, .swizzle = swizzle[v >> 62], .turned = turned,
        .each = 8 * WGMMA_UNIT / cji_mma_bits(type)
    };
    if (!(v >> 49 & 7) || m->swizzle == 1) return true;
    cji_fault(w, r, 0, CJI_EXEC_FAULT_SYNC, 0,
              "has the base offset %u in the descriptor 0x%llx of %s: the CPU device wants swizzle patterns that begin "
              "at a multiple of %u bytes", (unsigned)(v >> 49 & 7), (unsigned long long)v, what, m->swizzle * 128);
    return false;
}

/* The unit that begins with element (mn, k). NULL: a fault. */
static const unsigned char *wgmma_unit(cji_warp *w, const cji_rec *r, const cji_wgmma_matrix *m, unsigned mn,
                                       unsigned k)
{
    uint32_t at = m->start, row = m->swizzle * WGMMA_UNIT;
    if (!m->turned) {
        at += mn / 8 * m->stride + mn % 8 * row;
        at += m->swizzle == 1 ? k / m->each * m->leading : k / m->each * WGMMA_UNIT;
    } else {
        unsigned unit = mn / m->each;
        at += m->swizzle == 1 ? unit * m->stride + k / 8 * m->leading
                              : unit / m->swizzle * m->leading + unit % m->swizzle * WGMMA_UNIT + k / 8 * m->stride;
        at += k % 8 * row;
    }
    at ^= (at >> 7 & (m->swizzle - 1)) << 4;   /* of the address: patterns do not begin with the matrix */
    return cji_mem_at(w, r, 0, CJI_SP_SHARED, at, WGMMA_UNIT, false);
}

static uint32_t wgmma_element(const unsigned char *unit, unsigned i, unsigned bits)
{
    uint16_t v2;
    uint32_t v4;
    if (bits == 8) return unit[i];
    if (bits == 16) return memcpy(&v2, unit + 2 * i, 2), v2;
    return memcpy(&v4, unit + 4 * i, 4), v4;
}

/* `size` elements of m or n from `mn` on, and all k, as rows of A (b NULL) or columns of B (a NULL). */
static bool wgmma_read(cji_warp *w, const cji_rec *r, const cji_wgmma_matrix *m, cji_mma_number type, unsigned mn,
                       unsigned size, cji_mma_rows *a, cji_mma_columns *b)
{
    unsigned bits = cji_mma_bits(type), k_all = 8 * WGMMA_K_BYTES / bits, mn_step = m->turned ? m->each : 1,
             k_step = m->turned ? 1 : m->each;
    for (unsigned x = 0; x < size; x += mn_step)
        for (unsigned k = 0; k < k_all; k += k_step) {
            const unsigned char *unit = wgmma_unit(w, r, m, mn + x, k);
            if (!unit) return false;
            for (unsigned i = 0; i < m->each; i++) {
                uint32_t v = wgmma_element(unit, i, bits);
                unsigned at = m->turned ? x + i : x, at_k = m->turned ? k : k + i;
                if (a) cji_mma_put_a(a, at, at_k, type, v);
                else cji_mma_put_b(b, at_k, at, type, v);
            }
        }
    return true;
}

/* ---- The instruction ---- */

static bool wgmma_rows(cji_warp *w, const cji_product *p, const cji_mma_step *s, cji_mma_rows *a)
{
    const cji_rec *r = p->r;
    a->special = 0;
    if (p->registers_of_a)
        cji_mma_fill_a(w, w->p->ext + r->target + r->d2, p->registers_of_a, s->a, CJI_MMA_ROWS, false, a);
    else if (!wgmma_read(w, r, &p->a, s->a, w->index % WGMMA_WARPS * CJI_MMA_ROWS, CJI_MMA_ROWS, a, NULL))
        return false;
    for (unsigned i = 0; r->k & CJI_MM_NEGATE && i < CJI_MMA_ROWS; i++)
        for (unsigned k = 0; k < s->end; k++) a->sig[i][k] = -a->sig[i][k];
    return true;
}

static cji_mma_step wgmma_step(const cji_rec *r)
{
    cji_mma_step s = {
        .a = CJI_MM_A(r->k), .b = CJI_MM_B(r->k), .d = CJI_MM_D(r->k), .rows = CJI_MMA_ROWS,
        .fraction = WGMMA_FRACTION, .kept = WGMMA_F32_KEPT, .saturate = r->k & CJI_MM_SATURATE
    };
    unsigned bits = cji_mma_bits(s.a);
    s.end = (uint8_t)(8 * WGMMA_K_BYTES / bits);
    if (bits == 8) s.fraction = s.kept = WGMMA_BYTES_FRACTION;
    return s;
}

/* Is the warpgroup there, and does one thing? */
static bool wgmma_group(cji_warp *w, const cji_rec *r, uint32_t adds)
{
    uint32_t group = w->index / WGMMA_WARPS, warps = w->blk->nwarp - group * WGMMA_WARPS;
    if (warps < WGMMA_WARPS)
        cji_fault(w, r, 0, CJI_EXEC_FAULT_SYNC, 0, "needs the four warps of warpgroup %u, of which the block has %u",
                  group, warps);
    else if (adds && adds != CJI_FULL)
        cji_fault(w, r, cji_first(~adds), CJI_EXEC_FAULT_SYNC, 0,
                  "has a predicate that holds in lanes 0x%08x alone: whether D is added is one thing for all", adds);
    else return true;
    return false;
}

bool cji_product_begin(cji_warp *w, const cji_rec *r, cji_product *p)
{
    uint32_t adds = *cji_pred(w, r->c);
    *p = (cji_product){ .r = r, .adds = adds, .registers_of_a = r->k & CJI_MM_SHARED_A ? 0 : WGMMA_REGISTERS_OF_A };
    return wgmma_group(w, r, adds) &&
           (p->registers_of_a ||
            wgmma_describe(w, r, r->a, "A", CJI_MM_A(r->k), r->k & CJI_MM_TURN_A, &p->a)) &&
           wgmma_describe(w, r, r->b, "B", CJI_MM_B(r->k), r->k & CJI_MM_TURN_B, &p->b);
}

bool cji_product_compute(cji_warp *w, const cji_product *p)
{
    const cji_rec *r = p->r;
    cji_mma_step s = wgmma_step(r);
    const uint32_t *rd = w->p->ext + r->target;
    unsigned each = s.d == CJI_MMA_F16 ? 2 : 4;    /* registers of 8 columns */
    cji_mma_rows a;
    if (!wgmma_rows(w, p, &s, &a)) return false;
    for (unsigned x = 0; x < r->d2; x += each) {
        cji_mma_columns b;
        uint32_t d[CJI_MMA_ROWS][CJI_MMA_COLUMNS] = { { 0 } };
        b.special = 0;
        if (!wgmma_read(w, r, &p->b, s.b, x / each * CJI_MMA_COLUMNS, CJI_MMA_COLUMNS, NULL, &b)) return false;
        if (p->adds) cji_mma_gather(w, rd + x, s.d, CJI_MMA_ROWS, d);
        cji_mma_tile(&s, &a, &b, d);
        cji_mma_scatter(w, rd + x, s.d, CJI_MMA_ROWS, d);
    }
    return true;
}
