/* Executable graphs, and what lives as long as they do: conditions, memory of graphs, user objects. */
#ifndef CJI_SIM_SIM_EXEC_H
#define CJI_SIM_SIM_EXEC_H

#include "sim/simcore.h"

/* ---- Executable graphs (sim_exec.c) ------------------------------------------------------------------------------ */

typedef struct sd_step {            /* of an executable graph; steps stand in an order that respects the edges */
    sd_work *work;                  /* held; NULL: a mark */
    uint64_t node, origin;          /* ids of the node that it was made from, and of the one that that was cloned from */
    CUgraphNodeType type;
    size_t *before; size_t nbefore;
    size_t first;                   /* the mark behind a child graph's steps: the mark before them */
    bool enabled, leaf;
} sd_step;

struct sd_exec {
    unsigned refs;                  /* the handle, and each launch in flight */
    sd_ctx *ctx;
    unsigned long long flags;
    sd_step *step; size_t nstep, room;
    sd_op **op;                     /* scratch of a launch, `room` of them */
    sd_op *last;                    /* held: the end of its latest launch */
    uint64_t graph;                 /* id of the graph that it was made from */
    bool once;                      /* of that graph */
    sd_bag *bag;                    /* user objects of that graph and its children */
    sd_work *begin;                 /* held: gives conditions their first values; NULL: there are none */
};

sd_exec *cji_sd_exec_make(sd_graph *g, CUresult *r);
void cji_sd_exec_drop(sd_exec *x);
CUresult cji_sd_exec_get(CUgraphExec h, sd_exec **out);
/* Submits its steps behind `begin` and puts `end` behind them; an end behind `begin` alone where there is no memory for the rest. */
CUresult cji_sd_exec_steps(sd_exec *x, sd_stream *s, sd_op *begin, sd_op *end);

/* ---- Conditions (sim_cond.c) ------------------------------------------------------------------------------------- */

struct sd_cond {
    unsigned refs;
    sd_ctx *ctx;
    uint32_t value, start;
    bool starts, used;              /* each launch begins with `start`; a node depends on it */
};
void cji_sd_cond_drop(sd_cond *c);
CUresult cji_sd_cond_params(CUDA_CONDITIONAL_NODE_PARAMS *p, sd_work **out);
void cji_sd_cond_node(sd_work *w, sd_node *node);          /* its bodies belong to the node now; NULL: to none any more */
CUresult cji_sd_cond_branch(const sd_work *w, sd_work **out);   /* SD_CONDITIONAL to SD_BRANCH */
const sd_node *cji_sd_cond_misfit(const sd_graph *g);          /* a conditional node with a body that has a node of a kind that none may have; or NULL */
CUresult cji_sd_cond_begin(const sd_exec *x, sd_work **out);    /* NULL where it has no condition */
void cji_sd_cond_free(sd_work *w);
void cji_sd_run_begin(const sd_work *w);
void cji_sd_branch(sd_op *op);                             /* under the lock: begins it, or ends it */
void cji_sd_branch_again(sd_op *again);                    /* under the lock: a body has ended */
bool cji_sd_exec_condition(void *ctx, uint64_t handle, uint32_t value);   /* for the engine */

/* ---- Memory of graphs (sim_graphmem.c) --------------------------------------------------------------------------- */

struct sd_gmem {
    sd_gmem *next;                  /* sd.gmems */
    unsigned refs;                  /* works */
    sd_ctx *ctx;                    /* NULL: is over, and the memory with it */
    uint64_t at, bytes;
    uint64_t graph;                 /* id of the graph whose node allocates it */
    bool held;                      /* allocated by what was submitted so far, not freed by it */
    bool present;                   /* the same by what has run */
    bool inside, outside;           /* a node of that graph frees it, one of another */
    bool sealed;                    /* that graph was instantiated: a node of it cannot free it any more */
};
CUresult cji_sd_gmem_new(sd_graph *g, sd_ctx *c, uint64_t bytes, const CUmemPoolProps *props, sd_work **out);
CUresult cji_sd_gmem_free_work(sd_graph *g, uint64_t at, sd_work **out);
CUresult cji_sd_gmem_params(sd_graph *g, const CUDA_MEM_ALLOC_NODE_PARAMS *p, sd_work **out);
void cji_sd_gmem_drop(sd_gmem *m);
void cji_sd_gmem_forget_ctx(const sd_ctx *c);
CUresult cji_sd_gmem_launch(const sd_exec *x);             /* whether it may be launched; notes what it allocates and frees */
CUresult cji_sd_gmem_release(sd_gmem *m, sd_stream *s);    /* cuMemFreeAsync; s NULL: cuMemFree */
void cji_sd_run_gmem(const sd_work *w);

/* ---- User objects (sim_object.c): counted by the caller, by graphs, executable graphs and launches in flight ------ */

typedef struct sd_hold { sd_object *object; unsigned count; } sd_hold;
struct sd_bag { unsigned refs; sd_hold *hold; size_t n, cap; };
sd_bag *cji_sd_bag_copy(sd_bag *into, const sd_bag *from, bool *failed);   /* into NULL: a new one where it is needed */
void cji_sd_bag_drop(sd_bag *b);
void cji_sd_objects_call(void);                            /* under the lock, given up meanwhile: one destructor */
void cji_sd_objects_end(void);

#endif
