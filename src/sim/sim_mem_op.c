/* Memory operations in streams: wait until a word has a value, write one. */
#include "sim/sim_core.h"
#include "sim/sim_device.h"
#include "sim/sim_graph.h"
#include "sim/sim_memory.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SIM_WATCH_AFTER = 20000000 };   /* ns: what takes longer is watched */

static CUresult sim_mem_op_work(sim_ctx *c, bool wait, bool wide, CUdeviceptr at, uint64_t value, unsigned flags, sim_work **out)
{
    unsigned all = wait ? CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH : CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
    if (flags & ~all || flags & CU_STREAM_WAIT_VALUE_FLUSH || at % (wide ? 8 : 4)) return flags & CU_STREAM_WAIT_VALUE_FLUSH && wait ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    if (!cji_sim_space_at(c, at, wide ? 8 : 4)) return CUDA_ERROR_INVALID_VALUE;
    sim_work *w = cji_sim_work_new(wait ? SIM_MEM_WAIT : SIM_MEM_WRITE, c, 0);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->mem_op.at = at;
    w->mem_op.value = wide ? value : (uint32_t)value;
    w->mem_op.flags = flags;
    w->mem_op.wide = wide;
    memset(&w->mem_op.raw, 0, sizeof w->mem_op.raw);
    if (wait) w->mem_op.raw.operation = wide ? CU_STREAM_MEM_OP_WAIT_VALUE_64 : CU_STREAM_MEM_OP_WAIT_VALUE_32;
    else w->mem_op.raw.operation = wide ? CU_STREAM_MEM_OP_WRITE_VALUE_64 : CU_STREAM_MEM_OP_WRITE_VALUE_32;
    w->mem_op.raw.writeValue.address = at;   /* both kinds have it there */
    if (wide) w->mem_op.raw.writeValue.value64 = value;
    else w->mem_op.raw.writeValue.value = (uint32_t)value;
    w->mem_op.raw.writeValue.flags = flags;
    *out = w;
    return CUDA_SUCCESS;
}

static CUresult sim_mem_op_submit(CUstream h, bool wait, bool wide, CUdeviceptr at, uint64_t value, unsigned flags)
{
    sim_stream *s;
    sim_work *w;
    sim_lock();
    CUresult r = cji_sim_stream_for_work(h, &s);
    if (!r) r = sim_mem_op_work(s->ctx, wait, wide, at, value, flags, &w);
    if (!r) r = cji_sim_stream_submit(s, w);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuStreamWaitValue32(CUstream h, CUdeviceptr at, cuuint32_t v, unsigned flags) { return sim_mem_op_submit(h, true, false, at, v, flags); }
CUresult cji_sim_cuStreamWaitValue64(CUstream h, CUdeviceptr at, cuuint64_t v, unsigned flags) { return sim_mem_op_submit(h, true, true, at, v, flags); }
CUresult cji_sim_cuStreamWriteValue32(CUstream h, CUdeviceptr at, cuuint32_t v, unsigned flags) { return sim_mem_op_submit(h, false, false, at, v, flags); }
CUresult cji_sim_cuStreamWriteValue64(CUstream h, CUdeviceptr at, cuuint64_t v, unsigned flags) { return sim_mem_op_submit(h, false, true, at, v, flags); }

static CUresult sim_mem_ops_one(sim_ctx *c, const CUstreamBatchMemOpParams *p, sim_work **out)
{
    *out = NULL;
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32: return sim_mem_op_work(c, true, false, p->waitValue.address, p->waitValue.value, p->waitValue.flags, out);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: return sim_mem_op_work(c, true, true, p->waitValue.address, p->waitValue.value64, p->waitValue.flags, out);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: return sim_mem_op_work(c, false, false, p->writeValue.address, p->writeValue.value, p->writeValue.flags, out);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return sim_mem_op_work(c, false, true, p->writeValue.address, p->writeValue.value64, p->writeValue.flags, out);
    case CU_STREAM_MEM_OP_BARRIER: return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

enum { SIM_MEM_OPS_MAX = 255 };

/* One work for all of them, done in their order; there may be none. */
static CUresult sim_mem_ops_work(sim_ctx *c, const CUstreamBatchMemOpParams *params, unsigned count, unsigned flags, sim_work **out)
{
    if ((count && !params) || count > SIM_MEM_OPS_MAX || flags) return CUDA_ERROR_INVALID_VALUE;
    sim_work *w = cji_sim_work_new(SIM_MEM_OPS, c, 0);
    if (w && count) {
        w->mem_ops.n = count;
        w->mem_ops.raw = cji_zalloc(count * sizeof *w->mem_ops.raw);
        w->mem_ops.item = cji_zalloc(count * sizeof *w->mem_ops.item);
    }
    CUresult r = w && (!count || (w->mem_ops.raw && w->mem_ops.item)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r && count) memcpy(w->mem_ops.raw, params, count * sizeof *params);
    for (unsigned i = 0; !r && i < count; i++) r = sim_mem_ops_one(c, &params[i], &w->mem_ops.item[i]);
    if (r) cji_sim_work_drop(w);
    else *out = w;
    return r;
}

CUresult cji_sim_cuStreamBatchMemOp(CUstream h, unsigned count, CUstreamBatchMemOpParams *params, unsigned flags)
{
    sim_stream *s;
    sim_work *w;
    sim_lock();
    CUresult r = cji_sim_stream_for_work(h, &s);
    if (!r) r = sim_mem_ops_work(s->ctx, params, count, flags, &w);
    if (!r) r = cji_sim_stream_submit(s, w);
    sim_unlock();
    return r;
}

CUresult cji_sim_mem_ops_params(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, sim_work **out)
{
    sim_ctx *c;
    CUresult r = cji_sim_ctx_for(p->ctx, &c);
    return r ? r : sim_mem_ops_work(c, p->paramArray, p->count, p->flags, out);
}

CUresult cji_sim_cuGraphAddBatchMemOpNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };
    all.memOp = *p;
    return cji_sim_cuGraphAddNode(out, h, dep, n, &all);
}

/* ---- Their parameters -------------------------------------------------------------------------------------------- */

/* A captured wait or write is a batch of one. */
static const CUstreamBatchMemOpParams *sim_mem_ops_raw(const sim_work *w, unsigned *count)
{
    *count = w->verb == SIM_MEM_OPS ? (unsigned)w->mem_ops.n : 1;
    return w->verb == SIM_MEM_OPS ? w->mem_ops.raw : &w->mem_op.raw;
}

bool cji_sim_mem_ops_alike(const sim_work *v, const sim_work *w)
{
    unsigned n, m;
    const CUstreamBatchMemOpParams *a = sim_mem_ops_raw(v, &n), *b = sim_mem_ops_raw(w, &m);
    bool alike = n == m;
    for (unsigned i = 0; alike && i < n; i++) alike = a[i].operation == b[i].operation;
    return alike;
}

/* paramArray points at what belongs to the node, until it is changed or destroyed. */
CUresult cji_sim_cuGraphBatchMemOpNodeGetParams(CUgraphNode h, CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    sim_node *n;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_node_get(h, &n);
    if (!r && n->type != CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        *p = (CUDA_BATCH_MEM_OP_NODE_PARAMS){ .ctx = (CUcontext)n->work->ctx };
        p->paramArray = (CUstreamBatchMemOpParams *)(uintptr_t)sim_mem_ops_raw(n->work, &p->count);
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphBatchMemOpNodeSetParams(CUgraphNode h, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };
    all.memOp = *p;
    return cji_sim_cuGraphNodeSetParams(h, &all);
}

CUresult cji_sim_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec h, CUgraphNode hn, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };
    all.memOp = *p;
    return cji_sim_cuGraphExecNodeSetParams(h, hn, &all);
}

/* ---- Doing it ---------------------------------------------------------------------------------------------------- */

bool cji_sim_mem_op_fits(const sim_work *w, uint64_t now)
{
    uint64_t mask = w->mem_op.wide ? UINT64_MAX : UINT32_MAX;
    switch (w->mem_op.flags & CU_STREAM_WAIT_VALUE_NOR) {
    case CU_STREAM_WAIT_VALUE_GEQ: return w->mem_op.wide ? (int64_t)(now - w->mem_op.value) >= 0 : (int32_t)(uint32_t)(now - w->mem_op.value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return now == w->mem_op.value;
    case CU_STREAM_WAIT_VALUE_AND: return (now & w->mem_op.value) != 0;
    default: return (~(now | w->mem_op.value) & mask) != 0;
    }
}

static bool sim_mem_op_holds_at(const sim_work *w, const unsigned char *p)
{
    uint64_t now = w->mem_op.wide ? __atomic_load_n((const uint64_t *)(const void *)p, __ATOMIC_ACQUIRE) : __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_ACQUIRE);
    return cji_sim_mem_op_fits(w, now);
}

bool cji_sim_mem_op_holds(const sim_ctx *c, const sim_work *w)
{
    const unsigned char *p = cji_sim_space_at(c, w->mem_op.at, w->mem_op.wide ? 8 : 4);
    return !p || sim_mem_op_holds_at(w, p);
}

/* The word changes without telling us: by another kernel, or by the host.  What takes long is given to the watcher. */
static void sim_mem_op_await(sim_op *op, const sim_work *w, const unsigned char *p)
{
    uint64_t begun = cji_now();
    bool watched = false;
    for (unsigned n = 0; !sim_mem_op_holds_at(w, p) && !__atomic_load_n(&op->ctx->cancel, __ATOMIC_RELAXED); n++) {
        nanosleep(&(struct timespec){ .tv_nsec = n < 20 ? 2000 : 100000 }, NULL);
        if (watched || cji_now() - begun < SIM_WATCH_AFTER) continue;
        watched = true;
        sim_lock();
        op->when = begun;
        op->long_reported = false;
        cji_sim_watch(op);
        sim_unlock();
    }
    if (!watched) return;
    sim_lock();
    cji_sim_unwatch(op);
    sim_unlock();
}

static void sim_mem_op_run_one(sim_op *op, const sim_work *w)
{
    unsigned char *p = cji_sim_space_at(op->ctx, w->mem_op.at, w->mem_op.wide ? 8 : 4);
    if (!p) {
        char why[160], sentence[260];
        cji_sim_space_why(w->mem_op.at, why, sizeof why);
        snprintf(sentence, sizeof sentence, "a %s of a value at 0x%llx, which %s", w->verb == SIM_MEM_WAIT ? "wait" : "write", (unsigned long long)w->mem_op.at, why);
        sim_lock();
        cji_sim_op_fails(op, CUDA_ERROR_ILLEGAL_ADDRESS, sentence);
        sim_unlock();
    } else if (w->verb == SIM_MEM_WRITE) {
        if (w->mem_op.wide) __atomic_store_n((uint64_t *)(void *)p, w->mem_op.value, __ATOMIC_RELEASE);
        else __atomic_store_n((uint32_t *)(void *)p, (uint32_t)w->mem_op.value, __ATOMIC_RELEASE);
    } else {
        sim_mem_op_await(op, w, p);
    }
}

void cji_sim_mem_op_run(sim_op *op, const sim_work *w)
{
    if (w->verb != SIM_MEM_OPS) {
        sim_mem_op_run_one(op, w);
        return;
    }
    for (size_t i = 0; i < w->mem_ops.n && !__atomic_load_n(&op->ctx->fault, __ATOMIC_RELAXED); i++) {
        __atomic_store_n(&op->item, (unsigned)i, __ATOMIC_RELEASE);
        if (w->mem_ops.item[i]) sim_mem_op_run_one(op, w->mem_ops.item[i]);
    }
}
