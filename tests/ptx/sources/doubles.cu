/* Doubles: the mathematics library, conversions, comparisons. */
#include <cmath>
__global__ void doubles(const double *in, double *out, int *k)
{
    double x = in[threadIdx.x], y = in[threadIdx.x + 1];
    out[0] = sin(x) + exp(y) + pow(x, y) + log1p(fabs(x)) + atan2(x, y);
    out[1] = fma(x, y, rsqrt(x)) + __ddiv_rn(x, y) + __dsqrt_ru(y) + copysign(x, y) + floor(x) + rint(y);
    out[2] = isnan(x) ? 1.0 : isinf(y) ? 2.0 : fmin(x, y) + fmax(x, -y) + erf(x) + tgamma(y);
    k[0] = (int)x + (int)__double2ll_rz(y) + __double2hiint(x) + __double2loint(y) + (unsigned)llrint(x);
    out[3] = (float)x + __int2double_rn(k[1]) + __uint2double_rn(k[2]) + __ll2double_rd(k[3]);
}
