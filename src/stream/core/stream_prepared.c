/* Prepared launches: made, changed, freed.  stream_launch.c launches them. */
#include <string.h>

#include "stream/core/stream_core.h"

/* Values begin at multiples of this. */
enum { PREPARED_ALIGN = 16 };

static size_t prepared_aligned(size_t bytes) { return (bytes + PREPARED_ALIGN - 1) / PREPARED_ALIGN * PREPARED_ALIGN; }

static uint32_t arg_bytes(const cj_arg *arg) { return arg->kind == CJ_ARG_BYTES ? arg->size : sizeof arg->v; }

/* What may ever be put there: the parameter's size, or that of the first argument where it is not known. */
static uint32_t value_room(const cj_kernel *k, size_t i, const cj_arg *arg)
{
    const uint32_t bytes = k->nparam >= 0 ? k->param[i].bytes : arg_bytes(arg);
    return bytes > sizeof arg->v ? bytes : sizeof arg->v;
}

static cj_status prepared_alloc(cj_prepared *p, const cj_arg *args, size_t count, const char *call)
{
    const size_t heads = prepared_aligned(count * (sizeof(cj_arg) + sizeof(void *) + sizeof(uint32_t)));
    size_t bytes = heads;
    for (size_t i = 0; i < count; i++) bytes += prepared_aligned(value_room(p->k, i, &args[i]));
    if (!count) return CJ_OK;
    char *all = cji_zalloc(bytes), *value = all + heads;
    if (!all) return cji_fail(p, CJ_ENOMEM, call, "no memory for %zu arguments", count);
    p->count = count;
    p->bytes = bytes;
    p->args = (cj_arg *)(void *)all;
    p->ptr = (void **)(void *)(p->args + count);
    p->room = (uint32_t *)(void *)(p->ptr + count);
    for (size_t i = 0; i < count; i++) {
        p->room[i] = value_room(p->k, i, &args[i]);
        p->ptr[i] = value;
        value += prepared_aligned(p->room[i]);
    }
    return CJ_OK;
}

/* A checked argument, whose value is at `value`. */
static void prepared_put(cj_prepared *p, size_t i, const cj_arg *arg, const void *value)
{
    if (arg_bytes(arg)) memmove(p->ptr[i], value, arg_bytes(arg));
    p->args[i] = *arg;
    if (arg->kind == CJ_ARG_BYTES) p->args[i].v.p = p->ptr[i];
}

static cj_status prepared_dims(cj_prepared *p, const cj_dims *dims, const char *call)
{
    if (!dims) return cji_fail(p, CJ_EINVAL, call, "the dimensions are NULL");
    cj_status st = cji_dims_known(p->k, dims) ? CJ_OK : cji_dims_check(p, p->k, dims, call);
    if (st != CJ_OK) return st;
    p->dims = *dims;
    p->room_wanted = dims->cluster[0] || dims->cooperative || dims->opts ? UINT32_MAX : dims->shared;
    if (!dims->opts) return CJ_OK;
    cj_launch_defaults(&p->opts);
    memcpy(&p->opts, dims->opts, dims->opts->size < sizeof p->opts ? dims->opts->size : sizeof p->opts);
    p->opts.size = sizeof p->opts;
    p->dims.opts = &p->opts;
    return CJ_OK;
}

static cj_status null_bytes(cj_prepared *p, size_t i, const cj_arg *arg, const char *call)
{
    return cji_fail(p, CJ_EINVAL, call, "%s: argument %zu is %u bytes at NULL", cji_short(p->k->name), i + 1,
                    arg->size);
}

/* Where the parameters are not known, packing takes every argument. */
static cj_status check_bytes(cj_prepared *p, const cj_arg *args, size_t count, const char *call)
{
    for (size_t i = 0; i < count; i++)
        if (args[i].kind == CJ_ARG_BYTES && args[i].size && !args[i].v.p) return null_bytes(p, i, &args[i], call);
    return CJ_OK;
}

static cj_status prepare(cj_prepared *p, cj_kernel *k, const cj_dims *dims, const cj_arg *args, size_t count,
                         const char *call)
{
    cji_pack pack;
    cj_status st = cji_check_arg(p, k, CJI_TAG_KERNEL, call, "the kernel");
    if (st != CJ_OK) return st;
    p->k = cji_kernel_retain(k);
    if (count && !args) return cji_fail(p, CJ_EINVAL, call, "%zu arguments at NULL", count);
    st = prepared_dims(p, dims, call);
    if (st == CJ_OK) st = cji_kernel_pack(p, k, args, count, &pack, call);
    if (st != CJ_OK) return st;
    st = check_bytes(p, args, count, call);
    if (st == CJ_OK) st = prepared_alloc(p, args, count, call);
    for (size_t i = 0; st == CJ_OK && i < count; i++) prepared_put(p, i, &args[i], pack.ptr[i]);
    cji_pack_free(&pack);
    return st;
}

cj_prepared *cj_prepare_n(cj_kernel *k, const cj_dims *dims, const cj_arg *args, size_t count)
{
    static const char call[] = "cj_prepare";
    cj_prepared *p = cji_obj_new(sizeof *p, CJI_TAG_PREPARED, 0, call);
    if (!cji_obj_failed(p) && prepare(p, k, dims, args, count, call) != CJ_OK) cji_obj_set_failed(p);
    return p;
}

/* *ptr points to the value then. */
static cj_status check_argument(cj_prepared *p, size_t i, const cj_arg *arg, void **ptr, uint64_t *slot,
                                const char *call)
{
    cj_status st = cji_kernel_pack_at(p, p->k, i, arg, ptr, slot, call);
    if (st != CJ_OK) return st;
    if (arg_bytes(arg) > p->room[i])
        return cji_fail(p, CJ_EINVAL, call, "%s: argument %zu has %u bytes, and there is room for the %u it had",
                        cji_short(p->k->name), i + 1, arg_bytes(arg), p->room[i]);
    return arg->kind == CJ_ARG_BYTES && arg->size && !arg->v.p ? null_bytes(p, i, arg, call) : CJ_OK;
}

cj_status cj_prepared_set_n(cj_prepared *p, size_t first, const cj_arg *args, size_t count)
{
    static const char call[] = "cj_prepared_set";
    void *ptr = NULL;
    uint64_t slot = 0;
    cj_status st = cji_check(p, CJI_TAG_PREPARED, call);
    if (st != CJ_OK) return st;
    if (first > p->count || count > p->count - first)
        return cji_fail(p, CJ_EINVAL, call, "%s was prepared with %zu argument%s; there are no %zu from number %zu on",
                        cji_short(p->k->name), p->count, p->count == 1 ? "" : "s", count, first);
    if (count && !args) return cji_fail(p, CJ_EINVAL, call, "%zu arguments at NULL", count);
    for (size_t i = 0; i < count && st == CJ_OK; i++) st = check_argument(p, first + i, &args[i], &ptr, &slot, call);
    for (size_t i = 0; i < count && st == CJ_OK; i++) {
        st = check_argument(p, first + i, &args[i], &ptr, &slot, call);
        prepared_put(p, first + i, &args[i], ptr);
    }
    return st;
}

cj_status cj_prepared_set_dims(cj_prepared *p, const cj_dims *dims)
{
    static const char call[] = "cj_prepared_set_dims";
    cj_status st = cji_check(p, CJI_TAG_PREPARED, call);
    return st == CJ_OK ? prepared_dims(p, dims, call) : st;
}

cj_kernel *cj_prepared_kernel(const cj_prepared *p) { return cji_readable(p, CJI_TAG_PREPARED, false) ? p->k : NULL; }

void cj_prepared_free(cj_prepared *p)
{
    if (!cji_check_free(p, CJI_TAG_PREPARED, "cj_prepared_free") || !cji_obj_release(p)) return;
    cji_free(p->args, p->bytes);
    if (p->k) cji_kernel_drop(p->k);
    cji_obj_delete(p, sizeof *p);
}
