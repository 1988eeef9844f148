/* On drivers that lack what newer ones have, graphs say which driver is needed, and everything else works. */
#include <string.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

static const char *lacks;

static void *symbol_but(void *user, const char *symbol)
{
    return strcmp(symbol, lacks) ? watch_symbol(user, symbol) : NULL;
}

typedef struct bench { cj_device *dev; cj_stream *s; cj_kernel *k; cj_dptr d; } bench;

static const cj_error *resume(const bench *b)
{
    cj_capture_begin(b->s, CJ_CAPTURE_THREAD);
    cj_graph *g = cj_capture_pause(b->s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "a capture is paused on every driver");
    cj_capture_resume(b->s, g);
    tap_ok(!cj_stream_is_capturing(b->s), "the stream is not captured then");
    cj_graph_free(g);
    return cj_error_of(b->s);
}

static const cj_error *node(cj_graph *g, cj_node *n)
{
    static cj_error e;
    e = *cj_error_of(n);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_error_of(x)->status, CJ_ENOTSUP, "its graph cannot be launched");
    cj_graph_exec_free(x);
    cj_graph_free(g);
    return &e;
}

static const cj_error *kernel(const bench *b)
{
    cj_graph *g = cj_graph_create(b->dev);
    return node(g, cj_graph_kernel(g, NULL, b->k, cj_grid(1, 32), b->d, b->d, 1.0f, 1));
}

static const cj_error *record(const bench *b)
{
    cj_graph *g = cj_graph_create(b->dev);
    cj_event *e = cj_event_create(b->dev, NULL);
    cj_node *n = cj_graph_event_record(g, NULL, e);
    cj_event_free(e);
    return node(g, n);
}

static const cj_error *words(const bench *b)
{
    cj_graph *g = cj_graph_create(b->dev);
    const cj_mem_op op = { .kind = CJ_MEM_OP_WRITE32, .d = b->d, .value = 1 };
    return node(g, cj_graph_mem_ops(g, NULL, &op, 1));
}

static const cj_error *words_given(const bench *b)
{
    const cj_mem_op op = { .kind = CJ_MEM_OP_WRITE32, .d = b->d, .value = 1 };
    tap_is_int(cj_stream_write_value32(b->s, b->d, 1), CJ_OK, "one word is written on every driver");
    cj_stream_mem_ops(b->s, &op, 1);
    return cj_error_of(b->s);
}

static const cj_error *condition(const bench *b)
{
    static cj_error e;
    cj_graph *g = cj_graph_create(b->dev), *body;
    tap_is_uint(cj_graph_condition(g, 1), 0, "there is no condition");
    e = *cj_error_of(g);
    cj_graph_while(g, NULL, &body, 0);
    tap_ok(!body, "and no body");
    node(g, NULL);
    return &e;
}

static const cj_error *upload(const bench *b)
{
    static cj_error e;
    cj_graph *g = cj_graph_create(b->dev);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_upload(b->s, x);
    e = *cj_error_of(x);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    return &e;
}

static const cj_error *memory(const bench *b)
{
    cj_dptr d = { 1 };
    cj_graph *g = cj_graph_create(b->dev);
    cj_node *n = cj_graph_mem_alloc(g, NULL, 64, &d);
    tap_ok(!d.addr, "there is no address");
    return node(g, n);
}

static const cj_error *memory_freed(const bench *b)
{
    cj_dptr d;
    cj_graph *g = cj_graph_create(b->dev);
    cj_node *n = cj_graph_mem_alloc(g, NULL, 64, &d);
    return node(g, cj_graph_mem_free(g, CJ_NODES(n), d));
}

static const struct { const char *name, *lacks, *says; const cj_error *(*f)(const bench *b); } cases[] = {
    { "going on with a capture", "cuStreamBeginCaptureToGraph", "cuStreamBeginCaptureToGraph", resume },
    { "a kernel node", "cuGraphAddKernelNode_v2", "cuGraphAddKernelNode", kernel },
    { "an event in a graph", "cuGraphAddEventRecordNode", "cuGraphAddEventRecordNode", record },
    { "words in a graph", "cuGraphAddBatchMemOpNode", "cuGraphAddBatchMemOpNode", words },
    { "words at once", "cuStreamBatchMemOp_v2", "cuStreamBatchMemOp", words_given },
    { "a condition", "cuGraphConditionalHandleCreate", "cuGraphConditionalHandleCreate", condition },
    { "memory of a graph", "cuGraphAddMemAllocNode", "cuGraphAddMemAllocNode", memory },
    { "memory freed in a graph", "cuGraphAddMemFreeNode", "cuGraphAddMemFreeNode", memory_freed },
    { "an upload", "cuGraphUpload", "cuGraphUpload", upload },
};

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lacks = cases[i].lacks;
        cj_driver_close(watch_open());
        cj_driver *drv = cj_driver_open_resolver(symbol_but, NULL);
        bench b = { .dev = cj_device_open(drv, 0, NULL) };
        b.s = cj_stream_create(b.dev, NULL);
        b.k = watch_kernel(b.dev);
        b.d = cj_alloc(b.s, 64);
        const cj_error e = *cases[i].f(&b);
        tap_is_int(e.status, CJ_ENOTSUP, "%s needs a newer driver", cases[i].name);
        tap_has_str(e.message, cases[i].says, "... whose function is named");
        tap_has_str(e.message, "needs driver", "... and its age");
        cj_stream_sync(b.s);
        cj_free(b.dev, b.d);
        cj_kernel_free(b.k);
        cj_stream_free(b.s);
        cj_device_collect(b.dev);
        cj_device_close(b.dev);
        cj_driver_close(drv);
        tap_ok(!watch.live_streams && !watch.live_events && !watch.live_modules && !watch.live_execs && !watch.pinned &&
                   !watch.allocated,
               "nothing is left");
    }
    return tap_done();
}
