/* bench/sim: loads, stores and atomic operations alone, by state space, width and shape of a warp's addresses. */
#include <stdio.h>
#include <string.h>

#include "bench/sim_bench.h"

enum { COPIES = 32, ROUNDS = 64, BLOCKS = 4, THREADS = 256, ROOM = 8192 };

/* The byte offset of a thread, of elements of `size` bytes: side by side; one place for all; the two halves of a warp
 * each side by side; the halves each at one place; all over the room. */
static const struct { const char *name, *offset; } shapes[] = {
    { "line", "mul.lo.u32 %r5, %r4, SIZE;\n" },
    { "same", "mov.u32 %r5, 64;\n" },
    { "halves", "and.b32 %r5, %r4, 15;\nmul.lo.u32 %r5, %r5, SIZE;\nshr.u32 %r6, %r4, 4;\nand.b32 %r6, %r6, 1;\n"
                "mad.lo.u32 %r5, %r6, 4096, %r5;\n" },
    { "two", "shr.u32 %r5, %r4, 4;\nand.b32 %r5, %r5, 1;\nshl.b32 %r5, %r5, 8;\n" },
    { "any", "mul.lo.u32 %r5, %r4, 40503;\nshr.u32 %r5, %r5, 4;\nand.b32 %r5, %r5, 511;\n"
             "mul.lo.u32 %r5, %r5, SIZE;\n" },
};

/* `$` is the address. */
static const struct { const char *spelling, *ins; unsigned size; } widths[] = {
    { "ld.%s.u8", "ld.%s.u8 %%r8, $;", 1 },
    { "ld.%s.s16", "ld.%s.s16 %%r8, $;", 2 },
    { "ld.%s.u32", "ld.%s.u32 %%r8, $;", 4 },
    { "ld.%s.u64", "ld.%s.u64 %%rd8, $;", 8 },
    { "ld.%s.v2.u32", "ld.%s.v2.u32 {%%r8, %%r9}, $;", 8 },
    { "ld.%s.v4.f32", "ld.%s.v4.f32 {%%f1, %%f2, %%f3, %%f4}, $;", 16 },
    { "ld.%s.v2.f64", "ld.%s.v2.f64 {%%d1, %%d2}, $;", 16 },
    { "st.%s.u8", "st.%s.u8 $, %%r7;", 1 },
    { "st.%s.u32", "st.%s.u32 $, %%r7;", 4 },
    { "st.%s.u64", "st.%s.u64 $, %%rd7;", 8 },
    { "st.%s.v4.u32", "st.%s.v4.u32 $, {%%r7, %%r4, %%r5, %%r7};", 16 },
    { "red.%s.add.u32", "red.%s.add.u32 $, %%r7;", 4 },
    { "atom.%s.add.u32", "atom.%s.add.u32 %%r8, $, %%r7;", 4 },
    { "atom.%s.max.s32", "atom.%s.max.s32 %%r8, $, %%r7;", 4 },
    { "atom.%s.cas.b32", "atom.%s.cas.b32 %%r8, $, %%r7, %%r4;", 4 },
    { "red.%s.add.f32", "red.%s.add.f32 $, %%f5;", 4 },
    { "atom.%s.add.u64", "atom.%s.add.u64 %%rd8, $, %%rd7;", 8 },
    { "atom.%s.add.noftz.f16", "atom.%s.add.noftz.f16 %%h8, $, %%h1;", 2 },
    { "atom.%s.add.noftz.f16x2", "atom.%s.add.noftz.f16x2 %%r8, $, %%r7;", 4 },
    { "atom.%s.cas.b16", "atom.%s.cas.b16 %%h8, $, %%h1, %%h2;", 2 },
};

static const char *const spaces[] = { "global", "shared", "local", "const", "generic", "param" };

static bool has(const char *space, const char *spelling)
{
    bool load = !strncmp(spelling, "ld", 2), atomic = !strncmp(spelling, "atom", 4) || !strncmp(spelling, "red", 3);
    if (!strcmp(space, "const") || !strcmp(space, "param")) return load;
    return strcmp(space, "local") != 0 || !atomic;
}

/* Copies `from`, with `name` replaced by `by`. */
static void put(char *out, size_t size, const char *from, const char *name, const char *by)
{
    size_t n = strlen(out);
    for (; *from && n + 1 < size; from++)
        if (strncmp(from, name, strlen(name))) out[n++] = *from;
        else {
            n += (size_t)snprintf(out + n, size - n, "%s", by);
            from += strlen(name) - 1;
        }
    out[n] = 0;
}

static void access_text(char *out, size_t size, const char *space, size_t width, size_t shape)
{
    bool param = !strcmp(space, "param"), global = !strcmp(space, "global") || !strcmp(space, "generic");
    char ins[100], number[16], word[16] = "";
    snprintf(number, sizeof number, "%u", widths[width].size);
    snprintf(out, size,
             ".version 8.0\n.target sm_80\n.address_size 64\n%s"
             ".visible .entry k(.param .u64 pbuf, .param .align 16 .b8 room[64])\n{\n.reg .b64 %%rd<12>;\n"
             ".reg .b32 %%r<12>;\n.reg .b16 %%h<12>;\n.reg .f32 %%f<8>;\n.reg .f64 %%d<4>;\n.reg .pred %%p<2>;\n"
             "%smov.u32 %%r4, %%tid.x;\nmov.u32 %%r7, 1;\nmov.u64 %%rd7, 1;\nmov.f32 %%f5, 0f3F800000;\n"
             "mov.b16 %%h1, 0x3C00;\nmov.b16 %%h2, 1;\n",
             !strcmp(space, "const") ? ".const .align 16 .b8 words[8192];\n" : "",
             !strcmp(space, "shared")  ? ".shared .align 16 .b8 block[8192];\n"
             : !strcmp(space, "local") ? ".local .align 16 .b8 own[8192];\n"
                                       : "");
    put(out, size, shapes[shape].offset, "SIZE", number);
    put(out, size, "cvt.u64.u32 %rd5, %r5;\n", "$", "");
    put(out, size,
        global                     ? "ld.param.u64 %rd4, [pbuf];\n"
        : !strcmp(space, "shared") ? "mov.u64 %rd4, block;\n"
        : !strcmp(space, "local")  ? "mov.u64 %rd4, own;\n"
        : !strcmp(space, "const")  ? "mov.u64 %rd4, words;\n"
                                   : "mov.u64 %rd4, 0;\n",
        "$", "");
    put(out, size, "add.s64 %rd6, %rd4, %rd5;\nmov.u32 %r10, 64;\nLOOP:\n", "$", "");
    /* a generic address is written without a space */
    snprintf(word, sizeof word, "%s", strcmp(space, "generic") ? space : "?");
    snprintf(ins, sizeof ins, widths[width].ins, word);
    char *question = strstr(ins, ".?");
    if (question) memmove(question, question + 2, strlen(question + 2) + 1);
    for (int i = 0; i < COPIES; i++) {
        put(out, size, ins, "$", param ? "[room]" : "[%rd6]");
        put(out, size, "\n", "$", "");
    }
    put(out, size, "sub.u32 %r10, %r10, 1;\nsetp.ne.u32 %p1, %r10, 0;\n@%p1 bra LOOP;\nret;\n}\n", "$", "");
}

typedef struct access_run { const sim_bench *b; sim_bench_code code; CUdeviceptr buffer; } access_run;

static void access_round(void *user)
{
    access_run *r = user;
    unsigned char room[64] = { 0 };
    void *params[] = { &r->buffer, room };
    sim_bench_launch(r->b, r->code.kernel, (const unsigned[]){ BLOCKS, 1 }, (const unsigned[]){ THREADS, 1 }, params);
}

bool sim_bench_accesses(const sim_bench *b)
{
    static char text[8192];
    char log[2000], name[100], word[80];
    access_run r = { .b = b };
    sim_bench quick = { .seconds = b->seconds / 4 };     /* there are hundreds of them */
    bool good = true;
    sim_bench_check(b->cuMemAlloc_v2(&r.buffer, ROOM), "cuMemAlloc");
    sim_bench_check(b->cuMemsetD8_v2(r.buffer, 0, ROOM), "cuMemsetD8");
    for (size_t s = 0; s < sizeof spaces / sizeof *spaces; s++)
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
            snprintf(word, sizeof word, widths[i].spelling, spaces[s]);
            if (!has(spaces[s], word) || (b->only && strncmp(word, b->only, strlen(b->only)))) continue;
            for (size_t j = 0; j < sizeof shapes / sizeof *shapes; j++) {
                if (!strcmp(spaces[s], "param") && j) continue;
                access_text(text, sizeof text, spaces[s], i, j);
                if (!sim_bench_load(b, text, "k", &r.code, log, sizeof log)) {
                    fprintf(stderr, "sim: %s: %s\n", word, log);
                    good = false;
                    continue;
                }
                double t = sim_bench_best(&quick, access_round, &r);
                snprintf(name, sizeof name, "%s.%s", word, shapes[j].name);
                sim_bench_report("access", name, "", (double)BLOCKS * THREADS * (COPIES + 3) * ROUNDS / t * 1e-9,
                                 "G/s");
                b->cuModuleUnload(r.code.module);
            }
        }
    b->cuMemFree_v2(r.buffer);
    return good;
}
