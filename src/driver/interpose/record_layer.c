/* A layer that writes each call, with the data that it reads and writes, to a file which can be repeated. */
#include <errno.h>
#include <stdio.h>

#include "base/lock.h"
#include "driver/interpose/record_file.h"

/* -- What the recording is of -------------------------------------------------------------------------------------- */

static void start_line(cji_recorder *rec, const cj_driver *under)
{
    const cji_cu *cu = &under->cu;
    const char *kind = under->kind == CJI_DRIVER_SIM ? "sim" : under->kind == CJI_DRIVER_CUDA ? "cuda" : "custom";
    cji_text t = { 0 };
    cji_text_printf(&t, "cujit=%s\ndriver=%s\npath=%s\ncuda=%d\ndevices=%d\n", cj_version(), kind, under->path,
                    under->version, under->device_count);
    for (int i = 0; i < under->device_count; i++) {
        char name[128] = "";
        CUdevice dev = 0;
        int major = 0, minor = 0;
        if (cu->cuDeviceGet(&dev, i) != CUDA_SUCCESS) continue;
        cu->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev);
        cu->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev);
        cu->cuDeviceGetName(name, sizeof name - 1, dev);
        cji_text_printf(&t, "device=%d sm_%d%d %s\n", i, major, minor, name);
    }
    if (t.failed) cji_rec_file_fail(rec->file, "no memory");
    else cji_rec_file_add(rec->file, CJI_REC_START, NULL, 0, t.p, t.n);
    cji_text_free(&t);
}

void cji_rec_signature(const cji_cu_row *row, char *out, size_t size)
{
    cji_line l = { out, size, 0 };
    cji_say(&l, "%s(", row->name);
    for (int i = 0; i < row->count; i++) cji_say(&l, "%s%s", i ? ", " : "", row->param[i].type);
    cji_say(&l, ")");
}

/* The name is in the file before the first call of it. */
static void name_row(cji_recorder *rec, int id)
{
    char signature[CJI_REC_SIGNATURE];
    const uint32_t number = (uint32_t)id;
    cji_lock(&rec->lock, CJI_LOCK_RECORD);
    if (!rec->named[id]) {
        cji_rec_signature(&cji_cu_rows[id], signature, sizeof signature);
        cji_rec_file_add(rec->file, CJI_REC_NAME, &number, sizeof number, signature, strlen(signature));
        rec->named[id] = true;
    }
    cji_unlock(&rec->lock, CJI_LOCK_RECORD);
}

/* -- A call -------------------------------------------------------------------------------------------------------- */

/* Whether a call that has failed is repeated: one that reports the failure of earlier work, or that ends a capture. */
static bool failure_matters(int id, CUresult r)
{
    return cji_rec_is_wait(id) ||
           (r >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && r <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}

static void plain_arguments(cji_rec_build *b)
{
    for (int i = 0; i < cji_cu_rows[b->id].count; i++) cji_rec_put(b, CJI_REC_VALUE, 0, b->value[i], 0, 0, NULL, 0);
}

/* Memory of rows is written as plain memory: kernels have its pitch among their arguments, and another device might
 * choose another one. */
static void take_pitch(cji_rec_build *b)
{
    size_t pitch;
    memcpy(&pitch, (const void *)(uintptr_t)b->value[1], sizeof pitch);
    b->value[1] = pitch * b->value[3];
    b->id = CJI_CU_ID_cuMemAlloc;
}

/* A kernel may run, and break the context, before its launch returns: then the driver does not tell its parameters any
 * more.  So the arguments of launches are taken before the call. */
static bool launches(int id)
{
    return id == CJI_CU_ID_cuLaunchKernel || id == CJI_CU_ID_cuLaunchKernelEx ||
           id == CJI_CU_ID_cuLaunchCooperativeKernel;
}

static void write_call(cji_rec_build *b, uint64_t order, const cji_rec_copy *copy)
{
    cji_rec_call call = { .order = order, .number = b->c->number, .result = (int32_t)b->result,
                          .thread = (uint32_t)cji_thread_id() };
    if (cji_rec_is_query(b->id)) call.what = CJI_REC_QUERY;
    else if (b->result != CUDA_SUCCESS && !failure_matters(b->id, b->result)) call.what = CJI_REC_FAILED;
    if (call.what == CJI_REC_REPEAT && b->id == CJI_CU_ID_cuLinkAddFile) cji_rec_input_file(b);
    if (call.what == CJI_REC_REPEAT && b->id == CJI_CU_ID_cuMemAllocPitch) take_pitch(b);
    call.name = (uint32_t)b->id;
    call.args = cji_cu_rows[b->id].count;
    if (call.what != CJI_REC_REPEAT) {
        b->unknown = NULL;
        b->out.n = 0;
        plain_arguments(b);
    } else if (!launches(b->id)) { /* those of a launch are there */
        cji_rec_arguments(b, copy);
    }
    if (b->unknown) {
        call.what = CJI_REC_UNKNOWN;
        call.args = 1;
        b->out.n = 0;
        cji_rec_put(b, CJI_REC_MEMORY, 0, 0, 0, 0, b->unknown, strlen(b->unknown) + 1);
    }
    name_row(b->rec, b->id);
    if (b->out.failed) cji_rec_file_fail(b->rec->file, "no memory");
    else cji_rec_file_add(b->rec->file, CJI_REC_CALL, &call, sizeof call, b->out.p, b->out.n);
    atomic_fetch_add(&b->rec->calls, 1);
    cji_text_free(&b->out);
    if (b->input) cji_free(b->input, b->input_bytes);
}

static uint64_t next_order(cji_recorder *rec) { return atomic_fetch_add(&rec->order, 1) + 1; }

static void before_call(cji_rec_build *b)
{
    int device = -1;
    if (b->id == CJI_CU_ID_cuThreadExchangeStreamCaptureMode && b->value[0])
        memcpy(&b->mode, (const void *)(uintptr_t)b->value[0], sizeof b->mode);
    if (b->id == CJI_CU_ID_cuDevicePrimaryCtxRelease || b->id == CJI_CU_ID_cuDevicePrimaryCtxReset)
        device = (int)b->value[0];
    if (b->id == CJI_CU_ID_cuCtxDestroy) {
        CUcontext none;
        CUdevice dev;
        if (b->cu->cuCtxPushCurrent((CUcontext)(uintptr_t)b->value[0]) == CUDA_SUCCESS) {
            if (b->cu->cuCtxGetDevice(&dev) == CUDA_SUCCESS) device = dev;
            b->cu->cuCtxPopCurrent(&none);
        }
    }
    if (device >= 0) cji_rec_harvest(b->rec, b->cu, device);
    cji_rec_graph_before(b);
    if (launches(b->id)) cji_rec_arguments(b, NULL);
}

static CUresult record_call(cji_layer *self, const cji_layer_call *c)
{
    cji_recorder *rec = (cji_recorder *)self;
    if (!cji_fork_gen_is(rec->fork_gen) || cji_rec_file_failed(rec->file)) return cji_layer_pass(self, c);
    cji_rec_copy copy;
    cji_rec_build b = { .rec = rec, .c = c, .cu = &c->under->cu, .id = c->id };
    const bool release = cji_rec_is_release(c->id);
    memcpy(b.value, c->value, c->row->count * sizeof *c->value);
    const bool copies = cji_rec_copy_of(&b, &copy);
    before_call(&b);
    if (copies) cji_rec_copy_before(&b, &copy);
    uint64_t order = release ? next_order(rec) : 0;
    b.result = cji_layer_pass(self, c);
    if (copies) cji_rec_copy_after(&b, &copy);
    if (!release) order = next_order(rec);
    write_call(&b, order, copies ? &copy : NULL);
    cji_rec_graph_after(&b);
    if (cji_rec_is_wait(c->id) ? b.result == CUDA_SUCCESS : copies && !copy.async) cji_rec_harvest(rec, b.cu, -1);
    return b.result;
}

/* -- The layer ----------------------------------------------------------------------------------------------------- */

static void record_free(cji_layer *self)
{
    cji_recorder *rec = (cji_recorder *)self;
    const uint64_t calls = atomic_load(&rec->calls);
    if (cji_fork_gen_is(rec->fork_gen)) {
        cji_rec_pending_free(rec, &rec->under->cu);
        cji_rec_file_add(rec->file, CJI_REC_END, &calls, sizeof calls, NULL, 0);
    }
    cji_rec_graphs_free(rec);
    cji_rec_file_close(rec->file);
    pthread_mutex_destroy(&rec->lock);
    cji_free(rec, sizeof *rec);
}

cji_layer *cji_record_layer(void *into, const cj_driver *under, const char *path, unsigned turn, int *held,
                            const char *call)
{
    int error = 0;
    if (!path || !*path) {
        cji_fail(into, CJ_EINVAL, call, "the recording needs the name of a file");
        return NULL;
    }
    cji_recorder *rec = cji_zalloc(sizeof *rec);
    if (rec) rec->file = cji_rec_file_open(path, turn, held, &error);
    if (!rec || !rec->file) {
        if (rec && error && error != ENOMEM)
            cji_fail(into, CJ_EINVAL, call, "the recording %s cannot be written: %s", path, strerror(error));
        else
            cji_fail(into, CJ_ENOMEM, call, "no memory for the recording");
        cji_free(rec, sizeof *rec);
        return NULL;
    }
    rec->layer = (cji_layer){ .call = record_call, .free = record_free, .records = true };
    rec->fork_gen = cji_fork_gen();
    rec->under = under;
    pthread_mutex_init(&rec->lock, NULL);
    start_line(rec, under);
    return &rec->layer;
}
