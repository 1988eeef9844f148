/* Structured control flow on top of labels and branches. */
#include "ptx/fold.h"

/* ---- Branches and blocks ----------------------------------------------------------------------------------------- */

static cj_val label_val(cj_fn *f, uint32_t index) { return cji_val(cji_word(CJI_K_LABEL, index), CJ_VOID, f->owner); }

static bool new_label(cj_fn *f, uint32_t *index)
{
    uint32_t w = cji_fn_label(f, NULL, 0);
    *index = cji_word_index(w);
    return w != 0;
}

static void bind_index(cj_fn *f, uint32_t index) { cji_fn_bind(f, cji_word(CJI_K_LABEL, index)); }

static void branch(cj_fn *f, uint32_t guard, uint32_t label, const char *call)
{
    cji_form *e = cji_verb(f, CJI_VERB_BRA, 0, 0, 0, call);
    cj_val to = label_val(f, label);
    if (e) cji_emit(f, e, guard, &to, 1, CJI_NO_DEF, call);
}

/* A branch where `p` holds, or (negate) does not: none where a constant never does. */
static bool branch_on(cj_fn *f, cj_val p, bool negate, uint32_t label, const char *call)
{
    uint32_t guard;
    if (!cji_guard(f, p, negate, &guard, call)) return false;
    if (guard != CJI_NEVER) branch(f, guard, label, call);
    return !f->m->dead;
}

static cji_block *push(cj_fn *f, unsigned kind, const char *call)
{
    if (!cji_grow(&f->block, &f->cblock, f->nblock + 1, sizeof *f->block)) return cji_ptx_nomem(f->m, call), NULL;
    cji_block *b = &f->block[f->nblock];
    *b = (cji_block){ .kind = (uint8_t)kind, .loc = f->loc, .label_else = UINT32_MAX, .label_end = UINT32_MAX,
                      .label_next = UINT32_MAX, .label_top = UINT32_MAX };
    return b;
}

static cji_block *innermost_loop(cj_fn *f, const char *call)
{
    for (size_t i = f->nblock; i-- > 0;)
        if (f->block[i].kind != CJI_BLOCK_IF) return &f->block[i];
    cji_ptx_fail(f->m, CJ_ESTATE, call, f->loc, "%s: not inside of cj_loop, cj_while or cj_for", call);
    return NULL;
}

/* ---- if ---------------------------------------------------------------------------------------------------------- */

void cj_if(cj_fn *f, cj_val p)
{
    if (!cji_fn_open(f, __func__)) return;
    cji_block *b = push(f, CJI_BLOCK_IF, __func__);
    if (b && new_label(f, &b->label_else) && branch_on(f, p, true, b->label_else, __func__)) f->nblock++;
}

void cj_else(cj_fn *f)
{
    if (!cji_fn_open(f, __func__)) return;
    cji_block *b = f->nblock ? &f->block[f->nblock - 1] : NULL;
    if (!b || b->kind != CJI_BLOCK_IF || b->has_else) {
        cji_ptx_fail(f->m, CJ_ESTATE, __func__, f->loc, "%s: the innermost open block is not a cj_if without cj_else",
                     __func__);
        return;
    }
    if (!new_label(f, &b->label_end)) return;
    branch(f, 0, b->label_end, __func__);
    bind_index(f, b->label_else);
    b->has_else = 1;
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */

static cji_block *open_loop(cj_fn *f, unsigned kind, const char *call)
{
    cji_block *b = push(f, kind, call);
    if (!b || !new_label(f, &b->label_top) || !new_label(f, &b->label_end)) return NULL;
    b->label_next = b->label_top;
    return b;
}

void cj_loop(cj_fn *f)
{
    if (!cji_fn_open(f, __func__)) return;
    cji_block *b = open_loop(f, CJI_BLOCK_LOOP, __func__);
    if (!b) return;
    bind_index(f, b->label_top);
    f->nblock++;
}

void cj_while(cj_fn *f, cj_val p)
{
    if (!cji_fn_open(f, __func__)) return;
    cji_block *b = open_loop(f, CJI_BLOCK_WHILE, __func__);
    if (!b) return;
    bind_index(f, b->label_top);
    if (branch_on(f, p, true, b->label_end, __func__)) f->nblock++;
}

static bool stands_still(const cj_fn *f, cj_val step)
{
    return cji_val_kind(step) == CJI_K_IMM && f->lit[(uint32_t)step.bits].bits == 0;
}

static bool counts_down(const cj_fn *f, cj_val step)
{
    if (cji_val_kind(step) != CJI_K_IMM) return false;
    const cji_lit *l = &f->lit[(uint32_t)step.bits];
    return !l->wide && (int64_t)l->bits < 0;
}

static bool for_type(cj_fn *f, cj_val *v, unsigned *type, const char *call)
{
    if (cji_all_numbers(f, v, 3)) *type = cji_number_type(f, v, 3);
    else if (!cji_prepare(f, v, 3, type, call)) return false;
    switch (*type) {
    case CJ_B16: *type = CJ_U16; break;
    case CJ_B32: *type = CJ_U32; break;
    case CJ_B64: *type = CJ_U64; break;
    default: break;
    }
    if (cji_type_is_int(*type) && cji_type_bits(*type) >= 16) return true;
    cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: the counter is .%s, wants an integer of 16 to 64 bits", call,
                 cji_type_word(*type));
    return false;
}

cj_val cj_for(cj_fn *f, cj_val from, cj_val to, cj_val step)
{
    unsigned type;
    cj_val v[3] = { from, to, step };
    if (!cji_fn_open(f, __func__) || !for_type(f, v, &type, __func__)) return CJI_NULL;
    if (stands_still(f, v[2])) {
        cji_ptx_fail(f->m, CJ_EINVAL, __func__, f->loc, "%s: a step of 0 never reaches the end", __func__);
        return CJI_NULL;
    }
    cj_val counter = cji_reg_val(f, type);
    if (!counter.bits || !cji_move_to(f, counter, v[0], __func__).bits) return CJI_NULL;
    cji_block *b = open_loop(f, CJI_BLOCK_FOR, __func__);
    if (!b || !new_label(f, &b->label_next)) return CJI_NULL;
    b->counter = counter;
    b->limit = v[1];
    b->step = v[2];
    bind_index(f, b->label_top);
    cj_val more = counts_down(f, v[2]) ? cj_gt(f, counter, v[1]) : cj_lt(f, counter, v[1]);
    if (!more.bits || !branch_on(f, more, true, b->label_end, __func__)) return CJI_NULL;
    f->nblock++;
    return counter;
}

static void close_for(cj_fn *f, const cji_block *b, const char *call)
{
    unsigned type = cji_val_type(b->counter);
    bind_index(f, b->label_next);
    cji_form *e = cji_verb(f, CJI_VERB_ADD, 0, type, 0, call);
    const cj_val v[3] = { b->counter, b->counter, b->step };
    if (e) cji_emit(f, e, 0, v, 3, CJI_NO_DEF, call);
}

void cj_end(cj_fn *f)
{
    if (!cji_fn_open(f, __func__)) return;
    if (!f->nblock) {
        cji_ptx_fail(f->m, CJ_ESTATE, __func__, f->loc, "%s: no block is open", __func__);
        return;
    }
    const cji_block b = f->block[f->nblock - 1];
    if (b.kind == CJI_BLOCK_IF) {
        bind_index(f, b.has_else ? b.label_end : b.label_else);
    } else {
        if (b.kind == CJI_BLOCK_FOR) close_for(f, &b, __func__);
        branch(f, 0, b.label_top, __func__);
        bind_index(f, b.label_end);
    }
    if (!f->m->dead) f->nblock--;
}

/* ---- Leaving ----------------------------------------------------------------------------------------------------- */

static void leave(cj_fn *f, bool next, const char *call)
{
    const cji_block *b = cji_fn_open(f, call) ? innermost_loop(f, call) : NULL;
    if (b) branch(f, 0, next ? b->label_next : b->label_end, call);
}

static void leave_on(cj_fn *f, cj_val p, bool negate, bool next, const char *call)
{
    const cji_block *b = cji_fn_open(f, call) ? innermost_loop(f, call) : NULL;
    if (b) branch_on(f, p, negate, next ? b->label_next : b->label_end, call);
}

void cj_break(cj_fn *f) { leave(f, false, __func__); }
void cj_break_if(cj_fn *f, cj_val p) { leave_on(f, p, false, false, __func__); }
void cj_break_unless(cj_fn *f, cj_val p) { leave_on(f, p, true, false, __func__); }
void cj_continue(cj_fn *f) { leave(f, true, __func__); }
void cj_continue_if(cj_fn *f, cj_val p) { leave_on(f, p, false, true, __func__); }
void cj_continue_unless(cj_fn *f, cj_val p) { leave_on(f, p, true, true, __func__); }

static void emit_return(cj_fn *f, uint32_t guard, const char *call)
{
    cji_form *e = cji_verb(f, CJI_VERB_RET, 0, 0, 0, call);
    if (e) cji_emit(f, e, guard, NULL, 0, CJI_NO_DEF, call);
}

void cj_return(cj_fn *f)
{
    if (cji_fn_open(f, __func__)) emit_return(f, 0, __func__);
}

void cj_return_if(cj_fn *f, cj_val p)
{
    uint32_t guard;
    if (cji_fn_open(f, __func__) && cji_guard(f, p, false, &guard, __func__) && guard != CJI_NEVER)
        emit_return(f, guard, __func__);
}

void cj_return_value(cj_fn *f, cj_val v)
{
    unsigned type;
    if (!cji_fn_open(f, __func__)) return;
    if (f->nresult > 1 || f->kernel) {
        cji_ptx_fail(f->m, CJ_ESTATE, __func__, f->loc, "%s: %s", __func__,
                     f->kernel ? "a kernel returns no value"
                               : "the function has several results; use cj_assign() and cj_return()");
        return;
    }
    if (!f->nresult) {
        if (!cji_prepare(f, &v, 1, &type, __func__)) return;
        size_t open = f->nblock;
        /* the first return may stand inside of a block: its register is declared in the head all the same */
        f->nblock = 0;
        cj_result(f, "result", (cj_type)type);
        f->nblock = open;
    }
    if (f->m->dead) return;
    const cji_var *r = f->m->var[f->result[0]];
    if (r->space != CJI_SP_REG) {
        cji_ptx_fail(f->m, CJ_ESTATE, __func__, f->loc,
                     "%s: the result is in the parameter space; use cj_store() and cj_return()", __func__);
        return;
    }
    cj_assign(f, cji_val(cji_word(CJI_K_REG, r->reg), r->type, f->owner), v);
    if (!f->m->dead) emit_return(f, 0, __func__);
}
