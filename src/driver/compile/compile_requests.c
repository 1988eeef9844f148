/* What a compiler is asked for: images, links, modules, kernels. */
#include <cujit/compiler.h>

#include <string.h>

#include "base/cancel.h"
#include "driver/compile/compile.h"
#include "driver/image.h"

/* -- What a thread does -------------------------------------------------------------------------------------------- */

static const cj_compile_opts *request_options(const cji_request *q) { return q->has_opts ? &q->opts : NULL; }

static void *run_image(const cji_request *q, cj_device *dev) { return cj_image_create(dev, q->m, request_options(q)); }

static void *run_text(const cji_request *q, cj_device *dev)
{
    return cj_image_create_text(dev, q->text, request_options(q));
}

static void *run_module(const cji_request *q, cj_device *dev) { return cj_module_load(dev, q->m, request_options(q)); }

static void *run_kernel(const cji_request *q, cj_device *dev)
{
    return cj_kernel_load(dev, q->m, q->name, request_options(q));
}

static void *run_link(const cji_request *q, cj_device *dev)
{
    static const char call[] = "cj_compiler_link";
    cj_image *img = cji_obj_new(sizeof *img, CJI_TAG_IMAGE, 0, call);
    if (cji_obj_failed(img)) return img;
    img->dev = cji_obj_retain(dev);
    if (cji_link_run(img, q->input, q->n, &q->opts, call) != CJ_OK) cji_obj_set_failed(img);
    return img;
}

/* -- Requests ------------------------------------------------------------------------------------------------------ */

/* Options are checked now, so that who asks gets the error. */
static cj_status request_take_options(cj_future *f, const cj_compile_opts *opts, const char *call)
{
    f->q.has_opts = opts != NULL;
    return cji_compile_take(&f->q.opts, opts, f, call);
}

/* The builder is finished and checked now; from here on nobody changes it. */
static cj_status request_take_builder(cj_future *f, cj_ptx *m, const char *call)
{
    cj_status status = cji_check_arg(f, m, CJI_TAG_PTX, call, "the builder");
    if (status != CJ_OK) return status;
    if (cji_ptx_finish(m, call) != CJ_OK) return cji_fail_from(f, m, call);
    int target;   /* printing finds it again */
    status = cji_jit_target(f, f->c->dev, m, &target, call);
    if (status != CJ_OK) return status;
    cji_ptx_freeze(m);
    f->q.m = cji_obj_retain(m);
    return CJ_OK;
}

static cj_status request_take_name(cj_future *f, const char *name, const char *call)
{
    if (!name) return cji_fail(f, CJ_EINVAL, call, "the name is NULL");
    f->q.name = cji_strdup(name);
    return f->q.name ? CJ_OK : cji_fail(f, CJ_ENOMEM, call, "no memory for the kernel's name");
}

/* Hands the future over, or makes it the failed object that is returned. */
static cj_future *finish_request(cj_compiler *c, cj_future *f, cj_status status, const char *call)
{
    if (status == CJ_OK) status = cji_compiler_submit(c, f, call);
    if (status == CJ_OK) return f;
    f->state = CJI_FUTURE_CANCELLED;
    cji_obj_set_failed(f);
    return f;
}

/* A request for an image, module or kernel of a builder. */
static cj_future *builder_request(cj_compiler *c, cj_ptx *m, const cj_compile_opts *opts, cji_request q,
                                  const char *call)
{
    cj_status status;
    cj_future *f = cji_future_new(c, call, &status);
    if (cji_obj_failed(f)) return f;
    f->q = q;
    if (status == CJ_OK) status = request_take_options(f, opts, call);
    if (status == CJ_OK) status = request_take_builder(f, m, call);
    return finish_request(c, f, status, call);
}

cj_future *cj_compiler_image(cj_compiler *c, cj_ptx *m, const cj_compile_opts *opts)
{
    return builder_request(c, m, opts, (cji_request){ .run = run_image, .makes = CJI_TAG_IMAGE }, __func__);
}

cj_future *cj_compiler_module(cj_compiler *c, cj_ptx *m, const cj_compile_opts *opts)
{
    return builder_request(c, m, opts, (cji_request){ .run = run_module, .makes = CJI_TAG_MODULE }, __func__);
}

cj_future *cj_compiler_kernel(cj_compiler *c, cj_ptx *m, const char *name, const cj_compile_opts *opts)
{
    cj_status status;
    cj_future *f = cji_future_new(c, __func__, &status);
    if (cji_obj_failed(f)) return f;
    f->q.run = run_kernel;
    f->q.makes = CJI_TAG_KERNEL;
    if (status == CJ_OK) status = cji_check_arg(f, m, CJI_TAG_PTX, __func__, "the builder");
    if (status == CJ_OK) status = request_take_options(f, opts, __func__);
    if (status == CJ_OK) status = request_take_name(f, name, __func__);
    if (status == CJ_OK) status = request_take_builder(f, m, __func__);
    return finish_request(c, f, status, __func__);
}

cj_future *cj_compiler_image_text(cj_compiler *c, const char *ptx, const cj_compile_opts *opts)
{
    cj_status status;
    cj_future *f = cji_future_new(c, __func__, &status);
    if (cji_obj_failed(f)) return f;
    f->q.run = run_text;
    f->q.makes = CJI_TAG_IMAGE;
    if (status == CJ_OK) status = request_take_options(f, opts, __func__);
    if (status == CJ_OK && !ptx) status = cji_fail(f, CJ_EINVAL, __func__, "the text is NULL");
    if (status == CJ_OK && !(f->q.text = cji_strdup(ptx)))
        status = cji_fail(f, CJ_ENOMEM, __func__, "no memory for %zu bytes of PTX", strlen(ptx));
    return finish_request(c, f, status, __func__);
}

cj_future *cj_compiler_link(cj_compiler *c, cj_linker *l)
{
    cj_status status;
    cj_future *f = cji_future_new(c, __func__, &status);
    if (cji_obj_failed(f)) return f;
    f->q.run = run_link;
    f->q.makes = CJI_TAG_IMAGE;
    if (status == CJ_OK) status = cji_check_arg(f, l, CJI_TAG_LINKER, __func__, "the linker");
    if (status == CJ_OK && cji_err_status(l) != CJ_OK) status = cji_fail_from(f, l, __func__);
    if (status == CJ_OK && l->dev != c->dev)
        status = cji_cu_fail_apart(f, l->dev, c->dev, __func__, "the linker is of another device than the compiler");
    if (status == CJ_OK && !l->n) status = cji_fail(f, CJ_ESTATE, __func__, "the linker has no inputs: add one first");
    if (status == CJ_OK && !(f->q.input = cji_alloc(l->n * sizeof *l->input)))
        status = cji_fail(f, CJ_ENOMEM, __func__, "no memory for %zu inputs", l->n);
    if (status == CJ_OK) {
        f->q.opts = l->compile;
        for (; f->q.n < l->n; f->q.n++) f->q.input[f->q.n] = cji_link_input_retain(l->input[f->q.n]);
    }
    return finish_request(c, f, status, __func__);
}

/* -- Two stages ---------------------------------------------------------------------------------------------------- */

/* A kernel of a module of its own, which the device does not keep for the builder. */
static cj_kernel *stage(cj_device *dev, cj_ptx *m, const char *name, const cj_compile_opts *o)
{
    cj_image *img = cj_image_create(dev, m, o);
    cj_module *mod = cj_module_load_image(dev, img);
    if (!cji_obj_failed(mod)) {
        mod->compile = *o;
        mod->source = cji_obj_retain(m);
    }
    cj_kernel *k = cj_module_kernel(mod, name);
    cj_module_free(mod);
    cj_image_free(img);
    return k;
}

/* The optimised code; the kernel itself, which uses it now, or the failed one. */
static void *run_stage(const cji_request *q, cj_device *dev)
{
    static const char call[] = "cj_compiler_kernel_staged";
    cj_kernel *k = stage(dev, q->m, q->name, &q->opts), *failed;
    if (cji_obj_failed(k)) return k;
    bool used = cji_kernel_use_faster(q->staged, k, call);
    cj_kernel_free(k);
    if (used) return cji_obj_retain(q->staged);
    failed = cji_obj_new(sizeof *failed, CJI_TAG_KERNEL, 0, call);
    if (cji_obj_failed(failed)) return failed;
    cji_fail_also(failed);
    cji_obj_set_failed(failed);
    return failed;
}

typedef struct first_stage {
    cj_device *dev;
    cj_ptx *m;
    const char *name;
    cj_compile_opts opts;
    cj_kernel *k;
} first_stage;

static void *run_first(void *arg)
{
    first_stage *x = arg;
    x->k = stage(x->dev, x->m, x->name, &x->opts);
    return NULL;
}

/* On a thread with a stack that the driver's compiler can use; on the caller's where none can be started. */
static void run_on_stack(void *(*run)(void *), void *arg, size_t stack)
{
    pthread_t thread;
    pthread_attr_t attr;
    bool started = false;
    if (!pthread_attr_init(&attr)) {
        started = !pthread_attr_setstacksize(&attr, (stack + 4095) / 4096 * 4096) &&
                  !pthread_create(&thread, &attr, run, arg);
        pthread_attr_destroy(&attr);
    }
    if (started) pthread_join(thread, NULL);
    else run(arg);
}

static cj_kernel *failed_request_kernel(cj_future *why, const char *call)
{
    cj_kernel *k = cji_obj_new(sizeof *k, CJI_TAG_KERNEL, 0, call);
    if (cji_obj_failed(k)) return k;
    cji_fail_from(k, why, call);
    cji_obj_set_failed(k);
    return k;
}

cj_kernel *cj_compiler_kernel_staged(cj_compiler *c, cj_ptx *m, const char *name, const cj_compile_opts *opts,
                                     cj_future **optimised)
{
    CJI_NO_CANCEL;
    cj_status status;
    cj_kernel *k = NULL;
    cj_future *f = cji_future_new(c, __func__, &status);
    if (!cji_obj_failed(f)) {
        f->q.run = run_stage;
        f->q.makes = CJI_TAG_KERNEL;
        if (status == CJ_OK) status = cji_check_arg(f, m, CJI_TAG_PTX, __func__, "the builder");
        if (status == CJ_OK) status = request_take_options(f, opts, __func__);
        if (status == CJ_OK) status = request_take_name(f, name, __func__);
        if (status == CJ_OK) status = request_take_builder(f, m, __func__);
        if (status == CJ_OK) {
            first_stage first = { .dev = c->dev, .m = m, .name = name, .opts = f->q.opts };
            first.opts.opt_level = CJ_OPT_NONE;
            run_on_stack(run_first, &first, c->opts.stack);
            k = first.k;
            if (cji_obj_failed(k)) status = cji_fail_from(f, k, __func__);
            else f->q.staged = cji_obj_retain(k);
        }
        finish_request(c, f, status, __func__);
    }
    if (!k) k = failed_request_kernel(f, __func__);
    if (optimised) *optimised = f;
    else cj_future_free(f);
    return k;
}
