/* Memory of graphs: what becomes of it between launches.
 *
 * The driver fixes an address when the node is made, and may reuse it once the graph and its executable graphs are
 * gone.  So memory that anything still retains retains the driver's graph too (cji_memory_graph), and leaves the
 * device's table when nothing does.
 *
 * Between a launch that allocates and what frees it the memory is `out`.  cj_free frees it at once, in the order of
 * the stream of the latest launch, behind the streams that it was used on: a next launch may follow.  Where that
 * cannot be (the stream is gone, or a capture is open) it is `going`: a deferred release, which a next launch waits
 * for in vain. */
#include "stream/graph/stream_graph.h"

#include <string.h>

struct cji_memory_graph {
    atomic_uint refs; /* of its graph, and of each memory */
    const cji_release_queue *queue;
    CUgraph raw; /* NULL while the graph has it */
};

static void memory_graph_drop(cji_memory_graph *o)
{
    if (!o || atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1) return;
    if (o->raw) o->queue->cu->cuGraphDestroy(o->raw);
    cji_free(o, sizeof *o);
}

/* -- Entries of the device's table --------------------------------------------------------------------------------- */

static cj_status graph_mem_return(cji_mem *m, cj_device *dev, const char *call);
static CUresult graph_mem_release(const cji_mem *m) { return m->state->queue->cu->cuMemFree(m->addr); }
static bool graph_mem_there(const cji_mem *m) { return ((const cji_graph_memory *)m)->out; }
static void graph_mem_destroy(cji_mem *m) { cji_graph_memory_delete((cji_graph_memory *)m); }

static const cji_mem_type mem_graph = { .kind = CJ_MEM_KIND_GRAPH,
                                        .name = "a graph's",
                                        .cu_call = "cuGraphAddMemAllocNode",
                                        .ordered = true,
                                        .release = graph_mem_release,
                                        .free = graph_mem_return,
                                        .there = graph_mem_there,
                                        .destroy = graph_mem_destroy };

cji_graph_memory *cji_graph_memory_new(cj_graph *g, cji_mem_state *state, size_t bytes)
{
    cji_memory_graph *o = g->holder;
    cji_graph_memory *m = cji_zalloc(sizeof *m);
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
    *m = (cji_graph_memory){ .mem = { .state = state, .bytes = bytes, .type = &mem_graph, .freed = true }, .graph = o };
    return m;
}

void cji_graph_memory_delete(cji_graph_memory *m)
{
    memory_graph_drop(m->graph);
    cji_free(m, sizeof *m);
}

cji_graph_memory *cji_graph_memory_of(cji_mem *m) { return m && m->type == &mem_graph ? (cji_graph_memory *)m : NULL; }

void cji_graph_memory_free(cj_graph *g)
{
    cji_free(g->memory, g->memory_cap * sizeof *g->memory);
    if (!g->holder) {
        if (g->raw) g->queue->cu->cuGraphDestroy(g->raw);
        return;
    }
    g->holder->raw = g->raw;
    memory_graph_drop(g->holder);
}

/* -- Executable graphs --------------------------------------------------------------------------------------------- */

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
        cji_graph_memory *m = g->memory[i].mem;
        cji_spin_lock(&m->mem.state->lock, CJI_LOCK_MEMORY);
        if (g->memory[i].alloc) m->sealed = true;
        cji_spin_unlock(&m->mem.state->lock, CJI_LOCK_MEMORY);
    }
}

/* `to` waits for what was enqueued so far on the slot's stream; queue's lock held, in a scope.  CUDA_ERROR_NOT_READY:
 * it is being captured. */
static CUresult slot_before(const cji_release_queue *queue, const cji_slot *slot, CUstream to)
{
    CUevent e = NULL;
    if (cji_stream_captures(queue, slot->raw)) return CUDA_ERROR_NOT_READY;
    CUresult r = queue->cu->cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
    if (r != CUDA_SUCCESS) return r;
    r = queue->cu->cuEventRecord(e, slot->raw);
    /* A capture that another thread began in between would have the event now, and `to` would join it. */
    if (r == CUDA_SUCCESS && cji_stream_captures(queue, slot->raw)) r = CUDA_ERROR_NOT_READY;
    if (r == CUDA_SUCCESS) r = queue->cu->cuStreamWaitEvent(to, e, 0);
    queue->cu->cuEventDestroy(e);
    return r;
}

/* What cj_free freed in the order of another stream than `s` comes before the launch: the address of what cannot be
 * ordered, 0 for none. */
static uint64_t exec_memory_order(const cj_graph_exec *x, cj_stream *s)
{
    cji_release_queue *queue = x->queue;
    uint64_t addr = 0;
    for (size_t i = 0; i < x->nmemory && !addr; i++) {
        const cji_graph_memory *m = x->memory[i].mem;
        cji_scope scope;
        bool done = true;
        cji_spin_lock(&m->mem.state->lock, CJI_LOCK_MEMORY);
        cji_lock(&queue->lock, CJI_LOCK_QUEUE);
        if (m->behind && m->mem.home->live && (m->mem.home != s->slot || s->proxy)) {
            cji_queue_scope(queue, &scope);
            done = slot_before(queue, m->mem.home, s->raw) == CUDA_SUCCESS;
            cji_scope_leave(&scope);
        }
        cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
        cji_spin_unlock(&m->mem.state->lock, CJI_LOCK_MEMORY);
        if (!done) addr = m->mem.addr;
    }
    return addr;
}

static cji_mem_wrong exec_memory_wrong(const cj_graph_exec *x)
{
    cji_mem_wrong wrong = { 0, 0 };
    for (size_t i = 0; i < x->nmemory && !wrong.addr; i++) {
        const cji_graph_mem *use = &x->memory[i];
        const cji_graph_memory *m = use->mem;
        cji_spin_lock(&m->mem.state->lock, CJI_LOCK_MEMORY);
        wrong.way = m->going ? 3 : use->alloc && m->out && !x->auto_free ? 1 : !use->alloc && !m->out ? 2 : 0;
        if (wrong.way) wrong.addr = m->mem.addr;
        cji_spin_unlock(&m->mem.state->lock, CJI_LOCK_MEMORY);
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
    static const char *const ways[] = {
        "",
        "is still allocated by an earlier launch; free it with cj_free, or in the graph with cj_graph_mem_free, or "
        "instantiate with auto_free",
        "is not allocated, so that this graph cannot free it; launch the graph that allocates it first",
        "was freed with cj_free and work that uses it is not complete yet; wait for that first, with cj_stream_sync "
        "or the end of the capture",
        "was freed in the order of another stream, which the launch cannot follow as it is being captured; end that "
        "capture first"
    };
    return cji_fail(x, CJ_ESTATE, call, "the memory of a graph at 0x%llx %s", (unsigned long long)wrong->addr,
                    ways[wrong->way]);
}

void cji_graph_exec_memory_wait(cj_graph_exec *x)
{
    cji_lock(&x->lock, CJI_LOCK_GRAPH_EXEC);
    const bool going = exec_memory_wrong(x).way == 3;
    cji_unlock(&x->lock, CJI_LOCK_GRAPH_EXEC);
    if (going) cji_deferred_drain(x->queue, CJI_DEFERRED_ALL);
}

/* The stream of the latest launch; with the state's lock held. */
static void graph_mem_move(cji_graph_memory *m, const cj_stream *s)
{
    cji_release_queue *queue = m->mem.state->queue;
    if (m->mem.home == s->slot) return;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    if (m->mem.home) {
        cji_used(&m->mem.used, m->mem.home->bit);
        cji_slot_drop(m->mem.home);
    }
    m->mem.home = s->slot;
    m->mem.home->refs++;
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
}

void cji_graph_exec_memory_launched(cj_graph_exec *x, cj_stream *s)
{
    for (size_t i = 0; i < x->nmemory; i++) {
        const cji_graph_mem *use = &x->memory[i];
        cji_graph_memory *m = use->mem;
        cji_spin_lock(&m->mem.state->lock, CJI_LOCK_MEMORY);
        graph_mem_move(m, s);
        m->out = use->alloc && !use->free;
        m->behind = false;
        cji_spin_unlock(&m->mem.state->lock, CJI_LOCK_MEMORY);
    }
}

/* -- cj_free ------------------------------------------------------------------------------------------------------- */

/* Behind all that it was used on, in the order of its home.  CUDA_ERROR_NOT_READY: not now; in a scope. */
static CUresult graph_mem_free_now(cji_graph_memory *m)
{
    cji_release_queue *queue = m->mem.state->queue;
    const cji_slot *home = m->mem.home;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    const uint64_t used = atomic_load(&m->mem.used);
    const bool possible = !atomic_load(&queue->captures) && home->live && !cji_stream_captures(queue, home->raw);
    CUresult r = possible ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    for (const cji_slot *slot = queue->slots; slot && r == CUDA_SUCCESS; slot = slot->next)
        if (slot != home && slot->bit & used) r = slot_before(queue, slot, home->raw);
    for (const cji_point *t = queue->tails; t && r == CUDA_SUCCESS; t = t->next)
        if (t->bit & used) r = queue->cu->cuStreamWaitEvent(home->raw, t->event, 0);
    if (r == CUDA_SUCCESS) r = cji_mem_free_ordered(&m->mem);
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    return r;
}

static void graph_mem_returned(cji_graph_memory *m, bool behind)
{
    cji_spin_lock(&m->mem.state->lock, CJI_LOCK_MEMORY);
    m->out = m->going = false;
    m->behind = behind;
    if (behind) atomic_store(&m->mem.used, 0);
    cji_spin_unlock(&m->mem.state->lock, CJI_LOCK_MEMORY);
    cji_mem_unretain(&m->mem);
}

/* Every use is over; in a scope. */
static void graph_mem_free_deferred(cji_deferred *deferred)
{
    cji_graph_memory *m = (cji_graph_memory *)((char *)deferred - offsetof(cji_graph_memory, mem.deferred));
    cji_release_queue *queue = m->mem.state->queue;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    const bool ordered = cji_mem_free_ordered(&m->mem) == CUDA_SUCCESS;
    if (!ordered) queue->cu->cuMemFree(m->mem.addr);
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    graph_mem_returned(m, ordered);
}

/* Frees it now, or defers that. */
static cj_status graph_mem_free(cji_graph_memory *m, cj_device *dev, const char *call)
{
    cji_release_queue *queue = m->mem.state->queue;
    cji_scope scope;
    cji_queue_scope(queue, &scope);
    CUresult r = graph_mem_free_now(m);
    cj_status st = CJ_OK;
    if (r == CUDA_SUCCESS) {
        graph_mem_returned(m, true);
    } else {
        if (r != CUDA_ERROR_NOT_READY) {
            st = cji_rejected(dev, dev, r, call, "cuMemFreeAsync");
            cji_slot_fail(queue, m->mem.home, cj_error_last());
        }
        m->mem.deferred.run = graph_mem_free_deferred;
        cji_defer(queue, &m->mem.deferred, atomic_load(&m->mem.used) | m->mem.home->bit);
    }
    cji_deferred_poll(queue, CJI_DEFERRED_STEP);
    cji_scope_leave(&scope);
    return st;
}

static cj_status graph_mem_return(cji_mem *mem, cj_device *dev, const char *call)
{
    cji_graph_memory *m = (cji_graph_memory *)mem;
    const unsigned long long addr = mem->addr;
    const char *problem = NULL;
    if (m->inside) problem = "frees it itself, with cj_graph_mem_free";
    else if (m->going || !m->out)
        problem =
            "allocates it at a launch, and none did since it was freed; the address goes with the graph and its "
            "executable graphs";
    if (!problem) {
        m->going = true;
        mem->retained++;
        cji_obj_retain(dev);
    }
    cji_spin_unlock(&mem->state->lock, CJI_LOCK_MEMORY);
    if (problem) return cji_fail(dev, CJ_ESTATE, call, "0x%llx is memory of a graph, which %s", addr, problem);
    return graph_mem_free(m, dev, call);
}
