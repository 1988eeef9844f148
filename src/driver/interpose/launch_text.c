/* The kernel of a launch and the values of its arguments, as one line of text. */
#include <inttypes.h>
#include <stdio.h>

#include "driver/interpose/driver_interpose.h"

enum { LAUNCH_PARAMS = 1024 }; /* more than a kernel can have; the array has no end of its own */

/* The function that a call launches and its arguments; NULL for other calls. */
static CUfunction launched(const cji_layer_call *c, void ***params)
{
    const uint64_t *v = c->value;
    int function, at;
    switch (c->id) {
    case CJI_CU_ID_cuLaunchKernel: function = 0, at = 9; break;
    case CJI_CU_ID_cuLaunchCooperativeKernel: function = 0, at = 9; break;
    case CJI_CU_ID_cuLaunchKernelEx: function = 1, at = 2; break;
    default: return NULL;
    }
    *params = (void **)(uintptr_t)v[at];
    return (CUfunction)(uintptr_t)v[function];
}

/* A value as what it most likely is: large numbers of 8 bytes are addresses. */
static void put_param(cji_line *l, const unsigned char *p, size_t bytes)
{
    uint64_t v = 0;
    if (bytes <= 8 && !(bytes & (bytes - 1))) {
        memcpy(&v, p, bytes);
        cji_say(l, v >> 32 ? "0x%" PRIx64 : "%" PRIu64, v);
        return;
    }
    cji_say(l, "{");
    for (size_t i = 0; i < bytes && i < 32; i++) cji_say(l, "%02x", p[i]);
    cji_say(l, bytes > 32 ? "...}" : "}");
}

void cji_launch_text(char *out, size_t size, const cji_layer_call *c)
{
    const cji_cu *cu = &c->under->cu;
    const char *name = NULL;
    void **params = NULL;
    size_t offset = 0, bytes = 0;
    cji_line l = { out, size, 0 };
    *out = 0;
    const CUfunction fn = launched(c, &params);
    if (!fn || cu->cuFuncGetName(&name, fn) != CUDA_SUCCESS || !name) return;
    char shorter[CJI_SHORT_ROOM];
    cji_say(&l, "%s(", cji_shorten(shorter, sizeof shorter, name, strlen(name)));
    for (size_t i = 0; i < LAUNCH_PARAMS && params; i++) {
        if (cu->cuFuncGetParamInfo(fn, i, &offset, &bytes) != CUDA_SUCCESS) break;
        if (i) cji_say(&l, ", ");
        put_param(&l, params[i], bytes);
    }
    cji_say(&l, params ? ")" : "...)");
}
