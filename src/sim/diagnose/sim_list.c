/* What is queued: each operation that is not done, its state, and what it waits for. */
#include "sim/diagnose/sim_diagnose.h"

#include <stdio.h>
#include <string.h>

enum { SIM_LISTED_AT_A_STALL = 100 };

static cujit_sim_work_state sim_op_state(const sim_op *op)
{
    bool idle = op->queued || (op->listed && !op->open);
    return op->waits ? CUJIT_SIM_WORK_WAITS : idle ? CUJIT_SIM_WORK_READY : CUJIT_SIM_WORK_RUNS;
}

/* Those of the context, or all; each is marked with its place in the list, from 1, the others with 0. */
static size_t sim_list_mark(const sim_ctx *c)
{
    size_t n = 0;
    SIM_EACH_OP(op)
    {
        op->mark = !c || op->ctx == c ? ++n : 0;
        op->before = NULL;
    }
    SIM_EACH_OP(op)
        for (size_t i = 0; i < op->nsucc; i++) {
            sim_op *s = op->succ[i];
            if (!s->before || op->seq < s->before->seq) s->before = op;
        }
    return n;
}

static void sim_op_title(const sim_op *op, cji_line *l)
{
    const char *kind = op->work ? op->work->kind->name : "";
    const char *label = op->work && op->work->kind->label ? op->work->kind->label(op->work) : NULL;
    cji_say(l, "operation %llu (%s%s%s", (unsigned long long)op->seq, *kind ? kind : "a point in order",
            label ? " " : "", label ? cji_short(label) : "");
    if (op->stream) cji_say(l, " of stream %llu", (unsigned long long)op->stream->id);
    cji_say(l, "%s)", op->in_graph ? " in a launch of a graph" : "");
}

static void sim_op_sentence(const sim_op *op, char *out, size_t size)
{
    cji_line l = { out, size, 0 };
    sim_mem_wait w;
    sim_op_title(op, &l);
    switch (sim_op_state(op)) {
    case CUJIT_SIM_WORK_WAITS:
        cji_say(&l, " waits for %u operation%s", op->waits, op->waits == 1 ? "" : "s");
        if (op->before) {
            cji_say(&l, op->waits == 1 ? ": " : ", first ");
            sim_op_title(op->before, &l);
        }
        break;
    case CUJIT_SIM_WORK_READY:
        cji_say(&l, op->queued ? " may begin when the host function that runs has returned" : " may begin");
        break;
    case CUJIT_SIM_WORK_RUNS:
        if (cji_sim_op_waits(op, &w, &(size_t){ 0 }))
            cji_say(&l, " waits for a value at the location 0x%llx", (unsigned long long)w.at);
        else cji_say(&l, op->grid || op->work ? " runs" : " is being enqueued");
        break;
    }
}

static void sim_op_describe(const sim_op *op, cujit_sim_work_info *info)
{
    sim_mem_wait w;
    *info = (cujit_sim_work_info){ .size = sizeof *info,
                                   .number = op->seq,
                                   .context = op->ctx,
                                   .stream = cji_sim_stream_handle(op->stream),
                                   .stream_id = op->stream ? op->stream->id : 0,
                                   .state = sim_op_state(op),
                                   .in_graph = op->in_graph,
                                   .after = op->waits,
                                   .after_number = op->before ? op->before->seq : 0 };
    if (op->work) {
        const sim_work_kind *k = op->work->kind;
        snprintf(info->kind, sizeof info->kind, "%s", k->name);
        if (k->label) snprintf(info->name, sizeof info->name, "%s", k->label(op->work));
        if (k->code) {
            const void *code = k->code(op->work);
            memcpy(&info->function, &code, sizeof code);
        }
    }
    if (info->state == CUJIT_SIM_WORK_RUNS && cji_sim_op_waits(op, &w, &(size_t){ 0 })) info->location = w.at;
    sim_op_sentence(op, info->sentence, sizeof info->sentence);
}

size_t cujit_sim_work(void *context, cujit_sim_work_info *work, size_t count)
{
    size_t size = work && count ? work->size : 0, n = 0;
    if ((count && (!work || size < sizeof size)) || cji_sim_enter(true)) return 0;
    sim_lock();
    sim_ctx *c = context;
    if (!c || cji_sim_handle_is(SIM_CTX, c)) n = sim_list_mark(c);
    for (sim_op *op = n && count ? cji_sim_op_after_all(NULL) : NULL; op; op = cji_sim_op_after_all(op)) {
        cujit_sim_work_info info;
        if (!op->mark || op->mark > count) continue;
        sim_op_describe(op, &info);
        info.size = size;
        memcpy((char *)work + (op->mark - 1) * size, &info, size < sizeof info ? size : sizeof info);
    }
    sim_unlock();
    cji_sim_leave("cujit_sim_work", CUDA_SUCCESS);
    return n;
}

void cji_sim_list(cji_text *t)
{
    size_t n = sim_list_mark(NULL);
    SIM_EACH_OP(op) {
        char sentence[512];
        if (op->mark > SIM_LISTED_AT_A_STALL) break;
        sim_op_sentence(op, sentence, sizeof sentence);
        cji_text_printf(t, "%s\n", sentence);
    }
    if (n > SIM_LISTED_AT_A_STALL) cji_text_printf(t, "and %zu more\n", n - SIM_LISTED_AT_A_STALL);
}
