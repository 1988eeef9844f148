/* Copies.
 *
 * Host memory is pageable unless it was pinned, registered or made as managed memory. A copy from pageable memory
 * takes its bytes at the call (staged), so the source may be changed on return; a copy to pageable memory returns
 * when it is done. Copies inside the device return at once. */
#include "sim/kinds/sim_kinds.h"

#include <stdio.h>
#include <string.h>

static const sim_copy *sim_copy_of(const sim_work *w) { return (const sim_copy *)w; }

/* ---- Making the work --------------------------------------------------------------------------------------------- */

/* What a copy of that size reaches of one end. */
static sim_extent sim_copy_extent(const sim_copy_end *s, size_t width, size_t height, size_t depth)
{
    return (sim_extent){ .pitch = s->pitch, .slice = s->slice, .width = width, .height = height, .depth = depth };
}

/* One side in an array, whose elements are copied whole. */
static CUresult sim_copy_end_in_array(CUarray h, size_t lod, size_t x, size_t y, size_t z, const CUDA_MEMCPY3D *p,
                                      sim_copy_end *out)
{
    sim_array *a = cji_sim_array_of(h);
    uint64_t row, rows, slices;
    if (!a) return h ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    if (lod || x % a->element || p->WidthInBytes % a->element || !cji_sim_sum(&row, x, p->WidthInBytes) ||
        !cji_sim_sum(&rows, y, p->Height) || !cji_sim_sum(&slices, z, p->Depth) || row > a->extent.width ||
        rows > a->extent.height || slices > a->extent.depth)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (sim_copy_end){ .at = z * a->extent.slice + y * a->extent.pitch + x, .pitch = a->extent.pitch,
                           .slice = a->extent.slice, .array = a };
    return CUDA_SUCCESS;
}

/* One side of a copy: where it begins, and whether all of it is there. */
static CUresult sim_copy_end_of(CUmemorytype type, const void *host, CUdeviceptr device, size_t pitch, size_t height,
                                size_t x, size_t y, size_t z, const CUDA_MEMCPY3D *p, sim_copy_end *out)
{
    if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t base = type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)host : device, bytes;
    uint64_t row, rows, slice;
    if (!base || !cji_sim_sum(&row, p->WidthInBytes, x) || !cji_sim_sum(&rows, p->Height, y))
        return CUDA_ERROR_INVALID_VALUE;
    if (!pitch) pitch = row;
    if (!height) height = rows;
    if (pitch < row || height < rows || !cji_sim_product(&slice, pitch, height))
        return CUDA_ERROR_INVALID_VALUE; /* of a single row and slice too */
    *out = (sim_copy_end){ .pitch = pitch, .slice = slice };
    sim_extent e = sim_copy_extent(out, p->WidthInBytes, p->Height, p->Depth);
    if (!cji_sim_extent_at(&e, base, x, y, z, &out->at) || !cji_sim_extent_bytes(&e, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    sim_range range;
    bool known = cji_sim_space_find(out->at, &range);
    out->host = !known || cji_sim_range_is_host(&range);
    out->pageable = !known;
    if (type == CU_MEMORYTYPE_HOST && known && !out->host) return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_MEMORYTYPE_DEVICE && !known) return CUDA_ERROR_INVALID_VALUE;
    if (!known) return cji_sim_space_hides(out->at) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    return cji_sim_space_at(NULL, out->at, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool sim_copy_end_reached(const sim_copy_end *s, const sim_ctx *c)
{
    sim_range r;
    return s->host || s->array || !cji_sim_space_find(s->at, &r) || !r.pool || cji_sim_space_at(c, s->at, 1);
}

static bool sim_copy_end_allowed(const sim_copy_end *s, const CUDA_MEMCPY3D *p, const sim_ctx *c, bool write)
{
    uint64_t bytes;
    sim_extent e = sim_copy_extent(s, p->WidthInBytes, p->Height, p->Depth);
    return s->pageable || s->array ||
           (cji_sim_extent_bytes(&e, &bytes) && cji_sim_space_allows(c, s->at, bytes, write));
}

CUresult cji_sim_copy_node_work(const CUDA_MEMCPY3D *p, sim_ctx *c, sim_work **out)
{
    CUresult r = cji_sim_copy_work(p, c, out);
    if (r || !sim_copy_of(*out)->depth ||
        (sim_copy_end_reached(&sim_copy_of(*out)->dst, c) && sim_copy_end_reached(&sim_copy_of(*out)->src, c)))
        return r;
    cji_sim_work_drop(*out);
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult sim_copy_ends(const CUDA_MEMCPY3D *p, const sim_ctx *c, sim_copy_end *dst, sim_copy_end *src)
{
    CUresult r = p->dstMemoryType == CU_MEMORYTYPE_ARRAY
                     ? sim_copy_end_in_array(p->dstArray, p->dstLOD, p->dstXInBytes, p->dstY, p->dstZ, p, dst)
                     : sim_copy_end_of(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstPitch, p->dstHeight,
                                       p->dstXInBytes, p->dstY, p->dstZ, p, dst);
    if (!r && !sim_copy_end_allowed(dst, p, c, true)) r = CUDA_ERROR_INVALID_VALUE;
    if (r) return r;
    r = p->srcMemoryType == CU_MEMORYTYPE_ARRAY
            ? sim_copy_end_in_array(p->srcArray, p->srcLOD, p->srcXInBytes, p->srcY, p->srcZ, p, src)
            : sim_copy_end_of(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcPitch, p->srcHeight, p->srcXInBytes,
                              p->srcY, p->srcZ, p, src);
    if (!r && !sim_copy_end_allowed(src, p, c, false)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && dst->array && src->array && dst->array->element != src->array->element) r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

static void sim_copy_end_hold(const sim_copy_end *s)
{
    if (s->array) s->array->ref.refs++;
}

CUresult cji_sim_copy_work(const CUDA_MEMCPY3D *p, sim_ctx *c, sim_work **out)
{
    sim_copy_end dst, src;
    bool empty = !p->WidthInBytes || !p->Height || !p->Depth;
    if (p->reserved0 || p->reserved1)
        return CUDA_ERROR_INVALID_VALUE; /* the levels of detail are arrays': not checked */
    CUresult r = empty ? CUDA_SUCCESS : sim_copy_ends(p, c, &dst, &src);
    if (r) return r;
    sim_copy *w = (sim_copy *)cji_sim_work_new(&cji_sim_kind_copy, c, sizeof *w);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->raw = *p;
    if (!empty) {
        w->dst = dst;
        w->src = src;
        w->width = p->WidthInBytes;
        w->height = p->Height;
        w->depth = p->Depth;
        sim_copy_end_hold(&dst);
        sim_copy_end_hold(&src);
    }
    *out = &w->work;
    return CUDA_SUCCESS;
}

/* ---- Doing it ---------------------------------------------------------------------------------------------------- */

/* An array that was destroyed is still there for the work that holds it, but no copy may use it. */
static unsigned char *sim_copy_array_at(sim_op *op, const sim_copy_end *s, bool write)
{
    char sentence[120];
    sim_lock();
    bool live = s->array->live;
    if (!live) {
        snprintf(sentence, sizeof sentence, "a copy %s an array that was destroyed", write ? "to" : "from");
        cji_sim_op_fails(op, CUDA_ERROR_ILLEGAL_ADDRESS, sentence);
    }
    sim_unlock();
    return live ? s->array->data + s->at : NULL;
}

/* Memory is looked up again when the copy runs: it may have been freed since the call. */
static unsigned char *sim_copy_end_at(sim_op *op, const sim_copy_end *s, const sim_copy *w, bool write)
{
    if (s->pageable) return (unsigned char *)(uintptr_t)s->at;
    if (s->array) return sim_copy_array_at(op, s, write);
    uint64_t bytes = 0;
    sim_extent e = sim_copy_extent(s, w->width, w->height, w->depth);
    cji_sim_extent_bytes(&e, &bytes);
    unsigned char *p = s->host == cji_sim_space_is_host(s->at) ? cji_sim_space_at(NULL, s->at, bytes) : NULL;
    bool allowed = p && cji_sim_space_allows(op->ctx, s->at, bytes, write);
    if (!allowed) {
        char why[160], sentence[260];
        if (p) snprintf(why, sizeof why, "the device may not %s (cuMemSetAccess)", write ? "write" : "read");
        else if (s->host)
            snprintf(why, sizeof why, "was pinned, registered or managed memory at the call and is no longer");
        else cji_sim_space_why(s->at, why, sizeof why);
        snprintf(sentence, sizeof sentence, "a copy of %llu bytes %s 0x%llx, which %s", (unsigned long long)bytes,
                 write ? "to" : "from", (unsigned long long)s->at, why);
        sim_lock();
        cji_sim_op_fails(op, CUDA_ERROR_ILLEGAL_ADDRESS, sentence);
        sim_unlock();
    }
    return allowed ? p : NULL;
}

static void sim_copy_run(sim_op *op)
{
    const sim_copy *w = sim_copy_of(op->work);
    if (!w->depth) return;
    unsigned char *dst = sim_copy_end_at(op, &w->dst, w, true),
                  *src = dst ? sim_copy_end_at(op, &w->src, w, false) : NULL;
    if (!dst || !src) return;
    for (size_t z = 0; z < w->depth; z++)
        for (size_t y = 0; y < w->height; y++)
            memmove(dst + z * w->dst.slice + y * w->dst.pitch, src + z * w->src.slice + y * w->src.pitch, w->width);
}

/* ---- The kind ---------------------------------------------------------------------------------------------------- */

static void sim_copy_drop(sim_work *w)
{
    const sim_copy *c = sim_copy_of(w);
    if (c->staged) cji_free(c->staged, c->staged_bytes);
    if (c->dst.array) cji_sim_ref_drop(&c->dst.array->ref);
    if (c->src.array) cji_sim_ref_drop(&c->src.array->ref);
}

static CUresult sim_copy_read(CUgraphNodeParams *all, sim_graph *g, sim_work **out)
{
    const CUDA_MEMCPY3D *p = &all->memcpy.copyParams;
    sim_ctx *c;
    (void)g;
    CUresult r = cji_sim_ctx_for(all->memcpy.copyCtx, &c);
    if (!r && (!p->WidthInBytes || !p->Height || !p->Depth))
        r = CUDA_ERROR_INVALID_VALUE; /* a call copies nothing, a node does not */
    return r ? r : cji_sim_copy_node_work(p, c, out);
}

static void sim_copy_write(const sim_work *w, CUgraphNodeParams *p)
{
    p->memcpy.copyCtx = (CUcontext)w->ctx;
    p->memcpy.copyParams = sim_copy_of(w)->raw;
}

static bool sim_copy_replaces(const sim_work *old, const sim_work *w)
{
    const sim_copy *a = sim_copy_of(old), *b = sim_copy_of(w);
    return a->dst.host == b->dst.host && a->src.host == b->src.host && !a->dst.array == !b->dst.array &&
           !a->src.array == !b->src.array;
}

static CUgraphExecUpdateResult sim_copy_alike(const sim_work *a, const sim_work *b)
{
    return a->ctx == b->ctx && sim_copy_replaces(a, b) ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                                       : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

const sim_work_kind cji_sim_kind_copy = { .name = "memcpy",
                                          .node_type = CU_GRAPH_NODE_TYPE_MEMCPY,
                                          .traits = SIM_WORK_HELPS | SIM_WORK_WRITES_ANYTHING,
                                          .drop = sim_copy_drop,
                                          .run = sim_copy_run,
                                          .read_params = sim_copy_read,
                                          .write_params = sim_copy_write,
                                          .alike = sim_copy_alike,
                                          .replaces = sim_copy_replaces };
