/* Executable graphs: a snapshot of a graph as a list of steps, child graphs flattened into it, launched as operations.
 *
 * A launch puts a mark behind the stream's work and behind the executable's own latest launch, the steps behind that
 * as their edges say, and a mark behind all steps that nothing follows, which becomes the stream's latest operation. */
#include "sim/graph/sim_graph.h"

#include <string.h>

/* ---- Snapshot ---------------------------------------------------------------------------------------------------- */

size_t cji_sim_graph_count_steps(const sim_graph *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->nnode; i++) {
        const sim_graph_kind *kind = cji_sim_graph_kind_of(g->node[i]->work);
        n += kind && kind->steps ? kind->steps(g->node[i]->work) : 1;
    }
    return n;
}

static void sim_steps_free(sim_graph_step *step, size_t n, size_t room)
{
    for (size_t i = 0; i < n; i++) {
        cji_sim_work_drop(step[i].work);
        cji_free(step[i].before, step[i].nbefore * sizeof *step[i].before);
    }
    cji_free(step, room * sizeof *step);
}

bool cji_sim_step_put(sim_graph_exec *x, sim_work *w, const sim_node *node, const size_t *before, size_t n)
{
    sim_graph_step *s = &x->step[x->nstep];
    if (n) {
        s->before = cji_alloc(n * sizeof *before);
        if (!s->before) return false;
        memcpy(s->before, before, n * sizeof *before);
        s->nbefore = n;
    }
    for (size_t i = 0; i < n; i++) x->step[before[i]].leaf = false;
    s->work = cji_sim_work_hold(w);
    s->type = node->type;
    s->node = node->id;
    s->origin = node->origin;
    s->enabled = s->leaf = true;
    x->nstep++;
    return true;
}

CUresult cji_sim_graph_flatten(sim_graph_exec *x, sim_graph *g, size_t root)
{
    bool lost = false;
    x->objects = cji_sim_objects_copy(x->objects, g->objects, &lost);
    if (lost) return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < g->ncond; i++)
        if (!g->cond[i]->used) return CUDA_ERROR_INVALID_VALUE;
    if (!g->nnode) return CUDA_SUCCESS;
    sim_node **order = cji_alloc(g->nnode * sizeof *order);
    size_t *last = cji_alloc(g->nnode * sizeof *last), *before = cji_alloc(g->nnode * sizeof *before);
    CUresult r = order && last && before ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r && !cji_sim_graph_order(g, order)) r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < g->nnode; i++) {
        sim_node *node = order[i];
        size_t n = 0;
        for (size_t b = 0; b < node->nbefore; b++)
            before[n++] = last[node->before[b]->mark - 1]; /* mark: its place in the order, from 1 */
        if (!n && root != SIZE_MAX) before[n++] = root;
        const sim_graph_kind *kind = cji_sim_graph_kind_of(node->work);
        if (kind && kind->flatten) r = kind->flatten(x, node, before, n);
        else if (!cji_sim_step_put(x, node->work, node, before, n)) r = CUDA_ERROR_OUT_OF_MEMORY;
        last[i] = x->nstep - 1;
    }
    cji_free(order, g->nnode * sizeof *order);
    cji_free(last, g->nnode * sizeof *last);
    cji_free(before, g->nnode * sizeof *before);
    return r;
}

static void sim_graph_exec_free(sim_ref *r)
{
    sim_graph_exec *x = (sim_graph_exec *)r;
    if (x->step) sim_steps_free(x->step, x->nstep, x->room);
    if (x->op) cji_free(x->op, x->room * sizeof *x->op);
    cji_sim_op_drop(x->last);
    cji_sim_objects_drop(x->objects);
    cji_sim_work_drop(x->begin);
    cji_free(x, sizeof *x);
}

void cji_sim_graph_exec_drop(sim_graph_exec *x)
{
    if (x) cji_sim_ref_drop(&x->ref);
}

sim_graph_exec *cji_sim_graph_exec_make(sim_graph *g, CUresult *r)
{
    sim_graph_exec *x = cji_zalloc(sizeof *x);
    if (!x) {
        *r = CUDA_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    x->ref = (sim_ref){ 1, sim_graph_exec_free };
    x->graph = g->id;
    x->once = g->once;
    x->room = cji_sim_graph_count_steps(g);
    x->step = x->room ? cji_zalloc(x->room * sizeof *x->step) : NULL;
    x->op = x->room ? cji_zalloc(x->room * sizeof *x->op) : NULL;
    *r = x->room && (!x->step || !x->op) ? CUDA_ERROR_OUT_OF_MEMORY : cji_sim_graph_flatten(x, g, SIZE_MAX);
    if (!*r) return x;
    cji_sim_graph_exec_drop(x);
    return NULL;
}

CUresult cji_sim_graph_exec_get(CUgraphExec h, sim_graph_exec **out)
{
    if (!cji_sim_handle_is(SIM_GRAPH_EXEC, h)) return CUDA_ERROR_INVALID_VALUE;
    *out = (sim_graph_exec *)h;
    return (*out)->ctx->fault;
}

static bool sim_graph_exec_of_graph(const void *p, const void *g)
{
    return ((const sim_graph_exec *)p)->graph == ((const sim_graph *)g)->id;
}
static bool sim_clone_of_graph(const void *p, const void *g)
{
    return ((const sim_graph *)p)->origin == ((const sim_graph *)g)->id;
}

static const unsigned long long sim_graph_exec_flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                                       CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                                       CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

static CUresult sim_instantiate(CUgraphExec *out, CUgraph h, unsigned long long flags)
{
    sim_graph *g;
    sim_ctx *c;
    size_t at = 0, clone_at = 0;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) return CUDA_ERROR_NOT_SUPPORTED;
    if (flags & ~sim_graph_exec_flags) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) r = cji_sim_graph_get(h, &g);
    if (!r && g->once && cji_sim_handle_next(SIM_GRAPH_EXEC, sim_graph_exec_of_graph, g, &at))
        r = CUDA_ERROR_NOT_SUPPORTED;    /* one at a time */
    if (!r) cji_sim_graph_mem_seal(g);   /* whether it succeeds or not */
    sim_graph_exec *x = r ? NULL : cji_sim_graph_exec_make(g, &r);
    if (r) return r;
    /* a clone that was made before the conditions counts */
    if (g->ncond && cji_sim_handle_next(SIM_GRAPH, sim_clone_of_graph, g, &clone_at)) {
        cji_sim_graph_exec_drop(x);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    x->ctx = c;
    r = cji_sim_cond_begin(x, &x->begin);
    if (r || !cji_sim_handle_add(SIM_GRAPH_EXEC, x)) {
        cji_sim_graph_exec_drop(x);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    x->flags = flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;   /* the others are not reported, as measured */
    *out = (CUgraphExec)x;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph h, unsigned long long flags)
{
    if (!out || flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
        return CUDA_ERROR_INVALID_VALUE; /* there is no stream for it */
    sim_lock();
    CUresult r = sim_instantiate(out, h, flags);
    sim_unlock();
    return r;
}

/* Any node of a cycle: the edges are followed backwards from one that has a node before it that was not taken (mark
 * 0). */
static sim_node *sim_node_in_cycle(sim_graph *g)
{
    sim_node *n = NULL;
    for (size_t i = 0; i < g->nnode && !n; i++)
        if (!g->node[i]->mark) n = g->node[i];
    for (size_t step = 0; n && step < g->nnode; step++)
        for (size_t b = 0; b < n->nbefore; b++)
            if (!n->before[b]->mark) {
                n = n->before[b];
                break;
            }
    return n;
}

static void sim_instantiate_why(CUgraph h, CUresult r, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
    sim_graph *g;
    p->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    if (r != CUDA_ERROR_INVALID_VALUE || p->flags & ~sim_graph_exec_flags || cji_sim_graph_get(h, &g)) return;
    if (cji_sim_cond_misfit(g)) {
        p->result_out = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
        return;
    }
    for (size_t i = 0; i < g->ncond; i++)
        if (!g->cond[i]->used) {
            p->result_out = CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
            return;
        }
    p->result_out = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    p->hErrNode_out = (CUgraphNode)sim_node_in_cycle(g);
}

CUresult cji_sim_cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph h, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
    if (!out || !p) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_instantiate(out, h, p->flags);
    p->hErrNode_out = NULL;
    p->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    if (r) sim_instantiate_why(h, r, p);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphExecDestroy(CUgraphExec h)
{
    sim_lock();
    CUresult r = cji_sim_handle_is(SIM_GRAPH_EXEC, h) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        cji_sim_handle_drop(h);
        cji_sim_graph_exec_drop((sim_graph_exec *)h);   /* a launch in flight keeps it */
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphExecGetFlags(CUgraphExec h, cuuint64_t *flags)
{
    sim_graph_exec *x;
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_graph_exec_get(h, &x);
    if (!r) *flags = x->flags;
    sim_unlock();
    return r;
}

/* ---- Launch ------------------------------------------------------------------------------------------------------ */

/* The operation of one step; NULL without memory. */
static sim_op *sim_step_launch(sim_graph_exec *x, const sim_graph_step *s, sim_stream *stream, sim_op *begin)
{
    const sim_graph_kind *kind = cji_sim_graph_kind_of(s->work);
    bool own = kind && kind->launch;
    sim_op *op = cji_sim_stream_op(s->work && s->work->ctx ? s->work->ctx : stream->ctx, stream,
                                   s->enabled && !own ? s->work : NULL);
    if (!op) return NULL;
    CUresult r = own ? kind->launch(op, s->work) : CUDA_SUCCESS;
    if (!r && !s->nbefore) r = cji_sim_op_after(op, begin);
    for (size_t b = 0; b < s->nbefore && !r; b++) r = cji_sim_op_after(op, x->op[s->before[b]]);
    op->in_graph = true;
    if (r) {
        cji_sim_op_abandon(op);
        return NULL;
    }
    cji_sim_op_submit(op);
    if (own && kind->launched && kind->launched(op, s->work)) {
        cji_sim_op_drop(op);
        return NULL;
    }
    return op;
}

CUresult cji_sim_graph_exec_steps(sim_graph_exec *x, sim_stream *s, sim_op *begin, sim_op *end)
{
    CUresult r = CUDA_SUCCESS;
    size_t n = 0;
    for (; n < x->nstep && !r; n++) {
        x->op[n] = sim_step_launch(x, &x->step[n], s, begin);
        if (!x->op[n]) {
            r = CUDA_ERROR_OUT_OF_MEMORY;
            break;
        }
    }
    if (cji_sim_op_after(end, begin)) r = CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < n; i++) {
        if ((x->step[i].leaf || r) && cji_sim_op_after(end, x->op[i])) r = CUDA_ERROR_OUT_OF_MEMORY;
        cji_sim_op_drop(x->op[i]);
        x->op[i] = NULL;
    }
    return r;
}

static CUresult sim_graph_exec_launch(sim_graph_exec *x, sim_stream *s)
{
    CUresult r = cji_sim_graph_mem_launch(x);
    if (r) return r;
    sim_op *begin = cji_sim_stream_op(s->ctx, s, x->begin), *end = begin ? cji_sim_stream_op(s->ctx, s, NULL) : NULL;
    if (!end) {
        if (begin) cji_sim_op_abandon(begin);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    r = cji_sim_stream_before(begin, s);
    if (!r) r = cji_sim_op_after(begin, x->last);
    begin->join = SIM_JOIN_EXEC;
    begin->joined = x;
    cji_sim_op_submit(begin);
    CUresult steps = r ? CUDA_SUCCESS : cji_sim_graph_exec_steps(x, s, begin, end);
    if (!r) r = steps;
    else if (cji_sim_op_after(end, begin)) r = CUDA_ERROR_OUT_OF_MEMORY;
    cji_sim_op_hold(end, &x->ref);
    if (x->objects) cji_sim_op_hold(end, &x->objects->ref);
    cji_sim_stream_set_tail(s, end);
    cji_sim_op_submit(end);
    cji_sim_op_drop(x->last);
    x->last = end;   /* its reference */
    cji_sim_op_drop(begin);
    cji_sim_queue_balance(0);
    return r;
}

/* A captured stream takes no launch: 900, and the capture is broken (seen on an H100, driver 580). */
CUresult cji_sim_cuGraphLaunch(CUgraphExec h, CUstream hs)
{
    sim_graph_exec *x;
    sim_stream *s;
    sim_lock();
    CUresult r = cji_sim_graph_exec_get(h, &x);
    if (!r) r = cji_sim_stream_to_capture(hs, &s);
    if (!r) r = s->capture ? cji_sim_capture_rejects(s) : sim_graph_exec_launch(x, s);
    sim_unlock();
    return r;
}

/* There is nothing to bring to the device: an upload is done when the stream reaches it. */
CUresult cji_sim_cuGraphUpload(CUgraphExec h, CUstream hs)
{
    sim_graph_exec *x;
    sim_stream *s;
    sim_lock();
    CUresult r = cji_sim_graph_exec_get(h, &x);
    if (!r) r = cji_sim_stream_to_capture(hs, &s);
    if (!r && s->capture) r = cji_sim_capture_rejects(s);
    sim_op *op;
    if (!r) r = cji_sim_stream_enqueue(s, NULL, x->last, &op);
    if (!r) {
        op->join = SIM_JOIN_EXEC;
        op->joined = x;
        cji_sim_op_drop(op);
    }
    sim_unlock();
    return r;
}
