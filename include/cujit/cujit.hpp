/* cujit/cujit.hpp - an owning class for each object of cujit, for C++17.
 *
 *     cujit::stream s = cj_stream_create(dev, nullptr);    // a constructor's pointer is taken over
 *     cj_launch(s, k, cj_threads(n, 256), x, y, n);        // every function takes the class
 *     if (cj_stream_sync(s) != CJ_OK) throw std::runtime_error(cj_error_of(s)->message);
 *
 * Lifetime. The class owns the object and releases it in its destructor. It can be moved, not
 * copied. Objects may be released in any order.
 *
 * Errors. Nothing here throws. A failed object is owned like any other; cj_error_of has its record.
 *
 * Threads. A variable of these classes is like a pointer: one thread at a time changes it.
 */
#ifndef CUJIT_CUJIT_HPP
#define CUJIT_CUJIT_HPP

#include <cujit/cujit.h>

namespace cujit {

template <typename T, void (*Release)(T *)>
class object {
public:
    constexpr object() noexcept = default;

    /* Takes `raw` over. May be NULL. */
    constexpr object(T *raw) noexcept : raw_(raw) {}

    object(object &&other) noexcept : raw_(other.release()) {}
    object(const object &) = delete;
    ~object() { Release(raw_); }

    /* Releases what it owned before. */
    object &operator=(object &&other) noexcept
    {
        reset(other.release());
        return *this;
    }
    object &operator=(const object &) = delete;

    /* The pointer. Belongs to the class. */
    constexpr T *get() const noexcept { return raw_; }
    constexpr operator T *() const & noexcept { return raw_; }
    operator T *() const && = delete; /* it would be released at once */

    /* Gives the pointer up: the caller releases it. */
    T *release() noexcept
    {
        T *raw = raw_;
        raw_ = nullptr;
        return raw;
    }

    /* Releases what it owns and takes `raw` over. */
    void reset(T *raw = nullptr) noexcept
    {
        T *old = raw_;
        raw_ = raw;
        if (old != raw) Release(old);
    }

private:
    T *raw_ = nullptr;
};

using device = object<cj_device, cj_device_close>;
using disk_cache = object<cj_disk_cache, cj_disk_cache_close>;
using driver = object<cj_driver, cj_driver_close>;
using event = object<cj_event, cj_event_free>;
using event_pool = object<cj_event_pool, cj_event_pool_free>;
using graph = object<cj_graph, cj_graph_free>;
using graph_exec = object<cj_graph_exec, cj_graph_exec_free>;
using graph_exec_cache = object<cj_graph_exec_cache, cj_graph_exec_cache_free>;
using image = object<cj_image, cj_image_free>;
using kernel = object<cj_kernel, cj_kernel_free>;
using compiler = object<cj_compiler, cj_compiler_free>;
using future = object<cj_future, cj_future_free>;
using linker = object<cj_linker, cj_linker_free>;
using module = object<cj_module, cj_module_free>;
using pipeline = object<cj_pipeline, cj_pipeline_free>;
using prepared = object<cj_prepared, cj_prepared_free>;
using ptx = object<cj_ptx, cj_ptx_free>;
using stream = object<cj_stream, cj_stream_free>;
using coord = object<cj_coord, cj_coord_free>;
using stream_barrier = object<cj_stream_barrier, cj_stream_barrier_free>;
using kernel_cache = object<cj_kernel_cache, cj_kernel_cache_free>;
using stream_pool = object<cj_stream_pool, cj_stream_pool_free>;
using tensor = object<cj_tensor, cj_tensor_free>;
using mem_pool = object<cj_mem_pool, cj_mem_pool_free>;
using vmem = object<cj_vmem, cj_vmem_free>;
using array = object<cj_array, cj_array_free>;
using texture = object<cj_texture, cj_texture_free>;
using surface = object<cj_surface, cj_surface_free>;
using waiter = object<cj_waiter, cj_waiter_free>;
using profile = object<cj_profile, cj_profile_free>;

} // namespace cujit

#endif
