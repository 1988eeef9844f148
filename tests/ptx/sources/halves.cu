/* Half and bfloat16 arithmetic. */
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void halves(const __half *a, const __half2 *b, const __nv_bfloat16 *c, float *out, __half *h)
{
    int i = threadIdx.x;
    __half x = __hfma(a[i], a[i + 1], __float2half(0.5f));
    __half2 y = __hmul2(b[i], __hadd2(b[i + 1], __half2half2(x)));
    __nv_bfloat16 z = __hadd(c[i], __float2bfloat16(1.5f));
    out[i] = __half2float(x) + __low2float(y) + __bfloat162float(z) + (__hgt(x, a[i]) ? 1.0f : 0.0f);
    h[i] = hsqrt(hexp(x));
}
