/* wgmma: products of a warpgroup, with matrices in shared memory. Each warp computes its own 16 rows of D.
 *
 * A product is computed as late as a GPU may do it, so that a kernel that does not wait for it has wrong results: when
 * the warp waits for its group and other warps have had a turn, in the order of issue. A product that is in no group is
 * never computed. Until then the accumulators are all ones, and a following product that adds to them goes on from
 * their value, not from what the kernel reads. Matrices in shared memory are read when it is computed
 * (wgmma_groups.c). */
#ifndef CJI_EXEC_OPS_WGMMA_H
#define CJI_EXEC_OPS_WGMMA_H

#include "sim/exec/warp.h"

/* k: CJI_MM_*; a: A's descriptor; b: B's; c: whether D is added; d2 registers of D at ext[target], then, without a
 * descriptor, four of A */
void cji_h_wgmma(cji_warp *w, const cji_rec *r);
void cji_h_wgmma_fence(cji_warp *w, const cji_rec *r);
void cji_h_wgmma_commit(cji_warp *w, const cji_rec *r);
void cji_h_wgmma_wait(cji_warp *w, const cji_rec *r);    /* until imm groups are not done */

/* A matrix in shared memory, as its descriptor says. */
typedef struct cji_wgmma_matrix {
    uint32_t start, leading, stride;   /* bytes */
    uint32_t swizzle;                  /* units of 16 bytes whose places change: 1 (none), 2, 4 or 8 */
    bool turned;                       /* m or n is contiguous */
    unsigned each;                     /* elements of a unit */
} cji_wgmma_matrix;

/* A wgmma that has been issued. */
typedef struct cji_product {
    const cji_rec *r;
    uint32_t base;                     /* of the frame of its registers */
    uint32_t group;                    /* its number among the warp's groups, from 1; 0: not committed */
    bool adds;                         /* D = A * B + D */
    uint8_t registers_of_a;            /* 0: a descriptor */
    cji_wgmma_matrix a, b;
} cji_product;

/* Is the warpgroup there, and do all lanes say the same? Then p is what they say, without its frame. False: a fault. */
bool cji_product_begin(cji_warp *w, const cji_rec *r, cji_product *p);
/* Computes it, with registers at w->r. False: a fault. */
bool cji_product_compute(cji_warp *w, const cji_product *p);

/* ---- What a warp has of them (wgmma_state.c) ---- */

#define CJI_WGMMA_REGISTER 128     /* bytes of a register: places that are divided by it never have the same number */

typedef struct cji_wgmma_register {
    uint32_t writers, readers;     /* products that are not computed, with it in D, in A */
    uint32_t fence;                /* of a value in the copy: how many fences there were; 0: there is no value */
} cji_wgmma_register;

struct cji_wgmma {
    cji_product *product; size_t n, c;   /* that are not computed, as they were issued */
    uint32_t commits, fences;
    bool waits;                    /* the warp has given way at a wait */
    unsigned char *value;          /* a copy of the register stack (wgmma_groups.c) */
    cji_wgmma_register *of;        /* [bytes / CJI_WGMMA_REGISTER] */
    size_t bytes;                  /* of the stack */
};

/* With a copy as large as the stack. NULL: there is no memory. */
struct cji_wgmma *cji_wgmma_state(cji_warp *w);
/* A frame of the warp ends: its products are forgotten. */
void cji_wgmma_leave(cji_warp *w);
/* A block begins: the warp has issued no wgmma and no fence. */
void cji_wgmma_start(cji_warp *w);
void cji_wgmma_free(cji_warp *w);

#endif
