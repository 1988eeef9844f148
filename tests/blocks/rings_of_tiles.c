/* Roles of warps around a ring of tiles, as products of matrices have them: one warpgroup starts copies of tiles into
 * the stages, two others compute what is in them and start the copies back. Every element is written once, with its own
 * value; a stage or a result that is used too early gives another one. The CPU device finds a wait that is missing. */
#include "tests/device_bench.h"

enum { COLUMNS = 92, ROWS = 70, PITCH = 96, WIDE = 32, HIGH = 16, PART = HIGH / 2, GROUP = 128, BLOCKS = 2 };
enum { ACROSS = (COLUMNS + WIDE - 1) / WIDE, DOWN = (ROWS + HIGH - 1) / HIGH, BYTES = WIDE * HIGH * 4, TILES =
    (ACROSS * DOWN + BLOCKS - 1) / BLOCKS };

/* A kernel without one of its waits. */
static enum { FORGET_NOTHING, FORGET_FULL, FORGET_READ } forget;

/* Thread `me` of a consumer has two words of each row of 32: out = 3 in + the tile's number. */
static void consume(cj_fn *f, const cj_ring *ring, cj_val stages, cj_val result, cj_val group, cj_val me, cj_val tile)
{
    cj_val row = cj_shr(f, me, 4), two = cj_and(f, me, 15), unit = cj_shr(f, two, 1);
    cj_val in_row = cj_mad(f, cj_sub(f, group, 1), PART, row);
    cj_val at = cj_mad(f, in_row, WIDE * 4, cj_mul(f, cj_xor(f, unit, cj_and(f, in_row, 7)), 16));
    at = cj_add(f, at, cj_mul(f, cj_and(f, two, 1), 8));
    if (forget != FORGET_FULL) cj_ring_wait_full(f, ring);
    cj_val v = cj_regs(f, CJ_U32, 2), from = cj_add(f, cj_ring_stage(f, ring, stages, BYTES), at);
    cj_ins(f, "ld.shared.v2.u32", v, cj_mem(f, from, 0));
    cj_ring_release(f, ring, (cj_val){ 0 });
    for (size_t i = 0; i < 2; i++) cj_assign(f, cj_elem(f, v, i), cj_mad(f, cj_elem(f, v, i), 3, tile));
    if (forget != FORGET_READ) cj_bulk_wait_read_if(f, cj_eq(f, me, 0), 0);
    cj_named_barrier_sync(f, group, cj_imm(f, GROUP));
    cj_val place = cj_add(f, result, cj_mad(f, row, WIDE * 4, cj_mul(f, two, 8)));
    cj_ins(f, "st.shared.v2.u32", cj_mem(f, place, 0), v);
    cj_fence_async_shared(f);
    cj_named_barrier_sync(f, group, cj_imm(f, GROUP));
}

static cj_ptx *write_kernel(uint32_t stages)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val in = cj_param_tensor_map(f, "in"), out = cj_param_tensor_map(f, "out"), group, ring_at, first;
    cj_fn_max_threads(f, 3 * GROUP, 1, 1);
    cj_fn_min_blocks(f, 1);
    cj_val data = cj_shared(f, "data", CJ_U32, (size_t)stages * BYTES / 4), bars = cj_shared(f, "bars", CJ_B64, 2 *
        stages);
    cj_val results = cj_shared(f, "results", CJ_U32, WIDE * HIGH);
    cj_var_align(f, data, 1024);
    cj_var_align(f, results, 128);
    cj_val me = cj_and(f, cj_thread_id(f, CJ_X), GROUP - 1);
    cj_warpgroup_id(f, &group);
    first = cj_eq(f, cj_thread_id(f, CJ_X), 0);
    cj_if(f, first);
        cj_ring_init(f, bars, stages, 1, 2 * GROUP);
        cj_mbarrier_init_fence(f);
        cj_tma_prefetch(f, in);
    cj_end(f);
    cj_block_sync(f);
    ring_at = cj_block_id(f, CJ_X);
    cj_ring ring;
    cj_ring_begin(f, bars, stages, &ring);
    cj_role_fewer(f, group, 0, 1, 40);
        cj_if(f, first);
            cj_val tile = cj_for(f, ring_at, ACROSS * DOWN, BLOCKS);
                cj_val x = cj_mul(f, cj_rem(f, tile, ACROSS), WIDE), y = cj_mul(f, cj_div(f, tile, ACROSS), HIGH);
                cj_ring_wait_empty(f, &ring);
                cj_mbarrier_expect(f, cj_ring_full(f, &ring), BYTES);
                cj_tma_load(f, cj_ring_stage(f, &ring, data, BYTES), in, cj_vec(f, x, y), cj_ring_full(f, &ring));
                cj_ring_next(f, &ring);
            cj_end(f);
        cj_end(f);
    cj_else(f);
    cj_role_more(f, group, 1, 2, 232);
        cj_val result = cj_mad(f, cj_sub(f, group, 1), WIDE * PART * 4, results), lead = cj_eq(f, me, 0);
        tile = cj_for(f, ring_at, ACROSS * DOWN, BLOCKS);
            consume(f, &ring, data, result, group, me, tile);
            x = cj_mul(f, cj_rem(f, tile, ACROSS), WIDE);
            y = cj_mad(f, cj_div(f, tile, ACROSS), HIGH, cj_mul(f, cj_sub(f, group, 1), PART));
            cj_tma_store_if(f, lead, out, cj_vec(f, x, y), result);
            cj_bulk_commit_if(f, lead);
            cj_ring_next(f, &ring);
        cj_end(f);
        cj_bulk_wait_if(f, lead, 0);
    cj_end(f);
    cj_end(f);
    return m;
}

static void make_map(cj_dptr at, uint32_t rows, cj_swizzle swizzle, cj_tensor_map *map)
{
    cj_tensor_map_opts o;
    cj_tensor_map_defaults(&o);
    o.type = CJ_TENSOR_MAP_U32, o.dims = 2, o.address = at, o.swizzle = (int32_t)swizzle;
    o.extent[0] = COLUMNS, o.extent[1] = ROWS, o.stride[0] = PITCH * 4, o.tile[0] = WIDE, o.tile[1] = rows;
    if (cj_tensor_map_tiled(dev, &o, map) != CJ_OK) tap_bail("%s", cj_error_of(dev)->message);
}

static uint32_t in[ROWS * PITCH], out[ROWS * PITCH];

static unsigned run_ring(uint32_t stages)
{
    cj_dptr to = cj_offset(d, sizeof in);
    cj_tensor_map a, b;
    cj_ptx *m = write_kernel(stages);
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    unsigned wrong = 0;
    if (!k) tap_bail("%s", cj_error_of(dev)->message);
    make_map(d, HIGH, CJ_SWIZZLE_128B, &a);
    make_map(to, PART, CJ_SWIZZLE_NONE, &b);
    for (uint32_t i = 0; i < ROWS * PITCH; i++) in[i] = i * 2654435761u;
    cj_copy_to_device(s, d, in, sizeof in);
    cj_fill32(s, to, 7, ROWS * PITCH);
    cj_launch(s, k, cj_grid(BLOCKS, 3 * GROUP), cj_arg_tensor_map(&a), cj_arg_tensor_map(&b));
    cj_copy_to_host(s, out, to, sizeof out);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%u stages: %s", stages, cj_error_of(s)->message);
    for (uint32_t y = 0; y < ROWS; y++)
        for (uint32_t x = 0; x < PITCH; x++) {
            uint32_t want = x < COLUMNS ? 3 * in[y * PITCH + x] + y / HIGH * ACROSS + x / WIDE : 7;
            wrong += out[y * PITCH + x] != want;
        }
    cj_kernel_free(k);
    cj_ptx_free(m);
    return wrong;
}

int main(void)
{
    static const uint32_t stages[] = { 1, 2, 3, 5 };
    cj_device_info info = { .size = sizeof info };
    bench_open(2 * sizeof in);
    if (cj_device_get_info(dev, &info) != CJ_OK || info.sm_major != 9) {
        tap_skip(1, "setmaxnreg takes compute capability 9.0");
        return bench_close();
    }
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        tap_is_uint(run_ring(stages[i]), 0, "%u stages: each element once, nothing outside", stages[i]);
    if (tap_on_gpu()) return bench_close();
    forget = FORGET_FULL;
    tap_ok(run_ring(TILES) > 0, "a stage that is read without a wait");
    forget = FORGET_READ;
    tap_ok(run_ring(3) > 0, "a result that is overwritten without a wait");
    return bench_close();
}
