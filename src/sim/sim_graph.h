/* Graphs and their nodes, which may be changed: what is launched is in sim_exec.h. */
#ifndef CJI_SIM_SIM_GRAPH_H
#define CJI_SIM_SIM_GRAPH_H

#include "sim/simcore.h"
#include "sim/sim_queue.h"

struct sd_node {
    sd_graph *graph;
    uint64_t id;                    /* of this node; a clone's own differs */
    uint64_t origin;                /* the id of the node it was cloned from, 0 */
    sd_work *work;                  /* held; NULL: an empty node */
    CUgraphNodeType type;
    sd_node **before; size_t nbefore, before_cap;   /* in the order in which the edges were added */
    size_t mark;                    /* scratch for walks */
    void **param; size_t nparam;    /* what cuGraphKernelNodeGetParams handed out */
};

struct sd_graph {
    unsigned refs;                  /* the handle, an open capture, a child node */
    sd_node *parent;                /* the child node that owns it, else NULL */
    sd_node **node; size_t nnode, cap;              /* in the order of their making */
    uint64_t origin;                /* id of the graph it was cloned from, 0 */
    uint64_t id;
    bool once;                      /* has nodes of memory or conditional ones: not copied, instantiated once at a time */
    bool memory;                    /* has nodes of memory: keeps its nodes and edges */
    sd_bag *bag;                    /* user objects */
    sd_cond **cond; size_t ncond, cond_cap;         /* held: conditions that were made for it */
};

sd_graph *cji_sd_graph_new(void);                          /* one reference, no handle; NULL without memory */
void cji_sd_graph_drop(sd_graph *g);
void cji_sd_graph_forget(sd_graph *g);
sd_graph *cji_sd_graph_copy(const sd_graph *g);
sd_work *cji_sd_child_work(const sd_graph *g);              /* with a copy of it; NULL without memory */
sd_node *cji_sd_node_new(sd_graph *g, sd_work *w, CUgraphNodeType type, sd_node *const *before, size_t n);  /* takes over `w` when it succeeds */
void cji_sd_node_drop(sd_node *n);
CUresult cji_sd_nodes_of(const sd_graph *g, const CUgraphNode *node, size_t n);   /* INVALID_VALUE unless they are nodes of g, each once */
bool cji_sd_edges_plain(const CUgraphEdgeData *data, size_t n);                   /* only ordinary dependencies */
CUgraphNodeType cji_sd_verb_type(const sd_work *w);
CUresult cji_sd_graph_get(CUgraph h, sd_graph **out);
CUresult cji_sd_node_get(CUgraphNode h, sd_node **out);
/* The work of a node with these parameters; under the lock.  `g`: where the node will be; NULL where one that exists gets other parameters. */
CUresult cji_sd_node_work(CUgraphNodeParams *p, sd_graph *g, sd_work **out);
CUgraphNodeParams cji_sd_fill_block(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext h);
CUresult cji_sd_batch_params(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, sd_work **out);   /* sim_value.c */
CUresult cji_sd_ctx_for(CUcontext h, sd_ctx **out);   /* NULL: the current one */
/* Order that respects the edges; false: a cycle.  order has g->nnode places. */
bool cji_sd_graph_order(sd_graph *g, sd_node **order);

#endif
