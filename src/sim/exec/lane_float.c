/* One lane of the floating point instructions that IEEE defines, and of comparisons (lane_ops.h). */
#include "sim/exec/lane_ops.h"
#include "sim/exec/fp_soft.h"
#include "sim/exec/warp.h"

#define LF(name) uint64_t cji_l_##name(uint64_t a, uint64_t b, uint64_t c, uint32_t k)
#define LF_UNUSED (void)a, (void)b, (void)c, (void)k
#define LF_RND(k) ((cji_fp_round)((k) & (CJI_KF_RND | CJI_KF_FTZ)))

static uint64_t lf_sign(cji_fp_format f) { return UINT64_C(1) << (cji_fp_formats[f].bits - 1); }
static uint64_t lf_one(cji_fp_format f) { return (uint64_t)cji_fp_formats[f].bias << cji_fp_formats[f].mbits; }
static uint64_t lf_mag(cji_fp_format f, uint64_t v) { return v & (lf_sign(f) - 1); }
static bool lf_nan(cji_fp_format f, uint64_t v) { return lf_mag(f, v) > cji_fp_formats[f].inf; }

static uint64_t lf_flush(cji_fp_format f, uint64_t v) { return v & cji_fp_formats[f].inf ? v : v & lf_sign(f); }
static uint64_t lf_in(uint64_t v, uint32_t k)
{
    cji_fp_format f = CJI_KF_FMT(k);
    if (f != CJI_FP_F64) v &= lf_sign(f) * 2 - 1;
    return k & CJI_KF_FTZ ? lf_flush(f, v) : v;
}

static uint64_t lf_out(uint64_t v, uint32_t k)
{
    cji_fp_format f = CJI_KF_FMT(k);
    if (k & CJI_KF_SAT) {
        if (lf_nan(f, v) || v & lf_sign(f)) return 0;
        return v > lf_one(f) ? lf_one(f) : v;
    }
    if (k & CJI_KF_RELU && !lf_nan(f, v) && v & lf_sign(f)) return 0;
    return v;
}

LF(fadd) { LF_UNUSED; return lf_out(cji_fp_add(CJI_KF_FMT(k), lf_in(a, k), lf_in(b, k), LF_RND(k)), k); }
LF(fsub)
{
    cji_fp_format f = CJI_KF_FMT(k);
    b = lf_in(b, k);
    return cji_l_fadd(a, lf_nan(f, b) ? b : b ^ lf_sign(f), c, k);
}

LF(fmul) { LF_UNUSED; return lf_out(cji_fp_mul(CJI_KF_FMT(k), lf_in(a, k), lf_in(b, k), LF_RND(k)), k); }
LF(ffma) { return lf_out(cji_fp_fma(CJI_KF_FMT(k), lf_in(a, k), lf_in(b, k), lf_in(c, k), LF_RND(k)), k); }
LF(fdiv) { LF_UNUSED; return lf_out(cji_fp_div(CJI_KF_FMT(k), lf_in(a, k), lf_in(b, k), LF_RND(k)), k); }
LF(frcp) { LF_UNUSED; return lf_out(cji_fp_div(CJI_KF_FMT(k), lf_one(CJI_KF_FMT(k)), lf_in(a, k), LF_RND(k)), k); }
LF(fsqrt) { LF_UNUSED; return lf_out(cji_fp_sqrt(CJI_KF_FMT(k), lf_in(a, k), LF_RND(k)), k); }

/* abs and neg of NaN: in f64 it becomes quiet and keeps its sign, in the others it becomes the canonical one. */
static uint64_t lf_nan_of(cji_fp_format f, uint64_t a)
{
    return f == CJI_FP_F64 ? a | UINT64_C(1) << 51 : cji_fp_formats[f].nan;
}

LF(fabs)
{
    LF_UNUSED;
    cji_fp_format f = CJI_KF_FMT(k);
    a = lf_in(a, k);
    return lf_nan(f, a) ? lf_nan_of(f, a) : lf_mag(f, a);
}

LF(fneg)
{
    LF_UNUSED;
    cji_fp_format f = CJI_KF_FMT(k);
    a = lf_in(a, k);
    return lf_nan(f, a) ? lf_nan_of(f, a) : a ^ lf_sign(f);
}

/* A total order of non-NaN patterns: -0 below +0. */
static int64_t lf_order(cji_fp_format f, uint64_t v)
{
    return v & lf_sign(f) ? -1 - (int64_t)lf_mag(f, v) : (int64_t)v;
}

static uint64_t lf_minmax(uint64_t a, uint64_t b, uint32_t k, bool max)
{
    cji_fp_format f = CJI_KF_FMT(k);
    a = lf_in(a, k);
    b = lf_in(b, k);
    uint64_t sign = (a ^ b) & lf_sign(f);
    if (k & (CJI_KF_XORSIGN | CJI_KF_ABS)) {
        a = lf_mag(f, a);
        b = lf_mag(f, b);
    }
    bool na = lf_nan(f, a), nb = lf_nan(f, b);
    if ((na && nb) || ((na || nb) && k & CJI_KF_NAN))
        return f == CJI_FP_F64 ? cji_fp_nan_of(f, (uint64_t[]){ b, a }, 2) : cji_fp_formats[f].nan;
    uint64_t v = na ? b : nb ? a : (lf_order(f, a) < lf_order(f, b)) != max ? a : b;
    if (k & CJI_KF_XORSIGN) v |= sign;
    return v;
}

/* C: a third input */
LF(fmin)
{
    uint64_t v = lf_minmax(a, b, k, false);
    return k & CJI_KF_C ? lf_minmax(v, c, k, false) : v;
}

LF(fmax)
{
    uint64_t v = lf_minmax(a, b, k, true);
    return k & CJI_KF_C ? lf_minmax(v, c, k, true) : v;
}

LF(testp)
{
    LF_UNUSED;
    cji_fp_format f = CJI_KF_FMT(k);
    uint64_t inf = cji_fp_formats[f].inf, m = lf_mag(f, a), normal = UINT64_C(1) << cji_fp_formats[f].mbits;
    switch (CJI_KF_X(k)) {
    case CJI_TESTP_FINITE: return m < inf;
    case CJI_TESTP_INFINITE: return m == inf;
    case CJI_TESTP_NUMBER: return m <= inf;
    case CJI_TESTP_NOTANUMBER: return m > inf;
    case CJI_TESTP_NORMAL: return (m >= normal && m < inf) || !m; /* a zero is normal here */
    default: return m < normal && m;
    }
}

/* sign of a, magnitude of b */
LF(copysign)
{
    LF_UNUSED;
    cji_fp_format f = CJI_KF_FMT(k);
    return (a & lf_sign(f)) | lf_mag(f, b);
}

LF(fcmp)
{
    LF_UNUSED;
    cji_fp_format f = CJI_KF_FMT(k);
    a = lf_in(a, k);
    b = lf_in(b, k);
    bool un = lf_nan(f, a) || lf_nan(f, b);
    int64_t x = lf_mag(f, a) ? lf_order(f, a) : 0, y = lf_mag(f, b) ? lf_order(f, b) : 0;
    switch (CJI_KF_X(k)) {
    case CJI_CMP_EQ: return !un && x == y;
    case CJI_CMP_NE: return !un && x != y;
    case CJI_CMP_LT: return !un && x < y;
    case CJI_CMP_LE: return !un && x <= y;
    case CJI_CMP_GT: return !un && x > y;
    case CJI_CMP_GE: return !un && x >= y;
    case CJI_CMP_EQU: return un || x == y;
    case CJI_CMP_NEU: return un || x != y;
    case CJI_CMP_LTU: return un || x < y;
    case CJI_CMP_LEU: return un || x <= y;
    case CJI_CMP_GTU: return un || x > y;
    case CJI_CMP_GEU: return un || x >= y;
    case CJI_CMP_NUM: return !un;
    default: return un;
    }
}

/* c f32: a where c >= 0 (-0 too), b where it is negative or NaN */
LF(slct_float)
{
    uint32_t u = (uint32_t)c;
    if (k & CJI_KF_FTZ) u = cji_ftz(u);
    return (u & 0x7fffffff) > 0x7f800000 || (u >> 31 && u & 0x7fffffff) ? b : a;
}
