/* Arrays and mipmapped arrays: elements in rows and slices, which copies reach. A GPU lays them out for textures; here
 * they are plain rows. They have no address. A work that copies holds its arrays, so their bytes stay until it is
 * done. */
#include "sim/memory/sim_memory.h"

#include <string.h>

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

enum { SIM_ARRAY_FLAGS = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                         CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_COLOR_ATTACHMENT };

unsigned cji_sim_array_element(CUarray_format format, unsigned channels)
{
    unsigned each, fixed = 0;      /* fixed: the channels that the format has of itself */
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: each = 1; break;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: each = 2; break;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: each = 4; break;
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X1: each = 1, fixed = 1; break;
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X2: each = 1, fixed = 2; break;
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X4: each = 1, fixed = 4; break;
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X1: each = 2, fixed = 1; break;
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X2: each = 2, fixed = 2; break;
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X4: each = 2, fixed = 4; break;
    default: return 0;
    }
    if ((channels != 1 && channels != 2 && channels != 4) || (fixed && channels != fixed)) return 0;
    return each * channels;
}

static uint64_t sim_limit_of(CUdevice_attribute a) { return (uint64_t)cji_sim_limit(a); }

/* The largest array of its kind that the device has. */
static bool sim_array_fits(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    bool layered = d->Flags & CUDA_ARRAY3D_LAYERED;
    if (d->Flags & CUDA_ARRAY3D_CUBEMAP)
        return d->Width == d->Height &&
               (layered ? d->Depth && d->Depth % 6 == 0 &&
                              d->Width <= sim_limit_of(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH) &&
                              d->Depth <= sim_limit_of(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS)
                        : d->Depth == 6 && d->Width <= sim_limit_of(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH));
    if (layered && !d->Height)
        return d->Depth && d->Width <= sim_limit_of(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH) &&
               d->Depth <= sim_limit_of(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS);
    if (layered)
        return d->Depth && d->Width <= sim_limit_of(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH) &&
               d->Height <= sim_limit_of(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT) &&
               d->Depth <= sim_limit_of(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS);
    if (d->Depth)
        return d->Height && d->Width <= sim_limit_of(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH) &&
               d->Height <= sim_limit_of(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT) &&
               d->Depth <= sim_limit_of(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH);
    if (d->Height)
        return d->Width <= sim_limit_of(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH) &&
               d->Height <= sim_limit_of(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT);
    return d->Width <= sim_limit_of(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH);
}

static CUresult sim_array_check(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    if (d->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) return CUDA_ERROR_NOT_SUPPORTED;
    if (d->Flags & ~(unsigned)SIM_ARRAY_FLAGS || !d->Width || !cji_sim_array_element(d->Format, d->NumChannels) ||
        !sim_array_fits(d))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

struct sim_mipmap {
    sim_ctx *ctx;
    sim_mipmap *next;               /* sim_mipmaps */
    unsigned levels, room;          /* levels made; places for them */
    sim_array *level[];
};

static sim_array *sim_arrays;       /* with a handle */
static sim_mipmap *sim_mipmaps;

static void sim_array_end(sim_ref *r)
{
    sim_array *a = (sim_array *)r;
    a->dev->used -= a->bytes;
    cji_free(a->data, a->bytes);
    cji_free(a, sizeof *a);
}

/* The bytes of all elements; they are 0. */
static CUresult sim_array_lay_out(sim_array *a)
{
    uint64_t row, slice;
    a->element = cji_sim_array_element(a->desc.Format, a->desc.NumChannels);
    a->extent =
        (sim_extent){ .height = a->desc.Height ? a->desc.Height : 1, .depth = a->desc.Depth ? a->desc.Depth : 1 };
    if (!cji_sim_product(&row, a->desc.Width, a->element) || !cji_sim_product(&slice, row, a->extent.height) ||
        !cji_sim_product(&a->bytes, slice, a->extent.depth))
        return CUDA_ERROR_INVALID_VALUE;
    a->extent.width = a->extent.pitch = row;
    a->extent.slice = slice;
    if (a->bytes > a->dev->span - a->dev->used) return CUDA_ERROR_OUT_OF_MEMORY;
    a->data = cji_zalloc(a->bytes);
    return a->data ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult sim_array_new(sim_ctx *c, const CUDA_ARRAY3D_DESCRIPTOR *d, sim_mipmap *of, sim_array **out)
{
    sim_array *a = cji_zalloc(sizeof *a);
    if (!a) return CUDA_ERROR_OUT_OF_MEMORY;
    *a = (sim_array){ .ref = { 1, sim_array_end }, .ctx = c, .dev = c->dev, .desc = *d, .of = of };
    CUresult r = sim_array_lay_out(a);
    if (!r && !cji_sim_handle_add(SIM_ARRAY, a)) {
        cji_free(a->data, a->bytes);
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (r) {
        cji_free(a, sizeof *a);
        return r;
    }
    a->dev->used += a->bytes;
    a->live = true;
    a->next = sim_arrays;
    sim_arrays = a;
    *out = a;
    return CUDA_SUCCESS;
}

static void sim_array_forget(sim_array *a)
{
    for (sim_array **q = &sim_arrays; *q; q = &(*q)->next)
        if (*q == a) {
            *q = a->next;
            break;
        }
    cji_sim_handle_drop(a);
    a->live = false;
    cji_sim_ref_drop(&a->ref);
}

static void sim_mipmap_forget(sim_mipmap *m)
{
    for (sim_mipmap **q = &sim_mipmaps; *q; q = &(*q)->next)
        if (*q == m) {
            *q = m->next;
            break;
        }
    for (unsigned i = 0; i < m->levels; i++) sim_array_forget(m->level[i]);
    cji_sim_handle_drop(m);
    cji_free(m, sizeof *m + m->room * sizeof *m->level);
}

void cji_sim_array_ctx_end(const sim_ctx *c)
{
    for (sim_mipmap *m = sim_mipmaps, *next; m; m = next) {
        next = m->next;
        if (m->ctx == c) sim_mipmap_forget(m);
    }
    for (sim_array *a = sim_arrays, *next; a; a = next) {
        next = a->next;
        if (a->ctx == c) sim_array_forget(a);
    }
}

sim_array *cji_sim_array_of(CUarray h) { return cji_sim_handle_is(SIM_ARRAY, h) ? (sim_array *)h : NULL; }

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

CUresult cji_sim_cuArray3DCreate(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    sim_ctx *c;
    sim_array *a;
    if (!out || !d) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) r = sim_array_check(d);
    if (!r) r = cji_sim_capture_unsafe();
    if (!r) r = sim_array_new(c, d, NULL, &a);
    if (!r) *out = (CUarray)a;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuArrayCreate(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
    if (!d) return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR all = { .Width = d->Width, .Height = d->Height, .Format = d->Format,
                                    .NumChannels = d->NumChannels };
    return cji_sim_cuArray3DCreate(out, &all);
}

CUresult cji_sim_cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *out, CUarray h)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    const sim_array *a = cji_sim_array_of(h);
    if (a) *out = a->desc;
    sim_unlock();
    return a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cji_sim_cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *out, CUarray h)
{
    CUDA_ARRAY3D_DESCRIPTOR all;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cji_sim_cuArray3DGetDescriptor(&all, h);
    if (!r)
        *out = (CUDA_ARRAY_DESCRIPTOR){ .Width = all.Width, .Height = all.Height, .Format = all.Format,
                                        .NumChannels = all.NumChannels };
    return r;
}

/* Waits for what is in flight, as cuMemFree does. A level goes with its mipmapped array. */
CUresult cji_sim_cuArrayDestroy(CUarray h)
{
    sim_lock();
    sim_array *a = cji_sim_array_of(h);
    CUresult r = !a ? CUDA_ERROR_INVALID_HANDLE : a->of ? CUDA_ERROR_INVALID_VALUE : cji_sim_capture_unsafe();
    if (!r) {
        cji_sim_queue_wait_ctx(a->ctx);
        a = cji_sim_array_of(h);   /* the lock was given up */
        r = a ? a->ctx->fault : CUDA_ERROR_INVALID_HANDLE;
        if (a) sim_array_forget(a);
    }
    sim_unlock();
    return r;
}

/* What is asked of an array that has to be of another kind: sparse, with memory mapped later, of several planes. */
static CUresult sim_array_other_kind(const void *out, sim_kind kind, const void *h)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    bool known = cji_sim_handle_is(kind, h);
    sim_unlock();
    return known ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cji_sim_cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *out, CUarray h)
{
    return sim_array_other_kind(out, SIM_ARRAY, h);
}

CUresult cji_sim_cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *out, CUmipmappedArray h)
{
    return sim_array_other_kind(out, SIM_MIPMAP, h);
}

CUresult cji_sim_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUarray h, CUdevice d)
{
    return cji_sim_device(d) ? sim_array_other_kind(out, SIM_ARRAY, h) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cji_sim_cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUmipmappedArray h,
                                                       CUdevice d)
{
    return cji_sim_device(d) ? sim_array_other_kind(out, SIM_MIPMAP, h) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cji_sim_cuArrayGetPlane(CUarray *out, CUarray h, unsigned plane)
{
    (void)plane;
    return sim_array_other_kind(out, SIM_ARRAY, h);
}

/* ---- Mipmapped arrays -------------------------------------------------------------------------------------------- */

static uint64_t sim_halved(uint64_t n, unsigned level) { return !n ? 0 : n >> level ? n >> level : 1; }

/* Layers stay as many in each level. */
static CUDA_ARRAY3D_DESCRIPTOR sim_mipmap_level(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned level)
{
    CUDA_ARRAY3D_DESCRIPTOR l = *d;
    bool layers = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    l.Width = sim_halved(d->Width, level);
    l.Height = sim_halved(d->Height, level);
    l.Depth = layers ? d->Depth : sim_halved(d->Depth, level);
    return l;
}

/* Until every side is 1. */
static unsigned sim_mipmap_most(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    bool layers = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    uint64_t side = d->Width > d->Height ? d->Width : d->Height;
    if (!layers && d->Depth > side) side = d->Depth;
    unsigned n = 1;
    while (side >>= 1) n++;
    return n;
}

CUresult cji_sim_cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
    sim_ctx *c;
    if (!out || !d || !levels) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) r = sim_array_check(d);
    if (!r) r = cji_sim_capture_unsafe();
    unsigned n = r ? 0 : sim_mipmap_most(d);
    if (levels < n) n = levels;
    sim_mipmap *m = r ? NULL : cji_zalloc(sizeof *m + n * sizeof *m->level);
    if (!r && (!m || !cji_sim_handle_add(SIM_MIPMAP, m))) {
        cji_free(m, sizeof *m + n * sizeof *m->level);
        m = NULL;
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (m) {
        m->ctx = c;
        m->room = n;
        m->next = sim_mipmaps;
        sim_mipmaps = m;
        for (unsigned i = 0; i < n && !r; i++) {
            CUDA_ARRAY3D_DESCRIPTOR level = sim_mipmap_level(d, i);
            r = sim_array_new(c, &level, m, &m->level[i]);
            if (!r) m->levels++;
        }
        if (r) sim_mipmap_forget(m);
        else *out = (CUmipmappedArray)m;
    }
    sim_unlock();
    return r;
}

const sim_array *cji_sim_mipmap_first(CUmipmappedArray h, unsigned *levels)
{
    const sim_mipmap *m = cji_sim_handle_is(SIM_MIPMAP, h) ? (const sim_mipmap *)h : NULL;
    if (m) *levels = m->levels;
    return m ? m->level[0] : NULL;
}

CUresult cji_sim_cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray h, unsigned level)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    const sim_mipmap *m = cji_sim_handle_is(SIM_MIPMAP, h) ? (const sim_mipmap *)h : NULL;
    CUresult r = !m ? CUDA_ERROR_INVALID_HANDLE : level < m->levels ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = (CUarray)m->level[level];
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMipmappedArrayDestroy(CUmipmappedArray h)
{
    sim_lock();
    bool known = cji_sim_handle_is(SIM_MIPMAP, h);
    CUresult r = known ? cji_sim_capture_unsafe() : CUDA_ERROR_INVALID_HANDLE;
    if (!r) {
        sim_ctx *c = ((sim_mipmap *)h)->ctx;
        cji_sim_queue_wait_ctx(c);
        known = cji_sim_handle_is(SIM_MIPMAP, h);
        r = known ? c->fault : CUDA_ERROR_INVALID_HANDLE;
        if (known) sim_mipmap_forget((sim_mipmap *)h);
    }
    sim_unlock();
    return r;
}
