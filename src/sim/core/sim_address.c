/* Device addresses and every allocation that kernels may reach.
 *
 * A device's addresses lo .. lo+span-1 are a PROT_NONE range: the host faults when it touches one. The bytes of
 * address a lie at host + (a - lo), in a second range of which the part that has ever been allocated is readable and
 * writable; so a span of the engine stays valid for ever. Allocations of all devices and of the host stand in one
 * table, ordered by address. Freed device memory stays in it for a while (SIM_KEPT ranges, SIM_KEPT_BYTES), unused,
 * so that a late use is found and named. */
#include "sim/core/sim_address.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIM_KEPT_BYTES (UINT64_C(64) << 20)
#define SIM_SPAN_MOST (UINT64_C(80) << 30)
#define SIM_SPAN_LEAST (UINT64_C(32) << 20)

sim_space cji_sim_space = { .lock = PTHREAD_RWLOCK_INITIALIZER };

/* ---- A device's addresses ---------------------------------------------------------------------------------------- */

bool cji_sim_space_open(sim_device *dev)
{
    if (dev->span) return true;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t most = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : SIM_SPAN_MOST;
    most = (most < SIM_SPAN_MOST ? most : SIM_SPAN_MOST) / SIM_PAGE * SIM_PAGE;
    for (uint64_t span = most; span >= SIM_SPAN_LEAST; span = span / 2 / SIM_PAGE * SIM_PAGE) {
        void *lo = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (lo == MAP_FAILED) continue;
        void *host = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (host == MAP_FAILED) {
            munmap(lo, span);
            continue;
        }
        dev->lo = ((uint64_t)(uintptr_t)lo + SIM_GRAIN - 1) / SIM_GRAIN * SIM_GRAIN;
        dev->host = host;
        dev->span = span;
        dev->hint = dev->lo;
        return true;
    }
    return false;
}

void cji_sim_space_close(sim_device *dev)
{
    if (!dev->span) return;
    munmap((void *)(uintptr_t)dev->lo, dev->span);
    munmap(dev->host, dev->span);
    dev->span = 0;
    cji_sim_ipc_part_close(dev);
}

/* The bytes up to `end` (an offset) become readable and writable. */
static bool sim_space_commit(sim_device *dev, uint64_t end)
{
    if (end <= dev->committed) return true;
    uint64_t to = (end + SIM_PAGE - 1) / SIM_PAGE * SIM_PAGE;
    if (to > dev->span) to = dev->span;
    if (mprotect(dev->host + dev->committed, to - dev->committed, PROT_READ | PROT_WRITE) != 0) return false;
    dev->committed = to;
    return true;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

size_t cji_sim_space_above(uint64_t address)
{
    size_t a = 0, b = cji_sim_space.n;
    while (a < b) {
        size_t m = (a + b) / 2;
        if (cji_sim_space.range[m].lo <= address) a = m + 1;
        else b = m;
    }
    return a;
}

sim_range *cji_sim_space_holder(uint64_t address)
{
    size_t i = cji_sim_space_above(address);
    if (!i) return NULL;
    sim_range *r = &cji_sim_space.range[i - 1];
    return address - r->lo < (r->bytes ? r->bytes : 1) ? r : NULL;
}

static bool sim_space_insert(sim_range r)
{
    if (!cji_grow(&cji_sim_space.range, &cji_sim_space.cap, cji_sim_space.n + 1, sizeof r)) return false;
    size_t i = cji_sim_space_above(r.lo);
    memmove(&cji_sim_space.range[i + 1], &cji_sim_space.range[i], (cji_sim_space.n - i) * sizeof r);
    r.id = ++cji_sim_space.next_id;
    cji_sim_space.range[i] = r;
    cji_sim_space.n++;
    return true;
}

static void sim_space_remove(size_t i)
{
    sim_range *r = &cji_sim_space.range[i];
    if (r->place == SIM_DEVICE && r->lo < r->dev->hint) r->dev->hint = r->lo;
    cji_sim_parts_free(r->parts);
    memmove(r, r + 1, (cji_sim_space.n - i - 1) * sizeof *r);
    cji_sim_space.n--;
}

static void sim_space_forget_oldest(void)
{
    uint64_t lo = cji_sim_space.kept[cji_sim_space.first];
    cji_sim_space.first = (cji_sim_space.first + 1) % SIM_KEPT;
    cji_sim_space.count--;
    size_t i = cji_sim_space_above(lo) - 1;
    cji_sim_space.kept_bytes -= cji_sim_space.range[i].room;
    sim_space_remove(i);
}

/* A gap of `room` bytes among the device's addresses, at a multiple of `grain`; 0: none. */
static uint64_t sim_space_gap(sim_device *dev, uint64_t room, uint64_t grain)
{
    uint64_t at = dev->hint, end = dev->lo + dev->span / SIM_PAGE * SIM_PAGE;
    size_t i = cji_sim_space_above(at);
    if (i && cji_sim_space.range[i - 1].lo + cji_sim_space.range[i - 1].room > at)
        at = cji_sim_space.range[i - 1].lo + cji_sim_space.range[i - 1].room;
    bool first = true;
    for (;; i++) {
        uint64_t next = i < cji_sim_space.n && cji_sim_space.range[i].lo < end ? cji_sim_space.range[i].lo : end;
        if (next > at && next - at >= SIM_GRAIN) {
            if (first) dev->hint = at;
            first = false;
            uint64_t begin = (at + grain - 1) / grain * grain;
            if (next >= begin && next - begin >= room) return begin;
        }
        if (next == end) return 0;
        at = next + cji_sim_space.range[i].room;
    }
}

static CUresult sim_space_place(sim_device *dev, sim_range *r, uint64_t grain)
{
    uint64_t room = r->bytes ? (r->bytes + grain - 1) / grain * grain : grain;
    if (room < r->bytes || room > dev->span) return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t at;
    while (!(at = sim_space_gap(dev, room, grain))) {
        if (!cji_sim_space.count) return CUDA_ERROR_OUT_OF_MEMORY;
        sim_space_forget_oldest();
    }
    r->lo = at;
    r->room = room;
    if (!sim_space_commit(dev, at - dev->lo + room) || !sim_space_insert(*r)) return CUDA_ERROR_OUT_OF_MEMORY;
    dev->used += room;
    return CUDA_SUCCESS;
}

CUresult cji_sim_space_alloc(sim_device *dev, sim_ctx *c, uint64_t bytes, sim_pool *pool, bool module, CUdeviceptr *out)
{
    sim_range r = { .bytes = bytes, .place = SIM_DEVICE, .dev = dev, .ctx = c, .pool = pool, .module = module };
    pthread_rwlock_wrlock(&cji_sim_space.lock);
    CUresult result = sim_space_place(dev, &r, SIM_GRAIN);
    pthread_rwlock_unlock(&cji_sim_space.lock);
    if (!result) *out = r.lo;
    return result;
}

/* A freed range of a device stays, marked; one of the host is removed at once. `i` is its index. */
static void sim_space_release(size_t i)
{
    sim_range *r = &cji_sim_space.range[i];
    __atomic_fetch_add(&cji_sim_space.changes, 1, __ATOMIC_RELAXED);
    if (r->place != SIM_DEVICE) {
        if (r->block) cji_free(r->block, r->block_bytes);
        if (r->part.mapped) cji_sim_ipc_part_end(r);
        sim_space_remove(i);
        return;
    }
    r->dev->used -= r->room;
    r->freed = true;
    cji_sim_parts_free(r->parts);
    r->parts = NULL;
    if (r->part.mapped) {
        cji_sim_ipc_part_end(r);
    } else if (r->room >= SIM_PAGE) {
        uint64_t page = 4096, from = (r->lo - r->dev->lo + page - 1) / page * page,
                 to = (r->lo - r->dev->lo + r->room) / page * page;
        if (to > from) madvise(r->dev->host + from, to - from, MADV_DONTNEED);
    }
    cji_sim_space.kept[(cji_sim_space.first + cji_sim_space.count++) % SIM_KEPT] = r->lo;
    cji_sim_space.kept_bytes += r->room;
    while (cji_sim_space.count == SIM_KEPT || cji_sim_space.kept_bytes > SIM_KEPT_BYTES) sim_space_forget_oldest();
}

/* What of it is in a file takes whole pages. */
CUresult cji_sim_space_alloc_part(sim_device *dev, sim_ctx *c, uint64_t bytes, int fd, const sim_ipc_part *part,
                                  CUdeviceptr *out)
{
    sim_range r = { .bytes = bytes, .place = SIM_DEVICE, .dev = dev, .ctx = c };
    pthread_rwlock_wrlock(&cji_sim_space.lock);
    CUresult result = sim_space_place(dev, &r, (uint64_t)sysconf(_SC_PAGESIZE));
    if (!result) {
        sim_range *placed = cji_sim_space_holder(r.lo);
        bool mapped = cji_sim_ipc_part_begin(placed, fd, part);
        if (!mapped && fd >= 0) {
            sim_space_release((size_t)(placed - cji_sim_space.range));
            result = CUDA_ERROR_MAP_FAILED;
        }
    }
    pthread_rwlock_unlock(&cji_sim_space.lock);
    if (!result) *out = r.lo;
    return result;
}

bool cji_sim_space_find_part(const sim_ctx *c, const sim_ipc_part *part, uint64_t *lo)
{
    bool found = false;
    pthread_rwlock_wrlock(&cji_sim_space.lock);
    for (size_t i = 0; i < cji_sim_space.n && !found; i++) {
        sim_range *r = &cji_sim_space.range[i];
        if (r->freed || r->ctx != c || !r->part.opens || r->part.inode != part->inode ||
            r->part.device != part->device || r->part.at != part->at)
            continue;
        r->part.opens++;
        *lo = r->lo;
        found = true;
    }
    pthread_rwlock_unlock(&cji_sim_space.lock);
    return found;
}

CUresult cji_sim_space_add(const sim_range *r)
{
    CUresult result = CUDA_SUCCESS;
    uint64_t end;
    if (!cji_sim_sum(&end, r->lo, r->room)) return CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&cji_sim_space.lock);
    size_t i = cji_sim_space_above(r->lo);
    bool before = i && cji_sim_space.range[i - 1].lo + cji_sim_space.range[i - 1].room > r->lo;
    if (before || (i < cji_sim_space.n && cji_sim_space.range[i].lo < end))
        result = cji_sim_space.range[before ? i - 1 : i].place == SIM_REGISTERED
                     ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                     : CUDA_ERROR_INVALID_VALUE;
    else if (!sim_space_insert(*r)) result = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_rwlock_unlock(&cji_sim_space.lock);
    return result;
}

CUresult cji_sim_space_host(sim_ctx *c, size_t bytes, sim_place place, unsigned flags, uint64_t *at)
{
    size_t size;
    if (__builtin_add_overflow(bytes, (size_t)SIM_SMALL_PAGE, &size)) return CUDA_ERROR_OUT_OF_MEMORY;
    void *block = cji_alloc(size);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t lo = ((uint64_t)(uintptr_t)block + SIM_SMALL_PAGE - 1) / SIM_SMALL_PAGE * SIM_SMALL_PAGE;
    sim_range r = { .lo = lo,
                    .bytes = bytes,
                    .room = bytes,
                    .place = place,
                    .dev = c->dev,
                    .ctx = c,
                    .flags = flags,
                    .block = block,
                    .block_bytes = size,
                    .sync_memops = place == SIM_MANAGED,
                    .advice = { .preferred = CU_DEVICE_INVALID, .prefetched = CU_DEVICE_INVALID } };
    CUresult result = cji_sim_space_add(&r);
    if (result) cji_free(block, size);
    else *at = lo;
    return result;
}

/* Whole pages; they are reserved before the table has them, so that nothing else of the process is there. */
CUresult cji_sim_space_host_part(sim_device *dev, sim_ctx *c, uint64_t bytes, unsigned flags, int fd,
                                 const sim_ipc_part *part, uint64_t *at)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), room = bytes <= SIZE_MAX - page ? bytes + page - 1 : 0;
    sim_range r = { .bytes = bytes, .room = room / page * page, .place = SIM_PINNED, .dev = dev, .ctx = c,
                    .flags = flags, .advice = { .preferred = CU_DEVICE_INVALID, .prefetched = CU_DEVICE_INVALID } };
    if (!r.room) return CUDA_ERROR_OUT_OF_MEMORY;
    void *block = mmap(NULL, r.room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    r.lo = (uint64_t)(uintptr_t)block;
    CUresult result = cji_sim_space_add(&r);
    if (!result) {
        pthread_rwlock_wrlock(&cji_sim_space.lock);
        sim_range *placed = cji_sim_space_holder(r.lo);
        if (!cji_sim_ipc_part_begin(placed, fd, part)) {
            sim_space_release((size_t)(placed - cji_sim_space.range));
            result = fd < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_MAP_FAILED;
        }
        pthread_rwlock_unlock(&cji_sim_space.lock);
    }
    if (result) munmap(block, r.room);
    else *at = r.lo;
    return result;
}

static void sim_space_of_module(sim_range *r, void *user)
{
    (void)user;
    r->module = true;
}

CUresult cji_sim_space_module(sim_ctx *c, uint64_t bytes, bool managed, CUdeviceptr *out)
{
    uint64_t at;
    if (!managed) return cji_sim_space_alloc(c->dev, c, bytes, NULL, true, out);
    CUresult r = cji_sim_space_host(c, bytes, SIM_MANAGED, CU_MEM_ATTACH_GLOBAL, &at);
    if (r) return r;
    cji_sim_space_change(at, sim_space_of_module, NULL);
    *out = at;
    return CUDA_SUCCESS;
}

CUresult cji_sim_space_drop(uint64_t lo, sim_place place, sim_range *was)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&cji_sim_space.lock);
    size_t i = cji_sim_space_above(lo);
    if (i-- && cji_sim_space.range[i].lo == lo && cji_sim_space.range[i].place == place &&
        !cji_sim_space.range[i].freed) {
        if (was) *was = cji_sim_space.range[i];
        sim_space_release(i);
        result = CUDA_SUCCESS;
    }
    pthread_rwlock_unlock(&cji_sim_space.lock);
    return result;
}

void cji_sim_space_drop_ctx(sim_ctx *c, void (*gone)(const sim_range *r))
{
    pthread_rwlock_wrlock(&cji_sim_space.lock);
    for (size_t i = cji_sim_space.n; i-- > 0;) {
        if (i >= cji_sim_space.n) continue;
        if (cji_sim_space.range[i].ctx == c && !cji_sim_space.range[i].freed) {
            gone(&cji_sim_space.range[i]);
            sim_space_release(i);
        }
    }
    pthread_rwlock_unlock(&cji_sim_space.lock);
}

void cji_sim_space_end(void)
{
    pthread_rwlock_wrlock(&cji_sim_space.lock);
    for (size_t i = 0; i < cji_sim_space.n; i++) {
        const sim_range *r = &cji_sim_space.range[i];
        if (r->block) cji_free(r->block, r->block_bytes);
        if (r->place == SIM_PINNED && r->part.mapped) munmap((void *)(uintptr_t)r->lo, r->room);
        cji_sim_parts_free(r->parts);
    }
    cji_free(cji_sim_space.range, cji_sim_space.cap * sizeof *cji_sim_space.range);
    cji_sim_space.range = NULL;
    cji_sim_space.n = cji_sim_space.cap = cji_sim_space.first = cji_sim_space.count = 0;
    cji_sim_space.kept_bytes = 0;
    pthread_rwlock_unlock(&cji_sim_space.lock);
}

void cji_sim_space_change(uint64_t lo, void (*change)(sim_range *r, void *user), void *user)
{
    pthread_rwlock_wrlock(&cji_sim_space.lock);
    sim_range *r = cji_sim_space_holder(lo);
    if (r && r->lo == lo && !r->freed) {
        change(r, user);
        __atomic_fetch_add(&cji_sim_space.changes, 1, __ATOMIC_RELAXED);
    }
    pthread_rwlock_unlock(&cji_sim_space.lock);
}

CUresult cji_sim_space_part(uint64_t lo, uint64_t bytes, sim_part_change change)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&cji_sim_space.lock);
    sim_range *r = cji_sim_space_holder(lo);
    if (r && !r->freed && r->place == SIM_DEVICE && bytes && bytes <= r->bytes - (lo - r->lo)) {
        if (!r->parts) r->parts = cji_zalloc(sizeof *r->parts);
        if (r->parts) cji_sim_parts_set(r->parts, lo, bytes, change);
        result = r->parts ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        __atomic_fetch_add(&cji_sim_space.changes, 1, __ATOMIC_RELAXED);
    }
    pthread_rwlock_unlock(&cji_sim_space.lock);
    return result;
}

bool cji_sim_space_mapped(uint64_t lo, uint64_t bytes, void (*change)(sim_range *r, void *user), void *user)
{
    uint64_t at = lo, end;
    if (!bytes || !cji_sim_sum(&end, lo, bytes)) return false;
    pthread_rwlock_wrlock(&cji_sim_space.lock);
    sim_range *first = cji_sim_space_holder(lo);
    for (sim_range *r = first;
         r && r < cji_sim_space.range + cji_sim_space.n && r->place == SIM_MAPPED && r->lo == at && at < end; r++)
        at += r->bytes;
    if (at == end)
        for (sim_range *r = first; change && r < cji_sim_space.range + cji_sim_space.n && r->lo < end; r++)
            change(r, user);
    if (change) __atomic_fetch_add(&cji_sim_space.changes, 1, __ATOMIC_RELAXED);
    pthread_rwlock_unlock(&cji_sim_space.lock);
    return at == end;
}

bool cji_sim_space_any(uint64_t lo, uint64_t hi)
{
    pthread_rwlock_rdlock(&cji_sim_space.lock);
    size_t i = cji_sim_space_above(hi - 1);
    bool any = i && cji_sim_space.range[i - 1].lo + cji_sim_space.range[i - 1].room > lo;
    pthread_rwlock_unlock(&cji_sim_space.lock);
    return any;
}
