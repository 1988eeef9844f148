/* Nodes that record an event or wait for one. In a launch they do nothing themselves: a recorded event's point is the
 * node's operation, and a waiting one comes after the point that the event has at the launch. */
#include "sim/graph/sim_graph.h"

typedef struct sim_event_node { sim_work work; sim_event *event; } sim_event_node;   /* event: held */

static const sim_event_node *sim_event_node_of(const sim_work *w) { return (const sim_event_node *)w; }

static CUresult sim_event_node_work(const sim_graph_kind *kind, sim_ctx *c, sim_event *e, sim_work **out)
{
    sim_event_node *w = (sim_event_node *)cji_sim_work_new(&kind->work, c, sizeof *w);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->event = e;
    e->refs++;
    *out = &w->work;
    return CUDA_SUCCESS;
}

CUresult cji_sim_event_node_capture(sim_stream *s, sim_event *e, bool record)
{
    sim_work *w;
    CUresult r = sim_event_node_work(record ? &cji_sim_kind_record : &cji_sim_kind_wait, s->ctx, e, &w);
    return r ? r : cji_sim_capture_add(s, w);
}

static CUresult sim_event_node_read(const sim_graph_kind *kind, CUevent h, sim_work **out)
{
    sim_event *e;
    if (!h) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_event_get(h, &e);
    return r ? r : sim_event_node_work(kind, e->ctx, e, out);
}

static void sim_event_node_drop(sim_work *w) { cji_sim_event_drop(((sim_event_node *)w)->event); }

/* ---- Record ------------------------------------------------------------------------------------------------------ */

static CUresult sim_record_read(CUgraphNodeParams *p, sim_graph *g, sim_work **out)
{
    (void)g;
    return sim_event_node_read(&cji_sim_kind_record, p->eventRecord.event, out);
}

static void sim_record_write(const sim_work *w, CUgraphNodeParams *p)
{
    p->eventRecord.event = (CUevent)sim_event_node_of(w)->event;
}

static CUresult sim_record_launch(sim_op *op, const sim_work *w)
{
    (void)op, (void)w;
    return CUDA_SUCCESS;
}

static CUresult sim_record_launched(sim_op *op, const sim_work *w)
{
    return cji_sim_event_set(sim_event_node_of(w)->event, op);
}

const sim_graph_kind cji_sim_kind_record = { .work = { .name = "event record",
                                                       .node_type = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                                                       .traits = SIM_WORK_OF_GRAPHS,
                                                       .drop = sim_event_node_drop,
                                                       .read_params = sim_record_read,
                                                       .write_params = sim_record_write },
                                             .launch = sim_record_launch,
                                             .launched = sim_record_launched };

/* ---- Wait -------------------------------------------------------------------------------------------------------- */

static CUresult sim_wait_read(CUgraphNodeParams *p, sim_graph *g, sim_work **out)
{
    (void)g;
    return sim_event_node_read(&cji_sim_kind_wait, p->eventWait.event, out);
}

static void sim_wait_write(const sim_work *w, CUgraphNodeParams *p)
{
    p->eventWait.event = (CUevent)sim_event_node_of(w)->event;
}

static CUresult sim_wait_launch(sim_op *op, const sim_work *w)
{
    const sim_event *e = sim_event_node_of(w)->event;
    sim_op *own;
    uint64_t foreign;
    op->join = SIM_JOIN_EVENT;
    op->joined = e;
    cji_sim_event_now(e, &own, &foreign);
    return foreign ? cji_sim_ipc_event_work(e, foreign, op->ctx, &op->work) : cji_sim_op_after(op, own);
}

const sim_graph_kind cji_sim_kind_wait = { .work = { .name = "wait event",
                                                     .node_type = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
                                                     .traits = SIM_WORK_OF_GRAPHS,
                                                     .drop = sim_event_node_drop,
                                                     .read_params = sim_wait_read,
                                                     .write_params = sim_wait_write },
                                           .launch = sim_wait_launch };
