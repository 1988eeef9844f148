/* Templates: functions and classes of several types, values as arguments. */
template <typename T, int N> struct block { T x[N]; __device__ T sum() const { T s = 0; for (int i = 0; i < N; i++) s += x[i]; return s; } };
template <typename T> __device__ __noinline__ T power(T x, int n) { T r = 1; while (n-- > 0) r *= x; return r; }
template <typename T, int N> __global__ void reduce(const T *in, T *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    block<T, N> b;
    for (int k = 0; k < N; k++) b.x[k] = in[i * N + k];
    out[i] = power(b.sum(), 3);
}
template __global__ void reduce<float, 4>(const float *, float *, int);
template __global__ void reduce<double, 3>(const double *, double *, int);
template __global__ void reduce<int, 2>(const int *, int *, int);
template __global__ void reduce<unsigned char, 8>(const unsigned char *, unsigned char *, int);
