/* A capture becomes a graph, survives what a program does beside it, and is rejected when it is incomplete. */
#include <stdlib.h>
#include <pthread.h>
#include <string.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

static int counted;
static void count_one(void *user) { counted += *(int *)user; }

static void check_replay(watch_bench *b)
{
    char from[64], to[64] = "";
    int step = 3;
    cj_dptr d = cj_alloc(b->s, 64);
    strcpy(from, "first");
    tap_ok(!cj_stream_is_capturing(b->s), "no capture at first");
    tap_is_int(cj_capture_begin(b->s, CJ_CAPTURE_THREAD), CJ_OK, "a capture begins");
    tap_ok(cj_stream_is_capturing(b->s) && !cj_stream_is_capturing(b->t), "on this stream only");
    cj_copy_to_device(b->s, d, from, 64);
    cj_stream_fork(b->s, b->t);
    tap_ok(cj_stream_is_capturing(b->t), "a fork makes the other one join");
    cj_host_func(b->t, count_one, &step);
    cj_stream_join(b->s, b->t);
    cj_copy_to_host(b->s, to, d, 64);
    cj_graph *g = cj_capture_end(b->s);
    tap_ok(!cj_stream_is_capturing(b->s) && !cj_stream_is_capturing(b->t), "the end lets both go");
    tap_is_int(counted, 0, "nothing ran");
    tap_is_str(to, "", "nothing was copied");
    tap_is_uint(cj_graph_count(g), 5, "pageable copies are two nodes each, the host function one");
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    cj_graph_launch(b->s, x);
    watch_settle();
    tap_is_str(to, "first", "a launch does it all");
    strcpy(from, "second");
    cj_graph_launch(b->t, x);
    watch_settle();
    tap_is_str(to, "second", "the next one reads the source anew");
    tap_is_int(counted, 6, "and calls the host function again");
    cj_graph_exec_free(x);
    cj_free(b->dev, d);
    tap_is_int(cj_stream_sync(b->s), CJ_OK, "no failure on the way");
}

static void check_empty(watch_bench *b)
{
    watch_forget();
    cj_capture_begin(b->s, CJ_CAPTURE_GLOBAL);
    cj_graph *g = cj_capture_end(b->s);
    tap_ok(cj_error_of(g)->status == CJ_OK && cj_graph_count(g) == 0,
           "an empty capture is a valid graph without nodes");
    cj_graph_exec *x = cj_graph_instantiate(g, CJ_GRAPH_EXEC(.node_priorities = 1));
    int at = watch_find(CJI_CU_ID_cuGraphInstantiateWithFlags, 0);
    tap_ok(at >= 0 && watch.log[at].arg[2] == 8, "the option reaches the driver");
    tap_is_int(cj_graph_launch(b->s, x), CJ_OK, "and launches");
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

/* What would harm the capture is rejected before the driver hears of it; the capture goes on. */
static void check_refused(watch_bench *b)
{
    cj_event *e = cj_event_create(b->dev, NULL);
    cj_dptr d = cj_alloc(b->s, 64);
    cj_capture_begin(b->s, CJ_CAPTURE_GLOBAL);
    cj_fill8(b->s, d, 1, 64);
    cj_event_record(e, b->s);
    watch_forget();
    const struct { const char *name; cj_status got; } cases[] = {
        { "cj_stream_sync", cj_stream_sync(b->s) },
        { "cj_stream_query", cj_stream_query(b->s) },
        { "cj_event_sync of a captured event", cj_event_sync(e) },
        { "cj_event_query of it", cj_event_query(e) },
        { "cj_capture_begin again", cj_capture_begin(b->s, CJ_CAPTURE_GLOBAL) },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tap_is_int(cases[i].got, CJ_ESTATE, "%s is rejected", cases[i].name);
    cj_stream_id(b->s), cj_stream_flags(b->s);
    tap_is_int((int64_t)watch.count, 0, "without a call of the driver");
    cj_dptr other = cj_alloc(b->t, 64);
    tap_ok(other.addr, "memory of another stream can be made meanwhile");
    cj_graph *g = cj_capture_end(b->s);
    tap_ok(cj_error_of(g)->status == CJ_OK && cj_graph_count(g) == 1, "the capture is unharmed");
    watch_settle();
    tap_is_int(cj_event_query(e), CJ_ESTATE,
               "the event was recorded in a capture, which the driver never calls reached");
    cj_event_record(e, b->s);
    tap_is_int(cj_event_sync(e), CJ_OK, "recorded again it can be waited for");
    tap_is_int(cj_stream_sync(b->s), CJ_ESTATE, "the stream reports what was rejected");
    cj_graph_free(g);
    cj_free(b->dev, d);
    cj_free(b->dev, other);
    cj_event_free(e);
}

static void check_holes(watch_bench *b)
{
    cj_dptr d = cj_alloc(b->s, 64);
    static const struct { const char *name; int at; cj_status status; } cases[] = {
        { "a copy that does not fit", 0, CJ_EINVAL },
        { "a launch without a kernel", 1, CJ_EHANDLE },
        { "an allocation on the captured stream", 2, CJ_ESTATE },
        { "a fill that the driver refuses", 3, CJ_EDRIVER },
        { "a wait on a point outside the capture", 4, CJ_ESTATE },
        { "a failure on the forked stream", 5, CJ_EINVAL },
    };
    cj_event *e = cj_event_create(b->dev, NULL);
    cj_event_record(e, b->t);
    const cj_dims dims = cj_grid(1, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_capture_begin(b->s, CJ_CAPTURE_THREAD);
        cj_fill8(b->s, d, 1, 64);
        cj_stream_fork(b->s, b->t);
        switch (cases[i].at) {
        case 0: cj_fill8(b->s, d, 1, 65); break;
        case 1: cj_launch_n(b->s, NULL, &dims, NULL, 0); break;
        case 2: cj_alloc(b->s, 4); break;
        case 3: watch_fail(CJI_CU_ID_cuMemsetD8Async, 0, CUDA_ERROR_INVALID_VALUE), cj_fill8(b->s, d, 1, 64); break;
        case 4: cj_stream_wait(b->s, e); break;
        case 5: cj_fill8(b->t, d, 1, 65); break;
        }
        cj_stream_join(b->s, b->t);
        cj_graph *g = cj_capture_end(b->s);
        tap_is_int(cj_error_of(g)->status, cases[i].status, "%s: the graph fails with that", cases[i].name);
        watch_settle();
        tap_ok(!cj_graph_raw(g) && !cj_graph_count(g), "... and has nothing");
        tap_ok(!cj_stream_is_capturing(b->s) && cj_stream_query(b->s) == CJ_OK, "... and the stream works again");
        cj_graph_free(g);
        cj_stream_sync(b->s);
        cj_stream_sync(b->t);
        tap_is_int(watch.live_graphs, 0, "... and no graph is left at the driver");
    }
    cj_event_free(e);
    cj_free(b->dev, d);
}

static void *end_elsewhere(void *user) { return cj_capture_end(user); }

static void check_ends(watch_bench *b)
{
    pthread_t thread;
    void *g;
    g = cj_capture_end(b->s);
    tap_is_int(cj_error_of(g)->status, CJ_ESTATE, "an end without a begin is rejected");
    cj_graph_free(g);
    cj_capture_begin(b->s, CJ_CAPTURE_THREAD);
    cj_stream_fork(b->s, b->t);
    g = cj_capture_end(b->t);
    tap_is_int(cj_error_of(g)->status, CJ_ESTATE, "an end on the fork too");
    cj_graph_free(g);
    pthread_create(&thread, NULL, end_elsewhere, b->s);
    pthread_join(thread, &g);
    tap_is_int(cj_error_of(g)->status, CJ_ESTATE, "and one on another thread");
    cj_graph_free(g);
    cj_stream_join(b->s, b->t);
    g = cj_capture_end(b->s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "the capture goes on through all of these");
    cj_graph_free(g);
    cj_capture_begin(b->s, CJ_CAPTURE_RELAXED);
    pthread_create(&thread, NULL, end_elsewhere, b->s);
    pthread_join(thread, &g);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "a relaxed one may end on another thread");
    cj_graph_free(g);
    tap_is_int(cj_capture_begin(b->s, (cj_capture_mode)3), CJ_EINVAL, "a mode that is none is rejected");
    cj_stream_sync(b->s);
    cj_stream_sync(b->t);
}

/* A captured stream takes no launch of a graph; a graph inside a graph keeps what it needs. */
static void check_nested(watch_bench *b)
{
    cj_kernel *k = watch_kernel(b->dev);
    cj_dptr d = cj_alloc(b->s, 64);
    cj_capture_begin(b->s, CJ_CAPTURE_THREAD);
    cj_launch(b->s, k, cj_grid(1, 1), d, d, 1.0f, 1);
    cj_graph *g = cj_capture_end(b->s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    int launches = watch_calls(CJI_CU_ID_cuGraphLaunch);
    cj_capture_begin(b->s, CJ_CAPTURE_THREAD);
    tap_is_int(cj_graph_launch(b->s, x), CJ_ESTATE, "a graph launched into a capture is rejected");
    tap_is_int(watch_calls(CJI_CU_ID_cuGraphLaunch), launches, "before the driver hears of it");
    cj_graph_free(cj_capture_end(b->s));
    cj_stream_sync(b->s);
    cj_graph *h = cj_graph_create(b->dev);
    cj_graph_child(h, NULL, g);
    cj_graph_free(g);
    cj_graph_exec_free(x);
    cj_kernel_free(k);
    cj_free(b->dev, d);
    cj_device_collect(b->dev);
    tap_is_int(watch.live_modules, 1, "what a graph keeps is kept by the graph that it is a child of");
    cj_graph_free(h);
    watch_settle();
    cj_device_collect(b->dev);
    tap_is_int(watch.live_modules, 0, "and goes with that");
}

static void check_abandoned(watch_bench *b)
{
    cj_stream *u = cj_stream_create(b->dev, NULL);
    cj_capture_begin(u, CJ_CAPTURE_THREAD);
    cj_stream_fork(u, b->t);
    cj_stream_free(u);
    tap_ok(!cj_stream_is_capturing(b->t), "freeing the stream that began a capture ends it");
    cj_device_collect(b->dev);
    tap_ok(watch.live_streams == 2 && !watch.live_graphs, "and leaves nothing");
}

int main(void)
{
    setenv("CUJIT_ALLOCATOR", "driver", 1); /* what releases do to the driver is seen */
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    check_replay(&b);
    check_empty(&b);
    check_refused(&b);
    check_holes(&b);
    check_ends(&b);
    check_nested(&b);
    check_abandoned(&b);
    watch_teardown(&b);
    return tap_done();
}
