/* Local memory: arrays that are indexed, allocated and passed on. */
__device__ __noinline__ void fill(int *a, int n) { for (int i = 0; i < n; i++) a[i] = i * i; }
__global__ void locals(int *out, int n)
{
    int a[64];
    char text[33];
    fill(a, 64);
    for (int i = 0; i < 32; i++) text[i] = (char)('a' + (a[i] + n) % 26);
    text[32] = 0;
    int *more = (int *)alloca(n * sizeof(int));
    fill(more, n);
    out[0] = a[n & 63] + text[n & 31] + more[n / 2];
    void *heap = malloc(n);
    if (heap) { memset(heap, n, n); memcpy(out + 4, heap, 8); free(heap); }
}
