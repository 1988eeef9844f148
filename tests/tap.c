/* The test producer of tap.h: writes TAP lines, each by one write(2), so that threads and crashes cannot tear them. */
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap_folder.h"

enum {
    TAP_LINE = 4096,            /* longer lines are cut */
    TAP_SECONDS = 20,
    TAP_GPU_SLOWER = 10, /* starting a driver takes half a second, more where several are started */
    TAP_SLOWER = 50             /* memcheck, over native */
};

static struct {
    pthread_mutex_t lock;
    unsigned planned;           /* 0: counted by tap_done */
    unsigned made, failed;
    bool started, done;
    pid_t owner;                /* a forked child may not end the plan */
} tap = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* -- Lines --------------------------------------------------------------------------------------------------------- */

static void tap_write(const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t n = write(STDOUT_FILENO, text, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(120);
        text += n;
        bytes -= (size_t)n;
    }
}

/* One line: `head`, then the formatted text; line feeds inside become spaces. */
static void tap_line_v(const char *head, const char *fmt, va_list args)
{
    char line[TAP_LINE];
    int n = snprintf(line, sizeof line - 1, "%s", head);
    size_t at = n < 0 ? 0 : (size_t)n < sizeof line - 1 ? (size_t)n : sizeof line - 2;
    n = vsnprintf(line + at, sizeof line - 1 - at, fmt, args);
    size_t end = n < 0 ? at : at + (size_t)n < sizeof line - 1 ? at + (size_t)n : sizeof line - 2;
    for (size_t i = at; i < end; i++)
        if (line[i] == '\n' || line[i] == '\r') line[i] = ' ';
    line[end] = '\n';
    tap_write(line, end + 1);
}

TAP_FORMAT(2, 3) static void tap_line(const char *head, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tap_line_v(head, fmt, args);
    va_end(args);
}

void tap_diag(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tap_line_v("# ", fmt, args);
    va_end(args);
}

static bool tap_result_v(bool held, const char *fmt, va_list args)
{
    char head[48];
    pthread_mutex_lock(&tap.lock);
    tap.made++;
    if (!held) tap.failed++;
    snprintf(head, sizeof head, "%s %u - ", held ? "ok" : "not ok", tap.made);
    tap_line_v(head, fmt, args);
    pthread_mutex_unlock(&tap.lock);
    return held;
}

/* -- The plan ------------------------------------------------------------------------------------------------------ */

static void tap_on_alarm(int signal_number)
{
    static const char text[] = "Bail out! the test's time is over\n";
    (void)signal_number;
    if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) _exit(121);
    tap_folders_remove();
    _exit(122);
}

void tap_timeout(unsigned seconds)
{
    signal(SIGALRM, tap_on_alarm);
    alarm(tap_under_valgrind() ? seconds * TAP_SLOWER : tap_on_gpu() ? seconds * TAP_GPU_SLOWER : seconds);
}

void tap_plan(unsigned count)
{
    tap.planned = count;
    tap.started = true;
    tap.owner = getpid();
    if (count) tap_line("", "1..%u", count);
    tap_timeout(TAP_SECONDS);
}

int tap_done(void)
{
    alarm(0);
    if (!tap.started) tap_bail("tap_plan was not called");
    if (tap.owner != getpid()) _exit(123);
    tap.done = true;
    if (!tap.planned) tap_line("", "1..%u", tap.made);
    if (tap.failed) tap_diag("%u of %u failed", tap.failed, tap.made);
    if (tap.planned && tap.made != tap.planned) tap_diag("%u assertions planned, %u made", tap.planned, tap.made);
    return 0;
}

void tap_skip(unsigned count, const char *fmt, ...)
{
    va_list args;
    for (unsigned i = 0; i < count; i++) {
        char head[48];
        va_start(args, fmt);
        pthread_mutex_lock(&tap.lock);
        snprintf(head, sizeof head, "ok %u # SKIP ", ++tap.made);
        tap_line_v(head, fmt, args);
        pthread_mutex_unlock(&tap.lock);
        va_end(args);
    }
}

void tap_skip_all(const char *fmt, ...)
{
    va_list args;
    if (tap.made || tap.planned) tap_bail("tap_skip_all is for the time before the plan and the first assertion");
    va_start(args, fmt);
    tap_line_v("1..0 # SKIP ", fmt, args);
    va_end(args);
    exit(0);
}

void tap_bail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tap_line_v("Bail out! ", fmt, args);
    va_end(args);
    exit(1);
}

/* -- Assertions ---------------------------------------------------------------------------------------------------- */

#define TAP_RESULT(held) do { \
        va_list args; \
        va_start(args, fmt); \
        tap_result_v(held, fmt, args); \
        va_end(args); \
    } while (0)

bool tap_ok(bool held, const char *fmt, ...)
{
    TAP_RESULT(held);
    return held;
}

bool tap_pass(const char *fmt, ...)
{
    TAP_RESULT(true);
    return true;
}

bool tap_fail(const char *fmt, ...)
{
    TAP_RESULT(false);
    return false;
}

bool tap_is_int(int64_t got, int64_t want, const char *fmt, ...)
{
    TAP_RESULT(got == want);
    if (got != want) tap_diag("  got %lld, want %lld", (long long)got, (long long)want);
    return got == want;
}

bool tap_is_uint(uint64_t got, uint64_t want, const char *fmt, ...)
{
    TAP_RESULT(got == want);
    if (got != want)
        tap_diag("  got %llu (0x%llx), want %llu (0x%llx)", (unsigned long long)got, (unsigned long long)got,
                 (unsigned long long)want, (unsigned long long)want);
    return got == want;
}

bool tap_is_f64(double got, double want, const char *fmt, ...)
{
    bool held = (got != got && want != want) || memcmp(&got, &want, sizeof got) == 0;
    TAP_RESULT(held);
    if (!held) tap_diag("  got %.17g (%a), want %.17g (%a)", got, got, want, want);
    return held;
}

/* The line of `text` that holds offset `at`, cut to what a log line can show. */
static void tap_show_line(const char *what, const char *text, size_t at)
{
    size_t begin = at;
    while (begin && text[begin - 1] != '\n') begin--;
    tap_diag("  %s: %.*s", what, (int)strcspn(text + begin, "\n"), text + begin);
}

bool tap_is_str(const char *got, const char *want, const char *fmt, ...)
{
    bool held = got == want || (got && want && strcmp(got, want) == 0);
    TAP_RESULT(held);
    if (held) return true;
    if (!got || !want) {
        tap_diag("  got %s, want %s", got ? got : "NULL", want ? want : "NULL");
        return false;
    }
    size_t at = 0;
    unsigned line = 1;
    for (; got[at] && got[at] == want[at]; at++)
        if (got[at] == '\n') line++;
    if (strchr(got, '\n') || strchr(want, '\n')) tap_diag("  first difference in line %u", line);
    tap_show_line("got ", got, at);
    tap_show_line("want", want, at);
    return false;
}

bool tap_has_str(const char *text, const char *part, const char *fmt, ...)
{
    bool held = text && part && strstr(text, part);
    TAP_RESULT(held);
    if (!held) tap_diag("  \"%s\" does not contain \"%s\"", text ? text : "NULL", part ? part : "NULL");
    return held;
}

static void tap_show_bytes(const char *what, const uint8_t *bytes, size_t from, size_t to)
{
    char text[3 * 16 + 1];
    size_t at = 0;
    for (size_t i = from; i < to; i++) at += (size_t)sprintf(text + at, "%02x ", bytes[i]);
    text[at] = 0;
    tap_diag("  %s at byte %zu: %s", what, from, text);
}

bool tap_is_mem(const void *got, const void *want, size_t bytes, const char *fmt, ...)
{
    bool held = bytes == 0 || (got && want && memcmp(got, want, bytes) == 0);
    TAP_RESULT(held);
    if (held) return true;
    if (!got || !want) {
        tap_diag("  got %s, want %s", got ? "memory" : "NULL", want ? "memory" : "NULL");
        return false;
    }
    const uint8_t *g = got, *w = want;
    size_t first = 0, count = 0;
    while (g[first] == w[first]) first++;
    for (size_t i = first; i < bytes; i++) count += g[i] != w[i];
    size_t from = first & ~(size_t)15, to = from + 16 < bytes ? from + 16 : bytes;
    tap_diag("  %zu of %zu bytes differ", count, bytes);
    tap_show_bytes("got ", g, from, to);
    tap_show_bytes("want", w, from, to);
    return false;
}
