/* What the launch of a kernel adds to its time: between two timing events an empty kernel takes as long as they and the
 * launch.  When a device is measured first, some such kernels run on a stream of their own; their times are read as
 * those of the device's work are, after it. */
#include <stdlib.h>

#include "base/cancel.h"
#include "stream/profile/stream_profile.h"

enum { LAUNCH_WAIT_MS = 10 }; /* a device that is busy for longer is not waited for: the times are read later */

static const char empty_kernel[] =
    ".version 6.3\n.target sm_70\n.address_size 64\n.visible .entry empty()\n{\n}\n";

/* Enqueues them; false: the driver fails. */
static bool launches_enqueue(const cji_cu *cu, cji_launches *l)
{
    CUfunction empty = NULL;
    if (cu->cuModuleLoadData(&l->module, empty_kernel) != CUDA_SUCCESS ||
        cu->cuModuleGetFunction(&empty, l->module, "empty") != CUDA_SUCCESS)
        return false;
    for (unsigned i = 0; i < CJI_LAUNCHES; i++)
        if (cu->cuEventCreate(&l->start[i], CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
            cu->cuEventCreate(&l->end[i], CU_EVENT_DEFAULT) != CUDA_SUCCESS)
            return false;
    for (unsigned i = 0; i < CJI_LAUNCHES; i++)
        if (cu->cuEventRecord(l->start[i], l->stream) != CUDA_SUCCESS ||
            cu->cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, l->stream, NULL, NULL) != CUDA_SUCCESS ||
            cu->cuEventRecord(l->end[i], l->stream) != CUDA_SUCCESS)
            return false;
    return true;
}

static void launches_release(const cji_cu *cu, cji_launches *l, bool complete)
{
    for (unsigned i = 0; i < CJI_LAUNCHES; i++) {
        if (l->start[i]) cu->cuEventDestroy(l->start[i]);
        if (l->end[i]) cu->cuEventDestroy(l->end[i]);
    }
    cu->cuStreamDestroy(l->stream);
    if (l->module && complete) cu->cuModuleUnload(l->module); /* else it goes with the context */
    *l = (cji_launches){ .stream = NULL };
}

static int launch_order(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void cji_launches_read(cji_recorder *r)
{
    CJI_NO_CANCEL;
    cji_launches *l = &r->launches;
    int64_t ns[CJI_LAUNCHES];
    unsigned n = 0;
    if (!l->stream) return;
    const CUresult complete = r->cu->cuStreamQuery(l->stream);
    if (complete == CUDA_ERROR_NOT_READY) return;
    for (float ms; l->good && complete == CUDA_SUCCESS && n < CJI_LAUNCHES; n++) {
        if (r->cu->cuEventElapsedTime(&ms, l->start[n], l->end[n]) != CUDA_SUCCESS) break;
        ns[n] = (int64_t)((double)ms * 1e6 + 0.5);
    }
    if (n == CJI_LAUNCHES) {
        qsort(ns, n, sizeof *ns, launch_order);
        r->launch_ns = ns[CJI_LAUNCHES / 4]; /* the longer ones waited for the host, or for other work */
    }
    launches_release(r->cu, l, true);
}

/* Waits a while for the launches.  One query that fails says nothing of them; a second one does not either, but nothing
 * else will. */
static void launches_await(const cji_cu *cu, CUstream stream)
{
    const uint64_t deadline = cji_deadline(LAUNCH_WAIT_MS);
    cji_pause pause = { 0 };
    for (unsigned failed = 0; failed < 2;) {
        const CUresult complete = cu->cuStreamQuery(stream);
        if (complete == CUDA_SUCCESS || !cji_pause_until(&pause, deadline)) return;
        failed += complete != CUDA_ERROR_NOT_READY;
    }
}

void cji_launches_measure(cji_recorder *r)
{
    cji_launches l = { .stream = NULL };
    cji_scope scope;
    if (atomic_exchange(&r->launches_begun, true)) return;
    if (cji_scope_enter(&scope, r->cu, r->queue->ctx) == CUDA_SUCCESS &&
        r->cu->cuStreamCreateWithPriority(&l.stream, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS) {
        l.good = launches_enqueue(r->cu, &l);
        launches_await(r->cu, l.stream);
        cji_profiles_lock();
        r->launches = l;
        cji_launches_read(r);
        cji_profiles_unlock();
    }
    cji_scope_leave(&scope);
}

void cji_launches_drop(cji_recorder *r)
{
    if (r->launches.stream) launches_await(r->cu, r->launches.stream);
    cji_launches_read(r);
    if (r->launches.stream) launches_release(r->cu, &r->launches, false);
}
