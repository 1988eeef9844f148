/* What copies of a replay read, beside what they read when it was recorded. */
#include <stdio.h>

#include "driver/interpose/record_file.h"
#include "driver/interpose/replay_parts.h"

/* -- Comparing ----------------------------------------------------------------------------------------------------- */

/* Whether the words around byte `i` are one address, then and now. */
static bool same_address(const cji_replay *rp, const unsigned char *now, const unsigned char *then, size_t i, size_t n)
{
    uint64_t a, b, moved;
    i &= ~(size_t)7;
    if (i + 8 > n) return false;
    memcpy(&a, then + i, 8);
    memcpy(&b, now + i, 8);
    return cji_replay_address(&rp->maps, a, &moved) && moved == b;
}

static void compare(cji_replay *rp, uint64_t number, const char *name, const unsigned char *now,
                    const unsigned char *then, size_t n)
{
    rp->result.compared += n;
    if (!memcmp(now, then, n)) return;
    for (size_t i = 0; i < n; i++) {
        if (now[i] == then[i]) continue;
        if (same_address(rp, now, then, i, n)) {
            i |= 7;
            continue;
        }
        rp->result.different++;
        cji_replay_differs(rp, "call %llu, %s: byte %zu of %zu is 0x%02x, and was 0x%02x", (unsigned long long)number,
                           name, i, n, now[i], then[i]);
        return;
    }
}

static int current_device(const cji_cu *cu)
{
    CUdevice device;
    return cu->cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

/* -- Pinned memory ------------------------------------------------------------------------------------------------- */

enum { BLOCK_LEAST = 4096 };

cji_replay_block *cji_replay_block_take(cji_replay *rp, size_t n)
{
    CUstreamCaptureMode mode;
    void *p = NULL;
    for (cji_replay_block **at = &rp->spare; *at; at = &(*at)->next) {
        cji_replay_block *block = *at;
        if (block->n < n || block->n / 4 > n + BLOCK_LEAST) continue;
        *at = block->next;
        return block;
    }
    cji_replay_block *block = cji_zalloc(sizeof *block);
    if (!block) return NULL;
    *block = (cji_replay_block){ .device = current_device(rp->cu), .n = n < BLOCK_LEAST ? BLOCK_LEAST : n };
    rp->cu->cuCtxGetCurrent(&block->context);
    const bool relaxed = cji_rec_relax(rp->cu, &mode);
    if (rp->cu->cuMemHostAlloc(&p, block->n, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS) block->p = p;
    cji_rec_relax_end(rp->cu, relaxed, mode);
    if (block->p) return block;
    cji_free(block, sizeof *block);
    return NULL;
}

void cji_replay_block_spare(cji_replay *rp, cji_replay_block *block)
{
    block->next = rp->spare;
    rp->spare = block;
}

static void free_blocks(cji_replay *rp, cji_replay_block **list, int device, bool wait)
{
    for (cji_replay_block **at = list; *at;) {
        cji_replay_block *block = *at;
        if (device >= 0 && block->device >= 0 && block->device != device) {
            at = &block->next;
            continue;
        }
        CUcontext none;
        *at = block->next;
        const bool entered = rp->cu->cuCtxPushCurrent(block->context) == CUDA_SUCCESS;
        if (wait) rp->cu->cuCtxSynchronize();
        rp->cu->cuMemFreeHost(block->p);
        if (entered) rp->cu->cuCtxPopCurrent(&none);
        cji_free(block, sizeof *block);
    }
}

/* -- Work under way ------------------------------------------------------------------------------------------------ */

/* Puts an event behind what is in the stream; false: there is none, and the work is not known to be done. */
static bool work_new(cji_replay *rp, const cji_replay_work *of, CUstream stream)
{
    CUstreamCaptureMode mode;
    cji_replay_work *w = cji_zalloc(sizeof *w), **last = &rp->work;
    if (!w) return false;
    *w = *of;
    const bool relaxed = cji_rec_relax(rp->cu, &mode), entered = cji_rec_enter(rp->cu, stream);
    w->device = current_device(rp->cu);
    const bool made = rp->cu->cuEventCreate(&w->event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
    const bool fine = made && rp->cu->cuEventRecord(w->event, stream) == CUDA_SUCCESS;
    if (made && !fine) rp->cu->cuEventDestroy(w->event);
    cji_rec_leave(rp->cu, entered);
    cji_rec_relax_end(rp->cu, relaxed, mode);
    if (!fine) {
        cji_free(w, sizeof *w);
        return false;
    }
    while (*last) last = &(*last)->next;
    *last = w;
    return true;
}

void cji_replay_copied(cji_replay *rp, const cji_rec_call *call, const char *name, CUstream stream, bool fine)
{
    for (const cji_replay_piece *piece = rp->pieces; piece; piece = piece->next) {
        const cji_replay_data *data = cji_recording_data(rp->rec, piece->data);
        if (!piece->block) {
            if (fine && data && piece->p) compare(rp, call->number, name, piece->p, data->p, (size_t)data->bytes);
            continue;
        }
        const cji_replay_work w = { .number = call->number, .name = name, .block = piece->block, .data = data };
        if (!fine) {
            cji_replay_block_spare(rp, piece->block);
        } else if (!work_new(rp, &w, stream)) {
            piece->block->next = rp->stuck;
            rp->stuck = piece->block;
        }
    }
    rp->pieces = NULL;
}

void cji_replay_launched(cji_replay *rp, const cji_rec_call *call, CUstream stream)
{
    work_new(rp, &(cji_replay_work){ .number = call->number, .name = "cuGraphLaunch", .launch = true }, stream);
}

/* It is in no list any more. */
static void work_end(cji_replay *rp, cji_replay_work *w, bool done)
{
    if (done && w->data)
        compare(rp, w->number, w->name, w->block->p, w->data->p, (size_t)w->data->bytes);
    if (w->block) cji_replay_block_spare(rp, w->block);
    rp->cu->cuEventDestroy(w->event);
    cji_free(w, sizeof *w);
}

void cji_replay_harvest(cji_replay *rp)
{
    CUstreamCaptureMode mode;
    if (!rp->work) return;
    const bool relaxed = cji_rec_relax(rp->cu, &mode);
    for (cji_replay_work **at = &rp->work; *at;) {
        cji_replay_work *w = *at;
        const CUresult r = rp->cu->cuEventQuery(w->event);
        if (r == CUDA_ERROR_NOT_READY) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        work_end(rp, w, r == CUDA_SUCCESS);
    }
    cji_rec_relax_end(rp->cu, relaxed, mode);
}

void cji_replay_drain(cji_replay *rp, int device)
{
    CUstreamCaptureMode mode;
    if (!rp->work && !rp->spare && !rp->stuck) return;
    const bool relaxed = cji_rec_relax(rp->cu, &mode);
    for (cji_replay_work **at = &rp->work; *at;) {
        cji_replay_work *w = *at;
        if (device >= 0 && w->device >= 0 && w->device != device) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        work_end(rp, w, rp->cu->cuEventSynchronize(w->event) == CUDA_SUCCESS);
    }
    free_blocks(rp, &rp->stuck, device, true);
    free_blocks(rp, &rp->spare, device, false);
    cji_rec_relax_end(rp->cu, relaxed, mode);
}

/* Waits for launches: all, or those of one call; false: one has failed. */
static bool await_launches(cji_replay *rp, uint64_t number)
{
    CUstreamCaptureMode mode;
    bool fine = true;
    const bool relaxed = cji_rec_relax(rp->cu, &mode);
    for (cji_replay_work *w = rp->work; w; w = w->next)
        if (w->launch && (!number || w->number == number)) fine &= rp->cu->cuEventSynchronize(w->event) == CUDA_SUCCESS;
    cji_rec_relax_end(rp->cu, relaxed, mode);
    return fine;
}

/* -- Host memory of graphs ----------------------------------------------------------------------------------------- */

/* Where host memory of then is now, all of it; NULL: it is not known. */
static unsigned char *host_now(const cji_replay *rp, const cji_rec_host *host)
{
    uint64_t first, last;
    if (!host->bytes || !cji_replay_address(&rp->maps, host->address, &first) ||
        !cji_replay_address(&rp->maps, host->address + host->bytes - 1, &last) || last - first != host->bytes - 1)
        return NULL;
    return (unsigned char *)(uintptr_t)first;
}

void cji_replay_write(cji_replay *rp, const cji_replay_item *item)
{
    cji_rec_host host;
    memcpy(&host, item->p, sizeof host);
    unsigned char *now = host_now(rp, &host);
    if (!now || !memcmp(now, item->p + sizeof host, (size_t)host.bytes)) return;
    await_launches(rp, 0); /* they may read it */
    memcpy(now, item->p + sizeof host, (size_t)host.bytes);
}

void cji_replay_read(cji_replay *rp, const cji_replay_item *item)
{
    cji_rec_host host;
    memcpy(&host, item->p, sizeof host);
    const unsigned char *now = host_now(rp, &host);
    if (now && await_launches(rp, host.number))
        compare(rp, host.number, "cuGraphLaunch", now, item->p + sizeof host, (size_t)host.bytes);
}
