/* Memory of graphs: an allocation node's address is fixed when the node is made; the memory is there from the launch's allocation to its release,
 * by a node of that graph or another, by cuMemFree or cuMemFreeAsync, or by the next launch of an executable graph that frees by itself.
 *
 * "held" follows what was submitted; whether kernels may touch the memory (sim_range.absent) follows what has run. */
#include "sim/sim_core.h"
#include "sim/sim_device.h"
#include "sim/sim_graph_exec.h"
#include "sim/sim_graph.h"
#include "sim/sim_memory.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static void sim_graph_mem_mark(sim_range *r, void *m)
{
    r->graph = m;
    r->absent = true;
}

static CUresult sim_graph_mem_work_new(sim_verb verb, sim_graph_mem *m, sim_work **out)
{
    sim_work *w = cji_sim_work_new(verb, m->ctx, 0);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->graph_mem.mem = m;
    m->refs++;
    *out = w;
    return CUDA_SUCCESS;
}

CUresult cji_sim_graph_mem_new(sim_graph *g, sim_ctx *c, uint64_t bytes, const CUmemPoolProps *props, sim_work **out)
{
    sim_graph_mem *m = cji_zalloc(sizeof *m);
    CUdeviceptr at;
    CUresult r = m ? cji_sim_space_alloc(c->dev, c, bytes, NULL, false, &at) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        cji_free(m, sizeof *m);
        return r;
    }
    *m = (sim_graph_mem){ .refs = 1, .ctx = c, .at = at, .bytes = (bytes + 511) / 512 * 512, .graph = g->id, .next = sim.graph_mems };
    sim.graph_mems = m;
    cji_sim_space_change(at, sim_graph_mem_mark, m);
    r = sim_graph_mem_work_new(SIM_GRAPH_ALLOC, m, out);
    if (!r) (*out)->graph_mem.props = *props;
    cji_sim_graph_mem_drop(m);
    return r;
}

static void sim_graph_mem_end(sim_graph_mem *m)
{
    for (sim_graph_mem **q = &sim.graph_mems; *q; q = &(*q)->next)
        if (*q == m) {
            *q = m->next;
            break;
        }
    if (m->ctx && m->present) cji_sim_pool_give(&m->ctx->dev->graph_pool, m->bytes);
    if (m->ctx) cji_sim_space_drop(m->at, SIM_DEVICE, NULL);
    cji_free(m, sizeof *m);
}

/* Without works it stays as long as it is held. */
void cji_sim_graph_mem_drop(sim_graph_mem *m)
{
    if (--m->refs == 0 && !m->held) sim_graph_mem_end(m);
}

/* The context goes, and its memory with it. */
void cji_sim_graph_mem_forget_ctx(const sim_ctx *c)
{
    for (sim_graph_mem *m = sim.graph_mems, *next; m; m = next) {
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

CUresult cji_sim_graph_mem_params(sim_graph *g, const CUDA_MEM_ALLOC_NODE_PARAMS *p, sim_work **out)
{
    const CUmemPoolProps *props = &p->poolProps;
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !p->bytesize) return CUDA_ERROR_INVALID_VALUE;
    if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; i < p->accessDescCount; i++)
        if (!p->accessDescs || p->accessDescs[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !cji_sim_device(p->accessDescs[i].location.id)) return CUDA_ERROR_INVALID_VALUE;
    sim_device *dev = cji_sim_device(props->location.id);
    sim_ctx *c;
    CUresult r = dev ? cji_sim_ctx_current(&c) : CUDA_ERROR_INVALID_VALUE;
    if (!r && c->dev != dev) {
        if (!dev->primary.alive) return CUDA_ERROR_INVALID_CONTEXT;
        c = &dev->primary;
    }
    return r ? r : cji_sim_graph_mem_new(g, c, p->bytesize, props, out);
}

CUresult cji_sim_graph_mem_free_work(sim_graph *g, uint64_t at, sim_work **out)
{
    sim_range range;
    if (!cji_sim_space_find(at, &range) || range.lo != at || !range.graph) return CUDA_ERROR_INVALID_VALUE;
    sim_graph_mem *m = range.graph;
    bool own = m->graph == g->id;
    if (m->inside || (own && (m->outside || m->sealed))) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < g->nnode; i++)
        if (g->node[i]->type == CU_GRAPH_NODE_TYPE_MEM_FREE && g->node[i]->work->graph_mem.mem == m) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_graph_mem_work_new(SIM_GRAPH_FREE, m, out);
    if (!r && own) m->inside = true;
    if (!r && !own) m->outside = true;
    return r;
}

CUresult cji_sim_cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, CUDA_MEM_ALLOC_NODE_PARAMS *p)
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

static CUresult sim_graph_mem_node(CUgraphNode h, CUgraphNodeType type, const sim_work **w)
{
    sim_node *n;
    CUresult r = cji_sim_node_get(h, &n);
    if (!r && n->type != type) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *w = n->work;
    return r;
}

CUresult cji_sim_cuGraphMemAllocNodeGetParams(CUgraphNode h, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    const sim_work *w;
    sim_range range;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_graph_mem_node(h, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &w);
    if (!r && !cji_sim_space_find(w->graph_mem.mem->at, &range)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *p = (CUDA_MEM_ALLOC_NODE_PARAMS){ .poolProps = w->graph_mem.props, .bytesize = range.bytes, .dptr = range.lo };
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphMemFreeNodeGetParams(CUgraphNode h, CUdeviceptr *at)
{
    const sim_work *w;
    if (!at) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_graph_mem_node(h, CU_GRAPH_NODE_TYPE_MEM_FREE, &w);
    if (!r) *at = w->graph_mem.mem->at;
    sim_unlock();
    return r;
}

/* ---- Launches and releases --------------------------------------------------------------------------------------- */

static bool sim_graph_exec_allocates(const sim_graph_exec *x, const sim_graph_mem *m)
{
    for (size_t i = 0; i < x->nstep; i++)
        if (x->step[i].work && x->step[i].work->verb == SIM_GRAPH_ALLOC && x->step[i].work->graph_mem.mem == m) return true;
    return false;
}

CUresult cji_sim_graph_mem_launch(const sim_graph_exec *x)
{
    if (!x->once) return CUDA_SUCCESS;
    for (size_t i = 0; i < x->nstep; i++) {
        const sim_work *w = x->step[i].work;
        if (!w || (w->verb != SIM_GRAPH_ALLOC && w->verb != SIM_GRAPH_FREE)) continue;
        const sim_graph_mem *m = w->graph_mem.mem;
        if (!m->ctx) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (w->verb == SIM_GRAPH_ALLOC && m->held && !(x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)) return CUDA_ERROR_INVALID_VALUE;
        if (w->verb == SIM_GRAPH_FREE && !m->held && !sim_graph_exec_allocates(x, m)) return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < x->nstep; i++) {
        const sim_work *w = x->step[i].work;
        if (w && (w->verb == SIM_GRAPH_ALLOC || w->verb == SIM_GRAPH_FREE)) w->graph_mem.mem->held = w->verb == SIM_GRAPH_ALLOC;
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

void cji_sim_graph_mem_run(const sim_work *w)
{
    sim_lock();
    sim_graph_mem_present(w->graph_mem.mem, w->verb == SIM_GRAPH_ALLOC);
    sim_unlock();
}

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
    CUresult r = sim_graph_mem_work_new(SIM_GRAPH_FREE, m, &w);
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
