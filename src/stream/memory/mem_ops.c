/* Stream memory operations: 32-bit and 64-bit locations that streams and graphs wait for and write. */
#include <stdio.h>

#include "stream/core/work_hooks.h"
#include "stream/memory/stream_memory.h"

/* -- Checking ------------------------------------------------------------------------------------------------------ */

/* Everything but the memory; failures are recorded in `into`. */
static cj_status mem_op_check(void *into, const cji_mem_op_job *j, const char *call)
{
    const unsigned bytes = j->wide ? 8 : 4;
    if (j->wait && (j->how < CJ_COMPARE_GE || j->how > CJ_COMPARE_NOR))
        return cji_fail(into, CJ_EINVAL, call, "%scomparison %d is none of CJ_COMPARE_GE, _EQ, _AND, _NOR", j->which,
                        j->how);
    if (!j->wide && j->value > UINT32_MAX)
        return cji_fail(into, CJ_EINVAL, call, "%sthe value 0x%llx does not fit into 32 bits", j->which,
                        (unsigned long long)j->value);
    if (j->at % bytes)
        return cji_fail(into, CJ_EINVAL, call, "%s0x%llx is not aligned to %u bytes", j->which,
                        (unsigned long long)j->at, bytes);
    return CJ_OK;
}

/* Op `i`; its kind and the rest of it are checked. */
cj_status cji_mem_op_take(void *into, const cj_mem_op *ops, size_t i, cji_mem_op_job *j, const char *call)
{
    const cj_mem_op *o = &ops[i];
    *j = (cji_mem_op_job){ .at = o->d.addr,
                           .value = o->value,
                           .how = o->how,
                           .wait = o->kind == CJ_MEM_OP_WAIT32 || o->kind == CJ_MEM_OP_WAIT64,
                           .wide = o->kind == CJ_MEM_OP_WAIT64 || o->kind == CJ_MEM_OP_WRITE64 };
    snprintf(j->which, sizeof j->which, "op %zu: ", i);
    snprintf(j->what, sizeof j->what, "op %zu: the location", i);
    if (o->kind < CJ_MEM_OP_WAIT32 || o->kind > CJ_MEM_OP_WRITE64)
        return cji_fail(into, CJ_EINVAL, call, "%skind %d is none of CJ_MEM_OP_WAIT32, _WAIT64, _WRITE32, _WRITE64",
                        j->which, (int)o->kind);
    return mem_op_check(into, j, call);
}

cj_status cji_mem_ops_count(void *into, const cj_mem_op *ops, size_t count, const char *call)
{
    if (count && !ops) return cji_fail(into, CJ_EINVAL, call, "%zu ops at NULL", count);
    if (count <= CJ_MEM_OPS_MAX) return CJ_OK;
    return cji_fail(into, CJ_EINVAL, call, "%zu ops, the driver takes %d at once; enqueue them in several calls", count,
                    (int)CJ_MEM_OPS_MAX);
}

/* ORDER cj_compare: the driver's own numbers */
static unsigned mem_op_flags(const cji_mem_op_job *j)
{
    return j->wait ? (unsigned)j->how : CU_STREAM_WRITE_VALUE_DEFAULT;
}

void cji_mem_op_params(const cji_mem_op_job *j, CUstreamBatchMemOpParams *p)
{
    struct CUstreamMemOpValueParams *v = j->wait ? &p->waitValue : &p->writeValue;
    if (j->wait) p->operation = j->wide ? CU_STREAM_MEM_OP_WAIT_VALUE_64 : CU_STREAM_MEM_OP_WAIT_VALUE_32;
    else p->operation = j->wide ? CU_STREAM_MEM_OP_WRITE_VALUE_64 : CU_STREAM_MEM_OP_WRITE_VALUE_32;
    v->address = j->at;
    if (j->wide) v->value64 = j->value;
    else v->value = (uint32_t)j->value;
    v->flags = mem_op_flags(j);
}

/* -- One in a stream ----------------------------------------------------------------------------------------------- */

static CUresult mem_op_enqueue(cj_stream *s, const cji_mem_op_job *j, const char **cu_call)
{
    const unsigned flags = mem_op_flags(j);
    *cu_call = j->wait   ? j->wide ? "cuStreamWaitValue64" : "cuStreamWaitValue32"
               : j->wide ? "cuStreamWriteValue64"
                         : "cuStreamWriteValue32";
    if (j->wait)
        return j->wide ? s->cu->cuStreamWaitValue64(s->raw, j->at, j->value, flags)
                       : s->cu->cuStreamWaitValue32(s->raw, j->at, (uint32_t)j->value, flags);
    return j->wide ? s->cu->cuStreamWriteValue64(s->raw, j->at, j->value, flags)
                   : s->cu->cuStreamWriteValue32(s->raw, j->at, (uint32_t)j->value, flags);
}

static cj_status mem_op_run(cj_stream *s, const cji_mem_op_job *j, const char *call);

static CJI_COLD cj_status mem_op_measured(cj_stream *s, const cji_mem_op_job *j, const char *call)
{
    cji_work w;
    cji_work_begin(&w, s);
    cj_status st = mem_op_run(s, j, call);
    cji_work_end(&w, s, st == CJ_OK,
                 &(cji_work_info){ .kind = j->wait ? CJ_PROFILE_WAIT : CJ_PROFILE_WRITE,
                                   .name = j->wait ? "wait for memory" : "" });
    return st;
}

static cj_status mem_op_run(cj_stream *s, const cji_mem_op_job *j, const char *call)
{
    cji_scope scope;
    const char *cu_call;
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (cji_work_measured()) return mem_op_measured(s, j, call);
    st = mem_op_check(s, j, call);
    if (st == CJ_OK) st = cji_mem_use(s, s->dev, &(cji_range){ j->at, j->wide ? 8 : 4, "the location" }, call);
    if (st == CJ_OK) st = cji_scope_begin(s, s->dev, &scope, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    CUresult r = mem_op_enqueue(s, j, &cu_call);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS) return cji_stream_rejected(s, r, call, cu_call);
    cji_count(s, &s->counts.waits, j->wait);
    cji_count_one(s);
    return CJ_OK;
}

cj_status cj_stream_wait_value32(cj_stream *s, cj_dptr d, uint32_t value, cj_compare how)
{
    return mem_op_run(s, &(cji_mem_op_job){ .at = d.addr, .value = value, .how = (int)how, .wait = true },
                      "cj_stream_wait_value32");
}

cj_status cj_stream_wait_value64(cj_stream *s, cj_dptr d, uint64_t value, cj_compare how)
{
    return mem_op_run(s, &(cji_mem_op_job){ .at = d.addr, .value = value, .how = (int)how, .wait = true, .wide = true },
                      "cj_stream_wait_value64");
}

cj_status cj_stream_write_value32(cj_stream *s, cj_dptr d, uint32_t value)
{
    return mem_op_run(s, &(cji_mem_op_job){ .at = d.addr, .value = value }, "cj_stream_write_value32");
}

cj_status cj_stream_write_value64(cj_stream *s, cj_dptr d, uint64_t value)
{
    return mem_op_run(s, &(cji_mem_op_job){ .at = d.addr, .value = value, .wide = true }, "cj_stream_write_value64");
}

/* -- Many in a stream ---------------------------------------------------------------------------------------------- */

static cj_status mem_ops_enqueue(cj_stream *s, CUstreamBatchMemOpParams *p, size_t count, const char *call)
{
    cji_scope scope;
    cj_status st = cji_scope_begin(s, s->dev, &scope, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    CUresult r = s->cu->cuStreamBatchMemOp(s->raw, (unsigned)count, p, 0);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS) return cji_stream_rejected(s, r, call, "cuStreamBatchMemOp");
    for (size_t i = 0; i < count; i++)
        cji_count(s, &s->counts.waits,
                  p[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || p[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_64);
    cji_count(s, &s->counts.others, count - 1);
    cji_count_one(s);
    return CJ_OK;
}

static CJI_COLD cj_status mem_ops_measured(cj_stream *s, const cj_mem_op *ops, size_t count)
{
    bool waits = false;
    cji_work w;
    for (size_t i = 0; i < count && !waits; i++)
        waits = ops[i].kind == CJ_MEM_OP_WAIT32 || ops[i].kind == CJ_MEM_OP_WAIT64;
    cji_work_begin(&w, s);
    cj_status st = cj_stream_mem_ops(s, ops, count);
    cji_work_end(&w, s, st == CJ_OK,
                 &(cji_work_info){ .kind = waits ? CJ_PROFILE_WAIT : CJ_PROFILE_WRITE,
                                   .name = waits ? "wait for memory" : "" });
    return st;
}

cj_status cj_stream_mem_ops(cj_stream *s, const cj_mem_op *ops, size_t count)
{
    static const char call[] = "cj_stream_mem_ops";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = cji_mem_ops_count(s, ops, count, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    if (!count) return CJ_OK;
    if (cji_work_measured()) return mem_ops_measured(s, ops, count);
    CUstreamBatchMemOpParams *p = cji_zalloc(count * sizeof *p);
    if (!p) return cji_stream_failed(s, cji_fail(s, CJ_ENOMEM, call, "no memory for %zu ops", count));
    for (size_t i = 0; i < count && st == CJ_OK; i++) {
        cji_mem_op_job j;
        st = cji_mem_op_take(s, ops, i, &j, call);
        if (st == CJ_OK) st = cji_mem_use(s, s->dev, &(cji_range){ j.at, j.wide ? 8 : 4, j.what }, call);
        if (st == CJ_OK) cji_mem_op_params(&j, &p[i]);
    }
    st = st == CJ_OK ? mem_ops_enqueue(s, p, count, call) : cji_stream_failed(s, st);
    cji_free(p, count * sizeof *p);
    return st;
}
