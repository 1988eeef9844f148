/* Operands that ptxas takes and builders do not write: elements of arrays, addresses with an offset, vectors of one,
 * whole vectors, special registers as narrower types, modifiers in another order.  Each text is loaded and run. */
#include <cujit/cujit.h>

#include <stdio.h>

#include "tests/device_bench.h"

enum { N = 2, OUT = 8 };

static const uint32_t ka[4] = { 31, 32, 33, 34 };

/* The kernel's frame: %n is N, %r1 or %d0 is the result. */
static const char head[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".global .u32 g[4] = { 7, 8, 9, 10 };\n.global .u32 g2[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };\n"
    ".global .v2 .u32 gv[2] = { { 11, 12 }, { 13, 14 } };\n.const .u64 c[3] = { 21, 22, 23 };\n"
    ".visible .entry k(.param .u64 out, .param .u32 n, .param .align 4 .b8 ka[16])\n{\n"
    ".reg .b32 %r<9>; .reg .u32 %u<9>, %n; .reg .s32 %s<3>; .reg .b64 %d<9>, %o; .reg .u64 %w<3>;\n"
    ".reg .u16 %h<9>; .reg .s16 %i<3>; .reg .b16 %b<3>; .reg .f32 %f<3>; .reg .pred %p<3>; .reg .v2 .u32 v;\n"
    ".shared .align 8 .u32 sh[4]; .local .align 8 .u32 lo[4];\n"
    "ld.param.u64 %o, [out]; ld.param.u32 %n, [n]; mov.b32 %r1, 0; mov.b64 %d0, 0;\n";
static const char tail[] = "\ncvt.u64.u32 %d8, %r1; add.s64 %d0, %d0, %d8; st.global.u64 [%o], %d0; ret;\n}\n";

static const struct { const char *name, *body; uint64_t want; } rows[] = {
    /* elements of arrays */
    { "an element by number", "ld.global.u32 %r1, g[1];", 8 },
    { "by register", "ld.global.u32 %r1, g[%n];", 9 },
    { "by register and number", "ld.global.u32 %r1, g[%n+1];", 10 },
    { "by a register with a guard", "setp.eq.u32 %p1, %n, 2; @!%p1 ld.global.u32 %r1, g[%n];", 0 },
    { "by a register of 16 bits", "cvt.u16.u32 %h1, %n; ld.global.u32 %r1, g[%h1];", 9 },
    { "by a negative one and a number", "mov.s16 %i1, -1; ld.global.u32 %r1, g[%i1+3];", 9 },
    { "by a register of 64 bits", "cvt.u64.u32 %w1, %n; ld.global.u32 %r1, g[%w1];", 9 },
    { "with a generic access", "ld.u32 %r1, g[%n];", 9 },
    { "of an array of arrays: scalars count", "ld.global.u32 %r1, g2[4];", 5 },
    { "of an array of vectors: scalars count", "ld.global.u32 %r1, gv[%n+1];", 14 },
    { "of constants", "ld.const.u64 %d0, c[%n];", 23 },
    { "of a parameter", "ld.param.u32 %r1, ka[4];", 32 },
    { "stored to", "st.global.u32 g[%n], 99; ld.global.u32 %r1, [g+8];", 99 },
    { "of shared memory", "st.shared.u32 sh[%n], 77; ld.shared.u32 %r1, [sh+8];", 77 },
    { "of shared memory, generic", "st.shared.u32 [sh+8], 78; ld.u32 %r1, sh[%n];", 78 },
    { "of local memory, generic", "st.local.u32 [lo+8], 79; ld.u32 %r1, lo[%n];", 79 },
    { "a vector of elements", "ld.global.v2.u32 {%u1, %u2}, g[%n]; mad.lo.u32 %r1, %u1, 100, %u2;", 910 },
    { "its address", "mov.u64 %d1, g[1]; mov.u64 %d2, g; sub.s64 %d0, %d1, %d2;", 4 },
    { "its address by register", "mov.u64 %d1, g[%n]; mov.u64 %d2, g; sub.s64 %d0, %d1, %d2;", 8 },
    { "its address in 32 bits", "mov.u32 %r2, sh[%n]; mov.u32 %r3, sh; sub.s32 %r1, %r2, %r3;", 8 },
    { "its generic address", "cvta.shared.u64 %d1, sh[%n]; st.u32 [%d1], 66; ld.shared.u32 %r1, [sh+8];", 66 },
    /* addresses with an offset */
    { "an address and a number", "mov.u64 %d1, g+8; ld.global.u32 %r1, [%d1];", 9 },
    { "of shared memory, in 32 bits", "mov.u32 %r2, sh+8; mov.u32 %r3, sh; sub.s32 %r1, %r2, %r3;", 8 },
    { "of local memory", "st.local.u32 [lo+4], 55; mov.u64 %d1, lo+4; ld.local.u32 %r1, [%d1];", 55 },
    { "and a negative number", "mov.u64 %d1, g+-4; ld.global.u32 %r1, [%d1+8];", 8 },
    { "made generic", "cvta.global.u64 %d1, g+4; ld.u32 %r1, [%d1];", 8 },
    /* vectors of one, and whole vectors */
    { "stores and loads of vectors of one", "st.shared.b32 [sh], {%n}; ld.shared.b32 {%r1}, [sh];", N },
    { "a number in a vector of one", "st.shared.b32 [sh], {41}; ld.shared.b32 {%r1}, [sh];", 41 },
    { "moves of vectors of one", "mov.b32 {%r2}, %n; mov.b32 %r1, {%r2};", N },
    { "whole vectors that exchange their registers",
      "mov.u32 %u1, 3; mov.u32 %u2, 5; mov.v2.u32 {%u1, %u2}, {%u2, %u1}; mad.lo.u32 %r1, %u1, 100, %u2;", 503 },
    { "four registers that rotate",
      "mov.u16 %h1, 1; mov.u16 %h2, 2; mov.u16 %h3, 3; mov.u16 %h4, 4; mov.v4.u16 {%h1, %h2, %h3, %h4}, "
      "{%h4, %h1, %h2, %h3}; mad.lo.u16 %h5, %h1, 10, %h2; mad.lo.u16 %h6, %h3, 10, %h4; "
      "mul.wide.u16 %u1, %h5, 100; cvt.u32.u16 %u2, "
      "%h6; add.u32 %r1, %u1, %u2;", 4123 },
    { "with numbers and a dropped one",
      "mov.u32 %u2, 5; mov.v2.u32 {%u1, %u2}, {%n, 9}; mov.v2.u32 {_, %u3}, {%u1, %u2}; mad.lo.u32 %r1, %u1, 10, %u3;",
      29 },
    { "a vector register and its elements", "mov.v2.u32 v, {%n, 9}; mad.lo.u32 %r1, v.x, 10, v.y;", 29 },
    { "vector registers in a range",
      ".reg .v4 .u32 q<3>; mov.v4.u32 q2, {1, %n, 3, 4}; mad.lo.u32 %r1, q2.x, q2.y, q2.w;",
      6 },
    { "a special register's elements",
      "mov.v4.u32 {%u1, %u2, %u3, %u4}, %ntid; mad.lo.u32 %u1, %u1, 100, %u2; mad.lo.u32 %r1, %u3, 1000, %u1;", 1101 },
    { "in 16 bits", "mov.v4.u16 {%h1, %h2, %h3, _}, %nctaid; add.u16 %h1, %h1, %h2; cvt.u32.u16 %r1, %h1;", 2 },
    /* special registers as narrower types */
    { "a register of 64 bits in 32",
      "mov.u32 %u1, %gridid; mov.u64 %w1, %gridid; cvt.u32.u64 %u2, %w1; sub.u32 %r1, %u1, %u2;", 0 },
    { "a register of 32 bits in 16", "mov.u16 %h1, %ntid.x; cvt.u32.u16 %r1, %h1;", 1 },
    /* modifiers in another order */
    { "a load's type in front", "ld.u32.global %r1, [g+4];", 8 },
    { "a vote's mode in front", "vote.ballot.sync.b32 %r1, 1, -1;", 1 },
    { "rounding behind the type", "mov.f32 %f1, 0f40000000; add.f32.rz %f1, %f1, %f1; cvt.u32.rzi.f32 %r1, %f1;", 4 },
};

int main(void)
{
    static char text[8192];
    bench_open(OUT);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t got = ~UINT64_C(0);
        snprintf(text, sizeof text, "%s%s%s", head, rows[i].body, tail);
        cj_module *mod = cj_module_load_text(dev, text, NULL);
        cj_kernel *k = cj_module_kernel(mod, "k");
        cj_launch(s, k, cj_threads(1, 1), d, (uint32_t)N, cj_arg_bytes(ka, sizeof ka));
        cj_copy_to_host(s, &got, d, OUT);
        if (!tap_is_int(cj_stream_sync(s), CJ_OK, "%s is loaded and run", rows[i].name))
            tap_diag("%s", cj_error_of(cj_error_of(mod)->status ? (const void *)mod : s)->message);
        tap_is_uint(got, rows[i].want, "%s", rows[i].name);
        cj_kernel_free(k);
        cj_module_free(mod);
    }
    return bench_close();
}
