/* The log: hook or standard error, and the ring that cj_log_read() drains. */
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/environment.h"
#include "base/file_signals.h"
#include "base/obj.h"
#include "base/process.h"

static const char *const level_names[] = { "", "error", "warning", "info", "debug" };

/* The level up to which CUJIT_LOG asks for lines on standard error; 0 for none. */
static int wanted_level(void)
{
    const char *s = cji_env_get(CJI_ENV_LOG);
    if (!s || !strcmp(s, "0")) return 0;
    for (int i = CJ_LOG_ERROR; i <= CJ_LOG_DEBUG; i++)
        if (!strcmp(s, level_names[i])) return i;
    return CJ_LOG_INFO;
}

static void keep_line(cj_log_level level, const char *line)
{
    cji_log_ring *r = &cji_process.log;
    pthread_mutex_lock(&r->lock);
    if (r->head - r->tail == CJI_LOG_LINES) r->tail++;
    size_t i = r->head++ % CJI_LOG_LINES;
    r->level[i] = (uint8_t)level;
    snprintf(r->line[i], sizeof r->line[i], "%s", line);
    pthread_mutex_unlock(&r->lock);
}

void cji_log_line(void *user, cj_log_level level, const char *line)
{
    CJI_NO_CANCEL;
    (void)user;
    keep_line(level, line);
    if (cji_process.hooks.log_fn) {
        cji_process.hooks.log_fn(cji_process.hooks.log_user, level, line);
    } else if ((int)level <= wanted_level()) {
        char out[CJI_LOG_BYTES + 32];
        int n = snprintf(out, sizeof out, "cujit: %s: %s\n", level_names[level], line);
        cji_file_signals held;
        cji_file_signals_hold(&held);
        (void)!write(STDERR_FILENO, out, (size_t)n); /* one write: lines of several threads stay whole */
        cji_file_signals_release(&held);
    }
}

void cji_log(cj_log_level level, const char *fmt, ...)
{
    char line[CJI_LOG_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    cji_log_line(NULL, level, line);
}

int cj_log_read(char *buffer, size_t bytes)
{
    cji_log_ring *r = &cji_process.log;
    int level = 0;
    if (!buffer || !bytes) return 0;
    pthread_mutex_lock(&r->lock);
    if (r->tail != r->head) {
        size_t i = r->tail++ % CJI_LOG_LINES, n = strlen(r->line[i]);
        if (n >= bytes) n = bytes - 1;
        memcpy(buffer, r->line[i], n);
        buffer[n] = 0;
        level = r->level[i];
    }
    pthread_mutex_unlock(&r->lock);
    return level;
}

void cji_set_log_hook(cj_log_fn fn, void *user)
{
    cji_process.hooks.log_fn = fn;
    cji_process.hooks.log_user = user;
}

cj_status cj_set_log(cj_log_fn fn, void *user)
{
    if (cji_objects_exist())
        return cji_fail(NULL, CJ_EBUSY, "cj_set_log", "the log can only be set before the first object is made");
    cji_set_log_hook(fn, user);
    return CJ_OK;
}
