/* What a launch asks for that not every driver and device has: CJ_ENOTSUP, in words that name the driver or the device
 * that has it.  With both there the launch is made. */
#include <stdio.h>
#include <string.h>

#include "tests/driver/libfake.h"
#include "tests/tap.h"

static char event;

static const struct need_row {
    const char *name, *what;
    const cj_launch_opts *opts;
    int version, branch; /* the first CUDA version that has it, and its driver */
    int sm;              /* the first devices; 0: all */
} needs[] = {
    { "a dependent launch", "programmatic", CJ_LAUNCH(.programmatic = 1), 11080, 520, 90 },
    { "a priority", "priority", CJ_LAUNCH(.has_priority = 1, .priority = -1), 11080, 520, 0 },
    { "a cluster policy", "cluster_policy", CJ_LAUNCH(.cluster_policy = CJ_CLUSTER_SPREAD), 11080, 520, 90 },
    { "a window", "window", CJ_LAUNCH(.window = { 4096 }, .window_bytes = 64), 11080, 520, 80 },
    { "a programmatic event", "programmatic_event", CJ_LAUNCH(.programmatic_event = &event), 11080, 520, 90 },
    { "the remote domain", "a memory synchronisation domain", CJ_LAUNCH(.remote_domain = 1), 12000, 525, 90 },
    { "two domains", "a memory synchronisation domain", CJ_LAUNCH(.has_domains = 1, .domain_remote = 1), 12000, 525,
      90 },
    { "a completion event", "completion_event", CJ_LAUNCH(.completion_event = &event), 12030, 545, 0 },
    { "a carveout", "carveout", CJ_LAUNCH(.carveout = 50), 12050, 555, 0 },
    { "a preferred cluster", "preferred_cluster", CJ_LAUNCH(.preferred_cluster = { 2, 1, 1 }), 12080, 570, 100 },
    { "NVLink", "nvlink_centric", CJ_LAUNCH(.nvlink_centric = 1), 13000, 580, 0 },
};

static const struct { const char *name; cj_dims dims; const char *says; } lacks[] = {
    { "a cluster", { .grid = { 2, 1, 1 }, .block = { 1, 1, 1 }, .cluster = { 2, 1, 1 } },
      "k: clusters need sm_90 and driver 520; device 0 is sm_90" },
    { "a cooperative launch", { .grid = { 2, 1, 1 }, .block = { 1, 1, 1 }, .cooperative = 1 },
      "k: device 0 has no cooperative launches" },
};

static const char text[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry k()\n{\n ret;\n}\n";

/* A launch on a driver of that version and a device of that capability; the sentence of its failure. */
static cj_status launch_on(int version, int capability, const cj_dims *dims, char *message, size_t size)
{
    libfake_reset();
    lib.version = version;
    lib.capability = capability;
    cj_driver *drv = libfake_open();
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_module *mod = cj_module_load_text(dev, text, NULL);
    const cj_status status = cj_launch_name_n(s, mod, "k", dims, NULL, 0);
    snprintf(message, size, "%s", status == CJ_OK ? "" : cj_error_of(s)->message);
    cj_stream_sync(s);
    cj_stream_sync(s);
    cj_module_free(mod);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return status;
}

static void check_need(const struct need_row *row)
{
    char message[500], says[200];
    const cj_dims dims = { .grid = { 2, 1, 1 }, .block = { 1, 1, 1 }, .opts = row->opts };
    const int sm = row->sm ? row->sm : 50, older = row->version % 1000 ? row->version - 10 : row->version - 1000;
    tap_is_int(launch_on(older, sm, &dims, message, sizeof message), CJ_ENOTSUP, "%s: an older driver", row->name);
    snprintf(says, sizeof says, "k: %s needs driver %d or newer (CUDA %d.%d); this one has CUDA %d.%d", row->what,
             row->branch, row->version / 1000, row->version % 1000 / 10, older / 1000, older % 1000 / 10);
    tap_has_str(message, says, "%s: the driver that has it", row->name);
    tap_is_int(launch_on(row->version, sm, &dims, message, sizeof message), CJ_OK, "%s: the first driver (%s)",
               row->name, message);
    if (!row->sm) return;
    const int lesser = row->sm == 80 ? 75 : row->sm == 90 ? 89 : 90;
    tap_is_int(launch_on(13000, lesser, &dims, message, sizeof message), CJ_ENOTSUP, "%s: a lesser device", row->name);
    snprintf(says, sizeof says, "k: %s needs sm_%d; device 0 is sm_%d", row->what, row->sm, lesser);
    tap_has_str(message, says, "%s: the device that has it", row->name);
}

int main(void)
{
    char message[500];
    tap_plan(0);
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) check_need(&needs[i]);
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
        tap_is_int(launch_on(13000, 90, &lacks[i].dims, message, sizeof message), CJ_ENOTSUP, "%s", lacks[i].name);
        tap_has_str(message, lacks[i].says, "%s: what has it", lacks[i].name);
    }
    return tap_done();
}
