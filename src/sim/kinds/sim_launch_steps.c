/* The launch calls before CUDA 4.0: block, shared memory and arguments are set one by one in the function, and stay
 * for later launches. */
#include "sim/kinds/sim_kinds.h"

#include <string.h>

/* Under the lock. */
static CUresult sim_steps_of(CUfunction h, sim_func **f)
{
    CUresult r = cji_sim_func_get(h, f);
    if (!r && !(*f)->steps) {
        (*f)->steps = cji_zalloc(sizeof *(*f)->steps);
        if (!(*f)->steps) r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return r;
}

CUresult cji_sim_cuFuncSetBlockShape(CUfunction h, int x, int y, int z)
{
    sim_func *f;
    sim_lock();
    CUresult r = sim_steps_of(h, &f);
    uint64_t most = (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    if (!r && (x < 1 || y < 1 || z < 1 || (uint64_t)x * (uint64_t)y > most ||
               (uint64_t)x * (uint64_t)y * (uint64_t)z > most))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) memcpy(f->steps->block, (unsigned[3]){ (unsigned)x, (unsigned)y, (unsigned)z }, sizeof f->steps->block);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuFuncSetSharedSize(CUfunction h, unsigned bytes)
{
    sim_func *f;
    sim_lock();
    CUresult r = sim_steps_of(h, &f);
    if (!r) f->steps->shared = bytes;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuParamSetSize(CUfunction h, unsigned bytes)
{
    sim_func *f;
    if (bytes > SIM_PARAM_BYTES) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_steps_of(h, &f);
    if (!r) f->steps->bytes = bytes;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuParamSetv(CUfunction h, int offset, void *from, unsigned bytes)
{
    sim_func *f;
    if (offset < 0 || (bytes && !from) || bytes > SIM_PARAM_BYTES || (unsigned)offset > SIM_PARAM_BYTES - bytes)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_steps_of(h, &f);
    if (!r && bytes) memcpy(f->steps->param + offset, from, bytes);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuParamSeti(CUfunction h, int offset, unsigned value)
{
    return cji_sim_cuParamSetv(h, offset, &value, sizeof value);
}

CUresult cji_sim_cuParamSetf(CUfunction h, int offset, float value)
{
    return cji_sim_cuParamSetv(h, offset, &value, sizeof value);
}

CUresult cji_sim_cuLaunchGridAsync(CUfunction h, int width, int height, CUstream s)
{
    sim_func *f;
    if (width < 1 || height < 1) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_steps_of(h, &f);
    sim_shape shape = { .grid = { (uint32_t)width, (uint32_t)height, 1 } };
    sim_work *w = NULL;
    sim_stream *stream;
    if (!r) r = cji_sim_stream_for_work(s, &stream);
    if (!r && f->module->ctx != stream->ctx) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) {
        size_t bytes = f->steps->bytes;
        void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, f->steps->param, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                          CU_LAUNCH_PARAM_END };
        for (int i = 0; i < 3; i++) shape.block[i] = f->steps->block[i];
        shape.shared = f->steps->shared;
        r = cji_sim_launch_work(f, &shape, NULL, bytes ? extra : NULL, &w);
    }
    if (!r) r = cji_sim_stream_submit(stream, w);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuLaunchGrid(CUfunction h, int width, int height)
{
    return cji_sim_cuLaunchGridAsync(h, width, height, NULL);
}

CUresult cji_sim_cuLaunch(CUfunction h) { return cji_sim_cuLaunchGridAsync(h, 1, 1, NULL); }
