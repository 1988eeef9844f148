/* Scans of rows, and where the greatest element is: types, odd sizes, in place, a function that is not commutative. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint64_t lengths[] = { 1,    2,    31,   33,   64,   255,  256,   257,  300,
                                    1021, 2047, 2048, 2049, 4093, 6151, 20011, 18001 };
enum { LENGTHS = sizeof lengths / sizeof *lengths, LONGEST = 20011, TALLEST = 3 };

static double join(cj_combine_op op, double a, double b)
{
    switch (op) {
    case CJ_COMBINE_ADD: return a + b;
    case CJ_COMBINE_MUL: return a * b;
    case CJ_COMBINE_MIN: return fmin(a, b);
    default: return fmax(a, b);
    }
}

/* Sums of small whole numbers, exact in each type: the types wrap, of f16 and bf16 the running sums are small. */
static double small(cj_type t, uint64_t i)
{
    if (t == CJ_F16 || t == CJ_BF16) return i % 2 ? -3 : 3;
    return (double)((i * 2654435761u >> 7) % 5) - (t == CJ_U32 || t == CJ_U64 || t == CJ_U8 || t == CJ_U16 ? 0 : 2);
}

static void each_scan(void)
{
    static const struct { cj_type type; cj_combine_op op; int exclusive;
    } cases[] = {
        { CJ_U32, CJ_COMBINE_ADD, 0 }, { CJ_U32, CJ_COMBINE_ADD, 1 },  { CJ_S32, CJ_COMBINE_MAX, 0 },
        { CJ_U64, CJ_COMBINE_ADD, 0 }, { CJ_S64, CJ_COMBINE_ADD, 1 },  { CJ_F32, CJ_COMBINE_ADD, 0 },
        { CJ_F32, CJ_COMBINE_MIN, 1 }, { CJ_F64, CJ_COMBINE_ADD, 0 },  { CJ_F64, CJ_COMBINE_ADD, 1 },
        { CJ_F16, CJ_COMBINE_ADD, 0 }, { CJ_BF16, CJ_COMBINE_ADD, 1 }, { CJ_U8, CJ_COMBINE_ADD, 0 },
        { CJ_S8, CJ_COMBINE_ADD, 1 },  { CJ_U16, CJ_COMBINE_MAX, 0 },  { CJ_S16, CJ_COMBINE_ADD, 0 },
    };
    kb_memory x = kb_take(TALLEST * (LONGEST + 3) * 8), out = kb_take(TALLEST * LONGEST * 8), space = kb_take(1 << 16);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        cj_type type = cases[k].type;
        size_t size = kb_size(type), wrong = 0;
        cj_scan *c = cj_scan_create(kb_dev, CJ_SCAN(.type = type, .op = cases[k].op, .exclusive = cases[k].exclusive));
        if (cj_error_of(c)->status) tap_diag("%s", cj_error_of(c)->message);
        for (uint64_t i = 0; i < TALLEST * (LONGEST + 3); i++) kb_set((char *)x.host + i * size, type, small(type, i));
        kb_put(&x);
        for (size_t l = k % 4; l < LENGTHS; l += tap_is_slow() ? 8 : 4) {
            uint64_t n = lengths[l], rows = 1 + l % TALLEST;
            cj_scan_args a = { .x = { x.data, (int64_t)n + 3, 0 },
                               .out = { out.data, 0, 0 },
                               .rows = rows,
                               .columns = n,
                               .workspace = { space.data, cj_scan_workspace(c, rows, n) } };
            kb_blank(&out);
            wrong += !kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], c, &a), "launch") || !kb_get(&out);
            for (uint64_t row = 0; row < rows; row++) {
                unsigned char carry[8] = { 0 }, next[8] = { 0 };
                if (cases[k].op == CJ_COMBINE_MIN) kb_set(carry, type, INFINITY);
                for (uint64_t i = 0; i < n; i++) {
                    double v = kb_value((char *)x.host + (row * (n + 3) + i) * size, type),
                           before = kb_value(carry, type);
                    kb_set(next, type, !i && !cases[k].exclusive ? v : join(cases[k].op, before, v));
                    wrong +=
                        memcmp((char *)out.host + (row * n + i) * size, cases[k].exclusive ? carry : next, size) != 0;
                    memcpy(carry, next, 8);
                }
            }
        }
        tap_is_uint(wrong, 0, "%s scan of %s by operation %d", cases[k].exclusive ? "exclusive" : "inclusive",
                    kb_name(type), cases[k].op);
        cj_scan_free(c);
    }
    kb_drop(&x), kb_drop(&out), kb_drop(&space);
}

/* The error is that of the type: half a unit for each of the joins that a result has behind it, about log2 of the
 * columns and what a thread joins by itself. */
static void in_place_and_random(cj_type type, double bound)
{
    size_t size = kb_size(type), bytes = LONGEST * size;
    kb_memory x = kb_take(bytes), space = kb_take(1 << 16);
    static unsigned char first[LONGEST * 8], before[LONGEST * 8];
    cj_scan *c = cj_scan_create(kb_dev, CJ_SCAN(.type = type));
    for (int run = 0; run < (tap_is_slow() ? 2 : 4); run++) {
        long double want = 0, magnitude = 0;
        double worst = 0;
        for (size_t i = 0; i < LONGEST && !run; i++) kb_set(first + i * size, type, kb_uniform() + kb_uniform() / 3);
        memcpy(x.host, first, bytes);
        kb_put(&x);
        cj_scan_args a = {
            .x = { x.data, 0, 0 }, .out = { x.data, 0, 0 }, .columns = LONGEST, .workspace = { space.data, space.bytes }
        };
        kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], c, &a), "launch");
        kb_get(&x);
        for (size_t i = 0; i < LONGEST && !run; i++) {
            double v = kb_value(first + i * size, type);
            want += v, magnitude += fabs(v);
            kb_note_error(&worst, (double)(fabsl(kb_value((char *)x.host + i * size, type) - want) / magnitude));
        }
        if (!run) tap_ok(worst < bound, "a scan of %s in place has an error of %.2g of the sum of magnitudes",
                         kb_name(type), worst);
        else tap_is_mem(x.host, before, bytes, "it has the same bits in each run");
        memcpy(before, x.host, bytes);
    }
    cj_scan_free(c);
    kb_drop(&x), kb_drop(&space);
}

/* Maps x -> p x + q mod 2^32. */
static void in_order(void)
{
    cj_ptx *m = kb_maps_module();
    kb_memory x = kb_take(LONGEST * 8), out = kb_take(LONGEST * 8), space = kb_take(1 << 16);
    uint64_t *v = x.host, *got = out.host;
    for (uint64_t i = 0; i < LONGEST; i++) v[i] = (uint64_t)kb_random() << 32 | (kb_random() | 1);
    kb_put(&x);
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        cj_scan *c = cj_scan_create(
            kb_dev, CJ_SCAN(.type = CJ_U64, .module = m, .function = "then", .identity = 1, .exclusive = exclusive));
        if (cj_error_of(c)->status) tap_diag("%s", cj_error_of(c)->message);
        size_t wrong = 0;
        for (size_t l = exclusive; l < LENGTHS; l += 7) {
            cj_scan_args args = { .x = { x.data, 0, 0 },
                                  .out = { out.data, 0, 0 },
                                  .columns = lengths[l],
                                  .workspace = { space.data, space.bytes } };
            uint32_t p = 1, s = 0;
            kb_blank(&out);
            wrong += !kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], c, &args), "launch") || !kb_get(&out);
            for (uint64_t i = 0; i < lengths[l]; i++) {
                if (exclusive) wrong += got[i] != ((uint64_t)s << 32 | p);
                s = (uint32_t)v[i] * s + (uint32_t)(v[i] >> 32), p *= (uint32_t)v[i];
                if (!exclusive) wrong += got[i] != ((uint64_t)s << 32 | p);
            }
        }
        tap_is_uint(wrong, 0, "%s scan with a function that does not commute", exclusive ? "exclusive" : "inclusive");
        cj_scan_free(c);
    }
    kb_drop(&x), kb_drop(&out), kb_drop(&space);
    cj_ptx_free(m);
}

/* ---- The greatest element ---------------------------------------------------------------------------------------- */

static bool beyond(double a, double b, bool least)
{
    if (a != a) return b == b;
    return b == b && (least ? a < b : a > b);
}

static void each_argmax(void)
{
    static const cj_type types[] = { CJ_F32, CJ_F64, CJ_F16, CJ_BF16, CJ_S8,  CJ_U8,
                                     CJ_S16, CJ_U16, CJ_S32, CJ_U32,  CJ_S64, CJ_U64 };
    static const cj_type indices[] = { CJ_S64, CJ_U32, CJ_U64, CJ_S32 };
    kb_memory x = kb_take(TALLEST * LONGEST * 8), out = kb_take(TALLEST * 8), space = kb_take(1 << 16);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        cj_type type = types[t], index = indices[t % 4];
        size_t size = kb_size(type), wrong = 0;
        bool least = t % 3 == 1;
        cj_argmax *c = cj_argmax_create(kb_dev, CJ_ARGMAX(.type = type, .index_type = index, .least = least));
        if (cj_error_of(c)->status) tap_diag("%s", cj_error_of(c)->message);
        for (size_t l = t % 3; l < LENGTHS; l += tap_is_slow() ? 9 : 3) {
            uint64_t n = lengths[l], rows = 1 + l % TALLEST;
            bool nan = kb_floating(type) && l % 2;
            for (uint64_t i = 0; i < rows * n; i++) {
                double v = floor(kb_uniform() * 100);
                if (!kb_floating(type) && type != CJ_S8 && type != CJ_S16 && type != CJ_S32 && type != CJ_S64)
                    v = fabs(v);
                if (kb_floating(type) && i % 50 == 7) v = v < 0 ? -0.0 : 0;
                kb_set((char *)x.host + i * size, type, v);
                if (nan && i % n == n - 1 - n / 3) kb_set((char *)x.host + i * size, type, NAN);
            }
            kb_put(&x);
            cj_argmax_args a = { .x = { x.data, 0, 0 },
                                 .rows = rows,
                                 .columns = n,
                                 .out = out.data,
                                 .workspace = { space.data, space.bytes } };
            kb_blank(&out);
            wrong += !kb_is_ok(kb_s[0], cj_argmax_launch(kb_s[0], c, &a), "launch") || !kb_get(&out);
            for (uint64_t row = 0; row < rows; row++) {
                uint64_t best = 0, got = 0;
                for (uint64_t i = 1; i < n; i++)
                    if (beyond(kb_value((char *)x.host + (row * n + i) * size, type),
                               kb_value((char *)x.host + (row * n + best) * size, type), least))
                        best = i;
                memcpy(&got, (char *)out.host + row * kb_size(index), kb_size(index));
                wrong += got != best;
            }
        }
        tap_is_uint(wrong, 0, "the first %s element of rows of %s", least ? "least" : "greatest", kb_name(type));
        cj_argmax_free(c);
    }
    /* all the same and least of all: the first */
    cj_argmax *c = cj_argmax_create(kb_dev, CJ_ARGMAX(.type = CJ_F32, .index_type = CJ_U32));
    for (int i = 0; i < LONGEST; i++) ((float *)x.host)[i] = -INFINITY;
    kb_put(&x);
    cj_argmax_args a = {
        .x = { x.data, 0, 0 }, .columns = LONGEST, .out = out.data, .workspace = { space.data, space.bytes }
    };
    kb_is_ok(kb_s[0], cj_argmax_launch(kb_s[0], c, &a), "launch");
    tap_ok(kb_get(&out) && *(uint32_t *)out.host == 0, "the first of equal elements, also of -infinity");
    ((float *)x.host)[70] = -0.0f, ((float *)x.host)[71] = 0;
    kb_put(&x);
    kb_is_ok(kb_s[0], cj_argmax_launch(kb_s[0], c, &a), "launch");
    tap_ok(kb_get(&out) && *(uint32_t *)out.host == 70, "-0 equals 0");
    cj_argmax_free(c);
    kb_drop(&x), kb_drop(&out), kb_drop(&space);
}

int main(void)
{
    kb_open();
    each_scan();
    in_place_and_random(CJ_F32, 3e-7);
    in_place_and_random(CJ_F64, 1e-15);
    in_order();
    each_argmax();
    return kb_close();
}
