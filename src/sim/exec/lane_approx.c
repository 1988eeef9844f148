/* One lane of the .approx and .full instructions (lane_ops.h): computed in double by libm and
 * rounded once, which is within every bound of the manual; the special cases are the manual's
 * tables. */
#include <math.h>

#include "sim/exec/lane_ops.h"
#include "sim/exec/fp_soft.h"
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

/* f64: the upper 32 bits of operand and result count, the result's lower are zero; subnormals are
 * flushed. */
static uint64_t la_high(double x)
{
    uint64_t u = cji_f64_bits(x);
    if (!(u & UINT64_C(0x7ff0000000000000))) u &= UINT64_C(1) << 63;
    if (isnan(x)) return UINT64_C(0x7fffffff00000000);
    return u & UINT64_C(0xffffffff00000000);
}

static double la_in64(uint64_t a)
{
    return cji_f64_of(a & UINT64_C(0x7ff0000000000000) ? a & UINT64_C(0xffffffff00000000) : a & UINT64_C(1) << 63);
}

LA(rcp_approx64) { LA_UNUSED; return la_high(1.0 / la_in64(a)); }
LA(rsqrt_approx64) { LA_UNUSED; return la_high(1.0 / sqrt(la_in64(a))); }

/* y + y * e * (3/8 * e + 1/2) with e = 1 - x * y * y: one step of the third order from the seed y, which is
 * rsqrt.approx.ftz.f64's result. The operations are those of an H100's code for it, and so is the rounding. */
static uint64_t la_rsqrt_step(uint64_t x)
{
    const uint64_t one = UINT64_C(0x3ff0000000000000), half = UINT64_C(0x3fe0000000000000),
                   three_eighths = UINT64_C(0x3fd8000000000000), minus = UINT64_C(1) << 63;
    uint64_t y = cji_l_rsqrt_approx64(x, 0, 0, 0), yy = cji_fp_mul(CJI_FP_F64, y, y, CJI_FP_RN);
    uint64_t e = cji_fp_fma(CJI_FP_F64, x, yy ^ minus, one, CJI_FP_RN);
    uint64_t h = cji_fp_fma(CJI_FP_F64, e, three_eighths, half, CJI_FP_RN);
    return cji_fp_fma(CJI_FP_F64, h, cji_fp_mul(CJI_FP_F64, y, e, CJI_FP_RN), y, CJI_FP_RN);
}

/* Without .ftz: all bits of operand and result count. A subnormal is scaled by 2^54, the result by 2^27. */
LA(rsqrt64)
{
    LA_UNUSED;
    const uint64_t inf = UINT64_C(0x7ff0000000000000), sign = UINT64_C(1) << 63, mag = a & ~sign;
    if (mag > inf) return a | UINT64_C(1) << 51;
    if (!mag) return a | inf;
    if (a & sign) return cji_fp_formats[CJI_FP_F64].nan;
    if (mag == inf) return 0;
    if (a >> 52) return la_rsqrt_step(a);
    uint64_t scaled = cji_f64_bits(cji_f64_of(a) * 0x1p54);
    return cji_f64_bits(cji_f64_of(la_rsqrt_step(scaled)) * 0x1p27);
}
