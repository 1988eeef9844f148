/* What all rooms do at moments that one of them brings about: see struct sim_room. */
#include "sim/core/sim_core.h"

#define SIM_UPWARDS(i) for (size_t i = 0; i < sim.nrooms; i++)
#define SIM_DOWNWARDS(i) for (size_t i = sim.nrooms; i-- > 0;)

CUresult cji_sim_rooms_ctx_begin(sim_ctx *c)
{
    CUresult result = CUDA_SUCCESS;
    SIM_UPWARDS(i)
        if (!result && sim.rooms[i]->ctx_begin) result = sim.rooms[i]->ctx_begin(c);
    if (result) cji_sim_rooms_ctx_end(c);
    return result;
}

void cji_sim_rooms_ctx_wait(sim_ctx *c)
{
    SIM_DOWNWARDS(i)
        if (sim.rooms[i]->ctx_wait) sim.rooms[i]->ctx_wait(c);
}

void cji_sim_rooms_ctx_abort(sim_ctx *c)
{
    SIM_DOWNWARDS(i)
        if (sim.rooms[i]->ctx_abort) sim.rooms[i]->ctx_abort(c);
}

void cji_sim_rooms_ctx_end(sim_ctx *c)
{
    SIM_DOWNWARDS(i)
        if (sim.rooms[i]->ctx_end) sim.rooms[i]->ctx_end(c);
}

void cji_sim_rooms_module_loaded(void)
{
    SIM_DOWNWARDS(i)
        if (sim.rooms[i]->module_loaded) sim.rooms[i]->module_loaded();
}

void cji_sim_rooms_synchronised(sim_device *d)
{
    SIM_DOWNWARDS(i)
        if (sim.rooms[i]->synchronised) sim.rooms[i]->synchronised(d);
}

void cji_sim_rooms_op_watch(sim_op *op)
{
    SIM_UPWARDS(i)
        if (sim.rooms[i]->op_watch) sim.rooms[i]->op_watch(op);
}

void cji_sim_rooms_op_unwatch(sim_op *op)
{
    SIM_DOWNWARDS(i)
        if (sim.rooms[i]->op_unwatch) sim.rooms[i]->op_unwatch(op);
}

void cji_sim_rooms_thread_end(sim_thread *t)
{
    SIM_DOWNWARDS(i)
        if (sim.rooms[i]->thread_end) sim.rooms[i]->thread_end(t);
}

void cji_sim_rooms_device_end(sim_device *d)
{
    SIM_DOWNWARDS(i)
        if (sim.rooms[i]->device_end) sim.rooms[i]->device_end(d);
}

void cji_sim_rooms_process_end(void)
{
    SIM_DOWNWARDS(i)
        if (sim.rooms[i]->process_end) sim.rooms[i]->process_end();
}

void cji_sim_rooms_process_over(void)
{
    SIM_DOWNWARDS(i)
        if (sim.rooms[i]->process_over) sim.rooms[i]->process_over();
}
