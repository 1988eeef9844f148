/* Signals of writes are blocked in the thread, and taken before it goes on. */
#include "base/file_signals.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

static const int file_signals[] = { SIGXFSZ, SIGPIPE };
enum { FILE_SIGNALS = sizeof file_signals / sizeof *file_signals };

void cji_file_signals_hold(cji_file_signals *held)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < FILE_SIGNALS; i++) sigaddset(&set, file_signals[i]);
    sigpending(&held->pending);
    pthread_sigmask(SIG_BLOCK, &set, &held->before);
}

void cji_file_signals_release(const cji_file_signals *held)
{
    static const struct timespec now = { 0 };
    const int error = errno;
    sigset_t pending;
    sigpending(&pending);
    for (int i = 0; i < FILE_SIGNALS; i++) {
        sigset_t one;
        if (!sigismember(&pending, file_signals[i]) || sigismember(&held->pending, file_signals[i])) continue;
        sigemptyset(&one);
        sigaddset(&one, file_signals[i]);
        while (sigtimedwait(&one, NULL, &now) < 0 && errno == EINTR) {}
    }
    pthread_sigmask(SIG_SETMASK, &held->before, NULL);
    errno = error;
}
