/* Textures and surfaces over arrays and memory: made with every sampler that fits, rejected with a sentence where one
 * does not, released in any order while work is in flight, kept by graphs, unusable when they are freed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_bench.h"

/* The driver's calls that make and destroy, in their order. */
static char made[512];
static void note(void *user, uint64_t number, const char *name, const char *text, int result)
{
    static const struct { const char *name, *sign; } calls[] = {
        { "cuTexObjectCreate", "+t" },       { "cuTexObjectDestroy", "-t" },      { "cuSurfObjectCreate", "+s" },
        { "cuSurfObjectDestroy", "-s" },     { "cuArray3DCreate", "+a" },         { "cuArrayDestroy", "-a" },
        { "cuMipmappedArrayCreate", "+a" },  { "cuMipmappedArrayDestroy", "-a" }, { "cuMemFree", "-m" },
    };
    const size_t n = strlen(made);
    (void)user, (void)number, (void)text;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!result && !strcmp(name, calls[i].name) && n + 3 < sizeof made) strcpy(made + n, calls[i].sign);
}

/* -- Samplers ------------------------------------------------------------------------------------------------------ */

enum { FLOATS, BYTES, WORDS, MIPS, LINE, PLANE, RESOURCES };
static cj_array *arrays[LINE];
static cj_dptr line, plane;

static cj_texture *texture_of(int resource, const cj_sampler_opts *sampler)
{
    if (resource < LINE) return cj_texture_create(arrays[resource], sampler);
    if (resource == LINE) return cj_texture_create_memory(dev, CJ_TEXTURE_MEMORY(.memory = line, .width = 64), sampler);
    return cj_texture_create_memory(
        dev, CJ_TEXTURE_MEMORY(.memory = plane, .width = 16, .height = 8, .pitch = 64, .type = CJ_F32), sampler);
}

/* `says` NULL: it is made. */
static const struct { const char *name; int resource; cj_sampler_opts o; const char *says; } samplers[] = {
    { "nothing", FLOATS, { .filter = CJ_FILTER_POINT }, NULL },
    { "linear floats", FLOATS, { .filter = CJ_FILTER_LINEAR }, NULL },
    { "a border", FLOATS, { .address_x = CJ_ADDRESS_BORDER, .border_r = 0.5f, .border_a = 1 }, NULL },
    { "wrapped and mirrored",
      FLOATS,
      { .normalized = 1, .address_x = CJ_ADDRESS_WRAP, .address_y = CJ_ADDRESS_MIRROR },
      NULL },
    { "bytes", BYTES, { .filter = CJ_FILTER_POINT }, NULL },
    { "bytes as floats", BYTES, { .to_float = 1, .filter = CJ_FILTER_LINEAR }, NULL },
    { "sRGB", BYTES, { .to_float = 1, .srgb = 1, .anisotropy = 16, .normalized = 1 }, NULL },
    { "words", WORDS, { .filter = CJ_FILTER_POINT }, NULL },
    { "levels",
      MIPS,
      { .normalized = 1, .filter = CJ_FILTER_LINEAR, .mip_filter = CJ_FILTER_LINEAR, .mip_bias = -0.5f, .mip_max = 2 },
      NULL },
    { "a line", LINE, { .filter = CJ_FILTER_POINT }, NULL },
    { "a plane", PLANE, { .filter = CJ_FILTER_LINEAR, .normalized = 1, .address_x = CJ_ADDRESS_WRAP }, NULL },
    { "no such filter", FLOATS, { .filter = 2 }, "a filter is none of CJ_FILTER_POINT, _LINEAR" },
    { "no such filter of levels", MIPS, { .normalized = 1, .mip_filter = -1 }, "a filter is none of" },
    { "no such address mode", FLOATS, { .address_z = 4 }, "an address mode is none of CJ_ADDRESS_CLAMP" },
    { "wrapped, not normalized", FLOATS, { .address_y = CJ_ADDRESS_WRAP }, "need normalized coordinates" },
    { "mirrored, not normalized", FLOATS, { .address_z = CJ_ADDRESS_MIRROR }, "need normalized coordinates" },
    { "a flag of 2", FLOATS, { .normalized = 2 }, "are 0 or 1" },
    { "anisotropy of 17", FLOATS, { .anisotropy = 17 }, "anisotropy is from 0 to 16" },
    { "levels the wrong way round", MIPS, { .normalized = 1, .mip_min = 2, .mip_max = 1 }, "the least first" },
    { "a level that is no number", MIPS, { .normalized = 1, .mip_min = __builtin_nanf("") }, "are levels" },
    { "floats as floats", FLOATS, { .to_float = 1 }, "to_float is for integers of 8 and 16 bits" },
    { "words as floats", WORDS, { .to_float = 1 }, "to_float is for integers of 8 and 16 bits" },
    { "linear integers", BYTES, { .filter = CJ_FILTER_LINEAR }, "CJ_FILTER_LINEAR reads floats" },
    { "sRGB integers", BYTES, { .srgb = 1 }, "srgb is for CJ_U8 with .to_float = 1" },
    { "levels, not normalized", MIPS, { .filter = CJ_FILTER_POINT }, "a mipmapped array is read by normalized" },
    { "a linear line", LINE, { .filter = CJ_FILTER_LINEAR }, "a line of memory has neither filter" },
    { "a normalized line", LINE, { .normalized = 1 }, "a line of memory has neither filter" },
    { "a line with a border", LINE, { .address_x = CJ_ADDRESS_BORDER }, "a line of memory has neither filter" },
};

static void samples(void)
{
    for (size_t i = 0; i < sizeof samplers / sizeof *samplers; i++) {
        cj_sampler_opts o = samplers[i].o;
        o.size = sizeof o;
        cj_texture *tex = texture_of(samplers[i].resource, &o);
        const cj_error *e = cj_error_of(tex);
        tap_is_int(e->status, samplers[i].says ? CJ_EINVAL : CJ_OK, "%s: %s", samplers[i].name, e->message);
        tap_is_int(cj_texture_raw(tex) != 0, !samplers[i].says, "... has a handle, or none");
        if (samplers[i].says) tap_has_str(cj_error_of(tex)->message, samplers[i].says, "... is named");
        cj_texture_free(tex);
    }
    for (int i = 0; i < RESOURCES; i++) {
        cj_sampler_opts o;
        cj_sampler_defaults(&o);
        o.normalized = i == MIPS;
        cj_texture *one = texture_of(i, &o), *two = texture_of(i, &o);
        tap_ok(cj_texture_raw(one) && cj_texture_raw(two) && cj_texture_raw(one) != cj_texture_raw(two),
               "resource %d: two textures with one sampler: %s", i, cj_error_of(one)->message);
        cj_texture_free(two), cj_texture_free(one);
    }
    cj_texture *tex = cj_texture_create(arrays[FLOATS], &(cj_sampler_opts){ .filter = 1 });
    tap_is_int(cj_error_of(tex)->status, CJ_EINVAL, "options without their size are rejected");
    cj_texture_free(tex);
}

/* -- Memory -------------------------------------------------------------------------------------------------------- */

static void memory(void)
{
    const cj_dptr odd = cj_offset(line, 64), known = cj_alloc(s, 64);
    const struct { const char *name; cj_texture_memory_params p; const char *says; } wrongs[] = {
        { "no memory", { .width = 4 }, "the memory is { 0 }" },
        { "no width", { .memory = line }, "the width is 0" },
        { "a line with a pitch", { .memory = line, .width = 4, .pitch = 64 }, "a line of memory has no pitch" },
        { "three channels", { .memory = line, .width = 4, .channels = 3 }, "elements of 3 channels" },
        { "elements of 64 bits", { .memory = line, .width = 4, .type = CJ_U64 }, "is none of CJ_U8" },
        { "an address between", { .memory = odd, .width = 4 }, "is not at a multiple of" },
        { "a pitch between", { .memory = plane, .width = 4, .height = 2, .pitch = 33 },
          "of 33 bytes is not a multiple" },
        { "a pitch that is too small",
          { .memory = plane, .width = 16, .height = 2, .pitch = 32 },
          "has 32 bytes from row to row, the rows have 64" },
        { "a line that is too long", { .memory = known, .width = 17 }, "the memory: 68 bytes do not fit, 64 are left" },
        { "rows that are too many",
          { .memory = known, .width = 8, .height = 3 },
          "the memory: 96 bytes do not fit, 64 are left" },
        { "a width that wraps", { .memory = line, .width = SIZE_MAX / 2 }, "are beyond any memory" },
        { "a height that wraps",
          { .memory = plane, .width = 8, .height = SIZE_MAX / 4, .pitch = 32 },
          "4611686018427387903 elements of 4 bytes are beyond any memory" },
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        cj_texture_memory_params p = wrongs[i].p;
        p.size = sizeof p;
        cj_texture *tex = cj_texture_create_memory(dev, &p, NULL);
        tap_is_int(cj_error_of(tex)->status, CJ_EINVAL, "%s", wrongs[i].name);
        tap_has_str(cj_error_of(tex)->message, wrongs[i].says, "... is named");
        cj_texture_free(tex);
    }
    cj_texture *tex = cj_texture_create_memory(dev, NULL, NULL);
    tap_is_int(cj_error_of(tex)->status, CJ_EINVAL, "parameters that are NULL");
    cj_texture_free(tex);
    cj_free(dev, known);
    tex = cj_texture_create_memory(dev, CJ_TEXTURE_MEMORY(.memory = known, .width = 4), NULL);
    tap_has_str(cj_error_of(tex)->message, "was freed with cj_free", "memory that was freed");
    cj_texture_free(tex);
}

/* A texture keeps its memory: cj_free returns, and the release waits for the texture. */
static void keeps_memory(void)
{
    const cj_dptr mine = cj_ipc_alloc(s, 4096);
    cj_texture *tex = cj_texture_create_memory(dev, CJ_TEXTURE_MEMORY(.memory = mine, .width = 64), NULL);
    tap_is_int(cj_error_of(tex)->status, CJ_OK, "a texture of memory: %s", cj_error_of(tex)->message);
    made[0] = 0;
    tap_is_int(cj_free(dev, mine), CJ_OK, "the memory is freed first");
    cj_stream_sync(s);
    cj_device_collect(dev);
    tap_is_str(made, "", "it stays while the texture is there");
    cj_texture_free(tex);
    tap_is_uint(cj_device_collect(dev), 0, "and is released with it");
    tap_is_str(made, "-t-m", "behind it");
    cj_vmem *v = cj_vmem_create(s, 8 << 20, CJ_VMEM(.bytes = 1));
    tex = cj_texture_create_memory(dev, CJ_TEXTURE_MEMORY(.memory = cj_vmem_address(v), .width = 64), NULL);
    tap_is_int(cj_error_of(tex)->status, CJ_OK, "a texture of memory that grows: %s", cj_error_of(tex)->message);
    tap_is_int(cj_vmem_shrink(v, 0), CJ_ESTATE, "which does not shrink under it");
    tap_has_str(cj_error_of(v)->message, "a graph or a texture uses the memory", "and says why");
    cj_vmem_free(v);
    cj_texture_free(tex);
    tap_is_uint(cj_device_collect(dev), 0, "both are released");
}

/* -- Surfaces ------------------------------------------------------------------------------------------------------ */

static void surfaces(void)
{
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = 8, .height = 8, .surface = 1, .levels = 2));
    cj_array *level = cj_array_level(a, 1);
    cj_surface *x = cj_surface_create(level), *none = cj_surface_create(a), *plain = cj_surface_create(arrays[FLOATS]);
    cj_array *failed = cj_array_create(NULL, NULL);
    cj_surface *of_failed = cj_surface_create(failed);
    tap_ok(cj_surface_raw(x) != 0, "a surface of a level: %s", cj_error_of(x)->message);
    tap_has_str(cj_error_of(none)->message, "make a surface of one of its levels", "none of a mipmapped array");
    tap_has_str(cj_error_of(plain)->message, "make it with .surface = 1", "nor of an array that is not for surfaces");
    tap_ok(cj_error_of(of_failed)->status < 0 && !cj_surface_raw(of_failed), "nor of one that failed");
    tap_is_int(cj_stream_use_surface(s, x), CJ_OK, "its use is noted");
    tap_ok(cj_stream_use_surface(s, none) < 0, "a failed one's is not");
    cj_stream_sync(s);
    cj_array_free(level), cj_array_free(a), cj_array_free(failed);
    cj_surface_free(x), cj_surface_free(none), cj_surface_free(plain), cj_surface_free(of_failed);
    cj_surface_free(NULL), cj_texture_free(NULL);
    cj_device_collect(dev);
}

/* -- Lifetimes ----------------------------------------------------------------------------------------------------- */

static void in_flight(void)
{
    struct latch l = LATCH_CLOSED;
    made[0] = 0;
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = 8, .height = 8, .surface = 1));
    cj_texture *x = cj_texture_create(a, NULL);
    cj_surface *y = cj_surface_create(a);
    bench_hold(t, &l);
    cj_stream_use_texture(t, x);
    cj_array_free(a);
    cj_texture_free(x);
    cj_surface_free(y);
    tap_is_uint(cj_device_collect(dev), 1, "a texture waits for the stream that uses it");
    tap_is_str(made, "+a+t+s-s", "a surface that nothing uses is destroyed, the array is not");
    latch_open(&l);
    cj_stream_sync(t);
    tap_is_uint(cj_device_collect(dev), 0, "when the stream is complete");
    tap_is_str(made, "+a+t+s-s-t-a", "the texture is destroyed, then the array");
}

static void kept_by_graphs(void)
{
    made[0] = 0;
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = 8, .surface = 1));
    cj_texture *x = cj_texture_create(a, NULL);
    cj_surface *y = cj_surface_create(a);
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    tap_is_int(cj_stream_use_texture(s, x), CJ_OK, "a use is captured: %s", cj_error_of(s)->message);
    tap_is_int(cj_stream_use_texture(s, x), CJ_OK, "twice");
    tap_is_int(cj_stream_use_surface(s, y), CJ_OK, "a surface's too");
    cj_fill32(s, d, 1, 1);
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *exec = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    cj_texture_free(x), cj_surface_free(y), cj_array_free(a);
    cj_device_collect(dev);
    tap_is_str(made, "+a+t+s", "the executable graph keeps all three");
    cj_graph_launch(s, exec);
    cj_stream_sync(s);
    cj_graph_exec_free(exec);
    tap_is_uint(cj_device_collect(dev), 0, "and releases them");
    tap_ok(strlen(made) == 12 && !strcmp(made + 10, "-a"), "the array last: %s", made);
}

static void of_two_devices(void)
{
    static float out[64];
    cj_device *other = cj_device_open(drv, 1, NULL);
    if (cj_error_of(other)->status) return tap_skip(4, "there is one device"), cj_device_close(other);
    cj_stream *u = cj_stream_create(other, NULL);
    cj_texture *x = cj_texture_create(arrays[FLOATS], NULL);
    tap_is_int(cj_stream_use_texture(u, x), CJ_EINVAL, "a stream of another device does not use a texture");
    tap_has_str(cj_error_of(u)->message, "the texture is of device 0, the stream of device 1", "which is named");
    cj_stream_sync(u);
    tap_is_int(cj_copy_array(u, CJ_COPY_ARRAY(.src_array = arrays[FLOATS], .dst_host = out)), CJ_EINVAL,
               "nor does it copy an array to host memory");
    tap_has_str(cj_error_of(u)->message, "the array is of device 0, the stream or the graph of device 1",
                "which is named");
    cj_stream_sync(u);
    cj_texture_free(x);
    cj_stream_free(u);
    cj_device_close(other);
}

/* The device and the driver are closed first. */
static void closed_first(void)
{
    cj_driver *one = cj_driver_open(NULL);
    cj_device *here = cj_device_open(one, 0, NULL);
    cj_array *a = cj_array_create(here, CJ_ARRAY(.width = 8));
    cj_texture *x = cj_texture_create(a, NULL);
    cj_device_close(here);
    cj_driver_close(one);
    cj_array_free(a);
    tap_ok(cj_texture_raw(x) != 0, "a texture outlives the handles of its array, device and driver");
    cj_texture_free(x);
}

int main(void)
{
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    bench_open_over(CJ_INTERPOSER(.after = note), 4096);
    arrays[FLOATS] = cj_array_create(dev, CJ_ARRAY(.width = 8, .height = 8));
    arrays[BYTES] = cj_array_create(dev, CJ_ARRAY(.width = 8, .height = 8, .type = CJ_U8, .channels = 4));
    arrays[WORDS] = cj_array_create(dev, CJ_ARRAY(.width = 8, .height = 8, .type = CJ_U32));
    arrays[MIPS] = cj_array_create(dev, CJ_ARRAY(.width = 8, .height = 8, .levels = 4));
    const cj_dptr both = cj_ipc_alloc(s, 4096); /* not of a chunk: a multiple of 512 */
    line = both, plane = cj_offset(both, 2048);
    samples(), memory(), keeps_memory(), surfaces(), in_flight(), kept_by_graphs(), of_two_devices(), closed_first();
    cj_free(dev, both);
    for (int i = 0; i < LINE; i++) cj_array_free(arrays[i]);
    return bench_close();
}
