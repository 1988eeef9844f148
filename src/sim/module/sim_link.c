/* JIT options and the linker: inputs and members of libraries are kept as PTX texts, cuLinkComplete() compiles them
 * together and hands out their container. */
#include "sim/module/sim_module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Options ----------------------------------------------------------------------------------------------------- */

CUresult cji_sim_jit_options(unsigned n, const CUjit_option *option, void **value, sim_options *out)
{
    memset(out, 0, sizeof *out);
    if (n && (!option || !value)) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++) {
        switch (option[i]) {
        case CU_JIT_INFO_LOG_BUFFER: out->info = value[i]; break;
        case CU_JIT_ERROR_LOG_BUFFER: out->error = value[i]; break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            out->info_cap = (unsigned)(uintptr_t)value[i];
            out->info_size = &value[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            out->error_cap = (unsigned)(uintptr_t)value[i];
            out->error_size = &value[i];
            break;
        case CU_JIT_WALL_TIME: out->wall_time = &value[i]; break;
        case CU_JIT_TARGET: out->target = (unsigned)(uintptr_t)value[i]; break;
        case CU_JIT_MAX_REGISTERS: out->max_registers = (unsigned)(uintptr_t)value[i]; break;
        case CU_JIT_OPTIMIZATION_LEVEL:
            if ((uintptr_t)value[i] > 4) return CUDA_ERROR_INVALID_VALUE;
            break;
        default:
            if ((int)option[i] < 0 || (int)option[i] >= SIM_JIT_OPTIONS) return CUDA_ERROR_INVALID_VALUE;
            break;
        }
    }
    return CUDA_SUCCESS;
}

/* As the driver: cut silently to the buffer, which always ends with a NUL; the size slot gets what was used, without
 * the NUL. */
static void sim_log_out(char *buffer, size_t cap, void **size, const char *text)
{
    size_t n = strlen(text), used = 0;
    if (buffer && cap) {
        used = n < cap ? n : cap - 1;
        memcpy(buffer, text, used);
        buffer[used] = 0;
    }
    if (size) *size = (void *)(uintptr_t)used;
}

void cji_sim_jit_options_finish(const sim_options *o, const char *info, const char *error)
{
    sim_log_out(o->info, o->info_cap, o->info_size, info);
    sim_log_out(o->error, o->error_cap, o->error_size, error);
    if (o->wall_time) *o->wall_time = NULL;
}

/* ---- The linker -------------------------------------------------------------------------------------------------- */

/* Each call but cuLinkDestroy holds it and its lock, so that calls of several threads come one after the other, and one
 * that is destroyed meanwhile is freed behind them. */
typedef struct sim_link {
    pthread_mutex_t lock;           /* of what follows; never taken with the process's lock held */
    unsigned refs;                  /* the handle, and each call; under the process's lock */
    sim_options options;
    sim_image *input; size_t n, cap;
    sim_image *member; size_t members, member_cap;   /* of libraries: linked where they are needed */
    void *cubin; size_t cubin_bytes;
} sim_link;

static void sim_link_free(sim_link *l)
{
    for (size_t i = 0; i < l->n; i++) cji_sim_image_free(&l->input[i]);
    for (size_t i = 0; i < l->members; i++) cji_sim_image_free(&l->member[i]);
    cji_free(l->input, l->cap * sizeof *l->input);
    cji_free(l->member, l->member_cap * sizeof *l->member);
    cji_free(l->cubin, l->cubin_bytes);
    pthread_mutex_destroy(&l->lock);
    cji_free(l, sizeof *l);
}

void cji_sim_link_forget(void *link)
{
    sim_link *l = link;
    cji_sim_handle_drop(l);
    if (--l->refs == 0) sim_link_free(l);
}

/* Begins a call; sim_link_leave() ends it. */
static CUresult sim_link_enter(CUlinkState h, sim_link **out)
{
    sim_link *l = (sim_link *)h;
    sim_lock();
    bool ok = cji_sim_handle_is(SIM_LINK, l);
    if (ok) l->refs++;
    sim_unlock();
    if (!ok) return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&l->lock);
    *out = l;
    return CUDA_SUCCESS;
}

static void sim_link_leave(sim_link *l)
{
    pthread_mutex_unlock(&l->lock);
    sim_lock();
    if (--l->refs == 0) sim_link_free(l);
    sim_unlock();
}

CUresult cji_sim_cuLinkCreate(unsigned n, CUjit_option *options, void **values, CUlinkState *out)
{
    sim_ctx *c;
    sim_options o;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_jit_options(n, options, values, &o);
    if (r) return r;
    sim_lock();
    r = cji_sim_ctx_current(&c);
    if (!r) {
        sim_link *l = cji_zalloc(sizeof *l);
        if (!l || !cji_sim_handle_add(SIM_LINK, l)) {
            cji_free(l, sizeof *l);
            r = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
            pthread_mutex_init(&l->lock, NULL);
            l->refs = 1;
            l->options = o;
            *out = (CUlinkState)l;
        }
    }
    sim_unlock();
    return r;
}

/* Takes over `image`. */
static CUresult sim_link_add(sim_link *l, sim_image image)
{
    if (!cji_grow(&l->input, &l->cap, l->n + 1, sizeof *l->input)) {
        cji_sim_image_free(&image);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    l->input[l->n++] = image;
    return CUDA_SUCCESS;
}

/* A text without a name of its own is known by the caller's. */
static CUresult sim_image_rename(sim_image *image, const char *name)
{
    if (!name || !*name || image->n != 1 || image->text[0].text != image->copy) return CUDA_SUCCESS;
    size_t n = strlen(name) + 1, bytes = image->copy_bytes + n;
    char *copy = cji_alloc(bytes);
    if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(copy, image->copy, image->copy_bytes);
    memcpy(copy + image->copy_bytes, name, n);
    image->text[0].text = copy;
    image->text[0].name = copy + image->copy_bytes;
    cji_free(image->copy, image->copy_bytes);
    image->copy = copy;
    image->copy_bytes = bytes;
    return CUDA_SUCCESS;
}

/* What the bytes are, by how they begin. */
static CUjitInputType sim_input_kind(const void *data, size_t size)
{
    if (cji_sim_is_fatbin(data, size)) return CU_JIT_INPUT_FATBINARY;
    return *(const unsigned char *)data == 0x7f ? CU_JIT_INPUT_CUBIN : CU_JIT_INPUT_PTX;
}

/* What is being added, and where to. */
typedef struct sim_adding {
    sim_link *link;
    const char *name;
    unsigned max_registers;
    bool library;                   /* its parts are members of a library */
    size_t parts, foreign;          /* of an archive or a host object: taken, and machine code only */
} sim_adding;

static CUresult sim_add_member(sim_link *l, sim_image image)
{
    if (!cji_grow(&l->member, &l->member_cap, l->members + 1, sizeof *l->member)) {
        cji_sim_image_free(&image);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    l->member[l->members++] = image;
    return CUDA_SUCCESS;
}

/* PTX, a fat binary, or an image of this linker. */
static CUresult sim_add_image(sim_adding *a, const void *data, size_t size, cji_text *log)
{
    sim_image image = { 0 };
    CUresult r = cji_sim_image_read(data, size, &image, log);
    if (!r) cji_sim_image_limit(&image, a->max_registers);
    if (!r) r = sim_image_rename(&image, a->name);
    if (!r) r = cji_sim_check_heads(image.text, image.n, log);
    if (!r) return a->library ? sim_add_member(a->link, image) : sim_link_add(a->link, image);
    cji_sim_image_free(&image);
    return r;
}

/* A fat binary of an object, or a member of an archive. One that holds machine code of a GPU only is passed over, as
 * long as others hold PTX. */
static CUresult sim_add_part(void *user, const unsigned char *p, size_t size, cji_text *log)
{
    sim_adding *a = user;
    cji_text why = { 0 };
    CUresult r = a->library && cji_sim_is_host_object(p, size) ? cji_sim_object_read(p, size, sim_add_part, a, &why)
                                                               : sim_add_image(a, p, size, &why);
    a->parts += !r;
    a->foreign += r == CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (r == CUDA_ERROR_NO_BINARY_FOR_GPU) r = CUDA_SUCCESS;
    if (r) cji_text_puts(log, cji_text_str(&why));
    cji_text_free(&why);
    return r;
}

static CUresult sim_add_parts(sim_adding *a, const unsigned char *p, size_t size, cji_text *log)
{
    CUresult r = a->library ? cji_sim_archive_read(p, size, sim_add_part, a, log)
                            : cji_sim_object_read(p, size, sim_add_part, a, log);
    if (r || a->parts) return r;
    cji_text_printf(log, "the %s holds %s: the CPU device links PTX, fat binaries with PTX in them and what its own "
                         "linker made (nvcc writes PTX with -gencode arch=compute_90,code=compute_90)\n",
                    a->library ? "library" : "object",
                    a->foreign ? "machine code of a GPU and no PTX" : "no device code");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static CUresult sim_link_kind(sim_adding *a, CUjitInputType type, const void *data, size_t size, cji_text *log)
{
    static const char other[] = "an input's kind does not fit its contents: PTX text, fat binaries, images, objects "
                                "and libraries are different kinds\n";
    switch (type) {
    case CU_JIT_INPUT_PTX:
    case CU_JIT_INPUT_CUBIN:
    case CU_JIT_INPUT_OBJECT:
    case CU_JIT_INPUT_FATBINARY:
        if (type == CU_JIT_INPUT_OBJECT && cji_sim_is_host_object(data, size))
            return sim_add_parts(a, data, size, log);
        if (!cji_sim_is_archive(data, size) &&
            sim_input_kind(data, size) == (type == CU_JIT_INPUT_OBJECT ? CU_JIT_INPUT_CUBIN : type))
            return sim_add_image(a, data, size, log);
        break;
    case CU_JIT_INPUT_LIBRARY:
        a->library = true;
        if (cji_sim_is_archive(data, size)) return sim_add_parts(a, data, size, log);
        break;
    case CU_JIT_INPUT_NVVM:
        cji_text_puts(log, "the CPU device has no compiler of NVVM's intermediate code: link PTX\n");
        return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    cji_text_puts(log, other);
    return CUDA_ERROR_INVALID_IMAGE;
}

static CUresult sim_link_data(sim_link *l, CUjitInputType type, const void *data, size_t size, const char *name,
                              const sim_options *o)
{
    cji_text log = { 0 };
    sim_adding a = { .link = l, .name = name,
                     .max_registers = o->max_registers ? o->max_registers : l->options.max_registers };
    if (l->cubin) return CUDA_ERROR_INVALID_VALUE;   /* completed already */
    CUresult r = sim_link_kind(&a, type, data, size, &log);
    if (r) {
        cji_sim_reject_log(r, &log);
        cji_sim_jit_options_finish(&l->options, "", cji_text_str(&log));
    }
    cji_text_free(&log);
    return r;
}

CUresult cji_sim_cuLinkAddData(CUlinkState h, CUjitInputType type, void *data, size_t size, const char *name,
                               unsigned n, CUjit_option *options, void **values)
{
    sim_link *l;
    sim_options o;
    CUresult r = sim_link_enter(h, &l);
    if (r) return r;
    r = cji_sim_jit_options(n, options, values, &o);
    if (!r && (!data || !size)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_link_data(l, type, data, size, name, &o);
    sim_link_leave(l);
    return r;
}

CUresult cji_sim_file_read(const char *path, void **data, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f) return CUDA_ERROR_FILE_NOT_FOUND;
    char *p = NULL;
    size_t n = 0, cap = 0, got;
    CUresult r = CUDA_SUCCESS;
    do {
        if (!cji_grow(&p, &cap, n + 65536 + 1, 1)) {
            r = CUDA_ERROR_OUT_OF_MEMORY;
            break;
        }
        got = fread(p + n, 1, 65536, f);
        n += got;
    } while (got);
    if (!r && ferror(f)) r = CUDA_ERROR_FILE_NOT_FOUND;
    fclose(f);
    if (p) p[n] = 0;
    *data = p;
    *size = r ? 0 : n;
    if (r || !n) {
        cji_free(p, cap);
        return r ? r : CUDA_ERROR_INVALID_IMAGE;
    }
    char *fit = cji_alloc(n + 1);
    if (fit) memcpy(fit, p, n + 1);
    cji_free(p, cap);
    *data = fit;
    return fit ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cji_sim_cuLinkAddFile(CUlinkState h, CUjitInputType type, const char *path, unsigned n, CUjit_option *options,
                               void **values)
{
    sim_link *l;
    sim_options o;
    void *data;
    size_t size;
    CUresult r = sim_link_enter(h, &l);
    if (r) return r;
    r = cji_sim_jit_options(n, options, values, &o);
    if (!r && !path) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = cji_sim_file_read(path, &data, &size);
    if (!r) {
        r = sim_link_data(l, type, data, size, path, &o);
        cji_free(data, size + 1);
    }
    sim_link_leave(l);
    return r;
}

/* The linker takes less static shared memory than cuModuleLoadData. */
static CUresult sim_link_fits(const cji_exec_program *program, cji_text *log)
{
    uint64_t most = (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    const cji_exec_kernel *k = cji_sim_shared_above(program, most);
    if (!k) return CUDA_SUCCESS;
    cji_text_printf(log, "kernel %s has %llu bytes of static shared memory; the linker takes at most %llu\n",
                    cji_short(k->name), (unsigned long long)k->static_shared, (unsigned long long)most);
    return CUDA_ERROR_INVALID_SOURCE;
}

/* All texts that are linked, of inputs and of those members of libraries that are needed; freed with cji_free. */
static CUresult sim_link_texts(const sim_link *l, cji_exec_text **out, size_t *n)
{
    size_t all = 0;
    bool *taken = cji_zalloc(l->members + 1);
    bool fine = taken && cji_sim_members_choose(l->input, l->n, l->member, l->members, taken);
    *n = 0;
    for (size_t i = 0; i < l->n; i++) all += l->input[i].n;
    for (size_t i = 0; fine && i < l->members; i++) all += taken[i] ? l->member[i].n : 0;
    *out = fine && all ? cji_zalloc(all * sizeof **out) : NULL;
    for (size_t i = 0; *out && i < l->n + l->members; i++) {
        const sim_image *image = i < l->n ? &l->input[i] : &l->member[i - l->n];
        if (i >= l->n && !taken[i - l->n]) continue;
        memcpy(*out + *n, image->text, image->n * sizeof **out);
        *n += image->n;
    }
    cji_free(taken, l->members + 1);
    return fine && (*out || !all) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult sim_link_complete(sim_link *l, cji_text *log)
{
    size_t n = 0;
    cji_exec_text *text;
    cji_exec_program *program = NULL;
    CUresult r = sim_link_texts(l, &text, &n);
    if (!r && !n) {
        cji_text_printf(log, l->members ? "nothing to link: there are libraries only\n"
                                        : "nothing to link: no input was added\n");
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!r) r = cji_sim_module_build(text, n, &program, log);
    if (!r) r = sim_link_fits(program, log);
    cji_exec_program_free(program);
    if (!r && !cji_sim_container_make(text, n, &l->cubin, &l->cubin_bytes)) r = CUDA_ERROR_OUT_OF_MEMORY;
    cji_free(text, n * sizeof *text);
    return r;
}

CUresult cji_sim_cuLinkComplete(CUlinkState h, void **out, size_t *size)
{
    sim_link *l;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = sim_link_enter(h, &l);
    if (r) return r;
    cji_text log = { 0 };
    if (!l->cubin) r = sim_link_complete(l, &log);
    if (r) cji_sim_reject_log(r, &log);
    else if (log.n) cji_log(CJ_LOG_WARNING, "cuLinkComplete: %.400s", cji_text_str(&log));
    cji_sim_jit_options_finish(&l->options, r ? "" : cji_text_str(&log), r ? cji_text_str(&log) : "");
    cji_text_free(&log);
    if (!r) {
        *out = l->cubin;
        if (size) *size = l->cubin_bytes;
    }
    sim_link_leave(l);
    return r;
}

CUresult cji_sim_cuLinkDestroy(CUlinkState h)
{
    sim_lock();
    bool ok = cji_sim_handle_is(SIM_LINK, h);
    if (ok) cji_sim_link_forget(h);
    sim_unlock();
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
