/* cujit/verbs.h - the everyday instructions, typed by their operands; included by cujit/ptx.h.
 *
 * A verb's type is that of its operands' registers, which must agree; a number (cj_imm) takes the type of the other operand.  Untyped registers
 * (.b32, .b64) count as unsigned.  Results are new registers of that type unless said otherwise.  Floating point is IEEE: round to nearest even, no
 * contraction, no flush to zero; what is approximate says so in its name.  Another rounding, saturation, .ftz: cj_def() with the mnemonic.
 *
 * C11 and C++: each cj_val operand may be a C number: cj_add(f, x, 1) (verbs_numbers.h).  `f` must then have no side effects: it is evaluated more than once.
 *
 * Memory verbs take a *place*: a pointer from cj_param_ptr() or cj_at(), a variable, an address register or cj_mem().
 */
#ifndef CUJIT_PTX_H
#include <cujit/ptx.h> /* which includes this file at its place */
#elif !defined CUJIT_VERBS_H
#define CUJIT_VERBS_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Arithmetic -------------------------------------------------------------------------------------------------- */

CJ_API cj_val cj_add(cj_fn *f, cj_val a, cj_val b);                /* a + b */
CJ_API cj_val cj_sub(cj_fn *f, cj_val a, cj_val b);                /* a - b */
CJ_API cj_val cj_mul(cj_fn *f, cj_val a, cj_val b);                /* a * b, integers: the low half */
CJ_API cj_val cj_mul_hi(cj_fn *f, cj_val a, cj_val b);             /* integers: the high half */
CJ_API cj_val cj_mul_wide(cj_fn *f, cj_val a, cj_val b);           /* 16- and 32-bit integers: the whole product, of twice the width */
CJ_API cj_val cj_mad(cj_fn *f, cj_val a, cj_val b, cj_val c);      /* a * b + c of integers, low half; floats: cj_fma */
CJ_API cj_val cj_fma(cj_fn *f, cj_val a, cj_val b, cj_val c);      /* a * b + c rounded once; floats */
CJ_API cj_val cj_div(cj_fn *f, cj_val a, cj_val b);                /* a / b; integers towards zero, a zero divisor gives an unspecified value */
CJ_API cj_val cj_rem(cj_fn *f, cj_val a, cj_val b);                /* integers: the remainder, with a's sign */
CJ_API cj_val cj_min(cj_fn *f, cj_val a, cj_val b);                /* floats: the number when the other is NaN */
CJ_API cj_val cj_max(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_neg(cj_fn *f, cj_val a);                          /* signed integers and floats */
CJ_API cj_val cj_abs(cj_fn *f, cj_val a);
CJ_API cj_val cj_sqrt(cj_fn *f, cj_val a);                         /* floats, correctly rounded */
CJ_API cj_val cj_rcp(cj_fn *f, cj_val a);                          /* 1 / a, floats, correctly rounded */
CJ_API cj_val cj_floor(cj_fn *f, cj_val a);                        /* floats to a whole number: down, up, towards zero, to nearest even */
CJ_API cj_val cj_ceil(cj_fn *f, cj_val a);
CJ_API cj_val cj_trunc(cj_fn *f, cj_val a);
CJ_API cj_val cj_round(cj_fn *f, cj_val a);

/* The hardware's approximations, f32: see the manual's error bounds for sqrt.approx, rsqrt.approx, sin.approx ... */
CJ_API cj_val cj_approx_div(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_approx_sqrt(cj_fn *f, cj_val a);
CJ_API cj_val cj_approx_rsqrt(cj_fn *f, cj_val a);                 /* 1 / sqrt(a); f64 too */
CJ_API cj_val cj_approx_rcp(cj_fn *f, cj_val a);
CJ_API cj_val cj_approx_sin(cj_fn *f, cj_val a);
CJ_API cj_val cj_approx_cos(cj_fn *f, cj_val a);
CJ_API cj_val cj_approx_exp2(cj_fn *f, cj_val a);
CJ_API cj_val cj_approx_log2(cj_fn *f, cj_val a);

/* ---- Bits and predicates ----------------------------------------------------------------------------------------- */

CJ_API cj_val cj_and(cj_fn *f, cj_val a, cj_val b);                /* integers bit by bit; predicates */
CJ_API cj_val cj_or(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_xor(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_inv(cj_fn *f, cj_val a);                          /* all bits inverted; a predicate into a register of its own (cj_not is an operand) */
CJ_API cj_val cj_shl(cj_fn *f, cj_val a, cj_val n);                /* `n` a 32-bit count; counts over the width give 0 */
CJ_API cj_val cj_shr(cj_fn *f, cj_val a, cj_val n);                /* signed types keep their sign */
CJ_API cj_val cj_popc(cj_fn *f, cj_val a);                         /* bits set, CJ_U32 */
CJ_API cj_val cj_clz(cj_fn *f, cj_val a);                          /* leading zeros, CJ_U32 */
CJ_API cj_val cj_brev(cj_fn *f, cj_val a);                         /* bits in reverse order */

/* ---- Comparison and selection ------------------------------------------------------------------------------------ */

/* Predicates.  With a NaN every comparison but cj_ne is false, as in C. */
CJ_API cj_val cj_eq(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_ne(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_lt(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_le(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_gt(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_ge(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_select(cj_fn *f, cj_val p, cj_val a, cj_val b);   /* p ? a : b */

/* ---- Moving and converting --------------------------------------------------------------------------------------- */

CJ_API cj_val cj_mov(cj_fn *f, cj_val a);                          /* into a register of its own */
CJ_API cj_val cj_let(cj_fn *f, cj_type type, cj_val a);            /* a new register of `type` that starts as `a`; numbers take the type, others must have it */
CJ_API void cj_assign(cj_fn *f, cj_val to, cj_val a);              /* into the register `to` */
CJ_API cj_val cj_cvt(cj_fn *f, cj_type type, cj_val a);            /* the number as another type, as C converts: floats to integers towards zero, saturating */
CJ_API cj_val cj_bits(cj_fn *f, cj_type type, cj_val a);           /* the same bits as another type of that width */

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Element i of what `p` points to: read, written, its place.  `i` any integer register or a number. */
CJ_API cj_val cj_get(cj_fn *f, cj_val p, cj_val i);
CJ_API void cj_set(cj_fn *f, cj_val p, cj_val i, cj_val v);
CJ_API cj_val cj_at(cj_fn *f, cj_val p, cj_val i);

/* One `type` at a place.  8- and 16-bit integers come into, and go from, 32-bit or 16-bit registers. */
CJ_API cj_val cj_load(cj_fn *f, cj_type type, cj_val place);
CJ_API void cj_store(cj_fn *f, cj_type type, cj_val place, cj_val v);

/* The address of a variable or place in a register, in its own space; the same as a generic one. */
CJ_API cj_val cj_addr(cj_fn *f, cj_val place);
CJ_API cj_val cj_addr_generic(cj_fn *f, cj_val place);

/* Atomic, relaxed, device-wide: the place's value becomes old OP v; the old value.  The type is v's.  Statements of their own. */
CJ_API cj_val cj_atomic_add(cj_fn *f, cj_val place, cj_val v);
CJ_API cj_val cj_atomic_min(cj_fn *f, cj_val place, cj_val v);
CJ_API cj_val cj_atomic_max(cj_fn *f, cj_val place, cj_val v);
CJ_API cj_val cj_atomic_and(cj_fn *f, cj_val place, cj_val v);
CJ_API cj_val cj_atomic_or(cj_fn *f, cj_val place, cj_val v);
CJ_API cj_val cj_atomic_xor(cj_fn *f, cj_val place, cj_val v);
CJ_API cj_val cj_atomic_exch(cj_fn *f, cj_val place, cj_val v);
CJ_API cj_val cj_atomic_cas(cj_fn *f, cj_val place, cj_val expected, cj_val v);

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* CJ_U32 each: this thread in its block, the block in the grid, the block's size, the grid's size in blocks; this thread in the grid, and how many there are. */
CJ_API cj_val cj_thread_id(cj_fn *f, cj_dim dim);
CJ_API cj_val cj_block_id(cj_fn *f, cj_dim dim);
CJ_API cj_val cj_block_size(cj_fn *f, cj_dim dim);
CJ_API cj_val cj_grid_size(cj_fn *f, cj_dim dim);
CJ_API cj_val cj_global_id(cj_fn *f, cj_dim dim);
CJ_API cj_val cj_global_size(cj_fn *f, cj_dim dim);
CJ_API cj_val cj_lane_id(cj_fn *f);                                /* 0 .. 31 */

/* Every thread of the block (of the warp: lanes in `mask`, all when null) arrives before any goes on; their memory accesses are ordered. */
CJ_API void cj_block_sync(cj_fn *f);
CJ_API void cj_warp_sync(cj_fn *f, cj_val mask);

/* This thread's memory accesses before it are seen before those behind it, by its block, its device, everybody. */
CJ_API void cj_fence_block(cj_fn *f);
CJ_API void cj_fence_device(cj_fn *f);
CJ_API void cj_fence_system(cj_fn *f);

/* `v` of another lane, all 32 lanes taking part; 32- and 64-bit types.  A lane outside the warp: the own value.  `n`: CJ_U32 or a number. */
CJ_API cj_val cj_shfl_down(cj_fn *f, cj_val v, cj_val n);          /* of lane + n */
CJ_API cj_val cj_shfl_up(cj_fn *f, cj_val v, cj_val n);            /* of lane - n */
CJ_API cj_val cj_shfl_xor(cj_fn *f, cj_val v, cj_val n);           /* of lane ^ n */
CJ_API cj_val cj_shfl_idx(cj_fn *f, cj_val v, cj_val n);           /* of lane n */

/* Over all 32 lanes: does `p` hold in any, in all, the same in all; a CJ_B32 with bit i for lane i. */
CJ_API cj_val cj_vote_any(cj_fn *f, cj_val p);
CJ_API cj_val cj_vote_all(cj_fn *f, cj_val p);
CJ_API cj_val cj_vote_uni(cj_fn *f, cj_val p);
CJ_API cj_val cj_vote_ballot(cj_fn *f, cj_val p);

#ifdef __cplusplus
}
#endif
#endif
