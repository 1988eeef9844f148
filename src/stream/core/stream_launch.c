/* Launching a kernel on a stream: with arguments that are checked, by name, with the driver's argument array, prepared.
 *
 * The quick way takes no lock, allocates nothing, makes one driver call and one atomic read-modify-write.  It is for
 * what nearly all launches are: a stream of the library on the kernel's device, no capture, no profile, no interposed
 * context, dimensions that the kernel had before, arguments of their parameters' types.  It only tests that all this is
 * so; what it does not find goes the other way, which knows why. */
#include "base/cancel.h"
#include "base/first.h"
#include "stream/core/work_hooks.h"

/* A launch whose dimensions and arguments are checked. */
typedef struct ready_launch {
    cj_kernel *k;
    const cj_dims *dims;
    void **ptr;         /* as the driver takes them */
    const cj_arg *args; /* the same, for a capture: those that may be addresses are CJ_ARG_PTR */
    size_t count;
} ready_launch;

/* -- Captured launches --------------------------------------------------------------------------------------------- */

static cj_status retain_kernel(cj_stream *s, cji_capture *c, cj_kernel *k, const char *call)
{
    bool had = false;
    bool added = cji_capture_retains(c, &cji_ref_kernel, cji_kernel_retain(k), &had);
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

/* The arguments of cj_launch_raw, as far as they may be addresses. */
static cj_status raw_launch_retain(cj_stream *s, cj_kernel *k, void **ptr, const char *call)
{
    cj_status st = CJ_OK;
    for (size_t i = 0; st == CJ_OK && (int)i < k->nparam; i++) {
        cj_arg one = { .kind = CJ_ARG_PTR };
        if (!cji_param_is_address(k, i)) continue;
        memcpy(&one.v.u, ptr[i], sizeof one.v.u);
        st = launch_retain(s, k, &one, 1, call);
    }
    return st == CJ_OK ? launch_retain(s, k, NULL, 0, call) : st;
}

/* -- Enqueuing ----------------------------------------------------------------------------------------------------- */

/* Where the first try was none, or failed with `r`. */
static CJI_COLD cj_status launch_in_context(cj_stream *s, const ready_launch *l, bool tried, CUresult r,
                                            const char *call, const char *cu_call)
{
    cji_scope scope;
    cj_status st = cji_scope_begin(s, s->dev, &scope, call);
    if (st != CJ_OK) return st;
    cji_note_context(s, &scope);
    if (!tried || cji_try_again(r, &scope)) r = cji_kernel_launch(l->k, s->raw, l->dims, l->ptr, &cu_call);
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS ? CJ_OK : cji_kernel_rejected(s, l->k, s->slot, r, cu_call, l->dims, call);
}

/* The thread becomes the stream's launcher, if there is none. */
static void launch_claim(cj_stream *s)
{
    const cji_thread_own *none = NULL;
    if (!atomic_load_explicit(&s->counts.launcher, memory_order_relaxed))
        atomic_compare_exchange_strong(&s->counts.launcher, &none, cji_thread_all());
}

/* What follows on the driver's call, where the launch was counted. */
static inline cj_status launch_end(cj_stream *s, const cj_kernel *k, cj_status st)
{
    if (st == CJ_OK && s->queue == &k->dev->queue) cji_recent_note(s->slot, k);
    if (s->proxy) cji_proxy_follow(s);
    cji_deferred_poll(s->queue, 1);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}

static CJI_FIRST cj_status launch_enqueue(cj_stream *s, const ready_launch *l, const char *call)
{
    const char *cu_call = NULL;
    cj_kernel *k = l->k;
    cj_status st = CJ_OK;
    CUresult r = CUDA_SUCCESS;
    const bool captured = atomic_load_explicit(&s->capturing, memory_order_relaxed);
    if (captured)
        st = l->args || !l->ptr ? launch_retain(s, k, l->args, l->count, call)
                                : raw_launch_retain(s, k, l->ptr, call);
    if (st == CJ_OK) {
        const bool tried = cji_may_try(s);
        cji_used(&k->mod->used, s->bit);
        cji_used(&k->noted, s->bit);
        if (!captured) {
            launch_claim(s);
            cji_count_launch(s);
        }
        if (tried) r = cji_kernel_launch(k, s->raw, l->dims, l->ptr, &cu_call);
        if (!tried || r != CUDA_SUCCESS) st = launch_in_context(s, l, tried, r, call, cu_call);
        if (st != CJ_OK && !captured) cji_uncount_launch(s);
    }
    return launch_end(s, k, st);
}

/* -- The quick way ------------------------------------------------------------------------------------------------- */

/* Whether nothing is in the way of a launch of the kernel, which is live, on the stream, as far as that does not depend
 * on dimensions and arguments.  A kernel of the stream's device is from the same side of a fork as the stream.  That it
 * was noted as used says that a launch of it went the other way on such a stream. */
CJI_QUICKLY bool launch_is_quick(const cj_stream *s, const cj_kernel *k)
{
    return k->dev == s->dev && atomic_load_explicit(&k->noted, memory_order_relaxed) & s->bit &&
           !(cji_work_hooks_word() | atomic_load_explicit(&s->unusual, memory_order_relaxed));
}

CJI_QUICKLY bool launch_has_room(const cj_kernel *k, uint32_t shared)
{
    return shared <= atomic_load_explicit(&k->shared_set, memory_order_relaxed);
}

/* The launch, where all is well; the driver's result. */
CJI_QUICKLY CUresult launch_quickly(cj_stream *s, const cj_kernel *k, const cj_dims *d, void **ptr)
{
    cji_count_launch(s);
    const CUfunction fn = atomic_load_explicit(&k->fn, memory_order_acquire);
    return s->cu->cuLaunchKernel(fn, d->grid[0], d->grid[1], d->grid[2],
                                 d->block[0], d->block[1], d->block[2], d->shared, s->raw, ptr, NULL);
}

/* The same for a programmatic launch, which kernels of libraries are. */
CJI_QUICKLY CUresult launch_early(cj_stream *s, const cj_kernel *k, const cj_dims *d, void **ptr)
{
    cji_count_launch(s);
    const CUfunction fn = atomic_load_explicit(&k->fn, memory_order_acquire);
    return cji_launch_programmatic(s->cu, fn, s->raw, d, ptr);
}

CJI_QUICKLY cj_status launch_quick_end(cj_stream *s, const cj_kernel *k)
{
    cji_recent_note(s->slot, k);
    cji_deferred_poll(s->queue, 1);
    return CJ_OK;
}

static CJI_COLD cj_status launch_quick_failed(cj_stream *s, cj_kernel *k, const cj_dims *dims, void **ptr, CUresult r,
                                              const char *call)
{
    const ready_launch l = { k, dims, ptr, NULL, 0 };
    const cj_status st = launch_in_context(s, &l, true, r, call, dims->opts ? "cuLaunchKernelEx" : "cuLaunchKernel");
    if (st != CJ_OK) cji_uncount_launch(s);
    return launch_end(s, k, st);
}

/* What cj_launch finds too. */
CJI_QUICKLY bool launch_takes(const cj_kernel *k, const cj_dims *dims, const cj_arg *args, size_t count, void **ptr)
{
    return dims && cji_dims_known(k, dims) && launch_has_room(k, dims->shared) && cji_args_usual(k, args, count, ptr);
}

/* -- The other way ------------------------------------------------------------------------------------------------- */

static CJI_COLD cj_status launch_measured(cj_stream *s, const ready_launch *l, const char *call)
{
    cji_work w;
    cji_work_begin(&w, s);
    cj_status st = launch_enqueue(s, l, call);
    cji_work_end(&w, s, st == CJ_OK, &(cji_work_info){ .kind = CJ_PROFILE_KERNEL, .name = l->k->name });
    return st;
}

static CJI_FIRST cj_status launch_ready(cj_stream *s, const ready_launch *l, const char *call)
{
    CJI_NO_CANCEL;
    return cji_work_measured() ? launch_measured(s, l, call) : launch_enqueue(s, l, call);
}

/* -- What every launch checks -------------------------------------------------------------------------------------- */

static CJI_COLD cj_status of_another_device(cj_stream *s, const cj_kernel *k, const char *call)
{
    return cji_stream_failed(s, cji_cu_fail_apart(s, k->dev, s->dev, call,
                                                  "kernel %s is loaded on device %d, the stream is of device %d",
                                                  cji_short(k->name), cj_device_ordinal(k->dev),
                                                  cj_device_ordinal(s->dev)));
}

static inline bool launch_fits_device(const cj_stream *s, const cj_kernel *k)
{
    return k->dev == s->dev || cji_same_device(&k->dev->queue, s->queue);
}

static inline cj_status check_stream(cj_stream *s, const char *call)
{
    return cji_is_live(s, CJI_TAG_STREAM) ? CJ_OK : cji_check(s, CJI_TAG_STREAM, call);
}

/* Kernel and dimensions; a failure is left in the stream. */
static CJI_FIRST cj_status check_launch(cj_stream *s, cj_kernel *k, const cj_dims *dims, const char *call)
{
    cj_status st = CJ_OK;
    if (!dims) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "the dimensions are NULL"));
    if (!launch_fits_device(s, k)) return of_another_device(s, k, call);
    if (!cji_dims_known(k, dims)) {
        st = cji_dims_check(s, k, dims, call);
        if (st == CJ_OK) cji_dims_note(k, dims);
    }
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}

static CJI_FIRST cj_status launch_checked(cj_stream *s, cj_kernel *k, const cj_dims *dims, const cj_arg *args,
                                       size_t count, const char *call)
{
    cji_pack pack;
    void *ptr[CJI_PACK];
    cj_status st = check_launch(s, k, dims, call);
    if (st != CJ_OK) return st;
    if (cji_args_usual(k, args, count, ptr))
        return launch_ready(s, &(ready_launch){ k, dims, ptr, args, count }, call);
    if (count && !args) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "%zu arguments at NULL", count));
    st = cji_kernel_pack(s, k, args, count, &pack, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    st = launch_ready(s, &(ready_launch){ k, dims, pack.ptr, args, count }, call);
    cji_pack_free(&pack);
    return st;
}

/* -- The calls ----------------------------------------------------------------------------------------------------- */

static const char launch_call[] = "cj_launch", prepared_call[] = "cj_launch_prepared", raw_call[] = "cj_launch_raw";

/* Begins a line of the processor's cache, so that its time does not change with the code in front of it. */
#define LAUNCH_ALIGNED __attribute__((aligned(64)))

static CJI_FIRST CJI_APART cj_status launch_any(cj_stream *s, cj_kernel *k, const cj_dims *dims, const cj_arg *args,
                                                size_t count)
{
    cj_status st = check_stream(s, launch_call);
    if (st != CJ_OK) return st;
    if (!cji_is_live(k, CJI_TAG_KERNEL)) st = cji_check_arg(s, k, CJI_TAG_KERNEL, launch_call, "the kernel");
    return st == CJ_OK ? launch_checked(s, k, dims, args, count, launch_call) : cji_stream_failed(s, st);
}

LAUNCH_ALIGNED cj_status cj_launch_n(cj_stream *s, cj_kernel *k, const cj_dims *dims, const cj_arg *args, size_t count)
{
    void *ptr[CJI_PACK];
    if (cji_is_live(s, CJI_TAG_STREAM) && cji_is_plain(k, CJI_TAG_KERNEL) && launch_is_quick(s, k) &&
        launch_takes(k, dims, args, count, ptr)) {
        const CUresult r = launch_quickly(s, k, dims, ptr);
        return r == CUDA_SUCCESS ? launch_quick_end(s, k) : launch_quick_failed(s, k, dims, ptr, r, launch_call);
    }
    return launch_any(s, k, dims, args, count);
}

cj_status cj_launch_name_n(cj_stream *s, cj_module *mod, const char *name, const cj_dims *dims, const cj_arg *args,
                           size_t count)
{
    static const char call[] = "cj_launch_name";
    void *ptr[CJI_PACK];
    cj_kernel *k = NULL;
    cj_status st = check_stream(s, call);
    if (st != CJ_OK) return st;
    if (!cji_is_live(mod, CJI_TAG_MODULE)) st = cji_check_arg(s, mod, CJI_TAG_MODULE, call, "the module");
    if (st == CJ_OK && !name) st = cji_fail(s, CJ_EINVAL, call, "the name is NULL");
    if (st == CJ_OK) k = cji_module_named(s, mod, name, call);
    if (!k) return cji_stream_failed(s, st == CJ_OK ? cji_err_latest() : st);
    if (!launch_is_quick(s, k) || !launch_takes(k, dims, args, count, ptr))
        return launch_checked(s, k, dims, args, count, call);
    const CUresult r = launch_quickly(s, k, dims, ptr);
    return r == CUDA_SUCCESS ? launch_quick_end(s, k) : launch_quick_failed(s, k, dims, ptr, r, call);
}

/* What cj_launch_raw finds too. */
CJI_QUICKLY bool launch_takes_raw(const cj_kernel *k, const cj_dims *dims, void **args)
{
    if (!dims || !args || !cji_shape_known(k, dims) || !launch_has_room(k, dims->shared)) return false;
    if (dims->opts && !cji_launch_is_programmatic(k, dims)) return false;
    for (int i = 0; i < k->nparam; i++)
        if (!args[i]) return false;
    return true;
}

static CJI_APART cj_status launch_any_raw(cj_stream *s, cj_kernel *k, const cj_dims *dims, void **args)
{
    const char *call = raw_call;
    cj_status st = check_stream(s, call);
    if (st != CJ_OK) return st;
    st = cji_check_arg(s, k, CJI_TAG_KERNEL, call, "the kernel");
    if (st != CJ_OK) return cji_stream_failed(s, st);
    if (!args && k->nparam > 0)
        st = cji_fail(s, CJ_EINVAL, call, "%s takes %d argument%s, and the array is NULL", cji_short(k->name),
                      k->nparam, k->nparam == 1 ? "" : "s");
    for (int i = 0; st == CJ_OK && i < k->nparam; i++)
        if (!args[i])
            st = cji_fail(s, CJ_EINVAL, call, "%s: the address of argument %d of %d is NULL", cji_short(k->name), i + 1,
                          k->nparam);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    st = check_launch(s, k, dims, call);
    return st == CJ_OK ? launch_ready(s, &(ready_launch){ k, dims, args, NULL, 0 }, call) : st;
}

LAUNCH_ALIGNED cj_status cj_launch_raw(cj_stream *s, cj_kernel *k, const cj_dims *dims, void **args)
{
    if (cji_is_live(s, CJI_TAG_STREAM) && cji_is_plain(k, CJI_TAG_KERNEL) && launch_is_quick(s, k) &&
        launch_takes_raw(k, dims, args)) {
        const CUresult r = dims->opts ? launch_early(s, k, dims, args) : launch_quickly(s, k, dims, args);
        return r == CUDA_SUCCESS ? launch_quick_end(s, k) : launch_quick_failed(s, k, dims, args, r, raw_call);
    }
    return launch_any_raw(s, k, dims, args);
}

static CJI_APART cj_status launch_any_prepared(cj_stream *s, cj_prepared *p)
{
    cj_status st = check_stream(s, prepared_call);
    if (st != CJ_OK) return st;
    if (!cji_is_live(p, CJI_TAG_PREPARED))
        st = cji_check_arg(s, p, CJI_TAG_PREPARED, prepared_call, "the prepared launch");
    if (st != CJ_OK) return cji_stream_failed(s, st);
    if (!launch_fits_device(s, p->k)) return of_another_device(s, p->k, prepared_call);
    return launch_ready(s, &(ready_launch){ p->k, &p->dims, p->ptr, p->args, p->count }, prepared_call);
}

LAUNCH_ALIGNED cj_status cj_launch_prepared(cj_stream *s, cj_prepared *p)
{
    if (cji_is_live(s, CJI_TAG_STREAM) && cji_is_plain(p, CJI_TAG_PREPARED) && launch_is_quick(s, p->k) &&
        launch_has_room(p->k, p->room_wanted)) {
        const CUresult r = launch_quickly(s, p->k, &p->dims, p->ptr);
        return r == CUDA_SUCCESS ? launch_quick_end(s, p->k)
                                 : launch_quick_failed(s, p->k, &p->dims, p->ptr, r, prepared_call);
    }
    return launch_any_prepared(s, p);
}
