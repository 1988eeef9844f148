/* Words that streams and graphs wait for and write, several at once: all of them in their order or none; as nodes they
 * do it at each launch, in clones, children and captures too. */
#include <stdatomic.h>

#include "tests/device_bench.h"

enum { WORDS = 2 * CJ_MEM_OPS_MAX + 2 };
static _Atomic uint32_t *h; /* pinned: drivers (580) take no words in memory of a pool */

static cj_dptr word(size_t i) { return (cj_dptr){ (uintptr_t)(h + i) }; }
static cj_mem_op wait32(size_t i, uint32_t v)
{
    return (cj_mem_op){ .kind = CJ_MEM_OP_WAIT32, .how = CJ_COMPARE_EQ, .d = word(i), .value = v };
}
static cj_mem_op write32(size_t i, uint32_t v)
{
    return (cj_mem_op){ .kind = CJ_MEM_OP_WRITE32, .d = word(i), .value = v };
}

static void clear(void)
{
    for (size_t i = 0; i < WORDS; i++) atomic_store(&h[i], 0);
}

/* -- Streams ------------------------------------------------------------------------------------------------------- */

static bool there_are_values(void)
{
    const cj_mem_op op = write32(0, 1);
    const cj_status st = cj_stream_mem_ops(s, &op, 1);
    cj_stream_sync(s);
    if (st == CJ_ENOTSUP) tap_skip(1, "this device or driver has none: %s", cj_error_of(s)->message);
    else tap_is_int(st, CJ_OK, "one write: %s", cj_error_of(s)->message);
    return st == CJ_OK;
}

static void in_streams(void)
{
    clear();
    const cj_mem_op held[] = {
        { .kind = CJ_MEM_OP_WRITE32, .d = word(1), .value = 5 },
        { .kind = CJ_MEM_OP_WAIT32, .how = CJ_COMPARE_GE, .d = word(0), .value = 2 },
        { .kind = CJ_MEM_OP_WRITE64, .d = word(2), .value = UINT64_C(0x700000006) },
        { .kind = CJ_MEM_OP_WAIT64, .how = CJ_COMPARE_AND, .d = word(2), .value = UINT64_C(0x400000000) },
        { .kind = CJ_MEM_OP_WRITE32, .d = word(1), .value = UINT32_MAX },
    }, go = write32(0, 3);
    cj_stream_counts before, after;
    cj_stream_counts_defaults(&before);
    cj_stream_counts_defaults(&after);
    cj_stream_get_counts(s, &before);
    tap_is_int(cj_stream_mem_ops(s, held, 5), CJ_OK, "two waits and three writes: %s", cj_error_of(s)->message);
    cj_stream_get_counts(s, &after);
    tap_is_uint(after.operations - before.operations, 5, "count as five operations");
    tap_is_int(cj_stream_query(s), CJ_ENOTREADY, "the first wait holds the stream");
    tap_ok(atomic_load(&h[1]) != UINT32_MAX && !atomic_load(&h[2]), "and what comes after it");
    tap_is_int(cj_stream_mem_ops(t, &go, 1), CJ_OK, "another stream writes the word");
    tap_is_int(cj_stream_sync_for(s, 10000), CJ_OK, "then it goes on");
    tap_ok(atomic_load(&h[1]) == UINT32_MAX && atomic_load(&h[2]) == 6 && atomic_load(&h[3]) == 7,
           "words of both sizes are written, the last one last");
    cj_stream_sync(t);

    cj_mem_op many[CJ_MEM_OPS_MAX + 1];
    for (size_t i = 0; i <= CJ_MEM_OPS_MAX; i++) many[i] = write32(i, (uint32_t)i + 1);
    tap_is_int(cj_stream_mem_ops(s, many, CJ_MEM_OPS_MAX), CJ_OK, "as many as one call takes: %s",
               cj_error_of(s)->message);
    cj_stream_sync(s);
    tap_ok(atomic_load(&h[0]) == 1 && atomic_load(&h[CJ_MEM_OPS_MAX - 1]) == CJ_MEM_OPS_MAX, "are all written");
    tap_is_int(cj_stream_mem_ops(s, many, CJ_MEM_OPS_MAX + 1), CJ_EINVAL, "one more is rejected: %s",
               cj_error_of(s)->message);
    cj_stream_sync(s);
    tap_is_uint(atomic_load(&h[CJ_MEM_OPS_MAX]), 0, "... and not written");
    tap_is_int(cj_stream_mem_ops(s, NULL, 0), CJ_OK, "none is nothing");
}

/* -- What is rejected ---------------------------------------------------------------------------------------------- */

static void refusals(void)
{
    const struct { const char *name, *says; cj_mem_op bad;
    } cases[] = {
        { "no kind", "op 1: kind 0 is none of CJ_MEM_OP_WAIT32", { .d = word(1) } },
        { "a kind beyond", "op 1: kind 5 is none of", { .kind = 5, .d = word(1) } },
        { "no comparison",
          "op 1: comparison 4 is none of CJ_COMPARE_GE",
          { .kind = CJ_MEM_OP_WAIT64, .how = 4, .d = word(2) } },
        { "no memory", "op 1: the location is { 0 }, no memory", { .kind = CJ_MEM_OP_WRITE32 } },
        { "32 bits beside the word",
          "is not aligned to 4 bytes",
          { .kind = CJ_MEM_OP_WRITE32, .d = cj_offset(word(1), 2) } },
        { "64 bits beside the word",
          "is not aligned to 8 bytes",
          { .kind = CJ_MEM_OP_WAIT64, .how = CJ_COMPARE_EQ, .d = word(1) } },
        { "a value too large",
          "op 1: the value 0x100000000 does not fit",
          { .kind = CJ_MEM_OP_WAIT32, .d = word(1), .value = UINT64_C(1) << 32 } },
    };
    clear();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cj_mem_op ops[3] = { write32(0, 1), cases[i].bad, write32(4, 1) };
        tap_is_int(cj_stream_mem_ops(s, ops, 3), CJ_EINVAL, "%s: refused by a stream", cases[i].name);
        tap_has_str(cj_error_of(s)->message, cases[i].says, "... which says where");
        tap_is_int(cj_stream_sync(s), CJ_EINVAL, "... and keeps it");
        cj_graph *g = cj_graph_create(dev);
        cj_node *n = cj_graph_mem_ops(g, NULL, ops, 3);
        tap_is_int(cj_error_of(n)->status, CJ_EINVAL, "... refused by a graph");
        tap_has_str(cj_error_of(n)->message, cases[i].says, "... which says the same");
        tap_is_uint(cj_graph_count(g), 0, "... and gets no node");
        cj_graph_free(g);
    }
    tap_ok(!atomic_load(&h[0]) && !atomic_load(&h[4]), "nothing of what was rejected is written");
    tap_is_int(cj_stream_mem_ops(s, NULL, 2), CJ_EINVAL, "ops at NULL: %s", cj_error_of(s)->message);
    cj_stream_sync(s);
    cj_graph *g = cj_graph_create(dev);
    const cj_mem_op one = write32(0, 1);
    tap_is_int(cj_error_of(cj_graph_mem_ops(g, NULL, &one, 0))->status, CJ_EINVAL, "a node without ops: %s",
               cj_error_of(g)->message);
    tap_is_int(cj_error_of(cj_graph_mem_ops(g, NULL, NULL, 1))->status, CJ_EINVAL, "a node with ops at NULL");
    tap_is_int(cj_error_of(cj_graph_mem_ops(g, NULL, &one, CJ_MEM_OPS_MAX + 1))->status, CJ_EINVAL,
               "a node with too many");
    cj_graph_free(g);
}

/* -- Graphs -------------------------------------------------------------------------------------------------------- */

static uint32_t seen;
static void look(void *user) { seen = atomic_load((_Atomic uint32_t *)user); }

/* Launched, it ends when `t` has written the word that it waits for. */
static void run_held(cj_graph *g, const char *name)
{
    const cj_mem_op go = write32(0, 1);
    clear();
    seen = 0;
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_graph_launch(s, x), CJ_OK, "%s is launched: %s", name, cj_error_of(x)->message);
    tap_is_int(cj_stream_query(s), CJ_ENOTREADY, "... and held by its wait");
    tap_is_int(cj_stream_mem_ops(t, &go, 1), CJ_OK, "... until another stream writes the word");
    tap_is_int(cj_stream_sync_for(s, 10000), CJ_OK, "... then it goes on");
    tap_ok(seen == 7 && atomic_load(&h[1]) == 8 && atomic_load(&h[2]) == 9,
           "... and writes in the order of its nodes: %u, %u, %u", (unsigned)seen, (unsigned)atomic_load(&h[1]),
           (unsigned)atomic_load(&h[2]));
    cj_stream_sync(t);
    atomic_store(&h[2], 0);
    cj_graph_launch(s, x);
    tap_is_int(cj_stream_sync_for(s, 10000), CJ_OK, "... again, with the word as it is");
    tap_is_uint(atomic_load(&h[2]), 9, "... it is done again");
    cj_graph_exec_free(x);
}

static void in_graphs(void)
{
    const cj_mem_op first[2] = { wait32(0, 1), write32(1, 7) }, last[2] = { write32(1, 8), write32(2, 9) };
    cj_graph *g = cj_graph_create(dev), *parent = cj_graph_create(dev);
    cj_node *hold = cj_graph_mem_ops(g, NULL, first, 2);
    cj_node *host = cj_graph_host_func(g, CJ_NODES(hold), look, (void *)(uintptr_t)&h[1]);
    cj_node *end = cj_graph_mem_ops(g, CJ_NODES(host), last, 2);
    tap_is_int(cj_error_of(end)->status, CJ_OK, "two nodes of words: %s", cj_error_of(g)->message);
    tap_ok(cj_node_kind_of(hold) == CJ_NODE_MEM_OPS && cj_node_kind_of(end) == CJ_NODE_MEM_OPS && cj_node_raw(end),
           "of a kind of their own");
    cj_graph_info info = { .size = sizeof info };
    cj_graph_get_info(g, &info);
    tap_ok(info.nodes == 3 && info.mem_ops == 2 && info.host_funcs == 1 && !info.others, "which is counted");
    tap_has_str(cj_graph_dot(g), "wait for 1 location\\nwrite 1 location", "the picture says what the first does");
    tap_has_str(cj_graph_dot(g), "\"write 2 locations\"", "... and the last");
    run_held(g, "a graph");
    cj_graph *clone = cj_graph_clone(g);
    cj_graph_child(parent, NULL, g);
    cj_graph_free(g);
    run_held(clone, "its clone");
    tap_is_int(cj_node_kind_of(cj_graph_nodes(clone)->node[0]), CJ_NODE_MEM_OPS, "a clone's nodes are of that kind");
    cj_graph_free(clone);
    run_held(parent, "a graph with it as a child");
    cj_graph_free(parent);
}

/* The same ops with other words and values: an exec is updated. */
static void updated(void)
{
    cj_graph *a = cj_graph_create(dev), *b = cj_graph_create(dev), *c = cj_graph_create(dev);
    const cj_mem_op one = write32(0, 1), other = write32(1, 2), two[2] = { write32(4, 3), write32(5, 3) };
    clear();
    cj_graph_mem_ops(a, NULL, &one, 1);
    cj_graph_mem_ops(b, NULL, &other, 1);
    cj_graph_mem_ops(c, NULL, two, 2);
    cj_graph_exec *x = cj_graph_instantiate(a, NULL);
    tap_is_int(cj_graph_exec_update(x, b), CJ_OK, "an exec takes other words and values: %s", cj_error_of(x)->message);
    cj_graph_launch(s, x);
    cj_stream_sync(s);
    tap_ok(!atomic_load(&h[0]) && atomic_load(&h[1]) == 2, "and writes those");
    tap_is_int(cj_graph_exec_update(x, c), CJ_ENOTSUP, "another number of ops is another shape: %s",
               cj_error_of(x)->message);
    atomic_store(&h[1], 0);
    cj_graph_launch(s, x);
    cj_stream_sync(s);
    tap_ok(atomic_load(&h[1]) == 2 && !atomic_load(&h[4]), "the exec is as it was");
    cj_graph_exec_free(x);
    cj_graph_free(a);
    cj_graph_free(b);
    cj_graph_free(c);
}

static void captured(void)
{
    const cj_mem_op last[2] = { write32(1, 8), write32(2, 9) };
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_stream_wait_value32(s, word(0), 1, CJ_COMPARE_EQ);
    cj_stream_write_value32(s, word(1), 7);
    cj_host_func(s, look, (void *)(uintptr_t)&h[1]);
    cj_stream_mem_ops(s, last, 2);
    cj_graph *g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "words are captured: %s", cj_error_of(g)->message);
    cj_graph_info info = { .size = sizeof info };
    cj_graph_get_info(g, &info);
    tap_diag("captured: %zu nodes, %zu of words, %zu others", info.nodes, info.mem_ops, info.others);
    tap_ok(info.mem_ops == info.nodes - info.host_funcs && info.mem_ops >= 2, "... as the same kind of node");
    tap_has_str(cj_graph_dot(g), "write", "... which the picture knows too");
    run_held(g, "what was captured");
    cj_graph_free(g);
}

int main(void)
{
    bench_open(0);
    h = cj_host_alloc(dev, WORDS * sizeof *h, NULL);
    if (!h) tap_bail("%s", cj_error_last()->message);
    if (there_are_values()) {
        in_streams();
        refusals();
        in_graphs();
        updated();
        captured();
    }
    cj_stream_sync(s), cj_stream_sync(t);
    cj_host_free(dev, (void *)(uintptr_t)h);
    return bench_close();
}
