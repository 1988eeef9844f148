/* Device addresses and every allocation that kernels may reach.
 *
 * A device's addresses lo .. lo+span-1 are a PROT_NONE range: the host faults when it touches one.  The bytes of address a lie at host + (a - lo),
 * in a second range of which the part that has ever been allocated is readable and writable; so a span of the engine stays valid for ever.
 * Allocations of all devices and of the host stand in one table, ordered by address.  Freed device memory stays in it for a
 * while (SD_KEPT ranges, SD_KEPT_BYTES), unused, so that a late use is found and named. */
#include "sim/simcore.h"
#include "sim/sim_device.h"
#include "sim/sim_memory.h"
#include "sim/sim_shared.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SD_KEPT = 256, SD_GRAIN = 512, SD_PAGE = 2 << 20 };
#define SD_KEPT_BYTES (UINT64_C(64) << 20)
#define SD_SPAN_MOST (UINT64_C(80) << 30)
#define SD_SPAN_LEAST (UINT64_C(32) << 20)

static struct {
    pthread_rwlock_t lock;
    sd_range *range; size_t n, cap;         /* ordered by lo; live or freed, never overlapping */
    uint64_t kept[SD_KEPT]; size_t first, count; uint64_t kept_bytes;   /* addresses of the freed ones, oldest first */
    uint64_t next_id;
} sd_space = { .lock = PTHREAD_RWLOCK_INITIALIZER };

/* ---- A device's addresses ---------------------------------------------------------------------------------------- */

bool cji_sd_space_open(sd_device *dev)
{
    if (dev->span) return true;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t most = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : SD_SPAN_MOST;
    most = (most < SD_SPAN_MOST ? most : SD_SPAN_MOST) / SD_PAGE * SD_PAGE;
    for (uint64_t span = most; span >= SD_SPAN_LEAST; span = span / 2 / SD_PAGE * SD_PAGE) {
        void *lo = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (lo == MAP_FAILED) continue;
        void *host = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (host == MAP_FAILED) {
            munmap(lo, span);
            continue;
        }
        dev->lo = ((uint64_t)(uintptr_t)lo + SD_GRAIN - 1) / SD_GRAIN * SD_GRAIN;
        dev->host = host;
        dev->span = span;
        dev->hint = dev->lo;
        return true;
    }
    return false;
}

void cji_sd_space_close(sd_device *dev)
{
    if (!dev->span) return;
    munmap((void *)(uintptr_t)dev->lo, dev->span);
    munmap(dev->host, dev->span);
    dev->span = 0;
    cji_sd_part_close(dev);
}

/* The bytes up to `end` (an offset) become readable and writable. */
static bool sd_space_commit(sd_device *dev, uint64_t end)
{
    if (end <= dev->committed) return true;
    uint64_t to = (end + SD_PAGE - 1) / SD_PAGE * SD_PAGE;
    if (to > dev->span) to = dev->span;
    if (mprotect(dev->host + dev->committed, to - dev->committed, PROT_READ | PROT_WRITE) != 0) return false;
    dev->committed = to;
    return true;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* The first range whose lo is above `address`. */
static size_t sd_space_above(uint64_t address)
{
    size_t a = 0, b = sd_space.n;
    while (a < b) {
        size_t m = (a + b) / 2;
        if (sd_space.range[m].lo <= address) a = m + 1;
        else b = m;
    }
    return a;
}

/* The range that holds `address`, freed or not. */
static sd_range *sd_space_holder(uint64_t address)
{
    size_t i = sd_space_above(address);
    if (!i) return NULL;
    sd_range *r = &sd_space.range[i - 1];
    return address - r->lo < (r->bytes ? r->bytes : 1) ? r : NULL;
}

static bool sd_space_insert(sd_range r)
{
    if (!cji_grow(&sd_space.range, &sd_space.cap, sd_space.n + 1, sizeof r)) return false;
    size_t i = sd_space_above(r.lo);
    memmove(&sd_space.range[i + 1], &sd_space.range[i], (sd_space.n - i) * sizeof r);
    r.id = ++sd_space.next_id;
    sd_space.range[i] = r;
    sd_space.n++;
    return true;
}

static void sd_space_remove(size_t i)
{
    sd_range *r = &sd_space.range[i];
    if (r->place == SD_DEVICE && r->lo < r->dev->hint) r->dev->hint = r->lo;
    memmove(r, r + 1, (sd_space.n - i - 1) * sizeof *r);
    sd_space.n--;
}

static void sd_space_forget_oldest(void)
{
    uint64_t lo = sd_space.kept[sd_space.first];
    sd_space.first = (sd_space.first + 1) % SD_KEPT;
    sd_space.count--;
    size_t i = sd_space_above(lo) - 1;
    sd_space.kept_bytes -= sd_space.range[i].room;
    sd_space_remove(i);
}

/* A gap of `room` bytes among the device's addresses, at a multiple of `grain`; 0: none. */
static uint64_t sd_space_gap(sd_device *dev, uint64_t room, uint64_t grain)
{
    uint64_t at = dev->hint, end = dev->lo + dev->span / SD_PAGE * SD_PAGE;
    size_t i = sd_space_above(at);
    if (i && sd_space.range[i - 1].lo + sd_space.range[i - 1].room > at) at = sd_space.range[i - 1].lo + sd_space.range[i - 1].room;
    bool first = true;
    for (;; i++) {
        uint64_t next = i < sd_space.n && sd_space.range[i].lo < end ? sd_space.range[i].lo : end;
        if (next > at && next - at >= SD_GRAIN) {
            if (first) dev->hint = at;
            first = false;
            uint64_t begin = (at + grain - 1) / grain * grain;
            if (next >= begin && next - begin >= room) return begin;
        }
        if (next == end) return 0;
        at = next + sd_space.range[i].room;
    }
}

static CUresult sd_space_place(sd_device *dev, sd_range *r, uint64_t grain)
{
    uint64_t room = r->bytes ? (r->bytes + grain - 1) / grain * grain : grain;
    if (room < r->bytes || room > dev->span) return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t at;
    while (!(at = sd_space_gap(dev, room, grain))) {
        if (!sd_space.count) return CUDA_ERROR_OUT_OF_MEMORY;
        sd_space_forget_oldest();
    }
    r->lo = at;
    r->room = room;
    if (!sd_space_commit(dev, at - dev->lo + room) || !sd_space_insert(*r)) return CUDA_ERROR_OUT_OF_MEMORY;
    dev->used += room;
    return CUDA_SUCCESS;
}

CUresult cji_sd_space_alloc(sd_device *dev, sd_ctx *c, uint64_t bytes, sd_pool *pool, bool module, CUdeviceptr *out)
{
    sd_range r = { .bytes = bytes, .place = SD_DEVICE, .dev = dev, .ctx = c, .pool = pool, .module = module };
    pthread_rwlock_wrlock(&sd_space.lock);
    CUresult result = sd_space_place(dev, &r, SD_GRAIN);
    pthread_rwlock_unlock(&sd_space.lock);
    if (!result) *out = r.lo;
    return result;
}

/* A freed range of a device stays, marked; one of the host goes at once.  `i` is its place. */
static void sd_space_release(size_t i)
{
    sd_range *r = &sd_space.range[i];
    if (r->place != SD_DEVICE) {
        if (r->block) cji_free(r->block, r->block_bytes);
        sd_space_remove(i);
        return;
    }
    r->dev->used -= r->room;
    r->freed = true;
    if (r->part.mapped) {
        cji_sd_part_end(r);
    } else if (r->room >= SD_PAGE) {
        uint64_t page = 4096, from = (r->lo - r->dev->lo + page - 1) / page * page, to = (r->lo - r->dev->lo + r->room) / page * page;
        if (to > from) madvise(r->dev->host + from, to - from, MADV_DONTNEED);
    }
    sd_space.kept[(sd_space.first + sd_space.count++) % SD_KEPT] = r->lo;
    sd_space.kept_bytes += r->room;
    while (sd_space.count == SD_KEPT || sd_space.kept_bytes > SD_KEPT_BYTES) sd_space_forget_oldest();
}

/* What of it is in a file takes whole pages. */
CUresult cji_sd_space_alloc_part(sd_device *dev, sd_ctx *c, uint64_t bytes, int fd, const sd_part *part, CUdeviceptr *out)
{
    sd_range r = { .bytes = bytes, .place = SD_DEVICE, .dev = dev, .ctx = c };
    pthread_rwlock_wrlock(&sd_space.lock);
    CUresult result = sd_space_place(dev, &r, (uint64_t)sysconf(_SC_PAGESIZE));
    if (!result) {
        sd_range *placed = sd_space_holder(r.lo);
        bool mapped = cji_sd_part_begin(placed, fd, part);
        if (!mapped && fd >= 0) {
            sd_space_release((size_t)(placed - sd_space.range));
            result = CUDA_ERROR_MAP_FAILED;
        }
    }
    pthread_rwlock_unlock(&sd_space.lock);
    if (!result) *out = r.lo;
    return result;
}

bool cji_sd_space_find_part(const sd_ctx *c, const sd_part *part, uint64_t *lo)
{
    bool found = false;
    pthread_rwlock_wrlock(&sd_space.lock);
    for (size_t i = 0; i < sd_space.n && !found; i++) {
        sd_range *r = &sd_space.range[i];
        if (r->freed || r->ctx != c || !r->part.opens || r->part.inode != part->inode || r->part.device != part->device || r->part.at != part->at) continue;
        r->part.opens++;
        *lo = r->lo;
        found = true;
    }
    pthread_rwlock_unlock(&sd_space.lock);
    return found;
}

CUresult cji_sd_space_add(const sd_range *r)
{
    CUresult result = CUDA_SUCCESS;
    pthread_rwlock_wrlock(&sd_space.lock);
    size_t i = sd_space_above(r->lo);
    bool before = i && sd_space.range[i - 1].lo + sd_space.range[i - 1].room > r->lo;
    if (before || (i < sd_space.n && sd_space.range[i].lo < r->lo + r->room)) result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    else if (!sd_space_insert(*r)) result = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_rwlock_unlock(&sd_space.lock);
    return result;
}

CUresult cji_sd_space_drop(uint64_t lo, sd_place place, sd_range *was)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&sd_space.lock);
    size_t i = sd_space_above(lo);
    if (i-- && sd_space.range[i].lo == lo && sd_space.range[i].place == place && !sd_space.range[i].freed) {
        if (was) *was = sd_space.range[i];
        sd_space_release(i);
        result = CUDA_SUCCESS;
    }
    pthread_rwlock_unlock(&sd_space.lock);
    return result;
}

void cji_sd_space_drop_ctx(sd_ctx *c)
{
    pthread_rwlock_wrlock(&sd_space.lock);
    for (size_t i = sd_space.n; i-- > 0;) {
        if (i >= sd_space.n) continue;
        if (sd_space.range[i].ctx == c && !sd_space.range[i].freed) {
            if (sd_space.range[i].pool) cji_sd_pool_give(sd_space.range[i].pool, sd_space.range[i].bytes);
            sd_space_release(i);
        }
    }
    pthread_rwlock_unlock(&sd_space.lock);
}

void cji_sd_space_end(void)
{
    pthread_rwlock_wrlock(&sd_space.lock);
    for (size_t i = 0; i < sd_space.n; i++)
        if (sd_space.range[i].block) cji_free(sd_space.range[i].block, sd_space.range[i].block_bytes);
    cji_free(sd_space.range, sd_space.cap * sizeof *sd_space.range);
    sd_space.range = NULL;
    sd_space.n = sd_space.cap = sd_space.first = sd_space.count = 0;
    sd_space.kept_bytes = 0;
    pthread_rwlock_unlock(&sd_space.lock);
}

void cji_sd_space_change(uint64_t lo, void (*change)(sd_range *r, void *user), void *user)
{
    pthread_rwlock_wrlock(&sd_space.lock);
    sd_range *r = sd_space_holder(lo);
    if (r && r->lo == lo && !r->freed) change(r, user);
    pthread_rwlock_unlock(&sd_space.lock);
}

/* ---- Looking up -------------------------------------------------------------------------------------------------- */

bool cji_sd_space_find(uint64_t address, sd_range *out)
{
    pthread_rwlock_rdlock(&sd_space.lock);
    const sd_range *r = sd_space_holder(address);
    bool found = r && !r->freed;
    if (found) *out = *r;
    pthread_rwlock_unlock(&sd_space.lock);
    return found;
}

static unsigned char *sd_host_of(const sd_range *r, uint64_t address)
{
    return r->place == SD_DEVICE ? r->dev->host + (address - r->dev->lo) : (unsigned char *)(uintptr_t)address;
}

static bool sd_range_reached(const sd_range *r, const sd_ctx *c)
{
    return r->place != SD_DEVICE || cji_sd_ctx_sees(c, r->dev) || (r->pool && r->pool->access >> c->dev->ordinal & 1);
}

unsigned char *cji_sd_space_at(const sd_ctx *c, uint64_t address, uint64_t bytes)
{
    sd_range r;
    if (!cji_sd_space_find(address, &r) || bytes > r.bytes || address - r.lo > r.bytes - bytes || (c && !sd_range_reached(&r, c))) return NULL;
    return sd_host_of(&r, address);
}

bool cji_sd_space_is_outside(uint64_t address)
{
    sd_range r;
    return cji_sd_space_find(address, &r) && (r.place != SD_DEVICE || r.part.exported || r.part.opens);
}

bool cji_sd_space_is_host(uint64_t address)
{
    sd_range r;
    return cji_sd_space_find(address, &r) && r.place != SD_DEVICE;
}

/* Under the table's lock. */
static bool sd_space_explain(uint64_t address, char *why, size_t size)
{
    const sd_range *r = sd_space_holder(address);
    if (r && r->freed) {
        snprintf(why, size, "was freed: it lay in %llu bytes at 0x%llx", (unsigned long long)r->bytes, (unsigned long long)r->lo);
        return true;
    }
    for (unsigned d = 0; d < sd.set.devices; d++) {
        const sd_device *dev = sd.device[d];
        if (!dev || address - dev->lo >= dev->span) continue;
        size_t i = sd_space_above(address);
        if (i && sd_space.range[i - 1].dev == dev && sd_space.range[i - 1].place == SD_DEVICE) {
            r = &sd_space.range[i - 1];
            snprintf(why, size, "lies %llu bytes past the end of the %llu bytes at 0x%llx%s", (unsigned long long)(address - r->lo - r->bytes),
                     (unsigned long long)r->bytes, (unsigned long long)r->lo, r->freed ? ", which were freed" : "");
        } else {
            snprintf(why, size, "is a device address that was never allocated");
        }
        return false;
    }
    if (address < 65536) snprintf(why, size, "is a null pointer, or an offset from one");
    else snprintf(why, size, "is no device address: a host pointer that is neither pinned nor registered, or an uninitialised value");
    return false;
}

bool cji_sd_space_why(uint64_t address, char *why, size_t size)
{
    pthread_rwlock_rdlock(&sd_space.lock);
    bool freed = sd_space_explain(address, why, size);
    pthread_rwlock_unlock(&sd_space.lock);
    return freed;
}

bool cji_sd_exec_find(void *user, uint64_t address, cji_sim_span *span, char *why, size_t size)
{
    const sd_ctx *c = user;
    pthread_rwlock_rdlock(&sd_space.lock);
    const sd_range *r = sd_space_holder(address);
    bool found = r && !r->freed && !r->absent && r->bytes && sd_range_reached(r, c);
    if (found) {
        span->lo = r->lo;
        span->hi = r->lo + r->bytes;
        span->host = sd_host_of(r, r->lo);
        span->readonly = r->place == SD_REGISTERED && (r->flags & CU_MEMHOSTREGISTER_READ_ONLY);
    } else if (r && r->absent && !r->freed) {
        snprintf(why, size, "is memory of a graph that is not allocated at this point of the stream");
    } else if (r && !r->freed && r->bytes) {
        snprintf(why, size, "is memory of device %d, which device %d may not reach before cuCtxEnablePeerAccess", r->dev->ordinal, c->dev->ordinal);
    } else {
        sd_space_explain(address, why, size);
    }
    pthread_rwlock_unlock(&sd_space.lock);
    return found;
}
