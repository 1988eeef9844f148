/* What the stream room does at moments of others' lives. */
#include "sim/stream/sim_stream.h"

static CUresult sim_stream_ctx_begin(sim_ctx *c)
{
    c->legacy = cji_sim_stream_new(c, CU_STREAM_DEFAULT, 0);
    if (!c->legacy) return CUDA_ERROR_OUT_OF_MEMORY;
    c->legacy->legacy = true;
    return CUDA_SUCCESS;
}

static bool sim_event_in_ctx(const void *p, const void *c) { return ((const sim_event *)p)->ctx == c; }
static bool sim_stream_in_ctx(const void *p, const void *c) { return ((const sim_stream *)p)->ctx == c; }

static void sim_stream_ctx_end(sim_ctx *c)
{
    void *p;
    size_t at = 0, stream_at = 0;
    while ((p = cji_sim_handle_next(SIM_EVENT, sim_event_in_ctx, c, &at))) {
        cji_sim_handle_drop(p);
        cji_sim_event_drop(p);
    }
    while ((p = cji_sim_handle_next(SIM_STREAM, sim_stream_in_ctx, c, &stream_at))) cji_sim_stream_forget(p);
    for (sim_thread *t = sim.threads; t; t = t->next)
        for (sim_stream **s = &t->own; *s;) {
            sim_stream *own = *s;
            if (own->ctx != c) {
                s = &own->own_next;
                continue;
            }
            *s = own->own_next;
            cji_sim_stream_forget(own);
        }
    cji_sim_stream_forget(c->legacy);
    c->legacy = NULL;
    cji_sim_op_drop(c->begin_after);
    c->begin_after = NULL;
}

static void sim_stream_thread_end(sim_thread *t)
{
    for (sim_capture *k = sim_captures; k; k = k->next)
        if (k->thread == t) k->thread = NULL;
    while (t->own) {
        sim_stream *s = t->own;
        t->own = s->own_next;
        cji_sim_stream_forget(s);
    }
}

const sim_room cji_sim_room_stream = { .name = "stream",
                                       .ctx_begin = sim_stream_ctx_begin,
                                       .ctx_end = sim_stream_ctx_end,
                                       .thread_end = sim_stream_thread_end,
                                       .module_loaded = cji_sim_capture_unsafe_load };
