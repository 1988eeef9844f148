/* What captures forbid. The results of what is not allowed are the driver's, as measured on an H100.
 *
 * A capturing stream knows the nodes that its next one comes after (dep). What adds nodes is in the graph room
 * (sim_graphs). */
#include "sim/stream/sim_stream.h"

#include <string.h>

sim_capture *sim_captures;

/* ---- Lists of nodes that come before ----------------------------------------------------------------------------- */

bool cji_sim_deps_add(sim_node ***dep, size_t *n, size_t *cap, sim_node *node)
{
    for (size_t i = 0; i < *n; i++)
        if ((*dep)[i] == node) return true;
    if (!cji_grow(dep, cap, *n + 1, sizeof **dep)) return false;
    (*dep)[(*n)++] = node;
    return true;
}

bool cji_sim_deps_set(sim_node ***dep, size_t *n, size_t *cap, sim_node *const *from, size_t count)
{
    if (count && !cji_grow(dep, cap, count, sizeof **dep)) return false;
    if (count) memmove(*dep, from, count * sizeof **dep);
    *n = count;
    return true;
}

void cji_sim_deps_free(sim_node ***dep, size_t *n, size_t *cap)
{
    cji_free(*dep, *cap * sizeof **dep);
    *dep = NULL;
    *n = *cap = 0;
}

/* ---- Captures and their streams ---------------------------------------------------------------------------------- */

sim_capture *cji_sim_capture_by_id(uint64_t id)
{
    for (sim_capture *k = sim_captures; k; k = k->next)
        if (k->id == id) return k;
    return NULL;
}

void cji_sim_capture_uncapture(sim_stream *s)
{
    s->capture = NULL;
    s->ndep = 0;
}

void cji_sim_capture_leave(sim_stream *s)
{
    sim_capture *k = s->capture;
    if (!k) return;
    if (s != k->origin) {   /* what it was given must have been joined already */
        for (size_t i = 0; i < s->ndep; i++)
            if (!cji_sim_deps_add(&k->left, &k->nleft, &k->left_cap, s->dep[i])) k->invalid = true;
        cji_sim_capture_uncapture(s);
        return;
    }
    sim_graphs->abandon(k);
}

/* ---- What a capture forbids -------------------------------------------------------------------------------------- */

CUresult cji_sim_capture_rejects(sim_stream *s)
{
    if (!s->capture) return CUDA_SUCCESS;
    s->capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* A thread in relaxed mode harms nobody. Else its own captures forbid such calls unless they were begun relaxed,
 * and those of other threads where both capture and thread are in global mode; an invalid one no less, until its
 * end. Captures of another device are not concerned. */
static CUresult sim_capture_unsafe_of(bool blocking_only)
{
    if (!sim_captures) return CUDA_SUCCESS;
    sim_thread *t = cji_sim_thread();
    sim_ctx *c = NULL;
    CUresult r = CUDA_SUCCESS;
    if (t->mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
    if (cji_sim_ctx_current_any(&c)) c = NULL;
    for (sim_capture *k = sim_captures; k; k = k->next) {
        if (c && k->origin->ctx->dev != c->dev) continue;
        if (blocking_only && k->origin->flags & CU_STREAM_NON_BLOCKING) continue;
        bool forbids = k->thread == t
                           ? k->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                           : k->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && t->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (!forbids) continue;
        k->invalid = true;
        r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return r;
}

CUresult cji_sim_capture_unsafe(void) { return sim_capture_unsafe_of(false); }

void cji_sim_capture_unsafe_load(void) { (void)sim_capture_unsafe_of(true); }

CUresult cji_sim_capture_unsafe_ctx(sim_ctx *c)
{
    CUresult r = CUDA_SUCCESS;
    for (sim_capture *k = sim_captures; k; k = k->next) {
        if (k->origin->ctx != c) continue;
        k->invalid = true;
        r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return r;
}

CUresult cji_sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    if (!mode) return CUDA_ERROR_INVALID_VALUE;   /* a GPU's driver crashes; it takes any number */
    sim_thread *t = cji_sim_thread();
    CUstreamCaptureMode old = t->mode;
    t->mode = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}
