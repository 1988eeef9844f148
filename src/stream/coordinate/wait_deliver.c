/* Completed waits: their callbacks are called, their records taken, and the descriptor shows that there are some. */
#include <unistd.h>

#include "base/cancel.h"
#include "stream/coordinate/stream_coordinate.h"

static void queue_push(cji_wait_queue *q, cji_waiting *a)
{
    a->next = NULL;
    *q->last = a;
    q->last = &a->next;
    q->count++;
}

static cji_waiting *queue_pop(cji_wait_queue *q)
{
    cji_waiting *a = q->first;
    if (!a) return NULL;
    q->first = a->next;
    if (!q->first) q->last = &q->first;
    q->count--;
    return a;
}

void cji_wait_show(cj_waiter *w)
{
    CJI_NO_CANCEL;
    uint64_t count = 1;
    const bool some = w->records.count || (w->callbacks == CJ_WAITER_CALLER && w->calls.count);
    if (w->fd < 0 || some == w->readable) return;
    const ssize_t moved = some ? write(w->fd, &count, sizeof count) : read(w->fd, &count, sizeof count);
    if (moved == sizeof count) w->readable = some;
}

void cji_wait_queue_up(cj_waiter *w, cji_waiting *a)
{
    queue_push(a->fn ? &w->calls : &w->records, a);
    if (a->fn && w->callbacks == CJ_WAITER_THREAD) cji_wait_wake(w, 0);
    else if (a->fn && w->callbacks == CJ_WAITER_POOL) pthread_cond_signal(&w->work);
    else pthread_cond_broadcast(&w->readers);
    cji_wait_show(w);
}

bool cji_wait_take_record(cj_waiter *w, cj_wait_record *record)
{
    cji_waiting *a = queue_pop(&w->records);
    if (!a) return false;
    *record = (cj_wait_record){ .wait = cji_wait_handle(a),
                                .user = a->user,
                                .waited_ns = a->ended - a->added,
                                .result = a->result,
                                .driver = a->driver };
    cji_wait_return(w, a);
    return true;
}

/* -- Callbacks ----------------------------------------------------------------------------------------------------- */

bool cji_wait_in_callback(const cj_waiter *w)
{
    for (const cji_wait_running *r = w->running; r; r = r->next)
        if (pthread_equal(r->thread, pthread_self())) return true;
    return false;
}

static void running_end(cj_waiter *w, const cji_wait_running *mine)
{
    cji_wait_running **at = &w->running;
    while (*at != mine) at = &(*at)->next;
    *at = mine->next;
}

/* The thread is the user's meanwhile.  Its context is the device's again for the next callback: that is looked at
 * behind this one, so that no call of the driver is between a completion and its callback. */
static void wait_call(cj_waiter *w, cji_waiting *a, bool set_context)
{
    cji_scope *scope = cji_scope_suspend();
    a->fn(a->user, (cj_wait_result)a->result);
    cji_scope_resume(scope);
    CUcontext now = NULL;
    if (set_context && w->cu->cuCtxGetCurrent(&now) == CUDA_SUCCESS && now != w->dev->ctx)
        w->cu->cuCtxSetCurrent(w->dev->ctx);
}

bool cji_wait_call_one(cj_waiter *w)
{
    cji_waiting *a = queue_pop(&w->calls);
    if (!a) return false;
    cji_wait_running mine = { w->running, pthread_self() };
    w->running = &mine;
    a->state = CJI_WAIT_RUNNING;
    cji_wait_show(w);
    const bool set_context = w->callbacks != CJ_WAITER_CALLER && !w->dead;
    cji_unlock(&w->lock, CJI_LOCK_WAITER);
    wait_call(w, a, set_context);
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    running_end(w, &mine);
    cji_wait_return(w, a);
    if (w->closed) pthread_cond_broadcast(&w->readers);
    return true;
}
