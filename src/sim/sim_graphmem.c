/* Memory of graphs: an allocation node's address is fixed when the node is made; the memory is there from the launch's allocation to its release,
 * by a node of that graph or another, by cuMemFree or cuMemFreeAsync, or by the next launch of an executable graph that frees by itself.
 *
 * "held" follows what was submitted; whether kernels may touch the memory (sd_range.absent) follows what has run. */
#include "sim/simcore.h"
#include "sim/sim_device.h"
#include "sim/sim_exec.h"
#include "sim/sim_graph.h"
#include "sim/sim_memory.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static void sd_gmem_mark(sd_range *r, void *m)
{
    r->graph = m;
    r->absent = true;
}

static CUresult sd_gmem_work(sd_verb verb, sd_gmem *m, sd_work **out)
{
    sd_work *w = cji_sd_work_new(verb, m->ctx, 0);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->gmem.mem = m;
    m->refs++;
    *out = w;
    return CUDA_SUCCESS;
}

CUresult cji_sd_gmem_new(sd_graph *g, sd_ctx *c, uint64_t bytes, const CUmemPoolProps *props, sd_work **out)
{
    sd_gmem *m = cji_zalloc(sizeof *m);
    CUdeviceptr at;
    CUresult r = m ? cji_sd_space_alloc(c->dev, c, bytes, NULL, false, &at) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        cji_free(m, sizeof *m);
        return r;
    }
    *m = (sd_gmem){ .refs = 1, .ctx = c, .at = at, .bytes = (bytes + 511) / 512 * 512, .graph = g->id, .next = sd.gmems };
    sd.gmems = m;
    cji_sd_space_change(at, sd_gmem_mark, m);
    r = sd_gmem_work(SD_GRAPH_ALLOC, m, out);
    if (!r) (*out)->gmem.props = *props;
    cji_sd_gmem_drop(m);
    return r;
}

static void sd_gmem_end(sd_gmem *m)
{
    for (sd_gmem **q = &sd.gmems; *q; q = &(*q)->next)
        if (*q == m) {
            *q = m->next;
            break;
        }
    if (m->ctx && m->present) cji_sd_pool_give(&m->ctx->dev->graph_pool, m->bytes);
    if (m->ctx) cji_sd_space_drop(m->at, SD_DEVICE, NULL);
    cji_free(m, sizeof *m);
}

/* Without works it stays as long as it is held. */
void cji_sd_gmem_drop(sd_gmem *m)
{
    if (--m->refs == 0 && !m->held) sd_gmem_end(m);
}

/* The context goes, and its memory with it. */
void cji_sd_gmem_forget_ctx(const sd_ctx *c)
{
    for (sd_gmem *m = sd.gmems, *next; m; m = next) {
        next = m->next;
        if (m->ctx != c) continue;
        m->held = false;
        if (!m->refs) {
            sd_gmem_end(m);
        } else {
            if (m->present) cji_sd_pool_give(&m->ctx->dev->graph_pool, m->bytes);
            m->present = false;
            m->ctx = NULL;          /* space_drop_ctx takes the range */
        }
    }
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

CUresult cji_sd_gmem_params(sd_graph *g, const CUDA_MEM_ALLOC_NODE_PARAMS *p, sd_work **out)
{
    const CUmemPoolProps *props = &p->poolProps;
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !p->bytesize) return CUDA_ERROR_INVALID_VALUE;
    if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; i < p->accessDescCount; i++)
        if (!p->accessDescs || p->accessDescs[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !cji_sd_device(p->accessDescs[i].location.id)) return CUDA_ERROR_INVALID_VALUE;
    sd_device *dev = cji_sd_device(props->location.id);
    sd_ctx *c;
    CUresult r = dev ? cji_sd_ctx(&c) : CUDA_ERROR_INVALID_VALUE;
    if (!r && c->dev != dev) {
        if (!dev->primary.alive) return CUDA_ERROR_INVALID_CONTEXT;
        c = &dev->primary;
    }
    return r ? r : cji_sd_gmem_new(g, c, p->bytesize, props, out);
}

CUresult cji_sd_gmem_free_work(sd_graph *g, uint64_t at, sd_work **out)
{
    sd_range range;
    if (!cji_sd_space_find(at, &range) || range.lo != at || !range.graph) return CUDA_ERROR_INVALID_VALUE;
    sd_gmem *m = range.graph;
    bool own = m->graph == g->id;
    if (m->inside || (own && (m->outside || m->sealed))) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < g->nnode; i++)
        if (g->node[i]->type == CU_GRAPH_NODE_TYPE_MEM_FREE && g->node[i]->work->gmem.mem == m) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sd_gmem_work(SD_GRAPH_FREE, m, out);
    if (!r && own) m->inside = true;
    if (!r && !own) m->outside = true;
    return r;
}

CUresult cji_sd_cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
    all.alloc = *p;
    CUresult r = cji_sd_cuGraphAddNode(out, h, dep, n, &all);
    if (!r) p->dptr = all.alloc.dptr;
    return r;
}

CUresult cji_sd_cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, CUdeviceptr at)
{
    CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE };
    all.free.dptr = at;
    return cji_sd_cuGraphAddNode(out, h, dep, n, &all);
}

static CUresult sd_gmem_node(CUgraphNode h, CUgraphNodeType type, const sd_work **w)
{
    sd_node *n;
    CUresult r = cji_sd_node_get(h, &n);
    if (!r && n->type != type) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *w = n->work;
    return r;
}

CUresult cji_sd_cuGraphMemAllocNodeGetParams(CUgraphNode h, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    const sd_work *w;
    sd_range range;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_gmem_node(h, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &w);
    if (!r && !cji_sd_space_find(w->gmem.mem->at, &range)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *p = (CUDA_MEM_ALLOC_NODE_PARAMS){ .poolProps = w->gmem.props, .bytesize = range.bytes, .dptr = range.lo };
    sd_unlock();
    return r;
}

CUresult cji_sd_cuGraphMemFreeNodeGetParams(CUgraphNode h, CUdeviceptr *at)
{
    const sd_work *w;
    if (!at) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = sd_gmem_node(h, CU_GRAPH_NODE_TYPE_MEM_FREE, &w);
    if (!r) *at = w->gmem.mem->at;
    sd_unlock();
    return r;
}

/* ---- Launches and releases --------------------------------------------------------------------------------------- */

static bool sd_exec_allocates(const sd_exec *x, const sd_gmem *m)
{
    for (size_t i = 0; i < x->nstep; i++)
        if (x->step[i].work && x->step[i].work->verb == SD_GRAPH_ALLOC && x->step[i].work->gmem.mem == m) return true;
    return false;
}

CUresult cji_sd_gmem_launch(const sd_exec *x)
{
    if (!x->once) return CUDA_SUCCESS;
    for (size_t i = 0; i < x->nstep; i++) {
        const sd_work *w = x->step[i].work;
        if (!w || (w->verb != SD_GRAPH_ALLOC && w->verb != SD_GRAPH_FREE)) continue;
        const sd_gmem *m = w->gmem.mem;
        if (!m->ctx) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (w->verb == SD_GRAPH_ALLOC && m->held && !(x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)) return CUDA_ERROR_INVALID_VALUE;
        if (w->verb == SD_GRAPH_FREE && !m->held && !sd_exec_allocates(x, m)) return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < x->nstep; i++) {
        const sd_work *w = x->step[i].work;
        if (w && (w->verb == SD_GRAPH_ALLOC || w->verb == SD_GRAPH_FREE)) w->gmem.mem->held = w->verb == SD_GRAPH_ALLOC;
    }
    return CUDA_SUCCESS;
}

static void sd_gmem_appear(sd_range *r, void *user) { r->absent = false; (void)user; }
static void sd_gmem_vanish(sd_range *r, void *user) { r->absent = true; (void)user; }

/* Under the lock. */
static void sd_gmem_present(sd_gmem *m, bool present)
{
    if (!m->ctx || m->present == present) return;
    m->present = present;
    if (present) cji_sd_pool_take(&m->ctx->dev->graph_pool, m->bytes);
    else cji_sd_pool_give(&m->ctx->dev->graph_pool, m->bytes);
    cji_sd_space_change(m->at, present ? sd_gmem_appear : sd_gmem_vanish, NULL);
}

void cji_sd_run_gmem(const sd_work *w)
{
    sd_lock();
    sd_gmem_present(w->gmem.mem, w->verb == SD_GRAPH_ALLOC);
    sd_unlock();
}

CUresult cji_sd_gmem_release(sd_gmem *m, sd_stream *s)
{
    sd_work *w;
    if (!m->held || m->inside) return CUDA_ERROR_INVALID_VALUE;
    if (!s) {
        m->held = false;
        sd_gmem_present(m, false);
        if (!m->refs) sd_gmem_end(m);
        return CUDA_SUCCESS;
    }
    CUresult r = sd_gmem_work(SD_GRAPH_FREE, m, &w);
    if (!r) r = cji_sd_submit(s, w);
    if (!r) m->held = false;
    return r;
}

/* ---- What a device's graphs use ---------------------------------------------------------------------------------- */

CUresult cji_sd_cuDeviceGraphMemTrim(CUdevice d)
{
    sd_device *dev = cji_sd_device(d);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    sd_lock();
    cji_sd_pool_trim(&dev->graph_pool, 0);
    sd_unlock();
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuDeviceGetGraphMemAttribute(CUdevice d, CUgraphMem_attribute attribute, void *value)
{
    sd_device *dev = cji_sd_device(d);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = CUDA_SUCCESS;
    cuuint64_t *v = value;
    sd_lock();
    const sd_pool *p = &dev->graph_pool;
    switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT: *v = p->used; break;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: *v = p->used_high; break;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: *v = p->reserved; break;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: *v = p->reserved_high; break;
    default: r = CUDA_ERROR_INVALID_VALUE; break;
    }
    sd_unlock();
    return r;
}

/* The high-water marks may be set back, to 0 only. */
CUresult cji_sd_cuDeviceSetGraphMemAttribute(CUdevice d, CUgraphMem_attribute attribute, void *value)
{
    sd_device *dev = cji_sd_device(d);
    if (!dev) return CUDA_ERROR_INVALID_DEVICE;
    if (!value || *(cuuint64_t *)value) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = CUDA_SUCCESS;
    sd_lock();
    if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) dev->graph_pool.used_high = dev->graph_pool.used;
    else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) dev->graph_pool.reserved_high = dev->graph_pool.reserved;
    else r = CUDA_ERROR_INVALID_VALUE;
    sd_unlock();
    return r;
}
