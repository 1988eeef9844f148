/* The fake driver: its entry points, contexts, and what tests open and steer it with.  See fake.h. */
#include "tests/stream/fake_parts.h"

#include <string.h>

#include "tests/tap.h"

fake_state fake;

/* -- Contexts: a stack for each thread ------------------------------------------------------------------------------- */

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
    case CJI_CU_ID_cuCtxSynchronize: return fake_now.open_session ? fake_harm(fake_now.open_session, id, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) : CUDA_SUCCESS;
    case CJI_CU_ID_cuCtxGetStreamPriorityRange: *(int *)(uintptr_t)a[0] = 0, *(int *)(uintptr_t)a[1] = -5; break;
    default: break;
    }
    return CUDA_SUCCESS;
}

/* -- The calls ------------------------------------------------------------------------------------------------------- */

bool fake_relaxed(void) { return thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED; }

static CUresult fake_do(int id, const uint64_t *a)
{
    CUstreamCaptureMode *mode = (CUstreamCaptureMode *)(uintptr_t)a[0], old = thread_mode;
    switch (id) {
    case CJI_CU_ID_cuThreadExchangeStreamCaptureMode:
        thread_mode = *mode;
        *mode = old;
        return CUDA_SUCCESS;
    case CJI_CU_ID_cuStreamCreateWithPriority: return fake_make_stream((CUstream *)(uintptr_t)a[0], (int)a[2]);
    case CJI_CU_ID_cuEventCreate: return fake_make_event((CUevent *)(uintptr_t)a[0]);
    case CJI_CU_ID_cuEventRecord: return fake_event_calls(id, (fake_event *)(uintptr_t)a[0], fake_stream_at(a[1]));
    case CJI_CU_ID_cuStreamWaitEvent: return fake_event_calls(id, (fake_event *)(uintptr_t)a[1], fake_stream_at(a[0]));
    case CJI_CU_ID_cuEventQuery:
    case CJI_CU_ID_cuEventSynchronize:
    case CJI_CU_ID_cuEventDestroy: return fake_event_calls(id, (fake_event *)(uintptr_t)a[0], NULL);
    case CJI_CU_ID_cuEventElapsedTime: *(float *)(uintptr_t)a[0] = 1.5f; return CUDA_SUCCESS;
    case CJI_CU_ID_cuLaunchKernel:
        if (fake_current() != fake_context()) return fake_current() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
        return fake_give(fake_stream_at(a[8]), id, a);
    case CJI_CU_ID_cuMemcpyHtoDAsync:
    case CJI_CU_ID_cuMemcpyDtoHAsync:
    case CJI_CU_ID_cuMemcpyDtoDAsync:
    case CJI_CU_ID_cuMemsetD8Async:
    case CJI_CU_ID_cuMemsetD16Async:
    case CJI_CU_ID_cuMemsetD32Async: return fake_give(fake_stream_at(a[3]), id, a);
    case CJI_CU_ID_cuLaunchHostFunc: return fake_give(fake_stream_at(a[0]), id, (const uint64_t[5]){ a[1], a[2] });
    case CJI_CU_ID_cuGraphLaunch: return fake_give(fake_stream_at(a[1]), id, a);
    case CJI_CU_ID_cuStreamAddCallback: return fake_give(fake_stream_at(a[0]), id, (const uint64_t[5]){ a[1], a[2], a[0] });
    case CJI_CU_ID_cuStreamBatchMemOp: return fake_give_values(fake_stream_at(a[0]), (unsigned)a[1], (const CUstreamBatchMemOpParams *)(uintptr_t)a[2]);
    case CJI_CU_ID_cuStreamWriteValue32:
    case CJI_CU_ID_cuStreamWriteValue64: return fake_give(fake_stream_at(a[0]), id, (const uint64_t[5]){ a[1], a[2] });
    default: break;
    }
    if (!strncmp(cji_cu_rows[id].name, "cuStream", 8)) return fake_stream_calls(id, a, fake_stream_at(a[0]));
    if (!strncmp(cji_cu_rows[id].name, "cuCtx", 5)) return context_calls(id, a);
    if (!strncmp(cji_cu_rows[id].name, "cuGraph", 7)) return fake_graph_calls(id, a);
    if (!strncmp(cji_cu_rows[id].name, "cuMem", 5) || !strncmp(cji_cu_rows[id].name, "cuPointer", 9)) return fake_memory_calls(id, a);
    return fake_device_calls(id, a);
}

static CUresult fake_enter(int id, const uint64_t *a)
{
    pthread_mutex_lock(&fake_now.lock);
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
    pthread_mutex_unlock(&fake_now.lock);
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

cj_driver *fake_open(void)
{
    fake_clean();
    int id = fake.fail_id, after = fake.armed ? fake.fail_after : -1;
    CUresult with = fake.fail_with;
    memset(&fake, 0, sizeof fake);
    fake_fail(id, after, with);
    fake_set_current(NULL);
    thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return cj_driver_open_resolver(fake_symbol, NULL);
}

void fake_setup(fake_bench *b)
{
    b->drv = fake_open();
    b->dev = cj_device_open(b->drv, 0, NULL);
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
    tap_ok(!fake.pinned && !fake.allocated, "no memory either: %d pinned fake_now.blocks, %d of the device", fake.pinned, fake.allocated);
    fake_clean();
}

cj_kernel *fake_kernel(cj_device *dev)
{
    static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry k(.param .u64 .ptr p, .param .u64 .ptr q, .param .f32 a, .param .u32 n)\n{\n ret;\n}\n";
    cj_module *mod = cj_module_load_text(dev, text, NULL);
    cj_kernel *k = cj_module_kernel(mod, "k");
    cj_module_free(mod);
    return k;
}
