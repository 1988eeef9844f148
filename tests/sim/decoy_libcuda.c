/* A library that has every name of libcuda and can do nothing: who calls one of these instead of the CPU device is
 * counted. */
#include "decoy_libcuda.h"

int decoy_calls;

#define DECOY_UNUSED(T, a) (void)a;
#define CU(name, export, version, need, count, list)                                               \
    __attribute__((visibility("default"))) CUresult export(CJI_CU_DECL(count, list));              \
    CUresult export(CJI_CU_DECL(count, list))                                                      \
    {                                                                                              \
        CJI_CU_EACH(count, DECOY_UNUSED, list)                                                     \
        decoy_calls++;                                                                             \
        return CUDA_ERROR_STUB_LIBRARY;                                                            \
    }
#include "cuda/symbols.def"
