/* Launching a kernel on a stream.  The usual way takes no lock, allocates nothing and makes one driver call. */
#include "stream/core/work_hooks.h"

static CJI_COLD cj_status launch_measured(cj_stream *s, cj_kernel *k, const cj_dims *dims, const cj_arg *args,
                                          size_t count)
{
    cji_work w;
    cji_work_begin(&w, s);
    cj_status st = cj_launch_n(s, k, dims, args, count);
    cji_work_end(&w, s, st == CJ_OK, &(cji_work_info){ .kind = CJ_PROFILE_KERNEL, .name = k->name });
    return st;
}

static cj_status retain_kernel(cj_stream *s, cji_capture *c, cj_kernel *k, const char *call)
{
    bool had = false;
    bool added = cji_capture_retains(c, &cji_ref_kernel, cji_obj_retain(k), &had);
    if (!added || had) cji_kernel_drop(k);
    if (!added) return cji_fail(s, CJ_ENOMEM, call, "no memory to keep the kernel alive for the graph");
    cji_capture_note_kernel(c, k);
    return CJ_OK;
}

/* A captured launch: the graph retains the kernel and what its pointer arguments lead to. */
static cj_status launch_retain(cj_stream *s, cj_kernel *k, const cj_arg *args, size_t count, const char *call)
{
    cj_status st = CJ_OK;
    cji_capture *c = cji_capture_of(s);
    if (c && !cji_capture_knows(c, k, args, count)) {
        st = retain_kernel(s, c, k, call);
        for (size_t i = 0; i < count && st == CJ_OK; i++)
            if (args[i].kind == CJ_ARG_PTR) st = c->rules->retain_argument(s, c, args[i].v.u, call);
    }
    cji_capture_drop(c);
    return st;
}

/* With arguments and dimensions checked. */
static cj_status launch_packed(cj_stream *s, cj_kernel *k, const cj_dims *dims, cji_pack *pack, const char *call)
{
    const char *cu_call = NULL;
    const bool tried = cji_may_try(s);
    cji_used(&k->mod->used, s->bit);
    CUresult r = tried ? cji_kernel_launch(k, s->raw, dims, pack, &cu_call) : CUDA_SUCCESS;
    if (tried && r == CUDA_SUCCESS) return CJ_OK;
    cji_scope scope;
    cj_status st = cji_scope_begin(s, s->dev, &scope, call);
    if (st != CJ_OK) return st;
    cji_note_context(s, &scope);
    if (!tried || cji_try_again(r, &scope)) r = cji_kernel_launch(k, s->raw, dims, pack, &cu_call);
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS ? CJ_OK : cji_kernel_rejected(s, k, s->slot, r, cu_call, dims, call);
}

cj_status cj_launch_n(cj_stream *s, cj_kernel *k, const cj_dims *dims, const cj_arg *args, size_t count)
{
    static const char call[] = "cj_launch";
    cji_pack pack;
    cj_status st = cji_is_live(s, CJI_TAG_STREAM) ? CJ_OK : cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (!cji_is_live(k, CJI_TAG_KERNEL)) st = cji_check_arg(s, k, CJI_TAG_KERNEL, call, "the kernel");
    if (st != CJ_OK) return cji_stream_failed(s, st);
    if (cji_work_measured()) return launch_measured(s, k, dims, args, count);
    if (!dims) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "the dimensions are NULL"));
    if (count && !args) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "%zu arguments at NULL", count));
    if (k->dev != s->dev && !cji_same_device(&k->dev->queue, s->queue))
        return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call,
                                             "kernel %s is loaded on device %d, the stream is of device %d",
                                             cji_short(k->name), cj_device_ordinal(k->dev), cj_device_ordinal(s->dev)));
    if (!cji_dims_known(k, dims)) {
        st = cji_dims_check(s, k, dims, call);
        if (st == CJ_OK) cji_dims_note(k, dims);
    }
    if (st == CJ_OK) st = cji_kernel_pack(s, k, args, count, &pack, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    if (atomic_load_explicit(&s->capturing, memory_order_relaxed)) st = launch_retain(s, k, args, count, call);
    if (st == CJ_OK) st = launch_packed(s, k, dims, &pack, call);
    if (st == CJ_OK) {
        cji_count(s, &s->counts.launches, 1);
        if (s->queue == &k->dev->queue) cji_recent_note(s->slot, k);
    }
    if (s->proxy) cji_proxy_follow(s);
    cji_pack_free(&pack);
    cji_deferred_poll(s->queue, 1);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}
