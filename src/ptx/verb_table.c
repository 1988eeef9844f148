/* Verb and types to form: the spelling from verbs.def, looked up once for a module. */
#include <string.h>

#include "ptx/print.h"
#include "ptx/verb_table.h"

#define BIT(t) (1u << CJ_##t)
enum {
    ANY = 0x7fffffff,
    PRED = BIT(PRED),
    B128 = BIT(B128),
    F32 = BIT(F32),
    F64 = BIT(F64),
    U32 = BIT(U32),
    S32 = BIT(S32),
    U64 = BIT(U64),
    S64 = BIT(S64),
    INT16 = BIT(U16) | BIT(S16),
    INT32 = BIT(U32) | BIT(S32),
    INT64 = BIT(U64) | BIT(S64),
    INT = INT16 | INT32 | INT64,
    ALLINT = INT | BIT(U8) | BIT(S8),
    SGN = BIT(S16) | BIT(S32) | BIT(S64),
    FLT = BIT(F32) | BIT(F64),
    HALF1 = BIT(F16) | BIT(BF16),
    HALF = HALF1 | BIT(F16X2) | BIT(BF16X2),
    BITS3264 = BIT(B32) | BIT(B64),
    BITS = BITS3264 | BIT(B16),
    ALLBITS = BITS | BIT(B8) | BIT(B128)
};
#undef BIT

static const struct verb_row { uint8_t verb; uint32_t types, types2; const char *spelling; } verb_rows[] = {
#define V(verb, types, types2, spelling) { CJI_VERB_##verb, types, types2, spelling },
#define M V
#define SR(verb, x, y, z)
#include "ptx/verbs.def"
};

static const char *const sreg_names[CJI_SRV_COUNT][3] = {
#define V(verb, types, types2, spelling)
#define M(verb, types, types2, spelling)
#define SR(verb, x, y, z) [CJI_SRV_##verb] = { x, y, z },
#include "ptx/verbs.def"
};

static const char *const space_words[] = {
    [CJI_SP_CONST] = ".const", [CJI_SP_GLOBAL] = ".global", [CJI_SP_LOCAL] = ".local",
    [CJI_SP_PARAM] = ".param", [CJI_SP_SHARED] = ".shared", [CJI_SP_GENERIC] = "", [CJI_SP_REG] = "", [CJI_SP_SREG] = ""
};

static const struct verb_row *verb_row(unsigned verb, unsigned type, unsigned type2)
{
    for (size_t i = 0; i < sizeof verb_rows / sizeof *verb_rows; i++) {
        const struct verb_row *r = &verb_rows[i];
        if (r->verb == verb && r->types >> type & 1 && (r->types2 == ANY || r->types2 >> type2 & 1)) return r;
    }
    return NULL;
}

bool cji_verb_has(cji_verb_id verb, unsigned type, unsigned type2) { return verb_row(verb, type, type2) != NULL; }

int cji_verb_sreg(cji_sreg_verb verb, unsigned dim)
{
    const char *name = sreg_names[verb][dim];
    return cji_isa_sreg_find(name, strlen(name));
}

/* "add.$" with its signs filled in. */
static size_t fill(char *out, size_t size, const char *spelling, unsigned space, unsigned type, unsigned type2)
{
    size_t n = 0;
    for (const char *s = spelling; *s; s++) {
        char one[2] = { *s, 0 };
        const char *w = *s == '$'   ? cji_type_word(type)
                        : *s == '#' ? cji_type_word(cji_type_bits_of(type))
                        : *s == '^' ? cji_type_word(type2)
                        : *s == '~' ? space_words[space]
                                    : one;
        size_t len = strlen(w);
        if (n + len >= size) break;
        memcpy(out + n, w, len);
        n += len;
    }
    out[n] = 0;
    return n;
}

static void no_such_verb(cj_fn *f, unsigned verb, unsigned type, unsigned type2, const char *call)
{
    char list[160];
    cji_line l = { list, sizeof list, 0 };
    unsigned n = 0;
    if (type2) {
        cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: a .%s does not convert to .%s", call, cji_type_word(type2),
                     cji_type_word(type));
        return;
    }
    *list = 0;
    for (unsigned t = 1; t < CJ_TYPE_COUNT; t++) {
        if (!verb_row(verb, t, type2)) continue;
        cji_say(&l, " .%s", cji_type_word(t));
        n++;
    }
    cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: the operand is .%s, wants%s%s", call, cji_type_word(type),
                 n > 1 ? " one of" : "", list);
}

static bool grow_verb_slots(cj_ptx *m)
{
    size_t want = m->nverb_slot ? m->nverb_slot * 2 : 64;
    struct cji_form_slot *fresh = cji_zalloc(want * sizeof *fresh);
    if (!fresh) return false;
    for (size_t i = 0; i < m->nverb_slot; i++) {
        if (!m->verb_slot[i].index) continue;
        size_t at = m->verb_slot[i].form * 0x9e3779b1u >> 7 & (want - 1);
        while (fresh[at].index) at = (at + 1) & (want - 1);
        fresh[at] = m->verb_slot[i];
    }
    cji_free(m->verb_slot, m->nverb_slot * sizeof *m->verb_slot);
    m->verb_slot = fresh;
    m->nverb_slot = want;
    return true;
}

static struct cji_form_slot *verb_slot(const cj_ptx *m, uint32_t key)
{
    size_t mask = m->nverb_slot - 1, at = key * 0x9e3779b1u >> 7 & mask;
    while (m->verb_slot[at].index && m->verb_slot[at].form != key) at = (at + 1) & mask;
    return &m->verb_slot[at];
}

cji_form *cji_verb(cj_fn *f, cji_verb_id verb, unsigned space, unsigned type, unsigned type2, const char *call)
{
    cj_ptx *m = f->m;
    char spelling[CJI_ISA_SPELLING];
    uint32_t key = (uint32_t)verb | space << 8 | type << 12 | type2 << 18;
    if (m->nverb_slot) {
        const struct cji_form_slot *s = verb_slot(m, key);
        if (s->index) return m->form[s->index - 1];
    }
    const struct verb_row *r = verb_row(verb, type, type2);
    if (!r) return no_such_verb(f, verb, type, type2, call), NULL;
    size_t n = fill(spelling, sizeof spelling, r->spelling, space, type, type2);
    cji_form *e = cji_ptx_spelling(m, spelling, n, call, f->loc);
    if (!e) return NULL;
    if ((m->nverbs + 1) * 2 > m->nverb_slot && !grow_verb_slots(m)) return cji_ptx_nomem(m, call), NULL;
    *verb_slot(m, key) = (struct cji_form_slot){ key, e->index + 1 };
    m->nverbs++;
    return e;
}

/* The printer's own instruction, from the same table as everything else. */
void cji_print_return(cji_text *out)
{
    cji_text_putc(out, '\t');
    cji_text_puts(out, verb_row(CJI_VERB_RET, CJ_VOID, CJ_VOID)->spelling);
    cji_text_puts(out, ";\n");
}
