/* ops_vec.h for any processor, and the choice between the two. */
#include "sim/exec/ops_vec.h"
#include "sim/exec/fp_soft.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_lane.h"
#include "sim/exec/ops_warp.h"
#include "ptx/math/seed64.h"

#define VN(name) vec_base_##name
#define VEC_TABLE cji_vec_base
#include "sim/exec/ops_vec.inc"
#include "sim/exec/ops_vec_undef.inc"

const cji_vec_table *cji_vec_pick(void)
{
#ifdef CJI_VEC_HAVE_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && cji_vec_avx2_sound()) return &cji_vec_avx2;
#endif
    return &cji_vec_base;
}
