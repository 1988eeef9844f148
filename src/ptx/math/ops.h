/* The words that functions are written in.  `m`, a cji_math, is in scope. */
#ifndef CJI_MATH_OPS_H
#define CJI_MATH_OPS_H

#include "ptx/math/math.h"

#define OP1(name, mnemonic, r, a, x) \
    static inline cj_val cji_m_##name(cji_math *m, cj_val u) { return cji_math_apply(m, CJI_M_##name, &u); }
#define OP2(name, mnemonic, r, a, b, x) \
    static inline cj_val cji_m_##name(cji_math *m, cj_val u, cj_val v) \
    { \
        return cji_math_apply(m, CJI_M_##name, (const cj_val[]){ u, v }); \
    }
#define OP3(name, mnemonic, r, a, b, c, x) \
    static inline cj_val cji_m_##name(cji_math *m, cj_val u, cj_val v, cj_val w) \
    { \
        return cji_math_apply(m, CJI_M_##name, (const cj_val[]){ u, v, w }); \
    }
#include "ptx/math/math_ops.def"
#undef OP1
#undef OP2
#undef OP3

#define OP(name, ...) cji_m_##name(m, __VA_ARGS__)

/* ---- Literals ---- */
cj_val cji_m_float(cji_math *m, float x);
cj_val cji_m_double(cji_math *m, double x);
cj_val cji_m_word(cji_math *m, uint64_t x);
cj_val cji_m_whole(cji_math *m, int32_t x);
#define F(x) cji_m_float(m, x)
#define D(x) cji_m_double(m, x)
#define U(x) cji_m_word(m, x)
#define S(x) cji_m_whole(m, x)
#define SHIFT_F 12582912.f           /* 1.5 * 2^23: its sum with a number has the whole part in the low bits */
#define SHIFT_D 6755399441055744.0   /* 1.5 * 2^52 */
#define INFINITY_U 0x7f800000u
#define NAN_U 0x7fffffffu
#define INFINITE __builtin_inff()
#define INFINITE_D __builtin_inf()
#define INFINITY_W 0x7ff0000000000000u
#define NAN_W 0x7ff8000000000000u

/* k[0] x^(n-1) + ... + k[n-1], by Horner's rule in n - 1 fma. */
cj_val cji_m_poly(cji_math *m, cj_val x, const float *k, size_t n);
cj_val cji_m_poly_d(cji_math *m, cj_val x, const double *k, size_t n);
/* x, or the limit where it is beyond: NaN stays. */
cj_val cji_m_at_least(cji_math *m, cj_val x, float limit);
cj_val cji_m_at_most(cji_math *m, cj_val x, float limit);
#define AT_LEAST(x, limit) cji_m_at_least(m, x, limit)
#define AT_MOST(x, limit) cji_m_at_most(m, x, limit)
#define POLY(x, ...) \
    cji_m_poly(m, x, (const float[]){ __VA_ARGS__ }, sizeof((const float[]){ __VA_ARGS__ }) / sizeof(float))
#define POLY_D(x, ...) \
    cji_m_poly_d(m, x, (const double[]){ __VA_ARGS__ }, sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))

/* ---- f32: values that are not literals share registers of 32 bits with integers ---- */
#define ADD(a, b) OP(add, a, b)
#define SUB(a, b) OP(sub, a, b)
#define MUL(a, b) OP(mul, a, b)
#define DIV(a, b) OP(div, a, b)
#define FMA(a, b, c) OP(fma, a, b, c)
#define NEG(a) OP(neg, a)
#define ABS(a) OP(abs, a)
#define COPYSIGN(size, sign) OP(copysign, sign, size)
#define LT(a, b) OP(lt, a, b)
#define LE(a, b) OP(le, a, b)
#define GT(a, b) OP(gt, a, b)
#define GE(a, b) OP(ge, a, b)
#define EQ(a, b) OP(eq, a, b)
#define SEL(p, a, b) OP(sel, a, b, p)
#define EX2(a) OP(ex2, a)
#define RCP(a) OP(rcp, a)
#define RSQRT(a) OP(rsqrt, a)

/* ---- f64 ---- */
#define ADD_D(a, b) OP(add_d, a, b)
#define SUB_D(a, b) OP(sub_d, a, b)
#define MUL_D(a, b) OP(mul_d, a, b)
#define DIV_D(a, b) OP(div_d, a, b)
#define FMA_D(a, b, c) OP(fma_d, a, b, c)
#define NEG_D(a) OP(neg_d, a)
#define ABS_D(a) OP(abs_d, a)
#define COPYSIGN_D(size, sign) OP(copysign_d, sign, size)
#define LT_D(a, b) OP(lt_d, a, b)
#define LE_D(a, b) OP(le_d, a, b)
#define GT_D(a, b) OP(gt_d, a, b)
#define GE_D(a, b) OP(ge_d, a, b)
#define EQ_D(a, b) OP(eq_d, a, b)
#define SEL_D(p, a, b) OP(sel_d, a, b, p)
/* The words of 64 bits, and one of two. */
void cji_m_split(cji_math *m, cj_val x, cj_val *low, cj_val *high);
cj_val cji_m_high(cji_math *m, cj_val x);
cj_val cji_m_low(cji_math *m, cj_val x);
cj_val cji_m_pair(cji_math *m, cj_val low, cj_val high);
/* |x| >= limit or NaN, and |x| < limit, where the low word of the limit is 0: the high words are compared as f32,
 * which is quicker. */
cj_val cji_m_beyond(cji_math *m, cj_val x, double limit);
cj_val cji_m_below(cji_math *m, cj_val x, double limit);
cj_val cji_m_add_high(cji_math *m, cj_val x, cj_val n);  /* x with n added to its high word */
#define BEYOND_D(x, limit) cji_m_beyond(m, x, limit)
#define BELOW_D(x, limit) cji_m_below(m, x, limit)
#define ADD_HIGH(x, n) cji_m_add_high(m, x, n)
#define HIGH(x) cji_m_high(m, x)
#define LOW(x) cji_m_low(m, x)
#define PAIR(low, high) cji_m_pair(m, low, high)

/* ---- Bits ---- */
#define SHL(a, n) OP(shl_u, a, n)
#define SHR(a, n) OP(shr_u, a, n)
#define AND(a, b) OP(and_u, a, b)
#define OR(a, b) OP(or_u, a, b)
#define XOR(a, b) OP(xor_u, a, b)
#define SEL_U(p, a, b) OP(sel_u, a, b, p)
#define SEL_W(p, a, b) OP(sel_w, a, b, p)
#define BOTH(p, q) OP(and_p, p, q)
#define EITHER(p, q) OP(or_p, p, q)
#define NOT(p) OP(not_p, p)

/* ---- Writing a register again, under a predicate or not.  The operation behind it has plain operands only. ---- */
#define WHEN(p, r) cji_m_when(m, p, r); r
#define INTO(r) cji_m_into(m, r); r
void cji_m_when(cji_math *m, cj_val p, cj_val to);   /* the next operation writes `to` where p holds */
void cji_m_into(cji_math *m, cj_val to);             /* the next operation writes `to` */

/* ---- Branches and loops:  IF(p) { ... } ENDIF   IF(p) { ... } ELSE { ... } ENDIF   DO { ... } AGAIN(p) ----
 * What is inside changes a value with INTO or WHEN only; values that it makes end with it. */
bool cji_m_if(cji_math *m, cj_val p);
bool cji_m_else(cji_math *m);
void cji_m_endif(cji_math *m);
void cji_m_do(cji_math *m);
bool cji_m_again(cji_math *m, cj_val p);             /* back to DO where p holds */
#define IF(p) if (cji_m_if(m, p))
#define ELSE if (cji_m_else(m))
#define ENDIF cji_m_endif(m);
#define DO cji_m_do(m); do
#define AGAIN(p) while (cji_m_again(m, p));

/* ---- Tables: element `index` + k: words of .const memory, floats of .global memory, two doubles of either ---- */
cj_val cji_m_row(cji_math *m, cji_math_table t, cj_val index, unsigned bytes);   /* the place of element `index` */
cj_val cji_m_load_u(cji_math *m, cji_math_table t, cj_val row, unsigned k);      /* its k-th word of 32 bits */
cj_val cji_m_load_w(cji_math *m, cji_math_table t, cj_val row, unsigned k);      /* of 64 bits */
void cji_m_load_d2(cji_math *m, cji_math_table t, cj_val row, unsigned k, cj_val *a, cj_val *b); /* two doubles */
void cji_m_two_d(cji_math *m, cji_math_table t, unsigned k, cj_val *a, cj_val *b);  /* of a table without rows */
/* Horner's rule goes on with the coefficients of a table in .const memory, an even number; p is what came before it. */
cj_val cji_m_poly_on(cji_math *m, cj_val p, cji_math_table t, cj_val x);
/* The same with all coefficients in the table. */
cj_val cji_m_poly_of(cji_math *m, cji_math_table t, cj_val x);
#define POLY_OF(table, x) cji_m_poly_of(m, CJI_MATH_##table, x)
#define POLY_ON(p, table, x) cji_m_poly_on(m, p, CJI_MATH_##table, x)

#endif
