/* What the options of constructors become: options of the driver's compiler, flags of pinned memory and of the
 * primary context. */
#include <string.h>

#include "tests/driver/libfake.h"
#include "tests/tap.h"

enum {
    LEVEL = 1u << CU_JIT_OPTIMIZATION_LEVEL,
    REGS = 1u << CU_JIT_MAX_REGISTERS,
    LINES = 1u << CU_JIT_GENERATE_LINE_INFO,
    DEBUG = 1u << CU_JIT_GENERATE_DEBUG_INFO
};
static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n ret;\n}\n";

static cj_ptx *build(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_return(cj_ptx_kernel(m, "k"));
    return m;
}

/* -- Compile options ----------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    cj_compile_opts o;
    unsigned set;
    int level, registers;
    bool loc;
} compiled[] = {
    { "the defaults", { .opt_level = 0 }, 0, 0, 0, false },
    { "level 4 is the default", { .opt_level = 4 }, 0, 0, 0, false },
    { "level 3", { .opt_level = 3 }, LEVEL, 3, 0, false },
    { "no optimisation", { .opt_level = CJ_OPT_NONE }, LEVEL, 0, 0, false },
    { "registers", { .max_registers = 64 }, REGS, 0, 64, false },
    { "lines", { .line_info = 1 }, LINES, 0, 0, true },
    { "debug", { .debug = 1 }, DEBUG | LINES | LEVEL, 0, 0, true },
    { "all", { .opt_level = 1, .max_registers = 255, .line_info = 7 }, LEVEL | REGS | LINES, 1, 255, true },
};

static void check_set(size_t i, const char *what)
{
    unsigned set = lib.jit_set & (LEVEL | REGS | LINES | DEBUG);
    tap_is_int((int)set, (int)compiled[i].set, "%s, %s: these options reach the compiler", compiled[i].name, what);
    if (set & LEVEL)
        tap_is_int((int)lib.jit_value[CU_JIT_OPTIMIZATION_LEVEL], compiled[i].level, "%s, %s: the level",
                   compiled[i].name, what);
    if (set & REGS)
        tap_is_int((int)lib.jit_value[CU_JIT_MAX_REGISTERS], compiled[i].registers, "%s, %s: registers",
                   compiled[i].name, what);
}

static void compile_options(cj_device *dev)
{
    for (size_t i = 0; i < sizeof compiled / sizeof *compiled; i++) {
        cj_compile_opts o = compiled[i].o;
        o.size = sizeof o;
        cj_ptx *m = build();
        cj_image *img = cj_image_create(dev, m, &o);
        check_set(i, "an image");
        tap_ok((strstr(lib.ptx, ".loc") != NULL) == compiled[i].loc, "%s: .loc is printed or not", compiled[i].name);
        cj_image_free(img);
        img = cj_image_create_text(dev, text, &o);
        check_set(i, "an image of text");
        cj_image_free(img);
        cj_module *mod = cj_module_load_text(dev, text, &o);
        check_set(i, "a module of text");
        cj_module_free(mod);
        cj_kernel *k = cj_kernel_load(dev, m, "k", &o);
        check_set(i, "a kernel");
        tap_is_int(cj_error_of(k)->status, CJ_OK, "%s: loads", compiled[i].name);
        cj_kernel_free(k);
        cj_ptx_free(m);
    }
}

static void wrong_compile_options(cj_device *dev)
{
    static const struct { cj_compile_opts o; const char *says; } rows[] = {
        { { .size = sizeof(cj_compile_opts), .opt_level = 5 }, "opt_level is 5; 1 to 4" },
        { { .size = sizeof(cj_compile_opts), .opt_level = -2 }, "opt_level is -2" },
        { { .size = sizeof(cj_compile_opts), .max_registers = 256 }, "max_registers is 256" },
        { { .size = sizeof(cj_compile_opts), .max_registers = -1 }, "max_registers is -1" },
        { { .size = sizeof(cj_compile_opts), .debug = 1, .opt_level = 2 }, "debug is 1 and opt_level is 2" },
        { { .size = 0 }, "cj_compile_defaults" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_ptx *m = build();
        void *made[] = { cj_image_create(dev, m, &rows[i].o), cj_image_create_text(dev, text, &rows[i].o),
                         cj_module_load(dev, m, &rows[i].o), cj_module_load_text(dev, text, &rows[i].o),
                         cj_kernel_load(dev, m, "k", &rows[i].o) };
        for (size_t j = 0; j < sizeof made / sizeof *made; j++) {
            tap_is_int(cj_error_of(made[j])->status, CJ_EINVAL, "%s: constructor %zu", rows[i].says, j);
            tap_has_str(cj_error_of(made[j])->message, rows[i].says, "the message of constructor %zu", j);
        }
        cj_image_free(made[0]), cj_image_free(made[1]), cj_module_free(made[2]), cj_module_free(made[3]),
            cj_kernel_free(made[4]);
        tap_is_int(cj_error_of(cj_ptx_kernel(m, "later"))->status, CJ_OK,
                   "the builder is not frozen by a call that did nothing");
        cj_ptx_free(m);
    }
}

static void loaded_again(cj_device *dev)
{
    static const struct { const char *name; cj_compile_opts o; const char *differs; } rows[] = {
        { "the same", { .opt_level = 3 }, NULL },
        { "another level", { .opt_level = 2 }, "opt_level" },
        { "the default level", { .opt_level = 0 }, "opt_level" },
        { "other registers", { .opt_level = 3, .max_registers = 32 }, "max_registers" },
        { "lines", { .opt_level = 3, .line_info = 1 }, "line_info" },
        { "debug", { .debug = 1 }, "debug" },
    };
    cj_ptx *m = build();
    cj_module *first = cj_module_load(dev, m, CJ_COMPILE(.opt_level = 3)), *plain = cj_module_load(dev, m, NULL);
    tap_ok(first == plain, "NULL gives the module that is there");
    cj_module_free(plain);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_compile_opts o = rows[i].o;
        o.size = sizeof o;
        cj_module *mod = cj_module_load(dev, m, &o);
        if (!rows[i].differs) {
            tap_ok(mod == first, "%s: the module that is there", rows[i].name);
        } else {
            tap_is_int(cj_error_of(mod)->status, CJ_ESTATE, "%s: fails", rows[i].name);
            tap_has_str(cj_error_of(mod)->message, rows[i].differs, "%s: names the option", rows[i].name);
            tap_has_str(cj_error_of(mod)->message, "cj_ptx_clone", "%s: names the way out", rows[i].name);
        }
        cj_module_free(mod);
    }
    cj_ptx *copy = cj_ptx_clone(m);
    cj_module *other = cj_module_load(dev, copy, CJ_COMPILE(.opt_level = 2));
    tap_is_int(cj_error_of(other)->status, CJ_OK, "a clone is loaded with other options");
    cj_module_free(other);
    cj_module_free(first);
    other = cj_module_load(dev, m, CJ_COMPILE(.opt_level = 2));
    tap_is_int(cj_error_of(other)->status, CJ_OK, "and the builder itself when the first module is gone");
    cj_module_free(other);
    cj_ptx_free(copy);
    cj_ptx_free(m);
    tap_is_int(lib.modules, 0, "no module is left");
}

/* -- Pinned memory ------------------------------------------------------------------------------------------------- */

static void host_options(cj_device *dev)
{
    static const struct { cj_host_opts o; unsigned flags;
    } rows[] = {
        { { .size = sizeof(cj_host_opts) }, CU_MEMHOSTALLOC_PORTABLE },
        { { .size = sizeof(cj_host_opts), .write_combined = 1 },
          CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED },
        { { .size = sizeof(cj_host_opts), .mapped = 1 }, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *p = cj_host_alloc(dev, 64, &rows[i].o);
        tap_ok(p && lib.host_flags == rows[i].flags, "pinned memory %zu: flags %u", i, lib.host_flags);
        tap_is_int(cj_host_free(dev, p), CJ_OK, "freed");
    }
    cj_host_opts wrong = { .size = 3 };
    tap_ok(!cj_host_alloc(dev, 64, &wrong) && cj_error_of(dev)->status == CJ_EINVAL, "a wrong size field");
    tap_is_int(lib.pinned, 0, "nothing is left");
}

/* -- Devices ------------------------------------------------------------------------------------------------------- */

static void device_options(cj_driver *drv)
{
    static const struct { int schedule; unsigned flags; } rows[] = {
        { CJ_SCHEDULE_DEFAULT, 8 | CU_CTX_SCHED_SPIN },  { CJ_SCHEDULE_AUTO, 8 },
        { CJ_SCHEDULE_SPIN, 8 | CU_CTX_SCHED_SPIN },     { CJ_SCHEDULE_YIELD, 8 | CU_CTX_SCHED_YIELD },
        { CJ_SCHEDULE_BLOCKING, 8 | CU_CTX_SCHED_BLOCKING_SYNC },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lib.ctx_flags = 8 | CU_CTX_SCHED_SPIN; /* somebody's: CU_CTX_MAP_HOST and a schedule */
        cj_device *dev = cj_device_open(drv, 0, CJ_DEVICE(.schedule = rows[i].schedule)),
                  *again = cj_device_open(drv, 0, NULL);
        tap_is_int((int)lib.ctx_flags, (int)rows[i].flags, "schedule %d: the context's flags", rows[i].schedule);
        tap_ok(again == dev, "schedule %d: NULL gives the device that is open", rows[i].schedule);
        cj_device *other = cj_device_open(
            drv, 0, CJ_DEVICE(.schedule = rows[i].schedule == CJ_SCHEDULE_SPIN ? CJ_SCHEDULE_YIELD : CJ_SCHEDULE_SPIN));
        tap_is_int(cj_error_of(other)->status, CJ_ESTATE, "schedule %d: another one is rejected", rows[i].schedule);
        cj_device_close(other), cj_device_close(again), cj_device_close(dev);
        tap_is_int(lib.retained, 0, "nothing is retained");
    }
    static const cj_device_opts wrong[] = { { .size = sizeof(cj_device_opts), .schedule = 5 },
                                            { .size = sizeof(cj_device_opts), .schedule = -1 },
                                            { .size = 1 } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cj_device *dev = cj_device_open(drv, 0, &wrong[i]);
        tap_is_int(cj_error_of(dev)->status, CJ_EINVAL, "wrong options %zu", i);
        cj_device_close(dev);
    }
    lib.missing = "cuDevicePrimaryCtxSetFlags_v2";
    cj_driver *old = libfake_open();
    cj_device *dev = cj_device_open(old, 0, CJ_DEVICE(.schedule = CJ_SCHEDULE_YIELD));
    tap_is_int(cj_error_of(dev)->status, CJ_ENOTSUP, "a driver that cannot set it");
    tap_has_str(cj_error_of(dev)->message, "cuDevicePrimaryCtxSetFlags", "is named with what it lacks");
    cj_device_close(dev);
    cj_driver_close(old);
    lib.missing = NULL;
}

int main(void)
{
    tap_plan(0);
    libfake_reset();
    cj_driver *drv = libfake_open();
    device_options(drv);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    compile_options(dev);
    wrong_compile_options(dev);
    loaded_again(dev);
    host_options(dev);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
