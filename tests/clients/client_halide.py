"""Halide's CUDA backend: a tiled pipeline of two stages, compiled to PTX while it runs."""
import halide as hl
import numpy as np

x, y, xo, yo, xi, yi = (hl.Var(name) for name in ('x', 'y', 'xo', 'yo', 'xi', 'yi'))
source, blur = hl.Func('source'), hl.Func('blur')
source[x, y] = x * 3 + y * y
blur[x, y] = source[x, y] + 2 * source[x + 1, y] + source[x + 2, y]
source.compute_root().gpu_tile(x, y, xo, yo, xi, yi, 16, 16)
blur.gpu_tile(x, y, xo, yo, xi, yi, 16, 16)
buffer = blur.realize([64, 48], hl.get_host_target().with_feature(hl.TargetFeature.CUDA))
buffer.copy_to_host()
columns, rows = np.meshgrid(np.arange(64), np.arange(48), indexing='xy')
f = lambda i, j: i * 3 + j * j
assert (np.asarray(buffer) == f(columns, rows) + 2 * f(columns + 1, rows) + f(columns + 2, rows)).all()
print('Halide: a pipeline of two stages')
