/* What the driver's compiler says, in the user's terms: its lines with the builder's places and the PTX they are about,
 * its refusals as errors, and the PTX that it refused as a file. */
#include "driver/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file_signals.h"
#include "base/log.h"
#include "ptx/ptx.h"

/* -- Lines of PTX -------------------------------------------------------------------------------------------------- */

/* The number of a PTX line that begins at or behind `p`, before `stop`: "line 12" of the driver's compiler, "cujit:12:"
 * of the CPU device, as the linker's input is named.
 * *end is behind it; 0: there is none. */
static uint32_t next_line_number(const char *p, const char *stop, const char *input, const char **end)
{
    const char *const marks[] = { "line ", input ? input : CJI_JIT_INPUT, "ptx input" };
    for (; p < stop; p++)
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
            size_t n = strlen(marks[i]);
            if (!n || strncmp(p, marks[i], n) || (i && p[n++] != ':') || p[n] < '1' || p[n] > '9') continue;
            char *behind;
            unsigned long line = strtoul(p + n, &behind, 10);
            *end = behind;
            return line < UINT32_MAX ? (uint32_t)line : 0;
        }
    return 0;
}

/* Line `line` (from 1) of a text; its length in *n.  NULL: there is none. */
static const char *jit_text_line(const char *text, uint32_t line, size_t *n)
{
    while (text && line > 1) {
        text = strchr(text, '\n');
        if (text) text++;
        line--;
    }
    if (!text || !*text || !line) return NULL;
    *n = strcspn(text, "\n");
    return text;
}

/* The text of line `line` of `ptx`, without its indentation; "" for none. */
static void line_text(uint32_t line, const char *ptx, char *out, size_t size)
{
    size_t n = 0;
    const char *p = jit_text_line(ptx, line, &n);
    *out = 0;
    if (!p) return;
    size_t blank = strspn(p, " \t");
    blank = blank < n ? blank : n;
    n -= blank;
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), p + blank);
}

/* The line with two before it and two after it, each with its number. */
static void put_context(cji_text *log, const char *text, uint32_t line)
{
    enum { AROUND = 2, WIDEST = 200 };
    for (uint32_t k = line > AROUND ? line - AROUND : 1; k <= line + AROUND; k++) {
        size_t n = 0;
        const char *p = jit_text_line(text, k, &n);
        if (!p) return;
        cji_text_printf(log, "%s%6u | %.*s\n", k == line ? ">" : " ", k, (int)(n < WIDEST ? n : WIDEST), p);
    }
}

void cji_jit_log(cji_text *log, const char *lines, cji_jit_source from)
{
    unsigned shown = 0;
    enum { SHOWN_MOST = 8 };   /* a compiler that warns of each line would print the text five times */
    while (*lines) {
        const char *stop = lines + strcspn(lines, "\n"), *end, *file;
        uint32_t first = 0, ptx_line, line;
        for (; (ptx_line = next_line_number(lines, stop, from.name, &end)); lines = end) {
            cji_text_put(log, lines, (size_t)(end - lines));
            if (!first) first = ptx_line;
            if (from.m && cji_ptx_line_of(from.m, from.flags, ptx_line, &file, &line))
                cji_text_printf(log, " (%s:%u)", file, line);
        }
        if (lines < stop) cji_text_put(log, lines, (size_t)(stop - lines));
        cji_text_putc(log, '\n');
        if (first && from.text && shown++ < SHOWN_MOST) put_context(log, from.text, first);
        lines = stop + (*stop == '\n');
    }
}

/* -- Refusals ------------------------------------------------------------------------------------------------------ */

/* Whether a line of the log is an error, and not only that there was one. */
static bool is_error(const char *line, size_t n)
{
    const char *at = strstr(line, "rror");
    return at && at < line + n && strncmp(line, "ptxas fatal", 11) != 0;
}

/* Whether it is a line of the PTX, not of the compiler. */
static bool is_context(const char *line)
{
    size_t n = *line == '>' || *line == ' ' ? strspn(line + 1, " 0123456789") : 0;
    return n > 6 && line[1 + n] == '|';
}

/* The first error of the log; where no line is one, its first line. */
static void first_sentence(const char *log, char *out, size_t size)
{
    *out = 0;
    for (const char *p = log; *p;) {
        size_t n = strcspn(p, "\n");
        bool context = is_context(p), error = !context && is_error(p, n);
        if (n && !context && (error || !*out || strncmp(out, "ptxas fatal", 11) == 0))
            snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), p);
        if (error) return;
        p += n + (p[n] == '\n');
    }
}

bool cji_jit_rejects(CUresult r)
{
    return r == CUDA_ERROR_INVALID_PTX || r == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || r == CUDA_ERROR_INVALID_IMAGE ||
           r == CUDA_ERROR_NO_BINARY_FOR_GPU || r == CUDA_ERROR_INVALID_SOURCE ||
           r == CUDA_ERROR_JIT_COMPILATION_DISABLED || r == CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
}

cj_status cji_jit_fail(void *obj, const cj_device *dev, CUresult r, const char *cu_call, const char *call,
                       cji_text *log, cji_jit_source from)
{
    char sentence[240], text[100];
    const char *end, *file = "";
    uint32_t line = 0, ptx_line;
    if (!cji_jit_rejects(r))
        return cji_cu_fail_as(obj, dev, r, CJ_OK, cu_call, call, "%s: the PTX was not compiled", call);
    cji_jit_dump(from.text, cji_text_str(log));
    first_sentence(cji_text_str(log), sentence, sizeof sentence);
    ptx_line = next_line_number(sentence, sentence + strlen(sentence), from.name, &end);
    line_text(ptx_line, from.text, text, sizeof text);
    if (from.m && ptx_line) cji_ptx_line_of(from.m, from.flags, ptx_line, &file, &line);
    return cji_cu_fail_at(obj, dev, r, CJ_EJIT, cu_call, call, file, (int32_t)line,
                          "%s: the driver's compiler rejects %s%s%s%s%s%s", call, from.name ? from.name : "the PTX",
                          *sentence ? ": " : "", sentence, *text ? " [" : "", text, *text ? "]" : "");
}

/* -- What was refused, as a file ----------------------------------------------------------------------------------- */

static bool dump_write(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t did = write(fd, p, n);
        if (did < 0 && errno == EINTR) continue;
        if (did == 0) errno = ENOSPC;
        if (did <= 0) return false;
        p += did;
        n -= (size_t)did;
    }
    return true;
}

/* The log as comments behind the text, whose lines keep their numbers. */
static bool dump_log(int fd, const char *log)
{
    while (*log) {
        size_t n = strcspn(log, "\n");
        if (!dump_write(fd, "// ", 3) || !dump_write(fd, log, n) || !dump_write(fd, "\n", 1)) return false;
        log += n + (log[n] == '\n');
    }
    return true;
}

static void dump_failed(const char *folder, int error)
{
    cji_log(CJ_LOG_WARNING, "CUJIT_DUMP: the rejected PTX cannot be written to %s: %s%s", cji_short(folder),
            strerror(error), error == ENOENT || error == ENOTDIR ? "; it must be a folder that exists" : "");
}

void cji_jit_dump(const char *text, const char *log)
{
    char path[4096];
    const char *folder = cji_env_get(CJI_ENV_DUMP);
    if (!folder || !text) return;
    /* The same text has the same name: a program that fails again and again leaves one file. */
    int n = snprintf(path, sizeof path, "%s/cujit-%016llx.ptx", folder,
                     (unsigned long long)cji_hash(text, strlen(text)));
    if (n < 0 || (size_t)n >= sizeof path) {
        dump_failed(folder, ENAMETOOLONG);
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        if (errno != EEXIST) dump_failed(folder, errno);
        return;
    }
    cji_file_signals held;
    cji_file_signals_hold(&held);
    int error = dump_write(fd, text, strlen(text)) && dump_log(fd, log) ? 0 : errno;
    cji_file_signals_release(&held);
    if (close(fd) && !error) error = errno;
    if (error) unlink(path), dump_failed(folder, error);
    else cji_log(CJ_LOG_INFO, "the rejected PTX is in %s", path);
}
