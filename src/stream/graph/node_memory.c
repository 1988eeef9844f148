/* Memory of graphs: nodes that allocate and free it, and what becomes of it between launches.
 *
 * The driver fixes an address when the node is made, and may give it away again once the graph and its execs are gone.  So memory that anything still keeps
 * keeps the driver's graph too (cji_memory_graph), and leaves the device's table when nothing does.
 *
 * Between a launch that allocates and what frees it the memory is `out`.  cj_free gives it back at once, in the order of the stream of the latest launch,
 * behind the streams that it was used on: a next launch may follow.  Where that cannot be (the stream is gone, or a capture is open) it is `going`: a release
 * that waits, and that a next launch waits for in vain. */
#include "stream/memory/stream_memory.h"
#include "stream/graph/stream_graph.h"

#include <string.h>

struct cji_memory_graph {
    atomic_uint refs; /* of its graph, and of each memory */
    const cji_release_queue *queue;
    CUgraph raw; /* NULL while the graph has it */
};

void cji_memory_graph_drop(cji_memory_graph *o)
{
    if (!o || atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1) return;
    if (o->raw) o->queue->cu->cuGraphDestroy(o->raw);
    cji_free(o, sizeof *o);
}

void cji_graph_memory_free(cj_graph *g)
{
    cji_free(g->memory, g->memory_cap * sizeof *g->memory);
    if (!g->holder) {
        if (g->raw) g->queue->cu->cuGraphDestroy(g->raw);
        return;
    }
    g->holder->raw = g->raw;
    cji_memory_graph_drop(g->holder);
}

/* -- Nodes; with the graph's lock held, context current -------------------------------------------------------------- */

/* Whether `g` can have such nodes; and there is room for one more in the list. */
static bool mem_node_begin(cji_adding *a, cj_graph *g)
{
    if (g->root)
        return cji_fail(a->node, CJ_ENOTSUP, a->call, "the graph is a body; memory is allocated and freed outside of conditions, in the graph that they belong to") == CJ_OK;
    if (cji_grow(&g->memory, &g->memory_cap, g->nmemory + 1, sizeof *g->memory)) return true;
    return cji_fail(a->node, CJ_ENOMEM, a->call, "no host memory to note the allocation") == CJ_OK;
}

/* A new entry without an address; NULL without memory. */
static cji_mem *graph_mem_new(cj_graph *g, cji_mem_state *state, size_t bytes)
{
    cji_memory_graph *o = g->holder;
    cji_mem *m = cji_zalloc(sizeof *m);
    if (!o && m && (o = cji_zalloc(sizeof *o))) {
        o->queue = g->queue;
        atomic_init(&o->refs, 1);
        g->holder = o;
    }
    if (!m || !o) {
        cji_free(m, sizeof *m);
        return NULL;
    }
    atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
    *m = (cji_mem){ .state = state, .bytes = bytes, .kind = CJI_MEMORY_GRAPH, .graph = o, .freed = true };
    return m;
}

/* The graph keeps the memory; a reference is the caller's until then. */
static bool graph_mem_retain(cji_adding *a, cji_mem *m)
{
    bool had = false, added = cji_refset_add(a->g->refset, CJI_REF_MEMORY, m, &had);
    if (!added || had) cji_mem_unretain(m);
    if (!added) cji_fail(a->node, CJ_ENOMEM, a->call, "no host memory to keep device memory alive for the graph");
    return added;
}

/* Into the table, and kept by the graph.  False: the driver's node stays in a graph that is never launched. */
static bool graph_mem_enter(cji_adding *a, cji_mem_state *state, cji_mem *m)
{
    pthread_mutex_lock(&state->lock);
    bool entered = cji_mem_insert(state, m);
    m->retained = entered;
    pthread_mutex_unlock(&state->lock);
    if (!entered) {
        cji_fail(a->node, CJ_ENOMEM, a->call, "no host memory to note the allocation");
        cji_memory_graph_drop(m->graph);
        cji_free(m, sizeof *m);
        return false;
    }
    cji_obj_retain(state->dev);
    atomic_store(&state->graph_memory, true);
    return graph_mem_retain(a, m);
}

static void mem_alloc_add(cji_adding *a, size_t bytes, cj_dptr *d)
{
    cj_graph *g = a->g;
    cji_mem_state *state = cji_mem_state_of(g->dev);
    CUDA_MEM_ALLOC_NODE_PARAMS p;
    cji_mem *m = state ? graph_mem_new(g, state, bytes) : NULL;
    if (!m) {
        cji_fail(a->node, CJ_ENOMEM, a->call, "no host memory to note the allocation");
        return;
    }
    memset(&p, 0, sizeof p);
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.poolProps.location.id = g->dev->cu;
    p.bytesize = bytes;
    if (!cji_adding_did(a, a->cu->cuGraphAddMemAllocNode(&a->raw, g->raw, a->dep, a->ndep, &p), "cuGraphAddMemAllocNode")) {
        cji_memory_graph_drop(m->graph);
        cji_free(m, sizeof *m);
        return;
    }
    m->addr = p.dptr;
    if (!graph_mem_enter(a, state, m)) {
        a->raw = NULL;
        return;
    }
    g->memory[g->nmemory++] = (cji_graph_mem){ .mem = m, .alloc = true };
    a->node->type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    d->addr = p.dptr;
}

cj_node *cj_graph_mem_alloc(cj_graph *g, const cj_nodes *after, size_t bytes, cj_dptr *d)
{
    static const char call[] = "cj_graph_mem_alloc";
    cji_adding a;
    if (d) *d = (cj_dptr){ 0 };
    if (!cji_adding_begin(&a, g, after, call)) return cji_adding_end(&a);
    if (!d) cji_fail(a.node, CJ_EINVAL, call, "there is no place for the address");
    else if (!bytes) cji_fail(a.node, CJ_EINVAL, call, "0 bytes of memory");
    else if (mem_node_begin(&a, g)) mem_alloc_add(&a, bytes, d);
    return cji_adding_end(&a);
}

/* What the graph does with the memory so far; NULL: nothing. */
static cji_graph_mem *graph_mem_use(cj_graph *g, const cji_mem *m)
{
    for (size_t i = 0; i < g->nmemory; i++)
        if (g->memory[i].mem == m) return &g->memory[i];
    return NULL;
}

/* Why a node of `g` cannot free what the table has at `addr`; NULL: it can, or only the driver knows.  With the side's lock held. */
static const char *mem_free_problem(cj_graph *g, const cji_mem *m, uint64_t addr)
{
    if (!m) return NULL;
    if (m->kind != CJI_MEMORY_GRAPH) return "it is no memory of a graph; cj_free gives it back";
    if (m->addr != addr) return "it lies inside an allocation; free its start";
    const cji_graph_mem *use = graph_mem_use(g, m);
    if (use && use->free) return "the graph frees it already";
    if (m->inside) return "the graph that allocates it frees it already";
    if (use && m->outside) return "a node of another graph frees it already";
    if (use && m->sealed) return "the graph was instantiated before; a graph's own nodes that free are added before that, else cj_free gives the memory back";
    return NULL;
}

/* The memory, with a reference of a keep; NULL where the table has none, or with a failure. */
static cji_mem *mem_free_find(cji_adding *a, cji_mem_state *state, uint64_t addr, bool *refused)
{
    pthread_mutex_lock(&state->lock);
    cji_mem *m = cji_mem_holder(state, addr);
    const char *problem = mem_free_problem(a->g, m, addr);
    *refused = problem != NULL;
    if (m && !problem) {
        m->retained++;
        cji_obj_retain(state->dev);
    }
    pthread_mutex_unlock(&state->lock);
    if (!problem) return m;
    cji_fail(a->node, CJ_EINVAL, a->call, "0x%llx: %s", (unsigned long long)addr, problem);
    return NULL;
}

static void mem_free_note(cj_graph *g, cji_mem_state *state, cji_mem *m)
{
    cji_graph_mem *use = graph_mem_use(g, m);
    if (use) use->free = true;
    else g->memory[g->nmemory++] = (cji_graph_mem){ .mem = m, .free = true };
    pthread_mutex_lock(&state->lock);
    *(use ? &m->inside : &m->outside) = true;
    pthread_mutex_unlock(&state->lock);
}

static void mem_free_add(cji_adding *a, uint64_t addr)
{
    bool refused;
    cji_mem_state *state = cji_mem_state_of(a->g->dev);
    if (!state) {
        cji_fail(a->node, CJ_ENOMEM, a->call, "no host memory");
        return;
    }
    cji_mem *m = mem_free_find(a, state, addr, &refused);
    if (refused || (m && !graph_mem_retain(a, m))) return;
    CUresult r = a->cu->cuGraphAddMemFreeNode(&a->raw, a->g->raw, a->dep, a->ndep, addr);
    if (r == CUDA_ERROR_INVALID_VALUE) {
        cji_cu_fail_as(a->node, a->g->dev->drv, r, CJ_EINVAL, "cuGraphAddMemFreeNode", a->call,
                       "%s: 0x%llx is no start of memory that a graph of device %d allocates, or is freed by a node already", a->call, (unsigned long long)addr,
                       cj_device_ordinal(a->g->dev));
    } else if (cji_adding_did(a, r, "cuGraphAddMemFreeNode")) {
        a->node->type = CU_GRAPH_NODE_TYPE_MEM_FREE;
        if (m) mem_free_note(a->g, state, m);
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

/* -- Execs ----------------------------------------------------------------------------------------------------------- */

bool cji_graph_memory_copy(const cj_graph *g, cji_graph_mem **out)
{
    *out = NULL;
    if (!g->nmemory) return true;
    if (!(*out = cji_alloc(g->nmemory * sizeof **out))) return false;
    memcpy(*out, g->memory, g->nmemory * sizeof **out);
    return true;
}

void cji_graph_memory_seal(cj_graph *g)
{
    for (size_t i = 0; i < g->nmemory; i++) {
        cji_mem *m = g->memory[i].mem;
        pthread_mutex_lock(&m->state->lock);
        if (g->memory[i].alloc) m->sealed = true;
        pthread_mutex_unlock(&m->state->lock);
    }
}

/* `to` goes on behind what the lane's stream was given so far; hub's lock held, calm. */
static bool slot_before(const cji_release_queue *queue, const cji_slot *slot, CUstream to)
{
    CUevent e = NULL;
    if (cji_stream_captures(queue, slot->raw) || queue->cu->cuEventCreate(&e, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return false;
    bool done = queue->cu->cuEventRecord(e, slot->raw) == CUDA_SUCCESS;
    /* A capture that another thread began in between would have the event now, and draw `to` in. */
    done = done && !cji_stream_captures(queue, slot->raw) && queue->cu->cuStreamWaitEvent(to, e, 0) == CUDA_SUCCESS;
    queue->cu->cuEventDestroy(e);
    return done;
}

/* What cj_free gave back in the order of another stream than `s` comes before the launch: the address of what cannot be ordered, 0 for none. */
static uint64_t exec_memory_order(const cj_graph_exec *x, cj_stream *s)
{
    cji_release_queue *queue = x->queue;
    uint64_t addr = 0;
    for (size_t i = 0; i < x->nmemory && !addr; i++) {
        const cji_mem *m = x->memory[i].mem;
        cji_calm calm;
        bool done = true;
        pthread_mutex_lock(&m->state->lock);
        pthread_mutex_lock(&queue->lock);
        if (m->behind && m->home->live && (m->home != s->slot || s->proxy)) {
            cji_calm_begin(queue, &calm);
            done = slot_before(queue, m->home, s->raw);
            cji_calm_end(queue, &calm);
        }
        pthread_mutex_unlock(&queue->lock);
        pthread_mutex_unlock(&m->state->lock);
        if (!done) addr = m->addr;
    }
    return addr;
}

static cji_mem_wrong exec_memory_wrong(const cj_graph_exec *x)
{
    cji_mem_wrong wrong = { 0, 0 };
    for (size_t i = 0; i < x->nmemory && !wrong.addr; i++) {
        const cji_graph_mem *use = &x->memory[i];
        const cji_mem *m = use->mem;
        pthread_mutex_lock(&m->state->lock);
        wrong.way = m->going ? 3 : use->alloc && m->out && !x->auto_free ? 1 : !use->alloc && !m->out ? 2 : 0;
        if (wrong.way) wrong.addr = m->addr;
        pthread_mutex_unlock(&m->state->lock);
    }
    return wrong;
}

cji_mem_wrong cji_graph_exec_memory_ready(const cj_graph_exec *x, cj_stream *s)
{
    cji_mem_wrong wrong = exec_memory_wrong(x);
    if (!wrong.addr && (wrong.addr = exec_memory_order(x, s))) wrong.way = 4;
    return wrong;
}

cj_status cji_graph_exec_memory_rejected(cj_graph_exec *x, const cji_mem_wrong *wrong, const char *call)
{
    static const char *const ways[] = { "", "is still there from an earlier launch; give it back with cj_free, free it in the graph with cj_graph_mem_free, or instantiate with auto_free",
                                        "is not there for this graph to free; launch the graph that allocates it first",
                                        "was given to cj_free and what uses it is not done yet; wait for that first, with cj_stream_sync or the end of the capture",
                                        "was given back in the order of another stream, which the launch cannot follow as it is being captured; end that capture first" };
    return cji_fail(x, CJ_ESTATE, call, "the memory of a graph at 0x%llx %s", (unsigned long long)wrong->addr, ways[wrong->way]);
}

void cji_graph_exec_memory_wait(cj_graph_exec *x)
{
    pthread_mutex_lock(&x->lock);
    const bool going = exec_memory_wrong(x).way == 3;
    pthread_mutex_unlock(&x->lock);
    if (going) cji_deferred_drain(x->queue, CJI_DEFERRED_ALL);
}

/* The stream of the latest launch; with the side's lock held. */
static void graph_mem_move(cji_mem *m, const cj_stream *s)
{
    cji_release_queue *queue = m->state->queue;
    if (m->home == s->slot) return;
    pthread_mutex_lock(&queue->lock);
    if (m->home) {
        cji_used(&m->used, m->home->bit);
        cji_slot_drop(m->home);
    }
    m->home = s->slot;
    m->home->refs++;
    pthread_mutex_unlock(&queue->lock);
}

void cji_graph_exec_memory_launched(cj_graph_exec *x, cj_stream *s)
{
    for (size_t i = 0; i < x->nmemory; i++) {
        const cji_graph_mem *use = &x->memory[i];
        cji_mem *m = use->mem;
        pthread_mutex_lock(&m->state->lock);
        graph_mem_move(m, s);
        m->out = use->alloc && !use->free;
        m->behind = false;
        pthread_mutex_unlock(&m->state->lock);
    }
}

/* -- cj_free --------------------------------------------------------------------------------------------------------- */

/* Behind all that it was used on, in the order of its home; false: not now.  Calm. */
static bool graph_mem_free_now(cji_mem *m)
{
    cji_release_queue *queue = m->state->queue;
    pthread_mutex_lock(&queue->lock);
    const uint64_t used = atomic_load(&m->used);
    bool done = !atomic_load(&queue->captures) && m->home->live && !cji_stream_captures(queue, m->home->raw);
    for (const cji_slot *l = queue->slots; l && done; l = l->next)
        if (l != m->home && l->bit & used) done = slot_before(queue, l, m->home->raw);
    for (const cji_point *t = queue->tails; t && done; t = t->next)
        if (t->bit & used) done = queue->cu->cuStreamWaitEvent(m->home->raw, t->event, 0) == CUDA_SUCCESS;
    done = done && cji_mem_free_ordered(m);
    pthread_mutex_unlock(&queue->lock);
    return done;
}

static void graph_mem_returned(cji_mem *m, bool behind)
{
    pthread_mutex_lock(&m->state->lock);
    m->out = m->going = false;
    m->behind = behind;
    if (behind) atomic_store(&m->used, 0);
    pthread_mutex_unlock(&m->state->lock);
    cji_mem_unretain(m);
}

/* Every use is over; calm. */
static void graph_mem_free_deferred(cji_deferred *deferred)
{
    cji_mem *m = (cji_mem *)((char *)deferred - offsetof(cji_mem, deferred));
    cji_release_queue *queue = m->state->queue;
    pthread_mutex_lock(&queue->lock);
    const bool ordered = cji_mem_free_ordered(m);
    if (!ordered) queue->cu->cuMemFree(m->addr);
    pthread_mutex_unlock(&queue->lock);
    graph_mem_returned(m, ordered);
}

cj_status cji_graph_memory_return(cji_mem *m, cj_device *dev, const char *call)
{
    const unsigned long long addr = m->addr;
    const char *problem = m->inside              ? "frees it itself, with cj_graph_mem_free"
                          : m->going || !m->out ? "allocates it at a launch, and none did since it was freed; the address goes with the graph and its execs"
                                                : NULL;
    if (!problem) {
        m->going = true;
        m->retained++;
        cji_obj_retain(dev);
    }
    pthread_mutex_unlock(&m->state->lock);
    if (problem) return cji_fail(dev, CJ_ESTATE, call, "0x%llx is memory of a graph, which %s", addr, problem);
    cji_release_queue *queue = m->state->queue;
    cji_calm calm;
    cji_calm_begin(queue, &calm);
    const bool done = graph_mem_free_now(m);
    cji_calm_end(queue, &calm);
    if (done) {
        graph_mem_returned(m, true);
    } else {
        m->deferred.run = graph_mem_free_deferred;
        cji_defer(queue, &m->deferred, atomic_load(&m->used) | m->home->bit);
    }
    cji_deferred_poll(queue, CJI_DEFERRED_STEP);
    return CJ_OK;
}
