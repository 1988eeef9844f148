/* The per-thread default stream, wrapped: (void *)2 is another stream on each thread, and nothing can be recorded on it or freed in its order from another.
 *
 * So each such cj_stream has a stream of its own beside it, its shadow, which any thread may use.  After each piece of work the stream's thread records an
 * event and makes the shadow wait for it: what the shadow is given is behind everything that the stream was given.  The shadow is what the device's
 * releases see (driver/late.h): they record their points on it and free memory in its order. */
#include "base/process.h"
#include "stream/streams.h"

CUresult cji_shadow_open(cj_stream *s, const char **doing)
{
    *doing = "cuEventCreate";
    CUresult r = s->cu->cuEventCreate(&s->mark, CU_EVENT_DISABLE_TIMING);
    if (r != CUDA_SUCCESS) return s->mark = NULL, r;
    *doing = "cuStreamCreateWithPriority";
    r = s->cu->cuStreamCreateWithPriority(&s->shadow, CU_STREAM_NON_BLOCKING, 0);
    if (r == CUDA_SUCCESS) return r;
    s->shadow = NULL;
    cji_shadow_close(s);
    return r;
}

void cji_shadow_close(cj_stream *s)
{
    if (s->shadow) s->cu->cuStreamDestroy(s->shadow);
    if (s->mark) s->cu->cuEventDestroy(s->mark);
    s->shadow = NULL;
    s->mark = NULL;
}

/* With the stream's context current, on its thread. */
static void shadow_chain(cj_stream *s)
{
    if (cji_stream_captures(s->hub, s->raw)) return; /* by somebody else: the shadow must not be drawn in */
    CUresult r = s->cu->cuEventRecord(s->mark, s->raw);
    if (r == CUDA_SUCCESS) r = s->cu->cuStreamWaitEvent(s->shadow, s->mark, 0);
    if (r != CUDA_SUCCESS) s->cu->cuStreamSynchronize(s->raw); /* there is nothing left to wait for */
}

void cji_stream_follow(cj_stream *s)
{
    cji_calm calm;
    if (!s->shadow || atomic_load(&s->capturing) || s->obj.thread != cji_thread_id()) return;
    cji_calm_begin(s->hub, &calm);
    shadow_chain(s);
    cji_calm_end(s->hub, &calm);
}
