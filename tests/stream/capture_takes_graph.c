/* A capture into a graph that fails takes the driver's graph with it: the library asks the driver nothing about that
 * graph any more, not even to destroy it, and says of it what failed. */
#include <stdio.h>
#include <string.h>

#include "tests/device_bench.h"

static char handle[32]; /* of the graph that is gone, as calls show it */
static int asked;

static void note(void *user, uint64_t number, const char *name, const char *line, int result)
{
    (void)user, (void)number, (void)result;
    if (*handle && strncmp(name, "cuGraph", 7) == 0 && strstr(line, handle) && asked++ < 5) tap_diag("%s", line);
}


enum way { FRESH, RESUMED, BODY };
static const char *const way_name[] = { "a graph", "a paused capture", "a body" };

static cj_graph *begin(enum way way, cj_graph **body)
{
    cj_graph *g = NULL;
    if (way == RESUMED) {
        cj_capture_begin(s, CJ_CAPTURE_THREAD);
        cj_fill32(s, d, 1, 4);
        g = cj_capture_pause(s);
        tap_is_int(cj_capture_resume(s, g), CJ_OK, "%s: goes on", way_name[way]);
        *body = g;
        return g;
    }
    g = *body = cj_graph_create(dev);
    if (way == BODY) cj_graph_if(g, NULL, body, NULL, cj_graph_condition(g, 1));
    tap_is_int(cj_capture_begin_opts(s, CJ_CAPTURE(.mode = CJ_CAPTURE_THREAD, .into = *body)), CJ_OK,
               "%s: is captured into", way_name[way]);
    return g;
}

static void taken(enum way way)
{
    cj_graph *other = cj_graph_create(dev); /* before, so that it has another handle */
    cj_graph *body = NULL, *g = begin(way, &body);
    snprintf(handle, sizeof handle, "0x%llx", (unsigned long long)(uintptr_t)cj_graph_raw(g));
    cj_stream_fork(s, t);
    cj_fill32(t, d, 2, 4);
    char raw[sizeof handle];
    memcpy(raw, handle, sizeof raw);
    *handle = 0; /* until it is over */
    cj_graph *end = cj_capture_end(s);
    memcpy(handle, raw, sizeof handle);
    asked = 0;
    tap_is_int(cj_error_of(end)->status, CJ_ESTATE, "... whose end fails: %s", cj_error_of(end)->message);
    tap_ok(cj_graph_raw(g) == NULL && cj_graph_count(g) == 0 && cj_graph_nodes(g) == NULL,
           "... the graph has no nodes any more");
    tap_is_int(cj_error_of(cj_graph_fill32(g, NULL, d, 3, 4))->status, CJ_ESTATE, "... and gets none");
    tap_is_str(cj_graph_dot(g), "", "... nor a picture");
    cj_graph_info info = { .size = sizeof info };
    tap_is_int(cj_graph_get_info(g, &info), CJ_ESTATE, "... nor does it consist of anything");
    cj_graph *clone = cj_graph_clone(g);
    tap_is_int(cj_error_of(clone)->status, CJ_ESTATE, "... it is not cloned");
    tap_is_int(cj_error_of(cj_graph_child(other, NULL, g))->status, CJ_ESTATE, "... nor put into another");
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_error_of(x)->status, CJ_ESTATE, "... nor made ready: %s", cj_error_of(x)->message);
    tap_is_int(cj_capture_begin_opts(t, CJ_CAPTURE(.into = body)), CJ_ESTATE, "... nor captured into again");
    cj_stream_sync(s), cj_stream_sync(t);
    cj_graph_exec_free(x);
    cj_graph_free(clone);
    cj_graph_free(end);
    cj_graph_free(g);
    cj_device_collect(dev);
    tap_is_int(asked, 0, "the driver was reported nothing of it");
    *handle = 0;
    cj_graph_free(other);
    tap_is_int(cj_stream_sync(s), CJ_OK, "the streams work on");
}

int main(void)
{
    bench_open_over(CJ_INTERPOSER(.after = note), 64);
    if (cj_driver_version(drv) < 12040) {
        tap_skip(1, "captures into graphs and bodies want CUDA 12.4");
    } else {
        taken(FRESH);
        taken(RESUMED);
        taken(BODY);
    }
    return bench_close();
}
