/* What the view of an array is: the elements' format, the levels and layers that are read. */
#include "stream/array/stream_array.h"

void cj_texture_view_params_defaults(cj_texture_view_params *params)
{
    if (params) *params = (cj_texture_view_params){ .size = sizeof *params };
}

/* -- Formats ------------------------------------------------------------------------------------------------------- */

/* The view's format of one channel; two and four channels follow. */
static const struct { int32_t type; CUresourceViewFormat format; } view_types[] = {
    { CJ_U8, CU_RES_VIEW_FORMAT_UINT_1X8 },   { CJ_S8, CU_RES_VIEW_FORMAT_SINT_1X8 },
    { CJ_U16, CU_RES_VIEW_FORMAT_UINT_1X16 }, { CJ_S16, CU_RES_VIEW_FORMAT_SINT_1X16 },
    { CJ_U32, CU_RES_VIEW_FORMAT_UINT_1X32 }, { CJ_S32, CU_RES_VIEW_FORMAT_SINT_1X32 },
    { CJ_F16, CU_RES_VIEW_FORMAT_FLOAT_1X16 }, { CJ_F32, CU_RES_VIEW_FORMAT_FLOAT_1X32 },
};

/* Type and channels are checked. */
static CUresourceViewFormat view_format_of(int32_t type, int32_t channels)
{
    size_t i = 0;
    while (view_types[i].type != type) i++;
    return (CUresourceViewFormat)(view_types[i].format + channels / 2);
}

static const struct { CUresourceViewFormat format; int32_t channels; } view_blocks[] = {
    [CJ_BLOCK_BC1] = { CU_RES_VIEW_FORMAT_UNSIGNED_BC1, 2 },
    [CJ_BLOCK_BC2] = { CU_RES_VIEW_FORMAT_UNSIGNED_BC2, 4 },
    [CJ_BLOCK_BC3] = { CU_RES_VIEW_FORMAT_UNSIGNED_BC3, 4 },
    [CJ_BLOCK_BC4] = { CU_RES_VIEW_FORMAT_UNSIGNED_BC4, 2 },
    [CJ_BLOCK_BC4_SIGNED] = { CU_RES_VIEW_FORMAT_SIGNED_BC4, 2 },
    [CJ_BLOCK_BC5] = { CU_RES_VIEW_FORMAT_UNSIGNED_BC5, 4 },
    [CJ_BLOCK_BC5_SIGNED] = { CU_RES_VIEW_FORMAT_SIGNED_BC5, 4 },
    [CJ_BLOCK_BC6H] = { CU_RES_VIEW_FORMAT_UNSIGNED_BC6H, 4 },
    [CJ_BLOCK_BC6H_SIGNED] = { CU_RES_VIEW_FORMAT_SIGNED_BC6H, 4 },
    [CJ_BLOCK_BC7] = { CU_RES_VIEW_FORMAT_UNSIGNED_BC7, 4 },
};

/* Who gets a failure, on behalf of which call. */
typedef struct view_check { void *into; const cj_array *a; const char *call; } view_check;

static cj_status view_element(const view_check *k, const cj_texture_view_params *v, CUDA_RESOURCE_VIEW_DESC *out,
                              int32_t *type)
{
    const cj_array_opts *o = &k->a->shape;
    int32_t channels = v->channels ? v->channels : o->channels;
    CUarray_format format;
    size_t bytes;
    *type = v->type ? v->type : o->type;
    cj_status st = cji_array_element(k->into, type, &channels, &format, &bytes, k->call);
    if (st != CJ_OK) return st;
    if (bytes != k->a->element)
        return cji_fail(k->into, CJ_EINVAL, k->call, "elements of %zu bytes; those of the array have %zu", bytes,
                        k->a->element);
    out->format = view_format_of(*type, channels);
    return CJ_OK;
}

/* The driver has texels' width and height. */
static cj_status view_block(const view_check *k, const cj_texture_view_params *v, CUDA_RESOURCE_VIEW_DESC *out,
                            int32_t *type)
{
    const cj_array_opts *o = &k->a->shape;
    if (v->block < CJ_BLOCK_NONE || v->block > CJ_BLOCK_BC7)
        return cji_fail(k->into, CJ_EINVAL, k->call, "block is %d, which is no cj_block_format", (int)v->block);
    if (v->type || v->channels)
        return cji_fail(k->into, CJ_EINVAL, k->call, "a view of blocks has neither type nor channels");
    if (o->type != CJ_U32 || o->channels != view_blocks[v->block].channels)
        return cji_fail(k->into, CJ_EINVAL, k->call, "blocks of that format need an array of CJ_U32 with %d channels",
                        (int)view_blocks[v->block].channels);
    if (!o->height || o->depth)
        return cji_fail(k->into, CJ_EINVAL, k->call, "blocks are of 4 x 4 texels; the array is not 2D");
    *type = CJ_F32;
    out->format = view_blocks[v->block].format;
    out->width *= 4;
    out->height *= 4;
    return CJ_OK;
}

/* -- Levels and layers --------------------------------------------------------------------------------------------- */

static cj_status view_levels(const view_check *k, const cj_texture_view_params *v, CUDA_RESOURCE_VIEW_DESC *out)
{
    const int32_t all = k->a->shape.levels;
    if (!k->a->mipmap)
        return v->first_level || v->levels
                   ? cji_fail(k->into, CJ_EINVAL, k->call, "the array has no levels; make it with .levels")
                   : CJ_OK;
    if (v->first_level < 0 || v->first_level >= all || v->levels < 0 || v->levels > all - v->first_level)
        return cji_fail(k->into, CJ_EINVAL, k->call, "%d levels from level %d on; the array has %d", (int)v->levels,
                        (int)v->first_level, (int)all);
    out->firstMipmapLevel = (unsigned)v->first_level;
    out->lastMipmapLevel = (unsigned)(v->levels ? v->first_level + v->levels : all) - 1;
    return CJ_OK;
}

/* The driver counts the first layer of cubemaps in faces, and as many cubemaps as there are layers to the last. */
static cj_status view_layers(const view_check *k, const cj_texture_view_params *v, CUDA_RESOURCE_VIEW_DESC *out)
{
    const size_t all = k->a->shape.layers, slices = k->a->shape.cubemap ? 6 : 1;
    if (!all)
        return v->first_layer || v->layers
                   ? cji_fail(k->into, CJ_EINVAL, k->call, "the array has no layers; make it with .layers")
                   : CJ_OK;
    if (v->first_layer >= all || v->layers > all - v->first_layer)
        return cji_fail(k->into, CJ_EINVAL, k->call, "%zu layers from layer %zu on; the array has %zu", v->layers,
                        v->first_layer, all);
    out->firstLayer = (unsigned)(v->first_layer * slices);
    out->lastLayer = out->firstLayer + (unsigned)(v->layers ? v->layers : all - v->first_layer) - 1;
    return CJ_OK;
}

cj_status cji_array_view(void *into, const cj_array *a, const cj_texture_view_params *params,
                         CUDA_RESOURCE_VIEW_DESC *out, int32_t *type, const char *call)
{
    const view_check k = { into, a, call };
    const cj_array_opts *o = &a->shape;
    cj_texture_view_params v;
    cj_texture_view_params_defaults(&v);
    if (!cji_opts_take(&v, sizeof v, params, into, call, "cj_texture_view_params")) return CJ_EINVAL;
    *out = (CUDA_RESOURCE_VIEW_DESC){
        .width = o->width,
        .height = o->height,
        .depth = o->layers || o->cubemap ? a->extent.depth : o->depth,
    };
    cj_status st = v.block ? view_block(&k, &v, out, type) : view_element(&k, &v, out, type);
    if (st == CJ_OK) st = view_levels(&k, &v, out);
    return st == CJ_OK ? view_layers(&k, &v, out) : st;
}
