/* cujit/cujit.h - all of cujit: kernels built in memory, compiled by the driver, launched on streams.
 *
 *     cj_ptx  (ptx.h)                      PTX in memory
 *      +- cj_fn                            a kernel or function in it; cj_val: a value in that
 *     cj_driver  (driver.h)                libcuda, or the CPU device
 *      +- cj_device                        one GPU
 *          +- cj_image, cj_module          PTX compiled for it, and loaded on it
 *          |   +- cj_kernel                ready for cj_launch  (launch.h)
 *          +- cj_stream  (stream.h)        work in order; cj_event: a point in it
 *          |                                  more copies, managed memory: copy.h; cj_stream_barrier: a barrier over streams (stream_barrier.h)
 *          +- cj_graph, cj_graph_exec (graph.h)  work captured once, launched many times
 *
 * The life of a kernel:
 *
 *     cj_ptx_create - cj_ptx_kernel - verbs - cj_kernel_load(dev, m, "name", NULL) - cj_launch(s, k, dims, arguments...) - cj_stream_sync(s)
 *
 * Whatever is created is released by its own free or close, in any order: each object keeps alive what it needs.  No constructor returns
 * NULL and no call needs checking at once: a failed object is accepted everywhere, and cj_ptx_status(), cj_stream_sync() and
 * cj_error_of(object) tell what failed first, in one sentence.  base.h says it in full.
 */
#ifndef CUJIT_CUJIT_H
#define CUJIT_CUJIT_H

#include <cujit/base.h>
#include <cujit/ptx.h>
#include <cujit/parse.h>
#include <cujit/driver.h>
#include <cujit/stream.h>
#include <cujit/memory.h>
#include <cujit/copy.h>
#include <cujit/stream_barrier.h>
#include <cujit/graph.h>
#include <cujit/capture.h>
#include <cujit/graph_exec.h>
#include <cujit/interpose.h>

#endif
