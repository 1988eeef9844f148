/* Captures of all three modes run in a loop beside threads that do everything else that the library offers, and have it
 * done by the capturing threads themselves too: no capture is broken, no call fails, and each result is right.
 *
 * Luck is no proof of that, so a layer under the library looks at each call to the driver: one that could harm a
 * capture is made in relaxed capture mode, and one that harms it all the same is not made.  What may be made in strict
 * mode stands in a list; the device is asked whether it really harms nothing. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/interpose.h>

#include "driver/driver.h"
#include "tests/stream/activities.h"
#include "tests/device_parts.h"
#include "tests/tap.h"

enum { CAPTURERS = 3, OTHERS = 4, TURNS_AHEAD = 2 * OTHERS, WORDS = 100 };

static activity_bench b;
static const cji_cu *cu;       /* the driver below the layer */

/* -- The layer ----------------------------------------------------------------------------------------------------- */

/* What may be called in strict mode: what asks neither for memory nor for what is done.  The rest is called in relaxed
 * mode only. */
static const char *const strict[] = {
    /* of the driver, of devices and threads */
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem",
    "cuDeviceGetUuid",
    "cuDeviceCanAccessPeer",
    "cuCtxGetCurrent",
    "cuCtxPushCurrent",
    "cuCtxPopCurrent",
    "cuThreadExchangeStreamCaptureMode",
    /* of captures */
    "cuStreamIsCapturing",
    "cuStreamGetCaptureInfo",
    "cuStreamBeginCapture",
    "cuStreamBeginCaptureToGraph",
    "cuStreamEndCapture",
    /* work given to a stream, and what must be known for it */
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuLaunchHostFunc",
    "cuStreamAddCallback",
    "cuGraphLaunch",
    "cuGraphUpload",
    "cuEventCreate",
    "cuEventRecord",
    "cuStreamWaitEvent",
    "cuStreamWaitValue32",
    "cuStreamWriteValue32",
    "cuStreamBatchMemOp",
    "cuMemsetD8Async",
    "cuMemsetD32Async",
    "cuMemcpyHtoDAsync",
    "cuMemcpyDtoHAsync",
    "cuMemcpyDtoDAsync",
    "cuMemcpyAsync",
    "cuMemcpy2DAsync",
    "cuMemcpy3DAsync",
    "cuMemcpyPeerAsync",
    "cuMemPrefetchAsync",
    "cuFuncSetAttribute",
    "cuPointerGetAttributes",
};
/* What harms captures in any mode. */
static const char *const never[] = { "cuCtxSynchronize", "cuCtxSynchronize_v2", "cuCtxDestroy",
                                     "cuDevicePrimaryCtxReset" };

static bool in_list(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], name)) return true;
    return false;
}

static bool is_strict(const char *name) { return in_list(name, strict, sizeof strict / sizeof *strict); }

static CUstreamCaptureMode mode_now(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED, relaxed;
    cu->cuThreadExchangeStreamCaptureMode(&mode);
    relaxed = mode;
    cu->cuThreadExchangeStreamCaptureMode(&relaxed);
    return mode;
}

static pthread_mutex_t note_lock = PTHREAD_MUTEX_INITIALIZER;
static char offenders[400];
static unsigned looked_at;
static bool captures_over; /* all threads have ended: the device may be synchronised */

static void note_offender(const char *name)
{
    size_t n = strlen(offenders);
    if (!strstr(offenders, name)) snprintf(offenders + n, sizeof offenders - n, "%s ", name);
}

static int look_at(void *user, uint64_t number, const char *name)
{
    (void)user, (void)number;
    bool harms = in_list(name, never, sizeof never / sizeof *never) ||
                 (!is_strict(name) && mode_now() != CU_STREAM_CAPTURE_MODE_RELAXED);
    if (captures_over) harms = false;
    pthread_mutex_lock(&note_lock);
    looked_at++;
    if (harms) note_offender(name);
    pthread_mutex_unlock(&note_lock);
    return 0;
}

/* -- Turns --------------------------------------------------------------------------------------------------------- */

static pthread_mutex_t turns_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
/* the others rest when they are TURNS_AHEAD beyond what is wanted: a slow machine makes no more work */
static unsigned turns, wanted, next_activity;
static bool over;
static char why[CAPTURERS + OTHERS][ACTIVITY_WHY + 80];

/* One activity, by the thread `me`; false: it went wrong. */
static bool take_turn(unsigned me)
{
    char reason[ACTIVITY_WHY] = "";
    pthread_mutex_lock(&turns_lock);
    unsigned n = next_activity++;
    pthread_mutex_unlock(&turns_lock);
    const activity *a = &activities[n % activity_count];
    bool right = a->run(&b, 10 + n, reason);
    if (!right) snprintf(why[me], sizeof why[me], "%s: %s", a->name, reason);
    return right;
}

static void *do_others(void *user)
{
    unsigned me = (unsigned)(uintptr_t)user;
    bool right = true, on = true;
    while (on) {
        right = right && take_turn(me);
        pthread_mutex_lock(&turns_lock);
        turns++;
        pthread_cond_broadcast(&turned);
        while (!over && turns >= wanted + TURNS_AHEAD) pthread_cond_wait(&turned, &turns_lock);
        on = !over;
        pthread_mutex_unlock(&turns_lock);
    }
    return NULL;
}

/* Until the others have ended `count` more activities, one of which at least began after this call. */
static void let_others(unsigned count)
{
    pthread_mutex_lock(&turns_lock);
    unsigned until = turns + OTHERS + count;
    if (wanted < until) wanted = until;
    pthread_cond_broadcast(&turned);
    while (turns < until) pthread_cond_wait(&turned, &turns_lock);
    pthread_mutex_unlock(&turns_lock);
}

/* -- Captures ------------------------------------------------------------------------------------------------------ */

static unsigned rounds = 3;
static unsigned whole[CAPTURERS];

static bool capture_once(unsigned me, uint32_t round)
{
    uint32_t pageable[WORDS] = { 0 };
    cj_stream *s = cj_stream_create(b.dev, NULL), *t = cj_stream_create(b.dev, NULL);
    cj_dptr d = cj_alloc(s, 4 * WORDS), e = cj_alloc(t, 4 * WORDS);
    cj_capture_begin(s, (cj_capture_mode)(me % 3));
    cj_fill32(s, d, me, WORDS);
    cj_stream_fork(s, t);
    cj_fill32(t, e, round, WORDS);
    let_others(1);
    cj_launch(t, b.add, cj_threads(WORDS, 64), e, WORDS, 1);
    bool right = take_turn(me); /* by this thread */
    cj_stream_join(s, t);
    cj_copy(s, d, e, 4 * WORDS / 2);
    cj_status refused = cj_device_sync(b.dev);
    cj_free(b.dev, e);
    let_others(1);
    cj_copy_to_host(s, pageable, d, sizeof pageable);
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    cj_graph_launch(s, x);
    cj_graph_exec_free(x);
    if (cj_stream_sync(s) != CJ_OK && right)
        right = false, snprintf(why[me], sizeof why[me], "the capture: %.500s", cj_error_of(s)->message);
    if (right && (pageable[0] != round + 1 || pageable[WORDS - 1] != me || refused != CJ_ESTATE))
        right = false,
        snprintf(why[me], sizeof why[me], "round %u: %u and %u, a synchronisation of the device answers %d", round,
                 pageable[0], pageable[WORDS - 1], refused);
    cj_free(b.dev, d);
    cj_stream_free(t);
    cj_stream_free(s);
    return right;
}

static void *do_captures(void *user)
{
    unsigned me = (unsigned)(uintptr_t)user;
    for (uint32_t i = 0; i < rounds; i++) {
        if (!capture_once(me, 100 * i)) break;
        whole[me]++;
    }
    return NULL;
}

static void captures_beside_others(void)
{
    static const char *const modes[] = { "global", "thread", "relaxed" };
    pthread_t thread[CAPTURERS + OTHERS];
    for (uintptr_t i = 0; i < OTHERS; i++)
        pthread_create(&thread[CAPTURERS + i], NULL, do_others, (void *)(CAPTURERS + i));
    for (uintptr_t i = 0; i < CAPTURERS; i++) pthread_create(&thread[i], NULL, do_captures, (void *)i);
    for (size_t i = 0; i < CAPTURERS; i++) pthread_join(thread[i], NULL);
    pthread_mutex_lock(&turns_lock);
    over = true;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&turns_lock);
    for (size_t i = 0; i < OTHERS; i++) pthread_join(thread[CAPTURERS + i], NULL);
    for (size_t i = 0; i < CAPTURERS; i++)
        tap_is_str(why[i], "", "%u captures in %s mode came out whole, and what their thread did meanwhile", whole[i],
                   modes[i]);
    for (size_t i = 0; i < OTHERS; i++) tap_is_str(why[CAPTURERS + i], "", "thread %zu beside them did everything", i);
    tap_ok(next_activity >= activity_count, "%u activities of %zu kinds beside captures", next_activity,
           activity_count);
}

/* -- What the device itself says ----------------------------------------------------------------------------------- */

/* of the driver below the layer */
static struct { cj_stream *s; cj_event *e; cj_graph_exec *x; cj_dptr d; uint32_t *h; } raw;

static void raw_nothing(void *user) { (void)user; }
static void raw_callback(CUstream s, CUresult r, void *user) { (void)s, (void)r, (void)user; }

static CUresult raw_query(CUstream s) { return cu->cuStreamQuery(s); }
static CUresult raw_event_query(CUstream s) { (void)s; return cu->cuEventQuery((CUevent)cj_event_raw(raw.e)); }
static CUresult raw_host_alloc(CUstream s)
{
    void *h;
    (void)s;
    return cu->cuMemHostAlloc(&h, 4, 0);
}
static CUresult raw_launch(CUstream s)
{
    uint32_t n = WORDS, v = 1;
    void *args[] = { &raw.d.addr, &n, &v };
    return cu->cuLaunchKernel(((const cj_kernel *)b.add)->fn, 2, 1, 1, 64, 1, 1, 0, s, args, NULL);
}
static CUresult raw_attribute(CUstream s)
{
    (void)s;
    return cu->cuFuncSetAttribute(((const cj_kernel *)b.add)->fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  4096);
}
static CUresult raw_pointer(CUstream s)
{
    unsigned type = 0;
    CUpointer_attribute what = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *value = &type;
    (void)s;
    return cu->cuPointerGetAttributes(1, &what, &value, (CUdeviceptr)(uintptr_t)raw.h);
}
static CUresult raw_host(CUstream s) { return cu->cuLaunchHostFunc(s, raw_nothing, NULL); }
static CUresult raw_add_callback(CUstream s) { return cu->cuStreamAddCallback(s, raw_callback, NULL, 0); }
static CUresult raw_graph(CUstream s) { return cu->cuGraphLaunch((CUgraphExec)cj_graph_exec_raw(raw.x), s); }
static CUresult raw_upload(CUstream s) { return cu->cuGraphUpload((CUgraphExec)cj_graph_exec_raw(raw.x), s); }
static CUresult raw_event(CUstream s)
{
    CUevent e = NULL;
    (void)s;
    return cu->cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
}
static CUresult raw_record(CUstream s) { return cu->cuEventRecord((CUevent)cj_event_raw(raw.e), s); }
static CUresult raw_wait(CUstream s) { return cu->cuStreamWaitEvent(s, (CUevent)cj_event_raw(raw.e), 0); }
static CUresult raw_write_value(CUstream s) { return cu->cuStreamWriteValue32(s, (CUdeviceptr)(uintptr_t)raw.h, 1, 0); }
static CUresult raw_wait_value(CUstream s)
{
    return cu->cuStreamWaitValue32(s, (CUdeviceptr)(uintptr_t)raw.h, 0, CU_STREAM_WAIT_VALUE_GEQ);
}
static CUresult raw_batch(CUstream s)
{
    CUstreamBatchMemOpParams op;
    memset(&op, 0, sizeof op);
    op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op.writeValue.address = (CUdeviceptr)(uintptr_t)raw.h;
    op.writeValue.value = 1;
    return cu->cuStreamBatchMemOp(s, 1, &op, 0);
}
static CUresult raw_fill8(CUstream s) { return cu->cuMemsetD8Async(raw.d.addr, 1, 16, s); }
static CUresult raw_fill32(CUstream s) { return cu->cuMemsetD32Async(raw.d.addr, 1, 16, s); }
static CUresult raw_to_device(CUstream s) { return cu->cuMemcpyHtoDAsync(raw.d.addr, raw.h, 64, s); }
static CUresult raw_to_host(CUstream s) { return cu->cuMemcpyDtoHAsync(raw.h, raw.d.addr, 64, s); }
static CUresult raw_on_device(CUstream s) { return cu->cuMemcpyDtoDAsync(raw.d.addr, raw.d.addr + 64, 64, s); }
static CUresult raw_any(CUstream s) { return cu->cuMemcpyAsync(raw.d.addr, raw.d.addr + 64, 64, s); }
static CUresult raw_peer(CUstream s)
{
    return cu->cuMemcpyPeerAsync(raw.d.addr, b.dev->ctx, raw.d.addr + 64, b.dev->ctx, 64, s);
}
static CUresult raw_2d(CUstream s)
{
    const CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .srcDevice = raw.d.addr,
                              .srcPitch = 16,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = raw.d.addr + 128,
                              .dstPitch = 16,
                              .WidthInBytes = 8,
                              .Height = 4 };
    return cu->cuMemcpy2DAsync(&c, s);
}
static CUresult raw_3d(CUstream s)
{
    const CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .srcDevice = raw.d.addr,
                              .srcPitch = 16,
                              .srcHeight = 2,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = raw.d.addr + 128,
                              .dstPitch = 16,
                              .dstHeight = 2,
                              .WidthInBytes = 8,
                              .Height = 2,
                              .Depth = 2 };
    return cu->cuMemcpy3DAsync(&c, s);
}
static CUresult raw_error(CUstream s)
{
    const char *text;
    (void)s;
    return cu->cuGetErrorName(CUDA_ERROR_NOT_READY, &text);
}
static CUresult raw_can(CUstream s)
{
    int can;
    (void)s;
    /* a device and itself: some refuse the question */
    return cu->cuDeviceCanAccessPeer(&can, 0, 0) == CUDA_ERROR_NOT_SUPPORTED ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

/* Rows of `strict` whose effect on another thread's capture is not told by the rules (tests/conformance, rule 54); and
 * first what must harm. */
static const struct raw_row { const char *name; CUresult (*call)(CUstream s); bool harms; } raw_rows[] = {
    { "cuStreamQuery", raw_query, true },
    { "cuEventQuery", raw_event_query, true },
    { "cuMemHostAlloc", raw_host_alloc, true },
    { "cuGetErrorName", raw_error, false },
    { "cuDeviceCanAccessPeer", raw_can, false },
    { "cuLaunchKernel", raw_launch, false },
    { "cuLaunchHostFunc", raw_host, false },
    { "cuStreamAddCallback", raw_add_callback, false },
    { "cuGraphLaunch", raw_graph, false },
    { "cuGraphUpload", raw_upload, false },
    { "cuEventCreate", raw_event, false },
    { "cuEventRecord", raw_record, false },
    { "cuStreamWaitEvent", raw_wait, false },
    { "cuStreamWaitValue32", raw_wait_value, false },
    { "cuStreamWriteValue32", raw_write_value, false },
    { "cuStreamBatchMemOp", raw_batch, false },
    { "cuMemsetD8Async", raw_fill8, false },
    { "cuMemsetD32Async", raw_fill32, false },
    { "cuMemcpyHtoDAsync", raw_to_device, false },
    { "cuMemcpyDtoHAsync", raw_to_host, false },
    { "cuMemcpyDtoDAsync", raw_on_device, false },
    { "cuMemcpyAsync", raw_any, false },
    { "cuMemcpy2DAsync", raw_2d, false },
    { "cuMemcpy3DAsync", raw_3d, false },
    { "cuMemcpyPeerAsync", raw_peer, false },
    { "cuFuncSetAttribute", raw_attribute, false },
    { "cuPointerGetAttributes", raw_pointer, false },
};

typedef struct raw_call { const struct raw_row *row; CUresult answer; } raw_call;

static void *raw_thread(void *user)
{
    raw_call *c = user;
    CUcontext gone;
    cu->cuCtxPushCurrent(b.dev->ctx);
    c->answer = c->row->call((CUstream)cj_stream_raw(raw.s));
    cu->cuCtxPopCurrent(&gone);
    return NULL;
}

/* A thread in strict mode makes one call of the driver beside a capture in global mode of this one. */
static void check_raw(const struct raw_row *row)
{
    cj_stream *s = cj_stream_create(b.dev, NULL);
    raw_call c = { row, CUDA_ERROR_UNKNOWN };
    pthread_t thread;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cj_capture_begin(s, CJ_CAPTURE_GLOBAL);
    pthread_create(&thread, NULL, raw_thread, &c);
    pthread_join(thread, NULL);
    cu->cuStreamIsCapturing((CUstream)cj_stream_raw(s), &status);
    cj_graph *g = cj_capture_end(s);
    bool broken = status == CU_STREAM_CAPTURE_STATUS_INVALIDATED && cj_error_of(g)->status == CJ_ESTATE;
    bool sound = status == CU_STREAM_CAPTURE_STATUS_ACTIVE && cj_error_of(g)->status == CJ_OK &&
                 c.answer != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    tap_ok(row->harms ? broken : sound && is_strict(row->name),
           "%s in strict mode %s (it answers %d, the capture is %d)", row->name,
           row->harms ? "breaks a capture of another thread" : "harms none", (int)c.answer, (int)status);
    cj_graph_free(g);
    cj_stream_free(s);
    cj_stream_sync(raw.s);
}

static void check_device(cj_driver *under)
{
    cj_device *dev = cj_device_open(under, 0, NULL);
    raw.s = cj_stream_create(dev, NULL);
    raw.e = cj_event_create(dev, NULL);
    raw.d = cj_alloc(raw.s, 1024);
    raw.h = cj_host_alloc(dev, 1024, NULL);
    if (raw.h) memset(raw.h, 0, 1024);
    cj_graph *g = cj_graph_create(dev);
    cj_graph_fill32(g, NULL, raw.d, 1, 4);
    raw.x = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    cj_event_record(raw.e, raw.s);
    if (!raw.h || cj_error_of(raw.x)->status || cj_stream_sync(raw.s)) tap_bail("%s", cj_error_of(raw.s)->message);
    memset(raw.h, 0, 1024);
    for (size_t i = 0; i < sizeof raw_rows / sizeof *raw_rows; i++) check_raw(&raw_rows[i]);
    cj_graph_exec_free(raw.x);
    cj_host_free(dev, raw.h);
    cj_free(dev, raw.d);
    cj_event_free(raw.e);
    cj_stream_free(raw.s);
    cj_device_close(dev);
}

int main(void)
{
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    tap_need_device(1);
    tap_plan(0);
    const char *all = getenv("CUJIT_TEST_ALL");
    if (all && *all == '1') rounds = 60;
    else if (tap_is_slow()) rounds = 2;
    cj_driver *under = cj_driver_open(NULL), *drv = cj_driver_open_interposed(under, CJ_INTERPOSER(.before = look_at));
    cj_ptx *m = bench_add_module();
    if (cj_error_of(drv)->status) tap_bail("%s", cj_error_of(drv)->message);
    cu = &under->cu;
    b.drv = drv;
    b.dev = cj_device_open(drv, 0, NULL);
    if (cj_device_count(drv) > 1) b.other = cj_device_open(drv, 1, NULL);
    b.image = cj_image_create(b.dev, m, NULL);
    b.add = cj_kernel_load(b.dev, m, "add", NULL);
    b.s = cj_stream_create(b.dev, NULL);
    captures_beside_others();
    captures_over = true;
    tap_is_int(cj_stream_sync(b.s), CJ_OK, "the stream of all threads saw no failure");
    tap_is_int(cj_device_sync(b.dev), CJ_OK, "the device can be synchronised again");
    /* What collecting does is work: a stream that gives memory back and is then closed is not idle at once, and other
     * memory waits for it. */
    for (int turn = 0; turn < 3 && cj_device_collect(b.dev); turn++) cj_device_sync(b.dev);
    tap_is_uint(cj_device_collect(b.dev), 0, "what was deferred is done when no capture is open any more");
    check_device(under);
    cj_stream_free(b.s);
    cj_kernel_free(b.add);
    cj_image_free(b.image);
    cj_device_close(b.other);
    cj_device_close(b.dev);
    cj_driver_close(drv);
    cj_driver_close(under);
    cj_ptx_free(m);
    tap_is_str(
        offenders, "",
        "of %u calls to the driver each that could harm a capture is made in relaxed mode, and none that harms it "
        "anyhow",
        looked_at);
    return tap_done();
}
