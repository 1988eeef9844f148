"""cuda.core: an object from PTX (cuLibraryLoadData), a launch, buffers of a stream-ordered pool."""
import numpy as np
from cuda.bindings import driver as cu
from cuda.core import Device, LaunchConfig, ObjectCode, launch
from saxpy_text import ptx

device = Device(0)
device.set_current()
stream = device.create_stream()
saxpy = ObjectCode.from_ptx(ptx).get_kernel('saxpy')
n = 1000
x, y = np.arange(n, dtype=np.float32), np.ones(n, dtype=np.float32)
out = np.zeros_like(y)
dx, dy = device.allocate(4 * n, stream=stream), device.allocate(4 * n, stream=stream)
cu.cuMemcpyHtoDAsync(int(dx.handle), x.ctypes.data, 4 * n, stream.handle)
cu.cuMemcpyHtoDAsync(int(dy.handle), y.ctypes.data, 4 * n, stream.handle)
launch(stream, LaunchConfig(grid=8, block=128), saxpy, np.float32(2), dx, dy, np.uint32(n))
cu.cuMemcpyDtoHAsync(out.ctypes.data, int(dy.handle), 4 * n, stream.handle)
stream.sync()
assert (out == 2 * x + 1).all()
assert saxpy.attributes.num_regs > 0
print('cuda.core: a library from PTX, a kernel, buffers of a pool')
