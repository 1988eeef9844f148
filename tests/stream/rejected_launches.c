/* Why a launch fails: each cause has its own sentence, with the limit and the figures. */
#include <string.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

static const char text[] =
    ".version 7.8\n.target sm_70\n.address_size 64\n.extern .shared .align 4 .b8 room[];\n"
    ".visible .entry k(.param .u32 n)\n{\n ret;\n}\n"
    ".visible .entry shares()\n{\n .reg .b32 %r;\n ld.shared.u32 %r, [room];\n ret;\n}\n"
    ".visible .entry fixed()\n{\n .shared .align 4 .b8 own[1024];\n .reg .b32 %r;\n ld.shared.u32 %r, [own];\n"
    " ret;\n}\n";

static const struct { const char *name, *kernel; cj_dims dims; int args; const char *says; } rows[] = {
    { "a grid without blocks", "k", { .grid = { 0, 1, 1 }, .block = { 1, 1, 1 } }, 1, "0 blocks in x" },
    { "too many blocks", "k", { .grid = { 1, 70000, 1 }, .block = { 1, 1, 1 } }, 1,
      "70000 blocks in y, 4465 more than the device's 65535" },
    { "too many threads in z", "k", { .grid = { 1, 1, 1 }, .block = { 1, 1, 65 } }, 1,
      "65 threads of a block in z, 1 more than the device's 64" },
    { "too many threads", "k", { .grid = { 1, 1, 1 }, .block = { 64, 32, 1 } }, 1,
      "2048 threads, 1024 more than the device's 1024" },
    { "too much dynamic shared memory", "k", { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .shared = 232449 }, 1,
      "232449 bytes of dynamic shared memory, 1 more than the 232448" },
    { "too much beside the static shared memory", "fixed",
      { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .shared = 232448 }, 0, "1024 more than the 231424" },
    { "no dynamic shared memory", "shares", { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } }, 0,
      "uses the dynamic shared variable room, and the launch gives it 0 bytes" },
    { "a missing argument", "k", { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } }, 0,
      "k takes 1 argument, here are 0: 1 (n)" },
    { "a grid that is no multiple of the cluster", "k",
      { .grid = { 3, 1, 1 }, .block = { 1, 1, 1 }, .cluster = { 2, 1, 1 } }, 1,
      "3 blocks in x are no multiple of the cluster's 2" },
    { "a cluster that is too large", "k", { .grid = { 32, 1, 1 }, .block = { 1, 1, 1 }, .cluster = { 16, 1, 1 } }, 1,
      "a cluster of such blocks has at most 8 of them, the launch asks for 16 (CJ_KERNEL_CLUSTER_NONPORTABLE" },
    { "a cooperative grid that is too large", "k",
      { .grid = { 10000, 1, 1 }, .block = { 1024, 1, 1 }, .cooperative = 1 }, 1,
      "are resident at once: 264 of these are, on 132 multiprocessors, 9736 fewer than the grid has" },
};

static const struct { const char *name; CUresult result; const char *says; } results[] = {
    { "out of resources", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "a block has at most 65536 registers and 232448 bytes" },
    { "another context", CUDA_ERROR_INVALID_CONTEXT, "is of another context, or its context is gone" },
    { "code for another device", CUDA_ERROR_NO_BINARY_FOR_GPU, "the code is compiled for sm_90, the device is sm_90" },
};

int main(void)
{
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    cj_module *mod = cj_module_load_text(b.dev, text, NULL);
    const cj_arg one = cj_arg_u(1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tap_ok(cj_launch_name_n(b.s, mod, rows[i].kernel, &rows[i].dims, &one, (size_t)rows[i].args) != CJ_OK, "%s",
               rows[i].name);
        tap_has_str(cj_error_of(b.s)->message, rows[i].says, "%s: the message", rows[i].name);
        cj_stream_sync(b.s);
        cj_stream_sync(b.s);
    }
    cj_kernel *k = cj_module_kernel(mod, "k");
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        for (int tries = 0; tries < 2; tries++) watch_fail(CJI_CU_ID_cuLaunchKernel, 0, results[i].result);
        cj_capture_begin(b.s, CJ_CAPTURE_THREAD); /* one try, which is not repeated */
        cj_launch(b.s, k, cj_grid(1, 32), 1u);
        tap_has_str(cj_error_of(b.s)->message, results[i].says, "%s: the message", results[i].name);
        watch_fail_none();
        cj_graph_free(cj_capture_end(b.s));
        cj_stream_sync(b.s);
        cj_stream_sync(b.s);
    }
    cj_kernel_free(k);
    cj_module_free(mod);
    watch_teardown(&b);
    return tap_done();
}
