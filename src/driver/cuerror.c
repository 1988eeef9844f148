/* A CUresult becomes a record: status, the driver's code and name for it, a sentence. */
#include <stdio.h>
#include <string.h>

#include "driver/driver.h"

const char *cji_cu_name(const cj_driver *drv, CUresult r)
{
    const char *name = NULL;
    if (drv && drv->cu.cuGetErrorName && drv->cu.cuGetErrorName(r, &name) == CUDA_SUCCESS && name) return name;
    name = cji_cu_error_name(r);
    return name ? name : "CUDA_ERROR_?";
}

const char *cji_cu_text(const cj_driver *drv, CUresult r)
{
    const char *text = NULL;
    if (drv && drv->cu.cuGetErrorString && drv->cu.cuGetErrorString(r, &text) == CUDA_SUCCESS && text) return text;
    text = cji_cu_error_text(r);
    return text ? text : "an error that this version of cujit does not know";
}

/* The row of `cu_call` where the driver lacks it, else NULL. */
static const cji_cu_row *missing_row(const cj_driver *drv, const char *cu_call)
{
    for (int i = 0; drv && i < CJI_CU_COUNT; i++)
        if (drv->missing[i] && strcmp(cji_cu_rows[i].name, cu_call) == 0) return &cji_cu_rows[i];
    return NULL;
}

static cj_status status_of_result(CUresult r)
{
    switch ((int)r) {
    case CUDA_ERROR_OUT_OF_MEMORY: return CJ_ENOMEM;
    case CUDA_ERROR_NOT_SUPPORTED: return CJ_ENOTSUP;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE: return CJ_ENODEVICE;
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: return CJ_ENODRIVER;
    default: return CJ_EDRIVER;
    }
}

bool cji_breaks_context(CUresult r)
{
    switch ((int)r) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED: return true;
    default: return false;
    }
}

/* The record of a result; the message is the caller's. */
static void begin_record(cj_error *e, const cj_driver *drv, CUresult r, cj_status status, const char *call)
{
    memset(e, 0, sizeof *e);
    e->status = status != CJ_OK ? status : status_of_result(r);
    e->driver_code = r;
    snprintf(e->driver_name, sizeof e->driver_name, "%s", cji_cu_name(drv, r));
    snprintf(e->call, sizeof e->call, "%s", call);
}

/* What is known of a failure: who fails, at which driver call, for what reason. */
typedef struct failure {
    void *obj;
    const cj_driver *drv;
    CUresult r;
    cj_status status;
    const char *cu_call, *call, *file;
    int32_t line;
} failure;

static void put_source(cj_error *e, const char *file, int32_t line)
{
    size_t n = strlen(file), cut = n >= sizeof e->file ? n - sizeof e->file + 1 : 0;
    memcpy(e->file, file + cut, n - cut + 1);
    e->line = line;
}

static cj_status record_result(const failure *f, const char *sentence, const char *tail)
{
    cj_error e;
    const cji_cu_row *lacks = f->r == CUDA_ERROR_NOT_SUPPORTED ? missing_row(f->drv, f->cu_call) : NULL;
    begin_record(&e, f->drv, f->r, f->status, f->call);
    put_source(&e, f->file, f->line);
    if (!*sentence) sentence = f->call;
    if (lacks)
        snprintf(e.message, sizeof e.message, "%s: %s has no %s (needs driver %d or newer)", sentence,
                 f->drv->path[0] ? f->drv->path : "the driver", lacks->name, cji_cu_driver_branch(lacks->version));
    else
        snprintf(e.message, sizeof e.message, "%s: %s: %s (%s)%s", sentence, f->cu_call, e.driver_name,
                 cji_cu_text(f->drv, f->r), tail);
    return cji_fail_with(f->obj, &e);
}

/* -- A lost context ------------------------------------------------------------------------------------------------ */

/* What a program can do about it. */
static const char *remedy(const cj_driver *drv)
{
    return drv->reset ? "nothing more runs on the device until cj_device_reset()"
                      : "nothing more runs on the device in this process";
}

/* The first report of a lost context says since when; every later one repeats it. */
static void say_since(cj_device *dev, const char *names, const char *call, cji_line *l)
{
    if (atomic_load(&dev->lost)) {
        cji_say(l, "; the context is lost since %s", dev->lost_since);
        return;
    }
    pthread_mutex_lock(&dev->queue.lock);
    if (!atomic_load(&dev->lost)) {
        if (*names) snprintf(dev->lost_since, sizeof dev->lost_since, "one of the launches %s", names);
        else snprintf(dev->lost_since, sizeof dev->lost_since, "a failure that %s reported", call);
        atomic_store(&dev->lost, true);
    }
    pthread_mutex_unlock(&dev->queue.lock);
}

/* The kernels enqueued lately, where to learn more, and since when nothing runs.  A call that is of no stream, or of
 * one without launches, has the launches of all streams for suspects. */
static void name_suspects(cj_device *dev, const cji_slot *slot, const char *call, char *out, size_t size)
{
    cji_line l = { out, size, 0 };
    char names[200] = "";
    *out = 0;
    cji_say(&l, "; a kernel that was enqueued before failed, and %s", remedy(dev->drv));
    const char *where = "the stream since its";
    unsigned before = slot ? cji_recent_names(&dev->queue, slot, names, sizeof names) : 0;
    if (!*names && !atomic_load(&dev->lost)) {
        before = cji_recent_names_all(&dev->queue, names, sizeof names);
        where = "all streams since their";
    }
    if (*names) cji_say(&l, "; enqueued on %s last synchronization: %s", where, names);
    if (*names && before) cji_say(&l, ", and %u launches before them", before);
    if (dev->drv->kind != CJI_DRIVER_SIM) cji_say(&l, "; the CPU device (CUJIT_DRIVER=sim) names the instruction");
    say_since(dev, names, call, &l);
}

/* What the CPU device tells of the fault. */
static cj_status record_fault(const failure *f, const cj_fault *fault, const char *sentence)
{
    cj_error e;
    begin_record(&e, f->drv, f->r, CJ_OK, f->call);
    put_source(&e, fault->file, fault->line);
    snprintf(e.message, sizeof e.message, "%s: %.360s: %s", f->call, sentence, e.driver_name);
    cji_line l = { e.message, sizeof e.message, strlen(e.message) };
    cji_say(&l, "; %s", remedy(f->drv));
    return cji_fail_with(f->obj, &e);
}

/* The device was reset: whatever the driver, or what stands in its place, has answered. */
static cj_status record_reset(failure *f)
{
    f->r = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    f->status = CJ_ESTATE;
    return record_result(f, f->call, "; the device was reset: make it again on the cj_device that cj_device_reset() "
                                     "returned");
}

static cj_status fail_on_device(failure *f, const cj_device *dev, const cji_slot *slot, const char *fmt, va_list args)
{
    char sentence[1200], suspects[900] = "";
    cj_fault fault;
    f->drv = dev->drv;
    if (cji_device_was_reset(dev)) return record_reset(f);
    if (cji_breaks_context(f->r)) {
        f->status = CJ_OK;
        if (cji_fault_read(dev, &fault, sentence, sizeof sentence)) return record_fault(f, &fault, sentence);
        name_suspects((cj_device *)(uintptr_t)dev, slot, f->call, suspects, sizeof suspects);
    }
    vsnprintf(sentence, 400, fmt, args);
    return record_result(f, sentence, suspects);
}

/* -- The forms ----------------------------------------------------------------------------------------------------- */

cj_status cji_cu_fail(void *obj, const cj_device *dev, CUresult r, const char *cu_call, const char *call)
{
    return cji_cu_fail_on(obj, dev, NULL, r, cu_call, call, "%s", call);
}

cj_status cji_cu_fail_as(void *obj, const cj_device *dev, CUresult r, cj_status status, const char *cu_call,
                         const char *call, const char *fmt, ...)
{
    failure f = { obj, NULL, r, status, cu_call, call, "", 0 };
    va_list args;
    va_start(args, fmt);
    status = fail_on_device(&f, dev, NULL, fmt, args);
    va_end(args);
    return status;
}

cj_status cji_cu_fail_at(void *obj, const cj_device *dev, CUresult r, cj_status status, const char *cu_call,
                         const char *call, const char *file, int32_t line, const char *fmt, ...)
{
    failure f = { obj, NULL, r, status, cu_call, call, file, line };
    va_list args;
    va_start(args, fmt);
    status = fail_on_device(&f, dev, NULL, fmt, args);
    va_end(args);
    return status;
}

cj_status cji_cu_fail_on(void *obj, const cj_device *dev, const cji_slot *slot, CUresult r, const char *cu_call,
                         const char *call, const char *fmt, ...)
{
    failure f = { obj, NULL, r, CJ_OK, cu_call, call, "", 0 };
    va_list args;
    va_start(args, fmt);
    cj_status status = fail_on_device(&f, dev, slot, fmt, args);
    va_end(args);
    return status;
}

cj_status cji_cu_fail_apart(void *obj, const cj_device *a, const cj_device *b, const char *call, const char *fmt, ...)
{
    failure f = { obj, a->drv, CUDA_SUCCESS, CJ_OK, "cuCtxPushCurrent", call, "", 0 };
    char why[400];
    va_list args;
    if (cji_device_was_reset(a) || cji_device_was_reset(b)) return record_reset(&f);
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    return cji_fail(obj, CJ_EINVAL, call, "%s", why);
}

cj_status cji_cu_fail_open(void *obj, const cj_driver *drv, CUresult r, cj_status status, const char *cu_call,
                           const char *call, const char *fmt, ...)
{
    static const char gone[] = "; a kernel failed before, and the driver keeps this result until the process ends";
    const failure f = { obj, drv, r, status, cu_call, call, "", 0 };
    char sentence[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    return record_result(&f, sentence, cji_breaks_context(r) ? gone : "");
}
