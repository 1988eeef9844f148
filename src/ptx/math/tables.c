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

/* By columns: the numbers of the threads of a warp lie in one line, or in two. */
static const float gamma_rows[8][CJI_MATH_GAMMA_ROWS] = {
    {
#define ROW(c5, c4, c3, c2, c1, c0, c, g) c5,
#include "ptx/math/gamma_rows.def"
    },
    {
#define ROW(c5, c4, c3, c2, c1, c0, c, g) c4,
#include "ptx/math/gamma_rows.def"
    },
    {
#define ROW(c5, c4, c3, c2, c1, c0, c, g) c3,
#include "ptx/math/gamma_rows.def"
    },
    {
#define ROW(c5, c4, c3, c2, c1, c0, c, g) c2,
#include "ptx/math/gamma_rows.def"
    },
    {
#define ROW(c5, c4, c3, c2, c1, c0, c, g) c1,
#include "ptx/math/gamma_rows.def"
    },
    {
#define ROW(c5, c4, c3, c2, c1, c0, c, g) c0,
#include "ptx/math/gamma_rows.def"
    },
    {
#define ROW(c5, c4, c3, c2, c1, c0, c, g) c,
#include "ptx/math/gamma_rows.def"
    },
    {
#define ROW(c5, c4, c3, c2, c1, c0, c, g) g,
#include "ptx/math/gamma_rows.def"
    },
};

const cji_math_rows cji_math_tables[CJI_MATH_TABLES] = {
    [CJI_MATH_TWO_OVER_PI] = { "two_over_pi", CJ_U32, two_over_pi, 8, false },
    [CJI_MATH_TWO_OVER_PI64] = { "two_over_pi64", CJ_U64, two_over_pi64, 20, false },
    [CJI_MATH_SINCOS64] = { "sincos64", CJ_F64, sincos64, 12, true },
    [CJI_MATH_SINCOSPI64] = { "sincospi64", CJ_F64, sincospi64, 16, true },
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
                                               { CJI_MOVE_LOAD_GLOBAL_32, CJI_MOVE_LOAD_TWO_64 } };
    for (unsigned i = 0; i < n; i++) r[i] = cji_reg_val(m->f, bytes == 4 ? CJ_B32 : CJ_B64);
    cj_val to = n > 1 ? cj_vec_n(m->f, r, n) : r[0], from = cj_mem(m->f, row, at);
    cji_math_place(m->f, moves[cji_math_tables[t].global][bytes == 8], to, from);
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
