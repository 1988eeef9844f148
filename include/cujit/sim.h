/* cujit/sim.h - the CPU device, libcujit-sim: the CUDA driver ABI in software.
 *
 * Most programs need nothing from here. cj_driver_open("sim") finds the shared object, and "auto"
 * does so where there is no GPU. This header is for the loader of libcujit, and for static and
 * drop-in users, who link libcujit-sim.a and open it with
 *
 *     cj_driver *d = cj_driver_open_resolver(cujit_sim_get_symbol, NULL);
 *
 * A program of the driver API finds it as libcuda.so.1 (`cujit run-sim`): it exports every name of
 * CUDA 13.0's libcuda. What it does not have returns CUDA_ERROR_NOT_SUPPORTED and is named in the
 * log. Programs of the CUDA runtime (cudart) cannot run on it, since the runtime checks that the
 * driver is NVIDIA's.
 *
 * Threads: any thread may call any function here, before cuInit too.
 *
 * Settings: cuInit reads these environment variables. When it cannot read one it returns
 * CUDA_ERROR_INVALID_VALUE, and the log and cujit_sim_complaint() say why.
 *   CUJIT_SIM_DEVICES   number of devices, 0 to 16; default: 1
 *   CUJIT_SIM_SM        their compute capability, as in PTX: 90a (the default), 80, 100a ...
 *   CUJIT_SIM_THREADS   number of threads that run one grid, 1 to 64; default: the machine's
 *                       processors
 *   CUJIT_SIM_SCHEDULE  when ready work begins, and which first. Every schedule keeps the
 *                       semantics: a program that misses a dependency fails under one of them.
 *                         eager        at once, side by side (the default)
 *                         lazy         when the program waits
 *                         adversarial  when the program waits, one at a time, the latest first
 *                         random:SEED  one at a time, in a random order
 *                       Under eager and adversarial the host functions of a context run one at a
 *                       time, as on an H100: one that waits for another stream's never returns.
 *                       Under lazy they run side by side: two that share data without a lock race.
 *                       Under random the seed decides.
 *   CUJIT_SIM_BOUNDS    exact (the default): a kernel's access beyond the last byte of an
 *                       allocation, or of a block's shared memory, is a fault. coarse: device
 *                       memory ends with its pages of 2 MiB, shared memory with its next 128
 *                       bytes. A GPU finds no more than that.
 *   CUJIT_SIM_STALL_MS  the log warns of a host function or a memory wait that takes longer than
 *                       this many milliseconds, and names the host functions that it holds up.
 *                       Default: 10000; 0: never. Memory waits that wait for each other are always
 *                       reported as an error, with all their members, one line each.
 */
#ifndef CUJIT_SIM_H
#define CUJIT_SIM_H

#include <cujit/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header's calls. Changes when they do. */
#define CUJIT_SIM_ABI 1u

/* The text that names a build: snprintf(id, sizeof id, CUJIT_SIM_BUILD_FORMAT, cj_version(),
 * (unsigned long long)cj_table_hash()). */
#define CUJIT_SIM_BUILD_FORMAT "%s+%016llx"

/* Hands the hooks over to the shared object and checks that it is of the caller's build. libcujit
 * calls it first. `abi` is CUJIT_SIM_ABI; `build_id` is the text above, copied. A NULL hook is the
 * default one. After cuInit a repeated call with the same allocator succeeds and changes nothing.
 *   CJ_ENOTSUP: `abi` or `build_id` differ (cujit_sim_complaint() names both files and both builds)
 *   CJ_EBUSY: another allocator after cuInit */
CJ_API cj_status cujit_sim_setup(uint32_t abi, const char *build_id, cj_realloc_fn allocator,
                                 void *alloc_user, cj_log_fn log, void *log_user);

/* Returns the sentence of the latest cujit_sim_setup() that failed, or of a cuInit that cannot read
 * a setting; "" without one. Borrowed until the next failure. */
CJ_API const char *cujit_sim_complaint(void);

/* Returns the address of an entry point by its exported name ("cuMemAlloc_v2",
 * "cujit_sim_setup"), NULL when there is none: a resolver for cj_driver_open_resolver(). `user`
 * is not used. */
CJ_API void *cujit_sim_get_symbol(void *user, const char *name);

/* -- Faults -------------------------------------------------------------------------------- */

/* What went wrong. */
typedef enum cujit_sim_fault_kind {
    CUJIT_SIM_FAULT_NONE,
    CUJIT_SIM_FAULT_ADDRESS,        /* outside of every allocation that the kernel may access */
    CUJIT_SIM_FAULT_MISALIGNED,     /* an address that is no multiple of the access's size */
    CUJIT_SIM_FAULT_SPACE,          /* an access that the address's state space does not allow */
    CUJIT_SIM_FAULT_PC,             /* an indirect call or branch to no function or label */
    CUJIT_SIM_FAULT_TRAP,           /* trap, brkpt, an illegal instruction */
    CUJIT_SIM_FAULT_ASSERT,         /* __assertfail */
    CUJIT_SIM_FAULT_BARRIER,        /* a barrier that cannot complete */
    CUJIT_SIM_FAULT_SYNC,           /* lanes of a .sync instruction never meet; mbarrier misuse */
    CUJIT_SIM_FAULT_STACK,          /* a thread's stack is full */
    CUJIT_SIM_FAULT_OUT_OF_MEMORY,  /* no host memory to run the kernel */
    CUJIT_SIM_FAULT_WORK            /* no kernel: a copy, fill, memory operation or release */
} cujit_sim_fault_kind;

/* How the instruction accessed memory. */
typedef enum cujit_sim_access {
    CUJIT_SIM_ACCESS_NONE,
    CUJIT_SIM_ACCESS_READ,
    CUJIT_SIM_ACCESS_WRITE,
    CUJIT_SIM_ACCESS_ATOMIC
} cujit_sim_access;

/* A context's first fault. A field that is not known is 0, or "" where it is text. Texts that
 * are too long are cut. `size` is first, so that later versions can append fields. */
typedef struct cujit_sim_fault_info {
    size_t size;                    /* sizeof(cujit_sim_fault_info), set by the caller */
    int code;                       /* the CUresult that calls return from now on: 700, 716 ... */
    cujit_sim_fault_kind kind;
    void *module;                   /* CUmodule of the kernel; it may be unloaded by now */
    void *stream;                   /* CUstream of the work, 1 or 2 for a default stream; it may
                                     * be destroyed by now */
    char kernel[256];               /* its name */
    char function[256];             /* the instruction's function: the kernel or a .func */
    char instruction[128];          /* its spelling: "ld.global.f32" */
    uint32_t line;                  /* in the PTX text of the module, from 1 */
    char source_file[256];          /* where .loc in that text says it comes from */
    uint32_t source_line;
    uint32_t block[3], thread[3];   /* the first thread with the fault */
    cujit_sim_access access;
    int space;                      /* cj_space (cujit/ptx.h) of the access */
    uint32_t bytes;                 /* of the access; 0: no access */
    uint64_t address;               /* in .global a device address, in other spaces the offset */
    uint64_t allocation;            /* first address of the allocation that holds `address`, or
                                     * of the one before it */
    uint64_t allocation_bytes;      /* 0: no such allocation */
    int allocation_freed;           /* 1: it was freed */
    char sentence[1024];            /* all of it, as the log has it */
} cujit_sim_fault_info;

/* Fills `*info` with the first fault of a context. `context` is a CUcontext of the CPU device;
 * NULL: the calling thread's current context. Only the first `info->size` bytes are written.
 * Returns 1; 0 when the context has no fault, when `context` is no live context, and before
 * cuInit. A GPU's driver has no such symbol. Returns at once. Any thread. */
CJ_API int cujit_sim_fault(void *context, cujit_sim_fault_info *info);

/* Ends the primary context of a device as cuDevicePrimaryCtxReset does, with what is enqueued in
 * it, and forgets its fault, which outlives that call.  Kernels stop at their next back edge; host
 * functions that run are waited for.  Who retains the context has a new one when it is retained
 * again.  cj_device_reset calls it; a GPU's driver has no such symbol.
 * Blocks.  Any thread.  Returns a CUresult, 0 on success:
 *   CUDA_ERROR_INVALID_DEVICE: there is no such device
 *   other: cuInit was not called, or the process has forked or ends */
CJ_API int cujit_sim_reset(int device);

/* -- Allocators on top ---------------------------------------------------------------------- */

/* Notes what an allocator of the program hands out of device memory. With the first call for an
 * allocation nothing of it may be accessed but what such calls allow: each part is then checked as
 * an allocation of its own. `bytes` at `address` may be accessed from now on (`live` 1), or the
 * part that starts at `address` may not any more (0). A part replaces parts that it overlaps.
 * `at_once` 0: when `stream`, a CUstream, reaches this point; 1: now, and `stream` is not used.
 * Without effect with CUJIT_SIM_BOUNDS=coarse. A GPU's driver has no such symbol, and a program
 * works without it: cj_alloc calls it where the driver has it. Returns at once. Any thread.
 * Returns a CUresult, 0 on success:
 *   CUDA_ERROR_INVALID_VALUE: no allocation of device memory holds these bytes
 *   CUDA_ERROR_OUT_OF_MEMORY: host memory is exhausted
 *   other: `stream` is not valid, or is capturing */
CJ_API int cujit_sim_suballoc(void *stream, int at_once, uint64_t address, uint64_t bytes, int live);

/* -- What is queued ------------------------------------------------------------------------ */

/* Where an operation is. */
typedef enum cujit_sim_work_state {
    CUJIT_SIM_WORK_WAITS,           /* for other operations: `after` of them */
    CUJIT_SIM_WORK_READY,           /* may begin, and has not */
    CUJIT_SIM_WORK_RUNS             /* has begun */
} cujit_sim_work_state;

/* One operation that is not done. A field that does not apply is 0, or "" where it is text. */
typedef struct cujit_sim_work_info {
    size_t size;                    /* sizeof(cujit_sim_work_info), set in the first by the caller */
    uint64_t number;                /* operations are numbered as they are enqueued, from 1 */
    void *context;                  /* CUcontext */
    void *stream;                   /* CUstream, 1 or 2 for a default stream; NULL: of none */
    uint64_t stream_id;             /* as cuStreamGetId returns it */
    cujit_sim_work_state state;
    int in_graph;                   /* 1: of a graph's launch */
    uint32_t after;                 /* operations that it waits for */
    uint64_t after_number;          /* the earliest of them */
    char kind[32];                  /* "kernel", "memcpy", "memset", "host", "batch mem op", "free" ...;
                                     * "": it does nothing but keep an order */
    char name[256];                 /* of a kernel */
    void *function;                 /* of a host function */
    uint64_t location;              /* of a memory wait: whose value it waits for */
    char sentence[512];             /* all of it */
} cujit_sim_work_info;

/* Fills `work` with the operations of a context that are not done, in the order in which they were
 * enqueued: `count` at most. Returns how many there are. `context` is a CUcontext of the CPU
 * device; NULL: all contexts. `work`: May be NULL, with a count of 0. Only the first
 * `work->size` bytes of each are written, and they lie that far apart.
 * Returns 0 before cuInit, and when `context` is no live context. The log has the same sentences
 * when a host function or a memory wait takes longer than CUJIT_SIM_STALL_MS. A GPU's driver has
 * no such symbol. Returns at once. Any thread. */
CJ_API size_t cujit_sim_work(void *context, cujit_sim_work_info *work, size_t count);

#ifdef __cplusplus
}
#endif
#endif
