/* printf and assert in kernels. */
#include <cstdio>
#include <cassert>
__global__ void talk(const int *in, double d)
{
    assert(in[0] != 7);
    printf("hello %d %f %s %c %lld\n", in[threadIdx.x], d, "string", 'c', (long long)in[1] << 32);
    if (in[2]) printf("no arguments\n");
}
