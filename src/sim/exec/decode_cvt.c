/* Decoding: conversions. */
#include "sim/exec/decode.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_lane.h"

static uint32_t cvt_round(cji_dec *d)
{
    static const cji_dec_choice rounds[] = { { CJI_W_RN, CJI_FP_RN },   { CJI_W_RZ, CJI_FP_RZ },
                                             { CJI_W_RM, CJI_FP_RM },   { CJI_W_RP, CJI_FP_RP },
                                             { CJI_W_RNI, CJI_FP_RN },  { CJI_W_RZI, CJI_FP_RZ },
                                             { CJI_W_RMI, CJI_FP_RM },  { CJI_W_RPI, CJI_FP_RP },
                                             { CJI_W_RNA, CJI_FP_RNA }, { 0, 0 } };
    return cji_dec_choose(d, rounds, CJI_FP_RN);
}

static bool cvt_integral(cji_dec *d)
{
    static const cji_dec_choice integral[] = {
        { CJI_W_RNI, 1 }, { CJI_W_RZI, 1 }, { CJI_W_RMI, 1 }, { CJI_W_RPI, 1 }, { 0, 0 }
    };
    return cji_dec_choose(d, integral, 0);
}

/* Rounding and modifiers of conversions from or to floating point. */
static uint32_t cvt_modifiers(cji_dec *d, bool to_int)
{
    uint32_t k = cvt_round(d);
    if (cji_dec_has(d, CJI_W_FTZ)) k |= CJI_KF_FTZ;
    if (cji_dec_has(d, CJI_W_SAT)) k |= CJI_KF_SAT; /* to integers saturates always */
    if (!to_int && cji_dec_has(d, CJI_W_RELU)) k |= CJI_KF_RELU;
    if (!to_int && cji_dec_has(d, CJI_W_SATFINITE)) k |= CJI_KF_B;
    return k;
}

/* The plain forms that have handlers of their own. */
static cji_handler cvt_handler(const cji_dec *d, const cji_dec_type *to, const cji_dec_type *from, uint32_t k)
{
    const cji_vec_table *v = d->vec;
    bool s = from->cls == 's', fi = from->cls != 'f', ti = to->cls != 'f';
    uint32_t rnd = k & CJI_KF_RND;
    if (k & (CJI_KF_SAT | CJI_KF_FTZ | CJI_KF_RELU | CJI_KF_B) || to->x2 || from->x2) return NULL;
    if (ti && fi) {
        if (to->bits == 32 && from->bits == 64) return v->cvt_u32_u64;
        if (to->bits == 64 && from->bits == 32) return s ? v->cvt_s64_s32 : v->cvt_u64_u32;
        if (to->bits == 32 && from->bits == 16) return s ? v->cvt_s32_s16 : v->cvt_u32_u16;
        if (to->bits == 16 && from->bits == 32) return v->cvt_u16_u32;
        return NULL;
    }
    if (fi && from->bits == 32 && to->fmt == CJI_FP_F32 && rnd == CJI_FP_RN) return s ? v->cvt_f32_s32 : v->cvt_f32_u32;
    if (fi && from->bits == 32 && to->fmt == CJI_FP_F64) return s ? v->cvt_f64_s32 : v->cvt_f64_u32;
    if (ti && to->cls == 's' && to->bits == 32 && from->fmt == CJI_FP_F32 && from->bits == 32 && rnd == CJI_FP_RZ)
        return v->cvt_s32_f32;
    if (ti || fi) return NULL;
    if (to->fmt == CJI_FP_F64 && from->fmt == CJI_FP_F32) return v->cvt_f64_f32;
    if (to->fmt == CJI_FP_F32 && from->fmt == CJI_FP_F64 && rnd == CJI_FP_RN) return v->cvt_f32_f64;
    return NULL;
}

/* The form of a lane function for 32 lanes and registers of any width. */
static cji_handler cvt_any(const cji_dec *d, cji_lane_fn lane, const cji_dec_type *to, const cji_dec_type *from)
{
    const cji_vec_table *v = d->vec;
    const struct {
        cji_lane_fn lane;
        cji_handler form;
    } forms[] = {
        { cji_l_cvt_int, v->cvt_int },           { cji_l_cvt_to_int, v->cvt_to_int },
        { cji_l_cvt_from_int, v->cvt_from_int }, { cji_l_cvt_float, v->cvt_float },
        { cji_l_cvt_integral, v->cvt_integral }, { cji_l_cvt_pack, v->cvt_pack },
        { cji_l_cvt_unpack, v->cvt_unpack },
    };
    if ((to->cls == 'f' && to->fmt == CJI_FP_UE8M0) || (from->cls == 'f' && from->fmt == CJI_FP_UE8M0))
        return cji_h_lane;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].lane == lane) return forms[i].form;
    return cji_h_lane;
}

static uint32_t cvt_log2(unsigned bits) { return bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3; }

bool cji_dec_cvt(cji_dec *d)
{
    if (d->e->isa->op != CJI_OP_CVT) return false;
    const cji_dec_type *to = cji_dec_type_at(d, 0), *from = cji_dec_type_at(d, 1);
    if (d->ntype != 2 || to->bits > 64 || from->bits > 64) return false;
    bool fi = from->cls != 'f', ti = to->cls != 'f', both = to->x2 && from->x2, pack = to->x2 && !from->x2;
    cji_lane_fn lane;
    if (d->n != (pack ? 3u : 2u) || (from->x2 && !both)) return false;
    uint32_t k = !ti || !fi ? cvt_modifiers(d, ti) : cji_dec_has(d, CJI_W_SAT) ? CJI_KF_SAT : 0;
    if (pack) {
        k |= CJI_KF(to->bits, to->fmt, from->fmt);
        lane = cji_l_cvt_pack;
    } else if (both) {
        k |= CJI_KF(from->bits, to->fmt, from->fmt);
        lane = cji_l_cvt_unpack;
    } else if (ti && fi) {
        k |= CJI_KF(to->bits, 0, cvt_log2(from->bits) | (from->cls == 's' ? 4 : 0)) |
             (to->cls == 's' ? CJI_KF_SIGNED : 0);
        lane = cji_l_cvt_int;
    } else if (ti) {
        k |= CJI_KF(to->bits, from->fmt, 0) | (to->cls == 's' ? CJI_KF_SIGNED : 0);
        lane = cji_l_cvt_to_int;
    } else if (fi) {
        k |= CJI_KF(from->bits, to->fmt, 0) | (from->cls == 's' ? CJI_KF_SIGNED : 0);
        lane = cji_l_cvt_from_int;
    } else if (cvt_integral(d)) {
        k |= CJI_KF(to->bits, to->fmt, 0);
        lane = cji_l_cvt_integral;
    } else {
        k |= CJI_KF(to->bits, to->fmt, from->fmt);
        lane = cji_l_cvt_float;
    }
    cji_handler vec = cvt_handler(d, to, from, k), any = cvt_any(d, lane, to, from);
    unsigned tw = cji_dec_width(to->x2 ? 2u * to->bits : to->bits), fbits = from->x2 ? 2u * from->bits : from->bits,
             fw = cji_dec_width(fbits);
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), tw), a = cji_dec_src(d, cji_dec_word(d, 1), fbits, !fi),
                  b = { 0, 0 };
    if (pack) b = cji_dec_src(d, cji_dec_word(d, 2), from->bits, true);
    cji_rec *r = cji_dec_emit(d, vec && dst.w == tw && a.w == fw ? vec : any);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, a);
    cji_dec_put_b(r, b);
    r->lane = lane;
    r->k = k;
    return true;
}
