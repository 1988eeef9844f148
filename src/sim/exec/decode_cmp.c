/* Decoding: comparisons. */
#include "sim/exec/decode.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_lane.h"

static uint32_t cmp_relation(cji_dec *d)
{
    static const cji_dec_choice relations[] = { { CJI_W_EQ, CJI_CMP_EQ },
                                                { CJI_W_NE, CJI_CMP_NE },
                                                { CJI_W_LT, CJI_CMP_LT },
                                                { CJI_W_LE, CJI_CMP_LE },
                                                { CJI_W_GT, CJI_CMP_GT },
                                                { CJI_W_GE, CJI_CMP_GE },
                                                { CJI_W_LO, CJI_CMP_LT },
                                                { CJI_W_LS, CJI_CMP_LE },
                                                { CJI_W_HI, CJI_CMP_GT },
                                                { CJI_W_HS, CJI_CMP_GE },
                                                { CJI_W_EQU, CJI_CMP_EQU },
                                                { CJI_W_NEU, CJI_CMP_NEU },
                                                { CJI_W_LTU, CJI_CMP_LTU },
                                                { CJI_W_LEU, CJI_CMP_LEU },
                                                { CJI_W_GTU, CJI_CMP_GTU },
                                                { CJI_W_GEU, CJI_CMP_GEU },
                                                { CJI_W_NUM, CJI_CMP_NUM },
                                                { CJI_W_NAN, CJI_CMP_NAN },
                                                { 0, 0 } };
    return cji_dec_choose(d, relations, CJI_CMP_EQ);
}

static uint32_t cmp_bool(cji_dec *d)
{
    static const cji_dec_choice bools[] = {
        { CJI_W_AND, CJI_SETP_AND }, { CJI_W_OR, CJI_SETP_OR }, { CJI_W_XOR, CJI_SETP_XOR }, { 0, 0 }
    };
    return cji_dec_choose(d, bools, 0);
}

/* ORDER CJI_CMP_* */
#define CMP_INT(T) \
    { \
        v->eq_##T, v->ne_##T, v->lt_##T, v->le_##T, v->gt_##T, v->ge_##T \
    }
#define CMP_FLT(T) \
    { \
        v->eq_##T, v->ne_##T, v->lt_##T, v->le_##T, v->gt_##T, v->ge_##T, v->equ_##T, v->neu_##T, v->ltu_##T, \
            v->leu_##T, v->gtu_##T, v->geu_##T \
    }
static cji_handler cmp_handler(const cji_vec_table *v, const cji_dec_type *t, uint32_t rel)
{
    const cji_handler s32[6] = CMP_INT(s32), u32[6] = CMP_INT(u32), s64[6] = CMP_INT(s64), u64[6] = CMP_INT(u64),
                      f32[12] = CMP_FLT(f32), f64[12] = CMP_FLT(f64);
    if (t->x2 || rel > CJI_CMP_GEU) return NULL;
    if (t->cls == 'f') return t->bits == 32 ? f32[rel] : t->bits == 64 ? f64[rel] : NULL;
    if (rel > CJI_CMP_GE) return NULL;
    if (t->bits == 32) return t->cls == 's' ? s32[rel] : u32[rel];
    return t->bits != 64 ? NULL : t->cls == 's' ? s64[rel] : u64[rel];
}

/* Forms that read the comparison from k as the lane functions do; NULL: there is none. */
static cji_handler cmp_any(const cji_vec_table *v, const cji_dec_type *t)
{
    if (t->x2) return t->cls == 'f' && t->bits == 16 ? v->setp_halfx2 : NULL;
    if (t->bits == 16) return t->cls == 'f' ? v->setp_half : v->setp_i16;
    return t->cls != 'f' ? NULL : t->bits == 32 ? v->setp_f32 : v->setp_f64;
}

static uint32_t cmp_k(cji_dec *d, const cji_dec_type *t)
{
    return CJI_KF(t->bits, t->fmt, cmp_relation(d)) | (t->cls == 's' ? CJI_KF_SIGNED : 0) |
           (cji_dec_has(d, CJI_W_FTZ) ? CJI_KF_FTZ : 0);
}

/* The two sources and the predicate behind them; its flags. */
static uint32_t cmp_sources(cji_dec *d, const cji_dec_type *t, cji_dec_place *a, cji_dec_place *b, cji_dec_place *c)
{
    bool flt = t->cls == 'f';
    unsigned bits = t->x2 ? 2u * t->bits : t->bits;
    uint32_t op = cmp_bool(d), word = cji_dec_word(d, 3);
    *a = cji_dec_src(d, cji_dec_word(d, 1), bits, flt);
    *b = cji_dec_src(d, cji_dec_word(d, 2), bits, flt);
    *c = (cji_dec_place){ 0, 0 };
    if (!op) return 0;
    if (cji_word_kind(word) == CJI_K_NOT) {
        *c = d->reg[cji_word_index(word)];
        return op | CJI_SETP_NOT;
    }
    *c = cji_dec_src(d, word, 1, false);
    return op;
}

static bool cmp_setp(cji_dec *d)
{
    const cji_dec_type *t = cji_dec_type_at(d, 0);
    uint32_t word = cji_dec_word(d, 0), n, flags;
    cji_dec_place a, b, c, p = { 0, 0 }, q = { 0, 0 };
    flags = cmp_sources(d, t, &a, &b, &c);
    if (cji_word_kind(word) == CJI_K_PAIR) {
        const uint32_t *two = cji_fn_words(d->f, word, &n);
        p = cji_dec_dst(d, two[0], CJI_WP);
        q = cji_dec_dst(d, two[1], CJI_WP);
        flags |= CJI_SETP_D2;
    } else p = cji_dec_dst(d, word, CJI_WP);
    unsigned w = cji_dec_width(t->x2 ? 2u * t->bits : t->bits);
    cji_handler vec = cmp_handler(d->vec, t, cmp_relation(d)), any = cmp_any(d->vec, t);
    bool same = a.w == w && b.w == w, fits = vec && same && !(cji_dec_has(d, CJI_W_FTZ));
    cji_rec *r = cji_dec_emit(d, fits ? vec : any && same ? any : t->x2 ? cji_h_lane_setp_x2 : cji_h_lane_setp);
    cji_dec_put_d(r, p);
    cji_dec_put_a(r, a);
    cji_dec_put_b(r, b);
    cji_dec_put_c(r, c);
    if (!fits) r->wc = CJI_WNONE; /* the lane function has two operands; flags say what c is for */
    r->d2 = q.off;
    r->lane = t->cls == 'f' ? cji_l_fcmp : cji_l_icmp;
    r->k = fits ? flags : cmp_k(d, t);
    r->flags = (uint8_t)flags;
    r->count = t->bits;
    return true;
}

/* A comparison of one pair: into a predicate, which then chooses between `yes` and 0. */
static bool cmp_set_selp(cji_dec *d, cji_dec_place dst, cji_dec_place a, cji_dec_place b, cji_dec_place c,
                         uint32_t flags, uint64_t yes)
{
    const cji_dec_type *to = cji_dec_type_at(d, 0), *t = cji_dec_type_at(d, 1);
    unsigned w = cji_dec_width(to->bits), ws = cji_dec_width(t->bits);
    cji_handler vec = cmp_handler(d->vec, t, cmp_relation(d)), any = cmp_any(d->vec, t);
    bool plain = vec && !cji_dec_has(d, CJI_W_FTZ);
    cji_handler choose = w == CJI_W16 ? d->vec->selp_16 : w == CJI_W32 ? d->vec->selp_32 : NULL;
    if (to->x2 || t->x2 || !choose || !(plain || any) || dst.w != w || a.w != ws || b.w != ws) return false;
    cji_dec_place p = cji_dec_temp(d, CJI_WP), on = cji_dec_const(d, w, yes, CJI_CON_PLAIN);
    cji_dec_place off = cji_dec_const(d, w, 0, CJI_CON_PLAIN);
    cji_rec *r = cji_dec_emit(d, plain ? vec : any);
    cji_dec_put_d(r, p);
    cji_dec_put_a(r, a);
    cji_dec_put_b(r, b);
    cji_dec_put_c(r, c);
    r->k = plain ? flags : cmp_k(d, t);
    r->flags = (uint8_t)flags;
    r = cji_dec_emit(d, choose);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, on);
    cji_dec_put_b(r, off);
    cji_dec_put_c(r, p);
    return true;
}

/* set.CmpOp.dtype.stype: all ones, 1.0, or a pair of such */
static bool cmp_set(cji_dec *d)
{
    const cji_dec_type *to = cji_dec_type_at(d, 0), *t = cji_dec_type_at(d, 1);
    cji_dec_place a, b, c, dst;
    uint32_t flags = cmp_sources(d, t, &a, &b, &c);
    dst = cji_dec_dst(d, cji_dec_word(d, 0), cji_dec_width(to->x2 ? 2u * to->bits : to->bits));
    const cji_fp_desc *f = &cji_fp_formats[to->fmt];
    uint64_t yes = to->cls == 'f'   ? (uint64_t)f->bias << f->mbits
                   : to->bits >= 64 ? UINT64_MAX
                                    : (UINT64_C(1) << to->bits) - 1;
    if (cmp_set_selp(d, dst, a, b, c, flags, yes)) return true;
    bool half = t->x2 && t->cls == 'f' && t->bits == 16 && dst.w == CJI_W32 && a.w == CJI_W32 && b.w == CJI_W32;
    cji_rec *r = cji_dec_emit(d, half ? d->vec->set_halfx2 : t->x2 ? cji_h_lane_set_x2 : cji_h_lane_set);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, a);
    cji_dec_put_b(r, b);
    cji_dec_put_c(r, c);
    r->wc = CJI_WNONE;
    r->lane = t->cls == 'f' ? cji_l_fcmp : cji_l_icmp;
    r->k = cmp_k(d, t);
    r->flags = (uint8_t)flags;
    r->count = t->bits;
    r->imm = (int64_t)yes;
    return true;
}

static bool cmp_slct(cji_dec *d)
{
    unsigned bits = cji_dec_type_at(d, 0)->bits;
    bool flt = cji_dec_type_at(d, 0)->cls == 'f', by_float = cji_dec_type_at(d, 1)->cls == 'f';
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), cji_dec_width(bits)),
                  a = cji_dec_src(d, cji_dec_word(d, 1), bits, flt);
    cji_dec_place b = cji_dec_src(d, cji_dec_word(d, 2), bits, flt),
                  c = cji_dec_src(d, cji_dec_word(d, 3), 32, by_float);
    const cji_vec_table *v = d->vec;
    cji_handler vec = by_float     ? bits == 16   ? v->slct_f32_16
                                     : bits == 32 ? v->slct_f32_32
                                                  : v->slct_f32_64
                      : bits == 16 ? v->slct_s32_16
                      : bits == 32 ? v->slct_s32_32
                                   : v->slct_s32_64;
    unsigned w = cji_dec_width(bits);
    cji_rec *r = cji_dec_emit(d, dst.w == w && a.w == w && b.w == w && c.w == CJI_W32 ? vec : cji_h_lane);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, a);
    cji_dec_put_b(r, b);
    cji_dec_put_c(r, c);
    r->lane = by_float ? cji_l_slct_float : cji_l_slct_int;
    r->k = cji_dec_has(d, CJI_W_FTZ) ? CJI_KF_FTZ : 0;
    return true;
}

bool cji_dec_compare(cji_dec *d)
{
    switch (d->e->isa->op) {
    case CJI_OP_SETP: return cmp_setp(d);
    case CJI_OP_SET: return cmp_set(d);
    case CJI_OP_SLCT: return cmp_slct(d);
    default: return false;
    }
}
