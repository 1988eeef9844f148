/* Texture and surface objects.  Both are a handle of the driver over a resource, and differ in how that is made and
 * destroyed; deferred release and retention by graphs are the same for both. */
#include "stream/array/stream_array.h"

/* A cj_texture or a cj_surface. */
typedef struct texture_object {
    cji_obj obj;
    cj_device *dev;            /* retained */
    cj_array *array;           /* retained; NULL: it reads memory */
    cji_refset *memory;        /* retains the allocation that it reads; NULL: it reads an array */
    unsigned long long raw;    /* 0: failed */
    atomic_uint_fast64_t used; /* slots of streams */
    cji_deferred deferred;
} texture_object;

struct cj_texture { texture_object o; };
struct cj_surface { texture_object o; };
_Static_assert(sizeof(cj_texture) == sizeof(texture_object) && sizeof(cj_surface) == sizeof(texture_object),
               "a texture_object is either");

/* -- Release ------------------------------------------------------------------------------------------------------- */

static void texture_delete(texture_object *o)
{
    cj_device *dev = o->dev;
    cj_array *array = o->array;
    cji_refset *memory = o->memory;
    if (o->raw && o->obj.tag == CJI_TAG_TEXTURE) dev->api.cuTexObjectDestroy(o->raw);
    if (o->raw && o->obj.tag == CJI_TAG_SURFACE) dev->api.cuSurfObjectDestroy(o->raw);
    cji_obj_delete(o, sizeof *o);
    cji_refset_drop(memory);
    if (array) cji_array_drop(array);
    if (dev) cji_device_drop(dev);
}

/* In a scope. */
static void texture_delete_deferred(cji_deferred *deferred)
{
    texture_delete((texture_object *)((char *)deferred - offsetof(texture_object, deferred)));
}

static void texture_drop(texture_object *o)
{
    if (!cji_obj_release(o)) return;
    if (!o->raw) {
        texture_delete(o);
        return;
    }
    o->deferred.run = texture_delete_deferred;
    cji_array_release(o->dev, &o->deferred, atomic_load(&o->used));
}

static void texture_free(texture_object *o, cji_tag tag, const char *call)
{
    if (!cji_check_free(o, tag, call)) return;
    cj_device *dev = cji_obj_failed(o) ? NULL : cji_obj_retain(o->dev);
    texture_drop(o);
    if (!dev) return;
    cji_deferred_poll(&dev->queue, CJI_DEFERRED_STEP);
    cji_device_drop(dev);
}

void cj_texture_free(cj_texture *t) { texture_free((texture_object *)t, CJI_TAG_TEXTURE, "cj_texture_free"); }
void cj_surface_free(cj_surface *x) { texture_free((texture_object *)x, CJI_TAG_SURFACE, "cj_surface_free"); }

/* -- Samplers ------------------------------------------------------------------------------------------------------ */

void cj_sampler_defaults(cj_sampler_opts *opts)
{
    if (opts) *opts = (cj_sampler_opts){ .size = sizeof *opts };
}

static const CUaddress_mode texture_modes[] = {
    [CJ_ADDRESS_CLAMP] = CU_TR_ADDRESS_MODE_CLAMP,
    [CJ_ADDRESS_WRAP] = CU_TR_ADDRESS_MODE_WRAP,
    [CJ_ADDRESS_MIRROR] = CU_TR_ADDRESS_MODE_MIRROR,
    [CJ_ADDRESS_BORDER] = CU_TR_ADDRESS_MODE_BORDER,
};

static bool texture_flag(int32_t f) { return f == 0 || f == 1; }
static bool texture_filter(int32_t f) { return f == CJ_FILTER_POINT || f == CJ_FILTER_LINEAR; }
static bool texture_floats(int32_t type) { return type == CJ_F16 || type == CJ_F32; }
static bool texture_narrow(int32_t type)
{
    return type == CJ_U8 || type == CJ_S8 || type == CJ_U16 || type == CJ_S16;
}

static const char *texture_wrong_mode(const cj_sampler_opts *o)
{
    const int32_t mode[3] = { o->address_x, o->address_y, o->address_z };
    for (int i = 0; i < 3; i++) {
        if (mode[i] < CJ_ADDRESS_CLAMP || mode[i] > CJ_ADDRESS_BORDER)
            return "an address mode is none of CJ_ADDRESS_CLAMP, _WRAP, _MIRROR, _BORDER";
        if ((mode[i] == CJ_ADDRESS_WRAP || mode[i] == CJ_ADDRESS_MIRROR) && !o->normalized)
            return "CJ_ADDRESS_WRAP and _MIRROR need normalized coordinates (.normalized = 1)";
    }
    return NULL;
}

/* What contradicts; `type` is that of the elements' channels.  NULL: nothing. */
static const char *texture_wrong(const cj_sampler_opts *o, int32_t type)
{
    if (!texture_filter(o->filter) || !texture_filter(o->mip_filter))
        return "a filter is none of CJ_FILTER_POINT, _LINEAR";
    if (!texture_flag(o->normalized) || !texture_flag(o->to_float) || !texture_flag(o->srgb) ||
        !texture_flag(o->seamless))
        return "normalized, to_float, srgb and seamless are 0 or 1";
    if (o->anisotropy < 0 || o->anisotropy > 16) return "anisotropy is from 0 to 16";
    if (!(o->mip_min >= 0) || !(o->mip_max >= 0) || (o->mip_max > 0 && o->mip_min > o->mip_max))
        return "mip_min and mip_max are levels, the least first";
    if (o->to_float && !texture_narrow(type)) return "to_float is for integers of 8 and 16 bits";
    if (o->filter == CJ_FILTER_LINEAR && !texture_floats(type) && !o->to_float)
        return "CJ_FILTER_LINEAR reads floats: elements of CJ_F16 or CJ_F32, or .to_float = 1";
    if (o->srgb && !(type == CJ_U8 && o->to_float)) return "srgb is for CJ_U8 with .to_float = 1";
    return texture_wrong_mode(o);
}

/* What a sampler may not have for such a resource. */
static const char *texture_wrong_for(const cj_sampler_opts *o, const CUDA_RESOURCE_DESC *from)
{
    if (from->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY && !o->normalized)
        return "a mipmapped array is read by normalized coordinates (.normalized = 1)";
    if (from->resType != CU_RESOURCE_TYPE_LINEAR) return NULL;
    if (o->filter || o->normalized || o->address_x || o->address_y || o->address_z)
        return "a line of memory has neither filter nor address modes nor normalized coordinates";
    return NULL;
}

static CUDA_TEXTURE_DESC texture_desc(const cj_sampler_opts *o, int32_t type)
{
    CUDA_TEXTURE_DESC d = {
        .addressMode = { texture_modes[o->address_x], texture_modes[o->address_y], texture_modes[o->address_z] },
        .filterMode = o->filter == CJ_FILTER_LINEAR ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT,
        .maxAnisotropy = (unsigned)o->anisotropy,
        .mipmapFilterMode = o->mip_filter == CJ_FILTER_LINEAR ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT,
        .mipmapLevelBias = o->mip_bias,
        .minMipmapLevelClamp = o->mip_min,
        .maxMipmapLevelClamp = o->mip_max > 0 ? o->mip_max : 64, /* more levels than any array has */
        .borderColor = { o->border_r, o->border_g, o->border_b, o->border_a },
    };
    if (!texture_floats(type) && !o->to_float) d.flags |= CU_TRSF_READ_AS_INTEGER;
    if (o->normalized) d.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (o->srgb) d.flags |= CU_TRSF_SRGB;
    if (o->seamless) d.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
    return d;
}

/* -- Making -------------------------------------------------------------------------------------------------------- */

/* `view`: NULL for all of the resource as it is; `type`: of the channels that are read. */
static cj_status texture_make(texture_object *o, const CUDA_RESOURCE_DESC *from, const CUDA_RESOURCE_VIEW_DESC *view,
                              const cj_sampler_opts *sampler, int32_t type, CUresult *r, const char *call)
{
    cj_sampler_opts all;
    cji_scope scope;
    cj_sampler_defaults(&all);
    *r = CUDA_SUCCESS;
    if (!cji_opts_take(&all, sizeof all, sampler, o, call, "cj_sampler")) return CJ_EINVAL;
    const char *wrong = texture_wrong(&all, type);
    if (!wrong) wrong = texture_wrong_for(&all, from);
    if (wrong) return cji_fail(o, CJ_EINVAL, call, "%s", wrong);
    const CUDA_TEXTURE_DESC how = texture_desc(&all, type);
    cj_status st = cji_scope_begin_relaxed(o, o->dev, &scope, call);
    if (st != CJ_OK) return st;
    *r = o->dev->api.cuTexObjectCreate(&o->raw, from, &how, view);
    cji_scope_leave(&scope);
    if (*r == CUDA_SUCCESS) return CJ_OK;
    o->raw = 0;
    return cji_rejected(o, o->dev, *r, call, "cuTexObjectCreate");
}

/* The array becomes the object's. */
static cj_status texture_take_array(texture_object *o, cj_array *a, CUDA_RESOURCE_DESC *from, const char *call)
{
    cj_status st = cji_check_arg(o, a, CJI_TAG_ARRAY, call, "the array");
    if (st != CJ_OK) return st;
    o->array = cji_obj_retain(a);
    o->dev = cji_obj_retain(a->dev);
    *from = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a->raw };
    if (a->mipmap)
        *from = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                                      .res.mipmap.hMipmappedArray = a->mipmap };
    return CJ_OK;
}

cj_texture *cj_texture_create(cj_array *a, const cj_sampler_opts *sampler)
{
    static const char call[] = "cj_texture_create";
    CUDA_RESOURCE_DESC from;
    CUresult r;
    texture_object *o = cji_obj_new(sizeof *o, CJI_TAG_TEXTURE, 0, call);
    if (cji_obj_failed(o)) return (cj_texture *)o;
    cj_status st = texture_take_array(o, a, &from, call);
    if (st == CJ_OK) st = texture_make(o, &from, NULL, sampler, a->shape.type, &r, call);
    if (st != CJ_OK) cji_obj_set_failed(o);
    return (cj_texture *)o;
}

cj_texture *cj_texture_create_view(cj_array *a, const cj_texture_view_params *view, const cj_sampler_opts *sampler)
{
    static const char call[] = "cj_texture_create_view";
    CUDA_RESOURCE_DESC from;
    CUDA_RESOURCE_VIEW_DESC seen;
    int32_t type;
    CUresult r;
    texture_object *o = cji_obj_new(sizeof *o, CJI_TAG_TEXTURE, 0, call);
    if (cji_obj_failed(o)) return (cj_texture *)o;
    cj_status st = texture_take_array(o, a, &from, call);
    if (st == CJ_OK) st = cji_array_view(o, a, view, &seen, &type, call);
    if (st == CJ_OK) st = texture_make(o, &from, &seen, sampler, type, &r, call);
    if (st != CJ_OK) cji_obj_set_failed(o);
    return (cj_texture *)o;
}

/* -- Textures of memory -------------------------------------------------------------------------------------------- */

void cj_texture_memory_params_defaults(cj_texture_memory_params *params)
{
    if (params) *params = (cj_texture_memory_params){ .size = sizeof *params };
}

/* The sizes, and the bytes from the first to the end; a pitch that is left out is filled in. */
static cj_status texture_memory_measure(texture_object *o, cj_texture_memory_params *m, size_t element, size_t *bytes,
                                        const char *call)
{
    size_t row, rest = 0;
    if (!m->memory.addr) return cji_fail(o, CJ_EINVAL, call, "the memory is { 0 }");
    if (!m->width) return cji_fail(o, CJ_EINVAL, call, "the width is 0");
    if (m->pitch && !m->height) return cji_fail(o, CJ_EINVAL, call, "a line of memory has no pitch; set the height");
    const bool wraps = __builtin_mul_overflow(m->width, element, &row);
    if (!wraps && m->height && !m->pitch) m->pitch = row;
    if (!wraps && m->height && m->pitch < row)
        return cji_fail(o, CJ_EINVAL, call, "the memory has %zu bytes from row to row, the rows have %zu", m->pitch,
                        row);
    if (wraps || (m->height && __builtin_mul_overflow(m->pitch, m->height - 1, &rest)) ||
        __builtin_add_overflow(rest, row, bytes))
        return cji_fail(o, CJ_EINVAL, call, "%zu x %zu elements of %zu bytes are beyond any memory", m->width,
                        m->height ? m->height : 1, element);
    return CJ_OK;
}

static CUDA_RESOURCE_DESC texture_memory_desc(const cj_texture_memory_params *m, CUarray_format format, size_t bytes)
{
    CUDA_RESOURCE_DESC from = { .resType = m->height ? CU_RESOURCE_TYPE_PITCH2D : CU_RESOURCE_TYPE_LINEAR };
    if (m->height) {
        from.res.pitch2D.devPtr = m->memory.addr;
        from.res.pitch2D.format = format;
        from.res.pitch2D.numChannels = (unsigned)m->channels;
        from.res.pitch2D.width = m->width;
        from.res.pitch2D.height = m->height;
        from.res.pitch2D.pitchInBytes = m->pitch;
    } else {
        from.res.linear.devPtr = m->memory.addr;
        from.res.linear.format = format;
        from.res.linear.numChannels = (unsigned)m->channels;
        from.res.linear.sizeInBytes = bytes;
    }
    return from;
}

/* The driver rejects the memory: says what the device does not allow of it, where that is known. */
static cj_status texture_memory_rejected(texture_object *o, const cj_texture_memory_params *m, cj_status st,
                                         const char *call)
{
    const cj_device *dev = o->dev;
    const size_t align = cji_array_limit(dev, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
    const size_t step = cji_array_limit(dev, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
    const struct { size_t value, most; const char *what; } side[] = {
        { m->width, cji_array_limit(dev, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH), "elements in a row" },
        { m->height, cji_array_limit(dev, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT), "rows" },
        { m->pitch, cji_array_limit(dev, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH),
          "bytes from row to row" },
    };
    if (align && m->memory.addr % align)
        return cji_fail(o, CJ_EINVAL, call,
                        "the memory at 0x%llx is not at a multiple of %zu, as textures of device %d must be",
                        (unsigned long long)m->memory.addr, align, dev->ordinal);
    if (!m->height) return st;
    if (step && m->pitch % step)
        return cji_fail(o, CJ_EINVAL, call,
                        "the pitch of %zu bytes is not a multiple of %zu, as on device %d it must be",
                        m->pitch, step, dev->ordinal);
    for (size_t i = 0; i < sizeof side / sizeof *side; i++)
        if (side[i].most && side[i].value > side[i].most)
            return cji_fail(o, CJ_EINVAL, call, "%zu %s; a texture of memory of device %d has at most %zu",
                            side[i].value, side[i].what, dev->ordinal, side[i].most);
    return st;
}

static cj_status texture_make_memory(texture_object *o, cj_device *dev, const cj_texture_memory_params *memory,
                                     const cj_sampler_opts *sampler, const char *call)
{
    cj_texture_memory_params m;
    CUarray_format format;
    size_t element, bytes = 0;
    CUresult r;
    cj_status st = cji_check_arg(o, dev, CJI_TAG_DEVICE, call, "the device");
    if (st != CJ_OK) return st;
    o->dev = cji_obj_retain(dev);
    cj_texture_memory_params_defaults(&m);
    if (!memory) return cji_fail(o, CJ_EINVAL, call, "the memory's parameters are NULL");
    if (!cji_opts_take(&m, sizeof m, memory, o, call, "cj_texture_memory_params")) return CJ_EINVAL;
    st = cji_array_element(o, &m.type, &m.channels, &format, &element, call);
    if (st == CJ_OK) st = texture_memory_measure(o, &m, element, &bytes, call);
    if (st != CJ_OK) return st;
    o->memory = cji_refset_new();
    if (!o->memory) return cji_fail(o, CJ_ENOMEM, call, "no host memory to keep the memory alive");
    cj_device *owner = cji_mem_owner(dev, m.memory.addr);
    st = cji_mem_retain(owner, o->memory, o, &(cji_range){ m.memory.addr, bytes, "the memory" }, call);
    cji_device_drop(owner);
    if (st != CJ_OK) return st;
    const CUDA_RESOURCE_DESC from = texture_memory_desc(&m, format, bytes);
    st = texture_make(o, &from, NULL, sampler, m.type, &r, call);
    return r == CUDA_ERROR_INVALID_VALUE ? texture_memory_rejected(o, &m, st, call) : st;
}

cj_texture *cj_texture_create_memory(cj_device *dev, const cj_texture_memory_params *memory,
                                     const cj_sampler_opts *sampler)
{
    static const char call[] = "cj_texture_create_memory";
    texture_object *o = cji_obj_new(sizeof *o, CJI_TAG_TEXTURE, 0, call);
    if (cji_obj_failed(o)) return (cj_texture *)o;
    if (texture_make_memory(o, dev, memory, sampler, call) != CJ_OK) cji_obj_set_failed(o);
    return (cj_texture *)o;
}

/* -- Surfaces ------------------------------------------------------------------------------------------------------ */

static cj_status surface_make(texture_object *o, cj_array *a, const char *call)
{
    CUDA_RESOURCE_DESC from;
    cji_scope scope;
    cj_status st = texture_take_array(o, a, &from, call);
    if (st != CJ_OK) return st;
    if (a->mipmap)
        return cji_fail(o, CJ_EINVAL, call, "the array is mipmapped; make a surface of one of its levels");
    if (!a->shape.surface)
        return cji_fail(o, CJ_EINVAL, call, "the array has no surfaces; make it with .surface = 1");
    st = cji_scope_begin_relaxed(o, o->dev, &scope, call);
    if (st != CJ_OK) return st;
    const CUresult r = o->dev->api.cuSurfObjectCreate(&o->raw, &from);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) return CJ_OK;
    o->raw = 0;
    return cji_rejected(o, o->dev, r, call, "cuSurfObjectCreate");
}

cj_surface *cj_surface_create(cj_array *a)
{
    static const char call[] = "cj_surface_create";
    texture_object *o = cji_obj_new(sizeof *o, CJI_TAG_SURFACE, 0, call);
    if (!cji_obj_failed(o) && surface_make(o, a, call) != CJ_OK) cji_obj_set_failed(o);
    return (cj_surface *)o;
}

/* -- Using --------------------------------------------------------------------------------------------------------- */

uint64_t cj_texture_raw(const cj_texture *t)
{
    return cji_check_read(t, CJI_TAG_TEXTURE, "cj_texture_raw") == CJ_OK ? t->o.raw : 0;
}

uint64_t cj_surface_raw(const cj_surface *x)
{
    return cji_check_read(x, CJI_TAG_SURFACE, "cj_surface_raw") == CJ_OK ? x->o.raw : 0;
}

static void texture_unref(void *what) { texture_drop(what); }
static const cji_ref_type texture_ref = { texture_unref };

/* Notes work of `s`, or has its capture retain the object, which retains what it reads. */
static cj_status texture_use(cj_stream *s, texture_object *o, cji_tag tag, const char *what, const char *call)
{
    bool had = false;
    cj_status st = cji_check_arg(s, o, tag, call, what);
    if (st != CJ_OK) return st;
    if (o->dev != s->dev)
        return cji_cu_fail_apart(s, o->dev, s->dev, call, "%s is of device %d, the stream of device %d", what,
                                 o->dev->ordinal, s->dev->ordinal);
    cji_capture *c = cji_capture_of(s);
    if (!c) {
        cji_used(&o->used, s->bit);
        return CJ_OK;
    }
    const bool added = cji_capture_retains(c, &texture_ref, cji_obj_retain(o), &had);
    if (!added || had) texture_drop(o);
    cji_capture_drop(c);
    return added ? CJ_OK : cji_fail(s, CJ_ENOMEM, call, "no host memory to keep %s alive for the graph", what);
}

cj_status cj_stream_use_texture(cj_stream *s, cj_texture *t)
{
    static const char call[] = "cj_stream_use_texture";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = texture_use(s, (texture_object *)t, CJI_TAG_TEXTURE, "the texture", call);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}

cj_status cj_stream_use_surface(cj_stream *s, cj_surface *x)
{
    static const char call[] = "cj_stream_use_surface";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = texture_use(s, (texture_object *)x, CJI_TAG_SURFACE, "the surface", call);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}
