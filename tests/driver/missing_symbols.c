/* Each entry point missing in turn: a required one is named when the driver is opened, an optional one when it is
 * used. */
#include "driver/driver.h"
#include "tests/driver/libfake.h"
#include "tests/tap.h"

#include <stdio.h>
#include <string.h>

static void opens(int row)
{
    const cji_cu_row *r = &cji_cu_rows[row];
    char says[120];
    libfake_reset();
    lib.missing = r->export_name;
    cj_driver *drv = libfake_open();
    snprintf(says, sizeof says, "has no %s (needs driver %d or newer)", r->name,
             cji_cu_driver_branch(r->version > 11040 || !r->required ? r->version : 11040));
    if (r->required) {
        tap_is_int(cj_error_of(drv)->status, CJ_ENODRIVER, "%s is required", r->name);
        tap_has_str(cj_error_of(drv)->message, says, "%s is named", r->name);
        tap_ok(r->version <= 11040, "%s was there in CUDA 11.4", r->name);
    } else {
        tap_is_int(cj_error_of(drv)->status, CJ_OK, "a driver without %s opens", r->name);
        cj_status status = cji_cu_fail_open(NULL, drv, CUDA_ERROR_NOT_SUPPORTED, CJ_OK, r->name, "cj_test", "cj_test");
        tap_is_int(status, CJ_ENOTSUP, "%s cannot be used", r->name);
        tap_has_str(cj_error_last()->message, says, "%s is named", r->name);
        cj_device *dev = cj_device_open(drv, 0, NULL);
        tap_is_int(cj_error_of(dev)->status, CJ_OK, "a device of a driver without %s opens", r->name);
        cj_device_close(dev);
    }
    cj_driver_close(drv);
}

int main(void)
{
    static const struct { int code; const char *name; cj_status want; } results[] = {
#define CUE(name, value, text) { value, #name, CJ_EDRIVER },
#include "cuda/errors.def"
    };
    static const struct {
        int code;
        cj_status want;
    } special[] = { { 2, CJ_ENOMEM },     { 801, CJ_ENOTSUP },   { 100, CJ_ENODEVICE }, { 101, CJ_ENODEVICE },
                    { 34, CJ_ENODRIVER }, { 803, CJ_ENODRIVER }, { 804, CJ_ENODRIVER } };
    tap_plan(0);
    for (int i = 0; i < CJI_CU_COUNT; i++) opens(i);

    libfake_reset();
    cj_driver *drv = libfake_open();
    for (size_t i = 1; i < sizeof results / sizeof *results; i++) {
        cj_status want = results[i].want;
        for (size_t j = 0; j < sizeof special / sizeof *special; j++)
            if (special[j].code == results[i].code) want = special[j].want;
        cj_status got = cji_cu_fail_open(drv, drv, (CUresult)results[i].code, CJ_OK, "cuX", "cj_x", "cj_x");
        tap_is_int(got, want, "%s: status", results[i].name);
        const cj_error *e = cj_error_of(drv);
        tap_ok(e->driver_code == results[i].code && !strcmp(e->driver_name, results[i].name) &&
                   !strcmp(e->call, "cj_x"),
               "%s: the record", results[i].name);
        tap_has_str(e->message, results[i].name, "%s is in the message", results[i].name);
    }
    cj_driver_close(drv);
    return tap_done();
}
