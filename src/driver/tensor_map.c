/* Tensor maps: every limit of the manual is checked here, since the driver's answer to all mistakes is one word
 * ("invalid value"), and some of them (a stride of another sign than meant, a tile of 0) it does not notice. */
#include <stdio.h>
#include <string.h>

#include "base/opts.h"
#include "driver/driver.h"

#include <cujit/tensor_map.h>

enum { MOST_DIMS_OF_MAP = 5, MOST_SIDE = 256, MOST_STEP = 8, MOST_PIXELS = 1024, FEWEST_DIMS_OF_COLUMNS = 3 };
enum { MAP_UNIT = 16, MAP_WIDE_UNIT = 32 }; /* of addresses and strides, in bytes; wide: CJ_TENSOR_MAP_INTERLEAVE_32B */
#define MOST_EXTENT (UINT64_C(1) << 32)
#define END_OF_STRIDES (UINT64_C(1) << 40)

/* By cj_tensor_map_type. */
static const struct { uint8_t bytes; bool floating; } elements[] = {
    [CJ_TENSOR_MAP_U8] = { 1, false },      [CJ_TENSOR_MAP_U16] = { 2, false },    [CJ_TENSOR_MAP_U32] = { 4, false },
    [CJ_TENSOR_MAP_S32] = { 4, false },     [CJ_TENSOR_MAP_U64] = { 8, false },    [CJ_TENSOR_MAP_S64] = { 8, false },
    [CJ_TENSOR_MAP_F16] = { 2, true },      [CJ_TENSOR_MAP_F32] = { 4, true },     [CJ_TENSOR_MAP_F64] = { 8, true },
    [CJ_TENSOR_MAP_BF16] = { 2, true },     [CJ_TENSOR_MAP_F32_FTZ] = { 4, true }, [CJ_TENSOR_MAP_TF32] = { 4, true },
    [CJ_TENSOR_MAP_TF32_FTZ] = { 4, true },
};

/* A map that is being checked: whom to tell, in whose name. */
typedef struct map_request {
    cj_device *dev;
    cj_tensor_map_opts o;
    const char *call;
    bool columns;        /* im2col */
} map_request;

void cj_tensor_map_defaults(cj_tensor_map_opts *opts)
{
    if (opts) *opts = (cj_tensor_map_opts){ .size = sizeof *opts };
}

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

/* A number that is out of its range; `i` is the dimension, -1: none. */
static cj_status beyond(const map_request *q, const char *what, int i, int64_t is, const char *wants)
{
    char which[40] = "";
    if (i >= 0) snprintf(which, sizeof which, " of dimension %d", i);
    return cji_fail(q->dev, CJ_EINVAL, q->call, "the %s%s is %lld, wants %s", what, which, (long long)is, wants);
}

static cj_status good_names(const map_request *q)
{
    const cj_tensor_map_opts *o = &q->o;
    const struct { const char *what; int32_t is, count; } names[] = {
        { "type", o->type, sizeof elements / sizeof *elements },
        { "interleave", o->interleave, CJ_TENSOR_MAP_INTERLEAVE_32B + 1 },
        { "swizzle", o->swizzle, CJ_SWIZZLE_128B + 1 },
        { "L2 promotion", o->l2, CJ_TENSOR_MAP_L2_256B + 1 },
        { "fill", o->fill, CJ_TENSOR_MAP_FILL_NAN + 1 },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].is < 0 || names[i].is >= names[i].count)
            return cji_fail(q->dev, CJ_EINVAL, q->call, "there is no %s %d", names[i].what, (int)names[i].is);
    if (o->fill == CJ_TENSOR_MAP_FILL_NAN && !elements[o->type].floating)
        return cji_fail(q->dev, CJ_EINVAL, q->call, "CJ_TENSOR_MAP_FILL_NAN wants a type of floating point");
    if (o->interleave == CJ_TENSOR_MAP_INTERLEAVE_32B && o->swizzle != CJ_SWIZZLE_32B)
        return cji_fail(q->dev, CJ_EINVAL, q->call, "CJ_TENSOR_MAP_INTERLEAVE_32B wants CJ_SWIZZLE_32B");
    return CJ_OK;
}

static inline cj_status good_address(cj_device *dev, cj_dptr at, unsigned unit, const char *call)
{
    if (!at.addr) return cji_fail(dev, CJ_EINVAL, call, "the address is 0");
    if (at.addr % unit)
        return cji_fail(dev, CJ_EINVAL, call, "the address 0x%llx is not a multiple of %u",
                        (unsigned long long)at.addr, unit);
    return CJ_OK;
}

static inline cj_status good_device(cj_device *dev, const char *call)
{
    if (dev->info.sm_major >= 9) return CJ_OK;
    return cji_fail(dev, CJ_ENOTSUP, call, "tensor maps need sm_90; device %d is %s", dev->ordinal, dev->sm);
}

static cj_status good_tensor(const map_request *q)
{
    const cj_tensor_map_opts *o = &q->o;
    const bool deep = q->columns || o->interleave, wide = o->interleave == CJ_TENSOR_MAP_INTERLEAVE_32B;
    const unsigned unit = wide ? MAP_WIDE_UNIT : MAP_UNIT;
    if (o->dims < (deep ? FEWEST_DIMS_OF_COLUMNS : 1) || o->dims > MOST_DIMS_OF_MAP)
        return beyond(q, "number of dimensions", -1, o->dims, deep ? "3 to 5" : "1 to 5");
    cj_status st = good_address(q->dev, o->address, unit, q->call);
    if (st != CJ_OK) return st;
    for (uint32_t i = 0; i < o->dims; i++) {
        if (!o->extent[i] || o->extent[i] > MOST_EXTENT)
            return beyond(q, "extent", (int)i, (int64_t)o->extent[i], "1 to 2^32");
        if (o->step[i] > MOST_STEP) return beyond(q, "step", (int)i, o->step[i], "1 to 8");
    }
    for (uint32_t i = 1; i < o->dims; i++)
        if (o->stride[i - 1] % unit || o->stride[i - 1] >= END_OF_STRIDES)
            return beyond(q, "stride", (int)i, (int64_t)o->stride[i - 1],
                          wide ? "a multiple of 32 bytes below 2^40" : "a multiple of 16 bytes below 2^40");
    return CJ_OK;
}

/* The innermost side of what is copied, against the swizzle's rows: in shared memory they follow one another. */
static cj_status good_rows_of_map(const map_request *q, uint64_t count, const char *what)
{
    static const uint32_t row[] = { [CJ_SWIZZLE_32B] = 32, [CJ_SWIZZLE_64B] = 64, [CJ_SWIZZLE_128B] = 128 };
    const uint64_t bytes = count * elements[q->o.type].bytes;
    if (q->o.interleave) return CJ_OK;
    if (bytes % 16)
        return cji_fail(q->dev, CJ_EINVAL, q->call, "the %s has %llu bytes in dimension 0, wants a multiple of 16",
                        what, (unsigned long long)bytes);
    if (q->o.swizzle && bytes > row[q->o.swizzle])
        return cji_fail(q->dev, CJ_EINVAL, q->call, "the %s has %llu bytes in dimension 0, the swizzle allows %u", what,
                        (unsigned long long)bytes, row[q->o.swizzle]);
    return CJ_OK;
}

static cj_status good_tile(const map_request *q)
{
    for (uint32_t i = 0; i < q->o.dims; i++)
        if (!q->o.tile[i] || q->o.tile[i] > MOST_SIDE) return beyond(q, "tile", (int)i, q->o.tile[i], "1 to 256");
    return good_rows_of_map(q, q->o.tile[0], "tile");
}

static cj_status good_columns(const map_request *q)
{
    static const struct { int32_t most; const char *range; } corner[] = {
        { 32767, "-32768 to 32767" }, { 127, "-128 to 127" }, { 15, "-16 to 15" },
    };
    const cj_tensor_map_opts *o = &q->o;
    const int32_t most = corner[o->dims - FEWEST_DIMS_OF_COLUMNS].most;
    const char *range = corner[o->dims - FEWEST_DIMS_OF_COLUMNS].range;
    for (uint32_t i = 0; i + 2 < o->dims; i++) {
        if (o->lower[i] < -most - 1 || o->lower[i] > most)
            return beyond(q, "lower corner", (int)i + 1, o->lower[i], range);
        if (o->upper[i] < -most - 1 || o->upper[i] > most)
            return beyond(q, "upper corner", (int)i + 1, o->upper[i], range);
    }
    if (!o->channels || o->channels > MOST_SIDE) return beyond(q, "number of channels", -1, o->channels, "1 to 256");
    if (!o->pixels || o->pixels > MOST_PIXELS) return beyond(q, "number of pixels", -1, o->pixels, "1 to 1024");
    return good_rows_of_map(q, o->channels, "pixel");
}

/* ---- Encoding ---------------------------------------------------------------------------------------------------- */

static cj_status begin_map(map_request *q, cj_device *dev, const cj_tensor_map_opts *opts, cj_tensor_map *map,
                           bool columns, const char *call)
{
    if (map) memset(map, 0, sizeof *map);
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st != CJ_OK) return st;
    *q = (map_request){ .dev = dev, .call = call, .columns = columns };
    if (!map || !opts) return cji_fail(dev, CJ_EINVAL, call, "the %s NULL", map ? "options are" : "map is");
    if (!cji_opts_take(&q->o, sizeof q->o, opts, dev, call, "cj_tensor_map")) return CJ_EINVAL;
    if ((st = good_names(q)) != CJ_OK || (st = good_tensor(q)) != CJ_OK) return st;
    if ((st = columns ? good_columns(q) : good_tile(q)) != CJ_OK) return st;
    if ((st = good_device(dev, call)) != CJ_OK) return st;
    for (int i = 0; i < MOST_DIMS_OF_MAP; i++)
        if (!q->o.step[i]) q->o.step[i] = 1;
    return CJ_OK;
}

/* The driver wants its structure aligned to 64; the caller's need not be. */
static cj_status encode_map(map_request *q, cj_tensor_map *map)
{
    CUtensorMap raw = { { 0 } };
    cji_scope scope;
    const cj_tensor_map_opts *o = &q->o;
    void *at = (void *)(uintptr_t)o->address.addr;
    const CUtensorMapDataType type = (CUtensorMapDataType)o->type;
    const CUtensorMapInterleave interleave = (CUtensorMapInterleave)o->interleave;
    const CUtensorMapSwizzle swizzle = (CUtensorMapSwizzle)o->swizzle;
    const CUtensorMapL2promotion l2 = (CUtensorMapL2promotion)o->l2;
    const CUtensorMapFloatOOBfill fill = (CUtensorMapFloatOOBfill)o->fill;
    cj_status st = cji_scope_begin_relaxed(q->dev, q->dev, &scope, q->call);
    if (st != CJ_OK) return st;
    CUresult r = q->columns ? q->dev->api.cuTensorMapEncodeIm2col(&raw, type, o->dims, at, o->extent, o->stride,
                                                                  o->lower, o->upper, o->channels, o->pixels, o->step,
                                                                  interleave, swizzle, l2, fill)
                            : q->dev->api.cuTensorMapEncodeTiled(&raw, type, o->dims, at, o->extent, o->stride, o->tile,
                                                                 o->step, interleave, swizzle, l2, fill);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS)
        return cji_cu_fail(q->dev, q->dev, r, q->columns ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled",
                           q->call);
    memcpy(map, &raw, sizeof *map);
    return CJ_OK;
}

cj_status cj_tensor_map_tiled(cj_device *dev, const cj_tensor_map_opts *opts, cj_tensor_map *map)
{
    map_request q;
    cj_status st = begin_map(&q, dev, opts, map, false, __func__);
    return st != CJ_OK ? st : encode_map(&q, map);
}

cj_status cj_tensor_map_im2col(cj_device *dev, const cj_tensor_map_opts *opts, cj_tensor_map *map)
{
    map_request q;
    cj_status st = begin_map(&q, dev, opts, map, true, __func__);
    return st != CJ_OK ? st : encode_map(&q, map);
}

/* ---- Another address --------------------------------------------------------------------------------------------- */

static const char replace_call[] = "cj_tensor_map_replace_address";

static inline cj_status replace_raw(cj_device *dev, CUtensorMap *raw, void *at)
{
    const CUresult r = dev->api.cuTensorMapReplaceAddress(raw, at);
    return r == CUDA_SUCCESS ? CJ_OK : cji_cu_fail(dev, dev, r, "cuTensorMapReplaceAddress", replace_call);
}

/* The driver computes on the host alone, and no capture forbids that: the capture mode stays. */
static cj_status replace_in_scope(cj_device *dev, CUtensorMap *raw, void *at)
{
    cji_scope scope;
    cj_status st = cji_scope_begin(dev, dev, &scope, replace_call);
    if (st != CJ_OK) return st;
    st = replace_raw(dev, raw, at);
    cji_scope_leave(&scope);
    return st;
}

/* In the usual case the context is current, and a scope would set nothing. */
static inline cj_status replace_quickly(cj_device *dev, CUtensorMap *raw, void *at)
{
    CUcontext now = NULL;
    const bool current = dev->api.cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == dev->ctx;
    return current ? replace_raw(dev, raw, at) : replace_in_scope(dev, raw, at);
}

static __attribute__((noinline)) cj_status replace_in_copy(cj_device *dev, cj_tensor_map *map, void *at)
{
    CUtensorMap copy;
    memcpy(&copy, map, sizeof copy);
    cj_status st = replace_quickly(dev, &copy, at);
    if (st == CJ_OK) memcpy(map, &copy, sizeof copy);
    return st;
}

/* Made for each map of a launch with other memory, so a map that is aligned as the driver wants it is not copied.  Only
 * the driver can read what else the map has: it checks what an interleave wants of the address. */
cj_status cj_tensor_map_replace_address(cj_device *dev, cj_tensor_map *map, cj_dptr address)
{
    void *at = (void *)(uintptr_t)address.addr;
    cj_status st = cji_is_live(dev, CJI_TAG_DEVICE) ? CJ_OK : cji_check(dev, CJI_TAG_DEVICE, replace_call);
    if (st != CJ_OK) return st;
    if (!map) return cji_fail(dev, CJ_EINVAL, replace_call, "the map is NULL");
    if ((st = good_address(dev, address, MAP_UNIT, replace_call)) != CJ_OK) return st;
    if ((st = good_device(dev, replace_call)) != CJ_OK) return st;
    if ((uintptr_t)map % _Alignof(CUtensorMap)) return replace_in_copy(dev, map, at);
    return replace_quickly(dev, (CUtensorMap *)(void *)map, at);
}
