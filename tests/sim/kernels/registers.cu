// Kernels of everyday kinds; registers.ptx is what "nvcc -arch=compute_80 -ptx" makes of them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
template <int B> __device__ void mm(float *C, const float *A, const float *Bm, int wA, int wB) {
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int a0 = wA * B * by, aE = a0 + wA - 1;
    float s = 0;
    for (int a = a0, b = B * bx; a <= aE; a += B, b += B * wB) {
        __shared__ float As[B][B], Bs[B][B];
        As[ty][tx] = A[a + wA * ty + tx];
        Bs[ty][tx] = Bm[b + wB * ty + tx];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < B; k++)
            s += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[wB * B * by + B * bx + wB * ty + tx] = s;
}
extern "C" __global__ void mm32(float *C, const float *A, const float *B, int a, int b) { mm<32>(C, A, B, a, b); }
extern "C" __global__ void mm16(float *C, const float *A, const float *B, int a, int b) { mm<16>(C, A, B, a, b); }
__device__ float cnd(float d) {
    const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f, A5 = 1.330274429f;
    float K = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228f * expf(-0.5f * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))));
    return d > 0 ? 1.0f - c : c;
}
extern "C" __global__ void blackscholes(float *call, float *put, const float *S, const float *X, const float *T,
                                        float R, float V, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        float s = sqrtf(T[i]);
        float d1 = (logf(S[i] / X[i]) + (R + 0.5f * V * V) * T[i]) / (V * s), d2 = d1 - V * s;
        float c1 = cnd(d1), c2 = cnd(d2), e = expf(-R * T[i]);
        call[i] = S[i] * c1 - X[i] * e * c2;
        put[i] = X[i] * e * (1 - c2) - S[i] * (1 - c1);
    }
}
extern "C" __global__ void mandel(unsigned char *o, int w, int h, double x0, double y0, double d, int it) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    double cx = x0 + x * d, cy = y0 + y * d, zx = 0, zy = 0;
    int k = 0;
    while (k < it && zx * zx + zy * zy < 4) {
        double t = zx * zx - zy * zy + cx;
        zy = 2 * zx * zy + cy;
        zx = t;
        k++;
    }
    o[y * w + x] = k;
}
extern "C" __global__ void stencil7(const float *in, float *out, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
        return;
    size_t p = (size_t)nx * ny;
    for (int z = 1; z < nz - 1; z++) {
        size_t i = z * p + (size_t)y * nx + x;
        out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - p] + in[i + p]);
    }
}
extern "C" __global__ void nbody(float4 *np, float4 *v, const float4 *p, float dt, int n) {
    extern __shared__ float4 sp[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 a = p[i];
    float3 f = {0, 0, 0};
    for (int t = 0; t < n / blockDim.x; t++) {
        sp[threadIdx.x] = p[t * blockDim.x + threadIdx.x];
        __syncthreads();
#pragma unroll 32
        for (int k = 0; k < blockDim.x; k++) {
            float4 b = sp[k];
            float dx = b.x - a.x, dy = b.y - a.y, dz = b.z - a.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = b.w * r * r * r;
            f.x += dx * s;
            f.y += dy * s;
            f.z += dz * s;
        }
        __syncthreads();
    }
    float4 w = v[i];
    w.x += f.x * dt;
    w.y += f.y * dt;
    w.z += f.z * dt;
    a.x += w.x * dt;
    a.y += w.y * dt;
    a.z += w.z * dt;
    np[i] = a;
    v[i] = w;
}
extern "C" __global__ void transpose(float *o, const float *in, int w, int h) {
    __shared__ float t[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        t[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        o[(y + j) * h + x] = t[threadIdx.x][threadIdx.y + j];
}
extern "C" __global__ void histo(unsigned *h, const unsigned char *d, int n) {
    __shared__ unsigned s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&s[d[i]], 1);
    __syncthreads();
    atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
extern "C" __global__ void scan(int *o, const int *in, int n) {
    extern __shared__ int s[];
    int t = threadIdx.x;
    s[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t < n)
        o[t] = s[t];
}
extern "C" __global__ void conv5(const float *in, float *out, const float *k, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
#pragma unroll
    for (int j = -2; j <= 2; j++)
#pragma unroll
        for (int i = -2; i <= 2; i++) {
            int xx = min(max(x + i, 0), w - 1), yy = min(max(y + j, 0), h - 1);
            s += in[yy * w + xx] * k[(j + 2) * 5 + i + 2];
        }
    out[y * w + x] = s;
}
extern "C" __global__ void softmax(const float *x, float *y, int n) {
    __shared__ float r[32];
    const float *p = x + (size_t)blockIdx.x * n;
    float m = -1e30f;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        m = fmaxf(m, p[i]);
    for (int o = 16; o; o /= 2)
        m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (threadIdx.x % 32 == 0)
        r[threadIdx.x / 32] = m;
    __syncthreads();
    m = r[threadIdx.x % 32 < blockDim.x / 32 ? threadIdx.x % 32 : 0];
    for (int o = 16; o; o /= 2)
        m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        s += expf(p[i] - m);
    for (int o = 16; o; o /= 2)
        s += __shfl_xor_sync(~0u, s, o);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        atomicAdd(&r[0], s);
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[(size_t)blockIdx.x * n + i] = expf(p[i] - m) / r[0];
}
extern "C" __global__ void hgemm_naive(const __half *a, const __half *b, __half *c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
    for (int k = 0; k < n; k++)
        s += __half2float(a[y * n + k]) * __half2float(b[k * n + x]);
    c[y * n + x] = __float2half(s);
}
extern "C" __global__ void tile8x8(const float *A, const float *B, float *C, int n) {
    float acc[8][8] = {};
    __shared__ float sa[8][128], sb[8][128];
    int t = threadIdx.x, r = t / 16 * 8, q = t % 16 * 8;
    for (int k0 = 0; k0 < n; k0 += 8) {
        for (int i = 0; i < 4; i++) {
            int e = t + i * 256;
            sa[e / 128][e % 128] = A[(blockIdx.y * 128 + e % 128) * n + k0 + e / 128];
            sb[e / 128][e % 128] = B[(k0 + e / 128) * n + blockIdx.x * 128 + e % 128];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 8; k++) {
            float a[8], b[8];
#pragma unroll
            for (int i = 0; i < 8; i++)
                a[i] = sa[k][r + i], b[i] = sb[k][q + i];
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
            C[(blockIdx.y * 128 + r + i) * n + blockIdx.x * 128 + q + j] = acc[i][j];
}
extern "C" __global__ void madchain(unsigned *p) {
    unsigned x = p[threadIdx.x], y = p[threadIdx.x + 32];
#pragma unroll
    for (int i = 0; i < 200; i++)
        x = x * y + i;
    p[threadIdx.x] = x;
}
extern "C" __global__ void sha(unsigned *st, const unsigned *w) {
    unsigned s[8], m[16];
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < 8; i++)
        s[i] = st[t * 8 + i];
    for (int i = 0; i < 16; i++)
        m[i] = w[t * 16 + i];
#pragma unroll
    for (int i = 0; i < 16; i++) {
        unsigned a = s[0], e = s[4];
        unsigned x = s[7] + (__funnelshift_r(e, e, 6) ^ __funnelshift_r(e, e, 11) ^ __funnelshift_r(e, e, 25)) +
                     ((e & s[5]) ^ (~e & s[6])) + m[i & 15] + i * 0x9e3779b9;
        unsigned y = (__funnelshift_r(a, a, 2) ^ __funnelshift_r(a, a, 13) ^ __funnelshift_r(a, a, 22)) +
                     ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        for (int k = 7; k; k--)
            s[k] = s[k - 1];
        s[4] += x;
        s[0] = x + y;
        m[i & 15] += (m[(i + 1) & 15] >> 3) + m[(i + 9) & 15] + (m[(i + 14) & 15] >> 10);
    }
    for (int i = 0; i < 8; i++)
        st[t * 8 + i] += s[i];
}
extern "C" __global__ void dgemv(const double *A, const double *x, double *y, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    double s = 0;
    for (int i = 0; i < n; i++)
        s += A[(size_t)r * n + i] * x[i];
    y[r] = s;
}
extern "C" __global__ void bitonic(int *d, int j, int k) {
    unsigned i = threadIdx.x + blockDim.x * blockIdx.x, x = i ^ j;
    if (x > i) {
        int a = d[i], b = d[x];
        if ((i & k) == 0 ? a > b : a < b)
            d[i] = b, d[x] = a;
    }
}
extern "C" __global__ void memset16(uint4 *p, unsigned v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = make_uint4(v, v, v, v);
}
