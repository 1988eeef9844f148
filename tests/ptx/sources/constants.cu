/* Constant memory, initial values with addresses, strings, nested arrays, structs. */
struct entry { const char *name; int key; short small[3]; float weight; const int *link; };
__constant__ int primes[8] = { 2, 3, 5, 7, 11, 13, 17, 19 };
__device__ int values[4][2] = { { 1, 2 }, { 3 }, { }, { 7, 8 } };
__device__ const entry table[3] = { { "first", 1, { 1, 2, 3 }, 0.5f, &values[1][1] }, { "second", -2, { -1 }, -1e30f, values[3] }, { 0, 3, { }, 0, &primes[0] } };
__device__ const char *const names[] = { "alpha", "beta", "gamma\n\"quoted\"" };
__device__ int *links[2] = { &values[2][1], &values[0][0] };
__global__ void look(int *out, int i)
{
    const entry *e = &table[i];
    out[0] = e->key + primes[i] + values[i][1] + e->small[2] + names[i][0] + (e->name ? e->name[1] : 0) + (e->link ? *e->link : 0);
    out[1] = *links[1];
}
