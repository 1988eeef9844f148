/* What functions can pass: ptxas refuses a module in which a kernel comes to a call of a function with a parameter or
 * result of 8 or 16 bits that is signed or unsigned (.b8, .b16 and .f16 are taken), or with a predicate.  A function
 * with several results in registers takes the ABI from its whole module, and then all of them are passed. */
#include <stdio.h>

#include "ptx/layout.h"

typedef struct pass_search {
    const cj_ptx *m;
    bool printed;             /* the text is the printer's, which writes .b16 for integers in registers */
    uint8_t *met;             /* [nfn] */
    uint32_t *queue;          /* [nfn] */
    size_t head, tail;
    const cj_fn *in;          /* whose records are looked at */
    cji_unpassed *out;
} pass_search;

static bool is_passed(const pass_search *s, const cji_var *v)
{
    const bool integer = v->type == CJ_U16 || v->type == CJ_S16, reg = v->space == CJI_SP_REG;
    if (v->flags & CJI_VAR_ARRAY || v->vec) return true;
    if (integer) return s->printed && reg;
    return v->type != CJ_PRED && v->type != CJ_U8 && v->type != CJ_S8;
}

static bool signature_passes(pass_search *s, const cj_fn *f)
{
    for (size_t i = 0; i < f->nresult + f->nparam; i++) {
        const bool result = i < f->nresult;
        const cji_var *v = s->m->var[result ? f->result[i] : f->param[i - f->nresult]];
        if (is_passed(s, v)) continue;
        *s->out = (cji_unpassed){ .fn = f, .v = v, .result = result };
        return false;
    }
    return true;
}

static void pass_meet(pass_search *s, uint32_t index)
{
    if (s->met[index]) return;
    s->met[index] = 1;
    s->queue[s->tail++] = index;
}

static bool record_passes(pass_search *s, const cji_ins *x)
{
    const cji_form *e = cji_ins_form(s->m, x);
    for (uint32_t i = 0, n = e ? cji_ins_n(s->in, x) : 0; i < n; i++) {
        const uint32_t word = cji_ins_opnd(s->in, x, i), index = cji_word_index(word);
        const bool call = e->isa->effect & CJI_FX_CALL;
        if (cji_word_kind(word) == CJI_K_FUNC) {
            pass_meet(s, index);
            if (call && !signature_passes(s, s->m->fn[index])) return false;
        } else if (cji_word_kind(word) == CJI_K_TARGETS && s->in->tlist[index].kind == CJI_TL_PROTO) {
            if (call && !signature_passes(s, s->m->fn[s->in->tlist[index].proto])) return false;
        }
    }
    return true;
}

static bool has_abi(const cj_ptx *m)
{
    for (size_t i = 0; i < m->nfn; i++)
        if (m->fn[i]->nresult > 1 && m->fn[i]->body) return false;
    return true;
}

bool cji_ptx_passes(const cj_ptx *m, bool printed, cji_unpassed *out)
{
    const size_t bytes = m->nfn * sizeof(uint32_t);
    pass_search s = { .m = m, .printed = printed, .out = out };
    bool fine = true;
    *out = (cji_unpassed){ .fn = NULL };
    if (!m->nfn || !has_abi(m)) return true;
    s.met = cji_zalloc(m->nfn), s.queue = cji_zalloc(bytes);
    for (uint32_t i = 0; s.met && s.queue && i < m->nfn; i++)
        if (m->fn[i]->kernel && m->fn[i]->body) pass_meet(&s, i);
    while (fine && s.head < s.tail) {
        s.in = m->fn[s.queue[s.head++]];
        for (size_t i = 0; fine && i < s.in->nins; i++) fine = record_passes(&s, &s.in->ins[i]);
    }
    cji_free(s.met, m->nfn), cji_free(s.queue, bytes);
    return fine;
}

void cji_unpassed_text(const cj_ptx *m, const cji_unpassed *u, char *text, size_t size)
{
    const unsigned bits = u->v->type == CJ_PRED ? 32 : (unsigned)cji_type_bits(u->v->type);
    snprintf(text, size, "the %s '%s' of %s is .%s, which ptxas does not pass; make it .b%u",
             u->result ? "result" : "parameter", cji_short(cji_ptx_name(m, u->v->name)),
             u->fn->name ? cji_short(cji_ptx_name(m, u->fn->name)) : "a function", cji_type_word(u->v->type), bits);
}
