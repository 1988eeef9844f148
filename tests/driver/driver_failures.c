/* A driver that cannot be used says what is wrong with it and what fixes it. */
#include <stdlib.h>

#include "tests/driver/libfake.h"
#include "tests/tap.h"

static const struct {
    const char *name, *missing;
    int fail_id;
    CUresult result;
    cj_status want;
    const char *says;
} starts[] = {
    { "a required symbol is missing", "cuLaunchKernel", -1, 0, CJ_ENODRIVER,
      "the driver has no cuLaunchKernel (needs driver 470 or newer)" },
    { "a required symbol with a version is missing", "cuMemAlloc_v2", -1, 0, CJ_ENODRIVER,
      "has no cuMemAlloc (needs driver 470" },
    { "the toolkit's stub", NULL, CJI_CU_ID_cuInit, 34, CJ_ENODRIVER,
      "stub library, not a driver: install the NVIDIA driver" },
    { "versions that do not match", NULL, CJI_CU_ID_cuInit, 803, CJ_ENODRIVER, "have different versions: reboot" },
    { "forward compatibility", NULL, CJI_CU_ID_cuInit, 804, CJ_ENODRIVER, "forward-compatibility package" },
    { "no device", NULL, CJI_CU_ID_cuInit, 100, CJ_ENODEVICE, "finds no CUDA device: cuInit: CUDA_ERROR_NO_DEVICE" },
    { "an unknown error", NULL, CJI_CU_ID_cuInit, 999, CJ_EDRIVER,
      "does not start: cuInit: CUDA_ERROR_UNKNOWN (unknown error)" },
    { "out of memory", NULL, CJI_CU_ID_cuInit, 2, CJ_ENOMEM, "CUDA_ERROR_OUT_OF_MEMORY" },
    { "a code that nobody knows", NULL, CJI_CU_ID_cuInit, 987, CJ_EDRIVER,
      "CUDA_ERROR_? (an error that this version of cujit does not know)" },
    { "no version", NULL, CJI_CU_ID_cuDriverGetVersion, 1, CJ_EDRIVER, "cuDriverGetVersion: CUDA_ERROR_INVALID_VALUE" },
    { "no count", NULL, CJI_CU_ID_cuDeviceGetCount, 46, CJ_EDRIVER, "cuDeviceGetCount: CUDA_ERROR_DEVICE_UNAVAILABLE" },
};

static const struct { int cuda, ptx;
} versions[] = {
    { 11040, 74 }, { 11080, 78 }, { 12000, 80 }, { 12040, 84 }, { 12050, 85 },
    { 12060, 85 }, { 12080, 87 }, { 12090, 88 }, { 13000, 90 }, { 13010, 91 },
};

static const struct { const char *which, *libcuda, *sim; cj_status want; const char *says;
} files[] = {
    { "cuda", "/nonexistent/libcuda.so.1", NULL, CJ_ENODRIVER, "/nonexistent/libcuda.so.1: not found" },
    { "sim", NULL, "/nonexistent/sim.so", CJ_ENODRIVER, "/nonexistent/sim.so: not found" },
    { "auto", "/nonexistent/libcuda.so.1", "/nonexistent/sim.so", CJ_ENODRIVER,
      "/nonexistent/libcuda.so.1: not found; /nonexistent/sim.so: not found" },
    { "sim", NULL, "/proc/self/exe", CJ_ENODRIVER, "/proc/self/exe cannot be loaded" },
    { "cuda", "/etc/passwd", NULL, CJ_ENODRIVER, "/etc/passwd cannot be loaded" },
    { "gpu", NULL, NULL, CJ_EINVAL, "no driver is called \"gpu\": cuda, sim, auto" },
    { "/nonexistent/x.so", NULL, NULL, CJ_ENODRIVER, "/nonexistent/x.so: not found" },
};

static void setting(const char *name, const char *value)
{
    if (value) setenv(name, value, 1);
    else unsetenv(name);
}

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        libfake_reset();
        lib.missing = starts[i].missing;
        lib.fail_id = starts[i].fail_id;
        lib.fail_with = starts[i].result;
        cj_driver *drv = libfake_open();
        const cj_error *e = cj_error_of(drv);
        tap_is_int(e->status, starts[i].want, "%s: status", starts[i].name);
        tap_is_int(e->driver_code, (int)starts[i].result, "%s: the driver's code", starts[i].name);
        tap_has_str(e->message, starts[i].says, "%s: message", starts[i].name);
        tap_has_str(cj_driver_why(drv), starts[i].says, "%s: is reported by cj_driver_why", starts[i].name);
        tap_is_str(cj_driver_kind(drv), "failed", "%s: kind", starts[i].name);
        cj_device *dev = cj_device_open(drv, 0, NULL);
        tap_is_int(cj_error_of(dev)->status, starts[i].want, "%s: a device of it fails with the cause", starts[i].name);
        cj_device_close(dev);
        cj_driver_close(drv);
    }
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        libfake_reset();
        lib.version = versions[i].cuda;
        cj_driver *drv = libfake_open();
        tap_is_int(cj_driver_version(drv), versions[i].cuda, "CUDA %d", versions[i].cuda);
        tap_is_int(cj_driver_ptx_version(drv), versions[i].ptx, "CUDA %d compiles PTX %d", versions[i].cuda,
                   versions[i].ptx);
        cj_driver_close(drv);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        setting("CUJIT_LIBCUDA", files[i].libcuda);
        setting("CUJIT_SIM", files[i].sim);
        cj_driver *drv = cj_driver_open(files[i].which);
        tap_is_int(cj_error_of(drv)->status, files[i].want, "%s, row %zu: status", files[i].which, i);
        tap_has_str(cj_error_of(drv)->message, files[i].says, "%s, row %zu: the file is named", files[i].which, i);
        cj_driver_close(drv);
    }
    cj_driver *drv = cj_driver_open_resolver(NULL, NULL);
    tap_is_int(cj_error_of(drv)->status, CJ_EINVAL, "a resolver that is NULL");
    cj_driver_close(drv);
    return tap_done();
}
