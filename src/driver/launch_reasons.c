/* Why the driver rejected a launch: what can be asked is asked then, and each cause has a sentence with the limit and
 * the figures.  What is known before the call args.c has said. */
#include <stdio.h>

#include "driver/driver.h"
#include "ptx/layout.h"

static uint64_t volume(const uint32_t v[3]) { return (uint64_t)v[0] * v[1] * v[2]; }

/* The blocks that are resident at once; false: the driver does not tell. */
static bool resident_blocks(cj_kernel *k, const cj_dims *d, uint64_t *blocks)
{
    cji_scope scope;
    CUresult r = CUDA_ERROR_INVALID_CONTEXT;
    if (cji_queue_scope(&k->dev->queue, &scope))
        r = cji_kernel_resident(k, (uint32_t)volume(d->block), d->shared, blocks);
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS;
}

static void too_large_to_cooperate(cj_kernel *k, const cj_dims *d, char *out, size_t size)
{
    uint64_t most = 0;
    const unsigned long long blocks = volume(d->grid);
    if (!resident_blocks(k, d, &most)) return;
    if (blocks > most)
        snprintf(out, size,
                 "; the blocks of a cooperative launch are resident at once: %llu of these are, on %d multiprocessors, "
                 "%llu fewer than the grid has: launch that many, each in a loop",
                 (unsigned long long)most, k->dev->info.multiprocessors, blocks - (unsigned long long)most);
}

static void out_of_resources(cj_kernel *k, const cj_dims *d, char *out, size_t size)
{
    const cj_kernel_info code = cji_kernel_code(k);
    const unsigned long long threads = volume(d->block), registers = threads * (unsigned)code.registers;
    if (registers > (unsigned)k->dev->info.block_registers)
        snprintf(out, size,
                 "; %llu threads with %d registers each are %llu registers, and a block has at most %d: launch smaller "
                 "blocks, or compile for them with cj_fn_max_threads",
                 threads, code.registers, registers, k->dev->info.block_registers);
    else
        snprintf(out, size,
                 "; a block has at most %d registers and %d bytes of shared memory, and this kernel's block at most %d "
                 "threads: launch smaller blocks",
                 k->dev->info.block_registers, k->dev->info.block_shared_most, code.block_threads);
}

/* -- What the driver is asked for then ----------------------------------------------------------------------------- */

/* An attribute of the kernel; 0 where the driver does not tell. */
static int asked_of_kernel(cj_kernel *k, CUfunction_attribute which)
{
    int value = 0;
    return k->dev->api.cuFuncGetAttribute(&value, which, k->fn) == CUDA_SUCCESS ? value : 0;
}

static int asked_of_device(const cj_kernel *k, CUdevice_attribute which)
{
    int value = 0;
    return k->dev->api.cuDeviceGetAttribute(&value, which, k->dev->cu) == CUDA_SUCCESS ? value : 0;
}

static size_t asked_of_context(const cj_kernel *k, CUlimit which)
{
    size_t value = 0;
    return k->dev->api.cuCtxGetLimit(&value, which) == CUDA_SUCCESS ? value : 0;
}

/* The cluster that the kernel was compiled for. */
static bool other_cluster(cj_kernel *k, const cj_dims *d, char *out, size_t size)
{
    const int own[3] = { asked_of_kernel(k, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
                         asked_of_kernel(k, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
                         asked_of_kernel(k, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH) };
    bool same = true;
    for (int i = 0; i < 3; i++) same &= (own[i] ? (uint32_t)own[i] : 1) == (d->cluster[i] ? d->cluster[i] : 1);
    if (!own[0] || same) return false;
    snprintf(out, size, "; the kernel has clusters of %d x %d x %d blocks, the launch asks for %u x %u x %u: leave the "
             "cluster of the launch 0, and make the grid a multiple of the kernel's",
             own[0], own[1] ? own[1] : 1, own[2] ? own[2] : 1, d->cluster[0], d->cluster[1], d->cluster[2]);
    return true;
}

static void wrong_cluster_size(cj_kernel *k, const cj_dims *d, char *out, size_t size)
{
    int most = 0;
    CUlaunchAttribute attr[CJI_LAUNCH_ATTRIBUTES];
    if (other_cluster(k, d, out, size)) return;
    const CUlaunchConfig c = cji_launch_config(NULL, d, attr);
    if (k->dev->api.cuOccupancyMaxPotentialClusterSize(&most, k->fn, &c) == CUDA_SUCCESS)
        snprintf(out, size, "; a cluster of such blocks has at most %d of them, the launch asks for %llu%s", most,
                 (unsigned long long)volume(d->cluster),
                 most <= 8 ? " (CJ_KERNEL_CLUSTER_NONPORTABLE allows more where the device has them)" : "");
}

/* A value that no check in front of the launch knew to be wrong: limits that only some launches come near. */
static void wrong_launch_value(cj_kernel *k, const cj_dims *d, char *out, size_t size)
{
    const cj_launch_opts *o = d->opts;
    const cj_kernel_info code = cji_kernel_code(k);
    const int window = o && o->window_bytes ? asked_of_device(k, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE) : 0;
    const int domains = o && o->has_domains ? asked_of_device(k, CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT) : 0;
    if (code.ptx_version && code.ptx_version < 30 && d->grid[0] > UINT16_MAX)
        snprintf(out, size,
                 "; the kernel is of PTX for sm_%d, whose grids have at most %d blocks in x, the launch asks for %u: "
                 "compile it for sm_30 or newer, or launch fewer blocks, each in a loop",
                 code.ptx_version, UINT16_MAX, d->grid[0]);
    else if (code.local >= CJI_LOCAL_BYTES)
        snprintf(out, size,
                 "; the kernel has %d bytes of local memory, and a thread less than %d: arrays of that size belong "
                 "into global memory",
                 code.local, (int)CJI_LOCAL_BYTES);
    else if (window && o->window_bytes > (uint64_t)window)
        snprintf(out, size, "; window_bytes is %llu, %llu more than the device's %d",
                 (unsigned long long)o->window_bytes, (unsigned long long)(o->window_bytes - (uint64_t)window), window);
    else if (domains && (o->domain_default >= domains || o->domain_remote >= domains))
        snprintf(out, size, "; the domains are %d and %d, and those of the device 0 .. %d", o->domain_default,
                 o->domain_remote, domains - 1);
    else
        snprintf(out, size,
                 "; a kernel with .reqntid (cj_fn_required_threads) takes blocks of just that shape; this one's block "
                 "has at most %d threads",
                 code.block_threads);
}

/* What a launch of a kernel with local memory takes of the device's, where that is more than is free: for each thread
 * that can be resident its local memory and stack, and the heap of the kernels' malloc. */
static void out_of_launch_memory(cj_kernel *k, char *out, size_t size)
{
    const cj_device_info *dev = &k->dev->info;
    const cj_kernel_info code = cji_kernel_code(k);
    const unsigned long long threads = (unsigned long long)dev->multiprocessors * (unsigned)dev->multiprocessor_threads;
    if (!code.local) return;
    const unsigned long long stack = asked_of_context(k, CU_LIMIT_STACK_SIZE),
                             each = stack > (unsigned)code.local ? stack : (unsigned)code.local;
    const unsigned long long heap = asked_of_context(k, CU_LIMIT_MALLOC_HEAP_SIZE);
    size_t left = 0, all = 0;
    if (k->dev->api.cuMemGetInfo(&left, &all) != CUDA_SUCCESS || threads * each + heap <= left) return;
    snprintf(out, size,
             "; %llu threads with %llu bytes of stack or local memory each (this kernel: %d) are %llu bytes, the heap "
             "of malloc is %llu, and %llu are free: free memory, or set lower limits with cuCtxSetLimit",
             threads, each, code.local, threads * each, heap, (unsigned long long)left);
}

/* The causes that are asked for in the kernel's context. */
static void ask_why(cj_kernel *k, const cj_dims *d, CUresult r, char *out, size_t size)
{
    cji_scope scope;
    if (cji_queue_scope(&k->dev->queue, &scope)) {
        if (r == CUDA_ERROR_INVALID_CLUSTER_SIZE) wrong_cluster_size(k, d, out, size);
        else if (r == CUDA_ERROR_INVALID_VALUE) wrong_launch_value(k, d, out, size);
        else out_of_launch_memory(k, out, size);
    }
    cji_scope_leave(&scope);
}

/* What the driver has entry points for, and does not do. */
static void unsupported_attribute(const cj_dims *d, char *out, size_t size)
{
    char names[200];
    cji_launch_opts_names(d, names, sizeof names);
    if (*names) snprintf(out, size, "; the driver or the device lacks one of: %s", names);
}

/* The cause, to follow the driver's words; "" where nothing more is known. */
static void explain_launch(cj_kernel *k, const cj_dims *d, CUresult r, char *out, size_t size)
{
    const cj_kernel_info code = cji_kernel_code(k);
    *out = 0;
    switch ((int)r) {
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: too_large_to_cooperate(k, d, out, size); break;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: out_of_resources(k, d, out, size); break;
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_OUT_OF_MEMORY: ask_why(k, d, r, out, size); break;
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT:
        snprintf(out, size, "; the kernel or the stream is of another context, or its context is gone");
        break;
    case CUDA_ERROR_NOT_SUPPORTED: unsupported_attribute(d, out, size); break;
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
        snprintf(out, size, "; the code is compiled for sm_%d, the device is %s", code.binary_version, k->dev->sm);
        break;
    default: break;
    }
}

cj_status cji_kernel_rejected(void *into, cj_kernel *k, const cji_slot *slot, CUresult r, const char *cu_call,
                              const cj_dims *d, const char *call)
{
    char why[280], takes[80] = "";
    const cj_kernel_info code = cji_kernel_code(k);
    explain_launch(k, d, r, why, sizeof why);
    if (code.size) snprintf(takes, sizeof takes, " (%d registers, %d bytes static)", code.registers, code.shared);
    return cji_cu_fail_on(
        into, k->dev, slot, r, cu_call, call,
        "%s: %s with %u x %u x %u blocks of %u x %u x %u threads, %u bytes of dynamic shared memory%s%s", call,
        cji_short(k->name), d->grid[0], d->grid[1], d->grid[2], d->block[0], d->block[1], d->block[2], d->shared, takes,
        why);
}
