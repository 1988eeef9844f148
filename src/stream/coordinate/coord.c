/* Coordinators: made and released; tasks and groups are added, changed, cancelled. */
#include <unistd.h>

#include "stream/coordinate/coord.h"

enum { COORD_DEPTH = 256, COORD_AGING = 64, COORD_AGING_MOST = 1 << 20 };

/* -- Making and releasing ------------------------------------------------------------------------------------------ */

void cj_coord_defaults(cj_coord_opts *opts)
{
    if (opts) *opts = (cj_coord_opts){ .size = sizeof *opts };
}

static bool coord_options(cj_coord *c, const cj_coord_opts *opts, const char *call)
{
    cj_coord_defaults(&c->opts);
    if (!cji_opts_take(&c->opts, sizeof c->opts, opts, c, call, "cj_coord")) return false;
    cj_coord_opts *o = &c->opts;
    if (!o->streams) o->streams = 8;
    if (!o->in_flight) o->in_flight = 1024;
    if (!o->aging) o->aging = COORD_AGING;
    if (!o->history) o->history = 4096;
    if (o->streams > CJI_COORD_PER_LEVEL)
        cji_fail(c, CJ_EINVAL, call, ".streams is %u; at most %d", o->streams, CJI_COORD_PER_LEVEL);
    else if (o->aging < -1 || o->aging > COORD_AGING_MOST)
        cji_fail(c, CJ_EINVAL, call, ".aging is %d; wants -1 to %d", o->aging, COORD_AGING_MOST);
    else return true;
    return false;
}

cj_coord *cj_coord_create(cj_device *dev, const cj_coord_opts *opts)
{
    static const char call[] = "cj_coord_create";
    cj_coord *c = cji_obj_new(sizeof *c, CJI_TAG_COORD, 0, call);
    if (cji_obj_failed(c)) return c;
    pthread_mutex_init(&c->lock, NULL);
    c->notify = c->notify_last = CJI_NO_TASK;
    c->fd = -1;
    bool good = cji_check_arg(c, dev, CJI_TAG_DEVICE, call, "the device") == CJ_OK;
    if (good) c->dev = cji_obj_retain(dev);
    good = good && coord_options(c, opts, call);
    if (good && !cji_tasks_open(&c->tasks, c->opts.aging, c->opts.history, c->opts.picture != 0))
        good = cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted") == CJ_OK;
    good = good && cji_coord_device_of(c, dev, call) == 0;
    if (!good) cji_obj_set_failed(c);
    return c;
}

void cj_coord_free(cj_coord *c)
{
    if (!cji_check_free(c, CJI_TAG_COORD, "cj_coord_free") || !cji_obj_release(c)) return;
    cj_device *dev = c->dev;
    for (uint32_t i = 0; i < c->tasks.blocks * CJI_TASK_BLOCK; i++) cji_coord_unlease(cji_task_at(&c->tasks, i));
    cji_tasks_close(&c->tasks);
    cji_coord_kernels_close(c);
    if (c->fd >= 0) close(c->fd);
    cji_coord_units_close(c->units);
    cji_coord_streams_close(c);
    cji_free(c->record, c->record_cap * sizeof *c->record);
    cji_free(c->waiting, c->waiting_cap * sizeof *c->waiting);
    cji_text_free(&c->dot);
    cji_text_free(&c->cycles);
    cji_text_free(&c->deadlocks_text);
    pthread_mutex_destroy(&c->lock);
    cji_obj_delete(c, sizeof *c);
    if (dev) cji_device_drop(dev);
}

int cji_coord_device_of(cj_coord *c, cj_device *dev, const char *call)
{
    for (size_t d = 0; d < c->devices; d++)
        if (cji_same_device(&c->device[d]->dev->queue, &dev->queue)) return (int)d;
    if (!cji_device_meets(dev, c->dev))
        return cji_cu_fail_apart(c, dev, c->dev, call, "the device is of another driver than the coordinator"), -1;
    cji_coord_device *d = NULL;
    if (c->devices >= UINT16_MAX || !cji_grow(&c->device, &c->device_cap, c->devices + 1, sizeof *c->device) ||
        !(d = cji_zalloc(sizeof *d)))
        return cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted"), -1;
    d->events = cj_event_pool_for_device(dev);
    if (cji_obj_failed(d->events)) {
        cji_fail_from(c, d->events, call);
        cj_event_pool_free(d->events);
        cji_free(d, sizeof *d);
        return -1;
    }
    d->dev = cji_obj_retain(dev);
    c->device[c->devices] = d;
    return (int)c->devices++;
}

cj_status cj_coord_use_pool(cj_coord *c, cj_stream_pool *pool)
{
    static const char call[] = "cj_coord_use_pool";
    cj_status st = cji_check(c, CJI_TAG_COORD, call);
    if (st == CJ_OK) st = cji_check_arg(c, pool, CJI_TAG_STREAM_POOL, call, "the pool");
    if (st != CJ_OK) return st;
    cji_coord_lock(c);
    const int d = cji_coord_device_of(c, cj_stream_pool_device(pool), call);
    if (d >= 0) c->device[d]->pool = pool;
    cji_coord_unlock(c);
    return d < 0 ? cji_err_latest() : CJ_OK;
}

/* -- Handles ------------------------------------------------------------------------------------------------------- */

cj_status cji_coord_find(cj_coord *c, cj_task task, uint32_t *i, const char *call)
{
    switch (cji_task_find(&c->tasks, task, i)) {
    case CJI_TASK_IS_HERE: return CJ_OK;
    case CJI_TASK_IS_FORGOTTEN:
        return cji_fail(c, CJ_EHANDLE, call,
                        "the task has ended and is forgotten; raise .history of the coordinator to read it later");
    default: break;
    }
    return cji_fail(c, CJ_EHANDLE, call, task ? "0x%llx is no task of this coordinator" : "the task is none (0x%llx)",
                    (unsigned long long)task);
}

/* -- Adding -------------------------------------------------------------------------------------------------------- */

void cj_task_defaults(cj_task_opts *opts)
{
    if (opts) *opts = (cj_task_opts){ .size = sizeof *opts };
}

/* ORDER cj_task_kind, and its comments */
static const struct { int32_t priority; uint8_t work; } kinds[] = {
    [CJ_TASK_KERNEL] = { CJ_PRIORITY_NORMAL, CJ_WORK_COMPUTE },
    [CJ_TASK_TRANSFER] = { CJ_PRIORITY_NORMAL, CJ_WORK_MEMORY },
    [CJ_TASK_SYNC] = { CJ_PRIORITY_HIGH, CJ_WORK_COORDINATION },
    [CJ_TASK_REDUCE] = { CJ_PRIORITY_HIGH, CJ_WORK_MIXED },
    [CJ_TASK_BROADCAST] = { CJ_PRIORITY_HIGH, CJ_WORK_MEMORY },
    [CJ_TASK_ALL_REDUCE] = { CJ_PRIORITY_CRITICAL, CJ_WORK_MIXED },
    [CJ_TASK_BARRIER] = { CJ_PRIORITY_CRITICAL, CJ_WORK_COORDINATION },
    [CJ_TASK_GROUP] = { CJ_PRIORITY_NORMAL, CJ_WORK_COORDINATION },
};

static cj_status add_check_ranges(cj_coord *c, const cj_ranges *r, const char *which, const char *call)
{
    if (r->count && !r->list) return cji_fail(c, CJ_EINVAL, call, "%s has %zu ranges at NULL", which, r->count);
    for (size_t k = 0; k < r->count; k++)
        if (!r->list[k].bytes || r->list[k].d.addr + r->list[k].bytes < r->list[k].d.addr)
            return cji_fail(c, CJ_EINVAL, call, "range %zu of %s has %llu bytes at 0x%llx", k, which,
                            (unsigned long long)r->list[k].bytes, (unsigned long long)r->list[k].d.addr);
    return CJ_OK;
}

static cj_status add_check(cj_coord *c, const cj_task_opts *o, bool group, const char *call)
{
    if (!group && (o->kind < 0 || o->kind >= CJ_TASK_GROUP))
        return cji_fail(c, CJ_EINVAL, call,
                        o->kind == CJ_TASK_GROUP ? "a group (kind %d) is added by cj_coord_add_group"
                                                 : "the kind %d is no cj_task_kind",
                        o->kind);
    if (cji_task_class(o->priority) < 0)
        return cji_fail(c, CJ_EINVAL, call, "the priority %d is none of a task", o->priority);
    if (o->work < 0 || o->work > CJ_WORK_COORDINATION)
        return cji_fail(c, CJ_EINVAL, call, "the workload %d is no cj_work", o->work);
    if (o->after.count && !o->after.list)
        return cji_fail(c, CJ_EINVAL, call, "after has %zu tasks at NULL", o->after.count);
    if (o->device && cji_check_arg(c, o->device, CJI_TAG_DEVICE, call, "the device") != CJ_OK)
        return cji_err_latest();
    cj_status st = o->reads.count ? add_check_ranges(c, &o->reads, "reads", call) : CJ_OK;
    return st == CJ_OK && o->writes.count ? add_check_ranges(c, &o->writes, "writes", call) : st;
}

/* The group that a task is to belong to. */
static cj_status add_find_group(cj_coord *c, cj_task group, uint32_t *g, const char *call)
{
    *g = CJI_NO_TASK;
    if (!group) return CJ_OK;
    cj_status st = cji_coord_find(c, group, g, call);
    if (st != CJ_OK) return st;
    const cji_task *t = cji_task_at(&c->tasks, *g);
    if (!t->members)
        return cji_fail(c, CJ_EHANDLE, call, "task %llu is no group", (unsigned long long)t->number);
    if (t->members->open) return CJ_OK;
    return cji_fail(c, CJ_ESTATE, call, "group %llu '%s' is closed, and takes no more members",
                    (unsigned long long)t->number, cji_short(t->what));
}

/* The frame of a call that changes a task: `change` runs with the lock held. */
static cj_status change_task(cj_coord *c, cj_task task, uint64_t value,
                             cj_status (*change)(cj_coord *c, uint32_t i, uint64_t value, const char *call),
                             const char *call)
{
    uint32_t i;
    cj_status st = cji_check(c, CJI_TAG_COORD, call);
    if (st != CJ_OK) return st;
    cji_coord_lock(c);
    st = cji_coord_find(c, task, &i, call);
    if (st == CJ_OK) st = change(c, i, value, call);
    cji_coord_unlock(c);
    return st;
}

static cj_status coord_add_failed(cj_coord *c, cj_status st, const char *why, const char *call)
{
    if (st == CJ_ESTATE) return cji_fail(c, st, call, "%s", why);
    return cji_fail(c, st, call, "host memory is exhausted");
}

/* A barrier comes after all since the last one, which came after those before it. */
static cj_status add_barrier_edges(cj_coord *c, uint32_t i, const cji_task_members *scope, char *why, size_t size)
{
    cji_tasks *g = &c->tasks;
    uint32_t on;
    cj_status st = CJ_OK;
    const uint64_t since =
        cji_task_find(g, scope->barrier, &on) == CJI_TASK_IS_HERE ? cji_task_at(g, on)->number : 0;
    for (uint32_t m = scope->last; st == CJ_OK && m != CJI_NO_TASK && cji_task_at(g, m)->number > since;
         m = cji_task_at(g, m)->member_prev)
        if (m != i) st = cji_task_depend(g, i, m, CJI_EDGE_ORDER, why, size);
    return st;
}

/* The edges of a new task that its options name. */
static cj_status add_edges(cj_coord *c, uint32_t i, const cj_task_opts *o, uint32_t group, bool member,
                           const char *call)
{
    char why[480];
    cji_tasks *g = &c->tasks;
    cji_task_members *scope = group == CJI_NO_TASK ? &g->root : cji_task_at(g, group)->members;
    cj_status st = CJ_OK;
    uint32_t on;
    for (size_t k = 0; k < o->after.count && st == CJ_OK; k++) {
        const cji_task_is is = cji_task_find(g, o->after.list[k], &on);
        if (is == CJI_TASK_IS_NONE) return cji_coord_find(c, o->after.list[k], &on, call);
        if (is == CJI_TASK_IS_HERE) st = cji_task_depend(g, i, on, 0, why, sizeof why);
    }
    if (st == CJ_OK && scope->start && cji_task_find(g, scope->start, &on) == CJI_TASK_IS_HERE)
        st = cji_task_depend(g, i, on, 0, why, sizeof why);
    if (st == CJ_OK && scope->barrier && cji_task_find(g, scope->barrier, &on) == CJI_TASK_IS_HERE)
        st = cji_task_depend(g, i, on, CJI_EDGE_ORDER, why, sizeof why);
    if (st == CJ_OK && o->kind == CJ_TASK_BARRIER) st = add_barrier_edges(c, i, scope, why, sizeof why);
    if (st == CJ_OK && (o->reads.count || o->writes.count)) st = cji_task_touch(g, i, &o->reads, &o->writes);
    /* the last one: nothing may depend on a task that is discarded */
    if (st == CJ_OK && member && group != CJI_NO_TASK) st = cji_task_depend(g, group, i, 0, why, sizeof why);
    return st == CJ_OK ? CJ_OK : coord_add_failed(c, st, why, call);
}

/* Room for the record of one more completion. */
static bool add_record_room(cj_coord *c)
{
    const size_t need = c->records + (size_t)c->tasks.unended + 2;
    if (!c->opts.completions || need <= c->record_cap) return true;
    const size_t cap = need < 64 ? 64 : 2 * need;
    cj_task_record *r = cji_alloc(cap * sizeof *r);
    if (!r) return false;
    for (size_t k = 0; k < c->records; k++) r[k] = c->record[(c->record_first + k) % c->record_cap];
    cji_free(c->record, c->record_cap * sizeof *r);
    c->record = r;
    c->record_cap = cap;
    c->record_first = 0;
    return true;
}

/* A task without edges; CJI_NO_TASK: left in `c`. */
static uint32_t add_task(cj_coord *c, const cj_task_opts *o, cj_task_kind kind, const char *call)
{
    const int device = o->device ? cji_coord_device_of(c, o->device, call) : 0;
    if (device < 0) return CJI_NO_TASK;
    const uint32_t i = add_record_room(c) ? cji_task_new(&c->tasks, false) : CJI_NO_TASK;
    char *what = NULL;
    if (i == CJI_NO_TASK || (o->what && !(what = cji_strdup(o->what)))) {
        if (i != CJI_NO_TASK) cji_task_discard(&c->tasks, i);
        cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
        return CJI_NO_TASK;
    }
    cji_task *t = cji_task_at(&c->tasks, i);
    const bool exact = o->exact != 0;
    if (what) cji_task_rare(t)->what = what;
    t->kind = (uint8_t)kind;
    t->own = t->class = (uint8_t)cji_task_class(exact || o->priority ? o->priority : kinds[kind].priority);
    t->work = (uint8_t)(exact || o->work ? o->work : kinds[kind].work);
    t->needs_end = kind == CJ_TASK_SYNC;
    t->device = (uint16_t)device;
    t->stream = CJI_COORD_NO_STREAM;
    t->run = o->run;
    t->done = o->done;
    t->user = o->user;
    t->any_thread = o->any_thread != 0;
    t->pull = !o->run && kind != CJ_TASK_BARRIER && kind != CJ_TASK_GROUP;
    t->added = cji_now();
    if (o->deadline_ms) cji_task_rare(t)->deadline = t->added + (uint64_t)o->deadline_ms * 1000000;
    return i;
}

cj_task cji_coord_add(cj_coord *c, const cj_task_opts *o, const cji_coord_extra *extra, const char *call)
{
    uint32_t group;
    if (add_check(c, o, false, call) != CJ_OK || add_find_group(c, o->group, &group, call) != CJ_OK) return 0;
    const uint32_t i = add_task(c, o, (cj_task_kind)o->kind, call);
    if (i == CJI_NO_TASK) return 0;
    if (add_edges(c, i, o, group, true, call) != CJ_OK) {
        cji_task_discard(&c->tasks, i);
        return 0;
    }
    cji_task *t = cji_task_at(&c->tasks, i);
    if (extra) cji_task_rare(t)->release = extra->release;
    cji_task_join_group(&c->tasks, i, group);
    const cj_task task = cji_task_handle(&c->tasks, i);
    if (t->kind == CJ_TASK_BARRIER) {
        cji_task_members *scope = group == CJI_NO_TASK ? &c->tasks.root : cji_task_at(&c->tasks, group)->members;
        scope->barrier = task;
    }
    cji_task_admit(&c->tasks, i);
    return task;
}

cj_task cj_coord_add(cj_coord *c, const cj_task_opts *task)
{
    static const char call[] = "cj_coord_add";
    cj_task_opts other;
    if (!cji_is_live(c, CJI_TAG_COORD) && cji_check(c, CJI_TAG_COORD, call) != CJ_OK) return 0;
    if (!task || task->size != sizeof *task) { /* of another version; else they are used where they are */
        cj_task_defaults(&other);
        if (!cji_opts_take(&other, sizeof other, task, c, call, "cj_task")) return 0;
        task = &other;
    }
    cji_coord_lock(c);
    const cj_task t = cji_coord_add(c, task, NULL, call);
    cji_coord_unlock(c);
    return t;
}

/* -- Groups -------------------------------------------------------------------------------------------------------- */

/* The hidden task that the members come after.  The group's dependencies are its dependencies. */
static cj_status group_start(cj_coord *c, uint32_t i, const cj_task_opts *o, uint32_t group, const char *call)
{
    const uint32_t s = cji_task_new(&c->tasks, true);
    if (s == CJI_NO_TASK) return cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
    cji_task *t = cji_task_at(&c->tasks, s);
    const cji_task *whole = cji_task_at(&c->tasks, i);
    char why[480];
    t->kind = CJ_TASK_GROUP;
    t->device = whole->device;
    t->stream = CJI_COORD_NO_STREAM;
    t->own = t->class = whole->class;
    t->added = whole->added;
    cj_task_opts first = *o;
    first.kind = CJ_TASK_GROUP, first.reads.count = first.writes.count = 0;
    cj_status st = add_edges(c, s, &first, group, false, call);
    if (st == CJ_OK && (st = cji_task_depend(&c->tasks, i, s, 0, why, sizeof why)) != CJ_OK)
        coord_add_failed(c, st, why, call);
    if (st != CJ_OK) {
        cji_task_discard(&c->tasks, s);
        return st;
    }
    cji_task_at(&c->tasks, i)->members->start = cji_task_handle(&c->tasks, s);
    cji_task_join_group(&c->tasks, s, CJI_NO_TASK);
    cji_task_admit(&c->tasks, s);
    return CJ_OK;
}

static cj_status group_depth(cj_coord *c, uint32_t group, const char *call)
{
    int depth = 0;
    for (; group != CJI_NO_TASK; group = cji_task_at(&c->tasks, group)->group)
        if (++depth >= COORD_DEPTH) return cji_fail(c, CJ_EINVAL, call, "groups are nested %d deep", depth);
    return CJ_OK;
}

cj_task cji_coord_add_group(cj_coord *c, const cj_task_opts *o, cj_task_kind kind, const char *call)
{
    uint32_t group;
    char why[480];
    if (add_check(c, o, true, call) != CJ_OK || add_find_group(c, o->group, &group, call) != CJ_OK ||
        group_depth(c, group, call) != CJ_OK)
        return 0;
    cji_task_members *members = cji_zalloc(sizeof *members);
    const uint32_t i = members ? add_task(c, o, kind, call) : CJI_NO_TASK;
    if (i == CJI_NO_TASK) {
        if (!members) cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
        cji_free(members, sizeof *members);
        return 0;
    }
    cji_task *t = cji_task_at(&c->tasks, i);
    *members = (cji_task_members){ .first = CJI_NO_TASK, .last = CJI_NO_TASK, .open = true };
    cji_task_rare(t)->members = members;
    t->run = NULL;
    t->pull = false;
    cj_status st = CJ_OK;
    if (group != CJI_NO_TASK && (st = cji_task_depend(&c->tasks, group, i, 0, why, sizeof why)) != CJ_OK)
        coord_add_failed(c, st, why, call);
    else st = group_start(c, i, o, group, call);
    if (st != CJ_OK) { /* its own group may wait for it already: it ends at once, without a trace but its number */
        cji_task_join_group(&c->tasks, i, group);
        t->hidden = true;
        c->tasks.in_state[t->state]--;
        c->tasks.added--;
        cji_task_close_group(&c->tasks, i);
        return 0;
    }
    cji_task_join_group(&c->tasks, i, group);
    return cji_task_handle(&c->tasks, i);
}

cj_task cj_coord_add_group(cj_coord *c, const cj_task_opts *task)
{
    static const char call[] = "cj_coord_add_group";
    cj_task_opts o;
    if (cji_check(c, CJI_TAG_COORD, call) != CJ_OK) return 0;
    cj_task_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, task, c, call, "cj_task")) return 0;
    o.run = NULL, o.reads.count = o.writes.count = 0;
    cji_coord_lock(c);
    const cj_task t = cji_coord_add_group(c, &o, CJ_TASK_GROUP, call);
    cji_coord_unlock(c);
    return t;
}

static cj_status close_locked(cj_coord *c, uint32_t i, uint64_t none, const char *call)
{
    (void)none;
    const cji_task *t = cji_task_at(&c->tasks, i);
    if (!t->members) return cji_fail(c, CJ_EHANDLE, call, "task %llu is no group", (unsigned long long)t->number);
    cji_task_close_group(&c->tasks, i);
    return CJ_OK;
}

cj_status cj_coord_close_group(cj_coord *c, cj_task group)
{
    return change_task(c, group, 0, close_locked, "cj_coord_close_group");
}

/* -- Changing ------------------------------------------------------------------------------------------------------ */

/* CJ_ESTATE, left in `c`, when the task has begun. */
static cj_status change_check(cj_coord *c, uint32_t i, const char *call)
{
    const cji_task *t = cji_task_at(&c->tasks, i);
    if (cji_task_unbegun(t) && !cji_task_is_skipped(t)) return CJ_OK;
    return cji_fail(c, CJ_ESTATE, call, "task %llu '%s' has %s", (unsigned long long)t->number, cji_short(t->what),
                    cji_task_ended(t) || cji_task_unbegun(t) ? "ended" : "begun");
}

static cj_status depend_locked(cj_coord *c, uint32_t i, uint64_t on, const char *call)
{
    char why[480];
    uint32_t p;
    cj_status st = CJ_OK;
    const cji_task_is is = cji_task_find(&c->tasks, on, &p);
    if (is == CJI_TASK_IS_NONE) st = cji_coord_find(c, on, &p, call);
    if (st == CJ_OK) st = change_check(c, i, call);
    if (st == CJ_OK && cji_task_at(&c->tasks, i)->members) { /* a group begins with its hidden start */
        uint32_t start = i;
        if (cji_task_find(&c->tasks, cji_task_at(&c->tasks, i)->members->start, &start) != CJI_TASK_IS_HERE ||
            change_check(c, start, call) != CJ_OK)
            st = cji_fail(c, CJ_ESTATE, call, "group %llu '%s' has begun",
                          (unsigned long long)cji_task_at(&c->tasks, i)->number,
                          cji_short(cji_task_at(&c->tasks, i)->what));
        i = start;
    }
    if (st == CJ_OK && is == CJI_TASK_IS_HERE) {
        st = cji_task_depend(&c->tasks, i, p, 0, why, sizeof why);
        if (st != CJ_OK) coord_add_failed(c, st, why, call);
    }
    return st;
}

cj_status cj_coord_depend(cj_coord *c, cj_task task, cj_task on)
{
    return change_task(c, task, on, depend_locked, "cj_coord_depend");
}

static cj_status priority_locked(cj_coord *c, uint32_t i, uint64_t class, const char *call)
{
    const cj_status st = change_check(c, i, call);
    if (st == CJ_OK) cji_task_set_class(&c->tasks, i, (int)class);
    return st;
}

cj_status cj_coord_set_priority(cj_coord *c, cj_task task, cj_priority priority)
{
    static const char call[] = "cj_coord_set_priority";
    const int class = cji_task_class((int32_t)priority);
    if (class >= 0) return change_task(c, task, (uint64_t)class, priority_locked, call);
    const cj_status st = cji_check(c, CJI_TAG_COORD, call);
    return st == CJ_OK ? cji_fail(c, CJ_EINVAL, call, "the priority %d is none of a task", (int)priority) : st;
}

static cj_status cancel_locked(cj_coord *c, uint32_t i, uint64_t none, const char *call)
{
    (void)none;
    const cj_status st = change_check(c, i, call);
    if (st != CJ_OK || cji_task_cancel(&c->tasks, i)) return st;
    return cji_fail(c, CJ_ESTATE, call, "all members of group %llu '%s' have begun",
                    (unsigned long long)cji_task_at(&c->tasks, i)->number, cji_short(cji_task_at(&c->tasks, i)->what));
}

cj_status cj_coord_cancel(cj_coord *c, cj_task task)
{
    return change_task(c, task, 0, cancel_locked, "cj_coord_cancel");
}
