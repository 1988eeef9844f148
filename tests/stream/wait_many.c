/* A hundred thousand waits at once: all of them end, and each once. */
#include <stdatomic.h>
#include <stdlib.h>

#include "tests/device_bench.h"
#include "tests/stream/waits.h"

enum { STREAMS = 8, EVENTS = 64, MOST = 100000 };

static atomic_int results[SEEN_RESULTS];
static unsigned char ends[MOST]; /* of one waiter with a thread: no two callbacks at a time */

static void count(void *user, cj_wait_result result)
{
    atomic_fetch_add(&results[result], 1);
    ends[(uintptr_t)user]++;
}

static int wrong_ends(int waits)
{
    int wrong = 0;
    for (int i = 0; i < waits; i++) wrong += ends[i] != 1;
    return wrong;
}

int main(void)
{
    bench_open(0);
    tap_timeout(60);
    gates_make(dev);
    const int waits = tap_is_slow() ? 2000 : MOST;
    cj_stream *on[STREAMS];
    cj_event *e[EVENTS];
    cj_wait *wait = malloc((size_t)waits * sizeof *wait);
    cj_waiter *w = cj_waiter_create(dev, NULL);
    for (int i = 0; i < STREAMS; i++) {
        on[i] = cj_stream_create(dev, NULL);
        gate_hold(i, on[i]);
    }
    for (int i = 0; i < EVENTS; i++) {
        e[i] = cj_event_create(dev, NULL);
        cj_event_record(e[i], on[i % STREAMS]);
    }
    int added = 0, cancelled = 0;
    for (int i = 0; i < waits; i++) {
        const uint32_t ms = i % 10 == 0 ? 1 : CJ_WAIT_FOREVER;
        wait[i] = cj_waiter_add(w, e[i % EVENTS], ms, count, (void *)(uintptr_t)i);
        added += wait[i] != 0;
    }
    tap_is_int(added, waits, "%d waits on %d streams", waits, STREAMS);
    for (int i = 1; i < waits; i += 10) cancelled += cj_waiter_cancel(w, wait[i], NULL) == CJ_OK;
    tap_is_int(cancelled, waits / 10, "... of which a tenth is cancelled");
    while (atomic_load(&results[CJ_WAIT_TIMEOUT]) < waits / 10) cj_stream_query(s);
    tap_is_int(atomic_load(&results[CJ_WAIT_DONE]), 0, "... and a tenth is too late, before any is reached");
    for (int i = 0; i < STREAMS - 1; i++) gate_open(i);
    for (int i = 0; i < STREAMS - 1; i++) cj_stream_sync(on[i]);
    int last = 0; /* pending ones of the last stream, which are shut down */
    for (int i = 0; i < waits; i++) last += i % EVENTS % STREAMS == STREAMS - 1 && i % 10 > 1;
    while (atomic_load(&results[CJ_WAIT_DONE]) < waits - 2 * (waits / 10) - last) cj_stream_query(s);
    cj_waiter_free(w);
    tap_is_int(atomic_load(&results[CJ_WAIT_SHUTDOWN]), last, "... the rest is shut down");
    tap_is_int(atomic_load(&results[CJ_WAIT_CANCELLED]), cancelled, "... each is counted by its result");
    tap_is_int(wrong_ends(waits), 0, "... and has one completion");
    gate_open(STREAMS - 1);
    for (int i = 0; i < STREAMS; i++) cj_stream_sync(on[i]), cj_stream_free(on[i]);
    for (int i = 0; i < EVENTS; i++) cj_event_free(e[i]);
    free(wait);
    gates_free();
    return bench_close();
}
