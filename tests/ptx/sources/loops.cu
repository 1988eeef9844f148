/* Nested loops with breaks and early returns; a kernel with many parameters. */
__global__ void loops(int *x, char a, short b, unsigned char c, long long d, float e, double f, bool g, int n)
{
    for (int i = 0; i < n; i++) {
        for (int j = i; j < n; j += 3) {
            if (x[j] == a) break;
            if (x[j] == b) continue;
            if (x[i + j] == c) return;
            do { x[j] += (int)d; } while (x[j] < n && g);
        }
        x[i] += (int)(e * f) + (g ? 1 : -1);
    }
}
