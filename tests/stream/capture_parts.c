/* Captures in several parts: paused and resumed, into a graph that is there, with forks that are joined or refused as
 * the caller chose, and after failures. */
#include "tests/stream/graph_runs.h"

static cj_stream *u;

static void one_more(cj_stream *on, uint32_t v) { cj_launch(on, add, cj_grid(1, 32), d, 1, v); }

static void paused(cj_capture_mode mode)
{
    cj_fill32(s, d, 0, N);
    cj_stream_sync(s);
    cj_capture_begin(s, mode);
    one_more(s, 1);
    cj_graph *g = cj_capture_pause(s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "mode %d: a capture is paused: %s", (int)mode, cj_error_of(g)->message);
    tap_ok(!cj_stream_is_capturing(s) && cj_graph_count(g) == 1, "the stream works normally then");
    cj_fill32(s, d, 100, 1);
    tap_is_uint(now_at(0), 100, "... what it is given runs");
    cj_dptr own = cj_alloc(s, 64);
    tap_is_int(cj_capture_resume(t, g), CJ_OK, "another stream goes on: %s", cj_error_of(t)->message);
    tap_is_int(cj_capture_resume(s, g), CJ_ESTATE, "... but not two at once");
    cj_fill32(t, own, 5, 16);
    one_more(t, 10);
    cj_graph *same = cj_capture_pause(t);
    tap_ok(same == g, "the same graph is given again");
    cj_graph_free(same);
    cj_capture_resume(s, g);
    one_more(s, 100);
    same = cj_capture_end(s);
    tap_ok(same == g && cj_graph_count(g) == 4, "... at the end too");
    cj_graph_free(same);
    cj_free(dev, own);
    cj_stream_sync(s); /* forgets the refusal */
    cj_graph_info info = { .size = sizeof info };
    cj_graph_get_info(g, &info);
    tap_ok(info.depth == 4 && info.roots == 1 && info.leaves == 1, "each part comes behind the last one");
    tap_is_int(run(g), CJ_OK, "it runs, though memory that it uses was freed: %s", cj_error_of(s)->message);
    tap_is_uint(now_at(0), 211, "... as one");
    tap_is_int(cj_capture_resume(s, g), CJ_ESTATE, "a capture that has ended is not resumed");
    cj_graph_free(g);
    cj_stream_sync(s);
}

static void forks(void)
{
    cj_fill32(s, d, 0, N);
    cj_stream_sync(s);
    for (int join = 0; join < 2; join++) {
        cj_capture_begin_opts(s, CJ_CAPTURE(.mode = CJ_CAPTURE_THREAD, .join = join));
        one_more(s, 1);
        cj_stream_fork(s, t);
        cj_stream_fork(t, u);
        cj_launch(t, add, cj_grid(1, 32), cj_offset(d, 4), 1, 2);
        cj_launch(u, add, cj_grid(1, 32), cj_offset(d, 8), 1, 3);
        cj_graph *g = cj_capture_end(s);
        tap_is_int(cj_error_of(g)->status, join ? CJ_OK : CJ_ESTATE,
                   join ? "forks are joined at the end, where that was asked for: %s" : "else they are rejected: %s",
                   cj_error_of(g)->message);
        tap_ok(!cj_stream_is_capturing(t) && !cj_stream_is_capturing(u), "no stream is captured any more");
        if (join) tap_is_int(run(g), CJ_OK, "the graph runs: %s", cj_error_of(s)->message);
        cj_graph_free(g);
        cj_stream_sync(s);
        cj_stream_sync(t);
        cj_stream_sync(u);
    }
    tap_ok(now_at(0) == 1 && now_at(1) == 2 && now_at(2) == 3, "all of it");
}

static void into(void)
{
    cj_graph *g = cj_graph_create(dev), *other = cj_graph_create(dev);
    cj_node *a = cj_graph_fill32(g, NULL, d, 1, 1), *b = cj_graph_fill32(g, NULL, cj_offset(d, 4), 1, 1),
            *foreign = cj_graph_empty(other, NULL);
    tap_is_int(cj_capture_begin_opts(s, CJ_CAPTURE(.into = g, .after = CJ_NODES(foreign))), CJ_EINVAL,
               "a capture comes behind nodes of its graph only");
    tap_is_int(cj_capture_begin_opts(s, CJ_CAPTURE(.into = g, .after = CJ_NODES(a, b))), CJ_OK,
               "a capture adds to a graph: %s", cj_error_of(s)->message);
    one_more(s, 20);
    cj_graph_free(cj_capture_end(s));
    cj_stream_sync(s);
    cj_graph_info info = { .size = sizeof info };
    cj_graph_get_info(g, &info);
    tap_ok(info.nodes == 3 && info.edges == 2 && info.depth == 2, "... behind both nodes");
    tap_is_int(run(g), CJ_OK, "it runs");
    tap_is_uint(now_at(0), 21, "... in that order");

    cj_capture_begin_opts(s, CJ_CAPTURE(.into = g));
    cj_launch(s, add, cj_grid(0, 32), d, 1, 1);
    cj_fill32(s, cj_offset(d, 2), 1, 1);
    cj_graph *bad = cj_capture_end(s);
    tap_is_int(cj_error_of(bad)->status, CJ_EINVAL, "the first failing call is reported");
    tap_has_str(cj_error_of(bad)->message, "0 blocks in x", "... not the second");
    tap_is_int(run(g), CJ_EINVAL, "and the graph lacks a node");
    tap_has_str(cj_error_of(s)->message, "0 blocks in x", "... for that reason");
    cj_graph_free(bad);
    cj_graph_free(other);
    cj_stream_sync(s);

    cj_stream *gone = cj_stream_create(dev, NULL);
    cj_graph_free(g);
    g = cj_graph_create(dev);
    cj_capture_begin_opts(gone, CJ_CAPTURE(.mode = CJ_CAPTURE_RELAXED, .into = g));
    cj_stream_free(gone);
    tap_is_int(run(g), CJ_ESTATE, "a stream that is freed in its capture leaves a hole: %s", cj_error_of(s)->message);
    cj_graph_free(g);
    cj_stream_sync(s);

    g = cj_graph_create(dev);
    cj_capture_begin_opts(s, CJ_CAPTURE(.into = g));
    cj_graph_free(g);
    one_more(s, 1);
    g = cj_capture_end(s);
    tap_ok(cj_error_of(g)->status == CJ_OK && cj_graph_count(g) == 1,
           "a graph that is freed in a capture into it stays until the end");
    cj_graph_free(g);
    cj_stream_sync(s);
}

static void nothing(void *user) { (void)user; }

/* An event that a capture recorded keeps nothing of it, also where the graph keeps the event. */
static void cycles(void)
{
    cj_event *e = cj_event_create(dev, NULL);
    cj_dptr own = cj_alloc(s, 64);
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_stream_use(s, own);
    cj_host_func(s, nothing, NULL); /* may run beside itself, below */
    cj_event_record(e, s);
    cj_stream_wait(t, e);
    cj_stream_join(s, t);
    cj_graph *g = cj_capture_end(s);
    tap_ok(cj_error_of(cj_graph_event_wait(g, NULL, e))->status == CJ_OK,
           "a graph waits for an event that was recorded in its capture");
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_child(g, NULL, g);
    tap_is_uint(cj_graph_count(g), 3, "a graph holds itself, as it was: %s", cj_error_of(g)->message);
    tap_is_int(run(g), CJ_OK, "it runs");
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_event_free(e);
    cj_free(dev, own);
    cj_stream_sync(s);
}

int main(void)
{
    bench_open(4 * N);
    u = cj_stream_create(dev, NULL);
    forks();
    if (cj_driver_version(drv) < 12030) {
        tap_skip(1, "captures into graphs need CUDA 12.3, the driver has %d", cj_driver_version(drv));
    } else {
        for (int mode = CJ_CAPTURE_GLOBAL; mode <= CJ_CAPTURE_RELAXED; mode++) paused((cj_capture_mode)mode);
        into();
        cycles();
    }
    cj_stream_free(u);
    return bench_close();
}
