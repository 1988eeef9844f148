/* What a launch of a product of libcujit-kernels takes on the host, beside cj_launch of an empty kernel with as many
 * bytes of arguments, and beside the driver's bare encodings of its three tensor maps.
 *
 * products.launch_us      cj_gemm_launch with the memory of the launch before
 * products.peer_us        cj_launch
 * products.launch_ratio   the one over the other
 * products.moved_us       cj_gemm_launch with other memory than in the launches before
 * products.encode_us      three calls of cuTensorMapEncodeTiled
 * products.moved_ratio    what is above 1.1 of cj_launch in a launch with other memory, over these calls
 *
 * Medians over rounds, which measure all four in turn.  The stream is empty when a block of launches begins, and its
 * queue does not fill. */
#include <stdio.h>
#include <string.h>

#include <cujit/kernels.h>

#include "bench/driver_bench.h"

enum { ROUNDS = 31, LAUNCHES = 128, SIM_ROUNDS = 5, SIM_LAUNCHES = 16, SIDE = 64, MOVES = 256, STEP = 256 };

typedef struct product_bench {
    driver_bench *b;
    cj_stream *s;
    cj_gemm *g;
    cj_kernel *peer;
    cj_tensor_map map[3];
    cj_dptr a, w, out;      /* room for matrices at MOVES places */
    unsigned launches, turn;
} product_bench;

static cj_gemm_args product_args(const product_bench *p, unsigned turn)
{
    const int64_t at = (int64_t)(turn % MOVES) * STEP;
    return (cj_gemm_args){ .a = { cj_offset(p->a, at), 0, 0 }, .b = { cj_offset(p->w, at), 1, SIDE },
                           .out = { cj_offset(p->out, at), 0, 0 }, .m = SIDE, .n = SIDE, .k = SIDE };
}

static void same_memory(product_bench *p)
{
    const cj_gemm_args args = product_args(p, 0);
    for (unsigned i = 0; i < p->launches; i++) cj_gemm_launch(p->s, p->g, &args);
}

static void other_memory(product_bench *p)
{
    for (unsigned i = 0; i < p->launches; i++) {
        const cj_gemm_args args = product_args(p, p->turn++);
        cj_gemm_launch(p->s, p->g, &args);
    }
}

static void peer_launches(product_bench *p)
{
    for (unsigned i = 0; i < p->launches; i++)
        cj_launch(p->s, p->peer, cj_grid(1, 384), p->a, SIDE, 1, p->w, 1, SIDE, p->out, SIDE, 1, SIDE, SIDE, SIDE, 1u,
                  0, 0, 0, cj_arg_tensor_map(&p->map[0]), cj_arg_tensor_map(&p->map[1]), cj_arg_tensor_map(&p->map[2]),
                  1u);
}

/* As the product has them: planes of rows of 128 bytes. */
static void bare_encodings(product_bench *p)
{
    const cj_dptr data[] = { p->a, p->w, p->out };
    const cuuint64_t extent[] = { SIDE, SIDE, 1 }, stride[] = { 2 * SIDE, 2 * SIDE };
    const cuuint32_t tile[] = { SIDE, SIDE, 1 }, step[] = { 1, 1, 1 };
    const CUtensorMapDataType type = (CUtensorMapDataType)CJ_TENSOR_MAP_BF16;
    const CUtensorMapSwizzle swizzle = (CUtensorMapSwizzle)CJ_SWIZZLE_128B;
    const CUtensorMapL2promotion l2 = (CUtensorMapL2promotion)CJ_TENSOR_MAP_L2_128B;
    CUtensorMap map __attribute__((aligned(64)));
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; i < p->launches * 3 && r == CUDA_SUCCESS; i++)
        r = p->b->cu.cuTensorMapEncodeTiled(&map, type, 3, (void *)(uintptr_t)data[i % 3].addr, extent, stride, tile,
                                            step, (CUtensorMapInterleave)0, swizzle, l2, (CUtensorMapFloatOOBfill)0);
    driver_need_raw(p->b, r, "cuTensorMapEncodeTiled");
}

static const struct { const char *name; void (*run)(product_bench *p); } sides[] = {
    { "products.launch_us", same_memory },
    { "products.peer_us", peer_launches },
    { "products.moved_us", other_memory },
    { "products.encode_us", bare_encodings },
};
enum { SIDES = sizeof sides / sizeof *sides };

static double side_us(product_bench *p, int side)
{
    sides[side].run(p); /* the first launches of a kind */
    driver_need(p->b, cj_stream_sync(p->s));
    const double t = driver_clock_us(p->b);
    sides[side].run(p);
    const double us = (driver_clock_us(p->b) - t) / p->launches;
    driver_need(p->b, cj_stream_sync(p->s));
    return us;
}

/* An empty kernel with the parameters of a product on path wgmma. */
static cj_kernel *peer_kernel(driver_bench *b)
{
    char name[20];
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "peer");
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "p%d", i);
        if (i < 9 && i % 3 == 0) cj_param_ptr(f, name, CJ_BF16);
        else if (i >= 16 && i < 19) cj_param_tensor_map(f, name);
        else cj_param(f, name, i < 9 || (i > 12 && i < 16) ? CJ_S64 : CJ_U32);
    }
    cj_kernel *k = cj_kernel_load(b->dev, m, "peer", NULL);
    driver_need_object(b, k);
    cj_ptx_free(m);
    return k;
}

static void report_products(product_bench *p, double us[SIDES][ROUNDS], size_t rounds)
{
    double median[SIDES];
    for (int i = 0; i < SIDES; i++) {
        median[i] = bench_median(us[i], rounds);
        driver_report(p->b, sides[i].name, median[i], "us");
    }
    driver_report(p->b, "products.launch_ratio", median[0] / median[1], "ratio");
    driver_report(p->b, "products.moved_ratio", (median[2] - 1.1 * median[1]) / median[3], "ratio");
}

void driver_products(driver_bench *b)
{
    const size_t bytes = SIDE * SIDE * 2 + MOVES * STEP;
    const int rounds = b->gpu ? ROUNDS : SIM_ROUNDS;
    double us[SIDES][ROUNDS];
    product_bench p = { .b = b, .s = cj_stream_create(b->dev, NULL), .launches = b->gpu ? LAUNCHES : SIM_LAUNCHES };
    cj_dptr *const all[] = { &p.a, &p.w, &p.out };
    for (int i = 0; i < 3; i++) {
        *all[i] = cj_alloc(p.s, bytes);
        cj_fill32(p.s, *all[i], 0, bytes / 4);
    }
    p.g = cj_gemm_create(b->dev, CJ_GEMM(.type = CJ_BF16, .path = CJ_GEMM_WGMMA, .m = SIDE, .n = SIDE, .k = SIDE,
                                         .a_order = CJ_GEMM_ORDER_ROWS, .b_order = CJ_GEMM_ORDER_COLUMNS));
    p.peer = peer_kernel(b);
    driver_need(b, cj_stream_sync(p.s));
    driver_need_object(b, p.g);
    for (int round = 0; round < rounds && !b->failed; round++)
        for (int i = 0; i < SIDES; i++) us[(round + i) % SIDES][round] = side_us(&p, (round + i) % SIDES);
    if (!b->failed) report_products(&p, us, (size_t)rounds);
    cj_gemm_free(p.g);
    cj_kernel_free(p.peer);
    for (int i = 0; i < 3; i++) cj_free(b->dev, *all[i]);
    cj_stream_free(p.s);
}
