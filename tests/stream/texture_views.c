/* Views of arrays: the elements as another type or as blocks, some of the levels or layers; what the driver gets of
 * each, and what is rejected. */
#include <string.h>

#include "cuda/abi.h"
#include "tests/device_bench.h"

enum { FLOATS, BYTES, LAYERS, MIPS, BOX, CUBE, CUBES, BLOCKS8, BLOCKS16, LINES, ARRAYS };
static const cj_array_opts shapes[ARRAYS] = {
    [FLOATS] = { .width = 8, .height = 4 },
    [BYTES] = { .width = 8, .height = 4, .type = CJ_U8, .channels = 4 },
    [LAYERS] = { .width = 8, .height = 4, .layers = 6, .type = CJ_U16, .channels = 2 },
    [MIPS] = { .width = 32, .height = 16, .levels = 6 },
    [BOX] = { .width = 8, .height = 4, .depth = 2, .type = CJ_S32, .channels = 2 },
    [CUBE] = { .width = 4, .height = 4, .cubemap = 1 },
    [CUBES] = { .width = 4, .height = 4, .cubemap = 1, .layers = 4 },
    [BLOCKS8] = { .width = 8, .height = 4, .type = CJ_U32, .channels = 2 },
    [BLOCKS16] = { .width = 8, .height = 4, .type = CJ_U32, .channels = 4 },
    [LINES] = { .width = 8, .layers = 3, .type = CJ_U32, .channels = 2 },
};
static cj_array *arrays[ARRAYS];

/* What the driver's view has: format, size, levels and layers from the first to the last. */
static const struct {
    const char *name;
    int array;
    cj_texture_view_params v;
    CUDA_RESOURCE_VIEW_DESC is;
} views[] = {
    { "as it is", FLOATS, { .type = 0 }, { CU_RES_VIEW_FORMAT_FLOAT_1X32, 8, 4, 0, 0, 0, 0, 0, { 0 } } },
    { "bits of floats", FLOATS, { .type = CJ_U32 }, { CU_RES_VIEW_FORMAT_UINT_1X32, 8, 4, 0, 0, 0, 0, 0, { 0 } } },
    { "halves", FLOATS, { .type = CJ_F16, .channels = 2 },
      { CU_RES_VIEW_FORMAT_FLOAT_2X16, 8, 4, 0, 0, 0, 0, 0, { 0 } } },
    { "signed bytes", BYTES, { .type = CJ_S8 }, { CU_RES_VIEW_FORMAT_SINT_4X8, 8, 4, 0, 0, 0, 0, 0, { 0 } } },
    { "bytes as words", BYTES, { .type = CJ_S32, .channels = 1 },
      { CU_RES_VIEW_FORMAT_SINT_1X32, 8, 4, 0, 0, 0, 0, 0, { 0 } } },
    { "a box", BOX, { .type = CJ_U16, .channels = 4 }, { CU_RES_VIEW_FORMAT_UINT_4X16, 8, 4, 2, 0, 0, 0, 0, { 0 } } },
    { "all layers", LAYERS, { .type = CJ_S16 }, { CU_RES_VIEW_FORMAT_SINT_2X16, 8, 4, 6, 0, 0, 0, 5, { 0 } } },
    { "some layers", LAYERS, { .first_layer = 2, .layers = 3 },
      { CU_RES_VIEW_FORMAT_UINT_2X16, 8, 4, 6, 0, 0, 2, 4, { 0 } } },
    { "the rest of the layers", LAYERS, { .first_layer = 5 },
      { CU_RES_VIEW_FORMAT_UINT_2X16, 8, 4, 6, 0, 0, 5, 5, { 0 } } },
    { "layers of lines", LINES, { .first_layer = 1, .layers = 1, .type = CJ_F32 },
      { CU_RES_VIEW_FORMAT_FLOAT_2X32, 8, 0, 3, 0, 0, 1, 1, { 0 } } },
    { "all levels", MIPS, { .type = CJ_S32 }, { CU_RES_VIEW_FORMAT_SINT_1X32, 32, 16, 0, 0, 5, 0, 0, { 0 } } },
    { "some levels", MIPS, { .first_level = 1, .levels = 2 },
      { CU_RES_VIEW_FORMAT_FLOAT_1X32, 32, 16, 0, 1, 2, 0, 0, { 0 } } },
    { "the rest of the levels", MIPS, { .first_level = 4 },
      { CU_RES_VIEW_FORMAT_FLOAT_1X32, 32, 16, 0, 4, 5, 0, 0, { 0 } } },
    { "a cubemap", CUBE, { .type = CJ_U32 }, { CU_RES_VIEW_FORMAT_UINT_1X32, 4, 4, 6, 0, 0, 0, 0, { 0 } } },
    { "all cubemaps", CUBES, { .type = CJ_S32 }, { CU_RES_VIEW_FORMAT_SINT_1X32, 4, 4, 24, 0, 0, 0, 3, { 0 } } },
    { "some cubemaps", CUBES, { .first_layer = 1, .layers = 2 },
      { CU_RES_VIEW_FORMAT_FLOAT_1X32, 4, 4, 24, 0, 0, 6, 7, { 0 } } },
    { "the last cubemap", CUBES, { .first_layer = 3 },
      { CU_RES_VIEW_FORMAT_FLOAT_1X32, 4, 4, 24, 0, 0, 18, 18, { 0 } } },
    { "BC1", BLOCKS8, { .block = CJ_BLOCK_BC1 }, { CU_RES_VIEW_FORMAT_UNSIGNED_BC1, 32, 16, 0, 0, 0, 0, 0, { 0 } } },
    { "signed BC4", BLOCKS8, { .block = CJ_BLOCK_BC4_SIGNED },
      { CU_RES_VIEW_FORMAT_SIGNED_BC4, 32, 16, 0, 0, 0, 0, 0, { 0 } } },
    { "BC2", BLOCKS16, { .block = CJ_BLOCK_BC2 }, { CU_RES_VIEW_FORMAT_UNSIGNED_BC2, 32, 16, 0, 0, 0, 0, 0, { 0 } } },
    { "BC6H", BLOCKS16, { .block = CJ_BLOCK_BC6H },
      { CU_RES_VIEW_FORMAT_UNSIGNED_BC6H, 32, 16, 0, 0, 0, 0, 0, { 0 } } },
    { "BC7", BLOCKS16, { .block = CJ_BLOCK_BC7 }, { CU_RES_VIEW_FORMAT_UNSIGNED_BC7, 32, 16, 0, 0, 0, 0, 0, { 0 } } },
};

static bool same(const CUDA_RESOURCE_VIEW_DESC *a, const CUDA_RESOURCE_VIEW_DESC *b)
{
    return a->format == b->format && a->width == b->width && a->height == b->height && a->depth == b->depth &&
           a->firstMipmapLevel == b->firstMipmapLevel && a->lastMipmapLevel == b->lastMipmapLevel &&
           a->firstLayer == b->firstLayer && a->lastLayer == b->lastLayer;
}

static void driver_call(const char *name, void *call, size_t size)
{
    void *found = cj_driver_symbol(drv, name);
    if (!found) tap_bail("the driver has no %s", name);
    memcpy(call, &found, size);
}

static void are_made(void)
{
    CUresult (*seen)(CUDA_RESOURCE_VIEW_DESC *, CUtexObject) = NULL, (*push)(void *) = NULL, (*pop)(void *) = NULL;
    driver_call("cuTexObjectGetResourceViewDesc", &seen, sizeof seen);
    driver_call("cuCtxPushCurrent_v2", &push, sizeof push);
    driver_call("cuCtxPopCurrent_v2", &pop, sizeof pop);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        CUDA_RESOURCE_VIEW_DESC is;
        cj_texture_view_params v = views[i].v;
        /* levels are read by normalized coordinates */
        const int32_t normalized = views[i].array == MIPS || views[i].array == CUBE || views[i].array == CUBES;
        cj_sampler_opts o = { .size = sizeof o, .normalized = normalized };
        memset(&is, 0xff, sizeof is);
        v.size = sizeof v;
        cj_texture *x = cj_texture_create_view(arrays[views[i].array], &v, &o);
        tap_is_int(cj_error_of(x)->status, CJ_OK, "%s: %s", views[i].name, cj_error_of(x)->message);
        tap_is_int(seen(&is, cj_texture_raw(x)), CUDA_ERROR_INVALID_CONTEXT, "... the driver wants a current context");
        void *context = cj_device_context(dev);
        push(context);
        const int r = cj_texture_raw(x) ? (int)seen(&is, cj_texture_raw(x)) : -1;
        pop(&context);
        tap_ok(r == 0 && same(&is, &views[i].is),
               "... %d: format 0x%x, %zu x %zu x %zu, levels %u to %u, layers %u to %u", r, (unsigned)is.format,
               is.width, is.height, is.depth, is.firstMipmapLevel, is.lastMipmapLevel, is.firstLayer, is.lastLayer);
        cj_texture_free(x);
    }
    cj_texture *x = cj_texture_create_view(arrays[FLOATS], NULL, NULL);
    tap_ok(cj_texture_raw(x) != 0, "a view without parameters is of all: %s", cj_error_of(x)->message);
    cj_texture_free(x);
}

/* What is read decides what a sampler may have. */
static void samplers(void)
{
    const cj_sampler_opts *linear = CJ_SAMPLER(.filter = CJ_FILTER_LINEAR);
    cj_texture *bits = cj_texture_create_view(arrays[FLOATS], CJ_TEXTURE_VIEW(.type = CJ_U32), linear);
    tap_has_str(cj_error_of(bits)->message, "CJ_FILTER_LINEAR reads floats", "bits of floats are not filtered");
    cj_texture *floats = cj_texture_create_view(arrays[BYTES], CJ_TEXTURE_VIEW(.type = CJ_F32, .channels = 1), linear);
    tap_is_int(cj_error_of(floats)->status, CJ_OK, "bytes as floats are: %s", cj_error_of(floats)->message);
    cj_texture *texels = cj_texture_create_view(arrays[BLOCKS8], CJ_TEXTURE_VIEW(.block = CJ_BLOCK_BC1), linear);
    tap_is_int(cj_error_of(texels)->status, CJ_OK, "so are texels of blocks: %s", cj_error_of(texels)->message);
    cj_texture_free(bits), cj_texture_free(floats), cj_texture_free(texels);
}

static const struct { const char *name; int array; cj_texture_view_params v; const char *says; } wrongs[] = {
    { "elements of another size", FLOATS, { .type = CJ_F16 },
      "elements of 2 bytes; those of the array have 4" },
    { "another number of channels", BYTES, { .channels = 2 }, "elements of 2 bytes; those of the array have 4" },
    { "no such type", FLOATS, { .type = CJ_F64 }, "is none of CJ_U8" },
    { "three channels", FLOATS, { .channels = 3 }, "elements of 3 channels" },
    { "no such block", BLOCKS8, { .block = 11 }, "block is 11, which is no cj_block_format" },
    { "a block below none", BLOCKS8, { .block = -1 }, "block is -1, which is no cj_block_format" },
    { "blocks with a type", BLOCKS8, { .block = CJ_BLOCK_BC1, .type = CJ_U8 }, "neither type nor channels" },
    { "small blocks in large elements", BLOCKS16, { .block = CJ_BLOCK_BC4 }, "an array of CJ_U32 with 2 channels" },
    { "large blocks in small elements", BLOCKS8, { .block = CJ_BLOCK_BC5 }, "an array of CJ_U32 with 4 channels" },
    { "blocks of floats", FLOATS, { .block = CJ_BLOCK_BC1 }, "an array of CJ_U32 with 2 channels" },
    { "blocks of lines", LINES, { .block = CJ_BLOCK_BC1 }, "the array is not 2D" },
    { "levels of an array without", FLOATS, { .levels = 1 }, "the array has no levels; make it with .levels" },
    { "a first level of it", FLOATS, { .first_level = 1 }, "the array has no levels" },
    { "a level behind the end", MIPS, { .first_level = 6 }, "0 levels from level 6 on; the array has 6" },
    { "levels too many", MIPS, { .first_level = 4, .levels = 3 }, "3 levels from level 4 on; the array has 6" },
    { "levels below none", MIPS, { .levels = -1 }, "-1 levels from level 0 on" },
    { "a level below the first", MIPS, { .first_level = -1 }, "0 levels from level -1 on" },
    { "layers of an array without", FLOATS, { .layers = 1 }, "the array has no layers; make it with .layers" },
    { "a first layer of it", BOX, { .first_layer = 1 }, "the array has no layers" },
    { "a layer behind the end", LAYERS, { .first_layer = 6 }, "0 layers from layer 6 on; the array has 6" },
    { "layers too many", LAYERS, { .first_layer = 1, .layers = 6 }, "6 layers from layer 1 on; the array has 6" },
    { "a cubemap behind the end", CUBES, { .first_layer = 4 }, "0 layers from layer 4 on; the array has 4" },
    { "cubemaps too many", CUBES, { .first_layer = 3, .layers = 2 }, "2 layers from layer 3 on; the array has 4" },
    { "layers that wrap", LAYERS, { .first_layer = 1, .layers = SIZE_MAX }, "layers from layer 1 on" },
};

static void are_rejected(void)
{
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        cj_texture_view_params v = wrongs[i].v;
        v.size = sizeof v;
        cj_texture *x = cj_texture_create_view(arrays[wrongs[i].array], &v, CJ_SAMPLER(.normalized = 1));
        tap_is_int(cj_error_of(x)->status, CJ_EINVAL, "%s", wrongs[i].name);
        tap_has_str(cj_error_of(x)->message, wrongs[i].says, "... is named");
        cj_texture_free(x);
    }
    cj_texture *x = cj_texture_create_view(NULL, NULL, NULL);
    tap_is_int(cj_error_of(x)->status, CJ_EHANDLE, "no array");
    cj_texture_free(x);
    x = cj_texture_create_view(arrays[FLOATS], &(cj_texture_view_params){ .type = CJ_U32 }, NULL);
    tap_is_int(cj_error_of(x)->status, CJ_EINVAL, "parameters without their size");
    cj_texture_free(x);
    cj_texture_view_params v;
    memset(&v, 0xff, sizeof v);
    cj_texture_view_params_defaults(&v);
    tap_ok(v.size == sizeof v && !v.type && !v.layers, "the defaults are zeros");
    cj_texture_view_params_defaults(NULL);
}

int main(void)
{
    bench_open(0);
    for (int i = 0; i < ARRAYS; i++) {
        cj_array_opts o = shapes[i];
        o.size = sizeof o;
        arrays[i] = cj_array_create(dev, &o);
        if (cj_error_of(arrays[i])->status) tap_bail("%s", cj_error_of(arrays[i])->message);
    }
    are_made(), samplers(), are_rejected();
    for (int i = 0; i < ARRAYS; i++) cj_array_free(arrays[i]);
    return bench_close();
}
