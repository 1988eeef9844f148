/* Kernels of tests/math/check_math: operands by their number, and a judge of results. */
#include "tests/math/error_kernels.h"

/* ---- Operands -------------------------------------------------------------------------------------------------- */

/* A word of 64 bits by its number (splitmix64). */
static cj_val hashed(cj_fn *f, cj_val number)
{
    cj_val z = cj_add(f, cj_mul(f, number, cj_imm_u(f, 0x9e3779b97f4a7c15u)), cj_imm_u(f, 0x9e3779b97f4a7c15u));
    z = cj_mul(f, cj_xor(f, z, cj_shr(f, z, 30)), cj_imm_u(f, 0xbf58476d1ce4e5b9u));
    z = cj_mul(f, cj_xor(f, z, cj_shr(f, z, 27)), cj_imm_u(f, 0x94d049bb133111ebu));
    return cj_xor(f, z, cj_shr(f, z, 31));
}

/* From 0 to 1. */
static cj_val part_of_one(cj_fn *f, cj_val u)
{
    return cj_mul(f, cj_cvt(f, CJ_F64, cj_shr(f, u, 11)), cj_imm_f64(f, 0x1p-53));
}

/* The low bits that say which kind of operand it is. */
static cj_val is_kind(cj_fn *f, cj_val u, uint64_t mask, uint64_t kind)
{
    return cj_eq(f, cj_and(f, u, cj_imm_u(f, mask)), cj_imm_u(f, kind));
}

/* One of n < 2^32 whole numbers from 0, of 64 bits. */
static cj_val one_of(cj_fn *f, cj_val u, uint64_t n)
{
    return cj_shr(f, cj_mul(f, cj_shr(f, u, 32), cj_imm_u(f, n)), 32);
}

/* An eighth each: all bits (2), around 1 (2), the interval (3), and near multiples of pi/2 or the interval. */
static cj_val single_bits(cj_fn *f, const math_function *t, cj_val u, cj_val v)
{
    const uint64_t mantissa = 0x800fffffffffffffu;
    cj_val x = cj_let(f, CJ_U64, v);
    cj_if(f, cj_le(f, cj_and(f, u, cj_imm_u(f, 7)), cj_imm_u(f, 1)));
    cj_assign(f, x, cj_or(f, cj_and(f, v, cj_imm_u(f, mantissa)), cj_shl(f, cj_add(f, one_of(f, u, 44), 993), 52)));
    cj_end(f);
    cj_if(f, cj_ge(f, cj_and(f, u, cj_imm_u(f, 7)), cj_imm_u(f, 4)));
    cj_val at = cj_fma(f, part_of_one(f, v), cj_imm_f64(f, t->to - t->from), cj_imm_f64(f, t->from));
    cj_assign(f, x, cj_bits(f, CJ_U64, at));
    cj_end(f);
    if (t->how & ARGUMENTS_TURNS) {
        cj_if(f, is_kind(f, u, 7, 7));
        cj_val k = cj_cvt(f, CJ_F64, one_of(f, v, 1367130551));
        at = cj_fma(f, k, cj_imm_f64(f, 0x1.921fb54442d18p0), cj_mul(f, k, cj_imm_f64(f, 0x1.1a62633145c07p-54)));
        cj_assign(f, x, cj_bits(f, CJ_U64, at));
        cj_end(f);
    }
    return x;
}

/* About the logarithm of |x| to the base 2. */
static cj_val about_log2(cj_fn *f, cj_type type, cj_val x)
{
    const bool single = type == CJ_F32;
    cj_val size = cj_and(f, x, cj_imm_u(f, single ? 0x7fffffff : 0x7fffffffffffffffu));
    cj_val from_one = cj_sub(f, cj_bits(f, CJ_S64, size), cj_imm_i(f, single ? 0x3f800000 : 0x3ff0000000000000));
    return cj_mul(f, cj_cvt(f, CJ_F64, from_one), cj_imm_f64(f, single ? 0x1p-23 : 0x1p-52));
}

/* The bits of a double as a number of the type, in 64 bits. */
static cj_val typed_bits(cj_fn *f, cj_type type, cj_val number)
{
    if (type == CJ_F64) return cj_bits(f, CJ_U64, number);
    return cj_cvt(f, CJ_U64, cj_bits(f, CJ_U32, cj_cvt(f, CJ_F32, number)));
}

static void power_bits(cj_fn *f, const math_function *t, cj_type type, cj_val u, cj_val x, cj_val y)
{
    const bool single = type == CJ_F32, whole = t->kind == FUNCTION_INT;
    const uint64_t one = single ? 0x3f800000 : 0x3ff0000000000000, near = single ? 0x1ffff : 0xffffffff;
    const double most = single ? 151 : 1080;
    /* below 1, near 1 */
    cj_if(f, is_kind(f, u, 3, 1));
    cj_assign(f, x, cj_sub(f, cj_imm_u(f, one), cj_and(f, x, cj_imm_u(f, single ? 0x1ffffff : 0x3fffffffffffff))));
    cj_end(f);
    cj_if(f, is_kind(f, u, 3, 2));
    cj_assign(f, x, cj_add(f, cj_and(f, x, cj_imm_u(f, near)), cj_imm_u(f, one - near / 2)));
    cj_end(f);
    /* a finite result; x is negative at times, with a whole y */
    cj_val turn = cj_fma(f, part_of_one(f, cj_mul(f, u, cj_imm_u(f, 0x9e3779b97f4a7c15u))), 2, -1);
    cj_val exponent = cj_div(f, cj_mul(f, turn, cj_imm_f64(f, most)), about_log2(f, type, x));
    if (whole) {
        cj_assign(f, y, cj_and(f, cj_bits(f, CJ_U64, cj_cvt(f, CJ_S64, exponent)), cj_imm_u(f, 0xffffffff)));
        return;
    }
    cj_if(f, cj_not(f, is_kind(f, u, 7, 7)));
    cj_assign(f, y, typed_bits(f, type, exponent));
    cj_assign(f, x, cj_and(f, x, cj_imm_u(f, single ? 0x7fffffff : 0x7fffffffffffffffu)));
    cj_end(f);
    cj_if(f, is_kind(f, u, 31, 15));
    cj_val digit = cj_sub(f, cj_cvt(f, CJ_F64, one_of(f, u, 61)), 30);
    cj_assign(f, y, typed_bits(f, type, digit));
    cj_assign(f, x, cj_or(f, x, cj_shl(f, cj_shr(f, u, 63), single ? 31 : 63)));
    cj_end(f);
}

/* Half of the pairs have exponents near each other. */
static void near_bits(cj_fn *f, cj_type type, cj_val u, cj_val x, cj_val y)
{
    const bool single = type == CJ_F32;
    const uint64_t exponent = single ? 0x7f800000 : 0x7ff0000000000000, tail = single ? 0x807fffff : 0x800fffffffffffff;
    const unsigned bits = single ? 23 : 52;
    for (unsigned k = 0; k < 2; k++) {
        const uint64_t wide = k ? 63 : 7;
        cj_if(f, is_kind(f, u, 3, k));
        cj_val apart = cj_sub(f, cj_and(f, cj_shr(f, u, 8), cj_imm_u(f, wide)), cj_imm_u(f, wide / 2));
        cj_val near = cj_add(f, cj_and(f, x, cj_imm_u(f, exponent)), cj_shl(f, apart, bits));
        cj_assign(f, y, cj_add(f, near, cj_and(f, y, cj_imm_u(f, tail))));
        cj_end(f);
    }
}

static cj_val narrow(cj_fn *f, cj_type type, cj_val u) { return type == CJ_F32 ? cj_cvt(f, CJ_U32, u) : u; }

void error_arguments(cj_ptx *p, const math_function *t, cj_type type)
{
    const cj_type word = type == CJ_F32 ? CJ_U32 : CJ_U64;
    cj_fn *f = cj_ptx_kernel(p, "arguments");
    cj_val n = cj_param(f, "n", CJ_U32), first = cj_param(f, "first", CJ_U64), stride = cj_param(f, "stride", CJ_U64);
    cj_val to_x = cj_param_ptr(f, "x", word), to_y = cj_param_ptr(f, "y", word), i = cj_global_id(f, CJ_X);
    cj_return_if(f, cj_ge(f, i, n));
    cj_val number = cj_add(f, first, cj_cvt(f, CJ_U64, i));
    if (!function_has_two(t) && type == CJ_F32) {
        cj_set(f, to_x, i, cj_cvt(f, CJ_U32, cj_mul(f, number, stride)));
        return;
    }
    cj_val u = hashed(f, cj_mul(f, number, 3)), v = hashed(f, cj_add(f, cj_mul(f, number, 3), 1));
    if (!function_has_two(t)) {
        cj_set(f, to_x, i, single_bits(f, t, u, v));
        return;
    }
    cj_val x = cj_let(f, CJ_U64, type == CJ_F32 ? cj_shr(f, v, 32) : v);
    cj_val y = cj_let(f, CJ_U64, hashed(f, cj_add(f, cj_mul(f, number, 3), 2)));
    if (type == CJ_F32) cj_assign(f, y, cj_shr(f, y, 32));
    if (t->how & ARGUMENTS_POWER) power_bits(f, t, type, u, x, y);
    else if (t->how & ARGUMENTS_NEAR) near_bits(f, type, u, x, y);
    else cj_assign(f, y, cj_and(f, cj_sub(f, one_of(f, y, 4400), 2200), cj_imm_u(f, 0xffffffff)));
    cj_set(f, to_x, i, narrow(f, type, x));
    cj_set(f, to_y, i, narrow(f, type, y));
}

/* ---- The judge ------------------------------------------------------------------------------------------------- */

typedef struct judging {
    cj_fn *f;
    cj_type type, integer;
    error_unit unit;
    cj_val number, x_bits, y_bits, got_bits;  /* of the operands; bits of 64 */
    cj_val got, w, low;                       /* in double; got also in its own type */
    cj_val got_typed;
    cj_val greatest, real, not_nearest, wrong, wrong_at;  /* of this thread */
    cj_val found, list, most, threshold;
} judging;

static cj_val is_nan(cj_fn *f, cj_val x) { return cj_ne(f, x, x); }

static cj_val is_infinite(cj_fn *f, cj_val x)
{
    return cj_eq(f, cj_abs(f, x), cj_imm_f64(f, __builtin_inf()));
}

static void note_wrong(judging *j)
{
    cj_fn *f = j->f;
    cj_assign(f, j->wrong, cj_add(f, j->wrong, 1));
    cj_assign(f, j->wrong_at, cj_add(f, j->number, 1));
}

/* The place of a number among all of its type, of 64 bits. */
static cj_val place_of(judging *j, cj_val x)
{
    cj_fn *f = j->f;
    cj_val u = cj_bits(f, j->integer, x), least = cj_imm_i(f, j->type == CJ_F32 ? INT32_MIN : INT64_MIN);
    cj_val place = cj_select(f, cj_lt(f, u, 0), cj_sub(f, least, u), u);
    return j->type == CJ_F32 ? cj_cvt(f, CJ_S64, place) : place;
}

/* The error e of one result: it is the greatest, it is listed. */
static void note_error(judging *j, cj_val e)
{
    cj_fn *f = j->f;
    cj_val bits = cj_bits(f, CJ_U64, e);
    cj_assign(f, j->real, cj_max(f, j->real, bits)); /* e >= 0 */
    cj_if(f, cj_gt(f, e, j->threshold));
    cj_val at = cj_atomic_add(f, cj_at(f, j->found, JUDGED_LISTED), cj_let(f, CJ_U64, 1));
    cj_if(f, cj_lt(f, at, j->most));
    cj_val words[LIST_WORDS] = { bits, j->x_bits, j->y_bits, j->got_bits };
    cj_val to = cj_mul(f, at, LIST_WORDS);
    for (unsigned k = 0; k < LIST_WORDS; k++) cj_set(f, j->list, cj_add(f, to, k), words[k]);
    cj_end(f);
    cj_end(f);
}

/* One unit in the last place of a finite number. */
static cj_val last_place(judging *j, cj_val w)
{
    const int least = j->type == CJ_F32 ? -126 : -1022, digits = j->type == CJ_F32 ? 23 : 52;
    cj_fn *f = j->f;
    cj_val e = cj_and(f, cj_shr(f, cj_bits(f, CJ_U64, w), 52), cj_imm_u(f, 2047));
    cj_val exponent = cj_max(f, cj_sub(f, cj_bits(f, CJ_S64, e), 1023), cj_imm_i(f, least));
    if (j->type == CJ_F32)
        return cj_bits(f, CJ_F64, cj_shl(f, cj_add(f, exponent, 1023 - digits), 52));
    /* down to 2^-1074, which is subnormal */
    cj_val normal = cj_bits(f, CJ_F64, cj_shl(f, cj_add(f, cj_max(f, exponent, -1022 + digits), 1023 - digits), 52));
    cj_val under = cj_sub(f, cj_let(f, CJ_S64, -1022 + digits), cj_min(f, exponent, -1022 + digits));
    cj_val small = cj_bits(f, CJ_F64, cj_shr(f, cj_imm_bits(f, CJ_U64, 0x10000000000000u), cj_cvt(f, CJ_U32, under)));
    return cj_select(f, cj_gt(f, under, 0), small, normal);
}

static void judge_distance(judging *j)
{
    cj_fn *f = j->f;
    cj_val want = j->type == CJ_F32 ? cj_cvt(f, CJ_F32, j->w) : j->w;
    cj_val d = cj_sub(f, place_of(j, j->got_typed), place_of(j, want));
    cj_val distance = cj_max(f, d, cj_neg(f, d));
    cj_assign(f, j->not_nearest, cj_add(f, j->not_nearest, cj_cvt(f, CJ_U32, cj_ne(f, distance, 0))));
    cj_val least = cj_bits(f, CJ_U64, cj_min(f, distance, (1 << 23) - 1));
    cj_if(f, cj_ne(f, distance, 0));
    cj_assign(f, j->greatest, cj_max(f, j->greatest, cj_or(f, cj_shl(f, least, JUDGED_INDEX_BITS), j->number)));
    cj_end(f);
    cj_val error = cj_let(f, CJ_F64, cj_cvt(f, CJ_F64, distance));
    cj_if(f, cj_not(f, cj_or(f, is_infinite(f, j->got), is_infinite(f, j->w))));
    cj_val off = cj_abs(f, cj_sub(f, cj_sub(f, j->got, j->w), j->low));
    cj_assign(f, error, cj_div(f, off, last_place(j, j->w)));
    cj_end(f);
    note_error(j, error);
}

/* NaN where it is wanted; zeros and infinities have the right sign. */
static void judge_number(judging *j)
{
    cj_fn *f = j->f;
    cj_val want = j->type == CJ_F32 ? cj_cvt(f, CJ_F64, cj_cvt(f, CJ_F32, j->w)) : j->w;
    cj_val nan = is_nan(f, j->got), wants_nan = is_nan(f, want);
    cj_if(f, cj_or(f, nan, wants_nan));
    cj_if(f, cj_xor(f, nan, wants_nan));
    note_wrong(j);
    cj_end(f);
    cj_else(f);
    cj_val infinite = cj_and(f, is_infinite(f, j->got), is_infinite(f, want));
    if (j->unit == ERROR_ULP) {
        cj_val zero = cj_and(f, cj_eq(f, j->got, 0), cj_eq(f, want, 0));
        cj_val same = cj_eq(f, cj_bits(f, CJ_U64, j->got), cj_bits(f, CJ_U64, want));
        cj_if(f, cj_or(f, zero, infinite));
        cj_if(f, cj_not(f, same));
        note_wrong(j);
        cj_end(f);
        cj_else(f);
        judge_distance(j);
        cj_end(f);
    } else {
        cj_if(f, cj_or(f, is_infinite(f, j->got), is_infinite(f, want)));
        cj_if(f, cj_ne(f, j->got, want));
        note_wrong(j);
        cj_end(f);
        cj_else(f);
        cj_val size = cj_abs(f, j->w), off = cj_abs(f, cj_sub(f, cj_sub(f, j->got, j->w), j->low));
        if (j->unit == ERROR_ABSOLUTE) size = cj_max(f, size, 1);
        cj_if(f, cj_ne(f, off, 0));
        note_error(j, cj_div(f, off, size));
        cj_end(f);
        cj_end(f);
    }
    cj_end(f);
}

/* Adds up over the warp; lane 0 has the sum. */
static cj_val sum_of_warp(cj_fn *f, cj_val v)
{
    for (int n = 16; n; n /= 2) v = cj_add(f, v, cj_shfl_xor(f, v, n));
    return v;
}

static void hand_in(judging *j)
{
    cj_fn *f = j->f;
    static const int words[] = { JUDGED_GREATEST, JUDGED_REAL, JUDGED_WRONG_AT };
    const cj_val mine[] = { j->greatest, j->real, j->wrong_at };
    for (unsigned k = 0; k < 3; k++) {
        cj_if(f, cj_gt(f, mine[k], cj_get(f, j->found, words[k])));
        cj_atomic_max(f, cj_at(f, j->found, words[k]), mine[k]);
        cj_end(f);
    }
    cj_val counts[] = { sum_of_warp(f, j->not_nearest), sum_of_warp(f, j->wrong) };
    static const int sums[] = { JUDGED_NOT_NEAREST, JUDGED_WRONG };
    for (unsigned k = 0; k < 2; k++) {
        cj_if(f, cj_and(f, cj_eq(f, cj_lane_id(f), 0), cj_ne(f, counts[k], 0)));
        cj_atomic_add(f, cj_at(f, j->found, sums[k]), cj_cvt(f, CJ_U64, counts[k]));
        cj_end(f);
    }
}

void error_judge(cj_ptx *p, cj_type type, error_unit unit)
{
    const bool single = type == CJ_F32;
    const cj_type word = single ? CJ_U32 : CJ_U64, integer = single ? CJ_S32 : CJ_S64;
    cj_fn *f = cj_ptx_kernel(p, "judge");
    judging j = { .f = f, .type = type, .integer = integer, .unit = unit };
    cj_val n = cj_param(f, "n", CJ_U32), first = cj_param(f, "first", CJ_U64);
    cj_val xs = cj_param_ptr(f, "x", type), ys = cj_param_ptr(f, "y", type), rs = cj_param_ptr(f, "r", word);
    cj_val ws = cj_param_ptr(f, "w", CJ_F64), lows = cj_param_ptr(f, "low", CJ_F64);
    j.found = cj_param_ptr(f, "found", CJ_U64);
    j.list = cj_param_ptr(f, "list", CJ_U64);
    j.most = cj_param(f, "most", CJ_U64);
    j.threshold = cj_param(f, "threshold", CJ_F64);
    cj_val from = cj_param(f, "from", CJ_F64), to = cj_param(f, "to", CJ_F64);
    cj_val but_from = cj_param(f, "but_from", CJ_F64), but_to = cj_param(f, "but_to", CJ_F64);
    cj_val most_y = cj_param(f, "most_y", CJ_F64), least_wanted = cj_param(f, "least_wanted", CJ_F64);
    cj_val negative = cj_param(f, "negative", CJ_U32);
    j.greatest = cj_let(f, CJ_U64, 0);
    j.real = cj_let(f, CJ_U64, 0);
    j.wrong_at = cj_let(f, CJ_U64, 0);
    j.not_nearest = cj_let(f, CJ_U32, 0);
    j.wrong = cj_let(f, CJ_U32, 0);
    cj_val has_low = cj_ne(f, cj_bits(f, CJ_U64, lows), 0);
    cj_val i = cj_for(f, cj_global_id(f, CJ_X), n, cj_global_size(f, CJ_X));
    cj_val x = cj_get(f, xs, i), y = cj_get(f, ys, i), r = cj_get(f, rs, i);
    j.number = cj_add(f, first, cj_cvt(f, CJ_U64, i));
    j.x_bits = single ? cj_cvt(f, CJ_U64, cj_bits(f, word, x)) : cj_bits(f, word, x);
    j.y_bits = single ? cj_cvt(f, CJ_U64, cj_bits(f, word, y)) : cj_bits(f, word, y);
    j.got_bits = single ? cj_cvt(f, CJ_U64, r) : r;
    j.w = cj_get(f, ws, i);
    j.low = cj_let(f, CJ_F64, 0);
    cj_if(f, has_low);
    cj_assign(f, j.low, cj_get(f, lows, i));
    cj_end(f);
    if (unit == ERROR_EQUAL) {
        cj_if(f, cj_ne(f, cj_cvt(f, CJ_F64, cj_bits(f, integer, r)), j.w));
        note_wrong(&j);
        cj_end(f);
    } else {
        j.got_typed = cj_bits(f, type, r);
        j.got = single ? cj_cvt(f, CJ_F64, j.got_typed) : j.got_typed;
        cj_val wide = single ? cj_cvt(f, CJ_F64, x) : x, wide_y = cj_abs(f, single ? cj_cvt(f, CJ_F64, y) : y);
        /* NaN is judged where all numbers are */
        cj_val inside = cj_and(f, cj_ge(f, wide, from), cj_le(f, wide, to));
        cj_val outside = cj_and(f, cj_not(f, inside), cj_gt(f, from, cj_imm_f64(f, -__builtin_inf())));
        cj_val within = cj_and(f, cj_gt(f, wide, but_from), cj_lt(f, wide, but_to));
        cj_val small = cj_lt(f, cj_abs(f, j.w), least_wanted);
        small = cj_and(f, small, cj_or(f, cj_eq(f, negative, 0), cj_lt(f, wide, 0)));
        cj_val limited = cj_lt(f, most_y, cj_imm_f64(f, __builtin_inf()));
        cj_val large_y = cj_and(f, cj_not(f, cj_le(f, wide_y, most_y)), limited);
        cj_val left_out = cj_or(f, cj_or(f, outside, within), cj_or(f, small, large_y));
        cj_if(f, cj_not(f, left_out));
        judge_number(&j);
        cj_end(f);
    }
    cj_end(f);
    hand_in(&j);
}
