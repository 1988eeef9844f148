/* Arrays of the largest sizes that the device's attributes name can be made, and larger ones cannot; the same of views
 * of texture objects. */
#include "tests/conformance/driver_abi.h"

#define LIMIT(name) CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE##name

/* One side is at a limit, the others are small; `step`: by how much it then grows beyond. */
static const struct {
    const char *name;
    unsigned flags;
    CUdevice_attribute limit;
    enum { WIDTH, HEIGHT, DEPTH, SIDES } side;
    size_t width, height, depth, step;
} rows[] = {
    { "1D: width", 0, LIMIT(1D_WIDTH), WIDTH, 0, 0, 0, 1 },
    { "2D: width", 0, LIMIT(2D_WIDTH), WIDTH, 0, 1, 0, 1 },
    { "2D: height", 0, LIMIT(2D_HEIGHT), HEIGHT, 1, 0, 0, 1 },
    { "3D: width", 0, LIMIT(3D_WIDTH), WIDTH, 0, 1, 1, 1 },
    { "3D: height", 0, LIMIT(3D_HEIGHT), HEIGHT, 1, 0, 1, 1 },
    { "3D: depth", 0, LIMIT(3D_DEPTH), DEPTH, 1, 1, 0, 1 },
    { "layers of 1D: width", CUDA_ARRAY3D_LAYERED, LIMIT(1D_LAYERED_WIDTH), WIDTH, 0, 0, 1, 1 },
    { "layers of 1D: layers", CUDA_ARRAY3D_LAYERED, LIMIT(1D_LAYERED_LAYERS), DEPTH, 1, 0, 0, 1 },
    { "layers of 2D: width", CUDA_ARRAY3D_LAYERED, LIMIT(2D_LAYERED_WIDTH), WIDTH, 0, 1, 1, 1 },
    { "layers of 2D: height", CUDA_ARRAY3D_LAYERED, LIMIT(2D_LAYERED_HEIGHT), HEIGHT, 1, 0, 1, 1 },
    { "layers of 2D: layers", CUDA_ARRAY3D_LAYERED, LIMIT(2D_LAYERED_LAYERS), DEPTH, 1, 1, 0, 1 },
    { "layers of cubemaps: layers", CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP, LIMIT(CUBEMAP_LAYERED_LAYERS), DEPTH,
      1, 1, 0, 6 },
};

static CUresult make(size_t width, size_t height, size_t depth, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { width, height, depth, CU_AD_FORMAT_UNSIGNED_INT8, 1, flags };
    CUarray a = NULL;
    CUresult r = cu.cuArray3DCreate(&a, &d);
    if (!r) cu.cuArrayDestroy(a);
    return r;
}

static size_t limit_of(CUdevice_attribute attribute)
{
    int most = 0;
    if (cu.cuDeviceGetAttribute(&most, attribute, 0) || most <= 0) tap_bail("no limit %d", (int)attribute);
    return (size_t)most;
}

static CUresult make_row(size_t i, size_t n)
{
    return make(rows[i].side == WIDTH ? n : rows[i].width, rows[i].side == HEIGHT ? n : rows[i].height,
                rows[i].side == DEPTH ? n : rows[i].depth, rows[i].flags);
}

static void limits(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t most = limit_of(rows[i].limit);
        abi_is(make_row(i, most), CUDA_SUCCESS, "%s at the limit", rows[i].name);
        abi_is(make_row(i, most + rows[i].step), CUDA_ERROR_INVALID_VALUE, "%s beyond it", rows[i].name);
    }
}

/* At its limit a cubemap takes gigabytes: only what lies beyond is asked for. */
static void cubemaps(void)
{
    static const struct { const char *name; size_t width, height, depth; bool layered; CUresult result; } cubes[] = {
        { "a cubemap", 4, 4, 6, false, CUDA_SUCCESS },
        { "a cubemap without faces", 4, 4, 0, false, CUDA_ERROR_INVALID_VALUE },
        { "a cubemap of twelve faces", 4, 4, 12, false, CUDA_ERROR_INVALID_VALUE },
        { "two cubemaps in layers", 4, 4, 12, true, CUDA_SUCCESS },
        { "cubemaps in no layers", 4, 4, 0, true, CUDA_ERROR_INVALID_VALUE },
        { "cubemaps in seven layers", 4, 4, 7, true, CUDA_ERROR_INVALID_VALUE },
        { "cubemaps in layers with other sides", 4, 8, 6, true, CUDA_ERROR_INVALID_VALUE },
    };
    for (size_t i = 0; i < sizeof cubes / sizeof *cubes; i++)
        abi_is(make(cubes[i].width, cubes[i].height, cubes[i].depth,
                    CUDA_ARRAY3D_CUBEMAP | (cubes[i].layered ? CUDA_ARRAY3D_LAYERED : 0)),
               cubes[i].result, "%s", cubes[i].name);
    size_t side = limit_of(LIMIT(CUBEMAP_WIDTH)) + 1;
    abi_is(make(side, side, 6, CUDA_ARRAY3D_CUBEMAP), CUDA_ERROR_INVALID_VALUE, "a cubemap beyond the widest");
    side = limit_of(LIMIT(CUBEMAP_LAYERED_WIDTH)) + 1;
    abi_is(make(side, side, 6, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED), CUDA_ERROR_INVALID_VALUE,
           "layers of cubemaps beyond the widest");
}

static void layers_without_depth(void)
{
    abi_is(make(4, 0, 0, CUDA_ARRAY3D_LAYERED), CUDA_ERROR_INVALID_VALUE, "no layers of 1D");
    abi_is(make(4, 4, 0, CUDA_ARRAY3D_LAYERED), CUDA_ERROR_INVALID_VALUE, "no layers of 2D");
}

/* ---- Views ------------------------------------------------------------------------------------------------------- */

enum { LAST_FORMAT = CU_RES_VIEW_FORMAT_UNSIGNED_BC7 };

/* Of 16 x 16 elements of 16 bytes in 4 layers; the mipmapped array has 3 levels. */
#define SIZED(as, w, h, d) { .format = (CUresourceViewFormat)(as), .width = w, .height = h, .depth = d }
#define BLOCKS(as) SIZED(as, 64, 64, 4)
#define PART(...) { .format = CU_RES_VIEW_FORMAT_UINT_4X32, .width = 16, .height = 16, .depth = 4, __VA_ARGS__ }
static const struct {
    const char *name;
    CUDA_RESOURCE_VIEW_DESC view;
    bool array, mipmap; /* made of which */
} views[] = {
    { "as its own format", SIZED(CU_RES_VIEW_FORMAT_NONE, 16, 16, 4), true, true },
    { "as the last format", BLOCKS(LAST_FORMAT), true, true },
    { "as one behind the last", BLOCKS(LAST_FORMAT + 1), false, false },
    { "as blocks of half an element", BLOCKS(CU_RES_VIEW_FORMAT_UNSIGNED_BC1), false, false },
    { "as signed blocks of half an element", BLOCKS(CU_RES_VIEW_FORMAT_SIGNED_BC4), false, false },
    { "as blocks without their texels", SIZED(LAST_FORMAT, 16, 16, 4), false, false },
    { "of another width", SIZED(CU_RES_VIEW_FORMAT_NONE, 15, 16, 4), false, false },
    { "of another height", SIZED(CU_RES_VIEW_FORMAT_NONE, 16, 17, 4), false, false },
    { "of another depth", SIZED(CU_RES_VIEW_FORMAT_NONE, 16, 16, 3), false, false },
    { "of one level", PART(.firstMipmapLevel = 1, .lastMipmapLevel = 1), false, true },
    { "of the last level", PART(.firstMipmapLevel = 2, .lastMipmapLevel = 2), false, true },
    { "of one level behind the last", PART(.firstMipmapLevel = 2, .lastMipmapLevel = 3), false, false },
    { "of levels backwards", PART(.firstMipmapLevel = 1, .lastMipmapLevel = 0), false, false },
    { "of one layer", PART(.firstLayer = 2, .lastLayer = 2), true, true },
    { "of one layer behind the last", PART(.firstLayer = 2, .lastLayer = 4), false, false },
    { "of layers backwards", PART(.firstLayer = 2, .lastLayer = 1), false, false },
};

static void view_of(const CUDA_RESOURCE_DESC *resource, const CUDA_RESOURCE_VIEW_DESC *view, CUresult result,
                    const char *what, const char *name)
{
    CUDA_TEXTURE_DESC how = { .filterMode = CU_TR_FILTER_MODE_POINT };
    CUDA_RESOURCE_VIEW_DESC seen;
    CUtexObject t;
    abi_is(cu.cuTexObjectCreate(&t, resource, &how, view), result, "a view of %s %s", what, name);
    if (result) return;
    abi_is(cx.cuTexObjectGetResourceViewDesc(&seen, t), CUDA_SUCCESS, "%s %s: it has a view", what, name);
    tap_ok(seen.format == view->format && seen.firstMipmapLevel == view->firstMipmapLevel &&
               seen.lastMipmapLevel == view->lastMipmapLevel && seen.firstLayer == view->firstLayer &&
               seen.lastLayer == view->lastLayer,
           "%s %s: as it was made", what, name);
    cu.cuTexObjectDestroy(t);
}

static void all_views(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 16, 16, 4, CU_AD_FORMAT_UNSIGNED_INT32, 4, CUDA_ARRAY3D_LAYERED };
    CUarray a;
    CUmipmappedArray m;
    CUdeviceptr p;
    if (cu.cuArray3DCreate(&a, &d) || cu.cuMipmappedArrayCreate(&m, &d, 3) || cu.cuMemAlloc(&p, 4096))
        tap_bail("no arrays");
    CUDA_RESOURCE_DESC array = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a };
    CUDA_RESOURCE_DESC mipmap = { .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap.hMipmappedArray = m };
    CUDA_RESOURCE_DESC linear = { .resType = CU_RESOURCE_TYPE_LINEAR,
                                  .res.linear = { p, CU_AD_FORMAT_UNSIGNED_INT8, 4, 4096 } };
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        view_of(&array, &views[i].view, views[i].array ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, "an array",
                views[i].name);
        view_of(&mipmap, &views[i].view, views[i].mipmap ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
                "a mipmapped array", views[i].name);
    }
    view_of(&linear, &views[0].view, CUDA_ERROR_INVALID_VALUE, "memory", views[0].name);
    cu.cuMipmappedArrayDestroy(m);
    cu.cuArrayDestroy(a);
    cu.cuMemFree(p);
}

int main(void)
{
    abi_open();
    limits();
    cubemaps();
    layers_without_depth();
    all_views();
    return abi_close();
}
