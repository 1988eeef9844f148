/* See fake.h. */
#include "tests/stream/fake.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

fake_state fake;

/* -- Memory of the fake itself: whatever a test made it lose goes with fake_clean() --------------------------------------- */

typedef struct fake_piece { struct fake_piece *next, **at; _Alignas(16) char data[]; } fake_piece;
static fake_piece *pieces;

static void *fake_new(size_t size)
{
    fake_piece *p = calloc(1, sizeof *p + size);
    if (!p) abort();
    p->next = pieces;
    p->at = &pieces;
    if (pieces) pieces->at = &p->next;
    pieces = p;
    return p->data;
}

static void fake_delete(void *data)
{
    if (!data) return;
    fake_piece *p = (fake_piece *)(void *)((char *)data - offsetof(fake_piece, data));
    *p->at = p->next;
    if (p->next) p->next->at = p->at;
    free(p);
}

/* -- What there is --------------------------------------------------------------------------------------------------- */

typedef struct fake_op { struct fake_op *next; int id; uint64_t arg[5]; } fake_op;
typedef struct fake_graph { fake_op *ops; int nodes; } fake_graph;
typedef struct fake_stream {
    uint64_t given, done; /* points: how much was given, how much has run */
    bool held, foreign;
    int priority;
    struct fake_session *session; /* the capture it is part of */
    fake_op *first, **last;
} fake_stream;
typedef struct fake_event {
    fake_stream *at;
    uint64_t point;
    struct fake_session *session;
    bool timing, recorded;
} fake_event;
typedef struct fake_session { fake_stream *origin; fake_graph *graph; bool broken; CUstreamCaptureMode mode; pthread_t thread; } fake_session;
typedef struct fake_block { struct fake_block *next; char *at; size_t bytes; bool device; } fake_block;

static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static fake_block *blocks;
static fake_stream legacy;
static int sessions_open;
static fake_session *open_session;
static CUresult sticky;
static char context_memory;
static _Thread_local CUcontext stack[16];
static _Thread_local int depth;
static _Thread_local CUstreamCaptureMode thread_mode;

CUcontext fake_context(void) { return (CUcontext)(void *)&context_memory; }
CUcontext fake_current(void) { return depth ? stack[depth - 1] : NULL; }
int fake_depth(void) { return depth; }
void fake_set_current(CUcontext ctx)
{
    depth = ctx != NULL;
    stack[0] = ctx;
}

static CUresult fake_do(int id, const uint64_t *a);
static CUresult block_free(uint64_t at);

static bool fake_relaxed(void) { return thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED; }

static CUresult fake_enter(int id, const uint64_t *a)
{
    pthread_mutex_lock(&fake_lock);
    CUresult r = CUDA_SUCCESS;
    if (fake.fail_id == id && fake.fail_after >= 0 && fake.fail_after-- == 0)
        r = fake.fail_with;
    else
        r = fake_do(id, a);
    if (fake.count < sizeof fake.log / sizeof *fake.log) {
        fake_call *c = &fake.log[fake.count++];
        *c = (fake_call){ .id = id, .result = r, .relaxed = fake_relaxed() };
        memcpy(c->arg, a, sizeof c->arg);
    }
    pthread_mutex_unlock(&fake_lock);
    return r;
}

/* One function for each row of symbols.def. */
#define FAKE_ARG(T, a) (uint64_t)(uintptr_t)(a),
#define CU(name, export, version, need, count, list) \
    static CUresult fake_##name(CJI_CU_DECL(count, list)) \
    { \
        const uint64_t args[13] = { CJI_CU_EACH(count, FAKE_ARG, list) 0 }; \
        return fake_enter(CJI_CU_ID_##name, args); \
    }
#include "cuda/symbols.def"

void *fake_symbol(void *user, const char *symbol)
{
    static void (*const table[CJI_CU_COUNT])(void) = {
#define CU(name, export, version, need, count, list) (void (*)(void))fake_##name,
#include "cuda/symbols.def"
    };
    (void)user;
    int i = cji_cu_find_export(symbol);
    return i < 0 ? NULL : (void *)(uintptr_t)table[i];
}

/* -- Running --------------------------------------------------------------------------------------------------------- */

static void op_run(const fake_op *o)
{
    void *to = (void *)(uintptr_t)o->arg[0];
    switch (o->id) {
    case CJI_CU_ID_cuLaunchKernel: fake.launches++; break;
    case CJI_CU_ID_cuMemcpyHtoDAsync:
    case CJI_CU_ID_cuMemcpyDtoHAsync:
    case CJI_CU_ID_cuMemcpyDtoDAsync: memcpy(to, (void *)(uintptr_t)o->arg[1], o->arg[2]); break;
    case CJI_CU_ID_cuMemsetD8Async: memset(to, (int)o->arg[1], o->arg[2]); break;
    case CJI_CU_ID_cuMemsetD16Async:
        for (size_t i = 0; i < o->arg[2]; i++) ((uint16_t *)to)[i] = (uint16_t)o->arg[1];
        break;
    case CJI_CU_ID_cuMemsetD32Async:
        for (size_t i = 0; i < o->arg[2]; i++) ((uint32_t *)to)[i] = (uint32_t)o->arg[1];
        break;
    case CJI_CU_ID_cuMemFreeAsync: block_free(o->arg[0]); break;
    case CJI_CU_ID_cuStreamAddCallback:
        ((CUstreamCallback)(uintptr_t)o->arg[0])((CUstream)(uintptr_t)o->arg[2], sticky, (void *)(uintptr_t)o->arg[1]);
        break;
    case CJI_CU_ID_cuStreamWriteValue32: *(uint32_t *)to = (uint32_t)o->arg[1]; break;
    case CJI_CU_ID_cuStreamWriteValue64: *(uint64_t *)to = o->arg[1]; break;
    case CJI_CU_ID_cuLaunchHostFunc: ((CUhostFn)(uintptr_t)o->arg[0])((void *)(uintptr_t)o->arg[1]); break;
    case CJI_CU_ID_cuGraphLaunch:
        for (const fake_op *n = ((fake_graph *)(uintptr_t)o->arg[0])->ops; n; n = n->next) op_run(n);
        break;
    default: break;
    }
}

static fake_stream *stream_at(uint64_t raw) { return raw == (uintptr_t)CU_STREAM_LEGACY ? &legacy : (fake_stream *)(uintptr_t)raw; }

static void op_append(fake_op **list, int id, const uint64_t *a)
{
    while (*list) list = &(*list)->next;
    *list = fake_new(sizeof **list);
    (*list)->id = id;
    memcpy((*list)->arg, a, sizeof (*list)->arg);
}

/* Work for a stream: captured, held, or run. */
static CUresult op_give(fake_stream *s, int id, const uint64_t *a)
{
    if (sticky) return sticky;
    if (s->foreign) return CUDA_SUCCESS;
    if (s->session) {
        if (s->session->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        op_append(&s->session->graph->ops, id, a);
        s->session->graph->nodes++;
        return CUDA_SUCCESS;
    }
    fake_op o = { .id = id };
    memcpy(o.arg, a, sizeof o.arg);
    s->given++;
    if (s->held) {
        op_append(&s->first, id, a);
        return CUDA_SUCCESS;
    }
    op_run(&o);
    s->done = s->given;
    return CUDA_SUCCESS;
}

static void ops_free(fake_op *o)
{
    for (fake_op *next; o; o = next) next = o->next, fake_delete(o);
}

void fake_hold(void *raw) { ((fake_stream *)raw)->held = true; }
void fake_let_go(void *raw)
{
    pthread_mutex_lock(&fake_lock);
    fake_stream *s = raw;
    for (fake_op *o = s->first; o; o = o->next) op_run(o);
    ops_free(s->first);
    s->first = NULL;
    s->held = false;
    s->done = s->given;
    pthread_mutex_unlock(&fake_lock);
}

void fake_capture_foreign(void *raw, bool on) { ((fake_stream *)raw)->foreign = on; }

static fake_stream *all_streams[256];

void fake_die(CUresult result)
{
    sticky = result;
    for (size_t i = 0; result && i < 256; i++) {
        fake_stream *s = all_streams[i];
        if (!s) continue;
        for (const fake_op *o = s->first; o; o = o->next)
            if (o->id == CJI_CU_ID_cuStreamAddCallback) op_run(o);
        ops_free(s->first);
        s->first = NULL;
        s->done = s->given;
    }
}

/* -- Captures -------------------------------------------------------------------------------------------------------- */

/* A call that an open capture of another stream does not bear: see the table of measured calls. */
static CUresult unsafe(int id)
{
    if (!sessions_open || fake_relaxed()) return CUDA_SUCCESS;
    bool same = pthread_equal(open_session->thread, pthread_self());
    if (open_session->mode == CU_STREAM_CAPTURE_MODE_RELAXED || (open_session->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && !same))
        return CUDA_SUCCESS;
    fake.harmed = cji_cu_rows[id].name;
    open_session->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static CUresult harm(fake_session *c, int id, CUresult r)
{
    fake.harmed = cji_cu_rows[id].name;
    c->broken = true;
    return r;
}

static CUresult capture_start(fake_stream *s, CUstreamCaptureMode mode)
{
    if (s->session) return CUDA_ERROR_ILLEGAL_STATE;
    fake_session *c = fake_new(sizeof *c);
    c->origin = s;
    c->graph = fake_new(sizeof *c->graph);
    c->mode = mode;
    c->thread = pthread_self();
    s->session = c;
    open_session = c;
    sessions_open++;
    return CUDA_SUCCESS;
}

static CUresult capture_stop(fake_stream *s, CUgraph *out)
{
    fake_session *c = s->session;
    *out = NULL;
    if (!c) return CUDA_ERROR_ILLEGAL_STATE;
    if (c->origin != s) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    for (size_t i = 0; i < 256; i++)
        if (all_streams[i] && all_streams[i]->session == c) all_streams[i]->session = NULL;
    legacy.session = NULL;
    sessions_open--;
    open_session = NULL;
    if (c->broken) {
        ops_free(c->graph->ops);
        fake_delete(c->graph);
    } else {
        *out = (CUgraph)(void *)c->graph;
        fake.live_graphs++;
    }
    return c->broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS; /* the session stays: events point to it */
}

/* -- Memory ---------------------------------------------------------------------------------------------------------- */

static void *block_make(size_t bytes, bool device)
{
    fake_block *b = fake_new(sizeof *b);
    b->at = fake_new(bytes);
    b->bytes = bytes;
    b->device = device;
    b->next = blocks;
    blocks = b;
    *(device ? &fake.allocated : &fake.pinned) += 1;
    return b->at;
}

static CUresult block_free(uint64_t at)
{
    for (fake_block **b = &blocks; *b; b = &(*b)->next) {
        fake_block *gone = *b;
        if ((uintptr_t)gone->at != at) continue;
        *b = gone->next;
        *(gone->device ? &fake.allocated : &fake.pinned) -= 1;
        fake_delete(gone->at);
        fake_delete(gone);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static unsigned memory_type(uint64_t p)
{
    for (fake_block *b = blocks; b; b = b->next)
        if (p - (uintptr_t)b->at < b->bytes) return b->device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    return 0;
}

/* Zeros for what is not the driver's, as the real one. */
static CUresult pointer_attributes(const uint64_t *a)
{
    const CUpointer_attribute *what = (const CUpointer_attribute *)(uintptr_t)a[1];
    unsigned **out = (unsigned **)(uintptr_t)a[2];
    for (uint64_t i = 0; i < a[0]; i++) *out[i] = what[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ? memory_type(a[3]) : 0;
    return CUDA_SUCCESS;
}

/* -- The calls ------------------------------------------------------------------------------------------------------- */

static CUresult stream_calls(int id, const uint64_t *a, fake_stream *s)
{
    switch (id) {
    case CJI_CU_ID_cuStreamQuery:
    case CJI_CU_ID_cuStreamSynchronize:
        if (sticky) return sticky;
        if (s->session) return harm(s->session, id, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        if (unsafe(id)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        if (id == CJI_CU_ID_cuStreamSynchronize && s->held) return CUDA_ERROR_LAUNCH_TIMEOUT; /* would block for ever */
        return s->done == s->given ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    case CJI_CU_ID_cuStreamGetPriority: *(int *)(uintptr_t)a[1] = s->priority; return CUDA_SUCCESS;
    case CJI_CU_ID_cuStreamGetFlags: *(unsigned *)(uintptr_t)a[1] = s != &legacy; return CUDA_SUCCESS;
    case CJI_CU_ID_cuStreamGetCtx: *(CUcontext *)(uintptr_t)a[1] = fake_context(); return CUDA_SUCCESS;
    case CJI_CU_ID_cuStreamGetId: *(unsigned long long *)(uintptr_t)a[1] = (uintptr_t)s; return CUDA_SUCCESS;
    case CJI_CU_ID_cuStreamIsCapturing:
        if (sticky) return sticky;
        *(CUstreamCaptureStatus *)(uintptr_t)a[1] = s->foreign || s->session ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
        return CUDA_SUCCESS;
    case CJI_CU_ID_cuStreamGetCaptureInfo:
        *(CUstreamCaptureStatus *)(uintptr_t)a[1] = s->session ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
        *(size_t *)(uintptr_t)a[5] = 0;
        return CUDA_SUCCESS;
    case CJI_CU_ID_cuStreamBeginCapture: return capture_start(s, (CUstreamCaptureMode)a[1]);
    case CJI_CU_ID_cuStreamEndCapture: return capture_stop(s, (CUgraph *)(uintptr_t)a[1]);
    case CJI_CU_ID_cuStreamDestroy:
        if (s->session) return harm(s->session, id, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        fake.live_streams--;
        return CUDA_SUCCESS; /* the memory stays: events point to it, and what was given still runs */
    default: return CUDA_SUCCESS;
    }
}

static CUresult event_calls(int id, fake_event *e, fake_stream *s)
{
    if (sticky && id != CJI_CU_ID_cuEventDestroy) return sticky;
    switch (id) {
    case CJI_CU_ID_cuEventRecord:
        e->at = s;
        e->point = s->given;
        e->session = s->session;
        e->recorded = true;
        return s->session && s->session->broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    case CJI_CU_ID_cuEventQuery:
    case CJI_CU_ID_cuEventSynchronize:
        if (e->session && e->session == open_session) return harm(e->session, id, CUDA_ERROR_CAPTURED_EVENT);
        if (unsafe(id)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        return !e->recorded || e->at->done >= e->point ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    case CJI_CU_ID_cuStreamWaitEvent:
        if (!e->recorded) return CUDA_SUCCESS;
        if (s->session && e->session != s->session) return harm(s->session, id, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        if (e->session && e->session == open_session) s->session = e->session;
        return CUDA_SUCCESS;
    case CJI_CU_ID_cuEventDestroy:
        fake.live_events--;
        fake_delete(e);
        return CUDA_SUCCESS;
    default: return CUDA_SUCCESS;
    }
}

static CUresult context_calls(int id, const uint64_t *a)
{
    switch (id) {
    case CJI_CU_ID_cuCtxGetCurrent: *(CUcontext *)(uintptr_t)a[0] = fake_current(); break;
    case CJI_CU_ID_cuCtxSetCurrent: fake_set_current((CUcontext)(uintptr_t)a[0]); break;
    case CJI_CU_ID_cuCtxPushCurrent: stack[depth++] = (CUcontext)(uintptr_t)a[0]; break;
    case CJI_CU_ID_cuCtxPopCurrent:
        if (!depth) return CUDA_ERROR_INVALID_CONTEXT;
        *(CUcontext *)(uintptr_t)a[0] = stack[--depth];
        break;
    case CJI_CU_ID_cuCtxSynchronize: return open_session ? harm(open_session, id, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) : CUDA_SUCCESS;
    case CJI_CU_ID_cuCtxGetStreamPriorityRange: *(int *)(uintptr_t)a[0] = 0, *(int *)(uintptr_t)a[1] = -5; break;
    default: break;
    }
    return CUDA_SUCCESS;
}

static CUresult device_calls(int id, const uint64_t *a)
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
        return open_session ? harm(open_session, id, CUDA_SUCCESS) : CUDA_SUCCESS;
    case CJI_CU_ID_cuModuleGetFunction: *(CUfunction *)(uintptr_t)a[0] = (CUfunction)(void *)&fake; break;
    case CJI_CU_ID_cuFuncGetAttribute: *(int *)(uintptr_t)a[0] = a[1] == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0; break;
    case CJI_CU_ID_cuFuncGetParamInfo: return CUDA_ERROR_NOT_SUPPORTED;
    default: break;
    }
    return CUDA_SUCCESS;
}

static CUresult graph_calls(int id, const uint64_t *a)
{
    fake_graph *g = (fake_graph *)(uintptr_t)a[0];
    switch (id) {
    case CJI_CU_ID_cuGraphGetNodes: *(size_t *)(uintptr_t)a[2] = (size_t)g->nodes; break;
    case CJI_CU_ID_cuGraphCreate:
        *(CUgraph *)(uintptr_t)a[0] = (CUgraph)fake_new(sizeof(fake_graph));
        fake.live_graphs++;
        break;
    case CJI_CU_ID_cuGraphDestroy:
        fake.live_graphs--;
        ops_free(g->ops);
        fake_delete(g);
        break;
    case CJI_CU_ID_cuGraphInstantiateWithParams:
    case CJI_CU_ID_cuGraphInstantiateWithFlags: {
        const fake_graph *from = (fake_graph *)(uintptr_t)a[1];
        fake_graph *x = fake_new(sizeof *x);
        for (const fake_op *o = from->ops; o; o = o->next) op_append(&x->ops, o->id, o->arg);
        *(CUgraphExec *)(uintptr_t)a[0] = (CUgraphExec)(void *)x;
        fake.live_execs++;
        break;
    }
    case CJI_CU_ID_cuGraphExecDestroy:
        fake.live_execs--;
        ops_free(g->ops);
        fake_delete(g);
        break;
    default: break;
    }
    return CUDA_SUCCESS;
}

static CUresult memory_calls(int id, const uint64_t *a)
{
    switch (id) {
    case CJI_CU_ID_cuMemHostAlloc:
        if (unsafe(id)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        *(void **)(uintptr_t)a[0] = block_make(a[1], false);
        return CUDA_SUCCESS;
    case CJI_CU_ID_cuMemFreeHost:
    case CJI_CU_ID_cuMemFree: return unsafe(id) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : block_free(a[0]);
    case CJI_CU_ID_cuMemAllocAsync:
        if (sticky) return sticky;
        if (unsafe(id)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        *(CUdeviceptr *)(uintptr_t)a[0] = (uintptr_t)block_make(a[1], true);
        return CUDA_SUCCESS;
    case CJI_CU_ID_cuMemFreeAsync:
        if (unsafe(id)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        if (stream_at(a[1])->session || stream_at(a[1])->foreign) return CUDA_ERROR_INVALID_VALUE;
        return op_give(stream_at(a[1]), id, a);
    case CJI_CU_ID_cuPointerGetAttributes: return pointer_attributes(a);
    default: return CUDA_SUCCESS;
    }
}

static CUresult make_stream(CUstream *out, int priority)
{
    fake_stream *s = fake_new(sizeof *s);
    s->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    for (size_t i = 0; i < 256; i++) {
        if (all_streams[i]) continue;
        all_streams[i] = s;
        break;
    }
    *out = (CUstream)(void *)s;
    fake.live_streams++;
    return CUDA_SUCCESS;
}

static CUresult make_event(CUevent *out)
{
    *out = (CUevent)fake_new(sizeof(fake_event));
    fake.live_events++;
    return CUDA_SUCCESS;
}

static CUresult fake_do(int id, const uint64_t *a)
{
    CUstreamCaptureMode *mode = (CUstreamCaptureMode *)(uintptr_t)a[0], old = thread_mode;
    switch (id) {
    case CJI_CU_ID_cuThreadExchangeStreamCaptureMode:
        thread_mode = *mode;
        *mode = old;
        return CUDA_SUCCESS;
    case CJI_CU_ID_cuStreamCreateWithPriority: return make_stream((CUstream *)(uintptr_t)a[0], (int)a[2]);
    case CJI_CU_ID_cuEventCreate: return make_event((CUevent *)(uintptr_t)a[0]);
    case CJI_CU_ID_cuEventRecord: return event_calls(id, (fake_event *)(uintptr_t)a[0], stream_at(a[1]));
    case CJI_CU_ID_cuStreamWaitEvent: return event_calls(id, (fake_event *)(uintptr_t)a[1], stream_at(a[0]));
    case CJI_CU_ID_cuEventQuery:
    case CJI_CU_ID_cuEventSynchronize:
    case CJI_CU_ID_cuEventDestroy: return event_calls(id, (fake_event *)(uintptr_t)a[0], NULL);
    case CJI_CU_ID_cuEventElapsedTime: *(float *)(uintptr_t)a[0] = 1.5f; return CUDA_SUCCESS;
    case CJI_CU_ID_cuLaunchKernel:
        if (fake_current() != fake_context()) return fake_current() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
        return op_give(stream_at(a[8]), id, a);
    case CJI_CU_ID_cuMemcpyHtoDAsync:
    case CJI_CU_ID_cuMemcpyDtoHAsync:
    case CJI_CU_ID_cuMemcpyDtoDAsync:
    case CJI_CU_ID_cuMemsetD8Async:
    case CJI_CU_ID_cuMemsetD16Async:
    case CJI_CU_ID_cuMemsetD32Async: return op_give(stream_at(a[3]), id, a);
    case CJI_CU_ID_cuLaunchHostFunc: return op_give(stream_at(a[0]), id, (const uint64_t[5]){ a[1], a[2] });
    case CJI_CU_ID_cuGraphLaunch: return op_give(stream_at(a[1]), id, a);
    case CJI_CU_ID_cuStreamAddCallback: return op_give(stream_at(a[0]), id, (const uint64_t[5]){ a[1], a[2], a[0] });
    case CJI_CU_ID_cuStreamWriteValue32:
    case CJI_CU_ID_cuStreamWriteValue64: return op_give(stream_at(a[0]), id, (const uint64_t[5]){ a[1], a[2] });
    default: break;
    }
    if (!strncmp(cji_cu_rows[id].name, "cuStream", 8)) return stream_calls(id, a, stream_at(a[0]));
    if (!strncmp(cji_cu_rows[id].name, "cuCtx", 5)) return context_calls(id, a);
    if (!strncmp(cji_cu_rows[id].name, "cuGraph", 7)) return graph_calls(id, a);
    if (!strncmp(cji_cu_rows[id].name, "cuMem", 5) || !strncmp(cji_cu_rows[id].name, "cuPointer", 9)) return memory_calls(id, a);
    return device_calls(id, a);
}

/* -- For tests ------------------------------------------------------------------------------------------------------- */

void fake_forget(void)
{
    fake.count = 0;
    fake.harmed = NULL;
}

int fake_find(int id, int nth)
{
    for (size_t i = 0; i < fake.count; i++)
        if (fake.log[i].id == id && nth-- == 0) return (int)i;
    return -1;
}

int fake_calls(int id)
{
    int n = 0;
    for (size_t i = 0; i < fake.count; i++) n += fake.log[i].id == id;
    return n;
}

void fake_fail(int id, int after, CUresult result)
{
    fake.armed = after >= 0;
    fake.fail_id = id;
    fake.fail_after = after;
    fake.fail_with = result;
}
void fake_fail_none(void) { fake_fail(0, -1, CUDA_SUCCESS); }

void fake_clean(void)
{
    while (pieces) fake_delete(pieces->data);
    memset(all_streams, 0, sizeof all_streams);
    memset(&legacy, 0, sizeof legacy);
    blocks = NULL;
    open_session = NULL;
    sessions_open = 0;
}

cj_driver *fake_open(void)
{
    fake_clean();
    int id = fake.fail_id, after = fake.armed ? fake.fail_after : -1;
    CUresult with = fake.fail_with;
    memset(&fake, 0, sizeof fake);
    fake_fail(id, after, with);
    fake_set_current(NULL);
    thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return cj_driver_open_with(fake_symbol, NULL);
}

void fake_setup(fake_bench *b)
{
    b->drv = fake_open();
    b->dev = cj_device_open(b->drv, 0);
    b->s = cj_stream_create(b->dev, NULL);
    b->t = cj_stream_create(b->dev, NULL);
    if (cj_error_of(b->t)->status != CJ_OK) tap_bail("the fake driver cannot be opened: %s", cj_error_of(b->t)->message);
    fake_forget();
}

void fake_teardown(fake_bench *b)
{
    cj_stream_free(b->t);
    cj_stream_free(b->s);
    cj_device_collect(b->dev);
    cj_device_close(b->dev);
    cj_driver_close(b->drv);
    tap_ok(!fake.live_streams && !fake.live_events && !fake.live_modules && !fake.live_graphs && !fake.live_execs,
           "nothing is left at the driver: %d streams, %d events, %d modules, %d graphs, %d execs", fake.live_streams, fake.live_events,
           fake.live_modules, fake.live_graphs, fake.live_execs);
    tap_ok(!fake.pinned && !fake.allocated, "no memory either: %d pinned blocks, %d of the device", fake.pinned, fake.allocated);
    fake_clean();
}


cj_kernel *fake_kernel(cj_device *dev)
{
    static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry k(.param .u64 .ptr p, .param .u64 .ptr q, .param .f32 a, .param .u32 n)\n{\n ret;\n}\n";
    cj_module *mod = cj_module_load_text(dev, text);
    cj_kernel *k = cj_module_kernel(mod, "k");
    cj_module_free(mod);
    return k;
}
