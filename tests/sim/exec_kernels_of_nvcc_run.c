/* Kernels as nvcc writes them run and compute what C computes: divergence, recursion, spins inside a warp
 * and across blocks, shared memory, warp votes, atomics, module variables, indirect calls, printf. */
#include "exec_harness.h"

#define X 0          /* offsets in the device's memory */
#define Y 65536

static int32_t *ints(size_t at) { return (int32_t *)(void *)(ex_memory + at); }
static float *floats(size_t at) { return (float *)(void *)(ex_memory + at); }

static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static void before(const char *name)
{
    memset(ex_memory, 0, EX_IMAGE);
    ex_nprinted = 0;
    if (!strcmp(name, "saxpy") || !strcmp(name, "reduce"))
        for (int i = 0; i < 4096; i++) floats(X)[i] = (float)(i % 17), floats(Y)[i] = strcmp(name, "saxpy") ? 0 : 1;
    for (int i = 0; i < 256 && !strcmp(name, "staged"); i++) ints(Y)[i] = 3 * i;
    for (int i = 0; i < 64 && (!strcmp(name, "choose") || !strcmp(name, "local")); i++) ints(Y)[i] = i * 7;
}

/* What the kernel's last round leaves in thread t's place. */
static int staged_want(int t, int n)
{
    int s[256], v[64];
    for (int i = 0; i < 4 * n; i++) s[i] = 3 * i;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < n; i++) v[i] = s[(4 * i + 5) % (4 * n)];
        for (int i = 0; i < n; i++) s[4 * i] = v[i] + 1;
    }
    return s[4 * t];
}

/* How many of the results are wrong. */
static int wrong(const char *name, unsigned grid, unsigned block)
{
    int bad = 0, n = (int)(grid * block);
    if (!strcmp(name, "saxpy")) for (int i = 0; i < 1000; i++) bad += floats(Y)[i] != 1.0f + 6.0f * (float)(i % 17);
    if (!strcmp(name, "saxpy")) bad += floats(Y)[1000] != 1.0f;
    if (!strcmp(name, "reduce")) {
        float want = 0;
        for (int i = 0; i < 1000; i++) want += (float)(i % 17);
        bad += floats(Y)[0] != want;
    }
    if (!strcmp(name, "recurse")) for (int i = 0; i < n; i++) bad += ints(X)[i] != fib(i % 10);
    if (!strcmp(name, "spinlock")) bad += ints(Y)[0] != n || ints(X)[0] != 0;
    if (!strcmp(name, "handshake")) for (int i = 0; i < n; i++) bad += ints(Y)[i] != (i % 2 ? 8 : 7);
    if (!strcmp(name, "blocks")) for (int i = 0; i < (int)grid; i++) bad += ints(Y)[i] != i + 1;
    if (!strcmp(name, "collatz"))
        for (int i = 0; i < n; i++) {
            int c = 0;
            for (uint64_t v = (uint64_t)i + 1; v != 1; c++) v = v & 1 ? 3 * v + 1 : v / 2;
            bad += ints(X)[i] != c;
        }
    if (!strcmp(name, "dynamic")) for (int i = 0; i < n; i++) bad += ints(X)[i] != n - 1 - i;
    if (!strcmp(name, "globals"))
        for (int i = 0; i < n; i++) bad += ints(X)[i] != (i & 3) + 1 + ((i & 3) + 1) * 10 + (i & 1) + 2;
    if (!strcmp(name, "choose"))
        for (int i = 0; i < n; i++) {
            int w[] = { i * 3, i + 7, i - 2, i * i, i ^ 5, i / 3, i % 5, -1 };
            bad += ints(X)[i] != w[i * 7 & 7];
        }
    if (!strcmp(name, "indirect")) for (int i = 0; i < n; i++) bad += ints(X)[i] != (i & 1 ? i * i : 2 * i);
    if (!strcmp(name, "votes")) for (int i = 0; i < n; i++) bad += ints(X)[i] != 1;
    if (!strcmp(name, "counts")) for (int i = 0; i < n; i++) bad += ints(X)[i] != (n + 2) / 3 * 100 + 11;
    if (!strcmp(name, "atomics")) {
        double sum;
        memcpy(&sum, ex_memory + X + 24, 8);
        bad += ints(X)[0] != n || ints(X)[1] != (int)block - 1 || ints(X)[2] != 1 - (int)block || ints(X)[3] != -1;
        bad += floats(X)[4] != 0.5f * (float)n || sum != 0.25 * n || ints(X)[8] != n % 10 || ints(X)[11] != n;
    }
    if (!strcmp(name, "local"))
        for (int t = 0; t < n; t++) {
            int a[16], s = 0;
            for (int i = 0; i < 16; i++) a[i * 7 & 15] = i + t;
            for (int i = 0; i < 16; i++) s = (int)((unsigned)s * 3 + (unsigned)a[(i * 7 + t) & 15]);
            bad += ints(X)[t] != s;
        }
    if (!strcmp(name, "staged")) for (int t = 0; t < n; t++) bad += ints(X)[t] != staged_want(t, n);
    if (!strcmp(name, "hello"))
        bad +=
            strcmp(
                ex_printed,
                "hello 0 world 0.00 x 123456789abc%\nhello 1 world 1.50 x 123456789abc%\n"
                "hello 2 world 3.00 x 123456789abc%\n") !=
            0;
    return bad;
}

static const struct { const char *name; unsigned grid, block, shared; uint64_t p[4]; } runs[] = {
    { "saxpy", 8, 136, 0, { EX_BASE + X, EX_BASE + Y, 1000, 3 } },
    { "reduce", 3, 128, 0, { EX_BASE + X, EX_BASE + Y, 1000, 0 } },
    { "recurse", 1, 40, 0, { EX_BASE + X, 40, 0, 0 } },
    { "spinlock", 2, 48, 0, { EX_BASE + X, EX_BASE + Y, 1, 0 } },
    { "handshake", 1, 64, 0, { EX_BASE + X, EX_BASE + Y, 0, 0 } },
    { "blocks", 20, 32, 0, { EX_BASE + X, EX_BASE + Y, 0, 0 } },
    { "collatz", 2, 50, 0, { EX_BASE + X, 0, 0, 0 } },
    { "hello", 1, 3, 0, { 0 } },
    { "dynamic", 1, 96, 384, { EX_BASE + X, 0, 0, 0 } },
    { "globals", 1, 40, 0, { EX_BASE + X, 0, 0, 0 } },
    { "choose", 1, 64, 0, { EX_BASE + X, EX_BASE + Y, 0, 0 } },
    { "indirect", 1, 40, 0, { EX_BASE + X, 0, 0, 0 } },
    { "votes", 1, 32, 0, { EX_BASE + X, 0, 0, 0 } },
    { "counts", 1, 100, 0, { EX_BASE + X, 0, 0, 0 } },
    { "atomics", 4, 64, 0, { EX_BASE + X, 0, 0, 0 } },
    { "local", 1, 40, 0, { EX_BASE + X, EX_BASE + Y, 0, 0 } },
    { "staged", 1, 64, 0, { EX_BASE + X, EX_BASE + Y, 0, 0 } },
};

int main(void)
{
    tap_plan(0);
    tap_timeout(60);
    size_t bytes;
    char *text = tap_slurp(tap_source("tests/sim/kernels/exec.ptx"), &bytes);
    if (!text) tap_bail("tests/sim/kernels/exec.ptx cannot be read");
    cji_exec_program *p = ex_load(text);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        cji_exec_fault fault;
        before(runs[i].name);
        bool ran = ex_run(p, runs[i].name, runs[i].grid, runs[i].block, runs[i].shared, runs[i].p, &fault);
        tap_ok(ran, "%s runs%s%s", runs[i].name, ran ? "" : ": ", fault.sentence);
        tap_is_int(wrong(runs[i].name, runs[i].grid, runs[i].block), 0, "%s computes what C computes", runs[i].name);
    }
    cji_exec_fault fault;
    uint64_t param = EX_BASE;
    before("fails");
    ints(0)[3] = 1;
    tap_ok(!ex_run(p, "fails", 1, 8, 0, &param, &fault) && fault.kind == CJI_EXEC_FAULT_ASSERT && fault.thread[0] == 3,
           "a failed assertion is a fault of its thread");
    tap_has_str(ex_printed, "block: [0,0,0], thread: [3,0,0] Assertion `x[threadIdx.x] == 0` failed.",
                "and is printed as on a GPU");
    const cji_exec_kernel *k = cji_exec_program_kernel(p, "saxpy");
    tap_ok(k->nparam == 4 && k->param_bytes == 32 && k->param[3].offset == 24 && k->param[3].bytes == 8,
           "a kernel's parameters are known");
    tap_is_uint(cji_exec_program_kernel(p, "reduce")->static_shared, 128, "a kernel's shared memory is known");
    const cji_exec_var *v = cji_exec_program_var(p, "fixed");
    tap_ok(v && v->is_const && v->bytes == 16, "a module's variables are known");
    cji_exec_program_free(p);
    free(text);
    return tap_done();
}
