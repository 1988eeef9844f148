/* One instruction at a time: three 64-bit inputs in memory, one or two results. Each row runs with
 * a full warp and with 19 lanes. */
#include "exec_harness.h"

/* In a row: %ra %rb %rc 32-bit, %da %db %dc 64-bit, %ha %hb %hc 16-bit, %fa.. f32, %ga.. f64, %pa
 * (bit 0 of a), %pc (bit 0 of c); results: %d (64 bits) or %r (32), %h (16), %p. */
static const char head[] = EX_HEAD
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 n)\n{\n"
    ".reg .pred %p, %pa, %pb, %pc, %q, %part;\n.reg .b16 %h, %ha, %hb, %hc, %h2;\n"
    ".reg .b32 %r, %ra, %rb, %rc, %r2, %lane;\n.reg .b64 %d, %da, %db, %dc, %in, %out, %n, %at;\n"
    ".reg .f32 %f, %fa, %fb, %fc;\n.reg .f64 %g, %ga, %gb, %gc;\n"
    "mov.u32 %lane, %tid.x;\nld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nld.param.u64 %n, [n];\n"
    "ld.global.b64 %da, [%in];\nld.global.b64 %db, [%in+8];\nld.global.b64 %dc, [%in+16];\n"
    "cvt.u32.u64 %ra, %da;\ncvt.u32.u64 %rb, %db;\ncvt.u32.u64 %rc, %dc;\ncvt.u16.u64 %ha, %da;\n"
    "cvt.u16.u64 %hb, %db;\ncvt.u16.u64 %hc, %dc;\n"
    "mov.b32 %fa, %ra;\nmov.b32 %fb, %rb;\nmov.b32 %fc, %rc;\nmov.b64 %ga, %da;\nmov.b64 %gb, %db;\nmov.b64 %gc, %dc;\n"
    "and.b32 %r2, %ra, 1;\nsetp.ne.u32 %pa, %r2, 0;\nand.b32 %r2, %rc, 1;\nsetp.ne.u32 %pc, %r2, 0;\n"
    "mov.b64 %d, 0;\nmov.b32 %r, 0;\nmov.b16 %h, 0;\nmov.b32 %f, 0f00000000;\nmov.b64 %g, 0d0000000000000000;\n"
    "setp.ne.u32 %p, 0, 0;\nsetp.ne.u32 %q, 0, 0;\n";
static const char *const tails[] = { ['d'] = "",
                                     ['r'] = "cvt.u64.u32 %d, %r;\n",
                                     ['h'] = "cvt.u64.u16 %d, %h;\n",
                                     ['f'] = "mov.b32 %r, %f;\ncvt.u64.u32 %d, %r;\n",
                                     ['g'] = "mov.b64 %d, %g;\n",
                                     ['p'] = "selp.b64 %d, 1, 0, %p;\n",
                                     ['q'] = "selp.b64 %d, 1, 0, %p;\nselp.b64 %at, 2, 0, %q;\nor.b64 %d, %d, %at;\n" };
static const char foot[] = "mul.wide.u32 %at, %lane, 8;\nadd.s64 %at, %at, %out;\nst.global.b64 [%at], %d;\nret;\n}\n";

#define F(x) UINT64_C(x)
static const struct { const char *text; char result; uint64_t a, b, c, want; } rows[] = {
    { "add.s32 %r, %ra, %rb;", 'r', F(0xffffffff), 2, 0, 1 },
    { "add.u16 %h, %ha, %hb;", 'h', 0xffff, 2, 0, 1 },
    { "add.s64 %d, %da, %db;", 'd', F(0xffffffffffffffff), 2, 0, 1 },
    { "add.sat.s32 %r, %ra, %rb;", 'r', 0x7fffffff, 1, 0, 0x7fffffff },
    { "sub.sat.s32 %r, %ra, %rb;", 'r', F(0x80000000), 1, 0, F(0x80000000) },
    { "add.cc.u32 %r, %ra, %rb;\naddc.u32 %r, 0, 0;", 'r', F(0xffffffff), 1, 0, 1 },
    { "sub.cc.u32 %r, %ra, %rb;\nsubc.u32 %r, 5, 0;", 'r', 1, 2, 0, 4 },
    { "add.cc.u64 %d, %da, %db;\naddc.u64 %d, 0, 0;", 'd', F(0xffffffffffffffff), 1, 0, 1 },
    { "mad.lo.cc.u32 %r, %ra, %rb, %rc;\nmadc.hi.u32 %r, %ra, %rb, 0;", 'r', F(0xffffffff), F(0xffffffff),
      F(0xffffffff), F(0xffffffff) },
    /* one carry flag: 1 after a subtraction that did not borrow */
    { "sub.cc.u32 %r, %ra, %rb;\naddc.u32 %r, 0, 0;", 'r', 5, 3, 0, 1 },
    { "sub.cc.u32 %r, %ra, %rb;\naddc.u32 %r, 0, 0;", 'r', 3, 5, 0, 0 },
    { "sub.cc.s64 %d, %da, %db;\naddc.s64 %d, 0, 0;", 'd', 5, 5, 0, 1 },
    { "sub.cc.s64 %d, %da, %db;\naddc.s64 %d, 0, 0;", 'd', 0, F(0xffffffffffffffff), 0, 0 },
    { "add.cc.u32 %r2, %rc, %rc;\nsubc.u32 %r, %ra, %rb;", 'r', 5, 3, F(0x80000000), 2 },
    { "add.cc.u32 %r2, %rc, %rc;\nsubc.u32 %r, %ra, %rb;", 'r', 5, 3, 1, 1 },
    { "add.cc.u32 %r2, %rc, %rc;\nsubc.cc.u32 %r2, %ra, %rb;\naddc.u32 %r, %r2, 0;", 'r', 5, 3, F(0x80000000), 3 },
    { "mad.lo.cc.u32 %r2, %ra, %rb, %rc;\nsubc.u32 %r, 9, 4;", 'r', F(0xffffffff), 1, 1, 5 },
    { "mad.lo.cc.u32 %r2, %ra, %rb, %rc;\nsubc.u32 %r, 9, 4;", 'r', 1, 1, 1, 4 },
    { "sub.cc.u32 %r2, %ra, %rb;\nmadc.lo.u32 %r, %rc, 7, 0;", 'r', 5, 3, 1, 8 },
    { "sub.cc.u64 %at, %da, %db;\nmadc.hi.u64 %d, %dc, 16, 0;", 'd', 3, 5, F(0x8000000000000000), 8 },
    { "sub.cc.u32 %r2, %ra, %rb;\nsubc.cc.u32 %r2, 0, 0;\nsubc.u32 %r, 7, 0;", 'r', 3, 5, 0, 6 },
    { "mul.hi.s32 %r, %ra, %rb;", 'r', F(0xffffffff), 5, 0, F(0xffffffff) },
    { "mul.hi.u32 %r, %ra, %rb;", 'r', F(0xffffffff), 5, 0, 4 },
    { "mul.hi.u64 %d, %da, %db;", 'd', F(0xffffffffffffffff), F(0xffffffffffffffff), 0, F(0xfffffffffffffffe) },
    { "mul.hi.s64 %d, %da, %db;", 'd', F(0xffffffffffffffff), 7, 0, F(0xffffffffffffffff) },
    { "mul.wide.s32 %d, %ra, %rb;", 'd', F(0xffffffff), 3, 0, F(0xfffffffffffffffd) },
    { "mul.wide.u16 %r, %ha, %hb;", 'r', 0xffff, 0xffff, 0, F(0xfffe0001) },
    { "mul.wide.s16 %r, %ha, %hb;", 'r', 0xffff, 2, 0, F(0xfffffffe) },
    { "mad.wide.s32 %d, %ra, %rb, %dc;", 'd', F(0xffffffff), 3, 10, 7 },
    { "mad.lo.s32 %r, %ra, %rb, %rc;", 'r', 3, 4, 5, 17 },
    { "mad.hi.sat.s32 %r, %ra, %rb, %rc;", 'r', 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff },
    { "mul24.lo.s32 %r, %ra, %rb;", 'r', 0xffffff, 2, 0, F(0xfffffffe) },
    { "mul24.hi.u32 %r, %ra, %rb;", 'r', 0xffffff, 0xffffff, 0, F(0xfffffe00) },
    { "sad.s32 %r, %ra, %rb, %rc;", 'r', F(0xffffffff), 2, 10, 13 },
    { "sad.u16 %h, %ha, %hb, %hc;", 'h', 2, 5, 1, 4 },
    { "div.s32 %r, %ra, %rb;", 'r', F(0xfffffff9), 2, 0, F(0xfffffffd) },
    { "div.u32 %r, %ra, %rb;", 'r', 7, 0, 0, F(0xffffffff) },
    { "div.s32 %r, %ra, %rb;", 'r', F(0x80000000), F(0xffffffff), 0, F(0x80000000) },
    { "rem.s32 %r, %ra, %rb;", 'r', F(0xfffffff9), 2, 0, F(0xffffffff) },
    { "rem.u64 %d, %da, %db;", 'd', 17, 5, 0, 2 },
    { "abs.s32 %r, %ra;", 'r', F(0xfffffff9), 0, 0, 7 },
    { "abs.s16 %h, %ha;", 'h', 0xfff9, 0, 0, 7 },
    { "neg.s64 %d, %da;", 'd', 1, 0, 0, F(0xffffffffffffffff) },
    { "min.s32 %r, %ra, %rb;", 'r', F(0xffffffff), 1, 0, F(0xffffffff) },
    { "max.u32 %r, %ra, %rb;", 'r', F(0xffffffff), 1, 0, F(0xffffffff) },
    { "max.relu.s32 %r, %ra, %rb;", 'r', F(0xffffffff), F(0xfffffffe), 0, 0 },
    { "min.s16x2 %r, %ra, %rb;", 'r', 0xffff0001, 0x00010002, 0, F(0xffff0001) },
    { "add.u16x2 %r, %ra, %rb;", 'r', 0xffffffff, 0x00010002, 0, 1 },
    { "popc.b64 %r, %da;", 'r', F(0xff000000000000ff), 0, 0, 16 },
    { "clz.b32 %r, %ra;", 'r', 0, 0, 0, 32 },
    { "clz.b64 %r, %da;", 'r', 1, 0, 0, 63 },
    { "bfind.s32 %r, %ra;", 'r', F(0xfffffff0), 0, 0, 3 },
    { "bfind.u32 %r, %ra;", 'r', 0, 0, 0, F(0xffffffff) },
    { "bfind.shiftamt.u64 %r, %da;", 'r', 1, 0, 0, 63 },
    { "fns.b32 %r, %ra, %rb, %rc;", 'r', 0xb0, 0, 2, 5 },
    { "fns.b32 %r, %ra, %rb, %rc;", 'r', 0xb0, 31, F(0xffffffff), 7 },
    { "brev.b32 %r, %ra;", 'r', 1, 0, 0, F(0x80000000) },
    { "bfe.u32 %r, %ra, %rb, %rc;", 'r', 0x12345678, 8, 8, 0x56 },
    { "bfe.s32 %r, %ra, %rb, %rc;", 'r', 0x0000ff00, 8, 8, F(0xffffffff) },
    { "bfe.s32 %r, %ra, %rb, %rc;", 'r', F(0x80000000), 40, 8, F(0xffffffff) },
    { "bfe.u64 %d, %da, %rb, %rc;", 'd', F(0x8000000000000000), 63, 40, 1 },
    { "bfi.b32 %r, %ra, %rb, 8, %rc;", 'r', 0xff, 0, 4, 0xf00 },
    { "bfi.b64 %d, %da, %db, 60, %rc;", 'd', 0xff, 0, 40, F(0xf000000000000000) },
    { "szext.clamp.s32 %r, %ra, %rb;", 'r', 0xff, 8, 0, F(0xffffffff) },
    { "bmsk.clamp.b32 %r, %ra, %rb;", 'r', 4, 8, 0, 0xff0 },
    { "dp4a.s32.s32 %r, %ra, %rb, %rc;", 'r', F(0xff02ff02), 0x01010101, 10, 12 },
    { "dp4a.u32.u32 %r, %ra, %rb, %rc;", 'r', F(0xff020304), 0x01010101, 0, 264 },
    { "dp2a.lo.s32.u32 %r, %ra, %rb, %rc;", 'r', F(0xffff0002), 0x0403, 1, 3 },
    { "shl.b32 %r, %ra, %rb;", 'r', 1, 32, 0, 0 },
    { "shl.b16 %h, %ha, %rb;", 'h', 3, 15, 0, 0x8000 },
    { "shr.s32 %r, %ra, %rb;", 'r', F(0x80000000), 99, 0, F(0xffffffff) },
    { "shr.u64 %d, %da, %rb;", 'd', F(0x8000000000000000), 63, 0, 1 },
    { "shr.s16 %h, %ha, %rb;", 'h', 0x8000, 20, 0, 0xffff },
    { "shf.l.wrap.b32 %r, %ra, %rb, %rc;", 'r', F(0x80000000), 1, 33, 3 },
    { "shf.r.clamp.b32 %r, %ra, %rb, %rc;", 'r', 7, 9, 40, 9 },
    { "lop3.b32 %r, %ra, %rb, %rc, 0x96;", 'r', 0xf0, 0xcc, 0xaa, 0x96 },
    { "lop3.b32 %r, %ra, %rb, %rc, 0xe8;", 'r', 0xf0, 0xcc, 0xaa, 0xe8 },
    { "prmt.b32 %r, %ra, %rb, %rc;", 'r', 0x03020180, 0x07060504, 0x8765, F(0xff070605) },
    { "prmt.b32.f4e %r, %ra, %rb, %rc;", 'r', 0x03020100, 0x07060504, 1, 0x04030201 },
    { "cnot.b32 %r, %ra;", 'r', 0, 0, 0, 1 },
    { "not.b16 %h, %ha;", 'h', 0xff, 0, 0, 0xff00 },
    { "xor.pred %p, %pa, %pc;", 'p', 1, 0, 0, 1 },
    { "and.pred %p, !%pa, %pc;", 'p', 0, 0, 1, 1 },
    { "selp.b32 %r, %ra, %rb, %pc;", 'r', 5, 6, 0, 6 },
    { "slct.b32.s32 %r, %ra, %rb, %rc;", 'r', 5, 6, F(0xffffffff), 6 },
    { "slct.u64.f32 %d, %da, %db, %fc;", 'd', 5, 6, F(0x80000000), 5 },
    { "setp.lt.s32 %p, %ra, %rb;", 'p', F(0xffffffff), 1, 0, 1 },
    { "setp.lo.u32 %p, %ra, %rb;", 'p', F(0xffffffff), 1, 0, 0 },
    { "setp.lt.and.s32 %p|%q, %ra, %rb, %pc;", 'q', 1, 2, 1, 1 },
    { "setp.lt.xor.s32 %p|%q, %ra, %rb, !%pc;", 'q', 1, 2, 0, 2 },
    { "setp.ne.f32 %p, %fa, %fb;", 'p', 0x7fc00000, 0, 0, 0 },
    { "setp.neu.f32 %p, %fa, %fb;", 'p', 0x7fc00000, 0, 0, 1 },
    { "setp.num.f64 %p, %ga, %gb;", 'p', F(0x7ff8000000000000), 0, 0, 0 },
    { "setp.eq.ftz.f32 %p, %fa, %fb;", 'p', 1, 0, 0, 1 },
    { "setp.ge.u16 %p, %ha, %hb;", 'p', 0xffff, 1, 0, 1 },
    { "set.lt.u32.s32 %r, %ra, %rb;", 'r', 1, 2, 0, F(0xffffffff) },
    { "set.gt.f32.f32 %f, %fa, %fb;", 'f', 0x40000000, 0x3f800000, 0, 0x3f800000 },
    { "add.f32 %f, %fa, %fb;", 'f', 0x3f800000, 0x40000000, 0, 0x40400000 },
    { "add.rp.f32 %f, %fa, %fb;", 'f', 0x3f800000, 1, 0, 0x3f800001 },
    { "add.ftz.f32 %f, %fa, %fb;", 'f', 1, 1, 0, 0 },
    { "add.sat.f32 %f, %fa, %fb;", 'f', 0x3f800000, 0x40000000, 0, 0x3f800000 },
    { "sub.f32 %f, %fa, %fb;", 'f', 0x7f800000, 0x7f800000, 0, 0x7fffffff },
    { "mul.rz.f32 %f, %fa, %fb;", 'f', 0x3f800001, 0x3f800001, 0, 0x3f800002 },
    { "fma.rn.f32 %f, %fa, %fb, %fc;", 'f', 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000 },
    { "fma.rm.f64 %g, %ga, %gb, %gc;", 'g', F(0x3ff0000000000000), F(0x3ff0000000000000), F(0xbff0000000000000),
      F(0x8000000000000000) },
    { "fma.rn.f64 %g, %ga, %gb, %gc;", 'g', F(0x3ff0000000000001), F(0x3ff0000000000001), F(0xbff0000000000002),
      F(0x3970000000000000) },
    /* .ftz: a result is tiny that 24 bits with unbounded exponent leave below the least normal */
    { "mul.rn.f32 %f, %fa, %fb;", 'f', 0x3f7fffff, 0x00800000, 0, 0x00800000 },
    { "mul.rn.ftz.f32 %f, %fa, %fb;", 'f', 0x3f7fffff, 0x00800000, 0, 0 },
    { "mul.rn.ftz.f32 %f, %fa, %fb;", 'f', F(0xbf7fffff), 0x00800000, 0, F(0x80000000) },
    { "mul.rn.ftz.f32 %f, %fa, %fb;", 'f', 0x3f7ffffe, 0x00800001, 0, 0x00800000 },
    { "mul.rp.ftz.f32 %f, %fa, %fb;", 'f', 0x3f7fffff, 0x00800000, 0, 0 },
    { "mul.rp.ftz.f32 %f, %fa, %fb;", 'f', 0x3f7ffffe, 0x00800001, 0, 0x00800000 },
    { "mul.rz.ftz.f32 %f, %fa, %fb;", 'f', 0x3f7ffffe, 0x00800001, 0, 0 },
    { "mul.rn.ftz.sat.f32 %f, %fa, %fb;", 'f', 0x3f7fffff, 0x00800000, 0, 0 },
    { "fma.rn.ftz.f32 %f, %fa, %fb, %fc;", 'f', 0x3f7fffff, 0x00800000, 0, 0 },
    { "fma.rn.ftz.f32 %f, %fa, %fb, %fc;", 'f', 0x3f7ffffe, 0x00800001, 0, 0x00800000 },
    { "fma.rm.ftz.f32 %f, %fa, %fb, %fc;", 'f', F(0xbf7fffff), 0x00800000, 0, F(0x80000000) },
    { "div.rn.ftz.f32 %f, %fa, %fb;", 'f', 0x00ffffff, 0x40000000, 0, 0 },
    { "div.rn.f32 %f, %fa, %fb;", 'f', 0x00ffffff, 0x40000000, 0, 0x00800000 },
    { "rcp.rp.ftz.f32 %f, %fa;", 'f', 0x7e800001, 0, 0, 0 },
    { "rcp.rm.ftz.f32 %f, %fa;", 'f', F(0xfe800001), 0, 0, F(0x80000000) },
    { "cvt.rn.ftz.f32.f64 %f, %ga;", 'f', F(0x380fffffe0000000), 0, 0, 0 },
    { "cvt.rn.f32.f64 %f, %ga;", 'f', F(0x380fffffe0000000), 0, 0, 0x00800000 },
    { "cvt.rn.ftz.f32.f64 %f, %ga;", 'f', F(0x380ffffff0000000), 0, 0, 0x00800000 },
    { "div.rn.f32 %f, %fa, %fb;", 'f', 0x3f800000, 0x40400000, 0, 0x3eaaaaab },
    { "div.rz.f64 %g, %ga, %gb;", 'g', F(0x4000000000000000), F(0x4008000000000000), 0, F(0x3fe5555555555555) },
    { "rcp.rn.f64 %g, %ga;", 'g', F(0x4008000000000000), 0, 0, F(0x3fd5555555555555) },
    { "sqrt.rn.f64 %g, %ga;", 'g', F(0x4000000000000000), 0, 0, F(0x3ff6a09e667f3bcd) },
    { "sqrt.rp.f32 %f, %fa;", 'f', 0x40000000, 0, 0, 0x3fb504f4 },
    { "min.f32 %f, %fa, %fb;", 'f', 0x7fc00000, 0x3f800000, 0, 0x3f800000 },
    { "min.NaN.f32 %f, %fa, %fb;", 'f', 0x7fc00000, 0x3f800000, 0, 0x7fffffff },
    { "max.f32 %f, %fa, %fb;", 'f', F(0x80000000), 0, 0, 0 },
    { "max.xorsign.abs.f32 %f, %fa, %fb;", 'f', F(0xc0400000), 0x40000000, 0, F(0xc0400000) },
    { "min.f64 %g, %ga, %gb;", 'g', F(0x3ff0000000000000), F(0xbff0000000000000), 0, F(0xbff0000000000000) },
    { "abs.f32 %f, %fa;", 'f', F(0xbf800000), 0, 0, 0x3f800000 },
    { "neg.f64 %g, %ga;", 'g', 0, 0, 0, F(0x8000000000000000) },
    { "testp.subnormal.f32 %p, %fa;", 'p', 1, 0, 0, 1 },
    { "copysign.f32 %f, %fa, %fb;", 'f', F(0x80000000), 0x3f800000, 0, F(0xbf800000) },
    { "add.f16 %h, %ha, %hb;", 'h', 0x3c00, 0x3c00, 0, 0x4000 },
    { "fma.rn.f16x2 %r, %ra, %rb, %rc;", 'r', 0x3c004000, 0x40003c00, 0, 0x40004000 },
    { "add.rn.bf16x2 %r, %ra, %rb;", 'r', 0x3f803f80, 0x3f804000, 0, 0x40004040 },
    { "rcp.approx.f32 %f, %fa;", 'f', 0x40000000, 0, 0, 0x3f000000 },
    { "sqrt.approx.f32 %f, %fa;", 'f', 0x40800000, 0, 0, 0x40000000 },
    { "rsqrt.approx.f32 %f, %fa;", 'f', 0, 0, 0, 0x7f800000 },
    /* without .ftz all 64 bits count, and subnormals do */
    { "rsqrt.approx.f64 %g, %ga;", 'g', F(0x4008000000000000), 0, 0, F(0x3fe279a74590331c) },
    { "rsqrt.approx.f64 %g, %ga;", 'g', F(0x4010000000000000), 0, 0, F(0x3fe0000000000000) },
    { "rsqrt.approx.f64 %g, %ga;", 'g', 4, 0, 0, F(0x6170000000000000) },
    { "rsqrt.approx.f64 %g, %ga;", 'g', F(0x8000000000000000), 0, 0, F(0xfff0000000000000) },
    { "rsqrt.approx.f64 %g, %ga;", 'g', F(0xbff0000000000000), 0, 0, F(0xfff8000000000000) },
    { "rsqrt.approx.f64 %g, %ga;", 'g', F(0x7ff0000000000000), 0, 0, 0 },
    { "rsqrt.approx.f64 %g, %ga;", 'g', F(0x7ff0000000000123), 0, 0, F(0x7ff8000000000123) },
    { "rsqrt.approx.ftz.f64 %g, %ga;", 'g', F(0x4008000000000000), 0, 0, F(0x3fe279a700000000) },
    { "rsqrt.approx.ftz.f64 %g, %ga;", 'g', 4, 0, 0, F(0x7ff0000000000000) },
    { "ex2.approx.f32 %f, %fa;", 'f', 0x40400000, 0, 0, 0x41000000 },
    { "lg2.approx.f32 %f, %fa;", 'f', 0x41000000, 0, 0, 0x40400000 },
    { "sin.approx.f32 %f, %fa;", 'f', F(0x80000000), 0, 0, F(0x80000000) },
    { "div.approx.f32 %f, %fa, %fb;", 'f', 0x3f800000, 0x7f000000, 0, 0 },
    { "div.full.f32 %f, %fa, %fb;", 'f', 0x40c00000, 0x40000000, 0, 0x40400000 },
    { "cvt.rzi.s32.f32 %r, %fa;", 'r', 0xc0200000, 0, 0, F(0xfffffffe) },
    { "cvt.rni.s32.f32 %r, %fa;", 'r', 0x40200000, 0, 0, 2 },
    { "cvt.rzi.u32.f32 %r, %fa;", 'r', 0xbf800000, 0, 0, 0 },
    { "cvt.rzi.s64.f64 %d, %ga;", 'd', F(0x7ff8000000000000), 0, 0, F(0x8000000000000000) },
    { "cvt.rzi.s32.f32 %r, %fa;", 'r', 0x7fc00000, 0, 0, 0 },
    { "cvt.rn.f32.s32 %f, %ra;", 'f', 0x01000001, 0, 0, 0x4b800000 },
    { "cvt.rp.f32.s32 %f, %ra;", 'f', 0x01000001, 0, 0, 0x4b800001 },
    { "cvt.rn.f64.u64 %g, %da;", 'g', F(0xffffffffffffffff), 0, 0, F(0x43f0000000000000) },
    { "cvt.f64.f32 %g, %fa;", 'g', 0x3f800000, 0, 0, F(0x3ff0000000000000) },
    { "cvt.rn.f32.f64 %f, %ga;", 'f', F(0x3ff0000010000000), 0, 0, 0x3f800000 },
    { "cvt.rmi.f32.f32 %f, %fa;", 'f', 0xbfc00000, 0, 0, F(0xc0000000) },
    { "cvt.rn.f16.f32 %h, %fa;", 'h', 0x3f801000, 0, 0, 0x3c00 },
    { "cvt.f32.f16 %f, %ha;", 'f', 0x3c00, 0, 0, 0x3f800000 },
    { "cvt.rn.bf16.f32 %h, %fa;", 'h', 0x3f808001, 0, 0, 0x3f81 },
    { "cvt.rn.f16x2.f32 %r, %fa, %fb;", 'r', 0x3f800000, 0x40000000, 0, 0x3c004000 },
    { "cvt.rna.tf32.f32 %r, %fa;", 'r', 0x3f801000, 0, 0, 0x3f802000 },
    { "cvt.rn.satfinite.f16.f32 %h, %fa;", 'h', 0x7f000000, 0, 0, 0x7bff },
    { "cvt.rn.relu.f16.f32 %h, %fa;", 'h', 0xbf800000, 0, 0, 0 },
    { "cvt.rn.satfinite.e4m3x2.f32 %h, %fa, %fb;", 'h', 0x3f800000, 0x447a0000, 0, 0x387e },
    { "cvt.rn.satfinite.e5m2x2.f16x2 %h, %ra;", 'h', 0x3c004000, 0, 0, 0x3c40 },
    { "cvt.rn.f16x2.e4m3x2 %r, %ha;", 'r', 0x387e, 0, 0, 0x3c005f00 },
    { "cvt.s32.s8 %r, %ra;", 'r', 0x180, 0, 0, F(0xffffff80) },
    { "cvt.u32.u8 %r, %ra;", 'r', 0x180, 0, 0, 0x80 },
    { "cvt.s64.s16 %d, %ha;", 'd', 0x8000, 0, 0, F(0xffffffffffff8000) },
    { "cvt.sat.u8.s32 %r, %ra;", 'r', F(0xffffffff), 0, 0, 0 },
    { "cvt.sat.s8.s32 %r, %ra;", 'r', 1000, 0, 0, 127 },
    { "mov.b64 %d, {%rb, %ra};", 'd', 1, 2, 0, F(0x100000002) },
    { "mov.b64 {%r2, %r}, %da;", 'r', F(0x500000007), 0, 0, 5 },
    { "mov.b32 {%h, %h2}, %ra;", 'h', 0x12345678, 0, 0, 0x5678 },
    { "mov.b64 {_, %r}, %da;", 'r', F(0x900000007), 0, 0, 9 },
    { "mov.u32 %r, %ntid.y;", 'r', 0, 0, 0, 1 },
    { "mov.u32 %r, %nctaid.x;", 'r', 0, 0, 0, 1 },
    { "mov.u32 %r, %cluster_nctarank;", 'r', 0, 0, 0, 1 },
    { "mov.u32 %r, %nclusterid.y;", 'r', 0, 0, 0, 1 },
    { "mov.u32 %r, %cluster_ctarank;", 'r', 0, 0, 0, 0 },
    { "@%pa add.s32 %r, %ra, 1;", 'r', 1, 0, 0, 2 },
    { "@!%pa add.s32 %r, %ra, 1;", 'r', 1, 0, 0, 0 },
};

/* All comparisons of all types with all outcomes: less, equal, greater, unordered. */
static const char *const relations[] = { "eq",  "ne",  "lt",  "le",  "gt",  "ge", "equ", "neu", "ltu",
                                         "leu", "gtu", "geu", "num", "nan", "lo", "ls",  "hi",  "hs" };
static const struct { const char *type, *reg; bool flt, uns; uint64_t v[4]; } compared[] = {
    { "s32", "r", false, false, { 0xffffffff, 0, 1, 0 } },
    { "u32", "r", false, true, { 0, 1, UINT32_MAX, 0 } },
    { "s64", "d", false, false, { UINT64_MAX, 0, 1, 0 } },
    { "u64", "d", false, true, { 0, 1, UINT64_MAX, 0 } },
    { "s16", "h", false, false, { 0xffff, 0, 1, 0 } },
    { "u16", "h", false, true, { 0, 1, 0xffff, 0 } },
    { "f32", "f", true, false, { 0xbf800000, 0, 0x3f800000, 0x7fc00000 } },
    { "f64",
      "g",
      true,
      false,
      { UINT64_C(0xbff0000000000000), 0, UINT64_C(0x3ff0000000000000), UINT64_C(0x7ff8000000000000) } },
};
/* 3 is NaN */
static bool relation_holds(unsigned rel, int a, int b)
{
    bool un = a == 3 || b == 3;
    switch (rel) {
    case 0: return !un && a == b;
    case 1: return !un && a != b;
    case 2: case 14: return !un && a < b;
    case 3: case 15: return !un && a <= b;
    case 4: case 16: return !un && a > b;
    case 5: case 17: return !un && a >= b;
    case 6: return un || a == b;
    case 7: return un || a != b;
    case 8: return un || a < b;
    case 9: return un || a <= b;
    case 10: return un || a > b;
    case 11: return un || a >= b;
    case 12: return !un;
    default: return un;
    }
}

static void comparisons(void)
{
    for (size_t t = 0; t < sizeof compared / sizeof *compared; t++) {
        static char text[16384];
        size_t n = (size_t)snprintf(text, sizeof text, "%s", head);
        unsigned used = 0;
        uint64_t bit[18] = { 0 };
        for (unsigned r = 0; r < 18; r++) {
            if (compared[t].flt ? r >= 14 : (r >= 6 && !(compared[t].uns && r >= 14))) continue;
            n += (size_t)snprintf(
                text + n, sizeof text - n,
                "setp.%s.%s %%p, %%%sa, %%%sb;\nselp.b64 %%at, %llu, 0, %%p;\nor.b64 %%d, %%d, %%at;\n", relations[r],
                compared[t].type, compared[t].reg, compared[t].reg, 1ull << used);
            bit[r] = 1ull << used++;
        }
        snprintf(text + n, sizeof text - n, "%s", foot);
        cji_exec_program *p = ex_load(text);
        int bad = 0;
        for (int a = 0; a < (compared[t].flt ? 4 : 3); a++)
            for (int b = 0; b < (compared[t].flt ? 4 : 3); b++) {
                uint64_t params[3] = { EX_BASE, EX_BASE + 256, 0 }, in[3] = { compared[t].v[a], compared[t].v[b], 0 },
                         out, want = 0;
                cji_exec_fault fault;
                memcpy(ex_memory, in, sizeof in);
                bad += !ex_run(p, "k", 1, 1 + 31 * (unsigned)(b & 1), 0, params, &fault);
                memcpy(&out, ex_memory + 256, 8);
                for (unsigned r = 0; r < 18; r++) want |= relation_holds(r, a, b) ? bit[r] : 0;
                bad += out != want;
            }
        tap_is_int(bad, 0, "all comparisons of %s", compared[t].type);
        cji_exec_program_free(p);
    }
}

static char *row_text(size_t i)
{
    static char text[8192];
    snprintf(text, sizeof text, "%s%s\n%s%s", head, rows[i].text, tails[(unsigned char)rows[i].result], foot);
    return text;
}

int main(void)
{
    tap_plan(0);
    tap_timeout(60);
    comparisons();
    size_t step = tap_is_slow() ? 3 : 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i += step) {
        const char *log;
        cji_exec_program *p = ex_try(row_text(i), &log);
        if (!tap_ok(p != NULL, "%s is executed", rows[i].text)) {
            tap_diag("%s", log);
            continue;
        }
        static const unsigned blocks[] = { 32, 19 };
        for (size_t b = 0; b < 2; b++) {
            uint64_t params[3] = { EX_BASE, EX_BASE + 256, 0 }, in[3] = { rows[i].a, rows[i].b, rows[i].c }, out[32];
            cji_exec_fault fault;
            memset(ex_memory, 0xee, 1024);
            memcpy(ex_memory, in, sizeof in);
            bool ran = ex_run(p, "k", 1, blocks[b], 0, params, &fault);
            memcpy(out, ex_memory + 256, sizeof out);
            bool all = ran, others = true;
            for (unsigned j = 0; j < 32; j++) {
                if (j < blocks[b]) all &= out[j] == rows[i].want;
                else others &= out[j] == UINT64_C(0xeeeeeeeeeeeeeeee);
            }
            if (!all)
                tap_is_uint(out[0], rows[i].want, "%s, %u lanes%s%s", rows[i].text, blocks[b], ran ? "" : ": ",
                            ran ? "" : fault.sentence);
            else tap_ok(others, "%s, %u lanes", rows[i].text, blocks[b]);
        }
        cji_exec_program_free(p);
    }
    return tap_done();
}
