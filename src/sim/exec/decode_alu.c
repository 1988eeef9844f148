/* Decoding: arithmetic, logic, shifts, bit fields, data movement between registers, comparisons. */
#include "sim/exec/decode.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_lane.h"

/* ---- Modifiers ---- */

static uint32_t alu_round(const cji_dec *d)
{
    return cji_dec_has(d, CJI_W_RZ)   ? CJI_FP_RZ
           : cji_dec_has(d, CJI_W_RM) ? CJI_FP_RM
           : cji_dec_has(d, CJI_W_RP) ? CJI_FP_RP
                                      : CJI_FP_RN;
}

/* The k word of the first type and all modifiers. */
static uint32_t alu_k(const cji_dec *d, uint32_t x)
{
    const cji_dec_type *t = &d->type[0];
    uint32_t k = CJI_KF(t->bits, t->fmt, x);
    if (t->cls == 'f') k |= alu_round(d);
    if (t->cls == 's') k |= CJI_KF_SIGNED;
    if (cji_dec_has(d, CJI_W_FTZ)) k |= CJI_KF_FTZ;
    if (cji_dec_has(d, CJI_W_SAT)) k |= CJI_KF_SAT;
    if (cji_dec_has(d, CJI_W_RELU)) k |= CJI_KF_RELU;
    if (cji_dec_has(d, CJI_W_NAN_)) k |= CJI_KF_NAN;
    if (cji_dec_has(d, CJI_W_XORSIGN)) k |= CJI_KF_XORSIGN;
    if (cji_dec_has(d, CJI_W_HI)) k |= CJI_KF_HI;
    return k;
}

/* ---- Emission ---- */

/* Operand i as a source of its place's own type. */
static cji_dec_place alu_src(cji_dec *d, uint32_t i)
{
    unsigned type = i < d->e->isa.nopnd ? d->e->isa.opnd[i].type : CJ_VOID,
             bits = type ? cji_type_bits(type) : d->type[0].bits;
    if (bits > 64) bits = 64;
    return cji_dec_src(d, cji_dec_word(d, i), bits, type == CJ_F32 || type == CJ_F64);
}

/* d = lane(a, b, c); `vec`, where it is given, when all registers have exactly the widths it reads
 * (CJI_WNONE: as many operands as there are). */
static bool alu_emit(cji_dec *d, cji_handler vec, unsigned wd, unsigned wa, unsigned wb, unsigned wc, cji_lane_fn lane,
                     uint32_t k)
{
    bool x2 = d->type[0].x2;
    unsigned bits = d->type[0].bits, n = d->n - 1;
    cji_dec_place none = { sizeof(cji_frame), CJI_WNONE }, s[3] = { none, none, none };
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), cji_dec_width(x2 ? 2 * bits : bits));
    for (unsigned i = 0; i < n && i < 3; i++) s[i] = alu_src(d, i + 1);
    bool fits = vec && !x2 && dst.w == wd && s[0].w == wa && s[1].w == wb && s[2].w == wc;
    cji_rec *r = cji_dec_emit(d, fits ? vec : x2 ? cji_h_lane_x2 : cji_h_lane);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, s[0]);
    cji_dec_put_b(r, s[1]);
    cji_dec_put_c(r, s[2]);
    r->lane = lane;
    r->k = k;
    r->count = (uint8_t)bits;
    return true;
}

static bool alu_lane(cji_dec *d, cji_lane_fn lane, uint32_t k) { return alu_emit(d, NULL, 0, 0, 0, 0, lane, k); }

/* All operands of one width: the handler of 16, 32 or 64 bits, or none. */
static bool alu_same(cji_dec *d, cji_handler h16, cji_handler h32, cji_handler h64, cji_lane_fn lane, uint32_t k)
{
    unsigned bits = d->type[0].bits, w = cji_dec_width(bits), n = d->n - 1;
    cji_handler vec = bits == 16 ? h16 : bits == 32 ? h32 : bits == 64 ? h64 : NULL;
    return alu_emit(d, vec, w, w, n > 1 ? w : CJI_WNONE, n > 2 ? w : CJI_WNONE, lane, k);
}

/* f32 and f64 in the round-to-nearest forms that have handlers. */
static bool alu_float(cji_dec *d, cji_handler f32, cji_handler ftz, cji_handler f64, cji_lane_fn lane)
{
    uint32_t k = alu_k(d, 0), plain = k & (CJI_KF_RND | CJI_KF_SAT | CJI_KF_RELU | CJI_KF_NAN | CJI_KF_XORSIGN);
    bool is_ftz = k & CJI_KF_FTZ;
    return alu_same(d, NULL, plain ? NULL : is_ftz ? ftz : f32, plain ? NULL : f64, lane, k);
}

/* ---- Carry ---- */

static bool alu_carry(cji_dec *d, uint32_t k)
{
    if (cji_dec_has(d, CJI_W_CC)) k |= CJI_CC_OUT;
    if (cji_dec_has(d, CJI_W_HI)) k |= CJI_CC_HI;
    if (d->type[0].bits == 64) k |= CJI_CC_64;
    if (d->type[0].cls == 's') k |= CJI_CC_SIGNED;
    alu_emit(d, NULL, 0, 0, 0, 0, NULL, k);
    if (!d->failed) d->p->code[d->p->ncode - 1].fn = cji_h_carry;
    return true;
}

/* ---- Integers ---- */

static bool alu_mul(cji_dec *d, bool mad)
{
    const cji_vec_table *v = d->vec;
    uint32_t k = alu_k(d, 0);
    bool s = k & CJI_KF_SIGNED, is32 = d->type[0].bits == 32;
    if (cji_dec_has(d, CJI_W_WIDE)) {
        if (mad)
            return alu_emit(d, is32 ? s ? v->madwide_s32 : v->madwide_u32 : NULL, CJI_W64, CJI_W32, CJI_W32, CJI_W64,
                            cji_l_imadwide, k);
        return alu_emit(d, is32 ? s ? v->mulwide_s32 : v->mulwide_u32 : NULL, CJI_W64, CJI_W32, CJI_W32, CJI_WNONE,
                        cji_l_imulwide, k);
    }
    if (k & CJI_KF_HI) {
        if (mad) return alu_lane(d, cji_l_imad, k);
        return alu_same(d, NULL, s ? v->mulhi_s32 : v->mulhi_u32, NULL, cji_l_imul, k);
    }
    return mad ? alu_same(d, NULL, v->mad_32, v->mad_64, cji_l_imad, k)
               : alu_same(d, v->mul_16, v->mul_32, v->mul_64, cji_l_imul, k);
}

static bool alu_bfi(cji_dec *d)
{
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), cji_dec_width(d->type[0].bits)), s[4];
    for (uint32_t i = 0; i < 4; i++) s[i] = alu_src(d, i + 1);
    uint32_t at = cji_dec_ext(d, s[3].w);
    cji_dec_ext(d, s[3].off);
    cji_rec *r = cji_dec_emit(d, cji_h_bfi);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, s[0]);
    cji_dec_put_b(r, s[1]);
    cji_dec_put_c(r, s[2]);
    r->target = at;
    r->k = d->type[0].bits;
    return true;
}

static bool alu_lop3(cji_dec *d)
{
    uint32_t first = cji_dec_word(d, 0), count, table = 0;
    cji_dec_place dst, pair = { 0, 0 }, s[3], q = { 0, 0 };
    if (cji_word_kind(first) == CJI_K_PAIR) {
        const uint32_t *two = cji_fn_words(d->f, first, &count);
        dst = cji_dec_dst(d, two[0], CJI_W32);
        pair = cji_dec_dst(d, two[1], CJI_WP);
    } else dst = cji_dec_dst(d, first, CJI_W32);
    for (uint32_t i = 0; i < 3; i++) s[i] = cji_dec_src(d, cji_dec_word(d, i + 1), 32, false);
    uint32_t lut = cji_dec_word(d, 4);
    if (cji_word_kind(lut) != CJI_K_IMM) return cji_dec_refuse(d), true;
    table = (uint32_t)d->f->lit[cji_word_index(lut)].bits & 255;
    if (pair.w) q = cji_dec_src(d, cji_dec_word(d, 5), 1, false);
    cji_rec *r = cji_dec_emit(d, d->vec->lop3);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, s[0]);
    cji_dec_put_b(r, s[1]);
    cji_dec_put_c(r, s[2]);
    r->k = table;
    if (!pair.w) return true;
    /* p = (result is not 0) or/and q */
    cji_dec_place zero = cji_dec_const(d, CJI_W32, 0, CJI_CON_PLAIN);
    r = cji_dec_emit(d, d->vec->ne_u32);
    cji_dec_put_d(r, pair);
    cji_dec_put_a(r, dst);
    cji_dec_put_b(r, zero);
    cji_dec_put_c(r, q);
    r->k = cji_dec_has(d, CJI_W_OR) ? CJI_SETP_OR : CJI_SETP_AND;
    return true;
}

/* and, or, xor, not of predicates or bits */
static bool alu_logic(cji_dec *d, uint32_t pred, cji_handler h32, cji_handler h64, cji_lane_fn lane)
{
    if (d->type[0].cls != 'p') return alu_same(d, NULL, h32, h64, lane, alu_k(d, 0));
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), CJI_WP), a = cji_dec_src(d, cji_dec_word(d, 1), 1, false),
                  b = a;
    if (d->n > 2) b = cji_dec_src(d, cji_dec_word(d, 2), 1, false);
    cji_rec *r = cji_dec_emit(d, cji_h_pred);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, a);
    cji_dec_put_b(r, b);
    r->k = pred;
    return true;
}

static bool alu_shift(cji_dec *d, bool right)
{
    const cji_vec_table *v = d->vec;
    uint32_t k = alu_k(d, 0);
    bool s = k & CJI_KF_SIGNED;
    unsigned w = cji_dec_width(d->type[0].bits);
    cji_handler h32 = !right ? v->shl_32
                      : s    ? v->shr_s32
                             : v->shr_u32,
                h64 = !right ? v->shl_64
                      : s    ? v->shr_s64
                             : v->shr_u64;
    return alu_emit(d,
                    w == CJI_W32   ? h32
                    : w == CJI_W64 ? h64
                                   : NULL,
                    w, w, CJI_W32, CJI_WNONE, right ? cji_l_shr : cji_l_shl, k);
}

static bool alu_minmax(cji_dec *d, bool max)
{
    const cji_vec_table *v = d->vec;
    uint32_t k = alu_k(d, 0);
    if (d->type[0].cls == 'f') {
        if (d->n > 3) k |= CJI_KF_C;
        bool plain = !(k & (CJI_KF_FTZ | CJI_KF_NAN | CJI_KF_XORSIGN | CJI_KF_C));
        return alu_same(d, NULL, plain ? max ? v->max_f32 : v->min_f32 : NULL, NULL, max ? cji_l_fmax : cji_l_fmin, k);
    }
    bool s = k & CJI_KF_SIGNED;
    cji_handler h32 = max ? s ? v->max_s32 : v->max_u32
                      : s ? v->min_s32
                          : v->min_u32,
                h64 = max ? s ? v->max_s64 : v->max_u64
                      : s ? v->min_s64
                          : v->min_u64;
    if (k & CJI_KF_RELU) h32 = h64 = NULL;
    return alu_same(d, NULL, h32, h64, max ? cji_l_imax : cji_l_imin, k);
}

static bool alu_testp(cji_dec *d)
{
    static const struct {
        uint16_t word;
        uint8_t x;
    } tests[] = { { CJI_W_FINITE, CJI_TESTP_FINITE }, { CJI_W_INFINITE, CJI_TESTP_INFINITE },
                  { CJI_W_NUMBER, CJI_TESTP_NUMBER }, { CJI_W_NOTANUMBER, CJI_TESTP_NOTANUMBER },
                  { CJI_W_NORMAL, CJI_TESTP_NORMAL }, { CJI_W_SUBNORMAL, CJI_TESTP_SUBNORMAL } };
    uint32_t x = 0;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (cji_dec_has(d, tests[i].word)) x = tests[i].x;
    return alu_lane(d, cji_l_testp, alu_k(d, x));
}

static bool alu_prmt(cji_dec *d)
{
    static const struct {
        uint16_t word;
        uint8_t x;
    } modes[] = { { CJI_W_F4E, CJI_PRMT_F4E }, { CJI_W_B4E, CJI_PRMT_B4E }, { CJI_W_RC8, CJI_PRMT_RC8 },
                  { CJI_W_ECL, CJI_PRMT_ECL }, { CJI_W_ECR, CJI_PRMT_ECR }, { CJI_W_RC16, CJI_PRMT_RC16 } };
    uint32_t x = 0;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (cji_dec_has(d, modes[i].word)) x = modes[i].x;
    return alu_lane(d, cji_l_prmt, alu_k(d, x));
}

static bool alu_dot(cji_dec *d, cji_lane_fn lane)
{
    uint32_t k = CJI_KF(32, 0, 0);
    if (d->type[0].cls == 's') k |= CJI_KF_SIGNED;
    if (d->type[1].cls == 's') k |= CJI_KF_B;
    if (cji_dec_has(d, CJI_W_HI)) k |= CJI_KF_HI;
    return alu_lane(d, lane, k);
}

/* ---- Moves ---- */

/* {a, b, ...} on either side */
static bool alu_vector_mov(cji_dec *d, uint32_t vec, uint32_t other, bool pack)
{
    uint32_t n = 0;
    const uint32_t *word = cji_fn_words(d->f, vec, &n);
    unsigned bits = d->type[0].bits / (n ? n : 1);
    if (d->type[0].bits > 64 || n > 8) return cji_dec_refuse(d), true;
    cji_dec_place one[8], whole;
    for (uint32_t i = 0; i < n; i++)
        one[i] = pack ? cji_dec_src(d, word[i], bits, false) : cji_dec_dst(d, word[i], cji_dec_width(bits));
    whole =
        pack ? cji_dec_dst(d, other, cji_dec_width(d->type[0].bits)) : cji_dec_src(d, other, d->type[0].bits, false);
    uint32_t at = (uint32_t)d->p->next;
    for (uint32_t i = 0; i < n; i++) {
        cji_dec_ext(d, one[i].w);
        cji_dec_ext(d, one[i].off);
    }
    cji_rec *r = cji_dec_emit(d, pack ? cji_h_pack : cji_h_unpack);
    if (pack) cji_dec_put_d(r, whole);
    else cji_dec_put_a(r, whole);
    r->target = at;
    r->count = (uint8_t)n;
    r->imm = bits;
    return true;
}

static bool alu_mov(cji_dec *d)
{
    uint32_t to = cji_dec_word(d, 0), from = cji_dec_word(d, 1);
    if (cji_word_kind(from) == CJI_K_VEC && cji_word_kind(to) != CJI_K_VEC) return alu_vector_mov(d, from, to, true);
    if (cji_word_kind(to) == CJI_K_VEC && cji_word_kind(from) != CJI_K_VEC) return alu_vector_mov(d, to, from, false);
    if (cji_word_kind(to) == CJI_K_VEC || d->type[0].bits > 64) return cji_dec_refuse(d), true;
    if (d->type[0].cls == 'p') return alu_logic(d, CJI_PL_MOV, NULL, NULL, NULL);
    if (cji_word_kind(from) == CJI_K_SREG && cji_word_kind(to) == CJI_K_REG) {
        cji_dec_src(d, from, d->type[0].bits, false); /* the read itself: into the destination instead of a temporary */
        if (!d->failed) cji_dec_put_d(&d->p->code[d->p->ncode - 1], d->reg[cji_word_index(to)]);
        return true;
    }
    return alu_same(d, d->vec->mov_16, d->vec->mov_32, d->vec->mov_64, cji_l_mov, alu_k(d, 0));
}

static bool alu_selp(cji_dec *d)
{
    const cji_vec_table *v = d->vec;
    unsigned bits = d->type[0].bits, w = cji_dec_width(bits);
    bool flt = d->type[0].cls == 'f';
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), w), a = cji_dec_src(d, cji_dec_word(d, 1), bits, flt),
                  b = cji_dec_src(d, cji_dec_word(d, 2), bits, flt);
    cji_dec_place c = cji_dec_src(d, cji_dec_word(d, 3), 1, false);
    cji_handler vec = w == CJI_W16 ? v->selp_16 : w == CJI_W32 ? v->selp_32 : v->selp_64;
    cji_rec *r = cji_dec_emit(d, dst.w == w && a.w == w && b.w == w ? vec : cji_h_selp);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, a);
    cji_dec_put_b(r, b);
    cji_dec_put_c(r, c);
    return true;
}

static bool alu_approx(cji_dec *d, cji_lane_fn f32, cji_lane_fn f64)
{
    if (d->type[0].bits == 64) return f64 ? alu_lane(d, f64, alu_k(d, 0)) : (cji_dec_refuse(d), true);
    return alu_lane(d, f32, alu_k(d, 0));
}

bool cji_dec_alu(cji_dec *d)
{
    const cji_vec_table *v = d->vec;
    bool flt = d->type[0].cls == 'f', approx = cji_dec_has(d, CJI_W_APPROX), cc = cji_dec_has(d, CJI_W_CC);
    uint32_t k = alu_k(d, 0);
    if (d->ntype > 1 && flt && d->type[1].cls == 'f' &&
        (d->e->isa.op == CJI_OP_ADD || d->e->isa.op == CJI_OP_SUB || d->e->isa.op == CJI_OP_FMA))
        return false; /* mixed precision */
    switch (d->e->isa.op) {
    case CJI_OP_ADD:
        if (flt) return alu_float(d, v->add_f32, v->add_ftz, v->add_f64, cji_l_fadd);
        if (cc) return alu_carry(d, 0);
        return k & CJI_KF_SAT ? alu_lane(d, cji_l_iadd, k)
                              : alu_same(d, v->add_16, v->add_32, v->add_64, cji_l_iadd, k);
    case CJI_OP_SUB:
        if (flt) return alu_float(d, v->sub_f32, v->sub_ftz, v->sub_f64, cji_l_fsub);
        if (cc) return alu_carry(d, CJI_CC_SUB);
        return k & CJI_KF_SAT ? alu_lane(d, cji_l_isub, k)
                              : alu_same(d, v->sub_16, v->sub_32, v->sub_64, cji_l_isub, k);
    case CJI_OP_ADDC: return alu_carry(d, CJI_CC_IN);
    case CJI_OP_SUBC: return alu_carry(d, CJI_CC_IN | CJI_CC_SUB);
    case CJI_OP_MADC: return alu_carry(d, CJI_CC_IN | CJI_CC_MAD);
    case CJI_OP_MUL: return flt ? alu_float(d, v->mul_f32, v->mul_ftz, v->mul_f64, cji_l_fmul) : alu_mul(d, false);
    case CJI_OP_MAD:
        if (flt) return alu_float(d, v->fma_f32, v->fma_ftz, v->fma_f64, cji_l_ffma);
        return cc ? alu_carry(d, CJI_CC_MAD) : alu_mul(d, true);
    case CJI_OP_FMA:
        if (cji_dec_has(d, CJI_W_OOB)) return false;
        return alu_float(d, v->fma_f32, v->fma_ftz, v->fma_f64, cji_l_ffma);
    case CJI_OP_DIV:
        if (!flt) return alu_lane(d, cji_l_idiv, k);
        if (approx || cji_dec_has(d, CJI_W_FULL))
            return alu_approx(d, approx ? cji_l_div_approx : cji_l_div_full, NULL);
        return alu_float(d, v->div_f32, NULL, v->div_f64, cji_l_fdiv);
    case CJI_OP_REM: return alu_lane(d, cji_l_irem, k);
    case CJI_OP_ABS:
        return flt ? alu_float(d, v->abs_f32, NULL, v->abs_f64, cji_l_fabs)
                   : alu_same(d, NULL, v->abs_32, NULL, cji_l_iabs, k);
    case CJI_OP_NEG:
        return flt ? alu_float(d, v->neg_f32, NULL, v->neg_f64, cji_l_fneg)
                   : alu_same(d, NULL, v->neg_32, v->neg_64, cji_l_ineg, k);
    case CJI_OP_MIN: return alu_minmax(d, false);
    case CJI_OP_MAX: return alu_minmax(d, true);
    case CJI_OP_MUL24: return alu_lane(d, cji_l_imul24, k);
    case CJI_OP_MAD24: return alu_lane(d, cji_l_imad24, k);
    case CJI_OP_SAD: return alu_lane(d, cji_l_isad, k);
    case CJI_OP_POPC: return alu_lane(d, cji_l_popc, k);
    case CJI_OP_CLZ: return alu_lane(d, cji_l_clz, k);
    case CJI_OP_BFIND: return alu_lane(d, cji_l_bfind, k | (cji_dec_has(d, CJI_W_SHIFTAMT) ? CJI_KF_B : 0));
    case CJI_OP_FNS: return alu_lane(d, cji_l_fns, k);
    case CJI_OP_BREV: return alu_lane(d, cji_l_brev, k);
    case CJI_OP_BFE: return alu_lane(d, cji_l_bfe, k);
    case CJI_OP_BFI: return alu_bfi(d);
    case CJI_OP_SZEXT: return alu_lane(d, cji_l_szext, k | (cji_dec_has(d, CJI_W_WRAP) ? CJI_KF_B : 0));
    case CJI_OP_BMSK: return alu_lane(d, cji_l_bmsk, k | (cji_dec_has(d, CJI_W_WRAP) ? CJI_KF_B : 0));
    case CJI_OP_DP4A: return alu_dot(d, cji_l_dp4a);
    case CJI_OP_DP2A: return alu_dot(d, cji_l_dp2a);
    case CJI_OP_TESTP: return alu_testp(d);
    case CJI_OP_COPYSIGN: return alu_lane(d, cji_l_copysign, k);
    case CJI_OP_RCP:
        if (approx) return alu_approx(d, cji_l_rcp_approx, cji_l_rcp_approx64);
        return alu_lane(d, cji_l_frcp, k);
    case CJI_OP_SQRT:
        if (approx) return alu_approx(d, cji_l_sqrt_approx, NULL);
        return alu_float(d, v->sqrt_f32, NULL, v->sqrt_f64, cji_l_fsqrt);
    case CJI_OP_RSQRT: return alu_approx(d, cji_l_rsqrt_approx, cji_l_rsqrt_approx64);
    case CJI_OP_SIN: return alu_approx(d, cji_l_sin_approx, NULL);
    case CJI_OP_COS: return alu_approx(d, cji_l_cos_approx, NULL);
    case CJI_OP_LG2: return alu_approx(d, cji_l_lg2_approx, NULL);
    case CJI_OP_EX2: return alu_approx(d, cji_l_ex2_approx, NULL);
    case CJI_OP_TANH: return alu_approx(d, cji_l_tanh_approx, NULL);
    case CJI_OP_AND: return alu_logic(d, CJI_PL_AND, v->and_32, v->and_64, cji_l_and);
    case CJI_OP_OR: return alu_logic(d, CJI_PL_OR, v->or_32, v->or_64, cji_l_or);
    case CJI_OP_XOR: return alu_logic(d, CJI_PL_XOR, v->xor_32, v->xor_64, cji_l_xor);
    case CJI_OP_NOT: return alu_logic(d, CJI_PL_NOT, v->not_32, v->not_64, cji_l_not);
    case CJI_OP_CNOT: return alu_lane(d, cji_l_cnot, k);
    case CJI_OP_LOP3: return alu_lop3(d);
    case CJI_OP_SHF: {
        bool left = cji_dec_has(d, CJI_W_L), wrap = cji_dec_has(d, CJI_W_WRAP);
        return alu_same(d, NULL,
                        !wrap  ? NULL
                        : left ? v->shf_l
                               : v->shf_r,
                        NULL, left ? cji_l_shfl : cji_l_shfr, k | (wrap ? CJI_KF_B : 0));
    }
    case CJI_OP_SHL: return alu_shift(d, false);
    case CJI_OP_SHR: return alu_shift(d, true);
    case CJI_OP_PRMT: return alu_prmt(d);
    case CJI_OP_MOV: return alu_mov(d);
    case CJI_OP_SELP: return alu_selp(d);
    default: return false;
    }
}
