/* A record on a stream takes no lock; where another thread records the same event in a capture meanwhile, library and
 * driver still agree about which record was the last one. */
#include <pthread.h>
#include <string.h>

#include "tests/device_bench.h"

static cj_event *e;
static const char *armed; /* where the other thread comes in: "before" or "after" the driver's call */
static int records;

/* Another thread begins a capture of `t` and records the event there. */
static void *record_captured(void *user)
{
    (void)user;
    tap_is_int(cj_capture_begin(t, CJ_CAPTURE_RELAXED), CJ_OK, "... another thread begins a capture");
    tap_is_int(cj_event_record(e, t), CJ_OK, "... and records the event in it");
    return NULL;
}

static void come_in(const char *when, const char *name)
{
    pthread_t other;
    if (!armed || strcmp(armed, when) || strcmp(name, "cuEventRecord")) return;
    armed = NULL;
    pthread_create(&other, NULL, record_captured, NULL);
    pthread_join(other, NULL);
}

static int before(void *user, uint64_t number, const char *name)
{
    (void)user, (void)number;
    records += !strcmp(name, "cuEventRecord");
    come_in("before", name);
    return 0;
}

static void after(void *user, uint64_t number, const char *name, const char *text, int result)
{
    (void)user, (void)number, (void)text, (void)result;
    come_in("after", name);
}

static void meet(const char *when)
{
    cj_stream *u = cj_stream_create(dev, NULL);
    armed = when;
    records = 0;
    tap_is_int(cj_event_record(e, s), CJ_OK, "a record, and %s the driver's call:", when);
    tap_is_int(records, 3, "... then the first record is repeated");
    tap_is_int(cj_event_sync_for(e, 10000), CJ_OK, "... and is what the event stands for: %s",
               cj_error_of(e)->message);
    tap_is_int(cj_stream_wait(u, e), CJ_OK, "... for streams too");
    tap_ok(!cj_stream_is_capturing(u), "... which do not join the capture");
    cj_graph *g = cj_capture_end(t);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "... which ends as usual: %s", cj_error_of(g)->message);
    cj_graph_free(g);
    cj_stream_free(u);
}

/* Records on streams and in captures by turns, one thread. */
static void by_turns(void)
{
    for (int i = 0; i < 3; i++) {
        cj_stream *u = cj_stream_create(dev, NULL);
        cj_capture_begin(t, CJ_CAPTURE_RELAXED);
        tap_is_int(cj_event_record(e, t), CJ_OK, "turn %d: recorded in a capture", i);
        tap_is_int(cj_event_query(e), CJ_ESTATE, "... it cannot be queried");
        tap_is_int(cj_stream_wait(u, e), CJ_OK, "... a stream that waits for it");
        tap_ok(cj_stream_is_capturing(u), "... joins the capture");
        tap_is_int(cj_stream_join(t, u), CJ_OK, "... and is joined to it again");
        tap_is_int(cj_event_record(e, s), CJ_OK, "... recorded on a stream");
        tap_is_int(cj_event_sync_for(e, 10000), CJ_OK, "... it is reached");
        cj_graph_free(cj_capture_end(t));
        tap_is_int(cj_event_record(e, s), CJ_OK, "... and recorded again");
        cj_stream_free(u);
    }
}

int main(void)
{
    cj_interposer_opts over;
    cj_interposer_defaults(&over);
    over.before = before;
    over.after = after;
    bench_open_over(&over, 0);
    e = cj_event_create(dev, NULL);
    tap_is_int(cj_event_record(e, s), CJ_OK, "an event is recorded");
    meet("before");
    tap_is_int(cj_event_record(e, s), CJ_OK, "recorded once more");
    meet("after");
    by_turns();
    cj_event_free(e);
    return bench_close();
}
