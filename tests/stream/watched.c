/* The CPU device, watched: see watched.h. */
#include "tests/stream/watched.h"

#include <pthread.h>
#include <string.h>

#include <cujit/sim.h>

#include "base/handover.h"
#include "tests/tap.h"

watch_state watch;

static cji_cu below;                /* the CPU device's entry points */
static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static CUresult sticky;
static int swallowed = -1;
static _Thread_local CUstreamCaptureMode thread_mode;

static void load_below(void)
{
    void *p;
#define CU(name, export, version, need, count, list)    \
    p = cujit_sim_get_symbol(NULL, #export);            \
    memcpy(&below.name, &p, sizeof p);
#include "cuda/symbols.def"
}

/* ---- What is counted --------------------------------------------------------------------------------------------- */

static const struct { int id, step; int *counter; } counted[] = {
    { CJI_CU_ID_cuMemHostAlloc, 1, &watch.pinned },
    { CJI_CU_ID_cuMemFreeHost, -1, &watch.pinned },
    { CJI_CU_ID_cuStreamCreate, 1, &watch.live_streams },
    { CJI_CU_ID_cuStreamCreateWithPriority, 1, &watch.live_streams },
    { CJI_CU_ID_cuStreamDestroy, -1, &watch.live_streams },
    { CJI_CU_ID_cuEventCreate, 1, &watch.live_events },
    { CJI_CU_ID_cuEventDestroy, -1, &watch.live_events },
    { CJI_CU_ID_cuModuleLoadData, 1, &watch.live_modules },
    { CJI_CU_ID_cuModuleLoadDataEx, 1, &watch.live_modules },
    { CJI_CU_ID_cuModuleUnload, -1, &watch.live_modules },
    { CJI_CU_ID_cuGraphCreate, 1, &watch.live_graphs },
    { CJI_CU_ID_cuGraphClone, 1, &watch.live_graphs },
    { CJI_CU_ID_cuStreamEndCapture, 1, &watch.live_graphs },
    { CJI_CU_ID_cuGraphDestroy, -1, &watch.live_graphs },
    { CJI_CU_ID_cuGraphInstantiateWithFlags, 1, &watch.live_execs },
    { CJI_CU_ID_cuGraphInstantiateWithParams, 1, &watch.live_execs },
    { CJI_CU_ID_cuGraphExecDestroy, -1, &watch.live_execs },
};

/* Memory that is out, by its address: what a graph allocates may be freed by the same calls, and is not counted. */
static uint64_t blocks[1024];

static void count_memory(int id, const uint64_t *a)
{
    const bool made = id == CJI_CU_ID_cuMemAlloc || id == CJI_CU_ID_cuMemAllocAsync;
    if (!made && id != CJI_CU_ID_cuMemFree && id != CJI_CU_ID_cuMemFreeAsync) return;
    const uint64_t find = made ? 0 : a[0], put = made ? *(CUdeviceptr *)(uintptr_t)a[0] : 0;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        if (blocks[i] != find) continue;
        blocks[i] = put;
        watch.allocated += made ? 1 : -1;
        return;
    }
}

static bool is_capturing(uint64_t raw)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return below.cuStreamIsCapturing((CUstream)(uintptr_t)raw, &status) || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Calls that a sticky error of the context fails. */
static bool is_dead(int id)
{
    static const char *const names[] = { "cuStream", "cuEvent",  "cuLaunch",     "cuMemAlloc",
                                         "cuMemset", "cuMemcpy", "cuGraphLaunch" };
    if (!sticky || id == CJI_CU_ID_cuEventDestroy || id == CJI_CU_ID_cuStreamDestroy) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(cji_cu_rows[id].name, names[i], strlen(names[i]))) return true;
    return false;
}

/* What a call returns without the device; CUDA_SUCCESS: the device is called. */
static CUresult answer_at_once(int id)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&watch_lock);
    if (watch.fail_id == id && watch.fail_after >= 0 && watch.fail_after-- == 0) r = watch.fail_with;
    else if (is_dead(id)) r = sticky;
    pthread_mutex_unlock(&watch_lock);
    return r;
}

static void note_call(int id, const uint64_t *a, CUresult r)
{
    const bool launched = r == CUDA_SUCCESS && id == CJI_CU_ID_cuLaunchKernel && !is_capturing(a[8]);
    const bool set_mode = r == CUDA_SUCCESS && id == CJI_CU_ID_cuThreadExchangeStreamCaptureMode;
    pthread_mutex_lock(&watch_lock);
    if (set_mode) {
        below.cuThreadExchangeStreamCaptureMode(&thread_mode);  /* what it is now */
        CUstreamCaptureMode same = thread_mode;
        below.cuThreadExchangeStreamCaptureMode(&same);
    }
    for (size_t i = 0; r == CUDA_SUCCESS && i < sizeof counted / sizeof *counted; i++)
        if (counted[i].id == id) *counted[i].counter += counted[i].step;
    if (r == CUDA_SUCCESS) count_memory(id, a);
    watch.launches += launched;
    if (watch.count < sizeof watch.log / sizeof *watch.log) {
        watch_call *c = &watch.log[watch.count++];
        *c = (watch_call){ .id = id, .result = r, .relaxed = thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED };
        memcpy(c->arg, a, sizeof c->arg);
    }
    pthread_mutex_unlock(&watch_lock);
}

/* One function for each row of symbols.def. */
#define WATCH_ARG(T, a) (uint64_t)(uintptr_t)(a),
#define CU(name, export, version, need, count, list)                        \
    static CUresult watch_##name(CJI_CU_DECL(count, list))                  \
    {                                                                       \
        const uint64_t args[16] = { CJI_CU_EACH(count, WATCH_ARG, list) 0 }; \
        CUresult r = answer_at_once(CJI_CU_ID_##name);                      \
        if (r == CUDA_SUCCESS && CJI_CU_ID_##name != swallowed) r = below.name(CJI_CU_NAMES(count, list)); \
        note_call(CJI_CU_ID_##name, args, r);                               \
        return r;                                                           \
    }
#include "cuda/symbols.def"

void *watch_symbol(void *user, const char *symbol)
{
    static void (*const table[CJI_CU_COUNT])(void) = {
#define CU(name, export, version, need, count, list) (void (*)(void))watch_##name,
#include "cuda/symbols.def"
    };
    (void)user;
    int i = cji_cu_find_export(symbol);
    return i < 0 || !cujit_sim_get_symbol(NULL, symbol) ? NULL : (void *)(uintptr_t)table[i];
}

/* ---- The log ----------------------------------------------------------------------------------------------------- */

void watch_forget(void)
{
    pthread_mutex_lock(&watch_lock);
    watch.count = 0;
    pthread_mutex_unlock(&watch_lock);
}

int watch_find(int id, int nth)
{
    for (size_t i = 0; i < watch.count; i++)
        if (watch.log[i].id == id && nth-- == 0) return (int)i;
    return -1;
}

int watch_calls(int id)
{
    int n = 0;
    for (size_t i = 0; i < watch.count; i++) n += watch.log[i].id == id;
    return n;
}

void watch_fail(int id, int after, CUresult result)
{
    pthread_mutex_lock(&watch_lock);
    watch.armed = after >= 0;
    watch.fail_id = id;
    watch.fail_after = after;
    watch.fail_with = result;
    pthread_mutex_unlock(&watch_lock);
}

void watch_fail_none(void) { watch_fail(0, -1, CUDA_SUCCESS); }

void watch_swallow(int id) { swallowed = id; }

void watch_die(CUresult result)
{
    pthread_mutex_lock(&watch_lock);
    sticky = result;
    pthread_mutex_unlock(&watch_lock);
}

/* ---- Streams that are held --------------------------------------------------------------------------------------- */

enum { HELD_MOST = 8 };
static struct { void *raw; unsigned *open; } held[HELD_MOST];

static void enter_device(void) { below.cuCtxPushCurrent(watch_context()); }

static void leave_device(void)
{
    CUcontext now;
    below.cuCtxPopCurrent(&now);
}

void watch_hold(void *raw)
{
    size_t i = 0;
    void *p = NULL;
    CUdeviceptr at = 0;
    enter_device();
    while (i < HELD_MOST && held[i].raw) i++;
    if (i == HELD_MOST || below.cuMemHostAlloc(&p, sizeof *held[i].open, CU_MEMHOSTALLOC_DEVICEMAP) ||
        below.cuMemHostGetDevicePointer(&at, p, 0))
        tap_bail("a stream cannot be held");
    held[i].raw = raw;
    held[i].open = p;
    cji_handover_flag(held[i].open, sizeof *held[i].open); /* read by the device */
    __atomic_store_n(held[i].open, 0, __ATOMIC_RELEASE);
    if (below.cuStreamWaitValue32(raw, at, 1, CU_STREAM_WAIT_VALUE_EQ)) tap_bail("a stream cannot be held");
    leave_device();
}

/* The stream may have been destroyed meanwhile: then its work ends with all other work of the device that is not held.
 * */
void watch_release(void *raw)
{
    size_t i = 0, others = 0;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    while (i < HELD_MOST && held[i].raw != raw) i++;
    if (i == HELD_MOST) tap_bail("the stream is not held");
    __atomic_store_n(held[i].open, 1, __ATOMIC_RELEASE);
    held[i].raw = NULL;
    for (size_t k = 0; k < HELD_MOST; k++) others += held[k].raw != NULL;
    enter_device();
    const bool there = below.cuStreamIsCapturing(raw, &status) == CUDA_SUCCESS;
    if (there) below.cuStreamSynchronize(raw);
    else if (!others) below.cuCtxSynchronize();
    if (there || !others) below.cuMemFreeHost(held[i].open);    /* else it ends with the context */
    leave_device();
}

void watch_read(cj_dptr d, void *to, size_t bytes)
{
    enter_device();
    if (below.cuMemcpyDtoH(to, d.addr, bytes)) tap_fail("device memory is read");
    leave_device();
}

void watch_settle(void)
{
    enter_device();
    if (below.cuCtxSynchronize()) tap_fail("the device's work ends");
    leave_device();
}

void watch_capture_foreign(void *raw, bool on)
{
    enter_device();
    CUgraph g = NULL;
    if (on ? below.cuStreamBeginCapture(raw, CU_STREAM_CAPTURE_MODE_RELAXED) : below.cuStreamEndCapture(raw, &g))
        tap_fail("a foreign capture");
    if (g) below.cuGraphDestroy(g);
    leave_device();
}

/* ---- Contexts ---------------------------------------------------------------------------------------------------- */

CUcontext watch_context(void)
{
    static CUcontext device;
    static bool known;
    if (!known && below.cuDevicePrimaryCtxRetain(&device, 0) == CUDA_SUCCESS)
        known = below.cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS;
    return device;
}

CUcontext watch_current(void)
{
    CUcontext c = NULL;
    below.cuCtxGetCurrent(&c);
    return c;
}

CUcontext watch_foreign_context(void)
{
    static CUcontext made;
    CUcontext now;
    if (!made && (below.cuCtxCreate(&made, 0, 0) || below.cuCtxPopCurrent(&now))) tap_bail("no second context");
    return made;
}

int watch_depth(void)
{
    CUcontext stack[16];
    int depth = 0;
    while (depth < 16 && below.cuCtxPopCurrent(&stack[depth]) == CUDA_SUCCESS) depth++;
    for (int i = depth; i-- > 0;) below.cuCtxPushCurrent(stack[i]);
    return depth;
}

void watch_set_current(CUcontext ctx)
{
    CUcontext gone;
    while (below.cuCtxPopCurrent(&gone) == CUDA_SUCCESS) {}
    if (ctx) below.cuCtxPushCurrent(ctx);
}

/* ---- Steps of tests ---------------------------------------------------------------------------------------------- */

cj_driver *watch_open(void)
{
    const int id = watch.fail_id, after = watch.armed ? watch.fail_after : -1;
    const CUresult with = watch.fail_with;
    if (!below.cuInit) load_below();
    memset(&watch, 0, sizeof watch);
    memset(blocks, 0, sizeof blocks);
    watch_fail(id, after, with);
    return cj_driver_open_resolver(watch_symbol, NULL);
}

void watch_setup(watch_bench *b)
{
    b->drv = watch_open();
    b->dev = cj_device_open(b->drv, 0, NULL);
    b->s = cj_stream_create(b->dev, NULL);
    b->t = cj_stream_create(b->dev, NULL);
    if (cj_error_of(b->t)->status != CJ_OK)
        tap_bail("the watched device cannot be opened: %s", cj_error_of(b->t)->message);
    watch_forget();
}

void watch_teardown(watch_bench *b)
{
    watch_settle();
    cj_stream_free(b->t);
    cj_stream_free(b->s);
    cj_device_collect(b->dev);
    cj_device_close(b->dev);
    cj_driver_close(b->drv);
    tap_ok(!watch.live_streams && !watch.live_events && !watch.live_modules && !watch.live_graphs && !watch.live_execs,
           "nothing is left at the driver: %d streams, %d events, %d modules, %d graphs, %d execs", watch.live_streams,
           watch.live_events, watch.live_modules, watch.live_graphs, watch.live_execs);
    tap_ok(!watch.pinned && !watch.allocated, "no memory either: %d pinned blocks, %d of the device", watch.pinned,
           watch.allocated);
}

cj_kernel *watch_kernel(cj_device *dev)
{
    static const char text[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 .ptr p, .param .u64 .ptr q, .param .f32 a, .param .u32 n)\n{\n ret;\n}\n";
    cj_module *mod = cj_module_load_text(dev, text, NULL);
    cj_kernel *k = cj_module_kernel(mod, "k");
    cj_module_free(mod);
    return k;
}
