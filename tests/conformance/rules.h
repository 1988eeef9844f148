/* What the conformance programs share.  Each program holds one group of the driver's rules; each rule is one line of
 * TAP that begins with its number: "rule 19: ...".  A rule checks several things; one that fails is reported in a
 * comment with what came instead.
 *
 * On a GPU every rule runs in a process of its own (the program starts itself again with the rule's number), so that a
 * rule that hangs or breaks its context harms no other; on the CPU device only those that must.  What is only looked at
 * is reported by rule_seen.
 *
 * Work is held in flight by a blocked host function (tests/latch.h), or by a kernel that spins on a flag of mapped
 * memory and gives up after some time (rule_gate); never by time alone. */
#ifndef CUJIT_TESTS_CONFORMANCE_RULES_H
#define CUJIT_TESTS_CONFORMANCE_RULES_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/conformance/driver_abi.h"
#include "../tap_run.h"

enum {
    RULE_ALONE = 1 /* always in a process of its own */,
    RULE_BARE = 2 /* and nothing is opened for it: cuInit is its own affair */
};

typedef struct rule { int number; const char *says; void (*look)(void); unsigned flags; } rule;

static struct {
    int number;
    bool held, skipped, opened;
    char why[256];
    CUmodule module, own;
    CUdeviceptr word;
} rule_now;

/* ---- What a rule says -------------------------------------------------------------------------------------------- */

/* A fact for the log that no verdict hangs on. */
__attribute__((unused, format(printf, 1, 2))) static void rule_seen(const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tap_diag("rule %d: %s", rule_now.number, text);
}

/* The rule cannot run on this device. */
__attribute__((unused, format(printf, 1, 2))) static void rule_skip(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(rule_now.why, sizeof rule_now.why, fmt, args);
    va_end(args);
    rule_now.skipped = true;
}

static inline bool rule_ok(bool held, const char *what)
{
    if (!held) {
        rule_now.held = false;
        tap_diag("rule %d: does not hold: %s", rule_now.number, what);
    }
    return held;
}

static inline bool rule_is(long long got, long long want, const char *what)
{
    if (got != want) {
        rule_now.held = false;
        tap_diag("rule %d: got %lld, want %lld: %s", rule_now.number, got, want, what);
    }
    return got == want;
}

#define R_TRUE(condition) rule_ok(condition, #condition)
#define R_IS(call, want) rule_is((long long)(call), (long long)(want), #call)
/* The same in a table: with the row's name. */
#define R_ROW(name, call, want) do { \
        char r_what[200]; \
        snprintf(r_what, sizeof r_what, "%s: %s", name, #call); \
        rule_is((long long)(call), (long long)(want), r_what); \
    } while (0)
/* Leaves the rule as skipped where the driver has no such entry point. */
#define R_NEED(name) do { if (!cu.name) { rule_skip("the device has no %s", #name); return; } } while (0)

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

/* hold: until *p is not 0, n turns at most; store: *p = n; wild: a store to an address that is nobody's. */
static const char rule_ptx[] = ABI_HEAD
    ".visible .entry hold(.param .u64 p, .param .u32 n)\n"
    "{\n"
    "  .reg .b64 %a; .reg .b32 %v, %n; .reg .pred %q;\n"
    "  ld.param.u64 %a, [p];\n"
    "  ld.param.u32 %n, [n];\n"
    "  cvta.to.global.u64 %a, %a;\n"
    "again:\n"
    "  ld.volatile.global.u32 %v, [%a];\n"
    "  setp.ne.u32 %q, %v, 0;\n"
    "  @%q bra done;\n"
    "  sub.u32 %n, %n, 1;\n"
    "  setp.ne.u32 %q, %n, 0;\n"
    "  @%q bra again;\n"
    "done:\n"
    "  ret;\n"
    "}\n"
    ".visible .entry store(.param .u64 p, .param .u32 n)\n"
    "{\n"
    "  .reg .b64 %a; .reg .b32 %n;\n"
    "  ld.param.u64 %a, [p];\n"
    "  ld.param.u32 %n, [n];\n"
    "  cvta.to.global.u64 %a, %a;\n"
    "  st.global.u32 [%a], %n;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry wild(.param .u64 p, .param .u32 n)\n"
    "{\n"
    "  .reg .b64 %a; .reg .b32 %n;\n"
    "  ld.param.u32 %n, [n];\n"
    "  mov.u64 %a, 64;\n"
    "  st.global.u32 [%a], %n;\n"
    "  ret;\n"
    "}\n";

static inline CUfunction rule_kernel(const char *name)
{
    if (strcmp(name, "hold") && strcmp(name, "store") && strcmp(name, "wild"))
        return abi_kernel(&rule_now.module, name);
    CUfunction f = NULL;
    if (!rule_now.own && cu.cuModuleLoadData(&rule_now.own, rule_ptx)) tap_bail("the kernels of the rules do not load");
    if (cu.cuModuleGetFunction(&f, rule_now.own, name)) tap_bail("no kernel %s", name);
    return f;
}

/* ---- A gate on the device ---------------------------------------------------------------------------------------- */

typedef struct rule_gate { unsigned *flag; CUdeviceptr at; } rule_gate;

static inline rule_gate gate_make(void)
{
    rule_gate g = { NULL, 0 };
    void *h = NULL;
    if (cu.cuMemHostAlloc(&h, 4096, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE) ||
        cu.cuMemHostGetDevicePointer(&g.at, h, 0))
        tap_bail("no mapped memory");
    g.flag = h;
    __atomic_store_n(g.flag, 0, __ATOMIC_RELEASE);
    return g;
}

enum { GATE_TURNS = 8000000 }; /* after so many it opens by itself */

/* What follows in the stream waits until the gate opens. */
static inline void gate_put(rule_gate *g, CUstream s)
{
    if (abi_launch(rule_kernel("hold"), 1, 1, s, g->at, GATE_TURNS)) tap_bail("no gate");
}

static inline void gate_open(rule_gate *g) { __atomic_store_n(g->flag, 1, __ATOMIC_RELEASE); }
static inline void gate_free(rule_gate *g) { cu.cuMemFreeHost(g->flag); }

static inline CUstream rule_stream(unsigned flags)
{
    CUstream s = NULL;
    if (cu.cuStreamCreate(&s, flags)) tap_bail("no stream");
    return s;
}

/* ---- Running them ------------------------------------------------------------------------------------------------ */

/* Context and kernels.  Each kernel is loaded, and each but the wild one runs once: a driver that loads lazily would
 * else synchronize in the middle of a rule. */
static inline void rule_open(void)
{
    static const char *const all[] = { "add", "append", "spin", "hold", "store" };
    CUdeviceptr p;
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0) || cu.cuCtxSetCurrent(abi_ctx)) tap_bail("no context");
    p = abi_word(1);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) abi_launch(rule_kernel(all[i]), 1, 1, NULL, p, 1);
    if (cu.cuFuncLoad && cu.cuFuncLoad(rule_kernel("wild"))) tap_bail("a kernel does not load");
    if (cu.cuCtxSynchronize()) tap_bail("the kernels do not run");
    rule_now.word = p;
    rule_now.opened = true;
}

static inline void rule_shut(void)
{
    if (!rule_now.opened) return;
    cu.cuMemFree(rule_now.word);
    cu.cuModuleUnload(rule_now.module);
    cu.cuModuleUnload(rule_now.own);
    cu.cuCtxSetCurrent(NULL);
    cu.cuDevicePrimaryCtxRelease(0);
}

static inline void rule_verdict(const rule *r, bool held, bool skipped, const char *why)
{
    if (skipped && held) tap_skip(1, "rule %d: %s. Not here: %s", r->number, r->says, why);
    else tap_ok(held, "rule %d: %s", r->number, r->says);
}

static inline void rule_look(const rule *r)
{
    rule_now.number = r->number;
    rule_now.held = true;
    rule_now.skipped = false;
    rule_now.why[0] = 0;
    r->look();
}

/* The child's part: comments, then one word. */
static inline int rule_alone(const rule *r)
{
    alarm(tap_is_slow() ? 300 : 15);
    abi_load();
    if (!(r->flags & RULE_BARE)) rule_open();
    rule_look(r);
    printf("%s%s\n",
           !rule_now.held     ? "broken"
           : rule_now.skipped ? "skipped "
                              : "held",
           rule_now.skipped && rule_now.held ? rule_now.why : "");
    fflush(stdout);
    _exit(0);   /* a broken context would spoil any other end */
}

static inline void rule_in_child(const rule *r, const char *self)
{
    char number[16], *line, *next;
    const char *const argv[] = { self, "--rule", number, NULL };
    const char *verdict = "";
    tap_result out;
    snprintf(number, sizeof number, "%d", r->number);
    tap_run(&out, argv, NULL);
    for (line = out.out; line && *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next) *next++ = 0;
        if (line[0] == '#') tap_diag("%s", line + 2);
        else verdict = line;
    }
    if (out.status)
        tap_diag("rule %d: its process ended with %d%s", r->number, out.status,
                 out.status == 256 + 14 ? ": it hangs" : "");
    if (strncmp(verdict, "skipped ", 8) == 0) rule_verdict(r, true, true, verdict + 8);
    else {
        if (strcmp(verdict, "held") && strcmp(verdict, "broken")) tap_diag("rule %d: it said: %s", r->number, verdict);
        rule_verdict(r, strcmp(verdict, "held") == 0 && !out.status, false, "");
    }
    tap_result_free(&out);
}

/* For docs/semantics.md. */
static inline void rule_device(const char *self)
{
    const char *const argv[] = { self, "--device", NULL };
    tap_result out;
    tap_run(&out, argv, NULL);
    if (out.out) tap_diag("device: %s", out.out);
    tap_result_free(&out);
}

static inline int rule_tell_device(void)
{
    char name[128] = "";
    int version = 0;
    abi_load();
    if (cu.cuInit(0) || cu.cuDeviceGetName(name, sizeof name, 0) || cu.cuDriverGetVersion(&version)) return 1;
    printf("%s, driver of CUDA %d.%d", name, version / 1000, version % 1000 / 10);
    fflush(stdout);
    _exit(0);
}

static inline int rules_run(int argc, char **argv, const rule *rules, size_t count)
{
    char self[1024];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) snprintf(self, sizeof self, "%s", argv[0]);
    else self[n] = 0;
    setenv("CUJIT_SIM_DEVICES", "2", 0);
    if (argc > 1 && strcmp(argv[1], "--device") == 0) return rule_tell_device();
    if (argc > 2) {
        for (size_t i = 0; i < count; i++)
            if (rules[i].number == atoi(argv[2])) return rule_alone(&rules[i]);
        return 1;
    }
    tap_need_device(1);
    tap_plan((unsigned)count);
    if (tap_on_gpu()) tap_timeout(300);
    rule_device(self);
    if (!tap_on_gpu()) abi_load();
    for (size_t i = 0; i < count; i++) {
        const rule *r = &rules[i];
        if (tap_on_gpu() || r->flags & RULE_ALONE) {
            rule_in_child(r, self);
        } else {
            if (!rule_now.opened) rule_open();
            rule_look(r);
            rule_verdict(r, rule_now.held, rule_now.skipped, rule_now.why);
        }
    }
    rule_shut();
    return tap_done();
}

#define RULES_MAIN(rules) \
    int main(int argc, char **argv) { return rules_run(argc, argv, rules, sizeof rules / sizeof *rules); }

#endif
