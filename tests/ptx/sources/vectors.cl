/* OpenCL C through clang: vectors, local memory, barriers, atomics. */
__kernel void blur(__global const float4 *in, __global float4 *out, __local float4 *tile, int n)
{
    int i = get_global_id(0), l = get_local_id(0);
    tile[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    float4 s = (float4)(0.0f);
    for (int k = -2; k <= 2; k++) s += tile[(l + k + n) % n] * 0.2f;
    out[i] = s.wzyx;
}
__kernel void count(__global const uchar *in, __global int *bins, __constant int *map)
{
    atomic_add(&bins[map[in[get_global_id(0)]]], 1);
    atomic_max(&bins[256], (int)in[get_global_id(0)]);
}
__kernel void widen(__global const short2 *in, __global long2 *out, double d)
{
    size_t i = get_group_id(0) * get_local_size(0) + get_local_id(0);
    out[i] = convert_long2(in[i]) * (long2)(3, -5) + (long)d;
}
