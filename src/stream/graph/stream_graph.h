/* What the graph_*.c and exec_*.c files share: graphs and their nodes.
 *
 *   graph_life.c      graphs made, kept alive, freed
 *   graph_node.c      nodes made, known by their CUgraphNode; lists of them
 *   graph_work.c      nodes that work: kernels, copies, fills, host functions, events
 *   graph_box.c       nodes that copy rows and boxes
 *   graph_memory.c    nodes that allocate and free memory, and the memory of them
 *   graph_parts.c     graphs inside graphs: children, clones, conditional nodes and their bodies
 *   graph_shape.c     nodes and edges as arrays; what a graph consists of
 *   graph_dot.c       a graph as a picture
 *   exec_launch.c     execs instantiated, uploaded, launched
 *   exec_change.c     execs updated, changed in place
 *   exec_fill.c       fills left out of an exec
 *   exec_cache.c      execs found again
 *
 * Invariants.  A body has the outermost graph as `root`; lock, keep, failure and `capturing` are the root's (cji_graph_root).  A cj_node of a graph is in
 * its list; of several for one CUgraphNode there is only one.  While `capturing`, nobody else touches the driver's graph.
 * The lock of a graph comes before all others; two of them are taken in the order of their serials. */
#ifndef CJI_STREAM_GRAPH_H
#define CJI_STREAM_GRAPH_H

#include "stream/core/stream_core.h"

struct cj_node {
    cji_obj obj;
    cj_graph *graph;   /* not retained: it owns the node */
    CUgraphNode raw;   /* NULL for a failed node */
    CUgraphNodeType type;
    cj_kernel *kernel; /* of a kernel node, kept by the graph; NULL where not known yet */
    cj_dims dims;      /* of such a node */
    unsigned condition; /* of a conditional node: its CUgraphConditionalNodeType */
    uint64_t seen;     /* the search that came here last */
};

typedef struct cji_node_table { cj_node **slot; size_t count, cap; } cji_node_table; /* open addressing by raw; cap is 0 or a power of two */
typedef struct cji_node_list { cj_node **node; size_t cap; cj_nodes list; } cji_node_list;

struct cj_graph {
    cji_obj obj;
    cj_device *dev; /* retained; not by a body */
    cji_release_queue *queue;
    CUgraph raw;
    cj_graph *root;       /* of a body; NULL for a root */
    pthread_mutex_t lock; /* the driver's graphs are not thread-safe; guards what follows too */
    cji_refset *refset;
    bool capturing;       /* an open capture adds to it or to a body of it */
    bool incomplete;           /* a node is missing */
    bool gone;            /* and the driver's graph with it: a capture into it failed.  raw is NULL */
    cj_error why;        /* why: the first failure */
    size_t conditionals;  /* conditions made, also for bodies */
    cj_node **made;       /* every cj_node, failed ones too */
    size_t nmade, made_cap;
    cji_node_table table;
    cji_node_list all, leaves;
    uint64_t searches;
    cj_graph **body;      /* of conditional nodes of this very graph */
    cj_node **body_of;    /* the node of each */
    size_t nbody, body_cap, body_of_cap;
    CUgraphNode *frontier;   /* where a paused capture goes on */
    size_t nfrontier, frontier_cap;
    bool paused, join;
    cj_capture_mode mode;
    cji_graph_mem *memory; /* of its nodes; kept by `refset` */
    size_t nmemory, memory_cap;
    struct cji_memory_graph *holder; /* what takes `raw` over, so that addresses stay as long as they are kept; NULL: no node allocates */
    cji_text dot;
    cji_deferred deferred;
};

static inline cj_graph *cji_graph_root(cj_graph *g) { return g->root ? g->root : g; }

/* A graph around the driver's, for `dev`, with a keep of its own (`refset` NULL) or that one, whose reference it takes.  False: failed for `call`. */
bool cji_graph_init(cj_graph *g, cj_device *dev, CUgraph raw, cji_refset *refset, const char *call);
void cji_graph_drop(cj_graph *g); /* a reference, of a root */

/* Waits for the graph and says whether the driver's may be touched: a failure is recorded in `into`, and the lock not held then. */
cj_status cji_graph_enter(cj_graph *g, void *into, const char *call);
static inline void cji_graph_leave(cj_graph *g) { pthread_mutex_unlock(&cji_graph_root(g)->lock); }

/* A node is missing: the thread's latest failure, unless there was one before.  With the lock held. */
void cji_graph_incomplete(cj_graph *g);

/* What the graph keeps, for an exec or another graph; NULL without memory.  With the lock held. */
static inline cji_refset *cji_graph_snapshot(cj_graph *g) { return cji_refset_snapshot(&cji_graph_root(g)->refset); }

/* -- Nodes (graph_node.c) -------------------------------------------------------------------------------------------- */

/* A node being added.  begin: checks graph and predecessors, makes the object, takes the lock, enters the context.  False: it failed, and only end is allowed.
 * end: gives back the node, filled or failed. */
typedef struct cji_adding {
    cj_graph *g;
    cj_node *node;
    const cji_cu *cu;
    const char *call;
    CUgraphNode *dep;
    size_t ndep, dep_cap;
    CUgraphNode raw; /* the driver's answer */
    cji_ctx ctx;
    bool entered, failed;
} cji_adding;

bool cji_adding_begin(cji_adding *a, cj_graph *g, const cj_nodes *after, const char *call);
/* The driver's result.  Returns whether it was success. */
bool cji_adding_did(cji_adding *a, CUresult r, const char *cu_call);
cj_node *cji_adding_end(cji_adding *a);

/* The nodes' handles, each once, into *dep (cji_grow); a failure is recorded in `into`.  With the lock held. */
cj_status cji_nodes_take(cj_graph *g, const cj_nodes *after, CUgraphNode **dep, size_t *cap, size_t *n, void *into, const char *call);

/* The graph's node for the driver's, made if there is none; NULL without memory.  With the lock held. */
cj_node *cji_node_for(cj_graph *g, CUgraphNode raw, CUgraphNodeType type);
void cji_nodes_free(cj_graph *g); /* all of them */

/* Finds out about a kernel node that was captured; with the lock held, context current. */
cj_status cji_node_read(cj_node *n, void *into, const char *call);
void cji_kernel_params(const cj_kernel *k, const cj_dims *d, void **args, CUDA_KERNEL_NODE_PARAMS_v2 *out);

/* -- Fills left out (exec_fill.c); with the exec's lock held ---------------------------------------------------------- */

/* Leaves a fill of one row out or does it again; `does` is what its node does in the graph. */
cj_status cji_graph_exec_fill_enable(cj_graph_exec *x, const cj_node *n, const CUDA_MEMSET_NODE_PARAMS *does, bool enabled, const char *call);
bool cji_graph_exec_has_fills_out(const cj_graph_exec *x);
void cji_graph_exec_fills_forget(cj_graph_exec *x); /* none is out */

/* -- Memory nodes (graph_memory.c) ------------------------------------------------------------------------------------- */

void cji_graph_memory_free(cj_graph *g); /* lets the driver's graph go, or leaves it to the memory; calm */
/* What launches of an exec of `g` allocate and free, copied to *out; false without memory.  With the graph's lock held. */
bool cji_graph_memory_copy(const cj_graph *g, cji_graph_mem **out);
void cji_graph_memory_seal(cj_graph *g); /* it was instantiated; with the lock held */

/* Around a launch, all but wait with the exec's lock held.  wait: what is on its way back gets there, if it can.  ready: makes the launch on `s` come behind what
 * was given back; or the first memory that forbids it, its address 0 for none, and how: 1 still there, 2 not there, 3 on its way back, 4 not to be ordered.
 * refused: the failure for that, left in the exec (its lock not held).  launched: what the launch has done. */
typedef struct cji_mem_wrong { uint64_t addr; int way; } cji_mem_wrong;
void cji_graph_exec_memory_wait(cj_graph_exec *x);
cji_mem_wrong cji_graph_exec_memory_ready(const cj_graph_exec *x, cj_stream *s);
cj_status cji_graph_exec_memory_rejected(cj_graph_exec *x, const cji_mem_wrong *wrong, const char *call);
void cji_graph_exec_memory_launched(cj_graph_exec *x, cj_stream *s);

/* -- Shapes (graph_shape.c) ------------------------------------------------------------------------------------------ */

typedef struct cji_shape {
    size_t nodes, edges;
    CUgraphNode *node;
    CUgraphNodeType *type;
    uint32_t *from, *to; /* numbers of nodes */
} cji_shape;

/* Reads the driver's graph; context current, with the lock held.  A failure is recorded in `into`. */
cj_status cji_shape_read(cji_shape *sh, const cj_device *dev, CUgraph raw, void *into, const char *call);
void cji_shape_free(cji_shape *sh);

/* A number that graphs of one shape share: kinds and edges, also of children; and how many nodes there are in all.  With the lock held, context current. */
cj_status cji_shape_hash(cj_graph *g, uint64_t *hash, size_t *all, void *into, const char *call);

/* The body graphs of a conditional node, `n` of them from *first on in g->body. */
size_t cji_bodies_of(const cj_graph *g, CUgraphNode raw, size_t *first);

#endif
