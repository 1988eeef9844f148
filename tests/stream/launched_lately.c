/* Where a driver tells only that a kernel failed, the record names the kernels that the stream launched since it was
 * synchronized, also those freed since. */
#include <string.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry one()\n{\n ret;\n}\n.visible .entry two()\n{\n"
    " ret;\n}\n"
    ".visible .entry three()\n{\n ret;\n}\n.visible .entry four()\n{\n ret;\n}\n.visible .entry five()\n{\n ret;\n}\n";
enum { KERNELS = 5 };
static const char *const names[KERNELS] = { "one", "two", "three", "four", "five" };

static const struct { const char *name, *launches; bool freed; const char *says, *kernel;
} rows[] = {
    { "no launch", "", false, NULL, "" },
    { "one", "0", false, "since its last synchronization: one; the CPU device", "one" },
    { "one that is freed", "0", true, "since its last synchronization: one; the CPU device", "one" },
    { "the latest first", "012", false, "since its last synchronization: three, two, one; the CPU device", "" },
    { "the same twice", "11", false, "since its last synchronization: two, two;", "" },
    { "more than are kept", "0123401", true,
      "since its last synchronization: two, one, five, four, and 3 launches before them; the CPU device", "" },
};

static void fail(watch_bench *b, size_t i)
{
    cj_module *mod = cj_module_load_text(b->dev, text, NULL);
    cj_kernel *k[KERNELS];
    cj_fault fault;
    for (int j = 0; j < KERNELS; j++) k[j] = cj_module_kernel(mod, names[j]);
    cj_launch(b->s, k[4], cj_grid(1, 1));
    cj_launch(b->t, k[4], cj_grid(1, 1));
    tap_is_int(cj_stream_sync(b->s), CJ_OK, "%s: what was launched before a synchronization is done", rows[i].name);
    for (const char *p = rows[i].launches; *p; p++) cj_launch(b->s, k[*p - '0'], cj_grid(1, 1));
    if (rows[i].freed)
        for (int j = 0; j < KERNELS; j++) cj_kernel_free(k[j]);
    cj_fault_defaults(&fault);
    tap_is_int(cj_stream_get_fault(b->s, &fault), CJ_ENOTFOUND, "%s: there is no fault", rows[i].name);
    watch_fail(CJI_CU_ID_cuStreamQuery, 0, CUDA_ERROR_MISALIGNED_ADDRESS);
    tap_is_int(cj_stream_get_fault(b->s, &fault), CJ_OK, "%s: there is one", rows[i].name);
    tap_ok(fault.code == 716 && fault.kind == CJ_FAULT_MISALIGNED && !fault.line && !fault.address,
           "%s: its code and kind, and no more", rows[i].name);
    tap_is_str(fault.kernel, rows[i].kernel, "%s: its kernel where there is one only", rows[i].name);
    watch_fail(CJI_CU_ID_cuStreamSynchronize, 0, CUDA_ERROR_ILLEGAL_ADDRESS);
    tap_is_int(cj_stream_sync(b->s), CJ_EDRIVER, "%s: the stream fails", rows[i].name);
    tap_has_str(cj_error_of(b->s)->message, "nothing more runs on the device in this process", "%s: what that means",
                rows[i].name);
    if (rows[i].says) tap_has_str(cj_error_of(b->s)->message, rows[i].says, "%s: the kernels", rows[i].name);
    else tap_ok(!strstr(cj_error_of(b->s)->message, "since its last"), "%s: no kernel is named", rows[i].name);
    cj_stream_sync(b->s);
    cj_stream_sync(b->s);
    if (!rows[i].freed)
        for (int j = 0; j < KERNELS; j++) cj_kernel_free(k[j]);
    cj_module_free(mod);
}

int main(void)
{
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) fail(&b, i);
    cj_fault wrong = { .size = 0 };
    tap_is_int(cj_stream_get_fault(b.s, NULL), CJ_EINVAL, "no fault to fill");
    tap_is_int(cj_stream_get_fault(b.s, &wrong), CJ_EINVAL, "a fault without its size");
    watch_teardown(&b);
    return tap_done();
}
