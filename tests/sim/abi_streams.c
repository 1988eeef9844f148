/* Streams keep their order, run side by side, and outlive their handles (semantics 7, 8, 9, 10, 11, 12, 13, 14, 16). */
#include "tests/conformance/driver_abi.h"

static CUmodule module;

static void keeps_order(void)
{
    CUfunction append = abi_kernel(&module, "append");
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0);
    for (unsigned i = 1; i <= 7; i++) abi_is(abi_launch(append, 1, 1, s, p, i), CUDA_SUCCESS, "launch %u is accepted", i);
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "synchronize");
    tap_is_uint(abi_read(p), 1234567, "seven kernels of one stream ran in their order");
    abi_is(cu.cuStreamDestroy(s), CUDA_SUCCESS, "destroy");
    cu.cuMemFree(p);
}

static void two_streams_run_side_by_side(void)
{
    CUfunction spin = abi_kernel(&module, "spin"), add = abi_kernel(&module, "add");
    CUstream a = abi_stream(), b = abi_stream();
    CUdeviceptr flag = abi_word(0);
    abi_is(abi_launch(spin, 1, 1, a, flag, 0), CUDA_SUCCESS, "a kernel that waits for a flag");
    abi_is(abi_launch(add, 1, 1, b, flag, 1), CUDA_SUCCESS, "a kernel of another stream that sets it");
    abi_is(cu.cuStreamSynchronize(a), CUDA_SUCCESS, "the first kernel ends, whatever order they were given in");
    abi_is(cu.cuStreamSynchronize(b), CUDA_SUCCESS, "and so does the second");
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(b);
    cu.cuMemFree(flag);
}

static void query_tells_pending_work(void)
{
    abi_latch latch;
    CUstream s = abi_stream();
    abi_is(cu.cuStreamQuery(s), CUDA_SUCCESS, "an empty stream is done");
    abi_latch_put(&latch, s);
    abi_is(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY, "a stream with a blocked host function is not");
    abi_latch_open(&latch);
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "synchronize waits for the host function");
    abi_is(cu.cuStreamQuery(s), CUDA_SUCCESS, "and then the stream is done");
    cu.cuStreamDestroy(s);
}

static void destroy_leaves_pending_work(void)
{
    CUfunction add = abi_kernel(&module, "add");
    abi_latch latch;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(1);
    abi_latch_put(&latch, s);
    abi_is(abi_launch(add, 4, 32, s, p, 1), CUDA_SUCCESS, "a kernel behind a latch");
    abi_is(cu.cuStreamDestroy(s), CUDA_SUCCESS, "the stream is destroyed at once");
    if (!tap_on_gpu()) abi_is(cu.cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE, "its handle is stale");   /* a GPU's driver may crash on one */
    abi_latch_open(&latch);
    abi_is(cu.cuCtxSynchronize(), CUDA_SUCCESS, "the context waits for the work of a destroyed stream");
    tap_is_uint(abi_read(p), 129, "which was done");
    cu.cuMemFree(p);
}

/* Whether `later` waits for what the latch holds up in `first`.  A fill, as a device may call host functions one after another. */
static void legacy_case(const char *name, CUstream first, CUstream later, bool waits)
{
    abi_latch latch;
    CUdeviceptr p = abi_word(0);
    CUevent e = abi_event();
    abi_latch_put(&latch, first);
    abi_latch_await(&latch);
    abi_is(cu.cuMemsetD32Async(p, 7, 1, later), CUDA_SUCCESS, "%s: a fill", name);
    cu.cuEventRecord(e, later);
    if (waits) {
        abi_is(cu.cuEventQuery(e), CUDA_ERROR_NOT_READY, "%s: waits", name);
        abi_latch_open(&latch);
    } else {
        abi_is(cu.cuStreamSynchronize(later), CUDA_SUCCESS, "%s: does not wait", name);
        abi_latch_open(&latch);
    }
    abi_is(cu.cuCtxSynchronize(), CUDA_SUCCESS, "%s: all ends", name);
    tap_is_uint(abi_read(p), 7, "%s: and is done", name);
    cu.cuEventDestroy(e);
    cu.cuMemFree(p);
}

static void the_legacy_stream_joins_blocking_ones(void)
{
    CUstream blocking = NULL, other = abi_stream();
    abi_is(cu.cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS, "a blocking stream");
    legacy_case("legacy after a blocking stream", blocking, NULL, true);
    legacy_case("legacy, by its handle, after a blocking stream", blocking, CU_STREAM_LEGACY, true);
    legacy_case("a blocking stream after legacy", NULL, blocking, true);
    legacy_case("the per-thread stream after legacy", NULL, CU_STREAM_PER_THREAD, true);
    legacy_case("legacy after the per-thread stream", CU_STREAM_PER_THREAD, NULL, true);
    legacy_case("a blocking stream after the per-thread stream", CU_STREAM_PER_THREAD, blocking, false);
    legacy_case("a non-blocking stream after legacy", NULL, other, false);
    legacy_case("a non-blocking stream after a blocking one", blocking, other, false);
    cu.cuStreamDestroy(blocking);
    cu.cuStreamDestroy(other);
}

static void attributes_round_trip(void)
{
    int least, greatest, priority;
    unsigned flags;
    unsigned long long id[2] = { 0 };
    CUcontext ctx;
    CUstream s;
    static const struct { const char *name; int ask, want; } cases[] = {
        { "the least", 0, 0 }, { "the greatest", -100, 1 }, { "below the least", 100, 0 }, { "in between", -1, -1 } };
    abi_is(cu.cuCtxGetStreamPriorityRange(&least, &greatest), CUDA_SUCCESS, "the range of priorities");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int want = cases[i].want == 1 ? greatest : cases[i].want < greatest ? greatest : cases[i].want;
        abi_is(cu.cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, cases[i].ask), CUDA_SUCCESS, "%s: create", cases[i].name);
        abi_is(cu.cuStreamGetPriority(s, &priority), CUDA_SUCCESS, "%s: ask", cases[i].name);
        tap_is_int(priority, want, "%s: clamped without a word", cases[i].name);
        abi_is(cu.cuStreamGetFlags(s, &flags), CUDA_SUCCESS, "%s: flags", cases[i].name);
        tap_is_uint(flags, CU_STREAM_NON_BLOCKING, "%s: non-blocking", cases[i].name);
        abi_is(cu.cuStreamGetCtx(s, &ctx), CUDA_SUCCESS, "%s: context", cases[i].name);
        tap_ok(ctx == abi_ctx, "%s: the one it was made in", cases[i].name);
        cu.cuStreamDestroy(s);
    }
    if (cu.cuStreamGetId) {
        for (int i = 0; i < 2; i++) {
            s = abi_stream();
            abi_is(cu.cuStreamGetId(s, &id[i]), CUDA_SUCCESS, "id");
            cu.cuStreamDestroy(s);
        }
        tap_ok(id[0] != id[1], "ids do not repeat where handles do");
    }
    abi_is(cu.cuStreamCreate(&s, 0x40), CUDA_ERROR_INVALID_VALUE, "an unknown flag is refused");
    abi_is(cu.cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE, "so is NULL");
}

int main(void)
{
    abi_open();
    keeps_order();
    two_streams_run_side_by_side();
    query_tells_pending_work();
    destroy_leaves_pending_work();
    the_legacy_stream_joins_blocking_ones();
    attributes_round_trip();
    cu.cuModuleUnload(module);
    return abi_close();
}
