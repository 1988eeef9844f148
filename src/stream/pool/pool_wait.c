/* Ready streams, and waits for the streams of a pool. */
#include "base/cancel.h"
#include "stream/pool/stream_pool.h"

/* -- The streams, one after the other ------------------------------------------------------------------------------ */

/* The next stream from *at on, retained, and its number; NULL: there is none.  A class of -1 is all of them. */
static cj_stream *pool_stream_next(cj_stream_pool *pool, int class, uint32_t *at)
{
    cj_stream *s = NULL;
    cji_lock(&pool->lock, CJI_LOCK_STREAM_POOL);
    for (; *at < CJI_CLASSES * pool->streams_max && !s; ++*at) {
        const int k = (int)(*at / pool->streams_max);
        const uint32_t i = *at % pool->streams_max;
        if ((class >= 0 && k != class) || i >= atomic_load(&pool->class[k].n)) continue;
        s = atomic_load(&pool->class[k].place[i].s);
    }
    cji_obj_retain(s);
    cji_unlock(&pool->lock, CJI_LOCK_STREAM_POOL);
    return s;
}

/* -- Waiting for all ----------------------------------------------------------------------------------------------- */

static cj_status pool_sync(cj_stream_pool *pool, int class)
{
    cj_status first = CJ_OK;
    cji_kept why;
    cj_stream *s;
    for (uint32_t at = 0; (s = pool_stream_next(pool, class, &at));) {
        const cj_status st = cj_stream_sync(s);
        if (st != CJ_OK && first == CJ_OK) {
            first = st;
            cji_fail_save(&why);
        }
        cji_stream_drop(s);
    }
    if (first == CJ_OK && pool->clock) first = cj_stream_sync(pool->clock); /* so that all times can be read */
    else if (first != CJ_OK) cji_fail_restore(&why);
    if (first == CJ_OK) return CJ_OK;
    return cji_fail_also(pool);
}

cj_status cj_stream_pool_sync(cj_stream_pool *pool)
{
    static const char call[] = "cj_stream_pool_sync";
    cj_status st = cji_check(pool, CJI_TAG_STREAM_POOL, call);
    return st == CJ_OK ? pool_sync(pool, -1) : st;
}

cj_status cj_stream_pool_sync_priority(cj_stream_pool *pool, cj_priority priority)
{
    static const char call[] = "cj_stream_pool_sync_priority";
    cj_status st = cji_check(pool, CJI_TAG_STREAM_POOL, call);
    if (st != CJ_OK) return st;
    const int class = cji_class_of((int32_t)priority);
    if (class >= 0) return pool_sync(pool, class);
    return cji_fail(pool, CJ_EINVAL, call, "priority %d is none that a pool has streams of", (int)priority);
}

/* -- Waiting for any ----------------------------------------------------------------------------------------------- */

/* CJ_OK: complete; CJ_ENOTREADY; CJ_ESTATE: capturing, which is nobody's failure; CJ_EDRIVER: left in the pool. */
static cj_status stream_ready(cj_stream_pool *pool, cj_stream *s, const char *call)
{
    if (atomic_load(&s->capturing)) return CJ_ESTATE;
    cji_scope scope;
    const uint64_t enqueued = cji_enqueued(s);
    cji_scope_relax(&scope, s->cu);
    const CUresult r = s->cu->cuStreamQuery(s->raw);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) cji_seen_done(s, enqueued);
    if (r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY) return r == CUDA_SUCCESS ? CJ_OK : CJ_ENOTREADY;
    return cji_rejected(pool, pool->dev, r, call, "cuStreamQuery");
}

/* Looks at each once: CJ_OK, CJ_ENOTREADY, CJ_ESTATE when all are capturing, or a failure in the pool. */
static cj_status any_of_pool(cj_stream_pool *pool, const char *call)
{
    cj_status all = CJ_ESTATE;
    cj_stream *s;
    for (uint32_t at = 0; (s = pool_stream_next(pool, -1, &at));) {
        const cj_status st = stream_ready(pool, s, call);
        cji_stream_drop(s);
        if (st != CJ_ENOTREADY && st != CJ_ESTATE) return st;
        if (st == CJ_ENOTREADY) all = st;
    }
    return all;
}

static cj_status any_of_leases(cj_stream_pool *pool, const cj_pooled_stream *leases, size_t count, size_t *index,
                               const char *call)
{
    cj_status all = CJ_ESTATE;
    for (size_t i = 0; i < count; i++) {
        cj_stream *s = cj_stream_pool_stream(pool, leases[i]);
        const cj_status st = s ? stream_ready(pool, s, call) : CJ_EHANDLE;
        if (st == CJ_OK) *index = i;
        if (st != CJ_ENOTREADY && st != CJ_ESTATE) return st;
        if (st == CJ_ENOTREADY) all = st;
    }
    return all;
}

cj_status cj_stream_pool_has_ready(cj_stream_pool *pool)
{
    static const char call[] = "cj_stream_pool_has_ready";
    cj_status st = cji_check(pool, CJI_TAG_STREAM_POOL, call);
    if (st == CJ_OK) st = any_of_pool(pool, call);
    return st == CJ_ESTATE ? CJ_ENOTREADY : st;
}

cj_status cj_stream_pool_wait_any(cj_stream_pool *pool, const cj_pooled_stream *leases, size_t count, uint32_t ms,
                                  size_t *index)
{
    static const char call[] = "cj_stream_pool_wait_any";
    CJI_NO_CANCEL;
    const uint64_t deadline = cji_deadline(ms);
    cji_pause pause = { 0, 0 };
    size_t which = 0;
    cj_status st = cji_check(pool, CJI_TAG_STREAM_POOL, call);
    if (st != CJ_OK) return st;
    if (count && !leases) return cji_fail(pool, CJ_EINVAL, call, "%zu leases at NULL", count);
    do st = count ? any_of_leases(pool, leases, count, &which, call) : any_of_pool(pool, call);
    while (st == CJ_ENOTREADY && cji_pause_until(&pause, deadline));
    if (st == CJ_OK && index) *index = which;
    if (st == CJ_ESTATE)
        return cji_fail(pool, st, call, "all these streams are capturing, so nothing of them runs; end the captures");
    if (st == CJ_ENOTREADY)
        return cji_fail(NULL, CJ_ETIMEOUT, call, "no stream is complete after %u ms; their work continues", ms);
    return st;
}
