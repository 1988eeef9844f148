#!/usr/bin/env python3
"""Makes src/ptx/mufu.def from what a GPU answers for many operands.

    CUJIT_DRIVER=cuda tests/whole/same_approximations --record answers.bin
    python3 tools/fit_mufu.py answers.bin > src/ptx/mufu.def

The hardware interpolates (mufu.c): c0 + c1 x + c2 square(x) for each segment, whose low bits it drops. A linear program
finds real coefficients for each segment, a search near them the integers that give every answer. The constant that
rounds is the same in all segments of a function, and is part of c0. Needs numpy, scipy.
"""
import struct
import sys
import numpy as np
from scipy.optimize import linprog

X = 17                                          # bits of x


def read(path):
    """Blocks of answers: name, first operand, step, count, answers; keyed by name and binade."""
    data, at, blocks = open(path, 'rb').read(), 0, {}
    while at < len(data):
        name, first, step, count = struct.unpack_from('<8sIII', data, at)
        at += 20
        operands = first + step * np.arange(count, dtype=np.int64)
        answers = np.frombuffer(data, '<u4', count, at)
        at += 4 * count
        name = name.rstrip(b'\0').decode()
        blocks[name, (first >> 23) - 127 if first >= 1 << 16 else 0] = operands, answers
    return blocks


def number(bits):
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


def square(x):
    """About x * x / 2^19: the hardware adds the upper columns only."""
    h, l = x >> 9, x >> 2 & 127
    s = h * h >> 1
    for j in range(7):
        s = s + (l >> j & 1) * (h >> (7 - j))
    return s


def real_fit(terms, low, high):
    """Coefficients whose sums are as far as can be within [low, high)."""
    unit, base = (high - low).min(), low[len(low) // 2]
    lo, hi, size = (low - base) / unit, (high - base) / unit, np.abs(terms).max(0)
    scaled, some = terms / size, np.unique(np.linspace(0, len(low) - 1, 100).astype(int))
    while True:
        part, one = scaled[some], np.ones((len(some), 1))
        for method in 'highs', 'highs-ds', 'highs-ipm':
            found = linprog([0, 0, 0, -1], A_ub=np.vstack([np.hstack([-part, one]), np.hstack([part, one])]),
                            b_ub=np.concatenate([-lo[some], hi[some]]), bounds=[(None, None)] * 4, method=method).x
            if found is not None:
                break
        sums = scaled @ found[:3]
        room = np.minimum(sums - lo, hi - sums)
        worst = np.argsort(room)[:100]
        worst = worst[room[worst] < found[3] - 1e-9]
        if len(worst) == 0 or len(np.union1d(some, worst)) == len(some):
            coefficients = found[:3] * unit / size
            coefficients[0] += base
            return coefficients
        some = np.union1d(some, worst)


def fit(where, x, low, high, step, rounding):
    """Integers c0, c1, c2 with low <= c0 + c1 x + c2 square(x) < high; c0 is `rounding` more than a multiple of step."""
    s, clear = square(x), high - low > (high - low).max() // 16  # numbers near 0 have narrow ranges
    r = real_fit(np.stack([np.ones(len(x)), x, s], 1)[clear].astype(float), low[clear].astype(float),
                 high[clear].astype(float))
    slope = np.polyfit(x, s, 1)[0]
    for c2 in sorted(range(round(r[2]) - 16, round(r[2]) + 17), key=lambda c: abs(c - r[2])):
        near = r[1] - (c2 - r[2]) * slope
        for c1 in sorted(range(round(near) - 16, round(near) + 17), key=lambda c: abs(c - near)):
            rest = c1 * x + c2 * s
            least, greatest = int((low - rest).max()), int((high - 1 - rest).min())
            c0 = least + (rounding - least) % step
            if c0 <= greatest:
                return c0, c1, c2
    sys.exit(f'{where}: no integers give every answer')


def ranges(answers, scale, drop=0):
    """What the sums are before bits are dropped, the last `drop` in any case: in [low, high), multiples of 2^-scale."""
    low, high = number(answers), number(answers.astype(np.int64) + 1)
    return [np.ceil(v * 2.0**(scale - drop)).astype(np.int64) << drop for v in (low, high)]


def table(name, place, answers, first, count, scale, step, rounding, exact=(), drop=0):
    """Rows of one function: place has segment and x of each operand; exact: places that have no sum."""
    low, high = ranges(answers, scale, drop)
    for segment in range(first, first + count):
        here = (place >> X == segment) & ~np.isin(place, exact)
        x = place[here] & (1 << X) - 1
        lower, upper = np.full(1 << X, -1 << 62, np.int64), np.full(1 << X, 1 << 62, np.int64)
        np.maximum.at(lower, x, low[here])
        np.minimum.at(upper, x, high[here])
        x = np.unique(x)
        print(f'{name}({", ".join(map(str, fit(f"{name} {segment}", x, lower[x], upper[x], step, rounding)))})')


def mantissas(block):
    return block[0] & (1 << 23) - 1, block[1]


def turned(block):
    """sin: |x| / (2 pi) rounded towards zero, of that 25 bits behind the point, the first two are the quadrant."""
    product = number(block[0]) * float(np.float32(0.15915494))
    t = (product.view(np.uint64) & ~np.uint64((1 << 29) - 1)).view(np.float64)
    f = np.floor(t * 2**25).astype(np.int64)
    return np.where(f >> 23 & 1, ~f, f) & (1 << 23) - 1, block[1] & 0x7fffffff


def hyperbolic(blocks):
    """tanh: of each binade from 2^-8 so many bits are the segment."""
    for e, bits in zip(range(-8, 3), (0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3)):
        m, answers = mantissas(blocks['tanh', e])
        table('TANH', m >> 6 - bits, answers, 0, 1 << bits, 39, 1 << 15, 0)


def main():
    blocks = read(sys.argv[1])
    print('/* Made by tools/fit_mufu.py from the answers of a Hopper: mufu.c explains the rows. */')
    m, v = mantissas(blocks['rcp', 0])
    table('RCP', m << 1, v, 0, 128, 40, 1 << 14, 0xfce, [0])    # x is even: c1 of one bit less
    for odd in 0, 1:
        m, v = mantissas(blocks['rsqrt', odd])
        table('RSQ', m | odd << 23, v, 64 * odd, 64, 40, 1 << 14, 0x3fff, [0])
    m, v = mantissas(blocks['sqrt', 0])
    table('SQRT', m, v, 0, 64, 40, 1 << 15, 0x7fff, [0])
    m, v = mantissas(blocks['sqrt', 1])
    table('SQRT_OF_ODD', m, v, 0, 64, 39, 1 << 14, 0x3fff)
    m, v = mantissas(blocks['lg2', 0])
    table('LG2', m, v, 0, 64, 38, 1 << 12, 0x345, [0], 2)
    m, v = mantissas(blocks['ex2', 0])
    table('EX2', m, v - (1 << 23), 0, 64, 38, 1 << 13, 0x17e2)
    parts = [turned(blocks['sin', e]) for e in (-1, 0, 1)]
    table('SIN', np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), 0, 64, 37, 1 << 11, 0)
    hyperbolic(blocks)


main()
