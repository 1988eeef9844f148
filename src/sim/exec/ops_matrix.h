/* Matrices of a warp: ldmatrix, stmatrix, movmatrix. All lanes of the warp execute them together. */
#ifndef CJI_EXEC_OPS_MATRIX_H
#define CJI_EXEC_OPS_MATRIX_H

#include "sim/exec/warp.h"

/* Is the whole warp here? False: it waits for the others, or some have exited, which is a fault. */
bool cji_matrix_whole(cji_warp *w, const cji_rec *r);

/* [a + imm]; count matrices, whose registers are count offsets at ext[target]; k: CJI_MX_* */
void cji_h_ldmatrix(cji_warp *w, const cji_rec *r);
void cji_h_stmatrix(cji_warp *w, const cji_rec *r);
void cji_h_movmatrix(cji_warp *w, const cji_rec *r);   /* d = a transposed */

enum { CJI_MX_TRANSPOSED = 1 };

#endif
