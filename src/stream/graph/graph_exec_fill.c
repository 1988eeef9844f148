/* Fills left out of an executable graph.
 *
 * A fill node of up to 4 KiB that cuGraphNodeSetEnabled has switched off loses its place in the order: what comes
 * after it, and what comes after the whole graph, no longer waits for the kernels before it (seen with driver 580 on
 * an H100 and an H200; larger fills, fills of rows, kernels and copies keep it).  So such a node stays on, and fills
 * a location of the exec's own instead.  The driver cannot be asked what an exec's node does: it is noted here, and
 * an exec that was updated from another graph is rejected, as is the update of one that has fills left out. */
#include "stream/graph/stream_graph.h"

/* -- What the room keeps for the device ---------------------------------------------------------------------------- */

/* The memory that fills go to instead: parts of blocks that stay as long as the device. */
enum { FILL_BLOCK = 1024, FILL_LOCATION = 16 };

static void graph_state_free(cji_device_state *base)
{
    cji_graph_state *state = (cji_graph_state *)base;
    const bool idle = cji_release_queue_idle(state->queue);
    /* else they go with the context */
    for (size_t i = 0; idle && i < state->nblocks; i++) state->queue->cu->cuMemFree(state->block[i]);
    cji_free(state->block, state->block_cap * sizeof *state->block);
    cji_free(state->location, state->location_cap * sizeof *state->location);
    pthread_mutex_destroy(&state->lock);
    cji_free(state, sizeof *state);
}

static void graph_state_trim(cji_device_state *base)
{
    cji_graph_state *state = (cji_graph_state *)base;
    if (atomic_load(&state->memory)) state->queue->cu->cuDeviceGraphMemTrim(state->dev->cu);
}

cji_graph_state *cji_graph_state_of(cj_device *dev)
{
    cji_release_queue *queue = &dev->queue;
    cji_lock(&queue->lock, CJI_LOCK_QUEUE);
    cji_graph_state *state = (cji_graph_state *)cji_release_queue_state(queue, CJI_STATE_GRAPH);
    if (!state && (state = cji_zalloc(sizeof *state))) {
        state->base = (cji_device_state){ .free = graph_state_free, .trim = graph_state_trim };
        state->queue = queue;
        state->dev = dev;
        pthread_mutex_init(&state->lock, NULL);
        queue->state[CJI_STATE_GRAPH] = &state->base;
    }
    cji_unlock(&queue->lock, CJI_LOCK_QUEUE);
    return state;
}

/* A block's parts become free ones, but for the first; with the lock held. */
static bool fill_block_enter(cji_graph_state *state, CUdeviceptr block)
{
    if (!cji_grow(&state->block, &state->block_cap, state->nblocks + 1, sizeof *state->block) ||
        !cji_grow(&state->location, &state->location_cap, (state->nblocks + 1) * (FILL_BLOCK / FILL_LOCATION),
                  sizeof *state->location))
        return false;
    state->block[state->nblocks++] = block;
    for (unsigned at = FILL_LOCATION; at < FILL_BLOCK; at += FILL_LOCATION)
        state->location[state->nlocations++] = block + at;
    return true;
}

/* In a scope. */
static bool fill_location_take(cji_graph_state *state, cj_graph_exec *x, CUdeviceptr *location, const char *call)
{
    cji_lock(&state->lock, CJI_LOCK_GRAPH_STATE);
    bool there = state->nlocations > 0;
    if (there) *location = state->location[--state->nlocations];
    cji_unlock(&state->lock, CJI_LOCK_GRAPH_STATE);
    if (there) return true;
    CUdeviceptr block = 0;
    CUresult r = x->queue->cu->cuMemAlloc(&block, FILL_BLOCK);
    if (r != CUDA_SUCCESS) return cji_rejected(x, x->dev, r, call, "cuMemAlloc"), false;
    *location = block;
    cji_lock(&state->lock, CJI_LOCK_GRAPH_STATE);
    bool room = fill_block_enter(state, block);
    cji_unlock(&state->lock, CJI_LOCK_GRAPH_STATE);
    if (room) return true;
    x->queue->cu->cuMemFree(block);
    return cji_fail(x, CJ_ENOMEM, call, "no memory to note a fill that is left out"), false;
}

/* -- The exec's notes; its lock is held ---------------------------------------------------------------------------- */

static cji_left_out *fill_noted(cj_graph_exec *x, CUgraphNode raw)
{
    for (size_t i = 0; i < x->nleft; i++)
        if (x->left[i].raw == raw) return &x->left[i];
    return NULL;
}

bool cji_graph_exec_has_fills_out(const cj_graph_exec *x)
{
    for (size_t i = 0; i < x->nleft; i++)
        if (x->left[i].out) return true;
    return false;
}

void cji_graph_exec_fills_forget(cj_graph_exec *x)
{
    cji_graph_state *state = x->nleft ? cji_graph_state_of(x->dev) : NULL;
    if (state) cji_lock(&state->lock, CJI_LOCK_GRAPH_STATE);
    /* there is room for all there are */
    for (size_t i = 0; i < x->nleft; i++) state->location[state->nlocations++] = x->left[i].location;
    if (state) cji_unlock(&state->lock, CJI_LOCK_GRAPH_STATE);
    cji_free(x->left, x->left_cap * sizeof *x->left);
    x->left = NULL;
    x->nleft = x->left_cap = 0;
}

/* Notes what the node does now. */
static cji_left_out *fill_note(cj_graph_exec *x, CUgraphNode raw, const CUDA_MEMSET_NODE_PARAMS *does, const char *call)
{
    cji_graph_state *state = cji_graph_state_of(x->dev);
    CUdeviceptr location;
    if (!state || !cji_grow(&x->left, &x->left_cap, x->nleft + 1, sizeof *x->left))
        return cji_fail(x, CJ_ENOMEM, call, "no memory to note a fill that is left out"), NULL;
    if (!fill_location_take(state, x, &location, call)) return NULL;
    x->left[x->nleft] = (cji_left_out){ .raw = raw, .does = *does, .location = location };
    return &x->left[x->nleft++];
}

/* -- Leaving out, and doing again ---------------------------------------------------------------------------------- */

static cj_status fill_set(cj_graph_exec *x, CUgraphNode raw, const CUDA_MEMSET_NODE_PARAMS *p, const char *call)
{
    CUresult r = x->queue->cu->cuGraphExecMemsetNodeSetParams(x->raw, raw, p, x->queue->ctx);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(x, x->dev, r, call, "cuGraphExecMemsetNodeSetParams");
}

static cj_status fill_leave_out(cj_graph_exec *x, const cj_node *n, const CUDA_MEMSET_NODE_PARAMS *does,
                                const char *call)
{
    cji_left_out *left = fill_noted(x, n->raw);
    if (left && left->out) return CJ_OK;
    if (x->updated)
        return cji_fail(
            x, CJ_ENOTSUP, call,
            "the exec was updated from another graph, and what its fills do now cannot be known; instantiate that "
            "graph");
    if (!left && !(left = fill_note(x, n->raw, does, call))) return (cj_status)cj_error_last()->status;
    CUDA_MEMSET_NODE_PARAMS aside = left->does;
    aside.dst = left->location;
    aside.value = 0;
    aside.width = 1;
    cj_status st = fill_set(x, n->raw, &aside, call);
    left->out = st == CJ_OK;
    return st;
}

static cj_status fill_do_again(cj_graph_exec *x, const cj_node *n, const char *call)
{
    cji_left_out *left = fill_noted(x, n->raw);
    if (!left || !left->out) return CJ_OK;
    cj_status st = fill_set(x, n->raw, &left->does, call);
    if (st == CJ_OK) left->out = false;
    return st;
}

cj_status cji_graph_exec_fill_enable(cj_graph_exec *x, const cj_node *n, const CUDA_MEMSET_NODE_PARAMS *does,
                                     bool enabled, const char *call)
{
    return enabled ? fill_do_again(x, n, call) : fill_leave_out(x, n, does, call);
}
