// Kernels for the tests of the execution engine; exec.ptx is what "nvcc -arch=compute_90 -ptx" makes of them.
#include <cstdio>
#include <cassert>
extern "C" __global__ void saxpy(float *x, float *y, long long n, long long reps) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) {
        float a = x[i], b = y[i];
        for (int k = 0; k < reps; k++) b = fmaf(a, 2.0f, b);
        y[i] = b;
    }
}
extern "C" __global__ void reduce(float *x, float *out, long long n) {
    __shared__ float s[32];
    float v = 0;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : 0;
        for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
        if (threadIdx.x == 0) atomicAdd(out, v);
    }
}
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void recurse(int *out, long long n) {
    int i = threadIdx.x;
    if (i < n) out[i] = fib(i % 10);
}
extern "C" __global__ void spinlock(int *lock, int *count, long long n) {
    for (int k = 0; k < n; k++) {
        while (atomicCAS(lock, 0, 1) != 0);
        __threadfence();
        (*(volatile int *)count)++;
        __threadfence();
        atomicExch(lock, 0);
    }
}
// lane 0 waits for lane 1: neither may starve
extern "C" __global__ void handshake(volatile int *flag, int *out) {
    if (threadIdx.x % 2 == 0) {
        while (flag[threadIdx.x] == 0);
        out[threadIdx.x] = 7;
    } else {
        flag[threadIdx.x - 1] = 1;
        out[threadIdx.x] = 8;
    }
}
// block 0 waits for the last block
extern "C" __global__ void blocks(volatile int *flag, int *out) {
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) while (*flag == 0);
        if (blockIdx.x == gridDim.x - 1) *flag = 1;
        out[blockIdx.x] = blockIdx.x + 1;
    }
}
extern "C" __global__ void collatz(unsigned *out) {
    unsigned i = threadIdx.x + blockIdx.x * blockDim.x, c = 0;
    unsigned long long v = i + 1;
    while (v != 1) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        c++;
    }
    out[i] = c;
}
extern "C" __global__ void hello() { printf("hello %d %s %.2f %c %llx%%\n", threadIdx.x, "world", 1.5 * threadIdx.x, 'x', 0x123456789abcll); }
extern "C" __global__ void dynamic(int *out) {
    extern __shared__ int d[];
    d[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = d[blockDim.x - 1 - threadIdx.x];
}
__device__ int table[4] = { 1, 2, 3, 4 };
__constant__ int fixed[4] = { 10, 20, 30, 40 };
__device__ int *into = table + 1;
extern "C" __global__ void globals(int *out) {
    int i = threadIdx.x;
    out[i] = table[i & 3] + fixed[i & 3] + into[i & 1];
}
extern "C" __global__ void choose(int *out, int *in) {
    int i = threadIdx.x, r;
    switch (in[i] & 7) {
    case 0: r = i * 3; break;
    case 1: r = i + 7; break;
    case 2: r = i - 2; break;
    case 3: r = i * i; break;
    case 4: r = i ^ 5; break;
    case 5: r = i / 3; break;
    case 6: r = i % 5; break;
    default: r = -1;
    }
    out[i] = r;
}
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ int (*const functions[2])(int) = { twice, square };
extern "C" __global__ void indirect(int *out) { out[threadIdx.x] = functions[threadIdx.x & 1](threadIdx.x); }
extern "C" __global__ void votes(unsigned *out) {
    unsigned i = threadIdx.x, b = __ballot_sync(~0u, i & 1), a = __all_sync(~0u, i < 32), m = __match_any_sync(~0u, i / 8), r = __reduce_add_sync(~0u, i);
    unsigned u = 0;
    if (i < 10) u = __activemask();
    __syncwarp();
    out[i] = b == 0xaaaaaaaau && a && m == 0xffu << (i / 8 * 8) && r == 496 && (i >= 10 || u == 0x3ff);
}
extern "C" __global__ void counts(int *out) { out[threadIdx.x] = __syncthreads_count(threadIdx.x % 3 == 0) * 100 + __syncthreads_and(1) * 10 + __syncthreads_or(threadIdx.x == 5); }
extern "C" __global__ void atomics(int *out) {
    atomicAdd(out, 1); atomicMax(out + 1, (int)threadIdx.x); atomicMin(out + 2, -(int)threadIdx.x); atomicOr(out + 3, 1 << (threadIdx.x & 31));
    atomicAdd((float *)out + 4, 0.5f); atomicAdd((double *)out + 3, 0.25); atomicInc((unsigned *)out + 8, 9); atomicAdd((unsigned long long *)out + 5, 1ull << 32);
}
extern "C" __global__ void local(int *out, int *in) {
    int a[16];
    for (int i = 0; i < 16; i++) a[in[i] & 15] = i + threadIdx.x;
    int s = 0;
    for (int i = 0; i < 16; i++) s = s * 3 + a[(in[i] + threadIdx.x) & 15];
    out[threadIdx.x] = s;
}
extern "C" __global__ void fails(int *x) { assert(x[threadIdx.x] == 0); }
#include <cuda_pipeline.h>
#include <cuda/barrier>
extern "C" __global__ void staged(int *out, int *in) {
    __shared__ alignas(16) int s[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    __pipeline_memcpy_async(s + 4 * threadIdx.x, in + 4 * threadIdx.x, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    for (int k = 0; k < 3; k++) {
        bar.arrive_and_wait();
        int v = s[(4 * threadIdx.x + 5) % (4 * blockDim.x)];
        bar.arrive_and_wait();
        s[4 * threadIdx.x] = v + 1;
    }
    bar.arrive_and_wait();
    out[threadIdx.x] = s[4 * threadIdx.x];
}
