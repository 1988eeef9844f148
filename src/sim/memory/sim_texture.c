/* Texture and surface objects, and texture references: what they describe is checked and kept, for queries. No kernel
 * of the CPU device reads them: one with texture or surface instructions is rejected when it is loaded. */
#include "sim/memory/sim_memory.h"

#include <string.h>

typedef struct sim_texture {        /* a texture object, or a surface object, which has the resource alone */
    struct sim_texture *next;       /* sim_textures */
    sim_ctx *ctx;
    sim_kind kind;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    bool viewed;
    CUDA_RESOURCE_VIEW_DESC view;
} sim_texture;
static sim_texture *sim_textures;

/* ---- What a resource must be ------------------------------------------------------------------------------------- */

static bool sim_device_bytes(CUdeviceptr at, uint64_t bytes)
{
    return at % (unsigned)cji_sim_limit(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) == 0 &&
           cji_sim_space_at(NULL, at, bytes);
}

static bool sim_resource_linear(const CUDA_RESOURCE_DESC *d)
{
    unsigned element = cji_sim_array_element(d->res.linear.format, d->res.linear.numChannels);
    return element && d->res.linear.sizeInBytes && sim_device_bytes(d->res.linear.devPtr, d->res.linear.sizeInBytes);
}

static bool sim_resource_pitched(const CUDA_RESOURCE_DESC *d)
{
    sim_extent e = { .pitch = d->res.pitch2D.pitchInBytes, .height = d->res.pitch2D.height, .depth = 1 };
    unsigned element = cji_sim_array_element(d->res.pitch2D.format, d->res.pitch2D.numChannels);
    uint64_t bytes;
    return element && d->res.pitch2D.width && e.height && cji_sim_product(&e.width, d->res.pitch2D.width, element) &&
           e.pitch >= e.width && e.pitch % (unsigned)cji_sim_limit(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT) == 0 &&
           e.pitch <= (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH) &&
           d->res.pitch2D.width <= (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH) &&
           e.height <= (uint64_t)cji_sim_limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT) &&
           cji_sim_extent_bytes(&e, &bytes) && sim_device_bytes(d->res.pitch2D.devPtr, bytes);
}

static CUresult sim_resource_check(const CUDA_RESOURCE_DESC *d)
{
    bool good = false;
    if (d->flags) return CUDA_ERROR_INVALID_VALUE;
    switch (d->resType) {
    case CU_RESOURCE_TYPE_ARRAY: good = cji_sim_array_of(d->res.array.hArray) != NULL; break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: good = cji_sim_handle_is(SIM_MIPMAP, d->res.mipmap.hMipmappedArray); break;
    case CU_RESOURCE_TYPE_LINEAR: good = sim_resource_linear(d); break;
    case CU_RESOURCE_TYPE_PITCH2D: good = sim_resource_pitched(d); break;
    }
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool sim_mode_known(CUaddress_mode m) { return (unsigned)m <= CU_TR_ADDRESS_MODE_BORDER; }
static bool sim_filter_known(CUfilter_mode m) { return (unsigned)m <= CU_TR_FILTER_MODE_LINEAR; }

static CUresult sim_texture_check(const CUDA_TEXTURE_DESC *t)
{
    unsigned all = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                   CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;
    for (int i = 0; i < 3; i++)
        if (!sim_mode_known(t->addressMode[i])) return CUDA_ERROR_INVALID_VALUE;
    return t->flags & ~all || !sim_filter_known(t->filterMode) || !sim_filter_known(t->mipmapFilterMode)
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

/* What a view is of: an array's descriptor, or that of a mipmapped array's first level. */
static const CUDA_ARRAY3D_DESCRIPTOR *sim_viewed(const CUDA_RESOURCE_DESC *d, unsigned *levels)
{
    const sim_array *a = NULL;
    *levels = 1;
    if (d->resType == CU_RESOURCE_TYPE_ARRAY) a = cji_sim_array_of(d->res.array.hArray);
    if (d->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) a = cji_sim_mipmap_first(d->res.mipmap.hMipmappedArray, levels);
    return a ? &a->desc : NULL;
}

/* The size is the array's, four times as wide and high where its elements are compressed blocks. */
static bool sim_view_size(const CUDA_ARRAY3D_DESCRIPTOR *a, const CUDA_RESOURCE_VIEW_DESC *v)
{
    const bool blocks = v->format >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1;
    const bool small = v->format == CU_RES_VIEW_FORMAT_UNSIGNED_BC1 || v->format == CU_RES_VIEW_FORMAT_UNSIGNED_BC4 ||
                       v->format == CU_RES_VIEW_FORMAT_SIGNED_BC4;
    if (blocks && (a->Format != CU_AD_FORMAT_UNSIGNED_INT32 || a->NumChannels != (small ? 2 : 4))) return false;
    return v->width == a->Width * (blocks ? 4 : 1) && v->height == a->Height * (blocks ? 4 : 1) &&
           v->depth == a->Depth;
}

/* A view reads an array's bytes as another format; memory has none. */
static CUresult sim_view_check(const CUDA_RESOURCE_DESC *d, const CUDA_RESOURCE_VIEW_DESC *v)
{
    unsigned levels;
    const CUDA_ARRAY3D_DESCRIPTOR *a = sim_viewed(d, &levels);
    if (!a || (unsigned)v->format > CU_RES_VIEW_FORMAT_UNSIGNED_BC7) return CUDA_ERROR_INVALID_VALUE;
    const size_t layers = a->Flags & CUDA_ARRAY3D_LAYERED ? a->Depth : 1;
    return sim_view_size(a, v) && v->firstMipmapLevel <= v->lastMipmapLevel && v->lastMipmapLevel < levels &&
                   v->firstLayer <= v->lastLayer && v->lastLayer < layers
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

static CUresult sim_texture_new(sim_kind kind, const CUDA_RESOURCE_DESC *resource, sim_texture **out)
{
    sim_ctx *c;
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) r = sim_resource_check(resource);
    if (r) return r;
    sim_texture *t = cji_zalloc(sizeof *t);
    if (!t || !cji_sim_handle_add(kind, t)) {
        cji_free(t, sizeof *t);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    t->ctx = c;
    t->kind = kind;
    t->resource = *resource;
    t->next = sim_textures;
    sim_textures = t;
    *out = t;
    return CUDA_SUCCESS;
}

static void sim_texture_forget(sim_texture *t)
{
    for (sim_texture **q = &sim_textures; *q; q = &(*q)->next)
        if (*q == t) {
            *q = t->next;
            break;
        }
    cji_sim_handle_drop(t);
    cji_free(t, sizeof *t);
}

void cji_sim_texture_ctx_end(const sim_ctx *c)
{
    for (sim_texture *t = sim_textures, *next; t; t = next) {
        next = t->next;
        if (t->ctx == c) sim_texture_forget(t);
    }
}

static sim_texture *sim_texture_of(sim_kind kind, unsigned long long h)
{
    sim_texture *t = (sim_texture *)(uintptr_t)h;
    return cji_sim_handle_is(kind, t) ? t : NULL;
}

static CUresult sim_texture_destroy(sim_kind kind, unsigned long long h)
{
    sim_lock();
    sim_texture *t = sim_texture_of(kind, h);
    if (t) sim_texture_forget(t);
    sim_unlock();
    return t ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Copies one part of the description out; `viewed`: only where there is one.  As on a GPU a context is current. */
static CUresult sim_texture_part(sim_kind kind, unsigned long long h, void *out, size_t at, size_t bytes, bool viewed)
{
    sim_ctx *c;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    const sim_texture *t = r ? NULL : sim_texture_of(kind, h);
    if (t && (!viewed || t->viewed)) memcpy(out, (const char *)t + at, bytes);
    else if (!r) r = CUDA_ERROR_INVALID_VALUE;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *resource,
                                   const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view)
{
    sim_texture *t;
    if (!out || !resource || !texture) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = sim_texture_check(texture);
    if (!r && view) r = sim_view_check(resource, view);
    if (!r) r = sim_texture_new(SIM_TEXTURE, resource, &t);
    if (!r) {
        t->texture = *texture;
        t->viewed = view != NULL;
        if (view) t->view = *view;
        *out = (CUtexObject)(uintptr_t)t;
    }
    sim_unlock();
    return r;
}

CUresult cji_sim_cuTexObjectDestroy(CUtexObject h) { return sim_texture_destroy(SIM_TEXTURE, h); }

CUresult cji_sim_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUtexObject h)
{
    return sim_texture_part(SIM_TEXTURE, h, out, offsetof(sim_texture, resource), sizeof *out, false);
}

CUresult cji_sim_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *out, CUtexObject h)
{
    return sim_texture_part(SIM_TEXTURE, h, out, offsetof(sim_texture, texture), sizeof *out, false);
}

CUresult cji_sim_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *out, CUtexObject h)
{
    return sim_texture_part(SIM_TEXTURE, h, out, offsetof(sim_texture, view), sizeof *out, true);
}

/* Of any array, as on a GPU: CUDA_ARRAY3D_SURFACE_LDST is for kernels. */
CUresult cji_sim_cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *resource)
{
    sim_texture *t;
    if (!out || !resource || resource->resType != CU_RESOURCE_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    const sim_array *a = cji_sim_array_of(resource->res.array.hArray);
    CUresult r = a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_texture_new(SIM_SURFACE, resource, &t);
    if (!r) *out = (CUsurfObject)(uintptr_t)t;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuSurfObjectDestroy(CUsurfObject h) { return sim_texture_destroy(SIM_SURFACE, h); }

CUresult cji_sim_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUsurfObject h)
{
    return sim_texture_part(SIM_SURFACE, h, out, offsetof(sim_texture, resource), sizeof *out, false);
}
