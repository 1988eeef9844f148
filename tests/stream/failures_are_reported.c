/* A failure is reported as what it is: the first of a capture, an error behind a question, an error behind what a
 * release waits for. */
#include <stdlib.h>
#include <string.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

/* A capture with two failed calls tells the first. */
static void check_first_of_capture(watch_bench *b)
{
    cj_dptr d = cj_alloc(b->s, 64);
    char first[sizeof ((cj_error *)0)->message];
    cj_capture_begin(b->s, CJ_CAPTURE_THREAD);
    cj_copy(b->s, d, cj_offset(d, 8), 32);
    strcpy(first, cj_error_last()->message);
    cj_fill16(b->s, cj_offset(d, 1), 0, 1);
    tap_ok(strcmp(first, cj_error_last()->message) != 0, "two calls fail in two ways");
    cj_graph *g = cj_capture_end(b->s);
    tap_is_str(cj_error_of(g)->message, first, "the end of the capture tells the first");
    cj_graph_free(g);
    cj_stream_sync(b->s);
    cj_free(b->dev, d);
}

/* A stream that waits for a captured event belongs to the capture. */
static void check_joined_by_event(watch_bench *b)
{
    cj_dptr d = cj_alloc(b->t, 64);
    cj_event *forked = cj_event_create(b->dev, NULL), *joined = cj_event_create(b->dev, NULL);
    cj_capture_begin(b->s, CJ_CAPTURE_THREAD);
    cj_event_record(forked, b->s);
    tap_ok(!cj_stream_is_capturing(b->t), "the record alone makes no other stream join");
    cj_stream_wait(b->t, forked);
    tap_ok(cj_stream_is_capturing(b->t), "a wait for it does");
    cj_fill8(b->t, d, 1, 64);
    tap_is_int(cj_stream_sync(b->t), CJ_ESTATE, "which is then not waited for");
    cj_event_record(joined, b->t);
    cj_stream_wait(b->s, joined);
    cj_graph *g = cj_capture_end(b->s);
    tap_is_uint(cj_graph_count(g), 1, "what was enqueued on it is in the graph");
    tap_ok(!cj_stream_is_capturing(b->t), "the end lets it go");
    cj_free(b->dev, d);
    cj_device_collect(b->dev);
    tap_is_int(watch.allocated, 1, "the graph keeps its memory");
    cj_event_free(forked);
    cj_event_free(joined);
    cj_graph_free(g);
    cj_device_collect(b->dev);
    tap_is_int(watch.allocated, 0, "as long as it is there");
    cj_stream_sync(b->s);
}

/* Every answer but NOT_READY and SUCCESS is a failure. */
static void check_questions(watch_bench *b)
{
    static const struct { CUresult answer; cj_status status; } rows[] = {
        { CUDA_SUCCESS, CJ_OK },
        { CUDA_ERROR_NOT_READY, CJ_ENOTREADY },
        { CUDA_ERROR_ILLEGAL_ADDRESS, CJ_EDRIVER },
        { CUDA_ERROR_LAUNCH_FAILED, CJ_EDRIVER },
    };
    cj_event *e = cj_event_create(b->dev, NULL);
    cj_event_record(e, b->s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        watch_fail(CJI_CU_ID_cuEventQuery, 0, rows[i].answer);
        tap_is_int(cj_event_query(e), rows[i].status, "an event's query that the driver answers with %d",
                   (int)rows[i].answer);
        watch_fail(CJI_CU_ID_cuStreamQuery, 0, rows[i].answer);
        tap_is_int(cj_stream_query(b->s), rows[i].status, "and a stream's");
        watch_fail_none();
    }
    cj_stream_sync(b->s);
    cj_event_free(e);
}

static void nothing(void *user) { (void)user; }

/* After an error of the device no release waits for ever. */
static void check_release(watch_bench *b)
{
    cj_dptr d = cj_alloc(b->s, 64);
    watch_hold(cj_stream_raw(b->t));
    cj_host_func(b->t, nothing, NULL);
    cj_stream_use(b->t, d);
    cj_free(b->dev, d);
    tap_is_uint(cj_device_collect(b->dev), 1, "a release waits for another stream");
    watch_fail(CJI_CU_ID_cuEventQuery, 0, CUDA_ERROR_ILLEGAL_ADDRESS);
    tap_is_uint(cj_device_collect(b->dev), 0, "until the device fails");
    watch_fail_none();
    watch_release(cj_stream_raw(b->t));
}

int main(void)
{
    setenv("CUJIT_ALLOCATOR", "driver", 1); /* what releases do to the driver is seen */
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    check_first_of_capture(&b);
    check_joined_by_event(&b);
    check_questions(&b);
    check_release(&b);
    watch_teardown(&b);
    return tap_done();
}
