/* cujit/operands.h - C numbers as operands, and any number of operands.  ptx.h includes it.
 *
 *     cj_ins(f, "st.global.f32", cj_mem(f, p, 0), 1.5);
 *     cj_ins_if(f, p, "bra", done);
 *     cj_ins_unless(f, p, "bra", done);
 *     cj_val v = cj_def(f, "fma.rn.f32", a, b, 2);
 *     cj_val r = cj_call(f, norm, v, cj_imm(f, 1), 2.5);
 *     cj_val pair = cj_vec(f, a, b);
 *
 * An operand is a cj_val or a C number.  A number becomes a literal, which takes the type of the
 * operand that it is used as.  Anything else does not compile.  A list has up to 32 operands; the
 * functions ending in _n take more.
 *
 * `f` is evaluated more than once and must have no side effects.  Each operand is evaluated once.
 * C11 and C++ only: C99 has the functions.
 */
#ifndef CUJIT_PTX_H
#include <cujit/ptx.h> /* which includes this file at its place */
#elif !defined CUJIT_OPERANDS_H
#define CUJIT_OPERANDS_H

#include <cujit/numbers.h>

/* `f`, with the line of the call noted. */
#ifdef CJ_NO_SOURCE_LINES
#define CJI_HERE(f) (f)
#else
#define CJI_HERE(f) cj_here(f, __FILE__, __LINE__)
#endif

/* 1: the macros of operands.h and verbs_numbers.h take C numbers. */
#if defined CJI_FUNCTIONS_ONLY || defined __cplusplus || !defined __STDC_VERSION__ || __STDC_VERSION__ < 201112L
#define CJI_NUMBERS 0
#else
#define CJI_NUMBERS 1
#endif

#ifdef __cplusplus

static inline cj_val cji_lift(cj_fn *, cj_val v) { return v; }
#define CJI_LIFT_FROM(to, type, kind) static inline cj_val cji_lift(cj_fn *f, type x) { return cj_imm_##kind(f, x); }
CJI_EACH_NUMBER(CJI_LIFT_FROM, cj_imm_)
template<class T> cj_val cji_lift(cj_fn *, T *) = delete; /* a pointer of the host is never an operand */

template<class... T> void cji_ins(cj_fn *f, const char *mnemonic, T... t)
{
    const cj_val v[sizeof...(t) + 1] = { cji_lift(f, t)... };
    (cj_ins_n)(f, mnemonic, v, sizeof...(t));
}
template<class P, class... T> void cji_ins_if(cj_fn *f, P p, const char *mnemonic, T... t)
{
    const cj_val v[sizeof...(t) + 1] = { cji_lift(f, t)... };
    (cj_ins_if_n)(f, cji_lift(f, p), mnemonic, v, sizeof...(t));
}
template<class P, class... T> void cji_ins_unless(cj_fn *f, P p, const char *mnemonic, T... t)
{
    const cj_val v[sizeof...(t) + 1] = { cji_lift(f, t)... };
    (cj_ins_unless_n)(f, cji_lift(f, p), mnemonic, v, sizeof...(t));
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

#elif CJI_NUMBERS

static inline cj_val cji_lift_self(cj_fn *f, cj_val v) { (void)f; return v; }

/* The operand `x` as a value.  GNU C spells `x` once: nested calls stay short. */
#define CJI_LIFT_AS(f, x) _Generic((x), CJI_EACH_NUMBER(CJI_NUMBER_ROW, cj_imm_) cj_val: cji_lift_self)(f, x)
#ifdef __GNUC__
#define CJI_LIFT(f, x) CJI_LIFT_ONCE(f, x, CJI_CAT(cji_x, __COUNTER__))
#define CJI_LIFT_ONCE(f, x, v) __extension__({ __auto_type v = (x); CJI_LIFT_AS(f, v); })
#else
#define CJI_LIFT(f, x) CJI_LIFT_AS(f, x)
#endif

/* The operands as a list and their number; CJI_VALS: the same behind `x`, and possibly none. */
#define CJI_LIST(f, ...) (const cj_val[]){ CJI_MAP(CJI_LIFT, f, __VA_ARGS__) }, CJI_COUNT(__VA_ARGS__)
#define CJI_VALS(f, ...) CJI_CAT(CJI_VALS_, CJI_ANY(__VA_ARGS__))(f, __VA_ARGS__)
#define CJI_VALS_0(f, x) x, (const cj_val *)0, 0
#define CJI_VALS_1(f, x, ...) x, CJI_LIST(f, __VA_ARGS__)
#define CJI_GVALS(f, p, ...) CJI_LIFT(f, p), CJI_VALS(f, __VA_ARGS__)

#define cj_imm(f, x) CJI_LIFT(CJI_HERE(f), x)
#define cj_ins(f, ...) cj_ins_n(f, CJI_VALS(f, __VA_ARGS__))
#define cj_ins_if(f, ...) cj_ins_if_n(f, CJI_GVALS(f, __VA_ARGS__))
#define cj_ins_unless(f, ...) cj_ins_unless_n(f, CJI_GVALS(f, __VA_ARGS__))
#define cj_def(f, ...) cj_def_n(f, CJI_VALS(f, __VA_ARGS__))
#define cj_vec(f, ...) cj_vec_n(f, CJI_LIST(f, __VA_ARGS__))
#define cj_call(f, ...) cj_call_n(f, CJI_VALS(f, __VA_ARGS__))

#endif
#endif
