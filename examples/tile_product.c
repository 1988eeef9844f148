/* A product of matrices by tensor cores, the way of docs/kernels.md's walk: tensor maps bring tiles to a ring of
 * stages, wgmma multiplies them.  D = A * B', of f16, summed in f32; A is m x k, B is n x k, rows one behind the other.
 * It needs sm_90a; the CPU device has it. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <string.h>

enum {
    M = 200, N = 136, K = 328,               /* K: a multiple of 8, so that rows begin at multiples of 16 bytes */
    ROWS = 128, COLUMNS = 128, DEPTH = 64,   /* a tile, and the k of a stage: 128 bytes */
    STAGES = 4, A_BYTES = ROWS * 128, B_BYTES = COLUMNS * 128, STAGE_BYTES = A_BYTES + B_BYTES,
    SHARED = STAGES * STAGE_BYTES + 16 * STAGES + 1024, /* stages, mbarriers, what rounding up takes */
    THREADS = 384, CONSUMER_WARPS = 8
};

typedef struct tile_kernel {
    cj_val a_map, b_map, d, m, n, rounds;    /* parameters; stages of a tile */
    cj_val stages, barriers, row, column;    /* in shared memory; the tile's first element */
} tile_kernel;

/* One thread fills the ring. */
static void produce(cj_fn *f, const tile_kernel *t)
{
    cj_ring ring;
    cj_if(f, cj_eq(f, cj_thread_id(f, CJ_X), 0));
        cj_ring_begin(f, t->barriers, STAGES, &ring);
        cj_val round = cj_for(f, 0, t->rounds, 1);
            cj_val k = cj_bits(f, CJ_S32, cj_mul(f, round, DEPTH));
            cj_ring_wait_empty(f, &ring);
            cj_val full = cj_ring_full(f, &ring), a = cj_ring_stage(f, &ring, t->stages, cj_imm(f, STAGE_BYTES));
            cj_mbarrier_expect(f, full, cj_imm(f, STAGE_BYTES));
            cj_tma_load(f, a, t->a_map, cj_vec(f, k, cj_bits(f, CJ_S32, t->row)), full);
            cj_tma_load(f, cj_add(f, a, A_BYTES), t->b_map, cj_vec(f, k, cj_bits(f, CJ_S32, t->column)), full);
            cj_ring_next(f, &ring);
        cj_end(f);
    cj_end(f);
}

/* A warpgroup multiplies 64 rows of the tile, and stores them. */
static void consume(cj_fn *f, const tile_kernel *t, cj_val warpgroup)
{
    const cj_wgmma_shape shape = { .n = COLUMNS, .a = CJ_MMA_F16, .b = CJ_MMA_F16, .d = CJ_MMA_F32 };
    cj_val sums = cj_wgmma_accumulators(f, &shape), row, column;
    cj_val own = cj_mul(f, cj_sub(f, warpgroup, 1), 64), lane = cj_and(f, cj_thread_id(f, CJ_X), 31);
    cj_ring ring;
    cj_ring_begin(f, t->barriers, STAGES, &ring);
    cj_assign_all(f, sums, cj_imm(f, 0.0f));
    cj_val before = cj_let(f, CJ_U32, 0);
    cj_val round = cj_for(f, 0, t->rounds, 1);
        cj_wgmma_matrix a, b;
        cj_val stage = cj_ring_stage(f, &ring, t->stages, cj_imm(f, STAGE_BYTES));
        cj_wgmma_matrix_begin(f, cj_mad(f, own, 128, stage), 16, 1024, CJ_SWIZZLE_128B, &a);
        cj_wgmma_matrix_begin(f, cj_add(f, stage, A_BYTES), 16, 1024, CJ_SWIZZLE_128B, &b);
        cj_ring_wait_full(f, &ring);
        cj_wgmma_fence(f);
        for (int step = 0; step < DEPTH / 16; step++) {
            cj_val left = cj_wgmma_operand(f, &a, cj_imm(f, 32 * step));
            cj_val right = cj_wgmma_operand(f, &b, cj_imm(f, 32 * step));
            cj_wgmma(f, &shape, sums, left, right, cj_imm(f, 1));
        }
        cj_wgmma_commit(f);
        cj_wgmma_wait(f, 1);                 /* the stage before has been read: the producer may have it back */
        cj_val releases = cj_and(f, cj_eq(f, lane, 0), cj_gt(f, round, 0));
        cj_ring_release_if(f, releases, &ring, before);
        cj_assign(f, before, ring.index);
        cj_ring_next(f, &ring);
    cj_end(f);
    cj_wgmma_wait(f, 0);
    cj_wgmma_acc_position(f, &row, &column);
    cj_val first = cj_add(f, cj_add(f, row, own), t->row);
    for (unsigned i = 0; i < COLUMNS / 2; i++) {
        cj_val r = cj_add(f, first, cj_acc_row(i));
        cj_val c = cj_add(f, cj_add(f, column, cj_acc_column(i)), t->column);
        cj_if(f, cj_and(f, cj_lt(f, r, t->m), cj_lt(f, c, t->n)));
            cj_set(f, t->d, cj_mad(f, r, t->n, c), cj_elem(f, sums, i));
        cj_end(f);
    }
}

static cj_ptx *build(void)
{
    cj_ptx *module = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(module, "tile_product");
    tile_kernel t = { .a_map = cj_param_tensor_map(f, "a_map"), .b_map = cj_param_tensor_map(f, "b_map") };
    cj_val warpgroup;
    t.d = cj_param_ptr(f, "d", CJ_F32);
    t.m = cj_param(f, "m", CJ_U32), t.n = cj_param(f, "n", CJ_U32), t.rounds = cj_param(f, "rounds", CJ_U32);
    cj_fn_max_threads(f, THREADS, 1, 1);
    cj_val start = cj_addr(f, cj_shared_dynamic(f, "stages", CJ_B32, 1024));
    t.stages = cj_and(f, cj_add(f, start, 1023), ~1023u); /* the swizzle's pattern is a function of the address */
    t.barriers = cj_add(f, t.stages, STAGES * STAGE_BYTES);
    t.row = cj_mul(f, cj_block_id(f, CJ_X), ROWS), t.column = cj_mul(f, cj_block_id(f, CJ_Y), COLUMNS);
    cj_warpgroup_id(f, &warpgroup);
    cj_if(f, cj_eq(f, cj_thread_id(f, CJ_X), 0));
        cj_ring_init(f, t.barriers, STAGES, cj_imm(f, 1), cj_imm(f, CONSUMER_WARPS));
        cj_mbarrier_init_fence(f);
    cj_end(f);
    cj_block_sync(f);
    cj_if(f, cj_eq(f, warpgroup, 0));
        produce(f, &t);
    cj_else(f);
        consume(f, &t, warpgroup);
    cj_end(f);
    return module;
}

/* Elements are small whole numbers, so all sums are exact. */
static int element(int row, int k) { return (row * 7 + k * 5) % 9 - 4; }

/* An f16 with the value of a whole number from -4 to 4. */
static uint16_t half(int x)
{
    static const uint16_t bits[] = { 0, 0x3c00, 0x4000, 0x4200, 0x4400 };
    return x < 0 ? bits[-x] | 0x8000 : bits[x];
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: tile_product\n"
                    "Multiplies two matrices of f16 by tensor maps and wgmma, and compares with plain C."), 0;
    static uint16_t a[M * K], b[N * K];
    static float d[M * N];
    for (int i = 0; i < M * K; i++) a[i] = half(element(i / K, i % K));
    for (int i = 0; i < N * K; i++) b[i] = half(element(i / K + 3, i % K));
    cj_ptx *module = build();
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_device_info info = { .size = sizeof info };
    if (cj_device_get_info(dev, &info) == CJ_OK && info.sm_major != 9)
        return printf("%s has no wgmma\n", cj_device_name(dev)), 0;
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, module, "tile_product", NULL);
    cj_dptr da = cj_alloc(s, sizeof a), db = cj_alloc(s, sizeof b), dd = cj_alloc(s, sizeof d);
    cj_copy_to_device(s, da, a, sizeof a);
    cj_copy_to_device(s, db, b, sizeof b);
    cj_tensor_map a_map, b_map;
    cj_tensor_map_tiled(dev, CJ_TENSOR_MAP(.type = CJ_TENSOR_MAP_F16, .dims = 2, .address = da, .extent = { K, M },
                                           .stride = { 2 * K }, .tile = { DEPTH, ROWS },
                                           .swizzle = CJ_SWIZZLE_128B), &a_map);
    cj_tensor_map_tiled(dev, CJ_TENSOR_MAP(.type = CJ_TENSOR_MAP_F16, .dims = 2, .address = db, .extent = { K, N },
                                           .stride = { 2 * K }, .tile = { DEPTH, COLUMNS },
                                           .swizzle = CJ_SWIZZLE_128B), &b_map);
    if (cj_error_of(dev)->status != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(dev)->message), 1;
    const cj_dims grid = cj_grid3((M + ROWS - 1) / ROWS, (N + COLUMNS - 1) / COLUMNS, 1, THREADS, 1, 1);
    cj_launch(s, k, cj_dims_shared(grid, SHARED), cj_arg_tensor_map(&a_map), cj_arg_tensor_map(&b_map), dd, M, N,
              (K + DEPTH - 1) / DEPTH);
    cj_copy_to_host(s, d, dd, sizeof d);
    if (cj_stream_sync(s) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(s)->message), 1;
    int wrong = 0;
    for (int i = 0; i < M * N; i++) {
        int sum = 0;
        for (int j = 0; j < K; j++) sum += element(i / N, j) * element(i % N + 3, j);
        wrong += d[i] != (float)sum;
    }
    printf("%s: %d x %d x %d, %d of %d sums are wrong\n", cj_device_name(dev), M, N, K, wrong, M * N);
    cj_free(dev, da), cj_free(dev, db), cj_free(dev, dd);
    cj_kernel_free(k);
    cj_ptx_free(module);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return wrong != 0;
}
