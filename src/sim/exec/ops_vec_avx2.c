/* ops_vec.h for x86-64 processors with AVX2 and FMA. */
#if defined __x86_64__ && defined __GNUC__
#include "sim/exec/ops_vec.h"
#include "sim/exec/fp_soft.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_lane.h"

#if defined __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define VN(name) vec_avx2_##name
#define VEC_TABLE cji_vec_avx2
#define VEC_FMA 1
#include "sim/exec/ops_vec.inc"
#include "sim/exec/ops_vec_undef.inc"

/* Emulators (Valgrind 3.19) lose the sign of a zero that a fused multiply-add gives, and more. */
bool cji_vec_avx2_sound(void)
{
    static const volatile double x[] = { 1.0, -0x1p-1000 }, y[] = { -0.0, 0x1p-1000 }, z[] = { -0.0, 0.0 };
    static const volatile float f[] = { 1.0f, -0x1p-100f }, g[] = { -0.0f, 0x1p-100f }, h[] = { -0.0f, 0.0f };
    for (int i = 0; i < 2; i++)
        if (!__builtin_signbit(__builtin_fma(x[i], y[i], z[i])) || !__builtin_signbit(__builtin_fmaf(f[i], g[i], h[i])))
            return false;
    return true;
}
#if defined __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int cji_ops_vec_avx2_unused;
#endif
