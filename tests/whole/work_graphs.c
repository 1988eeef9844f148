/* Graphs node by node and by capture, in several parts; conditions; execs changed and found again. */
#include "tests/whole/work.h"

enum { N = 64 };
static cj_device *dev;
static cj_stream *s, *t;
static cj_kernel *add, *set;
static cj_dptr d;
static uint64_t sum;
static int released, calls;

static void count_call(void *user) { ++*(int *)user; }

static uint32_t word(size_t i)
{
    static uint32_t v;
    work_did(cj_copy_to_host(s, &v, cj_offset(d, (int64_t)(4 * i)), 4));
    return work_waited(s) ? v : 0;
}

/* Instantiates, launches, waits, releases. */
static void run(cj_graph *g)
{
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    if (work_made(x)) work_did(cj_graph_upload(s, x)), work_did(cj_graph_launch(s, x));
    work_waited(s);
    cj_graph_exec_free(x);
}

static void nodes(void)
{
    static uint32_t in[N], out[N]; /* a graph that is launched late may still read them */
    cj_event *e = cj_event_create(dev, NULL);
    cj_graph *g = cj_graph_create(dev);
    cj_node *a = cj_graph_copy_to_device(g, NULL, d, in, sizeof in), *b = cj_graph_fill8(g, CJ_NODES(a), d, 1, 4),
            *c = cj_graph_fill16(g, CJ_NODES(b), cj_offset(d, 4), 2, 2);
    cj_node *k = cj_graph_kernel(g, CJ_NODES(c), add, cj_threads(N, 32), d, N, 1),
            *r = cj_graph_event_record(g, CJ_NODES(k), e);
    cj_node *wide = cj_graph_fill64(g, NULL, cj_offset(d, 4 * N), UINT64_C(0x500000006), 2);
    cj_node *narrow = cj_graph_fill_2d(g, NULL, cj_offset(d, 4 * N + 64), 8, 2, 7, 3, 2);
    cj_node *f = cj_graph_fill32(g, CJ_NODES(wide, narrow), cj_offset(d, 4 * N), 5, N),
            *w = cj_graph_event_wait(g, CJ_NODES(f), e), *m = cj_graph_empty(g, CJ_NODES(r, w));
    cj_node *h = cj_graph_host_func(g, CJ_NODES(m), count_call, &calls);
    cj_graph_copy(g, CJ_NODES(h), cj_offset(d, 16), cj_offset(d, 4 * N), 16);
    cj_graph_copy_to_host(g, CJ_NODES(h), out, d, 8);
    work_made(e), work_made(g);
    work_did(cj_node_depend(h, CJ_NODES(k)));
    work_did(cj_graph_on_release(g, count_call, &released));
    cj_graph *copy = cj_graph_clone(g), *outer = cj_graph_create(dev);
    work_made(copy);
    cj_graph_child(outer, NULL, copy);
    cj_node *same = cj_node_in_clone(copy, k);
    if (!same) work_made(copy);
    cj_graph_info info;
    cj_graph_info_defaults(&info);
    if (work_did(cj_graph_get_info(outer, &info))) sum += info.all;
    const cj_nodes *all = cj_graph_nodes(g), *leaves = cj_graph_leaves(g);
    if (!all || !leaves) work_made(g);
    else sum += all->count + leaves->count;
    size_t count = cj_graph_count(g);
    if (!count) work_made(g);
    sum += count;
    const char *dot = cj_graph_dot(outer);
    if (!*dot) work_made(outer);
    else sum += strstr(dot, "digraph") != NULL;
    if (work_made(k))
        sum += cj_node_kind_of(k) == CJ_NODE_KERNEL && cj_node_graph(k) == g && cj_node_raw(k) && cj_graph_raw(g);
    run(outer);
    sum += out[0] + out[1] + word(4);
    cj_graph_exec_opts opts;
    cj_graph_exec_defaults(&opts);
    cj_graph_exec *x = cj_graph_instantiate(g, &opts);
    if (work_made(x)) {
        work_did(cj_graph_exec_set_args(x, k, d, N, 3));
        work_did(cj_graph_exec_enable(x, c, 0));
        work_did(cj_graph_launch(s, x));
        sum += word(0) + word(1);
        work_did(cj_graph_exec_enable(x, c, 1));
        work_did(cj_graph_exec_update(x, copy));
        work_did(cj_graph_launch(t, x));
        work_did(cj_stream_join(s, t));
        sum += word(1) + (cj_graph_exec_raw(x) != NULL);
    }
    cj_graph_free(g);
    cj_graph_free(copy);
    cj_graph_free(outer);
    cj_graph_exec_free(x);
    cj_event_free(e);
    cj_stream_sync(t);
}

/* Memory of a graph: one piece freed in it, one that lives on and is given back, read on another stream. */
static void memory(void)
{
    cj_dptr in = { 0 }, on = { 0 };
    cj_graph *g = cj_graph_create(dev), *h = cj_graph_create(dev);
    cj_node *a = cj_graph_mem_alloc(g, NULL, 4 * N, &in), *b = cj_graph_mem_alloc(g, NULL, 4 * N, &on);
    cj_node *f = cj_graph_fill32(g, CJ_NODES(a), in, 30, N), *c = cj_graph_copy(g, CJ_NODES(f, b), on, in, 4 * N);
    cj_node *gone = cj_graph_mem_free(g, CJ_NODES(c), in);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    bool there = work_made(gone) && work_made(g) && work_made(x);
    for (int i = 0; i < 2 && there; i++) {
        if (!work_did(cj_graph_launch(s, x))) break;
        work_did(cj_stream_fork(s, t));
        work_did(cj_copy(t, cj_offset(d, 4), on, 4));
        work_did(cj_free(dev, on));
        work_did(cj_stream_join(s, t));
    }
    cj_node *read = cj_graph_copy(h, NULL, d, on, 4);
    cj_graph_mem_free(h, CJ_NODES(read), on);
    cj_graph_exec *y = cj_graph_instantiate(h, NULL);
    if (there && work_made(y)) work_did(cj_graph_launch(s, x)), work_did(cj_graph_launch(s, y));
    sum += word(0) + word(1);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_graph_exec_free(y);
    cj_graph_free(h);
    cj_stream_sync(t);
}

static void captures(void)
{
    static uint32_t host;
    cj_capture_opts opts;
    cj_dptr own = cj_alloc(s, 4 * N);
    if (!own.addr) work_made(s);
    cj_capture_defaults(&opts);
    opts.join = 1;
    work_did(cj_capture_begin_opts(s, &opts));
    work_did(cj_fill32(s, d, 1, N));
    work_did(cj_stream_fork(s, t));
    work_did(cj_fill32(t, own, 2, N));
    cj_graph *g = cj_capture_pause(s);
    work_made(g);
    work_did(cj_fill32(s, d, 100, N));
    work_waited(s);
    work_did(cj_capture_resume(t, g));
    work_did(cj_launch(t, add, cj_threads(N, 32), d, N, 10));
    work_did(cj_copy(t, cj_offset(d, 4), own, 4));
    cj_graph *same = cj_capture_end(t);
    work_made(same);
    work_did(cj_capture_begin_opts(s, CJ_CAPTURE(.into = g, .after = cj_graph_leaves(g))));
    work_did(cj_copy_to_host(s, &host, d, 4));
    cj_graph *last = cj_capture_end(s);
    work_made(last);
    work_did(cj_free(dev, own));
    run(g);
    sum += host + word(1);
    cj_graph_free(last);
    cj_graph_free(same);
    cj_graph_free(g);
    cj_stream_sync(t);
}

/* d[0] is filled by the first branch; a switch fills d[1]; a loop runs once, as its kernel ends it. */
static void conditions(void)
{
    cj_graph *g = cj_graph_create(dev), *then = NULL, *otherwise = NULL, *body = NULL, *cases[2] = { NULL, NULL };
    uint64_t yes = cj_graph_condition(g, 1), second = cj_graph_condition(g, 1), more = cj_graph_condition(g, 1);
    work_did(cj_fill32(s, d, 0, N));
    cj_node *a = cj_graph_if(g, NULL, &then, &otherwise, yes), *b = cj_graph_switch(g, CJ_NODES(a), cases, 2, second),
            *c = cj_graph_while(g, CJ_NODES(b), &body, more);
    bool there = work_made(g) && work_made(a) && work_made(b) && work_made(c);
    if (there) {
        cj_graph_fill32(then, NULL, d, 11, 1);
        cj_graph_fill32(otherwise, NULL, d, 12, 1);
        cj_graph_fill32(cases[1], NULL, cj_offset(d, 4), 13, 1);
        cj_graph_kernel(body, NULL, set, cj_grid(1, 1), more);
        run(g); /* a body without its kernel would never end: the graph has a hole then and is rejected */
    }
    sum += word(0) + word(1);
    cj_graph_free(g);
}

/* A word is written, waited for, and one behind it written, in a stream and by a node. */
static void words(void)
{
    cj_mem_op ops[3] = { { .kind = CJ_MEM_OP_WRITE32, .d = d, .value = 31 },
                         { .kind = CJ_MEM_OP_WAIT32, .how = CJ_COMPARE_EQ, .d = d, .value = 31 },
                         { .kind = CJ_MEM_OP_WRITE64, .d = cj_offset(d, 8), .value = 32 } };
    work_did(cj_stream_mem_ops(s, ops, 3));
    work_waited(s);
    sum += word(0) + word(2);
    ops[0].value = ops[1].value = 41;
    cj_graph *g = cj_graph_create(dev);
    work_made(cj_graph_mem_ops(g, NULL, ops, 3));
    run(g);
    sum += word(0) + word(2);
    cj_graph_free(g);
}

static void cache(void)
{
    cj_graph_exec_cache_opts opts;
    cj_graph_exec_cache_defaults(&opts);
    opts.execs = 2;
    cj_graph_exec_cache *c = cj_graph_exec_cache_create(dev, &opts);
    cj_graph_exec_cache_info info;
    cj_graph_exec_cache_info_defaults(&info);
    work_made(c);
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t key = i % 4;
        cj_status st = cj_graph_exec_cache_launch(c, &key, sizeof key, s);
        if (st != CJ_ENOTFOUND) {
            work_did(st);
            continue;
        }
        cj_graph *g = cj_graph_create(dev);
        cj_node *fill = cj_graph_fill32(g, NULL, d, 20 + key, N);
        if (key % 2) cj_graph_fill32(g, CJ_NODES(fill), d, 20 + key, N);
        work_did(cj_graph_exec_cache_put(c, &key, sizeof key, g, s));
        cj_graph_free(g);
    }
    if (work_did(cj_graph_exec_cache_get_info(c, &info))) sum += info.builds + info.updates + info.launches;
    sum += word(0);
    cj_graph_exec_cache_free(c);
}

int main(void)
{
    cj_driver *drv = cj_driver_open(NULL);
    cj_ptx *m = bench_add_module();
    cj_fn *f = cj_ptx_kernel(m, "set");
    cj_val handle = cj_param(f, "h", CJ_U64);
    cj_set_condition(f, handle, cj_imm(f, 0u));
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    t = cj_stream_create(dev, NULL);
    add = cj_kernel_load(dev, m, "add", NULL);
    set = cj_kernel_load(dev, m, "set", NULL);
    d = cj_alloc(s, 8 * N);
    if (!d.addr) work_made(s);
    if (d.addr && work_made(t) && work_made(add) && work_made(set) && work_did(cj_stream_sync(s)))
        nodes(), memory(), captures(), conditions(), words(), cache();
    work_did(cj_free(dev, d));
    cj_kernel_free(add);
    cj_kernel_free(set);
    cj_stream_free(s);
    cj_stream_free(t);
    cj_device_collect(dev);
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_ptx_free(m);
    if (released != 1 && !work_first[0]) sum = 0;
    return work_end("graphs", sum);
}
