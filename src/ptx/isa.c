/* Forms decoded from the compiled table: mixed radix, no allocation, constant data only. */
#include <string.h>

#include "isa.h"
#include "isa_row.h"
#include "isa_table.h"

uint32_t cji_isa_rows(void) { return cji_isa_table_rows; }
uint32_t cji_isa_forms(void) { return cji_isa_table[cji_isa_table_rows].first; }
uint64_t cji_isa_hash(void) { return cji_isa_content_hash; }
uint64_t cj_table_hash(void) { return cji_isa_content_hash; }

/* The row that holds `form`: binary search over the first forms. */
static uint32_t row_of(uint32_t form)
{
    uint32_t lo = 0, hi = cji_isa_table_rows;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (cji_isa_table[mid].first <= form) lo = mid;
        else hi = mid;
    }
    return lo;
}

uint32_t cji_row_form(const cji_isa_row *r, const uint8_t *choice)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->nslot; i++) {
        const cji_isa_slot *s = &cji_isa_slots[r->slot + i];
        n = n * (s->count + s->optional) + choice[i];
    }
    return r->first + n;
}

void cji_row_choices(const cji_isa_row *r, uint32_t form, uint8_t *choice)
{
    uint32_t n = form - r->first;
    for (uint32_t i = r->nslot; i-- > 0;) {
        const cji_isa_slot *s = &cji_isa_slots[r->slot + i];
        uint32_t radix = (uint32_t)s->count + s->optional;
        choice[i] = (uint8_t)(n % radix);
        n /= radix;
    }
}

/* The value that slot `i` takes, NULL when its modifier is left out. */
static const cji_isa_value *chosen(const cji_isa_row *r, const uint8_t *choice, uint32_t i)
{
    const cji_isa_slot *s = &cji_isa_slots[r->slot + i];
    if (s->optional && !choice[i]) return NULL;
    return &cji_isa_values[s->value + choice[i] - s->optional];
}

static void need(cji_isa_form *f, uint8_t version, uint8_t targets)
{
    if (f->version < version) f->version = version;
    f->targets = cji_isa_target_meet[f->targets * cji_isa_target_set_count + targets];
}

static bool spell(const cji_isa_row *r, const uint8_t *choice, cji_isa_form *f)
{
    size_t len = 0;
    f->nwords = 0;
    for (uint32_t i = 0; i < r->npiece; i++) {
        uint16_t word = cji_isa_pieces[r->piece + i];
        if (word & CJI_PIECE_SLOT) {
            const cji_isa_value *v = chosen(r, choice, word & CJI_PIECE_MASK);
            if (!v) continue;
            word = v->word;
        }
        size_t n = (size_t)(cji_isa_word_at[word + 1] - cji_isa_word_at[word]);
        if (len + n + 2 > CJI_ISA_SPELLING || f->nwords == CJI_ISA_WORDS) return false;
        if (len) f->text[len++] = '.';
        memcpy(f->text + len, cji_isa_text + cji_isa_word_at[word], n);
        len += n;
        f->word[f->nwords++] = word;
    }
    f->text[len] = 0;
    f->len = (uint8_t)len;
    return true;
}

/* The class at a place: its own, or the one that a slot's value brings. */
static const cji_isa_class *class_of(const cji_isa_row *r, const uint8_t *choice, uint8_t cls, uint8_t slot)
{
    if (slot == CJI_ISA_ANY) return &cji_isa_classes[cls];
    const cji_isa_value *v = chosen(r, choice, slot);
    return v ? &cji_isa_classes[v->cls] : NULL;
}

static uint8_t number_of(const cji_isa_row *r, const uint8_t *choice, uint8_t number, uint8_t slot, uint8_t div)
{
    if (slot == CJI_ISA_ANY) return number;
    const cji_isa_value *v = chosen(r, choice, slot);
    return v ? (uint8_t)(v->num / div) : 0;
}

static void typed(const cji_isa_class *c, const cji_isa_place *p, cji_isa_opnd *o)
{
    o->types = c->types;
    o->type = c->type;
    o->literal = p->flags & CJI_OF_REGONLY ? 0 : c->literal;
}

static void place_kinds(const cji_isa_row *r, const uint8_t *choice, const cji_isa_place *p, cji_isa_opnd *o)
{
    uint32_t shape = p->shape;
    if (shape == CJI_SH_VEC || shape == CJI_SH_TEXMEM) {
        o->count = number_of(r, choice, p->count, p->count_slot, p->count_div);
        if (shape == CJI_SH_VEC && !o->count) shape = CJI_SH_REG; /* the vector modifier is left out */
    }
    switch (shape) {
    case CJI_SH_IMM: o->kinds = 1u << CJI_K_IMM; o->literal = CJI_CLS_INT; o->type = CJ_S32; break;
    case CJI_SH_MEM: o->kinds = 1u << CJI_K_MEM; break;
    case CJI_SH_VEC: o->kinds = 1u << CJI_K_VEC; break;
    case CJI_SH_TEXMEM: o->kinds = 1u << CJI_K_TEXMEM; break;
    case CJI_SH_LABEL: o->kinds = 1u << CJI_K_LABEL; break;
    case CJI_SH_FUNC: o->kinds = 1u << CJI_K_FUNC; break;
    case CJI_SH_LIST: o->kinds = 1u << CJI_K_LIST; break;
    case CJI_SH_SINK: break;
    case CJI_SH_TARGETS: o->kinds = 1u << CJI_K_TARGETS; break;
    default: o->kinds = 1u << CJI_K_REG | (o->literal ? 1u << CJI_K_IMM : 0); break;
    }
    if (p->flags & CJI_OF_ONE) o->kinds |= 1u << CJI_K_VEC;
    if (p->flags & CJI_OF_SREG) o->kinds |= 1u << CJI_K_SREG;
    if (p->flags & CJI_OF_SYM) o->kinds |= 1u << CJI_K_SYM;
    if (p->flags & CJI_OF_SYM && p->space_slot == CJI_ISA_ANY && !p->space) o->kinds |= 1u << CJI_K_FUNC;
    if (p->flags & CJI_OF_NOT) o->kinds |= 1u << CJI_K_NOT;
    if (p->flags & CJI_OF_SINK && shape != CJI_SH_VEC) o->kinds |= 1u << CJI_K_SINK;
    if (p->flags & CJI_OF_PAIR) o->kinds |= 1u << CJI_K_PAIR;
    if (p->flags & CJI_OF_PAIRONLY) o->kinds = 1u << CJI_K_PAIR;
}

static void resolve(const cji_isa_row *r, const uint8_t *choice, const cji_isa_place *p, cji_isa_opnd *o)
{
    memset(o, 0, sizeof *o);
    o->role = (uint8_t)(p->flags & (CJI_OF_READ | CJI_OF_WRITE));
    o->optional = !!(p->flags & CJI_OF_OPTIONAL);
    o->sink2 = !!(p->flags & CJI_OF_SINK2);
    o->sink1 = !!(p->flags & CJI_OF_SINK);
    o->one = !!(p->flags & CJI_OF_ONE);
    o->any_space = !!(p->flags & CJI_OF_ANY);
    o->lo = cji_isa_ranges[p->range].lo;
    o->hi = cji_isa_ranges[p->range].hi;
    o->step = cji_isa_ranges[p->range].step;
    if (p->shape == CJI_SH_REG || p->shape == CJI_SH_VEC || p->shape == CJI_SH_TEXMEM) {
        const cji_isa_class *c = class_of(r, choice, p->cls, p->cls_slot);
        if (c) typed(c, p, o);
        o->count2 = number_of(r, choice, p->count2, p->count2_slot, 1);
        c = class_of(r, choice, p->cls2, p->cls2_slot);
        if (o->count2 && c) { o->type2 = c->type; o->types2 = c->types; }
    }
    place_kinds(r, choice, p, o);
    const cji_isa_value *v = p->space_slot == CJI_ISA_ANY ? NULL : chosen(r, choice, p->space_slot);
    o->space = v ? v->space : p->space;
    if (p->shape == CJI_SH_MEM) {
        o->type = CJ_U64;
        o->types = 1u << CJ_B32 | 1u << CJ_U32 | 1u << CJ_S32 | 1u << CJ_B64 | 1u << CJ_U64 | 1u << CJ_S64;
        if (p->flags & CJI_OF_TMEM) { o->type = CJ_U32; o->types = 1u << CJ_B32 | 1u << CJ_U32 | 1u << CJ_S32; }
    }
    if (p->flags & CJI_OF_PAIR) {
        o->pair_type = cji_isa_classes[p->pair_cls].type;
        o->pair_version = p->pair_version;
        o->pair_targets = p->pair_targets;
    }
    o->version = p->version;
    o->targets = p->targets;
}

static bool decode(uint32_t row, const uint8_t *choice, cji_isa_form *f)
{
    const cji_isa_row *r = &cji_isa_table[row];
    f->form = cji_row_form(r, choice);
    f->next = CJI_FORM_NONE;
    f->row = (uint16_t)row;
    f->op = r->op;
    f->effect = r->effect;
    f->version = r->version;
    f->targets = r->targets;
    f->end_version = r->end_version;
    f->end_targets = r->end_targets;
    f->late_version = r->late_version;
    f->late_targets = r->late_targets;
    f->section = cji_isa_sections + r->section;
    for (uint32_t i = 0; i < r->nslot; i++) {
        const cji_isa_value *v = chosen(r, choice, i);
        if (v) need(f, v->version, v->targets);
    }
    if (!spell(r, choice, f)) return false;
    f->nopnd = 0;
    for (uint32_t i = 0; i < r->nplace; i++) {
        const cji_isa_place *p = &cji_isa_places[r->place + i];
        if (p->when != CJI_ISA_ANY && !chosen(r, choice, p->when)) continue;
        if (p->unless != CJI_ISA_ANY && chosen(r, choice, p->unless)) continue;
        cji_isa_opnd *o = &f->opnd[f->nopnd++];
        resolve(r, choice, p, o);
        if (o->optional) continue;
        need(f, o->version, o->targets); /* an operand that the spelling brings is always there */
        o->version = 0;
        o->targets = 0;
    }
    return true;
}

bool cji_isa_get(uint32_t form, cji_isa_form *out)
{
    if (form >= cji_isa_forms()) return false;
    uint32_t row = row_of(form);
    uint8_t choice[CJI_ISA_SLOTS];
    cji_row_choices(&cji_isa_table[row], form, choice);
    if (!decode(row, choice, out)) return false;
    out->next = cji_row_next(row, out->word, out->nwords);
    return true;
}

bool cji_isa_word_is(uint16_t word, const char *s, size_t len)
{
    const char *text = cji_isa_text + cji_isa_word_at[word];
    return len == (size_t)(cji_isa_word_at[word + 1] - cji_isa_word_at[word]) && !memcmp(text, s, len);
}

bool cji_isa_has(const cji_isa_form *f, uint16_t word)
{
    for (uint32_t i = 0; i < f->nwords; i++)
        if (f->word[i] == word) return true;
    return false;
}
