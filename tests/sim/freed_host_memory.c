/* Copies look host memory up again when they run: what was pinned, registered or managed at the call and is freed by
 * then is reported, in streams and in graphs. Freeing it waits for the work of every context. */
#include <pthread.h>
#include <stdlib.h>

#include "tests/conformance/driver_abi.h"

enum { BYTES = 65536 };

typedef enum host_kind { PINNED, REGISTERED, MANAGED } host_kind;

static void *page;     /* what is registered: it stays */

static void *host_make(host_kind kind)
{
    void *p = NULL;
    CUdeviceptr d = 0;
    if (kind == PINNED && cu.cuMemHostAlloc(&p, BYTES, 0)) tap_bail("no pinned memory");
    if (kind == REGISTERED && cu.cuMemHostRegister(p = page, BYTES, 0)) tap_bail("no registered memory");
    if (kind == MANAGED && cu.cuMemAllocManaged(&d, BYTES, CU_MEM_ATTACH_GLOBAL)) tap_bail("no managed memory");
    return kind == MANAGED ? (void *)(uintptr_t)d : p;
}

static CUresult host_free(host_kind kind, void *p)
{
    return kind == PINNED       ? cu.cuMemFreeHost(p)
           : kind == REGISTERED ? cu.cuMemHostUnregister(p)
                                : cu.cuMemFree((CUdeviceptr)(uintptr_t)p);
}

typedef enum copy_way { OUT, IN, ROWS, UNIFIED_OUT } copy_way;

static CUresult copy_some(copy_way way, void *host, CUdeviceptr d, CUstream s)
{
    CUDA_MEMCPY3D rows = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = d,
                           .srcPitch = 256,
                           .srcHeight = 16,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = host,
                           .dstPitch = 512,
                           .dstHeight = 16,
                           .WidthInBytes = 100,
                           .Height = 8,
                           .Depth = 3 };
    switch (way) {
    case OUT: return cu.cuMemcpyDtoHAsync(host, d, BYTES, s);
    case IN: return cu.cuMemcpyHtoDAsync(d, host, BYTES, s);
    case ROWS: return cu.cuMemcpy3DAsync(&rows, s);
    case UNIFIED_OUT: return cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)host, d, BYTES, s);
    }
    return CUDA_ERROR_UNKNOWN;
}

static const struct { const char *name; host_kind kind; copy_way way; const char *says; } rows[] = {
    { "a copy out, to pinned memory", PINNED, OUT, "a copy of 65536 bytes to 0x" },
    { "a copy in, from pinned memory", PINNED, IN, "a copy of 65536 bytes from 0x" },
    { "rows to pinned memory", PINNED, ROWS, "bytes to 0x" },
    { "a copy between any memory, to pinned memory", PINNED, UNIFIED_OUT, "bytes to 0x" },
    { "a copy out, to registered memory", REGISTERED, OUT, "bytes to 0x" },
    { "a copy in, from registered memory", REGISTERED, IN, "bytes from 0x" },
    { "a copy out, to managed memory", MANAGED, UNIFIED_OUT, "bytes to 0x" },
    { "rows to managed memory", MANAGED, ROWS, "bytes to 0x" },
};

/* Each in a context of its own, which has the fault afterwards. */
static void in_a_graph(size_t i)
{
    CUcontext own;
    CUgraph g;
    CUgraphExec x;
    CUdeviceptr d;
    cujit_sim_fault_info fault = { .size = sizeof fault };
    if (cu.cuCtxCreate(&own, 0, 0) || cu.cuMemAlloc(&d, BYTES)) tap_bail("no context");
    CUstream s = abi_stream();
    void *host = host_make(rows[i].kind);
    abi_is(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS, "%s: a capture", rows[i].name);
    abi_is(copy_some(rows[i].way, host, d, s), CUDA_SUCCESS, "%s: is captured", rows[i].name);
    if (cu.cuStreamEndCapture(s, &g) || cu.cuGraphInstantiateWithFlags(&x, g, 0)) tap_bail("no graph");
    abi_is(cu.cuGraphLaunch(x, s), CUDA_SUCCESS, "%s: is launched", rows[i].name);
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "%s: while the memory is there", rows[i].name);
    abi_is(host_free(rows[i].kind, host), CUDA_SUCCESS, "%s: the memory is freed", rows[i].name);
    cu.cuGraphLaunch(x, s);
    abi_is(cu.cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS, "%s: is a fault then", rows[i].name);
    tap_is_int(cujit_sim_fault(own, &fault), 1, "%s: which can be read", rows[i].name);
    tap_has_str(fault.sentence, rows[i].says, "%s: its sentence names the copy", rows[i].name);
    tap_has_str(fault.sentence, "at the call", "%s: and says why", rows[i].name);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuCtxDestroy(own);
}

/* ---- Freeing waits for other contexts ---------------------------------------------------------------------------- */

typedef struct freeing {
    CUcontext ctx;
    host_kind kind;
    void *host;
    CUresult result;
    struct latch began;
    bool ended;
} freeing;

static void *free_it(void *p)
{
    freeing *f = p;
    cu.cuCtxSetCurrent(f->ctx);
    latch_wait(&f->began);
    f->result = host_free(f->kind, f->host);
    __atomic_store_n(&f->ended, true, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Context a made the memory; a copy of context b that is held in flight writes to it. */
static void other_contexts_are_waited_for(host_kind kind, const char *name)
{
    CUcontext a, b;
    CUdeviceptr d;
    struct latch gate;
    pthread_t thread;
    if (cu.cuCtxCreate(&a, 0, 0)) tap_bail("no context");
    freeing f = { .ctx = a, .kind = kind, .host = host_make(kind), .began = LATCH_CLOSED };
    if (cu.cuCtxCreate(&b, 0, 0) || cu.cuMemAlloc(&d, BYTES) || cu.cuMemsetD8(d, 7, BYTES)) tap_bail("no context");
    CUstream s = abi_stream();
    abi_hold(&gate, s);
    abi_is(copy_some(UNIFIED_OUT, f.host, d, s), CUDA_SUCCESS, "%s: a copy by another context", name);
    pthread_create(&thread, NULL, free_it, &f);
    latch_open(&f.began);
    tap_ok(!__atomic_load_n(&f.ended, __ATOMIC_SEQ_CST), "%s: is not freed before the copy", name);
    latch_open(&gate);
    pthread_join(thread, NULL);
    abi_is(f.result, CUDA_SUCCESS, "%s: is freed behind it", name);
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "%s: which found it", name);
    cu.cuCtxDestroy(b);
    cu.cuCtxDestroy(a);
}

int main(void)
{
    abi_open();
    page = malloc(BYTES);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) in_a_graph(i);
    other_contexts_are_waited_for(PINNED, "pinned memory");
    other_contexts_are_waited_for(REGISTERED, "registered memory");
    other_contexts_are_waited_for(MANAGED, "managed memory");
    free(page);
    return abi_close();
}
