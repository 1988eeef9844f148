/* One lane of each arithmetic instruction: values in the low bits of 64-bit words, modifiers in
 * CJI_KF_* words. The table's breadth lives here; ops_vec.h has the same semantics for the frequent
 * forms, 32 lanes at a time. */
#ifndef CJI_EXEC_LANE_OPS_H
#define CJI_EXEC_LANE_OPS_H

#include <stdint.h>

/* Comparisons, ORDER cji_lane_compare. */
enum { CJI_CMP_EQ, CJI_CMP_NE, CJI_CMP_LT, CJI_CMP_LE, CJI_CMP_GT, CJI_CMP_GE, CJI_CMP_EQU, CJI_CMP_NEU,
    CJI_CMP_LTU, CJI_CMP_LEU, CJI_CMP_GTU, CJI_CMP_GEU,
       CJI_CMP_NUM, CJI_CMP_NAN };

/* testp, k's X. */
enum { CJI_TESTP_FINITE, CJI_TESTP_INFINITE, CJI_TESTP_NUMBER, CJI_TESTP_NOTANUMBER, CJI_TESTP_NORMAL,
    CJI_TESTP_SUBNORMAL };

/* prmt modes, k's X; 0 is the plain one. */
enum { CJI_PRMT_PLAIN, CJI_PRMT_F4E, CJI_PRMT_B4E, CJI_PRMT_RC8, CJI_PRMT_ECL, CJI_PRMT_ECR, CJI_PRMT_RC16 };

#define CJI_LANE(name) uint64_t cji_l_##name(uint64_t a, uint64_t b, uint64_t c, uint32_t k)
/* integers (lane_int.c) */
CJI_LANE(iadd); CJI_LANE(isub); CJI_LANE(imul); CJI_LANE(imulwide); CJI_LANE(imad); CJI_LANE(imadwide);
CJI_LANE(imul24); CJI_LANE(imad24);
CJI_LANE(isad); CJI_LANE(idiv); CJI_LANE(irem); CJI_LANE(iabs); CJI_LANE(ineg); CJI_LANE(imin); CJI_LANE(imax);
CJI_LANE(popc); CJI_LANE(clz);
CJI_LANE(bfind); CJI_LANE(fns); CJI_LANE(brev); CJI_LANE(bfe); CJI_LANE(bmsk); CJI_LANE(szext); CJI_LANE(dp4a);
CJI_LANE(dp2a);
CJI_LANE(and); CJI_LANE(or); CJI_LANE(xor); CJI_LANE(not); CJI_LANE(cnot); CJI_LANE(shl); CJI_LANE(shr);
CJI_LANE(shfl); CJI_LANE(shfr);
CJI_LANE(prmt); CJI_LANE(icmp); CJI_LANE(mov); CJI_LANE(slct_int); CJI_LANE(addk);
/* floating point (lane_float.c) */
CJI_LANE(fadd); CJI_LANE(fsub); CJI_LANE(fmul); CJI_LANE(ffma); CJI_LANE(fdiv); CJI_LANE(frcp); CJI_LANE(fsqrt);
CJI_LANE(fabs); CJI_LANE(fneg);
CJI_LANE(fmin); CJI_LANE(fmax); CJI_LANE(testp); CJI_LANE(copysign); CJI_LANE(fcmp); CJI_LANE(slct_float);
/* .approx and .full: correctly rounded within the manual's bounds (lane_approx.c) */
CJI_LANE(rcp_approx); CJI_LANE(sqrt_approx); CJI_LANE(rsqrt_approx); CJI_LANE(div_approx); CJI_LANE(div_full);
CJI_LANE(sin_approx);
CJI_LANE(cos_approx); CJI_LANE(lg2_approx); CJI_LANE(ex2_approx); CJI_LANE(tanh_approx); CJI_LANE(rcp_approx64);
CJI_LANE(rsqrt_approx64);
/* conversions (lane_cvt.c): source format or width in b's place of k */
CJI_LANE(cvt_int); CJI_LANE(cvt_to_int); CJI_LANE(cvt_from_int); CJI_LANE(cvt_float); CJI_LANE(cvt_integral);
CJI_LANE(cvt_pack); CJI_LANE(cvt_unpack);
#undef CJI_LANE

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
