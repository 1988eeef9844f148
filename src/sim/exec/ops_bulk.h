/* Bulk copies: between global and shared memory, and of tensors' tiles (the tensor memory accelerator, TMA).
 *
 * A copy is done as late as a GPU may do it, so that a kernel that does not wait for it has wrong results: a load when
 * a thread waits at its mbarrier, a store when its thread waits for its group, all others when the block ends. Until
 * then the destination of a load is all ones. A thread issues a copy as a cji_bulk, which names the instruction and
 * the thread: a fault of the copy is theirs. */
#ifndef CJI_EXEC_OPS_BULK_H
#define CJI_EXEC_OPS_BULK_H

#include "sim/exec/warp.h"

/* A record of either: address a + imm is the shared memory; b bytes (not of tiles); c blocks (multicast); count: a
 * tile's dimensions; k: CJI_BU_*, and CJI_AT_* << CJI_BU_SHIFT of a reduction.
 * ext[target]: the other address and the mbarrier, each {width, base, imm low, imm high, flags | space << 8}; then a
 * tile's coordinates, each {width, offset}. */
void cji_h_bulk(cji_warp *w, const cji_rec *r);
void cji_h_tile(cji_warp *w, const cji_rec *r);

enum { CJI_BU_STORE = 1, CJI_BU_MULTICAST = 2, CJI_BU_REDUCE = 4, CJI_BU_SHIFT = 8 };
enum { CJI_BU_OTHER = 0, CJI_BU_MBARRIER = 5, CJI_BU_AT = 10 };    /* places in ext */

struct cji_bulk {
    cji_warp *w;               /* the thread that issued it */
    const cji_rec *r;
    unsigned lane;
    uint64_t shared;           /* address in shared memory */
    uint64_t other;            /* of the global memory, or of the shared source; not of tiles */
    unsigned other_space;
    uint64_t mbarrier;         /* of a load */
    unsigned mbarrier_space;
    uint32_t bytes;
    int32_t at[CJI_EXEC_TENSOR_DIMS];   /* a tile's first element */
    uint32_t group;            /* of a store: its number among the thread's groups, from 1; 0: not committed */
    cji_exec_tensor_map map;   /* of a tile */
};

/* What both kinds have. False: a fault. */
bool cji_bulk_begin(cji_warp *w, const cji_rec *r, unsigned lane, cji_bulk *c);
/* Its alignment is checked. The copy is done later. False: a fault. */
bool cji_bulk_issue(const cji_bulk *c, unsigned align);
/* Counts the bytes of a load that has been done. False: a fault. */
bool cji_bulk_complete(const cji_bulk *c);
/* Copies a tile, now. False: a fault. */
bool cji_tile_copy(const cji_bulk *c);

void cji_h_bulk_commit(cji_warp *w, const cji_rec *r);
void cji_h_bulk_wait(cji_warp *w, const cji_rec *r);   /* until imm groups are not done */

/* A thread waits at an mbarrier, at this place in the block's shared memory, whose phase is not complete: does the
 * loads that it counts. False: there are none, or a fault. */
bool cji_bulk_arrive(cji_warp *w, unsigned char *mbarrier);
/* The block ends: does all copies. False: a fault. */
bool cji_bulk_end(cji_blk *b);
/* Forgets all copies; frees what they took. */
void cji_bulk_free(cji_blk *b);

#endif
