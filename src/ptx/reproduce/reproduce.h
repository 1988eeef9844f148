/* cj_ptx_reproducer: a C program that makes a module again, in the words of the public API.
 *
 * The module is walked, and each call is written as text and made at the same time in a second module, the copy.  What
 * a verb has made is compared with the instructions that it is to make, and taken back where it differs: then comes
 * the next way of writing them, at last cj_ins with the instruction's own name.  Where even that makes another text,
 * the program reads the PTX itself, with cj_parse.  So the program always makes the same module.
 *
 * Prefix cji_rep_.  reproduce.c: the file.  reproduce_module.c: variables, the order of functions, main().
 * reproduce_body.c: a body, instruction by instruction.  reproduce_statements.c: statements, registers, labels.
 * reproduce_head.c: parameters, a function's own variables.  reproduce_flow.c: labels and code blocks.
 * reproduce_verbs.c: verbs of one instruction.  reproduce_access.c: loads, stores, atomics, calls.
 * reproduce_operands.c: operands as C expressions.  reproduce_copy.c: trying, comparing, taking back.
 * reproduce_text.c: names, numbers, strings of C. */
#ifndef CJI_REPRODUCE_H
#define CJI_REPRODUCE_H

#include "ptx/fold.h"

#define CJI_REP_NONE UINT32_MAX
/* In the list of what a body names: variables by m->var[], functions by m->fn[]; else a slot of the body. */
#define CJI_REP_VARIABLE 0x80000000u
#define CJI_REP_FUNCTION 0x40000000u

/* A value of the program: a register, label, variable or vector. */
typedef struct cji_rep_slot {
    uint32_t name;           /* where its C name begins in the names; 0: it has none yet */
    uint32_t uses;           /* how often a statement names it */
    cj_val v;                /* in the copy; the null value: not made yet */
    bool declared;           /* a statement has it as its value */
    uint32_t seen;           /* of variables: the latest function that names it, plus 1 */
    uint32_t listed;         /* of variables: the latest function that has it as a parameter, plus 1 */
} cji_rep_slot;

/* Functions by m->fn[]. */
typedef struct cji_rep_fn {
    uint32_t name;           /* C name of the cj_fn */
    uint32_t uses;           /* how many bodies of other functions name it */
    uint32_t listed;         /* the latest function that has it as a parameter, plus 1 */
    size_t args;             /* where the arguments of its C function begin in the args, with a NUL behind */
    cj_fn *g;                /* in the copy; NULL: not made yet */
    bool done;               /* its body is made */
} cji_rep_fn;

/* A statement that makes at most one value; "cj_val NAME = " is written in front when somebody names it. */
typedef struct cji_rep_stmt {
    size_t begin, end;       /* in the body's text */
    uint32_t slot, indent, loc;
    bool reg;                /* a plain register, which can share a line with others */
} cji_rep_stmt;

enum { CJI_REP_IF, CJI_REP_LOOP, CJI_REP_FOR };
typedef struct cji_rep_block {
    uint8_t kind, has_else;
    uint32_t label_else, label_end, label_next;
    size_t close_at;         /* the record where cj_end() begins */
} cji_rep_block;

/* A program under way. */
typedef struct cji_rep {
    const cj_ptx *m;
    cj_ptx *copy;
    cji_text names, args;    /* C names and arguments, each with its NUL */
    cji_map taken;           /* C names of main() */
    cji_rep_slot *var;       /* by m->var[] */
    cji_rep_fn *fn;
    uint32_t *order;         /* functions as their definitions are printed */
    bool declared;           /* functions are made before any variable and any body */
    bool plain;              /* neither verbs nor blocks */
    cji_text bodies, front;
    bool short_of_memory;    /* so it is not known whether calls make it */
    char why[256];           /* why it cannot be written as calls */
} cji_rep;

/* A body under way. */
typedef struct cji_rep_body {
    cji_rep *r;
    const cj_fn *f;          /* the module's function */
    cj_fn *g;                /* the copy's */
    size_t at;               /* the next record of f->ins[] */
    size_t params;           /* so many are declared */
    bool stuck;              /* cannot be written as calls */
    cji_map taken;           /* C names of the function */
    cji_rep_slot *slot; size_t nslot, cslot;     /* registers, then labels, then lists, then vectors */
    uint32_t *refs;          /* of registers: how often records name them */
    uint32_t *label_refs, *label_first, *label_last;
    uint32_t *by_number[CJ_TYPE_COUNT];          /* registers of a declared type, by number */
    uint32_t indent;
    cji_text text;           /* of statements */
    cji_rep_stmt *stmt; size_t nstmt, cstmt;
    /* what statements name, in this order, to take back */
    uint32_t *named; size_t nnamed, cnamed;
    cji_rep_block *block; size_t nblock, cblock;
    cji_text a, b;           /* scratch for comparisons */
} cji_rep_body;

/* ---- reproduce_text.c ---- */
/* Enters a C name made of `name` that neither the program nor the function (NULL: none) has; where it begins. */
uint32_t cji_rep_name(cji_rep *r, cji_map *taken, const char *name);
static inline const char *cji_rep_name_at(const cji_rep *r, uint32_t name) { return r->names.p + name; }
void cji_rep_quote(cji_text *out, const char *s, size_t n);      /* as a C string literal */
const char *cji_rep_type(unsigned type);                         /* "CJ_F32" */
const char *cji_rep_space(unsigned space);                       /* "CJ_SPACE_GLOBAL" */
/* A literal as a C number, and the value that the number becomes.  False: no C number is it. */
bool cji_rep_number(const cji_lit *l, cji_text *out, cj_fn *g, cj_val *v);

/* The shortest decimal that is the number. */
void cji_rep_float(cji_text *out, double x, bool single);
bool cji_rep_type_named(const char *word, size_t n, unsigned *type); /* "f32" */

/* ---- reproduce_module.c ---- */
/* The module as calls: true, with bodies and front filled.  False: it cannot be (why), or there is no memory. */
bool cji_rep_module(cji_rep *r);
void cji_rep_free(cji_rep *r);

/* ---- reproduce_body.c ---- */
/* Appends the C function that makes the body of m->fn[index] to r->bodies; the copy's function is there.  False: it
 * cannot be written as calls. */
bool cji_rep_function(cji_rep *r, uint32_t index);

/* ---- reproduce_statements.c ---- */
/* Statements: what is written between the two is one, which makes the value of `slot` (CJI_REP_NONE: none). */
void cji_rep_open(cji_rep_body *c);
void cji_rep_close(cji_rep_body *c, uint32_t slot);
/* Makes the register, and those of its type with smaller numbers, or those before it that have names of their own,
 * unless they are there.  False: it is a parameter. */
bool cji_rep_make_reg(cji_rep_body *c, uint32_t reg);
/* cj_name, of a register that was just made. */
bool cji_rep_name_reg(cji_rep_body *c, uint32_t reg);
/* Registers whose numbers nobody has: they were named when others had numbers behind them. */
void cji_rep_make_unused(cji_rep_body *c);
void cji_rep_make_label(cji_rep_body *c, uint32_t label);
/* Is it the register that the next definition of its type makes? */
bool cji_rep_is_next(const cji_rep_body *c, uint32_t reg);
void cji_rep_got_reg(cji_rep_body *c, uint32_t reg, cj_val v);
bool cji_rep_is_numbered(const cj_fn *f, uint32_t reg);
unsigned cji_rep_class(const cj_fn *f, uint32_t reg);  /* the type that it is declared and numbered as */

/* ---- reproduce_copy.c ---- */
/* What a try may have to take back. */
typedef struct cji_rep_mark {
    size_t text, nstmt, nnamed, nslot, at;
    size_t nins, nreg, nmem, npool, nlabel, ntlist, nblock;
    uint32_t count[CJ_TYPE_COUNT];
} cji_rep_mark;
cji_rep_mark cji_rep_begin(cji_rep_body *c);
void cji_rep_undo(cji_rep_body *c, const cji_rep_mark *mark);
/* Whether what the copy has since `mark` is what comes next in the function; then `at` is behind it. */
bool cji_rep_same(cji_rep_body *c, const cji_rep_mark *mark);
/* The same of the whole definition, head and all. */
bool cji_rep_same_definition(cji_rep_body *c);
cji_rep_slot *cji_rep_named_slot(cji_rep_body *c, uint32_t number);
bool cji_rep_note(cji_rep_body *c, uint32_t number);  /* a statement names it */

/* ---- reproduce_head.c: each false where it cannot be written as calls ---- */
bool cji_rep_head(cji_rep_body *c);              /* bounds, a function's parameters, its own variables */
/* Parameters that are declared before the next record: all that no record reads. */
bool cji_rep_declare_bytes(cji_rep_body *c);
bool cji_rep_reads_parameter(const cji_rep_body *c);  /* is the next record the one that reads the next parameter? */
bool cji_rep_parameter(cji_rep_body *c);
bool cji_rep_is_dynamic(const cji_var *v);       /* shared memory whose size the launch gives */

/* ---- reproduce_operands.c ---- */
/* Makes the registers and labels that the word names. */
bool cji_rep_prepare(cji_rep_body *c, uint32_t word);
/* The operand as a C expression and as a value.  `value`: a cj_val is wanted, so a number is written as cj_imm(). */
bool cji_rep_operand(cji_rep_body *c, uint32_t word, bool value, cj_val *v);
/* ", a, b);" */
bool cji_rep_operands(cji_rep_body *c, const uint32_t *word, uint32_t n, cj_val *v);
bool cji_rep_use(cji_rep_body *c, uint32_t slot, cj_val *v);
bool cji_rep_use_fn(cji_rep_body *c, uint32_t index);
/* An operand that verbs take as it is: a register that is there, or a number. */
bool cji_rep_is_simple(const cji_rep_body *c, uint32_t word);
unsigned cji_rep_reg_type(const cji_rep_body *c, uint32_t word);  /* CJ_VOID: no register */
static inline uint32_t cji_rep_label_slot(const cji_rep_body *c, uint32_t i) { return (uint32_t)c->f->nreg + i; }
static inline uint32_t cji_rep_list_slot(const cji_rep_body *c, uint32_t i)
{
    return (uint32_t)(c->f->nreg + c->f->nlabel) + i;
}

/* ---- reproduce_flow.c, reproduce_verbs.c, reproduce_access.c: true when they have written what comes next ---- */
bool cji_rep_flow(cji_rep_body *c);
bool cji_rep_count_uses(cji_rep_body *c);        /* fills refs and label_*; false without memory */
bool cji_rep_verb(cji_rep_body *c);
bool cji_rep_access(cji_rep_body *c);
bool cji_rep_call(cji_rep_body *c, const cji_ins *x, uint32_t n);
/* What a verb has made is what comes next, and its value is the register; else it is taken back.  CJI_REP_NONE: it has
 * no value. */
bool cji_rep_verb_done(cji_rep_body *c, const cji_rep_mark *mark, uint32_t reg, cj_val d);
/* Is it what the verb emits for that type? */
bool cji_rep_is(const cji_rep_body *c, const cji_ins *x, cji_verb_id verb, unsigned type);

#endif
