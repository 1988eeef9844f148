/* A model of the tensor cores of an H100, which computes with f64 what docs/semantics.md says of them, and numbers for
 * it. */
#ifndef MATRIX_MODEL_H
#define MATRIX_MODEL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum kind { F16, BF16, TF32, E4M3, E5M2, S8, U8, F32, S32, F64 } kind;

static inline unsigned bits_of(kind t)
{
    static const uint8_t bits[] = { 16, 16, 32, 8, 8, 8, 8, 32, 32, 64 };
    return bits[t];
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static const struct format { int mantissa, exponent, bias; bool has_infinity; } formats[] = {
    [F16] = { 10, 5, 15, true }, [BF16] = { 7, 8, 127, true }, [TF32] = { 10, 8, 127, true },
    [E4M3] = { 3, 4, 7, false }, [E5M2] = { 2, 5, 15, true }, [F32] = { 23, 8, 127, true },
};

static uint64_t state = 1;

static inline uint32_t random_word(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

/* `style` 0: exponents near each other; 1: any finite number; 2: small ones; 3: infinities and NaN among them;
 * 4: few digits, so that sums lie between two numbers; 5: those whose products are about the least number */
static inline uint64_t random_number(kind t, unsigned style)
{
    uint64_t r = (uint64_t)random_word() << 32 | random_word();
    if (t == S8 || t == U8) return style == 1 ? r & 0x80 ? 0x80 : 0xff : r & 0xff;
    if (t == S32) return style == 1 ? r & 1 ? 0x7fffff00 : 0x80000100 : r & 0xffffffff;
    if (t == F64) {
        uint64_t e = style == 0 ? 1023 + r % 9 - 4 : style == 2 ? r % 3 : 700 + r % 600;
        if (style == 3 && r >> 20 % 16 == 0) return UINT64_C(0x7ff0000000000000) | r << 63;
        return r << 63 | e << 52 | (r >> 8 & UINT64_C(0xfffffffffffff));
    }
    const struct format *f = &formats[t];
    uint64_t top = (UINT64_C(1) << f->exponent) - 1, e = top, m = r >> 8 & ((UINT64_C(1) << f->mantissa) - 1);
    if (style == 0) e = (uint64_t)f->bias + (r >> 40) % 7 - 3;
    else if (style == 1) e = (r >> 40) % top;
    else if (style == 2) e = (r >> 40) % 4;
    else if (style == 5) e = (uint64_t)(f->bias > 75 ? f->bias - 75 : 0) + (r >> 40) % 4;
    else if (style == 4) {
        e = (uint64_t)f->bias + (r >> 40) % 10 - 5;
        m = m >> (f->mantissa - 2) << (f->mantissa - 2);
    }
    else if (r >> 40 & 31) e = (r >> 40) % top;
    else if (r & 2) m = 0;
    uint64_t v = (r & 1) << (f->exponent + f->mantissa) | e << f->mantissa | m;
    return t == TF32 ? v << 13 | (r >> 50 & 0x1fff) : v;
}

static inline double value_of(kind t, uint64_t bits)
{
    double d;
    if (t == S8) return (int8_t)bits;
    if (t == U8) return (uint8_t)bits;
    if (t == S32) return (int32_t)(uint32_t)bits;
    if (t == F64) return memcpy(&d, &bits, 8), d;
    if (t == TF32) bits >>= 13;
    const struct format *f = &formats[t];
    unsigned top = (1u << f->exponent) - 1, e = (unsigned)(bits >> f->mantissa) & top,
             m = (unsigned)bits & ((1u << f->mantissa) - 1);
    double sign = bits >> (f->exponent + f->mantissa) & 1 ? -1 : 1;
    if (e == top && f->has_infinity) return m ? NAN : sign * INFINITY;
    if (e == top && m + 1 == 1u << f->mantissa) return NAN;
    return sign * ldexp(e ? m + (1u << f->mantissa) : m, (e ? (int)e : 1) - f->bias - f->mantissa);
}

/* The exponent of a finite number: a subnormal one has that of the least normal number. */
static inline int exponent_of(kind t, double v)
{
    if (v == 0) return -100000;
    int e = ilogb(v), least = 1 - formats[t].bias;
    return e < least ? least : e;
}

/* ---- The model --------------------------------------------------------------------------------------------------- */

/* `kept` bits behind the point, the others are cut off; 0: rounded to nearest */
static inline uint32_t f32_of(double v, int kept)
{
    uint32_t bits;
    if (isnan(v)) return 0x7fffffff;
    if (isinf(v) || fabs(v) >= ldexp(1, 128)) return signbit(v) ? 0xff800000 : 0x7f800000;
    if (kept && v != 0) {
        int e = ilogb(v) < -126 ? -126 : ilogb(v);
        v = copysign(ldexp(trunc(ldexp(fabs(v), kept - e)), e - kept), v);
        if (v == 0) return 0;      /* what is truncated to zero has no sign */
    }
    float f = (float)v;
    return memcpy(&bits, &f, 4), bits;
}

static inline uint32_t f16_of(double v)
{
    uint32_t sign = signbit(v) ? 0x8000 : 0;
    if (isnan(v)) return 0x7fff;
    if (isinf(v)) return sign | 0x7c00;
    if (fabs(v) <= 0x1p-25) return 0; /* nor has what is rounded to it */
    int e = ilogb(v) < -14 ? -14 : ilogb(v);
    double q = rint(ldexp(fabs(v), 10 - e));
    uint32_t bits = (uint32_t)(e + 14) * 1024 + (uint32_t)q;    /* the leading one adds to the exponent */
    return sign | (bits < 0x7c00 ? bits : 0x7c00);
}

typedef struct term { double a, b; int exponent; } term;

/* The sum of c and the products: aligned, each truncated to `fraction` bits behind the point. */
static inline double fused(const term *p, unsigned n, double c, int c_exponent, int fraction)
{
    double plain = c, sum;
    int top = c_exponent > -133 ? c_exponent : -133;
    for (unsigned i = 0; i < n; i++) {
        plain += p[i].a * p[i].b;
        if (p[i].exponent > top) top = p[i].exponent;
    }
    if (isnan(plain) || isinf(plain)) return plain;
    double scale = ldexp(1, fraction - top);
    sum = trunc(c * scale);
    for (unsigned i = 0; i < n; i++) sum += trunc(p[i].a * p[i].b * scale);
    return ldexp(sum, top - fraction) + 0.0;
}

#endif
