/* Functions that the C library lacks: beside 2,000 values of each that MPFR has made (mpfr_values.txt, record_mpfr.py).
 * The results recorded there are rounded once, so the distance from them is exact.
 *
 * mpfr_values record     prints the recorded columns anew, in the order of the rows
 * mpfr_values table      prints the rows for docs/mathematics.md: see math_document.awk */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

typedef cj_val call_of(cj_fn *f, cj_val x);

static const struct row {
    const char *name;
    call_of *call;
    struct { int64_t limit, worst, count; } of[2]; /* f32, f64: CUDA's table; distance on the CPU device; not nearest */
} rows[] = {
    { "erfcx", cj_math_erfcx, { { 4, 2, 570 }, { 4, 3, 659 } } },
    { "normcdf", cj_math_normcdf, { { 5, 3, 935 }, { 5, 4, 1099 } } },
    { "erfinv", cj_math_erfinv, { { 2, 1, 653 }, { 5, 1, 558 } } },
    { "erfcinv", cj_math_erfcinv, { { 4, 2, 975 }, { 6, 2, 847 } } },
    { "normcdfinv", cj_math_normcdfinv, { { 5, 3, 1000 }, { 8, 3, 983 } } },
    { "sinpi", cj_math_sinpi, { { 1, 1, 60 }, { 2, 1, 9 } } },
    { "cospi", cj_math_cospi, { { 1, 1, 245 }, { 2, 1, 25 } } },
    { "tanpi", cj_math_tanpi, { { 4, 2, 389 }, { 2, 1, 19 } } },
    { "rcbrt", cj_math_rcbrt, { { 1, 1, 229 }, { 1, 1, 221 } } },
    { "rsqrt", cj_math_rsqrt, { { 2, 1, 444 }, { 1, 0, 0 } } },
};
enum { ROWS = sizeof rows / sizeof *rows, MOST = 2000 };

static uint64_t x[MOST], want[MOST], got[MOST];

/* A section: its operands and results; the text behind it. */
static char *section(char *at, const struct row *t, bool wide, size_t *n)
{
    char name[32], type[8], sign[16], digits[17];
    unsigned long long first, step;
    unsigned count;
    *n = 0;
    if (sscanf(at, "%31s %7s %llx %llx %15s %u", name, type, &first, &step, sign, &count) != 6) return NULL;
    at = strchr(at, '\n');
    const bool wanted = !strcmp(name, t->name) && (type[1] == '6') == wide;
    const size_t length = type[1] == '6' ? 16 : 8, top = 4 * length - 1;
    for (unsigned i = 0; at && i < count; i++) {
        while (*at == '\n') at++;
        if (strnlen(at, length) < length) return NULL;
        memcpy(digits, at, length);
        digits[length] = 0;
        at += length;
        if (!wanted) continue;
        want[i] = strtoull(digits, NULL, 16);
        x[i] = (first + i * step) | (uint64_t)(*sign == '-' || (*sign == 'a' && i % 2)) << top;
    }
    while (at && *at == '\n') at++;
    if (wanted) *n = count;
    return at;
}

/* Operands and results are 64 bits in memory. */
static cj_kernel *kernel_of(cj_device *dev, const struct row *t, bool wide, cj_ptx *p)
{
    cj_fn *f = cj_ptx_kernel(p, "k");
    cj_val from = cj_param_ptr(f, "from", CJ_U64), to = cj_param_ptr(f, "to", CJ_U64), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
    cj_val v = cj_get(f, from, i);
    cj_val r = t->call(f, wide ? cj_bits(f, CJ_F64, v) : cj_bits(f, CJ_F32, cj_cvt(f, CJ_U32, v)));
    cj_set(f, to, i, wide ? cj_bits(f, CJ_U64, r) : cj_cvt(f, CJ_U64, cj_bits(f, CJ_U32, r)));
    cj_end(f);
    return cj_kernel_load(dev, p, "k", NULL);
}

static bool executed(cj_device *dev, cj_stream *s, cj_kernel *k, size_t n)
{
    cj_dptr a = cj_alloc(s, sizeof x), b = cj_alloc(s, sizeof got);
    cj_copy_to_device(s, a, x, n * sizeof *x);
    cj_launch(s, k, cj_grid((unsigned)((n + 127) / 128), 128), a, b, (uint32_t)n);
    cj_copy_to_host(s, got, b, n * sizeof *got);
    const bool done = k && !cj_stream_sync(s);
    cj_free(dev, a);
    cj_free(dev, b);
    return done;
}

static int64_t place(uint64_t u, bool wide)
{
    if (!wide) u <<= 32;
    const int64_t size = (int64_t)(u & INT64_MAX);
    return (u >> 63 ? -size : size) / (wide ? 1 : (int64_t)1 << 32);
}

static void compare(cj_device *dev, cj_stream *s, char *text, const struct row *t, bool wide, bool record)
{
    int64_t worst = 0, count = 0;
    size_t n, all = 0;
    cj_ptx *p = cj_ptx_create();
    cj_kernel *k = kernel_of(dev, t, wide, p);
    for (char *at = strchr(text, '\n'); at && *at;) {
        if (*at == '\n') at++;
        at = section(at, t, wide, &n);
        all += n;
        if (!n) continue;
        if (!executed(dev, s, k, n)) tap_fail("%s: %s", t->name, cj_error_of(k ? (void *)s : (void *)p)->message);
        for (size_t i = 0; i < n; i++) {
            const int64_t e = llabs(place(got[i], wide) - place(want[i], wide));
            count += e != 0;
            if (e > worst) worst = e;
        }
    }
    const char *type = wide ? "f64" : "f32";
    if (record) tap_diag("%s %s: %lld, %lld", t->name, type, (long long)worst, (long long)count);
    tap_is_uint(all, MOST, "%s of %s: recorded values", t->name, type);
    tap_ok(worst <= t->of[wide].limit, "%s of %s: greatest error %lld", t->name, type, (long long)worst);
    if (!tap_on_gpu()) {
        tap_is_int(worst, t->of[wide].worst, "%s of %s: the recorded one", t->name, type);
        tap_is_int(count, t->of[wide].count, "%s of %s: results not the nearest", t->name, type);
    }
    cj_kernel_free(k);
    cj_ptx_free(p);
}

static void print_rows(void)
{
    for (size_t i = 0; i < ROWS; i++)
        for (int wide = 0; wide < 2; wide++)
            printf("%s %s accurate ulp %lld %lld %d\n", rows[i].name, wide ? "f64" : "f32",
                   (long long)rows[i].of[wide].worst, (long long)rows[i].of[wide].limit, MOST);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "table")) return print_rows(), 0;
    const bool record = argc > 1 && !strcmp(argv[1], "record");
    tap_need_device(1);
    tap_plan(0);
    char *text = tap_slurp(tap_source("tests/math/mpfr_values.txt"), NULL);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    if (!tap_ok(text != NULL, "the recorded values are there")) return tap_done();
    for (size_t i = 0; i < ROWS; i++)
        for (int wide = 0; wide < 2; wide++) compare(dev, s, text, &rows[i], wide, record);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    free(text);
    return tap_done();
}
