/* What tests of graphs on a device share: N elements of memory, and a graph that runs once. */
#ifndef CUJIT_TESTS_GRAPH_RUNS_H
#define CUJIT_TESTS_GRAPH_RUNS_H

#include "tests/device_bench.h"

enum { N = 64 };

static inline uint32_t now_at(size_t i)
{
    uint32_t v = 0xffffffff;
    cj_copy_to_host(s, &v, cj_offset(d, (int64_t)(4 * i)), 4);
    cj_stream_sync(s);
    return v;
}

static inline void clear(void) { cj_fill32(s, d, 0, N), cj_stream_sync(s); }

/* Instantiates, launches, waits; the status of what failed first. */
static inline cj_status run(cj_graph *g)
{
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(s, x);
    cj_graph_exec_free(x);
    return cj_stream_sync(s);
}

#endif
