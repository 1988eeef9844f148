"""Taichi's CUDA backend: fields, a reduction, a stencil."""
import taichi as ti

ti.init(arch=ti.cuda, device_memory_GB=0.3, log_level=ti.ERROR)
assert ti.cfg.arch == ti.cuda
n = 1000
a, b = ti.field(ti.f32, n), ti.field(ti.f32, n)


@ti.kernel
def fill():
    for i in a:
        a[i] = i * 2.0


@ti.kernel
def smooth():
    for i in range(1, n - 1):
        b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3


@ti.kernel
def total() -> ti.f32:
    s = 0.0
    for i in range(n):
        s += a[i]
    return s


fill()
smooth()
assert total() == n * (n - 1)
assert all(abs(b[i] - 2 * i) < 1e-3 for i in range(1, n - 1))
print('Taichi: fields, a stencil, a reduction')
