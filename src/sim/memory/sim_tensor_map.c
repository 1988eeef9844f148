/* Tensor maps: 128 bytes that the engine reads where a kernel copies tiles of a tensor (cji_exec_tensor_map).
 *
 * The limits are those of the driver's manual; every violation is INVALID_VALUE there. What the engine does not copy is
 * NOT_SUPPORTED here. */
#include "sim/memory/sim_memory.h"

#include <string.h>

_Static_assert(sizeof(cji_exec_tensor_map) == sizeof(CUtensorMap), "a tensor map has 128 bytes");

enum { MAP_MOST_TILE = 256, MAP_MOST_STEP = 8, MAP_ALIGN = 16 };
#define MAP_MOST_EXTENT (UINT64_C(1) << 32)
#define MAP_END_OF_STRIDES (UINT64_C(1) << 40)

/* What every call for a tensor map wants. */
static CUresult map_begin(const CUtensorMap *map, const void *address)
{
    if (sim.set.sm < 90)
        return cji_sim_reject(CUDA_ERROR_NOT_SUPPORTED, "tensor maps need sm_90, and this device is sm_%u", sim.set.sm);
    if (!map || (uintptr_t)map % 64)
        return cji_sim_reject(CUDA_ERROR_INVALID_VALUE, "the map is NULL, or its address no multiple of 64");
    if (!address || (uintptr_t)address % MAP_ALIGN)
        return cji_sim_reject(CUDA_ERROR_INVALID_VALUE, "the address %p is no multiple of 16", address);
    return CUDA_SUCCESS;
}

/* A number of dimension `i` that is out of its range. */
static CUresult map_reject(const char *what, unsigned i, uint64_t is, const char *wants)
{
    return cji_sim_reject(CUDA_ERROR_INVALID_VALUE, "the %s of dimension %u is %llu: it is %s", what, i,
                          (unsigned long long)is, wants);
}

static CUresult map_dimensions(cji_exec_tensor_map *m, const cuuint64_t *extent, const cuuint64_t *stride,
                               const cuuint32_t *tile, const cuuint32_t *step)
{
    for (unsigned i = 0; i < m->dims; i++) {
        if (!extent[i] || extent[i] > MAP_MOST_EXTENT) return map_reject("extent", i, extent[i], "1 to 2^32");
        if (!tile[i] || tile[i] > MAP_MOST_TILE) return map_reject("tile", i, tile[i], "1 to 256");
        if (!step[i] || step[i] > MAP_MOST_STEP) return map_reject("element stride", i, step[i], "1 to 8");
        m->last[i] = (uint32_t)(extent[i] - 1);
        m->tile[i] = (uint16_t)tile[i];
        m->step[i] = (uint8_t)step[i];
        if (!i) continue;
        if (stride[i - 1] % MAP_ALIGN || stride[i - 1] >= MAP_END_OF_STRIDES)
            return map_reject("stride", i, stride[i - 1], "a multiple of 16 bytes below 2^40");
        m->stride[i - 1] = stride[i - 1];
    }
    return CUDA_SUCCESS;
}

/* In shared memory a tile's rows follow one another. */
static CUresult map_rows(const cji_exec_tensor_map *m)
{
    const uint32_t bytes = m->tile[0] * cji_exec_tensor_element(m->type), width = 16u << m->swizzle;
    if (bytes % MAP_ALIGN)
        return cji_sim_reject(CUDA_ERROR_INVALID_VALUE, "the tile has %u bytes in dimension 0: no multiple of 16",
                              bytes);
    if (m->swizzle && bytes > width)
        return cji_sim_reject(CUDA_ERROR_INVALID_VALUE, "the tile has %u bytes in dimension 0: the swizzle allows %u",
                              bytes, width);
    if (m->swizzle && bytes < width)
        return cji_sim_reject(CUDA_ERROR_NOT_SUPPORTED,
                              "the tile has %u bytes in dimension 0: the CPU device swizzles rows of %u bytes only",
                              bytes, width);
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                        const cuuint64_t *extent, const cuuint64_t *stride, const cuuint32_t *tile,
                                        const cuuint32_t *step, CUtensorMapInterleave interleave,
                                        CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
                                        CUtensorMapFloatOOBfill fill)
{
    cji_exec_tensor_map m = { .magic = CJI_EXEC_TENSOR_MAGIC, .address = (uint64_t)(uintptr_t)address };
    CUresult r = map_begin(map, address);
    if (r) return r;
    if (!extent || !tile || !step || (rank > 1 && !stride))
        return cji_sim_reject(CUDA_ERROR_INVALID_VALUE, "an argument is NULL");
    if (!cji_exec_tensor_element(type) || !rank || rank > CJI_EXEC_TENSOR_DIMS)
        return cji_sim_reject(CUDA_ERROR_INVALID_VALUE, "there is no type %d, or no tensor of %u dimensions", (int)type,
                              rank);
    if ((unsigned)interleave > CU_TENSOR_MAP_INTERLEAVE_32B || (unsigned)swizzle > CU_TENSOR_MAP_SWIZZLE_128B ||
        (unsigned)l2 > CU_TENSOR_MAP_L2_PROMOTION_L2_256B || (unsigned)fill > 1)
        return cji_sim_reject(CUDA_ERROR_INVALID_VALUE,
                              "there is no interleave %d, swizzle %d, promotion %d or fill %d",
                              (int)interleave, (int)swizzle, (int)l2, (int)fill);
    if (interleave)
        return cji_sim_reject(CUDA_ERROR_NOT_SUPPORTED, "the CPU device copies no interleaved tensors");
    m.dims = (uint8_t)rank;
    m.type = (uint8_t)type;
    m.swizzle = (uint8_t)swizzle;
    m.nan = fill;
    r = map_dimensions(&m, extent, stride, tile, step);
    if (!r) r = map_rows(&m);
    if (!r) memcpy(map, &m, sizeof m);
    return r;
}

CUresult cji_sim_cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                         const cuuint64_t *extent, const cuuint64_t *stride, const int *lower,
                                         const int *upper, cuuint32_t channels, cuuint32_t pixels,
                                         const cuuint32_t *step, CUtensorMapInterleave interleave,
                                         CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
                                         CUtensorMapFloatOOBfill fill)
{
    (void)map, (void)type, (void)rank, (void)address, (void)extent, (void)stride, (void)lower, (void)upper;
    (void)channels, (void)pixels, (void)step, (void)interleave, (void)swizzle, (void)l2, (void)fill;
    return cji_sim_reject(CUDA_ERROR_NOT_SUPPORTED, "the CPU device copies no tensors in im2col mode");
}

CUresult cji_sim_cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
    cji_exec_tensor_map m;
    CUresult r = map_begin(map, address);
    if (r) return r;
    memcpy(&m, map, sizeof m);
    if (m.magic != CJI_EXEC_TENSOR_MAGIC)
        return cji_sim_reject(CUDA_ERROR_INVALID_VALUE,
                              "there is no tensor map at %p: cuTensorMapEncodeTiled makes them", (void *)map);
    m.address = (uint64_t)(uintptr_t)address;
    memcpy(map, &m, sizeof m);
    return CUDA_SUCCESS;
}
