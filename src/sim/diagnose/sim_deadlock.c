/* What never ends.
 *
 * Operations come after operations that were submitted before them, so their edges alone never close a cycle. A
 * memory wait does: it waits for a write, and where every write that is known to end it is queued behind waits that
 * do not end either, none of them ever will. Such a deadlock is reported with all its members, in order. Nothing is
 * called a deadlock that something outside of it may still end:
 *
 *   - a wait on pinned, registered or managed memory, or on memory of another process: the host or that process can
 *     write it;
 *   - a wait without a known write: somebody will submit one. A write is known when its value ends the wait: one
 *     that resets the location is none, and so is a copy, whose bytes nobody knows, or a kernel;
 *   - all waits, while a kernel, a copy or a host function can still run, or another process is waited for: they may
 *     write anything, or let a thread go that does. */
#include "sim/diagnose/sim_diagnose.h"

#include <stdlib.h>

enum {
    SIM_STUCK = 1 /* its own wait never ends */,
    SIM_BEHIND = 2 /* it comes after one that is stuck */,
    SIM_SEEN = 4
};
typedef enum sim_ends { SIM_ENDS_NOT, SIM_ENDS_PERHAPS, SIM_ENDS_IT } sim_ends;

/* What is found out about one unfinished operation. */
typedef struct sim_found {
    sim_op *op;
    unsigned mark;
    size_t stuck, write; /* stuck: its wait's index among its operations; write: the index of the writer's write */
    sim_mem_wait wait;              /* of a stuck one */
    struct sim_found *from;         /* behind: the one that it comes after, nearer to the stuck one */
    struct sim_found *writer;       /* of a stuck one: known to end its wait */
} sim_found;

/* All unfinished operations as they were submitted, so that edges lead to later ones. */
static struct { sim_found *f; size_t n, cap; } sim_all;

#define SIM_EACH_FOUND(x) for (sim_found *x = sim_all.f, *x##_end = sim_all.f + sim_all.n; x < x##_end; x++)

static int sim_by_seq(const void *a, const void *b)
{
    uint64_t x = ((const sim_found *)a)->op->seq, y = ((const sim_found *)b)->op->seq;
    return x < y ? -1 : x > y;
}

/* False without memory. */
static bool sim_find_all(void)
{
    sim_all.n = 0;
    SIM_EACH_OP(op) {
        if (!cji_grow(&sim_all.f, &sim_all.cap, sim_all.n + 1, sizeof *sim_all.f)) return false;
        sim_all.f[sim_all.n++] = (sim_found){ .op = op };
    }
    if (sim_all.n) qsort(sim_all.f, sim_all.n, sizeof *sim_all.f, sim_by_seq);
    return true;
}

static sim_found *sim_found_of(sim_op *op)
{
    const sim_found key = { .op = op };
    return bsearch(&key, sim_all.f, sim_all.n, sizeof key, sim_by_seq);
}

void cji_sim_deadlocks_end(void)
{
    cji_free(sim_all.f, sim_all.cap * sizeof *sim_all.f);
    sim_all.f = NULL;
    sim_all.n = sim_all.cap = 0;
}

/* ---- Waits and writes -------------------------------------------------------------------------------------------- */

/* Memory operations of an operation, and the one that it is at. */
static size_t sim_items(const sim_op *op)
{
    return op->work && op->work->kind->items ? op->work->kind->items(op->work) : 0;
}
static size_t sim_item_now(const sim_op *op) { return __atomic_load_n(&op->item, __ATOMIC_ACQUIRE); }

bool cji_sim_op_waits(const sim_op *op, sim_mem_wait *out, size_t *item)
{
    for (size_t i = sim_item_now(op), n = sim_items(op); i < n; i++) {
        const sim_work_kind *kind = op->work->kind;
        *item = i;
        if (kind->wait_at && kind->wait_at(op->work, i, out) && !cji_sim_mem_op_holds(op->ctx, out)) return true;
    }
    return false;
}

/* A single value. Half of a location ends a wait for it with what the other half is now. */
static sim_ends sim_value_ends(const sim_ctx *c, const sim_mem_write *w, const sim_mem_wait *wait)
{
    uint64_t at = wait->at, size = wait->wide ? 8 : 4;
    if (w->width >= size) {
        uint64_t seen = size == 8 ? w->value : (uint32_t)(w->value >> 8 * (at - w->at));
        return cji_sim_mem_op_fits(wait, seen) ? SIM_ENDS_IT : SIM_ENDS_NOT;
    }
    const unsigned char *p = cji_sim_space_at(c, at, 8);
    if (!p) return SIM_ENDS_PERHAPS;
    unsigned shift = 8 * (unsigned)(w->at - at);
    uint64_t now =
        __atomic_load_n((const uint64_t *)(const void *)p, __ATOMIC_ACQUIRE) & ~((uint64_t)UINT32_MAX << shift);
    return cji_sim_mem_op_fits(wait, now | w->value << shift) ? SIM_ENDS_IT : SIM_ENDS_PERHAPS;
}

/* Rows that repeat an element, so that each whole location in a row has the same value. */
static sim_ends sim_rows_end(const sim_mem_write *w, const sim_mem_wait *wait)
{
    uint64_t at = wait->at, size = wait->wide ? 8 : 4, value = w->value;
    uint64_t in_row = at < w->at ? w->width : w->height > 1 ? (at - w->at) % w->pitch : at - w->at;
    if (in_row + size > w->width) return SIM_ENDS_PERHAPS;
    for (unsigned bits = 8 * w->element; bits < 64; bits *= 2)
        value = (value & ((UINT64_C(1) << bits) - 1)) | value << bits;
    return cji_sim_mem_op_fits(wait, size == 8 ? value : (uint32_t)value) ? SIM_ENDS_IT : SIM_ENDS_NOT;
}

static sim_ends sim_item_ends(const sim_op *op, size_t item, const sim_mem_wait *wait)
{
    const sim_work_kind *kind = op->work->kind;
    sim_mem_write w;
    if (!kind->write_at || !kind->write_at(op->work, item, &w)) return SIM_ENDS_NOT;
    uint64_t size = wait->wide ? 8 : 4, all = w.height ? w.pitch * (w.height - 1) + w.width : 0;
    if (!w.width || w.at >= wait->at + size || wait->at >= w.at + all) return SIM_ENDS_NOT;
    return w.height == 1 && w.width == w.element && w.element >= 4 ? sim_value_ends(op->ctx, &w, wait)
                                                                   : sim_rows_end(&w, wait);
}

/* ---- The search -------------------------------------------------------------------------------------------------- */

/* Marks what comes after stuck operations, and through which. */
static void sim_mark_behind(void)
{
    SIM_EACH_FOUND(x) {
        x->mark &= SIM_STUCK;
        x->from = NULL;
    }
    SIM_EACH_FOUND(x)
        for (size_t i = 0; x->mark && i < x->op->nsucc; i++) {
            sim_found *next = sim_found_of(x->op->succ[i]);
            if (!next || next->mark & SIM_BEHIND) continue;
            next->mark |= SIM_BEHIND;
            next->from = x;
        }
}

/* A write that ends the wait; `blocked`: one that is known to, behind something stuck; else one that may, and
 * nothing stuck is before it. */
static sim_found *sim_writer(const sim_mem_wait *wait, bool blocked, size_t *item)
{
    SIM_EACH_FOUND(x)
        for (size_t i = sim_item_now(x->op), n = sim_items(x->op); i < n; i++) {
            bool never = x->mark & SIM_BEHIND || (x->mark & SIM_STUCK && i > x->stuck);
            if (never != blocked || sim_item_ends(x->op, i, wait) < (blocked ? SIM_ENDS_IT : SIM_ENDS_PERHAPS))
                continue;
            *item = i;
            return x;
        }
    return NULL;
}

static bool sim_can_be_stuck(sim_found *x)
{
    const sim_ctx *c = x->op->ctx;
    return cji_sim_op_waits(x->op, &x->wait, &x->stuck) && !cji_sim_space_is_outside(x->wait.at) && !c->fault
        && !__atomic_load_n(&c->cancel, __ATOMIC_RELAXED);
}

/* Marks the waits that never end; false: there are none, or something may still end them. */
static bool sim_find_stuck(void)
{
    size_t free_one;
    bool any = false;
    SIM_EACH_FOUND(x) {
        x->mark = sim_can_be_stuck(x) ? SIM_STUCK : 0;
        any |= x->mark != 0;
    }
    for (bool changed = any; changed;) {
        changed = any = false;
        sim_mark_behind();
        SIM_EACH_FOUND(x) {
            if (!(x->mark & SIM_BEHIND) && cji_sim_work_has(x->op->work, SIM_WORK_WRITES_ANYTHING)) return false;
            if (!(x->mark & SIM_STUCK)) continue;
            x->writer = sim_writer(&x->wait, false, &free_one) ? NULL : sim_writer(&x->wait, true, &x->write);
            if (x->writer) {
                any = true;
                continue;
            }
            x->mark &= ~(unsigned)SIM_STUCK;
            changed = true;
        }
    }
    return any;
}

/* ---- The report -------------------------------------------------------------------------------------------------- */

/* The stuck wait that the write which this one waits for is behind. */
static sim_found *sim_next_member(const sim_found *wait)
{
    sim_found *x = wait->writer;
    if (x->mark & SIM_STUCK && wait->write > x->stuck) return x;
    for (x = x->from; !(x->mark & SIM_STUCK); x = x->from) {}
    return x;
}

static unsigned long long sim_stream_of_op(const sim_op *op)
{
    return op->stream ? (unsigned long long)op->stream->id : 0;
}
static const char *sim_where(const sim_op *op) { return op->in_graph ? ", in a launch of a graph," : ""; }

static const char *sim_until(const sim_mem_wait *w)
{
    switch (w->flags & CU_STREAM_WAIT_VALUE_NOR) {
    case CU_STREAM_WAIT_VALUE_GEQ: return "is at least";
    case CU_STREAM_WAIT_VALUE_EQ: return "is";
    case CU_STREAM_WAIT_VALUE_AND: return "has a bit in common with";
    default: return "has a bit clear that is clear in";
    }
}

/* From a write back to the stuck wait that it is behind: where the way leads from one stream into another. */
static void sim_report_way(cji_text *t, const sim_found *x)
{
    for (bool end = false; !end; x = x->from) {
        const sim_op *op = x->op, *before = x->from->op;
        end = x->from->mark & SIM_STUCK;
        if (before->stream == op->stream) continue;
        cji_text_printf(t, "    stream %llu%s comes after stream %llu there: ", sim_stream_of_op(op), sim_where(op),
                        sim_stream_of_op(before));
        if (op->join == SIM_JOIN_EVENT)
            cji_text_printf(t, "it waits for event %p, recorded in stream %llu\n", op->joined,
                            sim_stream_of_op(before));
        else if (op->join == SIM_JOIN_EXEC)
            cji_text_printf(t, "launches of graph %p wait for each other\n", op->joined);
        else cji_text_puts(t, "the legacy default stream and blocking streams wait for each other\n");
    }
}

static void sim_report_member(cji_text *t, const sim_found *x, size_t number, size_t count)
{
    const sim_mem_wait *w = &x->wait;
    const sim_op *op = x->op, *writer = x->writer->op;
    const sim_found *next = sim_next_member(x);
    cji_text_printf(
        t,
        "  %zu of %zu: stream %llu%s waits until the %d-bit location at 0x%llx %s 0x%llx; "
        "it is written by a %s of stream %llu%s after %s\n",
        number, count, sim_stream_of_op(op), sim_where(op), w->wide ? 64 : 32, (unsigned long long)w->at, sim_until(w),
        (unsigned long long)w->value, writer->work->kind->wait_at ? "write" : "fill", sim_stream_of_op(writer),
        sim_where(writer),
        next == x         ? "this wait itself"
        : number == count ? "the first of these waits"
                          : "the next of these waits");
    if (next != x->writer) sim_report_way(t, x->writer);
}

static void sim_report_deadlock(cji_text *t, sim_found *first)
{
    sim_found *x = first;
    size_t count = 0, number = 0;
    do count++;
    while ((x = sim_next_member(x)) != first);
    cji_text_printf(t, "deadlock: %zu operation%s for ever:\n", count,
                    count == 1 ? " waits for itself" : "s wait for each other");
    do {
        sim_report_member(t, x, ++number, count);
        x = sim_next_member(x);
    } while (x != first);
    cji_text_puts(
        t,
        "  the fix: submit the writes before the waits, or to a stream that does not wait; "
        "only a write that is submitted from now on can end it\n");
}

/* From each stuck wait to the next, until one comes again: a deadlock. What leads into one that was reported is
 * reported with it. */
void cji_sim_deadlocks(cji_text *t)
{
    static bool no_memory;   /* reported once until there is memory again */
    bool all = sim_find_all();
    t->failed |= !all && !no_memory;
    no_memory = !all;
    if (!all || !sim_find_stuck()) return;
    SIM_EACH_FOUND(start) {
        sim_found *x = start;
        if (!(x->mark & SIM_STUCK)) continue;
        for (; !x->op->deadlock_reported; x = sim_next_member(x)) {
            if (x->mark & SIM_SEEN) {
                sim_report_deadlock(t, x);
                break;
            }
            x->mark |= SIM_SEEN;
        }
        for (x = start; !x->op->deadlock_reported; x = sim_next_member(x)) x->op->deadlock_reported = true;
    }
}
