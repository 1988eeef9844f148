/* Appending instructions: operands checked against the table, literals made of their place's type, destinations made,
 * whole or not at all.
 *
 * The quick way serves forms whose operands are plain registers, in one pass.  Everything else goes the long way: each
 * row that shares the spelling is tried with the operands lifted for it. */
#include <stdio.h>
#include <string.h>

#include "ptx/build.h"
#include "ptx/fold.h"

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

static void refuse(cj_fn *f, const cji_form *e, const char *call, const char *why)
{
    char name[48];
    cji_form_short(e, name, sizeof name, 28);
    const char *cut = strlen(name) < e->isa->len ? "..." : "";
    if (e->isa->effect & CJI_FX_PARTIAL)
        cji_ptx_fail(f->m, CJ_EUNKNOWN, call, f->loc,
                     "%s%s: %s (the instruction table lacks some of its operand lists)", name, cut, why);
    else cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s%s: %s", name, cut, why);
}

/* Does the value's index lie in its table, and is its type what the table says?  Values come from outside: a forged
 * one must not be followed. */
static bool val_in_range(const cj_fn *f, cj_val v)
{
    uint32_t i = (uint32_t)v.bits, type = cji_val_type(v);
    if (type >= CJ_TYPE_COUNT) return false;
    switch (cji_val_kind(v)) {
    case CJI_K_REG: return i < f->nreg && f->reg[i].type == type;
    case CJI_K_NOT: return i < f->nreg && f->reg[i].type == CJ_PRED && type == CJ_PRED;
    case CJI_K_IMM: return i < f->nlit;
    case CJI_K_SREG: return i < cji_isa_sregs();
    case CJI_K_MEM: return i < f->nmem;
    case CJI_K_VEC:
    case CJI_K_LIST:
    case CJI_K_PAIR:
    case CJI_K_TEXMEM: return i < f->npool && f->pool[i] < f->npool - i;
    case CJI_K_LABEL: return i < f->nlabel;
    case CJI_K_SYM: return i < f->m->nvar;
    case CJI_K_FUNC: return i < f->m->nfn;
    case CJI_K_SINK: return true;
    case CJI_K_TARGETS: return i < f->ntlist;
    default: return false;
    }
}

/* A variable of the module whose name means another thing in the function's text is a failure. */
static bool val_visible(cj_fn *f, cj_val v, const char *call, const char *what)
{
    if (cji_val_kind(v) != CJI_K_SYM) return true;
    const cji_var *var = f->m->var[(uint32_t)v.bits];
    if (var->fn || !cji_fn_hides(f, var->name)) return true;
    cji_ptx_fail(f->m, CJ_EINVAL, call, f->loc,
                 "%s: %s is the module's variable \"%s\", and %s has a parameter or variable of this name", call, what,
                 cji_short(cji_ptx_name(f->m, var->name)), cji_short(cji_ptx_name(f->m, f->name)));
    return false;
}

bool cji_val_usable(cj_fn *f, cj_val v, const char *call, const char *what)
{
    if (v.bits && cji_val_owned(f, v) && val_in_range(f, v)) return val_visible(f, v, call, what);
    if (!v.bits) cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: %s is the null value", call, what);
    else if (!cji_val_owned(f, v))
        cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: %s was made in another function than %s", call, what,
                     cji_short(cji_ptx_name(f->m, f->name)));
    else cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: %s is not a value of this library", call, what);
    return false;
}

/* ---- Lifting ----------------------------------------------------------------------------------------------------- */

/* A vector with untyped numbers in it, as one whose numbers have the place's type. */
static uint32_t lift_vec(cj_fn *f, uint32_t word, unsigned type, char *why, size_t size)
{
    uint32_t n, lifted[256];
    const uint32_t *w = cji_fn_words(f, word, &n);
    bool untyped = false;
    if (n > 256) return word;
    memcpy(lifted, w, n * sizeof *w);
    for (uint32_t i = 0; i < n; i++) {
        if (cji_word_kind(lifted[i]) != CJI_K_IMM || f->lit[cji_word_index(lifted[i])].type != CJ_VOID) continue;
        lifted[i] = cji_lit_as(f, cji_word_index(lifted[i]), type, why, size);
        if (!lifted[i]) return 0;
        untyped = true;
    }
    return untyped ? cji_fn_list(f, CJI_K_VEC, lifted, n) : word;
}

/* The word of `v` at a place; numbers take the place's type.  0: it does not go there, why says it. */
static uint32_t lift(cj_fn *f, const cji_isa_opnd *o, cj_val v, char *why, size_t size)
{
    uint32_t word = cji_val_word(v);
    if (cji_val_kind(v) == CJI_K_VEC) return lift_vec(f, word, o->type, why, size);
    if (cji_val_kind(v) != CJI_K_IMM || cji_val_type(v) != CJ_VOID) return word;
    return cji_lit_as(f, cji_word_index(word), o->type, why, size);
}

typedef struct emit_args {
    uint32_t word[CJI_ISA_OPNDS];
    cji_isa_arg arg[CJI_ISA_OPNDS];
    uint8_t types[CJI_ISA_OPNDS][256];
    char why[256];
} emit_args;

static unsigned dst_type(const cji_form *e, unsigned def_type)
{
    return def_type == CJI_DEF ? e->isa->opnd[0].type : def_type;
}

/* The destination that will be made, as the matcher sees it. */
static bool describe_dst(const cji_form *e, emit_args *a, unsigned def_type)
{
    const cji_isa_opnd *o = &e->isa->opnd[0];
    unsigned type = dst_type(e, def_type);
    if (!e->isa->nopnd || !(o->role & CJI_WRITE) || type == CJ_VOID) {
        snprintf(a->why, sizeof a->why, "has no destination to make: use cj_ins()");
        return false;
    }
    if (o->count && !(o->kinds & 1u << CJI_K_REG && o->count == 1)) {
        memset(a->types[0], (int)type, o->count);
        a->arg[0] = (cji_isa_arg){ .kind = CJI_K_VEC, .count = o->count, .types = a->types[0] };
    } else {
        a->arg[0] = (cji_isa_arg){ .kind = CJI_K_REG, .type = (uint8_t)type };
    }
    return true;
}

/* Does row `e` take the operands?  Fills a->word and a->arg. */
static bool row_takes(cj_fn *f, const cji_form *e, const cj_val *v, size_t n, unsigned def_type, emit_args *a)
{
    size_t first = def_type != CJI_NO_DEF;
    if (first && !describe_dst(e, a, def_type)) return false;
    for (size_t i = 0; i < n; i++) {
        size_t at = i + first;
        const cji_isa_opnd *o = &e->isa->opnd[at < e->isa->nopnd ? at : 0];
        a->word[at] = lift(f, o, v[i], a->why, sizeof a->why);
        if (!a->word[at]) {
            char name[16], reason[200];
            snprintf(reason, sizeof reason, "%.199s", a->why);
            cji_isa_opnd_name(e->isa, at < e->isa->nopnd ? at : 0, name, sizeof name);
            snprintf(a->why, sizeof a->why, "operand %s: %s", name, reason);
            return false;
        }
        cji_fn_arg(f, a->word[at], &a->arg[at], a->types[at]);
    }
    a->why[0] = 0;
    return cji_isa_fits(e->isa, a->arg, n + first) < 0;
}

/* The next row with the same spelling; NULL after the last, or without memory. */
static cji_form *next_row(cj_fn *f, cji_form *e)
{
    if (e->isa->next == CJI_FORM_NONE) return NULL;
    if (e->next == CJI_FORM_NONE) {
        cji_form *n = cji_ptx_form(f->m, e->isa->next);
        if (n) e->next = n->index;
        return n;
    }
    return f->m->form[e->next];
}

static cji_form *choose_row(cj_fn *f, cji_form *first, const cj_val *v, size_t n, unsigned def_type, emit_args *a,
                            const char *call)
{
    char why[256];
    for (cji_form *e = first; e; e = next_row(f, e)) {
        if (row_takes(f, e, v, n, def_type, a)) return e;
        if (f->m->dead) return NULL;
        if (e == first) memcpy(why, a->why, sizeof why);
    }
    if (!f->m->dead && !why[0]) {
        if (row_takes(f, first, v, n, def_type, a)) return first;
        cji_isa_match(first->isa->form, a->arg, n + (def_type != CJI_NO_DEF), NULL, why, sizeof why);
    }
    if (!f->m->dead) refuse(f, first, call, why);
    return NULL;
}

/* ---- Appending --------------------------------------------------------------------------------------------------- */

/* What the form needs, once, and what optional operands and second destinations that are used need, each time. */
static bool count_needs(cj_fn *f, cji_form *e, const cji_isa_arg *arg, size_t n)
{
    uint8_t version = e->isa->version;
    cji_targets targets = e->targets;
    char name[64];
    if (!e->used && !cji_form_need(f->m, e, f->loc)) return false;
    if (e->plain) return true;
    cji_isa_needs(e->isa, arg, n, &version, &targets);
    if (version == e->isa->version && targets == e->targets) return true;
    cji_form_short(e, name, 40, 16);
    strcat(name, " with these operands");
    return cji_ptx_need(f->m, version, targets, name, f->loc);
}

/* {a} where one register or number stands: what the braces hold. */
static uint32_t without_braces(const cj_fn *f, const cji_form *e, size_t i, uint32_t word)
{
    uint32_t n;
    return e->isa->opnd[i].one && cji_word_kind(word) == CJI_K_VEC ? *cji_fn_words(f, word, &n) : word;
}

static bool append(cj_fn *f, const cji_form *e, uint32_t guard, const uint32_t *word, size_t n)
{
    uint32_t more = 0;
    if (f->nins >= UINT32_MAX - 1)
        return cji_ptx_fail(f->m, CJ_EPTX, "cj_ins", f->loc, "%s has too many instructions",
                            cji_short(cji_ptx_name(f->m, f->name))),
               false;
    if (f->nins == f->cins && !cji_grow(&f->ins, &f->cins, f->nins + CJI_AHEAD, sizeof *f->ins))
        return cji_ptx_nomem(f->m, "cj_ins"), false;
    if (n > 5) {
        more = cji_fn_list(f, CJI_K_MORE, word + 4, n - 4);
        if (!more) return false;
    }
    cji_ins *x = &f->ins[f->nins];
    *x = (cji_ins){ .form = e->index, .guard = guard, .loc = f->loc };
    for (size_t i = 0; i < n && i < 5; i++) x->opnd[i] = without_braces(f, e, i, word[i]);
    if (more) x->opnd[4] = more;
    for (size_t i = 0; i < n; i++)
        if (1u << cji_word_kind(word[i]) & (1u << CJI_K_LABEL | 1u << CJI_K_FUNC)) cji_fn_use(f, word[i]);
    f->nins++;
    return true;
}

/* A register of `type` without the checks of types that have needs of their own. */
static inline cj_val quick_register(cj_fn *f, unsigned type)
{
    const size_t i = f->nreg;
    if (i == f->creg || type == CJ_B128 || type == CJ_F16X2) return cji_reg_val(f, type);
    f->reg[i] = (cji_reg){ .type = (uint8_t)type, .number = f->count[cji_type_declared(type)]++ };
    f->nreg = i + 1;
    return cji_val(cji_word(CJI_K_REG, (uint32_t)i), type, f->owner);
}

/* A fresh destination: a register or a vector of them. */
static cj_val make_dst(cj_fn *f, const cji_isa_arg *d)
{
    uint32_t word[256];
    if (d->kind == CJI_K_REG) return quick_register(f, d->type);
    for (unsigned i = 0; i < d->count; i++)
        if (!(word[i] = cji_fn_reg(f, d->types[i]))) return CJI_NULL;
    return cji_val_of(f, cji_fn_list(f, CJI_K_VEC, word, d->count), d->types[0]);
}

static cj_val emit_long(cj_fn *f, cji_form *first, uint32_t guard, const cj_val *v, size_t n, unsigned def_type,
                        const char *call)
{
    emit_args a;
    size_t def = def_type != CJI_NO_DEF, total = n + def;
    cj_val d = { 1 };
    a.why[0] = 0;
    if (total > CJI_ISA_OPNDS) {
        snprintf(a.why, sizeof a.why, "%zu operands are more than any instruction has", total);
        return refuse(f, first, call, a.why), CJI_NULL;
    }
    for (size_t i = 0; i < n; i++) {
        char what[24], name[16];
        if (v[i].bits && cji_val_owned(f, v[i]) && val_in_range(f, v[i])) continue;
        cji_isa_opnd_name(first->isa, i + def < first->isa->nopnd ? i + def : 0, name, sizeof name);
        snprintf(what, sizeof what, "operand %s", name);
        cji_val_usable(f, v[i], call, what);
        return CJI_NULL;
    }
    cji_form *e = choose_row(f, first, v, n, def_type, &a, call);
    if (!e || !count_needs(f, e, a.arg, total)) return CJI_NULL;
    if (def) {
        d = make_dst(f, &a.arg[0]);
        if (!d.bits) return d;
        a.word[0] = cji_val_word(d);
    }
    return append(f, e, guard, a.word, total) ? d : CJI_NULL;
}

/* ---- The quick way ----------------------------------------------------------------------------------------------- */

/* Each operand is stored in the record while it is checked: a register of ours, of a type that its place takes.  The
 * record is behind the last one and counts only when all are right. */
static inline bool store_registers(const cj_fn *f, const uint32_t *types, uint32_t *word, const cj_val *v, size_t n)
{
    const uint32_t ours = (uint32_t)CJI_K_REG << 8 | f->owner << 12;
    for (const cj_val *end = v + n; v < end; v++) {
        /* the type; above 31 where kind or owner differ */
        const uint32_t at = (uint32_t)v->bits, type = (uint32_t)(v->bits >> 32) ^ ours;
        if (type > 31 || at >= f->nreg || !(*types++ >> type & 1)) return false;
        *word++ = (uint32_t)CJI_K_REG << 28 | at;
    }
    return true;
}

/* The type of the destination to make, CJ_VOID: the quick way does not know one. */
static inline unsigned quick_type(const cji_form *e, unsigned def_type)
{
    if (def_type == CJI_DEF || !e->made) return e->made;
    return e->quick_types[0] >> def_type & 1 ? def_type : CJ_VOID;
}

cj_val cji_emit(cj_fn *f, cji_form *e, uint32_t guard, const cj_val *v, size_t n, unsigned def_type, const char *call)
{
    const size_t def = def_type != CJI_NO_DEF;
    const unsigned type = def ? quick_type(e, def_type) : 0;
    cj_val d = { 1 };
    if (n + def != e->quick || !e->used || (def && type == CJ_VOID))
        return emit_long(f, e, guard, v, n, def_type, call);
    if (f->nins == f->cins && !cji_grow(&f->ins, &f->cins, f->nins + CJI_AHEAD, sizeof *f->ins))
        return cji_ptx_nomem(f->m, call), CJI_NULL;
    cji_ins *x = &f->ins[f->nins];
    *x = (cji_ins){ .form = e->index, .guard = guard, .loc = f->loc };
    if (!store_registers(f, e->quick_types + def, x->opnd + def, v, n))
        return emit_long(f, e, guard, v, n, def_type, call);
    if (def) {
        d = quick_register(f, type);
        if (!d.bits) return d;
        x->opnd[0] = cji_val_word(d);
    }
    f->nins++;
    return d;
}

/* ---- For the reader: operands as words --------------------------------------------------------------------------- */

/* The quick way: registers only, of types that their places take. */
static inline bool append_registers(cj_fn *f, const cji_form *e, uint32_t guard, const uint32_t *word, size_t n)
{
    if (n != e->quick || !n || !e->used || f->nins == f->cins) return false;
    cji_ins *x = &f->ins[f->nins];
    *x = (cji_ins){ .form = e->index, .guard = guard, .loc = f->loc };
    for (size_t i = 0; i < n; i++) {
        if (cji_word_kind(word[i]) != CJI_K_REG) return false;
        if (!(e->quick_types[i] >> f->reg[cji_word_index(word[i])].type & 1)) return false;
        x->opnd[i] = word[i];
    }
    f->nins++;
    return true;
}

bool cji_fn_emit(cj_fn *f, cji_form *first, uint32_t guard, const uint32_t *word, size_t n, const char *call)
{
    emit_args a;
    if (f->m->dead) return false;
    if (append_registers(f, first, guard, word, n)) return true;
    if (n > CJI_ISA_OPNDS) {
        snprintf(a.why, sizeof a.why, "%zu operands are more than any instruction has", n);
        return refuse(f, first, call, a.why), false;
    }
    for (size_t i = 0; i < n; i++) cji_fn_arg(f, word[i], &a.arg[i], a.types[i]);
    cji_form *e = first;
    while (e && cji_isa_fits(e->isa, a.arg, n) >= 0) e = next_row(f, e);
    if (!e) {
        if (f->m->dead) return false;
        a.why[0] = 0;
        cji_isa_match(first->isa->form, a.arg, n, NULL, a.why, sizeof a.why);
        return refuse(f, first, call, a.why), false;
    }
    if (!count_needs(f, e, a.arg, n)) return false;
    return append(f, e, guard, word, n);
}

/* ---- Public ------------------------------------------------------------------------------------------------------ */

bool cji_guard(cj_fn *f, cj_val p, bool negate, uint32_t *word, const char *call)
{
    uint32_t kind = cji_val_kind(p);
    bool holds;
    if (!cji_val_usable(f, p, call, "the guard")) return false;
    if (cji_is_constant(f, p, &holds)) {
        *word = holds != negate ? 0 : CJI_NEVER;
        return true;
    }
    if (kind != CJI_K_NOT && !(kind == CJI_K_REG && cji_val_type(p) == CJ_PRED)) {
        cji_ptx_fail(f->m, CJ_EPTX, call, f->loc,
                     "%s: the condition is not a predicate (.pred), such as the result of cj_lt()", call);
        return false;
    }
    *word = cji_word((kind == CJI_K_NOT) != negate ? CJI_K_NOT : CJI_K_REG, (uint32_t)p.bits);
    return true;
}

static cji_form *named(cj_fn *f, const char *mnemonic, const cj_val *v, size_t n, const char *call)
{
    if (!cji_fn_open(f, call)) return NULL;
    if (!mnemonic || (n && !v))
        return cji_ptx_fail(f->m, CJ_EINVAL, call, f->loc, "%s: the %s is NULL", call,
                            mnemonic ? "operand array" : "mnemonic"),
               NULL;
    return cji_ptx_spelling(f->m, mnemonic, strlen(mnemonic), call, f->loc);
}

void cj_ins_n(cj_fn *f, const char *mnemonic, const cj_val *v, size_t n)
{
    cji_form *e = named(f, mnemonic, v, n, "cj_ins");
    if (e) cji_emit(f, e, 0, v, n, CJI_NO_DEF, "cj_ins");
}

static void guarded(cj_fn *f, cj_val p, bool negate, const char *mnemonic, const cj_val *v, size_t n, const char *call)
{
    cji_form *e = named(f, mnemonic, v, n, call);
    uint32_t guard;
    if (e && cji_guard(f, p, negate, &guard, call) && guard != CJI_NEVER) cji_emit(f, e, guard, v, n, CJI_NO_DEF, call);
}

void cj_ins_if_n(cj_fn *f, cj_val p, const char *mnemonic, const cj_val *v, size_t n)
{
    guarded(f, p, false, mnemonic, v, n, "cj_ins_if");
}
void cj_ins_unless_n(cj_fn *f, cj_val p, const char *mnemonic, const cj_val *v, size_t n)
{
    guarded(f, p, true, mnemonic, v, n, "cj_ins_unless");
}

cj_val cj_def_n(cj_fn *f, const char *mnemonic, const cj_val *v, size_t n)
{
    cji_form *e = named(f, mnemonic, v, n, "cj_def");
    return e ? cji_emit(f, e, 0, v, n, CJI_DEF, "cj_def") : CJI_NULL;
}

static cji_form *resolved(cj_fn *f, uint32_t form, const cj_val *v, size_t n, const char *call)
{
    if (!cji_fn_open(f, call)) return NULL;
    if (form && (v || !n)) return cji_form_at(f->m, form - 1);
    cji_ptx_fail(f->m, CJ_EINVAL, call, f->loc, "%s: the %s", call,
                 form ? "operand array is NULL" : "operation is { 0 }: cj_op_find() found no such mnemonic");
    return NULL;
}

void cj_ins_form(cj_fn *f, uint32_t form, cj_val guard, const cj_val *v, size_t n)
{
    cji_form *e = resolved(f, form, v, n, "cj_ins_op");
    uint32_t g = 0;
    if (!e || (guard.bits && !cji_guard(f, guard, false, &g, "cj_ins_op"))) return;
    if (g != CJI_NEVER) cji_emit(f, e, g, v, n, CJI_NO_DEF, "cj_ins_op");
}

cj_val cj_def_form(cj_fn *f, uint32_t form, const cj_val *v, size_t n)
{
    cji_form *e = resolved(f, form, v, n, "cj_def_op");
    return e ? cji_emit(f, e, 0, v, n, CJI_DEF, "cj_def_op") : CJI_NULL;
}
