/* See pipeline_parts.h. */
#include "tests/stream/pipeline_parts.h"

#include <string.h>

#include "tests/tap.h"

cj_kernel *pipe_kernel(cj_device *dev)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "flip");
    cj_val x = cj_param_ptr(f, "x", CJ_U8), y = cj_param_ptr(f, "y", CJ_U8), n = cj_param(f, "n", CJ_U32),
           i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_set(f, y, i, cj_xor(f, cj_cvt(f, CJ_U16, cj_get(f, x, i)), JOB_XOR));
    cj_end(f);
    cj_kernel *k = cj_kernel_load(dev, m, "flip", NULL);
    if (cj_error_of(k)->status) tap_bail("%s", cj_error_of(k)->message);
    cj_ptx_free(m);
    return k;
}

void pipe_job_reset(pipe_job *job, uint64_t bytes)
{
    cj_kernel *k = job->k, *k2 = job->k2;
    memset(job, 0, sizeof *job);
    job->k = k, job->k2 = k2;
    job->bytes = bytes;
    job->cancel_behind = -1;
    for (uint32_t i = 0; i < bytes; i++) job->in[i] = (uint8_t)(i * 7 + i / 256 + 3);
}

/* What the job wants to happen to that chunk in that stage. */
static cj_status job_status(pipe_job *job, cj_pipeline_stage stage, const cj_chunk *chunk)
{
    if (job->fail_stage != stage || job->fail_chunk != chunk->index) return CJ_OK;
    if (job->fail_with == CJ_OK) cj_pipeline_cancel(job->p);
    return job->fail_with;
}

cj_status pipe_fill(void *user, cj_chunk *chunk)
{
    pipe_job *job = user;
    if (chunk->index != job->fills++) tap_fail("fill: chunk %d comes in its turn", (int)chunk->index);
    memcpy(chunk->in_host, job->in + chunk->offset, chunk->in_bytes);
    return job_status(job, CJ_PIPELINE_FILL, chunk);
}

cj_status pipe_launch(void *user, cj_chunk *chunk)
{
    pipe_job *job = user;
    const uint32_t n = (uint32_t)chunk->in_bytes;
    if (chunk->index != job->launches++) tap_fail("launch: chunk %d comes in its turn", (int)chunk->index);
    job->device[chunk->device % 2]++;
    cj_launch(chunk->stream, chunk->device && job->k2 ? job->k2 : job->k, cj_threads(n, 64), chunk->in, chunk->out, n);
    return job_status(job, CJ_PIPELINE_LAUNCH, chunk);
}

cj_status pipe_drain(void *user, cj_chunk *chunk)
{
    pipe_job *job = user;
    memcpy(job->out + chunk->offset, chunk->out_host, chunk->out_bytes);
    memset(chunk->out_host, 0xee, chunk->out_bytes);
    job->drained[job->drains++] = chunk->index;
    return job_status(job, CJ_PIPELINE_DRAIN, chunk);
}

int pipe_progress(void *user, uint64_t done, uint64_t all)
{
    pipe_job *job = user;
    if (done != ++job->calls || done > all) tap_fail("progress: %d of %d", (int)done, (int)all);
    return (int)done == job->cancel_behind;
}

uint64_t pipe_right(const pipe_job *job)
{
    uint64_t i = 0;
    while (i < job->bytes && job->out[i] == (job->in[i] ^ JOB_XOR)) i++;
    return i;
}

cj_status pipe_pull(cj_pipeline *p, pipe_job *job)
{
    cj_chunk c;
    cj_chunk_defaults(&c);
    for (;;) {
        cj_status st = cj_pipeline_next(p, &c, 60000);
        if (st != CJ_OK || c.stage == CJ_PIPELINE_END) return st;
        st = c.stage == CJ_PIPELINE_FILL ? pipe_fill(job, &c)
             : c.stage == CJ_PIPELINE_LAUNCH ? pipe_launch(job, &c)
                                             : pipe_drain(job, &c);
        if (cj_pipeline_done(p, &c, st) != CJ_OK) return cj_error_last()->status;
    }
}
