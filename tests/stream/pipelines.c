/* Input that passes a device in chunks comes out whole, in order, with every size, ring and form. */
#include <string.h>

#include "tests/device_bench.h"
#include "tests/stream/pipeline_parts.h"

static pipe_job job;

#define CALLBACKS .fill = pipe_fill, .launch = pipe_launch, .drain = pipe_drain, .progress = pipe_progress, .user = &job

/* -- Sizes --------------------------------------------------------------------------------------------------------- */

static const struct { const char *name; uint64_t bytes; size_t chunk, element; unsigned chunks; } sizes[] = {
    { "0 bytes", 0, 64, 0, 0 },
    { "1 byte", 1, 64, 0, 1 },
    { "one whole chunk", 64, 64, 0, 1 },
    { "a byte more than a chunk", 65, 64, 0, 2 },
    { "a byte less than two chunks", 127, 64, 0, 2 },
    { "a partial last chunk", 1000, 64, 0, 16 },
    { "whole chunks", 1024, 64, 0, 16 },
    { "chunks that are no multiple of an element", 996, 67, 12, 17 },
    { "chunks of one element", 360, 23, 12, 30 },
    { "chunks of a byte", 41, 1, 0, 41 },
    { "the usual size of a chunk", 5000, 0, 0, 1 },
};

static const struct { const char *name; cj_pipeline_opts o; } rings[] = {
    { "measured", { .overlap = CJ_OVERLAP_MEASURED } },
    { "without overlap", { .overlap = CJ_OVERLAP_NEVER } },
    { "two buffers", { .overlap = CJ_OVERLAP_ALWAYS, .depth = 2 } },
    { "five buffers", { .overlap = CJ_OVERLAP_ALWAYS, .depth = 5 } },
    { "overlap with a measured depth", { .overlap = CJ_OVERLAP_ALWAYS } },
    { "at most three buffers, in place", { .depth = 3, .in_place = 1 } },
    { "in place with four buffers", { .overlap = CJ_OVERLAP_ALWAYS, .depth = 4, .in_place = 1 } },
    { "two threads", { .overlap = CJ_OVERLAP_ALWAYS, .depth = 4, .threads = 2 } },
    { "three threads", { .threads = 3 } },
};

static void all_sizes(void)
{
    for (size_t r = 0; r < sizeof rings / sizeof *rings; r++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            cj_pipeline_stats now = { .size = sizeof now };
            cj_pipeline_opts o = *CJ_PIPELINE(CALLBACKS);
            o.bytes = sizes[i].bytes, o.chunk = sizes[i].chunk, o.element = sizes[i].element;
            o.overlap = rings[r].o.overlap, o.depth = rings[r].o.depth, o.in_place = rings[r].o.in_place;
            o.threads = rings[r].o.threads;
            pipe_job_reset(&job, o.bytes);
            const cj_status st = cj_pipeline_run(dev, &o, &now);
            bool sorted = true;
            for (unsigned k = 0; k < job.drains; k++) sorted = sorted && job.drained[k] == k;
            const bool whole = st == CJ_OK && job.drains == sizes[i].chunks && pipe_right(&job) == o.bytes &&
                               now.chunks == sizes[i].chunks && now.chunks_done == now.chunks &&
                               now.bytes_in == o.bytes && now.bytes_out == o.bytes && job.calls == job.drains;
            tap_ok(whole && sorted, "%s, %s: %d chunks, %d bytes right, %s", rings[r].name, sizes[i].name, job.drains,
                   (int)pipe_right(&job), st ? cj_error_of(dev)->message : "no failure");
            tap_ok(now.overlap == (o.overlap == CJ_OVERLAP_ALWAYS && sizes[i].chunks) ||
                       o.overlap == CJ_OVERLAP_MEASURED,
                   "... and overlap is reported");
        }
}

/* -- Forms --------------------------------------------------------------------------------------------------------- */

static void pulled(void)
{
    cj_pipeline_stats now = { .size = sizeof now };
    for (size_t r = 0; r < sizeof rings / sizeof *rings; r++) {
        cj_pipeline_opts o = rings[r].o;
        o.size = sizeof o;
        o.bytes = 1000, o.chunk = 64;
        cj_pipeline *p = cj_pipeline_create(dev, &o);
        for (int run = 0; run < 3; run++) {
            const uint64_t bytes = run == 1 ? 4999 : 1000;
            if (run) tap_is_int(cj_pipeline_restart(p, bytes), CJ_OK, "it begins again");
            pipe_job_reset(&job, bytes);
            tap_is_int(pipe_pull(p, &job), CJ_OK, "%s, run %d without callbacks: %s", rings[r].name, run,
                       cj_error_of(p)->message);
            tap_is_uint(pipe_right(&job), bytes, "... all is right");
            cj_pipeline_get_stats(p, &now);
            tap_is_uint(now.chunks_done, (bytes + 63) / 64, "... and counted");
        }
        cj_pipeline_free(p);
    }
}

/* The parts that a chunk may lack, and outputs of another size than the inputs. */
static cj_status fill_out(void *user, cj_chunk *chunk)
{
    (void)user;
    return cj_fill8(chunk->stream, chunk->out, (uint8_t)(chunk->index + 1), chunk->out_bytes);
}

static cj_status halves(void *user, cj_chunk *chunk)
{
    (void)user;
    if (chunk->out_bytes != (chunk->in_bytes + 1) / 2) tap_fail("half of chunk %d", (int)chunk->index);
    if (chunk->index == 3) chunk->out_bytes = 1;
    return chunk->out_bytes ? cj_copy(chunk->stream, chunk->out, chunk->in, chunk->out_bytes) : CJ_OK;
}

static unsigned sum;
static cj_status add_up(void *user, cj_chunk *chunk)
{
    (void)user;
    for (size_t i = 0; chunk->out_host && i < chunk->out_bytes; i++) sum += ((uint8_t *)chunk->out_host)[i];
    return CJ_OK;
}

static cj_status count_chunk(void *user, cj_chunk *chunk)
{
    (void)user;
    sum += !chunk->in.addr && !chunk->out.addr && !chunk->in_host && !chunk->out_host;
    return CJ_OK;
}

static cj_status shorter(void *user, cj_chunk *chunk)
{
    const cj_status st = pipe_fill(user, chunk);
    if (chunk->index == 2) chunk->in_bytes = 5;
    return st;
}

static cj_status elsewhere(void *user, cj_chunk *chunk)
{
    chunk->in_host = job.in + chunk->offset; /* pageable memory is copied by staging */
    job.fills++;
    return user == &job ? CJ_OK : CJ_EINVAL;
}

static void parts(void)
{
    cj_pipeline_stats now = { .size = sizeof now };
    sum = 0;
    tap_is_int(cj_pipeline_run(dev, CJ_PIPELINE(.bytes = 100, .chunk = 10, .no_input = 1, .launch = fill_out,
                                                .drain = add_up), &now), CJ_OK, "chunks without input");
    tap_is_uint(sum, 550, "... have output");
    tap_ok(now.bytes_in == 0 && now.bytes_out == 100, "... and no input");
    tap_is_int(cj_pipeline_run(dev, CJ_PIPELINE(.bytes = 95, .chunk = 10, .no_output = 1, .fill = pipe_fill,
                                                .launch = count_chunk, .user = (pipe_job_reset(&job, 95), &job)),
                               &now), CJ_OK, "chunks without output");
    tap_ok(now.bytes_in == 95 && now.bytes_out == 0 && now.chunks_done == 10, "... are counted");
    sum = 0;
    tap_is_int(cj_pipeline_run(dev, CJ_PIPELINE(.bytes = 77, .chunk = 7, .no_input = 1, .no_output = 1, .threads = 2,
                                                .launch = count_chunk), NULL), CJ_OK, "chunks without either");
    tap_is_uint(sum, 11, "... have no buffers");
    pipe_job_reset(&job, 99);
    sum = 0;
    tap_is_int(cj_pipeline_run(dev, CJ_PIPELINE(.bytes = 99, .chunk = 10, .out_chunk = 5, .fill = pipe_fill,
                                                .launch = halves, .drain = add_up, .user = &job), &now), CJ_OK,
               "outputs of half the size: %s", cj_error_of(dev)->message);
    tap_is_uint(now.bytes_out, 46, "... or of the size that launch says");
    pipe_job_reset(&job, 100);
    tap_is_int(cj_pipeline_run(dev, CJ_PIPELINE(.bytes = 100, .chunk = 10, .fill = shorter, .launch = pipe_launch,
                                                .drain = pipe_drain, .user = &job), &now), CJ_OK, "a short fill");
    tap_ok(now.bytes_in == 95 && now.bytes_out == 95 && pipe_right(&job) == 25, "... makes a short chunk");
    pipe_job_reset(&job, 100);
    tap_is_int(cj_pipeline_run(dev, CJ_PIPELINE(.bytes = 100, .chunk = 10, .fill = elsewhere, .launch = pipe_launch,
                                                .drain = pipe_drain, .user = &job, .overlap = CJ_OVERLAP_ALWAYS),
                               &now), CJ_OK, "input at other places");
    tap_is_uint(pipe_right(&job), 100, "... is uploaded from there");
    pipe_job_reset(&job, 100);
    tap_is_int(cj_pipeline_run(dev, CJ_PIPELINE(.bytes = 100, .chunk = 10, .measure_link = 1, .fill = elsewhere,
                                                .launch = pipe_launch, .drain = pipe_drain, .user = &job), &now), CJ_OK,
               "copies are timed");
    tap_ok(now.link > 0 && now.link_efficiency > 0 && now.seconds > 0 && now.efficiency > 0 && now.slowest > 0,
           "... and compared");
}

/* -- Wrong options and wrong uses ---------------------------------------------------------------------------------- */

static void wrong(void)
{
    cj_device *const one[] = { NULL };
    static const struct { const char *name; cj_pipeline_opts o; const char *message; } cases[] = {
        { "no size", { 0 }, "cj_pipeline_defaults" },
        { "bytes and elements", { .size = sizeof(cj_pipeline_opts), .bytes = 10, .element = 4 }, "no multiple of" },
        { "a chunk less than an element", { .size = sizeof(cj_pipeline_opts), .chunk = 3, .element = 4 }, "less than" },
        { "a chunk of 4 GiB", { .size = sizeof(cj_pipeline_opts), .chunk = (size_t)1 << 32 }, "4 GiB" },
        { "an overlap", { .size = sizeof(cj_pipeline_opts), .overlap = 3 }, ".overlap" },
        { "a depth", { .size = sizeof(cj_pipeline_opts), .depth = 65 }, ".depth" },
        { "overlap in one", { .size = sizeof(cj_pipeline_opts), .depth = 1, .overlap = 1 }, "two buffers" },
        { "two for no overlap", { .size = sizeof(cj_pipeline_opts), .depth = 2, .overlap = 2 }, "one buffer" },
        { "threads", { .size = sizeof(cj_pipeline_opts), .threads = 4 }, ".threads" },
        { "no launch", { .size = sizeof(cj_pipeline_opts), .fill = pipe_fill }, "no .launch" },
        { "no fill", { .size = sizeof(cj_pipeline_opts), .launch = pipe_launch }, ".no_input" },
        { "no drain", { .size = sizeof(cj_pipeline_opts), .launch = pipe_launch, .no_input = 1 }, ".no_output" },
        { "devices at NULL", { .size = sizeof(cj_pipeline_opts), .device_count = 1 }, ".devices" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_pipeline *p = cj_pipeline_create(dev, &cases[i].o);
        tap_is_int(cj_error_of(p)->status, CJ_EINVAL, "%s is rejected", cases[i].name);
        tap_has_str(cj_error_of(p)->message, cases[i].message, "... and named");
        tap_is_int(cj_pipeline_work(p), CJ_EINVAL, "... a failed pipeline passes its failure on");
        cj_pipeline_free(p);
    }
    cj_pipeline *p = cj_pipeline_create(dev, CJ_PIPELINE(.devices = one, .device_count = 1));
    tap_is_int(cj_error_of(p)->status, CJ_EHANDLE, "a device that is none is rejected");
    cj_pipeline_free(p);
    cj_pipeline_free(NULL);
    tap_is_int(cj_pipeline_run(dev, CJ_PIPELINE(.bytes = 5), NULL), CJ_EINVAL, "a run needs callbacks");
    cj_pipeline_stats none = { 0 };
    tap_is_int(cj_pipeline_run(dev, CJ_PIPELINE(CALLBACKS), &none), CJ_EINVAL, "statistics need a size");
}

static void misused(void)
{
    cj_chunk c, other;
    cj_pipeline *p = cj_pipeline_create(dev, CJ_PIPELINE(.bytes = 100, .chunk = 10, .depth = 2,
                                                         .overlap = CJ_OVERLAP_ALWAYS));
    cj_chunk_defaults(&c);
    pipe_job_reset(&job, 100);
    tap_is_int(cj_pipeline_work(p), CJ_ESTATE, "a pipeline without callbacks is pulled");
    tap_is_int(cj_pipeline_next(p, NULL, 0), CJ_EINVAL, "a chunk is needed");
    tap_is_int(cj_pipeline_next(p, &(cj_chunk){ .size = 0 }, 0), CJ_EINVAL, "... with its size");
    tap_is_int(cj_pipeline_next(p, &c, 0), CJ_OK, "the first step");
    tap_ok(c.stage == CJ_PIPELINE_FILL && c.index == 0 && c.in_bytes == 10 && !c.offset, "... is to fill chunk 0");
    tap_is_int(cj_pipeline_next(p, &c, 0), CJ_ETIMEOUT, "one chunk is filled at a time");
    tap_is_int(cj_pipeline_restart(p, 5), CJ_ESTATE, "a pipeline that has not ended does not begin again");
    other = c;
    other.index = 1;
    tap_is_int(cj_pipeline_done(p, &other, CJ_OK), CJ_ESTATE, "another chunk is not being filled");
    other = c;
    other.stage = CJ_PIPELINE_LAUNCH;
    tap_is_int(cj_pipeline_done(p, &other, CJ_OK), CJ_ESTATE, "nor is it launched");
    other.stage = 77;
    tap_is_int(cj_pipeline_done(p, &other, CJ_OK), CJ_ESTATE, "nor in a stage that is none");
    tap_has_str(cj_error_of(p)->message, "chunk 0 is not in stage 77", "... which is said");
    pipe_fill(&job, &c);
    tap_is_int(cj_pipeline_done(p, &c, CJ_OK), CJ_OK, "it is filled");
    tap_is_int(cj_pipeline_done(p, &c, CJ_OK), CJ_ESTATE, "... once");
    tap_is_int(pipe_pull(p, &job), CJ_OK, "and the pipeline continues");
    tap_is_uint(pipe_right(&job), 100, "... to its end");
    tap_is_int(cj_pipeline_next(p, &c, 0), CJ_OK, "which stays");
    tap_is_int(c.stage, CJ_PIPELINE_END, "... the end");
    tap_is_int(cj_pipeline_cancel(p), CJ_OK, "a cancel changes nothing then");
    tap_is_int(cj_pipeline_next(p, &c, 0), CJ_OK, "... of its result");
    tap_is_int(cj_pipeline_get_stats(p, NULL), CJ_EINVAL, "statistics need a place");
    cj_pipeline_free(p);
}

int main(void)
{
    bench_open(64);
    tap_timeout(60);
    job.k = pipe_kernel(dev);
    all_sizes(), pulled(), parts(), wrong(), misused();
    cj_kernel_free(job.k);
    return bench_close();
}
