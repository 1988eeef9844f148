/* The fault of a kernel, as a stream tells it. */
#include <stdio.h>
#include <string.h>

#include "stream/core/stream_core.h"

/* What the driver's result alone says. */
static cj_fault_kind kind_of_result(CUresult r)
{
    switch ((int)r) {
    case CUDA_ERROR_ILLEGAL_ADDRESS: return CJ_FAULT_ADDRESS;
    case CUDA_ERROR_MISALIGNED_ADDRESS: return CJ_FAULT_MISALIGNED;
    case CUDA_ERROR_INVALID_ADDRESS_SPACE: return CJ_FAULT_SPACE;
    case CUDA_ERROR_INVALID_PC: return CJ_FAULT_PC;
    case CUDA_ERROR_ILLEGAL_INSTRUCTION: return CJ_FAULT_TRAP;
    case CUDA_ERROR_ASSERT: return CJ_FAULT_ASSERT;
    case CUDA_ERROR_HARDWARE_STACK_ERROR: return CJ_FAULT_STACK;
    default: return CJ_FAULT_UNKNOWN;
    }
}

/* A driver that tells the result only: the kernel is known where the stream launched no other since it was
 * synchronized. */
static void fault_of_result(cj_stream *s, CUresult r, cj_fault *out)
{
    cj_fault_defaults(out);
    out->code = r;
    out->kind = kind_of_result(r);
    char names[sizeof out->kernel];
    if (cji_recent_names(s->queue, s->slot, names, sizeof names) == 0 && !strstr(names, ", "))
        snprintf(out->kernel, sizeof out->kernel, "%s", names);
}

cj_status cj_stream_get_fault(cj_stream *s, cj_fault *fault)
{
    static const char call[] = "cj_stream_get_fault";
    cj_fault full;
    char sentence[64];
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st == CJ_OK) st = cji_stream_not_captured(s, call);
    if (st != CJ_OK) return st;
    if (!fault || fault->size < sizeof fault->size)
        return cji_fail(s, CJ_EINVAL, call, "fault is NULL, or fault->size is not set: cj_fault_defaults sets it");
    if (!cji_fault_read(s->dev, &full, sentence, sizeof sentence)) {
        CUresult r = cji_wait_stream(s, 0);
        if (!cji_breaks_context(r)) return CJ_ENOTFOUND;
        fault_of_result(s, r, &full);
    }
    size_t size = fault->size;
    memcpy(fault, &full, size < sizeof full ? size : sizeof full);
    fault->size = size;
    return CJ_OK;
}
