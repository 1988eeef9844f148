/* The kinds of work that streams and graphs have: one file each. Prefixes: cji_sim_launch_, _copy_, _fill_,
 * _mem_op_, _kind_. All under the lock. */
#ifndef CJI_SIM_KINDS_H
#define CJI_SIM_KINDS_H

#include "sim/memory/sim_memory.h"
#include "sim/module/sim_module.h"

extern const sim_work_kind cji_sim_kind_launch, cji_sim_kind_copy, cji_sim_kind_fill, cji_sim_kind_host_func,
    cji_sim_kind_callback, cji_sim_kind_mem_ops;

/* ---- Launches (sim_launch.c, sim_grid.c) ------------------------------------------------------------------------- */

typedef struct sim_shape {
    uint32_t grid[3], block[3], cluster[3], shared;
    bool cooperative, has_priority, no_cluster;
    int priority;
    CUlaunchMemSyncDomain domain;
} sim_shape;

typedef struct sim_launch {
    sim_work work;
    sim_func *func;                 /* its module is held */
    sim_shape shape;
    _Alignas(16) unsigned char params[];   /* kernel->param_bytes; callers of graphs read them where they lie */
} sim_launch;

/* Checks a launch and makes the work. */
CUresult cji_sim_launch_work(sim_func *f, const sim_shape *shape, void **params, void **extra, sim_work **out);
CUresult cji_sim_launch_attribute(CUlaunchAttributeID id, const CUlaunchAttributeValue *v, sim_shape *shape);
cji_exec_grid *cji_sim_launch_open(sim_op *op);      /* for the kind: see struct sim_work_kind */
void cji_sim_launch_close(sim_op *op);

/* ---- Copies and fills: the work of a call or a node (sim_copy.c, sim_fill.c), and the calls (sim_copy_calls.c) --- */

/* One end of a copy. */
typedef struct sim_copy_end {
    uint64_t at;                    /* an address, or a place in the array's bytes */
    size_t pitch, slice;
    bool host;                      /* not the device's memory */
    bool pageable;                  /* nor pinned, registered or managed: `at` is used as it is, not looked up */
    sim_array *array;               /* held; NULL: memory */
} sim_copy_end;

typedef struct sim_copy {
    sim_work work;
    sim_copy_end dst, src;
    size_t width, height, depth;    /* depth 0: it copies nothing */
    void *staged;                   /* the bytes of a pageable source, NULL none */
    size_t staged_bytes;
    CUDA_MEMCPY3D raw;
} sim_copy;

CUresult cji_sim_copy_work(const CUDA_MEMCPY3D *p, sim_ctx *c, sim_work **out);
/* The same for a graph, which wants access to memory of another device's pool, as a call does not: seen on two H200. */
CUresult cji_sim_copy_node_work(const CUDA_MEMCPY3D *p, sim_ctx *c, sim_work **out);
/* Takes over `w`. `sync`: of a call without Async in its name; `now`: bytes of the host are taken at the call. */
CUresult cji_sim_copy_submit(sim_stream *s, sim_copy *w, bool sync, bool now);
CUresult cji_sim_fill_work(const CUDA_MEMSET_NODE_PARAMS *p, sim_ctx *c, sim_work **out);

/* ---- Memory operations (sim_mem_op.c) ---------------------------------------------------------------------------- */

bool cji_sim_mem_op_fits(const sim_mem_wait *w, uint64_t value);              /* whether the value ends the wait */
bool cji_sim_mem_op_holds(const sim_ctx *c, const sim_mem_wait *w); /* whether it is there now, or can never be seen */

#endif
