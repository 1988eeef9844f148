/* The approximate instructions of f32, f16 and bf16 with a Hopper's bits: its unit for special functions (MUFU), and
 * what the driver's compiler makes of the instructions with it. Bit patterns in, bit patterns out. A NaN is the
 * hardware's: 0x7fffffff, 0x7fff. */
#ifndef CJI_PTX_MUFU_H
#define CJI_PTX_MUFU_H

#include <stdbool.h>
#include <stdint.h>

/* ---- The unit: subnormal operands count as zeros, subnormal results are zeros ------------------------------------ */

uint32_t cji_mufu_rcp(uint32_t a);
uint32_t cji_mufu_rsqrt(uint32_t a);
uint32_t cji_mufu_sqrt(uint32_t a);
uint32_t cji_mufu_lg2(uint32_t a);
uint32_t cji_mufu_ex2(uint32_t a);
uint32_t cji_mufu_sin(uint32_t turns);      /* of 2 pi * turns */
uint32_t cji_mufu_cos(uint32_t turns);
uint32_t cji_mufu_tanh(uint32_t a);         /* subnormal operands are results */

/* ---- X.approx{.ftz}.f32 ------------------------------------------------------------------------------------------ */

uint32_t cji_approx_rcp(uint32_t a, bool ftz);
uint32_t cji_approx_div(uint32_t a, uint32_t b); /* without .ftz */
uint32_t cji_approx_rsqrt(uint32_t a, bool ftz);
uint32_t cji_approx_sqrt(uint32_t a, bool ftz);
uint32_t cji_approx_lg2(uint32_t a, bool ftz);
uint32_t cji_approx_ex2(uint32_t a, bool ftz);
uint32_t cji_approx_sin(uint32_t a, bool ftz);
uint32_t cji_approx_cos(uint32_t a, bool ftz);
uint32_t cji_approx_tanh(uint32_t a, bool ftz);

/* ex2.approx.f16, tanh.approx.f16; `bf`: ex2.approx.ftz.bf16, tanh.approx.bf16. */
uint16_t cji_approx_ex2_half(uint16_t a, bool bf);
uint16_t cji_approx_tanh_half(uint16_t a, bool bf);

/* ---- For handlers of 32 lanes: segments of the table ------------------------------------------------------------- */

/* A result is c0 + c1 x + c2 s of a row of mufu.def, where x has 17 bits and s is cji_mufu_square(x), and its bits
 * after the 24th are dropped. Where the functions' rows begin. rcp: 128 segments of [1, 2), results in [1/2, 1], x is
 * twice what the operand has. rsqrt, sqrt: 64 of [1, 2), then 64 of [2, 4); of 1 they have no sum. lg2, sin: 64 of
 * [0, 1], of lg2 multiples of 2^-36 count; ex2: 64 of [1, 2]. tanh: those of cji_mufu_tanh_at. */
enum {
    CJI_MUFU_RCP = 0,
    CJI_MUFU_RSQRT = 128,
    CJI_MUFU_SQRT = 256,
    CJI_MUFU_LG2 = 384,
    CJI_MUFU_EX2 = 448,
    CJI_MUFU_SIN = 512,
    CJI_MUFU_TANH = 576,
    CJI_MUFU_ROWS = CJI_MUFU_TANH + 51
};
/* Of an operand in [2^(n - 8), 2^(n - 7)), n < 11: its first row times 2^17, and by how many bits its mantissa is
 * shifted right before it is added. Smaller operands are results, of greater ones it is 1. */
extern const uint32_t cji_mufu_tanh_at[16]; /* the last five are unused */
enum { CJI_MUFU_X = 17, CJI_MUFU_SHIFT = 31 /* the part of cji_mufu_tanh_at that is the shift */ };
uint32_t cji_mufu_square(uint32_t x);

#endif
