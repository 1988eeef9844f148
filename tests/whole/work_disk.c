/* Kernels that are stored on disk and read again; what the folder has is listed and removed. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/whole/work.h"

/* The files of this run's folder whose names end so, whatever has failed. */
static void remove_files(const char *path, const char *suffix)
{
    char file[400];
    DIR *dir = opendir(path);
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        const size_t n = strlen(e->d_name), k = strlen(suffix);
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        if (n >= k && !strcmp(e->d_name + n - k, suffix)) unlink(file); /* no folder is removed by that */
    }
    closedir(dir);
}

/* Compiled with the first device, and read: when the second one is opened, since the program used it lately, and by the
 * load on the third one, for which there is no list of that. */
static uint64_t stored(cj_driver *drv, cj_ptx *m, const char *folder)
{
    uint64_t sum = 0;
    for (int i = 0; i < 3; i++) {
        if (i == 2) remove_files(folder, ".recent");
        cj_device *dev = cj_device_open(drv, 0, NULL);
        cj_image *img = cj_image_create(dev, m, NULL);
        cj_module *mod = cj_module_load_image(dev, img);
        cj_kernel *k = cj_module_kernel(mod, "add");
        if (work_made(k)) sum += (uint64_t)cj_kernel_params(k);
        cj_kernel_free(k);
        cj_module_free(mod);
        cj_image_free(img);
        cj_device_close(dev);
    }
    return sum;
}

/* What is stored depends on what has failed; that no call of these fails does not. */
static uint64_t cleaned(void)
{
    cj_disk_cache_stats stats;
    cj_disk_prune_opts opts;
    cj_disk_entry entry;
    cj_disk_cache_stats_defaults(&stats);
    cj_disk_prune_defaults(&opts);
    cj_disk_entry_defaults(&entry);
    opts.max_bytes = 1 << 20;
    cj_disk_cache *c = cj_disk_cache_open(NULL);
    if (cj_error_of(c)->status == CJ_ENOTFOUND) {
        cj_disk_cache_close(c);
        return 1;
    }
    if (work_made(c) && work_did(cj_disk_cache_get_stats(c, &stats))) {
        for (size_t i = 0; i < stats.entries; i++) work_did(cj_disk_cache_get_entry(c, i, &entry));
        work_did(cj_disk_cache_prune(c, &opts));
        work_did(cj_disk_cache_get_stats(c, &stats));
        if (stats.entries) work_did(cj_disk_cache_remove(c, 0));
        work_did(cj_disk_cache_clear(c));
    }
    const uint64_t sum = *cj_disk_cache_path(c) == '/';
    cj_disk_cache_close(c);
    return sum;
}

int main(void)
{
    char folder[] = "/tmp/cujit-work-XXXXXX";
    uint64_t sum = 0;
    if (!mkdtemp(folder) || setenv("CUJIT_CACHE_DIR", folder, 1) || setenv("CUJIT_CACHE", "1", 1)) return 3;
    cj_driver *drv = cj_driver_open(NULL);
    cj_ptx *m = bench_add_module();
    if (work_made(drv) && work_made(m)) sum = stored(drv, m, folder) + cleaned();
    cj_ptx_free(m);
    cj_driver_close(drv);
    remove_files(folder, "");
    rmdir(folder);
    setenv("CUJIT_CACHE", "0", 1);
    return work_end("disk", sum);
}
