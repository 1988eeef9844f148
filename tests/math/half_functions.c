/* Functions of f16 and bf16 over all 2^16 values: at most the neighbour of the nearest result.  A packed pair has the
 * bits that its halves have.
 *
 * half_functions record     prints the recorded columns anew, in the order of the rows
 * half_functions table      prints the rows for docs/mathematics.md: see math_document.awk
 * half_functions errors    prints lines of tests/oracle/math_errors.txt */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/math/error_lines.h"
#include "tests/tap.h"

static double rsqrt_of(double x) { return 1 / sqrt(x); }

/* ---- The formats ---- */

static const struct format { const char *name; cj_type one, two; int mantissa, bias; } formats[] = {
    { "f16", CJ_F16, CJ_F16X2, 10, 15 },
    { "bf16", CJ_BF16, CJ_BF16X2, 7, 127 },
};

static double value_of(const struct format *t, unsigned h)
{
    const int exponents = 2 * t->bias + 1, e = (int)(h & 0x7fff) >> t->mantissa;
    const int fraction = (int)h & ((1 << t->mantissa) - 1), sign = h & 0x8000 ? -1 : 1;
    if (e == exponents) return fraction ? NAN : sign * INFINITY;
    const double size = ldexp(e ? fraction + (1 << t->mantissa) : fraction, (e ? e : 1) - t->bias - t->mantissa);
    return copysign(size, sign);
}

/* The nearest, ties to even: x in units of the last place is a whole number behind rint. */
static unsigned nearest(const struct format *t, double x)
{
    const unsigned sign = signbit(x) ? 0x8000 : 0, infinity = (2u * (unsigned)t->bias + 1) << t->mantissa;
    if (x != x) return infinity | 1u << (t->mantissa - 1);
    if (isinf(x)) return sign | infinity;
    int e = x == 0 ? -9999 : ilogb(x);
    if (e < 1 - t->bias) e = 1 - t->bias;
    const double units = rint(ldexp(fabs(x), t->mantissa - e)); /* 2^(mantissa + 1) carries into the exponent */
    const double bits = units + (double)(e + t->bias - 1) * (1 << t->mantissa);
    return sign | (bits < infinity ? (unsigned)bits : infinity);
}

/* ---- The functions ---- */

typedef cj_val call_of(cj_fn *f, cj_val x);

static const struct row { const char *name; call_of *call; double (*wants)(double); unsigned count[2]; } rows[] = {
    { "exp", cj_math_exp, exp, { 2, 1 } },
    { "exp2", cj_math_exp2, exp2, { 2, 0 } },
    { "log", cj_math_log, log, { 2, 0 } },
    { "log2", cj_math_log2, log2, { 0, 0 } },
    { "sin", cj_math_sin, sin, { 4, 0 } },
    { "cos", cj_math_cos, cos, { 2, 0 } },
    { "tanh", cj_math_tanh, tanh, { 0, 0 } },
    { "rsqrt", cj_math_rsqrt, rsqrt_of, { 0, 0 } },
};

enum { ALL = 1 << 16 };
static uint16_t one[ALL];
static uint32_t two[ALL];

/* Thread i: one[i] of the value i, and two[i] of the pair of i and its complement. */
static cj_kernel *kernel_of(cj_device *dev, const struct row *r, const struct format *t, cj_ptx *p)
{
    cj_fn *f = cj_ptx_kernel(p, "k");
    cj_val to = cj_param_ptr(f, "one", CJ_U16), pair = cj_param_ptr(f, "two", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_val y = r->call(f, cj_bits(f, t->one, cj_bits(f, CJ_B16, cj_cvt(f, CJ_U16, i))));
    cj_set(f, to, i, cj_bits(f, CJ_U16, y));
    cj_val both = cj_or(f, i, cj_shl(f, cj_xor(f, i, 0xffff), 16));
    cj_set(f, pair, i, cj_bits(f, CJ_U32, r->call(f, cj_bits(f, t->two, both))));
    return cj_kernel_load(dev, p, "k", NULL);
}

static bool executed(cj_device *dev, cj_stream *s, const struct row *r, const struct format *t)
{
    cj_ptx *p = cj_ptx_create();
    cj_kernel *k = kernel_of(dev, r, t, p);
    cj_dptr a = cj_alloc(s, sizeof one), b = cj_alloc(s, sizeof two);
    cj_launch(s, k, cj_grid(ALL / 128, 128), a, b);
    cj_copy_to_host(s, one, a, sizeof one);
    cj_copy_to_host(s, two, b, sizeof two);
    const bool done = k && !cj_stream_sync(s);
    if (!done) tap_fail("%s of .%s: %s", r->name, t->name, cj_error_of(k ? (void *)s : (void *)p)->message);
    cj_free(dev, a);
    cj_free(dev, b);
    cj_kernel_free(k);
    cj_ptx_free(p);
    return done;
}

static int place(unsigned h) { return h & 0x8000 ? -(int)(h & 0x7fff) : (int)h; }

static void print_half(const cj_device *dev, const struct row *r, const struct format *t, int worst, unsigned at,
                       unsigned count, unsigned wrong)
{
    char device[60], greatest[20], operand[40], not_nearest[20];
    error_device_word(dev, device, sizeof device);
    snprintf(greatest, sizeof greatest, "%d", worst);
    snprintf(operand, sizeof operand, "%a", value_of(t, at));
    snprintf(not_nearest, sizeof not_nearest, "%u", count);
    error_line_print(stdout, &(error_line){
        .function = r->name, .type = t->name, .form = "accurate", .device = device, .reference = "host-f64",
        .values = ALL, .unit = "ulp", .greatest = greatest, .at = worst ? operand : NULL, .not_nearest = not_nearest,
        .wrong = wrong });
}

static void compare(const cj_device *dev, const struct row *r, size_t format, bool record, bool lines)
{
    const struct format *t = &formats[format];
    unsigned wrong = 0, count = 0, pairs = 0, at = 0;
    int worst = 0;
    for (unsigned i = 0; i < ALL; i++) {
        const double want = r->wants(value_of(t, i)), got = value_of(t, one[i]);
        const unsigned rounded = nearest(t, want);
        if (two[i] != (one[i] | (uint32_t)one[i ^ 0xffff] << 16)) pairs++;
        if (want != want || got != got) wrong += (want != want) != (got != got);
        else if (want == 0 || isinf(want)) wrong += one[i] != rounded;
        else if (one[i] != rounded) {
            const int e = abs(place(one[i]) - place(rounded));
            count++;
            if (e > worst) worst = e, at = i;
        }
    }
    if (record) tap_diag("%s of .%s: %u", r->name, t->name, count);
    if (lines) print_half(dev, r, t, worst, at, count, wrong);
    tap_ok(wrong == 0, "%s of .%s: special values (%u wrong)", r->name, t->name, wrong);
    tap_ok(worst <= 1, "%s of .%s: greatest error %d", r->name, t->name, worst);
    if (!tap_on_gpu()) tap_is_uint(count, r->count[format], "%s of .%s: results not the nearest", r->name, t->name);
    tap_is_uint(pairs, 0, "%s of .%sx2: the bits of its halves", r->name, t->name);
}

/* Behind the columns of every type: the number of results that are not the nearest. */
static void print_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t t = 0; t < 2; t++)
            printf("%s %s accurate ulp %d - %d %u\n", rows[i].name, formats[t].name, rows[i].count[t] != 0, ALL,
                   rows[i].count[t]);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "table")) return print_rows(), 0;
    const bool record = argc > 1 && !strcmp(argv[1], "record"), lines = argc > 1 && !strcmp(argv[1], "errors");
    tap_need_device(1);
    tap_plan(0);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t t = 0; t < 2; t++)
            if (executed(dev, s, &rows[i], &formats[t])) compare(dev, &rows[i], t, record, lines);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
