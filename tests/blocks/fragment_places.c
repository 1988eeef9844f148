/* Where elements of fragments are: the addresses and positions that threads compute on the device, put through a model
 * of ldmatrix and stmatrix in C, give each register the element that the PTX manual names for it (sections "Matrix
 * Fragments for mma.m16n8k16", "ldmatrix", "stmatrix", "Register Fragments for wgmma"). */
#include <string.h>

#include "tests/tap.h"

#include <cujit/cujit.h>

enum { THREADS = 128, LANES = 32, MOST = 16 * 1024, TILE = 8192 };

/* ---- The device side: a number for each thread and question ------------------------------------------------------ */

static const struct tile_case {
    const char *name;
    uint32_t pitch, column;
    cj_swizzle swizzle;
} tiles[] = {
    { "rows of 32 bytes", 32, 0, CJ_SWIZZLE_NONE },
    { "rows of 48 bytes", 48, 0, CJ_SWIZZLE_NONE },
    { "rows of 144 bytes, byte column 96", 144, 96, CJ_SWIZZLE_NONE },
    { "32-byte swizzle", 32, 0, CJ_SWIZZLE_32B },
    { "64-byte swizzle", 64, 0, CJ_SWIZZLE_64B },
    { "64-byte swizzle, byte column 32", 64, 32, CJ_SWIZZLE_64B },
    { "128-byte swizzle", 128, 0, CJ_SWIZZLE_128B },
    { "128-byte swizzle, byte column 32", 128, 32, CJ_SWIZZLE_128B },
    { "128-byte swizzle, byte column 96", 128, 96, CJ_SWIZZLE_128B },
};
enum { TILES = sizeof tiles / sizeof *tiles, POSITIONS = 4, STORES = 8, ANSWERS = POSITIONS + STORES + 2 * TILES };

static void answer(cj_fn *f, cj_val out, uint32_t at, cj_val v)
{
    cj_set(f, out, cj_mad(f, cj_thread_id(f, CJ_X), ANSWERS, at), v);
}

static cj_ptx *write_module(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val out = cj_param_ptr(f, "out", CJ_U32), row, column;
    uint32_t n = 0;
    cj_mma_acc_position(f, &row, &column);
    answer(f, out, n++, row);
    answer(f, out, n++, column);
    cj_wgmma_acc_position(f, &row, &column);
    answer(f, out, n++, row);
    answer(f, out, n++, column);
    cj_store_tile tile;
    /* an address that is a number in a register: the answers are offsets */
    cj_val zero = cj_let(f, CJ_U32, cj_imm(f, 0));
    cj_store_tile_begin(f, CJ_BF16, zero, &tile);
    for (int i = 0; i < 4; i++) answer(f, out, n++, tile.at[i]);
    cj_store_tile_begin(f, CJ_F32, zero, &tile);
    for (int i = 0; i < 4; i++) answer(f, out, n++, tile.at[i]);
    for (int i = 0; i < TILES; i++) {
        answer(f, out, n++, cj_mma_a_at(f, zero, tiles[i].pitch, tiles[i].column, tiles[i].swizzle));
        answer(f, out, n++, cj_mma_b_at(f, zero, tiles[i].pitch, tiles[i].column, tiles[i].swizzle));
    }
    return m;
}

static uint32_t answers[THREADS][ANSWERS];

static void ask(cj_device *dev)
{
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_ptx *m = write_module();
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_dptr out = cj_alloc(s, sizeof answers);
    cj_launch(s, k, cj_grid(1, THREADS), out);
    cj_copy_to_host(s, answers, out, sizeof answers);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%s", cj_error_of(s)->message);
    cj_free(dev, out);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(s);
}

/* ---- The model --------------------------------------------------------------------------------------------------- */

/* Where byte `byte` of row `row` lies: what a tensor map of that swizzle writes. */
static uint32_t place(uint32_t row, uint32_t byte, uint32_t pitch, cj_swizzle swizzle)
{
    uint32_t at = row * pitch + byte;
    switch (swizzle) {
    case CJ_SWIZZLE_32B: return at ^ (at >> 7 & 1) << 4;
    case CJ_SWIZZLE_64B: return at ^ (at >> 7 & 3) << 4;
    case CJ_SWIZZLE_128B: return at ^ (at >> 7 & 7) << 4;
    default: return at;
    }
}

/* Register `i` of lane `lane` behind ldmatrix.x4: two elements of 16 bits. */
static const uint16_t *loaded(const uint8_t *shared, unsigned question, unsigned i, unsigned lane)
{
    return (const uint16_t *)(const void *)(shared + answers[8 * i + lane / 4][question] + 4 * (lane % 4));
}

static uint16_t element(uint32_t row, uint32_t k) { return (uint16_t)(row << 8 | k); }

static void check_loads(void)
{
    static _Alignas(16) uint8_t shared[MOST];
    for (unsigned t = 0; t < TILES; t++) {
        unsigned question = POSITIONS + STORES + 2 * t, wrong_a = 0, wrong_b = 0;
        const struct tile_case *c = &tiles[t];
        memset(shared, 0xff, sizeof shared);
        for (uint32_t row = 0; row < 16; row++)
            for (uint32_t k = 0; k < c->pitch / 2; k++) {
                uint16_t e = element(row, k);
                memcpy(shared + place(row, 2 * k, c->pitch, c->swizzle), &e, 2);
            }
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned i = 0; i < 4; i++)
                for (unsigned half = 0; half < 2; half++) {
                    uint32_t group = lane / 4, k0 = c->column / 2 + 2 * (lane % 4) + half;
                    /* A: a0 a1 (row, k), a2 a3 (row + 8, k), a4 a5 (row, k + 8), a6 a7 (row + 8, k + 8) */
                    wrong_a +=
                        loaded(shared, question, i, lane)[half] != element(group + 8 * (i & 1), k0 + 8 * (i >> 1));
                    /* B: b0 b1 (k, n), b2 b3 (k + 8, n), then the same of the next 8 columns */
                    wrong_b +=
                        loaded(shared, question + 1, i, lane)[half] != element(group + 8 * (i >> 1), k0 + 8 * (i & 1));
                }
        tap_is_uint(wrong_a, 0, "%s: A's fragments", c->name);
        tap_is_uint(wrong_b, 0, "%s: B's fragments", c->name);
    }
}

static void check_positions(void)
{
    unsigned wrong = 0, seen = 0, elements = 0;
    static uint8_t has[64][256];
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t lane = t % LANES, warp = t / LANES;
        wrong += answers[t][0] != lane / 4 || answers[t][1] != lane % 4 * 2;
        wrong += answers[t][2] != 16 * warp + lane / 4 || answers[t][3] != lane % 4 * 2;
        for (uint32_t i = 0; i < 128; i++) {
            uint32_t row = answers[t][2] + cj_acc_row(i), column = answers[t][3] + cj_acc_column(i);
            if (row < 64 && column < 256) seen += !has[row][column]++;
            elements++;
        }
    }
    tap_is_uint(wrong, 0, "each thread's first accumulator");
    tap_is_uint(elements, 64 * 256, "the accumulators of 64 x 256 elements");
    tap_is_uint(seen, 64 * 256, "... are each of them once");
}

/* ---- Tiles that are stored --------------------------------------------------------------------------------------- */

/* stmatrix.x4 of 16 bits: lane 8 i + r has the address of row r of matrix i; register i of lane l are two elements of
 * row l / 4 of it. cj_store_tile_write gives step q the accumulators 8 q to 8 q + 7 in pairs. */
static void check_store_16(void)
{
    static uint16_t shared[TILE / 2];
    unsigned wrong = 0;
    memset(shared, 0xff, sizeof shared);
    for (uint32_t t = 0; t < THREADS; t++)
        for (uint32_t q = 0; q < 4; q++)
            for (uint32_t i = 0; i < 4; i++) {
                uint32_t lane = t % LANES, first = t - lane, at = answers[first + 8 * i + lane / 4][POSITIONS + q];
                for (uint32_t half = 0; half < 2; half++) {
                    uint32_t acc = 8 * q + 2 * i + half;
                    uint32_t row = answers[t][2] + cj_acc_row(acc), column = answers[t][3] + cj_acc_column(acc);
                    shared[(at + 4 * (lane % 4)) / 2 + half] = (uint16_t)(row << 8 | column);
                }
            }
    for (uint32_t row = 0; row < 64; row++)
        for (uint32_t column = 0; column < 64; column++)
            wrong += shared[place(row, 2 * column, 128, CJ_SWIZZLE_128B) / 2] != (uint16_t)(row << 8 | column);
    tap_is_uint(wrong, 0, "a tile of 64 x 64 elements of 16 bits");
}

static void check_store_32(void)
{
    static uint32_t shared[TILE / 4];
    unsigned wrong = 0;
    memset(shared, 0xff, sizeof shared);
    for (uint32_t t = 0; t < THREADS; t++)
        for (uint32_t q = 0; q < 4; q++)
            for (uint32_t below = 0; below < 2; below++)
                for (uint32_t half = 0; half < 2; half++) {
                    uint32_t acc = 4 * q + 2 * below + half;
                    uint32_t row = answers[t][2] + cj_acc_row(acc), column = answers[t][3] + cj_acc_column(acc);
                    shared[(answers[t][POSITIONS + 4 + q] + 1024 * below) / 4 + half] = row << 8 | column;
                }
    for (uint32_t row = 0; row < 64; row++)
        for (uint32_t column = 0; column < 32; column++)
            wrong += shared[place(row, 4 * column, 128, CJ_SWIZZLE_128B) / 4] != (row << 8 | column);
    tap_is_uint(wrong, 0, "a tile of 64 x 32 elements of 32 bits");
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    ask(dev);
    check_positions();
    check_loads();
    check_store_16();
    check_store_32();
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
