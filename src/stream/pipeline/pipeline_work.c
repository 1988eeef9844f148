/* The form with callbacks: threads that take what is to be done next and do it. */
#include "base/cancel.h"
#include "stream/pipeline/stream_pipeline.h"

#include <signal.h>

enum { WORK_STACK = 8 << 20, WORK_THREADS = 2 }; /* beside the caller's */

static cj_status work_call(const cj_pipeline *p, cj_chunk *chunk)
{
    switch (chunk->stage) {
    case CJ_PIPELINE_FILL: return p->o.fill(p->o.user, chunk);
    case CJ_PIPELINE_LAUNCH: return p->o.launch(p->o.user, chunk);
    default: return p->o.drain ? p->o.drain(p->o.user, chunk) : CJ_OK;
    }
}

/* Until the pipeline has ended. */
static void work_loop(cj_pipeline *p, const char *call)
{
    cji_ring_slot *slot;
    while (cji_pipeline_find_until(p, &slot, UINT64_MAX, call) == CJ_OK && slot) {
        cj_chunk chunk = slot->chunk;
        const cj_status st = work_call(p, &chunk);
        cji_ring_changed(slot, &chunk);
        cji_pipeline_did(p, slot, st, call);
    }
}

cj_status cji_pipeline_work(cj_pipeline *p, const char *call)
{
    work_loop(p, call);
    return cji_pipeline_failure(p);
}

cj_status cj_pipeline_work(cj_pipeline *pipeline)
{
    static const char call[] = "cj_pipeline_work";
    CJI_NO_CANCEL;
    cj_status st = cji_check(pipeline, CJI_TAG_PIPELINE, call);
    if (st != CJ_OK) return st;
    if (!pipeline->callbacks)
        return cji_fail(pipeline, CJ_ESTATE, call,
                        "the pipeline was created without callbacks; use cj_pipeline_next and cj_pipeline_done");
    return cji_pipeline_work(pipeline, call);
}

/* -- Threads ------------------------------------------------------------------------------------------------------- */

static void *work_thread(void *pipeline)
{
    CJI_NO_CANCEL;
    work_loop(pipeline, "cj_pipeline_run");
    return NULL;
}

/* Starts a thread that handles none of the program's signals. */
static bool work_start(cj_pipeline *p, pthread_t *id)
{
    pthread_attr_t attr;
    sigset_t all, before;
    if (pthread_attr_init(&attr)) return false;
    pthread_attr_setstacksize(&attr, WORK_STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool made = pthread_create(id, &attr, work_thread, p) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return made;
}

cj_status cj_pipeline_run(cj_device *dev, const cj_pipeline_opts *opts, cj_pipeline_stats *stats)
{
    static const char call[] = "cj_pipeline_run";
    CJI_NO_CANCEL;
    pthread_t id[WORK_THREADS];
    uint32_t threads = 0;
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st != CJ_OK) return st;
    if (stats && (stats->size < sizeof stats->size || stats->size > sizeof *stats))
        return cji_fail(dev, CJ_EINVAL, call, "stats->size is not sizeof(cj_pipeline_stats)");
    cj_pipeline *p = cji_pipeline_make(dev, opts, call);
    if (cji_obj_failed(p)) st = cji_fail_from(dev, p, call);
    else if (!p->callbacks)
        st = cji_fail(dev, CJ_EINVAL, call, "there are no callbacks; set .fill, .launch and .drain");
    if (st == CJ_OK) {
        while (threads + 1 < p->o.threads && work_start(p, &id[threads])) threads++;
        st = cji_pipeline_work(p, call);
        for (uint32_t i = 0; i < threads; i++) pthread_join(id[i], NULL);
        if (st == CJ_OK) st = cji_pipeline_failure(p); /* of a stage that another thread had */
        if (stats) cj_pipeline_get_stats(p, stats);
        if (st != CJ_OK) cji_fail_from(dev, p, call);
    }
    cj_pipeline_free(p);
    return st;
}
