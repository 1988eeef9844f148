/* Asynchronous copies and mbarriers.
 *
 * A copy is done where it is issued: waiting for it is then nothing. An mbarrier's 64 bits are ours
 * (no other access to them is defined): bits 0-19 the arrivals that a phase expects, 20-39 those
 * that are missing, 40-62 the transaction count (two's complement), 63 the phase's parity. */
#ifndef CJI_EXEC_OPS_ASYNC_H
#define CJI_EXEC_OPS_ASYNC_H

#include "sim/exec/warp.h"

/* shared [a + imm] = global; ext[target]: {width, base, imm low, imm high, flags of the source;
 * width, place of source bytes} */
void cji_h_cp_async(cji_warp *w, const cji_rec *r);
void cji_h_mbarrier(cji_warp *w, const cji_rec *r);  /* k: CJI_MB_*; address a; b count or state; d result */

enum { CJI_MB_INIT, CJI_MB_INVAL, CJI_MB_EXPECT, CJI_MB_COMPLETE, CJI_MB_ARRIVE, CJI_MB_WAIT, CJI_MB_COPIES,
    CJI_MB_OP = 7,
       CJI_MB_DROP = 8, CJI_MB_TX = 16 /* b is a transaction count */, CJI_MB_PARITY = 32, CJI_MB_TRY = 64,
       CJI_MB_NOINC = 128, CJI_MB_NO_COMPLETE = 256 };
/* A copy has moved `bytes` bytes that the mbarrier counts. False: a fault. */
bool cji_mbarrier_complete(cji_warp *w, const cji_rec *r, unsigned lane, unsigned space, uint64_t address,
                           uint32_t bytes);
uint64_t cji_l_mbarrier_pending(uint64_t a, uint64_t b, uint64_t c, uint32_t k);

#endif
