/* bench/sim: seven kernels and the same loops in plain C. The results are compared bit for bit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sim_bench.h"

/* fmaf is one instruction where the processor has it, as in the device. */
#if defined __x86_64__ && defined __GLIBC__ && defined __GNUC__ && !defined __clang__
#define WITH_FMA __attribute__((target_clones("fma", "default")))
#else
#define WITH_FMA
#endif

enum { PIECES = 12 };

typedef struct kernel {
    const char *name;
    const char *text;            /* one instruction a line; a label begins a piece */
    unsigned grid[2], block[2];
    size_t in, out;              /* bytes */
    void (*fill)(void *in);
    void (*native)(const void *in, void *out);
    /* how many threads enter each piece, in the order of the text; the first begins with the kernel */
    void (*entered)(const void *in, uint64_t *piece);
} kernel;

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define ENTRY ".visible .entry k(.param .u64 pout, .param .u64 pin)\n{\n" \
              ".reg .b64 %rd<24>;\n.reg .b32 %r<40>;\n.reg .f32 %f<24>;\n.reg .f64 %d<24>;\n.reg .pred %p<8>;\n"
#define POINTERS "ld.param.u64 %rd1, [pout];\nld.param.u64 %rd2, [pin];\n" \
                 "cvta.to.global.u64 %rd1, %rd1;\ncvta.to.global.u64 %rd2, %rd2;\n"
/* %r1: the thread's number in the grid; %rd4: 4 times of it */
#define INDEX "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n" \
              "mad.lo.u32 %r1, %r2, %r3, %r4;\nmul.wide.u32 %rd4, %r1, 4;\n"
#define STORE(reg, type) "add.s64 %rd5, %rd1, %rd4;\nst.global." type " [%rd5], " reg ";\nret;\n}\n"

static void fill_words(void *in, size_t n)
{
    uint32_t *v = in, x = 12345;
    for (size_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        v[i] = x;
    }
}

static void fill_floats(void *in, size_t n)
{
    float *v = in;
    fill_words(in, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t x;
        memcpy(&x, &v[i], 4);
        v[i] = (float)(x >> 9) * 0x1p-23f + 0.5f;
    }
}

/* -- Integer arithmetic -------------------------------------------------------------------------------------------- */

enum { INT_THREADS = 65536, INT_ROUNDS = 64 };

static const char int_text[] = HEAD ENTRY POINTERS INDEX
    "add.s64 %rd6, %rd2, %rd4;\nld.global.u32 %r5, [%rd6];\nmov.u32 %r6, 0;\nmov.u32 %r7, 64;\n"
    "LOOP:\n"
    "shl.b32 %r8, %r5, 13;\nxor.b32 %r5, %r5, %r8;\nshr.u32 %r8, %r5, 17;\nxor.b32 %r5, %r5, %r8;\n"
    "shl.b32 %r8, %r5, 5;\nxor.b32 %r5, %r5, %r8;\nmad.lo.u32 %r6, %r6, 1664525, %r5;\n"
    "min.u32 %r9, %r6, %r5;\nand.b32 %r9, %r9, 255;\nadd.u32 %r6, %r6, %r9;\n"
    "sub.u32 %r7, %r7, 1;\nsetp.ne.u32 %p1, %r7, 0;\n@%p1 bra LOOP;\n"
    "END:\n" STORE("%r6", "u32");

static void int_fill(void *in) { fill_words(in, INT_THREADS); }
static void int_native(const void *in, void *out)
{
    const uint32_t *from = in;
    uint32_t *to = out;
    for (int i = 0; i < INT_THREADS; i++) {
        uint32_t x = from[i], y = 0;
        for (int j = 0; j < INT_ROUNDS; j++) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            y = y * 1664525 + x;
            y += (y < x ? y : x) & 255;
        }
        to[i] = y;
    }
}
static void int_entered(const void *in, uint64_t *piece)
{
    (void)in;
    piece[0] = piece[2] = INT_THREADS;
    piece[1] = (uint64_t)INT_THREADS * INT_ROUNDS;
}

/* -- Fused multiply-add -------------------------------------------------------------------------------------------- */

enum { FMA_THREADS = 65536, FMA_ROUNDS = 64 };

static const char fma_text[] = HEAD ENTRY POINTERS INDEX
    "add.s64 %rd6, %rd2, %rd4;\nld.global.f32 %f1, [%rd6];\nmov.f32 %f2, 0f3F000000;\nmov.f32 %f3, 0f3E800000;\n"
    "mov.f32 %f4, 0f3F800000;\nmov.f32 %f5, 0f3FC00000;\nmov.u32 %r7, 64;\n"
    "LOOP:\n"
    "fma.rn.f32 %f2, %f2, %f1, %f5;\nfma.rn.f32 %f3, %f3, %f1, %f4;\n"
    "fma.rn.f32 %f2, %f2, 0f3F000000, %f3;\nfma.rn.f32 %f3, %f3, 0f3E800000, %f2;\n"
    "fma.rn.f32 %f2, %f2, 0f3F000000, %f1;\nfma.rn.f32 %f3, %f3, 0f3E800000, %f1;\n"
    "fma.rn.f32 %f2, %f2, 0f3F000000, %f3;\nfma.rn.f32 %f3, %f3, 0f3E800000, %f2;\n"
    "sub.u32 %r7, %r7, 1;\nsetp.ne.u32 %p1, %r7, 0;\n@%p1 bra LOOP;\n"
    "END:\nadd.rn.f32 %f2, %f2, %f3;\n" STORE("%f2", "f32");

static void fma_fill(void *in) { fill_floats(in, FMA_THREADS); }
static WITH_FMA void fma_native(const void *in, void *out)
{
    const float *from = in;
    float *to = out;
    for (int i = 0; i < FMA_THREADS; i++) {
        float x = from[i], a = 0.5f, b = 0.25f;
        for (int j = 0; j < FMA_ROUNDS; j++) {
            a = fmaf(a, x, 1.5f);
            b = fmaf(b, x, 1.0f);
            a = fmaf(a, 0.5f, b);
            b = fmaf(b, 0.25f, a);
            a = fmaf(a, 0.5f, x);
            b = fmaf(b, 0.25f, x);
            a = fmaf(a, 0.5f, b);
            b = fmaf(b, 0.25f, a);
        }
        to[i] = a + b;
    }
}
static void fma_entered(const void *in, uint64_t *piece)
{
    (void)in;
    piece[0] = piece[2] = FMA_THREADS;
    piece[1] = (uint64_t)FMA_THREADS * FMA_ROUNDS;
}

/* -- Triad: a = b + s * c ------------------------------------------------------------------------------------------ */

enum { TRIAD = 262144 };

static const char triad_text[] = HEAD ENTRY POINTERS INDEX
    "setp.ge.u32 %p1, %r1, 262144;\n@%p1 bra END;\n"
    "INSIDE:\n"
    "add.s64 %rd6, %rd2, %rd4;\nld.global.f32 %f1, [%rd6];\nld.global.f32 %f2, [%rd6+1048576];\n"
    "fma.rn.f32 %f3, %f2, 0f40400000, %f1;\nadd.s64 %rd5, %rd1, %rd4;\nst.global.f32 [%rd5], %f3;\n"
    "END:\nret;\n}\n";

static void triad_fill(void *in) { fill_floats(in, 2 * TRIAD); }
static WITH_FMA void triad_native(const void *in, void *out)
{
    const float *b = in, *c = b + TRIAD;
    float *a = out;
    for (int i = 0; i < TRIAD; i++) a[i] = fmaf(c[i], 3.0f, b[i]);
}
static void triad_entered(const void *in, uint64_t *piece)
{
    (void)in;
    piece[0] = piece[1] = piece[2] = TRIAD;
}

/* -- Matrix product by tiles of 16 x 16 in shared memory ----------------------------------------------------------- */

enum { GEMM = 256, GEMM_TILES = GEMM / 16 };

#define GEMM_STEP(k) \
    "ld.shared.f32 %f2, [%r10+" #k "*4];\nld.shared.f32 %f3, [%r11+" #k "*64];\nfma.rn.f32 %f1, %f2, %f3, %f1;\n"
static const char gemm_text[] = HEAD ENTRY
    ".shared .align 4 .b8 ta[1024];\n.shared .align 4 .b8 tb[1024];\n" POINTERS
    "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ctaid.y;\n"
    "shl.b32 %r5, %r3, 4;\nadd.u32 %r5, %r5, %r1;\nshl.b32 %r6, %r4, 4;\nadd.u32 %r6, %r6, %r2;\n" /* column, row */
    "shl.b32 %r7, %r6, 8;\nadd.u32 %r8, %r7, %r1;\nmul.wide.u32 %rd4, %r8, 4;\nadd.s64 %rd6, %rd2, %rd4;\n"
    "shl.b32 %r8, %r2, 8;\nadd.u32 %r8, %r8, %r5;\nmul.wide.u32 %rd4, %r8, 4;\nadd.s64 %rd7, %rd2, %rd4;\n"
    "add.s64 %rd7, %rd7, 262144;\n"
    "mov.u32 %r12, ta;\nmov.u32 %r13, tb;\nshl.b32 %r14, %r2, 6;\nshl.b32 %r15, %r1, 2;\n"
    "add.u32 %r10, %r12, %r14;\nadd.u32 %r11, %r13, %r15;\nadd.u32 %r16, %r10, %r15;\nadd.u32 %r17, %r11, %r14;\n"
    "mov.f32 %f1, 0f00000000;\nmov.u32 %r18, 16;\n"
    "LOOP:\n"
    "ld.global.f32 %f4, [%rd6];\nst.shared.f32 [%r16], %f4;\nld.global.f32 %f5, [%rd7];\nst.shared.f32 [%r17], %f5;\n"
    "bar.sync 0;\n"
    GEMM_STEP(0) GEMM_STEP(1) GEMM_STEP(2) GEMM_STEP(3) GEMM_STEP(4) GEMM_STEP(5) GEMM_STEP(6) GEMM_STEP(7)
    GEMM_STEP(8) GEMM_STEP(9) GEMM_STEP(10) GEMM_STEP(11) GEMM_STEP(12) GEMM_STEP(13) GEMM_STEP(14) GEMM_STEP(15)
    "bar.sync 0;\nadd.s64 %rd6, %rd6, 64;\nadd.s64 %rd7, %rd7, 16384;\n"
    "sub.u32 %r18, %r18, 1;\nsetp.ne.u32 %p1, %r18, 0;\n@%p1 bra LOOP;\n"
    "END:\nadd.u32 %r8, %r7, %r5;\nmul.wide.u32 %rd4, %r8, 4;\n" STORE("%f1", "f32");

static void gemm_fill(void *in) { fill_floats(in, (size_t)2 * GEMM * GEMM); }
static WITH_FMA void gemm_native(const void *in, void *out)
{
    const float *a = in, *b = a + GEMM * GEMM;
    float *c = out, ta[16][16], tb[16][16], acc[16][16];
    for (int by = 0; by < GEMM; by += 16)
        for (int bx = 0; bx < GEMM; bx += 16) {
            memset(acc, 0, sizeof acc);
            for (int t = 0; t < GEMM; t += 16) {
                for (int y = 0; y < 16; y++)
                    for (int x = 0; x < 16; x++) {
                        ta[y][x] = a[(by + y) * GEMM + t + x];
                        tb[y][x] = b[(t + y) * GEMM + bx + x];
                    }
                for (int y = 0; y < 16; y++)
                    for (int x = 0; x < 16; x++)
                        for (int k = 0; k < 16; k++) acc[y][x] = fmaf(ta[y][k], tb[k][x], acc[y][x]);
            }
            for (int y = 0; y < 16; y++) memcpy(c + (by + y) * GEMM + bx, acc[y], sizeof acc[y]);
        }
}
static void gemm_entered(const void *in, uint64_t *piece)
{
    (void)in;
    piece[0] = piece[2] = (uint64_t)GEMM * GEMM;
    piece[1] = piece[0] * GEMM_TILES;
}

/* -- Divergence: both ways of a branch that depends on data, in each round ----------------------------------------- */

enum { DIV_THREADS = 65536, DIV_ROUNDS = 32 };

static const char div_text[] = HEAD ENTRY POINTERS INDEX
    "add.s64 %rd6, %rd2, %rd4;\nld.global.u32 %r5, [%rd6];\nmov.u32 %r6, 0;\nmov.u32 %r7, 32;\n"
    "LOOP:\n"
    "mad.lo.u32 %r5, %r5, 1664525, 1013904223;\nshr.u32 %r8, %r5, 16;\nand.b32 %r9, %r8, 1;\n"
    "setp.ne.u32 %p1, %r9, 0;\n@%p1 bra ODD;\n"
    "EVEN:\n"
    "add.u32 %r6, %r6, %r8;\nshl.b32 %r10, %r6, 3;\nxor.b32 %r6, %r6, %r10;\nmax.u32 %r6, %r6, %r8;\n"
    "add.u32 %r6, %r6, 7;\nor.b32 %r6, %r6, 1;\nbra MEET;\n"
    "ODD:\n"
    "sub.u32 %r6, %r6, %r8;\nshr.u32 %r10, %r6, 5;\nxor.b32 %r6, %r6, %r10;\nmin.u32 %r6, %r6, %r5;\n"
    "mul.lo.u32 %r6, %r6, 3;\nand.b32 %r6, %r6, 268435455;\n"
    "MEET:\n"
    "sub.u32 %r7, %r7, 1;\nsetp.ne.u32 %p2, %r7, 0;\n@%p2 bra LOOP;\n"
    "END:\n" STORE("%r6", "u32");

static void div_fill(void *in) { fill_words(in, DIV_THREADS); }
static void div_native(const void *in, void *out)
{
    const uint32_t *from = in;
    uint32_t *to = out;
    for (int i = 0; i < DIV_THREADS; i++) {
        uint32_t x = from[i], y = 0;
        for (int j = 0; j < DIV_ROUNDS; j++) {
            x = x * 1664525 + 1013904223;
            uint32_t h = x >> 16;
            if (h & 1) {
                y -= h;
                y ^= y >> 5;
                y = y < x ? y : x;
                y *= 3;
                y &= 268435455;
            } else {
                y += h;
                y ^= y << 3;
                y = y > h ? y : h;
                y += 7;
                y |= 1;
            }
        }
        to[i] = y;
    }
}
static void div_entered(const void *in, uint64_t *piece)
{
    const uint32_t *from = in;
    uint64_t odd = 0;
    for (int i = 0; i < DIV_THREADS; i++) {
        uint32_t x = from[i];
        for (int j = 0; j < DIV_ROUNDS; j++) {
            x = x * 1664525 + 1013904223;
            odd += x >> 16 & 1;
        }
    }
    piece[0] = piece[5] = DIV_THREADS;
    piece[1] = piece[4] = (uint64_t)DIV_THREADS * DIV_ROUNDS;
    piece[2] = piece[1] - odd;
    piece[3] = odd;
}

/* -- Histogram: atomic additions to 256 counters in global memory -------------------------------------------------- */

enum { HIST_THREADS = 16384, HIST_EACH = 16, HIST_BINS = 256 };

static const char hist_text[] = HEAD ENTRY POINTERS INDEX
    "add.s64 %rd6, %rd2, %rd4;\nmov.u32 %r7, 16;\n"
    "LOOP:\n"
    "ld.global.u32 %r5, [%rd6];\nshr.u32 %r8, %r5, 24;\nmul.wide.u32 %rd7, %r8, 4;\nadd.s64 %rd8, %rd1, %rd7;\n"
    "red.global.add.u32 [%rd8], 1;\nadd.s64 %rd6, %rd6, 65536;\n"
    "sub.u32 %r7, %r7, 1;\nsetp.ne.u32 %p1, %r7, 0;\n@%p1 bra LOOP;\n"
    "END:\nret;\n}\n";

static void hist_fill(void *in) { fill_words(in, HIST_THREADS * HIST_EACH); }
static void hist_native(const void *in, void *out)
{
    const uint32_t *from = in;
    uint32_t *to = out;
    memset(to, 0, HIST_BINS * sizeof *to);
    for (int i = 0; i < HIST_THREADS * HIST_EACH; i++) to[from[i] >> 24]++;
}
static void hist_entered(const void *in, uint64_t *piece)
{
    (void)in;
    piece[0] = piece[2] = HIST_THREADS;
    piece[1] = (uint64_t)HIST_THREADS * HIST_EACH;
}

/* -- Mandelbrot set in double precision ---------------------------------------------------------------------------- */

enum { MANDEL = 256, MANDEL_MOST = 128 };

static const char mandel_text[] = HEAD ENTRY POINTERS
    "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "mov.u32 %r6, %ctaid.y;\nmov.u32 %r8, %ntid.y;\nmov.u32 %r9, %tid.y;\nmad.lo.u32 %r10, %r6, %r8, %r9;\n"
    "shl.b32 %r1, %r10, 8;\nadd.u32 %r1, %r1, %r5;\nmul.wide.u32 %rd4, %r1, 4;\n"
    "cvt.rn.f64.u32 %d1, %r5;\ncvt.rn.f64.u32 %d2, %r10;\n"
    "mul.rn.f64 %d1, %d1, 0d3F88000000000000;\nadd.rn.f64 %d1, %d1, 0dC000000000000000;\n"  /* x * 3 / 256 - 2 */
    "mul.rn.f64 %d2, %d2, 0d3F80000000000000;\nadd.rn.f64 %d2, %d2, 0dBFF0000000000000;\n"  /* y * 2 / 256 - 1 */
    "mov.f64 %d3, 0d0000000000000000;\nmov.f64 %d4, 0d0000000000000000;\nmov.u32 %r7, 0;\n"
    "LOOP:\n"
    "mul.rn.f64 %d5, %d3, %d3;\nmul.rn.f64 %d6, %d4, %d4;\nadd.rn.f64 %d7, %d5, %d6;\n"
    "setp.gt.f64 %p1, %d7, 0d4010000000000000;\n@%p1 bra END;\n"
    "STEP:\n"
    "sub.rn.f64 %d8, %d5, %d6;\nmul.rn.f64 %d9, %d3, %d4;\nadd.rn.f64 %d9, %d9, %d9;\n"
    "add.rn.f64 %d3, %d8, %d1;\nadd.rn.f64 %d4, %d9, %d2;\n"
    "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, 128;\n@%p2 bra LOOP;\n"
    "END:\n" STORE("%r7", "u32");

static void mandel_fill(void *in) { (void)in; }
static void mandel_native(const void *in, void *out)
{
    uint32_t *to = out;
    (void)in;
    for (int y = 0; y < MANDEL; y++)
        for (int x = 0; x < MANDEL; x++) {
            double cr = x * (3.0 / 256) - 2, ci = y * (2.0 / 256) - 1, r = 0, i = 0;
            uint32_t n = 0;
            while (n < MANDEL_MOST) {
                double rr = r * r, ii = i * i;
                if (rr + ii > 4) break;
                double ri = r * i;
                r = rr - ii + cr;
                i = ri + ri + ci;
                n++;
            }
            to[y * MANDEL + x] = n;
        }
}
static void mandel_entered(const void *in, uint64_t *piece)
{
    static uint32_t count[MANDEL * MANDEL];
    mandel_native(in, count);
    piece[0] = piece[3] = MANDEL * MANDEL;
    for (int i = 0; i < MANDEL * MANDEL; i++) {
        piece[1] += count[i] + (count[i] < MANDEL_MOST);
        piece[2] += count[i];
    }
}

/* -- Running ------------------------------------------------------------------------------------------------------- */

static const kernel kernels[] = {
    { "ialu", int_text, { 256, 1 }, { 256, 1 }, INT_THREADS * 4, INT_THREADS * 4, int_fill, int_native, int_entered },
    { "fma", fma_text, { 256, 1 }, { 256, 1 }, FMA_THREADS * 4, FMA_THREADS * 4, fma_fill, fma_native, fma_entered },
    { "triad", triad_text, { 1024, 1 }, { 256, 1 }, TRIAD * 8, TRIAD * 4, triad_fill, triad_native, triad_entered },
    { "gemm", gemm_text, { 16, 16 }, { 16, 16 }, GEMM * GEMM * 8, GEMM * GEMM * 4, gemm_fill, gemm_native,
      gemm_entered },
    { "diverge", div_text, { 256, 1 }, { 256, 1 }, DIV_THREADS * 4, DIV_THREADS * 4, div_fill, div_native,
      div_entered },
    { "histogram", hist_text, { 64, 1 }, { 256, 1 }, HIST_THREADS * HIST_EACH * 4, HIST_BINS * 4, hist_fill,
      hist_native, hist_entered },
    { "mandelbrot", mandel_text, { 16, 16 }, { 16, 16 }, 4, MANDEL * MANDEL * 4, mandel_fill, mandel_native,
      mandel_entered },
};

/* Instructions of the text's pieces, times the threads that enter them. */
static double instructions(const char *text, const uint64_t *entered)
{
    double sum = 0;
    int piece = 0;
    for (const char *line = strchr(text, '{') + 2; *line; line += strcspn(line, "\n") + 1) {
        size_t n = strcspn(line, "\n");
        if (line[n - 1] == ':') piece++;
        else if (*line != '.' && *line != '}') sum += (double)entered[piece];
    }
    return sum;
}

typedef struct running {
    const sim_bench *b;
    const kernel *k;
    sim_bench_code code;
    CUdeviceptr in, out;
    void *host_in, *host_out, *found;
} running;

static void on_device(void *user)
{
    running *r = user;
    void *params[] = { &r->out, &r->in };
    sim_bench_launch(r->b, r->code.kernel, r->k->grid, r->k->block, params);
}

static void on_host(void *user)
{
    running *r = user;
    r->k->native(r->host_in, r->host_out);
}

static bool start(const sim_bench *b, const kernel *k, running *r)
{
    char log[2000];
    *r = (running){ .b = b, .k = k, .host_in = malloc(k->in), .host_out = malloc(k->out), .found = malloc(k->out) };
    if (!r->host_in || !r->host_out || !r->found) return fprintf(stderr, "sim: no memory\n"), false;
    if (!sim_bench_load(b, k->text, "k", &r->code, log, sizeof log))
        return fprintf(stderr, "sim: %s: %s\n", k->name, log), false;
    k->fill(r->host_in);
    sim_bench_check(b->cuMemAlloc_v2(&r->in, k->in), "cuMemAlloc");
    sim_bench_check(b->cuMemAlloc_v2(&r->out, k->out), "cuMemAlloc");
    sim_bench_check(b->cuMemcpyHtoD_v2(r->in, r->host_in, k->in), "cuMemcpyHtoD");
    sim_bench_check(b->cuMemsetD8_v2(r->out, 0, k->out), "cuMemsetD8");
    on_device(r);
    on_host(r);
    sim_bench_check(b->cuMemcpyDtoH_v2(r->found, r->out, k->out), "cuMemcpyDtoH");
    if (!memcmp(r->found, r->host_out, k->out)) return true;
    fprintf(stderr, "sim: the results of %s differ from the loop in C\n", k->name);
    return false;
}

static void stop(running *r)
{
    if (r->in) r->b->cuMemFree_v2(r->in);
    if (r->out) r->b->cuMemFree_v2(r->out);
    if (r->code.module) r->b->cuModuleUnload(r->code.module);
    free(r->host_in);
    free(r->host_out);
    free(r->found);
}

bool sim_bench_kernels(const sim_bench *b)
{
    bool good = true;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const kernel *k = &kernels[i];
        uint64_t entered[PIECES] = { 0 };
        running r;
        if (b->only && strncmp(k->name, b->only, strlen(b->only))) continue;
        if (start(b, k, &r)) {
            k->entered(r.host_in, entered);
            double device = sim_bench_best(b, on_device, &r), native = sim_bench_best(b, on_host, &r);
            sim_bench_report("kernel", k->name, "rate", instructions(k->text, entered) / device * 1e-9, "G/s");
            sim_bench_report("kernel", k->name, "ms", device * 1e3, "ms");
            sim_bench_report("kernel", k->name, "over_c", device / native, "ratio");
        } else good = false;
        stop(&r);
    }
    return good;
}

bool sim_bench_scaling(const sim_bench *b, double *wall, double *processor)
{
    kernel k = kernels[0];
    running r;
    k.grid[1] = 4;       /* four times the same work: 220 M instructions */
    bool good = start(b, &k, &r);
    *wall = *processor = 1e30;
    for (int i = 0; good && i < 15; i++) {
        double w = sim_bench_wall(), p = sim_bench_cpu();
        on_device(&r);
        p = sim_bench_cpu() - p;
        w = sim_bench_wall() - w;
        if (w < *wall) *wall = w;
        if (p < *processor) *processor = p;
    }
    stop(&r);
    return good;
}
