/* The room graph: captures, graphs, nodes, executable graphs, update, cache. Prefixes: cji_graph, cji_node,
 * cji_adding, cji_shape, cji_graph_exec, cji_graph_mem.  Calls the rooms core and memory.
 *
 *   capture.c            captures begun and ended, into new graphs and into graphs that are there
 *   graph.c              graphs made, retained, freed
 *   graph_node.c         nodes made, known by their CUgraphNode; node_list.c: lists, dependencies, what a node is
 *   node_kernel.c        kernel nodes; node_copy.c, node_fill.c, node_event.c (host functions, events, nothing),
 *                        node_mem_ops.c
 *   node_memory.c        nodes that allocate and free memory; graph_memory.c: that memory between launches
 *   graph_clone.c        copies of graphs: clones and children; graph_condition.c: conditional nodes and their bodies
 *   graph_shape.c        nodes and edges as arrays; graph_info.c: what a graph consists of; graph_dot.c: a graph as a
 *                        picture
 *   graph_exec.c         executable graphs instantiated, uploaded, launched
 *   graph_exec_change.c  updated, changed in place; graph_exec_fill.c: fills that are left out
 *   graph_exec_cache.c   found again
 *
 * Invariants.  A body has the outermost graph as `root`; lock, reference set, failure and `capturing` are the root's
 * (cji_graph_root).  A cj_node of a graph is in its list; of several for one CUgraphNode there is only one.  While
 * `capturing`, nobody else touches the driver's graph.
 *
 * Locks: base/lock_order.def. */
#ifndef CJI_STREAM_GRAPH_H
#define CJI_STREAM_GRAPH_H

#include <cujit/graph_exec.h>

#include "stream/memory/stream_memory.h"

/* -- Objects ------------------------------------------------------------------------------------------------------- */

/* What a kernel node launches. */
typedef struct cji_node_launch { cj_kernel *kernel; cj_dims dims; } cji_node_launch;

struct cj_node {
    cji_obj obj;
    cj_graph *graph;         /* not retained: it owns the node */
    CUgraphNode raw;         /* NULL for a failed node */
    CUgraphNodeType type;
    unsigned condition;      /* of a conditional node: its CUgraphConditionalNodeType */
    uint64_t seen;           /* the search that found it last */
    cji_node_launch *launch; /* of a kernel node, whose kernel the graph retains; NULL where it is not known yet */
};
_Static_assert(sizeof(cj_node) - sizeof(cji_obj) <= 96, "nodes are small: a graph has many");

/* open addressing by raw; cap is 0 or a power of two */
typedef struct cji_node_table { cj_node **slot; size_t count, cap; } cji_node_table;
typedef struct cji_node_list { cj_node **node; size_t cap; cj_nodes list; } cji_node_list;

/* Memory that nodes of a graph allocate and free (graph_memory.c). */
typedef struct cji_graph_memory cji_graph_memory;
typedef struct cji_graph_mem { cji_graph_memory *mem; bool alloc, free; } cji_graph_mem;

struct cj_graph {
    cji_obj obj;
    cj_device *dev; /* retained; not by a body */
    cji_release_queue *queue;
    CUgraph raw;
    cj_graph *root;       /* of a body; NULL for a root */
    pthread_mutex_t lock; /* the driver's graphs are not thread-safe; guards what follows too */
    cji_refset *refset;
    bool capturing;       /* an open capture adds to it or to a body of it */
    bool incomplete;      /* a node is missing */
    bool gone;            /* and the driver's graph with it: a capture into it failed.  raw is NULL */
    cj_error why;         /* it is incomplete: the first failure */
    size_t conditionals;  /* conditions made, also for bodies */
    cj_node **made;       /* every cj_node, failed ones too */
    size_t nmade, made_cap;
    cji_node_table table;
    cji_node_list all, leaves;
    uint64_t searches;
    cj_graph **body;      /* of conditional nodes of this very graph */
    cj_node **body_of;    /* the node of each */
    size_t nbody, body_cap, body_of_cap;
    CUgraphNode *frontier; /* what the next node of a paused capture depends on */
    size_t nfrontier, frontier_cap;
    bool paused, join;
    cj_capture_mode mode;
    cji_graph_mem *memory; /* of its nodes; retained by `refset` */
    size_t nmemory, memory_cap;
    /* what takes `raw` over, so that addresses stay as long as they are retained; NULL: no node allocates */
    struct cji_memory_graph *holder;
    cji_text dot;
    cji_deferred deferred;
};

/* A fill node of an executable graph that was left out at some time (graph_exec_fill.c). */
typedef struct cji_left_out {
    CUgraphNode raw;
    CUDA_MEMSET_NODE_PARAMS does; /* when it is done */
    CUdeviceptr location;         /* what it fills while it is left out */
    bool out;
} cji_left_out;

struct cj_graph_exec {
    cji_obj obj;
    cj_device *dev; /* retained */
    cji_release_queue *queue;
    CUgraphExec raw;
    uint64_t source;      /* the serial of the graph that it was instantiated from */
    bool auto_free;
    pthread_mutex_t lock; /* guards raw, refset, own, left, updated, memory */
    cji_left_out *left;
    size_t nleft, left_cap;
    bool updated;         /* from another graph */
    cji_refset *refset;   /* of the graph that it is a snapshot of */
    cji_refset *own;      /* of arguments changed in place; NULL without any */
    cji_graph_mem *memory; /* what its launches allocate and free; retained by `refset` */
    size_t nmemory;
    atomic_uint_fast64_t used; /* slots of the streams that it was launched on */
    cji_deferred deferred;
};

/* -- Graphs (graph.c) ---------------------------------------------------------------------------------------------- */

static inline cj_graph *cji_graph_root(cj_graph *g) { return g->root ? g->root : g; }

/* A graph around the driver's, for `dev`, with a reference set of its own (`refset` NULL) or that one, whose
 * reference it takes.  False: failed for `call`. */
bool cji_graph_init(cj_graph *g, cj_device *dev, CUgraph raw, cji_refset *refset, const char *call);
void cji_graph_drop(cj_graph *g); /* a reference, of a root */

/* Waits for the graph and returns whether the driver's may be touched: a failure is recorded in `into`, and the lock
 * not held then. */
cj_status cji_graph_enter(cj_graph *g, void *into, const char *call);
/* The same for a call without whose result the graph is incomplete: a node, an edge, a condition, what others come
 * after. */
cj_status cji_graph_enter_needed(cj_graph *g, void *into, const char *call);
static inline void cji_graph_leave(cj_graph *g) { cji_unlock(&cji_graph_root(g)->lock, CJI_LOCK_GRAPH); }

/* A node is missing: the thread's latest failure, unless there was one before.  With the lock held. */
void cji_graph_incomplete(cj_graph *g);

/* What the graph retains, for an executable graph or another graph; NULL without memory.  With the lock held. */
static inline cji_refset *cji_graph_snapshot(cj_graph *g) { return cji_refset_snapshot(&cji_graph_root(g)->refset); }

/* -- Nodes (graph_node.c) ------------------------------------------------------------------------------------------ */

/* A node being added.  begin: checks graph and dependencies, makes the object, takes the lock, enters a scope.
 * False: it failed, and only end is allowed. end: returns the node, filled or failed. */
typedef struct cji_adding {
    cj_graph *g;
    cj_node *node;
    const cji_cu *cu;
    const char *call;
    CUgraphNode *dep;
    size_t ndep, dep_cap;
    CUgraphNode raw; /* the driver's result */
    cji_scope scope;
    bool entered, failed;
} cji_adding;

bool cji_adding_begin(cji_adding *a, cj_graph *g, const cj_nodes *after, const char *call);
/* The driver's result; `type` is the node's.  Returns whether it was success. */
bool cji_adding_did(cji_adding *a, CUresult r, CUgraphNodeType type, const char *cu_call);
/* A second argument that is an object of the driver side, checked into the node. */
bool cji_adding_object(cji_adding *a, const void *object, cji_tag tag, const char *what);
/* Memory of `dev` that the node uses is retained by the graph; a failure is left in the node. */
cj_status cji_adding_retain(cji_adding *a, cj_device *dev, const cji_range *range);
cj_node *cji_adding_end(cji_adding *a);

/* The nodes' handles, each once, into *dep (cji_grow); a failure is recorded in `into`.  With the lock held. */
cj_status cji_nodes_take(cj_graph *g, const cj_nodes *after, CUgraphNode **dep, size_t *cap, size_t *n, void *into,
                         const char *call);

/* The graph's node for the driver's, made if there is none; NULL without memory.  With the lock held. */
cj_node *cji_node_for(cj_graph *g, CUgraphNode raw, CUgraphNodeType type);
void cji_nodes_free(cj_graph *g); /* all of them */

/* The driver's type of a node as ours. */
cj_node_kind cji_node_kind(CUgraphNodeType type);

/* Finds out about a kernel node that was captured; with the lock held, context current. */
cj_status cji_node_read(cj_node *n, void *into, const char *call);
void cji_kernel_params(const cj_kernel *k, const cj_dims *d, void **args, CUDA_KERNEL_NODE_PARAMS_v2 *out);

/* -- Memory of graphs (graph_memory.c) ----------------------------------------------------------------------------- */

typedef struct cji_memory_graph cji_memory_graph;

/* Memory of a node: there from a launch on until it is freed.  What is below `mem` is under the state's lock. */
struct cji_graph_memory {
    cji_mem mem;
    cji_memory_graph *graph; /* referenced */
    bool out;                /* a launch has allocated it, and it was not freed since */
    bool going;              /* cj_free was called, and is not done yet */
    bool behind;             /* it was freed by cj_free, in the order of home, since the latest launch */
    bool inside, outside;    /* a node of its own graph frees it; one of another graph */
    bool sealed;             /* its graph was instantiated: a node of that cannot free it any more */
};

/* An entry without an address; NULL without memory.  Retained by the graph from cji_graph_memory_enter on. */
cji_graph_memory *cji_graph_memory_new(cj_graph *g, cji_mem_state *state, size_t bytes);
void cji_graph_memory_delete(cji_graph_memory *m); /* that never entered the table */
/* The memory of the table at an address, if a graph's; with the state's lock held. */
cji_graph_memory *cji_graph_memory_of(cji_mem *m);

void cji_graph_memory_free(cj_graph *g); /* destroys the driver's graph, or leaves it to the memory; in a scope */
/* What launches of an executable graph of `g` allocate and free, copied to *out; false without memory.  With the
 * graph's lock held. */
bool cji_graph_memory_copy(const cj_graph *g, cji_graph_mem **out);
void cji_graph_memory_seal(cj_graph *g); /* it was instantiated; with the lock held */

/* Around a launch, all but wait with the executable graph's lock held.  wait: what is being freed gets there, if it
 * can.  ready: makes the launch on `s` come behind what was freed; or the first memory that forbids it, its address 0
 * for none, and how: 1 still there, 2 not there, 3 being freed, 4 not to be ordered. rejected: the failure for that,
 * left in the executable graph (its lock not held).  launched: what the launch has done. */
typedef struct cji_mem_wrong { uint64_t addr; int way; } cji_mem_wrong;
void cji_graph_exec_memory_wait(cj_graph_exec *x);
cji_mem_wrong cji_graph_exec_memory_ready(const cj_graph_exec *x, cj_stream *s);
cj_status cji_graph_exec_memory_rejected(cj_graph_exec *x, const cji_mem_wrong *wrong, const char *call);
void cji_graph_exec_memory_launched(cj_graph_exec *x, cj_stream *s);

/* -- Fills left out (graph_exec_fill.c); with the executable graph's lock held ------------------------------------- */

/* Leaves a fill of one row out or does it again; `does` is what its node does in the graph. */
cj_status cji_graph_exec_fill_enable(cj_graph_exec *x, const cj_node *n, const CUDA_MEMSET_NODE_PARAMS *does,
                                     bool enabled, const char *call);
bool cji_graph_exec_has_fills_out(const cj_graph_exec *x);
void cji_graph_exec_fills_forget(cj_graph_exec *x); /* none is out */

/* What this room keeps for the device; made at first use, NULL without memory. */
typedef struct cji_graph_state {
    cji_device_state base;
    cji_release_queue *queue;
    cj_device *dev;       /* not retained */
    pthread_mutex_t lock; /* guards what follows */
    CUdeviceptr *block, *location; /* blocks of memory, and parts of them that are free */
    size_t nblocks, block_cap, nlocations, location_cap;
    atomic_bool memory;   /* a graph has allocated some */
} cji_graph_state;
cji_graph_state *cji_graph_state_of(cj_device *dev);

/* -- Shapes (graph_shape.c) ---------------------------------------------------------------------------------------- */

typedef struct cji_shape {
    size_t nodes, edges;
    CUgraphNode *node;
    CUgraphNodeType *type;
    uint32_t *from, *to; /* numbers of nodes */
} cji_shape;

/* Reads the driver's graph; context current, with the lock held.  A failure is recorded in `into`. */
cj_status cji_shape_read(cji_shape *sh, const cj_device *dev, CUgraph raw, void *into, const char *call);
void cji_shape_free(cji_shape *sh);

/* A number that graphs of one shape share: kinds and edges, also of children; and how many nodes there are in all.
 * With the lock held, context current. */
cj_status cji_shape_hash(cj_graph *g, uint64_t *hash, size_t *all, void *into, const char *call);

/* The body graphs of a conditional node, `n` of them from *first on in g->body. */
size_t cji_bodies_of(const cj_graph *g, CUgraphNode raw, size_t *first);

#endif
