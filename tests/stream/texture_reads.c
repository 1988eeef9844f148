/* What kernels read through textures, and read and write through surfaces: filters, address modes, conversions, levels,
 * layers, faces, memory; and a graph that keeps what it reads. The CPU device rejects such kernels. */
#include <math.h>
#include <string.h>

#include "tests/device_bench.h"

enum { W = 8, H = 4 };

#define ENTRY(name, params) ".visible .entry " name "(" params ")\n{\n.reg .pred %p<3>;\n.reg .b32 %r<12>;\n" \
    ".reg .b64 %d<6>;\n.reg .f32 %f<16>;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %ntid.x;\n" \
    "mad.lo.u32 %r4, %r2, %r3, %r1;\nld.param.u64 %d1, [t];\nld.param.u64 %d2, [out];\n" \
    "mul.wide.u32 %d3, %r4, 16;\nadd.u64 %d2, %d2, %d3;\n"
/* u = x0 + tid.x * dx, v = y0 + tid.y * dy, w = z */
#define PLACED ".param .u64 t, .param .u64 out, .param .f32 x0, .param .f32 y0, .param .f32 dx, .param .f32 dy, " \
    ".param .f32 z"
#define PLACE "ld.param.f32 %f1, [x0];\nld.param.f32 %f2, [y0];\nld.param.f32 %f3, [dx];\nld.param.f32 %f4, [dy];\n" \
    "ld.param.f32 %f7, [z];\ncvt.rn.f32.u32 %f5, %r1;\ncvt.rn.f32.u32 %f6, %r2;\n" \
    "fma.rn.f32 %f1, %f5, %f3, %f1;\nfma.rn.f32 %f2, %f6, %f4, %f2;\n"
#define STORE "st.global.v4.f32 [%d2], {%f8, %f9, %f10, %f11};\nret;\n}\n"

static const char text[] =
    ".version 6.0\n.target sm_52\n.address_size 64\n"
    ENTRY("plane", PLACED) PLACE "tex.2d.v4.f32.f32 {%f8, %f9, %f10, %f11}, [%d1, {%f1, %f2}];\n" STORE
    ENTRY("volume", PLACED) PLACE "tex.3d.v4.f32.f32 {%f8, %f9, %f10, %f11}, [%d1, {%f1, %f2, %f7, %f7}];\n" STORE
    ENTRY("cube", PLACED) PLACE "tex.cube.v4.f32.f32 {%f8, %f9, %f10, %f11}, [%d1, {%f1, %f2, %f7, %f7}];\n" STORE
    ENTRY("cubes", PLACED) PLACE "cvt.rni.s32.f32 %r5, %f4;\n"
        "tex.acube.v4.f32.f32 {%f8, %f9, %f10, %f11}, [%d1, {%r5, %f1, %f2, %f7}];\n" STORE
    ENTRY("level", PLACED) PLACE "tex.level.2d.v4.f32.f32 {%f8, %f9, %f10, %f11}, [%d1, {%f1, %f2}], %f7;\n" STORE
    ENTRY("layer", PLACED) PLACE "cvt.rni.s32.f32 %r5, %f7;\n"
        "tex.a2d.v4.f32.f32 {%f8, %f9, %f10, %f11}, [%d1, {%r5, %f1, %f2, %f2}];\n" STORE
    ENTRY("line", PLACED) PLACE "tex.1d.v4.f32.s32 {%f8, %f9, %f10, %f11}, [%d1, {%r4}];\n" STORE
    ENTRY("whole", PLACED) PLACE "tex.2d.v4.u32.s32 {%r5, %r6, %r7, %r8}, [%d1, {%r1, %r2}];\n"
        "st.global.v4.u32 [%d2], {%r5, %r6, %r7, %r8};\nret;\n}\n"
    ENTRY("twice", PLACED) PLACE "shl.b32 %r5, %r1, 2;\nsuld.b.2d.b32.trap %r6, [%d1, {%r5, %r2}];\n"
        "add.u32 %r7, %r6, %r6;\nsust.b.2d.b32.trap [%d1, {%r5, %r2}], %r7;\n"
        "mov.b32 %f8, %r6;\nmov.b32 %f9, %r7;\nmov.f32 %f10, 0f00000000;\nmov.f32 %f11, 0f00000000;\n" STORE;

static cj_module *mod;
static cj_dptr result;
static float seen[H][W][4];

/* One block of W x H threads, or less, reads from (x, y) on in steps. */
typedef struct place { float x, y, dx, dy, z; } place;
static bool read_by(const char *kernel, uint64_t handle, const place *p, unsigned w, unsigned h)
{
    cj_dims dims = cj_grid3(1, 1, 1, w, h, 1);
    memset(seen, 0, sizeof seen);
    cj_launch_name(s, mod, kernel, dims, handle, result, p->x, p->y, p->dx, p->dy, p->z);
    cj_copy_to_host(s, seen, result, 16 * (size_t)w * h);
    return cj_stream_sync(s) == CJ_OK;
}

static bool near_to(float a, float b) { return fabsf(a - b) <= 1.0f / 512; }

/* -- One plane, all samplers --------------------------------------------------------------------------------------- */

/* Element (x, y) is x + 10 * y. The first two reads of the first row, and the first of the second. */
static const struct { const char *name; cj_sampler_opts o; place at; float first, second, below; } planes[] = {
    { "centres", { .filter = 0 }, { 0.5f, 0.5f, 1, 1, 0 }, 0, 1, 10 },
    { "the edges of elements", { .filter = 0 }, { 0.875f, 1.125f, 1, 1, 0 }, 10, 11, 20 },
    { "clamped", { .filter = 0 }, { -3, -3, 1, 4, 0 }, 0, 0, 10 },
    { "clamped behind the end", { .filter = 0 }, { 7.5f, 3.5f, 9, 9, 0 }, 37, 37, 37 },
    { "the border",
      { .address_x = CJ_ADDRESS_BORDER, .address_y = CJ_ADDRESS_BORDER, .border_r = 0.25f },
      { -1.5f, 0.5f, 2, 1, 0 },
      0.25f,
      0,
      0.25f },
    { "between two in a row", { .filter = CJ_FILTER_LINEAR }, { 1, 0.5f, 1, 1, 0 }, 0.5f, 1.5f, 10.5f },
    { "between two rows", { .filter = CJ_FILTER_LINEAR }, { 0.5f, 1, 1, 1, 0 }, 5, 6, 15 },
    { "between four", { .filter = CJ_FILTER_LINEAR }, { 1, 1, 1, 1, 0 }, 5.5f, 6.5f, 15.5f },
    { "normalized", { .normalized = 1 }, { 0.0625f, 0.125f, 0.125f, 0.25f, 0 }, 0, 1, 10 },
    { "wrapped", { .normalized = 1, .address_x = CJ_ADDRESS_WRAP }, { 1.0625f, 0.125f, 0.125f, 0.25f, 0 }, 0, 1, 10 },
    { "mirrored",
      { .normalized = 1, .address_x = CJ_ADDRESS_MIRROR },
      { 1.0625f, 0.125f, 0.125f, 0.25f, 0 },
      7,
      6,
      17 },
};

static void one_plane(const char *of, cj_texture *(*make)(const void *resource, const cj_sampler_opts *o),
                      const void *resource)
{
    for (size_t i = 0; i < sizeof planes / sizeof *planes; i++) {
        cj_sampler_opts o = planes[i].o;
        o.size = sizeof o;
        cj_texture *tex = make(resource, &o);
        cj_stream_use_texture(s, tex);
        const bool ran = read_by("plane", cj_texture_raw(tex), &planes[i].at, 2, 2);
        const float *got = &seen[0][0][0]; /* two by two */
        tap_ok(ran && near_to(got[0], planes[i].first) && near_to(got[4], planes[i].second) &&
                   near_to(got[8], planes[i].below),
               "%s: %s: %g %g %g, not %g %g %g %s", of, planes[i].name, (double)got[0], (double)got[4], (double)got[8],
               (double)planes[i].first, (double)planes[i].second, (double)planes[i].below, cj_error_of(tex)->message);
        cj_texture_free(tex);
    }
}

static cj_texture *of_array(const void *a, const cj_sampler_opts *o)
{
    return cj_texture_create((cj_array *)(uintptr_t)a, o);
}
static cj_texture *of_memory(const void *p, const cj_sampler_opts *o) { return cj_texture_create_memory(dev, p, o); }

static void planes_read(void)
{
    static float pixels[H][W];
    for (int i = 0; i < W * H; i++) pixels[i / W][i % W] = (float)(i % W + 10 * (i / W));
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = W, .height = H));
    cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = a, .src_host = pixels));
    one_plane("an array", of_array, a);
    cj_array_free(a);
    const cj_dptr m = cj_ipc_alloc(s, 64 * H);
    cj_copy_2d_to_device(s, m, 64, pixels, 0, sizeof pixels[0], H);
    const cj_texture_memory_params p = { .size = sizeof p, .memory = m, .width = W, .height = H, .pitch = 64 };
    one_plane("memory", of_memory, &p);
    cj_copy_to_device(s, m, pixels, sizeof pixels);
    cj_texture *tex = cj_texture_create_memory(
        dev, CJ_TEXTURE_MEMORY(.memory = m, .width = W * H / 2, .channels = 2), NULL);
    cj_stream_use_texture(s, tex);
    tap_ok(read_by("line", cj_texture_raw(tex), &(place){ .x = 0 }, 4, 4), "a line is read: %s",
           cj_error_of(s)->message);
    const float *got = &seen[0][0][0];
    tap_ok(got[0] == 0 && got[1] == 1 && got[4 * 5] == 12 && got[4 * 5 + 1] == 13, "two channels at a time: %g %g",
           (double)got[20], (double)got[21]);
    cj_texture_free(tex);
    cj_free(dev, m);
}

/* -- Elements ------------------------------------------------------------------------------------------------------ */

static void elements_read(void)
{
    static const uint8_t bytes[2][4] = { { 0, 51, 102, 255 }, { 1, 2, 3, 4 } };
    static const int16_t shorts[2] = { -32767, 16384 };
    const place at = { 0.5f, 0.5f, 1, 1, 0 };
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = 2, .height = 1, .type = CJ_U8, .channels = 4));
    cj_array *b = cj_array_create(dev, CJ_ARRAY(.width = 2, .height = 1, .type = CJ_S16));
    cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = a, .src_host = bytes));
    cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = b, .src_host = shorts));
    cj_texture *whole = cj_texture_create(a, NULL), *part = cj_texture_create(a, CJ_SAMPLER(.to_float = 1));
    cj_texture *linear = cj_texture_create(a, CJ_SAMPLER(.to_float = 1, .srgb = 1));
    cj_texture *sign = cj_texture_create(b, CJ_SAMPLER(.to_float = 1));
    read_by("whole", cj_texture_raw(whole), &at, 2, 1);
    const uint32_t *n = (const uint32_t *)(const void *)seen;
    tap_ok(n[1] == 51 && n[3] == 255 && n[4] == 1 && n[7] == 4, "bytes as integers: %u %u %u %u", n[1], n[3], n[4],
           n[7]);
    read_by("plane", cj_texture_raw(part), &at, 2, 1);
    const float *f = &seen[0][0][0];
    tap_ok(f[0] == 0 && near_to(f[1], 0.2f) && near_to(f[2], 0.4f) && f[3] == 1, "bytes as floats: %g %g %g %g",
           (double)f[0], (double)f[1], (double)f[2], (double)f[3]);
    read_by("plane", cj_texture_raw(linear), &at, 2, 1);
    tap_ok(f[0] == 0 && near_to(f[1], 0.0331f) && near_to(f[2], 0.1329f) && f[3] == 1, "sRGB made linear: %g %g",
           (double)f[1], (double)f[2]);
    read_by("plane", cj_texture_raw(sign), &at, 2, 1);
    tap_ok(near_to(f[0], -1) && near_to(f[4], 0.5f), "shorts as floats: %g %g", (double)f[0], (double)f[4]);
    cj_texture_free(whole), cj_texture_free(part), cj_texture_free(linear), cj_texture_free(sign);
    cj_array_free(a), cj_array_free(b);
}

/* -- More dimensions ----------------------------------------------------------------------------------------------- */

static void volumes_read(void)
{
    float cells[6][2][2];
    for (int i = 0; i < 24; i++) cells[i / 4][i / 2 % 2][i % 2] = (float)(i / 4);
    cj_array *solid = cj_array_create(dev, CJ_ARRAY(.width = 2, .height = 2, .depth = 6));
    cj_array *stack = cj_array_create(dev, CJ_ARRAY(.width = 2, .height = 2, .layers = 6));
    cj_array *faces = cj_array_create(dev, CJ_ARRAY(.width = 2, .height = 2, .cubemap = 1));
    cj_array *all[] = { solid, stack, faces };
    for (int i = 0; i < 3; i++) cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = all[i], .src_host = cells));
    const float *f = &seen[0][0][0];
    cj_texture *tex = cj_texture_create(solid, CJ_SAMPLER(.filter = CJ_FILTER_LINEAR));
    read_by("volume", cj_texture_raw(tex), &(place){ 0.5f, 0.5f, 1, 1, 3 }, 2, 2);
    tap_ok(near_to(f[0], 2.5f) && near_to(f[12], 2.5f), "between two slices: %g %g", (double)f[0], (double)f[12]);
    cj_texture_free(tex);
    tex = cj_texture_create(stack, CJ_SAMPLER(.filter = CJ_FILTER_LINEAR));
    read_by("layer", cj_texture_raw(tex), &(place){ 1, 1, 0, 0, 4 }, 1, 1);
    tap_ok(f[0] == 4, "one layer: %g", (double)f[0]);
    cj_texture_free(tex);
    tex = cj_texture_create(faces, CJ_SAMPLER(.normalized = 1));
    static const place directions[6] = { { 1, 0, 0, 0, 0 }, { -1, 0, 0, 0, 0 }, { 0, 1, 0, 0, 0 },
                                         { 0, -1, 0, 0, 0 }, { 0, 0, 0, 0, 1 }, { 0, 0, 0, 0, -1 } };
    for (int i = 0; i < 6; i++) {
        read_by("cube", cj_texture_raw(tex), &directions[i], 1, 1);
        tap_ok(f[0] == (float)i, "face %d: %g", i, (double)f[0]);
    }
    cj_texture_free(tex);
    for (int i = 0; i < 3; i++) cj_array_free(all[i]);
}

/* Of three cubemaps the last two, in which face f of cubemap n is 6 * n + f; .dy is the layer. */
static void cubemaps_read(void)
{
    static const struct { place at; float is; } reads[] = {
        { { 1, 0, 0, 0, 0 }, 6 }, { { 0, 0, 0, 0, -1 }, 11 }, { { 1, 0, 0, 1, 0 }, 12 }, { { 0, 0, 0, 1, -1 }, 17 },
    };
    float cells[18][2][2];
    for (int i = 0; i < 72; i++) cells[i / 4][i / 2 % 2][i % 2] = (float)(i / 4);
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = 2, .height = 2, .cubemap = 1, .layers = 3));
    cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = a, .src_host = cells));
    cj_texture *tex = cj_texture_create_view(a, CJ_TEXTURE_VIEW(.first_layer = 1), CJ_SAMPLER(.normalized = 1));
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        read_by("cubes", cj_texture_raw(tex), &reads[i].at, 1, 1);
        tap_ok(seen[0][0][0] == reads[i].is, "of cubemaps: %g, want %g", (double)seen[0][0][0], (double)reads[i].is);
    }
    cj_texture_free(tex);
    cj_array_free(a);
}

static void levels_read(void)
{
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = 4, .height = 4, .levels = 3));
    const float *f = &seen[0][0][0];
    for (int i = 0; i < 3; i++) {
        float same[16];
        for (int k = 0; k < 16; k++) same[k] = (float)(i + 1);
        cj_array *l = cj_array_level(a, i);
        cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = l, .src_host = same));
        cj_array_free(l);
    }
    cj_texture *near = cj_texture_create(a, CJ_SAMPLER(.normalized = 1));
    cj_texture *mixed = cj_texture_create(a, CJ_SAMPLER(.normalized = 1, .mip_filter = CJ_FILTER_LINEAR, .mip_max = 1));
    cj_array_free(a);
    for (int i = 0; i < 3; i++) {
        read_by("level", cj_texture_raw(near), &(place){ 0.5f, 0.5f, 0, 0, (float)i }, 1, 1);
        tap_ok(f[0] == (float)(i + 1), "level %d: %g", i, (double)f[0]);
    }
    read_by("level", cj_texture_raw(mixed), &(place){ 0.5f, 0.5f, 0, 0, 0.5f }, 1, 1);
    tap_ok(near_to(f[0], 1.5f), "between two levels: %g", (double)f[0]);
    read_by("level", cj_texture_raw(mixed), &(place){ 0.5f, 0.5f, 0, 0, 2 }, 1, 1);
    tap_ok(f[0] == 2, "no further than mip_max: %g", (double)f[0]);
    cj_texture_free(near), cj_texture_free(mixed);
}

/* -- Surfaces ------------------------------------------------------------------------------------------------------ */

static void surfaces_write(void)
{
    uint32_t in[H][W], out[H][W];
    for (uint32_t i = 0; i < W * H; i++) in[i / W][i % W] = i + 1;
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = W, .height = H, .type = CJ_U32, .surface = 1));
    cj_surface *x = cj_surface_create(a);
    cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = a, .src_host = in));
    cj_stream_use_surface(s, x);
    tap_ok(read_by("twice", cj_surface_raw(x), &(place){ .x = 0 }, W, H), "a surface is read and written: %s",
           cj_error_of(s)->message);
    uint32_t before, after;
    memcpy(&before, &seen[1][2][0], 4), memcpy(&after, &seen[1][2][1], 4);
    tap_ok(before == 11 && after == 22, "an element was %u, and is %u", before, after);
    /* a graph that doubles, and keeps what it uses */
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_stream_use_surface(s, x);
    cj_launch_name(s, mod, "twice", cj_grid3(1, 1, 1, W, H, 1), cj_surface_raw(x), result, 0.0f, 0.0f, 0.0f, 0.0f,
                   0.0f);
    cj_copy_array(s, CJ_COPY_ARRAY(.src_array = a, .dst_host = out));
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *exec = cj_graph_instantiate(g, NULL);
    cj_surface_free(x), cj_array_free(a), cj_graph_free(g);
    cj_device_collect(dev);
    cj_graph_launch(s, exec), cj_graph_launch(s, exec);
    tap_is_int(cj_stream_sync(s), CJ_OK, "a graph launches it: %s", cj_error_of(s)->message);
    size_t wrong = 0;
    for (uint32_t i = 0; i < W * H; i++) wrong += out[i / W][i % W] != 8 * in[i / W][i % W];
    tap_is_uint(wrong, 0, "twice, when the surface and its array are freed");
    cj_graph_exec_free(exec);
}

/* -- A kernel of the builder --------------------------------------------------------------------------------------- */

/* out[i] = the first channel of element i of row 0. */
static cj_ptx *build(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "row");
    const cj_val tex = cj_param(f, "t", CJ_U64), out = cj_param_ptr(f, "out", CJ_F32);
    const cj_val i = cj_thread_id(f, CJ_X), u = cj_cvt(f, CJ_S32, i), v = cj_imm_i(f, 0);
    const cj_val rgba = cj_def(f, "tex.2d.v4.f32.s32", cj_texmem(f, tex, (cj_val){ 0 }, cj_vec(f, u, v)));
    cj_set(f, out, i, cj_elem(f, rgba, 0));
    return m;
}

static void built(cj_ptx *m)
{
    static const float row[W] = { 1, 2, 4, 8, 16, 32, 64, 128 };
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = W, .height = 1));
    cj_texture *tex = cj_texture_create(a, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "row", NULL);
    cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = a, .src_host = row));
    cj_stream_use_texture(s, tex);
    cj_launch(s, k, cj_grid(1, W), cj_texture_raw(tex), result);
    cj_texture_free(tex), cj_array_free(a);
    cj_copy_to_host(s, seen, result, sizeof row);
    tap_is_int(cj_stream_sync(s), CJ_OK, "a kernel of the builder runs: %s", cj_error_of(s)->message);
    tap_is_mem(seen, row, sizeof row, "and reads its row");
    cj_kernel_free(k);
}

int main(void)
{
    bench_open(0);
    cj_ptx *m = cj_parse(text, sizeof text - 1, "texture_reads.ptx");
    tap_is_int(cj_ptx_status(m), CJ_OK, "the kernels are right: %s", cj_error_of(m)->message);
    cj_ptx *own = build();
    tap_is_int(cj_ptx_status(own), CJ_OK, "and one of the builder: %s", cj_error_of(own)->message);
    if (!strcmp(cj_driver_kind(drv), "sim")) {
        tap_skip(1, "the CPU device executes no texture and surface instructions");
    } else {
        mod = cj_module_load(dev, m, NULL);
        tap_is_int(cj_error_of(mod)->status, CJ_OK, "all are loaded: %s", cj_error_of(mod)->message);
        result = cj_alloc(s, sizeof seen);
        planes_read(), elements_read(), volumes_read(), cubemaps_read(), levels_read(), surfaces_write(), built(own);
        cj_free(dev, result);
        cj_module_free(mod);
    }
    cj_ptx_free(own);
    cj_ptx_free(m);
    return bench_close();
}
