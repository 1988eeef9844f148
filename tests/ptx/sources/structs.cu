/* Structs by value: parameters of kernels and functions, results, arrays in registers and in memory. */
struct small { char c; int i; };
struct large { double d[6]; small s[3]; long long tail; };
__device__ __noinline__ large twist(large a, small s) { for (int i = 0; i < 6; i++) a.d[i] += s.i; a.s[s.c & 1] = s; a.tail = -a.tail; return a; }
__device__ __noinline__ small pick(const large &a, int i) { return a.s[i]; }
__global__ void structs(large a, small s, large *out, int i)
{
    large b = twist(a, s);
    s = pick(b, i);
    double x[8];
    for (int k = 0; k < 8; k++) x[k] = k * s.i;
    b.d[0] = x[i];
    out[0] = b;
    out[1].s[0] = s;
}
