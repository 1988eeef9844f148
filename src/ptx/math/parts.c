/* All parts: their rows, and functions on numbers. */
#include <string.h>

#include "ptx/math/math.h"

enum { INLINED = CJ_MATH_INLINE, CALLED = CJ_MATH_CALLED };

static const cji_math_code codes[] = {
#define PART(name, results, arguments, form) { #name, results, arguments, cji_math_##name, form },
#include "ptx/math/parts.def"
#undef PART
};

static const struct variant { uint8_t part, accuracy, instead; } variants[] = {
#define PART(name, results, arguments, form)
#define VARIANT(name, accuracy, instead) { CJI_MATH_##name, accuracy, CJI_MATH_##instead },
#include "ptx/math/parts.def"
#undef PART
};

_Static_assert(CJI_MATH_PARTS <= UINT8_MAX, "a part fits a variant's row");

cji_math cji_math_begin(cj_fn *f, const char *call) { return (cji_math){ .f = f, .codes = codes, .call = call }; }

cji_math_part cji_math_variant(cji_math_part part, unsigned accuracy)
{
    for (size_t i = 0; accuracy != CJ_MATH_ACCURATE && i < sizeof variants / sizeof *variants; i++)
        if (variants[i].part == part && variants[i].accuracy == accuracy) return (cji_math_part)variants[i].instead;
    return part;
}

/* ---- On numbers -------------------------------------------------------------------------------------------------- */

const char *cji_math_results(cji_math_part part) { return codes[part].results; }
const char *cji_math_arguments(cji_math_part part) { return codes[part].arguments; }

/* A whole number that does not fit 32 bits is the nearest that does. */
static uint32_t whole_bits(double x)
{
    if (x != x) return 0;
    return x >= 2147483647.0 ? 0x7fffffff : x <= -2147483648.0 ? 0x80000000 : (uint32_t)(int32_t)x;
}

void cji_math_numbers(cji_math_part part, const double *a, double *r)
{
    const cji_math_code *p = &codes[part];
    cj_val v[CJI_MATH_ARGS] = { { 0 } }, out[CJI_MATH_ARGS] = { { 0 } };
    cji_math m = cji_math_begin(NULL, NULL);
    for (size_t i = 0; p->arguments[i]; i++) {
        if (p->arguments[i] == 'D') memcpy(&v[i].bits, &a[i], sizeof *a);
        else v[i].bits = whole_bits(a[i]);
    }
    p->body(&m, v, out);
    for (size_t i = 0; p->results[i]; i++) {
        if (p->results[i] == 'D') memcpy(&r[i], &out[i].bits, sizeof *r);
        else r[i] = (int32_t)(uint32_t)out[i].bits;
    }
}

double cji_math_number(cji_math_part part, double a, double b)
{
    const double in[CJI_MATH_ARGS] = { a, b };
    double out[CJI_MATH_ARGS];
    cji_math_numbers(part, in, out);
    return out[0];
}

void cji_math_bits(cji_math_part part, const uint64_t *a, uint64_t *r)
{
    cj_val v[CJI_MATH_ARGS] = { { 0 } }, out[CJI_MATH_ARGS] = { { 0 } };
    cji_math m = cji_math_begin(NULL, NULL);
    for (size_t i = 0; codes[part].arguments[i]; i++) v[i].bits = a[i];
    codes[part].body(&m, v, out);
    for (size_t i = 0; codes[part].results[i]; i++) r[i] = out[i].bits;
}
