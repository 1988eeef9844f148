#!/usr/bin/env python3
"""Writes mpfr_values.txt: functions that the C library lacks, by MPFR with 200 bits, rounded once to f32 or f64.

usage: record_mpfr.py > mpfr_values.txt      (needs gmpy2, which has MPFR in it; no test runs it)

A section is a line `function type first step sign count` and the results' bits: operand i has the bits first + i step,
with the sign of i where `sign` is alternating, or that of `sign`.
"""
import math
import struct

import gmpy2
from gmpy2 import mpfr

gmpy2.get_context().precision = 200
gmpy2.get_context().emin, gmpy2.get_context().emax = -200000, 200000
TYPES = {"f32": (24, -148, 128, "<f", "<I"), "f64": (53, -1073, 1024, "<d", "<Q")}
ROOT_HALF = 1 / gmpy2.sqrt(mpfr(2))
ROOT_PI = gmpy2.sqrt(gmpy2.const_pi())


def erfcx(x):
    if x > 20:  # asymptotic, with terms of less than e^-400
        term, total = mpfr(1), mpfr(1)
        for k in range(1, 400):
            term *= -(2 * k - 1) / (2 * x * x)
            if abs(term) < mpfr(2) ** -210:
                break
            total += term
        return total / (x * ROOT_PI)
    return gmpy2.exp(x * x) * gmpy2.erfc(x)


def normcdf(x):
    return gmpy2.erfc(-x * ROOT_HALF) / 2


def solved(y, x, f, slope):
    """f(x) = y by Halley's steps, each with three times the digits: f'' / f' of erf and erfc is -2 x."""
    for _ in range(200):
        e = (f(x) - y) / slope(x)
        step = e / (1 + x * e)
        x -= step
        if abs(step) < abs(x) * mpfr(2) ** -60:
            return x
    raise ValueError(f"no solution for {y}")


def rough(y):
    """erfcinv of a double, to some digits."""
    x = math.sqrt(-math.log(y)) * 0.93 if y < 0.6 else (1 - y) * 0.886
    for _ in range(8):
        slope = -2 / math.sqrt(math.pi) * math.exp(-x * x)
        e = (math.erfc(x) - y) / slope if slope else 0
        x -= max(-1, min(1, e / (1 + x * e)))
    return x


def erfcinv(y):
    """Of 0 < y < 2."""
    if y == 1:
        return mpfr(0)
    if y > 1:
        return -erfcinv(2 - y)
    return solved(y, mpfr(rough(float(y))), gmpy2.erfc, lambda x: -2 / ROOT_PI * gmpy2.exp(-x * x))


def erfinv(y):
    if abs(y) > 0.3:
        return (1 if y > 0 else -1) * erfcinv(1 - abs(y))
    return solved(y, y * ROOT_PI / 2, gmpy2.erf, lambda x: 2 / ROOT_PI * gmpy2.exp(-x * x))


def normcdfinv(p):
    return -erfcinv(2 * p) / ROOT_HALF


def turns(x):
    """pi times what x is beyond the nearest even number; exact but for pi."""
    return gmpy2.const_pi() * (x - 2 * gmpy2.rint(x / 2))


def sinpi(x):
    return gmpy2.sin(turns(x))


def cospi(x):
    return gmpy2.cos(turns(x))


def tanpi(x):
    if gmpy2.is_integer(2 * x) and not gmpy2.is_integer(x):
        raise ValueError(f"{x} is a pole")
    return gmpy2.tan(turns(x))


def rcbrt(x):
    return 1 / gmpy2.cbrt(x)


def rsqrt(x):
    return 1 / gmpy2.sqrt(x)


def bits(x, kind):
    """The bits of the nearest number of the type."""
    precision, least, most, number, word = TYPES[kind]
    with gmpy2.context(gmpy2.get_context(), precision=precision, emin=least, emax=most, subnormalize=True):
        return struct.unpack(word, struct.pack(number, float(+x)))[0]


def value(word_bits, kind):
    *_, number, word = TYPES[kind]
    return mpfr(struct.unpack(number, struct.pack(word, word_bits))[0])


# function, first and last operand by type, sign, count
SECTIONS = [
    (erfinv, (2.0**-40, 1 - 2.0**-24), (2.0**-60, 1 - 2.0**-53), "alternating", 2000),
    (erfcinv, (2.0**-149, 2 - 2.0**-23), (5e-324, 2 - 2.0**-52), "+", 2000),
    (erfcx, (2.0**-30, 1e20), (2.0**-60, 1e100), "+", 1000),
    (erfcx, (2.0**-30, 9.375), (2.0**-60, 26.6), "-", 1000),
    (normcdf, (2.0**-30, 6), (2.0**-60, 9), "+", 500),
    (normcdf, (2.0**-30, 14.125), (2.0**-60, 38.4), "-", 1500),
    (normcdfinv, (2.0**-149, 1 - 2.0**-24), (5e-324, 1 - 2.0**-53), "+", 2000),
    (sinpi, (2.0**-30, 3.3), (2.0**-60, 3.3), "alternating", 2000),
    (cospi, (2.0**-14, 3.3), (2.0**-30, 3.3), "alternating", 2000),
    (tanpi, (2.0**-30, 3.3), (2.0**-60, 3.3), "alternating", 2000),
    (rcbrt, (2.0**-149, 3e38), (5e-324, 1.7e308), "alternating", 2000),
    (rsqrt, (2.0**-149, 3e38), (5e-324, 1.7e308), "+", 2000),
]


def main():
    print("# Made by record_mpfr.py: function type first step sign count, then the bits of the results.")
    for function, f32, f64, sign, count in SECTIONS:
        for kind, (first, last) in (("f32", f32), ("f64", f64)):
            digits = 8 if kind == "f32" else 16
            low, high = bits(mpfr(first), kind), bits(mpfr(last), kind)
            step = (high - low) // (count - 1)
            low = high - step * (count - 1)
            print(f"{function.__name__} {kind} {low:#x} {step:#x} {sign} {count}")
            line = []
            for i in range(count):
                x = value(low + i * step, kind)
                if sign == "-" or (sign == "alternating" and i % 2):
                    x = -x
                line.append(f"{bits(function(x), kind):0{digits}x}")
                if len(line) == 96 // digits or i == count - 1:
                    print("".join(line))
                    line = []


if __name__ == "__main__":
    main()
