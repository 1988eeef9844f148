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

/* ---- Virtual memory (sim_virtual.c) ------------------------------------------------------------------------------ */

void cji_sim_virtual_end(void);                            /* the process ends */

#endif
