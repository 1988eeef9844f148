/* What the programs of tests/tools/driver_programs.sh share. They know nothing of cujit: they are compiled with
 * NVIDIA's cuda.h and linked with -lcuda. */
#ifndef CUJIT_TESTS_TOOLS_DRV_CHECK_H
#define CUJIT_TESTS_TOOLS_DRV_CHECK_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program where a call fails. */
#define CHECK(call)                                                                                    \
    do {                                                                                               \
        CUresult check_ = (call);                                                                      \
        const char *name_ = "unknown";                                                                 \
        if (check_ != CUDA_SUCCESS) {                                                                  \
            cuGetErrorName(check_, &name_);                                                            \
            printf("%s:%d: %s returned %d (%s)\n", __FILE__, __LINE__, #call, (int)check_, name_);     \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

#define EXPECT(condition)                                                                              \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                             \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

#endif
