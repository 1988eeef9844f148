/* A module's variables, read and written on a stream by name and type: in order with kernels, with size and type
 * checked, of builders, texts and cubins; a graph retains the module. */
#include <string.h>

#include "tests/device_bench.h"

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .f32 table[4] = { 0f3F800000, 0f40000000 };\n"
    ".visible .const .align 8 .b8 box[16];\n.visible .global .u32 hits;\n.visible .global .u64 wide;\n"
    ".visible .entry hit()\n{\n .reg .b64 %d;\n mov.u64 %d, hits;\n red.global.add.u32 [%d], 1;\n ret;\n}\n";

static void check_order(cj_module *mod)
{
    float in[4] = { 1, 2, 3, 4 }, out[4] = { 0 };
    uint32_t hits = 7, seen = 0;
    tap_is_int(cj_module_var_read(s, mod, "table", CJ_F32, out, 4), CJ_OK, "a variable is read");
    tap_is_int(cj_stream_sync(s), CJ_OK, "with its values: %s", cj_error_of(s)->message);
    tap_ok(out[0] == 1 && out[1] == 2 && out[3] == 0, "the initial ones");
    cj_module_var_write(s, mod, "table", CJ_F32, in, 4);
    cj_module_var_write(s, mod, "hits", CJ_U32, &hits, 1);
    hits = 0;
    for (int i = 0; i < 3; i++) cj_launch_name(s, mod, "hit", cj_grid(1, 1));
    cj_module_var_read(s, mod, "hits", CJ_U32, &seen, 1);
    cj_module_var_read(s, mod, "table", CJ_B32, out, 4);
    tap_is_int(cj_stream_sync(s), CJ_OK, "reads, writes and kernels: %s", cj_error_of(s)->message);
    tap_is_uint(seen, 10, "run in the order of the stream");
    tap_is_mem(out, in, sizeof in, "bits of the same size are the same type");
}

static void check_mistakes(cj_module *mod, bool typed)
{
    char bytes[64] = { 0 };
    const struct {
        const char *name, *variable; cj_type type; size_t count; cj_status want; const char *says; bool typed;
    } rows[] = {
        { "bytes of a structure", "box", CJ_B8, 16, CJ_OK, "", false },
        { "any type of a structure", "box", CJ_F64, 2, CJ_OK, "", false },
        { "another type", "table", CJ_U32, 4, CJ_EINVAL, "variable table is .f32, and the call names .u32", true },
        { "another sign", "hits", CJ_S32, 1, CJ_EINVAL, "variable hits is .u32, and the call names .s32", true },
        { "another size of bits", "table", CJ_B64, 2, CJ_EINVAL, "is .f32, and the call names .b64", true },
        { "too few elements", "table", CJ_F32, 3, CJ_EINVAL,
          "variable table has 16 bytes, and the call names 3 elements of 4", false },
        { "too many elements", "wide", CJ_U64, 2, CJ_EINVAL, "variable wide has 8 bytes", false },
        { "as many as overflow", "wide", CJ_U64, SIZE_MAX / 8 + 2, CJ_EINVAL, "variable wide has 8 bytes", false },
        { "no such variable", "missing", CJ_F32, 1, CJ_ENOTFOUND, "no .global or .const variable \"missing\"", false },
        { "a name of no letters", "", CJ_F32, 1, CJ_ENOTFOUND, "no .global or .const variable \"\"", false },
        { "no type that memory has", "wide", CJ_PRED, 8, CJ_EINVAL, "is no cj_type that memory has", false },
        { "no type", "wide", (cj_type)99, 8, CJ_EINVAL, "is no cj_type that memory has", false },
        { "a name that is NULL", NULL, CJ_F32, 1, CJ_EINVAL, "the name is NULL", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_status want = rows[i].typed && !typed ? CJ_OK : rows[i].want;
        tap_is_int(cj_module_var_read(s, mod, rows[i].variable, rows[i].type, bytes, rows[i].count), want, "%s",
                   rows[i].name);
        if (want != CJ_OK) tap_has_str(cj_error_of(s)->message, rows[i].says, "%s: the message", rows[i].name);
        cj_stream_sync(s);
        cj_stream_sync(s);
    }
    tap_is_int(cj_module_var_write(s, mod, "wide", CJ_U64, NULL, 1), CJ_EINVAL, "host memory at NULL");
    cj_stream_sync(s);
}

static void check_graph(cj_module *mod)
{
    static uint32_t in = 5, out;
    in = 5, out = 0;
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_module_var_write(s, mod, "hits", CJ_U32, &in, 1);
    cj_launch_name(s, mod, "hit", cj_grid(1, 1));
    cj_module_var_read(s, mod, "hits", CJ_U32, &out, 1);
    cj_graph *g = cj_capture_end(s);
    cj_module_free(mod);
    cj_device_collect(dev);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(s, x);
    tap_is_int(cj_stream_sync(s), CJ_OK, "a graph has the copies, and the module: %s", cj_error_of(s)->message);
    tap_is_uint(out, 6, "in their order");
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

static cj_module *of_bytes(void)
{
    size_t bytes;
    cj_image *img = cj_image_create_text(dev, text, NULL);
    const void *data = cj_image_data(img, &bytes);
    cj_image *same = cj_image_from(dev, data, bytes);
    cj_module *mod = cj_module_load_image(dev, same);
    cj_image_free(same);
    cj_image_free(img);
    return mod;
}

int main(void)
{
    bench_open(0);
    cj_ptx *m = cj_parse(text, sizeof text - 1, "variables.ptx");
    const struct { const char *name; cj_module *mod; bool typed; } rows[] = {
        { "a builder", cj_module_load(dev, m, NULL), true },
        { "a text", cj_module_load_text(dev, text, NULL), true },
        { "a cubin", of_bytes(), false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tap_is_int(cj_error_of(rows[i].mod)->status, CJ_OK, "the module of %s: %s", rows[i].name,
                   cj_error_of(rows[i].mod)->message);
        check_order(rows[i].mod);
        check_mistakes(rows[i].mod, rows[i].typed);
        check_graph(rows[i].mod);
    }
    cj_ptx_free(m);
    return bench_close();
}
