"""numba-cuda, whose kernels NVVM compiles to PTX and the driver links: elementwise, shared memory, atomics."""
import math
import numpy as np
from numba import cuda, float32


@cuda.jit
def root(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = math.sqrt(x[i]) + 1


@cuda.jit
def block_sum(x, out):
    shared = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    shared[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            shared[t] += shared[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, shared[0])


x = np.arange(1024, dtype=np.float64)
y = cuda.device_array_like(x)
root[8, 128](cuda.to_device(x), y)
assert np.allclose(y.copy_to_host(), np.sqrt(x) + 1)
total = cuda.to_device(np.zeros(1, dtype=np.float32))
block_sum[8, 128](cuda.to_device(x.astype(np.float32)), total)
assert total.copy_to_host()[0] == 1024 * 1023 / 2
print('numba-cuda: square roots, a sum by shared memory and an atomic')
