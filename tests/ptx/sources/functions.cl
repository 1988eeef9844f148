/* OpenCL C through clang: functions with structs, switches, recursion-free calls, private arrays. */
typedef struct { float w[4]; int kind; ulong tag; } item;
__attribute__((noinline)) float weigh(item a, int i)
{
    switch (a.kind) {
    case 0: return a.w[i & 3];
    case 1: return a.w[0] * a.w[1];
    case 2: return a.w[2] - i;
    case 5: return (float)a.tag;
    default: return -1.0f;
    }
}
__attribute__((noinline)) void fill(int *a, int n) { for (int i = 0; i < n; i++) a[i] = i ^ n; }
__kernel void items(__global const item *in, __global float *out, int n)
{
    int scratch[32];
    fill(scratch, 32);
    for (int i = 0; i < n; i++) out[i] = weigh(in[i], scratch[i & 31]);
    out[n] = (float)(n / 7) + (n % 5 ? 1.0f : 2.0f);
}
