#include "tests/stream/waits.h"

#include "base/handover.h"
#include "tests/tap.h"

void seen_call(void *user, cj_wait_result result)
{
    seen *n = user;
    pthread_mutex_lock(&n->lock);
    n->calls++;
    n->last = result;
    if ((unsigned)result < SEEN_RESULTS) n->of[result]++;
    pthread_cond_broadcast(&n->cond);
    pthread_mutex_unlock(&n->lock);
}

int seen_wait(seen *n, int calls)
{
    pthread_mutex_lock(&n->lock);
    while (n->calls < calls) pthread_cond_wait(&n->cond, &n->lock);
    int last = n->last;
    pthread_mutex_unlock(&n->lock);
    return last;
}

int seen_calls(seen *n)
{
    pthread_mutex_lock(&n->lock);
    int calls = n->calls;
    pthread_mutex_unlock(&n->lock);
    return calls;
}

int seen_of(seen *n, cj_wait_result result)
{
    pthread_mutex_lock(&n->lock);
    int of = n->of[result];
    pthread_mutex_unlock(&n->lock);
    return of;
}

int seen_take(cj_waiter *w, int callbacks, seen *n, int calls)
{
    cj_wait_record record;
    if (callbacks < 0) return cj_waiter_poll(w, &record, 1, 10000) == 1 ? record.result : -1;
    if (callbacks == CJ_WAITER_CALLER && cj_waiter_run(w, 1, 10000) != 1) return -1;
    return seen_wait(n, calls);
}

/* -- Gates --------------------------------------------------------------------------------------------------------- */

static cj_device *gates_of;
static volatile uint32_t *gates;

void gates_make(cj_device *dev)
{
    gates_of = dev;
    gates = cj_host_alloc(dev, GATES * sizeof *gates, NULL);
    if (!gates) tap_bail("%s", cj_error_of(dev)->message);
    cji_handover_flag(gates, GATES * sizeof *gates); /* read by the device */
}

void gates_free(void) { cj_host_free(gates_of, (void *)(uintptr_t)gates); }

void gate_hold(int gate, cj_stream *on)
{
    gates[gate] = 0;
    cj_stream_wait_value32(on, (cj_dptr){ (uint64_t)(uintptr_t)&gates[gate] }, 1, CJ_COMPARE_EQ);
}

void gate_open(int gate) { cji_handover_give(&gates[gate]), __atomic_store_n(&gates[gate], 1, __ATOMIC_RELEASE); }
