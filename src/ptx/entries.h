/* What a launch must know of a module's kernels: their parameters, and whether they use dynamic shared memory; and what
 * a program that reads and writes its variables must know of them.
 *
 * A list is made from the builder's module, or from text by the reader's parser of heads, which skips bodies.  It
 * never changes and outlives both; images, modules and kernels share it by reference. */
#ifndef CJI_ENTRIES_H
#define CJI_ENTRIES_H

#ifndef CJ_NO_SOURCE_LINES
#define CJ_NO_SOURCE_LINES
#endif
#ifndef CJI_FUNCTIONS_ONLY
#define CJI_FUNCTIONS_ONLY
#endif
#include <cujit/ptx.h>

#include <stdatomic.h>

#include "base/mem.h"

typedef struct cji_entry_param {
    const char *name;
    uint32_t offset, bytes;
    uint8_t type;                 /* cj_type; CJ_B8 with bytes > 1: a structure */
    uint8_t pointer;              /* declared with .ptr */
} cji_entry_param;

typedef struct cji_entry {
    const char *name;
    const cji_entry_param *param;
    uint32_t nparam;
    const char *
        dynamic_shared; /* a dynamic shared variable that an instruction of the kernel, or of a .func that it can reach, uses;
                                     NULL: there is none, or it is not known */
    uint32_t instructions, memory; /* of its body: cji_fn_mix */
    uint32_t threads;              /* of a block at most, by .maxntid or .reqntid; 0: it has neither */
} cji_entry;

/* A .global or .const variable that the module defines. */
typedef struct cji_entry_var {
    const char *name;
    uint64_t bytes;
    uint8_t type; /* cj_type of an element */
    uint8_t opaque; /* a texture, sampler or surface: it has no elements */
} cji_entry_var;

typedef struct cji_entries {
    atomic_uint refs;
    /* false: the text could not be read to its end; what is in the list holds, and uses are not known */
    bool whole;
    size_t n;
    cji_entry *entry;
    size_t nvar;
    cji_entry_var *var;
    /* a parameter in memory with the name of a .global or .const variable of the module, for which ptxas takes it in a
     * part of a program, though not in a whole one; NULL: there is none, or the list was read from a cache */
    const char *hiding;
    cji_arena arena;
} cji_entries;

/* The kernels that a finished module defines.  Owned by the caller, free with cji_entries_release.  NULL without
 * memory. */
cji_entries *cji_entries_of(const cj_ptx *m);

/* The same for any PTX text.  Records no failure: kernels behind what cannot be read are left out. */
cji_entries *cji_entries_read(const char *text, size_t bytes);

/* One list with the kernels of `n` others.  A NULL among them stands for kernels that are not known.  Owned by the
 * caller, free with cji_entries_release.  NULL without memory. */
cji_entries *cji_entries_join(const cji_entries *const *list, size_t n);

static inline cji_entries *cji_entries_retain(cji_entries *e)
{
    if (e) atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}
void cji_entries_release(cji_entries *e);   /* may be NULL */

/* NULL: there is no kernel of that name in the list.  `e` may be NULL. */
const cji_entry *cji_entries_find(const cji_entries *e, const char *name);

/* The same for variables. */
const cji_entry_var *cji_entries_var(const cji_entries *e, const char *name);

/* The names of all kernels, separated by ", ", for a message; cut with "..." where they do not fit. */
void cji_entries_names(const cji_entries *e, char *out, size_t size);

/* use[i]: index plus 1 in m->var[] of a dynamic shared variable that m->fn[i], or a function that it can reach, uses
 * in an instruction; 0: none.  A call through a register can reach each function whose address is taken.  `use` has
 * m->nfn + 1 zeros.  False without memory. */
bool cji_shared_uses(const cj_ptx *m, uint32_t *use);

/* How many instructions the body has, but those that read parameters; how many of them access memory that is neither
 * shared nor constant. */
struct cj_fn;
void cji_fn_mix(const struct cj_fn *f, uint32_t *all, uint32_t *memory);

/* What an instruction is in that count, by its first word and then by its modifiers: for texts whose bodies are
 * skipped. */
typedef enum cji_mix { CJI_MIX_OTHER, CJI_MIX_MEMORY, CJI_MIX_PARAM } cji_mix;
cji_mix cji_mix_word(const char *s, size_t n);
cji_mix cji_mix_modifier(cji_mix so_far, const char *s, size_t n);

#endif
