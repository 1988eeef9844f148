/* Batches of copies. All are checked before the first is enqueued. The copies of a batch have no order among each
 * other for the caller; here they follow each other. */
#include "sim/kinds/sim_kinds.h"

typedef struct sim_batch {
    sim_work **work; size_t n, made;
    size_t failed;                  /* the copy that was rejected; SIZE_MAX: none in particular */
} sim_batch;

static void sim_batch_free(sim_batch *b, sim_stream *s)
{
    for (size_t i = 0; i < b->made; i++) cji_sim_work_drop(b->work[i]);
    if (b->work) cji_sim_ref_drop(&s->ref);
    cji_free(b->work, b->n * sizeof *b->work);
}

/* The stream of a batch: not the legacy one, and not capturing. */
static CUresult sim_batch_stream(CUstream h, sim_stream **s)
{
    CUresult r = cji_sim_stream_for_work(h, s);
    if (!r && (*s)->legacy) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && (*s)->capture) r = cji_sim_capture_rejects(*s);
    return r;
}

/* Holds the stream: the lock is given up where a copy to pageable memory is waited for. */
static CUresult sim_batch_begin(sim_batch *b, sim_stream *s, size_t n)
{
    uint64_t bytes;
    *b = (sim_batch){ .failed = SIZE_MAX };
    if (!cji_sim_product(&bytes, n, sizeof *b->work)) return CUDA_ERROR_INVALID_VALUE;
    b->work = cji_alloc(bytes);
    if (!b->work) return CUDA_ERROR_OUT_OF_MEMORY;
    b->n = n;
    s->ref.refs++;
    return CUDA_SUCCESS;
}

static CUresult sim_batch_add(sim_batch *b, const CUDA_MEMCPY3D *p, sim_ctx *c)
{
    CUresult r = cji_sim_copy_work(p, c, &b->work[b->made]);
    if (!r) b->made++;
    else b->failed = b->made;
    return r;
}

static bool sim_order_known(CUmemcpySrcAccessOrder order)
{
    return order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ||
           order == CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

/* Enqueues the i-th copy, which the stream owns then. */
static CUresult sim_batch_enqueue(sim_batch *b, size_t i, sim_stream *s, CUmemcpySrcAccessOrder order)
{
    sim_copy *w = (sim_copy *)cji_sim_work_hold(b->work[i]);
    return cji_sim_copy_submit(s, w, false, order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
}

/* ---- Ranges ------------------------------------------------------------------------------------------------------ */

/* The attributes begin with the first copy, and each set holds until the next begins. */
static bool sim_batch_attributes_ok(const CUmemcpyAttributes *attrs, const size_t *first, size_t n, size_t count)
{
    if (!attrs || !first || !n || n > count || first[0]) return false;
    for (size_t i = 0; i < n; i++)
        if (!sim_order_known(attrs[i].srcAccessOrder) || attrs[i].flags & ~1u || first[i] >= count ||
            (i && first[i] <= first[i - 1]))
            return false;
    return true;
}

static CUresult sim_batch_ranges(sim_batch *b, const CUdeviceptr *dsts, const CUdeviceptr *srcs, const size_t *sizes,
                                 size_t count, sim_ctx *c)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < count && !r; i++) {
        CUDA_MEMCPY3D p = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = srcs[i],
                            .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = dsts[i],
                            .WidthInBytes = sizes[i], .Height = 1, .Depth = 1 };
        r = sizes[i] ? sim_batch_add(b, &p, c) : CUDA_ERROR_INVALID_VALUE;
        if (r) b->failed = i;
    }
    return r;
}

CUresult cji_sim_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                    CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx,
                                    CUstream h)
{
    sim_stream *s = NULL;
    sim_batch b = { .failed = SIZE_MAX };
    bool good = dsts && srcs && sizes && count && sim_batch_attributes_ok(attrs, attrsIdxs, numAttrs, count);
    sim_lock();
    CUresult r = good ? sim_batch_stream(h, &s) : CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_batch_begin(&b, s, count);
    if (!r) r = sim_batch_ranges(&b, dsts, srcs, sizes, count, s->ctx);
    for (size_t i = 0, set = 0; i < count && !r; i++) {
        while (set + 1 < numAttrs && attrsIdxs[set + 1] <= i) set++;
        r = sim_batch_enqueue(&b, i, s, attrs[set].srcAccessOrder);
        if (r) b.failed = i;
    }
    if (r && failIdx) *failIdx = b.failed;
    sim_batch_free(&b, s);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                       CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, CUstream h)
{
    return cji_sim_cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, NULL, h);
}

/* ---- Rows and slices --------------------------------------------------------------------------------------------- */

/* Extents and offsets count elements: those of the array that takes part, else bytes. 0: no array of that handle. */
static unsigned sim_operand_element(const CUmemcpy3DOperand *o)
{
    const sim_array *a = o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? cji_sim_array_of(o->op.array.array) : NULL;
    return o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? a ? a->element : 0 : 1;
}

/* One end, as cuMemcpy3D names it. */
typedef struct sim_operand {
    CUmemorytype type;
    CUdeviceptr at;
    CUarray array;
    uint64_t x, y, z, pitch, height;
} sim_operand;

static bool sim_operand_of(const CUmemcpy3DOperand *o, unsigned element, const CUextent3D *e, sim_operand *out)
{
    if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        *out = (sim_operand){ .type = CU_MEMORYTYPE_ARRAY, .array = o->op.array.array, .y = o->op.array.offset.y,
                              .z = o->op.array.offset.z };
        return cji_sim_product(&out->x, o->op.array.offset.x, element);
    }
    *out = (sim_operand){ .type = CU_MEMORYTYPE_UNIFIED, .at = o->op.ptr.ptr, .height = o->op.ptr.layerHeight };
    return o->type == CU_MEMCPY_OPERAND_TYPE_POINTER && (!o->op.ptr.rowLength || o->op.ptr.rowLength >= e->width) &&
           cji_sim_product(&out->pitch, o->op.ptr.rowLength, element);
}

static CUresult sim_batch_add_op(sim_batch *b, const CUDA_MEMCPY3D_BATCH_OP *op, sim_ctx *c)
{
    unsigned to = sim_operand_element(&op->dst), from = sim_operand_element(&op->src), element = to > from ? to : from;
    sim_operand dst, src;
    uint64_t width;
    if (!to || !from) return CUDA_ERROR_INVALID_HANDLE;
    if (!sim_order_known(op->srcAccessOrder) || op->flags & ~1u || !op->extent.width || !op->extent.height ||
        !op->extent.depth || !sim_operand_of(&op->dst, element, &op->extent, &dst) ||
        !sim_operand_of(&op->src, element, &op->extent, &src) || !cji_sim_product(&width, op->extent.width, element))
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D p = { .srcMemoryType = src.type, .srcDevice = src.at, .srcArray = src.array, .srcXInBytes = src.x,
                        .srcY = src.y, .srcZ = src.z, .srcPitch = src.pitch, .srcHeight = src.height,
                        .dstMemoryType = dst.type, .dstDevice = dst.at, .dstArray = dst.array, .dstXInBytes = dst.x,
                        .dstY = dst.y, .dstZ = dst.z, .dstPitch = dst.pitch, .dstHeight = dst.height,
                        .WidthInBytes = width, .Height = op->extent.height, .Depth = op->extent.depth };
    return sim_batch_add(b, &p, c);
}

CUresult cji_sim_cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
                                      unsigned long long flags, CUstream h)
{
    sim_stream *s = NULL;
    sim_batch b = { .failed = SIZE_MAX };
    sim_lock();
    CUresult r = numOps && opList && !flags ? sim_batch_stream(h, &s) : CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_batch_begin(&b, s, numOps);
    for (size_t i = 0; i < numOps && !r; i++) {
        r = sim_batch_add_op(&b, &opList[i], s->ctx);
        if (r) b.failed = i;
    }
    for (size_t i = 0; i < numOps && !r; i++) {
        r = sim_batch_enqueue(&b, i, s, opList[i].srcAccessOrder);
        if (r) b.failed = i;
    }
    if (r && failIdx) *failIdx = b.failed;
    sim_batch_free(&b, s);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags,
                                         CUstream h)
{
    return cji_sim_cuMemcpy3DBatchAsync(numOps, opList, NULL, flags, h);
}
