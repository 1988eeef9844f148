/* The decoy's count. */
#ifndef CUJIT_TESTS_DECOY_LIBCUDA_H
#define CUJIT_TESTS_DECOY_LIBCUDA_H

#include "cuda/abi.h"

extern __attribute__((visibility("default"))) int decoy_calls;

#endif
