/* Points of streams: everything enqueued so far, as an event of the library's own that is recorded there.  The event is
 * one of a pool: it returns there with the point. */
#include "stream/core/stream_core.h"

/* The event of a point of its own: of the pool, or made for it.  A failure is the thread's latest only. */
static cj_event *point_event_own(cj_device *dev, cj_event_pool *pool, cj_pooled_event *pooled, const char *call)
{
    cji_kept latest;
    *pooled = 0;
    cji_fail_save(&latest);
    cj_event *e = pool ? cji_event_acquire(pool, CJ_EVENT_REGULAR, pooled, NULL, call) : NULL;
    cji_fail_restore(&latest);
    return e ? e : cj_event_create(dev, NULL);
}

static void point_event_return(cj_event *e, cj_event_pool *pool, cj_pooled_event pooled, bool reached)
{
    if (!pooled) cji_event_drop(e);
    else if (reached) cji_event_release_reached(pool, pooled);
    else cji_event_release(pool, pooled);
}

cji_event_point *cji_stream_point_take(cj_stream *s, cj_event_pool *pool, void *into, const char *call)
{
    cji_event_point *p = NULL;
    cj_pooled_event pooled;
    cj_event *e = point_event_own(s->dev, pool, &pooled, call);
    if (cji_obj_failed(e)) cji_fail_with(s, cj_error_of(e)), cji_fail_also(into);
    else if (cj_event_record(e, s) != CJ_OK) cji_fail_also(into);
    else if (!(p = cji_event_point_own(e)))
        cji_fail(s, CJ_ENOMEM, call, "no memory to note the stream's point"), cji_fail_also(into);
    if (!p) return point_event_return(e, pool, pooled, false), NULL;
    p->pool = pool;
    p->pooled = pooled;
    return p;
}

void cji_event_point_drop(cji_event_point *p)
{
    if (!p->own) {
        cji_event_point_leave(p);
        return;
    }
    point_event_return(p->event, p->pool, p->pooled, atomic_load(&p->known) == CUDA_SUCCESS);
    cji_free(p, sizeof *p);
}
