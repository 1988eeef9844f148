/* Files that traces are written to.  A line is written when its call has returned, with one system call: what a program
 * did before it crashed is in the file.  Each addition to JSON overwrites the bracket that ends the array and writes it
 * anew, so the file is JSON at any moment.
 *
 * A process writes to a file of one name through one cji_trace_file, however many drivers are traced.  A file that
 * another process writes to is left alone (process_file.c).  A descriptor that the program has, as /dev/stdout, takes
 * the lines where it is, between what others write there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/file_signals.h"
#include "base/lock.h"
#include "base/log.h"
#include "driver/interpose/driver_interpose.h"

struct cji_trace_file {
    cji_trace_file *next;
    char *path;           /* as it was asked for */
    unsigned users;
    uint64_t begun;
    int fd;
    bool json;
    bool stream;          /* of a descriptor that the program has: lines come where it is */
    bool named;           /* of the environment: the file names its process */
    bool new_program;     /* ... and has no line of this program yet */
    pthread_mutex_t lock; /* guards what follows, and the file */
    bool failed;          /* a write failed: nothing more is written */
    off_t end;            /* of the elements */
    bool empty;           /* no element yet */
};

static const char json_begin[] = "[", json_end[] = "\n]\n";

/* -- Opening ------------------------------------------------------------------------------------------------------- */

/* Whether the last line, or the last element, is whole: the process may have ended while one was written. */
static bool ends_whole(const cji_trace_file *file, off_t size)
{
    const char *want = file->json ? json_end : "\n";
    const size_t n = strlen(want);
    char tail[sizeof json_end];
    return size >= (off_t)n && pread(file->fd, tail, n, size - (off_t)n) == (ssize_t)n && !memcmp(tail, want, n);
}

/* Finds where the file goes on, or empties it.  A trace of the environment goes on where this process has begun it,
 * also as another program.  False: errno says why. */
static bool position(cji_trace_file *file, bool goes_on)
{
    const off_t tail = file->json ? (off_t)sizeof json_end - 1 : 0;
    struct stat st;
    if (fstat(file->fd, &st) != 0) return false;
    file->new_program = file->named && !goes_on;
    const bool places = S_ISREG(st.st_mode) && !file->stream; /* not a pipe or a terminal */
    if (!places) goes_on = false;
    else if (file->named && cji_trace_owned(file->fd, file->json, &file->begun)) goes_on = ends_whole(file, st.st_size);
    file->empty = !goes_on || st.st_size <= tail + 1;
    file->end = file->empty ? 0 : st.st_size - tail;
    return !file->empty || !places || ftruncate(file->fd, 0) == 0;
}

static void file_delete(cji_trace_file *file)
{
    if (file->fd >= 0) close(file->fd);
    pthread_mutex_destroy(&file->lock);
    cji_strfree(file->path);
    cji_free(file, sizeof *file);
}

/* A child of fork() begins with an empty list, and with a lock that nobody holds. */
static void lock_files(void)
{
    uint32_t gen = cji_fork_gen();
    unsigned seen = atomic_load(&cji_process.traces_gen);
    if (seen != gen && atomic_compare_exchange_strong(&cji_process.traces_gen, &seen, gen) && gen != 1) {
        pthread_mutex_init(&cji_process.traces_lock, NULL);
        cji_process.traces = NULL;
    }
    cji_lock(&cji_process.traces_lock, CJI_LOCK_TRACES);
}

static void unlock_files(void) { cji_unlock(&cji_process.traces_lock, CJI_LOCK_TRACES); }

/* A file that is in no list yet; NULL, and *error is errno. */
static cji_trace_file *file_new(const char *path, int *held, int *error)
{
    const size_t n = strlen(path);
    cji_trace_file *file = cji_zalloc(sizeof *file);
    *error = ENOMEM;
    if (!file) return NULL;
    *file = (cji_trace_file){ .fd = -1, .users = 1, .begun = cji_now(), .path = cji_strdup(path), .named = held };
    file->json = n > 5 && strcmp(path + n - 5, ".json") == 0;
    pthread_mutex_init(&file->lock, NULL);
    if (file->path) {
        file->fd = cji_process_file_held(held);
        const bool goes_on = file->fd >= 0;
        int own;
        file->stream = cji_process_file_is_stream(path, &own);
        if (!goes_on) file->fd = file->stream ? fcntl(own, F_DUPFD_CLOEXEC, 0) : cji_process_file_open(path, 1);
        if (file->fd >= 0 && position(file, goes_on)) {
            if (held) cji_process_file_hold(held, file->fd);
            return file;
        }
        *error = errno;
    }
    file_delete(file);
    return NULL;
}

cji_trace_file *cji_trace_file_open(const char *path, int *held, int *error)
{
    lock_files();
    cji_trace_file *file = cji_process.traces;
    while (file && strcmp(file->path, path) != 0) file = file->next;
    if (file) {
        file->users++;
    } else if ((file = file_new(path, held, error))) {
        file->next = cji_process.traces;
        cji_process.traces = file;
        if (file->new_program) {
            char room[1024];
            cji_line l = { room, sizeof room, 0 };
            cji_trace_owner(&l, file->json, file->begun);
            cji_trace_file_add(file, room, l.n);
        }
    }
    unlock_files();
    return file;
}

void cji_trace_file_close(cji_trace_file *file)
{
    lock_files();
    const bool last = --file->users == 0;
    for (cji_trace_file **at = &cji_process.traces; last && *at; at = &(*at)->next) {
        if (*at != file) continue;
        *at = file->next;
        break;
    }
    unlock_files();
    if (last) file_delete(file);
}

bool cji_trace_file_json(const cji_trace_file *file) { return file->json; }
uint64_t cji_trace_file_begun(const cji_trace_file *file) { return file->begun; }

/* -- Writing ------------------------------------------------------------------------------------------------------- */

/* At the end of what was written; a file that has no places, as a pipe, takes it as it comes. */
static bool write_at(const cji_trace_file *file, const char *p, size_t n, off_t at)
{
    while (n) {
        ssize_t done = file->stream ? write(file->fd, p, n) : pwrite(file->fd, p, n, at);
        if (done < 0 && errno == ESPIPE) done = write(file->fd, p, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        p += done, n -= (size_t)done, at += done;
    }
    return true;
}

/* A line that was not written whole leaves the file as it was before. */
static void take_back(const cji_trace_file *file)
{
    off_t end = file->end;
    if (file->stream) return;
    if (file->json && !file->empty && write_at(file, json_end, sizeof json_end - 1, end))
        end += (off_t)sizeof json_end - 1;
    if (ftruncate(file->fd, end)) return; /* a pipe */
}

void cji_trace_file_add(cji_trace_file *file, const char *line, size_t n)
{
    CJI_NO_CANCEL;
    char room[4096];
    cji_file_signals held;
    const int kept = errno;
    bool failed = false;
    int error = 0;
    cji_lock(&file->lock, CJI_LOCK_TRACE);
    const char *before = !file->json ? "" : file->empty ? json_begin : ",";
    const int written = snprintf(room, sizeof room, "%s%s%.*s%s", before, file->json ? "\n" : "", (int)n, line,
                                 file->json ? json_end : "\n");
    if (!file->failed && written > 0 && (size_t)written < sizeof room) {
        const off_t tail = file->json ? (off_t)sizeof json_end - 1 : 0;
        cji_file_signals_hold(&held);
        failed = !write_at(file, room, (size_t)written, file->end);
        error = errno;
        file->failed = failed;
        if (failed) take_back(file);
        else file->end += written - tail, file->empty = false;
        cji_file_signals_release(&held);
    }
    cji_unlock(&file->lock, CJI_LOCK_TRACE);
    if (failed) cji_log(CJ_LOG_WARNING, "the trace %s ends here: %s", file->path, strerror(error));
    errno = kept;
}
