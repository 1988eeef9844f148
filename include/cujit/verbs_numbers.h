/* cujit/verbs_numbers.h - verbs take C numbers where they take a cj_val.
 * Made by tools/gennumbers.sh from the headers: do not edit.
 * C11 has macros, C++ overloads, and C99 the functions.  ptx.h includes it.  A macro records the line
 * of its call, as lines.h does. */
#ifndef CUJIT_PTX_H
#include <cujit/ptx.h> /* which includes this file at its place */
#elif !defined CUJIT_VERBS_NUMBERS_H
#define CUJIT_VERBS_NUMBERS_H

#if defined __cplusplus
template<class T1, class T2> inline cj_val cj_add(cj_fn *f, T1 a, T2 b) { return (cj_add)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2> inline cj_val cj_sub(cj_fn *f, T1 a, T2 b) { return (cj_sub)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2> inline cj_val cj_mul(cj_fn *f, T1 a, T2 b) { return (cj_mul)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2> inline cj_val cj_mul_hi(cj_fn *f, T1 a, T2 b) { return (cj_mul_hi)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2> inline cj_val cj_mul_wide(cj_fn *f, T1 a, T2 b) { return (cj_mul_wide)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2, class T3> inline cj_val cj_mad(cj_fn *f, T1 a, T2 b, T3 c) { return (cj_mad)(f, cji_lift(f, a), cji_lift(f, b), cji_lift(f, c)); }
template<class T1, class T2, class T3> inline cj_val cj_fma(cj_fn *f, T1 a, T2 b, T3 c) { return (cj_fma)(f, cji_lift(f, a), cji_lift(f, b), cji_lift(f, c)); }
template<class T1, class T2> inline cj_val cj_div(cj_fn *f, T1 a, T2 b) { return (cj_div)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2> inline cj_val cj_rem(cj_fn *f, T1 a, T2 b) { return (cj_rem)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2> inline cj_val cj_min(cj_fn *f, T1 a, T2 b) { return (cj_min)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2> inline cj_val cj_max(cj_fn *f, T1 a, T2 b) { return (cj_max)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1> inline cj_val cj_neg(cj_fn *f, T1 a) { return (cj_neg)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_abs(cj_fn *f, T1 a) { return (cj_abs)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_sqrt(cj_fn *f, T1 a) { return (cj_sqrt)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_rcp(cj_fn *f, T1 a) { return (cj_rcp)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_floor(cj_fn *f, T1 a) { return (cj_floor)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_ceil(cj_fn *f, T1 a) { return (cj_ceil)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_trunc(cj_fn *f, T1 a) { return (cj_trunc)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_round(cj_fn *f, T1 a) { return (cj_round)(f, cji_lift(f, a)); }
template<class T1, class T2> inline cj_val cj_approx_div(cj_fn *f, T1 a, T2 b) { return (cj_approx_div)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1> inline cj_val cj_approx_sqrt(cj_fn *f, T1 a) { return (cj_approx_sqrt)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_approx_rsqrt(cj_fn *f, T1 a) { return (cj_approx_rsqrt)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_approx_rcp(cj_fn *f, T1 a) { return (cj_approx_rcp)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_approx_sin(cj_fn *f, T1 a) { return (cj_approx_sin)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_approx_cos(cj_fn *f, T1 a) { return (cj_approx_cos)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_approx_exp2(cj_fn *f, T1 a) { return (cj_approx_exp2)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_approx_log2(cj_fn *f, T1 a) { return (cj_approx_log2)(f, cji_lift(f, a)); }
template<class T1, class T2> inline cj_val cj_and(cj_fn *f, T1 a, T2 b) { return (cj_and)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2> inline cj_val cj_or(cj_fn *f, T1 a, T2 b) { return (cj_or)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2> inline cj_val cj_xor(cj_fn *f, T1 a, T2 b) { return (cj_xor)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1> inline cj_val cj_inv(cj_fn *f, T1 a) { return (cj_inv)(f, cji_lift(f, a)); }
template<class T1, class T2> inline cj_val cj_shl(cj_fn *f, T1 a, T2 n) { return (cj_shl)(f, cji_lift(f, a), cji_lift(f, n)); }
template<class T1, class T2> inline cj_val cj_shr(cj_fn *f, T1 a, T2 n) { return (cj_shr)(f, cji_lift(f, a), cji_lift(f, n)); }
template<class T1> inline cj_val cj_popc(cj_fn *f, T1 a) { return (cj_popc)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_clz(cj_fn *f, T1 a) { return (cj_clz)(f, cji_lift(f, a)); }
template<class T1> inline cj_val cj_brev(cj_fn *f, T1 a) { return (cj_brev)(f, cji_lift(f, a)); }
template<class T1, class T2> inline cj_val cj_eq(cj_fn *f, T1 a, T2 b) { return (cj_eq)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2> inline cj_val cj_ne(cj_fn *f, T1 a, T2 b) { return (cj_ne)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2> inline cj_val cj_lt(cj_fn *f, T1 a, T2 b) { return (cj_lt)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2> inline cj_val cj_le(cj_fn *f, T1 a, T2 b) { return (cj_le)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2> inline cj_val cj_gt(cj_fn *f, T1 a, T2 b) { return (cj_gt)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2> inline cj_val cj_ge(cj_fn *f, T1 a, T2 b) { return (cj_ge)(f, cji_lift(f, a), cji_lift(f, b)); }
template<class T1, class T2, class T3> inline cj_val cj_select(cj_fn *f, T1 p, T2 a, T3 b) { return (cj_select)(f, cji_lift(f, p), cji_lift(f, a), cji_lift(f, b)); }
template<class T1> inline cj_val cj_mov(cj_fn *f, T1 a) { return (cj_mov)(f, cji_lift(f, a)); }
template<class T2> inline cj_val cj_let(cj_fn *f, cj_type type, T2 a) { return (cj_let)(f, type, cji_lift(f, a)); }
template<class T1, class T2> inline void cj_assign(cj_fn *f, T1 to, T2 a) { (cj_assign)(f, cji_lift(f, to), cji_lift(f, a)); }
template<class T2> inline cj_val cj_cvt(cj_fn *f, cj_type type, T2 a) { return (cj_cvt)(f, type, cji_lift(f, a)); }
template<class T2> inline cj_val cj_bits(cj_fn *f, cj_type type, T2 a) { return (cj_bits)(f, type, cji_lift(f, a)); }
template<class T1, class T2> inline cj_val cj_get(cj_fn *f, T1 p, T2 i) { return (cj_get)(f, cji_lift(f, p), cji_lift(f, i)); }
template<class T1, class T2, class T3> inline void cj_set(cj_fn *f, T1 p, T2 i, T3 v) { (cj_set)(f, cji_lift(f, p), cji_lift(f, i), cji_lift(f, v)); }
template<class T1, class T2> inline cj_val cj_at(cj_fn *f, T1 p, T2 i) { return (cj_at)(f, cji_lift(f, p), cji_lift(f, i)); }
template<class T2> inline cj_val cj_load(cj_fn *f, cj_type type, T2 address) { return (cj_load)(f, type, cji_lift(f, address)); }
template<class T2, class T3> inline void cj_store(cj_fn *f, cj_type type, T2 address, T3 v) { (cj_store)(f, type, cji_lift(f, address), cji_lift(f, v)); }
template<class T1> inline cj_val cj_addr(cj_fn *f, T1 address) { return (cj_addr)(f, cji_lift(f, address)); }
template<class T1> inline cj_val cj_addr_generic(cj_fn *f, T1 address) { return (cj_addr_generic)(f, cji_lift(f, address)); }
template<class T1, class T2> inline cj_val cj_atomic_add(cj_fn *f, T1 address, T2 v) { return (cj_atomic_add)(f, cji_lift(f, address), cji_lift(f, v)); }
template<class T1, class T2> inline cj_val cj_atomic_min(cj_fn *f, T1 address, T2 v) { return (cj_atomic_min)(f, cji_lift(f, address), cji_lift(f, v)); }
template<class T1, class T2> inline cj_val cj_atomic_max(cj_fn *f, T1 address, T2 v) { return (cj_atomic_max)(f, cji_lift(f, address), cji_lift(f, v)); }
template<class T1, class T2> inline cj_val cj_atomic_and(cj_fn *f, T1 address, T2 v) { return (cj_atomic_and)(f, cji_lift(f, address), cji_lift(f, v)); }
template<class T1, class T2> inline cj_val cj_atomic_or(cj_fn *f, T1 address, T2 v) { return (cj_atomic_or)(f, cji_lift(f, address), cji_lift(f, v)); }
template<class T1, class T2> inline cj_val cj_atomic_xor(cj_fn *f, T1 address, T2 v) { return (cj_atomic_xor)(f, cji_lift(f, address), cji_lift(f, v)); }
template<class T1, class T2> inline cj_val cj_atomic_exch(cj_fn *f, T1 address, T2 v) { return (cj_atomic_exch)(f, cji_lift(f, address), cji_lift(f, v)); }
template<class T1, class T2, class T3> inline cj_val cj_atomic_cas(cj_fn *f, T1 address, T2 expected, T3 v) { return (cj_atomic_cas)(f, cji_lift(f, address), cji_lift(f, expected), cji_lift(f, v)); }
template<class T1> inline void cj_warp_sync(cj_fn *f, T1 mask) { (cj_warp_sync)(f, cji_lift(f, mask)); }
template<class T1, class T2> inline cj_val cj_shfl_down(cj_fn *f, T1 v, T2 n) { return (cj_shfl_down)(f, cji_lift(f, v), cji_lift(f, n)); }
template<class T1, class T2> inline cj_val cj_shfl_up(cj_fn *f, T1 v, T2 n) { return (cj_shfl_up)(f, cji_lift(f, v), cji_lift(f, n)); }
template<class T1, class T2> inline cj_val cj_shfl_xor(cj_fn *f, T1 v, T2 n) { return (cj_shfl_xor)(f, cji_lift(f, v), cji_lift(f, n)); }
template<class T1, class T2> inline cj_val cj_shfl_idx(cj_fn *f, T1 v, T2 n) { return (cj_shfl_idx)(f, cji_lift(f, v), cji_lift(f, n)); }
template<class T1> inline cj_val cj_vote_any(cj_fn *f, T1 p) { return (cj_vote_any)(f, cji_lift(f, p)); }
template<class T1> inline cj_val cj_vote_all(cj_fn *f, T1 p) { return (cj_vote_all)(f, cji_lift(f, p)); }
template<class T1> inline cj_val cj_vote_uni(cj_fn *f, T1 p) { return (cj_vote_uni)(f, cji_lift(f, p)); }
template<class T1> inline cj_val cj_vote_ballot(cj_fn *f, T1 p) { return (cj_vote_ballot)(f, cji_lift(f, p)); }
template<class T1> inline void cj_if(cj_fn *f, T1 p) { (cj_if)(f, cji_lift(f, p)); }
template<class T1> inline void cj_while(cj_fn *f, T1 p) { (cj_while)(f, cji_lift(f, p)); }
template<class T1, class T2, class T3> inline cj_val cj_for(cj_fn *f, T1 from, T2 to, T3 step) { return (cj_for)(f, cji_lift(f, from), cji_lift(f, to), cji_lift(f, step)); }
template<class T1> inline void cj_break_if(cj_fn *f, T1 p) { (cj_break_if)(f, cji_lift(f, p)); }
template<class T1> inline void cj_break_unless(cj_fn *f, T1 p) { (cj_break_unless)(f, cji_lift(f, p)); }
template<class T1> inline void cj_continue_if(cj_fn *f, T1 p) { (cj_continue_if)(f, cji_lift(f, p)); }
template<class T1> inline void cj_continue_unless(cj_fn *f, T1 p) { (cj_continue_unless)(f, cji_lift(f, p)); }
template<class T1> inline void cj_return_if(cj_fn *f, T1 p) { (cj_return_if)(f, cji_lift(f, p)); }
template<class T1> inline void cj_return_value(cj_fn *f, T1 v) { (cj_return_value)(f, cji_lift(f, v)); }
template<class T1> inline cj_val cj_math_exp(cj_fn *f, T1 x) { return (cj_math_exp)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_exp2(cj_fn *f, T1 x) { return (cj_math_exp2)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_exp10(cj_fn *f, T1 x) { return (cj_math_exp10)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_expm1(cj_fn *f, T1 x) { return (cj_math_expm1)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_log(cj_fn *f, T1 x) { return (cj_math_log)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_log2(cj_fn *f, T1 x) { return (cj_math_log2)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_log10(cj_fn *f, T1 x) { return (cj_math_log10)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_log1p(cj_fn *f, T1 x) { return (cj_math_log1p)(f, cji_lift(f, x)); }
template<class T1, class T2> inline cj_val cj_math_pow(cj_fn *f, T1 x, T2 y) { return (cj_math_pow)(f, cji_lift(f, x), cji_lift(f, y)); }
template<class T1, class T2> inline cj_val cj_math_pown(cj_fn *f, T1 x, T2 n) { return (cj_math_pown)(f, cji_lift(f, x), cji_lift(f, n)); }
template<class T1> inline cj_val cj_math_sin(cj_fn *f, T1 x) { return (cj_math_sin)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_cos(cj_fn *f, T1 x) { return (cj_math_cos)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_tan(cj_fn *f, T1 x) { return (cj_math_tan)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_sincos(cj_fn *f, T1 x, cj_val *cosine) { return (cj_math_sincos)(f, cji_lift(f, x), cosine); }
template<class T1> inline cj_val cj_math_sinpi(cj_fn *f, T1 x) { return (cj_math_sinpi)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_cospi(cj_fn *f, T1 x) { return (cj_math_cospi)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_tanpi(cj_fn *f, T1 x) { return (cj_math_tanpi)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_sincospi(cj_fn *f, T1 x, cj_val *cosine) { return (cj_math_sincospi)(f, cji_lift(f, x), cosine); }
template<class T1> inline cj_val cj_math_asin(cj_fn *f, T1 x) { return (cj_math_asin)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_acos(cj_fn *f, T1 x) { return (cj_math_acos)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_atan(cj_fn *f, T1 x) { return (cj_math_atan)(f, cji_lift(f, x)); }
template<class T1, class T2> inline cj_val cj_math_atan2(cj_fn *f, T1 y, T2 x) { return (cj_math_atan2)(f, cji_lift(f, y), cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_sinh(cj_fn *f, T1 x) { return (cj_math_sinh)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_cosh(cj_fn *f, T1 x) { return (cj_math_cosh)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_tanh(cj_fn *f, T1 x) { return (cj_math_tanh)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_asinh(cj_fn *f, T1 x) { return (cj_math_asinh)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_acosh(cj_fn *f, T1 x) { return (cj_math_acosh)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_atanh(cj_fn *f, T1 x) { return (cj_math_atanh)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_erf(cj_fn *f, T1 x) { return (cj_math_erf)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_erfc(cj_fn *f, T1 x) { return (cj_math_erfc)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_erfcx(cj_fn *f, T1 x) { return (cj_math_erfcx)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_erfinv(cj_fn *f, T1 x) { return (cj_math_erfinv)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_erfcinv(cj_fn *f, T1 x) { return (cj_math_erfcinv)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_normcdf(cj_fn *f, T1 x) { return (cj_math_normcdf)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_normcdfinv(cj_fn *f, T1 x) { return (cj_math_normcdfinv)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_lgamma(cj_fn *f, T1 x) { return (cj_math_lgamma)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_tgamma(cj_fn *f, T1 x) { return (cj_math_tgamma)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_cbrt(cj_fn *f, T1 x) { return (cj_math_cbrt)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_rcbrt(cj_fn *f, T1 x) { return (cj_math_rcbrt)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_rsqrt(cj_fn *f, T1 x) { return (cj_math_rsqrt)(f, cji_lift(f, x)); }
template<class T1, class T2> inline cj_val cj_math_hypot(cj_fn *f, T1 x, T2 y) { return (cj_math_hypot)(f, cji_lift(f, x), cji_lift(f, y)); }
template<class T1, class T2> inline cj_val cj_math_rhypot(cj_fn *f, T1 x, T2 y) { return (cj_math_rhypot)(f, cji_lift(f, x), cji_lift(f, y)); }
template<class T1, class T2> inline cj_val cj_math_fmod(cj_fn *f, T1 x, T2 y) { return (cj_math_fmod)(f, cji_lift(f, x), cji_lift(f, y)); }
template<class T1, class T2> inline cj_val cj_math_remainder(cj_fn *f, T1 x, T2 y) { return (cj_math_remainder)(f, cji_lift(f, x), cji_lift(f, y)); }
template<class T1, class T2> inline cj_val cj_math_remquo(cj_fn *f, T1 x, T2 y, cj_val *quotient) { return (cj_math_remquo)(f, cji_lift(f, x), cji_lift(f, y), quotient); }
template<class T1> inline cj_val cj_math_round(cj_fn *f, T1 x) { return (cj_math_round)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_rint(cj_fn *f, T1 x) { return (cj_math_rint)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_modf(cj_fn *f, T1 x, cj_val *whole) { return (cj_math_modf)(f, cji_lift(f, x), whole); }
template<class T1> inline cj_val cj_math_frexp(cj_fn *f, T1 x, cj_val *exponent) { return (cj_math_frexp)(f, cji_lift(f, x), exponent); }
template<class T1, class T2> inline cj_val cj_math_ldexp(cj_fn *f, T1 x, T2 n) { return (cj_math_ldexp)(f, cji_lift(f, x), cji_lift(f, n)); }
template<class T1> inline cj_val cj_math_logb(cj_fn *f, T1 x) { return (cj_math_logb)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_ilogb(cj_fn *f, T1 x) { return (cj_math_ilogb)(f, cji_lift(f, x)); }
template<class T1, class T2> inline cj_val cj_math_nextafter(cj_fn *f, T1 x, T2 y) { return (cj_math_nextafter)(f, cji_lift(f, x), cji_lift(f, y)); }
template<class T1, class T2> inline cj_val cj_math_fdim(cj_fn *f, T1 x, T2 y) { return (cj_math_fdim)(f, cji_lift(f, x), cji_lift(f, y)); }
template<class T1, class T2> inline cj_val cj_math_copysign(cj_fn *f, T1 size, T2 sign) { return (cj_math_copysign)(f, cji_lift(f, size), cji_lift(f, sign)); }
template<class T1, class T2> inline cj_val cj_math_complex_exp(cj_fn *f, T1 re, T2 im, cj_val *imaginary) { return (cj_math_complex_exp)(f, cji_lift(f, re), cji_lift(f, im), imaginary); }
template<class T1, class T2> inline cj_val cj_math_complex_log(cj_fn *f, T1 re, T2 im, cj_val *imaginary) { return (cj_math_complex_log)(f, cji_lift(f, re), cji_lift(f, im), imaginary); }
template<class T1, class T2> inline cj_val cj_math_complex_sqrt(cj_fn *f, T1 re, T2 im, cj_val *imaginary) { return (cj_math_complex_sqrt)(f, cji_lift(f, re), cji_lift(f, im), imaginary); }
template<class T1, class T2> inline cj_val cj_math_complex_abs(cj_fn *f, T1 re, T2 im) { return (cj_math_complex_abs)(f, cji_lift(f, re), cji_lift(f, im)); }
template<class T1, class T2, class T3, class T4> inline cj_val cj_math_complex_div(cj_fn *f, T1 re, T2 im, T3 by_re, T4 by_im, cj_val *imaginary) { return (cj_math_complex_div)(f, cji_lift(f, re), cji_lift(f, im), cji_lift(f, by_re), cji_lift(f, by_im), imaginary); }
template<class T1> inline cj_val cj_math_sigmoid(cj_fn *f, T1 x) { return (cj_math_sigmoid)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_silu(cj_fn *f, T1 x) { return (cj_math_silu)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_softplus(cj_fn *f, T1 x) { return (cj_math_softplus)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_gelu(cj_fn *f, T1 x) { return (cj_math_gelu)(f, cji_lift(f, x)); }
template<class T1> inline cj_val cj_math_gelu_tanh(cj_fn *f, T1 x) { return (cj_math_gelu_tanh)(f, cji_lift(f, x)); }
template<class T1> inline size_t cj_length_of(cj_fn *f, T1 v) { return (cj_length_of)(f, cji_lift(f, v)); }
template<class T1> inline cj_val cj_slice(cj_fn *f, T1 vec, size_t first, size_t n) { return (cj_slice)(f, cji_lift(f, vec), first, n); }
template<class T1, class T2> inline void cj_assign_all(cj_fn *f, T1 to, T2 v) { (cj_assign_all)(f, cji_lift(f, to), cji_lift(f, v)); }
template<class T1, class T2, class T3> inline void cj_assign_all_if(cj_fn *f, T1 p, T2 to, T3 v) { (cj_assign_all_if)(f, cji_lift(f, p), cji_lift(f, to), cji_lift(f, v)); }
template<class T1> inline void cj_warp_uniform(cj_fn *f, T1 v, cj_val *uniform) { (cj_warp_uniform)(f, cji_lift(f, v), uniform); }
template<class T1, class T2> inline void cj_warp_broadcast(cj_fn *f, T1 v, T2 lane, cj_val *result) { (cj_warp_broadcast)(f, cji_lift(f, v), cji_lift(f, lane), result); }
template<class T2> inline void cj_warp_reduce(cj_fn *f, cj_combine_op op, T2 v, unsigned width, cj_val *result) { (cj_warp_reduce)(f, op, cji_lift(f, v), width, result); }
template<class T2> inline void cj_warp_reduce_fn(cj_fn *f, cj_fn *op, T2 v, unsigned width, cj_val *result) { (cj_warp_reduce_fn)(f, op, cji_lift(f, v), width, result); }
template<class T2> inline void cj_warp_scan(cj_fn *f, cj_combine_op op, T2 v, unsigned width, cj_val *inclusive, cj_val *exclusive) { (cj_warp_scan)(f, op, cji_lift(f, v), width, inclusive, exclusive); }
template<class T2, class T3> inline void cj_warp_scan_fn(cj_fn *f, cj_fn *op, T2 v, T3 identity, unsigned width, cj_val *inclusive, cj_val *exclusive) { (cj_warp_scan_fn)(f, op, cji_lift(f, v), cji_lift(f, identity), width, inclusive, exclusive); }
template<class T2> inline void cj_block_reduce(cj_fn *f, cj_combine_op op, T2 v, const cj_thread_group *group, cj_val *total) { (cj_block_reduce)(f, op, cji_lift(f, v), group, total); }
template<class T2> inline void cj_block_reduce_fn(cj_fn *f, cj_fn *op, T2 v, const cj_thread_group *group, cj_val *total) { (cj_block_reduce_fn)(f, op, cji_lift(f, v), group, total); }
template<class T2> inline void cj_block_scan(cj_fn *f, cj_combine_op op, T2 v, const cj_thread_group *group, cj_val *inclusive, cj_val *exclusive, cj_val *total) { (cj_block_scan)(f, op, cji_lift(f, v), group, inclusive, exclusive, total); }
template<class T2, class T3> inline void cj_block_scan_fn(cj_fn *f, cj_fn *op, T2 v, T3 identity, const cj_thread_group *group, cj_val *inclusive, cj_val *exclusive, cj_val *total) { (cj_block_scan_fn)(f, op, cji_lift(f, v), cji_lift(f, identity), group, inclusive, exclusive, total); }
template<class T1, class T2> inline void cj_block_broadcast(cj_fn *f, T1 v, T2 from, const cj_thread_group *group, cj_val *result) { (cj_block_broadcast)(f, cji_lift(f, v), cji_lift(f, from), group, result); }
template<class T1, class T2> inline void cj_named_barrier_sync(cj_fn *f, T1 barrier, T2 threads) { (cj_named_barrier_sync)(f, cji_lift(f, barrier), cji_lift(f, threads)); }
template<class T1, class T2> inline void cj_named_barrier_arrive(cj_fn *f, T1 barrier, T2 threads) { (cj_named_barrier_arrive)(f, cji_lift(f, barrier), cji_lift(f, threads)); }
template<class T1> inline void cj_grid_sync(cj_fn *f, T1 state) { (cj_grid_sync)(f, cji_lift(f, state)); }
template<class T1, class T2> inline cj_val cj_cluster_at(cj_fn *f, T1 address, T2 rank) { return (cj_cluster_at)(f, cji_lift(f, address), cji_lift(f, rank)); }
template<class T1> inline void cj_role_fewer(cj_fn *f, T1 warpgroup, unsigned first, unsigned count, unsigned registers) { (cj_role_fewer)(f, cji_lift(f, warpgroup), first, count, registers); }
template<class T1> inline void cj_role_more(cj_fn *f, T1 warpgroup, unsigned first, unsigned count, unsigned registers) { (cj_role_more)(f, cji_lift(f, warpgroup), first, count, registers); }
template<class T1, class T2> inline void cj_mbarrier_init(cj_fn *f, T1 mbarrier, T2 count) { (cj_mbarrier_init)(f, cji_lift(f, mbarrier), cji_lift(f, count)); }
template<class T1> inline void cj_mbarrier_arrive(cj_fn *f, T1 mbarrier) { (cj_mbarrier_arrive)(f, cji_lift(f, mbarrier)); }
template<class T1, class T2> inline void cj_mbarrier_arrive_if(cj_fn *f, T1 p, T2 mbarrier) { (cj_mbarrier_arrive_if)(f, cji_lift(f, p), cji_lift(f, mbarrier)); }
template<class T1, class T2> inline void cj_mbarrier_expect(cj_fn *f, T1 mbarrier, T2 bytes) { (cj_mbarrier_expect)(f, cji_lift(f, mbarrier), cji_lift(f, bytes)); }
template<class T1, class T2, class T3> inline void cj_mbarrier_expect_if(cj_fn *f, T1 p, T2 mbarrier, T3 bytes) { (cj_mbarrier_expect_if)(f, cji_lift(f, p), cji_lift(f, mbarrier), cji_lift(f, bytes)); }
template<class T1> inline void cj_mbarrier_arrive_cluster(cj_fn *f, T1 mbarrier) { (cj_mbarrier_arrive_cluster)(f, cji_lift(f, mbarrier)); }
template<class T1, class T2> inline void cj_mbarrier_arrive_cluster_if(cj_fn *f, T1 p, T2 mbarrier) { (cj_mbarrier_arrive_cluster_if)(f, cji_lift(f, p), cji_lift(f, mbarrier)); }
template<class T1, class T2> inline void cj_mbarrier_wait(cj_fn *f, T1 mbarrier, T2 parity) { (cj_mbarrier_wait)(f, cji_lift(f, mbarrier), cji_lift(f, parity)); }
template<class T1, class T2> inline void cj_mbarrier_test(cj_fn *f, T1 mbarrier, T2 parity, cj_val *ended) { (cj_mbarrier_test)(f, cji_lift(f, mbarrier), cji_lift(f, parity), ended); }
template<class T1, class T3, class T4> inline void cj_ring_init(cj_fn *f, T1 mbarriers, uint32_t stages, T3 full_count, T4 empty_count) { (cj_ring_init)(f, cji_lift(f, mbarriers), stages, cji_lift(f, full_count), cji_lift(f, empty_count)); }
template<class T1> inline void cj_ring_begin(cj_fn *f, T1 mbarriers, uint32_t stages, cj_ring *ring) { (cj_ring_begin)(f, cji_lift(f, mbarriers), stages, ring); }
template<class T2, class T3> inline cj_val cj_ring_stage(cj_fn *f, const cj_ring *ring, T2 base, T3 bytes) { return (cj_ring_stage)(f, ring, cji_lift(f, base), cji_lift(f, bytes)); }
template<class T2> inline void cj_ring_release(cj_fn *f, const cj_ring *ring, T2 stage) { (cj_ring_release)(f, ring, cji_lift(f, stage)); }
template<class T1, class T3> inline void cj_ring_release_if(cj_fn *f, T1 p, const cj_ring *ring, T3 stage) { (cj_ring_release_if)(f, cji_lift(f, p), ring, cji_lift(f, stage)); }
template<class T1, class T2> inline void cj_async_copy(cj_fn *f, T1 shared, T2 global, unsigned bytes) { (cj_async_copy)(f, cji_lift(f, shared), cji_lift(f, global), bytes); }
template<class T1, class T2, class T4> inline void cj_async_copy_zero(cj_fn *f, T1 shared, T2 global, unsigned bytes, T4 source) { (cj_async_copy_zero)(f, cji_lift(f, shared), cji_lift(f, global), bytes, cji_lift(f, source)); }
template<class T1, class T2, class T3, class T4> inline void cj_bulk_load(cj_fn *f, T1 shared, T2 global, T3 bytes, T4 mbarrier) { (cj_bulk_load)(f, cji_lift(f, shared), cji_lift(f, global), cji_lift(f, bytes), cji_lift(f, mbarrier)); }
template<class T1, class T2, class T3, class T4, class T5> inline void cj_bulk_load_if(cj_fn *f, T1 p, T2 shared, T3 global, T4 bytes, T5 mbarrier) { (cj_bulk_load_if)(f, cji_lift(f, p), cji_lift(f, shared), cji_lift(f, global), cji_lift(f, bytes), cji_lift(f, mbarrier)); }
template<class T1, class T2, class T3> inline void cj_bulk_store(cj_fn *f, T1 global, T2 shared, T3 bytes) { (cj_bulk_store)(f, cji_lift(f, global), cji_lift(f, shared), cji_lift(f, bytes)); }
template<class T1, class T2, class T3, class T4> inline void cj_bulk_store_if(cj_fn *f, T1 p, T2 global, T3 shared, T4 bytes) { (cj_bulk_store_if)(f, cji_lift(f, p), cji_lift(f, global), cji_lift(f, shared), cji_lift(f, bytes)); }
template<class T1> inline void cj_bulk_commit_if(cj_fn *f, T1 p) { (cj_bulk_commit_if)(f, cji_lift(f, p)); }
template<class T1> inline void cj_bulk_wait_if(cj_fn *f, T1 p, unsigned groups) { (cj_bulk_wait_if)(f, cji_lift(f, p), groups); }
template<class T1> inline void cj_bulk_wait_read_if(cj_fn *f, T1 p, unsigned groups) { (cj_bulk_wait_read_if)(f, cji_lift(f, p), groups); }
template<class T1> inline void cj_tma_prefetch(cj_fn *f, T1 map) { (cj_tma_prefetch)(f, cji_lift(f, map)); }
template<class T1, class T2> inline void cj_tma_prefetch_if(cj_fn *f, T1 p, T2 map) { (cj_tma_prefetch_if)(f, cji_lift(f, p), cji_lift(f, map)); }
template<class T1, class T2, class T3, class T4> inline void cj_tma_load(cj_fn *f, T1 shared, T2 map, T3 at, T4 mbarrier) { (cj_tma_load)(f, cji_lift(f, shared), cji_lift(f, map), cji_lift(f, at), cji_lift(f, mbarrier)); }
template<class T1, class T2, class T3, class T4, class T5> inline void cj_tma_load_if(cj_fn *f, T1 p, T2 shared, T3 map, T4 at, T5 mbarrier) { (cj_tma_load_if)(f, cji_lift(f, p), cji_lift(f, shared), cji_lift(f, map), cji_lift(f, at), cji_lift(f, mbarrier)); }
template<class T1, class T2, class T3, class T4, class T5> inline void cj_tma_load_multicast(cj_fn *f, T1 shared, T2 map, T3 at, T4 mbarrier, T5 blocks) { (cj_tma_load_multicast)(f, cji_lift(f, shared), cji_lift(f, map), cji_lift(f, at), cji_lift(f, mbarrier), cji_lift(f, blocks)); }
template<class T1, class T2, class T3, class T4, class T5, class T6> inline void cj_tma_load_multicast_if(cj_fn *f, T1 p, T2 shared, T3 map, T4 at, T5 mbarrier, T6 blocks) { (cj_tma_load_multicast_if)(f, cji_lift(f, p), cji_lift(f, shared), cji_lift(f, map), cji_lift(f, at), cji_lift(f, mbarrier), cji_lift(f, blocks)); }
template<class T1, class T2, class T3, class T4, class T5> inline void cj_tma_load_im2col(cj_fn *f, T1 shared, T2 map, T3 at, T4 offsets, T5 mbarrier) { (cj_tma_load_im2col)(f, cji_lift(f, shared), cji_lift(f, map), cji_lift(f, at), cji_lift(f, offsets), cji_lift(f, mbarrier)); }
template<class T1, class T2, class T3, class T4, class T5, class T6> inline void cj_tma_load_im2col_if(cj_fn *f, T1 p, T2 shared, T3 map, T4 at, T5 offsets, T6 mbarrier) { (cj_tma_load_im2col_if)(f, cji_lift(f, p), cji_lift(f, shared), cji_lift(f, map), cji_lift(f, at), cji_lift(f, offsets), cji_lift(f, mbarrier)); }
template<class T1, class T2, class T3> inline void cj_tma_store(cj_fn *f, T1 map, T2 at, T3 shared) { (cj_tma_store)(f, cji_lift(f, map), cji_lift(f, at), cji_lift(f, shared)); }
template<class T1, class T2, class T3, class T4> inline void cj_tma_store_if(cj_fn *f, T1 p, T2 map, T3 at, T4 shared) { (cj_tma_store_if)(f, cji_lift(f, p), cji_lift(f, map), cji_lift(f, at), cji_lift(f, shared)); }
template<class T1, class T2, class T3> inline void cj_tma_store_add(cj_fn *f, T1 map, T2 at, T3 shared) { (cj_tma_store_add)(f, cji_lift(f, map), cji_lift(f, at), cji_lift(f, shared)); }
template<class T1, class T2, class T3, class T4> inline void cj_tma_store_add_if(cj_fn *f, T1 p, T2 map, T3 at, T4 shared) { (cj_tma_store_add_if)(f, cji_lift(f, p), cji_lift(f, map), cji_lift(f, at), cji_lift(f, shared)); }
template<class T1> inline void cj_wgmma_matrix_begin(cj_fn *f, T1 start, uint32_t leading, uint32_t stride, cj_swizzle swizzle, cj_wgmma_matrix *matrix) { (cj_wgmma_matrix_begin)(f, cji_lift(f, start), leading, stride, swizzle, matrix); }
template<class T2> inline cj_val cj_wgmma_operand(cj_fn *f, const cj_wgmma_matrix *matrix, T2 offset) { return (cj_wgmma_operand)(f, matrix, cji_lift(f, offset)); }
template<class T2, class T3, class T4, class T5> inline void cj_wgmma(cj_fn *f, const cj_wgmma_shape *w, T2 d, T3 a, T4 b, T5 accumulate) { (cj_wgmma)(f, w, cji_lift(f, d), cji_lift(f, a), cji_lift(f, b), cji_lift(f, accumulate)); }
template<class T2> inline void cj_store_tile_begin(cj_fn *f, cj_type type, T2 shared, cj_store_tile *tile) { (cj_store_tile_begin)(f, type, cji_lift(f, shared), tile); }
template<class T3> inline void cj_store_tile_write(cj_fn *f, const cj_store_tile *tile, uint32_t offset, T3 accumulators) { (cj_store_tile_write)(f, tile, offset, cji_lift(f, accumulators)); }
template<class T2, class T3, class T4, class T5> inline void cj_mma(cj_fn *f, const cj_mma_shape *mma, T2 d, T3 a, T4 b, T5 c) { (cj_mma)(f, mma, cji_lift(f, d), cji_lift(f, a), cji_lift(f, b), cji_lift(f, c)); }
template<class T3> inline void cj_matrix_load(cj_fn *f, unsigned count, int transposed, T3 at, cj_val *matrices) { (cj_matrix_load)(f, count, transposed, cji_lift(f, at), matrices); }
template<class T3, class T4> inline void cj_matrix_store(cj_fn *f, unsigned count, int transposed, T3 at, T4 matrices) { (cj_matrix_store)(f, count, transposed, cji_lift(f, at), cji_lift(f, matrices)); }
template<class T1> inline cj_val cj_mma_a_at(cj_fn *f, T1 shared, uint32_t pitch, uint32_t column, cj_swizzle swizzle) { return (cj_mma_a_at)(f, cji_lift(f, shared), pitch, column, swizzle); }
template<class T1> inline cj_val cj_mma_b_at(cj_fn *f, T1 shared, uint32_t pitch, uint32_t column, cj_swizzle swizzle) { return (cj_mma_b_at)(f, cji_lift(f, shared), pitch, column, swizzle); }
#elif CJI_NUMBERS
#define cj_add(f, a, b) cj_add(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_sub(f, a, b) cj_sub(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_mul(f, a, b) cj_mul(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_mul_hi(f, a, b) cj_mul_hi(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_mul_wide(f, a, b) cj_mul_wide(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_mad(f, a, b, c) cj_mad(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b), CJI_LIFT(f, c))
#define cj_fma(f, a, b, c) cj_fma(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b), CJI_LIFT(f, c))
#define cj_div(f, a, b) cj_div(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_rem(f, a, b) cj_rem(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_min(f, a, b) cj_min(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_max(f, a, b) cj_max(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_neg(f, a) cj_neg(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_abs(f, a) cj_abs(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_sqrt(f, a) cj_sqrt(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_rcp(f, a) cj_rcp(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_floor(f, a) cj_floor(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_ceil(f, a) cj_ceil(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_trunc(f, a) cj_trunc(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_round(f, a) cj_round(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_approx_div(f, a, b) cj_approx_div(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_approx_sqrt(f, a) cj_approx_sqrt(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_approx_rsqrt(f, a) cj_approx_rsqrt(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_approx_rcp(f, a) cj_approx_rcp(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_approx_sin(f, a) cj_approx_sin(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_approx_cos(f, a) cj_approx_cos(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_approx_exp2(f, a) cj_approx_exp2(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_approx_log2(f, a) cj_approx_log2(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_and(f, a, b) cj_and(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_or(f, a, b) cj_or(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_xor(f, a, b) cj_xor(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_inv(f, a) cj_inv(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_shl(f, a, n) cj_shl(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, n))
#define cj_shr(f, a, n) cj_shr(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, n))
#define cj_popc(f, a) cj_popc(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_clz(f, a) cj_clz(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_brev(f, a) cj_brev(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_eq(f, a, b) cj_eq(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_ne(f, a, b) cj_ne(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_lt(f, a, b) cj_lt(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_le(f, a, b) cj_le(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_gt(f, a, b) cj_gt(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_ge(f, a, b) cj_ge(CJI_HERE(f), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_select(f, p, a, b) cj_select(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, a), CJI_LIFT(f, b))
#define cj_mov(f, a) cj_mov(CJI_HERE(f), CJI_LIFT(f, a))
#define cj_let(f, type, a) cj_let(CJI_HERE(f), type, CJI_LIFT(f, a))
#define cj_assign(f, to, a) cj_assign(CJI_HERE(f), CJI_LIFT(f, to), CJI_LIFT(f, a))
#define cj_cvt(f, type, a) cj_cvt(CJI_HERE(f), type, CJI_LIFT(f, a))
#define cj_bits(f, type, a) cj_bits(CJI_HERE(f), type, CJI_LIFT(f, a))
#define cj_get(f, p, i) cj_get(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, i))
#define cj_set(f, p, i, v) cj_set(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, i), CJI_LIFT(f, v))
#define cj_at(f, p, i) cj_at(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, i))
#define cj_load(f, type, address) cj_load(CJI_HERE(f), type, CJI_LIFT(f, address))
#define cj_store(f, type, address, v) cj_store(CJI_HERE(f), type, CJI_LIFT(f, address), CJI_LIFT(f, v))
#define cj_addr(f, address) cj_addr(CJI_HERE(f), CJI_LIFT(f, address))
#define cj_addr_generic(f, address) cj_addr_generic(CJI_HERE(f), CJI_LIFT(f, address))
#define cj_atomic_add(f, address, v) cj_atomic_add(CJI_HERE(f), CJI_LIFT(f, address), CJI_LIFT(f, v))
#define cj_atomic_min(f, address, v) cj_atomic_min(CJI_HERE(f), CJI_LIFT(f, address), CJI_LIFT(f, v))
#define cj_atomic_max(f, address, v) cj_atomic_max(CJI_HERE(f), CJI_LIFT(f, address), CJI_LIFT(f, v))
#define cj_atomic_and(f, address, v) cj_atomic_and(CJI_HERE(f), CJI_LIFT(f, address), CJI_LIFT(f, v))
#define cj_atomic_or(f, address, v) cj_atomic_or(CJI_HERE(f), CJI_LIFT(f, address), CJI_LIFT(f, v))
#define cj_atomic_xor(f, address, v) cj_atomic_xor(CJI_HERE(f), CJI_LIFT(f, address), CJI_LIFT(f, v))
#define cj_atomic_exch(f, address, v) cj_atomic_exch(CJI_HERE(f), CJI_LIFT(f, address), CJI_LIFT(f, v))
#define cj_atomic_cas(f, address, expected, v) cj_atomic_cas(CJI_HERE(f), CJI_LIFT(f, address), CJI_LIFT(f, expected), CJI_LIFT(f, v))
#define cj_warp_sync(f, mask) cj_warp_sync(CJI_HERE(f), CJI_LIFT(f, mask))
#define cj_shfl_down(f, v, n) cj_shfl_down(CJI_HERE(f), CJI_LIFT(f, v), CJI_LIFT(f, n))
#define cj_shfl_up(f, v, n) cj_shfl_up(CJI_HERE(f), CJI_LIFT(f, v), CJI_LIFT(f, n))
#define cj_shfl_xor(f, v, n) cj_shfl_xor(CJI_HERE(f), CJI_LIFT(f, v), CJI_LIFT(f, n))
#define cj_shfl_idx(f, v, n) cj_shfl_idx(CJI_HERE(f), CJI_LIFT(f, v), CJI_LIFT(f, n))
#define cj_vote_any(f, p) cj_vote_any(CJI_HERE(f), CJI_LIFT(f, p))
#define cj_vote_all(f, p) cj_vote_all(CJI_HERE(f), CJI_LIFT(f, p))
#define cj_vote_uni(f, p) cj_vote_uni(CJI_HERE(f), CJI_LIFT(f, p))
#define cj_vote_ballot(f, p) cj_vote_ballot(CJI_HERE(f), CJI_LIFT(f, p))
#define cj_if(f, p) cj_if(CJI_HERE(f), CJI_LIFT(f, p))
#define cj_while(f, p) cj_while(CJI_HERE(f), CJI_LIFT(f, p))
#define cj_for(f, from, to, step) cj_for(CJI_HERE(f), CJI_LIFT(f, from), CJI_LIFT(f, to), CJI_LIFT(f, step))
#define cj_break_if(f, p) cj_break_if(CJI_HERE(f), CJI_LIFT(f, p))
#define cj_break_unless(f, p) cj_break_unless(CJI_HERE(f), CJI_LIFT(f, p))
#define cj_continue_if(f, p) cj_continue_if(CJI_HERE(f), CJI_LIFT(f, p))
#define cj_continue_unless(f, p) cj_continue_unless(CJI_HERE(f), CJI_LIFT(f, p))
#define cj_return_if(f, p) cj_return_if(CJI_HERE(f), CJI_LIFT(f, p))
#define cj_return_value(f, v) cj_return_value(CJI_HERE(f), CJI_LIFT(f, v))
#define cj_math_exp(f, x) cj_math_exp(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_exp2(f, x) cj_math_exp2(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_exp10(f, x) cj_math_exp10(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_expm1(f, x) cj_math_expm1(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_log(f, x) cj_math_log(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_log2(f, x) cj_math_log2(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_log10(f, x) cj_math_log10(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_log1p(f, x) cj_math_log1p(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_pow(f, x, y) cj_math_pow(CJI_HERE(f), CJI_LIFT(f, x), CJI_LIFT(f, y))
#define cj_math_pown(f, x, n) cj_math_pown(CJI_HERE(f), CJI_LIFT(f, x), CJI_LIFT(f, n))
#define cj_math_sin(f, x) cj_math_sin(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_cos(f, x) cj_math_cos(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_tan(f, x) cj_math_tan(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_sincos(f, x, cosine) cj_math_sincos(CJI_HERE(f), CJI_LIFT(f, x), cosine)
#define cj_math_sinpi(f, x) cj_math_sinpi(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_cospi(f, x) cj_math_cospi(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_tanpi(f, x) cj_math_tanpi(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_sincospi(f, x, cosine) cj_math_sincospi(CJI_HERE(f), CJI_LIFT(f, x), cosine)
#define cj_math_asin(f, x) cj_math_asin(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_acos(f, x) cj_math_acos(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_atan(f, x) cj_math_atan(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_atan2(f, y, x) cj_math_atan2(CJI_HERE(f), CJI_LIFT(f, y), CJI_LIFT(f, x))
#define cj_math_sinh(f, x) cj_math_sinh(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_cosh(f, x) cj_math_cosh(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_tanh(f, x) cj_math_tanh(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_asinh(f, x) cj_math_asinh(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_acosh(f, x) cj_math_acosh(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_atanh(f, x) cj_math_atanh(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_erf(f, x) cj_math_erf(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_erfc(f, x) cj_math_erfc(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_erfcx(f, x) cj_math_erfcx(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_erfinv(f, x) cj_math_erfinv(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_erfcinv(f, x) cj_math_erfcinv(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_normcdf(f, x) cj_math_normcdf(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_normcdfinv(f, x) cj_math_normcdfinv(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_lgamma(f, x) cj_math_lgamma(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_tgamma(f, x) cj_math_tgamma(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_cbrt(f, x) cj_math_cbrt(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_rcbrt(f, x) cj_math_rcbrt(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_rsqrt(f, x) cj_math_rsqrt(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_hypot(f, x, y) cj_math_hypot(CJI_HERE(f), CJI_LIFT(f, x), CJI_LIFT(f, y))
#define cj_math_rhypot(f, x, y) cj_math_rhypot(CJI_HERE(f), CJI_LIFT(f, x), CJI_LIFT(f, y))
#define cj_math_fmod(f, x, y) cj_math_fmod(CJI_HERE(f), CJI_LIFT(f, x), CJI_LIFT(f, y))
#define cj_math_remainder(f, x, y) cj_math_remainder(CJI_HERE(f), CJI_LIFT(f, x), CJI_LIFT(f, y))
#define cj_math_remquo(f, x, y, quotient) cj_math_remquo(CJI_HERE(f), CJI_LIFT(f, x), CJI_LIFT(f, y), quotient)
#define cj_math_round(f, x) cj_math_round(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_rint(f, x) cj_math_rint(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_modf(f, x, whole) cj_math_modf(CJI_HERE(f), CJI_LIFT(f, x), whole)
#define cj_math_frexp(f, x, exponent) cj_math_frexp(CJI_HERE(f), CJI_LIFT(f, x), exponent)
#define cj_math_ldexp(f, x, n) cj_math_ldexp(CJI_HERE(f), CJI_LIFT(f, x), CJI_LIFT(f, n))
#define cj_math_logb(f, x) cj_math_logb(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_ilogb(f, x) cj_math_ilogb(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_nextafter(f, x, y) cj_math_nextafter(CJI_HERE(f), CJI_LIFT(f, x), CJI_LIFT(f, y))
#define cj_math_fdim(f, x, y) cj_math_fdim(CJI_HERE(f), CJI_LIFT(f, x), CJI_LIFT(f, y))
#define cj_math_copysign(f, size, sign) cj_math_copysign(CJI_HERE(f), CJI_LIFT(f, size), CJI_LIFT(f, sign))
#define cj_math_complex_exp(f, re, im, imaginary) cj_math_complex_exp(CJI_HERE(f), CJI_LIFT(f, re), CJI_LIFT(f, im), imaginary)
#define cj_math_complex_log(f, re, im, imaginary) cj_math_complex_log(CJI_HERE(f), CJI_LIFT(f, re), CJI_LIFT(f, im), imaginary)
#define cj_math_complex_sqrt(f, re, im, imaginary) cj_math_complex_sqrt(CJI_HERE(f), CJI_LIFT(f, re), CJI_LIFT(f, im), imaginary)
#define cj_math_complex_abs(f, re, im) cj_math_complex_abs(CJI_HERE(f), CJI_LIFT(f, re), CJI_LIFT(f, im))
#define cj_math_complex_div(f, re, im, by_re, by_im, imaginary) cj_math_complex_div(CJI_HERE(f), CJI_LIFT(f, re), CJI_LIFT(f, im), CJI_LIFT(f, by_re), CJI_LIFT(f, by_im), imaginary)
#define cj_math_sigmoid(f, x) cj_math_sigmoid(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_silu(f, x) cj_math_silu(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_softplus(f, x) cj_math_softplus(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_gelu(f, x) cj_math_gelu(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_math_gelu_tanh(f, x) cj_math_gelu_tanh(CJI_HERE(f), CJI_LIFT(f, x))
#define cj_length_of(f, v) cj_length_of(CJI_HERE(f), CJI_LIFT(f, v))
#define cj_slice(f, vec, first, n) cj_slice(CJI_HERE(f), CJI_LIFT(f, vec), first, n)
#define cj_assign_all(f, to, v) cj_assign_all(CJI_HERE(f), CJI_LIFT(f, to), CJI_LIFT(f, v))
#define cj_assign_all_if(f, p, to, v) cj_assign_all_if(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, to), CJI_LIFT(f, v))
#define cj_warp_uniform(f, v, uniform) cj_warp_uniform(CJI_HERE(f), CJI_LIFT(f, v), uniform)
#define cj_warp_broadcast(f, v, lane, result) cj_warp_broadcast(CJI_HERE(f), CJI_LIFT(f, v), CJI_LIFT(f, lane), result)
#define cj_warp_reduce(f, op, v, width, result) cj_warp_reduce(CJI_HERE(f), op, CJI_LIFT(f, v), width, result)
#define cj_warp_reduce_fn(f, op, v, width, result) cj_warp_reduce_fn(CJI_HERE(f), op, CJI_LIFT(f, v), width, result)
#define cj_warp_scan(f, op, v, width, inclusive, exclusive) cj_warp_scan(CJI_HERE(f), op, CJI_LIFT(f, v), width, inclusive, exclusive)
#define cj_warp_scan_fn(f, op, v, identity, width, inclusive, exclusive) cj_warp_scan_fn(CJI_HERE(f), op, CJI_LIFT(f, v), CJI_LIFT(f, identity), width, inclusive, exclusive)
#define cj_block_reduce(f, op, v, group, total) cj_block_reduce(CJI_HERE(f), op, CJI_LIFT(f, v), group, total)
#define cj_block_reduce_fn(f, op, v, group, total) cj_block_reduce_fn(CJI_HERE(f), op, CJI_LIFT(f, v), group, total)
#define cj_block_scan(f, op, v, group, inclusive, exclusive, total) cj_block_scan(CJI_HERE(f), op, CJI_LIFT(f, v), group, inclusive, exclusive, total)
#define cj_block_scan_fn(f, op, v, identity, group, inclusive, exclusive, total) cj_block_scan_fn(CJI_HERE(f), op, CJI_LIFT(f, v), CJI_LIFT(f, identity), group, inclusive, exclusive, total)
#define cj_block_broadcast(f, v, from, group, result) cj_block_broadcast(CJI_HERE(f), CJI_LIFT(f, v), CJI_LIFT(f, from), group, result)
#define cj_named_barrier_sync(f, barrier, threads) cj_named_barrier_sync(CJI_HERE(f), CJI_LIFT(f, barrier), CJI_LIFT(f, threads))
#define cj_named_barrier_arrive(f, barrier, threads) cj_named_barrier_arrive(CJI_HERE(f), CJI_LIFT(f, barrier), CJI_LIFT(f, threads))
#define cj_grid_sync(f, state) cj_grid_sync(CJI_HERE(f), CJI_LIFT(f, state))
#define cj_cluster_at(f, address, rank) cj_cluster_at(CJI_HERE(f), CJI_LIFT(f, address), CJI_LIFT(f, rank))
#define cj_role_fewer(f, warpgroup, first, count, registers) cj_role_fewer(CJI_HERE(f), CJI_LIFT(f, warpgroup), first, count, registers)
#define cj_role_more(f, warpgroup, first, count, registers) cj_role_more(CJI_HERE(f), CJI_LIFT(f, warpgroup), first, count, registers)
#define cj_mbarrier_init(f, mbarrier, count) cj_mbarrier_init(CJI_HERE(f), CJI_LIFT(f, mbarrier), CJI_LIFT(f, count))
#define cj_mbarrier_arrive(f, mbarrier) cj_mbarrier_arrive(CJI_HERE(f), CJI_LIFT(f, mbarrier))
#define cj_mbarrier_arrive_if(f, p, mbarrier) cj_mbarrier_arrive_if(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, mbarrier))
#define cj_mbarrier_expect(f, mbarrier, bytes) cj_mbarrier_expect(CJI_HERE(f), CJI_LIFT(f, mbarrier), CJI_LIFT(f, bytes))
#define cj_mbarrier_expect_if(f, p, mbarrier, bytes) cj_mbarrier_expect_if(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, mbarrier), CJI_LIFT(f, bytes))
#define cj_mbarrier_arrive_cluster(f, mbarrier) cj_mbarrier_arrive_cluster(CJI_HERE(f), CJI_LIFT(f, mbarrier))
#define cj_mbarrier_arrive_cluster_if(f, p, mbarrier) cj_mbarrier_arrive_cluster_if(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, mbarrier))
#define cj_mbarrier_wait(f, mbarrier, parity) cj_mbarrier_wait(CJI_HERE(f), CJI_LIFT(f, mbarrier), CJI_LIFT(f, parity))
#define cj_mbarrier_test(f, mbarrier, parity, ended) cj_mbarrier_test(CJI_HERE(f), CJI_LIFT(f, mbarrier), CJI_LIFT(f, parity), ended)
#define cj_ring_init(f, mbarriers, stages, full_count, empty_count) cj_ring_init(CJI_HERE(f), CJI_LIFT(f, mbarriers), stages, CJI_LIFT(f, full_count), CJI_LIFT(f, empty_count))
#define cj_ring_begin(f, mbarriers, stages, ring) cj_ring_begin(CJI_HERE(f), CJI_LIFT(f, mbarriers), stages, ring)
#define cj_ring_stage(f, ring, base, bytes) cj_ring_stage(CJI_HERE(f), ring, CJI_LIFT(f, base), CJI_LIFT(f, bytes))
#define cj_ring_release(f, ring, stage) cj_ring_release(CJI_HERE(f), ring, CJI_LIFT(f, stage))
#define cj_ring_release_if(f, p, ring, stage) cj_ring_release_if(CJI_HERE(f), CJI_LIFT(f, p), ring, CJI_LIFT(f, stage))
#define cj_async_copy(f, shared, global, bytes) cj_async_copy(CJI_HERE(f), CJI_LIFT(f, shared), CJI_LIFT(f, global), bytes)
#define cj_async_copy_zero(f, shared, global, bytes, source) cj_async_copy_zero(CJI_HERE(f), CJI_LIFT(f, shared), CJI_LIFT(f, global), bytes, CJI_LIFT(f, source))
#define cj_bulk_load(f, shared, global, bytes, mbarrier) cj_bulk_load(CJI_HERE(f), CJI_LIFT(f, shared), CJI_LIFT(f, global), CJI_LIFT(f, bytes), CJI_LIFT(f, mbarrier))
#define cj_bulk_load_if(f, p, shared, global, bytes, mbarrier) cj_bulk_load_if(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, shared), CJI_LIFT(f, global), CJI_LIFT(f, bytes), CJI_LIFT(f, mbarrier))
#define cj_bulk_store(f, global, shared, bytes) cj_bulk_store(CJI_HERE(f), CJI_LIFT(f, global), CJI_LIFT(f, shared), CJI_LIFT(f, bytes))
#define cj_bulk_store_if(f, p, global, shared, bytes) cj_bulk_store_if(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, global), CJI_LIFT(f, shared), CJI_LIFT(f, bytes))
#define cj_bulk_commit_if(f, p) cj_bulk_commit_if(CJI_HERE(f), CJI_LIFT(f, p))
#define cj_bulk_wait_if(f, p, groups) cj_bulk_wait_if(CJI_HERE(f), CJI_LIFT(f, p), groups)
#define cj_bulk_wait_read_if(f, p, groups) cj_bulk_wait_read_if(CJI_HERE(f), CJI_LIFT(f, p), groups)
#define cj_tma_prefetch(f, map) cj_tma_prefetch(CJI_HERE(f), CJI_LIFT(f, map))
#define cj_tma_prefetch_if(f, p, map) cj_tma_prefetch_if(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, map))
#define cj_tma_load(f, shared, map, at, mbarrier) cj_tma_load(CJI_HERE(f), CJI_LIFT(f, shared), CJI_LIFT(f, map), CJI_LIFT(f, at), CJI_LIFT(f, mbarrier))
#define cj_tma_load_if(f, p, shared, map, at, mbarrier) cj_tma_load_if(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, shared), CJI_LIFT(f, map), CJI_LIFT(f, at), CJI_LIFT(f, mbarrier))
#define cj_tma_load_multicast(f, shared, map, at, mbarrier, blocks) cj_tma_load_multicast(CJI_HERE(f), CJI_LIFT(f, shared), CJI_LIFT(f, map), CJI_LIFT(f, at), CJI_LIFT(f, mbarrier), CJI_LIFT(f, blocks))
#define cj_tma_load_multicast_if(f, p, shared, map, at, mbarrier, blocks) cj_tma_load_multicast_if(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, shared), CJI_LIFT(f, map), CJI_LIFT(f, at), CJI_LIFT(f, mbarrier), CJI_LIFT(f, blocks))
#define cj_tma_load_im2col(f, shared, map, at, offsets, mbarrier) cj_tma_load_im2col(CJI_HERE(f), CJI_LIFT(f, shared), CJI_LIFT(f, map), CJI_LIFT(f, at), CJI_LIFT(f, offsets), CJI_LIFT(f, mbarrier))
#define cj_tma_load_im2col_if(f, p, shared, map, at, offsets, mbarrier) cj_tma_load_im2col_if(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, shared), CJI_LIFT(f, map), CJI_LIFT(f, at), CJI_LIFT(f, offsets), CJI_LIFT(f, mbarrier))
#define cj_tma_store(f, map, at, shared) cj_tma_store(CJI_HERE(f), CJI_LIFT(f, map), CJI_LIFT(f, at), CJI_LIFT(f, shared))
#define cj_tma_store_if(f, p, map, at, shared) cj_tma_store_if(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, map), CJI_LIFT(f, at), CJI_LIFT(f, shared))
#define cj_tma_store_add(f, map, at, shared) cj_tma_store_add(CJI_HERE(f), CJI_LIFT(f, map), CJI_LIFT(f, at), CJI_LIFT(f, shared))
#define cj_tma_store_add_if(f, p, map, at, shared) cj_tma_store_add_if(CJI_HERE(f), CJI_LIFT(f, p), CJI_LIFT(f, map), CJI_LIFT(f, at), CJI_LIFT(f, shared))
#define cj_wgmma_matrix_begin(f, start, leading, stride, swizzle, matrix) cj_wgmma_matrix_begin(CJI_HERE(f), CJI_LIFT(f, start), leading, stride, swizzle, matrix)
#define cj_wgmma_operand(f, matrix, offset) cj_wgmma_operand(CJI_HERE(f), matrix, CJI_LIFT(f, offset))
#define cj_wgmma(f, w, d, a, b, accumulate) cj_wgmma(CJI_HERE(f), w, CJI_LIFT(f, d), CJI_LIFT(f, a), CJI_LIFT(f, b), CJI_LIFT(f, accumulate))
#define cj_store_tile_begin(f, type, shared, tile) cj_store_tile_begin(CJI_HERE(f), type, CJI_LIFT(f, shared), tile)
#define cj_store_tile_write(f, tile, offset, accumulators) cj_store_tile_write(CJI_HERE(f), tile, offset, CJI_LIFT(f, accumulators))
#define cj_mma(f, mma, d, a, b, c) cj_mma(CJI_HERE(f), mma, CJI_LIFT(f, d), CJI_LIFT(f, a), CJI_LIFT(f, b), CJI_LIFT(f, c))
#define cj_matrix_load(f, count, transposed, at, matrices) cj_matrix_load(CJI_HERE(f), count, transposed, CJI_LIFT(f, at), matrices)
#define cj_matrix_store(f, count, transposed, at, matrices) cj_matrix_store(CJI_HERE(f), count, transposed, CJI_LIFT(f, at), CJI_LIFT(f, matrices))
#define cj_mma_a_at(f, shared, pitch, column, swizzle) cj_mma_a_at(CJI_HERE(f), CJI_LIFT(f, shared), pitch, column, swizzle)
#define cj_mma_b_at(f, shared, pitch, column, swizzle) cj_mma_b_at(CJI_HERE(f), CJI_LIFT(f, shared), pitch, column, swizzle)
#endif

#endif
