/* The instruction table, as everything but its compiler sees it.
 *
 * src/ptx/isa/ holds the rows (*.def); tools/isagen compiles them into constant data (isa_data.c, isa_ids.h), which
 * is shipped.  A row is a pure product: its spelling has slots, a slot takes its values from a named set; one choice
 * of values is a *form*.
 *   form number = first_form[row] + mixed-radix index of the slot choices: dense, enumerable, never stored outside
 *     the process.
 * Rows may share a spelling: their operands decide, and no (spelling, operand shape) belongs to two rows (tests prove
 * it).
 *
 * isa_ids.h (generated) names what C code may dispatch on: CJI_OP_<word> for a spelling's leading words (CJI_OP_FMA,
 * CJI_OP_CP_ASYNC_BULK_TENSOR: the row's op column) and CJI_W_<word> for every modifier word (CJI_W_RN, CJI_W_SAT,
 * CJI_W_L1__EVICT_LAST, '::' becomes '__').  No C file outside the tables holds a mnemonic.
 */
#ifndef CJI_ISA_H
#define CJI_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cujit/base.h>
#include <cujit/ptx.h>

#define CJI_FORM_NONE UINT32_MAX
#define CJI_ISA_OPNDS 12       /* most top-level operands of a form */
#define CJI_ISA_WORDS 24       /* most words of a spelling */
#define CJI_ISA_SPELLING 160   /* longest spelling, with its NUL */

/* What can stand at an operand's place (an operand's kind; a set of them is a mask of 1 << kind). */
typedef enum cji_kind {
    CJI_K_NONE = 0,
    CJI_K_REG,       /* a register, predicates included */
    CJI_K_IMM,       /* a literal */
    CJI_K_SREG,      /* a special register (%tid.x); in mov only */
    CJI_K_MEM,       /* [base], [base+offset]; base a register, symbol or literal */
    CJI_K_VEC,       /* {a, b, ...} */
    CJI_K_LABEL,     /* a branch target */
    CJI_K_SYM,       /* the name of a variable or parameter: its address */
    CJI_K_FUNC,      /* the name of a function */
    CJI_K_PAIR,      /* d|p: a second destination */
    CJI_K_NOT,       /* !p */
    CJI_K_SINK,      /* _ : the result is not wanted */
    CJI_K_LIST,      /* (a, b): a call's arguments or results */
    CJI_K_TARGETS,   /* the name of a .branchtargets / .callprototype / .calltargets list */
    CJI_K_TEXMEM     /* [object, {coordinates}] */
} cji_kind;

/* Effects of a row, for checks and analyses. */
enum {
    CJI_FX_PURE = 0,
    CJI_FX_READ = 1,
    CJI_FX_WRITE = 2,
    CJI_FX_ATOMIC = 4,
    CJI_FX_ORDER = 8,
    CJI_FX_SYNC = 16,
    CJI_FX_ASYNC = 32,
    CJI_FX_BRANCH = 64,
    CJI_FX_CALL = 128,
    CJI_FX_END = 256,
    CJI_FX_ALIGNED = 512,
    CJI_FX_VOLATILE = 1024,
    CJI_FX_PARTIAL = 2048   /* PTX has operand lists for this spelling that no row has */
};

/* One operand of a form, resolved. */
typedef struct cji_isa_opnd {
    uint32_t kinds;        /* mask of 1 << cji_kind that may stand here (PAIR, NOT, SINK included where allowed) */
    /* mask of 1 << cj_type that a register here (a vector's element, an address's base) may have */
    uint32_t types;
    /* the instruction's own type at this place: what a C number becomes, what a made destination gets; CJ_VOID where it
     * has none */
    uint8_t type;
    uint8_t role;          /* CJI_READ, CJI_WRITE or both */
    uint8_t count;         /* elements of a VEC (0: not a vector); of TEXMEM: coordinates */
    uint8_t count2;        /* TEXMEM with an array index or the like: leading elements of type2 */
    uint8_t type2;
    uint8_t optional;      /* may be left out (only from the end on, or by its row's rule) */
    uint8_t space;         /* MEM: a cji_space that the spelling fixes, CJI_SP_GENERIC when none */
    uint8_t pair_version;  /* PAIR: least PTX version of the second destination (0: none), */
    uint8_t pair_targets;  /*       its target set */
    uint8_t pair_type;     /*       its type (CJ_PRED) */
    /* IMM: kinds of literal: mask of CJI_CLS_INT, CJI_CLS_F32 (0f), CJI_CLS_F64 (0d and decimals): isa_table.h */
    uint8_t literal;
    uint8_t step;          /* IMM: with a range: only lo, lo + step, ...; 255: powers of two */
    uint8_t sink1, sink2;  /* PAIR: whether its halves may be _ */
    uint8_t one;           /* REG: a vector of one means its element */
    uint8_t any_space;     /* MEM without a space: a symbol of any space is its address */
    uint8_t version, targets; /* what it needs when it is written, where it is optional (0: nothing of its own) */
    int64_t lo, hi;        /* IMM: the literal's range, inclusive; lo > hi: any literal of the type */
    uint32_t types2;       /* register types of the type2 elements */
} cji_isa_opnd;

enum { CJI_READ = 1, CJI_WRITE = 2 };

/* State spaces: cj_space, and the two of registers. One numbering for builder, reader and execution engine. */
typedef enum cji_space {
    CJI_SP_GENERIC = CJ_SPACE_GENERIC,
    CJI_SP_REG = 1,
    CJI_SP_SREG = 2,
    CJI_SP_CONST = CJ_SPACE_CONST,
    CJI_SP_GLOBAL = CJ_SPACE_GLOBAL,
    CJI_SP_LOCAL = CJ_SPACE_LOCAL,
    CJI_SP_PARAM = CJ_SPACE_PARAM,
    CJI_SP_SHARED = CJ_SPACE_SHARED
} cji_space;

/* A form, resolved: everything that builder, checker, printer, parser and CPU device ask. */
typedef struct cji_isa_form {
    uint32_t form;                     /* its number */
    uint32_t next;                     /* the same spelling in the next row (operands decide), or CJI_FORM_NONE */
    uint16_t row;
    uint16_t op;                       /* CJI_OP_* */
    uint16_t effect;                   /* CJI_FX_* */
    uint8_t version;                   /* least PTX version, major * 10 + minor */
    uint8_t end_version;               /* first PTX version without it on end_targets, 0: none */
    uint8_t targets;                   /* target set it needs */
    uint8_t end_targets;
    uint8_t late_version, late_targets; /* on these targets it needs that version, 0: none */
    uint8_t nopnd, nwords;
    uint16_t word[CJI_ISA_WORDS];      /* CJI_W_* in the order of the spelling, leading words (op) included */
    uint8_t len;                       /* of text */
    char text[CJI_ISA_SPELLING];       /* the spelling in the manual's order */
    const char *section;               /* "9.7.3.6" */
    cji_isa_opnd opnd[CJI_ISA_OPNDS];
} cji_isa_form;

uint32_t cji_isa_rows(void);
uint32_t cji_isa_forms(void);                                   /* how many forms there are: 0 .. n-1 */
bool cji_isa_get(uint32_t form, cji_isa_form *out);             /* false past the end; pure, no allocation, ~1 us */

/* The same, decoded once for the process: constant from now on.  NULL past the end, or where the process has no place
 * left for it.  Any thread. */
const cji_isa_form *cji_isa_shared(uint32_t form);

/* The first form with that spelling, modifiers in the manual's order or in any order that ptxas would take;
 * CJI_FORM_NONE when there is none. */
uint32_t cji_isa_find(const char *spelling, size_t len);

/* Why `spelling` is none: writes a sentence that names what is missing and the allowed values ("fma wants a rounding
 * mode: fma.rn.f32, ..."; "no modifier .sta in ...; did you mean .sat"; "no instruction \"fmaa\"; did you mean fma").
 * Returns CJ_EUNKNOWN. */
cj_status cji_isa_explain(const char *spelling, size_t len, char *out, size_t size);

/* Does the form's spelling hold that word? */
bool cji_isa_has(const cji_isa_form *f, uint16_t word);

/* Is the text that word, CJI_W_*? */
bool cji_isa_word_is(uint16_t word, const char *s, size_t len);

/* ---- Targets and versions ---- */
typedef uint64_t cji_targets;                                   /* a set of targets: bit i is cji_target_name(i) */
/* known .target names, sm_20 .. sm_121f, in order of first use */
uint32_t cji_target_count(void);
const char *cji_target_name(uint32_t i);                        /* "sm_90a" */
int cji_target_find(const char *name, size_t len);              /* -1 */
uint8_t cji_target_since(uint32_t i);                           /* first PTX version that has it, major * 10 + minor */
cji_targets cji_target_set(uint8_t set);                        /* members of a target set of the table */
/* Whether PTX of target i runs on the real device that target `device` is (base: same and later; f: family; a:
 * exactly); all the devices that it runs on. */
bool cji_target_runs_on(uint32_t i, uint32_t device);
cji_targets cji_target_runs(uint32_t i);
/* The targets that run on that device. */
cji_targets cji_target_on(uint32_t device);
/* The least target (and the version it wants, raised into *version) within `set`; -1 for the empty set. */
int cji_target_least(cji_targets set, uint8_t *version);
/* Whether target `a` is to be printed for a device rather than `b`, both of which it runs.  A plain one before others,
 * the smallest number first, so that one text serves many devices; of f and a variants the greatest number, which is
 * the device's own; then the one that older drivers have, then f before a. */
bool cji_target_before(uint32_t a, uint32_t b);
/* Do grids have more than 65535 blocks in x?  From sm_30 on. */
bool cji_target_has_wide_grids(uint32_t i);
void cji_target_list(cji_targets set, char *out,
                     size_t size); /* "sm_90 or newer", "sm_90a", "sm_100a, sm_103a": for messages */

/* ---- Special registers (src/ptx/isa/sregs.def) ---- */
typedef struct cji_isa_sreg {
    const char *name;
    uint8_t type, version, targets;
    uint8_t vector;
    uint8_t least;         /* bits of the narrowest type that mov reads it as; 255: its own alone */
    uint16_t id;
} cji_isa_sreg; /* name with %: "%tid.x"; id: CJI_SR_* */
uint32_t cji_isa_sregs(void);
const cji_isa_sreg *cji_isa_sreg_at(uint32_t i);
int cji_isa_sreg_find(const char *name, size_t len);            /* index, -1 */

/* ---- Types ---- */
const char *cji_type_word(unsigned type);                       /* "f32"; "void" */
uint8_t cji_type_bits(unsigned type);
const char *cji_type_prefix(unsigned type);                     /* "fd": registers are printed as %fd7 */
unsigned cji_type_of_prefix(const char *s, size_t len);         /* of "%fd"; CJ_VOID: no type has it */
int cji_type_find(const char *word, size_t len);                /* cj_type, -1 */
bool cji_type_is_float(unsigned type);                          /* F and X classes */
bool cji_type_is_signed(unsigned type);

uint64_t cji_isa_hash(void);                                    /* of the table's content */

#endif
