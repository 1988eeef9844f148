/* Every allocation of a load and a launch fails once: a complaint, no crash, nothing lost. */
#include "exec_harness.h"

static const char text[] = ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".global .b32 v[4] = {1, 2, 3, 4};\n.const .b32 c = 7;\n"
    ".func (.param .b32 o) f(.param .b32 i)\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [i];\nadd.u32 %r2, %r1, 1;\n"
    "st.param.b32 [o], %r2;\nret;\n}\n"
    ".visible .entry k(.param .u64 a)\n{\n.reg .pred %p;\n.reg .b32 %r<9>;\n.reg .b64 %d<4>;\n"
    ".reg .f32 %f<5>;\n.shared .align 16 .b32 s[32];\n"
    ".local .b32 l[4];\nld.param.u64 %d1, [a];\nmov.u32 %r1, %tid.x;\n"
    "setp.lt.u32 %p, %r1, 7;\n@%p bra L1;\nld.global.u32 %r2, [v+4];\nbra L2;\nL1:\nld.const.u32 %r2, [c];\nL2:\n"
    "st.local.u32 [l], %r2;\nbar.sync 0;\n"
    "mov.u32 %r4, s;\ncp.async.bulk.global.shared::cta.bulk_group [%d1+64], [%r4], 16;\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
    "mov.b64 %d2, 0;\nwgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %d2, %d2, 0, 1, 1, 0, 0;\n"
    "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
    "{\n.param .b32 x;\nst.param.b32 [x], %r2;\n.param .b32 y;\ncall.uni (y), f, (x);\nld.param.b32 %r3, [y];\n}\n"
    "st.global.u32 [%d1], %r3;\nret;\n}\n";

static long nomem_left, nomem_held;
static void *nomem_realloc(void *user, void *p, size_t old, size_t size)
{
    (void)user, (void)old;
    if (size && nomem_left-- <= 0) return NULL;
    if (size && !p) nomem_held++;
    if (!size && p) nomem_held--;
    if (size) return realloc(p, size);
    free(p);
    return NULL;
}

int main(void)
{
    tap_plan(0);
    tap_timeout(60);
    cji_set_hook(nomem_realloc, NULL);
    int quiet = 0, lost = 0, ran = 0;
    long step = tap_is_slow() ? 7 : 1, n = 0;
    for (; !ran && n < 5000; n += step) {
        nomem_left = n;
        cji_text log = { 0 };
        cji_exec_text t = { .name = "test.ptx", .text = text, .bytes = sizeof text - 1 };
        cji_exec_program *p = cji_exec_program_make(&t, 1, &log);
        if (p) {
            cji_exec_fault fault = { 0 };
            uint64_t param = EX_BASE;
            cji_exec_program_place(p, EX_BASE + EX_IMAGE, ex_memory + EX_IMAGE);
            if (ex_run(p, "k", 1, 128, 0, &param, &fault)) ran = 1;
            else quiet += fault.kind != CJI_EXEC_FAULT_NOMEM || !fault.sentence[0];
        } else quiet += !log.n && !log.failed;
        cji_exec_program_free(p);
        cji_text_free(&log);
        lost += nomem_held != 0;
        nomem_held = 0;
    }
    tap_ok(ran, "with enough memory it runs");
    tap_ok(n > 20, "many allocations failed before");
    tap_is_int(quiet, 0, "each failure is reported");
    tap_is_int(lost, 0, "nothing is lost");
    return tap_done();
}
