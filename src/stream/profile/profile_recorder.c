/* Recorders of devices: tracks of streams, timing events, the hooks around work. */
#include "base/cancel.h"
#include "stream/profile/stream_profile.h"

enum {
    RECORDER_GROWTH = 32,   /* events made at a time */
    RECORDER_EVENTS = 65536, /* most events of a device; further work is lost */
    RECORDER_PENDING = 64,  /* of a track: then what is reached is read */
    RECORDER_READ = 48      /* of it */
};

/* -- Devices and streams ------------------------------------------------------------------------------------------- */

static void track_release(cji_timing *timing)
{
    cji_track *t = (cji_track *)timing;
    cji_free(t, sizeof *t);
}

/* With the lock held, or nobody knows the device any more: the work is lost to its profiles. */
static void pending_forget(cji_recorder *r, cji_pending *p)
{
    cji_recorder_give(r, p->start, p->end);
    cji_free(p, sizeof *p);
}

static void track_forget(cji_recorder *r, cji_track *t)
{
    for (cji_pending *p = t->first, *next; p; p = next) {
        next = p->next;
        cji_profiles_lose();
        pending_forget(r, p);
    }
    for (cji_pending *p = t->open, *next; p; p = next) {
        next = p->next;
        pending_forget(r, p);
    }
    cji_timing_drop(&t->timing);
}

/* The device is closed, and no stream of it is left: waits for a while for what is pending; in a scope. */
static void recorder_free(cji_device_state *base)
{
    cji_recorder *r = (cji_recorder *)base;
    const uint64_t deadline = cji_deadline(1000);
    cji_pause pause = { 0 };
    size_t pending;
    do {
        cji_profiles_lock();
        cji_harvest_all();
        pending = cji_harvest_pending(r);
        cji_profiles_unlock();
    } while (pending && cji_pause_until(&pause, deadline));
    cji_profiles_lock();
    cji_recorder **at = (cji_recorder **)&cji_process.profiles.recorders;
    while (*at != r) at = &(*at)->next;
    *at = r->next;
    for (cji_track *t = r->tracks, *next; t; t = next) {
        next = t->next;
        track_forget(r, t);
    }
    cji_profiles_unlock();
    cji_launches_drop(r);
    for (size_t i = 0; i < r->nfree; i++) r->cu->cuEventDestroy(r->free[i]);
    if (r->anchor) r->cu->cuEventDestroy(r->anchor);
    cji_free(r->free, r->cap * sizeof *r->free);
    cji_free(r, sizeof *r);
    void (*closed)(void) = atomic_load(&cji_process.profiles.device_closed);
    if (closed) closed();
}

/* Events that nothing needs are released; in a scope. */
static void recorder_trim(cji_device_state *base)
{
    cji_recorder *r = (cji_recorder *)base;
    cji_profiles_lock();
    while (r->nfree) {
        r->cu->cuEventDestroy(r->free[--r->nfree]);
        r->events--;
    }
    cji_profiles_unlock();
}

static cji_recorder *recorder_make(cji_release_queue *queue)
{
    static atomic_uint numbers;
    const cj_device *dev = (const cj_device *)((const char *)queue - offsetof(cj_device, queue));
    cji_recorder *r = cji_zalloc(sizeof *r);
    if (!r) return NULL;
    r->base = (cji_device_state){ .free = recorder_free, .trim = recorder_trim };
    r->queue = queue;
    r->cu = queue->cu;
    r->number = atomic_fetch_add(&numbers, 1) + 1;
    r->device = dev->ordinal;
    memcpy(r->name, dev->info.name, sizeof r->name < sizeof dev->info.name ? sizeof r->name : sizeof dev->info.name);
    r->name[sizeof r->name - 1] = 0;
    r->offset = INT64_MIN;
    return r;
}

cji_recorder *cji_recorder_of(const cji_release_queue *of)
{
    cji_release_queue *queue = (cji_release_queue *)(uintptr_t)of;
    cji_recorder *r = (cji_recorder *)cji_release_queue_state(queue, CJI_STATE_PROFILE), *fresh = NULL;
    if (r || !(fresh = recorder_make(queue))) return r;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    r = (cji_recorder *)cji_release_queue_state(queue, CJI_STATE_PROFILE);
    if (!r) {
        cji_profiles_lock();
        fresh->next = cji_recorders();
        cji_process.profiles.recorders = fresh;
        cji_profiles_unlock();
        queue->state[CJI_STATE_PROFILE] = &fresh->base;
        r = fresh;
        fresh = NULL;
    }
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    cji_free(fresh, sizeof *fresh);
    return r;
}

cji_track *cji_track_of(cj_stream *s)
{
    cji_track *t = (cji_track *)atomic_load(&s->timing);
    if (t) return t;
    cji_recorder *r = cji_recorder_of(s->queue);
    t = r ? cji_zalloc(sizeof *t) : NULL;
    if (!t) return NULL;
    cji_launches_measure(r);
    t->timing.release = track_release;
    atomic_store(&t->timing.refs, 2);
    t->recorder = r;
    t->stream = s->id;
    t->priority = s->priority;
    t->last = &t->first;
    t->last_end = INT64_MIN;
    cji_timing *had = NULL;
    cji_profiles_lock();
    if (atomic_compare_exchange_strong(&s->timing, &had, &t->timing)) {
        t->next = r->tracks;
        r->tracks = t;
    } else {
        cji_free(t, sizeof *t);
        t = (cji_track *)had;
    }
    cji_profiles_unlock();
    return t;
}

/* -- Events -------------------------------------------------------------------------------------------------------- */

void cji_recorder_give(cji_recorder *r, CUevent start, CUevent end)
{
    if (start) r->free[r->nfree++] = start; /* there is room for all events of the recorder */
    if (end) r->free[r->nfree++] = end;
}

/* With the lock held. */
static bool recorder_take(cji_recorder *r, CUevent *start, CUevent *end)
{
    if (r->nfree < 2) return false;
    *start = r->free[--r->nfree];
    *end = r->free[--r->nfree];
    return true;
}

/* Makes events; the lock is not held, as that may take a while. */
static void recorder_grow(cji_recorder *r)
{
    CUevent made[RECORDER_GROWTH];
    unsigned n = 0;
    cji_scope scope;
    CUresult got = cji_scope_enter(&scope, r->cu, r->queue->ctx);
    while (got == CUDA_SUCCESS && n < RECORDER_GROWTH)
        if ((got = r->cu->cuEventCreate(&made[n], CU_EVENT_DEFAULT)) == CUDA_SUCCESS) n++;
    cji_profiles_lock();
    const bool room = r->events + n <= RECORDER_EVENTS && cji_grow(&r->free, &r->cap, r->events + n, sizeof *r->free);
    if (room) {
        r->events += n;
        while (n) r->free[r->nfree++] = made[--n];
    }
    cji_profiles_unlock();
    while (n) r->cu->cuEventDestroy(made[--n]);
    cji_scope_leave(&scope);
}

void cji_profiles_lose(void)
{
    for (unsigned i = 0; i < CJI_PROFILE_SLOTS; i++)
        if (cji_process.profiles.on[i]) cji_process.profiles.on[i]->lost++;
}

/* -- Start and end ------------------------------------------------------------------------------------------------- */

/* Nothing is recorded in a capture, the library's or somebody's; context current where the stream needs one. */
static bool recorder_may(cj_stream *s)
{
    return !atomic_load(&s->capturing) && !cji_stream_captures(s->queue, s->raw);
}

/* The context of a stream whose handle needs it. */
static CUresult recorder_scope(cj_stream *s, cji_scope *scope)
{
    *scope = (cji_scope){ .cu = NULL };
    return cji_stream_needs_context(s) ? cji_scope_context(scope, s->cu, s->queue->ctx) : CUDA_SUCCESS;
}

/* Events, and the profiles that are on. */
static bool recorder_begin(cji_recorder *r, cji_pending *p)
{
    bool got = false;
    for (unsigned round = 0; round < 2 && !got; round++) {
        if (round) recorder_grow(r);
        cji_profiles_lock();
        for (unsigned i = 0; i < CJI_WORK_SINKS; i++)
            p->sink[i] = cji_process.profiles.on[i] ? cji_process.profiles.on[i]->turn : 0;
        got = recorder_take(r, &p->start, &p->end);
        if (!got && round) cji_profiles_lose();
        cji_profiles_unlock();
    }
    return got;
}

static void recorder_cancel(cji_recorder *r, cji_pending *p, bool lost)
{
    cji_profiles_lock();
    cji_recorder_give(r, p->start, p->end);
    if (lost) cji_profiles_lose();
    cji_profiles_unlock();
    p->start = p->end = NULL;
}

bool cji_recorder_start(cj_stream *s, cji_track *t, cji_pending *p)
{
    CJI_NO_CANCEL;
    cji_scope scope;
    bool started = false;
    if (recorder_scope(s, &scope) == CUDA_SUCCESS && recorder_may(s) && recorder_begin(t->recorder, p)) {
        p->submit = cji_now();
        started = s->cu->cuEventRecord(p->start, s->raw) == CUDA_SUCCESS;
        if (!started) recorder_cancel(t->recorder, p, true);
    }
    cji_scope_leave(&scope);
    return started;
}

/* Reads some of a track that has much pending, so that its events are used again. */
static void recorder_read_some(cji_track *t)
{
    cji_scope scope;
    if (cji_scope_enter(&scope, t->recorder->cu, t->recorder->queue->ctx) == CUDA_SUCCESS) {
        cji_profiles_lock();
        cji_track_harvest(t, RECORDER_READ);
        cji_profiles_unlock();
    }
    cji_scope_leave(&scope);
}

bool cji_recorder_finish(cj_stream *s, cji_track *t, cji_pending *p)
{
    CJI_NO_CANCEL;
    cji_scope scope;
    const bool may = recorder_scope(s, &scope) == CUDA_SUCCESS && recorder_may(s);
    const bool ended = may && s->cu->cuEventRecord(p->end, s->raw) == CUDA_SUCCESS;
    cji_scope_leave(&scope);
    if (!ended) {
        recorder_cancel(t->recorder, p, may);
        return false;
    }
    cji_profiles_lock();
    p->next = NULL;
    *t->last = p;
    t->last = &p->next;
    const bool much = ++t->count >= RECORDER_PENDING;
    cji_profiles_unlock();
    if (much) recorder_read_some(t);
    return true;
}

/* -- Hooks --------------------------------------------------------------------------------------------------------- */

static void profile_work_begin(cji_work *w, cj_stream *s)
{
    cji_pending p = { .next = NULL };
    cji_track *t = cji_track_of(s);
    if (!t || !cji_recorder_start(s, t, &p)) return;
    w->timing = &t->timing;
    w->start = p.start;
    w->end = p.end;
    w->submit = p.submit;
    memcpy(w->sink, p.sink, sizeof w->sink);
}

/* What is pending of it, named; NULL without memory. */
static cji_pending *work_pending(const cji_work *w, const cji_work_info *what)
{
    const cji_track *t = (const cji_track *)w->timing;
    cji_pending *p = cji_zalloc(sizeof *p);
    if (!p) return NULL;
    *p = (cji_pending){ .start = w->start, .end = w->end, .submit = w->submit, .bytes = what->bytes,
                        .from = what->from, .kind = what->kind };
    memcpy(p->sink, w->sink, sizeof p->sink);
    cji_profiles_lock();
    p->name = cji_profile_name(*what->name ? what->name : cji_profile_kind_names[what->kind]);
    p->depth = t->depth;
    p->inside_mark = t->marks > 0;
    cji_profiles_unlock();
    if (p->name) return p;
    cji_free(p, sizeof *p);
    return NULL;
}

static void profile_work_end(cji_work *w, cj_stream *s, bool done, const cji_work_info *what)
{
    cji_track *t = (cji_track *)w->timing;
    if (!t) return;
    cji_pending *p = done ? work_pending(w, what) : NULL, none = { .start = w->start, .end = w->end };
    if (!p) recorder_cancel(t->recorder, &none, done);
    else if (!cji_recorder_finish(s, t, p)) cji_free(p, sizeof *p);
}

static void profile_work_memory(const cji_release_queue *queue, uint64_t bytes)
{
    cji_recorder *r = cji_recorder_of(queue);
    const int64_t now = (int64_t)cji_now();
    cji_profiles_lock();
    const char *name = r ? cji_profile_name(cji_profile_kind_names[CJ_PROFILE_MEMORY]) : NULL;
    const cji_profile_entry e = { .name = name, .bytes = bytes, .submit = (uint64_t)now, .start = now, .end = now,
                          .kind = CJ_PROFILE_MEMORY };
    for (unsigned i = 0; i < CJI_PROFILE_SLOTS && name; i++)
        if (cji_process.profiles.on[i]) cji_profile_keep(cji_process.profiles.on[i], r, 0, 0, &e);
    if (!name) cji_profiles_lose();
    cji_profiles_unlock();
}

const cji_work_hooks cji_profile_hooks = { profile_work_begin, profile_work_end, profile_work_memory };
