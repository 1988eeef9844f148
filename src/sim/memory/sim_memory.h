/* Allocations: plain, pinned, registered, managed, stream-ordered, between processes. Prefix: cji_sim_pool_.
 * The table of all addresses is in the core room (sim_core.h). */
#ifndef CJI_SIM_MEMORY_H
#define CJI_SIM_MEMORY_H

#include "sim/stream/sim_stream.h"

extern const sim_room cji_sim_room_memory;

/* ---- Pools (sim_pool.c); under the lock -------------------------------------------------------------------------- */

sim_pool *cji_sim_pool_new(sim_device *dev);               /* NULL without memory */
void cji_sim_pool_take(sim_pool *p, uint64_t bytes);
void cji_sim_pool_give(sim_pool *p, uint64_t bytes);       /* a free has been reached in stream order */
void cji_sim_pool_trim(sim_pool *p, uint64_t keep);
sim_pool *cji_sim_pool_of(CUmemoryPool h);                 /* NULL: no pool, or destroyed */
void cji_sim_pool_own(sim_pool *p, uint64_t lo, uint64_t bytes);   /* the allocation that begins there is its own */

/* Memory of a pool of the host is as that of cuMemHostAlloc with these flags. */
#define SIM_POOL_HOST_FLAGS (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)

/* ---- Between processes (sim_pool_share.c); under the lock -------------------------------------------------------- */

bool cji_sim_pool_share(sim_pool *p);                      /* others may import it; false: the system has no file */
void cji_sim_pool_unshare(sim_pool *p);                    /* it ends */

/* ---- Arrays (sim_array.c) ---------------------------------------------------------------------------------------- */

typedef struct sim_mipmap sim_mipmap;

struct sim_array {
    sim_ref ref;                    /* the handle, and each work that copies from or to it */
    bool live;                      /* has a handle */
    sim_ctx *ctx;
    sim_device *dev;
    sim_array *next;                /* all live ones */
    sim_mipmap *of;                 /* a level of it, else NULL */
    CUDA_ARRAY3D_DESCRIPTOR desc;
    unsigned element;               /* bytes */
    sim_extent extent;              /* of all of it */
    uint64_t bytes;
    unsigned char *data;
};
sim_array *cji_sim_array_of(CUarray h);                    /* NULL: none */
const sim_array *cji_sim_mipmap_first(CUmipmappedArray h, unsigned *levels);   /* its first level; NULL: none */
unsigned cji_sim_array_element(CUarray_format format, unsigned channels);   /* its bytes; 0: there is no such element */
void cji_sim_array_ctx_end(const sim_ctx *c);

/* ---- Texture and surface objects (sim_texture.c) ----------------------------------------------------------------- */

void cji_sim_texture_ctx_end(const sim_ctx *c);

/* ---- Virtual memory (sim_virtual.c) ------------------------------------------------------------------------------ */

void cji_sim_virtual_end(void);                            /* the process ends */

#endif
