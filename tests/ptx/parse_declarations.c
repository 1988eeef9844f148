/* Declarations that the reader accepts and rejects, each as ptxas 13.0 does; what is accepted is printed as text that
 * is read again to the same print.  Where ptxas is present a part of the rows is put to it, with CUJIT_TEST_ALL all. */
#include <cujit/parse.h>

#include "../tap.h"
#include "../tap_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Y: ptxas accepts it, and so does the reader; N: both reject it.  A text without .version stands behind `head`. */
enum { N, Y };
static const char declarations_head[] = ".version 9.0\n.target sm_90\n.address_size 64\n";
static const struct { int verdict; const char *text; } declarations[] = {
#include "declarations.def"
};

/* What ptxas says: true, it accepts it. */
static bool ptxas_accepts(const char *text)
{
    char path[256], arch[24] = "compute_75";
    const char *dir = getenv("TMPDIR"), *target = strstr(text, ".target ");
    snprintf(path, sizeof path, "%s/declarations_XXXXXX", dir ? dir : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) tap_bail("no file for ptxas");
    close(fd);
    int sm = target ? atoi(target + strcspn(target, "_") + 1) : 0;
    if (sm > 75) snprintf(arch, sizeof arch, "compute_%d", sm);
    const char *argv[] = { tap_ptxas(), "-arch", arch, path, "-o", "/dev/null", NULL };
    tap_result r;
    tap_run(&r, argv, NULL);
    bool accepts = r.status == 0;
    tap_result_free(&r);
    unlink(path);
    return accepts;
}

static void check_row(size_t i, const char *text)
{
    const char *first = NULL, *second = NULL;
    size_t bytes = 0;
    cj_ptx *m = cj_parse(text, strlen(text), "k.ptx");
    bool accepted = cj_ptx_print(m, 0, &first, &bytes) == CJ_OK;
    if (!tap_ok(accepted == (declarations[i].verdict == Y), "%s: %s", declarations[i].verdict ? "accepted" : "rejected",
                declarations[i].text))
        tap_diag("%s", cj_error_of(m)->message);
    if (!accepted) tap_ok(cj_error_of(m)->line > 0, "the message names a line: %s", cj_error_of(m)->message);
    if (accepted) {
        cj_ptx *again = cj_parse(first, bytes, "again.ptx");
        cj_ptx_print(again, 0, &second, NULL);
        if (!tap_is_str(second, first, "the print is read again: %s", declarations[i].text))
            tap_diag("%s", cj_error_of(again)->message);
        cj_ptx_free(again);
    }
    cj_ptx_free(m);
}

int main(void)
{
    enum { SOME = 12 };
    bool all = getenv("CUJIT_TEST_ALL") != NULL;
    char text[4096];
    tap_plan(0);
    for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++) {
        snprintf(text, sizeof text, "%s%s\n", strstr(declarations[i].text, ".version") ? "" : declarations_head,
                 declarations[i].text);
        check_row(i, text);
        if (!tap_ptxas() || (!all && i % SOME)) continue;
        tap_is_int(ptxas_accepts(text), declarations[i].verdict, "ptxas: %s", declarations[i].text);
    }
    return tap_done();
}
