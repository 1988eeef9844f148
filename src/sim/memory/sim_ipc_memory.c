/* Memory between processes: handles of what cuMemAlloc returned. */
#include "sim/memory/sim_memory.h"

#include <unistd.h>

/* ---- Giving out -------------------------------------------------------------------------------------------------- */

/* Only what this process has of cuMemAlloc, by its beginning. */
static bool sim_ipc_may_export(CUdeviceptr at)
{
    sim_range r;
    return cji_sim_space_find(at, &r) && r.lo == at && r.place == SIM_DEVICE && !r.pool && !r.module && !r.graph &&
           !r.part.opens;
}

CUresult cji_sim_cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr at)
{
    sim_ctx *c;
    sim_ipc_way way = { .fd = -1 };
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r && !sim_ipc_may_export(at)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        cji_sim_space_change(at, cji_sim_ipc_part_export, &way);
        if (way.fd < 0) r = CUDA_ERROR_NOT_SUPPORTED;
        else if (!cji_sim_ipc_handle_fill(out, SIM_IPC_MEMORY, &way)) r = CUDA_ERROR_OPERATING_SYSTEM;
    }
    sim_unlock();
    return r;
}

/* ---- Taking in --------------------------------------------------------------------------------------------------- */

static CUresult sim_ipc_memory_open(const CUipcMemHandle *handle, sim_ctx *c, CUdeviceptr *out)
{
    sim_ipc_way way;
    uint64_t lo;
    CUresult r = cji_sim_ipc_handle_open(handle, SIM_IPC_MEMORY, &way);
    if (r)
        return r == CUDA_ERROR_INVALID_HANDLE ? CUDA_ERROR_INVALID_VALUE : r; /* freed memory: as on an H100 */
    const sim_ipc_part part = { .opens = 1, .inode = way.inode, .device = way.device, .at = way.at };
    if (!cji_sim_ipc_part_lives(&way)) r = CUDA_ERROR_INVALID_VALUE;
    else if (cji_sim_space_find_part(c, &part, &lo)) *out = lo;
    else r = cji_sim_space_alloc_part(c->dev, c, way.bytes, way.fd, &part, out);
    close(way.fd);
    return r;
}

CUresult cji_sim_cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
    sim_ctx *c;
    if (!out || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) r = cji_sim_capture_unsafe();
    if (!r) r = sim_ipc_memory_open(&handle, c, out);
    sim_unlock();
    return r;
}

static void sim_ipc_part_shut(sim_range *r, void *user)
{
    bool *last = user;
    *last = r->part.opens == 1;
    if (!*last) r->part.opens--;
}

/* Waits for what is in flight, as cuMemFree does, when it is closed for the last time. */
CUresult cji_sim_cuIpcCloseMemHandle(CUdeviceptr at)
{
    sim_ctx *c;
    sim_range range;
    bool last = false;
    sim_lock();
    bool known = cji_sim_space_find(at, &range);
    CUresult r = cji_sim_ctx_current_or(known ? range.ctx : NULL, &c);
    if (!r) r = cji_sim_capture_unsafe();
    if (!r && (!known || range.lo != at || !range.part.opens || range.pool))
        r = c->fault ? c->fault : CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        if (range.part.opens == 1 && range.ctx->alive) cji_sim_queue_wait_ctx(range.ctx);
        if (cji_sim_space_still(&range)) cji_sim_space_change(at, sim_ipc_part_shut, &last);
        else r = CUDA_ERROR_INVALID_VALUE;   /* another thread closed it meanwhile */
        if (last) r = cji_sim_space_drop(at, SIM_DEVICE, NULL);
        if (!r) r = c->fault;
    }
    sim_unlock();
    return r;
}
