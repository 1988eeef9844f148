/* cj_linker: inputs that are joined into one image. */
#include <cujit/linker.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "cuda/container.h"
#include "driver/compile/compile.h"
#include "driver/image.h"

/* -- Inputs -------------------------------------------------------------------------------------------------------- */

cji_link_input *cji_link_input_retain(cji_link_input *in)
{
    atomic_fetch_add_explicit(&in->refs, 1, memory_order_relaxed);
    return in;
}

void cji_link_input_release(cji_link_input *in)
{
    if (!in || atomic_fetch_sub(&in->refs, 1) != 1) return;
    cji_strfree(in->name);
    cji_free(in->data, in->bytes);
    cji_entries_release(in->entries);
    if (in->source) cj_ptx_free(in->source);
    cji_free(in, sizeof *in);
}

/* What the bytes are, by how they begin. */
static CUjitInputType input_type(const unsigned char *p, size_t bytes)
{
    enum { MACHINE = 18, CUDA_MACHINE = 190 };
    if (bytes >= 8 && (!memcmp(p, "!<arch>\n", 8) || !memcmp(p, "!<thin>\n", 8))) return CU_JIT_INPUT_LIBRARY;
    if (bytes >= 4 && !memcmp(p, "\x50\xed\x55\xba", 4)) return CU_JIT_INPUT_FATBINARY;
    if (bytes >= 16 && !memcmp(p, CJI_CONTAINER_MAGIC, 16)) return CU_JIT_INPUT_CUBIN;
    if (bytes < 4 || memcmp(p, "\177ELF", 4)) return CU_JIT_INPUT_PTX;
    if (bytes < MACHINE + 2) return CU_JIT_INPUT_OBJECT;
    return p[MACHINE] + 256 * p[MACHINE + 1] == CUDA_MACHINE ? CU_JIT_INPUT_CUBIN : CU_JIT_INPUT_OBJECT;
}

/* Appends an input of which `bytes` bytes are copied; a text gets its NUL.  NULL: no memory, which is recorded. */
static cji_link_input *append_input(cj_linker *l, CUjitInputType type, const void *data, size_t bytes,
                                    const char *name, const char *call)
{
    char number[32];
    cji_link_input *in = cji_zalloc(sizeof *in);
    if (in) {
        atomic_init(&in->refs, 1);
        in->type = type;
        in->bytes = bytes + (type == CU_JIT_INPUT_PTX);
        in->data = cji_alloc(in->bytes);
        if (!name || !*name) snprintf(number, sizeof number, "input %zu", l->n + 1), name = number;
        in->name = cji_strdup(name);
    }
    if (in && in->data && in->name && cji_grow(&l->input, &l->cap, l->n + 1, sizeof *l->input)) {
        memcpy(in->data, data, bytes);
        if (type == CU_JIT_INPUT_PTX) ((char *)in->data)[bytes] = 0;
        return l->input[l->n++] = in;
    }
    cji_link_input_release(in);
    cji_fail(l, CJ_ENOMEM, call, "no memory for %zu bytes of an input", bytes);
    return NULL;
}

/* Takes the kernels' parameters of the latest input, which is dropped where that fails. */
static cj_status input_entries(cj_linker *l, cji_entries *entries, const char *call)
{
    cji_link_input *in = l->input[l->n - 1];
    cj_status status = CJ_OK;
    in->entries = entries;
    if (!entries)
        status = cji_fail(l, CJ_ENOMEM, call, "no memory for the kernels' parameters");
    else if (entries->hiding)
        status = cji_fail(l, CJ_EPTX, call, "the parameter %s of a function has the name of a variable of the module, "
                          "for which the driver's linker would take it; give one of them another name",
                          cji_short(entries->hiding));
    if (status == CJ_OK) return CJ_OK;
    l->n--;
    cji_link_input_release(in);
    return status;
}

/* -- Making and adding --------------------------------------------------------------------------------------------- */

cj_linker *cj_linker_create(cj_device *dev, const cj_compile_opts *opts)
{
    static const char call[] = "cj_linker_create";
    cj_linker *l = cji_obj_new(sizeof *l, CJI_TAG_LINKER, CJI_OBJ_STICKY, call);
    if (cji_obj_failed(l)) return l;
    cj_status status = cji_check_arg(l, dev, CJI_TAG_DEVICE, call, "the device");
    if (status == CJ_OK) l->dev = cji_obj_retain(dev);
    if (status == CJ_OK) status = cji_compile_take(&l->compile, opts, l, call);
    if (status != CJ_OK) cji_obj_set_failed(l);
    return l;
}

static cj_status add_builder(cj_linker *l, cj_ptx *m, const char *call)
{
    cji_text text = { 0 };
    unsigned flags = cji_print_flags(&l->compile);
    int target;
    cj_status status = cji_check_arg(l, m, CJI_TAG_PTX, call, "the module");
    if (status != CJ_OK) return status;
    if (cji_ptx_finish(m, call) != CJ_OK) return cji_fail_from(l, m, call);
    status = cji_jit_target(l, l->dev, m, &target, call);
    if (status != CJ_OK) return status;
    flags |= cji_print_target(target);
    cji_ptx_freeze(m);
    cji_ptx_write(m, flags, &text);
    cji_link_input *in = NULL;
    if (text.failed) status = cji_fail(l, CJ_ENOMEM, call, "no memory for the module's PTX");
    else in = append_input(l, CU_JIT_INPUT_PTX, cji_text_str(&text), text.n, NULL, call);
    cji_text_free(&text);
    if (!in) return CJ_ENOMEM;
    in->source = cji_obj_retain(m);
    in->flags = flags;
    return input_entries(l, cji_entries_of(m), call);
}

static cj_status add_bytes(cj_linker *l, const void *data, size_t bytes, const char *name, const char *call)
{
    if (!data || !bytes)
        return cji_fail(l, CJ_EINVAL, call, "%s has no bytes", name && *name ? cji_short(name) : "the input");
    CUjitInputType type = input_type(data, bytes);
    bool sized = type == CU_JIT_INPUT_CUBIN || type == CU_JIT_INPUT_OBJECT || type == CU_JIT_INPUT_FATBINARY;
    uint64_t needs = sized ? cji_image_needs(data, bytes) : 0;
    if (needs > bytes)
        return cji_fail(l, CJ_EINVAL, call, "%s was cut: it has %zu bytes and needs at least %llu",
                        name && *name ? cji_short(name) : "the input", bytes, (unsigned long long)needs);
    if (type == CU_JIT_INPUT_PTX) bytes = strnlen(data, bytes);
    if (!append_input(l, type, data, bytes, name, call)) return CJ_ENOMEM;
    return type == CU_JIT_INPUT_PTX ? input_entries(l, cji_entries_read(data, bytes), call) : CJ_OK;
}

cj_status cj_linker_add(cj_linker *l, cj_ptx *m)
{
    cj_status status = cji_check(l, CJI_TAG_LINKER, __func__);
    return status == CJ_OK ? add_builder(l, m, __func__) : status;
}

cj_status cj_linker_add_text(cj_linker *l, const char *ptx, const char *name)
{
    cj_status status = cji_check(l, CJI_TAG_LINKER, __func__);
    if (status != CJ_OK) return status;
    if (!ptx) return cji_fail(l, CJ_EINVAL, __func__, "the text is NULL");
    if (!append_input(l, CU_JIT_INPUT_PTX, ptx, strlen(ptx), name, __func__)) return CJ_ENOMEM;
    return input_entries(l, cji_entries_read(ptx, strlen(ptx)), __func__);
}

cj_status cj_linker_add_data(cj_linker *l, const void *data, size_t bytes, const char *name)
{
    cj_status status = cji_check(l, CJI_TAG_LINKER, __func__);
    return status == CJ_OK ? add_bytes(l, data, bytes, name, __func__) : status;
}

cj_status cj_linker_add_image(cj_linker *l, const cj_image *img)
{
    cj_status status = cji_check(l, CJI_TAG_LINKER, __func__);
    if (status == CJ_OK) status = cji_check_arg(l, img, CJI_TAG_IMAGE, __func__, "the image");
    return status == CJ_OK ? add_bytes(l, img->data, img->bytes, NULL, __func__) : status;
}

/* The file's bytes: *room of them are allocated. */
static cj_status read_file(cj_linker *l, const char *path, char **data, size_t *n, size_t *room, const char *call)
{
    enum { STEP = 65536 };
    FILE *f = fopen(path, "rbe");
    size_t got = 1;
    bool grown = true;
    if (!f)
        return cji_fail(l, CJ_ENOTFOUND, call, "the file %s cannot be opened: %s", cji_short(path), strerror(errno));
    while (got && (grown = cji_grow(data, room, *n + STEP, 1))) *n += got = fread(*data + *n, 1, STEP, f);
    const int error = ferror(f) ? errno : 0;
    fclose(f);
    if (!grown) return cji_fail(l, CJ_ENOMEM, call, "no memory for the file %s", cji_short(path));
    if (!error) return CJ_OK;
    return cji_fail(l, CJ_ENOTFOUND, call, "the file %s cannot be read: %s", cji_short(path), strerror(error));
}

cj_status cj_linker_add_file(cj_linker *l, const char *path)
{
    CJI_NO_CANCEL;
    char *data = NULL;
    size_t n = 0, room = 0;
    cj_status status = cji_check(l, CJI_TAG_LINKER, __func__);
    if (status != CJ_OK) return status;
    if (!path) return cji_fail(l, CJ_EINVAL, __func__, "the path is NULL");
    status = read_file(l, path, &data, &n, &room, __func__);
    if (status == CJ_OK) status = add_bytes(l, data, n, path, __func__);
    cji_free(data, room);
    return status;
}

/* -- Linking and freeing ------------------------------------------------------------------------------------------- */

cj_image *cj_linker_link(cj_linker *l)
{
    static const char call[] = "cj_linker_link";
    CJI_NO_CANCEL;
    cj_image *img = cji_obj_new(sizeof *img, CJI_TAG_IMAGE, 0, call);
    if (cji_obj_failed(img)) return img;
    cj_status status = cji_check_arg(img, l, CJI_TAG_LINKER, call, "the linker");
    if (status == CJ_OK && cji_err_status(l) != CJ_OK) status = cji_fail_from(img, l, call);
    if (status == CJ_OK) img->dev = cji_obj_retain(l->dev);
    if (status == CJ_OK) status = cji_link_run(img, l->input, l->n, &l->compile, call);
    if (status != CJ_OK) cji_obj_set_failed(img);
    return img;
}

void cj_linker_free(cj_linker *l)
{
    if (!cji_check_free(l, CJI_TAG_LINKER, "cj_linker_free") || !cji_obj_release(l)) return;
    for (size_t i = 0; i < l->n; i++) cji_link_input_release(l->input[i]);
    cji_free(l->input, l->cap * sizeof *l->input);
    if (l->dev) cji_device_drop(l->dev);
    cji_obj_delete(l, sizeof *l);
}
