/* Results a second of each function of math.h, beside CUDA's own in the same run.
 *
 * usage: math [-l LIMITS] [--peers FOLDER] [--only NAME]... [--type f32|f64] [--ms MILLISECONDS] [--rounds N]
 *             [--texts FOLDER]
 *   --peers    CUDA's functions, made by bench/math_peers.sh on a machine with nvcc.  Without it they are left out
 *   --ms       how long one measurement takes, 1 by default
 *   --texts    writes our loops to FOLDER/NAME.TYPE.ptx, for bench/math_pipes.sh, and measures nothing
 * Runs the device of CUJIT_DRIVER: the GPU, or the CPU device, beside which the C library is measured.
 *
 * A thread makes its operands in registers, by adding a step to their bits, and adds up the bits of the results.  There
 * are three distributions: ordinary operands, all bit patterns, and operands of one side of the function's branches.
 *
 *     NAME.TYPE.DISTRIBUTION.ours     10^9 results a second, the median of nine rounds that alternate with
 *     NAME.TYPE.DISTRIBUTION.cuda     those of CUDA's function, or .host: the C library's, one thread
 *     NAME.TYPE.DISTRIBUTION.ratio    ours over CUDA's
 *     math.least_ratio                the least of them
 *     math.mean_ratio                 their geometric mean, without functions that are one instruction
 * What a loop adds up is compared with the sum of the function's results that another kernel has stored, before it is
 * measured: the loop has the function in it.  On a GPU math.least_ratio and math.mean_ratio are judged by the file of
 * limits: exit status 1 when one is beyond. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cujit/cujit.h>

#include "bench/judge.h"
#include "tests/math/math_functions.h"

enum { ORDINARY, PATTERNS, BRANCH, DISTRIBUTIONS, MOST_ROUNDS = 31, BLOCK = 128, DRAWN = 1 << 16,
       CHECKED = 64, CHECKED_TURNS = 8 };
static const char *const distribution_names[] = { "ordinary", "patterns", "branch" };

typedef struct math_side { cj_module *mod; cj_kernel *loop, *values; } math_side;

/* One function of one type. */
typedef struct math_row { const math_function *t; cj_type type; math_side sides[2]; /* ours, CUDA's */ } math_row;

typedef struct math_bench {
    cj_driver *drv;
    cj_device *dev;
    cj_stream *s;
    cj_event *from, *to;
    bool gpu;
    atomic_bool failed;
    const char *limits, *peers, *type, *texts, *only[64];
    unsigned only_count, rounds;
    double ms;
    uint32_t threads;               /* of a launch */
    cj_dptr x, y, sums, r[2];
    uint64_t *starts[2];
    math_row rows[160];
    unsigned row_count;
    double log_sum, least;
    unsigned ratios, mean_count;
} math_bench;

/* -- Failures ------------------------------------------------------------------------------------------------------ */

static void math_fail(math_bench *b, const char *what, const char *why)
{
    fprintf(stderr, "math: %s: %s\n", what, why);
    b->failed = true;
}

static void math_sync(math_bench *b, const char *what)
{
    if (!b->failed && cj_stream_sync(b->s)) math_fail(b, what, cj_error_of(b->s)->message);
}

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

/* Both sides are modules of the builder, CUDA's one that has read the text of nvcc: so the driver's linker compiles both
 * of them.  A text that cuModuleLoadData compiles has other instructions than the same text by the linker: loops of some
 * functions were up to 9 % faster then, those of others up to 38 % slower. */
static cj_module *peer_module(math_bench *b, const char *text)
{
    cj_ptx *p = cj_parse(text, strlen(text), "peer");
    cj_module *mod = cj_module_load(b->dev, p, NULL);
    if (!mod) math_fail(b, "CUDA's functions", cj_error_of(p)->message);
    cj_ptx_free(p);
    return mod;
}

static void load_row(void *context, unsigned i)
{
    math_bench *b = context;
    math_row *row = &b->rows[i];
    cj_ptx *p = cj_ptx_create();
    function_loop(row->t, p, row->type, CJ_MATH_ACCURATE);
    function_values(row->t, p, row->type, CJ_MATH_ACCURATE);
    row->sides[0].mod = cj_module_load(b->dev, p, NULL);
    if (!row->sides[0].mod) math_fail(b, row->t->name, cj_error_of(p)->message);
    cj_ptx_free(p);
    char *text = b->peers && strcmp(row->t->cuda, "NONE") ? function_peer(b->peers, row->t, row->type) : NULL;
    if (text) row->sides[1].mod = peer_module(b, text);
    free(text);
    for (int k = 0; k < 2; k++) {
        math_side *side = &row->sides[k];
        if (!side->mod) continue;
        side->loop = cj_module_kernel(side->mod, "loop");
        side->values = cj_module_kernel(side->mod, "values");
        if (!side->loop || !side->values) math_fail(b, row->t->name, "a kernel is not there");
    }
}

/* -- Operands ------------------------------------------------------------------------------------------------------ */

static uint64_t drawn(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(2685821657736338717);
}

static uint64_t number_bits(cj_type type, double x)
{
    uint64_t u;
    uint32_t low;
    const float single = (float)x;
    memcpy(&u, &x, sizeof u);
    memcpy(&low, &single, sizeof low);
    return type == CJ_F32 ? low : u;
}

/* The bits grow by a quarter of a binade in all: numbers by at most a quarter. */
static double start_of(const math_function *t, int distribution, uint64_t *state)
{
    const int k = distribution == BRANCH;
    const double u = (double)(drawn(state) >> 11) * 0x1p-53, x = t->least[k] + (t->most[k] - t->least[k]) * u;
    return k || fabs(x) <= 0.8 * t->most[k] ? x : 0.8 * x;
}

static uint64_t word_at_start(const math_row *row, bool second, int distribution, uint64_t *state)
{
    const uint64_t any = drawn(state);
    if (distribution == PATTERNS) return row->type == CJ_F32 ? any >> 32 : any;
    if (second && row->t->kind == FUNCTION_INT) return (uint32_t)(distribution == BRANCH ? 3 : (int)(any % 41) - 20);
    return number_bits(row->type, start_of(row->t, distribution, state));
}

static void put_starts(math_bench *b, const math_row *row, int distribution)
{
    uint64_t state = 88172645463325252;
    const size_t width = row->type == CJ_F32 ? 4 : 8;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < b->threads && i < DRAWN; i++) {
            const uint64_t u = word_at_start(row, k, distribution, &state);
            if (width == 4) ((uint32_t *)b->starts[k])[i] = (uint32_t)u;
            else b->starts[k][i] = u;
        }
        for (size_t i = DRAWN; i < b->threads; i += DRAWN) /* the same again */
            memcpy((char *)b->starts[k] + width * i, b->starts[k],
                   width * (b->threads - i < DRAWN ? b->threads - i : DRAWN));
        cj_copy_to_device(b->s, k ? b->y : b->x, b->starts[k], width * b->threads);
    }
    math_sync(b, row->t->name);
}

static uint64_t step_of(const math_row *row, bool second, int distribution, uint32_t n)
{
    const int bits = row->type == CJ_F32 ? 0 : 29;
    const uint64_t all = (UINT64_C(1) << ((distribution == BRANCH ? 14 : 21) + bits)) / n;
    if (distribution == PATTERNS) {
        const uint64_t odd = second ? UINT64_C(0xd1342543de82ef95) : UINT64_C(0x9e3779b97f4a7c15);
        return row->type == CJ_F32 ? odd >> 32 | 1 : odd;
    }
    return second && row->t->kind == FUNCTION_INT ? 0 : all | 1;
}

/* -- Launches ------------------------------------------------------------------------------------------------------ */

static void launch_loop(math_bench *b, const math_row *row, const math_side *side, int distribution, uint32_t n)
{
    const uint64_t step_x = step_of(row, false, distribution, n), step_y = step_of(row, true, distribution, n);
    const cj_dims dims = cj_grid(b->threads / BLOCK, BLOCK);
    if (row->type == CJ_F32)
        cj_launch(b->s, side->loop, dims, b->x, b->y, b->sums, n, (uint32_t)step_x, (uint32_t)step_y);
    else cj_launch(b->s, side->loop, dims, b->x, b->y, b->sums, n, step_x, step_y);
}

static double clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The CPU device's events are no clock. */
static double measured_ms(math_bench *b, const math_row *row, const math_side *side, int distribution, uint32_t n)
{
    float ms = 0;
    const double start = clock_ms();
    if (b->gpu) cj_event_record(b->from, b->s);
    launch_loop(b, row, side, distribution, n);
    if (b->gpu) cj_event_record(b->to, b->s);
    math_sync(b, row->t->name);
    if (!b->gpu) return clock_ms() - start;
    if (!b->failed && cj_event_elapsed(b->from, b->to, &ms)) math_fail(b, row->t->name, cj_error_of(b->to)->message);
    return ms;
}

/* -- The loop has the function in it ------------------------------------------------------------------------------- */

static uint32_t sum_of_words(const void *words, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += ((const uint32_t *)words)[i];
    return sum;
}

/* What the first threads add up in some turns is the sum of what the kernel `values` stores for the same operands. */
static void compare_sums(math_bench *b, const math_row *row, int k, int distribution)
{
    enum { ALL = CHECKED * CHECKED_TURNS };
    static uint64_t operands[2][ALL], results[2][ALL];
    uint32_t sums[CHECKED];
    const math_side *side = &row->sides[k];
    const size_t width = row->type == CJ_F32 ? 4 : 8;
    launch_loop(b, row, side, distribution, CHECKED_TURNS);
    cj_copy_to_host(b->s, sums, b->sums, sizeof sums);
    for (int second = 0; second < 2; second++) {
        const uint64_t step = step_of(row, second, distribution, CHECKED_TURNS);
        for (size_t i = 0; i < ALL; i++) {
            const size_t t = i / CHECKED_TURNS;
            uint64_t u = width == 4 ? ((uint32_t *)b->starts[second])[t] : b->starts[second][t];
            u += step * (i % CHECKED_TURNS);
            memcpy((char *)operands[second] + width * i, &u, width);
        }
        cj_copy_to_device(b->s, second ? b->y : b->x, operands[second], width * ALL);
    }
    cj_launch(b->s, side->values, cj_grid(ALL / BLOCK, BLOCK), (uint32_t)ALL, b->x, b->y, b->r[0], b->r[1]);
    for (unsigned q = 0; q < function_results(row->t); q++)
        cj_copy_to_host(b->s, results[q], b->r[q], width * ALL);
    math_sync(b, row->t->name);
    for (size_t t = 0; t < CHECKED && !b->failed; t++) {
        uint32_t want = 0;
        for (unsigned q = 0; q < function_results(row->t); q++)
            want += sum_of_words((char *)results[q] + width * CHECKED_TURNS * t, width / 4 * CHECKED_TURNS);
        if (want != sums[t])
            math_fail(b, row->t->name, k ? "the loop of CUDA's does not add up what it computes"
                                         : "the loop does not add up what the function computes");
    }
    cj_copy_to_device(b->s, b->x, b->starts[0], width * ALL);
    cj_copy_to_device(b->s, b->y, b->starts[1], width * ALL);
    math_sync(b, row->t->name);
}

/* -- The C library ------------------------------------------------------------------------------------------------- */

typedef struct host_function { const char *name; float (*single)(float); double (*wide)(double); } host_function;
static const host_function host_functions[] = {
#define HOST(name) { #name, name##f, name },
    HOST(exp) HOST(exp2) HOST(expm1) HOST(log) HOST(log2) HOST(log10) HOST(log1p) HOST(sin) HOST(cos) HOST(tan)
    HOST(asin) HOST(acos) HOST(atan) HOST(sinh) HOST(cosh) HOST(tanh) HOST(asinh) HOST(acosh) HOST(atanh) HOST(erf)
    HOST(erfc) HOST(lgamma) HOST(tgamma) HOST(cbrt) HOST(round) HOST(rint) HOST(logb)
#undef HOST
};

/* 10^9 results a second of one thread; 0: there is no such function. */
static double host_speed(const math_bench *b, const math_row *row)
{
    const host_function *h = NULL;
    volatile double kept;
    for (size_t i = 0; i < sizeof host_functions / sizeof *host_functions; i++)
        if (!strcmp(host_functions[i].name, row->t->name)) h = &host_functions[i];
    if (!h) return 0;
    const double start = clock_ms();
    double ms = 0, sum = 0, count = 0;
    while (ms < b->ms) {
        for (size_t i = 0; i < b->threads; i++) {
            float x;
            double wide;
            memcpy(&x, (uint32_t *)b->starts[0] + i, sizeof x);
            memcpy(&wide, row->type == CJ_F64 ? &b->starts[0][i] : &b->starts[0][0], sizeof wide);
            sum += row->type == CJ_F32 ? (double)h->single(x) : h->wide(wide);
        }
        count += b->threads;
        ms = clock_ms() - start;
    }
    kept = sum;
    (void)kept;
    return count / ms / 1e6;
}

/* -- Measurements -------------------------------------------------------------------------------------------------- */

static void report_line(const math_row *row, int distribution, const char *what, double value, const char *unit)
{
    printf("%s.%s.%s.%s %.4g %s\n", row->t->name, row->type == CJ_F32 ? "f32" : "f64",
           distribution_names[distribution], what, value, unit);
}

/* Those of one instruction: the loop around them is most of what is measured. */
static bool is_one_instruction(const math_row *row)
{
    static const char *const both[] = { "rint", "copysign" }, *const single[] = { "exp2", "rsqrt" };
    for (int i = 0; i < 2; i++)
        if (!strcmp(row->t->name, both[i]) || (row->type == CJ_F32 && !strcmp(row->t->name, single[i]))) return true;
    return false;
}

static void note_ratio(math_bench *b, const math_row *row, double ratio)
{
    if (!b->ratios++ || ratio < b->least) b->least = ratio;
    if (is_one_instruction(row)) return;
    b->log_sum += log(ratio);
    b->mean_count++;
}

static void measure_distribution(math_bench *b, const math_row *row, int distribution)
{
    enum { TRIED = 8 };
    const int sides = row->sides[1].mod ? 2 : 1;
    double rate[2][MOST_ROUNDS], slowest = 0;
    put_starts(b, row, distribution);
    for (int k = 0; k < sides && !b->failed; k++) {
        compare_sums(b, row, k, distribution);
        const double ms = measured_ms(b, row, &row->sides[k], distribution, TRIED);
        slowest = ms > slowest ? ms : slowest;
    }
    double wanted = TRIED * b->ms / (slowest > 1e-3 ? slowest : 1e-3) / 4;
    const uint32_t n = 4 * (wanted < 1 ? 1 : wanted > 100000 ? 100000 : (uint32_t)wanted);
    for (unsigned r = 0; r < b->rounds && !b->failed; r++)
        for (int half = 0; half < sides; half++) {
            const int k = sides == 2 ? half ^ (int)(r & 1) : 0;
            const double ms = measured_ms(b, row, &row->sides[k], distribution, n);
            rate[k][r] = (double)n * b->threads / ms / 1e6;
        }
    if (b->failed) return;
    const double ours = bench_median(rate[0], b->rounds), host = b->gpu ? 0 : host_speed(b, row);
    report_line(row, distribution, "ours", ours, "G/s");
    if (host > 0) report_line(row, distribution, "host", host, "G/s");
    if (sides == 2) {
        const double theirs = bench_median(rate[1], b->rounds);
        report_line(row, distribution, "cuda", theirs, "G/s");
        report_line(row, distribution, "ratio", ours / theirs, "ratio");
        note_ratio(b, row, ours / theirs);
    }
    fflush(stdout);
}

static bool judged_metric(math_bench *b, const char *name, double value)
{
    bench_limit limit;
    printf("%s %.4g ratio\n", name, value);
    if (!b->gpu) return true;
    return bench_limit_find("math", b->limits, name, &limit) && bench_limit_holds("math", name, &limit, value);
}

/* -- The bench ----------------------------------------------------------------------------------------------------- */

static void choose(math_bench *b)
{
    for (int type = 0; type < 2; type++)
        for (unsigned i = 0; i < math_function_count; i++) {
            bool named = !b->only_count;
            for (unsigned k = 0; k < b->only_count; k++) named |= !strcmp(b->only[k], math_functions[i].name);
            if (!named || (b->type && strcmp(b->type, type ? "f64" : "f32"))) continue;
            b->rows[b->row_count++] = (math_row){ .t = &math_functions[i], .type = type ? CJ_F64 : CJ_F32 };
        }
}

static void write_text(math_bench *b, const math_row *row)
{
    char path[1000];
    const char *text = NULL;
    cj_ptx *p = cj_ptx_create();
    function_loop(row->t, p, row->type, CJ_MATH_ACCURATE);
    snprintf(path, sizeof path, "%s/%s.%s.ptx", b->texts, row->t->name, row->type == CJ_F32 ? "f32" : "f64");
    FILE *f = fopen(path, "w");
    if (!f) math_fail(b, path, "it cannot be written");
    else if (cj_ptx_print(p, 0, &text, NULL)) math_fail(b, row->t->name, cj_error_of(p)->message);
    else if (fputs(text, f) < 0) math_fail(b, path, "it cannot be written");
    if (f && fclose(f) && !b->failed) math_fail(b, path, "it cannot be written");
    cj_ptx_free(p);
}

static void begin_math(math_bench *b)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    cj_device_info info;
    cj_device_info_defaults(&info);
    b->dev = cj_device_open(b->drv, 0, NULL);
    b->s = cj_stream_create(b->dev, NULL);
    if (cj_stream_sync(b->s)) {
        math_fail(b, "the device", cj_error_of(b->s)->message);
        return;
    }
    cj_device_get_info(b->dev, &info);
    /* On a GPU many waves of blocks: the last one is short. */
    b->threads = b->gpu ? (uint32_t)info.multiprocessors * 2048 * 8 : 1 << 10;
    b->from = cj_event_create(b->dev, CJ_EVENT(.timing = 1));
    b->to = cj_event_create(b->dev, CJ_EVENT(.timing = 1));
    const size_t bytes = 8 * (size_t)b->threads;
    cj_dptr *all[] = { &b->x, &b->y, &b->sums, &b->r[0], &b->r[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) *all[i] = cj_alloc(b->s, bytes);
    for (int k = 0; k < 2; k++) b->starts[k] = malloc(bytes);
    if (!b->starts[0] || !b->starts[1]) {
        math_fail(b, "the host", "no memory");
        return;
    }
    math_sync(b, "the device");
    choose(b);
    in_threads(cores > 0 ? (unsigned)cores : 1, b->row_count, load_row, b);
}

static void end_math(math_bench *b)
{
    const cj_dptr all[] = { b->x, b->y, b->sums, b->r[0], b->r[1] };
    for (unsigned i = 0; i < b->row_count; i++)
        for (int k = 0; k < 2; k++) {
            cj_kernel_free(b->rows[i].sides[k].loop);
            cj_kernel_free(b->rows[i].sides[k].values);
            cj_module_free(b->rows[i].sides[k].mod);
        }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cj_free(b->dev, all[i]);
    for (int k = 0; k < 2; k++) free(b->starts[k]);
    cj_event_free(b->from);
    cj_event_free(b->to);
    cj_stream_free(b->s);
    cj_device_close(b->dev);
    cj_driver_close(b->drv);
}

static bool take_words(math_bench *b, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[++i] : NULL;
        if (!value) return fprintf(stderr, "math: what is %s?\n", word), false;
        if (!strcmp(word, "-l")) b->limits = value;
        else if (!strcmp(word, "--peers")) b->peers = value;
        else if (!strcmp(word, "--type")) b->type = value;
        else if (!strcmp(word, "--texts")) b->texts = value;
        else if (!strcmp(word, "--ms")) b->ms = atof(value);
        else if (!strcmp(word, "--rounds")) b->rounds = (unsigned)atoi(value);
        else if (!strcmp(word, "--only") && b->only_count < 64) b->only[b->only_count++] = value;
        else return fprintf(stderr, "math: what is %s?\n", word), false;
    }
    return b->ms > 0 && b->rounds > 0 && b->rounds <= MOST_ROUNDS;
}

int main(int argc, char **argv)
{
    static math_bench b = { .limits = BENCH_LIMITS, .rounds = 9, .ms = 1 };
    bool held = true;
    if (!take_words(&b, argc, argv)) return 2;
    if (b.texts) {
        choose(&b);
        for (unsigned i = 0; i < b.row_count && !b.failed; i++) write_text(&b, &b.rows[i]);
        return b.failed;
    }
    b.drv = cj_driver_open(NULL);
    if (cj_error_of(b.drv)->status || !cj_device_count(b.drv)) {
        printf("math: skipped, there is no device: %s\n", cj_error_of(b.drv)->message);
        cj_driver_close(b.drv);
        return 0;
    }
    b.gpu = !strcmp(cj_driver_kind(b.drv), "cuda");
    if (!b.peers) printf("math: no --peers: CUDA's functions are skipped\n");
    const double start = clock_ms();
    begin_math(&b);
    if (!b.failed) {
        printf("device %s\n", cj_device_name(b.dev));
        fprintf(stderr, "math: %u functions loaded in %.1f s\n", b.row_count, (clock_ms() - start) / 1e3);
    }
    for (unsigned i = 0; i < b.row_count && !b.failed; i++)
        for (int k = 0; k < DISTRIBUTIONS && !b.failed; k++) measure_distribution(&b, &b.rows[i], k);
    if (!b.failed && b.ratios) {
        held &= judged_metric(&b, "math.least_ratio", b.least);
        if (b.mean_count) held &= judged_metric(&b, "math.mean_ratio", exp(b.log_sum / b.mean_count));
    }
    fprintf(stderr, "math: %.1f s\n", (clock_ms() - start) / 1e3);
    end_math(&b);
    return b.failed || !held;
}
