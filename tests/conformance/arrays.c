/* Arrays, mipmapped arrays, texture and surface objects: creation, copies and queries. Batches of copies. */
#include "tests/conformance/driver_abi.h"

/* ---- What can be made -------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUresult result;
} shapes[] = {
    { "1D", { 100, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0 }, CUDA_SUCCESS },
    { "2D", { 100, 20, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0 }, CUDA_SUCCESS },
    { "3D", { 16, 8, 4, CU_AD_FORMAT_HALF, 2, 0 }, CUDA_SUCCESS },
    { "layers of 1D", { 16, 0, 5, CU_AD_FORMAT_SIGNED_INT32, 1, CUDA_ARRAY3D_LAYERED }, CUDA_SUCCESS },
    { "layers of 2D", { 16, 8, 5, CU_AD_FORMAT_SIGNED_INT16, 4, CUDA_ARRAY3D_LAYERED }, CUDA_SUCCESS },
    { "a cubemap", { 8, 8, 6, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_CUBEMAP }, CUDA_SUCCESS },
    { "surface access", { 8, 8, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST }, CUDA_SUCCESS },
    { "no width", { 0, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0 }, CUDA_ERROR_INVALID_VALUE },
    { "three channels", { 8, 8, 0, CU_AD_FORMAT_FLOAT, 3, 0 }, CUDA_ERROR_INVALID_VALUE },
    { "no channel", { 8, 8, 0, CU_AD_FORMAT_FLOAT, 0, 0 }, CUDA_ERROR_INVALID_VALUE },
    { "no format", { 8, 8, 0, (CUarray_format)0, 1, 0 }, CUDA_ERROR_INVALID_VALUE },
    { "a depth without a height", { 8, 0, 4, CU_AD_FORMAT_FLOAT, 1, 0 }, CUDA_ERROR_INVALID_VALUE },
    { "a cubemap with other sides",
      { 8, 4, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP },
      CUDA_ERROR_INVALID_VALUE },
    { "a cubemap of five faces", { 8, 8, 5, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP }, CUDA_ERROR_INVALID_VALUE },
    { "more than the widest", { 1u << 20, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0 }, CUDA_ERROR_INVALID_VALUE },
    { "a size that wraps", { SIZE_MAX / 4 + 2, SIZE_MAX / 2, 4, CU_AD_FORMAT_FLOAT, 4, 0 }, CUDA_ERROR_INVALID_VALUE },
};

static void descriptors(void)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        CUarray a = NULL;
        CUDA_ARRAY3D_DESCRIPTOR back = { 0 };
        abi_is(cu.cuArray3DCreate(&a, &shapes[i].d), shapes[i].result, "%s", shapes[i].name);
        if (shapes[i].result) continue;
        abi_is(cu.cuArray3DGetDescriptor(&back, a), CUDA_SUCCESS, "%s: its descriptor", shapes[i].name);
        tap_ok(back.Width == shapes[i].d.Width && back.Height == shapes[i].d.Height &&
                   back.Depth == shapes[i].d.Depth && back.Format == shapes[i].d.Format &&
                   back.NumChannels == shapes[i].d.NumChannels && back.Flags == shapes[i].d.Flags,
               "%s: is what it was made with", shapes[i].name);
        abi_is(cu.cuArrayDestroy(a), CUDA_SUCCESS, "%s: destroyed", shapes[i].name);
        if (!tap_on_gpu()) abi_is(cu.cuArrayDestroy(a), CUDA_ERROR_INVALID_HANDLE, "%s: once", shapes[i].name);
    }
}

static CUarray array_of(size_t width, size_t height, size_t depth, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { width, height, depth, CU_AD_FORMAT_UNSIGNED_INT32, 1, flags };
    CUarray a = NULL;
    if (cu.cuArray3DCreate(&a, &d)) tap_bail("no array");
    return a;
}

static void other_queries(void)
{
    CUarray a = array_of(64, 64, 0, 0), plane;
    CUDA_ARRAY_DESCRIPTOR d;
    CUDA_ARRAY_SPARSE_PROPERTIES sparse;
    CUDA_ARRAY_MEMORY_REQUIREMENTS memory;
    abi_is(cx.cuArrayGetDescriptor(&d, a), CUDA_SUCCESS, "the descriptor of a plane");
    tap_ok(d.Width == 64 && d.Height == 64 && d.NumChannels == 1, "is the same");
    abi_is(cx.cuArrayGetSparseProperties(&sparse, a), CUDA_ERROR_INVALID_VALUE, "an ordinary array is not sparse");
    abi_is(cx.cuArrayGetMemoryRequirements(&memory, a, 0), CUDA_ERROR_INVALID_VALUE, "nor is its memory mapped later");
    abi_is(cx.cuArrayGetPlane(&plane, a, 0), CUDA_ERROR_INVALID_VALUE, "nor has it planes");
    cu.cuArrayDestroy(a);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

enum { SIDE = 16 };
static unsigned plane[SIDE][SIDE], back[SIDE][SIDE];

static void plane_is(const char *what, unsigned x, unsigned y, unsigned w, unsigned h)
{
    unsigned bad = 0;
    for (unsigned i = 0; i < h; i++)
        for (unsigned k = 0; k < w; k++) bad += back[i][k] != plane[y + i][x + k];
    tap_is_uint(bad, 0, "%s", what);
}

static void rows_and_planes(void)
{
    CUarray a = array_of(SIDE, SIDE, 0, 0), b = array_of(SIDE, SIDE, 0, 0), line = array_of(SIDE, 0, 0, 0);
    CUstream s = abi_stream();
    CUdeviceptr d;
    CUDA_MEMCPY2D in = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = plane, .srcPitch = sizeof plane[0],
                         .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = a, .WidthInBytes = sizeof plane[0],
                         .Height = SIDE };
    CUDA_MEMCPY2D out = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = a, .srcXInBytes = 12, .srcY = 3,
                          .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back, .dstPitch = sizeof back[0],
                          .WidthInBytes = 20, .Height = 7 };
    CUDA_MEMCPY3D between = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = a, .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                              .dstArray = b, .WidthInBytes = sizeof plane[0], .Height = SIDE, .Depth = 1 };
    for (unsigned i = 0; i < SIDE * SIDE; i++) plane[i / SIDE][i % SIDE] = 1000 + i;
    if (cu.cuMemAlloc(&d, sizeof plane)) tap_bail("no memory");
    abi_is(cu.cuMemcpy2D(&in), CUDA_SUCCESS, "a plane into an array");
    abi_is(cu.cuMemcpy2D(&out), CUDA_SUCCESS, "a part of it out");
    plane_is("has the bytes of the part", 3, 3, 5, 7);
    abi_is(cu.cuMemcpy3DAsync(&between, s), CUDA_SUCCESS, "from array to array, in a stream");
    out = (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_ARRAY,
                           .srcArray = b,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = d,
                           .dstPitch = sizeof plane[0],
                           .WidthInBytes = sizeof plane[0],
                           .Height = SIDE };
    abi_is(cu.cuMemcpy2DAsync(&out, s), CUDA_SUCCESS, "from there to memory");
    abi_is(cu.cuMemcpyDtoHAsync(back, d, sizeof back, s), CUDA_SUCCESS, "and out");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "is done");
    plane_is("with all bytes", 0, 0, SIDE, SIDE);
    abi_is(cx.cuMemcpyHtoA(line, 0, plane[5], sizeof plane[5]), CUDA_SUCCESS, "a row into an array of one dimension");
    abi_is(cx.cuMemcpyAtoH(back[0], line, 8, 16), CUDA_SUCCESS, "a part of it out");
    plane_is("has its bytes", 2, 5, 4, 1);
    abi_is(cx.cuMemcpyAtoD(d, line, 0, sizeof plane[0]), CUDA_SUCCESS, "to memory");
    abi_is(cx.cuMemcpyDtoA(line, 16, d, 16), CUDA_SUCCESS, "and back elsewhere");
    abi_is(cx.cuMemcpyAtoA(line, 0, line, 16, 16), CUDA_SUCCESS, "and inside");
    abi_is(cu.cuCtxSynchronize(), CUDA_SUCCESS, "which may still run when the call returns");
    abi_is(cx.cuMemcpyAtoHAsync(back[0], line, 0, 16, s), CUDA_SUCCESS, "out in a stream");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "is done");
    plane_is("has the bytes that went round", 0, 5, 4, 1);
    abi_is(cx.cuMemcpyHtoAAsync(line, 0, plane[7], sizeof plane[7], s), CUDA_SUCCESS, "in, in a stream");
    cu.cuStreamSynchronize(s);
    abi_is(cx.cuMemcpyAtoH(back[0], line, 0, sizeof plane[0]), CUDA_SUCCESS, "and out");
    plane_is("has them", 0, 7, SIDE, 1);
    abi_is(cx.cuMemcpyHtoA(line, 32, plane[5], 64), CUDA_ERROR_INVALID_VALUE, "more than the row has");
    in.dstXInBytes = 4;
    abi_is(cu.cuMemcpy2D(&in), CUDA_ERROR_INVALID_VALUE, "rows that end behind the array");
    in.dstXInBytes = 0;
    in.dstY = 1;
    abi_is(cu.cuMemcpy2D(&in), CUDA_ERROR_INVALID_VALUE, "more rows than it has");
    if (!tap_on_gpu()) {
        between.dstXInBytes = UINT64_MAX - 3;
        abi_is(cu.cuMemcpy3D(&between), CUDA_ERROR_INVALID_VALUE, "an offset that wraps");
        between.dstXInBytes = 0;
        between.dstZ = UINT64_MAX;
        abi_is(cu.cuMemcpy3D(&between), CUDA_ERROR_INVALID_VALUE, "a slice that wraps");
        abi_is(cx.cuMemcpyHtoA(line, 2, plane[5], 4), CUDA_ERROR_INVALID_VALUE, "half an element");
    }
    cu.cuMemFree(d);
    cu.cuArrayDestroy(a);
    cu.cuArrayDestroy(b);
    cu.cuArrayDestroy(line);
    cu.cuStreamDestroy(s);
}

/* A node with an array replays; one whose array was destroyed is a fault of the CPU device. */
static void arrays_in_graphs(void)
{
    CUcontext own = NULL;
    if (cu.cuCtxCreate(&own, 0, 0)) tap_bail("no context");
    CUarray a = array_of(SIDE, 0, 0, 0);
    CUstream s = abi_stream();
    CUgraph g;
    CUgraphExec x;
    CUgraphNode n;
    CUDA_MEMCPY3D p = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = plane[2], .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = a, .WidthInBytes = sizeof plane[2], .Height = 1, .Depth = 1 };
    if (cu.cuGraphCreate(&g, 0)) tap_bail("no graph");
    abi_is(cu.cuGraphAddMemcpyNode(&n, g, NULL, 0, &p, own), CUDA_SUCCESS, "a node that copies to an array");
    abi_is(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS, "instantiated");
    abi_is(cu.cuGraphLaunch(x, s), CUDA_SUCCESS, "launched");
    cu.cuStreamSynchronize(s);
    abi_is(cx.cuMemcpyAtoH(back[0], a, 0, sizeof back[0]), CUDA_SUCCESS, "the array");
    plane_is("has the bytes", 0, 2, SIDE, 1);
    if (!tap_on_gpu()) {
        cujit_sim_fault_info fault = { .size = sizeof fault };
        abi_is(cu.cuArrayDestroy(a), CUDA_SUCCESS, "the array is destroyed");
        cu.cuGraphLaunch(x, s);
        abi_is(cu.cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS, "the graph's copy is a fault then");
        cujit_sim_fault(own, &fault);
        tap_has_str(fault.sentence, "an array that was destroyed", "with a sentence");
    }
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuCtxDestroy(own);
}

static void mipmapped(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 20, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0 }, level;
    CUmipmappedArray m;
    CUarray a;
    unsigned levels = 0;
    static const size_t width[] = { 20, 10, 5, 2, 1 }, height[] = { 8, 4, 2, 1, 1 };
    abi_is(cu.cuMipmappedArrayCreate(&m, &d, 50), CUDA_SUCCESS, "a mipmapped array of as many levels as there can be");
    while (levels < 5 && !cu.cuMipmappedArrayGetLevel(&a, m, levels)) {
        abi_is(cu.cuArray3DGetDescriptor(&level, a), CUDA_SUCCESS, "level %u", levels);
        tap_ok(level.Width == width[levels] && level.Height == height[levels], "level %u has half the size", levels);
        levels++;
    }
    tap_is_uint(levels, 5, "five levels");
    abi_is(cu.cuMipmappedArrayGetLevel(&a, m, 5), CUDA_ERROR_INVALID_VALUE, "not six");
    abi_is(cu.cuMipmappedArrayDestroy(m), CUDA_SUCCESS, "destroyed");
    if (!tap_on_gpu()) abi_is(cu.cuMipmappedArrayDestroy(m), CUDA_ERROR_INVALID_HANDLE, "once");
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

static void objects(void)
{
    CUarray a = array_of(SIDE, SIDE, 0, CUDA_ARRAY3D_SURFACE_LDST), plain = array_of(SIDE, SIDE, 0, 0);
    CUdeviceptr d;
    CUtexObject t;
    CUsurfObject u;
    CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a }, seen;
    CUDA_TEXTURE_DESC how = { .filterMode = CU_TR_FILTER_MODE_POINT, .flags = CU_TRSF_READ_AS_INTEGER }, how_seen;
    CUDA_RESOURCE_VIEW_DESC view;
    if (cu.cuMemAlloc(&d, 4096)) tap_bail("no memory");
    abi_is(cu.cuTexObjectCreate(&t, &r, &how, NULL), CUDA_SUCCESS, "a texture object of an array");
    abi_is(cx.cuTexObjectGetResourceDesc(&seen, t), CUDA_SUCCESS, "its resource");
    tap_ok(seen.resType == CU_RESOURCE_TYPE_ARRAY && seen.res.array.hArray == a, "is the array");
    abi_is(cx.cuTexObjectGetTextureDesc(&how_seen, t), CUDA_SUCCESS, "how it is read");
    tap_is_uint(how_seen.flags & CU_TRSF_READ_AS_INTEGER, CU_TRSF_READ_AS_INTEGER, "is what it was made with");
    if (!tap_on_gpu())
        abi_is(cx.cuTexObjectGetResourceViewDesc(&view, t), CUDA_ERROR_INVALID_VALUE, "it has no view");
    abi_is(cu.cuTexObjectDestroy(t), CUDA_SUCCESS, "destroyed");
    r = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_LINEAR,
                              .res.linear = { d, CU_AD_FORMAT_UNSIGNED_INT32, 1, 4096 } };
    abi_is(cu.cuTexObjectCreate(&t, &r, &how, NULL), CUDA_SUCCESS, "one of memory");
    abi_is(cu.cuTexObjectDestroy(t), CUDA_SUCCESS, "destroyed");
    r.res.linear.numChannels = 3;
    abi_is(cu.cuTexObjectCreate(&t, &r, &how, NULL), CUDA_ERROR_INVALID_VALUE, "three channels");
    r = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_PITCH2D,
                              .res.pitch2D = { d, CU_AD_FORMAT_UNSIGNED_INT32, 1, 100, 8, 512 } };
    abi_is(cu.cuTexObjectCreate(&t, &r, &how, NULL), CUDA_SUCCESS, "one of rows");
    abi_is(cu.cuTexObjectDestroy(t), CUDA_SUCCESS, "destroyed");
    if (!tap_on_gpu()) {
        r.res.pitch2D.pitchInBytes = 500;
        abi_is(cu.cuTexObjectCreate(&t, &r, &how, NULL), CUDA_ERROR_INVALID_VALUE, "rows at an odd distance");
        r.res.pitch2D.pitchInBytes = 512;
        r.res.pitch2D.height = 9;
        abi_is(cu.cuTexObjectCreate(&t, &r, &how, NULL), CUDA_ERROR_INVALID_VALUE, "more rows than there is memory");
        r.res.pitch2D.height = UINT64_MAX;
        abi_is(cu.cuTexObjectCreate(&t, &r, &how, NULL), CUDA_ERROR_INVALID_VALUE, "rows that wrap");
    }
    r = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a };
    abi_is(cu.cuSurfObjectCreate(&u, &r), CUDA_SUCCESS, "a surface object");
    abi_is(cx.cuSurfObjectGetResourceDesc(&seen, u), CUDA_SUCCESS, "its resource");
    tap_ok(seen.res.array.hArray == a, "is the array");
    abi_is(cu.cuSurfObjectDestroy(u), CUDA_SUCCESS, "destroyed");
    r.res.array.hArray = plain;
    abi_is(cu.cuSurfObjectCreate(&u, &r), CUDA_SUCCESS, "an array without surface access");
    cu.cuArrayDestroy(a);
    cu.cuArrayDestroy(plain);
    cu.cuMemFree(d);
}

/* ---- Batches ----------------------------------------------------------------------------------------------------- */

static void batches(void)
{
    CUdeviceptr d, dst[3], src[3];
    unsigned one[4] = { 1, 2, 3, 4 }, out[4] = { 0 };
    size_t sizes[3] = { 16, 8, 8 }, first[2] = { 0, 2 }, failed = 77;
    CUmemcpyAttributes how[2] = { { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM },
                                  { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL } };
    CUstream s = abi_stream();
    if (tap_on_gpu() && !cx.cuMemcpyBatchAsync_v2) {
        tap_skip(1, "this driver has no batches of copies");
        return;
    }
    if (cu.cuMemAlloc(&d, 64) || cu.cuMemsetD8(d, 0, 64)) tap_bail("no memory");
    cu.cuCtxSynchronize();
    for (int i = 0; i < 3; i++) {
        dst[i] = d + 16 * (unsigned)i;
        src[i] = (CUdeviceptr)(uintptr_t)one;
    }
    abi_is(cx.cuMemcpyBatchAsync_v2(dst, src, sizes, 3, how, first, 2, s), CUDA_SUCCESS, "three copies at once");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "are done");
    for (int i = 0; i < 3; i++) {
        memset(out, 0, sizeof out);
        cu.cuMemcpyDtoH(out, dst[i], sizes[i]);
        tap_is_mem(out, one, sizes[i], "copy %d has its bytes", i);
    }
    abi_is(cx.cuMemcpyBatchAsync_v2(dst, src, sizes, 0, how, first, 1, s), CUDA_ERROR_INVALID_VALUE, "none at once");
    abi_is(cx.cuMemcpyBatchAsync_v2(dst, src, sizes, 3, how, first, 0, s), CUDA_ERROR_INVALID_VALUE,
           "without attributes");
    first[0] = 1;
    abi_is(cx.cuMemcpyBatchAsync_v2(dst, src, sizes, 3, how, first, 2, s), CUDA_ERROR_INVALID_VALUE,
           "attributes that begin later");
    first[0] = 0;
    how[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    abi_is(cx.cuMemcpyBatchAsync_v2(dst, src, sizes, 3, how, first, 2, s), CUDA_ERROR_INVALID_VALUE, "of no order");
    how[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    if (!tap_on_gpu()) {
        abi_is(cx.cuMemcpyBatchAsync_v2(dst, src, sizes, 3, how, first, 2, CU_STREAM_LEGACY), CUDA_ERROR_INVALID_VALUE,
               "in the legacy stream");
        sizes[1] = UINT64_MAX;
        abi_is(cx.cuMemcpyBatchAsync(dst, src, sizes, 3, how, first, 2, &failed, s), CUDA_ERROR_INVALID_VALUE,
               "one that cannot be");
        tap_is_uint(failed, 1, "is named");
        sizes[1] = 8;
    }
    CUarray a = array_of(SIDE, SIDE, 0, 0);
    CUDA_MEMCPY3D_BATCH_OP ops[2] = {
        { .src = { CU_MEMCPY_OPERAND_TYPE_POINTER,
                   .op.ptr = { .ptr = (CUdeviceptr)(uintptr_t)plane, .rowLength = SIDE } },
          .dst = { CU_MEMCPY_OPERAND_TYPE_ARRAY, .op.array = { a, { 4, 2, 0 } } },
          .extent = { 5, 6, 1 },
          .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM },
        { .src = { CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = { .ptr = (CUdeviceptr)(uintptr_t)one } },
          .dst = { CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = { .ptr = d + 48 } },
          .extent = { 16, 1, 1 },
          .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM }
    };
    abi_is(cx.cuMemcpy3DBatchAsync_v2(2, ops, 0, s), CUDA_SUCCESS, "a plane and a row at once");
    abi_is(cu.cuStreamSynchronize(s), CUDA_SUCCESS, "are done");
    CUDA_MEMCPY2D from = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = a, .srcXInBytes = 16, .srcY = 2,
                           .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back, .dstPitch = sizeof back[0],
                           .WidthInBytes = 20, .Height = 6 };
    cu.cuMemcpy2D(&from);
    plane_is("the plane is in the array", 0, 0, 5, 6);
    cu.cuMemcpyDtoH(out, d + 48, 16);
    tap_is_mem(out, one, 16, "the row is in memory");
    if (!tap_on_gpu()) {
        ops[1].extent.width = 0;
        abi_is(cx.cuMemcpy3DBatchAsync(2, ops, &failed, 0, s), CUDA_ERROR_INVALID_VALUE, "a copy of nothing");
        tap_is_uint(failed, 1, "is named");
    }
    cu.cuArrayDestroy(a);
    cu.cuMemFree(d);
    cu.cuStreamDestroy(s);
}

int main(void)
{
    abi_open();
    descriptors();
    other_queries();
    rows_and_planes();
    arrays_in_graphs();
    cu.cuCtxSetCurrent(abi_ctx);
    mipmapped();
    objects();
    batches();
    return abi_close();
}
