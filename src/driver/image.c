/* cj_image: PTX compiled for a device. */
#include <string.h>

#include "base/cancel.h"
#include "base/first.h"
#include "driver/driver.h"
#include "driver/image.h"
#include "driver/image_cache.h"
#include "driver/jit.h"
#include "ptx/blocks/blocks.h"
#include "ptx/ptx.h"

static cj_image *new_image(cj_device *dev, const char *call, cj_status *status)
{
    cj_image *img = cji_obj_new(sizeof *img, CJI_TAG_IMAGE, 0, call);
    *status = CJ_ENOMEM;
    if (cji_obj_failed(img)) return img;
    *status = cji_check_arg(img, dev, CJI_TAG_DEVICE, call, "the device");
    if (*status == CJ_OK) img->dev = cji_obj_retain(dev);
    return img;
}

cj_status cji_image_keep_text(cj_image *img, const char *text, size_t bytes, const cj_compile_opts *o, const char *call)
{
    img->data = cji_alloc(bytes + 1);
    if (!img->data) return cji_fail(img, CJ_ENOMEM, call, "no memory for %zu bytes of PTX", bytes);
    memcpy(img->data, text, bytes + 1);
    img->bytes = img->room = bytes + 1;
    img->text = true;
    img->compile = *o;
    return CJ_OK;
}

/* The linker's input is compiled as a part of a program, for which ptxas ignores setmaxnreg.  Such a module runs at
 * half the speed of one that cuModuleLoadDataEx compiles. */
static bool is_slower_linked(const char *text) { return strstr(text, CJI_SPELLED(SETMAXNREG_INC_SYNC_U32)); }

/* PTX text with its NUL at text[bytes]. */
static cj_status compile_text(cj_image *img, const char *text, size_t bytes, cji_jit_source from,
                              const cj_compile_opts *o, const char *call)
{
    CJI_NO_CANCEL;
    cji_scope scope;
    if (cji_jit_lacks_linker(img->dev->drv) || img->whole || img->entries->hiding || is_slower_linked(text))
        return cji_image_keep_text(img, text, bytes, o, call);
    cj_status status = cji_scope_begin_relaxed(img, img->dev, &scope, call);
    if (status != CJ_OK) return status;
    status = cji_jit_link(img, img->dev, text, bytes, from, o, &img->data, &img->bytes, &img->log, call);
    img->room = img->bytes;
    cji_scope_leave(&scope);
    if (status != CJ_OK || img->data) return status;
    img->whole = !cji_jit_lacks_linker(img->dev->drv);
    return cji_image_keep_text(img, text, bytes, o, call);
}

static cj_status take_entries(cj_image *img, cji_entries *entries, const char *call)
{
    cji_entries_release(img->entries);
    img->entries = entries;
    return entries ? CJ_OK : cji_fail(img, CJ_ENOMEM, call, "no memory for the kernels' parameters");
}

/* What is to be compiled: a builder's module, or a text. */
typedef struct image_source {
    cj_ptx *m;
    unsigned flags;      /* how the module is printed */
    const char *text;
    size_t bytes;
    const cj_compile_opts *o;
    const char *call;
} image_source;

/* A text in memory that was written before: a program that compiles many modules has its pages already. */
#define SPARE_MOST ((size_t)1 << 20)

static cji_text take_spare(cj_device *dev)
{
    pthread_mutex_lock(&dev->modules_lock);
    cji_text text = dev->spare;
    dev->spare = (cji_text){ 0 };
    pthread_mutex_unlock(&dev->modules_lock);
    return text;
}

static void leave_spare(cj_device *dev, cji_text *text)
{
    text->n = 0;
    if (text->p && !text->failed && text->cap <= SPARE_MOST) {
        pthread_mutex_lock(&dev->modules_lock);
        if (dev->spare.cap < text->cap) {
            const cji_text smaller = dev->spare;
            dev->spare = *text;
            *text = smaller;
        }
        pthread_mutex_unlock(&dev->modules_lock);
    }
    cji_text_free(text);
}

static cj_status compile_module(cj_image *img, void *user)
{
    const image_source *s = user;
    cj_status status = take_entries(img, cji_entries_of(s->m), s->call);
    if (status != CJ_OK) return status;
    cji_text text = take_spare(img->dev);
    cji_ptx_write(s->m, s->flags, &text);
    if (text.failed) status = cji_fail(img, CJ_ENOMEM, s->call, "no memory for the module's PTX");
    else
        status = compile_text(img, cji_text_str(&text), text.n, (cji_jit_source){ .m = s->m, .flags = s->flags },
                              s->o, s->call);
    leave_spare(img->dev, &text);
    return status;
}

CJI_FIRST cj_status cji_image_compile(cj_image *img, cj_ptx *m, const cj_compile_opts *o, const char *call)
{
    cj_status status = cji_check_arg(img, m, CJI_TAG_PTX, call, "the module");
    if (status != CJ_OK) return status;
    status = cji_ptx_finish(m, call);
    if (status != CJ_OK) return cji_fail_from(img, m, call);
    int target;
    status = cji_jit_target(img, img->dev, m, &target, call);
    if (status != CJ_OK) return status;
    cji_ptx_freeze(m);
    const unsigned flags = cji_print_flags(o) | cji_print_target(target);
    const cji_image_key key = cji_image_key_of(img->dev, m, flags, o);
    image_source source = { .m = m, .flags = flags, .o = o, .call = call };
    return cji_image_get(img, &key, compile_module, &source);
}

static cj_status compile_given(cj_image *img, void *user)
{
    const image_source *s = user;
    cj_status status = take_entries(img, cji_entries_read(s->text, s->bytes), s->call);
    if (status == CJ_OK)
        status = compile_text(img, s->text, s->bytes, (cji_jit_source){ .m = NULL }, s->o, s->call);
    return status;
}

static cj_status image_of_text(cj_image *img, const char *ptx, const cj_compile_opts *o, const char *call)
{
    image_source source = { .text = ptx, .bytes = strlen(ptx), .o = o, .call = call };
    const cji_image_key key = cji_image_key_of_text(img->dev, ptx, source.bytes, o);
    return cji_image_get(img, &key, compile_given, &source);
}

cj_image *cj_image_create(cj_device *dev, cj_ptx *m, const cj_compile_opts *opts)
{
    static const char call[] = "cj_image_create";
    cj_compile_opts o;
    cj_status status;
    cj_image *img = new_image(dev, call, &status);
    if (cji_obj_failed(img)) return img;
    if (status == CJ_OK) status = cji_compile_take(&o, opts, img, call);
    if (status == CJ_OK) status = cji_image_compile(img, m, &o, call);
    if (status != CJ_OK) cji_obj_set_failed(img);
    return img;
}

cj_image *cj_image_create_text(cj_device *dev, const char *ptx, const cj_compile_opts *opts)
{
    static const char call[] = "cj_image_create_text";
    CJI_NO_CANCEL;
    cj_compile_opts o;
    cj_status status;
    cj_image *img = new_image(dev, call, &status);
    if (cji_obj_failed(img)) return img;
    if (status == CJ_OK && !ptx) status = cji_fail(img, CJ_EINVAL, call, "the text is NULL");
    if (status == CJ_OK) status = cji_compile_take(&o, opts, img, call);
    if (status == CJ_OK) status = image_of_text(img, ptx, &o, call);
    if (status != CJ_OK) cji_obj_set_failed(img);
    return img;
}

cj_image *cj_image_from(cj_device *dev, const void *data, size_t bytes)
{
    static const char call[] = "cj_image_from";
    cj_status status;
    cj_image *img = new_image(dev, call, &status);
    if (cji_obj_failed(img)) return img;
    if (status == CJ_OK && (!data || !bytes)) status = cji_fail(img, CJ_EINVAL, call, "no bytes");
    uint64_t needs = status == CJ_OK ? cji_image_needs(data, bytes) : 0;
    if (needs > bytes)
        status = cji_fail(img, CJ_EINVAL, call,
                          "the image was cut: it has %zu bytes and needs at least %llu; a text needs its NUL", bytes,
                          (unsigned long long)needs);
    if (status == CJ_OK && !(img->data = cji_alloc(bytes)))
        status = cji_fail(img, CJ_ENOMEM, call, "no memory for %zu bytes", bytes);
    if (status == CJ_OK) {
        memcpy(img->data, data, bytes);
        img->bytes = img->room = bytes;
    } else {
        cji_obj_set_failed(img);
    }
    return img;
}

const void *cj_image_data(const cj_image *img, size_t *bytes)
{
    bool ok = cji_readable(img, CJI_TAG_IMAGE, false);
    if (bytes) *bytes = ok ? img->bytes : 0;
    return ok ? img->data : NULL;
}

const char *cj_image_log(const cj_image *img)
{
    return cji_readable(img, CJI_TAG_IMAGE, true) && img->log.p && !img->log.failed ? img->log.p : "";
}

CJI_FIRST void cj_image_free(cj_image *img)
{
    if (!cji_check_free(img, CJI_TAG_IMAGE, "cj_image_free") || !cji_obj_release(img)) return;
    cji_image_release_data(img);
    cji_text_free(&img->log);
    cji_entries_release(img->entries);
    if (img->dev) cji_device_drop(img->dev);
    cji_obj_delete(img, sizeof *img);
}
