"""Interoperation with Python packages in one process: NumPy, PyTorch, CuPy.  Started by tests/stream/interop_python.

usage: interop_python.py LIBCUJIT

Writes TAP.  What a package is for is in one class each (Torch, CupyArrays, Raw); the checks are the same for all.  Raw
is no package: it makes memory and streams with the driver's own calls, so that the checks run on the CPU device too.
"""

import ctypes as c
import gc
import json
import os
import sys

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 x, .param .u32 n, .param .f32 v)
{
    .reg .pred %p; .reg .f32 %f<3>; .reg .b32 %r<5>; .reg .b64 %d<3>;
    ld.param.u64 %d0, [x];
    ld.param.u32 %r0, [n];
    ld.param.f32 %f0, [v];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p ret;
    mul.wide.u32 %d1, %r4, 4;
    add.u64 %d2, %d0, %d1;
    ld.global.f32 %f1, [%d2];
    add.f32 %f2, %f1, %f0;
    st.global.f32 [%d2], %f2;
    ret;
}
"""
N = 300
CUDA, CUDA_HOST, MANAGED = 2, 3, 13  # DLPack's places

tests = 0


def ok(good, what):
    global tests
    tests += 1
    print("%s %d - %s" % ("ok" if good else "not ok", tests, what), flush=True)
    return good


def same(got, want, what):
    if not ok(got == want, what):
        print("#   got  %.200r\n#   want %.200r" % (got, want), flush=True)


def skip(why):
    ok(True, "# SKIP " + why)


# -- The library -------------------------------------------------------------------------------------------------------


class Error(c.Structure):
    _fields_ = [("status", c.c_int32), ("driver_code", c.c_int32), ("driver_name", c.c_char * 56),
                ("call", c.c_char * 56), ("message", c.c_char * 480)]


class Dptr(c.Structure):
    _fields_ = [("addr", c.c_uint64)]


class Dims(c.Structure):
    _fields_ = [("words", c.c_uint32 * 14), ("opts", c.c_void_p)]


class Type(c.Structure):
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class Info(c.Structure):
    _fields_ = [("size", c.c_size_t), ("data", Dptr), ("place", c.c_int32), ("ndim", c.c_int32), ("type", Type),
                ("read_only", c.c_int32), ("padded", c.c_int32), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("stream", c.c_int64), ("elements", c.c_uint64),
                ("bytes", c.c_uint64), ("contiguous", c.c_int32), ("copied", c.c_int32)]


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32),
                ("type", Type), ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)),
                ("byte_offset", c.c_uint64)]


class Managed(c.Structure):
    pass


Deleter = c.CFUNCTYPE(None, c.POINTER(Managed))
Managed._fields_ = [("tensor", Tensor), ("manager", c.c_void_p), ("deleter", Deleter)]
Release = c.CFUNCTYPE(None, c.c_void_p)
CapsuleEnd = c.CFUNCTYPE(None, c.c_void_p)

P, I, U64, I64, SIZE = c.c_void_p, c.c_int, c.c_uint64, c.c_int64, c.c_size_t
CALLS = {
    "cj_driver_open": (P, [c.c_char_p]), "cj_device_open": (P, [P, I, P]), "cj_stream_create": (P, [P, P]),
    "cj_stream_wrap": (P, [P, P]), "cj_stream_free": (None, [P]), "cj_stream_sync": (I, [P]),
    "cj_device_close": (None, [P]), "cj_driver_close": (None, [P]), "cj_device_collect": (SIZE, [P]),
    "cj_error_of": (c.POINTER(Error), [P]), "cj_module_load_text": (P, [P, c.c_char_p, P]),
    "cj_module_kernel": (P, [P, c.c_char_p]), "cj_kernel_free": (None, [P]), "cj_module_free": (None, [P]),
    "cj_dims_threads": (None, [c.POINTER(Dims), U64, c.c_uint32]),
    "cj_launch_raw": (I, [P, P, c.POINTER(Dims), c.POINTER(P)]),
    "cj_alloc": (Dptr, [P, SIZE]), "cj_free": (I, [P, Dptr]),
    "cj_host_alloc": (P, [P, SIZE, P]), "cj_host_free": (I, [P, P]), "cj_managed_alloc": (Dptr, [P, SIZE]),
    "cj_copy_to_device": (I, [P, Dptr, P, SIZE]), "cj_copy_to_host": (I, [P, P, Dptr, SIZE]),
    "cj_tensor_info_defaults": (None, [c.POINTER(Info)]), "cj_tensor_create": (P, [P, c.POINTER(Info), Release, P]),
    "cj_tensor_get_info": (I, [P, c.POINTER(Info)]), "cj_tensor_free": (None, [P]),
    "cj_tensor_from_dlpack": (P, [P, P]), "cj_tensor_to_dlpack": (c.POINTER(Managed), [P]),
    "cj_tensor_from_array_interface": (P, [P, c.c_char_p]), "cj_tensor_to_array_interface": (SIZE, [P, P, SIZE]),
    "cj_stream_wait_foreign": (I, [P, I64]), "cj_stream_signal_foreign": (I, [P, I64]),
}


def load(path):
    lib = c.CDLL(path)
    for name, (result, arguments) in CALLS.items():
        call = getattr(lib, name)
        call.restype, call.argtypes = result, arguments
    return lib


PyCapsule_New = c.pythonapi.PyCapsule_New
PyCapsule_New.restype, PyCapsule_New.argtypes = c.py_object, [P, c.c_char_p, CapsuleEnd]
PyCapsule_GetPointer = c.pythonapi.PyCapsule_GetPointer
PyCapsule_GetPointer.restype, PyCapsule_GetPointer.argtypes = P, [c.py_object, c.c_char_p]
PyCapsule_SetName = c.pythonapi.PyCapsule_SetName
PyCapsule_SetName.restype, PyCapsule_SetName.argtypes = I, [c.py_object, c.c_char_p]
LIVE, USED = b"dltensor", b"used_dltensor"  # the capsules keep these pointers


@CapsuleEnd
def unused_capsule(_):
    """Each capsule of these tests is taken over."""


class Library:
    """The library, a device, a stream and the kernel."""

    def __init__(self, path):
        self.lib = lib = load(path)
        self.driver = lib.cj_driver_open(None)
        self.device = lib.cj_device_open(self.driver, 0, None)
        self.stream = lib.cj_stream_create(self.device, None)
        self.module = lib.cj_module_load_text(self.device, PTX, None)
        self.kernel = lib.cj_module_kernel(self.module, b"add")
        why = self.error(self.kernel) or self.error(self.stream)
        if why:
            print("Bail out! %s" % why, flush=True)
            sys.exit(0)
        info = Info()
        lib.cj_tensor_info_defaults(c.byref(info))
        same(info.size, c.sizeof(Info), "cj_tensor_info has the fields that this program knows")

    def error(self, thing):
        e = self.lib.cj_error_of(thing).contents
        return e.message.decode() if e.status else ""

    def add(self, stream, address, n, value):
        """x[i] += value, on a stream of the library."""
        dims = Dims()
        self.lib.cj_dims_threads(c.byref(dims), n, 128)
        x, count, v = c.c_uint64(address), c.c_uint32(n), c.c_float(value)
        arguments = (P * 3)(*(c.cast(c.byref(a), P) for a in (x, count, v)))
        return self.lib.cj_launch_raw(stream, self.kernel, c.byref(dims), arguments)

    def info(self, tensor):
        info = Info(size=c.sizeof(Info))
        self.lib.cj_tensor_get_info(tensor, c.byref(info))
        return info

    def from_capsule(self, capsule):
        """A tensor of what a capsule holds, which is used up on success."""
        tensor = self.lib.cj_tensor_from_dlpack(self.device, PyCapsule_GetPointer(capsule, LIVE))
        if not self.error(tensor):
            PyCapsule_SetName(capsule, USED)
        return tensor

    def close(self):
        lib = self.lib
        lib.cj_kernel_free(self.kernel)
        lib.cj_module_free(self.module)
        lib.cj_stream_free(self.stream)
        lib.cj_device_close(self.device)
        lib.cj_driver_close(self.driver)


class Export:
    """Memory of the library as a producer of DLPack.  `released` counts the calls of the release function."""

    def __init__(self, lib, place, address, shape):
        self.lib, self.place, self.released, self.stream = lib, place, 0, None
        self.callback = Release(self.release)
        sizes = (c.c_int64 * len(shape))(*shape)
        info = Info(size=c.sizeof(Info), data=Dptr(address), place=place, ndim=len(shape), type=Type(2, 32, 1),
                    shape=sizes)
        self.tensor = lib.lib.cj_tensor_create(lib.device, c.byref(info), self.callback, None)

    def release(self, _):
        self.released += 1

    def __dlpack_device__(self):
        return (self.place, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.stream = stream
        if self.place == CUDA and stream != -1:
            self.lib.lib.cj_stream_signal_foreign(self.lib.stream, 1 if stream is None else stream)
        managed = self.lib.lib.cj_tensor_to_dlpack(self.tensor)
        return PyCapsule_New(c.cast(managed, P), LIVE, unused_capsule)

    def free(self):
        self.lib.lib.cj_tensor_free(self.tensor)


# -- NumPy -------------------------------------------------------------------------------------------------------------


def numpy_views(lib, numpy, place, address, free):
    """Host-accessible memory of ours as an array: both see what the other writes; it lives as long as the array."""
    what = {CUDA_HOST: "page-locked", MANAGED: "managed"}[place]
    export = Export(lib, place, address, [3, N // 3])
    same(lib.error(export.tensor), "", "%s memory is a tensor" % what)
    array = numpy.from_dlpack(export)
    same((array.shape, str(array.dtype)), ((3, N // 3), "float32"), "numpy.from_dlpack has its shape and type")
    same(array.ctypes.data, address, "and the memory itself")
    host = (c.c_float * N).from_address(address)
    host[N - 1] = 7.5
    same(float(array[2, N // 3 - 1]), 7.5, "NumPy reads what the program writes")
    try:
        array[:] = numpy.arange(N, dtype="float32").reshape(3, N // 3)
        written = True
    except ValueError:  # NumPy below 2 makes arrays of unversioned capsules read-only
        written = False
        host[:] = [float(i) for i in range(N)]
    same((written, host[1], host[N - 1]) if written else (host[1], host[N - 1]),
         (True, 1.0, N - 1.0) if written else (1.0, N - 1.0), "and the program what NumPy writes, where it may")
    d = lib.lib.cj_alloc(lib.stream, 4 * N)
    lib.lib.cj_copy_to_device(lib.stream, d, address, 4 * N)
    same(lib.add(lib.stream, d.addr, N, 0.5), 0, "a kernel adds to it")
    lib.lib.cj_copy_to_host(lib.stream, address, d, 4 * N)
    same(lib.lib.cj_stream_sync(lib.stream), 0, "which is complete")
    same(array.reshape(N).tolist(), [i + 0.5 for i in range(N)], "NumPy has the sums")
    lib.lib.cj_free(lib.device, d)
    export.free()
    rows = array[1:]
    del array
    gc.collect()
    same(export.released, 0, "the memory stays while a part of the array is there, after cj_tensor_free")
    same(float(rows[0, 0]), N // 3 + 0.5, "and can be read")
    del rows
    gc.collect()
    same(export.released, 1, "it is released once, with the last array")
    free()


def test_numpy(lib):
    try:
        import numpy
    except ImportError as why:
        return skip("numpy is missing: %s" % why)
    if not hasattr(numpy, "from_dlpack"):
        return skip("numpy %s has no from_dlpack" % numpy.__version__)
    host = lib.lib.cj_host_alloc(lib.device, 4 * N, None)
    numpy_views(lib, numpy, CUDA_HOST, host, lambda: lib.lib.cj_host_free(lib.device, host))
    d = lib.lib.cj_managed_alloc(lib.stream, 4 * N)
    if d.addr:
        lib.lib.cj_stream_sync(lib.stream)
        numpy_views(lib, numpy, MANAGED, d.addr, lambda: lib.lib.cj_free(lib.device, d))
    else:
        skip("the device has no managed memory")
        lib.lib.cj_stream_sync(lib.stream)
    mine = numpy.zeros(8, dtype="float32")
    capsule = mine.__dlpack__()
    tensor = lib.from_capsule(capsule)
    ok("pageable" in lib.error(tensor), "an array of NumPy's own is pageable memory, which is rejected")
    lib.lib.cj_tensor_free(tensor)
    same(PyCapsule_GetPointer(capsule, LIVE) is not None, True, "and stays NumPy's")


# -- Device memory -----------------------------------------------------------------------------------------------------


class Torch:
    name = "PyTorch"

    def __init__(self):
        import torch
        self.torch = torch
        if not torch.cuda.is_available():
            raise ImportError("torch %s has no CUDA device" % torch.__version__)
        torch.cuda.init()
        torch.zeros(1, device="cuda")

    def numbers(self):
        return self.torch.arange(N, dtype=self.torch.float32, device="cuda")

    def add(self, x, value):
        x.add_(value)

    def listed(self, x):
        self.torch.cuda.synchronize()
        return x.flatten().tolist()

    def current(self):
        return self.torch.cuda.current_stream().cuda_stream or 1

    def capsule(self, x, stream):
        return x.__dlpack__(stream=stream)

    def interface(self, x):
        return x.__cuda_array_interface__

    def take(self, export):
        return self.torch.from_dlpack(export)

    def stream(self):
        side = self.torch.cuda.Stream()
        return side, side.cuda_stream

    def on(self, side):
        return self.torch.cuda.stream(side)

    def graph(self, side, work):
        g = self.torch.cuda.CUDAGraph()
        self.torch.cuda.synchronize()
        with self.torch.cuda.graph(g, stream=side):
            work()
        return g

    def replay(self, g):
        g.replay()

    def end(self):
        self.torch.cuda.synchronize()


class CupyArrays:
    name = "CuPy"

    def __init__(self):
        import cupy
        self.cupy = cupy
        if cupy.cuda.runtime.getDeviceCount() == 0:
            raise ImportError("cupy %s has no CUDA device" % cupy.__version__)
        cupy.zeros(1)

    def numbers(self):
        return self.cupy.arange(N, dtype="float32")

    def add(self, x, value):
        x += self.cupy.float32(value)

    def listed(self, x):
        self.cupy.cuda.runtime.deviceSynchronize()
        return x.ravel().tolist()

    def current(self):
        return self.cupy.cuda.get_current_stream().ptr or 1

    def capsule(self, x, stream):
        return x.__dlpack__(stream=stream)

    def interface(self, x):
        return x.__cuda_array_interface__

    def take(self, export):
        return self.cupy.from_dlpack(export)

    def stream(self):
        side = self.cupy.cuda.Stream(non_blocking=True)
        return side, side.ptr

    def on(self, side):
        return side

    def graph(self, side, work):
        self.cupy.cuda.runtime.deviceSynchronize()
        with side:
            side.begin_capture()
            work()
            return side.end_capture()

    def replay(self, g):
        g.launch()

    def end(self):
        self.cupy.cuda.runtime.deviceSynchronize()


class Side:
    """A stream that `with` makes the current one of Raw."""

    def __init__(self, raw, handle):
        self.raw, self.handle, self.before = raw, handle, None

    def __enter__(self):
        self.before, self.raw.now = self.raw.now, self.handle

    def __exit__(self, *_):
        self.raw.now = self.before


class Memory:
    """Device memory of the driver's own, as a tensor library has it."""

    def __init__(self, raw, address, managed=None):
        self.raw, self.address, self.managed = raw, address, managed

    def __del__(self):
        if self.managed:
            self.managed.contents.deleter(self.managed)
        else:
            self.raw.cu.cuMemFree_v2(c.c_uint64(self.address))


class Raw:
    """What the packages do, by the driver's calls."""

    name = "the driver"

    def __init__(self):
        self.cu = cu = c.CDLL(os.environ["CUJIT_SIM"] if os.environ.get("CUJIT_DRIVER") == "sim" else "libcuda.so.1")
        self.now, self.kept = 1, []
        self.context = P()
        self.call("cuInit", c.c_uint(0))
        self.call("cuDevicePrimaryCtxRetain", c.byref(self.context), I(0))
        self.call("cuCtxSetCurrent", self.context)
        self.cu = cu

    def call(self, name, *arguments):
        result = getattr(self.cu, name)(*arguments)
        if result:
            raise RuntimeError("%s: CUresult %d" % (name, result))

    def numbers(self):
        address = c.c_uint64()
        self.call("cuMemAlloc_v2", c.byref(address), SIZE(4 * N))
        values = (c.c_float * N)(*range(N))
        self.call("cuMemcpyHtoD_v2", address, values, SIZE(4 * N))
        return Memory(self, address.value)

    def add(self, x, value):
        """Through the host, in the order of the current stream."""
        self.call("cuStreamSynchronize", P(self.now))
        values = (c.c_float * N)(*(v + value for v in self.listed(x)))
        self.call("cuMemcpyHtoD_v2", c.c_uint64(x.address), values, SIZE(4 * N))

    def listed(self, x):
        self.call("cuCtxSynchronize")
        values = (c.c_float * N)()
        self.call("cuMemcpyDtoH_v2", values, c.c_uint64(x.address), SIZE(4 * N))
        return list(values)

    def current(self):
        return self.now

    def capsule(self, x, _):
        managed, sizes = Managed(), (c.c_int64 * 1)(N)

        @Deleter
        def deleter(_):
            entry[0] = None  # the memory goes when nothing else has it

        entry = [x]
        managed.tensor = Tensor(data=x.address, device_type=CUDA, ndim=1, type=Type(2, 32, 1), shape=sizes)
        managed.deleter = deleter
        self.kept.append((managed, sizes, deleter, entry))
        return PyCapsule_New(c.addressof(managed), LIVE, unused_capsule)

    def interface(self, x):
        return {"shape": (N,), "typestr": "<f4", "descr": [("", "<f4")], "version": 3, "strides": None,
                "data": (x.address, False), "stream": self.now}

    def take(self, export):
        capsule = export.__dlpack__(stream=self.now)
        managed = c.cast(PyCapsule_GetPointer(capsule, LIVE), c.POINTER(Managed))
        PyCapsule_SetName(capsule, USED)
        return Memory(self, managed.contents.tensor.data, managed)

    def stream(self):
        handle = P()
        self.call("cuStreamCreate", c.byref(handle), c.c_uint(1))
        return Side(self, handle.value), handle.value

    def on(self, side):
        return side

    def graph(self, side, work):
        g, x = P(), P()
        self.call("cuCtxSynchronize")
        self.call("cuStreamBeginCapture_v2", P(side.handle), I(0))
        with side:
            work()
        self.call("cuStreamEndCapture", P(side.handle), c.byref(g))
        self.call("cuGraphInstantiateWithFlags", c.byref(x), g, c.c_uint64(0))
        self.kept.append(g)
        return x

    def replay(self, g):
        self.call("cuGraphLaunch", g, P(1))

    def end(self):
        self.call("cuCtxSynchronize")
        self.kept.clear()
        self.call("cuDevicePrimaryCtxRelease_v2", I(0))


def kernels_on_tensors(lib, package):
    """A kernel of ours on their memory: through each protocol, in order with their current stream."""
    name, s = package.name, lib.stream
    for protocol in ("DLPack", "__cuda_array_interface__"):
        x = package.numbers()
        package.add(x, 1)
        if protocol == "DLPack":
            tensor = lib.from_capsule(package.capsule(x, package.current()))
            number = package.current()
        else:
            interface = package.interface(x)
            tensor = lib.lib.cj_tensor_from_array_interface(lib.device, repr(interface).encode())
            number = lib.info(tensor).stream
            number = number if number > 0 else package.current()
        same(lib.error(tensor), "", "%s: a tensor through %s" % (name, protocol))
        info = lib.info(tensor)
        same((info.elements, info.contiguous, info.type.code, info.type.bits), (N, 1, 2, 32), "... is what it is")
        lib.lib.cj_stream_wait_foreign(s, number)
        same(lib.add(s, info.data.addr, N, 10), 0, "... a kernel of ours runs on it, behind their work")
        same(lib.lib.cj_stream_signal_foreign(s, number), 0, "... their later work comes behind ours")
        package.add(x, 100)
        same(package.listed(x), [i + 111.0 for i in range(N)], "... and all have added")
        same(lib.error(s), "", "... nothing has failed")
        lib.lib.cj_tensor_free(tensor)
        del x


def kernels_on_their_stream(lib, package):
    """On their current stream, and in a graph that they capture and replay."""
    side, handle = package.stream()
    wrapped = lib.lib.cj_stream_wrap(lib.device, handle)
    same(lib.error(wrapped), "", "%s: a stream of theirs is wrapped" % package.name)
    x = package.numbers()
    package.listed(x)
    tensor = lib.from_capsule(package.capsule(x, -1))
    address = lib.info(tensor).data.addr
    with package.on(side):
        same(package.current(), handle, "... and is their current one")
        same(lib.add(wrapped, address, N, 1), 0, "... a kernel of ours runs on it: %s" % lib.error(wrapped))
        same(lib.lib.cj_stream_sync(wrapped), 0, "... and is complete")
    same(package.listed(x), [i + 1.0 for i in range(N)], "... it has added")
    launched = []
    g = package.graph(side, lambda: launched.append(lib.add(wrapped, address, N, 2)))
    same(launched, [0], "... a launch is captured in their graph: %s" % lib.error(wrapped))
    same(package.listed(x), [i + 1.0 for i in range(N)], "... which has not run yet")
    for _ in range(10):
        package.replay(g)
    same(package.listed(x), [i + 21.0 for i in range(N)], "... and runs each of ten times that they replay it")
    del g
    lib.lib.cj_tensor_free(tensor)
    lib.lib.cj_stream_free(wrapped)


def memory_as_tensor(lib, package):
    """Our memory as their tensor: they write it, it lives as long as the tensor, and is released once."""
    d = lib.lib.cj_alloc(lib.stream, 4 * N)
    zeros = (c.c_float * N)()
    lib.lib.cj_copy_to_device(lib.stream, d, zeros, 4 * N)
    export = Export(lib, CUDA, d.addr, [N])
    x = package.take(export)
    ok(export.stream is None or export.stream > 0, "%s: from_dlpack passes a stream, or none" % package.name)
    lib.lib.cj_stream_sync(lib.stream)
    export.free()
    package.add(x, 3)
    same(package.listed(x), [3.0] * N, "... they write our memory, after our tensor was freed")
    same(lib.add(lib.stream, d.addr, N, 4), 0, "... and so do we")
    lib.lib.cj_stream_sync(lib.stream)
    same(package.listed(x), [7.0] * N, "... both see it")
    same(export.released, 0, "... it is not released")
    del x
    gc.collect()
    same(export.released, 1, "... until their tensor is gone, and then once")
    same(lib.lib.cj_free(lib.device, d), 0, "... and is freed")
    lib.lib.cj_stream_sync(lib.stream)


def interface_as_text(lib):
    """Our dictionary is JSON that Python reads; its repr() is read back."""
    d = lib.lib.cj_alloc(lib.stream, 4 * N)
    export = Export(lib, CUDA, d.addr, [2, N // 2])
    text = c.create_string_buffer(500)
    n = lib.lib.cj_tensor_to_array_interface(export.tensor, text, len(text))
    entry = json.loads(text.value.decode())
    same(n, len(text.value), "the dictionary fits")
    same((entry["shape"], entry["typestr"], entry["data"], entry["version"]),
         ([2, N // 2], "<f4", [d.addr, False], 3), "__cuda_array_interface__ as JSON")
    entry["shape"], entry["data"] = tuple(entry["shape"]), tuple(entry["data"])
    tensor = lib.lib.cj_tensor_from_array_interface(lib.device, repr(entry).encode())
    same(lib.error(tensor), "", "and as repr()")
    same((lib.info(tensor).data.addr, lib.info(tensor).elements), (d.addr, N), "is the same memory")
    lib.lib.cj_tensor_free(tensor)
    export.free()
    same(export.released, 1, "the tensor is released")
    lib.lib.cj_free(lib.device, d)


def test_package(lib, make):
    try:
        package = make()
    except Exception as why:  # a package that is there and does not work is no failure of ours
        return skip("%s cannot be used: %s: %s" % (make.name, type(why).__name__, str(why).split("\n")[0]))
    for checks in (kernels_on_tensors, kernels_on_their_stream, memory_as_tensor):
        try:
            checks(lib, package)
        except Exception as why:
            ok(False, "%s: %s ends: %s: %s" % (make.name, checks.__name__, type(why).__name__, why))
    gc.collect()
    package.end()


def main():
    lib = Library(sys.argv[1])
    test_numpy(lib)
    interface_as_text(lib)
    test_package(lib, Raw)
    for make in (Torch, CupyArrays):  # which open libcuda.so.1, so on the GPU only
        if os.environ.get("CUJIT_DRIVER") == "sim":
            skip("%s does not use the CPU device" % make.name)
        else:
            test_package(lib, make)
    same(lib.lib.cj_stream_sync(lib.stream), 0, "nothing else has failed")
    lib.close()
    print("1..%d" % tests, flush=True)


if __name__ == "__main__":
    main()
