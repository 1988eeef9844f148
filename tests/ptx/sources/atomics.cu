/* Atomic operations of all kinds of memory and types. */
__device__ unsigned counter;
__device__ double total;
__global__ void count(int *bins, const int *in, float *sum, unsigned long long *mask, int n)
{
    __shared__ int local[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 32) local[threadIdx.x] = 0;
    __syncthreads();
    if (i < n) {
        atomicAdd(&local[in[i] & 31], 1);
        atomicMax(&bins[32], in[i]);
        atomicAdd(sum, (float)in[i]);
        atomicOr(mask, 1ull << (in[i] & 63));
        atomicExch(&bins[33], i);
        atomicCAS(&bins[34], 0, i);
        atomicInc(&counter, 100);
        atomicAdd(&total, 0.5);
        atomicAdd_system(&bins[35], 1);
        atomicSub_block(&bins[36], 1);
    }
    __syncthreads();
    if (threadIdx.x < 32) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
