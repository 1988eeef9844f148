/* The handlers of 32 lanes give, bit for bit, what the lane functions give, in the plain build and
 * in the one for AVX2, with all lanes and with some. */
#include "sim/exec/fp_soft.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_vec.h"

#include "../tap.h"

#define F32 CJI_KF(32, CJI_FP_F32, 0)
#define F64 CJI_KF(64, CJI_FP_F64, 0)
#define I32 CJI_KF(32, 0, 0)
#define S32 (I32 | CJI_KF_SIGNED)
#define I64 CJI_KF(64, 0, 0)
#define S64 (I64 | CJI_KF_SIGNED)
#define ROW(name, lane, k, d, a, b, c) { #name, offsetof(cji_vec_table, name), cji_l_##lane, k, d, a, b, c }

static const struct { const char *name; size_t handler; cji_lane_fn lane; uint32_t k; uint8_t d, a, b, c; } rows[] = {
    ROW(add_32, iadd, I32, 4, 4, 4, 0),
    ROW(sub_64, isub, I64, 8, 8, 8, 0),
    ROW(mul_16, imul, CJI_KF(16, 0, 0), 2, 2, 2, 0),
    ROW(mul_64, imul, I64, 8, 8, 8, 0),
    ROW(mulwide_u32, imulwide, I32, 8, 4, 4, 0),
    ROW(mulwide_s32, imulwide, S32, 8, 4, 4, 0),
    ROW(madwide_s32, imadwide, S32, 8, 4, 4, 8),
    ROW(mad_32, imad, I32, 4, 4, 4, 4),
    ROW(mulhi_u32, imul, I32 | CJI_KF_HI, 4, 4, 4, 0),
    ROW(mulhi_s32, imul, S32 | CJI_KF_HI, 4, 4, 4, 0),
    ROW(and_64, and, I64, 8, 8, 8, 0),
    ROW(not_32, not, I32, 4, 4, 0, 0),
    ROW(shl_32, shl, I32, 4, 4, 4, 0),
    ROW(shl_64, shl, I64, 8, 8, 4, 0),
    ROW(shr_u32, shr, I32, 4, 4, 4, 0),
    ROW(shr_s32, shr, S32, 4, 4, 4, 0),
    ROW(shr_s64, shr, S64, 8, 8, 4, 0),
    ROW(shf_l, shfl, I32 | CJI_KF_B, 4, 4, 4, 4),
    ROW(shf_r, shfr, I32 | CJI_KF_B, 4, 4, 4, 4),
    ROW(min_s32, imin, S32, 4, 4, 4, 0),
    ROW(max_u64, imax, I64, 8, 8, 8, 0),
    ROW(abs_32, iabs, S32, 4, 4, 0, 0),
    ROW(neg_64, ineg, S64, 8, 8, 0, 0),
    ROW(add_f32, fadd, F32, 4, 4, 4, 0),
    ROW(sub_f32, fsub, F32, 4, 4, 4, 0),
    ROW(mul_f32, fmul, F32, 4, 4, 4, 0),
    ROW(fma_f32, ffma, F32, 4, 4, 4, 4),
    ROW(add_ftz, fadd, F32 | CJI_KF_FTZ, 4, 4, 4, 0),
    ROW(sub_ftz, fsub, F32 | CJI_KF_FTZ, 4, 4, 4, 0),
    ROW(mul_ftz, fmul, F32 | CJI_KF_FTZ, 4, 4, 4, 0),
    ROW(fma_ftz, ffma, F32 | CJI_KF_FTZ, 4, 4, 4, 4),
    ROW(div_f32, fdiv, F32, 4, 4, 4, 0),
    ROW(sqrt_f32, fsqrt, F32, 4, 4, 0, 0),
    ROW(neg_f32, fneg, F32, 4, 4, 0, 0),
    ROW(abs_f32, fabs, F32, 4, 4, 0, 0),
    ROW(min_f32, fmin, F32, 4, 4, 4, 0),
    ROW(max_f32, fmax, F32, 4, 4, 4, 0),
    ROW(add_f64, fadd, F64, 8, 8, 8, 0),
    ROW(sub_f64, fsub, F64, 8, 8, 8, 0),
    ROW(mul_f64, fmul, F64, 8, 8, 8, 0),
    ROW(fma_f64, ffma, F64, 8, 8, 8, 8),
    ROW(div_f64, fdiv, F64, 8, 8, 8, 0),
    ROW(sqrt_f64, fsqrt, F64, 8, 8, 0, 0),
    ROW(neg_f64, fneg, F64, 8, 8, 0, 0),
    ROW(cvt_s64_s32, cvt_int, CJI_KF(64, 0, 6) | CJI_KF_SIGNED, 8, 4, 0, 0),
    ROW(cvt_u64_u32, cvt_int, CJI_KF(64, 0, 2), 8, 4, 0, 0),
    ROW(cvt_u32_u64, cvt_int, CJI_KF(32, 0, 3), 4, 8, 0, 0),
    ROW(cvt_s32_s16, cvt_int, CJI_KF(32, 0, 5) | CJI_KF_SIGNED, 4, 2, 0, 0),
    ROW(cvt_f32_s32, cvt_from_int, CJI_KF(32, CJI_FP_F32, 0) | CJI_KF_SIGNED, 4, 4, 0, 0),
    ROW(cvt_f32_u32, cvt_from_int, CJI_KF(32, CJI_FP_F32, 0), 4, 4, 0, 0),
    ROW(cvt_f64_s32, cvt_from_int, CJI_KF(32, CJI_FP_F64, 0) | CJI_KF_SIGNED, 8, 4, 0, 0),
    ROW(cvt_s32_f32, cvt_to_int, CJI_KF(32, CJI_FP_F32, 0) | CJI_KF_SIGNED | CJI_FP_RZ, 4, 4, 0, 0),
    ROW(cvt_f64_f32, cvt_float, CJI_KF(64, CJI_FP_F64, CJI_FP_F32), 8, 4, 0, 0),
    ROW(cvt_f32_f64, cvt_float, CJI_KF(32, CJI_FP_F32, CJI_FP_F64), 4, 8, 0, 0),
    ROW(eq_s32, icmp, S32 | CJI_KF(0, 0, CJI_CMP_EQ), 1, 4, 4, 0),
    ROW(lt_s32, icmp, S32 | CJI_KF(0, 0, CJI_CMP_LT), 1, 4, 4, 0),
    ROW(ge_u64, icmp, I64 | CJI_KF(0, 0, CJI_CMP_GE), 1, 8, 8, 0),
    ROW(ne_f32, fcmp, F32 | CJI_KF(0, 0, CJI_CMP_NE), 1, 4, 4, 0),
    ROW(equ_f32, fcmp, F32 | CJI_KF(0, 0, CJI_CMP_EQU), 1, 4, 4, 0),
    ROW(leu_f32, fcmp, F32 | CJI_KF(0, 0, CJI_CMP_LEU), 1, 4, 4, 0),
    ROW(gt_f64, fcmp, F64 | CJI_KF(0, 0, CJI_CMP_GT), 1, 8, 8, 0),
    ROW(ne_f64, fcmp, F64 | CJI_KF(0, 0, CJI_CMP_NE), 1, 8, 8, 0),
    ROW(geu_f64, fcmp, F64 | CJI_KF(0, 0, CJI_CMP_GEU), 1, 8, 8, 0),
};

static uint64_t equal_seed = 1;
static uint64_t equal_rand(void)
{
    equal_seed = equal_seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t x = equal_seed ^ equal_seed >> 31;
    return x * UINT64_C(0x9e3779b97f4a7c15);
}

/* Values that matter to the width: special ones, small ones, any. */
static uint64_t equal_value(unsigned bytes)
{
    static const uint32_t s32[] = { 0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x800000,
                                    0x3f800000, 0xbf800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
                                    0xffc00001, 0x4effffff, 0x4f000000, 0xcf000000 };
    static const uint64_t s64[] = { 0,
                                    UINT64_C(1) << 63,
                                    1,
                                    UINT64_C(0xfffffffffffff),
                                    UINT64_C(0x10000000000000),
                                    UINT64_C(0x3ff0000000000000),
                                    UINT64_C(0xbff0000000000000),
                                    UINT64_C(0x7fefffffffffffff),
                                    UINT64_C(0x7ff0000000000000),
                                    UINT64_C(0xfff0000000000000),
                                    UINT64_C(0x7ff8000000000001),
                                    UINT64_C(0x380fffffe0000000) };
    uint64_t r = equal_rand(), v = equal_rand();
    if (r % 4 == 0) return bytes == 8 ? s64[(r >> 8) % (sizeof s64 / 8)] : s32[(r >> 8) % (sizeof s32 / 4)];
    if (r % 4 == 1) return v % 70;
    if (r % 4 == 2)
        return bytes == 8 ? (v & UINT64_C(0x800fffffffffffff)) | (1000 + (r >> 8) % 46) << 52
                          : (v & 0x807fffff) | (100 + (r >> 8) % 54) << 23;
    return v;
}

static unsigned equal_width(unsigned bytes)
{
    return bytes == 1 ? CJI_WP : bytes == 2 ? CJI_W16 : bytes == 4 ? CJI_W32 : bytes == 8 ? CJI_W64 : CJI_WNONE;
}

static int differ(const cji_vec_table *table, size_t i, int rounds)
{
    static _Alignas(64) unsigned char frame[4 * 256];
    static cji_warp w;
    cji_handler h;
    memcpy(&h, (const char *)table + rows[i].handler, sizeof h);
    const cji_rec r = { .fn = h, .lane = rows[i].lane, .k = rows[i].k, .d = 0, .a = 256, .b = 512, .c = 768 };
    int bad = 0;
    w.r = frame;
    for (int n = 0; n < rounds; n++) {
        w.mask = n % 2 ? CJI_FULL : (uint32_t)equal_rand();
        for (unsigned l = 0; l < CJI_LANES; l++) {
            cji_put(&w, equal_width(rows[i].a), 256, l, equal_value(rows[i].a));
            cji_put(&w, equal_width(rows[i].b), 512, l, equal_value(rows[i].b));
            cji_put(&w, equal_width(rows[i].c), 768, l, equal_value(rows[i].c));
        }
        memset(frame, 0x5a, 256);
        h(&w, &r);
        for (unsigned l = 0; l < CJI_LANES; l++) {
            uint64_t want =
                rows[i].lane(cji_get(&w, equal_width(rows[i].a), 256, l), cji_get(&w, equal_width(rows[i].b), 512, l),
                             cji_get(&w, equal_width(rows[i].c), 768, l), rows[i].k);
            uint64_t mask = rows[i].d == 8 ? UINT64_MAX : rows[i].d == 1 ? 1 : (UINT64_C(1) << 8 * rows[i].d) - 1;
            if (!(w.mask >> l & 1)) want = rows[i].d == 1 ? UINT32_C(0x5a5a5a5a) >> l : UINT64_C(0x5a5a5a5a5a5a5a5a);
            bad += cji_get(&w, equal_width(rows[i].d), 0, l) != (want & mask);
        }
    }
    return bad;
}

int main(void)
{
    tap_plan(0);
    int rounds = tap_is_slow() ? 4 : 100;
    const cji_vec_table *own = cji_vec_pick();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tap_is_int(differ(&cji_vec_base, i, rounds), 0, "%s, plain", rows[i].name);
        if (own != &cji_vec_base) tap_is_int(differ(own, i, rounds), 0, "%s, for this processor", rows[i].name);
    }
    return tap_done();
}
