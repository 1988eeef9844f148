/* Reductions, scans and searches join and compare elements in the elements' own type: elements of random bits, and ones
 * that differ in their low bits only, against plain C, of integers in integers.  CJ_COMBINE_MIN and _MAX ignore NaN. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <string.h>

static const cj_type types[] = { CJ_U8,  CJ_S8,  CJ_U16, CJ_S16,  CJ_U32, CJ_S32,
                                 CJ_U64, CJ_S64, CJ_F16, CJ_BF16, CJ_F32, CJ_F64 };
enum { TYPES = sizeof types / sizeof *types, INTEGERS = 8, LONGEST = 17011 };

/* Rows from element `shift` on: of one block and of several; vectors and single elements. */
static const struct { uint64_t columns, shift; } rows[] = { { 700, 0 }, { 1500, 1 }, { LONGEST, 0 }, { LONGEST, 1 } };
enum { ROWS = sizeof rows / sizeof *rows };

/* Any bits; any number; any odd number; numbers that differ in a third of their bits, the lowest ones. */
typedef enum spread { ANY, NUMBERS, ODD, CLOSE, SPREADS } spread;

static struct { kb_memory x[SPREADS], out, space; } bench;

/* -- Plain C ------------------------------------------------------------------------------------------------------- */

static bool is_signed(cj_type t) { return t == CJ_S8 || t == CJ_S16 || t == CJ_S32 || t == CJ_S64; }

/* The bits of an element of integers, as 64 bits. */
static uint64_t whole_of(const void *at, cj_type t)
{
    uint64_t u = 0;
    unsigned above = 64 - 8 * (unsigned)kb_size(t);
    memcpy(&u, at, kb_size(t));
    return is_signed(t) ? (uint64_t)((int64_t)(u << above) >> above) : u;
}

static bool is_less(const void *a, const void *b, cj_type t)
{
    if (kb_floating(t)) return kb_value(a, t) < kb_value(b, t);
    return is_signed(t) ? (int64_t)whole_of(a, t) < (int64_t)whole_of(b, t) : whole_of(a, t) < whole_of(b, t);
}

/* Replaces what is at `to` by its join with an element. */
static void join_to(void *to, const void *x, cj_type t, cj_combine_op op)
{
    uint64_t a = whole_of(to, t), b = whole_of(x, t);
    switch (op) {
    case CJ_COMBINE_MIN: if (is_less(x, to, t)) memcpy(to, x, kb_size(t)); return;
    case CJ_COMBINE_MAX: if (is_less(to, x, t)) memcpy(to, x, kb_size(t)); return;
    case CJ_COMBINE_ADD: a += b; break;
    case CJ_COMBINE_MUL: a *= b; break;
    case CJ_COMBINE_AND: a &= b; break;
    case CJ_COMBINE_OR: a |= b; break;
    default: a ^= b; break;
    }
    memcpy(to, &a, kb_size(t));
}

/* The first element; of floating point what joins without effect, which is left of a row of nothing but NaN. */
static void begin_join(void *to, const void *x, cj_type t, cj_combine_op op)
{
    if (kb_floating(t)) kb_set(to, t, op == CJ_COMBINE_MIN ? INFINITY : -INFINITY);
    else memcpy(to, x, kb_size(t));
}

static void random_elements(cj_type t)
{
    size_t size = kb_size(t);
    unsigned bits = 8 * (unsigned)size;
    const uint64_t low = ((uint64_t)1 << bits / 3) - 1, high = 0x4034567812345678 >> (64 - bits) & ~low;
    for (int how = 0; how < SPREADS; how++) {
        for (uint64_t i = 0; i <= LONGEST; i++) {
            char *e = (char *)bench.x[how].host + i * size;
            do {
                uint64_t b = (uint64_t)kb_random() << 32 | kb_random();
                if (how == ODD) b |= 1;
                if (how == CLOSE) b = high | (b >> 20 & low);
                memcpy(e, &b, size);
            } while (how == NUMBERS && kb_floating(t) && isnan(kb_value(e, t)));
            if (how == ANY && kb_floating(t) && i < 4) kb_set(e, t, NAN);
        }
        kb_put(&bench.x[how]);
    }
}

static cj_rows row_at(cj_type t, spread how, size_t r)
{
    return (cj_rows){ cj_offset(bench.x[how].data, (int64_t)(rows[r].shift * kb_size(t))), 0, 0 };
}

static const char *elements_at(cj_type t, spread how, size_t r)
{
    return (char *)bench.x[how].host + rows[r].shift * kb_size(t);
}

/* Which elements an operation joins: products of even numbers are soon 0. */
static bool joins(cj_combine_op op, spread how)
{
    return op == CJ_COMBINE_MUL ? how == ODD : how == ANY || how == CLOSE;
}

/* -- The kernels --------------------------------------------------------------------------------------------------- */

static size_t wrong_reductions(cj_type t, cj_combine_op op)
{
    size_t wrong = 0, size = kb_size(t);
    cj_reduce *x = cj_reduce_create(kb_dev, CJ_REDUCE(.type = t, .op = op));
    if (cj_error_of(x)->status) tap_diag("%s", cj_error_of(x)->message);
    for (spread how = ANY; how < SPREADS; how++)
        for (size_t r = how % 2; r < ROWS && joins(op, how); r += tap_on_gpu() ? 1 : 2) {
            const cj_reduce_args a = { .x = row_at(t, how, r), .columns = rows[r].columns, .out = bench.out.data,
                                       .workspace = { bench.space.data, bench.space.bytes } };
            const char *e = elements_at(t, how, r);
            unsigned char want[8];
            kb_blank(&bench.out);
            wrong += !kb_is_ok(kb_s[0], cj_reduce_launch(kb_s[0], x, &a), "reduce") || !kb_get(&bench.out);
            begin_join(want, e, t, op);
            for (uint64_t i = !kb_floating(t); i < rows[r].columns; i++) join_to(want, e + i * size, t, op);
            wrong += memcmp(bench.out.host, want, size) != 0;
        }
    cj_reduce_free(x);
    return wrong;
}

static size_t wrong_scans(cj_type t, cj_combine_op op)
{
    size_t wrong = 0, size = kb_size(t);
    cj_scan *x = cj_scan_create(kb_dev, CJ_SCAN(.type = t, .op = op));
    if (cj_error_of(x)->status) tap_diag("%s", cj_error_of(x)->message);
    for (spread how = ANY; how < SPREADS; how++)
        for (size_t r = how == CLOSE; r < ROWS && joins(op, how); r += how == CLOSE && !tap_on_gpu() ? 2 : 1) {
            const cj_scan_args a = { .x = row_at(t, how, r), .out = { bench.out.data, 0, 0 },
                                     .columns = rows[r].columns,
                                     .workspace = { bench.space.data, bench.space.bytes } };
            const char *e = elements_at(t, how, r);
            unsigned char want[8];
            kb_blank(&bench.out);
            wrong += !kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], x, &a), "scan") || !kb_get(&bench.out);
            begin_join(want, e, t, op);
            for (uint64_t i = 0; i < rows[r].columns; i++) {
                if (i || kb_floating(t)) join_to(want, e + i * size, t, op);
                wrong += memcmp((char *)bench.out.host + i * size, want, size) != 0;
            }
        }
    cj_scan_free(x);
    return wrong;
}

static size_t wrong_columns(cj_type t, bool least)
{
    size_t wrong = 0, size = kb_size(t);
    cj_argmax *x = cj_argmax_create(kb_dev, CJ_ARGMAX(.type = t, .least = least));
    if (cj_error_of(x)->status) tap_diag("%s", cj_error_of(x)->message);
    for (int k = 0; k < 2; k++)
        for (size_t r = 0; r < ROWS; r++) {
            spread how = k ? CLOSE : NUMBERS;
            const cj_argmax_args a = { .x = row_at(t, how, r), .columns = rows[r].columns, .out = bench.out.data,
                                       .workspace = { bench.space.data, bench.space.bytes } };
            const char *e = elements_at(t, how, r);
            uint64_t best = 0;
            kb_blank(&bench.out);
            wrong += !kb_is_ok(kb_s[0], cj_argmax_launch(kb_s[0], x, &a), "argmax") || !kb_get(&bench.out);
            for (uint64_t i = 1; i < rows[r].columns; i++) {
                const char *one = e + i * size, *other = e + best * size;
                if (least ? is_less(one, other, t) : is_less(other, one, t)) best = i;
            }
            wrong += *(uint64_t *)bench.out.host != best;
        }
    cj_argmax_free(x);
    return wrong;
}

/* Each type has some of the operations other than MIN and MAX, on a GPU half of them. */
static bool has_scan(size_t t, int op)
{
    if (op == CJ_COMBINE_MIN || op == CJ_COMBINE_MAX) return true;
    return t < INTEGERS && (t + (size_t)op) % (tap_on_gpu() ? 2 : 5) == 0;
}

int main(void)
{
    kb_open();
    tap_timeout(200);
    for (int how = 0; how < SPREADS; how++) bench.x[how] = kb_take((LONGEST + 1) * 8);
    bench.out = kb_take((LONGEST + 1) * 8), bench.space = kb_take(1 << 16);
    for (size_t t = 0; t < TYPES; t += tap_is_slow() ? 3 : 1) {
        random_elements(types[t]);
        for (int op = CJ_COMBINE_ADD; op <= CJ_COMBINE_XOR; op++) {
            const char *operation = cj_enum_name("cj_combine_op", op), *type = kb_name(types[t]);
            if (kb_floating(types[t]) && op != CJ_COMBINE_MIN && op != CJ_COMBINE_MAX) continue;
            tap_is_uint(wrong_reductions(types[t], (cj_combine_op)op), 0, "%s reduces %s", operation, type);
            if (has_scan(t, op))
                tap_is_uint(wrong_scans(types[t], (cj_combine_op)op), 0, "%s scans %s", operation, type);
        }
        for (int least = 0; least < 2; least++)
            tap_is_uint(wrong_columns(types[t], least), 0, "the %s element of %s is found",
                        least ? "least" : "greatest", kb_name(types[t]));
    }
    for (int how = 0; how < SPREADS; how++) kb_drop(&bench.x[how]);
    kb_drop(&bench.out), kb_drop(&bench.space);
    return kb_close();
}
