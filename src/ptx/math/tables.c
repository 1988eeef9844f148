/* Tables, one of each in a module that needs it.  Those of coefficients are in .global memory: threads of a warp whose
 * operands differ read several rows, and .const memory would answer each in turn. */
#include <stdio.h>
#include <string.h>

#include "ptx/math/ops.h"

/* 2/pi in words, the highest first, behind a word of zeros. */
static const uint32_t two_over_pi[8] = {
    0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab
};

static const uint64_t two_over_pi64[20] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab
};

/* Coefficients by quadrant, the lowest degree first: of (sin r - r) / r^3 in r^2, of (cos r - 1) / r^2.
 * The latter has SINCOS64_LAST too. */
static const double sincos64[12] = {
    -0x1.5555555555548p-3, 0x1.111111110f75fp-7, -0x1.a01a019bf286dp-13, 0x1.71de355f70d63p-19,
    -0x1.ae5e54d23935dp-26, 0x1.5d8e53c53415cp-33,
    -0.5, 0x1.555555555554bp-5, -0x1.6c16c16c15017p-10, 0x1.a01a019c8f6bap-16,
    -0x1.27e4f7f1c95cfp-22, 0x1.1ee9dbf59175fp-29
};

/* The same of sin(pi f) and cos(pi f). */
static const double sincospi64[16] = {
    -0x1.4abbce625be53p2, 0x1.466bc6775ab46p1, -0x1.32d2cce6337eap-1, 0x1.50783490f1be5p-4, -0x1.e3075a5019d1cp-8,
    0x1.e8f9020291672p-12, -0x1.6f1cc0b346fa5p-16, 0.0,
    -0x1.3bd3cc9be45dep2, 0x1.03c1f081b5a67p2, -0x1.55d3c7e3c325cp0, 0x1.e1f5067b90e22p-3, -0x1.a6d1e7297d362p-6,
    0x1.f9c89cce8e2d6p-10, -0x1.b1673f09c707fp-14, 0.0
};

/* Polynomials of gamma functions, the highest degree first: log Gamma(4.75... + t); (log Gamma(2 + t) - k t) / t^2 with
 * k = 1 - gamma; behind a zero the sum of Stirling's series times x, in 1 / x^2; Gamma(1.5 + u). */
static const double gamma64[72] = {
    -0x1.3e8765089fea5p-42, 0x1.668c860e74cf5p-40, -0x1.42c84d1535306p-38, 0x1.b3f0ea7208904p-36,
    -0x1.27d92a8233228p-33, 0x1.834e249e47e1dp-31, -0x1.0129af0175dd6p-28, 0x1.5b9c202d79c81p-26,
    -0x1.deeb3d3be31c4p-24, 0x1.52293bb195c64p-21, -0x1.ed78767302b23p-19, 0x1.78a6cf918035ap-16,
    -0x1.32d407092d2f8p-13, 0x1.149a5ad1b3d0bp-10, -0x1.29fab068e9befp-7, 0x1.df70ef9012311p-4,
    0x1.7322a14ef42f1p0, 0x1.67ed6dab1a36dp1,
    -0x1.1f53176f8339cp-28, 0x1.fa05f8ccba594p-26, -0x1.a82a42b32ca2fp-24, 0x1.e9a236e245806p-23,
    -0x1.f08df9f92cb3fp-22, 0x1.fffeb5e216f43p-21, -0x1.10d44c5359d54p-19, 0x1.257a7d4db6300p-18,
    -0x1.3cc80153ee4e3p-17, 0x1.5810937110e90p-16, -0x1.78de184e7c94cp-15, 0x1.a12795422fa99p-14,
    -0x1.d3fd4ce3ea04fp-13, 0x1.0b36afcbcd508p-11, -0x1.38ac5c2cea7b5p-10, 0x1.7add6ead0dad5p-9,
    -0x1.e404fc218c140p-8, 0x1.51322ac7d8977p-6, -0x1.13e001a55760ep-4, 0x1.4a34cc4a60fa6p-2,
    0.0,
    0x1.1743b66176d6cp-2, -0x1.b49bee190d8fdp-3, 0x1.530fec05d11f4p-4, -0x1.7c56f03330662p-6,
    0x1.9043de0a2028fp-8, -0x1.f40f81c9448f4p-10, 0x1.b93574cbcd8dep-11, -0x1.381324cbe5c9p-11,
    0x1.a01a010440599p-11, -0x1.6c16c16bfd1cfp-9, 0x1.5555555555554p-4,
    -0x1.1963f572051d7p-12, 0x1.8d9c536efc8dcp-12, -0x1.a636a12fd1540p-13, 0x1.5cb24ff1cddb3p-12,
    -0x1.775e763ddd8f8p-11, 0x1.15036e38893cfp-10, -0x1.8c78a5695ae85p-10, 0x1.2a00d955483e3p-9,
    -0x1.c0d4d39cda0b2p-9, 0x1.506349eb80141p-8, -0x1.f7f9bc8aef5cdp-8, 0x1.7990f82d75ec4p-7,
    -0x1.1a2c347400194p-6, 0x1.a752ccdd83d99p-6, -0x1.374fd593f706cp-5, 0x1.e022b72a80653p-5,
    -0x1.3d88cfe5a8b1ap-4, 0x1.283bd375049dap-3, -0x1.b77ac1ca2d094p-4, 0x1.a8c4dba620c12p-2,
    0x1.08ea88ee56187p-5, 0x1.c5bf891b4ef6bp-1
};

static const float gamma_rows[][8] = {
#define ROW(c5, c4, c3, c2, c1, c0, c, g) { c5, c4, c3, c2, c1, c0, c, g },
#include "ptx/math/gamma_rows.def"
};

const cji_math_rows cji_math_tables[CJI_MATH_TABLES] = {
    [CJI_MATH_TWO_OVER_PI] = { "two_over_pi", CJ_U32, two_over_pi, 8, false },
    [CJI_MATH_TWO_OVER_PI64] = { "two_over_pi64", CJ_U64, two_over_pi64, 20, false },
    [CJI_MATH_SINCOS64] = { "sincos64", CJ_F64, sincos64, 12, true },
    [CJI_MATH_SINCOSPI64] = { "sincospi64", CJ_F64, sincospi64, 16, true },
    [CJI_MATH_GAMMA64] = { "gamma64", CJ_F64, gamma64, 72, true },
    [CJI_MATH_GAMMA] = { "gamma", CJ_F32, gamma_rows, sizeof gamma_rows / sizeof(float), true }
};

/* The place of element `index`: an address, or a count of bytes. */
cj_val cji_m_row(cji_math *m, cji_math_table t, cj_val index, unsigned bytes)
{
    if (!m->f) return (cj_val){ (uint64_t)(uint32_t)index.bits * bytes };
    cj_val base = cj_addr(m->f, cji_math_variable(m, t));
    return cji_m_mad_wide_u(m, index, U(bytes), base);
}

/* `n` elements of a row from byte `at` on, each of `bytes`. */
static void load(cji_math *m, cji_math_table t, cj_val row, unsigned at, unsigned bytes, cj_val *r, unsigned n)
{
    if (!m->f) {
        const uint8_t *from = (const uint8_t *)cji_math_tables[t].data + row.bits + at;
        for (unsigned i = 0; i < n; i++) {
            r[i].bits = 0;
            memcpy(&r[i].bits, from + (size_t)i * bytes, bytes);
        }
        return;
    }
    static const cji_math_move moves[2][2] = { { CJI_MOVE_LOAD_32, CJI_MOVE_LOAD_64 },
                                               { CJI_MOVE_LOAD_FOUR_32, CJI_MOVE_LOAD_TWO_64 } };
    for (unsigned i = 0; i < n; i++) r[i] = cji_reg_val(m->f, bytes == 4 ? CJ_B32 : CJ_B64);
    cj_val to = n > 1 ? cj_vec_n(m->f, r, n) : r[0], from = cj_mem(m->f, row, at);
    cji_math_place(m->f, moves[n > 1][bytes == 8], to, from);
}

cj_val cji_m_load_u(cji_math *m, cji_math_table t, cj_val row, unsigned k)
{
    cj_val r = CJI_NULL;
    load(m, t, row, 4 * k, 4, &r, 1);
    return r;
}

cj_val cji_m_load_w(cji_math *m, cji_math_table t, cj_val row, unsigned k)
{
    cj_val r = CJI_NULL;
    load(m, t, row, 8 * k, 8, &r, 1);
    return r;
}

void cji_m_load_d2(cji_math *m, cji_math_table t, cj_val row, unsigned k, cj_val *a, cj_val *b)
{
    cj_val r[2] = { { 0 }, { 0 } };
    load(m, t, row, 8 * k, 8, r, 2);
    *a = r[0];
    *b = r[1];
}

void cji_m_load_f4(cji_math *m, cji_math_table t, cj_val row, unsigned k, cj_val *r)
{
    for (unsigned i = 0; i < 4; i++) r[i] = CJI_NULL;
    load(m, t, row, 4 * k, 4, r, 4);
}
