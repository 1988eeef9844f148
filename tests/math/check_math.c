/* The greatest errors of the functions of math.h: f32 functions of one operand over all 2^32 values, the others over
 * random and hard operands.  Every result is compared with a reference that is not made with this library, on the
 * device; the worst points go to a file, which judge_mpfr.py judges again.
 *
 * usage: check_math [--peers FOLDER] [--only NAME]... [--type f32|f64] [--form accurate|fast|rounded]
 *                   [--values N] [--first N] [--random N] [--host N] [--threads N] [--chunk N]
 *                   [--table FILE] [--points FILE] [--recorded FILE] [--quiet]
 *   --peers     CUDA's functions, made by bench/math_peers.sh.  f32 is compared with CUDA's functions of double on the
 *               device, and CUDA's own of f32 too; f64 with CUDA's, and fewer with the C library's long double.
 *               Without it the reference is the C library, double for f32 and long double for f64
 *   --values    of a f32 function of one operand, at equal distances (2^32: all)
 *   --first     the number of the first operand (0). Of f32 functions of one operand that is its bits, and each of the
 *               --values next ones is tried
 *   --random    of others (2^30)
 *   --host      of a f64 function beside long double, where there is also CUDA's (2^24)
 *   --table     a line for each result; the columns are explained in its first lines
 *   --points    the worst points: name type form result reference x y got, bits as hexadecimal numbers
 *   --recorded  such a table of the same device: an error above that in it is a failure, where it is of all operands
 *               that are tried
 *
 * The device is the one of CUJIT_DRIVER.  Exit status 1: a function is worse than its limit.  `make check-math` runs
 * it. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/math/error_lines.h"
#include "tests/math/error_passes.h"

typedef struct settings {
    const char *peers, *type, *form, *table, *points, *recorded, *only[64];
    unsigned only_count, threads;
    uint64_t first, values, random, host;
    uint32_t chunk;
    bool quiet;
} settings;

static const char *const form_names[] = { "accurate", "fast", "rounded" };
static const char *const unit_names[] = { "ulp", "abs", "rel", "equal" };

static const char *type_name(cj_type type) { return type == CJ_F32 ? "f32" : "f64"; }

static double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- The rows -------------------------------------------------------------------------------------------------- */

enum { MOST_ROWS = 256 };
static error_row rows[MOST_ROWS];
static unsigned row_count;

static const judged_part all_of_it = { -INFINITY, INFINITY, 1, 1, INFINITY, 0, 0 };

static const math_function *function_named(const char *name)
{
    for (unsigned i = 0; i < math_function_count; i++)
        if (!strcmp(math_functions[i].name, name)) return &math_functions[i];
    return NULL;
}

static error_row *add_row(const char *name, cj_type type, cj_math_accuracy accuracy)
{
    error_row *row = &rows[row_count++];
    *row = (error_row){ .t = function_named(name), .type = type, .accuracy = accuracy, .part = all_of_it };
    snprintf(row->name, sizeof row->name, "%s", name);
    row->bound = row->t->limit[type == CJ_F64];
    return row;
}

/* CUDA's table has no relative error for lgamma near its zeros: there the absolute one is judged. */
static void add_lgamma(cj_type type)
{
    const double from = type == CJ_F32 ? -10.001 : -10.0001, to = -2.264;
    error_row *row = add_row("lgamma", type, CJ_MATH_ACCURATE);
    row->part.but_from = from;
    row->part.but_to = to;
    if (type == CJ_F64) {
        row->part.negative = 1;
        row->part.least_wanted = 0x1p-6;
    }
    row = add_row("lgamma", type, CJ_MATH_ACCURATE);
    snprintf(row->name, sizeof row->name, "lgamma_near_zeros");
    row->part.from = from;
    row->part.to = to;
    row->unit = ERROR_ABSOLUTE;
    row->bound = -1; /* CUDA's own error */
}

static void add_all_rows(void)
{
    for (int type = 0; type < 2; type++)
        for (unsigned i = 0; i < math_function_count; i++) {
            const math_function *t = &math_functions[i];
            const cj_type of = type ? CJ_F64 : CJ_F32;
            if (!strcmp(t->name, "lgamma")) {
                add_lgamma(of);
                continue;
            }
            error_row *row = add_row(t->name, of, CJ_MATH_ACCURATE);
            if (!(t->how & ARGUMENTS_ABSOLUTE)) continue;
            row->unit = ERROR_ABSOLUTE;
            row->bound = type ? 0x1p-51 : 0x1p-22;
        }
    error_row *row;
#define F(...)
#define ABS ERROR_ABSOLUTE
#define REL ERROR_RELATIVE
#define FAST(name, unit_, from_, to_, most)           \
    row = add_row(#name, CJ_F32, CJ_MATH_FAST);       \
    row->unit = unit_;                                \
    row->part.from = from_;                           \
    row->part.to = to_;                               \
    row->bound = -1;
#define ROUNDED(name)                                 \
    row = add_row(#name, CJ_F32, CJ_MATH_ROUNDED);    \
    row->bound = 0;
#include "tests/math/math_functions.def"
    for (unsigned i = 0; i < row_count; i++) {
        if (rows[i].accuracy != CJ_MATH_FAST || strcmp(rows[i].name, "pow")) continue;
        rows[i].part.most_y = 10;
        rows[i].part.least_wanted = 0x1p-100;
    }
}

static bool is_chosen(const settings *o, const error_row *row)
{
    bool named = !o->only_count;
    for (unsigned i = 0; i < o->only_count; i++) named |= !strcmp(o->only[i], row->name);
    if (o->type && strcmp(o->type, type_name(row->type))) return false;
    return named && (!o->form || !strcmp(o->form, form_names[row->accuracy]));
}

static void choose_rows(const settings *o)
{
    unsigned n = 0;
    add_all_rows();
    for (unsigned i = 0; i < row_count; i++)
        if (is_chosen(o, &rows[i])) rows[n++] = rows[i];
    row_count = n;
}

/* ---- Loading, by several threads ------------------------------------------------------------------------------- */

typedef struct loading { error_bench *b; const char *folder; atomic_bool failed; } loading;

static void load_one(void *context, unsigned i)
{
    loading *l = context;
    if (!error_row_load(l->b, &rows[i], l->folder)) l->failed = true;
}

static bool load_rows(error_bench *b, const char *folder)
{
    loading l = { .b = b, .folder = folder };
    in_threads(b->threads, row_count, load_one, &l);
    return !l.failed;
}

/* ---- Reports --------------------------------------------------------------------------------------------------- */

typedef struct report {
    const error_row *row;
    unsigned result;
    const char *device, *reference;
    uint64_t values;
    const error_found *found;
    bool opinion;          /* the reference has errors of its own: the distance of two results is no error */
} report;

static double as_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double operand(const error_row *row, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, sizeof x);
    return row->type == CJ_F32 ? (double)x : as_double(bits);
}

static void print_operands(const error_row *row, const error_point *at, char *text, size_t size)
{
    const double x = operand(row, at->x);
    if (row->t->kind == FUNCTION_INT) snprintf(text, size, "%a,%d", x, (int)(uint32_t)at->y);
    else if (function_has_two(row->t)) snprintf(text, size, "%a,%a", x, operand(row, at->y));
    else snprintf(text, size, "%a", x);
}

static error_unit unit_of(const report *r)
{
    return function_is_whole(r->row->t, r->result) ? ERROR_EQUAL : r->row->unit;
}

static double greatest_of(error_unit unit, const uint64_t *words)
{
    if (unit == ERROR_EQUAL) return (double)words[JUDGED_WRONG];
    return unit == ERROR_ULP ? (double)(words[JUDGED_GREATEST] >> JUDGED_INDEX_BITS) : as_double(words[JUDGED_REAL]);
}

static void number_text(error_unit unit, const uint64_t *words, char *text, size_t size)
{
    snprintf(text, size, unit == ERROR_ULP || unit == ERROR_EQUAL ? "%.0f" : "%.3e", greatest_of(unit, words));
}

static void print_line(const report *r, FILE *out)
{
    char at[100], greatest[40], cuda[40], count[40];
    const error_unit unit = unit_of(r);
    const bool off = greatest_of(unit, r->found->words) > 0 && unit != ERROR_EQUAL;
    number_text(unit, r->found->words, greatest, sizeof greatest);
    number_text(unit, r->found->cuda, cuda, sizeof cuda);
    snprintf(count, sizeof count, "%llu", (unsigned long long)r->found->words[JUDGED_NOT_NEAREST]);
    if (off) print_operands(r->row, &r->found->at, at, sizeof at);
    error_line_print(out, &(error_line){
        .function = r->row->name, .type = type_name(r->row->type), .form = form_names[r->row->accuracy],
        .result = r->result, .device = r->device, .reference = r->reference, .values = r->values,
        .unit = unit_names[unit], .greatest = greatest, .at = off ? at : NULL,
        .not_nearest = unit == ERROR_ULP ? count : NULL, .wrong = r->found->words[JUDGED_WRONG],
        .cuda = r->found->has_cuda && unit != ERROR_EQUAL ? cuda : NULL });
}

static void print_points(const report *r, FILE *out)
{
    if (unit_of(r) == ERROR_EQUAL) return;
    for (unsigned i = 0; i < r->found->worst_count; i++) {
        const error_point *p = &r->found->worst[i];
        fprintf(out, "%s %s %s %u %s %llx %llx %llx\n", r->row->name, type_name(r->row->type),
                form_names[r->row->accuracy], r->result, r->reference, (unsigned long long)p->x,
                (unsigned long long)p->y, (unsigned long long)p->got);
    }
}

/* Whether the recorded operands have all of this pass among them.  Single ones of f32 lie at equal distances. */
static bool is_covered(const settings *o, const report *r, uint64_t recorded)
{
    const bool spread = r->row->type == CJ_F32 && !function_has_two(r->row->t);
    if (o->first && !spread) return false;
    return recorded == r->values || (spread ? recorded == UINT64_C(1) << 32 : recorded > r->values);
}

/* The greatest error of the same line of a recorded table; below 0: it has none, or one of other operands. */
static double recorded_of(const settings *o, const report *r)
{
    char line[500], name[60], type[8], form[20], device[60], reference[40], unit[10];
    unsigned result;
    unsigned long long values;
    double greatest, found = -1;
    FILE *f = fopen(o->recorded, "r");
    while (f && fgets(line, sizeof line, f))
        if (*line != '#' && sscanf(line, "%59s %7s %19s %u %59s %39s %llu %9s %lf", name, type, form, &result, device,
                                   reference, &values, unit, &greatest) == 9 &&
            !strcmp(name, r->row->name) && !strcmp(type, type_name(r->row->type)) &&
            !strcmp(form, form_names[r->row->accuracy]) && result == r->result && !strcmp(device, r->device) &&
            !strcmp(reference, r->reference) && is_covered(o, r, values))
            found = greatest;
    if (f) fclose(f);
    return found;
}

static bool is_within(const settings *o, const report *r)
{
    const error_unit unit = unit_of(r);
    const double greatest = greatest_of(unit, r->found->words);
    double bound = unit == ERROR_EQUAL ? 0 : r->row->bound;
    char at[100];
    if (r->found->words[JUDGED_WRONG]) {
        print_operands(r->row, &r->found->wrong_at, at, sizeof at);
        fprintf(stderr, "check_math: %s: %llu special values are wrong, beside %s; one is at %s\n", r->row->name,
                (unsigned long long)r->found->words[JUDGED_WRONG], r->reference, at);
        return false;
    }
    if (r->opinion) return true;
    /* of a part of f32 the greatest errors are at other operands than those of all */
    const bool whole = r->row->type == CJ_F64 || r->values >> 32;
    if (bound < 0 && r->found->has_cuda && whole) bound = greatest_of(unit, r->found->cuda);
    const double recorded = o->recorded ? recorded_of(o, r) : -1;
    if (recorded >= 0 && (bound < 0 || recorded < bound)) bound = recorded;
    if (bound < 0 || greatest <= bound * (1 + 0x1p-10)) return true;
    /* The reference is rounded to double: near the middle of two floats it can be on the wrong side. */
    if (r->row->accuracy == CJ_MATH_ROUNDED && greatest == 1 && as_double(r->found->words[JUDGED_REAL]) < 0.5 + 0x1p-26)
        return true;
    fprintf(stderr, "check_math: %s: the greatest error is %g %s, the limit %g\n", r->row->name, greatest,
            unit_names[unit], bound);
    return false;
}

/* ---- The passes of a row --------------------------------------------------------------------------------------- */

typedef struct outputs { const char *device; FILE *table, *points; } outputs;

static bool pass_of_row(error_bench *b, const settings *o, const outputs *out, const error_row *row,
                        error_reference reference, uint64_t values)
{
    static error_found found[ERROR_RESULTS];
    const double start = clock_now();
    if (!error_pass(b, row, reference, o->first, values, found)) return false;
    bool within = true;
    for (unsigned q = 0; q < function_results(row->t); q++) {
        if (reference == REFERENCE_CUDA && row->type == CJ_F64 && function_is_whole(row->t, q)) continue;
        const report r = {
            .row = row, .result = q, .device = out->device, .values = values, .found = &found[q],
            .reference = reference == REFERENCE_CUDA ? "cuda-f64" : row->type == CJ_F32 ? "host-f64" : "host-long",
            .opinion = reference == REFERENCE_CUDA && row->type == CJ_F64
        };
        print_line(&r, stdout);
        if (out->table) print_line(&r, out->table);
        if (out->points) print_points(&r, out->points);
        within &= is_within(o, &r);
    }
    if (!o->quiet) fprintf(stderr, "check_math: %s: %.2f s\n", row->name, clock_now() - start);
    return within;
}

static bool passes_of_row(error_bench *b, const settings *o, const outputs *out, const error_row *row)
{
    const bool single = row->type == CJ_F32;
    const bool cuda = row->peer && (single || strcmp(row->t->cuda, "NONE"));
    const uint64_t values = single && !function_has_two(row->t) ? o->values : o->random;
    const bool judged = row->unit == ERROR_ULP; /* an absolute error needs a better reference than f64 */
    bool within = true;
    if (cuda && (single || judged)) within = pass_of_row(b, o, out, row, REFERENCE_CUDA, values);
    if (single && cuda) return within;
    return pass_of_row(b, o, out, row, REFERENCE_HOST, o->peers && !single ? o->host : values) && within;
}

/* ---- Arguments ------------------------------------------------------------------------------------------------- */

static bool take(settings *o, const char *name, const char *value)
{
    const uint64_t n = strtoull(value, NULL, 0);
    if (!strcmp(name, "--peers")) o->peers = value;
    else if (!strcmp(name, "--type")) o->type = value;
    else if (!strcmp(name, "--form")) o->form = value;
    else if (!strcmp(name, "--table")) o->table = value;
    else if (!strcmp(name, "--points")) o->points = value;
    else if (!strcmp(name, "--recorded")) o->recorded = value;
    else if (!strcmp(name, "--only") && o->only_count < 64) o->only[o->only_count++] = value;
    else if (!strcmp(name, "--values")) o->values = n;
    else if (!strcmp(name, "--first")) o->first = n;
    else if (!strcmp(name, "--random")) o->random = n;
    else if (!strcmp(name, "--host")) o->host = n;
    else if (!strcmp(name, "--threads")) o->threads = (unsigned)n;
    else if (!strcmp(name, "--chunk")) o->chunk = (uint32_t)n;
    else return false;
    return true;
}

static bool settings_from(settings *o, int argc, char **argv)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *o = (settings){ .values = UINT64_C(1) << 32, .random = UINT64_C(1) << 30, .host = UINT64_C(1) << 24,
                     .threads = cores > 0 ? (unsigned)cores : 1 };
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quiet")) o->quiet = true;
        else if (i + 1 < argc && take(o, argv[i], argv[i + 1])) i++;
        else return fprintf(stderr, "check_math: what is %s?\n", argv[i]), false;
    }
    return o->values && o->random && o->host && o->threads;
}

static FILE *opened(const char *path, bool *failed)
{
    FILE *f = path ? fopen(path, "w") : NULL;
    if (path && !f) fprintf(stderr, "check_math: %s cannot be written\n", path);
    *failed |= path && !f;
    return f;
}

int main(int argc, char **argv)
{
    settings o;
    error_bench b;
    char device[100];
    bool failed = false;
    if (!settings_from(&o, argc, argv)) return 2;
    choose_rows(&o);
    if (!error_bench_open(&b, o.chunk, o.threads)) return 1;
    b.quiet = o.quiet;
    error_device_word(b.dev, device, sizeof device);
    const double start = clock_now();
    if (!o.peers) fprintf(stderr, "check_math: no --peers: what is compared with CUDA's functions is skipped\n");
    if (!load_rows(&b, o.peers)) return 1;
    fprintf(stderr, "check_math: %u kernels loaded in %.1f s\n", row_count, clock_now() - start);
    outputs out = { device, opened(o.table, &failed), opened(o.points, &failed) };
    if (out.table) error_lines_begin(out.table, b.drv, b.dev);
    for (unsigned i = 0; i < row_count; i++) failed |= !passes_of_row(&b, &o, &out, &rows[i]);
    fprintf(stderr, "check_math: %.1f s\n", clock_now() - start);
    if (out.table) fclose(out.table);
    if (out.points) fclose(out.points);
    for (unsigned i = 0; i < row_count; i++) {
        cj_module_free(rows[i].ours);
        cj_module_free(rows[i].peer);
    }
    error_bench_close(&b);
    return failed;
}
