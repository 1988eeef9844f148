/* Numbers as operands of verbs: what C computes, and which register holds one. */
#ifndef CJI_FOLD_H
#define CJI_FOLD_H

#include "ptx/verb_table.h"

/* Are all of them untyped literals of `f`? */
bool cji_all_numbers(const cj_fn *f, const cj_val *v, size_t n);

/* The type of a register for these numbers: .u32, or .s32 where one is negative, 64 bits where that does not hold
 * them all; .f32, .f64. */
unsigned cji_number_type(const cj_fn *f, const cj_val *v, size_t n);

/* The verb of numbers only.  False: it is not one of these verbs, or an operand is no number; else *result is a
 * number, a constant predicate, or the null value with the failure kept. */
bool cji_fold(cj_fn *f, cji_verb_id verb, const cj_val *v, size_t n, cj_val *result, const char *call);

/* ---- Constant predicates: literals of type CJ_PRED; a number counts as one, true unless it is 0 ---- */
cj_val cji_constant(cj_fn *f, bool holds);
bool cji_is_constant(const cj_fn *f, cj_val p, bool *holds);
cj_val cji_predicate(cj_fn *f, cj_val p, const char *call);  /* in a register; other values stay as they are */

/* ---- Arithmetic that the C library has in libm, rounded as IEEE says, to nearest even ---- */
double cji_soft_fma(double a, double b, double c, bool single);  /* single: rounded to a float once */
double cji_soft_sqrt(double x);
double cji_soft_round(double x, cji_verb_id verb);               /* to a whole number: FLOOR, CEIL, TRUNC, ROUND */

#endif
