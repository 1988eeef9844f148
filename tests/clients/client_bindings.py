"""cuda.bindings: a module from PTX, a launch on a stream, events, a graph by capture."""
import ctypes
import numpy as np
from cuda.bindings import driver as cu
from saxpy_text import ptx


def ok(result):
    assert result[0] == cu.CUresult.CUDA_SUCCESS, result[0]
    return result[1] if len(result) == 2 else result[1:]


ok(cu.cuInit(0))
device = ok(cu.cuDeviceGet(0))
ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(device))))
module = ok(cu.cuModuleLoadData(ptx))
saxpy = ok(cu.cuModuleGetFunction(module, b'saxpy'))
n = 1000
x, y = np.arange(n, dtype=np.float32), np.ones(n, dtype=np.float32)
out = np.zeros_like(y)
dx, dy = ok(cu.cuMemAlloc(4 * n)), ok(cu.cuMemAlloc(4 * n))
stream = ok(cu.cuStreamCreate(cu.CUstream_flags.CU_STREAM_NON_BLOCKING))
args = ((2.0, dx, dy, n), (ctypes.c_float, None, None, ctypes.c_uint))

ok(cu.cuMemcpyHtoDAsync(dx, x.ctypes.data, 4 * n, stream))
ok(cu.cuMemcpyHtoDAsync(dy, y.ctypes.data, 4 * n, stream))
ok(cu.cuLaunchKernel(saxpy, 8, 1, 1, 128, 1, 1, 0, stream, args, 0))
ok(cu.cuMemcpyDtoHAsync(out.ctypes.data, dy, 4 * n, stream))
event = ok(cu.cuEventCreate(0))
ok(cu.cuEventRecord(event, stream))
ok(cu.cuEventSynchronize(event))
assert (out == 2 * x + 1).all()

ok(cu.cuStreamBeginCapture(stream, cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
for _ in range(3):
    ok(cu.cuLaunchKernel(saxpy, 8, 1, 1, 128, 1, 1, 0, stream, args, 0))
graph = ok(cu.cuStreamEndCapture(stream))
executable = ok(cu.cuGraphInstantiate(graph, 0))
ok(cu.cuGraphLaunch(executable, stream))
ok(cu.cuMemcpyDtoHAsync(out.ctypes.data, dy, 4 * n, stream))
ok(cu.cuStreamSynchronize(stream))
assert (out == 8 * x + 1).all()
print('cuda.bindings: saxpy on a stream and in a captured graph')
