/* A CUDA driver made for tests of src/driver: every entry point answers success, and a case says what else: which are
 * missing, what
 * one of them answers, what the compiler says. */
#ifndef CUJIT_TESTS_LIBFAKE_H
#define CUJIT_TESTS_LIBFAKE_H

#include <cujit/cujit.h>

#include "cuda/table.h"

typedef struct libfake {
    const char *missing;     /* exported symbol that is not there; NULL: none */
    int fail_id;             /* this entry point ... */
    CUresult fail_with;      /* ... answers this; CUDA_SUCCESS: none */
    int version;             /* cuDriverGetVersion */
    int devices;
    int capability;          /* of each device: 103 is 10.3; 0: 9.0 */
    CUresult compiler;       /* what cuLinkAddData and cuModuleLoadDataEx answer for PTX */
    const char *log;         /* what the compiler writes into the error log; NULL: nothing */
    size_t cubin;            /* bytes of compiled code */
    /* What was seen. */
    int calls[CJI_CU_COUNT];
    size_t ptx_bytes;        /* given to cuLinkAddData */
    char ptx[4096];
    unsigned jit_set;        /* bit i: CUjit_option i was passed to the latest compilation */
    uintptr_t jit_value[32]; /* its value */
    unsigned host_flags;     /* given to cuMemHostAlloc */
    unsigned ctx_flags;      /* of the primary context */
    const void *loaded;      /* given to cuModuleLoadData */
    int retained, linkers, modules, pinned; /* that are out */
    CUcontext current;
    int depth;
} libfake;
extern libfake lib;

void libfake_reset(void);                       /* one device, CUDA 13.0, nothing fails */
void *libfake_symbol(void *user, const char *symbol);
cj_driver *libfake_open(void);
CUcontext libfake_context(void);                /* the device's */

#endif
