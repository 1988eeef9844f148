/* Rules 7 - 16: streams. */
#include "rules.h"

static void rule_7(void)
{
    CUfunction append = rule_kernel("append"), add = rule_kernel("add");
    CUstream a = abi_stream(), b = abi_stream();
    CUdeviceptr p = abi_word(0), q = abi_word(0);
    rule_gate g = gate_make();
    for (unsigned i = 1; i <= 7; i++) R_IS(abi_launch(append, 1, 1, a, p, i), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(a), CUDA_SUCCESS);
    R_IS(abi_read(p), 1234567);
    gate_put(&g, a);
    abi_launch(add, 1, 1, a, q, 1);
    abi_launch(add, 1, 1, b, q, 10);
    /* the later stream's work is done while the earlier one's waits */
    R_IS(cu.cuStreamSynchronize(b), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    gate_open(&g);
    R_IS(cu.cuStreamSynchronize(a), CUDA_SUCCESS);
    R_IS(abi_read(q), 11);
    cu.cuMemsetD32(q, 0, 1);
    cu.cuCtxSynchronize();
    /* ends only if the later kernel runs beside it */
    R_IS(abi_launch(rule_kernel("spin"), 1, 1, a, q, 0), CUDA_SUCCESS);
    R_IS(abi_launch(add, 1, 1, b, q, 1), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(a), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(b), CUDA_SUCCESS);
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(b);
    cu.cuMemFree(p);
    cu.cuMemFree(q);
    gate_free(&g);
}

/* 1 in `first` behind a gate, 2 in `second`, 3 in `first`: in which order they ran. */
static unsigned order_of(const char *name, CUstream first, CUstream second)
{
    CUfunction append = rule_kernel("append");
    CUdeviceptr p = abi_word(0);
    rule_gate g = gate_make();
    gate_put(&g, first);
    abi_launch(append, 1, 1, first, p, 1);
    abi_launch(append, 1, 1, second, p, 2);
    abi_launch(append, 1, 1, first, p, 3);
    R_ROW(name, cu.cuStreamQuery(second), CUDA_ERROR_NOT_READY);
    gate_open(&g);
    R_ROW(name, cu.cuCtxSynchronize(), CUDA_SUCCESS);
    unsigned v = abi_read(p);
    cu.cuMemFree(p);
    gate_free(&g);
    return v;
}

/* Work in `second` ends while `first` is held up by a kernel, then by a host function. */
static void runs_beside(const char *name, CUstream first, CUstream second)
{
    struct latch latch;
    CUdeviceptr p = abi_word(0);
    for (int i = 0; i < 2; i++) {
        rule_gate g = gate_make();
        if (i == 0) gate_put(&g, first);
        else abi_hold(&latch, first), latch_entered(&latch);
        if (i == 0) abi_launch(rule_kernel("append"), 1, 1, second, p, 2);
        else R_ROW(name, cu.cuMemsetD32Async(p, 7, 1, second), CUDA_SUCCESS);
        R_ROW(name, cu.cuStreamSynchronize(second), CUDA_SUCCESS);
        R_ROW(name, cu.cuStreamQuery(first), CUDA_ERROR_NOT_READY);
        if (i == 0) gate_open(&g);
        else latch_open(&latch);
        R_ROW(name, cu.cuCtxSynchronize(), CUDA_SUCCESS);
        R_ROW(name, abi_read(p), i == 0 ? 2 : 7);
        gate_free(&g);
    }
    cu.cuMemFree(p);
}

/* A fill in `second` waits for the host function that holds up `first`. */
static void waits_for_host_function(const char *name, CUstream first, CUstream second)
{
    struct latch latch;
    CUdeviceptr p = abi_word(0);
    CUevent e = abi_event();
    abi_hold(&latch, first);
    latch_entered(&latch);
    R_ROW(name, cu.cuMemsetD32Async(p, 7, 1, second), CUDA_SUCCESS);
    R_ROW(name, cu.cuEventRecord(e, second), CUDA_SUCCESS);
    R_ROW(name, cu.cuEventQuery(e), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    R_ROW(name, cu.cuCtxSynchronize(), CUDA_SUCCESS);
    R_ROW(name, abi_read(p), 7);
    cu.cuEventDestroy(e);
    cu.cuMemFree(p);
}

typedef struct stream_pair { const char *name; CUstream first, second; bool ordered; } stream_pair;

static void check_pairs(const stream_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const stream_pair *r = &pairs[i];
        if (!r->ordered) {
            runs_beside(r->name, r->first, r->second);
            continue;
        }
        R_ROW(r->name, order_of(r->name, r->first, r->second), 123);
        waits_for_host_function(r->name, r->first, r->second);
    }
}

static void rule_8(void)
{
    CUstream blocking = rule_stream(CU_STREAM_DEFAULT), other = rule_stream(CU_STREAM_DEFAULT), free_one = abi_stream();
    const stream_pair pairs[] = {
        { "a blocking stream, then the legacy stream by its handle", blocking, CU_STREAM_LEGACY, true },
        { "a blocking stream, then the legacy stream as NULL", blocking, NULL, true },
        { "the legacy stream, then a blocking stream", CU_STREAM_LEGACY, blocking, true },
        { "the legacy stream, then a non-blocking stream", CU_STREAM_LEGACY, free_one, false },
        { "a non-blocking stream, then the legacy stream", free_one, CU_STREAM_LEGACY, false },
        { "a blocking stream, then another one", blocking, other, false },
        { "a blocking stream, then a non-blocking one", blocking, free_one, false },
    };
    check_pairs(pairs, sizeof pairs / sizeof *pairs);
    cu.cuStreamDestroy(blocking);
    cu.cuStreamDestroy(other);
    cu.cuStreamDestroy(free_one);
}

typedef struct own_default { CUdeviceptr p; int launch, sync; unsigned long long id; } own_default;

static void *own_default_thread(void *arg)
{
    own_default *o = arg;
    cu.cuCtxSetCurrent(abi_ctx);
    o->launch = (int)abi_launch(rule_kernel("append"), 1, 1, CU_STREAM_PER_THREAD, o->p, 5);
    o->sync = (int)cu.cuStreamSynchronize(CU_STREAM_PER_THREAD);
    if (cu.cuStreamGetId) cu.cuStreamGetId(CU_STREAM_PER_THREAD, &o->id);
    cu.cuCtxSetCurrent(NULL);
    return NULL;
}

static void rule_9(void)
{
    own_default o = { abi_word(0), -1, -1, 0 };
    unsigned long long id = 0;
    pthread_t thread;
    rule_gate g = gate_make();
    CUstream blocking = rule_stream(CU_STREAM_DEFAULT);
    const stream_pair pairs[] = {
        { "the per-thread stream, then the legacy stream", CU_STREAM_PER_THREAD, CU_STREAM_LEGACY, true },
        { "the legacy stream, then the per-thread stream", CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, true },
        { "the per-thread stream, then a blocking stream", CU_STREAM_PER_THREAD, blocking, false },
    };
    check_pairs(pairs, sizeof pairs / sizeof *pairs);
    cu.cuStreamDestroy(blocking);
    gate_put(&g, CU_STREAM_PER_THREAD);
    pthread_create(&thread, NULL, own_default_thread, &o);
    pthread_join(thread, NULL);
    R_IS(o.launch, CUDA_SUCCESS);
    R_IS(o.sync, CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
    gate_open(&g);
    R_IS(cu.cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    R_IS(abi_read(o.p), 5);
    if (cu.cuStreamGetId) {
        R_IS(cu.cuStreamGetId(CU_STREAM_PER_THREAD, &id), CUDA_SUCCESS);
        R_TRUE(id != o.id);
    }
    cu.cuMemFree(o.p);
    gate_free(&g);
}

static void rule_10(void)
{
    struct latch latch;
    CUstream s = abi_stream();
    R_IS(cu.cuStreamQuery(s), CUDA_SUCCESS);
    abi_hold(&latch, s);
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    latch_entered(&latch);
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(s), CUDA_SUCCESS);
    cu.cuStreamDestroy(s);
}

static void set_to_one(void *user) { *(int *)user = 1; }

static void rule_11(void)
{
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0);
    int called = 0;
    for (int i = 0; i < 20; i++) {
        called = 0;
        abi_launch(rule_kernel("add"), 4, 32, s, p, 1);
        R_IS(cu.cuLaunchHostFunc(s, set_to_one, &called), CUDA_SUCCESS);
        R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
        R_IS(called, 1);
    }
    R_IS(abi_read(p), 20 * 128);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

static void rule_12(void)
{
    struct latch latch;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0);
    abi_hold(&latch, s);
    R_IS(abi_launch(rule_kernel("add"), 4, 32, s, p, 1), CUDA_SUCCESS);
    R_IS(cu.cuStreamDestroy(s), CUDA_SUCCESS);
    if (!tap_on_gpu()) R_IS(cu.cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);    /* a GPU's driver may crash on it */
    latch_open(&latch);
    R_IS(cu.cuCtxSynchronize(), CUDA_SUCCESS);
    R_IS(abi_read(p), 128);
    cu.cuMemFree(p);
}

static void rule_13(void)
{
    static const int ask[] = { 0, -1, -2, -100, 100, 7 };
    int least = 99, greatest = 99, got = 99;
    R_IS(cu.cuCtxGetStreamPriorityRange(&least, &greatest), CUDA_SUCCESS);
    rule_seen("priorities from %d (least) to %d (greatest)", least, greatest);
    R_TRUE(greatest <= least);
    for (size_t i = 0; i < sizeof ask / sizeof *ask; i++) {
        int want = ask[i] > least ? least : ask[i] < greatest ? greatest : ask[i];
        CUstream s = NULL;
        R_IS(cu.cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, ask[i]), CUDA_SUCCESS);
        R_IS(cu.cuStreamGetPriority(s, &got), CUDA_SUCCESS);
        R_IS(got, want);
        cu.cuStreamDestroy(s);
    }
}

static void rule_14(void)
{
    enum { N = 64 };
    unsigned long long id[N] = { 0 };
    CUstream s, first = NULL;
    bool handle_again = false, id_again = false;
    R_NEED(cuStreamGetId);
    for (int i = 0; i < N; i++) {
        s = abi_stream();
        R_IS(cu.cuStreamGetId(s, &id[i]), CUDA_SUCCESS);
        handle_again |= s == first;
        if (i == 0) first = s;
        for (int k = 0; k < i; k++) id_again |= id[k] == id[i];
        cu.cuStreamDestroy(s);
    }
    rule_seen("the first handle came again: %s", handle_again ? "yes" : "no");
    R_TRUE(!id_again);
}

static void rule_15(void)
{
    CUcontext other = NULL;
    CUdeviceptr p = abi_word(0);
    R_NEED(cuCtxCreate);
    R_IS(cu.cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
    CUstream s = abi_stream();
    R_IS(cu.cuCtxPopCurrent(&other), CUDA_SUCCESS);
    R_IS(abi_launch(rule_kernel("add"), 1, 1, s, p, 1), CUDA_ERROR_INVALID_HANDLE);
    R_IS(abi_read(p), 0);
    R_IS(cu.cuCtxDestroy(other), CUDA_SUCCESS);
    cu.cuMemFree(p);
}

static void rule_16(void)
{
    unsigned flags = 99;
    CUcontext c = NULL, was = NULL;
    CUstream s = abi_stream(), t = rule_stream(CU_STREAM_DEFAULT);
    R_NEED(cuStreamGetCtx);
    R_IS(cu.cuStreamGetFlags(s, &flags), CUDA_SUCCESS);
    R_IS(flags, CU_STREAM_NON_BLOCKING);
    R_IS(cu.cuStreamGetFlags(t, &flags), CUDA_SUCCESS);
    R_IS(flags, CU_STREAM_DEFAULT);
    CUstream all[] = { s, t, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, NULL };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        c = NULL;
        R_IS(cu.cuStreamGetCtx(all[i], &c), CUDA_SUCCESS);
        R_TRUE(c == abi_ctx);
    }
    R_IS(cu.cuStreamCreate(&all[0], 0x40), CUDA_ERROR_INVALID_VALUE);       /* an unknown flag */
    R_IS(cu.cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    R_IS(cu.cuCtxPopCurrent(&was), CUDA_SUCCESS);
    R_IS(cu.cuStreamGetCtx(CU_STREAM_LEGACY, &c), CUDA_ERROR_INVALID_CONTEXT);
    R_IS(cu.cuStreamGetCtx(CU_STREAM_PER_THREAD, &c), CUDA_ERROR_INVALID_CONTEXT);
    R_IS(cu.cuCtxPushCurrent(was), CUDA_SUCCESS);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
}

static const rule rules[] = {
    { 7, "one stream runs in the order of its calls; two streams have no order", rule_7, 0 },
    { 8, "the legacy stream waits for blocking streams and they for it; non-blocking ones have no order with it",
      rule_8, 0 },
    { 9, "each thread has a default stream of its own behind one handle, ordered with the legacy stream", rule_9, 0 },
    { 10, "a query distinguishes an empty stream from one with work", rule_10, 0 },
    { 11, "synchronizing a stream waits for host functions too", rule_11, 0 },
    { 12, "a stream may be destroyed with work in it; the work is done", rule_12, 0 },
    { 13, "a priority out of range is clamped; the lower number is the higher priority", rule_13, 0 },
    { 14, "a stream's id never comes again, its handle may", rule_14, 0 },
    { 15, "a launch on a stream of another context fails with INVALID_HANDLE", rule_15, 0 },
    { 16,
      "a stream reports its flags and its context; a default stream reports the current context, and fails without one",
      rule_16, 0 },
};
RULES_MAIN(rules)
