/* CJ_AUTO: each object is released when control leaves its scope, however it does. */
#include <stdlib.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

static uint64_t live; /* bytes that are allocated */

static void *counting(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    void *q = size ? realloc(p, size) : NULL;
    if (!size) free(p);
    if (q || !size) __atomic_add_fetch(&live, size - (p ? old : 0), __ATOMIC_RELAXED);
    return q;
}

static cj_ptx *make_doubled(void)
{
    CJ_AUTO(cj_ptx) m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "doubled");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), i = cj_global_id(f, CJ_X), v = cj_get(f, x, i);
    cj_set(f, x, i, cj_add(f, v, v));
    cj_ptx *made = m;
    m = NULL; /* the caller's now */
    return made;
}

/* An object of each kind; `way` is how the scope is left. Returns how many doubled numbers are right. */
static int use_each(int way)
{
    enum { N = 32 };
    uint32_t h[N];
    int right = 0;
    for (int round = 0; round < 2; round++) {
        CJ_AUTO(cj_ptx) m = make_doubled();
        CJ_AUTO(cj_driver) drv = cj_driver_open(NULL);
        CJ_AUTO(cj_device) dev = cj_device_open(drv, 0, NULL);
        CJ_AUTO(cj_stream) s = cj_stream_create(dev, NULL);
        CJ_AUTO(cj_image) img = cj_image_create(dev, m, NULL);
        CJ_AUTO(cj_compiler) compiler = cj_compiler_create(dev, NULL);
        CJ_AUTO(cj_future) request = cj_compiler_image(compiler, m, NULL);
        CJ_AUTO(cj_linker) link = cj_linker_create(dev, NULL);
        CJ_AUTO(cj_module) mod = cj_module_load(dev, m, NULL);
        CJ_AUTO(cj_kernel) k = cj_module_kernel(mod, "doubled");
        CJ_AUTO(cj_event) e = cj_event_create(dev, NULL);
        CJ_AUTO(cj_prepared) prepared = cj_prepare(k, cj_grid(1, 32), (cj_dptr){ 0 });
        CJ_AUTO(cj_stream_barrier) b = cj_stream_barrier_create(dev);
        CJ_AUTO(cj_waiter) w = cj_waiter_create(dev, NULL);
        CJ_AUTO(cj_coord) tasks = cj_coord_create(dev, NULL);
        CJ_AUTO(cj_pipeline) pipeline = cj_pipeline_create(dev, NULL);
        CJ_AUTO(cj_graph) g = cj_graph_create(dev);
        CJ_AUTO(cj_graph_exec) x = cj_graph_instantiate(g, NULL);
        CJ_AUTO(cj_graph_exec_cache) c = cj_graph_exec_cache_create(dev, NULL);
        CJ_AUTO(cj_event_pool) pool = cj_event_pool_create(dev, NULL);
        CJ_AUTO(cj_stream_pool) streams = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 1));
        CJ_AUTO(cj_kernel_cache) kernels = cj_kernel_cache_create(dev, CJ_KERNEL_CACHE(.kernels = 2));
        CJ_AUTO(cj_disk_cache) stored = cj_disk_cache_open("/nonexistent");
        (void)stored;
        CJ_AUTO(cj_profile) times = cj_profile_create(NULL);
        CJ_AUTO(cj_mem_pool) memory = cj_mem_pool_create(dev, NULL);
        (void)memory;
        CJ_AUTO(cj_vmem) grows = cj_vmem_create(s, 1, NULL);
        CJ_AUTO(cj_array) line = cj_array_create(dev, CJ_ARRAY(.width = 16, .surface = 1));
        CJ_AUTO(cj_texture) texture = cj_texture_create(line, NULL);
        CJ_AUTO(cj_surface) surface = cj_surface_create(line);
        CJ_AUTO(cj_tensor) tensor = cj_tensor_from_dlpack(dev, NULL);
        (void)tensor;
        CJ_AUTO_EVENT(pooled, pool, CJ_EVENT_TIMING);
        CJ_AUTO_LEASE(lease, streams, NULL);
        if (!pooled.event || !lease.lease) continue;
        CJ_AUTO(cj_event) none = NULL; /* nothing to free */
        (void)none;
        for (uint32_t i = 0; i < N; i++) h[i] = i;
        cj_dptr d = cj_alloc(s, sizeof h);
        cj_copy_to_device(s, d, h, sizeof h);
        cj_launch(s, k, cj_grid(1, N), d);
        cj_copy_to_host(s, h, d, sizeof h);
        cj_event_record(e, s);
        cj_status status = cj_stream_sync(s);
        cj_free(dev, d);
        const void *made[] = { m, drv, dev, s, img, mod, k, e, b, w, tasks, pipeline, g, x, c, pool, streams, times,
                               link, prepared, kernels, compiler, request, grows, line, texture, surface };
        for (size_t i = 0; i < sizeof made / sizeof *made; i++)
            if (cj_error_of(made[i])->status != CJ_OK) tap_diag("object %zu: %s", i, cj_error_of(made[i])->message);
        for (uint32_t i = 0; i < N && status == CJ_OK; i++) right += h[i] == 2 * i;
        if (way == 1) return right;
        if (way == 2) break;
        if (way == 3) goto out;
    }
out:
    return right;
}

int main(void)
{
    static const char *const ways[] = { "at its end", "by return", "by break", "by goto" };
    tap_need_device(1);
    tap_plan(0);
    cj_set_allocator(counting, NULL);
    use_each(0);                  /* what the process keeps is there now */
    const uint64_t before = live;
    for (int way = 0; way < 4; way++) {
        tap_is_int(use_each(way), way == 0 ? 64 : 32, "a scope that is left %s", ways[way]);
        tap_is_uint(live, before, "... has released every object");
    }
    cj_ptx *m = make_doubled();
    tap_is_int(cj_ptx_status(m), CJ_OK, "an object that a function returns lives on");
    cj_ptx_free(m);
    tap_is_uint(live, before, "... until its owner frees it");
    return tap_done();
}
