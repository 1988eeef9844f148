/* What ptxas accepts of the samples, and of what they are printed as: everything (tier ptxas). */
#include <cujit/parse.h>

#include "../tap.h"
#include "../tap_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PTXAS_MOST = 64 };

typedef struct ptxas_run { char what[96], input[240], output[240]; pid_t pid; } ptxas_run;

static bool write_file(const char *path, const char *text, size_t n)
{
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    bool fine = fwrite(text, 1, n, file) == n;
    return fclose(file) == 0 && fine;
}

/* Starts ptxas on a text; it only reads and checks, for compute_90a. */
static void ptxas_start(ptxas_run *r, const char *folder, size_t i, const char *text, size_t n)
{
    snprintf(r->input, sizeof r->input, "%s/%zu.ptx", folder, i);
    snprintf(r->output, sizeof r->output, "%s/%zu.log", folder, i);
    if (!write_file(r->input, text, n)) tap_bail("%s cannot be written", r->input);
    r->pid = fork();
    if (r->pid < 0) tap_bail("no process");
    if (r->pid) return;
    int log = open(r->output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(log, 1);
    dup2(log, 2);
    execl(tap_ptxas(), "ptxas", "-arch", "compute_90a", r->input, "-o", "/dev/null", (char *)NULL);
    _exit(127);
}

static void ptxas_wait(const ptxas_run *r)
{
    int status = -1;
    waitpid(r->pid, &status, 0);
    if (!tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "ptxas accepts %s", r->what)) {
        char *said = tap_slurp(r->output, NULL);
        if (said) tap_diag("%.300s", said);
        free(said);
    }
    unlink(r->input);
    unlink(r->output);
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

int main(void)
{
    static ptxas_run run[PTXAS_MOST];
    static char names[PTXAS_MOST / 2][64];
    char path[128];
    size_t n = 0, runs = 0, bytes = 0, printed = 0;
    tap_need_ptxas();
    tap_plan(0);
    DIR *samples = opendir(tap_source("tests/ptx/samples"));
    if (!samples) tap_bail("no samples");
    const char *folder = tap_folder("ptxas");
    for (const struct dirent *e; (e = readdir(samples)) && n < PTXAS_MOST / 2;)
        if (strstr(e->d_name, ".ptx") && strlen(e->d_name) < sizeof names[0]) strcpy(names[n++], e->d_name);
    closedir(samples);
    qsort(names, n, sizeof names[0], by_name);
    tap_ok(n >= 14, "there are samples");

    for (size_t i = 0; i < n; i++) {
        const char *text = NULL;
        snprintf(path, sizeof path, "tests/ptx/samples/%s", names[i]);
        char *sample = tap_slurp(tap_source(path), &bytes);
        if (!sample) tap_bail("%s cannot be read", path);
        cj_ptx *m = cj_parse(sample, bytes, names[i]);
        if (!tap_is_int(cj_ptx_print(m, CJ_PRINT_LINES, &text, &printed), CJ_OK, "%s is read and printed", names[i]))
            tap_diag("%s", cj_error_of(m)->message);
        snprintf(run[runs].what, sizeof run[runs].what, "%s", names[i]);
        ptxas_start(&run[runs], folder, runs, sample, bytes);
        runs++;
        snprintf(run[runs].what, sizeof run[runs].what, "%s as it is printed", names[i]);
        ptxas_start(&run[runs], folder, runs, text, printed);
        runs++;
        cj_ptx_free(m);
        free(sample);
    }
    for (size_t i = 0; i < runs; i++) ptxas_wait(&run[i]);
    return tap_done();
}
