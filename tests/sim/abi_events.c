/* Events are versioned points; host functions run in stream order (semantics 17 - 28, 30, 31, 32, 34, 35). */
#include "tests/conformance/driver_abi.h"

static CUmodule module;

static void never_recorded(void)
{
    CUstream s = abi_stream();
    CUevent e = abi_event();
    abi_is(cu.cuEventQuery(e), CUDA_SUCCESS, "a never-recorded event is done");
    abi_is(cu.cuEventSynchronize(e), CUDA_SUCCESS, "waiting for it returns");
    abi_is(cu.cuStreamWaitEvent(s, e, 0), CUDA_SUCCESS, "a stream's wait for it does nothing");
    abi_is(cu.cuStreamQuery(s), CUDA_SUCCESS, "and the stream stays empty");
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(s);
}

static void a_record_covers_what_came_before(void)
{
    abi_latch first, second;
    CUstream s = abi_stream();
    CUevent e = abi_event();
    abi_latch_put(&first, s);
    abi_is(cu.cuEventRecord(e, s), CUDA_SUCCESS, "record behind a latch");
    abi_latch_put(&second, s);
    abi_is(cu.cuEventQuery(e), CUDA_ERROR_NOT_READY, "not ready while the latch is shut");
    abi_latch_open(&first);
    abi_is(cu.cuEventSynchronize(e), CUDA_SUCCESS, "synchronize returns though later work is pending");
    abi_is(cu.cuEventQuery(e), CUDA_SUCCESS, "the event is done");
    abi_is(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY, "the stream is not");
    abi_latch_open(&second);
    cu.cuStreamSynchronize(s);
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(s);
}

/* A wait keeps the record that was the latest when it was made, whatever happens to the event afterwards. */
static void waits_keep_their_point(void)
{
    static const char *const name[] = { "recorded again", "destroyed" };
    for (int i = 0; i < 2; i++) {
        abi_latch one, two;
        CUstream a = abi_stream(), b = abi_stream(), c = abi_stream();
        CUevent e = abi_event();
        CUdeviceptr p = abi_word(0);
        CUfunction append = abi_kernel(&module, "append");
        abi_latch_put(&one, a);
        abi_latch_await(&one);   /* or the other, called first, might keep it out */
        abi_launch(append, 1, 1, a, p, 1);
        cu.cuEventRecord(e, a);
        abi_is(cu.cuStreamWaitEvent(b, e, 0), CUDA_SUCCESS, "%s: wait", name[i]);
        abi_launch(append, 1, 1, b, p, 2);
        abi_latch_put(&two, c);
        if (i == 0) abi_is(cu.cuEventRecord(e, c), CUDA_SUCCESS, "%s: record in another stream, behind a latch", name[i]);
        else abi_is(cu.cuEventDestroy(e), CUDA_SUCCESS, "%s: destroy", name[i]);
        abi_is(cu.cuStreamQuery(b), CUDA_ERROR_NOT_READY, "%s: the wait still holds", name[i]);
        abi_latch_open(&one);
        abi_is(cu.cuStreamSynchronize(b), CUDA_SUCCESS, "%s: and ends with the old point", name[i]);
        tap_is_uint(abi_read(p), 12, "%s: in order", name[i]);
        if (i == 0) abi_is(cu.cuEventQuery(e), CUDA_ERROR_NOT_READY, "%s: the event has the new point", name[i]);
        abi_latch_open(&two);
        cu.cuStreamSynchronize(c);
        if (i == 0) cu.cuEventDestroy(e);
        cu.cuStreamDestroy(a);
        cu.cuStreamDestroy(b);
        cu.cuStreamDestroy(c);
        cu.cuMemFree(p);
    }
}

static void order_is_transitive(void)
{
    abi_latch latch;
    CUstream a = abi_stream(), b = abi_stream(), c = abi_stream();
    CUevent e = abi_event(), f = abi_event();
    CUdeviceptr p = abi_word(0);
    CUfunction append = abi_kernel(&module, "append");
    abi_latch_put(&latch, a);
    abi_launch(append, 1, 1, a, p, 1);
    cu.cuEventRecord(e, a);
    cu.cuStreamWaitEvent(b, e, 0);
    cu.cuEventRecord(f, b);
    cu.cuStreamWaitEvent(c, f, 0);
    abi_launch(append, 1, 1, c, p, 2);
    abi_is(cu.cuStreamQuery(c), CUDA_ERROR_NOT_READY, "the third stream waits for the first through the second");
    abi_latch_open(&latch);
    cu.cuStreamSynchronize(c);
    tap_is_uint(abi_read(p), 12, "in order");
    cu.cuEventDestroy(e);
    cu.cuEventDestroy(f);
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(b);
    cu.cuStreamDestroy(c);
    cu.cuMemFree(p);
}

static void time_between_events(void)
{
    float ms = -1;
    abi_latch latch;
    CUstream s = abi_stream();
    CUevent a, b, untimed = abi_event(), never;
    cu.cuEventCreate(&a, CU_EVENT_DEFAULT);
    cu.cuEventCreate(&b, CU_EVENT_BLOCKING_SYNC);
    cu.cuEventCreate(&never, CU_EVENT_DEFAULT);
    cu.cuEventRecord(a, s);
    abi_latch_put(&latch, s);
    cu.cuEventRecord(b, s);
    cu.cuEventRecord(untimed, s);
    cu.cuEventSynchronize(a);
    abi_is(cu.cuEventElapsedTime(&ms, a, b), CUDA_ERROR_NOT_READY, "not before both are done");
    abi_latch_open(&latch);
    abi_is(cu.cuEventSynchronize(b), CUDA_SUCCESS, "a blocking event");
    abi_is(cu.cuEventElapsedTime(&ms, a, b), CUDA_SUCCESS, "then it is told");
    tap_ok(ms >= 0, "and is not negative");
    abi_is(cu.cuEventElapsedTime(&ms, a, untimed), CUDA_ERROR_INVALID_HANDLE, "an event without timing");
    abi_is(cu.cuEventElapsedTime(&ms, a, never), CUDA_ERROR_INVALID_HANDLE, "an event that was never recorded");
    cu.cuEventDestroy(a);
    cu.cuEventDestroy(b);
    cu.cuEventDestroy(untimed);
    cu.cuEventDestroy(never);
    cu.cuStreamDestroy(s);
}

static void bad_flags(void)
{
    CUevent e = NULL;
    CUstream s = abi_stream();
    abi_is(cu.cuEventCreate(&e, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE, "between processes only without timing");
    abi_is(cu.cuEventCreate(&e, 0x100), CUDA_ERROR_INVALID_VALUE, "an unknown flag");
    abi_is(cu.cuEventCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE, "NULL");
    e = abi_event();
    abi_is(cu.cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL), CUDA_ERROR_ILLEGAL_STATE, "an external record outside of a capture");
    abi_is(cu.cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL), CUDA_ERROR_ILLEGAL_STATE, "an external wait outside of a capture");
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(s);
}

/* ---- Host functions ---------------------------------------------------------------------------------------------- */

static int calls, seen_status = -1, inside = -1;
static unsigned seen;
static unsigned *watched;

static void look(void *user)
{
    (void)user;
    calls++;
    seen = *watched;
}

static void call_the_driver(void *user)
{
    size_t a, b;
    (void)user;
    inside = (int)cu.cuMemGetInfo(&a, &b);
}

static void callback(CUstream s, CUresult status, void *user)
{
    (void)s, (void)user;
    seen_status = (int)status;
}

static void host_functions(void)
{
    CUfunction append = abi_kernel(&module, "append");
    CUstream s = abi_stream();
    CUdeviceptr p;
    void *h;
    abi_is(cu.cuMemHostAlloc(&h, 4, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS, "mapped memory");
    abi_is(cu.cuMemHostGetDevicePointer(&p, h, 0), CUDA_SUCCESS, "and its device address");
    watched = h;
    *watched = 0;
    abi_launch(append, 1, 1, s, p, 4);
    abi_is(cu.cuLaunchHostFunc(s, look, NULL), CUDA_SUCCESS, "a host function behind a kernel");
    abi_launch(append, 1, 1, s, p, 2);
    cu.cuStreamSynchronize(s);
    tap_is_int(calls, 1, "it is called once");
    tap_is_uint(seen, 4, "after the kernel before it, before the kernel behind it");
    tap_is_uint(*watched, 42, "which runs then");
    if (!tap_on_gpu()) {
        abi_is(cu.cuLaunchHostFunc(s, call_the_driver, NULL), CUDA_SUCCESS, "a host function that calls the driver");
        cu.cuStreamSynchronize(s);
        tap_is_int(inside, CUDA_ERROR_NOT_PERMITTED, "is not permitted to");
    }
    if (cu.cuStreamAddCallback) {
        abi_is(cu.cuStreamAddCallback(s, callback, NULL, 0), CUDA_SUCCESS, "a callback");
        cu.cuStreamSynchronize(s);
        tap_is_int(seen_status, CUDA_SUCCESS, "is given the status");
    }
    abi_is(cu.cuLaunchHostFunc(s, NULL, NULL), CUDA_ERROR_INVALID_VALUE, "no function");
    cu.cuMemFreeHost(h);
    cu.cuStreamDestroy(s);
}

int main(void)
{
    abi_open();
    never_recorded();
    a_record_covers_what_came_before();
    waits_keep_their_point();
    order_is_transitive();
    time_between_events();
    bad_flags();
    host_functions();
    cu.cuModuleUnload(module);
    return abi_close();
}
