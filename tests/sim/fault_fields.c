/* What cujit_sim_fault() says of a context's first fault, kind by kind: each field. */
#include <stdio.h>

#include <cujit/ptx.h>

#include "tests/conformance/driver_abi.h"

#define HEAD ABI_HEAD ".visible .entry k(.param .u64 a)\n{\n"
#define REGS ".reg .pred %p;\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n"
#define START "ld.param.u64 %d1, [a];\nmov.u32 %r1, %tid.x;\n"
#define BODY(variables, code) HEAD REGS variables "\n" START code "\nret;\n}\n"
enum { BYTES = 64 };   /* of the buffer */

/* Where the kernel's argument lies, from the buffer's first byte; or as it is. */
typedef enum base { BUFFER, FREED, PLAIN } base;

static const struct {
    const char *name, *ptx;
    base base;
    int64_t offset;
    unsigned threads;
    CUresult code;
    cujit_sim_fault_kind kind;
    unsigned thread;
    const char *function, *instruction;
    cujit_sim_access access;
    int space;
    unsigned bytes;
    int64_t at;                     /* address, from where the argument lies (.global) or as it is */
    bool allocation;                /* the buffer is named */
    const char *says, *source;      /* source: of .loc; its line is 7 */
} cases[] = {
    { "a read past the end", BODY("", "ld.global.u32 %r2, [%d1+8];"), BUFFER, BYTES, 32, CUDA_ERROR_ILLEGAL_ADDRESS,
      CUJIT_SIM_FAULT_ADDRESS, 0, "k", "ld.global.u32", CUJIT_SIM_ACCESS_READ, CJ_SPACE_GLOBAL, 4, 8, true,
      "past the end", NULL },
    { "a write to freed memory, by thread 5", BODY("", "setp.eq.u32 %p, %r1, 5;\n@%p st.global.u64 [%d1], %d1;"), FREED,
      16, 32, CUDA_ERROR_ILLEGAL_ADDRESS, CUJIT_SIM_FAULT_ADDRESS, 5, "k", "st.global.u64", CUJIT_SIM_ACCESS_WRITE,
      CJ_SPACE_GLOBAL, 8, 0, true, "was freed", NULL },
    { "an atomic operation at a null pointer", BODY("", "red.global.add.u32 [%d1], 1;"), PLAIN, 0, 1,
      CUDA_ERROR_ILLEGAL_ADDRESS, CUJIT_SIM_FAULT_ADDRESS, 0, "k", "red.global.add.u32", CUJIT_SIM_ACCESS_ATOMIC,
      CJ_SPACE_GLOBAL, 4, 0, false, "null pointer", NULL },
    { "a misaligned read", BODY("", "ld.global.u32 %r2, [%d1];"), BUFFER, 2, 1, CUDA_ERROR_MISALIGNED_ADDRESS,
      CUJIT_SIM_FAULT_MISALIGNED, 0, "k", "ld.global.u32", CUJIT_SIM_ACCESS_READ, CJ_SPACE_GLOBAL, 4, 0, false,
      "no multiple of 4", NULL },
    { "a write past shared memory", BODY(".shared .align 4 .b8 s[64];", "st.shared.u32 [s+64], %r1;"), BUFFER, 0, 1,
      CUDA_ERROR_ILLEGAL_ADDRESS, CUJIT_SIM_FAULT_ADDRESS, 0, "k", "st.shared.u32", CUJIT_SIM_ACCESS_WRITE,
      CJ_SPACE_SHARED, 4, 64, false, "shared memory", NULL },
    { "a trap", BODY("", "trap;"), BUFFER, 0, 1, CUDA_ERROR_LAUNCH_FAILED, CUJIT_SIM_FAULT_TRAP, 0, "k", "trap",
      CUJIT_SIM_ACCESS_NONE, 0, 0, 0, false, "trap", NULL },
    { "a barrier that cannot complete", BODY("", "setp.lt.u32 %p, %r1, 32;\n@%p bra L;\nbar.sync 1, 64;\nL:"), BUFFER,
      0, 64, CUDA_ERROR_LAUNCH_FAILED, CUJIT_SIM_FAULT_BARRIER, 32, "k", "bar.sync", CUJIT_SIM_ACCESS_NONE, 0, 0, 0,
      false, "can never complete", NULL },
    { "a shuffle by a lane outside its mask", BODY("", "shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xffff;"), BUFFER, 0, 32,
      CUDA_ERROR_LAUNCH_FAILED, CUJIT_SIM_FAULT_SYNC, 16, "k", "shfl.sync.idx.b32", CUJIT_SIM_ACCESS_NONE, 0, 0, 0,
      false, "does not name", NULL },
    { "a call of an address that is no function", BODY("", "{\nP : .callprototype _ ();\ncall %d1, P;\n}"), PLAIN,
      12345, 1, CUDA_ERROR_INVALID_PC, CUJIT_SIM_FAULT_PC, 0, "k", "call", CUJIT_SIM_ACCESS_NONE, 0, 0, 0, false,
      "no function", NULL },
    { "a trap in a function",
      ABI_HEAD ".func f()\n{\ntrap;\nret;\n}\n.visible .entry k(.param .u64 a)\n{\ncall.uni f;\nret;\n}\n", BUFFER, 0,
      1, CUDA_ERROR_LAUNCH_FAILED, CUJIT_SIM_FAULT_TRAP, 0, "f", "trap", CUJIT_SIM_ACCESS_NONE, 0, 0, 0, false, "trap",
      NULL },
    { "a trap with the line of its source", BODY("", ".loc 1 7 1\ntrap;") ".file 1 \"a.src\"\n", BUFFER, 0, 1,
      CUDA_ERROR_LAUNCH_FAILED, CUJIT_SIM_FAULT_TRAP, 0, "k", "trap", CUJIT_SIM_ACCESS_NONE, 0, 0, 0, false, "trap",
      "a.src" },
};

static char lines[8192];

static void keep(void *user, cj_log_level level, const char *line)
{
    size_t n = strlen(lines);
    (void)user, (void)level;
    snprintf(lines + n, sizeof lines - n, "%s\n", line);
}

/* The line of the text that begins with `what`, counted from 1. */
static unsigned line_of(const char *text, const char *what)
{
    unsigned line = 1;
    for (const char *p = text; *p; p++) {
        const char *q = *p == '@' ? strchr(p, ' ') + 1 : p;
        if ((p == text || p[-1] == '\n') && strncmp(q, what, strlen(what)) == 0) return line;
        line += *p == '\n';
    }
    return 0;
}

static void a_kernel(size_t i)
{
    const char *name = cases[i].name;
    CUcontext c;
    CUmodule m;
    CUfunction f;
    CUstream s;
    CUdeviceptr buffer;
    cujit_sim_fault_info info = { .size = sizeof info };
    lines[0] = 0;
    if (cu.cuCtxCreate(&c, 0, 0) || cu.cuModuleLoadData(&m, cases[i].ptx) || cu.cuModuleGetFunction(&f, m, "k") ||
        cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING) || cu.cuMemAlloc(&buffer, BYTES))
        tap_bail("%s: no context with a kernel", name);
    tap_is_int(cujit_sim_fault(c, &info), 0, "%s: at first there is no fault", name);
    if (cases[i].base == FREED) cu.cuMemFree(buffer);
    uint64_t argument = (cases[i].base == PLAIN ? 0 : buffer) + (uint64_t)cases[i].offset;
    void *params[] = { &argument };
    abi_is(cu.cuLaunchKernel(f, 1, 1, 1, cases[i].threads, 1, 1, 0, s, params, NULL), CUDA_SUCCESS, "%s: launched",
           name);
    abi_is(cu.cuStreamSynchronize(s), cases[i].code, "%s: the synchronization", name);
    tap_is_int(cujit_sim_fault(c, &info), 1, "%s: the fault", name);
    tap_is_int(info.code, cases[i].code, "%s: its code", name);
    tap_is_int(info.kind, cases[i].kind, "%s: its kind", name);
    tap_ok(info.module == (void *)m, "%s: the module", name);
    tap_ok(info.stream == (void *)s, "%s: the stream", name);
    tap_is_str(info.kernel, "k", "%s: the kernel", name);
    tap_is_str(info.function, cases[i].function, "%s: the function", name);
    tap_is_str(info.instruction, cases[i].instruction, "%s: the instruction", name);
    tap_is_uint(info.line, line_of(cases[i].ptx, cases[i].instruction), "%s: the line", name);
    tap_is_str(info.source_file, cases[i].source ? cases[i].source : "", "%s: its source", name);
    tap_is_uint(info.source_line, cases[i].source ? 7 : 0, "%s: and the line there", name);
    tap_is_uint(info.thread[0], cases[i].thread, "%s: the thread", name);
    tap_is_uint(info.block[0] + info.block[1] + info.block[2], 0, "%s: the block", name);
    tap_is_int(info.access, cases[i].access, "%s: the access", name);
    tap_is_int(info.space, cases[i].space, "%s: the state space", name);
    tap_is_uint(info.bytes, cases[i].bytes, "%s: the bytes", name);
    uint64_t from = cases[i].space == CJ_SPACE_GLOBAL ? argument : 0;
    tap_is_uint(info.address, from + (uint64_t)cases[i].at, "%s: the address", name);
    if (cases[i].allocation) {
        tap_is_uint(info.allocation, buffer, "%s: the allocation", name);
        tap_is_uint(info.allocation_bytes, BYTES, "%s: its size", name);
        tap_is_int(info.allocation_freed, cases[i].base == FREED, "%s: whether it was freed", name);
    }
    tap_has_str(info.sentence, cases[i].says, "%s: the sentence", name);
    tap_has_str(lines, info.sentence, "%s: as the log has it", name);
    cu.cuCtxDestroy(c);
    tap_is_int(cujit_sim_fault(c, &info), 0, "%s: a context that is gone has none", name);
}

/* A fault of other work has its code, its stream and its sentence. */
static void other_work(void)
{
    CUcontext c;
    CUdeviceptr d;
    cujit_sim_fault_info info = { .size = sizeof info };
    struct latch gate;
    if (cu.cuCtxCreate(&c, 0, 0) || cu.cuMemAlloc(&d, BYTES)) tap_bail("no context");
    abi_hold(&gate, CU_STREAM_LEGACY);
    abi_is(cu.cuMemsetD32Async(d, 1, BYTES / 4, CU_STREAM_LEGACY), CUDA_SUCCESS, "a fill");
    abi_is(cu.cuMemsetD32Async(d, 1, BYTES / 4, CU_STREAM_LEGACY), CUDA_SUCCESS, "and another");
    latch_open(&gate);
    abi_is(cu.cuStreamSynchronize(CU_STREAM_LEGACY), CUDA_SUCCESS, "which succeed");
    tap_is_int(cujit_sim_fault(NULL, &info), 0, "no fault of the current context");
    CUdeviceptr p;
    CUstream s = abi_stream();
    if (cu.cuMemAllocAsync(&p, BYTES, s)) tap_bail("no memory of a pool");
    abi_hold(&gate, s);
    cu.cuMemsetD32Async(p, 1, BYTES / 4, s);
    cu.cuMemFree(p);
    latch_open(&gate);
    abi_is(cu.cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS, "a fill of memory that was freed meanwhile");
    tap_is_int(cujit_sim_fault(NULL, &info), 1, "is a fault of the current context");
    tap_is_int(info.kind, CUJIT_SIM_FAULT_WORK, "of work that is no kernel");
    tap_is_int(info.code, CUDA_ERROR_ILLEGAL_ADDRESS, "with its code");
    tap_ok(info.stream == (void *)s && !info.module && !info.kernel[0], "its stream, and no kernel");
    tap_has_str(info.sentence, "a fill of 64 bytes", "and its sentence");
    struct { size_t size; int code, sentinel; } small = { sizeof small.size + sizeof small.code, 0, 77 };
    tap_is_int(cujit_sim_fault(c, (cujit_sim_fault_info *)(void *)&small), 1, "a caller with a smaller struct");
    tap_ok(small.code == CUDA_ERROR_ILLEGAL_ADDRESS && small.sentinel == 77, "gets the fields that it knows");
    tap_is_int(cujit_sim_fault(c, NULL), 0, "no struct, no answer");
    cu.cuCtxDestroy(c);
}

int main(void)
{
    char build[64];
    cujit_sim_fault_info info = { .size = sizeof info };
    tap_plan(0);
    tap_is_int(cujit_sim_fault(NULL, &info), 0, "before cuInit there is no fault");
    snprintf(build, sizeof build, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    tap_is_int(cujit_sim_setup(CUJIT_SIM_ABI, build, NULL, NULL, keep, NULL), CJ_OK, "the log goes to us");
    tap_ok(cujit_sim_get_symbol(NULL, "cujit_sim_fault") != NULL, "the resolver finds cujit_sim_fault");
    abi_load();
    if (cu.cuInit(0)) tap_bail("no device");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) a_kernel(i);
    other_work();
    return tap_done();
}
