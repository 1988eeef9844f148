/* A graph put together node by node does what its nodes say, in their order, as often as it is launched; what they use
 * stays alive; what cannot be a node makes a graph that says why. */
#include <string.h>

#include "tests/stream/graph_runs.h"

static void call_counts(void *user) { ++*(int *)user; }

static void every_kind(void)
{
    static uint32_t in[N], out[N];
    int called = 0;
    cj_kernel *k = cj_kernel_load(dev, module, "add", NULL);
    cj_dptr e = cj_alloc(s, 4 * N);
    cj_event *done = cj_event_create(dev, NULL);
    for (uint32_t i = 0; i < N; i++) in[i] = i;
    cj_graph *g = cj_graph_create(dev);
    cj_node *up = cj_graph_copy_to_device(g, NULL, d, in, sizeof in);
    cj_node *left = cj_graph_kernel(g, CJ_NODES(up), k, cj_threads(N / 2, 32), d, N / 2, 100);
    cj_node *right = cj_graph_kernel(g, CJ_NODES(up, up), k, cj_threads(N / 2, 32), cj_offset(d, 2 * N), N / 2, 200);
    cj_node *meet = cj_graph_empty(g, CJ_NODES(left, right));
    cj_node *copy = cj_graph_copy(g, CJ_NODES(meet), e, d, sizeof in);
    cj_node *call = cj_graph_host_func(g, CJ_NODES(meet), call_counts, &called);
    cj_node *bytes = cj_graph_fill8(g, CJ_NODES(copy), e, 7, 4),
            *words = cj_graph_fill32(g, CJ_NODES(copy), cj_offset(e, 8), 9, 1);
    cj_node *halves = cj_graph_fill16(g, CJ_NODES(copy), cj_offset(e, 4), 0x1234, 2);
    cj_node *down = cj_graph_copy_to_host(g, CJ_NODES(bytes, halves, words), out, e, sizeof out);
    cj_node *mark = cj_graph_event_record(g, CJ_NODES(down, call), done);
    cj_node *after = cj_graph_event_wait(g, CJ_NODES(mark), done);
    tap_is_int(cj_error_of(after)->status, CJ_OK, "every kind of node can be added: %s", cj_error_of(g)->message);
    tap_is_uint(cj_graph_count(g), 12, "twelve nodes");
    const cj_node_kind kinds[] = { CJ_NODE_COPY, CJ_NODE_KERNEL,    CJ_NODE_KERNEL,       CJ_NODE_EMPTY,
                                   CJ_NODE_COPY, CJ_NODE_HOST_FUNC, CJ_NODE_FILL,         CJ_NODE_FILL,
                                   CJ_NODE_FILL, CJ_NODE_COPY,      CJ_NODE_EVENT_RECORD, CJ_NODE_EVENT_WAIT };
    const cj_nodes *all = cj_graph_nodes(g);
    bool same = all->count == 12;
    for (size_t i = 0; same && i < 12; i++) same = cj_node_kind_of(all->node[i]) == kinds[i];
    tap_ok(same && all->node[0] == up && all->node[11] == after,
           "the list has them in the order of their making, each the same object as before");
    tap_ok(cj_graph_leaves(g)->count == 1 && cj_graph_leaves(g)->node[0] == after, "one comes last");
    tap_ok(cj_node_graph(mark) == g && cj_node_raw(mark), "a node knows its graph");
    cj_graph_info info = { .size = sizeof info };
    cj_graph_get_info(g, &info);
    tap_ok(info.nodes == 12 && info.edges == 15 && info.roots == 1 && info.leaves == 1 && info.depth == 8 &&
               info.all == 12,
           "the counts: %zu edges, %zu deep", info.edges, info.depth);
    tap_ok(info.kernels == 2 && info.copies == 3 && info.fills == 3 && info.host_funcs == 1 && info.empty == 1 &&
               info.event_records == 1 && info.event_waits == 1 && !info.children && !info.conditionals && !info.others,
           "the counts of the kinds");

    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    cj_kernel_free(k);
    cj_event_free(done);
    cj_free(dev, e);
    tap_is_int(cj_graph_upload(s, x), CJ_OK, "it is uploaded: %s", cj_error_of(x)->message);
    for (int i = 0; i < 3; i++) cj_graph_launch(s, x);
    tap_is_int(cj_stream_sync(s), CJ_OK, "it runs, though everything that it uses was freed: %s",
               cj_error_of(s)->message);
    tap_is_int(called, 3, "three launches called the host function three times");
    tap_ok(out[0] == 0x07070707 && out[1] == 0x12341234 && out[2] == 9 && out[3] == 103 && out[N - 1] == 200 + N - 1,
           "the results are those of one pass: %x %x %u %u %u", (unsigned)out[0], (unsigned)out[1], (unsigned)out[2],
           (unsigned)out[3], (unsigned)out[N - 1]);
    cj_graph_exec_free(x);
}

static void cannot_be_nodes(void)
{
    cj_graph *g, *other = cj_graph_create(dev);
    cj_node *foreign = cj_graph_empty(other, NULL);
    static char host[16];
    static const struct { const char *name; int which; cj_status status; const char *says; } cases[] = {
        { "a wrong argument", 0, CJ_EINVAL, "argument 3 (v) is -1" },
        { "no blocks", 1, CJ_EINVAL, "0 blocks in x" },
        { "a copy of nothing", 2, CJ_EINVAL, "0 bytes" },
        { "a copy beyond its memory", 3, CJ_EINVAL, "do not fit" },
        { "a copy over itself", 4, CJ_EINVAL, "overlap" },
        { "a fill that is not aligned", 5, CJ_EINVAL, "not aligned to 4" },
        { "a host function that is none", 6, CJ_EINVAL, "the function is NULL" },
        { "a node of another graph before it", 7, CJ_EINVAL, "another graph" },
        { "a node that has failed before it", 8, CJ_EINVAL, "the function is NULL" },
        { "a condition that is none", 9, CJ_EINVAL, "the condition is 0" },
        { "the host's memory at NULL", 10, CJ_EINVAL, "the source is NULL" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_node *n = NULL;
        cj_graph *body;
        g = cj_graph_create(dev);
        switch (cases[i].which) {
        case 0: n = cj_graph_kernel(g, NULL, add, cj_grid(1, 32), d, 1, -1); break;
        case 1: n = cj_graph_kernel(g, NULL, add, cj_grid(0, 32), d, 1, 1); break;
        case 2: n = cj_graph_copy_to_host(g, NULL, host, d, 0); break;
        case 3: n = cj_graph_copy_to_host(g, NULL, host, cj_offset(d, 4 * N - 4), 8); break;
        case 4: n = cj_graph_copy(g, NULL, d, cj_offset(d, 4), 8); break;
        case 5: n = cj_graph_fill32(g, NULL, cj_offset(d, 2), 1, 1); break;
        case 6: n = cj_graph_host_func(g, NULL, NULL, NULL); break;
        case 7: n = cj_graph_empty(g, CJ_NODES(foreign)); break;
        case 8: n = cj_graph_empty(g, CJ_NODES(cj_graph_host_func(g, NULL, NULL, NULL))); break;
        case 9: n = cj_graph_while(g, NULL, &body, 0); break;
        default: n = cj_graph_copy_to_device(g, NULL, d, NULL, 4); break;
        }
        tap_is_int(cj_error_of(n)->status, cases[i].status, "%s is a failed node", cases[i].name);
        tap_has_str(cj_error_of(n)->message, cases[i].says, "... that says why");
        cj_graph_exec *x = cj_graph_instantiate(g, NULL);
        tap_is_int(cj_error_of(x)->status, cases[i].status, "... and its graph cannot be launched");
        tap_has_str(cj_error_of(x)->message, cases[i].says, "... for that reason");
        cj_graph_exec_free(x);
        cj_graph_free(g);
    }
    cj_graph_free(other);
    cj_stream_sync(s);
}

static void cycle(void)
{
    cj_graph *g = cj_graph_create(dev);
    cj_node *a = cj_graph_fill32(g, NULL, d, 1, 1), *b = cj_graph_fill32(g, CJ_NODES(a), d, 2, 1),
            *c = cj_graph_fill32(g, NULL, d, 3, 1);
    tap_is_int(cj_node_depend(c, CJ_NODES(a, b)), CJ_OK, "a node can be made to come after others later: %s",
               cj_error_of(c)->message);
    tap_is_int(cj_node_depend(c, CJ_NODES(b)), CJ_OK, "and again");
    tap_is_int(run(g), CJ_OK, "that runs");
    tap_is_uint(now_at(0), 3, "... in that order");
    tap_is_int(cj_node_depend(a, CJ_NODES(a)), CJ_EINVAL, "not after itself: %s", cj_error_of(a)->message);
    cj_graph_exec *lacking = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_error_of(lacking)->status, CJ_EINVAL, "... whose graph lacks an edge");
    cj_graph_exec_free(lacking);
    cj_graph_free(g);
    g = cj_graph_create(dev);
    a = cj_graph_empty(g, NULL), b = cj_graph_empty(g, CJ_NODES(a)), c = cj_graph_empty(g, CJ_NODES(b));
    cj_status st = cj_node_depend(a, CJ_NODES(c));
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_ok(st != CJ_OK || cj_error_of(x)->status != CJ_OK, "a cycle is rejected: %s", cj_error_of(x)->message);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_stream_sync(s);
}

static void parts(void)
{
    static uint32_t zero;
    cj_graph *inner = cj_graph_create(dev), *g = cj_graph_create(dev);
    cj_dptr own = cj_alloc(s, 16);
    cj_node *first = cj_graph_kernel(inner, NULL, add, cj_grid(1, 32), d, 1, 1);
    cj_graph_fill32(inner, CJ_NODES(first), own, 5, 4);
    cj_node *start = cj_graph_copy_to_device(g, NULL, d, &zero, 4);
    cj_node *one = cj_graph_child(g, CJ_NODES(start), inner);
    cj_graph_kernel(inner, NULL, add, cj_grid(1, 32), cj_offset(d, 4), 1, 1); /* not in the first child */
    cj_node *two = cj_graph_child(g, CJ_NODES(one), inner);
    cj_node *three = cj_graph_kernel(g, CJ_NODES(two), add, cj_grid(1, 32), d, 1, 10);
    tap_is_int(cj_error_of(three)->status, CJ_OK, "a graph can be a node, twice: %s", cj_error_of(two)->message);
    cj_graph_info info = { .size = sizeof info };
    cj_graph_get_info(g, &info);
    tap_ok(info.nodes == 4 && info.children == 2 && info.all == 4 + 2 + 3, "what is inside counts in all: %zu",
           info.all);
    cj_graph *c = cj_graph_clone(g);
    cj_node *same = cj_node_in_clone(c, three);
    tap_ok(same && same != three && cj_node_kind_of(same) == CJ_NODE_KERNEL && cj_node_graph(same) == c,
           "a clone has the node too: %s", cj_error_of(c)->message);
    tap_ok(!cj_node_in_clone(c, first) && cj_error_of(c)->status == CJ_ENOTFOUND, "but not one of another graph");
    cj_graph_kernel(c, CJ_NODES(same), add, cj_grid(1, 32), d, 1, 1000);
    cj_graph_free(inner);
    cj_free(dev, own);
    tap_is_int(run(g), CJ_OK, "children run: %s", cj_error_of(s)->message);
    tap_is_uint(now_at(0), 12, "... each");
    cj_graph_free(g);
    tap_is_int(run(c), CJ_OK, "a clone runs when the first is gone: %s", cj_error_of(s)->message);
    tap_is_uint(now_at(0), 1012, "... with what was added to it alone");
    cj_node *itself = cj_graph_child(c, NULL, c);
    tap_is_int(cj_error_of(itself)->status, CJ_OK, "a graph added to itself is a copy of what it was: %s",
               cj_error_of(itself)->message);
    cj_graph_free(c);
}

static int released;
static void release(void *user) { released += *(int *)user; }

static void kept(void)
{
    struct latch l = LATCH_CLOSED;
    static int one = 1;
    released = 0;
    cj_graph *g = cj_graph_create(dev);
    cj_graph_fill32(g, NULL, d, 4, 1);
    cj_graph_on_release(g, release, &one);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph *c = cj_graph_clone(g);
    cj_graph_free(g);
    cj_graph_free(c);
    tap_is_int(released, 0, "what a graph keeps stays while an exec is left");
    bench_hold(s, &l);
    cj_graph_launch(s, x);
    cj_graph_exec_free(x);
    cj_device_collect(dev);
    tap_is_int(released, 0, "... and while it runs");
    latch_open(&l);
    cj_stream_sync(s);
    cj_device_collect(dev);
    tap_is_int(released, 1, "then it is let go, once");
    tap_is_int(cj_graph_on_release(NULL, release, NULL), CJ_EHANDLE, "no graph keeps nothing");
}

static void picture(void)
{
    cj_graph *inner = cj_graph_create(dev), *g = cj_graph_create(dev);
    static uint32_t host[4];
    cj_graph_fill8(inner, NULL, d, 1, 2048);
    tap_is_int(cj_error_of(inner)->status, CJ_EINVAL, "(a fill that is too long)");
    cj_graph_free(inner);
    inner = cj_graph_create(dev);
    cj_graph_fill16(inner, NULL, d, 258, 16);
    cj_node *up = cj_graph_copy_to_device(g, NULL, d, host, 16),
            *k = cj_graph_kernel(g, CJ_NODES(up), add, cj_grid3(2, 3, 1, 32, 1, 1), d, 1, 1);
    cj_graph_child(g, CJ_NODES(k), inner);
    const char *dot = cj_graph_dot(g);
    tap_has_str(dot, "digraph cujit {", "a graph is drawn");
    tap_has_str(dot, "n0 [label=\"copy to device\\n16 B\"", "a copy with its direction and size");
    tap_has_str(dot, "n1 [label=\"add\\n2 x 3 blocks of 32\"", "a kernel with its name and dimensions");
    tap_has_str(dot, "n0 -> n1;", "an edge");
    tap_has_str(dot, "n2_0_0 [label=\"fill with 258\\n32 B\"", "what is in a child");
    tap_has_str(dot, "subgraph \"cluster_n2_0_\"", "... in its frame");
    cj_graph_free(inner);
    cj_graph_free(g);
    tap_is_str(cj_graph_dot(NULL), "", "no graph is no text");

    int called = 0;
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_copy_to_device(s, d, host, 16); /* pageable memory */
    cj_host_func(s, call_counts, &called);
    g = cj_capture_end(s);
    tap_has_str(cj_graph_dot(g), "n0 [label=\"staging\"", "a host function of the library's own is called staging");
    tap_has_str(cj_graph_dot(g), "n2 [label=\"host function\"", "... the user's is not");
    cj_graph_free(g);
}

int main(void)
{
    bench_open(4 * N);
    every_kind();
    cannot_be_nodes();
    cycle();
    parts();
    kept();
    picture();
    return bench_close();
}
