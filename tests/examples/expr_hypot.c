/* expr's hypot, which is cj_math_hypot, is within 1.25 units in the last place of the true value, everywhere: against
 * squares of twice the precision (no long double: memcheck and some machines have none). */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/expr.h"
#include "tests/tap.h"

enum { N = 20000 };

static uint64_t state = 88172645463325252u;
static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static double random_double(int emin, int emax)
{
    double m = 1 + (double)(next_random() >> 12) * 0x1p-52;
    return ldexp(next_random() & 1 ? m : -m, emin + (int)(next_random() % (unsigned)(emax - emin + 1)));
}

static const struct range { const char *name; int lo, hi, near;
} ranges[] = {
    { "of middle size", -20, 20, 0 },
    { "close to each other", -3, 3, 1 },
    { "of every size", -1022, 1023, 0 },
    { "near overflow", 1015, 1022, 1 },
    { "near underflow", -1022, -1000, 1 },
    { "around the scaling's limits", 498, 502, 1 },
    { "around the lower limit", -402, -398, 1 },
    { "subnormal", -1074, -1060, 1 },
};

static const double special[] = { 0,       -0.0,    1,         -3,      4,        INFINITY, -INFINITY, NAN,
                                  DBL_MAX, DBL_MIN, 0x1p-1074, 0x1p500, 0x1p-400, 1e300,    1e-300 };
enum { SPECIAL = sizeof special / sizeof *special };

/* a * a as hi + lo, to 2^-100 of it. */
static double square(double a, double *lo)
{
    uint64_t bits;
    double high, hi = a * a;
    memcpy(&bits, &a, sizeof bits);
    bits &= ~UINT64_C(0x7ffffff);
    memcpy(&high, &bits, sizeof high);
    double low = a - high;
    *lo = (high * high - hi + 2 * (high * low)) + low * low;
    return hi;
}

/* The distance of `got` from the true value in units in the last place of a double of its size: from got^2 - x^2 - y^2,
 * scaled to about 1. */
static double ulps(double got, double x, double y)
{
    int e, size;
    if (isinf(x) || isinf(y)) return isinf(got) && got > 0 ? 0 : INFINITY;
    if (isnan(x) || isnan(y)) return isnan(got) ? 0 : INFINITY;
    if (x == 0 && y == 0) return got == 0 ? 0 : INFINITY;
    frexp(fmax(fabs(x), fabs(y)), &e);
    x = ldexp(x, -e), y = ldexp(y, -e);
    if (fabs(x) < fabs(y)) {
        double other = x;
        x = y, y = other;
    }
    double about = sqrt(x * x + y * y), gl, xl, yl;
    if (isnan(got) || got < 0) return INFINITY;
    if (isinf(got)) return ldexp(about, e) >= DBL_MAX ? 0 : INFINITY;
    got = ldexp(got, -e);
    double gh = square(got, &gl), xh = square(x, &xl), yh = square(y, &yl);
    double off = (((gh - xh) - yh) + ((gl - xl) - yl)) / (got + about);
    frexp(about, &size);
    if (size + e < -1021) size = -1021 - e;
    return fabs(ldexp(off, 53 - size));
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    expression e = { .ncolumns = 2 };
    node x = { .kind = NODE_COLUMN, .column = 0 }, y = { .kind = NODE_COLUMN, .column = 1 };
    node root = { .kind = NODE_OF_TWO, .of_two = cj_math_hypot, .arg = { &x, &y } };
    e.root = &root;

    cj_ptx *m = expression_build(&e);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "expr", NULL);
    size_t n = tap_is_slow() ? N / 20 : N, bytes = n * sizeof(double);
    double *h = cj_host_alloc(dev, 3 * bytes, NULL);
    if (!h) tap_bail("%s", cj_error_of(dev)->message);
    size_t nranges = sizeof ranges / sizeof *ranges, each = (n - SPECIAL * SPECIAL) / nranges;
    for (size_t i = 0; i < n; i++) {
        if (i < SPECIAL * SPECIAL) {
            h[i] = special[i / SPECIAL], h[n + i] = special[i % SPECIAL];
            continue;
        }
        size_t r = (i - SPECIAL * SPECIAL) / each;
        const struct range *g = &ranges[r < nranges ? r : nranges - 1];
        h[i] = random_double(g->lo, g->hi);
        h[n + i] = g->near ? h[i] * random_double(-1, 1) : random_double(g->lo, g->hi);
    }
    cj_dptr d = cj_alloc(s, 3 * bytes), dy = cj_offset(d, (int64_t)bytes), out = cj_offset(dy, (int64_t)bytes);
    cj_copy_to_device(s, d, h, 2 * bytes);
    cj_launch(s, k, cj_threads(n, 256), out, d, dy, n);
    cj_copy_to_host(s, h + 2 * n, out, bytes);
    if (cj_stream_sync(s)) tap_bail("%s", cj_error_of(s)->message);

    double worst = 0;
    for (size_t i = 0; i < SPECIAL * SPECIAL; i++) {
        double u = ulps(h[2 * n + i], h[i], h[n + i]);
        if (u > 1.25) tap_fail("hypot(%g, %g) is %.17g", h[i], h[n + i], h[2 * n + i]);
    }
    tap_pass("special values");
    for (size_t r = 0; r < nranges; r++) {
        worst = 0;
        for (size_t i = SPECIAL * SPECIAL + r * each; i < SPECIAL * SPECIAL + (r + 1) * each; i++) {
            double u = ulps(h[2 * n + i], h[i], h[n + i]);
            if (u > worst) worst = u;
        }
        tap_ok(worst <= 1.25, "arguments %s: at most 1.25 ulp off (%.3f)", ranges[r].name, worst);
    }
    cj_free(dev, d);
    cj_host_free(dev, h);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
