/* Which task wrote memory last, and which have read it since: disjoint segments in a treap, in the order of their
 * addresses.
 *
 * A new task comes after the last writer of what it reads, after the readers of what it writes, and after the last
 * writer where there are none.  All that may fail happens before anything changes: edges are made from the segments
 * as they are, and room is made for the segments and readers that may be needed.
 *
 * Tasks that are done need no edge; segments that have only those are swept away when there are twice as many
 * segments as after the last sweep. */
#include "stream/coordinate/coord_tasks.h"

enum { NO_SEGMENT = 0, RANGES_SWEEP = 64 };

typedef struct range_segment {
    uint64_t start, end;
    cj_task writer;       /* 0: none that is known */
    uint32_t readers;     /* a list; 0 ends it */
    uint32_t left, right; /* segments; left also links the free ones */
    uint32_t weight;      /* of the treap: no child has a greater one */
    uint32_t count, prune_at; /* readers in the list; how many of them cause those that ended to be dropped */
} range_segment;

typedef struct range_reader { cj_task task; uint32_t next; } range_reader;

/* Elements from 1; 0 is none. */
struct cji_task_ranges {
    range_segment *seg;
    size_t segs, seg_cap;
    uint32_t free_seg, root;
    size_t live, live_after_sweep, free_segs;
    range_reader *reader;
    size_t readers, reader_cap;
    uint32_t free_reader;
    size_t free_readers;
    uint32_t random;
};

cji_task_ranges *cji_task_ranges_new(void)
{
    cji_task_ranges *m = cji_zalloc(sizeof *m);
    if (m) m->segs = m->readers = 1, m->random = 2463534242u;
    return m;
}

void cji_task_ranges_free(cji_task_ranges *m)
{
    if (!m) return;
    cji_free(m->seg, m->seg_cap * sizeof *m->seg);
    cji_free(m->reader, m->reader_cap * sizeof *m->reader);
    cji_free(m, sizeof *m);
}

uint64_t cji_task_ranges_bytes(const cji_task_ranges *m)
{
    return m->seg_cap * sizeof *m->seg + m->reader_cap * sizeof *m->reader;
}

/* -- Segments and readers ------------------------------------------------------------------------------------------ */

/* Room for so many more. */
static bool ranges_reserve(cji_task_ranges *m, size_t segs, size_t readers)
{
    const size_t s = segs > m->free_segs ? segs - m->free_segs : 0;
    const size_t r = readers > m->free_readers ? readers - m->free_readers : 0;
    return m->segs + s < CJI_NO_TASK && m->readers + r < CJI_NO_TASK &&
           cji_grow(&m->seg, &m->seg_cap, m->segs + s, sizeof *m->seg) &&
           cji_grow(&m->reader, &m->reader_cap, m->readers + r, sizeof *m->reader);
}

static uint32_t segment_new(cji_task_ranges *m, uint64_t start, uint64_t end, cj_task writer)
{
    uint32_t i = m->free_seg;
    if (i) m->free_seg = m->seg[i].left, m->free_segs--;
    else i = (uint32_t)m->segs++;
    m->random ^= m->random << 13;
    m->random ^= m->random >> 17;
    m->random ^= m->random << 5;
    m->seg[i] = (range_segment){ .start = start, .end = end, .writer = writer, .weight = m->random, .prune_at = 16 };
    m->live++;
    return i;
}

static void reader_add(cji_task_ranges *m, uint32_t seg, cj_task task)
{
    uint32_t i = m->free_reader;
    if (i) m->free_reader = m->reader[i].next, m->free_readers--;
    else i = (uint32_t)m->readers++;
    m->reader[i] = (range_reader){ task, m->seg[seg].readers };
    m->seg[seg].readers = i;
    m->seg[seg].count++;
}

static void reader_free(cji_task_ranges *m, uint32_t i)
{
    m->reader[i].next = m->free_reader;
    m->free_reader = i;
    m->free_readers++;
}

static void segment_free(cji_task_ranges *m, uint32_t i)
{
    for (uint32_t r = m->seg[i].readers, next; r; r = next) {
        next = m->reader[r].next;
        reader_free(m, r);
    }
    m->seg[i].left = m->free_seg;
    m->free_seg = i;
    m->free_segs++;
    m->live--;
}

/* Whether a task has not ended. */
static bool task_runs(const cji_tasks *g, cj_task task)
{
    uint32_t i;
    return task && cji_task_find(g, task, &i) == CJI_TASK_IS_HERE && !cji_task_ended(cji_task_at(g, i));
}

/* Whether what it wrote is not there, or not yet. */
static bool writer_counts(const cji_tasks *g, cj_task task)
{
    uint32_t i;
    return task && cji_task_find(g, task, &i) == CJI_TASK_IS_HERE && cji_task_at(g, i)->state != CJ_TASK_DONE;
}

/* Drops the readers that have ended; returns how many are left. */
static size_t readers_prune(cji_tasks *g, cji_task_ranges *m, uint32_t seg)
{
    size_t left = 0;
    uint32_t *link = &m->seg[seg].readers;
    while (*link) {
        const uint32_t r = *link;
        if (task_runs(g, m->reader[r].task)) {
            link = &m->reader[r].next;
            left++;
        } else {
            *link = m->reader[r].next;
            reader_free(m, r);
        }
    }
    m->seg[seg].count = (uint32_t)left;
    m->seg[seg].prune_at = 2 * (uint32_t)left + 16;
    return left;
}

/* -- The treap ----------------------------------------------------------------------------------------------------- */

/* Those that start below `at`, and the others. */
static void treap_split(cji_task_ranges *m, uint32_t t, uint64_t at, uint32_t *low, uint32_t *high)
{
    while (t) { /* each step hangs t below *low or *high, whose next place is then in t */
        if (m->seg[t].start < at) *low = t, low = &m->seg[t].right, t = *low;
        else *high = t, high = &m->seg[t].left, t = *high;
    }
    *low = *high = NO_SEGMENT;
}

/* All of `a` start below all of `b`. */
static uint32_t treap_join(cji_task_ranges *m, uint32_t a, uint32_t b)
{
    uint32_t root = NO_SEGMENT, *link = &root;
    while (a && b) {
        if (m->seg[a].weight > m->seg[b].weight) *link = a, link = &m->seg[a].right, a = *link;
        else *link = b, link = &m->seg[b].left, b = *link;
    }
    *link = a ? a : b;
    return root;
}

static void treap_insert(cji_task_ranges *m, uint32_t i)
{
    uint32_t low, high;
    treap_split(m, m->root, m->seg[i].start, &low, &high);
    m->root = treap_join(m, treap_join(m, low, i), high);
}

/* The first segment that ends behind `at`: segments do not overlap, so their ends have the order of their starts. */
static uint32_t treap_behind(const cji_task_ranges *m, uint64_t at)
{
    uint32_t best = NO_SEGMENT;
    for (uint32_t t = m->root; t;) {
        if (m->seg[t].end > at) best = t, t = m->seg[t].left;
        else t = m->seg[t].right;
    }
    return best;
}

/* The segment that has `at` inside is cut there; room is reserved. */
static void segment_cut(cji_task_ranges *m, uint64_t at)
{
    const uint32_t i = treap_behind(m, at);
    if (!i || m->seg[i].start >= at) return;
    const uint32_t n = segment_new(m, at, m->seg[i].end, m->seg[i].writer);
    m->seg[i].end = at;
    for (uint32_t r = m->seg[i].readers; r; r = m->reader[r].next) reader_add(m, n, m->reader[r].task);
    treap_insert(m, n);
}

/* Segments without anything that counts. */
static void ranges_sweep(cji_tasks *g, cji_task_ranges *m)
{
    if (m->live < 2 * m->live_after_sweep + RANGES_SWEEP) return;
    uint32_t kept = NO_SEGMENT;
    for (uint32_t i; (i = treap_behind(m, 0)) != NO_SEGMENT;) {
        uint32_t first, rest;
        treap_split(m, m->root, m->seg[i].start + 1, &first, &rest);
        m->root = rest;
        if (readers_prune(g, m, first) || writer_counts(g, m->seg[first].writer)) kept = treap_join(m, kept, first);
        else segment_free(m, first);
    }
    m->root = kept;
    m->live_after_sweep = m->live;
}

/* -- Edges of a new task ------------------------------------------------------------------------------------------- */

static cj_status touch_edge(cji_tasks *g, uint32_t i, cj_task on, uint32_t flags)
{
    char why[8];
    uint32_t p;
    if (!on || cji_task_find(g, on, &p) != CJI_TASK_IS_HERE || p == i) return CJ_OK;
    const uint64_t edges = g->edge_count;
    const cj_status st = cji_task_depend(g, i, p, flags, why, sizeof why);
    g->range_edges += g->edge_count - edges;
    return st;
}

/* What a write of the segment comes after. */
static cj_status touch_write(cji_tasks *g, cji_task_ranges *m, uint32_t i, uint32_t seg)
{
    cj_status st = CJ_OK;
    if (!readers_prune(g, m, seg)) return touch_edge(g, i, m->seg[seg].writer, CJI_EDGE_ORDER);
    for (uint32_t r = m->seg[seg].readers; r && st == CJ_OK; r = m->reader[r].next)
        st = touch_edge(g, i, m->reader[r].task, CJI_EDGE_ORDER);
    return st;
}

/* How many segments and readers the ranges may need. */
typedef struct touch_room { size_t segs, readers; } touch_room;

static void touch_cut_room(const cji_task_ranges *m, uint64_t at, touch_room *room)
{
    const uint32_t i = treap_behind(m, at);
    if (!i || m->seg[i].start >= at) return;
    for (uint32_t r = m->seg[i].readers; r; r = m->reader[r].next) room->readers++;
}

static cj_status touch_edges(cji_tasks *g, uint32_t i, const cj_range *range, bool writes, touch_room *room)
{
    cji_task_ranges *m = g->ranges;
    const uint64_t start = range->d.addr, end = start + range->bytes;
    cj_status st = CJ_OK;
    for (uint32_t s = treap_behind(m, start); s && m->seg[s].start < end && st == CJ_OK;
         s = treap_behind(m, m->seg[s].end)) {
        st = writes ? touch_write(g, m, i, s) : touch_edge(g, i, m->seg[s].writer, 0);
        room->segs += 2; /* the gap before it, and what a cut by another range of the task may leave */
        room->readers += 2;
    }
    room->segs += 3;
    room->readers += 2;
    touch_cut_room(m, start, room);
    touch_cut_room(m, end, room);
    return st;
}

static void touch_as_reader(cji_tasks *g, cj_task task, const cj_range *range)
{
    cji_task_ranges *m = g->ranges;
    const uint64_t end = range->d.addr + range->bytes;
    segment_cut(m, range->d.addr);
    segment_cut(m, end);
    for (uint64_t at = range->d.addr; at < end;) {
        uint32_t s = treap_behind(m, at);
        if (!s || m->seg[s].start > at) {
            s = segment_new(m, at, s && m->seg[s].start < end ? m->seg[s].start : end, 0);
            treap_insert(m, s);
        }
        if (m->seg[s].count >= m->seg[s].prune_at) readers_prune(g, m, s);
        reader_add(m, s, task);
        at = m->seg[s].end;
    }
}

static void touch_as_writer(cji_task_ranges *m, cj_task task, const cj_range *range)
{
    const uint64_t start = range->d.addr, end = start + range->bytes;
    uint32_t low, within, high;
    segment_cut(m, start);
    segment_cut(m, end);
    treap_split(m, m->root, start, &low, &high);
    treap_split(m, high, end, &within, &high);
    m->root = within;
    for (uint32_t i; (i = m->root) != NO_SEGMENT;) {
        m->root = treap_join(m, m->seg[i].left, m->seg[i].right);
        segment_free(m, i);
    }
    m->root = treap_join(m, treap_join(m, low, segment_new(m, start, end, task)), high);
}

cj_status cji_task_touch(cji_tasks *g, uint32_t i, const cj_ranges *reads, const cj_ranges *writes)
{
    cji_task_ranges *m = g->ranges;
    const cj_task task = cji_task_handle(g, i);
    touch_room room = { 0, 0 };
    cj_status st = CJ_OK;
    if (!reads->count && !writes->count) return CJ_OK;
    ranges_sweep(g, m);
    for (size_t k = 0; k < reads->count && st == CJ_OK; k++) st = touch_edges(g, i, &reads->list[k], false, &room);
    for (size_t k = 0; k < writes->count && st == CJ_OK; k++) st = touch_edges(g, i, &writes->list[k], true, &room);
    if (st != CJ_OK) return st;
    /* ranges of one task may cut each other's segments: each cut copies readers, its own among them */
    const size_t ranges = reads->count + writes->count;
    room.readers += 2 * ranges * (ranges + room.readers);
    room.segs += 2 * ranges;
    if (!ranges_reserve(m, room.segs, room.readers)) return CJ_ENOMEM;
    for (size_t k = 0; k < reads->count; k++) touch_as_reader(g, task, &reads->list[k]);
    for (size_t k = 0; k < writes->count; k++) touch_as_writer(m, task, &writes->list[k]);
    return CJ_OK;
}
