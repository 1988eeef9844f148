/* Which folder the kernel cache is in, and which folders it does not use; the sentence that the log has of it, once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/driver/cache_parts.h"
#include "tests/tap.h"

static cji_disk_folder top;

static void set_or_unset(const char *name, const char *value)
{
    if (value) setenv(name, value, 1);
    else unsetenv(name);
}

static void which_folder(void)
{
    static const struct { const char *name, *dir, *xdg, *home, *want; } rows[] = {
        { "CUJIT_CACHE_DIR first", "/a/b", "/x", "/h", "/a/b" },
        { "without slashes at its end", "/a/b//", NULL, NULL, "/a/b" },
        { "without a dot at its end", "/a/b/.", NULL, NULL, "/a/b" },
        { "without any of these", "/a/b/././/./", NULL, NULL, "/a/b" },
        { "a name that ends with a dot", "/a/b.", NULL, NULL, "/a/b." },
        { "a name of two dots", "/a/..", NULL, NULL, "/a/.." },
        { "the root", "//.//", NULL, NULL, "/" },
        { "XDG_CACHE_HOME", NULL, "/x", "/h", "/x/cujit" },
        { "an empty variable is an unset one", "", "", "/h", "/h/.cache/cujit" },
        { "HOME", NULL, NULL, "/h", "/h/.cache/cujit" },
        { "a relative XDG_CACHE_HOME is ignored", NULL, "x", "/h", "/h/.cache/cujit" },
        { "a relative CUJIT_CACHE_DIR", "a/b", "/x", "/h", NULL },
        { "none", NULL, NULL, NULL, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cji_disk_folder f = { "" };
        char text[200] = "";
        cji_line why = { text, sizeof text, 0 };
        set_or_unset("CUJIT_CACHE_DIR", rows[i].dir);
        set_or_unset("XDG_CACHE_HOME", rows[i].xdg);
        set_or_unset("HOME", rows[i].home);
        bool found = cji_disk_folder_find(&f, &why);
        tap_ok(found == (rows[i].want != NULL) && (found ? !strcmp(f.path, rows[i].want) : *text != 0), "%s: %s%s",
               rows[i].name, found ? f.path : "", text);
    }
    static char most[CJI_DISK_PATH + 100];
    most[0] = '/';
    memset(most + 1, 'x', sizeof most - 2);
    cji_disk_folder f;
    static const struct { const char *name, *sentence; } longs[] = {
        { "CUJIT_CACHE_DIR", " is too long a path; set CUJIT_CACHE_DIR to one of 974 bytes at most" },
        { "XDG_CACHE_HOME", " is too long a path; set XDG_CACHE_HOME to one of 968 bytes at most" },
        { "HOME", " is too long a path; set HOME to one of 961 bytes at most" },
    };
    unsetenv("CUJIT_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    for (size_t i = 0; i < sizeof longs / sizeof *longs; i++) {
        char text[400] = "";
        cji_line why = { text, sizeof text, 0 };
        setenv(longs[i].name, most, 1);
        tap_ok(!cji_disk_folder_find(&f, &why), "%s that is too long", longs[i].name);
        tap_has_str(text, longs[i].sentence, "%s: with the fix", longs[i].name);
        unsetenv(longs[i].name);
    }
    char text[400] = "";
    cji_line why = { text, sizeof text, 0 };
    setenv("CUJIT_CACHE_DIR", "a/b", 1);
    cji_disk_folder_find(&f, &why);
    tap_is_str(text, "a/b is no absolute path; set CUJIT_CACHE_DIR to one that begins with /", "one that is relative");
}

/* A folder below the top one. */
static cji_disk_folder below(const char *name)
{
    cji_disk_folder f;
    snprintf(f.path, sizeof f.path, "%.900s/%s", top.path, name);
    return f;
}

static void may_be_used(const cji_disk_folder *f, const char *sentence, const char *what)
{
    char text[CJI_DISK_PATH + 100] = "";
    cji_line why = { text, sizeof text, 0 };
    bool good = cji_disk_folder_check(f, false, &why);
    if (!sentence) tap_ok(good, "%s may be used (%s)", what, text);
    else if (!good) tap_has_str(text, sentence, "%s may not be used", what);
    else tap_fail("%s may not be used", what);
}

static void which_may_be_used(void)
{
    cji_disk_folder f = below("own"), link = below("link"), file = below("file"), deep = below("one/two/three");
    struct stat s;
    tap_ok(!cji_disk_folder_check(&f, false, NULL), "a folder that is not there may not be used");
    tap_ok(cji_disk_folder_check(&f, true, NULL) && stat(f.path, &s) == 0 && (s.st_mode & 0777) == 0700,
           "it is made, for the user alone");
    may_be_used(&f, NULL, "a folder of mode 0700");
    static const int modes[] = { 0750, 0705, 0701, 0777, 0720 };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        char what[40];
        snprintf(what, sizeof what, "a folder of mode 0%o", (unsigned)modes[i]);
        chmod(f.path, (mode_t)modes[i]);
        may_be_used(&f, " is open to other users; chmod 700 closes it if nobody else needs it, else set "
                        "CUJIT_CACHE_DIR to a new folder in it", what);
    }
    static const char *const systems[] = { "/", "/etc", "/tmp", "/usr" };
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        cji_disk_folder of_system = { "" };
        snprintf(of_system.path, sizeof of_system.path, "%s", systems[i]);
        may_be_used(&of_system, " is a folder of the system; set CUJIT_CACHE_DIR to a folder of your own", systems[i]);
    }
    chmod(f.path, 0500);
    may_be_used(&f, NULL, "a folder that is only read");
    chmod(f.path, 0700);
    if (symlink(f.path, link.path)) tap_bail("no link");
    may_be_used(&link, " is a symbolic link; set CUJIT_CACHE_DIR to the folder itself", "a symbolic link to it");
    char dot[CJI_DISK_PATH + 4];
    cji_disk_folder through;
    snprintf(dot, sizeof dot, "%s/.", link.path);
    setenv("CUJIT_CACHE_DIR", dot, 1);
    if (!cji_disk_folder_find(&through, NULL)) tap_bail("no folder");
    may_be_used(&through, " is a symbolic link", "the link with a dot behind it");
    fclose(fopen(file.path, "w"));
    may_be_used(&file, " is no folder; set CUJIT_CACHE_DIR to one", "a file");
    tap_ok(cji_disk_folder_check(&deep, true, NULL), "folders above it are made too");
    cji_disk_folder in_file = below("file/below");
    char text[CJI_DISK_PATH + 100] = "";
    cji_line why = { text, sizeof text, 0 };
    tap_ok(!cji_disk_folder_check(&in_file, true, &why), "a folder in a file cannot be made");
    tap_has_str(text, " cannot be made or opened: Not a directory; set CUJIT_CACHE_DIR to another", "with the fix");
    cji_disk_folder others = { "/usr" };
    if (geteuid() == 0) {
        others = below("given");
        if (mkdir(others.path, 0700) || chown(others.path, 65534, 65534)) tap_bail("chown");
    }
    may_be_used(&others, "another user's", "another user's folder");
    rmdir(deep.path);
    deep = below("one/two");
    rmdir(deep.path);
}

/* In a process of its own without root's rights: what cannot be written is told once, and what is there is found. */
static int as_nobody(const cji_disk_folder *f)
{
    char line[600];
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) return 1;
    setenv("CUJIT_CACHE_DIR", f->path, 1);
    cache_image c = cache_image_make(1, 50);
    if (mkdir(f->path, 0700)) return 2;
    cji_disk_put(cache_key(1), &c.image);
    if (chmod(f->path, 0500)) return 3;
    cji_disk_put(cache_key(2), &c.image);
    cji_disk_put(cache_key(3), &c.image);
    if (cj_log_read(line, sizeof line) != CJ_LOG_WARNING || !strstr(line, f->path) ||
        !strstr(line, "cannot be written: Permission denied; set CUJIT_CACHE_DIR to a folder that you may write"))
        return 4;
    if (cj_log_read(line, sizeof line)) return 5;
    cji_disk_found found;
    if (!cji_disk_get(cache_key(1), NULL, &found) || !cache_image_is(&found, 1, 50)) return 6;
    cji_disk_found_free(&found);
    cache_image_free(&c);
    if (chmod(f->path, 0700) || cache_files(f, ".new", NULL) || cache_files(f, ".kernel", NULL) != 1) return 7;
    cache_folder_remove(f);
    return 0;
}

/* Likewise: a folder above it that may not be written, or is not there. */
static int not_made(void)
{
    static const char *const paths[] = { "/usr/cujit-cache", "/usr/cujit-cache/kernels" };
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) return 99;
    for (int i = 0; i < (int)(sizeof paths / sizeof *paths); i++) {
        char text[CJI_DISK_PATH + 100] = "";
        cji_line why = { text, sizeof text, 0 };
        cji_disk_folder f = { "" };
        snprintf(f.path, sizeof f.path, "%s", paths[i]);
        if (cji_disk_folder_check(&f, true, &why) ||
            !strstr(text, " cannot be made or opened: Permission denied; set CUJIT_CACHE_DIR to a folder that you may"))
            return i + 1;
    }
    return 0;
}

static void read_only(void)
{
    int status = 0;
    cji_disk_folder f = below("read-only");
    chmod(top.path, 0777);
    fflush(stdout);
    pid_t child = fork();
    if (!child) _exit(as_nobody(&f));
    waitpid(child, &status, 0);
    chmod(top.path, 0700);
    tap_is_int(status, 0, "a folder that cannot be written: one line in the log, and its entries are found");
    child = fork();
    if (!child) _exit(not_made());
    waitpid(child, &status, 0);
    tap_is_int(status, 0, "a folder that cannot be made: why, and the fix");
}

static void told_once(void)
{
    char line[600];
    setenv("CUJIT_CACHE_DIR", top.path, 1);
    chmod(top.path, 0755);
    cji_disk_folder f;
    tap_ok(!cji_disk_open(&f, true) && !cji_disk_open(&f, true), "a folder that is open to others is not used");
    tap_is_int(cj_log_read(line, sizeof line), CJ_LOG_WARNING, "which is a warning in the log");
    tap_has_str(line, "is open to other users; chmod 700 closes it", "with the fix");
    tap_is_int(cj_log_read(line, sizeof line), 0, "once");
    chmod(top.path, 0700);
    tap_ok(cji_disk_open(&f, true), "the folder is used as soon as it may be");
    static const struct { const char *value; bool on; } values[] = {
        { "0", false }, { "off", false }, { "OFF", false }, { "no", false }, { "false", false }, { "False", false },
        { "1", true },  { "on", true },   { "yes", true },  { "true", true }, { "", true },      { NULL, true },
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        set_or_unset("CUJIT_CACHE", values[i].value);
        tap_ok(cji_disk_on() == values[i].on, "CUJIT_CACHE=%s: %s", values[i].value ? values[i].value : "unset",
               values[i].on ? "on" : "off");
    }
    static const struct { int error; const char *fix; } fixes[] = {
        { ENOSPC, "free some space" },     { EDQUOT, "free some space" }, { EFBIG, "ulimit -f" },
        { EACCES, "that you may write" },  { EPERM, "that you may write" }, { EROFS, "that you may write" },
        { EIO, "to another folder" },      { ENOENT, "to another folder" },
    };
    for (size_t i = 0; i < sizeof fixes / sizeof *fixes; i++)
        tap_has_str(cji_disk_fix(fixes[i].error), fixes[i].fix, "%s: the fix", strerror(fixes[i].error));
}

int main(void)
{
    tap_plan(0);
    top = cache_folder();
    which_folder();
    which_may_be_used();
    read_only();
    told_once();
    cache_folder_remove(&top);
    return tap_done();
}
