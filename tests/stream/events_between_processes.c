/* An event of this process seen by another one: not reached while its stream is held, reached when that has passed.  The other process is this program, started
 * anew with the event's handle.  Where the driver has no such events, that is said. */
#include <stdio.h>
#include <string.h>

#include "tests/stream/latch.h"
#include "tests/tap.h"
#include "tests/tap_run.h"

/* The other process: says what the event answers. */
static int other_process(const char *hex)
{
    unsigned char handle[CJ_EVENT_HANDLE];
    for (size_t i = 0; i < sizeof handle; i++) {
        unsigned byte;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1) return 2;
        handle[i] = (unsigned char)byte;
    }
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0);
    cj_event *e = cj_event_import(dev, handle, sizeof handle);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_status wait = cj_stream_wait(s, e);
    const cj_status reached = cj_event_sync_for(e, 0);
    if (wait == CJ_OK) wait = cj_stream_sync_for(s, reached == CJ_OK ? 10000 : 10);
    printf("query %s, stream %s, %s\n", cj_status_name(reached), cj_status_name(wait), cj_error_of(e)->message);
    cj_stream_free(s);
    cj_event_free(e);
    cj_device_close(dev);
    cj_driver_close(drv);
    return 0;
}

static void ask_other(const char *hex, const char *want, const char *what)
{
    const char *argv[] = { "/proc/self/exe", hex, NULL };
    tap_result r;
    tap_run(&r, argv, NULL);
    tap_is_int(r.status, 0, "%s: the other process ends well", what);
    tap_has_str(r.out, want, "%s", what);
    tap_result_free(&r);
}

int main(int argc, char **argv)
{
    if (argc > 1) return other_process(argv[1]);
    tap_need_device(1);
    tap_plan(0);
    unsigned char handle[CJ_EVENT_HANDLE];
    char hex[2 * CJ_EVENT_HANDLE + 1];
    latch l = LATCH_CLOSED;
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_event *e = cj_event_create(dev, CJ_EVENT(.shared = 1));
    cj_status st = cj_error_of(e)->status ? (cj_status)cj_error_of(e)->status : cj_event_export(e, handle, sizeof handle);
    if (st == CJ_ENOTSUP) {
        tap_pass("this driver has no events between processes, and says so: %s", cj_error_of(e)->message);
    } else {
        tap_is_int(st, CJ_OK, "the event is given out: %s", cj_error_of(e)->message);
        for (size_t i = 0; i < sizeof handle; i++) snprintf(hex + 2 * i, 3, "%02x", handle[i]);
        latch_hold(s, &l);
        cj_event_record(e, s);
        ask_other(hex, "query CJ_ETIMEOUT, stream CJ_ETIMEOUT, \n", "the event is not reached, and holds a stream of another process");
        latch_open(&l);
        tap_is_int(cj_event_sync(e), CJ_OK, "the stream passes it");
        ask_other(hex, "query CJ_OK, stream CJ_OK, \n", "then it is reached there too");
    }
    tap_is_int(cj_stream_sync(s), CJ_OK, "nothing failed");
    cj_event_free(e);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
