/* Pieces of work of captures that take more than a call (see answers.h): each writes word `me` from word `from`, in a
 * stream.  Statuses come back. */
#ifndef CUJIT_TESTS_ANSWERS_WORK_H
#define CUJIT_TESTS_ANSWERS_WORK_H

#include "answers.h"

/* With a random attribute, which is reported. */
static inline int an_launch_with(const an_tools *tools, CUstream s, unsigned me, unsigned from, unsigned n)
{
    static const int ids_of[] = { 2, 4, 5, 6, 8, 10, 14, 1 };
    CUdeviceptr to = an_word(tools, me), at = an_word(tools, from);
    void *params[] = { &to, &at, &n };
    CUlaunchAttribute a;
    CUlaunchConfig c = { .gridDimX = 1,
                         .gridDimY = 1,
                         .gridDimZ = 1,
                         .blockDimX = 1,
                         .blockDimY = 1,
                         .blockDimZ = 1,
                         .hStream = s,
                         .attrs = &a,
                         .numAttrs = 1 };
    int id = AN_PICK(ids_of);
    memset(&a, 0, sizeof a);
    a.id = (CUlaunchAttributeID)id;
    switch (id) {
    case 4: a.value.clusterDim.x = a.value.clusterDim.y = a.value.clusterDim.z = 1; break;
    case 8: a.value.priority = -(int)an_below(4); break;
    case 1: case 6: break;
    default: a.value.cooperative = (int)an_below(2);
    }
    an_more(" attribute %d", id);
    return an_status(
        (int)(cu.cuLaunchKernelEx ? cu.cuLaunchKernelEx(&c, tools->step, params, NULL) : CUDA_ERROR_NOT_FOUND));
}

static inline int an_copy_3d(const an_tools *tools, CUstream s, unsigned me, unsigned from)
{
    CUDA_MEMCPY3D c;
    memset(&c, 0, sizeof c);
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = an_word(tools, from);
    c.dstDevice = an_word(tools, me);
    c.srcPitch = c.dstPitch = 4;
    c.srcHeight = c.dstHeight = 1;
    c.WidthInBytes = 4;
    c.Height = c.Depth = 1;
    return (int)cu.cuMemcpy3DAsync(&c, s);
}

static inline int an_copy_2d(const an_tools *tools, CUstream s, unsigned me, unsigned from)
{
    CUDA_MEMCPY2D c;
    memset(&c, 0, sizeof c);
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = an_word(tools, from);
    c.dstDevice = an_word(tools, me);
    c.WidthInBytes = 4;
    c.Height = 1;
    return (int)cu.cuMemcpy2DAsync(&c, s);
}

#endif
