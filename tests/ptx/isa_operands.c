/* Operands against forms: the row that takes them, or a sentence that says why none does. */
#include "isa_write.h"
#include "../tap.h"

#include <string.h>

/* `says` NULL: taken; else the sentence. */
static const struct { const char *line, *says;
} cases[] = {
    { "add.f32 %f32_0, %f32_1, 1.5;", NULL },
    { "add.f32 %f32_0, %f32_1, %u32_2;", "operand b is .u32, wants .f32" },
    { "add.f32 %f32_0, %f32_1, 1;", "operand b is the integer 1, wants .f32" },
    { "add.u32 %u32_0, %s32_1, %b32_2;", NULL },
    { "add.u32 %u32_0, %f32_1, %b32_2;", "operand a is .f32, wants .u32" },
    { "add.u32 1, %u32_1, %u32_2;", "operand d is a literal, wants a register of .u32" },
    { "add.f16 %f16_0, %f16_1, 1.5;", "operand b is a literal, wants a register of .f16" },
    { "add.u32 %u32_0, %u32_1;", "has 2 operands, wants 3: d, a, b" },
    { "add.u32 %u32_0, %u32_1, %u32_2, %u32_3;", "has 4 operands, wants 3: d, a, b" },
    { "add.u32 _, %u32_1, %u32_2;", "operand d is _, wants .u32" },
    { "fma.rn.f64 %f64_0, %f64_1, %f64_2, %f32_3;", "operand c is .f32, wants .f64" },
    { "bfi.b32 %b32_0, %b32_1, %b32_2, 256, %u32_4;", "operand c is 256, wants 0 to 255" },
    { "setp.lt.s32 %pred_0|%pred_1, %s32_0, 4;", NULL },
    { "setp.lt.s32 %pred_0|_, %s32_0, 4;", NULL },
    { "setp.lt.s32 _|%pred_1, %s32_0, 4;", NULL },
    { "setp.lt.s32 %pred_0|%b32_1, %s32_0, 4;", "operand d has b32 as second destination, wants .pred" },
    { "setp.lt.and.s32 %pred_0, %s32_0, 4, !%pred_2;", NULL },
    { "setp.lt.and.s32 %pred_0, %s32_0, 4;", "has 3 operands, wants 4: d, a, b, c" },
    { "and.pred %pred_0, !%pred_1, %pred_2;", NULL },
    { "add.u32 %u32_0, !%pred_1, %u32_2;", "operand a is a negated .pred, wants .u32" },
    { "mov.b64 {%b32_0, %f32_1}, %b64_2;", NULL },
    { "mov.b64 {%b32_0, _}, %b64_2;", NULL },
    { "mov.b64 %b64_0, {%b16_0, %b16_1, %b16_2, %b16_3};", NULL },
    { "mov.b64 %b64_0, {%b32_0, %b32_1, %b32_2};", "operand a has 3 registers, wants 2 of .b32" },
    { "mov.u32 %u32_0, %tid.x;", NULL },
    { "mov.u16 %u16_0, %tid.x;", NULL },
    { "mov.u32 %u32_0, %tid;", "operand a is a special register of 4 elements, wants .u32" },
    { "mov.u64 %u64_0, %tid.x;", "operand a is a special register of .u32, wants .u64" },
    { "add.u32 %u32_0, %tid.x, 1;", "operand a is a special register of .u32, wants .u32" },
    { "mov.u64 %u64_0, gv;", NULL },
    { "mov.u64 %u64_0, f0;", NULL },
    { "ld.global.u8 %u32_0, [%b64_1+4];", NULL },
    { "ld.global.u8 %pred_0, [%b64_1];", "operand d is .pred, wants .u32" },
    { "ld.global.v4.f32 {%f32_0, %f32_1, %f32_2, %f32_3}, [gv];", NULL },
    { "ld.global.v4.f32 {%f32_0, %f32_1}, [gv];", "operand d has 2 registers, wants 4 of .f32" },
    { "ld.global.v4.f32 %f32_0, [gv];", "operand d is one register, wants 4 of .f32" },
    { "ld.global.f32 %f32_0, [sv];", "operand a is in .shared, wants .global" },
    { "ld.f32 %f32_0, [sv];", NULL },
    { "ld.global.f32 %f32_0, [%f32_1];", "operand a is an address in a .f32 register, wants .b64 or .b32" },
    { "ld.global.f32 %f32_0, %b64_1;", "operand a is .b64, wants an address: [a], in C cj_mem()" },
    { "st.shared.u32 [sv+4], 7;", NULL },
    { "atom.global.add.u32 _, [gv], 1;", NULL },
    { "shfl.sync.down.b32 %b32_0|%pred_0, %b32_1, 1, 31, -1;", NULL },
    { "shfl.sync.down.b32 _|%pred_0, %b32_1, 1, 31, -1;", "operand d may not be dropped" },
    { "bra L1;", NULL },
    { "bra gv;", "operand a is a symbol, wants a label" },
    { "bar.sync 0;", NULL },
    { "bar.sync 0, 64;", NULL },
    { "bar.sync 16;", "operand a is 16, wants 0 to 15" },
    { "call (%f32_0), g2, (%f32_1, %f32_2);", NULL },
    { "call f0;", NULL },
    { "call (%f32_0), %b64_1, (%f32_1), p10;", NULL },
    { "cp.async.ca.shared.global [sv], [gv], 8;", NULL },
    { "cp.async.ca.shared.global [sv], [gv], 12;", "operand c is 12, wants 4 or 8 or 16" },
    { "cp.async.cg.shared.global [sv], [gv], 16, %pred_0;", NULL },
    { "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[sv], [%b64_0, {%s32_0, %s32_1}], [sv+16];",
      NULL },
    { "createpolicy.range.global.L2::evict_first.L2::evict_unchanged.b64 %b64_0, [%b64_1], %u32_0, 4096;", NULL },
    { "createpolicy.range.L2::evict_first.b64 %b64_0, [%b64_1], %u64_0, 4096;", "operand b is .u64, wants .u32" },
    { "createpolicy.cvt.L2.b64 %b64_0, %b32_1;", "operand a is .b32, wants .b64" },
    { "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [sv], [%b64_0, {%s32_0}], [sv+16];",
      "operand b has 1 coordinates, wants 2" },
    { "tex.2d.v4.f32.f32 {%f32_0, %f32_1, %f32_2, %f32_3}, [%b64_0, {%f32_4, %f32_5}];", NULL },
    { "tex.2d.v4.f32.f32 {%f32_0, %f32_1, %f32_2, %f32_3}|%pred_1, [%b64_0, {%f32_4, %f32_5}];", NULL },
    { "tex.2d.v4.f32.f32 {%f32_0, %f32_1, %f32_2, %f32_3}, [%b64_0, {%b64_4, %f32_5}];",
      "operand a has a .b64 as coordinate 0, wants .f32" },
    { "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f32_0, %f32_1, %f32_2, %f32_3}, "
      "{%b32_0, %b32_1, %b32_2, %b32_3}, {%b32_4, %b32_5, %b32_6, %b32_7}, "
      "{%f32_0, %f32_1, %f32_2, %f32_3};",
      "operand b has 4 registers, wants 2 of .b32" },
    { "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 {%s32_0, %s32_1, %s32_2, %s32_3}, "
      "{%b32_0, %b32_1, %b32_2, %b32_3}, %b64_4, %pred_0;",
      NULL },
    { "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 {%s32_0, %s32_1, %s32_2, %s32_3}, "
      "{%b32_0, %b32_1}, %b64_4, %pred_0;",
      "operand a has 2 registers, wants 4 of .b32" },
    { "lop3.b32 %b32_0, %b32_1, %b32_2, %b32_3, 255;", NULL },
    { "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.u64 [sv], 1, [sv+8];", NULL },
    { "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.u64 [sv], 1;", "has 2 operands, wants 3: a, b, c" },
    /* the elements of a vector */
    { "st.global.v2.b32 [gv], {%u32_0, %f32_0};",
      "operand b has a .u32 as element 0 and a .f32 as element 1: elements of one vector have one width, and only "
      "untyped ones mix with others" },
    { "st.global.v2.b32 [gv], {%b32_0, %f32_0};", NULL },
    { "st.global.v2.b32 [gv], {%u32_0, %s32_0};", NULL },
    { "st.global.v2.b32 [gv], {%f16x2_0, %f32_0};",
      "operand b has a .f16x2 as element 0 and a .f32 as element 1: elements of one vector have one width, and only "
      "untyped ones mix with others" },
    { "ld.global.v2.b32 {%b32_0, %b64_0}, [gv];",
      "operand d has a .b32 as element 0 and a .b64 as element 1: elements of one vector have one width, and only "
      "untyped ones mix with others" },
    { "ld.global.v4.b32 {%u32_0, _, %f32_0, %b32_0}, [gv];",
      "operand d has a .u32 as element 0 and a .f32 as element 2: elements of one vector have one width, and only "
      "untyped ones mix with others" },
    { "mov.b64 %b64_0, {%f32_0, 1};",
      "operand a has a .f32 as element 0 and an integer as element 1: elements of one vector have one width, and only "
      "untyped ones mix with others" },
    { "mov.b64 %b64_0, {%f32_0, 0f3f800000};", NULL },
    { "mov.b64 %b64_0, {%f32_0, 1.5};", "operand a has a floating-point literal as element 1, wants .b32" },
    { "mov.b64 {%f32_0, %u32_0}, %b64_0;",
      "operand d has a .f32 as element 0 and a .u32 as element 1: elements of one vector have one width, and only "
      "untyped ones mix with others" },
    { "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%u32_0, %f32_0}, [sv];",
      "operand d has a .u32 as element 0 and a .f32 as element 1: elements of one vector have one width, and only "
      "untyped ones mix with others" },
    { "mov.v2.u32 {%u32_0, %u32_1}, {%u32_1, %u32_0};", NULL },
    { "mov.v4.u32 {%u32_0, %u32_1, _, %u32_2}, %tid;", NULL },
    { "mov.v4.u16 {%u16_0, %u16_1, %u16_2, %u16_3}, %ntid;", NULL },
    { "mov.v2.u32 {%u32_0, %u32_1}, %tid;", "operand a is a special register of 4 elements, wants 2 of .u32" },
    /* a vector of one where one register stands */
    { "st.global.b32 [gv], {%b32_0};", NULL },
    { "st.global.b32 [gv], {7};", NULL },
    { "ld.global.f32 {%f32_0}, [gv];", NULL },
    { "ld.global.f32 {_}, [gv];", "operand d has no register as element 0, wants .f32" },
    { "ld.global.f32 {%f32_0, %f32_1}, [gv];", "operand d has 2 registers, wants 1 of .f32" },
    { "sust.b.1d.b32.trap [%b64_0, {%s32_0}], {%b32_1};", NULL },
    { "suld.b.1d.b32.trap {%b32_1}, [%b64_0, {%s32_0}];", NULL },
    { "mov.b32 {%b32_0}, %b32_1;", NULL },
    { "mov.b32 {%b32_0}, {%b32_1};", "operand d has 1 register, wants 2 of .b16" },
    { "add.u32 {%u32_0}, %u32_1, 1;", "operand d is a vector of 1, wants .u32" },
    /* what an address may be of */
    { "ld.u64 %u64_0, [kp];",
      "operand a is in .param, whose variables have no generic address; use .param in the instruction's name, "
      "or cvta" },
    { "ld.param.u64 %u64_0, [kp];", NULL },
    { "st.param.u64 [kp], %u64_0;", "operand a is a parameter of the function, which it cannot write" },
    { "st.param.u64 [pp], %u64_0;", NULL },
    { "mov.u64 %u64_0, pp;", "operand a is a .param variable of the body, whose address cannot be taken" },
    { "cvta.param.u64 %u64_0, kp;", NULL },
    { "ld.global.u32 %u32_0, [1024];", "operand a is an address that is a number, which only .local has" },
    { "ld.local.u32 %u32_0, [16];", NULL },
    { "mapa.shared::cluster.u32 %u32_0, sv, 1;", NULL },
    { "mapa.shared::cluster.u64 %u64_0, gv, 1;", "operand a is in .global, wants .shared" },
    { "getctarank.shared::cluster.u32 %u32_0, sv;", NULL },
    { "add.u64 %u64_0, gv, 1;", "operand a is a symbol, wants .u64" },
    /* special registers that mov reads as narrower types */
    { "mov.u32 %u32_0, %gridid;", NULL },
    { "mov.u32 %u32_0, %clock64;", "operand a is a special register of .u64, wants .u32" },
    { "mov.u16 %u16_0, %laneid;", "operand a is a special register of .u32, wants .u16" },
    { "mov.u16 %u16_0, %cluster_ctarank;", "operand a is a special register of .u32, wants .u16" },
    /* a range with hundreds of values is told as one */
    { "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
      "[sv], [%b64_0, {%s32_0, 1, 2}], [sv+16], {%u16_0};", NULL },
    { "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
      "[sv], [%b64_0, {%s32_0, 1, 2, 3}], [sv+16], {%u16_0};", "operand d has 1 register, wants 2 of .u16" },
    { "cp.async.bulk.global.shared::cta.bulk_group [gv], [sv], 24;",
      "operand c is 24, wants a multiple of 16 from 0 to 1048560" },
    { "ret;", NULL },
    { "ret %b32_0;", "has 1 operand, wants 0" },
};

int main(void)
{
    static isa_line l;
    static cji_isa_form f;
    char why[400];
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!isa_read(cases[i].line, &l)) { tap_fail("cannot be read: %s", cases[i].line); continue; }
        why[0] = 0;
        uint32_t first = cji_isa_find(l.spelling, l.len), form = cji_isa_match(first, l.arg, l.n, &f, why, sizeof why);
        if (!cases[i].says) {
            if (tap_ok(form != CJI_FORM_NONE, "%s", cases[i].line))
                tap_is_int(cji_isa_fits(&f, l.arg, l.n), -1, "  and fits its form");
            else tap_diag("%s", why);
        } else {
            tap_is_uint(form, CJI_FORM_NONE, "%s", cases[i].line);
            tap_is_str(why, cases[i].says, "  and is reported why");
        }
    }
    /* What the operands as written need. */
    uint8_t version = 0;
    cji_targets targets = ~(cji_targets)0;
    isa_read("tex.2d.v4.f32.f32 {%f32_0, %f32_1, %f32_2, %f32_3}|%pred_1, [%b64_0, {%f32_4, %f32_5}];", &l);
    cji_isa_match(cji_isa_find(l.spelling, l.len), l.arg, l.n, &f, NULL, 0);
    cji_isa_needs(&f, l.arg, l.n, &version, &targets);
    tap_is_int(version, 71, "tex with a predicate needs PTX 7.1");
    tap_is_uint(targets, cji_target_runs((uint32_t)cji_target_find("sm_60", 5)), "and sm_60");
    return tap_done();
}
