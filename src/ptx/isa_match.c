/* Operands against a form.  cji_isa_fits is the quick question; cji_isa_why finds the words once the answer is no. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "isa_match.h"
#include "isa_table.h"

static bool has(uint32_t mask, unsigned bit) { return mask >> bit & 1; }

/* Does the literal's form suit the operand (an integer, 0f.., 0d..)? */
static bool literal_kind_fits(const cji_isa_opnd *o, const cji_isa_arg *a)
{
    static const uint8_t bit[] = { CJI_CLS_INT, CJI_CLS_F32, CJI_CLS_F64 };
    return a->lit <= CJI_LIT_F64 && (o->literal & bit[a->lit]);
}

static bool literal_value_fits(const cji_isa_opnd *o, const cji_isa_arg *a)
{
    if (o->lo > o->hi || a->lit != CJI_LIT_INT) return true;
    if (a->wide || a->value < o->lo || a->value > o->hi) return false;
    if (o->step == 255) return a->value > 0 && !(a->value & (a->value - 1));
    return o->step <= 1 || (a->value - o->lo) % o->step == 0;
}

/* ---- Vectors ----------------------------------------------------------------------------------------------------- */

/* What ptxas compares in neighbours of one vector: the width (a literal has none), and a letter for the kind of type:
 * 'b' untyped, 'n' an integer, 'f' a float, 'x' a pair. */
typedef struct kin { uint8_t bits; char letter; } kin;

static kin kin_of(uint8_t element)
{
    if (element & CJI_ELEM_LITERAL)
        return (kin){ 0, (element & ~CJI_ELEM_LITERAL) == CJI_LIT_INT ? 'n' : 'f' };
    uint8_t bits = cji_type_bits(element);
    switch (element) {
    case CJ_F16: case CJ_F32: case CJ_F64: return (kin){ bits, 'f' };
    case CJ_F16X2: return (kin){ bits, 'x' };
    case CJ_PRED: return (kin){ bits, 'p' };
    case CJ_B8: case CJ_B16: case CJ_B32: case CJ_B64: case CJ_B128:
    case CJ_BF16: case CJ_BF16X2: return (kin){ bits, 'b' }; /* registers of .bf16 are printed as untyped */
    default: return (kin){ bits, 'n' };
    }
}

/* May the two stand side by side in a vector? */
static bool kin_fits(kin a, kin b)
{
    return (!a.bits || !b.bits || a.bits == b.bits) && (a.letter == b.letter || a.letter == 'b' || b.letter == 'b');
}

/* The first element that does not suit the one in front of it (_ suits all), whose index is in *with; -1. */
static int unlike_element(const cji_isa_arg *a, int *with)
{
    int last = -1;
    for (int i = 0; i < a->count; i++) {
        if (a->types[i] == CJ_VOID) continue;
        if (last >= 0 && !kin_fits(kin_of(a->types[last]), kin_of(a->types[i]))) return *with = last, i;
        last = i;
    }
    return -1;
}

/* Does the element suit the place, whatever stands beside it?  ptxas takes literals of other kinds in some vectors, and
 * makes 0 of them. */
static bool element_fits(const cji_isa_opnd *o, uint8_t element)
{
    static const uint8_t bit[] = { CJI_CLS_INT, CJI_CLS_F32, CJI_CLS_F64 };
    if (element == CJ_VOID) return o->role & CJI_WRITE && o->sink1;
    if (!(element & CJI_ELEM_LITERAL)) return has(o->types, element);
    unsigned lit = element & ~(unsigned)CJI_ELEM_LITERAL;
    return !(o->role & CJI_WRITE) && lit <= CJI_LIT_F64 && o->literal & bit[lit];
}

static bool vector_fits(const cji_isa_opnd *o, const cji_isa_arg *a)
{
    int with;
    if (a->count != (o->one ? 1 : o->count)) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!element_fits(o, a->types[i]) || (o->one && a->types[i] == CJ_VOID)) return false;
    return unlike_element(a, &with) < 0;
}

/* ---- Addresses and special registers ----------------------------------------------------------------------------- */

/* A state space that a symbol lives in, against the one that the spelling names.  A generic address is no address of a
 * parameter. */
static bool space_fits(const cji_isa_opnd *o, const cji_isa_arg *a)
{
    if (a->space == CJI_SP_GENERIC || a->space == o->space) return true;
    return o->space == CJI_SP_GENERIC && (a->space != CJI_SP_PARAM || o->any_space || a->kind == CJI_K_SYM);
}

/* The limits that the access breaks. */
static unsigned broken_limits(const cji_isa_form *f, const cji_isa_opnd *o, const cji_isa_arg *a)
{
    unsigned broken = a->limits;
    if (a->kind == CJI_K_SYM) return broken & CJI_ARG_NO_ADDRESS;
    broken &= ~(unsigned)CJI_ARG_NO_ADDRESS;
    if (o->space == CJI_SP_LOCAL) broken &= ~(unsigned)CJI_ARG_NUMBER;
    if (!(f->effect & CJI_FX_READ)) broken &= ~(unsigned)CJI_ARG_NO_READ;
    if (!(f->effect & CJI_FX_WRITE)) broken &= ~(unsigned)CJI_ARG_NO_WRITE;
    return broken;
}

static bool coordinates_fit(const cji_isa_opnd *o, const cji_isa_arg *a)
{
    const uint32_t wide = 1u << CJ_B64 | 1u << CJ_U64 | 1u << CJ_S64;
    const cji_isa_opnd lead = { .types = o->types2, .literal = CJI_CLS_INT, .role = CJI_READ };
    if (a->type != CJ_VOID && !has(wide, a->type)) return false;
    if (a->sampler || a->count != o->count + o->count2) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!element_fits(i < o->count2 ? &lead : o, a->types[i])) return false;
    return true;
}

/* Special registers have a width of their own; mov reads some as a narrower type too. */
static bool sreg_fits(const cji_isa_opnd *o, const cji_isa_arg *a)
{
    if (a->count != o->count) return false;
    if (has(o->types, a->type)) return true;
    unsigned bits = cji_type_bits(o->type);
    return bits < cji_type_bits(a->type) && bits >= a->least && !cji_type_is_float(o->type);
}

static bool pair_fits(const cji_isa_opnd *o, const cji_isa_arg *a)
{
    if (a->second == CJ_VOID ? !o->sink2 : a->second != o->pair_type) return false;
    switch (a->first) {
    case CJI_K_REG: return !o->count && has(o->types, a->type);
    case CJI_K_VEC: return o->count && vector_fits(o, a);
    case CJI_K_SINK: return o->sink1;
    default: return false;
    }
}

static bool operand_fits(const cji_isa_form *f, const cji_isa_opnd *o, const cji_isa_arg *a)
{
    if (a->kind > 31 || !has(o->kinds, a->kind)) return false;
    switch (a->kind) {
    case CJI_K_REG: return has(o->types, a->type);
    case CJI_K_NOT: return has(o->types, a->type) && a->type == CJ_PRED;
    case CJI_K_IMM: return literal_kind_fits(o, a) && literal_value_fits(o, a);
    case CJI_K_SREG: return sreg_fits(o, a);
    case CJI_K_VEC: return vector_fits(o, a);
    case CJI_K_MEM:
        return (a->type == CJ_VOID || has(o->types, a->type)) && space_fits(o, a) && !broken_limits(f, o, a);
    case CJI_K_SYM: return space_fits(o, a) && !broken_limits(f, o, a);
    case CJI_K_TEXMEM: return coordinates_fit(o, a);
    case CJI_K_PAIR: return pair_fits(o, a);
    default: return true;
    }
}

static size_t least_operands(const cji_isa_form *f)
{
    size_t n = f->nopnd;
    while (n && f->opnd[n - 1].optional) n--;
    return n;
}

int cji_isa_fits(const cji_isa_form *f, const cji_isa_arg *args, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (i >= f->nopnd || !operand_fits(f, &f->opnd[i], &args[i])) return (int)i;
    return n < least_operands(f) ? (int)n : -1;
}

/* ---- The sentence ------------------------------------------------------------------------------------------------ */

void cji_isa_opnd_name(const cji_isa_form *f, size_t i, char *out, size_t size)
{
    bool writes = f->nopnd && (f->opnd[0].role & CJI_WRITE) && !has(f->opnd[0].kinds, CJI_K_MEM);
    if (writes && i == 0) snprintf(out, size, "d");
    else snprintf(out, size, "%c", (char)('a' + (i - writes) % 26 + (writes && i - writes >= 3)));
}

static void add_value(cji_line *t, const cji_isa_arg *a)
{
    if (a->wide) cji_say(t, "%llu", (unsigned long long)a->value);
    else cji_say(t, "%lld", (long long)a->value);
}

static void add_given(cji_line *t, const cji_isa_arg *a)
{
    static const char *const what[] = { "nothing", "",        "",         "a special register", "an address",
                                        "",        "a label", "a symbol", "a function",         "",
                                        "",        "_",       "a list",   "a list of targets",  "a texture address" };
    switch (a->kind) {
    case CJI_K_REG: cji_say(t, ".%s", cji_type_word(a->type)); break;
    case CJI_K_NOT: cji_say(t, "a negated .%s", cji_type_word(a->type)); break;
    case CJI_K_SREG:
        if (a->count) { cji_say(t, "a special register of %u elements", a->count); break; }
        cji_say(t, "a special register of .%s", cji_type_word(a->type));
        break;
    case CJI_K_VEC: cji_say(t, "a vector of %u", a->count); break;
    case CJI_K_PAIR: cji_say(t, "a pair"); break;
    case CJI_K_IMM:
        if (a->lit == CJI_LIT_INT) { cji_say(t, "the integer "); add_value(t, a); }
        else cji_say(t, "a floating-point literal");
        break;
    default: cji_say(t, "%s", a->kind < sizeof what / sizeof *what ? what[a->kind] : "nothing known"); break;
    }
}

static void add_range(cji_line *t, const cji_isa_opnd *o)
{
    if (o->lo == o->hi) {
        cji_say(t, "%lld", (long long)o->lo);
    } else if (o->step == 255) {
        cji_say(t, "a power of two from %lld to %lld", (long long)o->lo, (long long)o->hi);
    } else if (o->step > 1 && (o->hi - o->lo) / o->step < 5) {
        for (int64_t v = o->lo; v <= o->hi; v += o->step)
            cji_say(t, "%s%lld", v == o->lo ? "" : v + o->step > o->hi ? " or " : ", ", (long long)v);
    } else if (o->step > 1) {
        cji_say(t, "a multiple of %d from %lld to %lld", o->step, (long long)o->lo, (long long)o->hi);
    } else {
        cji_say(t, "%lld to %lld", (long long)o->lo, (long long)o->hi);
    }
}

static void add_wanted(cji_line *t, const cji_isa_opnd *o)
{
    static const struct { int kind; const char *text;
    } others[] = {
        { CJI_K_MEM, "an address: [a], in C cj_mem()" },
        { CJI_K_LABEL, "a label" },
        { CJI_K_FUNC, "a function" },
        { CJI_K_LIST, "a list in parentheses" },
        { CJI_K_TARGETS, "the name of a list of targets or of a prototype" },
        { CJI_K_TEXMEM, "an object and its coordinates" },
    };
    if (o->count && !has(o->kinds, CJI_K_TEXMEM)) cji_say(t, "%u of .%s", o->count, cji_type_word(o->type));
    else if (has(o->kinds, CJI_K_REG)) cji_say(t, ".%s", cji_type_word(o->type));
    else if (has(o->kinds, CJI_K_IMM)) { cji_say(t, "a literal from "); add_range(t, o); }
    else
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            if (has(o->kinds, (unsigned)others[i].kind)) { cji_say(t, "%s", others[i].text); break; }
    if (has(o->kinds, CJI_K_PAIR) && !has(o->kinds, CJI_K_REG))
        cji_say(t, "%s.%s|.%s", t->n ? " " : "", cji_type_word(o->type), cji_type_word(o->pair_type));
}

static void add_element(cji_line *t, uint8_t element)
{
    if (element & CJI_ELEM_LITERAL)
        cji_say(t, element == (CJI_ELEM_LITERAL | CJI_LIT_INT) ? "an integer" : "a floating-point literal");
    else cji_say(t, "a .%s", cji_type_word(element));
}

static void why_vector(cji_line *t, const cji_isa_opnd *o, const cji_isa_arg *a)
{
    int with, at;
    unsigned count = o->one ? 1 : o->count;
    if (a->count != count) {
        cji_say(t, " has %u register%s, wants %u of .%s", a->count, a->count == 1 ? "" : "s", count,
                cji_type_word(o->type));
        return;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        if (element_fits(o, a->types[i])) continue;
        if (a->types[i] == CJ_VOID) cji_say(t, " has no register as element %u, wants .", i);
        else { cji_say(t, " has "); add_element(t, a->types[i]); cji_say(t, " as element %u, wants .", i); }
        cji_say(t, "%s", cji_type_word(o->type));
        return;
    }
    at = unlike_element(a, &with);
    if (at < 0) return;
    cji_say(t, " has ");
    add_element(t, a->types[with]);
    cji_say(t, " as element %d and ", with);
    add_element(t, a->types[at]);
    cji_say(t, " as element %d: elements of one vector have one width, and only untyped ones mix with others", at);
}

static const char *space_word(unsigned space)
{
    static const char *const names[] = { "generic", "reg", "sreg", "const", "global", "local", "param", "shared" };
    return space < 8 ? names[space] : "?";
}

static void why_coordinates(cji_line *t, const cji_isa_opnd *o, const cji_isa_arg *a)
{
    if (a->sampler) { cji_say(t, " has a sampler of its own, wants none: the object holds it"); return; }
    if (a->count != o->count + o->count2) {
        cji_say(t, " has %u coordinates, wants %u", a->count, o->count + o->count2);
        return;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        bool lead = i < o->count2;
        const cji_isa_opnd first = { .types = o->types2, .literal = CJI_CLS_INT, .role = CJI_READ };
        if (element_fits(lead ? &first : o, a->types[i])) continue;
        cji_say(t, " has ");
        add_element(t, a->types[i]);
        cji_say(t, " as coordinate %u, wants .%s", i, cji_type_word(lead ? o->type2 : o->type));
        return;
    }
    cji_say(t, " is based on a .%s, wants .b64", cji_type_word(a->type));
}

static void why_pair(cji_line *t, const cji_isa_opnd *o, const cji_isa_arg *a)
{
    if (a->second == CJ_VOID ? !o->sink2 : a->second != o->pair_type)
        cji_say(t, " has %s as second destination, wants .%s", a->second ? cji_type_word(a->second) : "_",
                cji_type_word(o->pair_type));
    else if (a->first == CJI_K_VEC && o->count) why_vector(t, o, a);
    else if (a->first == CJI_K_SINK) cji_say(t, " may not be dropped");
    else { cji_say(t, " is .%s, wants ", cji_type_word(a->type)); add_wanted(t, o); }
}

static void why_count(cji_line *t, const cji_isa_form *f, size_t n)
{
    size_t least = least_operands(f);
    char name[4];
    if (least == f->nopnd) cji_say(t, "has %zu operand%s, wants %zu", n, n == 1 ? "" : "s", least);
    else cji_say(t, "has %zu operand%s, wants %zu to %u", n, n == 1 ? "" : "s", least, f->nopnd);
    for (size_t i = 0; i < f->nopnd; i++) {
        cji_isa_opnd_name(f, i, name, sizeof name);
        cji_say(t, "%s%s%s", i ? ", " : ": ", name, f->opnd[i].optional ? " (optional)" : "");
    }
}

static void why_address(cji_line *t, const cji_isa_form *f, const cji_isa_opnd *o, const cji_isa_arg *a)
{
    unsigned broken = broken_limits(f, o, a);
    if (!space_fits(o, a) && o->space == CJI_SP_GENERIC)
        cji_say(t, " is in .%s, whose variables have no generic address; use .param in the instruction's name, or cvta",
                space_word(a->space));
    else if (!space_fits(o, a)) cji_say(t, " is in .%s, wants .%s", space_word(a->space), space_word(o->space));
    else if (broken & CJI_ARG_NUMBER) cji_say(t, " is an address that is a number, which only .local has");
    else if (broken & CJI_ARG_NO_READ) cji_say(t, " is a result of the function, which it cannot read");
    else if (broken & CJI_ARG_NO_WRITE) cji_say(t, " is a parameter of the function, which it cannot write");
    else if (broken) cji_say(t, " is a .param variable of the body, whose address cannot be taken");
    else cji_say(t, " is an address in a .%s register, wants .b64 or .b32", cji_type_word(a->type));
}

void cji_isa_why(const cji_isa_form *f, const cji_isa_arg *args, size_t n, int at, char *why, size_t size)
{
    cji_line t = { why, size, 0 };
    if (size) why[0] = 0;
    if (at < 0) return;
    if ((size_t)at >= n || at >= f->nopnd) { why_count(&t, f, n); return; }
    const cji_isa_opnd *o = &f->opnd[at];
    const cji_isa_arg *a = &args[at];
    char name[4];
    cji_isa_opnd_name(f, (size_t)at, name, sizeof name);
    cji_say(&t, "operand %s", name);
    bool kind = a->kind <= 31 && has(o->kinds, a->kind);
    if (kind && a->kind == CJI_K_VEC) why_vector(&t, o, a);
    else if (kind && a->kind == CJI_K_PAIR) why_pair(&t, o, a);
    else if (kind && a->kind == CJI_K_TEXMEM) why_coordinates(&t, o, a);
    else if (kind && (a->kind == CJI_K_MEM || a->kind == CJI_K_SYM)) why_address(&t, f, o, a);
    else if (kind && a->kind == CJI_K_IMM && literal_kind_fits(o, a)) {
        cji_say(&t, " is ");
        add_value(&t, a);
        cji_say(&t, ", wants ");
        add_range(&t, o);
    } else if (a->kind == CJI_K_IMM && has(o->kinds, CJI_K_REG) && !has(o->kinds, CJI_K_IMM))
        cji_say(&t, " is a literal, wants a register of .%s", cji_type_word(o->type));
    else if (a->kind == CJI_K_REG && o->count && !has(o->kinds, CJI_K_TEXMEM))
        cji_say(&t, " is one register, wants %u of .%s", o->count, cji_type_word(o->type));
    else { cji_say(&t, " is "); add_given(&t, a); cji_say(&t, ", wants "); add_wanted(&t, o); }
}

/* How near a row came: the right number of operands first, then a mistake in value rather than in kind, then the
 * later mistake. */
static int nearness(const cji_isa_form *f, const cji_isa_arg *args, size_t n, int at)
{
    bool count = n >= least_operands(f) && n <= f->nopnd;
    bool kind =
        at >= 0 && (size_t)at < n && at < f->nopnd && args[at].kind <= 31 && has(f->opnd[at].kinds, args[at].kind);
    bool value = kind && args[at].kind == CJI_K_IMM && literal_kind_fits(&f->opnd[at], &args[at]);
    return at + (count ? 64 : 0) + (kind ? 16 : 0) + (value ? 16 : 0);
}

/* Rows that differ in a literal's range alone: says each range. */
static void why_ranges(uint32_t first, uint32_t nearest, const cji_isa_arg *args, size_t n, int at, char *why,
                       size_t size)
{
    cji_isa_form f;
    if (!cji_isa_get(nearest, &f)) return;
    int score = nearness(&f, args, n, at);
    cji_line t = { why, size, 0 };
    char name[4];
    cji_isa_opnd_name(&f, (size_t)at, name, sizeof name);
    cji_say(&t, "operand %s is ", name);
    add_value(&t, &args[at]);
    cji_say(&t, ", wants ");
    const char *between = "";
    for (uint32_t form = first; form != CJI_FORM_NONE && cji_isa_get(form, &f); form = f.next) {
        int k = cji_isa_fits(&f, args, n);
        if (k != at || nearness(&f, args, n, k) != score) continue;
        cji_say(&t, "%s", between);
        add_range(&t, &f.opnd[at]);
        between = " or ";
    }
}

uint32_t cji_isa_match(uint32_t first, const cji_isa_arg *args, size_t n, cji_isa_form *out, char *why, size_t size)
{
    uint32_t nearest = CJI_FORM_NONE;
    int best = -1, best_at = 0;
    cji_isa_form f;
    for (uint32_t form = first; form != CJI_FORM_NONE && cji_isa_get(form, &f); form = f.next) {
        int at = cji_isa_fits(&f, args, n);
        if (at < 0) {
            if (out) *out = f;
            return form;
        }
        int score = nearness(&f, args, n, at);
        if (score > best) { best = score; best_at = at; nearest = form; }
    }
    if (!why || !size) return CJI_FORM_NONE;
    why[0] = 0;
    if (nearest == CJI_FORM_NONE || !cji_isa_get(nearest, &f)) return CJI_FORM_NONE;
    if (n < least_operands(&f) || n > f.nopnd) cji_isa_why(&f, args, n, (int)n + 64, why, size);
    else if (args[best_at].kind == CJI_K_IMM && has(f.opnd[best_at].kinds, CJI_K_IMM) &&
             literal_kind_fits(&f.opnd[best_at], &args[best_at]))
        why_ranges(first, nearest, args, n, best_at, why, size);
    else cji_isa_why(&f, args, n, best_at, why, size);
    return CJI_FORM_NONE;
}

void cji_isa_needs(const cji_isa_form *f, const cji_isa_arg *args, size_t n, uint8_t *version, cji_targets *targets)
{
    if (*version < f->version) *version = f->version;
    *targets &= cji_target_set(f->targets);
    for (size_t i = 0; i < n && i < f->nopnd; i++) {
        const cji_isa_opnd *o = &f->opnd[i];
        bool pair = args[i].kind == CJI_K_PAIR;
        if (*version < o->version) *version = o->version;
        if (pair && *version < o->pair_version) *version = o->pair_version;
        *targets &= cji_target_set(o->targets);
        if (pair) *targets &= cji_target_set(o->pair_targets);
    }
}
