/* Files of one process: traces and recordings.  "%p" in a name is the number of the process, "%%" is one "%".  A file
 * that another process writes to, which flock() tells, is left alone: the number of the process is appended to the
 * name then. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "driver/interpose/driver_interpose.h"

/* False: the name is too long. */
static bool expand_name(const char *path, char *out, size_t size)
{
    cji_line l = { out, size, 0 };
    for (const char *p = path; *p; p++) {
        if (p[0] == '%' && p[1] == 'p') cji_say(&l, "%ld", (long)getpid()), p++;
        else if (p[0] == '%' && p[1] == '%') cji_say(&l, "%%"), p++;
        else cji_say(&l, "%c", *p);
    }
    return l.n + 1 < size;
}

static int open_unlocked(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return fd;
    close(fd);
    errno = EWOULDBLOCK;
    return -1;
}

int cji_process_file_open(const char *path, unsigned turn)
{
    char name[PATH_MAX], other[PATH_MAX + 32];
    if (!expand_name(path, name, sizeof name)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (turn > 1) snprintf(other, sizeof other, "%s.%u", name, turn);
    else snprintf(other, sizeof other, "%s", name);
    const int fd = open_unlocked(other);
    if (fd >= 0 || errno != EWOULDBLOCK) return fd;
    if (turn > 1) snprintf(other, sizeof other, "%s.%ld.%u", name, (long)getpid(), turn);
    else snprintf(other, sizeof other, "%s.%ld", name, (long)getpid());
    return open_unlocked(other);
}

bool cji_process_file_is_stream(const char *path, int *fd)
{
    static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
    *fd = !strcmp(path, "/dev/stdout") ? STDOUT_FILENO : !strcmp(path, "/dev/stderr") ? STDERR_FILENO : -1;
    for (size_t i = 0; *fd < 0 && i < sizeof folders / sizeof *folders; i++) {
        const size_t n = strlen(folders[i]);
        if (strncmp(path, folders[i], n) || !path[n] || strspn(path + n, "0123456789") != strlen(path + n)) continue;
        const unsigned long number = strtoul(path + n, NULL, 10);
        if (number <= INT_MAX) *fd = (int)number;
    }
    return *fd >= 0;
}

void cji_process_file_hold(int *held, int fd)
{
    if (*held) return;
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy >= 0) *held = copy + 1;
}

int cji_process_file_held(const int *held)
{
    return held && *held ? fcntl(*held - 1, F_DUPFD_CLOEXEC, 0) : -1;
}

void cji_process_file_drop(int *held)
{
    if (*held) close(*held - 1);
    *held = 0;
}
