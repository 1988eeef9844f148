/* Captures under way: which streams take part, what the graph will retain, the first failure. */
#include "base/log.h"
#include "base/process.h"
#include "stream/core/stream_core.h"

/* -- References ---------------------------------------------------------------------------------------------------- */

cji_capture *cji_capture_new(cj_stream *origin, const cji_capture_rules *rules, cji_refset *refset)
{
    cji_capture *c = cji_zalloc(sizeof *c);
    if (!c) {
        cji_refset_drop(refset);
        return NULL;
    }
    static atomic_uint_fast64_t serials;
    c->serial = atomic_fetch_add(&serials, 1) + 1;
    atomic_init(&c->refs, 1);
    atomic_init(&c->open, true);
    pthread_mutex_init(&c->lock, NULL);
    c->rules = rules;
    c->thread = pthread_self();
    c->origin = origin;
    c->refset = refset;
    if (refset && cji_grow(&c->member, &c->cap, 4, sizeof *c->member)) return c;
    cji_capture_drop(c);
    return NULL;
}

cji_capture *cji_capture_retain(cji_capture *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

void cji_capture_drop(cji_capture *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    cji_refset_drop(c->refset);
    c->rules->release(c);
    cji_free(c->member, c->cap * sizeof *c->member);
    pthread_mutex_destroy(&c->lock);
    cji_free(c, sizeof *c);
}

cji_capture *cji_capture_taken(cj_stream *s)
{
    cji_lock(&s->lock, CJI_LOCK_STREAM);
    cji_capture *c = s->capture ? cji_capture_retain(s->capture) : NULL;
    cji_unlock(&s->lock, CJI_LOCK_STREAM);
    return c;
}

bool cji_capture_open(const cji_capture *c) { return atomic_load(&c->open); }

bool cji_capture_retains(cji_capture *c, const cji_ref_type *type, void *what, bool *had)
{
    cji_lock(&c->lock, CJI_LOCK_CAPTURE);
    *had = !c->refset;
    bool added = *had || cji_refset_add(c->refset, type, what, had);
    cji_unlock(&c->lock, CJI_LOCK_CAPTURE);
    return added;
}

void cji_capture_note_kernel(cji_capture *c, const cj_kernel *k)
{
    cji_lock(&c->lock, CJI_LOCK_CAPTURE);
    c->known.kernel[c->known.kernels++ % CJI_CAPTURE_KNOWN] = k;
    cji_unlock(&c->lock, CJI_LOCK_CAPTURE);
}

void cji_capture_note_range(cji_capture *c, uint64_t addr, uint64_t bytes)
{
    cji_lock(&c->lock, CJI_LOCK_CAPTURE);
    c->known.range[c->known.ranges++ % CJI_CAPTURE_KNOWN] = (cji_known_range){ addr, bytes };
    cji_unlock(&c->lock, CJI_LOCK_CAPTURE);
}

/* With the capture's lock held.  Places that nothing was noted in yet hold no address. */
static bool capture_knows_range(const cji_capture *c, uint64_t addr)
{
    bool known = !addr;
    for (unsigned i = 0; i < CJI_CAPTURE_KNOWN && !known; i++)
        known = addr - c->known.range[i].addr < c->known.range[i].bytes;
    return known;
}

bool cji_capture_knows(cji_capture *c, const cj_kernel *k, const cj_arg *args, size_t count)
{
    bool known = false;
    cji_lock(&c->lock, CJI_LOCK_CAPTURE);
    for (unsigned i = 0; i < CJI_CAPTURE_KNOWN && !known; i++) known = c->known.kernel[i] == k;
    for (size_t i = 0; i < count && known; i++)
        known = args[i].kind != CJ_ARG_PTR || capture_knows_range(c, args[i].v.u);
    cji_unlock(&c->lock, CJI_LOCK_CAPTURE);
    return known;
}

cji_refset *cji_capture_take_refset(cji_capture *c)
{
    cji_lock(&c->lock, CJI_LOCK_CAPTURE);
    cji_refset *k = c->refset;
    c->refset = NULL;
    cji_unlock(&c->lock, CJI_LOCK_CAPTURE);
    return k;
}

int cj_stream_is_capturing(const cj_stream *s)
{
    return cji_check_read(s, CJI_TAG_STREAM, "cj_stream_is_capturing") == CJ_OK && atomic_load(&s->capturing);
}

/* -- Members ------------------------------------------------------------------------------------------------------- */

/* With the capture's lock held. */
static bool capture_add_member(cji_capture *c, cj_stream *s)
{
    if (!cji_grow(&c->member, &c->cap, c->count + 1, sizeof *c->member)) return false;
    cji_lock(&s->lock, CJI_LOCK_STREAM);
    bool fresh = !s->capture;
    if (fresh) {
        s->capture = cji_capture_retain(c);
        atomic_store(&s->capturing, true);
    }
    cji_unlock(&s->lock, CJI_LOCK_STREAM);
    if (!fresh) return true;
    c->member[c->count++] = cji_obj_retain(s);
    cji_release_queue_captures(s->queue, 1);
    return true;
}

void cji_capture_join(cji_capture *c, cj_stream *s)
{
    cji_lock(&c->lock, CJI_LOCK_CAPTURE);
    bool added = !cji_capture_open(c) || capture_add_member(c, s);
    cji_unlock(&c->lock, CJI_LOCK_CAPTURE);
    if (added) return;
    cji_fail(s, CJ_ENOMEM, "cj_capture_begin", "no memory to note that a stream joins the capture");
    cji_capture_fail(c);
}

cj_stream *cji_capture_member(cji_capture *c, size_t i)
{
    cji_lock(&c->lock, CJI_LOCK_CAPTURE);
    cj_stream *s = i < c->count ? cji_obj_retain(c->member[i]) : NULL;
    cji_unlock(&c->lock, CJI_LOCK_CAPTURE);
    return s;
}

void cji_capture_close(cji_capture *c)
{
    cji_lock(&c->lock, CJI_LOCK_CAPTURE);
    atomic_store(&c->open, false);
    size_t count = c->count;
    c->count = 0;
    cji_unlock(&c->lock, CJI_LOCK_CAPTURE);
    for (size_t i = 0; i < count; i++) {
        cj_stream *s = c->member[i];
        cji_lock(&s->lock, CJI_LOCK_STREAM);
        atomic_store(&s->capturing, false);
        s->capture = NULL;
        cji_unlock(&s->lock, CJI_LOCK_STREAM);
        cji_release_queue_captures(s->queue, -1);
        cji_capture_drop(c); /* the stream's reference; the caller has one too */
    }
    for (size_t i = 0; i < count; i++) cji_stream_drop(c->member[i]);
}

bool cji_capture_abandon(cj_stream *s)
{
    cji_capture *c = cji_capture_of(s);
    const bool began = c && c->origin == s, stays = began && s->obj.thread && s->obj.thread != cji_thread_id();
    if (stays) {
        cji_fail(
            NULL, CJ_ESTATE, "cj_stream_free",
            "the stream is being captured and stays; end the capture, or free the stream, on the thread that "
            "wrapped it");
        cji_log(CJ_LOG_ERROR, "%s", cj_error_last()->message);
    } else if (began) {
        cji_obj_retain(s);
        c->rules->abandon(s, c);
        cji_stream_drop(s);
    }
    cji_capture_drop(c);
    return !stays;
}

/* -- Failures ------------------------------------------------------------------------------------------------------ */

void cji_capture_fail(cji_capture *c)
{
    cji_lock(&c->lock, CJI_LOCK_CAPTURE);
    if (!c->failed) c->first = *cj_error_last();
    c->failed = true;
    cji_unlock(&c->lock, CJI_LOCK_CAPTURE);
}

cj_status cji_stream_failed(cj_stream *s, cj_status st)
{
    if (s->proxy) cji_proxy_follow(s); /* a part of the work may have been enqueued */
    if (!atomic_load(&s->capturing)) return st;
    cji_capture *c = cji_capture_of(s);
    if (c) cji_capture_fail(c);
    cji_capture_drop(c);
    return st;
}

cj_status cji_stream_fail_with(cj_stream *s, const cj_error *why)
{
    return cji_stream_failed(s, cji_fail_with(s, why));
}

cj_status cji_stream_rejected(cj_stream *s, CUresult r, const char *call, const char *cu_call)
{
    return cji_stream_failed(s, cji_rejected(s, s->dev, r, call, cu_call));
}
