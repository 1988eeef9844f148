/* What declarations mean when a kernel runs: variables declared and then defined, addresses in initial values, aliases,
 * vector registers as parameters, incomplete initial values; and floats of old targets, which have no subnormals. */
#include "exec_harness.h"

static const uint32_t declared_want[] = { 10, 20, 20, 100, 77, 0, 77, 0, 3 };

static cji_exec_program *sample(const char *path)
{
    size_t bytes;
    char *text = tap_slurp(tap_source(path), &bytes);
    if (!text) tap_bail("%s cannot be read", path);
    cji_exec_program *p = ex_load(text);
    free(text);
    return p;
}

static void declared(void)
{
    cji_exec_fault fault;
    uint64_t param = EX_BASE;
    const uint32_t in[] = { 10, 20 };
    uint32_t out[9];
    cji_exec_program *p = sample("tests/ptx/samples/declared.ptx");
    memset(ex_memory, 0, 64);
    memcpy(ex_memory, in, sizeof in);
    tap_ok(ex_run(p, "k", 1, 1, 0, &param, &fault), "the kernel runs");
    memcpy(out, ex_memory, sizeof out);
    for (size_t i = 0; i < 9; i++) tap_is_uint(out[i], declared_want[i], "result %zu", i);
    cji_exec_program_free(p);
}

/* mul of two operands on a text's target. */
static uint32_t product(const char *head, uint32_t a, uint32_t b)
{
    char text[1024];
    cji_exec_fault fault;
    uint64_t param = EX_BASE;
    uint32_t r;
    snprintf(text, sizeof text,
             "%s.entry k(.param .u64 p) { .reg .u64 a; .reg .f32 x, y; ld.param.u64 a, [p]; ld.global.f32 x, [a]; "
             "ld.global.f32 y, [a+4]; mul.f32 x, x, y; st.global.f32 [a+8], x; exit; }\n", head);
    cji_exec_program *p = ex_load(text);
    memcpy(ex_memory, &a, 4);
    memcpy(ex_memory + 4, &b, 4);
    tap_ok(ex_run(p, "k", 1, 1, 0, &param, &fault), "a kernel runs: %.32s", head);
    memcpy(&r, ex_memory + 8, 4);
    cji_exec_program_free(p);
    return r;
}

/* Bodies without an instruction end at once, as functions and as kernels: what is behind them in the program is not
 * entered. */
static const struct { const char *name, *kernel; } empty[] = {
    { "a body of nothing", ".entry k(.param .u64 p) { }" },
    { "declarations alone", ".entry k(.param .u64 p) { .reg .u32 x; .shared .b32 s[4]; }" },
    { "a label", ".entry k(.param .u64 p) { L: }" },
    { "a scope", ".entry k(.param .u64 p) { { .reg .pred q; } }" },
    { "a function of nothing", ".func f() { } .entry k(.param .u64 p) { call f; ret; }" },
    { "a function with a result", ".func (.param .b32 r) f(.param .b32 a) { } .entry k(.param .u64 p) "
                                  "{ .param .b32 a, r; call (r), f, (a); ret; }" },
};

static void empty_bodies(void)
{
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        char text[1024];
        cji_exec_fault fault;
        uint64_t param = EX_BASE;
        uint32_t after;
        snprintf(text, sizeof text,
                 EX_HEAD "%s .entry z(.param .u64 p) { .reg .u64 a; .reg .u32 x; ld.param.u64 a, [p]; mov.u32 x, 1; "
                         "st.global.u32 [a], x; exit; }\n", empty[i].kernel);
        cji_exec_program *p = ex_load(text);
        memset(ex_memory, 0, 4);
        tap_ok(ex_run(p, "k", 1, 32, 0, &param, &fault), "%s: the kernel runs", empty[i].name);
        memcpy(&after, ex_memory, 4);
        tap_is_uint(after, 0, "%s: the next kernel does not", empty[i].name);
        cji_exec_program_free(p);
    }
}

/* Parameters that are read wider than they are, or from within one: at addresses that their types do not have. */
static void parameters_at_any_address(void)
{
    static const struct { const char *load; uint64_t want; } loads[] = {
        { "ld.param.u64 v, [b]", 0x8877665544332211 },    { "ld.param.s64 v, [b+1]", 0xff88776655443322 },
        { "ld.param.u32 w, [b+2]", 0x66554433 },          { "ld.param.s32 w, [b+3]", 0x77665544 },
        { "ld.param.u16 h, [b+1]", 0x3322 },              { "ld.param.v2.u32 {w, w2}, [b]", 0x44332211 },
    };
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        char text[1024];
        cji_exec_fault fault;
        uint64_t param[3] = { EX_BASE, UINT64_C(0x4433221100000000), 0xff88776655 }, out;
        snprintf(text, sizeof text,
                 EX_HEAD ".entry k(.param .u64 p, .param .u32 a, .param .u32 b, .param .u32 c, .param .u32 d) {\n"
                         ".reg .u64 x, v; .reg .u32 w, w2; .reg .u16 h; mov.u64 v, 0; mov.u32 w, 0; mov.u32 w2, 0; "
                         "mov.u16 h, 0; ld.param.u64 x, [p]; %s; %s st.global.u64 [x], v; exit; }\n", loads[i].load,
                 strstr(loads[i].load, " v,") ? "" : strstr(loads[i].load, " h,") ? "cvt.u64.u16 v, h;"
                                                                                   : "cvt.u64.u32 v, w;");
        cji_exec_program *p = ex_load(text);
        tap_ok(ex_run(p, "k", 1, 32, 0, param, &fault), "%s runs", loads[i].load);
        memcpy(&out, ex_memory, sizeof out);
        tap_ok(out == loads[i].want, "%s reads 0x%llx", loads[i].load, (unsigned long long)out);
        cji_exec_program_free(p);
    }
}

int main(void)
{
    const uint32_t least = 0x00800000, half = 0x3f000000;
    tap_plan(0);
    declared();
    empty_bodies();
    parameters_at_any_address();
    tap_is_uint(product(".version 1.4\n.target sm_13\n", least, half), 0, "sm_13 flushes subnormals");
    tap_is_uint(product(".version 2.0\n.target sm_20\n", least, half), 0x00400000, "sm_20 does not");
    return tap_done();
}
