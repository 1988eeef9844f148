/* Words of memory that streams wait for and write. */
#include "stream/streams.h"

typedef struct value_job { uint64_t at, value; int how; bool wait, wide; } value_job; /* how: a cj_compare, of a wait */

static CUresult value_give(cj_stream *s, const value_job *j, const char **doing)
{
    const unsigned flags = j->wait ? (unsigned)j->how : CU_STREAM_WRITE_VALUE_DEFAULT; /* ORDER cj_compare: the driver's own numbers */
    *doing = j->wait ? j->wide ? "cuStreamWaitValue64" : "cuStreamWaitValue32" : j->wide ? "cuStreamWriteValue64" : "cuStreamWriteValue32";
    if (j->wait)
        return j->wide ? s->cu->cuStreamWaitValue64(s->raw, j->at, j->value, flags) : s->cu->cuStreamWaitValue32(s->raw, j->at, (uint32_t)j->value, flags);
    return j->wide ? s->cu->cuStreamWriteValue64(s->raw, j->at, j->value, flags) : s->cu->cuStreamWriteValue32(s->raw, j->at, (uint32_t)j->value, flags);
}

static cj_status value_check(cj_stream *s, const value_job *j, const char *call)
{
    const unsigned bytes = j->wide ? 8 : 4;
    if (j->wait && (j->how < CJ_COMPARE_GE || j->how > CJ_COMPARE_NOR))
        return cji_fail(s, CJ_EINVAL, call, "%s: comparison %d is none of CJ_COMPARE_GE, _EQ, _AND, _NOR", call, j->how);
    if (j->at % bytes) return cji_fail(s, CJ_EINVAL, call, "%s: 0x%llx is not aligned to %u bytes", call, (unsigned long long)j->at, bytes);
    return cji_mem_use(s, j->at, bytes, call, "the word");
}

static cj_status value_run(cj_stream *s, const value_job *j, const char *call)
{
    cji_ctx ctx;
    const char *doing;
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = value_check(s, j, call);
    if (st == CJ_OK) st = cji_ctx_begin(s, s->dev, &ctx, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    CUresult r = value_give(s, j, &doing);
    cji_ctx_leave(s->dev, &ctx);
    if (r == CUDA_SUCCESS) cji_count_one(s);
    return r == CUDA_SUCCESS ? CJ_OK : cji_stream_refused(s, r, call, doing);
}

cj_status cj_stream_wait_value32(cj_stream *s, cj_dptr d, uint32_t value, cj_compare how)
{
    return value_run(s, &(value_job){ .at = d.addr, .value = value, .how = (int)how, .wait = true }, "cj_stream_wait_value32");
}

cj_status cj_stream_wait_value64(cj_stream *s, cj_dptr d, uint64_t value, cj_compare how)
{
    return value_run(s, &(value_job){ .at = d.addr, .value = value, .how = (int)how, .wait = true, .wide = true }, "cj_stream_wait_value64");
}

cj_status cj_stream_write_value32(cj_stream *s, cj_dptr d, uint32_t value)
{
    return value_run(s, &(value_job){ .at = d.addr, .value = value }, "cj_stream_write_value32");
}

cj_status cj_stream_write_value64(cj_stream *s, cj_dptr d, uint64_t value)
{
    return value_run(s, &(value_job){ .at = d.addr, .value = value, .wide = true }, "cj_stream_write_value64");
}
