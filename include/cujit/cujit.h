/* cujit/cujit.h - all of cujit: build kernels in memory, have the driver compile them, launch them.
 *
 *     cj_ptx (ptx.h) ................ a PTX module in memory
 *       cj_fn ....................... a kernel or function in it; cj_val: a value in that function
 *         blocks.h, async.h, tensor_core.h  blocks of instructions: reductions, copies, matrices
 *     cj_driver (driver.h) .......... libcuda, or the CPU device
 *       cj_device ................... one GPU
 *         cj_image, cj_module ....... PTX compiled for the device; code loaded on it
 *           cj_kernel ............... ready for cj_launch (launch.h)
 *         cj_linker (linker.h) ...... builders, PTX and libraries joined into one image
 *         cj_kernel_cache ........... kernels by key, in memory (kernel_cache.h)
 *         cj_disk_cache ............. the folder of compiled kernels (kernel_cache.h)
 *         cj_compiler (compiler.h) .. compiles on many threads; cj_future: what a request makes
 *         cj_dptr (memory.h) ........ device memory
 *         cj_vmem ................... memory that grows in place (virtual_memory.h)
 *         cj_mem_pool ............... memory pools of the driver (memory_pool.h)
 *         cj_array, cj_texture, cj_surface  memory that kernels read as images (texture.h)
 *         cj_stream (stream.h) ...... a queue of work; cj_event: a point in it; copies: copy.h
 *         cj_tensor_map ............. how kernels copy parts of tensors (tensor_map.h)
 *         cj_event_pool, cj_stream_pool  events and streams to acquire and release (pool.h)
 *         cj_stream_barrier ......... a barrier over streams (stream_barrier.h)
 *         cj_waiter ................. completions by callback or by poll (waiter.h)
 *         cj_coord .................. tasks in the order of what they need (coordinate.h)
 *         cj_pipeline ............... input in chunks: upload, compute, download (pipeline.h)
 *         cj_graph (graph.h) ........ work built once, or captured (capture.h)
 *           cj_graph_exec ........... launched many times (graph_exec.h)
 *         cj_tensor (interop.h) ..... memory of other libraries: DLPack, __cuda_array_interface__
 *     cj_profile (profile.h) ........ what the streams of the program did, and when
 *
 * A kernel is made and run in this order:
 *
 *     cj_ptx_create, cj_ptx_kernel, verbs, cj_kernel_load, cj_launch, cj_stream_sync
 *
 * Order to read the headers in: ptx, verbs, control, driver, launch, memory, stream, copy; then
 * what a program needs of operands, math, blocks, async, tensor_core, tensor_map, linker, compiler,
 * kernel_cache, memory_pool, virtual_memory, texture, capture, graph, graph_exec, stream_barrier,
 * pool, waiter, coordinate, profile, pipeline, parse, interpose, replay, interop, extend.
 *
 * Lifetime.  Each object is released by its own free or close call, in any order.  An object keeps
 * alive what it needs.
 *
 * Errors.  A constructor never returns NULL.  When it fails it returns a failed object, which every
 * call accepts.  cj_ptx_status, cj_stream_sync and cj_error_of(object) report what failed first, in
 * one sentence.  base.h has the details.
 */
#ifndef CUJIT_CUJIT_H
#define CUJIT_CUJIT_H

#include <cujit/base.h>
#include <cujit/ptx.h>
#include <cujit/parse.h>
#include <cujit/driver.h>
#include <cujit/linker.h>
#include <cujit/compiler.h>
#include <cujit/memory.h>
#include <cujit/stream.h>
#include <cujit/copy.h>
#include <cujit/memory_pool.h>
#include <cujit/virtual_memory.h>
#include <cujit/texture.h>
#include <cujit/kernel_cache.h>
#include <cujit/tensor_map.h>
#include <cujit/pool.h>
#include <cujit/profile.h>
#include <cujit/stream_barrier.h>
#include <cujit/waiter.h>
#include <cujit/coordinate.h>
#include <cujit/pipeline.h>
#include <cujit/graph.h>
#include <cujit/capture.h>
#include <cujit/graph_exec.h>
#include <cujit/interpose.h>
#include <cujit/replay.h>
#include <cujit/interop.h>
#include <cujit/extend.h>
#include <cujit/auto.h>

#endif
