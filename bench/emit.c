/* How fast the builder takes instructions (by resolved mnemonic, by spelling, by verbs, operand checks on), what a
 * small kernel costs from create to free, and how fast the printer writes. Processor time of this process, the best of
 * some rounds. Lines of `name value unit`; ratios are over snprintf of the same lines in the same run. */
#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INSTRUCTIONS = 1000000, ROUNDS = 7, KINDS = 32 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The allocation hook counts. */
typedef struct memory_use { size_t bytes, calls; } memory_use;
static memory_use use;

static void *counting(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    use.bytes += size - (p ? old : 0);
    use.calls += size != 0;
    if (size) return realloc(p, size);
    free(p);
    return NULL;
}

/* Thirty-two spellings of three-operand f32 arithmetic, as a program would mix them. */
static char spellings[KINDS][40];

static void make_spellings(void)
{
    static const char *const round[] = { "rn", "rz", "rm", "rp" };
    for (int i = 0; i < KINDS; i++)
        snprintf(spellings[i], sizeof spellings[i], "fma.%s%s%s.f32", round[i & 3], i & 4 ? ".ftz" : "",
                 i & 8 ? ".sat" : "");
}

typedef struct bench { cj_ptx *m; cj_fn *f; cj_val a, b; } bench;

static bench fresh(void)
{
    bench b = { .m = cj_ptx_create() };
    b.f = cj_ptx_kernel(b.m, "k");
    b.a = cj_reg(b.f, CJ_F32);
    b.b = cj_reg(b.f, CJ_F32);
    return b;
}

static void by_op(bench *b, const cj_op *op, int n)
{
    cj_val acc = b->a;
    for (int i = 0; i < n; i++) {
        cj_here(b->f, __FILE__, i & 4095);
        acc = cj_def_op(b->f, op[i % KINDS], (const cj_val[]){ b->a, acc, b->b }, 3);
    }
}

static void by_spelling(bench *b, int n)
{
    cj_val acc = b->a;
    for (int i = 0; i < n; i++) {
        cj_here(b->f, __FILE__, i & 4095);
        acc = cj_def_n(b->f, spellings[i % KINDS], (const cj_val[]){ b->a, acc, b->b }, 3);
    }
}

static void by_verb(bench *b, int n)
{
    cj_val acc = b->a;
    for (int i = 0; i < n; i++) {
        cj_here(b->f, __FILE__, i & 4095);
        acc = i & 1 ? cj_fma(b->f, b->a, acc, b->b) : cj_add(b->f, acc, b->b);
    }
}

/* The same lines as the printer's body, by snprintf. */
static size_t by_snprintf(char *out, size_t size, int n)
{
    size_t at = 0;
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(out + at, size - at, "\t%s %%f%d, %%f%d, %%f%d, %%f%d;\n", spellings[i % KINDS], i + 2,
                               0, i ? i + 1 : 0, 1);
    return at;
}

static double best(double so_far, double t) { return t < so_far ? t : so_far; }

static void fail_if_dead(const bench *b)
{
    if (cj_ptx_status(b->m) == CJ_OK) return;
    fprintf(stderr, "%s\n", cj_error_of(b->m)->message);
    exit(1);
}

/* Modules of 10,000 instructions, from create to free, built and printed. */
static double whole_modules(const cj_op *op)
{
    enum { EACH = 10000 };
    const char *text;
    size_t bytes;
    double t = now();
    for (int i = 0; i < INSTRUCTIONS / EACH; i++) {
        bench b = fresh();
        by_op(&b, op, EACH);
        cj_ptx_print(b.m, 0, &text, &bytes);
        fail_if_dead(&b);
        cj_ptx_free(b.m);
    }
    return now() - t;
}

/* c[i] = a[i] + b[i] by verbs: the least that a program builds. */
static void vector_add(cj_ptx *m)
{
    cj_fn *f = cj_ptx_kernel(m, "vector_add");
    cj_val a = cj_param_ptr(f, "a", CJ_F32), b = cj_param_ptr(f, "b", CJ_F32), c = cj_param_ptr(f, "c", CJ_F32);
    cj_val n = cj_param(f, "n", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_set(f, c, i, cj_add(f, cj_get(f, a, i), cj_get(f, b, i)));
    cj_end(f);
}

/* Such modules from create to free, built and printed; seconds for one. */
static double small_modules(void)
{
    enum { MODULES = 5000 };
    const char *text;
    size_t bytes;
    double t = now();
    for (int i = 0; i < MODULES; i++) {
        cj_ptx *m = cj_ptx_create();
        vector_add(m);
        if (cj_ptx_print(m, 0, &text, &bytes) != CJ_OK) {
            fprintf(stderr, "%s\n", cj_error_of(m)->message);
            exit(1);
        }
        cj_ptx_free(m);
    }
    return (now() - t) / MODULES;
}

/* What a module of `n` instructions allocates until it is built. */
static memory_use memory_of(const cj_op *op, int n)
{
    const memory_use before = use;
    bench b = n ? fresh() : (bench){ .m = cj_ptx_create() };
    by_op(&b, op, n);
    fail_if_dead(&b);
    const memory_use built = { use.bytes - before.bytes, use.calls - before.calls };
    cj_ptx_free(b.m);
    return built;
}

static void report(const char *name, double value, const char *unit) { printf("%s %.8g %s\n", name, value, unit); }

int main(void)
{
    enum { TEXT = INSTRUCTIONS * 64 };
    double op_s = 1e9, spelling_s = 1e9, verb_s = 1e9, small_s = 1e9, print_s = 1e9, peer_s = 1e9, both_s = 1e9;
    size_t bytes = 0, memory = 0;
    const char *text;
    cj_op op[KINDS];
    char *peer = malloc(TEXT);
    if (!peer) return 1;
    memset(peer, 0, TEXT);
    cj_set_allocator(counting, NULL);
    make_spellings();
    for (int i = 0; i < KINDS; i++) op[i] = cj_op_find(spellings[i]);
    for (int r = 0; r < ROUNDS; r++) {
        bench b = fresh();
        by_op(&b, op, INSTRUCTIONS);      /* the first time its tables grow */
        b.f->nins = 0;                    /* then the same again in memory that is there: the cost of emitting alone */
        double t = now();
        by_op(&b, op, INSTRUCTIONS);
        op_s = best(op_s, now() - t);
        fail_if_dead(&b);
        b.f->nins = 0;
        t = now();
        by_spelling(&b, INSTRUCTIONS);
        spelling_s = best(spelling_s, now() - t);
        b.f->nins = 0;
        t = now();
        by_verb(&b, INSTRUCTIONS);
        verb_s = best(verb_s, now() - t);
        fail_if_dead(&b);
        cj_ptx_free(b.m);

        both_s = best(both_s, whole_modules(op));
        small_s = best(small_s, small_modules());
        b = fresh();
        by_op(&b, op, INSTRUCTIONS);
        cj_ptx_print(b.m, 0, &text, &bytes);
        t = now();
        cj_ptx_print(b.m, 0, &text, &bytes);
        print_s = best(print_s, now() - t);
        fail_if_dead(&b);
        memory = b.f->nins * sizeof *b.f->ins + b.f->nlit * sizeof *b.f->lit + b.f->npool * sizeof *b.f->pool +
                 b.f->nmem * sizeof *b.f->mem;
        t = now();
        by_snprintf(peer, TEXT, INSTRUCTIONS);
        peer_s = best(peer_s, now() - t);
        cj_ptx_free(b.m);
    }
    report("emit.op_per_s", INSTRUCTIONS / op_s, "1/s");
    report("emit.spelling_per_s", INSTRUCTIONS / spelling_s, "1/s");
    report("emit.verb_per_s", INSTRUCTIONS / verb_s, "1/s");
    report("emit.vector_add_us", 1e6 * small_s, "us");
    static const int sizes[] = { 0, 10, 1000, 100000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char name[40];
        memory_use u = memory_of(op, sizes[i]);
        snprintf(name, sizeof name, "emit.module_%d_bytes", sizes[i]);
        report(name, (double)u.bytes, "bytes");
        snprintf(name, sizeof name, "emit.module_%d_allocations", sizes[i]);
        report(name, (double)u.calls, "calls");
    }
    report("emit.bytes_per_insn", (double)memory / INSTRUCTIONS, "bytes");
    report("emit.bytes_per_register", sizeof(cji_reg), "bytes");
    report("print.bytes_per_s", (double)bytes / print_s, "bytes/s");
    report("print.over_snprintf", peer_s / print_s, "ratio");
    report("emit_and_print.over_snprintf", peer_s / both_s, "ratio");
    free(peer);
    return 0;
}
