/* The tensor maps of paths wgmma and scalar: how the hardware finds tiles of A, B and the result. */
#include "kernels/gemm_core.h"

enum { BOX_BYTES = 128, BOX_ROWS = 64 };

/* Bytes from an outer index to the next one, as a map takes them: if there is one index only, any multiple of 16. */
static uint64_t map_stride(uint64_t inner, uint64_t outer, int64_t by, size_t size)
{
    return outer > 1 ? (uint64_t)by * size : cjk_pieces(inner * size, 16) * 16;
}

/* A plane: `outer` indices of `k` neighbours each.  Tiles of 128 bytes across are swizzled. */
static cj_status encode(cj_stream *s, cj_device *dev, int32_t type, size_t size, const cjk_gemm_operand *x,
                        uint64_t batches, uint32_t tile_columns, uint32_t tile_rows, cj_tensor_map *out,
                        const char *call)
{
    uint64_t stride = map_stride(x->k, x->outer, x->by_outer, size);
    bool one = batches <= 1 || !x->by_batch;
    cj_status st = cj_tensor_map_tiled(dev,
        CJ_TENSOR_MAP(.type = type, .dims = 3, .address = x->data, .extent = { x->k, x->outer, one ? 1 : batches },
                      .stride = { stride, one ? stride : (uint64_t)x->by_batch * size },
                      .tile = { tile_columns, tile_rows, 1 },
                      .swizzle = tile_columns * size == BOX_BYTES ? CJ_SWIZZLE_128B : CJ_SWIZZLE_NONE,
                      .l2 = CJ_TENSOR_MAP_L2_128B), out);
    return st == CJ_OK ? CJ_OK : cj_object_fail_from(s, dev, call);
}

static int32_t map_type(const cjk_gemm *g, int i)
{
    if (g->o.elements == CJ_GEMM_ELEMENTS_TF32 && i != CJK_GEMM_OUT) return CJ_TENSOR_MAP_TF32;
    switch (g->type[i]) {
    case CJ_F16: return CJ_TENSOR_MAP_F16;
    case CJ_BF16: return CJ_TENSOR_MAP_BF16;
    case CJ_F32: return CJ_TENSOR_MAP_F32;
    case CJ_S32: return CJ_TENSOR_MAP_S32;
    case CJ_U32: return CJ_TENSOR_MAP_U32;
    default: return CJ_TENSOR_MAP_U8;
    }
}

cj_status cjk_gemm_map_of(cj_stream *s, const cjk_gemm *g, const cjk_map_key *key, int i, cj_tensor_map *map,
                          const char *call)
{
    const cjk_gemm_variant *v = &g->v[key->variant];
    cjk_gemm_operand x = key->x[i];
    size_t size = cjk_size(g->type[i]);
    uint32_t across = BOX_BYTES / (uint32_t)size, rows = BOX_ROWS;
    if (i != CJK_GEMM_OUT) {
        uint32_t side = i == CJK_GEMM_A ? v->rows : v->columns;
        rows = side;
        if (v->next[i] == CJK_OUTER_NEXT) {
            x = (cjk_gemm_operand){ x.data, x.k, x.outer, x.by_k, x.by_outer, x.by_batch };
            rows = across;
            if (v->path == CJ_GEMM_SCALAR) across = side; /* the whole tile, not a part that wgmma takes */
        }
    } else if (!key->by_map) {
        *map = (cj_tensor_map){ { 0 } };
        return CJ_OK;
    }
    return encode(s, g->code.dev, map_type(g, i), size, &x, key->batches, across, rows, map, call);
}

cj_status cjk_gemm_map_move(cj_stream *s, const cjk_gemm *g, const cjk_map_key *key, int i, cj_tensor_map *map,
                            const char *call)
{
    if (i == CJK_GEMM_OUT && !key->by_map) return CJ_OK;
    if (!g->replaces) return cjk_gemm_map_of(s, g, key, i, map, call);
    if (cj_tensor_map_replace_address(g->code.dev, map, key->x[i].data) == CJ_OK) return CJ_OK;
    return cj_object_fail_from(s, g->code.dev, call);
}
