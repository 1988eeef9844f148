/* bench/sim: the instructions that sim_bench_forms.c leaves out: carries, two results, packing, special registers, what
 * lanes of a warp do together, control flow, and every load, store and atomic operation by type and state space. */
#include <stdio.h>
#include <string.h>

#include "bench/sim_bench.h"

enum { COPIES = 32, ROUNDS = 32, BLOCKS = 4, THREADS = 256, ROOM = 16384, TEXT = 65536 };

/* `@` is the number of the copy; %r1 to %r7, %rd1 to %rd7, %h1 to %h3 and %p1 have values, %r8, %rd8, %h8, %p2, %p3 and
 * the registers behind them are results. Each statement ends with its semicolon. */
static const char *const plain[] = {
    "add.cc.u32 %r8, %r1, %r2;", "addc.cc.u32 %r8, %r1, %r2;", "addc.u32 %r8, %r1, %r2;", "sub.cc.u32 %r8, %r1, %r2;",
    "subc.cc.u32 %r8, %r1, %r2;", "subc.u32 %r8, %r1, %r2;", "mad.lo.cc.u32 %r8, %r1, %r2, %r3;",
    "madc.lo.cc.u32 %r8, %r1, %r2, %r3;", "mad.hi.cc.u32 %r8, %r1, %r2, %r3;", "madc.hi.s32 %r8, %r1, %r2, %r3;",
    "add.cc.u64 %rd8, %rd1, %rd2;", "addc.cc.u64 %rd8, %rd1, %rd2;", "subc.cc.u64 %rd8, %rd1, %rd2;",
    "mad.lo.cc.u64 %rd8, %rd1, %rd2, %rd3;", "madc.hi.u64 %rd8, %rd1, %rd2, %rd3;",
    "madc.hi.cc.s64 %rd8, %rd1, %rd2, %rd3;",
    "setp.lt.s32 %p2|%p3, %r1, %r2;", "setp.lt.and.u32 %p2|%p3, %r1, %r2, %p1;",
    "setp.ge.or.s64 %p2, %rd1, %rd2, !%p1;",
    "setp.eq.xor.b16 %p2|%p3, %h1, %h2, %p1;", "lop3.or.b32 %r8|%p2, %r1, %r2, %r3, 0x96, %p1;",
    "and.pred %p2, %p1, %p3;", "not.pred %p2, %p1;", "mov.pred %p2, %p1;", "selp.b32 %r8, %r1, %r2, %p1;",
    "selp.b64 %rd8, %rd1, %rd2, %p1;", "@%p1 add.u32 %r8, %r1, %r2;", "@!%p1 mov.u64 %rd8, %rd1;",
    "mov.b32 {%h8, %h9}, %r1;", "mov.b32 %r8, {%h1, %h2};", "mov.b64 {%r8, %r9}, %rd1;", "mov.b64 %rd8, {%r1, %r2};",
    "mov.b64 {%h8, %h9, %h10, %h11}, %rd1;", "mov.b64 %rd8, {%h1, %h2, %h3, %h1};", "mov.b64 {_, %r9}, %rd1;",
    "mov.b32 %r8, {%b1, %b2, %b1, %b2};", "mov.b32 {%b8, %b9, %b10, %b11}, %r1;", "mov.b16 %h8, {%b1, %b2};",
    "mov.b16 {%b8, %b9}, %h1;", "mov.v2.u32 {%r8, %r9}, {%r1, %r2};", "mov.u64 %rd8, own;", "mov.u64 %rd8, shared;",
    "mov.u64 %rd8, words;", "mov.u32 %r8, 5;", "mov.u64 %rd8, function;",
    "cvta.to.global.u64 %rd8, %rd1;", "cvta.shared.u64 %rd8, %rd1;", "isspacep.const %p2, %rd1;",
    "mov.u32 %r8, %tid.x;", "mov.u32 %r8, %tid.y;", "mov.u16 %h8, %tid.x;", "mov.u32 %r8, %ntid.x;",
    "mov.u32 %r8, %ctaid.x;", "mov.u32 %r8, %nctaid.y;", "mov.u32 %r8, %laneid;", "mov.u32 %r8, %warpid;",
    "mov.u32 %r8, %smid;", "mov.u64 %rd8, %gridid;", "mov.u32 %r8, %lanemask_eq;", "mov.u32 %r8, %lanemask_lt;",
    "mov.u32 %r8, %lanemask_ge;", "mov.u32 %r8, %clock;", "mov.u64 %rd8, %clock64;", "mov.u64 %rd8, %globaltimer;",
    "mov.u32 %r8, %cluster_ctarank;", "mov.u32 %r8, %total_smem_size;", "add.u32 %r8, %r1, 7;",
    "vote.sync.all.pred %p2, %p1, 0xffffffff;", "vote.sync.any.pred %p2, !%p1, 0xffffffff;",
    "vote.sync.uni.pred %p2, %p1, 0xffffffff;", "vote.sync.ballot.b32 %r8, %p1, 0xffffffff;",
    "match.any.sync.b32 %r8, %r4, 0xffffffff;", "match.any.sync.b64 %r8, %rd4, 0xffffffff;",
    "match.any.sync.b32 %r8, %r5, 0xffffffff;", "match.all.sync.b32 %r8|%p2, %r4, 0xffffffff;",
    "match.all.sync.b64 %r8|%p2, %rd4, 0xffffffff;",
    "shfl.sync.idx.b32 %r8, %r1, %r2, 31, 0xffffffff;", "shfl.sync.up.b32 %r8|%p2, %r1, 1, 0, 0xffffffff;",
    "shfl.sync.down.b32 %r8, %r1, %r2, 0x101f, 0xffffffff;", "shfl.sync.bfly.b32 %r8|%p2, %r1, 4, 31, 0xffffffff;",
    "redux.sync.add.u32 %r8, %r1, 0xffffffff;", "redux.sync.min.s32 %r8, %r1, 0xffffffff;",
    "redux.sync.max.u32 %r8, %r1, 0xffffffff;", "redux.sync.and.b32 %r8, %r1, 0xffffffff;",
    "redux.sync.xor.b32 %r8, %r1, 0xffffffff;", "activemask.b32 %r8;", "elect.sync %r8|%p2, 0xffffffff;",
    "bar.warp.sync 0xffffffff;", "bar.sync 0;", "barrier.sync.aligned 1, 256;", "bar.red.popc.u32 %r8, 0, %p1;",
    "membar.gl;", "fence.acq_rel.gpu;", "prefetch.global.L2 [%rd6];", "nanosleep.u32 0;",
    "bra NEXT@;\nNEXT@:", "@%p1 bra NEXT@;\nNEXT@:", "@%p1 bra NEXT@;\nadd.u32 %r8, %r1, %r2;\nNEXT@:",
    "call function;", "call (%r8), sum, (%r1, %r2);", "call.uni (%rd8), %rd3, (%rd1), proto;",
    "mov.u32 %r9, 1;\nts@: .branchtargets NEXT@, LAST@;\nbrx.idx %r9, ts@;\nNEXT@:\nLAST@:",
};

/* `?`: the state space with a dot before it, nothing for a generic address; $: the address. */
static const struct { const char *ins, *types; } accesses[] = {
    { "ld?.T R, $;", "b8 u8 s8 b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64" },
    { "ld?.T %rd8, $;", "u8 s8 u16 s16 u32 s32" },
    { "ld?.T %r8, $;", "u16 s16" },
    { "ld?.v2.T {R, Q}, $;", "u8 s16 u32 f32 u64 f64" },
    { "ld?.v4.T {R, Q, R, Q}, $;", "s8 u16 u32 f32" },
    { "ld.volatile?.T R, $;", "u8 u16 u32 u64" },
    { "ld.relaxed.gpu?.T R, $;", "u32 u64" },
    { "ld.acquire.gpu?.T R, $;", "u32 u64" },
    { "st?.T $, V;", "b8 u8 s8 b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64" },
    { "st?.T $, %rd1;", "u8 u16 u32" },
    { "st?.v2.T $, {V, V};", "u8 s16 u32 f32 u64 f64" },
    { "st?.v4.T $, {V, V, V, V};", "s8 u16 u32 f32" },
    { "st.volatile?.T $, V;", "u8 u16 u32 u64" },
    { "st.relaxed.gpu?.T $, V;", "u32 u64" },
    { "st.release.gpu?.T $, V;", "u32 u64" },
    { "atom?.add.T R, $, V;", "u32 s32 u64 f32 f64" },
    { "atom?.add.noftz.T R, $, V;", "f16 f16x2" },
    { "atom?.and.T R, $, V;", "b32 b64" },
    { "atom?.exch.T R, $, V;", "b32 b64" },
    { "atom?.cas.T R, $, V, V;", "b16 b32 b64" },
    { "atom?.min.T R, $, V;", "u32 s32 u64 s64" },
    { "atom?.max.T R, $, V;", "u32 s32 u64 s64" },
    { "atom?.inc.T R, $, V;", "u32" },
    { "atom?.dec.T R, $, V;", "u32" },
    { "red?.add.T $, V;", "u32 s32 u64 f32 f64" },
    { "red?.add.noftz.T $, V;", "f16x2" },
    { "red?.xor.T $, V;", "b32 b64" },
    { "red?.min.T $, V;", "u32 s32 u64 s64" },
    { "red?.inc.T $, V;", "u32" },
};
static const char *const spaces[] = { "global", "shared", "local", "const", "", "param" };

typedef struct other_text { char s[TEXT]; size_t n; } other_text;

/* Appends `from`; each `mark` becomes `by`. */
static void other_put(other_text *t, const char *from, char mark, const char *by)
{
    for (; *from && t->n + 1 < TEXT; from++)
        if (*from != mark) t->s[t->n++] = *from;
        else t->n += (size_t)snprintf(t->s + t->n, TEXT - t->n, "%s", by);
    t->s[t->n < TEXT ? t->n : TEXT - 1] = 0;
}

/* A kernel with COPIES of a statement in a loop. `address`: how %rd6 begins; `step`: bytes from lane to lane. */
static void other_kernel(other_text *t, const char *ins, const char *address, unsigned step)
{
    char number[16];
    t->n = 0;
    other_put(t,
              ".version 8.2\n.target sm_90\n.address_size 64\n.const .align 16 .b8 fixed[16384];\n"
              ".global .align 16 .b8 words[64];\n.func function()\n{\nret;\n}\n"
              ".func (.reg .b32 %s) sum(.reg .b32 %a, .reg .b32 %b)\n{\nadd.u32 %s, %a, %b;\nret;\n}\n"
              ".func (.reg .b64 %s) twice(.reg .b64 %a)\n{\nadd.u64 %s, %a, %a;\nret;\n}\n"
              ".visible .entry k(.param .u64 buffer, .param .align 16 .b8 room[64])\n{\n"
              ".reg .b64 %rd<12>;\n.reg .b32 %r<12>;\n.reg .b16 %h<12>;\n.reg .b8 %b<12>;\n.reg .f32 %f<12>;\n"
              ".reg .f64 %d<12>;\n.reg .pred %p<4>;\n.shared .align 16 .b8 shared[16384];\n"
              ".local .align 16 .b8 own[64];\nproto: .callprototype (.reg .b64 _) _ (.reg .b64 _);\n"
              "mov.u32 %r1, %tid.x;\nmad.lo.u32 %r1, %r1, 0x9e3779b1, 12345;\nmad.lo.u32 %r2, %r1, %r1, 99;\n"
              "shr.u32 %r3, %r2, 3;\nand.b32 %r4, %r1, 0;\nand.b32 %r5, %r2, 3;\nmov.u32 %r6, 3;\nmov.u32 %r7, 1;\n"
              "cvt.u64.u32 %rd1, %r1;\nmul.wide.u32 %rd2, %r1, %r2;\ncvt.u64.u32 %rd4, %r4;\nmov.u64 %rd3, twice;\n"
              "mov.u64 %rd5, 5;\nmov.u64 %rd7, 1;\ncvt.u16.u32 %h1, %r1;\ncvt.u16.u32 %h2, %r2;\nmov.b16 %h3, 7;\n"
              "cvt.u8.u32 %b1, %r1;\ncvt.u8.u32 %b2, %r2;\nmov.f32 %f1, 0f3F800000;\nmov.f64 %d1, 0d3FF0000000000000;\n"
              "setp.ne.u32 %p1, %r5, 0;\nsetp.eq.u32 %p3, %r5, 1;\n",
              0, "");
    other_put(t, address, 0, "");
    snprintf(number, sizeof number, "%u", step);
    other_put(t, "mov.u32 %r8, %tid.x;\nmul.wide.u32 %rd8, %r8, #;\nadd.u64 %rd6, %rd6, %rd8;\n", '#', number);
    other_put(t, "mov.u32 %r10, 32;\nLOOP:\n", 0, "");
    for (int i = 0; i < COPIES; i++) {
        snprintf(number, sizeof number, "%d", i);
        if (*ins == '@') {    /* a guard */
            other_put(t, "@", 0, "");
            other_put(t, ins + 1, '@', number);
        } else other_put(t, ins, '@', number);
        other_put(t, "\n", 0, "");
    }
    other_put(t, "sub.u32 %r10, %r10, 1;\nsetp.ne.u32 %p2, %r10, 0;\n@%p2 bra LOOP;\nret;\n}\n", 0, "");
}

typedef struct other_run { const sim_bench *b; sim_bench_code code; CUdeviceptr buffer; size_t slow, n; } other_run;

static void other_round(void *user)
{
    other_run *r = user;
    unsigned char room[64] = { 0 };
    void *params[] = { &r->buffer, room };
    sim_bench_launch(r->b, r->code.kernel, (const unsigned[]){ BLOCKS, 1 }, (const unsigned[]){ THREADS, 1 }, params);
}

/* One line; false: the device rejects the text. `statements`: of a copy that lanes execute. */
static bool other_measure(other_run *r, const char *name, const other_text *t, unsigned statements)
{
    char log[2000];
    sim_bench quick = { .seconds = r->b->seconds / 4 };
    if (!sim_bench_load(r->b, t->s, "k", &r->code, log, sizeof log))
        return fprintf(stderr, "sim: %s: %s\n", name, log), false;
    double rate = (double)BLOCKS * THREADS * (COPIES * statements + 3) * ROUNDS /
                  sim_bench_best(&quick, other_round, r);
    r->b->cuModuleUnload(r->code.module);
    r->n++;
    r->slow += rate < 0.5e9;
    if (r->b->all || rate < 0.5e9) sim_bench_report("other", name, "", rate * 1e-9, "G/s");
    return true;
}

static bool other_plain(other_run *r, other_text *t)
{
    bool good = true;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        char name[80] = "";
        size_t n = 0;
        unsigned statements = 0;
        if (r->b->only && strncmp(plain[i], r->b->only, strlen(r->b->only))) continue;
        for (const char *s = plain[i]; *s && n + 1 < sizeof name; s++)
            if (*s != ';' && *s != '\n' && *s != '@') name[n++] = *s == ' ' ? '_' : *s;
        for (const char *s = plain[i]; *s; s++) statements += *s == ';';
        if (strstr(plain[i], ".branchtargets") || strstr(plain[i], "bra NEXT@;\nadd")) statements--;
        if (!strncmp(plain[i], "call", 4)) statements += 1 + (plain[i][5] != 'f');    /* what is called */
        other_kernel(t, plain[i], "mov.u64 %rd6, shared;\n", 0);
        good &= other_measure(r, name, t, statements);
    }
    return good;
}

/* Registers of a type: `which` 'R', 'Q': results; 'V': a value. */
static const char *other_register(const char *type, char which)
{
    static const char *const names[][4] = { { "8", "%b8", "%b9", "%b1" },    { "16", "%h8", "%h9", "%h3" },
                                            { "32", "%r8", "%r9", "%r7" },   { "64", "%rd8", "%rd9", "%rd7" },
                                            { "f32", "%f8", "%f9", "%f1" },  { "f64", "%d8", "%d9", "%d1" },
                                            { "16x2", "%r8", "%r9", "%r7" }, { "f16", "%h8", "%h9", "%h3" } };
    size_t best = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(type, names[i][0]) || !strcmp(type + 1, names[i][0])) best = i;
    return names[best][which == 'R' ? 1 : which == 'Q' ? 2 : 3];
}

static unsigned other_bytes(const char *ins, const char *type)
{
    unsigned one = strstr(type, "64") ? 8 : strstr(type, "32") || strstr(type, "x2") ? 4 : strstr(type, "16") ? 2 : 1;
    return one * (strstr(ins, ".v4") ? 4 : strstr(ins, ".v2") ? 2 : 1);
}

static bool other_space(const char *ins, const char *space)
{
    bool load = !strncmp(ins, "ld", 2), weak = ins[2] == '?', atomic = *ins == 'a' || *ins == 'r';
    if (!strcmp(space, "const") || !strcmp(space, "param")) return load && weak;
    if (!strcmp(space, "local")) return !atomic && weak;
    return true;
}

static bool other_access(other_run *r, other_text *t, const char *ins, const char *space, const char *type)
{
    char line[200] = "", name[120];
    size_t n = 0;
    unsigned bytes = other_bytes(ins, type), step = !strcmp(space, "param") || !strcmp(space, "local") ? 0 : bytes;
    for (const char *s = ins; *s && n < sizeof line - 20; s++) {
        bool end = *s == 'T' || *s == '?' || *s == '$' || *s == 'R' || *s == 'Q' || *s == 'V';
        if (!end) line[n++] = *s, line[n] = 0;
        else
            n += (size_t)snprintf(line + n, sizeof line - n, "%s%s", *s == '?' && *space ? "." : "",
                                  *s == 'T'   ? type
                                  : *s == '?' ? space
                                  : *s == '$' ? !strcmp(space, "param") ? "[room]" : "[%rd6]"
                                              : other_register(type, *s));
    }
    snprintf(name, sizeof name, "%.*s%s", (int)strcspn(line, " "), line,
             *space ? strstr(ins, "%rd") ? ".wide" : "" : ".generic");
    if (r->b->only && strncmp(name, r->b->only, strlen(r->b->only))) return true;
    other_kernel(t, line,
                 !strcmp(space, "global") || !*space ? "ld.param.u64 %rd6, [buffer];\n"
                 : !strcmp(space, "shared")          ? "mov.u64 %rd6, shared;\n"
                 : !strcmp(space, "local")           ? "mov.u64 %rd6, own;\n"
                 : !strcmp(space, "const")           ? "mov.u64 %rd6, fixed;\n"
                                                     : "mov.u64 %rd6, 0;\n",
                 step);
    return other_measure(r, name, t, 1);
}

static bool other_accesses(other_run *r, other_text *t)
{
    bool good = true;
    for (size_t s = 0; s < sizeof spaces / sizeof *spaces; s++)
        for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++) {
            if (!other_space(accesses[i].ins, spaces[s])) continue;
            for (const char *at = accesses[i].types; *at;) {
                char type[8] = "";
                size_t len = strcspn(at, " ");
                memcpy(type, at, len < sizeof type ? len : sizeof type - 1);
                at += len + (at[len] == ' ');
                good &= other_access(r, t, accesses[i].ins, spaces[s], type);
            }
        }
    return good;
}

bool sim_bench_others(const sim_bench *b)
{
    static other_text text;
    other_run r = { .b = b };
    sim_bench_check(b->cuMemAlloc_v2(&r.buffer, ROOM), "cuMemAlloc");
    sim_bench_check(b->cuMemsetD8_v2(r.buffer, 0, ROOM), "cuMemsetD8");
    bool good = other_plain(&r, &text);
    good &= other_accesses(&r, &text);
    b->cuMemFree_v2(r.buffer);
    sim_bench_report("others", "", "measured", (double)r.n, "instructions");
    sim_bench_report("others", "", "below_half_g", (double)r.slow, "instructions");
    return good;
}
