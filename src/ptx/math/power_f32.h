/* Logarithms that functions of f32 share. */
#ifndef CJI_MATH_POWER_F32_H
#define CJI_MATH_POWER_F32_H

#include "ptx/math/ops.h"

/* log2(x) for finite x > 0, within 2^-31: high + low. */
void cji_math_log2_pair(cji_math *m, cj_val x, cj_val *high, cj_val *low);

/* log(x) as cji_math_log_f32 has it, of finite x > 0, and of normal ones; of others it is some number. */
cj_val cji_math_log_of_positive(cji_math *m, cj_val x);
cj_val cji_math_log_of_normal(cji_math *m, cj_val x);

#endif
