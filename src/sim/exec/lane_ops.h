/* One lane of each arithmetic instruction: values in the low bits of 64-bit integers, modifiers as CJI_KF_*
 * in k. Every operation has one; ops_vec.h has the same semantics for the frequent forms, 32 lanes at a time. */
#ifndef CJI_EXEC_LANE_OPS_H
#define CJI_EXEC_LANE_OPS_H

#include <stdint.h>

/* Comparisons, ORDER cji_lane_compare. */
enum { CJI_CMP_EQ, CJI_CMP_NE, CJI_CMP_LT, CJI_CMP_LE, CJI_CMP_GT, CJI_CMP_GE, CJI_CMP_EQU, CJI_CMP_NEU,
    CJI_CMP_LTU, CJI_CMP_LEU, CJI_CMP_GTU, CJI_CMP_GEU, CJI_CMP_NUM, CJI_CMP_NAN };

/* testp, k's X. */
enum { CJI_TESTP_FINITE, CJI_TESTP_INFINITE, CJI_TESTP_NUMBER, CJI_TESTP_NOTANUMBER, CJI_TESTP_NORMAL,
    CJI_TESTP_SUBNORMAL };

/* prmt modes, k's X; 0 is the plain one. */
enum { CJI_PRMT_PLAIN, CJI_PRMT_F4E, CJI_PRMT_B4E, CJI_PRMT_RC8, CJI_PRMT_ECL, CJI_PRMT_ECR, CJI_PRMT_RC16 };
extern const uint16_t cji_prmt_modes[7][4];    /* selectors by mode and the lower two bits of c */

/* cji_l_NAME of each lane function that ops.def names. */
#define L(lane) uint64_t cji_l_##lane(uint64_t a, uint64_t b, uint64_t c, uint32_t k);
#define O(op, class, word, shape, lane, modifiers) L(lane)
#include "sim/exec/ops.def"

/* Flushes a subnormal of f32 to a zero of its sign. */
static inline uint32_t cji_ftz(uint32_t u) { return u & 0x7f800000 ? u : u & 0x80000000; }

/* A bit field's place or length: 8 bits of the operand for 32-bit fields, all 32 for 64-bit ones
 * (as a Hopper does it), clamped. */
static inline unsigned cji_field_of(uint64_t v, unsigned bits)
{
    v &= bits == 64 ? 0xffffffff : 0xff;
    return v > 0xff ? 0xff : (unsigned)v;
}

#endif
