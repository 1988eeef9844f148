/* What logarithms of f64 share. */
#ifndef CJI_MATH_LOG_F64_H
#define CJI_MATH_LOG_F64_H

#include "ptx/math/ops.h"

/* x = result * 2^e with result in sqrt(1/2)..sqrt(2); *scaled is x, or x * 2^54 where it is subnormal. */
cj_val cji_math_split_f64(cji_math *m, cj_val x, cj_val *scaled, cj_val *e);
/* 1 / d for a normal d, within 1 ulp: the approximation and one cubic step. */
cj_val cji_math_reciprocal(cji_math *m, cj_val d);
/* The logarithm where x is 0, infinite, NaN or negative, else r. */
cj_val cji_math_log_special(cji_math *m, cj_val scaled, cj_val r);
/* log x = result + *low within 2^-56, and within that of itself near 1, for a positive finite x. */
cj_val cji_math_log_pair(cji_math *m, cj_val x, cj_val *low);
cj_val cji_math_log_pair_normal(cji_math *m, cj_val x, cj_val *low);    /* x is normal */
/* s^2 and the tail of log((1 + s) / (1 - s)) / s in it, of degree 6. */
cj_val cji_math_log_tail(cji_math *m, cj_val z);

#endif
