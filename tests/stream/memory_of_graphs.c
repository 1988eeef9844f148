/* Memory that nodes of a graph allocate and free: where it is, how long, who may free it, what is rejected. */
#include <string.h>

#include "driver/driver.h"
#include "tests/stream/graph_runs.h"

enum { BYTES = 4 * N };

/* Allocates, fills with `value`, adds 1; the last node. */
static cj_node *allocating(cj_graph *g, uint32_t value, cj_dptr *m)
{
    cj_node *a = cj_graph_mem_alloc(g, NULL, BYTES, m), *f = cj_graph_fill32(g, CJ_NODES(a), *m, value, N);
    return cj_graph_kernel(g, CJ_NODES(f), add, cj_grid(2, 32), *m, N, 1);
}

static uint32_t word_of(cj_stream *on, cj_dptr m)
{
    uint32_t v = 0xffffffff;
    cj_copy_to_host(on, &v, cj_offset(m, BYTES - 4), 4);
    cj_stream_sync(on);
    return v;
}

/* What the device holds for graphs: in use, or kept for later. */
static uint64_t held(CUgraphMem_attribute which)
{
    cuuint64_t bytes = 9;
    drv->cu.cuDeviceGetGraphMemAttribute(dev->cu, which, &bytes);
    return bytes;
}

static void says(const void *obj, cj_status st, cj_status want, const char *words, const char *name)
{
    tap_is_int(st, want, "%s", name);
    tap_has_str(cj_error_of(obj)->message, words, "... and why, with what fixes it");
}

static void freed_inside(void)
{
    cj_dptr m;
    clear();
    cj_graph *g = cj_graph_create(dev);
    cj_node *k = allocating(g, 40, &m), *c = cj_graph_copy(g, CJ_NODES(k), d, m, BYTES),
            *f = cj_graph_mem_free(g, CJ_NODES(c), m);
    tap_ok(m.addr && cj_error_of(f)->status == CJ_OK, "memory is allocated and freed by nodes: %s",
           cj_error_of(g)->message);
    const cj_nodes *all = cj_graph_nodes(g);
    tap_ok(all->count == 5 && cj_node_kind_of(all->node[0]) == CJ_NODE_MEM_ALLOC &&
               cj_node_kind_of(f) == CJ_NODE_MEM_FREE,
           "they say what they are");
    cj_graph_info info = { .size = sizeof info };
    cj_graph_get_info(g, &info);
    tap_ok(info.mem_allocs == 1 && info.mem_frees == 1 && !info.others, "they are counted");
    tap_has_str(cj_graph_dot(g), "\"allocate\\n256 B\"", "the picture has the allocation's size");
    tap_has_str(cj_graph_dot(g), "\"free\\n256 B\"", "... and that of what is freed");
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    tap_is_int(cj_graph_upload(s, x), CJ_OK, "it is uploaded: %s", cj_error_of(x)->message);
    for (int i = 0; i < 3; i++) cj_graph_launch(s, x);
    tap_is_int(cj_stream_sync(s), CJ_OK, "it runs, and again: %s", cj_error_of(s)->message);
    tap_is_uint(now_at(N - 1), 41, "with its memory");
    says(dev, cj_free(dev, m), CJ_ESTATE, "frees it itself", "what a graph frees is not given back by others");
    cj_graph_exec_free(x);
    cj_device_collect(dev);
    tap_is_int(cj_stream_use(s, m), CJ_ENOTFOUND, "the memory is unknown when graph and exec are gone");
}

static void lives_on(void)
{
    cj_dptr m;
    clear();
    cj_graph *g = cj_graph_create(dev);
    allocating(g, 6, &m);
    says(dev, cj_free(dev, m), CJ_ESTATE, "allocates it at a launch", "memory cannot be given back before a launch");
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_graph_launch(s, x), CJ_OK, "a graph that does not free its memory is launched: %s",
               cj_error_of(x)->message);
    tap_is_uint(word_of(s, m), 7, "the memory is there behind it");
    says(x, cj_graph_launch(s, x), CJ_ESTATE, "still allocated by an earlier launch; free it with cj_free",
         "it is not launched again meanwhile");
    cj_stream_sync(s);
    says(s, cj_fill8(s, m, 0, BYTES + 1), CJ_EINVAL, "257 bytes do not fit", "its range is checked in streams");
    cj_stream_sync(s);
    says(dev, cj_free(dev, cj_offset(m, 8)), CJ_ENOTFOUND, "free its start", "... and its start");
    tap_is_int(cj_free(dev, m), CJ_OK, "then it is given back: %s", cj_error_of(dev)->message);
    says(dev, cj_free(dev, m), CJ_ESTATE, "none did since it was freed", "... once");
    for (uint32_t i = 0; i < 3; i++) {
        cj_graph_launch(s, x);
        cj_launch(s, add, cj_grid(2, 32), m, N, i);
        cj_copy(s, d, m, BYTES);
        cj_free(dev, m);
    }
    tap_is_int(cj_stream_sync(s), CJ_OK, "launched, used and given back, without waiting: %s", cj_error_of(s)->message);
    tap_is_uint(now_at(N - 1), 9, "... the last time as the first");
    cj_graph_launch(s, x);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    tap_is_int(cj_stream_sync(s), CJ_OK, "memory that nobody gives back goes with the graph: %s",
               cj_error_of(s)->message);
    tap_is_uint(cj_device_collect(dev), 0, "... and nothing waits");
    tap_is_int(cj_stream_use(s, m), CJ_ENOTFOUND, "... for it");
    cj_stream_sync(s);
    /* a GPU's driver is reported of it later */
    if (!tap_on_gpu()) tap_is_uint(held(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0, "nothing is in use");
    cj_device_collect(dev);
    if (!tap_on_gpu()) tap_is_uint(held(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0, "and none is kept for graphs");
}

/* Streams: what is given back comes behind its uses, and the next launch behind that. */
static void in_order(void)
{
    struct latch l = LATCH_CLOSED;
    cj_dptr m;
    uint32_t first[N] = { 0 };
    clear();
    cj_graph *g = cj_graph_create(dev);
    allocating(g, 1, &m);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(s, x);
    cj_stream_fork(s, t);
    bench_hold(t, &l);
    cj_copy(t, d, m, BYTES);
    tap_is_int(cj_free(dev, m), CJ_OK, "given back while another stream is to read it: %s", cj_error_of(dev)->message);
    tap_is_int(cj_graph_launch(s, x), CJ_OK, "and launched again: %s", cj_error_of(x)->message);
    cj_launch(s, add, cj_grid(2, 32), m, N, 100);
    latch_open(&l);
    tap_is_int(cj_stream_sync(t), CJ_OK, "the other stream goes on: %s", cj_error_of(t)->message);
    cj_copy_to_host(t, first, d, sizeof first);
    cj_stream_sync(t);
    tap_is_uint(first[N - 1], 2, "... and has read what there was before");
    tap_is_uint(word_of(s, m), 102, "the next launch comes behind that");
    bench_hold(s, &l);
    cj_free(dev, m);
    tap_is_int(cj_graph_launch(t, x), CJ_OK, "given back behind one stream, launched on another: %s",
               cj_error_of(x)->message);
    latch_open(&l);
    tap_is_uint(word_of(t, m), 2, "... behind the first: %s", cj_error_of(t)->message);
    cj_stream_sync(s);
    tap_is_uint(word_of(t, m), 2, "... it stays");
    cj_free(dev, m);
    cj_stream *u = cj_stream_create(dev, NULL);
    cj_graph_launch(u, x);
    cj_stream_sync(u);
    cj_stream_free(u);
    tap_is_int(cj_free(dev, m), CJ_OK, "given back when the stream of the launch is gone: %s",
               cj_error_of(dev)->message);
    tap_is_int(cj_graph_launch(s, x), CJ_OK, "and launched again: %s", cj_error_of(x)->message);
    cj_capture_begin(t, CJ_CAPTURE_THREAD);
    cj_free(dev, m);
    says(x, cj_graph_launch(s, x), CJ_ESTATE, "work that uses it is not complete",
         "given back during a capture, it has to wait for the end of that");
    cj_graph_free(cj_capture_end(t));
    cj_stream_sync(s);
    tap_is_int(cj_graph_launch(s, x), CJ_OK, "then it is launched: %s", cj_error_of(x)->message);
    tap_is_uint(word_of(s, m), 2, "... as before");
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

static void auto_free(void)
{
    cj_dptr m;
    cj_graph *g = cj_graph_create(dev);
    allocating(g, 4, &m);
    cj_graph_exec *x = cj_graph_instantiate(g, CJ_GRAPH_EXEC(.auto_free = 1));
    for (int i = 0; i < 3; i++)
        tap_is_int(cj_graph_launch(s, x), CJ_OK, "an exec that frees by itself is launched, %d: %s", i,
                   cj_error_of(x)->message);
    tap_is_uint(word_of(s, m), 5, "the memory is there behind each");
    tap_is_int(cj_free(dev, m), CJ_OK, "and may be given back: %s", cj_error_of(dev)->message);
    tap_is_int(cj_graph_launch(t, x), CJ_OK, "then too it is launched: %s", cj_error_of(x)->message);
    tap_is_uint(word_of(t, m), 5, "... on any stream");
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

static void freed_by_another(void)
{
    cj_dptr m;
    clear();
    cj_graph *g = cj_graph_create(dev), *h = cj_graph_create(dev);
    cj_node *last = allocating(g, 20, &m);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_node *c = cj_graph_copy(h, NULL, d, m, BYTES), *f = cj_graph_mem_free(h, CJ_NODES(c), m);
    tap_is_int(cj_error_of(f)->status, CJ_OK, "another graph frees the memory: %s", cj_error_of(f)->message);
    cj_graph_exec *y = cj_graph_instantiate(h, NULL);
    says(y, cj_graph_launch(s, y), CJ_ESTATE, "launch the graph that allocates it first", "but not before it is there");
    cj_stream_sync(s);
    for (int i = 0; i < 2; i++) {
        cj_graph_launch(s, x);
        cj_graph_launch(s, y);
    }
    tap_is_int(cj_stream_sync(s), CJ_OK, "one allocates, the other frees: %s", cj_error_of(s)->message);
    tap_is_uint(now_at(N - 1), 21, "... what it has read");
    tap_is_int(cj_free(dev, m), CJ_ESTATE, "then it is free");
    f = cj_graph_mem_free(g, CJ_NODES(last), m);
    tap_is_int(cj_error_of(f)->status, CJ_EINVAL, "its own graph cannot free it any more: %s", cj_error_of(f)->message);
    cj_graph_exec_free(y);
    cj_graph_free(h);
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

/* A graph that names the memory keeps the address, when the graph that allocates it and its exec are gone. */
static void kept(void)
{
    cj_dptr m;
    clear();
    cj_graph *g = cj_graph_create(dev), *h = cj_graph_create(dev);
    allocating(g, 30, &m);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_copy(h, NULL, d, m, BYTES);
    cj_graph_exec *y = cj_graph_instantiate(h, NULL);
    cj_graph_launch(s, x);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_graph_free(h);
    cj_stream_sync(s);
    cj_device_collect(dev);
    cj_graph_launch(s, y);
    tap_is_int(cj_stream_sync(s), CJ_OK, "memory of a graph that is gone stays for the exec of another one: %s",
               cj_error_of(s)->message);
    tap_is_uint(now_at(N - 1), 31, "... as it was");
    tap_is_int(cj_free(dev, m), CJ_OK, "it may be given back: %s", cj_error_of(dev)->message);
    cj_graph_exec_free(y);
    cj_stream_sync(s);
    tap_is_uint(cj_device_collect(dev), 0, "nothing waits");
    tap_is_int(cj_stream_use(s, m), CJ_ENOTFOUND, "and it is unknown");
}

static void one_exec(void)
{
    cj_dptr m, other;
    cj_graph *g = cj_graph_create(dev), *h = cj_graph_create(dev), *same = cj_graph_create(dev);
    cj_graph_mem_free(g, CJ_NODES(allocating(g, 1, &m)), m);
    cj_graph_mem_free(same, CJ_NODES(allocating(same, 1, &other)), other);
    cj_graph *clone = cj_graph_clone(g);
    tap_is_int(cj_error_of(clone)->status, CJ_ENOTSUP, "it cannot be cloned: %s", cj_error_of(clone)->message);
    cj_node *child = cj_graph_child(h, NULL, g);
    tap_is_int(cj_error_of(child)->status, CJ_ENOTSUP, "nor be a child: %s", cj_error_of(child)->message);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL), *y = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_error_of(y)->status, CJ_ESTATE, "it has one exec");
    tap_has_str(cj_error_of(y)->message, "one at a time", "... which the second says");
    tap_is_int(cj_graph_exec_update(x, g), CJ_OK, "that is updated from its own graph: %s", cj_error_of(x)->message);
    tap_is_int(cj_graph_exec_update(x, same), CJ_ENOTSUP, "not from one with other memory: %s",
               cj_error_of(x)->message);
    tap_is_int(cj_graph_launch(s, x), CJ_OK, "and is launched: %s", cj_error_of(x)->message);
    cj_graph_exec_free(y);
    cj_graph_exec_free(x);
    cj_stream_sync(s);
    x = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_graph_launch(s, x), CJ_OK, "then there may be a next one: %s", cj_error_of(x)->message);
    tap_is_int(cj_stream_sync(s), CJ_OK, "which runs: %s", cj_error_of(s)->message);
    cj_graph_exec_free(x);
    cj_graph_free(clone);
    cj_graph_free(same);
    cj_graph_free(h);
    cj_graph_free(g);
}

static void refused(void)
{
    static const struct { const char *name; int which; cj_status status; const char *says; } cases[] = {
        { "an allocation of nothing", 0, CJ_EINVAL, "0 bytes" },
        { "an allocation without a place", 1, CJ_EINVAL, "no place for the address" },
        { "an allocation without end", 2, CJ_ENOMEM, "cuGraphAddMemAllocNode" },
        { "a free of nothing", 3, CJ_EINVAL, "{ 0 }" },
        { "a free of memory that is no graph's", 4, CJ_EINVAL, "free it with cj_free" },
        { "a free of an unknown address", 5, CJ_EINVAL, "no start of memory that a graph" },
        { "a free inside an allocation", 6, CJ_EINVAL, "free its start" },
        { "a free of what was freed", 7, CJ_EINVAL, "the graph frees it already" },
        { "a free of what another graph frees itself", 8, CJ_EINVAL, "the graph that allocates it frees it already" },
        { "a free that comes too late", 9, CJ_EINVAL, "instantiated before" },
        { "a fill beyond the allocation", 10, CJ_EINVAL, "do not fit" },
        { "a copy beyond the allocation", 11, CJ_EINVAL, "do not fit" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_dptr m = { 0 }, none = { 1 };
        cj_graph *g = cj_graph_create(dev), *h = cj_graph_create(dev), *bad = g;
        cj_graph_exec *x = NULL;
        cj_node *n = NULL, *last = cases[i].which > 5 ? allocating(g, 1, &m) : NULL;
        switch (cases[i].which) {
        case 0: n = cj_graph_mem_alloc(g, NULL, 0, &none); break;
        case 1: n = cj_graph_mem_alloc(g, NULL, 16, NULL); break;
        case 2: n = cj_graph_mem_alloc(g, NULL, (size_t)1 << 50, &none); break;
        case 3: n = cj_graph_mem_free(g, NULL, (cj_dptr){ 0 }); break;
        case 4: n = cj_graph_mem_free(g, NULL, d); break;
        case 5: n = cj_graph_mem_free(g, NULL, (cj_dptr){ 4096 }); break;
        case 6: n = cj_graph_mem_free(g, CJ_NODES(last), cj_offset(m, 16)); break;
        case 7: n = cj_graph_mem_free(g, CJ_NODES(cj_graph_mem_free(g, CJ_NODES(last), m)), m); break;
        case 8:
            cj_graph_mem_free(g, CJ_NODES(last), m);
            n = cj_graph_mem_free(bad = h, NULL, m);
            break;
        case 9:
            x = cj_graph_instantiate(g, NULL);
            n = cj_graph_mem_free(g, CJ_NODES(last), m);
            break;
        case 10: n = cj_graph_fill32(g, CJ_NODES(last), m, 1, N + 1); break;
        default: n = cj_graph_copy(g, CJ_NODES(last), d, cj_offset(m, 8), BYTES); break;
        }
        tap_is_int(cj_error_of(n)->status, cases[i].status, "%s is a failed node", cases[i].name);
        tap_has_str(cj_error_of(n)->message, cases[i].says, "... that says why");
        tap_ok(cases[i].which > 2 || cases[i].which == 1 || !none.addr, "... without an address");
        cj_graph_exec_free(x);
        cj_stream_sync(s);
        x = cj_graph_instantiate(bad, NULL);
        tap_is_int(cj_error_of(x)->status, cases[i].status, "... and its graph cannot be launched: %s",
                   cj_error_of(x)->message);
        cj_graph_exec_free(x);
        cj_graph_free(h);
        cj_graph_free(g);
    }
}

static void elsewhere(void)
{
    const cj_allocator_opts *drivers = CJ_ALLOCATOR(.source = CJ_ALLOCATOR_DRIVER);
    cj_device_set_allocator(dev, drivers);
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_dptr none = cj_alloc(s, 16);
    tap_ok(!none.addr, "the driver's allocator gives a stream that is being captured nothing");
    tap_has_str(cj_error_of(s)->message, "cj_graph_mem_alloc", "... and says how a graph does");
    cj_graph_free(cj_capture_end(s));
    cj_device_set_allocator(dev, NULL);
    cj_stream_sync(s);
    cj_graph *g = cj_graph_create(dev), *body = NULL;
    uint64_t more = cj_graph_condition(g, 0);
    if (!more) {
        tap_skip(1, "this driver has no conditions");
    } else {
        cj_graph_if(g, NULL, &body, NULL, more);
        cj_node *n = cj_graph_mem_alloc(body, NULL, 16, &none);
        tap_is_int(cj_error_of(n)->status, CJ_ENOTSUP, "a body allocates nothing: %s", cj_error_of(n)->message);
    }
    cj_graph_free(g);
    cj_stream_sync(s);
}

typedef struct quick { cj_graph_exec *x; cj_stream *s; cj_dptr m; int launched, late, other; } quick;

/* Launches, and gives the memory back where it was this thread's launch. */
static void *be_quick(void *user)
{
    quick *q = user;
    for (int i = 0; i < 40; i++) {
        cj_status st = cj_graph_launch(q->s, q->x);
        if (st == CJ_OK) st = cj_free(dev, q->m) == CJ_OK ? CJ_OK : CJ_EDRIVER;
        q->launched += st == CJ_OK;
        q->late += st == CJ_ESTATE;
        q->other += st != CJ_OK && st != CJ_ESTATE;
    }
    return NULL;
}

static void two_threads(void)
{
    cj_dptr m;
    pthread_t thread[2];
    cj_graph *g = cj_graph_create(dev);
    allocating(g, 50, &m);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    quick q[2] = { { x, s, m, 0, 0, 0 }, { x, t, m, 0, 0, 0 } };
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, be_quick, &q[i]);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    tap_ok(!q[0].other && !q[1].other && q[0].launched + q[0].late == 40 && q[1].launched + q[1].late == 40,
           "of two threads that launch one exec the later is reported of it");
    tap_ok(q[0].launched + q[1].launched > 0, "... each time one launches");
    cj_stream_sync(s);
    cj_stream_sync(t);
    tap_is_int(cj_graph_launch(s, x), CJ_OK, "then it is launched: %s", cj_error_of(x)->message);
    tap_is_uint(word_of(s, m), 51, "... with its memory");
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

/* Memory that others allocate while they capture. */
static void captured_by_others(void)
{
    CUdeviceptr m = 0;
    cj_capture_begin(s, CJ_CAPTURE_RELAXED);
    int r = (int)drv->cu.cuMemAllocAsync(&m, BYTES, cj_stream_raw(s));
    cj_fill32(s, (cj_dptr){ m }, 8, N);
    cj_copy(s, d, (cj_dptr){ m }, BYTES);
    if (!r) r = (int)drv->cu.cuMemFreeAsync(m, cj_stream_raw(s));
    cj_graph *g = cj_capture_end(s);
    cj_graph_info info = { .size = sizeof info };
    tap_is_int(cj_graph_get_info(g, &info), CJ_OK, "memory that others allocate in a capture (%d): %s", r,
               cj_error_of(g)->message);
    tap_ok(info.mem_allocs == 1 && info.mem_frees == 1 && !info.others, "... makes nodes of these kinds too");
    tap_has_str(cj_graph_dot(g), "\"allocate\\n", "... with their size");
    tap_is_int(run(g), CJ_OK, "... that run: %s", cj_error_of(s)->message);
    tap_is_uint(now_at(N - 1), 8, "... in order");
    cj_graph_free(g);
}

static bool have_nodes(void)
{
    cj_dptr m;
    cj_graph *g = cj_graph_create(dev);
    cj_node *n = cj_graph_mem_alloc(g, NULL, 16, &m);
    bool have = cj_error_of(n)->status != CJ_ENOTSUP;
    cj_graph_free(g);
    return have;
}

int main(void)
{
    bench_open(4 * N);
    if (have_nodes()) {
        freed_inside();
        lives_on();
        in_order();
        auto_free();
        freed_by_another();
        kept();
        one_exec();
        refused();
        two_threads();
        captured_by_others();
        elsewhere();
    } else {
        tap_skip(1, "this driver has no memory nodes");
    }
    return bench_close();
}
