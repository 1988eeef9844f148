/* wgmma: products of a warpgroup, with matrices in shared memory.
 *
 * Each warp computes its own 16 rows of D when it issues the instruction: asynchronous operations may be done at once.
 * Waiting for them is then nothing. */
#ifndef CJI_EXEC_OPS_WGMMA_H
#define CJI_EXEC_OPS_WGMMA_H

#include "sim/exec/warp.h"

/* k: CJI_MM_*; a: A's descriptor; b: B's; c: whether D is added; d2 registers of D at ext[target], then, without a
 * descriptor, four of A */
void cji_h_wgmma(cji_warp *w, const cji_rec *r);
void cji_h_wgmma_order(cji_warp *w, const cji_rec *r);   /* fence, commit_group, wait_group */

#endif
