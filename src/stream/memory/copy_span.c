/* The usual copies: one range, on the device or between it and host memory.  copy_shape.c measures all others. */
#include "stream/core/work_hooks.h"
#include "stream/memory/stream_memory.h"

/* -- What host memory is ------------------------------------------------------------------------------------------- */

/* What the driver reports of one byte of memory.  Asked for several attributes at once it answers zeros, not an
 * error, for ordinary memory. */
static cji_host_kind host_kind_at(const cji_cu *cu, const void *p)
{
    unsigned type = 0, managed = 0;
    CUpointer_attribute what[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED };
    void *values[] = { &type, &managed };
    CUresult r = cu->cuPointerGetAttributes(2, what, values, (CUdeviceptr)(uintptr_t)p);
    if (r != CUDA_SUCCESS) return CJI_HOST_PAGEABLE;
    if (type == CU_MEMORYTYPE_HOST || managed) return CJI_HOST_PINNED;
    return type == CU_MEMORYTYPE_DEVICE ? CJI_HOST_INVALID : CJI_HOST_PAGEABLE;
}

static cji_host_kind host_kind_both(const cji_cu *cu, const void *p, size_t bytes)
{
    cji_host_kind first = host_kind_at(cu, p);
    if (first != CJI_HOST_PINNED) return first;
    return host_kind_at(cu, (const char *)p + bytes - 1) == CJI_HOST_PINNED ? CJI_HOST_PINNED : CJI_HOST_PAGEABLE;
}

cji_host_kind cji_host_kind_of(cj_stream *s, const void *p, size_t bytes, const char *which, const char *call)
{
    const cji_host_kind kind = host_kind_both(s->cu, p, bytes);
    if (kind == CJI_HOST_INVALID)
        cji_fail(s, CJ_EINVAL, call, "%sthe host's side is device memory; copy between device addresses with cj_copy",
                 which);
    if (kind != CJI_HOST_PAGEABLE || atomic_load(&s->capturing)) return kind;
    return cji_stream_captures(s->queue, s->raw) ? CJI_HOST_PINNED : CJI_HOST_PAGEABLE;
}

/* -- Enqueuing; context current ------------------------------------------------------------------------------------ */

void cji_copy_count(cj_stream *s, bool to_host, bool from_host, size_t bytes)
{
    cji_counts *c = &s->counts;
    cji_count_one(s);
    cji_count(s, to_host ? &c->to_host : from_host ? &c->to_device : &c->on_device, bytes);
    cji_count(s, to_host ? &c->copies_to_host : from_host ? &c->copies_to_device : &c->copies_on_device, 1);
}

static cj_status span_staged(cj_stream *s, const cji_span *j, const char *call)
{
    cji_staging *staging = &cji_mem_state_of(s->dev)->staging; /* made when the range was checked */
    const cji_rows row = {
        .dev = j->to ? j->src : j->dst,
        .to = j->to,
        .from = j->from,
        .dev_pitch = j->bytes,
        .host_pitch = j->bytes,
        .width = j->bytes,
        .rows = 1,
    };
    return cji_staging_copy(s, staging, &row, call);
}

static CUresult span_enqueue(cj_stream *s, const cji_span *j, const char **cu_call)
{
    if (j->to) return *cu_call = "cuMemcpyDtoHAsync", s->cu->cuMemcpyDtoHAsync(j->to, j->src, j->bytes, s->raw);
    if (j->from) return *cu_call = "cuMemcpyHtoDAsync", s->cu->cuMemcpyHtoDAsync(j->dst, j->from, j->bytes, s->raw);
    return *cu_call = "cuMemcpyDtoDAsync", s->cu->cuMemcpyDtoDAsync(j->dst, j->src, j->bytes, s->raw);
}

int cji_copy_kind(bool to_host, bool from_host)
{
    return to_host ? CJ_PROFILE_COPY_TO_HOST : from_host ? CJ_PROFILE_COPY_TO_DEVICE : CJ_PROFILE_COPY;
}

static CJI_COLD cj_status span_with_times(cj_stream *s, const cji_span *j, const char *call)
{
    cji_work w;
    cji_work_begin(&w, s);
    cj_status st = cji_copy_span(s, j, call);
    cji_work_end(&w, s, st == CJ_OK,
                 &(cji_work_info){ .kind = cji_copy_kind(j->to, j->from), .name = "", .bytes = j->bytes });
    return st;
}

cj_status cji_copy_span(cj_stream *s, const cji_span *j, const char *call)
{
    if (cji_work_measured()) return span_with_times(s, j, call);
    const char *cu_call;
    const void *host = j->to ? j->to : j->from;
    const cji_host_kind kind = host ? cji_host_kind_of(s, host, j->bytes, j->which, call) : CJI_HOST_PINNED;
    if (kind == CJI_HOST_INVALID) return CJ_EINVAL;
    if (kind == CJI_HOST_PAGEABLE) {
        cj_status st = span_staged(s, j, call);
        if (st != CJ_OK) return st;
    } else {
        CUresult r = span_enqueue(s, j, &cu_call);
        if (r != CUDA_SUCCESS) return cji_rejected(s, s->dev, r, call, cu_call);
    }
    cji_copy_count(s, j->to, j->from, j->bytes);
    return CJ_OK;
}

/* -- The calls ----------------------------------------------------------------------------------------------------- */

/* Nothing is missing, and the ends do not overlap.  An end in host memory has the address 0. */
static bool span_is_plain(const cji_span *j)
{
    return (j->dst || j->to) && (j->src || j->from) && j->bytes && j->dst - j->src >= j->bytes &&
           j->src - j->dst >= j->bytes;
}

/* Any other copy of one range: it is empty, or measuring it finds what is wrong. */
static cj_status span_measured(cj_stream *s, const cji_span *j, const char *call)
{
    cji_copy b = cji_copy_row(s->dev, (cji_copy_end){ .addr = j->dst, .host = j->to },
                              (cji_copy_end){ .addr = j->src, .host = (void *)(uintptr_t)j->from }, j->bytes);
    cj_status st = cji_copy_use(s, &b, call);
    if (st == CJ_OK) st = cji_copy_run(s, &b, call);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}

cj_status cji_span_run(cj_stream *s, const cji_span *j, const char *call)
{
    cji_scope scope;
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (!span_is_plain(j)) return span_measured(s, j, call);
    if (!j->to) st = cji_mem_use(s, s->dev, &(cji_range){ j->dst, j->bytes, "the destination" }, call);
    if (st == CJ_OK && !j->from) st = cji_mem_use(s, s->dev, &(cji_range){ j->src, j->bytes, "the source" }, call);
    if (st == CJ_OK) st = cji_scope_begin(s, s->dev, &scope, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    st = cji_copy_span(s, j, call);
    cji_scope_leave(&scope);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}

cj_status cj_copy_to_device(cj_stream *s, cj_dptr dst, const void *src, size_t bytes)
{
    return cji_span_run(s, &(cji_span){ .dst = dst.addr, .from = src, .bytes = bytes, .which = "" },
                        "cj_copy_to_device");
}

cj_status cj_copy_to_host(cj_stream *s, void *dst, cj_dptr src, size_t bytes)
{
    return cji_span_run(s, &(cji_span){ .to = dst, .src = src.addr, .bytes = bytes, .which = "" }, "cj_copy_to_host");
}

cj_status cj_copy(cj_stream *s, cj_dptr dst, cj_dptr src, size_t bytes)
{
    return cji_span_run(s, &(cji_span){ .dst = dst.addr, .src = src.addr, .bytes = bytes, .which = "" }, "cj_copy");
}
