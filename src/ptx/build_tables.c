/* A function's tables: registers, literals, addresses, lists, labels; and operands described for the matcher. */
#include <stdio.h>
#include <string.h>

#include "ptx/build.h"

static bool no_room(cj_fn *f, size_t n)
{
    if (f->m->dead) return true;
    if (n < CJI_INDEX_MAX - 1) return false;
    cji_ptx_fail(f->m, CJ_EPTX, "cj_fn", f->loc, "%s is too large: a table of it has %zu entries",
                 cji_short(cji_ptx_name(f->m, f->name)), n);
    return true;
}

static uint32_t out_of_memory(cj_fn *f) { return cji_ptx_nomem(f->m, "cj_fn"), 0; }

/* ---- Registers --------------------------------------------------------------------------------------------------- */

static bool type_allowed(cj_fn *f, unsigned type)
{
    if (type == CJ_B128) return cji_ptx_need(f->m, 83, cji_targets_from(70), ".b128", f->loc);
    if (type == CJ_F16X2) return cji_ptx_need(f->m, 42, cji_targets_from(53), ".f16x2", f->loc);
    if (type > CJ_VOID && type < CJ_TYPE_COUNT) return true;
    cji_ptx_fail(f->m, CJ_EINVAL, "cj_reg", f->loc, "cj_reg: type %u does not exist for registers", type);
    return false;
}

uint32_t cji_fn_reg(cj_fn *f, unsigned type)
{
    size_t i = f->nreg;
    if (no_room(f, i) || !type_allowed(f, type)) return 0;
    if (i == f->creg && !cji_grow(&f->reg, &f->creg, i + 2 * CJI_AHEAD, sizeof *f->reg)) return out_of_memory(f);
    f->reg[i] = (cji_reg){ .type = (uint8_t)type, .number = f->count[cji_type_declared(type)]++ };
    f->nreg = i + 1;
    return cji_word(CJI_K_REG, (uint32_t)i);
}

uint32_t cji_fn_regs(cj_fn *f, unsigned type, size_t n)
{
    uint32_t first = n ? cji_fn_reg(f, type) : 0, *number = &f->count[cji_type_declared(type)];
    if (!first || no_room(f, f->nreg + n)) return 0;
    if (!cji_grow(&f->reg, &f->creg, f->nreg + n, sizeof *f->reg)) return out_of_memory(f);
    for (size_t i = 1; i < n; i++) f->reg[f->nreg++] = (cji_reg){ .type = (uint8_t)type, .number = (*number)++ };
    return first;
}

static void give_name(cj_fn *f, uint32_t reg, const char *name, size_t len)
{
    if (!(f->reg[reg].flags & CJI_REG_NAMED)) f->count[cji_type_declared(f->reg[reg].type)]--;   /* takes no number */
    f->reg[reg].number = cji_ptx_intern(f->m, name, len);
    f->reg[reg].flags |= CJI_REG_NAMED;
}

/* name.x, name.y ...: the registers from `first` on. */
static void give_names(cj_fn *f, uint32_t first, uint32_t n, const char *name, size_t len)
{
    cji_text element = { 0 };
    for (uint32_t i = 0; i < n && !f->m->dead; i++) {
        element.n = 0;
        cji_text_put(&element, name, len);
        cji_text_putc(&element, '.');
        cji_text_putc(&element, "xyzw"[i]);
        if (element.failed) cji_ptx_nomem(f->m, "cj_parse");
        else give_name(f, first + i, element.p, element.n);
    }
    cji_text_free(&element);
}

uint32_t cji_fn_named_reg(cj_fn *f, unsigned type, const char *name, size_t len)
{
    uint32_t word = cji_fn_reg(f, type);
    if (!word) return 0;
    give_name(f, cji_word_index(word), name, len);
    f->named_regs++;
    return f->m->dead ? 0 : word;
}

uint32_t cji_fn_vreg(cj_fn *f, unsigned type, unsigned n, const char *name, size_t len, bool head)
{
    uint32_t first = 0;
    if (!cji_grow(&f->vreg, &f->cvreg, f->nvreg + 1, sizeof *f->vreg)) return cji_ptx_nomem(f->m, "cj_parse"), 0;
    for (unsigned i = 0; i < n; i++) {
        uint32_t word = cji_fn_reg(f, type);
        if (!word) return 0;
        if (!i) first = word;
    }
    give_names(f, cji_word_index(first), n, name, len);
    uint32_t at = cji_ptx_intern(f->m, name, len);
    if (f->m->dead) return 0;
    f->vreg[f->nvreg++] = (cji_vreg){ .first = cji_word_index(first), .n = n, .name = at, .declared = !head };
    return first;
}

cji_vreg *cji_fn_vreg_at(const cj_fn *f, uint32_t first)
{
    size_t low = 0, high = f->nvreg;   /* in the order of `first` */
    while (low < high) {
        size_t at = (low + high) / 2;
        if (f->vreg[at].first == first) return &f->vreg[at];
        if (f->vreg[at].first < first) low = at + 1;
        else high = at;
    }
    return NULL;
}

void cji_fn_vreg_rename(cj_fn *f, uint32_t first, const char *name, size_t len)
{
    cji_vreg *v = cji_fn_vreg_at(f, first);
    if (!v) return;
    give_names(f, first, v->n, name, len);
    v->name = cji_ptx_intern(f->m, name, len);
}

uint32_t cji_fn_ptr(cj_fn *f, unsigned type, unsigned elem, unsigned space)
{
    uint32_t w = cji_fn_reg(f, type);
    if (!w) return 0;
    cji_reg *r = &f->reg[cji_word_index(w)];
    r->elem = (uint8_t)elem;
    r->space = (uint8_t)space;
    r->flags |= CJI_REG_PTR;
    return w;
}

/* ---- Literals ---------------------------------------------------------------------------------------------------- */

static size_t lit_hash(const cji_lit *l)
{
    const uint64_t key[2] = { l->bits >> 4, l->lit | (uint64_t)l->wide << 8 | (uint64_t)l->type << 16 };
    return (size_t)cji_hash_near(key, sizeof key, l->bits & 15);
}

static bool grow_lit_slots(cj_fn *f)
{
    size_t want = f->nlit_slot ? f->nlit_slot * 2 : 32;
    uint32_t *fresh = cji_zalloc(want * sizeof *fresh);
    if (!fresh) return false;
    for (size_t i = 0; i < f->nlit; i++) {
        size_t at = lit_hash(&f->lit[i]) & (want - 1);
        while (fresh[at]) at = (at + 1) & (want - 1);
        fresh[at] = (uint32_t)i + 1;
    }
    cji_free(f->lit_slot, f->nlit_slot * sizeof *f->lit_slot);
    f->lit_slot = fresh;
    f->nlit_slot = want;
    return true;
}

uint32_t cji_fn_lit(cj_fn *f, unsigned lit, uint64_t bits, bool wide, unsigned type)
{
    cji_lit l = { .bits = bits, .lit = (uint8_t)lit, .wide = wide, .type = (uint8_t)type };
    if (no_room(f, f->nlit)) return 0;
    if ((f->nlit + 1) * 2 > f->nlit_slot && !grow_lit_slots(f)) return out_of_memory(f);
    size_t mask = f->nlit_slot - 1, at = lit_hash(&l) & mask;
    for (; f->lit_slot[at]; at = (at + 1) & mask)
        if (!memcmp(&f->lit[f->lit_slot[at] - 1], &l, sizeof l)) return cji_word(CJI_K_IMM, f->lit_slot[at] - 1);
    if (!cji_grow(&f->lit, &f->clit, f->nlit + 1, sizeof *f->lit)) return out_of_memory(f);
    f->lit[f->nlit] = l;
    f->lit_slot[at] = (uint32_t)++f->nlit;
    return cji_word(CJI_K_IMM, (uint32_t)f->nlit - 1);
}

/* ---- Addresses, lists, labels ------------------------------------------------------------------------------------ */

uint32_t cji_fn_mem(cj_fn *f, uint32_t base, int64_t offset)
{
    if (no_room(f, f->nmem)) return 0;
    if (!cji_grow(&f->mem, &f->cmem, f->nmem + 1, sizeof *f->mem)) return out_of_memory(f);
    f->mem[f->nmem] = (cji_mem){ .offset = offset, .base = base };
    return cji_word(CJI_K_MEM, (uint32_t)f->nmem++);
}

uint32_t cji_fn_bare(cj_fn *f, uint32_t symbol, int64_t offset)
{
    uint32_t word = offset ? cji_fn_mem(f, symbol, offset) : symbol;
    if (word && offset) f->mem[cji_word_index(word)].bare = 1;
    return word;
}

/* Room for n words and their count; the index of the count, SIZE_MAX on failure. */
size_t cji_fn_pool(cj_fn *f, const uint32_t *word, size_t n)
{
    size_t at = f->npool;
    if (no_room(f, at + n) || n > CJI_INDEX_MAX) return SIZE_MAX;
    if (!cji_grow(&f->pool, &f->cpool, at + n + 1, sizeof *f->pool)) return out_of_memory(f), SIZE_MAX;
    f->pool[at] = (uint32_t)n;
    if (n) memcpy(f->pool + at + 1, word, n * sizeof *word);
    f->npool += n + 1;
    return at;
}

uint32_t cji_fn_list(cj_fn *f, unsigned kind, const uint32_t *word, size_t n)
{
    size_t at = cji_fn_pool(f, word, n);
    return at == SIZE_MAX ? 0 : cji_word(kind, (uint32_t)at);
}

/* A name for a nameless label of a function whose other labels have names (it was read from text): one that nothing
 * in the module has. */
static uint32_t fresh_label_name(cj_fn *f)
{
    char name[24];
    int n;
    size_t i = f->nlabel;
    do n = snprintf(name, sizeof name, "$L%zu", i++);
    while (cji_map_find(&f->m->names, name, (size_t)n) != CJI_MAP_NONE);
    return cji_ptx_intern(f->m, name, (size_t)n);
}

uint32_t cji_fn_label(cj_fn *f, const char *name, size_t len)
{
    if (no_room(f, f->nlabel)) return 0;
    if (name) f->named_labels = 1;
    if (!cji_grow(&f->label, &f->clabel, f->nlabel + 1, sizeof *f->label)) return out_of_memory(f);
    f->label[f->nlabel] = (cji_label){ .at = UINT32_MAX,
                                       .loc = f->loc,
                                       .name = name              ? cji_ptx_intern(f->m, name, len)
                                               : f->named_labels ? fresh_label_name(f)
                                                                 : 0 };
    return f->m->dead ? 0 : cji_word(CJI_K_LABEL, (uint32_t)f->nlabel++);
}

bool cji_fn_pseudo(cj_fn *f, uint32_t kind, uint32_t word)
{
    if (no_room(f, f->nins)) return false;
    if (f->nins == f->cins && !cji_grow(&f->ins, &f->cins, f->nins + CJI_AHEAD, sizeof *f->ins))
        return out_of_memory(f), false;
    f->ins[f->nins++] = (cji_ins){ .form = kind, .loc = f->loc, .opnd = { word } };
    return true;
}

void cji_fn_bind(cj_fn *f, uint32_t label)
{
    cji_label *l = &f->label[cji_word_index(label)];
    if (f->m->dead) return;
    if (l->at != UINT32_MAX) {
        cji_ptx_fail(f->m, CJ_EPTX, "cj_label_bind", f->loc, "label %s is bound twice",
                     l->name ? cji_short(cji_ptx_name(f->m, l->name)) : "made by cj_label()");
        return;
    }
    if (cji_fn_pseudo(f, CJI_INS_LABEL, label)) l->at = (uint32_t)f->nins - 1;
}

/* Labels that an operand names are used from now on: finish wants them placed.  Functions that come later are to be
 * declared in front. */
void cji_fn_use(cj_fn *f, uint32_t word)
{
    uint32_t n;
    switch (cji_word_kind(word)) {
    case CJI_K_LABEL: f->label[cji_word_index(word)].used = 1; break;
    case CJI_K_FUNC:
        if (f->m->fn[cji_word_index(word)]->order > f->order) f->m->fn[cji_word_index(word)]->early = 1;
        break;
    case CJI_K_LIST:
        for (const uint32_t *w = cji_fn_words(f, word, &n); n; n--, w++) cji_fn_use(f, *w);
        break;
    default: break;
    }
}

uint32_t cji_fn_tlist(cj_fn *f, unsigned kind, const char *name, size_t len, uint32_t list, uint32_t proto)
{
    if (no_room(f, f->ntlist)) return 0;
    if (!cji_grow(&f->tlist, &f->ctlist, f->ntlist + 1, sizeof *f->tlist)) return out_of_memory(f);
    f->tlist[f->ntlist] =
        (cji_tlist){ .name = name ? cji_ptx_intern(f->m, name, len) : 0, .kind = kind, .list = list, .proto = proto };
    if (f->m->dead) return 0;
    if (list) cji_fn_use(f, list);
    uint32_t word = cji_word(CJI_K_TARGETS, (uint32_t)f->ntlist++);
    return cji_fn_pseudo(f, CJI_INS_TARGETS, word) ? word : 0;
}

/* ---- For the matcher --------------------------------------------------------------------------------------------- */

static uint8_t element_type(const cj_fn *f, uint32_t word)
{
    switch (cji_word_kind(word)) {
    case CJI_K_REG: return f->reg[cji_word_index(word)].type;
    case CJI_K_NOT: return CJ_PRED;
    default: return CJ_VOID;
    }
}

/* An element of a vector: cji_isa_arg.types. */
static uint8_t element(const cj_fn *f, uint32_t word)
{
    if (cji_word_kind(word) != CJI_K_IMM) return element_type(f, word);
    return (uint8_t)(CJI_ELEM_LITERAL | f->lit[cji_word_index(word)].lit);
}

static void vec_arg(const cj_fn *f, uint32_t word, cji_isa_arg *arg, uint8_t *types)
{
    uint32_t n;
    const uint32_t *w = cji_fn_words(f, word, &n);
    if (n > 255) n = 255;
    for (uint32_t i = 0; i < n; i++) types[i] = element(f, w[i]);
    arg->count = (uint8_t)n;
    arg->types = types;
}

static void tex_arg(const cj_fn *f, uint32_t word, cji_isa_arg *arg, uint8_t *types)
{
    uint32_t n;
    const uint32_t *w = cji_fn_words(f, word, &n);
    arg->type = element_type(f, w[0]);
    arg->sampler = w[1] != 0;
    if (cji_word_kind(w[2]) == CJI_K_VEC) vec_arg(f, w[2], arg, types);
    else types[0] = element(f, w[2]), arg->count = 1, arg->types = types;
}

static void symbol_arg(const cj_fn *f, uint32_t index, cji_isa_arg *arg)
{
    const cji_var *v = f->m->var[index];
    arg->space = v->space;
    if (v->space != CJI_SP_PARAM) return;
    arg->limits = v->flags & CJI_VAR_RESULT ? CJI_ARG_NO_READ
                : v->flags & CJI_VAR_HEAD  ? CJI_ARG_NO_WRITE
                                            : CJI_ARG_NO_ADDRESS;
}

static void mem_arg(const cj_fn *f, uint32_t word, cji_isa_arg *arg)
{
    const cji_mem *m = &f->mem[cji_word_index(word)];
    if (m->bare) arg->kind = CJI_K_SYM;
    if (cji_word_kind(m->base) == CJI_K_SYM) symbol_arg(f, cji_word_index(m->base), arg);
    else if (cji_word_kind(m->base) == CJI_K_IMM) arg->limits = CJI_ARG_NUMBER;
    else arg->type = element_type(f, m->base);
}

static void pair_arg(const cj_fn *f, uint32_t word, cji_isa_arg *arg, uint8_t *types)
{
    uint32_t n;
    const uint32_t *w = cji_fn_words(f, word, &n);
    arg->first = (uint8_t)cji_word_kind(w[0]);
    arg->type = element_type(f, w[0]);
    arg->second = element_type(f, w[1]);
    if (arg->first == CJI_K_VEC) vec_arg(f, w[0], arg, types);
}

void cji_fn_arg(const cj_fn *f, uint32_t word, cji_isa_arg *arg, uint8_t *types)
{
    uint32_t i = cji_word_index(word);
    *arg = (cji_isa_arg){ .kind = (uint8_t)cji_word_kind(word) };
    switch (arg->kind) {
    case CJI_K_REG: arg->type = f->reg[i].type; break;
    case CJI_K_NOT: arg->type = CJ_PRED; break;
    case CJI_K_IMM:
        arg->lit = f->lit[i].lit;
        arg->wide = f->lit[i].wide;
        arg->value = (int64_t)f->lit[i].bits;
        break;
    case CJI_K_SREG:
        arg->type = cji_isa_sreg_at(i)->type;
        arg->count = cji_isa_sreg_at(i)->vector;
        arg->least = cji_isa_sreg_at(i)->least;
        break;
    case CJI_K_SYM: symbol_arg(f, i, arg); break;
    case CJI_K_MEM: mem_arg(f, word, arg); break;
    case CJI_K_VEC: vec_arg(f, word, arg, types); break;
    case CJI_K_TEXMEM: tex_arg(f, word, arg, types); break;
    case CJI_K_PAIR: pair_arg(f, word, arg, types); break;
    default: break;
    }
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static bool name_in(const cj_ptx *m, const uint32_t *list, size_t n, uint32_t name)
{
    for (size_t i = 0; i < n; i++)
        if (m->var[list[i]]->name == name) return true;
    return false;
}

bool cji_fn_hides(const cj_fn *f, uint32_t name)
{
    const cj_ptx *m = f->m;
    return name_in(m, f->param, f->nparam, name) || name_in(m, f->result, f->nresult, name) ||
           name_in(m, f->var, f->nvar, name);
}
