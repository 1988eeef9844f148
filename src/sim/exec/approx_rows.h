/* The coefficients of the unit for special functions (ptx/mufu.h) as handlers of 32 lanes want them: in 32 bits. */
#ifndef CJI_EXEC_APPROX_ROWS_H
#define CJI_EXEC_APPROX_ROWS_H

#include <stdint.h>

#include "ptx/mufu.h"

/* A sum is c0 * 2^k + c1 x + c2 s plus the function's CJI_APPROX_LOW, which is what all its c0 have below 2^k; k is 9
 * of sqrt, and 8 of the others. |c2| < 2^15. Of rcp, rsqrt, sqrt and ex2 c0 lacks the least result of their binade, and
 * the result has 8 bits less than what c0 counts. */
typedef struct cji_approx_row {
    uint32_t c0;                /* modulo 2^32 */
    int32_t c1, c2;
    float unit;                 /* of tanh: what c0 counts; 0 of others, of which lg2's counts 2^-30, sin's 2^-29 */
} cji_approx_row;
extern const cji_approx_row cji_approx_rows[CJI_MUFU_ROWS]; /* ORDER CJI_MUFU_RCP */

enum {
    CJI_APPROX_LOW_RCP = 0xce,
    CJI_APPROX_LOW_RSQRT = 0xff,
    CJI_APPROX_LOW_SQRT = 0x1ff,
    CJI_APPROX_LOW_EX2 = 0xc4,
    CJI_APPROX_LOW_LG2 = 0x45
};

#endif
