/* A barrier of the whole grid: every block sees what all the others wrote before it, many times in a launch, and in
 * launch after launch with the same state. */
#include "tests/tap.h"

#include <cujit/cujit.h>

enum { ROUNDS = 6, MOST = 4 * 4 * 2 };

/* Each block writes the round to its place, and behind the barrier counts the places that have it. The second barrier
 * keeps the places as they are until all have counted. */
static cj_ptx *write_module(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val place = cj_param_ptr(f, "place", CJ_U32), wrong = cj_param_ptr(f, "wrong", CJ_U32),
           state = cj_param_ptr(f, "state", CJ_U32);
    cj_val base = cj_param(f, "base", CJ_U32);
    cj_val nx = cj_grid_size(f, CJ_X), ny = cj_grid_size(f, CJ_Y), nz = cj_grid_size(f, CJ_Z);
    cj_val y = cj_mad(f, cj_block_id(f, CJ_Z), ny, cj_block_id(f, CJ_Y));
    cj_val block = cj_mad(f, y, nx, cj_block_id(f, CJ_X)), blocks = cj_mul(f, cj_mul(f, nx, ny), nz);
    cj_val ty = cj_mad(f, cj_thread_id(f, CJ_Z), cj_block_size(f, CJ_Y), cj_thread_id(f, CJ_Y));
    cj_val last = cj_eq(f, cj_or(f, ty, cj_thread_id(f, CJ_X)), 0);
    cj_val r = cj_for(f, 0, ROUNDS, 1);
        cj_val value = cj_add(f, cj_add(f, base, r), 1);
        cj_if(f, last);
            cj_set(f, place, block, value);
        cj_end(f);
        cj_grid_sync(f, state);
        cj_val i = cj_for(f, 0, blocks, 1);
            cj_val seen = cj_def(f, "ld.volatile.global.u32", cj_mem(f, cj_at(f, place, i), 0));
            cj_if(f, cj_ne(f, seen, value));
                cj_ins(f, "red.global.add.u32", cj_mem(f, wrong, 0), 1);
            cj_end(f);
        cj_end(f);
        cj_grid_sync(f, state);
    cj_end(f);
    return m;
}

int main(void)
{
    static const struct { uint32_t grid[3], block[3]; } shapes[] = {
        { { 1, 1, 1 }, { 32, 1, 1 } }, { { 2, 1, 1 }, { 1, 1, 1 } },  { { 7, 1, 1 }, { 64, 1, 1 } },
        { { 4, 4, 2 }, { 4, 3, 2 } },  { { 1, 3, 1 }, { 33, 1, 1 } },
    };
    tap_need_device(1);
    tap_plan(0);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_ptx *m = write_module();
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    if (cj_error_of(k)->status) tap_bail("%s", cj_error_of(k)->message);
    cj_dptr place = cj_alloc(s, 4 * MOST), wrong = cj_alloc(s, 4), state = cj_alloc(s, 4);
    cj_fill32(s, state, 0, 1);
    uint32_t base = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int again = 0; again < 2; again++, base += ROUNDS) {
            uint32_t count = 1, left = 1;
            cj_dims dims = cj_grid3(shapes[i].grid[0], shapes[i].grid[1], shapes[i].grid[2], shapes[i].block[0],
                                    shapes[i].block[1], shapes[i].block[2]);
            dims.cooperative = 1;
            cj_fill32(s, wrong, 0, 1);
            cj_launch(s, k, dims, place, wrong, state, base);
            cj_copy_to_host(s, &count, wrong, 4);
            cj_copy_to_host(s, &left, state, 4);
            if (cj_stream_sync(s) != CJ_OK) tap_bail("%s", cj_error_of(s)->message);
            tap_is_uint(count, 0, "%u x %u x %u blocks, launch %d: all blocks see all places", shapes[i].grid[0],
                        shapes[i].grid[1], shapes[i].grid[2], again + 1);
            tap_is_uint(left & 0x7fffffff, 0, "... and the count is 0 again");
        }
    cj_free(dev, place);
    cj_free(dev, wrong);
    cj_free(dev, state);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
