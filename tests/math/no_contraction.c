/* The library is built without contraction: a product and a sum are rounded each, where the host has an instruction for
 * both too.  Numbers have the bits of the device only then. */
#include <stdint.h>

#include "tests/tap.h"

/* gcc contracts from -O2 on. */
#if defined __clang__
#define OPTIMIZED
#else
#define OPTIMIZED __attribute__((optimize("O2")))
#endif
#if defined __x86_64__
#define WITH_FMA OPTIMIZED __attribute__((noinline, target("fma")))
#else
#define WITH_FMA OPTIMIZED __attribute__((noinline))
#endif

WITH_FMA static double difference(double a, double b, double c) { return a * b - c; }
WITH_FMA static float single_difference(float a, float b, float c) { return a * b - c; }

static bool has_fma(void)
{
#if defined __x86_64__
    return __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

int main(void)
{
    tap_plan(2);
    if (!has_fma()) return tap_skip(2, "this processor has no fused multiply-add"), tap_done();
    volatile double a = 1 + 0x1p-30, square = a * a;
    volatile float b = 1 + 0x1p-13f, square_b = b * b;
    tap_ok(difference(a, a, square) == 0, "a product of double is rounded before the sum");
    tap_ok(single_difference(b, b, square_b) == 0, "a product of float is rounded before the sum");
    return tap_done();
}
