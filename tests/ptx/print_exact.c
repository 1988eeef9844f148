/* The text of hello's kernel, to the letter; exact literals; operands of every kind. */
#include "ask_ptxas.h"

#include <cujit/ptx.h>

#include <math.h>
#include <string.h>

static const char hello[] =
    ".version 2.3\n.target sm_20\n.address_size 64\n\n"
    ".visible .entry saxpy(\n\t.param .u64 .ptr .global .align 4 x,\n\t.param .u64 .ptr .global .align 4 y,\n"
    "\t.param .f32 a,\n\t.param .u32 n\n)\n{\n"
    "\t.reg .pred\t%p<1>;\n\t.reg .u32\t%u<5>;\n\t.reg .u64\t%ud<7>;\n\t.reg .f32\t%f<4>;\n"
    "\tld.param.u64 %ud0, [x];\n\tcvta.to.global.u64 %ud1, %ud0;\n\tld.param.u64 %ud2, [y];\n"
    "\tcvta.to.global.u64 %ud3, %ud2;\n"
    "\tld.param.f32 %f0, [a];\n\tld.param.u32 %u0, [n];\n"
    "\tmov.u32 %u1, %ctaid.x;\n\tmov.u32 %u2, %ntid.x;\n\tmov.u32 %u3, %tid.x;\n\tmad.lo.u32 %u4, %u1, %u2, %u3;\n"
    "\tsetp.lt.u32 %p0, %u4, %u0;\n\t@!%p0 bra $L0;\n"
    "\tmad.wide.u32 %ud4, %u4, 4, %ud1;\n\tld.global.f32 %f1, [%ud4];\n\tmad.wide.u32 %ud5, %u4, 4, %ud3;\n"
    "\tld.global.f32 %f2, [%ud5];\n"
    "\tfma.rn.f32 %f3, %f0, %f1, %f2;\n\tmad.wide.u32 %ud6, %u4, 4, %ud3;\n\tst.global.f32 [%ud6], %f3;\n$L0:\n\tret;\n"
    "}\n";

static void print_hello(void)
{
    const char *text;
    size_t bytes;
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "saxpy");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), y = cj_param_ptr(f, "y", CJ_F32);
    cj_val a = cj_param(f, "a", CJ_F32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_val xi = cj_get(f, x, i), yi = cj_get(f, y, i);
        cj_set(f, y, i, cj_fma(f, a, xi, yi));
    cj_end(f);
    tap_is_int(cj_ptx_print(m, 0, &text, &bytes), CJ_OK, "hello prints");
    tap_is_str(text, hello, "hello, to the letter");
    tap_is_uint(bytes, sizeof hello - 1, "and its length");
    cj_ptx_print(m, 0, &text, &bytes);
    tap_is_str(text, hello, "printed again, the same");
    ptxas_takes(text, "hello");
    cj_ptx_free(m);
}

/* Operands as they are printed, in an instruction that takes them. */
static void print_operands(void)
{
    const char *text;
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val g = cj_ptx_global(m, "g", CJ_U32, 8, NULL, 0);
    cj_val r = cj_reg(f, CJ_U32), d = cj_reg(f, CJ_U64), s = cj_reg(f, CJ_F32), t = cj_reg(f, CJ_F64),
           p = cj_reg(f, CJ_PRED), q = cj_reg(f, CJ_PRED);
    cj_ins(f, "add.f32", s, s, 1);
    cj_ins(f, "add.f32", s, s, -0.0);
    cj_ins(f, "add.f32", s, s, (float)INFINITY);
    cj_ins(f, "add.f64", t, t, 0.1);
    cj_ins(f, "add.f64", t, t, -7);
    cj_ins(f, "add.u32", r, r, -1);
    cj_ins(f, "add.u32", r, r, 4294967295u);
    cj_ins(f, "add.u64", d, d, UINT64_MAX);
    cj_ins(f, "add.u64", d, d, INT64_MIN);
    cj_ins(f, "ld.global.u32", r, cj_mem(f, d, 12));
    cj_ins(f, "ld.global.u32", r, cj_mem(f, d, -12));
    cj_ins(f, "ld.global.u32", r, cj_mem(f, g, 4));
    cj_ins(f, "ld.local.u32", r, cj_mem(f, cj_imm(f, 64), 0));
    cj_ins(f, "ld.global.v2.u32", cj_vec(f, r, cj_reg(f, CJ_B32)), cj_mem(f, d, 0));
    cj_ins(f, "setp.lt.u32", cj_pair(f, p, q), r, 3);
    cj_ins(f, "setp.lt.and.u32", p, r, 3, cj_not(f, q));
    cj_ins(f, "setp.lt.u32", cj_pair(f, cj_sink(f), q), r, 3);
    cj_ins(f, "mov.u32", r, cj_sreg(f, "%laneid"));
    cj_ins(f, "mov.u64", d, g);
    cj_ins(f, "mov.b32", s, cj_imm_bits(f, CJ_F32, 0x7fc00001));
    static const char *const lines[] = {
        "add.f32 %f0, %f0, 0f3F800000;",
        "add.f32 %f0, %f0, 0f80000000;",
        "add.f32 %f0, %f0, 0f7F800000;",
        "add.f64 %fd0, %fd0, 0d3FB999999999999A;",
        "add.f64 %fd0, %fd0, 0dC01C000000000000;",
        "add.u32 %u0, %u0, -1;",
        "add.u32 %u0, %u0, 4294967295;",
        "add.u64 %ud0, %ud0, 18446744073709551615;",
        "add.u64 %ud0, %ud0, -9223372036854775808;",
        "ld.global.u32 %u0, [%ud0+12];",
        "ld.global.u32 %u0, [%ud0+-12];",
        "ld.global.u32 %u0, [g+4];",
        "ld.local.u32 %u0, [64];",
        "ld.global.v2.u32 {%u0, %r0}, [%ud0];",
        "setp.lt.u32 %p0|%p1, %u0, 3;",
        "setp.lt.and.u32 %p0, %u0, 3, !%p1;",
        "setp.lt.u32 _|%p1, %u0, 3;",
        "mov.u32 %u0, %laneid;",
        "mov.u64 %ud0, g;",
        "mov.b32 %f0, 0f7FC00001;",
    };
    if (!tap_is_int(cj_ptx_print(m, 0, &text, NULL), CJ_OK, "operands print")) tap_bail("%s", cj_error_of(m)->message);
    const char *at = text;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *found = strstr(at, lines[i]);
        tap_ok(found != NULL, "%s", lines[i]);
        if (found) at = found + strlen(lines[i]);
    }
    ptxas_takes(text, "operands of every kind");
    cj_ptx_free(m);
}

/* A body that is long enough for every buffer to grow in the middle of a line. */
static void print_much(void)
{
    enum { N = 3000 };
    const char *text, *again;
    size_t lines = 0;
    cj_ptx *m = cj_ptx_create(), *second = cj_ptx_create();
    for (int k = 0; k < 2; k++) {
        cj_fn *f = cj_ptx_kernel(
            k ? second : m,
            "a_kernel_with_a_name_that_is_longer_than_what_a_line_has_room_for_"
            "without_being_asked_to_grow_in_the_middle_of_it");
        cj_val x = cj_shared(
            f, "a_variable_with_a_name_that_is_longer_than_sixty_four_characters_so_that_room_must_be_made", CJ_F32, N);
        for (int i = 0; i < N; i++)
            cj_ins(f, "st.shared.v4.f32", cj_mem(f, x, 16 * i), cj_vec(f, i, i + 1, i + 2, i + 3));
    }
    tap_is_int(cj_ptx_print(m, 0, &text, NULL), CJ_OK, "much prints");
    cj_ptx_print(second, 0, &again, NULL);
    for (const char *s = text; *s; s++) lines += *s == '\n';
    tap_ok(lines > N && lines < N + 20, "each instruction is a line");
    tap_ok(!strcmp(text, again), "and again the same");
    cj_ptx_free(m);
    cj_ptx_free(second);
}

int main(void)
{
    tap_plan(0);
    print_hello();
    print_operands();
    print_much();
    return tap_done();
}
