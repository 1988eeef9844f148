/* Pools of the driver, which the user makes: of a device or of the host, and those that processes share.
 *
 * Their memory is an entry of the device's table, as other allocations of the driver's own are, and is freed in the
 * order of its home stream.  The driver keeps a destroyed pool while it has allocations: nothing here refers to it. */
#include <string.h>

#include "base/opts.h"
#include "stream/memory/stream_memory.h"

struct cj_mem_pool {
    cji_obj obj;
    cj_device *dev;         /* retained; NULL: failed */
    CUmemoryPool raw;
    bool wrapped, imported; /* other code's; another process's */
    bool ipc;               /* other processes can import it */
};

void cj_mem_pool_defaults(cj_mem_pool_opts *opts)
{
    if (opts) *opts = (cj_mem_pool_opts){ .size = sizeof *opts };
}

void cj_mem_pool_counts_defaults(cj_mem_pool_counts *counts)
{
    if (counts) *counts = (cj_mem_pool_counts){ .size = sizeof *counts };
}

/* -- Making -------------------------------------------------------------------------------------------------------- */

/* For `call`; without a device it has failed. */
static cj_mem_pool *new_pool(cj_device *dev, const char *call, cj_status *status)
{
    cj_mem_pool *p = cji_obj_new(sizeof *p, CJI_TAG_MEM_POOL, 0, call);
    *status = CJ_ENOMEM;
    if (cji_obj_failed(p)) return p;
    *status = cji_check_arg(p, dev, CJI_TAG_DEVICE, call, "the device");
    if (*status == CJ_OK) p->dev = cji_obj_retain(dev);
    return p;
}

static CUmemAccessDesc pool_access(const cj_device *dev)
{
    return (CUmemAccessDesc){ .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev->cu },
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
}

/* In a scope.  The device's kernels reach memory of the host only where they may. */
static CUresult make_pool(cj_mem_pool *p, const cj_mem_pool_opts *o, const char **cu_call)
{
    const cji_cu *cu = &p->dev->api;
    const CUmemAccessDesc access = pool_access(p->dev);
    cuuint64_t keep = o->keep_bytes;
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .handleTypes = o->ipc ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE,
                             .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = p->dev->cu },
                             .maxSize = o->max_bytes };
    if (o->place == CJ_MEM_PLACE_HOST) props.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST };
    if (o->place == CJ_MEM_PLACE_HOST_NUMA)
        props.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = o->numa_node };
    *cu_call = "cuMemPoolCreate";
    CUresult r = cu->cuMemPoolCreate(&p->raw, &props);
    if (r != CUDA_SUCCESS) return r;
    if (o->place != CJ_MEM_PLACE_DEVICE) {
        *cu_call = "cuMemPoolSetAccess";
        r = cu->cuMemPoolSetAccess(p->raw, &access, 1);
    }
    if (r == CUDA_SUCCESS && keep) {
        *cu_call = "cuMemPoolSetAttribute";
        r = cu->cuMemPoolSetAttribute(p->raw, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
    }
    if (r != CUDA_SUCCESS) cu->cuMemPoolDestroy(p->raw);
    return r;
}

static cj_status pool_rejected(cj_mem_pool *p, const cj_mem_pool_opts *o, CUresult r, const char *cu_call,
                               const char *call)
{
    enum { HOST_POOLS = 13000 };
    const cj_device *dev = p->dev;
    if (r == CUDA_ERROR_OUT_OF_MEMORY)
        return cji_cu_fail_as(p, dev, r, CJ_ENOMEM, cu_call, call, "%s: no memory for a pool", call);
    if (r == CUDA_ERROR_INVALID_VALUE && o->place != CJ_MEM_PLACE_DEVICE && dev->drv->version < HOST_POOLS)
        return cji_cu_fail_as(p, dev, r, CJ_ENOTSUP, cu_call, call,
                              "%s: pools of the host need a driver of CUDA 13.0; cj_host_alloc has such memory", call);
    if (r == CUDA_ERROR_INVALID_VALUE && o->place == CJ_MEM_PLACE_HOST_NUMA)
        return cji_cu_fail_as(p, dev, r, CJ_EINVAL, cu_call, call, "%s: the host has no node %d", call, o->numa_node);
    return cji_rejected(p, dev, r, call, cu_call);
}

static cj_status check_pool(cj_mem_pool *p, const cj_mem_pool_opts *o, const char *call)
{
    if (o->place < CJ_MEM_PLACE_DEVICE || o->place > CJ_MEM_PLACE_HOST_NUMA)
        return cji_fail(p, CJ_EINVAL, call, ".place is %d, no cj_mem_place", o->place);
    if (o->ipc != 0 && o->ipc != 1) return cji_fail(p, CJ_EINVAL, call, ".ipc is %d; it is 0 or 1", o->ipc);
    if (o->ipc && o->place == CJ_MEM_PLACE_HOST)
        return cji_fail(p, CJ_EINVAL, call,
                        "memory of CJ_MEM_PLACE_HOST stays in its process; CJ_MEM_PLACE_HOST_NUMA names a node of the "
                        "host");
    if (!p->dev->info.memory_pools)
        return cji_fail(p, CJ_ENOTSUP, call, "device %d has no memory pools", p->dev->ordinal);
    return CJ_OK;
}

static cj_status open_pool(cj_mem_pool *p, const cj_mem_pool_opts *opts, const char *call)
{
    const char *cu_call = "";
    cj_mem_pool_opts o;
    cji_scope scope;
    cj_mem_pool_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, opts, p, call, "cj_mem_pool")) return CJ_EINVAL;
    cj_status st = check_pool(p, &o, call);
    if (st == CJ_OK) st = cji_scope_begin_relaxed(p, p->dev, &scope, call);
    if (st != CJ_OK) return st;
    const CUresult r = make_pool(p, &o, &cu_call);
    cji_scope_leave(&scope);
    p->ipc = o.ipc;
    return r == CUDA_SUCCESS ? CJ_OK : pool_rejected(p, &o, r, cu_call, call);
}

cj_mem_pool *cj_mem_pool_create(cj_device *dev, const cj_mem_pool_opts *opts)
{
    static const char call[] = "cj_mem_pool_create";
    cj_status st;
    cj_mem_pool *p = new_pool(dev, call, &st);
    if (cji_obj_failed(p)) return p;
    if (st == CJ_OK) st = open_pool(p, opts, call);
    if (st != CJ_OK) cji_obj_set_failed(p);
    return p;
}

cj_mem_pool *cj_mem_pool_wrap(cj_device *dev, void *raw)
{
    static const char call[] = "cj_mem_pool_wrap";
    cj_status st;
    cj_mem_pool *p = new_pool(dev, call, &st);
    if (cji_obj_failed(p)) return p;
    if (st == CJ_OK && !raw) st = cji_fail(p, CJ_EINVAL, call, "the pool is NULL");
    p->raw = raw;
    p->wrapped = true;
    p->ipc = true; /* the driver knows */
    if (st != CJ_OK) cji_obj_set_failed(p);
    return p;
}

void cj_mem_pool_free(cj_mem_pool *p)
{
    cji_scope scope;
    if (!cji_check_free(p, CJI_TAG_MEM_POOL, "cj_mem_pool_free") || !cji_obj_release(p)) return;
    cj_device *dev = p->dev;
    if (!cji_obj_failed(p) && !p->wrapped) {
        cji_queue_scope(&dev->queue, &scope);
        dev->api.cuMemPoolDestroy(p->raw);
        cji_scope_leave(&scope);
    }
    cji_obj_delete(p, sizeof *p);
    if (dev) cji_device_drop(dev);
}

void *cj_mem_pool_raw(const cj_mem_pool *p) { return cji_readable(p, CJI_TAG_MEM_POOL, false) ? p->raw : NULL; }

/* -- Memory -------------------------------------------------------------------------------------------------------- */

static CUresult alloc_from_pool(cj_stream *s, const cji_mem *m, const void *from, CUdeviceptr *d)
{
    return s->cu->cuMemAllocFromPoolAsync(d, m->bytes, ((const cj_mem_pool *)from)->raw, s->raw);
}

static const cji_mem_type mem_of_pool = { .kind = CJ_MEM_KIND_POOL,
                                          .name = "the pool's",
                                          .cu_call = "cuMemAllocFromPoolAsync",
                                          .ordered = true,
                                          .alloc = alloc_from_pool,
                                          .release = cji_mem_release_plain };

/* Whether the stream and the pool are there, and of one device.  A failure is left in the stream. */
static cj_status check_alloc(cj_stream *s, const cj_mem_pool *p, const char *call)
{
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st == CJ_OK) st = cji_check_arg(s, p, CJI_TAG_MEM_POOL, call, "the pool");
    if (st != CJ_OK) return st;
    if (s->dev != p->dev)
        return cji_stream_failed(s, cji_cu_fail_apart(s, p->dev, s->dev, call,
                                                      "the pool is for streams of device %d, not of %d",
                                                      p->dev->ordinal, s->dev->ordinal));
    return CJ_OK;
}

cj_dptr cj_mem_pool_alloc(cj_mem_pool *p, cj_stream *s, size_t bytes)
{
    static const char call[] = "cj_mem_pool_alloc";
    const cj_dptr none = { 0 };
    if (check_alloc(s, p, call) != CJ_OK) return none;
    if (p->imported)
        return cji_stream_failed(s, cji_fail(s, CJ_ESTATE, call,
                                             "the pool is another process's, which allocates from it; "
                                             "cj_mem_pool_import_mem maps that here")),
               none;
    return cji_mem_alloc(s, bytes, &mem_of_pool, 0, p, call);
}

cj_status cj_mem_pool_enable_peer(cj_mem_pool *p, cj_device *peer)
{
    static const char call[] = "cj_mem_pool_enable_peer";
    cji_scope scope;
    cj_status st = cji_check(p, CJI_TAG_MEM_POOL, call);
    if (st == CJ_OK) st = cji_check_arg(p, peer, CJI_TAG_DEVICE, call, "the other device");
    if (st != CJ_OK) return st;
    if (!cji_device_meets(peer, p->dev))
        return cji_cu_fail_apart(p, peer, p->dev, call, "the devices are of two drivers");
    if (peer == p->dev) return CJ_OK;
    if (!cj_device_can_access_peer(peer, p->dev))
        return cji_fail(p, CJ_ENOTSUP, call, "device %d cannot access the memory of device %d; copy with cj_copy_peer",
                        peer->ordinal, p->dev->ordinal);
    const CUmemAccessDesc access = pool_access(peer);
    st = cji_scope_begin_relaxed(p, p->dev, &scope, call);
    if (st != CJ_OK) return st;
    const CUresult r = p->dev->api.cuMemPoolSetAccess(p->raw, &access, 1);
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(p, p->dev, r, call, "cuMemPoolSetAccess");
}

cj_status cj_mem_pool_trim(cj_mem_pool *p, size_t keep)
{
    static const char call[] = "cj_mem_pool_trim";
    cji_scope scope;
    cj_status st = cji_check(p, CJI_TAG_MEM_POOL, call);
    if (st == CJ_OK) st = cji_scope_begin_relaxed(p, p->dev, &scope, call);
    if (st != CJ_OK) return st;
    const CUresult r = p->dev->api.cuMemPoolTrimTo(p->raw, keep);
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(p, p->dev, r, call, "cuMemPoolTrimTo");
}

cj_status cj_mem_pool_get_counts(cj_mem_pool *p, cj_mem_pool_counts *counts)
{
    static const char call[] = "cj_mem_pool_get_counts";
    static const struct { CUmemPool_attribute attribute; size_t at; } rows[] = {
        { CU_MEMPOOL_ATTR_USED_MEM_CURRENT, offsetof(cj_mem_pool_counts, used_bytes) },
        { CU_MEMPOOL_ATTR_USED_MEM_HIGH, offsetof(cj_mem_pool_counts, used_bytes_most) },
        { CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, offsetof(cj_mem_pool_counts, reserved_bytes) },
        { CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, offsetof(cj_mem_pool_counts, reserved_bytes_most) },
    };
    cji_scope scope;
    CUresult r = CUDA_SUCCESS;
    cj_status st = cji_check(p, CJI_TAG_MEM_POOL, call);
    if (st != CJ_OK) return st;
    if (!counts || counts->size < sizeof counts->size)
        return cji_fail(p, CJ_EINVAL, call, "counts is NULL, or counts->size is not sizeof(cj_mem_pool_counts)");
    cj_mem_pool_counts full = { .size = counts->size };
    st = cji_scope_begin_relaxed(p, p->dev, &scope, call);
    if (st != CJ_OK) return st;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && r == CUDA_SUCCESS; i++) {
        cuuint64_t value = 0;
        r = p->dev->api.cuMemPoolGetAttribute(p->raw, rows[i].attribute, &value);
        memcpy((char *)&full + rows[i].at, &value, sizeof value);
    }
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS) return cji_rejected(p, p->dev, r, call, "cuMemPoolGetAttribute");
    memcpy(counts, &full, full.size < sizeof full ? full.size : sizeof full);
    return CJ_OK;
}

/* -- Between processes --------------------------------------------------------------------------------------------- */

/* What the bytes of a handle are. */
typedef struct pool_handle {
    CUmemPoolPtrExportData raw;
    uint64_t bytes;
} pool_handle;
_Static_assert(sizeof(pool_handle) == CJ_MEM_POOL_MEM_BYTES, "the driver's data, and the size");

static cj_status check_export(cj_mem_pool *p, const char *call)
{
    cj_status st = cji_check(p, CJI_TAG_MEM_POOL, call);
    if (st != CJ_OK) return st;
    if (p->imported)
        return cji_fail(p, CJ_ESTATE, call, "the pool is another process's, which exports it and its memory");
    if (!p->ipc)
        return cji_fail(p, CJ_ESTATE, call, "the pool stays in its process; make it with CJ_MEM_POOL(.ipc = 1)");
    return CJ_OK;
}

cj_status cj_mem_pool_export(cj_mem_pool *p, int *fd)
{
    static const char call[] = "cj_mem_pool_export";
    cji_scope scope;
    cj_status st = check_export(p, call);
    if (st == CJ_OK && !fd) st = cji_fail(p, CJ_EINVAL, call, "fd is NULL");
    if (st == CJ_OK) st = cji_scope_begin_relaxed(p, p->dev, &scope, call);
    if (st != CJ_OK) return st;
    const CUresult r = p->dev->api.cuMemPoolExportToShareableHandle(fd, p->raw,
                                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(p, p->dev, r, call, "cuMemPoolExportToShareableHandle");
}

cj_status cj_mem_pool_export_mem(cj_mem_pool *p, cj_dptr d, void *handle, size_t bytes)
{
    static const char call[] = "cj_mem_pool_export_mem";
    pool_handle h;
    cji_scope scope;
    cj_status st = check_export(p, call);
    if (st != CJ_OK) return st;
    if (!handle || bytes < sizeof h)
        return cji_fail(p, CJ_EINVAL, call, "the buffer has %zu bytes, a handle needs %zu (CJ_MEM_POOL_MEM_BYTES)",
                        handle ? bytes : 0, sizeof h);
    h.bytes = cji_mem_bytes(p->dev, d.addr);
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    st = cji_scope_begin_relaxed(p, p->dev, &scope, call);
    if (st != CJ_OK) return st;
    if (h.bytes) r = p->dev->api.cuMemPoolExportPointer(&h.raw, d.addr);
    cji_scope_leave(&scope);
    if (r == CUDA_ERROR_INVALID_VALUE)
        return cji_fail(p, CJ_EINVAL, call, "0x%llx is not the start of memory of cj_mem_pool_alloc of this pool",
                        (unsigned long long)d.addr);
    if (r != CUDA_SUCCESS) return cji_rejected(p, p->dev, r, call, "cuMemPoolExportPointer");
    memcpy(handle, &h, sizeof h);
    return CJ_OK;
}

/* In a scope.  The device's kernels reach memory of the host only where they may, in each process of its own.  Where
 * the access cannot be set, what uses the memory fails. */
static void reach_imported(const cj_mem_pool *p)
{
    const cji_cu *cu = &p->dev->api;
    const CUmemAccessDesc access = pool_access(p->dev);
    CUmemLocation where = access.location;
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (cu->cuMemPoolGetAccess(&flags, p->raw, &where) == CUDA_SUCCESS && flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
        cu->cuMemPoolSetAccess(p->raw, &access, 1);
}

static cj_status import_pool(cj_mem_pool *p, int fd, const char *call)
{
    static const char cu_call[] = "cuMemPoolImportFromShareableHandle";
    cji_scope scope;
    if (fd < 0) return cji_fail(p, CJ_EINVAL, call, "descriptor %d: cj_mem_pool_export writes one", fd);
    cj_status st = cji_scope_begin_relaxed(p, p->dev, &scope, call);
    if (st != CJ_OK) return st;
    const CUresult r = p->dev->api.cuMemPoolImportFromShareableHandle(&p->raw, (void *)(intptr_t)fd,
                                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (r == CUDA_SUCCESS) reach_imported(p);
    cji_scope_leave(&scope);
    p->imported = true;
    if (r == CUDA_ERROR_OUT_OF_MEMORY)
        return cji_cu_fail_as(p, p->dev, r, CJ_ENOMEM, cu_call, call, "%s: no memory for a pool", call);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(p, p->dev, r, call, cu_call);
}

cj_mem_pool *cj_mem_pool_import(cj_device *dev, int fd)
{
    static const char call[] = "cj_mem_pool_import";
    cj_status st;
    cj_mem_pool *p = new_pool(dev, call, &st);
    if (cji_obj_failed(p)) return p;
    if (st == CJ_OK) st = import_pool(p, fd, call);
    if (st != CJ_OK) cji_obj_set_failed(p);
    return p;
}

/* What is imported: of which pool. */
typedef struct pool_import {
    const cj_mem_pool *pool;
    CUmemPoolPtrExportData data;
} pool_import;

static CUresult import_from_pool(cj_stream *s, const cji_mem *m, const void *from, CUdeviceptr *d)
{
    const pool_import *i = from;
    CUmemPoolPtrExportData data = i->data;
    (void)m;
    return s->cu->cuMemPoolImportPointer(d, i->pool->raw, &data);
}

const cji_mem_type cji_mem_pool_imported = { .kind = CJ_MEM_KIND_IPC_IMPORTED,
                                             .name = "another process's",
                                             .cu_call = "cuMemPoolImportPointer",
                                             .ordered = true,
                                             .foreign = true,
                                             .alloc = import_from_pool,
                                             .release = cji_mem_release_plain };

cj_dptr cj_mem_pool_import_mem(cj_mem_pool *p, cj_stream *s, const void *handle, size_t bytes)
{
    static const char call[] = "cj_mem_pool_import_mem";
    const cj_dptr none = { 0 };
    pool_handle h;
    if (check_alloc(s, p, call) != CJ_OK) return none;
    if (!handle || bytes < sizeof h)
        return cji_stream_failed(
                   s, cji_fail(s, CJ_EINVAL, call, "a handle has %zu bytes, not %zu", sizeof h, handle ? bytes : 0)),
               none;
    if (!p->imported && !p->wrapped)
        return cji_stream_failed(s, cji_fail(s, CJ_ESTATE, call,
                                             "the pool is this process's own; cj_mem_pool_import makes one of another "
                                             "process")),
               none;
    memcpy(&h, handle, sizeof h);
    const pool_import from = { p, h.raw };
    return cji_mem_alloc(s, h.bytes, &cji_mem_pool_imported, 0, &from, call);
}
