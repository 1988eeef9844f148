/* Faults that a text names: which call fails, with what; what is wrong with a text. */
#include <cujit/cujit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/driver/libfake.h"
#include "tests/tap.h"

static const struct {
    const char *faults;
    const char *result; /* of eight calls of cuMemHostAlloc, 0 or the CUresult */
} good[] = {
    { "cuMemHostAlloc:3:2", "0 0 2 0 0 0 0 0" },
    { "cuMemHostAlloc:3", "0 0 999 0 0 0 0 0" },
    { "cuMemHostAlloc:every:3:2", "0 0 2 0 0 2 0 0" },
    { "cuMemHostAlloc:every:1", "999 999 999 999 999 999 999 999" },
    { "cuMemHostAlloc:2:CUDA_ERROR_INVALID_VALUE", "0 1 0 0 0 0 0 0" },
    { "cuMemHostAlloc:1:2,cuMemHostAlloc:2:3", "2 3 0 0 0 0 0 0" },
    { " cuMemHostAlloc:1:2 , cuMemHostAlloc:every:2:3 ", "2 3 0 3 0 3 0 3" },
    { "cuMemHostAlloc:1:2,cuMemHostAlloc:1:3", "2 0 0 0 0 0 0 0" },
    { "cuMemFreeHost:every:1", "0 0 0 0 0 0 0 0" },
    { "cuMemAlloc_v2:1:2", "0 0 0 0 0 0 0 0" },
    { "cuMemHostAlloc:9:2", "0 0 0 0 0 0 0 0" },
};

static const struct {
    const char *faults, *says;
} bad[] = {
    { "cuMemAloc:3", "faults: \"cuMemAloc:3\" names no driver call" },
    { "", "faults: \"\" names no driver call" },
    { "cuMemAlloc:3,", "\"\" names no driver call" },
    { "cuMemAlloc", "\"cuMemAlloc\" does not say which call fails; write cuMemAlloc:3" },
    { "cuMemAlloc:every", "does not say which call fails" },
    { "cuMemAlloc:0", "has no number of a call from 1 on" },
    { "cuMemAlloc:-1", "has no number of a call" },
    { "cuMemAlloc:x", "has no number of a call" },
    { "cuMemAlloc:every:0", "has no number of a call" },
    { "cuMemAlloc:99999999999999999999999", "has no number of a call" },
    { "cuMemAlloc:3:0", "has no CUresult at its end" },
    { "cuMemAlloc:3:CUDA_ERROR_NONE", "has no CUresult at its end" },
    { "cuMemAlloc:3:2:1", "has more behind its CUresult" },
    { "cuInit:1:2:3:4:5:6", "has more behind its CUresult" },
    { NULL, "faults is NULL" },
};

int main(void)
{
    tap_plan(0);
    libfake_reset();
    cj_driver *under = libfake_open();
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cj_driver *drv = cj_driver_open_faulty(under, good[i].faults);
        CUresult (*alloc)(void **, size_t, unsigned int);
        CUresult (*release)(void *);
        void *entry = cj_driver_symbol(drv, "cuMemHostAlloc"), *other = cj_driver_symbol(drv, "cuMemFreeHost");
        memcpy(&alloc, &entry, sizeof alloc);
        memcpy(&release, &other, sizeof release);
        char result[100] = "";
        int freed = 0;
        for (int j = 0; j < 8; j++) {
            void *p = NULL;
            const size_t n = strlen(result);
            const CUresult r = entry ? alloc(&p, 16, 0) : CUDA_ERROR_NOT_FOUND;
            if (r == CUDA_SUCCESS) freed += release(p) == CUDA_SUCCESS;
            snprintf(result + n, sizeof result - n, "%s%d", j ? " " : "", (int)r);
        }
        tap_is_str(result, good[i].result, "%s", good[i].faults);
        tap_ok((freed == 0) == (strstr(good[i].result, "0") == NULL || !strncmp(good[i].faults, "cuMemFreeHost", 13)),
               "%s: calls of other names are passed on", good[i].faults);
        cj_driver_close(drv);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cj_driver *drv = cj_driver_open_faulty(under, bad[i].faults);
        const char *name = bad[i].faults ? bad[i].faults : "NULL";
        tap_is_int(cj_error_of(drv)->status, CJ_EINVAL, "\"%s\": status", name);
        tap_has_str(cj_error_of(drv)->message, bad[i].says, "\"%s\": message", name);
        cj_driver_close(drv);
    }
    cj_driver *drv = cj_driver_open_faulty(under, "*:2:100");
    tap_is_int(cj_error_of(drv)->status, CJ_ENODEVICE, "the second call of any name, while the driver opens");
    cj_driver_close(drv);
    drv = cj_driver_open_faulty(under, "*:1000");
    tap_is_int(cj_error_of(drv)->status, CJ_OK, "a later call");
    cj_driver_close(drv);
    cj_driver_close(under);

    setenv("CUJIT_FAULT", "cuMemHostAlloc:1:2", 1);
    under = libfake_open();
    cj_device *dev = cj_device_open(under, 0, NULL);
    void *p = cj_host_alloc(dev, 16, NULL);
    tap_ok(!p && cj_error_of(dev)->status == CJ_ENOMEM, "CUJIT_FAULT: the first call fails");
    p = cj_host_alloc(dev, 16, NULL);
    tap_ok(p != NULL, "the second one does not");
    cj_host_free(dev, p);
    cj_device_close(dev);
    cj_driver_close(under);
    setenv("CUJIT_FAULT", "cuMemHostAlloc:1:zwei", 1);
    under = libfake_open();
    tap_is_int(cj_error_of(under)->status, CJ_EINVAL, "a wrong CUJIT_FAULT: the driver does not open");
    tap_has_str(cj_error_of(under)->message, "CUJIT_FAULT: \"cuMemHostAlloc:1:zwei\" has no CUresult",
                "and the variable and its text are named");
    cj_driver_close(under);
    unsetenv("CUJIT_FAULT");
    return tap_done();
}
