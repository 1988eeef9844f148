/* A stream keeps its first failure until cj_stream_sync has returned it; what it answers is no failure; failed objects
 * are accepted everywhere. */
#include <stdlib.h>
#include <string.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

static void check_first(watch_bench *b)
{
    char host[16];
    cj_dptr d = cj_alloc(b->s, 16);
    tap_is_int(cj_stream_sync(b->s), CJ_OK, "nothing has failed yet");
    cj_status first = cj_copy_to_device(b->s, d, host, 17);
    cj_fill16(b->s, cj_offset(d, 1), 0, 2);
    tap_is_int(first, CJ_EINVAL, "a call that fails says so itself");
    tap_has_str(cj_error_of(b->s)->message, "17 bytes do not fit, 16 are left", "the stream keeps the first failure");
    tap_is_int(cj_copy_to_host(b->s, host, d, 16), CJ_OK, "later calls work");
    watch_settle();
    tap_is_int(cj_stream_query(b->s), CJ_OK, "and a query is no sync");
    tap_is_int(cj_stream_sync(b->s), CJ_EINVAL, "cj_stream_sync returns the first failure");
    tap_has_str(cj_error_of(b->s)->message, "do not fit", "its record can still be read");
    tap_has_str(cj_error_last()->message, "do not fit", "and is the thread's latest, though another call failed later");
    tap_is_int(cj_stream_sync(b->s), CJ_OK, "and is forgotten: the next sync succeeds");
    tap_is_int(cj_error_of(b->s)->status, CJ_OK, "with no record left");
    cj_fill8(b->s, d, 0, 17);
    tap_is_int(cj_stream_sync(b->s), CJ_EINVAL, "a failure after that is a first one again");
    cj_fill16(b->s, cj_offset(d, 1), 0, 2);
    tap_has_str(cj_error_of(b->s)->message, "not aligned", "a record that was returned makes room for the next");
    tap_is_int(cj_stream_sync(b->s), CJ_EINVAL, "which is returned in its turn");
    cj_stream_sync(b->s);
    tap_is_int(cj_free(b->dev, d), CJ_OK, "the memory is freed");
}

static void check_answers(watch_bench *b)
{
    cj_event *e = cj_event_create(b->dev, NULL);
    watch_hold(cj_stream_raw(b->s));
    cj_dptr d = cj_alloc(b->s, 64);
    cj_fill8(b->s, d, 1, 64);
    cj_event_record(e, b->s);
    tap_is_int(cj_stream_query(b->s), CJ_ENOTREADY, "a stream with work is not ready");
    tap_is_int(cj_event_query(e), CJ_ENOTREADY, "nor is its event");
    tap_is_int(cj_error_of(b->s)->status, CJ_OK, "which is no failure of the stream");
    tap_is_int(cj_error_of(e)->status, CJ_OK, "nor of the event");
    watch_release(cj_stream_raw(b->s));
    tap_is_int(cj_stream_query(b->s), CJ_OK, "done is done");
    watch_fail(CJI_CU_ID_cuStreamQuery, 0, CUDA_ERROR_ILLEGAL_ADDRESS);
    tap_is_int(cj_stream_query(b->s), CJ_EDRIVER, "a query that the driver refuses is a failure, not CJ_ENOTREADY");
    tap_is_str(cj_error_of(b->s)->driver_name, "CUDA_ERROR_ILLEGAL_ADDRESS", "with the driver's name");
    cj_stream_sync(b->s);
    watch_fail(CJI_CU_ID_cuEventRecord, 0, CUDA_ERROR_INVALID_HANDLE);
    tap_is_int(cj_event_record(e, b->s), CJ_EDRIVER, "a record that is rejected");
    tap_ok(cj_error_of(e)->status && cj_error_of(b->s)->status, "is left in the event and in the stream");
    tap_is_str(cj_error_of(b->s)->call, "cj_event_record", "with the call's name");
    cj_stream_sync(b->s);
    cj_free(b->dev, d);
    cj_event_free(e);
}

static void check_failed_objects(watch_bench *b)
{
    const cj_arg one = cj_arg_i(1);
    const cj_dims dims = cj_grid(1, 1);
    watch_fail(CJI_CU_ID_cuStreamCreateWithPriority, 0, CUDA_ERROR_OUT_OF_MEMORY);
    cj_stream *bad = cj_stream_create(b->dev, NULL);
    tap_is_int(cj_error_of(bad)->status, CJ_ENOMEM, "a stream that the driver refuses is a failed object");
    tap_is_int(cj_fill8(bad, (cj_dptr){ 4096 }, 0, 1), CJ_ENOMEM, "which fails every call with that");
    tap_is_uint(cj_alloc(bad, 16).addr, 0, "gives no memory");
    tap_is_int(cj_stream_fork(b->s, bad), CJ_ENOMEM, "and as an argument");
    tap_has_str(cj_error_of(b->s)->message, "cuStreamCreateWithPriority", "passes its cause on");
    tap_is_int(cj_stream_sync(b->s), CJ_ENOMEM, "to where it is asked for");
    watch_fail(CJI_CU_ID_cuEventCreate, 0, CUDA_ERROR_OUT_OF_MEMORY);
    cj_event *e = cj_event_create(b->dev, NULL);
    tap_is_int(cj_stream_wait(b->s, e), CJ_ENOMEM, "a failed event");
    tap_is_int(cj_event_record(e, b->s), CJ_ENOMEM, "fails too");
    tap_is_int(cj_stream_sync(b->s), CJ_ENOMEM, "and is kept by the stream it was given to");
    watch_fail(CJI_CU_ID_cuMemAllocAsync, 0, CUDA_ERROR_OUT_OF_MEMORY);
    tap_is_uint(cj_alloc(b->s, 4097).addr, 0, "no device memory is left");
    tap_has_str(cj_error_of(b->s)->message,
                "cj_alloc: 4097 bytes of device memory: cuMemAllocAsync: CUDA_ERROR_OUT_OF_MEMORY",
                "and the message says how much was asked for");
    tap_is_int(cj_stream_sync(b->s), CJ_ENOMEM, "the stream keeps that");
    cj_dptr d = cj_alloc(b->s, 16);
    watch_fail(CJI_CU_ID_cuMemsetD8Async, 0, CUDA_ERROR_ILLEGAL_ADDRESS);
    tap_is_int(cj_fill8(b->s, d, 0, 16), CJ_EDRIVER, "a call after a kernel that broke the context");
    tap_has_str(cj_error_of(b->s)->message, "cj_fill8: cuMemsetD8Async: CUDA_ERROR_ILLEGAL_ADDRESS", "is named");
    tap_has_str(cj_error_of(b->s)->message, "the CPU device (CUJIT_DRIVER=sim) names the instruction", "with the fix");
    tap_is_int(cj_stream_sync(b->s), CJ_EDRIVER, "the stream keeps that too");
    cj_free(b->dev, d);
    tap_is_int(cj_launch_n(b->s, NULL, &dims, &one, 1), CJ_EHANDLE, "no kernel");
    tap_is_int(cj_stream_sync(b->s), CJ_EHANDLE, "is a failure of the stream");
    cj_graph *g = cj_capture_end(b->s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_error_of(x)->status, CJ_ESTATE, "a graph that failed gives an exec that failed with its cause");
    tap_is_int(cj_graph_launch(b->s, x), CJ_ESTATE, "which launches nothing");
    cj_stream_sync(b->s);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_event_free(e);
    cj_stream_free(bad);
}

int main(void)
{
    setenv("CUJIT_ALLOCATOR", "driver", 1); /* what releases do to the driver is seen */
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    check_first(&b);
    check_answers(&b);
    check_failed_objects(&b);
    watch_teardown(&b);
    return tap_done();
}
