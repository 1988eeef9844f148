/* cujit/auto.h - objects that are released at the end of their scope, in C by gcc and clang.
 *
 *     CJ_AUTO(cj_stream) s = cj_stream_create(dev, NULL);
 *
 * Declares `s` as a cj_stream * that is released when control leaves the scope: at its end, by
 * return, break, continue or goto. Several variables are released in the reverse order.
 *
 * Lifetime. The variable owns the object. A function that returns the object, or hands it to
 * another owner, copies the pointer and sets the variable to NULL.
 *
 * A variable must be initialised where it is declared, with NULL at least. C++ has the classes of
 * cujit/cujit.hpp. Device memory and host memory are no objects: cj_free and cj_host_free.
 */
#ifndef CUJIT_AUTO_H
#define CUJIT_AUTO_H

#include <cujit/driver.h>
#include <cujit/graph.h>
#include <cujit/graph_exec.h>
#include <cujit/ptx.h>
#include <cujit/stream.h>
#include <cujit/stream_barrier.h>

#if defined __GNUC__

/* `type` is one of the types below: cj_ptx, cj_driver, ... */
#define CJ_AUTO(type) __attribute__((cleanup(cj_auto_##type))) type *

/* What CJ_AUTO calls; never called by hand. */
static inline void cj_auto_cj_device(cj_device **object) { cj_device_close(*object); }
static inline void cj_auto_cj_driver(cj_driver **object) { cj_driver_close(*object); }
static inline void cj_auto_cj_event(cj_event **object) { cj_event_free(*object); }
static inline void cj_auto_cj_graph(cj_graph **object) { cj_graph_free(*object); }
static inline void cj_auto_cj_graph_exec(cj_graph_exec **object) { cj_graph_exec_free(*object); }
static inline void cj_auto_cj_graph_exec_cache(cj_graph_exec_cache **object) { cj_graph_exec_cache_free(*object); }
static inline void cj_auto_cj_image(cj_image **object) { cj_image_free(*object); }
static inline void cj_auto_cj_kernel(cj_kernel **object) { cj_kernel_free(*object); }
static inline void cj_auto_cj_module(cj_module **object) { cj_module_free(*object); }
static inline void cj_auto_cj_ptx(cj_ptx **object) { cj_ptx_free(*object); }
static inline void cj_auto_cj_stream(cj_stream **object) { cj_stream_free(*object); }
static inline void cj_auto_cj_stream_barrier(cj_stream_barrier **object) { cj_stream_barrier_free(*object); }

#endif

#endif
