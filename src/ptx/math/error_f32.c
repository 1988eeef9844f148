/* The error function in f32, its complement, scaled, and the normal distribution's. */
#include "ptx/math/ops.h"

/* Below 0.92 an odd polynomial, above it 1 - 2^p; both are always computed. */
void cji_math_erf_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val x = a[0], size = ABS(x), z = MUL(x, x);
    cj_val p = POLY(z, -0x1.390c76p-11f, 0x1.46fe8ep-8f, -0x1.b6821p-6f, 0x1.ce19eap-4f, -0x1.8126e4p-2f,
                    0x1.06eba6p-3f);
    p = FMA(p, x, x);
    cj_val g = POLY(size, -0x1.d18c92p-10f, 0x1.6c780ap-6f, -0x1.0bc4c6p-3f, -0x1.e1363cp-1f, -0x1.9d880cp0f,
                    -0x1.7e2546p-9f);
    g = EX2(g);
    g = SUB(F(1.f), g);
    g = COPYSIGN(g, x);
    cj_val big = GE(size, F(0.92f));
    r[0] = SEL(big, g, p);
}

/* q = (a - k) / (a + k) for a >= 0, with its remainder against a itself; *rc is about 1 / (a + k). */
static cj_val transformed(cji_math *m, cj_val a, float k, cj_val *rc)
{
    cj_val d = ADD(a, F(k)), n = ADD(a, F(-k));
    *rc = RCP(d);
    cj_val q = MUL(n, *rc);
    cj_val nq = NEG(q);
    cj_val rest = FMA(q, F(-k), n);
    rest = FMA(nq, a, rest);
    return FMA(rest, *rc, q);
}

/* (p q + last) / (a + k), with the remainder against a itself and what the sum loses: rounded once. a y comes first: it
 * cancels most where a is great. */
static cj_val last_step(cji_math *m, cj_val p, cj_val q, float last, cj_val a, float k, cj_val rc)
{
    cj_val sum = FMA(p, q, F(last));
    cj_val less = SUB(F(last), sum);
    less = FMA(p, q, less);
    cj_val y = MUL(sum, rc);
    cj_val ny = NEG(y);
    cj_val rest = FMA(ny, a, sum);
    rest = FMA(y, F(-k), rest);
    rest = ADD(rest, less);
    return FMA(rest, rc, y);
}

/* e^(a^2) erfc(a): (a + 2) times it in q */
static cj_val erfc_scaled(cji_math *m, cj_val q, cj_val a, cj_val rc)
{
    cj_val p = POLY(q, -0x1.6fb3dap-15f, -0x1.138526p-11f, -0x1.7e7e58p-11f, 0x1.8e47c4p-9f, 0x1.a5d1b8p-8f,
                    -0x1.604648p-6f, -0x1.2a7c16p-5f, 0x1.1e2db8p-2f, -0x1.5fd38ep-1f);
    return last_step(m, p, q, 0x1.058672p0f, a, 2.f, rc);
}

/* 2^f with *scale: e^(s + l), where l is what s lost. */
static cj_val exp_pair(cji_math *m, cj_val s, cj_val l, cj_val *scale)
{
    cj_val t = OP(fma_sat, s, F(0x1.75b598p-8f), F(0x1.fdf9eep-2f));
    t = FMA(t, F(253.f), F(SHIFT_F + 1.f));
    cj_val nj = SUB(F(SHIFT_F + 127.f), t);
    cj_val f = FMA(s, F(0x1.715476p0f), nj);
    f = FMA(s, F(0x1.4ae0cp-26f), f);
    f = FMA(l, F(0x1.715476p0f), f);
    *scale = SHL(t, U(23));
    return EX2(f);
}

void cji_math_erfc_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val rc, scale, x = a[0], size = ABS(x), q = transformed(m, size, 2.f, &rc);
    cj_val p = erfc_scaled(m, q, size, rc);
    cj_val n = NEG(size);
    cj_val s = MUL(n, size);
    cj_val ns = NEG(s);
    cj_val l = FMA(n, size, ns);
    cj_val e = exp_pair(m, s, l, &scale);
    p = MUL(p, e);
    p = MUL(p, scale);
    cj_val none = GT(size, F(10.0625f));
    WHEN(none, p) = OP(mov, F(0.f));
    cj_val negative = LT(x, F(0.f));
    WHEN(negative, p) = SUB(F(2.f), p);
    r[0] = p;
}

/* e^(x^2) erfc(x); below zero 2 e^(x^2) - erfcx(-x), above 2^100 1 / (sqrt(pi) x): both behind one branch. */
void cji_math_erfcx_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val rc, scale, x = a[0], size = ABS(x), q = transformed(m, size, 2.f, &rc);
    cj_val p = POLY(q, 0x1.57f78p-14f, 0x1.2e86bcp-14f, -0x1.36e2a2p-11f, -0x1.c251fcp-11f, 0x1.902ce2p-9f,
                    0x1.a9018p-8f, -0x1.6046bp-6f, -0x1.2a8a28p-5f, 0x1.1e2dbp-2f, -0x1.5fd386p-1f);
    p = last_step(m, p, q, 0x1.058672p0f, size, 2.f, rc);
    IF(OP(gt_u, x, U(0x71800000))) {
        cj_val great = GT(size, F(0x1p100f)), back = OP(rcp_all, size);
        WHEN(great, p) = MUL(back, F(0x1.20dd76p-1f));
        cj_val n = OP(max, x, F(-16.f));            /* the square does not overflow */
        cj_val s = MUL(n, n);
        cj_val ns = NEG(s);
        cj_val l = FMA(n, n, ns);
        cj_val e = exp_pair(m, s, l, &scale);
        e = MUL(e, scale);
        cj_val np = NEG(p);
        cj_val negative = LT(x, F(0.f));
        WHEN(negative, p) = FMA(e, F(2.f), np);
    } ENDIF
    r[0] = p;
}

/* erfc(-x / sqrt 2) / 2, with a polynomial of its own in (a - 4) / (a + 4). */
void cji_math_normcdf_f32(cji_math *m, const cj_val *a, cj_val *r)
{
    cj_val rc, scale, x = a[0], size = ABS(x), q = transformed(m, size, 4.f, &rc);
    cj_val p = POLY(q, -0x1.cb9fdcp-14f, 0x1.c6fd68p-13f, 0x1.9abe3p-10f, -0x1.d00672p-9f, -0x1.ed70dcp-8f,
                    0x1.eee25cp-5f, -0x1.7dff8p-3f, 0x1.8c6d76p-2f, -0x1.373e3ap-1f);
    p = last_step(m, p, q, 0x1.82b4bcp-1f, size, 4.f, rc);
    cj_val h = MUL(size, F(-0.5f));
    cj_val s = MUL(h, size);
    cj_val ns = NEG(s);
    cj_val l = FMA(h, size, ns);
    cj_val e = exp_pair(m, s, l, &scale);
    p = MUL(p, e);
    p = MUL(p, scale);
    cj_val none = GT(size, F(14.5f));
    WHEN(none, p) = OP(mov, F(0.f));
    cj_val positive = GT(x, F(0.f));
    WHEN(positive, p) = SUB(F(1.f), p);
    r[0] = p;
}
