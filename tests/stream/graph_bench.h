/* What tests of graphs on a device begin and end with: the device, two streams, a kernel that adds, N words of memory. */
#ifndef CUJIT_TESTS_GRAPH_BENCH_H
#define CUJIT_TESTS_GRAPH_BENCH_H

#include "tests/device_bench.h"
#include "tests/tap.h"

enum { N = 64 };
static cj_ptx *module; /* with add */
static cj_driver *drv;
static cj_device *dev;
static cj_stream *s, *t;
static cj_kernel *add;
static cj_dptr d;

static inline void bench_open(void)
{
    module = bench_add_module();
    drv = cj_driver_open(NULL);
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    t = cj_stream_create(dev, NULL);
    add = cj_kernel_load(dev, module, "add", NULL);
    d = cj_alloc(s, 4 * N);
    cj_stream_sync(s);
}

/* Nothing failed that the test did not expect, and nothing is left to be released. */
static inline void bench_close(void)
{
    cj_free(dev, d);
    cj_kernel_free(add);
    tap_is_int(cj_stream_sync(s), CJ_OK, "nothing else failed: %s", cj_error_of(s)->message);
    tap_is_uint(cj_device_collect(dev), 0, "and no release waits");
    cj_ptx_free(module);
    cj_stream_free(t);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
}

static inline uint32_t now_at(size_t i)
{
    uint32_t v = 0xffffffff;
    cj_copy_to_host(s, &v, cj_offset(d, (int64_t)(4 * i)), 4);
    cj_stream_sync(s);
    return v;
}

static inline void clear(void) { cj_fill32(s, d, 0, N), cj_stream_sync(s); }

/* Instantiates, launches, waits; the status of what failed first. */
static inline cj_status run(cj_graph *g)
{
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(s, x);
    cj_graph_exec_free(x);
    return cj_stream_sync(s);
}

#endif
