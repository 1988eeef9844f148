/* Nodes that allocate and free memory.  With the graph's lock held, context current. */
#include "stream/graph/stream_graph.h"

#include <string.h>

/* Whether `g` can have such nodes; and there is room for one more in the list. */
static bool mem_node_begin(cji_adding *a, cj_graph *g)
{
    if (g->root)
        return cji_fail(
                   a->node, CJ_ENOTSUP, a->call,
                   "the graph is a body; memory is allocated and freed outside of conditions, in the graph that "
                   "they belong to") ==
               CJ_OK;
    if (cji_grow(&g->memory, &g->memory_cap, g->nmemory + 1, sizeof *g->memory)) return true;
    return cji_fail(a->node, CJ_ENOMEM, a->call, "no host memory to note the allocation") == CJ_OK;
}

/* The graph retains the memory; a reference is the caller's until then. */
static bool mem_node_retain(cji_adding *a, cji_mem *m)
{
    bool had = false, added = cji_refset_add(a->g->refset, &cji_ref_memory, m, &had);
    if (!added || had) cji_mem_unretain(m);
    if (!added) cji_fail(a->node, CJ_ENOMEM, a->call, "no host memory to keep device memory alive for the graph");
    return added;
}

/* Into the table, and retained by the graph.  False: the driver's node stays in a graph that is never launched. */
static bool mem_node_enter(cji_adding *a, cji_mem_state *state, cji_graph_memory *m)
{
    cji_graph_state *room = cji_graph_state_of(a->g->dev);
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    const bool entered = room != NULL;
    if (entered) cji_mem_insert(state, &m->mem);
    m->mem.retained = entered;
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    if (!entered) {
        cji_fail(a->node, CJ_ENOMEM, a->call, "no host memory to note the allocation");
        cji_graph_memory_delete(m);
        return false;
    }
    cji_obj_retain(state->dev);
    atomic_store(&room->memory, true);
    return mem_node_retain(a, &m->mem);
}

static void mem_alloc_add(cji_adding *a, size_t bytes, cj_dptr *d)
{
    cj_graph *g = a->g;
    cji_mem_state *state = cji_mem_state_of(g->dev);
    CUDA_MEM_ALLOC_NODE_PARAMS p;
    cji_graph_memory *m = state ? cji_graph_memory_new(g, state, bytes) : NULL;
    if (!m) {
        cji_fail(a->node, CJ_ENOMEM, a->call, "no host memory to note the allocation");
        return;
    }
    memset(&p, 0, sizeof p);
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.poolProps.location.id = g->dev->cu;
    p.bytesize = bytes;
    CUresult r = a->cu->cuGraphAddMemAllocNode(&a->raw, g->raw, a->dep, a->ndep, &p);
    if (!cji_adding_did(a, r, CU_GRAPH_NODE_TYPE_MEM_ALLOC, "cuGraphAddMemAllocNode")) {
        cji_graph_memory_delete(m);
        return;
    }
    m->mem.addr = p.dptr;
    if (!mem_node_enter(a, state, m)) {
        a->raw = NULL;
        return;
    }
    g->memory[g->nmemory++] = (cji_graph_mem){ .mem = m, .alloc = true };
    d->addr = p.dptr;
}

cj_node *cj_graph_mem_alloc(cj_graph *g, const cj_nodes *after, size_t bytes, cj_dptr *d)
{
    static const char call[] = "cj_graph_mem_alloc";
    cji_adding a;
    if (d) *d = (cj_dptr){ 0 };
    if (!cji_adding_begin(&a, g, after, call)) return cji_adding_end(&a);
    if (!d) cji_fail(a.node, CJ_EINVAL, call, "`d` is NULL, there is no place for the address");
    else if (!bytes) cji_fail(a.node, CJ_EINVAL, call, "0 bytes of memory");
    else if (mem_node_begin(&a, g)) mem_alloc_add(&a, bytes, d);
    return cji_adding_end(&a);
}

/* What the graph does with the memory so far; NULL: nothing. */
static cji_graph_mem *graph_mem_use(cj_graph *g, const cji_graph_memory *m)
{
    for (size_t i = 0; i < g->nmemory; i++)
        if (g->memory[i].mem == m) return &g->memory[i];
    return NULL;
}

/* Why a node of `g` cannot free what the table has at `addr`; NULL: it can, or only the driver knows.  With the
 * side's lock held. */
static const char *mem_free_problem(cj_graph *g, cji_mem *mem, uint64_t addr)
{
    const cji_graph_memory *m = cji_graph_memory_of(mem);
    if (!mem) return NULL;
    if (!m) return "it is not memory of a graph; free it with cj_free";
    if (mem->addr != addr) return "it lies inside an allocation; free its start";
    const cji_graph_mem *use = graph_mem_use(g, m);
    if (use && use->free) return "the graph frees it already";
    if (m->inside) return "the graph that allocates it frees it already";
    if (use && m->outside) return "a node of another graph frees it already";
    if (use && m->sealed)
        return "the graph was instantiated before; a graph's own nodes that free are added before that, else free "
               "the memory with cj_free";
    return NULL;
}

/* The memory, with a reference of a set; NULL where the table has none, or with a failure. */
static cji_mem *mem_free_find(cji_adding *a, cji_mem_state *state, uint64_t addr, bool *rejected)
{
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    cji_mem *m = cji_mem_holder(state, addr);
    const char *problem = mem_free_problem(a->g, m, addr);
    *rejected = problem != NULL;
    if (m && !problem) {
        m->retained++;
        cji_obj_retain(state->dev);
    }
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    if (!problem) return m;
    cji_fail(a->node, CJ_EINVAL, a->call, "0x%llx: %s", (unsigned long long)addr, problem);
    return NULL;
}

static void mem_free_note(cj_graph *g, cji_mem_state *state, cji_graph_memory *m)
{
    cji_graph_mem *use = graph_mem_use(g, m);
    if (use) use->free = true;
    else g->memory[g->nmemory++] = (cji_graph_mem){ .mem = m, .free = true };
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    *(use ? &m->inside : &m->outside) = true;
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
}

static void mem_free_add(cji_adding *a, uint64_t addr)
{
    bool rejected;
    cji_mem_state *state = cji_mem_state_of(a->g->dev);
    if (!state) {
        cji_fail(a->node, CJ_ENOMEM, a->call, "no host memory");
        return;
    }
    cji_mem *m = mem_free_find(a, state, addr, &rejected);
    if (rejected || (m && !mem_node_retain(a, m))) return;
    CUresult r = a->cu->cuGraphAddMemFreeNode(&a->raw, a->g->raw, a->dep, a->ndep, addr);
    if (r == CUDA_ERROR_INVALID_VALUE) {
        cji_cu_fail_as(
            a->node, a->g->dev, r, CJ_EINVAL, "cuGraphAddMemFreeNode", a->call,
            "%s: 0x%llx is no start of memory that a graph of device %d allocates, or is freed by a node already",
            a->call, (unsigned long long)addr, cj_device_ordinal(a->g->dev));
    } else if (cji_adding_did(a, r, CU_GRAPH_NODE_TYPE_MEM_FREE, "cuGraphAddMemFreeNode")) {
        if (m) mem_free_note(a->g, state, cji_graph_memory_of(m));
    }
}

cj_node *cj_graph_mem_free(cj_graph *g, const cj_nodes *after, cj_dptr d)
{
    static const char call[] = "cj_graph_mem_free";
    cji_adding a;
    if (!cji_adding_begin(&a, g, after, call)) return cji_adding_end(&a);
    if (!d.addr) cji_fail(a.node, CJ_EINVAL, call, "the address is { 0 }, no memory");
    else if (mem_node_begin(&a, g)) mem_free_add(&a, d.addr);
    return cji_adding_end(&a);
}
