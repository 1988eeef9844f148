/* Functions that other modules define, weak and static ones. */
extern "C" __device__ int elsewhere(int x);
extern __device__ int foreign[4];
static __device__ __noinline__ int inner(int x) { return x * x; }
__device__ __attribute__((weak)) __noinline__ int weak_one(int x) { return inner(x) + 1; }
extern "C" __device__ int exported = 9;
extern "C" __device__ __noinline__ int callable(int x) { return weak_one(x) + exported; }
__global__ void uses(int *x) { x[0] = elsewhere(x[1]) + foreign[2] + callable(x[3]); }
