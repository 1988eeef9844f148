/* How fast the CPU device loads PTX: read, linked and predecoded, in processor time. And how the time grows with each
 * number that a text can choose: time(2n) / time(n), which is 2 where nothing is searched. */
#include <cujit/parse.h>

#include "ptx/ptx.h"
#include "sim/exec/exec.h"
#include "tests/sim/long_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INSTRUCTIONS = 100000, ROUNDS = 5, LONG = 100000 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void report(const char *name, double value, const char *unit) { printf("%s %.8g %s\n", name, value, unit); }

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %.400s\n", what, why);
    exit(1);
}

/* ---- nvcc's text ------------------------------------------------------------------------------------------------- */

static const char *const samples[] = { "reduce", "histogram", "saxpy", "loops", "math", "interpret" };

static char *read_sample(const char *name)
{
    char path[600];
    static char room[65536];
    snprintf(path, sizeof path, BENCH_SAMPLES "/%s.ptx", name);
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(room, 1, sizeof room - 1, f) : 0;
    if (f) fclose(f);
    if (!n) fail(path, "it cannot be read");
    room[n] = 0;
    return room;
}

/* The sample's declarations and kernels once more, with `number` behind the names of its globals. */
static void add_sample(cji_text *t, const char *sample, unsigned number)
{
    const char *from = strstr(sample, ".address_size 64");
    for (const char *p = from ? from + 16 : sample; *p; p++) {
        static const char *const heads[] = { ".entry ", ".func " };
        size_t h = 0;
        while (h < 2 && strncmp(p, heads[h], strlen(heads[h]))) h++;
        cji_text_putc(t, *p);
        if (h == 2) continue;
        p++;
        for (; *p && *p != '('; p++) cji_text_putc(t, *p);
        cji_text_printf(t, "_%u(", number);
    }
}

/* At least INSTRUCTIONS instructions of nvcc. */
static size_t nvcc_text(cji_text *t)
{
    size_t instructions = 0;
    cji_text_puts(t, ".version 9.0\n.target sm_90\n.address_size 64\n");
    for (unsigned i = 0; instructions < INSTRUCTIONS; i++) {
        const char *sample = read_sample(samples[i % 3]);
        add_sample(t, sample, i);
        for (const char *p = sample; (p = strchr(p, ';')) != NULL; p++) instructions++;
    }
    return instructions;
}

static double load(const cji_text *t)
{
    cji_text log = { 0 };
    cji_exec_text text = { .name = "bench.ptx", .text = t->p, .bytes = t->n };
    double begin = now();
    cji_exec_program *p = cji_exec_program_make(&text, 1, &log);
    double end = now();
    if (!p) fail("load", cji_text_str(&log));
    cji_exec_program_free(p);
    cji_text_free(&log);
    return end - begin;
}

static double read_only(const cji_text *t)
{
    double begin = now();
    cj_ptx *m = cj_parse(t->p, t->n, "bench.ptx");
    double end = now();
    if (cj_ptx_status(m) != CJ_OK) fail("cj_parse", cj_error_of(m)->message);
    cj_ptx_free(m);
    return end - begin;
}

static double best(double (*of)(const cji_text *t), const cji_text *t, int rounds)
{
    double least = of(t);
    for (int i = 1; i < rounds; i++) {
        double d = of(t);
        if (d < least) least = d;
    }
    return least;
}

/* ---- Growth ------------------------------------------------------------------------------------------------------ */

/* Everything that walks a module: read, printed, copied, loaded, all its names looked up. */
static double whole(const cji_text *t)
{
    double begin = now();
    const char *text;
    size_t bytes;
    cj_ptx *m = cj_parse(t->p, t->n, "bench.ptx"), *copy = cj_ptx_clone(m);
    if (cj_ptx_print(copy, CJ_PRINT_LINES, &text, &bytes) != CJ_OK || cj_ptx_check(m) != CJ_OK)
        fail("print", cj_error_of(m)->message);
    cji_text log = { 0 };
    cji_exec_text whole = { .name = "bench.ptx", .text = t->p, .bytes = t->n };
    cji_exec_program *p = cji_exec_program_make(&whole, 1, &log);
    if (!p) fail("load", cji_text_str(&log));
    for (size_t i = 0; i < cji_exec_program_kernels(p); i++)
        if (!cji_exec_program_kernel(p, cji_exec_program_kernel_at(p, i)->name)) fail("kernel", "it is not found");
    for (size_t i = 0; i < cji_exec_program_vars(p); i++)
        if (!cji_exec_program_var(p, cji_exec_program_var_at(p, i)->name)) fail("variable", "it is not found");
    cji_exec_program_free(p);
    cji_text_free(&log);
    cj_ptx_free(copy);
    cj_ptx_free(m);
    return now() - begin;
}

static void growth(const struct long_text *x)
{
    double seconds[2];
    char name[80];
    for (unsigned i = 0; i < 2; i++) {   /* not in turn: each finds the heap as its own rounds leave it */
        cji_text t = { 0 };
        cji_text_puts(&t, LONG_HEAD);
        x->make(&t, LONG << i);
        seconds[i] = best(whole, &t, ROUNDS);
        cji_text_free(&t);
    }
    snprintf(name, sizeof name, "sim.load_%s_us", x->name);
    report(name, 1e6 * seconds[1] / (2 * LONG), "us");
    snprintf(name, sizeof name, "sim.load_%s_growth", x->name);
    report(name, seconds[1] / seconds[0], "ratio");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    cji_text t = { 0 };
    size_t n = nvcc_text(&t);
    report("sim.load_instructions", (double)n, "instructions");
    report("sim.load_text_bytes", (double)t.n, "bytes");
    double loaded = best(load, &t, ROUNDS), parsed = best(read_only, &t, ROUNDS);
    report("sim.load_bytes_per_s", (double)t.n / loaded, "bytes/s");
    report("sim.load_ns_per_instruction", 1e9 * loaded / (double)n, "ns");
    report("ptx.read_bytes_per_s", (double)t.n / parsed, "bytes/s");
    cji_text_free(&t);
    for (size_t i = 0; i < LONG_TEXTS; i++)
        if (argc < 2 || strstr(long_texts[i].name, argv[1])) growth(&long_texts[i]);
    return 0;
}
