/* Nodes of host functions, events, and nothing. */
#include "stream/graph/stream_graph.h"

cj_node *cj_graph_host_func(cj_graph *g, const cj_nodes *after, void (*fn)(void *user), void *user)
{
    static const char call[] = "cj_graph_host_func";
    cji_adding a;
    if (!cji_adding_begin(&a, g, after, call)) return cji_adding_end(&a);
    const CUDA_HOST_NODE_PARAMS p = { fn, user };
    if (!fn) cji_fail(a.node, CJ_EINVAL, call, "the function is NULL");
    else
        cji_adding_did(&a, a.cu->cuGraphAddHostNode(&a.raw, g->raw, a.dep, a.ndep, &p), CU_GRAPH_NODE_TYPE_HOST,
                       "cuGraphAddHostNode");
    return cji_adding_end(&a);
}

/* The graph retains the event. */
static bool event_node_retain(cji_adding *a, cj_event *e)
{
    bool had = false;
    bool added = cji_refset_add(cji_graph_root(a->g)->refset, &cji_ref_event, cji_event_retain(e), &had);
    if (!added || had) cji_event_drop(e);
    if (!added) cji_fail(a->node, CJ_ENOMEM, a->call, "no memory to keep the event alive for the graph");
    return added;
}

cj_node *cj_graph_event_record(cj_graph *g, const cj_nodes *after, cj_event *e)
{
    static const char call[] = "cj_graph_event_record";
    cji_adding a;
    if (!cji_adding_begin(&a, g, after, call) || !cji_adding_object(&a, e, CJI_TAG_EVENT, "the event"))
        return cji_adding_end(&a);
    if (!cji_same_device(e->queue, g->queue)) {
        cji_cu_fail_apart(a.node, e->dev, g->dev, call,
                          "the event is of device %d, the graph for device %d; make an event for each device",
                          cj_device_ordinal(e->dev), cj_device_ordinal(g->dev));
    } else if (event_node_retain(&a, e) &&
               cji_adding_did(&a, a.cu->cuGraphAddEventRecordNode(&a.raw, g->raw, a.dep, a.ndep, e->raw),
                              CU_GRAPH_NODE_TYPE_EVENT_RECORD, "cuGraphAddEventRecordNode")) {
        cji_lock(&e->lock, CJI_LOCK_EVENT);
        e->recorded = true;
        cji_unlock(&e->lock, CJI_LOCK_EVENT);
    }
    return cji_adding_end(&a);
}

cj_node *cj_graph_event_wait(cj_graph *g, const cj_nodes *after, cj_event *e)
{
    static const char call[] = "cj_graph_event_wait";
    cji_adding a;
    if (!cji_adding_begin(&a, g, after, call) || !cji_adding_object(&a, e, CJI_TAG_EVENT, "the event"))
        return cji_adding_end(&a);
    if (!cji_device_meets(e->dev, g->dev))
        cji_cu_fail_apart(a.node, e->dev, g->dev, call,
                          "graph and event belong to two drivers, which cannot wait for each other");
    else if (event_node_retain(&a, e))
        cji_adding_did(&a, a.cu->cuGraphAddEventWaitNode(&a.raw, g->raw, a.dep, a.ndep, e->raw),
                       CU_GRAPH_NODE_TYPE_WAIT_EVENT, "cuGraphAddEventWaitNode");
    return cji_adding_end(&a);
}

cj_node *cj_graph_empty(cj_graph *g, const cj_nodes *after)
{
    cji_adding a;
    if (!cji_adding_begin(&a, g, after, "cj_graph_empty")) return cji_adding_end(&a);
    cji_adding_did(&a, a.cu->cuGraphAddEmptyNode(&a.raw, g->raw, a.dep, a.ndep), CU_GRAPH_NODE_TYPE_EMPTY,
                   "cuGraphAddEmptyNode");
    return cji_adding_end(&a);
}
