/* Managed memory: where it should lie. */
#include "stream/core/work_hooks.h"
#include "stream/memory/stream_memory.h"

/* Whether the device moves managed memory on demand, which prefetch and advice want; a failure is left in `into`. */
static cj_status managed_moves(void *into, const cj_device *dev, const char *call)
{
    int can = 0;
    if (dev->api.cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, dev->cu) ==
            CUDA_SUCCESS &&
        can)
        return CJ_OK;
    return cji_fail(into, CJ_ENOTSUP, call, "device %d does not move managed memory on demand", dev->ordinal);
}

/* A result of the driver, which says too little of memory that is of another kind. */
static cj_status managed_rejected(void *into, const cj_device *dev, CUresult r, cj_dptr d, size_t bytes,
                                  const char *call, const char *cu_call)
{
    if (r != CUDA_ERROR_INVALID_VALUE) return cji_rejected(into, dev, r, call, cu_call);
    return cji_cu_fail_as(into, dev, r, CJ_EDRIVER, cu_call, call,
                          "%s: %zu bytes at 0x%llx are not all managed memory; make that with cj_managed_alloc", call,
                          bytes, (unsigned long long)d.addr);
}

/* To a device, or to the host (NULL); the stream is checked. */
static cj_status managed_prefetch(cj_stream *s, cj_dptr d, size_t bytes, cj_device *to, const char *call);

static CJI_COLD cj_status prefetch_measured(cj_stream *s, cj_dptr d, size_t bytes, cj_device *to, const char *call)
{
    cji_work w;
    cji_work_begin(&w, s);
    cj_status st = managed_prefetch(s, d, bytes, to, call);
    cji_work_end(&w, s, st == CJ_OK,
                 &(cji_work_info){ .kind = CJ_PROFILE_PREFETCH,
                                   .name = to ? "prefetch to device" : "prefetch to host",
                                   .bytes = bytes });
    return st;
}

static cj_status managed_prefetch(cj_stream *s, cj_dptr d, size_t bytes, cj_device *to, const char *call)
{
    cji_scope scope;
    if (!bytes) return CJ_OK;
    if (cji_work_measured()) return prefetch_measured(s, d, bytes, to, call);
    if (atomic_load(&s->capturing) || cji_stream_captures(s->queue, s->raw))
        return cji_stream_failed(
            s, cji_fail(s, CJ_ESTATE, call,
                        "the stream is being captured, and a graph cannot move memory; do it before the launch"));
    cj_status st = managed_moves(s, s->dev, call);
    if (st == CJ_OK && to && to != s->dev) st = managed_moves(s, to, call);
    if (st == CJ_OK) st = cji_mem_use(s, s->dev, &(cji_range){ d.addr, bytes, "the memory" }, call);
    if (st == CJ_OK) st = cji_scope_begin(s, s->dev, &scope, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    CUresult r = s->cu->cuMemPrefetchAsync(d.addr, bytes, to ? to->cu : CU_DEVICE_CPU, s->raw);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) cji_count_one(s);
    return r == CUDA_SUCCESS
               ? CJ_OK
               : cji_stream_failed(s, managed_rejected(s, s->dev, r, d, bytes, call, "cuMemPrefetchAsync"));
}

cj_status cj_prefetch_to_device(cj_stream *s, cj_dptr d, size_t bytes)
{
    static const char call[] = "cj_prefetch_to_device";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    return st == CJ_OK ? managed_prefetch(s, d, bytes, s->dev, call) : st;
}

cj_status cj_prefetch_to_host(cj_stream *s, cj_dptr d, size_t bytes)
{
    static const char call[] = "cj_prefetch_to_host";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    return st == CJ_OK ? managed_prefetch(s, d, bytes, NULL, call) : st;
}

cj_status cj_prefetch(cj_stream *s, cj_dptr d, size_t bytes, cj_device *to)
{
    static const char call[] = "cj_prefetch";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = cji_check_arg(s, to, CJI_TAG_DEVICE, call, "the device to move to");
    if (st == CJ_OK && !cji_device_meets(to, s->dev))
        st = cji_cu_fail_apart(s, to, s->dev, call, "the device to move to is of another driver than the stream");
    return st == CJ_OK ? managed_prefetch(s, d, bytes, to, call) : cji_stream_failed(s, st);
}

static const struct managed_row {
    CUmem_advise set, unset;
    bool host;
} managed_rows[] = {
    [CJ_ADVICE_READ_MOSTLY] = { CU_MEM_ADVISE_SET_READ_MOSTLY, CU_MEM_ADVISE_UNSET_READ_MOSTLY, false },
    [CJ_ADVICE_PREFER_DEVICE] = { CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, false },
    [CJ_ADVICE_PREFER_HOST] = { CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, true },
    [CJ_ADVICE_USED_BY_DEVICE] = { CU_MEM_ADVISE_SET_ACCESSED_BY, CU_MEM_ADVISE_UNSET_ACCESSED_BY, false },
    [CJ_ADVICE_USED_BY_HOST] = { CU_MEM_ADVISE_SET_ACCESSED_BY, CU_MEM_ADVISE_UNSET_ACCESSED_BY, true },
};

static cj_status managed_advise(cj_device *dev, cj_dptr d, size_t bytes, cj_advice advice, bool set, const char *call)
{
    cji_scope scope;
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st != CJ_OK) return st;
    if ((int)advice < CJ_ADVICE_READ_MOSTLY || advice > CJ_ADVICE_USED_BY_HOST)
        return cji_fail(
            dev, CJ_EINVAL, call,
            "%d is none of CJ_ADVICE_READ_MOSTLY, _PREFER_DEVICE, _PREFER_HOST, _USED_BY_DEVICE, _USED_BY_HOST",
            (int)advice);
    if (!d.addr || !bytes)
        return cji_fail(dev, CJ_EINVAL, call, "%zu bytes at 0x%llx are no memory", bytes, (unsigned long long)d.addr);
    st = managed_moves(dev, dev, call);
    if (st != CJ_OK) return st;
    const struct managed_row *row = &managed_rows[advice];
    cji_queue_scope(&dev->queue, &scope);
    CUresult r =
        dev->api.cuMemAdvise(d.addr, bytes, set ? row->set : row->unset, row->host ? CU_DEVICE_CPU : dev->cu);
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS ? CJ_OK : managed_rejected(dev, dev, r, d, bytes, call, "cuMemAdvise");
}

cj_status cj_managed_advise(cj_device *dev, cj_dptr d, size_t bytes, cj_advice advice)
{
    return managed_advise(dev, d, bytes, advice, true, "cj_managed_advise");
}
cj_status cj_managed_unadvise(cj_device *dev, cj_dptr d, size_t bytes, cj_advice advice)
{
    return managed_advise(dev, d, bytes, advice, false, "cj_managed_unadvise");
}
