/* Memory operations in streams: wait until 4 or 8 bytes have a value, write one. A work has a list of them, done in
 * order. */
#include "sim/kinds/sim_kinds.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SIM_WATCH_AFTER = 20000000 /* ns: a wait that takes longer is watched */, SIM_MEM_OPS_MAX = 255 };

typedef enum sim_mem_op_does { SIM_MEM_NOTHING, SIM_MEM_WAIT, SIM_MEM_WRITE } sim_mem_op_does;
typedef struct sim_mem_op {
    sim_mem_op_does does;
    sim_mem_wait what;
} sim_mem_op; /* of a write: what.value is written */

typedef struct sim_mem_ops {
    sim_work work;
    CUstreamBatchMemOpParams *raw;  /* as the caller gave them; behind the operations */
    size_t n;
    sim_mem_op op[];
} sim_mem_ops;

static const sim_mem_ops *sim_mem_ops_of(const sim_work *w) { return (const sim_mem_ops *)w; }

/* ---- Making the work --------------------------------------------------------------------------------------------- */

static CUresult sim_mem_op_check(const sim_ctx *c, const sim_mem_op *op)
{
    const sim_mem_wait *w = &op->what;
    bool wait = op->does == SIM_MEM_WAIT;
    unsigned all = wait ? CU_STREAM_WAIT_VALUE_NOR : CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
    if (wait && w->flags & CU_STREAM_WAIT_VALUE_FLUSH) return CUDA_ERROR_NOT_SUPPORTED;
    if (w->flags & ~all || w->at % (w->wide ? 8 : 4)) return CUDA_ERROR_INVALID_VALUE;
    return cji_sim_space_at(c, w->at, w->wide ? 8 : 4) && cji_sim_space_allows(c, w->at, w->wide ? 8 : 4, !wait)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

static CUresult sim_mem_op_read(const sim_ctx *c, const CUstreamBatchMemOpParams *p, sim_mem_op *out)
{
    uint64_t at = p->writeValue.address;   /* waits have these fields at the same place */
    unsigned flags = p->writeValue.flags;
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        *out = (sim_mem_op){ SIM_MEM_WAIT, { at, p->waitValue.value, flags, false } };
        break;
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        *out = (sim_mem_op){ SIM_MEM_WAIT, { at, p->waitValue.value64, flags, true } };
        break;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        *out = (sim_mem_op){ SIM_MEM_WRITE, { at, p->writeValue.value, flags, false } };
        break;
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        *out = (sim_mem_op){ SIM_MEM_WRITE, { at, p->writeValue.value64, flags, true } };
        break;
    case CU_STREAM_MEM_OP_BARRIER: return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return sim_mem_op_check(c, out);
}

/* There may be none. */
static CUresult sim_mem_ops_work(sim_ctx *c, const CUstreamBatchMemOpParams *params, unsigned count, unsigned flags,
                                 sim_work **out)
{
    if ((count && !params) || count > SIM_MEM_OPS_MAX || flags) return CUDA_ERROR_INVALID_VALUE;
    size_t raw = sizeof(sim_mem_ops) + count * sizeof(sim_mem_op);
    sim_mem_ops *w = (sim_mem_ops *)cji_sim_work_new(&cji_sim_kind_mem_ops, c, raw + count * sizeof *params);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = CUDA_SUCCESS;
    w->n = count;
    w->raw = (CUstreamBatchMemOpParams *)(void *)((char *)w + raw);
    if (count) memcpy(w->raw, params, count * sizeof *params);
    for (unsigned i = 0; !r && i < count; i++) r = sim_mem_op_read(c, &params[i], &w->op[i]);
    if (r) cji_sim_work_drop(&w->work);
    else *out = &w->work;
    return r;
}

/* ---- Submitting -------------------------------------------------------------------------------------------------- */

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

/* A single one is a list of one. */
static CUresult sim_mem_op_submit(CUstream h, CUstreamBatchMemOpType operation, CUdeviceptr at, uint64_t value,
                                  unsigned flags)
{
    bool wide = operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 || operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    CUstreamBatchMemOpParams p;
    memset(&p, 0, sizeof p);
    p.operation = operation;
    p.writeValue.address = at;   /* waits have these fields at the same place */
    p.writeValue.flags = flags;
    if (wide) p.writeValue.value64 = value;
    else p.writeValue.value = (uint32_t)value;
    return cji_sim_cuStreamBatchMemOp(h, 1, &p, 0);
}

CUresult cji_sim_cuStreamWaitValue32(CUstream h, CUdeviceptr at, cuuint32_t v, unsigned flags)
{
    return sim_mem_op_submit(h, CU_STREAM_MEM_OP_WAIT_VALUE_32, at, v, flags);
}

CUresult cji_sim_cuStreamWaitValue64(CUstream h, CUdeviceptr at, cuuint64_t v, unsigned flags)
{
    return sim_mem_op_submit(h, CU_STREAM_MEM_OP_WAIT_VALUE_64, at, v, flags);
}

CUresult cji_sim_cuStreamWriteValue32(CUstream h, CUdeviceptr at, cuuint32_t v, unsigned flags)
{
    return sim_mem_op_submit(h, CU_STREAM_MEM_OP_WRITE_VALUE_32, at, v, flags);
}

CUresult cji_sim_cuStreamWriteValue64(CUstream h, CUdeviceptr at, cuuint64_t v, unsigned flags)
{
    return sim_mem_op_submit(h, CU_STREAM_MEM_OP_WRITE_VALUE_64, at, v, flags);
}

/* ---- Doing it ---------------------------------------------------------------------------------------------------- */

bool cji_sim_mem_op_fits(const sim_mem_wait *w, uint64_t now)
{
    uint64_t mask = w->wide ? UINT64_MAX : UINT32_MAX;
    switch (w->flags & CU_STREAM_WAIT_VALUE_NOR) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return w->wide ? (int64_t)(now - w->value) >= 0 : (int32_t)(uint32_t)(now - w->value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return now == w->value;
    case CU_STREAM_WAIT_VALUE_AND: return (now & w->value) != 0;
    default: return (~(now | w->value) & mask) != 0;
    }
}

static bool sim_mem_op_holds_at(const sim_mem_wait *w, const unsigned char *p)
{
    uint64_t now = w->wide ? __atomic_load_n((const uint64_t *)(const void *)p, __ATOMIC_ACQUIRE)
                           : __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_ACQUIRE);
    return cji_sim_mem_op_fits(w, now);
}

bool cji_sim_mem_op_holds(const sim_ctx *c, const sim_mem_wait *w)
{
    const unsigned char *p = cji_sim_space_at(c, w->at, w->wide ? 8 : 4);
    return !p || sim_mem_op_holds_at(w, p);
}

/* Another kernel or the host changes the bytes without notice. What takes long is watched. */
static void sim_mem_op_await(sim_op *op, const sim_mem_wait *w, const unsigned char *p)
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
        cji_sim_rooms_op_watch(op);
        sim_unlock();
    }
    if (!watched) return;
    sim_lock();
    cji_sim_rooms_op_unwatch(op);
    sim_unlock();
}

static void sim_mem_op_run_one(sim_op *op, const sim_mem_op *o)
{
    const sim_mem_wait *w = &o->what;
    bool wait = o->does == SIM_MEM_WAIT;
    unsigned char *p = cji_sim_space_at(op->ctx, w->at, w->wide ? 8 : 4);
    if (p && !cji_sim_space_allows(op->ctx, w->at, w->wide ? 8 : 4, !wait)) p = NULL;
    if (!p) {
        char why[160], sentence[260];
        cji_sim_space_why(w->at, why, sizeof why);
        snprintf(sentence, sizeof sentence, "a %s of a value at 0x%llx, which %s", wait ? "wait" : "write",
                 (unsigned long long)w->at, why);
        sim_lock();
        cji_sim_op_fails(op, CUDA_ERROR_ILLEGAL_ADDRESS, sentence);
        sim_unlock();
    } else if (wait) {
        sim_mem_op_await(op, w, p);
    } else if (w->wide) {
        __atomic_store_n((uint64_t *)(void *)p, w->value, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n((uint32_t *)(void *)p, (uint32_t)w->value, __ATOMIC_RELEASE);
    }
}

static void sim_mem_ops_run(sim_op *op)
{
    const sim_mem_ops *w = sim_mem_ops_of(op->work);
    for (size_t i = 0; i < w->n && !__atomic_load_n(&op->ctx->fault, __ATOMIC_RELAXED); i++) {
        __atomic_store_n(&op->item, (unsigned)i, __ATOMIC_RELEASE);
        if (w->op[i].does) sim_mem_op_run_one(op, &w->op[i]);
    }
}

/* ---- The kind ---------------------------------------------------------------------------------------------------- */

static CUresult sim_mem_ops_read(CUgraphNodeParams *p, sim_graph *g, sim_work **out)
{
    sim_ctx *c;
    (void)g;
    CUresult r = cji_sim_ctx_for(p->memOp.ctx, &c);
    return r ? r : sim_mem_ops_work(c, p->memOp.paramArray, p->memOp.count, p->memOp.flags, out);
}

/* paramArray points at what belongs to the node, until it is changed or destroyed. */
static void sim_mem_ops_write(const sim_work *w, CUgraphNodeParams *p)
{
    p->memOp = (CUDA_BATCH_MEM_OP_NODE_PARAMS){ .ctx = (CUcontext)w->ctx,
                                                .count = (unsigned)sim_mem_ops_of(w)->n,
                                                .paramArray = sim_mem_ops_of(w)->raw };
}

/* As many of the same operations in the same order. */
static bool sim_mem_ops_replaces(const sim_work *old, const sim_work *w)
{
    const sim_mem_ops *a = sim_mem_ops_of(old), *b = sim_mem_ops_of(w);
    bool alike = old->ctx == w->ctx && a->n == b->n;
    for (size_t i = 0; alike && i < a->n; i++) alike = a->raw[i].operation == b->raw[i].operation;
    return alike;
}

static CUgraphExecUpdateResult sim_mem_ops_alike(const sim_work *a, const sim_work *b)
{
    return sim_mem_ops_replaces(a, b) ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

static size_t sim_mem_ops_items(const sim_work *w) { return sim_mem_ops_of(w)->n; }

static bool sim_mem_ops_wait_at(const sim_work *w, size_t i, sim_mem_wait *out)
{
    const sim_mem_op *op = &sim_mem_ops_of(w)->op[i];
    if (op->does == SIM_MEM_WAIT) *out = op->what;
    return op->does == SIM_MEM_WAIT;
}

static bool sim_mem_ops_write_at(const sim_work *w, size_t i, sim_mem_write *out)
{
    const sim_mem_op *op = &sim_mem_ops_of(w)->op[i];
    unsigned bytes = op->what.wide ? 8 : 4;
    if (op->does == SIM_MEM_WRITE) *out = (sim_mem_write){ op->what.at, bytes, bytes, 1, op->what.value, bytes };
    return op->does == SIM_MEM_WRITE;
}

const sim_work_kind cji_sim_kind_mem_ops = { .name = "batch mem op",
                                             .node_type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                                             .run = sim_mem_ops_run,
                                             .read_params = sim_mem_ops_read,
                                             .write_params = sim_mem_ops_write,
                                             .alike = sim_mem_ops_alike,
                                             .replaces = sim_mem_ops_replaces,
                                             .items = sim_mem_ops_items,
                                             .wait_at = sim_mem_ops_wait_at,
                                             .write_at = sim_mem_ops_write_at };
