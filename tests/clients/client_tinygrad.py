"""tinygrad's PTX backend: a matrix product, a reduction, a convolution."""
import numpy as np
from tinygrad import Tensor

rng = np.random.default_rng(1)
a, b = rng.random((64, 32), dtype=np.float32), rng.random((32, 48), dtype=np.float32)
product = ((Tensor(a) @ Tensor(b)) - 8).relu().sum(axis=1).numpy()
assert np.allclose(product, np.maximum(a @ b - 8, 0).sum(axis=1), rtol=1e-4)
image, weights = rng.random((1, 3, 16, 16), dtype=np.float32), rng.random((4, 3, 3, 3), dtype=np.float32)
got = Tensor(image).conv2d(Tensor(weights)).numpy()
want = np.zeros_like(got)
for i in range(3):
    for j in range(3):
        want += np.einsum('nchw,oc->nohw', image[:, :, i:i + 14, j:j + 14], weights[:, :, i, j])
assert np.allclose(got, want, rtol=1e-4)
print('tinygrad: a matrix product, a reduction, a convolution')
