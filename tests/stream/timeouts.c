/* Waits with a timeout: what is not done is an answer that changes nothing, what failed is reported, and no capture is
 * harmed. */
#include "tests/stream/watched.h"
#include "tests/tap.h"

/* Whether every query since watch_forget() was made in relaxed mode. */
static bool all_relaxed(int id)
{
    for (size_t i = 0; i < watch.count; i++)
        if (watch.log[i].id == id && !watch.log[i].relaxed) return false;
    return true;
}

static void stream_times(watch_bench *b)
{
    watch_hold(cj_stream_raw(b->s));
    cj_dptr d = cj_alloc(b->s, 64);
    cj_fill8(b->s, d, 1, 64);
    tap_is_int(cj_stream_sync_for(b->s, 0), CJ_ETIMEOUT, "a stream with work is not done at once");
    tap_has_str(cj_error_last()->message, "it goes on", "the thread's record says that it goes on");
    watch_forget();
    tap_is_int(cj_stream_sync_for(b->s, 20), CJ_ETIMEOUT, "nor after 20 ms");
    tap_has_str(cj_error_last()->message, "20 ms", "which are named");
    tap_ok(watch_calls(CJI_CU_ID_cuStreamQuery) > 2, "it was asked more than twice");
    tap_ok(all_relaxed(CJI_CU_ID_cuStreamQuery), "always in relaxed capture mode");
    tap_is_int(watch_calls(CJI_CU_ID_cuStreamSynchronize), 0, "and never waited for without end");
    tap_is_int(cj_error_of(b->s)->status, CJ_OK, "which is no failure of the stream");
    cj_fill16(b->s, cj_offset(d, 1), 0, 1);
    tap_is_int(cj_stream_sync_for(b->s, 0), CJ_ETIMEOUT, "a failure that the stream keeps waits for its end");
    watch_release(cj_stream_raw(b->s));
    tap_is_int(cj_stream_sync_for(b->s, 10000), CJ_EINVAL, "and is returned there, as by cj_stream_sync");
    tap_is_int(cj_stream_sync_for(b->s, 0), CJ_OK, "once");
    watch_fail(CJI_CU_ID_cuStreamQuery, 0, CUDA_ERROR_ILLEGAL_ADDRESS);
    tap_is_int(cj_stream_sync_for(b->s, 10000), CJ_EDRIVER, "a refusal is no timeout");
    tap_is_str(cj_error_of(b->s)->driver_name, "CUDA_ERROR_ILLEGAL_ADDRESS", "and named");
    cj_stream_sync(b->s);
    cj_free(b->dev, d);
}

static void event_times(watch_bench *b)
{
    cj_event *e = cj_event_create(b->dev, NULL);
    tap_is_int(cj_event_sync_for(e, 0), CJ_OK, "an event that was never recorded is reached");
    watch_hold(cj_stream_raw(b->s));
    cj_dptr d = cj_alloc(b->s, 64);
    cj_fill8(b->s, d, 1, 64);
    cj_event_record(e, b->s);
    watch_forget();
    tap_is_int(cj_event_sync_for(e, 1), CJ_ETIMEOUT, "behind work that is held it is not");
    tap_ok(all_relaxed(CJI_CU_ID_cuEventQuery), "it was asked in relaxed mode");
    tap_is_int(cj_error_of(e)->status, CJ_OK, "a timeout is no failure of the event");
    watch_release(cj_stream_raw(b->s));
    tap_is_int(cj_event_sync_for(e, 10000), CJ_OK, "then it is reached");
    watch_fail(CJI_CU_ID_cuEventQuery, 0, CUDA_ERROR_LAUNCH_FAILED);
    tap_is_int(cj_event_sync_for(e, 10000), CJ_EDRIVER, "a query that fails is never taken for not ready");
    tap_is_str(cj_error_of(e)->driver_name, "CUDA_ERROR_LAUNCH_FAILED", "and is named");
    cj_free(b->dev, d);
    cj_event_free(e);
}

static void beside_captures(watch_bench *b)
{
    cj_event *e = cj_event_create(b->dev, NULL);
    cj_event_record(e, b->t);
    cj_capture_begin(b->s, CJ_CAPTURE_GLOBAL);
    watch_forget();
    tap_is_int(cj_stream_sync_for(b->s, 10), CJ_ESTATE, "a stream that is being captured is not waited for");
    tap_is_int(cj_stream_sync_for(b->t, 10), CJ_OK, "another one is");
    tap_is_int(cj_event_sync_for(e, 10), CJ_OK, "and an event");
    cj_event_record(e, b->s);
    tap_is_int(cj_event_sync_for(e, 10), CJ_ESTATE, "but not one of the capture");
    cj_graph *g = cj_capture_end(b->s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "and the capture ends well");
    cj_graph_free(g);
    cj_event_free(e);
    cj_stream_sync(b->s);
}

static void between_processes(watch_bench *b)
{
    char handle[CJ_IPC_EVENT_BYTES] = { 0 };
    cj_event *plain = cj_event_create(b->dev, NULL), *shared, *both, *other;
    watch_forget();
    shared = cj_event_create(b->dev, CJ_EVENT(.ipc = 1));
    tap_is_uint(watch.log[watch_find(CJI_CU_ID_cuEventCreate, 0)].arg[1],
                CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING, "a shared event has the driver's flags");
    both = cj_event_create(b->dev, CJ_EVENT(.ipc = 1, .timing = 1));
    tap_is_int(cj_error_of(both)->status, CJ_EINVAL, "with timing it is rejected");
    tap_is_int(cj_event_export(plain, handle, sizeof handle), CJ_EINVAL, "an event of this process is not given out");
    tap_has_str(cj_error_of(plain)->message, "CJ_EVENT(.ipc = 1)", "and the fix is named");
    tap_is_int(cj_event_export(shared, handle, sizeof handle - 1), CJ_EINVAL, "nor into too few bytes");
    tap_is_int(cj_event_export(shared, NULL, sizeof handle), CJ_EINVAL, "nor to NULL");
    tap_is_int(cj_event_export(shared, handle, sizeof handle), CJ_OK, "else it is");
    watch_fail(CJI_CU_ID_cuIpcGetEventHandle, 0, CUDA_ERROR_NOT_SUPPORTED);
    tap_is_int(cj_event_export(shared, handle, sizeof handle), CJ_ENOTSUP, "where the driver has it");
    other = cj_event_import(b->dev, handle, sizeof handle);
    tap_is_int(cj_error_of(other)->status, CJ_ENOTSUP, "a driver without a library cannot import");
    cj_event_free(other);
    other = cj_event_import(b->dev, handle, 3);
    tap_is_int(cj_error_of(other)->status, CJ_EINVAL, "a handle has its size");
    cj_event_free(other);
    cj_event_free(both);
    cj_event_free(shared);
    cj_event_free(plain);
}

int main(void)
{
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    stream_times(&b);
    event_times(&b);
    beside_captures(&b);
    between_processes(&b);
    watch_teardown(&b);
    return tap_done();
}
