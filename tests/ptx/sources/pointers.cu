/* Function pointers: tables, arguments, members. */
typedef int (*operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ operation operations[] = { plus, minus, times };
__device__ __noinline__ int fold(operation f, const int *x, int n) { int r = 0; for (int i = 0; i < n; i++) r = f(r, x[i]); return r; }
typedef float4 (*wide)(float4, double);
__device__ __noinline__ float4 scale(float4 v, double d) { return make_float4(v.x * d, v.y, v.z, v.w); }
__device__ __noinline__ float4 shift(float4 v, double d) { return make_float4(v.x + d, v.y, v.z, v.w); }
__global__ void apply(int *x, float4 *v, int k, int n)
{
    wide w = k & 1 ? scale : shift;
    x[0] = fold(operations[k % 3], x, n);
    v[0] = w(v[0], 2.0);
}
