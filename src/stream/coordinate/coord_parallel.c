/* Parallel execution: a group with one task for each index. */
#include "stream/coordinate/coord.h"

void cj_parallel_defaults(cj_parallel_opts *opts)
{
    if (opts) *opts = (cj_parallel_opts){ .size = sizeof *opts };
}

typedef struct parallel_job {
    cj_status (*run)(void *user, uint32_t index, cj_stream *s);
    void *user;
    uint32_t index;
} parallel_job;

static cj_status parallel_run(void *user, cj_stream *s)
{
    const parallel_job *j = user;
    return j->run(j->user, j->index, s);
}

static void parallel_release(void *user) { cji_free(user, sizeof(parallel_job)); }

static bool parallel_add(cj_coord *c, const cj_parallel_opts *o, cj_task group, uint32_t index, const char *call)
{
    static const cji_coord_extra extra = { parallel_release };
    cj_task_opts t;
    cj_task_defaults(&t);
    parallel_job *j = cji_alloc(sizeof *j);
    if (!j) return cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted") == CJ_OK;
    *j = (parallel_job){ o->run, o->user, index };
    t.priority = o->priority;
    t.what = o->what;
    t.group = group;
    t.run = parallel_run;
    t.user = j;
    if (cji_coord_add(c, &t, &extra, call)) return true;
    parallel_release(j);
    return false;
}

static cj_task parallel_group(cj_coord *c, const cj_parallel_opts *o, const char *call)
{
    cj_task_opts t;
    uint32_t i;
    bool good = true;
    cj_task_defaults(&t);
    t.priority = o->priority;
    t.what = o->what;
    t.after = o->after;
    t.done = o->done;
    t.user = o->user;
    const cj_task group = cji_coord_add_group(c, &t, CJ_TASK_GROUP, call);
    if (!group || cji_task_find(&c->tasks, group, &i) != CJI_TASK_IS_HERE) return 0;
    for (uint32_t k = 0; k < o->count && good; k++) good = parallel_add(c, o, group, k, call);
    if (good) {
        cji_task_close_group(&c->tasks, i);
        return group;
    }
    cji_task_at(&c->tasks, i)->done = NULL; /* the caller never had it */
    cji_task_cancel(&c->tasks, i);
    cji_task_close_group(&c->tasks, i); /* one that is poisoned cannot be cancelled */
    return 0;
}

cj_task cj_coord_parallel(cj_coord *c, const cj_parallel_opts *opts)
{
    static const char call[] = "cj_coord_parallel";
    cj_parallel_opts o;
    if (cji_check(c, CJI_TAG_COORD, call) != CJ_OK) return 0;
    cj_parallel_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, opts, c, call, "cj_parallel")) return 0;
    if (!o.run) return cji_fail(c, CJ_EINVAL, call, ".run is NULL"), 0;
    if (!o.count) o.count = c->opts.streams;
    cji_coord_lock(c);
    const cj_task task = parallel_group(c, &o, call);
    cji_coord_unlock(c);
    return task;
}
