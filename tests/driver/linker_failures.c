/* What a linker rejects, and what it says: over a fake driver, so that each answer of the driver's linker occurs. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/driver/libfake.h"
#include "tests/driver/link_samples.h"
#include "tests/tap.h"

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n  bad.u32 %r1;\n ret;\n}\n";

static cj_driver *drv;
static cj_device *dev;

/* ---- What the driver answers ------------------------------------------------------------------------------------- */

enum { COMPILER = -2 };

static const struct {
    const char *name;
    int call;                     /* that fails; COMPILER: the driver's compiler */
    CUresult result;
    const char *log;
    cj_status status;
    const char *says;
} rows[] = {
    { "nvlink's words", CJI_CU_ID_cuLinkComplete, CUDA_ERROR_UNKNOWN,
      "error   : Undefined reference to 'far' in 'a.ptx'\nerror   : Undefined reference to 'bias' in 'a.ptx'\n"
      "error   : Undefined reference to 'far' in 'b.ptx'\n",
      CJ_ENOTFOUND, "cj_linker_link: no input defines far, bias; add what defines them: cuLinkComplete" },
    { "ptxas' words", CJI_CU_ID_cuLinkComplete, CUDA_ERROR_INVALID_PTX,
      "ptxas fatal   : Unresolved extern function 'far'\n", CJ_ENOTFOUND, "no input defines far; add what does" },
    { "a variable", CJI_CU_ID_cuLinkComplete, CUDA_ERROR_INVALID_PTX,
      "ptxas fatal   : Unresolved extern variable 'v'\n", CJ_ENOTFOUND, "no input defines v;" },
    { "an input's text", COMPILER, CUDA_ERROR_INVALID_PTX,
      "ptxas fatal   : Ptx assembly aborted due to errors\n"
      "ptxas application ptx input, line 6; error   : Not a name of any known instruction: 'bad'\n",
      CJ_EJIT, "the driver's compiler rejects a.ptx: ptxas application ptx input, line 6; error   : Not a name of any "
               "known instruction: 'bad' [bad.u32 %r1;]: cuLinkAddData" },
    { "two definitions", CJI_CU_ID_cuLinkComplete, CUDA_ERROR_INVALID_IMAGE,
      "error   : Multiple definition of 'k' in 'b.ptx', first defined in 'a.ptx'\n", CJ_EJIT,
      "the driver's linker rejects the inputs: error   : Multiple definition of 'k'" },
    { "no words", CJI_CU_ID_cuLinkComplete, CUDA_ERROR_INVALID_IMAGE, NULL, CJ_EJIT,
      "the driver's linker rejects the inputs: cuLinkComplete: CUDA_ERROR_INVALID_IMAGE" },
    { "no memory", CJI_CU_ID_cuLinkCreate, CUDA_ERROR_OUT_OF_MEMORY, NULL, CJ_ENOMEM, "cuLinkCreate" },
    { "another failure", CJI_CU_ID_cuLinkComplete, CUDA_ERROR_NOT_PERMITTED, NULL, CJ_EDRIVER,
      "the inputs were not linked: cuLinkComplete: CUDA_ERROR_NOT_PERMITTED" },
};

static void answers(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_linker *l = cj_linker_create(dev, NULL);
        cj_linker_add_text(l, text, "a.ptx");
        cj_linker_add_text(l, text, "b.ptx");
        if (rows[i].call == COMPILER) lib.compiler = rows[i].result;
        lib.fail_id = rows[i].call;
        lib.fail_with = rows[i].result;
        lib.log = rows[i].log;
        cj_image *img = cj_linker_link(l);
        const cj_error *e = cj_error_of(img);
        tap_is_int(e->status, rows[i].status, "%s: status", rows[i].name);
        tap_is_int(e->driver_code, (int)rows[i].result, "%s: the driver's code", rows[i].name);
        tap_has_str(e->message, rows[i].says, "%s: message", rows[i].name);
        if (rows[i].log)
            tap_ok(!strncmp(cj_image_log(img), rows[i].log, strlen(rows[i].log)), "%s: the log", rows[i].name);
        tap_is_int(cj_error_of(l)->status, CJ_OK, "%s: the linker has not failed", rows[i].name);
        tap_is_int(lib.linkers, 0, "%s: nothing is left", rows[i].name);
        cj_image_free(img);
        lib.fail_id = -1;
        lib.compiler = CUDA_SUCCESS;
        lib.log = NULL;
        img = cj_linker_link(l);
        tap_is_int(cj_error_of(img)->status, CJ_OK, "%s: the next link succeeds", rows[i].name);
        cj_image_free(img);
        cj_linker_free(l);
    }
}

/* More names than a message holds: those that fit, and that there are more. */
static void many_names(void)
{
    static char log[20000];
    for (int i = 0; i < 200; i++)
        sprintf(log + strlen(log), "error : Undefined reference to 'a_function_with_a_long_name_%d' in 'x'\n", i);
    cj_linker *l = cj_linker_create(dev, NULL);
    cj_linker_add_text(l, text, NULL);
    lib.fail_id = CJI_CU_ID_cuLinkComplete;
    lib.fail_with = CUDA_ERROR_UNKNOWN;
    lib.log = log;
    cj_image *img = cj_linker_link(l);
    tap_has_str(cj_error_of(img)->message, "no input defines a_function_with_a_long_name_0, ", "many names: the first");
    tap_has_str(cj_error_of(img)->message, ", ...; add what defines them", "that there are more");
    tap_is_int((int64_t)strlen(cj_image_log(img)), (int64_t)strlen(log), "the log has all");
    cj_image_free(img), cj_linker_free(l);
    lib.fail_id = -1;
    lib.log = NULL;
}

/* ---- What is rejected when it is added --------------------------------------------------------------------------- */

static void inputs(void)
{
    static const struct { const char *name; size_t from, bytes; const char *says; } cuts[] = {
        { "an object", 0, 800, "x was cut: it has 800 bytes and needs at least" },
        { "an object's first bytes", 0, 7, "x was cut: it has 7 bytes and needs at least 64" },
        { "a fat binary", LINK_FAT_AT, 100, "x was cut: it has 100 bytes and needs at least 368" },
    };
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        cj_linker *l = cj_linker_create(dev, NULL);
        tap_is_int(cj_linker_add_data(l, link_object + cuts[i].from, cuts[i].bytes, "x"), CJ_EINVAL, "%s that was cut",
                   cuts[i].name);
        tap_has_str(cj_error_of(l)->message, cuts[i].says, "%s that was cut: message", cuts[i].name);
        tap_is_int(cj_linker_add_text(l, NULL, NULL), CJ_EINVAL, "a text that is NULL");
        tap_has_str(cj_error_of(l)->message, cuts[i].says, "the first failure is kept");
        cj_image *img = cj_linker_link(l);
        tap_has_str(cj_error_of(img)->message, cuts[i].says, "%s: and fails the link", cuts[i].name);
        cj_image_free(img), cj_linker_free(l);
    }
    static const struct { const char *name; cj_status status; const char *says; } kinds[] = {
        { "no bytes", CJ_EINVAL, "the input has no bytes" },
        { "no text", CJ_EINVAL, "the text is NULL" },
        { "no path", CJ_EINVAL, "the path is NULL" },
        { "no file", CJ_ENOTFOUND, "the file /nowhere/at/all.a cannot be opened: No such file or directory" },
        { "a folder", CJ_ENOTFOUND, "the file / cannot be read: Is a directory" },
        { "no builder", CJ_EHANDLE, "the module is NULL" },
        { "no image", CJ_EHANDLE, "the image is NULL" },
        { "an empty file", CJ_EINVAL, "/dev/null has no bytes" },
    };
    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++) {
        cj_linker *l = cj_linker_create(dev, NULL);
        cj_status status = i == 0   ? cj_linker_add_data(l, "", 0, NULL)
                           : i == 1 ? cj_linker_add_text(l, NULL, NULL)
                           : i == 2 ? cj_linker_add_file(l, NULL)
                           : i == 3 ? cj_linker_add_file(l, "/nowhere/at/all.a")
                           : i == 4 ? cj_linker_add_file(l, "/")
                           : i == 5 ? cj_linker_add(l, NULL)
                           : i == 6 ? cj_linker_add_image(l, NULL)
                                    : cj_linker_add_file(l, "/dev/null");
        tap_is_int(status, kinds[i].status, "%s", kinds[i].name);
        tap_is_int(cj_error_of(l)->status, kinds[i].status, "%s: left in the linker", kinds[i].name);
        tap_has_str(cj_error_of(l)->message, kinds[i].says, "%s: message", kinds[i].name);
        cj_linker_free(l);
    }
    cj_linker *l = cj_linker_create(dev, &(cj_compile_opts){ .size = sizeof(cj_compile_opts), .opt_level = 9 });
    tap_is_int(cj_error_of(l)->status, CJ_EINVAL, "an option out of range");
    cj_image *img = cj_linker_link(l);
    tap_is_int(cj_error_of(img)->status, CJ_EINVAL, "a failed linker fails the link");
    cj_image_free(img), cj_linker_free(l);
}

/* ---- The folder of CUJIT_DUMP ------------------------------------------------------------------------------------ */

/* Removes a folder with all its files, and says how many there were. */
static int remove_dumps(const char *folder)
{
    char path[400];
    int files = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%.200s", folder, e->d_name);
        if (e->d_name[0] != '.' && unlink(path) == 0) files++;
    }
    if (dir) closedir(dir);
    rmdir(folder);
    return files;
}

/* All texts of a link that is rejected are written; what the log says of a line of one of them has the line. */
static void dumps(void)
{
    static const char other[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k2()\n{\n ret;\n}\n";
    static const struct {
        const char *name;
        CUresult result;
        const char *log, *second, *says, *shows;
    } cases[] = {
        { "a wrong text", CUDA_ERROR_INVALID_PTX, "a.ptx:6:3: no register %r1\n", "b.ptx",
          "the driver's compiler rejects a.ptx: a.ptx:6:3: no register %r1 [bad.u32 %r1;]",
          ">     6 |   bad.u32 %r1;\n" },
        { "the second text", CUDA_ERROR_INVALID_PTX, "b.ptx:4:1: k2 is odd\n", "b.ptx",
          "rejects b.ptx: b.ptx:4:1: k2 is odd [.visible .entry k2()]", ">     4 | .visible .entry k2()\n" },
        { "texts of one name", CUDA_ERROR_INVALID_PTX, "a.ptx:6:3: no register %r1\n", "a.ptx",
          "the driver's linker rejects the inputs: a.ptx:6:3: no register %r1", "" },
        { "two definitions", CUDA_ERROR_INVALID_IMAGE, "error   : Multiple definition of 'k' in 'b.ptx'\n", "b.ptx",
          "the driver's linker rejects the inputs: error   : Multiple definition of 'k'", "" },
        { "a name that nothing defines", CUDA_ERROR_UNKNOWN, "error   : Undefined reference to 'far' in 'a.ptx'\n",
          "b.ptx", "no input defines far", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char folder[] = "/tmp/cujit-dump-XXXXXX";
        if (!mkdtemp(folder)) tap_bail("no folder");
        setenv("CUJIT_DUMP", folder, 1);
        cj_linker *l = cj_linker_create(dev, NULL);
        cj_linker_add_text(l, text, "a.ptx");
        cj_linker_add_text(l, other, cases[i].second);
        cj_linker_add_data(l, link_object, sizeof link_object, "object.o");
        lib.fail_id = CJI_CU_ID_cuLinkComplete;
        lib.fail_with = cases[i].result;
        lib.log = cases[i].log;
        cj_image *img = cj_linker_link(l);
        tap_has_str(cj_error_of(img)->message, cases[i].says, "%s: message", cases[i].name);
        tap_has_str(cj_image_log(img), cases[i].shows, "%s: the log has the line", cases[i].name);
        tap_is_int(remove_dumps(folder), 2, "%s: both texts are written", cases[i].name);
        cj_image_free(img), cj_linker_free(l);
    }
    unsetenv("CUJIT_DUMP");
    lib.fail_id = -1;
    lib.log = NULL;
}

/* A builder's lines lead to its source, whichever input it is. */
static void lines(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = (cj_ptx_kernel)(m, "k2");
    cj_val n = (cj_param)(f, "n", CJ_U32), r = (cj_reg)(f, CJ_U32);
    cj_line(f, "prog.lang", 42);
    (cj_ins_n)(f, "add.u32", (cj_val[]){ r, n, n }, 3);
    cj_linker *l = cj_linker_create(dev, NULL);
    cj_linker_add(l, m);
    cj_image *img = cj_linker_link(l);
    cj_image_free(img);
    int line = 1;
    const char *at = strstr(lib.ptx, "add.u32");
    for (const char *p = lib.ptx; at && p < at; p++) line += *p == '\n';
    char log[200], says[200];
    snprintf(log, sizeof log, "ptxas application ptx input, line %d; error   : bad\n", line);
    lib.compiler = CUDA_ERROR_INVALID_PTX;
    lib.log = log;
    img = cj_linker_link(l);
    const cj_error *e = cj_error_of(img);
    tap_ok(e->line == 42 && !strcmp(e->file, "prog.lang"), "the record has the line (%s:%d)", e->file, e->line);
    snprintf(says, sizeof says,
             "rejects input 1: ptxas application ptx input, line %d (prog.lang:42); error   : bad [add", line);
    tap_has_str(e->message, says, "and the message");
    cj_image_free(img), cj_linker_free(l), cj_ptx_free(m);
    lib.compiler = CUDA_SUCCESS;
    lib.log = NULL;
}

/* A driver without a linker compiles a text when it is loaded; the log says so once.  `there`: it has the entry
 * points, and cuLinkCreate answers that it is not supported. */
static void without_linker(const char *lacks, bool there)
{
    char line[600];
    int told = 0;
    libfake_reset();
    if (!there) lib.missing = lacks;
    if (there) lib.fail_id = CJI_CU_ID_cuLinkCreate, lib.fail_with = CUDA_ERROR_NOT_SUPPORTED;
    cj_driver *old = libfake_open();
    cj_device *on = cj_device_open(old, 0, NULL);
    tap_is_int(cj_error_of(on)->status, CJ_OK, "without %s: the driver is opened", lacks);
    while (cj_log_read(line, sizeof line)) { }
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_param(f, "n", CJ_U32);
    for (int i = 0; i < 3; i++) {
        cj_ptx *copy = cj_ptx_clone(m);
        cj_kernel *k = cj_kernel_load(on, copy, "k", &(cj_compile_opts){ .size = sizeof(cj_compile_opts),
                                                                         .max_registers = 40 });
        tap_is_int(cj_error_of(k)->status, CJ_OK, "without %s: a builder is loaded (%s)", lacks,
                   cj_error_of(k)->message);
        tap_is_int(lib.calls[CJI_CU_ID_cuModuleLoadDataEx], i + 1, "by cuModuleLoadDataEx");
        tap_is_int((int64_t)lib.jit_value[CU_JIT_MAX_REGISTERS], 40, "with its options");
        tap_is_int(cj_kernel_params(k), 1, "its kernel knows its parameters");
        cj_kernel_free(k), cj_ptx_free(copy);
    }
    while (cj_log_read(line, sizeof line)) told += strstr(line, "has no linker (cuLink*)") != NULL;
    tap_is_int(told, 1, "without %s: the log says so once", lacks);
    tap_is_int(lib.calls[CJI_CU_ID_cuLinkCreate], there, "the linker is asked for once, if it is there");
    cj_linker *l = cj_linker_create(on, NULL);
    cj_linker_add_text(l, text, NULL);
    cj_image *img = cj_linker_link(l);
    cj_module *mod = cj_module_load_image(on, img);
    tap_is_int(cj_error_of(mod)->status, CJ_OK, "one text is an image");
    cj_module_free(mod), cj_image_free(img);
    lib.compiler = CUDA_ERROR_INVALID_PTX;
    lib.log = "ptxas application ptx input, line 6; error   : bad\n";
    img = cj_linker_link(l);
    mod = cj_module_load_image(on, img);
    tap_is_int(cj_error_of(mod)->status, CJ_EJIT, "a wrong text fails when it is loaded");
    tap_has_str(cj_module_log(mod), lib.log, "with the compiler's log");
    cj_module_free(mod), cj_image_free(img);
    cj_linker_add_text(l, text, NULL);
    img = cj_linker_link(l);
    tap_is_int(cj_error_of(img)->status, CJ_ENOTSUP, "two texts cannot be linked");
    tap_has_str(cj_error_of(img)->message, "has no linker (cuLinkCreate)", "and why");
    cj_image_free(img), cj_linker_free(l), cj_ptx_free(m);
    cj_device_close(on), cj_driver_close(old);
}

/* What ptxas compiles as a whole program only: a driver that has a linker compiles it when it is loaded too. */
static void without_abi(void)
{
    libfake_reset();
    lib.fail_id = CJI_CU_ID_cuLinkComplete, lib.fail_with = CUDA_ERROR_INVALID_PTX;
    lib.log = "ptxas warning : Function 'pair' with multiple return values found, disabling ABI\n";
    cj_driver *with = libfake_open();
    cj_device *on = cj_device_open(with, 0, NULL);
    cj_ptx *m = cj_ptx_create();
    cj_fn *pair = cj_ptx_func(m, "pair");
    cj_result(pair, "a", CJ_U32), cj_result(pair, "b", CJ_U32);
    cj_ptx_kernel(m, "k");
    cj_module *mod = cj_module_load(on, m, NULL);
    tap_is_int(cj_error_of(mod)->status, CJ_OK, "a function of two results is loaded (%s)", cj_error_of(mod)->message);
    tap_is_int(lib.calls[CJI_CU_ID_cuModuleLoadDataEx], 1, "by cuModuleLoadDataEx");
    tap_has_str(cj_module_log(mod), "disabling ABI", "with the compiler's warning");
    cj_module_free(mod);
    lib.log = "ptxas application ptx input, line 6; error   : bad\n";
    mod = cj_module_load(on, m, NULL);
    tap_is_int(cj_error_of(mod)->status, CJ_EJIT, "other modules that cannot be linked fail");
    cj_module_free(mod), cj_ptx_free(m);
    cj_device_close(on), cj_driver_close(with);
}

static void moves_registers(cj_ptx *m, cj_fn *k)
{
    (void)m;
    cj_role_more(k, cj_imm_u(k, 0), 0, 1, 64);
    cj_end(k);
}

static void multiplies(cj_ptx *m, cj_fn *k)
{
    (void)m;
    cj_wgmma_commit(k);
}

/* The parameter is read, and so is the variable. */
static void hides(cj_ptx *m, cj_fn *k)
{
    cj_val v = cj_ptx_global(m, "v", CJ_U64, 1, NULL, 0);
    cj_fn *f = cj_ptx_func(m, "f");
    cj_return_value(f, cj_get(f, v, 0));
    cj_set(k, cj_as_ptr(k, cj_param(k, "v", CJ_U64), CJ_U64, CJ_SPACE_GLOBAL), 0, cj_call(k, f));
}

static void hides_no_more(cj_ptx *m, cj_fn *k)
{
    cj_ptx_global(m, "w", CJ_U64, 1, NULL, 0);
    cj_param(k, "v", CJ_U64);
}

static const char serialised[] =
    "ptxas info    : (C7509) Potential Performance Loss: wgmma.mma_async instructions are serialized due to the "
    "presence of Extern calls in the function 'k'\n";

static const struct { const char *name, *log; void (*write)(cj_ptx *, cj_fn *); bool linked, whole; } programs[] = {
    { "setmaxnreg", NULL, moves_registers, false, true },
    { "serialised wgmma", serialised, multiplies, true, true },
    { "wgmma", NULL, multiplies, true, false },
    { "a parameter that hides a variable", NULL, hides, false, true },
    { "a parameter and a variable", NULL, hides_no_more, true, false },
};

/* What is slower as a part of a program, or wrong, is compiled as a whole one. */
static void whole_programs(void)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        for (int as_text = 0; as_text < 2; as_text++) {
            const char *printed = "", *how = programs[i].linked ? "is linked" : "is not linked";
            libfake_reset();
            lib.log = programs[i].log;
            cj_driver *with = libfake_open();
            cj_device *on = cj_device_open(with, 0, NULL);
            cj_ptx *m = cj_ptx_create();
            cj_fn *k = cj_ptx_kernel(m, "k");
            programs[i].write(m, k);
            cj_return(k);
            cj_ptx_print(m, 0, &printed, NULL);
            cj_image *img = as_text ? cj_image_create_text(on, printed, NULL) : NULL;
            cj_module *mod = as_text ? cj_module_load_image(on, img) : cj_module_load(on, m, NULL);
            tap_is_int(cj_error_of(mod)->status, CJ_OK, "a %s with %s is loaded (%s)", as_text ? "text" : "module",
                       programs[i].name, cj_error_of(mod)->message);
            tap_is_int(lib.calls[CJI_CU_ID_cuLinkCreate], programs[i].linked, "... %s", how);
            const bool whole = lib.calls[CJI_CU_ID_cuModuleLoadDataEx] == 1;
            tap_is_int(whole, programs[i].whole, "... %s", programs[i].whole ? "and is compiled as a whole program"
                                                                             : "as what was linked");
            cj_module_free(mod), cj_image_free(img), cj_ptx_free(m);
            cj_device_close(on), cj_driver_close(with);
        }
    }
}

/* Where several modules are linked, the linker would read another thing. */
static void hiding_input(void)
{
    libfake_reset();
    cj_driver *with = libfake_open();
    cj_device *on = cj_device_open(with, 0, NULL);
    cj_linker *l = cj_linker_create(on, NULL);
    cj_ptx *m = cj_ptx_create();
    hides(m, cj_ptx_kernel(m, "k"));
    tap_is_int(cj_linker_add(l, m), CJ_EPTX, "an input whose parameter hides a variable");
    tap_has_str(cj_error_of(l)->message, "the parameter v of a function has the name of a variable of the module",
                "... is named");
    cj_ptx_free(m), cj_linker_free(l);
    cj_device_close(on), cj_driver_close(with);
}

/* The first thing that is asked of such a driver is a link. */
static void linked_first(void)
{
    libfake_reset();
    lib.fail_id = CJI_CU_ID_cuLinkCreate, lib.fail_with = CUDA_ERROR_NOT_SUPPORTED;
    cj_driver *none = libfake_open();
    cj_device *on = cj_device_open(none, 0, NULL);
    cj_linker *l = cj_linker_create(on, NULL);
    cj_linker_add_text(l, text, NULL);
    cj_image *img = cj_linker_link(l);
    tap_is_int(cj_error_of(img)->status, CJ_OK, "one text is linked to itself (%s)", cj_error_of(img)->message);
    cj_module *mod = cj_module_load_image(on, img);
    tap_is_int(cj_error_of(mod)->status, CJ_OK, "and loaded");
    tap_is_int(lib.calls[CJI_CU_ID_cuModuleLoadDataEx], 1, "by cuModuleLoadDataEx");
    cj_module_free(mod), cj_image_free(img), cj_linker_free(l);
    cj_device_close(on), cj_driver_close(none);

    libfake_reset();
    lib.fail_id = CJI_CU_ID_cuLinkCreate, lib.fail_with = CUDA_ERROR_NOT_SUPPORTED;
    none = libfake_open();
    on = cj_device_open(none, 0, NULL);
    l = cj_linker_create(on, NULL);
    cj_linker_add_text(l, text, NULL), cj_linker_add_text(l, text, NULL);
    img = cj_linker_link(l);
    tap_is_int(cj_error_of(img)->status, CJ_ENOTSUP, "two texts are not");
    tap_has_str(cj_error_of(img)->message, "has no linker (cuLinkCreate)", "and why");
    cj_image_free(img), cj_linker_free(l);
    cj_device_close(on), cj_driver_close(none);
}

int main(void)
{
    tap_plan(0);
    libfake_reset();
    drv = libfake_open();
    dev = cj_device_open(drv, 0, NULL);
    answers();
    many_names();
    inputs();
    dumps();
    lines();
    cj_device_close(dev);
    cj_driver_close(drv);
    without_linker("cuLinkCreate_v2", false);
    without_linker("cuLinkAddData_v2", false);
    without_linker("cuLinkCreate_v2", true);
    without_abi();
    whole_programs();
    hiding_input();
    linked_first();
    return tap_done();
}
