/* How many blocks of a kernel are resident on a multiprocessor, by the rules of CUDA's occupancy calculator for
 * capabilities 7.5 to 12.1, and what follows from it.  The driver's own number is what users get; ours names the
 * limit, and stands in where the driver has no such call. */
#include <limits.h>
#include <string.h>

#include "driver/driver.h"

/* -- The rules ----------------------------------------------------------------------------------------------------- */

enum { SM_PARTS = 4, REGISTER_UNIT = 256, THREAD_REGISTERS = 255 };

static uint64_t up_to(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

/* Registers are allocated for a warp, in units, from a quarter of the multiprocessor.  The hardware's check of a block
 * assumes warps in all quarters. */
static uint32_t blocks_by_registers(const cji_sm_limits *sm, uint32_t registers, uint32_t warps)
{
    const uint64_t warp = up_to((uint64_t)registers * sm->warp, REGISTER_UNIT);
    if (registers > THREAD_REGISTERS || warp * up_to(warps, SM_PARTS) > sm->block_registers) return 0;
    return warp ? (uint32_t)(sm->registers / SM_PARTS / warp * SM_PARTS / warps) : UINT32_MAX;
}

/* From capability 8.0 on the driver has a KB of each block, and the unit is 128 bytes, before 256. */
static uint32_t blocks_by_shared(const cji_sm_limits *sm, uint64_t fixed, uint64_t dynamic)
{
    const uint64_t unit = sm->capability >= 80 ? 128 : 256, all = up_to(fixed + dynamic + sm->reserved, unit);
    if (all > (uint64_t)sm->block_shared + sm->reserved) return 0;
    return all ? (uint32_t)(sm->shared / all) : UINT32_MAX;
}

void cji_occupancy_of(const cji_sm_limits *sm, uint32_t registers, uint32_t fixed, uint32_t dynamic, uint32_t threads,
                      cj_occupancy *out)
{
    const uint32_t warps = (uint32_t)(up_to(threads, sm->warp) / sm->warp);
    const bool fits = threads && threads <= sm->block_threads;
    out->most_warps = sm->threads / sm->warp;
    out->by_blocks = sm->blocks;
    out->by_threads = fits ? out->most_warps / warps : 0;
    out->by_registers = fits ? blocks_by_registers(sm, registers, warps) : 0;
    out->by_shared = blocks_by_shared(sm, fixed, dynamic);
    const uint32_t by[] = { out->by_blocks, out->by_threads, out->by_registers, out->by_shared };
    out->limit = CJ_OCCUPANCY_BLOCKS;
    for (int i = 1; i < 4; i++)
        if (by[i] < by[out->limit]) out->limit = i;
    out->blocks = by[out->limit];
    out->warps = out->blocks * warps;
}

static uint32_t known(int32_t n) { return n > 0 ? (uint32_t)n : 0; }

/* In the device's context, or none: attributes of a device need no context. */
static void read_limits(const cj_device *dev, cji_sm_limits *sm)
{
    const cj_device_info *i = &dev->info;
    int reserved = 0;
    if (dev->api.cuDeviceGetAttribute(&reserved, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, dev->cu) !=
        CUDA_SUCCESS)
        reserved = i->sm_major >= 8 ? 1024 : 0;
    *sm = (cji_sm_limits){ .capability = known(10 * i->sm_major + i->sm_minor),
                           .warp = i->warp_size > 0 ? (uint32_t)i->warp_size : 32,
                           .threads = known(i->multiprocessor_threads),
                           .blocks = known(i->multiprocessor_blocks),
                           .registers = known(i->multiprocessor_registers),
                           .shared = known(i->multiprocessor_shared),
                           .block_threads = known(i->block_threads),
                           .block_registers = known(i->block_registers),
                           .block_shared = known(i->block_shared_most ? i->block_shared_most : i->block_shared),
                           .reserved = known(reserved) };
}

/* -- The driver's number ------------------------------------------------------------------------------------------- */

/* In a scope; the kernel's limit of dynamic shared memory allows `shared`, as a launch will make it. */
static CUresult occupancy_by_driver(cj_kernel *k, uint32_t threads, uint32_t shared, cj_occupancy *out)
{
    const cj_kernel_info code = cji_kernel_code(k);
    cji_sm_limits sm;
    int blocks = 0;
    read_limits(k->dev, &sm);
    cji_occupancy_of(&sm, known(code.registers), known(code.shared), shared, threads, out);
    if (!out->by_shared || k->dev->drv->missing[CJI_CU_ID_cuOccupancyMaxActiveBlocksPerMultiprocessor])
        return CUDA_SUCCESS;
    CUresult r = cji_kernel_allow_shared(k, shared);
    if (r == CUDA_SUCCESS)
        r = k->dev->api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k->fn, (int)threads, shared);
    if (r != CUDA_SUCCESS) return r;
    out->blocks = known(blocks);
    out->warps = out->blocks * (uint32_t)(up_to(threads, sm.warp) / sm.warp);
    return CUDA_SUCCESS;
}

CUresult cji_kernel_resident(cj_kernel *k, uint32_t threads, uint32_t shared, uint64_t *blocks)
{
    cj_occupancy o = { .size = sizeof o };
    CUresult r = occupancy_by_driver(k, threads, shared, &o);
    *blocks = (uint64_t)o.blocks * known(k->dev->info.multiprocessors);
    return r;
}

void cj_occupancy_defaults(cj_occupancy *out)
{
    if (out) *out = (cj_occupancy){ .size = sizeof *out };
}

static const char occupancy_call[] = "cuOccupancyMaxActiveBlocksPerMultiprocessor";

cj_status cj_kernel_occupancy(cj_kernel *k, uint32_t threads, uint32_t shared, cj_occupancy *out)
{
    static const char call[] = "cj_kernel_occupancy";
    cji_scope scope;
    cj_occupancy full = { .size = sizeof full };
    cj_status st = cji_check(k, CJI_TAG_KERNEL, call);
    if (st != CJ_OK) return st;
    if (!out || out->size < sizeof out->size)
        return cji_fail(k, CJ_EINVAL, call, "the result is NULL, or its size is not sizeof(cj_occupancy)");
    if (!threads || threads > INT_MAX)
        return cji_fail(k, CJ_EINVAL, call, "%s: a block of %u threads", cji_short(k->name), threads);
    st = cji_scope_begin_relaxed(k, k->dev, &scope, call);
    if (st != CJ_OK) return st;
    CUresult r = occupancy_by_driver(k, threads, shared, &full);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS) return cji_cu_fail_on(k, k->dev, NULL, r, occupancy_call, call, "%s", call);
    full.size = out->size;
    memcpy(out, &full, full.size < sizeof full ? full.size : sizeof full);
    return CJ_OK;
}

/* -- Block sizes --------------------------------------------------------------------------------------------------- */

/* In a scope: the first, and so the largest, of the block sizes with most resident threads. */
static CUresult best_block(cj_kernel *k, uint32_t shared, uint32_t shared_thread, uint32_t most, cj_dims *best)
{
    const uint32_t warp = known(k->dev->info.warp_size) ? known(k->dev->info.warp_size) : 32;
    const cj_kernel_info code = cji_kernel_code(k);
    uint64_t most_threads = 0;
    for (uint32_t n = (uint32_t)up_to(most, warp); n; n -= warp) {
        const uint32_t threads = n < most ? n : most;
        const uint64_t bytes = shared + (uint64_t)shared_thread * threads;
        uint64_t blocks = 0;
        if (bytes > known(code.shared_dynamic)) continue;
        CUresult r = cji_kernel_resident(k, threads, (uint32_t)bytes, &blocks);
        if (r != CUDA_SUCCESS) return r;
        if (blocks * threads <= most_threads) continue;
        most_threads = blocks * threads;
        *best = cj_dims_shared(cj_grid((uint32_t)blocks, threads), (uint32_t)bytes);
    }
    return CUDA_SUCCESS;
}

cj_status cj_kernel_suggest_block(cj_kernel *k, uint32_t shared, uint32_t shared_thread, uint32_t most, cj_dims *dims)
{
    static const char call[] = "cj_kernel_suggest_block";
    cji_scope scope;
    cj_dims best = cj_grid(0, 0);
    cj_status st = cji_check(k, CJI_TAG_KERNEL, call);
    if (st != CJ_OK) return st;
    if (!dims) return cji_fail(k, CJ_EINVAL, call, "the dimensions are NULL");
    const cj_kernel_info code = cji_kernel_code(k);
    const uint32_t allowed = known(code.block_threads ? code.block_threads : k->dev->info.block_threads);
    if (!most || most > allowed) most = allowed;
    st = cji_scope_begin_relaxed(k, k->dev, &scope, call);
    if (st != CJ_OK) return st;
    CUresult r = best_block(k, shared, shared_thread, most, &best);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS) return cji_cu_fail_on(k, k->dev, NULL, r, occupancy_call, call, "%s", call);
    if (!best.block[0])
        return cji_fail(k, CJ_EINVAL, call,
                        "%s: no block fits with %u bytes of dynamic shared memory and %u for each thread; the device "
                        "has %d beside the kernel's %d static ones",
                        cji_short(k->name), shared, shared_thread, code.shared_dynamic, code.shared);
    *dims = best;
    return CJ_OK;
}

/* -- Clusters ------------------------------------------------------------------------------------------------------ */

cj_status cj_kernel_max_clusters(cj_kernel *k, const cj_dims *dims, uint32_t *clusters)
{
    static const char call[] = "cj_kernel_max_clusters";
    cji_scope scope;
    int n = 0;
    CUlaunchAttribute attr[CJI_LAUNCH_ATTRIBUTES];
    cj_status st = cji_check(k, CJI_TAG_KERNEL, call);
    if (st != CJ_OK) return st;
    if (!dims || !clusters) return cji_fail(k, CJ_EINVAL, call, "the dimensions or the result are NULL");
    st = cji_dims_check(k, k, dims, call);
    if (st != CJ_OK) return st;
    st = cji_scope_begin_relaxed(k, k->dev, &scope, call);
    if (st != CJ_OK) return st;
    const CUlaunchConfig config = cji_launch_config(NULL, dims, attr);
    CUresult r = cji_kernel_allow_shared(k, dims->shared);
    if (r == CUDA_SUCCESS) r = k->dev->api.cuOccupancyMaxActiveClusters(&n, k->fn, &config);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS)
        return cji_cu_fail_on(k, k->dev, NULL, r, "cuOccupancyMaxActiveClusters", call, "%s: %s", call,
                              cji_short(k->name));
    *clusters = known(n);
    return CJ_OK;
}
