/* After fork() each call that touches a driver answers CJ_EFORKED in the child, builders go on there, releases do
 * nothing, and the parent notices nothing. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cujit/cujit.h>

#include "api.h"
#include "tests/tap.h"

/* What the child found, sent through a pipe: Valgrind changes a child's exit status. */
typedef struct verdict { int index, status; } verdict; /* function, and what it answered; index -1: the end */

static bool touches_driver(const api_function *f)
{
    for (int i = 0; i < f->nparams; i++)
        if (f->handle[i] > API_FN && f->handle[i] != API_DISK_CACHE) return true;
    return false;
}

/* What `f` says in the child when all its handles are the parent's. */
static int answer(const api_function *f)
{
    uint64_t a[API_PARAMS] = { 0 };
    for (int i = 0; i < f->nparams; i++)
        if (f->handle[i] >= 0) a[i] = (uint64_t)(uintptr_t)api_live[f->handle[i]];
    cj_set_log(NULL, NULL);
    uint64_t r = api_call(f, a);
    switch (f->result) {
    case API_STATUS: return (int32_t)r;
    case API_OBJECT: return api_lends(f) ? CJ_EFORKED : cj_error_of((void *)(uintptr_t)r)->status;
    case API_VALUE: return r ? 1 : cj_error_last()->status;
    default: return CJ_EFORKED; /* getters and releases: that they return is enough */
    }
}

static void child(int out)
{
    alarm(20);
    for (int i = 0; i < api_count; i++) {
        if (!touches_driver(&api_functions[i])) continue;
        verdict v = { i, answer(&api_functions[i]) };
        if (write(out, &v, sizeof v) < 0) _exit(1);
    }
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "in_the_child");
    cj_val x = cj_param_ptr(f, "x", CJ_U32);
    cj_set(f, x, cj_global_id(f, CJ_X), cj_imm(f, 1));
    const char *text = "";
    verdict v = { -1, cj_ptx_print(m, 0, &text, NULL) == CJ_OK && strstr(text, "in_the_child") ? CJ_OK : CJ_EPTX };
    cj_ptx_free(m);
    _exit(write(out, &v, sizeof v) < 0);
}

int main(void)
{
    int pipes[2];
    verdict v = { 0, 0 };
    tap_need_device(1);
    tap_plan(0);
    api_make_live();
    api_read_headers();
    if (pipe(pipes)) tap_bail("no pipe");
    pid_t pid = fork();
    if (pid == 0) child(pipes[1]);
    close(pipes[1]);
    int seen = 0;
    bool ended = false;
    while (!ended && read(pipes[0], &v, sizeof v) == sizeof v) {
        ended = v.index < 0;
        if (ended) {
            tap_is_int(v.status, CJ_OK, "the child builds and prints a kernel of its own");
        } else {
            seen++;
            tap_is_str(cj_status_name((cj_status)v.status), "CJ_EFORKED", "%s in the child",
                       api_functions[v.index].name);
        }
    }
    close(pipes[0]);
    waitpid(pid, NULL, 0);
    tap_ok(ended && seen > 50, "the child came to its end");

    cj_stream *s = api_live[API_STREAM];
    cj_launch(s, api_live[API_KERNEL], cj_grid(1, 32));
    tap_is_int(cj_stream_sync(s), CJ_OK, "the parent goes on");
    api_release_live();
    return tap_done();
}
