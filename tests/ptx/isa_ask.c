#include "isa_ask.h"
#include "isa_write.h"
#include "../tap.h"
#include "../tap_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void isa_batch_add(isa_batch *b, const char *line)
{
    size_t n = strlen(line) + 1;
    if (b->bytes + n > b->cap) b->text = realloc(b->text, b->cap = (b->cap + n) * 2);
    if (b->n == b->at_cap) b->at = realloc(b->at, (b->at_cap = b->at_cap * 2 + 64) * sizeof *b->at);
    if (!b->text || !b->at) tap_bail("no memory");
    b->at[b->n++] = (uint32_t)b->bytes;
    memcpy(b->text + b->bytes, line, n);
    b->bytes += n;
}

const char *isa_batch_line(const isa_batch *b, size_t i) { return b->text + b->at[i]; }
void isa_batch_clear(isa_batch *b) { b->n = b->bytes = 0; }
void isa_batch_free(isa_batch *b) { free(b->text); free(b->at); memset(b, 0, sizeof *b); }

/* ptxas takes .target sm_N with every newer -arch of its own list. */
static void arch_for(const char *target, char *arch, size_t size)
{
    int number = atoi(target + 3);
    if (number < 75) snprintf(arch, size, "compute_75");
    else if (number == 101) snprintf(arch, size, "compute_110%s", target + 6); /* renamed */
    else snprintf(arch, size, "compute_%s", target + 3);
}

enum { FAILED = -1, CRASHED = -2 };

/* One run over the lines that are still open; returns how many were settled, FAILED or CRASHED. */
static int one_run(const char *ptxas, uint8_t version, const char *target, const isa_batch *b, char **message,
                   bool *open)
{
    static char head[8000];
    char path[256], arch[32];
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/isa_ask_XXXXXX", dir ? dir : "/tmp");
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) return FAILED;
    isa_write_head(head, sizeof head, version, target);
    fputs(head, f);
    size_t first = 1, *map = malloc((b->n + 1) * sizeof *map), lines = 0;
    for (const char *s = head; *s; s++) first += *s == '\n';
    for (size_t i = 0; i < b->n; i++) {
        if (!open[i]) continue;
        fprintf(f, "%s\n", isa_batch_line(b, i));
        map[lines++] = i;
    }
    fputs(isa_write_tail, f);
    fclose(f);
    arch_for(target, arch, sizeof arch);
    const char *argv[] = { ptxas, "-arch", arch, path, "-o", "/dev/null", NULL };
    tap_result r;
    tap_run(&r, argv, NULL);
    unlink(path);
    int settled = 0, stopped = -1;
    bool understood = r.status == 0;
    for (char *s = r.err; s && *s;) {
        char *end = strchr(s, '\n');
        if (end) *end = 0;
        char *where = strstr(s, ", line ");
        if (where) {
            size_t line = strtoul(where + 7, NULL, 10);
            char *text = strstr(where, " : ");
            if (!text) text = where;
            if (line < first || line >= first + lines) {
                if (!strstr(s, "warning") && !strstr(s, "info")) tap_diag("outside the statements: %s", s);
            } else if (strstr(where, "error") || strstr(where, "fatal")) {
                size_t i = map[line - first];
                understood = true;
                if (!message[i]) { message[i] = strdup(text + 3); settled++; }
                if (strstr(where, "fatal") || strstr(where, "yntax")) stopped = (int)(line - first);
            }
        }
        s = end ? end + 1 : NULL;
    }
    bool crashed = r.status >= 256;
    if (!understood && !crashed)
        tap_diag("ptxas ends with %d and says: %.300s%.300s", r.status, r.err ? r.err : "", r.out ? r.out : "");
    /* behind a syntax error nothing was read; before it only the syntax was, so all but that line are asked again */
    for (size_t k = 0; k < lines; k++)
        if (stopped < 0 || (int)k == stopped) open[map[k]] = false;
        else if (message[map[k]] && stopped >= 0) { free(message[map[k]]); message[map[k]] = NULL; }
    tap_result_free(&r);
    free(map);
    return crashed ? CRASHED : understood ? settled : FAILED;
}

/* Some statements make ptxas crash: the rest must be asked without them. */
static bool ask_halves(const char *ptxas, uint8_t version, const char *target, const isa_batch *b, char **message)
{
    bool ok = true;
    for (size_t half = 0; ok && half < 2; half++) {
        isa_batch part = { 0 };
        size_t from = half ? b->n / 2 : 0, to = half ? b->n : b->n / 2;
        for (size_t i = from; i < to; i++) {
            free(message[i]);
            isa_batch_add(&part, isa_batch_line(b, i));
        }
        ok = isa_ask(ptxas, version, target, &part, message + from);
        isa_batch_free(&part);
    }
    return ok;
}

bool isa_ask(const char *ptxas, uint8_t version, const char *target, const isa_batch *b, char **message)
{
    bool *open = malloc(b->n + 1);
    memset(open, 1, b->n);
    memset(message, 0, b->n * sizeof *message);
    bool ok = true, any = b->n > 0;
    while (ok && any) {
        int settled = one_run(ptxas, version, target, b, message, open);
        ok = settled != FAILED;
        if (settled == CRASHED) {
            ok = b->n > 1 && ask_halves(ptxas, version, target, b, message);
            if (b->n == 1) { message[0] = strdup("ptxas crashes"); ok = true; }
            break;
        }
        any = false;
        for (size_t i = 0; i < b->n; i++) any |= open[i];
    }
    free(open);
    return ok;
}
