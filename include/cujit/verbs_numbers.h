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
#endif

#endif
