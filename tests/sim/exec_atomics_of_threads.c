/* No atomic operation is lost, whoever else writes: grids of several threads that come and go, several threads in one
 * grid, and threads outside of grids that say so. A kernel whose thread is alone uses plain instructions, so threads
 * arrive in the midst of them all the time. */
#include <pthread.h>

#include "exec_harness.h"
#include "sim/exec/writers.h"

enum { THREADS = 4, PLACES = 8 };

/* Every thread adds 1 to one place, counts another up with atom, and adds to a third by compare-and-swap. It adds and
 * subtracts a pair of f16 and one f16, and counts the other half of that one's word up by compare-and-swap. */
static const char text[] = EX_HEAD
    ".visible .entry count(.param .u64 p) {\n"
    " .reg .pred %q; .reg .u32 %r<10>; .reg .u64 %d<10>; .reg .b16 %h<8>; .reg .b32 %w<4>;\n"
    " ld.param.u64 %d1, [p]; mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 7; mul.wide.u32 %d2, %r1, 4;\n"
    " add.u64 %d3, %d1, %d2;\n"
    " red.global.add.u32 [%d1+64], 1;\n red.global.add.u32 [%d3], 1;\n atom.global.inc.u32 %r2, [%d3+32], -1;\n"
    " ld.relaxed.gpu.global.u32 %r4, [%d1+68];\n"
    "L: mov.u32 %r3, %r4; add.u32 %r5, %r3, 1; atom.global.cas.b32 %r4, [%d1+68], %r3, %r5;\n"
    " setp.ne.u32 %q, %r4, %r3; @%q bra L;\n"
    " mov.b32 %w1, 0xBC003C00; mov.b32 %w2, 0x3C00BC00; mov.b16 %h1, 0x3C00; mov.b16 %h2, 0xBC00;\n"
    " red.global.add.noftz.f16x2 [%d1+72], %w1;\n atom.global.add.noftz.f16 %h3, [%d1+76], %h1;\n"
    " red.global.add.noftz.f16x2 [%d1+72], %w2;\n atom.global.add.noftz.f16 %h3, [%d1+76], %h2;\n"
    " ld.relaxed.gpu.global.u16 %h4, [%d1+78];\n"
    "M: mov.b16 %h5, %h4; add.u16 %h6, %h5, 1; atom.global.cas.b16 %h4, [%d1+78], %h5, %h6;\n"
    " setp.ne.u16 %q, %h4, %h5; @%q bra M;\n ret; }\n";

static cji_exec_program *program;
static unsigned rounds;

static bool find_device(void *user, uint64_t a, cji_exec_span *span, char *why, size_t size)
{
    bool found = ex_find(user, a, span, why, size);
    span->device_only = found;
    return found;
}

static cji_exec_launch launch_of(unsigned blocks, const uint64_t *param)
{
    return (cji_exec_launch){ .program = program,
                              .kernel = cji_exec_program_kernel(program, "count"),
                              .grid = { blocks, 1, 1 },
                              .block = { 64, 1, 1 },
                              .params = param,
                              .memory = { .find = find_device } };
}

static void *many_grids(void *failed)
{
    const uint64_t param = EX_BASE;
    for (unsigned i = 0; i < rounds; i++) {
        cji_exec_launch l = launch_of(1 + i % 3, &param);
        cji_exec_fault fault;
        if (!cji_exec_run(&l, &fault)) *(int *)failed = 1;
    }
    return NULL;
}

static void *work(void *g)
{
    cji_exec_grid_work(g);
    return NULL;
}

static void *writes(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < rounds; i++) {
        cji_exec_write_begin();
        __atomic_fetch_add((uint32_t *)(void *)(ex_memory + 64), 1, __ATOMIC_RELAXED);
        cji_exec_write_begin();    /* they nest */
        cji_exec_write_end();
        cji_exec_write_end();
    }
    return NULL;
}

/* `blocks` of 64 threads have run, and `more` additions at 64. */
static void check(unsigned blocks, unsigned more, const char *what)
{
    const uint32_t *u = (const uint32_t *)(const void *)ex_memory;
    unsigned bad = 0;
    for (int i = 0; i < 2 * PLACES; i++) bad += u[i] != blocks * 64 / PLACES;
    tap_is_uint(bad, 0, "%s: each place has what was added", what);
    tap_is_uint(u[16], blocks * 64 + more, "%s: one place for all", what);
    tap_is_uint(u[17], blocks * 64, "%s: by compare-and-swap", what);
    tap_is_uint(u[18], 0, "%s: a pair of f16", what);
    tap_is_uint(u[19], (blocks * 64 & 0xffff) << 16, "%s: one f16, and 16 bits by compare-and-swap", what);
    memset(ex_memory, 0, 128);
}

int main(void)
{
    pthread_t t[THREADS];
    int failed = 0;
    const uint64_t param = EX_BASE;
    tap_plan(0);
    rounds = tap_is_slow() ? 30 : 600;
    program = ex_load(text);
    unsigned each = 0;
    for (unsigned i = 0; i < rounds; i++) each += 1 + i % 3;

    many_grids(&failed);
    check(each, 0, "a thread alone");

    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, i ? many_grids : writes, &failed);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    check((THREADS - 1) * each, rounds, "grids beside each other");

    cji_exec_launch l = launch_of(rounds, &param);
    cji_exec_grid *g = cji_exec_grid_open(&l);
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, g);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    failed |= cji_exec_grid_fault(g)->kind != CJI_EXEC_FAULT_NONE;
    cji_exec_grid_close(g);
    check(rounds, 0, "threads in one grid");

    tap_ok(!failed, "no launch failed");
    tap_is_uint(cji_writers.n, 0, "no writer is left");
    tap_is_uint(cji_writers.plain, 0, "no plain section is under way");
    cji_exec_program_free(program);
    return tap_done();
}
