/* Handles are released in every order while their work is held in flight: the work is done all the same, and everything
 * goes when it is over. */
#include <string.h>

#include "tests/device_bench.h"

enum { N = 64, HANDLES = 9, ORDERS = 36 };
static const char *const names[HANDLES] = { "stream", "event", "kernel", "builder", "memory",
                                            "graph",  "exec",  "device", "driver" };

typedef struct handles {
    cj_ptx *m;
    cj_driver *drv;
    cj_device *dev;
    cj_stream *s;
    cj_event *e;
    cj_kernel *k;
    cj_dptr d;
    cj_graph *g;
    cj_graph_exec *x;
} handles;

static void release(handles *w, size_t which)
{
    switch (which) {
    case 0: cj_stream_free(w->s); break;
    case 1: cj_event_free(w->e); break;
    case 2: cj_kernel_free(w->k); break;
    case 3: cj_ptx_free(w->m); break;
    case 4: cj_free(dev, w->d); break;
    case 5: cj_graph_free(w->g); break;
    case 6: cj_graph_exec_free(w->x); break;
    case 7: cj_device_close(w->dev); break;
    case 8: cj_driver_close(w->drv); break;
    }
}

/* The n-th of some orders that put each handle at each place. */
static void make_order(unsigned n, size_t order[HANDLES])
{
    for (size_t i = 0; i < HANDLES; i++) order[i] = n < HANDLES ? (i + n) % HANDLES : (HANDLES - i + n) % HANDLES;
    uint32_t seed = n * 2654435761u + 1;
    for (size_t i = HANDLES - 1; n >= 2 * HANDLES && i > 0; i--) {
        seed = seed * 1664525u + 1013904223u;
        size_t j = (seed >> 8) % (i + 1), keep = order[i];
        order[i] = order[j];
        order[j] = keep;
    }
}

/* `dev` of the bench is a second handle of the same device, by which the test sees the end. */
static bool one_order(unsigned n, uint32_t *out)
{
    struct latch l = LATCH_CLOSED;
    size_t order[HANDLES];
    handles w = { .m = bench_add_module() };
    w.drv = cj_driver_open(NULL);
    w.dev = cj_device_open(w.drv, 0, NULL);
    w.s = cj_stream_create(w.dev, NULL);
    w.e = cj_event_create(w.dev, NULL);
    w.k = cj_kernel_load(w.dev, w.m, "add", NULL);
    w.d = cj_alloc(w.s, 4 * N);
    *out = 0;
    cj_capture_begin(w.s, CJ_CAPTURE_THREAD);
    cj_launch(w.s, w.k, cj_threads(N, 32), w.d, N, 100);
    w.g = cj_capture_end(w.s);
    w.x = cj_graph_instantiate(w.g, NULL);
    cj_fill32(w.s, w.d, 1, N);
    bench_hold(w.s, &l);
    cj_launch(w.s, w.k, cj_threads(N, 32), w.d, N, 10);
    cj_graph_launch(w.s, w.x);
    cj_copy_to_host(w.s, out, w.d, 4);
    cj_event_record(w.e, w.s);
    bool given = cj_error_of(w.s)->status == CJ_OK;
    if (!given) tap_diag("%s", cj_error_of(w.s)->message);
    make_order(n, order);
    for (size_t i = 0; i < HANDLES; i++) release(&w, order[i]);
    bool waited = *out == 0 && cj_device_collect(dev) > 0;
    latch_open(&l);
    cj_device_sync(dev);
    return given && waited && *out == 111 && cj_device_collect(dev) == 0;
}

int main(void)
{
    bench_open(0);
    uint32_t out[ORDERS];
    for (unsigned n = 0; n < ORDERS; n++) {
        size_t order[HANDLES];
        make_order(n, order);
        tap_ok(one_order(n, &out[n]), "%s, %s, %s, %s ... first", names[order[0]], names[order[1]], names[order[2]],
               names[order[3]]);
    }
    return bench_close();
}
