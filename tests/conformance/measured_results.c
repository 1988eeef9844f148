/* Single answers that a manual leaves open or tells otherwise: attributes, arguments at the edge, what is rejected
 * first.  Each line was asked of an H100 (tests/conformance/same_answers). */
#include "tests/conformance/driver_abi.h"

static CUmodule module;
static CUstream stream;
static CUgraph graph;
static CUdeviceptr word;

static const char odd_ptx[] = ABI_HEAD
    ".visible .entry few(.param .u64 p, .param .u32 n)\n"
    ".maxntid 256, 1, 1\n"
    "{\n"
    "  ret;\n"
    "}\n";
static CUmodule odd;
static CUfunction few;

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

static int attribute(CUstream s, int id)
{
    CUlaunchAttributeValue v;
    memset(&v, 0, sizeof v);
    int r = (int)cu.cuStreamGetAttribute(s, (CUstreamAttrID)id, &v);
    if (r) return 1000 + r;
    return id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP ? v.memSyncDomainMap.default_ * 10 + v.memSyncDomainMap.remote
           : id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW ? 0
                                                            : v.priority;
}

static int set_attribute(int id, int value)
{
    CUlaunchAttributeValue v;
    memset(&v, 0, sizeof v);
    if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) v.memSyncDomainMap.default_ = (unsigned char)value;
    else v.priority = value;
    int r = (int)cu.cuStreamSetAttribute(stream, (CUstreamAttrID)id, &v);
    return r ? 1000 + r : attribute(stream, id);
}

static int policy(void) { return attribute(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY); }
static int window(void) { return attribute(stream, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW); }
static int domains(void) { return attribute(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP); }
static int domains_set(void) { return set_attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, 3); }
static int domains_beyond(void) { return set_attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, 4); }
static int domain_set(void) { return set_attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, 1); }
static int domain_beyond(void) { return set_attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, 2); }
static int priority_beyond(void) { return set_attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, 5); }

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

static int launch_with(int id, int value)
{
    CUlaunchAttribute a;
    unsigned n = 0;
    void *params[] = { &word, &n };
    CUlaunchConfig c = { .gridDimX = 1,
                         .gridDimY = 1,
                         .gridDimZ = 1,
                         .blockDimX = 1,
                         .blockDimY = 1,
                         .blockDimZ = 1,
                         .hStream = stream,
                         .attrs = &a,
                         .numAttrs = 1 };
    if (!cu.cuLaunchKernelEx) return -1;
    memset(&a, 0, sizeof a);
    a.id = (CUlaunchAttributeID)id;
    a.value.priority = value;
    if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) a.value.clusterDim.y = a.value.clusterDim.z = 1;
    return (int)cu.cuLaunchKernelEx(&c, abi_kernel(&module, "add"), params, NULL);
}

static int no_cluster(void) { return launch_with(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 0); }
static int uneven_cluster(void) { return launch_with(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 2); }
static int odd_scheduling(void) { return launch_with(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 3); }
static int odd_domain(void) { return launch_with(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, 2); }
static int odd_carveout(void) { return launch_with(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1); }
static int any_early(void) { return launch_with(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 3); }

static int buffer(size_t bytes, bool params_too)
{
    struct { CUdeviceptr p; unsigned n; unsigned char more[20]; } it = { .p = word };
    unsigned n = 0;
    void *params[] = { &word, &n },
         *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &it, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END };
    return (int)cu.cuLaunchKernel(abi_kernel(&module, "add"), 1, 1, 1, 1, 1, 1, 0, stream, params_too ? params : NULL,
                                  extra);
}

static int large_buffer(void) { return buffer(32, false); }
static int empty_buffer(void) { return buffer(0, false); }
static int empty_buffer_and_params(void) { return buffer(0, true); }

/* ---- Functions and modules --------------------------------------------------------------------------------------- */

static int any_nonportable(void)
{
    int v = -1, r = (int)cu.cuFuncSetAttribute(few, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 50);
    if (!r) cu.cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, few);
    return r ? 1000 + r : v;
}
static int blocks_beyond(void)
{
    int n = -1;
    return cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, few, 1024, 0) ? -2 : n;
}
static int dynamic_room(void)
{
    size_t n = 0;
    return !cu.cuOccupancyAvailableDynamicSMemPerBlock || cu.cuOccupancyAvailableDynamicSMemPerBlock(&n, few, 1, 64)
               ? -2
               : (int)n;
}
static int nameless_function(void) { CUfunction f; return cu.cuModuleGetFunction(&f, module, ""); }
static int nameless_variable(void) { CUdeviceptr p; size_t n; return cu.cuModuleGetGlobal(&p, &n, module, ""); }
static int function_as_variable(void) { CUdeviceptr p; size_t n; return cu.cuModuleGetGlobal(&p, &n, module, "add"); }
static int no_functions(void)
{
    CUfunction f;
    return cu.cuModuleEnumerateFunctions ? cu.cuModuleEnumerateFunctions(&f, 0, module) : CUDA_SUCCESS;
}
static int sync_depth(void) { size_t n; return cu.cuCtxGetLimit(&n, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH); }
static int push_nothing(void) { return cu.cuCtxPushCurrent(NULL); }

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

static CUgraphNode step(const CUgraphNode *dep)
{
    unsigned n = 0;
    void *params[] = { &word, &n };
    CUDA_KERNEL_NODE_PARAMS_v2 k = { .func = abi_kernel(&module, "add"),
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 1,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = params };
    CUgraphNode node = NULL;
    if (cu.cuGraphAddKernelNode(&node, graph, dep, dep != NULL, &k)) tap_bail("no node");
    return node;
}

static int told_flags(void)
{
    CUgraphExec x = NULL;
    cuuint64_t flags = 99;
    if (cu.cuGraphInstantiateWithFlags(
            &x, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY))
        return -1;
    if (!cu.cuGraphExecGetFlags || cu.cuGraphExecGetFlags(x, &flags)) flags = 98;
    cu.cuGraphExecDestroy(x);
    return (int)flags;
}
static int upload_nowhere(void)
{
    CUgraphExec x;
    return cu.cuGraphInstantiateWithFlags(&x, graph, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
}
static int unknown_flag(void)
{
    CUgraphExec x;
    CUDA_GRAPH_INSTANTIATE_PARAMS p = { .flags = 0x80 };
    if (!cu.cuGraphInstantiateWithParams) return CUDA_GRAPH_INSTANTIATE_ERROR;
    return cu.cuGraphInstantiateWithParams(&x, graph, &p) ? (int)p.result_out : -1;
}
static int node_of_cycle(void)
{
    CUgraphExec x;
    CUDA_GRAPH_INSTANTIATE_PARAMS p = { .flags = 0 };
    CUgraphNode a = step(NULL), b = step(&a);
    if (!cu.cuGraphInstantiateWithParams) return 1;
    cu.cuGraphAddDependencies(graph, &b, &a, 1);
    cu.cuGraphInstantiateWithParams(&x, graph, &p);
    return p.hErrNode_out == a || p.hErrNode_out == b;
}
static int node_attribute(int id)
{
    CUlaunchAttributeValue v;
    memset(&v, 0, sizeof v);
    int r = (int)cu.cuGraphKernelNodeGetAttribute(step(NULL), (CUkernelNodeAttrID)id, &v);
    return r ? 1000 + r : v.priority;
}
static int node_cluster(void) { return node_attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION); }
static int node_domain(void) { return node_attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN); }
static int node_carveout(void) { return node_attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) > 0; }
static int empty_fill_node(void)
{
    CUgraphNode n;
    CUDA_MEMSET_NODE_PARAMS p = { .dst = word, .elementSize = 4, .width = 0, .height = 1 };
    return cu.cuGraphAddMemsetNode(&n, graph, NULL, 0, &p, abi_ctx);
}
static int empty_copy_node(void)
{
    CUgraphNode n;
    CUDA_MEMCPY3D p = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = word,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = word,
                        .Height = 1,
                        .Depth = 1 };
    return cu.cuGraphAddMemcpyNode(&n, graph, NULL, 0, &p, abi_ctx);
}
static int no_event_node(void)
{
    CUgraphNode n;
    return cu.cuGraphAddEventRecordNode ? cu.cuGraphAddEventRecordNode(&n, graph, NULL, 0, NULL)
                                        : CUDA_ERROR_INVALID_VALUE;
}
static int odd_edge(void)
{
    CUgraphEdgeData data = { .type = 2 };
    CUgraphNode a = step(NULL), b = step(NULL);
    return cu.cuGraphAddDependencies_v2 ? cu.cuGraphAddDependencies_v2(graph, &a, &b, &data, 1)
                                        : CUDA_ERROR_INVALID_VALUE;
}
static int refused_free(void)
{
    CUgraphNode a = step(NULL), n = NULL;
    if (!cu.cuGraphAddMemFreeNode) return CUDA_ERROR_NOT_SUPPORTED;
    if (cu.cuGraphAddMemFreeNode(&n, graph, NULL, 0, word) != CUDA_ERROR_INVALID_VALUE)
        tap_fail("a node frees what no graph allocated");
    return cu.cuGraphDestroyNode(a);
}
static int late_free(void)
{
    CUgraphNode a = NULL, b = NULL;
    CUgraphExec x = NULL;
    CUDA_MEM_ALLOC_NODE_PARAMS p;
    memset(&p, 0, sizeof p);
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.bytesize = 64;
    if (!cu.cuGraphAddMemAllocNode) return CUDA_ERROR_INVALID_VALUE;
    if (cu.cuGraphAddMemAllocNode(&a, graph, NULL, 0, &p) || cu.cuGraphInstantiateWithFlags(&x, graph, 0)) return -1;
    int r = (int)cu.cuGraphAddMemFreeNode(&b, graph, &a, 1, p.dptr);
    cu.cuGraphExecDestroy(x);
    return r;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static int free_no_host(void) { return cu.cuMemFreeHost(NULL); }
static int unregister_nothing(void) { return cu.cuMemHostUnregister(NULL); }
static int unregister_allocated(void)
{
    void *h = NULL;
    if (cu.cuMemHostAlloc(&h, 4096, 0)) return -1;
    int r = (int)cu.cuMemHostUnregister(h);
    cu.cuMemFreeHost(h);
    return r;
}
static int no_pinned_bytes(void)
{
    void *h = &word;
    int r = (int)cu.cuMemHostAlloc(&h, 0, 0);
    return r ? r : h != NULL;
}
static int no_async_bytes(void)
{
    CUdeviceptr p = 1;
    int r = (int)cu.cuMemAllocAsync(&p, 0, stream);
    return r ? r : p != 0;
}
static int ipc_capable(void)
{
    unsigned v = 9;
    return cu.cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, word) ? -1 : (int)(v & 1);
}
static int sync_memops(void)
{
    unsigned v = 1;
    if (cu.cuPointerSetAttribute(&v, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, word)) return -1;
    v = 0;
    int r = cu.cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, word) ? -1 : (int)(v & 1), off = 0;
    cu.cuPointerSetAttribute(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, word);
    return r;
}
static int pool_used(void)
{
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemoryPool pool = NULL;
    CUdeviceptr p = 0;
    uint64_t used = 0;
    if (cu.cuMemPoolCreate(&pool, &props) || cu.cuMemAllocFromPoolAsync(&p, 100, pool, stream) ||
        cu.cuStreamSynchronize(stream))
        return -1;
    cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
    cu.cuMemFreeAsync(p, stream);
    cu.cuStreamSynchronize(stream);
    cu.cuMemPoolDestroy(pool);
    return (int)used;
}
static int read_only_pool(void)
{
    CUmemoryPool pool = NULL;
    CUmemAccessDesc d = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READ };
    return cu.cuDeviceGetDefaultMemPool(&pool, 0) ? -1 : (int)cu.cuMemPoolSetAccess(pool, &d, 1);
}
static int advise_no_device(void) { return cu.cuMemAdvise(word, 4, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 99); }
static int prefetch_no_device(void) { return cu.cuMemPrefetchAsync(word, 4, 99, stream); }

static int rows_of(size_t pitch, size_t height, size_t lod)
{
    static unsigned v;
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = word,
                        .srcPitch = pitch,
                        .srcHeight = height,
                        .srcLOD = lod,
                        .dstMemoryType = CU_MEMORYTYPE_HOST,
                        .dstHost = &v,
                        .WidthInBytes = 2,
                        .Height = pitch == 1 ? 1 : 2,
                        .Depth = 1 };
    if (pitch != 1) c.WidthInBytes = 1, c.srcPitch = c.dstPitch = 2;
    return (int)cu.cuMemcpy3D(&c);
}
static int narrow_row(void) { return rows_of(1, 0, 0); }
static int low_slice(void) { return rows_of(2, 1, 0); }
static int some_level(void) { return rows_of(2, 0, 1); }
static int empty_odd_fill(void) { return cu.cuMemsetD32Async(word + 1, 1, 0, stream); }

static const struct { const char *name; int (*ask)(void); int want; } rows[] = {
    { "a stream's policy until it is set", policy, -1 },
    { "a stream has an access policy window", window, 0 },
    { "a stream's domains", domains, 1 },
    { "a stream's domains up to the last", domains_set, 30 },
    { "a domain that is not there", domains_beyond, 1000 + CUDA_ERROR_INVALID_VALUE },
    { "a stream's domain", domain_set, 1 },
    { "a domain that has no name", domain_beyond, 1000 + CUDA_ERROR_INVALID_VALUE },
    { "a stream's priority is clamped as an attribute too", priority_beyond, 0 },
    { "a cluster of nothing", no_cluster, CUDA_ERROR_INVALID_CLUSTER_SIZE },
    { "a cluster that the grid is no multiple of", uneven_cluster, CUDA_ERROR_INVALID_CLUSTER_SIZE },
    { "a scheduling policy that is not there", odd_scheduling, CUDA_ERROR_INVALID_VALUE },
    { "a launch in a domain that has no name", odd_domain, CUDA_ERROR_INVALID_VALUE },
    { "a carveout of less than nothing", odd_carveout, CUDA_ERROR_INVALID_VALUE },
    { "an early beginning is any number", any_early, CUDA_SUCCESS },
    { "a buffer larger than the parameters", large_buffer, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES },
    { "an empty buffer", empty_buffer, CUDA_ERROR_INVALID_VALUE },
    { "an empty buffer beside parameters is none", empty_buffer_and_params, CUDA_SUCCESS },
    { "larger clusters allowed by any number", any_nonportable, 1 },
    { "a kernel's own limit of threads is no matter of occupancy", blocks_beyond, 2 },
    { "dynamic memory as far as the function may have it", dynamic_room, 49152 },
    { "a function without a name", nameless_function, CUDA_ERROR_INVALID_VALUE },
    { "a variable without a name", nameless_variable, CUDA_ERROR_INVALID_VALUE },
    { "a function's name as a variable's", function_as_variable, CUDA_ERROR_INVALID_VALUE },
    { "none of the functions", no_functions, CUDA_SUCCESS },
    { "the depth of synchronization is no limit any more", sync_depth, CUDA_ERROR_UNSUPPORTED_LIMIT },
    { "no context is pushed", push_nothing, CUDA_ERROR_INVALID_VALUE },
    { "an executable tells of automatic freeing alone", told_flags, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH },
    { "an upload without a stream", upload_nowhere, CUDA_ERROR_INVALID_VALUE },
    { "an unknown flag is no matter of structure", unknown_flag, CUDA_GRAPH_INSTANTIATE_ERROR },
    { "a cycle is reported by a node of it", node_of_cycle, 1 },
    { "a node without clusters tells zeros", node_cluster, 0 },
    { "a node's domain", node_domain, 0 },
    { "a node's carveout can be asked for", node_carveout, 0 },
    { "an empty fill is no node", empty_fill_node, CUDA_ERROR_INVALID_VALUE },
    { "an empty copy is no node", empty_copy_node, CUDA_ERROR_INVALID_VALUE },
    { "no event for a node", no_event_node, CUDA_ERROR_INVALID_VALUE },
    { "an edge of an unknown type", odd_edge, CUDA_ERROR_INVALID_VALUE },
    { "a free node that was rejected keeps the nodes all the same", refused_free, CUDA_ERROR_NOT_SUPPORTED },
    { "a free node after the graph was instantiated", late_free, CUDA_ERROR_INVALID_VALUE },
    { "no pinned memory is freed", free_no_host, CUDA_SUCCESS },
    { "nothing is unregistered", unregister_nothing, CUDA_ERROR_INVALID_VALUE },
    { "allocated memory is unregistered", unregister_allocated, CUDA_ERROR_INVALID_VALUE },
    { "no bytes of pinned memory are no memory", no_pinned_bytes, 0 },
    { "no bytes of a pool are no memory", no_async_bytes, 0 },
    { "memory can be passed to other processes", ipc_capable, 1 },
    { "synchronous operations are kept as an attribute", sync_memops, 1 },
    { "a pool tells what was asked for, to the byte", pool_used, 100 },
    { "a pool is not to be read alone", read_only_pool, CUDA_ERROR_NOT_SUPPORTED },
    { "advice for a device that is not there", advise_no_device, CUDA_ERROR_INVALID_DEVICE },
    { "a prefetch to a device that is not there", prefetch_no_device, CUDA_ERROR_INVALID_DEVICE },
    { "a single row wider than its pitch", narrow_row, CUDA_ERROR_INVALID_VALUE },
    { "a single slice of fewer rows", low_slice, CUDA_ERROR_INVALID_VALUE },
    { "a level of detail of plain memory", some_level, CUDA_SUCCESS },
    { "an empty fill at an odd address", empty_odd_fill, CUDA_SUCCESS },
};

int main(void)
{
    abi_open();
    abi_kernel(&module, "add");
    if (cu.cuModuleLoadData(&odd, odd_ptx) || cu.cuModuleGetFunction(&few, odd, "few")) tap_bail("no kernel");
    word = abi_word(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stream = abi_stream();
        if (cu.cuGraphCreate(&graph, 0)) tap_bail("no graph");
        tap_is_int(rows[i].ask(), rows[i].want, "%s", rows[i].name);
        cu.cuGraphDestroy(graph);
        cu.cuStreamDestroy(stream);
    }
    cu.cuMemFree(word);
    cu.cuModuleUnload(odd);
    cu.cuModuleUnload(module);
    return abi_close();
}
