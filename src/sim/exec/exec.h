/* The execution engine of the CPU device: PTX text in, blocks of threads run on the caller's threads.
 *
 *   cji_sim_program    what one module load gives: its variables, kernels and predecoded code          (program.c)
 *   cji_sim_grid       one launch: shared by the threads that work on it                               (grid.c)
 *
 * A program is immutable after cji_sim_program_place(), may be used by any number of grids and threads, and must outlive them.
 * The engine knows nothing of contexts and streams; it reaches global memory only through the launch's `memory` callback,
 * takes all its memory from the allocator hook, and reports a kernel's failure as one cji_sim_fault.
 *
 * Addresses.  A global or const address is a device address that `find` knows.  Generic addresses of the other spaces lie in
 * windows that no host pointer and no device address reaches:
 */
#ifndef CJI_SIM_EXEC_H
#define CJI_SIM_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

#define CJI_SIM_SHARED_WINDOW UINT64_C(0x00f1000000000000)
#define CJI_SIM_LOCAL_WINDOW  UINT64_C(0x00f2000000000000)
#define CJI_SIM_PARAM_WINDOW  UINT64_C(0x00f3000000000000)

/* ---- Programs ---------------------------------------------------------------------------------------------------- */

typedef struct cji_sim_program cji_sim_program;

typedef struct cji_sim_text {
    const char *name;    /* for messages: a file, or "module" */
    const char *text;    /* PTX; need not be NUL-terminated; copied where needed */
    size_t bytes;
} cji_sim_text;

typedef struct cji_sim_var {
    const char *name;
    uint64_t offset;     /* from the image's base */
    uint64_t bytes;
    uint32_t align;
    bool is_const;       /* .const, else .global */
} cji_sim_var;

typedef struct cji_sim_param {
    const char *name;
    uint32_t offset, bytes, align;   /* in the parameter buffer, as the driver API counts (cuFuncGetParamInfo) */
} cji_sim_param;

typedef struct cji_sim_kernel {
    const char *name;
    const cji_sim_param *param;
    uint32_t nparam;
    uint32_t param_bytes;            /* whole parameter buffer */
    uint32_t static_shared;          /* bytes */
    uint32_t local_bytes;            /* bytes a thread, the kernel's own frame */
    uint32_t registers;              /* an estimate in 32-bit registers a thread, 16 .. 255 */
    uint32_t max_threads;            /* a block: 1024, or what .maxntid / .reqntid allow */
    uint32_t maxntid[3], reqntid[3]; /* 0: not given */
    uint32_t cluster[3];             /* .reqnctapercluster, 0: not given */
    uint32_t ptx_version;            /* 8.6 is 86 */
    uint32_t target;                 /* sm_90 is 90 */
    uint32_t code;                   /* internal: the function's index */
} cji_sim_kernel;

/* Reads `n` texts, links them by name and predecodes them.  NULL when they cannot be read, linked or executed, or without memory: then
 * `log` holds one line for each complaint ("k.ptx:12: wgmma.mma_async... is not executed by the CPU device yet").  Owned by the caller. */
cji_sim_program *cji_sim_program_make(const cji_sim_text *texts, size_t n, cji_text *log);
void cji_sim_program_free(cji_sim_program *p);

/* The module's variables want this many bytes of device memory at an address that is a multiple of 256; 0: none. */
uint64_t cji_sim_program_image_bytes(const cji_sim_program *p);

/* Gives the image its address and writes the initial values to `host`, where those bytes lie for us.  Once, before the first launch,
 * also with (0, NULL) where the program has no image. */
void cji_sim_program_place(cji_sim_program *p, uint64_t base, void *host);

size_t cji_sim_program_vars(const cji_sim_program *p);
const cji_sim_var *cji_sim_program_var_at(const cji_sim_program *p, size_t i);        /* belongs to p */
const cji_sim_var *cji_sim_program_var(const cji_sim_program *p, const char *name);   /* NULL: none of that name */
size_t cji_sim_program_kernels(const cji_sim_program *p);
const cji_sim_kernel *cji_sim_program_kernel_at(const cji_sim_program *p, size_t i);
const cji_sim_kernel *cji_sim_program_kernel(const cji_sim_program *p, const char *name);

/* ---- Faults ------------------------------------------------------------------------------------------------------ */

typedef enum cji_sim_fault_kind {
    CJI_SIM_FAULT_NONE = 0,
    CJI_SIM_FAULT_ADDRESS,     /* out of bounds, freed, a host pointer: CUDA_ERROR_ILLEGAL_ADDRESS */
    CJI_SIM_FAULT_MISALIGNED,  /* CUDA_ERROR_MISALIGNED_ADDRESS */
    CJI_SIM_FAULT_SPACE,       /* an operation that the address's space does not have: CUDA_ERROR_INVALID_ADDRESS_SPACE */
    CJI_SIM_FAULT_PC,          /* an indirect call of what is no function: CUDA_ERROR_INVALID_PC */
    CJI_SIM_FAULT_TRAP,        /* trap or brkpt: CUDA_ERROR_LAUNCH_FAILED (ILLEGAL_INSTRUCTION on some devices) */
    CJI_SIM_FAULT_ASSERT,      /* CUDA_ERROR_ASSERT */
    CJI_SIM_FAULT_BARRIER,     /* a barrier under divergence, or one that can never complete: CUDA_ERROR_LAUNCH_FAILED */
    CJI_SIM_FAULT_SYNC,        /* a .sync instruction whose lanes never meet: CUDA_ERROR_LAUNCH_FAILED */
    CJI_SIM_FAULT_STACK,       /* a thread's stack is full: CUDA_ERROR_LAUNCH_FAILED */
    CJI_SIM_FAULT_NOMEM,       /* the allocator gave nothing: CUDA_ERROR_OUT_OF_MEMORY */
    CJI_SIM_FAULT_CANCELLED    /* `cancel` was set */
} cji_sim_fault_kind;

typedef struct cji_sim_fault {
    cji_sim_fault_kind kind;
    char kernel[80];         /* cut where longer */
    uint32_t block[3], thread[3];
    uint32_t pc;             /* index of the instruction in its function's predecoded code */
    uint32_t line;           /* of the PTX text, 0 unknown */
    uint64_t address;        /* where one is concerned */
    char sentence[400];      /* "ld.global.f32 at line 31 of saxpy reads 0x7f...: 4 bytes past the end of ... (block 3,0,0 thread 17,0,0)" */
} cji_sim_fault;

/* ---- Grids ------------------------------------------------------------------------------------------------------- */

/* A piece of global memory: device addresses lo .. hi-1 lie at host .. host+(hi-lo)-1.  The mapping must stay while the grid is open:
 * the engine keeps the latest spans of each warp. */
typedef struct cji_sim_span { uint64_t lo, hi; unsigned char *host; bool readonly; } cji_sim_span;

typedef struct cji_sim_memory {
    /* Fills *span with the allocation that holds `address`.  False when there is none: then `why` gets the end of a sentence that starts with
     * the address ("was freed", "lies 4 bytes past the end of the 400 bytes at 0x...", "is a host pointer").  Called from every working thread. */
    bool (*find)(void *user, uint64_t address, cji_sim_span *span, char *why, size_t size);
    /* Text of a kernel's printf: whole calls, not NUL-terminated lines. NULL: dropped. */
    void (*print)(void *user, const char *text, size_t bytes);
    void *user;
} cji_sim_memory;

typedef struct cji_sim_launch {
    const cji_sim_program *program;
    const cji_sim_kernel *kernel;
    uint32_t grid[3], block[3], cluster[3];  /* cluster: 0 or 1 is none */
    uint32_t dynamic_shared;                 /* bytes */
    const void *params;                      /* kernel->param_bytes bytes; copied by open */
    cji_sim_memory memory;
    bool cooperative;                        /* all blocks make progress together */
    uint32_t stack_bytes;                    /* most local memory of a thread; 0: 64 KiB (or the kernel's own frame where larger) */
    uint32_t sm_count;                       /* what %nsmid says; 0: 1 */
    uint64_t grid_id;                        /* what %gridid says */
    uint64_t workspace;                      /* device address for cooperative groups' grid barrier (%envreg1, %envreg2), 0: none */
    bool (*condition)(void *user, uint64_t handle, uint32_t value);   /* cudaGraphSetConditional; user of `memory`; false: no such handle; NULL: none */
    const int *cancel;                       /* read atomically at back edges; non-zero stops the grid with FAULT_CANCELLED; NULL: never */
} cji_sim_launch;

typedef struct cji_sim_grid cji_sim_grid;

/* Copies the launch.  NULL only without memory.  The caller has checked the dimensions against the device and the kernel. */
cji_sim_grid *cji_sim_grid_open(const cji_sim_launch *launch);

/* Runs blocks until none is left to take; any number of threads may be in it at once, each helps.  Returns when this thread has nothing
 * more to do; the grid is done when all threads that entered have returned and at least one entered.  A cooperative grid wants no
 * particular number of threads: blocks that wait are parked and their thread goes on with another. */
void cji_sim_grid_work(cji_sim_grid *g);

/* How many threads are worth sending into cji_sim_grid_work(). */
uint32_t cji_sim_grid_width(const cji_sim_grid *g);

/* The first fault, kind CJI_SIM_FAULT_NONE when there was none.  After the last cji_sim_grid_work() has returned. */
const cji_sim_fault *cji_sim_grid_fault(const cji_sim_grid *g);
/* Lane-instructions executed. */
uint64_t cji_sim_grid_steps(const cji_sim_grid *g);
void cji_sim_grid_close(cji_sim_grid *g);

/* open, work, close on this thread.  False on a fault (or without memory: NOMEM). */
bool cji_sim_run(const cji_sim_launch *launch, cji_sim_fault *fault);

#endif
