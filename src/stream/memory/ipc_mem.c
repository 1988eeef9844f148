/* Memory between processes: handles exported and imported. */
#include <string.h>

#include "stream/memory/stream_memory.h"

static CUresult ipc_memory_open(cj_stream *s, const cji_mem *m, const void *from, CUdeviceptr *d)
{
    const CUipcMemHandle *handle = from;
    (void)m;
    return s->dev->drv->by_value.cuIpcOpenMemHandle(d, *handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

static CUresult ipc_memory_close(const cji_mem *m) { return m->state->queue->cu->cuIpcCloseMemHandle(m->addr); }

const cji_mem_type cji_mem_imported = { .kind = CJ_MEM_KIND_IPC_IMPORTED,
                                        .name = "another process's",
                                        .cu_call = "cuIpcOpenMemHandle",
                                        .foreign = true,
                                        .alloc = ipc_memory_open,
                                        .release = ipc_memory_close };

/* What the bytes of a handle are. */
typedef struct memory_handle {
    CUipcMemHandle raw;
    uint64_t bytes;
} memory_handle;
_Static_assert(sizeof(memory_handle) == CJ_IPC_MEM_BYTES, "the driver's handle, and the size");

cj_dptr cj_ipc_import(cj_stream *s, const void *handle, size_t bytes)
{
    static const char call[] = "cj_ipc_import";
    const cj_dptr none = { 0 };
    memory_handle h;
    if (cji_check(s, CJI_TAG_STREAM, call) != CJ_OK) return none;
    if (!handle || bytes < sizeof h)
        return cji_stream_failed(
                   s, cji_fail(s, CJ_EINVAL, call, "a handle has %zu bytes, not %zu", sizeof h, handle ? bytes : 0)),
               none;
    if (!s->dev->drv->by_value.cuIpcOpenMemHandle)
        return cji_fail(s, CJ_ENOTSUP, call, "this driver has no memory between processes"), none;
    memcpy(&h, handle, sizeof h);
    return cji_mem_alloc(s, h.bytes, &cji_mem_imported, 0, &h.raw, call);
}

/* The size of memory of cj_ipc_alloc that begins at an address; 0: there is none. */
static size_t ipc_memory_bytes(cji_mem_state *state, uint64_t addr)
{
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    const cji_mem *m = cji_mem_holder(state, addr);
    const size_t bytes = m && m->addr == addr && m->type->kind == CJ_MEM_KIND_IPC ? m->bytes : 0;
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    return bytes;
}

cj_status cj_ipc_export(cj_device *dev, cj_dptr d, void *handle, size_t bytes)
{
    static const char call[] = "cj_ipc_export";
    memory_handle h;
    cji_scope scope;
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st != CJ_OK) return st;
    if (!handle || bytes < sizeof h)
        return cji_fail(dev, CJ_EINVAL, call, "the buffer has %zu bytes, a handle needs %zu (CJ_IPC_MEM_BYTES)",
                        handle ? bytes : 0, sizeof h);
    cji_mem_state *state = cji_mem_state_of(dev);
    if (!state) return cji_fail(dev, CJ_ENOMEM, call, "no host memory");
    h.bytes = ipc_memory_bytes(state, d.addr);
    if (!h.bytes)
        return cji_fail(
            dev, CJ_EINVAL, call,
            "0x%llx is not the start of memory of cj_ipc_alloc on device %d; other memory stays in its process",
            (unsigned long long)d.addr, cj_device_ordinal(dev));
    st = cji_scope_begin_relaxed(dev, dev, &scope, call);
    if (st != CJ_OK) return st;
    CUresult r = dev->api.cuIpcGetMemHandle(&h.raw, d.addr);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS) return cji_rejected(dev, dev, r, call, "cuIpcGetMemHandle");
    memcpy(handle, &h, sizeof h);
    return CJ_OK;
}
