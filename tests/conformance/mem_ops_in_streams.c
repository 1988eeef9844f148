/* Memory operations in streams: a stream waits for a word to have a value, and writes one in its order; the same in
 * nodes of graphs, which are read and changed. */
#include "tests/conformance/driver_abi.h"

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

static CUstreamBatchMemOpParams value_op(CUstreamBatchMemOpType kind, CUdeviceptr at, uint64_t value)
{
    CUstreamBatchMemOpParams p;
    memset(&p, 0, sizeof p);
    p.writeValue.operation = kind;
    p.writeValue.address = at;
    p.writeValue.value64 = value;
    return p;
}

static CUDA_BATCH_MEM_OP_NODE_PARAMS ops_of(CUstreamBatchMemOpParams *ops, unsigned count)
{
    return (CUDA_BATCH_MEM_OP_NODE_PARAMS){ .ctx = abi_ctx, .count = count, .paramArray = ops };
}

static unsigned run_and_read(CUgraphExec x, CUstream s, CUdeviceptr p)
{
    cu.cuGraphLaunch(x, s);
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "... launched");
    return abi_read(p);
}

/* A node's parameters are read and changed, in the graph and in an executable one; each keeps its own. */
static void changed_in_a_graph(void)
{
    CUgraph g;
    CUgraphExec x;
    CUgraphNode node, other;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0), q = abi_word(0);
    CUstreamBatchMemOpParams ops[2] = { value_op(CU_STREAM_MEM_OP_WRITE_VALUE_32, p, 3),
                                        value_op(CU_STREAM_MEM_OP_WAIT_VALUE_32, p, 3) };
    ops[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    CUDA_BATCH_MEM_OP_NODE_PARAMS b = ops_of(ops, 2), now;
    cu.cuGraphCreate(&g, 0);
    cu.cuGraphAddBatchMemOpNode(&node, g, NULL, 0, &b);
    memset(&now, 0, sizeof now);
    abi_is(cu.cuGraphBatchMemOpNodeGetParams(node, &now), CUDA_SUCCESS, "its parameters");
    if (now.ctx != abi_ctx) tap_diag("their context is %p, not %p", (void *)now.ctx, (void *)abi_ctx);
    tap_ok(now.count == 2 && !now.flags && now.paramArray && now.paramArray != ops,
           "are its own copy of what was given");
    const CUstreamBatchMemOpParams *a = now.paramArray;
    tap_ok(a && a[0].writeValue.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 && a[0].writeValue.address == p &&
               a[0].writeValue.value == 3 && a[1].waitValue.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 &&
               a[1].waitValue.address == p && a[1].waitValue.flags == CU_STREAM_WAIT_VALUE_EQ,
           "op by op");
    cu.cuGraphInstantiateWithFlags(&x, g, 0);
    ops[0].writeValue.value = ops[1].waitValue.value = 5;
    abi_is(cu.cuGraphBatchMemOpNodeSetParams(node, &b), CUDA_SUCCESS, "the node gets other values");
    tap_is_uint(run_and_read(x, s, p), 3, "the executable keeps what it had");
    ops[0].writeValue.address = ops[1].waitValue.address = q;
    ops[0].writeValue.value = ops[1].waitValue.value = 7;
    abi_is(cu.cuGraphExecBatchMemOpNodeSetParams(x, node, &b), CUDA_SUCCESS, "it gets another word and value");
    tap_is_uint(run_and_read(x, s, q), 7, "and writes it");
    tap_is_uint(abi_read(p), 3, "not the one before");
    cu.cuGraphBatchMemOpNodeGetParams(node, &now);
    tap_ok(now.count == 2 && now.paramArray[0].writeValue.address == p && now.paramArray[0].writeValue.value == 5,
           "the node keeps what was enqueued on it itself");
    CUDA_BATCH_MEM_OP_NODE_PARAMS fewer = ops_of(ops, 1),
                                  others = ops_of((CUstreamBatchMemOpParams[]){ ops[1], ops[0] }, 2),
                                  none = ops_of(ops, 0), null = ops_of(NULL, 2);
    abi_is(cu.cuGraphExecBatchMemOpNodeSetParams(x, node, &fewer), CUDA_ERROR_INVALID_VALUE,
           "fewer operations for an executable");
    abi_is(cu.cuGraphExecBatchMemOpNodeSetParams(x, node, &others), CUDA_ERROR_INVALID_VALUE,
           "other kinds of operations for an executable");
    abi_is(cu.cuGraphBatchMemOpNodeSetParams(node, &none), CUDA_SUCCESS, "no operations for a node");
    abi_is(cu.cuGraphAddBatchMemOpNode(&other, g, NULL, 0, &none), CUDA_SUCCESS, "a node without operations");
    abi_is(cu.cuGraphAddBatchMemOpNode(&other, g, NULL, 0, &null), CUDA_ERROR_INVALID_VALUE,
           "a node with operations at NULL");
    abi_is(cu.cuGraphBatchMemOpNodeGetParams(node, NULL), CUDA_ERROR_INVALID_VALUE, "parameters to nowhere");
    cu.cuGraphAddEmptyNode(&other, g, NULL, 0);
    abi_is(cu.cuGraphBatchMemOpNodeGetParams(other, &now), CUDA_ERROR_INVALID_VALUE, "those of an empty node");
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuMemFree(p);
    cu.cuMemFree(q);
    cu.cuStreamDestroy(s);
}

/* One graph for each kind of operation, to update an executable of the first from. */
static void updates_an_executable(void)
{
    CUgraph g[4];
    CUgraphExec x;
    CUgraphExecUpdateResultInfo info;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0), q = abi_word(0);
    CUstreamBatchMemOpParams ops[4][2] = {
        { value_op(CU_STREAM_MEM_OP_WRITE_VALUE_32, p, 3) },
        { value_op(CU_STREAM_MEM_OP_WRITE_VALUE_32, q, 4) },
        { value_op(CU_STREAM_MEM_OP_WAIT_VALUE_32, p, 3) },
        { value_op(CU_STREAM_MEM_OP_WRITE_VALUE_32, p, 5), value_op(CU_STREAM_MEM_OP_WRITE_VALUE_32, q, 6) },
    };
    for (unsigned i = 0; i < 4; i++) {
        CUgraphNode node;
        CUDA_BATCH_MEM_OP_NODE_PARAMS b = ops_of(ops[i], i == 3 ? 2 : 1);
        cu.cuGraphCreate(&g[i], 0);
        cu.cuGraphAddBatchMemOpNode(&node, g[i], NULL, 0, &b);
    }
    cu.cuGraphInstantiateWithFlags(&x, g[0], 0);
    abi_is(cu.cuGraphExecUpdate_v2(x, g[1], &info), CUDA_SUCCESS, "an update with another word and value");
    tap_is_uint(run_and_read(x, s, q), 4, "which is written then");
    abi_is(cu.cuGraphExecUpdate_v2(x, g[2], &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
           "an update with another kind of operation");
    tap_is_int(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, "for its parameters");
    abi_is(cu.cuGraphExecUpdate_v2(x, g[3], &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
           "an update with more operations");
    tap_is_int(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, "for its parameters");
    cu.cuGraphExecDestroy(x);
    for (unsigned i = 0; i < 4; i++) cu.cuGraphDestroy(g[i]);
    cu.cuMemFree(p);
    cu.cuMemFree(q);
    cu.cuStreamDestroy(s);
}

/* Captured, each call is a node of its own of the same kind. */
static void in_a_capture(void)
{
    CUgraph g = NULL;
    CUgraphExec x;
    CUgraphNode node[3];
    CUgraphNodeType type;
    CUDA_BATCH_MEM_OP_NODE_PARAMS now;
    size_t count = 3;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0);
    CUstreamBatchMemOpParams ops[2] = { value_op(CU_STREAM_MEM_OP_WAIT_VALUE_32, p, 1),
                                        value_op(CU_STREAM_MEM_OP_WRITE_VALUE_32, p, 2) };
    cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    abi_is(cu.cuStreamWriteValue32(s, p, 1, 0), CUDA_SUCCESS, "a captured write");
    abi_is(cu.cuStreamWaitValue32(s, p, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS, "a captured wait");
    abi_is(cu.cuStreamBatchMemOp(s, 2, ops, 0), CUDA_SUCCESS, "a captured batch");
    abi_is(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS, "the end of their capture");
    if (g) {
        cu.cuGraphGetNodes(g, node, &count);
        tap_is_uint(count, 3, "are three nodes");
        for (size_t i = 0; i < count; i++) {
            memset(&now, 0, sizeof now);
            CUresult r = cu.cuGraphNodeGetType(node[i], &type);
            if (!r && type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) r = cu.cuGraphBatchMemOpNodeGetParams(node[i], &now);
            static const struct { unsigned count; CUstreamBatchMemOpType first;
            } want[3] = { { 1, CU_STREAM_MEM_OP_WRITE_VALUE_32 },
                          { 1, CU_STREAM_MEM_OP_WAIT_VALUE_32 },
                          { 2, CU_STREAM_MEM_OP_WAIT_VALUE_32 } };
            tap_ok(!r && type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP && now.count == want[i].count &&
                       now.paramArray[0].operation == want[i].first,
                   "node %zu", i);
        }
        abi_is(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS, "what was captured");
        tap_is_uint(run_and_read(x, s, p), 2, "... does what was said, in its order");
        cu.cuGraphExecDestroy(x);
        cu.cuGraphDestroy(g);
    }
    cu.cuMemFree(p);
    cu.cuStreamDestroy(s);
}

static void how_many(void)
{
    static CUstreamBatchMemOpParams ops[257];
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0);
    for (unsigned i = 0; i < 257; i++) ops[i] = value_op(CU_STREAM_MEM_OP_WRITE_VALUE_32, p, i);
    abi_is(cu.cuStreamBatchMemOp(s, 255, ops, 0), CUDA_SUCCESS, "255 in one call");
    cu.cuStreamSynchronize(s);
    tap_is_uint(abi_read(p), 254, "the last one last");
    abi_is(cu.cuStreamBatchMemOp(s, 256, ops, 0), CUDA_ERROR_INVALID_VALUE, "256 in one call");
    abi_is(cu.cuStreamBatchMemOp(s, 257, ops, 0), CUDA_ERROR_INVALID_VALUE, "257 in one call");
    abi_is(cu.cuStreamBatchMemOp(s, 0, ops, 0), CUDA_SUCCESS, "none in one call");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "the stream behind them");
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
        how_many();
        if (cu.cuGraphAddBatchMemOpNode && cu.cuGraphBatchMemOpNodeGetParams && cu.cuGraphExecUpdate_v2) {
            changed_in_a_graph();
            updates_an_executable();
            in_a_capture();
        }
        cu.cuModuleUnload(module);
    }
    return abi_close();
}
