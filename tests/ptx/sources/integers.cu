/* Integers of 64 bits and bit operations. */
__global__ void integers(const long long *a, unsigned long long *b, unsigned *c)
{
    long long x = a[threadIdx.x], y = a[threadIdx.x + 1];
    unsigned long long u = b[0], v = b[1];
    b[2] = x / y + x % y + (u / v ^ u % v) + __mul64hi(x, y) + __umul64hi(u, v);
    b[3] = (x << (y & 63)) | (x >> (y & 31)) | (u >> (v & 63)) | __brevll(u) | __clzll(x) | __ffsll(y) | __popcll(u);
    c[0] = __mulhi(c[1], c[2]) + __umul24(c[1], c[2]) + __sad(c[1], c[2], c[3]) + __byte_perm(c[1], c[2], 0x3210) + __funnelshift_l(c[1], c[2], 5) + __brev(c[1]) + __clz(c[2]);
    c[4] = __vadd4(c[1], c[2]) + __dp4a(c[1], c[2], c[3]) + __usad(c[0], c[1], 3) + (c[1] / 7) + ((int)c[2] % 10) + __hadd((int)c[1], (int)c[2]);
    short s = (short)c[5]; signed char t = (signed char)c[6]; unsigned short w = (unsigned short)c[7];
    c[8] = s * t + (w >> 3) + (s < t) + (unsigned char)(c[9] * 3);
}
