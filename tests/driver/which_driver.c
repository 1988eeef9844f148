/* Which driver "auto", "cuda" and a path open: the GPU's where it works, the CPU device only where there is no GPU,
 * an error otherwise. */
#include <cujit/cujit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "tests/tap.h"

static const struct {
    const char *name, *which;
    bool library;
    const char *init, *devices;
    cj_status want;
    const char *kind, *says;
} cases[] = {
    { "auto, a GPU", "auto", true, "0", "2", CJ_OK, "cuda", NULL },
    { "cuda, a GPU", "cuda", true, "0", "2", CJ_OK, "cuda", NULL },
    { "auto, no library", "auto", false, "0", "1", CJ_OK, "sim", NULL },
    { "cuda, no library", "cuda", false, "0", "1", CJ_ENODRIVER, "failed", "not found" },
    { "auto, cuInit finds no device", "auto", true, "100", "1", CJ_OK, "sim", NULL },
    { "cuda, cuInit finds no device", "cuda", true, "100", "1", CJ_ENODEVICE, "failed", "finds no CUDA device" },
    { "auto, a count of 0", "auto", true, "0", "0", CJ_OK, "sim", NULL },
    { "auto, the stub", "auto", true, "34", "1", CJ_ENODRIVER, "failed", "stub library" },
    { "auto, versions that do not match", "auto", true, "803", "1", CJ_ENODRIVER, "failed", "different versions" },
    { "auto, a broken driver", "auto", true, "999", "1", CJ_EDRIVER, "failed", "CUDA_ERROR_UNKNOWN" },
};

/* How many lines of the log say that the CPU device is used. */
static int told(void)
{
    char line[600];
    int n = 0;
    while (cj_log_read(line, sizeof line)) n += strstr(line, "using the CPU device") != NULL;
    return n;
}

int main(void)
{
    char library[1024];
    snprintf(library, sizeof library, "%s", tap_build("tests/driver/.libs/libfakecuda.so"));
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("CUJIT_LIBCUDA", cases[i].library ? library : "/nonexistent/libcuda.so.1", 1);
        setenv("FAKECUDA_INIT", cases[i].init, 1);
        setenv("FAKECUDA_DEVICES", cases[i].devices, 1);
        told();
        cj_driver *drv = cj_driver_open(cases[i].which), *again = cj_driver_open(cases[i].which);
        tap_is_int(cj_error_of(drv)->status, cases[i].want, "%s: status (%s)", cases[i].name,
                   cj_error_of(drv)->message);
        tap_is_str(cj_driver_kind(drv), cases[i].kind, "%s: kind", cases[i].name);
        bool fallen = strcmp(cases[i].which, "auto") == 0 && strcmp(cases[i].kind, "sim") == 0;
        tap_is_int(told(), fallen ? 2 : 0, "%s: each fall back is said in one line", cases[i].name);
        if (cases[i].says) tap_has_str(cj_error_of(drv)->message, cases[i].says, "%s: message", cases[i].name);
        else tap_ok(drv == again, "%s: opened again it is the same driver", cases[i].name);
        if (fallen)
            tap_has_str(cj_driver_why(drv), cases[i].library ? library : "/nonexistent/libcuda.so.1: not found",
                        "%s: why", cases[i].name);
        cj_driver_close(again);
        cj_driver_close(drv);
    }
    setenv("FAKECUDA_INIT", "0", 1);
    setenv("FAKECUDA_DEVICES", "1", 1);
    cj_driver *drv = cj_driver_open(library);
    tap_is_str(cj_driver_kind(drv), "custom", "a path is a custom driver");
    tap_is_str(cj_driver_path(drv), library, "with its path");
    tap_is_int(cj_driver_ptx_version(drv), 74, "CUDA 11.4 compiles PTX 7.4");
    tap_ok(drv->missing[CJI_CU_ID_cuLaunchKernelEx] && !drv->missing[CJI_CU_ID_cuLaunchKernel],
           "what is newer than the driver is missing, though the library exports it");
    cj_driver_close(drv);
    setenv("FAKECUDA_NULL", "cuMemAlloc", 1);
    drv = cj_driver_open(library);
    tap_is_int(cj_error_of(drv)->status, CJ_ENODRIVER, "a required entry point is NULL with success: status");
    tap_has_str(cj_error_of(drv)->message, "has no cuMemAlloc (needs driver 470 or newer)",
                "a required entry point is NULL with success: message");
    cj_driver_close(drv);
    setenv("FAKECUDA_NULL", "cuMemAllocManaged", 1);
    drv = cj_driver_open(library);
    tap_is_int(cj_error_of(drv)->status, CJ_OK, "an optional one: the driver opens");
    tap_ok(drv->missing[CJI_CU_ID_cuMemAllocManaged], "and lacks it");
    cj_driver_close(drv);
    unsetenv("FAKECUDA_NULL");
    unsetenv("CUJIT_LIBCUDA");
    drv = cj_driver_open("auto");
    static const char *const tried[] = { "libcuda.so.1: ", "libcuda.so: ", "/usr/lib/wsl/lib/libcuda.so.1: ",
                                         "/usr/local/cuda/compat/libcuda.so.1: " };
    const char *why = cj_driver_why(drv);
    for (size_t i = 0; i < sizeof tried / sizeof *tried && strcmp(cj_driver_kind(drv), "sim") == 0; i++) {
        const char *at = strstr(why, tried[i]);
        tap_ok(at != NULL, "without a GPU %sis looked for, in this order", tried[i]);
        why = at ? at : why;
    }
    cj_driver_close(drv);
    drv = cj_driver_open(tap_build("tests/sim/.libs/libdecoy.so"));
    tap_is_int(cj_error_of(drv)->status, CJ_ENODRIVER, "some other library: status");
    tap_has_str(cj_error_of(drv)->message, "is no CUDA driver: it has no cuInit", "some other library: message");
    cj_driver_close(drv);
    drv = cj_driver_open("");
    tap_has_str(cj_error_of(drv)->message, "no driver is called \"\"", "a name that is empty is none");
    cj_driver_close(drv);
    return tap_done();
}
