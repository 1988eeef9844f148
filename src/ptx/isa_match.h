/* Operands against a form: what the builder, the parser and the tests ask before an instruction is kept.
 *
 * A caller describes each operand by a cji_isa_arg (no allocation, no pointers but the element list of a vector) and
 * asks cji_isa_match, which walks the rows that share a spelling and gives the first form that takes these operands,
 * or a sentence that says why none does.  Operands are those written in PTX between the mnemonic and the semicolon,
 * guard excluded, in the manual's order; a call's lists are one operand each (CJI_K_LIST), and a call without results
 * or arguments just has fewer operands.
 */
#ifndef CJI_ISA_MATCH_H
#define CJI_ISA_MATCH_H

#include "isa.h"

/* How a literal is written. */
enum {
    CJI_LIT_INT = 0,   /* an integer, `value` holds it (0xffffffffffffffff is -1: see `wide`) */
    CJI_LIT_F32,       /* 0f3f800000 */
    CJI_LIT_F64        /* 0d3ff0000000000000, or a decimal such as 1.5 */
};

/* An element of a vector that is a literal: this and its CJI_LIT_*. */
#define CJI_ELEM_LITERAL 0x80

/* What an operand may not be used for. */
enum {
    CJI_ARG_NUMBER = 1,      /* an address that is a number: .local alone has such */
    CJI_ARG_NO_READ = 2,     /* a result of the function: it is written */
    CJI_ARG_NO_WRITE = 4,    /* a parameter of the function: it is read */
    CJI_ARG_NO_ADDRESS = 8   /* a .param variable of the body: calls alone use it, and ld and st */
};

/* One operand as it was written. */
typedef struct cji_isa_arg {
    uint8_t kind;            /* CJI_K_*: what stands here; CJI_K_PAIR for d|p, CJI_K_NOT for !p */
    /* REG, NOT, SREG: its cj_type; PAIR: type of the first half when that is a register; MEM, TEXMEM: type of the base
     * when that is a register, CJ_VOID for a symbol or literal; SYM: CJ_VOID */
    uint8_t type;
    uint8_t lit;             /* IMM: CJI_LIT_* */
    uint8_t wide;            /* IMM, integer: `value` is to be read as a uint64_t above INT64_MAX */
    /* MEM, SYM: the symbol's cji_space; CJI_SP_GENERIC when the base is no symbol or its space is not known */
    uint8_t space;
    uint8_t limits;          /* MEM, SYM: CJI_ARG_* */
    uint8_t first;           /* PAIR: kind of the first half: CJI_K_REG, CJI_K_VEC or CJI_K_SINK */
    uint8_t second;          /* PAIR: type of the second half (CJ_PRED), CJ_VOID for _ */
    /* VEC (also as a PAIR's first half): its elements; TEXMEM: its coordinates; SREG: cji_isa_sreg.vector */
    uint8_t count;
    uint8_t least;           /* SREG: cji_isa_sreg.least */
    /* TEXMEM: 1 when a sampler stands between object and coordinates (independent texturing mode: in no row yet) */
    uint8_t sampler;
    uint8_t pad[5];
    /* VEC, TEXMEM: each element: its cj_type, CJ_VOID for _, CJI_ELEM_LITERAL + CJI_LIT_*; may be NULL when count is
     * 0 */
    const uint8_t *types;
    int64_t value;           /* IMM, integer: its value */
} cji_isa_arg;

/* Does `f` take these operands?  -1 when it does; else the index of the first operand that is wrong, or `n` when
 * operands are missing (`n` > what the form takes gives the index of the first one too many).  Pure, no text: ~2 ns
 * an operand. */
int cji_isa_fits(const cji_isa_form *f, const cji_isa_arg *args, size_t n);

/* The first form of `first`'s chain (cji_isa_form.next) that takes the operands, resolved into *out; its number is
 * returned.  CJI_FORM_NONE when none does: `why` then holds one sentence without the spelling in front ("operand b
 * has 4 registers, wants 2 of .b32", "operand b is .u32, wants .f32", "has 2 operands, wants 3: d, a, b"), about the
 * row that came nearest.  `out` and `why` may be NULL. */
uint32_t cji_isa_match(uint32_t first, const cji_isa_arg *args, size_t n, cji_isa_form *out, char *why, size_t size);

/* The sentence alone, for one form: operand `at` as cji_isa_fits gave it. */
void cji_isa_why(const cji_isa_form *f, const cji_isa_arg *args, size_t n, int at, char *why, size_t size);

/* The manual's name of operand `i` of a form: "d", "a", "b", "c" ... ("a" first where nothing is written). */
void cji_isa_opnd_name(const cji_isa_form *f, size_t i, char *out, size_t size);

/* The second destination of a PAIR that was used asks for more than its form: cji_isa_opnd.pair_version and
 * .pair_targets.  This adds what the operands as written need to a version and a target set. */
void cji_isa_needs(const cji_isa_form *f, const cji_isa_arg *args, size_t n, uint8_t *version, cji_targets *targets);

#endif
