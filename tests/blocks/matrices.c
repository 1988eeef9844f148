/* Products of matrices by tensor cores, against plain C: fragments, accumulators, swizzled tiles and descriptors have
 * the elements that the blocks say. Small integers, so that all sums are exact. And a ring that bulk copies fill. */
#include <string.h>

#include "tests/blocks/matrix_modules.h"
#include "tests/tap.h"

enum { MOST_BYTES = 64 * 1024 };

static cj_device *dev;
static cj_stream *s;

/* ---- Numbers of each type ---------------------------------------------------------------------------------------- */

/* A small integer as an element; -3 to 3, or 0 to 3 for unsigned ones. */
static int number_at(cj_mma_type t, uint32_t i)
{
    int n = (int)(i * 2654435761u >> 13) % 7 - 3;
    return t == CJ_MMA_U8 && n < 0 ? -n : n;
}

static void put_number(uint8_t *at, cj_mma_type t, int n)
{
    static const uint8_t e4m3[] = { 0x00, 0x38, 0x40, 0x44 };
    static const uint16_t f16[] = { 0x0000, 0x3c00, 0x4000, 0x4200 };
    float f = (float)n;
    uint32_t bits;
    unsigned size = n < 0 ? (unsigned)-n : (unsigned)n;
    memcpy(&bits, &f, 4);
    switch (t) {
    case CJ_MMA_F16: bits = f16[size] | (n < 0 ? 0x8000u : 0); break;
    case CJ_MMA_BF16: bits >>= 16; break;
    case CJ_MMA_TF32: break;
    case CJ_MMA_E4M3: bits = e4m3[size] | (n < 0 ? 0x80u : 0); break;
    default: bits = (uint32_t)n; break;
    }
    /* the low bytes, on the little-endian hosts that have GPUs */
    memcpy(at, &bits, matrix_type_bytes(t));
}

/* ---- Running a module -------------------------------------------------------------------------------------------- */

static uint8_t in_a[MOST_BYTES], in_b[MOST_BYTES], out_d[MOST_BYTES], out_tile[TILE_BYTES];

static void run_module(cj_ptx *m, uint32_t threads, bool tile, const char *name)
{
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_dptr a = cj_alloc(s, MOST_BYTES), b = cj_alloc(s, MOST_BYTES), d = cj_alloc(s, MOST_BYTES),
            t = cj_alloc(s, TILE_BYTES);
    memset(out_d, 0xff, sizeof out_d);
    cj_copy_to_device(s, a, in_a, MOST_BYTES);
    cj_copy_to_device(s, b, in_b, MOST_BYTES);
    cj_copy_to_device(s, d, out_d, MOST_BYTES);
    if (tile) cj_launch(s, k, cj_grid(1, threads), a, b, d, t);
    else cj_launch(s, k, cj_grid(1, threads), a, b, d);
    cj_copy_to_host(s, out_d, d, MOST_BYTES);
    cj_copy_to_host(s, out_tile, t, TILE_BYTES);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%s: %s", name, cj_error_of(s)->message);
    cj_free(dev, a);
    cj_free(dev, b);
    cj_free(dev, d);
    cj_free(dev, t);
    cj_kernel_free(k);
    cj_ptx_free(m);
}

/* `rows` rows of `columns` elements; element (r, c) is number_at(t, seed + r * columns + c) */
static void fill(uint8_t *at, cj_mma_type t, uint32_t rows, uint32_t columns, uint32_t seed)
{
    for (uint32_t i = 0; i < rows * columns; i++)
        put_number(at + (size_t)i * matrix_type_bytes(t), t, number_at(t, seed + i));
}

static int sum_of(cj_mma_type a, cj_mma_type b, uint32_t k, uint32_t row, uint32_t column, uint32_t columns_b,
                  bool a_mn, bool b_mn)
{
    int sum = 0;
    for (uint32_t i = 0; i < k; i++) {
        uint32_t at_a = a_mn ? i * WGMMA_ROWS + row : row * k + i;
        /* n contiguous: boxes of 64 columns, each with all k */
        uint32_t at_b = b_mn ? column / 64 * 64 * k + i * 64 + column % 64 : column * k + i;
        sum += number_at(a, at_a) * number_at(b, columns_b + at_b);
    }
    return sum;
}

/* Element i of D as an integer; f16 only as its bits of small integers */
static bool is_number(const uint8_t *at, cj_mma_type t, uint32_t i, int want)
{
    float f;
    int32_t n;
    if (t == CJ_MMA_F16) {
        uint16_t h, wanted = 0;
        memcpy(&h, at + 2 * (size_t)i, 2);
        unsigned size = want < 0 ? (unsigned)-want : (unsigned)want, e = 0;
        while (size >> (e + 1)) e++;
        if (size) wanted = (uint16_t)((e + 15) << 10 | (size << (10 - e) & 0x3ff) | (want < 0 ? 0x8000u : 0));
        return h == wanted || (!want && h == 0x8000);
    }
    memcpy(&n, at + 4 * (size_t)i, 4);
    memcpy(&f, at + 4 * (size_t)i, 4);
    return t == CJ_MMA_S32 ? n == want : f == (float)want;
}

static void check_mma(const struct mma_case *c, uint32_t sm)
{
    const cj_mma_shape *w = &c->shape;
    uint32_t wrong = 0, seed = 1000;
    if (w->a == CJ_MMA_E4M3 && sm < 89) {
        tap_skip(1, "mma.sync of %s wants compute capability 8.9", c->name);
        return;
    }
    fill(in_a, w->a, MMA_ROWS, w->k, 0);
    fill(in_b, w->b, MMA_ROWS, w->k, seed);
    run_module(mma_module(c), 32, false, c->name);
    for (uint32_t i = 0; i < MMA_ROWS * MMA_ROWS; i++)
        wrong += !is_number(out_d, w->d, i, sum_of(w->a, w->b, w->k, i / MMA_ROWS, i % MMA_ROWS, seed, false, false));
    tap_is_uint(wrong, 0, "mma.sync of %s", c->name);
}

static void check_wgmma(const struct wgmma_case *c)
{
    const cj_wgmma_shape *w = &c->shape;
    uint32_t k = ROW_BYTES / matrix_type_bytes(w->a), seed = 100000, wrong = 0;
    fill(in_a, w->a, WGMMA_ROWS, k, 0);
    fill(in_b, w->b, w->n, k, seed);
    run_module(wgmma_module(c), WARPGROUP, true, c->name);
    for (uint32_t i = 0; i < WGMMA_ROWS * w->n; i++)
        wrong += !is_number(out_d, w->d, i, sum_of(w->a, w->b, k, i / w->n, i % w->n, seed, w->a_mn, w->b_mn));
    tap_is_uint(wrong, 0, "wgmma of %s", c->name);
    if (c->tile == CJ_VOID) return;
    wrong = 0;
    uint32_t bytes = c->tile == CJ_BF16 || c->tile == CJ_F16 ? 2 : 4, columns = ROW_BYTES / bytes;
    cj_mma_type type = c->tile == CJ_BF16 ? CJ_MMA_BF16 : c->tile == CJ_F16 ? CJ_MMA_F16 : w->d;
    for (uint32_t row = 0; row < WGMMA_ROWS; row++)
        for (uint32_t column = 0; column < columns; column++) {
            int want = sum_of(w->a, w->b, k, row, column, seed, w->a_mn, w->b_mn);
            uint32_t at = row * ROW_BYTES + column * bytes;
            at ^= (row & 7) << 4;
            if (type == CJ_MMA_BF16) {
                uint8_t element[4] = { 0 }, minus_zero[2] = { 0, 0x80 };
                put_number(element, CJ_MMA_BF16, want);    /* sums below 256 are exact */
                wrong += memcmp(out_tile + at, element, 2) != 0 && (want || memcmp(out_tile + at, minus_zero, 2) != 0);
            } else {
                wrong += !is_number(out_tile + at, type, 0, want);
            }
        }
    tap_is_uint(wrong, 0, "... stored as a tile of %u columns", columns);
}

static void check_bulk(void)
{
    uint32_t wrong = 0, in[BULK_ROUNDS * BULK_WORDS], got;
    for (uint32_t i = 0; i < BULK_ROUNDS * BULK_WORDS; i++) in[i] = i * 2654435761u >> 7;
    memcpy(in_a, in, sizeof in);
    cj_ptx *m = bulk_module();
    cj_kernel *k = cj_kernel_load(dev, m, "bulk_ring", NULL);
    cj_dptr a = cj_alloc(s, MOST_BYTES), d = cj_alloc(s, MOST_BYTES);
    cj_copy_to_device(s, a, in_a, MOST_BYTES);
    cj_launch(s, k, cj_grid(1, 2 * WARPGROUP), a, d);
    cj_copy_to_host(s, out_d, d, MOST_BYTES);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("the ring: %s", cj_error_of(s)->message);
    for (uint32_t i = 0; i < BULK_READERS * BULK_WORDS; i++) {
        uint32_t want = 0;
        for (uint32_t r = 0; r < BULK_ROUNDS; r++)
            want += in[r * BULK_WORDS + i % BULK_WORDS] * (r + 1) * (i / BULK_WORDS + 1);
        memcpy(&got, out_d + 4 * (size_t)i, 4);
        wrong += got != want;
    }
    tap_is_uint(wrong, 0, "a ring that bulk copies fill, %d stages, %d rounds", BULK_STAGES, BULK_ROUNDS);
    cj_free(dev, a);
    cj_free(dev, d);
    cj_kernel_free(k);
    cj_ptx_free(m);
}

int main(void)
{
    tap_need_device(1);
    cj_driver *drv = cj_driver_open(NULL);
    dev = cj_device_open(drv, 0, NULL);
    cj_device_info info = { .size = sizeof info };
    if (cj_device_get_info(dev, &info) != CJ_OK || info.sm_major < 8)
        tap_skip_all("the GPU has no tensor cores of compute capability 8.0");
    tap_plan(0);
    s = cj_stream_create(dev, NULL);
    uint32_t sm = (uint32_t)info.sm_major * 10 + (uint32_t)info.sm_minor;
    for (int i = 0; i < MMA_CASES; i++) check_mma(&mma_cases[i], sm);
    if (info.sm_major == 9) {
        for (int i = 0; i < WGMMA_CASES; i++) check_wgmma(&wgmma_cases[i]);
        if (tap_on_gpu()) check_bulk();
        else tap_skip(1, "the CPU device has no bulk copies");
    } else {
        tap_skip(1, "wgmma wants compute capability 9.0");
    }
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
