/* Rules 47 - 53: capture: how it begins, spreads and ends.  The answers are those of an H100 (driver 580) where
 * NVIDIA's text says otherwise or nothing. */
#include "rules_captures.h"

typedef struct foreign_end { CUstream s; int answer; bool relaxed; } foreign_end;

static void *foreign_end_thread(void *arg)
{
    foreign_end *f = arg;
    CUgraph g = NULL;
    CUstreamCaptureMode mode = RELAXED;
    cu.cuCtxSetCurrent(abi_ctx);
    if (f->relaxed) cu.cuThreadExchangeStreamCaptureMode(&mode);
    f->answer = (int)cu.cuStreamEndCapture(f->s, &g);
    if (g) cu.cuGraphDestroy(g);
    cu.cuCtxSetCurrent(NULL);
    return NULL;
}

static void rule_47(void)
{
    CUgraph g = NULL;
    CUstream never = abi_stream();
    R_IS(cu.cuStreamEndCapture(never, &g), CUDA_ERROR_ILLEGAL_STATE);       /* an end without a beginning */
    cu.cuStreamDestroy(never);
    R_IS(cu.cuStreamBeginCapture(CU_STREAM_LEGACY, RELAXED), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    R_IS(cu.cuStreamBeginCapture(CU_STREAM_PER_THREAD, RELAXED), CUDA_SUCCESS);
    R_IS(cu.cuStreamEndCapture(CU_STREAM_PER_THREAD, &g), CUDA_SUCCESS);
    R_IS(captured_nodes(g), 0);
    cu.cuGraphDestroy(g);
    CUstream s = capturing(RELAXED);
    R_IS(cu.cuStreamBeginCapture(s, RELAXED), CUDA_ERROR_ILLEGAL_STATE);    /* and the first goes on */
    R_IS(capture_status(s), ACTIVE);
    ends_valid(s, 0);
    s = capturing(RELAXED);
    CUstream t = abi_stream();
    CUevent e = abi_event();
    cu.cuEventRecord(e, s);
    cu.cuStreamWaitEvent(t, e, 0);
    R_IS(cu.cuStreamEndCapture(t, &g), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    ends_invalid(s);
    R_IS(capture_status(t), NONE);
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(t);
    for (int i = 0; i < 6; i++) {       /* the mode of the other thread does not matter */
        const int mode = i % 3;
        pthread_t thread;
        s = capturing((CUstreamCaptureMode)mode);
        foreign_end f = { s, -1, i >= 3 };
        pthread_create(&thread, NULL, foreign_end_thread, &f);
        pthread_join(thread, NULL);
        R_IS(f.answer, mode == RELAXED ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
        R_IS(capture_status(s), NONE);
        /* the capture is over, also where the end was rejected */
        R_IS(cu.cuStreamEndCapture(s, &g), CUDA_ERROR_ILLEGAL_STATE);
        R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
        cu.cuStreamDestroy(s);
    }
}

static void rule_48(void)
{
    CUdeviceptr p = abi_word(0);
    CUgraph g = NULL;
    CUgraphExec x = NULL;
    CUstream s = capturing(RELAXED);
    abi_launch(rule_kernel("append"), 1, 1, s, p, 1);
    R_IS(cu.cuMemsetD32Async(p, 4, 1, s), CUDA_SUCCESS);
    abi_launch(rule_kernel("append"), 1, 1, s, p, 2);
    R_IS(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(p), 0);
    R_IS(captured_nodes(g), 3);
    R_IS(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS);
    R_IS(abi_read(p), 0);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(p), 42);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

static void rule_49(void)
{
    CUfunction append = rule_kernel("append");
    CUdeviceptr p = abi_word(0);
    for (int join = 1; join >= 0; join--) {
        CUgraph g = (CUgraph)8;
        CUgraphExec x = NULL;
        cu.cuMemsetD32(p, 0, 1);
        cu.cuCtxSynchronize();
        CUstream s = capturing(RELAXED), t = abi_stream();
        CUevent fork = abi_event(), back = abi_event();
        abi_launch(append, 1, 1, s, p, 1);
        R_IS(cu.cuEventRecord(fork, s), CUDA_SUCCESS);
        R_IS(cu.cuStreamWaitEvent(t, fork, 0), CUDA_SUCCESS);
        R_IS(capture_status(t), ACTIVE);
        abi_launch(append, 1, 1, t, p, 2);
        R_IS(cu.cuEventRecord(back, t), CUDA_SUCCESS);
        if (join) {
            R_IS(cu.cuStreamWaitEvent(s, back, 0), CUDA_SUCCESS);
            abi_launch(append, 1, 1, s, p, 3);
            R_IS(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS);
            R_IS(captured_nodes(g), 3);
            R_IS(abi_read(p), 0);
            R_IS(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS);
            R_IS(cu.cuGraphDestroy(g), CUDA_SUCCESS);
            for (int k = 0; k < 2; k++) R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
            R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
            R_IS(abi_read(p), 123123);      /* in the order of the capture, for each launch */
            cu.cuGraphExecDestroy(x);
        } else {
            R_IS(cu.cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
            R_TRUE(g == NULL);
        }
        R_IS(capture_status(s), NONE);
        R_IS(capture_status(t), NONE);
        cu.cuEventDestroy(fork);
        cu.cuEventDestroy(back);
        cu.cuStreamDestroy(s);
        cu.cuStreamDestroy(t);
    }
    R_IS(abi_read(p), 0);
    cu.cuMemFree(p);
}

static void rule_50(void)
{
    CUevent e = abi_event();
    CUstream s = capturing(RELAXED), t = capturing(RELAXED), u = abi_stream();
    R_IS(cu.cuEventRecord(e, t), CUDA_SUCCESS);
    R_IS(cu.cuStreamWaitEvent(s, e, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    ends_invalid(s);
    ends_invalid(t);
    cu.cuEventDestroy(e);
    e = abi_event();
    s = capturing(RELAXED);
    R_IS(cu.cuStreamWaitEvent(s, e, 0), CUDA_SUCCESS);      /* never recorded: no harm */
    R_IS(capture_status(s), ACTIVE);
    R_IS(cu.cuEventRecord(e, u), CUDA_SUCCESS);
    R_IS(cu.cuStreamWaitEvent(s, e, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    ends_invalid(s);
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(u);
}

static void rule_51(void)
{
    for (int i = 0; i < 4; i++) {
        CUevent e = abi_event();
        CUstream s = capturing(RELAXED);
        R_IS(cu.cuEventRecord(e, s), CUDA_SUCCESS);
        if (i == 0) R_IS(cu.cuEventQuery(e), CUDA_ERROR_CAPTURED_EVENT);
        else if (i == 1) R_IS(cu.cuEventSynchronize(e), CUDA_ERROR_CAPTURED_EVENT);
        else if (i == 2) R_IS(cu.cuStreamQuery(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        else R_IS(cu.cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalid(s);
        cu.cuEventDestroy(e);
    }
}

static void rule_52(void)
{
    CUdeviceptr p = abi_word(0);
    CUevent e = abi_event(), f = abi_event();
    CUstream s = capturing(RELAXED), t = abi_stream();
    CUstreamCaptureStatus status = NONE;
    cuuint64_t id = 0;
    R_IS(cu.cuEventRecord(e, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    R_IS(abi_launch(rule_kernel("append"), 1, 1, s, p, 1), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    R_IS(cu.cuMemsetD32Async(p, 4, 1, s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    R_IS(cu.cuEventRecord(f, s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    R_IS(cu.cuStreamGetCaptureInfo(s, &status, &id, NULL, NULL, NULL), CUDA_SUCCESS);
    R_IS(status, INVALIDATED);
    R_IS(cu.cuStreamWaitEvent(t, e, 0), CUDA_ERROR_INVALID_VALUE);      /* an idle stream */
    R_IS(capture_status(t), NONE);
    ends_invalid(s);
    R_IS(capture_status(t), NONE);
    R_IS(abi_launch(rule_kernel("append"), 1, 1, t, p, 7), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(t), CUDA_SUCCESS);
    R_IS(abi_read(p), 7);
    cu.cuEventDestroy(e);
    cu.cuEventDestroy(f);
    cu.cuStreamDestroy(t);
    cu.cuMemFree(p);
}

static void rule_53(void)
{
    CUdeviceptr p = abi_word(0);
    CUstream s = rule_stream(CU_STREAM_DEFAULT);
    CUstreamCaptureStatus status = NONE;
    CUgraph g = NULL;
    R_IS(cu.cuStreamBeginCapture(s, RELAXED), CUDA_SUCCESS);
    R_IS(cu.cuStreamIsCapturing(CU_STREAM_LEGACY, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    R_IS(capture_status(s), ACTIVE);
    R_IS(cu.cuMemsetD32Async(p, 1, 1, CU_STREAM_LEGACY), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    R_IS(capture_status(s), INVALIDATED);
    R_IS(cu.cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    R_TRUE(g == NULL);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(cu.cuStreamIsCapturing(CU_STREAM_LEGACY, &status), CUDA_SUCCESS);
    cu.cuStreamDestroy(s);
    s = capturing(CU_STREAM_CAPTURE_MODE_GLOBAL);       /* a non-blocking stream: nothing of it */
    R_IS(cu.cuStreamIsCapturing(CU_STREAM_LEGACY, &status), CUDA_SUCCESS);
    R_IS(status, NONE);
    R_IS(cu.cuMemsetD32Async(p, 2, 1, CU_STREAM_LEGACY), CUDA_SUCCESS);
    R_IS(capture_status(s), ACTIVE);
    ends_valid(s, 0);
    R_IS(abi_read(p), 2);
    cu.cuMemFree(p);
}

static const rule rules[] = {
    { 47,
      "a capture cannot begin on the legacy stream or twice, nor end on a forked stream or in another thread, unless "
      "relaxed",
      rule_47, 0 },
    { 48, "captured work does not run before the graph is launched", rule_48, 0 },
    { 49, "a wait for a captured event brings a stream into the capture; it must be joined back", rule_49, 0 },
    { 50, "captures do not merge, and do not wait for work outside of them", rule_50, 0 },
    { 51, "queries and waits of captured events and streams fail and invalidate the capture", rule_51, 0 },
    { 52, "an invalid capture rejects all work, reports its state, ends without a graph, and leaves the stream usable",
      rule_52, 0 },
    { 53,
      "the legacy stream cannot be used while a blocking stream captures; a capturing non-blocking stream does not "
      "forbid it",
      rule_53, 0 },
};
RULES_MAIN(rules)
