/* Each wait has one completion, whoever is first: the work, its timeout, a cancel, or the end of the waiter. A ledger
 * that the waiter knows nothing of counts them. */
#include <stdatomic.h>
#include <stdlib.h>

#include "tests/device_bench.h"
#include "tests/stream/waits.h"

enum { THREADS = 4, MOST = 10000 };

static int rounds;

/* One wait, as the ledger sees it. */
typedef struct entry { atomic_int ends; atomic_int result; } entry;
static entry ledger[MOST];

static void entry_end(void *user, cj_wait_result result)
{
    entry *a = user;
    atomic_store(&a->result, (int)result);
    atomic_fetch_add(&a->ends, 1);
}

static void ledger_clear(void)
{
    for (int i = 0; i < rounds; i++) atomic_store(&ledger[i].ends, 0), atomic_store(&ledger[i].result, -1);
}

/* How many do not have exactly one completion. */
static int ledger_wrong(void)
{
    int wrong = 0;
    for (int i = 0; i < rounds; i++) wrong += atomic_load(&ledger[i].ends) != 1;
    return wrong;
}

static int ledger_of(cj_wait_result result)
{
    int of = 0;
    for (int i = 0; i < rounds; i++) of += atomic_load(&ledger[i].result) == (int)result;
    return of;
}

/* -- A cancel against the completion ------------------------------------------------------------------------------- */

static void cancel_against_end(int callbacks)
{
    int cancelled = 0, failed = 0;
    cj_waiter *w = cj_waiter_create(dev, CJ_WAITER(.callbacks = callbacks, .threads = 2));
    ledger_clear();
    for (int i = 0; i < rounds; i++) {
        const cj_wait a = cj_waiter_add_stream(w, i % 2 ? s : t, CJ_WAIT_FOREVER, entry_end, &ledger[i]);
        for (volatile int pause = i % 64 * 8; pause > 0; pause--) {}
        const cj_status st = cj_waiter_cancel(w, a, NULL);
        cancelled += st == CJ_OK;
        failed += !a || (st != CJ_OK && st != CJ_ENOTFOUND);
    }
    cj_waiter_free(w);
    tap_is_int(failed, 0, "callbacks %d: %d cancels against completions", callbacks, rounds);
    tap_is_int(ledger_wrong(), 0, "... each wait has one completion");
    tap_is_int(ledger_of(CJ_WAIT_CANCELLED), cancelled, "... %d are cancelled, as cj_waiter_cancel reports", cancelled);
    tap_is_int(ledger_of(CJ_WAIT_CANCELLED) + ledger_of(CJ_WAIT_DONE), rounds, "... the others are done");
}

/* -- Timeouts against completions, and the end of the waiter ------------------------------------------------------- */

static void all_against_all(void)
{
    cj_waiter *w = cj_waiter_create(dev, CJ_WAITER(.callbacks = CJ_WAITER_POOL, .threads = 2));
    ledger_clear();
    for (int i = 0; i < rounds; i++) {
        const uint32_t ms = i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : CJ_WAIT_FOREVER;
        const cj_wait a = cj_waiter_add_stream(w, i % 2 ? s : t, ms, entry_end, &ledger[i]);
        if (i % 7 == 0) cj_waiter_cancel(w, a, NULL);
    }
    cj_waiter_free(w);
    tap_is_int(ledger_wrong(), 0, "work, timeouts, cancels and the end: each of %d waits has one completion", rounds);
}

/* -- Several threads add, cancel and poll one waiter --------------------------------------------------------------- */

static cj_waiter *shared;
static atomic_int polled, strange;

static void *poll_shared(void *user)
{
    cj_wait_record r[16];
    (void)user;
    for (int n; (n = cj_waiter_poll(shared, r, 16, 1000)) >= 0;) {
        for (int i = 0; i < n; i++) {
            entry *a = r[i].user;
            if (!r[i].wait || r[i].driver) atomic_fetch_add(&strange, 1);
            entry_end(a, (cj_wait_result)r[i].result);
        }
        atomic_fetch_add(&polled, n);
    }
    return NULL;
}

typedef struct part { pthread_t thread; int first, count; cj_stream *on; } part;

static void *add_shared(void *user)
{
    part *p = user;
    for (int i = p->first; i < p->first + p->count; i++) {
        const cj_wait a = cj_waiter_add_stream(shared, p->on, 10000, NULL, &ledger[i]);
        if (!a) atomic_fetch_add(&strange, 1);
        if (i % 5 == 0) cj_waiter_cancel(shared, a, NULL);
    }
    return NULL;
}

static void many_threads(void)
{
    part adds[THREADS];
    pthread_t polls[THREADS];
    ledger_clear();
    atomic_store(&polled, 0), atomic_store(&strange, 0);
    shared = cj_waiter_create(dev, NULL);
    for (int i = 0; i < THREADS; i++) {
        adds[i] = (part){ .first = i * (rounds / THREADS), .count = rounds / THREADS, .on = i % 2 ? s : t };
        pthread_create(&polls[i], NULL, poll_shared, NULL);
        pthread_create(&adds[i].thread, NULL, add_shared, &adds[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(adds[i].thread, NULL);
    cj_waiter_shutdown(shared);
    for (int i = 0; i < THREADS; i++) pthread_join(polls[i], NULL);
    tap_is_int(atomic_load(&polled), rounds, "%d threads add and %d poll %d waits", THREADS, THREADS, rounds);
    tap_is_int(ledger_wrong(), 0, "... each wait has one record");
    tap_is_int(atomic_load(&strange), 0, "... and nothing fails");
    cj_waiter_free(shared);
}

/* -- An event recorded again and again while it is waited for ------------------------------------------------------ */

static void *record_often(void *user)
{
    for (int i = 0; i < rounds / 4; i++) cj_event_record(user, i % 2 ? s : t);
    return NULL;
}

static void recorded_meanwhile(void)
{
    pthread_t thread;
    cj_event *e = cj_event_create(dev, NULL);
    cj_waiter *w = cj_waiter_create(dev, NULL);
    ledger_clear();
    cj_event_record(e, s);
    pthread_create(&thread, NULL, record_often, e);
    for (int i = 0; i < rounds; i++)
        if (!cj_waiter_add(w, e, CJ_WAIT_FOREVER, entry_end, &ledger[i])) tap_fail("a wait is added");
    pthread_join(thread, NULL);
    cj_stream_sync(s), cj_stream_sync(t);
    cj_waiter_free(w);
    tap_is_int(ledger_wrong(), 0, "an event is recorded while it is waited for: each wait has one completion");
    tap_is_int(ledger_of(CJ_WAIT_DONE) + ledger_of(CJ_WAIT_SHUTDOWN), rounds, "... done, or shut down at the end");
    cj_event_free(e);
}

int main(void)
{
    bench_open(0);
    tap_timeout(60);
    rounds = tap_is_slow() ? 400 : MOST;
    for (int callbacks = CJ_WAITER_THREAD; callbacks <= CJ_WAITER_CALLER; callbacks++) cancel_against_end(callbacks);
    all_against_all();
    many_threads();
    recorded_meanwhile();
    return bench_close();
}
