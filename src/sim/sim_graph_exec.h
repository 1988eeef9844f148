/* Executable graphs, and what lives as long as they do: conditions, memory of graphs, user objects. */
#ifndef CJI_SIM_SIM_EXEC_H
#define CJI_SIM_SIM_EXEC_H

#include "sim/sim_core.h"

/* ---- Executable graphs (sim_graph_exec.c) ------------------------------------------------------------------------------ */

typedef struct sim_graph_step {            /* of an executable graph; steps stand in an order that respects the edges */
    sim_work *work;                  /* held; NULL: a mark */
    uint64_t node, origin;          /* ids of the node that it was made from, and of the one that that was cloned from */
    CUgraphNodeType type;
    size_t *before; size_t nbefore;
    size_t first;                   /* the mark behind a child graph's steps: the mark before them */
    bool enabled, leaf;
} sim_graph_step;

struct sim_graph_exec {
    unsigned refs;                  /* the handle, and each launch in flight */
    sim_ctx *ctx;
    unsigned long long flags;
    sim_graph_step *step; size_t nstep, room;
    sim_op **op;                     /* scratch of a launch, `room` of them */
    sim_op *last;                    /* held: the end of its latest launch */
    uint64_t graph;                 /* id of the graph that it was made from */
    bool once;                      /* of that graph */
    sim_objects *objects;                    /* user objects of that graph and its children */
    sim_work *begin;                 /* held: gives conditions their first values; NULL: there are none */
};

sim_graph_exec *cji_sim_graph_exec_make(sim_graph *g, CUresult *r);
void cji_sim_graph_exec_drop(sim_graph_exec *x);
CUresult cji_sim_graph_exec_get(CUgraphExec h, sim_graph_exec **out);
/* Submits its steps behind `begin` and puts `end` behind them; an end behind `begin` alone where there is no memory for the rest. */
CUresult cji_sim_graph_exec_steps(sim_graph_exec *x, sim_stream *s, sim_op *begin, sim_op *end);

/* ---- Conditions (sim_cond.c) ------------------------------------------------------------------------------------- */

struct sim_cond {
    unsigned refs;
    sim_ctx *ctx;
    uint32_t value, start;
    bool starts, used;              /* each launch begins with `start`; a node depends on it */
};
void cji_sim_cond_drop(sim_cond *c);
CUresult cji_sim_cond_params(CUDA_CONDITIONAL_NODE_PARAMS *p, sim_work **out);
void cji_sim_cond_node(sim_work *w, sim_node *node);          /* its bodies belong to the node now; NULL: to none any more */
CUresult cji_sim_cond_branch(const sim_work *w, sim_work **out);   /* SIM_CONDITIONAL to SIM_BRANCH */
const sim_node *cji_sim_cond_misfit(const sim_graph *g);          /* a conditional node with a body that has a node of a kind that none may have; or NULL */
CUresult cji_sim_cond_begin(const sim_graph_exec *x, sim_work **out);    /* NULL where it has no condition */
void cji_sim_cond_free(sim_work *w);
void cji_sim_condition_reset(const sim_work *w);
void cji_sim_branch_begin(sim_op *op);                             /* under the lock: begins it, or ends it */
void cji_sim_branch_again(sim_op *again);                    /* under the lock: a body has ended */
bool cji_sim_condition_set(void *ctx, uint64_t handle, uint32_t value);   /* for the engine */

/* ---- Memory of graphs (sim_graph_memory.c) --------------------------------------------------------------------------- */

struct sim_graph_mem {
    sim_graph_mem *next;                  /* sim.graph_mems */
    unsigned refs;                  /* works */
    sim_ctx *ctx;                    /* NULL: is over, and the memory with it */
    uint64_t at, bytes;
    uint64_t graph;                 /* id of the graph whose node allocates it */
    bool held;                      /* allocated by what was submitted so foreign, not freed by it */
    bool present;                   /* the same by what has run */
    bool inside, outside;           /* a node of that graph frees it, one of another */
    bool sealed;                    /* that graph was instantiated: a node of it cannot free it any more */
};
CUresult cji_sim_graph_mem_new(sim_graph *g, sim_ctx *c, uint64_t bytes, const CUmemPoolProps *props, sim_work **out);
CUresult cji_sim_graph_mem_free_work(sim_graph *g, uint64_t at, sim_work **out);
CUresult cji_sim_graph_mem_params(sim_graph *g, const CUDA_MEM_ALLOC_NODE_PARAMS *p, sim_work **out);
void cji_sim_graph_mem_drop(sim_graph_mem *m);
void cji_sim_graph_mem_forget_ctx(const sim_ctx *c);
CUresult cji_sim_graph_mem_launch(const sim_graph_exec *x);             /* whether it may be launched; notes what it allocates and frees */
CUresult cji_sim_graph_mem_release(sim_graph_mem *m, sim_stream *s);    /* cuMemFreeAsync; s NULL: cuMemFree */
void cji_sim_graph_mem_run(const sim_work *w);

/* ---- User objects (sim_object.c): counted by the caller, by graphs, executable graphs and launches in flight ------ */

typedef struct sim_object_ref { sim_object *object; unsigned count; } sim_object_ref;
struct sim_objects { unsigned refs; sim_object_ref *hold; size_t n, cap; };
sim_objects *cji_sim_objects_copy(sim_objects *into, const sim_objects *from, bool *failed);   /* into NULL: a new one where it is needed */
void cji_sim_objects_drop(sim_objects *b);
void cji_sim_objects_call(void);                            /* under the lock, given up meanwhile: one destructor */
void cji_sim_objects_end(void);

#endif
