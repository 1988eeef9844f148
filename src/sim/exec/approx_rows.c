/* The table of approx_rows.h, from mufu.def. Sums of sqrt count 2^-40, those of ex2 2^-39. */
#include "sim/exec/approx_rows.h"

#define ROW(c0, c1, c2, k, unit)  { (uint32_t)((INT64_C(1) * (c0)) >> (k)), c1, c2, unit },
#define RCP(c0, c1, c2)           ROW(c0 - (INT64_C(1) << 39), c1, c2, 8, 0)
#define RSQ(c0, c1, c2)           ROW(c0 - (INT64_C(1) << 39), c1, c2, 8, 0)
#define SQRT(c0, c1, c2)          ROW(c0 - (INT64_C(1) << 40), c1, c2, 9, 0)
#define SQRT_OF_ODD(c0, c1, c2)   ROW(2 * (c0) - (INT64_C(1) << 40), 2 * (c1), 2 * (c2), 9, 0)
#define EX2(c0, c1, c2)           ROW(2 * (c0) - (INT64_C(1) << 39), 2 * (c1), 2 * (c2), 8, 0)
#define LG2(c0, c1, c2)           ROW(c0, c1, c2, 8, 0)
#define SIN(c0, c1, c2)           ROW(c0, c1, c2, 8, 0)
/* Coefficients that are too large are multiples of a power of two, of which they lack so much. */
#define LARGE(c2)                 ((c2) < -0x8000)
#define SCALE(c1, c2)             (!LARGE(c2) ? 1 : ((c1) | (c2)) & 4 ? 4 : 8)
#define SCALED(c0, c1, c2, n)     ROW((c0) / (n), (c1) / (n), (c2) / (n), 8, (n) * 0x1p-31f)
#define TANH(c0, c1, c2)          SCALED(c0, c1, c2, SCALE(c1, c2))
_Alignas(64) const cji_approx_row cji_approx_rows[CJI_MUFU_ROWS] = {
#include "ptx/mufu.def"
};
