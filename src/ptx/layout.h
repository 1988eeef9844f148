/* Sizes and places in memory: added, aligned and multiplied without overflow, against one limit each.
 *
 * Every size that a text can choose goes through cji_layout_mul and cji_layout_add: those of parameters, frames,
 * shared, local, constant and global memory, in the reader, in the builder and on the CPU device. */
#ifndef CJI_LAYOUT_H
#define CJI_LAYOUT_H

#include "ptx/ptx.h"

#define CJI_BYTES_MAX ((uint64_t)INT64_MAX)   /* of one variable, and of a space */
enum {
    CJI_PARAM_BYTES_OLD = 4352,      /* of a kernel's parameters before PTX 8.1 */
    CJI_PARAM_BYTES = 32764,         /* and from then on */
    CJI_PARAM_ALIGN = 128,           /* of a function's parameter, and of a call's */
    CJI_CONST_BYTES = 65536,         /* of all .const variables */
    CJI_SHARED_BYTES = 49152,        /* of a kernel's static shared memory; dynamic shared memory may have more */
    CJI_LOCAL_BYTES = 524288,        /* of a thread's local memory */
    CJI_IMAGE_ALIGN = 1 << 30        /* of .global and .const variables: ptxas does not end with more */
};

/* a * b.  False: more than CJI_BYTES_MAX; *out is not changed. */
static inline bool cji_layout_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product) || product > CJI_BYTES_MAX) return false;
    *out = product;
    return true;
}

/* Places `bytes` at the next multiple of `align` (a power of two; 0 is 1) from *end on: *at is its offset, *end the
 * first byte behind it.  False: *end would be more than `limit`, which is at most CJI_BYTES_MAX; nothing is changed. */
static inline bool cji_layout_add(uint64_t *end, uint64_t align, uint64_t bytes, uint64_t limit, uint64_t *at)
{
    uint64_t mask = align ? align - 1 : 0, from, behind;
    if (__builtin_add_overflow(*end, mask, &from)) return false;
    from &= ~mask;
    if (__builtin_add_overflow(from, bytes, &behind) || behind > limit) return false;
    *at = from;
    *end = behind;
    return true;
}

/* The same for a variable or parameter. */
static inline bool cji_layout_var(uint64_t *end, const cji_var *v, uint64_t limit, uint64_t *at)
{
    return cji_layout_add(end, cji_var_alignment(v), v->bytes, limit, at);
}

/* The most bytes of parameters that a kernel of this PTX version has; version 0: not known. */
static inline uint64_t cji_layout_params(unsigned version)
{
    return version && version < 81 ? CJI_PARAM_BYTES_OLD : CJI_PARAM_BYTES;
}

/* Does every space of the module, and every function's frame, have a size?  Constant memory has at most
 * CJI_CONST_BYTES, the others CJI_BYTES_MAX.  Else the failure names the variable, its line and the limit. */
bool cji_layout_check(cj_ptx *m, const char *call);

/* A function that a kernel comes to call, and the parameter or result that ptxas does not pass. */
typedef struct cji_unpassed { const cj_fn *fn; const cji_var *v; bool result; } cji_unpassed;

/* False: there is one.  `printed`: of the text that the printer makes, else of the one that was read.  Without memory
 * there is none. */
bool cji_ptx_passes(const cj_ptx *m, bool printed, cji_unpassed *out);
/* The sentence. */
void cji_unpassed_text(const cj_ptx *m, const cji_unpassed *u, char *text, size_t size);

/* Calls `each` for every SYM and FUNC word that the function's instructions name; `call`: of a call, where a function's
 * name takes no address.  Returns whether there is a call of an address. */
bool cji_layout_names(const cj_ptx *m, const cj_fn *f, void (*each)(void *user, uint32_t word, bool call), void *user);

#endif
