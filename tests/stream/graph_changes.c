/* Execs changed after they were made: updated from a graph, one kernel's arguments in place, nodes left out; and found
 * again by key. */
#include <string.h>

#include "tests/stream/graph_runs.h"

/* A graph of one kernel, or of a fill behind it. */
static cj_graph *graph_of(uint32_t v, bool fill)
{
    cj_graph *g = cj_graph_create(dev);
    cj_node *k = cj_graph_kernel(g, NULL, add, cj_grid(1, 32), d, 1, v);
    if (fill) cj_graph_fill32(g, CJ_NODES(k), cj_offset(d, 4), v, 1);
    return g;
}

static void updated(void)
{
    struct latch l = LATCH_CLOSED;
    clear();
    cj_graph *a = graph_of(1, false), *b = graph_of(10, false), *c = graph_of(100, true);
    cj_dptr own = cj_alloc(s, 64);
    cj_graph *e = cj_graph_create(dev);
    cj_graph_kernel(e, NULL, add, cj_grid(1, 32), own, 1, 5);
    cj_graph_exec *x = cj_graph_instantiate(a, NULL);
    bench_hold(s, &l);
    cj_graph_launch(s, x);
    tap_is_int(cj_graph_exec_update(x, b), CJ_OK, "an exec is updated from a graph of its shape: %s",
               cj_error_of(x)->message);
    cj_graph_launch(s, x);
    latch_open(&l);
    tap_is_uint(now_at(0), 11, "a launch before that is what it was, the one behind it is new");
    tap_is_int(cj_graph_exec_update(x, c), CJ_ENOTSUP, "another shape is rejected");
    tap_has_str(cj_error_of(x)->message, "cannot update this exec: its nodes", "... with the reason");
    cj_graph_launch(s, x);
    tap_is_uint(now_at(0), 21, "... and the exec is what it was");
    cj_stream_sync(s);
    tap_is_int(cj_graph_exec_update(x, e), CJ_OK, "an update to other memory");
    cj_free(dev, own);
    cj_graph_free(e);
    cj_graph_launch(s, x);
    tap_is_int(cj_stream_sync(s), CJ_OK, "... which it keeps alive");
    cj_graph_exec_free(x);
    cj_graph_free(a);
    cj_graph_free(b);
    cj_graph_free(c);
}

static void in_place(void)
{
    clear();
    cj_graph *g = cj_graph_create(dev), *other = graph_of(1, false);
    cj_node *one = cj_graph_kernel(g, NULL, add, cj_grid(1, 32), d, 1, 1),
            *two = cj_graph_kernel(g, CJ_NODES(one), add, cj_grid(1, 32), d, 1, 10);
    cj_node *fill = cj_graph_fill32(g, CJ_NODES(two), cj_offset(d, 8), 3, 1), *gap = cj_graph_empty(g, CJ_NODES(fill));
    cj_graph_exec *x = cj_graph_instantiate(g, NULL), *y = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_graph_exec_set_args(x, two, d, 1, 20), CJ_OK, "the arguments of one kernel are changed: %s",
               cj_error_of(x)->message);
    cj_graph_launch(s, x);
    tap_is_uint(now_at(0), 21, "... of that kernel, in that exec");
    cj_graph_launch(s, y);
    tap_is_uint(now_at(0), 32, "... and in no other");
    const cj_dims two_blocks = cj_grid(2, 32);
    const cj_arg args[] = { cj_arg_ptr(d), cj_arg_u(N), cj_arg_u(1000) };
    tap_is_int(cj_graph_exec_set_kernel_n(x, one, &two_blocks, args, 3), CJ_OK, "its dimensions too");
    cj_graph_launch(s, x);
    tap_is_uint(now_at(N - 1), 1000, "... reach further");
    static const char *const wrong[] = { "a wrong argument", "a node that is no kernel", "another graph's node",
                                         "nothing to leave out" };
    const cj_status st[] = { cj_graph_exec_set_args(x, one, d, 1, -1), cj_graph_exec_set_args(x, fill, d, 1, 1),
                             cj_graph_exec_set_args(x, cj_graph_nodes(other)->node[0], d, 1, 1),
                             cj_graph_exec_enable(x, gap, 0) };
    for (size_t i = 0; i < 4; i++) tap_is_int(st[i], CJ_EINVAL, "%s is rejected", wrong[i]);
    clear();
    cj_dptr own = cj_alloc(s, 64);
    cj_stream_sync(s);
    cj_graph_exec_set_args(x, one, own, 1, 1);
    cj_free(dev, own);
    cj_graph_exec_enable(x, two, 0);
    tap_is_int(cj_graph_exec_enable(x, fill, 0), CJ_OK, "nodes are left out: %s", cj_error_of(x)->message);
    cj_graph_launch(s, x);
    tap_ok(now_at(0) == 0 && now_at(2) == 0, "... and do nothing");
    cj_graph_exec_enable(x, two, 1);
    cj_graph_launch(s, x);
    tap_is_uint(now_at(0), 20, "until they are back");
    cj_graph_exec_free(x);
    cj_graph_exec_free(y);
    cj_graph_free(g);
    cj_graph_free(other);

    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_launch(s, add, cj_grid(1, 32), d, 1, 1);
    g = cj_capture_end(s);
    x = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_graph_exec_set_args(x, cj_graph_nodes(g)->node[0], d, 1, 7), CJ_OK,
               "a captured kernel's arguments can be changed too: %s", cj_error_of(x)->message);
    cj_graph_launch(s, x);
    tap_is_uint(now_at(0), 27, "... and are checked as at its launch");
    cj_graph_exec_free(x);
    cj_graph_free(g);
    tap_is_int(cj_stream_sync(s), CJ_OK, "nothing went wrong");
}

/* -- The cache ----------------------------------------------------------------------------------------------------- */

/* Launches by key as a program would: the graph is made only where it is needed. */
static int graphs_made;
static void by_key(cj_graph_exec_cache *c, cj_stream *on, uint32_t v, bool fill)
{
    const struct { uint32_t v, fill; } key = { v, fill };
    if (cj_graph_exec_cache_launch(c, &key, sizeof key, on) != CJ_ENOTFOUND) return;
    cj_graph *g = graph_of(v, fill);
    graphs_made++;
    cj_graph_exec_cache_put(c, &key, sizeof key, g, on);
    cj_graph_free(g);
}

static cj_graph_exec_cache_info info_of(cj_graph_exec_cache *c)
{
    cj_graph_exec_cache_info info = { .size = sizeof info };
    cj_graph_exec_cache_get_info(c, &info);
    return info;
}

static void ladder(void)
{
    clear();
    cj_graph_exec_cache *c = cj_graph_exec_cache_create(dev, NULL);
    by_key(c, s, 1, false);
    by_key(c, s, 1, false);
    by_key(c, s, 1, false);
    cj_graph_exec_cache_info i = info_of(c);
    tap_ok(graphs_made == 1 && i.builds == 1 && i.launches == 2 && i.updates == 0 && i.execs == 1 && i.nodes == 1,
           "the same key launches");
    by_key(c, s, 10, false);
    i = info_of(c);
    tap_ok(i.builds == 1 && i.updates == 1 && i.execs == 1, "the same shape updates");
    by_key(c, s, 100, true);
    i = info_of(c);
    tap_ok(i.builds == 2 && i.updates == 1 && i.execs == 2 && i.nodes == 3, "another shape is built");
    cj_stream_sync(s); /* the kernels of both streams add to one place */
    by_key(c, t, 10000, false);
    cj_stream_sync(t);
    i = info_of(c);
    tap_ok(i.builds == 3 && i.updates == 1, "another stream has execs of its own");
    by_key(c, s, 1, false);
    tap_is_uint(info_of(c).updates, 2, "a key that lost its exec to another takes it back");
    tap_is_uint(now_at(0), 3 + 10 + 100 + 10000 + 1, "and each launch was what its key says");
    cj_graph_exec_cache_free(c);
}

static void bounded(void)
{
    clear();
    cj_graph_exec_cache *c = cj_graph_exec_cache_create(dev, CJ_GRAPH_EXEC_CACHE(.execs = 2, .execs_per_shape = 8));
    by_key(c, s, 1, false);
    by_key(c, s, 2, false);
    by_key(c, s, 1, false);
    by_key(c, s, 3, false);
    cj_graph_exec_cache_info i = info_of(c);
    tap_ok(i.builds == 3 && i.evictions == 1 && i.execs == 2, "beyond the number of execs one goes");
    graphs_made = 0;
    by_key(c, s, 1, false);
    tap_is_int(graphs_made, 0, "... and not the one launched last");
    by_key(c, s, 2, false);
    tap_is_int(graphs_made, 1, "... but the other");
    cj_graph_exec_cache_free(c);
    c = cj_graph_exec_cache_create(dev, CJ_GRAPH_EXEC_CACHE(.nodes = 3, .execs_per_shape = 2));
    by_key(c, s, 1, true);
    by_key(c, s, 2, false);
    by_key(c, s, 3, false);
    i = info_of(c);
    tap_ok(i.nodes == 2 && i.execs == 2 && i.evictions == 1, "beyond the number of nodes the oldest goes: %u nodes",
           (unsigned)i.nodes);
    cj_graph_exec_cache_free(c);
    c = cj_graph_exec_cache_create(dev, CJ_GRAPH_EXEC_CACHE(.nodes = 1));
    by_key(c, s, 20, true);
    i = info_of(c);
    tap_ok(i.execs == 0 && i.builds == 1 && !i.evictions, "a graph that is too large is launched and not kept");
    cj_graph_exec_cache_free(c);
    tap_is_uint(now_at(0), 1 + 2 + 1 + 3 + 1 + 2 + 1 + 2 + 3 + 20, "each launch was done");
    c = cj_graph_exec_cache_create(dev, NULL);
    cj_graph *g = cj_graph_create(dev);
    cj_graph_host_func(g, NULL, NULL, NULL);
    tap_is_int(cj_graph_exec_cache_put(c, "k", 1, g, s), CJ_EINVAL, "a graph that lacks a node is rejected");
    tap_has_str(cj_error_of(c)->message, "the function is NULL", "... for its reason");
    tap_is_int(cj_stream_sync(s), CJ_EINVAL, "... which the stream keeps");
    tap_is_int(cj_graph_exec_cache_launch(c, "k", 0, s), CJ_EINVAL, "a key has bytes");
    cj_graph_free(g);
    cj_graph_exec_cache_free(c);
    cj_stream_sync(s);
}

int main(void)
{
    bench_open(4 * N);
    updated();
    in_place();
    graphs_made = 0;
    ladder();
    bounded();
    return bench_close();
}
