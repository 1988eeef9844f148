/* Passes of tests/math/check_math: one function's results for many operands, beside a reference. */
#include "tests/math/error_passes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/math/wanted.h"

enum { LIST_ROOM = 1 << 16, HARD_FIRST = 39, BLOCK = 256, SLICE = 1 << 12 };

static bool complain(const error_row *row, const void *object)
{
    fprintf(stderr, "check_math: %s: %s\n", row ? row->name : "the device", cj_error_of(object)->message);
    return false;
}

static size_t width_of(cj_type type) { return type == CJ_F32 ? 4 : 8; }

/* ---- The device ------------------------------------------------------------------------------------------------ */

static cj_kernel *judge_of(error_bench *b, cj_type type, error_unit unit)
{
    cj_kernel **k = &b->judges[type == CJ_F64][unit];
    if (*k) return *k;
    cj_ptx *p = cj_ptx_create();
    error_judge(p, type, unit);
    *k = cj_kernel_load(b->dev, p, "judge", NULL);
    if (!*k) complain(NULL, p);
    cj_ptx_free(p);
    return *k;
}

bool error_bench_open(error_bench *b, uint32_t chunk, unsigned threads)
{
    *b = (error_bench){ .chunk = chunk, .threads = threads };
    b->drv = cj_driver_open(NULL);
    b->dev = cj_device_open(b->drv, 0, NULL);
    b->s = cj_stream_create(b->dev, NULL);
    b->gpu = !strcmp(cj_driver_kind(b->drv), "cuda");
    if (!b->chunk) b->chunk = b->gpu ? 1u << 25 : 1u << 15;
    if (b->chunk < 1u << 13) b->chunk = 1u << 13; /* all hard operands are one chunk */
    if (cj_stream_sync(b->s)) return complain(NULL, b->s);
    const size_t bytes = 8 * (size_t)b->chunk;
    cj_dptr *all[] = { &b->x, &b->y, &b->r[0], &b->r[1], &b->w[0], &b->w[1], &b->low[0], &b->low[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) *all[i] = cj_alloc(b->s, bytes);
    b->found = cj_alloc(b->s, sizeof(uint64_t) * JUDGED_WORDS * 2 * ERROR_RESULTS);
    b->again = cj_alloc(b->s, sizeof(uint64_t) * JUDGED_WORDS);
    b->list = cj_alloc(b->s, sizeof(uint64_t) * LIST_WORDS * LIST_ROOM);
    b->host_x = malloc(bytes);
    b->host_y = malloc(bytes);
    for (int q = 0; q < 2; q++) {
        b->host_w[q] = malloc(bytes);
        b->host_low[q] = malloc(bytes);
    }
    for (int q = 0; q < 2; q++)
        if (!b->host_w[q] || !b->host_low[q]) return fprintf(stderr, "check_math: no memory\n"), false;
    cj_fill8(b->s, b->y, 0, bytes);
    return !cj_stream_sync(b->s) || complain(NULL, b->s);
}

void error_bench_close(error_bench *b)
{
    const cj_dptr all[] = { b->x, b->y, b->r[0], b->r[1], b->w[0], b->w[1], b->low[0], b->low[1], b->found, b->again,
                            b->list };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cj_free(b->dev, all[i]);
    for (int k = 0; k < 8; k++) cj_kernel_free(b->judges[k / 4][k % 4]);
    for (int q = 0; q < 2; q++) {
        free(b->host_w[q]);
        free(b->host_low[q]);
    }
    free(b->host_x);
    free(b->host_y);
    cj_stream_free(b->s);
    cj_device_close(b->dev);
    cj_driver_close(b->drv);
}

bool error_row_load(error_bench *b, error_row *row, const char *folder)
{
    cj_ptx *p = cj_ptx_create();
    function_values(row->t, p, row->type, row->accuracy);
    error_arguments(p, row->t, row->type);
    row->ours = cj_module_load(b->dev, p, NULL);
    if (!row->ours) complain(row, p);
    cj_ptx_free(p);
    char *text = folder ? function_peer(folder, row->t, row->type) : NULL;
    if (text) {
        row->peer = cj_module_load_text(b->dev, text, NULL);
        if (!row->peer) fprintf(stderr, "check_math: %s: CUDA's: %s\n", row->name, cj_error_last()->message);
    }
    const bool done = row->ours && (!text || row->peer);
    free(text);
    return done;
}

/* ---- References on the host ------------------------------------------------------------------------------------ */

typedef struct slice {
    const error_bench *b;
    const error_row *row;
    size_t count;
    wanted_f32_of *single;
    wanted_f64_of *wide;
} slice;

static double number_at(const error_row *row, const void *words, size_t i, bool whole)
{
    if (row->type == CJ_F32) return whole ? ((const int32_t *)words)[i] : (double)((const float *)words)[i];
    return whole ? (double)(int32_t)((const int64_t *)words)[i] : ((const double *)words)[i];
}

static void compute_slice(void *p, unsigned k)
{
    const slice *c = p;
    const size_t from = SLICE * (size_t)k, to = c->count - from < SLICE ? c->count : from + SLICE;
    const bool two = function_has_two(c->row->t), whole = c->row->t->kind == FUNCTION_INT;
    const unsigned results = function_results(c->row->t);
    for (size_t i = from; i < to; i++) {
        const double x = number_at(c->row, c->b->host_x, i, false);
        const double y = two ? number_at(c->row, c->b->host_y, i, whole) : 0;
        double single[2] = { 0 };
        long double wide[2] = { 0 };
        if (c->single) c->single(x, y, single);
        else c->wide(x, y, wide);
        for (unsigned q = 0; q < results; q++) {
            const double high = c->single ? single[q] : (double)wide[q];
            c->b->host_w[q][i] = high;
            c->b->host_low[q][i] = c->single || !isfinite(high) ? 0 : (double)(wide[q] - high);
        }
    }
}

static bool wanted_by_host(error_bench *b, const error_row *row, size_t n)
{
    const size_t bytes = width_of(row->type) * n;
    char name[60];
    slice c = { .b = b, .row = row, .count = n };
    snprintf(name, sizeof name, "%s%s", row->t->name, row->accuracy == CJ_MATH_ROUNDED ? "_rounded" : "");
    if (row->type == CJ_F32) c.single = wanted_f32(name);
    else c.wide = wanted_f64(name);
    if (!c.single && !c.wide) return fprintf(stderr, "check_math: %s has no reference\n", name), false;
    cj_copy_to_host(b->s, b->host_x, b->x, bytes);
    if (function_has_two(row->t)) cj_copy_to_host(b->s, b->host_y, b->y, bytes);
    if (cj_stream_sync(b->s)) return complain(row, b->s);
    in_threads(b->threads, (unsigned)((n + SLICE - 1) / SLICE), compute_slice, &c);
    for (unsigned q = 0; q < function_results(row->t); q++) {
        cj_copy_to_device(b->s, b->w[q], b->host_w[q], 8 * n);
        if (c.wide) cj_copy_to_device(b->s, b->low[q], b->host_low[q], 8 * n);
    }
    return !cj_stream_sync(b->s) || complain(row, b->s);
}

/* ---- Judging --------------------------------------------------------------------------------------------------- */

typedef struct passing {
    error_bench *b;
    const error_row *row;
    error_reference reference;
    cj_kernel *arguments, *values, *peer_values, *peer_wants;
    double threshold[ERROR_RESULTS];
    uint64_t first, stride;
    uint32_t n;
    error_found *found;
} passing;

static cj_dims threads_for(uint32_t n) { return cj_grid((n + BLOCK - 1) / BLOCK, BLOCK); }

static cj_dptr words_of(const error_bench *b, unsigned q, bool cuda)
{
    return cj_offset(b->found, (int64_t)(sizeof(uint64_t) * JUDGED_WORDS * (2 * q + cuda)));
}

static void judge_chunk(passing *c, unsigned q, cj_dptr found, double threshold)
{
    error_bench *b = c->b;
    const error_row *row = c->row;
    const judged_part *part = &row->part;
    const error_unit unit = function_is_whole(row->t, q) ? ERROR_EQUAL : row->unit;
    const bool low = c->reference == REFERENCE_HOST && row->type == CJ_F64;
    const uint32_t blocks = (c->n + BLOCK - 1) / BLOCK, most_blocks = b->gpu ? 132 * 8 : 64;
    cj_launch(b->s, judge_of(b, row->type, unit), cj_grid(blocks < most_blocks ? blocks : most_blocks, BLOCK), c->n,
              c->first, b->x, b->y, b->r[q], b->w[q], low ? b->low[q] : (cj_dptr){ 0 }, found, b->list,
              (uint64_t)LIST_ROOM, threshold, part->from, part->to, part->but_from, part->but_to, part->most_y,
              part->least_wanted, part->negative);
}

static int by_error(const void *a, const void *b)
{
    const error_point *p = a, *q = b;
    if (p->error != q->error) return p->error < q->error ? 1 : -1;
    return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->y > q->y) - (p->y < q->y);
}

/* The list of `count` points goes to the worst ones, of which the least is the next threshold. */
static bool merge_list(passing *c, unsigned q, size_t count)
{
    error_found *r = &c->found[q];
    if (!count) return true;
    error_point *all = malloc((count + WORST_POINTS) * sizeof *all);
    if (!all) return fprintf(stderr, "check_math: no memory\n"), false;
    _Static_assert(sizeof(error_point) == sizeof(uint64_t) * LIST_WORDS, "as the judge stores them");
    cj_copy_to_host(c->b->s, all, c->b->list, count * sizeof *all);
    const bool done = !cj_stream_sync(c->b->s) || complain(c->row, c->b->s);
    memcpy(all + count, r->worst, r->worst_count * sizeof *all);
    count += r->worst_count;
    qsort(all, count, sizeof *all, by_error);
    r->worst_count = count < WORST_POINTS ? (unsigned)count : WORST_POINTS;
    memcpy(r->worst, all, r->worst_count * sizeof *all);
    if (r->worst_count == WORST_POINTS) c->threshold[q] = r->worst[WORST_POINTS - 1].error;
    free(all);
    return done;
}

/* How many points have an error above the threshold; the list has them, as far as there is room. */
static bool listed_above(passing *c, unsigned q, double threshold, uint64_t *count)
{
    uint64_t words[JUDGED_WORDS];
    cj_fill64(c->b->s, c->b->again, 0, JUDGED_WORDS);
    judge_chunk(c, q, c->b->again, threshold);
    cj_copy_to_host(c->b->s, words, c->b->again, sizeof words);
    *count = words[JUDGED_LISTED];
    if (cj_stream_sync(c->b->s)) return complain(c->row, c->b->s);
    *count = words[JUDGED_LISTED];
    return true;
}

/* More points than there is room for: by halves, the threshold of which at least the worst ones are above.  Where many
 * have the same error, those that the list has are as bad as any. */
static bool shorten_list(passing *c, unsigned q, double greatest, uint64_t *count)
{
    double below = c->threshold[q], above = greatest;
    for (int i = 0; i < 24 && *count > LIST_ROOM; i++) {
        const double middle = below + (above - below) / 2;
        if (!listed_above(c, q, middle, count)) return false;
        if (*count > LIST_ROOM) below = middle;
        else if (*count < WORST_POINTS) {
            above = middle;
            *count = LIST_ROOM + 1;
        }
    }
    if (*count > LIST_ROOM && !listed_above(c, q, below, count)) return false;
    if (*count > LIST_ROOM) *count = LIST_ROOM;
    return true;
}

static double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool judge_ours(passing *c, unsigned q)
{
    error_bench *b = c->b;
    const cj_dptr found = words_of(b, q, false);
    uint64_t *words = c->found[q].words;
    cj_fill64(b->s, cj_offset(found, 8 * JUDGED_LISTED), 0, 1);
    judge_chunk(c, q, found, c->threshold[q]);
    cj_copy_to_host(b->s, words, found, sizeof c->found[q].words);
    if (cj_stream_sync(b->s)) return complain(c->row, b->s);
    uint64_t count = words[JUDGED_LISTED];
    if (count > LIST_ROOM && !shorten_list(c, q, double_of(words[JUDGED_REAL]), &count)) return false;
    return merge_list(c, q, count);
}

/* Operands are in x and y: results, what is wanted, and the judge. */
static bool compute_chunk(passing *c)
{
    error_bench *b = c->b;
    const error_row *row = c->row;
    const cj_dims dims = threads_for(c->n);
    cj_launch(b->s, c->values, dims, c->n, b->x, b->y, b->r[0], b->r[1]);
    if (c->reference == REFERENCE_CUDA)
        cj_launch(b->s, row->type == CJ_F32 ? c->peer_wants : c->peer_values, dims, c->n, b->x, b->y, b->w[0], b->w[1]);
    else if (!wanted_by_host(b, row, c->n)) return false;
    for (unsigned q = 0; q < function_results(row->t); q++) {
        /* CUDA's whole results of f64 are whole numbers, not doubles */
        if (c->reference == REFERENCE_CUDA && row->type == CJ_F64 && function_is_whole(row->t, q)) continue;
        if (!judge_ours(c, q)) return false;
    }
    if (!c->found->has_cuda) return true;
    cj_launch(b->s, c->peer_values, dims, c->n, b->x, b->y, b->r[0], b->r[1]);
    for (unsigned q = 0; q < function_results(row->t); q++)
        if (!function_is_whole(row->t, q)) judge_chunk(c, q, words_of(b, q, true), INFINITY);
    return !cj_stream_sync(b->s) || complain(row, b->s);
}

/* ---- Hard operands: each alone, or each with each ---------------------------------------------------------------- */

static const uint32_t hard_f32[] = {
    0, 1, 2, 3, 0x7fffff, 0x800000, 0x3f800000, 0x3f7fffff, 0x3f800001, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x40000000,
    0x3f000000, 0x3effffff, 0x3fc00000, 0x40400000, 0x40200000, 0x4b000000, 0x4b000001, 0x4afffffe, 0x4b800000,
    0x4b800001, 0x3e800000, 0x40a00000, 0x7e000000, 0x00400000, 0x42b0c0a5, 0x478b9f08, 0x478b9f09, 0x7f000000,
    0x5f000000, 0x2f000000, 0x49800000, 0x46199998, 0x5f18b878, 0x6115cb11, 0x3c413d3a, 0x41178feb, 0x4c5d65a5,
    0x65d890d3, 0x6f31a8ec
};
static const uint64_t hard_f64[] = {
    0, 1, 2, 0xfffffffffffffu, 0x10000000000000u, 0x3ff0000000000000u, 0x3fefffffffffffffu, 0x3ff0000000000001u,
    0x7fefffffffffffffu, 0x7ff0000000000000u, 0x7ff8000000000000u, 0x4000000000000000u, 0x3fe0000000000000u,
    0x3fdfffffffffffffu, 0x4008000000000000u, 0x3ff8000000000000u, 0x4004000000000000u, 0x4330000000000000u,
    0x4330000000000001u, 0x432ffffffffffffeu, 0x4340000000000000u, 0x4350000000000000u, 0x4340000000000001u,
    0x3fd0000000000000u, 0x4086232bdd7abcd2u, 0x40862e42fefa39efu, 0x40862e42fefa39f0u, 0x7506ac5b262ca1ffu,
    0x3ff921fb54442d18u, 0x400921fb54442d18u, 0x41d921fb54442d18u, 0x41e0000000000000u, 0x41e0000000000001u,
    0x6ce6ac5b262ca1ffu, 0x4024000000000000u, 0x7fe0000000000000u, 0x5fe0000000000000u, 0x1fe0000000000000u
};
static const int32_t hard_int[] = {
    0, 1, -1, 2, -2, 3, 149, -149, 150, 126, 127, 128, -126, -127, 277, 278, -277, -278, 1000, INT32_MAX, INT32_MIN,
    INT32_MAX - 1, INT32_MIN + 1, 0x1000001, -0x1000001, 255, 1023, 1024, -1022, -1023, -1074, -1075, 2098, -2098, 52,
    53, -53, 216, 217, -216, -217, -218, 7, -7
};

static uint64_t hard_bits(cj_type type, size_t i)
{
    return type == CJ_F32 ? hard_f32[i / 2] | (uint32_t)(i & 1) << 31 : hard_f64[i / 2] | (uint64_t)(i & 1) << 63;
}

static void put_word(void *words, cj_type type, size_t i, uint64_t u)
{
    if (type == CJ_F32) ((uint32_t *)words)[i] = (uint32_t)u;
    else ((uint64_t *)words)[i] = u;
}

static uint32_t hard_operands(error_bench *b, const error_row *row)
{
    const bool two = function_has_two(row->t), whole = row->t->kind == FUNCTION_INT;
    const size_t numbers = 2 * (row->type == CJ_F32 ? sizeof hard_f32 / 4 : sizeof hard_f64 / 8);
    const size_t others = !two ? 1 : whole ? sizeof hard_int / sizeof *hard_int : numbers;
    for (size_t i = 0; i < numbers * others; i++) {
        put_word(b->host_x, row->type, i, hard_bits(row->type, i % numbers));
        const size_t k = i / numbers;
        put_word(b->host_y, row->type, i, whole ? (uint32_t)hard_int[k] : two ? hard_bits(row->type, k) : 0);
    }
    return (uint32_t)(numbers * others);
}

/* ---- A pass ---------------------------------------------------------------------------------------------------- */

static void make_operands(passing *c)
{
    cj_launch(c->b->s, c->arguments, threads_for(c->n), c->n, c->first, c->stride, c->b->x, c->b->y);
}

static bool hard_chunk(passing *c)
{
    const size_t bytes = width_of(c->row->type);
    c->first = UINT64_C(1) << HARD_FIRST;
    c->n = hard_operands(c->b, c->row);
    cj_copy_to_device(c->b->s, c->b->x, c->b->host_x, bytes * c->n);
    cj_copy_to_device(c->b->s, c->b->y, c->b->host_y, bytes * c->n);
    return compute_chunk(c);
}

/* The operands of a number. */
static bool operands_at(passing *c, uint64_t number, error_point *out)
{
    const size_t bytes = width_of(c->row->type);
    *out = (error_point){ 0 };
    if (number >> HARD_FIRST & 1) {
        const uint64_t i = number & ((UINT64_C(1) << HARD_FIRST) - 1);
        hard_operands(c->b, c->row);
        memcpy(&out->x, (char *)c->b->host_x + bytes * i, bytes);
        memcpy(&out->y, (char *)c->b->host_y + bytes * i, bytes);
        return true;
    }
    c->first = number;
    c->n = 1;
    make_operands(c);
    cj_copy_to_host(c->b->s, &out->x, c->b->x, bytes);
    if (function_has_two(c->row->t)) cj_copy_to_host(c->b->s, &out->y, c->b->y, bytes);
    return !cj_stream_sync(c->b->s) || complain(c->row, c->b->s);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool all_chunks(passing *c, uint64_t first, uint64_t values)
{
    double told = seconds();
    for (uint64_t at = 0; at < values; at += c->n) {
        c->first = first + at;
        c->n = values - at < c->b->chunk ? (uint32_t)(values - at) : c->b->chunk;
        make_operands(c);
        if (!compute_chunk(c)) return false;
        const double now = seconds();
        if (c->b->quiet || now - told < 10) continue;
        fprintf(stderr, "check_math: %s: %.1f%%\n", c->row->name, 100 * (double)(at + c->n) / (double)values);
        told = now;
    }
    return true;
}

bool error_pass(error_bench *b, const error_row *row, error_reference reference, uint64_t first, uint64_t values,
                error_found *found)
{
    const unsigned results = function_results(row->t);
    passing c = { .b = b, .row = row, .reference = reference, .found = found, .stride = 1 };
    for (unsigned q = 0; q < results; q++) found[q] = (error_found){ .has_cuda = false };
    c.arguments = cj_module_kernel(row->ours, "arguments");
    c.values = cj_module_kernel(row->ours, "values");
    if (row->peer && strcmp(row->t->cuda, "NONE")) c.peer_values = cj_module_kernel(row->peer, "values");
    if (row->peer && row->type == CJ_F32) c.peer_wants = cj_module_kernel(row->peer, "wants");
    for (unsigned q = 0; q < results; q++)
        found[q].has_cuda = c.peer_values && row->accuracy == CJ_MATH_ACCURATE &&
                            (row->type == CJ_F32 || reference == REFERENCE_HOST);
    /* All that there are, or those from the first on; else as many at equal distances, which have all exponents. */
    if (row->type == CJ_F32 && !function_has_two(row->t) && !first && values < UINT64_C(1) << 32)
        c.stride = ((UINT64_C(1) << 32) / values) | 1;
    cj_fill64(b->s, b->found, 0, (size_t)JUDGED_WORDS * 2 * ERROR_RESULTS);
    bool done = c.arguments && c.values && hard_chunk(&c) && all_chunks(&c, first, values);
    for (unsigned q = 0; q < results && done; q++) {
        error_found *r = &found[q];
        const uint64_t number = r->words[JUDGED_GREATEST] & ((UINT64_C(1) << JUDGED_INDEX_BITS) - 1);
        if (r->words[JUDGED_GREATEST]) done = operands_at(&c, number, &r->at);
        else if (r->worst_count && row->unit != ERROR_ULP) r->at = r->worst[0];
        if (done && r->words[JUDGED_WRONG]) done = operands_at(&c, r->words[JUDGED_WRONG_AT] - 1, &r->wrong_at);
        cj_copy_to_host(b->s, r->cuda, words_of(b, q, true), sizeof r->cuda);
        done = done && !cj_stream_sync(b->s);
    }
    cj_kernel *const kernels[] = { c.arguments, c.values, c.peer_values, c.peer_wants };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) cj_kernel_free(kernels[i]);
    return done;
}
