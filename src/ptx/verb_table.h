/* The everyday verbs as data: verb and types to a decoded form, known to the process once looked up. */
#ifndef CJI_VERB_TABLE_H
#define CJI_VERB_TABLE_H

#include "ptx/build.h"

#define V(verb, types, types2, spelling) CJI_VERB_##verb,
#define M(verb, types, types2, spelling)
#define SR(verb, x, y, z)
typedef enum cji_verb_id {
#include "ptx/verbs.def"
    CJI_VERB_COUNT
} cji_verb_id;

#define SR(verb, x, y, z) CJI_SRV_##verb,
#define V(verb, types, types2, spelling)
#define M(verb, types, types2, spelling)
typedef enum cji_sreg_verb {
#include "ptx/verbs.def"
    CJI_SRV_COUNT
} cji_sreg_verb;

/* The form of a verb for these types; NULL with the failure kept. `type2` CJ_VOID where there is none. */
cji_form *cji_verb(cj_fn *f, cji_verb_id verb, unsigned space, unsigned type, unsigned type2, const char *call);
bool cji_verb_has(cji_verb_id verb, unsigned type, unsigned type2);
/* Index of the special register, for cji_isa_sreg_at(). */
int cji_verb_sreg(cji_sreg_verb verb, unsigned dim);

/* ---- Typing ---- */

/* Operands of a verb: usable, special registers, variables and negated predicates put into registers, one type for
 * all that is no number; CJ_VOID where all are numbers.  False with the failure kept. */
bool cji_prepare_any(cj_fn *f, cj_val *v, size_t n, unsigned *type, const char *call);
/* Registers of one type, as nearly always: nothing is to be prepared, and *type is theirs. */
static inline bool cji_all_registers(const cj_fn *f, const cj_val *v, size_t n, unsigned *type)
{
    const uint32_t kind = (uint32_t)(v[0].bits >> 32);
    uint32_t bad = ((kind >> 8) ^ (CJI_K_REG | f->owner << 4));
    for (size_t i = 0; i < n; i++) bad |= ((uint32_t)(v[i].bits >> 32) ^ kind) | ((uint32_t)v[i].bits >= f->nreg);
    *type = kind & 255;
    for (size_t i = 0; i < n && !bad; i++) bad |= f->reg[(uint32_t)v[i].bits].type ^ *type;
    return !bad;
}
/* The same as cji_prepare_any; of numbers only the first is put into a register of cji_number_type(). */
bool cji_prepare(cj_fn *f, cj_val *v, size_t n, unsigned *type, const char *call);
/* The type of both: equal ones, or one untyped of the same width; CJ_VOID when they do not agree. */
unsigned cji_unify(unsigned a, unsigned b);
/* A value in a register (or a number as it is): special registers, variables' addresses, negated predicates are moved
 * into one. */
cj_val cji_settle(cj_fn *f, cj_val v, const char *call);
/* A number as a register of a half type, which has no literals; other values stay. */
cj_val cji_half_literal(cj_fn *f, cj_val v, unsigned type, const char *call);
/* bits, rounded to nearest even; pairs hold it twice */
uint32_t cji_half_of(unsigned type, double x);
cj_val cji_move_to(cj_fn *f, cj_val to, cj_val a, const char *call);    /* mov to, a */

/* ---- Memory ---- */
cj_val cji_load_from(cj_fn *f, unsigned type, unsigned space, cj_val mem, const char *call);
cj_val cji_to_space(cj_fn *f, cj_val generic, unsigned space, const char *call);
cj_val cji_elem_at(cj_fn *f, cj_val p, cj_val i, const char *call);

#endif
