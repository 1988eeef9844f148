/* ops_vec.h for x86-64 processors with AVX2 and FMA. */
#if defined __x86_64__ && defined __GNUC__
#include <cpuid.h>
#include <immintrin.h>

#include "sim/exec/approx_rows.h"
#include "sim/exec/ops_vec.h"
#include "sim/exec/fp_soft.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_lane.h"
#include "sim/exec/ops_warp.h"
#include "ptx/math/seed64.h"

#if defined __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
#define VN(name) vec_avx2_##name
#define VEC_TABLE cji_vec_avx2
#define VEC_FMA 1
#include "sim/exec/ops_vec.inc"

/* Emulators (Valgrind 3.19) lose the sign of a zero that a fused multiply-add gives, and more. */
static bool sound_zeros(void)
{
    static const volatile double x[] = { 1.0, -0x1p-1000 }, y[] = { -0.0, 0x1p-1000 }, z[] = { -0.0, 0.0 };
    static const volatile float f[] = { 1.0f, -0x1p-100f }, g[] = { -0.0f, 0x1p-100f }, h[] = { -0.0f, 0.0f };
    for (int i = 0; i < 2; i++)
        if (!__builtin_signbit(__builtin_fma(x[i], y[i], z[i])) || !__builtin_signbit(__builtin_fmaf(f[i], g[i], h[i])))
            return false;
    return true;
}

/* Products of the lanes' modes: what rounding lifts to the least normal is not tiny, what is below it is a zero, and
 * each rounding has its own result. */
static bool sound_modes(void)
{
    static const struct {
        uint32_t k, a, b, product;
    } cases[] = {
        { CJI_KF_FTZ, 0x00800000, 0x3f7fffff, 0x00000000 },              /* 2^-126 (1 - 2^-24): tiny */
        { CJI_KF_FTZ, 0x00800001, 0x3f7ffffe, 0x00800000 },              /* rounds to 2^-126: not tiny */
        { CJI_KF_FTZ, 0x807fffff, 0x40000000, 0x80000000 },              /* an operand */
        { CJI_FP_RP, 0x3f800001, 0x3f800001, 0x3f800003 },
        { CJI_FP_RM, 0xbf800001, 0x3f800001, 0xbf800003 },
        { CJI_FP_RZ, 0xbf800001, 0x3f800001, 0xbf800002 },
        { CJI_FP_RN, 0x3f800001, 0x3f800001, 0x3f800002 },
    };
    _Alignas(64) uint32_t a[CJI_LANES], b[CJI_LANES], v[CJI_LANES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int j = 0; j < CJI_LANES; j++) a[j] = cases[i].a, b[j] = cases[i].b;
        VEC_UNDER(cases[i].k, vec_avx2_mul_f32_any_apart(a, b, a, v));
        for (int j = 0; j < CJI_LANES; j++)
            if (v[j] != cases[i].product) return false;
    }
    return true;
}

bool cji_vec_avx2_sound(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C && sound_zeros() && sound_modes();
}
#include "sim/exec/ops_vec_undef.inc"
#if defined __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int cji_ops_vec_avx2_unused;
#endif
