/* Which folder the cache is in, and whether it may be used. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/log.h"
#include "base/process.h"
#include "driver/cache/disk_cache.h"

bool cji_disk_on(void)
{
    static const char *const off[] = { "0", "off", "no", "false" };
    const char *value = cji_env_get(CJI_ENV_CACHE);
    bool on = true;
    for (size_t i = 0; value && on && i < sizeof off / sizeof *off; i++) on = strcasecmp(value, off[i]) != 0;
    return on;
}

const char *cji_disk_fix(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT: return "; free some space there, or set CUJIT_CACHE_DIR to a folder on another disk";
    case EFBIG: return "; raise the process's limit for the size of a file (ulimit -f)";
    case EACCES:
    case EPERM:
    case EROFS: return "; set CUJIT_CACHE_DIR to a folder that you may write, or CUJIT_CACHE to 0";
    default: return "; set CUJIT_CACHE_DIR to another folder, or CUJIT_CACHE to 0";
    }
}

void cji_disk_tell(const char *fmt, ...)
{
    char text[430]; /* what is around it fits into a line of the log, too */
    va_list args;
    if (atomic_exchange(&cji_process.cache_told, true)) return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cji_log(CJ_LOG_WARNING, "the kernel cache on disk: %s; what it does not have is compiled in each process", text);
}

static void say_to(cji_line *why, const char *text, const char *path)
{
    char room[CJI_DISK_SHOWN];
    if (why) cji_say(why, "%s%s", cji_shorten(room, sizeof room, path, strlen(path)), text);
}

/* How long it is without slashes and "/." at its end, which would lead through a symbolic link. */
static size_t folder_path_end(const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && (path[n - 1] == '/' || (path[n - 1] == '.' && path[n - 2] == '/'))) n--;
    return n;
}

/* `path`, which is that of the variable, with `behind` it. */
static bool folder_at(cji_disk_folder *folder, const char *path, const char *behind, const char *variable,
                      cji_line *why)
{
    const size_t n = folder_path_end(path), most = sizeof folder->path - CJI_DISK_NAME - 2 - strlen(behind);
    if (n > most) {
        say_to(why, " is too long a path", path);
        if (why && variable) cji_say(why, "; set %s to one of %zu bytes at most", variable, most);
        else if (why) cji_say(why, "; it may have %zu bytes", most);
        return false;
    }
    memcpy(folder->path, path, n);
    memcpy(folder->path + n, behind, strlen(behind) + 1);
    return true;
}

bool cji_disk_folder_of(cji_disk_folder *folder, const char *path, const char *variable, cji_line *why)
{
    if (*path == '/') return folder_at(folder, path, "", variable, why);
    say_to(why, " is no absolute path", path);
    if (why && variable) cji_say(why, "; set %s to one that begins with /", variable);
    else say_to(why, "; it must begin with /", "");
    return false;
}

bool cji_disk_folder_find(cji_disk_folder *folder, cji_line *why)
{
    static const struct { cji_env variable; const char *behind; } places[] = {
        { CJI_ENV_XDG_CACHE_HOME, "/cujit" }, { CJI_ENV_HOME, "/.cache/cujit" }
    };
    const char *own = cji_env_get(CJI_ENV_CACHE_DIR);
    if (own) return cji_disk_folder_of(folder, own, cji_env_name(CJI_ENV_CACHE_DIR), why);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *value = cji_env_get(places[i].variable);
        /* The XDG specification: a relative one is ignored. */
        if (value && *value == '/')
            return folder_at(folder, value, places[i].behind, cji_env_name(places[i].variable), why);
    }
    say_to(why, "neither CUJIT_CACHE_DIR nor XDG_CACHE_HOME nor HOME names a folder; set CUJIT_CACHE_DIR to one", "");
    return false;
}

/* With all folders above it.  False: errno. */
static bool make_folders(const char *path)
{
    char part[CJI_DISK_PATH];
    if (mkdir(path, 0700) == 0 || errno == EEXIST) return true;
    if (errno != ENOENT) {
        const int error = errno;
        const bool there = access(path, F_OK) == 0;
        errno = error;
        return there;
    }
    snprintf(part, sizeof part, "%s", path);
    for (char *p = strchr(part + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        if (mkdir(part, 0700) && errno != EEXIST) return false;
        *p = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

const char *cji_disk_folder_wrong(const struct stat *s)
{
    return S_ISLNK(s->st_mode)      ? " is a symbolic link; set CUJIT_CACHE_DIR to the folder itself"
           : !S_ISDIR(s->st_mode)   ? " is no folder; set CUJIT_CACHE_DIR to one"
           : s->st_uid != geteuid() ? " is another user's folder; set CUJIT_CACHE_DIR to one of your own"
           : s->st_mode & 077       ? " is open to other users; chmod 700 closes it if nobody else needs it, "
                                      "else set CUJIT_CACHE_DIR to a new folder in it"
                                    : NULL;
}

bool cji_disk_folder_check(const cji_disk_folder *folder, bool make, cji_line *why)
{
    struct stat s;
    if (lstat(folder->path, &s)) {
        if (errno == ENOENT && !make) return false;
        if (errno != ENOENT || !make_folders(folder->path) || lstat(folder->path, &s)) {
            int error = errno;
            say_to(why, " cannot be made or opened: ", folder->path);
            say_to(why, cji_disk_fix(error), strerror(error));
            return false;
        }
    }
    const char *wrong = cji_disk_folder_wrong(&s);
    if (wrong && S_ISDIR(s.st_mode) && !strchr(folder->path + 1, '/'))
        wrong = " is a folder of the system; set CUJIT_CACHE_DIR to a folder of your own"; /* /, /etc, /tmp */
    if (wrong) say_to(why, wrong, folder->path);
    return !wrong;
}

bool cji_disk_open(cji_disk_folder *folder, bool make)
{
    char text[CJI_DISK_PATH + 120];
    cji_line why = { text, sizeof text, 0 };
    *text = 0;
    bool good = cji_disk_folder_find(folder, &why) && cji_disk_folder_check(folder, make, &why);
    if (!good && *text) cji_disk_tell("%s", text);
    return good;
}
