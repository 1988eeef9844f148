/* Memory operations in streams: wait until a word has a value, write one. */
#include "sim/simcore.h"
#include "sim/sim_device.h"
#include "sim/sim_graph.h"
#include "sim/sim_memory.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SD_LOOK = 20000000 };   /* ns: what takes longer is watched */

static CUresult sd_value_work(sd_ctx *c, bool wait, bool wide, CUdeviceptr at, uint64_t value, unsigned flags, sd_work **out)
{
    unsigned all = wait ? CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH : CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
    if (flags & ~all || flags & CU_STREAM_WAIT_VALUE_FLUSH || at % (wide ? 8 : 4)) return flags & CU_STREAM_WAIT_VALUE_FLUSH && wait ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    if (!cji_sd_space_at(c, at, wide ? 8 : 4)) return CUDA_ERROR_INVALID_VALUE;
    sd_work *w = cji_sd_work_new(wait ? SD_WAIT_VALUE : SD_WRITE_VALUE, c, 0);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->value.at = at;
    w->value.value = wide ? value : (uint32_t)value;
    w->value.flags = flags;
    w->value.wide = wide;
    memset(&w->value.raw, 0, sizeof w->value.raw);
    if (wait) w->value.raw.operation = wide ? CU_STREAM_MEM_OP_WAIT_VALUE_64 : CU_STREAM_MEM_OP_WAIT_VALUE_32;
    else w->value.raw.operation = wide ? CU_STREAM_MEM_OP_WRITE_VALUE_64 : CU_STREAM_MEM_OP_WRITE_VALUE_32;
    w->value.raw.writeValue.address = at;   /* both kinds have it there */
    if (wide) w->value.raw.writeValue.value64 = value;
    else w->value.raw.writeValue.value = (uint32_t)value;
    w->value.raw.writeValue.flags = flags;
    *out = w;
    return CUDA_SUCCESS;
}

static CUresult sd_value_submit(CUstream h, bool wait, bool wide, CUdeviceptr at, uint64_t value, unsigned flags)
{
    sd_stream *s;
    sd_work *w;
    sd_lock();
    CUresult r = cji_sd_stream_for_work(h, &s);
    if (!r) r = sd_value_work(s->ctx, wait, wide, at, value, flags, &w);
    if (!r) r = cji_sd_submit(s, w);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuStreamWaitValue32(CUstream h, CUdeviceptr at, cuuint32_t v, unsigned flags) { return sd_value_submit(h, true, false, at, v, flags); }
CUresult cji_sd_cuStreamWaitValue64(CUstream h, CUdeviceptr at, cuuint64_t v, unsigned flags) { return sd_value_submit(h, true, true, at, v, flags); }
CUresult cji_sd_cuStreamWriteValue32(CUstream h, CUdeviceptr at, cuuint32_t v, unsigned flags) { return sd_value_submit(h, false, false, at, v, flags); }
CUresult cji_sd_cuStreamWriteValue64(CUstream h, CUdeviceptr at, cuuint64_t v, unsigned flags) { return sd_value_submit(h, false, true, at, v, flags); }

static CUresult sd_batch_one(sd_ctx *c, const CUstreamBatchMemOpParams *p, sd_work **out)
{
    *out = NULL;
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32: return sd_value_work(c, true, false, p->waitValue.address, p->waitValue.value, p->waitValue.flags, out);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: return sd_value_work(c, true, true, p->waitValue.address, p->waitValue.value64, p->waitValue.flags, out);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: return sd_value_work(c, false, false, p->writeValue.address, p->writeValue.value, p->writeValue.flags, out);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return sd_value_work(c, false, true, p->writeValue.address, p->writeValue.value64, p->writeValue.flags, out);
    case CU_STREAM_MEM_OP_BARRIER: return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

enum { SD_BATCH_MOST = 255 };

/* One work for all of them, done in their order; there may be none. */
static CUresult sd_batch_work(sd_ctx *c, const CUstreamBatchMemOpParams *params, unsigned count, unsigned flags, sd_work **out)
{
    if ((count && !params) || count > SD_BATCH_MOST || flags) return CUDA_ERROR_INVALID_VALUE;
    sd_work *w = cji_sd_work_new(SD_BATCH, c, 0);
    if (w && count) {
        w->batch.n = count;
        w->batch.raw = cji_zalloc(count * sizeof *w->batch.raw);
        w->batch.item = cji_zalloc(count * sizeof *w->batch.item);
    }
    CUresult r = w && (!count || (w->batch.raw && w->batch.item)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r && count) memcpy(w->batch.raw, params, count * sizeof *params);
    for (unsigned i = 0; !r && i < count; i++) r = sd_batch_one(c, &params[i], &w->batch.item[i]);
    if (r) cji_sd_work_drop(w);
    else *out = w;
    return r;
}

CUresult cji_sd_cuStreamBatchMemOp(CUstream h, unsigned count, CUstreamBatchMemOpParams *params, unsigned flags)
{
    sd_stream *s;
    sd_work *w;
    sd_lock();
    CUresult r = cji_sd_stream_for_work(h, &s);
    if (!r) r = sd_batch_work(s->ctx, params, count, flags, &w);
    if (!r) r = cji_sd_submit(s, w);
    sd_unlock();
    return r;
}

CUresult cji_sd_batch_params(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, sd_work **out)
{
    sd_ctx *c;
    CUresult r = cji_sd_ctx_for(p->ctx, &c);
    return r ? r : sd_batch_work(c, p->paramArray, p->count, p->flags, out);
}

CUresult cji_sd_cuGraphAddBatchMemOpNode(CUgraphNode *out, CUgraph h, const CUgraphNode *dep, size_t n, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };
    all.memOp = *p;
    return cji_sd_cuGraphAddNode(out, h, dep, n, &all);
}

/* ---- Their parameters -------------------------------------------------------------------------------------------- */

/* A captured wait or write is a batch of one. */
static const CUstreamBatchMemOpParams *sd_batch_raw(const sd_work *w, unsigned *count)
{
    *count = w->verb == SD_BATCH ? (unsigned)w->batch.n : 1;
    return w->verb == SD_BATCH ? w->batch.raw : &w->value.raw;
}

bool cji_sd_values_alike(const sd_work *v, const sd_work *w)
{
    unsigned n, m;
    const CUstreamBatchMemOpParams *a = sd_batch_raw(v, &n), *b = sd_batch_raw(w, &m);
    bool alike = n == m;
    for (unsigned i = 0; alike && i < n; i++) alike = a[i].operation == b[i].operation;
    return alike;
}

/* paramArray points at what belongs to the node, until it is changed or destroyed. */
CUresult cji_sd_cuGraphBatchMemOpNodeGetParams(CUgraphNode h, CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    sd_node *n;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_node_get(h, &n);
    if (!r && n->type != CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        *p = (CUDA_BATCH_MEM_OP_NODE_PARAMS){ .ctx = (CUcontext)n->work->ctx };
        p->paramArray = (CUstreamBatchMemOpParams *)(uintptr_t)sd_batch_raw(n->work, &p->count);
    }
    sd_unlock();
    return r;
}

CUresult cji_sd_cuGraphBatchMemOpNodeSetParams(CUgraphNode h, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };
    all.memOp = *p;
    return cji_sd_cuGraphNodeSetParams(h, &all);
}

CUresult cji_sd_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec h, CUgraphNode hn, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };
    all.memOp = *p;
    return cji_sd_cuGraphExecNodeSetParams(h, hn, &all);
}

/* ---- Doing it ---------------------------------------------------------------------------------------------------- */

bool cji_sd_value_fits(const sd_work *w, uint64_t now)
{
    uint64_t mask = w->value.wide ? UINT64_MAX : UINT32_MAX;
    switch (w->value.flags & CU_STREAM_WAIT_VALUE_NOR) {
    case CU_STREAM_WAIT_VALUE_GEQ: return w->value.wide ? (int64_t)(now - w->value.value) >= 0 : (int32_t)(uint32_t)(now - w->value.value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return now == w->value.value;
    case CU_STREAM_WAIT_VALUE_AND: return (now & w->value.value) != 0;
    default: return (~(now | w->value.value) & mask) != 0;
    }
}

static bool sd_value_holds(const sd_work *w, const unsigned char *p)
{
    uint64_t now = w->value.wide ? __atomic_load_n((const uint64_t *)(const void *)p, __ATOMIC_ACQUIRE) : __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_ACQUIRE);
    return cji_sd_value_fits(w, now);
}

bool cji_sd_value_holds(const sd_ctx *c, const sd_work *w)
{
    const unsigned char *p = cji_sd_space_at(c, w->value.at, w->value.wide ? 8 : 4);
    return !p || sd_value_holds(w, p);
}

/* The word changes without telling us: by another kernel, or by the host.  What takes long is given to the watcher. */
static void sd_value_await(sd_op *op, const sd_work *w, const unsigned char *p)
{
    uint64_t begun = cji_sd_now();
    bool watched = false;
    for (unsigned n = 0; !sd_value_holds(w, p) && !__atomic_load_n(&op->ctx->cancel, __ATOMIC_RELAXED); n++) {
        nanosleep(&(struct timespec){ .tv_nsec = n < 20 ? 2000 : 100000 }, NULL);
        if (watched || cji_sd_now() - begun < SD_LOOK) continue;
        watched = true;
        sd_lock();
        op->when = begun;
        op->told_long = false;
        cji_sd_watch(op);
        sd_unlock();
    }
    if (!watched) return;
    sd_lock();
    cji_sd_unwatch(op);
    sd_unlock();
}

static void sd_run_one(sd_op *op, const sd_work *w)
{
    unsigned char *p = cji_sd_space_at(op->ctx, w->value.at, w->value.wide ? 8 : 4);
    if (!p) {
        char why[160], sentence[260];
        cji_sd_space_why(w->value.at, why, sizeof why);
        snprintf(sentence, sizeof sentence, "a %s of a value at 0x%llx, which %s", w->verb == SD_WAIT_VALUE ? "wait" : "write", (unsigned long long)w->value.at, why);
        sd_lock();
        cji_sd_ctx_poison(op->ctx, CUDA_ERROR_ILLEGAL_ADDRESS, sentence);
        sd_unlock();
    } else if (w->verb == SD_WRITE_VALUE) {
        if (w->value.wide) __atomic_store_n((uint64_t *)(void *)p, w->value.value, __ATOMIC_RELEASE);
        else __atomic_store_n((uint32_t *)(void *)p, (uint32_t)w->value.value, __ATOMIC_RELEASE);
    } else {
        sd_value_await(op, w, p);
    }
}

void cji_sd_run_value(sd_op *op, const sd_work *w)
{
    if (w->verb != SD_BATCH) {
        sd_run_one(op, w);
        return;
    }
    for (size_t i = 0; i < w->batch.n && !__atomic_load_n(&op->ctx->fault, __ATOMIC_RELAXED); i++) {
        __atomic_store_n(&op->item, (unsigned)i, __ATOMIC_RELEASE);
        if (w->batch.item[i]) sd_run_one(op, w->batch.item[i]);
    }
}
