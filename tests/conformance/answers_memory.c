/* Memory (see answers.h): copies and fills in one, two and three dimensions, what a pointer is, registered memory,
 * managed memory, pools; each with arguments that are often wrong.  What a copy that is taken touches lies within its
 * memory. */
#include "answers.h"

enum { BYTES = 16384, PLACES = 6, POOLS = 2, PARTS = 4 };
enum { DEVICE, OTHER_DEVICE, PINNED, MANAGED, PAGEABLE, REGISTERED };

static an_tools tools;
static CUdeviceptr place[PLACES];     /* BYTES each; the host's by their own addresses */
static void *region;                  /* what REGISTERED lies in, page-aligned */
static bool registered;
static CUmemoryPool pool[POOLS];
static CUdeviceptr part[PARTS];       /* of the pools */
static unsigned part_of[PARTS];
static bool in_motion;                /* of the pools' memory */

static const char *const place_names[PLACES] = {
    "device", "other device", "pinned", "managed", "pageable", "registered"
};

static void *host_of(unsigned i) { return (void *)(uintptr_t)place[i]; }
static bool is_host(unsigned i) { return i == PINNED || i == PAGEABLE || i == REGISTERED; }

/* A hash of each place. */
static void tell_places(void)
{
    static unsigned char bytes[BYTES];
    an_line("contents");
    for (unsigned i = 0; i < PLACES; i++) {
        uint32_t h = 2166136261u;
        if (is_host(i)) memcpy(bytes, host_of(i), BYTES);
        else if (cu.cuMemcpyDtoH(bytes, place[i], BYTES)) an_more(" unreadable");
        for (unsigned k = 0; k < BYTES; k++) h = (h ^ bytes[k]) * 16777619u;
        an_more(" %x", h);
    }
}

static void op_tell(void)
{
    if (!AN(cuCtxSynchronize(), "the context is waited for")) in_motion = false;
    tell_places();
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static void op_copy(void)
{
    unsigned a = an_below(PLACES), b = an_below(PLACES), kind = an_below(6);
    size_t bytes = an_chance(10) ? 0 : 1 + an_below(512), from = an_below(4096), to = 8192 + an_below(4096);
    CUdeviceptr src = place[b] + from, dst = place[a] + to;
    bool async = an_chance(40);
    int st;
    if (an_chance(5)) src = 0;
    else if (an_chance(5)) dst = 0;
    if (a == PAGEABLE || b == PAGEABLE || a == REGISTERED || b == REGISTERED) {
        if (kind > 1) kind &= 1;   /* what is not the driver's is the host's */
    }
    if (kind == 0 && !is_host(b)) kind = 2;
    if (kind == 1 && !is_host(a)) kind = 2;
    if (kind == 0 && is_host(a)) return;
    if (kind == 1 && is_host(b)) return;
    if (kind >= 2 && (a >= PAGEABLE || b >= PAGEABLE)) return;
    an_line("%scopy %u, %s %zu from %s %zu, %zu bytes%s:", async ? "asynchronous " : "", kind, place_names[a], to,
            place_names[b], from, bytes,
            !src   ? ", from nothing"
            : !dst ? ", to nothing"
                   : "");
    switch (kind) {
    case 0:
        st = (int)(async ? cu.cuMemcpyHtoDAsync(dst, (void *)(uintptr_t)src, bytes, NULL)
                         : cu.cuMemcpyHtoD(dst, (void *)(uintptr_t)src, bytes));
        break;
    case 1:
        st = (int)(async ? cu.cuMemcpyDtoHAsync((void *)(uintptr_t)dst, src, bytes, NULL)
                         : cu.cuMemcpyDtoH((void *)(uintptr_t)dst, src, bytes));
        break;
    case 2: st = (int)(async ? cu.cuMemcpyAsync(dst, src, bytes, NULL) : cu.cuMemcpy(dst, src, bytes)); break;
    case 3:
        st = (int)(async ? cu.cuMemcpyPeerAsync(dst, abi_ctx, src, abi_ctx, bytes, NULL)
                         : cu.cuMemcpyPeer(dst, abi_ctx, src, abi_ctx, bytes));
        break;
    default: st = (int)(async ? cu.cuMemcpyDtoDAsync(dst, src, bytes, NULL) : cu.cuMemcpyDtoD(dst, src, bytes));
    }
    an_status(st);
    if (cu.cuStreamSynchronize(NULL)) an_more(" broken");
}

static CUmemorytype type_for(unsigned i)
{
    static const unsigned odd[] = { 0, 1, 2, 5, 9 };
    if (an_chance(6)) return (CUmemorytype)AN_PICK(odd);
    if (!is_host(i) || i == PINNED) {
        if (an_chance(25)) return CU_MEMORYTYPE_UNIFIED;
    }
    return is_host(i) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static size_t some_pitch(void)
{
    static const size_t pitches[] = { 0, 16, 31, 32, 64, 64, 64, 100, 128, 128 };
    return AN_PICK(pitches);
}

/* Types and addresses of a copy to place `a` from place `b`; false: one that would make the host's memory the device's,
 * or the other way round. */
static bool pick_ends(unsigned a, unsigned b, CUDA_MEMCPY3D *c)
{
    c->srcMemoryType = type_for(b);
    c->dstMemoryType = type_for(a);
    if ((c->srcMemoryType == CU_MEMORYTYPE_DEVICE && is_host(b) && b != PINNED) ||
        (c->dstMemoryType == CU_MEMORYTYPE_DEVICE && is_host(a) && a != PINNED))
        return false;
    if ((c->srcMemoryType == CU_MEMORYTYPE_HOST && !is_host(b)) ||
        (c->dstMemoryType == CU_MEMORYTYPE_HOST && !is_host(a)))
        return false;
    c->srcHost = host_of(b);
    c->srcDevice = place[b];
    c->dstHost = host_of(a);
    c->dstDevice = place[a];
    if (an_chance(4)) c->srcHost = NULL, c->srcDevice = 0;
    else if (an_chance(4)) c->dstHost = NULL, c->dstDevice = 0;
    return true;
}

static void op_copy_2d(void)
{
    unsigned a = an_below(PLACES), b = an_below(PLACES), how = an_below(3);
    CUDA_MEMCPY2D c;
    CUDA_MEMCPY3D ends;
    memset(&ends, 0, sizeof ends);
    memset(&c, 0, sizeof c);
    if (a == b) b = (b + 1) % PLACES;
    if (!pick_ends(a, b, &ends)) return;
    c.srcMemoryType = ends.srcMemoryType;
    c.dstMemoryType = ends.dstMemoryType;
    c.srcHost = ends.srcHost;
    c.srcDevice = ends.srcDevice;
    c.dstHost = ends.dstHost;
    c.dstDevice = ends.dstDevice;
    c.srcXInBytes = an_chance(60) ? 0 : an_below(24);
    c.dstXInBytes = an_chance(60) ? 0 : an_below(24);
    c.srcY = an_chance(60) ? 0 : an_below(4);
    c.dstY = an_chance(60) ? 0 : an_below(4);
    c.srcPitch = some_pitch();
    c.dstPitch = some_pitch();
    c.WidthInBytes = an_chance(5) ? 0 : 1 + an_below(32);
    c.Height = an_chance(5) ? 0 : 1 + an_below(5);
    an_line("copy 2D %u, %s %u %zu.%zu %zu%s from %s %u %zu.%zu %zu%s, %zu.%zu:", how, place_names[a], c.dstMemoryType,
            c.dstXInBytes, c.dstY, c.dstPitch, c.dstDevice ? "" : " nothing", place_names[b], c.srcMemoryType,
            c.srcXInBytes, c.srcY, c.srcPitch, c.srcDevice ? "" : " nothing", c.WidthInBytes, c.Height);
    an_status((int)(how == 0   ? cu.cuMemcpy2D(&c)
                    : how == 1 ? cu.cuMemcpy2DUnaligned(&c)
                               : cu.cuMemcpy2DAsync(&c, NULL)));
    if (cu.cuStreamSynchronize(NULL)) an_more(" broken");
}

static void op_copy_3d(void)
{
    unsigned a = an_below(PLACES), b = an_below(PLACES), how = an_below(2);
    CUDA_MEMCPY3D c;
    memset(&c, 0, sizeof c);
    if (a == b) b = (b + 1) % PLACES;
    if (!pick_ends(a, b, &c)) return;
    c.srcXInBytes = an_chance(70) ? 0 : an_below(24);
    c.dstXInBytes = an_chance(70) ? 0 : an_below(24);
    c.srcY = an_chance(70) ? 0 : an_below(3);
    c.dstZ = an_chance(70) ? 0 : an_below(3);
    c.srcPitch = some_pitch();
    c.dstPitch = some_pitch();
    c.srcHeight = an_below(6);
    c.dstHeight = an_below(6);
    c.srcLOD = an_chance(4);
    c.WidthInBytes = an_chance(5) ? 0 : 1 + an_below(32);
    c.Height = an_chance(5) ? 0 : 1 + an_below(4);
    c.Depth = an_chance(5) ? 0 : 1 + an_below(3);
    an_line("copy 3D %u, %s %u %zu..%zu %zu.%zu%s from %s %u %zu.%zu %zu.%zu%s%s, %zu.%zu.%zu:", how, place_names[a],
            c.dstMemoryType, c.dstXInBytes, c.dstZ, c.dstPitch, c.dstHeight, c.dstDevice ? "" : " nothing",
            place_names[b], c.srcMemoryType, c.srcXInBytes, c.srcY, c.srcPitch, c.srcHeight,
            c.srcDevice ? "" : " nothing", c.srcLOD ? " lod" : "", c.WidthInBytes, c.Height, c.Depth);
    an_status((int)(how == 0 ? cu.cuMemcpy3D(&c) : cu.cuMemcpy3DAsync(&c, NULL)));
    if (cu.cuStreamSynchronize(NULL)) an_more(" broken");
}

static void op_fill(void)
{
    unsigned a = an_below(4), kind = an_below(3), size = 1u << kind, v = 1 + an_below(255), two = an_chance(60);
    size_t at = an_below(512) * 4 + (an_chance(15) ? an_below(4) : 0), width = an_chance(8) ? 0 : 1 + an_below(16),
           height = an_chance(8) ? 0 : 1 + an_below(5), pitch = some_pitch();
    CUdeviceptr p = an_chance(5) ? 0 : place[a] + at;
    int st;
    if (two) {
        an_line("fill 2D of %u at %s %zu%s, pitch %zu, %zu.%zu:", size, place_names[a], at, p ? "" : " nothing", pitch,
                width, height);
        st = (int)(kind == 0   ? cu.cuMemsetD2D8(p, pitch, (unsigned char)v, width, height)
                   : kind == 1 ? cu.cuMemsetD2D16(p, pitch, (unsigned short)v, width, height)
                               : cu.cuMemsetD2D32(p, pitch, v, width, height));
    } else {
        an_line("fill of %u at %s %zu%s, %zu:", size, place_names[a], at, p ? "" : " nothing", width);
        st = (int)(kind == 0   ? cu.cuMemsetD8(p, (unsigned char)v, width)
                   : kind == 1 ? cu.cuMemsetD16(p, (unsigned short)v, width)
                               : cu.cuMemsetD32(p, v, width));
    }
    an_status(st);
    if (cu.cuStreamSynchronize(NULL)) an_more(" broken");
}

/* ---- What a pointer is ------------------------------------------------------------------------------------------- */

/* An address relative to the place it should be of. */
static void tell_address(CUdeviceptr p, CUdeviceptr base)
{
    if (!p) an_more(" none");
    else if (p >= base && p < base + BYTES) an_more(" +%u", (unsigned)(p - base));
    else an_more(" elsewhere");
}

static void op_pointer(void)
{
    static const int ids[] = { 1, 2, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 0, 22, 77 };
    unsigned i = an_below(PLACES);
    int id = AN_PICK(ids);
    union { uint64_t u; CUdeviceptr p; CUcontext ctx; unsigned v; int n; char room[64]; } value;
    CUdeviceptr off = an_chance(50) ? 0 : an_below(BYTES);
    bool nothing = an_chance(6);
    memset(&value, 0, sizeof value);
    if (AN(cuPointerGetAttribute(&value, (CUpointer_attribute)id, nothing ? 0 : place[i] + off),
           "attribute %d of %s +%u%s", id, place_names[i], (unsigned)off, nothing ? " nothing" : ""))
        return;
    switch (id) {
    case 1: an_more(value.ctx == abi_ctx ? " this" : value.ctx ? " another" : " none"); break;
    case 3: case 4: case 11: tell_address(value.p, place[i]); break;
    case 7: an_more(value.u ? " some" : " none"); break;
    case 12: an_more(" %llu", (unsigned long long)value.u); break;
    case 14: case 17: an_more(" %llu", (unsigned long long)value.u); break;
    case 6: case 8: case 10: case 13: an_more(" %u", value.v & 0xff); break;
    default: an_more(" %d", value.n);
    }
}

static void op_pointers(void)
{
    unsigned i = an_below(PLACES);
    CUpointer_attribute ids[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT };
    unsigned type = 99, managed = 0;
    int ordinal = 99;
    CUcontext ctx = NULL;
    void *data[] = { &type, &managed, &ordinal, &ctx };
    bool nothing = an_chance(10), none = an_chance(5);
    if (AN(cuPointerGetAttributes(none ? 0 : 4, ids, data, nothing ? 0 : place[i] + 8), "attributes of %s%s%s",
           place_names[i], nothing ? " nothing" : "", none ? ", none" : ""))
        return;
    an_more(" %u %u %d%s", type, managed & 0xff, ordinal, ctx == abi_ctx ? " this" : ctx ? " another" : " none");
}

static void op_set_attribute(void)
{
    unsigned i = an_below(PLACES), on = an_below(2), back = 9;
    int id = an_chance(80) ? 6 : 8;
    if (AN(cuPointerSetAttribute(&on, (CUpointer_attribute)id, place[i]), "attribute %d of %s becomes %u", id,
           place_names[i], on))
        return;
    AN(cuPointerGetAttribute(&back, (CUpointer_attribute)id, place[i]), "it is");
    an_more(" %u", back & 0xff);
}

static void op_range(void)
{
    unsigned i = an_below(PLACES), which = an_below(4);
    CUdeviceptr base = 0, off = an_below(BYTES);
    size_t size = 0;
    bool nothing = an_chance(8);
    if (AN(cuMemGetAddressRange(which == 0 ? NULL : &base, which == 1 ? NULL : &size, nothing ? 0 : place[i] + off),
           "range of %s +%u%s, %u", place_names[i], (unsigned)off, nothing ? " nothing" : "", which))
        return;
    if (which != 0) tell_address(base, place[i]);
    an_more(" %zu", size);
}

/* ---- Host memory ------------------------------------------------------------------------------------------------- */

static void op_host(void)
{
    unsigned i = an_below(PLACES), flags = 99;
    CUdeviceptr p = 0;
    void *h = NULL, *at = is_host(i) ? host_of(i) : NULL;
    static const unsigned wrong[] = { 0, 1, 2, 3, 4, 7, 8, 16, 0x80000000 };
    unsigned f = AN_PICK(wrong);
    switch (an_below(6)) {
    case 0:
        if (AN(cuMemHostAlloc(&h, an_chance(20) ? 0 : 4096, f), "pinned memory, flags %x", f)) break;
        an_more(h ? " some" : " none");
        if (!h) break;
        AN(cuMemHostGetFlags(&flags, h), "its flags");
        an_more(" %x", flags & ~1u);   /* a GPU may tell of the block that it lies in, made for another */
        AN(cuMemFreeHost(h), "and back");
        break;
    case 1:
        if (!at || AN(cuMemHostGetFlags(&flags, (char *)at + 16), "flags of %s", place_names[i])) break;
        an_more(" %x", flags & ~1u);
        break;
    case 2:
        if (!at ||
            AN(cuMemHostGetDevicePointer(&p, (char *)at + 16, an_chance(20)), "device address of %s", place_names[i]))
            break;
        tell_address(p, place[i]);
        break;
    case 3: AN(cuMemFreeHost(NULL), "no pinned memory goes"); break;
    case 4:
        if (i == PAGEABLE || i == PINNED)
            AN(cuMemFreeHost((char *)host_of(i) + 16), "the inner of %s goes", place_names[i]);
        break;
    default: AN(cuMemHostAlloc(NULL, 64, 0), "pinned memory into nothing");
    }
}

static void op_register(void)
{
    static const unsigned flags[] = { 0, 0, 1, 2, 3, 8, 16, 0x80 };
    unsigned f = AN_PICK(flags);
    switch (an_below(8)) {
    case 0: AN(cuMemHostRegister(NULL, 4096, f), "nothing is registered"); break;
    case 1: AN(cuMemHostRegister(region, 0, f), "registered, no bytes"); break;
    case 2: AN(cuMemHostUnregister(NULL), "nothing is unregistered"); break;
    case 3: if (registered) AN(cuMemHostUnregister((char *)region + 64), "unregistered from its middle"); break;
    case 4: AN(cuMemHostUnregister(host_of(PAGEABLE)), "unregistered what is pageable"); break;
    case 5: AN(cuMemHostUnregister(host_of(PINNED)), "unregistered what was allocated"); break;
    default:
        if (registered && an_chance(60)) {
            if (!AN(cuMemHostUnregister(region), "unregistered")) registered = false;
        } else if (!AN(cuMemHostRegister(region, BYTES, f), "registered, flags %x", f)) registered = true;
    }
}

/* ---- Allocations ------------------------------------------------------------------------------------------------- */

static void op_alloc(void)
{
    CUdeviceptr p = 0;
    size_t pitch = 0;
    unsigned width = 1 + an_below(3000), rows = an_chance(10) ? 0 : 1 + an_below(5),
             element = AN_PICK(((const unsigned[]){ 4, 8, 16, 4, 1, 2, 3, 32, 0 }));
    switch (an_below(9)) {
    case 0: AN(cuMemAlloc(&p, 0), "no bytes"); an_more(p ? " some" : " none"); break;
    case 1: AN(cuMemAlloc(NULL, 64), "memory into nothing"); break;
    case 2: AN(cuMemAlloc(&p, (size_t)1 << 50), "too many bytes"); break;
    case 3: AN(cuMemFree(0), "nothing is freed"); break;
    case 4: AN(cuMemFree(place[DEVICE] + 64), "the middle is freed"); break;
    case 5: case 6:
        if (an_chance(10)) width = 0;
        if (AN(cuMemAllocPitch(&p, &pitch, width, rows, element), "pitched memory %u.%u of %u", width, rows, element))
            break;
        an_more(" %zu", pitch);
        if (p) cu.cuMemFree(p);
        break;
    case 7: AN(cuMemFree(place[PINNED]), "pinned memory is freed as the device's"); break;
    default: {
        unsigned flags = an_below(5);
        if (AN(cuMemAllocManaged(&p, an_chance(20) ? 0 : 256, flags), "managed memory, flags %u", flags)) break;
        if (p) AN(cuMemFree(p), "and back");
    }
    }
}

/* ---- Managed memory ---------------------------------------------------------------------------------------------- */

static void op_advise(void)
{
    unsigned i = an_chance(75) ? MANAGED : an_below(3), advice = an_below(8);
    int device = an_chance(60) ? 0 : an_chance(50) ? -1 : an_below(2) ? 7 : -2;
    size_t bytes = an_chance(10) ? 0 : BYTES;
    AN(cuMemAdvise(place[i], bytes, (CUmem_advise)advice, device), "advice %u for %s, %zu bytes, device %d", advice,
       place_names[i], bytes, device);
}

static void op_range_attribute(void)
{
    unsigned i = an_chance(75) ? MANAGED : an_below(3);
    int id = 1 + (int)an_below(6), value[4] = { 99, 99, 99, 99 };
    size_t size = an_chance(80) ? 4 : AN_PICK(((const size_t[]){ 0, 2, 8, 3 }));
    if (id == 3) size = an_chance(50) ? 4 : 8;
    if (id > 4) return;
    if (AN(cuMemRangeGetAttribute(value, size, (CUmem_range_attribute)id, place[i], BYTES),
           "range attribute %d of %s in %zu bytes", id, place_names[i], size))
        return;
    an_more(" %d", value[0]);
}

static void op_prefetch(void)
{
    unsigned i = an_chance(75) ? MANAGED : an_below(3);
    int device = an_chance(60) ? 0 : an_chance(50) ? -1 : 7;
    size_t bytes = an_chance(10) ? 0 : BYTES;
    AN(cuMemPrefetchAsync(place[i], bytes, device, NULL), "%s prefetched to %d, %zu bytes", place_names[i], device,
       bytes);
    if (cu.cuStreamSynchronize(NULL)) an_more(" broken");
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

static void op_pool(void)
{
    unsigned k = an_below(POOLS);
    CUmemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
    if (!pool[k]) {
        unsigned wrong = an_below(20);
        if (wrong == 0) props.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
        if (wrong == 1) props.location.id = 9;
        if (wrong == 2) props.location.type = CU_MEM_LOCATION_TYPE_INVALID;
        if (wrong == 3) props.reserved[3] = 1;
        if (wrong == 4) { AN(cuMemPoolCreate(NULL, &props), "a pool into nothing"); return; }
        if (wrong == 5) { AN(cuMemPoolCreate(&pool[k], NULL), "a pool of nothing"); return; }
        if (AN(cuMemPoolCreate(&pool[k], &props), "pool %u, wrong %u", k, wrong < 4 ? wrong + 1 : 0)) pool[k] = NULL;
        return;
    }
    for (unsigned i = 0; i < PARTS; i++)
        if (part[i] && part_of[i] == k) return;
    if (!AN(cuMemPoolDestroy(pool[k]), "pool %u is destroyed", k)) pool[k] = NULL;
}

static void op_part(void)
{
    unsigned i = an_below(PARTS), k = an_below(POOLS);
    size_t bytes = an_chance(8) ? 0 : 1 + an_below(100000);
    if (part[i]) {
        if (an_chance(75) ? AN(cuMemFreeAsync(part[i], NULL), "part %u goes", i)
                          : AN(cuMemFree(part[i]), "part %u goes at once", i))
            return;
        part[i] = 0;
        in_motion = true;
        return;
    }
    if (!pool[k]) return;
    if (AN(cuMemAllocFromPoolAsync(&part[i], bytes, pool[k], NULL), "part %u of pool %u, %zu bytes", i, k, bytes))
        part[i] = 0;
    an_more(part[i] ? " some" : " none");
    part_of[i] = k;
    in_motion = true;
}

static void op_pool_attribute(void)
{
    unsigned k = an_below(POOLS);
    int id = (int)an_below(10);
    uint64_t v = 0;
    if (!pool[k]) return;
    if (an_chance(40)) {
        v = id == 4 ? (an_chance(50) ? UINT64_MAX : 0) : an_below(3) == 0;
        AN(cuMemPoolSetAttribute(pool[k], (CUmemPool_attribute)id, &v), "attribute %d of pool %u becomes %llx", id, k,
           (unsigned long long)v);
        return;
    }
    if (in_motion && id >= 5) {
        if (AN(cuCtxSynchronize(), "the context is waited for")) return;
        in_motion = false;
    }
    if (AN(cuMemPoolGetAttribute(pool[k], (CUmemPool_attribute)id, &v), "attribute %d of pool %u", id, k)) return;
    if (id < 4) v &= 0xffffffff;
    if (id != 6 && id != 8) an_more(" %llx", (unsigned long long)v);
}

static void op_pool_others(void)
{
    unsigned k = an_below(POOLS), n = an_below(6);
    CUmemAccess_flags flags = (CUmemAccess_flags)9;
    CUmemLocation where = { .type = an_chance(80) ? CU_MEM_LOCATION_TYPE_DEVICE : (CUmemLocationType)an_below(6),
                            .id = an_chance(85) ? 0 : 9 };
    CUmemAccessDesc desc = { .location = where, .flags = (CUmemAccess_flags)an_below(5) };
    CUmemoryPool standard = NULL, now = NULL;
    switch (n) {
    case 0: if (pool[k]) AN(cuMemPoolTrimTo(pool[k], an_below(2) ? 0 : 1 << 20), "pool %u is trimmed", k); break;
    case 1:
        if (!pool[k] || AN(cuMemPoolGetAccess(&flags, pool[k], &where), "access of pool %u from %d %d", k,
                           (int)where.type, where.id))
            break;
        an_more(" %d", (int)flags);
        break;
    case 2:
        if (!pool[k]) break;
        AN(cuMemPoolSetAccess(pool[k], &desc, 1), "access of pool %u from %d %d becomes %d", k, (int)where.type,
           where.id, (int)desc.flags);
        break;
    case 3:
        AN(cuDeviceGetDefaultMemPool(&standard, 0), "the default pool");
        AN(cuDeviceGetMemPool(&now, 0), "the pool");
        an_more(now == standard ? " the same" : " another");
        AN(cuMemPoolDestroy(standard), "the default pool is destroyed");
        break;
    case 4:
        if (!pool[k] || cu.cuDeviceGetDefaultMemPool(&standard, 0)) break;
        AN(cuDeviceSetMemPool(0, pool[k]), "pool %u is the device's", k);
        AN(cuDeviceGetMemPool(&now, 0), "the pool");
        an_more(now == pool[k] ? " that" : " another");
        AN(cuDeviceSetMemPool(0, standard), "and back");
        break;
    default: AN(cuMemFreeAsync(an_chance(50) ? 0 : place[DEVICE] + 64, NULL), "nothing of a pool is freed");
    }
}

/* ---- A program --------------------------------------------------------------------------------------------------- */

static const an_op ops[] = {
    { "copy", op_copy, 16 },
    { "copy 2D", op_copy_2d, 16 },
    { "copy 3D", op_copy_3d, 14 },
    { "fill", op_fill, 14 },
    { "pointer", op_pointer, 14 },
    { "pointers", op_pointers, 3 },
    { "set attribute", op_set_attribute, 3 },
    { "range", op_range, 5 },
    { "host", op_host, 8 },
    { "register", op_register, 6 },
    { "alloc", op_alloc, 6 },
    { "advise", op_advise, 4 },
    { "range attribute", op_range_attribute, 4 },
    { "prefetch", op_prefetch, 2 },
    { "pool", op_pool, 5 },
    { "part", op_part, 10 },
    { "pool attribute", op_pool_attribute, 8 },
    { "pool others", op_pool_others, 5 },
    { "tell", op_tell, 3 },
};

void an_program_memory(void)
{
    void *pinned = NULL, *pageable = NULL;
    an_attach(&tools);
    if (cu.cuMemAlloc(&place[DEVICE], BYTES) || cu.cuMemAlloc(&place[OTHER_DEVICE], BYTES) ||
        cu.cuMemHostAlloc(&pinned, BYTES, CU_MEMHOSTALLOC_PORTABLE) ||
        cu.cuMemAllocManaged(&place[MANAGED], BYTES, CU_MEM_ATTACH_GLOBAL) || posix_memalign(&pageable, 4096, BYTES) ||
        posix_memalign(&region, 4096, BYTES))
        tap_bail("no memory");
    place[PINNED] = (CUdeviceptr)(uintptr_t)pinned;
    place[PAGEABLE] = (CUdeviceptr)(uintptr_t)pageable;
    place[REGISTERED] = (CUdeviceptr)(uintptr_t)region;
    for (unsigned i = 0; i < PLACES; i++) {
        if (is_host(i)) memset(host_of(i), (int)i + 1, BYTES);
        else if (cu.cuMemsetD8(place[i], (unsigned char)(i + 1), BYTES)) tap_bail("no fill");
    }
    memset(pool, 0, sizeof pool);
    memset(part, 0, sizeof part);
    registered = in_motion = false;
    for (unsigned i = 0, n = 20 + an_below(30); i < n; i++) an_draw(ops, sizeof ops / sizeof *ops);
    op_tell();
    for (unsigned i = 0; i < PARTS; i++)
        if (part[i]) AN(cuMemFree(part[i]), "part %u goes", i);
    for (unsigned k = 0; k < POOLS; k++)
        if (pool[k]) AN(cuMemPoolDestroy(pool[k]), "pool %u goes", k);
    if (registered) AN(cuMemHostUnregister(region), "unregistered");
    AN(cuMemFree(place[DEVICE]), "memory goes");
    AN(cuMemFree(place[OTHER_DEVICE]), "memory goes");
    AN(cuMemFree(place[MANAGED]), "managed memory goes");
    AN(cuMemFreeHost(pinned), "pinned memory goes");
    free(pageable);
    free(region);
}
