/* The ready lists: operations that may begin, one list for each priority. */
#include "sim/queue/sim_queue.h"

sim_queue_state sim_queue = { .work = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

void cji_sim_ready_add(sim_op *op, bool front)
{
    if (!sim_queue.nready && sim.set.schedule != SIM_EAGER) sim_queue.moved = cji_now();
    sim_op **first = &sim_queue.ready_first[op->level], **last = &sim_queue.ready_last[op->level];
    op->listed = true;
    op->prev_ready = op->next_ready = NULL;
    if (!*first) {
        *first = *last = op;
    } else if (front) {
        op->next_ready = *first;
        (*first)->prev_ready = op;
        *first = op;
    } else {
        op->prev_ready = *last;
        (*last)->next_ready = op;
        *last = op;
    }
    sim_queue.nready++;
    if (op->open) sim_queue.nopen++;
}

void cji_sim_ready_remove(sim_op *op)
{
    if (op->prev_ready) op->prev_ready->next_ready = op->next_ready;
    else sim_queue.ready_first[op->level] = op->next_ready;
    if (op->next_ready) op->next_ready->prev_ready = op->prev_ready;
    else sim_queue.ready_last[op->level] = op->prev_ready;
    op->listed = false;
    op->prev_ready = op->next_ready = NULL;
    sim_queue.nready--;
    if (op->open) sim_queue.nopen--;
}
