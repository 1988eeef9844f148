/* The table of allocations, for its two files: sim_address.c fills it, sim_reach.c answers what is at an address. */
#ifndef CJI_SIM_ADDRESS_H
#define CJI_SIM_ADDRESS_H

#include "sim/core/sim_core.h"

enum {
    SIM_KEPT = 256,                 /* freed ranges that stay known */
    SIM_GRAIN = 512, SIM_PAGE = 2 << 20, SIM_SMALL_PAGE = 4096
};

typedef struct sim_space {
    pthread_rwlock_t lock;
    sim_range *range; size_t n, cap;         /* ordered by lo; live or freed, never overlapping */
    uint64_t kept[SIM_KEPT]; size_t first, count; uint64_t kept_bytes;   /* addresses of the freed ones, oldest first */
    uint64_t next_id;
    uint64_t changes;                    /* atomic: counts what no longer is as kernels may have looked it up */
} sim_space;
extern sim_space cji_sim_space;

/* Under the lock. */
size_t cji_sim_space_above(uint64_t address);        /* index of the first range whose lo is above it */
sim_range *cji_sim_space_holder(uint64_t address);   /* the range that holds it, freed or not; NULL: none */

#endif
