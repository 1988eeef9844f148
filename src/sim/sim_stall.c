/* What never ends, and what takes long.
 *
 * Operations come after operations that were submitted before them, so their edges alone never close a circle.  A memory wait does: it waits for a
 * write, and where every write that would end it is queued behind waits that do not end either, none of them ever will.  Such a circle is
 * reported, with its members.  Nothing is called a deadlock that something outside of it may still end: a wait for a word that the host can write, one without
 * a known write, and all waits while a kernel, a copy or a host function can still run.
 *
 * A host function or a memory wait that takes longer than CUJIT_SIM_STALL_MS is named in the log, once, and goes on. */
#include "sim/simcore.h"
#include "sim/sim_device.h"
#include "sim/sim_memory.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

#include <stdio.h>
#include <time.h>

enum { SD_BEHIND = 1, SD_STUCK = 2 };

static sd_ctx *sd_ctx_after(const sd_ctx *c)
{
    sd_ctx *next = !c ? (sd.set.devices ? &sd.device[0]->primary : NULL) : c->primary ? c->dev->contexts : c->next;
    if (next || !c) return next;
    unsigned d = (unsigned)c->dev->ordinal + 1;
    return d < sd.set.devices ? &sd.device[d]->primary : NULL;
}

/* All unfinished operations: of a context in the order of their submission. */
static sd_op *sd_op_after_all(const sd_op *op)
{
    if (op && op->next) return op->next;
    for (sd_ctx *c = sd_ctx_after(op ? op->ctx : NULL); c; c = sd_ctx_after(c))
        if (c->first) return c->first;
    return NULL;
}

#define SD_EACH_OP(op) for (sd_op *op = sd_op_after_all(NULL); op; op = sd_op_after_all(op))

/* ---- Waits and writes -------------------------------------------------------------------------------------------- */

/* The memory wait that holds the operation up, or will: in a batch the first that does not hold now. */
static const sd_work *sd_wait_of(const sd_op *op)
{
    const sd_work *w = op->work;
    if (!w) return NULL;
    if (w->verb == SD_WAIT_VALUE) return w;
    for (size_t i = 0; w->verb == SD_BATCH && i < w->batch.n; i++) {
        const sd_work *item = w->batch.item[i];
        if (item && item->verb == SD_WAIT_VALUE && !cji_sd_value_holds(op->ctx, item)) return item;
    }
    return NULL;
}

static bool sd_overlap(uint64_t a, uint64_t bytes, uint64_t b, uint64_t size) { return a < b + size && b < a + bytes; }

static bool sd_write_ends(const sd_work *w, const sd_work *wait)
{
    uint64_t size = wait->value.wide ? 8 : 4;
    switch (w->verb) {
    case SD_WRITE_VALUE:
        if (!sd_overlap(w->value.at, w->value.wide ? 8 : 4, wait->value.at, size)) return false;
        /* Another part of the word, or another size: it may. */
        return w->value.at != wait->value.at || w->value.wide != wait->value.wide || cji_sd_value_fits(wait, w->value.value);
    case SD_BATCH:
        for (size_t i = 0; i < w->batch.n; i++)
            if (w->batch.item[i] && sd_write_ends(w->batch.item[i], wait)) return true;
        return false;
    case SD_FILL: return sd_overlap(w->fill.dst, w->fill.height ? w->fill.pitch * (w->fill.height - 1) + w->fill.width * w->fill.element : 0, wait->value.at, size);
    default: return false;
    }
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
    case SD_BRANCH:
    case SD_AGAIN: return true;
    default: return false;
    }
}

/* ---- Circles ----------------------------------------------------------------------------------------------------- */

/* What comes after a marked operation is marked; within a context one pass is enough. */
static void sd_spread(void)
{
    for (bool changed = true; changed;) {
        changed = false;
        SD_EACH_OP(op)
            for (size_t i = 0; op->mark & SD_BEHIND && i < op->nsucc; i++) {
                changed |= !(op->succ[i]->mark & SD_BEHIND);
                op->succ[i]->mark |= SD_BEHIND;
            }
    }
}

static void sd_mark_behind(void)
{
    SD_EACH_OP(op) op->mark = op->mark & SD_STUCK ? SD_STUCK | SD_BEHIND : 0;
    sd_spread();
}

/* A write that ends the wait; `behind`: only such as are behind stuck waits, else only such as are not. */
static sd_op *sd_writer(const sd_work *wait, bool behind)
{
    SD_EACH_OP(op)
        if (op->work && !(op->mark & SD_BEHIND) == !behind && sd_write_ends(op->work, wait)) return op;
    return NULL;
}

/* Marks the waits that never end; false: there are none, or something may still end them. */
static bool sd_find_stuck(void)
{
    SD_EACH_OP(op) {
        const sd_work *w = sd_wait_of(op);
        op->mark = w && !cji_sd_space_is_host(w->value.at) && !cji_sd_value_holds(op->ctx, w) ? SD_STUCK : 0;
    }
    for (bool changed = true, any = true; changed; ) {
        changed = any = false;
        sd_mark_behind();
        SD_EACH_OP(op) {
            if (!(op->mark & SD_BEHIND) && sd_is_free(op)) return false;
            if (!(op->mark & SD_STUCK)) continue;
            const sd_work *w = sd_wait_of(op);
            if (w && !sd_writer(w, false) && sd_writer(w, true)) {
                any = true;
                continue;
            }
            op->mark &= ~(unsigned)SD_STUCK;
            changed = true;
        }
        if (!changed) return any;
    }
    return false;
}

/* A stuck wait that the write is behind. */
static sd_op *sd_wait_before(const sd_op *writer)
{
    SD_EACH_OP(wait) {
        if (!(wait->mark & SD_STUCK)) continue;
        SD_EACH_OP(op) op->mark &= ~(unsigned)SD_BEHIND;
        wait->mark |= SD_BEHIND;
        sd_spread();
        if (writer->mark & SD_BEHIND) return wait;
    }
    return NULL;
}

static void sd_say_wait(cji_text *t, const sd_op *op, const sd_work *w)
{
    cji_text_printf(t, "stream %llu waits for a value of the word at 0x%llx, which", op->stream ? (unsigned long long)op->stream->id : 0, (unsigned long long)w->value.at);
}

/* From one wait to the write that would end it, to the wait which that is behind, until one comes a second time. */
static void sd_report(sd_op *start)
{
    cji_text t = { 0 };
    sd_op *op = start;
    for (int members = 0; op && !op->named && members < 8; members++) {
        const sd_work *w = sd_wait_of(op);
        SD_EACH_OP(o) o->mark &= ~(unsigned)SD_BEHIND;
        const sd_op *writer = w ? sd_writer(w, false) : NULL;
        sd_op *next = writer ? sd_wait_before(writer) : NULL;
        if (!next) break;
        op->named = true;
        if (t.n) cji_text_puts(&t, "; ");
        sd_say_wait(&t, op, w);
        cji_text_printf(&t, " only stream %llu writes, behind %s", writer->stream ? (unsigned long long)writer->stream->id : 0,
                        next == op ? "this wait itself" : next->named ? "the first wait" : "another wait");
        op = next;
    }
    if (t.n) cji_log(CJ_LOG_ERROR, "deadlock: operations wait for each other for ever: %s. Submit the writes before the waits, or to a stream that does not wait", cji_text_str(&t));
    cji_text_free(&t);
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

void cji_sd_circle_look(sd_op *op)
{
    if (!op->named && sd_find_stuck() && op->mark & SD_STUCK) sd_report(op);
}

void cji_sd_stall_look(void)
{
    uint64_t now, most = (uint64_t)sd.set.stall_ms * 1000000u;
    if (!most || !sd.in_host) return;
    now = cji_sd_now();
    SD_EACH_OP(op) {
        bool host = op->work && (op->work->verb == SD_HOST || op->work->verb == SD_CALLBACK);
        if (!host || op->named || op->waits || op->listed || !op->when || now - op->when < most) continue;
        op->named = true;
        cji_log(CJ_LOG_WARNING, "a host function of stream %llu has not returned for %u ms (CUJIT_SIM_STALL_MS); what is behind it goes on waiting",
                op->stream ? (unsigned long long)op->stream->id : 0, sd.set.stall_ms);
    }
}

void cji_sd_value_stalls(const sd_op *op, const sd_work *w, uint64_t ns)
{
    cji_log(CJ_LOG_WARNING, "stream %llu has waited %llu ms for a value of the word at 0x%llx (CUJIT_SIM_STALL_MS), and goes on waiting",
            op->stream ? (unsigned long long)op->stream->id : 0, (unsigned long long)(ns / 1000000u), (unsigned long long)w->value.at);
}

/* A thread of the program waits until an operation is done; now and then it looks around. */
void cji_sd_sleep_watching(void)
{
    if (!sd.set.stall_ms) {
        pthread_cond_wait(&sd.done, &sd.lock);
        return;
    }
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t at = (uint64_t)t.tv_nsec + (uint64_t)sd.set.stall_ms * 1000000u;
    t.tv_sec += (time_t)(at / 1000000000u);
    t.tv_nsec = (long)(at % 1000000000u);
    pthread_cond_timedwait(&sd.done, &sd.lock, &t);
    cji_sd_stall_look();
}
