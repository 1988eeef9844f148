/* What a chunk of a pipeline costs: the driver calls for it, counted, and where the host waits.  A chunk that overlaps
 * has two copies, and between the copies of a stream one event without a time; the host waits for nothing but the end
 * of a chunk, and enqueues all chunks that have buffers before that. */
#include <string.h>

#include "tests/stream/pipeline_parts.h"
#include "tests/stream/watched.h"
#include "tests/tap.h"

enum { CHUNKS = 16, CHUNK = 16, BYTES = CHUNKS * CHUNK, DEPTH = 4, TIMED = CHUNKS / 8 };

static pipe_job job;
static watch_bench b;

static const struct { const char *name; int id; int overlapped, alone; } calls[] = {
    { "cuMemcpyHtoDAsync", CJI_CU_ID_cuMemcpyHtoDAsync, CHUNKS, CHUNKS },
    { "cuMemcpyDtoHAsync", CJI_CU_ID_cuMemcpyDtoHAsync, CHUNKS, CHUNKS },
    { "cuLaunchKernel", CJI_CU_ID_cuLaunchKernel, CHUNKS, CHUNKS },
    { "cuStreamWriteValue32", CJI_CU_ID_cuStreamWriteValue32, CHUNKS, CHUNKS },
    { "cuEventRecord", CJI_CU_ID_cuEventRecord, 3 * CHUNKS + 3 * TIMED, 6 * CHUNKS },
    { "cuStreamWaitEvent", CJI_CU_ID_cuStreamWaitEvent, 2 * CHUNKS, 0 },
    { "cuEventElapsedTime", CJI_CU_ID_cuEventElapsedTime, 3 * TIMED, 3 * CHUNKS },
    { "cuStreamSynchronize", CJI_CU_ID_cuStreamSynchronize, 0, 0 },
    { "cuEventSynchronize", CJI_CU_ID_cuEventSynchronize, 0, 0 },
    { "cuCtxSynchronize", CJI_CU_ID_cuCtxSynchronize, 0, 0 },
    { "cuLaunchHostFunc", CJI_CU_ID_cuLaunchHostFunc, 0, 0 },
    { "cuPointerGetAttributes", CJI_CU_ID_cuPointerGetAttributes, 4 * CHUNKS, 4 * CHUNKS },
    { "cuEventCreate", CJI_CU_ID_cuEventCreate, 0, 0 },
    { "cuMemHostAlloc", CJI_CU_ID_cuMemHostAlloc, 0, 0 },
};

static bool counted(int id)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].id == id) return true;
    return false;
}

static void calls_of_chunks(bool overlap, bool in_place)
{
    const char *form = overlap ? "overlapped" : "alone";
    cj_pipeline *p = cj_pipeline_create(
        b.dev, CJ_PIPELINE(.bytes = BYTES, .chunk = CHUNK, .fill = pipe_fill, .launch = pipe_launch,
                           .drain = pipe_drain, .user = &job, .depth = overlap ? DEPTH : 1, .in_place = in_place,
                           .overlap = overlap ? CJ_OVERLAP_ALWAYS : CJ_OVERLAP_NEVER));
    pipe_job_reset(&job, BYTES);
    watch_forget();
    tap_is_int(cj_pipeline_work(p), CJ_OK, "%d chunks pass, %s", CHUNKS, form);
    tap_is_uint(pipe_right(&job), BYTES, "... whole");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        tap_is_int(watch_calls(calls[i].id), overlap ? calls[i].overlapped : calls[i].alone, "... with their %s",
                   calls[i].name);
    for (size_t i = 0; i < watch.count; i++) {
        const char *name = cji_cu_rows[watch.log[i].id].name;
        if (counted(watch.log[i].id) || !strcmp(name, "cuEventQuery") || !strcmp(name, "cuStreamQuery") ||
            !strncmp(name, "cuCtx", 5) || !strcmp(name, "cuThreadExchangeStreamCaptureMode"))
            continue;
        tap_fail("%s is called too", name);
    }
    tap_ok(watch.count < sizeof watch.log / sizeof *watch.log, "the log has all calls");
    cj_pipeline_free(p);
}

/* The first chunk's kernels are held: all buffers are in use, and all their work is enqueued. */
static void enqueued_ahead(void)
{
    cj_pipeline *p = cj_pipeline_create(b.dev, CJ_PIPELINE(.bytes = BYTES, .chunk = CHUNK, .depth = DEPTH,
                                                           .overlap = CJ_OVERLAP_ALWAYS));
    cj_chunk c;
    cj_chunk_defaults(&c);
    pipe_job_reset(&job, BYTES);
    watch_forget();
    void *held = NULL;
    while (cj_pipeline_next(p, &c, 0) == CJ_OK) {
        const bool fill = c.stage == CJ_PIPELINE_FILL;
        if (!fill && !held) watch_hold(held = cj_stream_raw(c.stream));
        cj_pipeline_done(p, &c, fill ? pipe_fill(&job, &c) : pipe_launch(&job, &c));
    }
    tap_is_int(cj_error_last()->status, CJ_ETIMEOUT, "there is nothing to do");
    tap_is_uint(job.fills, DEPTH, "while all buffers are filled");
    tap_is_uint(job.launches, DEPTH, "... their kernels are launched");
    tap_is_int(watch_calls(CJI_CU_ID_cuMemcpyHtoDAsync), DEPTH, "... their uploads are enqueued");
    tap_is_int(watch_calls(CJI_CU_ID_cuMemcpyDtoHAsync), DEPTH, "... and their downloads");
    watch_release(held);
    tap_is_int(pipe_pull(p, &job), CJ_OK, "and they pass");
    tap_is_uint(pipe_right(&job), BYTES, "... whole");
    cj_pipeline_free(p);
}

int main(void)
{
    tap_plan(0);
    watch_setup(&b);
    job.k = pipe_kernel(b.dev);
    calls_of_chunks(true, false);
    calls_of_chunks(true, true);
    calls_of_chunks(false, false);
    enqueued_ahead();
    cj_kernel_free(job.k);
    watch_teardown(&b);
    return tap_done();
}
