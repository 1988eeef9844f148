/* For the targets that call the CPU device's driver: its entry points, and a context. */
#ifndef CUJIT_TESTS_FUZZ_DRIVER_H
#define CUJIT_TESTS_FUZZ_DRIVER_H

#include <stdlib.h>
#include <string.h>

#include <cujit/sim.h>

#include "cuda/abi.h"
#include "cuda/table.h"
#include "tests/fuzz/fuzz.h"

static cji_cu cu;
static CUcontext fuzz_ctx;

static inline void fuzz_open(void)
{
    void *p;
#define CU(name, export, version, need, count, list) \
    p = cujit_sim_get_symbol(NULL, #export); \
    memcpy(&cu.name, &p, sizeof p);
#include "cuda/symbols.def"
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&fuzz_ctx, 0) || cu.cuCtxSetCurrent(fuzz_ctx))
        cji_fuzz_fail("the CPU device does not open");
}

/* The calling thread's current context is the device's primary one, without a fault. */
static inline void fuzz_context(void)
{
    if (cu.cuCtxSetCurrent(fuzz_ctx)) cji_fuzz_fail("the context is not set");
    if (!cu.cuCtxSynchronize()) return;
    if (cu.cuDevicePrimaryCtxReset(0) || cu.cuDevicePrimaryCtxRetain(&fuzz_ctx, 0) || cu.cuCtxSetCurrent(fuzz_ctx))
        cji_fuzz_fail("the context does not begin again");
}

#endif
