/* Messages of calls on streams, events and graphs name what is wrong and what to do instead. */
#include <string.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

/* What a driver answers while a capture is open. */
static const struct { const char *name; CUresult r; const char *says;
} captured[] = {
    { "unsupported", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
      "cj_event_record: the driver does not allow this call while a stream is being captured; make it before or after "
      "the capture: cuEventRecord: " },
    { "invalidated", CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
      "the capture is invalidated: an earlier call did what a capture does not allow" },
    { "merge", CUDA_ERROR_STREAM_CAPTURE_MERGE, "the event was recorded in another capture" },
    { "unmatched", CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture was begun on another stream, and ends there" },
    { "unjoined", CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "was not joined: cj_stream_join() before the end" },
    { "isolation", CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
      "wait for it before the capture begins, or record it in the capture" },
    { "implicit", CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "use streams of cj_stream_create" },
    { "captured event", CUDA_ERROR_CAPTURED_EVENT, "is never complete outside the graph; record it on a stream first" },
    { "wrong thread", CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
      "ends on the thread that began it, unless its mode is CJ_CAPTURE_RELAXED" },
    { "illegal state", CUDA_ERROR_ILLEGAL_STATE, "it is being captured already, or is not being captured" },
};

static void check_captures(watch_bench *b)
{
    cj_event *e = cj_event_create(b->dev, NULL);
    for (size_t i = 0; i < sizeof captured / sizeof *captured; i++) {
        watch_fail(CJI_CU_ID_cuEventRecord, 0, captured[i].r);
        tap_is_int(cj_event_record(e, b->s), CJ_ESTATE, "%s: a capture's rule is CJ_ESTATE", captured[i].name);
        tap_has_str(cj_error_of(e)->message, captured[i].says, "%s: what to do instead", captured[i].name);
        cj_stream_sync(b->s);
    }
    watch_fail_none();
    cj_stream_sync(b->s);
    cj_event_free(e);
}

static void is_message(cj_status got, const void *object, const char *says, const char *name)
{
    tap_is_int(got, CJ_EINVAL, "%s fails", name);
    tap_has_str(cj_error_of(object)->message, says, "%s: the message", name);
}

static void check_arguments(watch_bench *b)
{
    char handle[64];
    cj_event *e = cj_event_create(b->dev, NULL), *f = cj_event_create(b->dev, NULL);
    is_message(cj_event_elapsed(e, f, NULL), e, "cj_event_elapsed: `ms` is NULL, there is no place for the result",
               "no result");
    is_message(cj_event_export(e, NULL, 64), e,
               "cj_event_export: the buffer has 0 bytes, a handle needs 64 (CJ_IPC_EVENT_BYTES)", "no handle");
    is_message(cj_event_export(e, handle, 8), e, "the buffer has 8 bytes, a handle needs 64 (CJ_IPC_EVENT_BYTES)",
               "a short handle");
    is_message(cj_ipc_export(b->dev, (cj_dptr){ 4096 }, NULL, 64), b->dev,
               "the buffer has 0 bytes, a handle needs 72 (CJ_IPC_MEM_BYTES)", "no handle of memory");
    is_message(cj_ipc_export(b->dev, (cj_dptr){ 4096 }, handle, 9), b->dev,
               "the buffer has 9 bytes, a handle needs 72 (CJ_IPC_MEM_BYTES)", "a short handle of memory");
    watch_fail(CJI_CU_ID_cuMemFreeHost, 0, CUDA_ERROR_INVALID_VALUE);
    tap_is_int(cj_host_free(b->dev, handle), CJ_EDRIVER, "memory that the driver does not know");
    tap_has_str(cj_error_of(b->dev)->message,
                "was not returned by cj_host_alloc, or it has been freed; pass what cj_host_alloc returned, once",
                "and its message");
    watch_fail_none();
    cj_event_free(e);
    cj_event_free(f);
}

static void check_nodes(watch_bench *b)
{
    cj_graph *body[1];
    cj_graph *g = cj_graph_create(b->dev);
    struct { const char *name; cj_node *n; const char *says;
    } nodes[] = {
        { "memory without an address", cj_graph_mem_alloc(g, NULL, 16, NULL),
          "`d` is NULL, there is no place for the address" },
        { "if without a body", cj_graph_if(g, NULL, NULL, NULL, 1), "`then` is NULL, there is no place for the body" },
        { "while without a body", cj_graph_while(g, NULL, NULL, 1), "`body` is NULL, there is no place for the body" },
        { "switch without bodies", cj_graph_switch(g, NULL, NULL, 1, 1), "`bodies` is NULL, or" },
        { "switch of none", cj_graph_switch(g, NULL, body, 0, 1), "`bodies` is NULL, or" },
    };
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        tap_has_str(cj_error_of(nodes[i].n)->message, nodes[i].says, "%s", nodes[i].name);
    cj_graph_free(g);
}

int main(void)
{
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    check_captures(&b);
    check_arguments(&b);
    check_nodes(&b);
    watch_teardown(&b);
    return tap_done();
}
