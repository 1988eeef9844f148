/* The per-thread default stream, wrapped: CU_STREAM_PER_THREAD is another stream on each thread, and nothing can be
 * recorded on it or freed in its order from another thread.
 *
 * So each such cj_stream has a stream of the library's own beside it, its proxy, which any thread may use.  After
 * each piece of work the stream's thread records an event and makes the proxy wait for it: what is enqueued on the
 * proxy comes after everything that was enqueued on the stream.  The proxy is what the device's releases use
 * (driver/deferred.h): they record their events on it and free memory in its order. */
#include "base/process.h"
#include "stream/core/stream_core.h"

CUresult cji_proxy_open(cj_stream *s, const char **cu_call)
{
    *cu_call = "cuEventCreate";
    CUresult r = s->cu->cuEventCreate(&s->proxy_event, CU_EVENT_DISABLE_TIMING);
    if (r != CUDA_SUCCESS) return s->proxy_event = NULL, r;
    *cu_call = "cuStreamCreateWithPriority";
    r = s->cu->cuStreamCreateWithPriority(&s->proxy, CU_STREAM_NON_BLOCKING, 0);
    if (r == CUDA_SUCCESS) return r;
    s->proxy = NULL;
    cji_proxy_close(s);
    return r;
}

void cji_proxy_close(cj_stream *s)
{
    if (s->proxy) s->cu->cuStreamDestroy(s->proxy);
    if (s->proxy_event) s->cu->cuEventDestroy(s->proxy_event);
    s->proxy = NULL;
    s->proxy_event = NULL;
}

/* With the stream's context current, on its thread. */
static void proxy_chain(cj_stream *s)
{
    if (cji_stream_captures(s->queue, s->raw)) return; /* by somebody else: the proxy must not join that capture */
    CUresult r = s->cu->cuEventRecord(s->proxy_event, s->raw);
    if (r == CUDA_SUCCESS) r = s->cu->cuStreamWaitEvent(s->proxy, s->proxy_event, 0);
    if (r != CUDA_SUCCESS) s->cu->cuStreamSynchronize(s->raw); /* then there is nothing left to wait for */
}

void cji_proxy_follow(cj_stream *s)
{
    cji_scope scope;
    if (!s->proxy || atomic_load(&s->capturing) || s->obj.thread != cji_thread_id()) return;
    cji_queue_scope(s->queue, &scope);
    proxy_chain(s);
    cji_scope_leave(&scope);
}
