/* Random programs: order between streams, and the steps of a program (random_work.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stream/random_work.h"
#include "tests/tap.h"

/* -- Order --------------------------------------------------------------------------------------------------------- */

/* Stream `a` has waited for what `b` was given so far. */
static void learn(work *w, unsigned a, unsigned b)
{
    for (unsigned i = 0; i < STREAMS; i++)
        if (w->knows[b][i] > w->knows[a][i]) w->knows[a][i] = w->knows[b][i];
    if (w->given[b] > w->knows[a][b]) w->knows[a][b] = w->given[b];
}

static void order_by_event(work *w, unsigned a, unsigned b)
{
    unsigned e = work_pick(w, EVENTS / w->devices) * w->devices + work_device_of(w, b);
    cj_event_record(w->event[e], w->stream[b]);
    memcpy(w->stood[e], w->knows[b], sizeof w->stood[e]);
    w->stood[e][b] = w->given[b];
    cj_stream_wait(w->stream[a], w->event[e]);
    learn(w, a, b);
}

/* An event that stands for it already; false where none does. */
static bool order_by_old_event(work *w, unsigned a, unsigned b, unsigned point)
{
    for (unsigned e = 0; e < EVENTS; e++) {
        if (w->stood[e][b] < point) continue;
        cj_stream_wait(w->stream[a], w->event[e]);
        for (unsigned i = 0; i < STREAMS; i++)
            if (w->stood[e][i] > w->knows[a][i]) w->knows[a][i] = w->stood[e][i];
        return true;
    }
    return false;
}

static void order_by_barrier(work *w, unsigned a, unsigned b)
{
    cj_stream *all[3] = { w->stream[a], w->stream[b] };
    unsigned third = work_pick(w, STREAMS), who[3] = { a, b, third }, n = work_pick(w, 2) ? 3 : 2;
    all[2] = w->stream[third];
    cj_stream_barrier_enqueue(w->meeting, all, n);
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < n; i++)
            for (unsigned j = 0; j < n; j++)
                if (who[i] != who[j]) learn(w, who[i], who[j]);
}

static void sync(work *w, unsigned a)
{
    if (cj_stream_sync(w->stream[a]) != CJ_OK && !*w->why)
        snprintf(w->why, sizeof w->why, "stream %u: %s", a, cj_error_of(w->stream[a])->message);
}

static void order_by_word(work *w, unsigned a, unsigned b)
{
    unsigned k = w->words_used++ % WORDS;
    cj_dptr at = { (uintptr_t)&w->word[k] };
    cj_stream_write_value32(w->stream[b], at, w->words_used);
    cj_stream_wait_value32(w->stream[a], at, w->words_used, CJ_COMPARE_GE);
    learn(w, a, b);
    /* The word is written again behind this wait only. */
    if (w->words_used % WORDS == 0)
        for (unsigned i = 0; i < STREAMS; i++) sync(w, i);
}

static void order_by_host(work *w, unsigned b)
{
    sync(w, b);
    for (unsigned i = 0; i < STREAMS; i++)
        if (w->knows[b][i] > w->done[i]) w->done[i] = w->knows[b][i];
    w->done[b] = w->given[b];
}

/* What stream `a` is given next comes after what `b` was given as its `point`th. */
static void order(work *w, unsigned a, unsigned b, unsigned point)
{
    if (a == b || w->knows[a][b] >= point || w->done[b] >= point) return;
    unsigned how = work_pick(w, w->words ? 7 : 6);
    work_say(w, "  stream %u behind operation %u of stream %u, way %u", a, point, b, how);
    if (how == 0 && order_by_old_event(w, a, b, point)) return;
    switch (how) {
    case 1: cj_stream_fork(w->stream[b], w->stream[a]); learn(w, a, b); break;
    case 2: cj_stream_join(w->stream[a], w->stream[b]); learn(w, a, b); break;
    case 3: order_by_barrier(w, a, b); break;
    case 4: order_by_host(w, b); break;
    case 6: order_by_word(w, a, b); break;
    default: order_by_event(w, a, b);
    }
}

/* Stream `a` is about to use memory r. */
static void use(work *w, unsigned a, unsigned r, bool writes)
{
    mem *m = &w->mem[r];
    order(w, a, m->writer, m->written);
    for (unsigned i = 0; writes && i < STREAMS; i++) order(w, a, i, m->read[i]);
}

static void used(work *w, unsigned a, unsigned r, bool writes)
{
    mem *m = &w->mem[r];
    if (!writes) {
        m->read[a] = w->given[a];
        return;
    }
    m->writer = a;
    m->written = w->given[a];
    memset(m->read, 0, sizeof m->read);
}

/* -- Plain operations ---------------------------------------------------------------------------------------------- */

static void step_plain(work *w)
{
    unsigned a = work_pick(w, STREAMS);
    op o = work_op(w, work_device_of(w, a), false);
    work_say(w, "stream %u: %s %u <- %u [%u, %u) %u", a, work_op_name(&o), o.dst, o.src, o.at, o.at + o.count, o.value);
    if (work_reads(&o)) use(w, a, o.src, false);
    use(w, a, o.dst, true);
    work_give(w, &o, w->stream[a]);
    w->given[a]++;
    if (work_reads(&o)) used(w, a, o.src, false);
    used(w, a, o.dst, true);
    work_model(w, &o);
}

/* Memory goes, at once, and other memory takes its place. */
static void step_memory(work *w)
{
    unsigned r = work_pick(w, DEVICE_MEMS), a = work_stream(w, work_device_of(w, r));
    mem *m = &w->mem[r];
    work_say(w, "memory %u goes, and comes again on stream %u", r, a);
    for (unsigned i = 0; i < EXECS; i++) /* what a graph uses stays as it is */
        if (w->exec[i].x && (w->exec[i].reads | w->exec[i].writes) >> r & 1) return;
    cj_free(w->dev[work_device_of(w, r)], m->d);
    m->d = cj_alloc(w->stream[a], sizeof m->model);
    m->home = a;
    memset(m->read, 0, sizeof m->read);
    cj_fill32(w->stream[a], m->d, 5, COUNT);
    for (unsigned i = 0; i < COUNT; i++) m->model[i] = 5;
    w->given[a]++;
    used(w, a, r, true);
}

/* -- Graphs -------------------------------------------------------------------------------------------------------- */

static void exec_free(exec *e)
{
    cj_graph_exec_free(e->x);
    cj_graph_free(e->g);
    memset(e, 0, sizeof *e);
}

static void step_make(work *w)
{
    exec *e = &w->exec[work_pick(w, EXECS)];
    exec_free(e);
    e->device = work_pick(w, w->devices);
    e->count = 2 + work_pick(w, OPS - 2);
    for (unsigned i = 0; i < e->count; i++) {
        e->op[i] = work_op(w, e->device, true);
        e->writes |= 1u << e->op[i].dst;
        if (work_reads(&e->op[i])) e->reads |= 1u << e->op[i].src;
    }
    e->captured = work_pick(w, 2);
    work_say(w, "a graph of %u operations, %s", e->count, e->captured ? "captured" : "put together");
    e->g = e->captured ? work_capture(w, e) : work_compose(w, e, true);
    e->x = cj_graph_instantiate(e->g, NULL);
}

static void step_launch(work *w)
{
    exec *e = &w->exec[work_pick(w, EXECS)];
    unsigned a = work_stream(w, e->device);
    if (!e->x) return;
    work_say(w, "stream %u: graph %u", a, (unsigned)(e - w->exec));
    for (unsigned r = 0; r < MEMS; r++)
        if ((e->reads | e->writes) >> r & 1) use(w, a, r, e->writes >> r & 1);
    cj_graph_launch(w->stream[a], e->x);
    w->given[a]++;
    for (unsigned r = 0; r < MEMS; r++)
        if ((e->reads | e->writes) >> r & 1) used(w, a, r, e->writes >> r & 1);
    for (unsigned i = 0; i < e->count; i++)
        if (!e->out[i]) work_model(w, &e->op[i]);
}

/* An exec is changed for the launches to come. */
static void step_change(work *w)
{
    exec *e = &w->exec[work_pick(w, EXECS)];
    if (!e->x || e->captured) return;
    unsigned i = work_pick(w, e->count);
    op *o = &e->op[i];
    if (work_pick(w, 3) == 0) {
        bool out = false;
        for (unsigned k = 0; k < e->count; k++) out |= e->out[k] && work_is_fill(&e->op[k]);
        if (out) return;
        for (unsigned k = 0; k < e->count; k++) e->op[k].value += 3;
        work_say(w, "graph %u is updated", (unsigned)(e - w->exec));
        cj_graph *fresh = work_compose(w, e, false);
        cj_graph_exec_update(e->x, fresh);
        cj_graph_free(fresh);
        e->updated = true;
    } else if (work_is_kernel(o) && work_pick(w, 2)) {
        o->value += 1000;
        work_say(w, "operation %u of graph %u has another value", i, (unsigned)(e - w->exec));
        work_change(w, e, i);
    } else if (work_can_go(o) && !(e->updated && work_is_fill(o))) {
        e->out[i] = !e->out[i];
        work_say(w, "operation %u of graph %u is %s", i, (unsigned)(e - w->exec),
                 e->out[i] ? "left out" : "done again");
        cj_graph_exec_enable(e->x, e->node[i], !e->out[i]);
    }
}

/* -- A program ----------------------------------------------------------------------------------------------------- */

static bool program(work *w, unsigned seed, unsigned steps)
{
    static void (*const step[])(work * w) = { step_plain,  step_plain,  step_plain, step_plain,  step_plain,
                                              step_launch, step_launch, step_make,  step_change, step_memory };
    work_begin(w, seed);
    for (unsigned i = 0; i < steps; i++) step[work_pick(w, sizeof step / sizeof *step)](w);
    return work_end(w);
}

void work_programs(unsigned devices)
{
    static work w;
    const char *one = getenv("CUJIT_TEST_SEED"), *all = getenv("CUJIT_TEST_ALL");
    unsigned first = one ? (unsigned)atoi(one) : 1, last = one ? first : all && *all == '1' ? 400 : 12;
    w.devices = devices;
    w.tell = one != NULL;
    work_open(&w);
    for (unsigned seed = first; seed <= last; seed++) {
        const bool right = program(&w, seed, 120);
        tap_ok(right, "program %u computes what it says%s%s", seed, right ? "" : ": ", w.why);
    }
    work_close(&w);
}
