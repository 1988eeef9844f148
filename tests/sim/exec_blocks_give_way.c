/* One thread runs a block to its end, through all its barriers, unless it may be waiting for another block: blocks that
 * wait for each other make progress in every way of waiting, and blocks that do not wait are not interleaved. */
#include "exec_harness.h"

/* Each block waits for the next one's flag, then sets its own; the last one does not wait. So the first block is done
 * last, though it begins first. */
#define WAITS(name, registers, loop)                                                                              \
    ".visible .entry " name "(.param .u64 p, .param .u64 n) {\n"                                                  \
    " .reg .pred %q, %z; .reg .u32 %r<10>; .reg .u64 %d<10>; " registers "\n"                                     \
    " ld.param.u64 %d1, [p]; ld.param.u64 %d2, [n]; cvt.u32.u64 %r2, %d2;\n"                                      \
    " mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; setp.eq.u32 %z, %r0, 0;\n"                                      \
    " mul.wide.u32 %d3, %r1, 4; add.u64 %d3, %d1, %d3; add.u32 %r3, %r1, 1;\n"                                    \
    " setp.eq.u32 %q, %r3, %r2; @%q bra SET;\n" loop                                                              \
    "SET: bar.sync 0;\n @!%z bra END;\n membar.gl;\n"                                                             \
    /* the turn in which the block is done */                                                                     \
    " mul.wide.u32 %d4, %r2, 4; add.u64 %d4, %d1, %d4; atom.global.add.u32 %r4, [%d4], 1; add.u32 %r4, %r4, 1;\n" \
    " st.volatile.global.u32 [%d3], %r4;\n"                                                                       \
    "END: ret; }\n"

static const char text[] = EX_HEAD
    WAITS("volatile_loads", "", "L: ld.volatile.global.u32 %r5, [%d3+4]; setp.eq.u32 %q, %r5, 0; @%q bra L;\n")
    WAITS("relaxed_loads", "", "L: ld.relaxed.gpu.global.u32 %r5, [%d3+4]; setp.eq.u32 %q, %r5, 0; @%q bra L;\n")
    WAITS("weak_loads", "", "L: ld.global.u32 %r5, [%d3+4]; membar.gl; setp.eq.u32 %q, %r5, 0; @%q bra L;\n")
    WAITS("atomic_additions", "", "L: atom.global.add.u32 %r5, [%d3+4], 0; setp.eq.u32 %q, %r5, 0; @%q bra L;\n")
    WAITS("compare_and_swap", "", "L: atom.global.cas.b32 %r5, [%d3+4], 0, 0; setp.eq.u32 %q, %r5, 0; @%q bra L;\n")
    WAITS("sleeps", "",
          "L: nanosleep.u32 100; ld.volatile.global.u32 %r5, [%d3+4]; setp.eq.u32 %q, %r5, 0; @%q bra L;\n")
    WAITS("one_thread_waits", "",
          "@!%z bra SET;\nL: ld.volatile.global.u32 %r5, [%d3+4]; setp.eq.u32 %q, %r5, 0; @%q bra L;\n")
    WAITS("a_loop_around_a_barrier", ".shared .u32 seen;",
          "L: @%z ld.volatile.global.u32 %r5, [%d3+4]; @%z st.shared.u32 [seen], %r5; bar.sync 1;\n"
          " ld.shared.u32 %r6, [seen]; bar.sync 1; setp.eq.u32 %q, %r6, 0; @%q bra L;\n")
    WAITS("a_weak_load_and_a_barrier", "",
          "L: ld.global.u32 %r5, [%d3+4]; barrier.sync 2; setp.eq.u32 %q, %r5, 0; @%q bra L;\n")
    /* The beginning and the end of each block get the next number; between them are n barriers. */
    ".visible .entry barriers(.param .u64 p, .param .u64 n) {\n"
    " .reg .pred %q, %z; .reg .u32 %r<10>; .reg .u64 %d<10>;\n"
    " ld.param.u64 %d1, [p]; ld.param.u64 %d2, [n]; cvt.u32.u64 %r2, %d2;\n"
    " mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; setp.eq.u32 %z, %r0, 0; mul.wide.u32 %d3, %r1, 8;\n"
    " add.u64 %d3, %d1, %d3; @%z atom.global.add.u32 %r4, [%d1], 1; @%z st.global.u32 [%d3+16], %r4;\n"
    "L: bar.sync 0; sub.u32 %r2, %r2, 1; setp.ne.u32 %q, %r2, 0; @%q bra L;\n"
    " @%z atom.global.add.u32 %r4, [%d1], 1; @%z st.global.u32 [%d3+20], %r4; ret; }\n";

static const char *const waits[] = { "volatile_loads", "relaxed_loads", "weak_loads", "atomic_additions",
                                     "compare_and_swap", "sleeps", "one_thread_waits", "a_loop_around_a_barrier",
                                     "a_weak_load_and_a_barrier" };

static bool run(cji_exec_program *p, const char *name, unsigned blocks, uint64_t n, bool cooperative)
{
    uint64_t params[] = { EX_BASE, n };
    cji_exec_fault fault;
    memset(ex_memory, 0, 65536);
    cji_exec_launch l = { .program = p,
                          .kernel = cji_exec_program_kernel(p, name),
                          .grid = { blocks, 1, 1 },
                          .block = { 64, 1, 1 },
                          .params = params,
                          .memory = { .find = ex_find },
                          .cooperative = cooperative };
    bool ok = cji_exec_run(&l, &fault);
    if (!ok) tap_diag("%s: %s", name, fault.sentence);
    return ok;
}

/* Are the blocks done in the order from the last to the first? */
static bool from_the_last(unsigned blocks)
{
    const uint32_t *turn = (const uint32_t *)(const void *)ex_memory;
    for (unsigned i = 0; i < blocks; i++)
        if (turn[i] != blocks - i) return false;
    return true;
}

int main(void)
{
    tap_plan(0);
    tap_timeout(60);
    cji_exec_program *p = ex_load(text);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        tap_ok(run(p, waits[i], 5, 5, false) && from_the_last(5), "five blocks wait for each other: %s", waits[i]);
        /* more blocks than a thread has under way at a time, but of a cooperative grid all of them */
        if (i % 4 == 0 && !tap_is_slow())
            tap_ok(run(p, waits[i], 66, 66, true) && from_the_last(66), "66 of a cooperative grid: %s", waits[i]);
    }
    static const unsigned counts[] = { 1, 7, 8, 9, 100, 500 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const uint32_t *number = (const uint32_t *)(const void *)(ex_memory + 16);
        bool ok = run(p, "barriers", 3, counts[i], false);
        for (uint32_t j = 0; j < 6; j++) ok = ok && number[j] == j;
        tap_ok(ok, "blocks with %u barriers run one after another", counts[i]);
    }
    tap_ok(run(p, "barriers", 3, 20000, false), "and with 20000 they end");
    cji_exec_program_free(p);
    return tap_done();
}
