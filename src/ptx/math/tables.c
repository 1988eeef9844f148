/* Tables, one of each in a module that needs it.  Those of which threads of a warp read several rows are in .global
 * memory: .const memory would answer each in turn. */
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

/* The same of sin(pi f) and cos(pi f); the latter has SINCOSPI64_LAST too. */
static const double sincospi64[16] = {
    -0x1.4abbce625be46p2, 0x1.466bc67758c6ap1, -0x1.32d2cce31fa29p-1, 0x1.5078300841253p-4, -0x1.e3009539b825ap-8,
    0x1.e3fe157a22826p-12, 0.0, 0.0,
    -0x1.3bd3cc9be45dep2, 0x1.03c1f081b5a67p2, -0x1.55d3c7e3c325cp0, 0x1.e1f5067b90e32p-3, -0x1.a6d1e7297f1d3p-6,
    0x1.f9c89cd0eb3e6p-10, 0.0, 0.0
};

/* Coefficients that POLY_ON takes, the highest degree first: as literals, each would need two more instructions. */
static const double inverse_near64[20] = {
    -0x1.2c2a6d483aa5bp-49, -0x1.50e36a0c682e4p-46, -0x1.fb26bddfacba3p-44, -0x1.d62aaac14cdf6p-42,
    -0x1.a89465aa4dc83p-41, -0x1.dbe5a628d1422p-41, -0x1.46387ba6cf0ffp-37, 0x1.1407449314b4dp-38,
    0x1.40baac46ad263p-31, 0x1.de9b1260c5ff3p-31, -0x1.84bda5dcc3f7ap-26, -0x1.3edaea8c9d9fbp-25,
    0x1.0fd7a78c767d1p-20, 0x1.0f20f8dd3df8ep-19, -0x1.87013d392aab2p-15, -0x1.0c86b73910678p-13,
    0x1.32110260f6abap-9, 0x1.7a72e72c2fb71p-7, -0x1.db29fb2fee543p-3, 0x1.c5bf891b4ef6bp-1
};

static const double erfcx64[16] = {
    0x1.7dc46002173b9p-20, 0x1.3aecd195aa144p-18, -0x1.3c6a977638cddp-16, -0x1.e7ccde4282c8cp-19,
    0x1.72cd7a609980ap-13, -0x1.dd2855b6264b9p-12, -0x1.269b4d172dfccp-12, 0x1.908f475297bbbp-8,
    -0x1.b00c052f0393dp-6, 0x1.38dbd2c8973b7p-4, -0x1.645fd8a4b5139p-3, 0x1.52cac2371110ep-2,
    -0x1.14eacb1ad043ep-1, 0x1.8be202d26c6dbp-1, -0x1.f3fe31ecb49bcp-1, 0x1.18932bf08e154p0
};

static const double normcdf64[14] = {
    -0x1.96a5185160ef3p-17, 0x1.11cda6b51bd9ep-16, 0x1.2b8920f69be0dp-14, -0x1.5449624ba5909p-12,
    0x1.1ab345c078c31p-12, 0x1.4034e5601dde1p-9, -0x1.c83edf4350ed7p-7, 0x1.71707b5752f2dp-5, -0x1.c15806fa4792p-4,
    0x1.be33e6ee99635p-3, -0x1.77dbb5cddaa11p-2, 0x1.1239b3f8c06d9p-1, -0x1.5ed05c7e41a2cp-1, 0x1.8c2b8893b5c8dp-1
};

static const double erf_far64[8] = {
    0x1.5cef289d61747p-10, -0x1.8d902592859c3p-9, 0x1.bcaa11a55df4ep-11, 0x1.bdda3717a24ddp-6,
    -0x1.2f408ef443038p-3, -0x1.d6480223526cfp-1, -0x1.a0bd82dddfa12p0, -0x1.a2e3bfd6a6409p-20
};

static const double stirling64[10] = {
    -0x1.b49bee190d8fdp-3, 0x1.530fec05d11f4p-4, -0x1.7c56f03330662p-6, 0x1.9043de0a2028fp-8,
    -0x1.f40f81c9448f4p-10, 0x1.b93574cbcd8dep-11, -0x1.381324cbe5c9p-11, 0x1.a01a010440599p-11,
    -0x1.6c16c16bfd1cfp-9, 0x1.5555555555554p-4
};
static const double sine_over_pi64[8] = {
    0x1.080d9d95e8992p-22, -0x1.d3f28f5ca4278p-18, 0x1.3746c58004f00p-13, -0x1.33816a063390cp-9,
    0x1.ac6805cdf33d8p-6, -0x1.86a8e4720c74dp-3, 0x1.9f9cb402bc45dp-1, -0x1.a51a6625307d3p0
};
static const double lgamma_near64[20] = {
    -0x1.1f53176f8339cp-28, 0x1.fa05f8ccba594p-26, -0x1.a82a42b32ca2fp-24, 0x1.e9a236e245806p-23,
    -0x1.f08df9f92cb3fp-22, 0x1.fffeb5e216f43p-21, -0x1.10d44c5359d54p-19, 0x1.257a7d4db6300p-18,
    -0x1.3cc80153ee4e3p-17, 0x1.5810937110e90p-16, -0x1.78de184e7c94cp-15, 0x1.a12795422fa99p-14,
    -0x1.d3fd4ce3ea04fp-13, 0x1.0b36afcbcd508p-11, -0x1.38ac5c2cea7b5p-10, 0x1.7add6ead0dad5p-9,
    -0x1.e404fc218c140p-8, 0x1.51322ac7d8977p-6, -0x1.13e001a55760ep-4, 0x1.4a34cc4a60fa6p-2
};
static const double lgamma_root64[18] = {
    -0x1.3e8765089fea5p-42, 0x1.668c860e74cf5p-40, -0x1.42c84d1535306p-38, 0x1.b3f0ea7208904p-36,
    -0x1.27d92a8233228p-33, 0x1.834e249e47e1dp-31, -0x1.0129af0175dd6p-28, 0x1.5b9c202d79c81p-26,
    -0x1.deeb3d3be31c4p-24, 0x1.52293bb195c64p-21, -0x1.ed78767302b23p-19, 0x1.78a6cf918035ap-16,
    -0x1.32d407092d2f8p-13, 0x1.149a5ad1b3d0bp-10, -0x1.29fab068e9befp-7, 0x1.df70ef9012311p-4,
    0x1.7322a14ef42f1p0, 0x1.67ed6dab1a36dp1
};
static const double tgamma_near64[22] = {
    -0x1.1963f572051d7p-12, 0x1.8d9c536efc8dcp-12, -0x1.a636a12fd1540p-13, 0x1.5cb24ff1cddb3p-12,
    -0x1.775e763ddd8f8p-11, 0x1.15036e38893cfp-10, -0x1.8c78a5695ae85p-10, 0x1.2a00d955483e3p-9,
    -0x1.c0d4d39cda0b2p-9, 0x1.506349eb80141p-8, -0x1.f7f9bc8aef5cdp-8, 0x1.7990f82d75ec4p-7,
    -0x1.1a2c347400194p-6, 0x1.a752ccdd83d99p-6, -0x1.374fd593f706cp-5, 0x1.e022b72a80653p-5,
    -0x1.3d88cfe5a8b1ap-4, 0x1.283bd375049dap-3, -0x1.b77ac1ca2d094p-4, 0x1.a8c4dba620c12p-2,
    0x1.08ea88ee56187p-5, 0x1.c5bf891b4ef6bp-1
};

/* -2^(k/16), less k 2^48: with 16 j + k in the upper words it is -2^(j + k/16).  One line of a cache. */
static const uint64_t exp2_steps64[16] = {
    0xbff0000000000000, 0xbfefb5586cf9890f, 0xbfef72b83c7d517b, 0xbfef387a6e756238,
    0xbfef06fe0a31b715, 0xbfeedea64c123422, 0xbfeebfdad5362a27, 0xbfeeab07dd485429,
    0xbfeea09e667f3bcd, 0xbfeea11473eb0187, 0xbfeeace5422aa0db, 0xbfeec49182a3f090,
    0xbfeee89f995ad3ad, 0xbfef199bdd85529c, 0xbfef5818dcfba487, 0xbfefa4afa2a490da
};

/* pi/2 is the sum. */
static const double half_pi64[2] = { 0x1.921fb54442d18p0, 0x1.1a62633145c07p-54 };

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
    [CJI_MATH_INVERSE_NEAR64] = { "inverse_near64", CJ_F64, inverse_near64, 20, false },
    [CJI_MATH_ERF_FAR64] = { "erf_far64", CJ_F64, erf_far64, 8, false },
    [CJI_MATH_ERFCX64] = { "erfcx64", CJ_F64, erfcx64, 16, false },
    [CJI_MATH_NORMCDF64] = { "normcdf64", CJ_F64, normcdf64, 14, false },
    [CJI_MATH_EXP2_STEPS64] = { "exp2_steps64", CJ_U64, exp2_steps64, 16, true },
    [CJI_MATH_HALF_PI64] = { "half_pi64", CJ_F64, half_pi64, 2, false },
    [CJI_MATH_STIRLING64] = { "stirling64", CJ_F64, stirling64, 10, false },
    [CJI_MATH_SINE_OVER_PI64] = { "sine_over_pi64", CJ_F64, sine_over_pi64, 8, false },
    [CJI_MATH_LGAMMA_NEAR64] = { "lgamma_near64", CJ_F64, lgamma_near64, 20, false },
    [CJI_MATH_TGAMMA_NEAR64] = { "tgamma_near64", CJ_F64, tgamma_near64, 22, false },
    [CJI_MATH_LGAMMA_ROOT64] = { "lgamma_root64", CJ_F64, lgamma_root64, 18, false },
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
    const bool global = cji_math_tables[t].global;
    const cji_math_move one = bytes == 8 ? (global ? CJI_MOVE_LOAD_GLOBAL_64 : CJI_MOVE_LOAD_64)
                                         : (global ? CJI_MOVE_LOAD_GLOBAL_32 : CJI_MOVE_LOAD_32);
    const cji_math_move two = global ? CJI_MOVE_LOAD_GLOBAL_TWO_64 : CJI_MOVE_LOAD_TWO_64;
    for (unsigned i = 0; i < n; i++) r[i] = cji_reg_val(m->f, bytes == 4 ? CJ_B32 : CJ_B64);
    cj_val to = n > 1 ? cj_vec_n(m->f, r, n) : r[0], from = cj_mem(m->f, row, at);
    cji_math_place(m->f, n > 1 ? two : one, to, from);
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

void cji_m_two_d(cji_math *m, cji_math_table t, unsigned k, cj_val *a, cj_val *b)
{
    cji_m_load_d2(m, t, m->f ? cji_math_variable(m, t) : (cj_val){ 0 }, k, a, b);
}

static cj_val poly_from(cji_math *m, cj_val p, cji_math_table t, unsigned from, cj_val x)
{
    for (unsigned i = from; i < cji_math_tables[t].count; i += 2) {
        cj_val a, b;
        cji_m_two_d(m, t, i, &a, &b);
        p = FMA_D(p, x, a);
        p = FMA_D(p, x, b);
    }
    return p;
}

cj_val cji_m_poly_on(cji_math *m, cj_val p, cji_math_table t, cj_val x) { return poly_from(m, p, t, 0, x); }

cj_val cji_m_poly_of(cji_math *m, cji_math_table t, cj_val x)
{
    cj_val a, b;
    cji_m_two_d(m, t, 0, &a, &b);
    return poly_from(m, FMA_D(a, x, b), t, 2, x);
}
