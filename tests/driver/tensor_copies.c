/* Copies of tiles through tensor maps: a kernel loads a tile of one tensor into shared memory and stores it into
 * another one; what is outside becomes zero, and is not written. The CPU device says what it does not copy. A launch
 * checks a map's size. */
#include <stdio.h>
#include <string.h>

#include "tests/tap.h"
#include "tests/tap_folder.h"

#include <cujit/cujit.h>

enum { COLUMNS = 40, ROWS = 37, TILE_COLUMNS = 32, TILE_ROWS = 16, PITCH = 48 };

/* Kernel "k"(from, to, x, y, bytes): the tile at (x, y) of `from` to (0, 0) of `to`, by one thread. */
static cj_ptx *write_module(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val from = cj_param_tensor_map(f, "from"), to = cj_param_tensor_map(f, "to");
    cj_val x = cj_param(f, "x", CJ_S32), y = cj_param(f, "y", CJ_S32), first = cj_eq(f, cj_thread_id(f, CJ_X), 0);
    cj_val tile = cj_shared(f, "tile", CJ_F32, TILE_COLUMNS * TILE_ROWS), bar = cj_shared(f, "bar", CJ_B64, 1);
    cj_var_align(f, tile, 1024);
    cj_if(f, first);
        cj_mbarrier_init(f, bar, 1);
        cj_mbarrier_init_fence(f);
        cj_tma_prefetch(f, from);
        cj_mbarrier_expect(f, bar, TILE_COLUMNS * TILE_ROWS * 4);
        cj_tma_load(f, tile, from, cj_vec(f, x, y), bar);
        cj_mbarrier_wait(f, bar, 0);
        cj_tma_store(f, to, cj_vec(f, 0, 0), tile);
        cj_bulk_commit(f);
        cj_bulk_wait(f, 0);
    cj_end(f);
    return m;
}

static cj_tensor_map_opts map_of(cj_dptr at, uint64_t columns, uint64_t rows, uint64_t pitch, cj_swizzle swizzle)
{
    cj_tensor_map_opts o;
    cj_tensor_map_defaults(&o);
    o.type = CJ_TENSOR_MAP_F32, o.dims = 2, o.address = at, o.swizzle = (int32_t)swizzle;
    o.extent[0] = columns, o.extent[1] = rows, o.stride[0] = pitch * 4;
    o.tile[0] = TILE_COLUMNS, o.tile[1] = TILE_ROWS;
    return o;
}

static float from[ROWS * PITCH], to[TILE_ROWS * TILE_COLUMNS];

static void check_tile(cj_stream *s, cj_kernel *k, cj_device *dev, cj_dptr src, cj_dptr dst, cj_swizzle swizzle, int x,
                       int y)
{
    cj_tensor_map a, b;
    cj_tensor_map_opts oa = map_of(src, COLUMNS, ROWS, PITCH, swizzle);
    /* the last row and the last four columns are not part of the tensor that is written */
    cj_tensor_map_opts ob = map_of(dst, TILE_COLUMNS - 4, TILE_ROWS - 1, TILE_COLUMNS, swizzle);
    unsigned wrong = 0;
    if (cj_tensor_map_tiled(dev, &oa, &a) != CJ_OK || cj_tensor_map_tiled(dev, &ob, &b) != CJ_OK)
        tap_bail("%s", cj_error_of(dev)->message);
    for (size_t i = 0; i < TILE_ROWS * TILE_COLUMNS; i++) to[i] = -1;
    cj_copy_to_device(s, dst, to, sizeof to);
    cj_launch(s, k, cj_grid(1, 32), cj_arg_tensor_map(&a), cj_arg_tensor_map(&b), x, y);
    cj_copy_to_host(s, to, dst, sizeof to);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%s", cj_error_of(s)->message);
    for (int row = 0; row < TILE_ROWS; row++)
        for (int column = 0; column < TILE_COLUMNS; column++) {
            bool written = row < TILE_ROWS - 1 && column < TILE_COLUMNS - 4;
            bool inside = x + column >= 0 && x + column < COLUMNS && y + row >= 0 && y + row < ROWS;
            float want = !written ? -1 : inside ? from[(y + row) * PITCH + x + column] : 0;
            wrong += to[row * TILE_COLUMNS + column] != want;
        }
    tap_is_uint(wrong, 0, "swizzle %d, the tile at (%d, %d)", (int)swizzle, x, y);
}

static char lines[1 << 16];

static void note_line(void *user, uint64_t number, const char *name, const char *line, int result)
{
    const size_t n = strlen(lines);
    (void)user, (void)number, (void)result;
    if (strstr(name, "TensorMap")) snprintf(lines + n, sizeof lines - n, "%s\n", line);
}

static int reject_replacing(void *user, uint64_t number, const char *name)
{
    (void)number;
    return *(const bool *)user && !strcmp(name, "cuTensorMapReplaceAddress") ? 1 : 0;
}

static void keep_line(void *user, const char *line)
{
    const size_t n = strlen(lines);
    (void)user;
    if (strstr(line, "TensorMap")) snprintf(lines + n, sizeof lines - n, "%s\n", line);
}

/* Interposers see a replaced address, and make it fail; a recording notes that it cannot be repeated. */
static void check_layers(cj_driver *under)
{
    bool rejects = false;
    char file[300];
    snprintf(file, sizeof file, "%s/calls.rec", tap_folder("tensor_copies"));
    cj_driver *recorded = cj_driver_open_recorded(under, file);
    cj_driver *drv = cj_driver_open_interposed(
        recorded, CJ_INTERPOSER(.before = reject_replacing, .after = note_line, .user = &rejects));
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_dptr d = cj_alloc(s, sizeof from), e = cj_offset(d, 64);
    cj_tensor_map a, b;
    const cj_tensor_map_opts oa = map_of(d, COLUMNS, ROWS - 1, PITCH, CJ_SWIZZLE_128B);
    const cj_tensor_map_opts ob = map_of(e, COLUMNS, ROWS - 1, PITCH, CJ_SWIZZLE_128B);
    cj_tensor_map_tiled(dev, &oa, &a);
    cj_tensor_map_tiled(dev, &ob, &b);
    tap_is_int(cj_tensor_map_replace_address(dev, &a, e), CJ_OK, "an address is replaced through interposers: %s",
               cj_error_of(dev)->message);
    tap_is_mem(&a, &b, sizeof a, "... the map is the one that is encoded with it");
    tap_has_str(lines, "cuTensorMapReplaceAddress(", "... the trace has the call");
    rejects = true;
    tap_is_int(cj_tensor_map_replace_address(dev, &a, d), CJ_EDRIVER, "an interposer makes it fail");
    tap_is_mem(&a, &b, sizeof a, "... the map is as before");
    cj_free(dev, d);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_driver_close(recorded);
    lines[0] = 0;
    tap_is_int(cj_replay_file(NULL, file, CJ_REPLAY(.line = keep_line, .list = 1), NULL), CJ_OK,
               "the recording is listed: %s", cj_error_last()->message);
    tap_has_str(lines, "cuTensorMapReplaceAddress", "... with the call");
    tap_has_str(strstr(lines, "cuTensorMapReplaceAddress") ? strstr(lines, "cuTensorMapReplaceAddress") : "",
                "which a replay cannot translate", "... and why it cannot be repeated");
}

int main(void)
{
    static const struct { int x, y; } places[] = { { 0, 0 }, { 8, 21 }, { 20, 30 }, { -4, -3 }, { 100, 0 } };
    tap_need_device(1);
    tap_plan(0);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_device_info info = { .size = sizeof info };
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_dptr src = cj_alloc(s, sizeof from), dst = cj_alloc(s, sizeof to);
    cj_tensor_map map;
    cj_tensor_map_opts o = map_of(src, COLUMNS, ROWS, PITCH, CJ_SWIZZLE_NONE);
    o.tile[1] = 257;
    tap_is_int(cj_tensor_map_tiled(dev, &o, &map), CJ_EINVAL, "a limit is checked on every device");
    o.tile[1] = TILE_ROWS;
    cj_device_get_info(dev, &info);
    tap_is_int(cj_tensor_map_im2col(dev, &o, &map), CJ_EINVAL, "two dimensions are too few for im2col");
    if (!tap_on_gpu()) {
        cj_tensor_map_opts deep = o;
        deep.dims = 3, deep.extent[2] = 1, deep.stride[1] = sizeof from, deep.tile[2] = 1;
        deep.channels = deep.pixels = 8;
        tap_is_int(cj_tensor_map_im2col(dev, &deep, &map), CJ_ENOTSUP, "the CPU device has no im2col");
        tap_has_str(cj_error_of(dev)->message, "cuTensorMapEncodeIm2col", "... the call is named");
        deep.interleave = CJ_TENSOR_MAP_INTERLEAVE_16B;
        tap_is_int(cj_tensor_map_tiled(dev, &deep, &map), CJ_ENOTSUP, "the CPU device has no interleave");
        if (info.sm_major >= 9) {
            memset(&map, 0, sizeof map);
            tap_is_int(cj_tensor_map_replace_address(dev, &map, src), CJ_EDRIVER, "there is no map");
            tap_has_str(cj_error_of(dev)->message, "cuTensorMapReplaceAddress", "... the call is named");
        }
    }
    if (info.sm_major >= 9) check_layers(drv);
    if (info.sm_major < 9) {
        tap_is_int(cj_tensor_map_tiled(dev, &o, &map), CJ_ENOTSUP, "a GPU before 9.0 has no tensor maps");
    } else {
        cj_ptx *m = write_module();
        cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
        for (size_t i = 0; i < ROWS * PITCH; i++) from[i] = (float)(i + 1);
        cj_copy_to_device(s, src, from, sizeof from);
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            check_tile(s, k, dev, src, dst, CJ_SWIZZLE_NONE, places[i].x, places[i].y);
            check_tile(s, k, dev, src, dst, CJ_SWIZZLE_128B, places[i].x, places[i].y);
        }
        cj_kernel_free(k);
        cj_ptx_free(m);
    }
    /* a parameter of 128 bytes takes nothing shorter */
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "empty");
    cj_param_bytes(f, "map", sizeof map, 64);
    cj_kernel *k = cj_kernel_load(dev, m, "empty", NULL);
    memset(&map, 0, sizeof map);
    tap_is_int(cj_launch(s, k, cj_grid(1, 32), cj_arg_bytes(&map, 64)), CJ_EINVAL, "64 bytes are no map");
    tap_has_str(cj_error_of(s)->message, "argument 1 (map) has 64 bytes, the parameter is 128 bytes", "... is named");
    cj_stream_sync(s);
    tap_is_int(cj_launch(s, k, cj_grid(1, 32), cj_arg_tensor_map(&map)), CJ_OK, "128 bytes are");
    tap_is_int(cj_stream_sync(s), CJ_OK, "... %s", cj_error_of(s)->message);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_free(dev, src);
    cj_free(dev, dst);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
