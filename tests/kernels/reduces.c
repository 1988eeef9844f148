/* Reductions of rows: each type and operation, odd sizes, strides, a function that is not commutative, atomics. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static const uint64_t lengths[] = { 0,   1,    2,    31,   32,   33,   63,   255,  256,   257,
                                    300, 1021, 1024, 1025, 4095, 4096, 4097, 8191, 12289, 20011 };
enum { LENGTHS = sizeof lengths / sizeof *lengths, LONGEST = 20011, TALLEST = 3 };

/* Small whole numbers whose sums are exact in each type; products stay 0, 1, 2 or -1. */
static double whole(cj_type t, cj_combine_op op, uint64_t i)
{
    if (op == CJ_COMBINE_MUL) return i % 97 == 5 && i < 400 ? 2 : 1;
    if (op == CJ_COMBINE_ADD && (t == CJ_F16 || t == CJ_BF16)) return i % 501 ? 0 : 1;
    double v = (double)((i * 2654435761u >> 7) % 61);
    return t == CJ_U8 || t == CJ_U16 || t == CJ_U32 || t == CJ_U64 ? v : v - 30;
}

static double join(cj_combine_op op, double a, double b)
{
    switch (op) {
    case CJ_COMBINE_ADD: return a + b;
    case CJ_COMBINE_MUL: return a * b;
    case CJ_COMBINE_MIN: return fmin(a, b);
    case CJ_COMBINE_MAX: return fmax(a, b);
    case CJ_COMBINE_AND: return (double)((int64_t)a & (int64_t)b);
    case CJ_COMBINE_OR: return (double)((int64_t)a | (int64_t)b);
    default: return (double)((int64_t)a ^ (int64_t)b);
    }
}

/* The bits of the result of no columns. */
static void set_identity(void *at, cj_type t, cj_combine_op op)
{
    static const double ends[] = { INFINITY, -INFINITY };
    memset(at, op == CJ_COMBINE_AND ? 0xFF : 0, kb_size(t));
    if (op == CJ_COMBINE_MUL) kb_set(at, t, 1);
    if (op != CJ_COMBINE_MIN && op != CJ_COMBINE_MAX) return;
    if (kb_floating(t)) {
        kb_set(at, t, ends[op == CJ_COMBINE_MAX]);
        return;
    }
    const uint64_t sign = (uint64_t)1 << (8 * kb_size(t) - 1);
    const bool negative = t == CJ_S8 || t == CJ_S16 || t == CJ_S32 || t == CJ_S64;
    const uint64_t most = negative ? sign - 1 : UINT64_MAX, least = negative ? sign : 0;
    memcpy(at, op == CJ_COMBINE_MIN ? &most : &least, kb_size(t));
}

static void each_type(void)
{
    static const cj_type types[] = { CJ_U8,  CJ_S8,  CJ_U16, CJ_S16,  CJ_U32, CJ_S32,
                                     CJ_U64, CJ_S64, CJ_F16, CJ_BF16, CJ_F32, CJ_F64 };
    kb_memory x = kb_take(TALLEST * (LONGEST + 3) * 8), out = kb_take(TALLEST * 8), space = kb_take(1 << 20);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int op = CJ_COMBINE_ADD; op <= CJ_COMBINE_XOR; op++) {
            cj_type type = types[t];
            size_t size = kb_size(type), wrong = 0;
            if (kb_floating(type) && op >= CJ_COMBINE_AND) continue;
            cj_reduce *r = cj_reduce_create(kb_dev, CJ_REDUCE(.type = type, .op = op));
            if (cj_error_of(r)->status) tap_diag("%s", cj_error_of(r)->message);
            for (uint64_t i = 0; i < TALLEST * (LONGEST + 3); i++)
                kb_set((char *)x.host + i * size, type, whole(type, (cj_combine_op)op, i));
            kb_put(&x);
            for (size_t l = (t + (size_t)op) % 3; l < LENGTHS; l += tap_is_slow() ? 9 : 3) {
                uint64_t rows = 1 + l % TALLEST, n = lengths[l];
                cj_reduce_args a = { .x = { x.data, (int64_t)n + 3, 0 }, .rows = rows, .columns = n, .out = out.data,
                                     .workspace = { space.data, cj_reduce_workspace(r, rows, n) } };
                kb_blank(&out);
                if (!kb_is_ok(kb_s[0], cj_reduce_launch(kb_s[0], r, &a), "launch") || !kb_get(&out)) wrong++;
                for (uint64_t row = 0; row < rows; row++) {
                    unsigned char want[8];
                    set_identity(want, type, (cj_combine_op)op);
                    for (uint64_t i = 0; i < n; i++) {
                        double v = kb_value((char *)x.host + (row * (n + 3) + i) * size, type);
                        kb_set(want, type, i ? join((cj_combine_op)op, kb_value(want, type), v) : v);
                    }
                    wrong += memcmp((char *)out.host + row * size, want, size) != 0;
                }
                if (n < LONGEST)
                    for (size_t i = rows * size; i < out.bytes; i++) wrong += ((unsigned char *)out.host)[i] != 0xFF;
            }
            tap_is_uint(wrong, 0, "rows of %s by operation %d are joined exactly", kb_name(type), op);
            cj_reduce_free(r);
        }
    kb_drop(&x), kb_drop(&out), kb_drop(&space);
}

/* Random numbers against f64, and the same bits each time. */
static void random_sums(void)
{
    kb_memory x = kb_take(LONGEST * 8), out = kb_take(8), space = kb_take(1 << 16);
    static const cj_type types[] = { CJ_F32, CJ_F64, CJ_BF16, CJ_F16 };
    for (size_t t = 0; t < 4; t++) {
        size_t size = kb_size(types[t]), changed = 0;
        double sum = 0, all = 0, first = 0;
        cj_reduce *r =
            cj_reduce_create(kb_dev, CJ_REDUCE(.type = types[t], .out_type = types[t] == CJ_F64 ? CJ_F64 : CJ_F32));
        for (uint64_t i = 0; i < LONGEST; i++) {
            kb_set((char *)x.host + i * size, types[t], kb_uniform());
            sum += kb_value((char *)x.host + i * size, types[t]);
            all += fabs(kb_value((char *)x.host + i * size, types[t]));
        }
        kb_put(&x);
        for (int run = 0; run < (tap_is_slow() ? 2 : 5); run++) {
            cj_reduce_args a = {
                .x = { x.data, 0, 0 }, .columns = LONGEST, .out = out.data, .workspace = { space.data, space.bytes }
            };
            kb_blank(&out);
            kb_is_ok(kb_s[0], cj_reduce_launch(kb_s[0], r, &a), "launch");
            kb_get(&out);
            double got = kb_value(out.host, types[t] == CJ_F64 ? CJ_F64 : CJ_F32);
            if (run) changed += got != first;
            first = got;
        }
        double error = fabs(first - sum) / all;
        tap_ok(error < (types[t] == CJ_F64 ? 1e-15 : 1e-7), "a sum of %s has an error of %.2g of the sum of magnitudes",
               kb_name(types[t]), error);
        tap_is_uint(changed, 0, "it has the same bits in each run");
        cj_reduce_free(r);
    }
    kb_drop(&x), kb_drop(&out), kb_drop(&space);
}

/* Maps x -> p x + q mod 2^32, one behind the other: associative, and they do not commute. */
static void in_order(void)
{
    cj_ptx *m = kb_maps_module();
    cj_reduce *r = cj_reduce_create(kb_dev, CJ_REDUCE(.type = CJ_U64, .module = m, .function = "then", .identity = 1));
    if (cj_error_of(r)->status) tap_diag("%s", cj_error_of(r)->message);
    kb_memory x = kb_take(LONGEST * 8), out = kb_take(8), space = kb_take(1 << 16);
    uint64_t *v = x.host;
    size_t wrong = 0;
    for (uint64_t i = 0; i < LONGEST; i++) v[i] = (uint64_t)kb_random() << 32 | (kb_random() | 1);
    kb_put(&x);
    for (size_t l = 0; l < LENGTHS; l += tap_is_slow() ? 5 : 1) {
        cj_reduce_args args = {
            .x = { x.data, 0, 0 }, .columns = lengths[l], .out = out.data, .workspace = { space.data, space.bytes }
        };
        uint32_t p = 1, s = 0;
        for (uint64_t i = 0; i < lengths[l]; i++) s = (uint32_t)v[i] * s + (uint32_t)(v[i] >> 32), p *= (uint32_t)v[i];
        kb_blank(&out);
        kb_is_ok(kb_s[0], cj_reduce_launch(kb_s[0], r, &args), "launch");
        wrong += !kb_get(&out) || *(uint64_t *)out.host != ((uint64_t)s << 32 | p);
    }
    tap_is_uint(wrong, 0, "a function that does not commute joins in the order of the columns");
    kb_drop(&x), kb_drop(&out), kb_drop(&space);
    cj_reduce_free(r);
    cj_ptx_free(m);
}

static void strides(void)
{
    enum { ROWS = 5, COLUMNS = 37 };
    kb_memory x = kb_take(4 * ROWS * COLUMNS), out = kb_take(4 * COLUMNS);
    int32_t *v = x.host, *got = out.host, want;
    cj_reduce *r = cj_reduce_create(kb_dev, CJ_REDUCE(.type = CJ_S32));
    size_t wrong = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++) v[i] = (int32_t)kb_random();
    kb_put(&x);
    kb_blank(&out);
    cj_reduce_args down = { .x = { x.data, 1, COLUMNS }, .rows = COLUMNS, .columns = ROWS, .out = out.data };
    kb_is_ok(kb_s[0], cj_reduce_launch(kb_s[0], r, &down), "columns as rows");
    wrong += !kb_get(&out);
    for (int c = 0; c < COLUMNS; c++) {
        want = 0;
        for (int row = 0; row < ROWS; row++) want = (int32_t)((uint32_t)want + (uint32_t)v[row * COLUMNS + c]);
        wrong += got[c] != want;
    }
    tap_is_uint(wrong, 0, "columns of a matrix are rows with a step");
    kb_blank(&out);
    cj_reduce_args back = {
        .x = { cj_offset(x.data, 4 * (COLUMNS - 1)), CJ_ROWS_SAME, -1 }, .rows = 2, .columns = COLUMNS, .out = out.data
    };
    kb_is_ok(kb_s[0], cj_reduce_launch(kb_s[0], r, &back), "backwards");
    want = 0;
    for (int c = 0; c < COLUMNS; c++) want = (int32_t)((uint32_t)want + (uint32_t)v[c]);
    tap_ok(kb_get(&out) && got[0] == want && got[1] == want, "a step may be negative, and all rows the same");
    cj_reduce_free(r);
    kb_drop(&x), kb_drop(&out);
}

static void atomics(void)
{
    static const struct { cj_type type; cj_combine_op op; double start, want; } cases[] = {
        { CJ_U32, CJ_COMBINE_ADD, 5, 5 + 9000 * 3.0 }, { CJ_S64, CJ_COMBINE_ADD, -7, -7 + 9000 * 3.0 },
        { CJ_F32, CJ_COMBINE_ADD, 1, 1 + 9000 * 3.0 }, { CJ_F64, CJ_COMBINE_ADD, 1, 1 + 9000 * 3.0 },
        { CJ_S32, CJ_COMBINE_MIN, 5, 3 },              { CJ_U64, CJ_COMBINE_MAX, 5, 5 },
        { CJ_U32, CJ_COMBINE_OR, 4, 7 },               { CJ_U32, CJ_COMBINE_XOR, 4, 4 },
        { CJ_U32, CJ_COMBINE_AND, 6, 2 },
    };
    kb_memory x = kb_take(9000 * 8), out = kb_take(8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_reduce *r = cj_reduce_create(kb_dev, CJ_REDUCE(.type = cases[i].type, .op = cases[i].op, .atomic = 1));
        for (int k = 0; k < 9000; k++) kb_set((char *)x.host + (size_t)k * kb_size(cases[i].type), cases[i].type, 3);
        memset(out.host, 0xFF, 8);
        kb_set(out.host, cases[i].type, cases[i].start);
        kb_put(&x), kb_put(&out);
        cj_reduce_args a = { .x = { x.data, 0, 0 }, .columns = 9000, .out = out.data };
        kb_is_ok(kb_s[0], cj_reduce_launch(kb_s[0], r, &a), "launch");
        kb_get(&out);
        tap_is_f64(kb_value(out.host, cases[i].type), cases[i].want,
                   "operation %d of %s joins what is there by atomic operations", cases[i].op, kb_name(cases[i].type));
        tap_is_uint(cj_reduce_workspace(r, 1, 9000), 0, "without workspace");
        cj_reduce_free(r);
    }
    kb_drop(&x), kb_drop(&out);
}

int main(void)
{
    kb_open();
    each_type();
    random_sums();
    in_order();
    strides();
    atomics();
    return kb_close();
}
