/* Opens a driver of which the n-th call fails: a layer of cujit/interpose.h over the real one. */
#include "faults.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <cujit/cujit.h>

static fault_plan *faulty;

/* What the driver of a real machine answers to such a call when it fails: memory runs out where some is asked for. */
static int faults_result(const char *name)
{
    static const char *const takes_memory[] = { "cuMemAlloc",
                                                "cuMemAllocAsync",
                                                "cuMemHostAlloc",
                                                "cuModuleLoadData",
                                                "cuModuleLoadDataEx",
                                                "cuLinkComplete",
                                                "cuDevicePrimaryCtxRetain",
                                                "cuStreamCreateWithPriority",
                                                "cuEventCreate",
                                                "cuArray3DCreate",
                                                "cuMipmappedArrayCreate",
                                                "cuGraphInstantiateWithFlags" };
    for (size_t i = 0; i < sizeof takes_memory / sizeof *takes_memory; i++)
        if (!strcmp(name, takes_memory[i])) return 2; /* CUDA_ERROR_OUT_OF_MEMORY */
    return 999;                                       /* CUDA_ERROR_UNKNOWN */
}

/* What cujit calls with no lock held, and with nothing left to do behind it but to count: the thread stays as it is. */
static bool may_end_there(const char *name)
{
    static const char *const names[] = { "cuLaunchKernel",       "cuEventRecord",   "cuEventQuery",
                                         "cuStreamQuery",        "cuCtxGetCurrent", "cuTensorMapReplaceAddress",
                                         "cuDeviceGetAttribute", "cuGetErrorName",  "cuGetErrorString" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

/* A thread that ends inside the driver would not do what the library has to do behind that call. */
static void note_cancellable(const char *name)
{
    int state = PTHREAD_CANCEL_DISABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_setcancelstate(state, NULL);
    if (state == PTHREAD_CANCEL_ENABLE && !may_end_there(name) && !faulty->cancelled[0])
        snprintf(faulty->cancelled, sizeof faulty->cancelled, "%s", name);
}

static int faults_before(void *user, uint64_t number, const char *name)
{
    (void)user, (void)number;
    note_cancellable(name);
    uint64_t n = __atomic_add_fetch(&faulty->calls, 1, __ATOMIC_RELAXED);
    if (!faulty->fail || n < faulty->fail || (n > faulty->fail && !faulty->dead)) return 0;
    if (n == faulty->fail) snprintf(faulty->name, sizeof faulty->name, "%s", name);
    return faulty->dead ? 700 : faults_result(name); /* CUDA_ERROR_ILLEGAL_ADDRESS */
}

static void faults_after(void *user, uint64_t number, const char *name, const char *text, int result)
{
    static const struct { const char *name; int step;
    } counted[] = {
        { "cuStreamCreateWithPriority", 1 },
        { "cuStreamDestroy", -1 },
        { "cuEventCreate", 1 },
        { "cuEventDestroy", -1 },
        { "cuModuleLoadData", 1 },
        { "cuModuleLoadDataEx", 1 },
        { "cuModuleUnload", -1 },
        { "cuMemHostAlloc", 1 },
        { "cuMemFreeHost", -1 },
        { "cuGraphInstantiateWithFlags", 1 },
        { "cuGraphInstantiateWithParams", 1 },
        { "cuGraphExecDestroy", -1 },
        { "cuArray3DCreate", 1 },
        { "cuArrayDestroy", -1 },
        { "cuMipmappedArrayCreate", 1 },
        { "cuMipmappedArrayDestroy", -1 },
        { "cuTexObjectCreate", 1 },
        { "cuTexObjectDestroy", -1 },
        { "cuSurfObjectCreate", 1 },
        { "cuSurfObjectDestroy", -1 },
    };
    (void)user, (void)number, (void)text;
    for (size_t i = 0; !result && i < sizeof counted / sizeof *counted; i++)
        if (!strcmp(name, counted[i].name)) __atomic_add_fetch(&faulty->objects, counted[i].step, __ATOMIC_RELAXED);
}

cj_driver *faults_open(const char *which, fault_plan *plan)
{
    faulty = plan;
    cj_driver *under = cj_driver_open(which);
    cj_driver *drv = cj_driver_open_interposed(under, CJ_INTERPOSER(.before = faults_before, .after = faults_after));
    cj_driver_close(under);
    return drv;
}
