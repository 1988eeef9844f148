/* The decoder's core: complaints, places in the frame, words of the spelling, operands (decode.h). */
#include "sim/exec/decode.h"

#include <stdarg.h>

#include "ptx/layout.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_lane.h"

/* ---- Complaints ---- */

bool cji_dec_fail(cji_dec *d, const char *fmt, ...)
{
    if (d->failed) return false;
    d->failed = true;
    va_list args;
    va_start(args, fmt);
    cji_text_printf(d->log, "%s:%u: %s%s", d->mod->name, d->line, d->e ? d->e->isa->text : "", d->e ? " " : "");
    cji_text_vprintf(d->log, fmt, args);
    cji_text_putc(d->log, '\n');
    va_end(args);
    return false;
}

bool cji_dec_unsupported(cji_dec *d) { return cji_dec_fail(d, "is not executed by the CPU device yet"); }
bool cji_dec_no_memory(cji_dec *d) { return cji_dec_fail(d, "could not be decoded: there is no memory"); }

/* ---- Places ---- */

unsigned cji_dec_width(unsigned bits)
{
    return bits == 1    ? CJI_WP
           : bits <= 8  ? CJI_W8
           : bits <= 16 ? CJI_W16
           : bits <= 32 ? CJI_W32
           : bits <= 64 ? CJI_W64
                        : CJI_WNONE;
}

uint32_t cji_dec_room(cji_dec *d, unsigned w)
{
    uint64_t end = d->extra, bytes = cji_width_bytes(w), off;
    if (!cji_layout_add(&end, bytes > 4 ? 32 : 4, bytes, CJI_FRAME_BYTES, &off)) {
        cji_dec_fail(d, "is too much for the frame of %s: a warp's registers and constants have at most %llu bytes",
                     cji_short(d->fn->name), (unsigned long long)CJI_FRAME_BYTES);
        return sizeof(cji_frame);
    }
    d->extra = (uint32_t)end;
    return (uint32_t)off;
}

/* The slot that holds the constant's number + 1, or the empty one where it belongs. */
static uint32_t *decode_slot(cji_dec *d, const struct cji_dec_const *c)
{
    uint64_t key[2] = { c->bits >> 4, c->w | (uint64_t)c->kind << 8 };
    size_t mask = d->nslot - 1, at = (size_t)cji_hash_near(key, sizeof key, c->bits & 15) & mask;
    for (; d->slot[at]; at = (at + 1) & mask) {
        const struct cji_dec_const *x = &d->con[d->slot[at] - 1];
        if (x->bits == c->bits && x->w == c->w && x->kind == c->kind) break;
    }
    return &d->slot[at];
}

static bool decode_grow_slots(cji_dec *d)
{
    size_t was = d->nslot, want = was ? was * 2 : 64;
    uint32_t *fresh = cji_zalloc(want * sizeof *fresh);
    if (!fresh) return false;
    cji_free(d->slot, was * sizeof *d->slot);
    d->slot = fresh;
    d->nslot = want;
    for (size_t i = 0; i < d->ncon; i++)
        if (d->con[i].kind != CJI_CON_TEMP) *decode_slot(d, &d->con[i]) = (uint32_t)i + 1;
    return true;
}

cji_dec_place cji_dec_const(cji_dec *d, unsigned w, uint64_t bits, unsigned kind)
{
    if (w != CJI_W64 && kind == CJI_CON_PLAIN) bits &= (UINT64_C(1) << cji_dec_bits(w)) - 1;
    if (!cji_grow(&d->con, &d->ccon, d->ncon + 1, sizeof *d->con) ||
        ((d->ncon + 1) * 2 > d->nslot && !decode_grow_slots(d))) {
        cji_dec_no_memory(d);
        return (cji_dec_place){ sizeof(cji_frame), (uint8_t)w };
    }
    struct cji_dec_const c = { .bits = bits, .w = (uint8_t)w, .kind = (uint8_t)kind };
    uint32_t *slot = NULL;
    if (kind != CJI_CON_TEMP) {
        slot = decode_slot(d, &c);
        if (*slot) return (cji_dec_place){ d->con[*slot - 1].off, (uint8_t)w };
    }
    c.off = cji_dec_room(d, w);
    d->con[d->ncon++] = c;
    if (slot) *slot = (uint32_t)d->ncon;
    return (cji_dec_place){ c.off, (uint8_t)w };
}

cji_dec_place cji_dec_temp(cji_dec *d, unsigned w) { return cji_dec_const(d, w, 0, CJI_CON_TEMP); }

uint32_t cji_dec_ext(cji_dec *d, uint32_t value)
{
    cji_exec_program *p = d->p;
    if (!cji_grow(&p->ext, &p->cext, p->next + 1, sizeof *p->ext)) {
        cji_dec_no_memory(d);
        return 0;
    }
    p->ext[p->next] = value;
    return (uint32_t)p->next++;
}

cji_rec *cji_dec_emit(cji_dec *d, cji_handler fn)
{
    static _Thread_local cji_rec nowhere;
    cji_exec_program *p = d->p;
    size_t was = p->ccode;
    if (!cji_grow(&p->code, &p->ccode, p->ncode + 1, sizeof *p->code)) {
        cji_dec_no_memory(d);
        return &nowhere;
    }
    if (p->ccode != was || !p->origin) {
        cji_origin *origin = cji_realloc(p->origin, p->corigin * sizeof *origin, p->ccode * sizeof *origin);
        if (!origin) {
            cji_dec_no_memory(d);
            return &nowhere;
        }
        p->origin = origin;
        p->corigin = p->ccode;
    }
    p->origin[p->ncode] = d->source;    /* program.c replaces its file by a copy of its own */
    p->origin[p->ncode].what = d->form && d->form->text ? d->form->text : "";
    cji_rec *r = &p->code[p->ncode++];
    *r = (cji_rec){ .fn = fn, .guard = d->guard, .line = d->line };
    return r;
}

void cji_dec_put_d(cji_rec *r, cji_dec_place x) { r->d = x.off, r->wd = x.w; }
void cji_dec_put_a(cji_rec *r, cji_dec_place x) { r->a = x.off, r->wa = x.w; }
void cji_dec_put_b(cji_rec *r, cji_dec_place x) { r->b = x.off, r->wb = x.w; }
void cji_dec_put_c(cji_rec *r, cji_dec_place x) { r->c = x.off, r->wc = x.w; }

uint32_t cji_dec_word(const cji_dec *d, uint32_t i) { return i < d->n ? cji_ins_opnd(d->f, d->x, i) : 0; }

/* ---- Words ---- */

bool cji_dec_has_word(cji_dec *d, uint16_t word)
{
    const cji_isa_form *e = d->e->isa;
    bool found = false;
    for (uint32_t i = 0; i < e->nwords; i++)
        if (e->word[i] == word) {
            d->used |= UINT32_C(1) << i;
            found = true;
        }
    return found;
}

const cji_dec_type *cji_dec_type_at(cji_dec *d, uint32_t i)
{
    static const cji_dec_type none;
    if (i >= d->ntype) return &none;
    d->used |= UINT32_C(1) << d->type_word[i];
    return &d->type[i];
}

const cji_dec_type *cji_dec_type_last(cji_dec *d) { return cji_dec_type_at(d, d->ntype - 1); }

void cji_dec_op_words(cji_dec *d, uint32_t n) { d->used |= (UINT32_C(1) << n) - 1; }

uint32_t cji_dec_choose(cji_dec *d, const cji_dec_choice *list, uint32_t none)
{
    for (; list->word; list++)
        if (cji_dec_has(d, list->word)) return list->value;
    return none;
}

void cji_dec_hints(cji_dec *d, const uint16_t *words)
{
    for (; *words; words++) cji_dec_has(d, *words);
}

bool cji_dec_end(cji_dec *d)
{
    const cji_isa_form *e = d->e->isa;
    const char *at = e->text;
    if (d->used == (UINT32_C(1) << e->nwords) - 1) return true;
    for (uint32_t i = 0; i < e->nwords; i++) {
        size_t len = strcspn(at, ".");
        if (!(d->used >> i & 1)) {
            cji_dec_fail(d, "has the modifier .%.*s, which the CPU device does not execute yet", (int)len, at);
            return false;
        }
        at += len + (at[len] == '.');
    }
    return true;
}

/* ---- Operands ---- */

static uint64_t decode_literal(const cji_lit *l, unsigned bits, bool is_float)
{
    if (is_float && l->lit == CJI_LIT_F64 && bits == 32)
        return cji_fp_convert(CJI_FP_F32, CJI_FP_F64, l->bits, CJI_FP_RN, false);
    if (is_float && l->lit == CJI_LIT_F32 && bits == 64)
        return cji_fp_convert(CJI_FP_F64, CJI_FP_F32, l->bits, CJI_FP_RN, false);
    return l->bits;
}

/* A variable without an address. */
static void decode_lacks(cji_dec *d, const cji_var *v)
{
    const char *name = cji_short(cji_ptx_name(d->m, v->name));
    uint32_t line = 0;
    cji_ptx_where(d->m, v->loc, &line);
    if (v->linkage == CJI_LINK_EXTERN) cji_dec_fail(d, "names %s, which no module defines", name);
    else if (v->space == CJI_SP_LOCAL && !v->fn)
        cji_dec_fail(d, "names %s, a .local variable of the module (line %u), which the CPU device does not have; "
                        "declare it in the function", name, line);
    else cji_dec_fail(d, "names %s, which has no address on the CPU device", name);
}

/* The address of a variable in its own space, and a number of bytes behind it. */
static cji_dec_place decode_symbol(cji_dec *d, uint32_t index, unsigned bits, int64_t more)
{
    const cji_var *v = d->m->var[index];
    const struct cji_dec_var *at = &d->mod->var[index];
    unsigned w = bits == 32 ? CJI_W32 : CJI_W64;
    uint64_t offset = at->offset + (uint64_t)more;
    switch (at->where) {
    case CJI_EXEC_VAR_IMAGE: return cji_dec_const(d, CJI_W64, offset, CJI_CON_IMAGE);
    case CJI_EXEC_VAR_SHARED: return cji_dec_const(d, w, offset, CJI_CON_PLAIN);
    case CJI_EXEC_VAR_DYNAMIC: return cji_dec_const(d, w, offset, CJI_CON_DYNAMIC);
    case CJI_EXEC_VAR_PARAM: return cji_dec_const(d, w, offset, CJI_CON_PLAIN);
    case CJI_EXEC_VAR_FRAME: {
        cji_dec_place t = cji_dec_temp(d, w);
        cji_rec *r = cji_dec_emit(d, cji_h_local_addr);
        cji_dec_put_d(r, t);
        r->imm = (int64_t)offset;
        return t;
    }
    default:
        decode_lacks(d, v);
        return cji_dec_const(d, w, 0, CJI_CON_PLAIN);
    }
}

cji_dec_place cji_dec_src(cji_dec *d, uint32_t word, unsigned bits, bool is_float)
{
    uint32_t index = cji_word_index(word);
    unsigned w = cji_dec_width(bits ? bits : 32);
    switch (cji_word_kind(word)) {
    case CJI_K_REG: return d->reg[index];
    case CJI_K_IMM: return cji_dec_const(d, w, decode_literal(&d->f->lit[index], bits, is_float), CJI_CON_PLAIN);
    case CJI_K_NOT: {
        cji_dec_place t = cji_dec_temp(d, CJI_WP);
        cji_rec *r = cji_dec_emit(d, cji_h_pred);
        cji_dec_put_d(r, t);
        cji_dec_put_a(r, d->reg[index]);
        cji_dec_put_b(r, d->reg[index]);
        r->k = CJI_PL_NOT;
        return t;
    }
    case CJI_K_SREG: {
        const cji_isa_sreg *s = cji_isa_sreg_at(index);
        if (!cji_sreg_known(s->id)) {
            cji_dec_fail(d, "reads %s, which the CPU device does not have", s->name);
            return cji_dec_const(d, w, 0, CJI_CON_PLAIN);
        }
        cji_dec_place t = cji_dec_temp(d, w);
        cji_rec *r = cji_dec_emit(d, cji_h_sreg);
        cji_dec_put_d(r, t);
        r->k = s->id;
        return t;
    }
    case CJI_K_SYM: return decode_symbol(d, index, bits, 0);
    case CJI_K_MEM: {
        const cji_mem *m = &d->f->mem[index];
        if (m->bare) return decode_symbol(d, cji_word_index(m->base), bits, m->offset);
        cji_dec_fail(d, "has an address where a value stands");
        return cji_dec_const(d, w, 0, CJI_CON_PLAIN);
    }
    case CJI_K_FUNC:
        if (cji_func_lacks(d->p, d->mod->func[index]))
            cji_dec_fail(d, "names %s, which no module defines", cji_short(d->p->func[d->mod->func[index]].name));
        return cji_dec_const(d, CJI_W64, CJI_FUNC_TAG + ((uint64_t)d->mod->func[index] + 1) * 16, CJI_CON_PLAIN);
    default:
        cji_dec_fail(d, "has an operand that the CPU device does not read");
        return cji_dec_const(d, w, 0, CJI_CON_PLAIN);
    }
}

cji_dec_place cji_dec_dst(cji_dec *d, uint32_t word, unsigned w)
{
    if (cji_word_kind(word) == CJI_K_REG) return d->reg[cji_word_index(word)];
    if (cji_word_kind(word) != CJI_K_SINK) cji_dec_fail(d, "has a result that the CPU device does not write");
    return cji_dec_temp(d, w);
}

/* ---- Types ---- */

static bool decode_type_word(uint16_t word, cji_dec_type *t)
{
    static const struct { uint16_t word; cji_dec_type t; } types[] = {
        { CJI_W_PRED, { 1, 'p', 0, 0 } },
        { CJI_W_B8, { 8, 'b', 0, 0 } },
        { CJI_W_B16, { 16, 'b', 0, 0 } },
        { CJI_W_B32, { 32, 'b', 0, 0 } },
        { CJI_W_B64, { 64, 'b', 0, 0 } },
        { CJI_W_B128, { 128, 'b', 0, 0 } },
        { CJI_W_U8, { 8, 'u', 0, 0 } },
        { CJI_W_U16, { 16, 'u', 0, 0 } },
        { CJI_W_U32, { 32, 'u', 0, 0 } },
        { CJI_W_U64, { 64, 'u', 0, 0 } },
        { CJI_W_S8, { 8, 's', 0, 0 } },
        { CJI_W_S16, { 16, 's', 0, 0 } },
        { CJI_W_S32, { 32, 's', 0, 0 } },
        { CJI_W_S64, { 64, 's', 0, 0 } },
        { CJI_W_U16X2, { 16, 'u', 0, 1 } },
        { CJI_W_S16X2, { 16, 's', 0, 1 } },
        { CJI_W_F16, { 16, 'f', CJI_FP_F16, 0 } },
        { CJI_W_BF16, { 16, 'f', CJI_FP_BF16, 0 } },
        { CJI_W_F16X2, { 16, 'f', CJI_FP_F16, 1 } },
        { CJI_W_BF16X2, { 16, 'f', CJI_FP_BF16, 1 } },
        { CJI_W_F32, { 32, 'f', CJI_FP_F32, 0 } },
        { CJI_W_F32X2, { 32, 'f', CJI_FP_F32, 1 } },
        { CJI_W_F64, { 64, 'f', CJI_FP_F64, 0 } },
        { CJI_W_TF32, { 32, 'f', CJI_FP_TF32, 0 } },
        { CJI_W_E4M3X2, { 8, 'f', CJI_FP_E4M3, 1 } },
        { CJI_W_E5M2X2, { 8, 'f', CJI_FP_E5M2, 1 } },
        { CJI_W_E2M3X2, { 8, 'f', CJI_FP_E2M3, 1 } },
        { CJI_W_E3M2X2, { 8, 'f', CJI_FP_E3M2, 1 } },
        { CJI_W_E2M1X2, { 4, 'f', CJI_FP_E2M1, 1 } },
        { CJI_W_UE8M0X2, { 8, 'f', CJI_FP_UE8M0, 1 } },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].word == word) return *t = types[i].t, true;
    return false;
}

static void decode_form(cji_dec *d, cji_dec_form *f)
{
    const cji_isa_form *e = d->e->isa;
    for (uint32_t i = 0; i < e->nwords; i++) {
        f->words |= UINT64_C(1) << (e->word[i] & 63);
        if (f->ntype < 6 && decode_type_word(e->word[i], &f->type[f->ntype])) f->type_word[f->ntype++] = (uint8_t)i;
    }
    f->text = cji_arena_strndup(&d->p->arena, e->text, e->len);
    if (!f->text) cji_dec_no_memory(d);
    f->ready = true;
}

void cji_dec_begin(cji_dec *d, const cji_ins *x)
{
    d->x = x;
    d->e = cji_ins_form(d->m, x);
    d->n = cji_ins_n(d->f, x);
    d->used = 1;
    d->form = &d->mod->form[d->e->index];
    if (!d->form->ready) decode_form(d, d->form);
    d->ntype = d->form->ntype;
    memcpy(d->type, d->form->type, sizeof d->type);
    memcpy(d->type_word, d->form->type_word, sizeof d->type_word);
    uint32_t line = 0;
    size_t index = (size_t)(x - d->f->ins);
    const char *file = cji_ptx_where(d->m, x->loc, &line);
    bool from_source = index < d->f->ntext_line && d->f->text_line[index];
    d->line = from_source ? d->f->text_line[index] : line;
    d->source = (cji_origin){ .file = from_source && x->loc ? file : NULL, .line = from_source ? line : 0 };
    d->guard = CJI_NO_GUARD;
    if (x->guard) d->guard = d->reg[cji_word_index(x->guard)].off << 1 | (cji_word_kind(x->guard) == CJI_K_NOT);
}
