/* Shared memory: static, dynamic, two-dimensional, of several kernels. */
extern __shared__ double dynamic[];
__shared__ float common_tile[16][17];
__global__ void transpose(const float *in, float *out, int n)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    common_tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    out[x * n + y] = common_tile[threadIdx.x][threadIdx.y];
}
__global__ void scan(double *x)
{
    dynamic[threadIdx.x] = x[threadIdx.x];
    for (int d = 1; d < blockDim.x; d *= 2) {
        __syncthreads();
        double v = threadIdx.x >= d ? dynamic[threadIdx.x - d] : 0;
        __syncthreads();
        dynamic[threadIdx.x] += v;
    }
    x[threadIdx.x] = dynamic[threadIdx.x];
}
