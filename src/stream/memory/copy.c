/* Copies and fills. */
#include "stream/core/stream_core.h"

/* -- What host memory is --------------------------------------------------------------------------------------------- */

/* The driver's opinion of one byte of memory.  Asked in the plural, because that answers zeros, not an error, for ordinary memory. */
static cji_host_kind host_kind_at(const cji_cu *cu, const void *p)
{
    unsigned type = 0, managed = 0;
    CUpointer_attribute what[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED };
    void *values[] = { &type, &managed };
    if (cu->cuPointerGetAttributes(2, what, values, (CUdeviceptr)(uintptr_t)p) != CUDA_SUCCESS) return CJI_HOST_PAGEABLE;
    if (type == CU_MEMORYTYPE_HOST || managed) return CJI_HOST_PINNED;
    return type == CU_MEMORYTYPE_DEVICE ? CJI_HOST_DEVICE : CJI_HOST_PAGEABLE;
}

static cji_host_kind host_kind(const cji_cu *cu, const void *p, size_t bytes)
{
    cji_host_kind first = host_kind_at(cu, p);
    if (first != CJI_HOST_PINNED) return first;
    return host_kind_at(cu, (const char *)p + bytes - 1) == CJI_HOST_PINNED ? CJI_HOST_PINNED : CJI_HOST_PAGEABLE;
}

/* In a capture that somebody else began nobody would keep a staging piece, so the driver is given the memory itself. */
cji_host_kind cji_host_kind_of(const cj_stream *s, const void *p, size_t bytes)
{
    cji_host_kind kind = host_kind(s->cu, p, bytes);
    return kind == CJI_HOST_PAGEABLE && !atomic_load(&s->capturing) && cji_stream_captures(s->queue, s->raw) ? CJI_HOST_PINNED : kind;
}

/* -- Between host and device ----------------------------------------------------------------------------------------- */

typedef struct copy_job { uint64_t dev; void *to; const void *from; size_t bytes; } copy_job; /* to or from is NULL: the device's end */

/* Context current, range checked. */
static cj_status copy_enqueue(cj_stream *s, const copy_job *j, const char *call)
{
    const void *host = j->to ? j->to : j->from;
    CUresult r;
    switch (cji_host_kind_of(s, host, j->bytes)) {
    case CJI_HOST_DEVICE:
        return cji_fail(s, CJ_EINVAL, call, "the host's side is device memory; copy between device addresses with cj_copy");
    case CJI_HOST_PAGEABLE: {
        cji_staging *st = &cji_mem_state_of(s->dev)->staging; /* made when the range was checked */
        const cji_rows one = { .dev = j->dev, .to = j->to, .from = j->from, .width = j->bytes, .rows = 1 };
        return cji_staged_rows(s, st, &one, call);
    }
    case CJI_HOST_PINNED: break;
    }
    r = j->to ? s->cu->cuMemcpyDtoHAsync(j->to, j->dev, j->bytes, s->raw) : s->cu->cuMemcpyHtoDAsync(j->dev, j->from, j->bytes, s->raw);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(s, s->dev, r, call, j->to ? "cuMemcpyDtoHAsync" : "cuMemcpyHtoDAsync");
}

static cj_status copy_host(cj_stream *s, const copy_job *j, const char *call)
{
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK || !j->bytes) return st;
    if (!j->to && !j->from) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "the host's address is NULL"));
    st = cji_mem_use(s, j->dev, j->bytes, call, j->to ? "the source" : "the destination");
    cji_ctx ctx;
    if (st == CJ_OK) st = cji_ctx_begin(s, s->dev, &ctx, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    st = copy_enqueue(s, j, call);
    cji_ctx_leave(s->dev, &ctx);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    cji_count_one(s);
    cji_count(s, j->to ? &s->counts.to_host : &s->counts.to_device, j->bytes);
    return CJ_OK;
}

cj_status cj_copy_to_device(cj_stream *s, cj_dptr dst, const void *src, size_t bytes)
{
    return copy_host(s, &(copy_job){ .dev = dst.addr, .from = src, .bytes = bytes }, "cj_copy_to_device");
}

cj_status cj_copy_to_host(cj_stream *s, void *dst, cj_dptr src, size_t bytes)
{
    return copy_host(s, &(copy_job){ .dev = src.addr, .to = dst, .bytes = bytes }, "cj_copy_to_host");
}

/* -- On the device --------------------------------------------------------------------------------------------------- */

cj_status cj_copy(cj_stream *s, cj_dptr dst, cj_dptr src, size_t bytes)
{
    static const char call[] = "cj_copy";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK || !bytes) return st;
    if (dst.addr - src.addr < bytes || src.addr - dst.addr < bytes)
        return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "source and destination overlap"));
    st = cji_mem_use(s, dst.addr, bytes, call, "the destination");
    if (st == CJ_OK) st = cji_mem_use(s, src.addr, bytes, call, "the source");
    cji_ctx ctx;
    if (st == CJ_OK) st = cji_ctx_begin(s, s->dev, &ctx, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    CUresult r = s->cu->cuMemcpyDtoDAsync(dst.addr, src.addr, bytes, s->raw);
    cji_ctx_leave(s->dev, &ctx);
    if (r != CUDA_SUCCESS) return cji_stream_rejected(s, r, call, "cuMemcpyDtoDAsync");
    cji_count_one(s);
    cji_count(s, &s->counts.on_device, bytes);
    return CJ_OK;
}

/* `width` bytes an element. */
static cj_status copy_fill(cj_stream *s, uint64_t d, uint32_t value, unsigned width, size_t count, const char *call)
{
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK || !count) return st;
    if (d % width) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "0x%llx is not aligned to %u bytes", (unsigned long long)d, width));
    if (count > SIZE_MAX / width) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "%zu elements are beyond any memory", count));
    st = cji_mem_use(s, d, count * width, call, "the destination");
    cji_ctx ctx;
    if (st == CJ_OK) st = cji_ctx_begin(s, s->dev, &ctx, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    CUresult r;
    const char *cu_call;
    if (width == 1)
        r = s->cu->cuMemsetD8Async(d, (unsigned char)value, count, s->raw), cu_call = "cuMemsetD8Async";
    else if (width == 2)
        r = s->cu->cuMemsetD16Async(d, (unsigned short)value, count, s->raw), cu_call = "cuMemsetD16Async";
    else
        r = s->cu->cuMemsetD32Async(d, value, count, s->raw), cu_call = "cuMemsetD32Async";
    cji_ctx_leave(s->dev, &ctx);
    if (r == CUDA_SUCCESS) cji_count_one(s);
    return r == CUDA_SUCCESS ? CJ_OK : cji_stream_rejected(s, r, call, cu_call);
}

cj_status cj_fill8(cj_stream *s, cj_dptr d, uint8_t value, size_t count) { return copy_fill(s, d.addr, value, 1, count, "cj_fill8"); }
cj_status cj_fill16(cj_stream *s, cj_dptr d, uint16_t value, size_t count) { return copy_fill(s, d.addr, value, 2, count, "cj_fill16"); }
cj_status cj_fill32(cj_stream *s, cj_dptr d, uint32_t value, size_t count) { return copy_fill(s, d.addr, value, 4, count, "cj_fill32"); }
