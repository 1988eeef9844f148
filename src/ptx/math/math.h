/* Device mathematics: what the files of this folder share, and what the rest of the library sees of them.
 *
 * A function is written once, as calls of operations (ops.h), and used twice: it appends instructions to a cj_fn, or
 * computes on numbers.  A value is a cj_val: of the builder, or the bits themselves.
 *
 *     cj_val t = FMA(x, F(0x1.715476p0f), F(SHIFT));     fma.rn.f32 of a literal, or C's fmaf
 *     IF(m, GT(a, F(1)))  ... ENDIF(m)                    a branch, or an if
 *
 * Nothing may depend on a value but through operations, IF and DO: both uses walk the same text.  C leaves the order
 * of a call's arguments open: an operation has at most one other operation among its arguments, literals aside.
 */
#ifndef CJI_MATH_H
#define CJI_MATH_H

#include "ptx/fold.h"

#define OP1(name, mnemonic, r, a, x) CJI_M_##name,
#define OP2(name, mnemonic, r, a, b, x) CJI_M_##name,
#define OP3(name, mnemonic, r, a, b, c, x) CJI_M_##name,
typedef enum cji_math_op {
#include "ptx/math/math_ops.def"
    CJI_M_COUNT
} cji_math_op;
#undef OP1
#undef OP2
#undef OP3

#define MOVE(name, mnemonic) CJI_MOVE_##name,
typedef enum cji_math_move {
#include "ptx/math/math_moves.def"
    CJI_MOVE_COUNT
} cji_math_move;

/* The tables. */
typedef enum cji_math_table { CJI_MATH_TWO_OVER_PI, CJI_MATH_TWO_OVER_PI64, CJI_MATH_SINCOS64, CJI_MATH_SINCOSPI64,
                              CJI_MATH_GAMMA, CJI_MATH_INVERSE_NEAR64, CJI_MATH_ERF_FAR64, CJI_MATH_ERFCX64,
                              CJI_MATH_NORMCDF64, CJI_MATH_EXP2_STEPS64, CJI_MATH_HALF_PI64, CJI_MATH_STIRLING64,
                              CJI_MATH_SINE_OVER_PI64, CJI_MATH_LGAMMA_NEAR64, CJI_MATH_LGAMMA_ROOT64,
                              CJI_MATH_TGAMMA_NEAR64, CJI_MATH_TABLES } cji_math_table;

enum { CJI_MATH_NEST = 8 };  /* branches and loops within each other */

typedef struct cji_math cji_math;
typedef void cji_math_body(cji_math *m, const cj_val *a, cj_val *r);
/* A function or a part of one: a row of parts.def. */
typedef struct cji_math_code {
    const char *name, *results, *arguments;
    cji_math_body *body;
    uint8_t form;                  /* CJ_MATH_INLINE or CJ_MATH_CALLED, where the caller does not choose */
} cji_math_code;

/* One use of a function: cji_math_begin makes it. */
struct cji_math {
    cj_fn *f;                      /* to append to; NULL: computes */
    const cji_math_code *codes;    /* by part: files of this folder call parts through it, so that no file calls all */
    const char *call;              /* the public call, for messages */
    uint8_t form;                  /* cj_math_form */
    bool into, guarded;            /* the next operation writes `to`; only where `guard` holds */
    cj_val to, guard;
    unsigned depth;
    cj_val top[CJI_MATH_NEST];     /* appending: where the loop begins */
    bool taken[CJI_MATH_NEST];     /* computing: is the branch taken? */
};

/* An operation with its operands. */
cj_val cji_math_apply(cji_math *m, cji_math_op op, const cj_val *v);
cj_val cji_math_emit(cji_math *m, cji_math_op op, const cj_val *v);
cj_val cji_math_compute(cji_math *m, cji_math_op op, const cj_val *v);
void cji_math_place(cj_fn *f, cji_math_move move, cj_val to, cj_val from);

/* ---- Functions and parts of functions ---------------------------------------------------------------------------- */

enum { CJI_MATH_ARGS = 4 };

#define PART(name, results, arguments, form) CJI_MATH_##name,
typedef enum cji_math_part {
#include "ptx/math/parts.def"
    CJI_MATH_PARTS
} cji_math_part;
#undef PART

#define PART(name, results, arguments, form) cji_math_body cji_math_##name;
#include "ptx/math/parts.def"
#undef PART

cji_math cji_math_begin(cj_fn *f, const char *call);
/* The part that serves a function of an accuracy: another where there is one.  Parts use parts as they are. */
cji_math_part cji_math_variant(cji_math_part part, unsigned accuracy);
/* The results of a part: inline, or a call of the module's .func, as the table and the options say. */
void cji_math_use(cji_math *m, cji_math_part part, const cj_val *a, cj_val *r);

/* The letters of parts.def. */
const char *cji_math_results(cji_math_part part);
const char *cji_math_arguments(cji_math_part part);

/* A function of f64 on numbers: all results, or the first. */
void cji_math_numbers(cji_math_part part, const double *a, double *r);
double cji_math_number(cji_math_part part, double a, double b);
/* A part on bits: all results. */
void cji_math_bits(cji_math_part part, const uint64_t *a, uint64_t *r);

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

typedef struct cji_math_rows {
    const char *name;
    cj_type type;
    const void *data;
    uint32_t count;
    bool global;                       /* in .global memory; false: in .const memory */
} cji_math_rows;
extern const cji_math_rows cji_math_tables[CJI_MATH_TABLES];
enum { CJI_MATH_GAMMA_ROWS = 40 };    /* of table GAMMA, which has columns */
#define SINCOS64_LAST (-0x1.8fa697f1f779ep-37)   /* the cosine's last coefficient, which no row of SINCOS64 has */
#define SINCOSPI64_LAST (-0x1.b1674p-14)         /* the same of SINCOSPI64 */
cj_val cji_math_variable(cji_math *m, cji_math_table t);   /* the table, made when it is first used */

#endif
