/* What all rooms do at moments that one of them brings about: see struct sim_room. */
#include "sim/core/sim_core.h"

/* The rooms from the lowest to the highest, and back. */
#define SIM_UPWARDS(r) for (const sim_room *const *r = sim.rooms; r && *r; r++)

static const sim_room *const *sim_room_top(void)
{
    const sim_room *const *r = sim.rooms;
    while (r && *r) r++;
    return r;
}

#define SIM_DOWNWARDS(r) for (const sim_room *const *r = sim_room_top(); r && r-- != sim.rooms;)

CUresult cji_sim_rooms_ctx_begin(sim_ctx *c)
{
    CUresult result = CUDA_SUCCESS;
    SIM_UPWARDS(r)
        if (!result && (*r)->ctx_begin) result = (*r)->ctx_begin(c);
    if (result) cji_sim_rooms_ctx_end(c);
    return result;
}

void cji_sim_rooms_ctx_wait(sim_ctx *c)
{
    SIM_DOWNWARDS(r)
        if ((*r)->ctx_wait) (*r)->ctx_wait(c);
}

void cji_sim_rooms_ctx_abort(sim_ctx *c)
{
    SIM_DOWNWARDS(r)
        if ((*r)->ctx_abort) (*r)->ctx_abort(c);
}

void cji_sim_rooms_ctx_end(sim_ctx *c)
{
    SIM_DOWNWARDS(r)
        if ((*r)->ctx_end) (*r)->ctx_end(c);
}

void cji_sim_rooms_module_loaded(void)
{
    SIM_DOWNWARDS(r)
        if ((*r)->module_loaded) (*r)->module_loaded();
}

void cji_sim_rooms_synchronised(sim_device *d)
{
    SIM_DOWNWARDS(r)
        if ((*r)->synchronised) (*r)->synchronised(d);
}

void cji_sim_rooms_op_watch(sim_op *op)
{
    SIM_UPWARDS(r)
        if ((*r)->op_watch) (*r)->op_watch(op);
}

void cji_sim_rooms_op_unwatch(sim_op *op)
{
    SIM_DOWNWARDS(r)
        if ((*r)->op_unwatch) (*r)->op_unwatch(op);
}

void cji_sim_rooms_thread_end(sim_thread *t)
{
    SIM_DOWNWARDS(r)
        if ((*r)->thread_end) (*r)->thread_end(t);
}

void cji_sim_rooms_device_end(sim_device *d)
{
    SIM_DOWNWARDS(r)
        if ((*r)->device_end) (*r)->device_end(d);
}

void cji_sim_rooms_process_end(void)
{
    SIM_DOWNWARDS(r)
        if ((*r)->process_end) (*r)->process_end();
}

void cji_sim_rooms_process_over(void)
{
    SIM_DOWNWARDS(r)
        if ((*r)->process_over) (*r)->process_over();
}
