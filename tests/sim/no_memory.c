/* Each allocation fails once: every call answers an error, nothing is lost, nothing crashes. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/driver_abi.h"
#include "tests/sim/fat_samples.h"

static atomic_long count, fail_at;
static atomic_long live;

static void *failing(void *user, void *p, size_t old, size_t size)
{
    (void)user, (void)old;
    if (size && atomic_fetch_add(&count, 1) + 1 == atomic_load(&fail_at)) return NULL;
    if (!size) {
        if (p) atomic_fetch_sub(&live, 1);
        free(p);
        return NULL;
    }
    void *q = realloc(p, size);
    if (q && !p) atomic_fetch_add(&live, 1);
    return q;
}

static int bad;   /* results that are neither success nor out of memory, nor what follows from a call that failed */

static bool ok(CUresult r)
{
    switch (r) {
    case CUDA_SUCCESS: return true;
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_NOT_READY:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED: return false;
    default: bad++; return false;
    }
}

static void host(void *user) { (void)user; }

/* A user object, memory, a batch and a condition in one graph; *p is incremented. */
static void graph_of_many_kinds(CUstream s, CUfunction add, CUdeviceptr p)
{
    CUgraph g, child = NULL;
    CUgraphExec x;
    CUuserObject o;
    CUgraphNode node, other, batch_node;
    CUgraphConditionalHandle c;
    CUgraphNodeParams n;
    unsigned one = 1;
    void *params[] = { &p, &one };
    CUDA_KERNEL_NODE_PARAMS_v2 k = { .func = add,
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 1,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = params };
    if (!ok(cu.cuGraphCreate(&g, 0))) return;
    if (ok(cu.cuUserObjectCreate(&o, NULL, host, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)) &&
        !ok(cu.cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE)))
        ok(cu.cuUserObjectRelease(o, 1));
    if (ok(cu.cuGraphCreate(&child, 0))) {
        ok(cu.cuGraphAddKernelNode(&node, child, NULL, 0, &k));
        ok(cu.cuGraphAddChildGraphNode(&node, g, NULL, 0, child));
        ok(cu.cuGraphDestroy(child));
    }
    memset(&n, 0, sizeof n);
    n.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    n.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    n.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    n.alloc.bytesize = 100;
    if (ok(cu.cuGraphAddNode(&node, g, NULL, 0, &n))) ok(cu.cuGraphAddMemFreeNode(&other, g, &node, 1, n.alloc.dptr));
    CUstreamBatchMemOpParams op[2] = {
        { .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = p, .value = 1 } },
        { .waitValue = { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                         .address = p,
                         .value = 1,
                         .flags = CU_STREAM_WAIT_VALUE_GEQ } }
    };
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch = { .count = 2, .paramArray = op };
    bool words = ok(cu.cuGraphAddBatchMemOpNode(&batch_node, g, NULL, 0, &batch)) &&
                 ok(cu.cuGraphBatchMemOpNodeSetParams(batch_node, &batch));
    if (ok(cu.cuGraphConditionalHandleCreate(&c, g, NULL, 1, CU_GRAPH_COND_ASSIGN_DEFAULT))) {
        memset(&n, 0, sizeof n);
        n.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        n.conditional.handle = c;
        n.conditional.size = 2;
        if (ok(cu.cuGraphAddNode(&node, g, NULL, 0, &n)))
            ok(cu.cuGraphAddKernelNode(&other, n.conditional.phGraph_out[0], NULL, 0, &k));
    }
    if (ok(cu.cuGraphInstantiateWithFlags(&x, g, 0))) {
        if (words) ok(cu.cuGraphExecBatchMemOpNodeSetParams(x, batch_node, &batch));
        ok(cu.cuGraphLaunch(x, s));
        ok(cu.cuGraphExecDestroy(x));
    }
    ok(cu.cuGraphDestroy(g));
}

/* An event and memory that another process might open. */
static void between_processes(CUstream s, CUstream t, CUdeviceptr p)
{
    CUevent e;
    CUipcEventHandle handle;
    CUipcMemHandle memory;
    ok(cu.cuIpcGetMemHandle(&memory, p));
    if (!ok(cu.cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING))) return;
    ok(cu.cuIpcGetEventHandle(&handle, e));
    ok(cu.cuEventRecord(e, s));
    ok(cu.cuStreamWaitEvent(t, e, 0));
    ok(cu.cuEventDestroy(e));
}

/* A fat binary as a library, its kernel with settings of its own, by the newest call and by the oldest ones. */
static void library_of_a_fat_binary(CUstream s, CUdeviceptr p, CUevent e)
{
    CUlibrary l;
    CUkernel k;
    CUfunction f;
    int n = 1;
    void *params[] = { &p, &n };
    if (!ok(cx.cuLibraryLoadData(&l, fat_zstd, NULL, NULL, 0, NULL, NULL, 0))) return;
    if (ok(cx.cuLibraryGetKernel(&k, l, "twice"))) {
        ok(cx.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024, k, 0));
        ok(cu.cuLaunchKernel((CUfunction)(void *)k, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
        if (ok(cx.cuKernelGetFunction(&f, k)) && ok(cx.cuFuncSetBlockShape(f, 1, 1, 1))) {
            ok(cx.cuParamSetSize(f, 12));
            ok(cx.cuParamSetv(f, 0, &p, sizeof p));
            ok(cx.cuParamSeti(f, 8, 1));
            ok(cx.cuLaunchGridAsync(f, 1, 1, s));
        }
    }
    ok(cx.cuCtxRecordEvent(abi_ctx, e));
    ok(cx.cuCtxWaitEvent(abi_ctx, e));
    ok(cx.cuLibraryUnload(l));
}

/* A bit of everything; what could not be made is left out. */
static void workload(void)
{
    CUmodule m = NULL;
    CUfunction add = NULL;
    CUstream s = NULL, t = NULL;
    CUevent e = NULL;
    CUdeviceptr p = 0, q = 0;
    CUgraph g = NULL;
    CUgraphExec x = NULL;
    CUlinkState link = NULL;
    void *h = NULL, *cubin = NULL;
    unsigned word = 0, one = 1;
    void *params[] = { &p, &one };
    if (!ok(cu.cuInit(0)) || !ok(cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0))) return;
    if (ok(cu.cuCtxSetCurrent(abi_ctx))) {
        if (ok(cu.cuLinkCreate(0, NULL, NULL, &link))) {
            if (ok(cu.cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)abi_ptx, sizeof abi_ptx, "test", 0, NULL, NULL)) &&
                ok(cu.cuLinkComplete(link, &cubin, NULL)))
                ok(cu.cuModuleLoadData(&m, cubin));
            ok(cu.cuLinkDestroy(link));
        }
        ok(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
        ok(cu.cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
        ok(cu.cuEventCreate(&e, 0));
        ok(cu.cuMemHostAlloc(&h, 4, 0));
        if (m && s && t && e && ok(cu.cuMemAlloc(&p, 4)) && ok(cu.cuModuleGetFunction(&add, m, "add"))) {
            ok(cu.cuMemsetD32Async(p, 0, 1, s));
            ok(cu.cuLaunchKernel(add, 2, 1, 1, 2, 1, 1, 0, s, params, NULL));
            ok(cu.cuEventRecord(e, s));
            ok(cu.cuStreamWaitEvent(t, e, 0));
            ok(cu.cuLaunchHostFunc(t, host, NULL));
            ok(cu.cuMemcpyHtoDAsync(p, &word, 4, s));
            if (ok(cu.cuMemAllocAsync(&q, 64, s))) ok(cu.cuMemFreeAsync(q, s));
            if (ok(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED))) {
                ok(cu.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
                ok(cu.cuEventRecord(e, s));
                ok(cu.cuStreamWaitEvent(t, e, 0));
                ok(cu.cuLaunchHostFunc(t, host, NULL));
                ok(cu.cuEventRecord(e, t));
                ok(cu.cuStreamWaitEvent(s, e, 0));
                ok(cu.cuStreamEndCapture(s, &g));
            }
            if (g && ok(cu.cuGraphInstantiateWithFlags(&x, g, 0))) {
                ok(cu.cuGraphLaunch(x, s));
                ok(cu.cuGraphExecDestroy(x));
            }
            if (g) ok(cu.cuGraphDestroy(g));
            graph_of_many_kinds(s, add, p);
            between_processes(s, t, p);
            library_of_a_fat_binary(s, p, e);
            ok(cu.cuStreamSynchronize(s));
            ok(cu.cuStreamSynchronize(t));
            ok(cu.cuMemcpyDtoH(&word, p, 4));
        }
        if (p) ok(cu.cuMemFree(p));
        if (h) ok(cu.cuMemFreeHost(h));
        if (e) ok(cu.cuEventDestroy(e));
        if (s) ok(cu.cuStreamDestroy(s));
        if (t) ok(cu.cuStreamDestroy(t));
        if (m) ok(cu.cuModuleUnload(m));
        ok(cu.cuCtxSetCurrent(NULL));
    }
    ok(cu.cuDevicePrimaryCtxRelease(0));
}

/* The exit status: 0 good, 1 a wrong answer, 2 something lost; 3: that allocation is never made. */
static int one_run(long n)
{
    char build[64];
    snprintf(build, sizeof build, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    atomic_store(&fail_at, n);
    if (cujit_sim_setup(CUJIT_SIM_ABI, build, failing, NULL, NULL, NULL)) return 1;
    workload();
    exit(bad ? 1 : atomic_load(&count) < n ? 3 : 0);
}

static bool in_run;
__attribute__((destructor(101))) static void ended(void)
{
    if (in_run && atomic_load(&live)) _exit(2);
}

int main(void)
{
    long n = 1, step = getenv("CUJIT_FAULTS") ? 1 : tap_is_slow() ? 37 : 3;
    int status = 0, runs = 0;
    abi_load();
    tap_plan(0);
    for (; n < 100000; n += step) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            in_run = true;
            _exit(one_run(n));
        }
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status)) break;
        runs++;
    }
    tap_ok(WIFEXITED(status), "allocation %ld: no crash", n);
    tap_is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 3,
               "all allocations were made to fail, each with a right answer and nothing lost (1: wrong, 2: lost)");
    tap_ok(runs > 3, "%d runs", runs);
    return tap_done();
}
