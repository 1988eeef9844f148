/* The frequent instruction forms, 32 lanes at a time in loops that compilers vectorise; compiled
 * twice (ops_vec_base.c, ops_vec_avx2.c). Operands are registers of exactly the type's width;
 * everything else goes through cji_h_lane*. Results equal the lane functions'. */
#ifndef CJI_EXEC_OPS_VEC_H
#define CJI_EXEC_OPS_VEC_H

#include "sim/exec/warp.h"

/* One handler for each form that ops.def names. */
typedef struct cji_vec_table {
#define N(form) cji_handler form;
#define V(type, form) N(form)
#define A(type, form) N(form)
#include "sim/exec/ops.def"
} cji_vec_table;

extern const cji_vec_table cji_vec_base;
#if defined __x86_64__ && defined __GNUC__
#define CJI_VEC_HAVE_AVX2 1
extern const cji_vec_table cji_vec_avx2;
bool cji_vec_avx2_sound(void);     /* is this processor's arithmetic IEEE's? emulators' may not be */
#endif

/* The table for this processor. */
const cji_vec_table *cji_vec_pick(void);

/* What the comparisons end with: combines with a predicate, writes d and d2.  r->k & CJI_SETP_*. */
enum { CJI_SETP_AND = 1, CJI_SETP_OR = 2, CJI_SETP_XOR = 3, CJI_SETP_BOOL = 3, CJI_SETP_NOT = 4 /* c is negated */,
    CJI_SETP_D2 = 8, CJI_SETP_NO_D = 16 };
/* `bits` combined with the predicate c as `flags` say. */
static inline uint32_t cji_setp_bool(cji_warp *w, const cji_rec *r, uint32_t flags, uint32_t bits)
{
    uint32_t op = flags & CJI_SETP_BOOL;
    if (!op) return bits;
    uint32_t other = *cji_pred(w, r->c);
    if (flags & CJI_SETP_NOT) other = ~other;
    return op == CJI_SETP_AND ? bits & other : op == CJI_SETP_OR ? bits | other : bits ^ other;
}

static inline void cji_setp_flags(cji_warp *w, const cji_rec *r, uint32_t flags, uint32_t bits)
{
    uint32_t yes = cji_setp_bool(w, r, flags, bits), no = cji_setp_bool(w, r, flags, ~bits);
    if (!(flags & CJI_SETP_NO_D)) cji_set_pred(w, r->d, yes);
    if (flags & CJI_SETP_D2) cji_set_pred(w, r->d2, no);
}

static inline void cji_setp_end(cji_warp *w, const cji_rec *r, uint32_t bits) { cji_setp_flags(w, r, r->k, bits); }

#endif
