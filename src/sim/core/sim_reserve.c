/* Reserved addresses (cuMemAddressReserve). Like a device's own, they are a PROT_NONE range, which the host cannot
 * touch; the bytes of mappings lie at the same offsets in a second range. What was mapped there once stays readable
 * and writable for the engine, which may still hold a span of it: after an unmapping the pages are empty ones. */
#include "sim/core/sim_core.h"

#include <sys/mman.h>

typedef struct sim_reserved {
    struct sim_reserved *next;
    uint64_t lo, bytes;
    unsigned char *host;
    void *block, *host_block;       /* the mappings that they lie in, each of block_bytes */
    uint64_t block_bytes;
} sim_reserved;

static pthread_rwlock_t sim_reserved_lock = PTHREAD_RWLOCK_INITIALIZER;   /* taken under the address table's */
static sim_reserved *sim_reserved_all;

static void *sim_reserve_block(uint64_t bytes, uint64_t wish)
{
    void *p = mmap((void *)(uintptr_t)wish, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void sim_reserve_unmap(sim_reserved *r)
{
    if (r->block) munmap(r->block, r->block_bytes);
    if (r->host_block) munmap(r->host_block, r->block_bytes);
    cji_free(r, sizeof *r);
}

CUresult cji_sim_reserve(uint64_t bytes, uint64_t alignment, uint64_t wish, uint64_t *lo)
{
    uint64_t block_bytes;
    sim_reserved *r = cji_zalloc(sizeof *r);
    if (!r || !cji_sim_sum(&block_bytes, bytes, alignment)) {
        cji_free(r, sizeof *r);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    r->block_bytes = block_bytes;
    r->block = sim_reserve_block(block_bytes, wish);
    r->host_block = sim_reserve_block(block_bytes, 0);
    if (!r->block || !r->host_block) {
        sim_reserve_unmap(r);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    r->lo = ((uint64_t)(uintptr_t)r->block + alignment - 1) / alignment * alignment;
    r->host = r->host_block;
    r->bytes = bytes;
    pthread_rwlock_wrlock(&sim_reserved_lock);
    r->next = sim_reserved_all;
    sim_reserved_all = r;
    pthread_rwlock_unlock(&sim_reserved_lock);
    *lo = r->lo;
    return CUDA_SUCCESS;
}

CUresult cji_sim_reserve_free(uint64_t lo, uint64_t bytes)
{
    sim_reserved *found = NULL;
    for (sim_reserved *r = sim_reserved_all; r && !found; r = r->next)
        if (r->lo == lo && r->bytes == bytes) found = r;
    if (!found) return CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&sim_reserved_lock);
    for (sim_reserved **q = &sim_reserved_all; *q; q = &(*q)->next)
        if (*q == found) {
            *q = found->next;
            break;
        }
    pthread_rwlock_unlock(&sim_reserved_lock);
    sim_reserve_unmap(found);
    return CUDA_SUCCESS;
}

unsigned char *cji_sim_reserve_host(uint64_t lo, uint64_t bytes)
{
    unsigned char *host = NULL;
    pthread_rwlock_rdlock(&sim_reserved_lock);
    for (const sim_reserved *r = sim_reserved_all; r && !host; r = r->next)
        if (lo - r->lo < r->bytes && bytes <= r->bytes - (lo - r->lo)) host = r->host + (lo - r->lo);
    pthread_rwlock_unlock(&sim_reserved_lock);
    return host;
}

bool cji_sim_reserve_holds(uint64_t address) { return cji_sim_reserve_host(address, 1) != NULL; }

void cji_sim_reserve_end(void)
{
    pthread_rwlock_wrlock(&sim_reserved_lock);
    while (sim_reserved_all) {
        sim_reserved *r = sim_reserved_all;
        sim_reserved_all = r->next;
        sim_reserve_unmap(r);
    }
    pthread_rwlock_unlock(&sim_reserved_lock);
}
