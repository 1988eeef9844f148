/* The file of a recording: each record is written by one call of the system, so what a program did before it crashed is
 * in the file. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/file_signals.h"
#include "base/lock.h"
#include "base/log.h"
#include "driver/interpose/record_file.h"

struct cji_rec_file {
    pthread_mutex_t lock; /* guards what follows, and the file */
    char *path;
    int fd;
    bool failed;
    off_t end;            /* of the last whole record */
    uint64_t records;
};

static bool write_each(int fd, struct iovec *part, int n)
{
    while (n) {
        const ssize_t done = writev(fd, part, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        size_t left = (size_t)done;
        if (!left && part->iov_len) {
            errno = ENOSPC;
            return false;
        }
        while (n && left >= part->iov_len) left -= part->iov_len, part++, n--;
        if (n) part->iov_base = (char *)part->iov_base + left, part->iov_len -= left;
    }
    return true;
}

/* All parts, or what errno says. */
static bool write_parts(int fd, struct iovec *part, int n)
{
    cji_file_signals held;
    cji_file_signals_hold(&held);
    const bool good = write_each(fd, part, n);
    cji_file_signals_release(&held);
    return good;
}

/* Once, without the file's lock. */
static void recording_ends(const cji_rec_file *file, const char *why)
{
    cji_log(CJ_LOG_WARNING, "the recording %s is not complete, it ends after %llu records: %s", file->path,
            (unsigned long long)file->records, why);
}

cji_rec_file *cji_rec_file_open(const char *path, unsigned turn, int *held, int *error)
{
    cji_rec_file *file = cji_zalloc(sizeof *file);
    *error = ENOMEM;
    if (!file) return NULL;
    pthread_mutex_init(&file->lock, NULL);
    file->path = cji_strdup(path);
    file->fd = -1;
    if (file->path) {
        struct stat st;
        cji_rec_head head = { .version = CJI_REC_VERSION, .order = CJI_REC_ORDER };
        memcpy(head.magic, CJI_REC_MAGIC, sizeof head.magic);
        head.check = cji_hash(&head, offsetof(cji_rec_head, check));
        file->fd = cji_process_file_open(path, turn);
        const bool open = file->fd >= 0 && fstat(file->fd, &st) == 0 &&
                          (!S_ISREG(st.st_mode) || ftruncate(file->fd, 0) == 0);
        struct iovec part = { .iov_base = &head, .iov_len = sizeof head };
        if (open && write_parts(file->fd, &part, 1)) {
            file->end = sizeof head;
            if (held) cji_process_file_hold(held, file->fd);
            return file;
        }
        *error = errno;
    }
    cji_rec_file_close(file);
    return NULL;
}

void cji_rec_file_close(cji_rec_file *file)
{
    if (file->fd >= 0) close(file->fd);
    pthread_mutex_destroy(&file->lock);
    cji_strfree(file->path);
    cji_free(file, sizeof *file);
}

void cji_rec_file_add(cji_rec_file *file, cji_rec_type type, const void *a, size_t na, const void *b, size_t nb)
{
    static const char zeros[8];
    const int kept = errno;
    cji_rec_record r = { .type = (uint32_t)type, .bytes = na + nb, .check = cji_rec_check(a, na, b, nb) };
    r.head_check = cji_rec_head_check(r.type, r.bytes);
    struct iovec part[4] = {
        { .iov_base = &r, .iov_len = sizeof r },
        { .iov_base = (void *)(uintptr_t)a, .iov_len = na },
        { .iov_base = (void *)(uintptr_t)b, .iov_len = nb },
        { .iov_base = (void *)(uintptr_t)zeros, .iov_len = -(na + nb) & 7 },
    };
    int error = 0;
    cji_lock(&file->lock, CJI_LOCK_TRACE);
    if (!file->failed && write_parts(file->fd, part, 4)) {
        file->end += (off_t)(sizeof r + ((na + nb + 7) & ~(size_t)7));
        file->records++;
    } else if (!file->failed) {
        error = errno;
        file->failed = true;
        if (ftruncate(file->fd, file->end)) error = error ? error : errno; /* a pipe: its reader sees a cut record */
    }
    cji_unlock(&file->lock, CJI_LOCK_TRACE);
    if (error) recording_ends(file, strerror(error));
    errno = kept;
}

void cji_rec_file_add_host(cji_rec_file *file, cji_rec_type type, const void *a, size_t na, const void *host, size_t n)
{
    void *copy = n ? cji_alloc(n) : NULL;
    if (n && !copy) {
        cji_rec_file_fail(file, "no memory");
        return;
    }
    if (n) memcpy(copy, host, n);
    cji_rec_file_add(file, type, a, na, copy, n);
    cji_free(copy, n);
}

void cji_rec_file_fail(cji_rec_file *file, const char *why)
{
    cji_lock(&file->lock, CJI_LOCK_TRACE);
    const bool first = !file->failed;
    file->failed = true;
    cji_unlock(&file->lock, CJI_LOCK_TRACE);
    if (first) recording_ends(file, why);
}

bool cji_rec_file_failed(cji_rec_file *file)
{
    cji_lock(&file->lock, CJI_LOCK_TRACE);
    const bool failed = file->failed;
    cji_unlock(&file->lock, CJI_LOCK_TRACE);
    return failed;
}
