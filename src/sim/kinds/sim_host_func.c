/* Host functions: called by a worker, after the stream's earlier work and before its later. In what order:
 * sim_serial.c. */
#include "sim/kinds/sim_kinds.h"

#include <string.h>

typedef struct sim_host_func { sim_work work; CUhostFn fn; void *user; } sim_host_func;

static const sim_host_func *sim_host_func_of(const sim_work *w) { return (const sim_host_func *)w; }

static CUresult sim_host_func_work(sim_ctx *c, CUhostFn fn, void *user, sim_work **out)
{
    sim_host_func *w = (sim_host_func *)cji_sim_work_new(&cji_sim_kind_host_func, c, sizeof *w);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->fn = fn;
    w->user = user;
    *out = &w->work;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuLaunchHostFunc(CUstream h, CUhostFn fn, void *user)
{
    sim_stream *s;
    sim_work *w;
    if (!fn) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_stream_for_work(h, &s);
    if (!r) r = sim_host_func_work(s->ctx, fn, user, &w);
    if (!r) r = cji_sim_stream_submit(s, w);
    sim_unlock();
    return r;
}

/* ---- The kind ---------------------------------------------------------------------------------------------------- */

static void sim_host_func_run(sim_op *op)
{
    const sim_host_func *w = sim_host_func_of(op->work);
    cji_sim_host_section(true);
    w->fn(w->user);
    cji_sim_host_section(false);
}

static const void *sim_host_func_code(const sim_work *w)
{
    const void *p = NULL;
    memcpy(&p, &sim_host_func_of(w)->fn, sizeof p);
    return p;
}

static CUresult sim_host_func_read(CUgraphNodeParams *p, sim_graph *g, sim_work **out)
{
    sim_ctx *c;
    (void)g;
    if (!p->host.fn) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_ctx_current(&c);
    return r ? r : sim_host_func_work(c, p->host.fn, p->host.userData, out);
}

static void sim_host_func_write(const sim_work *w, CUgraphNodeParams *p)
{
    p->host.fn = sim_host_func_of(w)->fn;
    p->host.userData = sim_host_func_of(w)->user;
}

const sim_work_kind cji_sim_kind_host_func = { .name = "host",
                                               .node_type = CU_GRAPH_NODE_TYPE_HOST,
                                               .traits = SIM_WORK_HOST | SIM_WORK_WRITES_ANYTHING,
                                               .run = sim_host_func_run,
                                               .read_params = sim_host_func_read,
                                               .write_params = sim_host_func_write,
                                               .code = sim_host_func_code };
