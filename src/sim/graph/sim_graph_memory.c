/* Memory of graphs: an allocation node's address is fixed when the node is made; the memory is there from the launch's
 * allocation to its release, by a node of that graph or another, by cuMemFree or cuMemFreeAsync, or by the next launch
 * of an executable graph that frees by itself.
 *
 * "held" follows what was submitted; whether kernels may touch the memory (sim_range.absent) follows what has run. */
#include "sim/graph/sim_graph.h"

typedef struct sim_mem_node {       /* allocates, or frees */
    sim_work work;
    sim_graph_mem *mem;             /* held */
    CUmemPoolProps props;
} sim_mem_node;

static sim_graph_mem *sim_graph_mems;   /* all that exist */

/* NULL: another kind. */
static const sim_mem_node *sim_mem_node_of(const sim_work *w)
{
    bool is = w && (w->kind == &cji_sim_kind_alloc.work || w->kind == &cji_sim_kind_free.work);
    return is ? (const sim_mem_node *)w : NULL;
}

static bool sim_is_alloc(const sim_mem_node *w) { return w->work.kind == &cji_sim_kind_alloc.work; }

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static void sim_graph_mem_end(sim_graph_mem *m)
{
    for (sim_graph_mem **q = &sim_graph_mems; *q; q = &(*q)->next)
        if (*q == m) {
            *q = m->next;
            break;
        }
    if (m->ctx && m->present) cji_sim_pool_give(&m->ctx->dev->graph_pool, m->bytes);
    if (m->ctx) cji_sim_space_drop(m->at, SIM_DEVICE, NULL);
    cji_free(m, sizeof *m);
}

/* Without works it stays as long as it is held. */
static void sim_graph_mem_drop(sim_graph_mem *m)
{
    if (--m->refs == 0 && !m->held) sim_graph_mem_end(m);
}

static void sim_graph_mem_mark(sim_range *r, void *m)
{
    r->graph = m;
    r->absent = true;
}

static CUresult sim_graph_mem_work_new(const sim_graph_kind *kind, sim_graph_mem *m, sim_work **out)
{
    sim_mem_node *w = (sim_mem_node *)cji_sim_work_new(&kind->work, m->ctx, sizeof *w);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->mem = m;
    m->refs++;
    *out = &w->work;
    return CUDA_SUCCESS;
}

static CUresult sim_graph_mem_new(sim_graph *g, sim_ctx *c, uint64_t bytes, const CUmemPoolProps *props, sim_work **out)
{
    sim_graph_mem *m = cji_zalloc(sizeof *m);
    CUdeviceptr at;
    CUresult r = m ? cji_sim_space_alloc(c->dev, c, bytes, NULL, false, &at) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        cji_free(m, sizeof *m);
        return r;
    }
    *m = (sim_graph_mem){ .refs = 1, .ctx = c, .at = at, .graph = g->id, .next = sim_graph_mems };
    m->bytes = (bytes + 511) / 512 * 512;
    sim_graph_mems = m;
    cji_sim_space_change(at, sim_graph_mem_mark, m);
    r = sim_graph_mem_work_new(&cji_sim_kind_alloc, m, out);
    if (!r) ((sim_mem_node *)*out)->props = *props;
    sim_graph_mem_drop(m);
    return r;
}

/* The context is destroyed, and its memory with it. */
void cji_sim_graph_mem_forget_ctx(const sim_ctx *c)
{
    for (sim_graph_mem *m = sim_graph_mems, *next; m; m = next) {
        next = m->next;
        if (m->ctx != c) continue;
        m->held = false;
        if (!m->refs) {
            sim_graph_mem_end(m);
        } else {
            if (m->present) cji_sim_pool_give(&m->ctx->dev->graph_pool, m->bytes);
            m->present = false;
            m->ctx = NULL;          /* space_drop_ctx takes the range */
        }
    }
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

static CUresult sim_alloc_read(CUgraphNodeParams *all, sim_graph *g, sim_work **out)
{
    CUDA_MEM_ALLOC_NODE_PARAMS *p = &all->alloc;
    const CUmemPoolProps *props = &p->poolProps;
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !p->bytesize)
        return CUDA_ERROR_INVALID_VALUE;
    if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; i < p->accessDescCount; i++)
        if (!p->accessDescs || p->accessDescs[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
            !cji_sim_device(p->accessDescs[i].location.id))
            return CUDA_ERROR_INVALID_VALUE;
    sim_device *dev = cji_sim_device(props->location.id);
    sim_ctx *c;
    CUresult r = dev ? cji_sim_ctx_current(&c) : CUDA_ERROR_INVALID_VALUE;
    if (!r && c->dev != dev) {
        if (!dev->primary.alive) return CUDA_ERROR_INVALID_CONTEXT;
        c = &dev->primary;
    }
    if (!r) r = sim_graph_mem_new(g, c, p->bytesize, props, out);
    if (!r) p->dptr = sim_mem_node_of(*out)->mem->at;
    return r;
}

static CUresult sim_graph_mem_free_work(sim_graph *g, uint64_t at, sim_work **out)
{
    sim_range range;
    if (!cji_sim_space_find(at, &range) || range.lo != at || !range.graph) return CUDA_ERROR_INVALID_VALUE;
    sim_graph_mem *m = range.graph;
    bool own = m->graph == g->id;
    if (m->inside || (own && (m->outside || m->sealed))) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < g->nnode; i++) {
        const sim_mem_node *w = sim_mem_node_of(g->node[i]->work);
        if (w && !sim_is_alloc(w) && w->mem == m) return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult r = sim_graph_mem_work_new(&cji_sim_kind_free, m, out);
    if (!r && own) m->inside = true;
    if (!r && !own) m->outside = true;
    return r;
}

static CUresult sim_free_read(CUgraphNodeParams *p, sim_graph *g, sim_work **out)
{
    CUresult r = sim_graph_mem_free_work(g, p->free.dptr, out);
    g->memory = g->once = true;   /* of a rejected one too, as measured */
    return r;
}

CUresult cji_sim_graph_mem_capture_alloc(sim_stream *s, uint64_t bytes, CUdeviceptr *out)
{
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, s->ctx->dev->ordinal } };
    sim_work *w;
    CUresult r = sim_graph_mem_new(s->capture->graph, s->ctx, bytes, &props, &w);
    if (r) return r;
    CUdeviceptr at = sim_mem_node_of(w)->mem->at;
    r = cji_sim_capture_add(s, w);
    if (!r) *out = at;
    return r;
}

CUresult cji_sim_graph_mem_capture_free(sim_stream *s, CUdeviceptr at)
{
    sim_work *w;
    CUresult r = sim_graph_mem_free_work(s->capture->graph, at, &w);
    return r ? r : cji_sim_capture_add(s, w);
}

void cji_sim_graph_mem_seal(const sim_graph *g)
{
    for (size_t i = 0; i < g->nnode; i++) {
        const sim_mem_node *w = sim_mem_node_of(g->node[i]->work);
        if (w && sim_is_alloc(w)) w->mem->sealed = true;
    }
}

CUresult cji_sim_cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n,
                                        CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
    all.alloc = *p;
    CUresult r = cji_sim_cuGraphAddNode(out, h, dep, n, &all);
    if (!r) p->dptr = all.alloc.dptr;
    return r;
}

CUresult cji_sim_cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, CUdeviceptr at)
{
    CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE };
    all.free.dptr = at;
    return cji_sim_cuGraphAddNode(out, h, dep, n, &all);
}

CUresult cji_sim_cuGraphMemAllocNodeGetParams(CUgraphNode h, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    sim_node *n;
    sim_range range;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_node_typed(h, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &n);
    const sim_mem_node *w = r ? NULL : sim_mem_node_of(n->work);
    if (!r && !cji_sim_space_find(w->mem->at, &range)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *p = (CUDA_MEM_ALLOC_NODE_PARAMS){ .poolProps = w->props, .bytesize = range.bytes, .dptr = range.lo };
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphMemFreeNodeGetParams(CUgraphNode h, CUdeviceptr *at)
{
    sim_node *n;
    if (!at) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_node_typed(h, CU_GRAPH_NODE_TYPE_MEM_FREE, &n);
    if (!r) *at = sim_mem_node_of(n->work)->mem->at;
    sim_unlock();
    return r;
}

/* ---- Launches and releases --------------------------------------------------------------------------------------- */

static bool sim_graph_exec_allocates(const sim_graph_exec *x, const sim_graph_mem *m)
{
    for (size_t i = 0; i < x->nstep; i++) {
        const sim_mem_node *w = sim_mem_node_of(x->step[i].work);
        if (w && sim_is_alloc(w) && w->mem == m) return true;
    }
    return false;
}

CUresult cji_sim_graph_mem_launch(const sim_graph_exec *x)
{
    if (!x->once) return CUDA_SUCCESS;
    for (size_t i = 0; i < x->nstep; i++) {
        const sim_mem_node *w = sim_mem_node_of(x->step[i].work);
        if (!w) continue;
        const sim_graph_mem *m = w->mem;
        if (!m->ctx) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (sim_is_alloc(w) && m->held && !(x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
            return CUDA_ERROR_INVALID_VALUE;
        if (!sim_is_alloc(w) && !m->held && !sim_graph_exec_allocates(x, m)) return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < x->nstep; i++) {
        const sim_mem_node *w = sim_mem_node_of(x->step[i].work);
        if (w) w->mem->held = sim_is_alloc(w);
    }
    return CUDA_SUCCESS;
}

static void sim_graph_mem_appear(sim_range *r, void *user) { r->absent = false; (void)user; }
static void sim_graph_mem_vanish(sim_range *r, void *user) { r->absent = true; (void)user; }

/* Under the lock. */
static void sim_graph_mem_present(sim_graph_mem *m, bool present)
{
    if (!m->ctx || m->present == present) return;
    m->present = present;
    if (present) cji_sim_pool_take(&m->ctx->dev->graph_pool, m->bytes);
    else cji_sim_pool_give(&m->ctx->dev->graph_pool, m->bytes);
    cji_sim_space_change(m->at, present ? sim_graph_mem_appear : sim_graph_mem_vanish, NULL);
}

static void sim_mem_node_run(sim_op *op)
{
    const sim_mem_node *w = sim_mem_node_of(op->work);
    sim_lock();
    sim_graph_mem_present(w->mem, sim_is_alloc(w));
    sim_unlock();
}

static void sim_mem_node_drop(sim_work *w) { sim_graph_mem_drop(sim_mem_node_of(w)->mem); }

static CUgraphExecUpdateResult sim_mem_node_alike(const sim_work *a, const sim_work *b)
{
    bool alike = a->ctx == b->ctx && sim_mem_node_of(a)->mem == sim_mem_node_of(b)->mem;
    return alike ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

const sim_graph_kind cji_sim_kind_alloc = { .work = { .name = "alloc",
                                                      .node_type = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
                                                      .traits = SIM_WORK_OF_GRAPHS,
                                                      .fixed = true,
                                                      .drop = sim_mem_node_drop,
                                                      .run = sim_mem_node_run,
                                                      .read_params = sim_alloc_read,
                                                      .alike = sim_mem_node_alike } };

const sim_graph_kind cji_sim_kind_free = { .work = { .name = "free",
                                                     .node_type = CU_GRAPH_NODE_TYPE_MEM_FREE,
                                                     .traits = SIM_WORK_OF_GRAPHS | SIM_WORK_AFTER_FAULT,
                                                     .fixed = true,
                                                     .drop = sim_mem_node_drop,
                                                     .run = sim_mem_node_run,
                                                     .read_params = sim_free_read,
                                                     .alike = sim_mem_node_alike } };

CUresult cji_sim_graph_mem_release(sim_graph_mem *m, sim_stream *s)
{
    sim_work *w;
    if (!m->held || m->inside) return CUDA_ERROR_INVALID_VALUE;
    if (!s) {
        m->held = false;
        sim_graph_mem_present(m, false);
        if (!m->refs) sim_graph_mem_end(m);
        return CUDA_SUCCESS;
    }
    CUresult r = sim_graph_mem_work_new(&cji_sim_kind_free, m, &w);
    if (!r) r = cji_sim_stream_submit(s, w);
    if (!r) m->held = false;
    return r;
}

/* ---- What a device's graphs use ---------------------------------------------------------------------------------- */

CUresult cji_sim_cuDeviceGraphMemTrim(CUdevice d)
{
    sim_device *dev = cji_sim_device(d);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    cji_sim_pool_trim(&dev->graph_pool, 0);
    sim_unlock();
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuDeviceGetGraphMemAttribute(CUdevice d, CUgraphMem_attribute attribute, void *value)
{
    sim_device *dev = cji_sim_device(d);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = CUDA_SUCCESS;
    cuuint64_t *v = value;
    sim_lock();
    const sim_pool *p = &dev->graph_pool;
    switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT: *v = p->used; break;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: *v = p->used_high; break;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: *v = p->reserved; break;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: *v = p->reserved_high; break;
    default: r = CUDA_ERROR_INVALID_VALUE; break;
    }
    sim_unlock();
    return r;
}

/* The high-water marks may be set back, to 0 only. */
CUresult cji_sim_cuDeviceSetGraphMemAttribute(CUdevice d, CUgraphMem_attribute attribute, void *value)
{
    sim_device *dev = cji_sim_device(d);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    if (!value || *(cuuint64_t *)value) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = CUDA_SUCCESS;
    sim_lock();
    if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) dev->graph_pool.used_high = dev->graph_pool.used;
    else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) dev->graph_pool.reserved_high = dev->graph_pool.reserved;
    else r = CUDA_ERROR_INVALID_VALUE;
    sim_unlock();
    return r;
}
