/* The software arithmetic of the CPU device gives IEEE results in all roundings and formats:
 * against the compiler's own operations for round-to-nearest, and against exact sums and products
 * in wider types for the directed roundings. */
#include <math.h>

#include "../../src/sim/exec/fp_soft.h"
#include "../tap.h"

static uint64_t soft_seed = 88172645463325252u;
static uint64_t soft_rand(void)
{
    soft_seed ^= soft_seed << 13;
    soft_seed ^= soft_seed >> 7;
    soft_seed ^= soft_seed << 17;
    return soft_seed * UINT64_C(0x2545f4914f6cdd1d);
}

static const uint32_t special32[] = { 0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x800000,
                                      0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x7f7fffff, 0xff7fffff,
                                      0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x00ffffff, 0x40490fdb };
static const uint64_t special64[] = { 0,
                                      UINT64_C(1) << 63,
                                      1,
                                      UINT64_C(0x8000000000000001),
                                      UINT64_C(0xfffffffffffff),
                                      UINT64_C(0x10000000000000),
                                      UINT64_C(0x3ff0000000000000),
                                      UINT64_C(0xbff0000000000000),
                                      UINT64_C(0x3fefffffffffffff),
                                      UINT64_C(0x3ff0000000000001),
                                      UINT64_C(0x7fefffffffffffff),
                                      UINT64_C(0xffefffffffffffff),
                                      UINT64_C(0x7ff0000000000000),
                                      UINT64_C(0xfff0000000000000),
                                      UINT64_C(0x7ff8000000000000),
                                      UINT64_C(0x7ff8000000000123) };
#define N32 (sizeof special32 / sizeof *special32)
#define N64 (sizeof special64 / sizeof *special64)

static float pick32(void)
{
    uint64_t r = soft_rand();
    if (r % 8 == 0) return cji_f32_of(special32[(r >> 8) % N32]);
    if (r % 8 < 4) return cji_f32_of((uint32_t)(r >> 32));
    return cji_f32_of((uint32_t)(r >> 40) % 0x800000 | (uint32_t)(127 - 20 + (r >> 8) % 40) << 23 |
                      (uint32_t)(r >> 63) << 31);
}

static double pick64(void)
{
    uint64_t r = soft_rand(), e = soft_rand();
    if (e % 8 == 0) return cji_f64_of(special64[(e >> 8) % N64]);
    if (e % 8 < 4) return cji_f64_of(r);
    return cji_f64_of((r & UINT64_C(0x800fffffffffffff)) | (1023 - 20 + (e >> 8) % 40) << 52);
}

static bool same32(uint64_t got, float want) { return isnan(want) ? got == 0x7fffffff : got == cji_f32_bits(want); }
static bool same64(uint64_t got, double want)
{
    return isnan(want) ? isnan(cji_f64_of(got)) : got == cji_f64_bits(want);
}

enum { OP_ADD, OP_MUL, OP_FMA, OP_DIV, OP_SQRT, OP_N };
static const char *const op_names[] = { "add", "mul", "fma", "div", "sqrt" };

static uint64_t soft(cji_fp_format f, int op, uint64_t a, uint64_t b, uint64_t c, cji_fp_round r)
{
    switch (op) {
    case OP_ADD: return cji_fp_add(f, a, b, r);
    case OP_MUL: return cji_fp_mul(f, a, b, r);
    case OP_FMA: return cji_fp_fma(f, a, b, c, r);
    case OP_DIV: return cji_fp_div(f, a, b, r);
    default: return cji_fp_sqrt(f, a, r);
    }
}

/* The C library's fma; Valgrind's is wrong about zeros: nothing to compare with there, so the
 * answer is the one under test. */
static double soft_fma(double x, double y, double z)
{
    double r = fma(x, y, z);
    bool trusted = !tap_under_valgrind() || (r != 0 && z != 0 && x != 0 && y != 0);
    return trusted ? r
                   : cji_f64_of(cji_fp_fma(CJI_FP_F64, cji_f64_bits(x), cji_f64_bits(y), cji_f64_bits(z), CJI_FP_RN));
}

static void nearest(int n)
{
    for (int op = 0; op < OP_N; op++) {
        int bad32 = 0, bad64 = 0;
        for (int i = 0; i < n; i++) {
            volatile float a = pick32(), b = pick32(), c = pick32();
            float want = op == OP_ADD   ? a + b
                         : op == OP_MUL ? a * b
                         : op == OP_FMA ? (float)cji_fma_odd(a, b, c)
                         : op == OP_DIV ? a / b
                                        : sqrtf(a);
            bad32 += !same32(soft(CJI_FP_F32, op, cji_f32_bits(a), cji_f32_bits(b), cji_f32_bits(c), CJI_FP_RN), want);
            volatile double x = pick64(), y = pick64(), z = pick64();
            double wide = op == OP_ADD   ? x + y
                          : op == OP_MUL ? x * y
                          : op == OP_FMA ? soft_fma(x, y, z)
                          : op == OP_DIV ? x / y
                                         : sqrt(x);
            bad64 += !same64(soft(CJI_FP_F64, op, cji_f64_bits(x), cji_f64_bits(y), cji_f64_bits(z), CJI_FP_RN), wide);
        }
        tap_is_int(bad32, 0, "%s.rn.f32 is the compiler's", op_names[op]);
        tap_is_int(bad64, 0, "%s.rn.f64 is the compiler's", op_names[op]);
    }
}

/* sign of (exact result - r), where the exact result or an equivalent of it fits in 113 bits */
static int beyond(int op, double a, double b, double c, double r)
{
    __float128 d;
    switch (op) {
    case OP_ADD: d = (__float128)a + b - r; break;
    case OP_MUL: d = (__float128)a * b - r; break;
    case OP_FMA: d = (__float128)a * b + c - r; break;
    case OP_DIV: d = ((__float128)a - (__float128)r * b) * (b < 0 ? -1 : 1); break;
    default: d = (__float128)a - (__float128)r * r; break;
    }
    return d > 0 ? 1 : d < 0 ? -1 : 0;
}

static double next_of(double x, bool up, bool is64)
{
    return is64 ? nextafter(x, up ? INFINITY : -INFINITY) : (double)nextafterf((float)x, up ? INFINITY : -INFINITY);
}

static double directed_want(int op, double a, double b, double c, double rn, cji_fp_round r, bool is64)
{
    int side = beyond(op, a, b, c, rn);
    if (side == 0) return rn;
    bool up = r == CJI_FP_RP || (r == CJI_FP_RZ && (rn < 0 || (rn == 0 && side < 0)));
    if (up && side > 0) return next_of(rn, true, is64);
    if (!up && side < 0) return next_of(rn, false, is64);
    return rn;
}

static void directed(int n)
{
    static const char *const names[] = { "rn", "rz", "rm", "rp" };
    for (int op = 0; op < OP_N; op++)
        for (int r = CJI_FP_RZ; r <= CJI_FP_RP; r++) {
            int bad32 = 0, bad64 = 0;
            for (int i = 0; i < n; i++) {
                uint64_t u = soft_rand(), v = soft_rand(), w = soft_rand();
                float a = cji_f32_of(((uint32_t)u & 0x807fffff) | (uint32_t)(107 + (u >> 40) % 40) << 23);
                float b = cji_f32_of(((uint32_t)v & 0x807fffff) | (uint32_t)(107 + (v >> 40) % 40) << 23);
                float c = cji_f32_of(((uint32_t)w & 0x807fffff) | (uint32_t)(107 + (w >> 40) % 40) << 23);
                if (op == OP_SQRT) a = fabsf(a);
                uint64_t ia = cji_f32_bits(a), ib = cji_f32_bits(b), ic = cji_f32_bits(c);
                double rn = cji_f32_of((uint32_t)soft(CJI_FP_F32, op, ia, ib, ic, CJI_FP_RN));
                bad32 += !same32(soft(CJI_FP_F32, op, ia, ib, ic, (cji_fp_round)r),
                                 (float)directed_want(op, a, b, c, rn, (cji_fp_round)r, false));
                double x = cji_f64_of((u & UINT64_C(0x800fffffffffffff)) | (1020 + (w >> 8) % 6) << 52);
                double y = cji_f64_of((v & UINT64_C(0x800fffffffffffff)) | (1020 + (w >> 16) % 6) << 52);
                double z = cji_f64_of((w & UINT64_C(0x800fffffffffffff)) | (1020 + (v >> 16) % 6) << 52);
                if (op == OP_SQRT) x = fabs(x);
                uint64_t ix = cji_f64_bits(x), iy = cji_f64_bits(y), iz = cji_f64_bits(z);
                double rn64 = cji_f64_of(soft(CJI_FP_F64, op, ix, iy, iz, CJI_FP_RN));
                bad64 += !same64(soft(CJI_FP_F64, op, ix, iy, iz, (cji_fp_round)r),
                                 directed_want(op, x, y, z, rn64, (cji_fp_round)r, true));
            }
            tap_is_int(bad32, 0, "%s.%s.f32 is exact", op_names[op], names[r]);
            tap_is_int(bad64, 0, "%s.%s.f64 is exact", op_names[op], names[r]);
        }
}

static const struct { const char *name; cji_fp_format f; int op; uint64_t a, b, c, want; cji_fp_round r; } rows[] = {
    { "x - x is +0", CJI_FP_F32, OP_ADD, 0x3f800000, 0xbf800000, 0, 0, CJI_FP_RN },
    { "x - x is -0 under rm", CJI_FP_F32, OP_ADD, 0x3f800000, 0xbf800000, 0, 0x80000000, CJI_FP_RM },
    { "-0 + -0", CJI_FP_F32, OP_ADD, 0x80000000, 0x80000000, 0, 0x80000000, CJI_FP_RN },
    { "overflow to infinity", CJI_FP_F32, OP_ADD, 0x7f7fffff, 0x7f7fffff, 0, 0x7f800000, CJI_FP_RN },
    { "overflow under rz stays finite", CJI_FP_F32, OP_ADD, 0x7f7fffff, 0x7f7fffff, 0, 0x7f7fffff, CJI_FP_RZ },
    { "overflow under rm stays finite", CJI_FP_F32, OP_ADD, 0x7f7fffff, 0x7f7fffff, 0, 0x7f7fffff, CJI_FP_RM },
    { "negative overflow under rm", CJI_FP_F32, OP_ADD, 0xff7fffff, 0xff7fffff, 0, 0xff800000, CJI_FP_RM },
    { "inf - inf is the canonical NaN", CJI_FP_F32, OP_ADD, 0x7f800000, 0xff800000, 0, 0x7fffffff, CJI_FP_RN },
    { "f64 inf - inf", CJI_FP_F64, OP_ADD, UINT64_C(0x7ff0000000000000), UINT64_C(0xfff0000000000000), 0,
      UINT64_C(0xfff8000000000000), CJI_FP_RN },
    { "f64 keeps a payload", CJI_FP_F64, OP_MUL, UINT64_C(0x7ff8000000000123), 0, 0, UINT64_C(0x7ff8000000000123),
      CJI_FP_RN },
    { "0 / 0", CJI_FP_F32, OP_DIV, 0, 0, 0, 0x7fffffff, CJI_FP_RN },
    { "1 / 0", CJI_FP_F32, OP_DIV, 0x3f800000, 0x80000000, 0, 0xff800000, CJI_FP_RN },
    { "underflow under rp is the least subnormal", CJI_FP_F32, OP_MUL, 1, 1, 0, 1, CJI_FP_RP },
    { "underflow under rn is zero", CJI_FP_F32, OP_MUL, 1, 0x80000001, 0, 0x80000000, CJI_FP_RN },
    { "half 1 + 2^-11 ties to even", CJI_FP_F16, OP_ADD, 0x3c00, 0x1000, 0, 0x3c00, CJI_FP_RN },
    { "half overflow", CJI_FP_F16, OP_ADD, 0x7bff, 0x7bff, 0, 0x7c00, CJI_FP_RN },
    { "half sqrt(4)", CJI_FP_F16, OP_SQRT, 0x4400, 0, 0, 0x4000, CJI_FP_RN },
    { "bf16 1 + 1", CJI_FP_BF16, OP_ADD, 0x3f80, 0x3f80, 0, 0x4000, CJI_FP_RN },
    { "bf16 fma", CJI_FP_BF16, OP_FMA, 0x4040, 0x4040, 0x3f80, 0x4120, CJI_FP_RN },
    { "sqrt(-1)", CJI_FP_F32, OP_SQRT, 0xbf800000, 0, 0, 0x7fffffff, CJI_FP_RN },
    { "sqrt(-0)", CJI_FP_F32, OP_SQRT, 0x80000000, 0, 0, 0x80000000, CJI_FP_RN },
    { "fma inf * 0", CJI_FP_F32, OP_FMA, 0x7f800000, 0, 0x3f800000, 0x7fffffff, CJI_FP_RN },
    { "fma cancels to one ulp", CJI_FP_F32, OP_FMA, 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000, CJI_FP_RN },
};

static const struct { const char *name; cji_fp_format to, from; uint64_t a, want; cji_fp_round r; bool sat; } cvts[] = {
    { "f32 to f16 in the middle ties to even", CJI_FP_F16, CJI_FP_F32, 0x3f801000, 0x3c00, CJI_FP_RN, false },
    { "f32 to f16 subnormal", CJI_FP_F16, CJI_FP_F32, 0x33800000, 0x0001, CJI_FP_RN, false },
    { "f32 to f16 overflow", CJI_FP_F16, CJI_FP_F32, 0x477ff000, 0x7c00, CJI_FP_RN, false },
    { "f32 to f16 overflow rz", CJI_FP_F16, CJI_FP_F32, 0x47800000, 0x7bff, CJI_FP_RZ, false },
    { "f32 to bf16", CJI_FP_BF16, CJI_FP_F32, 0x3f808001, 0x3f81, CJI_FP_RN, false },
    { "f32 to bf16 tie", CJI_FP_BF16, CJI_FP_F32, 0x3f808000, 0x3f80, CJI_FP_RN, false },
    { "f16 NaN to f32", CJI_FP_F32, CJI_FP_F16, 0x7e00, 0x7fffffff, CJI_FP_RN, false },
    { "f16 least to f32", CJI_FP_F32, CJI_FP_F16, 1, 0x33800000, CJI_FP_RN, false },
    { "f64 to f32 overflow", CJI_FP_F32, CJI_FP_F64, UINT64_C(0x47f0000000000000), 0x7f800000, CJI_FP_RN, false },
    { "tf32 rna", CJI_FP_TF32, CJI_FP_F32, 0x3f801000, 0x3f802000, CJI_FP_RNA, false },
    { "tf32 rn ties to even", CJI_FP_TF32, CJI_FP_F32, 0x3f801000, 0x3f800000, CJI_FP_RN, false },
    { "tf32 overflow", CJI_FP_TF32, CJI_FP_F32, 0x7f7fffff, 0x7f800000, CJI_FP_RNA, false },
    { "e4m3 1.0", CJI_FP_E4M3, CJI_FP_F32, 0x3f800000, 0x38, CJI_FP_RN, true },
    { "e4m3 saturates at 448", CJI_FP_E4M3, CJI_FP_F32, 0x447a0000, 0x7e, CJI_FP_RN, true },
    { "e4m3 of -inf", CJI_FP_E4M3, CJI_FP_F32, 0xff800000, 0xfe, CJI_FP_RN, true },
    { "e4m3 of NaN", CJI_FP_E4M3, CJI_FP_F32, 0xffc00000, 0x7f, CJI_FP_RN, true },
    { "e4m3 least", CJI_FP_E4M3, CJI_FP_F32, 0x3b000000, 0x01, CJI_FP_RN, true },
    { "e5m2 saturates at 57344", CJI_FP_E5M2, CJI_FP_F32, 0x7f800000, 0x7b, CJI_FP_RN, true },
    { "e4m3 448 back", CJI_FP_F16, CJI_FP_E4M3, 0x7e, 0x5f00, CJI_FP_RN, false },
    { "e5m2 inf back", CJI_FP_F16, CJI_FP_E5M2, 0x7c, 0x7c00, CJI_FP_RN, false },
    { "e2m1 6 and saturation", CJI_FP_E2M1, CJI_FP_F32, 0x41200000, 0x7, CJI_FP_RN, true },
    { "e2m3 7.5", CJI_FP_E2M3, CJI_FP_F32, 0x40f00000, 0x1f, CJI_FP_RN, true },
    { "e3m2 28", CJI_FP_E3M2, CJI_FP_F32, 0x41e00000, 0x1f, CJI_FP_RN, true },
    { "ue8m0 of 1.5 rounds up to 2", CJI_FP_UE8M0, CJI_FP_F32, 0x3fc00000, 0x80, CJI_FP_RP, true },
    { "ue8m0 of 1.5 rounds to zero", CJI_FP_UE8M0, CJI_FP_F32, 0x3fc00000, 0x7f, CJI_FP_RZ, true },
};

static const struct {
    const char *name;
    cji_fp_format f;
    uint64_t a;
    unsigned bits;
    bool is_signed;
    cji_fp_round r;
    uint64_t want;
} ints[] = {
    { "2.5 to s32 rni", CJI_FP_F32, 0x40200000, 32, true, CJI_FP_RN, 2 },
    { "-2.5 to s32 rmi", CJI_FP_F32, 0xc0200000, 32, true, CJI_FP_RM, 0xfffffffd },
    { "-2.5 to s32 rzi", CJI_FP_F32, 0xc0200000, 32, true, CJI_FP_RZ, 0xfffffffe },
    { "0.1 to s32 rpi", CJI_FP_F32, 0x3dcccccd, 32, true, CJI_FP_RP, 1 },
    { "-1 to u32 clamps", CJI_FP_F32, 0xbf800000, 32, false, CJI_FP_RZ, 0 },
    { "1e10 to s32 clamps", CJI_FP_F32, 0x501502f9, 32, true, CJI_FP_RZ, 0x7fffffff },
    { "-1e10 to s32 clamps", CJI_FP_F32, 0xd01502f9, 32, true, CJI_FP_RZ, 0x80000000 },
    { "300 to u8 clamps", CJI_FP_F32, 0x43960000, 8, false, CJI_FP_RZ, 255 },
    { "-300 to s8 clamps", CJI_FP_F32, 0xc3960000, 8, true, CJI_FP_RZ, 0x80 },
    { "NaN to s32", CJI_FP_F32, 0x7fc00000, 32, true, CJI_FP_RZ, 0 },
    { "NaN to s64", CJI_FP_F32, 0x7fc00000, 64, true, CJI_FP_RZ, UINT64_C(1) << 63 },
    { "f64 NaN to s32", CJI_FP_F64, UINT64_C(0x7ff8000000000000), 32, true, CJI_FP_RZ, 0x80000000 },
    { "inf to u64", CJI_FP_F32, 0x7f800000, 64, false, CJI_FP_RZ, UINT64_MAX },
    { "2^63 to u64", CJI_FP_F32, 0x5f000000, 64, false, CJI_FP_RZ, UINT64_C(1) << 63 },
    { "-2^63 to s64", CJI_FP_F32, 0xdf000000, 64, true, CJI_FP_RZ, UINT64_C(1) << 63 },
};

int main(void)
{
    tap_plan(0);
    int n = tap_is_slow() ? 400 : 8000;
    nearest(n);
    directed(n / 4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        tap_is_uint(soft(rows[i].f, rows[i].op, rows[i].a, rows[i].b, rows[i].c, rows[i].r), rows[i].want, "%s",
                    rows[i].name);
    for (size_t i = 0; i < sizeof cvts / sizeof *cvts; i++)
        tap_is_uint(cji_fp_convert(cvts[i].to, cvts[i].from, cvts[i].a, cvts[i].r, cvts[i].sat), cvts[i].want, "%s",
                    cvts[i].name);
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
        tap_is_uint(cji_fp_to_int(ints[i].f, ints[i].a, ints[i].bits, ints[i].is_signed, ints[i].r), ints[i].want, "%s",
                    ints[i].name);
    int bad = 0;
    for (int i = 0; i < n; i++) {
        uint64_t v = soft_rand() >> (soft_rand() % 64);
        bad += cji_fp_from_int(CJI_FP_F32, v, true, CJI_FP_RN) != cji_f32_bits((float)(int64_t)v);
        bad += cji_fp_from_int(CJI_FP_F64, v, false, CJI_FP_RN) != cji_f64_bits((double)v);
        double x = pick64();
        bad += !isnan(x) &&
               cji_fp_convert(CJI_FP_F32, CJI_FP_F64, cji_f64_bits(x), CJI_FP_RN, false) != cji_f32_bits((float)x);
        bad += !isnan(x) && cji_fp_integral(CJI_FP_F64, cji_f64_bits(x), CJI_FP_RN) != cji_f64_bits(rint(x));
        bad += !isnan(x) && cji_fp_integral(CJI_FP_F64, cji_f64_bits(x), CJI_FP_RP) != cji_f64_bits(ceil(x));
    }
    tap_is_int(bad, 0, "conversions of random values are the compiler's");
    return tap_done();
}
