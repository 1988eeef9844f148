/* Another process that a test talks to: the same program, started anew, that answers one question after the other.  So
 * the test decides what happens when in which process; nothing depends on time. */
#ifndef CUJIT_TESTS_PEER_H
#define CUJIT_TESTS_PEER_H

#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

typedef struct peer { pid_t pid; int fd; } peer;
typedef struct peer_question { int what; uint64_t value; unsigned char handle[64]; } peer_question;
enum { PEER_END = -1, PEER_GONE = -999 };

/* What main of the other process returns: asks `answer` until the first process has enough. */
static inline int peer_serve(const char *fd_text, int64_t (*answer)(const peer_question *q))
{
    const int fd = atoi(fd_text);
    peer_question q;
    alarm(tap_on_gpu() || tap_is_slow() ? 100 : 30); /* it ends though a question has no answer */
    while (read(fd, &q, sizeof q) == (ssize_t)sizeof q && q.what != PEER_END) {
        const int64_t now = answer(&q);
        if (write(fd, &now, sizeof now) != (ssize_t)sizeof now) return 1;
    }
    return 0;
}

static inline void peer_start(peer *p)
{
    extern char **environ;
    char self[4096], fd[16], *argv[] = { self, (char *)"peer", fd, NULL };
    int ends[2];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) tap_bail("no other process can be made");
    self[n] = 0;
    snprintf(fd, sizeof fd, "%d", ends[1]);
    signal(SIGPIPE, SIG_IGN);
    fflush(NULL);
    if (posix_spawn(&p->pid, self, NULL, NULL, argv, environ)) tap_bail("%s cannot be started", self);
    close(ends[1]);
    p->fd = ends[0];
}

static inline void peer_ask_only(peer *p, int what, uint64_t value, const void *handle)
{
    peer_question q = { .what = what, .value = value };
    if (handle) memcpy(q.handle, handle, sizeof q.handle);
    if (write(p->fd, &q, sizeof q) != (ssize_t)sizeof q) tap_diag("the other process does not listen");
}

/* PEER_GONE: it has ended. */
static inline int64_t peer_answer(peer *p)
{
    int64_t answer;
    return read(p->fd, &answer, sizeof answer) == (ssize_t)sizeof answer ? answer : PEER_GONE;
}

static inline int64_t peer_ask(peer *p, int what, uint64_t value, const void *handle)
{
    peer_ask_only(p, what, value, handle);
    return peer_answer(p);
}

/* Its exit status; 256 + the signal that ended it. */
static inline int peer_end(peer *p)
{
    int status = 0;
    peer_ask_only(p, PEER_END, 0, NULL);
    close(p->fd);
    waitpid(p->pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static inline void peer_kill(peer *p)
{
    kill(p->pid, SIGKILL);
    close(p->fd);
    waitpid(p->pid, NULL, 0);
}

#endif
