/* Volatile, restricted, cached and streaming accesses; atomics of the standard library. */
#include <cuda/atomic>
__global__ void accesses(volatile int *v, const float *__restrict__ in, float *__restrict__ out, cuda::atomic<int, cuda::thread_scope_device> *a, unsigned char *bytes)
{
    int i = threadIdx.x;
    v[0] = v[1] + 1;
    out[i] = in[i] + __ldg(in + i + 1) + __ldcg(in + i + 2) + __ldcs(in + i + 3) + __ldlu(in + i + 4) + __ldcv(in + i + 5);
    __stcs(out + i + 1, in[i]);
    __stwt(out + i + 2, in[i]);
    a->store(a->load(cuda::memory_order_acquire) + 1, cuda::memory_order_release);
    a->fetch_add(2, cuda::memory_order_relaxed);
    int e = 5;
    a->compare_exchange_strong(e, 6);
    bytes[i] = (unsigned char)(bytes[i + 1] + e);
}
