/* Arrays of all shapes and elements are made and described; what no device has is rejected with a sentence that names
 * the option, or the limit with its figure. */
#include <string.h>

#include "tests/device_bench.h"

/* -- What can be made ---------------------------------------------------------------------------------------------- */

static const struct { const char *name; cj_array_opts o; size_t element; int32_t levels; } shapes[] = {
    { "1D", { .width = 100 }, 4, 0 },
    { "2D of four bytes", { .width = 100, .height = 20, .type = CJ_U8, .channels = 4 }, 4, 0 },
    { "3D of two halves", { .width = 16, .height = 8, .depth = 4, .type = CJ_F16, .channels = 2 }, 4, 0 },
    { "layers of 1D", { .width = 16, .layers = 5, .type = CJ_S32 }, 4, 0 },
    { "layers of 2D", { .width = 16, .height = 8, .layers = 5, .type = CJ_S16, .channels = 4 }, 8, 0 },
    { "a cubemap", { .width = 8, .height = 8, .cubemap = 1, .channels = 4 }, 16, 0 },
    { "cubemaps", { .width = 8, .height = 8, .layers = 3, .cubemap = 1, .type = CJ_U16 }, 2, 0 },
    { "for surfaces", { .width = 8, .height = 8, .type = CJ_U32, .surface = 1 }, 4, 0 },
    { "for tld4", { .width = 8, .height = 8, .type = CJ_S8, .channels = 2, .gather = 1 }, 2, 0 },
    { "one level", { .width = 8, .height = 8, .levels = 1 }, 4, 1 },
    { "three levels", { .width = 64, .height = 16, .levels = 3 }, 4, 3 },
    { "all levels, which are cut", { .width = 64, .height = 16, .levels = 1000 }, 4, 7 },
    { "all levels of 3D", { .width = 4, .height = 4, .depth = 32, .levels = 1000 }, 4, 6 },
    { "all levels of layers, which are no side", { .width = 4, .height = 4, .layers = 32, .levels = 1000 }, 4, 3 },
};

static void makes(void)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        cj_array_opts o = shapes[i].o;
        cj_array_info info;
        o.size = sizeof o;
        cj_array_info_defaults(&info);
        cj_array *a = cj_array_create(dev, &o);
        tap_is_int(cj_array_get_info(a, &info), CJ_OK, "%s: %s", shapes[i].name, cj_error_of(a)->message);
        tap_ok(info.width == o.width && info.height == o.height && info.depth == o.depth && info.layers == o.layers &&
                   info.cubemap == o.cubemap && info.surface == o.surface && info.gather == o.gather,
               "%s: the shape", shapes[i].name);
        tap_ok(info.type == (o.type ? o.type : CJ_F32) && info.channels == (o.channels ? o.channels : 1) &&
                   info.element_bytes == shapes[i].element && info.device == dev,
               "%s: the elements", shapes[i].name);
        tap_is_int(info.levels, shapes[i].levels, "%s: the levels", shapes[i].name);
        tap_ok(cj_array_raw(a) != NULL, "%s: the driver's handle", shapes[i].name);
        cj_array_free(a);
    }
}

/* -- What is rejected ---------------------------------------------------------------------------------------------- */

static const struct { const char *name; cj_array_opts o; const char *says; } wrongs[] = {
    { "no width", { .height = 8 }, "the width is 0" },
    { "three channels", { .width = 8, .channels = 3 }, "elements of 3 channels; an array has 1, 2 or 4" },
    { "elements of f64", { .width = 8, .type = CJ_F64 }, "is none of CJ_U8" },
    { "a depth without a height", { .width = 8, .depth = 4 }, "has a depth and no height" },
    { "layers of 3D", { .width = 8, .height = 8, .depth = 4, .layers = 2 }, "layers are of 1D or 2D" },
    { "a cubemap with a depth", { .width = 8, .height = 8, .depth = 6, .cubemap = 1 }, "a cubemap has no depth" },
    { "faces that are not square", { .width = 8, .height = 4, .cubemap = 1 }, "the faces of a cubemap are square" },
    { "cubemaps that wrap", { .width = 8, .height = 8, .layers = SIZE_MAX / 3, .cubemap = 1 }, "than any memory has" },
    { "tld4 of 3D", { .width = 8, .height = 8, .depth = 4, .gather = 1 }, "gather is for 2D arrays" },
    { "a flag of 2", { .width = 8, .surface = 2 }, "are 0 or 1" },
    { "fewer levels than none", { .width = 8, .levels = -1 }, "levels is less than 0" },
    { "a 1D array that is too long", { .width = (size_t)1 << 30 }, "1073741824 elements; a 1D array of device 0" },
    { "a 2D array that is too wide", { .width = (size_t)1 << 30, .height = 1 }, "elements in a row; a 2D array" },
    { "a 2D array that is too high", { .width = 1, .height = (size_t)1 << 30 }, "1073741824 rows; a 2D array" },
    { "a 3D array that is too deep",
      { .width = 1, .height = 1, .depth = (size_t)1 << 30 },
      "1073741824 slices; a 3D array of device 0 has at most" },
    { "too many layers of 1D", { .width = 1, .layers = 100000 }, "100000 layers; a layered 1D array" },
    { "too many layers of 2D", { .width = 1, .height = 1, .layers = 100000 }, "100000 layers; a layered 2D array" },
    { "a cubemap that is too wide", { .width = 1 << 20, .height = 1 << 20, .cubemap = 1 }, "in a row; a cubemap" },
    { "too many cubemaps",
      { .width = 1, .height = 1, .layers = 100000, .cubemap = 1 },
      "600000 faces; a layered cubemap of device 0 has at most" },
    { "a mipmapped array that is too wide", { .width = (size_t)1 << 30, .levels = 2 }, "elements; a 1D array" },
    { "a size that wraps", { .width = SIZE_MAX, .height = SIZE_MAX, .depth = SIZE_MAX }, "18446744073709551615 " },
};

static void rejects(void)
{
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        cj_array_opts o = wrongs[i].o;
        o.size = sizeof o;
        cj_array *a = cj_array_create(dev, &o);
        tap_is_int(cj_error_of(a)->status, CJ_EINVAL, "%s", wrongs[i].name);
        tap_has_str(cj_error_of(a)->message, wrongs[i].says, "... is named");
        tap_ok(!cj_array_raw(a), "... and there is none");
        cj_array_free(a);
    }
    cj_array *a = cj_array_create(dev, &(cj_array_opts){ .width = 8 });
    tap_is_int(cj_error_of(a)->status, CJ_EINVAL, "options without their size are rejected");
    cj_array_free(a);
    a = cj_array_create(NULL, CJ_ARRAY(.width = 8));
    tap_ok(cj_error_of(a)->status < 0, "an array of no device is rejected");
    cj_array_free(a);
    cj_array_free(NULL);
}

static void runs_out(void)
{
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = 16384, .height = 16384, .depth = 16384, .channels = 4));
    tap_is_int(cj_error_of(a)->status, CJ_ENOMEM, "64 TiB of elements are more than the memory");
    tap_has_str(cj_error_of(a)->message, "16384 x 16384 x 16384 elements of 16 bytes", "which names the size");
    cj_array_free(a);
}

/* -- Levels -------------------------------------------------------------------------------------------------------- */

static void levels(void)
{
    static const struct { int level; size_t width, height, layers; } rows[] = {
        { 0, 20, 5, 3 }, { 1, 10, 2, 3 }, { 2, 5, 1, 3 }, { 3, 2, 1, 3 }, { 4, 1, 1, 3 },
    };
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = 20, .height = 5, .layers = 3, .levels = 9, .type = CJ_U16));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_array_info info = { .size = sizeof info };
        cj_array *l = cj_array_level(a, rows[i].level);
        cj_array_get_info(l, &info);
        tap_ok(info.width == rows[i].width && info.height == rows[i].height && info.layers == rows[i].layers &&
                   !info.depth && !info.levels && info.element_bytes == 2,
               "level %d is %zu x %zu: %s", rows[i].level, info.width, info.height, cj_error_of(l)->message);
        cj_array_free(l);
    }
    cj_array *none = cj_array_level(a, 5), *below = cj_array_level(a, -1);
    tap_has_str(cj_error_of(none)->message, "level 5 of an array with levels 0 to 4", "there is no further one");
    tap_has_str(cj_error_of(below)->message, "level -1 of an array", "nor one before the first");
    cj_array *l = cj_array_level(a, 1), *again = cj_array_level(l, 0);
    tap_has_str(cj_error_of(again)->message, "the array is not mipmapped", "a level has no levels");
    cj_array *of_failed = cj_array_level(none, 0);
    tap_ok(cj_error_of(of_failed)->status < 0, "nor has an array that failed");
    cj_array_free(of_failed), cj_array_free(again), cj_array_free(none), cj_array_free(below);
    cj_array_free(a);
    uint16_t in[2][10], out[2][10];
    for (uint16_t i = 0; i < 20; i++) in[i / 10][i % 10] = (uint16_t)(i + 1), out[i / 10][i % 10] = 0;
    cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = l, .dst_z = 1, .depth = 1, .src_host = in));
    cj_copy_array(s, CJ_COPY_ARRAY(.src_array = l, .src_z = 1, .depth = 1, .dst_host = out));
    tap_is_int(cj_stream_sync(s), CJ_OK, "a level works when its array is freed");
    tap_is_mem(out, in, sizeof in, "and has what was written");
    cj_array_free(l);
    tap_is_uint(cj_device_collect(dev), 0, "then all of it is released");
}

/* -- Arrays of other code ------------------------------------------------------------------------------------------ */

static void wraps(void)
{
    static const cj_array_opts kinds[] = {
        { .width = 12 },
        { .width = 12, .height = 4, .type = CJ_U8, .channels = 4, .surface = 1 },
        { .width = 12, .height = 4, .depth = 3, .type = CJ_F16 },
        { .width = 12, .layers = 3, .type = CJ_S8, .channels = 2 },
        { .width = 4, .height = 4, .layers = 2, .cubemap = 1 },
        { .width = 4, .height = 4, .gather = 1 },
    };
    uint32_t in[12], out[12] = { 0 };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        cj_array_opts o = kinds[i];
        cj_array_info one = { .size = sizeof one }, two = { .size = sizeof two };
        o.size = sizeof o;
        cj_array *a = cj_array_create(dev, &o), *w = cj_array_wrap(dev, cj_array_raw(a));
        cj_array_get_info(a, &one);
        tap_is_int(cj_array_get_info(w, &two), CJ_OK, "array %zu is wrapped: %s", i, cj_error_of(w)->message);
        tap_is_mem(&two, &one, sizeof one, "with the same shape");
        tap_ok(cj_array_raw(w) == cj_array_raw(a), "and the same handle");
        cj_array_free(w);
        cj_array_free(a);
    }
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = 12)), *w = cj_array_wrap(dev, cj_array_raw(a));
    for (uint32_t i = 0; i < 12; i++) in[i] = i;
    cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = w, .src_host = in));
    cj_array_free(w);
    cj_copy_array(s, CJ_COPY_ARRAY(.src_array = a, .dst_host = out));
    cj_stream_sync(s);
    tap_is_mem(out, in, sizeof in, "what was written through it stays when it is forgotten");
    cj_array_free(a);
    w = cj_array_wrap(dev, NULL);
    tap_has_str(cj_error_of(w)->message, "the CUarray is NULL", "NULL is no array");
    cj_array_free(w);
}

int main(void)
{
    bench_open(0);
    makes(), rejects(), runs_out(), levels(), wraps();
    return bench_close();
}
