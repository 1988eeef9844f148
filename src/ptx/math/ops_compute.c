/* Operations as C: the bits that the instruction gives. */
#include <string.h>

#include "ptx/math/ops.h"
#include "ptx/math/seed64.h"
#include "ptx/mufu.h"

__extension__ typedef unsigned __int128 wide_uint;

typedef float c_F;
typedef double c_D;
typedef uint32_t c_U;
typedef int32_t c_S;
typedef uint64_t c_W;
typedef int64_t c_X;
typedef bool c_P;

/* ---- Bits and values --------------------------------------------------------------------------------------------- */

static float as_F(cj_val v)
{
    uint32_t low = (uint32_t)v.bits;
    float x;
    memcpy(&x, &low, sizeof x);
    return x;
}

static double as_D(cj_val v)
{
    double x;
    memcpy(&x, &v.bits, sizeof x);
    return x;
}

static uint32_t as_U(cj_val v) { return (uint32_t)v.bits; }
static int32_t as_S(cj_val v) { return (int32_t)(uint32_t)v.bits; }
static uint64_t as_W(cj_val v) { return v.bits; }
static int64_t as_X(cj_val v) { return (int64_t)v.bits; }
static bool as_P(cj_val v) { return v.bits & 1; }

static cj_val of_F(float x)
{
    uint32_t low;
    memcpy(&low, &x, sizeof low);
    return (cj_val){ low };
}

static cj_val of_D(double x)
{
    cj_val v;
    memcpy(&v.bits, &x, sizeof x);
    return v;
}

static cj_val of_U(uint32_t x) { return (cj_val){ x }; }
static cj_val of_S(int32_t x) { return (cj_val){ (uint32_t)x }; }
static cj_val of_W(uint64_t x) { return (cj_val){ x }; }
static cj_val of_P(bool x) { return (cj_val){ x }; }

/* ---- What C has no operator for ---------------------------------------------------------------------------------- */

static float fma_single(float a, float b, float c) { return (float)cji_soft_fma(a, b, c, true); }
static float saturated(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }

/* The sum, rounded toward zero.  As double it is rounded to nearest: what it lost says whether that was too far. */
static float sum_toward_zero(float a, float b)
{
    const double s = (double)a + b, v = s - a;
    const double lost = (a - (s - v)) + (b - v);
    float y = (float)s;
    const double over = (double)y - s;
    if (y != y || __builtin_isinf(a) || __builtin_isinf(b)) return y;
    if (y > 0 ? over > 0 || (over == 0 && lost < 0) : y < 0 && (over < 0 || (over == 0 && lost > 0))) {
        uint32_t bits;
        memcpy(&bits, &y, sizeof bits);
        bits--;
        memcpy(&y, &bits, sizeof y);
    }
    return y;
}

static float whole_toward_zero(int32_t a) { return sum_toward_zero((float)(a & ~255), (float)(a & 255)); }

/* NaN only where both are; -0 is less than +0 */
static double lesser(double a, double b)
{
    if (a != a || b != b) return a != a ? b : a;
    return a < b || (a == b && __builtin_signbit(a)) ? a : b;
}

static double greater(double a, double b)
{
    if (a != a || b != b) return a != a ? b : a;
    return a > b || (a == b && __builtin_signbit(b)) ? a : b;
}

static int32_t sign_shifted(int32_t a, uint32_t n)
{
    uint32_t by = n > 31 ? 31 : n, sign = a < 0 ? UINT32_MAX : 0;
    return (int32_t)(by ? (uint32_t)a >> by | sign << (32 - by) : (uint32_t)a);
}

static int32_t to_s32(double x)
{
    if (x != x) return 0;
    return x >= 2147483647.0 ? INT32_MAX : x <= -2147483648.0 ? INT32_MIN : (int32_t)x;
}

static float approximated(uint32_t (*instruction)(uint32_t, bool), float a, bool ftz)
{
    return as_F(of_U(instruction((uint32_t)of_F(a).bits, ftz)));
}

static double upper(uint32_t word) { return as_D((cj_val){ (uint64_t)word << 32 }); }

static double reciprocal_seed(double a)
{
    uint32_t word = (uint32_t)(of_D(a).bits >> 32), sign = word & 0x80000000u, x = word & 0x7fffffffu;
    if (x > 0x7ff00000u) return upper(0x7fffffffu);
    if (x == 0x7ff00000u) return upper(sign);
    return upper(sign | (x < 0x00100000u ? 0x7ff00000u : cji_seed_rcp(x)));
}

static double root_seed(double a)
{
    uint32_t word = (uint32_t)(of_D(a).bits >> 32), sign = word & 0x80000000u, x = word & 0x7fffffffu;
    if (x > 0x7ff00000u) return upper(0x7fffffffu);
    if (x < 0x00100000u) return upper(sign | 0x7ff00000u);
    if (sign) return upper(0x7fffffffu);
    return upper(x == 0x7ff00000u ? 0 : cji_seed_rsqrt(x));
}

/* Without .ftz: the seed and one step, as the driver's compiler makes of it. */
static double refined_root(double a)
{
    if (a != a || a < 0) return upper(0x7fffffffu);
    if (a == 0) return upper((uint32_t)(of_D(a).bits >> 32) | 0x7ff00000u);
    if (a == __builtin_inf()) return 0;
    const double scale = a < 0x1p-1022 ? 0x1p54 : 1, x = a * scale, y = root_seed(x);
    const double e = cji_soft_fma(x, -(y * y), 1, false);
    const double r = cji_soft_fma(cji_soft_fma(e, 0.375, 0.5, false), y * e, y, false);
    return scale > 1 ? r * 0x1p27 : r;
}

/* ---- The operations ---------------------------------------------------------------------------------------------- */

#define OP1(name, mnemonic, r, ta, x) \
    static cj_val compute_##name(const cji_math *m, const cj_val *v) \
    { \
        const c_##ta a = as_##ta(v[0]); \
        (void)m; \
        return of_##r(x); \
    }
#define OP2(name, mnemonic, r, ta, tb, x) \
    static cj_val compute_##name(const cji_math *m, const cj_val *v) \
    { \
        const c_##ta a = as_##ta(v[0]); \
        const c_##tb b = as_##tb(v[1]); \
        (void)m; \
        return of_##r(x); \
    }
#define OP3(name, mnemonic, r, ta, tb, tc, x) \
    static cj_val compute_##name(const cji_math *m, const cj_val *v) \
    { \
        const c_##ta a = as_##ta(v[0]); \
        const c_##tb b = as_##tb(v[1]); \
        const c_##tc c = as_##tc(v[2]); \
        (void)m; \
        return of_##r(x); \
    }
#include "ptx/math/math_ops.def"
#undef OP1
#undef OP2
#undef OP3

static cj_val (*const computes[])(const cji_math *, const cj_val *) = {
#define OP1(name, mnemonic, r, a, x) compute_##name,
#define OP2(name, mnemonic, r, a, b, x) compute_##name,
#define OP3(name, mnemonic, r, a, b, c, x) compute_##name,
#include "ptx/math/math_ops.def"
#undef OP1
#undef OP2
#undef OP3
};

cj_val cji_math_compute(cji_math *m, cji_math_op op, const cj_val *v)
{
    const bool into = m->into, holds = !m->guarded || m->guard.bits & 1;
    m->into = false;
    return into && !holds ? m->to : computes[op](m, v);
}

cj_val cji_math_apply(cji_math *m, cji_math_op op, const cj_val *v)
{
    return m->f ? cji_math_emit(m, op, v) : cji_math_compute(m, op, v);
}
