// cujit.hpp: the classes own, move and release each kind of object.
#include <cujit/cujit.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

static std::uint64_t live; // bytes that are allocated
static int wrong;

static void *counting(void *, void *p, std::size_t old, std::size_t size)
{
    void *q = size ? std::realloc(p, size) : nullptr;
    if (!size) std::free(p);
    if (q || !size) __atomic_add_fetch(&live, size - (p ? old : 0), __ATOMIC_RELAXED);
    return q;
}

static void check(bool holds, const char *what)
{
    if (holds) return;
    std::printf("%s: wrong\n", what);
    wrong++;
}

static cujit::ptx make_doubled()
{
    cujit::ptx m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "doubled");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), i = cj_global_id(f, CJ_X), v = cj_get(f, x, i);
    cj_set(f, x, i, cj_add(f, v, v));
    return m;
}

// An object of each kind.
static void use_each()
{
    enum { N = 32 };
    std::uint32_t h[N];
    cujit::ptx m = make_doubled();
    cujit::driver drv = cj_driver_open(nullptr);
    cujit::device dev = cj_device_open(drv, 0, nullptr);
    std::vector<cujit::stream> streams;
    for (int i = 0; i < 3; i++) streams.push_back(cj_stream_create(dev, nullptr));
    cujit::image img = cj_image_create(dev, m, nullptr);
    cujit::module mod = cj_module_load(dev, m, nullptr);
    cujit::kernel k = cj_module_kernel(mod, "doubled");
    cujit::event e = cj_event_create(dev, nullptr);
    cujit::event_pool events = cj_event_pool_create(dev, nullptr);
    cujit::stream_pool leases = cj_stream_pool_create(dev, nullptr);
    cujit::kernel_cache kernels = cj_kernel_cache_create(dev, nullptr);
    cujit::disk_cache stored = cj_disk_cache_open("/nonexistent");
    cujit::profile times = cj_profile_create(nullptr);
    cujit::mem_pool memory = cj_mem_pool_create(dev, nullptr);
    cujit::vmem grows = cj_vmem_create(streams[0], 1, nullptr);
    cj_array_opts line;
    cj_array_defaults(&line);
    line.width = 16, line.surface = 1;
    cujit::array pixels = cj_array_create(dev, &line);
    cujit::texture reads = cj_texture_create(pixels, nullptr);
    cujit::surface writes = cj_surface_create(pixels);
    cujit::tensor tensor = cj_tensor_from_dlpack(dev, nullptr);
    cujit::stream_barrier b = cj_stream_barrier_create(dev);
    cujit::waiter w = cj_waiter_create(dev, nullptr);
    cujit::coord tasks = cj_coord_create(dev, nullptr);
    cujit::compiler compiler = cj_compiler_create(dev, nullptr);
    cujit::future request = cj_compiler_image(compiler, m, nullptr);
    cujit::linker link = cj_linker_create(dev, nullptr);
    cujit::pipeline pipeline = cj_pipeline_create(dev, nullptr);
    cujit::graph g = cj_graph_create(dev);
    cujit::graph_exec x = cj_graph_instantiate(g, nullptr);
    cujit::graph_exec_cache c = cj_graph_exec_cache_create(dev, nullptr);
    for (std::uint32_t i = 0; i < N; i++) h[i] = i;
    cujit::stream &s = streams[1];
    cj_dptr d = cj_alloc(s, sizeof h);
    cj_copy_to_device(s, d, h, sizeof h);
    cujit::prepared twice = cj_prepare(k, cj_grid(1, N), d);
    check(cj_prepared_set(twice, 0, d) == CJ_OK, "an argument is replaced");
    cj_launch_name(s, mod, "doubled", cj_grid(1, 1), d);
    cj_launch_prepared(s, twice);
    cj_copy_to_host(s, h, d, sizeof h);
    cj_event_record(e, s);
    check(cj_stream_sync(s) == CJ_OK, cj_error_of(s)->message);
    cj_free(dev, d);
    const void *const made[] = { m, drv, dev, s, img, mod, k, e, events, leases, times, grows, pixels, reads, writes,
                                 b, w, g, x, c };
    for (const void *object : made) check(cj_error_of(object)->status == CJ_OK, cj_error_of(object)->message);
    for (std::uint32_t i = 0; i < N; i++) check(h[i] == (i ? 2 * i : 0), "a doubled number");
}

static void move_about(const cujit::device &dev)
{
    cujit::event a = cj_event_create(dev, nullptr), b;
    cj_event *raw = a;
    check(raw && a.get() == raw && !b, "a class has the constructor's pointer, an empty one has NULL");
    b = std::move(a);
    check(!a.get() && b == raw, "a move leaves NULL behind");
    b = std::move(*&b);
    check(b == raw, "a move to itself changes nothing");
    cujit::event c(b.release());
    check(!b.get() && c == raw, "release gives the pointer up");
    c.reset(c.get());
    check(c == raw, "reset to the same pointer changes nothing");
    c = cj_event_create(dev, nullptr);
    check(c && cj_error_of(c)->status == CJ_OK, "a new pointer replaces the old object");
    c.reset();
    check(!c, "reset leaves NULL");
}

static_assert(!std::is_copy_constructible_v<cujit::stream> && !std::is_copy_assignable_v<cujit::stream>, "not copied");
static_assert(std::is_nothrow_move_constructible_v<cujit::stream> && std::is_nothrow_move_assignable_v<cujit::stream>,
              "moved");
static_assert(sizeof(cujit::stream) == sizeof(cj_stream *), "as small as a pointer");
static_assert(!std::is_convertible_v<cujit::stream, cj_stream *> && std::is_convertible_v<cujit::stream &, cj_stream *>,
              "no pointer of a temporary");

int main()
{
    cj_set_allocator(counting, nullptr);
    use_each(); // what the process keeps is there now
    const std::uint64_t before = live;
    use_each();
    {
        cujit::driver drv = cj_driver_open(nullptr);
        cujit::device dev = cj_device_open(drv, 0, nullptr);
        move_about(dev);
    }
    if (live != before)
        std::printf("%llu bytes were not released\n", static_cast<unsigned long long>(live - before)), wrong++;
    return wrong != 0;
}
