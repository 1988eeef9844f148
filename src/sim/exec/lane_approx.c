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
    uint64_t v = cji_fp_convert(f, CJI_FP_F64, cji_f64_bits(x), CJI_FP_RN, false);
    if (k & CJI_KF_FTZ && f == CJI_FP_F32) v = cji_ftz((uint32_t)v);
    return v;
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
/* Without .ftz: all bits, subnormals too. */
LA(rsqrt64)
{
    LA_UNUSED;
    uint64_t one = UINT64_C(0x3ff0000000000000);
    return cji_fp_div(CJI_FP_F64, one, cji_fp_sqrt(CJI_FP_F64, a, CJI_FP_RN), CJI_FP_RN);
}

LA(rcp_approx64) { LA_UNUSED; return la_high(1.0 / la_in64(a)); }
LA(rsqrt_approx64) { LA_UNUSED; return la_high(1.0 / sqrt(la_in64(a))); }
