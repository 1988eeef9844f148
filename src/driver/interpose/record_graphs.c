/* Graphs whose nodes copy host memory.  What a node reads is written down when a launch is called, what a node has
 * written when the launch is complete. */
#include "base/lock.h"
#include "driver/interpose/record_file.h"

enum { GRAPH_NESTED = 8 };

/* -- The regions of an exec ---------------------------------------------------------------------------------------- */

static cji_rec_exec *exec_of(cji_recorder *rec, uint64_t handle)
{
    for (cji_rec_exec *x = rec->execs; x; x = x->next)
        if (x->handle == handle) return x;
    return NULL;
}

static void exec_free(cji_rec_exec *x)
{
    cji_free(x->region, x->cap * sizeof *x->region);
    cji_free(x, sizeof *x);
}

static void exec_forget(cji_recorder *rec, uint64_t handle)
{
    cji_rec_exec *found = NULL;
    cji_lock(&rec->lock, CJI_LOCK_RECORD);
    for (cji_rec_exec **at = &rec->execs; *at; at = &(*at)->next) {
        if ((*at)->handle != handle) continue;
        found = *at;
        *at = found->next;
        break;
    }
    cji_unlock(&rec->lock, CJI_LOCK_RECORD);
    if (found) exec_free(found);
}

void cji_rec_graphs_free(cji_recorder *rec)
{
    while (rec->execs) {
        cji_rec_exec *x = rec->execs;
        rec->execs = x->next;
        exec_free(x);
    }
    while (rec->made) {
        cji_rec_link *l = rec->made;
        rec->made = l->next;
        cji_free(l, sizeof *l);
    }
}

static void add_region(cji_rec_build *b, cji_rec_exec *x, uint64_t address, size_t bytes, bool from_host)
{
    if (!address || !bytes) return;
    for (size_t i = 0; i < x->regions; i++)
        if (x->region[i].address == address && x->region[i].bytes == bytes && x->region[i].from_host == from_host)
            return;
    if (!cji_grow(&x->region, &x->cap, x->regions + 1, sizeof *x->region)) {
        cji_rec_file_fail(b->rec->file, "no memory");
        return;
    }
    x->region[x->regions++] = (cji_rec_region){ address, bytes, from_host };
}

static void add_copy(cji_rec_build *b, cji_rec_exec *x, const CUDA_MEMCPY3D *c)
{
    const size_t from = cji_rec_extent(c->srcPitch, c->srcHeight, c->srcXInBytes + c->WidthInBytes,
                                       c->srcY + c->Height, c->srcZ + c->Depth);
    const size_t to = cji_rec_extent(c->dstPitch, c->dstHeight, c->dstXInBytes + c->WidthInBytes,
                                     c->dstY + c->Height, c->dstZ + c->Depth);
    if (c->srcMemoryType == CU_MEMORYTYPE_HOST) add_region(b, x, (uint64_t)(uintptr_t)c->srcHost, from, true);
    else if (c->srcMemoryType != CU_MEMORYTYPE_ARRAY && cji_rec_is_host(b->cu, c->srcDevice, NULL))
        add_region(b, x, c->srcDevice, from, true);
    if (c->dstMemoryType == CU_MEMORYTYPE_HOST) add_region(b, x, (uint64_t)(uintptr_t)c->dstHost, to, false);
    else if (c->dstMemoryType != CU_MEMORYTYPE_ARRAY && cji_rec_is_host(b->cu, c->dstDevice, NULL))
        add_region(b, x, c->dstDevice, to, false);
}

static void add_graph(cji_rec_build *b, cji_rec_exec *x, CUgraph graph, int depth)
{
    size_t n = 0;
    if (depth > GRAPH_NESTED || b->cu->cuGraphGetNodes(graph, NULL, &n) != CUDA_SUCCESS || !n) return;
    const size_t room = n;
    CUgraphNode *node = cji_alloc(room * sizeof *node);
    if (!node) {
        cji_rec_file_fail(b->rec->file, "no memory");
        return;
    }
    if (b->cu->cuGraphGetNodes(graph, node, &n) != CUDA_SUCCESS) n = 0;
    for (size_t i = 0; i < n && i < room; i++) {
        CUgraphNodeType type;
        CUDA_MEMCPY3D copy;
        CUgraph child;
        if (b->cu->cuGraphNodeGetType(node[i], &type) != CUDA_SUCCESS) continue;
        if (type == CU_GRAPH_NODE_TYPE_MEMCPY && b->cu->cuGraphMemcpyNodeGetParams(node[i], &copy) == CUDA_SUCCESS)
            add_copy(b, x, &copy);
        if (type == CU_GRAPH_NODE_TYPE_GRAPH && b->cu->cuGraphChildGraphNodeGetGraph(node[i], &child) == CUDA_SUCCESS)
            add_graph(b, x, child, depth + 1);
    }
    cji_free(node, room * sizeof *node);
}

/* The exec's regions are those of the graph, or those of before and more. */
static void exec_learn(cji_rec_build *b, uint64_t handle, CUgraph graph, const CUDA_MEMCPY3D *copy, bool anew)
{
    if (anew) exec_forget(b->rec, handle);
    cji_rec_exec *x = cji_zalloc(sizeof *x);
    if (!x) {
        cji_rec_file_fail(b->rec->file, "no memory");
        return;
    }
    x->handle = handle;
    if (graph) add_graph(b, x, graph, 0);
    if (copy) add_copy(b, x, copy);
    cji_lock(&b->rec->lock, CJI_LOCK_RECORD);
    cji_rec_exec *there = exec_of(b->rec, handle);
    for (size_t i = 0; there && i < x->regions; i++)
        add_region(b, there, x->region[i].address, x->region[i].bytes, x->region[i].from_host);
    if (!there) {
        x->next = b->rec->execs;
        b->rec->execs = x;
    }
    cji_unlock(&b->rec->lock, CJI_LOCK_RECORD);
    if (there) exec_free(x);
}

/* -- Calls --------------------------------------------------------------------------------------------------------- */

void cji_rec_graph_before(cji_rec_build *b)
{
    if (b->id == CJI_CU_ID_cuGraphExecDestroy) exec_forget(b->rec, b->value[0]);
    if (b->id != CJI_CU_ID_cuGraphLaunch) return;
    cji_lock(&b->rec->lock, CJI_LOCK_RECORD);
    const cji_rec_exec *x = exec_of(b->rec, b->value[0]);
    for (size_t i = 0; x && i < x->regions; i++) {
        const cji_rec_region *r = &x->region[i];
        const cji_rec_host host = { .order = atomic_fetch_add(&b->rec->order, 1) + 1, .number = b->c->number,
                                    .address = r->address, .bytes = r->bytes };
        if (!r->from_host) continue;
        cji_rec_file_add_host(b->rec->file, CJI_REC_WRITE, &host, sizeof host, (const void *)(uintptr_t)r->address,
                              r->bytes);
    }
    cji_unlock(&b->rec->lock, CJI_LOCK_RECORD);
}

/* What a launch writes to host memory is read when it is complete. */
static void after_launch(cji_rec_build *b)
{
    CUstreamCaptureMode mode;
    const CUstream stream = (CUstream)(uintptr_t)b->value[1];
    const bool relaxed = cji_rec_relax(b->cu, &mode), entered = cji_rec_enter(b->cu, stream);
    for (size_t i = 0;; i++) {
        cji_rec_region region = { 0 };
        cji_lock(&b->rec->lock, CJI_LOCK_RECORD);
        const cji_rec_exec *x = exec_of(b->rec, b->value[0]);
        const bool more = x && i < x->regions;
        if (more) region = x->region[i];
        cji_unlock(&b->rec->lock, CJI_LOCK_RECORD);
        if (!more) break;
        if (region.from_host) continue;
        cji_rec_pending *p = cji_rec_pending_take(b->rec, b->cu, 0);
        if (!p) continue;
        p->data = 0, p->address = region.address, p->bytes = region.bytes, p->number = b->c->number;
        cji_rec_pending_enqueue(b->rec, b->cu, p, stream);
    }
    cji_rec_leave(b->cu, entered);
    cji_rec_relax_end(b->cu, relaxed, mode);
}

void cji_rec_graph_after(cji_rec_build *b)
{
    const uint64_t *v = b->value;
    const CUgraphNodeParams *node;
    uint64_t exec = 0;
    if (b->result != CUDA_SUCCESS) return;
    switch (b->id) {
    case CJI_CU_ID_cuGraphInstantiateWithFlags: case CJI_CU_ID_cuGraphInstantiateWithParams:
        memcpy(&exec, (const void *)(uintptr_t)v[0], sizeof exec);
        exec_learn(b, exec, (CUgraph)(uintptr_t)v[1], NULL, true);
        break;
    case CJI_CU_ID_cuGraphExecUpdate: case CJI_CU_ID_cuGraphExecUpdate_v2:
        exec_learn(b, v[0], (CUgraph)(uintptr_t)v[1], NULL, true);
        break;
    case CJI_CU_ID_cuGraphExecMemcpyNodeSetParams:
        exec_learn(b, v[0], NULL, (const CUDA_MEMCPY3D *)(uintptr_t)v[2], false);
        break;
    case CJI_CU_ID_cuGraphExecNodeSetParams:
        node = (const CUgraphNodeParams *)(uintptr_t)v[2];
        if (node->type == CU_GRAPH_NODE_TYPE_MEMCPY) exec_learn(b, v[0], NULL, &node->memcpy.copyParams, false);
        break;
    case CJI_CU_ID_cuGraphExecChildGraphNodeSetParams:
        exec_learn(b, v[0], (CUgraph)(uintptr_t)v[2], NULL, false);
        break;
    case CJI_CU_ID_cuGraphLaunch: after_launch(b); break;
    default: break;
    }
}
