/* CUDA's mathematical functions, for bench/math and tests/math/check_math.  bench/math_peers.sh has nvcc compile it
 * once for each function and type:
 *   KIND_ONE, ...      as in tests/math/math_functions.def
 *   NUMBER, WORD       the type and an integer of its width
 *   CUDA               its function; not defined: there is none
 *   WANTS              for float: the function of double that gives what is wanted
 *
 *     values   r0[i], r1[i]: CUDA's results of x[i], y[i]
 *     wants    w0[i], w1[i]: the same in double, of a float
 *     loop     as bench/math's own: adds up the bits of n results in registers
 * A whole number as a result is an integer of the type's width in `values`, and a double in `wants`. */
#include <math.h>

#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

static __device__ NUMBER number_of(WORD w)
{
    NUMBER x;
    memcpy(&x, &w, sizeof x);
    return x;
}

static __device__ WORD bits_of(NUMBER x)
{
    WORD w;
    memcpy(&w, &x, sizeof w);
    return w;
}

#ifdef CUDA
/* Of the operands' bits, in results' bits. */
static __device__ void apply(WORD x, WORD y, WORD *r0, WORD *r1)
{
    const NUMBER a = number_of(x);
    *r1 = 0;
#if defined KIND_ONE
    *r0 = bits_of(CUDA(a));
#elif defined KIND_TWO
    *r0 = bits_of(CUDA(a, number_of(y)));
#elif defined KIND_INT
    *r0 = bits_of(CUDA(a, (SECOND)(int)y));
#elif defined KIND_WHOLE
    *r0 = (WORD)CUDA(a);
#elif defined KIND_PAIR && defined PART
    NUMBER whole;
    *r0 = bits_of(CUDA(a, &whole));
    *r1 = bits_of(whole);
#elif defined KIND_PAIR
    NUMBER s, c;
    CUDA(a, &s, &c);
    *r0 = bits_of(s);
    *r1 = bits_of(c);
#elif defined KIND_EXPONENT
    int e = 0;
    *r0 = bits_of(CUDA(a, &e));
    *r1 = (WORD)e;
#elif defined KIND_QUOTIENT
    int q = 0;
    *r0 = bits_of(CUDA(a, number_of(y), &q));
    *r1 = (WORD)q;
#endif
}

#if defined KIND_PAIR || defined KIND_EXPONENT || defined KIND_QUOTIENT
#define SECOND_RESULT 1
#else
#define SECOND_RESULT 0
#endif

extern "C" __global__ void values(unsigned n, const WORD *x, const WORD *y, WORD *r0, WORD *r1)
{
    const unsigned i = THREAD;
    WORD a, b;
    if (i >= n) return;
    apply(x[i], y[i], &a, &b);
    r0[i] = a;
    if (SECOND_RESULT) r1[i] = b;
}

extern "C" __global__ void loop(const WORD *xs, const WORD *ys, unsigned *sums, unsigned n, WORD step_x, WORD step_y)
{
    const unsigned t = THREAD;
    WORD x = xs[t], y = ys[t];
    unsigned sum = 0;
#pragma unroll 4
    for (unsigned i = 0; i < n; i += 1) {
        WORD a, b;
        apply(x, y, &a, &b);
        sum += (unsigned)a;
        if (sizeof a == 8) sum += (unsigned)((unsigned long long)a >> 32);
        if (SECOND_RESULT) sum += (unsigned)b;
        if (SECOND_RESULT && sizeof b == 8) sum += (unsigned)((unsigned long long)b >> 32);
        x += step_x;
        y += step_y;
    }
    sums[t] = sum;
}
#endif

#ifdef WANTS
static __device__ double tanpi_of(double x)
{
    /* Exactly: x = 2 n + q / 2 + f with |f| <= 1/4 */
    const double a = fabs(x), b = a - 2 * rint(a / 2), j = rint(2 * b), f = (b - j / 2) * 3.14159265358979323846;
    const int q = (int)j & 3;
    double r;
    if (!isfinite(x)) return x - x;
    if (f == 0) r = q & 1 ? (q & 2 ? -INFINITY : INFINITY) : (q & 2 ? -0.0 : 0.0);
    else r = q & 1 ? -1 / tan(f) : tan(f);
    return signbit(x) ? -r : r;
}

static __device__ double sigmoid_of(double x) { return 1 / (1 + exp(-x)); }
static __device__ double silu_of(double x) { return x == -INFINITY ? -0.0 : x / (1 + exp(-x)); }
static __device__ double gelu_of(double x) { return x == -INFINITY ? -0.0 : x * normcdf(x); }

static __device__ double gelu_tanh_of(double x)
{
    return x == -INFINITY ? -0.0 : x / (1 + exp(-1.59576912160573071176 * (x + 0.044715 * x * x * x)));
}

static __device__ double softplus_of(double x) { return x != x ? x : fmax(x, 0.0) + log1p(exp(-fabs(x))); }

static __device__ double nextafter_of(double x, double y) { return nextafterf((float)x, (float)y); }

extern "C" __global__ void wants(unsigned n, const float *x, const float *y, double *w0, double *w1)
{
    const unsigned i = THREAD;
    if (i >= n) return;
    const float a = x[i];
#if defined KIND_ONE
    w0[i] = WANTS((double)a);
#elif defined KIND_TWO
    w0[i] = WANTS((double)a, (double)y[i]);
#elif defined KIND_INT
    w0[i] = WANTS((double)a, (WIDE_SECOND)(int)__float_as_int(y[i]));
#elif defined KIND_WHOLE
    w0[i] = WANTS((double)a);
#elif defined KIND_PAIR && defined PART
    w0[i] = WANTS((double)a, &w1[i]);
#elif defined KIND_PAIR
    WANTS((double)a, &w0[i], &w1[i]);
#elif defined KIND_EXPONENT
    int e = 0;
    w0[i] = WANTS((double)a, &e);
    w1[i] = isfinite(a) ? e : 0;
#elif defined KIND_QUOTIENT
    int q = 0;
    const double r = WANTS((double)a, (double)y[i], &q);
    w0[i] = r;
    w1[i] = r != r || isinf(y[i]) ? 0 : q < 0 ? -(-q & 7) : q & 7;
#endif
}
#endif
