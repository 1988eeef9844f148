/* sm 80: asynchronous copies in a pipeline, by intrinsics and inline assembly. */
#include <cuda_pipeline.h>
__global__ void stages(const float4 *in, float4 *out, int n)
{
    __shared__ float4 buffer[2][128];
    for (int k = 0; k < n; k++) {
        __pipeline_memcpy_async(&buffer[k & 1][threadIdx.x], in + k * 128 + threadIdx.x, 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        out[k * 128 + threadIdx.x] = buffer[(k + 1) & 1][127 - threadIdx.x];
    }
    __pipeline_wait_prior(0);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"((unsigned)__cvta_generic_to_shared(buffer)), "l"(in));
    asm volatile("cp.async.wait_all;");
}
