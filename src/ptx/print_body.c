/* The text of bodies: the only place that writes instructions. */
#include "ptx/print.h"

static const char digit_pairs[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

static inline unsigned digits_of(uint32_t x)
{
    if (x < 10000) return x < 100 ? 1 + (x >= 10) : 3 + (x >= 1000);
    if (x < 100000000) return x < 1000000 ? 5 + (x >= 100000) : 7 + (x >= 10000000);
    return 9 + (x >= 1000000000);
}

/* The digits are written where they belong, from the last one on. */
static inline char *put_u32(char *p, uint32_t x)
{
    char *end = p + digits_of(x), *at = end;
    for (; x >= 100; x /= 100) memcpy(at -= 2, digit_pairs + 2 * (x % 100), 2);
    if (x >= 10) memcpy(p, digit_pairs + 2 * x, 2);
    else *p = (char)('0' + x);
    return end;
}

char *cji_put_u32(char *p, uint32_t x) { return put_u32(p, x); }

static char *put_u64(char *p, uint64_t x)
{
    char buf[20];
    char *at = buf + sizeof buf;
    if (x <= UINT32_MAX) return cji_put_u32(p, (uint32_t)x);
    for (; x; x /= 10) *--at = (char)('0' + x % 10);
    return cji_put_text(p, at, (size_t)(buf + sizeof buf - at));
}

char *cji_put_i64(char *p, int64_t x)
{
    if (x >= 0) return put_u64(p, (uint64_t)x);
    *p++ = '-';
    return put_u64(p, 0 - (uint64_t)x);
}

char *cji_put_hex(char *p, uint64_t x, unsigned digits)
{
    static const char hex[] = "0123456789ABCDEF";
    for (unsigned i = digits; i-- > 0;) *p++ = hex[x >> 4 * i & 15];
    return p;
}

unsigned cji_print_type(unsigned type) { return cji_type_declared(type); }

/* ---- Operands ---------------------------------------------------------------------------------------------------- */

/* Prefixes with their "%", for all types: copied whole, eight bytes at once. */
typedef struct prefix { char s[7]; uint8_t n; } prefix;
_Static_assert(sizeof(prefix) == 8, "a prefix is copied by one instruction");

typedef struct writer {
    const cj_fn *f;
    const cj_ptx *m;
    const cji_print_files *files;
    cji_text *out;   /* its n is not kept up to date inside of a line */
    char *last;      /* up to here at least ROOM bytes follow in the text's memory */
    prefix reg[CJ_TYPE_COUNT];
} writer;

/* Bytes that are there behind each look for room (have_room), which is taken in front of a line and of each operand,
 * those inside of lists, pairs and addresses too, behind a guard, and behind a name, which asks for its own length
 * besides.  The most that is written between two looks:
 *   LINE     "\t.loc\t", two numbers of 10 digits, " ", " 0\n", "\t", "@": 32 bytes; then the spelling in pieces of 16
 *            and " " before and behind it
 *   OPERAND  "!" and a register: a prefix copied as 8 bytes, of up to 7 letters, and 10 digits; or a number: "-" and 20
 *            digits, "0d" and 16; an address's "+", "-" and 20 digits; then what closes it and begins the next one, of
 *            "}", "]", ")", ", ", "{", "[", "(", "|", ";", "\n"
 *   TARGETS  "$T", 10 digits, ": .branchtargets " or "\t.pragma \"", and the signs around it */
enum {
    LINE = 32 + 1 + CJI_ISA_SPELLING + 1,
    OPERAND = 1 + 7 + 10 + 1 + 1 + 20 + 10,
    TARGETS = 2 + 10 + 18 + 4,
    ROOM = 256
};
_Static_assert(LINE + OPERAND <= ROOM && TARGETS + OPERAND <= ROOM, "what is written between two looks for room fits");
_Static_assert(CJI_ISA_SPELLING % 16 == 0, "a spelling is read in pieces of 16");

static void set_prefixes(writer *w)
{
    for (unsigned t = 0; t < CJ_TYPE_COUNT; t++) {
        if (!w->f->count[cji_print_type(t)]) continue; /* it has no such register */
        const char *s = cji_type_prefix(cji_print_type(t));
        size_t n = strlen(s);
        w->reg[t].s[0] = '%';
        memcpy(w->reg[t].s + 1, s, n);
        if (w->f->own_prefix >> cji_print_type(t) & 1) w->reg[t].s[++n] = '_';
        w->reg[t].n = (uint8_t)(n + 1);
    }
}

/* Where to write: at least `more` + ROOM bytes; NULL without memory. */
__attribute__((noinline)) static char *make_room(writer *w, size_t at, size_t more)
{
    cji_text *t = w->out;
    t->n = at;
    if (!cji_text_room(t, more + ROOM)) return NULL;
    w->last = t->p + (t->cap - ROOM);
    return t->p + at;
}

static inline char *have_room(writer *w, char *p)
{
    return p <= w->last ? p : make_room(w, (size_t)(p - w->out->p), 0);
}

static char *put_name(writer *w, char *p, const char *s, size_t n)
{
    if (p > w->last || n > (size_t)(w->last - p)) {
        p = make_room(w, (size_t)(p - w->out->p), n);
        if (!p) return p;
    }
    return cji_put_text(p, s, n);
}

static char *put_interned(writer *w, char *p, uint32_t name)
{
    return put_name(w, p, cji_ptx_name(w->m, name), cji_ptx_name_len(w->m, name));
}

static inline char *put_reg(writer *w, char *p, uint32_t index)
{
    const cji_reg *r = &w->f->reg[index];
    if (r->flags & (CJI_REG_PARAM | CJI_REG_NAMED))
        return put_interned(w, p, r->flags & CJI_REG_NAMED ? r->number : w->m->var[r->number]->name);
    memcpy(p, &w->reg[r->type], sizeof w->reg[r->type]);
    return put_u32(p + w->reg[r->type].n, r->number);
}

static char *put_literal(char *p, const cji_lit *l)
{
    if (l->lit == CJI_LIT_INT) return l->wide ? put_u64(p, l->bits) : cji_put_i64(p, (int64_t)l->bits);
    *p++ = '0';
    *p++ = l->lit == CJI_LIT_F32 ? 'f' : 'd';
    return cji_put_hex(p, l->bits, l->lit == CJI_LIT_F32 ? 8 : 16);
}

static char *put_label(writer *w, char *p, uint32_t index)
{
    const cji_label *l = &w->f->label[index];
    if (l->name) return put_interned(w, p, l->name);
    return cji_put_u32(cji_put_text(p, "$L", 2), index);
}

static char *put_tlist(writer *w, char *p, uint32_t index)
{
    const cji_tlist *l = &w->f->tlist[index];
    if (l->name) return put_interned(w, p, l->name);
    return cji_put_u32(cji_put_text(p, "$T", 2), index);
}

static char *put_operand(writer *w, char *p, uint32_t word);

/* A call's list in a function with vector registers, which are passed whole. */
static char *put_passed(writer *w, char *p, uint32_t word)
{
    uint32_t n;
    const uint32_t *e = cji_fn_words(w->f, word, &n);
    *p++ = '(';
    for (uint32_t i = 0; p && i < n;) {
        bool reg = cji_word_kind(e[i]) == CJI_K_REG;
        const cji_vreg *v = reg ? cji_fn_vreg_at(w->f, cji_word_index(e[i])) : NULL;
        if (i) p = cji_put_text(p, ", ", 2);
        p = v ? put_interned(w, p, v->name) : put_operand(w, p, e[i]);
        i += v ? v->n : 1;
    }
    if (p) *p++ = ')';
    return p;
}

static char *put_list(writer *w, char *p, uint32_t word, char open, char close)
{
    uint32_t n;
    const uint32_t *e = cji_fn_words(w->f, word, &n);
    *p++ = open;
    for (uint32_t i = 0; p && i < n; i++) {
        if (i) p = cji_put_text(p, ", ", 2);
        p = put_operand(w, p, e[i]);
    }
    if (p) *p++ = close;
    return p;
}

static char *put_mem(writer *w, char *p, uint32_t index)
{
    const cji_mem *a = &w->f->mem[index];
    if (!a->bare) *p++ = '[';
    p = put_operand(w, p, a->base);
    if (p && (a->offset || a->zero)) {
        *p++ = '+';
        p = cji_put_i64(p, a->offset);
    }
    if (p && !a->bare) *p++ = ']';
    return p;
}

static char *put_texmem(writer *w, char *p, uint32_t word)
{
    uint32_t n;
    const uint32_t *e = cji_fn_words(w->f, word, &n);
    *p++ = '[';
    p = put_operand(w, p, e[0]);
    for (uint32_t i = 1; p && i < 3; i++)
        if (e[i]) p = put_operand(w, cji_put_text(p, ", ", 2), e[i]);
    if (p) *p++ = ']';
    return p;
}

static char *put_operand(writer *w, char *p, uint32_t word)
{
    uint32_t i = cji_word_index(word), n;
    p = have_room(w, p);
    if (!p) return p;
    switch (cji_word_kind(word)) {
    case CJI_K_REG: return put_reg(w, p, i);
    case CJI_K_IMM: return put_literal(p, &w->f->lit[i]);
    case CJI_K_MEM: return put_mem(w, p, i);
    case CJI_K_VEC: return put_list(w, p, word, '{', '}');
    case CJI_K_LIST: return w->f->nvreg ? put_passed(w, p, word) : put_list(w, p, word, '(', ')');
    case CJI_K_LABEL: return put_label(w, p, i);
    case CJI_K_SYM: return put_interned(w, p, w->m->var[i]->name);
    case CJI_K_FUNC: return put_interned(w, p, w->m->fn[i]->name);
    case CJI_K_NOT: return *p = '!', put_reg(w, p + 1, i);
    case CJI_K_SINK: return *p = '_', p + 1;
    case CJI_K_TARGETS: return put_tlist(w, p, i);
    case CJI_K_TEXMEM: return put_texmem(w, p, word);
    case CJI_K_SREG: return put_name(w, p, cji_isa_sreg_at(i)->name, strlen(cji_isa_sreg_at(i)->name));
    case CJI_K_PAIR: {
        const uint32_t *e = cji_fn_words(w->f, word, &n);
        p = put_operand(w, p, e[0]);
        if (p) *p++ = '|';
        return p ? put_operand(w, p, e[1]) : p;
    }
    default: return p;
    }
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

/* In pieces, which is quicker than a copy of any length; what is behind the spelling is written over. */
static inline char *put_spelling(char *p, const cji_isa_form *e)
{
    for (unsigned at = 0; at < e->len; at += 16) memcpy(p + at, e->text + at, 16);
    return p + e->len;
}

/* An operand of an instruction: nearly all are registers. */
static inline char *put_top(writer *w, char *p, uint32_t word)
{
    if (cji_word_kind(word) != CJI_K_REG) return put_operand(w, p, word);
    p = have_room(w, p);
    return p ? put_reg(w, p, cji_word_index(word)) : p;
}

/* The operands behind the fourth of an instruction that has more than five. */
static char *put_more(writer *w, char *p, uint32_t word)
{
    uint32_t n;
    const uint32_t *e = cji_fn_words(w->f, word, &n);
    for (uint32_t i = 0; p && i < n; i++) p = put_operand(w, cji_put_text(p, ", ", 2), e[i]);
    return p;
}

static char *put_instruction(writer *w, char *p, const cji_ins *x)
{
    const cji_isa_form *e = w->m->form[x->form]->isa;
    if (x->guard) {
        *p++ = '@';
        p = put_operand(w, p, x->guard);
        if (!p || !(p = have_room(w, p))) return NULL;
        *p++ = ' ';
    }
    p = put_spelling(p, e);
    for (uint32_t i = 0; p && i < CJI_QUICK && x->opnd[i]; i++) {
        if (cji_word_kind(x->opnd[i]) == CJI_K_MORE) {
            p = put_more(w, p, x->opnd[i]);
            break;
        }
        if (i) *p++ = ',';
        *p++ = ' ';
        p = put_top(w, p, x->opnd[i]);
    }
    if (p) *p++ = ';';
    return p;
}

static char *put_targets(writer *w, char *p, uint32_t index)
{
    static const char *const words[] = { "", ": .branchtargets ", ": .calltargets ", ": .callprototype " };
    const cji_tlist *l = &w->f->tlist[index];
    uint32_t n = 0;
    p = put_tlist(w, p, index);
    if (!p) return p;
    p = cji_put_text(p, words[l->kind], strlen(words[l->kind]));
    if (l->kind == CJI_TL_PROTO) {
        w->out->n = (size_t)(p - w->out->p);
        cji_print_head(w->m->fn[l->proto], true, w->out);
        return make_room(w, w->out->n, 0);
    }
    const uint32_t *e = cji_fn_words(w->f, l->list, &n);
    for (uint32_t i = 0; p && i < n; i++) {
        if (i) p = cji_put_text(p, ", ", 2);
        p = put_operand(w, p, e[i]);
    }
    if (p) *p++ = ';';
    return p;
}

static char *put_pseudo(writer *w, char *p, const cji_ins *x)
{
    uint32_t i = cji_word_index(x->opnd[0]);
    switch (x->form) {
    case CJI_INS_LABEL:
        p = put_label(w, p, i);
        if (p) *p++ = ':';
        return p;
    case CJI_INS_TARGETS: return put_targets(w, p, i);
    case CJI_INS_RAW: return put_interned(w, cji_put_text(p, "\t", 1), x->opnd[0]);
    case CJI_INS_PRAGMA:
        p = put_interned(w, cji_put_text(p, "\t.pragma \"", 10), x->opnd[0]);
        return p ? cji_put_text(p, "\";", 2) : p;
    default: return p;
    }
}

static char *put_loc(writer *w, char *p, uint32_t loc)
{
    uint32_t file, line;
    cji_ptx_loc_split(w->m, loc, &file, &line);
    p = cji_put_u32(cji_put_text(p, "\t.loc\t", 6), w->files->number[file]);
    *p++ = ' ';
    p = cji_put_u32(p, line);
    return cji_put_text(p, " 0\n", 3);
}

/* A line break begins another line. */
static char *put_comment(writer *w, char *p, const cji_comment *c)
{
    const char *text = w->f->remark + c->first;
    for (size_t from = 0, to = 0; p && from <= c->n; from = to + 1) {
        for (to = from; to < c->n && text[to] != '\n';) to++;
        p = put_name(w, cji_put_text(p, "\t// ", 4), text + from, to - from);
        if (!p) return p;
        *p++ = '\n';
        p = have_room(w, p);
    }
    return p;
}

static void print_lines(writer *w)
{
    const cji_comment *c = w->f->comment, *last = c && w->files->comments ? c + w->f->ncomment : c;
    uint32_t loc = 0;
    const cji_ins *x = w->f->ins, *end = x ? x + w->f->nins : x;
    char *p = make_room(w, w->out->n, 0);
    for (; x < end && p; x++) {
        p = have_room(w, p);
        for (; c < last && c->at <= (size_t)(x - w->f->ins) && p; c++) p = put_comment(w, p, c);
        if (!p) return;
        if (w->files->n && cji_print_has_loc(x, loc)) p = put_loc(w, p, loc = x->loc);
        if (x->form == CJI_INS_RAW && !w->m->debug) continue;
        if (x->form < CJI_INS_PSEUDO) {
            *p++ = '\t';
            p = put_instruction(w, p, x);
        } else {
            p = put_pseudo(w, p, x);
        }
        if (p) *p++ = '\n';
    }
    for (p = p ? have_room(w, p) : p; c < last && p; c++) p = put_comment(w, p, c);
    if (p) w->out->n = (size_t)(p - w->out->p);
}

void cji_ptx_write_ins(const cj_fn *f, const cji_ins *x, cji_text *out)
{
    writer w = { .f = f, .m = f->m, .out = out };
    set_prefixes(&w);
    char *p = make_room(&w, out->n, 0);
    if (p) p = x->form < CJI_INS_PSEUDO ? put_instruction(&w, p, x) : put_pseudo(&w, p, x);
    if (!p) return;
    *p = 0;
    out->n = (size_t)(p - out->p);
}

/* Does control reach the end of the body, so that it wants a return? */
static bool falls_off(const cj_fn *f)
{
    if (f->as_is) return false;
    if (!f->nins) return true;
    const cji_ins *x = &f->ins[f->nins - 1];
    const cji_form *e = cji_ins_form(f->m, x);
    return !e || x->guard || !(e->isa->effect & (CJI_FX_END | CJI_FX_BRANCH));
}

/* "\t.reg .f32\t%f<12>;\n" */
static void print_count(const writer *w, unsigned type)
{
    char number[10];
    cji_text_puts(w->out, "\t.reg .");
    cji_text_puts(w->out, cji_type_word(cji_print_type(type)));
    cji_text_putc(w->out, '\t');
    cji_text_put(w->out, w->reg[type].s, w->reg[type].n);
    cji_text_putc(w->out, '<');
    cji_text_put(w->out, number, (size_t)(put_u32(number, w->f->count[type]) - number));
    cji_text_puts(w->out, ">;\n");
}

/* Registers with names of their own. */
static void print_named(const writer *w)
{
    const cj_fn *f = w->f;
    for (size_t i = 0; i < f->nreg && f->named_regs; i++)
        if (f->reg[i].flags & CJI_REG_NAMED && !memchr(cji_ptx_name(w->m, f->reg[i].number), '.',
                                                       cji_ptx_name_len(w->m, f->reg[i].number)))
            cji_text_printf(w->out, "\t.reg .%s\t%s;\n", cji_type_word(cji_print_type(f->reg[i].type)),
                            cji_ptx_name(w->m, f->reg[i].number));
    for (size_t i = 0; i < f->nvreg; i++)
        if (f->vreg[i].declared)
            cji_text_printf(w->out, "\t.reg .v%u .%s\t%s;\n", f->vreg[i].n,
                            cji_type_word(cji_print_type(f->reg[f->vreg[i].first].type)),
                            cji_ptx_name(w->m, f->vreg[i].name));
}

static void print_declared(const writer *w)
{
    const cj_fn *f = w->f;
    cji_text_puts(w->out, "{\n");
    for (unsigned t = 1; t < CJ_TYPE_COUNT; t++)
        if (f->count[t]) print_count(w, t);
    if (f->named_regs || f->nvreg) print_named(w);
    cji_print_vars(f->m, f->var, f->nvar, true, w->out);
}

void cji_print_declared(const cj_fn *f, cji_text *out)
{
    writer w = { .f = f, .m = f->m, .out = out };
    set_prefixes(&w);
    print_declared(&w);
}

void cji_print_body(const cj_fn *f, const cji_print_files *files, cji_text *out)
{
    writer w = { .f = f, .m = f->m, .files = files, .out = out };
    set_prefixes(&w);
    print_declared(&w);
    print_lines(&w);
    if (falls_off(f)) cji_print_return(out);
    cji_text_puts(out, "}\n");
}
