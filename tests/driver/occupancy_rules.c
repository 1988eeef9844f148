/* The number of blocks on a multiprocessor by the rules of CUDA's occupancy calculator: recorded from cuda_occupancy.h
 * of CUDA 13.0, for each capability that it knows from 7.5 on. */
#include "driver/driver.h"
#include "tests/tap.h"

/* Capability, threads, blocks, shared memory of a multiprocessor, of a block after opting in, what the driver has of
 * each block; registers are the same everywhere. */
static const struct { uint32_t capability, threads, blocks, shared, block_shared, reserved; } devices[] = {
    { 75, 1024, 16, 65536, 65536, 0 },      { 80, 2048, 32, 167936, 166912, 1024 },
    { 86, 1536, 16, 102400, 101376, 1024 }, { 87, 1536, 16, 167936, 166912, 1024 },
    { 89, 1536, 24, 102400, 101376, 1024 }, { 90, 2048, 32, 233472, 232448, 1024 },
    { 100, 2048, 32, 233472, 232448, 1024 }, { 103, 2048, 32, 233472, 232448, 1024 },
    { 110, 1536, 24, 233472, 232448, 1024 }, { 120, 1536, 24, 102400, 101376, 1024 },
};
enum { DEVICES = sizeof devices / sizeof *devices };

/* Registers of a thread, static and dynamic shared memory, threads of a block; the blocks on each device. */
static const struct { uint32_t registers, fixed, dynamic, threads, blocks[DEVICES]; } rows[] = {
    { 32, 0, 0, 256, { 4, 8, 6, 6, 6, 8, 8, 8, 6, 6 } },
    { 40, 0, 0, 256, { 4, 6, 6, 6, 6, 6, 6, 6, 6, 6 } },
    { 32, 0, 0, 33, { 16, 32, 16, 16, 24, 32, 32, 32, 24, 24 } },
    { 16, 0, 0, 32, { 16, 32, 16, 16, 24, 32, 32, 32, 24, 24 } },
    { 64, 0, 0, 512, { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 } },
    { 65, 0, 0, 512, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
    { 128, 0, 0, 512, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
    { 129, 0, 0, 480, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
    { 255, 0, 0, 256, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
    { 255, 0, 0, 257, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
    { 168, 0, 0, 384, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
    { 32, 1, 0, 64, { 16, 32, 16, 16, 24, 32, 32, 32, 24, 24 } },
    { 32, 4096, 3000, 128, { 8, 16, 12, 12, 12, 16, 16, 16, 12, 12 } },
    { 32, 0, 49152, 256, { 1, 3, 2, 3, 2, 4, 4, 4, 4, 2 } },
    { 32, 0, 49153, 256, { 1, 3, 2, 3, 2, 4, 4, 4, 4, 2 } },
    { 32, 1024, 100000, 1024, { 0, 1, 1, 1, 1, 2, 2, 2, 1, 1 } },
    { 72, 16384, 16384, 192, { 2, 4, 3, 4, 3, 4, 4, 4, 4, 3 } },
    { 24, 0, 7000, 96, { 9, 20, 12, 16, 12, 21, 21, 21, 16, 12 } },
    { 96, 0, 0, 672, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
    { 33, 0, 2048, 1024, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
    { 32, 0, 226000, 1024, { 0, 0, 0, 0, 0, 1, 1, 1, 1, 0 } },
};

static const struct { const char *name; uint32_t registers, fixed, dynamic, threads; int limit; } limits[] = {
    { "nothing but small blocks", 16, 0, 0, 32, CJ_OCCUPANCY_BLOCKS },
    { "threads", 32, 0, 0, 1024, CJ_OCCUPANCY_THREADS },
    { "registers", 128, 0, 0, 512, CJ_OCCUPANCY_REGISTERS },
    { "shared memory", 32, 0, 100000, 256, CJ_OCCUPANCY_SHARED },
    { "more threads than a block has", 32, 0, 0, 1025, CJ_OCCUPANCY_THREADS },
};

static cji_sm_limits limits_of(int i)
{
    return (cji_sm_limits){ .capability = devices[i].capability,
                            .warp = 32,
                            .threads = devices[i].threads,
                            .blocks = devices[i].blocks,
                            .registers = 65536,
                            .shared = devices[i].shared,
                            .block_threads = 1024,
                            .block_registers = 65536,
                            .block_shared = devices[i].block_shared,
                            .reserved = devices[i].reserved };
}

int main(void)
{
    cj_occupancy o;
    cj_occupancy_defaults(&o);
    tap_plan(0);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int i = 0; i < DEVICES; i++) {
            const cji_sm_limits sm = limits_of(i);
            cji_occupancy_of(&sm, rows[r].registers, rows[r].fixed, rows[r].dynamic, rows[r].threads, &o);
            tap_is_uint(o.blocks, rows[r].blocks[i], "%u registers, %u + %u bytes, %u threads on %u",
                        rows[r].registers, rows[r].fixed, rows[r].dynamic, rows[r].threads, devices[i].capability);
        }
    for (size_t r = 0; r < sizeof limits / sizeof *limits; r++) {
        const cji_sm_limits sm = limits_of(5);
        cji_occupancy_of(&sm, limits[r].registers, limits[r].fixed, limits[r].dynamic, limits[r].threads, &o);
        tap_is_int(o.limit, limits[r].limit, "the limit: %s", limits[r].name);
    }
    return tap_done();
}
