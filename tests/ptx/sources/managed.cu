/* Managed variables, and a parameter that stays where it is. */
__managed__ int shared_count = 5;
__managed__ float managed_array[16];
struct config { float w[8]; int n; };
__global__ void managed(const __grid_constant__ config c, float *out)
{
    const config *p = &c;
    float s = 0;
    for (int i = 0; i < p->n; i++) s += p->w[i & 7] * managed_array[i];
    atomicAdd(&shared_count, 1);
    out[0] = s;
}
