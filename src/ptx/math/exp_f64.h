/* What exponential functions of f64 share. */
#ifndef CJI_MATH_EXP_F64_H
#define CJI_MATH_EXP_F64_H

#include "ptx/math/ops.h"

cj_val cji_math_exp_reduced(cji_math *m, cj_val f);         /* e^f for |f| <= ln 2 / 2 */
cj_val cji_math_expm1_tail(cji_math *m, cj_val h);         /* (e^h - 1 - h) / h^2 for |h| <= ln 2 / 2 */
cj_val cji_math_clamped(cji_math *m, cj_val x, double least, double most);  /* NaN stays */
cj_val cji_math_exp_any(cji_math *m, cj_val x);             /* e^x */
/* p 2^j, a function of x: in one step where |x| < usual, so that it is normal, and in two where |x| < last; beyond that
 * infinite, or 0 of negative x. */
cj_val cji_math_scaled(cji_math *m, cj_val p, cj_val j, cj_val x, double usual, double last);
cj_val cji_math_scale(cji_math *m, cj_val p, cj_val j);     /* p 2^j for j from -1080 to 1025, rounded once */

#endif
