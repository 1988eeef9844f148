/* Decoded forms, kept once for each module: by number and by spelling; resolved mnemonics. */
#include <stdio.h>
#include <string.h>

#include "ptx/build.h"

/* A form is quick when each operand is one register: two masks decide, and no literal needs converting. */
static void set_quick(cji_form *e)
{
    const cji_isa_form *isa = e->isa;
    bool quick = isa->nopnd > 0 && isa->nopnd <= CJI_QUICK;
    e->plain = 1;
    for (unsigned i = 0; i < isa->nopnd; i++) {
        const cji_isa_opnd *o = &isa->opnd[i];
        if (o->optional || o->count || !(o->kinds & 1u << CJI_K_REG)) quick = false;
        if (i < CJI_QUICK) e->quick_types[i] = o->types;
        if (o->version || o->pair_version || (o->optional && o->targets) || o->kinds >> CJI_K_PAIR & 1) e->plain = 0;
    }
    e->quick = quick ? isa->nopnd : 0;
    e->made = quick && isa->opnd[0].role & CJI_WRITE ? isa->opnd[0].type : CJ_VOID;
}

static bool grow_form_slots(cj_ptx *m)
{
    size_t want = m->nform_slot ? m->nform_slot * 2 : 16;
    struct cji_form_slot *fresh = cji_zalloc(want * sizeof *fresh);
    if (!fresh) return false;
    for (size_t i = 0; i < m->nform; i++) {
        size_t at = cji_form_hash(m->form[i]->isa->form) & (want - 1);
        while (fresh[at].index) at = (at + 1) & (want - 1);
        fresh[at] = (struct cji_form_slot){ m->form[i]->isa->form, (uint32_t)i + 1 };
    }
    cji_free(m->form_slot, m->nform_slot * sizeof *m->form_slot);
    m->form_slot = fresh;
    m->nform_slot = want;
    return true;
}

/* The slot of `form`, or the empty one where it belongs. */
static struct cji_form_slot *form_slot(const cj_ptx *m, uint32_t form)
{
    size_t mask = m->nform_slot - 1, at = cji_form_hash(form) & mask;
    while (m->form_slot[at].index && m->form_slot[at].form != form) at = (at + 1) & mask;
    return &m->form_slot[at];
}

const cji_isa_form *cji_ptx_isa(cj_ptx *m, uint32_t form)
{
    const cji_isa_form *shared = cji_isa_shared(form);
    if (shared) return shared;
    cji_isa_form *own = cji_arena_alloc(&m->arena, sizeof *own);
    if (!own) return cji_ptx_nomem(m, "cj_ins"), NULL;
    if (cji_isa_get(form, own)) return own;
    cji_ptx_fail(m, CJ_EUNKNOWN, "cj_ins", m->loc, "%u is not an instruction; cj_op_find() returns their numbers",
                 form);
    return NULL;
}

static cji_form *form_decode(cj_ptx *m, uint32_t form)
{
    if ((m->nform + 1) * 2 > m->nform_slot && !grow_form_slots(m)) return cji_ptx_nomem(m, "cj_ins"), NULL;
    cji_form *e = cji_arena_alloc(&m->arena, sizeof *e);
    if (!e || !cji_grow(&m->form, &m->cform, m->nform + 1, sizeof *m->form)) return cji_ptx_nomem(m, "cj_ins"), NULL;
    e->isa = cji_ptx_isa(m, form);
    if (!e->isa) return NULL;
    e->index = (uint32_t)m->nform;
    e->next = CJI_FORM_NONE;
    e->targets = cji_target_set(e->isa->targets);
    e->gone = e->isa->end_version ? cji_target_set(e->isa->end_targets) : 0;
    set_quick(e);
    m->form[m->nform++] = e;
    *form_slot(m, form) = (struct cji_form_slot){ form, e->index + 1 };
    return e;
}

cji_form *cji_ptx_form(cj_ptx *m, uint32_t form)
{
    if (m->nform_slot) {
        const struct cji_form_slot *s = form_slot(m, form);
        if (s->index) return m->form[s->index - 1];
    }
    return form_decode(m, form);
}

/* ---- By spelling ------------------------------------------------------------------------------------------------- */

static bool grow_word_slots(cj_ptx *m)
{
    size_t want = m->nword_slot ? m->nword_slot * 2 : 8;
    struct cji_word_slot *fresh = cji_zalloc(want * sizeof *fresh);
    if (!fresh) return false;
    for (size_t i = 0; i < m->nword_slot; i++) {
        if (!m->word_slot[i].text) continue;
        size_t at = m->word_slot[i].hash & (want - 1);
        while (fresh[at].text) at = (at + 1) & (want - 1);
        fresh[at] = m->word_slot[i];
    }
    cji_free(m->word_slot, m->nword_slot * sizeof *m->word_slot);
    m->word_slot = fresh;
    m->nword_slot = want;
    return true;
}

static struct cji_word_slot *word_slot(const cj_ptx *m, uint64_t hash, const char *s, size_t len)
{
    size_t mask = m->nword_slot - 1, at = hash & mask;
    for (;; at = (at + 1) & mask) {
        struct cji_word_slot *w = &m->word_slot[at];
        if (!w->text || (w->hash == hash && w->len == len && cji_equal(w->text, s, len))) return w;
    }
}

static void explain(cj_ptx *m, const char *s, size_t len, const char *call, uint32_t loc)
{
    char why[360];
    int show = len > 100 ? 100 : (int)len;
    cji_isa_explain(s, len, why, sizeof why);
    if (!strncmp(why, "no instruction", 14)) cji_ptx_fail(m, CJ_EUNKNOWN, call, loc, "%s", why);
    else cji_ptx_fail(m, CJ_EUNKNOWN, call, loc, "no instruction \"%.*s\": %s", show, s, why);
}

cji_form *cji_ptx_spelling(cj_ptx *m, const char *s, size_t len, const char *call, uint32_t loc)
{
    uint64_t hash = cji_hash(s, len);
    if (m->nword_slot) {
        const struct cji_word_slot *w = word_slot(m, hash, s, len);
        if (w->text) return m->form[w->index];
    }
    uint32_t form = cji_isa_find(s, len);
    if (form == CJI_FORM_NONE) return explain(m, s, len, call, loc), NULL;
    cji_form *e = cji_ptx_form(m, form);
    if (!e) return NULL;
    const bool canonical = len == e->isa->len && !memcmp(s, e->isa->text, len);
    const char *text = canonical ? e->isa->text : cji_arena_strndup(&m->arena, s, len);
    if (!text || ((m->nwords + 1) * 2 > m->nword_slot && !grow_word_slots(m))) return cji_ptx_nomem(m, call), NULL;
    *word_slot(m, hash, s, len) = (struct cji_word_slot){ hash, text, (uint32_t)len, e->index };
    m->nwords++;
    return e;
}

cj_op cj_op_find(const char *mnemonic)
{
    char why[360];
    size_t len = mnemonic ? strlen(mnemonic) : 0;
    uint32_t form = cji_isa_find(mnemonic ? mnemonic : "", len);
    if (form != CJI_FORM_NONE) return (cj_op){ form + 1 };
    cji_isa_explain(mnemonic ? mnemonic : "", len, why, sizeof why);
    if (!strncmp(why, "no instruction", 14)) cji_fail(NULL, CJ_EUNKNOWN, __func__, "%s", why);
    else cji_fail(NULL, CJ_EUNKNOWN, __func__, "no instruction \"%.100s\": %s", mnemonic ? mnemonic : "", why);
    return (cj_op){ 0 };
}

/* The spelling, whole where it has up to `most` characters, else as many whole words as fit (one at least). */
void cji_form_short(const cji_form *e, char *out, size_t size, size_t most)
{
    size_t n = e->isa->len;
    if (n > most) {
        for (n = most; n > 0 && e->isa->text[n] != '.'; n--) ;
        if (!n) for (n = 1; n < e->isa->len && e->isa->text[n] != '.'; n++) ;
    }
    if (n >= size) n = size - 1;
    memcpy(out, e->isa->text, n);
    out[n] = 0;
}
