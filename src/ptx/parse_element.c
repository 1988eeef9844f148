/* Addresses without brackets: an element of an array, name[2] and name[%r+1], and name+4.  Manual 6.4.2.
 *
 * An index counts scalars, whatever the array's dimensions and vectors are.  It is a 32-bit number, and so is the
 * offset that is made of it, as in the code of ptxas; what it is added to may have 64 bits. */
#include "ptx/parser.h"
#include "ptx/verb_table.h"

#include <string.h>

/* One instruction of those that compute an address: a verb of that type, and operands up to the first 0. */
static bool element_ins(cji_parser *p, cji_form *e, uint32_t d, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t word[4] = { d, a, b, c };
    size_t n = 0;
    while (n < 4 && word[n]) n++;
    if (!e) return p->failed = true, false;
    return cji_parse_fine(p) && cji_parse_emit(p, e, 0, word, n);
}

static cji_form *element_verb(cji_parser *p, cji_verb_id verb, unsigned space, unsigned type, unsigned from)
{
    return cji_verb(p->f, verb, space, type, from, "cj_parse");
}

static uint32_t element_number(cji_parser *p, uint64_t value)
{
    return cji_fn_lit(p->f, CJI_LIT_INT, value, false, CJ_VOID);
}

/* (index + more) * size as a register of 32 bits; 0: failed. */
static uint32_t element_offset(cji_parser *p, uint32_t index, uint64_t more, unsigned size)
{
    unsigned type = p->f->reg[cji_word_index(index)].type, bits = cji_type_bits(type);
    unsigned from = bits == 64 ? CJ_U64 : type == CJ_S16 ? CJ_S16 : CJ_U16;
    uint32_t offset = cji_fn_reg(p->f, CJ_B32), narrow = index;
    if (bits != 32) {
        narrow = cji_fn_reg(p->f, CJ_B32);
        if (!element_ins(p, element_verb(p, CJI_VERB_CVT, 0, CJ_U32, from), narrow, index, 0, 0)) return 0;
    }
    cji_form *mad = element_verb(p, CJI_VERB_MAD, 0, CJ_U32, CJ_VOID);
    return element_ins(p, mad, offset, narrow, element_number(p, size), element_number(p, (uint32_t)(more * size)))
               ? offset
               : 0;
}

/* The variable's address and that offset, as a register of `bits`; 0: failed.  `generic`: its generic address. */
static uint32_t element_address(cji_parser *p, uint32_t variable, uint32_t offset, unsigned bits, bool generic)
{
    unsigned space = p->m->var[cji_word_index(variable)]->space, type = bits == 64 ? CJ_U64 : CJ_U32;
    bool converts = generic && (space == CJI_SP_SHARED || space == CJI_SP_LOCAL || space == CJI_SP_CONST);
    uint32_t address = cji_fn_reg(p->f, bits == 64 ? CJ_B64 : CJ_B32), wide = offset;
    cji_form *get = element_verb(p, converts ? CJI_VERB_TO_GENERIC : CJI_VERB_ADDRESS, space, type, CJ_VOID);
    if (!element_ins(p, get, address, variable, 0, 0)) return 0;
    if (bits == 64) {
        wide = cji_fn_reg(p->f, CJ_B64);
        if (!element_ins(p, element_verb(p, CJI_VERB_CVT, 0, CJ_U64, CJ_U32), wide, offset, 0, 0)) return 0;
    }
    return element_ins(p, element_verb(p, CJI_VERB_ADD, 0, type, CJ_VOID), address, address, wide, 0) ? address : 0;
}

/* The register of an index, and "+ number" behind it. */
static bool element_register(cji_parser *p, uint32_t *index, uint64_t *more)
{
    const cji_binding *b = cji_scope_find(p, p->x.s, p->x.n, index);
    unsigned type = b && b->kind != CJI_BIND_VECTOR && cji_word_kind(*index) == CJI_K_REG
                        ? p->f->reg[cji_word_index(*index)].type
                        : CJ_VOID;
    unsigned bits = cji_type_bits(type);
    if (cji_type_is_float(type) || (bits != 16 && bits != 32 && bits != 64))
        return cji_parse_fail(p, CJ_EPTX, "an index is a number or an integer register; '%s' is neither",
                              CJI_WORD(&p->x));
    cji_lex_next(&p->x);
    int64_t offset = 0;
    if (p->x.kind == '+' && !cji_parse_offset(p, &offset)) return false;
    *more = (uint64_t)offset;
    return true;
}

bool cji_parse_element(cji_parser *p, const cji_isa_opnd *place, uint32_t *word)
{
    const cji_var *v = p->m->var[cji_word_index(*word)];
    bool memory = place && place->kinds >> CJI_K_MEM & 1, generic = memory && place->space == CJI_SP_GENERIC;
    bool narrow = !memory && place && cji_type_bits(place->type) == 32;
    unsigned size = v->opaque ? 8 : cji_type_bits(v->type) / 8;
    uint32_t index = 0;
    uint64_t more = 0;
    cji_const c;
    if (!v->ndim)
        return cji_parse_fail(p, CJ_EPTX, "'%s' is indexed and is not an array",
                              cji_short(cji_ptx_name(p->m, v->name)));
    cji_lex_next(&p->x);
    bool is_register = p->x.kind == CJI_TOK_WORD && (p->x.n != 7 || memcmp(p->x.s, "WARP_SZ", 7) != 0);
    if (is_register) {
        if (!element_register(p, &index, &more)) return false;
    } else {
        if (!cji_parse_const(p, &c)) return false;
        if (c.kind != CJI_TOK_INT) return cji_parse_fail(p, CJ_EPTX, "an array's index is not an integer");
        int64_t offset;
        if (__builtin_mul_overflow((int64_t)c.u, (int64_t)size, &offset))
            return cji_parse_fail(p, CJ_EPTX, "an index that no array has");
        more = (uint64_t)offset;
    }
    if (!cji_parse_take(p, ']', "behind the index")) return false;
    if (!is_register) {
        *word = memory ? cji_fn_mem(p->f, *word, (int64_t)more) : cji_fn_bare(p->f, *word, (int64_t)more);
        return cji_parse_fine(p);
    }
    if (v->space == CJI_SP_PARAM && !(v->flags & (CJI_VAR_HEAD | CJI_VAR_RESULT)))
        return cji_parse_fail(p, CJ_EUNKNOWN, "'%s', a .param variable of the body, with a register as index is not "
                              "supported", cji_short(cji_ptx_name(p->m, v->name)));
    index = element_offset(p, index, more, size);
    *word = index ? element_address(p, *word, index, narrow ? 32 : 64, generic) : 0;
    if (*word && memory) *word = cji_fn_mem(p->f, *word, 0);
    return *word && cji_parse_fine(p);
}

/* name+4: the current token is '+'. */
bool cji_parse_bare(cji_parser *p, uint32_t *word)
{
    int64_t offset = 0;
    if (!cji_parse_offset(p, &offset)) return false;
    *word = cji_fn_bare(p->f, *word, offset);
    return cji_parse_fine(p);
}
