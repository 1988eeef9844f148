/* hello, saxpy, reduce and mandelbrot do what they say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/tap_run.h"

static void run(tap_result *r, const char *name, const char *a, const char *b, const char *c)
{
    const char *argv[] = { tap_build(name), a, b, c, NULL };
    tap_run(r, argv, NULL);
}

static const struct { const char *name, *a, *b; int status; const char *out, *err; } cases[] = {
    { "examples/hello", NULL, NULL, 0, ": y[10] = 21\n", "" },
    { "examples/saxpy", NULL, NULL, 0, ": 100000 elements, 0 differ from the host's\n", "" },
    { "examples/saxpy", "1", NULL, 0, ": 1 elements, 0 differ", "" },
    { "examples/saxpy", "16385", "-0.1", 0, ": 16385 elements, 0 differ", "" },
    { "examples/saxpy", "0", NULL, 2, "", "usage: saxpy" },
    { "examples/reduce", NULL, NULL, 0, ": the sum of 100000 numbers is 49950000\n", "" },
    { "examples/transformer", NULL, NULL, 0, ": 2 layers, 13 tokens: logits differ from plain C's by ", "" },
    { "examples/fused_gemm", NULL, NULL, 0, " by one kernel, 0 of 7200 elements differ from plain C's\n", "" },
    { "examples/tile_product", NULL, NULL, 0, ": 200 x 136 x 328, 0 of 27200 sums are wrong\n", "" },
    { "examples/mandelbrot", NULL, NULL, 2, "", "usage: mandelbrot" },
    { "examples/mandelbrot", "/nonexistent/x.ppm", NULL, 1, "", "/nonexistent/x.ppm" },
};

/* The picture as this program computes it. */
static unsigned steps_at(double cr, double ci)
{
    volatile double zr = 0, zi = 0, rr, ii, ri; /* volatile: no contraction */
    unsigned n = 0;
    for (;; n++) {
        rr = zr * zr;
        ii = zi * zi;
        double sum = rr + ii;
        if (sum > 4 || n >= 256) return n;
        ri = zr * zi;
        zi = ri + ri;
        zi = zi + ci;
        zr = rr - ii;
        zr = zr + cr;
    }
}

static void pictures_are_right(void)
{
    enum { W = 60, H = 40 };
    char path[] = "/tmp/cujit-mandelbrot-XXXXXX", want[64];
    int fd = mkstemp(path), wrong = 0;
    tap_result r;
    run(&r, "examples/mandelbrot", path, "60", "40");
    tap_is_int(r.status, 0, "mandelbrot draws %d x %d pixels", W, H);
    if (r.status) tap_diag("%s", r.err);
    tap_result_free(&r);
    size_t bytes = 0, head = (size_t)snprintf(want, sizeof want, "P6\n%d %d\n255\n", W, H);
    unsigned char *p = (unsigned char *)tap_slurp(path, &bytes);
    if (tap_ok(p && bytes == head + 3 * W * H && !memcmp(p, want, head), "a whole pixmap")) {
        double step = 3.6 / W, top = step * H / 2;
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                volatile double dx = x * step, dy = y * step;
                unsigned n = steps_at(-2.4 + dx, top - dy), c = n >= 256 ? 0 : n + 1;
                const unsigned char *q = p + head + 3 * (y * W + x);
                wrong += q[0] != (unsigned char)(c * 5) || q[1] != (unsigned char)(c * 9);
            }
        tap_is_int(wrong, 0, "each pixel as computed here");
    }
    free(p);
    close(fd);
    unlink(path);
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tap_result r;
        run(&r, cases[i].name, cases[i].a, cases[i].b, NULL);
        tap_is_int(r.status, cases[i].status, "%s %s exits with %d", cases[i].name, cases[i].a ? cases[i].a : "",
                   cases[i].status);
        tap_has_str(r.out, cases[i].out, "and prints '%.40s'", cases[i].out);
        if (*cases[i].err) tap_has_str(r.err, cases[i].err, "and says '%s'", cases[i].err);
        else tap_is_str(r.err, "", "and nothing else");
        tap_result_free(&r);
    }
    pictures_are_right();
    return tap_done();
}
