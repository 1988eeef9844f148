/* Parts of allocations that an allocator of the program hands out, noted in the order of a stream. */
#include "sim/memory/sim_memory.h"

typedef struct sim_suballoc { sim_work work; uint64_t at, bytes; bool live; } sim_suballoc;

/* The allocation may be gone by now, with its parts. */
static void sim_suballoc_run(sim_op *op)
{
    const sim_suballoc *w = (const sim_suballoc *)op->work;
    cji_sim_space_part(w->at, w->bytes, w->live ? SIM_PART_BEGINS : SIM_PART_ENDS);
}

static const sim_work_kind sim_kind_suballoc = { .name = "suballocation",
                                                 .node_type = CU_GRAPH_NODE_TYPE_EMPTY,
                                                 .traits = SIM_WORK_HELPS | SIM_WORK_AFTER_FAULT,
                                                 .run = sim_suballoc_run };

static CUresult sim_suballoc_submit(CUstream h, uint64_t at, uint64_t bytes, bool live)
{
    sim_stream *s;
    CUresult r = cji_sim_stream_for_work(h, &s);
    if (!r && s->capture) r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    sim_suballoc *w = r ? NULL : (sim_suballoc *)cji_sim_work_new(&sim_kind_suballoc, s->ctx, sizeof *w);
    if (!w) return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
    w->at = at;
    w->bytes = bytes;
    w->live = live;
    if (live) cji_sim_space_part(at, bytes, SIM_PART_COMES);
    return cji_sim_stream_submit(s, &w->work);
}

int cujit_sim_suballoc(void *stream, int at_once, uint64_t address, uint64_t bytes, int live)
{
    sim_range range;
    CUresult r = cji_sim_enter(true);
    if (r) return (int)r;
    sim_lock();
    const bool known = cji_sim_space_find(address, &range) && range.place == SIM_DEVICE;
    if (!known || !bytes || bytes > range.bytes - (address - range.lo)) r = CUDA_ERROR_INVALID_VALUE;
    else if (at_once) r = cji_sim_space_part(address, bytes, live ? SIM_PART_BEGINS : SIM_PART_ENDS);
    else r = sim_suballoc_submit(stream, address, bytes, live);
    sim_unlock();
    cji_sim_leave("cujit_sim_suballoc", r);
    return (int)r;
}
