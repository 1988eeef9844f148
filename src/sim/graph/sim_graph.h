/* Captures, graphs, executable graphs, and the kinds of work that only graphs have. All under the lock unless said
 * otherwise. Prefixes: cji_sim_capture_add, _graph_, _graph_exec_, _graph_mem_, _node_, _cond_, _child_, _objects_,
 * _step_. */
#ifndef CJI_SIM_GRAPH_H
#define CJI_SIM_GRAPH_H

#include "sim/kinds/sim_kinds.h"

typedef struct sim_objects sim_objects;
typedef struct sim_cond sim_cond;

extern const sim_room cji_sim_room_graph;
extern const sim_graph_hooks cji_sim_graph_hooks;

/* ---- Graphs and their nodes, which may be changed (sim_graph.c, sim_edge.c) ------------------------------------- */

struct sim_node {
    sim_graph *graph;
    uint64_t id;                    /* of this node; a clone's own differs */
    uint64_t origin;                /* the id of the node it was cloned from, 0 */
    sim_work *work;                 /* held; NULL: an empty node */
    CUgraphNodeType type;
    sim_node **before;              /* in the order in which the edges were added */
    size_t nbefore, before_cap;
    size_t mark;                    /* scratch for walks */
    void **param;                   /* what cuGraphKernelNodeGetParams returned */
    size_t nparam;
};

struct sim_graph {
    unsigned refs;                  /* the handle, an open capture, a child node */
    sim_node *parent;               /* the child node that owns it, else NULL */
    sim_node **node;                /* in the order of their making */
    size_t nnode, cap;
    uint64_t origin;                /* id of the graph it was cloned from, 0 */
    uint64_t id;
    bool once; /* has nodes of memory or conditional ones: not copied, instantiated once at a time */
    bool memory;                    /* has nodes of memory: keeps its nodes and edges */
    sim_objects *objects;           /* user objects */
    sim_cond **cond;                /* held: conditions that were made for it */
    size_t ncond, cond_cap;
};

sim_graph *cji_sim_graph_new(void);                        /* one reference, no handle; NULL without memory */
void cji_sim_graph_drop(sim_graph *g);
void cji_sim_graph_forget(sim_graph *g);
sim_graph *cji_sim_graph_copy(const sim_graph *g);
CUresult cji_sim_graph_get(CUgraph h, sim_graph **out);
/* Appends a node; takes over `w` when it succeeds. */
sim_node *cji_sim_node_new(sim_graph *g, sim_work *w, CUgraphNodeType type, sim_node *const *before, size_t n);
CUresult cji_sim_node_get(CUgraphNode h, sim_node **out);
CUresult cji_sim_node_typed(CUgraphNode h, CUgraphNodeType type, sim_node **out);
void cji_sim_node_change(sim_node *n, sim_work *w);        /* takes over `w` */
/* INVALID_VALUE unless they are nodes of g, each once. */
CUresult cji_sim_nodes_of(const sim_graph *g, const CUgraphNode *node, size_t n);
bool cji_sim_edges_plain(const CUgraphEdgeData *data, size_t n);                    /* only ordinary dependencies */
/* Order that respects the edges; false: a cycle.  order has g->nnode places. */
bool cji_sim_graph_order(sim_graph *g, sim_node **order);

/* ---- Parameters of nodes (sim_node.c) ---------------------------------------------------------------------------- */

/* The work of a node with these parameters. `g`: where the node will be; NULL: a node that exists gets other
 * parameters. */
CUresult cji_sim_node_work(CUgraphNodeParams *p, sim_graph *g, sim_work **out);
CUgraphNodeParams cji_sim_fill_block(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext h);

/* ---- Captures (sim_capture.c) ------------------------------------------------------------------------------------ */

CUresult cji_sim_capture_add(sim_stream *s, sim_work *w);  /* takes over `w`: the next node */
void cji_sim_capture_abandon(sim_capture *k);

/* ---- Executable graphs (sim_graph_exec.c, sim_update.c) --------------------------------------------------------- */

typedef struct sim_graph_step {     /* steps stand in an order that respects the edges */
    sim_work *work;                 /* held; NULL: it does nothing */
    uint64_t node, origin; /* ids of the node that it was made from, and of the one that that was cloned from */
    CUgraphNodeType type;
    size_t *before;
    size_t nbefore;
    size_t first;                   /* the step behind a child graph's: the step before them */
    bool enabled, leaf;
} sim_graph_step;

struct sim_graph_exec {
    sim_ref ref;                    /* the handle, and each launch in flight */
    sim_ctx *ctx;
    unsigned long long flags;
    sim_graph_step *step;
    size_t nstep, room;
    sim_op **op;                    /* scratch of a launch, `room` of them */
    sim_op *last;                   /* held: the end of its latest launch */
    uint64_t graph;                 /* id of the graph that it was made from */
    bool once;                      /* of that graph */
    sim_objects *objects;           /* user objects of that graph and its children */
    sim_work *begin;                /* held: gives conditions their first values; NULL: there are none */
};

sim_graph_exec *cji_sim_graph_exec_make(sim_graph *g, CUresult *r);
void cji_sim_graph_exec_drop(sim_graph_exec *x);
CUresult cji_sim_graph_exec_get(CUgraphExec h, sim_graph_exec **out);
/* Submits its steps behind `begin` and puts `end` behind them; behind `begin` alone where there is no memory for the
 * rest. */
CUresult cji_sim_graph_exec_steps(sim_graph_exec *x, sim_stream *s, sim_op *begin, sim_op *end);
/* Appends a step behind those numbered in `before`; false without memory. */
bool cji_sim_step_put(sim_graph_exec *x, sim_work *w, const sim_node *node, const size_t *before, size_t n);
/* Appends the steps of `g`; those without predecessors come after step `root` (SIZE_MAX: none). */
CUresult cji_sim_graph_flatten(sim_graph_exec *x, sim_graph *g, size_t root);
size_t cji_sim_graph_count_steps(const sim_graph *g);
/* Why the steps of y cannot replace those of x, and at which (SIZE_MAX: at none). */
CUgraphExecUpdateResult cji_sim_graph_exec_compare(const sim_graph_exec *x, const sim_graph_exec *y, size_t *at);

/* ---- Kinds of work of graphs ------------------------------------------------------------------------------------- */

/* What a snapshot and a launch make of such a node; NULL: one step, and one operation with its work. */
typedef struct sim_graph_kind {
    sim_work_kind work;
    size_t (*steps)(const sim_work *w);                                  /* how many; NULL: 1 */
    CUresult (*flatten)(sim_graph_exec *x, const sim_node *node, const size_t *before, size_t n);
    CUresult (*launch)(sim_op *op, const sim_work *w); /* instead of giving the op its work; not submitted yet */
    CUresult (*launched)(sim_op *op, const sim_work *w);                 /* it was submitted */
} sim_graph_kind;

static inline const sim_graph_kind *cji_sim_graph_kind_of(const sim_work *w)   /* NULL: another kind */
{
    return cji_sim_work_has(w, SIM_WORK_OF_GRAPHS) ? (const sim_graph_kind *)w->kind : NULL;
}

extern const sim_graph_kind cji_sim_kind_child, cji_sim_kind_record, cji_sim_kind_wait, cji_sim_kind_conditional,
    cji_sim_kind_alloc, cji_sim_kind_free;

/* Child graphs (sim_child.c). */
typedef struct sim_child { sim_work work; sim_graph *graph; } sim_child;   /* graph: held */
static inline sim_graph *cji_sim_child_graph(const sim_node *n)   /* NULL: no child node */
{
    return n->type == CU_GRAPH_NODE_TYPE_GRAPH ? ((const sim_child *)n->work)->graph : NULL;
}
/* Events (sim_event_node.c). */
CUresult cji_sim_event_node_capture(sim_stream *s, sim_event *e, bool record);

/* ---- Conditions (sim_cond.c) ------------------------------------------------------------------------------------- */

struct sim_cond {
    sim_ref ref;
    sim_ctx *ctx;
    uint32_t value, start;
    bool starts, used;              /* each launch begins with `start`; a node depends on it */
};
/* Returns a conditional node whose body has a node that none may have; or NULL. */
const sim_node *cji_sim_cond_misfit(const sim_graph *g);
CUresult cji_sim_cond_begin(const sim_graph_exec *x, sim_work **out);   /* NULL where it has no condition */
bool cji_sim_condition_set(void *ctx, uint64_t handle, uint32_t value);   /* for the engine; without the lock */

/* ---- Memory of graphs (sim_graph_memory.c) ----------------------------------------------------------------------- */

struct sim_graph_mem {
    sim_graph_mem *next;            /* sim_graph_mems */
    unsigned refs;                  /* works */
    sim_ctx *ctx;                   /* NULL: is over, and the memory with it */
    uint64_t at, bytes;
    uint64_t graph;                 /* id of the graph whose node allocates it */
    bool held;                      /* allocated by what was submitted so far, not freed by it */
    bool present;                   /* the same by what has run */
    bool inside, outside;           /* a node of that graph frees it, one of another */
    bool sealed;                    /* that graph was instantiated: a node of it cannot free it any more */
};
void cji_sim_graph_mem_forget_ctx(const sim_ctx *c);
void cji_sim_graph_mem_seal(const sim_graph *g);           /* it is being instantiated */
/* Whether it may be launched; notes what it allocates and frees. */
CUresult cji_sim_graph_mem_launch(const sim_graph_exec *x);
CUresult cji_sim_graph_mem_release(sim_graph_mem *m, sim_stream *s);   /* cuMemFreeAsync; s NULL: cuMemFree */
CUresult cji_sim_graph_mem_capture_alloc(sim_stream *s, uint64_t bytes, CUdeviceptr *out);
CUresult cji_sim_graph_mem_capture_free(sim_stream *s, CUdeviceptr at);

/* ---- User objects (sim_object.c): counted by the caller, by graphs, executable graphs and launches in flight ---- */

typedef struct sim_object sim_object;
typedef struct sim_object_ref { sim_object *object; unsigned count; } sim_object_ref;
struct sim_objects {
    sim_ref ref;
    sim_object_ref *hold;
    size_t n, cap;
};
/* Adds the references of `from`; into NULL: a new set where it is needed. */
sim_objects *cji_sim_objects_copy(sim_objects *into, const sim_objects *from, bool *failed);
static inline void cji_sim_objects_drop(sim_objects *b)
{
    if (b) cji_sim_ref_drop(&b->ref);
}
void cji_sim_objects_end(void);

#endif
