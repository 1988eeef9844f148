/* IEEE 754 arithmetic in integers: every format and rounding of PTX, independent of the processor's
 * modes.
 *
 * Values are bit patterns in the low bits of a uint64_t. NaN results are those of the hardware:
 * 0x7fffffff for f32, 0x7fff for f16 and bf16; f64 keeps one NaN operand's payload (quieted: of
 * a / b that of a, else that of b, c, a in this order) and makes 0xfff8000000000000 for an invalid operation. */
#ifndef CJI_EXEC_FP_SOFT_H
#define CJI_EXEC_FP_SOFT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum cji_fp_round {
    CJI_FP_RN = 0, CJI_FP_RZ, CJI_FP_RM, CJI_FP_RP,
    CJI_FP_RNA,        /* nearest, ties away from zero */
    CJI_FP_FTZ = 8     /* added to one of these: a result that is tiny is a zero of its sign. Tiny is what is
                        * below the least normal after rounding to the format's bits with unbounded exponent. */
} cji_fp_round;
/* ORDER cji_fp_round: CJI_KF_RND and CJI_KF_FTZ have the same bits (warp.h). */
#define CJI_FP_MODE(r) ((r) & 7)

/* ORDER cji_fp_format: cji_fp_formats in fp_soft.c */
typedef enum cji_fp_format {
    CJI_FP_F16, CJI_FP_BF16, CJI_FP_F32, CJI_FP_F64, CJI_FP_TF32, CJI_FP_E4M3, CJI_FP_E5M2, CJI_FP_E2M3,
    CJI_FP_E3M2, CJI_FP_E2M1, CJI_FP_UE8M0
} cji_fp_format;

typedef struct cji_fp_desc {
    uint8_t bits;      /* of the container */
    uint8_t ebits, mbits;
    uint8_t low;       /* mantissa bits below mbits that the container has and that are zero (tf32) */
    int16_t bias;
    uint64_t max;      /* largest finite pattern */
    uint64_t inf;      /* 0: has none */
    uint64_t nan;      /* canonical; 0: has none */
} cji_fp_desc;

extern const cji_fp_desc cji_fp_formats[];

typedef enum cji_fp_class { CJI_FP_ZERO, CJI_FP_FINITE, CJI_FP_INF, CJI_FP_NAN } cji_fp_class;

/* (-1)^sign * m * 2^(exp - 63), m's bit 63 set, where FINITE. */
typedef struct cji_fp_num { cji_fp_class cls; bool sign; int exp; uint64_t m; } cji_fp_num;

cji_fp_num cji_fp_unpack(cji_fp_format f, uint64_t bits);

/* Rounds to the format; bit 0 of m is sticky. Overflow is infinity or the largest finite value
 * as the rounding says, or the latter where the format has no infinity or `satfinite`. */
uint64_t cji_fp_pack(cji_fp_format f, cji_fp_num v, cji_fp_round r, bool satfinite);

uint64_t cji_fp_add(cji_fp_format f, uint64_t a, uint64_t b, cji_fp_round r);
uint64_t cji_fp_mul(cji_fp_format f, uint64_t a, uint64_t b, cji_fp_round r);
uint64_t cji_fp_fma(cji_fp_format f, uint64_t a, uint64_t b, uint64_t c, cji_fp_round r);
uint64_t cji_fp_div(cji_fp_format f, uint64_t a, uint64_t b, cji_fp_round r);
uint64_t cji_fp_sqrt(cji_fp_format f, uint64_t a, cji_fp_round r);

/* To an integer value in floating point (cvt.rni.f32.f32). */
uint64_t cji_fp_integral(cji_fp_format f, uint64_t a, cji_fp_round r);
/* To an integer of `bits`, clamped; NaN is 0, except from f64 or to 64 bits: 1 << (bits - 1). */
uint64_t cji_fp_to_int(cji_fp_format f, uint64_t a, unsigned bits, bool is_signed, cji_fp_round r);
uint64_t cji_fp_from_int(cji_fp_format f, uint64_t v, bool is_signed, cji_fp_round r);  /* v extended to 64 bits */
/* Between formats. NaN becomes the target's canonical NaN, but to and from f64 sign and payload are kept, and bf16 to
 * f32 keeps all bits. */
uint64_t cji_fp_convert(cji_fp_format to, cji_fp_format from, uint64_t a, cji_fp_round r, bool satfinite);

/* The canonical NaN, or the first NaN of v[0..n) quieted where the format keeps payloads. */
uint64_t cji_fp_nan_of(cji_fp_format f, const uint64_t *v, int n);

static inline uint32_t cji_f32_bits(float x) { uint32_t u; memcpy(&u, &x, 4); return u; }
static inline float cji_f32_of(uint32_t u) { float x; memcpy(&x, &u, 4); return x; }
static inline uint64_t cji_f64_bits(double x) { uint64_t u; memcpy(&u, &x, 8); return u; }
static inline double cji_f64_of(uint64_t u) { double x; memcpy(&x, &u, 8); return x; }

/* a * b + c for f32 values, exact to round-to-odd in double: any narrowing to 24 or fewer bits of
 * the result is then correct. */
static inline double cji_fma_odd(float a, float b, float c)
{
    double p = (double)a * (double)b, cc = (double)c;
    double s = p + cc, bb = s - p, e = (p - (s - bb)) + (cc - bb);
    int64_t u;
    memcpy(&u, &s, 8);
    int64_t up = (e > 0) == (s > 0) ? 1 : -1;
    int64_t inexact = (e > 0) | (e < 0);
    u += (inexact & ~u & 1) ? up : 0;
    memcpy(&s, &u, 8);
    return s;
}

#endif
