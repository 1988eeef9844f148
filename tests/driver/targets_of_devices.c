/* What a module is printed with for each device and driver: never more than the driver's PTX version, a target of the
 * device's family or of the device alone only where an instruction is in no plain one, and what cannot be is an error
 * that names the instruction, before the compiler is asked. */
#include <stdio.h>
#include <string.h>

#include "tests/driver/libfake.h"
#include "tests/tap.h"

#include "ptx/ptx.h"

enum { ADD, TCGEN05, WGMMA, SETMAXNREG, FP8, SMEM_SIZE, MODULES };
static const char *const module_names[] = { "add", "tcgen05", "wgmma", "setmaxnreg", "cvt to fp8", "%aggr_smem_size" };

static cj_ptx *build(int which)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_line(f, "gemm.c", 89);
    cj_val x = cj_def(f, "mov.f32", cj_imm(f, 1.0f));
    cj_line(f, "gemm.c", 90);
    switch (which) {
    case ADD: cj_def(f, "add.f32", x, x); break;
    case TCGEN05: cj_ins(f, "tcgen05.fence::before_thread_sync"); break;
    case WGMMA: cj_ins(f, "wgmma.fence.sync.aligned"); break;
    case SETMAXNREG: cj_ins(f, "setmaxnreg.inc.sync.aligned.u32", 64); break;
    case FP8: cj_def(f, "cvt.rn.satfinite.e4m3x2.f32", x, x); break;
    default: cj_def(f, "mov.u32", cj_sreg(f, "%aggr_smem_size")); break;
    }
    return m;
}

static const struct {
    int capability, cuda, module;
    const char *fixed;   /* cj_ptx_set_target, or NULL */
    const char *head;    /* what is printed; NULL: the error that follows */
    const char *error;
} rows[] = {
    { 90, 13000, ADD, NULL, ".version 4.0\n.target sm_30\n", NULL },
    { 90, 13000, ADD, "sm_20", ".version 4.0\n.target sm_20\n", NULL },
    { 103, 13000, ADD, NULL, ".version 4.0\n.target sm_30\n", NULL },
    { 90, 13000, WGMMA, NULL, ".version 8.0\n.target sm_90a\n", NULL },
    { 90, 12000, WGMMA, NULL, ".version 8.0\n.target sm_90a\n", NULL },
    { 90, 13000, SETMAXNREG, NULL, ".version 8.0\n.target sm_90a\n", NULL },
    { 100, 13000, SETMAXNREG, NULL, ".version 8.6\n.target sm_100a\n", NULL },
    { 120, 13000, SETMAXNREG, NULL, ".version 8.7\n.target sm_120a\n", NULL },
    { 121, 13000, SETMAXNREG, NULL, ".version 8.8\n.target sm_121f\n", NULL },
    { 100, 12080, TCGEN05, NULL, ".version 8.6\n.target sm_100a\n", NULL },
    { 103, 13000, TCGEN05, NULL, ".version 8.8\n.target sm_103f\n", NULL },
    { 103, 12090, TCGEN05, NULL, ".version 8.8\n.target sm_103f\n", NULL },
    { 110, 13000, TCGEN05, NULL, ".version 9.0\n.target sm_110f\n", NULL },
    { 103, 13000, TCGEN05, "sm_103a", ".version 8.8\n.target sm_103a\n", NULL },
    { 103, 13000, TCGEN05, "sm_100f", ".version 8.8\n.target sm_100f\n", NULL },
    { 89, 12010, FP8, NULL, ".version 8.1\n.target sm_89\n", NULL },
    { 90, 12010, FP8, NULL, ".version 8.1\n.target sm_89\n", NULL },
    { 90, 11080, FP8, NULL, ".version 7.8\n.target sm_90\n", NULL },
    { 90, 12010, SMEM_SIZE, NULL, ".version 8.1\n.target sm_90\n", NULL },
    { 90, 13000, TCGEN05, NULL, NULL,
      "the module needs target sm_100a, sm_100f, sm_101a, sm_101f, sm_103a, sm_103f, sm_110a, sm_110f for "
      "tcgen05.fence::before_thread_sync at gemm.c:90; device 0 (fake 0) is sm_90" },
    { 100, 13000, WGMMA, NULL, NULL,
      "the module needs target sm_90a for wgmma.fence.sync.aligned at gemm.c:90; device 0 (fake 0) is sm_100" },
    { 103, 13000, TCGEN05, "sm_100a", NULL, "the module needs target sm_100a; device 0 (fake 0) is sm_103" },
    { 89, 13000, SMEM_SIZE, NULL, NULL,
      "the module needs target sm_90 or newer for %aggr_smem_size at gemm.c:90; device 0 (fake 0) is sm_89" },
    { 90, 11080, WGMMA, NULL, NULL,
      "the driver supports PTX up to 7.8, wgmma.fence.sync.aligned at gemm.c:90 needs 8.0; install driver 525 or newer "
      "(CUDA 12.0)" },
    { 89, 11080, FP8, NULL, NULL,
      "the driver supports PTX up to 7.8, cvt.rn.satfinite.e4m3x2.f32 at gemm.c:90 needs 8.1; install driver 530 or "
      "newer (CUDA 12.1)" },
    { 90, 12000, SMEM_SIZE, NULL, NULL,
      "the driver supports PTX up to 8.0, %aggr_smem_size at gemm.c:90 needs 8.1; install driver 530 or newer "
      "(CUDA 12.1)" },
    { 103, 12080, TCGEN05, NULL, NULL,
      "the driver supports PTX up to 8.7, target sm_103f needs 8.8; install driver 575 or newer (CUDA 12.9)" },
};

static void one_row(size_t i)
{
    char name[120];
    snprintf(name, sizeof name, "%s%s%s, sm_%d, CUDA %d.%d", module_names[rows[i].module],
             rows[i].fixed ? " set to " : "", rows[i].fixed ? rows[i].fixed : "", rows[i].capability,
             rows[i].cuda / 1000, rows[i].cuda % 1000 / 10);
    libfake_reset();
    lib.version = rows[i].cuda;
    lib.capability = rows[i].capability;
    cj_driver *drv = libfake_open();
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_ptx *m = build(rows[i].module);
    if (rows[i].fixed) cj_ptx_set_target(m, rows[i].fixed);
    cj_module *mod = cj_module_load(dev, m, NULL);
    if (rows[i].head) {
        tap_is_int(cj_error_of(mod)->status, CJ_OK, "%s (%s)", name, cj_error_of(mod)->message);
        lib.ptx[strlen(rows[i].head)] = 0;
        tap_is_str(lib.ptx, rows[i].head, "%s: as it is printed", name);
    } else {
        tap_is_int(cj_error_of(mod)->status, CJ_ENOTSUP, "%s", name);
        tap_has_str(cj_error_of(mod)->message, rows[i].error, "%s: why", name);
        tap_is_int(lib.calls[CJI_CU_ID_cuLinkCreate] + lib.calls[CJI_CU_ID_cuModuleLoadDataEx], 0,
                   "%s: the compiler was not asked", name);
    }
    cj_module_free(mod);

    /* A linker's input is printed in the same way. */
    cj_linker *l = cj_linker_create(dev, NULL);
    lib.ptx[0] = 0;
    cj_status status = cj_linker_add(l, m);
    cj_image_free(cj_linker_link(l));
    if (rows[i].head) {
        lib.ptx[strlen(rows[i].head)] = 0;
        tap_is_str(lib.ptx, rows[i].head, "%s: the same for a linker", name);
    } else {
        tap_is_int(status, CJ_ENOTSUP, "%s: the same for a linker", name);
    }
    cj_linker_free(l);
    cj_ptx_free(m);
    cj_device_close(dev);
    cj_driver_close(drv);
}

/* One module on two devices: what it is printed with is in the digest that keys of the cache are made of. */
static void keys(void)
{
    cj_ptx *m = build(TCGEN05);
    if (cji_ptx_finish(m, "test") != CJ_OK) tap_bail("%s", cj_error_of(m)->message);
    const int on[] = { cji_target_find("sm_100a", 7), cji_target_find("sm_103a", 7) };
    cji_hash128 hash[2], again;
    for (int i = 0; i < 2; i++) {
        const cji_targets runs = cji_target_on((uint32_t)on[i]);
        const int target = cji_ptx_target_for(m, (cji_ptx_device){ .runs = runs, .most = 90 });
        hash[i] = cji_ptx_digest(m, CJI_PRINT_LINK | cji_print_target(target));
        again = cji_ptx_digest(m, CJI_PRINT_LINK | cji_print_target(target));
        tap_ok(cji_hash128_equal(hash[i], again), "%s: the same digest twice", i ? "sm_103" : "sm_100");
    }
    tap_ok(!cji_hash128_equal(hash[0], hash[1]), "another target is another key");
    tap_is_int(cji_ptx_target_for(m, (cji_ptx_device){ .runs = 0, .most = 90 }), on[0],
               "a device that the table does not know gets the least target");
    cj_ptx_free(m);
}

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) one_row(i);
    keys();
    tap_is_int(cji_cu_driver_branch(13020), 595, "later drivers are taken to continue in step");
    return tap_done();
}
