/* While a capture adds to a graph other calls on it fail. One whose result the graph then lacks, a node, an edge, a
 * condition, a list to come after, makes it incomplete; one that only reads does not. */
#include "tests/device_bench.h"

static cj_node *first, *second;

static cj_status add_node(cj_graph *g) { return cj_error_of(cj_graph_fill32(g, NULL, d, 1, 4))->status; }
static cj_status add_edge(cj_graph *g) { return (void)g, cj_node_depend(second, CJ_NODES(first)); }
static cj_status add_condition(cj_graph *g) { return cj_graph_condition(g, 1) ? CJ_OK : cj_error_of(g)->status; }
static cj_status list_nodes(cj_graph *g) { return cj_graph_nodes(g) ? CJ_OK : cj_error_of(g)->status; }
static cj_status list_leaves(cj_graph *g) { return cj_graph_leaves(g) ? CJ_OK : cj_error_of(g)->status; }
static cj_status count_nodes(cj_graph *g) { return cj_graph_count(g) ? CJ_OK : cj_error_of(g)->status; }
static cj_status read_info(cj_graph *g)
{
    cj_graph_info info = { .size = sizeof info };
    return cj_graph_get_info(g, &info);
}

static const struct beside { const char *name; cj_status (*call)(cj_graph *g); bool incomplete; } table[] = {
    { "a node", add_node, true },
    { "an edge", add_edge, true },
    { "a condition", add_condition, true },
    { "the list of nodes", list_nodes, true },
    { "the list of leaves", list_leaves, true },
    { "the number of nodes", count_nodes, false },
    { "what it consists of", read_info, false },
};

static void beside(const struct beside *b)
{
    cj_graph *g = cj_graph_create(dev);
    first = cj_graph_fill32(g, NULL, d, 1, 4);
    second = cj_graph_fill32(g, NULL, d, 2, 4);
    tap_is_int(cj_capture_begin_opts(s, CJ_CAPTURE(.mode = CJ_CAPTURE_RELAXED, .into = g)), CJ_OK,
               "%s: a capture adds to the graph", b->name);
    tap_is_int(b->call(g), CJ_ESTATE, "... and the call fails");
    cj_fill32(s, d, 3, 4);
    cj_graph *end = cj_capture_end(s);
    tap_is_int(cj_error_of(end)->status == CJ_OK || end == g, true, "... the capture ends as usual");
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_error_of(x)->status, b->incomplete ? CJ_ESTATE : CJ_OK, "... the graph is %s: %s",
               b->incomplete ? "incomplete" : "whole", cj_error_of(x)->message);
    cj_graph_exec_free(x);
    cj_graph_free(end);
    cj_graph_free(g);
}

int main(void)
{
    bench_open(4096);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) beside(&table[i]);
    return bench_close();
}
