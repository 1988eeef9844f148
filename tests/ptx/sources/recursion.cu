/* Recursion: functions that call themselves and each other. */
__device__ __noinline__ int odd(int n);
__device__ __noinline__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__device__ __noinline__ int odd(int n) { return n == 0 ? 0 : even(n - 1); }
__device__ __noinline__ long long ackermann(long long m, long long n)
{
    if (m == 0) return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__global__ void recurse(int *out, int n) { out[0] = even(n); out[1] = (int)ackermann(2, n); }
