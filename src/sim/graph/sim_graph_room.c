/* What the graph room does at moments of others' lives, and for the rooms below it. */
#include "sim/graph/sim_graph.h"

static bool sim_graph_exec_in_ctx(const void *p, const void *c) { return !c || ((const sim_graph_exec *)p)->ctx == c; }

/* c NULL: of all contexts. */
static void sim_graph_execs_end(const sim_ctx *c)
{
    void *p;
    size_t at = 0;
    for (sim_capture *k = sim_captures, *next; k; k = next) {
        next = k->next;
        if (!c || k->origin->ctx == c) cji_sim_capture_leave(k->origin);
    }
    while ((p = cji_sim_handle_next(SIM_GRAPH_EXEC, sim_graph_exec_in_ctx, c, &at))) {
        cji_sim_handle_drop(p);
        cji_sim_graph_exec_drop(p);
    }
}

static void sim_graph_ctx_end(sim_ctx *c)
{
    sim_graph_execs_end(c);
    cji_sim_graph_mem_forget_ctx(c);
}

/* A child or a body is freed with its node. */
static bool sim_graph_is_outermost(const void *p, const void *user) { return !((const sim_graph *)p)->parent && !user; }

static void sim_graph_process_end(void)
{
    void *p;
    size_t at = 0;
    sim_graph_execs_end(NULL);
    while ((p = cji_sim_handle_next(SIM_GRAPH, sim_graph_is_outermost, NULL, &at))) cji_sim_graph_forget(p);
}

const sim_room cji_sim_room_graph = { .name = "graph",
                                      .ctx_end = sim_graph_ctx_end,
                                      .process_end = sim_graph_process_end,
                                      .process_over = cji_sim_objects_end };

const sim_graph_hooks cji_sim_graph_hooks = { .add = cji_sim_capture_add,
                                              .add_event = cji_sim_event_node_capture,
                                              .add_alloc = cji_sim_graph_mem_capture_alloc,
                                              .add_free = cji_sim_graph_mem_capture_free,
                                              .release = cji_sim_graph_mem_release,
                                              .abandon = cji_sim_capture_abandon,
                                              .set_condition = cji_sim_condition_set };
