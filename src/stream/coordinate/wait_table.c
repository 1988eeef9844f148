/* Waits of a waiter: their memory and handles, their groups, and the one place where a wait completes.
 *
 * Waits are in chunks that stay where they are until the waiter is freed.  A handle has the index and the generation
 * of its wait; a wait has a new generation each time it is taken. */
#include "stream/coordinate/stream_coordinate.h"

/* -- Memory and handles -------------------------------------------------------------------------------------------- */

static bool table_grow(cj_waiter *w)
{
    if (w->chunks >= UINT32_MAX / CJI_WAIT_CHUNK ||
        !cji_grow(&w->chunk, &w->chunk_cap, w->chunks + 1, sizeof *w->chunk))
        return false;
    cji_waiting *chunk = cji_zalloc(CJI_WAIT_CHUNK * sizeof *chunk);
    if (!chunk) return false;
    for (uint32_t i = CJI_WAIT_CHUNK; i-- > 0;) {
        chunk[i].index = (uint32_t)w->chunks * CJI_WAIT_CHUNK + i;
        chunk[i].next = w->free;
        w->free = &chunk[i];
    }
    w->chunk[w->chunks++] = chunk;
    return true;
}

cji_waiting *cji_wait_take(cj_waiter *w)
{
    if (!w->free) cji_wait_reclaim(w);
    if (!w->free && !table_grow(w)) return NULL;
    cji_waiting *a = w->free;
    w->free = a->next;
    *a = (cji_waiting){ .index = a->index, .generation = a->generation + 1 };
    return a;
}

void cji_wait_return(cj_waiter *w, cji_waiting *a)
{
    a->state = CJI_WAIT_FREE;
    if (a->asked) return;
    a->next = w->over;
    w->over = a;
    if (++w->over_count >= CJI_WAIT_CHUNK / 4 || !w->pending) cji_wait_wake(w, 0);
}

void cji_wait_reclaim(cj_waiter *w)
{
    cji_waiting *over = w->over, *last = NULL;
    if (!over) return;
    w->over = NULL;
    w->over_count = 0;
    cji_unlock(&w->lock, CJI_LOCK_WAITER);
    for (cji_waiting *a = over; a; a = a->next) {
        if (a->point) cji_event_point_drop(a->point);
        a->point = NULL;
        last = a;
    }
    cji_lock(&w->lock, CJI_LOCK_WAITER);
    last->next = w->free;
    w->free = over;
}

static cji_waiting *table_at(const cj_waiter *w, size_t index)
{
    return &w->chunk[index / CJI_WAIT_CHUNK][index % CJI_WAIT_CHUNK];
}

cji_waiting *cji_wait_find(cj_waiter *w, cj_wait wait, bool *known)
{
    const uint32_t place = (uint32_t)wait, generation = (uint32_t)(wait >> 32);
    *known = false;
    if (!place || place > w->chunks * CJI_WAIT_CHUNK) return NULL;
    cji_waiting *a = table_at(w, place - 1);
    *known = generation && generation <= a->generation;
    return *known && generation == a->generation && a->state != CJI_WAIT_FREE ? a : NULL;
}

void cji_wait_table_free(cj_waiter *w)
{
    for (cji_wait_group *g = w->spare, *next; g; g = next) {
        next = g->next;
        cji_free(g, sizeof *g);
    }
    for (size_t i = 0; i < w->chunks; i++) cji_free(w->chunk[i], CJI_WAIT_CHUNK * sizeof **w->chunk);
    cji_free(w->chunk, w->chunk_cap * sizeof *w->chunk);
}

/* -- Groups -------------------------------------------------------------------------------------------------------- */

static cji_wait_group **group_row(cj_waiter *w, uint64_t of)
{
    return &w->row[(of * UINT64_C(0x9e3779b97f4a7c15) >> 32) % CJI_WAIT_ROWS];
}

/* What has a group: the stream, by its id; where it is not known, the point. */
static uint64_t group_id(const cji_event_point *p) { return p->on ? p->on : ~(uint64_t)(uintptr_t)p; }

/* Its group, or a new one. */
static cji_wait_group *group_of(cj_waiter *w, uint64_t of)
{
    cji_wait_group **row = group_row(w, of), *g = *row;
    while (g && g->of != of) g = g->same;
    if (g) return g;
    g = w->spare;
    if (g) w->spare = g->next;
    else g = cji_alloc(sizeof *g);
    if (!g) return NULL;
    *g = (cji_wait_group){ .next = w->groups, .same = *row, .of = of };
    if (g->next) g->next->prev = g;
    w->groups = g;
    w->group_count++;
    *row = g;
    return g;
}

static void group_end(cj_waiter *w, cji_wait_group *g)
{
    w->group_count--;
    if (w->cursor == g) w->cursor = g->next;
    if (g->prev) g->prev->next = g->next;
    else w->groups = g->next;
    if (g->next) g->next->prev = g->prev;
    cji_wait_group **at = group_row(w, g->of);
    while (*at != g) at = &(*at)->same;
    *at = g->same;
    g->next = w->spare;
    w->spare = g;
}

/* -- The life of a wait -------------------------------------------------------------------------------------------- */

bool cji_wait_begin(cj_waiter *w, cji_waiting *a, uint64_t deadline)
{
    cji_wait_group *g = group_of(w, group_id(a->point));
    if (!g) return false;
    a->by_order.key = a->point->behind;
    a->group = g;
    a->state = CJI_WAIT_PENDING;
    g->first = cji_heap_insert(g->first, &a->by_order);
    if (g->first == &a->by_order) {
        g->due = 0;
        cji_wait_wake(w, 0);
    }
    if (deadline) {
        a->by_time.key = deadline;
        a->timed = true;
        w->deadlines = cji_heap_insert(w->deadlines, &a->by_time);
        cji_wait_wake(w, deadline);
    }
    w->pending++;
    return true;
}

/* Where its first leaves, the next one may be complete, too. */
static void wait_leave_group(cj_waiter *w, cji_waiting *a)
{
    cji_wait_group *g = a->group;
    if (g->first == &a->by_order) {
        g->due = 0;
        cji_wait_wake(w, 0);
    }
    g->first = cji_heap_remove(g->first, &a->by_order);
    if (!g->first) group_end(w, g);
    a->group = NULL;
}

void cji_wait_complete(cj_waiter *w, cji_waiting *a, cj_wait_result result, int driver)
{
    wait_leave_group(w, a);
    if (a->timed) w->deadlines = cji_heap_remove(w->deadlines, &a->by_time);
    a->timed = false;
    w->pending--;
    a->state = CJI_WAIT_QUEUED;
    a->result = (uint8_t)result;
    a->driver = driver;
    if (!a->fn) a->ended = cji_now();
    cji_wait_queue_up(w, a);
}

void cji_wait_complete_all(cj_waiter *w, cj_wait_result result, int driver)
{
    while (w->groups) cji_wait_complete(w, cji_wait_by_order(w->groups->first), result, driver);
}
