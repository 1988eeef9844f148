/* Pieces of programs that use the library on a device: a kernel, and streams held by latches. device_bench.h has what a
 * whole program begins and ends with. */
#ifndef CUJIT_TESTS_DEVICE_PARTS_H
#define CUJIT_TESTS_DEVICE_PARTS_H

#include <cujit/cujit.h>

#include "tests/latch.h"

/* What is enqueued on `on` behind this waits until latch_open(l). */
void bench_hold(cj_stream *on, struct latch *l);
/* A module with the kernel add(x, n, v): x[i] += v, for n threads. Owned by the caller. */
cj_ptx *bench_add_module(void);

#endif
