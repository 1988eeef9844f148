#include "ask_ptxas.h"

#include "../tap_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ptxas takes PTX for a target with every -arch that is as new; a and f targets want their own. */
static void arch_of(const char *text, const char *kind, char *arch, size_t size)
{
    const char *t = strstr(text, ".target sm_");
    int n = t ? atoi(t + 11) : 0;
    size_t len = t ? strcspn(t + 11, "\n, ") : 0;
    if (n < 75) snprintf(arch, size, "%s_75", kind);
    else snprintf(arch, size, "%s_%.*s", kind, (int)len, t + 11);
}

static void ask(const char *text, const char *kind, bool wants, const char *name)
{
    char path[256], arch[40];
    const char *dir = getenv("TMPDIR"), *ptxas = tap_ptxas();
    if (!ptxas) { tap_skip(1, "no ptxas: %s", name); return; }
    snprintf(path, sizeof path, "%s/ask_ptxas_XXXXXX", dir ? dir : "/tmp");
    int fd = mkstemp(path);
    size_t n = strlen(text);
    if (fd < 0 || write(fd, text, n) != (ssize_t)n) tap_bail("no file for ptxas");
    close(fd);
    arch_of(text, kind, arch, sizeof arch);
    const char *argv[] = { ptxas, "-arch", arch, path, "-o", "/dev/null", NULL };
    tap_result r;
    tap_run(&r, argv, NULL);
    if (!tap_is_int(r.status == 0, wants, "ptxas %s it: %s", wants ? "takes" : "rejects", name))
        tap_diag("%s%s", r.out, r.err);
    tap_result_free(&r);
    unlink(path);
}

void ptxas_takes(const char *text, const char *name) { ask(text, "compute", true, name); }

void ptxas_assembles(const char *text, bool wants, const char *name) { ask(text, "sm", wants, name); }
