/* Why the driver rejected a launch: what can be asked is asked then, and each cause has a sentence with the limit and
 * the figures.  What is known before the call args.c has said. */
#include <stdio.h>

#include "driver/driver.h"

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
                 "%llu fewer than the grid has",
                 (unsigned long long)most, k->dev->info.multiprocessors, blocks - (unsigned long long)most);
}

static void out_of_resources(cj_kernel *k, const cj_dims *d, char *out, size_t size)
{
    const unsigned long long threads = volume(d->block), registers = threads * (unsigned)k->info.registers;
    if (registers > (unsigned)k->dev->info.block_registers)
        snprintf(out, size, "; %llu threads with %d registers each are %llu registers, and a block has at most %d",
                 threads, k->info.registers, registers, k->dev->info.block_registers);
    else
        snprintf(out, size,
                 "; a block has at most %d registers and %d bytes of shared memory, and this kernel's block at most %d "
                 "threads",
                 k->dev->info.block_registers, k->dev->info.block_shared_most, k->info.block_threads);
}

static void wrong_cluster_size(cj_kernel *k, const cj_dims *d, char *out, size_t size)
{
    int most = 0;
    cji_scope scope;
    CUlaunchAttribute attr[CJI_LAUNCH_ATTRIBUTES];
    CUresult r = CUDA_ERROR_INVALID_CONTEXT;
    if (cji_queue_scope(&k->dev->queue, &scope)) {
        const CUlaunchConfig c = cji_launch_config(NULL, d, attr);
        r = k->dev->api.cuOccupancyMaxPotentialClusterSize(&most, k->fn, &c);
    }
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS)
        snprintf(out, size, "; a cluster of such blocks has at most %d of them, the launch asks for %llu%s", most,
                 (unsigned long long)volume(d->cluster),
                 most <= 8 ? " (CJ_KERNEL_CLUSTER_NONPORTABLE allows more where the device has them)" : "");
}

/* The cause, to follow the driver's words; "" where nothing more is known. */
static void explain_launch(cj_kernel *k, const cj_dims *d, CUresult r, char *out, size_t size)
{
    *out = 0;
    switch ((int)r) {
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: too_large_to_cooperate(k, d, out, size); break;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: out_of_resources(k, d, out, size); break;
    case CUDA_ERROR_INVALID_CLUSTER_SIZE: wrong_cluster_size(k, d, out, size); break;
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT:
        snprintf(out, size, "; the kernel or the stream is of another context, or its context is gone");
        break;
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
        snprintf(out, size, "; the code is compiled for sm_%d, the device is %s", k->info.binary_version, k->dev->sm);
        break;
    default: break;
    }
}

cj_status cji_kernel_rejected(void *into, cj_kernel *k, const cji_slot *slot, CUresult r, const char *cu_call,
                              const cj_dims *d, const char *call)
{
    char why[240];
    explain_launch(k, d, r, why, sizeof why);
    return cji_cu_fail_on(
        into, k->dev, slot, r, cu_call, call,
        "%s: %s with %u x %u x %u blocks of %u x %u x %u threads, %u bytes of dynamic shared memory (%d registers, %d "
        "bytes static)%s",
        call, cji_short(k->name), d->grid[0], d->grid[1], d->grid[2], d->block[0], d->block[1], d->block[2], d->shared,
        k->info.registers, k->info.shared, why);
}
