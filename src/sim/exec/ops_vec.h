/* The frequent instruction forms, 32 lanes at a time in loops that compilers vectorise; compiled
 * twice (ops_vec_base.c, ops_vec_avx2.c). Operands are registers of exactly the type's width;
 * everything else goes through cji_h_lane*. Results equal the lane functions'. */
#ifndef CJI_EXEC_OPS_VEC_H
#define CJI_EXEC_OPS_VEC_H

#include "sim/exec/warp.h"

#define CJI_VEC_CMP_INT(H, T) H(eq_##T) H(ne_##T) H(lt_##T) H(le_##T) H(gt_##T) H(ge_##T)
#define CJI_VEC_CMP_FLT(H, T) CJI_VEC_CMP_INT(H, T) H(equ_##T) H(neu_##T) H(ltu_##T) H(leu_##T) H(gtu_##T) H(geu_##T)

/* ORDER within the comparisons: CJI_CMP_* of lane_ops.h */
#define CJI_VEC_LIST(H) \
    H(add_16) H(add_32) H(add_64) H(sub_16) H(sub_32) H(sub_64) H(mul_16) H(mul_32) H(mul_64) \
    H(mulwide_u32) H(mulwide_s32) H(mad_32) H(mad_64) H(madwide_u32) H(madwide_s32) H(mulhi_u32) H(mulhi_s32) \
    H(and_32) H(and_64) H(or_32) H(or_64) H(xor_32) H(xor_64) H(not_32) H(not_64) \
    H(shl_32) H(shl_64) H(shr_u32) H(shr_s32) H(shr_u64) H(shr_s64) H(shf_l) H(shf_r) \
    H(min_u32) H(min_s32) H(max_u32) H(max_s32) H(min_u64) H(min_s64) H(max_u64) H(max_s64) H(neg_32) H(neg_64) \
    H(abs_32) \
    H(mov_16) H(mov_32) H(mov_64) H(selp_16) H(selp_32) H(selp_64) H(lop3) \
    H(add_f32) H(sub_f32) H(mul_f32) H(fma_f32) H(add_ftz) H(sub_ftz) H(mul_ftz) H(fma_ftz) H(div_f32) H(sqrt_f32) \
    H(neg_f32) H(abs_f32) \
    H(min_f32) H(max_f32) H(add_f64) H(sub_f64) H(mul_f64) H(fma_f64) H(div_f64) H(sqrt_f64) H(neg_f64) H(abs_f64) \
    H(cvt_u32_u64) H(cvt_u64_u32) H(cvt_s64_s32) H(cvt_u32_u16) H(cvt_u16_u32) H(cvt_s32_s16) \
    H(cvt_f32_s32) H(cvt_f32_u32) H(cvt_f64_s32) H(cvt_f64_u32) H(cvt_s32_f32) H(cvt_f64_f32) H(cvt_f32_f64) \
    CJI_VEC_CMP_INT(H, s32) CJI_VEC_CMP_INT(H, u32) CJI_VEC_CMP_INT(H, s64) CJI_VEC_CMP_INT(H, u64) \
    CJI_VEC_CMP_FLT(H, f32) CJI_VEC_CMP_FLT(H, f64)

#define CJI_VEC_FIELD(name) cji_handler name;
typedef struct cji_vec_table { CJI_VEC_LIST(CJI_VEC_FIELD) } cji_vec_table;
#undef CJI_VEC_FIELD

extern const cji_vec_table cji_vec_base;
#if defined __x86_64__ && defined __GNUC__
#define CJI_VEC_HAVE_AVX2 1
extern const cji_vec_table cji_vec_avx2;
bool cji_vec_avx2_sound(void);     /* does this processor's arithmetic keep what IEEE says? emulators' may not */
#endif

/* The table for this processor. */
const cji_vec_table *cji_vec_pick(void);

/* What the comparisons end with: combines with a predicate, writes d and d2.  r->k & CJI_SETP_*. */
enum { CJI_SETP_AND = 1, CJI_SETP_OR = 2, CJI_SETP_XOR = 3, CJI_SETP_BOOL = 3, CJI_SETP_NOT = 4 /* c is negated */,
    CJI_SETP_D2 = 8, CJI_SETP_NO_D = 16 };
static inline void cji_setp_end(cji_warp *w, const cji_rec *r, uint32_t bits)
{
    uint32_t other = 0, not_bits = ~bits, op = r->k & CJI_SETP_BOOL;
    if (op) {
        other = *cji_pred(w, r->c);
        if (r->k & CJI_SETP_NOT) other = ~other;
        if (op == CJI_SETP_AND) bits &= other, not_bits &= other;
        else if (op == CJI_SETP_OR) bits |= other, not_bits |= other;
        else bits ^= other, not_bits ^= other;
    }
    if (!(r->k & CJI_SETP_NO_D)) cji_set_pred(w, r->d, bits);
    if (r->k & CJI_SETP_D2) cji_set_pred(w, r->d2, not_bits);
}

#endif
