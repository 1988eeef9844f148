/* What the kernels of libcujit-kernels reach, beside PyTorch's (cuBLAS, CUB, its own) and a copy in the same run.
 *
 * usage: kernels [-l LIMITS] [--torch PYTHON] [--only NAME]... [--ms MILLISECONDS] [--rounds N] [--seed N]
 *   --torch    an interpreter that has PyTorch; it runs bench/kernels_torch.py.  Without it the peers are left out
 *   --only     cases whose names begin so
 *   --ms       how long one measurement takes, 20 by default
 *   --seed     of the order of measurements; a new one each time by default, which is printed
 * Runs the device of CUJIT_DRIVER.  On the CPU device the shapes are small and nothing is judged.
 *
 * A measurement is a graph of launches, each on another part of the memory, launched repeatedly between two events,
 * after the same for as long before them: under load a GPU's clock depends on what ran last.  Each round measures all
 * cases in an order that is drawn anew, and the two sides of a case one behind the other, either first.
 *
 *     kernels.NAME.ours       the median over rounds: GB/s, bytes read and written, or TFLOP/s of a product
 *     kernels.NAME.spread     the greatest of them less the least, over the median
 *     kernels.NAME.peer       PyTorch's, the same way; of attention with log-sum-exp or grouped heads our own without
 *     kernels.NAME.ratio      ours over the peer's; of a kernel that only moves memory, over the better copy of the two
 * On a GPU the ratios are judged by the file of limits: exit status 1 when one is beyond. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/judge.h"
#include "bench/kernels_cases.h"

enum { MOST_CASES = 64, MOST_ROUNDS = 31, LEAST_MEMORY = 1 << 28, OURS = 0, PEER = 1 };

typedef struct kernels_entry {
    kernel_run run;
    cj_graph_exec *graph;
    uint64_t repeats;              /* of the graph, in one measurement */
    double rate[2][MOST_ROUNDS];
    const struct kernels_entry *own; /* the peer, if it is another case of ours */
    bool peer;
} kernels_entry;

typedef struct kernels_bench {
    cj_driver *drv;
    cj_device *dev;
    cj_stream *s;
    cj_event *from, *to;
    bool gpu, failed;
    const char *limits, *python, *only[16];
    unsigned only_count, rounds, count, seed;
    double ms;
    kernel_memory memory;
    kernels_entry entries[MOST_CASES];
    pid_t torch;
    FILE *ask, *answer;
} kernels_bench;

/* -- Failures ------------------------------------------------------------------------------------------------------ */

static void kernels_fail(kernels_bench *b, const char *what, const char *why)
{
    fprintf(stderr, "kernels: %s: %s\n", what, why);
    b->failed = true;
}

static void kernels_sync(kernels_bench *b, const char *what)
{
    if (!b->failed && cj_stream_sync(b->s)) kernels_fail(b, what, cj_error_of(b->s)->message);
}

/* -- The peer: a process that measures a case when it is asked to -------------------------------------------------- */

/* False: there is none, which is said. */
static bool torch_begin(kernels_bench *b)
{
    int to[2], from[2];
    char line[256];
    if (!b->python) return printf("kernels: no --torch: PyTorch's kernels are skipped\n"), false;
    if (pipe(to) || pipe(from)) return kernels_fail(b, b->python, "no pipe"), false;
    fflush(NULL);
    b->torch = fork();
    if (b->torch == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        execlp(b->python, b->python, BENCH_TORCH, (char *)NULL);
        _exit(127);
    }
    close(to[0]), close(from[1]);
    b->ask = fdopen(to[1], "w");
    b->answer = fdopen(from[0], "r");
    if (!b->ask || !b->answer || !fgets(line, sizeof line, b->answer)) {
        kernels_fail(b, b->python, "the process of PyTorch ended");
        return false;
    }
    fputs(line, stdout); /* its version, or why it cannot */
    return !strncmp(line, "torch.version", 13);
}

static void torch_end(kernels_bench *b)
{
    if (b->ask) fclose(b->ask);
    if (b->answer) fclose(b->answer);
    if (b->torch > 0) waitpid(b->torch, NULL, 0);
}

/* Microseconds a launch; 0: PyTorch has no such kernel. */
static double torch_us(kernels_bench *b, const char *name)
{
    char line[256];
    fprintf(b->ask, "%s %.6g\n", name, b->ms);
    if (fflush(b->ask) || !fgets(line, sizeof line, b->answer)) {
        kernels_fail(b, name, "the process of PyTorch ended");
        return 0;
    }
    return atof(line);
}

/* -- Memory -------------------------------------------------------------------------------------------------------- */

/* Numbers between -1 and 1 that a hash of the index gives; as integers, all bit patterns. */
static cj_ptx *fill_module(void)
{
    static const struct { const char *name; cj_type type; } kernels[] = {
        { "fill_f32", CJ_F32 }, { "fill_f16", CJ_F16 }, { "fill_bf16", CJ_BF16 }, { "fill_s8", CJ_S8 }
    };
    cj_ptx *m = cj_ptx_create();
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const cj_type type = kernels[i].type;
        cj_fn *f = cj_ptx_kernel(m, kernels[i].name);
        cj_val p = cj_param_ptr(f, "p", type), n = cj_param(f, "n", CJ_U64);
        cj_val id = cj_let(f, CJ_U32, cj_global_id(f, CJ_X)), at = cj_let(f, CJ_U64, cj_cvt(f, CJ_U64, id));
        cj_val hash = cj_let(f, CJ_U32, cj_mul(f, cj_add(f, id, 1), 0x9e3779b1u));
        cj_assign(f, hash, cj_mul(f, cj_xor(f, hash, cj_shr(f, hash, 15)), 0x85ebca77u));
        cj_val bits = cj_let(f, CJ_S32, cj_bits(f, CJ_S32, cj_xor(f, hash, cj_shr(f, hash, 13))));
        cj_val x = cj_mul(f, cj_cvt(f, CJ_F32, bits), 0x1p-31f);
        cj_if(f, cj_lt(f, at, n));
            cj_set(f, p, at, type == CJ_S8 ? cj_cvt(f, CJ_S8, bits) : type == CJ_F32 ? x : cj_cvt(f, type, x));
        cj_end(f);
    }
    return m;
}

static void fill_memory(kernels_bench *b)
{
    const struct { const char *name; cj_dptr d; uint64_t size; } parts[] = {
        { "fill_f32", b->memory.f32, 4 }, { "fill_f16", b->memory.f16, 2 }, { "fill_bf16", b->memory.bf16, 2 },
        { "fill_s8", b->memory.s8, 1 }
    };
    cj_ptx *m = fill_module();
    cj_module *mod = cj_module_load(b->dev, m, NULL);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const uint64_t n = b->memory.bytes / parts[i].size;
        cj_launch_name(b->s, mod, parts[i].name, cj_grid((uint32_t)((n + 255) / 256), 256), parts[i].d, n);
    }
    kernels_sync(b, "the memory");
    cj_module_free(mod);
    cj_ptx_free(m);
}

static void take_memory(kernels_bench *b)
{
    uint64_t bytes = b->gpu ? LEAST_MEMORY : 0;
    for (unsigned i = 0; i < b->count; i++) {
        const kernel_run *r = &b->entries[i].run;
        bytes = r->in_bytes > bytes ? r->in_bytes : bytes;
        bytes = r->out_bytes > bytes ? r->out_bytes : bytes;
    }
    cj_dptr *all[] = { &b->memory.f32, &b->memory.f16, &b->memory.bf16, &b->memory.s8, &b->memory.out };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) *all[i] = cj_alloc(b->s, bytes);
    b->memory.bytes = bytes;
    kernels_sync(b, "the memory");
    if (!b->failed) fill_memory(b);
}

/* -- Measurements -------------------------------------------------------------------------------------------------- */

static double clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Microseconds a launch.  The CPU device's events are no clock. */
static double ours_us(kernels_bench *b, const kernels_entry *e)
{
    float ms = 0;
    const double start = clock_us(), launches = (double)(e->repeats * e->run.in_a_graph);
    cj_event_record(b->from, b->s);
    for (uint64_t i = 0; i < e->repeats; i++) cj_graph_launch(b->s, e->graph);
    cj_event_record(b->to, b->s);
    kernels_sync(b, e->run.c->name);
    if (!b->gpu) return (clock_us() - start) / launches;
    if (!b->failed && cj_event_elapsed(b->from, b->to, &ms))
        kernels_fail(b, e->run.c->name, cj_error_of(b->to)->message);
    return (double)ms * 1e3 / launches;
}

static void capture_entry(kernels_bench *b, kernels_entry *e)
{
    cj_capture_begin(b->s, CJ_CAPTURE_THREAD);
    for (uint64_t turn = 0; turn < e->run.in_a_graph; turn++) kernel_run_launch(&e->run, b->s, &b->memory, turn);
    cj_graph *g = cj_capture_end(b->s);
    e->graph = cj_graph_instantiate(g, NULL);
    if (cj_error_of(e->graph)->status) kernels_fail(b, e->run.c->name, cj_error_of(e->graph)->message);
    cj_graph_free(g);
    e->repeats = 1;
    if (!b->failed && b->gpu) { /* once to warm up */
        ours_us(b, e);
        const double us = ours_us(b, e);
        e->repeats = (uint64_t)(b->ms * 1e3 / (us * e->run.in_a_graph)) + 1;
    }
}

static double rate_of(const kernels_entry *e, double us)
{
    return us > 0 ? e->run.work / us / (kernel_is_product(e->run.c) ? 1e6 : 1e3) : 0;
}

static double settled_us(kernels_bench *b, const kernels_entry *e)
{
    if (b->gpu) ours_us(b, e);
    return ours_us(b, e);
}

static void measure_side(kernels_bench *b, kernels_entry *e, int side, unsigned round)
{
    if (side == OURS) {
        e->rate[OURS][round] = rate_of(e, settled_us(b, e));
    } else if (e->own) {
        e->rate[PEER][round] = rate_of(e->own, settled_us(b, e->own));
    } else if (e->peer) {
        e->rate[PEER][round] = rate_of(e, torch_us(b, e->run.c->name));
        e->peer = e->rate[PEER][round] > 0;
    }
}

static void measure_round(kernels_bench *b, unsigned round)
{
    unsigned order[MOST_CASES];
    for (unsigned i = 0; i < b->count; i++) {
        const unsigned k = (unsigned)rand() % (i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (unsigned i = 0; i < b->count && !b->failed; i++) {
        const int first = rand() & 1 ? OURS : PEER;
        measure_side(b, &b->entries[order[i]], first, round);
        if (!b->failed) measure_side(b, &b->entries[order[i]], first == OURS ? PEER : OURS, round);
    }
}

/* -- Results ------------------------------------------------------------------------------------------------------- */

static double report_side(kernels_bench *b, kernels_entry *e, int side)
{
    double *rate = e->rate[side];
    const double median = bench_median(rate, b->rounds); /* which sorts */
    const char *unit = kernel_is_product(e->run.c) ? "TFLOP/s" : "GB/s";
    printf("kernels.%s.%s %.4g %s\n", e->run.c->name, side == OURS ? "ours" : "peer", median, unit);
    printf("kernels.%s.%s %.3g ratio\n", e->run.c->name, side == OURS ? "spread" : "peer_spread",
           (rate[b->rounds - 1] - rate[0]) / median);
    return median;
}

static bool ratio_holds(kernels_bench *b, const kernels_entry *e, double ratio)
{
    char name[96];
    bench_limit limit;
    snprintf(name, sizeof name, "kernels.%s.ratio", e->run.c->name);
    printf("%s %.4g ratio\n", name, ratio);
    if (!b->gpu) return true;
    return bench_limit_find("kernels", b->limits, name, &limit) && bench_limit_holds("kernels", name, &limit, ratio);
}

/* The copy is the first case. */
static bool report_all(kernels_bench *b)
{
    bool held = true;
    double copy = 0;
    for (unsigned i = 0; i < b->count; i++) {
        kernels_entry *e = &b->entries[i];
        const double ours = report_side(b, e, OURS), peer = e->peer || e->own ? report_side(b, e, PEER) : 0;
        if (e->run.c->kind == KERNEL_COPY) copy = ours > peer ? ours : peer;
        const double beside = kernel_is_beside_copy(e->run.c) ? copy : peer;
        if (beside > 0) held &= ratio_holds(b, e, ours / beside);
    }
    return held;
}

/* -- The bench ----------------------------------------------------------------------------------------------------- */

static bool is_chosen(const kernels_bench *b, const kernel_case *c)
{
    bool chosen = !b->only_count || c->kind == KERNEL_COPY;
    for (unsigned i = 0; i < b->only_count; i++) chosen |= !strncmp(c->name, b->only[i], strlen(b->only[i]));
    return chosen;
}

/* The case `name`; NULL: it was not chosen, or there is no name. */
static const kernels_entry *find_entry(const kernels_bench *b, const char *name)
{
    for (unsigned i = 0; i < b->count && name; i++)
        if (!strcmp(b->entries[i].run.c->name, name)) return &b->entries[i];
    return NULL;
}

static void begin_kernels(kernels_bench *b)
{
    b->dev = cj_device_open(b->drv, 0, NULL);
    b->s = cj_stream_create(b->dev, NULL);
    b->from = cj_event_create(b->dev, CJ_EVENT(.timing = 1));
    b->to = cj_event_create(b->dev, CJ_EVENT(.timing = 1));
    kernels_sync(b, "the device");
    for (unsigned i = 0; i < kernel_case_count && !b->failed; i++) {
        if (!is_chosen(b, &kernel_cases[i])) continue;
        kernel_run *run = &b->entries[b->count++].run;
        if (!kernel_run_open(run, b->dev, &kernel_cases[i], !b->gpu))
            kernels_fail(b, kernel_cases[i].name, kernel_error(run));
    }
    for (unsigned i = 0; i < b->count; i++) b->entries[i].own = find_entry(b, b->entries[i].run.c->beside);
    if (!b->failed) take_memory(b);
    for (unsigned i = 0; i < b->count && !b->failed; i++) capture_entry(b, &b->entries[i]);
}

static void end_kernels(kernels_bench *b)
{
    const cj_dptr all[] = { b->memory.f32, b->memory.f16, b->memory.bf16, b->memory.s8, b->memory.out };
    for (unsigned i = 0; i < b->count; i++) {
        cj_graph_exec_free(b->entries[i].graph);
        kernel_run_close(&b->entries[i].run);
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cj_free(b->dev, all[i]);
    cj_event_free(b->from);
    cj_event_free(b->to);
    cj_stream_free(b->s);
    cj_device_close(b->dev);
    cj_driver_close(b->drv);
}

static bool take_words(kernels_bench *b, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[++i] : NULL;
        if (!value) return fprintf(stderr, "kernels: what is %s?\n", word), false;
        if (!strcmp(word, "-l")) b->limits = value;
        else if (!strcmp(word, "--torch")) b->python = value;
        else if (!strcmp(word, "--ms")) b->ms = atof(value);
        else if (!strcmp(word, "--rounds")) b->rounds = (unsigned)atoi(value);
        else if (!strcmp(word, "--seed")) b->seed = (unsigned)atoi(value);
        else if (!strcmp(word, "--only") && b->only_count < 16) b->only[b->only_count++] = value;
        else return fprintf(stderr, "kernels: what is %s?\n", word), false;
    }
    return b->ms > 0 && b->rounds > 0 && b->rounds <= MOST_ROUNDS;
}

int main(int argc, char **argv)
{
    static kernels_bench b = { .limits = BENCH_LIMITS, .rounds = 9, .ms = 20 };
    bool held = true;
    b.seed = (unsigned)time(NULL) ^ (unsigned)getpid() << 16;
    if (!take_words(&b, argc, argv)) return 2;
    b.drv = cj_driver_open(NULL);
    if (cj_error_of(b.drv)->status || !cj_device_count(b.drv)) {
        printf("kernels: skipped, there is no device: %s\n", cj_error_of(b.drv)->message);
        cj_driver_close(b.drv);
        return 0;
    }
    signal(SIGPIPE, SIG_IGN);
    b.gpu = !strcmp(cj_driver_kind(b.drv), "cuda");
    const bool peers = torch_begin(&b);
    if (!b.failed) begin_kernels(&b);
    if (!b.failed) printf("device %s\nseed %u\n", cj_device_name(b.dev), b.seed);
    srand(b.seed);
    for (unsigned i = 0; i < b.count; i++) b.entries[i].peer = peers;
    for (unsigned round = 0; round < b.rounds && !b.failed; round++) measure_round(&b, round);
    if (!b.failed) held = report_all(&b);
    end_kernels(&b);
    torch_end(&b);
    return b.failed || !held;
}
