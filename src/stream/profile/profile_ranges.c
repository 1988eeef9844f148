/* Ranges and marks of the user: a stack of each stream. */
#include "stream/profile/stream_profile.h"

static cj_status range_begin(cj_stream *s, int kind, const char *name, const char *call)
{
    if (!name) return cji_fail(s, CJ_EINVAL, call, "the name is NULL");
    if (!cji_work_hooked()) return CJ_OK;
    cji_track *t = cji_track_of(s);
    cji_pending *p = t ? cji_zalloc(sizeof *p) : NULL;
    const char *kept = NULL;
    if (p) {
        cji_profiles_lock();
        kept = cji_profile_name(name);
        cji_profiles_unlock();
    }
    if (!kept) {
        cji_free(p, sizeof *p);
        return cji_fail(s, CJ_ENOMEM, call, "no memory to note the range");
    }
    p->kind = kind;
    p->name = kept;
    p->nvtx = cji_nvtx_start(name);
    cji_recorder_start(s, t, p);
    cji_profiles_lock();
    p->depth = t->depth++;
    p->inside_mark = t->marks > 0;
    if (kind != CJ_PROFILE_RANGE) t->marks++;
    p->next = t->open;
    t->open = p;
    cji_profiles_unlock();
    return CJ_OK;
}

cj_status cj_profile_begin(cj_stream *s, const char *name)
{
    static const char call[] = "cj_profile_begin";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    return st == CJ_OK ? range_begin(s, CJ_PROFILE_RANGE, name, call) : st;
}

cj_status cj_profile_mark(cj_stream *s, cj_profile_kind kind, const char *name)
{
    static const char call[] = "cj_profile_mark";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if ((int)kind < CJ_PROFILE_KERNEL || kind > CJ_PROFILE_WRITE)
        return cji_fail(s, CJ_EINVAL, call, "kind %d is none of CJ_PROFILE_KERNEL to CJ_PROFILE_WRITE", (int)kind);
    return range_begin(s, (int)kind, name, call);
}

/* The innermost open range, which is closed; NULL: there is none. */
static cji_pending *range_take(cji_track *t)
{
    cji_profiles_lock();
    cji_pending *p = t->open;
    if (p) {
        t->open = p->next;
        t->depth--;
        if (p->kind != CJ_PROFILE_RANGE) t->marks--;
    }
    cji_profiles_unlock();
    return p;
}

cj_status cj_profile_end(cj_stream *s)
{
    cj_status st = cji_check(s, CJI_TAG_STREAM, "cj_profile_end");
    cji_track *t = st == CJ_OK ? (cji_track *)atomic_load(&s->timing) : NULL;
    cji_pending *p = t ? range_take(t) : NULL;
    if (!p) return st;
    cji_nvtx_end(p->nvtx);
    if (!p->start || !cji_recorder_finish(s, t, p)) cji_free(p, sizeof *p);
    return CJ_OK;
}
