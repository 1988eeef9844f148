/* Parts of a graph that run or not, or again and again, as a kernel decides while the graph runs. */
#include "tests/device_bench.h"

enum { TURNS, SUM, INNER, LAST, WORDS };
static cj_kernel *count, *put;

static cj_dptr word(int i) { return cj_offset(d, 4 * i); }

static uint32_t now_at(int i)
{
    uint32_t v = 0xffffffff;
    cj_copy_to_host(s, &v, word(i), 4);
    cj_stream_sync(s);
    return v;
}

/* count(x, limit, more): ++*x; more = *x < limit.  put(value, handle): the condition is the value. */
static cj_ptx *make_module(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "count");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), limit = cj_param(f, "limit", CJ_U32), more = cj_param(f, "more", CJ_U64),
           first = cj_imm(f, 0);
    cj_val next = cj_add(f, cj_get(f, x, first), cj_imm(f, 1u));
    cj_set(f, x, first, next);
    cj_set_condition(f, more, cj_select(f, cj_lt(f, next, limit), cj_let(f, CJ_U32, cj_imm(f, 1u)), cj_imm(f, 0u)));
    f = cj_ptx_kernel(m, "put");
    cj_val value = cj_param(f, "value", CJ_U32), handle = cj_param(f, "handle", CJ_U64);
    cj_set_condition(f, handle, value);
    return m;
}

static cj_status run(cj_graph *g, int times)
{
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    for (int i = 0; i < times; i++) cj_graph_launch(s, x);
    cj_graph_exec_free(x);
    return cj_stream_sync(s);
}

static void clear(void) { cj_fill32(s, d, 0, WORDS), cj_stream_sync(s); }

static void loops(void)
{
    clear();
    cj_graph *g = cj_graph_create(dev), *body = NULL;
    uint64_t more = cj_graph_condition(g, 1);
    cj_node *start = cj_graph_fill32(g, NULL, word(TURNS), 0, 1);
    cj_node *loop = cj_graph_while(g, CJ_NODES(start), &body, more);
    tap_is_int(cj_error_of(loop)->status, CJ_OK, "a loop is a node: %s", cj_error_of(loop)->message);
    tap_ok(body && cj_node_kind_of(loop) == CJ_NODE_CONDITIONAL && cj_graph_count(body) == 0,
           "its body is a graph, empty yet");
    cj_graph_kernel(body, NULL, count, cj_grid(1, 1), word(TURNS), 10, more);
    cj_graph_fill32(g, CJ_NODES(loop), word(LAST), 77, 1);
    cj_graph_free(body);
    tap_is_int(run(g, 1), CJ_OK, "it runs: %s", cj_error_of(s)->message);
    tap_ok(now_at(TURNS) == 10 && now_at(LAST) == 77, "ten turns, then what comes after: %u", (unsigned)now_at(TURNS));
    tap_is_int(run(g, 3), CJ_OK, "again");
    tap_is_uint(now_at(TURNS), 10, "each launch begins with the condition's first value");
    cj_graph *c = cj_graph_clone(g);
    tap_is_int(cj_error_of(c)->status, CJ_ENOTSUP, "the driver copies no conditions: %s", cj_error_of(c)->message);
    cj_graph_free(c);
    cj_graph_exec *x = cj_graph_instantiate(body, NULL);
    tap_is_int(cj_error_of(x)->status, CJ_EINVAL, "a body is not launched alone");
    cj_graph_exec_free(x);
    tap_has_str(cj_graph_dot(g), "label=\"while\"", "the picture names the loop");
    tap_has_str(cj_graph_dot(g), "label=\"again\"", "... and frames its body");
    cj_graph_info info = { .size = sizeof info };
    cj_graph_get_info(g, &info);
    tap_ok(info.nodes == 3 && info.conditionals == 1 && info.all == 4, "its nodes count in all");
    cj_graph_free(g);

    clear();
    g = cj_graph_create(dev);
    more = cj_graph_condition(g, 0);
    loop = cj_graph_while(g, NULL, &body, more);
    cj_graph_kernel(body, NULL, count, cj_grid(1, 1), word(TURNS), 10, more);
    tap_is_int(run(g, 1), CJ_OK, "a condition of 0");
    tap_is_uint(now_at(TURNS), 0, "... makes no turn");
    cj_graph_free(g);
}

/* A loop in a loop: 3 turns of 4. */
static void nested(void)
{
    clear();
    cj_graph *g = cj_graph_create(dev), *outer, *inner;
    uint64_t more = cj_graph_condition(g, 1);
    cj_graph_while(g, NULL, &outer, more);
    uint64_t again = cj_graph_condition(outer, 0);
    cj_node *start = cj_graph_fill32(outer, NULL, word(INNER), 0, 1);
    cj_node *arm = cj_graph_kernel(outer, CJ_NODES(start), put, cj_grid(1, 1), 1, again);
    cj_node *loop = cj_graph_while(outer, CJ_NODES(arm), &inner, again);
    cj_node *turn = cj_graph_kernel(inner, NULL, count, cj_grid(1, 1), word(INNER), 4, again);
    (void)turn;
    cj_graph_kernel(outer, CJ_NODES(loop), count, cj_grid(1, 1), word(TURNS), 3, more);
    cj_graph_kernel(inner, CJ_NODES(turn), count, cj_grid(1, 1), word(SUM), 1000, again); /* sets it to 1 again ... */
    cj_graph_info info = { .size = sizeof info };
    cj_graph_get_info(g, &info);
    tap_ok(info.nodes == 1 && info.all == 7, "a loop in a loop: %zu nodes in all: %s", info.all,
           cj_error_of(g)->message);
    cj_graph_free(g);

    g = cj_graph_create(dev);
    more = cj_graph_condition(g, 1);
    cj_graph_while(g, NULL, &outer, more);
    again = cj_graph_condition(outer, 0);
    start = cj_graph_fill32(outer, NULL, word(INNER), 0, 1);
    arm = cj_graph_kernel(outer, CJ_NODES(start), put, cj_grid(1, 1), 1, again);
    loop = cj_graph_while(outer, CJ_NODES(arm), &inner, again);
    turn = cj_graph_kernel(inner, NULL, count, cj_grid(1, 1), word(SUM), 1000, again);
    cj_graph_kernel(inner, CJ_NODES(turn), count, cj_grid(1, 1), word(INNER), 4, again); /* ... and this decides */
    cj_graph_kernel(outer, CJ_NODES(loop), count, cj_grid(1, 1), word(TURNS), 3, more);
    tap_is_int(run(g, 1), CJ_OK, "it runs: %s", cj_error_of(s)->message);
    tap_ok(now_at(TURNS) == 3 && now_at(SUM) == 12, "three turns of four: %u, %u", (unsigned)now_at(TURNS),
           (unsigned)now_at(SUM));
    cj_graph_free(g);
}

static void branches(void)
{
    for (uint32_t which = 0; which < 2; which++) {
        clear();
        cj_graph *g = cj_graph_create(dev), *then, *otherwise;
        uint64_t c = cj_graph_condition(g, 0);
        cj_node *decide = cj_graph_kernel(g, NULL, put, cj_grid(1, 1), which, c);
        cj_node *n = cj_graph_if(g, CJ_NODES(decide), &then, &otherwise, c);
        if (cj_error_of(n)->status != CJ_OK) {
            tap_skip(2, "this driver has no else: %s", cj_error_of(n)->message);
        } else {
            cj_graph_fill32(then, NULL, word(SUM), 1, 1);
            cj_graph_fill32(otherwise, NULL, word(SUM), 2, 1);
            tap_is_int(run(g, 1), CJ_OK, "an if with %u: %s", (unsigned)which, cj_error_of(s)->message);
            tap_is_uint(now_at(SUM), which ? 1 : 2, "... runs that side alone");
        }
        cj_graph_free(g);
        cj_stream_sync(s);
    }
    for (uint32_t which = 0; which < 4; which++) {
        clear();
        cj_graph *g = cj_graph_create(dev), *bodies[3];
        uint64_t c = cj_graph_condition(g, 0);
        cj_node *decide = cj_graph_kernel(g, NULL, put, cj_grid(1, 1), which, c);
        cj_node *n = cj_graph_switch(g, CJ_NODES(decide), bodies, 3, c);
        if (cj_error_of(n)->status != CJ_OK) {
            tap_skip(2, "this driver has no switch: %s", cj_error_of(n)->message);
        } else {
            for (uint32_t i = 0; i < 3; i++) cj_graph_fill32(bodies[i], NULL, word(SUM), 10 + i, 1);
            tap_is_int(run(g, 1), CJ_OK, "a switch with %u: %s", (unsigned)which, cj_error_of(s)->message);
            tap_is_uint(now_at(SUM), which < 3 ? 10 + which : 0, "... runs that body alone");
        }
        cj_graph_free(g);
        cj_stream_sync(s);
    }
    cj_graph *g = cj_graph_create(dev), *then;
    cj_event *e = cj_event_create(dev, NULL);
    uint64_t c = cj_graph_condition(g, 1);
    cj_graph_if(g, NULL, &then, NULL, c);
    cj_graph_host_func(then, NULL, NULL, NULL);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_error_of(x)->status, CJ_EINVAL, "a hole in a body is one in the graph: %s", cj_error_of(x)->message);
    cj_graph_exec_free(x);
    cj_graph_free(g);

    g = cj_graph_create(dev);
    c = cj_graph_condition(g, 1);
    cj_graph_if(g, NULL, &then, NULL, c);
    cj_graph_event_record(then, NULL, e);
    x = cj_graph_instantiate(g, NULL);
    tap_has_str(cj_error_of(x)->message, "not allowed there", "a body with an event is rejected, with the reason");
    cj_graph_exec_free(x);
    cj_graph *whole = cj_graph_create(dev);
    cj_graph_if(whole, NULL, &then, NULL, cj_graph_condition(whole, 0));
    x = cj_graph_instantiate(whole, NULL);
    cj_graph_exec *second = cj_graph_instantiate(whole, NULL);
    tap_is_int(cj_error_of(second)->status, CJ_ESTATE, "there is one exec at a time: %s", cj_error_of(second)->message);
    cj_graph_exec_free(second);
    cj_graph_launch(s, x);
    cj_graph_exec_free(x);
    cj_stream_sync(s);
    x = cj_graph_instantiate(whole, NULL);
    tap_is_int(cj_error_of(x)->status, CJ_OK, "and a next one when that is free");
    cj_graph_exec_free(x);
    cj_graph_free(whole);
    cj_node *again = cj_graph_if(g, NULL, &then, NULL, c);
    tap_is_int(cj_error_of(again)->status, CJ_EINVAL, "one node looks at a condition: %s", cj_error_of(again)->message);
    tap_has_str(cj_error_of(again)->message, "make one for each node", "... with the fix");
    tap_ok(!then, "and there is no body");
    cj_graph_free(g);
    cj_event_free(e);
}

static void captured(void)
{
    clear();
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_fill32(s, word(TURNS), 0, 1);
    cj_graph *g = cj_capture_pause(s), *body = NULL;
    uint64_t more = cj_graph_condition(g, 1);
    cj_node *loop = cj_graph_while(g, cj_graph_leaves(g), &body, more);
    cj_capture_begin_opts(s, CJ_CAPTURE(.into = body));
    cj_node *early = cj_graph_empty(g, NULL);
    tap_is_int(cj_error_of(early)->status, CJ_ESTATE, "while a body is captured its graph is left alone: %s",
               cj_error_of(early)->message);
    tap_is_uint(cj_graph_count(g), 0, "... by everybody");
    cj_launch(s, count, cj_grid(1, 1), word(TURNS), 5, more);
    cj_graph *same = cj_capture_end(s);
    tap_ok(same == body, "a capture into a body gives the body: %s", cj_error_of(same)->message);
    cj_graph_free(same);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_error_of(x)->status, CJ_ESTATE, "the node that could not be added is missed");
    cj_graph_exec_free(x);
    cj_graph_free(g);

    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_fill32(s, word(TURNS), 0, 1);
    g = cj_capture_pause(s);
    more = cj_graph_condition(g, 1);
    loop = cj_graph_while(g, cj_graph_leaves(g), &body, more);
    cj_capture_begin_opts(s, CJ_CAPTURE(.into = body));
    cj_launch(s, count, cj_grid(1, 1), word(TURNS), 5, more);
    cj_capture_end(s);
    cj_capture_begin_opts(s, CJ_CAPTURE(.into = g, .after = CJ_NODES(loop)));
    cj_copy(s, word(LAST), word(TURNS), 4);
    cj_graph_free(cj_capture_end(s));
    tap_is_int(run(g, 2), CJ_OK, "a captured loop runs: %s", cj_error_of(s)->message);
    tap_is_uint(now_at(LAST), 5, "... before what was captured behind it");
    cj_graph_free(g);
}

int main(void)
{
    bench_open(4 * WORDS);
    cj_ptx *m = make_module();
    count = cj_kernel_load(dev, m, "count", NULL);
    put = cj_kernel_load(dev, m, "put", NULL);
    if (cj_driver_version(drv) < 12040) {
        tap_skip(1, "conditions need CUDA 12.4, the driver has %d", cj_driver_version(drv));
    } else {
        tap_is_int(cj_error_of(count)->status, CJ_OK, "a kernel that sets a condition loads: %s",
                   cj_error_of(count)->message);
        loops();
        nested();
        branches();
        captured();
    }
    cj_kernel_free(count);
    cj_kernel_free(put);
    cj_ptx_free(m);
    return bench_close();
}
