/* bench/sim: loops in plain C that do what one instruction does, over the same operands. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "bench/sim_bench.h"

enum { LOOP_N = SIM_BENCH_LANES, LOOP_COPIES = 64 };

/* The table: name of a form; types of the result and of x, y, z; the result. */
#define LOOPS_INT(T, type, wide) \
    X(add_##T, "add." #T, type, type, type, type, x + y) \
    X(sub_##T, "sub." #T, type, type, type, type, x - y) \
    X(mul_##T, "mul.lo." #T, type, type, type, type, x *y) \
    X(mad_##T, "mad.lo." #T, type, type, type, type, x *y + z) \
    X(div_##T, "div." #T, type, type, type, type, x / y) \
    X(rem_##T, "rem." #T, type, type, type, type, x % y) \
    X(min_##T, "min." #T, type, type, type, type, x < y ? x : y) \
    X(max_##T, "max." #T, type, type, type, type, x > y ? x : y) \
    X(sad_##T, "sad." #T, type, type, type, type, z + (x > y ? x - y : y - x)) \
    X(shr_##T, "shr." #T, type, type, uint32_t, type, x >> (y & (sizeof x * 8 - 1)))
#define LOOPS_WIDE(T, type, wide) \
    X(mulhi_##T, "mul.hi." #T, type, type, type, type, (type)((wide)x * y >> sizeof x * 8)) \
    X(mulwide_##T, "mul.wide." #T, wide, type, type, wide, (wide)x *y) \
    X(madwide_##T, "mad.wide." #T, wide, type, type, wide, (wide)x *y + z)
#define LOOPS_BITS(B, type) \
    X(and_##B, "and.b" #B, type, type, type, type, x & y) \
    X(or_##B, "or.b" #B, type, type, type, type, x | y) \
    X(xor_##B, "xor.b" #B, type, type, type, type, x ^ y) \
    X(not_##B, "not.b" #B, type, type, type, type, ~x) \
    X(shl_##B, "shl.b" #B, type, type, uint32_t, type, x << (y & (sizeof x * 8 - 1)))
#define LOOPS_SIGNED(T, type) \
    X(neg_##T, "neg." #T, type, type, type, type, -x) \
    X(abs_##T, "abs." #T, type, type, type, type, x < 0 ? -x : x)
#define LOOPS_FLOAT(T, type, s) \
    X(add_##T, "add.rn." #T, type, type, type, type, x + y) \
    X(sub_##T, "sub.rn." #T, type, type, type, type, x - y) \
    X(mul_##T, "mul.rn." #T, type, type, type, type, x *y) \
    X(fma_##T, "fma.rn." #T, type, type, type, type, fma##s(x, y, z)) \
    X(div_##T, "div.rn." #T, type, type, type, type, x / y) \
    X(rcp_##T, "rcp.rn." #T, type, type, type, type, 1 / x) \
    X(sqrt_##T, "sqrt.rn." #T, type, type, type, type, sqrt##s(x)) \
    X(neg_##T, "neg." #T, type, type, type, type, -x) \
    X(abs_##T, "abs." #T, type, type, type, type, fabs##s(x)) \
    X(min_##T, "min." #T, type, type, type, type, fmin##s(x, y)) \
    X(max_##T, "max." #T, type, type, type, type, fmax##s(x, y)) \
    X(copysign_##T, "copysign." #T, type, type, type, type, copysign##s(y, x))
#define LOOPS_TO_FLOAT(T, type) \
    X(f32_##T, "cvt.rn.f32." #T, float, type, type, type, (float)x) \
    X(f64_##T, "cvt.rn.f64." #T, double, type, type, type, (double)x)
#define LOOPS_OF_FLOAT(T, type) \
    X(T##_f32, "cvt.rzi." #T ".f32", type, float, float, float, (type)x) \
    X(T##_f64, "cvt.rzi." #T ".f64", type, double, double, double, (type)x)
#define LOOPS_OF_INT(T, type) \
    X(T##_s16, "cvt." #T ".s16", type, int16_t, int16_t, int16_t, (type)x) \
    X(T##_u16, "cvt." #T ".u16", type, uint16_t, uint16_t, uint16_t, (type)x) \
    X(T##_s32, "cvt." #T ".s32", type, int32_t, int32_t, int32_t, (type)x) \
    X(T##_u32, "cvt." #T ".u32", type, uint32_t, uint32_t, uint32_t, (type)x) \
    X(T##_s64, "cvt." #T ".s64", type, int64_t, int64_t, int64_t, (type)x) \
    X(T##_u64, "cvt." #T ".u64", type, uint64_t, uint64_t, uint64_t, (type)x)
#define LOOPS_APPROX(name, function) X(name, #name ".approx.f32", float, float, float, float, function)

#define LOOPS \
    LOOPS_INT(u16, uint16_t, uint32_t) LOOPS_INT(s16, int16_t, int32_t) LOOPS_INT(u32, uint32_t, uint64_t) \
    LOOPS_INT(s32, int32_t, int64_t) LOOPS_INT(u64, uint64_t, uint64_t) LOOPS_INT(s64, int64_t, int64_t) \
    LOOPS_WIDE(u16, uint16_t, uint32_t) LOOPS_WIDE(s16, int16_t, int32_t) LOOPS_WIDE(u32, uint32_t, uint64_t) \
    LOOPS_WIDE(s32, int32_t, int64_t) \
    LOOPS_BITS(16, uint16_t) LOOPS_BITS(32, uint32_t) LOOPS_BITS(64, uint64_t) \
    LOOPS_SIGNED(s16, int16_t) LOOPS_SIGNED(s32, int32_t) LOOPS_SIGNED(s64, int64_t) \
    LOOPS_FLOAT(f32, float, f) LOOPS_FLOAT(f64, double, ) \
    LOOPS_TO_FLOAT(s16, int16_t) LOOPS_TO_FLOAT(u16, uint16_t) LOOPS_TO_FLOAT(s32, int32_t) \
    LOOPS_TO_FLOAT(u32, uint32_t) LOOPS_TO_FLOAT(s64, int64_t) LOOPS_TO_FLOAT(u64, uint64_t) \
    LOOPS_OF_FLOAT(s16, int16_t) LOOPS_OF_FLOAT(u16, uint16_t) LOOPS_OF_FLOAT(s32, int32_t) \
    LOOPS_OF_FLOAT(u32, uint32_t) LOOPS_OF_FLOAT(s64, int64_t) LOOPS_OF_FLOAT(u64, uint64_t) \
    LOOPS_OF_INT(s16, int16_t) LOOPS_OF_INT(u16, uint16_t) LOOPS_OF_INT(s32, int32_t) \
    LOOPS_OF_INT(u32, uint32_t) LOOPS_OF_INT(s64, int64_t) LOOPS_OF_INT(u64, uint64_t) \
    X(f64_f32, "cvt.f64.f32", double, float, float, float, (double)x) \
    X(f32_f64, "cvt.rn.f32.f64", float, double, double, double, (float)x) \
    X(mov_16, "mov.b16", uint16_t, uint16_t, uint16_t, uint16_t, x) \
    X(mov_32, "mov.b32", uint32_t, uint32_t, uint32_t, uint32_t, x) \
    X(mov_64, "mov.b64", uint64_t, uint64_t, uint64_t, uint64_t, x) \
    X(cnot_32, "cnot.b32", uint32_t, uint32_t, uint32_t, uint32_t, !x) \
    X(slct_s32, "slct.b32.s32", uint32_t, uint32_t, uint32_t, int32_t, z >= 0 ? x : y) \
    X(slct_f32, "slct.b32.f32", uint32_t, uint32_t, uint32_t, float, z >= 0 ? x : y) \
    X(shf_l, "shf.l.wrap.b32", uint32_t, uint32_t, uint32_t, uint32_t, \
      (uint32_t)((((uint64_t)y << 32 | x) << (z & 31)) >> 32)) \
    X(bfe_u32, "bfe.u32", uint32_t, uint32_t, uint32_t, uint32_t, x >> (y & 31) & ((UINT64_C(1) << (z & 31)) - 1)) \
    LOOPS_APPROX(rcp, 1 / x) LOOPS_APPROX(sqrt, sqrtf(x)) LOOPS_APPROX(rsqrt, 1 / sqrtf(x)) \
    LOOPS_APPROX(div, x / y) LOOPS_APPROX(sin, sinf(x)) LOOPS_APPROX(cos, cosf(x)) LOOPS_APPROX(lg2, log2f(x)) \
    LOOPS_APPROX(ex2, exp2f(x)) LOOPS_APPROX(tanh, tanhf(x))

#define X(id, name, TD, TX, TY, TZ, result) \
    static void loop_##id(void *restrict to, const void *restrict a, const void *restrict b, const void *restrict c) \
    { \
        TD *d = to; \
        for (int i = 0; i < LOOP_N; i++) { \
            TX x = ((const TX *)a)[i]; \
            TY y = ((const TY *)b)[i]; \
            TZ z = ((const TZ *)c)[i]; \
            (void)x, (void)y, (void)z; \
            d[i] = (TD)(result); \
        } \
    }
LOOPS
#undef X

static const struct {
    const char *form;
    void (*loop)(void *restrict to, const void *restrict a, const void *restrict b, const void *restrict c);
} loops[] = {
#define X(id, name, TD, TX, TY, TZ, result) { name, loop_##id },
    LOOPS
#undef X
};

typedef struct loop_run { size_t loop; const void *const *in; } loop_run;

/* The loop has an effect each time: the compiler does not know what happens to the results in between. */
static void loop_round(void *user)
{
    static uint64_t out[LOOP_N];
    loop_run *r = user;
    for (int i = 0; i < LOOP_COPIES; i++) {
        loops[r->loop].loop(out, r->in[0], r->in[1], r->in[2]);
        __asm__ volatile("" : : "r"(out) : "memory");
    }
}

double sim_bench_loop(const sim_bench *b, const char *form, const void *const in[3])
{
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        if (strcmp(loops[i].form, form)) continue;
        loop_run r = { i, in };
        return (double)LOOP_N * LOOP_COPIES / sim_bench_best(b, loop_round, &r);
    }
    return 0;
}

size_t sim_bench_loops(void) { return sizeof loops / sizeof *loops; }
