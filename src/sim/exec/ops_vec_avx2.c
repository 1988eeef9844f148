/* ops_vec.h for x86-64 processors with AVX2 and FMA. */
#if defined __x86_64__ && defined __GNUC__
#include "sim/exec/ops_vec.h"
#include "sim/exec/fp_soft.h"

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
#if defined __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int cji_ops_vec_avx2_unused;
#endif
