/* Handlers that work lane by lane: arithmetic through lane functions, packing, carries, special
 * registers. */
#ifndef CJI_EXEC_OPS_LANE_H
#define CJI_EXEC_OPS_LANE_H

#include "sim/exec/warp.h"

void cji_h_lane(cji_warp *w, const cji_rec *r);      /* d = lane(a, b, c, k) */
void cji_h_lane_x2(cji_warp *w, const cji_rec *r);   /* the same on both halves of d, a, b, c; count: bits of a half */
/* predicate results; r->d2, c, flags as cji_setp_end: flags hold CJI_SETP_* */
void cji_h_lane_setp(cji_warp *w, const cji_rec *r);
void cji_h_lane_setp_x2(cji_warp *w, const cji_rec *r); /* d from the lower, d2 from the upper half */
void cji_h_lane_set(cji_warp *w, const cji_rec *r);  /* set: flags CJI_SETP_*, imm: the value of true */
void cji_h_lane_set_x2(cji_warp *w, const cji_rec *r);
void cji_h_pred(cji_warp *w, const cji_rec *r);      /* logic of predicates; k: CJI_PL_* */
void cji_h_selp(cji_warp *w, const cji_rec *r);      /* any widths; k: CJI_SETP_NOT */
void cji_h_bfi(cji_warp *w, const cji_rec *r);       /* ext: the fourth operand */
void cji_h_carry(cji_warp *w, const cji_rec *r);     /* add.cc and its kin; k: CJI_CC_* */
void cji_h_pack(cji_warp *w, const cji_rec *r);      /* d = {ext...}; count of them */
void cji_h_unpack(cji_warp *w, const cji_rec *r);    /* {ext...} = a */
void cji_h_sreg(cji_warp *w, const cji_rec *r);      /* d = special register k */
void cji_h_local_addr(cji_warp *w, const cji_rec *r); /* d = local frame + imm */
void cji_h_isspacep(cji_warp *w, const cji_rec *r);  /* d = a lies in space r->space */
void cji_h_nop(cji_warp *w, const cji_rec *r);
bool cji_sreg_known(unsigned id);                    /* can cji_h_sreg read it? */

enum { CJI_PL_AND, CJI_PL_OR, CJI_PL_XOR, CJI_PL_NOT, CJI_PL_MOV };
enum { CJI_CC_SUB = 1, CJI_CC_IN = 2, CJI_CC_OUT = 4, CJI_CC_MAD = 8, CJI_CC_HI = 16, CJI_CC_64 = 32,
    CJI_CC_SIGNED = 64 };

#endif
