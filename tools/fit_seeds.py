#!/usr/bin/env python3
"""Makes src/ptx/math/seed64.def from what a GPU answers for every upper word.

    CUJIT_DRIVER=cuda tests/whole/same_seeds --record seeds.bin
    python3 tools/fit_seeds.py seeds.bin > src/ptx/math/seed64.def

The hardware interpolates: a polynomial of second degree for each segment of the operand's mantissa,
truncated.  For each segment this finds three integers by linear programming and lists the operands
for which they are one off, since the hardware drops low columns of its products.  Needs numpy, scipy.
"""
import sys
import numpy as np
from scipy.optimize import linprog

FRACTION = 32                       # bits of a coefficient behind the point; the square's has 8 more


def fit(values):
    """Least error of any sum c0 + c1*t + c2*t*t between value and value + 1."""
    n = len(values)
    t = np.arange(n) / n
    base = int(values[n // 2])
    powers = np.stack([np.ones(n), t, t * t], 1)
    one = np.ones((n, 1))
    limits = np.vstack([np.hstack([-powers, one]), np.hstack([powers, one])])
    right = np.concatenate([-(values - base), values - base + 1]).astype(float)
    c = linprog([0, 0, 0, -1], A_ub=limits, b_ub=right, bounds=[(None, None)] * 4, method='highs-ipm').x
    return (round((c[0] + base) * 2**FRACTION), round(c[1] * 2**FRACTION / n),
            round(c[2] * 2**FRACTION / n / n * 2**8))


def table(name, values, length):
    exceptions = []
    near = []                       # a bit for 32 operands: one of them is an exception
    first = []                      # of 1024 operands: the place of their first exception
    for start in range(0, len(values), length):
        part = values[start:start + length]
        q = np.arange(length, dtype=np.int64)
        c0, c1, c2 = fit(part)
        off = part - ((c0 + c1 * q + (c2 * q * q >> 8)) >> FRACTION)
        if abs(off).max() > 1:
            sys.exit(f'{name}: more than one off in segment {start // length}')
        print(f'{name}_SEGMENT({c0}, {c1}, {c2})')
        first += [len(exceptions) + int(np.count_nonzero(off[:k])) for k in range(0, length, 1024)]
        exceptions += [int(k) << 1 | int(off[k] > 0) for k in np.nonzero(off)[0]]
        some = off.reshape(-1, 32).any(axis=1)
        near += [sum(1 << i for i in range(32) if some[k + i]) for k in range(0, len(some), 32)]
    first.append(len(exceptions))
    for i in range(0, len(exceptions), 16):
        row = exceptions[i:i + 16]
        print(f'{name}_OFF({", ".join(str(k) for k in row + [0] * (16 - len(row)))})')
    for i in range(0, len(near), 8):
        print(f'{name}_NEAR({", ".join(f"0x{k:08x}" for k in near[i:i + 8])})')
    for i in range(0, len(first), 16):
        print(f'{name}_FIRST({", ".join(str(k) for k in first[i:i + 16])})')


words = np.fromfile(sys.argv[1], dtype=np.uint32).astype(np.int64) - 0x3fe00000
if len(words) != 3 << 20:
    sys.exit('a record has 3 * 2^20 words: rsqrt of [1, 4), then rcp of [1, 2)')
print('/* Made by tools/fit_seeds.py from the answers of a Hopper: seed64.c explains the rows. */')
table('RSQ', words[:2 << 20], 1 << 14)
table('RCP', words[2 << 20:], 1 << 13)
