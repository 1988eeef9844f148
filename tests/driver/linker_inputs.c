/* Builders, texts, fat binaries, objects, libraries and images joined into one image: what each of them defines is
 * found, functions are called and variables read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/device_bench.h"
#include "tests/driver/link_samples.h"

/* cj_norm and cj_norm_bias, as nvcc writes them: parameters in the .param space. */
static const char norm_text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .u32 cj_norm_bias = 5;\n"
    ".visible .func (.param .b32 func_retval0) cj_norm(\n"
    " .param .b32 cj_norm_param_0,\n .param .b64 cj_norm_param_1\n)\n"
    "{\n .reg .b32 %r<7>;\n ld.param.u32 %r1, [cj_norm_param_0];\n shl.b32 %r2, %r1, 1;\n"
    " ld.param.u32 %r3, [cj_norm_param_1];\n add.s32 %r4, %r2, %r3;\n ld.global.u32 %r5, [cj_norm_bias];\n"
    " add.s32 %r6, %r4, %r5;\n st.param.b32 [func_retval0+0], %r6;\n ret;\n}\n";

/* k: p[0] = cj_norm(p[0], 100) + 1000 * cj_norm_bias */
static cj_ptx *caller(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *norm = cj_ptx_extern_func(m, "cj_norm");
    cj_param(norm, "x", CJ_S32);
    cj_param(norm, "y", CJ_S64);
    cj_result(norm, "r", CJ_S32);
    cj_val bias = cj_ptx_extern(m, "cj_norm_bias", CJ_SPACE_GLOBAL, CJ_S32, 1);
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val p = cj_param_ptr(f, "p", CJ_S32);
    cj_val r = cj_call(f, norm, cj_get(f, p, 0), 100);
    cj_set(f, p, 0, cj_add(f, r, cj_mul(f, cj_get(f, bias, 0), 1000)));
    return m;
}

/* The same function and variable, built. */
static cj_ptx *callee(void)
{
    const int32_t five = 5;
    cj_ptx *m = cj_ptx_create();
    cj_val bias = cj_ptx_global(m, "cj_norm_bias", CJ_S32, 1, &five, 1);
    cj_fn *f = cj_ptx_func(m, "cj_norm");
    cj_val x = cj_param(f, "x", CJ_S32), y = cj_param(f, "y", CJ_S64);
    cj_val twice = cj_mul(f, x, 2), low = cj_cvt(f, CJ_S32, y);
    cj_return_value(f, cj_add(f, cj_add(f, twice, low), cj_get(f, bias, 0)));
    return m;
}

static const char unneeded_text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.extern .func nowhere();\n"
    ".visible .func unneeded()\n{\n call nowhere;\n ret;\n}\n";

/* ---- An archive, as ar writes it: a symbol table, a long name, members of odd sizes --------------------------- */

typedef struct archive { unsigned char b[8192]; size_t n; } archive;

static void member(archive *a, const char *name, const void *data, size_t bytes)
{
    char head[61];
    snprintf(head, sizeof head, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644u, bytes);
    memcpy(a->b + a->n, head, 60);
    memcpy(a->b + a->n + 60, data, bytes);
    a->n += 60 + bytes;
    if (a->n & 1) a->b[a->n++] = '\n';
}

static void archive_begin(archive *a)
{
    memcpy(a->b, "!<arch>\n", 8);
    a->n = 8;
    member(a, "/", "\0\0\0\0", 4);
    member(a, "//", "an_object_with_a_long_name.o/\n", 30);
}

static cj_status add_builder(cj_linker *l)
{
    cj_ptx *m = callee();
    cj_status status = cj_linker_add(l, m);
    cj_ptx_free(m);
    return status;
}

static cj_status add_text(cj_linker *l) { return cj_linker_add_text(l, norm_text, "norm.ptx"); }
static cj_status add_text_nul(cj_linker *l) { return cj_linker_add_data(l, norm_text, sizeof norm_text, "norm.ptx"); }
static cj_status add_text_bare(cj_linker *l)
{
    /* of a block that ends with the text: nothing behind it is read */
    size_t n = sizeof norm_text - 1;
    char *copy = malloc(n);
    memcpy(copy, norm_text, n);
    cj_status status = cj_linker_add_data(l, copy, n, NULL);
    free(copy);
    return status;
}
static cj_status add_fat(cj_linker *l)
{
    return cj_linker_add_data(l, link_object + LINK_FAT_AT, LINK_FAT_BYTES, "norm.fatbin");
}
static cj_status add_object(cj_linker *l) { return cj_linker_add_data(l, link_object, sizeof link_object, "norm.o"); }

static cj_status add_library(cj_linker *l)
{
    static archive a;
    archive_begin(&a);
    /* what nobody needs is not linked, so that what it lacks is not missed */
    if (!tap_on_gpu()) member(&a, "unneeded.ptx/", unneeded_text, sizeof unneeded_text - 1);
    member(&a, "/0", link_object, sizeof link_object);
    return cj_linker_add_data(l, a.b, a.n, "libnorm.a");
}

static cj_status add_file(cj_linker *l)
{
    char path[] = "/tmp/cujit-link-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, link_object, sizeof link_object) != (ssize_t)sizeof link_object) tap_bail("no file");
    close(fd);
    cj_status status = cj_linker_add_file(l, path);
    unlink(path);
    return status;
}

static const struct { const char *name; cj_status (*add)(cj_linker *); } cases[] = {
    { "a builder", add_builder },
    { "a text, with parameters in memory", add_text },
    { "a text's bytes with its NUL", add_text_nul },
    { "a text's bytes without it", add_text_bare },
    { "a fat binary", add_fat },
    { "an object of nvcc", add_object },
    { "a library of nvcc", add_library },
    { "a file", add_file },
};

static void computes(cj_image *img, const char *how)
{
    int32_t v = 7;
    tap_is_str(cj_error_of(img)->message, "", "%s: linked", how);
    cj_module *mod = cj_module_load_image(dev, img);
    cj_kernel *k = cj_module_kernel(mod, "k");
    cj_copy_to_device(s, d, &v, sizeof v);
    cj_launch(s, k, cj_threads(1, 1), d);
    cj_copy_to_host(s, &v, d, sizeof v);
    tap_is_int(cj_stream_sync(s), CJ_OK, "%s: runs (%s)", how, cj_error_of(s)->message);
    tap_is_int(v, 2 * 7 + 100 + 5 + 5000, "%s: what it computes", how);
    cj_kernel_free(k);
    cj_module_free(mod);
}

/* Each kind of input, before and behind the caller. */
static void kinds(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int first = 0; first < 2; first++) {
            cj_linker *l = cj_linker_create(dev, NULL);
            cj_ptx *m = caller();
            if (first) tap_is_int(cases[i].add(l), CJ_OK, "%s is added first", cases[i].name);
            tap_is_int(cj_linker_add(l, m), CJ_OK, "%s: the caller is added", cases[i].name);
            if (!first) tap_is_int(cases[i].add(l), CJ_OK, "%s is added", cases[i].name);
            cj_ptx_free(m);
            cj_image *img = cj_linker_link(l);
            cj_linker_free(l);
            computes(img, cases[i].name);
            cj_image_free(img);
        }
}

/* A kernel knows its parameters by name and type, whichever input it is of. */
static void parameters(void)
{
    cj_linker *l = cj_linker_create(dev, NULL);
    cj_ptx *m = caller();
    cj_linker_add(l, m);
    add_text(l);
    cj_linker_add_text(l, ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry other(.param .f32 alpha)\n{\n ret;\n}\n", NULL);
    cj_image *img = cj_linker_link(l);
    cj_module *mod = cj_module_load_image(dev, img);
    cj_kernel *k = cj_module_kernel(mod, "k"), *other = cj_module_kernel(mod, "other"),
              *none = cj_module_kernel(mod, "none");
    cj_kernel_param_info p = { .size = sizeof p };
    tap_is_int(cj_kernel_param(k, 0, &p), CJ_OK, "the builder's kernel has a parameter");
    tap_ok(!strcmp(p.name, "p") && p.type == CJ_U64 && p.pointer, "it is p, an address (%s)", p.name);
    tap_is_int(cj_kernel_param(other, 0, &p), CJ_OK, "the text's kernel has one");
    tap_ok(!strcmp(p.name, "alpha") && p.type == CJ_F32, "it is alpha, .f32 (%s)", p.name);
    tap_has_str(cj_error_of(none)->message, "it has k, other", "the kernels of all inputs are named");
    cj_kernel_free(k), cj_kernel_free(other), cj_kernel_free(none);
    cj_module_free(mod), cj_image_free(img), cj_linker_free(l), cj_ptx_free(m);
}

/* A link that lacks something is repeated when it is added; an image of the CPU device is an input too. */
static void in_steps(void)
{
    cj_linker *l = cj_linker_create(dev, NULL);
    cj_ptx *m = caller();
    cj_image *img = cj_linker_link(l);
    tap_is_int(cj_error_of(img)->status, CJ_ESTATE, "nothing to link");
    cj_image_free(img);
    cj_linker_add(l, m);
    img = cj_linker_link(l);
    const cj_error *e = cj_error_of(img);
    tap_is_int(e->status, CJ_ENOTFOUND, "names that nothing defines (%s)", e->message);
    tap_has_str(e->message, "cj_norm", "the function is named");
    tap_has_str(e->message, "cj_norm_bias", "and the variable");
    tap_ok(*cj_image_log(img), "the failed image has the linker's log");
    cj_image_free(img);
    add_text(l);
    img = cj_linker_link(l);
    computes(img, "after the rest was added");
    if (tap_on_gpu()) {
        tap_skip(4, "images of a GPU's linker are linked already");
    } else {
        cj_image *part = cj_image_create_text(dev, norm_text, NULL);
        cj_linker *again = cj_linker_create(dev, NULL);
        cj_linker_add(again, m);
        tap_is_int(cj_linker_add_image(again, part), CJ_OK, "an image is added");
        cj_image *both = cj_linker_link(again);
        computes(both, "an image as input");
        cj_image_free(both), cj_image_free(part), cj_linker_free(again);
    }
    cj_image_free(img), cj_linker_free(l), cj_ptx_free(m);
}

int main(void)
{
    bench_open(64);
    kinds();
    parameters();
    in_steps();
    return bench_close();
}
