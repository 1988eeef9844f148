/* What the programs of rules about captures share. */
#ifndef CUJIT_TESTS_CONFORMANCE_RULES_CAPTURES_H
#define CUJIT_TESTS_CONFORMANCE_RULES_CAPTURES_H

#include "rules.h"

#define NONE CU_STREAM_CAPTURE_STATUS_NONE
#define ACTIVE CU_STREAM_CAPTURE_STATUS_ACTIVE
#define INVALIDATED CU_STREAM_CAPTURE_STATUS_INVALIDATED
#define RELAXED CU_STREAM_CAPTURE_MODE_RELAXED

static inline int capture_status(CUstream s)
{
    CUstreamCaptureStatus status = (CUstreamCaptureStatus)-1;
    return cu.cuStreamIsCapturing(s, &status) ? -1 : (int)status;
}

static inline size_t captured_nodes(CUgraph g)
{
    size_t n = 999;
    return cu.cuGraphGetNodes(g, NULL, &n) ? 999 : n;
}

static inline CUstream capturing(CUstreamCaptureMode mode)
{
    CUstream s = abi_stream();
    R_IS(cu.cuStreamBeginCapture(s, mode), CUDA_SUCCESS);
    return s;
}

/* Ends a capture that should be invalid: no work is accepted before, and all work behind. */
static inline void ends_invalid(CUstream s)
{
    CUgraph g = (CUgraph)8;
    unsigned word = 99;
    R_IS(capture_status(s), INVALIDATED);
    R_IS(abi_launch(rule_kernel("append"), 1, 1, s, rule_now.word, 1), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    R_IS(cu.cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    R_TRUE(g == NULL);
    R_IS(capture_status(s), NONE);
    R_IS(cu.cuMemsetD32Async(rule_now.word, 0, 1, s), CUDA_SUCCESS);
    R_IS(abi_launch(rule_kernel("append"), 1, 1, s, rule_now.word, 7), CUDA_SUCCESS);
    R_IS(cu.cuMemcpyDtoHAsync(&word, rule_now.word, sizeof word, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(word, 7);
    cu.cuStreamDestroy(s);
}

static inline void ends_valid(CUstream s, size_t nodes)
{
    CUgraph g = NULL;
    R_IS(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS);
    if (R_TRUE(g != NULL)) R_IS(captured_nodes(g), nodes);
    if (g) cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
}

#endif
