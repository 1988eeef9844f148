#!/usr/bin/env python3
"""Judges the worst points that tests/math/check_math has found, by MPFR with 200 bits, and prints the table with the
columns `points` and `mpfr` filled in.

usage: judge_mpfr.py TABLE POINTS > tests/oracle/math_errors.txt      (needs gmpy2, which has MPFR in it)

Exit status 1: a correctly rounded function is not, or a point is worse than its line says by more than one step.
"""
import struct
import sys

import gmpy2
from gmpy2 import mpfr

import record_mpfr

TYPES = {"f32": ("<f", "<I", 32), "f64": ("<d", "<Q", 64)}
PI = gmpy2.const_pi(400)


def of_quarter(x):
    """x = 2 n + q / 2 + f with |f| <= 1/4, exactly: q and pi f."""
    with gmpy2.context(gmpy2.get_context(), precision=2400):
        y = gmpy2.fmod(x, mpfr(2))
        j = gmpy2.rint(2 * y)
        f = y - j / 2
    return int(j) & 3, PI * f


def sinpi(x):
    q, f = of_quarter(x)
    r = gmpy2.cos(f) if q & 1 else gmpy2.sin(f)
    return -r if q & 2 else r


def cospi(x):
    q, f = of_quarter(x)
    r = -gmpy2.sin(f) if q & 1 else gmpy2.cos(f)
    return -r if q & 2 else r


def sigmoid(x):
    return 1 / (1 + gmpy2.exp(-x))


def gelu_tanh(x):
    k = 2 * gmpy2.sqrt(2 / gmpy2.const_pi())
    return x / (1 + gmpy2.exp(-k * (x + mpfr("0.044715") * x**3)))


def softplus(x):
    return (x if x > 0 else mpfr(0)) + gmpy2.log1p(gmpy2.exp(-abs(x)))


ONE = {name: getattr(gmpy2, name) for name in """exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan asin acos atan
    sinh cosh tanh asinh acosh atanh erf erfc cbrt rint""".split()}
ONE.update(
    sinpi=sinpi, cospi=cospi, tanpi=lambda x: sinpi(x) / cospi(x), erfcx=record_mpfr.erfcx,
    erfinv=record_mpfr.erfinv, erfcinv=record_mpfr.erfcinv, normcdf=record_mpfr.normcdf,
    normcdfinv=record_mpfr.normcdfinv, lgamma=lambda x: gmpy2.lgamma(x)[0], tgamma=gmpy2.gamma,
    lgamma_near_zeros=lambda x: gmpy2.lgamma(x)[0], rcbrt=lambda x: 1 / gmpy2.cbrt(x), rsqrt=gmpy2.rec_sqrt,
    sigmoid=sigmoid, silu=lambda x: x * sigmoid(x), gelu=lambda x: x * record_mpfr.normcdf(x), gelu_tanh=gelu_tanh,
    softplus=softplus)
TWO = {"pow": lambda x, y: x**y, "pown": lambda x, y: x**y, "atan2": gmpy2.atan2, "hypot": gmpy2.hypot,
       "rhypot": lambda x, y: 1 / gmpy2.hypot(x, y)}
PAIRS = {"sincos": (gmpy2.sin, gmpy2.cos), "sincospi": (sinpi, cospi)}


def number(word, kind):
    name, bits, _ = TYPES[kind]
    return struct.unpack(name, struct.pack(bits, word))[0]


def place(word, kind):
    top = 1 << (TYPES[kind][2] - 1)
    return -(word - top) if word >= top else word


def wanted(name, result, x, y):
    """By MPFR; None: there is no function of this name."""
    if name in PAIRS:
        return PAIRS[name][result](x)
    return ONE[name](x) if name in ONE else TWO[name](x, y) if name in TWO else None


def error(unit, kind, want, got):
    if unit == "ulp":
        return abs(place(record_mpfr.bits(want, kind), kind) - place(got, kind))
    off = abs(want - mpfr(number(got, kind)))
    return float(off / max(1, abs(want)) if unit == "abs" else off / abs(want))


def main():
    table, points = sys.argv[1:3]
    units, found, bad = {}, {}, 0
    lines = open(table).read().splitlines()
    for line in lines:
        if not line.startswith("#"):
            c = line.split()
            units[tuple(c[:4]) + (c[5],)] = c[7]
    for line in open(points):
        name, kind, form, result, reference, x, y, got = line.split()
        key = (name, kind, form, result, reference)
        y = int(y, 16)
        whole = struct.unpack("<i", struct.pack("<I", y & 0xFFFFFFFF))[0]
        second = mpfr(whole if name == "pown" else number(y, kind))
        want = wanted(name, int(result), mpfr(number(int(x, 16), kind)), second)
        if want is not None:
            count, worst = found.get(key, (0, 0))
            found[key] = count + 1, max(worst, error(units[key], kind, want, int(got, 16)))
    for line in lines:
        c = line.split()
        key = None if line.startswith("#") else tuple(c[:4]) + (c[5],)
        if key in found:
            count, worst = found[key]
            c[12], c[13] = str(count), str(worst) if c[7] == "ulp" else f"{worst:.3e}"
            worse = worst > int(c[8]) + 1 if c[7] == "ulp" else worst > float(c[8]) * 1.01
            if worse or (c[2] == "rounded" and worst):
                print(f"judge_mpfr.py: {' '.join(key)}: {worst} by MPFR, {c[8]} by the reference", file=sys.stderr)
                bad = 1
            line = " ".join(c)
        print(line)
    return bad


if __name__ == "__main__":
    sys.exit(main())
