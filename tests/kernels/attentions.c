/* Attention against plain C in double: every path and type, head dimensions from 1 to 128, token counts at each edge of
 * the tiles, causal or not, shared heads, sequences of different lengths, log-sum-exp; rows that see nothing, scores
 * that are not finite.  Outputs lie between guards and are NaN before.  With CUJIT_TEST_ALL=1 all shapes for each
 * object, else each shape for one object of each path. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 112 * 1024, SEQUENCES = 4, DIMS = 128, LSE_MOST = 8192 };
enum { Q, K, V, OUT, LSE, OPERANDS };

static kb_memory memory[OPERANDS], offsets[2];
static double *value[3];   /* what q, k and v hold */
static bool all_shapes;

/* How heads lie: side by side in a token; tokens side by side in a head; with gaps that are multiples of 16 bytes, and
 * with odd ones. */
typedef enum attn_layout { SIDE_BY_SIDE, BY_HEADS, WIDE_GAPS, ODD_GAPS, LAYOUT_KINDS } attn_layout;
static const char *const layout_names[] = { "dense", "by heads", "wide gaps", "odd gaps" };

typedef struct attn_shape {
    uint32_t batches, queries, keys, heads, kv_heads;
    attn_layout layout;
    int lengths;           /* bit 0: of the queries, bit 1: of the keys, are offsets */
    uint32_t each[2][SEQUENCES];
} attn_shape;

/* More tiles, and more pairs of tiles, than an H100 and the CPU device have multiprocessors.  The CPU device takes its
 * time for them. */
enum { MANY_HEADS = 136, MOST_HEADS = 272 };

static const attn_shape shapes[] = {
    { 1, 1, 1, 1, 1, SIDE_BY_SIDE, 0, { { 0 } } },
    { 1, 31, 33, 2, 2, ODD_GAPS, 0, { { 0 } } },
    { 2, 64, 64, 2, 1, BY_HEADS, 0, { { 0 } } },
    { 1, 65, 63, 1, 1, WIDE_GAPS, 0, { { 0 } } },
    { 1, 33, 32, 3, 1, SIDE_BY_SIDE, 0, { { 0 } } },
    { 3, 5, 130, 4, 2, BY_HEADS, 0, { { 0 } } },
    { 1, 130, 5, 2, 1, SIDE_BY_SIDE, 0, { { 0 } } },
    { 1, 1, 300, 8, 2, ODD_GAPS, 0, { { 0 } } },
    { 2, 7, 0, 1, 1, SIDE_BY_SIDE, 0, { { 0 } } },
    { 1, 129, 128, 1, 1, SIDE_BY_SIDE, 0, { { 0 } } },
    { 1, 140, 290, 2, 1, WIDE_GAPS, 0, { { 0 } } },
    { 4, 40, 70, 2, 1, SIDE_BY_SIDE, 3, { { 0, 5, 40, 1 }, { 7, 0, 33, 70 } } },
    { 3, 66, 20, 1, 1, WIDE_GAPS, 1, { { 1, 66, 0, 0 }, { 0 } } },
    { 2, 9, 97, 4, 4, ODD_GAPS, 2, { { 0 }, { 97, 96, 0, 0 } } },
    { 1, 3, 40, MANY_HEADS, 1, SIDE_BY_SIDE, 0, { { 0 } } },
    { 1, 3, 40, MOST_HEADS, 1, SIDE_BY_SIDE, 0, { { 0 } } },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Tokens of a sequence, and where its first one is. */
typedef struct attn_tokens { uint32_t first, count; } attn_tokens;

static attn_tokens tokens_in(const attn_shape *s, int keys, uint32_t b)
{
    attn_tokens t = { 0, keys ? s->keys : s->queries };
    if (!(s->lengths >> keys & 1)) return t;
    for (uint32_t i = 0; i < b; i++) t.first += s->each[keys][i];
    t.count = s->each[keys][b];
    return t;
}

/* What the launch gets, and the same with the defaults put in. */
static cj_heads heads_of(const attn_shape *s, int operand, uint32_t dim, cj_heads *real)
{
    bool kv = operand == K || operand == V;
    int64_t heads = kv ? s->kv_heads : s->heads, tokens = kv ? s->keys : s->queries, gap = 0;
    cj_heads h = { .data = memory[operand].data };
    if (operand == LSE) dim = 1;
    *real = (cj_heads){ h.data, heads * dim, dim, tokens * heads * dim };
    if (s->layout == SIDE_BY_SIDE) return h;
    if (s->layout == BY_HEADS && !(s->lengths >> kv & 1))
        *real = (cj_heads){ h.data, dim, tokens * dim, heads * tokens * dim };
    if (s->layout == WIDE_GAPS) gap = 8;
    if (s->layout == ODD_GAPS) gap = 3;
    if (gap) {
        real->head = (dim + 7) / 8 * 8 + gap;
        real->token = heads * real->head + 2 * gap;
        real->batch = tokens * real->token + 8;
    }
    return *real;
}

static int64_t place_in(const cj_heads *h, bool by_offsets, uint32_t b, uint32_t t, uint32_t head)
{
    return (by_offsets ? 0 : b * h->batch) + t * h->token + head * h->head;
}

/* One row in double.  A score of -infinity is that of a key that the row does not see. */
static void want_row(const double *q, const cj_heads *k, const cj_heads *v, const attn_shape *s, uint32_t b,
                     uint32_t head, attn_tokens keys, int64_t seen, uint32_t dim, double scale, double *out,
                     double *lse)
{
    static double score[512];
    double m = -INFINITY, sum = 0;
    bool by_offsets = s->lengths & 2;
    for (uint32_t i = 0; i < dim; i++) out[i] = 0;
    for (int64_t j = 0; j < seen; j++) {
        const double *key = value[K] + place_in(k, by_offsets, b, keys.first + (uint32_t)j, head);
        score[j] = 0;
        for (uint32_t i = 0; i < dim; i++) score[j] += q[i] * key[i];
        score[j] *= scale;
        m = fmax(m, score[j]);
    }
    for (int64_t j = 0; j < seen; j++) sum += score[j] = score[j] == -INFINITY ? 0 : exp(score[j] - m);
    for (int64_t j = 0; j < seen && sum != 0; j++) {
        const double *row = value[V] + place_in(v, by_offsets, b, keys.first + (uint32_t)j, head);
        for (uint32_t i = 0; i < dim; i++) out[i] += score[j] / sum * row[i];
    }
    *lse = m + log(sum);
}

static cj_attention_args args_of(const attn_shape *s, uint32_t dim, cj_heads real[OPERANDS])
{
    cj_attention_args a = { .batches = s->batches, .queries = s->queries, .keys = s->keys, .heads = s->heads,
                            .kv_heads = s->kv_heads };
    cj_heads *const to[OPERANDS] = { &a.q, &a.k, &a.v, &a.out, &a.lse };
    for (int i = 0; i < OPERANDS; i++) *to[i] = heads_of(s, i, dim, &real[i]);
    for (int i = 0; i < 2; i++) {
        int32_t *at = offsets[i].host;
        for (uint32_t b = 0; b <= s->batches; b++) at[b] = (int32_t)tokens_in(s, i, b < SEQUENCES ? b : 0).first;
        if (s->batches == SEQUENCES) at[SEQUENCES] = at[SEQUENCES - 1] + (int32_t)s->each[i][SEQUENCES - 1];
        kb_put(&offsets[i]);
        if (s->lengths >> i & 1) *(i ? &a.key_offsets : &a.query_offsets) = offsets[i].data;
    }
    return a;
}

typedef struct attn_errors { double result, lse; size_t touched, nan_rows, zero_rows; } attn_errors;

/* Counts a row that is NaN, or 0, in all its elements. */
static void note_row(attn_errors *e, const unsigned char *row, cj_type type, uint32_t dim)
{
    uint32_t nans = 0, zeros = 0;
    for (uint32_t i = 0; i < dim; i++) {
        double is = kb_value(row + i * kb_size(type), type);
        nans += is != is, zeros += is == 0;
    }
    e->nan_rows += nans == dim, e->zero_rows += zeros == dim;
}

/* Runs one shape: the error of all results in relation to their size, NaN if a result is NaN and should not be, or the
 * other way round; that of the log-sum-exp; how many bytes were written that belong to no result. */
static attn_errors run_shape(cj_attention *x, cj_type type, uint32_t dim, bool causal, float scale, const attn_shape *s)
{
    cj_heads real[OPERANDS];
    cj_attention_args a = args_of(s, dim, real);
    attn_errors e = { 0 };
    double error = 0, size = 0, want[DIMS], want_lse;
    unsigned char *out = memory[OUT].host, *lse = memory[LSE].host;
    a.scale = scale;
    kb_blank(&memory[OUT]), kb_blank(&memory[LSE]);
    if (!kb_is_ok(kb_s[0], cj_attention_launch(kb_s[0], x, &a), "launch")) e.touched++;
    if (!kb_get(&memory[OUT]) || !kb_get(&memory[LSE])) e.touched++;
    for (uint32_t b = 0; b < s->batches; b++) {
        attn_tokens queries = tokens_in(s, 0, b), keys = tokens_in(s, 1, b);
        for (uint32_t h = 0; h < s->heads; h++)
            for (uint32_t t = 0; t < queries.count; t++) {
                int64_t seen = causal ? (int64_t)t + 1 + keys.count - queries.count : keys.count;
                bool by_offsets = s->lengths & 1;
                uint32_t token = queries.first + t, kv_head = h / (s->heads / s->kv_heads);
                int64_t at = place_in(&real[OUT], by_offsets, b, token, h) * (int64_t)kb_size(type),
                        lse_at = place_in(&real[LSE], by_offsets, b, token, h) * 4;
                want_row(value[Q] + place_in(&real[Q], by_offsets, b, token, h), &real[K], &real[V], s, b, kv_head,
                         keys, seen, dim, scale != 0 ? scale : 1 / sqrt(dim), want, &want_lse);
                for (uint32_t i = 0; i < dim; i++) {
                    double is = kb_value(out + at + i * kb_size(type), type), off = is - want[i];
                    if (want[i] != want[i]) off = is != is ? 0 : NAN;
                    else size += want[i] * want[i];
                    error += off * off;
                }
                double is = kb_value(lse + lse_at, CJ_F32), off = fabs(is - want_lse);
                if (want_lse == -INFINITY) off = is == -INFINITY ? 0 : 1;
                if (want_lse == want_lse) kb_note_error(&e.lse, off);
                note_row(&e, out + at, type, dim);
                memset(out + at, 0xFF, dim * kb_size(type)), memset(lse + lse_at, 0xFF, 4);
            }
    }
    for (size_t i = 0; i < memory[OUT].bytes; i++) e.touched += out[i] != 0xFF;
    for (size_t i = 0; i < memory[LSE].bytes; i++) e.touched += lse[i] != 0xFF;
    e.result = error > 0 || error != error ? sqrt(error / size) : 0;
    return e;
}

/* Random numbers that repeat after a prime number of them. */
static void fill_values(cj_type type)
{
    size_t size = kb_size(type), period = 8191;
    for (int o = Q; o <= V; o++) {
        char *host = memory[o].host;
        for (size_t i = 0; i < MOST; i++) {
            if (i < period) kb_set(host + i * size, type, 1.7 * kb_uniform());
            else memcpy(host + i * size, host + (i - period) * size, size);
            value[o][i] = i < period ? kb_value(host + i * size, type) : value[o][i - period];
        }
        kb_put(&memory[o]);
    }
}

/* The object; NULL, with a skipped line: the device does not have the path. */
static cj_attention *made(cj_type type, uint32_t dim, bool causal, cj_attention_path path, const char *name)
{
    cj_attention *x =
        cj_attention_create(kb_dev, CJ_ATTENTION(.type = type, .dim = dim, .causal = causal, .path = path));
    const cj_error *e = cj_error_of(x);
    if (e->status == CJ_OK) return x;
    if (e->status == CJ_ENOTSUP || strstr(e->message, "is not executed by the CPU device"))
        tap_skip(1, "%s: the device does not execute its instructions", name);
    else
        tap_fail("%s: %s", name, e->message);
    cj_attention_free(x);
    return NULL;
}

static const char *const path_names[] = { "auto", "scalar", "mma", "wgmma" };

static double bound_of(cj_type type) { return type == CJ_BF16 ? 2.5e-3 : type == CJ_F16 ? 3.5e-4 : 1e-6; }

/* Of how many objects one has a shape, so that each path meets each shape, causal and not: as many as main makes of a
 * path.  Path mma has a kernel for rows at multiples of 16 bytes and another one for any; heads with as many elements
 * meet all shapes, and so do the others. */
static unsigned sharers_of(cj_attention_path path, uint32_t dim)
{
    if (tap_is_slow()) return 13;
    if (path == CJ_ATTENTION_SCALAR) return 10;
    if (path == CJ_ATTENTION_WGMMA) return 3;
    return dim % 8 ? 3 : 5;
}

/* Whether object `nth` of those has shape `i`. */
static bool is_chosen(cj_attention_path path, unsigned i, uint32_t dim, bool causal, unsigned nth)
{
    const attn_shape *s = &shapes[i];
    const bool wgmma = path == CJ_ATTENTION_WGMMA, has_three_tiles = s->keys == 290, many = s->heads >= MANY_HEADS;
    if (wgmma && has_three_tiles && (dim == 64 || dim == 100 || dim == 128)) return true;
    if (wgmma && s->heads == MANY_HEADS && dim == 64 && !causal) return true; /* blocks that compute several tiles */
    if (many && !tap_on_gpu()) return false;
    if (all_shapes) return true;
    if (wgmma && dim % 8) return s->layout == WIDE_GAPS; /* other rows go by mma */
    return (i + nth + causal) % sharers_of(path, dim) == 0;
}

static void each_shape(cj_attention_path path, cj_type type, uint32_t dim, unsigned nth)
{
    char name[80];
    for (int causal = 0; causal < 2; causal++) {
        snprintf(name, sizeof name, "%s %s, heads of %u, %s", path_names[path], kb_name(type), dim,
                 causal ? "causal" : "full");
        cj_attention *x = made(type, dim, causal, path, name);
        double worst = 0;
        size_t wrong = 0;
        if (!x) continue;
        for (unsigned i = 0; i < SHAPES; i++) {
            if (!is_chosen(path, i, dim, causal, nth)) continue;
            float scale = i % 3 ? 0 : 0.3f;
            attn_errors e = run_shape(x, type, dim, causal, scale, &shapes[i]);
            bool good = e.result <= bound_of(type) && e.lse <= 1e-5 && !e.touched;
            wrong += !good;
            if (!good)
                tap_diag("%u x %u, %s: error %g, of the log-sum-exp %g; %zu bytes beside", shapes[i].queries,
                         shapes[i].keys, layout_names[shapes[i].layout], e.result, e.lse, e.touched);
            kb_note_error(&worst, e.result);
        }
        tap_ok(!wrong, "%s: error %.2g", name, worst);
        cj_attention_free(x);
    }
}

/* Element 0 of the queries is `query`, that of query 5 `of_5`; element 0 of the keys from `first` to `end` - 1 is
 * `key`, that of the others 0.  Keys whose score is -infinity are masked.  A score of +infinity or NaN makes its row
 * NaN; all other rows stay as they are.  200 tokens are several tiles of keys for each path. */
enum { TOKENS = 200, TOKEN_DIM = 16 };
static const struct infinite_scores {
    const char *name;
    bool causal;
    double query, of_5, key;
    uint32_t first, end;
    size_t nan_rows, masked_rows;
} infinite_scores[] = {
    { "a key of -infinity", false, 1, 1, -INFINITY, 66, 67, 0, 0 },
    { "first keys of -infinity", false, 1, 1, -INFINITY, 0, 130, 0, 0 },
    { "last keys of -infinity", false, 1, 1, -INFINITY, 61, TOKENS, 0, 0 },
    { "keys of -infinity", false, 1, 1, -INFINITY, 0, TOKENS, 0, TOKENS },
    { "a query of -infinity", false, 1, -INFINITY, 1, 0, TOKENS, 0, 1 },
    { "a score of +infinity", false, -1, 1, INFINITY, 66, 67, 1, 0 },
    { "a query of NaN", false, 1, NAN, 1, 7, 9, 1, 0 },
    { "a key of +infinity, causal", true, 1, 1, INFINITY, 66, 67, TOKENS - 66, 0 },
    { "a key of NaN, causal", true, 1, 1, NAN, 131, 132, TOKENS - 131, 0 },
    { "first keys of -infinity, causal", true, 1, 1, -INFINITY, 0, 130, 0, 130 },
    { "keys of -infinity, causal", true, 1, 1, -INFINITY, 0, TOKENS, 0, TOKENS },
    { "a query of -infinity, causal", true, 1, -INFINITY, 1, 0, TOKENS, 0, 1 },
};

/* Sets element 0 of token `t` of q or k. */
static void set_first(int operand, uint32_t t, cj_type type, double x)
{
    kb_set((char *)memory[operand].host + (size_t)t * TOKEN_DIM * kb_size(type), type, x);
    value[operand][t * TOKEN_DIM] = x;
}

static void scores_that_are_not_finite(cj_attention_path path, cj_type type)
{
    const attn_shape s = { 1, TOKENS, TOKENS, 1, 1, SIDE_BY_SIDE, 0, { { 0 } } };
    char name[80];
    fill_values(type);
    for (int causal = 0; causal < 2; causal++) {
        snprintf(name, sizeof name, "%s %s, %s", path_names[path], kb_name(type), causal ? "causal" : "full");
        cj_attention *x = made(type, TOKEN_DIM, causal, path, name);
        if (!x) return;
        for (size_t i = 0; i < sizeof infinite_scores / sizeof *infinite_scores; i++) {
            const struct infinite_scores *c = &infinite_scores[i];
            if (c->causal != causal || (tap_is_slow() && i % 3)) continue;
            for (uint32_t t = 0; t < TOKENS; t++) {
                set_first(Q, t, type, t == 5 ? c->of_5 : c->query);
                set_first(K, t, type, t >= c->first && t < c->end ? c->key : 0);
            }
            kb_put(&memory[Q]), kb_put(&memory[K]);
            attn_errors e = run_shape(x, type, TOKEN_DIM, causal, 0, &s);
            bool good = e.result <= bound_of(type) && e.lse <= 1e-5 && !e.touched;
            tap_ok(good && e.nan_rows == c->nan_rows && e.zero_rows == c->masked_rows,
                   "%s %s, %s: %zu rows are NaN, %zu are 0, the others have an error of %.2g", path_names[path],
                   kb_name(type), c->name, e.nan_rows, e.zero_rows, e.result);
        }
        cj_attention_free(x);
    }
}

static void mistakes(void)
{
    const struct { cj_attention_opts o; cj_status status; const char *part; } wrong[] = {
        { { .size = sizeof wrong->o, .type = CJ_F64, .dim = 8 }, CJ_EINVAL, "type is f64; wants f32, f16 or bf16" },
        { { .size = sizeof wrong->o, .dim = 8 }, CJ_EINVAL, "type is not set; wants f32, f16 or bf16" },
        { { .size = sizeof wrong->o, .type = CJ_PRED, .dim = 8 }, CJ_EINVAL, "type 1 is no type of elements" },
        { { .size = sizeof wrong->o, .type = CJ_F32 }, CJ_EINVAL, "dim is 0" },
        { { .size = sizeof wrong->o, .type = CJ_F32, .dim = 129 }, CJ_ENOTSUP, "dim is 129; heads have at most 128" },
        { { .size = sizeof wrong->o, .type = CJ_F32, .dim = 8, .path = 9 }, CJ_EINVAL, "there is no path 9" },
        { { .size = sizeof wrong->o, .type = CJ_F32, .dim = 8, .path = CJ_ATTENTION_MMA }, CJ_ENOTSUP,
          "takes f16 and bf16, not f32" },
        { { .size = sizeof wrong->o, .type = CJ_F32, .dim = 8, .path = CJ_ATTENTION_WGMMA }, CJ_ENOTSUP,
          "CJ_ATTENTION_WGMMA takes f16 and bf16, not f32" },
        { { .size = 3 }, CJ_EINVAL, "size is 3" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cj_attention *x = cj_attention_create(kb_dev, &wrong[i].o);
        tap_is_int(cj_error_of(x)->status, wrong[i].status, "it fails: %s", wrong[i].part);
        tap_has_str(cj_error_of(x)->message, wrong[i].part, "... and says why");
        cj_attention_free(x);
    }
    cj_attention *x = cj_attention_create(kb_dev, CJ_ATTENTION(.type = CJ_F32, .dim = 8));
    const cj_attention_args good = { .q = { .data = memory[Q].data }, .k = { .data = memory[K].data },
                                     .v = { .data = memory[V].data }, .out = { .data = memory[OUT].data },
                                     .queries = 2, .keys = 2, .heads = 4 };
    cj_attention_args a[15];
    size_t count = sizeof a / sizeof *a;
    for (size_t i = 0; i < count; i++) a[i] = good;
    a[0].heads = 0;
    a[1].kv_heads = 3;
    a[2].kv_heads = 8;
    a[3].queries = (uint64_t)1 << 31;
    a[4].keys = (uint64_t)1 << 40;
    a[5].scale = -1;
    a[6].scale = NAN;
    a[7].q.data.addr += 2;
    a[8].v.data.addr = 0;
    a[9].k.token = INT64_MAX / 8;
    a[10].key_offsets.addr = memory[K].data.addr + 1;
    a[11].queries = a[11].batches = 1u << 20, a[11].lse.token = 1;
    a[12].out.head = 7;
    a[13].out.token = 16;
    a[14].lse.data = memory[LSE].data, a[14].lse.token = 3, a[14].batches = 2;
    static const char *const why[] = { "heads is 0", "kv_heads is 3, which does not divide heads, 4",
                                       "kv_heads is 8, which does not divide", "queries is 2147483648, at most",
                                       "keys is 1099511627776", "scale is -1; wants a number above 0", "scale is ",
                                       "q is at", "v has no memory", "k: tokens, heads and sequences",
                                       "key_offsets is at", "are more tiles than a grid has blocks",
                                       "out: sequences, tokens and heads of 8 elements, 56, 28 and 7 elements apart",
                                       "16 and 8 elements apart, have several elements in one place",
                                       "lse: sequences, tokens and heads of 1 elements, 6, 3 and 1 elements apart" };
    for (size_t i = 0; i < count; i++) {
        tap_is_int(cj_attention_launch(kb_s[0], x, &a[i]), CJ_EINVAL, "a launch fails: %s", why[i]);
        tap_has_str(cj_error_of(kb_s[0])->message, why[i], "... and says why");
        cj_error_clear(kb_s[0]);
    }
    tap_is_int(cj_attention_launch(kb_s[0], x, NULL), CJ_EINVAL, "NULL arguments");
    cj_error_clear(kb_s[0]);
    a[0] = good, a[0].queries = 0, a[0].q.data.addr = 0;
    tap_is_int(cj_attention_launch(kb_s[0], x, &a[0]), CJ_OK, "no queries: nothing is done");
    cj_attention_opts o = { 0 };
    cj_attention_defaults(&o);
    cj_attention_defaults(NULL);
    tap_is_uint(o.size, sizeof o, "defaults");
    cj_attention_free(x);
    cj_attention_free(NULL);
}

int main(void)
{
    static const struct { cj_type type; uint32_t dim; } kinds[] = {
        { CJ_F32, 1 },   { CJ_F32, 40 }, { CJ_F16, 16 }, { CJ_F16, 33 },  { CJ_BF16, 5 },
        { CJ_BF16, 64 }, { CJ_F16, 100 }, { CJ_BF16, 128 }, { CJ_F16, 128 }, { CJ_BF16, 72 },
    };
    unsigned by_mma[2] = { 0, 0 }, by_wgmma = 0; /* how many objects there were */
    kb_open();
    all_shapes = getenv("CUJIT_TEST_ALL") != NULL;
    tap_timeout(all_shapes ? 1800 : 100);
    for (int i = 0; i < OPERANDS; i++) memory[i] = kb_take(i == LSE ? LSE_MOST * 4 : (size_t)MOST * 4);
    for (int i = 0; i < 2; i++) offsets[i] = kb_take((SEQUENCES + 1) * 4);
    for (int i = 0; i < 3; i++)
        if (!(value[i] = calloc(MOST, sizeof **value))) tap_bail("no memory");
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i += tap_is_slow() ? 3 : 1) {
        fill_values(kinds[i].type);
        each_shape(CJ_ATTENTION_SCALAR, kinds[i].type, kinds[i].dim, i);
        if (kinds[i].type == CJ_F32) continue;
        each_shape(CJ_ATTENTION_MMA, kinds[i].type, kinds[i].dim, by_mma[kinds[i].dim % 8 != 0]++);
        bool has_wgmma = kinds[i].dim % 64 == 0 || kinds[i].dim == 100 || all_shapes;
        if (has_wgmma) each_shape(CJ_ATTENTION_WGMMA, kinds[i].type, kinds[i].dim, by_wgmma);
        by_wgmma += kinds[i].dim % 64 == 0;
    }
    for (int path = CJ_ATTENTION_SCALAR; path <= CJ_ATTENTION_WGMMA; path++) {
        if (path == CJ_ATTENTION_SCALAR) scores_that_are_not_finite((cj_attention_path)path, CJ_F32);
        scores_that_are_not_finite((cj_attention_path)path, CJ_F16);
        if (!tap_is_slow()) scores_that_are_not_finite((cj_attention_path)path, CJ_BF16);
    }
    mistakes();
    for (int i = 0; i < OPERANDS; i++) kb_drop(&memory[i]);
    for (int i = 0; i < 2; i++) kb_drop(&offsets[i]);
    for (int i = 0; i < 3; i++) free(value[i]);
    return kb_close();
}
