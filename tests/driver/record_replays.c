/* Programs that are recorded and repeated: the repetition makes the same calls, and reads the same bytes. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_parts.h"
#include "tests/driver/record_parts.h"
#include "tests/tap.h"

enum { N = 1000, BYTES = N * 4 };

typedef struct program {
    cj_driver *drv;
    cj_device *dev;
    cj_stream *s, *t;
    cj_ptx *m;
    cj_kernel *add;
    cj_dptr d;
    uint32_t h[N];
} program;

static void fill_host(uint32_t *h, uint32_t v)
{
    for (uint32_t i = 0; i < N; i++) h[i] = v + i;
}

static void begin(program *p, cj_driver *drv)
{
    *p = (program){ .drv = drv };
    p->dev = cj_device_open(drv, 0, NULL);
    p->s = cj_stream_create(p->dev, NULL);
    p->t = cj_stream_create(p->dev, NULL);
    p->m = bench_add_module();
    p->add = cj_kernel_load(p->dev, p->m, "add", NULL);
    p->d = cj_alloc(p->s, BYTES);
    fill_host(p->h, 100);
}

/* The first failure of the program. */
static cj_status end(program *p)
{
    cj_status status = cj_stream_sync(p->s);
    if (status != CJ_OK) tap_diag("%s", cj_error_of(p->s)->message);
    else if ((status = cj_stream_sync(p->t)) != CJ_OK) tap_diag("%s", cj_error_of(p->t)->message);
    cj_free(p->dev, p->d);
    cj_kernel_free(p->add);
    cj_stream_free(p->s);
    cj_stream_free(p->t);
    cj_device_close(p->dev);
    cj_ptx_free(p->m);
    return status;
}

static void launch(program *p, cj_stream *s, uint32_t v)
{
    cj_launch(s, p->add, cj_threads(N, 256), p->d, (uint32_t)N, v);
}

/* -- What programs do ---------------------------------------------------------------------------------------------- */

static void pageable(program *p)
{
    cj_copy_to_device(p->s, p->d, p->h, BYTES);
    fill_host(p->h, 7);
    launch(p, p->s, 3);
    cj_copy_to_host(p->s, p->h, p->d, BYTES);
    cj_stream_sync(p->s);
    tap_is_int(p->h[5], 108, "the program itself computes");
}

/* What is written to pinned memory until the copy runs is copied. */
static void pinned(program *p)
{
    struct latch held = LATCH_CLOSED;
    uint32_t *h = cj_host_alloc(p->dev, BYTES, NULL), *back = cj_host_alloc(p->dev, BYTES, NULL);
    fill_host(h, 1);
    bench_hold(p->s, &held);
    cj_copy_to_device(p->s, p->d, h, BYTES);
    launch(p, p->s, 1);
    cj_copy_to_host(p->s, back, p->d, BYTES);
    fill_host(h, 20);
    latch_open(&held);
    cj_stream_sync(p->s);
    memset(back, 0, BYTES); /* after the copy */
    cj_host_free(p->dev, h);
    cj_host_free(p->dev, back);
}

static void boxes(program *p)
{
    uint32_t rows[4][16] = { { 1, 2, 3 }, { 4, 5, 6 } };
    cj_fill32(p->s, p->d, 9, N);
    cj_copy_2d_to_device(p->s, p->d, 64, rows, sizeof *rows, 12, 4);
    cj_copy_2d_to_host(p->s, p->h, 20, p->d, 64, 16, 4);
    cj_copy_3d_params c;
    cj_copy_3d_params_defaults(&c);
    c.width = 12, c.height = 2, c.depth = 3;
    c.dst = cj_offset(p->d, 512), c.src_host = p->h, c.src_pitch = 16, c.src_rows = 4, c.dst_pitch = 32, c.dst_rows = 3;
    cj_copy_3d(p->s, &c);
    cj_copy_to_host(p->s, rows, cj_offset(p->d, 512), sizeof rows);
    cj_stream_sync(p->s);
}

static void orders(program *p)
{
    cj_event *e = cj_event_create(p->dev, NULL);
    cj_fill32(p->s, p->d, 5, N);
    cj_event_record(e, p->s);
    cj_stream_wait(p->t, e);
    launch(p, p->t, 2);
    cj_stream_join(p->s, p->t);
    while (cj_stream_query(p->t) == CJ_ENOTREADY) {}
    cj_event_sync(e);
    cj_copy_to_host(p->s, p->h, p->d, BYTES);
    cj_stream_sync(p->s);
    cj_event_free(e);
}

/* A graph that was captured, with copies from and to host memory, launched twice with other bytes. */
static void captured(program *p)
{
    uint32_t *h = cj_host_alloc(p->dev, BYTES, NULL);
    cj_capture_begin(p->s, CJ_CAPTURE_THREAD);
    cj_copy_to_device(p->s, p->d, h, BYTES);
    cj_stream_fork(p->s, p->t);
    launch(p, p->t, 4);
    cj_stream_join(p->s, p->t);
    cj_copy_to_host(p->s, h, p->d, BYTES);
    cj_graph *g = cj_capture_end(p->s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        fill_host(h, 10 * i);
        cj_graph_launch(p->s, x);
        cj_stream_sync(p->s);
        tap_is_int(h[1], 10 * i + 5, "launch %u of the graph computes", (unsigned)i);
    }
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_host_free(p->dev, h);
}

/* Nodes of most kinds, a child graph, a changed exec. */
static void nodes(program *p)
{
    cj_graph *g = cj_graph_create(p->dev), *child = cj_graph_create(p->dev);
    cj_graph_fill32(child, NULL, p->d, 30, N);
    cj_node *a = cj_graph_child(g, NULL, child);
    cj_node *k = cj_graph_kernel(g, CJ_NODES(a), p->add, cj_threads(N, 256), p->d, (uint32_t)N, 6u);
    cj_dptr scratch;
    cj_node *b = cj_graph_mem_alloc(g, CJ_NODES(k), BYTES, &scratch);
    cj_node *c = cj_graph_copy(g, CJ_NODES(b), scratch, p->d, BYTES);
    cj_node *e = cj_graph_copy_to_host(g, CJ_NODES(c), p->h, scratch, BYTES);
    cj_graph_mem_free(g, CJ_NODES(e), scratch);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(p->s, x);
    cj_stream_sync(p->s);
    const cj_dims dims = cj_threads(N, 256);
    cj_arg args[3];
    cj_arg_set_ptr(&args[0], p->d);
    cj_arg_set_i(&args[1], N);
    cj_arg_set_i(&args[2], 60);
    cj_graph_exec_set_kernel_n(x, k, &dims, args, 3);
    cj_graph_launch(p->s, x);
    cj_stream_sync(p->s);
    tap_is_int(p->h[3], 90, "the changed graph computes");
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_graph_free(child);
}

typedef struct worker { program *p; uint32_t v; pthread_t thread; } worker;

static void *work_of_thread(void *arg)
{
    worker *w = arg;
    uint32_t h[N];
    cj_stream *s = cj_stream_create(w->p->dev, NULL);
    cj_dptr d = cj_alloc(s, BYTES);
    for (int i = 0; i < 3; i++) {
        fill_host(h, w->v);
        cj_copy_to_device(s, d, h, BYTES);
        cj_launch(s, w->p->add, cj_threads(N, 256), d, (uint32_t)N, w->v);
        cj_copy_to_host(s, h, d, BYTES);
        cj_stream_sync(s);
    }
    cj_free(w->p->dev, d);
    cj_stream_free(s);
    return NULL;
}

static void threads(program *p)
{
    worker w[4];
    for (uint32_t i = 0; i < 4; i++) {
        w[i] = (worker){ .p = p, .v = i * 1000 };
        pthread_create(&w[i].thread, NULL, work_of_thread, &w[i]);
    }
    for (int i = 0; i < 4; i++) pthread_join(w[i].thread, NULL);
}

static void links(program *p)
{
    cj_ptx *lib = cj_ptx_create(), *m = cj_ptx_create();
    cj_fn *twice = cj_ptx_func(lib, "twice");
    cj_val x = cj_param(twice, "x", CJ_U32);
    cj_result(twice, "r", CJ_U32);
    cj_return_value(twice, cj_mul(twice, x, 2));
    cj_fn *known = cj_ptx_extern_func(m, "twice");
    cj_param(known, "x", CJ_U32);
    cj_result(known, "r", CJ_U32);
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val q = cj_param_ptr(f, "q", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_set(f, q, i, cj_call(f, known, cj_get(f, q, i)));
    cj_linker *l = cj_linker_create(p->dev, NULL);
    cj_linker_add(l, m);
    cj_linker_add(l, lib);
    cj_image *img = cj_linker_link(l);
    cj_module *mod = cj_module_load_image(p->dev, img);
    cj_kernel *k = cj_module_kernel(mod, "k");
    cj_copy_to_device(p->s, p->d, p->h, BYTES);
    cj_launch(p->s, k, cj_threads(N, 250), p->d);
    cj_copy_to_host(p->s, p->h, p->d, BYTES);
    cj_stream_sync(p->s);
    tap_is_int(p->h[0], 200, "the linked kernel computes (%s)", cj_error_of(k)->message);
    cj_kernel_free(k);
    cj_module_free(mod);
    cj_image_free(img);
    cj_linker_free(l);
    cj_ptx_free(m);
    cj_ptx_free(lib);
}

/* Addresses in memory, in a variable of the module, and behind a kernel's pointer. */
static void addresses(program *p)
{
    cj_ptx *m = cj_ptx_create();
    cj_val table = cj_ptx_global(m, "table", CJ_U64, 2, NULL, 0);
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val list = cj_param_ptr(f, "list", CJ_U64);
    cj_val to = cj_get(f, list, 0), from = cj_get(f, table, 1);
    cj_ins(f, "st.global.u64", cj_mem(f, to, 0), from);
    cj_module *mod = cj_module_load(p->dev, m, NULL);
    cj_kernel *k = cj_module_kernel(mod, "k");
    cj_dptr list_d = cj_alloc(p->s, 64);
    uint64_t words[2] = { 0, p->d.addr + 80 }, first = p->d.addr + 16;
    cj_module_var_write(p->s, mod, "table", CJ_U64, words, 2);
    cj_copy_to_device(p->s, list_d, &first, sizeof first);
    cj_launch(p->s, k, cj_threads(1, 1), list_d);
    cj_copy_to_host(p->s, words, cj_offset(p->d, 16), sizeof *words);
    cj_stream_sync(p->s);
    tap_is_uint(words[0], p->d.addr + 80, "the kernel writes an address (%s)", cj_error_of(mod)->message);
    cj_free(p->dev, list_d);
    cj_kernel_free(k);
    cj_module_free(mod);
    cj_ptx_free(m);
}

/* In memory that no pool has: a GPU takes no stream memory operation on a pool's. */
static void operations(program *p)
{
    const cj_dptr w = cj_ipc_alloc(p->s, BYTES), second = cj_offset(w, 8);
    const cj_mem_op ops[] = {
        { .kind = CJ_MEM_OP_WRITE32, .d = w, .value = 77 },
        { .kind = CJ_MEM_OP_WAIT32, .how = CJ_COMPARE_GE, .d = w, .value = 70 },
        { .kind = CJ_MEM_OP_WRITE64, .d = second, .value = 5 },
    };
    cj_fill32(p->s, w, 0, N);
    cj_event *e = cj_event_create(p->dev, NULL);
    cj_event_record(e, p->s);
    cj_stream_wait(p->t, e);
    cj_stream_wait_value32(p->t, second, 5, CJ_COMPARE_GE);
    cj_stream_mem_ops(p->s, ops, 3);
    cj_launch(p->t, p->add, cj_threads(N, 256), w, (uint32_t)N, 1u);
    cj_copy_to_host(p->t, p->h, w, BYTES);
    cj_stream_sync(p->t);
    cj_event_free(e);
    cj_free(p->dev, w);
}

static void growing(program *p)
{
    cj_vmem *v = cj_vmem_create(p->s, 64 << 20, NULL);
    if (cj_vmem_grow(v, 4096) == CJ_OK) {
        cj_fill32(p->s, cj_vmem_address(v), 3, 1024);
        cj_vmem_grow(v, cj_vmem_granularity(v) * 2);
        cj_copy_to_host(p->s, p->h, cj_vmem_address(v), BYTES);
        cj_stream_sync(p->s);
    }
    cj_vmem_free(v);
}

static void arrays(program *p)
{
    cj_array *a = cj_array_create(p->dev, CJ_ARRAY(.width = 20, .height = 50, .type = CJ_U32));
    cj_texture *x = cj_texture_create(a, NULL);
    cj_copy_array(p->s, CJ_COPY_ARRAY(.dst_array = a, .src_host = p->h));
    cj_copy_array(p->s, CJ_COPY_ARRAY(.src_array = a, .dst = p->d));
    cj_copy_array(p->s,
                  CJ_COPY_ARRAY(.src_array = a, .dst_host = p->h, .width = 10, .height = 4, .src_x = 5, .src_y = 2));
    cj_stream_sync(p->s);
    tap_is_int(p->h[0], 100 + 45, "an array is copied (%s)", cj_error_of(x)->message);
    cj_texture_free(x);
    cj_array_free(a);
}

/* -- All ----------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*work)(program *p);
    uint64_t compared; /* at least so many bytes */
    uint32_t threads;
} cases[] = {
    { "pageable memory", pageable, BYTES, 1 },
    { "pinned memory", pinned, BYTES, 1 },
    { "boxes", boxes, 64 + 256, 1 },
    { "streams and events", orders, BYTES, 1 },
    { "a captured graph", captured, 2 * BYTES, 1 },
    { "a graph of nodes", nodes, 2 * BYTES, 1 },
    { "threads", threads, 12 * BYTES, 5 },
    { "links", links, BYTES, 1 },
    { "addresses", addresses, 8, 1 },
    { "memory operations", operations, BYTES, 1 },
    { "memory that grows", growing, 0, 1 },
    { "arrays", arrays, 160, 1 },
};

static void record(cj_driver *under, const char *path, void (*work)(program *p), const char *name)
{
    static program p;
    cj_driver *drv = cj_driver_open_recorded(under, path);
    tap_is_int(cj_error_of(drv)->status, CJ_OK, "%s: a recording opens (%s)", name, cj_error_of(drv)->message);
    begin(&p, drv);
    work(&p);
    tap_is_int(end(&p), CJ_OK, "%s: the program works as without it", name);
    cj_driver_close(drv);
}

static void test_case(cj_driver *under, size_t i)
{
    const char *name = cases[i].name;
    record(under, record_path("calls"), cases[i].work, name);
    record_replay(under, record_path("calls"));
    const cj_replay_result *x = &replayed.x;
    tap_is_int(replayed.status, CJ_OK, "%s: it is repeated (%s)", name, replayed.message);
    bool same = tap_is_int((int64_t)x->impossible, 0, "%s: all of it", name);
    same = tap_is_int((int64_t)x->results, 0, "%s: with the same results", name) && same;
    same = tap_is_int((int64_t)x->different, 0, "%s: and the same bytes", name) && same;
    if (!same) tap_diag("%s", replayed.text);
    tap_is_int((int64_t)(x->repeated + x->left_out), (int64_t)x->calls, "%s: each call is counted once", name);
    tap_ok(x->compared >= cases[i].compared, "%s: %llu bytes are compared", name, (unsigned long long)x->compared);
    tap_is_int(x->threads, cases[i].threads, "%s: threads", name);
    tap_is_int(x->complete, 1, "%s: the recording has its end", name);
    tap_ok(x->ptx >= 1 && !x->foreign, "%s: all code is PTX", name);
}

/* -- A kernel that fails ------------------------------------------------------------------------------------------- */

static int (*wait_for_all)(void);

/* The kernel of a launch has ended when the launch returns. */
static void wait_for_kernel(void *user, uint64_t number, const char *name, const char *text, int result)
{
    (void)user, (void)number, (void)text, (void)result;
    if (!strcmp(name, "cuLaunchKernel")) wait_for_all();
}

/* Forgets the failure of the context. */
static void forget(cj_driver *under)
{
    int (*reset)(int device);
    void *entry = cj_driver_symbol(under, "cujit_sim_reset");
    memcpy(&reset, &entry, sizeof reset);
    tap_is_int(reset(0), 0, "the device is reset");
}

/* On the CPU device: a GPU keeps the failure until the process ends. */
static void test_failure(cj_driver *under)
{
    static program p;
    const char *path = record_path("failure"), *traced = record_path("failure-trace");
    void *entry = cj_driver_symbol(under, "cuCtxSynchronize");
    memcpy(&wait_for_all, &entry, sizeof wait_for_all);
    cj_driver *below = cj_driver_open_interposed(under, CJ_INTERPOSER(.after = wait_for_kernel)),
              *trace = cj_driver_open_traced(below, traced), *drv = cj_driver_open_recorded(trace, path);
    tap_is_int(cj_error_of(drv)->status, CJ_OK, "a recording of a kernel that fails opens");
    begin(&p, drv);
    launch(&p, p.s, 1);
    p.d.addr += 1 << 30;
    launch(&p, p.s, 1);
    tap_is_int(cj_stream_sync(p.s), CJ_EDRIVER, "the kernel fails");
    p.d.addr -= 1 << 30;
    end(&p);
    cj_driver_close(drv), cj_driver_close(trace), cj_driver_close(below);
    size_t bytes;
    char *text = tap_slurp(traced, &bytes);
    const char *first = text ? strstr(text, ", 1000, 1)\n") : NULL;
    tap_ok(first && strstr(first + 1, ", 1000, 1)\n"), "the trace has the arguments of its launch");
    free(text);
    forget(under);
    record_replay(under, path);
    tap_is_int(replayed.status, CJ_OK, "it is repeated (%s)", replayed.message);
    bool same = tap_is_int((int64_t)replayed.x.impossible, 0, "its launch too");
    same = tap_is_int((int64_t)replayed.x.results, 0, "and fails again") && same;
    if (!same) tap_diag("%s", replayed.text);
    forget(under);
}

int main(void)
{
    tap_plan(0);
    tap_need_device(1);
    cj_driver *under = cj_driver_open(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) test_case(under, i);
    if (!strcmp(cj_driver_kind(under), "sim")) test_failure(under);
    cj_driver_close(under);
    return tap_done();
}
