/* A driver too old for an instruction: the error names the instruction, where it was built, and both PTX versions;
 * nothing is given to the compiler. */
#include <stdio.h>
#include <string.h>

#include "tests/driver/libfake.h"
#include "tests/tap.h"

static const struct {
    int cuda, capability;
    const char *mnemonic;
    cj_type type;
    const char *supports, *needs;
} rows[] = {
    { 11010, 90, "min.xorsign.abs.f32", CJ_F32, "up to 7.1, min.xorsign.abs.f32 at ",
      " needs 7.2; install driver 460 or newer (CUDA 11.2)" },
    { 11040, 90, "mapa.u32", CJ_U32, "up to 7.4, mapa.u32 at ", " needs 7.8; install driver 520 or newer (CUDA 11.8)" },
    { 12040, 100, "add.rn.f32x2", CJ_B64, "up to 8.4, add.rn.f32x2 at ",
      " needs 8.6; install driver 565 or newer (CUDA 12.7)" },
};

static void one_row(size_t i, const char *file)
{
    libfake_reset();
    lib.version = rows[i].cuda;
    lib.capability = rows[i].capability;
    cj_driver *drv = libfake_open();
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val x = cj_reg(f, rows[i].type);
    cj_ins(f,
           rows[i].type == CJ_F32   ? "mov.f32"
           : rows[i].type == CJ_U32 ? "mov.u32"
                                    : "mov.b64",
           x, cj_imm_bits(f, rows[i].type, 1));
    cj_line(f, file, 90);
    cj_def_n(f, rows[i].mnemonic, (cj_val[]){ x, x }, 2);
    char place[128];
    snprintf(place, sizeof place, "%s:90%s", file, rows[i].needs);
    cj_module *mod = cj_module_load(dev, m, NULL);
    const cj_error *e = cj_error_of(mod);
    tap_is_int(e->status, CJ_ENOTSUP, "%s and CUDA %d: status (%s)", rows[i].mnemonic, rows[i].cuda, e->message);
    tap_has_str(e->message, rows[i].supports, "%s: what the driver supports", rows[i].mnemonic);
    tap_has_str(e->message, place, "%s: where it was built, and what it needs", rows[i].mnemonic);
    tap_is_int(lib.calls[CJI_CU_ID_cuLinkCreate] + lib.calls[CJI_CU_ID_cuModuleLoadData], 0,
               "%s: no call to the compiler", rows[i].mnemonic);
    cj_module_free(mod);

    lib.version = 13000;
    cj_driver *newer = libfake_open();
    cj_device *able = cj_device_open(newer, 0, NULL);
    mod = cj_module_load(able, m, NULL);
    tap_is_int(cj_error_of(mod)->status, CJ_OK, "%s: the same builder on a newer driver (%s)", rows[i].mnemonic,
               cj_error_of(mod)->message);
    cj_module_free(mod);
    cj_device_close(able);
    cj_driver_close(newer);
    cj_ptx_free(m);
    cj_device_close(dev);
    cj_driver_close(drv);
}

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) one_row(i, i % 2 ? "stencil.lang" : "gemm.c");
    return tap_done();
}
