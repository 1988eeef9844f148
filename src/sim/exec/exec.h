/* The execution engine of the CPU device: PTX text in, blocks of threads run on the caller's threads.
 *
 *   cji_exec_program   one module: its variables, kernels and predecoded code         (program.c)
 *   cji_exec_grid      one launch, shared by the threads that work on it              (grid.c)
 *
 * This header is the engine's whole interface; its names begin with cji_exec_. Names inside the engine
 * say what they belong to: cji_dec_ decoding, cji_warp_ and cji_block_ the scheduler, cji_h_ handlers
 * (one a predecoded instruction), cji_l_ lane functions (one lane of an operation), cji_vec_ their
 * forms for 32 lanes, cji_fp_ arithmetic, cji_mem_ memory.
 *
 * A program is immutable after cji_exec_program_place(). Any number of grids and threads may use it;
 * it must outlive them. The engine knows nothing of contexts and streams. It reaches global memory
 * only through the launch's `memory` callbacks, takes all its memory from the allocator hook, and
 * reports a kernel's failure as one cji_exec_fault.
 *
 * Addresses. A global or const address is a device address that `find` knows. Generic addresses of
 * the other spaces lie in windows that no host pointer and no device address reaches: */
#ifndef CJI_EXEC_H
#define CJI_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cujit/ptx.h>

#include "base/mem.h"

#define CJI_EXEC_SHARED_WINDOW UINT64_C(0x00f1000000000000)
#define CJI_EXEC_LOCAL_WINDOW  UINT64_C(0x00f2000000000000)
#define CJI_EXEC_PARAM_WINDOW  UINT64_C(0x00f3000000000000)

/* ---- Programs ---------------------------------------------------------------------------------------------------- */

typedef struct cji_exec_program cji_exec_program;

typedef struct cji_exec_text {
    const char *name;    /* for messages: a file, or "module" */
    const char *text;    /* PTX; need not be NUL-terminated; copied where needed */
    size_t bytes;
    uint32_t max_registers;   /* of a thread of its kernels without launch bounds; 0: no limit */
} cji_exec_text;

typedef struct cji_exec_var {
    const char *name;
    uint64_t offset;     /* from the image's base */
    uint64_t bytes;
    uint32_t align;
    bool is_const;       /* .const, else .global */
    bool managed;        /* .attribute(.managed): the host may reach it too */
} cji_exec_var;

typedef struct cji_exec_param {
    const char *name;
    uint32_t offset, bytes, align;   /* in the parameter buffer, as cuFuncGetParamInfo counts */
} cji_exec_param;

typedef struct cji_exec_kernel {
    const char *name;
    const cji_exec_param *param;
    uint32_t nparam;
    uint32_t param_bytes;            /* whole parameter buffer */
    /* bytes of a block, and of a thread in the kernel's own frame; the caller launches no kernel that has more
     * shared memory than a block can have, or CJI_LOCAL_BYTES (ptx/layout.h) and more */
    uint64_t static_shared, local_bytes;
    uint32_t registers;              /* an estimate in 32-bit registers a thread, 4 .. 255 */
    uint32_t max_threads;            /* of a block: 1024, or what .maxntid or .reqntid allow */
    uint32_t maxntid[3], reqntid[3]; /* 0: the directive is absent */
    uint32_t cluster[3];             /* .reqnctapercluster, 0: absent */
    uint32_t ptx_version;            /* 8.6 is 86 */
    uint32_t target;                 /* sm_90 is 90 */
    uint32_t code;                   /* internal: the function's index */
} cji_exec_kernel;

/* Reads `n` texts, links them by name and predecodes them. Owned by the caller, free with
 * cji_exec_program_free. NULL when a text cannot be read, linked or executed, or without memory: then
 * `log` gets one line for each error ("k.ptx:12: wgmma.mma_async... is not executed by the CPU device
 * yet"). Otherwise `log` has warnings: kernels that no launch takes. */
cji_exec_program *cji_exec_program_make(const cji_exec_text *texts, size_t n, cji_text *log);
void cji_exec_program_free(cji_exec_program *p);

/* The bytes of device memory that the module's variables need, and their alignment, a power of two; 0: none. */
uint64_t cji_exec_program_image_bytes(const cji_exec_program *p);
uint64_t cji_exec_program_image_align(const cji_exec_program *p);

/* Gives the image its address and writes the initial values to `host`, where the host maps those
 * bytes, which are 0. Called once, before the first launch; with (0, NULL) where the program has no image. */
void cji_exec_program_place(cji_exec_program *p, uint64_t base, void *host);

/* All results belong to `p`. NULL: there is none of that number or name. */
size_t cji_exec_program_vars(const cji_exec_program *p);
const cji_exec_var *cji_exec_program_var_at(const cji_exec_program *p, size_t i);
const cji_exec_var *cji_exec_program_var(const cji_exec_program *p, const char *name);
size_t cji_exec_program_kernels(const cji_exec_program *p);
const cji_exec_kernel *cji_exec_program_kernel_at(const cji_exec_program *p, size_t i);
const cji_exec_kernel *cji_exec_program_kernel(const cji_exec_program *p, const char *name);
size_t cji_exec_program_kernel_index(const cji_exec_program *p, const char *name);   /* SIZE_MAX: there is none */

/* ---- Faults ------------------------------------------------------------------------------------------------------ */

typedef enum cji_exec_fault_kind {
    CJI_EXEC_FAULT_NONE = 0,
    CJI_EXEC_FAULT_ADDRESS,     /* out of bounds, freed, a host pointer: CUDA_ERROR_ILLEGAL_ADDRESS */
    CJI_EXEC_FAULT_MISALIGNED,  /* CUDA_ERROR_MISALIGNED_ADDRESS */
    CJI_EXEC_FAULT_SPACE,       /* not in the address's state space: CUDA_ERROR_INVALID_ADDRESS_SPACE */
    CJI_EXEC_FAULT_PC,          /* an indirect call of an address that is no function: CUDA_ERROR_INVALID_PC */
    CJI_EXEC_FAULT_TRAP,        /* trap or brkpt: CUDA_ERROR_LAUNCH_FAILED (ILLEGAL_INSTRUCTION on some devices) */
    CJI_EXEC_FAULT_OPERAND,    /* values that an instruction does not take: CUDA_ERROR_ILLEGAL_INSTRUCTION */
    CJI_EXEC_FAULT_ASSERT,      /* CUDA_ERROR_ASSERT */
    CJI_EXEC_FAULT_BARRIER,     /* a barrier under divergence, or one that cannot complete: CUDA_ERROR_LAUNCH_FAILED */
    CJI_EXEC_FAULT_SYNC,        /* a .sync instruction whose lanes never meet: CUDA_ERROR_LAUNCH_FAILED */
    CJI_EXEC_FAULT_STACK,       /* a thread's stack is full: CUDA_ERROR_LAUNCH_FAILED */
    CJI_EXEC_FAULT_NOMEM,       /* the allocator failed: CUDA_ERROR_OUT_OF_MEMORY */
    CJI_EXEC_FAULT_CANCELLED    /* `cancel` was set */
} cji_exec_fault_kind;

/* What an access does with memory. */
enum { CJI_EXEC_READ = 1, CJI_EXEC_WRITE = 2, CJI_EXEC_UPDATE = 3 /* an atomic operation */ };

/* A fault holds copies only: it may outlive the grid and the program. */
typedef struct cji_exec_fault {
    cji_exec_fault_kind kind;
    char kernel[256];            /* the launched kernel; a longer name is shortened in its middle */
    char function[256];          /* the function that the instruction belongs to: the kernel, or a .func */
    char instruction[128];       /* its spelling ("st.global.u32"); "" where no instruction is concerned */
    uint32_t line;               /* of the PTX text that the instruction is on; 0: unknown */
    char source_file[256];       /* where .loc says that it comes from; "" where the text has no .loc for it */
    uint32_t source_line;
    uint32_t pc;                 /* index of the record in the function's predecoded code */
    uint32_t block[3], thread[3];
    /* The memory access. bytes is 0 where none is concerned. */
    uint64_t address;            /* global: the device address; shared, local, param: the offset in that space */
    uint32_t bytes;
    uint8_t access;              /* CJI_EXEC_READ, _WRITE, _UPDATE */
    uint8_t space;               /* cj_space in which the address lies; never CJ_SPACE_GENERIC for an access */
    /* Global memory: the allocation that holds the address, or the nearest one that `find` named. */
    bool allocation_freed;       /* it has been freed */
    uint64_t allocation, allocation_bytes;   /* 0, 0: none */
    char sentence[480];          /* "ld.global.f32 at line 31 of saxpy reads 4 bytes at 0x7f..., which ... (block 3,0,0
                                  * thread 17,0,0)"; names over 60 characters are shortened */
} cji_exec_fault;

/* ---- Grids ------------------------------------------------------------------------------------------------------- */

/* A piece of global memory: the host maps device addresses lo .. hi-1 at host .. host+(hi-lo)-1. The
 * mapping must stay while the grid is open: the engine keeps the latest spans of each block. */
typedef struct cji_exec_span {
    uint64_t lo, hi;
    unsigned char *host;
    bool readonly;
    bool freed;          /* only where find returns false */
    bool device_only;    /* written by nobody but threads that cji_exec_write_begin() counts */
} cji_exec_span;

typedef struct cji_exec_memory {
    /* Fills *span with the allocation that holds `address`. False when there is none: then `why` gets the
     * end of a sentence that starts with the address ("was freed", "lies 4 bytes past the end of the 400
     * bytes at 0x...", "is a host pointer"), and *span may name in lo, hi and freed the allocation that
     * held the address, or the nearest one. Called from every working thread. */
    bool (*find)(void *user, uint64_t address, cji_exec_span *span, char *why, size_t size);
    /* Text of a kernel's printf: whole calls, not NUL-terminated lines. NULL: dropped. */
    void (*print)(void *user, const char *text, size_t bytes);
    void *user;
    const uint64_t *changes;   /* counts allocations that ended: a block that begins looks its spans up again when it
                                * has changed. Read atomically. NULL: none ends while the grid is open */
} cji_exec_memory;

/* A thread that writes device memory outside of a grid does it between these two calls: atomic operations of
 * a kernel are plain instructions while its thread is the only one that writes. Calls nest. The first
 * waits for an atomic operation that is under way. */
void cji_exec_write_begin(void);
void cji_exec_write_end(void);

typedef struct cji_exec_launch {
    const cji_exec_program *program;
    const cji_exec_kernel *kernel;
    uint32_t grid[3], block[3], cluster[3];  /* cluster: 0 or 1 is none */
    uint32_t dynamic_shared;                 /* bytes */
    const void *params;                      /* kernel->param_bytes bytes; copied by open */
    cji_exec_memory memory;
    bool cooperative;                        /* all blocks make progress together */
    bool coarse;                             /* shared memory ends at the next multiple of 128 bytes, as on a GPU */
    uint32_t stack_bytes;                    /* most local memory of a thread; 0: 64 KiB, or the kernel's frame */
    uint32_t sm_count;                       /* what %nsmid returns; 0: 1 */
    uint64_t grid_id;                        /* what %gridid returns */
    uint64_t workspace;                      /* address of cooperative groups' grid barrier (%envreg1, 2); 0: none */
    /* cudaGraphSetConditional, with the user of `memory`. False: there is no such handle. NULL: no handle is known. */
    bool (*condition)(void *user, uint64_t handle, uint32_t value);
    const int *cancel;                       /* read atomically at back edges; non-zero ends the grid with
                                              * FAULT_CANCELLED; NULL: never */
} cji_exec_launch;

typedef struct cji_exec_grid cji_exec_grid;

/* Copies the launch. NULL only without memory. The caller has checked the dimensions against the
 * device and the kernel. Owned by the caller, free with cji_exec_grid_close. */
cji_exec_grid *cji_exec_grid_open(const cji_exec_launch *launch);

/* Runs blocks until none is left to take. Any number of threads may call it at once, each helps. It
 * returns when this thread has nothing more to do; the grid is done when all threads that entered
 * have returned and at least one entered. A cooperative grid needs no particular number of threads:
 * blocks that wait are parked, and their thread runs another. */
void cji_exec_grid_work(cji_exec_grid *g);

/* How many threads are worth sending into cji_exec_grid_work(). */
uint32_t cji_exec_grid_width(const cji_exec_grid *g);

/* The first fault, kind CJI_EXEC_FAULT_NONE when there was none. After the last cji_exec_grid_work()
 * has returned. Belongs to `g`. */
const cji_exec_fault *cji_exec_grid_fault(const cji_exec_grid *g);
/* Instructions executed, counted once for each lane. */
uint64_t cji_exec_grid_steps(const cji_exec_grid *g);
void cji_exec_grid_close(cji_exec_grid *g);

/* ---- Tensor maps ------------------------------------------------------------------------------------------------- */

#define CJI_EXEC_TENSOR_DIMS 5
#define CJI_EXEC_TENSOR_MAGIC UINT64_C(0x70616d5f6a635f94)

/* What copies of a tensor's tiles read where a kernel names a tensor map: its 128 bytes on this device. */
typedef struct cji_exec_tensor_map {
    uint64_t magic;                          /* CJI_EXEC_TENSOR_MAGIC */
    uint64_t address;                        /* of element 0 */
    uint64_t stride[CJI_EXEC_TENSOR_DIMS - 1];   /* bytes, from dimension 1 on */
    uint32_t last[CJI_EXEC_TENSOR_DIMS];     /* the last element's index */
    uint16_t tile[CJI_EXEC_TENSOR_DIMS];     /* elements */
    uint8_t step[CJI_EXEC_TENSOR_DIMS];      /* from dimension 1 on: which of the tile's elements are copied */
    uint8_t dims, type;                      /* CUtensorMapDataType */
    uint8_t swizzle;                         /* 0: none; 1, 2, 3: 32, 64, 128 bytes, the row of a tile has as many */
    bool nan;                                /* the fill outside of the tensor; else 0 */
    uint8_t unused[41];
} cji_exec_tensor_map;

/* The bytes of an element of a CUtensorMapDataType; 0: there is no such type. */
unsigned cji_exec_tensor_element(unsigned type);

/* open, work, close on this thread. False on a fault (without memory: NOMEM). */
bool cji_exec_run(const cji_exec_launch *launch, cji_exec_fault *fault);

#endif
