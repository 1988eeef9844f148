/* Thousands of small modules are cheap: what one allocates, and that threads that build by verbs at the same time all
 * get the same text. */
#include "../tap.h"

#include <cujit/ptx.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* -- Memory; one thread -------------------------------------------------------------------------------------------- */

static size_t held, calls;
static int counted = 1; /* not by several threads */

static void *hook(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    if (counted) {
        held += size - (p ? old : 0);
        calls += size != 0;
    }
    if (size) return realloc(p, size);
    free(p);
    return NULL;
}

/* A module with n instructions of one kernel; -1: without the kernel. */
static cj_ptx *module_of(int n)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = n < 0 ? NULL : cj_ptx_kernel(m, "k");
    for (int i = 0; i < n; i++) cj_reg(f, CJ_F32);
    cj_val a = n > 0 ? cj_reg(f, CJ_F32) : (cj_val){ 0 };
    for (int i = 0; i < n; i++) a = i & 1 ? cj_mul(f, a, a) : cj_add(f, a, a);
    return m;
}

static void sizes(void)
{
    static const struct { int n; size_t bytes, calls; } cases[] = {
        { -1, 5 * 1024, 8 }, { 0, 5 * 1024, 16 }, { 10, 6 * 1024, 24 }, { 1000, 80 * 1024, 40 },
        { 20000, 20000 * 80, 60 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t before = held;
        calls = 0;
        cj_ptx *m = module_of(cases[i].n);
        tap_is_int(cj_ptx_status(m), CJ_OK, "a module with %d instructions", cases[i].n);
        tap_ok(held - before <= cases[i].bytes, "... allocates %zu bytes, at most %zu", held - before, cases[i].bytes);
        tap_ok(calls <= cases[i].calls, "... in %zu calls, at most %zu", calls, cases[i].calls);
        cj_ptx_free(m);
        tap_is_int((int64_t)held, (int64_t)before, "... and frees them all");
    }
}

/* -- Verbs; several threads ---------------------------------------------------------------------------------------- */

enum { THREADS = 4, MODULES = 20 };

/* Verbs of all types, most of them looked up for the first time by some thread. */
static char *by_verbs(void)
{
    static const cj_type types[] = { CJ_U32, CJ_S32, CJ_U64, CJ_S64, CJ_F32, CJ_F64, CJ_U16, CJ_S16 };
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val p = cj_param_ptr(f, "p", CJ_F32), i = cj_global_id(f, CJ_X);
    const char *text = NULL;
    cj_set(f, p, i, cj_add(f, cj_get(f, p, i), 1.0f));
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        cj_val a = cj_reg(f, types[k]), b = cj_reg(f, types[k]);
        a = cj_sub(f, cj_mul(f, cj_add(f, a, b), b), cj_min(f, a, cj_max(f, a, b)));
        cj_if(f, cj_lt(f, a, b));
            cj_assign(f, a, cj_div(f, a, b));
        cj_end(f);
        cj_cvt(f, CJ_F32, a);
    }
    cj_ptx_print(m, 0, &text, NULL);
    char *mine = text ? strdup(text) : NULL;
    cj_ptx_free(m);
    return mine;
}

static void *build(void *user)
{
    char *first = by_verbs();
    int *wrong = user;
    for (int i = 1; i < MODULES; i++) {
        char *next = by_verbs();
        *wrong += !first || !next || strcmp(first, next) != 0;
        free(next);
    }
    return first;
}

static void threads(void)
{
    pthread_t id[THREADS];
    int wrong[THREADS] = { 0 };
    counted = 0;
    for (int i = 0; i < THREADS; i++) pthread_create(&id[i], NULL, build, &wrong[i]);
    char *want = by_verbs();
    tap_ok(want && strlen(want) > 1000, "a module of verbs");
    for (int i = 0; i < THREADS; i++) {
        void *text = NULL;
        pthread_join(id[i], &text);
        tap_is_str(text, want, "thread %d builds the same", i);
        tap_is_int(wrong[i], 0, "... each time");
        free(text);
    }
    free(want);
}

int main(void)
{
    tap_plan(0);
    cj_set_allocator(hook, NULL);
    sizes();
    threads();
    return tap_done();
}
