/* Reductions and scans whose elements, results and computations have different types.  An element becomes a value of
 * the type that is computed in.  Of the result the low bits, or the nearest number, are stored. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <string.h>

enum { LONGEST = 17011, MOST = (LONGEST + 1) * 8 };

/* Elements of random bits; whole numbers from -2 to 2, without a sign from 0 to 4; 3 and -3, whose running sums are
 * small; numbers of 20 bits behind the point, whose sums f32 does not hold. */
typedef enum kind { BITS, WHOLE, TURNS, FINE } kind;

/* wide: 0 is 32 bits for smaller elements, else their type.  exclusive: of the scan, whose first result is 0. */
typedef struct option_case { cj_type type, out, wide; cj_combine_op op; kind of; int exclusive; } option_case;

static const option_case cases[] = {
    { CJ_U8, CJ_U64, CJ_U64, CJ_COMBINE_ADD, BITS, 0 },     { CJ_S8, CJ_S64, CJ_S64, CJ_COMBINE_ADD, BITS, 1 },
    { CJ_U8, CJ_F32, CJ_F32, CJ_COMBINE_ADD, BITS, 0 },     { CJ_S16, CJ_F64, CJ_F64, CJ_COMBINE_ADD, BITS, 1 },
    { CJ_F32, CJ_F64, CJ_F64, CJ_COMBINE_ADD, FINE, 0 },    { CJ_F16, CJ_F64, CJ_F64, CJ_COMBINE_ADD, WHOLE, 1 },
    { CJ_BF16, CJ_F32, CJ_F64, CJ_COMBINE_ADD, WHOLE, 0 },  { CJ_U32, CJ_U64, CJ_U64, CJ_COMBINE_ADD, BITS, 1 },
    { CJ_S32, CJ_S64, CJ_S64, CJ_COMBINE_ADD, BITS, 0 },    { CJ_S32, CJ_F32, CJ_S64, CJ_COMBINE_ADD, WHOLE, 1 },
    { CJ_F32, CJ_S32, CJ_F32, CJ_COMBINE_ADD, WHOLE, 0 },   { CJ_U64, CJ_F64, CJ_U64, CJ_COMBINE_ADD, WHOLE, 1 },
    { CJ_S8, CJ_F16, CJ_S32, CJ_COMBINE_ADD, TURNS, 0 },    { CJ_U8, CJ_S16, CJ_S32, CJ_COMBINE_ADD, BITS, 1 },
    { CJ_F64, CJ_BF16, CJ_F64, CJ_COMBINE_ADD, TURNS, 0 },  { CJ_F32, CJ_U8, CJ_S32, CJ_COMBINE_ADD, WHOLE, 1 },
    { CJ_F64, CJ_F32, CJ_F32, CJ_COMBINE_ADD, WHOLE, 0 },   { CJ_U16, CJ_U32, CJ_VOID, CJ_COMBINE_ADD, BITS, 1 },
    { CJ_S8, CJ_S64, CJ_S64, CJ_COMBINE_MIN, BITS, 0 },     { CJ_U8, CJ_S32, CJ_VOID, CJ_COMBINE_MAX, BITS, 0 },
    { CJ_U32, CJ_U16, CJ_VOID, CJ_COMBINE_XOR, BITS, 0 },   { CJ_U32, CJ_U64, CJ_U32, CJ_COMBINE_ADD, BITS, 1 },
    { CJ_S32, CJ_S64, CJ_S32, CJ_COMBINE_ADD, BITS, 0 },    { CJ_S16, CJ_U64, CJ_S64, CJ_COMBINE_AND, BITS, 0 },
    { CJ_BF16, CJ_F32, CJ_VOID, CJ_COMBINE_MAX, TURNS, 0 },
};

static struct { kb_memory x, out, space; } bench;

/* -- Plain C ------------------------------------------------------------------------------------------------------- */

static bool is_signed(cj_type t) { return t == CJ_S8 || t == CJ_S16 || t == CJ_S32 || t == CJ_S64; }

/* The low bits of `u`, an integer of the type, as 64 bits. */
static uint64_t as_whole(uint64_t u, cj_type t)
{
    unsigned above = 64 - 8 * (unsigned)kb_size(t);
    return is_signed(t) ? (uint64_t)((int64_t)(u << above) >> above) : u << above >> above;
}

static cj_type computed_in(const option_case *c)
{
    if (c->wide) return c->wide;
    if (kb_size(c->type) >= 4) return c->type;
    return kb_floating(c->type) ? CJ_F32 : is_signed(c->type) ? CJ_S32 : CJ_U32;
}

static void put_elements(const option_case *c)
{
    size_t size = kb_size(c->type);
    for (size_t i = 0; i <= LONGEST; i++) {
        char *e = (char *)bench.x.host + i * size;
        uint64_t bits = (uint64_t)kb_random() << 32 | kb_random();
        int whole = (int)(kb_random() >> 8) % 5;
        switch (c->of) {
        case BITS: memcpy(e, &bits, size); break;
        case WHOLE: kb_set(e, c->type, is_signed(c->type) || kb_floating(c->type) ? whole - 2 : whole); break;
        case TURNS: kb_set(e, c->type, i % 2 ? -3 : 3); break;
        default: kb_set(e, c->type, floor(kb_uniform() * 0x1p21) * 0x1p-20); break;
        }
    }
    kb_put(&bench.x);
}

/* A value that is computed with: a number or the bits of an integer. */
typedef struct value { double number; uint64_t whole; } value;

static value value_of(const void *e, const option_case *c)
{
    value v = { .number = kb_value(e, c->type) };
    memcpy(&v.whole, e, kb_size(c->type));
    v.whole = kb_floating(c->type) ? (uint64_t)(int64_t)v.number : as_whole(v.whole, c->type);
    return v;
}

/* Sums of numbers are exact. */
static value join(value a, value b, const option_case *c)
{
    cj_type t = computed_in(c);
    bool less = kb_floating(t) ? b.number < a.number
                               : is_signed(t) ? (int64_t)b.whole < (int64_t)a.whole : b.whole < a.whole;
    switch (c->op) {
    case CJ_COMBINE_MIN: return less ? b : a;
    case CJ_COMBINE_MAX: return less ? a : b;
    case CJ_COMBINE_XOR: a.whole ^= b.whole; break;
    case CJ_COMBINE_AND: a.whole &= b.whole; break;
    default: a.number += b.number, a.whole += b.whole; break;
    }
    if (!kb_floating(t)) a.whole = as_whole(a.whole, t);
    return a;
}

static bool is_stored(const void *got, value v, const option_case *c)
{
    cj_type t = computed_in(c);
    unsigned char want[8];
    double number = kb_floating(t) ? v.number : is_signed(t) ? (double)(int64_t)v.whole : (double)v.whole;
    if (kb_floating(c->out) || kb_floating(t)) kb_set(want, c->out, number);
    else memcpy(want, &v.whole, kb_size(c->out));
    return !memcmp(got, want, kb_size(c->out));
}

/* -- The kernels --------------------------------------------------------------------------------------------------- */

/* From element `shift` on. */
static const struct { uint64_t columns, shift; } rows[] = { { 1000, 0 }, { LONGEST, 0 }, { LONGEST, 1 } };
enum { ROWS = sizeof rows / sizeof *rows };

static size_t wrong_reductions(const option_case *c)
{
    size_t wrong = 0;
    cj_reduce *x = cj_reduce_create(kb_dev, CJ_REDUCE(.type = c->type, .out_type = c->out, .wide = c->wide,
                                                      .op = c->op));
    if (cj_error_of(x)->status) tap_diag("%s", cj_error_of(x)->message);
    for (size_t r = 0; r < ROWS; r++) {
        size_t shift = rows[r].shift * kb_size(c->type);
        const char *e = (char *)bench.x.host + shift;
        cj_reduce_args a = { .x = { cj_offset(bench.x.data, (int64_t)shift), 0, 0 }, .columns = rows[r].columns,
                             .out = bench.out.data, .workspace = { bench.space.data, bench.space.bytes } };
        kb_blank(&bench.out);
        wrong += !kb_is_ok(kb_s[0], cj_reduce_launch(kb_s[0], x, &a), "reduce") || !kb_get(&bench.out);
        value v = value_of(e, c);
        for (uint64_t i = 1; i < rows[r].columns; i++) v = join(v, value_of(e + i * kb_size(c->type), c), c);
        wrong += !is_stored(bench.out.host, v, c);
        for (size_t i = kb_size(c->out); i < 16; i++) wrong += ((unsigned char *)bench.out.host)[i] != 0xFF;
    }
    cj_reduce_free(x);
    return wrong;
}

static size_t wrong_scans(const option_case *c)
{
    size_t wrong = 0;
    cj_scan *x = cj_scan_create(kb_dev, CJ_SCAN(.type = c->type, .out_type = c->out, .wide = c->wide, .op = c->op,
                                                .exclusive = c->exclusive));
    if (cj_error_of(x)->status) tap_diag("%s", cj_error_of(x)->message);
    for (size_t r = 0; r < ROWS; r++) {
        size_t shift = rows[r].shift * kb_size(c->type);
        const char *e = (char *)bench.x.host + shift;
        cj_scan_args a = { .x = { cj_offset(bench.x.data, (int64_t)shift), 0, 0 }, .out = { bench.out.data, 0, 0 },
                           .columns = rows[r].columns, .workspace = { bench.space.data, bench.space.bytes } };
        kb_blank(&bench.out);
        wrong += !kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], x, &a), "scan") || !kb_get(&bench.out);
        value v = { 0 };
        for (uint64_t i = 0; i < rows[r].columns; i++) {
            const value one = value_of(e + i * kb_size(c->type), c), next = i ? join(v, one, c) : one;
            wrong += !is_stored((char *)bench.out.host + i * kb_size(c->out), c->exclusive ? v : next, c);
            v = next;
        }
    }
    cj_scan_free(x);
    return wrong;
}

/* `out` may be `x`, if the types have one size. */
static void in_place(void)
{
    cj_scan *x = cj_scan_create(kb_dev, CJ_SCAN(.type = CJ_U32, .out_type = CJ_F32, .wide = CJ_U32));
    size_t wrong = 0;
    for (size_t r = 0; r < ROWS; r++) {
        cj_dptr at = cj_offset(bench.x.data, (int64_t)rows[r].shift * 4);
        uint32_t sum = 0;
        for (size_t i = 0; i <= LONGEST; i++) ((uint32_t *)bench.x.host)[i] = (uint32_t)(i % 7);
        kb_put(&bench.x);
        cj_scan_args a = { .x = { at, 0, 0 }, .out = { at, 0, 0 }, .columns = rows[r].columns,
                           .workspace = { bench.space.data, bench.space.bytes } };
        wrong += !kb_is_ok(kb_s[0], cj_scan_launch(kb_s[0], x, &a), "scan") || !kb_get(&bench.x);
        for (uint64_t i = 0; i < rows[r].columns; i++)
            wrong += ((float *)bench.x.host)[i + rows[r].shift] != (float)(sum += (uint32_t)((i + rows[r].shift) % 7));
    }
    tap_is_uint(wrong, 0, "results of another type of the same size replace the elements");
    cj_scan_free(x);
}

int main(void)
{
    kb_open();
    tap_timeout(200);
    bench.x = kb_take(MOST), bench.out = kb_take(MOST), bench.space = kb_take(1 << 18);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += tap_is_slow() ? 5 : 1) {
        const option_case *c = &cases[i];
        const char *op = cj_enum_name("cj_combine_op", c->op);
        put_elements(c);
        tap_is_uint(wrong_reductions(c), 0, "%s reduces %s in %s to %s", op, kb_name(c->type),
                    kb_name(computed_in(c)), kb_name(c->out));
        tap_is_uint(wrong_scans(c), 0, "%s scans %s in %s to %s%s", op, kb_name(c->type), kb_name(computed_in(c)),
                    kb_name(c->out), c->exclusive ? ", exclusive" : "");
    }
    in_place();
    kb_drop(&bench.x), kb_drop(&bench.out), kb_drop(&bench.space);
    return kb_close();
}
