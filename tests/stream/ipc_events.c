/* One event in two processes: not reached while the stream that it was recorded on is held, in the other process as in
 * its own; reached when that has passed.  The other process is this program, started anew.  Where the driver has no
 * such events, that is said. */
#include "tests/peer.h"
#include "tests/device_parts.h"

/* ---- The other process ------------------------------------------------------------------------------------------- */

enum { IMPORT, REACHED, SYNC, WAIT, STREAM_SYNC, HOLD, LET_GO, RECORD, FREE };

static struct {
    cj_driver *drv;
    cj_device *dev;
    cj_stream *s;
    cj_event *e;
    struct latch l;
} their = { .l = LATCH_CLOSED };

static int64_t import(const peer_question *q)
{
    their.drv = cj_driver_open(NULL);
    their.dev = cj_device_open(their.drv, 0, NULL);
    their.s = cj_stream_create(their.dev, NULL);
    their.e = cj_event_import(their.dev, q->handle, CJ_IPC_EVENT_BYTES);
    return cj_error_of(their.e)->status;
}

static int64_t answer(const peer_question *q)
{
    switch (q->what) {
    case IMPORT: return import(q);
    case REACHED: return cj_event_query(their.e);
    case SYNC: return cj_event_sync(their.e);
    case WAIT: return cj_stream_wait(their.s, their.e);
    case STREAM_SYNC: return cj_stream_sync_for(their.s, (uint32_t)q->value);
    case HOLD: return bench_hold(their.s, &their.l), CJ_OK;
    case LET_GO: return latch_open(&their.l), CJ_OK;
    case RECORD: return cj_event_record(their.e, their.s);
    case FREE: return cj_event_free(their.e), CJ_OK;
    default: return -1;
    }
}

/* ---- This one ---------------------------------------------------------------------------------------------------- */

static void recorded_here(peer *p, cj_event *e, cj_stream *s)
{
    struct latch l = LATCH_CLOSED;
    bench_hold(s, &l);
    tap_is_int(cj_event_record(e, s), CJ_OK, "recorded here on a stream that is held");
    tap_is_int(peer_ask(p, REACHED, 0, NULL), CJ_ENOTREADY, "it is not reached there");
    tap_is_int(peer_ask(p, WAIT, 0, NULL), CJ_OK, "a stream there waits for it");
    tap_is_int(peer_ask(p, STREAM_SYNC, 10, NULL), CJ_ETIMEOUT, "and is held");
    peer_ask_only(p, SYNC, 0, NULL);
    latch_open(&l);
    tap_is_int(peer_answer(p), CJ_OK, "a thread there waits until it is reached");
    tap_is_int(peer_ask(p, STREAM_SYNC, 10000, NULL), CJ_OK, "the stream goes on");
    tap_is_int(peer_ask(p, REACHED, 0, NULL), CJ_OK, "it is reached there");
    tap_is_int(cj_stream_sync(s), CJ_OK, "and here");
}

static void recorded_there(peer *p, cj_event *e, cj_stream *s)
{
    peer_ask(p, HOLD, 0, NULL);
    tap_is_int(peer_ask(p, RECORD, 0, NULL), CJ_OK, "recorded there on a stream that is held");
    tap_is_int(cj_event_sync_for(e, 10), CJ_ETIMEOUT, "it is not reached here");
    tap_is_int(cj_stream_wait(s, e), CJ_OK, "a stream here waits for it");
    tap_is_int(cj_stream_sync_for(s, 10), CJ_ETIMEOUT, "and is held");
    peer_ask(p, LET_GO, 0, NULL);
    tap_is_int(cj_event_sync(e), CJ_OK, "then it is reached");
    tap_is_int(cj_stream_sync(s), CJ_OK, "and the stream goes on");
}

static void between(cj_device *dev, cj_event *e, cj_stream *s, const unsigned char *handle)
{
    peer p;
    peer_start(&p);
    const int64_t st = peer_ask(&p, IMPORT, 0, handle);
    if (st != CJ_OK && tap_on_gpu()) {
        tap_skip(1, "this driver opens no event of another process: status %d", (int)st);
        peer_end(&p);
        return;
    }
    tap_is_int(st, CJ_OK, "another process takes the event in");
    cj_event *own = cj_event_import(dev, handle, CJ_IPC_EVENT_BYTES);
    tap_is_int(cj_error_of(own)->status, CJ_EINVAL, "the process that gave it out does not");
    tap_has_str(cj_error_of(own)->message, "which has the event: use that one", "and the fix is named");
    cj_event_free(own);
    tap_is_int(peer_ask(&p, REACHED, 0, NULL), CJ_OK, "an event that was never recorded is reached there");
    recorded_here(&p, e, s);
    recorded_there(&p, e, s);
    recorded_here(&p, e, s);
    tap_is_int(peer_ask(&p, FREE, 0, NULL), CJ_OK, "released there");
    tap_is_int(cj_event_record(e, s), CJ_OK, "it goes on here");
    tap_is_int(cj_event_sync(e), CJ_OK, "as before");
    tap_is_int(peer_end(&p), 0, "the other process ends well");
}

int main(int argc, char **argv)
{
    if (argc > 2) return peer_serve(argv[2], answer);
    tap_need_device(1);
    tap_plan(0);
    unsigned char handle[CJ_IPC_EVENT_BYTES];
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_event *e = cj_event_create(dev, CJ_EVENT(.ipc = 1));
    const cj_status st =
        cj_error_of(e)->status ? (cj_status)cj_error_of(e)->status : cj_event_export(e, handle, sizeof handle);
    if (st != CJ_OK && tap_on_gpu()) {
        tap_skip(1, "this driver has no events between processes, and says so: %s", cj_error_of(e)->message);
    } else {
        tap_is_int(st, CJ_OK, "the event is given out: %s", cj_error_of(e)->message);
        between(dev, e, s, handle);
    }
    cj_event_free(e);
    tap_is_int(cj_stream_sync(s), CJ_OK, "nothing failed");
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
