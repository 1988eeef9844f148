/* Reduce, broadcast and all-reduce over the memory of several devices, as tasks.  Their order follows from the ranges
 * that they read and write.
 *
 * An all-reduce of P parts has P shares.  One task for each part combines the share of its own: it reads that share of
 * all parts.  Then one task for each part copies the other shares to it.  So each device computes the same amount, and
 * each element is computed once, which is why all parts have the same bits. */
#include <cujit/copy.h>
#include <cujit/launch.h>

#include "stream/coordinate/coord.h"

void cj_collective_defaults(cj_collective_opts *opts)
{
    if (opts) *opts = (cj_collective_opts){ .size = sizeof *opts };
}

/* What one task of a collective does: for the elements `first` to `end` of part `own`. */
typedef struct collective_job {
    cj_kernel *combine; /* belongs to the coordinator; NULL: only copies */
    uint64_t first, end; /* copies: of the whole */
    size_t bytes;       /* of one element */
    uint32_t own, from; /* copies: from this part alone, or from all (UINT32_MAX), each its share */
    size_t count;
    cj_part part[];
} collective_job;

enum { COMBINE_MOST = 1 << 30, COMBINE_BLOCK = 256, COMBINE_BLOCKS = 1024 };

static cj_dptr collective_at(const collective_job *j, uint32_t part, uint64_t element)
{
    return cj_offset(j->part[part].d, (int64_t)(element * j->bytes));
}

/* The elements of a share: shares differ by at most one element. */
static uint64_t collective_share(uint64_t count, size_t parts, size_t share)
{
    const uint64_t each = count / parts, rest = count % parts;
    return share * each + (share < rest ? share : rest);
}

/* -- Combining ----------------------------------------------------------------------------------------------------- */

static cj_status combine_launch(const collective_job *j, cj_stream *s, cj_dptr to, cj_dptr from, uint64_t n)
{
    cj_status st = CJ_OK;
    for (uint64_t done = 0; done < n && st == CJ_OK; done += COMBINE_MOST) {
        const uint32_t some = (uint32_t)(n - done < COMBINE_MOST ? n - done : COMBINE_MOST);
        const uint32_t blocks = (some - 1) / COMBINE_BLOCK + 1;
        cj_dims dims;
        cj_dims_set(&dims, blocks < COMBINE_BLOCKS ? blocks : COMBINE_BLOCKS, 1, 1, COMBINE_BLOCK, 1, 1);
        cj_arg args[3];
        cj_arg_set_ptr(&args[0], cj_offset(to, (int64_t)(done * j->bytes)));
        cj_arg_set_ptr(&args[1], cj_offset(from, (int64_t)(done * j->bytes)));
        cj_arg_set_u(&args[2], some);
        st = cj_launch_n(s, j->combine, &dims, args, 3);
    }
    return st;
}

/* Part `own` becomes the combination of all parts, itself first, then the others in their order. */
static cj_status collective_combine(void *user, cj_stream *s)
{
    const collective_job *j = user;
    cj_device *const dev = j->part[j->own].device;
    const uint64_t n = j->end - j->first;
    cj_dptr room = { 0 };
    cj_status st = CJ_OK;
    for (uint32_t p = 0; p < j->count && st == CJ_OK && n; p++) {
        if (p == j->own) continue;
        cj_dptr from = collective_at(j, p, j->first);
        if (!cji_same_device(&j->part[p].device->queue, &dev->queue)) {
            if (!room.addr) room = cj_alloc(s, n * j->bytes);
            if (!room.addr) return cji_err_latest();
            st = cj_copy_peer(s, dev, room, j->part[p].device, from, n * j->bytes);
            from = room;
        }
        if (st == CJ_OK) st = combine_launch(j, s, collective_at(j, j->own, j->first), from, n);
    }
    if (room.addr) {
        const cj_status freed = cj_free(dev, room);
        if (st == CJ_OK) st = freed;
    }
    return st;
}

/* -- Copying ------------------------------------------------------------------------------------------------------- */

static cj_status collective_copy_from(const collective_job *j, cj_stream *s, uint32_t p, uint64_t first, uint64_t end)
{
    cj_device *const dev = j->part[j->own].device, *const from = j->part[p].device;
    const cj_dptr to = collective_at(j, j->own, first), src = collective_at(j, p, first);
    const uint64_t bytes = (end - first) * j->bytes;
    if (first == end) return CJ_OK;
    return cji_same_device(&from->queue, &dev->queue) ? cj_copy(s, to, src, bytes)
                                                      : cj_copy_peer(s, dev, to, from, src, bytes);
}

/* Part `own` gets what the others have. */
static cj_status collective_copy(void *user, cj_stream *s)
{
    const collective_job *j = user;
    cj_status st = CJ_OK;
    if (j->from != UINT32_MAX) return collective_copy_from(j, s, j->from, j->first, j->end);
    for (uint32_t p = 0; p < j->count && st == CJ_OK; p++)
        if (p != j->own)
            st = collective_copy_from(j, s, p, collective_share(j->end, j->count, p),
                                      collective_share(j->end, j->count, p + 1));
    return st;
}

/* -- Tasks --------------------------------------------------------------------------------------------------------- */

static size_t collective_job_bytes(size_t parts) { return sizeof(collective_job) + parts * sizeof(cj_part); }

static void collective_release(void *user)
{
    const collective_job *j = user;
    cji_free(user, collective_job_bytes(j->count));
}

typedef struct collective {
    cj_coord *c;
    const cj_collective_opts *o;
    const char *call;
    cj_task_kind kind;
    size_t bytes; /* of an element */
    cj_task group;
    cj_range *reads, *writes; /* room for a range of each part */
} collective;

static collective_job *collective_new_job(const collective *k, uint32_t own, uint64_t first, uint64_t end)
{
    collective_job *j = cji_zalloc(collective_job_bytes(k->o->parts.count));
    if (!j) {
        cji_fail(k->c, CJ_ENOMEM, k->call, "host memory is exhausted");
        return NULL;
    }
    *j = (collective_job){ .first = first, .end = end, .bytes = k->bytes, .own = own, .from = UINT32_MAX,
                           .count = k->o->parts.count };
    memcpy(j->part, k->o->parts.list, j->count * sizeof *j->part);
    return j;
}

static cj_range collective_range(const collective_job *j, uint32_t part, uint64_t first, uint64_t end)
{
    return (cj_range){ collective_at(j, part, first), (end - first) * j->bytes };
}

/* With the lock held; takes the job over. */
static bool collective_add(const collective *k, collective_job *j, cj_status (*run)(void *, cj_stream *),
                           size_t reads, size_t writes)
{
    static const cji_coord_extra extra = { collective_release };
    cj_task_opts t;
    cj_task_defaults(&t);
    t.kind = k->kind;
    t.priority = k->o->priority;
    t.exact = k->o->exact;
    t.what = k->o->what;
    t.device = j->part[j->own].device;
    t.group = k->group;
    t.reads = (cj_ranges){ k->reads, reads };
    t.writes = (cj_ranges){ k->writes, writes };
    t.run = run;
    t.user = j;
    t.work = k->kind == CJ_TASK_BROADCAST ? CJ_WORK_MEMORY : CJ_WORK_MIXED;
    if (cji_coord_add(k->c, &t, &extra, k->call)) return true;
    collective_release(j);
    return false;
}

/* Combines the elements of part `own`. */
static bool collective_add_combine(const collective *k, uint32_t own, uint64_t first, uint64_t end, cj_kernel *kernel)
{
    if (first == end || k->o->parts.count == 1) return true;
    collective_job *j = collective_new_job(k, own, first, end);
    if (!j) return false;
    j->combine = kernel;
    for (uint32_t p = 0; p < j->count; p++) k->reads[p] = collective_range(j, p, first, end);
    k->writes[0] = k->reads[own];
    return collective_add(k, j, collective_combine, j->count, 1);
}

/* Copies part `from` to part `own`. */
static bool collective_add_copy(const collective *k, uint32_t own, uint32_t from)
{
    collective_job *j = collective_new_job(k, own, 0, k->o->count);
    if (!j) return false;
    j->from = from;
    k->reads[0] = collective_range(j, from, 0, j->end);
    k->writes[0] = collective_range(j, own, 0, j->end);
    return collective_add(k, j, collective_copy, 1, 1);
}

/* Copies the shares of the other parts to part `own`. */
static bool collective_add_gather(const collective *k, uint32_t own)
{
    collective_job *j = collective_new_job(k, own, 0, k->o->count);
    size_t n = 0;
    if (!j) return false;
    for (uint32_t p = 0; p < j->count; p++) {
        const uint64_t first = collective_share(j->end, j->count, p), end = collective_share(j->end, j->count, p + 1);
        if (p == own || first == end) continue;
        k->reads[n] = collective_range(j, p, first, end);
        k->writes[n++] = collective_range(j, own, first, end);
    }
    return collective_add(k, j, collective_copy, n, n);
}

static bool collective_add_members(const collective *k, cj_kernel *const *kernel)
{
    const cj_collective_opts *o = k->o;
    const size_t parts = o->parts.count;
    bool good = true;
    if (k->kind == CJ_TASK_REDUCE) return collective_add_combine(k, o->root, 0, o->count, kernel[o->root]);
    for (uint32_t p = 0; p < parts && good; p++) {
        if (k->kind == CJ_TASK_BROADCAST) good = p == o->root || collective_add_copy(k, p, o->root);
        else
            good = collective_add_combine(k, p, collective_share(o->count, parts, p),
                                          collective_share(o->count, parts, p + 1), kernel[p]);
    }
    for (uint32_t p = 0; p < parts && good && k->kind == CJ_TASK_ALL_REDUCE && parts > 1; p++)
        good = collective_add_gather(k, p);
    return good;
}

/* -- Calls --------------------------------------------------------------------------------------------------------- */

static size_t collective_element(int32_t type)
{
    switch (type) {
    case CJ_S32: case CJ_U32: case CJ_F32: return 4;
    case CJ_S64: case CJ_U64: case CJ_F64: return 8;
    default: return 0;
    }
}

static cj_status collective_check(collective *k)
{
    const cj_collective_opts *o = k->o;
    cj_coord *c = k->c;
    k->bytes = collective_element(o->type);
    if (!k->bytes) {
        const char *name = cj_enum_name("cj_type", o->type);
        return name ? cji_fail(c, CJ_EINVAL, k->call,
                               "the type %s is none of CJ_S32, _U32, _S64, _U64, _F32, _F64; choose one of them", name)
                    : cji_fail(c, CJ_EINVAL, k->call, "the type %d is no cj_type", o->type);
    }
    if (o->op < 0 || o->op > CJ_REDUCE_PRODUCT)
        return cji_fail(c, CJ_EINVAL, k->call, "the operation %d is no cj_reduce_op", o->op);
    if (!o->count || o->count > UINT64_MAX / 16 || !o->parts.list || !o->parts.count || o->parts.count > 1024)
        return cji_fail(c, CJ_EINVAL, k->call, "%llu elements of %zu parts at %p", (unsigned long long)o->count,
                        o->parts.count, (const void *)o->parts.list);
    if (o->root >= o->parts.count)
        return cji_fail(c, CJ_EINVAL, k->call, "the root is part %u of %zu", o->root, o->parts.count);
    for (size_t p = 0; p < o->parts.count; p++) {
        const cj_part *part = &o->parts.list[p];
        if (cji_check_arg(c, part->device, CJI_TAG_DEVICE, k->call, "a part's device") != CJ_OK)
            return cji_err_latest();
        if (!part->d.addr || part->d.addr % k->bytes)
            return cji_fail(c, CJ_EINVAL, k->call, "part %zu at 0x%llx is not aligned to %zu bytes", p,
                            (unsigned long long)part->d.addr, k->bytes);
    }
    return CJ_OK;
}

/* Kernels of all parts' devices: room for one of each part. */
static bool collective_kernels(collective *k, cj_kernel **kernel)
{
    const cj_collective_opts *o = k->o;
    for (size_t p = 0; k->kind != CJ_TASK_BROADCAST && p < o->parts.count; p++) {
        if (k->kind == CJ_TASK_REDUCE && p != o->root) continue;
        kernel[p] = cji_coord_combine(k->c, o->parts.list[p].device, (cj_type)o->type, (cj_reduce_op)o->op, k->call);
        if (!kernel[p]) return false;
    }
    return true;
}

/* With the lock held: the group and its members; a group that is not complete is cancelled. */
static cj_task collective_group(collective *k, cj_kernel *const *kernel)
{
    const cj_collective_opts *o = k->o;
    cj_task_opts t;
    uint32_t i;
    cj_task_defaults(&t);
    t.priority = o->priority;
    t.exact = o->exact;
    t.work = k->kind == CJ_TASK_BROADCAST ? CJ_WORK_MEMORY : CJ_WORK_MIXED;
    t.what = o->what;
    t.group = o->group;
    t.after = o->after;
    t.done = o->done;
    t.user = o->user;
    k->group = cji_coord_add_group(k->c, &t, k->kind, k->call);
    if (!k->group || cji_task_find(&k->c->tasks, k->group, &i) != CJI_TASK_IS_HERE) return 0;
    if (collective_add_members(k, kernel)) {
        cji_task_close_group(&k->c->tasks, i);
        return k->group;
    }
    cji_task_at(&k->c->tasks, i)->done = NULL; /* the caller never had it */
    cji_task_cancel(&k->c->tasks, i);
    cji_task_close_group(&k->c->tasks, i); /* one that is poisoned cannot be cancelled */
    return 0;
}

static cj_task collective_call(cj_coord *c, const cj_collective_opts *opts, cj_task_kind kind, const char *call)
{
    cj_collective_opts o;
    collective k = { .c = c, .o = &o, .call = call, .kind = kind };
    cj_kernel **kernel = NULL;
    cj_task task = 0;
    if (cji_check(c, CJI_TAG_COORD, call) != CJ_OK) return 0;
    cj_collective_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, opts, c, call, "cj_collective") || collective_check(&k) != CJ_OK) return 0;
    const size_t parts = o.parts.count;
    k.reads = cji_zalloc(parts * sizeof *k.reads);
    k.writes = cji_zalloc(parts * sizeof *k.writes);
    kernel = cji_zalloc(parts * sizeof(cj_kernel *));
    if (!k.reads || !k.writes || !kernel) cji_fail(c, CJ_ENOMEM, call, "host memory is exhausted");
    else if (collective_kernels(&k, kernel)) {
        cji_coord_lock(c);
        task = collective_group(&k, kernel);
        cji_coord_unlock(c);
    }
    cji_free(k.reads, parts * sizeof *k.reads);
    cji_free(k.writes, parts * sizeof *k.writes);
    cji_free(kernel, parts * sizeof(cj_kernel *));
    return task;
}

cj_task cj_coord_reduce(cj_coord *c, const cj_collective_opts *opts)
{
    return collective_call(c, opts, CJ_TASK_REDUCE, "cj_coord_reduce");
}

cj_task cj_coord_broadcast(cj_coord *c, const cj_collective_opts *opts)
{
    return collective_call(c, opts, CJ_TASK_BROADCAST, "cj_coord_broadcast");
}

cj_task cj_coord_all_reduce(cj_coord *c, const cj_collective_opts *opts)
{
    return collective_call(c, opts, CJ_TASK_ALL_REDUCE, "cj_coord_all_reduce");
}
