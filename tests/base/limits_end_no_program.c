/* Writes beyond the limit of the process, and into a pipe that nobody reads, fail without a signal; signals of the
 * program's own that wait meanwhile stay, and so does what the thread blocks. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file_signals.h"
#include "base/log.h"
#include "tests/tap.h"
#include "tests/tap_folder.h"

static volatile sig_atomic_t seen;
static int file, pipes[2];

static void see(int number) { seen = number; }

static int write_file(void) { return write(file, "0123456789", 10) == 10 ? 0 : errno; }
static int cut_file(void) { return ftruncate(file, 100) == 0 ? 0 : errno; }
static int write_pipe(void) { return write(pipes[1], "x", 1) == 1 ? 0 : errno; }
static int write_nothing(void) { return 0; }

static const struct { const char *name; int (*act)(void); int error, signal; } rows[] = {
    { "a write beyond the limit", write_file, EFBIG, SIGXFSZ },
    { "a file that is made longer", cut_file, EFBIG, SIGXFSZ },
    { "a pipe without a reader", write_pipe, EPIPE, SIGPIPE },
    { "nothing", write_nothing, 0, SIGXFSZ },
};

static bool is_blocked(int number)
{
    sigset_t set;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    return sigismember(&set, number);
}

static bool is_pending(int number)
{
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, number);
}

int main(void)
{
    char path[600];
    tap_plan(0);
    snprintf(path, sizeof path, "%s/file", tap_folder("signals"));
    file = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
    if (file < 0 || pipe(pipes) || write(file, "01234", 5) != 5) tap_bail("no file");
    close(pipes[0]);
    signal(SIGXFSZ, see);
    signal(SIGPIPE, see);
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){ 5, before.rlim_max };
    setrlimit(RLIMIT_FSIZE, &small);
    int result[4][2];
    bool good[4][2] = { { false } };
    for (size_t i = 0; i < 4; i++)
        for (int waits = 0; waits < 2; waits++) {
            cji_file_signals held;
            sigset_t one;
            sigemptyset(&one);
            sigaddset(&one, rows[i].signal);
            if (waits) pthread_sigmask(SIG_BLOCK, &one, NULL), raise(rows[i].signal);
            seen = 0;
            cji_file_signals_hold(&held);
            result[i][waits] = rows[i].act();
            errno = 7777;
            cji_file_signals_release(&held);
            good[i][waits] = errno == 7777 && !seen && is_blocked(rows[i].signal) == waits &&
                             is_pending(rows[i].signal) == waits;
            if (waits) pthread_sigmask(SIG_UNBLOCK, &one, NULL);
            good[i][waits] = good[i][waits] && seen == (waits ? rows[i].signal : 0);
        }
    const int standard = dup(STDERR_FILENO);
    seen = 0;
    setenv("CUJIT_LOG", "warning", 1);
    dup2(file, STDERR_FILENO);
    cji_log(CJ_LOG_WARNING, "a line beyond the limit");
    dup2(standard, STDERR_FILENO);
    const int logged = seen;
    setrlimit(RLIMIT_FSIZE, &before);
    tap_is_int(logged, 0, "a line of the log beyond the limit of standard error: no signal");
    for (size_t i = 0; i < 4; i++)
        for (int waits = 0; waits < 2; waits++) {
            tap_is_int(result[i][waits], rows[i].error, "%s: the error", rows[i].name);
            tap_ok(good[i][waits], "%s: %s", rows[i].name,
                   waits ? "the program's own signal waits, and comes" : "no signal");
        }
    close(file);
    close(pipes[1]);
    return tap_done();
}
