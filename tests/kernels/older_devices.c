/* Devices older than sm_80 have no instructions that round to bf16, nor to pairs of f16: all kernels run there all the
 * same, with the same results.  A process for each device: the CPU device reads its settings once. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cujit/kernels.h>

#include "tests/tap.h"
#include "tests/tap_run.h"

enum { MOST = 4096, SAID = 2000 };

static cj_device *dev;
static cj_stream *s;
static char said[SAID];

static void complain(const char *what, const char *why)
{
    size_t n = strlen(said);
    snprintf(said + n, sizeof said - n, "%s: %s\n", what, why);
}

/* Whether the object is there and the launch succeeded. */
static bool worked(const char *what, const void *object, cj_status launched)
{
    const cj_error *e = cj_error_of(object);
    if (e->status == CJ_OK && launched == CJ_OK && cj_stream_sync(s) == CJ_OK) return true;
    complain(what, e->status != CJ_OK ? e->message : cj_error_of(s)->message);
    cj_stream_sync(s);
    return false;
}

/* -- Elements of 16 bits ------------------------------------------------------------------------------------------- */

static uint16_t bf16_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return isnan(x) ? 0x7fff : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* By exact arithmetic: the multiples of a unit beside x, ties to the even one. */
static uint16_t f16_of(float x)
{
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x)) return 0x7fff;
    double a = fabs((double)x);
    int e = -14;
    if (a >= 65520) return sign | 0x7c00;
    while (e < 15 && a >= ldexp(1, e + 1)) e++;
    const uint16_t units = (uint16_t)nearbyint(ldexp(a, 10 - e)); /* 1024 and more are normal */
    return (uint16_t)(sign | (units < 1024 ? units : ((e + 14) << 10) + units));
}

static uint16_t of(cj_type type, float x) { return type == CJ_BF16 ? bf16_of(x) : f16_of(x); }

static cj_dptr numbers(cj_type type, const float *x, size_t n)
{
    static uint16_t half[MOST];
    for (size_t i = 0; i < n && type != CJ_F32; i++) half[i] = of(type, x[i]);
    cj_dptr d = cj_alloc(s, 4 * MOST + 64);
    cj_fill8(s, d, 0xFF, 4 * MOST + 64);
    if (n) cj_copy_to_device(s, d, type == CJ_F32 ? (const void *)x : half, n * (type == CJ_F32 ? 4 : 2));
    cj_stream_sync(s);
    return d;
}

static void expect(const char *what, cj_type type, cj_dptr d, const float *want, size_t n)
{
    static uint16_t got[MOST];
    char why[160];
    cj_copy_to_host(s, got, d, 2 * n);
    if (cj_stream_sync(s) != CJ_OK) {
        complain(what, cj_error_of(s)->message);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (got[i] == of(type, want[i])) continue;
        snprintf(why, sizeof why, "element %zu is 0x%04x, wants 0x%04x (%a)", i, got[i], of(type, want[i]), want[i]);
        complain(what, why);
        return;
    }
}

/* -- Each kernel --------------------------------------------------------------------------------------------------- */

static float bits_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Values whose low bits are around the half of a place, in each exponent; in vectors and one by one. */
static void rounding(cj_type type)
{
    static const uint32_t low[] = { 0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, 0xfff, 0x1000, 0x1001, 0x2fff, 0x3000 };
    float x[MOST];
    size_t n = 0;
    for (uint32_t i = 0; n < MOST; i++)
        x[n++] = bits_float((i * 40503u % 65536) << 16 | low[i % (sizeof low / sizeof *low)]);
    x[0] = INFINITY, x[1] = -INFINITY, x[2] = NAN, x[3] = -0.0f;
    x[4] = bits_float(0x7f7fffff), x[5] = 65519, x[6] = 65520;
    cj_dptr in = numbers(CJ_F32, x, MOST), out = numbers(CJ_F32, x, 0);
    cj_elementwise *k = cj_elementwise_create(dev, CJ_ELEMENTWISE(.inputs = 1, .types = { CJ_F32 }, .out_type = type));
    cj_elementwise_args a = { .in[0].data = in, .out.data = out, .columns = MOST };
    if (worked("rounding in vectors", k, cj_elementwise_launch(s, k, &a)))
        expect("rounding in vectors", type, out, x, MOST);
    a.out.data = cj_offset(out, 2);
    if (worked("rounding", k, cj_elementwise_launch(s, k, &a))) expect("rounding", type, cj_offset(out, 2), x, MOST);
    cj_elementwise_free(k);
    cj_free(dev, in), cj_free(dev, out);
}

static void rows(cj_type type)
{
    enum { N = 256 };
    float ones[N], sums[N], even[N], signs[N], total = N;
    for (int i = 0; i < N; i++) ones[i] = 1, sums[i] = (float)(i + 1), even[i] = 1.0f / N, signs[i] = i % 2 ? -1 : 1;
    cj_dptr x = numbers(type, ones, N), y = numbers(type, signs, N), out = numbers(type, ones, 0);

    cj_reduce *r = cj_reduce_create(dev, CJ_REDUCE(.type = type));
    if (worked("reduce", r, cj_reduce_launch(s, r, &(cj_reduce_args){ .x.data = x, .columns = N, .out = out })))
        expect("reduce", type, out, &total, 1);
    cj_reduce_free(r);
    cj_scan *c = cj_scan_create(dev, CJ_SCAN(.type = type));
    if (worked("scan", c, cj_scan_launch(s, c, &(cj_scan_args){ .x.data = x, .out.data = out, .columns = N })))
        expect("scan", type, out, sums, N);
    cj_scan_free(c);
    cj_argmax *a = cj_argmax_create(dev, CJ_ARGMAX(.type = type));
    worked("argmax", a, cj_argmax_launch(s, a, &(cj_argmax_args){ .x.data = x, .columns = N, .out = out }));
    cj_argmax_free(a);
    for (uint64_t columns = 0; columns <= N; columns += N) { /* open, and known */
        cj_softmax *m = cj_softmax_create(dev, CJ_SOFTMAX(.type = type, .columns = columns));
        const cj_softmax_args m_args = { .x.data = x, .out.data = out, .columns = N };
        if (worked("softmax", m, cj_softmax_launch(s, m, &m_args))) expect("softmax", type, out, even, N);
        cj_softmax_free(m);
        cj_layer_norm *l = cj_layer_norm_create(dev, CJ_LAYER_NORM(.type = type, .eps = 1e-7f, .columns = columns));
        const cj_layer_norm_args l_args = { .x.data = y, .out.data = out, .columns = N };
        if (worked("layer norm", l, cj_layer_norm_launch(s, l, &l_args))) expect("layer norm", type, out, signs, N);
        cj_layer_norm_free(l);
        cj_rms_norm *q = cj_rms_norm_create(dev, CJ_RMS_NORM(.type = type, .eps = 1e-7f, .columns = columns));
        const cj_rms_norm_args q_args = { .x.data = y, .out.data = out, .columns = N };
        if (worked("RMS norm", q, cj_rms_norm_launch(s, q, &q_args))) expect("RMS norm", type, out, signs, N);
        cj_rms_norm_free(q);
    }
    cj_free(dev, x), cj_free(dev, y), cj_free(dev, out);
}

/* With sines of 0 and cosines of 1 a rotation changes nothing; with one key attention is its value. */
static void heads(cj_type type)
{
    enum { DIM = 64, HEADS = 2 };
    float value[DIM * HEADS], ones[DIM], zeros[DIM];
    for (int i = 0; i < DIM * HEADS; i++) value[i] = (float)(i % 97 - 40) / 8;
    for (int i = 0; i < DIM; i++) ones[i] = 1, zeros[i] = 0;
    cj_dptr x = numbers(type, value, DIM * HEADS), cosines = numbers(CJ_F32, ones, DIM / 2),
            sines = numbers(CJ_F32, zeros, DIM / 2), out = numbers(type, value, 0);
    cj_rope *r = cj_rope_create(dev, CJ_ROPE(.type = type, .dim = DIM));
    const cj_rope_args r_args = { .x = x, .out = out, .tokens = 1, .heads = HEADS, .cosines = cosines, .sines = sines };
    if (worked("rope", r, cj_rope_launch(s, r, &r_args))) expect("rope", type, out, value, DIM * HEADS);
    cj_rope_free(r);
    cj_fill8(s, out, 0xFF, 4 * DIM);
    cj_attention *a = cj_attention_create(dev, CJ_ATTENTION(.type = type, .dim = DIM));
    const cj_attention_args a_args = { .q.data = x, .k.data = x, .v.data = x, .out.data = out, .queries = 1, .keys = 1,
                                       .heads = HEADS };
    if (worked("attention", a, cj_attention_launch(s, a, &a_args))) expect("attention", type, out, value, DIM * HEADS);
    cj_attention_free(a);
    cj_free(dev, x), cj_free(dev, cosines), cj_free(dev, sines), cj_free(dev, out);
}

static void products(cj_type type)
{
    enum { M = 9, N = 21, K = 35 };
    float a[M * K], b[K * N], want[M * N] = { 0 }, by_vector[M] = { 0 };
    for (int i = 0; i < M * K; i++) a[i] = (float)(i % 5 - 2);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 3 - 1);
    for (int i = 0; i < M * N * K; i++) want[i / K] += a[i / K / N * K + i % K] * b[i % K * N + i / K % N];
    for (int i = 0; i < M * K; i++) by_vector[i / K] += a[i] * b[i % K];
    cj_dptr da = numbers(type, a, M * K), db = numbers(type, b, K * N), out = numbers(type, a, 0);
    cj_gemm *g = cj_gemm_create(dev, CJ_GEMM(.type = type));
    const cj_gemm_args g_args = { .a.data = da, .b.data = db, .out.data = out, .m = M, .n = N, .k = K };
    if (worked("gemm", g, cj_gemm_launch(s, g, &g_args))) expect("gemm", type, out, want, M * N);
    cj_gemm_free(g);
    cj_gemv *v = cj_gemv_create(dev, CJ_GEMV(.format = type == CJ_F16 ? CJ_GEMV_F16 : CJ_GEMV_BF16, .x_type = type,
                                             .out_type = type));
    const cj_gemv_args v_args = { .matrix = da, .x = db, .out = out, .rows = M, .columns = K };
    if (worked("gemv", v, cj_gemv_launch(s, v, &v_args))) expect("gemv", type, out, by_vector, M);
    cj_gemv_free(v);
    cj_free(dev, da), cj_free(dev, db), cj_free(dev, out);
}

/* In a process of its own: writes what is wrong. */
static int on_this_device(void)
{
    cj_driver *drv = cj_driver_open("sim");
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    for (int i = 0; i < 2; i++) {
        const cj_type type = i ? CJ_BF16 : CJ_F16;
        rounding(type);
        rows(type);
        heads(type);
        products(type);
    }
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    fputs(said, stdout);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const devices[] = { "61", "70", "75", "80" };
    if (argc > 1) return on_this_device();
    tap_plan(2 * sizeof devices / sizeof *devices);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        char setting[32];
        tap_result r;
        snprintf(setting, sizeof setting, "CUJIT_SIM_SM=%s", devices[i]);
        tap_run(&r, (const char *const[]){ argv[0], "here", NULL }, (const char *const[]){ setting, NULL });
        tap_is_int(r.status, 0, "sm_%s: the process ends well: %s", devices[i], r.err);
        tap_is_str(r.out, "", "on sm_%s each kernel has the results of f16 and bf16", devices[i]);
        tap_result_free(&r);
    }
    return tap_done();
}
