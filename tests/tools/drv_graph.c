/* Graphs and events: drv_graph IMAGE. One graph is built node by node, one is captured. */
#include <string.h>

#include "drv_check.h"

enum { N = 256 };

static float host[N];
static CUdeviceptr a, b;

static CUgraphExec built(CUcontext ctx, CUfunction f)
{
    static int n = N;
    static void *args[] = { &a, &a, &b, &n };
    CUgraph graph;
    CUgraphNode kernel, copy, found;
    CUgraphEdgeData edge;
    CUgraphExec exec;
    CUDA_KERNEL_NODE_PARAMS k;
    CUDA_MEMCPY3D c;
    size_t count = 1;
    memset(&k, 0, sizeof k);
    memset(&c, 0, sizeof c);
    memset(&edge, 0, sizeof edge);
    k.func = f;
    k.gridDimX = k.gridDimY = k.gridDimZ = 1;
    k.blockDimX = N;
    k.blockDimY = k.blockDimZ = 1;
    k.kernelParams = args;
    c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = b;
    c.dstMemoryType = CU_MEMORYTYPE_HOST;
    c.dstHost = host;
    c.WidthInBytes = sizeof host;
    c.Height = c.Depth = 1;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode(&kernel, graph, NULL, 0, &k));
    CHECK(cuGraphAddMemcpyNode(&copy, graph, NULL, 0, &c, ctx));
    CHECK(cuGraphAddDependencies(graph, &kernel, &copy, &edge, 1));
    CHECK(cuGraphNodeGetDependencies(copy, &found, &edge, &count));
    EXPECT(count == 1 && found == kernel);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return exec;
}

static CUgraphExec captured(CUstream stream, CUfunction f)
{
    int n = N;
    void *args[] = { &a, &b, &b, &n };
    CUgraph graph, inside = NULL;
    CUgraphExec exec;
    CUstreamCaptureStatus status;
    cuuint64_t id;
    const CUgraphNode *nodes;
    const CUgraphEdgeData *edges;
    size_t count;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CHECK(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, stream, args, NULL));
    CHECK(cuStreamGetCaptureInfo(stream, &status, &id, &inside, &nodes, &edges, &count));
    EXPECT(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && inside && count == 1);
    CHECK(cuMemcpyDtoHAsync(host, b, sizeof host, stream));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return exec;
}

int main(int argc, char **argv)
{
    CUdevice dev;
    CUcontext ctx;
    CUmodule module;
    CUfunction f;
    CUstream stream;
    CUevent begin, end;
    CUgraphExec first, second;
    float x[N], ms = -1;
    if (argc != 2) return 2;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&dev, 0));
    CHECK(cuCtxCreate(&ctx, NULL, 0, dev));
    CHECK(cuModuleLoad(&module, argv[1]));
    CHECK(cuModuleGetFunction(&f, module, "vector_add"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    CHECK(cuMemAlloc(&a, sizeof x));
    CHECK(cuMemAlloc(&b, sizeof x));
    for (int i = 0; i < N; i++) x[i] = (float)i;
    CHECK(cuMemcpyHtoD(a, x, sizeof x));
    first = built(ctx, f);
    second = captured(stream, f);
    CHECK(cuEventRecord(begin, stream));
    CHECK(cuGraphLaunch(first, stream));
    CHECK(cuStreamSynchronize(stream));
    for (int i = 0; i < N; i++) EXPECT(host[i] == 2 * (float)i);
    CHECK(cuGraphLaunch(second, stream));
    CHECK(cuGraphLaunch(second, stream));
    CHECK(cuEventRecord(end, stream));
    CHECK(cuEventSynchronize(end));
    CHECK(cuEventElapsedTime(&ms, begin, end));
    EXPECT(ms >= 0);
    for (int i = 0; i < N; i++) EXPECT(host[i] == 4 * (float)i);
    CHECK(cuGraphExecDestroy(first));
    CHECK(cuGraphExecDestroy(second));
    CHECK(cuEventDestroy(begin));
    CHECK(cuEventDestroy(end));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuModuleUnload(module));
    CHECK(cuCtxDestroy(ctx));
    printf("two graphs, launched\n");
    return 0;
}
