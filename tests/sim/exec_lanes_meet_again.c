/* Lanes that went different ways meet at the immediate post-dominator: what activemask says there;
 * and barriers and shuffles behind divergent code find all lanes, whatever the order of the text's
 * blocks. */
#include "exec_harness.h"

#define KERNEL(code) \
    EX_HEAD \
        ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p, %q;\n.reg .b32 %r<9>, %i, %m;\n.reg .b64 %d<4>;\n" \
        "ld.param.u64 %d1, [out];\n" \
        "mov.u32 %r1, %tid.x;\nmov.u32 %i, 0;\nmov.u32 %m, 0;\n" code \
        "\nmul.wide.u32 %d2, %r1, 4;\nadd.s64 %d2, %d2, %d1;\nst.global.u32 [%d2], %m;\nret;\n}\n"

static const struct { const char *name, *text; uint32_t want, lanes; } cases[] = {
    { "if and else",
      KERNEL(
          "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p, %r2, 0;\n@%p bra E;\nadd.u32 %i, %i, 1;\nbra J;\nE:\n"
          "add.u32 %i, %i, 2;\nJ:\nactivemask.b32 %m;"),
      0xffffffff, 0xffffffff },
    { "a loop with as many rounds as the lane's number",
      KERNEL("L:\nsetp.ge.u32 %p, %i, %r1;\n@%p bra J;\nadd.u32 %i, %i, 1;\nbra L;\nJ:\nactivemask.b32 %m;"),
      0xffffffff, 0xffffffff },
    { "the else part far below",
      KERNEL("setp.lt.u32 %p, %r1, 7;\n@%p bra E;\nJ:\nactivemask.b32 %m;\nbra F;\nE:\nadd.u32 %i, %i, 2;\nbra J;\nF:"),
      0xffffffff, 0xffffffff },
    { "a loop inside a loop, left by break",
      KERNEL(
          "mov.u32 %r3, 0;\nA:\nmov.u32 %i, 0;\nB:\nadd.u32 %r4, %i, %r3;\nsetp.gt.u32 %p, %r4, %r1;\n@%p bra X;\n"
          "add.u32 %i, %i, 1;\n"
          "setp.lt.u32 %p, %i, 5;\n@%p bra B;\n"
          "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p, %r3, 4;\n@%p bra A;\nX:\nactivemask.b32 %m;"),
      0xffffffff, 0xffffffff },
    { "some lanes return early", KERNEL("setp.lt.u32 %p, %r1, 8;\n@%p ret;\nactivemask.b32 %m;"), 0xffffff00,
      0xffffff00 },
    { "an early return inside a branch",
      KERNEL(
          "setp.lt.u32 %p, %r1, 16;\n@%p bra E;\nadd.u32 %i, %i, 1;\nbra J;\nE:\nsetp.lt.u32 %q, %r1, 4;\n"
          "@%q exit;\nJ:\n"
          "activemask.b32 %m;"),
      0xfffffff0, 0xfffffff0 },
    { "a branch over a list",
      KERNEL(
          "T: .branchtargets A, B, C;\nrem.u32 %r2, %r1, 3;\nbrx.idx %r2, T;\nA:\nadd.u32 %i, %i, 1;\nbra J;\nB:\n"
          "add.u32 %i, %i, 2;\nbra J;\nC:\n"
          "add.u32 %i, %i, 3;\nJ:\nactivemask.b32 %m;"),
      0xffffffff, 0xffffffff },
    { "a ballot behind divergent code",
      KERNEL("L:\nadd.u32 %i, %i, 1;\nsetp.lt.u32 %p, %i, %r1;\n@%p bra L;\nsetp.gt.u32 %q, %r1, 3;\n"
             "vote.sync.ballot.b32 %m, %q, -1;"),
      0xfffffff0, 0xffffffff },
    { "half of the lanes shuffle among themselves, each half at its own place",
      KERNEL(
          "setp.lt.u32 %p, %r1, 16;\n@%p bra E;\nshfl.sync.idx.b32 %m, %r1, 16, 31, 0xffff0000;\nbra J;\nE:\n"
          "shfl.sync.idx.b32 %m, %r1, 16, 31, 0xffff;\nmov.u32 %m, 16;\n"
          "J:"),
      16, 0xffffffff },
    { "two places of one shuffle",
      KERNEL(
          "setp.lt.u32 %p, %r1, 16;\n@%p bra E;\nshfl.sync.idx.b32 %m, %r1, 3, 31, -1;\nbra J;\nE:\n"
          "shfl.sync.idx.b32 %m, %r1, 3, 31, -1;\nJ:"),
      3, 0xffffffff },
    { "warp barrier between diverged lanes",
      KERNEL(
          "setp.lt.u32 %p, %r1, 16;\n@%p bra E;\nbar.warp.sync -1;\nbra J;\nE:\nbar.warp.sync -1;\nJ:\nmov.u32 %m, 9;"),
      9, 0xffffffff },
    { "barrier.sync without .aligned under divergence",
      KERNEL("setp.lt.u32 %p, %r1, 16;\n@%p bra E;\nbarrier.sync 0;\nbra J;\nE:\nbarrier.sync 0;\nJ:\nmov.u32 %m, 9;"),
      9, 0xffffffff },
};

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cji_exec_program *p = ex_load(cases[i].text);
        cji_exec_fault fault;
        uint64_t param = EX_BASE;
        memset(ex_memory, 0x77, 256);
        bool ran = ex_run(p, "k", 1, 32, 0, &param, &fault);
        tap_ok(ran, "%s runs%s%s", cases[i].name, ran ? "" : ": ", fault.sentence);
        int bad = 0;
        for (unsigned l = 0; l < 32; l++) {
            uint32_t got;
            memcpy(&got, ex_memory + 4 * l, 4);
            bad += got != (cases[i].lanes >> l & 1 ? cases[i].want : 0x77777777);
        }
        uint32_t last;
        memcpy(&last, ex_memory + 124, 4);
        if (!tap_is_int(bad, 0, "%s: every lane sees 0x%08x", cases[i].name, cases[i].want))
            tap_diag("lane 31 has 0x%08x", last);
        cji_exec_program_free(p);
    }
    return tap_done();
}
