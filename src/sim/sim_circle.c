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

enum { SD_STUCK = 1 /* its own wait never ends */, SD_BEHIND = 2 /* it comes after one that is stuck */, SD_VISITED = 4 };
typedef enum sd_ends { SD_ENDS_NOT, SD_ENDS_PERHAPS, SD_ENDS_IT } sd_ends;

static sd_ctx *sd_ctx_after(const sd_ctx *c)
{
    sd_ctx *next = !c ? (sd.set.devices ? &sd.device[0]->primary : NULL) : c->primary ? c->dev->contexts : c->next;
    if (next || !c) return next;
    unsigned d = (unsigned)c->dev->ordinal + 1;
    return d < sd.set.devices ? &sd.device[d]->primary : NULL;
}

sd_op *cji_sd_op_after_all(const sd_op *op)
{
    if (op && op->next) return op->next;
    for (sd_ctx *c = sd_ctx_after(op ? op->ctx : NULL); c; c = sd_ctx_after(c))
        if (c->first) return c->first;
    return NULL;
}

#define SD_EACH_OP(op) for (sd_op *op = cji_sd_op_after_all(NULL); op; op = cji_sd_op_after_all(op))

/* ---- Waits and writes -------------------------------------------------------------------------------------------- */

/* The values of an operation from the one that it is at: a batch has several. */
static size_t sd_values(const sd_op *op)
{
    const sd_work *w = op->work;
    if (!w) return 0;
    return w->verb == SD_BATCH ? w->batch.n : w->verb == SD_WAIT_VALUE || w->verb == SD_WRITE_VALUE || w->verb == SD_FILL;
}

static const sd_work *sd_value(const sd_op *op, size_t i) { return op->work->verb == SD_BATCH ? op->work->batch.item[i] : op->work; }
static size_t sd_value_now(const sd_op *op) { return __atomic_load_n(&op->item, __ATOMIC_ACQUIRE); }

const sd_work *cji_sd_wait_of(const sd_op *op, size_t *item)
{
    for (size_t i = sd_value_now(op), n = sd_values(op); i < n; i++) {
        const sd_work *w = sd_value(op, i);
        *item = i;
        if (w && w->verb == SD_WAIT_VALUE && !cji_sd_value_holds(op->ctx, w)) return w;
    }
    return NULL;
}

/* A write of `bytes` bytes of a value at an address.  A half of a word ends a wait for it with what the other half is now. */
static sd_ends sd_value_ends(const sd_ctx *c, uint64_t at, uint64_t bytes, uint64_t value, const sd_work *wait)
{
    uint64_t word = wait->value.at, size = wait->value.wide ? 8 : 4;
    if (at >= word + size || word >= at + bytes) return SD_ENDS_NOT;
    if (bytes >= size) return cji_sd_value_fits(wait, size == 8 ? value : (uint32_t)(value >> 8 * (word - at))) ? SD_ENDS_IT : SD_ENDS_NOT;
    const unsigned char *p = cji_sd_space_at(c, word, 8);
    if (!p) return SD_ENDS_PERHAPS;
    unsigned shift = 8 * (unsigned)(at - word);
    uint64_t now = __atomic_load_n((const uint64_t *)(const void *)p, __ATOMIC_ACQUIRE) & ~((uint64_t)UINT32_MAX << shift);
    return cji_sd_value_fits(wait, now | value << shift) ? SD_ENDS_IT : SD_ENDS_PERHAPS;
}

/* A fill repeats its element, so that each whole word of a row has the same value. */
static sd_ends sd_fill_ends(const sd_work *w, const sd_work *wait)
{
    uint64_t word = wait->value.at, size = wait->value.wide ? 8 : 4, row = w->fill.width * w->fill.element, value = w->fill.value;
    uint64_t all = w->fill.height ? w->fill.pitch * (w->fill.height - 1) + row : 0;
    if (!row || w->fill.dst >= word + size || word >= w->fill.dst + all) return SD_ENDS_NOT;
    uint64_t in_row = word < w->fill.dst ? row : w->fill.height > 1 ? (word - w->fill.dst) % w->fill.pitch : word - w->fill.dst;
    if (in_row + size > row) return SD_ENDS_PERHAPS;
    for (unsigned bits = 8 * w->fill.element; bits < 64; bits *= 2) value = (value & ((UINT64_C(1) << bits) - 1)) | value << bits;
    return cji_sd_value_fits(wait, size == 8 ? value : (uint32_t)value) ? SD_ENDS_IT : SD_ENDS_NOT;
}

static sd_ends sd_write_ends(const sd_op *op, const sd_work *w, const sd_work *wait)
{
    if (!w) return SD_ENDS_NOT;
    if (w->verb == SD_WRITE_VALUE) return sd_value_ends(op->ctx, w->value.at, w->value.wide ? 8 : 4, w->value.value, wait);
    return w->verb == SD_FILL ? sd_fill_ends(w, wait) : SD_ENDS_NOT;
}

/* Whether it may do anything to memory that we cannot foresee. */
static bool sd_is_free(const sd_op *op)
{
    if (!op->work) return false;
    switch (op->work->verb) {
    case SD_LAUNCH:
    case SD_COPY:
    case SD_HOST:
    case SD_CALLBACK:
    case SD_FAR:
    case SD_BRANCH:
    case SD_AGAIN: return true;
    default: return false;
    }
}

/* ---- Circles ----------------------------------------------------------------------------------------------------- */

/* Marks what comes after stuck operations, and through which; within a context one pass is enough. */
static void sd_mark_behind(void)
{
    SD_EACH_OP(op) {
        op->mark &= SD_STUCK;
        op->from = NULL;
    }
    for (bool changed = true; changed;) {
        changed = false;
        SD_EACH_OP(op)
            for (size_t i = 0; op->mark && i < op->nsucc; i++) {
                sd_op *next = op->succ[i];
                if (next->mark & SD_BEHIND) continue;
                next->mark |= SD_BEHIND;
                next->from = op;
                changed = true;
            }
    }
}

/* A write that ends the wait; `blocked`: one that is known to, behind something stuck; else one that may, and nothing stuck is before it. */
static sd_op *sd_writer(const sd_work *wait, bool blocked, size_t *item)
{
    SD_EACH_OP(op)
        for (size_t i = sd_value_now(op), n = sd_values(op); i < n; i++) {
            bool never = op->mark & SD_BEHIND || (op->mark & SD_STUCK && i > op->stuck);
            if (never != blocked || sd_write_ends(op, sd_value(op, i), wait) < (blocked ? SD_ENDS_IT : SD_ENDS_PERHAPS)) continue;
            *item = i;
            return op;
        }
    return NULL;
}

static bool sd_can_be_stuck(sd_op *op)
{
    const sd_work *w = cji_sd_wait_of(op, &op->stuck);
    return w && !cji_sd_space_is_outside(w->value.at) && !op->ctx->fault && !__atomic_load_n(&op->ctx->cancel, __ATOMIC_RELAXED);
}

/* Marks the waits that never end; false: there are none, or something may still end them. */
static bool sd_find_stuck(void)
{
    size_t free_one;
    bool any = false;
    SD_EACH_OP(op) {
        op->mark = sd_can_be_stuck(op) ? SD_STUCK : 0;
        any |= op->mark != 0;
    }
    for (bool changed = any; changed; ) {
        changed = any = false;
        sd_mark_behind();
        SD_EACH_OP(op) {
            if (!(op->mark & SD_BEHIND) && sd_is_free(op)) return false;
            if (!(op->mark & SD_STUCK)) continue;
            const sd_work *w = sd_value(op, op->stuck);
            op->writer = sd_writer(w, false, &free_one) ? NULL : sd_writer(w, true, &op->write);
            if (op->writer) {
                any = true;
                continue;
            }
            op->mark &= ~(unsigned)SD_STUCK;
            changed = true;
        }
    }
    return any;
}

/* ---- The report -------------------------------------------------------------------------------------------------- */

/* The stuck wait that the write which this one waits for is behind. */
static sd_op *sd_next_member(const sd_op *wait)
{
    sd_op *op = wait->writer;
    if (op->mark & SD_STUCK && wait->write > op->stuck) return op;
    for (op = op->from; !(op->mark & SD_STUCK); op = op->from) {}
    return op;
}

static unsigned long long sd_stream_of_op(const sd_op *op) { return op->stream ? (unsigned long long)op->stream->id : 0; }
static const char *sd_where(const sd_op *op) { return op->in_graph ? ", in a launch of a graph," : ""; }

static const char *sd_until(const sd_work *w)
{
    switch (w->value.flags & CU_STREAM_WAIT_VALUE_NOR) {
    case CU_STREAM_WAIT_VALUE_GEQ: return "is at least";
    case CU_STREAM_WAIT_VALUE_EQ: return "is";
    case CU_STREAM_WAIT_VALUE_AND: return "has a bit in common with";
    default: return "has a bit clear that is clear in";
    }
}

/* From a write back to the stuck wait that it is behind: where the way goes from one stream into another. */
static void sd_say_way(cji_text *t, const sd_op *op)
{
    for (bool end = false; !end; op = op->from) {
        const sd_op *before = op->from;
        end = before->mark & SD_STUCK;
        if (before->stream == op->stream) continue;
        cji_text_printf(t, "    stream %llu%s comes behind stream %llu there: ", sd_stream_of_op(op), sd_where(op), sd_stream_of_op(before));
        if (op->join == SD_BEHIND_EVENT) cji_text_printf(t, "it waits for event %p, recorded in stream %llu\n", op->joined, sd_stream_of_op(before));
        else if (op->join == SD_BEHIND_EXEC) cji_text_printf(t, "launches of graph %p wait for each other\n", op->joined);
        else cji_text_puts(t, "the legacy default stream and blocking streams wait for each other\n");
    }
}

static void sd_say_member(cji_text *t, const sd_op *op, size_t number, size_t count)
{
    const sd_work *w = sd_value(op, op->stuck);
    const sd_op *writer = op->writer, *next = sd_next_member(op);
    cji_text_printf(t, "  %zu of %zu: stream %llu%s waits until the word of %d bytes at 0x%llx %s 0x%llx; that is written by %s of stream %llu%s behind %s\n", number, count,
                    sd_stream_of_op(op), sd_where(op), w->value.wide ? 8 : 4, (unsigned long long)w->value.at, sd_until(w), (unsigned long long)w->value.value,
                    writer->work->verb == SD_FILL ? "a fill" : "a write", sd_stream_of_op(writer), sd_where(writer),
                    next == op ? "this wait itself" : number == count ? "the first of these waits" : "the next of these waits");
    if (next != writer) sd_say_way(t, writer);
}

static void sd_report(cji_text *t, sd_op *first)
{
    sd_op *op = first;
    size_t count = 0, number = 0;
    do count++;
    while ((op = sd_next_member(op)) != first);
    cji_text_printf(t, "deadlock: %zu operation%s for ever:\n", count, count == 1 ? " waits for itself" : "s wait for each other");
    do {
        sd_say_member(t, op, ++number, count);
        op = sd_next_member(op);
    } while (op != first);
    cji_text_puts(t, "  to mend it, submit the writes before the waits, or to a stream that does not wait; only a write that is submitted from now on can end it still\n");
}

/* From each stuck wait to the next, until one comes again: the circle.  What leads into one that has been told of is told of with it. */
void cji_sd_circles(cji_text *t)
{
    if (!sd_find_stuck()) return;
    SD_EACH_OP(start) {
        sd_op *op = start;
        if (!(op->mark & SD_STUCK)) continue;
        for (; !op->told_circle; op = sd_next_member(op)) {
            if (op->mark & SD_VISITED) {
                sd_report(t, op);
                break;
            }
            op->mark |= SD_VISITED;
        }
        for (op = start; !op->told_circle; op = sd_next_member(op)) op->told_circle = true;
    }
}
