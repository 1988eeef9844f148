/* Loads, stores and atomic operations, lane by lane: every access that ops_quick.h leaves, and its fault. */
#ifndef CJI_EXEC_OPS_MEM_H
#define CJI_EXEC_OPS_MEM_H

#include "sim/exec/warp.h"

/* d (or count pairs {width, offset} at ext[target]; width 0: not wanted) = [a + imm] */
void cji_h_ld(cji_warp *w, const cji_rec *r);
void cji_h_st(cji_warp *w, const cji_rec *r);        /* [a + imm] = b (or count pairs at ext[target]) */
void cji_h_ld_param(cji_warp *w, const cji_rec *r);  /* a kernel parameter at a constant offset */
/* d = [a + imm], then [a + imm] = op([..], b, c); k: CJI_AT_* and type; wd CJI_WNONE: red */
void cji_h_atom(cji_warp *w, const cji_rec *r);
void cji_h_fence(cji_warp *w, const cji_rec *r);
void cji_mem_fence(void);
void cji_h_prefetch(cji_warp *w, const cji_rec *r);  /* checks nothing, changes nothing */

enum { CJI_AT_ADD, CJI_AT_AND, CJI_AT_OR, CJI_AT_XOR, CJI_AT_EXCH, CJI_AT_CAS, CJI_AT_MIN, CJI_AT_MAX, CJI_AT_INC,
    CJI_AT_DEC };
#define CJI_AT_OP(k) ((k) & 15)
enum { CJI_AT_INT = 0, CJI_AT_SIGNED = 16, CJI_AT_F32 = 32, CJI_AT_F64 = 48, CJI_AT_F16 = 64, CJI_AT_BF16 = 80,
    CJI_AT_F16X2 = 96, CJI_AT_BF16X2 = 112 };
#define CJI_AT_TYPE(k) ((k) & 112)

/* One lane's access outside the handlers above: its host bytes, or NULL after a fault. */
unsigned char *cji_mem_at(cji_warp *w, const cji_rec *r, unsigned lane, unsigned space, uint64_t address,
                          unsigned bytes, bool write);
/* The same for any number of bytes, of an alignment that is a power of two; access: CJI_EXEC_READ, _WRITE, _UPDATE. */
unsigned char *cji_mem_range(cji_warp *w, const cji_rec *r, unsigned lane, unsigned space, uint64_t address,
                             unsigned bytes, unsigned align, unsigned access);
/* at = op(at, value), indivisibly, as in global memory; k as cji_h_atom's, size: 2, 4 or 8. */
void cji_mem_reduce(uint32_t k, unsigned size, unsigned char *at, uint64_t value);
/* The allocation that holds address a of global memory. NULL: there is none. Valid until the next call. */
const cji_exec_span *cji_mem_span(cji_warp *w, uint64_t a);
/* The address of one lane, from a record's a, imm and flags. */
uint64_t cji_mem_address(const cji_warp *w, const cji_rec *r, unsigned lane);

/* Host bytes behind a generic or space-relative address of one lane, for the kernel's printf: NULL
 * when [address, +bytes) is no readable piece of one allocation. *left: how many bytes follow. */
const unsigned char *cji_mem_peek(cji_warp *w, unsigned lane, uint64_t address, uint64_t *left);

#endif
