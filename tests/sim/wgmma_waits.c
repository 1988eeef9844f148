/* When a wgmma is done in the engine: not before the warp has waited for its group. What a kernel without the wait,
 * the commit or the fence gets, and the sentence of each mistake that is a fault. */
#include "exec_harness.h"

/* A, 64 x 16, lies at 0 of the shared memory, B, 16 x 8, at 2048 and once more at 2304; all of it is 1, so that an
 * element of A * B is 16. */
#define HEAD ".version 8.3\n.target sm_90a\n.address_size 64\n"
#define BODY(code) \
    ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<20>;\n.reg .b64 %d<9>;\n.reg .f32 %f<20>;\n" \
    ".reg .pred %p<4>;\n.shared .align 128 .b8 s[4096];\n" \
    "ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 16;\nadd.u64 %d1, %d1, %d2;\n" \
    "mov.b64 %d4, 0x1000080000;\nmov.b64 %d5, 0x1000080080;\nmov.b64 %d6, 0x1000080090;\nmov.u32 %r4, 0x3c003c00;\n" \
    "mov.b32 %r5, %r4;\nmov.b32 %r6, %r4;\nmov.b32 %r7, %r4;\nmov.b32 %r8, %r4;\n" \
    "mov.f32 %f1, 1.0;\nmov.f32 %f2, 1.0;\nmov.f32 %f3, 1.0;\nmov.f32 %f4, 1.0;\n" \
    SET("0", "%r4") SET("2048", "%r4") "fence.proxy.async.shared::cta;\n" code "END: ret;\n}\n"
#define TEXT(code) HEAD BODY(code)

/* 2048 bytes of shared memory become the word. */
#define SET(at, word) \
    "bar.sync 0;\nmov.u32 %r2, s;\nmad.lo.u32 %r2, %r1, 16, %r2;\n" \
    "st.shared.v4.b32 [%r2+" at "], {" word ", " word ", " word ", " word "};\nbar.sync 0;\n"
#define FENCE "wgmma.fence.sync.aligned;\n"
#define COMMIT "wgmma.commit_group.sync.aligned;\n"
#define WAIT(groups) "wgmma.wait_group.sync.aligned " #groups ";\n"
#define F1 "{%f1, %f2, %f3, %f4}"
#define F5 "{%f5, %f6, %f7, %f8}"
#define ROWS "{%r5, %r6, %r7, %r8}"
#define MUL(d, b, adds) \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " d ", %d4, " b ", " #adds ", 1, 1, 0, 0;\n"
#define MUL_ROWS(d, adds) \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " d ", " ROWS ", %d5, " #adds ", 1, 1, 0;\n"
#define MUL_HALVES \
    "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r5, %r6}, %d4, %d5, 0, 1, 1, 0, 0;\n"
#define GROUP(d) FENCE MUL(d, "%d5", 0) COMMIT
#define STORE(d) "st.global.v4.f32 [%d1], " d ";\n"
#define WRITE(d, value) "mov.f32 " d ", " value ";\n"

#define NONE UINT32_MAX        /* all ones */
enum { THREADS = 128, BLOCKS = 3, OUT = 4 * THREADS, F16_WORD = 0x4c004c00 /* 16, 16 */ };

static const struct { const char *name, *text; float value; uint32_t bits; } kernels[] = {
    { "one product", TEXT(GROUP(F1) WAIT(0) STORE(F1)), 16, 0 },
    { "a product that is added", TEXT(FENCE MUL(F1, "%d5", 1) COMMIT WAIT(0) STORE(F1)), 17, 0 },
    { "four of a group are added to the pending ones",
      TEXT(FENCE MUL(F1, "%d5", 1) MUL(F1, "%d6", 1) MUL(F1, "%d5", 1) MUL(F1, "%d6", 1) COMMIT WAIT(0) STORE(F1)), 65,
      0 },
    { "one that is not added begins anew",
      TEXT(FENCE MUL(F1, "%d5", 1) MUL(F1, "%d6", 0) MUL(F1, "%d5", 1) COMMIT WAIT(0) STORE(F1)), 32, 0 },
    { "two groups add up", TEXT(GROUP(F1) FENCE MUL(F1, "%d5", 1) COMMIT WAIT(0) STORE(F1)), 32, 0 },
    { "a wait that leaves a group waits for the one before",
      TEXT(GROUP(F5) GROUP(F1) WAIT(1) STORE(F5) WAIT(0)), 16, 0 },
    { "groups without a product count", TEXT(GROUP(F1) COMMIT WAIT(1) STORE(F1)), 16, 0 },
    { "a second wait for the rest", TEXT(GROUP(F1) WAIT(7) WAIT(1) WAIT(0) STORE(F1)), 16, 0 },
    { "B is written after the wait", TEXT(GROUP(F1) WAIT(0) SET("2048", "0") STORE(F1)), 16, 0 },
    { "A in registers", TEXT(FENCE MUL_ROWS(F1, 1) COMMIT WAIT(0) "mov.b32 %r5, 0;\n" STORE(F1)), 17, 0 },
    { "the same A in registers for two products",
      TEXT(FENCE MUL_ROWS(F1, 1) MUL_ROWS(F1, 1) MUL_ROWS(F5, 0) COMMIT WAIT(0) STORE(F1)), 33, 0 },
    { "A in registers is written between products, with a fence",
      TEXT(FENCE MUL_ROWS(F1, 1) COMMIT WAIT(0) "mov.b32 %r5, 0;\nmov.b32 %r7, 0;\n" FENCE MUL_ROWS(F1, 1) COMMIT
           WAIT(0) "mul.f32 %f1, %f3, 1.0;\nmov.f32 %f2, %f1;\nmov.f32 %f4, %f3;\n" STORE(F1)), 33, 0 },
    { "accumulators are scaled between products, with a fence",
      TEXT(GROUP(F1) WAIT(0) "mul.f32 %f1, %f1, 2.0;\nmul.f32 %f2, %f2, 2.0;\nmul.f32 %f3, %f3, 2.0;\n"
           "mul.f32 %f4, %f4, 2.0;\n" FENCE MUL(F1, "%d5", 1) COMMIT WAIT(0) STORE(F1)), 48, 0 },
    { "accumulators are written without a fence, and not added",
      TEXT(GROUP(F1) WAIT(0) WRITE("%f1", "0f7fc00000") MUL(F1, "%d5", 0) COMMIT WAIT(0) STORE(F1)), 16, 0 },
    { "f16 accumulators are A of the next product",
      TEXT(FENCE MUL_HALVES COMMIT WAIT(0) "mov.b32 %r7, %r5;\nmov.b32 %r8, %r6;\n" FENCE MUL_ROWS(F1, 0) COMMIT WAIT(0)
           STORE(F1)), 256, 0 },
    { "a function waits",
      HEAD ".func w()\n{\n" WAIT(0) "ret;\n}\n" BODY(GROUP(F1) "call.uni w;\n" STORE(F1)), 16, 0 },
    { "the registers of a function end with it",
      HEAD ".func w()\n{\n.reg .f32 %f<9>;\n.reg .b64 %d<9>;\nmov.b64 %d4, 0x1000080000;\nmov.b64 %d5, 0x1000080080;\n"
      WRITE("%f1", "2.0") FENCE MUL(F1, "%d5", 1) COMMIT "ret;\n}\n"
      ".func x(.param .b32 i)\n{\n.reg .f32 %f<9>;\n.reg .b64 %d<9>;\n.reg .b32 %r<2>;\nmov.b64 %d4, 0x1000080000;\n"
      "mov.b64 %d5, 0x1000080080;\nld.param.f32 %f1, [i];\n" MUL(F1, "%d5", 1) COMMIT WAIT(0) "ret;\n}\n"
      BODY(GROUP(F1) "call.uni w;\n{\n.param .b32 i;\nst.param.f32 [i], 0f40400000;\ncall.uni x, (i);\n}\n"
           "call.uni w;\n" WAIT(0) STORE(F1)), 16, 0 },
    { "no wait", TEXT(GROUP(F1) STORE(F1)), 0, NONE },
    { "a wait for a group too few", TEXT(GROUP(F1) WAIT(1) STORE(F1)), 0, NONE },
    { "a wait for the first of two groups of the same accumulators",
      TEXT(GROUP(F1) FENCE MUL(F1, "%d5", 1) COMMIT WAIT(1) STORE(F1) WAIT(0)), 0, NONE },
    { "accumulators are read before the wait",
      TEXT(GROUP(F1) "mov.f32 %f5, %f1;\nmov.f32 %f6, %f2;\nmov.f32 %f7, %f3;\nmov.f32 %f8, %f4;\n" WAIT(0) STORE(F5)),
      0, NONE },
    { "no commit", TEXT(FENCE MUL(F1, "%d5", 0) WAIT(0) STORE(F1)), 0, NONE },
    { "a commit before the product", TEXT(FENCE COMMIT MUL(F1, "%d5", 0) WAIT(0) STORE(F1)), 0, NONE },
    { "f16 accumulators without a wait",
      TEXT(FENCE MUL_HALVES COMMIT "mov.b32 %r7, %r5;\nmov.b32 %r8, %r6;\nst.global.v4.b32 [%d1], " ROWS ";\n"), 0,
      NONE },
    { "f16 accumulators",
      TEXT(FENCE MUL_HALVES COMMIT WAIT(0) "mov.b32 %r7, %r5;\nmov.b32 %r8, %r6;\nst.global.v4.b32 [%d1], " ROWS ";\n"),
      0, F16_WORD },
    { "A is written before the wait", TEXT(GROUP(F1) SET("0", "0") WAIT(0) STORE(F1)), 0, 0 },
    { "B is written before the wait", TEXT(GROUP(F1) SET("2048", "0x40004000") WAIT(0) STORE(F1)), 32, 0 },
    { "another warp writes B before the wait",
      TEXT(GROUP(F1) "setp.lt.u32 %p1, %r1, 96;\n@%p1 bra W;\nsub.u32 %r9, %r1, 96;\nmov.u32 %r2, s;\n"
           "mad.lo.u32 %r2, %r9, 16, %r2;\nmov.u32 %r9, 0x40004000;\n"
           "st.shared.v4.b32 [%r2+2048], {%r9, %r9, %r9, %r9};\nW:" WAIT(0) STORE(F1)), 32, 0 },
    { "B is written when its group is not among those waited for",
      TEXT(FENCE MUL(F5, "%d5", 0) COMMIT FENCE MUL(F1, "%d6", 0) COMMIT WAIT(1) SET("2048", "0x40004000") WAIT(0)
           STORE(F1)), 32, 0 },
};

static const struct { const char *name, *text, *part; } faults[] = {
    { "no fence", TEXT(MUL(F1, "%d5", 0) COMMIT WAIT(0) STORE(F1)),
      "is the first one of the warp, and no fence of its kind comes before it (block 0,0,0 thread 0,0,0)" },
    { "a fence in the first block alone",
      TEXT("mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 0;\n@!%p1 bra.uni M;\n" FENCE "bra.uni END;\nM:"
           MUL(F1, "%d5", 0) COMMIT WAIT(0) STORE(F1)),
      "no fence of its kind comes before it (block 1,0,0 thread 0,0,0)" },
    { "an accumulator is written before the wait", TEXT(GROUP(F1) WRITE("%f3", "0.0") WAIT(0) STORE(F1)),
      "has an accumulator that was written before the warp waited for its group" },
    { "a register of A is written before the wait",
      TEXT(FENCE MUL_ROWS(F1, 1) COMMIT "mov.b32 %r8, 0;\n" WAIT(0) STORE(F1)),
      "has a register of A that was written before the warp waited for its group" },
    { "a register of A is written for the next product before the wait",
      TEXT(FENCE MUL_ROWS(F1, 1) COMMIT "mov.b32 %r6, 0;\n" FENCE MUL_ROWS(F5, 0) COMMIT WAIT(0) STORE(F1)),
      "finds a register of A changed, which another wgmma reads that the warp has not waited for" },
    { "accumulators of a pending product are A",
      TEXT(FENCE MUL_HALVES MUL_ROWS(F1, 0) COMMIT WAIT(0) STORE(F1)),
      "has A in accumulators of a wgmma that the warp has not waited for" },
    { "a pending product's A is the next one's accumulators",
      TEXT(FENCE MUL_ROWS(F1, 0) MUL_HALVES COMMIT WAIT(0) STORE(F1)), "has a register of A that was written" },
    { "accumulators are scaled without a fence",
      TEXT(GROUP(F1) WAIT(0) "mul.f32 %f4, %f4, 2.0;\n" MUL(F1, "%d5", 1) COMMIT WAIT(0) STORE(F1)),
      "finds an accumulator written by another instruction since the last fence of its kind" },
    { "A in registers is written without a fence",
      TEXT(FENCE MUL_ROWS(F1, 1) COMMIT WAIT(0) "mov.b32 %r5, 0;\n" MUL_ROWS(F1, 1) COMMIT WAIT(0) STORE(F1)),
      "finds a register of A written by another instruction since the last fence of its kind" },
};

static bool run(const char *text, cji_exec_fault *fault)
{
    cji_exec_program *p = ex_load(text);
    uint64_t param = EX_BASE;
    memset(ex_memory, 0x55, OUT * sizeof(uint32_t));
    bool held = ex_run(p, "k", BLOCKS, THREADS, 0, &param, fault);
    cji_exec_program_free(p);
    return held;
}

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        cji_exec_fault fault;
        uint32_t want = kernels[i].bits, got[OUT];
        unsigned wrong = 0;
        if (kernels[i].value) memcpy(&want, &kernels[i].value, sizeof want);
        if (!run(kernels[i].text, &fault)) {
            tap_ok(false, "%s: %s", kernels[i].name, fault.sentence);
            continue;
        }
        memcpy(got, ex_memory, sizeof got);
        for (int j = 0; j < OUT; j++)
            if (got[j] != want && !wrong++) tap_diag("word %d is 0x%x, wants 0x%x", j, got[j], want);
        tap_is_uint(wrong, 0, "%s", kernels[i].name);
    }
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        cji_exec_fault fault = { .kind = CJI_EXEC_FAULT_NONE };
        bool held = run(faults[i].text, &fault);
        tap_is_uint(held ? CJI_EXEC_FAULT_NONE : fault.kind, CJI_EXEC_FAULT_SYNC, "%s", faults[i].name);
        tap_has_str(fault.sentence, faults[i].part, "%s: the sentence", faults[i].name);
    }
    return tap_done();
}
