/* System calls that fail, or at which the process is killed, for tests of the kernel cache: a program that includes
 * this file has calls of its own, which stand before those of libc. */
#ifndef CUJIT_TESTS_DRIVER_CACHE_FAULTS_H
#define CUJIT_TESTS_DRIVER_CACHE_FAULTS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

typedef enum fault_call {
    FAULT_NONE, FAULT_OPEN, FAULT_WRITE, FAULT_WRITE_HALF, FAULT_FSYNC, FAULT_CLOSE, FAULT_RENAME, FAULT_READV
} fault_call;

static struct { fault_call call; int nth, error, file; } fault; /* error 0: the process kills itself */

/* Only calls between these two may fail: with `file`, the descriptor that an entry was opened with. */
static inline void fault_begin(fault_call call, int nth, int error)
{
    fault.call = call;
    fault.nth = nth;
    fault.error = error;
    fault.file = -1;
}
static inline void fault_end(void) { fault.call = FAULT_NONE; }

/* Whether this is the call. */
static bool fault_here(fault_call call)
{
    if (fault.call != call || fault.nth-- != 0) return false;
    if (!fault.error) kill(getpid(), SIGKILL);
    errno = fault.error;
    return true;
}

ssize_t write(int fd, const void *p, size_t n)
{
    if (fd == fault.file && fault_here(FAULT_WRITE)) return -1;
    if (fd == fault.file && fault.call == FAULT_WRITE_HALF) {
        /* Half of it is written, and then nothing more. */
        if (n > 1) return syscall(SYS_write, fd, p, n / 2);
        fault_here(FAULT_WRITE_HALF);
        errno = fault.error;
        return -1;
    }
    return syscall(SYS_write, fd, p, n);
}

ssize_t readv(int fd, const struct iovec *part, int n)
{
    return fault_here(FAULT_READV) ? -1 : syscall(SYS_readv, fd, part, n);
}

int fsync(int fd) { return fault_here(FAULT_FSYNC) ? -1 : (int)syscall(SYS_fsync, fd); }

int close(int fd)
{
    bool fails = fd == fault.file && fault_here(FAULT_CLOSE);
    int error = errno, result = (int)syscall(SYS_close, fd);
    if (fails) errno = error;
    return fails ? -1 : result;
}

int rename(const char *from, const char *to)
{
    return fault_here(FAULT_RENAME) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Gives a name as rename() does, and fails with it. */
int link(const char *from, const char *to)
{
    if (fault.call != FAULT_RENAME || fault.nth) return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (!fault.error) kill(getpid(), SIGKILL);
    errno = fault.error;
    return -1;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    const bool fresh = flags & O_CREAT && flags & O_EXCL && (flags & O_ACCMODE) == O_WRONLY;
    if (fresh && fault_here(FAULT_OPEN)) return -1;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (fresh) fault.file = fd;
    return fd;
}

#endif
