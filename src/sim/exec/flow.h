/* The control flow graph of a function, and the order in which its blocks are laid out for the warp
 * scheduler. */
#ifndef CJI_EXEC_FLOW_H
#define CJI_EXEC_FLOW_H

#include "ptx/ptx.h"

#define CJI_FLOW_NONE UINT32_MAX

typedef struct cji_flow_block {
    uint32_t first, end;      /* records f->ins[first .. end-1] */
    uint32_t succ, nsucc;     /* flow->succ[] */
    uint32_t next;            /* where control falls out of its end; CJI_FLOW_NONE: it does not */
    uint32_t ipdom;           /* immediate post-dominator; CJI_FLOW_NONE: the end of the function, or none */
} cji_flow_block;

typedef struct cji_flow {
    cji_flow_block *block;
    uint32_t n;
    uint32_t *succ;
    uint32_t *of;             /* [f->nins]: the block of each record */
    /* reachable blocks; each block's immediate post-dominator comes behind whatever lies between */
    uint32_t *order;
    uint32_t norder;
} cji_flow;

/* All memory from `arena`.  False without memory. */
bool cji_flow_make(const cj_fn *f, cji_arena *arena, cji_flow *out);

/* The block that a LABEL word names. */
uint32_t cji_flow_target(const cji_flow *flow, const cj_fn *f, uint32_t word);

/* Fills ipdom of all blocks (postdom.c). */
bool cji_flow_postdom(const cj_fn *f, cji_arena *arena, cji_flow *g);

/* The most 32-bit values of a thread that are alive at one place, 255 at most (pressure.c). False without memory. */
bool cji_flow_pressure(const cj_fn *f, const cji_flow *flow, cji_arena *arena, uint32_t *values);

#endif
