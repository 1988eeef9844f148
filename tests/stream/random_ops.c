/* The operations of random work, and its objects (random_work.h). */
#include "tests/stream/random_work.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

unsigned work_pick(work *w, unsigned below)
{
    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((w->random >> 33) % below);
}

void work_say(work *w, const char *fmt, ...)
{
    char text[200];
    va_list args;
    if (!w->tell) return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tap_diag("%s", text);
}

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

/* After `spin` looks at its word: mix: x[i] = x[i] * 31 + v; move: x[i] = x[i] * 7 + y[i] + v. */
static void add_kernel(cj_ptx *m, const char *name, bool two)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_val x = cj_param_ptr(f, "x", CJ_U32), y = two ? cj_param_ptr(f, "y", CJ_U32) : x;
    cj_val n = cj_param(f, "n", CJ_U32), v = cj_param(f, "v", CJ_U32), spin = cj_param(f, "spin", CJ_U32),
           i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_val own = cj_def(f, "mad.wide.u32", i, 4, x);
        cj_for(f, cj_imm(f, 0), spin, cj_imm(f, 1));
            cj_def(f, "ld.volatile.global.u32", cj_mem(f, own, 0));
        cj_end(f);
        cj_val old = cj_mul(f, cj_get(f, x, i), cj_imm(f, two ? 7 : 31));
        if (two) old = cj_add(f, old, cj_get(f, y, i));
        cj_set(f, x, i, cj_add(f, old, v));
    cj_end(f);
}

static void host_mix(void *user)
{
    const host_job *j = user;
    uint32_t *h = j->w->mem[j->o.dst].h;
    for (unsigned i = 0; i < j->o.count; i++) h[j->o.at + i] = h[j->o.at + i] * 13 + j->o.value;
}

/* -- Operations ---------------------------------------------------------------------------------------------------- */

static const char *const op_names[] = { "mix",   "move",         "set8", "set16",
                                        "set32", "copy",         "up",   "up from pageable memory",
                                        "down",  "host function" };
const char *work_op_name(const op *o) { return op_names[o->kind]; }

static unsigned pick_memory(work *w, unsigned device)
{
    return work_pick(w, DEVICE_MEMS / w->devices) * w->devices + device;
}

op work_op(work *w, unsigned device, bool for_graph)
{
    op o = { .kind = (op_kind)work_pick(w, 10),
             .dst = pick_memory(w, device),
             .value = work_pick(w, 60000),
             .spin = work_pick(w, 4) ? 0
                     : tap_on_gpu()  ? 4000
                                     : 6 };
    if (o.kind == OP_UP_PAGEABLE && for_graph) o.kind = OP_UP;
    if (o.kind == OP_DOWN || o.kind == OP_HOST) o.dst = DEVICE_MEMS + work_pick(w, MEMS - DEVICE_MEMS);
    o.src = o.kind == OP_UP     ? DEVICE_MEMS + work_pick(w, MEMS - DEVICE_MEMS)
            : o.kind == OP_COPY ? work_pick(w, DEVICE_MEMS)
                                : pick_memory(w, device);
    if (o.src == o.dst && work_reads(&o)) o.src = (o.dst + w->devices) % DEVICE_MEMS;
    o.count = 1 + work_pick(w, work_pick(w, 3) ? 40 : COUNT);
    o.at = work_pick(w, COUNT - o.count + 1);
    return o;
}

void work_model(work *w, const op *o)
{
    uint32_t *d = w->mem[o->dst].model + o->at;
    const uint32_t *s = w->mem[o->src].model + o->at;
    for (unsigned i = 0; i < o->count; i++) {
        switch (o->kind) {
        case OP_MIX: d[i] = d[i] * 31 + o->value; break;
        case OP_MOVE: d[i] = d[i] * 7 + s[i] + o->value; break;
        case OP_SET8: d[i] = (o->value & 0xff) * 0x01010101u; break;
        case OP_SET16: d[i] = (o->value & 0xffff) * 0x00010001u; break;
        case OP_SET32: d[i] = o->value; break;
        case OP_UP_PAGEABLE: d[i] = o->value + i; break;
        case OP_HOST: d[i] = d[i] * 13 + o->value; break;
        default: d[i] = s[i];
        }
    }
}

static cj_dptr device_at(const work *w, unsigned r, const op *o)
{
    return cj_offset(w->mem[r].d, (int64_t)(4 * o->at));
}

static host_job *job_of(work *w, const op *o)
{
    host_job *j = malloc(sizeof *j);
    if (!j || w->jobs == sizeof w->job / sizeof *w->job) tap_bail("too many host functions");
    *j = (host_job){ w, *o };
    return w->job[w->jobs++] = j;
}

/* Its source is not what it was as soon as the call is over. */
static void give_pageable(const op *o, cj_stream *s, cj_dptr d)
{
    uint32_t *from = malloc(4 * o->count);
    if (!from) tap_bail("no memory");
    for (unsigned i = 0; i < o->count; i++) from[i] = o->value + i;
    cj_copy_to_device(s, d, from, 4 * o->count);
    memset(from, 0xee, 4 * o->count);
    free(from);
}

void work_give(work *w, const op *o, cj_stream *s)
{
    cj_dptr d = device_at(w, o->dst, o), from = device_at(w, o->src, o);
    const cj_dims dims = cj_threads(o->count, 64);
    unsigned device = work_device_of(w, o->dst);
    size_t bytes = 4 * o->count;
    switch (o->kind) {
    case OP_MIX:
        cj_launch(s, w->mix[device], dims, d, o->count, o->value, o->spin);
        cj_stream_use(s, d);
        break;
    case OP_MOVE:
        cj_launch(s, w->move[device], dims, d, from, o->count, o->value, o->spin);
        cj_stream_use(s, d);
        cj_stream_use(s, from);
        break;
    case OP_SET8: cj_fill8(s, d, (uint8_t)o->value, bytes); break;
    case OP_SET16: cj_fill16(s, d, (uint16_t)o->value, bytes / 2); break;
    case OP_SET32: cj_fill32(s, d, o->value, o->count); break;
    case OP_COPY:
        if (device == work_device_of(w, o->src)) cj_copy(s, d, from, bytes);
        else cj_copy_peer(s, w->dev[device], d, w->dev[work_device_of(w, o->src)], from, bytes);
        break;
    case OP_UP: cj_copy_to_device(s, d, w->mem[o->src].h + o->at, bytes); break;
    case OP_UP_PAGEABLE: give_pageable(o, s, d); break;
    case OP_DOWN: cj_copy_to_host(s, w->mem[o->dst].h + o->at, from, bytes); break;
    default: cj_host_func(s, host_mix, job_of(w, o));
    }
}

static cj_node *node_of(work *w, const op *o, cj_graph *g, const cj_nodes *after)
{
    cj_dptr d = device_at(w, o->dst, o), from = device_at(w, o->src, o);
    const cj_dims dims = cj_threads(o->count, 64);
    size_t bytes = 4 * o->count;
    switch (o->kind) {
    case OP_MIX:
        return cj_graph_kernel(g, after, w->mix[work_device_of(w, o->dst)], dims, d, o->count, o->value, o->spin);
    case OP_MOVE:
        return cj_graph_kernel(g, after, w->move[work_device_of(w, o->dst)], dims, d, from, o->count, o->value,
                               o->spin);
    case OP_SET8: return cj_graph_fill8(g, after, d, (uint8_t)o->value, bytes);
    case OP_SET16: return cj_graph_fill16(g, after, d, (uint16_t)o->value, bytes / 2);
    case OP_SET32: return cj_graph_fill32(g, after, d, o->value, o->count);
    case OP_COPY:
        if (work_device_of(w, o->dst) == work_device_of(w, o->src)) return cj_graph_copy(g, after, d, from, bytes);
        return cj_graph_copy_peer(g, after, w->dev[work_device_of(w, o->dst)], d, w->dev[work_device_of(w, o->src)],
                                  from, bytes);
    case OP_UP: return cj_graph_copy_to_device(g, after, d, w->mem[o->src].h + o->at, bytes);
    case OP_DOWN: return cj_graph_copy_to_host(g, after, w->mem[o->dst].h + o->at, from, bytes);
    default: return cj_graph_host_func(g, after, host_mix, job_of(w, o));
    }
}

/* -- Graphs -------------------------------------------------------------------------------------------------------- */

/* Whether operation b, which comes later, must come after a. */
static bool ops_conflict(const op *a, const op *b)
{
    return a->dst == b->dst || (work_reads(b) && b->src == a->dst) || (work_reads(a) && a->src == b->dst);
}

cj_graph *work_compose(work *w, exec *e, bool keep)
{
    cj_graph *g = cj_graph_create(w->dev[e->device]);
    cj_node *node[OPS];
    unsigned before[OPS]; /* bits of the operations that each comes after */
    for (unsigned i = 0; i < e->count; i++) {
        cj_node *after[OPS];
        cj_nodes list = { after, 0 };
        before[i] = 0;
        for (unsigned k = i; k-- > 0;) {
            if (before[i] >> k & 1 || !ops_conflict(&e->op[k], &e->op[i])) continue;
            after[list.count++] = node[k];
            before[i] |= 1u << k | before[k];
        }
        node[i] = node_of(w, &e->op[i], g, &list);
        if (keep) e->node[i] = node[i];
    }
    return g;
}

/* Operation i goes to one of the streams; where another one holds an operation that it must come after, they are
 * joined. */
cj_graph *work_capture(work *w, const exec *e)
{
    unsigned first = e->device;
    cj_stream *origin = w->stream[first];
    unsigned on[OPS];
    unsigned has[STREAMS] = { 0 }; /* bits of the operations that each stream comes after */
    bool in[STREAMS] = { false };
    in[first] = true;
    cj_capture_begin_opts(origin, CJ_CAPTURE(.mode = CJ_CAPTURE_THREAD, .join = 1));
    for (unsigned i = 0; i < e->count; i++) {
        unsigned a = on[i] = work_stream(w, e->device);
        if (!in[a]) {
            cj_stream_fork(origin, w->stream[a]);
            has[a] = has[first];
            in[a] = true;
        }
        for (unsigned k = i; k-- > 0;) {
            if (has[a] >> k & 1 || !ops_conflict(&e->op[k], &e->op[i])) continue;
            cj_stream_join(w->stream[a], w->stream[on[k]]);
            has[a] |= has[on[k]];
        }
        work_give(w, &e->op[i], w->stream[a]);
        has[a] |= 1u << i;
    }
    return cj_capture_end(origin);
}

void work_change(work *w, exec *e, unsigned i)
{
    const op *o = &e->op[i];
    cj_dptr d = device_at(w, o->dst, o), from = device_at(w, o->src, o);
    if (o->kind == OP_MIX) cj_graph_exec_set_args(e->x, e->node[i], d, o->count, o->value, o->spin);
    else cj_graph_exec_set_args(e->x, e->node[i], d, from, o->count, o->value, o->spin);
}

/* -- Beginning and end --------------------------------------------------------------------------------------------- */

void work_open(work *w)
{
    w->drv = cj_driver_open(NULL);
    w->module = cj_ptx_create();
    add_kernel(w->module, "mix", false);
    add_kernel(w->module, "move", true);
    for (unsigned i = 0; i < w->devices; i++) {
        w->dev[i] = cj_device_open(w->drv, (int)i, NULL);
        w->mix[i] = cj_kernel_load(w->dev[i], w->module, "mix", NULL);
        w->move[i] = cj_kernel_load(w->dev[i], w->module, "move", NULL);
    }
    w->meeting = cj_stream_barrier_create(w->dev[0]);
    w->word = cj_host_alloc(w->dev[0], 4 * WORDS, NULL);
    if (!w->word) tap_bail("%s", cj_error_of(w->dev[0])->message);
    for (unsigned i = 0; i < EVENTS; i++) w->event[i] = cj_event_create(w->dev[work_device_of(w, i)], NULL);
    for (unsigned r = DEVICE_MEMS; r < MEMS; r++)
        if (!(w->mem[r].h = cj_host_alloc(w->dev[0], sizeof w->mem[r].model, NULL)))
            tap_bail("%s", cj_error_of(w->dev[0])->message);
    cj_stream *s = cj_stream_create(w->dev[0], NULL);
    w->words = cj_stream_write_value32(s, (cj_dptr){ (uintptr_t)w->word }, 1) == CJ_OK;
    cj_stream_sync(s);
    cj_stream_free(s);
}

void work_begin(work *w, unsigned seed)
{
    w->random = seed;
    work_pick(w, 2);
    *w->why = 0;
    w->words_used = 0;
    memset(w->word, 0, 4 * WORDS);
    memset(w->given, 0, sizeof w->given);
    memset(w->knows, 0, sizeof w->knows);
    memset(w->done, 0, sizeof w->done);
    memset(w->stood, 0, sizeof w->stood);
    for (unsigned i = 0; i < STREAMS; i++) w->stream[i] = cj_stream_create(w->dev[work_device_of(w, i)], NULL);
    for (unsigned r = 0; r < MEMS; r++) {
        mem *m = &w->mem[r];
        m->home = m->writer = r % STREAMS; /* of the same device */
        m->written = 0;
        memset(m->read, 0, sizeof m->read);
        for (unsigned i = 0; i < COUNT; i++) m->model[i] = r * COUNT + i;
        if (m->h) {
            memcpy(m->h, m->model, sizeof m->model);
            continue;
        }
        m->d = cj_alloc(w->stream[m->home], sizeof m->model);
        cj_copy_to_device(w->stream[m->home], m->d, m->model, sizeof m->model);
        m->written = ++w->given[m->home];
    }
}

bool work_end(work *w)
{
    static uint32_t got[COUNT];
    for (unsigned i = 0; i < EXECS; i++) {
        if (w->exec[i].x && cj_error_of(w->exec[i].x)->status != CJ_OK)
            snprintf(w->why, sizeof w->why, "a graph: %s", cj_error_of(w->exec[i].x)->message);
        cj_graph_exec_free(w->exec[i].x);
        cj_graph_free(w->exec[i].g);
        memset(&w->exec[i], 0, sizeof w->exec[i]);
    }
    for (unsigned i = 0; i < STREAMS; i++)
        if (cj_stream_sync(w->stream[i]) != CJ_OK && !*w->why)
            snprintf(w->why, sizeof w->why, "stream %u: %s", i, cj_error_of(w->stream[i])->message);
    for (unsigned r = 0; r < MEMS; r++) {
        mem *m = &w->mem[r];
        const uint32_t *is = m->h;
        if (!is) {
            cj_copy_to_host(w->stream[m->home], got, m->d, sizeof got);
            cj_stream_sync(w->stream[m->home]);
            cj_free(w->dev[work_device_of(w, r)], m->d);
            is = got;
        }
        for (unsigned i = 0; i < COUNT && !*w->why; i++)
            if (is[i] != m->model[i])
                snprintf(w->why, sizeof w->why, "word %u of memory %u is %u instead of %u", i, r, is[i], m->model[i]);
    }
    for (unsigned i = 0; i < STREAMS; i++) cj_stream_free(w->stream[i]);
    for (unsigned i = 0; i < w->jobs; i++) free(w->job[i]);
    w->jobs = 0;
    for (unsigned i = 0; i < w->devices; i++) cj_device_collect(w->dev[i]);
    return !*w->why;
}

void work_close(work *w)
{
    for (unsigned i = 0; i < w->devices; i++) {
        /* What a release gives to a stream is work, which another one may wait for. */
        for (int turn = 0; turn < 3 && cj_device_collect(w->dev[i]); turn++) cj_device_sync(w->dev[i]);
        tap_is_uint(cj_device_collect(w->dev[i]), 0, "no release of device %u waits", i);
    }
    for (unsigned r = DEVICE_MEMS; r < MEMS; r++) cj_host_free(w->dev[0], w->mem[r].h);
    for (unsigned i = 0; i < EVENTS; i++) cj_event_free(w->event[i]);
    cj_host_free(w->dev[0], w->word);
    cj_stream_barrier_free(w->meeting);
    for (unsigned i = 0; i < w->devices; i++) {
        cj_kernel_free(w->mix[i]);
        cj_kernel_free(w->move[i]);
        cj_device_close(w->dev[i]);
    }
    cj_ptx_free(w->module);
    cj_driver_close(w->drv);
}
