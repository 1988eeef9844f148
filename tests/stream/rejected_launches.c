/* Every limit of a launch: what is asked for, the error, and the sentence with the limit, the figures and what to do.
 * A limit that the CPU device does not have is answered in its place with the GPU's result. */
#include <stdio.h>
#include <string.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

static const char text[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n.extern .shared .align 4 .b8 room[];\n"
    ".visible .entry k(.param .u32 n)\n{\n ret;\n}\n"
    ".visible .entry shares()\n{\n .reg .b32 %r;\n ld.shared.u32 %r, [room];\n ret;\n}\n"
    ".visible .entry fixed()\n{\n .shared .align 4 .b8 own[1024];\n .reg .b32 %r;\n ld.shared.u32 %r, [own];\n"
    " ret;\n}\n"
    ".visible .entry bounded() .maxntid 64\n{\n ret;\n}\n"
    ".visible .entry exact() .reqntid 64\n{\n ret;\n}\n"
    ".visible .entry pairs() .reqnctapercluster 2\n{\n ret;\n}\n"
    ".visible .entry deep()\n{\n .local .align 4 .b8 some[400000];\n .reg .b32 %r;\n ld.local.u32 %r, [some];\n"
    " ret;\n}\n"
    ".visible .entry local()\n{\n .local .align 4 .b8 own[600000];\n .reg .b32 %r;\n ld.local.u32 %r, [own];\n"
    " ret;\n}\n";

#define BLOCKS(...) .grid = { __VA_ARGS__ }, .block = { 1, 1, 1 }
#define THREADS(...) .grid = { 1, 1, 1 }, .block = { __VA_ARGS__ }
#define ONE .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }
#define INSTEAD(result) CUDA_ERROR_##result /* of what the CPU device answers */

typedef struct limit_row {
    const char *name, *kernel;
    cj_dims dims;
    CUresult instead;
    cj_status status;
    const char *says, *fix;
} limit_row;

static const limit_row rows[] = {
    /* the grid */
    { "no blocks", "k", { BLOCKS(0, 1, 1) }, 0, CJ_EINVAL, "0 blocks in x; a launch has at least one", "" },
    { "blocks in x", "k", { BLOCKS(0x80000000u, 1, 1) }, 0, CJ_EINVAL,
      "2147483648 blocks in x, 1 more than the device's 2147483647", "" },
    { "blocks in y", "k", { BLOCKS(1, 70000, 1) }, 0, CJ_EINVAL, "70000 blocks in y, 4465 more than the device's 65535",
      "; x can have 2147483647" },
    { "blocks in z", "k", { BLOCKS(1, 1, 65536) }, 0, CJ_EINVAL, "65536 blocks in z, 1 more than the device's 65535",
      "; x can have 2147483647" },
    /* the block */
    { "no threads", "k", { THREADS(1, 0, 1) }, 0, CJ_EINVAL, "0 threads of a block in y; a launch has at least one",
      "" },
    { "threads in x", "k", { THREADS(1025, 1, 1) }, 0, CJ_EINVAL,
      "1025 threads of a block in x, 1 more than the device's 1024", "" },
    { "threads in y", "k", { THREADS(1, 1026, 1) }, 0, CJ_EINVAL,
      "1026 threads of a block in y, 2 more than the device's 1024", "" },
    { "threads in z", "k", { THREADS(1, 1, 65) }, 0, CJ_EINVAL,
      "65 threads of a block in z, 1 more than the device's 64", "" },
    { "threads of a block", "k", { THREADS(64, 32, 1) }, 0, CJ_EINVAL,
      "a block of 64 x 32 x 1 is 2048 threads, 1024 more than the device's 1024", "; cj_kernel_suggest_block() has a" },
    { "launch bounds", "bounded", { THREADS(65, 1, 1) }, 0, CJ_EINVAL,
      "a block of 65 threads, 1 more than this kernel can have (64: its launch bounds, or its ",
      "; cj_kernel_suggest_block() has a" },
    { "a block that is not the required one", "exact", { THREADS(32, 1, 1) }, 0, CJ_EDRIVER,
      "takes blocks of just that shape; this one's block has at most 64 threads", "(cj_fn_required_threads)" },
    { "registers", "k", { THREADS(1024, 1, 1) }, INSTEAD(LAUNCH_OUT_OF_RESOURCES), CJ_EDRIVER,
      "a block has at most 65536 registers and 232448 bytes of shared memory, and this kernel's block at most 1024",
      ": launch smaller blocks" },
    /* shared memory */
    { "dynamic shared memory", "k", { ONE, .shared = 232449 }, 0, CJ_EINVAL,
      "232449 bytes of dynamic shared memory, 1 more than the 232448 that a block has beside the kernel's 0 static",
      "; launch smaller tiles" },
    { "static and dynamic shared memory", "fixed", { ONE, .shared = 232448 }, 0, CJ_EINVAL,
      "232448 bytes of dynamic shared memory, 1024 more than the 231424 that a block has beside the kernel's 1024",
      "; launch smaller tiles" },
    { "no dynamic shared memory", "shares", { ONE }, 0, CJ_EINVAL,
      "uses the dynamic shared variable room, and the launch gives it 0 bytes", "write cj_dims_shared(dims, bytes)" },
    /* clusters */
    { "a grid that is no multiple of the cluster", "k", { BLOCKS(3, 1, 1), .cluster = { 2, 1, 1 } }, 0, CJ_EINVAL,
      "3 blocks in x are no multiple of the cluster's 2", "; the next one is 4" },
    { "a cluster without a width", "k", { BLOCKS(2, 2, 1), .cluster = { 0, 2, 1 } }, 0, CJ_EINVAL,
      "a cluster of 0 x 2 x 1 blocks", "; cluster[0] is 1 or more" },
    { "a cluster that is too large", "k", { BLOCKS(32, 1, 1), .cluster = { 16, 1, 1 } }, 0, CJ_EDRIVER,
      "a cluster of such blocks has at most 8 of them, the launch asks for 16", "(CJ_KERNEL_CLUSTER_NONPORTABLE" },
    { "another cluster than the kernel's", "pairs", { BLOCKS(4, 1, 1), .cluster = { 4, 1, 1 } },
      INSTEAD(INVALID_CLUSTER_SIZE), CJ_EDRIVER,
      "the kernel has clusters of 2 x 1 x 1 blocks, the launch asks for 4 x 1 x 1",
      ": leave the cluster of the launch 0" },
    { "a grid that is no multiple of the kernel's cluster", "pairs", { BLOCKS(3, 1, 1) }, 0, CJ_EDRIVER,
      "the kernel has clusters of 2 x 1 x 1 blocks, the launch asks for 0 x 0 x 0",
      "make the grid a multiple of the kernel's" },
    { "a cooperative grid that is too large", "k",
      { .grid = { 10000, 1, 1 }, .block = { 1024, 1, 1 }, .cooperative = 1 }, 0, CJ_EDRIVER,
      "are resident at once: 264 of these are, on 132 multiprocessors, 9736 fewer than the grid has",
      ": launch that many, each in a loop" },
    /* memory of the launch */
    { "local memory", "local", { ONE }, 0, CJ_EDRIVER,
      "the kernel has 600000 bytes of local memory, and a thread less than 524288",
      ": arrays of that size belong into global memory" },
    { "stack and heap", "deep", { ONE }, INSTEAD(OUT_OF_MEMORY), CJ_ENOMEM,
      "270336 threads with 400000 bytes of stack or local memory each (this kernel: 400000) are 108134400000 bytes, "
      "the heap of malloc is 8388608",
      "are free: free memory, or set lower limits with cuCtxSetLimit" },
    /* attributes of the launch */
    { "events that the device lacks", "k",
      { ONE, .opts = CJ_LAUNCH(.has_priority = 1, .completion_event = (void *)rows) }, 0,
      CJ_ENOTSUP, "; the driver or the device lacks one of: priority, completion_event", "" },
    { "a window", "k", { ONE, .opts = CJ_LAUNCH(.window = { 4096 }, .window_bytes = (size_t)1 << 32) },
      INSTEAD(INVALID_VALUE), CJ_EDRIVER, "window_bytes is 4294967296, 4160753664 more than the device's 134213632",
      "" },
    { "domains", "k", { ONE, .opts = CJ_LAUNCH(.has_domains = 1, .domain_default = 4, .domain_remote = 1) }, 0,
      CJ_EDRIVER, "the domains are 4 and 1, and those of the device 0 .. 3", "" },
    { "a preferred cluster", "k",
      { BLOCKS(4, 1, 1), .cluster = { 2, 1, 1 }, .opts = CJ_LAUNCH(.preferred_cluster = { 3, 1, 1 }) }, 0, CJ_EINVAL,
      "the preferred cluster's 3 blocks in x are no multiple of the cluster's 2", "" },
    /* what a launch goes to */
    { "another context", "k", { ONE }, INSTEAD(INVALID_CONTEXT), CJ_EDRIVER,
      "the kernel or the stream is of another context, or its context is gone", "" },
    { "code for another device", "k", { ONE }, INSTEAD(NO_BINARY_FOR_GPU), CJ_EDRIVER,
      "the code is compiled for sm_90, the device is sm_90", "" },
};

/* A module that no kernel of can be launched is not loaded. */
static const struct { const char *name, *version; unsigned bytes; const char *says; } modules[] = {
    { "parameters before PTX 8.1", "7.8", 4353, "before PTX 8.1 a kernel's parameters have at most 4352 bytes" },
    { "parameters", "8.1", 32765, "a kernel's parameters have at most 32764 bytes" },
};

static void check_row(watch_bench *b, cj_module *mod, const limit_row *row)
{
    const cj_arg one = cj_arg_u(1);
    const size_t count = !strcmp(row->kernel, "k");
    if (row->instead) {
        const bool plain = !row->dims.opts && !row->dims.cluster[0];
        for (int tries = 0; tries < 2; tries++)
            watch_fail(plain ? CJI_CU_ID_cuLaunchKernel : CJI_CU_ID_cuLaunchKernelEx, 0, row->instead);
        cj_capture_begin(b->s, CJ_CAPTURE_THREAD); /* one try, which is not repeated */
    }
    tap_is_int(cj_launch_name_n(b->s, mod, row->kernel, &row->dims, &one, count), row->status, "%s", row->name);
    tap_has_str(cj_error_of(b->s)->message, row->says, "%s: the limit and the figures", row->name);
    tap_has_str(cj_error_of(b->s)->message, row->fix, "%s: what to do", row->name);
    watch_fail_none();
    if (row->instead) cj_graph_free(cj_capture_end(b->s));
    cj_stream_sync(b->s);
    cj_stream_sync(b->s);
}

static void check_modules(watch_bench *b)
{
    char ptx[300];
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        snprintf(ptx, sizeof ptx,
                 ".version %s\n.target sm_70\n.address_size 64\n.visible .entry k(.param .b8 p[%u])\n{\n ret;\n}\n",
                 modules[i].version, modules[i].bytes);
        cj_ptx *m = cj_parse(ptx, strlen(ptx), NULL);
        cj_kernel *k = cj_kernel_load(b->dev, m, "k", NULL);
        tap_is_int(cj_error_of(k)->status, CJ_EPTX, "%s", modules[i].name);
        tap_has_str(cj_error_of(k)->message, modules[i].says, "%s: the limit", modules[i].name);
        cj_kernel_free(k);
        cj_ptx_free(m);
    }
}

int main(void)
{
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    cj_module *mod = cj_module_load_text(b.dev, text, NULL);
    const cj_dims dims = { ONE };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&b, mod, &rows[i]);
    tap_ok(cj_launch_name_n(b.s, mod, "k", &dims, NULL, 0) == CJ_EINVAL &&
               strstr(cj_error_of(b.s)->message, "k takes 1 argument, here are 0: 1 (n)"),
           "a missing argument: %s", cj_error_of(b.s)->message);
    cj_stream_sync(b.s);
    cj_stream_sync(b.s);
    check_modules(&b);
    cj_module_free(mod);
    watch_teardown(&b);
    return tap_done();
}
