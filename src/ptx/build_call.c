/* Calls of functions whose parameters are registers, and whose results are registers or memory. */
#include <stdio.h>

#include "ptx/fold.h"

enum { MOST_ARGUMENTS = 64 };

static bool wrong_number(cj_fn *f, const cj_fn *callee, size_t have, size_t want, const char *what, const char *call)
{
    cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: %s has %zu %s%s, the call gives %zu", call,
                 cji_short(cji_ptx_name(f->m, callee->name)), want, what, want == 1 ? "" : "s", have);
    return false;
}

bool cji_fn_callable(cj_fn *f, cj_fn *callee, const char *call)
{
    if (!cji_fn_open(f, call)) return false;
    if (cji_check(callee, CJI_TAG_FN, call) != CJ_OK)
        return cji_ptx_fail(f->m, CJ_EHANDLE, call, f->loc, "%s: the function is not a cj_fn", call), false;
    if (callee->m != f->m || callee->kernel) {
        cji_ptx_fail(f->m, CJ_EINVAL, call, f->loc, "%s: %s %s", call, cji_short(cji_ptx_name(callee->m, callee->name)),
                     callee->kernel ? "is a kernel; kernels cannot be called" : "belongs to another module");
        return false;
    }
    return true;
}

/* One argument or result as its parameter wants it. */
static uint32_t bind(cj_fn *f, const cj_fn *callee, const cji_var *p, size_t i, cj_val v, bool writes, const char *call)
{
    char why[160], what[100];
    unsigned t = cji_val_type(v);
    snprintf(what, sizeof what, "%s %zu (%s)", writes ? "result" : "argument", i + 1,
             cji_short(cji_ptx_name(f->m, p->name)));
    if (!cji_val_usable(f, v, call, what)) return 0;
    if (!writes) v = p->type == CJ_PRED ? cji_predicate(f, v, call) : cji_settle(f, v, call);
    if (!writes) t = cji_val_type(v);
    if (!v.bits) return 0;
    if (cji_val_kind(v) == CJI_K_IMM && !writes) {
        v = cji_half_literal(f, v, p->type, call);
        if (cji_val_kind(v) != CJI_K_IMM) return cji_val_word(v);
        uint32_t word = cji_lit_as(f, (uint32_t)v.bits, p->type, why, sizeof why);
        if (!word && !f->m->dead)
            cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s of %s: %s: %s", call,
                         cji_short(cji_ptx_name(f->m, callee->name)), what, why);
        return word;
    }
    if (cji_val_kind(v) == CJI_K_REG && cji_unify(t, p->type) != CJ_VOID) return cji_val_word(v);
    cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s of %s: %s is %s%s, wants .%s", call,
                 cji_short(cji_ptx_name(f->m, callee->name)), what, cji_val_kind(v) == CJI_K_REG ? "." : "no register",
                 cji_val_kind(v) == CJI_K_REG ? cji_type_word(t) : "", cji_type_word(p->type));
    return 0;
}

/* A result in memory: the caller's variable for it. */
static bool is_memory_of(const cj_fn *f, const cji_var *p, cj_val v)
{
    if (p->space != CJI_SP_PARAM || cji_val_kind(v) != CJI_K_SYM) return false;
    const cji_var *own = f->m->var[cji_word_index(cji_val_word(v))];
    return own->space == CJI_SP_PARAM && own->bytes == p->bytes && own->align == p->align;
}

static uint32_t bind_list(cj_fn *f, const cj_fn *callee, const uint32_t *vars, const cj_val *v, size_t n, bool writes,
                          const char *call)
{
    uint32_t word[MOST_ARGUMENTS];
    for (size_t i = 0; i < n; i++) {
        const cji_var *p = f->m->var[vars[i]];
        if (writes && is_memory_of(f, p, v[i])) {
            word[i] = cji_val_word(v[i]);
            continue;
        }
        if (p->space != CJI_SP_REG || p->vec) {
            cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: %s takes its parameters in %s", call,
                         cji_short(cji_ptx_name(f->m, callee->name)),
                         p->vec ? "vector registers, which only text has" : "memory; write its call with cj_ins()");
            return 0;
        }
        word[i] = bind(f, callee, p, i, v[i], writes, call);
        if (!word[i]) return 0;
    }
    return cji_fn_list(f, CJI_K_LIST, word, n);
}

static void inline_call(cj_fn *f, cj_fn *callee, const cj_val *results, const cj_val *args, const char *call)
{
    uint32_t result[MOST_ARGUMENTS], arg[MOST_ARGUMENTS];
    for (size_t i = 0; i < callee->nresult; i++)
        if (!(result[i] = bind(f, callee, f->m->var[callee->result[i]], i, results[i], true, call))) return;
    for (size_t i = 0; i < callee->nparam; i++)
        if (!(arg[i] = bind(f, callee, f->m->var[callee->param[i]], i, args[i], false, call))) return;
    callee->called = 1;
    cji_inline_call(f, callee, result, arg, call);
}

static void emit_call(cj_fn *f, cj_fn *callee, const cj_val *results, size_t nresults, const cj_val *args, size_t n,
                      const char *call)
{
    cj_val v[3];
    size_t nv = 0;
    if (n != callee->nparam || (n && !args)) { wrong_number(f, callee, n, callee->nparam, "parameter", call); return; }
    if (nresults != callee->nresult || (nresults && !results)) {
        wrong_number(f, callee, nresults, callee->nresult, "result", call);
        return;
    }
    if (n > MOST_ARGUMENTS || nresults > MOST_ARGUMENTS) {
        wrong_number(f, callee, n, MOST_ARGUMENTS, "parameters at most", call);
        return;
    }
    if (callee->inlined && cji_inlines(f, callee)) {
        inline_call(f, callee, results, args, call);
        return;
    }
    if (nresults) {
        v[nv++] = cji_val_of(f, bind_list(f, callee, callee->result, results, nresults, true, call), CJ_VOID);
        if (!v[nv - 1].bits) return;
    }
    v[nv++] = cji_val_of(f, cji_word(CJI_K_FUNC, callee->index), CJ_VOID);
    if (n) {
        v[nv++] = cji_val_of(f, bind_list(f, callee, callee->param, args, n, false, call), CJ_VOID);
        if (!v[nv - 1].bits) return;
    }
    cji_form *e = cji_verb(f, CJI_VERB_CALL, 0, 0, 0, call);
    if (e && cji_emit(f, e, 0, v, nv, CJI_NO_DEF, call).bits) callee->called = 1;
}

void cj_call_into(cj_fn *f, cj_fn *callee, const cj_val *results, size_t nresults, const cj_val *args, size_t n)
{
    if (cji_fn_callable(f, callee, __func__)) emit_call(f, callee, results, nresults, args, n, __func__);
}

cj_val cj_call_n(cj_fn *f, cj_fn *callee, const cj_val *args, size_t n)
{
    cj_val result[MOST_ARGUMENTS];
    if (!cji_fn_callable(f, callee, "cj_call")) return CJI_NULL;
    if (callee->nresult > MOST_ARGUMENTS)
        return wrong_number(f, callee, callee->nresult, MOST_ARGUMENTS, "results at most", "cj_call"), CJI_NULL;
    for (size_t i = 0; i < callee->nresult; i++) {
        result[i] = cji_reg_val(f, f->m->var[callee->result[i]]->type);
        if (!result[i].bits) return CJI_NULL;
    }
    emit_call(f, callee, result, callee->nresult, args, n, "cj_call");
    return f->m->dead || !callee->nresult ? CJI_NULL : result[0];
}
