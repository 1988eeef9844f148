/* Building blocks: what the files of this folder share.  A block is written with the builder's own calls; this has
 * what they lack: values of several registers, guards that may be absent, shared addresses in 32 bits.
 *
 * A block never writes a register that it was given: it copies what it changes.  Nothing is appended after a failure,
 * and null values flow through all calls, so a block need not look at each result. */
#ifndef CJI_BLOCKS_H
#define CJI_BLOCKS_H

#include "ptx/fold.h"

/* ---- Instructions by mnemonic, under a guard or (null) always ---- */

enum { CJI_MNEMONIC_MAX = 128 };
typedef enum cji_spelling {
#define SPELLING(name, text) CJI_SPELLING_##name,
#include "ptx/blocks/spellings.def"
} cji_spelling;
extern const char *const cji_spellings[];
#define CJI_SPELLED(name) cji_spellings[CJI_SPELLING_##name]
void cji_block_ins(cj_fn *f, cj_val guard, const char *mnemonic, const cj_val *v, size_t n);
#define CJI_INS(f, guard, mnemonic, ...) \
    cji_block_ins(f, guard, mnemonic, (const cj_val[]){ __VA_ARGS__ }, \
                  sizeof((const cj_val[]){ __VA_ARGS__ }) / sizeof(cj_val))

/* Is it a whole number, and which?  One above INT64_MAX is INT64_MAX. */
static inline bool cji_number_is(const cj_fn *f, cj_val v, int64_t *x)
{
    if (cji_val_kind(v) != CJI_K_IMM) return false;
    const cji_lit *l = &f->lit[(uint32_t)v.bits];
    *x = l->wide ? INT64_MAX : (int64_t)l->bits;
    return l->lit == CJI_LIT_INT;
}

/* The failure of a block, left in the module. */
void cji_block_fail(cj_fn *f, cj_status status, const char *call, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- Values of several registers ---- */

enum { CJI_PARTS = 8 };
typedef struct cji_parts {
    cj_val v[CJI_PARTS];
    uint32_t n;
    bool vector;          /* it was a vector, also of one element */
} cji_parts;

/* The registers of a value; false with the failure kept. */
bool cji_parts_of(cj_fn *f, cj_val v, cji_parts *p, const char *call);
cj_val cji_parts_value(cj_fn *f, const cji_parts *p);
void cji_parts_give(cj_fn *f, const cji_parts *p, cj_val *result);             /* if it is wanted */
cji_parts cji_parts_copy(cj_fn *f, const cji_parts *p);                        /* in new registers */
/* mov to, from under a guard or always */
void cji_parts_move(cj_fn *f, cj_val guard, const cji_parts *to, const cji_parts *from, const char *call);
uint32_t cji_parts_bytes(const cji_parts *p);                                  /* in memory, a multiple of 4 */

/* Those of other lanes: shfl.sync of every register, in groups of `width` lanes.  `in`: whether the lane exists,
 * where it is not NULL. */
typedef enum cji_lanes { CJI_LANES_XOR, CJI_LANES_UP, CJI_LANES_DOWN, CJI_LANES_IDX } cji_lanes;
cji_parts cji_parts_shuffle(cj_fn *f, cji_lanes how, const cji_parts *p, cj_val n, unsigned width, cj_val *in,
                            const char *call);

/* st.shared under a guard, ld.shared: at [address + offset]. */
void cji_parts_store(cj_fn *f, cj_val guard, cj_val address, uint32_t offset, const cji_parts *p);
cji_parts cji_parts_load(cj_fn *f, cj_val address, uint32_t offset, const cji_parts *like);

/* ---- Joining two values ---- */

typedef struct cji_join {
    cj_combine_op op;
    cj_fn *fn;            /* instead of op, where it is not NULL */
} cji_join;
bool cji_join_check(cj_fn *f, const cji_join *j, const cji_parts *p, const char *call);
/* to = low op high, under a guard or always; `to` are registers, and may be low or high. */
void cji_join_into(cj_fn *f, const cji_join *j, cj_val guard, const cji_parts *to, const cji_parts *low,
                   const cji_parts *high, const char *call);
/* What changes nothing: of op only. */
cji_parts cji_join_identity(cj_fn *f, const cji_join *j, const cji_parts *like, const char *call);
/* The identity: of op, or the one that the user gave; false with the failure kept. */
bool cji_identity_of(cj_fn *f, const cji_join *j, cj_val identity, const cji_parts *like, cji_parts *e,
                     const char *call);

/* Over the lanes of a warp, in the registers of `p`; all lanes of each `width` get it. */
void cji_warp_reduce(cj_fn *f, const cji_join *j, const cji_parts *p, unsigned width, const char *call);
void cji_warp_scan(cj_fn *f, const cji_join *j, const cji_parts *p, unsigned width, const char *call);
/* From an inclusive scan; the first lane of each `width` has `identity`. */
cji_parts cji_warp_exclusive(cj_fn *f, const cji_parts *inclusive, const cji_parts *identity, unsigned width,
                             const char *call);

/* ---- Addresses ---- */

/* A shared address in a 32-bit register; null with the failure kept. */
cj_val cji_shared_address(cj_fn *f, cj_val v, const char *call);
/* [v] and [v + offset] as an operand. */
cj_val cji_block_mem(cj_fn *f, cj_val v, int64_t offset);

#endif
