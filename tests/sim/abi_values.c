/* Memory operations in streams: a stream waits for a word to have a value, and writes one in its order. */
#include "sim_abi.h"

static CUmodule module;

static const struct { const char *name; unsigned flags, start, want, then; } waits[] = {
    { "at least", CU_STREAM_WAIT_VALUE_GEQ, 1, 5, 6 },
    { "equal", CU_STREAM_WAIT_VALUE_EQ, 6, 5, 5 },
    { "a common bit", CU_STREAM_WAIT_VALUE_AND, 8, 5, 4 },
};

static void waits_for_a_word(void)
{
    CUfunction append = abi_kernel(&module, "append");
    void *h;
    CUdeviceptr d;
    cu.cuMemHostAlloc(&h, 8, CU_MEMHOSTALLOC_DEVICEMAP);
    cu.cuMemHostGetDevicePointer(&d, h, 0);
    unsigned *word = h;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        CUstream s = abi_stream();
        CUdeviceptr p = abi_word(0);
        __atomic_store_n(word, waits[i].start, __ATOMIC_SEQ_CST);
        abi_is(cu.cuStreamWaitValue32(s, d, waits[i].want, waits[i].flags), CUDA_SUCCESS, "%s: wait", waits[i].name);
        abi_launch(append, 1, 1, s, p, 3);
        abi_is(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY, "%s: not yet", waits[i].name);
        __atomic_store_n(word, waits[i].then, __ATOMIC_SEQ_CST);
        abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "%s: then it goes on", waits[i].name);
        tap_is_uint(abi_read(p), 3, "%s: what is behind it ran", waits[i].name);
        cu.cuMemFree(p);
        cu.cuStreamDestroy(s);
    }
    cu.cuMemFreeHost(h);
}

static void writes_in_order(void)
{
    CUfunction append = abi_kernel(&module, "append");
    CUstream s = abi_stream();
    CUdeviceptr p = 0;
    CUstreamBatchMemOpParams ops[2];
    memset(ops, 0, sizeof ops);
    cu.cuMemAlloc(&p, 16);
    abi_is(cu.cuStreamWriteValue32(s, p, 4, 0), CUDA_SUCCESS, "write");
    abi_launch(append, 1, 1, s, p, 2);
    cu.cuStreamSynchronize(s);
    tap_is_uint(abi_read(p), 42, "before the kernel behind it");
    ops[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    ops[0].writeValue.address = p + 8;
    ops[0].writeValue.value64 = UINT64_C(0x700000006);
    ops[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    ops[1].waitValue.address = p + 12;
    ops[1].waitValue.value = 7;
    ops[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    abi_is(cu.cuStreamBatchMemOp(s, 2, ops, 0), CUDA_SUCCESS, "both in one call");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "the second sees the first");
    tap_is_uint(abi_read(p + 8), 6, "64 bits were written");
    abi_is(cu.cuStreamWriteValue32(s, p + 1, 4, 0), CUDA_ERROR_INVALID_VALUE, "a misaligned word");
    abi_is(cu.cuStreamWriteValue32(s, p, 4, 0x80), CUDA_ERROR_INVALID_VALUE, "an unknown flag");
    cu.cuMemFree(p);
    cu.cuStreamDestroy(s);
}

static void in_a_graph(void)
{
    CUgraph g;
    CUgraphExec x;
    CUgraphNode node;
    CUgraphNodeType type;
    CUstream s = abi_stream();
    CUdeviceptr p = 0;
    CUstreamBatchMemOpParams ops[2];
    cu.cuMemAlloc(&p, 16);
    memset(ops, 0, sizeof ops);
    for (int i = 0; i < 2; i++) {
        ops[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        ops[i].writeValue.address = p + 4 * (unsigned)i;
        ops[i].writeValue.value = 50 + (unsigned)i;
    }
    CUDA_BATCH_MEM_OP_NODE_PARAMS b = { .ctx = abi_ctx, .count = 2, .paramArray = ops };
    cu.cuGraphCreate(&g, 0);
    abi_is(cu.cuGraphAddBatchMemOpNode(&node, g, NULL, 0, &b), CUDA_SUCCESS, "a node with two writes");
    abi_is(cu.cuGraphNodeGetType(node, &type), CUDA_SUCCESS, "its type");
    tap_is_int(type, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, "a batch");
    cu.cuGraphInstantiateWithFlags(&x, g, 0);
    cu.cuGraphLaunch(x, s);
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "launched");
    tap_is_uint(abi_read(p), 50, "the first word");
    tap_is_uint(abi_read(p + 4), 51, "the second");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuMemFree(p);
    cu.cuStreamDestroy(s);
}

int main(void)
{
    abi_open();
    if (!cu.cuStreamWaitValue32 || !cu.cuStreamBatchMemOp) {
        tap_skip(1, "this driver has no memory operations in streams");
    } else {
        waits_for_a_word();
        writes_in_order();
        if (cu.cuGraphAddBatchMemOpNode) in_a_graph();
        cu.cuModuleUnload(module);
    }
    return abi_close();
}
