/* Any number of threads may work on one grid: every block runs once, atomics add up, blocks that
 * wait for each other make progress, a fault or a cancellation stops all of them. */
#include <pthread.h>

#include "exec_harness.h"

static const char text[] = EX_HEAD
    ".visible .entry count(.param .u64 a)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<6>;\nld.param.u64 %d1, [a];\n"
    "atom.global.add.u32 %r1, [%d1], 1;\n"
    "mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %d2, %r2, 4;\nadd.s64 %d3, %d1, %d2;\nred.global.add.u32 [%d3+256], 1;\n"
    "ret;\n}\n"
    /* a barrier over the whole grid */
    ".visible .entry meet(.param .u64 a)\n{\n.reg .pred %p;\n.reg .b32 %r<4>;\n.reg .b64 %d<6>;\n"
    "ld.param.u64 %d1, [a];\nmov.u32 %r2, %nctaid.x;\nred.release.gpu.global.add.u32 [%d1], 1;\n"
    "L1:\nld.acquire.gpu.global.u32 %r1, [%d1];\nsetp.lt.u32 %p, %r1, %r2;\n@%p bra L1;\n"
    "red.global.add.u32 [%d1+4], 1;\nret;\n}\n"
    ".visible .entry forever(.param .u64 a)\n{\nL1:\nbra L1;\n}\n"
    ".visible .entry fail(.param .u64 a)\n{\n.reg .pred %p;\n.reg .b32 %r<4>;\nmov.u32 %r1, %ctaid.x;\n"
    "setp.eq.u32 %p, %r1, 3;\n@%p trap;\nL1:\nbra L1;\n}\n";

static void *share_work(void *g)
{
    cji_exec_grid_work(g);
    return NULL;
}

static cji_exec_fault share(cji_exec_program *p, const char *name, unsigned grid, unsigned block, bool cooperative,
                           int *cancel)
{
    uint64_t param = EX_BASE;
    cji_exec_launch l = { .program = p,
                         .kernel = cji_exec_program_kernel(p, name),
                         .grid = { grid, 1, 1 },
                         .block = { block, 1, 1 },
                         .params = &param,
                         .memory = { .find = ex_find, .print = ex_print },
                         .cooperative = cooperative,
                         .cancel = cancel };
    cji_exec_grid *g = cji_exec_grid_open(&l);
    pthread_t t[4];
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, share_work, g);
    if (cancel) __atomic_store_n(cancel, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    cji_exec_fault f = *cji_exec_grid_fault(g);
    cji_exec_grid_close(g);
    return f;
}

int main(void)
{
    tap_plan(0);
    tap_timeout(60);
    cji_exec_program *p = ex_load(text);
    const uint32_t *u = (const uint32_t *)(const void *)ex_memory;
    unsigned grid = tap_is_slow() ? 60 : 400, meet = tap_is_slow() ? 12 : 100;
    tap_is_int(share(p, "count", grid, 64, false, NULL).kind, CJI_EXEC_FAULT_NONE, "a grid on four threads runs");
    tap_is_uint(u[0], grid * 64, "atomic additions of all threads arrive");
    unsigned bad = 0;
    for (unsigned i = 0; i < grid; i++) bad += u[64 + i] != 64;
    tap_is_uint(bad, 0, "every block runs once");
    memset(ex_memory, 0, 64);
    tap_is_int(share(p, "meet", meet, 1, true, NULL).kind, CJI_EXEC_FAULT_NONE,
               "a cooperative grid of more blocks than threads meets");
    tap_is_uint(u[1], meet, "and all blocks make progress");
    cji_exec_fault f = share(p, "fail", 8, 32, false, NULL);
    tap_ok(f.kind == CJI_EXEC_FAULT_TRAP && f.block[0] == 3, "a fault stops blocks that run forever on other threads");
    int cancel = 0;
    tap_is_int(share(p, "forever", 8, 32, false, &cancel).kind, CJI_EXEC_FAULT_CANCELLED, "a cancelled grid ends");
    cji_exec_program_free(p);
    return tap_done();
}
