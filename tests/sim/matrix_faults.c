/* Matrices of a warp: what a kernel does wrong with them is a fault that names it, and what is legal is none. */
#include "exec_harness.h"

#define TEXT(body) \
    ".version 8.3\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n" \
    ".reg .b32 %r<20>;\n.reg .b64 %d<9>;\n.reg .f32 %f<20>;\n.reg .pred %p<4>;\n" \
    ".shared .align 16 .b8 s[512];\n" \
    "ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 31;\nmov.u32 %r3, s;\n" \
    "mad.lo.u32 %r4, %r2, 16, %r3;\n" body "ret;\n}\n"
#define LOAD "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, "
/* %d4, %d5: descriptors of A and B */
#define WGMMA(adds) \
    "wgmma.fence.sync.aligned;\n" \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %d4, %d5, " adds ", 1, 1, 0, 0;\n" \
    "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
#define MMA \
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r5, %r5}, {%r5}, " \
    "{%f1, %f2, %f3, %f4};\n"

static const struct row {
    const char *name, *text;
    unsigned threads;
    cji_exec_fault_kind kind;  /* NONE: it runs */
    const char *part;          /* of the sentence */
} rows[] = {
    { "a whole warp", TEXT(LOAD "[%r4];\n"), 32, CJI_EXEC_FAULT_NONE, "" },
    { "two warps", TEXT(LOAD "[%r4];\n" MMA), 64, CJI_EXEC_FAULT_NONE, "" },
    { "rows of the other lanes are not read",
      TEXT("setp.gt.u32 %p1, %r2, 7;\nselp.b32 %r4, 7, %r4, %p1;\n" LOAD "[%r4];\n"), 32, CJI_EXEC_FAULT_NONE, "" },
    { "lanes that come one after the other",
      TEXT("setp.gt.u32 %p1, %r2, 11;\n@%p1 bra more;\nadd.u32 %r6, %r2, 1;\nmore:\n" LOAD "[%r4];\n"), 32,
      CJI_EXEC_FAULT_NONE, "" },
    { "a generic address of shared memory",
      TEXT("cvt.u64.u32 %d2, %r4;\ncvta.shared.u64 %d3, %d2;\nldmatrix.sync.aligned.m8n8.x4.trans.b16 "
           "{%r5, %r6, %r7, %r8}, [%d3];\n"), 32, CJI_EXEC_FAULT_NONE, "" },
    { "a generic address of global memory",
      TEXT("ldmatrix.sync.aligned.m8n8.x1.b16 {%r5}, [%d1];\n"), 32, CJI_EXEC_FAULT_SPACE,
      "reads a row at 0x700000000000, which is not in shared memory (block 0,0,0 thread 0,0,0)" },
    { "a store to global memory",
      TEXT("stmatrix.sync.aligned.m8n8.x1.b16 [%d1], {%r5};\n"), 32, CJI_EXEC_FAULT_SPACE,
      "writes a row at 0x700000000000, which is not in shared memory" },
    { "a row that begins between units of 16 bytes", TEXT("add.u32 %r4, %r4, 8;\n" LOAD "[%r4];\n"), 32,
      CJI_EXEC_FAULT_MISALIGNED, "which is no multiple of 16" },
    { "a row behind the end", TEXT("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%r4+16];\n"), 32,
      CJI_EXEC_FAULT_ADDRESS,
      "reads 16 bytes at offset 512 of shared memory, which has 512 (block 0,0,0 thread 31,0,0)" },
    { "a stored row behind the end", TEXT("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r4+16], {%r5, %r6, %r7, %r8};\n"),
      32, CJI_EXEC_FAULT_ADDRESS, "writes 16 bytes at offset 512 of shared memory" },
    { "half a warp", TEXT(MMA), 16, CJI_EXEC_FAULT_SYNC,
      "needs all 32 lanes of the warp, of which only lanes 0x0000ffff have not exited" },
    { "a lane that has exited", TEXT("setp.eq.u32 %p1, %r2, 3;\n@%p1 exit;\n" MMA), 32, CJI_EXEC_FAULT_SYNC,
      "only lanes 0xfffffff7 have not exited" },
    { "lanes without the predicate", TEXT("setp.eq.u32 %p1, %r2, 3;\n@%p1 " MMA), 32, CJI_EXEC_FAULT_SYNC,
      "needs all 32 lanes" },
    { "two places, one for each half of the warp",
      TEXT("setp.gt.u32 %p1, %r2, 15;\n@%p1 bra high;\n" MMA "bra.uni both;\nhigh:\n" MMA "both:\n"), 32,
      CJI_EXEC_FAULT_SYNC, "waits for lanes that never come: lanes 0x0000ffff of the warp are here" },
    { "a matrix that the others transpose",
      TEXT("setp.gt.u32 %p1, %r2, 15;\n@%p1 bra high;\nmovmatrix.sync.aligned.m8n8.trans.b16 %r5, %r6;\n"
           "bra.uni both;\nhigh:\nbar.warp.sync 0xffffffff;\nboth:\n"), 32,
      CJI_EXEC_FAULT_SYNC, "waits for lanes that never come" },
    { "a warpgroup", TEXT("mov.u64 %d4, 0;\nmov.u64 %d5, 0;\n" WGMMA("1")), 128, CJI_EXEC_FAULT_NONE, "" },
    { "two warpgroups", TEXT("mov.u64 %d4, 0;\nmov.u64 %d5, 0;\n" WGMMA("0")), 256, CJI_EXEC_FAULT_NONE, "" },
    { "half a warpgroup", TEXT("mov.u64 %d4, 0;\nmov.u64 %d5, 0;\n" WGMMA("1")), 192, CJI_EXEC_FAULT_SYNC,
      "needs the four warps of warpgroup 1, of which the block has 2 (block 0,0,0 thread 128,0,0)" },
    { "a descriptor of each lane", TEXT("cvt.u64.u32 %d4, %r2;\nmov.u64 %d5, 0;\n" WGMMA("1")), 128,
      CJI_EXEC_FAULT_SYNC, "has the descriptor 0x1 of A in lane 1, and 0x0 in lane 0" },
    { "a predicate of some lanes",
      TEXT("setp.gt.u32 %p1, %r2, 15;\nmov.u64 %d4, 0;\nmov.u64 %d5, 0;\n" WGMMA("%p1")), 128, CJI_EXEC_FAULT_SYNC,
      "has a predicate that holds in lanes 0xffff0000 alone" },
    { "A behind the end of shared memory", TEXT("mov.u64 %d4, 31;\nmov.u64 %d5, 0;\n" WGMMA("1")), 128,
      CJI_EXEC_FAULT_ADDRESS, "reads 16 bytes at offset 512 of shared memory, which has 512" },
    { "B behind the end of shared memory", TEXT("mov.u64 %d4, 0;\nmov.u64 %d5, 0x200000;\n" WGMMA("1")), 128,
      CJI_EXEC_FAULT_ADDRESS, "reads 16 bytes at offset 512 of shared memory, which has 512" },
    { "a swizzle pattern that begins elsewhere",
      TEXT("mov.u64 %d4, 0x4002000000000000;\nmov.u64 %d5, 0;\n" WGMMA("1")), 128, CJI_EXEC_FAULT_SYNC,
      "has the base offset 1 in the descriptor 0x4002000000000000 of A" },
    { "a fence that half a warp executes", TEXT("setp.gt.u32 %p1, %r2, 15;\n@%p1 wgmma.fence.sync.aligned;\n"), 128,
      CJI_EXEC_FAULT_SYNC, "needs all 32 lanes" },
};

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *r = &rows[i];
        cji_exec_fault fault;
        cji_exec_program *p = ex_load(r->text);
        uint64_t param = EX_BASE;
        bool held = ex_run(p, "k", 1, r->threads, 0, &param, &fault);
        tap_is_uint(held ? CJI_EXEC_FAULT_NONE : fault.kind, r->kind, "%s", r->name);
        if (!held && r->kind == CJI_EXEC_FAULT_NONE) tap_diag("%s", fault.sentence);
        if (r->kind != CJI_EXEC_FAULT_NONE) tap_has_str(fault.sentence, r->part, "%s: the sentence", r->name);
        cji_exec_program_free(p);
    }
    return tap_done();
}
