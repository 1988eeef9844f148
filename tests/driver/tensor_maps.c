/* Tensor maps over a fake driver: what reaches its entry points, each limit of the manual just inside and just outside,
 * and what is reported of drivers and devices that have none. */
#include <stdlib.h>
#include <string.h>

#include "tests/driver/libfake.h"
#include "tests/tap.h"

/* ---- The driver's side ------------------------------------------------------------------------------------------- */

static struct seen {
    int tiled, columns, replaced;
    bool aligned;
    CUtensorMapDataType type;
    cuuint32_t rank, tile[5], step[5], channels, pixels;
    cuuint64_t address, extent[5], stride[4];
    int lower[3], upper[3];
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion l2;
    CUtensorMapFloatOOBfill fill;
} seen;

static CUresult note(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, const void *address,
                     const cuuint64_t *extent, const cuuint64_t *stride, const cuuint32_t *step,
                     CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
                     CUtensorMapFloatOOBfill fill)
{
    seen.type = type, seen.rank = rank, seen.address = (cuuint64_t)(uintptr_t)address;
    seen.aligned = (uintptr_t)map % 64 == 0 && lib.current == libfake_context();
    memcpy(seen.extent, extent, rank * sizeof *extent);
    memcpy(seen.stride, stride, (rank - 1) * sizeof *stride);
    memcpy(seen.step, step, rank * sizeof *step);
    seen.interleave = interleave, seen.swizzle = swizzle, seen.l2 = l2, seen.fill = fill;
    memset(map, 0xa5, sizeof *map);
    return CUDA_SUCCESS;
}

static CUresult encode_tiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                             const cuuint64_t *extent, const cuuint64_t *stride, const cuuint32_t *tile,
                             const cuuint32_t *step, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                             CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill)
{
    seen.tiled++;
    memcpy(seen.tile, tile, rank * sizeof *tile);
    return note(map, type, rank, address, extent, stride, step, interleave, swizzle, l2, fill);
}

static CUresult encode_columns(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                               const cuuint64_t *extent, const cuuint64_t *stride, const int *lower, const int *upper,
                               cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *step,
                               CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
                               CUtensorMapFloatOOBfill fill)
{
    seen.columns++;
    memcpy(seen.lower, lower, (rank - 2) * sizeof *lower);
    memcpy(seen.upper, upper, (rank - 2) * sizeof *upper);
    seen.channels = channels, seen.pixels = pixels;
    return note(map, type, rank, address, extent, stride, step, interleave, swizzle, l2, fill);
}

static CUresult replace(CUtensorMap *map, void *address)
{
    seen.replaced++;
    seen.address = (cuuint64_t)(uintptr_t)address;
    seen.aligned = (uintptr_t)map % 64 == 0 && lib.current == libfake_context();
    if (lib.fail_id == CJI_CU_ID_cuTensorMapReplaceAddress && lib.fail_with) return lib.fail_with;
    map->opaque[1] = seen.address;
    return CUDA_SUCCESS;
}

static void *resolve(void *user, const char *symbol)
{
    cji_PFN_cuTensorMapEncodeTiled tiled = encode_tiled;
    cji_PFN_cuTensorMapEncodeIm2col columns = encode_columns;
    cji_PFN_cuTensorMapReplaceAddress other = replace;
    void *entry = libfake_symbol(user, symbol);
    if (entry && !strcmp(symbol, "cuTensorMapEncodeTiled")) memcpy(&entry, &tiled, sizeof entry);
    if (entry && !strcmp(symbol, "cuTensorMapEncodeIm2col")) memcpy(&entry, &columns, sizeof entry);
    if (entry && !strcmp(symbol, "cuTensorMapReplaceAddress")) memcpy(&entry, &other, sizeof entry);
    return entry;
}

static cj_driver *drv;

static cj_device *open_device(void)
{
    drv = cj_driver_open_resolver(resolve, NULL);
    return cj_device_open(drv, 0, NULL);
}

static void close_device(cj_device *dev)
{
    cj_device_close(dev);
    cj_driver_close(drv);
}

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

/* Three dimensions, everything in its limits, for both calls. */
static const cj_tensor_map_opts good = {
    .size = sizeof(cj_tensor_map_opts), .type = CJ_TENSOR_MAP_BF16, .dims = 3, .address = { 0x7f0000000020 },
    .extent = { 64, 100, 7 }, .stride = { 128, 12800 }, .tile = { 64, 32, 1 }, .channels = 64, .pixels = 8,
    .lower = { -1 }, .upper = { 1 },
};

enum { TILED = 1, COLUMNS = 2, BOTH = 3 };
#define AT(field) offsetof(cj_tensor_map_opts, field)

/* One field with another value: `wants` is part of the message, NULL: it is accepted. */
static const struct limit {
    int calls;
    size_t at;
    unsigned bytes;
    uint64_t value;
    const char *wants;
} limits[] = {
    { BOTH, AT(type), 4, 13, "there is no type 13" },
    { BOTH, AT(type), 4, (uint32_t)-1, "there is no type -1" },
    { BOTH, AT(dims), 4, 6, "the number of dimensions is 6, wants " },
    { TILED, AT(dims), 4, 0, "the number of dimensions is 0, wants 1 to 5" },
    { TILED, AT(dims), 4, 1, NULL },
    { COLUMNS, AT(dims), 4, 2, "the number of dimensions is 2, wants 3 to 5" },
    { BOTH, AT(address), 8, 0, "the address is 0" },
    { BOTH, AT(address), 8, 0x7f0000000008, "the address 0x7f0000000008 is not a multiple of 16" },
    { BOTH, AT(address), 8, 0x7f0000000010, NULL },
    { BOTH, AT(extent[1]), 8, 0, "the extent of dimension 1 is 0, wants 1 to 2^32" },
    { BOTH, AT(extent[2]), 8, (UINT64_C(1) << 32) + 1, "the extent of dimension 2 is 4294967297, wants 1 to 2^32" },
    { BOTH, AT(extent[2]), 8, UINT64_C(1) << 32, NULL },
    { BOTH, AT(stride[0]), 8, 136, "the stride of dimension 1 is 136, wants a multiple of 16 bytes below 2^40" },
    { BOTH, AT(stride[1]), 8, UINT64_C(1) << 40, "the stride of dimension 2 is 1099511627776, wants" },
    { BOTH, AT(stride[1]), 8, (UINT64_C(1) << 40) - 16, NULL },
    { TILED, AT(tile[1]), 4, 0, "the tile of dimension 1 is 0, wants 1 to 256" },
    { TILED, AT(tile[1]), 4, 257, "the tile of dimension 1 is 257, wants 1 to 256" },
    { TILED, AT(tile[1]), 4, 256, NULL },
    { TILED, AT(tile[0]), 4, 60, "the tile has 120 bytes in dimension 0, wants a multiple of 16" },
    { BOTH, AT(step[2]), 4, 9, "the step of dimension 2 is 9, wants 1 to 8" },
    { BOTH, AT(step[2]), 4, 8, NULL },
    { BOTH, AT(interleave), 4, 3, "there is no interleave 3" },
    { BOTH, AT(interleave), 4, CJ_TENSOR_MAP_INTERLEAVE_32B, "CJ_TENSOR_MAP_INTERLEAVE_32B wants CJ_SWIZZLE_32B" },
    { BOTH, AT(interleave), 4, CJ_TENSOR_MAP_INTERLEAVE_16B, NULL },
    { BOTH, AT(swizzle), 4, 4, "there is no swizzle 4" },
    { TILED, AT(swizzle), 4, CJ_SWIZZLE_64B, "the tile has 128 bytes in dimension 0, the swizzle allows 64" },
    { COLUMNS, AT(swizzle), 4, CJ_SWIZZLE_64B, "the pixel has 128 bytes in dimension 0, the swizzle allows 64" },
    { BOTH, AT(swizzle), 4, CJ_SWIZZLE_128B, NULL },
    { BOTH, AT(l2), 4, 4, "there is no L2 promotion 4" },
    { BOTH, AT(l2), 4, CJ_TENSOR_MAP_L2_256B, NULL },
    { BOTH, AT(fill), 4, 2, "there is no fill 2" },
    { BOTH, AT(fill), 4, CJ_TENSOR_MAP_FILL_NAN, NULL },
    { COLUMNS, AT(lower[0]), 4, (uint32_t)-32769, "the lower corner of dimension 1 is -32769, wants -32768 to 32767" },
    { COLUMNS, AT(lower[0]), 4, (uint32_t)-32768, NULL },
    { COLUMNS, AT(upper[0]), 4, 32768, "the upper corner of dimension 1 is 32768" },
    { COLUMNS, AT(channels), 4, 0, "the number of channels is 0, wants 1 to 256" },
    { COLUMNS, AT(channels), 4, 264, "the number of channels is 264" },
    { COLUMNS, AT(pixels), 4, 1025, "the number of pixels is 1025, wants 1 to 1024" },
    { COLUMNS, AT(pixels), 4, 1024, NULL },
    { BOTH, AT(size), 8, 4, "" },
};

static void check_limit(cj_device *dev, const struct limit *l, bool columns)
{
    cj_tensor_map_opts o = good;
    cj_tensor_map map, zeros = { { 0 } };
    memcpy((char *)&o + l->at, &l->value, l->bytes);
    memset(&map, 1, sizeof map);
    cj_status st = (columns ? cj_tensor_map_im2col : cj_tensor_map_tiled)(dev, &o, &map);
    const char *name = columns ? "im2col" : "tiled";
    if (!l->wants) {
        tap_is_int(st, CJ_OK, "%s: %llu at %zu is accepted: %s", name, (unsigned long long)l->value, l->at,
                   st == CJ_OK ? "" : cj_error_of(dev)->message);
        return;
    }
    tap_is_int(st, CJ_EINVAL, "%s: %llu at %zu", name, (unsigned long long)l->value, l->at);
    tap_has_str(cj_error_of(dev)->message, l->wants, "... %s", l->wants);
    tap_is_mem(&map, &zeros, sizeof map, "... the map is zeros");
}

static void check_limits(void)
{
    cj_device *dev = open_device();
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (limits[i].calls & TILED) check_limit(dev, &limits[i], false);
        if (limits[i].calls & COLUMNS) check_limit(dev, &limits[i], true);
    }
    close_device(dev);
}

/* What two fields together must be. */
static void check_pairs(void)
{
    cj_device *dev = open_device();
    cj_tensor_map map;
    cj_tensor_map_opts o = good;
    o.fill = CJ_TENSOR_MAP_FILL_NAN, o.type = CJ_TENSOR_MAP_U16;
    tap_is_int(cj_tensor_map_tiled(dev, &o, &map), CJ_EINVAL, "NaN for integers");
    tap_has_str(cj_error_of(dev)->message, "wants a type of floating point", "... is named");
    o = good, o.interleave = CJ_TENSOR_MAP_INTERLEAVE_16B, o.dims = 2;
    tap_is_int(cj_tensor_map_tiled(dev, &o, &map), CJ_EINVAL, "an interleave with two dimensions");
    tap_has_str(cj_error_of(dev)->message, "the number of dimensions is 2, wants 3 to 5", "... is named");
    o = good, o.interleave = CJ_TENSOR_MAP_INTERLEAVE_32B, o.swizzle = CJ_SWIZZLE_32B;
    tap_is_int(cj_tensor_map_tiled(dev, &o, &map), CJ_OK, "an interleave of 32 bytes, with its swizzle");
    o.address.addr += 16;
    tap_is_int(cj_tensor_map_tiled(dev, &o, &map), CJ_EINVAL, "... wants 32 bytes");
    tap_has_str(cj_error_of(dev)->message, "is not a multiple of 32", "... of the address");
    o.address = good.address, o.stride[0] = 144;
    tap_is_int(cj_tensor_map_tiled(dev, &o, &map), CJ_EINVAL, "... and of strides");
    tap_has_str(cj_error_of(dev)->message, "a multiple of 32 bytes below 2^40", "... is named");
    o = good, o.dims = 5, o.extent[3] = o.extent[4] = 2, o.lower[2] = -17;
    tap_is_int(cj_tensor_map_im2col(dev, &o, &map), CJ_EINVAL, "a corner of 5 dimensions has 5 bits");
    tap_has_str(cj_error_of(dev)->message, "of dimension 3 is -17, wants -16 to 15", "... is named");
    o.lower[2] = -16, o.upper[2] = 15;
    tap_is_int(cj_tensor_map_im2col(dev, &o, &map), CJ_OK, "... -16 to 15 are right");
    tap_is_int(cj_tensor_map_tiled(dev, NULL, &map), CJ_EINVAL, "no options");
    tap_is_int(cj_tensor_map_tiled(dev, &good, NULL), CJ_EINVAL, "no map");
    tap_is_int(cj_tensor_map_tiled(NULL, &good, &map), CJ_EHANDLE, "no device");
    close_device(dev);
}

/* ---- What reaches the driver ------------------------------------------------------------------------------------- */

static void check_passed(void)
{
    cj_device *dev = open_device();
    unsigned char *bytes = malloc(sizeof(cj_tensor_map) + 8);
    cj_tensor_map map, *odd = (cj_tensor_map *)(void *)(bytes + 8);
    cj_tensor_map_opts o = good;
    if (!bytes) tap_bail("no memory");
    o.step[1] = 3, o.swizzle = CJ_SWIZZLE_128B, o.l2 = CJ_TENSOR_MAP_L2_128B, o.fill = CJ_TENSOR_MAP_FILL_NAN;
    seen = (struct seen){ 0 };
    tap_is_int(cj_tensor_map_tiled(dev, &o, odd), CJ_OK, "a tiled map: %s", cj_error_of(dev)->message);
    tap_ok(seen.tiled == 1 && !seen.columns, "one call of cuTensorMapEncodeTiled");
    tap_ok(seen.aligned, "the driver's structure is aligned, the device's context is current");
    tap_ok(seen.type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 && seen.rank == 3 && seen.address == good.address.addr,
           "type, rank, address");
    tap_is_mem(seen.extent, o.extent, 3 * sizeof *o.extent, "extents");
    tap_is_mem(seen.stride, o.stride, 2 * sizeof *o.stride, "strides");
    tap_is_mem(seen.tile, o.tile, 3 * sizeof *o.tile, "the sides of a tile");
    tap_ok(seen.step[0] == 1 && seen.step[1] == 3 && seen.step[2] == 1, "steps, 1 where there is 0");
    tap_ok(seen.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE && seen.swizzle == CU_TENSOR_MAP_SWIZZLE_128B &&
               seen.l2 == CU_TENSOR_MAP_L2_PROMOTION_L2_128B &&
               seen.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
           "interleave, swizzle, L2 promotion, fill");
    memset(&map, 0xa5, sizeof map);
    tap_is_mem(odd, &map, sizeof map, "the map is what the driver wrote");
    tap_is_int(cj_tensor_map_im2col(dev, &o, &map), CJ_OK, "an im2col map");
    tap_ok(seen.tiled == 1 && seen.columns == 1, "one call of cuTensorMapEncodeIm2col");
    tap_ok(seen.lower[0] == -1 && seen.upper[0] == 1 && seen.channels == 64 && seen.pixels == 8,
           "corners, channels, pixels");
    cj_arg arg = cj_arg_tensor_map(&map);
    tap_ok(arg.kind == CJ_ARG_BYTES && arg.size == 128 && arg.v.p == &map, "an argument of 128 bytes");
    free(bytes);
    close_device(dev);
}

/* ---- Another address --------------------------------------------------------------------------------------------- */

/* What is wrong with the call: `missing` of the driver, or what the driver answers, or the map is NULL. */
static const struct replacement {
    const char *name, *missing;
    int capability;
    CUresult answer;
    bool no_map;
    uint64_t address;
    cj_status status;
    const char *message;
} replacements[] = {
    { "an address", NULL, 0, CUDA_SUCCESS, false, 0x7f0000001010, CJ_OK, NULL },
    { "no map", NULL, 0, CUDA_SUCCESS, true, 0x7f0000001010, CJ_EINVAL, "the map is NULL" },
    { "no address", NULL, 0, CUDA_SUCCESS, false, 0, CJ_EINVAL, "the address is 0" },
    { "an address that is aligned to 8", NULL, 0, CUDA_SUCCESS, false, 0x7f0000001008, CJ_EINVAL,
      "the address 0x7f0000001008 is not a multiple of 16" },
    { "a driver that rejects it", NULL, 0, CUDA_ERROR_INVALID_VALUE, false, 0x7f0000001010, CJ_EDRIVER,
      "cuTensorMapReplaceAddress" },
    { "a driver that lacks the call", "cuTensorMapReplaceAddress", 0, CUDA_SUCCESS, false, 0x7f0000001010, CJ_ENOTSUP,
      "cuTensorMapReplaceAddress" },
    { "a device of capability 8.9", NULL, 89, CUDA_SUCCESS, false, 0x7f0000001010, CJ_ENOTSUP,
      "tensor maps need sm_90; device 0 is sm_89" },
};

static void check_replacement(const struct replacement *r, cj_tensor_map *map)
{
    cj_tensor_map before;
    lib.missing = r->missing, lib.capability = r->capability;
    cj_device *dev = open_device();
    lib.fail_id = CJI_CU_ID_cuTensorMapReplaceAddress, lib.fail_with = r->answer;
    seen = (struct seen){ 0 };
    memset(map, 0xa5, sizeof *map);
    before = *map;
    const int exchanged = lib.calls[CJI_CU_ID_cuThreadExchangeStreamCaptureMode];
    cj_status st = cj_tensor_map_replace_address(dev, r->no_map ? NULL : map, (cj_dptr){ r->address });
    tap_is_int(st, r->status, "%s: %s", r->name, st == CJ_OK ? "" : cj_error_of(dev)->message);
    tap_is_int(lib.calls[CJI_CU_ID_cuThreadExchangeStreamCaptureMode], exchanged, "%s: the capture mode stays",
               r->name);
    if (r->message) {
        tap_has_str(cj_error_of(dev)->message, r->message, "%s: ... is named", r->name);
        tap_ok(!strcmp(cj_error_of(dev)->call, "cj_tensor_map_replace_address"), "%s: ... and the call", r->name);
        tap_is_mem(map, &before, sizeof before, "%s: the map is as before", r->name);
    } else {
        before.opaque[1] = r->address;
        tap_ok(seen.replaced == 1 && seen.address == r->address && seen.aligned,
               "%s: one call, with an aligned map, in the device's context", r->name);
        tap_is_mem(map, &before, sizeof before, "%s: the map is what the driver wrote", r->name);
    }
    lib.fail_with = CUDA_SUCCESS;
    close_device(dev);
    libfake_reset();
}

static void check_replaced(void)
{
    unsigned char *bytes = aligned_alloc(128, 512);
    if (!bytes) tap_bail("no memory");
    for (size_t i = 0; i < sizeof replacements / sizeof *replacements; i++) {
        check_replacement(&replacements[i], (cj_tensor_map *)(void *)bytes);
        check_replacement(&replacements[i], (cj_tensor_map *)(void *)(bytes + 136));
    }
    /* In another context the device's is pushed, as for any call. */
    cj_device *dev = open_device();
    lib.current = NULL;
    seen = (struct seen){ 0 };
    tap_is_int(cj_tensor_map_replace_address(dev, (cj_tensor_map *)(void *)bytes, good.address), CJ_OK,
               "no context is current: %s", cj_error_of(dev)->message);
    tap_ok(seen.replaced == 1 && seen.aligned && !lib.current, "... the device's is during the call");
    tap_is_int(cj_tensor_map_replace_address(NULL, (cj_tensor_map *)(void *)bytes, good.address), CJ_EHANDLE,
               "no device");
    close_device(dev);
    free(bytes);
    libfake_reset();
}

static void check_lacking(void)
{
    cj_tensor_map map, zeros = { { 0 } };
    lib.capability = 89;
    cj_device *dev = open_device();
    tap_is_int(cj_tensor_map_tiled(dev, &good, &map), CJ_ENOTSUP, "a device of capability 8.9");
    tap_has_str(cj_error_of(dev)->message, "tensor maps need sm_90; device 0 is sm_89", "... is named");
    close_device(dev);
    libfake_reset();
    lib.missing = "cuTensorMapEncodeIm2col";
    dev = open_device();
    tap_is_int(cj_tensor_map_tiled(dev, &good, &map), CJ_OK, "a driver that lacks one of the two");
    tap_is_int(cj_tensor_map_im2col(dev, &good, &map), CJ_ENOTSUP, "... has only the other one");
    tap_has_str(cj_error_of(dev)->message, "cuTensorMapEncodeIm2col", "... is named");
    tap_is_mem(&map, &zeros, sizeof map, "... the map is zeros");
    close_device(dev);
    libfake_reset();
}

int main(void)
{
    tap_plan(0);
    libfake_reset();
    check_limits();
    check_pairs();
    check_passed();
    check_replaced();
    check_lacking();
    return tap_done();
}
