/* Inside the engine: predecoded records, warps, blocks, grids.
 *
 * Registers. A function's frame is a piece of the warp's register stack: a head (where it was
 * called from), then the registers, then its constants, copied from the function's template when
 * the frame is made. A register of N bytes is 32 lanes of N bytes one behind the other; a predicate
 * is one 32-bit mask. A record names registers by byte offsets from the frame's base.
 *
 * Lanes. The live lanes of a warp are partitioned into groups {mask, pc, frame}. One group runs at
 * a time; of several that are ready, the one deepest in calls and lowest in code runs first, and
 * groups at the same pc and frame become one. Code is laid out so that a block's immediate
 * post-dominator comes behind everything between them (flow.c), so groups meet there. A group that
 * spends its fuel (back edges; atomics and volatile loads cost more) gives way to the group that
 * has waited longest: spin loops inside a warp make progress. */
#ifndef CJI_EXEC_WARP_H
#define CJI_EXEC_WARP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ptx/isa.h"
#include "base/clock.h"
#include "sim/exec/exec.h"

#define CJI_LANES 32
#define CJI_FULL UINT32_MAX
#define CJI_NO_GUARD UINT32_MAX
#define CJI_BARRIERS 16

typedef struct cji_warp cji_warp;
typedef struct cji_rec cji_rec;
typedef struct cji_blk cji_blk;
typedef struct cji_bulk cji_bulk;

typedef void (*cji_handler)(cji_warp *w, const cji_rec *r);
typedef uint64_t (*cji_lane_fn)(uint64_t a, uint64_t b, uint64_t c, uint32_t k);

/* Register widths. */
typedef enum cji_width { CJI_WNONE = 0, CJI_WP, CJI_W8, CJI_W16, CJI_W32, CJI_W64 } cji_width;

struct cji_rec {
    cji_handler fn;
    cji_lane_fn lane;        /* of the generic handlers */
    int64_t imm;             /* address offset; others by handler */
    uint32_t d, a, b, c;     /* registers */
    uint32_t guard;          /* offset of the predicate << 1 | negated; CJI_NO_GUARD */
    uint32_t k;              /* modifiers, by handler: CJI_KF_* for lane functions */
    uint32_t target;         /* pc of a branch; function of a call; index in program->ext */
    uint32_t d2;             /* second destination, other registers: by handler */
    uint32_t line;
    uint8_t wd, wa, wb, wc;  /* cji_width of d, a, b, c */
    uint8_t space;           /* memory: cji_space */
    uint8_t size;            /* memory: bytes of an element */
    uint8_t count;           /* memory: elements; others by handler */
    uint8_t flags;           /* memory: CJI_MF_* */
};

/* Modifiers of lane functions. */
enum {
    CJI_KF_RND = 7, CJI_KF_FTZ = 8, CJI_KF_SAT = 16, CJI_KF_RELU = 32, CJI_KF_NAN = 64, CJI_KF_XORSIGN = 128,
    CJI_KF_SIGNED = 256,
    CJI_KF_HI = 512, CJI_KF_ABS = 1024, CJI_KF_B = 2048, CJI_KF_C = 4096
};
#define CJI_KF_BITS(k) ((k) >> 16 & 0x7f)          /* the type's bits */
#define CJI_KF_FMT(k) ((cji_fp_format)((k) >> 24 & 15))
#define CJI_KF_X(k) ((k) >> 28)                    /* a comparison or second format */
#define CJI_KF(bits, fmt, x) ((uint32_t)(bits) << 16 | (uint32_t)(fmt) << 24 | (uint32_t)(x) << 28)

enum { CJI_MF_SIGNED = 1, CJI_MF_FRAME = 2 /* address relative to the local frame */, CJI_MF_VOLATILE = 4,
    CJI_MF_ORDER = 8, CJI_MF_NOBASE = 16, CJI_MF_BASE32 = 32,
    CJI_MF_ALIGNED = 64 /* matrices: all lanes of the warp are at this very instruction */ };

/* ---- Programs ---------------------------------------------------------------------------------------------------- */

#define CJI_FRAME_BYTES (UINT64_C(1) << 28)    /* of a frame: 1 M registers of 64 bits */

/* Head of a frame: where its call came from.  A frame belongs to the lanes of one call. */
typedef struct cji_frame { uint32_t pc, base, local, func, pad[12]; } cji_frame;

typedef struct cji_func {
    const char *name;
    uint32_t module;         /* index of its text */
    uint32_t entry;          /* pc of its first record in program->code */
    uint32_t frame;          /* bytes of a frame, a multiple of 64 */
    uint32_t regs_end;       /* registers are [sizeof(cji_frame), regs_end), constants [regs_end, frame) */
    uint32_t values;         /* the most 32-bit values of a thread that are alive at one place */
    unsigned char *consts;   /* template of the constants */
    uint64_t local;          /* bytes of local frame, a multiple of 16; above CJI_LOCAL_BYTES it never runs */
    uint64_t shared;         /* kernels: end of their own shared variables */
    uint32_t param_bytes;    /* kernels: of their parameters */
    uint32_t local_align;    /* of the local frame: a power of two, at least 16 */
    uint32_t dyn_first, dyn_n;   /* program->dyn[]: constants that hold the dynamic shared memory's offset */
    uint32_t nparam, nresult;
    uint32_t arg_first;      /* program->ext[]: CJI_ARG words for parameters, then results */
    uint32_t source;         /* index in its module's functions */
    bool kernel, defined, visible;
    bool reaches;            /* it, or what it may call, names common shared variables */
    uint8_t builtin;         /* CJI_BUILTIN_* */
} cji_func;

enum { CJI_BUILTIN_NONE = 0, CJI_BUILTIN_PRINT, CJI_BUILTIN_ASSERT, CJI_BUILTIN_CONDITION };

/* A parameter or argument place, two words of ext: {CJI_ARG_REG << 28 | width, offset} or {bytes,
 * offset in the local frame}. */
#define CJI_ARG_REG 0x10000000u
#define CJI_ARG_WIDTH(x) ((x) & 15)

#define CJI_FUNC_TAG UINT64_C(0x00f4000000000000)  /* a function's address: tag + index * 16 + 16 */

/* Where a record comes from: for messages. */
typedef struct cji_origin {
    const char *what;        /* the instruction's spelling */
    const char *file;        /* .loc's file, NULL: there is none */
    uint32_t line;           /* .loc's line */
} cji_origin;

/* A function that calls or names another; number nfunc stands for "some function whose address is taken". */
typedef struct cji_program_call { uint32_t caller, callee; } cji_program_call;

struct cji_exec_program {
    cji_arena arena;
    cji_rec *code; size_t ncode, ccode;
    cji_origin *origin; size_t corigin;  /* [ncode] */
    uint32_t *ext; size_t next, cext;
    cji_func *func; size_t nfunc, cfunc;
    cji_exec_var *var; size_t nvar, cvar;
    cji_exec_kernel *kernel; size_t nkernel, ckernel;
    uint32_t *dyn; size_t ndyn, cdyn;
    /* constants that are base + addend in all lanes */
    struct cji_place { unsigned char *at; int64_t addend; } *place; size_t nplace, cplace;
    /* addresses inside initial values */
    struct cji_init { uint64_t at, addend; uint8_t bytes, shift, absolute; } *init; size_t ninit, cinit;
    /* initial values; the rest of the image is 0 */
    struct cji_piece { uint64_t at; const unsigned char *from; uint64_t bytes; } *piece; size_t npiece, cpiece;
    uint64_t image_bytes, image_align;
    uint64_t const_bytes;    /* .const variables come first */
    uint64_t base;           /* of the image, after place() */
    cji_map names;           /* origin[] points into it */
    cji_map func_names, var_names, kernel_names;     /* data: the index of the first of that name */
    cji_program_call *call; size_t ncall, ccall;     /* while it is made */
    uint64_t common_shared;  /* bytes of the shared variables that several kernels may reach */
};

/* A call's record: d2 bytes of the caller's frame, imm of its local frame; ext[target]: narg, nres,
 * then narg + nres places. */

/* ---- Running ----------------------------------------------------------------------------------------------------- */

typedef enum cji_group_state {
    CJI_G_READY = 0,
    CJI_G_SYNC,              /* waits for lanes of its warp */
    CJI_G_BAR                /* waits for a barrier */
} cji_group_state;

typedef struct cji_group {
    uint32_t mask, pc, base, top, local, depth;
    uint32_t stamp;          /* when it last ran */
    uint8_t state, bar;
} cji_group;

struct cji_warp {
    unsigned char *r;        /* the running group's frame */
    uint32_t mask;           /* lanes of the current instruction */
    uint32_t pc;             /* next instruction */
    uint32_t active;         /* the running group's lanes */
    uint32_t limit;          /* pc at which another group waits to be joined */
    bool stop;               /* choose a group anew */
    uint32_t base, top;      /* the frame's place in the register stack */
    uint32_t local, depth;   /* local frame's offset; calls under way */
    int64_t fuel;            /* until the group gives way */
    int64_t slice;           /* until the block gives way */
    cji_blk *blk;
    const cji_exec_program *p;
    unsigned char *stack; size_t stack_bytes;    /* register stack */
    /* local memory: a piece of lstride bytes for each lane, lpitch bytes from the last one's */
    unsigned char *lmem; uint32_t lstride, lpitch;
    struct cji_wgmma *wgmma; /* NULL before the first (wgmma_state.c) */
    uint32_t index;          /* in the block */
    uint32_t live;           /* lanes that have not exited */
    uint32_t cc;             /* carry flags */
    uint32_t clock;          /* stamps */
    uint32_t stamp;          /* of the running group */
    bool turn;               /* the running group was chosen for having waited longest: it keeps running */
    uint32_t ngroup;
    uint64_t steps;
    cji_group group[CJI_LANES];
    uint32_t tid[3][CJI_LANES];
};

typedef struct cji_barrier {
    uint32_t expected;       /* threads, 0: the whole block */
    uint32_t arrived;        /* warps with an arrival */
    uint32_t count, any, all; /* of bar.red: how many were true, whether one was, whether all were */
    uint32_t *lanes;         /* [nwarp]: who has arrived */
} cji_barrier;

#define CJI_SPANS 8

struct cji_blk {
    struct cji_exec_grid *g;
    cji_blk *next;
    uint32_t id[3];
    uint64_t index;
    cji_warp *warp; uint32_t nwarp;
    unsigned char *shared; uint32_t shared_bytes;
    uint32_t nthread;
    bool failed;
    cji_barrier bar[CJI_BARRIERS + 1];  /* the last is the cluster's */
    uint32_t *bar_lanes;
    cji_bulk *bulk;                 /* copies that are not done yet (ops_bulk.c) */
    size_t nbulk, cbulk;
    uint32_t *commits;              /* [nthread]: committed groups; NULL before the first */
    cji_exec_span span[CJI_SPANS];  /* allocations that its warps have used; kept for the thread's next block */
    uint32_t span_next;
    uint64_t span_changes;          /* *memory.changes when the spans were looked up */
};

struct cji_exec_grid {
    cji_exec_launch l;
    unsigned char *params;
    uint64_t blocks, next;   /* next: taken atomically */
    uint32_t nthread, nwarp, shared_bytes, dyn_base;
    uint32_t stack_max;
    int stopped;             /* a fault, or cancelled: atomic */
    int fault_lock;
    uint64_t steps;          /* atomic */
    uint64_t start;          /* nanoseconds, for %clock */
    cji_exec_fault fault;    /* last: only its kind has a value before there is a fault */
};

#define CJI_STACK_BYTES (UINT64_C(1) << 30)   /* of a warp: the frames of all calls under way */
#define CJI_FUEL 16384
#define CJI_FUEL_SPIN 512    /* what an atomic or a volatile load costs a diverged warp's fuel, or its slice */
#define CJI_SLICE 262144     /* a warp's part of its block's turn, in back edges */
#define CJI_SLICE_BARRIER 256 /* what a barrier costs of it: a loop around a barrier may wait for another block */

static inline uint32_t *cji_pred(cji_warp *w, uint32_t off) { return (uint32_t *)(void *)(w->r + off); }
static inline void cji_set_pred(cji_warp *w, uint32_t off, uint32_t bits)
{
    uint32_t *p = cji_pred(w, off);
    *p = (*p & ~w->mask) | (bits & w->mask);
}

static inline uint64_t cji_get(const cji_warp *w, unsigned width, uint32_t off, unsigned i)
{
    const unsigned char *p = w->r + off;
    switch (width) {
    case CJI_WP: return *(const uint32_t *)(const void *)p >> i & 1;
    case CJI_W8: return p[i];
    case CJI_W16: return ((const uint16_t *)(const void *)p)[i];
    case CJI_W32: return ((const uint32_t *)(const void *)p)[i];
    case CJI_W64: return ((const uint64_t *)(const void *)p)[i];
    default: return 0;
    }
}

static inline void cji_put(cji_warp *w, unsigned width, uint32_t off, unsigned i, uint64_t v)
{
    unsigned char *p = w->r + off;
    switch (width) {
    case CJI_WP: {
        uint32_t *m = (uint32_t *)(void *)p;
        *m = (*m & ~(UINT32_C(1) << i)) | (uint32_t)(v & 1) << i;
        break;
    }
    case CJI_W8: p[i] = (unsigned char)v; break;
    case CJI_W16: ((uint16_t *)(void *)p)[i] = (uint16_t)v; break;
    case CJI_W32: ((uint32_t *)(void *)p)[i] = (uint32_t)v; break;
    case CJI_W64: ((uint64_t *)(void *)p)[i] = v; break;
    default: break;
    }
}

static inline unsigned cji_first(uint32_t mask) { return (unsigned)__builtin_ctz(mask); }
static inline uint32_t cji_width_bytes(unsigned width)
{
    static const uint8_t bytes[] = { 0, 4, 32, 64, 128, 0 };
    return width == CJI_W64 ? 256 : bytes[width];
}
#define CJI_EACH(i, m) for (uint32_t i##_m = (m), i; i##_m && (i = cji_first(i##_m), true); i##_m &= i##_m - 1)

/* ---- Functions, by file ------------------------------------------------------------------------------------------ */

/* warp.c */
void cji_warp_place(cji_warp *w, cji_blk *b, uint32_t index);    /* once: what all blocks of a grid have in common */
bool cji_warp_start(cji_warp *w);
void cji_warp_free(cji_warp *w);
typedef enum cji_warp_end { CJI_WARP_DONE, CJI_WARP_BLOCKED, CJI_WARP_YIELD, CJI_WARP_FAULT } cji_warp_end;
cji_warp_end cji_warp_run(cji_warp *w);
/* lanes `taken` go there, the group's others on to w->pc */
void cji_warp_branch(cji_warp *w, uint32_t taken, uint32_t target);
/* these lanes stay at this instruction */
void cji_warp_wait(cji_warp *w, uint32_t lanes, unsigned state, unsigned bar);
void cji_warp_exit(cji_warp *w, uint32_t lanes);
void cji_warp_kick(cji_warp *w);                                         /* the groups have changed: choose anew */
void cji_warp_wake(cji_warp *w);                                         /* groups in CJI_G_SYNC look again */
/* Enters f with `lanes` of the running group, the others go on: a new frame above all frames in
 * use. False: a fault. */
bool cji_warp_call(cji_warp *w, const cji_rec *r, uint32_t lanes, const cji_func *f);
void cji_warp_return(cji_warp *w, uint32_t lanes);

/* block.c */
typedef enum cji_block_end { CJI_BLOCK_DONE, CJI_BLOCK_YIELD, CJI_BLOCK_FAULT } cji_block_end;
bool cji_block_start(cji_blk *b, struct cji_exec_grid *g, uint64_t index);
cji_block_end cji_block_run(cji_blk *b);
void cji_block_free(cji_blk *b);
void cji_block_exited(cji_blk *b);        /* lanes have exited: barriers may be complete */
/* k: CJI_BAR_*; a: barrier, b: threads (wb CJI_WNONE: all), c: predicate */
void cji_h_barrier(cji_warp *w, const cji_rec *r);
enum { CJI_BAR_SYNC = 0, CJI_BAR_ARRIVE, CJI_BAR_POPC, CJI_BAR_AND, CJI_BAR_OR, CJI_BAR_OP = 7, CJI_BAR_ALIGNED = 8,
    CJI_BAR_CLUSTER = 16     /* barrier.cluster: CJI_BAR_ARRIVE, or CJI_BAR_SYNC for its wait; no operands */ };

/* cluster.c */
uint32_t cji_cluster_blocks(const cji_blk *b);
bool cji_cluster_is_one(cji_warp *w, const cji_rec *r, unsigned lane);   /* false: a fault */
void cji_h_mapa(cji_warp *w, const cji_rec *r);      /* d = the address that a has in block b of the cluster */
void cji_h_ctarank(cji_warp *w, const cji_rec *r);   /* d = the block in whose shared memory a is */

/* ops_warp.c */
/* k: CJI_SY_*; a, b, c as the instruction has them; ext[target]: the mask's {width, offset} */
void cji_h_sync(cji_warp *w, const cji_rec *r);
/* groups that wait at different places for the same thing: done, or false */
bool cji_sync_meet(cji_warp *w);

/* ops_flow.c */
void cji_h_bra(cji_warp *w, const cji_rec *r);
void cji_h_jump(cji_warp *w, const cji_rec *r);    /* made by the layout: no back edge */
void cji_h_brx(cji_warp *w, const cji_rec *r);     /* a: index; count targets at ext[target] */
/* k: function, or UINT32_MAX: address in a; ext[target]: arguments, results; see CJI_CALL in decode */
void cji_h_call(cji_warp *w, const cji_rec *r);
void cji_h_ret(cji_warp *w, const cji_rec *r);
void cji_h_exit(cji_warp *w, const cji_rec *r);
void cji_h_trap(cji_warp *w, const cji_rec *r);
void cji_h_nanosleep(cji_warp *w, const cji_rec *r);

/* print_exec.c */
/* vprintf, __assertfail, cudaGraphSetConditional */
void cji_print_call(cji_warp *w, const cji_rec *r, uint32_t lanes, const cji_func *f);

/* fault.c: the first fault of a grid is kept. `lane` is the thread concerned; the text is the end of a
 * sentence that begins with the instruction. cji_fault_at is for accesses of memory. */
typedef struct cji_access {
    uint64_t address;        /* as in cji_exec_fault */
    uint32_t bytes;
    uint8_t access, space;
    cji_exec_span near;      /* global memory: the allocation, or the nearest; lo == hi: none */
} cji_access;
void cji_fault(cji_warp *w, const cji_rec *r, unsigned lane, cji_exec_fault_kind kind, uint64_t address,
               const char *fmt, ...) __attribute__((format(printf, 6, 7)));
void cji_fault_at(cji_warp *w, const cji_rec *r, unsigned lane, cji_exec_fault_kind kind, const cji_access *at,
                  const char *fmt, ...) __attribute__((format(printf, 6, 7)));
void cji_fault_no_memory(struct cji_exec_grid *g, const char *what);

#endif
