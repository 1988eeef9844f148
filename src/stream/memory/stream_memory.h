/* What allocation.c and graph_memory.c share: a piece of memory of a device's table. */
#ifndef CJI_STREAM_MEMORY_H
#define CJI_STREAM_MEMORY_H

#include "stream/core/stream_core.h"

/* Where memory comes from, and goes back to. */
typedef enum cji_memory_kind {
    CJI_MEMORY_POOL, /* in stream order */
    CJI_MEMORY_MANAGED,
    CJI_MEMORY_IPC,   /* may be given out to other processes, which pools' memory cannot */
    CJI_MEMORY_IPC_IMPORTED, /* of another process */
    CJI_MEMORY_WRAPPED,      /* somebody's: never freed here */
    CJI_MEMORY_GRAPH     /* of a node of a graph: there from a launch on until it is freed */
} cji_memory_kind;

typedef struct cji_memory_graph cji_memory_graph;

struct cji_mem {
    cji_deferred deferred;
    cji_mem_state *state;
    uint64_t addr;
    size_t bytes;
    cji_slot *home;            /* referenced; under the hub's lock, changed under the side's too.  Of a graph's: where it was launched last; NULL before */
    atomic_uint_fast64_t used; /* lanes other than home */
    uint32_t retained;            /* graphs that keep it, and its device too; with what follows under the side's lock */
    bool freed;                /* by the user; a graph's has no other owner than what keeps it */
    cji_memory_kind kind;
    /* Of a graph's memory alone. */
    cji_memory_graph *graph; /* referenced */
    bool out;                /* a launch has allocated it, and it was not freed since */
    bool going;              /* cj_free was called, and is not done yet */
    bool behind;             /* it was freed by cj_free, in the order of home, since the latest launch */
    bool inside, outside;    /* a node of its own graph frees it; one of another graph */
    bool sealed;             /* its graph was instantiated: a node of that cannot free it any more */
};

/* The table (allocation.c); with the side's lock held. */
cji_mem *cji_mem_holder(const cji_mem_state *state, uint64_t addr);
bool cji_mem_insert(cji_mem_state *state, cji_mem *m); /* false without memory */

/* Memory goes back in the order of its home stream, if it is of the kind that can, and that stream is there and not captured; hub's lock held, calm. */
bool cji_mem_free_ordered(const cji_mem *m);

/* Memory of graphs (graph_memory.c).  return: cj_free of it; the side's lock is held on entry and not on return.  drop: a reference to what keeps its address; NULL
 * is fine; calm. */
cj_status cji_graph_memory_return(cji_mem *m, cj_device *dev, const char *call);
void cji_memory_graph_drop(cji_memory_graph *o);

#endif
