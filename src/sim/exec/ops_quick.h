/* Accesses of a whole warp that need no look at each lane: one allocation or one window holds all of
 * them, they are aligned, and nothing is wrong. Compiled twice (ops_quick_base.c, ops_quick_avx2.c).
 * Whatever else an access may be, a fault included, is left to the handlers of ops_mem.h, which look
 * at the lanes one by one; both have the same results. */
#ifndef CJI_EXEC_OPS_QUICK_H
#define CJI_EXEC_OPS_QUICK_H

#include "sim/exec/warp.h"

typedef struct cji_quick_table {
    /* any size and register width; then elements of 32 or 64 bits in registers of that width */
    cji_handler ld, ld_32, ld_64, ld_32x2, ld_32x4, ld_64x2;
    cji_handler st, st_32, st_64, st_32x2, st_32x4, st_64x2;
    cji_handler atom;        /* of one element that cji_quick_atomic names */
} cji_quick_table;

extern const cji_quick_table cji_quick_base;
#if defined __x86_64__ && defined __GNUC__
#define CJI_QUICK_HAVE_AVX2 1
extern const cji_quick_table cji_quick_avx2;
bool cji_quick_avx2_runs(void);    /* has this processor what it needs? */
#endif

/* The table for this processor. */
const cji_quick_table *cji_quick_pick(void);

/* The handler for a record that has its operands. */
cji_handler cji_quick_access(const cji_quick_table *t, const cji_exec_program *p, const cji_rec *r, bool store);
/* Is it one of the atomic operations of `atom`? */
bool cji_quick_atomic(const cji_rec *r);

#endif
