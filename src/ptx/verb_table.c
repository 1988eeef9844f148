/* Verb and types to form: the spelling from verbs.def, looked up once for the process. */
#include <stdatomic.h>
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
    const struct verb_row *low = verb_rows, *end = verb_rows + sizeof verb_rows / sizeof *verb_rows;
    for (size_t n = (size_t)(end - low); n > 0; n /= 2) { /* the first row of the verb: rows are in the verbs' order */
        const struct verb_row *mid = low + n / 2;
        if (mid->verb >= verb) continue;
        low = mid + 1;
        n--;
    }
    for (const struct verb_row *r = low; r < end && r->verb == verb; r++)
        if (r->types >> type & 1 && (r->types2 == ANY || r->types2 >> type2 & 1)) return r;
    return NULL;
}

/* ---- What is known ----------------------------------------------------------------------------------------------- */

/* Forms of verbs: the key in the upper half, 0 for a free place, and the form.  Constants: a place is written once, by
 * whichever thread comes first, and where a key finds no place it is looked up each time. */
enum { KNOWN = 1024, KNOWN_PROBES = 8 };
static _Atomic uint64_t known_forms[KNOWN];

/* Not 0: CJI_VERB_COUNT stands for the verb 0. */
static uint32_t verb_key(unsigned verb, unsigned space, unsigned type, unsigned type2)
{
    return (verb ? verb : CJI_VERB_COUNT) | space << 8 | type << 12 | type2 << 18;
}
_Static_assert(CJI_VERB_COUNT < 256 && CJ_TYPE_COUNT <= 64, "a verb and its types fit in a key");

static inline uint32_t known_place(uint32_t key, uint32_t i) { return ((key * 0x9e3779b1u >> 20) + i) % KNOWN; }

static inline uint32_t known_form(uint32_t key)
{
    for (uint32_t i = 0; i < KNOWN_PROBES; i++) {
        uint64_t x = atomic_load_explicit(&known_forms[known_place(key, i)], memory_order_relaxed);
        if (x >> 32 == key) return (uint32_t)x;
        if (!x) break;
    }
    return CJI_FORM_NONE;
}

static void note_form(uint32_t key, uint32_t form)
{
    for (uint32_t i = 0; i < KNOWN_PROBES; i++) {
        uint64_t none = 0;
        const uint64_t fresh = (uint64_t)key << 32 | form;
        if (atomic_compare_exchange_strong(&known_forms[known_place(key, i)], &none, fresh)) return;
        if (none >> 32 == key) return;
    }
}

bool cji_verb_has(cji_verb_id verb, unsigned type, unsigned type2)
{
    return known_form(verb_key(verb, 0, type, type2)) != CJI_FORM_NONE || verb_row(verb, type, type2);
}

int cji_verb_sreg(cji_sreg_verb verb, unsigned dim)
{
    static atomic_int known[CJI_SRV_COUNT][3]; /* index + 1; 0: not looked up yet */
    const char *name = sreg_names[verb][dim];
    int at = atomic_load_explicit(&known[verb][dim], memory_order_relaxed);
    if (at) return at - 1;
    at = cji_isa_sreg_find(name, strlen(name));
    atomic_store_explicit(&known[verb][dim], at + 1, memory_order_relaxed);
    return at;
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

cji_form *cji_verb(cj_fn *f, cji_verb_id verb, unsigned space, unsigned type, unsigned type2, const char *call)
{
    char spelling[CJI_ISA_SPELLING];
    const uint32_t key = verb_key(verb, space, type, type2);
    uint32_t form = known_form(key);
    if (form != CJI_FORM_NONE) return cji_form_at(f->m, form);
    const struct verb_row *r = verb_row(verb, type, type2);
    if (!r) return no_such_verb(f, verb, type, type2, call), NULL;
    size_t n = fill(spelling, sizeof spelling, r->spelling, space, type, type2);
    form = cji_isa_find(spelling, n);
    if (form == CJI_FORM_NONE) return cji_ptx_spelling(f->m, spelling, n, call, f->loc); /* which says why */
    note_form(key, form);
    return cji_ptx_form(f->m, form);
}

/* The printer's own instruction, from the same table as everything else. */
void cji_print_return(cji_text *out)
{
    cji_text_putc(out, '\t');
    cji_text_puts(out, verb_row(CJI_VERB_RET, CJ_VOID, CJ_VOID)->spelling);
    cji_text_puts(out, ";\n");
}
