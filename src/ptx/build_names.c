/* What makes the printed text readable: names of registers, and comments.
 *
 * Names of registers begin with a %, as those of variables never do.  So only other registers can have them, of which
 * the printer's own are a type's prefix and a number, and special registers. */
#include <stdio.h>
#include <string.h>

#include "ptx/build.h"
#include "ptx/parser.h"

static bool is_own(const char *name, size_t n)
{
    return cji_isa_sreg_find(name, n) >= 0 || cji_type_of_prefix(name, n) != CJ_VOID || cji_scope_as_register(name, n);
}

bool cji_fn_has_register(const cj_fn *f, uint32_t id)
{
    for (size_t i = 0; i < f->nreg && f->named_regs; i++)
        if (f->reg[i].flags & CJI_REG_NAMED && f->reg[i].number == id) return true;
    return false;
}

static void put_count(cji_text *t, unsigned n)
{
    char digits[10], *p = digits + sizeof digits;
    do *--p = (char)('0' + n % 10);
    while (n /= 10);
    cji_text_put(t, p, (size_t)(digits + sizeof digits - p));
}

/* The number in m->names of what begins so and nobody has; 0: without memory. */
static uint32_t name_of_nobody(cj_fn *f, cji_text *name)
{
    if (is_own(name->p, name->n)) cji_text_putc(name, '_'); /* which none of those ends with */
    const size_t given = name->n;
    for (unsigned next = 2; !name->failed; next++) {
        const size_t known = f->m->names.n;
        const uint32_t id = cji_ptx_intern(f->m, name->p, name->n);
        if (f->m->dead || f->m->names.n > known || !cji_fn_has_register(f, id)) return id;
        name->n = given;
        cji_text_putc(name, '_');
        put_count(name, next);
    }
    return cji_ptx_nomem(f->m, "cj_name"), 0;
}

/* A number stays unused behind registers that are numbered already. */
static void name_register(cj_fn *f, cj_val v, cji_text *name)
{
    cji_reg *r = &f->reg[cji_word_index(cji_val_word(v))];
    uint32_t *count = &f->count[cji_type_declared(r->type)];
    if (r->flags & CJI_REG_PARAM) return;
    const uint32_t id = name_of_nobody(f, name);
    if (!id) return;
    if (!(r->flags & CJI_REG_NAMED)) {
        if (r->number + 1 == *count) --*count;
        f->named_regs++;
    }
    r->number = id;
    r->flags |= CJI_REG_NAMED;
}

void cj_name(cj_fn *f, cj_val v, const char *name)
{
    cji_text own = { 0 };
    uint32_t n = 1;
    if (!cji_fn_open(f, __func__) || !v.bits || !cji_val_usable(f, v, __func__, "the value")) return;
    if (!cji_ptx_good_name(f->m, name, name ? strlen(name) : 0, __func__, f->loc)) return;
    const bool vector = cji_val_kind(v) == CJI_K_VEC;
    if (vector) cji_fn_words(f, cji_val_word(v), &n);
    for (uint32_t i = 0; i < n && !f->m->dead; i++) {
        const cj_val x = vector ? cj_elem(f, v, i) : v;
        if (cji_val_kind(x) != CJI_K_REG) continue;
        own.n = 0;
        cji_text_putc(&own, '%');
        cji_text_puts(&own, name);
        if (vector) {
            cji_text_putc(&own, '_');
            put_count(&own, i);
        }
        if (own.failed) cji_ptx_nomem(f->m, __func__);
        else name_register(f, x, &own);
    }
    cji_text_free(&own);
}

void cj_comment(cj_fn *f, const char *text)
{
    if (!cji_fn_open(f, __func__)) return;
    if (!text) {
        cji_ptx_fail(f->m, CJ_EINVAL, __func__, f->loc, "%s: the text is NULL", __func__);
        return;
    }
    const size_t n = strlen(text);
    if (!cji_grow(&f->comment, &f->ccomment, f->ncomment + 1, sizeof *f->comment) ||
        !cji_grow(&f->remark, &f->cremark, f->nremark + n, 1)) {
        cji_ptx_nomem(f->m, __func__);
        return;
    }
    f->comment[f->ncomment++] = (cji_comment){ .at = f->nins, .first = f->nremark, .n = n };
    memcpy(f->remark + f->nremark, text, n);
    f->nremark += n;
}
