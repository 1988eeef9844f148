/* Arrays: made, taken from others, described, released; levels of mipmapped arrays. */
#include <string.h>

#include "stream/array/stream_array.h"

/* -- Elements ------------------------------------------------------------------------------------------------------ */

static const struct array_type { cj_type type; CUarray_format format; unsigned bytes; } array_types[] = {
    { CJ_U8, CU_AD_FORMAT_UNSIGNED_INT8, 1 },   { CJ_S8, CU_AD_FORMAT_SIGNED_INT8, 1 },
    { CJ_U16, CU_AD_FORMAT_UNSIGNED_INT16, 2 }, { CJ_S16, CU_AD_FORMAT_SIGNED_INT16, 2 },
    { CJ_U32, CU_AD_FORMAT_UNSIGNED_INT32, 4 }, { CJ_S32, CU_AD_FORMAT_SIGNED_INT32, 4 },
    { CJ_F16, CU_AD_FORMAT_HALF, 2 },           { CJ_F32, CU_AD_FORMAT_FLOAT, 4 },
};
enum { ARRAY_TYPES = sizeof array_types / sizeof *array_types };

void cj_array_defaults(cj_array_opts *opts)
{
    if (opts) *opts = (cj_array_opts){ .size = sizeof *opts };
}

cj_status cji_array_element(void *into, int32_t *type, int32_t *channels, CUarray_format *format, size_t *bytes,
                            const char *call)
{
    if (!*type) *type = CJ_F32;
    if (!*channels) *channels = 1;
    if (*channels != 1 && *channels != 2 && *channels != 4)
        return cji_fail(into, CJ_EINVAL, call, "elements of %d channels; an array has 1, 2 or 4", (int)*channels);
    for (size_t i = 0; i < ARRAY_TYPES; i++) {
        if ((int32_t)array_types[i].type != *type) continue;
        *format = array_types[i].format;
        *bytes = (size_t)array_types[i].bytes * (unsigned)*channels;
        return CJ_OK;
    }
    return cji_fail(into, CJ_EINVAL, call,
                    "the type %d is none of CJ_U8, CJ_S8, CJ_U16, CJ_S16, CJ_U32, CJ_S32, CJ_F16, CJ_F32", (int)*type);
}

/* -- Shapes -------------------------------------------------------------------------------------------------------- */

static bool array_flag(int32_t f) { return f == 0 || f == 1; }

/* What the options contradict; NULL: nothing. */
static const char *array_wrong(const cj_array_opts *o)
{
    if (!array_flag(o->cubemap) || !array_flag(o->surface) || !array_flag(o->gather))
        return "cubemap, surface and gather are 0 or 1";
    if (o->levels < 0) return "levels is less than 0";
    if (!o->width) return "the width is 0";
    if (o->depth && !o->height) return "the array has a depth and no height";
    if (o->depth && o->layers) return "the array has a depth and layers; layers are of 1D or 2D";
    if (o->cubemap && o->depth) return "a cubemap has no depth; it has six faces";
    if (o->cubemap && o->width != o->height) return "the faces of a cubemap are square";
    if (o->cubemap && o->layers > SIZE_MAX / 6) return "the cubemaps are more than any memory has";
    if (o->gather && (!o->height || o->depth || o->cubemap)) return "gather is for 2D arrays";
    return NULL;
}

static cji_array_extent array_extent(const cj_array_opts *o)
{
    cji_array_extent e = { o->width, o->height ? o->height : 1, o->depth ? o->depth : 1 };
    if (o->layers) e.depth = o->layers;
    if (o->cubemap) e.depth = 6 * (o->layers ? o->layers : 1);
    return e;
}

/* How many levels there are until every side is 1; layers are no side. */
static int32_t array_levels_most(const cj_array_opts *o)
{
    size_t side = o->width > o->height ? o->width : o->height;
    if (o->depth > side) side = o->depth;
    return 64 - __builtin_clzll(side);
}

static size_t array_halved(size_t side, int level) { return side >> level || !side ? side >> level : 1; }

/* -- Limits -------------------------------------------------------------------------------------------------------- */

typedef enum array_kind {
    ARRAY_1D,
    ARRAY_2D,
    ARRAY_3D,
    ARRAY_1D_LAYERS,
    ARRAY_2D_LAYERS,
    ARRAY_CUBE,
    ARRAY_CUBES
} array_kind;

static const char *const array_kind_names[] = {
    [ARRAY_1D] = "1D array",         [ARRAY_2D] = "2D array",
    [ARRAY_3D] = "3D array",         [ARRAY_1D_LAYERS] = "layered 1D array",
    [ARRAY_2D_LAYERS] = "layered 2D array", [ARRAY_CUBE] = "cubemap",
    [ARRAY_CUBES] = "layered cubemap",
};

static array_kind array_kind_of(const cj_array_opts *o)
{
    if (o->cubemap) return o->layers ? ARRAY_CUBES : ARRAY_CUBE;
    if (o->layers) return o->height ? ARRAY_2D_LAYERS : ARRAY_1D_LAYERS;
    return o->depth ? ARRAY_3D : o->height ? ARRAY_2D : ARRAY_1D;
}

#define LIMIT(name) CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE##name
static const struct array_most {
    array_kind kind;
    CUdevice_attribute limit;
    size_t side; /* of the extent */
    const char *what;
} array_most[] = {
    { ARRAY_1D, LIMIT(1D_WIDTH), offsetof(cji_array_extent, width), "elements" },
    { ARRAY_2D, LIMIT(2D_WIDTH), offsetof(cji_array_extent, width), "elements in a row" },
    { ARRAY_2D, LIMIT(2D_HEIGHT), offsetof(cji_array_extent, height), "rows" },
    { ARRAY_3D, LIMIT(3D_WIDTH), offsetof(cji_array_extent, width), "elements in a row" },
    { ARRAY_3D, LIMIT(3D_HEIGHT), offsetof(cji_array_extent, height), "rows" },
    { ARRAY_3D, LIMIT(3D_DEPTH), offsetof(cji_array_extent, depth), "slices" },
    { ARRAY_1D_LAYERS, LIMIT(1D_LAYERED_WIDTH), offsetof(cji_array_extent, width), "elements" },
    { ARRAY_1D_LAYERS, LIMIT(1D_LAYERED_LAYERS), offsetof(cji_array_extent, depth), "layers" },
    { ARRAY_2D_LAYERS, LIMIT(2D_LAYERED_WIDTH), offsetof(cji_array_extent, width), "elements in a row" },
    { ARRAY_2D_LAYERS, LIMIT(2D_LAYERED_HEIGHT), offsetof(cji_array_extent, height), "rows" },
    { ARRAY_2D_LAYERS, LIMIT(2D_LAYERED_LAYERS), offsetof(cji_array_extent, depth), "layers" },
    { ARRAY_CUBE, LIMIT(CUBEMAP_WIDTH), offsetof(cji_array_extent, width), "elements in a row" },
    { ARRAY_CUBES, LIMIT(CUBEMAP_LAYERED_WIDTH), offsetof(cji_array_extent, width), "elements in a row" },
    { ARRAY_CUBES, LIMIT(CUBEMAP_LAYERED_LAYERS), offsetof(cji_array_extent, depth), "faces" },
};
#undef LIMIT

size_t cji_array_limit(const cj_device *dev, CUdevice_attribute attribute)
{
    int most = 0;
    return dev->api.cuDeviceGetAttribute(&most, attribute, dev->cu) == CUDA_SUCCESS && most > 0 ? (size_t)most : 0;
}

/* The driver rejects the shape: says which limit it exceeds, where one is known. */
static cj_status array_too_large(cj_array *a, CUresult r, const char *cu_call, const char *call)
{
    const array_kind kind = array_kind_of(&a->shape);
    for (size_t i = 0; i < sizeof array_most / sizeof *array_most; i++) {
        const struct array_most *m = &array_most[i];
        const size_t most = m->kind == kind ? cji_array_limit(a->dev, m->limit) : 0;
        size_t side;
        memcpy(&side, (const char *)&a->extent + m->side, sizeof side);
        if (most && side > most)
            return cji_fail(a, CJ_EINVAL, call, "%zu %s; a %s of device %d has at most %zu", side, m->what,
                            array_kind_names[kind], a->dev->ordinal, most);
    }
    return cji_cu_fail_as(a, a->dev, r, CJ_EINVAL, cu_call, call,
                          "%s: a %s of %zu x %zu x %zu elements%s%s is more than device %d has", call,
                          array_kind_names[kind], a->extent.width, a->extent.height, a->extent.depth,
                          a->shape.surface ? " for surfaces" : "", a->shape.gather ? " for tld4" : "",
                          a->dev->ordinal);
}

/* -- Making -------------------------------------------------------------------------------------------------------- */

static CUDA_ARRAY3D_DESCRIPTOR array_descriptor(const cj_array *a)
{
    const cj_array_opts *o = &a->shape;
    CUDA_ARRAY3D_DESCRIPTOR d = { .Width = o->width,
                                  .Height = o->height,
                                  .Depth = o->layers || o->cubemap ? a->extent.depth : o->depth,
                                  .Format = a->format,
                                  .NumChannels = (unsigned)o->channels };
    if (o->layers) d.Flags |= CUDA_ARRAY3D_LAYERED;
    if (o->cubemap) d.Flags |= CUDA_ARRAY3D_CUBEMAP;
    if (o->surface) d.Flags |= CUDA_ARRAY3D_SURFACE_LDST;
    if (o->gather) d.Flags |= CUDA_ARRAY3D_TEXTURE_GATHER;
    return d;
}

/* In a scope. */
static CUresult array_ask(cj_array *a, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    const cji_cu *cu = &a->dev->drv->cu;
    return a->shape.levels ? cu->cuMipmappedArrayCreate(&a->mipmap, d, (unsigned)a->shape.levels)
                           : cu->cuArray3DCreate(&a->raw, d);
}

/* Where memory is short, deferred releases run first, and chunks that are not in use are released. */
static CUresult array_ask_twice(cj_array *a, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    cji_release_queue *queue = &a->dev->queue;
    cji_deferred_poll(queue, CJI_DEFERRED_STEP);
    CUresult r = array_ask(a, d);
    if (r != CUDA_ERROR_OUT_OF_MEMORY) return r;
    cji_deferred_drain(queue, CJI_DEFERRED_ALL);
    cji_mem_state *state = cji_mem_state_of(a->dev);
    if (state) cji_chunks_trim(state, 0);
    return array_ask(a, d);
}

static cj_status array_make(cj_array *a, const char *call)
{
    const char *cu_call = a->shape.levels ? "cuMipmappedArrayCreate" : "cuArray3DCreate";
    const CUDA_ARRAY3D_DESCRIPTOR d = array_descriptor(a);
    cji_scope scope;
    cj_status st = cji_scope_begin_relaxed(a, a->dev, &scope, call);
    if (st != CJ_OK) return st;
    const CUresult r = array_ask_twice(a, &d);
    cji_scope_leave(&scope);
    if (r == CUDA_SUCCESS) return CJ_OK;
    a->raw = NULL;
    a->mipmap = NULL;
    if (r == CUDA_ERROR_INVALID_VALUE) return array_too_large(a, r, cu_call, call);
    if (r != CUDA_ERROR_OUT_OF_MEMORY) return cji_rejected(a, a->dev, r, call, cu_call);
    return cji_cu_fail_as(a, a->dev, r, CJ_ENOMEM, cu_call, call,
                          "%s: an array of %zu x %zu x %zu elements of %zu bytes", call, a->extent.width,
                          a->extent.height, a->extent.depth, a->element);
}

static cj_status array_create(cj_array *a, cj_device *dev, const cj_array_opts *opts, const char *call)
{
    cj_array_opts *o = &a->shape;
    cj_status st = cji_check_arg(a, dev, CJI_TAG_DEVICE, call, "the device");
    if (st != CJ_OK) return st;
    a->dev = cji_obj_retain(dev);
    cj_array_defaults(o);
    if (!cji_opts_take(o, sizeof *o, opts, a, call, "cj_array")) return CJ_EINVAL;
    const char *wrong = array_wrong(o);
    if (wrong) return cji_fail(a, CJ_EINVAL, call, "%s", wrong);
    st = cji_array_element(a, &o->type, &o->channels, &a->format, &a->element, call);
    if (st != CJ_OK) return st;
    if (o->levels > array_levels_most(o)) o->levels = array_levels_most(o);
    a->extent = array_extent(o);
    a->owned = true;
    return array_make(a, call);
}

cj_array *cj_array_create(cj_device *dev, const cj_array_opts *opts)
{
    static const char call[] = "cj_array_create";
    cj_array *a = cji_obj_new(sizeof *a, CJI_TAG_ARRAY, 0, call);
    if (!cji_obj_failed(a) && array_create(a, dev, opts, call) != CJ_OK) cji_obj_set_failed(a);
    return a;
}

static cj_status array_make_level(cj_array *l, cj_array *a, int level, const char *call)
{
    cji_scope scope;
    cj_status st = cji_check_arg(l, a, CJI_TAG_ARRAY, call, "the array");
    if (st != CJ_OK) return st;
    if (!a->mipmap)
        return cji_fail(l, CJ_EINVAL, call, "the array is not mipmapped; make it with .levels");
    if (level < 0 || level >= a->shape.levels)
        return cji_fail(l, CJ_EINVAL, call, "level %d of an array with levels 0 to %d", level,
                        (int)a->shape.levels - 1);
    l->of = cji_obj_retain(a);
    l->dev = cji_obj_retain(a->dev);
    l->shape = a->shape;
    l->shape.levels = 0;
    l->shape.width = array_halved(a->shape.width, level);
    l->shape.height = array_halved(a->shape.height, level);
    l->shape.depth = array_halved(a->shape.depth, level);
    l->format = a->format;
    l->element = a->element;
    l->extent = array_extent(&l->shape);
    st = cji_scope_begin_relaxed(l, l->dev, &scope, call);
    if (st != CJ_OK) return st;
    const CUresult r = l->dev->api.cuMipmappedArrayGetLevel(&l->raw, a->mipmap, (unsigned)level);
    cji_scope_leave(&scope);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(l, l->dev, r, call, "cuMipmappedArrayGetLevel");
}

cj_array *cj_array_level(cj_array *a, int level)
{
    static const char call[] = "cj_array_level";
    cj_array *l = cji_obj_new(sizeof *l, CJI_TAG_ARRAY, 0, call);
    if (!cji_obj_failed(l) && array_make_level(l, a, level, call) != CJ_OK) cji_obj_set_failed(l);
    return l;
}

/* The shape of another one's array. */
static cj_status array_read(cj_array *a, const CUDA_ARRAY3D_DESCRIPTOR *d, const char *call)
{
    cj_array_opts *o = &a->shape;
    const size_t faces = d->Flags & CUDA_ARRAY3D_CUBEMAP ? 6 : 1;
    const bool slices = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    size_t i = 0;
    while (i < ARRAY_TYPES && array_types[i].format != d->Format) i++;
    if (i == ARRAY_TYPES)
        return cji_fail(a, CJ_EINVAL, call, "the array's format is 0x%x, which no type of cj_array_opts has",
                        (unsigned)d->Format);
    *o = (cj_array_opts){ .size = sizeof *o,
                          .width = d->Width,
                          .height = d->Height,
                          .depth = slices ? 0 : d->Depth,
                          .layers = d->Flags & CUDA_ARRAY3D_LAYERED ? d->Depth / faces : 0,
                          .type = array_types[i].type,
                          .channels = (int32_t)d->NumChannels,
                          .cubemap = faces == 6,
                          .surface = (d->Flags & CUDA_ARRAY3D_SURFACE_LDST) != 0,
                          .gather = (d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER) != 0 };
    a->extent = array_extent(o);
    return cji_array_element(a, &o->type, &o->channels, &a->format, &a->element, call);
}

static cj_status array_take(cj_array *a, cj_device *dev, void *raw, const char *call)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 0 };
    cji_scope scope;
    cj_status st = cji_check_arg(a, dev, CJI_TAG_DEVICE, call, "the device");
    if (st != CJ_OK) return st;
    a->dev = cji_obj_retain(dev);
    if (!raw) return cji_fail(a, CJ_EINVAL, call, "the CUarray is NULL");
    st = cji_scope_begin_relaxed(a, dev, &scope, call);
    if (st != CJ_OK) return st;
    const CUresult r = dev->api.cuArray3DGetDescriptor(&d, raw);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS) return cji_rejected(a, dev, r, call, "cuArray3DGetDescriptor");
    a->raw = raw;
    return array_read(a, &d, call);
}

cj_array *cj_array_wrap(cj_device *dev, void *raw)
{
    static const char call[] = "cj_array_wrap";
    cj_array *a = cji_obj_new(sizeof *a, CJI_TAG_ARRAY, 0, call);
    if (!cji_obj_failed(a) && array_take(a, dev, raw, call) != CJ_OK) cji_obj_set_failed(a);
    return a;
}

/* -- Releasing ----------------------------------------------------------------------------------------------------- */

static void array_delete(cj_array *a)
{
    cj_device *dev = a->dev;
    cj_array *of = a->of;
    if (a->owned && a->raw) dev->api.cuArrayDestroy(a->raw);
    if (a->owned && a->mipmap) dev->api.cuMipmappedArrayDestroy(a->mipmap);
    cji_obj_delete(a, sizeof *a);
    if (of) cji_array_drop(of);
    if (dev) cji_device_drop(dev);
}

/* In a scope. */
static void array_delete_deferred(cji_deferred *deferred)
{
    array_delete((cj_array *)((char *)deferred - offsetof(cj_array, deferred)));
}

void cji_array_release(cj_device *dev, cji_deferred *deferred, uint64_t used)
{
    cji_release_queue *queue = &dev->queue;
    cji_scope scope;
    if (atomic_load(&queue->captures)) {
        cji_defer(queue, deferred, used);
        return;
    }
    cji_obj_retain(dev);
    cji_queue_scope(queue, &scope);
    if (cji_release_queue_done(queue, used)) deferred->run(deferred);
    else cji_defer(queue, deferred, used);
    cji_scope_leave(&scope);
    cji_device_drop(dev);
}

/* What is destroyed, and what others own and want back, waits for the work that uses it. */
void cji_array_drop(cj_array *a)
{
    if (!cji_obj_release(a)) return;
    if (a->of || !(a->raw || a->mipmap)) {
        array_delete(a);
        return;
    }
    a->deferred.run = array_delete_deferred;
    cji_array_release(a->dev, &a->deferred, atomic_load(&a->used));
}

void cj_array_free(cj_array *a)
{
    if (!cji_check_free(a, CJI_TAG_ARRAY, "cj_array_free")) return;
    cj_device *dev = cji_obj_failed(a) ? NULL : cji_obj_retain(a->dev);
    cji_array_drop(a);
    if (!dev) return;
    cji_deferred_poll(&dev->queue, CJI_DEFERRED_STEP);
    cji_device_drop(dev);
}

/* -- Queries ------------------------------------------------------------------------------------------------------- */

void cj_array_info_defaults(cj_array_info *info)
{
    if (info) *info = (cj_array_info){ .size = sizeof *info };
}

cj_status cj_array_get_info(cj_array *a, cj_array_info *info)
{
    static const char call[] = "cj_array_get_info";
    cj_status st = cji_check(a, CJI_TAG_ARRAY, call);
    if (st != CJ_OK) return st;
    if (!info || info->size < sizeof info->size)
        return cji_fail(a, CJ_EINVAL, call, "info is NULL, or info->size is not sizeof(cj_array_info)");
    const cj_array_opts *o = &a->shape;
    const cj_array_info all = { .size = info->size,
                                .width = o->width,
                                .height = o->height,
                                .depth = o->depth,
                                .layers = o->layers,
                                .type = o->type,
                                .channels = o->channels,
                                .levels = o->levels,
                                .cubemap = o->cubemap,
                                .surface = o->surface,
                                .gather = o->gather,
                                .element_bytes = a->element,
                                .device = a->dev };
    memcpy(info, &all, info->size < sizeof all ? info->size : sizeof all);
    return CJ_OK;
}

void *cj_array_raw(const cj_array *a)
{
    if (cji_check_read(a, CJI_TAG_ARRAY, "cj_array_raw") != CJ_OK) return NULL;
    return a->mipmap ? (void *)a->mipmap : (void *)a->raw;
}

/* -- Uses ---------------------------------------------------------------------------------------------------------- */

static void array_unref(void *what) { cji_array_drop(what); }
static const cji_ref_type array_ref = { array_unref };

cj_status cji_array_use(cj_stream *s, cj_array *a, const char *call)
{
    bool had = false;
    cj_array *whole = a->of ? a->of : a;
    cji_capture *c = cji_capture_of(s);
    if (!c) {
        cji_used(&whole->used, s->bit);
        return CJ_OK;
    }
    const bool added = cji_capture_retains(c, &array_ref, cji_obj_retain(whole), &had);
    if (!added || had) cji_array_drop(whole);
    cji_capture_drop(c);
    return added ? CJ_OK : cji_fail(s, CJ_ENOMEM, call, "no host memory to keep an array alive for the graph");
}

cj_status cji_array_peer_use(cj_stream *s, cj_array *a, const char *call)
{
    uint64_t bit = 0;
    cj_array *whole = a->of ? a->of : a;
    cji_mem_state *state = cji_mem_state_of(a->dev);
    if (!state) return cji_fail(s, CJ_ENOMEM, call, "no host memory to note the use of another device's array");
    cj_status st = cji_peer_use(state, s, &bit, call);
    if (st == CJ_OK) cji_used(&whole->used, bit);
    return st;
}

bool cji_array_retain(cj_array *a, cji_refset *set)
{
    bool had = false;
    cj_array *whole = cji_obj_retain(a->of ? a->of : a);
    const bool added = cji_refset_add(set, &array_ref, whole, &had);
    if (!added || had) cji_array_drop(whole);
    return added;
}
