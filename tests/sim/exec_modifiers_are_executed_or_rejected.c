/* A modifier changes what an instruction does, or the module is rejected when it is loaded, with a sentence that names
 * instruction, modifier and line: none is executed as if it were absent. */
#include "exec_harness.h"
#include "../ptx/isa_write.h"

/* %a %b %c: three inputs of 64 bits; %fa.. f32, %ga f64; the result is %d, %f or %g. */
#define MOD_HEAD ".version 8.8\n.target sm_100\n.address_size 64\n"
static const char mod_head[] = MOD_HEAD
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d, %a, %b, %c, %in, %out;\n"
    ".reg .f32 %f, %fa, %fb, %fc;\n.reg .f64 %g, %ga;\n.reg .pred %p;\n.shared .align 16 .b64 s[2];\n"
    "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n"
    "ld.global.b64 %a, [%in];\nld.global.b64 %b, [%in+8];\nld.global.b64 %c, [%in+16];\n"
    "cvt.u32.u64 %r0, %a;\ncvt.u32.u64 %r1, %b;\ncvt.u32.u64 %r2, %c;\n"
    "mov.b32 %fa, %r0;\nmov.b32 %fb, %r1;\nmov.b32 %fc, %r2;\nmov.b64 %ga, %a;\nmov.f64 %g, 0d0000000000000000;\n";
static const char mod_f32[] = "mov.b32 %r3, %f;\ncvt.u64.u32 %d, %r3;\n", mod_f64[] = "mov.b64 %d, %g;\n";
static const char mod_foot[] = "st.global.b64 [%out], %d;\nret;\n}\n";

#define U(x) UINT64_C(x)
static const struct { const char *text, *tail; uint64_t a, b, c, want; } executed[] = {
    /* magnitudes of three: .abs without .xorsign */
    { "min.f32 %f, %fa, %fb, %fc;", mod_f32, 0xbf800000, 0x40000000, 0xc0400000, 0xc0400000 },
    { "min.abs.f32 %f, %fa, %fb, %fc;", mod_f32, 0xbf800000, 0x40000000, 0xc0400000, 0x3f800000 },
    { "max.abs.f32 %f, %fa, %fb, %fc;", mod_f32, 0xbf800000, 0x40000000, 0xc0400000, 0x40400000 },
    { "max.ftz.NaN.abs.f32 %f, %fa, %fb, %fc;", mod_f32, 0xbf800000, 0x7fc00000, 0xc0400000, 0x7fffffff },
    { "max.ftz.abs.f32 %f, %fa, %fb, %fc;", mod_f32, 0x80000001, 0x00000001, 0x80000001, 0 },
    /* .f64: with .ftz the upper 32 bits only, and no subnormal inputs */
    { "rsqrt.approx.ftz.f64 %g, %ga;", mod_f64, U(0x4002000000000000), 0, 0, U(0x3fe5555500000000) },
    { "rsqrt.approx.f64 %g, %ga;", mod_f64, U(0x4002000000000000), 0, 0, U(0x3fe5555555555555) },
    { "rsqrt.approx.ftz.f64 %g, %ga;", mod_f64, 1, 0, 0, U(0x7ff0000000000000) },
    { "rsqrt.approx.f64 %g, %ga;", mod_f64, 1, 0, 0, U(0x6180000000000000) },
    /* cache policies have no effect */
    { "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %d, [%in], 64, 128;\n"
      "ld.global.L2::cache_hint.b64 %d, [%in+8], %d;", "", 1, 2, 3, 2 },
    /* the source of an asynchronous copy is ignored where the predicate holds */
    { "setp.ne.u32 %p, %r0, 0;\ncp.async.ca.shared.global [s], [%in+8], 8, %p;\ncp.async.wait_all;\n"
      "ld.shared.b64 %d, [s];", "", 0, 7, 0, 7 },
    { "setp.ne.u32 %p, %r0, 0;\ncp.async.ca.shared.global [s], [%in+8], 8, %p;\ncp.async.wait_all;\n"
      "ld.shared.b64 %d, [s];", "", 1, 7, 0, 0 },
};

static const struct { const char *text, *log; } rejected[] = {
    { ".reg .b16 %h;\nadd.rn.f32.f16 %f, %h, %fa;",
      "test.ptx:26: add.rn.f32.f16 has the modifier .f16, which the CPU device does not execute yet" },
    { ".reg .b16 %h;\nfma.rn.sat.f32.bf16 %f, %h, %h, %fa;", "fma.rn.sat.f32.bf16 has the modifier .bf16, which" },
    { ".reg .b16 %h;\nfma.rn.oob.f16 %h, %h, %h, %h;", "fma.rn.oob.f16 has the modifier .oob, which" },
};

static void mod_executed(size_t i)
{
    char text[4096];
    const char *log;
    snprintf(text, sizeof text, "%s%s\n%s%s", mod_head, executed[i].text, executed[i].tail, mod_foot);
    cji_exec_program *p = ex_try(text, &log);
    if (!tap_ok(p != NULL, "%s is executed", executed[i].text)) {
        tap_diag("%s", log);
        return;
    }
    uint64_t params[2] = { EX_BASE, EX_BASE + 256 }, in[3] = { executed[i].a, executed[i].b, executed[i].c }, out = 0;
    cji_exec_fault fault;
    memcpy(ex_memory, in, sizeof in);
    if (!tap_ok(ex_run(p, "k", 1, 1, 0, params, &fault), "%s: no fault", executed[i].text))
        tap_diag("%s", fault.sentence);
    memcpy(&out, ex_memory + 256, 8);
    tap_is_uint(out, executed[i].want, "%s", executed[i].text);
    cji_exec_program_free(p);
}

static void mod_rejected(size_t i)
{
    char text[4096];
    const char *log;
    snprintf(text, sizeof text, "%s%s\n%s", mod_head, rejected[i].text, mod_foot);
    cji_exec_program *p = ex_try(text, &log);
    tap_ok(p == NULL, "%s is rejected", rejected[i].text);
    tap_has_str(log, rejected[i].log, "%s: why", rejected[i].text);
    cji_exec_program_free(p);
}

/* Cuts the line that begins with `what`. */
static void mod_without(char *text, const char *what)
{
    char *at = strstr(text, what), *end = at ? strchr(at, '\n') : NULL;
    if (end) memmove(at, end + 1, strlen(end + 1) + 1);
}

/* Forms of the whole table: each loads, or the log names it. */
static void mod_samples(uint32_t step)
{
    unsigned bad = 0, loaded = 0, n = 0;
    for (uint32_t i = step / 2; i < cji_isa_forms(); i += step) {
        static char line[ISA_LINE], head[8192], text[16384];
        cji_isa_form f;
        if (!cji_isa_get(i, &f)) continue;
        uint8_t version = f.version;
        cji_targets targets = cji_target_set(f.targets);
        if (f.end_version || !isa_write(&f, 0, 0, line, &version, &targets)) continue;
        if (version < 60) version = 60;
        int target = cji_target_least(targets, &version);
        if (target < 0) continue;
        isa_write_head(head, sizeof head, version, cji_target_name((uint32_t)target));
        if (!strstr(line, "%b128_")) mod_without(head, ".reg .b128");
        snprintf(text, sizeof text, "%s%s\n%s", head, line, isa_write_tail);
        const char *log;
        cji_exec_program *p = ex_try(text, &log);
        bool fine = p || strstr(log, f.text) || strstr(log, "a register of 128 bits");
        if (!fine) tap_diag("%s: %s", f.text, log);
        n++;
        bad += !fine;
        loaded += p != NULL;
        cji_exec_program_free(p);
    }
    tap_ok(!bad && n > cji_isa_forms() / step / 2, "%u forms load, or the log names them", n);
    tap_ok(loaded * 10 > n * 9, "nine in ten of them load (%u)", loaded);
}

int main(void)
{
    tap_plan(0);
    tap_timeout(60);
    for (size_t i = 0; i < sizeof executed / sizeof *executed; i++) mod_executed(i);
    for (size_t i = 0; i < sizeof rejected / sizeof *rejected; i++) mod_rejected(i);
    mod_samples(tap_is_slow() ? 997 : 197);
    return tap_done();
}
