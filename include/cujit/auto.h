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

#include <cujit/compiler.h>
#include <cujit/coordinate.h>
#include <cujit/driver.h>
#include <cujit/graph.h>
#include <cujit/graph_exec.h>
#include <cujit/interop.h>
#include <cujit/linker.h>
#include <cujit/memory.h>
#include <cujit/memory_pool.h>
#include <cujit/pipeline.h>
#include <cujit/kernel_cache.h>
#include <cujit/pool.h>
#include <cujit/profile.h>
#include <cujit/ptx.h>
#include <cujit/stream.h>
#include <cujit/stream_barrier.h>
#include <cujit/texture.h>
#include <cujit/virtual_memory.h>
#include <cujit/waiter.h>

#if defined __GNUC__

/* `type` is one of the types below: cj_ptx, cj_driver, ... */
#define CJ_AUTO(type) __attribute__((cleanup(cj_auto_##type))) type *

/* What CJ_AUTO calls; never called by hand. */
static inline void cj_auto_cj_coord(cj_coord **object) { cj_coord_free(*object); }
static inline void cj_auto_cj_device(cj_device **object) { cj_device_close(*object); }
static inline void cj_auto_cj_disk_cache(cj_disk_cache **object) { cj_disk_cache_close(*object); }
static inline void cj_auto_cj_driver(cj_driver **object) { cj_driver_close(*object); }
static inline void cj_auto_cj_event(cj_event **object) { cj_event_free(*object); }
static inline void cj_auto_cj_event_pool(cj_event_pool **object) { cj_event_pool_free(*object); }
static inline void cj_auto_cj_graph(cj_graph **object) { cj_graph_free(*object); }
static inline void cj_auto_cj_graph_exec(cj_graph_exec **object) { cj_graph_exec_free(*object); }
static inline void cj_auto_cj_graph_exec_cache(cj_graph_exec_cache **object) { cj_graph_exec_cache_free(*object); }
static inline void cj_auto_cj_image(cj_image **object) { cj_image_free(*object); }
static inline void cj_auto_cj_kernel(cj_kernel **object) { cj_kernel_free(*object); }
static inline void cj_auto_cj_compiler(cj_compiler **object) { cj_compiler_free(*object); }
static inline void cj_auto_cj_future(cj_future **object) { cj_future_free(*object); }
static inline void cj_auto_cj_linker(cj_linker **object) { cj_linker_free(*object); }
static inline void cj_auto_cj_module(cj_module **object) { cj_module_free(*object); }
static inline void cj_auto_cj_pipeline(cj_pipeline **object) { cj_pipeline_free(*object); }
static inline void cj_auto_cj_prepared(cj_prepared **object) { cj_prepared_free(*object); }
static inline void cj_auto_cj_ptx(cj_ptx **object) { cj_ptx_free(*object); }
static inline void cj_auto_cj_stream(cj_stream **object) { cj_stream_free(*object); }
static inline void cj_auto_cj_kernel_cache(cj_kernel_cache **object) { cj_kernel_cache_free(*object); }
static inline void cj_auto_cj_stream_pool(cj_stream_pool **object) { cj_stream_pool_free(*object); }
static inline void cj_auto_cj_profile(cj_profile **object) { cj_profile_free(*object); }
static inline void cj_auto_cj_stream_barrier(cj_stream_barrier **object) { cj_stream_barrier_free(*object); }
static inline void cj_auto_cj_tensor(cj_tensor **object) { cj_tensor_free(*object); }
static inline void cj_auto_cj_mem_pool(cj_mem_pool **object) { cj_mem_pool_free(*object); }
static inline void cj_auto_cj_vmem(cj_vmem **object) { cj_vmem_free(*object); }
static inline void cj_auto_cj_array(cj_array **object) { cj_array_free(*object); }
static inline void cj_auto_cj_texture(cj_texture **object) { cj_texture_free(*object); }
static inline void cj_auto_cj_surface(cj_surface **object) { cj_surface_free(*object); }
static inline void cj_auto_cj_waiter(cj_waiter **object) { cj_waiter_free(*object); }

/* CJ_AUTO_EVENT(e, pool, CJ_EVENT_TIMING) declares `e` with the acquired event e.event, which is
 * released when control leaves the scope; CJ_AUTO_LEASE(l, pool, request), the lease l.lease of a
 * stream pool.  0 when the acquisition failed. */
typedef struct cj_auto_event { cj_event_pool *pool; cj_pooled_event event; } cj_auto_event;
typedef struct cj_auto_lease { cj_stream_pool *pool; cj_pooled_stream lease; } cj_auto_lease;
static inline void cj_auto_event_release(cj_auto_event *e)
{
    if (e->event) cj_event_pool_release(e->pool, e->event);
}
static inline void cj_auto_lease_release(cj_auto_lease *l)
{
    if (l->lease) cj_stream_pool_release(l->pool, l->lease);
}
#define CJ_AUTO_EVENT(name, from, kind) \
    __attribute__((cleanup(cj_auto_event_release))) cj_auto_event name = { from, cj_event_pool_acquire(from, kind) }
#define CJ_AUTO_LEASE(name, from, request) \
    __attribute__((cleanup(cj_auto_lease_release))) cj_auto_lease name = { from, cj_stream_pool_acquire(from, request) }

#endif

#endif
