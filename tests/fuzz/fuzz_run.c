/* Execution: changed kernels run on the engine; each ends, or is ended, with a result or a fault that has a sentence,
 * and reads and writes no host memory but its own. */
#include <signal.h>
#include <sys/time.h>

#include "ptx/layout.h"
#include "tests/sim/exec_harness.h"
#include "tests/fuzz/fuzz.h"

const char cji_fuzz_name[] = "run";
const bool cji_fuzz_is_text = true, cji_fuzz_has_threads = false;

enum { MOST_MS = 20, PARAMS = 64 };

static const char *const texts[] = { "tests/sim/kernels/exec.ptx",      "tests/ptx/samples/saxpy.ptx",
                                     "tests/ptx/samples/print.ptx",     "tests/ptx/samples/loops.ptx",
                                     "tests/ptx/samples/calls.ptx",     "tests/ptx/samples/reduce.ptx",
                                     "tests/ptx/samples/histogram.ptx", "tests/ptx/samples/switch.ptx" };

/* Small kernels: each of few statements, so that a change reaches the one that matters. */
static const char *const kernels[] = {
    EX_HEAD
    ".visible .entry k(.param .u64 p) { .reg .u64 a; .reg .u32 t, x; .reg .pred q; ld.param.u64 a, [p];\n"
    "mov.u32 t, %tid.x; mad.wide.u32 a, t, 4, a; ld.global.u32 x, [a]; add.u32 x, x, t; st.global.u32 [a], x; ret; }\n",
    EX_HEAD ".visible .entry k(.param .u64 p) { .shared .align 16 .b8 s[1024]; .reg .u64 a; .reg .u32 t, x, y;\n"
            "mov.u32 t, %tid.x; mov.u32 x, s; shl.b32 y, t, 2; add.u32 x, x, y; st.shared.u32 [x], t; bar.sync 0;\n"
            "ld.shared.u32 y, [x+-4]; atom.shared.add.u32 y, [s+8], t; red.shared.max.u32 [s+12], t; ret; }\n",
    EX_HEAD ".visible .entry k(.param .u64 p) { .local .align 16 .b8 l[64]; .reg .u64 a; .reg .u32 t, x<4>;\n"
            "mov.u64 a, l; mov.u32 t, %tid.x; st.local.v4.u32 [a], {t, t, t, t}; ld.local.v2.u32 {x0, x1}, [a+8];\n"
            "cvta.local.u64 a, a; ld.u32 x2, [a+4]; ret; }\n",
    EX_HEAD
    ".func (.param .b32 r) f(.param .align 8 .b8 s[24], .reg .u32 n) { .reg .u32 a, b; .reg .pred q;\n"
    "ld.param.u32 a, [s+8]; setp.eq.u32 q, n, 0; @q bra E; sub.u32 b, n, 1; { .param .align 8 .b8 p[24];\n"
    ".param .b32 o; st.param.b32 [p+8], a; call (o), f, (p, b); ld.param.b32 b, [o]; add.u32 a, a, b; }\n"
    "E: st.param.b32 [r], a; ret; }\n.visible .entry k(.param .u64 p) { .reg .u32 t; .param .align 8 .b8 q[24];\n"
    ".param .b32 o; mov.u32 t, 5; st.param.b32 [q+8], t; call (o), f, (q, t); ret; }\n",
    EX_HEAD ".visible .entry k(.param .u64 p) { .reg .u32 t, x; .reg .pred q; mov.u32 t, %laneid; mov.u32 x, 0;\n"
            "L: add.u32 x, x, 1; setp.lt.u32 q, x, t; @q bra L; shfl.sync.bfly.b32 t, x, 1, 31, -1;\n"
            "vote.sync.ballot.b32 x, q, -1; activemask.b32 t; bar.warp.sync -1; match.any.sync.b32 t, x, -1; ret; }\n",
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static volatile sig_atomic_t unused;
static int cancel;

static void end_kernel(int sig)
{
    unused = sig;
    __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
}

void cji_fuzz_begin(void)
{
    struct sigaction action = { .sa_handler = end_kernel, .sa_flags = SA_RESTART };
    sigaction(SIGVTALRM, &action, NULL);
}

void cji_fuzz_seeds(void)
{
    cji_fuzz_add_files(texts, sizeof texts / sizeof *texts);
    for (size_t i = 0; i < KERNELS; i++) cji_fuzz_add(kernels[i], strlen(kernels[i]));
}

static void limit(long ms)
{
    struct itimerval t = { .it_value = { 0, ms * 1000 }, .it_interval = { 0, ms * 1000 } };
    __atomic_store_n(&cancel, 0, __ATOMIC_RELAXED);
    setitimer(ITIMER_VIRTUAL, &t, NULL);
}

static void launch(cji_exec_program *p, const cji_exec_kernel *k)
{
    cji_exec_fault fault = { 0 };
    uint64_t params[4096 / 8 * 8];
    if (k->param_bytes > sizeof params) return;
    if (k->local_bytes >= CJI_LOCAL_BYTES || k->static_shared > 232448) return; /* the driver launches no such kernel */
    for (size_t i = 0; i < sizeof params / sizeof *params; i++) params[i] = i % 2 ? 16 : EX_BASE + 4096 * (i % 16);
    unsigned block = k->reqntid[0] ? k->reqntid[0] : k->max_threads < PARAMS ? k->max_threads : PARAMS;
    if (block > 256 || k->reqntid[1] > 1 || k->reqntid[2] > 1) return;
    cji_exec_launch l = { .program = p,
                          .kernel = k,
                          .grid = { 2, 1, 1 },
                          .block = { block, 1, 1 },
                          .dynamic_shared = 1024,
                          .params = params,
                          .memory = { .find = ex_find, .print = ex_print },
                          .cancel = &cancel };
    limit(MOST_MS);
    bool done = cji_exec_run(&l, &fault);
    limit(0);
    if (done != (fault.kind == CJI_EXEC_FAULT_NONE))
        cji_fuzz_fail("a run with result %d and fault %d", done, fault.kind);
    if (!done && fault.kind != CJI_EXEC_FAULT_CANCELLED && !fault.sentence[0])
        cji_fuzz_fail("fault %d of %s has no sentence", fault.kind, fault.kernel);
}

int cji_fuzz_one(const uint8_t *data, size_t size)
{
    char *text = cji_fuzz_string(data, size);
    cji_exec_program *p = ex_try(text, NULL);
    free(text);
    if (!p) return 0;
    if (cji_exec_program_image_bytes(p) <= EX_BYTES - EX_IMAGE)
        for (size_t i = 0, n = cji_exec_program_kernels(p); i < n && i < 4; i++) {
            ex_nprinted = 0;
            launch(p, cji_exec_program_kernel_at(p, i));
        }
    cji_exec_program_free(p);
    return 1;
}
