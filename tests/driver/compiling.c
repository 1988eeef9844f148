/* PTX to code: by which calls, what the compiler's log becomes, one load for a builder, and what a driver cannot do. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/driver/libfake.h"
#include "tests/tap.h"

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n  bad.u32 %r1;\n ret;\n}\n";

static void logs(cj_device *dev)
{
    static const size_t sizes[] = { 10, 1000, 8190, 8191, 8192, 100000, 1000000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *log = malloc(sizes[i] + 1);
        memset(log, 'x', sizes[i]);
        log[sizes[i]] = 0;
        log[sizes[i] - 1] = '!';
        lib.log = log;
        for (int refuse = 0; refuse < 2; refuse++) {
            lib.compiler = refuse ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS;
            cj_image *img = cj_image_create_text(dev, text, NULL);
            cj_module *mod = cj_module_load_text(dev, text, NULL);
            tap_is_int(cj_error_of(img)->status, refuse ? CJ_EJIT : CJ_OK, "an image with a log of %zu bytes",
                       sizes[i]);
            tap_is_int(cj_error_of(mod)->status, refuse ? CJ_EJIT : CJ_OK, "a module with a log of %zu bytes",
                       sizes[i]);
            tap_ok(strlen(cj_image_log(img)) == sizes[i] + 1 && cj_image_log(img)[sizes[i] - 1] == '!',
                   "the image has all of it");
            tap_ok(strlen(cj_module_log(mod)) == sizes[i] + 1 && cj_module_log(mod)[sizes[i] - 1] == '!',
                   "the module has all of it");
            cj_image_free(img);
            cj_module_free(mod);
            tap_is_int(lib.linkers, 0, "no linker is left");
            tap_is_int(lib.modules, 0, "no module is left");
        }
        free(log);
    }
    lib.log = NULL;
    lib.compiler = CUDA_SUCCESS;
}

static void refusals(cj_device *dev)
{
    static const struct { CUresult result; const char *log, *says;
    } rows[] = {
        { 218,
          "ptxas fatal   : Ptx assembly aborted due to errors\n"
          "ptxas application ptx input, line 6; error   : Not a name of any known instruction: 'bad'\n",
          "line 6; error   : Not a name of any known instruction: 'bad' [bad.u32 %r1;]: cuLinkAddData: "
          "CUDA_ERROR_INVALID_PTX" },
        { 222, "ptxas application ptx input, line 1; fatal : Unsupported .version 9.9; current version is '9.0'\n",
          "Unsupported .version 9.9; current version is '9.0' [.version 7.0]" },
        { 200, NULL, "the driver's compiler rejects the PTX: cuLinkAddData: CUDA_ERROR_INVALID_IMAGE" },
        { 221, NULL, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND (the driver's PTX compiler library is missing)" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lib.compiler = rows[i].result;
        lib.log = rows[i].log;
        cj_image *img = cj_image_create_text(dev, text, NULL);
        tap_is_int(cj_error_of(img)->status, CJ_EJIT, "refused with %d", (int)rows[i].result);
        tap_is_int(cj_error_of(img)->driver_code, (int)rows[i].result, "refused with %d: the driver's code",
                   (int)rows[i].result);
        tap_has_str(cj_error_of(img)->message, rows[i].says, "refused with %d: message", (int)rows[i].result);
        cj_module *mod = cj_module_load_image(dev, img);
        tap_is_int(cj_error_of(mod)->status, CJ_EJIT, "a module of a failed image fails with the cause");
        cj_module_free(mod);
        cj_image_free(img);
    }
    lib.log = NULL;
    lib.compiler = CUDA_ERROR_OUT_OF_MEMORY;
    cj_image *img = cj_image_create_text(dev, text, NULL);
    tap_is_int(cj_error_of(img)->status, CJ_ENOMEM, "a compiler without memory");
    cj_image_free(img);
    lib.compiler = CUDA_SUCCESS;
}

static cj_ptx *small_module(const char *mnemonic)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val n = cj_param(f, "n", CJ_U32);
    if (mnemonic) (cj_ins_n)(f, mnemonic, (cj_val[]){ n, n, n }, 3);
    else (void)n;
    return m;
}

/* The number of the first line of the compiler's text that holds `what`. */
static int line_with(const char *what)
{
    const char *at = strstr(lib.ptx, what);
    int line = 1;
    for (const char *p = lib.ptx; at && p < at; p++) line += *p == '\n';
    return at ? line : 0;
}

/* A line of PTX that the compiler names leads to the builder's source, in the record and in the log. */
static void lines_of_rejections(cj_device *dev)
{
    char log[400], says[200];
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = (cj_ptx_kernel)(m, "k");
    cj_val n = (cj_param)(f, "n", CJ_U32), r = (cj_reg)(f, CJ_U32);
    cj_line(f, "prog.lang", 42);
    (cj_ins_n)(f, "add.u32", (cj_val[]){ r, n, n }, 3);
    cj_line(f, "prog.lang", 43);
    (cj_ins_n)(f, "mul.lo.u32", (cj_val[]){ r, r, r }, 3);
    cj_ptx *copy = cj_ptx_clone(m);
    cj_image_free(cj_image_create(dev, copy, NULL)); /* for its text */
    int add = line_with("add.u32"), mul = line_with("mul.lo.u32");
    snprintf(
        log, sizeof log,
        "ptxas application ptx input, line %d; warning : something\n"
        "ptxas application ptx input, line %d; error : bad\n",
        add, mul);
    lib.log = log;
    lib.compiler = CUDA_ERROR_INVALID_PTX;
    cj_image *img = cj_image_create(dev, m, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    const void *failed[] = { img, k };
    for (int i = 0; i < 2; i++) {
        const cj_error *e = cj_error_of(failed[i]);
        snprintf(says, sizeof says, "line %d (prog.lang:43); error : bad [mul.lo.u32", mul);
        tap_has_str(e->message, says, "the line is named, with the compiler's beside it");
        tap_ok(e->line == 43 && !strcmp(e->file, "prog.lang"), "and in the record: %s:%d", e->file, e->line);
        snprintf(says, sizeof says, "line %d (prog.lang:42); warning", add);
        tap_has_str(i ? cj_kernel_log(k) : cj_image_log(img), says, "the log names the other lines");
        snprintf(says, sizeof says, "\n %6d |", mul - 2);
        tap_has_str(i ? cj_kernel_log(k) : cj_image_log(img), says, "two lines around each are there");
        snprintf(says, sizeof says, "\n>%6d |", mul);
        const char *at = strstr(i ? cj_kernel_log(k) : cj_image_log(img), says);
        tap_ok(at && !strncmp(at + strlen(says) + strspn(at + strlen(says), " \t"), "mul.lo.u32", 10),
               "and the line itself, marked");
    }
    lib.log = NULL;
    lib.compiler = CUDA_SUCCESS;
    cj_kernel_free(k), cj_image_free(img), cj_ptx_free(copy), cj_ptx_free(m);
}

/* What is rejected is written to the folder of CUJIT_DUMP, once, with the log behind it. */
static void dumps(cj_device *dev)
{
    static const char log[] = "ptxas application ptx input, line 6; error   : bad\n";
    char folder[] = "/tmp/cujit-dump-XXXXXX", path[400];
    int files = 0;
    if (!mkdtemp(folder)) tap_bail("no folder");
    setenv("CUJIT_DUMP", folder, 1);
    lib.compiler = CUDA_ERROR_INVALID_PTX;
    lib.log = log;
    for (int i = 0; i < 3; i++) cj_image_free(cj_image_create_text(dev, text, NULL));
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        files++;
        snprintf(path, sizeof path, "%s/%.200s", folder, e->d_name);
    }
    if (d) closedir(d);
    tap_is_int(files, 1, "three rejections of a text leave one file");
    size_t bytes = 0;
    char *got = files ? tap_slurp(path, &bytes) : NULL;
    tap_ok(got && !strncmp(got, text, strlen(text)), "it begins with the text");
    tap_ok(got && strstr(got, "\n// ptxas application ptx input, line 6; error   : bad\n// "), "the log is behind it");
    free(got);
    if (files) unlink(path);
    rmdir(folder);
    static char longest[4200];
    memset(longest, 'f', sizeof longest - 1);
    const struct { const char *name, *folder, *says; } wrong[] = {
        { "a folder that is not there", folder, ": No such file or directory; it must be a folder that exists" },
        { "a file", "/dev/null", "to /dev/null: Not a directory; it must be a folder that exists" },
        { "a long name", longest, ": File name too long" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[600] = "", last[600] = "";
        setenv("CUJIT_DUMP", wrong[i].folder, 1);
        cj_image *img = cj_image_create_text(dev, text, NULL);
        tap_is_int(cj_error_of(img)->status, CJ_EJIT, "%s changes nothing", wrong[i].name);
        cj_image_free(img);
        while (cj_log_read(line, sizeof line)) memcpy(last, line, sizeof last);
        tap_has_str(last, wrong[i].says, "%s: the log says why", wrong[i].name);
    }
    unsetenv("CUJIT_DUMP");
    lib.compiler = CUDA_SUCCESS;
    lib.log = NULL;
}

static void builders(cj_driver *drv, cj_device *dev)
{
    cj_ptx *m = small_module(NULL);
    int links = lib.calls[CJI_CU_ID_cuLinkComplete], loads = lib.calls[CJI_CU_ID_cuModuleLoadData],
        texts = lib.calls[CJI_CU_ID_cuModuleLoadDataEx];
    cj_module *one = cj_module_load(dev, m, NULL), *two = cj_module_load(dev, m, NULL);
    tap_is_int(cj_error_of(one)->status, CJ_OK, "a builder is loaded");
    tap_ok(one == two, "loaded again it is the same module");
    tap_is_int(lib.calls[CJI_CU_ID_cuLinkComplete] - links, 1, "compiled once, by cuLink");
    tap_is_int(lib.calls[CJI_CU_ID_cuModuleLoadData] - loads, 1, "loaded once, by cuModuleLoadData");
    tap_is_int(lib.calls[CJI_CU_ID_cuModuleLoadDataEx] - texts, 0, "not as text");
    tap_is_int((int)lib.ptx_bytes, (int)strlen(lib.ptx) + 1, "the text's NUL is counted in");
    tap_has_str(lib.ptx, ".entry k", "it is the builder's text");
    const size_t text_bytes = lib.ptx_bytes;
    cj_fn *f = cj_ptx_kernel(m, "later");
    tap_is_int(cj_error_of(f)->status, CJ_ESTATE, "the builder is frozen");
    cj_kernel *k = cj_module_kernel(one, "k"), *absent = cj_module_kernel(two, "absent"),
              *nameless = cj_module_kernel(two, NULL);
    tap_is_int(cj_kernel_params(k), 1, "its kernel knows its parameters");
    tap_is_str(cj_kernel_name(k), "k", "its name");
    tap_is_str(cj_kernel_log(k), cj_module_log(one), "its module's log");
    cj_kernel_param_info p = { .size = sizeof p };
    tap_is_int(cj_kernel_param(k, 0, &p), CJ_OK, "the first one");
    tap_ok(p.type == CJ_U32 && p.bytes == 4 && p.offset == 0 && !strcmp(p.name, "n"), "is .u32 n");
    tap_is_int(cj_kernel_param(k, 1, &p), CJ_EINVAL, "there is no second one");
    tap_is_int(cj_error_of(absent)->status, CJ_ENOTFOUND, "a kernel that is not there");
    tap_has_str(cj_error_of(absent)->message, "no kernel \"absent\"; it has k", "names those that are");
    tap_is_int(cj_error_of(nameless)->status, CJ_EINVAL, "a kernel without a name");
    cj_kernel_free(absent);
    cj_kernel_free(nameless);
    cj_module_free(one);
    cj_module_free(two);
    tap_is_int(lib.modules, 1, "the kernel keeps the module loaded");
    cj_kernel_free(k);
    tap_is_int(lib.modules, 0, "the last release unloads it");
    cj_ptx_free(m);

    (void)drv;
    m = small_module(NULL);
    cj_image *img = cj_image_create(dev, m, NULL);
    tap_is_uint(lib.ptx_bytes, text_bytes, "the room of a text has nothing of it for the next one");
    size_t bytes = 0;
    const void *data = cj_image_data(img, &bytes);
    tap_ok(data && bytes == lib.cubin, "an image gives its bytes");
    cj_image *kept = cj_image_from(dev, data, bytes);
    cj_module *mod = cj_module_load_image(dev, kept);
    tap_is_int(cj_error_of(mod)->status, CJ_OK, "kept bytes are loaded");
    k = cj_module_kernel(mod, "k");
    tap_is_int(cj_kernel_params(k), 2, "their kernels' parameters are the driver's answer");
    cj_kernel_free(k);
    cj_module_free(mod);
    cj_image_free(kept);
    cj_image_free(img);
    img = cj_image_from(dev, NULL, 0);
    tap_is_int(cj_error_of(img)->status, CJ_EINVAL, "an image of no bytes");
    cj_image_free(img);
    cj_ptx_free(m);
}

static void too_old(void)
{
    libfake_reset();
    lib.version = 11040;
    cj_driver *drv = libfake_open();
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_ptx *m = small_module(NULL);
    cj_ptx_set_version(m, "8.6");
    cj_module *mod = cj_module_load(dev, m, NULL);
    tap_is_int(cj_error_of(mod)->status, CJ_ENOTSUP, "a module newer than the driver");
    tap_has_str(cj_error_of(mod)->message, "the driver supports PTX up to 7.4", "says what the driver supports");
    tap_has_str(cj_error_of(mod)->message, "8.6", "and what is needed");
    tap_is_int(lib.linkers + lib.calls[CJI_CU_ID_cuLinkCreate], 0, "it was not given to the compiler");
    cj_module_free(mod);
    cj_ptx_free(m);
    m = small_module(NULL);
    cj_ptx_set_target(m, "sm_100a");
    mod = cj_module_load(dev, m, NULL);
    tap_is_int(cj_error_of(mod)->status, CJ_ENOTSUP, "a module for another device");
    cj_module_free(mod);
    cj_ptx_free(m);
    cj_device_close(dev);
    cj_driver_close(drv);
}

int main(void)
{
    tap_plan(0);
    libfake_reset();
    cj_driver *drv = libfake_open();
    cj_device *dev = cj_device_open(drv, 0, NULL);
    logs(dev);
    refusals(dev);
    lines_of_rejections(dev);
    dumps(dev);
    builders(drv, dev);
    cj_device_close(dev);
    cj_driver_close(drv);
    tap_is_int(lib.retained, 0, "nothing is left");
    too_old();
    return tap_done();
}
