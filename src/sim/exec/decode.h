/* From a function's instructions to predecoded records: what the decoder's files share.
 *
 * A register has its place in the frame from the start. Constants and temporaries follow the registers in
 * the order of their first use: the frame's template, which holds each constant in all 32 lanes.
 * One instruction becomes one record, behind the records that compute operands without a register
 * (special registers, addresses in the local frame, negated predicates). */
#ifndef CJI_EXEC_DECODE_H
#define CJI_EXEC_DECODE_H

#include "ptx/isa_ids.h"
#include "ptx/ptx.h"
#include "sim/exec/fp_soft.h"
#include "sim/exec/ops_vec.h"
#include "sim/exec/warp.h"

/* Where a module's variables and functions went. */
typedef struct cji_dec_module {
    cj_ptx *m;
    const char *name;          /* for messages */
    struct cji_dec_var { uint8_t where; uint64_t offset; } *var;   /* [m->nvar]; where: CJI_AT_* below */
    uint32_t *func;            /* [m->nfn]: index in program->func[] */
    const cji_exec_program *p;
    uint32_t *user;            /* [m->nvar]: the function that names it, its index in program->func[] + 1; 0: none */
    struct cji_dec_form *form; /* [m->nform] */
    uint8_t version;           /* .version and .target */
    uint32_t target;
} cji_dec_module;

#define CJI_USER_MANY UINT32_MAX   /* several functions, or an initial value */

enum {
    CJI_EXEC_VAR_NOWHERE = 0, CJI_EXEC_VAR_IMAGE, CJI_EXEC_VAR_SHARED, CJI_EXEC_VAR_DYNAMIC, CJI_EXEC_VAR_FRAME,
    CJI_EXEC_VAR_PARAM
};

/* A type word of a spelling. */
typedef struct cji_dec_type {
    uint8_t bits;
    uint8_t cls;               /* 'b' 'u' 's' 'f' 'p' */
    uint8_t fmt;               /* cji_fp_format */
    uint8_t x2;                /* a pair of such values */
} cji_dec_type;

/* What decoding asks of a form again and again: found out at its first instruction. */
typedef struct cji_dec_form {
    bool ready;
    uint8_t ntype, type_word[6];
    uint16_t row;              /* decode_alu.c: the first row of its table that fits */
    uint16_t lanes;            /* the row with a lane function, plus 1; 0: not known yet. Then, of that row: */
    uint32_t lanes_used, k;    /* the words that it reads, and what they make of k */
    cji_handler handler;       /* for 32 lanes, where the widths fit; NULL: none */
    cji_dec_type type[6];
    uint64_t words;            /* 1 << (word & 63) of each word of the spelling */
    const char *text;          /* the spelling; belongs to the program */
} cji_dec_form;

typedef struct cji_dec_place { uint32_t off; uint8_t w; } cji_dec_place;

typedef struct cji_dec {
    cji_exec_program *p;
    const cji_dec_module *mod;
    const cj_ptx *m;
    const cj_fn *f;
    cji_func *fn;
    cji_text *log;
    cji_arena *scratch;        /* empty; for one function at a time */
    const cji_vec_table *vec;
    bool failed;
    cji_dec_place *reg;        /* [f->nreg] */
    uint32_t extra;            /* end of the frame so far */
    struct cji_dec_const { uint64_t bits; uint32_t off; uint8_t w, kind /* CJI_CON_* */; } *con; size_t ncon, ccon;
    uint32_t *slot; size_t nslot;   /* hash of con[]: index + 1 */
    /* the instruction under way */
    const cji_ins *x;
    const cji_form *e;
    cji_dec_form *form;        /* of e */
    uint32_t n;                /* operands */
    uint32_t line;             /* in the text */
    cji_origin source;         /* of .loc; no file: there is none */
    uint32_t guard;
    uint32_t used;             /* words of its spelling that a decoder has read: 1 << index */
    cji_dec_type type[6];      /* its type words; cji_dec_type_at() reads them */
    uint8_t type_word[6];      /* which word each of them is */
    uint32_t ntype;
} cji_dec;

enum {
    CJI_CON_PLAIN = 0,
    CJI_CON_IMAGE,             /* + the image's base */
    CJI_CON_DYNAMIC,           /* + offset of dynamic shared memory */
    CJI_CON_TEMP               /* a temporary: no initial value */
};

/* decode_func.c */
bool cji_decode(cji_dec *d);                                  /* the whole function; false: the log says why */
void cji_decode_end(cji_dec *d);                              /* frees con[] and slot[], which functions share */

/* decode.c */
/* is it a function that no module defines, and that the CPU device does not have either? */
static inline bool cji_func_lacks(const cji_exec_program *p, uint32_t func)
{
    return !p->func[func].defined && !p->func[func].builtin;
}
void cji_dec_begin(cji_dec *d, const cji_ins *x);             /* an instruction: its words, types, guard and line */
bool cji_dec_end(cji_dec *d);                                 /* has a decoder read all words of its spelling? */
/* "file:line: spelling ..."; returns false */
bool cji_dec_fail(cji_dec *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool cji_dec_unsupported(cji_dec *d);                         /* the CPU device does not execute this */
bool cji_dec_no_memory(cji_dec *d);

/* Words of the spelling. A word that no decoder has read when the instruction is decoded is an error:
 * what a later row of the table adds to an instruction is never executed as if it were absent. */
bool cji_dec_has_word(cji_dec *d, uint16_t word);
static inline bool cji_dec_has(cji_dec *d, uint16_t word)     /* reads the word, if it is there */
{
    return d->form->words >> (word & 63) & 1 && cji_dec_has_word(d, word);
}
const cji_dec_type *cji_dec_type_at(cji_dec *d, uint32_t i);  /* reads type word i; all zero past the last */
const cji_dec_type *cji_dec_type_last(cji_dec *d);            /* reads the last type word */
void cji_dec_op_words(cji_dec *d, uint32_t n);                /* the first n words are the instruction's name */
/* Reads the first word of `list` (ending with word 0) that the spelling has: its value; `none` without one. */
typedef struct cji_dec_choice { uint16_t word, value; } cji_dec_choice;
uint32_t cji_dec_choose(cji_dec *d, const cji_dec_choice *list, uint32_t none);
/* Reads those of `words` (ending with 0) that are there. They change nothing on the CPU device; the caller's comment
 * has the reason. */
void cji_dec_hints(cji_dec *d, const uint16_t *words);

uint32_t cji_dec_room(cji_dec *d, unsigned w);                /* a place at the frame's end */
uint32_t cji_dec_word(const cji_dec *d, uint32_t i);          /* operand i, 0 past the end */
cji_dec_place cji_dec_const(cji_dec *d, unsigned w, uint64_t bits, unsigned kind);
cji_dec_place cji_dec_temp(cji_dec *d, unsigned w);
/* Operand word as a source of `bits` (for literals), as a destination; a predicate, negated ones
 * through a temporary. */
cji_dec_place cji_dec_src(cji_dec *d, uint32_t word, unsigned bits, bool is_float);
cji_dec_place cji_dec_dst(cji_dec *d, uint32_t word, unsigned w);
cji_rec *cji_dec_emit(cji_dec *d, cji_handler fn);            /* a record; never NULL; valid until the next call */
uint32_t cji_dec_ext(cji_dec *d, uint32_t value);             /* appends to program->ext; returns its index */
void cji_dec_put_d(cji_rec *r, cji_dec_place x);
void cji_dec_put_a(cji_rec *r, cji_dec_place x);
void cji_dec_put_b(cji_rec *r, cji_dec_place x);
void cji_dec_put_c(cji_rec *r, cji_dec_place x);
unsigned cji_dec_width(unsigned bits);                        /* cji_width for a number of bits */
static inline unsigned cji_dec_bits(unsigned w)
{
    static const uint8_t bits[] = { 0, 1, 8, 16, 32, 64 };
    return bits[w];
}

/* decode_mem.c: an address, and its fields of a record */
typedef struct cji_dec_mem_operand {
    cji_dec_place base;
    int64_t imm;
    uint8_t space, flags;
    bool param;
} cji_dec_mem_operand;
bool cji_dec_address(cji_dec *d, uint32_t word, unsigned space, cji_dec_mem_operand *o);
void cji_dec_put_address(cji_rec *r, const cji_dec_mem_operand *o);

/* decode_alu.c, decode_cvt.c, decode_mem.c, decode_matrix.c, decode_flow.c: true when it was one of theirs (or
 * d->failed) */
bool cji_dec_alu(cji_dec *d);
bool cji_dec_compare(cji_dec *d);
bool cji_dec_cvt(cji_dec *d);
bool cji_dec_mem(cji_dec *d);
bool cji_dec_async(cji_dec *d);
bool cji_dec_matrix(cji_dec *d);
bool cji_dec_bulk(cji_dec *d);
bool cji_dec_warp(cji_dec *d);
bool cji_dec_flow(cji_dec *d);                                /* but for branches, which decode_func.c lays out */

#endif
