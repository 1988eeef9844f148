/* cujit/verbs.h - the everyday instructions, typed by their operands.  ptx.h includes it.
 *
 *     cj_val v = cj_fma(f, a, cj_get(f, x, i), 0.5);
 *     cj_set(f, y, i, cj_select(f, cj_lt(f, v, 0), 0, v));
 *
 * Types.  All registers among a verb's operands must have the same type, which is the verb's.  An
 * untyped register (.b16, .b32, .b64) matches each type of its width; if all are untyped, they
 * count as unsigned.  A number takes the verb's type and must fit it; a negative number fits an
 * unsigned type as its two's complement.  The result is a new register of the verb's type unless
 * the comment of the verb states another one.
 *
 * Floating point follows IEEE 754: results are rounded to nearest even, subnormals are kept, and
 * nothing is contracted.  There are two exceptions: cj_atomic_add of CJ_F32 in global memory
 * flushes subnormals to zero (atom.add.f32), and a verb with "approx" in its name approximates.
 * cj_def takes the mnemonic of another rounding, saturation or .ftz.
 *
 * Numbers.  In C11 and C++ each cj_val operand may be a C number: cj_add(f, x, 1).  The macros of
 * verbs_numbers.h evaluate `f` more than once: `f` must have no side effects.
 *
 * Numbers only.  Most verbs whose operands are all numbers return a number without a type and emit
 * no instruction.  It is computed on double if an operand is a double, else on float if one is a
 * float, else on uint64_t if one does not fit int64_t, else on int64_t.  Integers wrap.
 * A comparison returns a constant predicate.  cj_mul_hi, cj_popc, cj_clz, cj_brev and the approx
 * verbs return a register.
 *
 * Where a number needs a register, that is CJ_U32, or CJ_S32 for a negative integer.  It has 64
 * bits if 32 do not hold the number.  For a float it is CJ_F32, for a double CJ_F64.
 *
 * Addresses.  A memory verb takes a pointer of cj_param_ptr or cj_at, a variable, a register that
 * cj_as_ptr has marked, or a cj_mem.
 *
 * Errors.  Each verb can fail with the errors that ptx.h lists for all calls, and with this one:
 *   CJ_EPTX: the types of the operands differ, or the verb does not exist for their type
 */
#ifndef CUJIT_PTX_H
#include <cujit/ptx.h> /* which includes this file at its place */
#elif !defined CUJIT_VERBS_H
#define CUJIT_VERBS_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Arithmetic ------------------------------------------------------------------------------ */

/* a + b, a - b, a * b.  Integers wrap: the product is its low half. */
CJ_API cj_val cj_add(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_sub(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_mul(cj_fn *f, cj_val a, cj_val b);

/* The high half of an integer product. */
CJ_API cj_val cj_mul_hi(cj_fn *f, cj_val a, cj_val b);

/* The whole product of two 16-bit or 32-bit integers, in a register of twice the width. */
CJ_API cj_val cj_mul_wide(cj_fn *f, cj_val a, cj_val b);

/* a * b + c: cj_mad for integers, the low half; cj_fma for floating point, rounded once. */
CJ_API cj_val cj_mad(cj_fn *f, cj_val a, cj_val b, cj_val c);
CJ_API cj_val cj_fma(cj_fn *f, cj_val a, cj_val b, cj_val c);

/* a / b.  An integer quotient is rounded towards zero.  A divisor that is 0 in a register gives an
 * unspecified integer.
 * Errors, left in the module:
 *   CJ_EPTX: both are integer numbers, and the divisor is 0 */
CJ_API cj_val cj_div(cj_fn *f, cj_val a, cj_val b);

/* The remainder of an integer division, with the sign of `a`.
 * Errors, left in the module:
 *   CJ_EPTX: both are numbers, and the divisor is 0 */
CJ_API cj_val cj_rem(cj_fn *f, cj_val a, cj_val b);

/* The lesser and the greater one.  If one of two floating-point operands is NaN, the other one. */
CJ_API cj_val cj_min(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_max(cj_fn *f, cj_val a, cj_val b);

/* -a and |a| of signed integers and floating point. */
CJ_API cj_val cj_neg(cj_fn *f, cj_val a);
CJ_API cj_val cj_abs(cj_fn *f, cj_val a);

/* The square root and 1 / a of floating point, correctly rounded. */
CJ_API cj_val cj_sqrt(cj_fn *f, cj_val a);
CJ_API cj_val cj_rcp(cj_fn *f, cj_val a);

/* A floating-point value rounded to a whole number: down, up, towards zero, to nearest even. */
CJ_API cj_val cj_floor(cj_fn *f, cj_val a);
CJ_API cj_val cj_ceil(cj_fn *f, cj_val a);
CJ_API cj_val cj_trunc(cj_fn *f, cj_val a);
CJ_API cj_val cj_round(cj_fn *f, cj_val a);

/* The hardware's approximations of a / b, sqrt(a), 1 / sqrt(a), 1 / a, sin(a), cos(a), 2 to the a
 * and log2(a).  The type is CJ_F32; cj_approx_rsqrt takes CJ_F64 too.  The PTX manual states the
 * error of each and how it treats subnormals: div.approx, sqrt.approx, rsqrt.approx, rcp.approx,
 * sin.approx, cos.approx, ex2.approx, lg2.approx. */
CJ_API cj_val cj_approx_div(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_approx_sqrt(cj_fn *f, cj_val a);
CJ_API cj_val cj_approx_rsqrt(cj_fn *f, cj_val a);
CJ_API cj_val cj_approx_rcp(cj_fn *f, cj_val a);
CJ_API cj_val cj_approx_sin(cj_fn *f, cj_val a);
CJ_API cj_val cj_approx_cos(cj_fn *f, cj_val a);
CJ_API cj_val cj_approx_exp2(cj_fn *f, cj_val a);
CJ_API cj_val cj_approx_log2(cj_fn *f, cj_val a);

/* ---- Bits and predicates --------------------------------------------------------------------- */

/* a & b, a | b and a ^ b, of integers and of predicates. */
CJ_API cj_val cj_and(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_or(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_xor(cj_fn *f, cj_val a, cj_val b);

/* All bits of an integer inverted, or a predicate inverted, in a new register.  cj_not negates a
 * predicate without an instruction. */
CJ_API cj_val cj_inv(cj_fn *f, cj_val a);

/* a << n and a >> n.  `n` is a 32-bit count.  A right shift of a signed type keeps the sign.
 * A count beyond the width shifts all bits out.
 * Errors, left in the module:
 *   CJ_EPTX: both are numbers, and `n` is negative */
CJ_API cj_val cj_shl(cj_fn *f, cj_val a, cj_val n);
CJ_API cj_val cj_shr(cj_fn *f, cj_val a, cj_val n);

/* The number of bits that are set, and of leading zeros, of 32-bit and 64-bit integers.  CJ_U32. */
CJ_API cj_val cj_popc(cj_fn *f, cj_val a);
CJ_API cj_val cj_clz(cj_fn *f, cj_val a);

/* The bits of a 32-bit or 64-bit integer in reverse order. */
CJ_API cj_val cj_brev(cj_fn *f, cj_val a);

/* ---- Comparison and selection ---------------------------------------------------------------- */

/* Predicates: a == b, a != b, a < b, a <= b, a > b, a >= b.  If an operand is NaN, only cj_ne
 * holds, as in C. */
CJ_API cj_val cj_eq(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_ne(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_lt(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_le(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_gt(cj_fn *f, cj_val a, cj_val b);
CJ_API cj_val cj_ge(cj_fn *f, cj_val a, cj_val b);

/* p ? a : b.  `p` is a predicate or a constant (control.h). */
CJ_API cj_val cj_select(cj_fn *f, cj_val p, cj_val a, cj_val b);

/* ---- Moving and converting ------------------------------------------------------------------- */

/* A copy in a new register. */
CJ_API cj_val cj_mov(cj_fn *f, cj_val a);

/* A new register of `type` that starts as `a`.  A number takes the type; a register has it. */
CJ_API cj_val cj_let(cj_fn *f, cj_type type, cj_val a);

/* Writes `a` into the register `to`.  `a` has the type of `to` or matches it.
 * Errors, left in the module:
 *   CJ_EPTX: `to` is not a register */
CJ_API void cj_assign(cj_fn *f, cj_val to, cj_val a);

/* The value as another type, by PTX's cvt.  Floating point becomes an integer by rounding towards
 * zero; out of range it saturates to the nearest integer of the type; NaN becomes what the manual
 * states for cvt.  A value that becomes floating point is rounded to nearest even.  An integer that
 * becomes a narrower one loses its high bits.  A predicate becomes 1 or 0; as CJ_PRED, a value
 * holds unless it is 0.
 * A number is not converted: it takes the type, which it must fit, as in cj_let.
 * Errors, left in the module:
 *   CJ_EPTX: PTX does not convert between the types */
CJ_API cj_val cj_cvt(cj_fn *f, cj_type type, cj_val a);

/* The same bits as another type of the same width.
 * Errors, left in the module:
 *   CJ_EPTX: the widths differ */
CJ_API cj_val cj_bits(cj_fn *f, cj_type type, cj_val a);

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Element `i` of what `p` points to: its value, a store of `v` into it, its address.  `i` is an
 * integer register or a number.  A register of a signed type may be negative.  An unsigned or
 * untyped one is zero-extended.
 * Errors, left in the module:
 *   CJ_EPTX: the type that `p` points to is not known (cj_as_ptr), or `i` is not an integer */
CJ_API cj_val cj_get(cj_fn *f, cj_val p, cj_val i);
CJ_API void cj_set(cj_fn *f, cj_val p, cj_val i, cj_val v);
CJ_API cj_val cj_at(cj_fn *f, cj_val p, cj_val i);

/* Loads or stores one value of `type` at `address`.  8-bit integers are in 32-bit registers; an
 * integer may be stored from a wider register.
 * Errors, left in the module:
 *   CJ_EPTX: `address` is not an address, or memory does not hold the type */
CJ_API cj_val cj_load(cj_fn *f, cj_type type, cj_val address);
CJ_API void cj_store(cj_fn *f, cj_type type, cj_val address, cj_val v);

/* The address in a register: in its own state space, or as a generic address. */
CJ_API cj_val cj_addr(cj_fn *f, cj_val address);
CJ_API cj_val cj_addr_generic(cj_fn *f, cj_val address);

/* An atomic operation at `address`, in relaxed order and at device scope (.gpu).  Returns the old
 * value; the new value is old op v.  The type is that of `v`, or for a number that of the memory.
 * cj_atomic_add takes 32-bit and 64-bit integers, CJ_F32 and CJ_F64; the others take 32-bit and
 * 64-bit integers.
 * Errors, left in the module:
 *   CJ_EPTX: `address` is not an address, or the type of a number is not known */
CJ_API cj_val cj_atomic_add(cj_fn *f, cj_val address, cj_val v);
CJ_API cj_val cj_atomic_min(cj_fn *f, cj_val address, cj_val v);
CJ_API cj_val cj_atomic_max(cj_fn *f, cj_val address, cj_val v);
CJ_API cj_val cj_atomic_and(cj_fn *f, cj_val address, cj_val v);
CJ_API cj_val cj_atomic_or(cj_fn *f, cj_val address, cj_val v);
CJ_API cj_val cj_atomic_xor(cj_fn *f, cj_val address, cj_val v);

/* The same, with another new value.  cj_atomic_exch: `v`.  cj_atomic_cas: `v` if the old value
 * equals `expected`, else the old value.  Both take 32-bit and 64-bit integers, CJ_F32 and CJ_F64;
 * cj_atomic_cas compares the bits. */
CJ_API cj_val cj_atomic_exch(cj_fn *f, cj_val address, cj_val v);
CJ_API cj_val cj_atomic_cas(cj_fn *f, cj_val address, cj_val expected, cj_val v);

/* ---- Threads --------------------------------------------------------------------------------- */

/* In one dimension: the index of the thread in its thread block, the index of the block in the
 * grid, the number of threads of a block, the number of blocks of the grid.  CJ_U32.
 * Errors, left in the module:
 *   CJ_EINVAL: `dim` is not CJ_X, CJ_Y or CJ_Z */
CJ_API cj_val cj_thread_id(cj_fn *f, cj_dim dim);
CJ_API cj_val cj_block_id(cj_fn *f, cj_dim dim);
CJ_API cj_val cj_block_size(cj_fn *f, cj_dim dim);
CJ_API cj_val cj_grid_size(cj_fn *f, cj_dim dim);

/* In one dimension: the index of the thread in the grid, the number of threads of the grid.
 * CJ_U32.
 * Errors, left in the module:
 *   CJ_EINVAL: `dim` is not CJ_X, CJ_Y or CJ_Z */
CJ_API cj_val cj_global_id(cj_fn *f, cj_dim dim);
CJ_API cj_val cj_global_size(cj_fn *f, cj_dim dim);

/* The index of the thread in its warp, 0 to 31.  CJ_U32. */
CJ_API cj_val cj_lane_id(cj_fn *f);

/* A barrier of the thread block (bar.sync 0): all of its threads arrive before any of them
 * continues.  Memory accesses before the barrier are visible to the block's threads after it. */
CJ_API void cj_block_sync(cj_fn *f);

/* A barrier of the lanes of the warp whose bits in `mask` are set (bar.warp.sync).  Each lane in
 * `mask` must execute it, and no other lane.  `mask` is a 32-bit register or a number.  The null
 * value { 0 }, which is not the number 0, means all 32 lanes. */
CJ_API void cj_warp_sync(cj_fn *f, cj_val mask);

/* All threads of the thread block, of the device or of the system observe this thread's memory
 * accesses before the fence before those after it.  membar.cta, membar.gl, membar.sys: sequentially
 * consistent, from sm_70 on fence.sc of that scope. */
CJ_API void cj_fence_block(cj_fn *f);
CJ_API void cj_fence_device(cj_fn *f);
CJ_API void cj_fence_system(cj_fn *f);

/* The value `v` of lane + n, of lane - n, of lane ^ n, of lane n.  All 32 lanes of the warp must
 * execute the call together; else the behaviour is undefined.  The type of `v` has 32 or 64 bits.
 * `n`: CJ_U32 or a number.  PTX uses only its low five bits.  If lane + n or lane - n is outside of
 * 0 to 31, the result is the thread's own value. */
CJ_API cj_val cj_shfl_down(cj_fn *f, cj_val v, cj_val n);
CJ_API cj_val cj_shfl_up(cj_fn *f, cj_val v, cj_val n);
CJ_API cj_val cj_shfl_xor(cj_fn *f, cj_val v, cj_val n);
CJ_API cj_val cj_shfl_idx(cj_fn *f, cj_val v, cj_val n);

/* Whether `p` holds in any lane, holds in all lanes, has the same value in all lanes: a predicate.
 * All 32 lanes of the warp must execute the call together; else the behaviour is undefined. */
CJ_API cj_val cj_vote_any(cj_fn *f, cj_val p);
CJ_API cj_val cj_vote_all(cj_fn *f, cj_val p);
CJ_API cj_val cj_vote_uni(cj_fn *f, cj_val p);

/* A CJ_B32 whose bit i is set if `p` holds in lane i.  All 32 lanes of the warp must execute the
 * call together; else the behaviour is undefined. */
CJ_API cj_val cj_vote_ballot(cj_fn *f, cj_val p);

#ifdef __cplusplus
}
#endif
#endif
