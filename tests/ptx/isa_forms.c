/* The instruction table is what it says: forms are dense, each is found again by its spelling, and no operand list fits
 * two rows of one spelling. */
#include "ptx/isa.h"
#include "ptx/isa_ids.h"
#include "../tap.h"

#include <string.h>

static bool common(uint32_t a, uint32_t b, unsigned bit) { return a >> bit & b >> bit & 1; }

/* Can one operand stand at both places? */
static bool both_take(const cji_isa_opnd *a, const cji_isa_opnd *b)
{
    uint32_t k = a->kinds & b->kinds;
    if (common(k, k, CJI_K_REG) && a->types & b->types) return true;
    if (common(k, k, CJI_K_NOT) && a->types & b->types) return true;
    unsigned in_a = a->one ? 1 : a->count, in_b = b->one ? 1 : b->count;
    if (common(k, k, CJI_K_VEC) && in_a == in_b && a->types & b->types) return true;
    if (common(k, k, CJI_K_TEXMEM) && a->count + a->count2 == b->count + b->count2 && a->types & b->types) return true;
    if (common(k, k, CJI_K_PAIR) && a->count == b->count && a->types & b->types) return true;
    if (common(k, k, CJI_K_IMM) && a->literal & b->literal) {
        if (a->lo > a->hi || b->lo > b->hi) return true;
        if (a->lo <= b->hi && b->lo <= a->hi) return true;
    }
    uint32_t plain = 1u << CJI_K_MEM | 1u << CJI_K_LABEL | 1u << CJI_K_SYM | 1u << CJI_K_FUNC | 1u << CJI_K_LIST |
                     1u << CJI_K_TARGETS | 1u << CJI_K_SINK | 1u << CJI_K_SREG;
    return k & plain;
}

static size_t least(const cji_isa_form *f)
{
    size_t n = f->nopnd;
    while (n && f->opnd[n - 1].optional) n--;
    return n;
}

static bool overlap(const cji_isa_form *a, const cji_isa_form *b)
{
    for (size_t n = 0; n <= CJI_ISA_OPNDS; n++) {
        if (n < least(a) || n < least(b) || n > a->nopnd || n > b->nopnd) continue;
        size_t i = 0;
        while (i < n && both_take(&a->opnd[i], &b->opnd[i])) i++;
        if (i == n) return true;
    }
    return false;
}

/* Is `form` on the chain that begins with `first`? */
static bool on_chain(uint32_t first, uint32_t form)
{
    static cji_isa_form f;
    for (uint32_t i = first; i != CJI_FORM_NONE; i = f.next) {
        if (i == form) return true;
        if (!cji_isa_get(i, &f)) return false;
    }
    return false;
}

static bool sound_operands(const cji_isa_form *f)
{
    for (size_t i = 0; i < f->nopnd; i++) {
        const cji_isa_opnd *o = &f->opnd[i];
        bool typed = o->kinds & (1u << CJI_K_REG | 1u << CJI_K_VEC | 1u << CJI_K_MEM | 1u << CJI_K_TEXMEM);
        if (!o->kinds || (typed && !o->types) || !o->role) return false;
        if (common(o->kinds, o->kinds, CJI_K_VEC) && !o->count && !o->one) return false;
        if (o->optional && i + 1 < f->nopnd && !f->opnd[i + 1].optional) return false;
        if (!cji_target_set(o->targets)) return false;
    }
    return true;
}

int main(void)
{
    static cji_isa_form f, g;
    uint32_t n = cji_isa_forms(), bad_decode = 0, bad_find = 0, bad_overlap = 0, bad_needs = 0, bad_operands = 0,
             last_row = 0, rows = 0;
    tap_plan(0);
    for (uint32_t i = 0; i < n; i++) {
        if (!cji_isa_get(i, &f) || f.form != i || strlen(f.text) != f.len || f.row < last_row) {
            if (!bad_decode++) tap_diag("form %u", i);
            continue;
        }
        rows += i == 0 || f.row != last_row;
        last_row = f.row;
        uint32_t found = cji_isa_find(f.text, f.len);
        if (!on_chain(found, i) && !bad_find++) tap_diag("%s is found as form %u, not %u", f.text, found, i);
        if ((!cji_target_set(f.targets) || f.version < 20 || f.version > 99 || !f.op || f.op >= CJI_OP_COUNT) &&
            !bad_needs++)
            tap_diag("needs of %s", f.text);
        if (!sound_operands(&f) && !bad_operands++) tap_diag("operands of %s", f.text);
        for (uint32_t k = f.next; k != CJI_FORM_NONE; k = g.next) {
            if (!cji_isa_get(k, &g) || strcmp(f.text, g.text) || g.row <= f.row) {
                bad_overlap++;
                tap_diag("the chain of %s", f.text);
                break;
            }
            if (overlap(&f, &g) && !bad_overlap++)
                tap_diag("%s: rows %u and %u take the same operands", f.text, f.row, g.row);
        }
    }
    tap_diag("%u rows, %u forms", cji_isa_rows(), n);
    tap_is_uint(rows, cji_isa_rows(), "every row has a form");
    tap_is_uint(bad_decode, 0, "form numbers are dense, and each is decoded into itself");
    tap_is_uint(bad_find, 0, "each form is found by its spelling");
    tap_is_uint(bad_overlap, 0, "no operand list fits two rows of one spelling");
    tap_is_uint(bad_needs, 0, "each form has a version, targets and an op");
    tap_is_uint(bad_operands, 0, "each operand can be met, optional ones are last");
    tap_ok(!cji_isa_get(n, &f), "there is no form past the last");
    return tap_done();
}
