/* Device addresses and every allocation that kernels may reach.
 *
 * A device's addresses lo .. lo+span-1 are a PROT_NONE range: the host faults when it touches one. The bytes of
 * address a lie at host + (a - lo), in a second range of which the part that has ever been allocated is readable and
 * writable; so a span of the engine stays valid for ever. Allocations of all devices and of the host stand in one
 * table, ordered by address. Freed device memory stays in it for a while (SIM_KEPT ranges, SIM_KEPT_BYTES), unused,
 * so that a late use is found and named. */
#include "sim/core/sim_core.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIM_KEPT = 256, SIM_GRAIN = 512, SIM_PAGE = 2 << 20, SIM_SMALL_PAGE = 4096 };
#define SIM_KEPT_BYTES (UINT64_C(64) << 20)
#define SIM_SPAN_MOST (UINT64_C(80) << 30)
#define SIM_SPAN_LEAST (UINT64_C(32) << 20)

static struct {
    pthread_rwlock_t lock;
    sim_range *range; size_t n, cap;         /* ordered by lo; live or freed, never overlapping */
    uint64_t kept[SIM_KEPT]; size_t first, count; uint64_t kept_bytes;   /* addresses of the freed ones, oldest first */
    uint64_t next_id;
    uint64_t changes;                    /* atomic: counts what no longer is as kernels may have looked it up */
} sim_space = { .lock = PTHREAD_RWLOCK_INITIALIZER };

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

/* The first range whose lo is above `address`. */
static size_t sim_space_above(uint64_t address)
{
    size_t a = 0, b = sim_space.n;
    while (a < b) {
        size_t m = (a + b) / 2;
        if (sim_space.range[m].lo <= address) a = m + 1;
        else b = m;
    }
    return a;
}

/* The range that holds `address`, freed or not. */
static sim_range *sim_space_holder(uint64_t address)
{
    size_t i = sim_space_above(address);
    if (!i) return NULL;
    sim_range *r = &sim_space.range[i - 1];
    return address - r->lo < (r->bytes ? r->bytes : 1) ? r : NULL;
}

static bool sim_space_insert(sim_range r)
{
    if (!cji_grow(&sim_space.range, &sim_space.cap, sim_space.n + 1, sizeof r)) return false;
    size_t i = sim_space_above(r.lo);
    memmove(&sim_space.range[i + 1], &sim_space.range[i], (sim_space.n - i) * sizeof r);
    r.id = ++sim_space.next_id;
    sim_space.range[i] = r;
    sim_space.n++;
    return true;
}

static void sim_space_remove(size_t i)
{
    sim_range *r = &sim_space.range[i];
    if (r->place == SIM_DEVICE && r->lo < r->dev->hint) r->dev->hint = r->lo;
    cji_sim_parts_free(r->parts);
    memmove(r, r + 1, (sim_space.n - i - 1) * sizeof *r);
    sim_space.n--;
}

static void sim_space_forget_oldest(void)
{
    uint64_t lo = sim_space.kept[sim_space.first];
    sim_space.first = (sim_space.first + 1) % SIM_KEPT;
    sim_space.count--;
    size_t i = sim_space_above(lo) - 1;
    sim_space.kept_bytes -= sim_space.range[i].room;
    sim_space_remove(i);
}

/* A gap of `room` bytes among the device's addresses, at a multiple of `grain`; 0: none. */
static uint64_t sim_space_gap(sim_device *dev, uint64_t room, uint64_t grain)
{
    uint64_t at = dev->hint, end = dev->lo + dev->span / SIM_PAGE * SIM_PAGE;
    size_t i = sim_space_above(at);
    if (i && sim_space.range[i - 1].lo + sim_space.range[i - 1].room > at)
        at = sim_space.range[i - 1].lo + sim_space.range[i - 1].room;
    bool first = true;
    for (;; i++) {
        uint64_t next = i < sim_space.n && sim_space.range[i].lo < end ? sim_space.range[i].lo : end;
        if (next > at && next - at >= SIM_GRAIN) {
            if (first) dev->hint = at;
            first = false;
            uint64_t begin = (at + grain - 1) / grain * grain;
            if (next >= begin && next - begin >= room) return begin;
        }
        if (next == end) return 0;
        at = next + sim_space.range[i].room;
    }
}

static CUresult sim_space_place(sim_device *dev, sim_range *r, uint64_t grain)
{
    uint64_t room = r->bytes ? (r->bytes + grain - 1) / grain * grain : grain;
    if (room < r->bytes || room > dev->span) return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t at;
    while (!(at = sim_space_gap(dev, room, grain))) {
        if (!sim_space.count) return CUDA_ERROR_OUT_OF_MEMORY;
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
    pthread_rwlock_wrlock(&sim_space.lock);
    CUresult result = sim_space_place(dev, &r, SIM_GRAIN);
    pthread_rwlock_unlock(&sim_space.lock);
    if (!result) *out = r.lo;
    return result;
}

/* A freed range of a device stays, marked; one of the host is removed at once. `i` is its index. */
static void sim_space_release(size_t i)
{
    sim_range *r = &sim_space.range[i];
    __atomic_fetch_add(&sim_space.changes, 1, __ATOMIC_RELAXED);
    if (r->place != SIM_DEVICE) {
        if (r->block) cji_free(r->block, r->block_bytes);
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
    sim_space.kept[(sim_space.first + sim_space.count++) % SIM_KEPT] = r->lo;
    sim_space.kept_bytes += r->room;
    while (sim_space.count == SIM_KEPT || sim_space.kept_bytes > SIM_KEPT_BYTES) sim_space_forget_oldest();
}

/* What of it is in a file takes whole pages. */
CUresult cji_sim_space_alloc_part(sim_device *dev, sim_ctx *c, uint64_t bytes, int fd, const sim_ipc_part *part,
                                  CUdeviceptr *out)
{
    sim_range r = { .bytes = bytes, .place = SIM_DEVICE, .dev = dev, .ctx = c };
    pthread_rwlock_wrlock(&sim_space.lock);
    CUresult result = sim_space_place(dev, &r, (uint64_t)sysconf(_SC_PAGESIZE));
    if (!result) {
        sim_range *placed = sim_space_holder(r.lo);
        bool mapped = cji_sim_ipc_part_begin(placed, fd, part);
        if (!mapped && fd >= 0) {
            sim_space_release((size_t)(placed - sim_space.range));
            result = CUDA_ERROR_MAP_FAILED;
        }
    }
    pthread_rwlock_unlock(&sim_space.lock);
    if (!result) *out = r.lo;
    return result;
}

bool cji_sim_space_find_part(const sim_ctx *c, const sim_ipc_part *part, uint64_t *lo)
{
    bool found = false;
    pthread_rwlock_wrlock(&sim_space.lock);
    for (size_t i = 0; i < sim_space.n && !found; i++) {
        sim_range *r = &sim_space.range[i];
        if (r->freed || r->ctx != c || !r->part.opens || r->part.inode != part->inode ||
            r->part.device != part->device || r->part.at != part->at)
            continue;
        r->part.opens++;
        *lo = r->lo;
        found = true;
    }
    pthread_rwlock_unlock(&sim_space.lock);
    return found;
}

CUresult cji_sim_space_add(const sim_range *r)
{
    CUresult result = CUDA_SUCCESS;
    uint64_t end;
    if (!cji_sim_sum(&end, r->lo, r->room)) return CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&sim_space.lock);
    size_t i = sim_space_above(r->lo);
    bool before = i && sim_space.range[i - 1].lo + sim_space.range[i - 1].room > r->lo;
    if (before || (i < sim_space.n && sim_space.range[i].lo < end))
        result = sim_space.range[before ? i - 1 : i].place == SIM_REGISTERED ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                                                             : CUDA_ERROR_INVALID_VALUE;
    else if (!sim_space_insert(*r)) result = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_rwlock_unlock(&sim_space.lock);
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
    pthread_rwlock_wrlock(&sim_space.lock);
    size_t i = sim_space_above(lo);
    if (i-- && sim_space.range[i].lo == lo && sim_space.range[i].place == place && !sim_space.range[i].freed) {
        if (was) *was = sim_space.range[i];
        sim_space_release(i);
        result = CUDA_SUCCESS;
    }
    pthread_rwlock_unlock(&sim_space.lock);
    return result;
}

void cji_sim_space_drop_ctx(sim_ctx *c, void (*gone)(const sim_range *r))
{
    pthread_rwlock_wrlock(&sim_space.lock);
    for (size_t i = sim_space.n; i-- > 0;) {
        if (i >= sim_space.n) continue;
        if (sim_space.range[i].ctx == c && !sim_space.range[i].freed) {
            gone(&sim_space.range[i]);
            sim_space_release(i);
        }
    }
    pthread_rwlock_unlock(&sim_space.lock);
}

void cji_sim_space_end(void)
{
    pthread_rwlock_wrlock(&sim_space.lock);
    for (size_t i = 0; i < sim_space.n; i++) {
        if (sim_space.range[i].block) cji_free(sim_space.range[i].block, sim_space.range[i].block_bytes);
        cji_sim_parts_free(sim_space.range[i].parts);
    }
    cji_free(sim_space.range, sim_space.cap * sizeof *sim_space.range);
    sim_space.range = NULL;
    sim_space.n = sim_space.cap = sim_space.first = sim_space.count = 0;
    sim_space.kept_bytes = 0;
    pthread_rwlock_unlock(&sim_space.lock);
}

void cji_sim_space_change(uint64_t lo, void (*change)(sim_range *r, void *user), void *user)
{
    pthread_rwlock_wrlock(&sim_space.lock);
    sim_range *r = sim_space_holder(lo);
    if (r && r->lo == lo && !r->freed) {
        change(r, user);
        __atomic_fetch_add(&sim_space.changes, 1, __ATOMIC_RELAXED);
    }
    pthread_rwlock_unlock(&sim_space.lock);
}

CUresult cji_sim_space_part(uint64_t lo, uint64_t bytes, sim_part_change change)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&sim_space.lock);
    sim_range *r = sim_space_holder(lo);
    if (r && !r->freed && r->place == SIM_DEVICE && bytes && bytes <= r->bytes - (lo - r->lo)) {
        if (!r->parts) r->parts = cji_zalloc(sizeof *r->parts);
        if (r->parts) cji_sim_parts_set(r->parts, lo, bytes, change);
        result = r->parts ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        __atomic_fetch_add(&sim_space.changes, 1, __ATOMIC_RELAXED);
    }
    pthread_rwlock_unlock(&sim_space.lock);
    return result;
}

/* ---- Looking up -------------------------------------------------------------------------------------------------- */

bool cji_sim_space_find(uint64_t address, sim_range *out)
{
    pthread_rwlock_rdlock(&sim_space.lock);
    const sim_range *r = sim_space_holder(address);
    bool found = r && !r->freed;
    if (found) *out = *r;
    pthread_rwlock_unlock(&sim_space.lock);
    return found;
}

bool cji_sim_space_still(sim_range *r)
{
    sim_range now;
    bool still = cji_sim_space_find(r->lo, &now) && now.id == r->id;
    if (still) *r = now;
    return still;
}

static unsigned char *sim_host_of(const sim_range *r, uint64_t address)
{
    return r->place == SIM_DEVICE   ? r->dev->host + (address - r->dev->lo)
           : r->place == SIM_MAPPED ? r->host + (address - r->lo)
                                    : (unsigned char *)(uintptr_t)address;
}

static bool sim_range_reached(const sim_range *r, const sim_ctx *c)
{
    if (r->place == SIM_MAPPED) return r->readers >> c->dev->ordinal & 1;
    return r->place != SIM_DEVICE || cji_sim_ctx_sees(c, r->dev) || (r->pool && r->pool->access >> c->dev->ordinal & 1);
}

/* Under the table's lock. How many bytes from `address` on lie in `r` and in the mappings behind it without a gap,
 * whose bytes the host sees without a gap too: at least `wanted`, or all. */
static uint64_t sim_range_reach(const sim_range *r, uint64_t address, uint64_t wanted)
{
    uint64_t reach = r->bytes - (address - r->lo);
    const sim_range *end = sim_space.range + sim_space.n;
    for (const sim_range *next = r + 1; r->place == SIM_MAPPED && reach < wanted && next < end; r = next++) {
        if (next->place != SIM_MAPPED || next->lo != r->lo + r->bytes || next->host != r->host + r->bytes) break;
        reach += next->bytes;
    }
    return reach;
}

/* Whether the parts of an allocation are what bounds are checked against. */
static bool sim_range_has_parts(const sim_range *r)
{
    return r->parts && !r->parts->unknown && !sim.set.coarse && !r->freed;
}

/* The bytes around the address that may be accessed: of the allocation, or of its part. False: no part has it. */
static bool sim_range_view(const sim_range *r, uint64_t address, uint64_t *lo, uint64_t *bytes)
{
    *lo = r->lo;
    *bytes = r->bytes;
    if (!sim_range_has_parts(r)) return true;
    const sim_part *part = cji_sim_parts_near(r->parts, address);
    if (!part || !part->live || address - part->lo >= part->bytes) return false;
    *lo = part->lo;
    *bytes = part->bytes;
    return true;
}

/* Whether the parts allow an access of that many bytes, by work that may be enqueued and not run yet. */
static bool sim_range_parts_allow(const sim_range *r, uint64_t address, uint64_t bytes)
{
    uint64_t lo, room;
    if (!sim_range_has_parts(r) || cji_sim_parts_come(r->parts, address, bytes)) return true;
    return sim_range_view(r, address, &lo, &room) && bytes <= room - (address - lo);
}

unsigned char *cji_sim_space_at(const sim_ctx *c, uint64_t address, uint64_t bytes)
{
    unsigned char *host = NULL;
    pthread_rwlock_rdlock(&sim_space.lock);
    const sim_range *r = sim_space_holder(address);
    if (r && !r->freed && sim_range_reach(r, address, bytes) >= bytes && sim_range_parts_allow(r, address, bytes) &&
        (!c || sim_range_reached(r, c)))
        host = sim_host_of(r, address);
    pthread_rwlock_unlock(&sim_space.lock);
    return host;
}

bool cji_sim_space_allows(const sim_ctx *c, uint64_t address, uint64_t bytes, bool write)
{
    bool allowed = true;
    pthread_rwlock_rdlock(&sim_space.lock);
    const sim_range *r = sim_space_holder(address), *end = sim_space.range + sim_space.n;
    if (r && r->place == SIM_REGISTERED) allowed = !write || !(r->flags & CU_MEMHOSTREGISTER_READ_ONLY);
    for (; r && r < end && r->place == SIM_MAPPED && allowed && (r->lo <= address || r->lo - address < bytes); r++)
        allowed = (write ? r->writers : r->readers) >> c->dev->ordinal & 1;
    pthread_rwlock_unlock(&sim_space.lock);
    return allowed;
}

bool cji_sim_space_mapped(uint64_t lo, uint64_t bytes, void (*change)(sim_range *r, void *user), void *user)
{
    uint64_t at = lo, end;
    if (!bytes || !cji_sim_sum(&end, lo, bytes)) return false;
    pthread_rwlock_wrlock(&sim_space.lock);
    sim_range *first = sim_space_holder(lo);
    for (sim_range *r = first;
         r && r < sim_space.range + sim_space.n && r->place == SIM_MAPPED && r->lo == at && at < end; r++)
        at += r->bytes;
    if (at == end)
        for (sim_range *r = first; change && r < sim_space.range + sim_space.n && r->lo < end; r++) change(r, user);
    if (change) __atomic_fetch_add(&sim_space.changes, 1, __ATOMIC_RELAXED);
    pthread_rwlock_unlock(&sim_space.lock);
    return at == end;
}

bool cji_sim_space_any(uint64_t lo, uint64_t hi)
{
    pthread_rwlock_rdlock(&sim_space.lock);
    size_t i = sim_space_above(hi - 1);
    bool any = i && sim_space.range[i - 1].lo + sim_space.range[i - 1].room > lo;
    pthread_rwlock_unlock(&sim_space.lock);
    return any;
}

bool cji_sim_space_is_outside(uint64_t address)
{
    sim_range r;
    if (!cji_sim_space_find(address, &r)) return false;
    return cji_sim_range_is_host(&r) || r.part.exported || r.part.opens || (r.place == SIM_MAPPED && r.flags);
}

bool cji_sim_space_is_host(uint64_t address)
{
    sim_range r;
    return cji_sim_space_find(address, &r) && cji_sim_range_is_host(&r);
}

/* The same for an address that no part in use of `r` has. */
static bool sim_part_explain(const sim_range *r, uint64_t address, char *why, size_t size, cji_exec_span *near)
{
    const sim_part *part = cji_sim_parts_near(r->parts, address);
    if (!part) {
        snprintf(why, size, "is a device address that was never allocated");
        return false;
    }
    const bool inside = address - part->lo < part->bytes;
    if (near) *near = (cji_exec_span){ .lo = part->lo, .hi = part->lo + part->bytes, .freed = !part->live };
    if (inside)
        snprintf(why, size, "was freed: it lay in %llu bytes at 0x%llx", (unsigned long long)part->bytes,
                 (unsigned long long)part->lo);
    else
        snprintf(why, size, "lies %llu bytes past the end of the %llu bytes at 0x%llx%s",
                 (unsigned long long)(address - part->lo - part->bytes), (unsigned long long)part->bytes,
                 (unsigned long long)part->lo, part->live ? "" : ", which were freed");
    return inside;
}

/* Under the table's lock. `near`, where it is not NULL, gets the allocation that the sentence names. */
static bool sim_space_explain(uint64_t address, char *why, size_t size, cji_exec_span *near)
{
    const sim_range *r = sim_space_holder(address);
    if (r && sim_range_has_parts(r)) return sim_part_explain(r, address, why, size, near);
    if (r && r->freed) {
        if (near) *near = (cji_exec_span){ .lo = r->lo, .hi = r->lo + r->bytes, .freed = true };
        snprintf(why, size, "was freed: it lay in %llu bytes at 0x%llx", (unsigned long long)r->bytes,
                 (unsigned long long)r->lo);
        return true;
    }
    for (unsigned d = 0; d < sim.set.devices; d++) {
        const sim_device *dev = sim.device[d];
        if (!dev || address - dev->lo >= dev->span) continue;
        size_t i = sim_space_above(address);
        if (i && sim_space.range[i - 1].dev == dev && sim_space.range[i - 1].place == SIM_DEVICE) {
            r = &sim_space.range[i - 1];
            if (near) *near = (cji_exec_span){ .lo = r->lo, .hi = r->lo + r->bytes, .freed = r->freed };
            snprintf(why, size, "lies %llu bytes past the end of the %llu bytes at 0x%llx%s",
                     (unsigned long long)(address - r->lo - r->bytes), (unsigned long long)r->bytes,
                     (unsigned long long)r->lo, r->freed ? ", which were freed" : "");
        } else {
            snprintf(why, size, "is a device address that was never allocated");
        }
        return false;
    }
    if (cji_sim_reserve_holds(address)) snprintf(why, size, "is reserved, but no memory is mapped there (cuMemMap)");
    else if (address < 65536) snprintf(why, size, "is a null pointer, or an offset from one");
    else
        snprintf(
            why, size,
            "is no device address: a host pointer that is neither pinned nor registered, or an uninitialised value");
    return false;
}

bool cji_sim_space_why(uint64_t address, char *why, size_t size)
{
    pthread_rwlock_rdlock(&sim_space.lock);
    bool freed = sim_space_explain(address, why, size, NULL);
    pthread_rwlock_unlock(&sim_space.lock);
    return freed;
}

static bool sim_mapped_together(const sim_range *a, const sim_range *b)
{
    return a->place == SIM_MAPPED && b->place == SIM_MAPPED && a->lo + a->bytes == b->lo &&
           a->host + a->bytes == b->host && a->readers == b->readers && a->writers == b->writers;
}

/* Mappings with the same access that follow each other without a gap are one span: an access may reach over their
 * ends. */
static void sim_span_join(const sim_range *r, cji_exec_span *span)
{
    const sim_range *begin = sim_space.range, *end = begin + sim_space.n;
    if (r->place != SIM_MAPPED) return;
    for (const sim_range *a = r; a > begin && sim_mapped_together(a - 1, a); a--) {
        span->lo = a[-1].lo;
        span->host = a[-1].host;
    }
    for (const sim_range *a = r; a + 1 < end && sim_mapped_together(a, a + 1); a++) span->hi = a[1].lo + a[1].bytes;
}

const uint64_t *cji_sim_memory_changes(void) { return &sim_space.changes; }

/* The end of the last page of what the device allocated for the host, or of the block that it lies in. */
static uint64_t sim_block_end(const sim_range *r)
{
    uint64_t end = (uint64_t)(uintptr_t)r->block + r->block_bytes,
             page = (r->lo + r->bytes + SIM_SMALL_PAGE - 1) / SIM_SMALL_PAGE * SIM_SMALL_PAGE;
    return page < end ? page : end;
}

/* With coarse bounds: the pages that `r` lies in, as far as their bytes are there. */
static void sim_span_widen(const sim_range *r, cji_exec_span *span)
{
    if (r->place == SIM_DEVICE) {
        uint64_t from = (r->lo - r->dev->lo) / SIM_PAGE * SIM_PAGE,
                 to = (r->lo - r->dev->lo + r->bytes + SIM_PAGE - 1) / SIM_PAGE * SIM_PAGE;
        if (to > r->dev->committed) to = r->dev->committed;
        *span = (cji_exec_span){ .lo = r->dev->lo + from, .hi = r->dev->lo + to, .host = r->dev->host + from };
    } else if (r->block) {
        span->hi = sim_block_end(r);
    }
}

/* With coarse bounds: an allocation in whose pages the address lies; NULL: none. */
static const sim_range *sim_space_neighbour(uint64_t address, const sim_ctx *c)
{
    size_t before = sim_space_above(address);
    if (before && sim_space.range[before - 1].block && address < sim_block_end(&sim_space.range[before - 1]))
        return &sim_space.range[before - 1];
    for (unsigned d = 0; d < sim.set.devices; d++) {
        const sim_device *dev = sim.device[d];
        if (address - dev->lo >= dev->committed) continue;
        uint64_t page = dev->lo + (address - dev->lo) / SIM_PAGE * SIM_PAGE;
        for (size_t i = sim_space_above(page + SIM_PAGE - 1); i-- > 0;) {
            const sim_range *r = &sim_space.range[i];
            if (r->lo + r->room <= page) break;
            if (r->place == SIM_DEVICE && !r->freed && !r->absent && sim_range_reached(r, c)) return r;
        }
    }
    return NULL;
}

bool cji_sim_memory_find(void *user, uint64_t address, cji_exec_span *span, char *why, size_t size)
{
    const sim_ctx *c = user;
    pthread_rwlock_rdlock(&sim_space.lock);
    const sim_range *r = sim_space_holder(address);
    uint64_t lo = 0, bytes = 0;
    const bool inside = r && sim_range_view(r, address, &lo, &bytes);
    bool found = inside && !r->freed && !r->absent && r->bytes && sim_range_reached(r, c);
    const sim_range *neighbour = sim.set.coarse && !found ? sim_space_neighbour(address, c) : NULL;
    if (neighbour) {
        r = neighbour;
        found = sim_range_view(r, r->lo, &lo, &bytes);
    }
    if (r) *span = (cji_exec_span){ .lo = r->lo, .hi = r->lo + r->bytes };
    if (found) {
        *span = (cji_exec_span){ .lo = lo, .hi = lo + bytes };
        span->host = sim_host_of(r, lo);
        span->readonly = (r->place == SIM_REGISTERED && (r->flags & CU_MEMHOSTREGISTER_READ_ONLY)) ||
                         (r->place == SIM_MAPPED && !(r->writers >> c->dev->ordinal & 1));
        sim_span_join(r, span);
        if (sim.set.coarse) sim_span_widen(r, span);
        /* The host writes all other places. Another process writes what it opened here; memory that this process
         * has exported counts as a writer (sim_ipc_part.c). */
        span->device_only = r->place == SIM_DEVICE && !r->part.opens;
    } else if (r && r->absent && !r->freed) {
        snprintf(why, size, "is memory of a graph that is not allocated at this point of the stream");
    } else if (r && r->place == SIM_MAPPED) {
        snprintf(why, size, "is mapped memory to which device %d has no access (cuMemSetAccess)", c->dev->ordinal);
    } else if (inside && !r->freed && r->bytes) {
        snprintf(why, size, "is memory of device %d, which device %d may not reach before cuCtxEnablePeerAccess",
                 r->dev->ordinal, c->dev->ordinal);
    } else {
        sim_space_explain(address, why, size, span);
    }
    pthread_rwlock_unlock(&sim_space.lock);
    return found;
}
