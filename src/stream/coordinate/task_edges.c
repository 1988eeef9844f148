/* Dependencies.  The topological order is that of Pearce and Kelly (A Dynamic Topological Sort Algorithm for Directed
 * Acyclic Graphs, 2006): an edge that agrees with it costs nothing; else only the tasks between the two ends in that
 * order are searched, and given its places anew.  The search that meets the other end has found a cycle.
 *
 * Only tasks that have not begun are searched: one that has begun waits for nothing. */
#include <stdlib.h>

#include "stream/coordinate/coord_tasks.h"

/* -- Lists --------------------------------------------------------------------------------------------------------- */

void cji_task_drop_in(cji_tasks *g, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    for (uint32_t e = t->in, next; e != CJI_NO_TASK; e = next) {
        cji_task_edge *edge = cji_task_edge_at(g, e);
        next = edge->next_in;
        edge->succ = CJI_NO_TASK;
        if (edge->pred == CJI_NO_TASK) cji_task_edge_free(g, e);
    }
    t->in = CJI_NO_TASK;
}

void cji_task_discard(cji_tasks *g, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    cji_task_drop_in(g, i);
    t->release = NULL; /* its user data is the caller's still */
    g->unended--;
    g->added -= !t->hidden;
    g->number -= !t->hidden;
    cji_task_slot_free(g, i);
}

/* For the picture: what was ever made. */
static bool edge_draw(cji_tasks *g, const cji_task *succ, const cji_task *pred, uint32_t flags)
{
    if (succ->hidden || pred->hidden) return true;
    if (!cji_grow(&g->line, &g->line_cap, g->lines + 1, sizeof *g->line)) return false;
    g->line[g->lines++] = (cji_task_line){ pred->number, succ->number, flags };
    return true;
}

static bool edge_add(cji_tasks *g, uint32_t succ, uint32_t pred, uint32_t flags)
{
    cji_task *s = cji_task_at(g, succ), *p = cji_task_at(g, pred);
    if (g->keep && !edge_draw(g, s, p, flags)) return false;
    const uint32_t e = cji_task_edge_new(g, s, succ);
    if (e == CJI_NO_TASK) {
        g->lines -= g->keep && !s->hidden && !p->hidden;
        return false;
    }
    *cji_task_edge_at(g, e) = (cji_task_edge){ pred, succ, CJI_NO_TASK, s->in, flags };
    s->in = e;
    if (p->out == CJI_NO_TASK) p->out = e;
    else cji_task_edge_at(g, p->out_last)->next_out = e;
    p->out_last = e;
    g->edge_count++;
    return true;
}

/* -- The order ----------------------------------------------------------------------------------------------------- */

static bool found_add(cji_tasks *g, int side, uint32_t task, uint32_t parent)
{
    if (!cji_grow(&g->found[side], &g->found_cap[side], g->found_count[side] + 1, sizeof *g->found[side]))
        return false;
    cji_task_rare(cji_task_at(g, task))->mark = g->search;
    g->found[side][g->found_count[side]++] = (cji_task_found){ task, parent };
    return true;
}

/* What comes after `from`, up to the place `most`.  CJ_ESTATE: `to` does, and is the last one found. */
static cj_status search_forward(cji_tasks *g, uint32_t from, uint32_t to, uint64_t most)
{
    g->found_count[0] = 0;
    if (!found_add(g, 0, from, CJI_NO_TASK)) return CJ_ENOMEM;
    for (size_t k = 0; k < g->found_count[0]; k++)
        for (uint32_t e = cji_task_at(g, g->found[0][k].task)->out; e != CJI_NO_TASK;
             e = cji_task_edge_at(g, e)->next_out) {
            const uint32_t i = cji_task_edge_at(g, e)->succ;
            if (i == CJI_NO_TASK) continue;
            const cji_task *t = cji_task_at(g, i);
            if (t->mark == g->search || t->order > most) continue;
            if (!found_add(g, 0, i, (uint32_t)k)) return CJ_ENOMEM;
            if (i == to) return CJ_ESTATE;
        }
    return CJ_OK;
}

/* What `from` comes after, down to the place `least`. */
static bool search_backward(cji_tasks *g, uint32_t from, uint64_t least)
{
    g->found_count[1] = 0;
    if (!found_add(g, 1, from, CJI_NO_TASK)) return false;
    for (size_t k = 0; k < g->found_count[1]; k++)
        for (uint32_t e = cji_task_at(g, g->found[1][k].task)->in; e != CJI_NO_TASK;
             e = cji_task_edge_at(g, e)->next_in) {
            const uint32_t i = cji_task_edge_at(g, e)->pred;
            if (i == CJI_NO_TASK) continue;
            const cji_task *t = cji_task_at(g, i);
            if (t->mark == g->search || t->order < least || !cji_task_unbegun(t)) continue;
            if (!found_add(g, 1, i, (uint32_t)k)) return false;
        }
    return true;
}

static int place_compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts what one search has found by its order: `place` has room for that many pairs. */
static void found_sort(cji_tasks *g, int side, uint64_t *pair)
{
    const size_t n = g->found_count[side];
    for (size_t k = 0; k < n; k++) {
        pair[2 * k] = cji_task_at(g, g->found[side][k].task)->order;
        pair[2 * k + 1] = g->found[side][k].task;
    }
    qsort(pair, n, 2 * sizeof *pair, place_compare);
    for (size_t k = 0; k < n; k++) g->found[side][k].task = (uint32_t)pair[2 * k + 1];
}

/* The places of both searches are given anew: first to what came before, then to what comes after. */
static bool order_repair(cji_tasks *g)
{
    const size_t before = g->found_count[1], after = g->found_count[0], all = before + after;
    if (!cji_grow(&g->places, &g->places_cap, 3 * all, sizeof *g->places)) return false;
    uint64_t *const place = g->places, *const pair = g->places + all;
    found_sort(g, 0, pair);
    found_sort(g, 1, pair);
    for (size_t k = 0; k < before; k++) place[k] = cji_task_at(g, g->found[1][k].task)->order;
    for (size_t k = 0; k < after; k++) place[before + k] = cji_task_at(g, g->found[0][k].task)->order;
    qsort(place, all, sizeof *place, place_compare);
    for (size_t k = 0; k < before; k++) cji_task_at(g, g->found[1][k].task)->order = place[k];
    for (size_t k = 0; k < after; k++) cji_task_at(g, g->found[0][k].task)->order = place[before + k];
    return true;
}

/* "task 7 'reduce' waits for 3 'scale' waits for 7: a cycle"; the last task found is the one that `succ` would wait
 * for. */
static void cycle_say(cji_tasks *g, uint32_t succ, char *why, size_t size)
{
    enum { NAMED = 6 };
    cji_line l = { why, size, 0 };
    cji_say(&l, "task ");
    cji_task_say(g, &l, succ);
    size_t left = 0, k = g->found_count[0] - 1;
    for (size_t j = k; g->found[0][j].parent != CJI_NO_TASK; j = g->found[0][j].parent) left++;
    for (size_t said = 0; g->found[0][k].parent != CJI_NO_TASK; k = g->found[0][k].parent, said++) {
        if (said < NAMED) {
            cji_say(&l, " waits for ");
            cji_task_say(g, &l, g->found[0][k].task);
        } else if (said == NAMED) cji_say(&l, " waits for %zu more, the last of which", left - NAMED);
    }
    cji_say(&l, " waits for %llu: a cycle", (unsigned long long)cji_task_at(g, succ)->number);
    memcpy(g->cycle[g->cycles++ % CJI_TASK_CYCLES], why, size < sizeof *g->cycle ? size : sizeof *g->cycle);
}

/* Makes room in the order for an edge against it. */
static cj_status order_edge(cji_tasks *g, uint32_t succ, uint32_t pred, char *why, size_t size)
{
    const cji_task *s = cji_task_at(g, succ), *p = cji_task_at(g, pred);
    if (!cji_task_unbegun(p)) return CJ_OK;
    g->search++;
    cj_status st = search_forward(g, succ, pred, p->order);
    if (st == CJ_ESTATE) cycle_say(g, succ, why, size);
    if (st != CJ_OK) return st;
    g->search++;
    return search_backward(g, pred, s->order) && order_repair(g) ? CJ_OK : CJ_ENOMEM;
}

/* -- Edges --------------------------------------------------------------------------------------------------------- */

static void self_say(cji_tasks *g, uint32_t i, char *why, size_t size)
{
    cji_line l = { why, size, 0 };
    cji_say(&l, "task ");
    cji_task_say(g, &l, i);
    cji_say(&l, " waits for itself: a cycle");
    memcpy(g->cycle[g->cycles++ % CJI_TASK_CYCLES], why, size < sizeof *g->cycle ? size : sizeof *g->cycle);
}

/* A failure of `pred` is one of `succ` too. */
static void edge_poison(cji_tasks *g, uint32_t succ, uint32_t pred, uint32_t flags)
{
    const cji_task *p = cji_task_at(g, pred);
    if ((flags & CJI_EDGE_ORDER) || p->result <= CJ_TASK_DONE) return;
    cji_task_poison(g, succ, p->result == CJ_TASK_POISONED ? p->cause : cji_task_handle(g, pred));
}

cj_status cji_task_depend(cji_tasks *g, uint32_t succ, uint32_t pred, uint32_t flags, char *why, size_t size)
{
    cji_task *s = cji_task_at(g, succ), *p = cji_task_at(g, pred);
    if (succ == pred) {
        self_say(g, succ, why, size);
        return CJ_ESTATE;
    }
    if (cji_task_ended(p)) {
        if (g->keep && !edge_draw(g, s, p, flags)) return CJ_ENOMEM;
        edge_poison(g, succ, pred, flags);
        return CJ_OK;
    }
    if (p->out != CJI_NO_TASK && cji_task_edge_at(g, p->out_last)->succ == succ) {
        cji_task_edge_at(g, p->out_last)->flags &= flags; /* it poisons if one of them does */
        edge_poison(g, succ, pred, flags);
        return CJ_OK;
    }
    if (p->order >= s->order) {
        const cj_status st = order_edge(g, succ, pred, why, size);
        if (st != CJ_OK) return st;
    }
    if (!edge_add(g, succ, pred, flags)) return CJ_ENOMEM;
    s->unended++;
    s->unqueued += p->state != CJ_TASK_ENQUEUED;
    if (s->state == CJ_TASK_READY && (s->needs_end || s->unqueued)) cji_task_unready(g, succ);
    if (p->class > s->class) cji_task_raise(g, pred, s->class);
    if (p->result > CJ_TASK_DONE) edge_poison(g, succ, pred, flags);
    return CJ_OK;
}
