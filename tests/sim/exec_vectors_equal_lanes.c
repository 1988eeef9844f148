/* The handlers of 32 lanes give, bit for bit, what the handlers give that work lane by lane, in the plain build and in
 * the one for AVX2, with all lanes and with some, for all their modifiers. */
#include "sim/exec/fp_soft.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_lane.h"
#include "sim/exec/ops_vec.h"

#include "../tap.h"
#include "../whole/same_bits_edges.h"

#define F32     CJI_KF(32, CJI_FP_F32, 0)
#define F64     CJI_KF(64, CJI_FP_F64, 0)
#define I32     CJI_KF(32, 0, 0)
#define S32     (I32 | CJI_KF_SIGNED)
#define I64     CJI_KF(64, 0, 0)
#define S64     (I64 | CJI_KF_SIGNED)
#define F16     CJI_KF(16, CJI_FP_F16, 0)
#define BF16    CJI_KF(16, CJI_FP_BF16, 0)
#define I16     CJI_KF(16, 0, 0)
#define FROM(f) CJI_KF(0, 0, f)
enum {
    FTZ = CJI_KF_FTZ,
    SAT = CJI_KF_SAT,
    RELU = CJI_KF_RELU,
    NANS = CJI_KF_NAN,
    SIGN = CJI_KF_SIGNED,
    HIGH = CJI_KF_HI,
    MAGS = CJI_KF_ABS,
    XORS = CJI_KF_XORSIGN,
    BIT = CJI_KF_B,
    THIRD = CJI_KF_C,
    RND = CJI_KF_RND
};

/* `vary`: modifiers that are tried with and without; RND: all four roundings; `nx`: so many values of k's X.
 * d, a, b, c: bytes of a register, 1: a predicate. */
typedef struct row {
    const char *name;
    size_t handler;
    cji_handler by_lanes;
    cji_lane_fn lane;
    uint32_t k, vary, nx;
    uint8_t d, a, b, c;
} row;
#define ANY(by, name, fn, k, vary, nx, d, a, b, c) \
    { \
#name " as " #fn, offsetof(cji_vec_table, name), cji_h_##by, cji_l_##fn, k, vary, nx, d, a, b, c \
    }
#define ROW(name, fn, k, d, a, b, c)       ANY(lane, name, fn, k, 0, 1, d, a, b, c)
#define VAR(name, fn, k, vary, d, a, b, c) ANY(lane, name, fn, k, vary, 1, d, a, b, c)
#define PAIR(name, fn, k, vary, b, c)      ANY(lane_x2, name, fn, k, vary, 1, 4, 4, b, c)
#define OWN(by, name, k, vary, d, a, b, c) \
    { \
#name, offsetof(cji_vec_table, name), cji_h_##by, NULL, k, vary, 1, d, a, b, c \
    }
#define INTS(op, fn, bits, d, a, b, c) \
    ROW(op##_u##bits, fn, CJI_KF(bits, 0, 0), d, a, b, c), ROW(op##_s##bits, fn, CJI_KF(bits, 0, 0) | SIGN, d, a, b, c)
#define ALL_INTS(op, fn, c) \
    INTS(op, fn, 16, 2, 2, 2, c / 4), INTS(op, fn, 32, 4, 4, 4, c / 2), INTS(op, fn, 64, 8, 8, 8, c)

static const row rows[] = {
    ROW(add_32, iadd, I32, 4, 4, 4, 0),
    ROW(sub_64, isub, I64, 8, 8, 8, 0),
    ROW(mul_16, imul, CJI_KF(16, 0, 0), 2, 2, 2, 0),
    ROW(mul_64, imul, I64, 8, 8, 8, 0),
    ROW(mulwide_u32, imulwide, I32, 8, 4, 4, 0),
    ROW(mulwide_s32, imulwide, S32, 8, 4, 4, 0),
    ROW(madwide_s32, imadwide, S32, 8, 4, 4, 8),
    ROW(mad_32, imad, I32, 4, 4, 4, 4),
    ROW(mulhi_u32, imul, I32 | CJI_KF_HI, 4, 4, 4, 0),
    ROW(mulhi_s32, imul, S32 | CJI_KF_HI, 4, 4, 4, 0),
    ROW(and_64, and, I64, 8, 8, 8, 0),
    ROW(not_32, not, I32, 4, 4, 0, 0),
    ROW(shl_32, shl, I32, 4, 4, 4, 0),
    ROW(shl_64, shl, I64, 8, 8, 4, 0),
    ROW(shr_u32, shr, I32, 4, 4, 4, 0),
    ROW(shr_s32, shr, S32, 4, 4, 4, 0),
    ROW(shr_s64, shr, S64, 8, 8, 4, 0),
    ROW(shf_l, shfl, I32 | CJI_KF_B, 4, 4, 4, 4),
    ROW(shf_r, shfr, I32 | CJI_KF_B, 4, 4, 4, 4),
    ROW(min_s32, imin, S32, 4, 4, 4, 0),
    ROW(max_u64, imax, I64, 8, 8, 8, 0),
    ROW(abs_32, iabs, S32, 4, 4, 0, 0),
    ROW(neg_64, ineg, S64, 8, 8, 0, 0),
    ROW(add_f32, fadd, F32, 4, 4, 4, 0),
    ROW(sub_f32, fsub, F32, 4, 4, 4, 0),
    ROW(mul_f32, fmul, F32, 4, 4, 4, 0),
    ROW(fma_f32, ffma, F32, 4, 4, 4, 4),
    ROW(add_ftz, fadd, F32 | CJI_KF_FTZ, 4, 4, 4, 0),
    ROW(sub_ftz, fsub, F32 | CJI_KF_FTZ, 4, 4, 4, 0),
    ROW(mul_ftz, fmul, F32 | CJI_KF_FTZ, 4, 4, 4, 0),
    ROW(fma_ftz, ffma, F32 | CJI_KF_FTZ, 4, 4, 4, 4),
    ROW(div_f32, fdiv, F32, 4, 4, 4, 0),
    ROW(sqrt_f32, fsqrt, F32, 4, 4, 0, 0),
    ROW(neg_f32, fneg, F32, 4, 4, 0, 0),
    ROW(abs_f32, fabs, F32, 4, 4, 0, 0),
    ROW(min_f32, fmin, F32, 4, 4, 4, 0),
    ROW(max_f32, fmax, F32, 4, 4, 4, 0),
    ROW(add_f64, fadd, F64, 8, 8, 8, 0),
    ROW(sub_f64, fsub, F64, 8, 8, 8, 0),
    ROW(mul_f64, fmul, F64, 8, 8, 8, 0),
    ROW(fma_f64, ffma, F64, 8, 8, 8, 8),
    ROW(div_f64, fdiv, F64, 8, 8, 8, 0),
    ROW(sqrt_f64, fsqrt, F64, 8, 8, 0, 0),
    ROW(neg_f64, fneg, F64, 8, 8, 0, 0),
    ROW(cvt_s64_s32, cvt_int, CJI_KF(64, 0, 6) | CJI_KF_SIGNED, 8, 4, 0, 0),
    ROW(cvt_u64_u32, cvt_int, CJI_KF(64, 0, 2), 8, 4, 0, 0),
    ROW(cvt_u32_u64, cvt_int, CJI_KF(32, 0, 3), 4, 8, 0, 0),
    ROW(cvt_s32_s16, cvt_int, CJI_KF(32, 0, 5) | CJI_KF_SIGNED, 4, 2, 0, 0),
    ROW(cvt_f32_s32, cvt_from_int, CJI_KF(32, CJI_FP_F32, 0) | CJI_KF_SIGNED, 4, 4, 0, 0),
    ROW(cvt_f32_u32, cvt_from_int, CJI_KF(32, CJI_FP_F32, 0), 4, 4, 0, 0),
    ROW(cvt_f64_s32, cvt_from_int, CJI_KF(32, CJI_FP_F64, 0) | CJI_KF_SIGNED, 8, 4, 0, 0),
    ROW(cvt_s32_f32, cvt_to_int, CJI_KF(32, CJI_FP_F32, 0) | CJI_KF_SIGNED | CJI_FP_RZ, 4, 4, 0, 0),
    ROW(cvt_f64_f32, cvt_float, CJI_KF(64, CJI_FP_F64, CJI_FP_F32), 8, 4, 0, 0),
    ROW(cvt_f32_f64, cvt_float, CJI_KF(32, CJI_FP_F32, CJI_FP_F64), 4, 8, 0, 0),
    ROW(eq_s32, icmp, S32 | CJI_KF(0, 0, CJI_CMP_EQ), 1, 4, 4, 0),
    ROW(lt_s32, icmp, S32 | CJI_KF(0, 0, CJI_CMP_LT), 1, 4, 4, 0),
    ROW(ge_u64, icmp, I64 | CJI_KF(0, 0, CJI_CMP_GE), 1, 8, 8, 0),
    ROW(ne_f32, fcmp, F32 | CJI_KF(0, 0, CJI_CMP_NE), 1, 4, 4, 0),
    ROW(equ_f32, fcmp, F32 | CJI_KF(0, 0, CJI_CMP_EQU), 1, 4, 4, 0),
    ROW(leu_f32, fcmp, F32 | CJI_KF(0, 0, CJI_CMP_LEU), 1, 4, 4, 0),
    ROW(gt_f64, fcmp, F64 | CJI_KF(0, 0, CJI_CMP_GT), 1, 8, 8, 0),
    ROW(ne_f64, fcmp, F64 | CJI_KF(0, 0, CJI_CMP_NE), 1, 8, 8, 0),
    ROW(geu_f64, fcmp, F64 | CJI_KF(0, 0, CJI_CMP_GEU), 1, 8, 8, 0),
    /* integers */
    ROW(and_16, and, I16, 2, 2, 2, 0),
    ROW(or_16, or, I16, 2, 2, 2, 0),
    ROW(xor_16, xor, I16, 2, 2, 2, 0),
    ROW(not_16, not, I16, 2, 2, 0, 0),
    ROW(neg_16, ineg, I16 | SIGN, 2, 2, 0, 0),
    ROW(abs_16, iabs, I16 | SIGN, 2, 2, 0, 0),
    ROW(abs_64, iabs, S64, 8, 8, 0, 0),
    ROW(cnot_16, cnot, I16, 2, 2, 0, 0),
    ROW(cnot_32, cnot, I32, 4, 4, 0, 0),
    ROW(cnot_64, cnot, I64, 8, 8, 0, 0),
    ROW(shl_16, shl, I16, 2, 2, 4, 0),
    ROW(shr_u16, shr, I16, 2, 2, 4, 0),
    ROW(shr_s16, shr, I16 | SIGN, 2, 2, 4, 0),
    INTS(min, imin, 16, 2, 2, 2, 0),
    INTS(max, imax, 16, 2, 2, 2, 0),
    VAR(min_relu_s32, imin, S32, RELU, 4, 4, 4, 0),
    VAR(max_relu_s32, imax, S32, RELU, 4, 4, 4, 0),
    PAIR(add_16x2, iadd, I16, 0, 4, 0),
    PAIR(min_u16x2, imin, I16, 0, 4, 0),
    PAIR(max_u16x2, imax, I16, 0, 4, 0),
    PAIR(min_s16x2, imin, I16 | SIGN, RELU, 4, 0),
    PAIR(max_s16x2, imax, I16 | SIGN, RELU, 4, 0),
    ROW(add_sat_s32, iadd, S32 | SAT, 4, 4, 4, 0),
    ROW(sub_sat_s32, isub, S32 | SAT, 4, 4, 4, 0),
    INTS(mulwide, imulwide, 16, 4, 2, 2, 0),
    INTS(madwide, imadwide, 16, 4, 2, 2, 4),
    ROW(mulhi_u16, imul, I16 | HIGH, 2, 2, 2, 0),
    ROW(mulhi_s16, imul, I16 | HIGH | SIGN, 2, 2, 2, 0),
    ROW(mulhi_u64, imul, I64 | HIGH, 8, 8, 8, 0),
    ROW(mulhi_s64, imul, S64 | HIGH, 8, 8, 8, 0),
    ROW(mad_16, imad, I16, 2, 2, 2, 2),
    ROW(mad_64, imad, I64, 8, 8, 8, 8),
    ROW(madhi_u16, imad, I16 | HIGH, 2, 2, 2, 2),
    ROW(madhi_s16, imad, I16 | HIGH | SIGN, 2, 2, 2, 2),
    ROW(madhi_u32, imad, I32 | HIGH, 4, 4, 4, 4),
    ROW(madhi_s32, imad, S32 | HIGH, 4, 4, 4, 4),
    ROW(madhi_u64, imad, I64 | HIGH, 8, 8, 8, 8),
    ROW(madhi_s64, imad, S64 | HIGH, 8, 8, 8, 8),
    ROW(madhi_sat_s32, imad, S32 | HIGH | SAT, 4, 4, 4, 4),
    INTS(mul24, imul24, 32, 4, 4, 4, 0),
    INTS(mad24, imad24, 32, 4, 4, 4, 4),
    ROW(mul24hi_u32, imul24, I32 | HIGH, 4, 4, 4, 0),
    ROW(mul24hi_s32, imul24, S32 | HIGH, 4, 4, 4, 0),
    ROW(mad24hi_u32, imad24, I32 | HIGH, 4, 4, 4, 4),
    ROW(mad24hi_s32, imad24, S32 | HIGH, 4, 4, 4, 4),
    ROW(mad24hi_sat_s32, imad24, S32 | HIGH | SAT, 4, 4, 4, 4),
    ALL_INTS(sad, isad, 8),
    ALL_INTS(div, idiv, 0),
    ALL_INTS(rem, irem, 0),
    VAR(dp4a, dp4a, I32, SIGN | BIT, 4, 4, 4, 4),
    VAR(dp2a, dp2a, I32, SIGN | BIT | HIGH, 4, 4, 4, 4),
    ROW(popc_32, popc, I32, 4, 4, 0, 0),
    ROW(popc_64, popc, I64, 4, 8, 0, 0),
    ROW(clz_32, clz, I32, 4, 4, 0, 0),
    ROW(clz_64, clz, I64, 4, 8, 0, 0),
    ROW(brev_32, brev, I32, 4, 4, 0, 0),
    ROW(brev_64, brev, I64, 8, 8, 0, 0),
    VAR(bfind_u32, bfind, I32, BIT, 4, 4, 0, 0),
    VAR(bfind_s32, bfind, S32, BIT, 4, 4, 0, 0),
    VAR(bfind_u64, bfind, I64, BIT, 4, 8, 0, 0),
    VAR(bfind_s64, bfind, S64, BIT, 4, 8, 0, 0),
    ROW(fns, fns, I32, 4, 4, 4, 4),
    INTS(bfe, bfe, 32, 4, 4, 4, 4),
    INTS(bfe, bfe, 64, 8, 8, 4, 4),
    VAR(bmsk, bmsk, I32, BIT, 4, 4, 4, 0),
    VAR(szext, szext, I32, BIT | SIGN, 4, 4, 4, 0),
    VAR(shf_l_any, shfl, I32, BIT, 4, 4, 4, 4),
    VAR(shf_r_any, shfr, I32, BIT, 4, 4, 4, 4),
    ROW(prmt, prmt, I32, 4, 4, 4, 4),
    ANY(lane, prmt_mode, prmt, I32 | CJI_KF(0, 0, CJI_PRMT_F4E), 0, 1, 4, 4, 4, 4),
    ANY(lane, prmt_mode, prmt, I32 | CJI_KF(0, 0, CJI_PRMT_B4E), 0, 1, 4, 4, 4, 4),
    ANY(lane, prmt_mode, prmt, I32 | CJI_KF(0, 0, CJI_PRMT_RC8), 0, 1, 4, 4, 4, 4),
    ANY(lane, prmt_mode, prmt, I32 | CJI_KF(0, 0, CJI_PRMT_ECL), 0, 1, 4, 4, 4, 4),
    ANY(lane, prmt_mode, prmt, I32 | CJI_KF(0, 0, CJI_PRMT_ECR), 0, 1, 4, 4, 4, 4),
    ANY(lane, prmt_mode, prmt, I32 | CJI_KF(0, 0, CJI_PRMT_RC16), 0, 1, 4, 4, 4, 4),
    OWN(bfi, bfi_32, 32, 0, 4, 4, 4, 4),
    OWN(bfi, bfi_64, 64, 0, 8, 8, 8, 4),
    OWN(carry, carry_32, 0, CJI_CC_SUB | CJI_CC_IN | CJI_CC_OUT, 4, 4, 4, 0),
    OWN(carry, carry_64, CJI_CC_64, CJI_CC_SUB | CJI_CC_IN | CJI_CC_OUT, 8, 8, 8, 0),
    OWN(carry, carry_mad_32, CJI_CC_MAD, CJI_CC_IN | CJI_CC_OUT, 4, 4, 4, 4),
    OWN(carry, carry_mad_64, CJI_CC_MAD | CJI_CC_64, CJI_CC_IN | CJI_CC_OUT, 8, 8, 8, 8),
    OWN(carry, carry_madhi_u32, CJI_CC_MAD | CJI_CC_HI, CJI_CC_IN | CJI_CC_OUT, 4, 4, 4, 4),
    OWN(carry, carry_madhi_s32, CJI_CC_MAD | CJI_CC_HI | CJI_CC_SIGNED, CJI_CC_IN | CJI_CC_OUT, 4, 4, 4, 4),
    OWN(carry, carry_madhi_u64, CJI_CC_MAD | CJI_CC_HI | CJI_CC_64, CJI_CC_IN | CJI_CC_OUT, 8, 8, 8, 8),
    OWN(carry, carry_madhi_s64, CJI_CC_MAD | CJI_CC_HI | CJI_CC_64 | CJI_CC_SIGNED, CJI_CC_IN | CJI_CC_OUT, 8, 8, 8, 8),
    /* f32 and f64 */
    VAR(add_f32_any, fadd, F32, RND | FTZ | SAT, 4, 4, 4, 0),
    VAR(sub_f32_any, fsub, F32, RND | FTZ | SAT, 4, 4, 4, 0),
    VAR(mul_f32_any, fmul, F32, RND | FTZ | SAT, 4, 4, 4, 0),
    VAR(fma_f32_any, ffma, F32, RND | FTZ | SAT, 4, 4, 4, 4),
    VAR(div_f32_any, fdiv, F32, RND | FTZ, 4, 4, 4, 0),
    VAR(rcp_f32_any, frcp, F32, RND | FTZ, 4, 4, 0, 0),
    VAR(sqrt_f32_any, fsqrt, F32, RND | FTZ, 4, 4, 0, 0),
    VAR(add_f64_any, fadd, F64, RND, 8, 8, 8, 0),
    VAR(sub_f64_any, fsub, F64, RND, 8, 8, 8, 0),
    VAR(mul_f64_any, fmul, F64, RND, 8, 8, 8, 0),
    VAR(fma_f64_any, ffma, F64, RND, 8, 8, 8, 8),
    VAR(div_f64_any, fdiv, F64, RND, 8, 8, 8, 0),
    VAR(rcp_f64_any, frcp, F64, RND, 8, 8, 0, 0),
    VAR(sqrt_f64_any, fsqrt, F64, RND, 8, 8, 0, 0),
    ROW(rcp_f64, frcp, F64, 8, 8, 0, 0),
    ROW(abs_f64, fabs, F64, 8, 8, 0, 0),
    VAR(abs_f32_ftz, fabs, F32, FTZ, 4, 4, 0, 0),
    VAR(neg_f32_ftz, fneg, F32, FTZ, 4, 4, 0, 0),
    VAR(min_f32_any, fmin, F32, FTZ | NANS | MAGS | XORS | THIRD, 4, 4, 4, 4),
    VAR(max_f32_any, fmax, F32, FTZ | NANS | MAGS | XORS | THIRD, 4, 4, 4, 4),
    ROW(min_f64, fmin, F64, 8, 8, 8, 0),
    ROW(max_f64, fmax, F64, 8, 8, 8, 0),
    ROW(copysign_f32, copysign, F32, 4, 4, 4, 0),
    ROW(copysign_f64, copysign, F64, 8, 8, 8, 0),
    ANY(lane, testp_f32, testp, F32, 0, 6, 1, 4, 0, 0),
    ANY(lane, testp_f64, testp, F64, 0, 6, 1, 8, 0, 0),
    ROW(slct_s32_16, slct_int, I16, 2, 2, 2, 4),
    ROW(slct_s32_32, slct_int, I32, 4, 4, 4, 4),
    ROW(slct_s32_64, slct_int, I64, 8, 8, 8, 4),
    VAR(slct_f32_16, slct_float, I16, FTZ, 2, 2, 2, 4),
    VAR(slct_f32_32, slct_float, I32, FTZ, 4, 4, 4, 4),
    VAR(slct_f32_64, slct_float, I64, FTZ, 8, 8, 8, 4),
    /* f16 and bf16 */
    VAR(add_f16, fadd, F16, FTZ | SAT, 2, 2, 2, 0),
    VAR(sub_f16, fsub, F16, FTZ | SAT, 2, 2, 2, 0),
    VAR(mul_f16, fmul, F16, FTZ | SAT, 2, 2, 2, 0),
    VAR(fma_f16, ffma, F16, FTZ | SAT | RELU, 2, 2, 2, 2),
    PAIR(add_f16x2, fadd, F16, FTZ | SAT, 4, 0),
    PAIR(sub_f16x2, fsub, F16, FTZ | SAT, 4, 0),
    PAIR(mul_f16x2, fmul, F16, FTZ | SAT, 4, 0),
    PAIR(fma_f16x2, ffma, F16, FTZ | SAT | RELU, 4, 4),
    ROW(add_bf16, fadd, BF16, 2, 2, 2, 0),
    ROW(sub_bf16, fsub, BF16, 2, 2, 2, 0),
    ROW(mul_bf16, fmul, BF16, 2, 2, 2, 0),
    VAR(fma_bf16, ffma, BF16, RELU, 2, 2, 2, 2),
    PAIR(add_bf16x2, fadd, BF16, 0, 4, 0),
    PAIR(sub_bf16x2, fsub, BF16, 0, 4, 0),
    PAIR(mul_bf16x2, fmul, BF16, 0, 4, 0),
    PAIR(fma_bf16x2, ffma, BF16, RELU, 4, 4),
    VAR(abs_half, fabs, F16, FTZ, 2, 2, 0, 0),
    VAR(neg_half, fneg, F16, FTZ, 2, 2, 0, 0),
    VAR(abs_half, fabs, BF16, 0, 2, 2, 0, 0),
    PAIR(abs_halfx2, fabs, F16, FTZ, 0, 0),
    PAIR(neg_halfx2, fneg, F16, FTZ, 0, 0),
    PAIR(neg_halfx2, fneg, BF16, 0, 0, 0),
    VAR(min_half, fmin, F16, FTZ | NANS | MAGS | XORS, 2, 2, 2, 0),
    VAR(max_half, fmax, BF16, NANS | MAGS | XORS | THIRD, 2, 2, 2, 2),
    PAIR(min_halfx2, fmin, BF16, NANS | MAGS | XORS, 4, 0),
    PAIR(max_halfx2, fmax, F16, FTZ | NANS | MAGS | XORS | THIRD, 4, 4),
    /* comparisons */
    ANY(lane_setp, setp_i16, icmp, I16, SIGN, 6, 1, 2, 2, 0),
    ANY(lane_setp, setp_half, fcmp, F16, FTZ, 14, 1, 2, 2, 0),
    ANY(lane_setp, setp_half, fcmp, BF16, 0, 14, 1, 2, 2, 0),
    ANY(lane_setp, setp_f32, fcmp, F32, FTZ, 14, 1, 4, 4, 0),
    ANY(lane_setp, setp_f64, fcmp, F64, 0, 14, 1, 8, 8, 0),
    ANY(lane_setp_x2, setp_halfx2, fcmp, F16, FTZ, 14, 1, 4, 4, 0),
    ANY(lane_setp_x2, setp_halfx2, fcmp, BF16, 0, 14, 1, 4, 4, 0),
    ANY(lane_set_x2, set_halfx2, fcmp, F16, FTZ, 14, 4, 4, 4, 0),
    ANY(lane_set_x2, set_halfx2, fcmp, BF16, FTZ, 14, 4, 4, 4, 0),
    /* conversions */
    VAR(cvt_int, cvt_int, CJI_KF(8, 0, 2), SIGN | SAT, 2, 4, 0, 0),
    VAR(cvt_int, cvt_int, CJI_KF(8, 0, 6), SIGN | SAT, 4, 4, 0, 0),
    VAR(cvt_int, cvt_int, CJI_KF(16, 0, 7), SIGN | SAT, 2, 8, 0, 0),
    VAR(cvt_int, cvt_int, CJI_KF(32, 0, 3), SIGN | SAT, 8, 8, 0, 0),
    VAR(cvt_int, cvt_int, CJI_KF(64, 0, 3), SIGN | SAT, 8, 8, 0, 0),
    VAR(cvt_int, cvt_int, CJI_KF(64, 0, 7), SIGN | SAT, 8, 8, 0, 0),
    VAR(cvt_int, cvt_int, CJI_KF(64, 0, 0), SIGN | SAT, 8, 2, 0, 0),
    VAR(cvt_int, cvt_int, CJI_KF(32, 0, 4), SIGN | SAT, 4, 4, 0, 0),
    VAR(cvt_to_int, cvt_to_int, CJI_KF(8, CJI_FP_F32, 0), RND | FTZ | SIGN, 4, 4, 0, 0),
    VAR(cvt_to_int, cvt_to_int, CJI_KF(16, CJI_FP_F16, 0), RND | SIGN, 2, 2, 0, 0),
    VAR(cvt_to_int, cvt_to_int, CJI_KF(32, CJI_FP_F32, 0), RND | FTZ | SIGN, 4, 4, 0, 0),
    VAR(cvt_to_int, cvt_to_int, CJI_KF(64, CJI_FP_F32, 0), RND | FTZ | SIGN, 8, 4, 0, 0),
    VAR(cvt_to_int, cvt_to_int, CJI_KF(32, CJI_FP_F64, 0), RND | SIGN, 4, 8, 0, 0),
    VAR(cvt_to_int, cvt_to_int, CJI_KF(64, CJI_FP_F64, 0), RND | SIGN, 8, 8, 0, 0),
    VAR(cvt_to_int, cvt_to_int, CJI_KF(16, CJI_FP_F64, 0), RND | SIGN, 8, 8, 0, 0),
    VAR(cvt_to_int, cvt_to_int, CJI_KF(32, CJI_FP_BF16, 0), RND | SIGN, 4, 2, 0, 0),
    VAR(cvt_from_int, cvt_from_int, CJI_KF(64, CJI_FP_F32, 0), RND | SIGN | SAT, 4, 8, 0, 0),
    VAR(cvt_from_int, cvt_from_int, CJI_KF(32, CJI_FP_F32, 0), RND | SIGN | SAT, 4, 4, 0, 0),
    VAR(cvt_from_int, cvt_from_int, CJI_KF(64, CJI_FP_F64, 0), RND | SIGN | SAT, 8, 8, 0, 0),
    VAR(cvt_from_int, cvt_from_int, CJI_KF(8, CJI_FP_F64, 0), RND | SIGN | SAT, 8, 4, 0, 0),
    VAR(cvt_from_int, cvt_from_int, CJI_KF(64, CJI_FP_F16, 0), RND | SIGN | SAT, 2, 8, 0, 0),
    VAR(cvt_from_int, cvt_from_int, CJI_KF(32, CJI_FP_BF16, 0), RND | SIGN, 2, 4, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(32, CJI_FP_F32, CJI_FP_F64), RND | FTZ | SAT, 4, 8, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(32, CJI_FP_F32, CJI_FP_F32), FTZ | SAT, 4, 4, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(64, CJI_FP_F64, CJI_FP_F32), FTZ | SAT, 8, 4, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(64, CJI_FP_F64, CJI_FP_F64), SAT, 8, 8, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(64, CJI_FP_F64, CJI_FP_F16), SAT, 8, 2, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(16, CJI_FP_F16, CJI_FP_F64), RND | SAT, 2, 8, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(16, CJI_FP_F16, CJI_FP_F32), RND | FTZ | RELU | BIT, 2, 4, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(16, CJI_FP_F16, CJI_FP_F32), RND | FTZ | SAT, 2, 4, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(16, CJI_FP_BF16, CJI_FP_F32), RND | FTZ | RELU | BIT, 2, 4, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(16, CJI_FP_BF16, CJI_FP_F64), RND, 2, 8, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(16, CJI_FP_F16, CJI_FP_BF16), RND, 2, 2, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(16, CJI_FP_F16, CJI_FP_F16), SAT, 2, 2, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(32, CJI_FP_F32, CJI_FP_F16), FTZ | SAT, 4, 2, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(32, CJI_FP_F32, CJI_FP_BF16), FTZ | SAT, 4, 2, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(32, CJI_FP_TF32, CJI_FP_F32), RND | RELU | BIT, 4, 4, 0, 0),
    VAR(cvt_float, cvt_float, CJI_KF(32, CJI_FP_TF32, CJI_FP_F32) | CJI_FP_RNA, BIT, 4, 4, 0, 0),
    VAR(cvt_integral, cvt_integral, CJI_KF(32, CJI_FP_F32, 0), RND | FTZ | SAT, 4, 4, 0, 0),
    VAR(cvt_integral, cvt_integral, CJI_KF(64, CJI_FP_F64, 0), RND | SAT, 8, 8, 0, 0),
    VAR(cvt_integral, cvt_integral, CJI_KF(16, CJI_FP_F16, 0), RND | SAT, 2, 2, 0, 0),
    VAR(cvt_integral, cvt_integral, CJI_KF(16, CJI_FP_BF16, 0), RND | SAT, 2, 2, 0, 0),
    VAR(cvt_pack, cvt_pack, CJI_KF(16, CJI_FP_F16, CJI_FP_F32), RND | RELU | BIT, 4, 4, 4, 0),
    VAR(cvt_pack, cvt_pack, CJI_KF(16, CJI_FP_BF16, CJI_FP_F32), RND | RELU | BIT, 4, 4, 4, 0),
    VAR(cvt_pack, cvt_pack, CJI_KF(8, CJI_FP_E4M3, CJI_FP_F32) | BIT, RELU, 2, 4, 4, 0),
    VAR(cvt_pack, cvt_pack, CJI_KF(8, CJI_FP_E5M2, CJI_FP_F32) | BIT, RELU, 2, 4, 4, 0),
    VAR(cvt_pack, cvt_pack, CJI_KF(8, CJI_FP_E2M3, CJI_FP_F32) | BIT, RELU, 2, 4, 4, 0),
    VAR(cvt_pack, cvt_pack, CJI_KF(8, CJI_FP_E3M2, CJI_FP_F32) | BIT, RELU, 2, 4, 4, 0),
    VAR(cvt_pack, cvt_pack, CJI_KF(4, CJI_FP_E2M1, CJI_FP_F32) | BIT, RELU, 2, 4, 4, 0),
    VAR(cvt_unpack, cvt_unpack, CJI_KF(16, CJI_FP_E4M3, CJI_FP_F16) | BIT, RELU, 2, 4, 0, 0),
    VAR(cvt_unpack, cvt_unpack, CJI_KF(16, CJI_FP_E5M2, CJI_FP_F16) | BIT, RELU, 2, 4, 0, 0),
    VAR(cvt_unpack, cvt_unpack, CJI_KF(8, CJI_FP_F16, CJI_FP_E4M3), RELU, 4, 2, 0, 0),
    VAR(cvt_unpack, cvt_unpack, CJI_KF(8, CJI_FP_F16, CJI_FP_E5M2), RELU, 4, 2, 0, 0),
    VAR(cvt_unpack, cvt_unpack, CJI_KF(8, CJI_FP_F16, CJI_FP_E2M3), RELU, 4, 2, 0, 0),
    VAR(cvt_unpack, cvt_unpack, CJI_KF(8, CJI_FP_F16, CJI_FP_E3M2), RELU, 4, 2, 0, 0),
    VAR(cvt_unpack, cvt_unpack, CJI_KF(4, CJI_FP_F16, CJI_FP_E2M1), RELU, 4, 2, 0, 0),
    /* approximations */
    VAR(rcp_approx, rcp_approx, F32, FTZ, 4, 4, 0, 0),
    VAR(sqrt_approx, sqrt_approx, F32, FTZ, 4, 4, 0, 0),
    VAR(div_approx, div_full, F32, FTZ, 4, 4, 4, 0),
    VAR(div_approx, div_approx, F32, FTZ, 4, 4, 4, 0),
    VAR(rsqrt_approx, rsqrt_approx, F32, FTZ, 4, 4, 0, 0),
    ROW(rcp_approx64, rcp_approx64, F64, 8, 8, 0, 0),
    ROW(rsqrt_approx64, rsqrt_approx64, F64, 8, 8, 0, 0),
    ROW(rsqrt64, rsqrt64, F64, 8, 8, 0, 0),
    VAR(sin_f32, sin_approx, F32, FTZ, 4, 4, 0, 0),
    VAR(cos_f32, cos_approx, F32, FTZ, 4, 4, 0, 0),
    VAR(lg2_f32, lg2_approx, F32, FTZ, 4, 4, 0, 0),
    VAR(ex2_f32, ex2_approx, F32, FTZ, 4, 4, 0, 0),
    VAR(tanh_f32, tanh_approx, F32, FTZ, 4, 4, 0, 0),
    VAR(ex2_half, ex2_approx, F16, FTZ, 2, 2, 0, 0),
    VAR(ex2_half, ex2_approx, BF16, FTZ, 2, 2, 0, 0),
    VAR(tanh_half, tanh_approx, F16, 0, 2, 2, 0, 0),
    VAR(tanh_half, tanh_approx, BF16, 0, 2, 2, 0, 0),
    PAIR(ex2_halfx2, ex2_approx, F16, FTZ, 0, 0),
    PAIR(ex2_halfx2, ex2_approx, BF16, FTZ, 0, 0),
    PAIR(tanh_halfx2, tanh_approx, F16, 0, 0, 0),
    PAIR(tanh_halfx2, tanh_approx, BF16, 0, 0, 0),
};

static uint64_t equal_seed = 1;
static uint64_t equal_rand(void)
{
    equal_seed = equal_seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t x = equal_seed ^ equal_seed >> 31;
    return x * UINT64_C(0x9e3779b97f4a7c15);
}

/* Values that matter to the width: special ones, small ones, any. */
static uint64_t equal_value(unsigned bytes)
{
    static const uint32_t s32[] = { 0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x800000,
                                    0x3f800000, 0xbf800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
                                    0xffc00001, 0x4effffff, 0x4f000000, 0xcf000000 };
    static const uint64_t s64[] = { 0,
                                    UINT64_C(1) << 63,
                                    1,
                                    UINT64_C(0xfffffffffffff),
                                    UINT64_C(0x10000000000000),
                                    UINT64_C(0x3ff0000000000000),
                                    UINT64_C(0xbff0000000000000),
                                    UINT64_C(0x7fefffffffffffff),
                                    UINT64_C(0x7ff0000000000000),
                                    UINT64_C(0xfff0000000000000),
                                    UINT64_C(0x7ff8000000000001),
                                    UINT64_C(0x380fffffe0000000) };
    uint64_t r = equal_rand(), v = equal_rand();
    if (r % 4 == 0) return bytes == 8 ? s64[(r >> 8) % (sizeof s64 / 8)] : s32[(r >> 8) % (sizeof s32 / 4)];
    if (r % 4 == 1) return v % 70;
    if (r % 4 == 2)
        return bytes == 8 ? (v & UINT64_C(0x800fffffffffffff)) | (1000 + (r >> 8) % 46) << 52
                          : (v & 0x807fffff) | (100 + (r >> 8) % 54) << 23;
    return v;
}

static unsigned equal_width(unsigned bytes)
{
    return bytes == 1 ? CJI_WP : bytes == 2 ? CJI_W16 : bytes == 4 ? CJI_W32 : bytes == 8 ? CJI_W64 : CJI_WNONE;
}

/* What all lanes of a round have in common: handlers have ways of their own for such. */
enum { ALL_ANY, ALL_NARROW_B, ALL_NARROW, ALL_MULTIPLES, ALL_MIDDLE, ALL_BUT_ONE, ALL_KINDS };

/* A number of 64 bits that 32 bits hold, with or without a sign. */
static uint64_t equal_narrow(uint64_t v)
{
    return v >> 40 & 1 ? (uint32_t)v >> (v >> 41 & 31) : (uint64_t)((int64_t)(int32_t)(uint32_t)v >> (v >> 41 & 31));
}

/* A floating-point number: a zero, or with an exponent near the middle (f16: any) and mostly few bits. With
 * `all` it may also be subnormal, infinite or of any exponent. */
static uint64_t equal_number(unsigned ebits, unsigned mbits, bool all)
{
    uint64_t r = equal_rand(), top = (uint64_t)(r & 1) << (ebits + mbits), ones = (UINT64_C(1) << ebits) - 1;
    uint64_t m = equal_rand() & ((UINT64_C(1) << mbits) - 1), e = ones / 2 + (r >> 8 & 7) - 3;
    if (r >> 12 & 1) e = ebits > 5 ? ones / 2 + (r >> 8 & 63) - 32 : 1 + (r >> 8 & 63) % (ones - 1);
    if (r >> 1 & 1) m = m >> (r >> 16) % mbits << (r >> 16) % mbits;
    if ((r >> 13 & 7) == 0) m = 0;
    if ((r >> 24 & 7) == 0) return top;
    if (all && r >> 28 & 1) e = (r >> 32) % ones;
    if (all && (r >> 28 & 14) == 2) e = 0;
    if (all && (r >> 28 & 31) == 4) return top | ones << mbits;
    return top | e << mbits | m;
}

/* Numbers of the row's format, which is also that of a pair. */
static void equal_numbers(cji_warp *w, const row *x, unsigned lane, bool all)
{
    const uint8_t bytes[] = { x->a, x->b, x->c };
    bool bf16 = CJI_KF_FMT(x->k) == CJI_FP_BF16, small = CJI_KF_BITS(x->k) == 16;
    unsigned e = bf16 ? 8 : 5, m = bf16 ? 7 : 10;
    for (unsigned j = 0; j < 3; j++) {
        uint64_t v = bytes[j] == 8                     ? equal_number(11, 52, all)
                     : bytes[j] == 4 && small          ? equal_number(e, m, all) << 16 | equal_number(e, m, all)
                     : bytes[j] == 4                   ? equal_number(8, 23, all)
                                                       : equal_number(e, m, all);
        cji_put(w, equal_width(bytes[j]), 256 * (j + 1), lane, v);
    }
}

/* Numbers near the middle in all lanes, or in all but one. Operands of 64 bits: divisors of 32 bits, both of 32 bits,
 * or dividends next to multiples of the divisor. */
static void equal_round(cji_warp *w, const row *x, unsigned lane, unsigned kind)
{
    if (kind >= ALL_MIDDLE) equal_numbers(w, x, lane, kind == ALL_BUT_ONE && lane == 13);
    if (x->a != 8 || x->b != 8 || kind == ALL_ANY || kind >= ALL_MIDDLE) return;
    uint64_t a = cji_get(w, CJI_W64, 256, lane), b = cji_get(w, CJI_W64, 512, lane), r = equal_rand();
    if (kind == ALL_MULTIPLES) {
        b >>= r & 63;
        a = (b ? (a / b) * b : 0) + (r >> 8 & 3) - 1;
    } else {
        b = equal_narrow(b);
        if (kind == ALL_NARROW) a = equal_narrow(a);
        else if (r & 1) a = b * (r >> 16) - (r >> 8 & 1);
    }
    cji_put(w, CJI_W64, 256, lane, a);
    cji_put(w, CJI_W64, 512, lane, b);
}

/* Operands of one lane: any, or of one recipe of the edges, as numbers of any type of their width. */
static void equal_operands(cji_warp *w, const row *x, unsigned lane)
{
    static const uint8_t t2[] = { CJ_F16, CJ_BF16, CJ_U16, CJ_U16 }, t4[] = { CJ_F32, CJ_F16X2, CJ_BF16X2, CJ_U32 },
                         t8[] = { CJ_F64, CJ_F64, CJ_U64, CJ_S64 };
    uint64_t r = equal_rand();
    const uint8_t bytes[] = { x->a, x->b, x->c };
    for (unsigned j = 0; j < 3; j++) {
        uint64_t v = equal_value(bytes[j]);
        const uint8_t *t = bytes[j] == 8 ? t8 : bytes[j] == 2 ? t2 : t4;
        if (r % 4) v = edge_value(t[r >> 4 & 3], j, (unsigned)(r >> 8 & 0xffff));
        cji_put(w, equal_width(bytes[j]), 256 * (j + 1), lane, v);
    }
    cji_put(w, CJI_W32, 1024, lane, equal_value(4));
    cji_put(w, CJI_WP, 1280, lane, equal_rand());
}

/* One variant: the handler's frame against that of the handler by lanes. */
static int differ(const cji_vec_table *table, const row *x, uint32_t k, int rounds)
{
    static _Alignas(64) unsigned char frames[2][7 * 256];
    static cji_warp w;
    static uint32_t ext[2] = { CJI_W32, 1024 };
    const cji_exec_program p = { .ext = ext };
    cji_handler h;
    memcpy(&h, (const char *)table + x->handler, sizeof h);
    bool plain_compare = x->by_lanes == cji_h_lane && x->d == 1 && (x->lane == cji_l_icmp || x->lane == cji_l_fcmp);
    int bad = 0;
    w.p = &p;
    for (int n = 0; n < rounds; n++) {
        cji_rec r = { .lane = x->lane, .k = k, .d = 0, .a = 256, .b = 512, .c = 768, .imm = 1024, .d2 = 1536 };
        r.wd = (uint8_t)equal_width(x->d), r.wa = (uint8_t)equal_width(x->a);
        r.wb = (uint8_t)equal_width(x->b), r.wc = (uint8_t)equal_width(x->c);
        r.count = (uint8_t)CJI_KF_BITS(k);
        if (x->by_lanes == cji_h_lane_setp || x->by_lanes == cji_h_lane_setp_x2 || x->by_lanes == cji_h_lane_set_x2) {
            r.c = 1280;
            r.flags = (uint8_t)(equal_rand() % 4 | (equal_rand() & (CJI_SETP_NOT | CJI_SETP_D2 | CJI_SETP_NO_D)));
            r.imm = 0x3c00;
        }
        uint32_t mask = n % 2 ? CJI_FULL : (uint32_t)equal_rand() | 1, cc = (uint32_t)equal_rand(), cc_of[2];
        w.r = frames[0];
        memset(frames[0], 0x5a, sizeof frames[0]);
        for (unsigned l = 0; l < CJI_LANES; l++) {
            equal_operands(&w, x, l);
            equal_round(&w, x, l, (unsigned)n / 2 % ALL_KINDS);
        }
        memcpy(frames[1], frames[0], sizeof frames[0]);
        for (int f = 0; f < 2; f++) {
            w.r = frames[f];
            w.mask = mask;
            w.cc = cc;
            cji_rec t = r;
            if (!f && plain_compare) t.k = 0; /* its k is what to do with the result */
            (f ? x->by_lanes : h)(&w, &t);
            cc_of[f] = w.cc;
        }
        bad += memcmp(frames[0], frames[1], sizeof frames[0]) != 0 || cc_of[0] != cc_of[1];
    }
    return bad;
}

/* All variants of a row: every part of `vary`, every X. */
static int all_variants(const cji_vec_table *table, const row *x, int rounds)
{
    uint32_t flags = x->vary & ~(uint32_t)RND, part = 0;
    bool roundings = (x->vary & RND) == RND;
    int bad = 0;
    if (!x->lane) flags = x->vary, roundings = false;
    do {
        for (uint32_t rnd = 0; rnd < (roundings ? 4 : 1); rnd++)
            for (uint32_t n = 0; n < x->nx; n++) {
                uint32_t k = x->k | part | rnd | FROM(n);
                int differing = differ(table, x, k, rounds);
                if (differing) tap_diag("%s: %d of %d with modifiers %#x", x->name, differing, rounds, k);
                bad += differing;
            }
        part = (part - flags) & flags;
    } while (part);
    return bad;
}

int main(void)
{
    tap_plan(0);
    int rounds = tap_is_slow() ? 2 * ALL_KINDS : 60;
    const cji_vec_table *own = cji_vec_pick();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tap_is_int(all_variants(&cji_vec_base, &rows[i], rounds), 0, "%s, plain", rows[i].name);
        if (own != &cji_vec_base)
            tap_is_int(all_variants(own, &rows[i], rounds), 0, "%s, for this processor", rows[i].name);
    }
    return tap_done();
}
