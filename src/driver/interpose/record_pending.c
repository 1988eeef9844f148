/* Work of the program that a recorder waits for: events behind it, and what is read back behind it. */
#include "base/lock.h"
#include "driver/interpose/record_file.h"

enum { PENDING_ROOM = 4096 }; /* the least pinned memory */

bool cji_rec_relax(const cji_cu *cu, CUstreamCaptureMode *mode)
{
    *mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    return cu->cuThreadExchangeStreamCaptureMode(mode) == CUDA_SUCCESS;
}

void cji_rec_relax_end(const cji_cu *cu, bool relaxed, CUstreamCaptureMode mode)
{
    if (relaxed) cu->cuThreadExchangeStreamCaptureMode(&mode);
}

bool cji_rec_enter(const cji_cu *cu, CUstream stream)
{
    CUcontext context = NULL;
    return cu->cuStreamGetCtx(stream, &context) == CUDA_SUCCESS && context &&
           cu->cuCtxPushCurrent(context) == CUDA_SUCCESS;
}

void cji_rec_leave(const cji_cu *cu, bool entered)
{
    CUcontext none;
    if (entered) cu->cuCtxPopCurrent(&none);
}

/* -- Events and pinned memory -------------------------------------------------------------------------------------- */

static void pending_delete(const cji_cu *cu, cji_rec_pending *p)
{
    CUcontext none;
    const bool entered = p->context && cu->cuCtxPushCurrent(p->context) == CUDA_SUCCESS;
    if (p->event) cu->cuEventDestroy(p->event);
    if (p->room) cu->cuMemFreeHost(p->room);
    if (entered) cu->cuCtxPopCurrent(&none);
    cji_free(p, sizeof *p);
}

static cji_rec_pending *spare_of(cji_recorder *rec, CUcontext context, size_t bytes)
{
    cji_rec_pending *p = NULL;
    cji_lock(&rec->lock, CJI_LOCK_RECORD);
    for (cji_rec_pending **at = &rec->spare; *at && !p; at = *at ? &(*at)->next : at) {
        if ((*at)->context != context || (*at)->cap < bytes) continue;
        p = *at;
        *at = p->next;
        break;
    }
    cji_unlock(&rec->lock, CJI_LOCK_RECORD);
    return p;
}

cji_rec_pending *cji_rec_pending_take(cji_recorder *rec, const cji_cu *cu, size_t bytes)
{
    CUcontext context = NULL;
    CUdevice device = 0;
    if (cu->cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context || cu->cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return NULL;
    cji_rec_pending *p = spare_of(rec, context, bytes);
    if (p) return p;
    p = cji_zalloc(sizeof *p);
    if (!p) return NULL;
    *p = (cji_rec_pending){ .context = context, .device = device };
    size_t cap = bytes ? PENDING_ROOM : 0;
    while (cap < bytes) cap *= 2;
    void *room = NULL;
    if (cap && cu->cuMemHostAlloc(&room, cap, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS) p->room = room, p->cap = cap;
    if (p->cap >= bytes && cu->cuEventCreate(&p->event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) return p;
    p->event = NULL;
    pending_delete(cu, p);
    return NULL;
}

void cji_rec_pending_enqueue(cji_recorder *rec, const cji_cu *cu, cji_rec_pending *p, CUstream stream)
{
    const bool known = cu->cuEventRecord(p->event, stream) == CUDA_SUCCESS;
    cji_lock(&rec->lock, CJI_LOCK_RECORD);
    cji_rec_pending **at = known ? &rec->pending : &rec->spare;
    while (*at && known) at = &(*at)->next;
    p->next = *at;
    *at = p;
    cji_unlock(&rec->lock, CJI_LOCK_RECORD);
}

void cji_rec_pending_spare(cji_recorder *rec, cji_rec_pending *p)
{
    cji_lock(&rec->lock, CJI_LOCK_RECORD);
    p->next = rec->spare;
    rec->spare = p;
    cji_unlock(&rec->lock, CJI_LOCK_RECORD);
}

/* -- Harvesting ---------------------------------------------------------------------------------------------------- */

/* Whether later work, which may be done too, writes to the same host memory. */
static bool written_again(const cji_rec_pending *p)
{
    for (const cji_rec_pending *q = p->next; q; q = q->next)
        if (q->address && q->address < p->address + p->bytes && p->address < q->address + q->bytes) return true;
    return false;
}

static void pending_write(cji_recorder *rec, const cji_rec_pending *p)
{
    if (p->data) {
        cji_rec_file_add(rec->file, CJI_REC_DATA, &p->data, sizeof p->data, p->room, p->bytes);
    } else if (!written_again(p)) {
        const cji_rec_host host = { .order = atomic_fetch_add(&rec->order, 1) + 1, .number = p->number,
                                    .address = p->address, .bytes = p->bytes };
        cji_rec_file_add_host(rec->file, CJI_REC_READ, &host, sizeof host, (const void *)(uintptr_t)p->address,
                              p->bytes);
    }
}

static void harvest_complete(cji_recorder *rec, const cji_cu *cu)
{
    cji_lock(&rec->lock, CJI_LOCK_RECORD);
    for (cji_rec_pending **at = &rec->pending; *at;) {
        cji_rec_pending *p = *at;
        const CUresult r = cu->cuEventQuery(p->event);
        if (r == CUDA_ERROR_NOT_READY) {
            at = &p->next;
            continue;
        }
        if (r == CUDA_SUCCESS) pending_write(rec, p);
        *at = p->next;
        p->next = rec->spare;
        rec->spare = p;
    }
    cji_unlock(&rec->lock, CJI_LOCK_RECORD);
}

/* Waits for the device's work, without the lock. */
static void await_device(cji_recorder *rec, const cji_cu *cu, int device)
{
    for (;;) {
        CUevent event = NULL;
        cji_lock(&rec->lock, CJI_LOCK_RECORD);
        for (const cji_rec_pending *p = rec->pending; p && !event; p = p->next)
            if (p->device == device) event = p->event;
        cji_unlock(&rec->lock, CJI_LOCK_RECORD);
        if (!event || cu->cuEventSynchronize(event) != CUDA_SUCCESS) return;
        harvest_complete(rec, cu);
    }
}

/* Takes those of the device, -1: of all, out of a list. */
static cji_rec_pending *take_of_device(cji_recorder *rec, cji_rec_pending **list, int device)
{
    cji_rec_pending *taken = NULL;
    cji_lock(&rec->lock, CJI_LOCK_RECORD);
    for (cji_rec_pending **at = list; *at;) {
        cji_rec_pending *p = *at;
        if (device >= 0 && p->device != device) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        p->next = taken;
        taken = p;
    }
    cji_unlock(&rec->lock, CJI_LOCK_RECORD);
    return taken;
}

static void pending_delete_all(const cji_cu *cu, cji_rec_pending *p)
{
    while (p) {
        cji_rec_pending *next = p->next;
        pending_delete(cu, p);
        p = next;
    }
}

void cji_rec_harvest(cji_recorder *rec, const cji_cu *cu, int device)
{
    CUstreamCaptureMode mode;
    cji_lock(&rec->lock, CJI_LOCK_RECORD);
    const bool any = rec->pending || (device >= 0 && rec->spare);
    cji_unlock(&rec->lock, CJI_LOCK_RECORD);
    if (!any) return;
    const bool relaxed = cji_rec_relax(cu, &mode);
    harvest_complete(rec, cu);
    if (device >= 0) {
        await_device(rec, cu, device);
        pending_delete_all(cu, take_of_device(rec, &rec->pending, device));
        pending_delete_all(cu, take_of_device(rec, &rec->spare, device));
    }
    cji_rec_relax_end(cu, relaxed, mode);
}

void cji_rec_pending_free(cji_recorder *rec, const cji_cu *cu)
{
    if (rec->pending) harvest_complete(rec, cu);
    pending_delete_all(cu, take_of_device(rec, &rec->pending, -1));
    pending_delete_all(cu, take_of_device(rec, &rec->spare, -1));
}
