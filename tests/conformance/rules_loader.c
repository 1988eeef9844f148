/* Rules 1 - 6: before cuInit, entry points, contexts. */
#include "rules.h"

static void rule_1(void)
{
    int n = 0;
    CUdevice d = 0;
    CUcontext c = NULL;
    CUdeviceptr p = 0;
    R_IS(cu.cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    R_IS(cu.cuDeviceGet(&d, 0), CUDA_ERROR_NOT_INITIALIZED);
    R_IS(cu.cuCtxGetCurrent(&c), CUDA_ERROR_NOT_INITIALIZED);
    R_IS(cu.cuMemAlloc(&p, 4), CUDA_ERROR_NOT_INITIALIZED);
    R_IS(cu.cuInit(1), CUDA_ERROR_INVALID_VALUE);
    R_IS(cu.cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    R_IS(cu.cuInit(0), CUDA_SUCCESS);
    R_IS(cu.cuDeviceGetCount(&n), CUDA_SUCCESS);
}

static void rule_2(void)
{
    void *p = &p;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    R_NEED(cuGetProcAddress);
    R_IS(cu.cuGetProcAddress("cuNoSuchThing", &p, 12000, 0, &found), CUDA_SUCCESS);
    R_IS(found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    R_TRUE(p == NULL);
    p = &p;
    R_IS(cu.cuGetProcAddress("cuLaunchKernelEx", &p, 11050, 0, &found), CUDA_SUCCESS);
    R_IS(found, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    R_TRUE(p == NULL);
    R_IS(cu.cuGetProcAddress("cuMemAlloc", &p, 99000, 0, &found), CUDA_ERROR_INVALID_VALUE);
    R_IS(cu.cuGetProcAddress("cuMemAlloc", &p, 12000, 0, &found), CUDA_SUCCESS);
    R_IS(found, CU_GET_PROC_ADDRESS_SUCCESS);
    R_TRUE(p != NULL);
}

static void rule_3(void)
{
    cji_PFN_cuStreamGetCaptureInfo old;
    cji_PFN_cuStreamGetCaptureInfo_v3 young;
    void *p = NULL, *q = NULL;
    int version = 0;
    CUstream s = abi_stream();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    CUdriverProcAddressQueryResult found;
    const CUgraphEdgeData *edges = NULL;
    R_NEED(cuGetProcAddress);
    cu.cuDriverGetVersion(&version);
    if (version < 12030) {
        rule_skip("the driver is older than CUDA 12.3: it has one ABI of cuStreamGetCaptureInfo");
        return;
    }
    R_IS(cu.cuGetProcAddress("cuStreamGetCaptureInfo", &p, 11030, 0, &found), CUDA_SUCCESS);
    R_IS(cu.cuGetProcAddress("cuStreamGetCaptureInfo", &q, 12030, 0, &found), CUDA_SUCCESS);
    if (!R_TRUE(p && q && p != q)) return;
    memcpy(&old, &p, sizeof p);
    memcpy(&young, &q, sizeof q);
    R_IS(old(s, &status, NULL, NULL, NULL, NULL), CUDA_SUCCESS);
    R_IS(status, CU_STREAM_CAPTURE_STATUS_NONE);
    status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    R_IS(young(s, &status, NULL, NULL, NULL, &edges, NULL), CUDA_SUCCESS);
    R_IS(status, CU_STREAM_CAPTURE_STATUS_NONE);
    cu.cuStreamDestroy(s);
}

static void rule_4(void)
{
    CUcontext a = NULL, b = NULL, c = NULL;
    unsigned flags = 0;
    int active = 1;
    R_IS(cu.cuInit(0), CUDA_SUCCESS);
    R_IS(cu.cuDevicePrimaryCtxRetain(&a, 0), CUDA_SUCCESS);
    R_IS(cu.cuDevicePrimaryCtxRetain(&b, 0), CUDA_SUCCESS);
    R_TRUE(a && a == b);
    R_IS(cu.cuCtxGetCurrent(&c), CUDA_SUCCESS);
    R_TRUE(c == NULL);
    R_IS(cu.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    R_IS(cu.cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
    R_IS(active, 1);
    R_IS(cu.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    R_IS(cu.cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
    R_IS(active, 0);
}

static void rule_5(void)
{
    CUcontext a = NULL, b = NULL, c = NULL;
    R_IS(cu.cuInit(0), CUDA_SUCCESS);
    R_IS(cu.cuCtxPopCurrent(&c), CUDA_ERROR_INVALID_CONTEXT);
    R_IS(cu.cuDevicePrimaryCtxRetain(&a, 0), CUDA_SUCCESS);
    R_IS(cu.cuCtxPushCurrent(a), CUDA_SUCCESS);
    R_NEED(cuCtxCreate);
    R_IS(cu.cuCtxCreate(&b, 0, 0), CUDA_SUCCESS);   /* which pushes it */
    R_IS(cu.cuCtxGetCurrent(&c), CUDA_SUCCESS);
    R_TRUE(c == b);
    R_IS(cu.cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    R_IS(cu.cuCtxGetCurrent(&c), CUDA_SUCCESS);
    R_TRUE(c == a);
    R_IS(cu.cuCtxPushCurrent(b), CUDA_SUCCESS);
    R_IS(cu.cuCtxPushCurrent(b), CUDA_SUCCESS);
    for (int i = 0; i < 2; i++) {
        R_IS(cu.cuCtxPopCurrent(&c), CUDA_SUCCESS);
        R_TRUE(c == b);
    }
    R_IS(cu.cuCtxPopCurrent(&c), CUDA_SUCCESS);
    R_TRUE(c == a);
    R_IS(cu.cuCtxPopCurrent(&c), CUDA_ERROR_INVALID_CONTEXT);
    R_IS(cu.cuCtxSetCurrent(a), CUDA_SUCCESS);
    R_IS(cu.cuCtxSetCurrent(b), CUDA_SUCCESS);      /* takes the top's place */
    R_IS(cu.cuCtxPopCurrent(&c), CUDA_SUCCESS);
    R_TRUE(c == b);
    R_IS(cu.cuCtxPopCurrent(&c), CUDA_ERROR_INVALID_CONTEXT);
    R_IS(cu.cuCtxDestroy(b), CUDA_SUCCESS);
}

/* A thread that has the context in its slot when another destroys it.  A GPU's driver crashes when it is given a stream
 * of such a context (seen with driver 580), so only the CPU device is asked. */
typedef struct orphan {
    pthread_barrier_t step;
    CUcontext ctx, slot;
    CUstream s;
    int set, alloc, query, current;
} orphan;

static void *orphan_thread(void *arg)
{
    orphan *o = arg;
    CUdeviceptr p = 0;
    o->set = (int)cu.cuCtxSetCurrent(o->ctx);
    pthread_barrier_wait(&o->step);
    pthread_barrier_wait(&o->step);
    o->current = (int)cu.cuCtxGetCurrent(&o->slot);
    o->alloc = (int)cu.cuMemAlloc(&p, 4);
    if (!tap_on_gpu()) o->query = (int)cu.cuStreamQuery(o->s);
    return NULL;
}

static void rule_6(void)
{
    orphan o = { .set = -1, .alloc = -1, .query = -1, .current = -1 };
    pthread_t thread;
    R_NEED(cuCtxCreate);
    R_IS(cu.cuCtxCreate(&o.ctx, 0, 0), CUDA_SUCCESS);
    o.s = abi_stream();
    pthread_barrier_init(&o.step, NULL, 2);
    pthread_create(&thread, NULL, orphan_thread, &o);
    pthread_barrier_wait(&o.step);
    R_IS(cu.cuCtxDestroy(o.ctx), CUDA_SUCCESS);
    pthread_barrier_wait(&o.step);
    pthread_join(thread, NULL);
    R_IS(o.set, CUDA_SUCCESS);
    R_TRUE(o.slot == o.ctx);
    R_IS(o.alloc, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    if (tap_on_gpu()) rule_seen("not queried here: objects of the destroyed context (the driver may crash)");
    else R_IS(o.query, CUDA_ERROR_INVALID_HANDLE);
}

static const rule rules[] = {
    { 1, "before cuInit every call returns NOT_INITIALIZED; cuInit takes no flags", rule_1, RULE_ALONE | RULE_BARE },
    { 2, "cuGetProcAddress distinguishes an unknown name, a version too old and a version newer than the driver",
      rule_2, 0 },
    { 3, "one name at two versions is two ABIs", rule_3, 0 },
    { 4, "retaining the primary context does not make it current; it is active until the last release", rule_4,
      RULE_ALONE | RULE_BARE },
    { 5, "contexts are a stack: setting NULL pops, pushes nest, an empty stack has nothing to pop", rule_5,
      RULE_ALONE | RULE_BARE },
    { 6,
      "a destroyed context stays current in another thread, whose calls return CONTEXT_IS_DESTROYED; its objects are "
      "invalid handles",
      rule_6, RULE_ALONE },
};
RULES_MAIN(rules)
