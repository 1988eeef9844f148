/* Host functions of a context that run one at a time (sim.set.serial; not under every schedule), in the order in which
 * they became ready: nothing orders host functions of independent streams, and a real driver has one thread for all.
 *
 * A host function is chosen when nothing but another host function holds it up, so what it may still wait for lies
 * in its own code, where the device sees nothing: no cycle of edges leads through this order. */
#include "sim/queue/sim_queue.h"

static bool sim_is_host(const sim_op *op) { return cji_sim_work_has(op->work, SIM_WORK_HOST); }

static void sim_serial_queue(sim_op *op)
{
    sim_ctx *c = op->ctx;
    op->queued = true;
    op->when = cji_now();
    op->next_ready = NULL;
    op->prev_ready = c->host_last;
    if (c->host_last) c->host_last->next_ready = op;
    else c->host_first = op;
    c->host_last = op;
}

void cji_sim_serial_unqueue(sim_op *op)
{
    sim_ctx *c = op->ctx;
    if (op->prev_ready) op->prev_ready->next_ready = op->next_ready;
    else c->host_first = op->next_ready;
    if (op->next_ready) op->next_ready->prev_ready = op->prev_ready;
    else c->host_last = op->prev_ready;
    op->next_ready = op->prev_ready = NULL;
    op->queued = false;
}

/* Whether it waits for another to return. The eager schedule takes the first that is ready, the others the one that
 * they choose. */
static bool sim_serial_queues(sim_op *op)
{
    if (!sim.set.serial || !sim_is_host(op)) return false;
    if (op->ctx->host) {
        sim_serial_queue(op);
        return true;
    }
    if (sim.set.schedule == SIM_EAGER) op->ctx->host = op;
    return false;
}

void cji_sim_serial_ready(sim_op *op)
{
    if (!sim_serial_queues(op)) cji_sim_ready_add(op, false);
}

/* It has been chosen: the others of its context cannot be chosen until it has returned. */
static void sim_serial_take(sim_op *op)
{
    op->ctx->host = op;
    for (int i = 0; i < SIM_PRIORITIES; i++)
        for (sim_op *o = sim_queue.ready_first[i], *next; o; o = next) {
            next = o->next_ready;
            if (o == op || o->ctx != op->ctx || !sim_is_host(o)) continue;
            cji_sim_ready_remove(o);
            sim_serial_queue(o);
        }
}

void cji_sim_serial_begin(sim_op *op)
{
    if (sim.set.serial && op->ctx->host != op) sim_serial_take(op);
    sim_queue.in_host++;
    op->long_reported = false;
    op->when = cji_now();
    cji_sim_rooms_op_watch(op);
}

void cji_sim_serial_end(sim_op *op)
{
    sim_ctx *c = op->ctx;
    sim_queue.in_host--;
    cji_sim_rooms_op_unwatch(op);
    if (c->host != op) return;
    c->host = NULL;
    while (c->host_first && !c->host) {
        sim_op *o = c->host_first;
        cji_sim_serial_unqueue(o);
        cji_sim_serial_ready(o);
    }
}
