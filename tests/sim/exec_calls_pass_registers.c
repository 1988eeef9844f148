/* A call passes registers of every width to each lane that calls, and back, and changes no register of a lane that does
 * not: by whole warps, by some of their lanes, and by a warp that is not full. */
#include "exec_harness.h"

enum { THREADS = 80, WIDTHS = 3 };

/* Each function returns 3 a + b, whose results begin as 7; a and b are 5 t + 1 and t. */
#define WIDTH(bits, to)                                                                                       \
    ".func (.reg .b" #bits " %s) f" #bits "(.reg .b" #bits " %a, .reg .b" #bits " %b)\n{\n"                   \
    "mad.lo.u" #bits " %s, %a, 3, %b;\nret;\n}\n"                                                             \
    ".visible .entry k" #bits "(.param .u64 out, .param .u64 lanes)\n{\n.reg .b64 %d<6>;\n.reg .b32 %r<4>;\n" \
    ".reg .b" #bits " %a, %b, %s;\n.reg .pred %p;\nld.param.u64 %d1, [out];\nld.param.u64 %d2, [lanes];\n"    \
    "mov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 31;\nshr.u64 %d3, %d2, %r2;\nand.b64 %d3, %d3, 1;\n"             \
    "setp.ne.u64 %p, %d3, 0;\ncvt.u" #bits ".u32 %b, %r1;\nmad.lo.u" #bits " %a, %b, 5, 1;\n"                 \
    "mov.b" #bits " %s, 7;\n@%p call (%s), f" #bits ", (%a, %b);\n" to                                        \
    "mad.wide.u32 %d5, %r1, 8, %d1;\nst.global.u64 [%d5], %d4;\nret;\n}\n"
static const char text[] = EX_HEAD WIDTH(16, "cvt.u64.u16 %d4, %s;\n") WIDTH(32, "cvt.u64.u32 %d4, %s;\n")
    WIDTH(64, "mov.u64 %d4, %s;\n");

static const struct { const char *name; uint32_t lanes; unsigned threads; } rows[] = {
    { "whole warps", UINT32_MAX, 64 },       { "even lanes", 0x55555555, 64 }, { "one lane", 0x00100000, 64 },
    { "a warp of 16", UINT32_MAX, THREADS }, { "no lane", 0, 64 },
};

int main(void)
{
    static const char *const kernels[WIDTHS] = { "k16", "k32", "k64" };
    cji_exec_program *p = ex_load(text);
    tap_plan(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned j = 0; j < WIDTHS; j++) {
            cji_exec_fault f = { .kind = CJI_EXEC_FAULT_NONE };
            uint64_t params[] = { EX_BASE, rows[i].lanes }, found;
            unsigned bad = 0;
            memset(ex_memory, 0, sizeof found * THREADS);
            ex_run(p, kernels[j], 1, rows[i].threads, 0, params, &f);
            for (unsigned t = 0; t < rows[i].threads; t++) {
                memcpy(&found, ex_memory + sizeof found * t, sizeof found);
                bad += found != (rows[i].lanes >> t % 32 & 1 ? 3 * (5 * t + 1) + t : 7);
            }
            tap_ok(!f.kind && !bad, "%s, %s: %u threads have another result", rows[i].name, kernels[j], bad);
        }
    cji_exec_program_free(p);
    return tap_done();
}
