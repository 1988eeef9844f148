/* Warps: shuffles, votes, matches, reductions, barriers of a few threads. */
__global__ void warps(const int *in, int *out)
{
    int v = in[threadIdx.x];
    unsigned all = __ballot_sync(0xffffffffu, v > 0);
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    v = __shfl_sync(0xffffffffu, v, 0) + __shfl_xor_sync(0xffffffffu, v, 1) + __shfl_up_sync(0xffffffffu, v, 1, 8);
    if (__any_sync(all, v) && !__all_sync(all, v)) v++;
    v += __popc(__activemask()) + __match_any_sync(0xffffffffu, v);
    __syncwarp(0xff);
    v += __syncthreads_count(v) + __syncthreads_or(v & 1);
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x] = v;
}
