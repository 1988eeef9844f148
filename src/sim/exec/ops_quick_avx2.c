/* ops_quick.h for x86-64 processors with AVX2 and F16C. */
#if defined __x86_64__ && defined __GNUC__
#include <cpuid.h>
#include <immintrin.h>

#include "sim/exec/ops_quick.h"
#include "sim/exec/fp_soft.h"
#include "sim/exec/ops_mem.h"
#include "sim/exec/writers.h"

#if defined __clang__
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#endif
#define QN(name) quick_avx2_##name
#define QUICK_TABLE cji_quick_avx2
#define QUICK_F16C 1
#include "sim/exec/ops_quick.inc"

bool cji_quick_avx2_runs(void)
{
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#include "sim/exec/ops_quick_undef.inc"
#if defined __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int cji_ops_quick_avx2_unused;
#endif
