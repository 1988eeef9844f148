/* Runs another program: two temporary files take its output, so no pipe can fill up. */
#include "tap_run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *read_back(FILE *f, size_t *bytes)
{
    char *text = NULL;
    long n = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
    if (n >= 0 && (text = malloc((size_t)n + 1))) {
        rewind(f);
        *bytes = fread(text, 1, (size_t)n, f);
        text[*bytes] = 0;
    }
    return text;
}

void tap_run(tap_result *r, const char *const *argv, const char *const *env)
{
    int st = 0;
    FILE *out = tmpfile(), *err = tmpfile();
    *r = (tap_result){ .status = -1 };
    if (!out || !err) goto end;
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0) goto end;
    if (pid == 0) {
        int in = open("/dev/null", O_RDONLY);
        if (in < 0 || dup2(in, 0) < 0 || dup2(fileno(out), 1) < 0 || dup2(fileno(err), 2) < 0) _exit(126);
        for (; env && *env; env++) putenv((char *)(size_t)*env);
        execv(argv[0], (char *const *)(size_t)argv);
        _exit(127);
    }
    while (waitpid(pid, &st, 0) != pid) {}
    r->status = WIFSIGNALED(st) ? 256 + WTERMSIG(st) : WEXITSTATUS(st);
    r->out = read_back(out, &r->out_bytes);
    r->err = read_back(err, &r->err_bytes);
    if (!r->out || !r->err) r->status = -1;
end:
    if (out) fclose(out);
    if (err) fclose(err);
}

void tap_result_free(tap_result *r)
{
    free(r->out);
    free(r->err);
    *r = (tap_result){ .status = -1 };
}
