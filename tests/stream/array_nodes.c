/* Nodes that copy from and to arrays: they read and write at each launch, keep what they name, come behind the nodes
 * that they depend on, and are rejected with the figures where the copy does not fit. */
#include <string.h>

#include "tests/device_bench.h"

enum { W = 12, H = 7, D = 5, ALL = W * H * D };
static uint32_t in[D][H][W], out[D][H][W];

static cj_array *whole(void)
{
    return cj_array_create(dev, CJ_ARRAY(.width = W, .height = H, .depth = D, .type = CJ_U32));
}

static void count_up(uint32_t from)
{
    for (uint32_t i = 0; i < ALL; i++) ((uint32_t *)in)[i] = from + i;
}

/* Host memory, an array, a box of another one, device memory, host memory: each node behind the one before. */
static cj_graph *chain(cj_array *a, cj_array *b, cj_dptr m)
{
    cj_graph *g = cj_graph_create(dev);
    cj_node *up = cj_graph_copy_array(g, NULL, CJ_COPY_ARRAY(.dst_array = a, .src_host = in));
    cj_node *over =
        cj_graph_copy_array(g, CJ_NODES(up), CJ_COPY_ARRAY(.width = W, .height = H, .depth = D, .dst_array = b,
                                                           .dst_x = 9, .dst_y = 5, .dst_z = 3, .src_array = a));
    cj_node *to = cj_graph_copy_array(
        g, CJ_NODES(over), CJ_COPY_ARRAY(.width = W, .height = H, .depth = D, .src_array = b, .src_x = 9, .src_y = 5,
                                         .src_z = 3, .dst = m, .dst_pitch = 4 * W + 8, .dst_rows = H + 1));
    cj_node *down = cj_graph_copy_3d(g, CJ_NODES(to), CJ_COPY_3D(.width = 4 * W, .height = H, .depth = D, .src = m,
                                                                 .src_pitch = 4 * W + 8, .src_rows = H + 1,
                                                                 .dst_host = out));
    cj_node *const all[] = { up, over, to, down };
    for (int i = 0; i < 4; i++)
        tap_is_int(cj_node_kind_of(all[i]), CJ_NODE_COPY, "node %d copies: %s", i, cj_error_of(all[i])->message);
    return g;
}

static void launches(void)
{
    const cj_dptr m = cj_alloc(s, (4 * W + 8) * (H + 1) * D);
    cj_array *a = whole();
    cj_array *b = cj_array_create(dev, CJ_ARRAY(.width = 2 * W, .height = 2 * H, .depth = 2 * D, .type = CJ_S32));
    cj_graph *g = chain(a, b, m), *copy = cj_graph_clone(g);
    cj_graph_exec *x[2] = { cj_graph_instantiate(g, NULL), cj_graph_instantiate(copy, NULL) };
    cj_graph_free(g), cj_graph_free(copy);
    cj_array_free(a), cj_array_free(b);
    cj_free(dev, m);
    cj_stream_sync(s);
    tap_is_uint(cj_device_collect(dev), 0, "the graphs keep arrays and memory, so no release waits");
    for (uint32_t i = 0; i < 4; i++) {
        count_up(1000 * i);
        memset(out, 0, sizeof out);
        tap_is_int(cj_graph_launch(s, x[i % 2]), CJ_OK, "launch %u: %s", i, cj_error_of(x[i % 2])->message);
        tap_is_int(cj_stream_sync(s), CJ_OK, "... is complete");
        tap_is_mem(out, in, sizeof in, "... and has copied what is there now");
    }
    cj_graph_exec_free(x[0]), cj_graph_exec_free(x[1]);
    tap_is_uint(cj_device_collect(dev), 0, "everything is released with them");
}

/* A level's node keeps the mipmapped array. */
static void levels(void)
{
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = W, .height = H, .levels = 2, .type = CJ_U32));
    cj_array *level = cj_array_level(a, 1);
    cj_graph *g = cj_graph_create(dev);
    cj_node *up = cj_graph_copy_array(g, NULL, CJ_COPY_ARRAY(.dst_array = level, .src_host = in));
    cj_node *down = cj_graph_copy_array(g, CJ_NODES(up), CJ_COPY_ARRAY(.src_array = level, .dst_host = out));
    tap_is_int(cj_error_of(down)->status, CJ_OK, "a level is copied: %s", cj_error_of(down)->message);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_array_free(level), cj_array_free(a);
    cj_graph_free(g);
    count_up(77);
    memset(out, 0, sizeof out);
    cj_graph_launch(s, x);
    tap_is_int(cj_stream_sync(s), CJ_OK, "after it was freed, with its array");
    tap_is_mem(out, in, 4 * (W / 2) * (H / 2), "all of it arrives");
    tap_is_uint(((uint32_t *)out)[(W / 2) * (H / 2)], 0, "and nothing more");
    cj_graph_exec_free(x);
}

static void rejects(void)
{
    cj_array *a = whole(), *mips = cj_array_create(dev, CJ_ARRAY(.width = W, .height = H, .levels = 2));
    cj_array *failed = cj_array_create(dev, NULL);
    const cj_dptr small = cj_alloc(s, 64);
    const struct { const char *name; cj_copy_array_params p; const char *says; } wrongs[] = {
        { "no source", { .dst_array = a }, "the source is not set" },
        { "no array", { .width = 4, .dst = small, .src_host = in }, "no end is an array" },
        { "an array that failed", { .dst_array = failed, .src_host = in }, "cj_array_create: " },
        { "a mipmapped array", { .dst_array = mips, .src_host = in }, "is mipmapped; copy one of its levels" },
        { "an offset behind the end", { .src_array = a, .src_z = D, .dst_host = out }, "begins at (0, 0, 5)" },
        { "memory that is too small", { .dst_array = a, .src = small }, "1680 bytes do not fit, 64 are left" },
        { "ranges that overlap", { .width = 6, .dst_array = a, .src_array = a, .src_x = 5 }, "overlap in one array" },
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        cj_graph *g = cj_graph_create(dev);
        cj_copy_array_params p = wrongs[i].p;
        p.size = sizeof p;
        cj_node *n = cj_graph_copy_array(g, NULL, &p);
        tap_is_int(cj_node_kind_of(n), CJ_NODE_OTHER, "%s", wrongs[i].name);
        tap_has_str(cj_error_of(n)->message, wrongs[i].says, "... is named");
        cj_graph_exec *x = cj_graph_instantiate(g, NULL);
        tap_has_str(cj_error_of(x)->message, wrongs[i].says, "... and the graph is incomplete");
        cj_graph_exec_free(x);
        cj_graph_free(g);
    }
    cj_node *n = cj_graph_copy_array(NULL, NULL, CJ_COPY_ARRAY(.dst_array = a, .src_host = in));
    tap_is_int(cj_error_of(n)->status, CJ_EHANDLE, "no graph");
    cj_graph *g = cj_graph_create(dev);
    tap_is_int(cj_error_of(cj_graph_copy_array(g, NULL, NULL))->status, CJ_EINVAL, "parameters that are NULL");
    cj_graph_free(g);
    cj_free(dev, small);
    cj_array_free(a), cj_array_free(mips), cj_array_free(failed);
}

int main(void)
{
    bench_open(0);
    launches(), levels(), rejects();
    return bench_close();
}
