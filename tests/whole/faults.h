/* Opens a driver of which the n-th call fails. */
#ifndef CUJIT_TESTS_WHOLE_FAULTS_H
#define CUJIT_TESTS_WHOLE_FAULTS_H

#include <stddef.h>
#include <stdint.h>

#include <cujit/driver.h>

enum { FAULTS_SAMPLE = 4 }; /* runs of each kind in make check */

/* Counts in *calls; call *fail (1 is the first, 0: none) fails with CUDA_ERROR_UNKNOWN or what suits it, and its name goes to `name`. */
cj_driver *faults_open(const char *which, uint64_t *calls, const uint64_t *fail, char *name, size_t size);

#endif
