/* What never ends.
 *
 * Operations come after operations that were submitted before them, so their edges alone never close a circle.  A memory wait does: it waits for a
 * write, and where every write that is known to end it is queued behind waits that do not end either, none of them ever will.  Such a circle is
 * reported with all its members, in order.  Nothing is called a deadlock that something outside of it may still end:
 *
 *   - a wait for a word of pinned, registered or managed memory, or of memory shared with another process: the host or that process can write it;
 *   - a wait without a known write: somebody will submit one.  A write is known when its value ends the wait: one that resets the word is none, and so
 *     is a copy, whose bytes nobody knows, or a kernel;
 *   - all waits, while a kernel, a copy or a host function can still run, or another process is waited for: they may write anything, or let a thread go that does. */
#include "sim/sim_device.h"
#include "sim/sim_memory.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

enum { SIM_DEADLOCK_STUCK = 1 /* its own wait never ends */, SIM_DEADLOCK_BEHIND = 2 /* it comes after one that is stuck */, SIM_DEADLOCK_VISITED = 4 };
typedef enum sim_ends { SIM_ENDS_NOT, SIM_ENDS_PERHAPS, SIM_ENDS_IT } sim_ends;

static sim_ctx *sim_ctx_after(const sim_ctx *c)
{
    sim_ctx *next = !c ? (sim.set.devices ? &sim.device[0]->primary : NULL) : c->primary ? c->dev->contexts : c->next;
    if (next || !c) return next;
    unsigned d = (unsigned)c->dev->ordinal + 1;
    return d < sim.set.devices ? &sim.device[d]->primary : NULL;
}

sim_op *cji_sim_op_after_all(const sim_op *op)
{
    if (op && op->next) return op->next;
    for (sim_ctx *c = sim_ctx_after(op ? op->ctx : NULL); c; c = sim_ctx_after(c))
        if (c->first) return c->first;
    return NULL;
}

#define SIM_EACH_OP(op) for (sim_op *op = cji_sim_op_after_all(NULL); op; op = cji_sim_op_after_all(op))

/* ---- Waits and writes -------------------------------------------------------------------------------------------- */

/* The values of an operation from the one that it is at: a batch has several. */
static size_t sim_mem_ops_of(const sim_op *op)
{
    const sim_work *w = op->work;
    if (!w) return 0;
    return w->verb == SIM_MEM_OPS ? w->mem_ops.n : w->verb == SIM_MEM_WAIT || w->verb == SIM_MEM_WRITE || w->verb == SIM_FILL;
}

static const sim_work *sim_mem_op_at(const sim_op *op, size_t i) { return op->work->verb == SIM_MEM_OPS ? op->work->mem_ops.item[i] : op->work; }
static size_t sim_mem_op_now(const sim_op *op) { return __atomic_load_n(&op->item, __ATOMIC_ACQUIRE); }

const sim_work *cji_sim_op_waits_for(const sim_op *op, size_t *item)
{
    for (size_t i = sim_mem_op_now(op), n = sim_mem_ops_of(op); i < n; i++) {
        const sim_work *w = sim_mem_op_at(op, i);
        *item = i;
        if (w && w->verb == SIM_MEM_WAIT && !cji_sim_mem_op_holds(op->ctx, w)) return w;
    }
    return NULL;
}

/* A write of `bytes` bytes of a value at an address.  A half of a word ends a wait for it with what the other half is now. */
static sim_ends sim_mem_op_ends(const sim_ctx *c, uint64_t at, uint64_t bytes, uint64_t value, const sim_work *wait)
{
    uint64_t word = wait->mem_op.at, size = wait->mem_op.wide ? 8 : 4;
    if (at >= word + size || word >= at + bytes) return SIM_ENDS_NOT;
    if (bytes >= size) return cji_sim_mem_op_fits(wait, size == 8 ? value : (uint32_t)(value >> 8 * (word - at))) ? SIM_ENDS_IT : SIM_ENDS_NOT;
    const unsigned char *p = cji_sim_space_at(c, word, 8);
    if (!p) return SIM_ENDS_PERHAPS;
    unsigned shift = 8 * (unsigned)(at - word);
    uint64_t now = __atomic_load_n((const uint64_t *)(const void *)p, __ATOMIC_ACQUIRE) & ~((uint64_t)UINT32_MAX << shift);
    return cji_sim_mem_op_fits(wait, now | value << shift) ? SIM_ENDS_IT : SIM_ENDS_PERHAPS;
}

/* A fill repeats its element, so that each whole word of a row has the same value. */
static sim_ends sim_fill_ends(const sim_work *w, const sim_work *wait)
{
    uint64_t word = wait->mem_op.at, size = wait->mem_op.wide ? 8 : 4, row = w->fill.width * w->fill.element, value = w->fill.value;
    uint64_t all = w->fill.height ? w->fill.pitch * (w->fill.height - 1) + row : 0;
    if (!row || w->fill.dst >= word + size || word >= w->fill.dst + all) return SIM_ENDS_NOT;
    uint64_t in_row = word < w->fill.dst ? row : w->fill.height > 1 ? (word - w->fill.dst) % w->fill.pitch : word - w->fill.dst;
    if (in_row + size > row) return SIM_ENDS_PERHAPS;
    for (unsigned bits = 8 * w->fill.element; bits < 64; bits *= 2) value = (value & ((UINT64_C(1) << bits) - 1)) | value << bits;
    return cji_sim_mem_op_fits(wait, size == 8 ? value : (uint32_t)value) ? SIM_ENDS_IT : SIM_ENDS_NOT;
}

static sim_ends sim_write_ends(const sim_op *op, const sim_work *w, const sim_work *wait)
{
    if (!w) return SIM_ENDS_NOT;
    if (w->verb == SIM_MEM_WRITE) return sim_mem_op_ends(op->ctx, w->mem_op.at, w->mem_op.wide ? 8 : 4, w->mem_op.value, wait);
    return w->verb == SIM_FILL ? sim_fill_ends(w, wait) : SIM_ENDS_NOT;
}

/* Whether it may do anything to memory that we cannot foresee. */
static bool sim_may_write_anything(const sim_op *op)
{
    if (!op->work) return false;
    switch (op->work->verb) {
    case SIM_LAUNCH:
    case SIM_COPY:
    case SIM_HOST:
    case SIM_CALLBACK:
    case SIM_IPC_WAIT:
    case SIM_BRANCH:
    case SIM_AGAIN: return true;
    default: return false;
    }
}

/* ---- Circles ----------------------------------------------------------------------------------------------------- */

/* Marks what comes after stuck operations, and through which; within a context one pass is enough. */
static void sim_mark_behind(void)
{
    SIM_EACH_OP(op) {
        op->mark &= SIM_DEADLOCK_STUCK;
        op->from = NULL;
    }
    for (bool changed = true; changed;) {
        changed = false;
        SIM_EACH_OP(op)
            for (size_t i = 0; op->mark && i < op->nsucc; i++) {
                sim_op *next = op->succ[i];
                if (next->mark & SIM_DEADLOCK_BEHIND) continue;
                next->mark |= SIM_DEADLOCK_BEHIND;
                next->from = op;
                changed = true;
            }
    }
}

/* A write that ends the wait; `blocked`: one that is known to, behind something stuck; else one that may, and nothing stuck is before it. */
static sim_op *sim_writer(const sim_work *wait, bool blocked, size_t *item)
{
    SIM_EACH_OP(op)
        for (size_t i = sim_mem_op_now(op), n = sim_mem_ops_of(op); i < n; i++) {
            bool never = op->mark & SIM_DEADLOCK_BEHIND || (op->mark & SIM_DEADLOCK_STUCK && i > op->stuck);
            if (never != blocked || sim_write_ends(op, sim_mem_op_at(op, i), wait) < (blocked ? SIM_ENDS_IT : SIM_ENDS_PERHAPS)) continue;
            *item = i;
            return op;
        }
    return NULL;
}

static bool sim_can_be_stuck(sim_op *op)
{
    const sim_work *w = cji_sim_op_waits_for(op, &op->stuck);
    return w && !cji_sim_space_is_outside(w->mem_op.at) && !op->ctx->fault && !__atomic_load_n(&op->ctx->cancel, __ATOMIC_RELAXED);
}

/* Marks the waits that never end; false: there are none, or something may still end them. */
static bool sim_find_stuck(void)
{
    size_t free_one;
    bool any = false;
    SIM_EACH_OP(op) {
        op->mark = sim_can_be_stuck(op) ? SIM_DEADLOCK_STUCK : 0;
        any |= op->mark != 0;
    }
    for (bool changed = any; changed; ) {
        changed = any = false;
        sim_mark_behind();
        SIM_EACH_OP(op) {
            if (!(op->mark & SIM_DEADLOCK_BEHIND) && sim_may_write_anything(op)) return false;
            if (!(op->mark & SIM_DEADLOCK_STUCK)) continue;
            const sim_work *w = sim_mem_op_at(op, op->stuck);
            op->writer = sim_writer(w, false, &free_one) ? NULL : sim_writer(w, true, &op->write);
            if (op->writer) {
                any = true;
                continue;
            }
            op->mark &= ~(unsigned)SIM_DEADLOCK_STUCK;
            changed = true;
        }
    }
    return any;
}

/* ---- The report -------------------------------------------------------------------------------------------------- */

/* The stuck wait that the write which this one waits for is behind. */
static sim_op *sim_next_member(const sim_op *wait)
{
    sim_op *op = wait->writer;
    if (op->mark & SIM_DEADLOCK_STUCK && wait->write > op->stuck) return op;
    for (op = op->from; !(op->mark & SIM_DEADLOCK_STUCK); op = op->from) {}
    return op;
}

static unsigned long long sim_stream_of_op(const sim_op *op) { return op->stream ? (unsigned long long)op->stream->id : 0; }
static const char *sim_where(const sim_op *op) { return op->in_graph ? ", in a launch of a graph," : ""; }

static const char *sim_until(const sim_work *w)
{
    switch (w->mem_op.flags & CU_STREAM_WAIT_VALUE_NOR) {
    case CU_STREAM_WAIT_VALUE_GEQ: return "is at least";
    case CU_STREAM_WAIT_VALUE_EQ: return "is";
    case CU_STREAM_WAIT_VALUE_AND: return "has a bit in common with";
    default: return "has a bit clear that is clear in";
    }
}

/* From a write back to the stuck wait that it is behind: where the way goes from one stream into another. */
static void sim_report_way(cji_text *t, const sim_op *op)
{
    for (bool end = false; !end; op = op->from) {
        const sim_op *before = op->from;
        end = before->mark & SIM_DEADLOCK_STUCK;
        if (before->stream == op->stream) continue;
        cji_text_printf(t, "    stream %llu%s comes behind stream %llu there: ", sim_stream_of_op(op), sim_where(op), sim_stream_of_op(before));
        if (op->join == SIM_JOIN_EVENT) cji_text_printf(t, "it waits for event %p, recorded in stream %llu\n", op->joined, sim_stream_of_op(before));
        else if (op->join == SIM_JOIN_EXEC) cji_text_printf(t, "launches of graph %p wait for each other\n", op->joined);
        else cji_text_puts(t, "the legacy default stream and blocking streams wait for each other\n");
    }
}

static void sim_report_member(cji_text *t, const sim_op *op, size_t number, size_t count)
{
    const sim_work *w = sim_mem_op_at(op, op->stuck);
    const sim_op *writer = op->writer, *next = sim_next_member(op);
    cji_text_printf(t, "  %zu of %zu: stream %llu%s waits until the word of %d bytes at 0x%llx %s 0x%llx; that is written by %s of stream %llu%s behind %s\n", number, count,
                    sim_stream_of_op(op), sim_where(op), w->mem_op.wide ? 8 : 4, (unsigned long long)w->mem_op.at, sim_until(w), (unsigned long long)w->mem_op.value,
                    writer->work->verb == SIM_FILL ? "a fill" : "a write", sim_stream_of_op(writer), sim_where(writer),
                    next == op ? "this wait itself" : number == count ? "the first of these waits" : "the next of these waits");
    if (next != writer) sim_report_way(t, writer);
}

static void sim_report_deadlock(cji_text *t, sim_op *first)
{
    sim_op *op = first;
    size_t count = 0, number = 0;
    do count++;
    while ((op = sim_next_member(op)) != first);
    cji_text_printf(t, "deadlock: %zu operation%s for ever:\n", count, count == 1 ? " waits for itself" : "s wait for each other");
    do {
        sim_report_member(t, op, ++number, count);
        op = sim_next_member(op);
    } while (op != first);
    cji_text_puts(t, "  to mend it, submit the writes before the waits, or to a stream that does not wait; only a write that is submitted from now on can end it still\n");
}

/* From each stuck wait to the next, until one comes again: the circle.  What leads into one that has been told of is told of with it. */
void cji_sim_deadlocks(cji_text *t)
{
    if (!sim_find_stuck()) return;
    SIM_EACH_OP(start) {
        sim_op *op = start;
        if (!(op->mark & SIM_DEADLOCK_STUCK)) continue;
        for (; !op->deadlock_reported; op = sim_next_member(op)) {
            if (op->mark & SIM_DEADLOCK_VISITED) {
                sim_report_deadlock(t, op);
                break;
            }
            op->mark |= SIM_DEADLOCK_VISITED;
        }
        for (op = start; !op->deadlock_reported; op = sim_next_member(op)) op->deadlock_reported = true;
    }
}
