/* bench/sim: launches of small kernels, and how fast a module is loaded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sim_bench.h"

enum { LAUNCHES = 1000, LOAD_INSTRUCTIONS = 100000 };

static const char small_text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                                 ".visible .entry empty()\n{\nret;\n}\n"
                                 ".visible .entry small(.param .u64 p, .param .u32 n)\n{\n"
                                 ".reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n"
                                 "ld.param.u64 %rd1, [p];\nld.param.u32 %r2, [n];\nmov.u32 %r1, %tid.x;\n"
                                 "setp.ge.u32 %p1, %r1, %r2;\n@%p1 bra END;\nmul.wide.u32 %rd2, %r1, 4;\n"
                                 "add.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;\nEND:\nret;\n}\n";

typedef struct calls { const sim_bench *b; CUfunction f; CUdeviceptr p; bool each; char *text; } calls;

static void call_round(void *user)
{
    calls *c = user;
    uint32_t n = 32;
    void *params[] = { &c->p, &n };
    for (int i = 0; i < LAUNCHES; i++) {
        sim_bench_check(c->b->cuLaunchKernel(c->f, 1, 1, 1, 32, 1, 1, 0, c->b->stream, params, NULL), "a launch");
        if (c->each) sim_bench_check(c->b->cuStreamSynchronize(c->b->stream), "a kernel");
    }
    if (!c->each) sim_bench_check(c->b->cuStreamSynchronize(c->b->stream), "a kernel");
}

static void load_round(void *user)
{
    calls *c = user;
    char log[2000];
    sim_bench_code code;
    if (!sim_bench_load(c->b, c->text, "k", &code, log, sizeof log)) {
        fprintf(stderr, "sim: %s\n", log);
        exit(1);
    }
    c->b->cuModuleUnload(code.module);
}

/* As nvcc writes it: an unrolled loop of loads, arithmetic and stores. */
static char *load_text(void)
{
    static const char body[] = "\tld.global.nc.f32 \t%f1, [%rd4+4];\n\tld.global.f32 \t%f2, [%rd5+8];\n"
                               "\tfma.rn.f32 \t%f3, %f1, %f2, %f3;\n\tadd.s32 \t%r5, %r5, 1;\n"
                               "\tmul.wide.s32 \t%rd6, %r5, 4;\n\tadd.s64 \t%rd4, %rd4, %rd6;\n"
                               "\tshl.b32 \t%r6, %r5, 2;\n\tand.b32  \t%r7, %r6, 255;\n"
                               "\tst.global.f32 \t[%rd5+12], %f3;\n\tcvt.rn.f32.s32 \t%f4, %r7;\n";
    static const char head[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(\n\t.param .u64 k_0\n)"
                               "\n{\n\t.reg .f32 \t%f<8>;\n\t.reg .b32 \t%r<8>;\n\t.reg .b64 \t%rd<8>;\n\n"
                               "\tld.param.u64 \t%rd4, [k_0];\n\tcvta.to.global.u64 \t%rd5, %rd4;\n";
    size_t n = LOAD_INSTRUCTIONS / 10, at = sizeof head - 1;
    char *text = malloc(sizeof head + n * (sizeof body - 1) + 16);
    if (!text) return NULL;
    memcpy(text, head, at);
    for (size_t i = 0; i < n; i++, at += sizeof body - 1) memcpy(text + at, body, sizeof body - 1);
    strcpy(text + at, "\tret;\n\n}\n");
    return text;
}

bool sim_bench_calls(const sim_bench *b)
{
    calls c = { .b = b };
    sim_bench_code code;
    char log[2000];
    CUfunction small;
    if (!sim_bench_load(b, small_text, "empty", &code, log, sizeof log))
        return fprintf(stderr, "sim: %s\n", log), false;
    sim_bench_check(b->cuModuleGetFunction(&small, code.module, "small"), "small");
    sim_bench_check(b->cuMemAlloc_v2(&c.p, 4096), "cuMemAlloc");
    static const char *const names[] = { "launch_sync_us", "small_launch_sync_us", "queued_launch_us",
                                         "small_queued_launch_us" };
    for (int i = 0; i < 4; i++) {
        c.f = i & 1 ? small : code.kernel;
        c.each = i < 2;
        sim_bench_report(names[i], "", "", sim_bench_best(b, call_round, &c) / LAUNCHES * 1e6, "us");
    }
    b->cuMemFree_v2(c.p);
    b->cuModuleUnload(code.module);
    c.text = load_text();
    if (!c.text) return fprintf(stderr, "sim: no memory\n"), false;
    sim_bench_report("load_bytes_per_s", "", "", (double)strlen(c.text) / sim_bench_best(b, load_round, &c), "bytes/s");
    free(c.text);
    return true;
}
