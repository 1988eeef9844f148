/* One lane of the conversions (lane_ops.h). */
#include "sim/exec/lane_ops.h"
#include "sim/exec/fp_soft.h"
#include "sim/exec/warp.h"

#define LC(name) uint64_t cji_l_##name(uint64_t a, uint64_t b, uint64_t c, uint32_t k)
#define LC_UNUSED (void)a, (void)b, (void)c, (void)k
#define LC_RND(k) ((cji_fp_round)((k) & (CJI_KF_RND | CJI_KF_FTZ)))

static uint64_t lc_ext(uint64_t v, unsigned bits, bool is_signed)
{
    if (bits >= 64) return v;
    uint64_t top = UINT64_C(1) << (bits - 1);
    v &= top * 2 - 1;
    return is_signed ? (v ^ top) - top : v;
}

/* X: 0..3 log2 of the source's bytes, 4: signed. The result is extended, for destinations wider
 * than the type. */
LC(cvt_int)
{
    LC_UNUSED;
    unsigned from = 8u << (CJI_KF_X(k) & 3), bits = CJI_KF_BITS(k);
    bool from_signed = CJI_KF_X(k) & 4, to_signed = k & CJI_KF_SIGNED;
    uint64_t v = lc_ext(a, from, from_signed);
    if (k & CJI_KF_SAT) {
        uint64_t max = to_signed    ? (UINT64_C(1) << (bits - 1)) - 1
                       : bits == 64 ? UINT64_MAX
                                    : (UINT64_C(1) << bits) - 1;
        if (from_signed && v >> 63) {
            uint64_t min = to_signed ? ~max : 0;
            if (!to_signed || (int64_t)v < (int64_t)min) v = min;
        } else if (v > max) v = max;
    }
    return lc_ext(v, bits, to_signed);
}

static uint64_t lc_flush(cji_fp_format f, uint64_t v, uint32_t k)
{
    return k & CJI_KF_FTZ && f == CJI_FP_F32 ? cji_ftz((uint32_t)v) : v;
}

LC(cvt_to_int)
{
    LC_UNUSED;
    cji_fp_format f = CJI_KF_FMT(k);
    uint64_t v = cji_fp_to_int(f, lc_flush(f, a, k), CJI_KF_BITS(k), k & CJI_KF_SIGNED, LC_RND(k));
    return lc_ext(v, CJI_KF_BITS(k), k & CJI_KF_SIGNED);
}

/* .sat, .relu and .ftz of a floating point result. */
static uint64_t lc_finish(cji_fp_format f, uint64_t v, uint32_t k)
{
    const cji_fp_desc *d = &cji_fp_formats[f];
    v = lc_flush(f, v, k);
    if (!(k & (CJI_KF_SAT | CJI_KF_RELU))) return v;
    uint64_t sign = UINT64_C(1) << (d->bits - 1);
    bool nan = d->nan && (d->inf ? (v & (sign - 1)) > d->inf : (v & (sign - 1)) >= d->nan);
    if (k & CJI_KF_RELU) return nan ? d->nan : v & sign ? 0 : v;
    uint64_t one = (uint64_t)d->bias << (d->mbits + d->low);
    return nan || v & sign ? 0 : v > one ? one : v;
}

LC(cvt_from_int)
{
    LC_UNUSED;
    cji_fp_format f = CJI_KF_FMT(k);
    return lc_finish(f, cji_fp_from_int(f, lc_ext(a, CJI_KF_BITS(k), k & CJI_KF_SIGNED), k & CJI_KF_SIGNED, LC_RND(k)),
                     k);
}

/* FMT from X; B: .satfinite. To the same format it moves the bits, except of 16-bit formats; f32 to f16 flushes
 * nothing; a NaN that is read with .ftz is canonical. */
LC(cvt_float)
{
    LC_UNUSED;
    cji_fp_format to = CJI_KF_FMT(k), from = (cji_fp_format)CJI_KF_X(k);
    if (to == from && to != CJI_FP_F16 && to != CJI_FP_BF16 && !(k & (CJI_KF_FTZ | CJI_KF_SAT | CJI_KF_RELU))) return a;
    if (to == CJI_FP_F16) k &= ~(uint32_t)CJI_KF_FTZ;
    if (k & CJI_KF_FTZ && from == CJI_FP_F32 && (a & 0x7fffffff) > 0x7f800000) a = 0x7fffffff;
    if (k & CJI_KF_FTZ && from == CJI_FP_BF16 && to == CJI_FP_F32 && (a & 0x7fff) > 0x7f80) return 0x7fffffff;
    cji_fp_round r = (cji_fp_round)(to == CJI_FP_F32 ? LC_RND(k) : CJI_FP_MODE(LC_RND(k)));
    return lc_finish(to, cji_fp_convert(to, from, lc_flush(from, a, k), r, k & CJI_KF_B), k);
}

LC(cvt_integral)
{
    LC_UNUSED;
    cji_fp_format f = CJI_KF_FMT(k);
    return lc_finish(f, cji_fp_integral(f, lc_flush(f, a, k), LC_RND(k)), k);
}

/* Two values into one register, a above b; BITS: of one place. */
LC(cvt_pack) { return cji_l_cvt_float(a, 0, c, k) << CJI_KF_BITS(k) | cji_l_cvt_float(b, 0, c, k); }

/* Both halves of a packed a; BITS: of a source's place; the results' places have the target
 * format's width. */
LC(cvt_unpack)
{
    LC_UNUSED;
    unsigned bits = CJI_KF_BITS(k);
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    unsigned place = cji_fp_formats[CJI_KF_FMT(k)].bits;
    if (place == 6) place = 8;
    return cji_l_cvt_float(a >> bits & mask, 0, 0, k) << place | cji_l_cvt_float(a & mask, 0, 0, k);
}
