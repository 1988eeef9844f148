/* Decoding: matrices of a warp. */
#include "sim/exec/decode.h"
#include "sim/exec/ops_matrix.h"
#include "sim/exec/ops_mma.h"
#include "sim/exec/ops_wgmma.h"

enum { DMX_MOST = 128 };       /* registers of an operand: D of wgmma */

typedef struct dmx_list { uint32_t n, off[DMX_MOST]; } dmx_list;

/* An operand's registers of `bits` bits; a vector of one may be its element. */
static bool dmx_registers(cji_dec *d, uint32_t word, unsigned bits, bool is_float, bool result, dmx_list *list)
{
    const uint32_t *part = &word;
    list->n = 1;
    if (cji_word_kind(word) == CJI_K_VEC) part = cji_fn_words(d->f, word, &list->n);
    if (list->n > DMX_MOST) return cji_dec_unsupported(d);
    for (uint32_t i = 0; i < list->n; i++) {
        unsigned w = cji_dec_width(bits);
        cji_dec_place p = result ? cji_dec_dst(d, part[i], w) : cji_dec_src(d, part[i], bits, is_float);
        if (p.w != w) return cji_dec_unsupported(d);
        list->off[i] = p.off;
    }
    return true;
}

/* The places behind each other. */
static void dmx_places(cji_dec *d, const dmx_list *list)
{
    for (uint32_t i = 0; i < list->n; i++) cji_dec_ext(d, list->off[i]);
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */

static unsigned dmx_space(cji_dec *d)
{
    return cji_dec_has(d, CJI_W_SHARED) || cji_dec_has(d, CJI_W_SHARED__CTA) ? CJI_SP_SHARED : CJI_SP_GENERIC;
}

/* ldmatrix, sync, aligned, m8n8, x1, ... b16 */
static bool dmx_move(cji_dec *d, bool store)
{
    cji_dec_mem_operand o;
    dmx_list list;
    cji_dec_op_words(d, 5);
    cji_dec_type_at(d, 0);
    if (!cji_dec_address(d, cji_dec_word(d, store ? 0 : 1), dmx_space(d), &o) ||
        !dmx_registers(d, cji_dec_word(d, store ? 1 : 0), 32, false, !store, &list))
        return true;
    uint32_t at = (uint32_t)d->p->next;
    dmx_places(d, &list);
    cji_rec *r = cji_dec_emit(d, store ? cji_h_stmatrix : cji_h_ldmatrix);
    cji_dec_put_address(r, &o);
    r->flags |= CJI_MF_ALIGNED;
    r->count = (uint8_t)list.n;
    r->target = at;
    r->k = cji_dec_has(d, CJI_W_TRANS) ? CJI_MX_TRANSPOSED : 0;
    return true;
}

static bool dmx_transpose(cji_dec *d)
{
    cji_dec_place a = cji_dec_src(d, cji_dec_word(d, 1), 32, false), dst = cji_dec_dst(d, cji_dec_word(d, 0), CJI_W32);
    cji_dec_op_words(d, 5);    /* movmatrix, sync, aligned, m8n8, trans */
    cji_dec_type_at(d, 0);
    if (a.w != CJI_W32 || dst.w != CJI_W32) return cji_dec_unsupported(d), true;
    cji_rec *r = cji_dec_emit(d, cji_h_movmatrix);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, a);
    r->flags |= CJI_MF_ALIGNED;
    return true;
}

/* ---- mma.sync ---- */

/* Word i of the spelling as a type. False: of no matrix that is executed. */
static bool dmx_type(cji_dec *d, uint32_t i, cji_mma_number *type)
{
    static const struct { uint16_t word; cji_mma_number type; } types[] = {
        { CJI_W_F16, CJI_MMA_F16 }, { CJI_W_BF16, CJI_MMA_BF16 }, { CJI_W_TF32, CJI_MMA_TF32 },
        { CJI_W_E4M3, CJI_MMA_E4M3 }, { CJI_W_E5M2, CJI_MMA_E5M2 }, { CJI_W_S8, CJI_MMA_S8 }, { CJI_W_U8, CJI_MMA_U8 },
        { CJI_W_F32, CJI_MMA_F32 }, { CJI_W_S32, CJI_MMA_S32 }, { CJI_W_F64, CJI_MMA_F64 }
    };
    for (size_t j = 0; j < sizeof types / sizeof *types; j++)
        if (types[j].word == d->e->isa->word[i]) return d->used |= UINT32_C(1) << i, *type = types[j].type, true;
    return false;
}

static bool dmx_shape(cji_dec *d, uint8_t *rows, uint8_t *k)
{
    static const struct { uint16_t word; uint8_t rows, k; } shapes[] = {
        { CJI_W_M16N8K4, 16, 4 }, { CJI_W_M16N8K8, 16, 8 }, { CJI_W_M16N8K16, 16, 16 }, { CJI_W_M16N8K32, 16, 32 },
        { CJI_W_M8N8K4, 8, 4 }, { CJI_W_M8N8K16, 8, 16 }
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (cji_dec_has(d, shapes[i].word)) return *rows = shapes[i].rows, *k = shapes[i].k, true;
    return false;
}

static uint32_t dmx_round(cji_dec *d)
{
    static const cji_dec_choice modes[] = {
        { CJI_W_RN, CJI_FP_RN }, { CJI_W_RZ, CJI_FP_RZ }, { CJI_W_RM, CJI_FP_RM }, { CJI_W_RP, CJI_FP_RP }, { 0, 0 }
    };
    return cji_dec_choose(d, modes, CJI_FP_RN);
}

/* mma, sync, aligned, shape, row, col, ..., types of D, A, B and C */
static bool dmx_multiply(cji_dec *d)
{
    cji_mma_number type[4] = { CJI_MMA_F16 };
    uint8_t rows = 0, k = 0;
    uint32_t last = d->e->isa->nwords - 4u;
    bool known = dmx_shape(d, &rows, &k);
    for (uint32_t i = 0; i < 4; i++) known &= dmx_type(d, last + i, &type[i]);
    /* a quarter of the warp for each of four products: of sm_70 */
    if (!known || type[0] != type[3] || (rows == 8 && k == 4 && type[0] != CJI_MMA_F64))
        return cji_dec_unsupported(d), true;
    bool wide = type[0] == CJI_MMA_F64;
    dmx_list list[4];
    for (uint32_t i = 0; i < 4; i++)
        if (!dmx_registers(d, cji_dec_word(d, i), wide ? 64 : 32, type[0] != CJI_MMA_S32 && (i == 3 || wide), !i,
                           &list[i]))
            return true;
    cji_dec_op_words(d, 6);
    uint32_t at = (uint32_t)d->p->next;
    for (uint32_t i = 0; i < 4; i++) cji_dec_ext(d, list[i].n);
    for (uint32_t i = 0; i < 4; i++) dmx_places(d, &list[i]);
    cji_rec *r = cji_dec_emit(d, wide ? cji_h_mma_f64 : cji_h_mma);
    r->flags |= CJI_MF_ALIGNED;
    r->size = rows;
    r->count = k;
    r->target = at;
    r->k = CJI_MM(type[1], type[2], type[0]) | (wide ? CJI_MM_ROUND(dmx_round(d)) : 0);
    if (cji_dec_has(d, CJI_W_SATFINITE)) r->k |= CJI_MM_SATURATE;
    return true;
}

/* ---- wgmma ---- */

/* Operand i as a literal. */
static int64_t dmx_literal(const cji_dec *d, uint32_t i)
{
    return (int64_t)d->f->lit[cji_word_index(cji_dec_word(d, i))].bits;
}

/* Operands behind the predicate: the signs of A and B, then whether m or n is contiguous in those that are in shared
 * memory and have 16 bits. */
static uint32_t dmx_literals(cji_dec *d, cji_mma_number type, bool shared_a)
{
    uint32_t i = 4, k = 0;
    if (type == CJI_MMA_S8 || type == CJI_MMA_U8) return 0;
    if (dmx_literal(d, i) < 0) k ^= CJI_MM_NEGATE;
    if (dmx_literal(d, i + 1) < 0) k ^= CJI_MM_NEGATE;
    i += 2;
    if (cji_mma_bits(type) != 16) return k;
    if (shared_a && dmx_literal(d, i++)) k |= CJI_MM_TURN_A;
    return dmx_literal(d, i) ? k | CJI_MM_TURN_B : k;
}

/* wgmma, mma_async, sync, aligned, shape, ..., types of D, A and B */
static bool dmx_warpgroup(cji_dec *d)
{
    cji_mma_number type[3] = { CJI_MMA_F16 };
    uint32_t last = d->e->isa->nwords - 3u;
    bool shared_a = cji_word_kind(cji_dec_word(d, 1)) != CJI_K_VEC;
    dmx_list result, rows = { 0 };
    cji_dec_place a = { 0, 0 };
    for (uint32_t i = 0; i < 3; i++)
        if (!dmx_type(d, last + i, &type[i])) return cji_dec_unsupported(d), true;
    if (!dmx_registers(d, cji_dec_word(d, 0), 32, false, true, &result)) return true;
    if (shared_a) a = cji_dec_src(d, cji_dec_word(d, 1), 64, false);
    else if (!dmx_registers(d, cji_dec_word(d, 1), 32, false, false, &rows)) return true;
    cji_dec_place b = cji_dec_src(d, cji_dec_word(d, 2), 64, false);
    cji_dec_place adds = cji_dec_src(d, cji_dec_word(d, 3), 1, false);
    if ((shared_a && a.w != CJI_W64) || b.w != CJI_W64 || adds.w != CJI_WP) return cji_dec_unsupported(d), true;
    cji_dec_op_words(d, 5);
    uint32_t at = (uint32_t)d->p->next;
    dmx_places(d, &result);
    dmx_places(d, &rows);
    cji_rec *r = cji_dec_emit(d, cji_h_wgmma);
    cji_dec_put_a(r, a);
    cji_dec_put_b(r, b);
    cji_dec_put_c(r, adds);
    r->flags |= CJI_MF_ALIGNED;
    r->d2 = result.n;
    r->target = at;
    r->k = CJI_MM(type[1], type[2], type[0]) | dmx_literals(d, type[1], shared_a);
    if (shared_a) r->k |= CJI_MM_SHARED_A;
    if (cji_dec_has(d, CJI_W_SATFINITE)) r->k |= CJI_MM_SATURATE;
    return true;
}

static bool dmx_order(cji_dec *d, cji_handler fn)
{
    cji_dec_op_words(d, 4);    /* wgmma, fence, sync, aligned */
    cji_rec *r = cji_dec_emit(d, fn);
    r->flags |= CJI_MF_ALIGNED;
    if (fn == cji_h_wgmma_wait) r->imm = dmx_literal(d, 0);
    return true;
}

bool cji_dec_matrix(cji_dec *d)
{
    switch (d->e->isa->op) {
    case CJI_OP_LDMATRIX: return dmx_move(d, false);
    case CJI_OP_STMATRIX: return dmx_move(d, true);
    case CJI_OP_MOVMATRIX: return dmx_transpose(d);
    case CJI_OP_MMA_SYNC: return dmx_multiply(d);
    case CJI_OP_WGMMA_MMA_ASYNC: return dmx_warpgroup(d);
    case CJI_OP_WGMMA_FENCE: return dmx_order(d, cji_h_wgmma_fence);
    case CJI_OP_WGMMA_COMMIT_GROUP: return dmx_order(d, cji_h_wgmma_commit);
    case CJI_OP_WGMMA_WAIT_GROUP: return dmx_order(d, cji_h_wgmma_wait);
    default: return false;
    }
}
