/* Rings of stages in shared memory: one warp fills them with copies by threads, three warps read them; each stage is
 * read after it is full and written after it is empty, over many rounds. */
#include "tests/tap.h"

#include <cujit/cujit.h>

enum { LANES = 32, READERS = 3, WORDS = 128, MOST_ROUNDS = 50 };

/* Reader r sums word w of stage i times (i + 1) (r + 1): a stage read too early or too late gives another sum. */
static cj_ptx *write_module(uint32_t stages)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val in = cj_param_ptr(f, "in", CJ_U32), out = cj_param_ptr(f, "out", CJ_U32),
           rounds = cj_param(f, "rounds", CJ_U32);
    cj_val data = cj_shared(f, "data", CJ_U32, (size_t)stages * WORDS), bars = cj_shared(f, "bars", CJ_B64, 2 * stages);
    cj_var_align(f, data, 16);
    cj_val t = cj_thread_id(f, CJ_X), lane = cj_and(f, t, LANES - 1), warp;
    cj_warp_id(f, &warp);
    cj_if(f, cj_eq(f, t, 0));
        cj_ring_init(f, bars, stages, LANES, READERS * LANES);
        cj_mbarrier_init_fence(f);
    cj_end(f);
    cj_block_sync(f);
    cj_ring ring;
    cj_ring_begin(f, bars, stages, &ring);
    cj_if(f, cj_eq(f, warp, 0));
        cj_val from = cj_let(f, CJ_U32, cj_mul(f, lane, 4)), to = cj_mul(f, lane, 16);
        cj_for(f, 0, rounds, 1);
            cj_ring_wait_empty(f, &ring);
            cj_val place = cj_add(f, cj_ring_stage(f, &ring, data, WORDS * 4), to);
            cj_async_copy(f, place, cj_at(f, in, from), 16);
            cj_async_commit(f);
            cj_async_wait(f, 0);
            cj_mbarrier_arrive(f, cj_ring_full(f, &ring));
            cj_ring_next(f, &ring);
            cj_assign(f, from, cj_add(f, from, WORDS));
        cj_end(f);
    cj_else(f);
        cj_val r = cj_sub(f, warp, 1), sum[4];
        for (int i = 0; i < 4; i++) sum[i] = cj_let(f, CJ_U32, cj_imm(f, 0));
        cj_val i = cj_for(f, 0, rounds, 1);
            cj_ring_wait_full(f, &ring);
            cj_val here = cj_add(f, cj_ring_stage(f, &ring, data, WORDS * 4), cj_mul(f, lane, 16));
            cj_val v = cj_regs(f, CJ_U32, 4), factor = cj_mul(f, cj_add(f, i, 1), cj_add(f, r, 1));
            cj_ins(f, "ld.shared.v4.u32", v, cj_mem(f, here, 0));
            for (int k = 0; k < 4; k++) cj_assign(f, sum[k], cj_mad(f, cj_elem(f, v, (size_t)k), factor, sum[k]));
            cj_ring_release(f, &ring, (cj_val){ 0 });
            cj_ring_next(f, &ring);
        cj_end(f);
        cj_val at = cj_mad(f, r, WORDS, cj_mul(f, lane, 4));
        for (int k = 0; k < 4; k++) cj_set(f, out, cj_add(f, at, k), sum[k]);
    cj_end(f);
    return m;
}

static uint32_t word(uint32_t i) { return i * 2654435761u >> 7; }

static void check_ring(cj_device *dev, uint32_t stages, uint32_t rounds)
{
    static uint32_t in[MOST_ROUNDS * WORDS], out[READERS * WORDS];
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_ptx *m = write_module(stages);
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_dptr from = cj_alloc(s, sizeof in), to = cj_alloc(s, sizeof out);
    for (uint32_t i = 0; i < MOST_ROUNDS * WORDS; i++) in[i] = word(i);
    cj_copy_to_device(s, from, in, sizeof in);
    cj_launch(s, k, cj_grid(1, (1 + READERS) * LANES), from, to, rounds);
    cj_copy_to_host(s, out, to, sizeof out);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%u stages: %s", stages, cj_error_of(s)->message);
    unsigned wrong = 0;
    for (uint32_t i = 0; i < READERS * WORDS; i++) {
        uint32_t want = 0;
        for (uint32_t r = 0; r < rounds; r++) want += word(r * WORDS + i % WORDS) * (r + 1) * (i / WORDS + 1);
        wrong += out[i] != want;
    }
    tap_is_uint(wrong, 0, "%u stages, %u rounds: each reader reads each stage once", stages, rounds);
    cj_free(dev, from);
    cj_free(dev, to);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(s);
}

int main(void)
{
    static const uint32_t stages[] = { 1, 2, 3, 4, 7 }, rounds[] = { 1, 2, 7, MOST_ROUNDS };
    tap_need_device(1);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_device_info info = { .size = sizeof info };
    if (cj_device_get_info(dev, &info) != CJ_OK || info.sm_major < 9)
        tap_skip_all("rings wait for mbarriers, which take compute capability 9.0");
    tap_plan(0);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        for (size_t k = 0; k < sizeof rounds / sizeof *rounds; k++) check_ring(dev, stages[i], rounds[k]);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
