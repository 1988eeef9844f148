/* The fake driver: what its calls do, by what they are about. */
#include "tests/stream/fake_parts.h"

#include <string.h>

CUresult fake_stream_calls(int id, const uint64_t *a, fake_stream *s)
{
    switch (id) {
    case CJI_CU_ID_cuStreamQuery:
    case CJI_CU_ID_cuStreamSynchronize:
        if (fake_now.sticky) return fake_now.sticky;
        if (s->session) return fake_harm(s->session, id, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        if (fake_unsafe(id)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        if (id == CJI_CU_ID_cuStreamSynchronize && s->held) return CUDA_ERROR_LAUNCH_TIMEOUT; /* would block for ever */
        return s->done == s->given ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    case CJI_CU_ID_cuStreamGetPriority: *(int *)(uintptr_t)a[1] = s->priority; return CUDA_SUCCESS;
    case CJI_CU_ID_cuStreamGetFlags: *(unsigned *)(uintptr_t)a[1] = s != &fake_now.legacy && s != &fake_now.per_thread; return CUDA_SUCCESS;
    case CJI_CU_ID_cuStreamGetCtx: *(CUcontext *)(uintptr_t)a[1] = fake_context(); return CUDA_SUCCESS;
    case CJI_CU_ID_cuStreamGetId: *(unsigned long long *)(uintptr_t)a[1] = (uintptr_t)s; return CUDA_SUCCESS;
    case CJI_CU_ID_cuStreamIsCapturing:
        if (fake_now.sticky) return fake_now.sticky;
        *(CUstreamCaptureStatus *)(uintptr_t)a[1] = s->foreign || s->session ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
        return CUDA_SUCCESS;
    case CJI_CU_ID_cuStreamGetCaptureInfo:
        *(CUstreamCaptureStatus *)(uintptr_t)a[1] = s->session ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
        *(size_t *)(uintptr_t)a[5] = 0;
        return CUDA_SUCCESS;
    case CJI_CU_ID_cuStreamBeginCapture: return fake_capture_start(s, (CUstreamCaptureMode)a[1]);
    case CJI_CU_ID_cuStreamEndCapture: return fake_capture_stop(s, (CUgraph *)(uintptr_t)a[1]);
    case CJI_CU_ID_cuStreamDestroy:
        if (s->session) return fake_harm(s->session, id, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        fake.live_streams--;
        return CUDA_SUCCESS; /* the memory stays: events point to it, and what was given still runs */
    default: return CUDA_SUCCESS;
    }
}

CUresult fake_event_calls(int id, fake_event *e, fake_stream *s)
{
    if (fake_now.sticky && id != CJI_CU_ID_cuEventDestroy) return fake_now.sticky;
    switch (id) {
    case CJI_CU_ID_cuEventRecord:
        e->at = s;
        e->point = s->given;
        e->session = s->session;
        e->recorded = true;
        return s->session && s->session->broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    case CJI_CU_ID_cuEventQuery:
    case CJI_CU_ID_cuEventSynchronize:
        if (e->session && e->session == fake_now.open_session) return fake_harm(e->session, id, CUDA_ERROR_CAPTURED_EVENT);
        if (fake_unsafe(id)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        return !e->recorded || e->at->done >= e->point ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    case CJI_CU_ID_cuStreamWaitEvent:
        if (!e->recorded) return CUDA_SUCCESS;
        if (s->session && e->session != s->session) return fake_harm(s->session, id, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        if (e->session && e->session == fake_now.open_session) s->session = e->session;
        return CUDA_SUCCESS;
    case CJI_CU_ID_cuEventDestroy:
        fake.live_events--;
        fake_delete(e);
        return CUDA_SUCCESS;
    default: return CUDA_SUCCESS;
    }
}

CUresult fake_device_calls(int id, const uint64_t *a)
{
    switch (id) {
    case CJI_CU_ID_cuDriverGetVersion: *(int *)(uintptr_t)a[0] = 12080; break;
    case CJI_CU_ID_cuGetErrorName: *(const char **)(uintptr_t)a[1] = cji_cu_error_name((int)a[0]); break;
    case CJI_CU_ID_cuGetErrorString: *(const char **)(uintptr_t)a[1] = cji_cu_error_text((int)a[0]); break;
    case CJI_CU_ID_cuGetProcAddress: return CUDA_ERROR_NOT_SUPPORTED;
    case CJI_CU_ID_cuDeviceGetCount: *(int *)(uintptr_t)a[0] = 1; break;
    case CJI_CU_ID_cuDeviceGet: *(int *)(uintptr_t)a[0] = (int)a[1]; break;
    case CJI_CU_ID_cuDeviceGetName: strcpy((char *)(uintptr_t)a[0], "fake"); break;
    case CJI_CU_ID_cuDeviceTotalMem: *(size_t *)(uintptr_t)a[0] = 1 << 30; break;
    case CJI_CU_ID_cuDeviceGetAttribute:
        *(int *)(uintptr_t)a[0] = a[1] == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : a[1] == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0 : 1024;
        break;
    case CJI_CU_ID_cuDevicePrimaryCtxRetain: *(CUcontext *)(uintptr_t)a[0] = fake_context(); break;
    case CJI_CU_ID_cuModuleLoadDataEx:
    case CJI_CU_ID_cuModuleLoadData: fake.live_modules++, *(CUmodule *)(uintptr_t)a[0] = (CUmodule)(void *)&fake; break;
    case CJI_CU_ID_cuModuleUnload:
        fake.live_modules--;
        return fake_now.open_session ? fake_harm(fake_now.open_session, id, CUDA_SUCCESS) : CUDA_SUCCESS;
    case CJI_CU_ID_cuModuleGetFunction: *(CUfunction *)(uintptr_t)a[0] = (CUfunction)(void *)&fake; break;
    case CJI_CU_ID_cuFuncGetAttribute: *(int *)(uintptr_t)a[0] = a[1] == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0; break;
    case CJI_CU_ID_cuFuncGetParamInfo: return CUDA_ERROR_NOT_SUPPORTED;
    default: break;
    }
    return CUDA_SUCCESS;
}

/* A node is its operation, which a launch ignores; the memory is the graph's as long as that is there. */
static CUresult memory_node(int id, const uint64_t *a)
{
    CUDA_MEM_ALLOC_NODE_PARAMS *p = (CUDA_MEM_ALLOC_NODE_PARAMS *)(uintptr_t)a[4];
    fake_graph *g = (fake_graph *)(uintptr_t)a[1];
    fake_op **last = &g->ops;
    uint64_t arg[5] = { 0 };
    if (id == CJI_CU_ID_cuGraphAddMemAllocNode) {
        p->dptr = arg[0] = (uintptr_t)fake_block_make(p->bytesize, true);
        fake_block_belongs(p->dptr, g);
    }
    fake_append(&g->ops, id, arg);
    g->nodes++;
    while ((*last)->next) last = &(*last)->next;
    *(CUgraphNode *)(uintptr_t)a[0] = (CUgraphNode)(void *)*last;
    return CUDA_SUCCESS;
}

CUresult fake_graph_calls(int id, const uint64_t *a)
{
    fake_graph *g = (fake_graph *)(uintptr_t)a[0];
    switch (id) {
    case CJI_CU_ID_cuGraphGetNodes: *(size_t *)(uintptr_t)a[2] = (size_t)g->nodes; break;
    case CJI_CU_ID_cuGraphAddBatchMemOpNode: {
        const CUDA_BATCH_MEM_OP_NODE_PARAMS *p = (const CUDA_BATCH_MEM_OP_NODE_PARAMS *)(uintptr_t)a[4];
        fake_graph *to = (fake_graph *)(uintptr_t)a[1];
        fake_node_values(to, p->count, p->paramArray);
        *(CUgraphNode *)(uintptr_t)a[0] = (CUgraphNode)(void *)((char *)to + to->nodes); /* never looked into */
        break;
    }
    case CJI_CU_ID_cuGraphCreate:
        *(CUgraph *)(uintptr_t)a[0] = (CUgraph)fake_new(sizeof(fake_graph));
        fake.live_graphs++;
        break;
    case CJI_CU_ID_cuGraphDestroy:
        fake.live_graphs--;
        fake_block_belongs(0, g);
        fake_drop_ops(g->ops);
        fake_delete(g);
        break;
    case CJI_CU_ID_cuGraphInstantiateWithParams:
    case CJI_CU_ID_cuGraphInstantiateWithFlags: {
        const fake_graph *from = (fake_graph *)(uintptr_t)a[1];
        fake_graph *x = fake_new(sizeof *x);
        for (const fake_op *o = from->ops; o; o = o->next) fake_append(&x->ops, o->id, o->arg);
        *(CUgraphExec *)(uintptr_t)a[0] = (CUgraphExec)(void *)x;
        fake.live_execs++;
        break;
    }
    case CJI_CU_ID_cuGraphAddMemAllocNode:
    case CJI_CU_ID_cuGraphAddMemFreeNode: return memory_node(id, a);
    case CJI_CU_ID_cuGraphExecDestroy:
        fake.live_execs--;
        fake_drop_ops(g->ops);
        fake_delete(g);
        break;
    default: break;
    }
    return CUDA_SUCCESS;
}

/* Zeros for what is not the driver's, as the real one. */
static CUresult pointer_attributes(const uint64_t *a)
{
    const CUpointer_attribute *what = (const CUpointer_attribute *)(uintptr_t)a[1];
    unsigned **out = (unsigned **)(uintptr_t)a[2];
    for (uint64_t i = 0; i < a[0]; i++) *out[i] = what[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ? fake_memory_type(a[3]) : 0;
    return CUDA_SUCCESS;
}

CUresult fake_memory_calls(int id, const uint64_t *a)
{
    switch (id) {
    case CJI_CU_ID_cuMemHostAlloc:
        if (fake_unsafe(id)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        *(void **)(uintptr_t)a[0] = fake_block_make(a[1], false);
        return CUDA_SUCCESS;
    case CJI_CU_ID_cuMemFreeHost:
    case CJI_CU_ID_cuMemFree: return fake_unsafe(id) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : fake_block_free(a[0]);
    case CJI_CU_ID_cuMemAlloc:
    case CJI_CU_ID_cuMemAllocAsync:
        if (fake_now.sticky) return fake_now.sticky;
        if (fake_unsafe(id)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        *(CUdeviceptr *)(uintptr_t)a[0] = (uintptr_t)fake_block_make(a[1], true);
        return CUDA_SUCCESS;
    case CJI_CU_ID_cuMemFreeAsync:
        if (fake_unsafe(id)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        if (fake_stream_at(a[1])->session || fake_stream_at(a[1])->foreign) return CUDA_ERROR_INVALID_VALUE;
        return fake_give(fake_stream_at(a[1]), id, a);
    case CJI_CU_ID_cuPointerGetAttributes: return pointer_attributes(a);
    default: return CUDA_SUCCESS;
    }
}

CUresult fake_make_stream(CUstream *out, int priority)
{
    fake_stream *s = fake_new(sizeof *s);
    s->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    for (size_t i = 0; i < 256; i++) {
        if (fake_now.streams[i]) continue;
        fake_now.streams[i] = s;
        break;
    }
    *out = (CUstream)(void *)s;
    fake.live_streams++;
    return CUDA_SUCCESS;
}

CUresult fake_make_event(CUevent *out)
{
    *out = (CUevent)fake_new(sizeof(fake_event));
    fake.live_events++;
    return CUDA_SUCCESS;
}
