"""Dr.Jit's CUDA backend: elementwise mathematics, reductions, a gather, a loop."""
import drjit as dr
from drjit.cuda import Float, UInt32

n = 10000
x = dr.arange(Float, n)
assert dr.allclose(dr.sin(x) * dr.sin(x) + dr.cos(x) * dr.cos(x), 1)
assert dr.sum(dr.arange(UInt32, n))[0] == n * (n - 1) // 2
assert dr.max(dr.gather(Float, x, n - 1 - dr.arange(UInt32, n)))[0] == n - 1


@dr.syntax
def collatz(value):
    steps = UInt32(0)
    while value != 1:
        value = dr.select(value & 1 == 0, value // 2, 3 * value + 1)
        steps += 1
    return steps


assert collatz(UInt32(27, 97, 871))[2] == 178
print('Dr.Jit: mathematics, a reduction, a gather, a recorded loop')
