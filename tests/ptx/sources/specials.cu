/* Special registers, clocks, sleeping, traps, fences. */
__global__ void specials(unsigned *x, long long *t)
{
    t[0] = clock64();
    x[0] = threadIdx.x + threadIdx.y * blockDim.x + threadIdx.z + blockIdx.y * gridDim.x + blockIdx.z + gridDim.z + warpSize;
    unsigned s, w;
    unsigned long long g;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(s));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(w));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g));
    __threadfence();
    __threadfence_block();
    __threadfence_system();
    __nanosleep(20);
    if (x[1] == 99) __trap();
    if (x[2] == 98) asm volatile("exit;");
    if (x[3] == 97) __brkpt();
    t[1] = clock64() + s + w + g + clock();
}
