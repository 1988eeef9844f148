/* Closures of the device, loops that are unrolled or not. */
template <typename F> __device__ void each(int n, F f) {
#pragma unroll 4
    for (int i = 0; i < n; i++) f(i);
}
__global__ void lambdas(float *x, int n, float a)
{
    float sum = 0;
    each(n, [&](int i) { sum += x[i] * a; });
#pragma unroll 1
    for (int i = 0; i < n; i++) x[i] = fmaf(x[i], a, sum);
    auto clamp = [=](float v) { return fminf(fmaxf(v, -a), a); };
    x[n] = clamp(sum);
}
