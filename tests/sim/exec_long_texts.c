/* Texts with sixty thousand of one thing are read, copied, printed and loaded in time: nothing is searched one by
 * one, nothing recurses along a chain. A search in steps takes minutes here, a recursion ends the small stack below. */
#include <pthread.h>
#include <time.h>

#include <cujit/parse.h>

#include "ptx/ptx.h"
#include "sim/exec/exec.h"
#include "tests/tap.h"
#include "tests/sim/long_texts.h"

enum { STACK = 256 * 1024, LIMIT = 5 };   /* bytes; seconds of processor time for one text, which takes 0.1 */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Are all names found that the program has? */
static bool finds_all(const cji_exec_program *p)
{
    bool all = true;
    for (size_t i = 0; i < cji_exec_program_kernels(p); i++)
        all &= cji_exec_program_kernel(p, cji_exec_program_kernel_at(p, i)->name) == cji_exec_program_kernel_at(p, i);
    for (size_t i = 0; i < cji_exec_program_vars(p); i++)
        all &= cji_exec_program_var(p, cji_exec_program_var_at(p, i)->name) == cji_exec_program_var_at(p, i);
    return all && !cji_exec_program_kernel(p, "no such") && !cji_exec_program_var(p, "no such");
}

static void *try(void *user)
{
    const struct long_text *x = user;
    double begin = seconds();
    const char *printed;
    size_t bytes;
    cji_text t = { 0 }, log = { 0 };
    cji_text_puts(&t, LONG_HEAD);
    x->make(&t, tap_is_slow() ? 1000 : 60000);
    cji_exec_text text = { .name = "long.ptx", .text = t.p, .bytes = t.n };
    cj_ptx *m = cj_parse(t.p, t.n, text.name), *copy = cj_ptx_clone(m);
    if (!tap_is_int(cj_ptx_print(copy, CJ_PRINT_LINES, &printed, &bytes), CJ_OK, "%s: read and printed", x->name))
        tap_diag("%s", cj_error_of(copy)->message);
    tap_is_int(cj_ptx_check(m), CJ_OK, "%s: checked", x->name);
    cj_ptx_free(copy);
    cj_ptx_free(m);
    cji_exec_program *p = cji_exec_program_make(&text, 1, &log);
    if (tap_ok(p != NULL, "%s: loaded", x->name)) tap_ok(finds_all(p), "%s: every name is found", x->name);
    else tap_diag("%s", cji_text_str(&log));
    cji_exec_program_free(p);
    cji_text_free(&t);
    cji_text_free(&log);
    double took = seconds() - begin;
    if (!tap_ok(tap_is_slow() || took < LIMIT, "%s: in time", x->name)) tap_diag("%.1f s", took);
    return NULL;
}

int main(void)
{
    tap_plan(0);
    tap_timeout(200);
    for (size_t i = 0; i < LONG_TEXTS; i++) {
        pthread_t thread;
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, STACK);
        if (pthread_create(&thread, &attr, try, (void *)(uintptr_t)&long_texts[i])) tap_bail("no thread");
        pthread_join(thread, NULL);
        pthread_attr_destroy(&attr);
    }
    return tap_done();
}
