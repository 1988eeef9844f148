/* fused_gemm: a layer of a network as one matrix product of libcujit-kernels.  Its end is a function of ours, which is
 * compiled into the product's kernels: y = residual + silu(x * w + bias). */
#include <cujit/kernels.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 100, IN = 96, OUT = 72 };

/* What becomes of a value, which is x * w + bias, before it is stored.  `residual` is an argument of each launch. */
static cj_ptx *build_end(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "silu_and_residual");
    cj_val v = cj_param(f, "v", CJ_F32), row = cj_param(f, "row", CJ_U32), column = cj_param(f, "column", CJ_U32);
    cj_param(f, "batch", CJ_U32);
    cj_val residual = cj_param_ptr(f, "residual", CJ_F32);
    cj_val r = cj_get(f, residual, cj_mad(f, row, OUT, column));
    cj_return_value(f, cj_add(f, r, cj_math_silu(f, v)));
    return m;
}

/* Elements of x and w are small whole numbers. */
static int element(int row, int column) { return (row * 7 + column * 5) % 9 - 4; }

/* An f16 with the value of a whole number from -4 to 4. */
static uint16_t half(int x)
{
    static const uint16_t bits[] = { 0, 0x3c00, 0x4000, 0x4200, 0x4400 };
    return x < 0 ? bits[-x] | 0x8000 : bits[x];
}

static double in_plain_c(int row, int column, float bias, float residual)
{
    double sum = bias;
    for (int i = 0; i < IN; i++) sum += element(row, i) * element(i, column);
    return residual + sum / (1 + exp(-sum));
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: fused_gemm\nA matrix product with a bias, an activation and a residual at its end, beside "
                    "plain C."), 0;
    static uint16_t x[TOKENS * IN], w[IN * OUT];
    static float bias[OUT], residual[TOKENS * OUT], y[TOKENS * OUT];
    for (int i = 0; i < TOKENS * IN; i++) x[i] = half(element(i / IN, i % IN));
    for (int i = 0; i < IN * OUT; i++) w[i] = half(element(i / OUT, i % OUT));
    for (int i = 0; i < OUT; i++) bias[i] = (float)(i % 7) / 8;
    for (int i = 0; i < TOKENS * OUT; i++) residual[i] = (float)(i % 31) / 4;

    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_ptx *end = build_end();
    static const int32_t user_types[] = { CJ_U64 }; /* a pointer */
    cj_gemm *layer = cj_gemm_create(dev, CJ_GEMM(.type = CJ_F16, .out_type = CJ_F32, .bias = 1, .module = end,
                                                 .function = "silu_and_residual", .user_types = user_types,
                                                 .user_count = 1));
    cj_dptr dx = cj_alloc(s, sizeof x), dw = cj_alloc(s, sizeof w), dbias = cj_alloc(s, sizeof bias);
    cj_dptr dresidual = cj_alloc(s, sizeof residual), dy = cj_alloc(s, sizeof y);
    cj_copy_to_device(s, dx, x, sizeof x);
    cj_copy_to_device(s, dw, w, sizeof w);
    cj_copy_to_device(s, dbias, bias, sizeof bias);
    cj_copy_to_device(s, dresidual, residual, sizeof residual);
    const cj_arg user[] = { cj_arg_ptr(dresidual) };
    const cj_gemm_args args = { .a = { .data = dx }, .b = { .data = dw }, .out = { .data = dy }, .m = TOKENS,
                                .n = OUT, .k = IN, .bias = dbias, .user = user, .user_count = 1 };
    cj_gemm_launch(s, layer, &args);
    cj_copy_to_host(s, y, dy, sizeof y);
    if (cj_stream_sync(s) != CJ_OK) return fprintf(stderr, "fused_gemm: %s\n", cj_error_of(s)->message), 1;

    int wrong = 0;
    for (int i = 0; i < TOKENS * OUT; i++) {
        const double want = in_plain_c(i / OUT, i % OUT, bias[i % OUT], residual[i]);
        wrong += !(fabs(y[i] - want) <= 1e-6 * fmax(1, fabs(want)));
    }
    printf("%s: residual + silu(x * w + bias) by one kernel, %d of %d elements differ from plain C's\n",
           cj_device_name(dev), wrong, TOKENS * OUT);
    cj_gemm_free(layer);
    cj_ptx_free(end);
    cj_free(dev, dx), cj_free(dev, dw), cj_free(dev, dbias), cj_free(dev, dresidual), cj_free(dev, dy);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return wrong != 0;
}
