/* Tiles of tensors of 1 to 5 dimensions, of each size of element and with each swizzle, at and beyond each edge: what a
 * load puts into shared memory, byte for byte, and what a store or a reduction changes of the tensor: whole units of 16
 * bytes.  Tiles begin at multiples of 16 bytes, and those of stores not before the tensor: others are illegal
 * instructions (tests/sim/exec_bulk_copies). */
#include <math.h>
#include <string.h>

#include "tests/device_bench.h"

enum { TENSOR = 24 * 1024, TILE = 8 * 1024, THREADS = 128, LOAD = 0, STORE, REDUCE, KINDS };

static const struct tile_case {
    const char *name;
    int type;
    uint32_t dims, extent[5], tile[5], step[5];
    int swizzle;
    int32_t at[5];
} cases[] = {
    { "one dimension", CJ_TENSOR_MAP_F32, 1, { 100 }, { 32 }, { 0 }, 0, { 8 } },
    { "one dimension, over the end", CJ_TENSOR_MAP_F32, 1, { 100 }, { 32 }, { 0 }, 0, { 96 } },
    { "one dimension, over an end within a unit", CJ_TENSOR_MAP_F32, 1, { 97 }, { 32 }, { 0 }, 0, { 80 } },
    { "one dimension, an element of a unit", CJ_TENSOR_MAP_U32, 1, { 33 }, { 32 }, { 0 }, 0, { 32 } },
    { "one dimension, over the beginning", CJ_TENSOR_MAP_F32, 1, { 100 }, { 32 }, { 0 }, 0, { -28 } },
    { "one dimension, behind the end", CJ_TENSOR_MAP_F32, 1, { 100 }, { 32 }, { 0 }, 0, { 100 } },
    { "one dimension, before the beginning", CJ_TENSOR_MAP_F32, 1, { 100 }, { 32 }, { 0 }, 0, { -32 } },
    { "one dimension, larger than the tensor", CJ_TENSOR_MAP_U16, 1, { 20 }, { 64 }, { 0 }, 0, { -8 } },
    { "one dimension, as wide as the tile", CJ_TENSOR_MAP_U16, 1, { 20 }, { 64 }, { 0 }, 0, { 0 } },
    { "bytes", CJ_TENSOR_MAP_U8, 2, { 100, 30 }, { 64, 20 }, { 0 }, 0, { 48, 4 } },
    { "bytes, swizzle 32", CJ_TENSOR_MAP_U8, 2, { 100, 30 }, { 32, 20 }, { 0 }, 1, { 80, 4 } },
    { "bytes, swizzle 64", CJ_TENSOR_MAP_U8, 2, { 100, 30 }, { 64, 20 }, { 0 }, 2, { -16, 14 } },
    { "bytes, swizzle 64, the end", CJ_TENSOR_MAP_U8, 2, { 101, 30 }, { 64, 20 }, { 0 }, 2, { 64, 14 } },
    { "bytes, swizzle 128", CJ_TENSOR_MAP_U8, 2, { 200, 30 }, { 128, 20 }, { 0 }, 3, { 96, -5 } },
    { "bytes, swizzle 128, the end", CJ_TENSOR_MAP_U8, 2, { 201, 30 }, { 128, 20 }, { 0 }, 3, { 96, 15 } },
    { "halves, swizzle 32", CJ_TENSOR_MAP_F16, 2, { 60, 40 }, { 16, 33 }, { 0 }, 1, { 48, 0 } },
    { "halves, swizzle 64", CJ_TENSOR_MAP_BF16, 2, { 60, 40 }, { 32, 33 }, { 0 }, 2, { 40, 20 } },
    { "halves, swizzle 128", CJ_TENSOR_MAP_F16, 2, { 72, 40 }, { 64, 33 }, { 0 }, 3, { 32, 30 } },
    { "words, swizzle 128, a corner", CJ_TENSOR_MAP_F32, 2, { 40, 37 }, { 32, 16 }, { 0 }, 3, { 20, 30 } },
    { "words, swizzle 128, the other corner", CJ_TENSOR_MAP_S32, 2, { 40, 37 }, { 32, 16 }, { 0 }, 3, { -4, -3 } },
    { "words, far outside", CJ_TENSOR_MAP_U32, 2, { 40, 37 }, { 32, 16 }, { 0 }, 3, { 2147483644, -2147483647 - 1 } },
    { "64 bits", CJ_TENSOR_MAP_F64, 2, { 20, 37 }, { 16, 16 }, { 0 }, 3, { 6, 30 } },
    { "64 bits, the end", CJ_TENSOR_MAP_U64, 2, { 21, 37 }, { 16, 16 }, { 0 }, 3, { 10, 30 } },
    { "64 bits, integers", CJ_TENSOR_MAP_S64, 2, { 20, 37 }, { 10, 16 }, { 0 }, 0, { 16, -6 } },
    { "three dimensions", CJ_TENSOR_MAP_BF16, 3, { 24, 10, 9 }, { 8, 6, 5 }, { 0 }, 0, { 16, 7, -2 } },
    { "three dimensions, the end", CJ_TENSOR_MAP_BF16, 3, { 23, 10, 9 }, { 8, 6, 5 }, { 0 }, 0, { 16, 7, 6 } },
    { "three dimensions, swizzle 64", CJ_TENSOR_MAP_BF16, 3, { 48, 10, 9 }, { 32, 6, 5 }, { 0 }, 2, { 24, -1, 6 } },
    { "four dimensions", CJ_TENSOR_MAP_U32, 4, { 12, 5, 6, 7 }, { 8, 3, 4, 5 }, { 0 }, 0, { 8, 3, -1, 4 } },
    { "four dimensions, the end", CJ_TENSOR_MAP_U32, 4, { 11, 5, 6, 7 }, { 8, 3, 4, 5 }, { 0 }, 0, { 8, 3, 1, 4 } },
    { "five dimensions", CJ_TENSOR_MAP_U16, 5, { 16, 3, 4, 5, 6 }, { 8, 2, 3, 2, 4 }, { 0 }, 0, { 8, -1, 2, 4, 3 } },
    { "five dimensions, the end", CJ_TENSOR_MAP_U16, 5, { 13, 3, 4, 5, 6 }, { 8, 2, 3, 2, 4 }, { 0 }, 0,
      { 8, 1, 2, 4, 3 } },
    { "five dimensions, swizzle 32", CJ_TENSOR_MAP_U8, 5, { 48, 3, 4, 5, 6 }, { 32, 2, 3, 2, 4 }, { 0 }, 1,
      { 32, 2, -1, 4, -2 } },
    { "every other row", CJ_TENSOR_MAP_F32, 2, { 40, 37 }, { 32, 16 }, { 1, 2 }, 0, { 20, 30 } },
    { "every third row, the last one too", CJ_TENSOR_MAP_F32, 2, { 40, 37 }, { 32, 16 }, { 1, 3 }, 3, { 4, -3 } },
    { "every eighth row of one", CJ_TENSOR_MAP_F32, 2, { 40, 37 }, { 32, 7 }, { 1, 8 }, 0, { 4, 36 } },
    { "steps of three dimensions", CJ_TENSOR_MAP_U16, 4, { 16, 9, 9, 9 }, { 8, 5, 6, 7 }, { 1, 2, 3, 4 }, 0,
      { 8, 5, 1, -2 } },
};

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

/* "load", "store", "reduce"(map, tile, bytes, x0 .. x4): between the tensor and the tile's bytes as shared memory has
 * them. */
static cj_ptx *write_module(uint32_t dims)
{
    static const char *const names[KINDS] = { "load", "store", "reduce" };
    cj_ptx *m = cj_ptx_create();
    for (int kind = 0; kind < KINDS; kind++) {
        cj_fn *f = cj_ptx_kernel(m, names[kind]);
        cj_val map = cj_param_tensor_map(f, "map"), raw = cj_param_ptr(f, "tile", CJ_U32);
        cj_val bytes = cj_param(f, "bytes", CJ_U32), x[5];
        static const char *const at_names[5] = { "x0", "x1", "x2", "x3", "x4" };
        for (uint32_t i = 0; i < 5; i++) x[i] = cj_param(f, at_names[i], CJ_S32);
        cj_val tile = cj_shared(f, "stage", CJ_U32, TILE / 4), bar = cj_shared(f, "bar", CJ_B64, 1);
        cj_var_align(f, tile, 1024);
        cj_val me = cj_thread_id(f, CJ_X), at = cj_vec_n(f, x, dims), words = cj_shr(f, bytes, 2);
        cj_if(f, cj_eq(f, me, 0));
            cj_mbarrier_init(f, bar, 1);
            cj_mbarrier_init_fence(f);
            cj_tma_prefetch(f, map);
        cj_end(f);
        if (kind != LOAD) {
            cj_val i = cj_for(f, me, words, THREADS);
                cj_set(f, tile, i, cj_get(f, raw, i));
            cj_end(f);
            cj_fence_async_shared(f);
        }
        cj_block_sync(f);
        cj_if(f, cj_eq(f, me, 0));
            if (kind == LOAD) {
                cj_mbarrier_expect(f, bar, bytes);
                cj_tma_load(f, tile, map, at, bar);
            } else {
                if (kind == STORE) cj_tma_store(f, map, at, tile);
                else cj_tma_store_add(f, map, at, tile);
                cj_bulk_commit(f);
                cj_bulk_wait(f, 0);
            }
        cj_end(f);
        if (kind != LOAD) continue;
        cj_mbarrier_wait(f, bar, 0);
        cj_val i = cj_for(f, me, words, THREADS);
            cj_set(f, raw, i, cj_get(f, tile, i));
        cj_end(f);
    }
    return m;
}

/* ---- The model: element by element ------------------------------------------------------------------------------- */

static unsigned char tensor[TENSOR], changed[TENSOR], tile[TILE], raw[TILE];

static unsigned element_of(int type)
{
    static const unsigned bytes[] = { 1, 2, 4, 4, 8, 8, 2, 4, 8, 2 };
    return bytes[type];
}

static uint64_t stride_of(const struct tile_case *c, uint32_t i)
{
    uint64_t row = ((uint64_t)c->extent[0] * element_of(c->type) + 15) / 16 * 16 + 16;
    for (uint32_t j = 1; j < i; j++) row *= c->extent[j];
    return row;
}

static uint32_t count_of(const struct tile_case *c, uint32_t i)
{
    uint32_t step = i && c->step[i] ? c->step[i] : 1;
    return (c->tile[i] + step - 1) / step;
}

static uint32_t elements_of(const struct tile_case *c)
{
    uint32_t n = 1;
    for (uint32_t i = 0; i < c->dims; i++) n *= count_of(c, i);
    return n;
}

/* Where element e of the tile is in the tensor's bytes; SIZE_MAX: outside.  A store takes whole units of 16 bytes. */
static size_t place_of(const struct tile_case *c, uint32_t e, int kind)
{
    const uint32_t unit = kind == LOAD ? 1 : 16 / element_of(c->type);
    const int64_t end = ((int64_t)c->extent[0] + unit - 1) / unit * unit;
    uint64_t at = 0;
    for (uint32_t i = 0; i < c->dims; i++) {
        uint32_t step = i && c->step[i] ? c->step[i] : 1;
        int64_t x = (int64_t)c->at[i] + (int64_t)(e % count_of(c, i)) * step;
        e /= count_of(c, i);
        if (x < 0 || x >= (i ? (int64_t)c->extent[i] : end)) return SIZE_MAX;
        at += (uint64_t)x * (i ? stride_of(c, i) : element_of(c->type));
    }
    return at;
}

/* Where it is in the tile's bytes: the 16-byte units of line n are exchanged by n modulo 2, 4 or 8. */
static size_t unit_of(const struct tile_case *c, uint32_t e)
{
    static const uint32_t lines[] = { 1, 2, 4, 8 };
    size_t at = (size_t)e * element_of(c->type), line = at / 128, unit = at / 16 % 8;
    return line * 128 + (unit ^ line % lines[c->swizzle]) * 16 + at % 16;
}

static void check_bytes(const unsigned char *got, const unsigned char *want, size_t n, const char *what,
                        const struct tile_case *c)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < n; i++) wrong += got[i] != want[i];
    tap_is_uint(wrong, 0, "%s: %s", c->name, what);
}

static bool begins_before(const struct tile_case *c)
{
    bool before = false;
    for (uint32_t i = 0; i < c->dims; i++) before |= c->at[i] < 0;
    return before;
}

static bool addable(int type)
{
    return type == CJ_TENSOR_MAP_U32 || type == CJ_TENSOR_MAP_S32;
}

/* A map of another address, which is then replaced, has the bytes of `map`. */
static void check_other_address(const cj_tensor_map_opts *opts, const cj_tensor_map *map, const char *name)
{
    cj_tensor_map other;
    cj_tensor_map_opts o = *opts;
    o.address = cj_offset(o.address, 32);
    if (cj_tensor_map_tiled(dev, &o, &other) != CJ_OK) tap_bail("%s: %s", name, cj_error_of(dev)->message);
    tap_ok(memcmp(&other, map, sizeof other), "%s: another address makes another map", name);
    tap_is_int(cj_tensor_map_replace_address(dev, &other, opts->address), CJ_OK, "%s: the address is replaced: %s",
               name, cj_error_of(dev)->message);
    tap_is_mem(&other, map, sizeof other, "%s: ... the map is the one that is encoded with that address", name);
}

static void check_case(cj_kernel *const k[KINDS], const struct tile_case *c)
{
    static const char *const names[KINDS] = { "loaded", "stored", "added" };
    const uint32_t n = elements_of(c), bytes = element_of(c->type);
    cj_dptr to = cj_offset(d, TENSOR);
    cj_tensor_map map;
    cj_tensor_map_opts o;
    cj_tensor_map_defaults(&o);
    o.type = c->type, o.dims = c->dims, o.address = d, o.swizzle = c->swizzle;
    for (uint32_t i = 0; i < c->dims; i++) o.extent[i] = c->extent[i], o.tile[i] = c->tile[i], o.step[i] = c->step[i];
    for (uint32_t i = 1; i < c->dims; i++) o.stride[i - 1] = stride_of(c, i);
    if (cj_tensor_map_tiled(dev, &o, &map) != CJ_OK) tap_bail("%s: %s", c->name, cj_error_of(dev)->message);
    check_other_address(&o, &map, c->name);
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == REDUCE && !addable(c->type)) continue;
        if (kind != LOAD && begins_before(c)) continue;
        for (uint32_t i = 0; i < TENSOR; i++) tensor[i] = (unsigned char)(i * 37 + i / 251);
        for (uint32_t i = 0; i < TILE; i++) tile[i] = (unsigned char)(i * 91 + i / 241);
        memcpy(changed, tensor, TENSOR);
        memset(raw, 0xee, TILE);
        if (kind == LOAD) memset(tile, 0, (size_t)n * bytes);
        for (uint32_t e = 0; e < n; e++) {
            size_t at = place_of(c, e, kind), unit = unit_of(c, e);
            if (at == SIZE_MAX) continue;
            uint32_t a, b;
            if (kind == LOAD) memcpy(tile + unit, tensor + at, bytes);
            else if (kind == STORE) memcpy(changed + at, tile + unit, bytes);
            else memcpy(&a, tensor + at, 4), memcpy(&b, tile + unit, 4), a += b, memcpy(changed + at, &a, 4);
        }
        cj_copy_to_device(s, d, tensor, TENSOR);
        if (kind != LOAD) cj_copy_to_device(s, to, tile, TILE);
        cj_launch(s, k[kind], cj_grid(1, THREADS), cj_arg_tensor_map(&map), to, (int)(n * bytes), c->at[0], c->at[1],
                  c->at[2], c->at[3], c->at[4]);
        cj_copy_to_host(s, raw, to, TILE);
        cj_copy_to_host(s, tensor, d, TENSOR);
        if (cj_stream_sync(s) != CJ_OK) tap_bail("%s: %s", c->name, cj_error_of(s)->message);
        check_bytes(raw, tile, (size_t)n * bytes, names[kind], c);
        check_bytes(tensor, changed, TENSOR, "the tensor", c);
    }
}

/* ---- What a load makes of numbers -------------------------------------------------------------------------------- */

/* A load of a row of 16 numbers from -4 on, by a map of that type and fill. */
static void load_row(cj_kernel *const k[KINDS], int type, int fill, const uint32_t *in, uint32_t *out)
{
    cj_tensor_map map;
    cj_tensor_map_opts o;
    cj_tensor_map_defaults(&o);
    o.type = type, o.dims = 1, o.address = d, o.extent[0] = 8, o.tile[0] = 16, o.fill = fill;
    if (cj_tensor_map_tiled(dev, &o, &map) != CJ_OK) tap_bail("%s", cj_error_of(dev)->message);
    cj_copy_to_device(s, d, in, 32);
    cj_launch(s, k[LOAD], cj_grid(1, THREADS), cj_arg_tensor_map(&map), cj_offset(d, TENSOR), 64, -4, 0, 0, 0, 0);
    cj_copy_to_host(s, out, cj_offset(d, TENSOR), 64);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%s", cj_error_of(s)->message);
}

static void check_numbers(cj_kernel *const k[KINDS])
{
    /* halfway down to even, halfway up to even, above, below, a number that stays, the next exponent, infinity, tiny */
    static const uint32_t in[8] = { 0x3f801000, 0x3f803000, 0x3f801001, 0x3f800fff, 0xbf802000, 0x3fffffff, 0x7f800000,
                                    0x80000123 };
    static const uint32_t tf32[8] = { 0x3f800000, 0x3f804000, 0x3f802000, 0x3f800000, 0xbf802000, 0x40000000,
                                      0x7f800000, 0x80000000 };
    uint32_t out[16];
    float nan[16];
    load_row(k, CJ_TENSOR_MAP_F32, 0, in, out);
    tap_is_mem(out + 4, in, 32, "f32 stays");
    load_row(k, CJ_TENSOR_MAP_TF32, 0, in, out);
    tap_is_mem(out + 4, tf32, 32, "tf32 is rounded to nearest, ties to even");
    load_row(k, CJ_TENSOR_MAP_F32_FTZ, 0, in, out);
    tap_is_mem(out + 4, in, 32, "nor does a map of F32_FTZ change anything, subnormal numbers either");
    tap_is_uint(out[3] | out[12], 0, "the fill is 0");
    load_row(k, CJ_TENSOR_MAP_F32, CJ_TENSOR_MAP_FILL_NAN, in, out);
    memcpy(nan, out, sizeof nan);
    tap_ok(isnan(nan[0]) && isnan(nan[3]) && isnan(nan[12]) && isnan(nan[15]), "or a NaN");
    tap_is_mem(out + 4, in, 32, "... outside only");
}

int main(void)
{
    cj_device_info info = { .size = sizeof info };
    cj_kernel *k[6][KINDS];
    bench_open(TENSOR + TILE);
    if (cj_device_get_info(dev, &info) != CJ_OK || info.sm_major < 9) {
        tap_skip(1, "tensor maps take compute capability 9.0");
        return bench_close();
    }
    for (uint32_t dims = 1; dims <= 5; dims++) {
        static const char *const names[KINDS] = { "load", "store", "reduce" };
        cj_ptx *m = write_module(dims);
        for (int i = 0; i < KINDS; i++) {
            k[dims][i] = cj_kernel_load(dev, m, names[i], NULL);
            if (!k[dims][i]) tap_bail("%s", cj_error_of(dev)->message);
        }
        cj_ptx_free(m);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(k[cases[i].dims], &cases[i]);
    check_numbers(k[1]);
    for (uint32_t dims = 1; dims <= 5; dims++)
        for (int i = 0; i < KINDS; i++) cj_kernel_free(k[dims][i]);
    return bench_close();
}
