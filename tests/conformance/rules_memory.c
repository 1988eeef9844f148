/* Rules 36, 37, 39 - 46: copies, fills, pools, peers. */
#include "rules.h"

static void rule_36(void)
{
    struct latch latch;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0);
    unsigned back = 0, *pinned, *far = malloc(65536), *to = calloc(1, 65536);
    void *h = NULL;
    if (!far || !to || cu.cuMemHostAlloc(&h, 8, 0)) tap_bail("no memory");
    pinned = h;
    pinned[0] = 6;
    pinned[1] = 0;
    abi_hold(&latch, s);
    R_IS(cu.cuMemcpyHtoDAsync(p, &pinned[0], 4, s), CUDA_SUCCESS);
    R_IS(cu.cuMemcpyDtoHAsync(&pinned[1], p, 4, s), CUDA_SUCCESS);
    R_IS(pinned[1], 0);                                 /* both calls came back; the copies wait */
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(pinned[1], 6);
    if (!tap_on_gpu()) {                                /* there the call waits for the stream */
        unsigned source = 5;
        abi_hold(&latch, s);
        R_IS(cu.cuMemcpyHtoDAsync(p, &source, 4, s), CUDA_SUCCESS);
        source = 0;                                     /* taken at the call, though the stream is held */
        latch_open(&latch);
        R_IS(cu.cuMemcpyDtoHAsync(&back, p, 4, s), CUDA_SUCCESS);
        R_IS(back, 5);
    }
    for (unsigned i = 1; i <= 20; i++) {
        unsigned source = i;
        R_IS(cu.cuMemcpyHtoDAsync(p, &source, 4, s), CUDA_SUCCESS);
        source = 999;                                   /* taken at the call */
        R_IS(cu.cuMemcpyDtoHAsync(&back, p, 4, s), CUDA_SUCCESS);
        R_IS(back, i);                                  /* done on return */
    }
    memset(far, 7, 65536);
    R_IS(cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)far, 65536, s), CUDA_SUCCESS);
    R_IS(memcmp(to, far, 65536), 0);                    /* host to host: done on return */
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    free(far);
    free(to);
    cu.cuMemFreeHost(h);
    cu.cuMemFree(p);
    cu.cuStreamDestroy(s);
}

static void rule_37(void)
{
    CUstream s = abi_stream(), blocking = rule_stream(CU_STREAM_DEFAULT);
    CUdeviceptr p = abi_word(1), q = abi_word(2);
    rule_gate g = gate_make();
    gate_put(&g, s);
    R_IS(cu.cuMemsetD32Async(p, 5, 1, s), CUDA_SUCCESS);
    R_IS(cu.cuMemcpyDtoDAsync(q, p, 4, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    gate_open(&g);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(q), 5);
    /* The same calls without "Async" in their names: the legacy stream waits for the blocking one, the host does not.
     * */
    gate_free(&g);
    g = gate_make();
    gate_put(&g, blocking);
    R_IS(cu.cuMemsetD32(p, 8, 1), CUDA_SUCCESS);
    R_IS(cu.cuMemcpyDtoD(q, p, 4), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
    gate_open(&g);
    R_IS(cu.cuStreamSynchronize(CU_STREAM_LEGACY), CUDA_SUCCESS);
    R_IS(abi_read(q), 8);
    cu.cuMemFree(p);
    cu.cuMemFree(q);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(blocking);
    gate_free(&g);
}

static void rule_39(void)
{
    struct latch latch;
    CUstream s = abi_stream(), t = abi_stream();
    CUevent e = abi_event(), f = abi_event();
    CUdeviceptr p = 0;
    void *h = NULL;
    cu.cuMemHostAlloc(&h, 4, 0);
    abi_hold(&latch, s);
    R_IS(cu.cuMemAllocAsync(&p, 4096, s), CUDA_SUCCESS);
    R_TRUE(p != 0);
    R_IS(cu.cuMemsetD32Async(p, 7, 1024, s), CUDA_SUCCESS);
    R_IS(cu.cuEventRecord(e, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamWaitEvent(t, e, 0), CUDA_SUCCESS);
    R_IS(cu.cuMemcpyDtoHAsync(h, p + 4092, 4, t), CUDA_SUCCESS);
    R_IS(cu.cuEventRecord(f, t), CUDA_SUCCESS);
    R_IS(cu.cuStreamWaitEvent(s, f, 0), CUDA_SUCCESS);
    R_IS(cu.cuMemFreeAsync(p, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(t), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(*(unsigned *)h, 7);
    cu.cuEventDestroy(e);
    cu.cuEventDestroy(f);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
    cu.cuMemFreeHost(h);
}

static CUmemoryPool pool_make(void)
{
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemoryPool pool = NULL;
    if (cu.cuMemPoolCreate(&pool, &props)) tap_bail("no pool");
    return pool;
}

static unsigned long long pool_asks(CUmemoryPool pool, CUmemPool_attribute a)
{
    cuuint64_t v = UINT64_MAX;
    R_IS(cu.cuMemPoolGetAttribute(pool, a, &v), CUDA_SUCCESS);
    return v;
}

static void rule_40(void)
{
    enum { BYTES = 1 << 20 };
    static const CUmemPool_attribute reuse[] = { CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                                                 CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
                                                 CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES };
    struct latch latch;
    CUstream s = abi_stream(), t = abi_stream();
    CUdeviceptr p = 0, q = 0, r = 0;
    void *h = NULL;
    R_NEED(cuMemPoolCreate);
    R_NEED(cuMemAllocFromPoolAsync);
    CUmemoryPool pool = pool_make();
    cu.cuMemHostAlloc(&h, 4, 0);
    for (int i = 0; i < 3; i++) {
        int no = 0;
        R_IS(cu.cuMemPoolSetAttribute(pool, reuse[i], &no), CUDA_SUCCESS);
    }
    R_IS(cu.cuMemAllocFromPoolAsync(&p, BYTES, pool, s), CUDA_SUCCESS);
    abi_hold(&latch, s);
    R_IS(cu.cuMemsetD32Async(p, 1, BYTES / 4, s), CUDA_SUCCESS);
    R_IS(cu.cuMemFreeAsync(p, s), CUDA_SUCCESS);
    R_IS(cu.cuMemAllocFromPoolAsync(&r, BYTES, pool, t), CUDA_SUCCESS);     /* the free has not happened yet */
    R_TRUE(r != p);
    R_IS(cu.cuMemAllocFromPoolAsync(&q, BYTES, pool, s), CUDA_SUCCESS);
    rule_seen("the same stream gets %s address", q == p ? "the same" : "another");
    R_IS(cu.cuMemsetD32Async(q, 2, BYTES / 4, s), CUDA_SUCCESS);
    R_IS(cu.cuMemcpyDtoHAsync(h, q + BYTES - 4, 4, s), CUDA_SUCCESS);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(*(unsigned *)h, 2);
    R_IS(cu.cuMemFreeAsync(q, s), CUDA_SUCCESS);
    R_IS(cu.cuMemFreeAsync(r, t), CUDA_SUCCESS);
    R_IS(cu.cuCtxSynchronize(), CUDA_SUCCESS);
    R_IS(cu.cuMemPoolDestroy(pool), CUDA_SUCCESS);
    cu.cuMemFreeHost(h);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
}

static void rule_41(void)
{
    enum { BYTES = 1 << 22 };
    CUstream s = abi_stream();
    CUdeviceptr p = 0;
    cuuint64_t keep = UINT64_MAX;
    R_NEED(cuMemPoolCreate);
    CUmemoryPool pool = pool_make();
    R_IS(pool_asks(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 0);
    for (int i = 0; i < 2; i++) {
        if (i == 1) R_IS(cu.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep), CUDA_SUCCESS);
        R_IS(cu.cuMemAllocFromPoolAsync(&p, BYTES, pool, s), CUDA_SUCCESS);
        R_TRUE(pool_asks(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= BYTES);
        R_TRUE(pool_asks(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) >= BYTES);
        R_IS(cu.cuMemFreeAsync(p, s), CUDA_SUCCESS);
        R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
        R_IS(pool_asks(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
        unsigned long long reserved = pool_asks(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
        rule_seen("reserved after the end, threshold %s: %llu", i ? "without limit" : "0", reserved);
        R_TRUE(i ? reserved >= BYTES : reserved == 0);
    }
    R_IS(cu.cuMemPoolDestroy(pool), CUDA_SUCCESS);
    cu.cuStreamDestroy(s);
}

static void rule_42(void)
{
    enum { BYTES = 1 << 22 };
    CUstream s = abi_stream();
    CUdeviceptr p = 0, q = 0;
    cuuint64_t keep = UINT64_MAX;
    R_NEED(cuMemPoolTrimTo);
    CUmemoryPool pool = pool_make();
    R_IS(cu.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep), CUDA_SUCCESS);
    R_IS(cu.cuMemAllocFromPoolAsync(&p, BYTES, pool, s), CUDA_SUCCESS);
    R_IS(cu.cuMemAllocFromPoolAsync(&q, BYTES, pool, s), CUDA_SUCCESS);
    R_IS(cu.cuMemsetD32Async(p, 9, BYTES / 4, s), CUDA_SUCCESS);
    R_IS(cu.cuMemFreeAsync(q, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    unsigned long long before = pool_asks(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    R_IS(cu.cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    unsigned long long after = pool_asks(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    rule_seen("reserved %llu, trimmed %llu, of which %d are in use", before, after, BYTES);
    R_TRUE(after >= BYTES && after <= before);
    R_IS(abi_read(p + BYTES - 4), 9);
    R_IS(cu.cuMemFreeAsync(p, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(cu.cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    R_IS(pool_asks(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    R_IS(cu.cuMemPoolDestroy(pool), CUDA_SUCCESS);
    cu.cuStreamDestroy(s);
}

static void rule_43(void)
{
    CUstream s = abi_stream();
    CUdeviceptr p = 0;
    CUmemoryPool standard = NULL;
    R_NEED(cuMemPoolDestroy);
    CUmemoryPool pool = pool_make();
    R_IS(cu.cuMemAllocFromPoolAsync(&p, 4096, pool, s), CUDA_SUCCESS);
    R_IS(cu.cuMemPoolDestroy(pool), CUDA_SUCCESS);
    R_IS(cu.cuMemsetD32Async(p, 3, 1024, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(p + 4092), 3);
    R_IS(cu.cuMemFreeAsync(p, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(cu.cuDeviceGetDefaultMemPool(&standard, 0), CUDA_SUCCESS);
    R_IS(cu.cuMemPoolDestroy(standard), CUDA_ERROR_INVALID_VALUE);
    cu.cuStreamDestroy(s);
}

static void rule_44(void)
{
    CUstream s = abi_stream(), t = abi_stream();
    CUdeviceptr p = 0;
    rule_gate g = gate_make();
    R_IS(cu.cuMemAllocAsync(&p, 4096, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    gate_put(&g, t);
    R_IS(cu.cuMemFree(p), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(t), CUDA_ERROR_NOT_READY);    /* it came back although another stream has work */
    gate_open(&g);
    R_IS(cu.cuStreamSynchronize(t), CUDA_SUCCESS);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
    gate_free(&g);
}

static void rule_45(void)
{
    int devices = 0, can = 0, back = 0;
    CUcontext other = NULL;
    CUmodule there = NULL;
    CUdeviceptr p = abi_word(0), q = 0;
    CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUmemLocation at = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
    CUmemAccessDesc give = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_NONE };
    R_NEED(cuMemPoolGetAccess);
    R_NEED(cuMemPoolSetAccess);
    R_NEED(cuDeviceCanAccessPeer);
    CUmemoryPool pool = pool_make();
    R_IS(cu.cuMemPoolGetAccess(&access, pool, &at), CUDA_SUCCESS);
    R_IS(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    R_IS(cu.cuMemPoolSetAccess(pool, &give, 1), CUDA_ERROR_INVALID_DEVICE);
    cu.cuDeviceGetCount(&devices);
    if (devices > 1) {
        R_IS(cu.cuDeviceCanAccessPeer(&can, 1, 0), CUDA_SUCCESS);
        R_IS(cu.cuDeviceCanAccessPeer(&back, 0, 1), CUDA_SUCCESS);
    }
    if (devices < 2 || !can || !back) {
        rule_skip(devices < 2 ? "there is one device; the owner's access was asked"
                              : "the devices do not reach each other");
        goto end;
    }
    R_IS(cu.cuMemAllocFromPoolAsync(&q, 4096, pool, NULL), CUDA_SUCCESS);
    R_IS(cu.cuMemsetD32Async(q, 0, 1024, NULL), CUDA_SUCCESS);
    R_IS(cu.cuCtxSynchronize(), CUDA_SUCCESS);
    R_IS(cu.cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
    R_IS(cu.cuCtxPushCurrent(other), CUDA_SUCCESS);
    CUfunction store = NULL;
    CUstream s = abi_stream();
    if (cu.cuModuleLoadData(&there, rule_ptx) || cu.cuModuleGetFunction(&store, there, "store")) tap_bail("no kernel");
    R_IS(cu.cuCtxEnablePeerAccess(abi_ctx, 0), CUDA_SUCCESS);
    R_IS(cu.cuCtxEnablePeerAccess(abi_ctx, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    R_IS(abi_launch(store, 1, 1, s, p, 11), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    at.id = 1;
    R_IS(cu.cuMemPoolGetAccess(&access, pool, &at), CUDA_SUCCESS);
    R_IS(access, CU_MEM_ACCESS_FLAGS_PROT_NONE);        /* that of contexts says nothing about pools */
    give.location.id = 1;
    give.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    R_IS(cu.cuMemPoolSetAccess(pool, &give, 1), CUDA_SUCCESS);
    R_IS(abi_launch(store, 1, 1, s, q, 12), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(cu.cuCtxDisablePeerAccess(abi_ctx), CUDA_SUCCESS);
    R_IS(cu.cuCtxDisablePeerAccess(abi_ctx), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    cu.cuStreamDestroy(s);
    cu.cuModuleUnload(there);
    R_IS(cu.cuCtxPopCurrent(&other), CUDA_SUCCESS);
    R_IS(cu.cuCtxDisablePeerAccess(other), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);     /* this direction never had it */
    R_IS(cu.cuDevicePrimaryCtxRelease(1), CUDA_SUCCESS);
    R_IS(abi_read(p), 11);
    R_IS(abi_read(q), 12);
    R_IS(cu.cuMemFreeAsync(q, NULL), CUDA_SUCCESS);
    R_IS(cu.cuCtxSynchronize(), CUDA_SUCCESS);
end:
    cu.cuMemPoolDestroy(pool);
    cu.cuMemFree(p);
}

static void rule_46(void)
{
    CUstream s = abi_stream();
    CUdeviceptr p = 0, q = 0;
    CUgraph g = NULL;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    R_IS(cu.cuMemAllocAsync(&p, 4096, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    R_IS(cu.cuMemFreeAsync(p, s), CUDA_ERROR_INVALID_VALUE);
    R_IS(cu.cuStreamIsCapturing(s, &status), CUDA_SUCCESS);
    R_IS(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);      /* and the capture goes on */
    R_IS(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS);
    if (g) cu.cuGraphDestroy(g);
    R_IS(cu.cuMemFreeAsync(p, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    if (!cu.cuGraphAddMemAllocNode) {
        rule_seen("not queried here: memory that the capture itself allocates (the device has no graph memory)");
    } else {
        size_t n = 4;
        CUgraphNode node[4];
        CUgraphExec x = NULL;
        bool allocates = false, frees = false;
        CUdeviceptr out = abi_word(0);
        g = NULL;
        R_IS(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
        R_IS(cu.cuMemAllocAsync(&q, 4096, s), CUDA_SUCCESS);
        R_IS(cu.cuMemsetD32Async(q, 9, 1024, s), CUDA_SUCCESS);
        R_IS(cu.cuMemcpyDtoDAsync(out, q + 4092, 4, s), CUDA_SUCCESS);
        R_IS(cu.cuMemFreeAsync(q, s), CUDA_SUCCESS);
        R_IS(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS);
        R_IS(cu.cuGraphGetNodes(g, node, &n), CUDA_SUCCESS);
        R_IS(n, 4);
        for (size_t i = 0; i < n; i++) {
            CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
            cu.cuGraphNodeGetType(node[i], &type);
            allocates |= type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
            frees |= type == CU_GRAPH_NODE_TYPE_MEM_FREE;
        }
        R_TRUE(allocates && frees);
        R_IS(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS);
        R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
        R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
        R_IS(abi_read(out), 9);
        if (x) cu.cuGraphExecDestroy(x);
        if (g) cu.cuGraphDestroy(g);
        cu.cuMemFree(out);
    }
    cu.cuStreamDestroy(s);
}

static const rule rules[] = {
    { 36,
      "copies of pinned memory return before they are done; pageable sources are taken at the call, pageable "
      "destinations are filled on return",
      rule_36, 0 },
    { 37, "fills and copies on the device never block the host", rule_37, 0 },
    { 39, "stream-ordered memory has its address at once; another stream may use it behind an event", rule_39, 0 },
    { 40, "freed memory is reused in its own stream in order, in another only as the pool's settings allow", rule_40,
      0 },
    { 41, "a pool releases free memory at the next synchronization, unless its threshold keeps it", rule_41, 0 },
    { 42, "trimming a pool leaves what is in use", rule_42, 0 },
    { 43, "a pool lives until its last allocation; the default pool cannot be destroyed", rule_43, 0 },
    { 44, "freeing stream-ordered memory at once does not synchronize", rule_44, 0 },
    { 45, "peer access has one direction, pools have an access of their own, an owner keeps it", rule_45, 0 },
    { 46,
      "a capture frees only memory of a graph; another address fails with INVALID_VALUE and leaves the capture valid",
      rule_46, 0 },
};
RULES_MAIN(rules)
