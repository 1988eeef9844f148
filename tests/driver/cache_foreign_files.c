/* A folder that is not the kernel cache's alone: whatever loads, sweeps, `prune`, `clear` and `verify --remove` do, the
 * files of others keep their bytes and times.  Where a file of others has a name that the cache needs, nothing is
 * stored in the folder, and the log names it. */
#include <cujit/cujit.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/tap_folder.h"

enum { HOUR = 3600, AGE = 400 * 24 * HOUR };
static const char *folder;
static cj_driver *drv;

static const struct { const char *name, *contents; } foreign[] = {
    { "thesis.tex.new", "important\n" }, { "total", "total 42 EUR\n" }, { "swept", "streets swept\n" },
    { "total.new", "" }, { "swept.new", "x" }, { ".new", "x" }, { "a.new", "x" }, { ".cujit-total~", "x" },
    { ".cujit-swept.bak", "x" }, { "cujit-total", "x" }, { ".cujit", "x" }, { ".total", "x" }, { "kernel", "x" },
    { ".kernel", "x" }, { ".recent", "x" }, { "notes.kernel", "x" }, { "notes.recent", "x" },
    { "0123456789abcde.new", "x" }, { "0123456789abcdef0.new", "x" }, { "0123456789ABCDEF.new", "x" },
    { "0123456789abcdeg.new", "x" }, { "0123456789abcdef.new.old", "x" }, { "0123456789abcdef.NEW", "x" },
    { " 0123456789abcdef.new", "x" }, { "0123456789abcdef", "x" }, { "0123456789abcdef.kernel", "x" },
    { "0123456789abcdef0123456789abcde.kernel", "x" }, { "0123456789abcdef0123456789abcdef0.kernel", "x" },
    { "0123456789ABCDEF0123456789ABCDEF.kernel", "x" }, { "0123456789abcdef0123456789abcdef.kernel~", "x" },
    { "0123456789abcdef0123456789abcdef.new", "x" }, { "0123456789abcdef0123456789abcdef.recent", "x" },
    { "0123456789abcde.recent", "x" }, { "0123456789abcdef.recently", "x" }, { "0123456789abcdeF.recent", "x" },
};
enum { FOREIGN = sizeof foreign / sizeof *foreign };

static const char *in_folder(const char *name)
{
    static char path[4][600];
    static int turn;
    char *p = path[turn++ & 3];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static void set_time(const char *path, time_t when)
{
    const struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };
    if (utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW)) tap_bail("%s", path);
}

static void put_foreign(const char *name, const char *contents, time_t when)
{
    FILE *f = fopen(in_folder(name), "w");
    if (!f || fputs(contents, f) == EOF || fclose(f)) tap_bail("%s", name);
    set_time(in_folder(name), when);
}

static bool is_as_before(const char *name, const char *contents, time_t when)
{
    char text[400] = "";
    struct stat s;
    FILE *f = fopen(in_folder(name), "r");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    return f && n == strlen(contents) && !strcmp(text, contents) && stat(in_folder(name), &s) == 0 &&
           s.st_mtime == when;
}

/* Those that end so, and the last one's path. */
static int files(const char *suffix, char path[600])
{
    const size_t k = strlen(suffix);
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        const size_t m = strlen(e->d_name);
        if (m < k || strcmp(e->d_name + m - k, suffix)) continue;
        n++;
        if (path && m == 32 + k) snprintf(path, 600, "%s", in_folder(e->d_name));
    }
    if (dir) closedir(dir);
    return n;
}

static void begin_anew(void)
{
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && unlink(in_folder(e->d_name)))
            rmdir(in_folder(e->d_name));
    if (dir) closedir(dir);
}

/* A device that loads kernel i and is closed. */
static bool load(int i)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), n = cj_global_id(f, CJ_X);
    cj_set(f, x, n, cj_add(f, n, cj_imm(f, i)));
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    const bool good = cj_error_of(k)->status == CJ_OK;
    cj_kernel_free(k);
    cj_device_close(dev);
    cj_ptx_free(m);
    return good;
}

/* -- What is done -------------------------------------------------------------------------------------------------- */

static void load_two(void) { load(1), load(2); }

/* The latest sweep of this folder was two hours ago. */
static void sweep(void)
{
    if (access(in_folder(".cujit-swept"), F_OK) == 0) set_time(in_folder(".cujit-swept"), time(NULL) - 2 * HOUR);
    load(3);
}

static void with_cache(void (*what)(cj_disk_cache *c))
{
    cj_disk_cache *c = cj_disk_cache_open(folder);
    if (cj_error_of(c)->status) tap_bail("%s", cj_error_of(c)->message);
    what(c);
    cj_disk_cache_close(c);
}

static void remove_damaged(cj_disk_cache *c)
{
    for (size_t i = 0;; ) {
        cj_disk_entry e;
        cj_disk_entry_defaults(&e);
        if (cj_disk_cache_get_entry(c, i, &e)) return;
        if (e.damaged) cj_disk_cache_remove(c, i);
        else i++;
    }
}

static void verify(void)
{
    char path[600] = "";
    load(4);
    if (files(".kernel", path) && *path && truncate(path, 300)) tap_bail("%s", path);
    with_cache(remove_damaged);
}

static void prune_bytes(cj_disk_cache *c) { cj_disk_cache_prune(c, CJ_DISK_PRUNE(.max_bytes = 1)); }
static void prune_age(cj_disk_cache *c) { cj_disk_cache_prune(c, CJ_DISK_PRUNE(.max_age_s = 1)); }
static void prune_usual(cj_disk_cache *c) { cj_disk_cache_prune(c, NULL); }
static void clear_all(cj_disk_cache *c) { cj_disk_cache_clear(c); }
static void prune(void) { with_cache(prune_usual), with_cache(prune_age), with_cache(prune_bytes); }
static void clear(void) { with_cache(clear_all); }

static const struct { const char *name; void (*act)(void); } acts[] = {
    { "prune of a folder where nothing was stored", prune }, { "clear", clear }, { "loads", load_two },
    { "a sweep", sweep }, { "verify --remove", verify }, { "prune", prune }, { "clear of entries", clear },
    { "loads again", load_two },
};

static void of_many_names(void)
{
    const time_t when = time(NULL) - AGE;
    begin_anew();
    for (size_t i = 0; i < FOREIGN; i++) put_foreign(foreign[i].name, foreign[i].contents, when);
    const int before = files("", NULL);
    for (size_t a = 0; a < sizeof acts / sizeof *acts; a++) {
        size_t wrong = 0;
        acts[a].act();
        for (size_t i = 0; i < FOREIGN; i++) {
            if (is_as_before(foreign[i].name, foreign[i].contents, when)) continue;
            if (!wrong++) tap_diag("%s: \"%s\" is another one", acts[a].name, foreign[i].name);
        }
        tap_is_uint(wrong, 0, "%s: %d files of others are as they were", acts[a].name, FOREIGN);
        if (a < 2) tap_is_int(files("", NULL), before, "%s: no file is made", acts[a].name);
    }
    tap_ok(files("", NULL) > before, "and the cache is used");
}

/* -- Names that the cache needs ------------------------------------------------------------------------------------ */

static void of_own_names(void)
{
    static const char *const names[] = { ".cujit-total", ".cujit-swept" };
    static const struct { const char *name, *contents; } rows[] = {
        { "nothing", "" },
        { "a line", "total 42 EUR\n" },
        { "the begin of the right line", "cujit cache: " },
        { "a long text", "cujit cache: one would think, but this is a letter of somebody, with many words in it, and "
                         "more of them than the right line has.\n" },
    };
    const time_t when = time(NULL) - AGE;
    for (size_t n = 0; n < 2; n++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            begin_anew();
            put_foreign(names[n], rows[i].contents, when);
            tap_ok(load(1) && load(2), "%s with %s: kernels are loaded", names[n], rows[i].name);
            with_cache(clear_all);
            tap_ok(is_as_before(names[n], rows[i].contents, when), "%s with %s: it is as it was", names[n],
                   rows[i].name);
            tap_is_int(files(".kernel", NULL), 0, "%s with %s: nothing is stored", names[n], rows[i].name);
        }
    for (size_t n = 0; n < 2; n++) {
        size_t wrong = 0;
        for (size_t bytes = 50; bytes < 80; bytes++) {
            char text[80] = "";
            memset(text, 'x', bytes);
            begin_anew();
            put_foreign(names[n], text, when);
            wrong += !load(1) || !is_as_before(names[n], text, when) || files(".kernel", NULL);
        }
        tap_is_uint(wrong, 0, "%s with as many bytes as the right line has: it is as it was", names[n]);
    }
    for (size_t n = 0; n < 2; n++) {
        begin_anew();
        put_foreign("letter", "dear all", when);
        if (symlink("letter", in_folder(names[n]))) tap_bail("symlink");
        tap_ok(load(1) && is_as_before("letter", "dear all", when), "%s is a symbolic link: what it names is as it was",
               names[n]);
        unlink(in_folder(names[n]));
        if (mkdir(in_folder(names[n]), 0700)) tap_bail("mkdir");
        tap_ok(load(1) && files(".kernel", NULL) == 0, "%s is a folder: nothing is stored", names[n]);
        rmdir(in_folder(names[n]));
        tap_ok(load(1) && files(".kernel", NULL) == 1, "%s is gone: kernels are stored", names[n]);
    }
}

static void told(void)
{
    char line[600];
    int told = 0;
    const char *want = ".cujit-total is no file of the cache that may be written, so nothing is stored; "
                       "move it away";
    while (cj_log_read(line, sizeof line) > 0) told += strstr(line, want) != NULL;
    tap_is_int(told, 1, "the log names the file once, with the fix");
}

int main(void)
{
    tap_plan(0);
    folder = tap_folder("foreign");
    setenv("CUJIT_CACHE_DIR", folder, 1);
    unsetenv("CUJIT_CACHE");
    drv = cj_driver_open("sim");
    if (cj_error_of(drv)->status) tap_bail("%s", cj_error_of(drv)->message);
    of_many_names();
    of_own_names();
    told();
    cj_driver_close(drv);
    return tap_done();
}
