/* Graphs and their nodes, which may be changed: what is launched is in sim_graph_exec.h. */
#ifndef CJI_SIM_SIM_GRAPH_H
#define CJI_SIM_SIM_GRAPH_H

#include "sim/sim_core.h"
#include "sim/sim_queue.h"

struct sim_node {
    sim_graph *graph;
    uint64_t id;                    /* of this node; a clone's own differs */
    uint64_t origin;                /* the id of the node it was cloned from, 0 */
    sim_work *work;                  /* held; NULL: an empty node */
    CUgraphNodeType type;
    sim_node **before; size_t nbefore, before_cap;   /* in the order in which the edges were added */
    size_t mark;                    /* scratch for walks */
    void **param; size_t nparam;    /* what cuGraphKernelNodeGetParams handed out */
};

struct sim_graph {
    unsigned refs;                  /* the handle, an open capture, a child node */
    sim_node *parent;                /* the child node that owns it, else NULL */
    sim_node **node; size_t nnode, cap;              /* in the order of their making */
    uint64_t origin;                /* id of the graph it was cloned from, 0 */
    uint64_t id;
    bool once;                      /* has nodes of memory or conditional ones: not copied, instantiated once at a time */
    bool memory;                    /* has nodes of memory: keeps its nodes and edges */
    sim_objects *objects;                    /* user objects */
    sim_cond **cond; size_t ncond, cond_cap;         /* held: conditions that were made for it */
};

sim_graph *cji_sim_graph_new(void);                          /* one reference, no handle; NULL without memory */
void cji_sim_graph_drop(sim_graph *g);
void cji_sim_graph_forget(sim_graph *g);
sim_graph *cji_sim_graph_copy(const sim_graph *g);
sim_work *cji_sim_child_work(const sim_graph *g);              /* with a copy of it; NULL without memory */
sim_node *cji_sim_node_new(sim_graph *g, sim_work *w, CUgraphNodeType type, sim_node *const *before, size_t n);  /* takes over `w` when it succeeds */
void cji_sim_node_drop(sim_node *n);
CUresult cji_sim_nodes_of(const sim_graph *g, const CUgraphNode *node, size_t n);   /* INVALID_VALUE unless they are nodes of g, each once */
bool cji_sim_edges_plain(const CUgraphEdgeData *data, size_t n);                   /* only ordinary dependencies */
CUgraphNodeType cji_sim_work_node_type(const sim_work *w);
CUresult cji_sim_graph_get(CUgraph h, sim_graph **out);
CUresult cji_sim_node_get(CUgraphNode h, sim_node **out);
/* The work of a node with these parameters; under the lock.  `g`: where the node will be; NULL where one that exists gets other parameters. */
CUresult cji_sim_node_work(CUgraphNodeParams *p, sim_graph *g, sim_work **out);
CUgraphNodeParams cji_sim_fill_block(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext h);
CUresult cji_sim_mem_ops_params(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, sim_work **out);   /* sim_mem_op.c */
CUresult cji_sim_ctx_for(CUcontext h, sim_ctx **out);   /* NULL: the current one */
/* Order that respects the edges; false: a cycle.  order has g->nnode places. */
bool cji_sim_graph_order(sim_graph *g, sim_node **order);

#endif
