/* Tasks and edges of a coordinator in blocks that never move: free lists, handles with generations, what is kept of
 * ended tasks. */
#include "stream/coordinate/coord_tasks.h"

/* What a task owns, but its slot. */
void cji_task_slot_clear(cji_task *t)
{
    if (!t->rare) return;
    if (t->release) t->release(t->user);
    cji_strfree(t->what);
    cji_free(t->error, sizeof *t->error);
    cji_free(t->members, sizeof *t->members);
    memset((char *)t + 3 * CJI_TASK_LINE, 0, CJI_TASK_LINE);
    t->rare = false;
}

/* -- Slots --------------------------------------------------------------------------------------------------------- */

/* A block is aligned, which cji_zalloc() does not promise; where its memory begins is noted behind it. */
enum { SLOTS_SIZE = CJI_TASK_BLOCK * sizeof(cji_task), SLOTS_BYTES = SLOTS_SIZE + CJI_TASK_LINE + sizeof(void *) };
_Static_assert(sizeof(cji_task) == 4 * CJI_TASK_LINE && offsetof(cji_task, order) == CJI_TASK_LINE &&
                   offsetof(cji_task, number) == 2 * CJI_TASK_LINE && offsetof(cji_task, deadline) == 3 * CJI_TASK_LINE,
               "each slot is four lines");

static cji_task *slots_align(void *memory)
{
    return (void *)((char *)memory + (-(uintptr_t)memory & (CJI_TASK_LINE - 1)));
}
static void **slots_memory(cji_task *block) { return (void **)(void *)(block + CJI_TASK_BLOCK); }

void cji_task_slots_close(cji_tasks *g)
{
    for (size_t i = 0; i < g->blocks * CJI_TASK_BLOCK; i++) {
        cji_task *t = cji_task_at(g, (uint32_t)i);
        if (t->state) cji_task_slot_clear(t);
    }
    for (size_t i = 0; i < g->blocks; i++) cji_free(slots_memory(g->block[i])[0], SLOTS_BYTES);
    cji_free(g->block, g->block_cap * sizeof *g->block);
}

static bool slots_grow(cji_tasks *g)
{
    if (g->blocks >= CJI_EDGE_MORE / CJI_TASK_EDGES / CJI_TASK_BLOCK) return false;
    if (!cji_grow(&g->block, &g->block_cap, g->blocks + 1, sizeof *g->block)) return false;
    void *memory = cji_zalloc(SLOTS_BYTES);
    if (!memory) return false;
    cji_task *b = slots_align(memory);
    slots_memory(b)[0] = memory;
    const uint32_t first = (uint32_t)(g->blocks * CJI_TASK_BLOCK);
    g->block[g->blocks++] = b;
    for (uint32_t k = CJI_TASK_BLOCK; k-- > 0;) b[k].next = g->free_task, g->free_task = first + k;
    return true;
}

/* All but the generation and the last line, which is zero.  A line at a time: for a whole slot compilers choose a
 * string instruction, which takes longer. */
static inline void slots_zero(cji_task *t)
{
    const uint32_t generation = t->generation;
    char *const line = (char *)t;
    memset(line, 0, CJI_TASK_LINE);
    memset(line + CJI_TASK_LINE, 0, CJI_TASK_LINE);
    memset(line + 2 * CJI_TASK_LINE, 0, CJI_TASK_LINE);
    t->generation = generation;
}

/* The oldest of those that are done is forgotten. */
static void slots_forget_oldest(cji_tasks *g)
{
    const uint32_t i = g->old;
    const cji_task *t = cji_task_at(g, i);
    cji_task_prefetch(g, t->later, 3); /* not touched for long */
    g->old = t->next;
    g->old_count--;
    for (int k = 0; g->old_count < CJI_TASK_AHEAD && k < CJI_TASK_AHEAD; k++)
        if (g->latest[k] == i) g->latest[k] = CJI_NO_TASK;
    cji_task_slot_free(g, i);
}

uint32_t cji_task_new(cji_tasks *g, bool hidden)
{
    if (!g->keep && g->old_count > g->history) slots_forget_oldest(g);
    if (g->free_task == CJI_NO_TASK && !slots_grow(g)) return CJI_NO_TASK;
    const uint32_t i = g->free_task;
    cji_task *t = cji_task_at(g, i);
    g->free_task = t->next;
    slots_zero(t);
    t->order = ++g->next_order;
    t->number = hidden ? g->number : ++g->number;
    t->out = t->out_last = t->in = t->prev = t->next = t->group = CJI_NO_TASK;
    t->member_prev = t->member_next = CJI_NO_TASK;
    t->hidden = hidden;
    t->unqueued = t->unended = 1; /* it is being made */
    t->class = t->own = 2;
    t->state = CJ_TASK_WAITING;
    g->in_state[CJ_TASK_WAITING] += !hidden;
    g->unended++;
    g->added += !hidden;
    return i;
}

/* An edge of a slot that is freed leaves the list of a task that has not ended. */
static void slots_unlink(cji_tasks *g, uint32_t e)
{
    cji_task *p = cji_task_at(g, cji_task_edge_at(g, e)->pred);
    uint32_t before = CJI_NO_TASK;
    for (uint32_t k = p->out; k != e; k = cji_task_edge_at(g, k)->next_out) before = k;
    const uint32_t next = cji_task_edge_at(g, e)->next_out;
    if (before == CJI_NO_TASK) p->out = next;
    else cji_task_edge_at(g, before)->next_out = next;
    if (p->out_last == e) p->out_last = before;
}

void cji_task_slot_free(cji_tasks *g, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    for (uint32_t k = 0; k < t->edges; k++)
        if (t->edge[k].pred != CJI_NO_TASK) slots_unlink(g, i * CJI_TASK_EDGES + k);
    cji_task_slot_clear(t);
    g->in_state[t->state] -= !t->hidden;
    t->state = 0;
    t->generation++;
    t->next = g->free_task;
    g->free_task = i;
}

/* -- What is kept -------------------------------------------------------------------------------------------------- */

/* New tasks take the places of the oldest that are done; where no new ones are added some more are kept. */
enum { TASKS_LATE = 4096 };

void cji_task_archive(cji_tasks *g, uint32_t i)
{
    cji_task *t = cji_task_at(g, i);
    if (t->hidden && t->state == CJ_TASK_DONE && !g->keep) {
        cji_task_slot_free(g, i);
        return;
    }
    t->next = CJI_NO_TASK;
    if (t->state != CJ_TASK_DONE) {
        t->next = g->bad;
        g->bad = i;
        return;
    }
    t->later = CJI_NO_TASK;
    uint32_t *const latest = &g->latest[g->latest_at++ % CJI_TASK_AHEAD];
    if (*latest != CJI_NO_TASK) cji_task_at(g, *latest)->later = i;
    *latest = i;
    if (g->old == CJI_NO_TASK) g->old = i;
    else cji_task_at(g, g->old_last)->next = i;
    g->old_last = i;
    g->old_count++;
    if (!g->keep && g->old_count > g->history + TASKS_LATE) slots_forget_oldest(g);
}

void cji_task_none_archived(cji_tasks *g)
{
    g->old = g->old_last = CJI_NO_TASK;
    g->old_count = 0;
    for (int k = 0; k < CJI_TASK_AHEAD; k++) g->latest[k] = CJI_NO_TASK;
}

void cji_task_forget_all(cji_tasks *g)
{
    uint32_t lists[] = { g->old, g->bad };
    for (int l = 0; l < 2; l++)
        for (uint32_t i = lists[l], next; i != CJI_NO_TASK; i = next) {
            next = cji_task_at(g, i)->next;
            cji_task_slot_free(g, i);
        }
    cji_task_none_archived(g);
    g->bad = CJI_NO_TASK;
    g->lines = 0;
}

/* -- Edges --------------------------------------------------------------------------------------------------------- */

uint32_t cji_task_edge_more(cji_tasks *g)
{
    if (g->free_edge == CJI_NO_TASK) {
        if (g->edge_blocks >= (CJI_NO_TASK - CJI_EDGE_MORE) / CJI_TASK_BLOCK - 1) return CJI_NO_TASK;
        if (!cji_grow(&g->edges, &g->edge_cap, g->edge_blocks + 1, sizeof *g->edges)) return CJI_NO_TASK;
        cji_task_edge *b = cji_alloc(CJI_TASK_BLOCK * sizeof *b);
        if (!b) return CJI_NO_TASK;
        const uint32_t first = CJI_EDGE_MORE + (uint32_t)(g->edge_blocks * CJI_TASK_BLOCK);
        g->edges[g->edge_blocks++] = b;
        for (uint32_t k = CJI_TASK_BLOCK; k-- > 0;) b[k].next_out = g->free_edge, g->free_edge = first + k;
    }
    const uint32_t e = g->free_edge;
    g->free_edge = cji_task_edge_at(g, e)->next_out;
    return e;
}

uint64_t cji_task_bytes(const cji_tasks *g)
{
    return g->blocks * SLOTS_BYTES + g->block_cap * sizeof *g->block +
           g->edge_blocks * (CJI_TASK_BLOCK * sizeof(cji_task_edge)) + g->edge_cap * sizeof *g->edges +
           g->line_cap * sizeof *g->line;
}

void cji_task_say(const cji_tasks *g, cji_line *l, uint32_t i)
{
    const cji_task *t = cji_task_at(g, i);
    char what[CJI_SHORT_ROOM];
    if (t->hidden) cji_say(l, "the beginning of a group");
    else if (!t->what) cji_say(l, "%llu", (unsigned long long)t->number);
    else cji_say(l, "%llu '%s'", (unsigned long long)t->number,
                 cji_shorten(what, sizeof what, t->what, strlen(t->what)));
}
