/* cujit/operands.h - the handy forms of C11 and C++: C numbers as operands, and any number of them; included by cujit/ptx.h.
 *
 *   cj_ins(f, "st.global.f32", cj_mem(f, p, 0), 1.5);      cj_ins_if(f, p, "bra", done);      cj_ins_unless(f, p, "bra", done);
 *   cj_val v = cj_def(f, "fma.rn.f32", a, b, 2);           cj_vec(f, a, b)                    cj_call(f, norm, v, w)
 *   cj_val one = cj_imm(f, 1);
 *
 * Each operand is a cj_val, which stays itself, or a C number, which becomes a literal of its place's type; anything else does not compile. Up to 16 operands
 * (longer ones: the functions ending in _n).  `f` is evaluated more than once.  C99 has the functions only.
 */
#ifndef CUJIT_PTX_H
#include <cujit/ptx.h> /* which includes this file at its place */
#elif !defined CUJIT_OPERANDS_H
#define CUJIT_OPERANDS_H

#ifdef CJ_NO_SOURCE_LINES
#define CJI_HERE(f) (f)
#else
#define CJI_HERE(f) cj_here(f, __FILE__, __LINE__)
#endif

#ifdef __cplusplus

static inline cj_val cji_lift(cj_fn *, cj_val v) { return v; }
static inline cj_val cji_lift(cj_fn *f, int x) { return cj_imm_i(f, x); }
static inline cj_val cji_lift(cj_fn *f, long x) { return cj_imm_i(f, x); }
static inline cj_val cji_lift(cj_fn *f, long long x) { return cj_imm_i(f, x); }
static inline cj_val cji_lift(cj_fn *f, unsigned x) { return cj_imm_u(f, x); }
static inline cj_val cji_lift(cj_fn *f, unsigned long x) { return cj_imm_u(f, x); }
static inline cj_val cji_lift(cj_fn *f, unsigned long long x) { return cj_imm_u(f, x); }
static inline cj_val cji_lift(cj_fn *f, float x) { return cj_imm_f32(f, x); }
static inline cj_val cji_lift(cj_fn *f, double x) { return cj_imm_f64(f, x); }
template<class T> cj_val cji_lift(cj_fn *, T *) = delete; /* a pointer of the host is never an operand */

template<class... T> void cji_ins(cj_fn *f, const char *mnemonic, T... t)
{
    const cj_val v[sizeof...(t) + 1] = { cji_lift(f, t)... };
    (cj_ins_n)(f, mnemonic, v, sizeof...(t));
}
template<class... T> void cji_ins_if(cj_fn *f, cj_val p, const char *mnemonic, T... t)
{
    const cj_val v[sizeof...(t) + 1] = { cji_lift(f, t)... };
    (cj_ins_if_n)(f, p, mnemonic, v, sizeof...(t));
}
template<class... T> void cji_ins_unless(cj_fn *f, cj_val p, const char *mnemonic, T... t)
{
    const cj_val v[sizeof...(t) + 1] = { cji_lift(f, t)... };
    (cj_ins_unless_n)(f, p, mnemonic, v, sizeof...(t));
}
template<class... T> cj_val cji_def(cj_fn *f, const char *mnemonic, T... t)
{
    const cj_val v[sizeof...(t) + 1] = { cji_lift(f, t)... };
    return (cj_def_n)(f, mnemonic, v, sizeof...(t));
}
template<class... T> cj_val cji_call(cj_fn *f, cj_fn *callee, T... t)
{
    const cj_val v[sizeof...(t) + 1] = { cji_lift(f, t)... };
    return (cj_call_n)(f, callee, v, sizeof...(t));
}
template<class... T> cj_val cji_vec(cj_fn *f, T... t)
{
    const cj_val v[sizeof...(t) + 1] = { cji_lift(f, t)... };
    return (cj_vec_n)(f, v, sizeof...(t));
}

#define cj_imm(f, x) cji_lift(CJI_HERE(f), x)
#define cj_ins(f, ...) cji_ins(CJI_HERE(f), __VA_ARGS__)
#define cj_ins_if(f, ...) cji_ins_if(CJI_HERE(f), __VA_ARGS__)
#define cj_ins_unless(f, ...) cji_ins_unless(CJI_HERE(f), __VA_ARGS__)
#define cj_def(f, ...) cji_def(CJI_HERE(f), __VA_ARGS__)
#define cj_vec(f, ...) cji_vec(CJI_HERE(f), __VA_ARGS__)
#define cj_call(f, ...) cji_call(CJI_HERE(f), __VA_ARGS__)

#elif defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L

static inline cj_val cji_lift_self(cj_fn *f, cj_val v) { (void)f; return v; }

#define CJI_LIFT(f, x) _Generic((x), cj_val: cji_lift_self, int: cj_imm_i, long: cj_imm_i, long long: cj_imm_i, unsigned: cj_imm_u, \
                                unsigned long: cj_imm_u, unsigned long long: cj_imm_u, float: cj_imm_f32, double: cj_imm_f64)(f, x)

/* CJI_N counts 1 to 18 arguments; CJI_VALS(f, x, ...) gives "x, operands, how many" for what stands behind x. */
#define CJI_N_(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, N, ...) N
#define CJI_N(...) CJI_N_(__VA_ARGS__, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define CJI_CAT_(a, b) a##b
#define CJI_CAT(a, b) CJI_CAT_(a, b)
#define CJI_E1(f, a) CJI_LIFT(f, a)
#define CJI_E2(f, a, ...) CJI_LIFT(f, a), CJI_E1(f, __VA_ARGS__)
#define CJI_E3(f, a, ...) CJI_LIFT(f, a), CJI_E2(f, __VA_ARGS__)
#define CJI_E4(f, a, ...) CJI_LIFT(f, a), CJI_E3(f, __VA_ARGS__)
#define CJI_E5(f, a, ...) CJI_LIFT(f, a), CJI_E4(f, __VA_ARGS__)
#define CJI_E6(f, a, ...) CJI_LIFT(f, a), CJI_E5(f, __VA_ARGS__)
#define CJI_E7(f, a, ...) CJI_LIFT(f, a), CJI_E6(f, __VA_ARGS__)
#define CJI_E8(f, a, ...) CJI_LIFT(f, a), CJI_E7(f, __VA_ARGS__)
#define CJI_E9(f, a, ...) CJI_LIFT(f, a), CJI_E8(f, __VA_ARGS__)
#define CJI_E10(f, a, ...) CJI_LIFT(f, a), CJI_E9(f, __VA_ARGS__)
#define CJI_E11(f, a, ...) CJI_LIFT(f, a), CJI_E10(f, __VA_ARGS__)
#define CJI_E12(f, a, ...) CJI_LIFT(f, a), CJI_E11(f, __VA_ARGS__)
#define CJI_E13(f, a, ...) CJI_LIFT(f, a), CJI_E12(f, __VA_ARGS__)
#define CJI_E14(f, a, ...) CJI_LIFT(f, a), CJI_E13(f, __VA_ARGS__)
#define CJI_E15(f, a, ...) CJI_LIFT(f, a), CJI_E14(f, __VA_ARGS__)
#define CJI_E16(f, a, ...) CJI_LIFT(f, a), CJI_E15(f, __VA_ARGS__)
#define CJI_SOME(f, n, ...) (const cj_val[]){ CJI_CAT(CJI_E, n)(f, __VA_ARGS__) }, n
#define CJI_V1(f, x) x, (const cj_val *)0, 0
#define CJI_V2(f, x, ...) x, CJI_SOME(f, 1, __VA_ARGS__)
#define CJI_V3(f, x, ...) x, CJI_SOME(f, 2, __VA_ARGS__)
#define CJI_V4(f, x, ...) x, CJI_SOME(f, 3, __VA_ARGS__)
#define CJI_V5(f, x, ...) x, CJI_SOME(f, 4, __VA_ARGS__)
#define CJI_V6(f, x, ...) x, CJI_SOME(f, 5, __VA_ARGS__)
#define CJI_V7(f, x, ...) x, CJI_SOME(f, 6, __VA_ARGS__)
#define CJI_V8(f, x, ...) x, CJI_SOME(f, 7, __VA_ARGS__)
#define CJI_V9(f, x, ...) x, CJI_SOME(f, 8, __VA_ARGS__)
#define CJI_V10(f, x, ...) x, CJI_SOME(f, 9, __VA_ARGS__)
#define CJI_V11(f, x, ...) x, CJI_SOME(f, 10, __VA_ARGS__)
#define CJI_V12(f, x, ...) x, CJI_SOME(f, 11, __VA_ARGS__)
#define CJI_V13(f, x, ...) x, CJI_SOME(f, 12, __VA_ARGS__)
#define CJI_V14(f, x, ...) x, CJI_SOME(f, 13, __VA_ARGS__)
#define CJI_V15(f, x, ...) x, CJI_SOME(f, 14, __VA_ARGS__)
#define CJI_V16(f, x, ...) x, CJI_SOME(f, 15, __VA_ARGS__)
#define CJI_V17(f, x, ...) x, CJI_SOME(f, 16, __VA_ARGS__)
#define CJI_VALS(f, ...) CJI_CAT(CJI_V, CJI_N(__VA_ARGS__))(f, __VA_ARGS__)
#define CJI_GVALS(f, p, ...) p, CJI_VALS(f, __VA_ARGS__)

#define cj_imm(f, x) CJI_LIFT(CJI_HERE(f), x)
#define cj_ins(f, ...) cj_ins_n(f, CJI_VALS(f, __VA_ARGS__))
#define cj_ins_if(f, ...) cj_ins_if_n(f, CJI_GVALS(f, __VA_ARGS__))
#define cj_ins_unless(f, ...) cj_ins_unless_n(f, CJI_GVALS(f, __VA_ARGS__))
#define cj_def(f, ...) cj_def_n(f, CJI_VALS(f, __VA_ARGS__))
#define cj_vec(f, ...) cj_vec_n(f, CJI_SOME(f, CJI_N(__VA_ARGS__), __VA_ARGS__))
#define cj_call(f, ...) cj_call_n(f, CJI_VALS(f, __VA_ARGS__))

#endif
#endif
