/* One lane of the .approx and .full instructions (lane_ops.h), with a Hopper's bits. */
#include <math.h>

#include "ptx/mufu.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/fp_soft.h"
#include "ptx/math/seed64.h"
#include "sim/exec/warp.h"

#define LA(name) uint64_t cji_l_##name(uint64_t a, uint64_t b, uint64_t c, uint32_t k)
#define LA_UNUSED (void)a, (void)b, (void)c, (void)k

#define LA_FTZ(k) (((k) & CJI_KF_FTZ) != 0)
#define LA_IS_BF(k) (CJI_KF_FMT(k) == CJI_FP_BF16)
#define LA_IS_F32(k) (CJI_KF_FMT(k) == CJI_FP_F32)

LA(rcp_approx) { LA_UNUSED; return cji_approx_rcp((uint32_t)a, LA_FTZ(k)); }
LA(rsqrt_approx) { LA_UNUSED; return cji_approx_rsqrt((uint32_t)a, LA_FTZ(k)); }
LA(sqrt_approx) { LA_UNUSED; return cji_approx_sqrt((uint32_t)a, LA_FTZ(k)); }
LA(lg2_approx) { LA_UNUSED; return cji_approx_lg2((uint32_t)a, LA_FTZ(k)); }
LA(sin_approx) { LA_UNUSED; return cji_approx_sin((uint32_t)a, LA_FTZ(k)); }
LA(cos_approx) { LA_UNUSED; return cji_approx_cos((uint32_t)a, LA_FTZ(k)); }

LA(ex2_approx)
{
    LA_UNUSED;
    return LA_IS_F32(k) ? cji_approx_ex2((uint32_t)a, LA_FTZ(k)) : cji_approx_ex2_half((uint16_t)a, LA_IS_BF(k));
}

LA(tanh_approx)
{
    LA_UNUSED;
    return LA_IS_F32(k) ? cji_approx_tanh((uint32_t)a, LA_FTZ(k)) : cji_approx_tanh_half((uint16_t)a, LA_IS_BF(k));
}

/* The dividend times the unit's reciprocal; `by`: both were multiplied by it before. */
static uint64_t la_quotient(uint64_t a, uint64_t b, uint32_t by, uint32_t k)
{
    cji_fp_round r = LA_FTZ(k) ? CJI_FP_FTZ : CJI_FP_RN;
    if (LA_FTZ(k)) a = cji_ftz((uint32_t)a), b = cji_ftz((uint32_t)b);
    if (by) a = cji_fp_mul(CJI_FP_F32, a, by, r), b = cji_fp_mul(CJI_FP_F32, b, by, r);
    return cji_fp_mul(CJI_FP_F32, cji_mufu_rcp((uint32_t)b), a, r);
}
enum { LA_QUARTER = 0x3e800000, LA_2_TO_24 = 0x4b800000, LA_2_TO_126 = 0x7e800000 };

LA(div_approx)
{
    LA_UNUSED;
    return LA_FTZ(k) ? la_quotient(a, b, 0, k) : cji_approx_div((uint32_t)a, (uint32_t)b);
}

LA(div_full)
{
    LA_UNUSED;
    uint32_t m = b & 0x7fffffff, large = m > LA_2_TO_126 && m <= 0x7f800000 ? LA_QUARTER : 0;
    return la_quotient(a, b, m < 0x00800000 && !LA_FTZ(k) ? LA_2_TO_24 : large, k);
}

/* f64 with .ftz: the upper words of operand and result count, the lower word of the result is zero; subnormals are
 * flushed. */
static uint64_t la_upper(uint32_t word) { return (uint64_t)word << 32; }

static bool la_is_nan64(uint64_t a) { return (a & INT64_MAX) > UINT64_C(0x7ff0000000000000); }

LA(rcp_approx64)
{
    LA_UNUSED;
    uint32_t upper = (uint32_t)(a >> 32), sign = upper & 0x80000000, x = upper & 0x7fffffff;
    if (x > 0x7ff00000) return la_upper(0x7fffffff);
    if (x == 0x7ff00000) return la_upper(sign);
    if (x < 0x00100000) return la_upper(sign | 0x7ff00000);
    return la_upper(sign | cji_seed_rcp(x));
}

LA(rsqrt_approx64)
{
    LA_UNUSED;
    uint32_t upper = (uint32_t)(a >> 32), sign = upper & 0x80000000, x = upper & 0x7fffffff;
    if (x > 0x7ff00000) return la_upper(0x7fffffff);
    if (x < 0x00100000) return la_upper(sign | 0x7ff00000);
    if (sign) return la_upper(0x7fffffff);
    return la_upper(x == 0x7ff00000 ? 0 : cji_seed_rsqrt(x));
}

/* Without .ftz: all bits, subnormals too, by the steps that the driver's compiler makes of it. */
LA(rsqrt64)
{
    LA_UNUSED;
    if (la_is_nan64(a)) return a | UINT64_C(1) << 51;
    if (!(a & INT64_MAX)) return a | UINT64_C(0x7ff0000000000000);
    if (a >> 63) return UINT64_C(0xfff8000000000000);
    if (a == UINT64_C(0x7ff0000000000000)) return 0;
    bool subnormal = a < UINT64_C(0x0010000000000000);
    double x = cji_f64_of(a) * (subnormal ? 0x1p54 : 1);
    double y = cji_f64_of(la_upper(cji_seed_rsqrt((uint32_t)(cji_f64_bits(x) >> 32))));
    double e = fma(x, -(y * y), 1);
    y = fma(fma(e, 0.375, 0.5), y * e, y);
    return cji_f64_bits(subnormal ? y * 0x1p27 : y);
}
