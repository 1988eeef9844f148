/* Failures and cancels of a pipeline: in each stage, at the first chunk, in the middle and at the last.  The failure
 * names chunk and stage, what comes before is drained where that is possible, nothing is under way at the end, and the
 * pipeline can begin again. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/device_bench.h"
#include "tests/stream/pipeline_parts.h"

enum { CHUNKS = 9, CHUNK = 32, BYTES = CHUNKS * CHUNK - 5 };
static pipe_job job;

static const struct { const char *name; int32_t overlap; uint32_t depth; bool pull; } forms[] = {
    { "without overlap", CJ_OVERLAP_NEVER, 0, false },
    { "with four buffers", CJ_OVERLAP_ALWAYS, 4, false },
    { "measured", CJ_OVERLAP_MEASURED, 0, false },
    { "pulled, without overlap", CJ_OVERLAP_NEVER, 0, true },
    { "pulled, with three buffers", CJ_OVERLAP_ALWAYS, 3, true },
};
enum { FORMS = sizeof forms / sizeof *forms };

static const struct { cj_pipeline_stage stage; const char *name; } stages[] = {
    { CJ_PIPELINE_FILL, "fill" }, { CJ_PIPELINE_LAUNCH, "launch" }, { CJ_PIPELINE_DRAIN, "drain" },
};
static const uint64_t at[] = { 0, CHUNKS / 2, CHUNKS - 1 };

static cj_pipeline *make(size_t form)
{
    cj_pipeline_opts o = { .size = sizeof o, .bytes = BYTES, .chunk = CHUNK, .overlap = forms[form].overlap,
                           .depth = forms[form].depth };
    if (!forms[form].pull)
        o.fill = pipe_fill, o.launch = pipe_launch, o.drain = pipe_drain, o.progress = pipe_progress, o.user = &job;
    return cj_pipeline_create(dev, &o);
}

static cj_status work(cj_pipeline *p, size_t form)
{
    job.p = p;
    return forms[form].pull ? pipe_pull(p, &job) : cj_pipeline_work(p);
}

/* The pipeline begins again and all is right. */
static void again(cj_pipeline *p, size_t form, const char *what)
{
    pipe_job_reset(&job, BYTES);
    tap_is_int(cj_pipeline_restart(p, BYTES), CJ_OK, "%s: it begins again", what);
    tap_is_int(work(p, form), CJ_OK, "... and ends well: %s", cj_error_of(p)->message);
    tap_is_uint(pipe_right(&job), BYTES, "... with the right bytes");
}

static void failures(void)
{
    char text[64];
    for (size_t f = 0; f < FORMS; f++)
        for (size_t g = 0; g < 3; g++)
            for (size_t i = 0; i < 3; i++) {
                cj_pipeline_stats now = { .size = sizeof now };
                cj_pipeline *p = make(f);
                pipe_job_reset(&job, BYTES);
                job.fail_stage = stages[g].stage, job.fail_chunk = at[i], job.fail_with = CJ_ENOTFOUND;
                tap_is_int(work(p, f), CJ_ENOTFOUND, "%s, %s of chunk %d fails", forms[f].name, stages[g].name,
                           (int)at[i]);
                snprintf(text, sizeof text, "chunk %d of %d, %s: ", (int)at[i], CHUNKS, stages[g].name);
                tap_has_str(cj_error_of(p)->message, text, "... and is named");
                tap_has_str(cj_error_of(p)->message, "CJ_ENOTFOUND", "... with its status");
                tap_is_int(cj_stream_query(t), CJ_OK, "... and harms nobody else");
                cj_pipeline_get_stats(p, &now);
                tap_is_uint(now.chunks_done, at[i], "... behind the chunks before it, which are drained");
                const uint64_t bytes = at[i] * CHUNK;
                tap_ok(pipe_right(&job) >= bytes, "... and right");
                again(p, f, stages[g].name);
                cj_pipeline_free(p);
            }
}

static void cancels(void)
{
    for (size_t f = 0; f < FORMS; f++)
        for (size_t g = 0; g < 3; g++)
            for (size_t i = 0; i < 3; i++) {
                cj_pipeline *p = make(f);
                pipe_job_reset(&job, BYTES);
                job.fail_stage = stages[g].stage, job.fail_chunk = at[i], job.fail_with = CJ_OK;
                tap_is_int(work(p, f), CJ_ECANCELLED, "%s, cancelled in the %s of chunk %d", forms[f].name,
                           stages[g].name, (int)at[i]);
                const unsigned did = g == 0 ? job.fills : g == 1 ? job.launches : job.drains;
                tap_is_uint(did, at[i] + 1, "... nothing follows in that stage");
                tap_has_str(cj_error_of(p)->message, "cancelled when", "... and that is said");
                again(p, f, "cancel");
                cj_pipeline_free(p);
            }
    cj_pipeline *p = make(1);
    pipe_job_reset(&job, BYTES);
    job.cancel_behind = 3;
    tap_is_int(work(p, 1), CJ_ECANCELLED, "progress cancels");
    tap_is_uint(job.drains, 3, "... behind chunk 2");
    tap_has_str(cj_error_of(p)->message, "when 3 of 9 chunks", "... which is said");
    cj_pipeline_free(p);
    p = make(1);
    pipe_job_reset(&job, BYTES);
    cj_pipeline_cancel(p);
    tap_is_int(work(p, 1), CJ_ECANCELLED, "a pipeline is cancelled before it begins");
    tap_is_uint(job.fills, 0, "... and does nothing");
    cj_pipeline_free(p);
}

/* -- Wrong sizes and wrong launches -------------------------------------------------------------------------------- */

static uint64_t bad_chunk;
static cj_status too_much_in(void *user, cj_chunk *c)
{
    const cj_status st = pipe_fill(user, c);
    if (c->index == bad_chunk) c->in_bytes = CHUNK + 1;
    return st;
}
static cj_status too_much_out(void *user, cj_chunk *c)
{
    const cj_status st = pipe_launch(user, c);
    if (c->index == bad_chunk) c->out_bytes = CHUNK + 1;
    return st;
}
static cj_status bad_launch(void *user, cj_chunk *c)
{
    if (c->index == bad_chunk) cj_fill32(c->stream, cj_offset(c->in, 1), 0, 1); /* its failure stays in the stream */
    return pipe_launch(user, c);
}
static cj_status open_capture(void *user, cj_chunk *c)
{
    const cj_status st = pipe_launch(user, c);
    if (c->index == bad_chunk) cj_capture_begin(c->stream, CJ_CAPTURE_RELAXED);
    return st;
}
static cj_status bad_place(void *user, cj_chunk *c)
{
    const cj_status st = pipe_launch(user, c);
    if (c->index == bad_chunk) c->out_host = NULL;
    return st;
}
static cj_status no_place(void *user, cj_chunk *c)
{
    const cj_status st = pipe_fill(user, c);
    if (c->index == bad_chunk) c->in_host = NULL;
    return st;
}

static const struct {
    const char *name;
    cj_status (*fill)(void *user, cj_chunk *c), (*launch)(void *user, cj_chunk *c);
    cj_status status;
    const char *stage, *message;
} wrong[] = {
    { "too much input", too_much_in, pipe_launch, CJ_EINVAL, "upload", "33 bytes of input" },
    { "too much output", pipe_fill, too_much_out, CJ_EINVAL, "launch", "33 bytes of output" },
    { "a launch whose failure is in the stream", pipe_fill, bad_launch, CJ_EINVAL, "launch", "cj_fill32" },
    { "a capture that stays open", pipe_fill, open_capture, CJ_ESTATE, "launch", "capture" },
    { "output to nowhere", pipe_fill, bad_place, CJ_EINVAL, "download", "cj_copy_to_host" },
    { "input from nowhere", no_place, pipe_launch, CJ_EINVAL, "upload", "cj_copy_to_device" },
};

static void wrong_chunks(void)
{
    char text[64];
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++)
        for (int32_t way = CJ_OVERLAP_ALWAYS; way <= CJ_OVERLAP_NEVER; way++)
            for (size_t i = 0; i < 3; i++) {
                cj_pipeline_stats now = { .size = sizeof now };
                bad_chunk = at[i];
                pipe_job_reset(&job, BYTES);
                const cj_status st = cj_pipeline_run(
                    dev, CJ_PIPELINE(.bytes = BYTES, .chunk = CHUNK, .fill = wrong[w].fill, .launch = wrong[w].launch,
                                     .drain = pipe_drain, .user = &job, .overlap = way), &now);
                tap_is_int(st, wrong[w].status, "%s of chunk %d", wrong[w].name, (int)at[i]);
                snprintf(text, sizeof text, "chunk %d of %d, %s: ", (int)at[i], CHUNKS, wrong[w].stage);
                tap_has_str(cj_error_of(dev)->message, text, "... is named");
                tap_has_str(cj_error_of(dev)->message, wrong[w].message, "... with its cause");
                tap_is_uint(now.chunks_done, at[i], "... behind the chunks before it");
            }
}

/* -- What is under way is awaited, and order is kept --------------------------------------------------------------- */

/* Does one step; the chunk's kernels wait for the latch if there is one. */
static cj_pipeline_stage step(cj_pipeline *p, struct latch *l)
{
    cj_chunk c;
    cj_chunk_defaults(&c);
    if (cj_pipeline_next(p, &c, 20000) != CJ_OK) return CJ_PIPELINE_END;
    cj_status st = CJ_OK;
    if (c.stage == CJ_PIPELINE_FILL) st = pipe_fill(&job, &c);
    if (c.stage == CJ_PIPELINE_LAUNCH && l) bench_hold(c.stream, l);
    if (c.stage == CJ_PIPELINE_LAUNCH) st = pipe_launch(&job, &c);
    if (c.stage == CJ_PIPELINE_DRAIN) st = pipe_drain(&job, &c);
    cj_pipeline_done(p, &c, st);
    return (cj_pipeline_stage)c.stage;
}

static void held(void)
{
    struct latch l = LATCH_CLOSED;
    cj_chunk c;
    cj_chunk_defaults(&c);
    for (int way = 0; way < 3; way++) {
        cj_pipeline *p = cj_pipeline_create(dev, CJ_PIPELINE(.bytes = BYTES, .chunk = CHUNK, .depth = 2,
                                                             .overlap = CJ_OVERLAP_ALWAYS));
        pipe_job_reset(&job, BYTES);
        tap_ok(!cj_pipeline_pending(p), "there is something to do at first");
        tap_is_int(step(p, NULL), CJ_PIPELINE_FILL, "chunk 0 is filled");
        tap_is_int(step(p, &l), CJ_PIPELINE_LAUNCH, "... and launched");
        tap_is_int(step(p, NULL), CJ_PIPELINE_FILL, "chunk 1 is filled while chunk 0 is under way");
        tap_is_int(step(p, NULL), CJ_PIPELINE_LAUNCH, "... and launched behind it");
        tap_is_int(cj_pipeline_next(p, &c, 1), CJ_ETIMEOUT, "with both buffers in use there is nothing to do");
        tap_is_int(cj_error_of(p)->status, CJ_OK, "... which is no failure");
        cj_event *e = cj_pipeline_pending(p);
        tap_ok(e && cj_event_query(e) == CJ_ENOTREADY, "... but to wait for an event");
        if (way == 1) cj_pipeline_cancel(p);
        if (way) tap_is_int(cj_pipeline_next(p, &c, 1), CJ_ETIMEOUT, "the pipeline does not end before its work");
        if (way == 1) tap_ok(!cj_pipeline_pending(p), "... and waits for all of it");
        tap_is_int(cj_pipeline_restart(p, 1), CJ_ESTATE, "... nor begins again");
        latch_open(&l);
        if (way == 2) { /* freed with work under way: that is awaited */
            cj_pipeline_free(p);
            continue;
        }
        if (!way) tap_is_int(cj_event_sync(e), CJ_OK, "the event is reached");
        if (!way) tap_is_int(step(p, NULL), CJ_PIPELINE_DRAIN, "... and chunk 0 is drained");
        tap_is_int(pipe_pull(p, &job), way ? CJ_ECANCELLED : CJ_OK, "... and the pipeline ends");
        tap_is_uint(pipe_right(&job), way ? 0 : BYTES, "... with what it drained");
        cj_pipeline_free(p);
    }
}

/* Two rings, also of one device: a chunk that is held holds the order, unless any order will do. */
static void two_rings(cj_device *second)
{
    cj_device *const more[] = { second };
    for (int any = 0; any < 2; any++) {
        struct latch l = LATCH_CLOSED;
        cj_chunk c;
        cj_chunk_defaults(&c);
        cj_pipeline *p = cj_pipeline_create(dev, CJ_PIPELINE(.bytes = BYTES, .chunk = CHUNK, .any_order = any,
                                                             .depth = 2, .overlap = CJ_OVERLAP_ALWAYS,
                                                             .devices = more, .device_count = 1));
        pipe_job_reset(&job, BYTES);
        step(p, NULL), step(p, &l); /* chunk 0 is held */
        for (int i = 0; i < 6 && !any; i++) step(p, NULL); /* four chunks */
        while (any && !job.drains) step(p, NULL);
        tap_ok(job.device[0] >= 1 && job.device[1] >= 1, "chunks are dealt to both rings");
        if (any) {
            tap_ok(job.drained[0] % 2 == 1, "a later chunk is drained, of the other ring");
        } else {
            tap_ok(job.device[0] == 2 && job.device[1] == 2, "... equally");
            tap_is_int(cj_pipeline_next(p, &c, 1), CJ_ETIMEOUT, "chunk 0 is held, and so is the order");
        }
        latch_open(&l);
        tap_is_int(pipe_pull(p, &job), CJ_OK, "and all end: %s", cj_error_of(p)->message);
        tap_is_uint(pipe_right(&job), BYTES, "... with the right bytes");
        bool sorted = true;
        for (unsigned i = 0; i < job.drains; i++) sorted = sorted && job.drained[i] == i;
        tap_ok(sorted == !any && job.drains == CHUNKS, "... in the promised order");
        again(p, 3, "two rings");
        cj_pipeline_stats now = { .size = sizeof now };
        cj_pipeline_get_stats(p, &now);
        tap_is_uint(now.devices, 2, "... of two devices");
        cj_pipeline_free(p);
    }
    pipe_job_reset(&job, BYTES);
    tap_is_int(cj_pipeline_run(dev, CJ_PIPELINE(.bytes = BYTES, .chunk = CHUNK, .fill = pipe_fill,
                                                .launch = pipe_launch, .drain = pipe_drain, .user = &job,
                                                .devices = more, .device_count = 1, .threads = 3), NULL), CJ_OK,
               "two rings, three threads");
    tap_is_uint(pipe_right(&job), BYTES, "... have the right bytes");
}

int main(void)
{
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    bench_open(64);
    tap_timeout(60);
    job.k = pipe_kernel(dev);
    failures(), cancels(), wrong_chunks(), held(), two_rings(dev);
    if (cj_device_count(drv) > 1) {
        cj_device *second = cj_device_open(drv, 1, NULL);
        job.k2 = pipe_kernel(second);
        two_rings(second);
        cj_kernel_free(job.k2);
        cj_device_close(second);
    } else {
        tap_skip(1, "one device only");
    }
    cj_kernel_free(job.k);
    return bench_close();
}
