/* Streams as units: which stream's work comes after which other's, without cycles; a barrier over all of them. */
#include "stream/coordinate/coord.h"

typedef struct unit {
    cj_stream *s; /* retained; NULL: free */
    uint32_t *on; /* units that it comes after */
    size_t count, cap;
    uint64_t mark;
    uint32_t parent; /* of a search: the unit that waits for it */
} unit;

struct cji_coord_units {
    unit *unit;
    size_t units, cap;
    uint64_t search;
    cj_stream_barrier *barrier; /* NULL: there was none */
};

void cji_coord_units_close(cji_coord_units *u)
{
    if (!u) return;
    for (size_t k = 0; k < u->units; k++) {
        cji_free(u->unit[k].on, u->unit[k].cap * sizeof *u->unit[k].on);
        if (u->unit[k].s) cji_stream_drop(u->unit[k].s);
    }
    cj_stream_barrier_free(u->barrier);
    cji_free(u->unit, u->cap * sizeof *u->unit);
    cji_free(u, sizeof *u);
}

static bool units_open(cj_coord *c)
{
    if (!c->units) c->units = cji_zalloc(sizeof *c->units);
    return c->units != NULL;
}

static uint32_t units_find(const cji_coord_units *u, const cj_stream *s)
{
    for (size_t k = 0; u && k < u->units; k++)
        if (u->unit[k].s == s) return (uint32_t)k;
    return CJI_NO_TASK;
}

static uint32_t units_add(cji_coord_units *u, cj_stream *s)
{
    uint32_t k = units_find(u, s);
    if (k == CJI_NO_TASK) k = units_find(u, NULL);
    if (k != CJI_NO_TASK && u->unit[k].s) return k;
    if (k == CJI_NO_TASK) {
        if (!cji_grow(&u->unit, &u->cap, u->units + 1, sizeof *u->unit)) return CJI_NO_TASK;
        k = (uint32_t)u->units++;
        u->unit[k] = (unit){ .s = NULL };
    }
    u->unit[k].s = cji_obj_retain(s);
    u->unit[k].count = 0;
    return k;
}

/* -- Cycles -------------------------------------------------------------------------------------------------------- */

/* Whether `from` comes after `to`, directly or through others; the search leaves the way in `parent`.  `stack` has
 * room for all units. */
static bool units_reach(cji_coord_units *u, uint32_t from, uint32_t to, uint32_t *stack)
{
    size_t n = 0;
    u->search++;
    u->unit[from].mark = u->search;
    u->unit[from].parent = CJI_NO_TASK;
    stack[n++] = from;
    while (n) {
        const uint32_t k = stack[--n];
        if (k == to) return true;
        for (size_t j = 0; j < u->unit[k].count; j++) {
            unit *next = &u->unit[u->unit[k].on[j]];
            if (next->mark == u->search) continue;
            next->mark = u->search;
            next->parent = k;
            stack[n++] = u->unit[k].on[j];
        }
    }
    return false;
}

static cj_status units_cycle(cj_coord *c, uint32_t s, const char *call)
{
    enum { NAMED = 12 };
    const cji_coord_units *u = c->units;
    char why[480];
    cji_line l = { why, sizeof why, 0 };
    uint32_t path[NAMED];
    size_t n = 0;
    for (uint32_t k = s; k != CJI_NO_TASK && n < NAMED; k = u->unit[k].parent) path[n++] = k;
    cji_say(&l, "stream %llu", (unsigned long long)u->unit[s].s->id);
    while (n-- > 0) cji_say(&l, " waits for stream %llu", (unsigned long long)u->unit[path[n]].s->id);
    cji_say(&l, ": a cycle");
    memcpy(c->tasks.cycle[c->tasks.cycles++ % CJI_TASK_CYCLES], why, sizeof why);
    return cji_fail(c, CJ_ESTATE, call, "%s", why);
}

static cj_status units_depend(cj_coord *c, cj_stream *s, cj_stream *on, const char *call)
{
    cji_coord_units *u = units_open(c) ? c->units : NULL;
    const uint32_t a = u ? units_add(u, s) : CJI_NO_TASK, b = a != CJI_NO_TASK ? units_add(u, on) : CJI_NO_TASK;
    if (b == CJI_NO_TASK) return cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
    for (size_t j = 0; j < u->unit[a].count; j++)
        if (u->unit[a].on[j] == b) return CJ_OK;
    uint32_t *stack = cji_alloc(u->units * sizeof *stack);
    if (!stack || !cji_grow(&u->unit[a].on, &u->unit[a].cap, u->unit[a].count + 1, sizeof *u->unit[a].on)) {
        cji_free(stack, u->units * sizeof *stack);
        return cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
    }
    const bool cycle = units_reach(u, b, a, stack);
    cji_free(stack, u->units * sizeof *stack);
    if (cycle) return units_cycle(c, a, call);
    u->unit[a].on[u->unit[a].count++] = b;
    return CJ_OK;
}

/* -- Calls --------------------------------------------------------------------------------------------------------- */

static cj_status units_check(cj_coord *c, cj_stream *s, const char *call)
{
    cj_status st = cji_check(c, CJI_TAG_COORD, call);
    if (st == CJ_OK) st = cji_check_arg(c, s, CJI_TAG_STREAM, call, "the stream");
    if (st == CJ_OK && !cji_device_meets(s->dev, c->dev))
        st = cji_cu_fail_apart(c, s->dev, c->dev, call, "the stream is of another driver than the coordinator");
    return st;
}

cj_status cj_coord_stream_depend(cj_coord *c, cj_stream *s, cj_stream *on)
{
    static const char call[] = "cj_coord_stream_depend";
    cj_status st = units_check(c, s, call);
    if (st == CJ_OK) st = units_check(c, on, call);
    if (st != CJ_OK) return st;
    cji_coord_lock(c);
    st = units_depend(c, s, on, call);
    cji_coord_unlock(c);
    return st;
}

cj_status cj_coord_stream_order(cj_coord *c, cj_stream *s)
{
    static const char call[] = "cj_coord_stream_order";
    cj_status st = units_check(c, s, call);
    if (st != CJ_OK) return st;
    cji_coord_lock(c);
    const uint32_t k = units_find(c->units, s);
    if (k == CJI_NO_TASK) st = CJ_ENOTFOUND;
    for (size_t j = 0; st == CJ_OK && j < c->units->unit[k].count; j++) {
        st = cj_stream_join(s, c->units->unit[c->units->unit[k].on[j]].s);
        if (st != CJ_OK) cji_fail_from(c, s, call);
    }
    cji_coord_unlock(c);
    return st;
}

cj_status cj_coord_stream_forget(cj_coord *c, cj_stream *s)
{
    static const char call[] = "cj_coord_stream_forget";
    cj_status st = units_check(c, s, call);
    if (st != CJ_OK) return st;
    cji_coord_lock(c);
    cji_coord_units *u = c->units;
    const uint32_t k = units_find(u, s);
    for (size_t i = 0; k != CJI_NO_TASK && i < u->units; i++) {
        unit *other = &u->unit[i];
        for (size_t j = 0; j < other->count; j++)
            if (other->on[j] == k) other->on[j--] = other->on[--other->count];
    }
    if (k != CJI_NO_TASK) {
        u->unit[k].s = NULL;
        u->unit[k].count = 0;
    }
    cji_coord_unlock(c);
    if (k != CJI_NO_TASK) cji_stream_drop(s);
    return k == CJI_NO_TASK ? CJ_ENOTFOUND : CJ_OK;
}

/* -- A barrier over all -------------------------------------------------------------------------------------------- */

static cj_stream_barrier *units_barrier(cj_coord *c, bool make, const char *call)
{
    if (make && !units_open(c)) {
        cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
        return NULL;
    }
    if (c->units && c->units->barrier) return c->units->barrier;
    if (!make) {
        cji_fail(c, CJ_ESTATE, call, "there was no barrier yet; call cj_coord_barrier first");
        return NULL;
    }
    cj_stream_barrier *b = cj_stream_barrier_create(c->dev);
    if (!cji_obj_failed(b)) return c->units->barrier = b;
    cji_fail_from(c, b, call);
    cj_stream_barrier_free(b);
    return NULL;
}

static cj_status units_enqueue(cj_coord *c, cj_stream_barrier *b, const char *call)
{
    const size_t most = c->streams + c->units->units;
    size_t n = 0;
    cj_stream **all = cji_alloc((most + 1) * sizeof(cj_stream *));
    if (!all) return cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
    for (size_t x = 0; x < c->streams; x++)
        if (c->stream[x].s && !c->stream[x].foreign) all[n++] = c->stream[x].s;
    for (size_t k = 0; k < c->units->units; k++)
        if (c->units->unit[k].s) all[n++] = c->units->unit[k].s;
    cj_status st = n ? cj_stream_barrier_enqueue(b, all, n)
                     : cji_fail(c, CJ_ESTATE, call, "the coordinator has no streams yet");
    if (st != CJ_OK && n) cji_fail_from(c, b, call);
    cji_free(all, (most + 1) * sizeof(cj_stream *));
    return st;
}

cj_status cj_coord_barrier(cj_coord *c)
{
    static const char call[] = "cj_coord_barrier";
    cj_status st = cji_check(c, CJI_TAG_COORD, call);
    if (st != CJ_OK) return st;
    cji_coord_lock(c);
    cj_stream_barrier *b = units_barrier(c, true, call);
    st = b ? units_enqueue(c, b, call) : cji_err_latest();
    cji_coord_unlock(c);
    return st;
}

/* A call about the latest barrier: `fn` gets `what`. */
static cj_status units_barrier_call(cj_coord *c, cj_status (*fn)(cj_stream_barrier *b, void *what), void *what,
                                    const char *call)
{
    cji_coord_lock(c);
    cj_stream_barrier *b = units_barrier(c, false, call);
    const cj_status st = b ? fn(b, what) : cji_err_latest();
    if (b && st != CJ_OK && st != CJ_ENOTREADY) cji_fail_from(c, b, call);
    cji_coord_unlock(c);
    return st;
}

static cj_status units_wait(cj_stream_barrier *b, void *s) { return cj_stream_barrier_wait(b, s); }
static cj_status units_elapsed(cj_stream_barrier *b, void *time) { return cj_stream_barrier_elapsed(b, time); }

cj_status cj_coord_barrier_wait(cj_coord *c, cj_stream *s)
{
    static const char call[] = "cj_coord_barrier_wait";
    const cj_status st = units_check(c, s, call);
    return st == CJ_OK ? units_barrier_call(c, units_wait, s, call) : st;
}

cj_status cj_coord_barrier_elapsed(cj_coord *c, cj_stream_barrier_time *time)
{
    static const char call[] = "cj_coord_barrier_elapsed";
    const cj_status st = cji_check(c, CJI_TAG_COORD, call);
    return st == CJ_OK ? units_barrier_call(c, units_elapsed, time, call) : st;
}
