/* Memory that grows in place between processes: its pieces exported as descriptors, and those of others imported. */
#include "stream/memory/vmem.h"

/* -- Out ----------------------------------------------------------------------------------------------------------- */

size_t cj_vmem_pieces(const cj_vmem *v)
{
    size_t n = 0;
    if (!cji_readable(v, CJI_TAG_VMEM, false)) return 0;
    cji_lock(&v->body->lock, CJI_LOCK_VMEM);
    for (const cji_vmem_piece *p = v->body->pieces; p && p->live; p = p->next) n++;
    cji_unlock(&v->body->lock, CJI_LOCK_VMEM);
    return n;
}

/* The piece has no handle of its own: the mapping keeps the memory. */
static CUresult vmem_give_out(const cji_cu *cu, const cji_vmem_piece *p, int *fd, const char **cu_call)
{
    CUmemGenericAllocationHandle handle;
    *cu_call = "cuMemRetainAllocationHandle";
    CUresult r = cu->cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)p->addr);
    if (r != CUDA_SUCCESS) return r;
    *cu_call = "cuMemExportToShareableHandle";
    r = cu->cuMemExportToShareableHandle(fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    cu->cuMemRelease(handle);
    return r;
}

cj_status cj_vmem_export(cj_vmem *v, size_t piece, int *fd, size_t *bytes)
{
    static const char call[] = "cj_vmem_export";
    const char *cu_call = "";
    cji_scope scope;
    CUresult r = CUDA_SUCCESS;
    cj_status st = cji_check(v, CJI_TAG_VMEM, call);
    if (st == CJ_OK && (!fd || !bytes)) st = cji_fail(v, CJ_EINVAL, call, "%s is NULL", fd ? "bytes" : "fd");
    if (st == CJ_OK) st = cji_scope_begin_relaxed(v, v->dev, &scope, call);
    if (st != CJ_OK) return st;
    cji_lock(&v->body->lock, CJI_LOCK_VMEM);
    const cji_vmem_piece *p = v->body->pieces;
    for (size_t i = 0; p && p->live && i < piece; i++) p = p->next;
    const bool there = p && p->live, may = there && p->ipc;
    if (may) r = vmem_give_out(v->body->mem.state->queue->cu, p, fd, &cu_call);
    if (may && r == CUDA_SUCCESS) *bytes = p->bytes;
    cji_unlock(&v->body->lock, CJI_LOCK_VMEM);
    cji_scope_leave(&scope);
    if (!there)
        return cji_fail(v, CJ_ENOTFOUND, call, "there is no piece %zu; cj_vmem_pieces() are %zu", piece,
                        cj_vmem_pieces(v));
    if (!may)
        return cji_fail(v, CJ_ESTATE, call,
                        "the memory at 0x%llx stays in its process; make the cj_vmem with CJ_VMEM(.ipc = 1)",
                        (unsigned long long)v->body->mem.addr);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(v, v->dev, r, call, cu_call);
}

/* -- In ------------------------------------------------------------------------------------------------------------ */

CUresult cji_vmem_open(const cji_vmem_body *b, int fd, CUmemGenericAllocationHandle *handle, const char **cu_call)
{
    const cji_cu *cu = b->mem.state->queue->cu;
    CUmemAllocationProp prop;
    *cu_call = "cuMemImportFromShareableHandle";
    CUresult r = cu->cuMemImportFromShareableHandle(handle, (void *)(intptr_t)fd,
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (r != CUDA_SUCCESS) return r;
    *cu_call = "cuMemGetAllocationPropertiesFromHandle";
    r = cu->cuMemGetAllocationPropertiesFromHandle(&prop, *handle);
    if (r == CUDA_SUCCESS && prop.location.id != b->mem.state->dev->cu) r = CUDA_ERROR_INVALID_DEVICE;
    if (r != CUDA_SUCCESS) cu->cuMemRelease(*handle);
    return r;
}

cj_status cj_vmem_import(cj_vmem *v, int fd, size_t bytes)
{
    static const char call[] = "cj_vmem_import";
    const char *cu_call = "";
    bool in_the_way = false;
    cji_scope scope;
    cj_status st = cji_check(v, CJI_TAG_VMEM, call);
    if (st != CJ_OK) return st;
    if (fd < 0 || !bytes || bytes % v->body->grain)
        return cji_fail(v, CJ_EINVAL, call,
                        "descriptor %d with %zu bytes; pass both as cj_vmem_export wrote them, the size is a multiple "
                        "of %zu", fd, bytes, v->body->grain);
    st = cji_scope_begin_relaxed(v, v->dev, &scope, call);
    if (st != CJ_OK) return st;
    const CUresult r = cji_vmem_take(v->body, fd, bytes, &in_the_way, &cu_call);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) return CJ_OK;
    if (in_the_way)
        return cji_fail(v, CJ_EBUSY, call, "memory that cj_vmem_shrink took away is behind the committed part while "
                                           "work uses it; synchronize first");
    if (!*cu_call)
        return cji_fail(v, CJ_EINVAL, call, "%zu bytes do not fit, %zu bytes of addresses are reserved", bytes,
                        v->body->reserved);
    if (r == CUDA_ERROR_INVALID_DEVICE)
        return cji_cu_fail_as(v, v->dev, r, CJ_EINVAL, cu_call, call,
                              "%s: the memory is another device's than that of the cj_vmem, device %d", call,
                              v->dev->ordinal);
    if (r == CUDA_ERROR_OUT_OF_MEMORY || r == CUDA_ERROR_NOT_SUPPORTED)
        return cji_rejected(v, v->dev, r, call, cu_call);
    return cji_cu_fail_as(v, v->dev, r, CJ_OK, cu_call, call,
                          "%s: descriptor %d is no memory, or of fewer than %zu bytes; pass both as cj_vmem_export "
                          "wrote them", call, fd, bytes);
}
