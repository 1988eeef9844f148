/* Devices: which there are, what fails when one is opened, and that nothing stays behind. */
#include "tests/driver/libfake.h"
#include "tests/tap.h"

static const struct { int id; CUresult result; cj_status want; const char *says;
} opens[] = {
    { CJI_CU_ID_cuDeviceGet, 101, CJ_ENODEVICE, "device 0 cannot be opened: cuDeviceGet: CUDA_ERROR_INVALID_DEVICE" },
    { CJI_CU_ID_cuDeviceGetName, 999, CJ_EDRIVER, "cuDeviceGetName" },
    { CJI_CU_ID_cuDeviceTotalMem, 999, CJ_EDRIVER, "cuDeviceTotalMem" },
    { CJI_CU_ID_cuDeviceGetAttribute, 1, CJ_EDRIVER,
      "cuDeviceGetAttribute: CUDA_ERROR_INVALID_VALUE (invalid argument)" },
    { CJI_CU_ID_cuDevicePrimaryCtxRetain, 46, CJ_EDRIVER, "cuDevicePrimaryCtxRetain: CUDA_ERROR_DEVICE_UNAVAILABLE" },
    { CJI_CU_ID_cuDevicePrimaryCtxRetain, 2, CJ_ENOMEM, "CUDA_ERROR_OUT_OF_MEMORY" },
    { CJI_CU_ID_cuCtxPushCurrent, 201, CJ_EDRIVER, "cuCtxPushCurrent: CUDA_ERROR_INVALID_CONTEXT" },
    { CJI_CU_ID_cuCtxGetStreamPriorityRange, 4, CJ_EDRIVER, "CUDA_ERROR_DEINITIALIZED" },
};

static const struct { int devices, ordinal; const char *says;
} ordinals[] = {
    { 0, 0, "no device 0; the driver has none" },
    { 1, 1, "no device 1; there is one, 0" },
    { 4, 4, "no device 4; there are 0 to 3" },
    { 4, -1, "no device -1" },
};

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof opens / sizeof *opens; i++) {
        libfake_reset();
        cj_driver *drv = libfake_open();
        lib.fail_id = opens[i].id;
        lib.fail_with = opens[i].result;
        cj_device *dev = cj_device_open(drv, 0, NULL);
        tap_is_int(cj_error_of(dev)->status, opens[i].want, "row %zu: status", i);
        tap_has_str(cj_error_of(dev)->message, opens[i].says, "row %zu: message", i);
        tap_is_int(lib.retained, 0, "row %zu: no context is kept", i);
        tap_is_str(cj_device_sm(dev), "", "row %zu: a failed device is nothing", i);
        cj_device_close(dev);
        cj_driver_close(drv);
    }
    for (size_t i = 0; i < sizeof ordinals / sizeof *ordinals; i++) {
        libfake_reset();
        lib.devices = ordinals[i].devices;
        cj_driver *drv = libfake_open();
        cj_device *dev = cj_device_open(drv, ordinals[i].ordinal, NULL);
        tap_is_int(cj_error_of(dev)->status, CJ_ENODEVICE, "%d of %d", ordinals[i].ordinal, ordinals[i].devices);
        tap_has_str(cj_error_of(dev)->message, ordinals[i].says, "%d of %d: message", ordinals[i].ordinal,
                    ordinals[i].devices);
        cj_device_close(dev);
        cj_driver_close(drv);
    }

    libfake_reset();
    cj_driver *drv = libfake_open();
    cj_device *dev = cj_device_open(drv, 0, NULL), *again = cj_device_open(drv, 0, NULL);
    tap_ok(dev == again, "a device that is open is given again");
    tap_is_int(lib.retained, 1, "its context is retained once");
    tap_is_int(lib.depth, 0, "the caller's context stack is as before");
    tap_is_str(cj_device_sm(dev), "sm_90", "its target");
    tap_is_str(cj_device_name(dev), "fake 0", "its name");
    tap_is_int(cj_device_ordinal(dev), 0, "its number");
    tap_is_int(cj_device_ordinal(NULL), -1, "no device has none");
    tap_is_int(cj_device_count(drv), lib.devices, "the driver has as many as it says");
    tap_is_int(cj_device_count(NULL), 0, "no driver has none");
    cj_device_info info;
    cj_device_info_defaults(&info);
    tap_is_int(cj_device_get_info(dev, &info), CJ_OK, "its properties");
    tap_ok(info.size == sizeof info && info.warp_size == 32 && info.block_shared_most == 232448 &&
               info.memory == 1 << 30,
           "are the driver's");
    info.size = 0;
    tap_is_int(cj_device_get_info(dev, &info), CJ_EINVAL, "properties without a size");
    tap_is_int(cj_device_get_info(dev, NULL), CJ_EINVAL, "properties nowhere");
    void *p = cj_host_alloc(dev, 100, NULL);
    tap_ok(p && lib.pinned == 1, "pinned memory");
    tap_is_int(cj_host_free(dev, p), CJ_OK, "is freed");
    tap_ok(!cj_host_alloc(dev, 0, NULL) && cj_error_of(dev)->status == CJ_EINVAL, "0 bytes of pinned memory");
    lib.fail_id = CJI_CU_ID_cuMemHostAlloc;
    lib.fail_with = CUDA_ERROR_OUT_OF_MEMORY;
    tap_ok(!cj_host_alloc(dev, 7, NULL), "no pinned memory");
    tap_is_int(cj_error_of(dev)->status, CJ_ENOMEM, "is out of memory");
    tap_has_str(cj_error_of(dev)->message,
                "7 bytes of pinned memory: cuMemHostAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory)",
                "and says how much was asked for");
    tap_is_int(lib.depth, 0, "the caller's context stack is as before");
    cj_driver_close(drv);
    cj_device_close(dev);
    tap_is_int(lib.retained, 1, "the other handle keeps it open");
    cj_device_close(again);
    tap_is_int(lib.retained, 0, "the last one releases the context");
    tap_is_int(lib.pinned, 0, "no pinned memory is left");
    return tap_done();
}
