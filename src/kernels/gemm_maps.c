/* The tensor maps of paths wgmma and scalar: how the hardware finds tiles of A, B and the result.  Maps of launches
 * before are kept, so a launch with the same memory and sizes encodes nothing. */
#include <string.h>

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

static cj_status encode_all(cj_stream *s, const cjk_gemm *g, const cjk_map_key *key, cj_tensor_map map[3],
                            const char *call)
{
    const cjk_gemm_variant *v = &g->v[key->variant];
    for (int i = 0; i < 2; i++) {
        cjk_gemm_operand x = key->x[i];
        size_t size = cjk_size(g->type[i]);
        uint32_t across = BOX_BYTES / (uint32_t)size, side = i == CJK_GEMM_A ? v->rows : v->columns, rows = side;
        if (v->next[i] == CJK_OUTER_NEXT) {
            x = (cjk_gemm_operand){ x.data, x.k, x.outer, x.by_k, x.by_outer, x.by_batch };
            rows = across;
            if (v->path == CJ_GEMM_SCALAR) across = side; /* the whole tile, not a part that wgmma takes */
        }
        cj_status st = encode(s, g->code.dev, map_type(g, i), size, &x, key->batches, across, rows, &map[i], call);
        if (st != CJ_OK) return st;
    }
    memset(&map[CJK_GEMM_OUT], 0, sizeof *map);
    if (!key->by_map) return CJ_OK;
    size_t size = cjk_size(g->type[CJK_GEMM_OUT]);
    return encode(s, g->code.dev, map_type(g, CJK_GEMM_OUT), size, &key->x[CJK_GEMM_OUT], key->batches,
                  BOX_BYTES / (uint32_t)size, BOX_ROWS, &map[CJK_GEMM_OUT], call);
}

cj_status cjk_gemm_maps_of(cj_stream *s, cjk_gemm *g, const cjk_map_key *key, cj_tensor_map map[3], const char *call)
{
    cjk_maps *m = &g->maps;
    bool found = false;
    pthread_mutex_lock(&m->lock);
    for (uint32_t i = 0; i < m->count && !found; i++) {
        found = memcmp(&m->key[i], key, sizeof *key) == 0;
        if (found) memcpy(map, m->map[i], sizeof m->map[i]);
    }
    pthread_mutex_unlock(&m->lock);
    if (found) return CJ_OK;
    cj_status st = encode_all(s, g, key, map, call);
    if (st != CJ_OK) return st;
    pthread_mutex_lock(&m->lock);
    uint32_t at = m->next++ % CJK_MAPS;
    m->key[at] = *key;
    memcpy(m->map[at], map, sizeof m->map[at]);
    if (m->count < CJK_MAPS) m->count++;
    pthread_mutex_unlock(&m->lock);
    return CJ_OK;
}
