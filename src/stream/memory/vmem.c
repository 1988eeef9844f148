/* Device memory that grows in place: a range of addresses is reserved once, and physical memory is mapped at the end
 * of what is committed.
 *
 * A piece is what one mapping has.  Pieces lie side by side from the start of the range; those of the committed part
 * are `live`.  The memory is one entry of the device's table, whose size is that of the committed part, so that the
 * ranges of copies are checked, uses are noted and graphs retain it as all memory.
 *
 * A piece that shrinking takes out of the committed part stays mapped until the work that uses the memory is complete:
 * its release is deferred.  Where the memory grows before that the piece is taken back, so growing waits for nothing
 * and finds no address taken.  A piece that was taken back and has left again waits anew.
 *
 * The handle (cj_vmem) is the user's.  The body is what the table has, and lives until the deferred release. */
#include "stream/memory/vmem.h"

void cj_vmem_defaults(cj_vmem_opts *opts)
{
    if (opts) *opts = (cj_vmem_opts){ .size = sizeof *opts };
}

static cji_vmem_body *vmem_of(cji_mem *m) { return (cji_vmem_body *)m; }

/* -- Release ------------------------------------------------------------------------------------------------------- */

static void vmem_unmap(const cji_release_queue *queue, const cji_vmem_piece *p)
{
    queue->cu->cuMemUnmap(p->addr, p->bytes);
}

/* All of it; nothing uses it any more. */
static CUresult vmem_release(const cji_mem *m)
{
    cji_vmem_body *b = vmem_of((cji_mem *)(uintptr_t)m);
    const cji_release_queue *queue = m->state->queue;
    cji_vmem_piece *next;
    cji_lock(&b->lock, CJI_LOCK_VMEM);
    for (cji_vmem_piece *p = b->pieces; p; p = next) {
        next = p->next;
        vmem_unmap(queue, p);
        p->of = NULL;
        if (!p->waiting) cji_free(p, sizeof *p);
    }
    b->pieces = NULL;
    cji_unlock(&b->lock, CJI_LOCK_VMEM);
    return queue->cu->cuMemAddressFree(m->addr, b->reserved);
}

static void vmem_destroy(cji_mem *m)
{
    cji_vmem_body *b = vmem_of(m);
    pthread_mutex_destroy(&b->lock);
    cji_free(b, sizeof *b);
}

/* With the state's lock held; it never changes. */
static size_t vmem_extent(const cji_mem *m) { return ((const cji_vmem_body *)m)->reserved; }

/* cj_free; the state's lock is held on entry and not on return. */
static cj_status vmem_not_freed(cji_mem *m, cj_device *dev, const char *call)
{
    const uint64_t addr = m->addr;
    cji_spin_unlock(&m->state->lock, CJI_LOCK_MEMORY);
    return cji_fail(dev, CJ_ESTATE, call, "0x%llx is memory of a cj_vmem; free that with cj_vmem_free",
                    (unsigned long long)addr);
}

static const cji_mem_type mem_virtual = { .kind = CJ_MEM_KIND_VIRTUAL,
                                          .name = "virtual",
                                          .cu_call = "cuMemCreate",
                                          .release = vmem_release,
                                          .free = vmem_not_freed,
                                          .destroy = vmem_destroy,
                                          .reserved = vmem_extent };

/* The committed part has another size; with the body's lock held. */
static void vmem_resized(cji_vmem_body *b, size_t bytes)
{
    cji_mem_state *state = b->mem.state;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    cji_mem_held(b->mem.home, (int64_t)bytes - (int64_t)b->mem.bytes);
    b->mem.bytes = bytes;
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
}

static void vmem_piece_remove(cji_vmem_body *b, const cji_vmem_piece *p)
{
    cji_vmem_piece **at = &b->pieces;
    while (*at != p) at = &(*at)->next;
    *at = p->next;
}

/* The uses of a piece that has left are over; in a scope. */
static void vmem_piece_over(cji_deferred *deferred)
{
    cji_vmem_piece *p = (cji_vmem_piece *)((char *)deferred - offsetof(cji_vmem_piece, deferred));
    cji_vmem_body *b = p->of;
    cj_device *dev = p->dev;
    if (!b) { /* one thread at a time runs releases, so the body cannot leave meanwhile */
        cji_free(p, sizeof *p);
        cji_device_drop(dev);
        return;
    }
    cji_lock(&b->lock, CJI_LOCK_VMEM);
    p->waiting = false;
    const bool again = p->again && !p->live, over = !p->again && !p->live;
    p->again = false;
    if (again) {
        p->waiting = true;
        cji_defer(b->mem.state->queue, &p->deferred, atomic_load(&b->mem.used) | b->mem.home->bit);
    }
    if (over) {
        vmem_unmap(b->mem.state->queue, p);
        vmem_piece_remove(b, p);
        cji_free(p, sizeof *p);
    }
    cji_unlock(&b->lock, CJI_LOCK_VMEM);
    if (!again) cji_device_drop(dev);
}

/* The committed part ends at the first piece that begins at or behind `bytes`; with the body's lock held. */
static void vmem_cut(cji_vmem_body *b, size_t bytes)
{
    size_t end = 0;
    b->end = &b->pieces;
    for (cji_vmem_piece *p = b->pieces; p && p->live && p->addr - b->mem.addr < bytes; p = p->next) {
        end = (size_t)(p->addr - b->mem.addr) + p->bytes;
        b->end = &p->next;
    }
    vmem_resized(b, end);
    for (cji_vmem_piece *p = *b->end; p; p = p->next) {
        if (!p->live) continue;
        p->live = false;
        p->again = p->waiting;
        if (p->waiting) continue;
        p->waiting = true;
        p->dev = cji_obj_retain(b->mem.state->dev);
        p->deferred.run = vmem_piece_over;
        cji_defer(b->mem.state->queue, &p->deferred, atomic_load(&b->mem.used) | b->mem.home->bit);
    }
}

/* -- Growing ------------------------------------------------------------------------------------------------------- */

static CUmemAllocationProp vmem_prop(const cj_device *dev, bool ipc)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = ipc ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE,
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev->cu },
    };
}

/* Physical memory at a free place of the range, new or another process's; *cu_call is what failed. */
static CUresult vmem_map(const cji_vmem_body *b, const cji_vmem_piece *p, int fd, const char **cu_call)
{
    const cji_cu *cu = b->mem.state->queue->cu;
    const CUmemAllocationProp prop = vmem_prop(b->mem.state->dev, p->ipc);
    CUmemGenericAllocationHandle handle;
    *cu_call = "cuMemCreate";
    CUresult r = fd < 0 ? cu->cuMemCreate(&handle, p->bytes, &prop, 0) : cji_vmem_open(b, fd, &handle, cu_call);
    if (r != CUDA_SUCCESS) return r;
    *cu_call = "cuMemMap";
    r = cu->cuMemMap(p->addr, p->bytes, 0, handle, 0);
    cu->cuMemRelease(handle); /* the mapping keeps the memory */
    if (r != CUDA_SUCCESS) return r;
    *cu_call = "cuMemSetAccess";
    r = cu->cuMemSetAccess(p->addr, p->bytes, b->device, b->ndevices);
    if (r != CUDA_SUCCESS) cu->cuMemUnmap(p->addr, p->bytes); /* nothing has used it */
    return r;
}

/* Adds a new piece of up to `want` bytes behind the committed part, in front of the next one that is still mapped.
 * `fd`: of another process's memory, of `want` bytes, which fit; -1: new memory. */
static CUresult vmem_add(cji_vmem_body *b, size_t want, int fd, const char **cu_call)
{
    cji_vmem_piece *next = *b->end;
    const uint64_t from = b->mem.addr + b->mem.bytes;
    const uint64_t to = next ? next->addr : b->mem.addr + b->reserved;
    cji_vmem_piece *p = cji_zalloc(sizeof *p);
    *cu_call = "cuMemCreate";
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    p->of = b;
    p->addr = from;
    p->bytes = want < to - from ? want : (size_t)(to - from);
    p->ipc = b->ipc || fd >= 0;
    CUresult r = vmem_map(b, p, fd, cu_call);
    if (r != CUDA_SUCCESS) {
        cji_free(p, sizeof *p);
        return r;
    }
    p->live = true;
    p->next = next;
    *b->end = p;
    return r;
}

/* The committed part has one piece more. */
static void vmem_step(cji_vmem_body *b)
{
    cji_vmem_piece *p = *b->end;
    b->end = &p->next;
    vmem_resized(b, b->mem.bytes + p->bytes);
}

/* The committed part reaches `bytes`, a multiple of the grain, or is what it was; with the body's lock held, in a
 * scope. */
static CUresult vmem_extend(cji_vmem_body *b, size_t bytes, const char **cu_call)
{
    const size_t before = b->mem.bytes;
    CUresult r = CUDA_SUCCESS;
    while (b->mem.bytes < bytes) {
        cji_vmem_piece *p = *b->end;
        if (p && p->addr == b->mem.addr + b->mem.bytes) p->live = true; /* it is taken back */
        else r = vmem_add(b, bytes - b->mem.bytes, -1, cu_call);
        if (r != CUDA_SUCCESS) break;
        vmem_step(b);
    }
    if (r != CUDA_SUCCESS) vmem_cut(b, before);
    return r;
}

/* At the end of the committed part, in a scope.  *in_the_way: what has left it is in use and still mapped there. */
CUresult cji_vmem_take(cji_vmem_body *b, int fd, size_t bytes, bool *in_the_way, const char **cu_call)
{
    cji_deferred_drain(b->mem.state->queue, CJI_DEFERRED_ALL);
    cji_lock(&b->lock, CJI_LOCK_VMEM);
    const cji_vmem_piece *next = *b->end;
    const uint64_t to = next ? next->addr : b->mem.addr + b->reserved;
    const bool fits = bytes <= to - (b->mem.addr + b->mem.bytes);
    *in_the_way = !fits && next;
    CUresult r = fits ? vmem_add(b, bytes, fd, cu_call) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS) vmem_step(b);
    cji_unlock(&b->lock, CJI_LOCK_VMEM);
    return r;
}

static CUresult vmem_extend_locked(cji_vmem_body *b, size_t bytes, const char **cu_call)
{
    cji_lock(&b->lock, CJI_LOCK_VMEM);
    const CUresult r = vmem_extend(b, bytes, cu_call);
    cji_unlock(&b->lock, CJI_LOCK_VMEM);
    return r;
}

/* Where memory is short, deferred releases run first, and chunks that are not in use are released.  In a scope. */
static CUresult vmem_commit(cji_vmem_body *b, size_t bytes, const char **cu_call)
{
    CUresult r = vmem_extend_locked(b, bytes, cu_call);
    if (r != CUDA_ERROR_OUT_OF_MEMORY) return r;
    cji_deferred_drain(b->mem.state->queue, CJI_DEFERRED_ALL);
    cji_chunks_trim(b->mem.state, 0);
    return vmem_extend_locked(b, bytes, cu_call);
}

/* A result of the driver, left in `v`. */
static cj_status vmem_rejected(cj_vmem *v, CUresult r, size_t bytes, const char *what, const char *cu_call,
                               const char *call)
{
    if (r == CUDA_ERROR_OUT_OF_MEMORY)
        return cji_cu_fail_as(v, v->dev, r, CJ_ENOMEM, cu_call, call, "%s: %zu bytes of %s", call, bytes, what);
    return cji_rejected(v, v->dev, r, call, cu_call);
}

/* A size as a multiple of the grain; false: it is beyond any memory. */
static bool vmem_round(size_t bytes, size_t grain, size_t *rounded)
{
    if (__builtin_add_overflow(bytes, grain - 1, rounded)) return false;
    *rounded -= *rounded % grain;
    return true;
}

static cj_status vmem_grow(cj_vmem *v, size_t bytes, const char *call)
{
    cji_vmem_body *b = v->body;
    const char *cu_call = "";
    cji_scope scope;
    size_t rounded;
    if (!vmem_round(bytes, b->grain, &rounded) || rounded > b->reserved)
        return cji_fail(v, CJ_EINVAL, call, "%zu bytes do not fit, %zu bytes of addresses are reserved", bytes,
                        b->reserved);
    cj_status st = cji_scope_begin_relaxed(v, v->dev, &scope, call);
    if (st != CJ_OK) return st;
    const CUresult r = vmem_commit(b, rounded, &cu_call);
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS ? CJ_OK : vmem_rejected(v, r, rounded, "virtual memory", cu_call, call);
}

/* -- Making -------------------------------------------------------------------------------------------------------- */

/* Reserves the addresses of a new body; in a scope. */
static CUresult vmem_reserve(cji_vmem_body *b, const cj_device *dev, size_t bytes, const char **cu_call)
{
    const cji_cu *cu = &dev->api;
    const CUmemAllocationProp prop = vmem_prop(dev, b->ipc);
    CUdeviceptr at = 0;
    *cu_call = "cuMemGetAllocationGranularity";
    CUresult r = cu->cuMemGetAllocationGranularity(&b->grain, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    if (r != CUDA_SUCCESS) return r;
    *cu_call = "cuMemAddressReserve";
    if (!vmem_round(bytes, b->grain, &b->reserved)) return CUDA_ERROR_OUT_OF_MEMORY;
    r = cu->cuMemAddressReserve(&at, b->reserved, b->grain, 0, 0);
    b->mem.addr = at;
    return r;
}

/* The body enters the table as memory of `s`, with nothing committed. */
static void vmem_enter(cji_vmem_body *b, cj_stream *s)
{
    cji_mem_state *state = b->mem.state;
    cji_lock(&s->queue->lock, CJI_LOCK_QUEUE);
    b->mem.home = s->slot;
    b->mem.home->refs++;
    cji_unlock(&s->queue->lock, CJI_LOCK_QUEUE);
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    cji_mem_insert(state, &b->mem);
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    if (s->proxy) cji_proxy_follow(s); /* it may be released behind that */
}

static cj_status vmem_make(cj_vmem *v, cj_stream *s, size_t reserve, bool ipc, const char *call)
{
    const char *cu_call = "";
    cji_scope scope;
    cji_mem_state *state = cji_mem_state_of(s->dev);
    cji_vmem_body *b = state ? cji_zalloc(sizeof *b) : NULL;
    if (!b) return cji_fail(v, CJ_ENOMEM, call, "no host memory to note the memory");
    b->mem.state = state;
    b->mem.type = &mem_virtual;
    b->end = &b->pieces;
    b->ipc = ipc;
    b->device[b->ndevices++] = (CUmemAccessDesc){
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = s->dev->cu },
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    cj_status st = cji_scope_begin_relaxed(v, s->dev, &scope, call);
    if (st == CJ_OK) {
        const CUresult r = vmem_reserve(b, s->dev, reserve, &cu_call);
        cji_scope_leave(&scope);
        if (r != CUDA_SUCCESS) st = vmem_rejected(v, r, reserve, "addresses", cu_call, call);
    }
    if (st != CJ_OK) {
        cji_free(b, sizeof *b);
        return st;
    }
    pthread_mutex_init(&b->lock, NULL);
    vmem_enter(b, s);
    v->body = b;
    return CJ_OK;
}

static void vmem_leave(cji_vmem_body *b);

static cj_status vmem_create(cj_vmem *v, cj_stream *s, size_t reserve, const cj_vmem_opts *opts, const char *call)
{
    cj_vmem_opts o;
    cj_status st = cji_check_arg(v, s, CJI_TAG_STREAM, call, "the stream");
    if (st != CJ_OK) return st;
    cj_vmem_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, opts, v, call, "cj_vmem")) return CJ_EINVAL;
    if (!reserve) return cji_fail(v, CJ_EINVAL, call, "0 bytes of addresses");
    if (o.bytes > reserve)
        return cji_fail(v, CJ_EINVAL, call, "%zu bytes do not fit into %zu bytes of addresses", o.bytes, reserve);
    if (o.ipc != 0 && o.ipc != 1) return cji_fail(v, CJ_EINVAL, call, ".ipc is %d; it is 0 or 1", o.ipc);
    v->dev = cji_obj_retain(s->dev);
    st = vmem_make(v, s, reserve, o.ipc, call);
    if (st == CJ_OK && o.bytes) st = vmem_grow(v, o.bytes, call);
    if (st == CJ_OK || !v->body) return st;
    vmem_leave(v->body);
    v->body = NULL;
    return st;
}

cj_vmem *cj_vmem_create(cj_stream *s, size_t reserve, const cj_vmem_opts *opts)
{
    static const char call[] = "cj_vmem_create";
    cj_vmem *v = cji_obj_new(sizeof *v, CJI_TAG_VMEM, 0, call);
    if (cji_obj_failed(v)) return v;
    if (vmem_create(v, s, reserve, opts, call) != CJ_OK) cji_obj_set_failed(v);
    return v;
}

/* Out of the table, unless a graph retains it: then nothing finds it there, and it leaves with the graph. */
static void vmem_leave(cji_vmem_body *b)
{
    cji_mem *m = &b->mem;
    cji_mem_state *state = m->state;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    const bool retained = m->retained > 0;
    if (m->bytes) state->freed[state->nfreed++ % CJI_FREED] = (cji_freed){ .addr = m->addr, .bytes = m->bytes };
    cji_mem_held(m->home, -(int64_t)m->bytes);
    m->bytes = 0;
    m->freed = true;
    if (!retained) cji_mem_remove(state, m);
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    if (!retained) cji_mem_release(m);
}

void cj_vmem_free(cj_vmem *v)
{
    if (!cji_check_free(v, CJI_TAG_VMEM, "cj_vmem_free") || !cji_obj_release(v)) return;
    cj_device *dev = v->dev;
    if (v->body) vmem_leave(v->body);
    if (v->body) cji_deferred_poll(&dev->queue, CJI_DEFERRED_STEP);
    cji_obj_delete(v, sizeof *v);
    if (dev) cji_device_drop(dev);
}

/* -- Using --------------------------------------------------------------------------------------------------------- */

cj_status cj_vmem_grow(cj_vmem *v, size_t bytes)
{
    static const char call[] = "cj_vmem_grow";
    cj_status st = cji_check(v, CJI_TAG_VMEM, call);
    return st == CJ_OK ? vmem_grow(v, bytes, call) : st;
}

cj_status cj_vmem_shrink(cj_vmem *v, size_t bytes)
{
    static const char call[] = "cj_vmem_shrink";
    cj_status st = cji_check(v, CJI_TAG_VMEM, call);
    if (st != CJ_OK) return st;
    cji_vmem_body *b = v->body;
    cji_lock(&b->lock, CJI_LOCK_VMEM);
    cji_spin_lock(&b->mem.state->lock, CJI_LOCK_MEMORY);
    const bool less = bytes < b->mem.bytes, retained = b->mem.retained > 0;
    cji_spin_unlock(&b->mem.state->lock, CJI_LOCK_MEMORY);
    if (less && !retained) vmem_cut(b, bytes);
    cji_unlock(&b->lock, CJI_LOCK_VMEM);
    if (less && retained)
        return cji_fail(v, CJ_ESTATE, call,
                        "a graph or a texture uses the memory at 0x%llx; free it first, and executable graphs of it",
                        (unsigned long long)b->mem.addr);
    cji_deferred_poll(&v->dev->queue, CJI_DEFERRED_STEP);
    return CJ_OK;
}

/* All that is mapped is accessible by one more device; with the body's lock held, in a scope. */
static CUresult vmem_grant(cji_vmem_body *b, const cj_device *peer)
{
    const cji_cu *cu = b->mem.state->queue->cu;
    const CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = peer->cu },
                                     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < b->ndevices; i++)
        if (b->device[i].location.id == peer->cu) return CUDA_SUCCESS;
    if (b->ndevices == CJI_VMEM_DEVICES) return CUDA_ERROR_OUT_OF_MEMORY;
    for (const cji_vmem_piece *p = b->pieces; p && r == CUDA_SUCCESS; p = p->next)
        r = cu->cuMemSetAccess(p->addr, p->bytes, &access, 1);
    if (r == CUDA_SUCCESS) b->device[b->ndevices++] = access;
    return r;
}

cj_status cj_vmem_enable_peer(cj_vmem *v, cj_device *peer)
{
    static const char call[] = "cj_vmem_enable_peer";
    cji_scope scope;
    cj_status st = cji_check(v, CJI_TAG_VMEM, call);
    if (st == CJ_OK) st = cji_check_arg(v, peer, CJI_TAG_DEVICE, call, "the other device");
    if (st != CJ_OK) return st;
    if (!cji_device_meets(peer, v->dev))
        return cji_cu_fail_apart(v, peer, v->dev, call, "the devices are of two drivers");
    if (!cj_device_can_access_peer(peer, v->dev))
        return cji_fail(v, CJ_ENOTSUP, call, "device %d cannot access the memory of device %d; copy with cj_copy_peer",
                        peer->ordinal, v->dev->ordinal);
    st = cji_scope_begin_relaxed(v, v->dev, &scope, call);
    if (st != CJ_OK) return st;
    cji_lock(&v->body->lock, CJI_LOCK_VMEM);
    const CUresult r = vmem_grant(v->body, peer);
    cji_unlock(&v->body->lock, CJI_LOCK_VMEM);
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(v, v->dev, r, call, "cuMemSetAccess");
}

cj_dptr cj_vmem_address(const cj_vmem *v)
{
    return (cj_dptr){ cji_check_read(v, CJI_TAG_VMEM, "cj_vmem_address") == CJ_OK ? v->body->mem.addr : 0 };
}

size_t cj_vmem_bytes(const cj_vmem *v)
{
    if (!cji_readable(v, CJI_TAG_VMEM, false)) return 0;
    cji_mem_state *state = v->body->mem.state;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    const size_t bytes = v->body->mem.bytes;
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    return bytes;
}

size_t cj_vmem_reserved(const cj_vmem *v)
{
    return cji_readable(v, CJI_TAG_VMEM, false) ? v->body->reserved : 0;
}

size_t cj_vmem_granularity(const cj_vmem *v)
{
    return cji_readable(v, CJI_TAG_VMEM, false) ? v->body->grain : 0;
}
