/* Causal attention over long sequences, whose kernel takes tiles of queries in the order of their lengths, if there are
 * two for each multiprocessor: an H100 and the CPU device have 132.  Each row is written once, whatever sequences,
 * heads and tiles there are: some rows against plain C in double, all of them against path mma, which divides the work
 * in its own way.  The same bits in each run, and between guards. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIM_MOST = 64, CHECKED = 97 };   /* each 97th row, and the last ones, are computed here */

/* With few keys most rows see none, and the CPU device computes the others soon. */
static const struct { uint32_t batches, queries, keys, heads, kv_heads, dim; bool on_gpu; } cases[] = {
    { 1, 4096, 130, 15, 5, 64, false },
    { 2, 4097, 40, 7, 7, 40, false },
    { 1, 4225, 260, 12, 4, 64, false },
    { 1, 4225, 70, 1, 1, 64, false }, /* too few tiles */
    { 1, 4096, 4096, 16, 4, 64, true },
    { 2, 5001, 5300, 9, 3, 64, true },
    { 1, 12289, 12289, 5, 5, 48, true },
    { 1, 12289, 12289, 1, 1, 48, true },
    { 3, 4100, 4000, 70, 7, 16, true },
};
enum { CASES = sizeof cases / sizeof *cases };

enum { Q, K, V, OUT, LSE, OPERANDS };
static kb_memory memory[OPERANDS];
static unsigned number; /* of the case */

static size_t elements_of(int operand)
{
    const bool kv = operand == K || operand == V;
    const size_t heads = kv ? cases[number].kv_heads : cases[number].heads;
    const size_t tokens = kv ? cases[number].keys : cases[number].queries;
    return cases[number].batches * tokens * heads * (operand == LSE ? 1 : cases[number].dim);
}

static void fill(void)
{
    enum { PERIOD = 8191 };
    for (int o = Q; o <= V; o++) {
        char *host = memory[o].host;
        const size_t n = elements_of(o);
        for (size_t i = 0; i < n; i++) {
            if (i < PERIOD) kb_set(host + 2 * i, CJ_BF16, 1.7 * kb_uniform());
            else memcpy(host + 2 * i, host + 2 * (i - PERIOD), 2);
        }
        kb_put(&memory[o]);
    }
}

/* Results and log-sum-exps; false: it was not launched, or wrote beside them. */
static bool run(cj_attention *x)
{
    const cj_attention_args a = { .q = { .data = memory[Q].data }, .k = { .data = memory[K].data },
                                  .v = { .data = memory[V].data }, .out = { .data = memory[OUT].data },
                                  .lse = { .data = memory[LSE].data },
                                  .batches = cases[number].batches, .queries = cases[number].queries,
                                  .keys = cases[number].keys, .heads = cases[number].heads,
                                  .kv_heads = cases[number].kv_heads };
    kb_blank(&memory[OUT]), kb_blank(&memory[LSE]);
    if (!kb_is_ok(kb_s[0], cj_attention_launch(kb_s[0], x, &a), "launch")) return false;
    const bool result = kb_get(&memory[OUT]), lse = kb_get(&memory[LSE]);
    return result && lse;
}

/* The place of a head's token, in elements. */
static size_t place(int operand, uint32_t b, uint32_t token, uint32_t head)
{
    const bool kv = operand == K || operand == V;
    const size_t heads = kv ? cases[number].kv_heads : cases[number].heads;
    const size_t tokens = kv ? cases[number].keys : cases[number].queries;
    return ((b * tokens + token) * heads + head) * (operand == LSE ? 1 : cases[number].dim);
}

static double value_at(int operand, size_t i)
{
    return operand == LSE ? kb_value((char *)memory[LSE].host + 4 * i, CJ_F32)
                          : kb_value((char *)memory[operand].host + 2 * i, CJ_BF16);
}

/* One row in double. */
static void want_row(uint32_t b, uint32_t token, uint32_t head, double *out, double *lse)
{
    const uint32_t dim = cases[number].dim, kv_head = head / (cases[number].heads / cases[number].kv_heads);
    const int64_t seen = (int64_t)token + 1 + cases[number].keys - cases[number].queries;
    double *score = calloc(cases[number].keys, sizeof *score), m = -INFINITY, sum = 0;
    if (!score) tap_bail("no memory");
    for (uint32_t i = 0; i < dim; i++) out[i] = 0;
    for (int64_t j = 0; j < seen; j++) {
        for (uint32_t i = 0; i < dim; i++)
            score[j] += value_at(Q, place(Q, b, token, head) + i) * value_at(K, place(K, b, (uint32_t)j, kv_head) + i);
        score[j] /= sqrt(dim);
        m = fmax(m, score[j]);
    }
    for (int64_t j = 0; j < seen; j++) sum += score[j] = exp(score[j] - m);
    for (int64_t j = 0; j < seen; j++)
        for (uint32_t i = 0; i < dim; i++)
            out[i] += score[j] / sum * value_at(V, place(V, b, (uint32_t)j, kv_head) + i);
    *lse = m + log(sum);
    free(score);
}

static void check_rows(const char *name)
{
    double error = 0, size = 0, lse_error = 0;
    for (uint32_t b = 0; b < cases[number].batches; b++)
        for (uint32_t t = 0; t < cases[number].queries; t += t + CHECKED < cases[number].queries ? CHECKED : 5)
            for (uint32_t h = 0; h < cases[number].heads; h += 1 + (cases[number].heads > 6) * 5) {
                double want[DIM_MOST], want_lse;
                want_row(b, t, h, want, &want_lse);
                for (uint32_t i = 0; i < cases[number].dim; i++) {
                    const double off = value_at(OUT, place(OUT, b, t, h) + i) - want[i];
                    error += off * off, size += want[i] * want[i];
                }
                const double lse = value_at(LSE, place(LSE, b, t, h));
                kb_note_error(&lse_error, want_lse == -INFINITY ? lse != -INFINITY : fabs(lse - want_lse));
            }
    error = sqrt(error / size);
    if (!tap_ok(error <= 2.5e-3 && lse_error <= 1e-5, "%s: rows are right", name))
        tap_diag("error %g, of the log-sum-exp %g", error, lse_error);
}

/* How far the results, and the log-sum-exps, of two runs are from each other; NaN where a row is missing. */
static double distance(const char *a, const char *b, size_t n, cj_type type)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        const double x = kb_value(a + i * kb_size(type), type), y = kb_value(b + i * kb_size(type), type);
        kb_note_error(&most, x == y ? 0 : fabs(x - y));
    }
    return most;
}

static void one_case(cj_attention *x, cj_attention *other)
{
    char name[120];
    snprintf(name, sizeof name, "%u x %u queries, %u keys, heads %u and %u of %u", cases[number].batches,
             cases[number].queries, cases[number].keys, cases[number].heads, cases[number].kv_heads, cases[number].dim);
    for (int o = 0; o < OPERANDS; o++) memory[o] = kb_take(elements_of(o) * (o == LSE ? 4 : 2));
    fill();
    char *results = malloc(memory[OUT].bytes), *lses = malloc(memory[LSE].bytes);
    if (!results || !lses) tap_bail("no memory");
    tap_ok(run(x), "%s: launched, nothing written beside the results", name);
    check_rows(name);
    memcpy(results, memory[OUT].host, memory[OUT].bytes), memcpy(lses, memory[LSE].host, memory[LSE].bytes);
    tap_ok(run(x) && !memcmp(results, memory[OUT].host, memory[OUT].bytes) &&
               !memcmp(lses, memory[LSE].host, memory[LSE].bytes), "%s: a second run has the same bits", name);
    tap_ok(run(other), "%s: launched on path mma", name);
    const double result = distance(results, memory[OUT].host, elements_of(OUT), CJ_BF16);
    const double lse = distance(lses, memory[LSE].host, elements_of(LSE), CJ_F32);
    if (!tap_ok(result <= 0.03 && lse <= 1e-4, "%s: all rows are those of path mma", name))
        tap_diag("%g off, log-sum-exps %g", result, lse);
    free(results), free(lses);
    for (int o = 0; o < OPERANDS; o++) kb_drop(&memory[o]);
}

static cj_attention *make(uint32_t dim, cj_attention_path path)
{
    return cj_attention_create(kb_dev, CJ_ATTENTION(.type = CJ_BF16, .dim = dim, .causal = 1, .path = path));
}

int main(void)
{
    kb_open();
    tap_timeout(200);
    for (number = 0; number < CASES; number++) {
        if (cases[number].on_gpu && !tap_on_gpu()) continue;
        if (tap_is_slow() && cases[number].heads > 1) continue;
        cj_attention *x = make(cases[number].dim, CJ_ATTENTION_WGMMA);
        cj_attention *other = make(cases[number].dim, CJ_ATTENTION_MMA);
        if (cj_error_of(x)->status == CJ_ENOTSUP) {
            tap_skip(1, "the device has no wgmma");
        } else if (cj_error_of(x)->status || cj_error_of(other)->status) {
            tap_fail("%s %s", cj_error_of(x)->message, cj_error_of(other)->message);
        } else {
            one_case(x, other);
        }
        cj_attention_free(x);
        cj_attention_free(other);
    }
    return kb_close();
}
