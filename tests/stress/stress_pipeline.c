/* Pipelines, of all threads: with callbacks and pulled, of any depth, in order and in any order, one or two rings, that
 * pass, whose fill fails, or that are cancelled, by themselves or by another thread.  Each chunk that is filled has
 * an entry of the ledger, which its drain closes; the end of the pipeline revokes the entries of dropped chunks. */
#include <pthread.h>
#include <string.h>

#include "tests/stress/stress.h"

enum { FLOWS = 6, WORDS = 16, CHUNK = WORDS * 4, CHUNKS_MOST = 24 };

/* A pipeline, and what its run is to do and did. */
typedef struct flow {
    pthread_mutex_t lock; /* held by the thread that works on it */
    cj_pipeline *p;       /* cancelled by any thread */
    bool callbacks, in_place, any_order;
    uint64_t fail_at, cancel_at; /* UINT64_MAX: never */
    uint64_t chunks, fills, drains;
    stress_entry *entry[CHUNKS_MOST];
    bool drained[CHUNKS_MOST];
} flow;
static flow flows[FLOWS];

static uint32_t word_of(uint64_t chunk, int i) { return (uint32_t)(chunk * 1000) + (uint32_t)i; }

/* -- Stages -------------------------------------------------------------------------------------------------------- */

static cj_status flow_fill(void *user, cj_chunk *c)
{
    flow *f = user;
    uint32_t *in = c->in_host;
    if (c->index != f->fills++) stress_failed("a fill", "chunks are not in their order");
    f->entry[c->index] = stress_open();
    for (int i = 0; i < WORDS; i++) in[i] = word_of(c->index, i);
    return c->index == f->fail_at ? CJ_ENOTFOUND : CJ_OK;
}

static cj_status flow_launch(void *user, cj_chunk *c)
{
    const flow *f = user;
    if (!f->in_place) cj_copy(c->stream, c->out, c->in, CHUNK);
    return cj_launch(c->stream, stress.add, cj_threads(WORDS, 32), c->out, WORDS, 1);
}

static cj_status flow_drain(void *user, cj_chunk *c)
{
    flow *f = user;
    const uint32_t *out = c->out_host;
    if (!f->any_order && c->index != f->drains) stress_failed("a drain", "chunks are not in their order");
    if (f->drained[c->index]) stress_failed("a drain", "a chunk is drained twice");
    f->drained[c->index] = true;
    f->drains++;
    for (int i = 0; i < WORDS; i++)
        if (out[i] != word_of(c->index, i) + 1) {
            stress_failed("a drain", "a chunk has other numbers than it should");
            break;
        }
    if (f->entry[c->index]) stress_close(f->entry[c->index]);
    return CJ_OK;
}

static int flow_progress(void *user, uint64_t done, uint64_t all)
{
    const flow *f = user;
    if (done > all || all != f->chunks) stress_failed("progress", "it is beyond the end");
    return done == f->cancel_at;
}

/* -- Runs ---------------------------------------------------------------------------------------------------------- */

static cj_pipeline_opts flow_opts(stress_thread *t, flow *f)
{
    static cj_device *both[1];
    cj_pipeline_opts o;
    cj_pipeline_defaults(&o);
    both[0] = stress.dev;
    f->callbacks = stress_random(t, 2);
    f->in_place = stress_random(t, 2);
    f->any_order = stress_random(t, 4) == 0;
    o.chunk = CHUNK;
    o.in_place = f->in_place;
    o.any_order = f->any_order;
    o.overlap = (int32_t)stress_random(t, 3);
    o.depth = o.overlap == CJ_OVERLAP_NEVER ? 0 : 2 * stress_random(t, 4);
    if (stress_random(t, 3) == 0) o.devices = both, o.device_count = 1;
    if (f->callbacks) o.fill = flow_fill, o.launch = flow_launch, o.drain = flow_drain;
    o.progress = flow_progress;
    o.user = f;
    return o;
}

/* What the next run of so many chunks is to do. */
static void flow_begin(stress_thread *t, flow *f)
{
    const uint32_t what = stress_random(t, 4);
    f->chunks = stress_random(t, CHUNKS_MOST + 1);
    f->fail_at = what == 0 ? stress_random(t, CHUNKS_MOST) : UINT64_MAX;
    f->cancel_at = what == 1 ? 1 + stress_random(t, CHUNKS_MOST) : UINT64_MAX;
    f->fills = f->drains = 0;
    memset(f->entry, 0, sizeof f->entry);
    memset(f->drained, 0, sizeof f->drained);
}

static cj_status flow_pull(flow *f)
{
    cj_chunk c;
    cj_chunk_defaults(&c);
    for (;;) {
        cj_status st = cj_pipeline_next(f->p, &c, 20000);
        if (st != CJ_OK || c.stage == CJ_PIPELINE_END) return st;
        st = c.stage == CJ_PIPELINE_FILL ? flow_fill(f, &c)
             : c.stage == CJ_PIPELINE_LAUNCH ? flow_launch(f, &c)
                                             : flow_drain(f, &c);
        if (cj_pipeline_done(f->p, &c, st) != CJ_OK) return cj_error_last()->status;
    }
}

/* The run has ended with that status: chunks that were filled and not drained were dropped. */
static void flow_ended(flow *f, cj_status st, const char *what)
{
    for (uint64_t i = 0; i < f->chunks; i++)
        if (f->entry[i] && !f->drained[i]) stress_revoke(f->entry[i]);
    if (st == CJ_OK) {
        if (f->drains != f->chunks || f->fail_at < f->chunks) stress_failed(what, "it ends well without all chunks");
    } else if (st == CJ_ENOTFOUND) {
        if (f->fail_at >= f->chunks || f->drains > f->fail_at) stress_failed(what, "another chunk fails than should");
    } else if (st != CJ_ECANCELLED) {
        stress_failed(what, cj_error_last()->message);
    }
}

static void flow_again(stress_thread *t, flow *f)
{
    if (pthread_mutex_trylock(&f->lock) != 0) return;
    flow_begin(t, f);
    if (stress_did(cj_pipeline_restart(f->p, f->chunks * CHUNK), "a pipeline begins again")) {
        const cj_status st = f->callbacks ? cj_pipeline_work(f->p) : flow_pull(f);
        flow_ended(f, st, "a pipeline");
        cj_error_clear(f->p);
    }
    pthread_mutex_unlock(&f->lock);
}

/* A pipeline for one run, with threads of its own. */
static void flow_once(stress_thread *t)
{
    flow f = { .p = NULL };
    cj_pipeline_opts o = flow_opts(t, &f);
    cj_pipeline_stats now;
    cj_pipeline_stats_defaults(&now);
    flow_begin(t, &f);
    o.fill = flow_fill, o.launch = flow_launch, o.drain = flow_drain;
    o.bytes = f.chunks * CHUNK;
    o.threads = 1 + stress_random(t, 3);
    const cj_status st = cj_pipeline_run(stress.dev, &o, &now);
    flow_ended(&f, st, "a pipeline of one run");
    if (now.chunks_done != f.drains) stress_failed("a pipeline of one run", "it counts other chunks than were drained");
}

/* -- The part ------------------------------------------------------------------------------------------------------ */

static void pipeline_begin(void)
{
    stress_thread t = { 0, 42 };
    for (int i = 0; i < FLOWS; i++) {
        flow *f = &flows[i];
        const cj_pipeline_opts o = flow_opts(&t, f);
        pthread_mutex_init(&f->lock, NULL);
        f->p = cj_pipeline_create(stress.dev, &o);
        f->cancel_at = UINT64_MAX;
        stress_did(cj_error_of(f->p)->status, "a pipeline is made");
        stress_did(f->callbacks ? cj_pipeline_work(f->p) : flow_pull(f), "a pipeline without chunks");
    }
}

static void pipeline_step(stress_thread *t)
{
    flow *f = &flows[stress_random(t, FLOWS)];
    cj_pipeline_stats now;
    switch (stress_random(t, 32)) {
    case 0: flow_once(t); break;
    case 1: cj_pipeline_cancel(f->p); break;
    case 2:
        cj_pipeline_stats_defaults(&now);
        stress_did(cj_pipeline_get_stats(f->p, &now), "statistics of a pipeline");
        if (now.chunks_done > now.chunks) stress_failed("statistics of a pipeline", "more chunks than there are");
        break;
    default: flow_again(t, f); break;
    }
}

static void pipeline_end(void)
{
    for (int i = 0; i < FLOWS; i++) {
        cj_pipeline_free(flows[i].p);
        pthread_mutex_destroy(&flows[i].lock);
    }
}

const stress_part stress_pipeline = { "pipeline", pipeline_begin, pipeline_step, pipeline_end };
