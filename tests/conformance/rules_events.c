/* Rules 17 - 28: events. */
#include "rules.h"

static void rule_17(void)
{
    CUstream s = abi_stream();
    CUevent e = abi_event();
    R_IS(cu.cuEventQuery(e), CUDA_SUCCESS);
    R_IS(cu.cuEventSynchronize(e), CUDA_SUCCESS);
    R_IS(cu.cuStreamWaitEvent(s, e, 0), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(s), CUDA_SUCCESS);
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(s);
}

static void rule_18(void)
{
    struct latch latch;
    CUstream s = abi_stream();
    CUevent e = abi_event();
    R_IS(cu.cuEventRecord(e, s), CUDA_SUCCESS);
    abi_hold(&latch, s);
    R_IS(cu.cuEventSynchronize(e), CUDA_SUCCESS);       /* though later work is held up */
    R_IS(cu.cuEventQuery(e), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    struct latch before, after;                            /* between two pieces of work: it waits for the first only */
    abi_hold(&before, s);
    R_IS(cu.cuEventRecord(e, s), CUDA_SUCCESS);
    abi_hold(&after, s);
    R_IS(cu.cuEventQuery(e), CUDA_ERROR_NOT_READY);
    latch_open(&before);
    R_IS(cu.cuEventSynchronize(e), CUDA_SUCCESS);
    R_IS(cu.cuEventQuery(e), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    latch_open(&after);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(s);
}

/* b waits for e's record in a; then e is recorded again in c, behind a gate that stays shut. */
static void rule_19(void)
{
    CUfunction append = rule_kernel("append");
    CUstream a = abi_stream(), b = abi_stream(), c = abi_stream(), d = abi_stream();
    CUevent e = abi_event();
    CUdeviceptr p = abi_word(0);
    rule_gate one = gate_make(), two = gate_make();
    gate_put(&one, a);
    abi_launch(append, 1, 1, a, p, 1);
    cu.cuEventRecord(e, a);
    R_IS(cu.cuStreamWaitEvent(b, e, 0), CUDA_SUCCESS);
    abi_launch(append, 1, 1, b, p, 2);
    gate_put(&two, c);
    R_IS(cu.cuEventRecord(e, c), CUDA_SUCCESS);
    R_IS(cu.cuStreamWaitEvent(d, e, 0), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    gate_open(&one);
    R_IS(cu.cuStreamSynchronize(b), CUDA_SUCCESS);      /* the old record lets it go */
    R_IS(abi_read(p), 12);
    R_IS(cu.cuEventQuery(e), CUDA_ERROR_NOT_READY);     /* the event and later waits have the new one */
    R_IS(cu.cuStreamQuery(d), CUDA_ERROR_NOT_READY);
    gate_open(&two);
    R_IS(cu.cuStreamSynchronize(d), CUDA_SUCCESS);
    R_IS(cu.cuEventQuery(e), CUDA_SUCCESS);
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(b);
    cu.cuStreamDestroy(c);
    cu.cuStreamDestroy(d);
    cu.cuMemFree(p);
    gate_free(&one);
    gate_free(&two);
}

static void rule_20(void)
{
    struct latch latch;
    CUstream s = abi_stream();
    CUevent e = abi_event();
    abi_hold(&latch, s);
    R_IS(cu.cuEventRecord(e, s), CUDA_SUCCESS);
    R_IS(cu.cuEventQuery(e), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    R_IS(cu.cuEventSynchronize(e), CUDA_SUCCESS);
    R_IS(cu.cuEventQuery(e), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(s);
}

static void rule_21(void)
{
    CUcontext other = NULL;
    CUstream s = abi_stream();
    CUevent e = abi_event();
    struct latch latch;
    R_NEED(cuCtxCreate);
    R_IS(cu.cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
    CUstream t = abi_stream();
    R_IS(cu.cuEventRecord(e, t), CUDA_ERROR_INVALID_HANDLE);
    cu.cuCtxPopCurrent(&other);
    abi_hold(&latch, s);
    R_IS(cu.cuEventRecord(e, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamWaitEvent(t, e, 0), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(t), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(t), CUDA_SUCCESS);
    R_IS(cu.cuCtxDestroy(other), CUDA_SUCCESS);
    cu.cuStreamSynchronize(s);
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(s);
}

/* Were the host held up, the latch would never be opened. */
static void rule_22(void)
{
    struct latch latch;
    CUstream a = abi_stream(), b = abi_stream();
    CUevent e = abi_event();
    abi_hold(&latch, a);
    latch_entered(&latch);
    R_IS(cu.cuEventRecord(e, a), CUDA_SUCCESS);
    R_IS(cu.cuStreamWaitEvent(b, e, 0), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(b), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(a), CUDA_SUCCESS);
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(b);
}

static void rule_23(void)
{
    struct latch latch;
    CUfunction append = rule_kernel("append");
    CUstream a = abi_stream(), b = abi_stream(), c = abi_stream();
    CUevent e = abi_event(), f = abi_event();
    CUdeviceptr p = abi_word(0);
    abi_hold(&latch, a);
    abi_launch(append, 1, 1, a, p, 1);
    cu.cuEventRecord(e, a);
    cu.cuStreamWaitEvent(b, e, 0);
    cu.cuEventRecord(f, b);
    cu.cuStreamWaitEvent(c, f, 0);
    abi_launch(append, 1, 1, c, p, 2);
    R_IS(cu.cuStreamQuery(c), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(c), CUDA_SUCCESS);
    R_IS(abi_read(p), 12);
    cu.cuEventDestroy(e);
    cu.cuEventDestroy(f);
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(b);
    cu.cuStreamDestroy(c);
    cu.cuMemFree(p);
}

static void rule_24(void)
{
    struct latch latch;
    CUfunction append = rule_kernel("append");
    CUstream a = abi_stream(), b = abi_stream();
    CUevent e = abi_event();
    CUdeviceptr p = abi_word(0);
    abi_hold(&latch, a);
    abi_launch(append, 1, 1, a, p, 1);
    cu.cuEventRecord(e, a);
    cu.cuStreamWaitEvent(b, e, 0);
    R_IS(cu.cuEventDestroy(e), CUDA_SUCCESS);
    abi_launch(append, 1, 1, b, p, 2);
    R_IS(cu.cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(b), CUDA_SUCCESS);
    R_IS(abi_read(p), 12);
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(b);
    cu.cuMemFree(p);
}

static CUevent timed_event(unsigned flags)
{
    CUevent e = NULL;
    if (cu.cuEventCreate(&e, flags)) tap_bail("no event");
    return e;
}

static void rule_25(void)
{
    float ms = -1;
    int devices = 0;
    struct latch latch;
    CUstream s = abi_stream();
    CUevent a = timed_event(CU_EVENT_DEFAULT), b = timed_event(CU_EVENT_BLOCKING_SYNC), untimed = abi_event(),
            never = timed_event(CU_EVENT_DEFAULT);
    cu.cuEventRecord(a, s);
    abi_hold(&latch, s);
    cu.cuEventRecord(b, s);
    cu.cuEventRecord(untimed, s);
    cu.cuEventSynchronize(a);
    R_IS(cu.cuEventElapsedTime(&ms, a, b), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    R_IS(cu.cuEventSynchronize(b), CUDA_SUCCESS);
    R_IS(cu.cuEventElapsedTime(&ms, a, b), CUDA_SUCCESS);
    R_TRUE(ms >= 0);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(cu.cuEventElapsedTime(&ms, a, untimed), CUDA_ERROR_INVALID_HANDLE);
    R_IS(cu.cuEventElapsedTime(&ms, a, never), CUDA_ERROR_INVALID_HANDLE);
    cu.cuDeviceGetCount(&devices);
    if (devices > 1) {
        CUcontext other = NULL;
        cu.cuDevicePrimaryCtxRetain(&other, 1);
        cu.cuCtxPushCurrent(other);
        CUevent there = timed_event(CU_EVENT_DEFAULT);
        R_IS(cu.cuEventRecord(there, NULL), CUDA_SUCCESS);
        R_IS(cu.cuEventSynchronize(there), CUDA_SUCCESS);
        R_TRUE(cu.cuEventElapsedTime(&ms, a, there) != CUDA_SUCCESS);
        cu.cuEventDestroy(there);
        cu.cuCtxPopCurrent(&other);
        cu.cuDevicePrimaryCtxRelease(1);
    } else {
        rule_seen("not queried here: an event of another device (there is one device)");
    }
    cu.cuEventDestroy(a);
    cu.cuEventDestroy(b);
    cu.cuEventDestroy(untimed);
    cu.cuEventDestroy(never);
    cu.cuStreamDestroy(s);
}

static void rule_26(void)
{
    CUevent e = NULL;
    R_IS(cu.cuEventCreate(&e, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
    R_IS(cu.cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_BLOCKING_SYNC), CUDA_ERROR_INVALID_VALUE);
    CUresult r = cu.cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    rule_seen("an inter-process event without timing: %d", (int)r);
    if (!r) cu.cuEventDestroy(e);
    R_IS(cu.cuEventCreate(&e, 0x100), CUDA_ERROR_INVALID_VALUE);        /* an unknown flag */
    R_IS(cu.cuEventCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
}

/* NVIDIA's text says INVALID_VALUE; an H100 says ILLEGAL_STATE, and so it is here. */
static void rule_27(void)
{
    CUstream s = abi_stream();
    CUevent e = abi_event();
    R_NEED(cuEventRecordWithFlags);
    R_IS(cu.cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL), CUDA_ERROR_ILLEGAL_STATE);
    R_IS(cu.cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL), CUDA_ERROR_ILLEGAL_STATE);
    R_IS(cu.cuStreamQuery(s), CUDA_SUCCESS);
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(s);
}

typedef struct event_waiter { CUevent e; int answer; } event_waiter;

static void *event_waiter_thread(void *arg)
{
    event_waiter *w = arg;
    cu.cuCtxSetCurrent(abi_ctx);
    w->answer = (int)cu.cuEventSynchronize(w->e);
    cu.cuCtxSetCurrent(NULL);
    return NULL;
}

static void rule_28(void)
{
    static const unsigned flags[] = { CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC };
    for (int i = 0; i < 2; i++) {
        event_waiter w = { NULL, -1 };
        pthread_t thread;
        struct latch latch;
        CUstream s = abi_stream();
        R_IS(cu.cuEventCreate(&w.e, flags[i]), CUDA_SUCCESS);
        abi_hold(&latch, s);
        cu.cuEventRecord(w.e, s);
        pthread_create(&thread, NULL, event_waiter_thread, &w);
        R_IS(cu.cuEventQuery(w.e), CUDA_ERROR_NOT_READY);
        latch_open(&latch);
        pthread_join(thread, NULL);
        R_IS(w.answer, CUDA_SUCCESS);
        R_IS(cu.cuEventQuery(w.e), CUDA_SUCCESS);
        cu.cuStreamSynchronize(s);
        cu.cuEventDestroy(w.e);
        cu.cuStreamDestroy(s);
    }
}

static const rule rules[] = {
    { 17, "an event that was never recorded is done; waits for it do nothing", rule_17, 0 },
    { 18, "a record covers the work enqueued before it, nothing later", rule_18, 0 },
    { 19, "recording an event again does not change earlier waits; later waits and queries use the new record", rule_19,
      0 },
    { 20, "a query returns whether the recorded work is done", rule_20, 0 },
    { 21, "an event is recorded in streams of its own context only; any stream may wait for it", rule_21, 0 },
    { 22, "a stream's wait does not block the host", rule_22, 0 },
    { 23, "order goes through a stream in between", rule_23, 0 },
    { 24, "an event may be destroyed before it is done; waits for it still hold", rule_24, 0 },
    { 25, "elapsed time requires two timed, recorded, finished events of one device, and is never negative", rule_25,
      0 },
    { 26, "an inter-process event has no timing", rule_26, 0 },
    { 27, "an external record or wait outside of a capture fails with ILLEGAL_STATE and changes nothing", rule_27, 0 },
    { 28, "a wait for an event with BLOCKING_SYNC ends with the event, as any other wait", rule_28, 0 },
};
RULES_MAIN(rules)
