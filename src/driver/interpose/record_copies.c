/* Copies between host and device: what they read and what they wrote.
 *
 * A copy that has returned has read its source, and filled its destination, unless it was asynchronous and the host
 * memory is pinned.  Such a copy may run at any later time, and what it reads may be written until then, by a host
 * function for example.  So its bytes are read back from the device's side behind it, in its stream. */
#include "driver/interpose/record_file.h"

bool cji_rec_is_host(const cji_cu *cu, uint64_t address, bool *pinned)
{
    unsigned type = 0;
    const CUresult r = cu->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    const bool known = r == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST;
    if (pinned) *pinned = known;
    return known || (pinned && r != CUDA_SUCCESS);
}

size_t cji_rec_extent(size_t pitch, size_t height, size_t width, size_t rows, size_t layers)
{
    if (!width || !rows || !layers) return 0;
    if (!pitch) pitch = width;
    if (!height) height = rows;
    return ((layers - 1) * height + rows - 1) * pitch + width;
}

/* -- What is copied ------------------------------------------------------------------------------------------------ */

static void *host_pointer(uint64_t v) { return (void *)(uintptr_t)v; }

/* A side of a copy by an address that may be anyone's: host memory that is pinned, or not known to the driver where
 * `pageable`. */
static void side_of_address(const cji_cu *cu, uint64_t address, bool pageable, CUmemorytype *type, bool *host,
                            bool *pinned)
{
    bool locked = false;
    *host = cji_rec_is_host(cu, address, pageable ? &locked : NULL);
    *pinned = pageable ? locked : *host;
    *type = *host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static void linear(const cji_cu *cu, cji_rec_copy *copy, uint64_t dst, uint64_t src, size_t bytes, int host_to,
                   int host_from, bool unified)
{
    CUDA_MEMCPY3D *box = &copy->box;
    *box = (CUDA_MEMCPY3D){ .WidthInBytes = bytes, .Height = 1, .Depth = 1, .srcDevice = src, .dstDevice = dst,
                            .srcHost = host_pointer(src), .dstHost = host_pointer(dst) };
    side_of_address(cu, src, unified || host_from, &box->srcMemoryType, &copy->from_host, &copy->from_pinned);
    side_of_address(cu, dst, unified || host_to, &box->dstMemoryType, &copy->to_host, &copy->to_pinned);
}

static void box_sides(const cji_cu *cu, cji_rec_copy *copy)
{
    CUDA_MEMCPY3D *box = &copy->box;
    if (box->srcMemoryType == CU_MEMORYTYPE_HOST) {
        copy->from_host = true;
        cji_rec_is_host(cu, (uint64_t)(uintptr_t)box->srcHost, &copy->from_pinned);
    } else if (box->srcMemoryType != CU_MEMORYTYPE_ARRAY) {
        side_of_address(cu, box->srcDevice, box->srcMemoryType == CU_MEMORYTYPE_UNIFIED, &box->srcMemoryType,
                        &copy->from_host, &copy->from_pinned);
        box->srcHost = host_pointer(box->srcDevice);
    }
    if (box->dstMemoryType == CU_MEMORYTYPE_HOST) {
        copy->to_host = true;
        cji_rec_is_host(cu, (uint64_t)(uintptr_t)box->dstHost, &copy->to_pinned);
    } else if (box->dstMemoryType != CU_MEMORYTYPE_ARRAY) {
        side_of_address(cu, box->dstDevice, box->dstMemoryType == CU_MEMORYTYPE_UNIFIED, &box->dstMemoryType,
                        &copy->to_host, &copy->to_pinned);
        box->dstHost = host_pointer(box->dstDevice);
    }
}

static void box_of_2d(cji_rec_copy *copy, const CUDA_MEMCPY2D *c)
{
    copy->box = (CUDA_MEMCPY3D){
        .srcXInBytes = c->srcXInBytes, .srcY = c->srcY, .srcMemoryType = c->srcMemoryType, .srcHost = c->srcHost,
        .srcDevice = c->srcDevice, .srcArray = c->srcArray, .srcPitch = c->srcPitch, .srcHeight = c->srcY + c->Height,
        .dstXInBytes = c->dstXInBytes, .dstY = c->dstY, .dstMemoryType = c->dstMemoryType, .dstHost = c->dstHost,
        .dstDevice = c->dstDevice, .dstArray = c->dstArray, .dstPitch = c->dstPitch, .dstHeight = c->dstY + c->Height,
        .WidthInBytes = c->WidthInBytes, .Height = c->Height, .Depth = 1,
    };
}

static void box_of_peer(cji_rec_copy *copy, const CUDA_MEMCPY3D_PEER *c)
{
    _Static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER), "contexts are where reserved fields are");
    memcpy(&copy->box, c, sizeof copy->box);
    copy->box.reserved0 = copy->box.reserved1 = NULL;
}

bool cji_rec_copy_of(const cji_rec_build *b, cji_rec_copy *copy)
{
    const uint64_t *v = b->value;
    const cji_cu *cu = b->cu;
    *copy = (cji_rec_copy){ .source = 1, .target = 0 };
    switch (b->id) {
    case CJI_CU_ID_cuMemcpy: linear(cu, copy, v[0], v[1], v[2], 0, 0, true); break;
    case CJI_CU_ID_cuMemcpyHtoD: linear(cu, copy, v[0], v[1], v[2], 0, 1, false); break;
    case CJI_CU_ID_cuMemcpyDtoH: linear(cu, copy, v[0], v[1], v[2], 1, 0, false); break;
    case CJI_CU_ID_cuMemcpyDtoD: linear(cu, copy, v[0], v[1], v[2], 0, 0, false); break;
    case CJI_CU_ID_cuMemcpyAsync: linear(cu, copy, v[0], v[1], v[2], 0, 0, true); break;
    case CJI_CU_ID_cuMemcpyHtoDAsync: linear(cu, copy, v[0], v[1], v[2], 0, 1, false); break;
    case CJI_CU_ID_cuMemcpyDtoHAsync: linear(cu, copy, v[0], v[1], v[2], 1, 0, false); break;
    case CJI_CU_ID_cuMemcpyDtoDAsync: linear(cu, copy, v[0], v[1], v[2], 0, 0, false); break;
    case CJI_CU_ID_cuMemcpy2D: case CJI_CU_ID_cuMemcpy2DUnaligned: case CJI_CU_ID_cuMemcpy2DAsync:
        if (v[0]) box_of_2d(copy, host_pointer(v[0]));
        break;
    case CJI_CU_ID_cuMemcpy3D: case CJI_CU_ID_cuMemcpy3DAsync:
        if (v[0]) memcpy(&copy->box, host_pointer(v[0]), sizeof copy->box);
        break;
    case CJI_CU_ID_cuMemcpy3DPeer: case CJI_CU_ID_cuMemcpy3DPeerAsync:
        if (v[0]) box_of_peer(copy, host_pointer(v[0]));
        break;
    default: return false;
    }
    switch (b->id) {
    case CJI_CU_ID_cuMemcpyAsync: case CJI_CU_ID_cuMemcpyHtoDAsync: case CJI_CU_ID_cuMemcpyDtoHAsync:
    case CJI_CU_ID_cuMemcpyDtoDAsync: copy->async = true, copy->stream = host_pointer(v[3]); break;
    case CJI_CU_ID_cuMemcpy2DAsync: case CJI_CU_ID_cuMemcpy3DAsync: case CJI_CU_ID_cuMemcpy3DPeerAsync:
        copy->async = true, copy->stream = host_pointer(v[1]), copy->source = copy->target = -1;
        break;
    case CJI_CU_ID_cuMemcpy2D: case CJI_CU_ID_cuMemcpy2DUnaligned: case CJI_CU_ID_cuMemcpy3D:
    case CJI_CU_ID_cuMemcpy3DPeer: copy->source = copy->target = -1; break;
    default: break;
    }
    if (copy->source < 0) box_sides(cu, copy);
    if (!copy->from_host && !copy->to_host) return false;
    if (copy->async) {
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        copy->captured = cu->cuStreamIsCapturing(copy->stream, &status) == CUDA_SUCCESS &&
                         status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    }
    return true;
}

/* -- The bytes ----------------------------------------------------------------------------------------------------- */

static size_t box_bytes(const CUDA_MEMCPY3D *box) { return box->WidthInBytes * box->Height * box->Depth; }

/* DATA of the rows of the host's side, without what is between them; 0: it is empty, or there is no memory. */
static uint64_t box_data(cji_rec_build *b, const cji_rec_copy *copy, bool source)
{
    const CUDA_MEMCPY3D *box = &copy->box;
    const size_t x = source ? box->srcXInBytes : box->dstXInBytes, y = source ? box->srcY : box->dstY;
    const size_t z = source ? box->srcZ : box->dstZ, n = box_bytes(box);
    size_t pitch = source ? box->srcPitch : box->dstPitch, height = source ? box->srcHeight : box->dstHeight;
    const unsigned char *from = source ? box->srcHost : box->dstHost;
    if (!pitch) pitch = x + box->WidthInBytes;
    if (!height) height = y + box->Height;
    if (!n || !from) return 0;
    if (box->Height == 1 && box->Depth == 1) return cji_rec_add_data(b->rec, from + (z * height + y) * pitch + x, n);
    unsigned char *rows = cji_alloc(n), *to = rows;
    if (!rows) {
        cji_rec_file_fail(b->rec->file, "no memory");
        return 0;
    }
    for (size_t k = 0; k < box->Depth; k++)
        for (size_t j = 0; j < box->Height; j++, to += box->WidthInBytes)
            memcpy(to, from + ((z + k) * height + y + j) * pitch + x, box->WidthInBytes);
    const uint64_t number = cji_rec_add_data(b->rec, rows, n);
    cji_free(rows, n);
    return number;
}

/* Whether the bytes are not known before the copy has run, and the device has them then. */
static bool read_back(const cji_rec_copy *copy)
{
    if (!copy->async || copy->captured || (copy->from_host && copy->to_host)) return false;
    return copy->from_host ? copy->from_pinned : copy->to_pinned;
}

void cji_rec_copy_before(cji_rec_build *b, const cji_rec_copy *copy)
{
    if (copy->from_host && !copy->captured && !read_back(copy)) b->source = box_data(b, copy, true);
}

/* Enqueues the copy from the device's side to pinned memory of the recorder's; false: the driver does not. */
static bool enqueue_back(cji_rec_build *b, const cji_rec_copy *copy, cji_rec_pending *p)
{
    const CUDA_MEMCPY3D *box = &copy->box;
    if (copy->source >= 0)
        return b->cu->cuMemcpyDtoHAsync(p->room, copy->from_host ? box->dstDevice : box->srcDevice, p->bytes,
                                        copy->stream) == CUDA_SUCCESS;
    CUDA_MEMCPY3D back = *box;
    if (copy->from_host) {
        back.srcXInBytes = box->dstXInBytes, back.srcY = box->dstY, back.srcZ = box->dstZ, back.srcLOD = box->dstLOD;
        back.srcMemoryType = box->dstMemoryType, back.srcDevice = box->dstDevice, back.srcArray = box->dstArray;
        back.srcPitch = box->dstPitch, back.srcHeight = box->dstHeight, back.srcHost = NULL;
    }
    back.dstXInBytes = back.dstY = back.dstZ = back.dstLOD = 0;
    back.dstMemoryType = CU_MEMORYTYPE_HOST;
    back.dstHost = p->room, back.dstDevice = 0, back.dstArray = NULL;
    back.dstPitch = box->WidthInBytes, back.dstHeight = box->Height;
    return b->cu->cuMemcpy3DAsync(&back, copy->stream) == CUDA_SUCCESS;
}

void cji_rec_copy_after(cji_rec_build *b, const cji_rec_copy *copy)
{
    const size_t n = box_bytes(&copy->box);
    CUstreamCaptureMode mode;
    if (b->result != CUDA_SUCCESS || copy->captured || !n) return;
    if (!read_back(copy)) {
        if (copy->to_host && !copy->from_host) b->target = box_data(b, copy, false);
        return;
    }
    const bool relaxed = cji_rec_relax(b->cu, &mode), entered = cji_rec_enter(b->cu, copy->stream);
    cji_rec_pending *p = cji_rec_pending_take(b->rec, b->cu, n);
    if (p) {
        p->bytes = n;
        p->address = copy->to_host ? (uint64_t)(uintptr_t)copy->box.dstHost : 0;
        p->data = 0;
        const bool enqueued = enqueue_back(b, copy, p);
        if (enqueued) p->data = atomic_fetch_add(&b->rec->data, 1) + 1;
        const uint64_t number = p->data;
        if (enqueued) cji_rec_pending_enqueue(b->rec, b->cu, p, copy->stream);
        else cji_rec_pending_spare(b->rec, p);
        if (copy->from_host) b->source = number;
        else b->target = number;
    }
    cji_rec_leave(b->cu, entered);
    cji_rec_relax_end(b->cu, relaxed, mode);
    /* the nearest to it: what is there when the copy has been enqueued */
    if (copy->from_host && !b->source) b->source = box_data(b, copy, true);
}

/* -- The arguments ------------------------------------------------------------------------------------------------- */

static void put_side(cji_rec_build *b, const cji_rec_copy *copy, bool source, size_t parent, size_t offset)
{
    const CUDA_MEMCPY3D *box = &copy->box;
    const void *host = source ? box->srcHost : box->dstHost;
    size_t room = box_bytes(box);
    cji_rec_kind kind = source ? CJI_REC_SOURCE : CJI_REC_TARGET;
    uint64_t value = source ? b->source : b->target;
    if (copy->captured) {
        kind = CJI_REC_REGION;
        value = (uint64_t)(uintptr_t)host;
        room = source ? cji_rec_extent(box->srcPitch, box->srcHeight, box->srcXInBytes + box->WidthInBytes,
                                       box->srcY + box->Height, box->srcZ + box->Depth)
                      : cji_rec_extent(box->dstPitch, box->dstHeight, box->dstXInBytes + box->WidthInBytes,
                                       box->dstY + box->Height, box->dstZ + box->Depth);
    }
    if (parent == SIZE_MAX) cji_rec_put(b, kind, 0, value, room, 0, NULL, 0);
    else cji_rec_put_in(b, parent, kind, 0, value, room, offset, NULL, 0);
}

/* The struct of a copy with the host's rows packed: T has the names of CUDA_MEMCPY2D. */
#define PACK_SIDE(c, side, T)                                                                   \
    do {                                                                                        \
        if (!copy->captured) (c)->side##XInBytes = (c)->side##Y = 0, (c)->side##Pitch = copy->box.WidthInBytes; \
        (c)->side##MemoryType = CU_MEMORYTYPE_HOST;                                                   \
    } while (0)

static void put_device_side(cji_rec_build *b, size_t at, size_t address, size_t array, CUmemorytype type,
                            uint64_t device, const void *handle)
{
    if (type == CU_MEMORYTYPE_ARRAY)
        cji_rec_put_in(b, at, CJI_REC_HANDLE, CJI_HANDLE_ARRAY, (uint64_t)(uintptr_t)handle, 0, array, NULL, 0);
    else
        cji_rec_put_in(b, at, CJI_REC_ADDRESS, 0, device, 0, address, NULL, 0);
}

#define PUT_STRUCT(T, c)                                                                                           \
    const size_t at = cji_rec_put(b, CJI_REC_MEMORY, 0, 0, 0, 0, c, sizeof *(c));                                  \
    if (copy->from_host) put_side(b, copy, true, at, offsetof(T, srcHost));                                        \
    else put_device_side(b, at, offsetof(T, srcDevice), offsetof(T, srcArray), (c)->srcMemoryType, (c)->srcDevice, \
                         (c)->srcArray);                                                                           \
    if (copy->to_host) put_side(b, copy, false, at, offsetof(T, dstHost));                                         \
    else put_device_side(b, at, offsetof(T, dstDevice), offsetof(T, dstArray), (c)->dstMemoryType, (c)->dstDevice, \
                         (c)->dstArray)

static void put_packed_2d(cji_rec_build *b, const cji_rec_copy *copy)
{
    CUDA_MEMCPY2D c;
    memcpy(&c, host_pointer(b->value[0]), sizeof c);
    if (copy->from_host) PACK_SIDE(&c, src, CUDA_MEMCPY2D);
    if (copy->to_host) PACK_SIDE(&c, dst, CUDA_MEMCPY2D);
    PUT_STRUCT(CUDA_MEMCPY2D, &c);
}

static void put_packed_3d(cji_rec_build *b, const cji_rec_copy *copy, bool peer)
{
    CUDA_MEMCPY3D c;
    memcpy(&c, host_pointer(b->value[0]), sizeof c);
    if (copy->from_host) {
        PACK_SIDE(&c, src, CUDA_MEMCPY3D);
        if (!copy->captured) c.srcZ = 0, c.srcHeight = c.Height;
    }
    if (copy->to_host) {
        PACK_SIDE(&c, dst, CUDA_MEMCPY3D);
        if (!copy->captured) c.dstZ = 0, c.dstHeight = c.Height;
    }
    PUT_STRUCT(CUDA_MEMCPY3D, &c);
    if (!peer) return;
    cji_rec_put_in(b, at, CJI_REC_HANDLE, CJI_HANDLE_CONTEXT, (uint64_t)(uintptr_t)c.reserved0, 0,
                   offsetof(CUDA_MEMCPY3D_PEER, srcContext), NULL, 0);
    cji_rec_put_in(b, at, CJI_REC_HANDLE, CJI_HANDLE_CONTEXT, (uint64_t)(uintptr_t)c.reserved1, 0,
                   offsetof(CUDA_MEMCPY3D_PEER, dstContext), NULL, 0);
}

bool cji_rec_copy_argument(cji_rec_build *b, const cji_rec_copy *copy, int i)
{
    if (copy->source < 0) {
        const bool peer = b->id == CJI_CU_ID_cuMemcpy3DPeer || b->id == CJI_CU_ID_cuMemcpy3DPeerAsync;
        if (i != 0) return false;
        if (peer || b->id == CJI_CU_ID_cuMemcpy3D || b->id == CJI_CU_ID_cuMemcpy3DAsync) put_packed_3d(b, copy, peer);
        else put_packed_2d(b, copy);
        return true;
    }
    const bool source = i == copy->source && copy->from_host, target = i == copy->target && copy->to_host;
    if (source || target) put_side(b, copy, source, SIZE_MAX, 0);
    return source || target;
}
