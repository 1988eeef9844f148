/* What is at an address: for calls, for copies, for the engine, and in the sentences of faults. The allocations are
 * those of sim_address.c; what may be accessed of one also depends on the device, on its parts (sim_parts.c) and on
 * whether bounds are exact. */
#include "sim/core/sim_address.h"

#include <stdio.h>

bool cji_sim_space_find(uint64_t address, sim_range *out)
{
    pthread_rwlock_rdlock(&cji_sim_space.lock);
    const sim_range *r = cji_sim_space_holder(address);
    bool found = r && !r->freed;
    if (found) *out = *r;
    pthread_rwlock_unlock(&cji_sim_space.lock);
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
    if (r->pool && r->pool->host) return r->pool->access >> c->dev->ordinal & 1;
    return r->place != SIM_DEVICE || cji_sim_ctx_sees(c, r->dev) || (r->pool && r->pool->access >> c->dev->ordinal & 1);
}

/* Under the table's lock. How many bytes from `address` on lie in `r` and in the mappings behind it without a gap,
 * whose bytes the host sees without a gap too: at least `wanted`, or all. */
static uint64_t sim_range_reach(const sim_range *r, uint64_t address, uint64_t wanted)
{
    uint64_t reach = r->bytes - (address - r->lo);
    const sim_range *end = cji_sim_space.range + cji_sim_space.n;
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
    pthread_rwlock_rdlock(&cji_sim_space.lock);
    const sim_range *r = cji_sim_space_holder(address);
    if (r && !r->freed && sim_range_reach(r, address, bytes) >= bytes && sim_range_parts_allow(r, address, bytes) &&
        (!c || sim_range_reached(r, c)))
        host = sim_host_of(r, address);
    pthread_rwlock_unlock(&cji_sim_space.lock);
    return host;
}

bool cji_sim_space_allows(const sim_ctx *c, uint64_t address, uint64_t bytes, bool write)
{
    bool allowed = true;
    pthread_rwlock_rdlock(&cji_sim_space.lock);
    const sim_range *r = cji_sim_space_holder(address), *end = cji_sim_space.range + cji_sim_space.n;
    if (r && r->place == SIM_REGISTERED) allowed = !write || !(r->flags & CU_MEMHOSTREGISTER_READ_ONLY);
    for (; r && r < end && r->place == SIM_MAPPED && allowed && (r->lo <= address || r->lo - address < bytes); r++)
        allowed = (write ? r->writers : r->readers) >> c->dev->ordinal & 1;
    pthread_rwlock_unlock(&cji_sim_space.lock);
    return allowed;
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

bool cji_sim_space_hides(uint64_t address)
{
    for (unsigned d = 0; d < sim.set.devices; d++)
        if (sim.device[d] && address - sim.device[d]->lo < sim.device[d]->span) return true;
    return cji_sim_reserve_holds(address);
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
    const sim_range *r = cji_sim_space_holder(address);
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
        size_t i = cji_sim_space_above(address);
        if (i && cji_sim_space.range[i - 1].dev == dev && cji_sim_space.range[i - 1].place == SIM_DEVICE) {
            r = &cji_sim_space.range[i - 1];
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
    pthread_rwlock_rdlock(&cji_sim_space.lock);
    bool freed = sim_space_explain(address, why, size, NULL);
    pthread_rwlock_unlock(&cji_sim_space.lock);
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
    const sim_range *begin = cji_sim_space.range, *end = begin + cji_sim_space.n;
    if (r->place != SIM_MAPPED) return;
    for (const sim_range *a = r; a > begin && sim_mapped_together(a - 1, a); a--) {
        span->lo = a[-1].lo;
        span->host = a[-1].host;
    }
    for (const sim_range *a = r; a + 1 < end && sim_mapped_together(a, a + 1); a++) span->hi = a[1].lo + a[1].bytes;
}

const uint64_t *cji_sim_memory_changes(void) { return &cji_sim_space.changes; }

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
    size_t before = cji_sim_space_above(address);
    if (before && cji_sim_space.range[before - 1].block && address < sim_block_end(&cji_sim_space.range[before - 1]))
        return &cji_sim_space.range[before - 1];
    for (unsigned d = 0; d < sim.set.devices; d++) {
        const sim_device *dev = sim.device[d];
        if (address - dev->lo >= dev->committed) continue;
        uint64_t page = dev->lo + (address - dev->lo) / SIM_PAGE * SIM_PAGE;
        for (size_t i = cji_sim_space_above(page + SIM_PAGE - 1); i-- > 0;) {
            const sim_range *r = &cji_sim_space.range[i];
            if (r->lo + r->room <= page) break;
            if (r->place == SIM_DEVICE && !r->freed && !r->absent && sim_range_reached(r, c)) return r;
        }
    }
    return NULL;
}

bool cji_sim_memory_find(void *user, uint64_t address, cji_exec_span *span, char *why, size_t size)
{
    const sim_ctx *c = user;
    pthread_rwlock_rdlock(&cji_sim_space.lock);
    const sim_range *r = cji_sim_space_holder(address);
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
    } else if (inside && !r->freed && r->pool && r->pool->host) {
        snprintf(why, size, "is memory of a pool of the host, which device %d may not reach before cuMemPoolSetAccess",
                 c->dev->ordinal);
    } else if (inside && !r->freed && r->bytes) {
        snprintf(why, size, "is memory of device %d, which device %d may not reach before cuCtxEnablePeerAccess",
                 r->dev->ordinal, c->dev->ordinal);
    } else {
        sim_space_explain(address, why, size, span);
    }
    pthread_rwlock_unlock(&cji_sim_space.lock);
    return found;
}
