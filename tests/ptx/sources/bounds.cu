/* Launch bounds. */
__global__ void __launch_bounds__(256) plain(int *x) { x[threadIdx.x]++; }
__global__ void __launch_bounds__(128, 4) both(int *x) { x[threadIdx.x] += 2; }
__global__ void __launch_bounds__(1024, 1) one_block(int *x) { x[threadIdx.x] += 3; }
