/* What the tests of pipelines share: a job whose bytes pass a device chunk by chunk, with a log, failures on request
 * and a comparison at the end. */
#ifndef CUJIT_TESTS_PIPELINE_PARTS_H
#define CUJIT_TESTS_PIPELINE_PARTS_H

#include <cujit/cujit.h>

enum { JOB_BYTES = 5000, JOB_CHUNKS = 600, JOB_XOR = 0x5a };

typedef struct pipe_job {
    cj_kernel *k;               /* flip(x, y, n): y[i] = x[i] ^ JOB_XOR */
    cj_kernel *k2;              /* the same on the second device; NULL: there is none */
    cj_pipeline *p;             /* for cancels */
    uint64_t bytes;
    uint8_t in[JOB_BYTES], out[JOB_BYTES];
    uint64_t drained[JOB_CHUNKS];
    unsigned fills, launches, drains, calls; /* calls: of progress */
    unsigned device[2];         /* chunks of each */
    cj_pipeline_stage fail_stage; /* CJ_PIPELINE_END: none */
    uint64_t fail_chunk;
    cj_status fail_with;        /* CJ_OK: cancels there instead */
    int cancel_behind;          /* progress cancels behind so many chunks; -1: never */
} pipe_job;

cj_kernel *pipe_kernel(cj_device *dev);
/* Empty, for so many bytes. */
void pipe_job_reset(pipe_job *job, uint64_t bytes);
cj_status pipe_fill(void *user, cj_chunk *chunk);
cj_status pipe_launch(void *user, cj_chunk *chunk);
cj_status pipe_drain(void *user, cj_chunk *chunk);
int pipe_progress(void *user, uint64_t done, uint64_t all);
/* The number of bytes of the output that are right, from the first one. */
uint64_t pipe_right(const pipe_job *job);
/* Does what cj_pipeline_next says until the end, and returns its status. */
cj_status pipe_pull(cj_pipeline *p, pipe_job *job);

#endif
