/* Scans of one long row, by one kernel where the device has it and by three: edges of tiles and of the grid, the same
 * bits each time, many launches at once. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of a tile of elements that are computed in 4 or 8 bytes, and the blocks of a grid of an H100. */
enum { BLOCKS = 132, TILE = 16384, WIDE_TILE = 8192, RUNS = 30, LAUNCHES = 100 };

typedef struct long_case {
    cj_type type;
    cj_combine_op op;
    int exclusive;
    uint64_t columns;
} long_case;

static const long_case cases[] = {
    { CJ_U32, CJ_COMBINE_ADD, 0, TILE - 1 },          { CJ_U32, CJ_COMBINE_ADD, 0, TILE },
    { CJ_U32, CJ_COMBINE_ADD, 0, TILE + 1 },          { CJ_U32, CJ_COMBINE_ADD, 1, 2 * TILE - 1 },
    { CJ_U32, CJ_COMBINE_ADD, 1, 2 * TILE },          { CJ_S32, CJ_COMBINE_MAX, 0, 2 * TILE + 3 },
    { CJ_U32, CJ_COMBINE_XOR, 0, 31 * TILE + 9 },     { CJ_U32, CJ_COMBINE_ADD, 0, 32 * TILE },
    { CJ_U32, CJ_COMBINE_ADD, 1, 33 * TILE + 5 },     { CJ_F32, CJ_COMBINE_ADD, 0, 64 * TILE + 2047 },
    { CJ_U64, CJ_COMBINE_ADD, 0, 3 * WIDE_TILE + 1 }, { CJ_S64, CJ_COMBINE_ADD, 1, 40 * WIDE_TILE - 1 },
    { CJ_F64, CJ_COMBINE_ADD, 0, 33 * WIDE_TILE },    { CJ_F64, CJ_COMBINE_ADD, 1, 5 * WIDE_TILE + 77 },
    { CJ_BF16, CJ_COMBINE_ADD, 0, 3 * TILE + 13 },    { CJ_F16, CJ_COMBINE_ADD, 1, 35 * TILE + 1 },
    { CJ_U8, CJ_COMBINE_ADD, 0, 13 * TILE + 11 },     { CJ_S8, CJ_COMBINE_MAX, 1, 2 * TILE + 15 },
    { CJ_U16, CJ_COMBINE_ADD, 0, 4 * TILE },          { CJ_U32, CJ_COMBINE_ADD, 0, BLOCKS * TILE },
    { CJ_U64, CJ_COMBINE_ADD, 0, (2 * BLOCKS - 1) * WIDE_TILE + 1 },
    { CJ_F32, CJ_COMBINE_MIN, 0, (BLOCKS + 1) * TILE - 1 },
    { CJ_U32, CJ_COMBINE_ADD, 1, (4 * BLOCKS + 1) * TILE + 3 },
};
enum { CASES = sizeof cases / sizeof *cases, QUICK_CASES = CASES - 4 };

/* Sums of f32 and f64 are exact; those of f16 and bf16 stay small. */
static double small(cj_type type, uint64_t i)
{
    if (type == CJ_F16 || type == CJ_BF16) return i % 2 ? -3 : 3;
    double v = (double)((i * 2654435761u >> 7) % 5);
    return kb_floating(type) || type == CJ_S8 || type == CJ_S32 || type == CJ_S64 ? v - 2 : v;
}

static double join(cj_combine_op op, double a, double b)
{
    switch (op) {
    case CJ_COMBINE_ADD: return a + b;
    case CJ_COMBINE_MIN: return a < b ? a : b;
    case CJ_COMBINE_XOR: return (double)((uint32_t)a ^ (uint32_t)b);
    default: return a > b ? a : b;
    }
}

static void edges(void)
{
    for (size_t i = 0; i < CASES; i++) {
        const long_case *c = &cases[i];
        if (tap_is_slow() && c->columns > 34 * WIDE_TILE) continue;
        size_t size = kb_size(c->type), wrong = 0;
        kb_memory x = kb_take((c->columns + 1) * size), out = kb_take((c->columns + 1) * size);
        cj_scan *k = cj_scan_create(kb_dev, CJ_SCAN(.type = c->type, .op = c->op, .exclusive = c->exclusive,
                                                    .in_flight = 1, .columns = c->columns));
        if (cj_error_of(k)->status) tap_diag("%s", cj_error_of(k)->message);
        for (uint64_t n = 0; n <= c->columns; n++) kb_set((char *)x.host + n * size, c->type, small(c->type, n));
        kb_put(&x);
        for (unsigned shift = 0; shift < (i < QUICK_CASES ? 2 : 1); shift++) {
            unsigned char carry[8] = { 0 }, next[8] = { 0 };
            kb_blank(&out);
            const cj_scan_args a = { .x = { cj_offset(x.data, (int64_t)(shift * size)), 0, 0 },
                                     .out = { cj_offset(out.data, (int64_t)(shift * size)), 0, 0 },
                                     .columns = c->columns };
            wrong += !kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], k, &a), "launch") || !kb_get(&out);
            bool first = true, sums = c->op == CJ_COMBINE_ADD || c->op == CJ_COMBINE_XOR;
            for (uint64_t n = shift; n < c->columns + shift; n++) {
                const char *got = (const char *)out.host + n * size;
                double v = kb_value((char *)x.host + n * size, c->type), before = kb_value(carry, c->type);
                kb_set(next, c->type, first && !sums ? v : join(c->op, before, v));
                if (!c->exclusive) wrong += memcmp(got, next, size) != 0;
                else if (!first || sums) wrong += memcmp(got, carry, size) != 0;
                memcpy(carry, next, 8);
                first = false;
            }
        }
        tap_is_uint(wrong, 0, "%s scan of %llu columns of %s by operation %d%s",
                    c->exclusive ? "exclusive" : "inclusive", (unsigned long long)c->columns, kb_name(c->type), c->op,
                    i < QUICK_CASES ? ", aligned and not" : "");
        cj_scan_free(k);
        kb_drop(&x), kb_drop(&out);
    }
}

/* The greatest error of a scan of `x` by sums, of the sum of magnitudes. */
static double error_of_sums(cj_type type, const char *x, const char *got, uint64_t columns)
{
    long double want = 0, magnitude = 0;
    double worst = 0;
    for (uint64_t n = 0; n < columns; n++) {
        double v = kb_value(x + n * kb_size(type), type);
        want += v, magnitude += fabs(v);
        kb_note_error(&worst, (double)(fabsl(kb_value(got + n * kb_size(type), type) - want) / magnitude));
    }
    return worst;
}

/* Random f32 and f64: the sums are rounded, so their order shows. */
static void same_bits(cj_type type, uint64_t columns)
{
    size_t size = kb_size(type), bytes = columns * size, wrong = 0;
    kb_memory x = kb_take(bytes + size), out = kb_take(bytes), space = kb_take(1 << 20);
    void *first = malloc(bytes);
    cj_scan *k = cj_scan_create(kb_dev, CJ_SCAN(.type = type));
    for (uint64_t n = 0; n < columns; n++)
        kb_set((char *)x.host + n * size, type, kb_uniform() + kb_uniform() / 3);
    kb_put(&x);
    cj_scan_args a = { .x = { x.data, 0, 0 }, .out = { out.data, 0, 0 }, .columns = columns,
                       .workspace = { space.data, space.bytes } };
    for (int run = 0; run < (tap_is_slow() ? 3 : tap_on_gpu() ? RUNS : RUNS / 3); run++) {
        kb_blank(&out);
        wrong += !kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], k, &a), "launch") || !kb_get(&out);
        if (!run) memcpy(first, out.host, bytes);
        else wrong += memcmp(first, out.host, bytes) != 0;
    }
    tap_is_uint(wrong, 0, "a scan of %llu columns of %s has the same bits in each run", (unsigned long long)columns,
                kb_name(type));
    double error = error_of_sums(type, x.host, first, columns);
    tap_ok(error < (type == CJ_F64 ? 1e-15 : 3e-7), "they have an error of %.2g of the sum of magnitudes", error);
    kb_get(&x);
    memmove((char *)x.host + size, x.host, bytes);
    kb_put(&x), kb_blank(&out);
    a.x.data = cj_offset(x.data, (int64_t)size);
    wrong = !kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], k, &a), "launch") || !kb_get(&out);
    tap_ok(!wrong && !memcmp(first, out.host, bytes), "also where the row is not aligned to 16 bytes");
    kb_get(&x);
    memmove(x.host, (char *)x.host + size, bytes);
    kb_put(&x);
    a.x.data = a.out.data = x.data;
    wrong = !kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], k, &a), "launch") || !kb_get(&x);
    tap_ok(!wrong && !memcmp(first, x.host, bytes), "and in place");
    cj_scan_free(k);
    free(first);
    kb_drop(&x), kb_drop(&out), kb_drop(&space);
}

/* Maps v -> p v + q mod 2^32, as p + q 2^32. */
static uint64_t then(uint64_t a, uint64_t b)
{
    uint32_t p = (uint32_t)a * (uint32_t)b, q = (uint32_t)b * (uint32_t)(a >> 32) + (uint32_t)(b >> 32);
    return (uint64_t)q << 32 | p;
}

static void in_order(void)
{
    const uint64_t columns = (tap_is_slow() ? 9 : 37) * WIDE_TILE + 5;
    cj_ptx *m = kb_maps_module();
    kb_memory x = kb_take(columns * 8), out = kb_take(columns * 8);
    uint64_t *v = x.host, *got = out.host;
    for (uint64_t i = 0; i < columns; i++) v[i] = (uint64_t)kb_random() << 32 | (kb_random() | 1);
    kb_put(&x);
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        cj_scan *k = cj_scan_create(kb_dev, CJ_SCAN(.type = CJ_U64, .module = m, .function = "then", .identity = 1,
                                                    .exclusive = exclusive, .in_flight = 1, .columns = columns));
        if (cj_error_of(k)->status) tap_diag("%s", cj_error_of(k)->message);
        const cj_scan_args args = { .x = { x.data, 0, 0 }, .out = { out.data, 0, 0 }, .columns = columns };
        uint64_t carry = 1;
        kb_blank(&out);
        size_t wrong = !kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], k, &args), "launch") || !kb_get(&out);
        for (uint64_t i = 0; i < columns; i++) {
            uint64_t next = then(carry, v[i]);
            wrong += got[i] != (exclusive ? carry : next);
            carry = next;
        }
        tap_is_uint(wrong, 0, "%s scan with a function that does not commute", exclusive ? "exclusive" : "inclusive");
        cj_scan_free(k);
    }
    kb_drop(&x), kb_drop(&out);
    cj_ptx_free(m);
}

/* -- Launches at once ---------------------------------------------------------------------------------------------- */

static cj_dptr part(const kb_memory *m, size_t i) { return cj_offset(m->data, (int64_t)(i * m->bytes / KB_STREAMS)); }

static void at_once(uint64_t columns, bool given)
{
    kb_memory x = kb_take(KB_STREAMS * columns * 4), out = kb_take(KB_STREAMS * columns * 4);
    kb_memory single = kb_take(KB_STREAMS * columns * 4), space = kb_take(KB_STREAMS << 16);
    cj_scan *k = cj_scan_create(kb_dev, CJ_SCAN(.type = CJ_F32, .in_flight = KB_STREAMS, .columns = columns));
    cj_scan_args a[KB_STREAMS];
    size_t wrong = 0, launches = tap_is_slow() ? 6 : given ? 10 : LAUNCHES;
    for (size_t i = 0; i < KB_STREAMS * columns; i++) ((float *)x.host)[i] = (float)kb_uniform();
    memset(space.host, 1, space.bytes);
    kb_put(&x), kb_put(&space), kb_blank(&out), kb_blank(&single);
    for (size_t i = 0; i < KB_STREAMS; i++) {
        a[i] = (cj_scan_args){ .x = { part(&x, i), 0, 0 }, .out = { part(&single, i), 0, 0 },
                               .columns = columns };
        if (given) a[i].workspace = (cj_workspace){ cj_offset(space.data, (int64_t)(i << 16)), 1 << 16 };
        kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], k, &a[i]), "launch");
        cj_stream_sync(kb_s[0]);
        a[i].out.data = part(&out, i);
    }
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < KB_STREAMS; i++) kb_is_ok(kb_s[i], cj_scan_launch(kb_s[i], k, &a[i]), "launch");
    tap_ok(kb_get(&single) && kb_get(&out) && !memcmp(single.host, out.host, out.bytes),
           "a long scan on four streams at once has the bits of single launches");
    kb_blank(&out);
    cj_capture_begin(kb_s[1], given ? CJ_CAPTURE_GLOBAL : CJ_CAPTURE_THREAD);
    kb_is_ok(kb_s[1], cj_scan_launch(kb_s[1], k, &a[0]), "captured launch");
    cj_graph *g = cj_capture_end(kb_s[1]);
    cj_graph_exec *e[2] = { cj_graph_instantiate(g, NULL), cj_graph_instantiate(g, NULL) };
    tap_is_int(cj_error_of(e[1])->status, CJ_OK, "its capture is instantiated twice: %s", cj_error_of(e[1])->message);
    for (size_t i = 0; i < launches; i++) wrong += cj_graph_launch(kb_s[0], e[0]) != CJ_OK;
    tap_ok(!wrong && kb_get(&out) && !memcmp(single.host, out.host, columns * 4),
           "a captured one has the same bits, launched many times");
    kb_blank(&out);
    for (size_t i = 0; i < launches; i++) wrong += cj_graph_launch(kb_beside(2 + (int)i % 2), e[i % 2]) != CJ_OK;
    tap_ok(!wrong && kb_get(&out) && !memcmp(single.host, out.host, columns * 4),
           "so have two executable graphs at once");
    /* other data: nothing is left of the sums before */
    for (size_t i = 0; i < KB_STREAMS * columns; i++) ((float *)x.host)[i] = (float)kb_uniform();
    kb_put(&x), kb_blank(&out), kb_blank(&single);
    cj_graph_launch(kb_s[3], e[1]);
    cj_stream_sync(kb_s[3]);
    a[0].out.data = single.data;
    kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], k, &a[0]), "launch");
    tap_ok(kb_get(&out) && kb_get(&single) && !memcmp(single.host, out.host, columns * 4),
           "a graph scans the data that are there when it is launched");
    cj_scan_free(k);
    kb_blank(&out);
    cj_graph_launch(kb_s[3], e[0]);
    tap_ok(kb_get(&out) && !memcmp(single.host, out.host, columns * 4), "also after the object was freed");
    cj_graph_exec_free(e[0]), cj_graph_exec_free(e[1]), cj_graph_free(g);
    kb_drop(&x), kb_drop(&out), kb_drop(&single), kb_drop(&space);
}

/* Rows of 16 MiB and more are scanned one after the other, in a graph with a state for each of them. */
static void long_rows(void)
{
    enum { ROWS = 2, COLUMNS = (1 << 21) + 2 };
    kb_memory x = kb_take(ROWS * COLUMNS * 8), out = kb_take(ROWS * COLUMNS * 8);
    cj_scan *k = cj_scan_create(kb_dev, CJ_SCAN(.type = CJ_U64, .in_flight = 1, .rows = ROWS, .columns = COLUMNS));
    const cj_scan_args a = { .x = { x.data, 0, 0 }, .out = { out.data, 0, 0 }, .rows = ROWS, .columns = COLUMNS };
    uint64_t *v = x.host, *got = out.host;
    cj_capture_begin(kb_s[0], CJ_CAPTURE_THREAD);
    kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], k, &a), "captured launch");
    cj_graph *g = cj_capture_end(kb_s[0]);
    cj_graph_exec *e[2] = { cj_graph_instantiate(g, NULL), cj_graph_instantiate(g, NULL) };
    tap_is_int(cj_error_of(e[1])->status, CJ_OK, "a scan of long rows is captured: %s", cj_error_of(e[1])->message);
    for (int run = 0; run < (tap_is_slow() ? 1 : 2); run++) {
        size_t wrong = 0;
        for (uint64_t i = 0; i < ROWS * COLUMNS; i++) v[i] = (uint64_t)kb_random() << 20 | kb_random();
        kb_put(&x), kb_blank(&out);
        if (run) {
            for (int i = 0; i < 2; i++) wrong += cj_graph_launch(kb_beside(i), e[i]) != CJ_OK;
            for (int i = 0; i < 2; i++) wrong += cj_stream_sync(kb_s[i]) != CJ_OK;
        } else {
            wrong += !kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], k, &a), "launch");
        }
        wrong += !kb_get(&out);
        for (uint64_t row = 0; row < ROWS; row++) {
            uint64_t sum = 0;
            for (uint64_t i = row * COLUMNS; i < (row + 1) * COLUMNS; i++) wrong += got[i] != (sum += v[i]);
        }
        tap_is_uint(wrong, 0, "a scan of long rows%s", run ? " by two executable graphs at once" : "");
    }
    cj_graph_exec_free(e[0]), cj_graph_exec_free(e[1]), cj_graph_free(g);
    cj_scan_free(k);
    kb_drop(&x), kb_drop(&out);
}

int main(void)
{
    kb_open();
    tap_timeout(200);
    edges();
    const uint64_t tiles = tap_is_slow() ? 9 : 50;
    same_bits(CJ_F32, tiles * TILE + 33);
    same_bits(CJ_F64, tiles * WIDE_TILE + 33);
    if (tap_on_gpu()) same_bits(CJ_F32, 10 * BLOCKS * TILE + 33);
    in_order();
    at_once(6 * TILE + 100, false);
    at_once((tap_is_slow() ? 3 : 34) * TILE + 100, true);
    if (tap_on_gpu()) at_once(3 * BLOCKS * TILE + 100, false);
    if (!tap_under_valgrind()) long_rows();
    return kb_close();
}
