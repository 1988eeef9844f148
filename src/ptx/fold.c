/* Verbs of numbers only: the result is a number again, as C computes it on int64_t, uint64_t and double; a comparison
 * is a constant predicate.
 *
 * An integer is an int64_t where it fits one, else a uint64_t; an operation on both is one of uint64_t.  Floats stay
 * floats where no double is among them.  A constant predicate is a literal of type CJ_PRED, 0 or 1. */
#include <string.h>

#include "ptx/fold.h"

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

bool cji_all_numbers(const cj_fn *f, const cj_val *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (cji_val_kind(v[i]) != CJI_K_IMM || cji_val_type(v[i]) != CJ_VOID || !cji_val_owned(f, v[i]) ||
            (uint32_t)v[i].bits >= f->nlit)
            return false;
    return n > 0;
}

static const cji_lit *number(const cj_fn *f, cj_val v) { return &f->lit[(uint32_t)v.bits]; }

unsigned cji_number_type(const cj_fn *f, const cj_val *v, size_t n)
{
    bool f32 = false, f64 = false, negative = false, wide = false, s32 = true, u32 = true;
    for (size_t i = 0; i < n; i++) {
        const cji_lit *l = number(f, v[i]);
        int64_t x = (int64_t)l->bits;
        f32 |= l->lit == CJI_LIT_F32;
        f64 |= l->lit == CJI_LIT_F64;
        wide |= l->wide;
        negative |= !l->wide && x < 0;
        s32 &= !l->wide && x >= INT32_MIN && x <= INT32_MAX;
        u32 &= l->bits <= UINT32_MAX;
    }
    if (f64 || f32) return f64 ? CJ_F64 : CJ_F32;
    if (negative && !wide) return s32 ? CJ_S32 : CJ_S64;
    return u32 ? CJ_U32 : CJ_U64;
}

static cj_val integer(cj_fn *f, uint64_t x, bool wide)
{
    return cji_val_of(f, cji_fn_lit(f, CJI_LIT_INT, x, wide && x > INT64_MAX, CJ_VOID), CJ_VOID);
}

static cj_val floating(cj_fn *f, double x, bool single)
{
    float s = (float)x;
    uint32_t low;
    uint64_t bits;
    memcpy(&low, &s, sizeof s);
    memcpy(&bits, &x, sizeof x);
    if (single) bits = low;
    return cji_val_of(f, cji_fn_lit(f, single ? CJI_LIT_F32 : CJI_LIT_F64, bits, false, CJ_VOID), CJ_VOID);
}

cj_val cji_constant(cj_fn *f, bool holds)
{
    return cji_val_of(f, cji_fn_lit(f, CJI_LIT_INT, holds, false, CJ_PRED), CJ_PRED);
}

bool cji_is_constant(const cj_fn *f, cj_val p, bool *holds)
{
    if (cji_val_kind(p) != CJI_K_IMM || !cji_val_owned(f, p) || (uint32_t)p.bits >= f->nlit) return false;
    const cji_lit *l = number(f, p);
    *holds = l->lit == CJI_LIT_INT ? l->bits != 0 : cji_lit_value(l) != 0;
    return true;
}

/* ---- Integers ---------------------------------------------------------------------------------------------------- */

static cj_val divide(cj_fn *f, uint64_t a, uint64_t b, bool wide, bool rest, const char *call)
{
    if (!b) return cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: division of a number by 0", call), CJI_NULL;
    if (wide) return integer(f, rest ? a % b : a / b, true);
    if ((int64_t)b == -1) return integer(f, rest ? 0 : 0 - a, false); /* INT64_MIN / -1 wraps */
    return integer(f, (uint64_t)(rest ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b), false);
}

/* Counts over the width give 0, or the sign. */
static cj_val shifted(cj_fn *f, cji_verb_id verb, uint64_t a, bool wide, const cji_lit *count, const char *call)
{
    if (!count->wide && (int64_t)count->bits < 0)
        return cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: the count %lld is negative", call,
                            (long long)count->bits),
               CJI_NULL;
    bool over = count->bits > 63, negative = !wide && (int64_t)a < 0;
    unsigned n = over ? 63 : (unsigned)count->bits;
    if (verb == CJI_VERB_SHL) return integer(f, over ? 0 : a << n, wide);
    uint64_t x = over ? 0 : a >> n;
    if (negative) x = over || !n ? (over ? ~(uint64_t)0 : a) : x | ~(uint64_t)0 << (64 - n);
    return integer(f, x, wide);
}

static bool compares(cji_verb_id verb, int order)
{
    switch (verb) {
    case CJI_VERB_EQ: return order == 0;
    case CJI_VERB_NE: return order != 0;
    case CJI_VERB_LT: return order < 0;
    case CJI_VERB_LE: return order <= 0;
    case CJI_VERB_GT: return order > 0;
    default: return order >= 0;
    }
}

static int order_of(uint64_t a, uint64_t b, bool wide)
{
    if (wide) return (a > b) - (a < b);
    return ((int64_t)a > (int64_t)b) - ((int64_t)a < (int64_t)b);
}

/* x[]: the operands' bits, 0 where there are fewer than three; wide: one of them is a uint64_t. */
static cj_val fold_integers(cj_fn *f, cji_verb_id verb, const uint64_t *x, bool wide, const char *call)
{
    bool less = order_of(x[0], x[1], wide) < 0;
    switch (verb) {
    case CJI_VERB_ADD: return integer(f, x[0] + x[1], wide);
    case CJI_VERB_SUB: return integer(f, x[0] - x[1], wide);
    case CJI_VERB_MUL: case CJI_VERB_MUL_WIDE: return integer(f, x[0] * x[1], wide);
    case CJI_VERB_MAD: return integer(f, x[0] * x[1] + x[2], wide);
    case CJI_VERB_DIV: case CJI_VERB_REM: return divide(f, x[0], x[1], wide, verb == CJI_VERB_REM, call);
    case CJI_VERB_MIN: return integer(f, x[less ? 0 : 1], wide);
    case CJI_VERB_MAX: return integer(f, x[less ? 1 : 0], wide);
    case CJI_VERB_NEG: return integer(f, 0 - x[0], wide);
    case CJI_VERB_ABS: return !wide && (int64_t)x[0] < 0 ? integer(f, 0 - x[0], true) : integer(f, x[0], wide);
    case CJI_VERB_AND: return integer(f, x[0] & x[1], wide);
    case CJI_VERB_OR: return integer(f, x[0] | x[1], wide);
    case CJI_VERB_XOR: return integer(f, x[0] ^ x[1], wide);
    case CJI_VERB_INV: return integer(f, ~x[0], wide);
    default: return cji_constant(f, compares(verb, order_of(x[0], x[1], wide)));
    }
}

/* ---- Floating point ---------------------------------------------------------------------------------------------- */

static bool compares_floats(cji_verb_id verb, double a, double b)
{
    if (a != a || b != b) return verb == CJI_VERB_NE;
    return compares(verb, (a > b) - (a < b));
}

/* The lesser or greater of two; the number where the other is NaN; -0 is less than +0. */
static double choose(double a, double b, bool least)
{
    if (a != a) return b;
    if (b != b) return a;
    if (a == b) return least == (__builtin_signbit(a) != 0) ? a : b;
    return (a < b) == least ? a : b;
}

/* single: the operands are floats, and each result of one operation on doubles rounds to the float that C has. */
static cj_val fold_floats(cj_fn *f, cji_verb_id verb, const double *x, bool single)
{
    switch (verb) {
    case CJI_VERB_ADD: return floating(f, x[0] + x[1], single);
    case CJI_VERB_SUB: return floating(f, x[0] - x[1], single);
    case CJI_VERB_MUL: return floating(f, x[0] * x[1], single);
    case CJI_VERB_DIV: return floating(f, x[0] / x[1], single);
    case CJI_VERB_FMA: return floating(f, cji_soft_fma(x[0], x[1], x[2], single), single);
    case CJI_VERB_MIN: case CJI_VERB_MAX: return floating(f, choose(x[0], x[1], verb == CJI_VERB_MIN), single);
    case CJI_VERB_NEG: return floating(f, -x[0], single);
    case CJI_VERB_ABS: return floating(f, __builtin_fabs(x[0]), single);
    case CJI_VERB_SQRT: return floating(f, cji_soft_sqrt(x[0]), single);
    case CJI_VERB_RCP: return floating(f, 1 / x[0], single);
    case CJI_VERB_FLOOR:
    case CJI_VERB_CEIL:
    case CJI_VERB_TRUNC:
    case CJI_VERB_ROUND: return floating(f, cji_soft_round(x[0], verb), single);
    default: return cji_constant(f, compares_floats(verb, x[0], x[1]));
    }
}

/* ---- Verbs ------------------------------------------------------------------------------------------------------- */

static cj_val not_integers(cj_fn *f, const cj_val *v, size_t n, const char *call)
{
    for (size_t i = 0; i < n; i++) {
        const cji_lit *l = number(f, v[i]);
        if (l->lit == CJI_LIT_INT) continue;
        cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: %.9g is a floating-point number, wants an integer", call,
                     cji_lit_value(l));
        break;
    }
    return CJI_NULL;
}

enum { NOT_FOLDED, OF_BOTH, OF_INTEGERS, OF_FLOATS, OF_SHIFTS };

static unsigned fold_kind(cji_verb_id verb)
{
    switch (verb) {
    case CJI_VERB_ADD:
    case CJI_VERB_SUB:
    case CJI_VERB_MUL:
    case CJI_VERB_DIV:
    case CJI_VERB_MIN:
    case CJI_VERB_MAX:
    case CJI_VERB_NEG:
    case CJI_VERB_ABS:
    case CJI_VERB_EQ:
    case CJI_VERB_NE:
    case CJI_VERB_LT:
    case CJI_VERB_LE:
    case CJI_VERB_GT:
    case CJI_VERB_GE: return OF_BOTH;
    case CJI_VERB_MUL_WIDE:
    case CJI_VERB_MAD:
    case CJI_VERB_REM:
    case CJI_VERB_AND:
    case CJI_VERB_OR:
    case CJI_VERB_XOR:
    case CJI_VERB_INV: return OF_INTEGERS;
    case CJI_VERB_FMA:
    case CJI_VERB_SQRT:
    case CJI_VERB_RCP:
    case CJI_VERB_FLOOR:
    case CJI_VERB_CEIL:
    case CJI_VERB_TRUNC:
    case CJI_VERB_ROUND: return OF_FLOATS;
    case CJI_VERB_SHL: case CJI_VERB_SHR: return OF_SHIFTS;
    default: return NOT_FOLDED;
    }
}

bool cji_fold(cj_fn *f, cji_verb_id verb, const cj_val *v, size_t n, cj_val *result, const char *call)
{
    uint64_t bits[3] = { 0 };
    double x[3] = { 0 };
    bool wide = false, single = false, twice = false;
    unsigned kind = fold_kind(verb);
    if (kind == NOT_FOLDED || n > 3 || !cji_all_numbers(f, v, n)) return false;
    for (size_t i = 0; i < n; i++) {
        const cji_lit *l = number(f, v[i]);
        bits[i] = l->bits;
        wide |= l->wide;
        single |= l->lit == CJI_LIT_F32;
        twice |= l->lit == CJI_LIT_F64;
    }
    bool floats = single || twice;
    single &= !twice;
    for (size_t i = 0; i < n; i++)
        x[i] = single ? (double)cji_lit_single(number(f, v[i])) : cji_lit_value(number(f, v[i]));
    if (floats && (kind == OF_INTEGERS || kind == OF_SHIFTS)) *result = not_integers(f, v, n, call);
    else if (kind == OF_SHIFTS) *result = shifted(f, verb, bits[0], number(f, v[0])->wide, number(f, v[1]), call);
    else if (floats || kind == OF_FLOATS) *result = fold_floats(f, verb, x, single);
    else *result = fold_integers(f, verb, bits, wide, call);
    return true;
}
