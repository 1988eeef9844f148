/* Instructions that lanes of a warp execute together. */
#ifndef CJI_EXEC_OPS_WARP_H
#define CJI_EXEC_OPS_WARP_H

#include "sim/exec/warp.h"

/* k of cji_h_sync. Operands: a value or predicate, b, c as in the manual; results d, d2 (wd, size
 * as width of d2, CJI_WNONE: not wanted). */
enum {
    CJI_SY_UP = 0, CJI_SY_DOWN, CJI_SY_BFLY, CJI_SY_IDX, CJI_SY_ALL, CJI_SY_ANY, CJI_SY_UNI, CJI_SY_BALLOT,
    CJI_SY_MATCH_ANY, CJI_SY_MATCH_ALL,
    CJI_SY_ADD, CJI_SY_MIN, CJI_SY_MAX, CJI_SY_AND, CJI_SY_OR, CJI_SY_XOR, CJI_SY_FMIN, CJI_SY_FMAX, CJI_SY_ELECT,
    CJI_SY_BARRIER, CJI_SY_ACTIVE,
    CJI_SY_OP = 31, CJI_SY_SIGNED = 32, CJI_SY_ABS = 64, CJI_SY_NAN = 128,
    CJI_SY_NOT = 256 /* the predicate is negated */,
    CJI_SY_NO_MASK = 512 /* without .sync: the lanes that are here */
};
#define CJI_POISON UINT64_C(0xdeadbeefdeadbeef)

#endif
