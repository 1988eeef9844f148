/* cujit devices: what drivers and devices there are. */
#include <cujit/cujit.h>

#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "json.h"

const char cmd_devices_help[] =
    "Usage: cujit devices [--json]\n"
    "\n"
    "Lists the drivers and devices of this machine: those of the GPU's driver and the CPU device, or why\n"
    "one cannot be used; the CUDA version and the newest PTX version of each; what programs get.\n"
    "\n"
    "  --json        for programs\n"
    "\n"
    "Exits with 0 when there is a device, with 1 when there is none.\n";

static bool is_usable(cj_driver *drv) { return cj_error_of(drv)->status == CJ_OK; }

/* ---- For people -------------------------------------------------------------------------------------------------- */

static void show_device(cj_driver *drv, int ordinal)
{
    cj_device *dev = cj_device_open(drv, ordinal, NULL);
    cj_device_info info;
    cj_device_info_defaults(&info);
    if (cj_device_get_info(dev, &info) != CJ_OK) {
        printf("  %d: cannot be used: %s\n", ordinal, cj_error_of(dev)->message);
    } else {
        printf("  %d: %s, %s, %d multiprocessors, %.1f GiB\n", ordinal, cj_device_name(dev), cj_device_sm(dev),
               info.multiprocessors, (double)info.memory / (double)(1 << 30));
    }
    cj_device_close(dev);
}

static void show_driver(const char *which, cj_driver *drv)
{
    int cuda = cj_driver_version(drv), ptx = cj_driver_ptx_version(drv), n = cj_device_count(drv);
    if (!is_usable(drv)) {
        printf("%s: cannot be used: %s\n", which, cj_error_of(drv)->message);
        return;
    }
    printf("%s: %s, CUDA %d.%d, PTX up to %d.%d, %d device%s\n", which, cj_driver_path(drv), cuda / 1000,
           cuda % 1000 / 10, ptx / 10, ptx % 10, n, n == 1 ? "" : "s");
    for (int i = 0; i < n; i++) show_device(drv, i);
}

/* ---- For programs ------------------------------------------------------------------------------------------------ */

static void json_version(json *j, const char *key, int major, int minor)
{
    char text[24];
    snprintf(text, sizeof text, "%d.%d", major, minor);
    json_string(j, key, text);
}

static void json_device(json *j, cj_driver *drv, int ordinal)
{
    cj_device *dev = cj_device_open(drv, ordinal, NULL);
    cj_device_info info;
    cj_device_info_defaults(&info);
    json_open(j, NULL, '{');
    json_integer(j, "ordinal", ordinal);
    if (cj_device_get_info(dev, &info) != CJ_OK) {
        json_string(j, "error", cj_error_of(dev)->message);
    } else {
        json_string(j, "name", cj_device_name(dev));
        json_string(j, "sm", cj_device_sm(dev));
        json_integer(j, "memory", (int64_t)info.memory);
        json_integer(j, "multiprocessors", info.multiprocessors);
        json_integer(j, "block_threads", info.block_threads);
        json_integer(j, "block_shared", info.block_shared);
        json_integer(j, "block_shared_most", info.block_shared_most);
        json_integer(j, "copy_engines", info.copy_engines);
    }
    json_close(j, '}');
    cj_device_close(dev);
}

static void json_driver(json *j, const char *which, cj_driver *drv)
{
    bool usable = is_usable(drv);
    json_open(j, NULL, '{');
    json_string(j, "driver", which);
    json_bool(j, "usable", usable);
    if (usable) {
        json_string(j, "path", cj_driver_path(drv));
        json_version(j, "cuda_version", cj_driver_version(drv) / 1000, cj_driver_version(drv) % 1000 / 10);
        json_version(j, "ptx_version", cj_driver_ptx_version(drv) / 10, cj_driver_ptx_version(drv) % 10);
    } else {
        json_string(j, "status", cj_status_name(cj_error_of(drv)->status));
        json_string(j, "error", cj_error_of(drv)->message);
    }
    json_open(j, "devices", '[');
    for (int i = 0; i < cj_device_count(drv); i++) json_device(j, drv, i);
    json_close(j, ']');
    json_close(j, '}');
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

int cmd_devices(int argc, char **argv)
{
    static const char *const which[] = { "cuda", "sim" };
    bool as_json = argc == 2 && !strcmp(argv[1], "--json");
    json j = { .file = stdout };
    int found = 0;
    if (argc > 1 && !as_json) return cmd_usage("devices", "no option", argv[1]);
    if (as_json) {
        json_open(&j, NULL, '{');
        json_string(&j, "cujit", cj_version());
        json_open(&j, "drivers", '[');
    }
    for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
        cj_driver *drv = cj_driver_open(which[i]);
        if (as_json) json_driver(&j, which[i], drv);
        else show_driver(which[i], drv);
        found += cj_device_count(drv);
        cj_driver_close(drv);
    }
    cj_driver *chosen = cj_driver_open(NULL);
    const char *kind = is_usable(chosen) ? cj_driver_kind(chosen) : "none";
    const char *why = is_usable(chosen) ? cj_driver_why(chosen) : cj_error_of(chosen)->message;
    if (as_json) {
        json_close(&j, ']');
        json_string(&j, "default", kind);
        json_string(&j, "why", why);
        json_close(&j, '}');
    } else {
        printf("programs get: %s (", kind);
        for (const char *s = why; *s; s++) fputs(*s == '\n' ? "; " : (char[]){ *s, 0 }, stdout);
        puts(")");
    }
    cj_driver_close(chosen);
    return found ? EXIT_FINE : EXIT_REJECTED;
}
