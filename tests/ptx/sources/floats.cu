/* Floats: fast and exact functions, rounding, special values. */
__global__ void floats(const float *in, float *out, int *k)
{
    float x = in[0], y = in[1];
    out[0] = sinf(x) + cosf(y) + tanf(x) + expf(y) + logf(x) + powf(x, y) + sqrtf(x) + cbrtf(y);
    out[1] = __sinf(x) + __expf(y) + __logf(x) + __fdividef(x, y) + __frcp_rz(x) + __fsqrt_ru(y) + __fmaf_rd(x, y, x) + rsqrtf(y);
    out[2] = x / y + fmodf(x, y) + truncf(x) + ceilf(y) + roundf(x) + nearbyintf(y) + fabsf(x) + ldexpf(x, 3) + __saturatef(y);
    k[0] = __float2int_rn(x) + __float_as_int(y) + (unsigned)x + (int)(long long)y + (x == x) + (x < y ? 1 : 2) + signbit(x) + isfinite(y);
    out[3] = __int2float_rz(k[1]) + (float)(unsigned)k[2] + (float)(long long)k[3] + (signed char)x + (unsigned short)y + lgammaf(x);
}
