/* One lane of the .approx and .full instructions (lane_ops.h): computed in double by libm and
 * rounded once, which is within every bound of the manual; the special cases are the manual's
 * tables. */
#include <math.h>

#include "sim/exec/lane_ops.h"
#include "sim/exec/fp_soft.h"
#include "sim/exec/seed64.h"
#include "sim/exec/warp.h"

#define LA(name) uint64_t cji_l_##name(uint64_t a, uint64_t b, uint64_t c, uint32_t k)
#define LA_UNUSED (void)a, (void)b, (void)c, (void)k

/* To f32, or to f16 / bf16 where the form is one. */
static double la_in(uint64_t a, uint32_t k)
{
    cji_fp_format f = CJI_KF_FMT(k);
    if (f != CJI_FP_F32) {
        uint64_t wide = cji_fp_convert(CJI_FP_F32, f, a, CJI_FP_RN, false);
        return cji_f32_of(k & CJI_KF_FTZ ? cji_ftz((uint32_t)wide) : (uint32_t)wide);
    }
    return cji_f32_of(k & CJI_KF_FTZ ? cji_ftz((uint32_t)a) : (uint32_t)a);
}

static uint64_t la_out(double x, uint32_t k)
{
    cji_fp_format f = CJI_KF_FMT(k);
    cji_fp_round r = k & CJI_KF_FTZ && f == CJI_FP_F32 ? CJI_FP_FTZ : CJI_FP_RN;
    if (isnan(x)) return cji_fp_formats[f].nan;
    return cji_fp_convert(f, CJI_FP_F64, cji_f64_bits(x), r, false);
}

LA(rcp_approx) { LA_UNUSED; return la_out(1.0 / la_in(a, k), k); }
LA(sqrt_approx) { LA_UNUSED; return la_out(sqrt(la_in(a, k)), k); }
LA(rsqrt_approx) { LA_UNUSED; return la_out(1.0 / sqrt(la_in(a, k)), k); }

/* |b| in (2^126, 2^128): the hardware multiplies with a reciprocal that underflows. */
LA(div_approx)
{
    LA_UNUSED;
    double x = la_in(a, k), y = la_in(b, k);
    if (fabs(y) > 0x1p126 && !isinf(y) && !isnan(x)) {
        if (isinf(x)) return 0x7fffffff;
        return la_out(signbit(x) != signbit(y) ? -0.0 : 0.0, k);
    }
    return la_out(x / y, k);
}

LA(div_full) { LA_UNUSED; return la_out(la_in(a, k) / la_in(b, k), k); }

LA(sin_approx) { LA_UNUSED; return la_out(sin(la_in(a, k)), k); }
LA(cos_approx) { LA_UNUSED; return la_out(cos(la_in(a, k)), k); }
LA(lg2_approx) { LA_UNUSED; return la_out(log2(la_in(a, k)), k); }
LA(ex2_approx) { LA_UNUSED; return la_out(exp2(la_in(a, k)), k); }
LA(tanh_approx) { LA_UNUSED; return la_out(tanh(la_in(a, k)), k); }

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
