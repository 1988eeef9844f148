/* Grids of more than 65535 blocks: a module of the builder has them on every device, PTX for sm_20 has not, and the
 * launch says so. */
#include <stdio.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

static const char text[] =
    ".version 3.0\n.target sm_%d\n.address_size 64\n"
    ".visible .entry mark(.param .u64 out)\n"
    "{\n .reg .u64 %%a; .reg .u32 %%b, %%n; .reg .pred %%p;\n"
    " mov.u32 %%b, %%ctaid.x; mov.u32 %%n, %%nctaid.x; sub.u32 %%n, %%n, 1; setp.ne.u32 %%p, %%b, %%n;\n"
    " ld.param.u64 %%a, [out];\n @!%%p st.global.u32 [%%a], %%b;\n ret;\n}\n";

static const struct {
    int target;          /* 0: a module of the builder, which the library chooses the target of */
    uint32_t blocks;
    cj_status status;
    const char *says;
} rows[] = {
    { 0, 65535, CJ_OK, "" },
    { 0, 65536, CJ_OK, "" },
    { 0, 200000, CJ_OK, "" },
    { 20, 65535, CJ_OK, "" },
    { 20, 65536, CJ_EDRIVER,
      "the kernel is of PTX for sm_20, whose grids have at most 65535 blocks in x, the launch asks for 65536: compile "
      "it for sm_30 or newer" },
    { 30, 65536, CJ_OK, "" },
};

/* The last block stores its index. */
static cj_module *load(cj_device *dev, int target)
{
    char ptx[800];
    if (target) {
        snprintf(ptx, sizeof ptx, text, target);
        return cj_module_load_text(dev, ptx, NULL);
    }
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "mark");
    cj_val out = cj_param_ptr(f, "out", CJ_U32), b = cj_block_id(f, CJ_X);
    cj_if(f, cj_eq(f, b, cj_sub(f, cj_grid_size(f, CJ_X), 1)));
    cj_set(f, out, 0, b);
    cj_end(f);
    cj_module *mod = cj_module_load(dev, m, NULL);
    cj_ptx_free(m);
    return mod;
}

static void launch(cj_device *dev, size_t i)
{
    char name[60];
    uint32_t got = 0;
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_module *mod = load(dev, rows[i].target);
    cj_dptr out = cj_alloc(s, sizeof got);
    if (rows[i].target) snprintf(name, sizeof name, "sm_%d, %u blocks", rows[i].target, rows[i].blocks);
    else snprintf(name, sizeof name, "the builder, %u blocks", rows[i].blocks);
    const cj_status status = cj_launch_name(s, mod, "mark", cj_grid(rows[i].blocks, 1), out);
    tap_is_int(status, rows[i].status, "%s: the launch", name);
    if (status != CJ_OK) {
        tap_has_str(cj_error_of(s)->message, rows[i].says, "%s: says why", name);
        cj_stream_sync(s);
    } else {
        cj_copy_to_host(s, &got, out, sizeof got);
        tap_is_int(cj_stream_sync(s), CJ_OK, "%s: it ends", name);
        tap_is_uint(got, rows[i].blocks - 1, "%s: its last block runs", name);
    }
    cj_free(dev, out);
    cj_module_free(mod);
    cj_stream_free(s);
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) launch(dev, i);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
